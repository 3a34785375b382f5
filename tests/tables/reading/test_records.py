"""Tables of records: which columns, which texts."""

import datetime as dt
import json
from collections import OrderedDict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.tables.reading import read_records, read_table

ITEMS = [{"year": 2020, "sales": 1.0}, {"sales": None, "note": "a"}, {}]


def test_columns_are_the_keys_in_order_of_first_appearance() -> None:
    table = read_records(ITEMS)
    assert table.texts == [
        ["year", "sales", "note"],
        ["2020", "1", ""],
        ["", "", "a"],
        ["", "", ""],
    ]
    assert [cell.is_header for cell in table.cells] == [True] * 3 + [False] * 9
    assert table.notes == ()


def test_columns_may_be_chosen() -> None:
    table = read_records(ITEMS, ["note", "unit", "year"])
    assert table.texts[:2] == [["note", "unit", "year"], ["", "", "2020"]]


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats()
    | st.text("ab1", max_size=3)
    | st.decimals(allow_nan=False, places=2)
    | st.dates()
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries({"a": SCALARS}, optional={"b": SCALARS, "c": SCALARS}), min_size=1
    )
)
def test_records_and_their_frame_are_one_table(items: list[dict[str, Any]]) -> None:
    assert read_table(items).texts == read_table(pd.DataFrame(items)).texts


ROWS: dict[str, tuple[Any, list[list[str]]]] = {
    "lists": ([["a", "b"], [1, 2.0]], [["a", "b"], ["1", "2"]]),
    "tuples": ([("a", 2020), (None, True)], [["a", "2020"], ["", "true"]]),
    "an array of texts": (np.array([["a", "b"], ["x", "y"]]), [["a", "b"], ["x", "y"]]),
    "an array of numbers": (np.array([[2020, 2021], [1.5, 2]]), [["2020", "2021"], ["1.5", "2"]]),
    "JSON": ('[["a", "b"], [1, null]]', [["a", "b"], ["1", ""]]),
    "a header of dates": (
        [[dt.datetime(2020, 1, 1)], [dt.time(1)]],
        [["2020-01-01"], ["01:00:00"]],
    ),
}


@pytest.mark.parametrize("rows, texts", ROWS.values(), ids=ROWS)
def test_rows_have_their_header_first(rows: Any, texts: list[list[str]]) -> None:
    table = read_table(rows)
    assert table.texts == texts
    assert all(cell.is_header == (cell.rows == (0,)) for cell in table.cells)
    assert table.notes == ()


def test_rows_of_unequal_length_are_filled_and_noted() -> None:
    table = read_table([["a", "b"], [1], [1, 2]])
    assert table.texts == [["a", "b"], ["1", ""], ["1", "2"]]
    assert table.notes == ("row 1: 1 position without a cell, filled",)


@pytest.mark.parametrize(
    "items, columns, shape",
    [([], None, (1, 0)), ([{}], None, (1, 0)), ([], ["a", "b"], (1, 2)), ([{}], ["a"], (2, 1))],
)
def test_empty(items: list[Any], columns: list[str] | None, shape: tuple[int, int]) -> None:
    assert read_records(items, columns).grid.shape == shape


ERRORS: dict[str, tuple[Any, str]] = {
    "no dict": ([{}, ["a"]], "table, item 1 is list; expected a dict"),
    "great": (
        [dict.fromkeys(map(str, range(1000)))] * 1000,
        "table has 1,001 rows x 1,000 columns; exp",
    ),
}


@pytest.mark.parametrize("items, message", ERRORS.values(), ids=ERRORS)
def test_errors(items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_records(items)


MIXED: dict[str, tuple[Any, str]] = {
    "a number among records": ([{"a": 1}, 5], "table, item 1 is int; expected a dict"),
    "a list among records": ([{"a": 1}, [1]], "table, item 1 is list; expected a dict"),
    "a record among rows": ([[1], {"a": 1}], "table, item 1 is dict; expected a list"),
    "a text among rows": ([[1], "ab"], "table, item 1 is str; expected a list"),
}


@pytest.mark.parametrize("items, message", MIXED.values(), ids=MIXED)
def test_the_item_that_does_not_fit_is_named(items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(items)


AB = [["a", "b"], ["1", "2"]]
OBJECTS: dict[str, tuple[Any, list[list[str]]]] = {
    "an empty array beside": ({"notes": [], "lines": [{"a": 1, "b": 2}]}, AB),
    "one down": ({"title": "x", "table": {"header": ["a", "b"], "rows": [[1, 2]]}}, AB),
    "column_names": ({"column_names": ["a", "b"], "rows": [[1, 2]]}, AB),
    "columns and no row": ({"columns": ["a", "b"], "data": []}, AB[:1]),
    "columns": ({"Y": [2020, 2021], "S": [5, None]}, [["Y", "S"], ["2020", "5"], ["2021", ""]]),
    "no row": ({"title": "x", "rows": [], "notes": ["y"]}, [[]]),
}


@pytest.mark.parametrize("given, texts", OBJECTS.values(), ids=OBJECTS)
def test_objects(given: Any, texts: list[Any]) -> None:
    expected = [list(row) for row in texts]
    assert read_table(given).texts == expected
    assert read_table(OrderedDict(given)).texts == expected
    assert read_table(json.dumps(given)).texts == expected


NO_ROWS: dict[str, tuple[Any, str]] = {
    "unequal columns": ({"Y": [1], "S": [1, 2]}, "table is an object; expected an array of obj"),
    "an array beside a value": ({"Y": [1], "S": 1}, "or with an array of single values for each"),
    "two down": ({"a": {"b": {"rows": [{}]}}}, "table is an object; expected an array"),
    "one cell": ({"row_nums": [0], "column_nums": [0]}, "table is an object; expected"),
    "several": ({"a": [{"x": 1}], "b": [[1]], "c": []}, "table is an object with 2 arrays; expec"),
    "several below": ({"x": {"y": [{}]}, "z": {"y": [{}]}}, "an object with 2 arrays; expected"),
    "nothing": ({}, "table is an object; expected"),
}


@pytest.mark.parametrize("given, message", NO_ROWS.values(), ids=NO_ROWS)
def test_objects_that_are_no_table(given: Any, message: str) -> None:
    for form in (given, json.dumps(given)):
        with pytest.raises(InputError, match=message):
            read_table(form)
