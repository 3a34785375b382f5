"""What `ConstructionView` shows, without a widget: lines, columns, cells, places of values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.construction import (
    Chunk,
    Documents,
    Holders,
    Retriever,
    TableComparison,
    texts_of,
)
from extractbench_nb.views.controls import rows_of

SIDES = ("gold", "predicted")
_RIGHT = ("correct", "both_absent")


class Line(NamedTuple):
    """A row of gold, of the prediction, or both; ``lost`` if it is not matched or not all right."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str | None
    similarity: float | None
    lost: bool

    def at(self, side: int) -> int | None:
        """Return the row's number in gold (0) or in the prediction (1)."""
        return self.predicted if side else self.gold


class Slot(NamedTuple):
    """A column of gold, of the prediction, or both."""

    gold: str | None
    predicted: str | None
    role: str
    status: str
    rule: str | None

    def at(self, side: int) -> str | None:
        """Return the column's name in gold (0) or in the prediction (1)."""
        return self.predicted if side else self.gold


class Board:
    """One comparison, with its cells by place."""

    def __init__(self, comparison: TableComparison) -> None:
        self.comparison = comparison
        rows, columns = comparison.rows, comparison.columns
        lost = (rows["status"] != "matched") | (rows["score"] < 1).fillna(False)
        names = ["gold_row", "predicted_row", "status", "rule", "similarity"]
        self.lines = [Line(*row) for row in rows_of(rows[names].assign(lost=lost))]
        names = ["column", "predicted_column", "role", "status", "rule"]
        self.slots = [Slot(*row) for row in rows_of(columns[names])]
        tables = (comparison.gold, comparison.predicted)
        self.texts = [{str(name): table[name].tolist() for name in table} for table in tables]
        self.sizes = [len(table) for table in tables]

    @cached_property
    def _places(self) -> dict[tuple[Any, Any, int], int]:
        own = {slot.gold: at for at, slot in enumerate(self.slots) if slot.gold is not None}
        extra = {slot.predicted: at for at, slot in enumerate(self.slots) if slot.gold is None}
        places = self.comparison.cells[["gold_row", "predicted_row", "column", "predicted_column"]]
        return {
            (gold, predicted, own[name] if name is not None else extra[other]): at
            for at, (gold, predicted, name, other) in enumerate(rows_of(places))
        }

    @cached_property
    def _outcomes(self) -> list[Any]:
        return list(rows_of(self.comparison.cells[["outcome", "reason"]]))

    def verdict(self, line: Line, slot: int) -> tuple[str, str] | None:
        """Return outcome and reason of a cell; None where nothing was compared."""
        at = self._places.get((line.gold, line.predicted, slot))
        return None if at is None else self._outcomes[at]

    def record(self, line: Line, slot: int) -> dict[str, Any] | None:
        """Return the row of ``cells`` of a cell; None where nothing was compared."""
        at = self._places.get((line.gold, line.predicted, slot))
        if at is None:
            return None
        row = self.comparison.cells.iloc[at]
        return {str(name): None if pd.isna(value) else value for name, value in row.items()}

    def text(self, line: Line, slot: Slot, side: int) -> str | None:
        """Return the text of a cell on a side; None if there is no such cell."""
        row, name = line.at(side), slot.at(side)
        if row is None or name is None:
            return None
        texts = self.texts[side].get(name, [])
        return str(texts[row]) if row < len(texts) else None

    def line(self, side: int, row: int) -> Line | None:
        """Return the first line that has a row of a side."""
        return self._numbered[side].get(row)

    @cached_property
    def _numbered(self) -> list[dict[int, Line]]:
        return [
            {row: line for line in reversed(self.lines) if (row := line.at(side)) is not None}
            for side in (0, 1)
        ]

    def slot(self, side: int, name: str) -> int | None:
        """Return the place of a column of a side."""
        names = [slot.at(side) for slot in self.slots]
        return names.index(name) if name in names else None

    def keys(self, line: Line) -> list[str]:
        """Return the key of a line, gold's if it has one."""
        side = 0 if line.gold is not None else 1
        texts = (self.text(line, slot, side) for slot in self.slots if slot.role == "key")
        return [text for text in texts if text]


def is_right(outcome: str) -> bool:
    """Whether a cell has lost nothing."""
    return outcome in _RIGHT


class Found(NamedTuple):
    """Where a value stands: chunks with the rank at which each was retrieved, and documents."""

    chunks: list[tuple[Chunk, int | None]]
    documents: list[str]


class Evidence:
    """Documents cut into chunks, in which values are looked up as they are written."""

    def __init__(self, documents: Documents, retriever: str | Retriever | None, query: str) -> None:
        how = Retriever(retriever) if isinstance(retriever, str) else retriever
        texts = texts_of(documents)
        index = (how or Retriever()).index(texts)
        self.chunks = index.chunks
        self.retrieved: dict[tuple[str, int], int] | None = None
        if how is not None:
            ranked = index.select(query, how.k)
            self.retrieved = {one.chunk[:2]: rank for rank, one in enumerate(ranked, 1)}
        self._names = list(texts)
        self._in_chunks = Holders([chunk.text for chunk in self.chunks])
        self._in_documents = Holders(list(texts.values()))

    def of(self, value: str, keys: Sequence[str]) -> Found:
        """Find a value: first chunks, then chunks of documents, that name the row by its keys."""
        named = [set(self._in_chunks.of(key)) for key in keys]
        inside = [{self._names[at] for at in self._in_documents.of(key)} for key in keys]

        def likely(place: int) -> tuple[int, int, int]:
            document = self.chunks[place].document
            known = sum(document in names for names in inside)
            return -sum(place in places for places in named), -known, place

        places = sorted(self._in_chunks.of(value), key=likely)
        ranks = self.retrieved or {}
        chunks = [(self.chunks[at], ranks.get(self.chunks[at][:2])) for at in places]
        return Found(chunks, [self._names[at] for at in self._in_documents.of(value)])
