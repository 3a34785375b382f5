"""Accepted alternatives: other values that are right too, of scalars and of whole array items.

The scorer takes the best of gold's value and its alternatives (`Scorer.best_reading`); items are
replaced before their array is aligned (`ItemComparer.readings`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from extractbench_nb.core.schema.schema_nodes import MISSING, Node
from extractbench_nb.core.values.json_values import BRACKETED, equality_key, member


def normal_path(path: str) -> str:
    """Write the keys of maps as those of properties: ``['key']`` becomes ``.key``."""
    if "['" not in path:
        return path
    return BRACKETED.sub(lambda m: member(re.sub(r"\\(.)", r"\1", m[1], flags=re.DOTALL)), path)


class Alternatives:
    """The alternatives of one gold document, by the objects and arrays that hold its values.

    Parameters
    ----------
    gold : object
        The document; no container in it may occur twice, and it must outlive this object.
    scalars, items : mapping, optional
        The alternatives of scalars and of array items, by the keys and indices that lead there.
    """

    def __init__(
        self,
        gold: Any = None,
        scalars: Mapping[tuple[str | int, ...], Sequence[Any]] | None = None,
        items: Mapping[tuple[str | int, ...], Sequence[Any]] | None = None,
    ) -> None:
        #: Of scalars: by the document or the innermost item around them, and the path from there.
        self._scalars: dict[int, dict[str, Sequence[Any]]] = {}
        self._items: dict[int, dict[int, Sequence[Any]]] = {}
        for steps, values in (scalars or {}).items():
            at = max((n for n, step in enumerate(steps, 1) if isinstance(step, int)), default=0)
            suffix = "".join(member(str(step)) for step in steps[at:])
            self._scalars.setdefault(id(_value_at(gold, steps[:at])), {})[suffix] = values
        for steps, values in (items or {}).items():
            *above, index = steps
            self._items.setdefault(id(_value_at(gold, above)), {})[int(index)] = values

    def of_scalars(self, entry: Any) -> Mapping[str, Sequence[Any]]:
        """Return those of the scalars of a document or an item, by their path from there."""
        return self._scalars.get(id(entry), _NONE) if self._scalars else _NONE

    def of_items(self, array: Any) -> Mapping[int, Sequence[Any]]:
        """Return those of the items of an array, or of a map of arrays, by position."""
        if not self._items or not isinstance(array, dict):
            return self._items.get(id(array), {})
        positions, start = {}, 0
        for inner in array.values():
            own = self._items.get(id(inner), {})
            positions.update({start + index: values for index, values in own.items()})
            start += len(inner) if isinstance(inner, list) else inner is not None
        return positions


_NONE: Mapping[str, Sequence[Any]] = {}


def _value_at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def class_members(node: Node, gold: Any) -> tuple[Any, ...]:
    """Return the other values that the schema declares to mean the same as gold's at a node."""
    config = node.config
    if config is None or not config.accepted or isinstance(gold, dict | list):
        return ()
    own = equality_key(None if gold is MISSING else gold)
    for members in config.accepted:
        keys = [equality_key(value) for value in members]
        if own in keys:
            return tuple(v for v, key in zip(members, keys, strict=True) if key != own)
    return ()
