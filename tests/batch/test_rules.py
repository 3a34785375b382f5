"""Cross-field rules over batches: in memory, in folders, in worker processes, after pickling."""

import json
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.runs.storage import BATCH_RULES

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


# --- folders -------------------------------------------------------------------------------------


def test_outcomes_are_stored_with_the_source_of_each_rule(tmp_path: Path):
    xb.rule(adds_up)
    xb.rule("fails")(lambda doc: doc["\ud800"])
    evs = evaluated(save_to=tmp_path / "a")
    expected = evs.rules
    loaded = xb.load_evaluations(tmp_path / "a")
    pd.testing.assert_frame_equal(loaded.rules, expected)
    assert [*loaded.meta["rules"]] == ["adds_up", "fails"]
    assert len(set(loaded.meta["rules"].values())) == 2

    for name, results in (("loaded", loaded), ("in_memory", evaluated())):
        results.save(tmp_path / name)
        pd.testing.assert_frame_equal(xb.load_evaluations(tmp_path / name).rules, expected)
    with_json = pd.read_parquet(tmp_path / "loaded" / "rules.parquet")
    assert with_json["paths_gold"].tolist()[2] == '["$.total"]'


def test_a_folder_without_rules_has_no_file_of_them(tmp_path: Path):
    evaluated(save_to=tmp_path)
    assert not (tmp_path / "rules.parquet").exists()
    assert xb.load_evaluations(tmp_path).rules.empty
    xb.rule(adds_up)
    with pytest.raises(InputError, match=r"stored without rules .* resume=folder"):
        _ = xb.load_evaluations(tmp_path).rules


def test_resuming_checks_the_current_rules_and_evaluates_nothing_again(tmp_path: Path):
    xb.rule("r")(lambda doc: True)
    evaluated(save_to=tmp_path)
    before = xb.load_evaluations(tmp_path)
    xb.rule("r")(lambda doc: False)
    again = evaluated(resume=tmp_path)
    assert again.meta["reused"] == len(RUNS)
    after = xb.load_evaluations(tmp_path)
    assert set(after.rules["outcome_gold"]) == {"broken"}
    assert after.meta["rules"] != before.meta["rules"]
    with pytest.raises(InputError, match="rewritten since"):
        _ = before.rules

    del xb.gold.RULES["r"]
    evaluated(resume=tmp_path)
    assert xb.load_evaluations(tmp_path).rules.empty


def test_pickled_results_keep_the_outcomes():
    xb.rule(adds_up)
    evs = evaluated()
    copy = pickle.loads(pickle.dumps(evs))  # noqa: S301 - our own
    assert outcomes(copy.rules) == OUTCOMES
    xb.gold.RULES.clear()
    assert outcomes(copy.rules) == OUTCOMES
