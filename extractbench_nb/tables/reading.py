"""`read_table`: a table from texts, files, records, rows and frames."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.values import canonical, json_type
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import read_text
from extractbench_nb.support.model_json import read_cut_off, repaired
from extractbench_nb.support.wording import one_line
from extractbench_nb.tables.cells import Cell, Table, is_whole, table_of_cells
from extractbench_nb.tables.table_formats import (
    Seen,
    begins_as_html,
    check_size,
    has_cell_tag,
    left_out,
    looks_like_html,
    looks_like_markdown,
    mended,
    seen_csv,
    table_of_csv,
    table_of_html,
    table_of_markdown,
    table_of_rows,
)

#: Whole numbers of this size and more are written with an exponent, as in JavaScript.
_GREAT = 1e21


_MIDNIGHT = re.compile(r"(?<=T)00:00:00(?!\.)")


def text_of(value: Any) -> str:
    """Write one value as the text of a cell: 1.0 as 1, dates in ISO form, containers as JSON."""
    if isinstance(value, str):
        return str.__str__(value)
    with suppress(RecursionError):  # values nested too deep are written unchanged
        value = _json_value(value)
    if value is None or isinstance(value, str):
        return value or ""
    return str(value) if isinstance(value, float) else canonical(value)


def texts_of(values: Iterable[Any]) -> list[str]:
    """Write the values of a column; times are left out if all of them are midnight."""
    column = list(values)
    texts = list(map(text_of, column))
    are_moments = [isinstance(value, datetime | np.datetime64) for value in column]
    moments = [text for text, is_moment in zip(texts, are_moments, strict=True) if is_moment]
    if any("T" in text and not _MIDNIGHT.search(text) for text in moments):
        return texts
    return [
        text.partition("T")[0] if is_moment else text
        for text, is_moment in zip(texts, are_moments, strict=True)
    ]


def texts_of_rows(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Write the values of rows, which may be of unequal length, column by column as `texts_of`."""
    columns = zip(*map(texts_of, zip_longest(*rows)), strict=True)
    return [list(texts[: len(row)]) for row, texts in zip(rows, columns, strict=False)]


def _json_value(value: Any) -> Any:
    """Convert a value, or the contents of a container, to JSON values; others to texts."""
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.bool_ | np.integer):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return None
    if isinstance(value, float | np.floating):
        number = float(str(value))  # a float32 keeps its digits: 0.1, not 0.10000000149
        return int(number) if number.is_integer() and abs(number) < _GREAT else number
    if isinstance(value, np.datetime64 | timedelta | np.timedelta64):
        convert: Any = pd.Timestamp if isinstance(value, np.datetime64) else pd.Timedelta
        with suppress(ValueError):  # beyond the range of pandas
            value = convert(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return value if isinstance(value, str | int) else str(value)


_CELL_KEYS = ("row_nums", "column_nums")
#: Keys of an object with the names of columns.
_HEADERS = ("columns", "column_names", "header", "headers")
#: Keys of the rows, by priority, if an object has several arrays.
_ROWS = ("rows", "data", "table", "items", "records")


def read_records(
    items: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None, name: str = "table"
) -> Table:
    """Make a table of objects: a header row with the keys, or some of them, and a row per object.

    A null or a missing key becomes an empty text.
    """
    records = list(items)
    for number, item in enumerate(records):
        if not isinstance(item, Mapping):
            raise InputError(f"{name}, item {number} is {type(item).__name__}; expected a dict")
    keys = list(keys_of(records) if columns is None else columns)
    check_size(len(records) + 1, len(keys), name)
    rows = texts_of_rows([[item.get(key) for key in keys] for item in records])
    return table_of_rows([[*map(text_of, keys)], *rows] if keys else [], name)


def read_rows(items: Iterable[Sequence[Any]], name: str = "table") -> Table:
    """Make a table of rows; the first one is the header."""
    rows = list(items)
    for number, row in enumerate(rows):
        where = f"{name}, item {number}"
        if not is_row(row):
            raise InputError(f"{where} is {type(row).__name__}; expected a list")
        for index, value in enumerate(row):
            if not _is_single(value):
                kind = type(value).__name__
                raise InputError(f"{where}: value {index} is {kind}; expected a single value")
    texts = [*texts_of_rows(rows[:1]), *texts_of_rows(rows[1:])]
    return table_of_rows(texts, name)


def is_row(item: Any) -> bool:
    """Whether an item is a list, a tuple (but not a cell), or an array with dimensions."""
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, list | tuple) and not isinstance(item, Cell)


def items_of_object(value: Mapping[Any, Any], name: str, kind: str) -> list[Any]:
    """Return the objects or rows within an object, or in an object within it."""
    items = _rows_in(value, name)
    if items is None:
        below = {key: m for key, m in value.items() if isinstance(m, Mapping)}
        arrays = {key: rows for key, m in below.items() if (rows := _rows_in(m, name)) is not None}
        items = _picked(arrays, name)
    if items is None:
        items = _columns_in(value)
    if items is not None:
        return items
    if value and all(map(_is_single, value.values())):
        return [value]
    raise InputError(
        f"{name} is {kind}; expected an array of objects or of rows, or an object with one such "
        "array, with an array of single values for each column, or with single values"
    )


def _rows_in(value: Mapping[Any, Any], name: str) -> list[Any] | None:
    """Return the member with objects or rows, after the header from another member."""
    key, header = _header(value)
    lists = {other: list(m) for other, m in value.items() if other != key and is_row(m)}
    arrays = {
        other: items
        for other, items in lists.items()
        if not any(map(_is_single, items)) and (items or other in _ROWS)
    }
    rows = _picked(arrays, name)
    is_headed = header and rows is not None and (not rows or is_row(rows[0]))
    return [header, *(rows or [])] if is_headed else rows


def _columns_in(value: Mapping[Any, Any]) -> list[Any] | None:
    """Return the rows of an object with one array per column; None for any other object."""
    columns = list(value.values())
    if not columns or not all(map(is_row, columns)) or _header(value)[0] is not None:
        return None
    is_flat = all(_is_single(item) for column in columns for item in column)
    if not is_flat or len({*map(len, columns)}) > 1 or {*value} & {*_CELL_KEYS}:
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _header(value: Mapping[Any, Any]) -> tuple[str | None, list[Any]]:
    """Return the key that holds the names of columns, and the names."""
    for key in _HEADERS:
        items = list(value[key]) if is_row(value.get(key)) else []
        if items and all(map(_is_single, items)):
            return key, items
    return None, []


def _picked(arrays: Mapping[Any, list[Any]], name: str) -> list[Any] | None:
    """Return the only array that is not empty, or the one with the first of the known keys."""
    filled = {key: items for key, items in arrays.items() if items} or arrays
    preferred = [key for key in _ROWS if key in filled]
    if len(filled) == 1 or preferred:
        return filled[preferred[0]] if preferred else next(iter(filled.values()))
    if any(filled.values()):
        keys = one_line(", ".join(map(repr, filled)), 80)
        raise InputError(
            f"{name} is an object with {len(filled)} arrays: {keys}; expected one, or one of them "
            f"called {', '.join(_ROWS)}"
        )
    return [] if filled else None


def _is_single(value: Any) -> bool:
    return not isinstance(value, Mapping | Cell) and not is_row(value)


def is_list_of_tables(given: Any) -> bool:
    """Whether a list holds tables, and is none itself: as rows, records and cells are.

    Items that are None stand for tables that a model did not return.
    """
    if not isinstance(given, list | tuple) or isinstance(given, Cell):
        return False
    items = [item for item in given if item is not None]
    return bool(items) and all(_is_whole_table(as_pandas(item)) for item in items)


def _is_whole_table(item: Any) -> bool:
    if isinstance(item, Table | pd.DataFrame | str | Path):
        return True
    if isinstance(item, np.ndarray):
        return item.ndim > 1
    is_list = isinstance(item, list | tuple) and not isinstance(item, Cell)
    return is_list and bool(item) and all(isinstance(x, Mapping | Cell) or is_row(x) for x in item)


def keys_of(items: list[Mapping[str, Any]]) -> dict[Any, None]:
    """Return the keys of all items, in the order in which they first appear."""
    return dict.fromkeys(key for item in items for key in item)


def objects_of(items: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return items as objects; an item of another type becomes ``{"value": item}``."""
    return [item if isinstance(item, Mapping) else {"value": item} for item in items]


def table_of_frame(frame: pd.DataFrame, name: str) -> Table:
    """Make a table of a DataFrame; equal neighbours in a MultiIndex are one cell.

    Columns and an index that only number the positions are left out.
    """
    index: pd.Index[Any] = frame.index
    columns: pd.Index[Any] = frame.columns
    is_numbered = (
        isinstance(columns, pd.RangeIndex)
        and columns.name is None
        and (columns.start, columns.step) == (0, 1)
    )
    are_positions = (
        index.nlevels == 1 and index.name is None and index.inferred_type in ("integer", "empty")
    )
    top = 0 if is_numbered else columns.nlevels
    left = 0 if are_positions else index.nlevels
    check_size(top + len(frame), left + frame.shape[1], name)
    return mended(_cells(frame, top, left), name)


def _cells(frame: pd.DataFrame, top: int, left: int) -> Iterator[Cell]:
    if top:
        yield from (
            Cell(tuple(range(top)), (level,), text_of(text), None, is_header=True)
            for level, text in enumerate(frame.index.names[:left])
        )
        for first, stop, level, text in _spans(frame.columns):
            columns = tuple(range(left + first, left + stop))
            yield Cell((level,), columns, text, None, is_header=True)
    if left:
        for first, stop, level, text in _spans(frame.index):
            yield Cell(tuple(range(top + first, top + stop)), (level,), text)
    for column in range(frame.shape[1]):
        for row, text in enumerate(texts_of(frame.iloc[:, column].array)):
            yield Cell((top + row,), (left + column,), text)


def _spans(index: pd.Index[Any]) -> Iterator[tuple[int, int, int, str]]:
    """Join equal labels below equal parents, except on the last level.

    Yields the first line, the line after the last, the level and the text.
    """
    plain = index.set_names(list(range(index.nlevels)))  # a level may have another's number as name
    levels = [texts_of(plain.get_level_values(n).array) for n in range(index.nlevels)]
    labels = list(zip(*levels, strict=True))
    for level in range(len(levels)):
        first = 0
        for stop in range(1, len(labels) + 1):
            is_new = stop == len(labels) or labels[stop][: level + 1] != labels[first][: level + 1]
            if is_new or level == len(levels) - 1:
                yield first, stop, level, labels[first][level]
                first = stop


_FENCE = re.compile(
    r"(?<![`~])(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<label>[\w+.-]*+)[ \t]*+(?:\r\n|\r|\n)"
    r"(?P<inside>.*?)(?:^[ \t]*(?P=fence)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_THOUGHTS = re.compile(r"\s*+<think>.*?</think>", re.DOTALL)
_JSON = re.compile(r"\s*(?:\[\s*(?:[\[{\]\"'/]|-?\d[\d.]*\s*,)|\{\s*[\"'}/])")
_JSON_LINE = re.compile(
    r"^(?:[^\n\t|\"{\[]*:)?[ \t]*"
    r"(?P<json>\[\s*(?:\{\s*[\"'}]|\[\s*[\"'\d-])|\{\s*(?:\"[^\"\n]|'[^'\n]{1,99}':))",
    re.MULTILINE,
)
_SPACE = re.compile(r"\s*")
#: Formats by the label of a code fence.
_LABELS = {
    "csv": "csv",
    "tsv": "csv",
    "md": "markdown",
    "markdown": "markdown",
    "html": "html",
    "xml": "html",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
}
#: Longer texts are not repaired by guessing, which may take hours.
_MOST_GUESSED = 10_000


def _seen_in_fences(text: str, name: str) -> Seen | None:
    """Find the table in code fences; doubtful fences count only if no other has a table."""
    parts = [(found["label"].lower(), found["inside"]) for found in _FENCE.finditer(text)]
    inside = [(label, seen) for label, part in parts if (seen := _seen_as(label, part))]
    if len(inside) > 1:
        inside = [(label, seen) for label, seen in inside if _is_table(label, seen)] or inside
    if len(inside) > 1:
        raise InputError(f"{name} holds {len(inside)} tables; expected one")
    return inside[0][1] if inside else None


def _seen_as(label: str, text: str) -> Seen | None:
    """Recognise the content of a fence; its label decides if the content allows it."""
    kind = _LABELS.get(label)
    if kind == "csv" and text.strip():
        csv = seen_csv(text)
        if csv is not None and label == "csv":
            return csv
        return Seen("csv", text, (), "\t" if label == "tsv" and "\t" in text else None)
    fits = {"markdown": looks_like_markdown, "html": has_cell_tag, "json": _is_bracketed}
    return Seen(kind, text) if kind in fits and fits[kind](text) else _seen(text)


def _is_bracketed(text: str) -> bool:
    return text.lstrip().startswith(("[", "{"))


def _is_table(label: str, seen: Seen) -> bool:
    """Whether the content of a fence is a table: not code, nor JSON without an array."""
    return (not label or label in _LABELS) and (seen.kind != "json" or "[" in seen.text)


def _seen(text: str) -> Seen | None:
    if _JSON.match(text):
        return Seen("json", text)
    is_markdown = looks_like_markdown(text)
    if looks_like_html(text) and (has_cell_tag(text) or not is_markdown):
        return Seen("html", text)
    if is_markdown:
        return Seen("markdown", text)
    if _JSON_LINE.search(text):
        return Seen("json", text)
    return seen_csv(text) or (Seen("html", text) if has_cell_tag(text) else None)


def array_in(text: str, where: str, name: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the JSON array of objects or of rows in a text, and notes."""
    values, notes = _values(text, where)
    if len(values) > 1 or isinstance(values[0], list):
        return values if len(values) > 1 else values[0], notes
    kind = f"a JSON {json_type(values[0])}"
    members = values[0] if isinstance(values[0], Mapping) else {}
    return items_of_object(members, name, kind), notes


def _values(text: str, where: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the JSON values that follow one another in a text, and notes."""
    beginning = None if _JSON.match(text) else _JSON_LINE.search(text)
    start = beginning.start("json") if beginning else 0
    notes = left_out("before", "JSON", text[:start])
    values: list[Any] = []
    try:
        stop = _decode(text, start, values)
    except json.JSONDecodeError as error:
        lines = [line for line in text[start:].splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines):
            mended = [v for line in lines for v in _repaired(line) if isinstance(v, dict)]
        else:
            mended = values if len(values) > 1 else _repaired(text[start:])
        if not mended:
            raise InputError(f"{where} is not JSON: {error}") from None
        return mended, (*notes, "JSON mended")
    except (RecursionError, ValueError) as error:
        raise InputError(f"{where} is not readable JSON: {error}") from None
    return values, (*notes, *left_out("after", "JSON", text[stop:]))


def _decode(text: str, place: int, values: list[Any]) -> int:
    """Append the values from a position on to the list, and return where they end."""
    decoder = json.JSONDecoder(strict=False)
    while True:
        after = _SPACE.match(text, place)
        stop = after.end() if after else place
        if values and not text.startswith(("[", "{"), stop):
            break
        value, place = decoder.raw_decode(text, stop)
        values.append(value)
    if text[stop : stop + 1] and text[stop] in '}]",:':
        raise json.JSONDecodeError("Extra data", text, stop)
    return place


def _repaired(text: str) -> list[Any]:
    """Return the value of JSON that is cut off or slightly off; nothing if there is none."""
    ways: list[Callable[[str], Any]] = [json.loads, read_cut_off]
    if len(text) <= _MOST_GUESSED:
        ways.append(repaired)
    for way in ways if _is_bracketed(text) else ():
        with suppress(RecursionError, ValueError):
            value = way(text.strip().removesuffix(","))
            if value and isinstance(value, dict | list):
                return [value]
    return []


#: Formats of texts and files.
TABLE_FORMATS = ("csv", "html", "json", "markdown")

#: Formats of files by the suffix of their names.
_OF_FILES = {".htm": "html"} | {
    f".{label}": kind for label, kind in _LABELS.items() if label not in ("markdown", "xml")
}
_SINGLE = (bytes, bytearray, Cell)


def read_table(
    given: Any,
    *,
    format: str | None = None,  # noqa: A002
    name: str = "table",
    tidy: bool = False,
    header_rows: int | None = None,
) -> Table:
    r"""Read a table in any supported form.

    Parameters
    ----------
    given : Table, iterable of dict or list, array, dict, pandas.DataFrame, str or pathlib.Path
        Cells (with ``row_nums``); records: flat objects with a key for each column; or rows: lists
        or tuples of single values, or a two-dimensional array, with the header in the first row.
        A dict with one such array, possibly with ``columns`` next to it, at most one level down;
        of several arrays, the one named ``rows``, ``data``, ``table``, ``items`` or ``records``.
        A dict with an array for each column, or with single values, which is one row. A DataFrame;
        an unnamed index of whole numbers does not become a column.
        The text of an HTML table, of CSV, of a Markdown pipe table, or of JSON: such an array, JSON
        Lines, or such an object. It may be in a code fence, between lines of prose, in ``<answer>``
        after ``<think>``. JSON that is cut off or slightly off is mended, and noted. A str is never
        the name of a file. A file with such a text in UTF-8: ``.html``, ``.csv``, ``.tsv``,
        ``.md``, ``.json``, ``.jsonl``.
    format : str, optional
        Format of a text or file: ``csv``, ``html``, ``json`` or ``markdown``. By default
        recognised by the file's name, the label of a code fence, or the text: JSON by its
        beginning, HTML by a tag of tables or rows, Markdown by the row of dashes, CSV by records
        with the same number of fields that are not sentences.
    name : str, optional
        Name of the table in error messages.
    tidy : bool, optional
        Whether texts are as displayed: white space is collapsed to single spaces and stripped, and
        inline elements of an HTML cell are joined without a space, so that ``H<sub>2</sub>O`` is
        ``H2O``; ``br``, ``p``, ``div``, ``li`` and other blocks still separate words. By default
        texts are those of the code published with GriTS: white space unchanged, the texts of
        elements joined by spaces (``H 2 O``), which lowers scores if only one side was tidied.
    header_rows : int, optional
        How many rows are the header, for a table that does not say so: lists of lists, CSV,
        Markdown. By default the first one of these, and what cells and HTML say.

    Returns
    -------
    Table
        Repairs are listed in ``.notes``. Headers are those of HTML, the first line of CSV and
        Markdown, the keys of records, the first of several rows, the columns of a DataFrame. Values
        that are not texts are written in a standard form: whole floats as integers, missing values
        as an empty text, dates in ISO format.

    Raises
    ------
    InputError
        There is no table or more than one, a cell is invalid, or the format is unknown.

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
    >>> rows = [["", "2023", "2023"], ["Item", "Units", "Share"], ["Ink", 5, 0.2]]
    >>> read_table(rows, header_rows=2).to_frame().columns.tolist()
    [('', 'Item'), ('2023', 'Units'), ('2023', 'Share')]
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InputError(f"format is {format!r}; {nearest(str(format), TABLE_FORMATS)}")
    table = _read(given, format, name, tidy)
    cells = table.cells
    if tidy:
        cells = tuple(cell._replace(text=" ".join(cell.text.split())) for cell in cells)
    if header_rows is not None:
        most = len(table.grid)
        if not is_whole(header_rows) or not 0 <= header_rows <= most:
            raise InputError(f"header_rows is {header_rows!r}; expected 0 to {most}, the rows")
        cells = tuple(c._replace(is_header=c.rows[0] < header_rows) for c in cells)
    return table if cells is table.cells else replace(table, cells=cells)


def _read(given: Any, format: str | None, name: str, tidy: bool) -> Table:  # noqa: A002
    given = as_pandas(given)
    if isinstance(given, Path):
        called = f"{name} file {str(given)!r}"
        return _of_seen(_seen_file(given, format, name), called, called, tidy)
    if isinstance(given, str):
        seen = _seen_text(given.removeprefix("\ufeff"), format, name)
        return _of_seen(seen, f"{name} text", name, tidy)
    kind = type(given).__name__
    if format is not None:
        raise InputError(
            f"{name} is {kind}, and format is {format!r}; a format is for texts and files"
        )
    if isinstance(given, Table | pd.DataFrame):
        return given if isinstance(given, Table) else table_of_frame(given, name)
    if isinstance(given, Mapping):
        return _of_list(items_of_object(given, name, kind), name)
    is_single = isinstance(given, np.ndarray) and given.ndim == 0
    if is_single or not isinstance(given, Iterable) or isinstance(given, _SINGLE):
        raise InputError(
            f"{name} is {kind}; expected a list of cells, of records or of rows, an HTML, CSV, "
            "Markdown or JSON text, a DataFrame, or a pathlib.Path of a file"
        )
    return _of_list(list(given), name)


def _seen_file(path: Path, format: str | None, name: str) -> Seen:  # noqa: A002
    suffix = path.suffix.lower()
    kind = format or _OF_FILES.get(suffix)
    if kind is None:
        raise InputError(
            f"{name}: file {str(path)!r} ends in {suffix!r}; {nearest(suffix, _OF_FILES)} "
            "(or pass format)"
        )
    tab = "\t" if kind == "csv" and suffix == ".tsv" else None
    return Seen(kind, read_text(path, name), delimiter=tab)


def _seen_text(text: str, format: str | None, name: str) -> Seen:  # noqa: A002
    thoughts = _THOUGHTS.match(text)
    answer = text[thoughts.end() :] if thoughts else text
    notes = ("thoughts left out",) if thoughts else ()
    _, tag, after = answer.rpartition("<answer>")
    if tag:
        answer = after.partition("</answer>")[0]
    if format is not None:
        if format not in ("html", "markdown"):  # of a text with one code fence, what is in it
            parts = _FENCE.findall(answer)
            answer = str(parts[0][2]) if len(parts) == 1 else answer
        return Seen(format, answer, notes)
    seen = None if begins_as_html(answer) else _seen_in_fences(answer, name)
    seen = seen or _seen(answer)
    if seen is None:
        raise InputError(
            f"{name} is the text {one_line(text, 40)!r}, in which no table was found; expected "
            "HTML, CSV, Markdown or JSON; set the format if it is not recognised: "
            'xb.tables.read_table(text, format="csv"); pass a file as pathlib.Path'
        )
    return seen._replace(notes=(*notes, *seen.notes))


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
        table = _of_list(items, name)
    return replace(table, notes=(*notes, *table.notes)) if notes else table


def _of_list(items: list[Any], name: str) -> Table:
    kind = _kind(items)
    if kind == "records":
        return read_records(items, name=name)
    return read_rows(items, name) if kind == "rows" else table_of_cells(items, name)


def _kind(items: list[Any]) -> str:
    """Return the kind of a list: cells if any item has a key of cells, else by its items."""
    kind = ""
    for item in items:
        if isinstance(item, Cell):
            return "cells"
        if isinstance(item, Mapping):
            if any(key in item for key in _CELL_KEYS):
                return "cells"
            kind = kind or "records"
        elif is_row(item):
            kind = kind or "rows"
    return kind or "cells"
