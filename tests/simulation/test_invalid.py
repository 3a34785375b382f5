"""Texts that fail, one failure at a time, recovered by a strict parser; quotas; errors of calls."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.extraction.parsing import FAILURES, parse_output
from extractbench_nb.simulation.invalid import (
    _MALFORMED,
    CALL_FAILURES,
    PROVIDERS,
    TEXT_FAILURES,
    WRAPPINGS,
    Spoken,
    call_error,
    spoil,
    wrap,
)
from extractbench_nb.simulation.profiles import assigned, quotas

SCHEMA = {"type": "object"}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['"', "'", ":1,", ', "', "},", "// x", "\\", "{", ",]", "true", "\n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(TEXT, VALUES, min_size=1, max_size=4)


def found(spoken: Spoken, raw: str | None = None) -> str:
    meta = {"finish_reason": spoken.finish_reason}
    return parse_output(spoken.raw if raw is None else raw, meta, SCHEMA).failure


@pytest.mark.parametrize("failure", sorted(TEXT_FAILURES))
@given(value=OBJECTS, seed=st.integers(0, 99))
def test_every_failure_is_found_again(failure: str, value: Any, seed: int) -> None:
    before = json.dumps(value)
    spoken = spoil(failure, value, random.Random(seed))
    assert json.dumps(value) == before
    assert found(spoken) == failure, spoken
    assert spoil(failure, value, random.Random(seed)) == spoken


@pytest.mark.parametrize("failure", ["trailing_comma", "truncated_json", "not_an_object"])
@given(value=OBJECTS, seed=st.integers(0, 99), wrapping=st.sampled_from(WRAPPINGS))
def test_what_stands_around_a_text_changes_nothing(
    failure: str, value: Any, seed: int, wrapping: str
) -> None:
    spoken = spoil(failure, value, random.Random(seed))
    assert spoken.raw is not None
    raw = wrap(wrapping, spoken.raw, cut_off=failure == "truncated_json")
    assert raw != spoken.raw
    assert found(spoken, raw) == failure


@given(OBJECTS, st.sampled_from(WRAPPINGS))
def test_what_stands_around_json_is_no_failure(value: Any, wrapping: str) -> None:
    raw = wrap(wrapping, json.dumps(value))
    parsed = parse_output(raw, {}, SCHEMA)
    assert (parsed.failure, parsed.value, parsed.wrapper) == ("none", value, wrapping)


DOCUMENT = {"title": "Don't", "paid": True, "rows": [{"k": 1, "v": None}], "none": []}
PRETTY = json.dumps(DOCUMENT, indent=2)


@pytest.mark.parametrize(
    "variant, one_of",
    [
        ("single_quotes", ["'title': 'Don't'"]),
        ("missing_quote", ['{\n  "title: "Don\'t",\n']),
        ("missing_comma", ['"Don\'t"\n  "paid"', 'true\n  "rows"', '1\n      "v"', ']\n  "none"']),
        ("comment", [" // as printed\n"]),
        ("unquoted_key", ["title:", "paid:", "rows:", " k:", " v:", "none:"]),
        ("python_words", ['"paid": True', '"v": None']),
        ("prose", [":\n\n{", ".\n\n{"]),
        ("wrong_bracket", ['"none": []\n]']),
    ],
)
def test_the_variants_of_malformed_json(variant: str, one_of: list[str]) -> None:
    for seed in range(5):
        broken = _MALFORMED[variant](PRETTY, random.Random(seed))
        assert broken is not None
        assert any(part in broken for part in one_of), broken


def test_all_variants_occur() -> None:
    made = {spoil("malformed_json", DOCUMENT, random.Random(seed)).variant for seed in range(200)}
    assert made == set(_MALFORMED)


def test_trailing_commas_stand_where_something_ends() -> None:
    texts = {spoil("trailing_comma", DOCUMENT, random.Random(seed)).raw for seed in range(60)}
    counts = {(text or "").replace(" ", "").replace("\n", "") for text in texts}
    plain = '{"title":"Don\'t","paid":true,"rows":[{"k":1,"v":null}],"none":[]}'
    assert counts == {
        plain[:-1] + ",}",
        plain.replace("}]", "},]"),
        plain.replace("null}", "null,}"),
        plain.replace("null}]", "null,},]")[:-1] + ",}",
    }


@pytest.mark.parametrize(
    "failure, value, message",
    [
        ("truncated_json", 12, "needs an object or array with something in it; found 12"),
        ("trailing_comma", {}, "found an empty object"),
        ("malformed_json", [], "found an empty array"),
        ("not_an_object", [1], "not_an_object needs an object; found array"),
    ],
)
def test_what_cannot_be_broken(failure: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        spoil(failure, value, random.Random(0))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("failure", CALL_FAILURES)
def test_errors_of_calls_are_found_again(failure: str, provider: str) -> None:
    error = call_error(failure, provider)
    assert parse_output(None, {"error": error}).failure == failure
    assert len(error["message"]) > 10


def test_every_failure_can_be_made() -> None:
    made = {*TEXT_FAILURES, *CALL_FAILURES, "none", "schema_violation"}
    assert made == set(FAILURES)


@pytest.mark.parametrize(
    "shares, total, expected",
    [
        ({"a": 5, "b": 2}, 7, {"a": 5, "b": 2}),
        ({"a": 1, "b": 1, "c": 1}, 4, {"a": 2, "b": 1, "c": 1}),
        ({"a": 0.7, "b": 0.2, "c": 0.1}, 3, {"a": 2, "b": 1, "c": 0}),
        ({"a": 1, "b": 0}, 3, {"a": 3, "b": 0}),
        ({"a": 1}, 0, {"a": 0}),
    ],
)
def test_quotas(shares: dict[str, float], total: int, expected: dict[str, int]) -> None:
    assert quotas(shares, total) == expected


WEIGHTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 50), min_size=1).filter(
    lambda weights: any(weights.values())
)


@given(WEIGHTS, st.integers(0, 200))
def test_quotas_are_near_the_shares(shares: dict[str, int], total: int) -> None:
    counts = quotas(shares, total)
    assert sum(counts.values()) == total
    for name, share in shares.items():
        assert abs(counts[name] - share * total / sum(shares.values())) < 1
    assert quotas(shares, sum(shares.values())) == shares


@given(WEIGHTS, st.integers(0, 40), st.text(max_size=3))
def test_draws_without_replacement(shares: dict[str, int], total: int, seed: str) -> None:
    got = assigned(shares, range(total), seed)
    assert list(got) == list(range(total))
    counts = quotas(shares, total)
    assert {name: list(got.values()).count(name) for name in counts} == counts
