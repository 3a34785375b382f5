"""One model output as it was handed over: a value, or why it is none and at which place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb.errors import InputError
from extractbench_nb.inputs import read_predicted

__all__ = ["ABSENT", "Output", "read_bytes", "read_output"]

_PLACE = re.compile(r" at line (\d+) column (\d+)")


class Absent:
    """The type of `ABSENT`: a run has no output for the document."""

    def __reduce__(self) -> str:
        """Stay the one instance when unpickled."""
        return "ABSENT"


ABSENT = Absent()


class Output(NamedTuple):
    """What can be evaluated; where `message` is there, it cannot, and that is why."""

    source: Any
    message: str | None = None
    line: int | None = None
    column: int | None = None


def read_output(source: Any) -> Output:
    """Read an output; one that is no JSON is no error.

    Parameters
    ----------
    source : object
        A ``pathlib.Path`` (a file), a ``str`` (JSON text), `ABSENT`, or the value itself.

    Returns
    -------
    Output
        Its source is a value, or JSON text of a string.

    Raises
    ------
    InputError
        The file cannot be read at all.
    """
    if source is ABSENT:
        return Output(None, "there is no output")
    if isinstance(source, Path):
        return _from_bytes(read_bytes(source))
    return _from_text(source) if isinstance(source, str) else Output(source)


def read_bytes(path: Path) -> bytes:
    """Read the file of an output, or raise `InputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"predicted file {str(path)!r} cannot be read: {problem}") from None


def _from_bytes(content: bytes) -> Output:
    try:
        return _from_text(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"not UTF-8: {error.reason} at line {line} column {column}"
        return Output(None, message, line, column)


def _from_text(text: str) -> Output:
    if not text.strip():
        return Output(None, "the output is empty")
    value, problem = read_predicted(text)
    if problem is not None:
        place = _PLACE.search(problem)
        line, column = map(int, place.groups()) if place else (None, None)
        return Output(None, problem, line, column)
    return Output(text if isinstance(value, str) else value)
