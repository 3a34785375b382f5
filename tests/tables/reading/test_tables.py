"""`read_table`: what is taken, what is refused, and what the errors say."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Cell
from extractbench_nb.tables.reading import read_table

CELL = {"row_nums": [0], "column_nums": [0], "text": "a"}


def test_a_table_is_itself() -> None:
    table = read_table([CELL])
    assert read_table(table) is table


def test_cells() -> None:
    assert read_table([CELL, Cell((0,), (1,), "b")]).texts == [["a", "b"]]
    assert read_table(cell for cell in [CELL]).texts == [["a"]]
    assert read_table([]).grid.shape == (1, 0)


FILES = {
    "a.html": ("<table><tr><td>a</td></tr></table>", [["a"]]),
    "a.HTM": ("<table><tr><td>a<td>b", [["a", "b"]]),
    "a.csv": ("\ufeffa;é\r\n1;2", [["a", "é"], ["1", "2"]]),
    "a.tsv": ("a,b\tc\n1\t2", [["a,b", "c"], ["1", "2"]]),
    "a.md": ("| a |\n|---|\n| 1 |", [["a"], ["1"]]),
    "a.json": ('[{"a": 1}]', [["a"], ["1"]]),
    "a.jsonl": ('{"a": 1}\n{"b": 2}\n', [["a", "b"], ["1", ""], ["", "2"]]),
    "c.json": ('{"rows": [["a"], [1]]}', [["a"], ["1"]]),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path) -> None:
    text, texts = FILES[name]
    (tmp_path / name).write_bytes(text.encode())
    assert read_table(tmp_path / name).texts == texts


def test_the_format_may_be_told(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text("a,b\n1,2", encoding="utf-8")
    assert read_table(path, format="csv").texts == [["a", "b"], ["1", "2"]]
    assert read_table("<td>,b", format="csv").texts == [["<td>", "b"]]
    assert read_table("one field", format="csv").texts == [["one field"]]


BAD_FILES = {
    "a.htlm": ("", r"table: file .*a\.htlm' ends in '\.htlm'; did you mean .*'html'"),
    "a.csv": (b"\xff,b", r"table file .*a\.csv' is not UTF-8"),
    "c.json": (b"{}", r"table file .*c\.json' is an object; expected an array of objects"),
    "a.html": (b"no", r"table file .*a\.html': no table in 'no'; expected HTML"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_errors_name_the_file(name: str, tmp_path: Path) -> None:
    content, message = BAD_FILES[name]
    if content:
        (tmp_path / name).write_bytes(bytes(content))
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name)


REFUSED: dict[str, tuple[Any, str | None, str]] = {
    "prose": (
        "not html at all",
        None,
        "table is the text 'not html at all', in which no table was",
    ),
    "a file name": ("table.csv", None, "pass a file as pathlib.Path"),
    "bytes": (b"<table>", None, "table is bytes; expected a list of cells"),
    "None": (None, None, "table is NoneType; expected a list of cells"),
    "one dict": (CELL, None, "table is an object; expected an array of objects"),
    "a series": (pd.Series(["a"]), None, "table, cell 0 is str; expected a dict"),
    "cells and records": ([CELL, {"a": 1}], None, r"table, cell 1: (no key 'a'|row_nums is None)"),
    "a JSON object": (
        '{"a": {"b": {}}}',
        None,
        "table is an object; expected an array of objects",
    ),
    "unknown format": ("a,b", "htlm", "format is 'htlm'; did you mean 'html'"),
}


@pytest.mark.parametrize("given, form, message", REFUSED.values(), ids=REFUSED)
def test_refused(given: Any, form: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(given, format=form)
