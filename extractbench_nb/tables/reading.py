"""`read_table`: a table in whatever form it is given; which form a text has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._json import json_type, parser_problem, read_cut_off, read_text
from extractbench_nb.display.html import one_line
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.cells import Cell, Table, table_of_cells
from extractbench_nb.tables.delimited import (
    looks_like_markdown,
    seen_csv,
    table_of_csv,
    table_of_markdown,
)
from extractbench_nb.tables.html_reading import (
    begins_as_html,
    has_cell_tag,
    looks_like_html,
    table_of_html,
    unescaped,
)
from extractbench_nb.tables.records import (
    is_row,
    items_of_object,
    read_records,
    read_rows,
    table_of_frame,
)

__all__ = ["TABLE_FORMATS", "Seen", "answer_in", "array_in", "read_table", "seen_table", "unfenced"]


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
#: The first key of an object, where the text ends with it.
_FIRST_KEY = re.compile(r"\{\s*\"(?:[^\"\\]|\\.){0,200}\"?\Z")
#: What the label of a fence says of what is in it.
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
#: Longer texts are not guessed at: some would take the library hours.
_MOST_GUESSED = 10_000


class Seen(NamedTuple):
    """What is seen in a text: the kind of table, the part of the text that holds it."""

    kind: str
    text: str
    notes: tuple[str, ...] = ()
    delimiter: str | None = None


def seen_table(text: str, name: str) -> Seen | None:
    r"""See what kind of table a text holds.

    Examples
    --------
    >>> seen_table("Here it is:\n```csv\nYear,Sales\n2020,1.5\n```", "table")[:2]
    ('csv', 'Year,Sales\n2020,1.5')
    """
    text, notes = answer_in(text)
    seen = None if begins_as_html(text) else _seen_in_fences(text, name)
    seen = seen or _seen(text)
    return seen and seen._replace(notes=(*notes, *seen.notes))


def answer_in(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without the thoughts before it and the tags around its answer, and notes.

    Examples
    --------
    >>> answer_in("<think>Hm.</think><answer>a,b</answer>")
    ('a,b', ('thoughts left out',))
    """
    found = _THOUGHTS.match(text)
    rest = text[found.end() :] if found else text
    _, tag, after = rest.rpartition("<answer>")
    return after.partition("</answer>")[0] if tag else rest, ("thoughts left out",) * bool(found)


def _seen_in_fences(text: str, name: str) -> Seen | None:
    """See the table in a fence; those that may hold none count where no other does."""
    parts = [(found["label"].lower(), found["inside"]) for found in _FENCE.finditer(text)]
    inside = [(label, seen) for label, part in parts if (seen := _seen_as(label, part))]
    if len(inside) > 1:
        inside = [(label, seen) for label, seen in inside if _is_table(label, seen)] or inside
    if len(inside) > 1:
        raise InputError(f"{name} holds {len(inside)} tables; expected one")
    return inside[0][1] if inside else None


def _seen_as(label: str, text: str) -> Seen | None:
    """See what is in a fence, which is what its label says if it can be."""
    kind = _LABELS.get(label)
    if kind == "csv" and text.strip():
        csv = seen_csv(text)
        if csv is not None and label == "csv":
            return Seen("csv", csv.text, csv.notes, csv.delimiter)
        return Seen("csv", text, (), "\t" if label == "tsv" and "\t" in text else None)
    fits = {"markdown": looks_like_markdown, "html": has_cell_tag, "json": _is_bracketed}
    return Seen(kind, text) if kind in fits and fits[kind](text) else _seen(text)


def _is_bracketed(text: str) -> bool:
    return text.lstrip().startswith(("[", "{"))


def _is_table(label: str, seen: Seen) -> bool:
    """Whether what is seen in a fence is plainly a table: no code, no JSON without an array."""
    if label and label not in _LABELS:
        return False
    if seen.kind != "json":
        return True
    try:
        return "[" in seen.text and bool(array_in(seen.text, "text", "table"))
    except InputError:
        return False


def unfenced(text: str) -> str:
    """Return what is in the one code fence of a text; a text without one as it is."""
    parts = _FENCE.findall(text)
    return str(parts[0][2]) if len(parts) == 1 else text


def _seen(text: str) -> Seen | None:
    if _JSON.match(text):
        return Seen("json", text)
    is_markdown = looks_like_markdown(text)
    if looks_like_html(text) and (has_cell_tag(text) or not is_markdown):
        return Seen("html", text)
    return Seen("markdown", text) if is_markdown else _seen_without_marks(text)


def _seen_without_marks(text: str) -> Seen | None:
    """See what is in a text that neither begins as JSON nor has a tag or row of dashes."""
    plain = unescaped(text)
    if plain is not None:
        return Seen("html", plain, ("escaped HTML, unescaped once",))
    if _JSON_LINE.search(text):
        return Seen("json", text)
    csv = seen_csv(text)
    if csv is not None:
        return Seen("csv", csv.text, csv.notes, csv.delimiter)
    return Seen("html", text) if has_cell_tag(text) else None


def array_in(text: str, where: str, name: str) -> tuple[list[Any], tuple[str, ...]]:
    r"""Return the JSON array of objects or of rows that a text holds.

    Examples
    --------
    >>> array_in('Here it is:\n{"rows": [{"a": 1}]}', "text", "table")
    ([{'a': 1}], ("left out before the JSON: 'Here it is:'",))
    """
    values, notes = _values(text, where)
    if len(values) > 1 or isinstance(values[0], list):
        return values if len(values) > 1 else values[0], notes
    kind = f"a JSON {json_type(values[0])}"
    members = values[0] if isinstance(values[0], Mapping) else {}
    return items_of_object(members, name, kind), notes


def _values(text: str, where: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the JSON values that follow one another in a text, and notes."""
    found = None if _JSON.match(text) else _JSON_LINE.search(text)
    start = found.start("json") if found else 0
    before = _left_out("before", text[:start])
    values: list[Any] = []
    try:
        place = _decode(text, start, values)
    except json.JSONDecodeError as error:
        mended = _mended(text[start:], values)
        if mended is None:
            raise InputError(f"{where} is not JSON: {parser_problem(error, text)}") from None
        return mended, (*before, "JSON mended")
    except (RecursionError, ValueError) as error:
        raise InputError(f"{where} is not JSON that can be read: {error}") from None
    return values, (*before, *_left_out("after", text[place:]))


def _left_out(where: str, text: str) -> tuple[str, ...]:
    bare = text.strip()
    return (f"left out {where} the JSON: {one_line(bare, 60)!r}",) if bare else ()


def _decode(text: str, place: int, values: list[Any]) -> int:
    """Add the values from a place on to the list, and return where they end."""
    decoder = json.JSONDecoder()
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


def _mended(text: str, known: list[Any]) -> list[Any] | None:
    """Return the values of JSON that is cut off or slightly off; None where there are none."""
    if not _is_bracketed(text):
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    is_lines = len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines)
    if len(known) > 1 and not is_lines:
        return None
    may_guess = len(text) <= _MOST_GUESSED
    values = [_repaired(line, may_guess) for line in (lines if is_lines else [text])]
    if is_lines and values[-1] == {}:  # only its beginning is there
        del values[-1]
    return values if all(values) else None


def _repaired(text: str, may_guess: bool) -> Any:
    """Mend one JSON value; what is whole in it stays as it is, unless it has to be guessed."""
    bare = text.strip().removesuffix(",")
    ways: list[Callable[[str], Any]] = [partial(json.loads, strict=False), read_cut_off]
    for way in [*ways, _guessed] if may_guess else ways:
        with suppress(RecursionError, ValueError):
            value = way(bare)
            if isinstance(value, dict | list):
                return value
    return None


def _guessed(text: str) -> Any:
    """Mend by the library; an object of which only the beginning is there is left out."""
    from json_repair import repair_json

    bare = _FIRST_KEY.sub("", text).rstrip(" \t\r\n,{")
    return json.loads(repair_json(bare, skip_json_loads=True))


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
            'CSV, Markdown or JSON, or say which: xb.tables.read_table(text, format="csv"); '
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
