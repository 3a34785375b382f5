"""The scores of the summary: README's examples, weights, several metrics, undeclared keys."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb
from tests.evaluation.schemas import STRING, obj


def arr(items: Any, **config: Any) -> dict[str, Any]:
    params = {"evaluation_config": {"metric_id": "array_llm", "params": config}} if config else {}
    return {"type": "array", "items": items, **params}


def named(*letters: str) -> list[dict[str, str]]:
    return [{"name": letter * 12} for letter in letters]


def test_readme_example() -> None:
    """Name and age right, 8 of 10 items: field score 0.933, overall score 0.833."""
    schema = obj(name=STRING, age={"type": "integer"}, items=arr(obj(name=STRING)))
    gold = {"name": "Ada", "age": 36, "items": named(*"abcdefghij")}
    predicted = {"name": "Ada", "age": 36, "items": named(*"abcdefghyz")}
    summary = xb.evaluate(schema, gold, predicted, profile="paper").summary
    assert summary["field_score"] == pytest.approx((1 + 1 + 0.8) / 3)
    assert summary["overall_score"] == pytest.approx((1 + 1 + 10 * 0.8) / 12)
    assert round(summary["field_score"], 3) == 0.933
    assert round(summary["overall_score"], 3) == 0.833
    assert summary["pass_rate"] == 1.0


def test_readme_summary_sample() -> None:
    """13 fields, 11 right: languages 3 of 3, workExperience 2 of 3, `other` invented."""
    scalars = {f"f{i}": "x" for i in range(8)}
    arrays = ("education", "skills", "languages", "workExperience", "other")
    schema = obj(**dict.fromkeys(scalars, STRING), **dict.fromkeys(arrays, arr(obj(name=STRING))))
    gold = {
        **scalars,
        "education": named(*"abc"),
        "skills": named(*"abcd"),
        "languages": named(*"abc"),
        "workExperience": named(*"abc"),
        "other": [],
    }
    predicted = {**gold, "workExperience": named(*"abz"), "other": named("q")}
    ev = xb.evaluate(schema, gold, predicted, profile="paper")
    s = ev.summary
    assert (s["evaluated"], s["passed"], s["failed"]) == (13, 11, 2)
    assert round(s["field_score"], 3) == 0.897
    assert round(s["overall_score"], 3) == 0.909
    assert round(s["pass_rate"], 3) == 0.846
    arrays_frame = ev.arrays.set_index("field")
    counts = ["matched", "missed", "spurious", "precision", "recall", "f1", "score", "passed"]
    assert arrays_frame.loc["languages", counts].tolist() == [3, 0, 0, 1, 1, 1, 1, True]
    assert arrays_frame.loc["workExperience", counts].tolist() == [
        2, 1, 1, 2 / 3, 2 / 3, 2 / 3, 2 / 3, False,
    ]  # fmt: skip
    other = ev.fields.set_index("path").loc["$.other"]
    assert (other["metric"], other["score"], other["reason"]) == ("array_llm", 0.0, "gold_empty")


ARRAYS = [
    # gold, predicted, matched, missed, spurious, precision, recall, f1, score, passed
    pytest.param("ab", "ab", 2, 0, 0, 1.0, 1.0, 1.0, 1.0, True, id="all"),
    pytest.param("ab", "ba", 2, 0, 0, 1.0, 1.0, 1.0, 1.0, True, id="order"),
    pytest.param("ab", "a", 1, 1, 0, 1.0, 0.5, 2 / 3, 0.5, False, id="one missed"),
    pytest.param("a", "ab", 1, 0, 1, 0.5, 1.0, 2 / 3, 1.0, True, id="one spurious"),
    pytest.param("ab", "cd", 0, 2, 2, 0.0, 0.0, 0.0, 0.0, False, id="nothing"),
    pytest.param("", "ab", 0, 0, 2, 0.0, None, 0.0, 0.0, False, id="invented"),
    pytest.param("ab", "", 0, 2, 0, None, 0.0, 0.0, 0.0, False, id="omitted"),
    pytest.param("", "", 0, 0, 0, None, None, None, 1.0, True, id="both empty"),
    pytest.param("aab", "ab", 2, 1, 0, 1.0, 2 / 3, 0.8, 2 / 3, False, id="repeated in gold"),
    pytest.param("ab", "aab", 2, 0, 1, 2 / 3, 1.0, 0.8, 1.0, True, id="repeated in predicted"),
    pytest.param("abcdefghij", "abcdefg", 7, 3, 0, 1.0, 0.7, 14 / 17, 0.7, True, id="at 0.7"),
]


@pytest.mark.parametrize(
    "gold, predicted, matched, missed, spurious, precision, recall, f1, score, passed", ARRAYS
)
def test_array_counts(  # noqa: PLR0917 - one argument a column
    gold: str,
    predicted: str,
    matched: int,
    missed: int,
    spurious: int,
    precision: float | None,
    recall: float | None,
    f1: float | None,
    score: float,
    passed: bool,
) -> None:
    schema = obj(a=arr(obj(name=STRING)))
    ev = xb.evaluate(schema, {"a": named(*gold)}, {"a": named(*predicted)}, profile="paper")
    row = ev.arrays.iloc[0].astype(object).where(ev.arrays.iloc[0].notna(), None)
    assert row[["gold_items", "predicted_items"]].tolist() == [len(gold), len(predicted)]
    assert row[["matched", "missed", "spurious"]].tolist() == [matched, missed, spurious]
    assert row[["precision", "recall", "f1", "score", "passed"]].tolist() == pytest.approx(
        [precision, recall, f1, score, passed]
    )
    strict = xb.evaluate(schema, {"a": named(*gold)}, {"a": named(*predicted)})
    both_empty = not gold and not predicted
    assert strict.arrays.loc[0, "score"] == pytest.approx(1.0 if both_empty else f1)


THREE = obj(a=STRING, b=STRING, c=STRING, d=STRING)
RECORD = {"a": "1", "b": "2", "c": "3", "d": "4"}
PAIRS = [
    pytest.param({}, {}, "matched", 1.0, (), id="equal"),
    pytest.param({}, {"a": "9"}, "differing", 0.75, ("r[].a",), id="one field"),
    pytest.param({}, {"a": "9", "b": "9"}, "differing", 0.5, ("r[].a", "r[].b"), id="at 0.5"),
    pytest.param({}, {"a": "9", "b": "9", "c": "9"}, "missed", None, (), id="below 0.5"),
    pytest.param({}, {"a": None}, "differing", 0.75, ("r[].a",), id="a field is null"),
    pytest.param(
        {"c": None, "d": None}, {"b": "9", "c": None, "d": None}, "differing", 0.5, ("r[].b",),
        id="absent on both sides does not count",
    ),
    pytest.param(
        {"c": None}, {"a": "9", "b": "9"}, "missed", None, (), id="present on either side does"
    ),
]  # fmt: skip


@pytest.mark.parametrize("gold, predicted, status, similarity, failed", PAIRS)
def test_pair(gold: Any, predicted: Any, status: str, similarity: Any, failed: Any) -> None:
    documents = {"r": [{**RECORD, **gold}]}, {"r": [{**RECORD, **predicted}]}
    ev = xb.evaluate(obj(r=arr(THREE)), *documents, profile="paper")
    first = ev.matches.iloc[0]
    assert (first["status"], first["failed_fields"]) == (status, failed)
    assert len(ev.matches) == (2 if status == "missed" else 1)
    if similarity is not None:
        assert first["similarity"] == similarity
        assert len(ev.fields[~ev.fields["counted"]]) == 4
    else:
        assert ev.fields["counted"].all(), "a pair that is apart has no item rows"


@pytest.mark.parametrize(
    "threshold, status",
    [(0.0, "differing"), (0.25, "differing"), (0.26, "missed"), (1.0, "missed")],
)
def test_align_threshold(threshold: float, status: str) -> None:
    schema = obj(r=arr(THREE, align_threshold=threshold))
    predicted = {"a": "9", "b": "9", "c": "9", "d": "4"}
    ev = xb.evaluate(schema, {"r": [RECORD]}, {"r": [predicted]})
    assert ev.matches.loc[0, "status"] == status


@pytest.mark.parametrize("threshold, passed", [(0.0, True), (0.5, True), (0.51, False)])
def test_pass_threshold(threshold: float, passed: bool) -> None:
    schema = obj(r=arr(STRING, pass_threshold=threshold))
    ev = xb.evaluate(schema, {"r": ["x", "y"]}, {"r": ["x"]}, profile="paper")
    assert ev.arrays.loc[0, "passed"] == passed
    assert ev.fields.loc[0, "passed"] == passed
    assert ev.summary["passed"] == passed


def test_inner_array_passes_at_its_own_threshold() -> None:
    strict = obj(r=arr(obj(k=STRING, t=arr(STRING, pass_threshold=1.0))))
    easy = obj(r=arr(obj(k=STRING, t=arr(STRING, pass_threshold=0.5))))
    gold, predicted = {"r": [{"k": "x", "t": ["1", "2"]}]}, {"r": [{"k": "x", "t": ["1"]}]}
    assert xb.evaluate(strict, gold, predicted).matches.loc[0, "status"] == "differing"
    ev = xb.evaluate(easy, gold, predicted, profile="paper")
    assert ev.matches.loc[0, "status"] == "matched"
    assert ev.arrays[["path", "counted", "matched"]].to_numpy().tolist() == [
        ["$.r", True, 1],
        ["$.r[0].t", False, 1],
    ]


def test_items_without_scored_fields_match_by_equality_of_the_whole_value() -> None:
    for items in ({}, {"type": "object"}, obj(k={**STRING, "evaluation_config": "skip"})):
        ev = xb.evaluate(
            obj(r=arr(items)), {"r": [{"k": 1, "m": [1, 2]}, {"k": 2}]}, {"r": [{"k": 2}, {"k": 3}]}
        )
        assert ev.arrays.loc[0, ["matched", "missed", "spurious"]].tolist() == [1, 1, 1]


def weighted(weight: float, metric: str = "string_exact") -> dict[str, Any]:
    config = {"metrics": [{"metric_id": metric}], "aggregation_weight": weight}
    return {"type": "string", "evaluation_config": config}


def test_weights_of_nodes() -> None:
    schema = obj(a=weighted(3), b=weighted(1), c=weighted(0))
    ev = xb.evaluate(schema, {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "c": "9"})
    s = ev.summary
    assert [s["field_score"], s["overall_score"], s["pass_rate"]] == [0.75, 0.75, 0.75]
    assert (s["evaluated"], s["passed"], s["failed"]) == (3, 1, 2)
    assert ev.fields["weight"].tolist() == [3, 1, 0]


def test_weight_of_an_array_multiplies_its_items() -> None:
    config = {"metrics": [{"metric_id": "array_llm"}], "aggregation_weight": 2}
    schema = obj(a={"type": "array", "items": STRING, "evaluation_config": config}, b=STRING)
    documents = {"a": ["x", "y"], "b": "1"}, {"a": ["x"], "b": "1"}
    s = xb.evaluate(schema, *documents, profile="paper").summary
    assert s["overall_score"] == pytest.approx((2 * 2 * 0.5 + 1) / (2 * 2 + 1))
    assert s["field_score"] == pytest.approx((2 * 0.5 + 1) / 3)


def test_all_weights_zero_is_the_plain_mean() -> None:
    s = xb.evaluate(obj(a=weighted(0), b=weighted(0)), {"a": "1", "b": "2"}, {"a": "1"}).summary
    assert 0 <= s["field_score"] <= 1


def several(*metrics: tuple[str, float], kind: str = "string", **rest: Any) -> dict[str, Any]:
    entries = [{"metric_id": name, "weight": weight} for name, weight in metrics]
    return {"type": kind, "evaluation_config": {"metrics": entries}, **rest}


def test_several_metrics_on_a_node() -> None:
    schema = obj(a=several(("string_exact", 1), ("string_case_insensitive", 3)), b=STRING)
    ev = xb.evaluate(schema, {"a": "X", "b": "1"}, {"a": "x", "b": "1"})
    assert ev.fields[["path", "metric", "score", "passed"]].to_numpy().tolist() == [
        ["$.a", "string_exact", 0.0, False],
        ["$.a", "string_case_insensitive", 1.0, True],
        ["$.b", "string_exact", 1.0, True],
    ]
    s = ev.summary
    assert (s["evaluated"], s["passed"], s["failed"]) == (2, 1, 1)
    assert s["field_score"] == pytest.approx((0.75 + 1) / 2)
    assert s["pass_rate"] == 0.5


def test_several_metrics_in_an_item() -> None:
    schema = obj(r=arr(obj(a=several(("string_exact", 1), ("string_case_insensitive", 3)))))
    ev = xb.evaluate(schema, {"r": [{"a": "X"}]}, {"r": [{"a": "x"}]})
    assert ev.matches.loc[0, ["status", "similarity"]].tolist() == ["differing", 0.75]


@pytest.mark.parametrize("order", [("array_llm", "set_f1"), ("set_f1", "array_llm")])
def test_several_metrics_on_an_array(order: tuple[str, str]) -> None:
    """One row per metric, whichever comes first; the node counts once."""
    schema = obj(a=several(*((name, 1) for name in order), kind="array", items=STRING))
    ev = xb.evaluate(schema, {"a": ["x", "y"]}, {"a": ["x"]}, profile="paper")
    rows = ev.fields[ev.fields["path"] == "$.a"].set_index("metric")["score"].to_dict()
    assert rows == pytest.approx({"array_llm": 0.5, "set_f1": 2 / 3})
    assert ev.summary["evaluated"] == 1
    assert ev.summary["field_score"] == pytest.approx((0.5 + 2 / 3) / 2)


def test_set_f1_array_still_has_its_items_in_the_frames() -> None:
    schema = obj(a={**arr(STRING), "evaluation_config": "set_f1"})
    ev = xb.evaluate(schema, {"a": ["x", "y"]}, {"a": ["Y", "z"]})
    assert ev.fields.loc[0, "score"] == 0.5
    assert ev.arrays.loc[0, ["gold_items", "predicted_items", "score"]].tolist() == [2, 2, 0.5]
    assert len(ev.matches) >= 2


UNDECLARED = [
    # gold, coverage, warnings
    pytest.param({"a": "1"}, 1.0, [], id="all declared"),
    pytest.param({"a": "1", "z": "2"}, 0.5, ["$.z"], id="a key"),
    pytest.param({"a": "1", "z": {"p": 1, "q": [2, 3]}}, 0.25, ["$.z"], id="a tree"),
    pytest.param({"a": "1", "z": None}, 1.0, ["$.z"], id="nulls are no leaves"),
    pytest.param({"a": "1", "r": [{"k": "2", "y": "3"}]}, 2 / 3, ["$.r[0].y"], id="in an item"),
    pytest.param({"a": "1", "m": {"p": {"k": "2"}}}, 1.0, [], id="a map declares its keys"),
    pytest.param({"a": "1", "u": {"k": "2", "x": 1}}, 2 / 3, ["$.u.x"], id="in a union"),
    pytest.param({}, 1.0, [], id="nothing"),
    pytest.param({"odd name": "1"}, 0.0, ["$['odd name']"], id="odd name"),
]


@pytest.mark.parametrize("document, coverage, paths", UNDECLARED)
def test_undeclared_keys(document: Any, coverage: float, paths: list[str]) -> None:
    item = obj(k=STRING)
    schema = obj(
        a=STRING,
        r=arr(item),
        m={"type": "object", "additionalProperties": item},
        u={"anyOf": [item, {"type": "null"}]},
    )
    ev = xb.evaluate(schema, document, {})
    found = ev.warnings[ev.warnings["kind"] == "undeclared"]
    assert found[["side", "path"]].to_numpy().tolist() == [["gold", p] for p in paths]
    assert ev.summary["gold_coverage"] == pytest.approx(coverage)
    ev = xb.evaluate(schema, {"a": "1"}, document)
    found = ev.warnings[ev.warnings["kind"] == "undeclared"]
    assert found[["side", "path"]].to_numpy().tolist() == [["predicted", p] for p in paths]
    assert ev.summary["gold_coverage"] == 1.0


@pytest.mark.parametrize("profile, paths", [("paper", ["$.a"]), ("strict", ["$.a", "$.y"])])
def test_undeclared_keys_of_gold_are_not_scored(profile: str, paths: list[str]) -> None:
    documents = {"a": "1", "z": "2"}, {"a": "1", "y": "3"}
    ev = xb.evaluate(obj(a=STRING), *documents, profile=profile)
    assert ev.fields["path"].tolist() == paths
    assert ev.summary["overall_score"] == 1 / len(paths)
    assert "50" in repr(ev), "the card says that the schema declares half of gold only"


def test_nothing_to_score() -> None:
    s = xb.evaluate(obj(), {}, {}).summary
    assert s[["overall_score", "field_score", "pass_rate", "evaluated"]].tolist() == [1, 1, 1, 0]
