"""`read_table`: a table, whatever form it is given in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from extractbench_nb._html import one_line
from extractbench_nb._json import json_type, read_document, read_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.grits.cells import Cell, Table, table_of_cells
from extractbench_nb.grits.reading.frames import table_of_frame
from extractbench_nb.grits.reading.html import looks_like_html, table_of_html
from extractbench_nb.grits.reading.records import read_records
from extractbench_nb.grits.reading.texts import (
    looks_like_csv,
    looks_like_markdown,
    table_of_csv,
    table_of_markdown,
)

__all__ = ["TABLE_FORMATS", "read_table"]

#: What a text, a file or a list may be.
TABLE_FORMATS = ("cells", "csv", "html", "markdown", "records")

_OF_FILES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".json": "json",
}
_OF_TEXTS: Mapping[str, Callable[[str, str], Table]] = MappingProxyType(
    {"csv": table_of_csv, "html": table_of_html, "markdown": table_of_markdown}
)
_LISTS = ("cells", "records")
_JSON = re.compile(r'\s*(\[\s*[{\]]|\{\s*["}])')
_EXPECTED = (
    "expected a list of cells or of records, an HTML, CSV or Markdown text, a DataFrame, or a "
    "pathlib.Path of a file"
)


def read_table(given: Any, *, format: str | None = None, name: str = "table") -> Table:  # noqa: A002
    r"""Read a table from what there is.

    Parameters
    ----------
    given : Table, iterable of dict, pandas.DataFrame, str or pathlib.Path
        Cells (with ``row_nums``), or records: flat objects with a key for each column. A DataFrame.
        The text of an HTML table, of CSV, of a Markdown pipe table, or of a JSON array of cells or
        records; a str is never the name of a file. A file with such a text in UTF-8: ``.html``,
        ``.csv``, ``.tsv``, ``.md``, ``.json``.
    format : str, optional
        One of ``TABLE_FORMATS``: ``cells``, ``csv``, ``html``, ``markdown``, ``records``. By
        default seen from the file's name, or from the text: JSON by how it begins, HTML by a tag
        of tables, Markdown by the row of dashes, CSV by several lines or a delimiter.
    name : str, optional
        What errors call the table.

    Returns
    -------
    Table
        What had to be mended is in ``.notes``. Headers: what HTML says, the first line of CSV and
        Markdown, the keys of records, the columns of a DataFrame.

    Raises
    ------
    InputError
        It is no table, or several; a cell is not as it should be; the format is not known.

    Examples
    --------
    >>> read_table("<table><tr><th>Year</th><th>Sales</th></tr></table>").texts
    [['Year', 'Sales']]
    >>> read_table("Year,Sales\n2020,1.5").texts
    [['Year', 'Sales'], ['2020', '1.5']]
    >>> read_table([{"Year": 2020, "Sales": 1.5}]).texts
    [['Year', 'Sales'], ['2020', '1.5']]
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InputError(f"format is {format!r}; {nearest(str(format), TABLE_FORMATS)}")
    if isinstance(given, Path):
        return _of_file(given, format, name)
    if isinstance(given, str):
        return _of_text(given.removeprefix("\ufeff"), format, name)
    if isinstance(given, Table | pd.DataFrame):
        _check_no_format(given, format, name)
        return given if isinstance(given, Table) else table_of_frame(given, name)
    if isinstance(given, bytes | bytearray | Mapping | Cell) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {type(given).__name__}; {_EXPECTED}")
    return _of_list(list(given), format, name)


def _check_no_format(given: Table | pd.DataFrame, format: str | None, name: str) -> None:  # noqa: A002
    if format is not None:
        raise InputError(
            f"{name} is {type(given).__name__}, and format is {format!r}; "
            "a format is for texts, files and lists"
        )


def _of_file(path: Path, format: str | None, name: str) -> Table:  # noqa: A002
    suffix = path.suffix.lower()
    kind = format or _OF_FILES.get(suffix)
    if kind is None:
        raise InputError(
            f"{name}: file {str(path)!r} ends in {suffix!r}; {nearest(suffix, _OF_FILES)} "
            "(or pass format)"
        )
    called = f"{name} file {str(path)!r}"
    if kind not in _OF_TEXTS:
        return _of_array(read_document(path, name), format, called)
    text = read_text(path, name)
    is_tabbed = kind == "csv" and suffix == ".tsv"
    return table_of_csv(text, called, "\t") if is_tabbed else _OF_TEXTS[kind](text, called)


def _of_text(text: str, format: str | None, name: str) -> Table:  # noqa: A002
    kind = format or _recognised(text, name)
    if kind in _OF_TEXTS:
        return _OF_TEXTS[kind](text, name)
    return _of_array(read_document(text, name), format, name)


def _recognised(text: str, name: str) -> str:
    if _JSON.match(text):
        return "json"
    if looks_like_html(text):
        return "html"
    if looks_like_markdown(text):
        return "markdown"
    if looks_like_csv(text):
        return "csv"
    raise InputError(
        f"{name} is the text {one_line(text, 40)!r}, in which no table is seen; {_EXPECTED} "
        "(a str is the text itself)"
    )


def _of_array(value: Any, format: str | None, name: str) -> Table:  # noqa: A002
    if not isinstance(value, list):
        raise InputError(f"{name} is a JSON {json_type(value)}; expected an array of objects")
    return _of_list(value, format, name)


def _of_list(items: list[Any], format: str | None, name: str) -> Table:  # noqa: A002
    if format is not None and format not in _LISTS:
        raise InputError(f"{name} is a list, and format is {format!r}; {nearest(format, _LISTS)}")
    is_records = format == "records" or (format is None and _are_records(items))
    return read_records(items, name=name) if is_records else table_of_cells(items, name)


def _are_records(items: list[Any]) -> bool:
    """Whether there are dicts, and none is a cell."""
    return (
        bool(items)
        and all(isinstance(item, Mapping) for item in items)
        and not any("row_nums" in item or "column_nums" in item for item in items)
    )
