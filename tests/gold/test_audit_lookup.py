"""Values in the text of a PDF: every spelling that counts as found, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from extractbench_nb.core.schema.parse import parse_schema
from extractbench_nb.gold.checks import Subject, find_values
from extractbench_nb.pdf.page_text import PdfText

FIRST = (
    "CREDIT AGREEMENT dated as of July 18, 2019 among Solvane Pharmaceuticals, Inc.,\r\n"
    "the LENDERS and Société Générale. The Commitments are $2,500,000,000 in all, of which\r\n"
    "$1.25 billion may be drawn in any year. The margin is (1.125)% or .5 percent. Net loss\r\n"
    "was $ (1,204.5) million; assets were 48,801. The notice period is twenty-five days.\r\n"
    "Events of de\x02\r\nfault are listed below. {anna, b.ode}@cam.org Price JPN 7:04"
)
SECOND = (
    "page 2\r\nThe proceeds of all loans will be used by the Borrowers for general corporate\r\n"
    "purposes, which may include acqui-\r\nsitions. IEEE Trans. Pattern Analysis & Machine\r\n"
    "Intelligence, 33, 1147-1160. The Maturity Date is the third anniversary of that date."
)
PDF = PdfText((FIRST, SECOND))
TWO_PIECES = (
    "$1.25 billion may be drawn in any year. The margin is (1.125)% or .5 percent. Net loss "
    "Events of default are listed below. The proceeds of all loans will be used by the Borrowers"
)
WORD = {"type": ["string", "number", "null"]}


def look_up(value: Any, pdf: PdfText = PDF, **beside: Any) -> tuple[str, str | None, Any] | None:
    """Look up one value; None where it was found."""
    schema = parse_schema({"type": "object", "properties": {"a": WORD}})
    gold = {"a": value, **beside}
    subject = Subject(schema, gold, pdf)
    finding = next(finding for place, finding in find_values(subject) if place.path == "$.a")
    return None if finding is None else (finding.kind, finding.suggestion, finding.page)


@pytest.mark.parametrize(
    "value",
    [
        "Solvane Pharmaceuticals, Inc.", "SOLVANE PHARMACEUTICALS INC", "Societe Generale",
        "Events of default", "general corporate purposes, which may include acquisitions",
        "JPN", "7:04", "b.ode@cam.org", "anna@cam.org", "Inc., Solvane Pharmaceuticals",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence 33, 1147–1160",
        "Acquisitions. IEEE Trans. PAMI, 33, 1147-1160",
        TWO_PIECES,
    ],
)  # fmt: skip
def test_texts_that_are_there(value: str) -> None:
    assert look_up(value) is None


@pytest.mark.parametrize(
    "value",
    [
        2_500_000_000, 1.25, 1_250_000_000, -1204.5, 1204.5, 1.125, 0.5, 48_801, 25, 33, 2019,
        2, 0.01125,
    ],
)  # fmt: skip
def test_numbers_that_are_there(value: float) -> None:
    assert look_up(value) is None


@pytest.mark.parametrize(
    "value, scale, found",
    [
        (1204.5, 1_000_000, True),
        (1.25, 1_000_000_000, True),
        (2.5, 1_000_000_000, True),
        (2.5, 1000, False),
        (2.5, None, False),
        (2.5, True, False),
        (2.5, float("nan"), False),
        (2.5, 10**400, False),
        (2.5, "1000", False),
    ],
)
def test_a_scale_beside_the_number(value: float, scale: Any, found: bool) -> None:
    assert (look_up(value, scale=scale) is None) == found


@pytest.mark.parametrize(
    "value",
    [
        "2019-07-18",
        "18 Jul 2019",
        "07/18/2019",
        "2019-07",
        "July 2019",
        "2019",
        "2019-07-17T22:00:00Z",
        "2022-07-18",
    ],
)
def test_dates_that_are_there(value: str) -> None:
    assert look_up(value) is None


@pytest.mark.parametrize(
    "value, expected",
    [
        ("Solvane Pharmaceuticols, Inc.", ("unlike_pdf", "Solvane Pharmaceuticals, Inc", 1)),
        ("Sociéte Genérala", ("unlike_pdf", "Societe Generale", 1)),
        ("Quixotic Zebra Holdings", ("not_in_pdf", None, None)),
        ("JP", ("not_in_pdf", None, None)),
        ("4:07", ("not_in_pdf", None, None)),
        ("carl@cam.org", ("not_in_pdf", "ode}@cam.org", 1)),
        (48_081, ("unlike_pdf", "48801", None)),
        (2_600_000_000, ("unlike_pdf", "2500000000", None)),
        (48_333, ("not_in_pdf", None, None)),
        (7, None),
        (9, ("not_in_pdf", None, None)),
        ("2019-07-19", ("not_in_pdf", "2019-07-18", None)),
        ("2031-01-02", ("not_in_pdf", None, None)),
        ("2018", ("not_in_pdf", None, None)),
    ],
)
def test_what_is_not_there(value: Any, expected: Any) -> None:
    assert look_up(value) == expected


def test_a_wrong_word_in_a_long_text_is_named() -> None:
    text = (
        "The proceeds of all loans will be used by the Guarantors for general corporate purposes, "
        "which may include acquisitions"
    )
    kind, near, page = look_up(text) or ("", "", 0)
    assert (kind, page) == ("unlike_pdf", 2)
    assert near is not None
    assert "Borrowers" in near


def test_an_anniversary_is_calculated_only_where_there_is_one() -> None:
    without = PdfText((FIRST,))
    assert look_up("2022-07-18") is None
    assert look_up("2022-07-18", without) == ("not_in_pdf", None, None)


@pytest.mark.parametrize(
    "value", [None, True, [], {}, "", " ", "--", "NA", "NOT_FOUND", float("nan"), 10**400]
)
def test_what_is_never_looked_up(value: Any) -> None:
    schema = parse_schema({"type": "object", "properties": {"a": WORD}})
    assert not list(find_values(Subject(schema, {"a": value}, PDF)))


@pytest.mark.parametrize("keyword", [{"enum": ["x"]}, {"const": "x"}, {"pattern": "x"}])
def test_restricted_values_are_not_looked_up(keyword: dict[str, Any]) -> None:
    for part in (keyword, {"anyOf": [{"type": "null"}, {"type": "string"} | keyword]}):
        schema = parse_schema({"type": "object", "properties": {"a": part}})
        assert not list(find_values(Subject(schema, {"a": "xyz"}, PDF)))
