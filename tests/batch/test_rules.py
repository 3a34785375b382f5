"""Cross-field rules over batches: in memory, in folders, in worker processes, after pickling."""

import json
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.runs.results import BATCH_RULES

pytestmark = pytest.mark.usefixtures("own_rules")

SCHEMA = {
    "title": "Invoice",
    "type": "object",
    "properties": {name: {"type": "number"} for name in ("net", "tax", "total")},
}
GOLD = {"net": 10, "tax": 2, "total": 12}
RUNS = pd.DataFrame(
    {
        "run": ["a", "a", "b", "b", "b"],
        "document": ["one", "two", "one", "two", "three"],
        "predicted": [GOLD, {**GOLD, "total": 10}, json.dumps(GOLD), "{'net': 10", None],
        "gold": [GOLD, {**GOLD, "net": 11}, GOLD, {**GOLD, "net": 11}, GOLD],
        "schema": [SCHEMA] * 5,
    }
)
OUTCOMES = [
    ["a", "one", "holds", "holds", None],
    ["a", "two", "broken", "broken", "suspect_gold"],
    ["b", "one", "holds", "holds", None],
    ["b", "two", "broken", None, "suspect_gold"],
    ["b", "three", "holds", None, None],
]


def adds_up(doc: Any) -> Any:
    return None if "net" not in doc else doc["net"] + doc["tax"] == doc["total"] or "$.total"


def evaluated(**options: Any) -> Any:
    return xb.evaluate_runs(RUNS, progress=False, **options)


def outcomes(rules: pd.DataFrame) -> list[list[Any]]:
    names = ["run", "document", "outcome_gold", "outcome_predicted", "finding"]
    frame = rules[names].astype(object)
    return frame.where(frame.notna(), None).values.tolist()


def test_one_row_per_run_document_and_rule():
    evs = evaluated()
    assert evs.rules.empty
    assert [*evs.rules.columns] == BATCH_RULES.names
    xb.rule(applies_to="invoice")(adds_up)
    xb.rule(applies_to="receipt")(lambda doc: False)
    assert outcomes(evs.rules) == OUTCOMES
    assert evs.rules["paths_gold"].tolist()[1] == ("$.total",)
    assert set(evs.rules["schema"]) == {"Invoice"}
    described = evs.columns()
    assert described[described["frame"] == "rules"]["column"].tolist() == BATCH_RULES.names


def test_gold_is_checked_once_for_all_runs_and_results_are_kept():
    seen = []

    @xb.rule
    def counted(doc: Any) -> None:
        seen.append(doc)

    shared = xb.evaluate_runs(xb.load_dataset("sample"), progress=False)
    read = shared.summary["valid"].sum()
    assert len(shared.rules) == len(shared)
    assert len(seen) == shared.summary["document"].nunique() + read
    before = len(seen)
    assert len(shared.rules) == len(shared)
    assert len(seen) == before


def test_loaded_results_have_no_inputs_to_check(tmp_path: Path):
    evs = evaluated(save_to=tmp_path)
    loaded, copy = xb.load_evaluations(tmp_path), pickle.loads(pickle.dumps(evs))  # noqa: S301 - our own
    assert loaded.rules.empty
    xb.rule(adds_up)
    for results in (loaded, copy):
        with pytest.raises(InputError, match=r"inputs .* are not available; .* resume=folder"):
            _ = results.rules
    resumed = evaluated(resume=tmp_path)
    assert resumed.meta["evaluated"] == 0
    assert len(resumed.rules) == len(RUNS)
