"""Corruptions of single values by name and kind, and what they do to the leaves of a document."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from extractbench_nb.extraction.amounts import changed_digits, rounding, scale, sign
from extractbench_nb.extraction.draws import generator
from extractbench_nb.extraction.tasks import Change, Task
from extractbench_nb.extraction.texts import (
    case,
    changed_digit,
    dropped_word,
    truncation,
    typo,
    unit,
    whitespace,
    word_order,
)
from extractbench_nb.extraction.wording import abbreviation, date_format

__all__ = ["LARGEST", "VALUE_CORRUPTIONS", "change_values", "corrupt", "kind_of", "kinds"]

#: Numbers up to here are corrupted: a million times as much is still a number.
LARGEST = 1e300

_TRIES = 20

#: What is done, by the name of the corruption and the kind of value.
VALUE_CORRUPTIONS: Mapping[tuple[str, str], Callable[[Any, float, random.Random], Any]] = {
    ("whitespace", "string"): whitespace,
    ("case", "string"): case,
    ("abbreviation", "string"): abbreviation,
    ("date_format", "string"): date_format,
    ("word_order", "string"): word_order,
    ("typo", "string"): typo,
    ("dropped_word", "string"): dropped_word,
    ("truncation", "string"): truncation,
    ("changed_digit", "string"): changed_digit,
    ("changed_digit", "number"): changed_digits,
    ("unit", "string"): unit,
    ("unit", "number"): scale,
    ("rounding", "number"): rounding,
    ("sign", "number"): sign,
}


def kind_of(value: object) -> str | None:
    """Return ``string`` or ``number``; None for a value that these corruptions leave alone."""
    if isinstance(value, str):
        return "string" if value else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return "number" if abs(value) <= LARGEST else None


def kinds(name: str) -> list[str]:
    """Return the kinds of value that a corruption is for; none for those of whole documents."""
    return [kind for known, kind in VALUE_CORRUPTIONS if known == name]


def corrupt(name: str, value: Any, strength: float, seed: str) -> Any:
    """Corrupt one value.

    Parameters
    ----------
    name : str
        A corruption of values, ``typo`` for example.
    value : str, int or float
        The value; it is not changed.
    strength : float
        Above 0, up to 1: the share of words, letters, digits or units.
    seed : str
        The same seed gives the same result.

    Returns
    -------
    str, int, float or None
        A value that differs; None where the corruption does not apply, or changes nothing.

    Examples
    --------
    >>> corrupt("case", "Acme", 1.0, "0")
    'aCME'
    """
    function = VALUE_CORRUPTIONS.get((name, kind_of(value) or ""))
    if function is None:
        return None
    for attempt in range(_TRIES):  # a swap of equal words, or of a letter with itself
        found = function(value, strength, generator(f"{seed}\x1f{attempt}"))
        if found is None or found != value:
            return found
    return None


def change_values(name: str) -> Callable[[Task], list[Change]]:
    """Return what corrupts the leaves of a document, each with the probability that is drawn."""

    def change(task: Task) -> list[Change]:
        changes = []
        for place in task.document.leaves:
            if task.draws.hits(place.path):
                before, seed = place.value, f"{task.draws.seed}\x1f{place.path}"
                after = corrupt(name, before, task.strength, seed)
                if after is not None:
                    place.put(after)
                    changes.append(Change(place, before, after))
        return changes

    return change
