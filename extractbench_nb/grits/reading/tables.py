"""`read_table`: a table, whatever form it is given in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._html import one_line
from extractbench_nb._json import read_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.grits.cells import Cell, Table, table_of_cells
from extractbench_nb.grits.reading.frames import table_of_frame
from extractbench_nb.grits.reading.html import table_of_html, unescaped
from extractbench_nb.grits.reading.pipes import table_of_markdown
from extractbench_nb.grits.reading.records import (
    is_row,
    items_of_object,
    read_records,
    read_rows,
)
from extractbench_nb.grits.reading.seeing import Seen, answer_in, array_in, seen_table, unfenced
from extractbench_nb.grits.reading.texts import table_of_csv

__all__ = ["TABLE_FORMATS", "read_table"]

#: What a text, a file or a list may be.
TABLE_FORMATS = ("cells", "csv", "html", "json", "markdown", "records")

_OF_FILES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_SINGLE = (bytes, bytearray, Cell)
_LISTS = ("cells", "records")
_EXPECTED = (
    "expected a list of cells, of records or of rows, an HTML, CSV, Markdown or JSON text, a "
    "DataFrame, or a pathlib.Path of a file"
)


def read_table(
    given: Any,
    *,
    format: str | None = None,  # noqa: A002
    name: str = "table",
    tidy: bool = False,
) -> Table:
    r"""Read a table from what there is.

    Parameters
    ----------
    given : Table, iterable of dict or list, array, dict, pandas.DataFrame, str or pathlib.Path
        Cells (with ``row_nums``); records: flat objects with a key for each column; or rows: lists
        or tuples of single values, or an array of two dimensions, of which the first row is the
        header. A dict with one such array, perhaps with ``columns`` beside it, one level down at
        most; of several arrays, that called ``rows``, ``data``, ``table``, ``items`` or
        ``records``. A dict with an array for each column, or of single values, which is one row.
        A DataFrame; an index of whole numbers without a name is no column of it.
        The text of an HTML table, of CSV, of a Markdown pipe table, or of JSON: such an array, JSON
        Lines, or such an object. It may be in a code fence, between lines of prose, in ``<answer>``
        after ``<think>``. JSON that is cut off or slightly off is mended, and noted. A str is never
        the name of a file. A file with such a text in UTF-8: ``.html``, ``.csv``, ``.tsv``,
        ``.md``, ``.json``, ``.jsonl``.
    format : str, optional
        ``cells``, ``csv``, ``html``, ``json``, ``markdown`` or ``records``. By default seen from
        the file's name, the label of a code fence, or from the text: JSON by how it begins, HTML by
        a tag of tables or rows, Markdown by the row of dashes, CSV by records that agree in their
        number of fields and do not read like sentences.
    name : str, optional
        What errors call the table.
    tidy : bool, optional
        Whether texts are as they are shown: white space in them is collapsed to single spaces and
        stripped, and elements within a line of an HTML cell are joined without a space, so that
        ``H<sub>2</sub>O`` is ``H2O``; ``br``, ``p``, ``div``, ``li`` and other blocks still divide.
        By default texts are those of the code published with GriTS: white space as it stands, the
        texts of elements joined by spaces (``H 2 O``), which costs where one side has been tidied.

    Returns
    -------
    Table
        What had to be mended is in ``.notes``. Headers: what HTML says, the first line of CSV and
        Markdown, the keys of records, the first row of rows, the columns of a DataFrame. Values
        that are no texts are written in one way: floats that are whole numbers as whole numbers,
        what is missing as an empty text, dates in ISO form.

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
    >>> read_table("<tr><td>H<sub>2</sub>O <br/> ice</td></tr>", tidy=True).texts
    [['H2O ice']]
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InputError(f"format is {format!r}; {nearest(str(format), TABLE_FORMATS)}")
    table = _read(given, format, name, tidy)
    return _tidied(table) if tidy else table


def _tidied(table: Table) -> Table:
    cells = (cell._replace(text=" ".join(cell.text.split())) for cell in table.cells)
    return replace(table, cells=tuple(cells))


def _read(given: Any, format: str | None, name: str, tidy: bool) -> Table:  # noqa: A002
    if isinstance(given, Path):
        return _of_file(given, format, name, tidy)
    if isinstance(given, str):
        return _of_text(given.removeprefix("\ufeff"), format, name, tidy)
    if isinstance(given, Table | pd.DataFrame):
        _check_no_format(given, format, name)
        return given if isinstance(given, Table) else table_of_frame(given, name)
    if isinstance(given, Mapping):
        return _of_list(items_of_object(given, name, type(given).__name__), format, name)
    is_single = isinstance(given, np.ndarray) and given.ndim == 0
    if is_single or not isinstance(given, Iterable) or isinstance(given, _SINGLE):
        raise InputError(f"{name} is {type(given).__name__}; {_EXPECTED}")
    return _of_list(list(given), format, name)


def _check_no_format(given: Table | pd.DataFrame, format: str | None, name: str) -> None:  # noqa: A002
    if format is not None:
        raise InputError(
            f"{name} is {type(given).__name__}, and format is {format!r}; "
            "a format is for texts, files and lists"
        )


def _of_file(path: Path, format: str | None, name: str, tidy: bool) -> Table:  # noqa: A002
    suffix = path.suffix.lower()
    kind = format or _OF_FILES.get(suffix)
    if kind is None:
        raise InputError(
            f"{name}: file {str(path)!r} ends in {suffix!r}; {nearest(suffix, _OF_FILES)} "
            "(or pass format)"
        )
    tab = "\t" if kind == "csv" and suffix == ".tsv" else None
    seen = Seen(kind, read_text(path, name), delimiter=tab)
    called = f"{name} file {str(path)!r}"
    return _of_seen(seen, called, called, tidy)


def _of_text(text: str, format: str | None, name: str, tidy: bool) -> Table:  # noqa: A002
    if format is None:
        seen = seen_table(text, name)
    else:
        bare, notes = answer_in(text)
        seen = Seen(format, _called(format, bare), notes)
    if seen is None:
        raise InputError(
            f"{name} is the text {one_line(text, 40)!r}, in which no table is seen; expected HTML, "
            'CSV, Markdown or JSON, or say which: xb.read_table(text, format="csv"); '
            "a file is given as pathlib.Path"
        )
    return _of_seen(seen, f"{name} text", name, tidy)


def _called(format: str, text: str) -> str:  # noqa: A002
    """Return the part of a text that is of the format it is said to be of."""
    if format == "html":
        plain = unescaped(text)
        return text if plain is None else plain
    return text if format == "markdown" else unfenced(text)


def _of_seen(seen: Seen, where: str, name: str, tidy: bool) -> Table:
    kind, text, notes, delimiter = seen
    if kind == "csv":
        table = table_of_csv(text, name, delimiter)
    elif kind == "html":
        table = table_of_html(text, name, tidy=tidy)
    elif kind == "markdown":
        table = table_of_markdown(text, name, tidy=tidy)
    else:
        items, found = array_in(text, where, name)
        notes = (*notes, *found)
        table = _of_list(items, None if kind == "json" else kind, name)
    return replace(table, notes=(*notes, *table.notes)) if notes else table


def _of_list(items: list[Any], format: str | None, name: str) -> Table:  # noqa: A002
    if format is not None and format not in _LISTS:
        raise InputError(f"{name} is a list, and format is {format!r}; {nearest(format, _LISTS)}")
    kind = format or _kind(items)
    if kind == "records":
        return read_records(items, name=name)
    return read_rows(items, name) if kind == "rows" else table_of_cells(items, name)


def _kind(items: list[Any]) -> str:
    """Tell cells by one of their keys, anywhere; else the first dict or list says what it is."""
    if any(map(_is_cell, items)):
        return "cells"
    for item in items:
        if isinstance(item, Mapping) or is_row(item):
            return "records" if isinstance(item, Mapping) else "rows"
    return "cells"


def _is_cell(item: Any) -> bool:
    if isinstance(item, Mapping):
        return "row_nums" in item or "column_nums" in item
    return isinstance(item, Cell)
