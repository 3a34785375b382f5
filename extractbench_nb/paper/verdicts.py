"""The rules by which claims get their verdicts: numbers in, verdict and reason out.

A rule can return each of the verdicts that it names, whatever the claim. Attempts of six models on
the same documents depend on each other, so a test that treats them as independent needs a smaller
p-value than one over domains or models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from extractbench_nb.paper.regression import Association, spearman

SUPPORTED, WEAK, CONTRADICTED = "supported", "weak", "contradicted"
NOT_IDENTIFIABLE = "not identifiable"
VERDICTS = (SUPPORTED, WEAK, NOT_IDENTIFIABLE, CONTRADICTED)

#: Level of tests over domains or models, and of tests that treat attempts as independent.
LEVEL, LEVEL_OF_ATTEMPTS = 0.05, 0.01
#: Share of the analyses in which a statement has to hold, and a correlation that is not weak.
NEARLY_ALL, NOT_WEAK = 0.95, 0.5

#: What each rule asks, in one sentence.
RULES: Mapping[str, str] = {
    "association": "supported if the exact rank correlation over the domains has the claimed sign "
    f"whichever domain is left out and p <= {LEVEL}; contradicted if it has the other sign",
    "no association": f"supported if the rank correlation is below {NOT_WEAK} whichever domain is "
    f"left out; contradicted if it is {NOT_WEAK} or more over all domains",
    "analyses": f"supported if it holds in {NEARLY_ALL:.0%} of the analyses (outcomes, groups of "
    "models, domains left out); contradicted if in none; otherwise not identifiable",
    "count": "supported if the printed counts show it, otherwise contradicted",
    "difference": f"contradicted if it goes the other way; supported if p <= {LEVEL}, or "
    f"{LEVEL_OF_ATTEMPTS} where attempts are taken as independent",
    "threshold": "supported if all attempts fail in the domains above a size and none below; "
    "contradicted if failures do not increase with size",
    "one cause": "contradicted if it goes the other way; not identifiable if another factor "
    f"differs at least half as much, on a log scale; supported if p <= {LEVEL_OF_ATTEMPTS}",
}


class Ruled(NamedTuple):
    """A verdict, the rule that gave it, and why."""

    rule: str
    verdict: str
    reason: str


def by_association(association: Association, *, sign: int) -> Ruled:
    """Judge a claimed rank association of one sign."""
    rule = "association"
    if association.correlation is None or association.p_value is None:
        return Ruled(rule, NOT_IDENTIFIABLE, "the outcome is the same in all domains")
    if association.correlation * sign <= 0:
        return Ruled(rule, CONTRADICTED, "the correlation has the opposite sign")
    if not association.steady:
        return Ruled(rule, WEAK, "the sign changes when one domain is left out")
    if association.p_value > LEVEL:
        orders = f"one in {1 / association.p_value:.0f} domain orders is as extreme"
        return Ruled(rule, WEAK, f"as claimed, but {orders}")
    why = "as claimed, and the sign is the same whichever domain is left out"
    return Ruled(rule, SUPPORTED, why)


def by_no_association(associations: Iterable[Association]) -> Ruled:
    """Judge the claim that a factor is a weak predictor, in several groups of attempts."""
    rule, found = "no association", list(associations)
    if any(association.size >= NOT_WEAK for association in found):
        return Ruled(rule, CONTRADICTED, f"a correlation is {NOT_WEAK} or more")
    ends = [end for a in found for end in (a.without_one_low, a.without_one_high)]
    if all(end is not None and abs(end) < NOT_WEAK for end in ends):
        return Ruled(rule, SUPPORTED, "no correlation is larger, whichever domain is left out")
    why = "no association is visible, but without one domain there may be a strong one"
    return Ruled(rule, WEAK, why)


def by_analyses(holds: Sequence[bool]) -> Ruled:
    """Judge a statement by the share of analyses in which it holds."""
    share = sum(holds) / len(holds)
    why = f"it holds in {sum(holds)} of {len(holds)} analyses"
    if share >= NEARLY_ALL:
        return Ruled("analyses", SUPPORTED, why)
    return Ruled("analyses", NOT_IDENTIFIABLE if share else CONTRADICTED, why)


def by_count(holds: bool, why: str) -> Ruled:
    """Judge a statement that the printed counts decide."""
    return Ruled("count", SUPPORTED if holds else CONTRADICTED, why)


def by_difference(as_claimed: bool, p_value: float, *, level: float = LEVEL) -> Ruled:
    """Judge a claimed difference by its direction and an exact test."""
    if not as_claimed:
        return Ruled("difference", CONTRADICTED, "the difference goes the other way")
    units = "attempts, taken as independent" if level == LEVEL_OF_ATTEMPTS else "models"
    why = f"as claimed; exact test over {units}: p = {p_value:.2g}, level {level}"
    return Ruled("difference", SUPPORTED if p_value <= level else WEAK, why)


def by_threshold(sizes: Mapping[str, float], failed: Mapping[str, float]) -> Ruled:
    """Judge whether attempts fail above a size: shares of failures by domain, from 0 to 1."""
    order = sorted(sizes, key=lambda domain: sizes[domain])
    shares = [failed[domain] for domain in order]
    if set(shares) == {0, 1} and shares == sorted(shares):
        return Ruled("threshold", SUPPORTED, "one size separates failures from the rest")
    trend = spearman(np.array([sizes[d] for d in order]), np.array(shares))
    if not float(trend) > 0:
        return Ruled("threshold", CONTRADICTED, "failures do not increase with size")
    partly = [domain for domain in order if 0 < failed[domain] < 1]
    why = "failures increase with size, but no size separates them"
    return Ruled("threshold", WEAK, f"{why}: {', '.join(partly)} fail in part" if partly else why)


def by_one_cause(
    factor: str, ratios: Mapping[str, float], *, as_claimed: bool, p_value: float
) -> Ruled:
    """Judge whether a difference of two domains is due to one factor: ratios of the factors."""
    if not as_claimed:
        return Ruled("one cause", CONTRADICTED, "the difference goes the other way")
    gap = abs(math.log(ratios[factor]))
    rivals = [f for f, r in ratios.items() if f != factor and abs(math.log(r)) >= gap / 2]
    if rivals:
        why = f"the two domains differ as much, or half as much, in {' and '.join(rivals)}"
        return Ruled("one cause", NOT_IDENTIFIABLE, why)
    why = f"no other factor differs half as much; p = {p_value:.2g}"
    return Ruled("one cause", SUPPORTED if p_value <= LEVEL_OF_ATTEMPTS else WEAK, why)
