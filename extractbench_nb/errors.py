"""Errors caused by bad input; messages show the place, the value found and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from typing import Any

__all__ = [
    "ConfigError",
    "DatasetError",
    "ExtractBenchError",
    "InputError",
    "MissingPdfError",
    "OutputError",
    "SchemaError",
    "UnavailableError",
]

#: Names that a message lists; of more, the nearest ones.
_MOST_NAMES, _MOST_NEAR = 20, 8
_MOST_COMPARED = 1_000


class ExtractBenchError(ValueError):
    """Base class of the errors that `extractbench_nb` raises for bad input."""


class InputError(ExtractBenchError):
    """A gold document, a file or an argument that cannot be used."""


class UnavailableError(ExtractBenchError):
    """Something that is not possible here, because a library is missing or does not work.

    It ends the work: no document is at fault, and it is never a verdict.
    """


class OutputError(ExtractBenchError):
    """A file that cannot be written; an existing file is unchanged."""


class SchemaError(ExtractBenchError):
    """A JSON Schema that cannot be read.

    Parameters
    ----------
    pointer : str or None
        JSON Pointer of the offending part, ``""`` for the whole schema; None if no schema is
        involved.
    problem : str
        What was found and what is expected.
    """

    def __init__(self, pointer: str | None, problem: str) -> None:
        self.pointer = pointer
        self.problem = problem
        super().__init__(f"at #{pointer}: {problem}" if pointer is not None else problem)

    def __reduce__(self) -> tuple[type[SchemaError], tuple[str | None, str]]:
        """Pickle by the two arguments, so that worker processes can pass the error on."""
        return (type(self), (self.pointer, self.problem))


class ConfigError(SchemaError):
    """An ``evaluation_config`` with an unknown metric, an unknown preset or invalid params.

    Parameters
    ----------
    pointer : str or None
        JSON Pointer of the offending part; None for a mistake in ``@metric``.
    problem : str
        What was found and what is expected.
    """


class DatasetError(ExtractBenchError):
    """A dataset that does not support the request; the message shows the file, folder or id."""


class MissingPdfError(DatasetError, FileNotFoundError):
    """A document that exists but has no PDF."""

    def __str__(self) -> str:
        """Return the message; OSError would look for an errno."""
        return str(self.args[0])


def nearest(name: object, names: Iterable[str]) -> str:
    """Suggest the names that are nearest to an unknown one, or list the allowed names."""
    allowed = sorted(names)
    few = len(allowed) <= _MOST_COMPARED and len(str(name)) <= _MOST_COMPARED
    near = difflib.get_close_matches(str(name), allowed, n=_MOST_NEAR, cutoff=0.0) if few else []
    close = difflib.get_close_matches(str(name), near, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    if len(allowed) <= 1:
        return f"expected {allowed[0]}" if allowed else "there are none to choose from"
    if len(allowed) <= _MOST_NAMES or not near:
        near = allowed[:_MOST_NAMES]
    more = f" and {len(allowed) - len(near)} more" if len(allowed) > len(near) else ""
    return f"expected one of {', '.join(near)}{more}"


def no_column(name: str, names: Iterable[object]) -> str:
    """Say that a frame lacks a column, and which it has: one of them may be misspelt."""
    found = [str(one) for one in names]
    hint = nearest(name, found)
    if not hint.startswith("did you mean"):
        more = ", ..." if len(found) > _MOST_NAMES else ""
        hint = f"it has {', '.join(found[:_MOST_NAMES]) + more or 'no columns'}"
    return f"no column {name!r}; {hint}"


def needs(module: str, extra: str) -> Any:
    """Import a module of an extra, or raise an `UnavailableError` that names what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        problem = f"this needs the extra {extra!r}: {error.name} is not installed"
    raise UnavailableError(f"{problem}; run: pip install 'extractbench-nb[{extra}]'")
