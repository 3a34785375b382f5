"""Tables of records: which columns, which texts."""

from collections import OrderedDict
from typing import Any

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.grits.reading import read_records, read_table

ITEMS = [{"year": 2020, "sales": 1.0}, {"sales": None, "note": "a"}, {}]


def test_columns_are_the_keys_in_order_of_first_appearance() -> None:
    table = read_records(ITEMS)
    assert table.texts == [
        ["year", "sales", "note"],
        ["2020", "1.0", ""],
        ["", "", "a"],
        ["", "", ""],
    ]
    assert [cell.is_header for cell in table.cells] == [True] * 3 + [False] * 9
    assert table.notes == ()


def test_columns_may_be_chosen() -> None:
    table = read_records(ITEMS, ["note", "unit", "year"])
    assert table.texts[:2] == [["note", "unit", "year"], ["", "", "2020"]]


VALUES = {
    "text": ("a ", "a "),
    "empty text": ("", ""),
    "null": (None, ""),
    "true": (True, "true"),
    "false": (False, "false"),
    "integer": (10**30, "1" + "0" * 30),
    "float": (0.1, "0.1"),
    "whole float": (3.0, "3.0"),
    "array": ([1, "ä", None], '[1, "ä", null]'),
    "object": ({"b": 1, "a": {}}, '{"a": {}, "b": 1}'),
}


@pytest.mark.parametrize("value, text", VALUES.values(), ids=VALUES)
def test_values(value: Any, text: str) -> None:
    assert read_records([{"v": value}]).texts == [["v"], [text]]


@pytest.mark.parametrize(
    "items, columns, shape",
    [([], None, (1, 0)), ([{}], None, (1, 0)), ([], ["a", "b"], (1, 2)), ([{}], ["a"], (2, 1))],
)
def test_empty(items: list[Any], columns: list[str] | None, shape: tuple[int, int]) -> None:
    assert read_records(items, columns).grid.shape == shape


ERRORS: dict[str, tuple[Any, Any, str]] = {
    "no dict": ([{}, ["a"]], None, "table, item 1 is list; expected a dict"),
    "a text for columns": ([{}], "ab", "columns is 'ab'; expected a list of texts"),
    "twice a column": ([{}], ["a", "a"], r"columns is \['a', 'a'\]; expected texts, each once"),
    "no text": ([{}], [1], r"columns is \[1\]; expected texts"),
    "great": ([{"a": 1, "b": 2}] * 500_000, None, "table has 500,001 rows x 2 columns; expected"),
}


@pytest.mark.parametrize("items, columns, message", ERRORS.values(), ids=ERRORS)
def test_errors(items: Any, columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_records(items, columns)


def test_read_table_sees_records_and_cells() -> None:
    assert read_table([OrderedDict(a=1)]).texts == [["a"], ["1"]]
    assert read_table('[{"a": 1}, {"b": null}]').texts == [["a", "b"], ["1", ""], ["", ""]]
    cells = '[{"row_nums": [0], "column_nums": [0], "text": "a"}]'
    assert read_table(cells).texts == [["a"]]
    assert read_table(cells, format="records").texts[0] == ["row_nums", "column_nums", "text"]
