"""Read the instance paths of result frames: ``$.authors[2].name``, ``$['a.b']``, ``$.tags[+1]``."""

from __future__ import annotations

import re
from typing import Any

from fuzzing.documents import Place

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"\s]+)|\[(?P<index>\d+)\]|\[\+(?P<extra>\d+)\]|\['(?P<key>(?:[^'\\]|\\.)*)'\]""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


class PathError(ValueError):
    """A text that is not a path, or a path that leads nowhere."""


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _LETTERS.get(escape, escape)


def parse(path: str) -> tuple[Place, bool]:
    """The steps of a path, and whether one is an item that only the prediction has (``[+i]``)."""
    if not path.startswith("$"):
        raise PathError(path)
    place: list[str | int] = []
    position, extra = 1, False
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise PathError(path)
        position = step.end()
        if step["name"] is not None:
            place.append(step["name"])
        elif step["key"] is not None:
            place.append(_ESCAPE.sub(_unescape, step["key"]))
        else:
            place.append(int(step["index"] or step["extra"] or 0))
            extra = extra or step["extra"] is not None
    return tuple(place), extra


def follow(document: Any, path: str) -> Any:
    """The value at a path; PathError where there is none."""
    value = document
    for step in parse(path)[0]:
        inside = isinstance(value, dict) and isinstance(step, str) and step in value
        among = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not (inside or among):
            raise PathError(path)
        value = value[step]
    return value
