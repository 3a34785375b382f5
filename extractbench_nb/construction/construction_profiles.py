"""Profiles: sets of rules for the comparison of two tables.

``strict`` is what we recommend. ``aoe`` gives the numbers of AOE's released code (commit 282e688d).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from extractbench_nb.errors import InputError, nearest

#: The score of a judge from which two texts mean the same.
PASS_MARK = 0.7
#: Rules with few values: ways of matching rows, and of comparing cells that are not numbers.
_ALLOWED = {"rows": ("optimal", "exact", "llm_assisted"), "cells": ("judge", "exact", "fuzzy")}
_MOST_ALIKE = 100
#: What to use for profiles of earlier versions.
_FORMER = {"aoe-282e688d": "'aoe'", "aoe-readme": "'strict', or 'aoe' for AOE's own numbers"}


@dataclass(frozen=True, slots=True)
class TableRules:
    """One set of rules, made by `rules_of`, which describes them."""

    name: str
    rows: str = "optimal"
    cells: str = "judge"
    threshold: float = 90
    key_suffix: str = ""
    numeric_tolerance: float = 0.0
    failure_score: float | None = None
    fuzzy_installed: bool = True

    @property
    def released(self) -> bool:
        """Whether rows are matched, and cells scored, as AOE's released code does."""
        return self.rows != "optimal"


PROFILES = {
    "strict": TableRules("strict"),
    "aoe": TableRules("aoe", rows="llm_assisted", numeric_tolerance=1e-6, failure_score=0.0),
}


def rules_of(profile: str | TableRules, **changes: Any) -> TableRules:
    """Return the rules of a profile, with some of them changed.

    Parameters
    ----------
    profile : str or TableRules
        ``strict``, ``aoe``, or rules.
    **changes : object
        ``threshold``: similarity from which keys match, and cells if they are compared by
        ``"fuzzy"``, 0 to 100. ``cells``: comparison of cells that are not numbers, ``"judge"``,
        ``"exact"`` or ``"fuzzy"``. ``numeric_tolerance``: absolute; 1e-5 of the predicted number is
        added to it if it is not 0.
        Under ``aoe`` also ``rows``: ``"llm_assisted"`` (in the order of the file) or ``"exact"`` (a
        join of the keys); ``key_suffix``: an ending that is removed from predicted keys;
        ``failure_score``: the score of a cell whose judge fails; ``fuzzy_installed``: whether AOE's
        code finds its library for similarity, which it does not require.

    Returns
    -------
    TableRules
        The changed rules, for the option ``profile`` of `compare`.

    Raises
    ------
    InputError
        The profile or a rule is unknown, or its value is not allowed.

    Examples
    --------
    >>> rules_of("aoe", rows="exact", cells="fuzzy").threshold
    90
    """
    untyped: object = profile
    if isinstance(profile, TableRules):
        rules = profile
    elif isinstance(untyped, str) and untyped in PROFILES:
        rules = PROFILES[untyped]
    elif isinstance(untyped, str) and untyped in _FORMER:
        raise InputError(f"there is no profile {profile!r} any more; use {_FORMER[untyped]}")
    else:
        raise InputError(f"unknown profile {profile!r}; {nearest(profile, PROFILES)}")
    names = [rule.name for rule in fields(TableRules) if rule.name != "name"]
    for name in changes:
        if name not in names:
            raise InputError(f"unknown rule {name!r}; {nearest(name, names)}")
    rules = replace(rules, **changes)
    for name, allowed in _ALLOWED.items():
        if getattr(rules, name) not in allowed:
            raise InputError(f"{name} is {getattr(rules, name)!r}; expected one of {allowed}")
    threshold: object = rules.threshold
    if not isinstance(threshold, int | float) or not 0 <= threshold <= _MOST_ALIKE:
        raise InputError(f"threshold is {rules.threshold!r}; expected a number from 0 to 100")
    return rules
