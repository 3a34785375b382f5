"""`read_table`: a table from texts, files, records, rows and frames."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import read_text
from extractbench_nb.support.model_json import read_cut_off, repaired
from extractbench_nb.support.wording import one_line
from extractbench_nb.tables.cells import Cell, Table, is_whole, table_of_cells
from extractbench_nb.tables.table_formats import (
    Seen,
    check_size,
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
#: Keys of the rows, and of the names of columns, of an object that is a table.
_ROWS = ("rows", "data", "table", "items", "records")
_HEADERS = ("columns", "column_names", "header", "headers")


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
            if isinstance(value, Mapping | Cell) or is_row(value):
                kind = type(value).__name__
                raise InputError(f"{where}: value {index} is {kind}; expected a single value")
    texts = [*texts_of_rows(rows[:1]), *texts_of_rows(rows[1:])]
    return table_of_rows(texts, name)


def is_row(item: Any) -> bool:
    """Whether an item is a list, a tuple (but not a cell), or an array with dimensions."""
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, list | tuple) and not isinstance(item, Cell)


def _items_of_object(value: Mapping[Any, Any], name: str) -> list[Any]:
    """Return the objects or rows within an object, or in an object within it."""
    inner = [member for member in value.values() if isinstance(member, Mapping)]
    arrays = _arrays_of(value) or [array for member in inner for array in _arrays_of(member)]
    if len(arrays) > 1:
        raise InputError(
            f"{name} is an object with {len(arrays)} arrays; expected one, or one of them called "
            f"{', '.join(_ROWS)}"
        )
    if arrays:
        return arrays[0]
    columns = list(value.values())
    are_columns = columns and all(map(is_row, columns)) and len({*map(len, columns)}) == 1
    if are_columns and not {*value} & {*_CELL_KEYS}:
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    raise InputError(
        f"{name} is an object; expected an array of objects or of rows, or an object with one such "
        "array, or with an array of single values for each column"
    )


def _arrays_of(members: Mapping[Any, Any]) -> list[list[Any]]:
    """Return the arrays of objects or rows; only the first with a known key, if there is one."""
    header = next((list(members[key]) for key in _HEADERS if is_row(members.get(key))), None)
    arrays = {
        key: list(items)
        for key, items in members.items()
        if is_row(items) and all(isinstance(item, Mapping) or is_row(item) for item in items)
    }
    filled = {key: items for key, items in arrays.items() if items}
    named = [key for key in _ROWS if key in filled] or [*filled]
    chosen = named[:1] if {*named} & {*_ROWS} else named or [k for k in _ROWS if k in arrays][:1]
    return [
        [header, *arrays[key]]
        if header and (not arrays[key] or is_row(arrays[key][0]))
        else arrays[key]
        for key in chosen
    ]


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


def _table_of_frame(frame: pd.DataFrame, name: str) -> Table:
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
_JSON = re.compile(r"\s*(?:\[\s*(?:[\[{\]\"']|-?\d[\d.]*\s*,)|\{\s*[\"'}])")
#: In a text with prose, an array of objects or rows, or an object, after the start of a line or a
#: colon.
_JSON_LINE = re.compile(
    r"^(?:[^\n\t|\"{\[]*:)?[ \t]*(?P<json>\[\s*(?:\{\s*[\"}]|\[\s*[\"\d-])|\{\s*\"[^\"\n])",
    re.MULTILINE,
)
#: Formats by the label of a code fence, and by the suffix of a file.
_LABELS = {
    "csv": "csv",
    "tsv": "csv",
    "md": "markdown",
    "markdown": "markdown",
    "html": "html",
    "htm": "html",
    "json": "json",
    "jsonl": "json",
}
#: Longer texts are not repaired by guessing, which may take hours.
_MOST_GUESSED = 10_000


def _seen_in_fences(text: str, name: str) -> Seen | None:
    """Find the table in the code fences without a label, or with one of a format."""
    found = []
    for fence in _FENCE.finditer(text):
        label, inside = fence["label"].lower(), fence["inside"]
        if label in ("csv", "tsv") and inside.strip():
            tab = "\t" if label == "tsv" and "\t" in inside else None
            found.append((label == "csv" and seen_csv(inside)) or Seen("csv", inside, (), tab))
        elif not label or label in _LABELS:
            found += [seen] if (seen := _seen(inside)) else []
    if len(found) > 1:
        raise InputError(f"{name} holds {len(found)} tables; expected one")
    return found[0] if found else None


def _seen(text: str) -> Seen | None:
    if _JSON.match(text):
        return Seen("json", text)
    if looks_like_html(text):
        return Seen("html", text)
    if looks_like_markdown(text):
        return Seen("markdown", text)
    return Seen("json", text) if _JSON_LINE.search(text) else seen_csv(text)


def _array_in(text: str, name: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the objects or rows of the JSON in a text, and notes; JSON Lines are an array too."""
    begin = None if _JSON.match(text) else _JSON_LINE.search(text)
    start = stop = begin.start("json") if begin else 0
    notes = left_out("before", "JSON", text[:start])
    decoder, values = json.JSONDecoder(strict=False), list[Any]()
    try:
        stop = _after_space(text, stop)
        while not values or text.startswith(("{", "["), stop):
            value, stop = decoder.raw_decode(text, stop)
            values.append(value)
            stop = _after_space(text, stop)
        notes += left_out("after", "JSON", text[stop:])
    except (RecursionError, ValueError) as error:
        lines = [line for line in text[start:].splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines):
            mended_values = [v for line in lines for v in _repaired(line) if isinstance(v, dict)]
        else:
            mended_values = _repaired(text[start:])
        if not mended_values:
            raise InputError(f"{name} is not JSON: {error}") from None
        values, notes = mended_values, (*notes, "JSON mended")
    if len(values) > 1 or isinstance(values[0], list):
        items: Any = values if len(values) > 1 else values[0]
        return items, notes
    if not isinstance(values[0], Mapping):
        raise InputError(f"{name} is JSON without an array of objects or of rows")
    return _items_of_object(values[0], name), notes


def _after_space(text: str, start: int) -> int:
    found = re.compile(r"[^\s,]").search(text, start)
    return found.start() if found else len(text)


def _repaired(text: str) -> list[Any]:
    """Return the value of JSON that is cut off or slightly off; nothing if there is none."""
    for way in (json.loads, read_cut_off, repaired)[: 3 if len(text) <= _MOST_GUESSED else 2]:
        with suppress(RecursionError, ValueError):
            value = way(text.strip().removesuffix(","))
            if value and isinstance(value, dict | list):
                return [value]
    return []


#: Formats of texts and files.
TABLE_FORMATS = ("csv", "html", "json", "markdown")


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
        Cells (with ``row_nums`` and ``column_nums``); records: flat objects with a key for each
        column; or rows: lists of single values, or a two-dimensional array, with the header in the
        first row. A dict with one such array, possibly with ``columns`` next to it, or with an
        array for each column. A DataFrame; an unnamed index of whole numbers does not become a
        column. The text of an HTML table, of CSV, of a Markdown pipe table, or of JSON: such an
        array or dict, or JSON Lines. It may be in a code fence, between lines of prose, after
        ``<think>``. JSON that is cut off or slightly off is mended, and noted. A str is never the
        name of a file. A pathlib.Path of a file with such a text in UTF-8: ``.html``, ``.csv``,
        ``.tsv``, ``.md``, ``.json``, ``.jsonl``.
    format : str, optional
        Format of a text or file: ``csv``, ``html``, ``json`` or ``markdown``. By default it is
        recognised.
    name : str, optional
        Name of the table in error messages.
    tidy : bool, optional
        Whether texts are as displayed: white space is collapsed, inline elements of an HTML cell
        are joined without a space, so that ``H<sub>2</sub>O`` is ``H2O``, and the emphasis of
        Markdown is removed. By default texts are those of the code published with GriTS: white
        space unchanged, the texts of elements joined by spaces (``H 2 O``).
    header_rows : int, optional
        Number of header rows, for a table that does not declare them: lists of lists, CSV,
        Markdown. By default the first row of these, and the declared rows of cells and HTML.

    Returns
    -------
    Table
        Repairs are listed in ``.notes``. Values that are not texts are written in a standard form:
        whole floats as integers, missing values as an empty text, dates in ISO format.

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
        return _of_seen(_seen_file(given, format, name), f"{name} file {str(given)!r}", tidy)
    if isinstance(given, str):
        return _of_seen(_seen_text(given.removeprefix("\ufeff"), format, name), name, tidy)
    if isinstance(given, Table):
        return given
    if isinstance(given, pd.DataFrame):
        return _table_of_frame(given, name)
    if isinstance(given, Mapping):
        return _of_list(_items_of_object(given, name), name)
    is_single = isinstance(given, np.ndarray) and given.ndim == 0
    if is_single or not isinstance(given, Iterable) or isinstance(given, bytes | bytearray | Cell):
        raise InputError(
            f"{name} is {type(given).__name__}; expected a list of cells, of records or of rows, "
            "an HTML, CSV, Markdown or JSON text, a DataFrame, or a pathlib.Path of a file"
        )
    return _of_list(list(given), name)


def _seen_file(path: Path, format: str | None, name: str) -> Seen:  # noqa: A002
    suffix = path.suffix.lower()
    kind = format or _LABELS.get(suffix[1:])
    if kind is None:
        raise InputError(
            f"{name}: file {str(path)!r} ends in {suffix!r}; {nearest(suffix[1:], _LABELS)} "
            "(or pass format)"
        )
    tab = "\t" if kind == "csv" and suffix == ".tsv" else None
    return Seen(kind, read_text(path, name), delimiter=tab)


def _seen_text(text: str, format: str | None, name: str) -> Seen:  # noqa: A002
    thoughts = _THOUGHTS.match(text)
    answer = text[thoughts.end() :] if thoughts else text
    notes = ("thoughts left out",) if thoughts else ()
    if format is not None:
        parts = _FENCE.findall(answer)  # of a text with one code fence, what is in it
        is_fenced = len(parts) == 1 and format in ("csv", "json")
        return Seen(format, str(parts[0][2]) if is_fenced else answer, notes)
    seen = _seen_in_fences(answer, name) or _seen(answer)
    if seen is None:
        raise InputError(
            f"{name} is the text {one_line(text, 40)!r}, in which no table was found; expected "
            "HTML, CSV, Markdown or JSON; set the format if it is not recognised: "
            'xb.tables.read_table(text, format="csv"); pass a file as pathlib.Path'
        )
    return seen._replace(notes=(*notes, *seen.notes))


def _of_seen(seen: Seen, name: str, tidy: bool) -> Table:
    kind, text, notes, delimiter = seen
    if kind == "csv":
        table = table_of_csv(text, name, delimiter)
    elif kind == "html":
        table = table_of_html(text, name, tidy=tidy)
    elif kind == "markdown":
        table = table_of_markdown(text, name, tidy=tidy)
    else:
        items, found = _array_in(text, name)
        notes = (*notes, *found)
        table = _of_list(items, name)
    return replace(table, notes=(*notes, *table.notes)) if notes else table


def _of_list(items: list[Any], name: str) -> Table:
    """Read cells if any item is one, else records or rows, by the first item."""
    if any(isinstance(item, Mapping) and {*_CELL_KEYS} & item.keys() for item in items):
        return table_of_cells(items, name)
    first = items[0] if items else None
    if isinstance(first, Mapping):
        return read_records(items, name=name)
    return read_rows(items, name) if is_row(first) else table_of_cells(items, name)
