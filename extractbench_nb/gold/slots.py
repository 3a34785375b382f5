"""The golds of several annotators of one document, aligned: slots, and where they disagree."""

from __future__ import annotations

import copy
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb._json import (
    PATH_STEP,
    canonical_unordered,
    count_values,
    equality_key,
    step_key,
    value_at,
)
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.evaluation.frames import item_pairs, partner_path
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.schema.nodes import MISSING, Node, Schema

#: Rounds in which items are aligned: what is appended in one may change the pairs of the next.
_ROUNDS = 5
#: Steps of a field: ``authors[].name``, ``m.*``.
_FIELD_STEP = re.compile(r"\.?[^.\[\]]+|\[\]")

_Change: TypeAlias = tuple[Any, Any, Any]
_NO_CHANGE: _Change = (pd.NA, pd.NA, pd.NA)


class Slot(NamedTuple):
    """What annotators say about one place: a value each, None where they leave it empty."""

    document: str
    schema: str | None
    path: str
    field: str
    node: Node | None
    values: dict[str, Any]


class Merged:
    """The golds of one document, with the items of their arrays aligned.

    All of them are evaluated against one document that has every item of any of them; its paths are
    those of the slots.
    """

    def __init__(
        self,
        document: str,
        schema_id: str | None,
        schema: Schema,
        agree: Any,
        golds: Mapping[str, Any],
    ) -> None:
        self.document, self.schema_id, self.agree = document, schema_id, agree
        self.golds = golds
        order = sorted(golds, key=lambda name: (-count_values(golds[name]), text_key(golds[name])))
        union = copy.deepcopy(golds[order[0]])
        for _ in range(_ROUNDS):
            self.results: dict[str, Evaluation] = {}
            grown = False
            for name in order:
                result = self.results[name] = evaluate(schema, union, golds[name], profile="strict")
                grown = _append_items(union, result.matches) or grown
            if not grown:
                break
        self.pairs = {name: item_pairs(ev.matches) for name, ev in self.results.items()}
        self.union = union
        self.nodes = {node.schema_path: node for node in schema.nodes()}
        self.slots = list(self._slots())

    def _slots(self) -> Iterator[Slot]:
        told: dict[str, tuple[str, str]] = {}
        values: dict[str, dict[str, Any]] = defaultdict(dict)
        names = ["path", "predicted_path", "field", "schema_path", "predicted", "predicted_state"]
        for name, ev in self.results.items():
            rows = ev.fields[ev.fields["counted"]]
            for path, own, field, schema_path, value, state in rows[names].itertuples(index=False):
                if schema_path not in self.nodes:
                    continue  # not declared, so not scored
                place = path if own is pd.NA else own
                # a text in the place of an object stands for each of its fields
                said = value_at(self.golds[name], place, MISSING)
                is_said = state == "present" and said is not MISSING
                key = f"{path} {name}" if "[+" in path else path
                told.setdefault(key, (field, schema_path))
                values[key][name] = value if is_said else None
        for key, (field, schema_path) in told.items():
            said = {name: values[key].get(name) for name in self.golds}
            path, node = key.partition(" ")[0] if "[+" in key else key, self.nodes[schema_path]
            yield Slot(self.document, self.schema_id, path, field, node, said)

    def disagreements(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield a row for each slot and array item on which annotators disagree.

        Below an item, only those who have the item are asked.
        """
        met: set[str] = set()
        removed: list[str] = []
        for slot in self.slots:
            holders = list(self.golds)
            for item in self._items(slot.path):
                having = [name for name in holders if self._own(name, item) is not None]
                if item not in met and len(having) < len(holders):
                    yield self._item_row(slot, item, holders, having, names, removed)
                met.add(item)
                holders = having
            said = {name: slot.values[name] for name in holders}
            groups = grouped(said, slot.node, self.agree)
            if len(groups) > 1:
                yield self._slot_row(slot, groups, names, removed)

    def _items(self, path: str) -> list[str]:
        """Return the paths of the array items that a path leads through, outer before inner."""
        starts = (path[: step.end()] for step in PATH_STEP.finditer(path))
        return [start for start in starts if any(start in pairs for pairs in self.pairs.values())]

    def _own(self, name: str, path: str) -> str | None:
        """Return an annotator's own path of a place; None below an item that they lack."""
        return partner_path(path, self.pairs[name])

    def _item_row(
        self,
        slot: Slot,
        item: str,
        holders: Sequence[str],
        having: Sequence[str],
        names: Sequence[str],
        removed: list[str],
    ) -> tuple[Any, ...]:
        values = {name: value_at(self.golds[name], self._own(name, item) or "") for name in having}
        majority: Any = pd.NA
        if 2 * len(having) != len(holders):
            majority = most_common(values.values()) if 2 * len(having) > len(holders) else None
        first = names[0]
        op, old, new = _NO_CHANGE
        if first in holders and majority is not pd.NA and not _below(item, removed):
            if first in having and majority is None:
                op, old = "remove", values[first]
                removed.append(item)
            elif first not in having and majority is not None:
                array = self._own(first, item.rpartition("[")[0])
                if array is not None and _can_hold(self.golds[first], f"{array}[-]"):
                    op, new = "add", majority
        steps = len(PATH_STEP.findall(item))
        field = "".join(_FIELD_STEP.findall(slot.field)[:steps])
        said = [values.get(name) if name in self.golds else pd.NA for name in names]
        path = self._written(first, item)
        return (self.document, self.schema_id, path, field, *said, majority, op, old, new)

    def _slot_row(
        self, slot: Slot, groups: list[list[str]], names: Sequence[str], removed: list[str]
    ) -> tuple[Any, ...]:
        voters = sum(map(len, groups))
        largest = max(groups, key=len)
        first = names[0]
        op, old, new = _NO_CHANGE
        majority: Any = pd.NA
        if 2 * len(largest) > voters:
            majority = most_common(slot.values[name] for name in largest)
            others = [name for group in groups for name in group if group is not largest]
            if first in others and not _below(slot.path, removed):
                op, old, new = self._change(first, slot, largest, majority)
        said = [slot.values[name] if name in self.golds else pd.NA for name in names]
        path = self._written(first, slot.path)
        head = (self.document, self.schema_id, path, slot.field)
        return (*head, *said, majority, op, old, new)

    def _change(self, first: str, slot: Slot, agreed: Sequence[str], majority: Any) -> _Change:
        """Return op, old and new that give the first annotator the value of the majority."""
        own = self._own(first, slot.path)
        has = value_at(self.golds[first], own or "?", MISSING)
        said = slot.values[first]
        if own is None or (said is not None and has != said):  # a place that has no path of its own
            return _NO_CHANGE
        if has is MISSING and not _can_hold(self.golds[first], own):
            return _NO_CHANGE
        if has is MISSING:
            return "add", pd.NA, majority
        if majority is None:
            places = {name: self._own(name, slot.path) or "?" for name in agreed}
            left = (value_at(self.golds[name], own, MISSING) for name, own in places.items())
            written = [value for value in left if value is not MISSING]
            return ("replace", has, written[0]) if written else ("remove", has, pd.NA)
        return "replace", has, majority

    def _written(self, first: str, path: str) -> str:
        """Write a path as the first annotator's gold has it; an item that it lacks is ``[+3]``."""
        own = self._own(first, path) if first in self.golds else path
        if own is not None:
            return own
        item = next(item for item in self._items(path) if self._own(first, item) is None)
        array, _, index = item.rpartition("[")
        return f"{self._own(first, array)}[+{index}{path[len(item) :]}"


def _below(path: str, items: Iterable[str]) -> bool:
    return any(path.startswith(item) for item in items)


def _can_hold(gold: Any, path: str) -> bool:
    """Whether nothing but objects and arrays, or nothing at all, is above a path."""
    value = gold
    for step in PATH_STEP.finditer(path):
        key = step_key(step)
        if not isinstance(value, dict if isinstance(key, str) else list):
            return value is None and key in (-1, str(key))
        value = value_at(value, f"${step[0]}")
    return True


def grouped(values: Mapping[str, Any], node: Node | None, agree: Any) -> list[list[str]]:
    """Group annotators whose values agree, directly or through those of others."""
    groups: list[list[str]] = []
    for name, value in values.items():
        linked = [group for group in groups if any(agree(node, values[n], value) for n in group)]
        groups = [group for group in groups if group not in linked]
        groups.append([name, *(n for group in linked for n in group)])
    return groups


def most_common(values: Iterable[Any]) -> Any:
    """Return the most frequent value; of several, the first by its text."""
    found = list(values)
    counts = Counter(map(equality_key, found))
    return min(found, key=lambda value: (-counts[equality_key(value)], text_key(value)))


def text_key(value: Any) -> str:
    """Return a text that is the same for values that differ in the order of items only."""
    return canonical_unordered(value)


def _append_items(union: Any, matches: pd.DataFrame) -> bool:
    """Append the items of an annotator that have no partner."""
    spurious = matches[matches["status"] == "spurious"]
    grown = False
    for path, item in spurious[["path", "predicted"]].itertuples(index=False):
        array = None if "[+" in path else _array_at(union, path)
        if array is not None:
            array.append(copy.deepcopy(item))
            grown = True
    return grown


def _array_at(value: Any, path: str) -> list[Any] | None:
    """Return the array at a path, made where nothing is there; None where something else is."""
    steps = list(map(step_key, PATH_STEP.finditer(path)))
    for at, step in enumerate(steps):
        if isinstance(value, dict) and isinstance(step, str):
            if value.get(step) is None:
                value[step] = [] if at == len(steps) - 1 else {}
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value if isinstance(value, list) else None
