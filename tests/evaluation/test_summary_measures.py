"""What `summary` says beside the scores: the floor, micro measures, counts; one profile a time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb

NAME = {"type": "string", "evaluation_config": "string_exact"}
ROW = {"type": "object", "properties": {"a": NAME, "b": NAME, "c": NAME, "d": NAME}}
SAMPLE = Path(__file__).parents[2] / "dataset"


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_the_floor_is_what_a_null_prediction_reaches(profile: str) -> None:
    golds = sorted(SAMPLE.glob("*/*/pdf+gold/*.gold.json"))
    assert golds
    for path in golds:
        schema = next(path.parent.parent.glob("*-schema.json"))
        gold = json.loads(path.read_text())
        blank = {key: [] if isinstance(value, list) else None for key, value in gold.items()}
        ev = xb.evaluate(schema, gold, gold, profile=profile)
        of_null = xb.evaluate(schema, gold, blank, profile=profile)
        assert ev.summary["null_pass_rate"] == pytest.approx(of_null.summary["pass_rate"])
        assert of_null.summary["null_pass_rate"] == ev.summary["null_pass_rate"]


def test_the_floor_with_an_absence_that_the_schema_accepts() -> None:
    config = {"metric_id": "string_exact", "accepted": [["none", None]]}
    item = schema_of(a={"type": ["string", "null"], "evaluation_config": config}, b=NAME)
    schema = schema_of(rows={"type": "array", "items": item})
    gold = {"rows": [{"a": "none", "b": "x"}]}
    found = [xb.evaluate(schema, gold, side).summary for side in (gold, {"rows": []})]
    assert found[0]["null_pass_rate"] == found[1]["null_pass_rate"] == found[1]["pass_rate"]


#: Gold, predicted; right, predicted values, gold values.
MICRO = {
    "all right": ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}, (2, 2, 2)),
    "one wrong": ({"a": "x", "b": "y"}, {"a": "x", "b": "z"}, (1, 2, 2)),
    "one omitted": ({"a": "x", "b": "y"}, {"a": "x"}, (1, 1, 2)),
    "one invented": ({"a": "x"}, {"a": "x", "b": "y"}, (1, 2, 1)),
    "nothing there": ({}, {}, (0, 0, 0)),
    "undeclared": ({"a": "x"}, {"a": "x", "z": 1}, (1, 2, 1)),
    "of a wrong type": ({"a": "x"}, {"a": 5}, (0, 1, 1)),
}


@pytest.mark.parametrize("gold, predicted, counts", MICRO.values(), ids=MICRO)
def test_micro_measures(
    gold: dict[str, Any], predicted: dict[str, Any], counts: tuple[int, int, int]
) -> None:
    right, said, true = counts
    found = xb.evaluate(schema_of(a=NAME, b=NAME), gold, predicted, profile="strict").summary
    expected = [right / n if n else float("nan") for n in (said, true)] + [
        2 * right / (said + true) if said + true else float("nan")
    ]
    assert found[["precision", "recall", "f1"]].tolist() == pytest.approx(expected, nan_ok=True)


def test_an_accepted_absence_is_no_gold_value() -> None:
    accepted = [{"path": "$.a", "value": None}]
    ev = xb.evaluate(schema_of(a=NAME, b=NAME), {"a": "x", "b": "y"}, {"b": "y"}, accepted=accepted)
    assert ev.summary[["precision", "recall", "f1"]].tolist() == [1.0, 1.0, 1.0]


def fails(gold: Any, predicted: Any) -> float:
    raise RuntimeError


@pytest.mark.parametrize(
    "fields, failing, expected",
    [("", "", 1.0), ("ab", "", 0.5), ("ab", "a", 0.0), ("ab", "b", 1.0), ("ab", "ab", None)],
)
def test_pass_rate_of_the_judged(fields: str, failing: str, expected: float | None) -> None:
    schema = schema_of(**dict.fromkeys(fields, NAME))
    gold, predicted = {"a": "x", "b": "y"}, {"a": "x", "b": "z"}
    sides = ({name: side[name] for name in fields} for side in (gold, predicted))
    metrics = dict.fromkeys(failing, xb.metric("fails")(fails))
    found = xb.evaluate(schema, *sides, metrics=metrics).summary
    rate = found["pass_rate_judged"]
    assert (None if pd.isna(rate) else rate) == expected


@pytest.mark.parametrize(
    "rows, share",
    [([{"a": "x"}], 1.0), ([{"a": "x", "z": 1}], 1 / 2), ([{"z": [1, 2]}, {"a": "x"}], 1 / 3)],
)
def test_coverage_is_the_declared_share_of_gold(rows: list[Any], share: float) -> None:
    gold = {"rows": rows}
    ev = xb.evaluate(schema_of(rows={"type": "array", "items": ROW}), gold, gold)
    assert ev.summary["gold_coverage"] == pytest.approx(share)


def test_counts_are_integers() -> None:
    ev = xb.evaluate(schema_of(a=NAME), {"a": "x"}, {"a": "y"})
    counts = [c.name for c in xb.core.Evaluation.spec("summary").columns if c.dtype == "int64"]
    assert "passed" in counts
    assert all(type(ev.summary[name]) is int for name in counts)
    row = {"run": "r", "document": "d", "schema": schema_of(a=NAME), "gold": {}, "predicted": "no"}
    evs = xb.evaluate_runs(pd.DataFrame([row]), progress=False)
    assert (evs.summary[counts].dtypes == "int64").all()
    assert evs.summary["valid"].tolist() == [False]


def test_counts_of_items_are_disjoint() -> None:
    gold = [{"a": n, "b": n, "c": n, "d": n} for n in "123"]
    predicted = [gold[0], {**gold[1], "d": "wrong"}, {"a": "new"}, {"a": "other"}]
    for profile in ("paper", "strict"):
        ev = xb.evaluate(schema_of(rows={"type": "array", "items": ROW}),
                         {"rows": gold}, {"rows": predicted}, profile=profile)  # fmt: skip
        row = ev.arrays.iloc[0]
        names = ["matched", "differing", "missed", "spurious"]
        assert row[names].tolist() == [1, 1, 1, 2]
        assert row[["recall", "precision"]].tolist() == [1 / 3, 1 / 4]
        assert ev.matches["status"].value_counts().reindex(names).tolist() == [1, 1, 1, 2]


def test_field_score_counts_each_schema_field_once_in_strict() -> None:
    scalars = {f"s{n}": NAME for n in range(10)}
    schema = schema_of(**scalars, rows={"type": "array", "items": ROW})
    rows = [{name: f"{name}{n}" for name in "abcd"} for n in range(300)]
    gold = {**dict.fromkeys(scalars, "x"), "rows": rows}
    predicted = {**dict.fromkeys(scalars, "y"), "rows": rows}
    strict = xb.evaluate(schema, gold, predicted)
    assert strict.summary["pass_rate"] == pytest.approx(1200 / 1210)
    assert strict.summary["field_score"] == pytest.approx(4 / 14)
    assert "rows" in repr(strict)  # the array that outweighs the rest is named
    paper = xb.evaluate(schema, gold, predicted, profile="paper")
    assert paper.summary["field_score"] == pytest.approx(1 / 11)


def test_invented_items_are_named_where_they_cost_nothing() -> None:
    schema = schema_of(rows={"type": "array", "items": ROW})
    row = dict.fromkeys("abcd", "x")
    invented = [dict.fromkeys("abcd", str(n)) for n in range(50)]
    paper = xb.evaluate(schema, {"rows": [row]}, {"rows": [row, *invented]}, profile="paper")
    assert paper.summary["pass_rate"] == 1.0
    assert "50 spurious items" in repr(paper)
    assert "50 spurious items" in paper._repr_html_()
    strict = xb.evaluate(schema, {"rows": [row]}, {"rows": [row, *invented]})
    assert strict.meta["profile"] == "strict"
    assert strict.summary["pass_rate"] == pytest.approx(4 / 204)


def test_results_of_two_profiles_are_not_compared(tmp_path: Path) -> None:
    schema, gold = schema_of(a=NAME), {"a": "x"}
    single = {p: xb.evaluate(schema, gold, gold, profile=p) for p in ("paper", "strict")}
    rows = pd.DataFrame(
        [
            {"run": r, "document": "d", "schema": schema, "gold": gold, "predicted": gold}
            for r in "ab"
        ]
    )
    batches = {
        p: xb.evaluate_runs(rows, profile=p, progress=False, save_to=tmp_path / p) for p in single
    }
    attempts: list[Any] = [
        lambda: xb.compare_runs({p: {"d": ev} for p, ev in single.items()}),
        lambda: xb.compare_runs({"a": batches["paper"], "b": batches["strict"]}),
        lambda: xb.agreement(batches["paper"], batches["strict"]),
        lambda: xb.regressions(batches["paper"], batches["strict"], run="a"),
        lambda: xb.breakdown(list(single.values())),
        lambda: xb.stats.judge_agreement(single),
    ]
    for attempt in attempts:
        with pytest.raises(xb.InputError, match="profile"):
            attempt()


#: The array's config, whether its own row counts in strict, and the pass rate of two swapped items.
WHOLE = {
    "aligned": ({"metric_id": "array_llm"}, False, 1.0),
    "by default": (None, False, 1.0),
    "a set": ({"metric_id": "set_f1"}, True, 1.0),
    "a metric of the user's": ({"metric_id": "first_is_first"}, True, 0.0),
    "both": ({"metrics": [{"metric_id": "array_llm"}, {"metric_id": "first_is_first"}]}, True, 0.0),
}


@pytest.mark.parametrize("config, counted, rate", WHOLE.values(), ids=WHOLE)
def test_an_array_that_another_metric_takes_as_a_whole_is_one_field(
    config: Any, counted: bool, rate: float
) -> None:
    @xb.metric(applies_to="array")
    def first_is_first(gold: Any, predicted: Any) -> bool:
        return bool(gold[0] == predicted[0])

    tags = {"type": "array", "items": NAME} | ({"evaluation_config": config} if config else {})
    ev = xb.evaluate(schema_of(tags=tags), {"tags": ["a", "b"]}, {"tags": ["b", "a"]})
    assert ev.arrays["counted"].tolist() == [counted]
    assert ev.summary["evaluated"] == (1 if counted else 2)
    assert ev.summary["pass_rate"] == rate


@pytest.mark.parametrize("profile", ["strict", "paper"])
def test_the_card_lists_the_outer_arrays_that_differ(profile: str) -> None:
    inner = {"type": "array", "items": {"type": "string"}}
    item = {"type": "object", "properties": {"n": {"type": "integer"}, "inner": inner}}
    arrays = {name: {"type": "array", "items": item} for name in ("wrong", "right")}
    schema = schema_of(**arrays, left=arrays["wrong"] | {"evaluation_config": "skip"})
    gold = {"wrong": [{"n": 1, "inner": ["x"]}], "right": [{"n": 2}], "left": [{"n": 3}]}
    predicted = gold | {"wrong": [{"n": 1, "inner": ["y"]}, {"n": 4}], "left": []}
    card = xb.evaluate(schema, gold, predicted, profile=profile)._repr_html_()
    _, _, table = card.partition("arrays that differ")
    assert re.findall(r"<td[^>]*>([^<]+)</td>", table) == ["wrong", "1", "2", "0", "1", "0", "1"]
    assert "1 array matched completely" in table


@pytest.mark.parametrize("weight, rate", [(1.0, 1 / 3), (0.0, 0.0), (2.0, 2 / 5)])
def test_an_arrays_weight_is_that_of_its_leaves(weight: float, rate: float) -> None:
    outer = {"type": "array", "items": ROW, "evaluation_config": {"aggregation_weight": weight}}
    gold = {"a": "x", "rows": [{"a": "1", "b": "2"}]}
    ev = xb.evaluate(schema_of(a=NAME, rows=outer), gold, {"rows": [{"a": "1", "b": "no"}]})
    assert ev.summary["pass_rate"] == pytest.approx(rate)
    of_rows = ev.fields.query("counted and path != '$.a'")
    assert of_rows["weight"].tolist() == [weight] * 2
    assert ev.summary["null_pass_rate"] == 0.0
