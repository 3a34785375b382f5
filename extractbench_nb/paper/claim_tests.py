"""`claims`: the statements of section 4.2, each with the rule that gives its verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.statistics import shipped_rows
from extractbench_nb.paper.cells import CLAUDE, DOMAINS, GPT, MODELS, stated, value_of
from extractbench_nb.paper.facts import Facts, Tally, attempts, facts_of, tally
from extractbench_nb.paper.regression import (
    FACTORS,
    OUTCOMES,
    Association,
    associate,
    factor_values,
    outcome_values,
)

SUPPORTED, WEAK, CONTRADICTED = "supported", "weak", "contradicted"
NOT_IDENTIFIABLE = "not identifiable"
VERDICTS = (SUPPORTED, WEAK, NOT_IDENTIFIABLE, CONTRADICTED)

LEVEL = 0.05

_GROUPS = ("pooled", "able")

#: Number of analyses of the association of a factor with failure.
ANALYSES = len(OUTCOMES) * len(_GROUPS) * (1 + len(DOMAINS))


class _Test(NamedTuple):
    """The computed part of one claim; its place and its text are in the catalogue."""

    id: str
    evidence: str
    verdict: str
    reason: str
    p_value: float | None = None


def of_association(association: Association, *, sign: int) -> tuple[str, str]:
    """Judge a claimed rank association."""
    if association.correlation is None or association.p_value is None:
        return NOT_IDENTIFIABLE, "the outcome is the same in all domains"
    if association.correlation * sign <= 0:
        return CONTRADICTED, "the correlation has the opposite sign"
    if not association.steady:
        return WEAK, "the sign changes when one domain is left out"
    if association.p_value > LEVEL:
        return (
            WEAK,
            f"as claimed, but one in {1 / association.p_value:.0f} domain orders is as extreme",
        )
    return SUPPORTED, "as claimed, and the sign is the same whichever domain is left out"


def of_p_value(p_value: float) -> str:
    """Judge a claimed excess: ``supported`` at 0.05 or less, else ``weak``."""
    return SUPPORTED if p_value <= LEVEL else WEAK


def strongest_factors(facts: Facts) -> Mapping[str, int]:
    """Count for each factor the analyses in which it has the largest rank correlation.

    There are 36: three outcomes, all models with and without Claude's blocked documents, all five
    domains and each four of them. A tie counts for each of its factors.
    """
    wins: Counter[str] = Counter(dict.fromkeys(FACTORS, 0))
    for outcome in OUTCOMES:
        for group in _GROUPS:
            values = outcome_values(outcome, group, facts)
            for left_out in (None, *range(len(DOMAINS))):
                rest = [i for i in range(len(DOMAINS)) if i != left_out]
                sizes = {f: associate(factor_values(f)[rest], values[rest]).size for f in FACTORS}
                top = max(sizes.values())
                wins.update(f for f, size in sizes.items() if top - size < LEVEL / 100)
    return wins


_TOP = 0.95
_WEAK_CORRELATION = 0.5


def _association(
    facts: Facts, factor: str, outcome: str = "validity", group: str = "pooled"
) -> Association:
    return associate(factor_values(factor), outcome_values(outcome, group, facts))


def _rank(association: Association, what: str) -> str:
    return (
        f"{what}: Spearman {association.correlation or 0:+.2f}, with one domain left out "
        f"{association.without_one_low or 0:+.2f} to {association.without_one_high or 0:+.2f}"
    )


def _share(counted: Tally) -> str:
    return f"{counted.valid} of {counted.documents}"


def _fisher(one: Tally, two: Tally) -> float:
    """Return the p-value of Fisher's exact test on valid and invalid outputs."""
    from scipy.stats import fisher_exact

    return float(fisher_exact(np.array([[c.valid, c.invalid] for c in (one, two)])).pvalue)


def _breadth_and_volume(facts: Facts) -> Iterator[_Test]:
    """Test the claims about keys and gold tokens."""
    wins = strongest_factors(facts)
    ranking = ", ".join(f"{f} {n}" for f, n in sorted(wins.items(), key=lambda item: -item[1]))
    for id_, factor in (("breadth-dominant", "keys"), ("volume-dominant", "tokens")):
        share = wins[factor] / ANALYSES
        if share >= _TOP:
            verdict, reason = SUPPORTED, "it is the strongest factor in nearly all analyses"
        elif share == 0:
            verdict, reason = CONTRADICTED, "it is never the strongest factor"
        else:
            verdict = NOT_IDENTIFIABLE
            reason = (
                "the strongest factor depends on the outcome, on whether documents that Claude "
                "could not read are counted, and on single domains"
            )
        evidence = f"times strongest in {ANALYSES} analyses (ties count for all): {ranking}"
        yield _Test(id_, evidence, verdict, reason)

    result = _association(facts, "keys", "pass_rate")
    scored = _association(facts, "keys", "scored_pass_rate")
    verdict, reason = of_association(result, sign=-1)
    yield _Test(
        "breadth-lowers-pass-rate",
        f"{_rank(result, 'pass rate')}; {_rank(scored, 'share of the fields that are scored')}",
        verdict,
        f"{reason}; part of the effect is arithmetic, since the pass rate divides by keys",
        result.p_value,
    )

    tenk, long = (value_of(6, domain, "tokens") for domain in ("10-K/Q", "research"))
    yield _Test(
        "10-k-exceeds-output-capacity",
        f"10-K/Q {tenk:,.0f} gold tokens per document, 0 valid; research {long:,.0f}, "
        f"{_share(attempts('pooled', 'research'))} valid",
        NOT_IDENTIFIABLE,
        "research papers need more tokens on average, and some of their outputs are valid; but one "
        "long paper dominates that average, and the paper does not say which outputs were valid",
    )

    result = _association(facts, "tokens", group="GPT")
    rival = _association(facts, "array_items", group="GPT")
    verdict, reason = of_association(result, sign=-1)
    each = "; ".join(_rank(_association(facts, "tokens", group=model), model) for model in GPT)
    yield _Test(
        "volume-drives-gpt",
        f"{_rank(result, 'both')}; {each}; array items for both: {rival.correlation or 0:+.2f}",
        verdict,
        f"{reason}; array items, which correlate with tokens, are associated more strongly",
        result.p_value,
    )

    sizes = {
        group: [_association(facts, f, group=group).size for f in ("tokens", "keys")]
        for group in _GROUPS
    }
    better = [tokens > keys for tokens, keys in sizes.values()]
    correlations = "; ".join(f"{g}: tokens {a:.2f}, keys {b:.2f}" for g, (a, b) in sizes.items())
    yield _Test(
        "volume-over-breadth",
        f"absolute Spearman correlations, {correlations}",
        SUPPORTED if all(better) else WEAK if any(better) else NOT_IDENTIFIABLE,
        "tokens are not a better predictor than keys, with or without blocked documents; five "
        "domains are too few to rank two factors"
        if not any(better)
        else "tokens are the better predictor in some of the comparisons",
    )


def _arrays_depth_and_pages(facts: Facts) -> Iterator[_Test]:
    """Test the claims about the other three factors."""
    both = {
        factor: [_association(facts, factor, group=group) for group in _GROUPS]
        for factor in ("array_items", "depth", "pages")
    }
    evidence = {
        factor: f"{_rank(pooled, 'all')}; {_rank(able, 'without blocked documents')}"
        for factor, (pooled, able) in both.items()
    }
    _, able = both["array_items"]
    verdict, reason = of_association(able, sign=-1)
    p_value = able.p_value
    yield _Test("arrays-lower-validity", evidence["array_items"], verdict, reason, p_value)

    gap = {f: value_of(6, "research", f) / value_of(6, "credit", f) for f in FACTORS}
    credit, research = (attempts("able", domain) for domain in ("credit", "research"))
    others = ", ".join(f"{f} x{g:.1f}" for f, g in gap.items())
    yield _Test(
        "arrays-beyond-breadth",
        f"valid without blocked documents: {_share(research)} against {_share(credit)}; "
        f"research against credit: {others}",
        NOT_IDENTIFIABLE if gap["tokens"] >= gap["array_items"] else WEAK,
        "the two domains differ in output, depth and document length as much as in arrays; two "
        "domains cannot separate these factors",
    )

    sizes = {f: _association(facts, f).size for f in FACTORS}
    validity, able = both["depth"]
    yield _Test(
        "depth-weak",
        f"{evidence['depth']}; least associated of the five: {min(sizes, key=lambda f: sizes[f])}",
        WEAK if max(validity.size, able.size) < _WEAK_CORRELATION else CONTRADICTED,
        "no association is visible, but five domains could hardly show a moderate one: without one "
        "domain the correlation may be negative or positive",
        validity.p_value,
    )

    passes = _association(facts, "depth", "scored_pass_rate")
    deepest = max(DOMAINS, key=lambda domain: facts.depth[domain])
    present = int(facts.of(deepest, "present").sum())
    scored = facts.documents[deepest] * facts.scored[deepest]
    yield _Test(
        "depth-hurts-accuracy-more",
        f"{_rank(validity, 'validity')}; {_rank(passes, 'passed of the scored fields')}",
        WEAK if passes.size > validity.size else CONTRADICTED,
        f"neither differs clearly from zero; the deepest domain is {deepest}, whose golds have a "
        f"value for {present} of {scored} scored fields",
        passes.p_value,
    )

    _, able = both["pages"]
    rest = [index for index, domain in enumerate(DOMAINS) if domain != "credit"]
    values = outcome_values("validity", "able", facts)
    without = associate(factor_values("pages")[rest], values[rest]).correlation or 0.0
    yield _Test(
        "input-length-no-predictor",
        evidence["pages"],
        WEAK if able.size < _WEAK_CORRELATION else CONTRADICTED,
        "no association remains without the blocked documents, but this depends on the credit "
        f"agreements, which are long and all valid: without them it is {without:+.2f}",
        able.p_value,
    )


def _models_and_domains(facts: Facts) -> Iterator[_Test]:
    """Test the claims about single models and domains."""
    claimed = stated("highest validity of GPT-5 without credit").value or 0
    gpt_5, gpt_5_2 = (
        {d: attempts(model, d) for d in DOMAINS if d != "credit"} for model in ("GPT-5", GPT[0])
    )
    highest = max(counted.validity for counted in gpt_5.values())
    yield _Test(
        "gpt-5-elsewhere",
        "valid: " + ", ".join(f"{d} {_share(c)}" for d, c in gpt_5.items()),
        SUPPORTED if round(highest) <= claimed else CONTRADICTED,
        f"the highest share is {highest:.0f}%",
    )
    best = {d: max(attempts(model, d).valid for model in MODELS) for d in gpt_5_2}
    level = [d for d, c in gpt_5_2.items() if c.valid and c.valid == best[d]]
    yield _Test(
        "gpt-models-elsewhere",
        f"{GPT[0]} valid: " + ", ".join(f"{d} {_share(c)}" for d, c in gpt_5_2.items()),
        CONTRADICTED if level else SUPPORTED,
        f"{GPT[0]} has as many valid outputs as any model on {' and '.join(level)}",
    )

    claude, others = attempts("Claude", "credit"), attempts("able", "credit")
    p_value = _fisher(claude, others)
    pages = facts.of("credit", "pages")
    short = pages[pages <= (stated("page limit", "section 4.2").value or 0)]
    yield _Test(
        "page-limit-blocks-claude",
        f"valid: Claude {_share(claude)}, others {_share(others)}; page limit rejections: "
        + ", ".join(f"{m} {value_of(7, 'page limit', m):.0f}" for m in CLAUDE),
        of_p_value(p_value),
        f"the rejections name the limit; {len(short)} of the agreements has {short.iloc[0]:.0f} "
        "pages and must have failed for another reason",
        p_value,
    )

    two = {domain: attempts("pooled", domain) for domain in ("resumes", "sports")}
    resumes, sports = two.values()
    as_said = resumes.validity < sports.validity and resumes.pass_rate > sports.pass_rate
    ceiling = {d: 100 * facts.scored[d] / facts.keys[d] for d in two}
    yield _Test(
        "profiles-differ",
        "; ".join(
            f"{d}: {_share(c)} valid, pass rate {c.pass_rate:.1f}% of at most {ceiling[d]:.1f}%"
            for d, c in two.items()
        ),
        WEAK if as_said else CONTRADICTED,
        f"the test treats attempts as independent, but they are {len(MODELS)} models on "
        f"{facts.documents['resumes']} and {facts.documents['sports']} documents; the sports golds "
        "lack most of their scored fields",
        _fisher(resumes, sports),
    )

    flash, pro = ({d: attempts(model, d).passed for d in DOMAINS} for model in MODELS[:2])
    lead = {d: flash[d] - pro[d] for d in DOMAINS}
    ahead = [d for d in DOMAINS if lead[d] > 0]
    yield _Test(
        "flash-over-pro",
        f"difference in passed fields: {', '.join(f'{d} {n:+d}' for d, n in lead.items())}",
        WEAK if 2 * len(ahead) > len(DOMAINS) else CONTRADICTED,
        f"ahead in {len(ahead)} of {len(DOMAINS)} domains; "
        f"{max(ahead, key=lambda d: lead[d])} accounts for nearly all of the lead",
    )


def _kinds_of_failure() -> Iterator[_Test]:
    """Test the claims about where failures are concentrated."""
    from scipy.stats import hypergeom

    for id_, kind in (("empty-on-10-k", "empty"), ("trailing-commas-on-10-k", "trailing comma")):
        figure = stated(f"{kind} on 10-K/Q")
        prone = [model for model in MODELS if value_of(7, kind, model)]
        of_kind = int(sum(value_of(7, kind, model) for model in prone))
        answered = int(
            sum(value_of(7, "total", m) - value_of(7, "page limit", m) for m in prone)
        )  # what is rejected for its pages cannot fail otherwise
        tenk = tally(models=tuple(prone), domains=("10-K/Q",))
        drawn = hypergeom(answered, tenk.invalid, of_kind)
        p_value = float(drawn.sf((figure.value or 0) - 1))
        yield _Test(
            id_,
            f"{figure.printed} of {of_kind} are on 10-K/Q; the models with such failures have "
            f"{answered} failures apart from page limit rejections, {tenk.invalid} of them on "
            f"10-K/Q, so {drawn.mean():.1f} are expected",
            WEAK,
            "more than expected, but the test treats attempts as independent"
            if p_value <= LEVEL
            else "hardly more than expected",
            p_value,
        )

    model = "GPT-5"
    empty = int(value_of(7, "empty", model))
    invalid = {d: attempts(model, d).invalid for d in DOMAINS}
    shortest = min((d for d in DOMAINS if invalid[d]), key=lambda d: value_of(6, d, "tokens"))
    yield _Test(
        "silent-above-a-threshold",
        f"all {empty} failures of {model} are empty: "
        + ", ".join(f"{d} {n}" for d, n in invalid.items()),
        WEAK if empty == sum(invalid.values()) else CONTRADICTED,
        f"{model} returns nothing for {invalid[shortest]} {shortest} too, at "
        f"{value_of(6, shortest, 'tokens'):,.0f} gold tokens, while some of the other "
        f"{shortest} outputs are valid: no single length threshold separates the two",
    )


CLAIM_COLUMNS = FrameSpec(
    "claims",
    "one row per claim",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "section and paragraph"),
        Column("claim", "string", "what is claimed, in our words and so that it can be tested"),
        Column("evidence", "string", "the figures it is tested on"),
        Column("p_value", "Float64", "exact, two-sided for correlations", "0 to 1", True),
        Column("verdict", "string", "verdict by the published counts", ", ".join(VERDICTS)),
        Column("reason", "string", "why this verdict"),
    ),
)


def claims() -> pd.DataFrame:
    """Test the paper's claims about complexity and failure on its own published counts.

    Five domains are five points. A factor of the schema or the documents has one value per domain.
    All conclusions rest on n = 5: the smallest exact two-sided p-value is 2/120 = 0.017,
    0.083 after correction for the five factors that are compared, and the factors are correlated.
    Attempts of six models on the same documents are not independent either. A claim is
    ``supported`` only where the counts show it directly or an exact test over the domains does,
    whichever domain is left out.

    Returns
    -------
    pandas.DataFrame
        One row per claim: id, where, claim, evidence, p_value, verdict (``supported``, ``weak``,
        ``not identifiable``, ``contradicted``), reason.

    See Also
    --------
    correlations : The rank correlations behind it.
    regressions : Logistic regressions, one per factor.

    Examples
    --------
    >>> frame = claims().set_index("id")
    >>> frame.loc["breadth-dominant", "verdict"]
    'not identifiable'
    """
    facts = facts_of()
    tests = (
        *_breadth_and_volume(facts),
        *_arrays_depth_and_pages(facts),
        *_models_and_domains(facts),
        *_kinds_of_failure(),
    )
    claimed = {row["id"]: row for row in shipped_rows("data/claims.csv")}
    for row in claimed.values():  # {a quantity} is the number that the paper prints
        row["claim"] = re.sub("{(.+?)}", lambda name: f"{stated(name[1]).value:.0f}", row["claim"])
    computed = {test.id: test._asdict() for test in tests}
    return CLAIM_COLUMNS.from_records(row | computed[name] for name, row in claimed.items())
