"""Fingerprints of inputs: two outputs with the same one have the same result."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from extractbench_nb.batch.cells import value_to_text
from extractbench_nb.batch.inputs import Cell, Plan
from extractbench_nb.batch.outputs import ABSENT
from extractbench_nb.errors import InputError

__all__ = ["Fingerprints"]


class Fingerprints:
    """Computes the fingerprints of a plan's cells; a file of gold is read once.

    Parameters
    ----------
    plan : Plan
        The batch.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._golds: dict[Any, bytes] = {}

    def of(self, cell: Cell) -> bytes:
        """Return the fingerprint of a cell's schema, gold and prediction, by their content.

        Parameters
        ----------
        cell : Cell
            One output.

        Returns
        -------
        bytes
            32 bytes.

        Raises
        ------
        InputError
            A file cannot be read.
        """
        predicted = _digest(cell.predicted)
        return hashlib.sha256(cell.schema_key.encode() + self._gold(cell) + predicted).digest()

    def _gold(self, cell: Cell) -> bytes:
        if not isinstance(cell.gold, Path):
            return _digest(self._plan.gold(cell))
        if cell.gold not in self._golds:
            self._golds[cell.gold] = _digest(cell.gold)
        return self._golds[cell.gold]


def _digest(source: Any) -> bytes:
    if source is ABSENT:
        return hashlib.sha256(b"absent").digest()
    if isinstance(source, Path):
        try:
            return hashlib.sha256(b"text" + source.read_bytes()).digest()
        except OSError as error:
            problem = error.strerror or str(error)
            raise InputError(f"file {str(source)!r} cannot be read: {problem}") from None
    if isinstance(source, str):
        return hashlib.sha256(b"text" + source.encode("utf-8", "surrogatepass")).digest()
    text = value_to_text(source) or "null"
    return hashlib.sha256(b"value" + text.encode("utf-8", "surrogatepass")).digest()
