"""The degenerate-case matrix: every metric, every kind of gold against every kind of predicted."""

from __future__ import annotations

import math
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.built_in_metrics import table_grits
from extractbench_nb.core.field_metrics.registry import REGISTRY

MISSING = object()


def run(metric: str, kind: str, gold: Any, predicted: Any, **params: Any) -> Any:
    """Evaluate one field and return its row."""
    node: dict[str, Any] = {
        "type": kind,
        "evaluation_config": {"metric_id": metric, "params": params},
    }
    if kind == "array":
        node["items"] = {"type": "string", "evaluation_config": "string_exact"}
    schema = {"type": "object", "properties": {"a": node}}
    documents = [{} if v is MISSING else {"a": v} for v in (gold, predicted)]
    return xb.evaluate(schema, *documents).fields.iloc[0]


#: Values of each kind: empty, one, another, and one of the wrong type.
KINDS: dict[str, tuple[Any, Any, Any, Any]] = {
    "string": ("", "kitten", "sitting", 5),
    "number": (0, 12.5, 99.75, "twelve"),
    "integer": (0, 12, 99, "twelve"),
    "boolean": (False, True, False, "maybe"),
    "array": ([], ["p", "q"], ["q", "r"], "p"),
}
METRICS: dict[str, tuple[str, float, float]] = {
    # metric: kind, score of one against another, score of empty against one
    "string_exact": ("string", 0.0, 0.0),
    "string_case_insensitive": ("string", 0.0, 0.0),
    "string_normalized": ("string", 0.0, 0.0),
    "string_fuzzy": ("string", 4 / 7, 0.0),
    "string_url": ("string", 0.0, 0.0),
    "date": ("string", 0.0, 0.0),
    "number_exact": ("number", 0.0, 0.0),
    "number_tolerance": ("number", 0.0, 0.0),
    "integer_exact": ("integer", 0.0, 0.0),
    "boolean_exact": ("boolean", 0.0, 0.0),
    "array_llm": ("array", 0.5, 0.0),
    "set_f1": ("array", 0.5, 0.0),
    "table_grits": ("array", 0.5, 0.0),
}
STATES = ("absent", "null", "empty", "full", "partial", "wrong")


def value_of(kind: str, state: str) -> Any:
    empty, full, other, wrong = KINDS[kind]
    return {"absent": MISSING, "null": None, "empty": empty, "full": full, "partial": other,
            "wrong": wrong}[state]  # fmt: skip


def outcome_of(metric: str, gold: str, predicted: str) -> tuple[str, float]:
    kind, partial, from_empty = METRICS[metric]
    absent = ("absent", "null", "empty") if kind == "array" else ("absent", "null")
    if gold in absent:
        return ("both_absent", 1.0) if predicted in absent else ("hallucination", 0.0)
    if predicted in absent:
        return "omission", 0.0
    if predicted == "wrong":
        return "structural", 0.0
    if gold == predicted or value_of(kind, gold) == value_of(kind, predicted):
        return "correct", 1.0
    return "incorrect", from_empty if "empty" in (gold, predicted) else partial


MATRIX = [
    pytest.param(metric, gold, predicted, id=f"{metric}-{gold}-{predicted}")
    for metric in METRICS
    for gold in STATES[:-1]
    for predicted in STATES
]


@pytest.mark.parametrize("metric, gold, predicted", MATRIX)
def test_degenerate_cases(metric: str, gold: str, predicted: str) -> None:
    kind = METRICS[metric][0]
    row = run(metric, kind, value_of(kind, gold), value_of(kind, predicted))
    outcome, score = outcome_of(metric, gold, predicted)
    assert (row["outcome"], row["score"]) == (outcome, pytest.approx(score))


@pytest.mark.parametrize("metric", ["string_semantic", "string_llm"])
@pytest.mark.parametrize("gold", STATES[:-1])
@pytest.mark.parametrize("predicted", STATES)
def test_degenerate_cases_of_the_judged(metric: str, gold: str, predicted: str) -> None:
    row = run(metric, "string", value_of("string", gold), value_of("string", predicted))
    outcome, score = outcome_of("string_exact", gold, predicted)
    assert row["outcome"] == outcome
    assert row["score"] == score if outcome != "incorrect" else row["score"] < 0.7


def test_every_metric_is_in_the_matrix() -> None:
    builtin = {name for name, m in REGISTRY.entries.items() if m.source != "user"}
    assert builtin == {*METRICS, "string_semantic", "string_llm", "skip"}


VALUES = [
    # metric, params, gold, predicted, score
    ("string_exact", {}, "a", "a", 1.0),
    ("string_exact", {}, "a", "A", 0.0),
    ("string_exact", {}, "a", "a ", 0.0),
    ("string_case_insensitive", {}, "Straße", "STRASSE", 1.0),
    ("string_case_insensitive", {}, "a", "a ", 0.0),
    ("string_normalized", {}, "  State-of-the-Art ", "state of the art", 1.0),
    ("string_normalized", {}, "eﬃcient “naïve”", "EFFICIENT naive", 1.0),
    ("string_normalized", {}, "ＡＣＭＥ", "acme", 1.0),
    ("string_normalized", {}, "+", "-", 0.0),
    ("string_normalized", {}, "v1.2", "v1.3", 0.0),
    *[
        ("string_normalized", {}, gold, predicted, 0.0)
        for gold, predicted in [
            ("-5", "5"),
            ("−1,250", "1,250"),
            ("-$5", "$5"),
            ("$1,240.50", "€1,240.50"),
            ("$1,240.50", "1,240.50"),
            ("1,000", "1.000"),
            ("1.5", "1 5"),
            ("> 5", "< 5"),
            ("≤ 30 days", "≥ 30 days"),
            ("a ≠ b", "a = b"),
            ("BBB+", "BBB-"),
            ("BBB-", "BBB"),
            ("C#", "C"),
            ("5 %", "5 $"),
            ("5°", "5"),
            ("1:2", "1/2"),
        ]
    ],
    *[
        ("string_normalized", {}, gold, predicted, 1.0)
        for gold, predicted in [
            ("5%", "5 %"),
            ("p<0.05", "P < 0.05"),
            ("Title — part", "title: part"),
            ("Title— part", "Title - part"),
            ("COVID-19", "Covid 19"),
            ("–5", "−5"),
            ("A | B", "A - B"),
            ("- 5 apples", "5 apples"),
            ("2019–2020", "2019-2020"),
        ]
    ],
    ("set_f1", {}, ["-5", "$5"], ["5", "€5"], 0.0),
    ("set_f1", {}, ["5%", "BBB+"], ["BBB +", "5 %"], 1.0),
    ("string_fuzzy", {}, "kitten", "sitting", 4 / 7),
    ("string_fuzzy", {}, "sitting", "kitten", 4 / 7),
    ("string_fuzzy", {}, "ABC", "abc", 1.0),
    ("string_fuzzy", {"case_sensitive": True}, "ABC", "abc", 0.0),
    ("string_fuzzy", {}, "", "", 1.0),
    ("string_fuzzy", {}, "", "abc", 0.0),
    ("string_fuzzy", {}, "ccbaabbc", "bccabcbc", 0.5),
    ("string_url", {}, "http://example.com", "example.com", 1.0),
    ("string_url", {}, "https://www.Example.com/a/", "http://example.com/a", 1.0),
    ("string_url", {}, "http://example.com/a", "http://example.com/A", 0.0),
    ("string_url", {}, "http://example.com:80/", "http://example.com", 1.0),
    ("string_url", {}, "http://example.com:8080", "http://example.com", 0.0),
    ("string_url", {}, "http://example.com/?q=1", "http://example.com", 0.0),
    ("string_url", {}, "http://[broken", "http://[broken", 1.0),
    ("date", {}, "2025-04-06", "6 Apr 2025", 1.0),
    ("date", {}, "2025-04-06", "April 6th, 2025", 1.0),
    ("date", {}, "2025-04-06", "06.04.2025", 1.0),
    ("date", {}, "2025-04-06", "04/06/2025", 1.0),
    ("date", {}, "2025-04-06", "2025-04-06T00:00:00Z", 1.0),
    ("date", {}, "2025-04-06", "2025-04-07", 0.0),
    ("date", {}, "2025-04-06", "2025-04", 0.0),
    ("date", {"precision": "month"}, "2025-04-06", "2025-04-07", 1.0),
    ("date", {"precision": "month"}, "2025-04-06", "April 2025", 1.0),
    ("date", {"precision": "month"}, "2025-04-06", "2025-05-06", 0.0),
    ("date", {"precision": "year"}, "2025-04-06", "2025", 1.0),
    ("date", {"precision": "year"}, "2025-04-06", "2024", 0.0),
    ("date", {}, "Present", "present", 1.0),
    ("date", {}, "Present", "2025", 0.0),
    ("date", {}, "2025-02-30", "2025-02-30", 1.0),
    ("number_exact", {}, 1, 1.0, 1.0),
    ("number_exact", {}, 1, "1", 1.0),
    ("number_exact", {}, 1, "1e0", 1.0),
    ("number_exact", {}, 1000, "1,000", 0.0),
    ("number_exact", {"parse": "lenient"}, 1000, "1,000", 1.0),
    ("number_exact", {"parse": "lenient"}, -1000, "(1,000)", 1.0),
    ("number_exact", {"parse": "lenient"}, 1000, "$1,000.00", 1.0),
    ("number_exact", {"parse": "lenient"}, "12%", "12 %", 1.0),
    ("number_exact", {"parse": "lenient"}, 5, "<5", 0.0),
    ("number_tolerance", {"parse": "lenient"}, 5, "≥5", 0.0),
    ("number_tolerance", {"parse": "lenient"}, 5, "5-", 0.0),
    ("integer_exact", {"parse": "lenient"}, 5, "~5", 0.0),
    ("integer_exact", {"parse": "lenient"}, "<5", "<5", 1.0),
    ("number_exact", {}, "N/A", "unknown", 0.0),
    ("number_exact", {}, "N/A", "N/A", 1.0),
    ("number_exact", {}, 1, True, 0.0),
    ("number_exact", {}, 0, False, 0.0),
    ("number_exact", {}, 10**400, 10**400, 1.0),
    ("number_exact", {}, 10**400, 10**400 + 1, 0.0),
    ("number_exact", {}, 2**53 + 1, float(2**53), 0.0),
    ("number_exact", {}, math.nan, math.nan, 1.0),
    ("number_exact", {}, math.nan, 1, 0.0),
    ("number_exact", {}, math.inf, -math.inf, 0.0),
    ("number_tolerance", {}, "33–37", "90–99", 0.0),
    ("number_tolerance", {}, "33–37", "33–37", 1.0),
    ("number_tolerance", {}, 5, "five", 0.0),
    ("number_tolerance", {}, 100, 100.1, 1.0),
    ("number_tolerance", {}, 100, 99.9, 1.0),
    ("number_tolerance", {}, 100, 100.2, 0.0),
    ("number_tolerance", {}, 0, 0, 1.0),
    ("number_tolerance", {}, 0, 1e-300, 0.0),
    ("number_tolerance", {}, 1e-300, 0, 0.0),
    ("number_tolerance", {}, 10**400, 10**400 + 1, 1.0),
    ("number_tolerance", {}, 10**400, 1.0, 0.0),
    ("number_tolerance", {}, 1.0, 10**400, 0.0),
    ("number_tolerance", {}, 1.7e308, -1.7e308, 0.0),
    ("number_tolerance", {"tolerance": 1e-6, "mode": "absolute"}, 1, 1.000001, 1.0),
    ("number_tolerance", {"tolerance": 1, "mode": "absolute"}, 10**400, 10**400 + 1, 1.0),
    ("number_tolerance", {}, "1e9999", "2e9999", 0.0),
    ("integer_exact", {}, 3, 3.0, 1.0),
    ("integer_exact", {}, 3, "3", 1.0),
    ("integer_exact", {}, "3.0", 3, 1.0),
    ("integer_exact", {}, 3, 3.7, 0.0),
    ("integer_exact", {}, 3, "3.7", 0.0),
    ("integer_exact", {}, 3, True, 0.0),
    ("integer_exact", {}, 1, True, 0.0),
    ("integer_exact", {}, "abc", "xyz", 0.0),
    ("integer_exact", {}, 3, math.inf, 0.0),
    ("integer_exact", {}, 10**400, 10**400, 1.0),
    ("boolean_exact", {}, True, True, 1.0),
    ("boolean_exact", {}, True, False, 0.0),
    ("boolean_exact", {}, True, 1, 0.0),
    ("boolean_exact", {}, False, 0, 0.0),
    ("boolean_exact", {}, "true", True, 1.0),
    ("boolean_exact", {}, "yes", "no", 0.0),
    ("set_f1", {}, ["a", "b"], ["b", "a", "a"], 1.0),
    ("set_f1", {}, ["A b"], ["a  B"], 1.0),
    ("set_f1", {"normalize_text": False}, ["A"], ["a"], 0.0),
    ("set_f1", {}, ["a", "b", "c"], ["a"], 0.5),
    ("set_f1", {}, [1, 2], [2.0, 3], 0.5),
    ("set_f1", {}, ["1"], [1], 0.0),
    ("set_f1", {}, [], [], 1.0),
    ("set_f1", {}, [{"a": 1, "b": 2}], [{"b": 2, "a": 1}], 1.0),
    ("set_f1", {}, [None], ["null"], 0.0),
    ("table_grits", {}, [{"a": 1, "b": 2}], [{"b": 2, "a": 1}], 1.0),
    ("table_grits", {}, [{"a": 1}, {"a": 2}], [{"a": 2}], 2 / 3),
    ("table_grits", {}, [{"a": "x"}, {"a": "y"}], [{"a": "y"}, {"a": "x"}], 0.5),
    ("table_grits", {"measure": "top"}, [{"a": "x"}], [{"a": "y"}], 1.0),
    ("table_grits", {}, [{"a": "tide"}], [{"a": "diet"}], 0.5),
    ("table_grits", {"variant": "released"}, [{"a": "tide"}], [{"a": "diet"}], 0.25),
    ("table_grits", {}, [{"a": None}], [{"a": ""}], 1.0),
    ("table_grits", {}, [{"a": 1}], [7, "x"], 0.0),
    ("table_grits", {}, ["p", "q"], ["q"], 2 / 3),
    ("table_grits", {}, [], [], 1.0),
    ("table_grits", {}, [{"year": 1, "n": 2}], [{"jahr": 1, "n": 2}], 0.5),
    ("table_grits", {}, [{"low": "a"}], [{"high": "a"}], 0.0),
    ("table_grits", {}, [{"low": "a", "high": "b"}], [{"low": "b", "high": "a"}], 0.0),
    ("table_grits", {"measure": "top"}, [{"a": 1, "b": 2}], [{"b": 3}], 2 / 3),
    ("table_grits", {"variant": "paper_substring"}, [{"a": "tide"}], [{"a": "diet"}], 0.25),
    # an object or array in a cell is the same or another one, however alike their JSON looks
    ("table_grits", {}, [{"a": {"lines": {}}}], [{"a": {"kind": None}}], 1.0),
    ("table_grits", {}, [{"a": {"lines": {}}}], [{"a": {"kind": 1}}], 0.0),
    ("table_grits", {}, [{"a": {"lines": {}}}], [{"a": {"lines": 1}}], 0.0),
    ("table_grits", {}, [{"a": {"x": 1, "y": 2.0}}], [{"a": {"y": 2, "x": 1}}], 1.0),
    ("table_grits", {}, [{"a": {"x": [1, 2]}}], [{"a": {"x": [2, 1]}}], 0.0),
    ("table_grits", {}, [{"a": {"x": ["1"]}}], [{"a": {"x[0]": "1"}}], 0.0),
    ("table_grits", {}, [{"a": []}], [{"a": {}}], 0.0),
    ("table_grits", {}, [{"a": [1]}], [{"a": "[1]"}], 0.0),
    ("table_grits", {"variant": "released"}, [{"a": [1]}], [{"a": [1, 2]}], 0.0),
    ("table_grits", {"measure": "top"}, [{"a": [1]}], [{"a": [1, 2]}], 1.0),
    ("table_grits", {}, [["p", "q"]], [["p", "r"]], 0.0),
]


ADDITIONS = [{"kind": None}, {"lines": {}}, {"kind": 1}, {"lines": {"kind": "x"}}, {"x": [{}]}]


@pytest.mark.parametrize("variant", ["paper", "paper_substring", "released"])
@pytest.mark.parametrize("added", ADDITIONS, ids=repr)
def test_what_is_added_to_a_cell_of_a_table_raises_no_score(added: Any, variant: str) -> None:
    gold = [{"a": {"lines": {}}, "b": "x"}]
    before, after = (
        table_grits(gold, [{"a": cell, "b": "x"}], variant=variant) for cell in ({}, added)
    )
    assert after <= before


@pytest.mark.parametrize(
    "metric, params, gold, predicted, score", VALUES, ids=lambda value: repr(value)[:24]
)
def test_value(metric: str, params: Any, gold: Any, predicted: Any, score: float) -> None:
    function = REGISTRY.get(metric).function
    assert function is not None
    assert float(function(gold, predicted, **params)) == pytest.approx(score)


FUZZY_PASS = [(0.0, True), (0.57, True), (0.58, False), (1.0, False)]


@pytest.mark.parametrize("threshold, passed", FUZZY_PASS)
def test_fuzzy_threshold(threshold: float, passed: bool) -> None:
    row = run("string_fuzzy", "string", "kitten", "sitting", threshold=threshold)
    assert row["passed"] == passed
    assert row["score"] == pytest.approx(4 / 7)


HUGE = [
    pytest.param("number_tolerance", 1.5, id="tolerance"),
    pytest.param("number_exact", 1.5, id="exact"),
    pytest.param("integer_exact", 3, id="integer"),
]


@pytest.mark.parametrize("metric, gold", HUGE)
def test_a_number_of_five_thousand_digits_is_merely_wrong(metric: str, gold: Any) -> None:
    """Python refuses to write it as text; that is no reason to stop, nor a judge's failure."""
    assert run(metric, "number", gold, 10**5_000)["outcome"] == "incorrect"


def test_registry_lists_every_metric_with_its_rule_and_source() -> None:
    frame = xb.metrics().set_index("metric")
    assert frame.loc["string_fuzzy", "params"] == {"threshold": 0.8, "case_sensitive": False}
    assert frame.loc["number_tolerance", "pass_rule"] == "|gold - predicted| <= tolerance * |gold|"
    assert frame["judged"].sum() == 2
    for column in ("applies_to", "pass_rule", "source", "summary"):
        assert (frame[column].str.len() > 0).all()
