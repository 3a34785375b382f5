"""Properties: for any schema, any gold that fits it, and any JSON value as the prediction."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import extractbench_nb as xb

_SPEC = importlib.util.spec_from_file_location(
    "frame_invariants", Path(__file__).with_name("invariants.py")
)
assert _SPEC is not None
assert _SPEC.loader is not None
invariants = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(invariants)

#: Cases per property; more of them for a longer search.
EXAMPLES = int(os.environ.get("EXTRACTBENCH_FUZZ", "30"))
PROFILES = st.sampled_from(["paper", "strict"])
FRAMES = ("fields", "arrays", "matches", "warnings")
NAMES = st.sampled_from(
    ["a", "b", "name", "odd name", "x.y", "q'", "[0]", "*", "$", "", "é", "a/b"]
)
WORDS = st.sampled_from(
    ["alpha", "beta", "Alpha", "10 kg", "2024-05-06", "ACME Inc.", "", "x", "y"]
)
STRING_METRICS = ("string_exact", "string_fuzzy", "string_semantic", "string_url", "date",
                  "string_normalized", "string_case_insensitive", "string_llm")  # fmt: skip


@st.composite
def scalars(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["string", "number", "integer", "boolean"]))
    node: dict[str, Any] = {"type": kind}
    if kind == "string" and draw(st.booleans()):
        node["evaluation_config"] = draw(st.sampled_from(STRING_METRICS))
    if draw(st.integers(0, 4)) == 0:
        node["evaluation_config"] = {
            "metrics": [{"metric_id": "string_exact"}],
            "aggregation_weight": draw(st.sampled_from([0.5, 2, 3])),
        }
    form = draw(st.sampled_from(["plain", "plain", "null", "anyOf"]))
    if form == "null":
        node["type"] = [kind, "null"]
    return {"anyOf": [node, {"type": "null"}]} if form == "anyOf" else node


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def thresholds(node: dict[str, Any], align: float | None) -> dict[str, Any]:
        if align is None:
            return node
        params = {"align_threshold": align, "pass_threshold": 0.6}
        return {**node, "evaluation_config": {"metric_id": "array_llm", "params": params}}

    arrays = st.builds(
        thresholds,
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.sampled_from([None, None, 0.0, 0.3]),
    )
    objects = st.builds(
        lambda p, r: {"type": "object", "properties": p, "required": sorted(p)[: int(r)]},
        st.dictionaries(NAMES, inner, min_size=1, max_size=4),
        st.booleans(),
    )
    maps = st.builds(lambda v: {"type": "object", "additionalProperties": v}, inner)
    unions = st.builds(lambda a, b: {"anyOf": [a, b, {"type": "null"}]}, inner, inner)
    sets = st.just({"type": "array", "items": {"type": "string"}, "evaluation_config": "set_f1"})
    return st.one_of(objects, arrays, maps, unions, sets)


SCHEMAS = st.builds(
    lambda p: {"type": "object", "properties": p},
    st.dictionaries(NAMES, st.recursive(scalars(), containers, max_leaves=8), max_size=5),
)
HUGE = [10**30, -(10**400), 10**5_000]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(HUGE[:2]),
    WORDS,
    st.text(max_size=12),
    st.sampled_from(["\ud800", "a\udfffb", "\x00", "\u202e", "１２", "http://[", "NaN", "1e999"]),
)
KEYS = st.one_of(NAMES, st.text(max_size=5), st.sampled_from(["\ud800", "__class__", "\x00"]))
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


def fitting(schema: dict[str, Any], rng: random.Random) -> Any:
    """Make a document that fits a schema, keys now and then absent."""
    if "anyOf" in schema:
        return fitting(rng.choice(schema["anyOf"]), rng)
    kind = schema["type"]
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        document = {
            name: fitting(part, rng)
            for name, part in schema.get("properties", {}).items()
            if rng.random() < 0.85
        }
        if "additionalProperties" in schema:
            for name in rng.sample(["a.b", "k", "odd key"], rng.randint(0, 3)):
                document[name] = fitting(schema["additionalProperties"], rng)
        return document
    if kind == "array":
        return [fitting(schema["items"], rng) for _ in range(rng.choice([0, 1, 2, 3, 5]))]
    words = ["alpha", "beta", "gamma ray", "10 kg", "2024-05-06", "ACME Inc.", "x", ""]
    return {
        "string": rng.choice(words),
        "number": rng.choice([0, 1, 1.0005, -2.5, 1e9]),
        "integer": rng.randint(0, 3),
        "boolean": rng.random() < 0.5,
        "null": None,
    }[kind]


def damaged(value: Any, rng: random.Random) -> Any:
    """Copy a document with a part of its values changed, dropped or of another type."""
    if rng.random() < 0.06:
        return rng.choice([None, "other", 7, True, [], {}, ["x"], {"k": 1}])
    if isinstance(value, dict):
        return {k: damaged(v, rng) for k, v in value.items() if rng.random() < 0.9}
    if isinstance(value, list):
        return [damaged(v, rng) for v in value if rng.random() < 0.9]
    return value


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        return {k: shuffled(v, rng) for k, v in value.items()}
    if isinstance(value, list):
        return rng.sample([shuffled(v, rng) for v in value], len(value))
    return value


CASES = st.builds(
    lambda schema, seed: (schema, seed), SCHEMAS, st.integers(0, 2**32 - 1).map(random.Random)
)


def documents(case: tuple[Any, random.Random]) -> tuple[Any, Any, Any, random.Random]:
    schema, rng = case
    gold = fitting(schema, rng)
    return schema, gold, damaged(gold, rng), rng


@settings(max_examples=EXAMPLES)
@given(CASES)
def test_identical_documents_score_one(case: Any) -> None:
    schema, gold, _, _ = documents(case)
    for profile in ("paper", "strict"):
        ev = xb.evaluate(schema, gold, copy.deepcopy(gold), profile=profile)
        assert ev.summary["overall_score"] == ev.summary["field_score"] == 1
        assert ev.summary["pass_rate"] == 1
        assert set(ev.matches["status"]) <= {"matched"}


@settings(max_examples=EXAMPLES)
@given(CASES)
def test_frames_agree_with_each_other_and_the_summary(case: Any) -> None:
    schema, gold, predicted, _ = documents(case)
    for profile in ("paper", "strict"):
        invariants.check(xb.evaluate(schema, gold, predicted, profile=profile))


def branches(schema: Any) -> list[Any]:
    parts = schema.get("anyOf")
    return [b for part in parts for b in branches(part)] if parts else [schema]


def is_clear(schema: Any) -> bool:
    """Whether a value's type tells which branch it is: else it may be read by the wrong one.

    What does not fit its branch is compared as it is written, in its order.
    """
    kinds = [b["type"] for b in branches(schema)]
    if kinds.count("array") > 1 or kinds.count("object") > 1:
        return False
    inner = [
        part
        for b in branches(schema)
        for part in (
            *b.get("properties", {}).values(),
            *(b[key] for key in ("items", "additionalProperties") if key in b),
        )
    ]
    return all(is_clear(part) for part in inner)


@settings(max_examples=EXAMPLES)
@given(CASES, PROFILES)
def test_shuffling_arrays_changes_no_score(case: Any, profile: str) -> None:
    schema, gold, predicted, rng = documents(case)
    assume(is_clear(schema))
    ev = xb.evaluate(schema, gold, predicted, profile=profile)
    again = xb.evaluate(schema, shuffled(gold, rng), shuffled(predicted, rng), profile=profile)
    assert again.summary.to_dict() == pytest.approx(ev.summary.to_dict(), nan_ok=True)
    counts = ["matched", "differing", "missed", "spurious", "score"]
    for frame in (ev, again):
        assert frame.arrays["path"].is_unique
    one, two = (
        e.arrays.groupby(["field", "counted"])[counts].sum().astype(float) for e in (ev, again)
    )
    pd.testing.assert_frame_equal(one[one.index.isin(two.index)], two[two.index.isin(one.index)])


@settings(max_examples=EXAMPLES)
@given(CASES)
def test_matching_is_one_to_one(case: Any) -> None:
    schema, gold, predicted, _ = documents(case)
    matches = xb.evaluate(schema, gold, predicted).matches
    for side in ("gold_index", "predicted_index"):
        assert not matches.dropna(subset=[side]).duplicated(["path", side]).any()


@settings(max_examples=EXAMPLES)
@given(CASES)
def test_two_runs_give_equal_frames_and_inputs_stay(case: Any) -> None:
    schema, gold, predicted, _ = documents(case)
    before = copy.deepcopy((schema, gold, predicted))
    one, two = (xb.evaluate(schema, gold, predicted) for _ in range(2))
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name))
    pd.testing.assert_series_equal(one.summary, two.summary)
    assert (schema, gold, predicted) == before


def deep(levels: int, kind: str) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value} if kind == "object" else [value]
    return value


def everything(ev: xb.core.Evaluation) -> None:
    """Ask for all that an evaluation can show."""
    invariants.check(ev)
    assert len(ev.warnings) >= 0
    repr(ev)
    ev._repr_html_().encode("utf-8")


@settings(max_examples=EXAMPLES)
@given(CASES, JSON)
def test_any_json_value_is_a_prediction(case: Any, predicted: Any) -> None:
    schema, gold, _, _ = documents(case)
    source = json.dumps(predicted) if isinstance(predicted, str) else predicted
    for profile in ("paper", "strict"):
        everything(xb.evaluate(schema, gold, source, profile=profile))


@settings(max_examples=EXAMPLES)
@given(CASES, st.data())
def test_any_json_value_at_any_place(case: Any, data: st.DataObject) -> None:
    schema, gold, predicted, rng = documents(case)

    def put(value: Any) -> Any:
        if rng.random() < 0.2:
            return data.draw(JSON)
        if isinstance(value, dict):
            return {k: put(v) for k, v in value.items()}
        return [put(v) for v in value] if isinstance(value, list) else value

    predicted = put(predicted)
    if isinstance(predicted, str):
        predicted = json.dumps(predicted)
    everything(xb.evaluate(schema, gold, predicted))


@settings(max_examples=EXAMPLES)
@given(st.one_of(st.text(max_size=40), JSON.map(repr), st.binary(max_size=20).map(repr)))
@example("")
@example("[" * 5_000)
@example("1" * 5_000)
@example('{"a": ' * 5_000 + "1" + "}" * 5_000)
@example('{"a": NaN, "a": Infinity, "\\ud800": "\\udfff"}')
def test_any_text_is_a_prediction(text: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    everything(xb.evaluate(schema, {"a": 1}, text))


LIST = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
RECURSIVE = {"type": "object", "properties": {"a": {"$ref": "#"}, "v": {"type": "string"}}}
PLACES = [
    pytest.param(
        {"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x"}, id="scalar"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": LIST}}, {"a": [{"a": "x"}] * 2}, id="array"
    ),
    pytest.param({"type": "object", "properties": {"a": {}}}, {"a": {"a": "x"}}, id="any"),
    pytest.param(
        {"type": "object", "properties": {"z": {"type": "string"}}}, {"z": "x"}, id="none"
    ),
    pytest.param(RECURSIVE, {"a": {"a": {"v": "x"}}}, id="recursive"),
    pytest.param({"type": "array", "items": {"$ref": "#"}}, [[], [[]]], id="recursive array"),
]


@pytest.mark.parametrize("kind", ["object", "array"])
@pytest.mark.parametrize("levels", [90, 400, 5_000])
@pytest.mark.parametrize("schema, gold", PLACES)
def test_nested_beyond_reason(schema: Any, gold: Any, levels: int, kind: str) -> None:
    value = deep(levels, kind)
    for predicted in (value, {"a": value}, {"a": [value, {"a": value}]}):
        everything(xb.evaluate(schema, gold, predicted))
    everything(xb.evaluate(schema, gold, {"a": value}, profile="paper"))


HUGE_PLACES = [
    {"type": "number"},
    {"type": "integer"},
    {"type": "string"},
    {"type": "array", "items": {"type": "number"}},
    {"type": "array", "items": {"type": "string"}, "evaluation_config": "set_f1"},
    {},
]


@pytest.mark.parametrize("number", HUGE, ids=["30 digits", "400 digits", "5000 digits"])
@pytest.mark.parametrize("schema", HUGE_PLACES, ids=lambda s: json.dumps(s)[:40])
def test_huge_numbers(schema: Any, number: int) -> None:
    root = {"type": "object", "properties": {"a": schema}}
    gold = {"array": ["x", 2], "number": 1.5, "string": "x", "integer": 2}.get(
        schema.get("type", ""), {"k": 1}
    )
    for predicted in ({"a": number}, {"a": [number, 2]}, {"z": number, "a": {"k": number}}):
        everything(xb.evaluate(root, {"a": gold}, predicted))


def test_keys_that_are_no_strings() -> None:
    """No JSON, but what YAML readers and people in notebooks make."""
    schema = {
        "type": "object",
        "properties": {"a": LIST},
        "additionalProperties": {"type": "string"},
    }
    gold = {"a": [{"a": "x"}, {"a": "y"}], "k": "one"}
    predicted = {"a": [{"a": "x", 1: 2}, {None: 3, "a": "z"}], 1: "one", None: [{2: 3}]}
    everything(xb.evaluate(schema, gold, predicted))
