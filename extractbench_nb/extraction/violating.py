"""One value that a schema does not allow, put into a document that it allows otherwise."""

from __future__ import annotations

from random import Random
from typing import Any

from extractbench_nb._json import json_text
from extractbench_nb.extraction.conforming import Conformance
from extractbench_nb.extraction.mixture import Mixed
from extractbench_nb.extraction.places import Document, Place, copied
from extractbench_nb.extraction.tasks import Change

__all__ = ["violated"]

_NAME = "wrong_type"


def violated(document: Document, mixed: Mixed, allowed: Conformance, rng: Random) -> Mixed | None:
    """Write one scalar as a type that the schema does not allow there.

    Parameters
    ----------
    document : Document
        The document that was corrupted.
    mixed : Mixed
        What came of it, and what was done.
    allowed : Conformance
        Finds what the schema does not allow.
    rng : random.Random
        Chooses the place among those where nothing was done.

    Returns
    -------
    Mixed or None
        The same with one change more, ``wrong_type``, at its end; None where the schema allows
        whatever is tried.
    """
    changed = {change.place.path for _, change in mixed.changes}
    places = [p for p in document.places if _is_plain(p) and not _is_in(p, changed)]
    for place in rng.sample(places, len(places)):
        before = place.value
        for after in _others(before):
            place.put(after)
            if allowed.faults(mixed.value):
                change = Change(place, before, copied(after))
                return Mixed(mixed.value, [*mixed.changes, (_NAME, change)])
        place.put(before)
    return None


def _others(value: Any) -> tuple[Any, ...]:
    """List what to write in place of a value, of other types."""
    if isinstance(value, list | dict):
        return (json_text(value),)
    return ([value],) if value is None or isinstance(value, str) else (json_text(value), [value])


def _is_plain(place: Place) -> bool:
    """Say whether a place is a member of an object, with nothing inside."""
    if not isinstance(place.box, dict):  # an item, which may stand elsewhere now
        return False
    return not (isinstance(place.value, list | dict) and place.value)


def _is_in(place: Place, changed: set[str]) -> bool:
    """Say whether anything was done to a place, or to what it is in."""
    above: Place | None = place
    while above is not None:
        if above.path in changed:
            return True
        above = above.above
    return False
