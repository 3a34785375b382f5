"""What the traversal leaves behind: a tree of leaves, arrays and pairs of items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractbench_nb.schema.nodes import Node
from extractbench_nb.scoring import Pending, Scored

__all__ = ["ArrayRecord", "Leaf", "Pair", "Record"]


@dataclass(slots=True, eq=False)
class Leaf:
    """A scored place that is no array: where it stands, both values, the verdicts."""

    node: Node
    path: str
    predicted_path: str | None
    gold: Any
    predicted: Any
    counted: bool
    verdicts: list[Scored | Pending]


@dataclass(slots=True, eq=False)
class ArrayRecord(Leaf):
    """An array: its items, which of them were paired, and the counts.

    ``aligned`` says whether the row's score comes from the alignment; otherwise the verdicts were
    there before (absent, broken, or a metric that takes the array as a whole).
    """

    gold_items: list[Any] = field(default_factory=list)
    predicted_items: list[Any] = field(default_factory=list)
    gold_steps: list[str] = field(default_factory=list)
    predicted_steps: list[str] = field(default_factory=list)
    aligned: bool = False
    exists: bool = True
    pairs: list[Pair] = field(default_factory=list)
    matched: int = 0
    score: float | None = None
    passed: bool | None = None


@dataclass(slots=True, eq=False)
class Pair:
    """Two items that belong together; on one side None for what is missed or spurious."""

    gold_index: int | None
    predicted_index: int | None
    children: list[Leaf] = field(default_factory=list)
    similarity: float | None = None
    status: str = ""
    failed_fields: tuple[str, ...] = ()
    unresolved: bool = False
    reason: str = ""


Record = Leaf | ArrayRecord
