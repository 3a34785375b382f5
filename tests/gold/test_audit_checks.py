"""Each check by itself: what it finds, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from extractbench_nb.core.schema.parse import parse_schema
from extractbench_nb.gold.checks import (
    Subject,
    find_broken_words,
    find_date_faults,
    find_duplicates,
    find_empty_required,
    find_placeholders,
    find_undeclared,
    find_violations,
)
from extractbench_nb.pdf.page_text import PdfText

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return schema_of(a={"type": "array", "items": items})


def subject(schema: dict[str, Any], gold: Any, *pages: str) -> Subject:
    parsed = parse_schema(schema)
    pdf = PdfText(pages) if pages else None
    return Subject(parsed, gold, pdf)


# --- against the schema --------------------------------------------------------------------

OBJECTS = listed({"type": "object", "properties": {"t": TEXT}})


@pytest.mark.parametrize(
    "schema, gold, expected",
    [
        (schema_of(a=TEXT), {"a": "x"}, []),
        (schema_of(a=TEXT), {"a": 1}, [("wrong_type", "$.a", '"1"')]),
        (schema_of(a=TEXT), {"a": True}, [("wrong_type", "$.a", None)]),
        (schema_of(a=NUMBER), {"a": "1"}, [("wrong_type", "$.a", None)]),
        (OBJECTS, {"a": ["x", {"t": "y"}]}, [("text_for_object", "$.a[0]", None)]),
        (OBJECTS, {"a": [["x"]]}, [("wrong_type", "$.a[0]", None)]),
        (
            schema_of(a={"anyOf": [{"type": "object"}, {"type": "string", "pattern": "^x"}]}),
            {"a": "y"},
            [("schema_violation", "$.a", None)],
        ),
        (schema_of(a={"enum": ["x"]}), {"a": "y"}, [("schema_violation", "$.a", None)]),
        (schema_of(a=TEXT | {"format": "date"}), {"a": "x"}, [("schema_violation", "$.a", None)]),
        (schema_of() | {"required": ["a"]}, {}, [("schema_violation", "$", None)]),
        (schema_of() | {"additionalProperties": False}, {"a": 1}, []),
        (schema_of(a=TEXT | {"nullable": True}), {"a": None}, []),
        (schema_of(a={"type": "array"}), [], [("wrong_type", "$", None)]),
    ],
)
def test_violations(schema: dict[str, Any], gold: Any, expected: list[Any]) -> None:
    found = list(find_violations(subject(schema, gold)))
    assert [(f.kind, f.path, f.suggestion) for f in found] == expected


def test_undeclared_keys_are_told_once() -> None:
    found = list(
        find_undeclared(subject(listed(schema_of(b=TEXT)), {"a": [{"c": {"d": 1}}], "e": 2}))
    )
    assert [(f.path, f.field, f.value) for f in found] == [
        ("$.a[0].c", "a[].c", {"d": 1}),
        ("$.e", "e", 2),
    ]


def test_items_that_carry_their_index_are_one_finding() -> None:
    items = [{"b": "x", "index": i} for i in (0, 1, 2)] + [{"index": 7}, {"index": "4"}]
    found = list(find_undeclared(subject(listed(schema_of(b=TEXT)), {"a": items, "index": 0})))
    assert sorted((f.kind, f.path) for f in found) == [
        ("item_index", "$.a[0].index"),
        ("undeclared_key", "$.a[3].index"),
        ("undeclared_key", "$.a[4].index"),
        ("undeclared_key", "$.index"),
    ]
    assert [f.message for f in found if f.kind == "item_index"] == [
        "3 items carry their own index, which the schema does not declare"
    ]


@pytest.mark.parametrize(
    "value, empty",
    [("", True), (" ", True), ([], True), ({}, True), (None, False), (0, False), ("x", False)],
)
def test_empty_required(value: Any, empty: bool) -> None:
    required = schema_of(a={}) | {"required": ["a"]}
    assert [f.path for f in find_empty_required(subject(required, {"a": value}))] == ["$.a"] * empty
    assert not list(find_empty_required(subject(schema_of(a={}), {"a": value})))


# --- placeholders and items ----------------------------------------------------------------


@pytest.mark.parametrize(
    "word, found",
    [
        *((word, True) for word in ("NA", "n/a", " N.A. ", "Unknown", "-", "TBD", "NOT_FOUND")),
        *((word, False) for word in ("Nah", "NAB", "none of them", "Unknown Pleasures", "0", "No")),
    ],
)
def test_placeholders(word: str, found: bool) -> None:
    findings = find_placeholders(subject(schema_of(a=TEXT), {"a": word}))
    assert [f.kind for f in findings] == ["placeholder"] * found


@pytest.mark.parametrize(
    "declared",
    [
        {"default": "NA"},
        {"enum": ["NA", "EU"]},
        {"const": "NA"},
        {"examples": ["NA"]},
        {"description": "Name of the segment, or 'NA' for the whole company."},
        {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["NA"]}]},
    ],
)
def test_a_placeholder_that_the_schema_has(declared: dict[str, Any]) -> None:
    assert not list(find_placeholders(subject(schema_of(a=declared), {"a": "NA"})))


@pytest.mark.parametrize(
    "keywords, required, better",
    [
        ({"type": "string"}, False, "no such key"),
        ({"type": "string"}, True, None),
        ({"type": ["string", "null"]}, True, "null"),
    ],
)
def test_what_to_write_instead(
    keywords: dict[str, Any], required: bool, better: str | None
) -> None:
    schema = schema_of(a=keywords) | ({"required": ["a"]} if required else {})
    (found,) = find_placeholders(subject(schema, {"a": "NA"}))
    assert found.suggestion == better


ITEM = {"who": "A", "when": "Q1", "unit": "USD", "value": 1.5}


@pytest.mark.parametrize(
    "items, expected",
    [
        (["x", "y"], []),
        (["Smith, J.", "smith j"], [("duplicate_item", 1)]),
        (["a b", "ab"], []),
        ([1, 1.0, True], []),
        ([1, 1], [("duplicate_item", 1)]),
        ([None, None, {}, {}, [], []], []),
        ([ITEM, ITEM | {"array_index": 1}], [("duplicate_item", 1)]),
        ([ITEM, ITEM | {"value": 2.5}], [("contradicting_item", 1)]),
        ([ITEM, ITEM | {"value": 2.5}, ITEM], [("contradicting_item", 1), ("duplicate_item", 2)]),
        ([ITEM, ITEM | {"value": 2.5, "when": "Q2"}], []),
        ([ITEM, ITEM | {"unit": "EUR"}], []),
        ([{"rank": 1, "name": "A"}, {"rank": 2, "name": "A"}], []),
        ([{"n": [1, {"x": "y"}]}, {"n": [1, {"x": "Y"}]}], [("duplicate_item", 1)]),
        ([{"n": 1}, {"m": 1}], []),
    ],
)
def test_duplicates(items: list[Any], expected: list[Any]) -> None:
    found = list(find_duplicates(subject(schema_of(a={}), {"a": items})))
    assert [(f.kind, f.path) for f in found] == [(kind, f"$.a[{i}]") for kind, i in expected]


# --- dates ---------------------------------------------------------------------------------


MALFORMED = (
    *("2025-01-2025", "2025-02-30", "2025-13-01", "31/31/2025", "32 May 2025"),
    "February 30, 2025",
)
NOT_MALFORMED = (
    *("2025-01-31", "2025-01", "2025", "31 May 2025", "5/4/2025", "Spring 2019", "2019–2020"),
    *("present", "three years from closing", "May 2025", "10 Downing 2025", "1-2-3", ""),
    *("2025-01-31T09:30:00Z", "2019, 2022", "1.2.3"),
)


@pytest.mark.parametrize("text", [*MALFORMED, *NOT_MALFORMED])
def test_malformed_dates(text: str) -> None:
    found = list(find_date_faults(subject(schema_of(end_date=TEXT), {"end_date": text})))
    assert [f.kind for f in found] == ["malformed_date"] * (text in MALFORMED)


def test_numbers_with_dashes_are_dates_only_where_dates_belong() -> None:
    for keywords, expected in (({}, []), ({"format": "date"}, ["malformed_date"])):
        found = find_date_faults(subject(schema_of(part=TEXT | keywords), {"part": "2025-13-01"}))
        assert [f.kind for f in found] == expected


ANY_FORM = "in YYYY-MM-DD format or YYYY-MM or YYYY"


@pytest.mark.parametrize(
    "description, text, expected",
    [
        ("Date in YYYY-MM-DD format", "6 Apr 2025", ["2025-04-06"]),
        ("Date in YYYY-MM-DD format", "2025-04", ["2025-04"]),
        ("Date in YYYY-MM-DD format", "04/06/2025", [None]),
        (ANY_FORM, "Apr 2025", ["2025-04"]),
        *((ANY_FORM, text, []) for text in ("2025-04-06", "2025-04", "2025")),
    ],
)
def test_dates_unlike_what_the_schema_asks(description: str, text: str, expected: Any) -> None:
    schema = schema_of(a=TEXT | {"description": description})
    found = list(find_date_faults(subject(schema, {"a": text})))
    assert [(f.kind, f.suggestion) for f in found] == [("odd_date_style", x) for x in expected]


# --- words ---------------------------------------------------------------------------------

PAGE = "the Trust; information retrieval. set forth, set up, forth."


def broken(text: str, *pages: str) -> list[str | None]:
    return [
        f.suggestion for f in find_broken_words(subject(schema_of(a=TEXT), {"a": text}, *pages))
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("informa tion retrieval", ["information"]),
        ("infor- mation retrieval", ["information retrieval"]),
        ("Trust infor-\r\n mation", ["Trust information"]),
        *(
            (text, [])
            for text in (
                "pre- and post-war", "short- or long-term", "state-of-the-art", "- one\n- two",
                "one.\nTwo", "set forth", "C++", "2-", "informational", "1:12.15", "R&D", "",
            )
        ),
    ],
)  # fmt: skip
def test_broken_words(text: str, expected: list[str]) -> None:
    assert broken(text, PAGE) == expected


def test_words_are_torn_only_beside_a_pdf() -> None:
    assert broken("has informa tion") == []


def test_a_compound_keeps_its_hyphen() -> None:
    gold = {"a": "a large- scale study", "b": "large and large", "c": "the scale, a scale"}
    (found,) = find_broken_words(subject(schema_of(a=TEXT, b=TEXT, c=TEXT), gold))
    assert found.suggestion == "a large-scale study"
