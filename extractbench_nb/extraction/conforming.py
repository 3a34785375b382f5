"""What a schema does not allow in a document, beyond what gold itself gets wrong.

A violation that gold has at the same place of the schema is forgiven, as `parse_output` forgives
it: an output that is to be valid must be valid there.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from extractbench_nb.evaluation.drift import validator_of
from extractbench_nb.schema.nodes import Schema

__all__ = ["Conformance", "Location", "touches"]

#: Keys and indices from the root down.
Location: TypeAlias = tuple[Any, ...]


class Conformance:
    """Finds what a schema does not allow.

    Parameters
    ----------
    schema : Schema
        The parsed schema.
    gold : object
        The gold document, whose own violations are forgiven.
    """

    def __init__(self, schema: Schema, gold: Any) -> None:
        self._validator = validator_of(schema)
        self._forgiven = {tuple(error.absolute_schema_path) for error in self._errors(gold)}

    def faults(self, value: Any) -> list[tuple[Location, Location]]:
        """Say where a document does not fit.

        Parameters
        ----------
        value : object
            The document.

        Returns
        -------
        list of tuple of (tuple, tuple)
            One pair or more for a violation that is not forgiven: where it is, and where its cause
            is, which lies deeper where a member is missing or no branch of an ``anyOf`` fits.
        """
        return [
            (tuple(error.absolute_path), cause)
            for error in self._errors(value)
            if tuple(error.absolute_schema_path) not in self._forgiven
            for cause in _causes(error)
        ]

    def _errors(self, value: Any) -> list[Any]:
        try:
            return list(self._validator.iter_errors(value))
        except Exception:  # noqa: BLE001 - a validator's libraries have no common base class
            return []  # nested too deep, a pattern that is none: nobody can tell


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
