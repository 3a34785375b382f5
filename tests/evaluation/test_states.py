"""Value states: resolved before any metric runs (section 3.3 of the paper)."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb

MISSING = object()
SCALAR = {"type": "string", "evaluation_config": "string_exact"}
ARRAY = {"type": "array", "items": SCALAR}


def document(value: Any) -> dict[str, Any]:
    return {} if value is MISSING else {"a": value}


def evaluate(schema: Any, gold: Any, predicted: Any, **rest: Any) -> Any:
    root = {"type": "object", "properties": {"a": schema}, **rest}
    return xb.evaluate(root, document(gold), document(predicted))


def row(ev: Any) -> list[Any]:
    columns = ["gold_state", "predicted_state", "outcome", "score", "passed", "reason"]
    top = ev.fields[ev.fields["path"] == "$.a"]
    assert len(top) == 1
    return top[columns].iloc[0].tolist()


BOTH = ("both_absent", 1.0, True)
OMITTED = ("omission", 0.0, False)
INVENTED = ("hallucination", 0.0, False)
RIGHT = ("correct", 1.0, True)
WRONG = ("incorrect", 0.0, False)

VALUES = {"missing": MISSING, "null": None, "empty": [], "present": ["x"]}
ARRAY_TABLE = [
    ("missing", "missing", *BOTH, "both_missing"),
    ("missing", "null", *BOTH, "both_absent"),
    ("missing", "empty", *BOTH, "both_absent"),
    ("missing", "present", *INVENTED, "gold_missing"),
    ("null", "missing", *BOTH, "both_absent"),
    ("null", "null", *BOTH, "both_null"),
    ("null", "empty", *BOTH, "both_absent"),
    ("null", "present", *INVENTED, "gold_null"),
    ("empty", "missing", *BOTH, "both_absent"),
    ("empty", "null", *BOTH, "both_absent"),
    ("empty", "empty", *BOTH, "both_empty"),
    ("empty", "present", *INVENTED, "gold_empty"),
    ("present", "missing", *OMITTED, "predicted_missing"),
    ("present", "null", *OMITTED, "predicted_null"),
    ("present", "empty", *OMITTED, "predicted_empty"),
    ("present", "present", *RIGHT, "all_matched"),
]
SCALAR_TABLE = [
    *(line for line in ARRAY_TABLE[:-1] if "empty" not in line[:2]),
    ("present", "present", *RIGHT, "match"),
]


@pytest.mark.parametrize("gold, predicted, outcome, score, passed, reason", ARRAY_TABLE)
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(ARRAY, id="array"),
        pytest.param({**ARRAY, "type": ["array", "null"]}, id="nullable"),
        pytest.param({"anyOf": [{"type": "null"}, ARRAY]}, id="anyOf"),
    ],
)
def test_array(  # noqa: PLR0917 - one argument a column
    schema: Any, gold: str, predicted: str, outcome: str, score: float, passed: bool, reason: str
) -> None:
    ev = evaluate(schema, VALUES[gold], VALUES[predicted])
    top = ev.fields[ev.fields["path"] == "$.a"]
    columns = ["gold_state", "predicted_state", "outcome", "score", "passed", "reason"]
    assert top[columns].to_numpy().tolist() == [[gold, predicted, outcome, score, passed, reason]]


@pytest.mark.parametrize("gold, predicted, outcome, score, passed, reason", SCALAR_TABLE)
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(SCALAR, id="scalar"),
        pytest.param({**SCALAR, "type": ["string", "null"]}, id="type list"),
        pytest.param({"anyOf": [SCALAR, {"type": "null"}]}, id="anyOf"),
        pytest.param({**SCALAR, "nullable": True}, id="nullable"),
        pytest.param({"$ref": "#/$defs/s"}, id="reference"),
    ],
)
def test_scalar(  # noqa: PLR0917 - one argument a column
    schema: Any, gold: str, predicted: str, outcome: str, score: float, passed: bool, reason: str
) -> None:
    values = {**VALUES, "present": "x"}
    ev = evaluate(schema, values[gold], values[predicted], **{"$defs": {"s": SCALAR}})
    assert row(ev) == [gold, predicted, outcome, score, passed, reason]


METRICS = {
    "string": [
        "string_exact",
        "string_fuzzy",
        "string_semantic",
        "string_url",
        "date",
        "string_llm",
    ],
    "number": ["number_exact", "number_tolerance"],
    "integer": ["integer_exact"],
    "boolean": ["boolean_exact"],
}
EACH = [(kind, name) for kind, names in METRICS.items() for name in names]


@pytest.mark.parametrize("kind, metric", EACH)
@pytest.mark.parametrize(
    "gold, predicted, outcome, reason", [(g, p, o, r) for g, p, o, _, _, r in SCALAR_TABLE[:-1]]
)
def test_states_come_before_every_metric(
    kind: str, metric: str, gold: str, predicted: str, outcome: str, reason: str
) -> None:
    value = {"string": "x", "number": 2.5, "integer": 3, "boolean": False}[kind]
    values = {"missing": MISSING, "null": None, "present": value}
    ev = evaluate({"type": kind, "evaluation_config": metric}, values[gold], values[predicted])
    assert row(ev)[2] == outcome
    assert row(ev)[5] == reason
    assert ev.fields.loc[0, "metric"] == metric


@pytest.mark.parametrize(
    "schema, gold", [pytest.param(SCALAR, "x", id="scalar"), pytest.param(ARRAY, ["x"], id="array")]
)
def test_missing_required_key_is_an_omission_that_says_so(schema: Any, gold: Any) -> None:
    ev = evaluate(schema, gold, MISSING, required=["a"])
    assert row(ev)[:3] == ["present", "missing", "omission"]
    assert row(ev)[5] == "required_missing"
    assert ev.summary["structural"] == 0
    assert row(evaluate(schema, gold, None, required=["a"]))[5] == "predicted_null"


@pytest.mark.parametrize("absent", [MISSING, None], ids=["missing", "null"])
def test_absent_object_makes_every_field_below_absent(absent: Any) -> None:
    inner = {"type": "object", "properties": {"x": SCALAR, "y": SCALAR, "z": ARRAY}}
    ev = evaluate(inner, {"x": "1", "z": ["q"]}, absent)
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.a.x", "omission"],
        ["$.a.y", "both_absent"],
        ["$.a.z", "omission"],
        ["$.a.z[0]", "omission"],
    ]
    ev = evaluate(inner, absent, {"x": "1", "z": ["q"]})
    assert ev.fields[["path", "outcome"]].to_numpy().tolist() == [
        ["$.a.x", "hallucination"],
        ["$.a.y", "both_absent"],
        ["$.a.z", "hallucination"],
        ["$.a.z[+0]", "hallucination"],
    ]


def test_null_root_node_and_objects_have_no_rows() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "null"}, "o": {"type": "object"}}}
    gold, predicted = {"n": None, "o": {}}, {"n": "x", "o": {"k": 1}}
    assert xb.evaluate(schema, gold, predicted, profile="paper").fields.empty
    invented = xb.evaluate(schema, gold, predicted).fields
    assert set(invented["path"]) == {"$.n", "$.o.k"}
    assert set(invented["outcome"]) == {"hallucination"}


def test_absent_items_inside_arrays() -> None:
    """Null is a value state of items too: a null item is one of the items."""
    ev = evaluate(ARRAY, ["x", None], [None, "x"])
    assert ev.arrays.loc[0, ["gold_items", "predicted_items", "matched"]].tolist() == [2, 2, 2]


def test_a_required_key_is_not_missed_where_gold_is_null() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
        "required": ["a"],
    }
    missing = xb.evaluate(schema, {"a": None}, {})
    assert missing.fields.loc[0, ["outcome", "passed"]].tolist() == ["both_absent", True]
    omitted = xb.evaluate(schema, {"a": "x"}, {})
    assert omitted.fields.loc[0, "reason"] == "required_missing"


@pytest.mark.parametrize("score, passed", [(0.75, True), (0.7499, False)])
def test_a_score_at_the_mark_passes(score: float, passed: bool) -> None:
    class Judge:
        name = "fixed"

        def compare(self, gold: str, predicted: str) -> Any:
            return xb.judges.Verdict(score, "fixed")

    config = {"metric_id": "string_semantic", "params": {"pass_threshold": 0.75}}
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "evaluation_config": config}},
    }
    ev = xb.evaluate(schema, {"a": "x"}, {"a": "y"}, judge=Judge())
    assert ev.fields.loc[0, "passed"] == passed


@pytest.mark.parametrize("gold, passed", [("abcde", True), ("abcdefg", False)])
def test_a_similarity_at_the_threshold_passes(gold: str, passed: bool) -> None:
    config = {"metric_id": "string_fuzzy", "params": {"threshold": 0.8}}
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "evaluation_config": config}},
    }
    assert xb.evaluate(schema, {"a": gold}, {"a": "abcdX"}).fields.loc[0, "passed"] == passed
