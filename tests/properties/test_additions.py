"""Properties over every construct of a schema: perfect predictions, additions, renamed keys.

No prediction raises its own rate: a score is ``(A + R) / (A + F)`` with A the weight of places
where neither side has anything, F that of all others and R what they score. What a prediction adds
may raise R by what it makes right; it may neither raise A nor lower F. In ``strict`` this holds for
each schema field, of which ``field_score`` is the mean.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb

_SPEC = importlib.util.spec_from_file_location(
    "documents", Path(__file__).with_name("documents.py")
)
assert _SPEC is not None
assert _SPEC.loader is not None
documents = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(documents)

RATES = ["pass_rate", "pass_rate_judged", "field_score", "overall_score"]
PROFILES = ("paper", "strict")
EPSILON = 1e-9
#: Cases per property; more of them for a longer search.
EXAMPLES = int(os.environ.get("EXTRACTBENCH_FUZZ", "30"))


class Case:
    """A schema, a gold document that fits it, and a prediction that is more or less wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.schema = documents.schema(self.rng)
        self.gold = documents.fitting(self.schema, self.schema, self.rng)
        self.predicted = documents.damaged(self.gold, self.rng)
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            self.predicted = self.extended()

    def extended(self, **options: Any) -> Any:
        return documents.extended(self.gold, self.predicted, self.schema, self.rng, **options)

    def evaluate(self, predicted: Any, profile: str) -> xb.core.Evaluation:
        return xb.evaluate(self.schema, self.gold, predicted, profile=profile)


def check_gold_against_itself(case: Case) -> None:
    for profile in PROFILES:
        summary = case.evaluate(copy.deepcopy(case.gold), profile).summary
        if summary["evaluated"]:
            assert summary[RATES].tolist() == [1, 1, 1, 1], profile


def check_additions_where_gold_has_nothing(case: Case) -> None:
    extended = case.extended()
    for profile in PROFILES:
        before, after = (case.evaluate(p, profile) for p in (case.predicted, extended))
        assert (after.summary[RATES] <= before.summary[RATES] + EPSILON).all(), profile
        columns = ["precision", "recall", "f1", "score"]
        one, two = (
            ev.arrays.set_index("path")[columns].astype("Float64") for ev in (before, after)
        )
        assert not (two.reindex(one.index) > one + EPSILON).fillna(value=False).any(axis=None)


class Weights(NamedTuple):
    """The weight of absent places, of all others, what the others score; and the largest."""

    absent: float = 0.0
    others: float = 0.0
    right: float = 0.0
    largest: float = 0.0


def weights(ev: xb.core.Evaluation, profile: str) -> dict[str, Weights]:
    """Return the weights by schema field, where each of them counts once, else of all places."""
    rows = ev.fields[ev.fields["counted"]]
    score = rows["score"].fillna(0).astype(float)
    parts: dict[str, Weights] = {}
    columns = (rows["field"], rows["outcome"], rows["weight"], score)
    for field, outcome, weight, value in zip(*columns, strict=True):
        key = field if profile == "strict" else ""
        old = parts.get(key, Weights())
        if outcome == "both_absent":
            new = old._replace(absent=old.absent + weight)
        else:
            new = old._replace(others=old.others + weight, right=old.right + weight * value)
        parts[key] = new._replace(largest=max(old.largest, weight))
    return parts


def check_additions_anywhere(case: Case) -> None:
    extended = case.extended(items=True)
    for profile in PROFILES:
        before, after = (case.evaluate(p, profile) for p in (case.predicted, extended))
        old, new = (weights(ev, profile) for ev in (before, after))
        for field, part in new.items():
            assert part.absent <= old.get(field, Weights()).absent + EPSILON, (profile, field)
        bounds = [
            (
                min(
                    1.0,
                    (part.absent + new.get(field, Weights()).right) / (part.absent + part.others),
                ),
                part.largest,
            )
            for field, part in old.items()
        ]
        if bounds:
            most = sum(bound * weight for bound, weight in bounds) / sum(w for _, w in bounds)
            assert after.summary["field_score"] <= most + EPSILON, profile


def check_renamed_keys(case: Case) -> None:
    names = documents.renaming(case.rng)
    one = xb.evaluate(case.schema, case.gold, case.predicted)
    two = xb.evaluate(
        documents.renamed_schema(case.schema, names),
        documents.renamed(case.gold, names),
        documents.renamed(case.predicted, names),
    )
    columns = [*RATES, "evaluated", "gold_coverage"]
    pd.testing.assert_series_equal(one.summary[columns], two.summary[columns])


CHECKS = [
    check_gold_against_itself,
    check_additions_where_gold_has_nothing,
    check_additions_anywhere,
    check_renamed_keys,
]


@settings(max_examples=EXAMPLES)
@pytest.mark.parametrize("check", CHECKS)
@given(seed=st.integers(0, 2**32 - 1))
def test_property(check: Callable[[Case], None], seed: int) -> None:
    check(Case(seed))
