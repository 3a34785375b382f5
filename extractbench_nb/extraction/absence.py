"""Values that go, and values that come from nowhere: null out, omit, hallucinate, substitute."""

from __future__ import annotations

from extractbench_nb.extraction.places import Place
from extractbench_nb.extraction.tasks import Change, Task, borrowed
from extractbench_nb.values import MISSING

__all__ = ["hallucinate", "null_out", "omit", "substitute"]


def null_out(task: Task) -> list[Change]:
    """Write null for a member of an object that holds a scalar."""
    changes = [Change(place, place.value, None) for place in _drawn_members(task)]
    for change in changes:
        change.place.put(None)
    return changes


def omit(task: Task) -> list[Change]:
    """Leave out a member of an object that holds a scalar, key and value."""
    return [Change(place, place.box.pop(place.key), None) for place in _drawn_members(task)]


def _drawn_members(task: Task) -> list[Place]:
    members = [place for place in task.document.leaves if isinstance(place.box, dict)]
    return [place for place in members if task.draws.hits(place.path)]


def hallucinate(task: Task) -> list[Change]:
    """Fill in what gold leaves empty: the value that another document has in this field."""
    changes = []
    for place in task.document.absent:
        if task.draws.hits(place.path):
            rng = task.draws.generator(place.path)
            after = borrowed(task.donors, place.node.field, (), rng)
            if after is not MISSING:
                changes.append(Change(place, place.value, after))
                place.put(after)
    return changes


def substitute(task: Task) -> list[Change]:
    """Replace a scalar by the one that another document has in this field."""
    changes = []
    for place in task.document.leaves:
        if task.draws.hits(place.path):
            before, rng = place.value, task.draws.generator(place.path)
            after = borrowed(task.donors, place.node.field, (before,), rng)
            if after is not MISSING and not isinstance(after, dict | list):
                changes.append(Change(place, before, after))
                place.put(after)
    return changes
