"""Profiles: sets of scoring rules, one table, one engine.

``paper`` follows the ExtractBench paper and README. ``strict`` is what we recommend where no
published number is at stake. ``extract-bench-0.1.0`` gives the numbers of the published package
where they differ, for comparison with results published elsewhere; ``extract-bench-readme`` is
that package with what its README promises beyond the release.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import pandas as pd

from extractbench_nb.errors import InputError, nearest


@dataclass(frozen=True, slots=True)
class Profile:
    """One set of rules. Each attribute is a rule; `profiles` shows them side by side."""

    name: str
    array_score: str = "recall"
    count_array_leaves: bool = False
    undeclared_is_hallucination: bool = False
    package_010_metrics: bool = False
    fuzzy: str = "levenshtein"
    package_010_schema: bool = False
    url_rule: bool = True
    rows_inside_arrays: bool = True
    package_010_pairing: bool = False
    unions_inherit: bool = True
    booleans_are_numbers: bool = False
    enum_members_differ: bool = True
    item_weighted_overall: bool = True
    node_weights: bool = True
    metric_error_scores_zero: bool = False
    absent_to_class_metrics: bool = False
    metrics_count: bool = False
    nothing_scored: float = 1.0


_MEANING = {
    "array_score": "score of an array: matched / gold items, or F1",
    "count_array_leaves": "item leaves enter the scores in place of their array's own row",
    "undeclared_is_hallucination": "predicted leaves that nobody asked for count as hallucinations",
    "package_010_metrics": "absolute tolerance, texts coerced to numbers",
    "fuzzy": "similarity of string_fuzzy: Levenshtein's, or difflib's ratio",
    "package_010_schema": "no check of metrics and params, config beside $ref ignored",
    "url_rule": "string_exact at a field of format uri compares addresses, as string_url",
    "rows_inside_arrays": "item fields get rows",
    "package_010_pairing": "anyOf counts only with a metric, as one value; below null all passes",
    "unions_inherit": "anyOf without a metric takes the one that its branches agree on",
    "booleans_are_numbers": "where a number is declared, true equals 1",
    "enum_members_differ": "two different members of an enum are never judged the same",
    "item_weighted_overall": "overall_score weighs an array by its gold items",
    "node_weights": "aggregation_weight is used",
    "metric_error_scores_zero": "a metric that fails scores 0 instead of staying unscored",
    "absent_to_class_metrics": "metrics that are classes are called for absent values too",
    "metrics_count": "each metric of a field counts as an evaluation of its own",
    "nothing_scored": "scores where no field is scored at all",
}

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
        One row per rule; one column per profile, and one that says what the rule means.
    """
    rules = [f.name for f in fields(Profile) if f.name != "name"]
    table = {name: [getattr(profile, rule) for rule in rules] for name, profile in PROFILES.items()}
    return pd.DataFrame(
        {**table, "meaning": [_MEANING[rule] for rule in rules]}, index=pd.Index(rules, name="rule")
    )
