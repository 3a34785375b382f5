"""The two tables of a comparison as texts, the roles of gold's columns, and what is odd in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from extractbench_nb.construction.keys import propose_keys
from extractbench_nb.construction.reading import Reading, read_answer
from extractbench_nb.construction.result import Note
from extractbench_nb.construction.values import is_absent, number_of
from extractbench_nb.errors import InputError, nearest

_MOST_SHOWN = 5
#: Stands for the keys of a column that a table lacks: like no key, not even a blank one.
ABSENT_KEY = "\ue000"


class Tables(NamedTuple):
    """The two tables as texts, and the roles of gold's columns."""

    gold: Reading
    predicted: Reading
    keys: list[str]
    values: list[str]
    numeric: list[str]
    notes: list[Note]
    why_keys: str


def read_tables(
    gold: Any,
    predicted: Any,
    keys: str | Sequence[str] | None,
    values: str | Sequence[str] | None,
    numeric: str | Sequence[str] | None,
    *,
    required: bool = True,
) -> Tables:
    """Read both tables and settle the roles of gold's columns.

    Parameters
    ----------
    gold, predicted : object
        See `compare`.
    keys, values, numeric : str or sequence of str, optional
        See `compare`.
    required : bool, optional
        Whether gold must have one of the given `values`.

    Returns
    -------
    Tables
        With warnings on what was repaired.

    Raises
    ------
    InputError
        Gold is no table, or a column is unknown.
    """
    ours, theirs = read_answer(gold, "gold"), read_answer(predicted, "predicted")
    if ours.failure:
        raise InputError(f"gold holds no table: {ours.notes[-1][1]}")
    notes: list[Note] = [
        (side, "$", kind, message, None)
        for side, reading in (("gold", ours), ("predicted", theirs))
        for kind, message in reading.notes
    ]
    names = list(ours.columns)
    if keys is None:
        chosen, why = propose_keys(ours.columns, list(theirs.columns))
        notes.append(("gold", "$", "keys_proposed", f"keys {chosen}: {why}", None))
    else:
        chosen, why = _checked(keys, names, "keys"), "given"
        if not chosen:
            raise InputError("keys is empty; expected at least one of gold's columns, or None")
    if values is None:
        compared = [name for name in names if name not in chosen] or chosen
    else:
        asked = _folded(values)
        compared = [name for name in dict.fromkeys(asked) if name in names]
        absent = [name for name in asked if name not in names]
        if absent:
            message = f"gold has no column {', '.join(map(repr, absent[:_MOST_SHOWN]))}; left out"
            notes.append(("gold", "$", "not_in_gold", message, absent))
        if not compared and required:
            hint = f"gold has no column {asked[0]!r}; {nearest(asked[0], names)}" if asked else ""
            raise InputError(f"values: {hint or 'empty; expected columns of gold, or None'}")
    if numeric is None:
        numbers = [name for name in compared if _is_numeric(ours.columns[name], name)]
    else:
        numbers = [name for name in _folded(numeric) if name in compared]
        unknown = [name for name in _folded(numeric) if name not in names]
        if unknown:
            message = f"numeric: gold has no column {unknown[0]!r}; {nearest(unknown[0], names)}"
            notes.append(("gold", "$", "numeric_unknown", message, unknown))
    notes += key_notes("gold", ours, chosen)
    return Tables(ours, theirs, chosen, compared, numbers, notes, why)


def _folded(given: str | Sequence[str]) -> list[str]:
    """Return names of columns with single spaces, as tables are read."""
    return [" ".join(str(name).split()) for name in ([given] if isinstance(given, str) else given)]


def _checked(given: str | Sequence[str], names: Sequence[str], what: str) -> list[str]:
    chosen = _folded(given)
    for name in chosen:
        if name not in names:
            raise InputError(f"{what}: gold has no column {name!r}; {nearest(name, names)}")
    return list(dict.fromkeys(chosen))


def _is_numeric(values: Sequence[str], column: str) -> bool:
    filled = [text for text in values if not is_absent(text)]
    return bool(filled) and all(number_of(text, column) is not None for text in filled)


def key_notes(side: str, table: Reading, keys: Sequence[str]) -> list[Note]:
    """Warn of blank and repeated keys, and of words for nothing among them."""
    rows = keys_of(table, keys)
    notes: list[Note] = []
    blank = [n for n, key in enumerate(rows) if not any(map(str.strip, key))]
    words = [n for n, key in enumerate(rows) if n not in set(blank) and all(map(is_absent, key))]
    seen: dict[tuple[str, ...], int] = {}
    for n, key in enumerate(rows):
        seen.setdefault(key, n)
    repeated = [n for n, key in enumerate(rows) if seen[key] != n]
    for kind, found, words_of in (
        ("blank_key", blank, "a blank key"),
        ("null_word_key", words, "a word for nothing as key"),
        ("duplicate_key", repeated, "the key of an earlier row"),
    ):
        if found:
            shown = ", ".join(map(str, found[:_MOST_SHOWN]))
            more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
            have = "rows" if len(found) > 1 else "row"
            message = f"{len(found)} {have} with {words_of}: {shown}{more}"
            notes.append((side, f"$[{found[0]}]", kind, message, rows[found[0]]))
    return notes


def keys_of(table: Reading, keys: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the key of each row.

    Parameters
    ----------
    table : Reading
        The table.
    keys : sequence of (str or None)
        Its key columns; None for one that it lacks.

    Returns
    -------
    list of tuple of str
        One text per key column.
    """
    blank = [ABSENT_KEY] * table.size
    columns = [blank if key is None else map(str.strip, table.columns[key]) for key in keys]
    return list(zip(*columns, strict=True))
