"""Schema violations of a document, except those that gold has too.

A violation that gold has at the same place of the schema is tolerated: no model can be expected to
do better than gold.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from extractbench_nb.schema.nodes import Schema
from extractbench_nb.schema.validation import Validation

#: Keys and indices from the root down.
Location: TypeAlias = tuple[Any, ...]

_LONGEST_MESSAGE = 300


class Violation(NamedTuple):
    """One violation: its place in the schema, what it is, and jsonschema's error if it has one."""

    place: Hashable
    message: str
    error: Any = None


class Conformance:
    """Finds what a schema does not allow.

    Parameters
    ----------
    schema : Schema
        The parsed schema.
    gold : object
        The gold document, whose own violations are forgiven; None for no document.
    """

    def __init__(self, schema: Schema, gold: Any = None) -> None:
        self._validation, self._gold = Validation(schema.document), gold

    @cached_property
    def _forgiven(self) -> set[Hashable]:
        gold = () if self._gold is None else self._violations(self._gold)
        return {violation.place for violation in gold}

    def fits(self, value: Any) -> tuple[bool, bool, str | None]:
        """Say whether a document fits."""
        strictly = True
        for violation in self._violations(value):
            strictly = False
            if violation.place not in self._forgiven:
                return False, False, violation.message
        return strictly, True, None

    def faults(self, value: Any) -> list[tuple[Location, Location]]:
        """Say where a document does not fit."""
        return [
            (tuple(violation.error.absolute_path), cause)
            for violation in self._violations(value)
            if violation.error is not None and violation.place not in self._forgiven
            for cause in _causes(violation.error)
        ]

    def _violations(self, value: Any) -> Iterator[Violation]:
        for error in self._validation.iter_errors(value):
            message = f"{error.json_path}: {error.message}"[:_LONGEST_MESSAGE]
            unsure = error.validator == "not_validated"
            place: Hashable = message if unsure else tuple(error.absolute_schema_path)
            yield Violation(place, message, None if unsure else error)


def _causes(error: Any) -> list[Location]:
    while error.context:
        error = max(error.context, key=lambda one: len(one.absolute_path))
    where = tuple(error.absolute_path)
    if error.validator == "required" and isinstance(error.validator_value, list):
        return [(*where, name) for name in error.validator_value if name not in error.instance]
    return [where]


def touches(one: Location, other: Location) -> bool:
    """Say whether two locations are the same, or one lies inside the other."""
    return all(a == b for a, b in zip(one, other, strict=False))
