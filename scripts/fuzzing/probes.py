"""Predictions made from gold with one fault, which must leave a row that did not pass."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from math import isnan
from random import Random
from typing import Any

from fuzzing.documents import Place, free_places, look_up, places, put
from fuzzing.paths import parse
from fuzzing.schemas import subschemas

# Metrics that pass at a threshold, judge a container as a whole, or leave a node out.
_LOOSE = ("skip", "set_f1", "table_grits", "string_llm", "threshold", "tolerance", "normalize_text")
Probe = Callable[[Any, Any, Any, Random], Any]


def wrong_value(schema: Any, gold: Any, itself: Any, rng: Random) -> Any:
    """Gold with another value of the same type at a leaf that counts; None where there is none."""
    place = _leaf(schema, gold, itself, rng)
    if place is None:
        return None
    value = look_up(gold, place)
    if isinstance(value, bool):
        other: Any = not value
    else:
        other = "quite another thing" if isinstance(value, str) else 8731
    return put(copy.deepcopy(gold), place, other)


def dropped_value(schema: Any, gold: Any, itself: Any, rng: Random) -> Any:
    """Gold without a leaf that counts; None where there is none."""
    place = _leaf(schema, gold, itself, rng)
    if place is None or not isinstance(place[-1], str):
        return None
    without = copy.deepcopy(gold)
    del look_up(without, place[:-1])[place[-1]]
    return without


def invented_value(schema: Any, gold: Any, itself: Any, rng: Random) -> Any:
    """Gold with a further leaf in an object or array; None where no row has to count it."""
    if itself.meta["profile"] != "strict" or any(word in json.dumps(schema) for word in _LOOSE):
        return None
    declared = sorted({key for node in subschemas(schema) for key in node.get("properties") or ()})
    keys = [*(key for key in declared if isinstance(key, str)), "new"]
    free = [at for at in free_places(gold, [gold], keys) if at and isinstance(at[-1], str)]
    free += [(*at, len(value)) for at, value in places(gold) if isinstance(value, list)]
    if not free:
        return None
    return put(copy.deepcopy(gold), rng.choice(free), rng.choice(["invented", 8731]))


PROBES: dict[str, Probe] = {
    "a wrong value": wrong_value,
    "a dropped value": dropped_value,
    "an invented value": invented_value,
}


def goes_unnoticed(after: Any) -> bool:
    """Whether every counted row passed."""
    counted = after.fields[after.fields["counted"]]
    return bool(counted["passed"].fillna(False).all())


def _leaf(schema: Any, gold: Any, itself: Any, rng: Random) -> Place | None:
    """The place of a scalar that has a counted row of its own."""
    if any(word in json.dumps(schema) for word in _LOOSE):
        return None
    fields = itself.fields
    rows = fields[fields["counted"] & (fields["outcome"] == "correct")]
    found = []
    for path, value in zip(rows["path"], rows["gold"], strict=True):
        if isinstance(value, str | int) or (isinstance(value, float) and not isnan(value)):
            place = parse(path)[0]
            if place:
                found.append(place)
    return rng.choice(found) if found else None
