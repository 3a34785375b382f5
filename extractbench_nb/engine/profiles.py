"""Profiles: sets of scoring rules, one table, one engine.

``paper`` follows the ExtractBench paper and README. ``strict`` is what we recommend where no
published number is at stake. ``extract-bench-0.1.0`` gives the numbers of the published package
where they differ, for comparison with results published elsewhere; ``extract-bench-readme`` is
that package with what its README promises beyond the release.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError, nearest


def _rule(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Profile:
    """One set of scoring rules; `profiles` shows those that exist side by side.

    ``dataclasses.replace`` makes another one, to pass as ``profile=``.

    Parameters
    ----------
    name : str
        The name, as in ``Evaluation.meta["profile"]``.
    """

    name: str
    array_score: str = _rule("recall", "score of an array: matched / gold items, or F1")
    count_array_leaves: bool = _rule(
        False, "each field of an array's items is scored, and not the array as one field"
    )
    undeclared_is_hallucination: bool = _rule(
        False, "predicted leaves that nobody asked for count as hallucinations"
    )
    package_010_metrics: bool = _rule(False, "absolute tolerance, texts coerced to numbers")
    fuzzy: str = _rule(
        "levenshtein", "similarity of string_fuzzy: Levenshtein's, or difflib's ratio"
    )
    package_010_schema: bool = _rule(
        False, "no check of metrics and params, config beside $ref ignored"
    )
    url_rule: bool = _rule(
        True, "string_exact at a field of format uri compares addresses, as string_url"
    )
    rows_inside_arrays: bool = _rule(True, "item fields get rows")
    package_010_pairing: bool = _rule(
        False,
        "anyOf is scored only if it has a metric, as one value; fields below a null object pass",
    )
    unions_inherit: bool = _rule(
        True, "anyOf without a metric takes the one that its branches agree on"
    )
    booleans_are_numbers: bool = _rule(False, "where a number is declared, true equals 1")
    enum_members_differ: bool = _rule(
        True, "two different members of an enum are never judged the same"
    )
    item_weighted_overall: bool = _rule(True, "overall_score weighs an array by its gold items")
    node_weights: bool = _rule(True, "aggregation_weight is used")
    metric_error_scores_zero: bool = _rule(
        False, "a metric that fails scores 0 instead of staying unscored"
    )
    absent_to_class_metrics: bool = _rule(
        False, "metrics that are classes are called for absent values too"
    )
    metrics_count: bool = _rule(False, "each metric of a field counts as an evaluation of its own")
    nothing_scored: float = _rule(1.0, "scores where no field is scored at all")


if Profile.__doc__:  # the meanings are declared once, beside the rules
    Profile.__doc__ += "".join(
        f"{rule.name} : {rule.type}, optional\n        {rule.metadata['meaning']}; "
        f"``{rule.default!r}`` by default.\n    "
        for rule in fields(Profile)
        if rule.metadata
    )


_RELEASED = Profile(
    "extract-bench-0.1.0",
    package_010_metrics=True,
    fuzzy="difflib",
    package_010_schema=True,
    url_rule=False,
    rows_inside_arrays=False,
    package_010_pairing=True,
    unions_inherit=False,
    booleans_are_numbers=True,
    enum_members_differ=False,
    item_weighted_overall=False,
    node_weights=False,
    metric_error_scores_zero=True,
    absent_to_class_metrics=True,
    metrics_count=True,
    nothing_scored=0.0,
)

PROFILES = {
    profile.name: profile
    for profile in (
        Profile("paper"),
        Profile(
            "strict",
            array_score="f1",
            count_array_leaves=True,
            undeclared_is_hallucination=True,
        ),
        _RELEASED,
        replace(
            _RELEASED,
            name="extract-bench-readme",
            fuzzy="levenshtein",
            url_rule=True,
            unions_inherit=True,
            item_weighted_overall=True,
            metrics_count=False,
        ),
    )
}


def get_profile(name: object) -> Profile:
    """Return a profile by name."""
    if isinstance(name, Profile):
        return name
    if not isinstance(name, str) or name not in PROFILES:
        raise InputError(f"unknown profile {name!r}; {nearest(name, PROFILES)}")
    return PROFILES[name]


def profiles() -> pd.DataFrame:
    """Show the rules of all profiles side by side.

    Returns
    -------
    pandas.DataFrame
        One row per rule, its name in the index; one column per profile, and ``meaning``.

    Examples
    --------
    >>> profiles().loc["array_score", ["paper", "strict"]].tolist()
    ['recall', 'f1']
    """
    rules = [rule for rule in fields(Profile) if rule.name != "name"]
    table = {name: [getattr(p, rule.name) for rule in rules] for name, p in PROFILES.items()}
    table["meaning"] = [rule.metadata["meaning"] for rule in rules]
    return pd.DataFrame(table, index=pd.Index([rule.name for rule in rules], name="rule"))
