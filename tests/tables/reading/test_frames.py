"""Tables of DataFrames: headers, the index, and how values are written."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.reading import read_table

MANY = pd.MultiIndex.from_tuples(
    [("2020", "Q1"), ("2020", "Q1"), ("2021", "Q1"), ("2020", "Q1")], names=["year", "quarter"]
)


def spans(frame: pd.DataFrame) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(c.text, c.rows, c.columns) for c in read_table(frame).cells]


def test_plain_columns_are_one_header_row() -> None:
    table = read_table(pd.DataFrame([[1, "x"], [2, "y"]], columns=["a", "a"]))
    assert table.texts == [["a", "a"], ["1", "x"], ["2", "y"]]
    assert [c.is_header for c in table.cells] == [True, True, False, False, False, False]
    assert table.notes == ()


def test_equal_neighbours_in_the_columns_are_one_cell_but_for_the_last_level() -> None:
    assert spans(pd.DataFrame([list("wxyz")], columns=MANY)) == [
        ("2020", (0,), (0, 1)),
        ("2021", (0,), (2,)),
        ("2020", (0,), (3,)),
        *(("Q1", (1,), (n,)) for n in range(4)),
        *((text, (2,), (n,)) for n, text in enumerate("wxyz")),
    ]


def test_an_index_becomes_columns_under_its_names() -> None:
    frame = pd.DataFrame({"v": [1, 2, 3, 4]}, index=MANY)
    assert read_table(frame).texts == [
        ["year", "quarter", "v"],
        ["2020", "Q1", "1"],
        ["2020", "Q1", "2"],
        ["2021", "Q1", "3"],
        ["2020", "Q1", "4"],
    ]
    assert [c for c in spans(frame) if c[1] == (1, 2)] == [("2020", (1, 2), (0,))]
    assert [c.is_header for c in read_table(frame).cells][:4] == [True, True, True, False]


INDEXES: dict[str, tuple[Any, list[list[str]]]] = {
    "as pandas makes it": (None, [["a"], ["x"], ["y"]]),
    "with a name": (pd.RangeIndex(2, name="n"), [["n", "a"], ["0", "x"], ["1", "y"]]),
    "from 1": (pd.RangeIndex(1, 3), [["a"], ["x"], ["y"]]),
    "filtered": ([7, 12], [["a"], ["x"], ["y"]]),
    "of years with a name": (
        pd.Index([2020, 2021], name="year"),
        [["year", "a"], ["2020", "x"], ["2021", "y"]],
    ),
    "of texts": (["r", "s"], [["", "a"], ["r", "x"], ["s", "y"]]),
    "of dates": (
        pd.to_datetime(["2020-01-02", "2021-03-04"]),
        [["", "a"], ["2020-01-02", "x"], ["2021-03-04", "y"]],
    ),
}


@pytest.mark.parametrize("index, texts", INDEXES.values(), ids=INDEXES)
def test_index(index: Any, texts: list[list[str]]) -> None:
    assert read_table(pd.DataFrame({"a": ["x", "y"]}, index=index)).texts == texts


def test_columns_as_pandas_makes_them_are_no_header() -> None:
    table = read_table(pd.DataFrame([["a", "b"]]))
    assert table.texts == [["a", "b"]]
    assert not any(c.is_header for c in table.cells)


VALUES: dict[str, tuple[Any, list[str]]] = {
    "integers": ([1, -2, 10**20], ["1", "-2", "1" + "0" * 20]),
    "floats": ([1.0, 0.1, 1e-9, -0.0], ["1", "0.1", "1e-09", "0"]),
    "whole floats, one missing": ([1.0, None, 3.0], ["1", "", "3"]),
    "floats, one missing": ([1.0, None, 2.5], ["1", "", "2.5"]),
    "single precision": (np.array([0.1, 2], dtype="float32"), ["0.1", "2"]),
    "nullable integers": (pd.array([1, None], dtype="Int64"), ["1", ""]),
    "booleans": ([True, False], ["true", "false"]),
    "booleans among others": ([True, "x", None, 1, 1.5], ["true", "x", "", "1", "1.5"]),
    "numpy among others": ([np.bool_(False), np.int8(3), np.float64(2.5), "x"], None),
    "texts": (
        pd.array(["a", "", " b ", "nan", "\ud800"], dtype=pd.StringDtype("python")),
        ["a", "", " b ", "nan", "\ud800"],
    ),
    "dates": ([dt.date(2020, 1, 2), None], ["2020-01-02", ""]),
    "days": (pd.to_datetime(["2020-01-02", None]), ["2020-01-02", ""]),
    "times": (
        pd.to_datetime(["2020-01-02 00:00", "2020-01-02 03:04"]),
        ["2020-01-02T00:00:00", "2020-01-02T03:04:00"],
    ),
    "categories": (pd.Categorical(["b", None, "a"]), ["b", "", "a"]),
    "containers": ([{"b": 1, "a": [None]}, ["x"], ()], ['{"a": [null], "b": 1}', '["x"]', "[]"]),
    "decimals": ([Decimal("1.50"), Decimal("2.0")], ["1.50", "2.0"]),
    "periods": (pd.PeriodIndex(["2020-01", "NaT"], freq="M"), ["2020-01", ""]),
    "numpy within containers": (
        [[np.int64(5), np.float32(0.1), 2.0, np.nan]],
        ["[5, 0.1, 2, null]"],
    ),
}


@pytest.mark.parametrize("values, texts", VALUES.values(), ids=VALUES)
def test_values(values: Any, texts: list[str] | None) -> None:
    frame = pd.DataFrame({"v": pd.Series(values)})
    expected = texts if texts is not None else ["false", "3", "2.5", "x"]
    assert [row[0] for row in read_table(frame).texts[1:]] == expected


def test_a_great_frame_is_refused() -> None:
    with pytest.raises(InputError, match="table has 500,001 rows x 2 columns; expected at most"):
        read_table(pd.DataFrame(np.zeros((500_000, 2)), columns=["a", "b"]))
