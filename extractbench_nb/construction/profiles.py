"""Profiles: sets of rules for the comparison of two tables.

``strict`` is what we recommend. ``aoe-282e688d`` gives the numbers of AOE's released code (commit
282e688d), ``aoe-readme`` what its README describes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError, nearest

#: The score of a judge from which two texts mean the same.
PASS_MARK = 0.7
#: Rules with few values: ways of matching rows, and of comparing cells that are not numbers.
_ALLOWED = {
    "rows": ("optimal", "exact", "llm_assisted"),
    "cells": ("judge", "exact", "fuzzy"),
}
_MOST_ALIKE = 100


def _rule(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class TableRules:
    """One set of rules. Each attribute is a rule; `profiles` shows them side by side."""

    name: str
    rows: str = _rule(
        "optimal",
        "how rows are matched: 'optimal' is one to one, in any order of the rows; of the released "
        "code, 'exact' is a join of the keys, 'llm_assisted' takes rows in the order of the file",
    )
    cells: str = _rule(
        "judge", "how cells that are not numbers are compared: 'judge', 'exact' or 'fuzzy'"
    )
    similar_rows: bool = _rule(True, "whether keys match by similarity, at `threshold`")
    threshold: int = _rule(
        90, "similarity from which keys match, and cells where 'fuzzy'; 0 to 100"
    )
    key_suffix: str = _rule("", "ending that is removed from predicted keys")
    numeric_tolerance: float = _rule(
        0.0, "absolute tolerance; the released code adds 1e-5 of the predicted number to it"
    )
    partial_credit: bool = _rule(
        False, "whether a cell that does not pass (score below 0.7) still adds its score"
    )
    count_extra_columns: bool = _rule(
        True, "whether the cells of predicted columns that gold has not lower precision"
    )
    predicted_column_recall: bool = _rule(
        True, "whether column_recall asks for columns of the prediction, not of gold"
    )
    failure_score: float | None = _rule(
        None, "score of a cell whose judge fails; None: no verdict, and no credit"
    )
    fuzzy_installed: bool = _rule(
        True, "whether the released code finds its library for similarity (it is not required)"
    )

    @property
    def released(self) -> bool:
        """Whether rows are matched as the released code does."""
        return self.rows != "optimal"


PROFILES = {
    rules.name: rules
    for rules in (
        TableRules("strict"),
        TableRules(
            "aoe-282e688d",
            rows="llm_assisted",
            numeric_tolerance=1e-6,
            partial_credit=True,
            count_extra_columns=False,
            predicted_column_recall=False,
            failure_score=0.0,
        ),
        TableRules(
            "aoe-readme",
            similar_rows=False,
            partial_credit=True,
            count_extra_columns=False,
            predicted_column_recall=False,
        ),
    )
}


def rules_of(profile: str | TableRules, **changes: Any) -> TableRules:
    """Return the rules of a profile, with some of them changed.

    Parameters
    ----------
    profile : str or TableRules
        ``strict``, ``aoe-282e688d``, ``aoe-readme``, or rules.
    **changes : object
        Rules by name, as `profiles` lists them.

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
    >>> rules_of("aoe-282e688d", rows="exact", cells="fuzzy").threshold
    90
    """
    untyped: object = profile
    if isinstance(profile, TableRules):
        rules = profile
    elif isinstance(untyped, str) and untyped in PROFILES:
        rules = PROFILES[untyped]
    else:
        raise InputError(f"unknown profile {profile!r}; {nearest(profile, PROFILES)}")
    known = [rule.name for rule in fields(TableRules)]
    for name in changes:
        if name not in known:
            raise InputError(f"unknown rule {name!r}; {nearest(name, known)}")
    rules = replace(rules, **changes)
    for name, allowed in _ALLOWED.items():
        if getattr(rules, name) not in allowed:
            raise InputError(f"{name} is {getattr(rules, name)!r}; expected one of {allowed}")
    threshold: object = rules.threshold
    if not isinstance(threshold, int | float) or not 0 <= threshold <= _MOST_ALIKE:
        raise InputError(f"threshold is {rules.threshold!r}; expected a number from 0 to 100")
    return rules


def profiles() -> pd.DataFrame:
    """Show the rules of all profiles side by side.

    Returns
    -------
    pandas.DataFrame
        One row per rule; one column per profile, and one with the meaning of the rule.

    Examples
    --------
    >>> profiles().loc["rows"].to_dict()["strict"]
    'optimal'
    """
    rules = [rule for rule in fields(TableRules) if rule.name != "name"]
    table = {name: [getattr(p, rule.name) for rule in rules] for name, p in PROFILES.items()}
    table["meaning"] = [rule.metadata["meaning"] for rule in rules]
    index = pd.Index([rule.name for rule in rules], name="rule")
    return pd.DataFrame(table, index=index, dtype=object)
