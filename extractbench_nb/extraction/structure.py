"""Corruptions of form: the right content in a wrong type, or at a wrong level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extractbench_nb._json import json_text, json_type
from extractbench_nb.extraction.places import Place
from extractbench_nb.extraction.tasks import Change, Task
from extractbench_nb.schema.nodes import Node

__all__ = ["wrong_nesting", "wrong_type"]

_CONTAINERS: Mapping[str, type] = {"object": dict, "array": list}


def wrong_type(task: Task) -> list[Change]:
    """Write a scalar as a type that neither the schema nor gold has there."""
    changes = []
    for place in task.document.leaves:
        if task.draws.hits(place.path):
            before = place.value
            after = _other_type(before, place.node)
            if after is not None:
                changes.append(Change(place, before, after))
                place.put(after)
    return changes


def _other_type(value: Any, node: Node) -> Any:
    """Return a number or truth value as text, else the value in an array, else None."""
    for other in (json_text(value), [value]):
        known = {*node.types, json_type(value)}
        if node.types and json_type(other) not in known:
            return other
    return None


def wrong_nesting(task: Task) -> list[Change]:
    """Put an object's members one level too high, or an array one level too deep.

    Of members of objects; empty ones are left alone. A member that is lifted gives way where its
    new level has one of that name already.
    """
    changes = []
    for place in reversed(task.document.places):  # inner before outer
        if _can_be_moved(place) and task.draws.hits(place.path):
            before = place.value
            if isinstance(before, list):
                place.put({"items": before})
            else:
                _lift(place)
            changes.append(Change(place, before, place.value))
    return changes[::-1]


def _can_be_moved(place: Place) -> bool:
    value = place.value
    fits = isinstance(value, _CONTAINERS.get(place.node.kind, ()))
    return fits and bool(value) and isinstance(place.box, dict)


def _lift(place: Place) -> None:
    for name, value in place.box.pop(place.key).items():
        place.box.setdefault(name, value)
