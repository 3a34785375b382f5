"""Profiles: two sets of scoring rules over one engine.

``strict`` is the default. ``paper`` follows the ExtractBench paper and README, for scores that are
compared with published ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError, nearest


def _rule(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Profile:
    """A set of scoring rules; `profiles` compares the built-in ones.

    ``dataclasses.replace`` makes another one, to pass as ``profile=``.

    Parameters
    ----------
    name : str
        The name, as in ``Evaluation.meta["profile"]``.
    """

    name: str
    array_score: str = _rule("f1", "score of an array: matched / gold items, or F1")
    count_array_leaves: bool = _rule(
        True, "each field of an array's items is scored, and not the array as one field"
    )
    undeclared_is_hallucination: bool = _rule(
        True, "predicted leaves that nobody asked for count as hallucinations"
    )

    @classmethod
    def named(cls, name: object) -> Profile:
        """Return the profile ``strict`` or ``paper``; a `Profile` is returned unchanged."""
        if isinstance(name, Profile):
            return name
        if not isinstance(name, str) or name not in PROFILES:
            raise InputError(f"unknown profile {name!r}; {nearest(name, PROFILES)}")
        return PROFILES[name]


if Profile.__doc__:  # the meanings are declared once, beside the rules
    Profile.__doc__ += "".join(
        f"{rule.name} : {rule.type}, optional\n        {rule.metadata['meaning']}; "
        f"``{rule.default!r}`` by default.\n    "
        for rule in fields(Profile)
        if rule.metadata
    )


#: The profiles by name.
PROFILES = {
    profile.name: profile
    for profile in (
        Profile("strict"),
        Profile(
            "paper",
            array_score="recall",
            count_array_leaves=False,
            undeclared_is_hallucination=False,
        ),
    )
}


def profiles() -> pd.DataFrame:
    """Compare the rules of all profiles side by side.

    Returns
    -------
    pandas.DataFrame
        One row per rule, its name in the index; one column per profile, and ``meaning``.

    Examples
    --------
    >>> profiles().loc["array_score", ["strict", "paper"]].tolist()
    ['f1', 'recall']
    """
    rules = [rule for rule in fields(Profile) if rule.name != "name"]
    table = {name: [getattr(p, rule.name) for rule in rules] for name, p in PROFILES.items()}
    table["meaning"] = [rule.metadata["meaning"] for rule in rules]
    return pd.DataFrame(table, index=pd.Index([rule.name for rule in rules], name="rule"))
