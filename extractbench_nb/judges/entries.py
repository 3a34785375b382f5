"""Answers of models as they are kept: the whole request, what came back, and what it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from extractbench_nb._json import read_text
from extractbench_nb.errors import InputError

__all__ = ["COLUMNS", "Entry", "from_row", "read_lines", "request_key", "to_line", "to_row"]

#: Columns of the table of answers.
COLUMNS = ("key", "request", "answer", "prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True)
class Entry:
    """One answer as it is kept.

    Parameters
    ----------
    request : mapping of str to object
        All that was asked: model, messages and parameters.
    answer : str
        What the model said.
    prompt_tokens, completion_tokens : int or None
        What it took.
    cost_usd : float or None
        What it cost.
    """

    request: Mapping[str, Any]
    answer: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    @cached_property
    def key(self) -> str:
        """What the answer is kept by; see `request_key`."""
        return request_key(self.request)


def request_key(request: Mapping[str, Any]) -> str:
    """Return what the answer to a request is kept by.

    Parameters
    ----------
    request : mapping of str to object
        Model, full messages and parameters.

    Returns
    -------
    str
        SHA-256 of its canonical JSON, 64 hexadecimal digits.
    """
    return hashlib.sha256(_json(request).encode()).hexdigest()


def to_row(entry: Entry) -> tuple[Any, ...]:
    """Return an entry as a row of `COLUMNS`; texts as JSON, which holds lone surrogates too."""
    counts = (entry.prompt_tokens, entry.completion_tokens, entry.cost_usd)
    return (entry.key, _json(entry.request), _json(entry.answer), *counts)


def from_row(row: tuple[Any, ...]) -> Entry | None:
    """Undo `to_row`; a row that is no answer under its key is None."""
    key, request, answer, *counts = row
    try:
        entry = Entry(json.loads(request), json.loads(answer), *counts)
    except (ValueError, TypeError, RecursionError):
        return None
    return entry if _is_sound(entry) and entry.key == key else None


def to_line(entry: Entry) -> str:
    """Return an entry as one line of JSON in ASCII, its key with it."""
    return _json({"key": entry.key, **asdict(entry)}) + "\n"


def read_lines(path: Path) -> Iterator[Entry]:
    """Read a file of lines from `to_line`.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Yields
    ------
    Entry
        One a line.

    Raises
    ------
    InputError
        The file cannot be read, or a line is no answer under its key.
    """
    for number, line in enumerate(read_text(path, "answers").split("\n"), 1):
        entry = _read_line(line) if line else None
        if entry is not None:
            yield entry
        elif line:
            raise InputError(
                f"line {number} of {str(path)!r} is no answer under its key; expected a file that "
                "JudgeCache.export wrote"
            )


def _read_line(line: str) -> Entry | None:
    try:
        value = json.loads(line)
        key = value.pop("key")
        entry = Entry(**value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return entry if _is_sound(entry) and entry.key == key else None


def _is_sound(entry: Any) -> bool:
    counts = (entry.prompt_tokens, entry.completion_tokens, entry.cost_usd)
    return (
        isinstance(entry.answer, str)
        and isinstance(entry.request, dict)
        and all(count is None or _is_count(count, (int,)) for count in counts[:2])
        and (counts[2] is None or _is_count(counts[2], (int, float)))
    )


def _is_count(value: Any, kinds: tuple[type, ...]) -> bool:
    return type(value) in kinds and 0 <= value < inf


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
