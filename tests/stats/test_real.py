"""The recorded runs of four setups on the published golds: our judge beside a language model's."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb import agreement

DATASET, RUNS = "EXTRACTBENCH_DATASET", "EXTRACTBENCH_RUNS"
pytestmark = pytest.mark.skipif(
    not (os.environ.get(DATASET) and os.environ.get(RUNS)),
    reason=f"set {DATASET} and {RUNS} to the folders of the real data",
)

Evaluated = dict[str, dict[str, xb.core.Evaluation]]


@cache
def recorded() -> tuple[Evaluated, pd.DataFrame]:
    """Our evaluations by setup and document, and the rows of the recorded reports."""
    folder = next(Path(os.environ[DATASET]).glob("*/research"))
    schema = xb.schema.parse_schema(folder / "research-schema.json")
    evs: Evaluated = {}
    rows = []
    for report in sorted(Path(os.environ[RUNS]).glob("research/*/*.judge-report.json")):
        document, run = report.name.removesuffix(".judge-report.json"), report.parent.name
        gold = folder / "pdf+gold" / f"{document}.gold.json"
        predicted = report.with_name(f"{document}.pred.json")
        ev = xb.evaluate(schema, gold, predicted, profile="paper")
        evs.setdefault(run, {})[document] = ev
        for row in json.loads(report.read_text(encoding="utf-8"))["field_outcomes"]:
            place = {"run": run, "document": document, "path": f"$.{row['normalized_path']}"}
            rows.append({**place, "metric": row["metric_id"], "passed": row["passed"]})
    return evs, pd.DataFrame(rows)


def ours(metrics: list[str]) -> pd.DataFrame:
    frames = [
        ev.fields.assign(run=run, document=document)
        for run, evs in recorded()[0].items()
        for document, ev in evs.items()
    ]
    fields = pd.concat(frames, ignore_index=True)
    return fields[fields["counted"] & fields["metric"].isin(metrics)]


@pytest.mark.parametrize(
    "metrics, least_raw, least_kappa",
    [
        pytest.param(["string_semantic"], 0.95, 0.9, id="string_semantic"),
        pytest.param(["string_exact", "integer_exact"], 0.99, 0.98, id="exact"),
        pytest.param(["array_llm"], 0.8, 0.3, id="array_llm"),
    ],
)
def test_agreement_with_the_recorded_judge(
    metrics: list[str], least_raw: float, least_kappa: float
) -> None:
    theirs = recorded()[1]
    found = agreement(ours(metrics), theirs[theirs["metric"].isin(metrics)])
    assert found.raw >= least_raw, found.disagreements
    assert found.kappa >= least_kappa
    assert found.kappa_low <= found.kappa <= found.kappa_high
    assert found.documents == 6
