"""What a corruption is given, what it reports, and what can be borrowed from other documents."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from extractbench_nb.extraction.draws import Draws
from extractbench_nb.extraction.places import Document, Place, copied
from extractbench_nb.schema.nodes import Node
from extractbench_nb.values import MISSING

__all__ = ["Change", "Pool", "Task", "borrowed", "pool_of", "same"]

#: The values of a document by field, items under the field of the items.
Pool = Mapping[str, Sequence[Any]]

_TRIES = 20


class Change(NamedTuple):
    """One change: at which place of gold, what stood there and what stands there instead."""

    place: Place
    before: Any
    after: Any


class Task(NamedTuple):
    """A document to corrupt, the draws, how much of a value changes, and who lends values."""

    document: Document
    draws: Draws
    strength: float
    donors: Sequence[Pool]


def pool_of(root: Node, value: Any) -> Pool:
    """Collect the values that a document can lend to others of its schema.

    Parameters
    ----------
    root : Node
        The schema.
    value : object
        The document.

    Returns
    -------
    mapping of str to list
        Values that are not null or empty, nor made of such alone, by field.
    """
    found = defaultdict(list)
    for place in Document(root, value).places:
        if _says_something(place.value):
            found[place.node.field].append(place.value)
    return dict(found)


def _says_something(value: Any) -> bool:
    """Whether there is a scalar in a value, at any depth, that is not null or empty."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting.extend(one.values() if isinstance(one, dict) else one)
        elif one is not None and one != "":
            return True
    return False


def borrowed(donors: Sequence[Pool], field: str, refused: Iterable[Any], rng: random.Random) -> Any:
    """Borrow a value of the same field from another document.

    Parameters
    ----------
    donors : sequence of mapping
        Who lends; the document first, then its value, each with equal chances.
    field : str
        Path without indices.
    refused : iterable of object
        Values that will not do.
    rng : random.Random
        Chooses.

    Returns
    -------
    object
        A copy; `MISSING` where nobody has another value.
    """
    lenders = [pool[field] for pool in donors if field in pool]
    own = list(refused)
    for _ in range(_TRIES if lenders else 0):
        value = rng.choice(rng.choice(lenders))
        if not any(same(value, other) for other in own):
            return copied(value)
    return MISSING


def same(one: Any, other: Any) -> bool:
    """Compare two values; what is nested too deep to be compared counts as different."""
    try:
        return bool(one == other)
    except RecursionError:
        return False
