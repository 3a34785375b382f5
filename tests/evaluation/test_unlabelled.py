"""Gold that does not say some values: `UNLABELED` in its place, or a list of paths."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core import unlabelled

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "year": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "notes": {"type": "object", "additionalProperties": {"type": "string"}},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "amount": {"type": "number"}},
            },
        },
    },
}
GOLD: dict[str, Any] = {
    "title": "Report",
    "year": None,
    "tags": ["a"],
    "address": {"city": "Oslo"},
    "notes": {"x": "one", "y": "two"},
    "lines": [{"name": "pen", "amount": 1.0}, {"name": "ink"}],
}
#: What no field of gold has.
WRONG: dict[str, Any] = {
    "title": "Another",
    "year": 1999,
    "tags": ["z"],
    "address": {"city": "Rome"},
    "notes": {"x": "wrong", "y": "wrong"},
    "lines": [{"name": "pen", "amount": 7.0}, {"name": "ink", "amount": 3.0}],
}

#: Path, what it makes of gold (number of values), and the paths of `fields` that go.
CASES = {
    "a scalar": ("title", 1, {"$.title"}),
    "a null": ("$.year", 1, {"$.year"}),
    "an array": ("tags", 1, {"$.tags", "$.tags[0]", "$.tags[+0]"}),
    "an object": ("address", 1, {"$.address.city"}),
    "inside an object": ("$.address.city", 1, {"$.address.city"}),
    "an entry of a map": ("$.notes['x']", 1, {"$.notes['x']"}),
    "every entry of a map": ("notes.*", 2, {"$.notes['x']", "$.notes['y']"}),
    "a field of one item": ("$.lines[0].amount", 1, {"$.lines[0].amount"}),
    "a field of all items, of one a key is added": (
        "lines[].amount", 2, {"$.lines[0].amount", "$.lines[1].amount"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("path, values, gone", CASES.values(), ids=CASES)
def test_unlabelled_values_are_not_scored(
    path: str, values: int, gone: set[str], profile: str
) -> None:
    gold = copy.deepcopy(GOLD)
    marked = unlabelled(gold, [path])
    assert gold == GOLD
    before = xb.evaluate(SCHEMA, GOLD, WRONG, profile=profile)
    after = xb.evaluate(SCHEMA, marked, WRONG, profile=profile)
    paths = {*before.fields["path"]} - {*after.fields["path"]}
    assert paths == gone & {*before.fields["path"]}
    assert after.summary["unlabelled"] == values
    listed = after.warnings.query("kind == 'unlabelled'")
    assert len(listed) == values
    assert after.summary["pass_rate"] >= before.summary["pass_rate"]
    assert "unlabelled" in repr(after)


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("path", ["lines[].*", "$.lines[0].*", "tags"])
def test_items_of_which_nothing_is_labelled_match(path: str, profile: str) -> None:
    ev = xb.evaluate(SCHEMA, unlabelled(GOLD, [path]), GOLD, profile=profile)
    assert ev.summary["pass_rate"] == 1.0
    violations = ev.warnings.query("kind != 'unlabelled'")
    assert set(violations["path"]) == {"$.year"}  # null, which the schema does not allow


def test_unlabelled_values_are_listed_in_order_and_are_no_leaves_of_gold() -> None:
    ev = xb.evaluate(SCHEMA, unlabelled(GOLD, ["lines[].amount", "title", "misspelt"]), GOLD)
    paths = ev.warnings.query("kind == 'unlabelled'")["path"].tolist()
    assert paths == ["$.title", "$.lines[0].amount", "$.lines[1].amount", "$.misspelt"]
    assert ev.summary["gold_coverage"] == 1.0
    assert ev.warnings.query("kind == 'undeclared'")["path"].tolist() == ["$.misspelt"]


def test_nothing_changes_if_the_prediction_leaves_them_out() -> None:
    marked = unlabelled(GOLD, ["lines[].amount", "title", "year"])
    predicted = {**GOLD, "lines": [{"name": "pen"}, {"name": "ink"}]}
    del predicted["title"]
    ev = xb.evaluate(SCHEMA, marked, predicted)
    assert ev.summary["pass_rate"] == 1.0
    assert ev.arrays.set_index("field").loc["lines", "matched"] == 2


@pytest.mark.parametrize(
    "path", ["tags[]", "$.tags[0]", "lines[]", "", "$", "nowhere.inside", "$.lines[7].name"]
)
def test_paths_that_lead_to_no_key_are_refused(path: str) -> None:
    with pytest.raises(xb.InputError, match="unlabelled"):
        unlabelled(GOLD, [path])


def test_an_item_cannot_be_unlabelled() -> None:
    with pytest.raises(xb.InputError, match=r"\$\.tags has UNLABELED as an item"):
        xb.evaluate(SCHEMA, {**GOLD, "tags": [xb.UNLABELED]}, WRONG)


def test_there_is_one_object() -> None:
    for other in (copy.deepcopy(xb.UNLABELED), pickle.loads(pickle.dumps(xb.UNLABELED))):  # noqa: S301
        assert other is xb.UNLABELED


def test_batches(tmp_path: Any) -> None:
    gold = unlabelled(GOLD, ["title"])
    row = {"run": "a", "document": "d", "schema": SCHEMA, "gold": gold, "predicted": WRONG}
    evs = xb.evaluate_runs(pd.DataFrame([row]), progress=False, save_to=tmp_path / "batch")
    assert evs.summary["unlabelled"].tolist() == [1]
    assert "$.title" not in evs.fields["path"].tolist()
    pd.testing.assert_frame_equal(xb.load_evaluations(tmp_path / "batch").summary, evs.summary)
