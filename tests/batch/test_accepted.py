"""Accepted alternatives of a batch: workers, folders, resuming, datasets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "evaluation_config": "string_exact"},
        "l": {"type": "array", "items": {"type": "integer"}},
    },
}
RUNS = pd.DataFrame(
    [
        (run, document, predicted, SCHEMA, {"a": "one", "l": [1, 2]})
        for run, document, predicted in (
            ("r", "d", {"a": "eins", "l": [1, 3]}),
            ("r", "e", {"a": "eins", "l": [1, 2]}),
            ("s", "d", {"a": "one", "l": [2]}),
            ("s", "e", "{"),
        )
    ],
    columns=["run", "document", "predicted", "schema", "gold"],
)
ACCEPTED = [
    {"document": "d", "path": "$.a", "value": "eins", "note": "in German"},
    {"document": "d", "path": "$.l[1]", "value": 3},
    {"document": "e", "path": "$.a", "value": None},
]


def run(**options: Any) -> Any:
    return xb.evaluate_runs(RUNS, progress=False, **{"accepted": ACCEPTED, **options})


def test_each_document_has_its_own() -> None:
    evs = run()
    assert evs.summary["pass_rate"].tolist() == pytest.approx([1, 2 / 3, 2 / 3, 0])
    assert evs.meta["accepted"] == 3
    rows = evs.fields.dropna(subset="accepted_as")
    assert rows[["run", "document", "path", "accepted_as"]].to_numpy().tolist() == [
        ["r", "d", "$.a", '"eins"'],
        ["r", "d", "$.l[1]", "3"],
    ]
    assert evs.matches.dropna(subset="accepted_as")["gold_index"].tolist() == [1]
    again = evs.evaluation("r", "d")
    assert again.fields["accepted_as"].dropna().tolist() == ['"eins"', "3"]


@pytest.mark.parametrize(
    "accepted, evaluated",
    [
        (ACCEPTED, 0),
        ([*ACCEPTED[:2], {"document": "e", "path": "$.a", "value": "x"}], 2),
        (None, 4),
        ([{**row, "note": "another note"} for row in ACCEPTED], 0),
    ],
)
def test_outputs_whose_alternatives_changed_are_evaluated_again(
    tmp_path: Path, accepted: Any, evaluated: int
) -> None:
    run(save_to=tmp_path)
    evs = run(resume=tmp_path, accepted=accepted)
    assert evs.meta["evaluated"] == evaluated
    fresh = run(accepted=accepted)
    pd.testing.assert_frame_equal(evs.fields, fresh.fields)


OTHER = [{**ACCEPTED[0], "value": "un"}, *ACCEPTED[1:]]


@pytest.mark.parametrize(
    "baseline, candidate, message",
    [
        (ACCEPTED, None, "other accepted alternatives for document 'd'"),
        (None, ACCEPTED, "other accepted alternatives for document 'd'"),
        (ACCEPTED, OTHER, "other accepted alternatives for document 'd'"),
        (ACCEPTED[:2], ACCEPTED, "other accepted alternatives for document 'e'"),
        (ACCEPTED, [{**row, "note": "another"} for row in reversed(ACCEPTED)], None),
    ],
)
def test_a_gate_refuses_results_with_other_alternatives(
    tmp_path: Path, baseline: Any, candidate: Any, message: str | None
) -> None:
    sides: list[Any] = [run(accepted=baseline), tmp_path]
    run(save_to=tmp_path, accepted=ACCEPTED[:1])
    run(resume=tmp_path, accepted=candidate)
    names = {"baseline_run": "r", "run": "r"}
    if message is None:
        assert xb.regressions(*sides, **names).verdict == "pass"
        return
    with pytest.raises(xb.InputError, match=f"the baseline was evaluated with {message}"):
        xb.regressions(*sides, **names)


@pytest.mark.parametrize(
    "row, message",
    [
        ({"path": "$.a", "value": "x"}, "document is missing; expected a document id"),
        ({"document": "dd", "path": "$.a", "value": "x"}, "unknown document; did you mean 'd'"),
        ({"document": "e", "path": "$.b", "value": "x"}, r"row 0 \(document 'e', path '\$\.b'\)"),
        ({"document": "e", "path": "$.a", "value": 5}, "value is 5, a number; expected string"),
    ],
)
def test_one_clear_error(row: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        run(accepted=[row])


def test_a_dataset_brings_its_own(tmp_path: Path) -> None:
    root = shutil.copytree(xb.load_dataset("sample").root, tmp_path / "data")
    dataset = xb.load_dataset(root)
    empty = dataset.accepted
    assert empty.columns.tolist() == ["document", "path", "value", "note"]
    assert len(empty) == 0
    document = dataset.listing["document"][0]
    gold = dataset.gold(document)
    key = next(key for key, value in gold.items() if isinstance(value, str))
    row = {"document": document, "path": f"$.{key}", "value": "another text", "note": "why"}
    (root / "accepted.json").write_text(json.dumps([row]))
    assert dataset.accepted.to_dict("records") == [row]
    runs = pd.DataFrame(
        {"run": ["r"], "document": [document], "predicted": [{**gold, key: "another text"}]}
    )
    evs = xb.evaluate_runs(runs, dataset=dataset, accepted=dataset.accepted, progress=False)
    assert evs.summary["pass_rate"].tolist() == [1.0]
    (root / "accepted.csv").write_text("path,value\n")
    with pytest.raises(xb.errors.DatasetError, match="keep one of them"):
        _ = dataset.accepted
