"""Outputs read by a strict parser: failures by name, places, and what is forgiven."""

import copy
import json
import os
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

import extractbench_nb as xb
from extractbench_nb.runs.outputs import FAILURES, ParsedOutput

FULL = '{"a": [1, {"b": "x\\u00e9y", "c": true}, null], "d": -12.5e3, "e": {"f": [[]]}}'
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "year": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
soup = st.text(st.sampled_from("{}[]\",:'\\ \nab1-.tfn`~u0\ufeff"), max_size=40)


def read(raw: Any, meta: Any = None, schema: Any = None, **more: Any) -> ParsedOutput:
    return xb.runs.parse_output(raw, meta, schema, **more)


CASES = {
    "valid": ('{"a": 1}', "none"),
    "spaces around": (' \n{"a": 1}\t\n', "none"),
    "fenced": ('```json\n{"a": 1}\n```', "none"),
    "fenced without a language": ('```\n{"a": 1}\n```\n\n', "none"),
    "fenced, Windows": ('```json\r\n{"a": 1}\r\n```\r\n', "none"),
    "fence never closed": ('```json\n{"a": 1}', "none"),
    "tildes": ('~~~json\n{"a": 1}\n~~~', "none"),
    "byte-order mark": ('\ufeff{"a": 1}', "none"),
    "mark and fence": ('\ufeff```json\n{"a": 1}\n```', "none"),
    "NaN, as Python reads it": ('{"a": NaN}', "none"),
    "a key twice": ('{"a": 1, "a": 2}', "none"),
    "nothing": ("", "empty_response"),
    "None": (None, "empty_response"),
    "blank": (" \r\n\t", "empty_response"),
    "a mark alone": ("\ufeff", "empty_response"),
    "an empty fence": ("```json\n```", "malformed_json"),
    "trailing comma": ('{"a": 1,}', "trailing_comma"),
    "trailing commas": ('{"a": [1, 2,\n ], "b": {"c": 3 , } }', "trailing_comma"),
    "trailing comma, fenced": ('```json\n{"a": 1,\n}\n```', "trailing_comma"),
    "a comma in a text": ('{"a": ",}", "b": [1,]}', "trailing_comma"),
    "trailing comma and more": ('{"a": 1,} {', "malformed_json"),
    "two commas": ('{"a": 1,,}', "malformed_json"),
    "cut in a text": ('{"a": "x', "truncated_json"),
    "cut in an escape": ('{"a": "x\\u00', "truncated_json"),
    "cut after a backslash": ('{"a": "x\\\\', "truncated_json"),
    "cut after a backslash and half an escape": ('{"a": "x\\\\\\u0', "truncated_json"),
    "cut after a comma": ('{"a": [1,', "truncated_json"),
    "cut after a colon": ('{"a":', "truncated_json"),
    "cut in a word": ('{"a": tru', "truncated_json"),
    "cut in a number": ('{"a": -', "truncated_json"),
    "cut at once": ("{", "truncated_json"),
    "cut in a fence": ('```json\n{"a": [1, 2', "truncated_json"),
    "single quotes": ("{'a': 1}", "malformed_json"),
    "a quote missing": ('{"a: 1}', "malformed_json"),
    "a comma missing": ('{"a": 1 "b": 2}', "malformed_json"),
    "a comment": ('{"a": 1 // one\n}', "malformed_json"),
    "a bracket too many": ('{"a": 1}}', "malformed_json"),
    "prose before": ('Here it is: {"a": 1}', "malformed_json"),
    "prose after": ('{"a": 1}\nAnything else?', "malformed_json"),
    "prose": ("I cannot read this document.", "malformed_json"),
    "two objects": ('{"a": 1}\n{"b": 2}', "malformed_json"),
    "a line break in a text": ('{"a": "x\ny"}', "malformed_json"),
    "too many digits": ('{"a": ' + "9" * 5000 + "}", "malformed_json"),
    "deep": ("[" * 10_000 + "]" * 10_000, "malformed_json"),
    "deep and open": ('{"a":' * 10_000, "malformed_json"),
    "an array": ("[1]", "not_an_object"),
    "a text": ('"a"', "not_an_object"),
    "null": ("null", "not_an_object"),
}


@pytest.mark.parametrize("raw, failure", CASES.values(), ids=CASES)
def test_failures(raw: str | None, failure: str) -> None:
    found = read(raw)
    assert found.failure == failure
    assert found.valid == (failure == "none")
    assert found.failure in FAILURES
    assert (found.message is None) == found.valid
    if raw is not None:
        assert repr(read(raw.encode())) == repr(found)


PLACES = [
    ('{"a": 1,}', 1, 8, 7),
    ('{\n "a": 1,\n}', 2, 8, 9),
    ('```json\n{"a": 1,}\n```', 2, 8, 15),
    ('\ufeff{"a": 1,}', 1, 9, 8),
    ("{\n'a': 1}", 2, 1, 2),
    ('{"a": [1, 2', 1, 12, 11),
    ('{"a": "é\ud83d\ude00", b}'.encode("utf-16", "surrogatepass").decode("utf-16"), 1, 13, 12),
]


@pytest.mark.parametrize("raw, line, column, offset", PLACES)
def test_places(raw: str, line: int, column: int, offset: int) -> None:
    found = read(raw)
    assert (found.line, found.column, found.offset) == (line, column, offset)
    assert found.excerpt
    assert found.excerpt in raw


@given(st.integers(1, len(FULL) - 1))
def test_a_document_that_is_cut_anywhere_is_truncated(end: int) -> None:
    found = read(FULL[:end])
    assert found.failure == "truncated_json"
    assert found.offset == len(FULL[:end].rstrip())


@given(values)
def test_whatever_is_cut_off_at_the_token_limit_is_truncated(value: Any) -> None:
    text = json.dumps({"key": value})
    assert read(text[:-1], {"finish_reason": "length"}).failure == "truncated_json"
    assert read(text, {"finish_reason": "length"}).failure == "none"


def by_python(text: str) -> tuple[bool, Any]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


@settings(max_examples=300)
@given(soup | st.text(max_size=30) | values.map(json.dumps))
@example("\ufeff{}")
@example('{"name": "x", "year": 1.0}')
@example('{"name": "x", "tags": [1]}')
def test_strict_validity_is_pythons_json_and_jsonschema(text: str) -> None:
    parses, value = by_python(text)
    validator = Draft202012Validator(SCHEMA, format_checker=FormatChecker())
    found = read(text, None, SCHEMA)
    assert found.parses_strictly == parses
    strictly_valid = parses and validator.is_valid(value)
    assert (found.parses_strictly and found.conforms_strictly is True) == strictly_valid
    if parses:
        assert json.dumps(found.value) == json.dumps(value)
        assert found.valid == strictly_valid


@settings(max_examples=300)
@given(soup | st.binary(max_size=30))
def test_nothing_raises(raw: str | bytes) -> None:
    found = read(raw, None, SCHEMA)
    assert found.failure in FAILURES
    assert found.valid == (found.parses and found.conforms is True)


CALLS = {
    "page_limit": "page_limit",
    "context_length": "context_length",
    "schema_rejected": "schema_rejected",
    "refused": "refused",
    "rate_limited": "rate_limited",
    "timeout": "timeout",
    "bad_key": "other",
    "no such word": "other",
    None: "other",
}


@pytest.mark.parametrize("reason, failure", CALLS.items())
@pytest.mark.parametrize("raw", [None, "", '{"name": "x"}'])
def test_a_call_that_failed(reason: str | None, failure: str, raw: str | None) -> None:
    found = read(raw, {"error": {"reason": reason, "message": "it said no"}}, SCHEMA)
    told = (
        f"{reason}: it said no"
        if failure == "other" and reason not in (None, "other")
        else "it said no"
    )
    assert (found.failure, found.message, found.value) == (failure, told, None)
    assert read(raw, {"error": "it said no"}).failure == "other"
    assert read('{"name": "x"}', {"error": None}, SCHEMA).valid


def test_what_the_provider_filtered_is_refused() -> None:
    for reason in ("content_filter", "refusal", "SAFETY"):
        assert read("", {"finish_reason": reason}).failure == "refused"
        assert read('{"na', {"finish_reason": reason}).failure == "refused"
        assert read('{"name": "x"}', {"finish_reason": reason}, SCHEMA).valid


def test_a_schema() -> None:
    assert read('{"name": "x", "more": 1}', None, SCHEMA).valid
    found = read('{"name": "x", "year": "1999"}', None, SCHEMA)
    assert (found.failure, found.conforms, found.conforms_strictly) == (
        "schema_violation",
        False,
        False,
    )
    assert found.message is not None
    assert "$.year" in found.message
    assert found.value == {"name": "x", "year": "1999"}
    assert read("{}", None, SCHEMA).failure == "schema_violation"
    assert read("[]", None, {"type": "array"}).valid
    assert read("{}", None, {"type": "array"}).failure == "schema_violation"
    assert read("3", None, SCHEMA).failure == "not_an_object"
    nullable = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    assert read('{"a": null}', None, nullable).valid


def test_what_gold_breaks_too_is_forgiven() -> None:
    gold = {"name": "x", "tags": [1], "year": 2000}
    same = read('{"name": "y", "tags": [2, 3]}', None, SCHEMA, gold=gold)
    assert (same.valid, same.conforms, same.conforms_strictly) == (True, True, False)
    assert same.parses_strictly
    other = read('{"name": "y", "tags": [2], "year": "x"}', None, SCHEMA, gold=gold)
    assert other.failure == "schema_violation"
    assert other.message is not None
    assert "$.year" in other.message
    assert read(json.dumps(gold), None, SCHEMA, gold=gold).valid


@pytest.mark.skipif("EXTRACTBENCH_DATASET" not in os.environ, reason="needs the released dataset")
def test_every_gold_is_valid_beside_itself() -> None:
    ds = xb.load_dataset("extractbench", path=os.environ["EXTRACTBENCH_DATASET"])
    strictly = 0
    for row in ds.listing.itertuples():
        gold = ds.gold(row.document)
        found = read(json.dumps(gold), {}, ds.schema(row.schema), gold=copy.deepcopy(gold))
        assert found.valid, row.document
        strictly += bool(found.conforms_strictly)
    assert 0 < strictly < len(ds.listing)


REPAIRED = {
    "trailing comma": ('{"a": 1,}', {"a": 1}),
    "single quotes": ("{'a': 1}", {"a": 1}),
    "prose": ('Here: {"a": 1} ok?', {"a": 1}),
    "cut": ('{"a": [1, {"b": "x', {"a": [1, {"b": "x"}]}),
    "cut, with escapes": ('{"a": "\\f", "b": ["\\\\\\"", ', {"a": "\f", "b": ['\\"']}),
    "cut in a fence": ('```json\n{"a": ["\\f", {"b', {"a": ["\f"]}),
    "cut in a word": ('{"a": 1, "b": fal', {"a": 1}),
    "a comma missing": ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
    "no JSON": ("I cannot do that.", None),
    "nothing": ("", None),
    "deep": ("[" * 5_000, None),
    "not UTF-8": (b'\xff{"a": 1}', {"a": 1}),
    "long": ('{"a": [' + "1," * 20_000, {"a": [1] * 20_000}),
}


@pytest.mark.parametrize("raw, value", REPAIRED.values(), ids=REPAIRED)
def test_repair(raw: str | bytes, value: Any) -> None:
    found = xb.runs.repair_output(raw)
    assert found.value == value
    assert found.repaired == (value is not None)
    assert (found.note is None) == found.repaired
    assert not found.parsed.parses
    if value is not None:
        assert found.text is not None
        assert json.loads(found.text) == value


@given(values)
def test_what_parses_is_not_repaired(value: Any) -> None:
    found = xb.runs.repair_output(f"```json\n{json.dumps(value)}\n```")
    assert not found.repaired
    assert json.dumps(found.value) == json.dumps(value)


def test_a_repair_that_takes_too_long_is_stopped() -> None:
    found = xb.runs.repair_output("{'" * 300_000, seconds=1.0)
    assert (found.value, found.note) == (None, "it was not repaired within 1 s")
