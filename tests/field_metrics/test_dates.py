"""Dates: what is read as a date, what is not, and what two dates have in common."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.text.dates import Date, dates_equal, parse_date
from extractbench_nb.support.folding import fold

APRIL_6 = Date(2025, 4, 6)


@pytest.mark.parametrize(
    "text",
    [
        "2025-04-06",
        "2025-04-06T00:00:00Z",
        "2025-04-06T22:00:00.000Z",
        "2025-04-06 10:30",
        "2025/04/06",
        "2025-4-6",
        "20250406",
        "6 Apr 2025",
        "06-Apr-2025",
        "6. April 2025",
        "6th of April, 2025",
        "the 6th day of April, 2025",
        "April 6, 2025",
        "April 6th 2025",
        "APRIL 6, 2025",
        "Apr. 6, 2025",
        "Sunday, April 6, 2025",
        "Sun, 6 Apr 2025",
        "Sun Apr 06 2025 23:00:00 GMT+0100 (British Summer Time)",
        "dated as of April 6, 2025",
        "April 6, 2025 at 5:30 pm",
        "06.04.2025",
        "6 avril 2025",
        "6 de abril de 2025",
        "  2025-04-06. ",
        "２０２５-04-06",
    ],
)
def test_full_dates(text):
    assert parse_date(text) == APRIL_6


@pytest.mark.parametrize(
    "text, expected",
    [
        ("04/06/2025", Date(2025, 4, 6, swapped=True)),
        ("04/04/2025", Date(2025, 4, 4)),
        ("04/16/2025", Date(2025, 4, 16)),
        ("16/04/2025", Date(2025, 4, 16)),
        ("03/15/24", Date(2024, 3, 15)),
        ("03/15/98", Date(1998, 3, 15)),
        ("2025-04", Date(2025, 4)),
        ("Apr 2025", Date(2025, 4)),
        ("April, 2025", Date(2025, 4)),
        ("04/2025", Date(2025, 4)),
        ("May 2020", Date(2020, 5)),
        ("2025", Date(2025)),
        ("29 Feb 2024", Date(2024, 2, 29)),
    ],
)
def test_partial_and_ambiguous_dates(text, expected):
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "1.2.3",
        "section 4",
        "May",
        "May 4",
        "Spring 2010",
        "FY2025",
        "Q2 2025",
        "2009-2014",
        "2009–2014",
        "Jan 2018 - Present",
        "10:30",
        "555-010-4477",
        "2025-13-01",
        "31/02/2020",
        "2023-02-29",
        "0000",
        "1,999",
        "March of 3 2020 people",
        "version 2020-01-01",
        "x" * 10_000,
    ],
)
def test_no_date(text):
    assert parse_date(text) is None


@pytest.mark.parametrize(
    "a, b, precision, equal",
    [
        ("2025-04-06", "6 Apr 2025", "day", True),
        ("2025-04-06", "2025-04-07", "day", False),
        ("2025-04-06", "2025-04-07", "month", True),
        ("2025-04-06", "2025-05-06", "month", False),
        ("2025-04-06", "2025-05-06", "year", True),
        ("2025-04-06", "2024-04-06", "year", False),
        ("2025-04-06", "2025", "day", False),
        ("2025-04-06", "2025", "month", False),
        ("2025-04-06", "2025", "year", True),
        ("2025-04-06", "Apr 2025", "day", False),
        ("2025-04-06", "Apr 2025", "month", True),
        ("Apr 2025", "2025-04", "day", True),
        ("2025", "2025", "day", True),
        ("04/06/2025", "2025-04-06", "day", True),
        ("04/06/2025", "2025-06-04", "day", True),
        ("04/06/2025", "2025-06-05", "day", False),
        ("04/06/2025", "June 2025", "month", True),
    ],
)
def test_dates_equal(a, b, precision, equal):
    left, right = parse_date(a), parse_date(b)
    assert dates_equal(left, right, precision) is equal
    assert dates_equal(right, left, precision) is equal


def test_unknown_precision_is_refused():
    with pytest.raises(ValueError, match=r"precision must be one of .* found 'hour'"):
        dates_equal(APRIL_6, APRIL_6, "hour")


def test_find_dates_in_running_text():
    text = fold("Matures on June 30, 2027; signed 2020-01-02 and 3 May 2021. Section 2.14, 1999.")
    found = [(text[start:end], date) for start, end, date in Date.all_in(text)]
    assert found == [
        ("june 30, 2027", Date(2027, 6, 30)),
        ("2020-01-02", Date(2020, 1, 2)),
        ("3 may 2021", Date(2021, 5, 3)),
    ]


@given(st.dates(min_value=dt.date(1000, 1, 1)))
def test_iso_dates_are_read_back(day):
    expected = Date(day.year, day.month, day.day) if day.year <= 2199 else None
    assert parse_date(day.isoformat()) == expected


@given(st.text())
def test_never_raises(text):
    date = parse_date(text)
    assert date is None or dates_equal(date, date)
    assert all(start < end for start, end, _ in Date.all_in(fold(text)))


def test_two_ambiguous_dates_are_written_in_one_order():
    a, b = parse_date("03/04/2024"), parse_date("04/03/2024")
    assert not dates_equal(a, b)
    assert not dates_equal(a, b, "month")
    assert dates_equal(a, b, "year")
    assert dates_equal(a, parse_date("3/4/2024"))
    assert dates_equal(a, parse_date("2024-04-03"))
    assert dates_equal(a, parse_date("2024-03-04"))
