"""One claim of the paper, and the rules by which it gets a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from extractbench_nb.benchmark.paper.claims.correlation import Association, associate
from extractbench_nb.benchmark.paper.claims.design import (
    FACTORS,
    OUTCOMES,
    Numbers,
    factor_values,
    outcome_values,
)
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import DOMAINS

__all__ = [
    "CONTRADICTED",
    "LEVEL",
    "NOT_IDENTIFIABLE",
    "SUPPORTED",
    "VERDICTS",
    "WAYS",
    "WEAK",
    "Claim",
    "of_association",
    "of_p_value",
    "strongest_factors",
]

SUPPORTED, WEAK, CONTRADICTED = "supported", "weak", "contradicted"
NOT_IDENTIFIABLE = "not identifiable"
VERDICTS = (SUPPORTED, WEAK, NOT_IDENTIFIABLE, CONTRADICTED)

LEVEL = 0.05

_LOOKS = ("pooled", "able")

#: Ways to look at the association of a factor with failure.
WAYS = len(OUTCOMES) * len(_LOOKS) * (1 + len(DOMAINS))


class Claim(NamedTuple):
    """A row of `claims`; the fields are the columns of ``CLAIM_COLUMNS``."""

    id: str
    where: str
    claim: str
    evidence: str
    p_value: float | None
    verdict: str
    reason: str


def of_association(found: Association, *, sign: int) -> tuple[str, str]:
    """Judge a claimed rank association.

    Parameters
    ----------
    found : Association
        Correlation over the domains.
    sign : int
        1 or -1, as claimed.

    Returns
    -------
    tuple of str
        Verdict and reason. ``supported``: the claimed sign, an exact p-value of 0.05 at most, and
        the same sign whichever domain is left out. ``weak``: the claimed sign without one of
        these. ``contradicted``: the other sign.
    """
    if found.correlation is None or found.p_value is None:
        return NOT_IDENTIFIABLE, "the outcome is the same in all domains"
    if found.correlation * sign <= 0:
        return CONTRADICTED, "the ranks go the other way"
    if not found.steady:
        return WEAK, "the sign changes when one domain is left out"
    if found.p_value > LEVEL:
        return (
            WEAK,
            f"as claimed, but one in {1 / found.p_value:.0f} orders of the domains does as well",
        )
    return SUPPORTED, "as claimed, and the sign stays whichever domain is left out"


def of_p_value(p_value: float) -> str:
    """Judge a claimed excess: ``supported`` at 0.05 or less, else ``weak``."""
    return SUPPORTED if p_value <= LEVEL else WEAK


def strongest_factors(facts: Facts) -> Mapping[str, int]:
    """Count which factor has the largest rank correlation, over the ways to look at it.

    Three outcomes, all models with and without Claude's blocked documents, all five domains and
    each four of them: 36 ways. A tie gives each of its factors a place.

    Parameters
    ----------
    facts : Facts
        Scored fields a document, by domain.

    Returns
    -------
    mapping of str to int
        Ways in which each factor is strongest.
    """
    found: Counter[str] = Counter(dict.fromkeys(FACTORS, 0))
    for outcome in OUTCOMES:
        for group in _LOOKS:
            values = outcome_values(outcome, group, facts)
            for left_out in (None, *range(len(DOMAINS))):
                kept = [i for i in range(len(DOMAINS)) if i != left_out]
                found.update(_strongest(values[kept], kept))
    return found


def _strongest(values: Numbers, kept: list[int]) -> list[str]:
    sizes = {f: abs(associate(factor_values(f)[kept], values).correlation or 0.0) for f in FACTORS}
    top = max(sizes.values())
    return [factor for factor, size in sizes.items() if top - size < LEVEL / 100]
