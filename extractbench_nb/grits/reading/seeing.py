"""What kind of table a text holds, and where in it."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from extractbench_nb._json import json_type, parser_problem
from extractbench_nb.errors import InputError
from extractbench_nb.grits.reading.html import has_cell_tag, looks_like_html, unescaped
from extractbench_nb.grits.reading.pipes import looks_like_markdown
from extractbench_nb.grits.reading.records import is_row
from extractbench_nb.grits.reading.texts import seen_csv

__all__ = ["Seen", "array_in", "seen_table", "unfenced"]

_FENCE = re.compile(
    r"(?<![`~])(?P<fence>`{3,}+|~{3,}+)[ \t]*+[\w+.-]*+[ \t]*+(?:\r\n|\r|\n)"
    r"(?P<inside>.*?)(?:^[ \t]*(?P=fence)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_JSON = re.compile(r"\s*(?:\[\s*(?:[\[{\]\"]|-?\d[\d.]*\s*,)|\{\s*[\"}])")
_JSON_LINE = re.compile(r"^[ \t]*(?:\[\s*(?:\{\s*[\"}]|\[\s*[\"\d-])|\{\s*\")", re.MULTILINE)
_SPACE = re.compile(r"\s*")
_HEADERS = ("columns", "header", "headers")


class Seen(NamedTuple):
    """What is seen in a text: the kind of table, the part of the text that holds it."""

    kind: str
    text: str
    notes: tuple[str, ...] = ()
    delimiter: str | None = None


def seen_table(text: str, name: str) -> Seen | None:
    r"""See what kind of table a text holds.

    Parameters
    ----------
    text : str
        Any text, such as the answer of a model: the table may be in a code fence, after a line of
        prose.
    name : str
        What errors call the table.

    Returns
    -------
    Seen or None
        Its kind is ``json``, ``html``, ``markdown`` or ``csv``. None where no table is seen.

    Raises
    ------
    InputError
        Several code fences hold a table.

    Examples
    --------
    >>> seen_table("Here it is:\n```csv\nYear,Sales\n2020,1.5\n```", "table")[:2]
    ('csv', 'Year,Sales\n2020,1.5')
    """
    if not text.lstrip().startswith("<"):
        inside = [seen for part in _fenced(text) if (seen := _seen(part)) is not None]
        if len(inside) == 1:
            return inside[0]
        if inside:
            raise InputError(f"{name} holds {len(inside)} tables; expected one")
    return _seen(text)


def unfenced(text: str) -> str:
    """Return what is in the one code fence of a text; a text without one as it is."""
    parts = _fenced(text)
    return parts[0] if len(parts) == 1 else text


def _fenced(text: str) -> list[str]:
    return [found["inside"] for found in _FENCE.finditer(text)]


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


def array_in(text: str, where: str, name: str) -> list[Any]:
    r"""Return the JSON array of objects or of rows that a text holds.

    Parameters
    ----------
    text : str
        An array, an object in which one array is, or JSON Lines; lines of prose around it are
        passed over.
    where, name : str
        What errors call the text, and what is in it.

    Returns
    -------
    list
        As it is there. Of an object with an array of rows and one called ``columns`` or
        ``headers``, these first.

    Raises
    ------
    InputError
        The text is not JSON, or holds no array.

    Examples
    --------
    >>> array_in('Here it is:\n{"rows": [{"a": 1}]}', "text", "table")
    [{'a': 1}]
    """
    values = _values(text, where)
    if len(values) > 1:
        return values
    found = values[0] if isinstance(values[0], list) else _array_of(values[0])
    if found is None:
        raise InputError(
            f"{name} is a JSON {json_type(values[0])}; expected an array of objects or of rows, or "
            "an object with one such array"
        )
    return found


def _values(text: str, where: str) -> list[Any]:
    """Return the JSON values that follow one another in a text."""
    start = None if _JSON.match(text) else _JSON_LINE.search(text)
    place, decoder = start.start() if start else 0, json.JSONDecoder()
    values: list[Any] = []
    try:
        while True:
            after = _SPACE.match(text, place)
            stop = after.end() if after else place
            if values and not text.startswith(("[", "{"), stop):
                break
            value, place = decoder.raw_decode(text, stop)
            values.append(value)
        if stop < len(text) and ("\n" not in text[place:stop] or text[stop] in '}]",:'):
            raise json.JSONDecodeError("Extra data", text, stop)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON: {parser_problem(error, text)}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{where} is not JSON that can be read: {error}") from None
    return values


def _array_of(value: Any) -> list[Any] | None:
    """Return the one array of objects or rows among the members of an object."""
    if not isinstance(value, dict):
        return None
    arrays = [
        member
        for member in value.values()
        if isinstance(member, list)
        and all(isinstance(item, dict) or is_row(item) for item in member)
    ]
    if len(arrays) != 1:
        return None
    rows = arrays[0]
    header = next((value[key] for key in _HEADERS if isinstance(value.get(key), list)), None)
    is_apart = header and header is not rows and bool(rows) and is_row(rows[0])
    return [header, *rows] if is_apart else rows
