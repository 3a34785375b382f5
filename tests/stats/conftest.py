from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb

TEXT = pd.StringDtype("python")


@dataclass(frozen=True)
class Batch:
    """The two frames of a batch that statistics read."""

    fields: pd.DataFrame
    summary: pd.DataFrame


@cache
def sample_evaluations() -> dict[str, dict[str, xb.core.Evaluation]]:
    """Every output of the sample dataset, by run and document."""
    dataset = xb.load_dataset()
    schemas = dataset.documents.set_index("document")["schema"]
    found: dict[str, dict[str, xb.core.Evaluation]] = {}
    for row in dataset.runs.itertuples():
        schema, gold = dataset.schema(schemas[row.document]), dataset.gold(row.document)
        found.setdefault(row.run, {})[row.document] = xb.evaluate(schema, gold, row.predicted)
    return found


@pytest.fixture(scope="session")
def evaluations() -> dict[str, dict[str, xb.core.Evaluation]]:
    return sample_evaluations()


@pytest.fixture(scope="session")
def batch() -> Batch:
    """Those with domain and schema, in frames of the form that a batch has."""
    documents = xb.load_dataset().documents.set_index("document")
    fields, summaries = [], []
    for run, evs in sample_evaluations().items():
        for document, ev in evs.items():
            place = {
                "domain": documents["domain"][document],
                "schema": documents["schema"][document],
            }
            ids = {"run": run, "document": document, **place}
            frame = ev.fields
            columns = {n: pd.array([v] * len(frame), dtype=TEXT) for n, v in ids.items()}
            fields.append(frame.assign(**columns))
            valid = ev.inputs.problem is None
            summaries.append(pd.DataFrame([{**ids, "valid": valid, **ev.summary}]))
    return Batch(pd.concat(fields, ignore_index=True), pd.concat(summaries, ignore_index=True))


@pytest.fixture
def scores() -> Callable[..., pd.DataFrame]:
    """Make a summary: one run an argument, one document a value (None: no output)."""

    def make(measure: str = "pass_rate", **runs: Any) -> pd.DataFrame:
        rows = [
            {"run": run, "document": f"d{i:04}", measure: value}
            for run, values in runs.items()
            for i, value in enumerate(np.asarray(values, dtype=object))
            if value is not None
        ]
        return pd.DataFrame(rows).astype({measure: float})

    return make
