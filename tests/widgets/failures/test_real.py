"""The recorded runs of four setups on the published golds, as a heatmap."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.views.failures_view import FailureExplorer
from tests.widgets.hostile import Twin

DATASET, RUNS = "EXTRACTBENCH_DATASET", "EXTRACTBENCH_RUNS"
pytestmark = pytest.mark.skipif(
    not (os.environ.get(DATASET) and os.environ.get(RUNS)),
    reason=f"set {DATASET} and {RUNS} to the folders of the real data",
)


@pytest.fixture(scope="module")
def fields() -> pd.DataFrame:
    folder = next(Path(os.environ[DATASET]).glob("*/research"))
    schema = xb.schema.parse_schema(folder / "research-schema.json")
    frames = []
    for output in sorted(Path(os.environ[RUNS]).glob("research/*/*.pred.json")):
        document = output.name.removesuffix(".pred.json")
        ev = xb.evaluate(schema, folder / "pdf+gold" / f"{document}.gold.json", output)
        frames.append(ev.fields.assign(run=output.parent.name, document=document))
    return pd.concat(frames, ignore_index=True)


def test_fields_that_all_setups_fail_are_found(fields: pd.DataFrame) -> None:
    view = FailureExplorer(fields)
    view.failed_by_every_run = True
    hard = xb.difficulty(fields)
    expected = hard.loc[hard["failed_by_all"], "field"]
    assert set(view.selection["field"]) == set(expected)
    assert len(expected) > 0


def test_every_cell_opens_and_reads_without_a_kernel(fields: pd.DataFrame) -> None:
    view = FailureExplorer(fields, rows="run")
    runs, documents = (fields[name].unique().tolist() for name in ("run", "document"))
    view.inside_arrays = True
    for run in runs:
        view.selected_block = ([run], documents)
        pd.testing.assert_frame_equal(view.selection, fields[fields["run"] == run])
        Twin(view.to_html()).check()
