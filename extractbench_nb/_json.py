"""JSON values: their types, reading them from what a user hands over, canonical text, pointers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extractbench_nb.errors import InputError

__all__ = [
    "canonical",
    "canonical_unordered",
    "escape_pointer",
    "json_text",
    "json_type",
    "leaf_texts",
    "read_document",
    "unescape_pointer",
]

#: JSON types by Python class. ``bool`` is not a number; ``integer`` is a number.
_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
    dict: "object",
    list: "array",
    tuple: "array",
}

_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$-]*\Z")


def json_type(value: object) -> str:
    """Name the JSON type of a Python value.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    str
        ``string``, ``number``, ``boolean``, ``null``, ``object`` or ``array``; integers are
        numbers, as in JSON. ``unknown`` for what JSON cannot hold.
    """
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    for cls, name in _TYPES.items():
        if isinstance(value, cls):
            return name
    return "unknown"


def json_text(value: object) -> str:
    """Write a value as text: strings as they are, everything else as JSON."""
    return value if type(value) is str else canonical(value)


def canonical(value: object) -> str:
    """Write a value as JSON text that is equal for equal values (keys sorted)."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError):  # keys of several types, integers of thousands of digits
        return canonical_unordered(value)


def canonical_unordered(value: object, memo: dict[int, str] | None = None) -> str:
    """Write a value as canonical text in which the order of array items leaves no trace.

    Parameters
    ----------
    value : object
        Any JSON value.
    memo : dict of int to str, optional
        Texts of objects and arrays by id, kept by a caller that asks for parts of one document
        again and again, and keeps it alive.

    Returns
    -------
    str
        Equal for two values that differ in nothing but the order of items, at any depth.
    """
    if isinstance(value, dict | list | tuple):
        found = memo.get(id(value)) if memo is not None else None
        if found is None:
            found = _unordered(value, memo)
            if memo is not None:
                memo[id(value)] = found
        return found
    try:
        return repr(value)
    except ValueError:  # more digits than Python writes
        return hex(value) if isinstance(value, int) else object.__repr__(value)


def _unordered(value: dict[Any, Any] | list[Any] | tuple[Any, ...], memo: Any) -> str:
    if isinstance(value, dict):
        parts = sorted([f"{k!r}:{canonical_unordered(v, memo)}" for k, v in value.items()])
        return "{" + ",".join(parts) + "}"
    return "[" + ",".join(sorted([canonical_unordered(v, memo) for v in value])) + "]"


def leaf_texts(value: object) -> Iterator[str]:
    """Yield the scalars below a value as text, in document order; nulls are left out."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            stack.extend(reversed(list(top.values())))
        elif isinstance(top, list | tuple):
            stack.extend(reversed(top))
        elif top is not None:
            yield json_text(top)


def escape_pointer(token: str) -> str:
    """Escape one reference token of a JSON Pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape_pointer(token: str) -> str:
    """Undo :func:`escape_pointer`."""
    return token.replace("~1", "/").replace("~0", "~")


def member(name: str) -> str:
    """Write one step of an instance path: ``.name``, or ``['odd name']`` where it needs quotes."""
    return f".{name}" if _PLAIN_NAME.match(name) else bracketed(name)


def bracketed(name: str) -> str:
    """Write one quoted step of an instance path, ``['key']``, the form used for map keys."""
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"


def read_document(source: object, what: str) -> Any:
    """Return the JSON value that a user handed over.

    Parameters
    ----------
    source : object
        A ``pathlib.Path`` is read as a file, a ``str`` is JSON text (never a file name), anything
        else is the value itself.
    what : str
        What it is, for the error: ``"gold"``, ``"schema"``.

    Returns
    -------
    object
        The parsed value.

    Raises
    ------
    InputError
        The file cannot be read, or the text is not JSON; with the line and column.
    """
    if isinstance(source, Path):
        return _parse(read_text(source, what), f"{what} file {str(source)!r}")
    if isinstance(source, str):
        return _parse(source, f"{what} text")
    if isinstance(source, bytes | bytearray):
        raise InputError(f"{what} is {type(source).__name__}; pass str, a Path or the parsed value")
    return source


def read_text(path: Path, what: str) -> str:
    """Read a UTF-8 file (a byte-order mark is dropped), or raise one clear `InputError`."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} file {str(path)!r} is not UTF-8: {error}") from None
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"{what} file {str(path)!r} cannot be read: {problem}") from None


def file_hint(text: str) -> str:
    """Say what to do where a text that should be JSON looks like a file name."""
    looks = text.strip().lower().endswith((".json", ".txt")) and "\n" not in text.strip()
    return " (a str is JSON text; for a file pass pathlib.Path)" if looks else ""


def parser_problem(error: json.JSONDecodeError, text: str) -> str:
    """Say what the parser stumbled over, with the line and column."""
    place = f"line {error.lineno} column {error.colno}{file_hint(text)}"
    return f"{error.msg.removesuffix(' at')} at {place}"


def _parse(text: str, what: str) -> Any:
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InputError(f"{what} is not JSON: {parser_problem(error, text)}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{what} is not JSON that can be read: {error}") from None
