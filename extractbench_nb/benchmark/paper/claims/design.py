"""What is measured on the five domains: five factors, three outcomes, ten groups of models."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from extractbench_nb.benchmark.paper.cells import value_of
from extractbench_nb.benchmark.paper.counts import Tally, tally
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import CLAUDE, DOMAINS, GPT, MODELS

__all__ = [
    "FACTORS",
    "GROUPS",
    "OUTCOMES",
    "Numbers",
    "attempts",
    "factor_values",
    "outcome_values",
]

Numbers: TypeAlias = npt.NDArray[np.float64]

#: Columns of Table 6 that the paper holds against failures.
FACTORS = ("keys", "tokens", "pages", "depth", "array_items")

#: Shares by domain: valid documents; passed fields of documents x keys; passed of scored fields.
OUTCOMES = ("validity", "pass_rate", "scored_pass_rate")

#: Models that are added up. ``able`` leaves Claude out where its page limit kept it out.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "pooled": MODELS,
        "able": MODELS,
        "GPT": GPT,
        "Claude": CLAUDE,
        **{model: (model,) for model in MODELS},
    }
)


def factor_values(factor: str) -> Numbers:
    """Return a factor by domain, as Table 6 prints it."""
    return np.array([value_of(6, domain, factor) for domain in DOMAINS])


def attempts(group: str, domain: str) -> Tally:
    """Return the counts of a group of models on a domain."""
    models = GROUPS[group]
    if group == "able" and domain == "credit":
        models = tuple(model for model in models if model not in CLAUDE)
    return tally(models=models, domains=(domain,))


def outcome_values(outcome: str, group: str, facts: Facts) -> Numbers:
    """Return an outcome by domain, from 0 to 1."""
    parts = [outcome_counts(outcome, attempts(group, d), facts.scored[d]) for d in DOMAINS]
    return np.array([successes / trials for successes, trials in parts])


def outcome_counts(outcome: str, counted: Tally, scored: int) -> tuple[int, int]:
    """Return successes and trials of an outcome."""
    if outcome == "validity":
        return counted.valid, counted.documents
    if outcome == "pass_rate":
        return counted.passed, counted.fields
    return counted.passed, counted.documents * scored
