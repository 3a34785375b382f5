"""JSON values: types, reading them from user input, canonical text, pointers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Final

import numpy as np

from extractbench_nb.errors import InputError
from extractbench_nb.support.files import read_text
from extractbench_nb.support.foreign_values import is_model, model_values

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
    """Name the JSON type of a Python value."""
    known_type = _TYPES.get(type(value))
    if known_type is not None:
        return known_type
    for cls, name in _TYPES.items():
        if issubclass(type(value), cls):
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
    """Write a value as canonical text in which the order of array items leaves no trace."""
    if type(value) is str:
        return repr(value)
    if isinstance(value, dict | list | tuple):
        if memo is not None and id(value) in memo:
            return memo[id(value)]
        if isinstance(value, dict):
            parts = sorted([f"{k!r}:{canonical_unordered(v, memo)}" for k, v in value.items()])
            text = "{" + ",".join(parts) + "}"
        else:
            text = "[" + ",".join(sorted([canonical_unordered(v, memo) for v in value])) + "]"
        if memo is not None:
            memo[id(value)] = text
        return text
    if isinstance(value, float) and value.is_integer():
        return repr(int(Decimal(repr(value))))  # JSON has one kind of number: 1.0 is 1
    try:
        return repr(value)
    except ValueError:  # more digits than Python writes
        return hex(value) if isinstance(value, int) else object.__repr__(value)


#: Maximum number of values in a document; shared Python objects can expand to far more.
MAX_VALUES = 1_000_000
#: Levels from which on a document may contain itself; only the careful walk finds that out.
_MANY_LEVELS = 500
#: The classes of scalars, null aside.
SCALARS = frozenset({str, int, float, bool})
_SCALARS_AND_NULL = SCALARS | {type(None)}
_KEYS = frozenset({str})


class Marker(Enum):
    """Stands for a value in a document that JSON does not have; what is missing is false."""

    MISSING = ""
    UNLABELED = "open"

    def __bool__(self) -> bool:
        """Say whether there is a value."""
        return bool(self.value)

    def __repr__(self) -> str:
        """Return the name."""
        return self.name

    __str__ = __repr__


#: Marks a gold value that the annotation leaves open; the field is not scored.
UNLABELED: Final = Marker.UNLABELED


def plain_levels(value: Any, *, copy: bool = False) -> int | None:
    """Count the levels of containers below a list; None if it may hold more than plain JSON.

    Plain are dicts with str keys, lists and scalars, all of these very classes and neither too many
    nor too deep. Each level is one step, and a container of scalars is checked without a loop. With
    `copy`, the containers below are replaced by copies.
    """
    count, levels, level = 1, 0, [value]
    while level:
        below: list[Any] = []
        for container in level:
            count += len(container)
            is_dict = type(container) is dict
            if is_dict and not _KEYS.issuperset(map(type, container)):
                return None
            if _SCALARS_AND_NULL.issuperset(
                map(type, container.values() if is_dict else container)
            ):
                continue
            for key, inner in container.items() if is_dict else enumerate(container):
                kind = type(inner)
                if kind is dict or kind is list:
                    if copy:
                        container[key] = inner = inner.copy()  # noqa: PLW2901
                    below.append(inner)
                elif kind not in _SCALARS_AND_NULL:
                    return None
        if count > MAX_VALUES or levels > _MANY_LEVELS:
            return None
        levels += 1
        level = below
    return levels - 1


def private_copy(value: Any, what: str = "document", max_levels: float = math.inf) -> Any:
    """Copy a document, so that the result does not change when the caller's value does."""
    box: list[Any] = [value]
    if plain_levels(box, copy=True) is not None:
        return box[0]
    within: set[int] = set()
    todo: list[tuple[Any, Any, Any]] = [(value, box, 0)]
    count = 0
    while todo:
        source, into, key_or_id = todo.pop()
        if into is None:
            within.discard(key_or_id)
            continue
        new = source if type(source) in _SCALARS_AND_NULL else _plain(source, what)
        into[key_or_id] = new
        count += 1
        if type(new) not in (dict, list) or not new:
            continue
        if id(source) in within:
            raise InputError(f"{what} is circular: an object or array contains itself")
        if count > MAX_VALUES:
            raise InputError(f"{what} has more than {MAX_VALUES:,} values")
        if len(within) > max_levels:
            raise InputError(f"{what} is nested too deep to be read")
        within.add(id(source))
        todo.append((source, None, id(source)))
        inner = new.items() if type(new) is dict else enumerate(new)
        todo.extend((child, new, key) for key, child in inner)
    return box[0]


def _plain(value: Any, what: str) -> Any:
    """Return a dict, list or scalar with what a value holds, all of a Pydantic model's."""
    kind = type(value)
    if is_model(value):
        return model_values(value, what)
    if issubclass(kind, Mapping):
        return {key if type(key) is str else _key(key): inner for key, inner in value.items()}
    if issubclass(kind, np.ndarray | np.generic):
        return value.tolist()
    if issubclass(kind, list | tuple):
        return list(value)
    for cls, read in ((str, str.__str__), (int, int.__int__), (float, float.__float__)):
        if issubclass(kind, cls):
            return read(value)
    return value


def _key(key: Any) -> str:
    """Write a key as `json.dumps` does."""
    if isinstance(key, str):
        return str.__str__(key)
    return json.dumps(key) if key is None or isinstance(key, int | float) else str(key)


def equality_key(value: Any) -> Hashable:
    """Return what two JSON values share if and only if they are equal: 1 is 1.0, but not true."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", tuple(map(equality_key, value)))
    if isinstance(value, dict):
        return ("object", frozenset((k, equality_key(v)) for k, v in value.items()))
    found: Hashable = value
    return found


def all_values(value: object) -> Iterator[Any]:
    """Yield a value and all below it in document order, containers and nulls included."""
    stack = [value]
    while stack:
        top = stack.pop()
        yield top
        if isinstance(top, dict):
            stack.extend(reversed(top.values()))
        elif isinstance(top, list | tuple):
            stack.extend(reversed(top))


def scalars(value: object) -> Iterator[Any]:
    """Yield the scalars below a value in document order; nulls are left out."""
    return (
        v for v in all_values(value) if v is not None and not isinstance(v, dict | list | tuple)
    )


def leaf_texts(value: object) -> Iterator[str]:
    """Yield the scalars below a value as text, in document order; nulls are left out."""
    return map(json_text, scalars(value))


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


#: A step of an instance path: a name, a quoted key, or an index. ``[+3]`` is an item that only
#: the prediction has; ``[-]`` is the place behind the last item.
PATH_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]|\[(-|\+?\d+)\]", re.DOTALL)


def step_key(step: re.Match[str]) -> str | int:
    """Return the key or the index of a `PATH_STEP`; -1 behind the last item.

    Examples
    --------
    >>> [step_key(step) for step in PATH_STEP.finditer("$.a['b.c'][2][-]")]
    ['a', 'b.c', 2, -1]
    """
    name, quoted, index = step.groups()
    if index is not None:
        return -1 if index == "-" else int(index)
    return name if quoted is None else _unescaped(quoted)


def _unescaped(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def value_at(value: Any, path: str, default: Any = None) -> Any:
    """Return what is at an instance path.

    Examples
    --------
    >>> value_at({"a": [1, 2]}, "$.a[1]"), value_at({"a": [1, 2]}, "$.a[+1]")
    (2, None)
    """
    for step in PATH_STEP.finditer(path):
        key = -1 if step[0].startswith("[+") else step_key(step)
        is_item = isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value)
        if is_item or (isinstance(value, dict) and key in value):
            value = value[key]
        else:
            return default
    return value


def unlabelled(gold: Any, paths: Iterable[str]) -> Any:
    """Return a copy of gold in which the values at some paths are not scored.

    Parameters
    ----------
    gold : object
        The correct document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).
    paths : iterable of str
        Instance paths, ``$.lines[2].note``, or fields, ``lines[].note``, of objects' keys; ``*``
        stands for every key of a map. A key that an object lacks is added.

    Returns
    -------
    object
        The copy, for `evaluate` and `evaluate_runs`.

    Raises
    ------
    InputError
        A path leads to no object of gold, or to an item of an array.

    Examples
    --------
    >>> unlabelled({"lines": [{"n": 1}, {"n": 2}]}, ["lines[].note", "$.lines[0].n"])
    {'lines': [{'n': UNLABELED, 'note': UNLABELED}, {'n': 2, 'note': UNLABELED}]}
    """
    document = private_copy(read_document(gold, "gold"), "gold")
    for path in [paths] if isinstance(paths, str) else paths:
        *steps, last = _STEPS.findall("." + path.removeprefix("$").removeprefix(".")) or [""]
        if not last or (last.endswith("]") and not last.startswith("['")):
            raise InputError(
                f"unlabelled path {path!r}; expected the key of an object, `lines[].n`"
            )
        parents, is_empty = [document], False
        for step in steps:
            inner = [child for parent in parents for child in _below(parent, step)]
            is_empty = is_empty or (step == "[]" and [] in parents)
            parents = inner
        objects = [parent for parent in parents if isinstance(parent, dict)]
        if not objects and not is_empty:
            raise InputError(f"unlabelled path {path!r} leads to no object of gold")
        step = PATH_STEP.match(last)
        for parent in objects:
            keys = parent if last == ".*" or step is None else [step_key(step)]
            parent.update(dict.fromkeys(keys, UNLABELED))
    return document


#: A step of a path or of a field, where ``[]`` stands for all items.
_STEPS = re.compile(r"\.[^.\[\]]+|\['(?:[^'\\]|\\.)*'\]|\[(?:-|\+?\d+)?\]", re.DOTALL)


def _below(value: Any, step: str) -> list[Any]:
    """Return what is below a value by one step; ``[]`` and ``.*`` stand for all."""
    if step == "[]":
        return list(value) if isinstance(value, list) else []
    if step == ".*":
        return list(value.values()) if isinstance(value, dict) else []
    inner = value_at(value, step, UNLABELED)
    return [] if inner is UNLABELED else [inner]


#: A step that `bracketed` wrote.
_BRACKETED = re.compile(r"\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)


def without_brackets(path: str) -> str:
    """Write quoted steps of a path as the published package does: ``['key']`` becomes ``.key``."""
    return _BRACKETED.sub(lambda m: "." + _unescaped(m[1]), path)


def normal_path(path: str) -> str:
    """Write the keys of maps as those of properties: ``['key']`` becomes ``.key``."""
    return _BRACKETED.sub(lambda m: member(_unescaped(m[1])), path) if "['" in path else path


def read_document(source: Any, what: str) -> Any:
    """Return the JSON value of a user's argument: a value, JSON text, or a file."""
    kind = type(source)
    if issubclass(kind, Path):
        return _parse(read_text(source, what), f"{what} file {str(source)!r}")
    if issubclass(kind, str):
        return _parse(str.__str__(source), f"{what} text")
    if issubclass(kind, bytes | bytearray):
        raise InputError(f"{what} is {type(source).__name__}; pass str, a Path or the parsed value")
    return source


def file_hint(text: str) -> str:
    """Return a hint if a text that should be JSON looks like a file name."""
    looks = text.strip().lower().endswith((".json", ".txt")) and "\n" not in text.strip()
    return " (a str is JSON text; for a file pass pathlib.Path)" if looks else ""


def parser_problem(error: json.JSONDecodeError, text: str) -> str:
    """Describe a parser's error, with the line and column."""
    position = f"line {error.lineno} column {error.colno}{file_hint(text)}"
    return f"{error.msg.removesuffix(' at')} at {position}"


def _parse(text: str, what: str) -> Any:
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InputError(f"{what} is not JSON: {parser_problem(error, text)}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{what} is not readable JSON: {error}") from None
