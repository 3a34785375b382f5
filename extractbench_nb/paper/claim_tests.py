"""`claims`: the statements of sections 4.1 and 4.2, each with the rule that gives its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
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
    spearman,
)
from extractbench_nb.paper.verdicts import (
    LEVEL,
    LEVEL_OF_ATTEMPTS,
    RULES,
    VERDICTS,
    Ruled,
    by_analyses,
    by_association,
    by_count,
    by_difference,
    by_no_association,
    by_one_cause,
    by_threshold,
)
from extractbench_nb.stats.intervals import Drawing, sign_flip_tests

_GROUPS = ("pooled", "able")
#: All domains, and each four of them.
_SUBSETS = ([*range(len(DOMAINS))], *([*range(i), *range(i + 1, 5)] for i in range(len(DOMAINS))))

#: Number of analyses of the association of a factor with failure.
ANALYSES = len(OUTCOMES) * len(_GROUPS) * len(_SUBSETS)


class _Test(NamedTuple):
    """The computed part of one claim; its place and its text are in the catalogue."""

    id: str
    evidence: str
    ruled: Ruled
    caveat: str = ""
    p_value: float | None = None


def sizes_of_factors(facts: Facts) -> list[dict[str, float]]:
    """Return the absolute rank correlation of each factor, in each of 36 analyses.

    Three outcomes, all models with and without Claude's blocked documents, all five domains and
    each four of them.
    """
    found = []
    for outcome, group, rest in product(OUTCOMES, _GROUPS, _SUBSETS):
        values = outcome_values(outcome, group, facts)[rest]
        found.append({f: associate(factor_values(f)[rest], values).size for f in FACTORS})
    return found


def strongest_factors(facts: Facts) -> Mapping[str, int]:
    """Count for each factor the analyses in which it is the strongest; a tie counts for all."""
    sizes = sizes_of_factors(facts)
    return {factor: sum(_leads(factor, size) for size in sizes) for factor in FACTORS}


def _leads(factor: str, sizes: Mapping[str, float]) -> bool:
    return max(sizes.values()) - sizes[factor] < LEVEL / 100


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
    sizes = sizes_of_factors(facts)
    wins = strongest_factors(facts)
    ranking = ", ".join(f"{f} {n}" for f, n in sorted(wins.items(), key=lambda item: -item[1]))
    for id_, factor in (("breadth-dominant", "keys"), ("volume-dominant", "tokens")):
        ruled = by_analyses([_leads(factor, size) for size in sizes])
        evidence = f"times strongest in {ANALYSES} analyses (ties count for all): {ranking}"
        yield _Test(id_, evidence, ruled)
    yield _Test(
        "volume-over-breadth",
        f"absolute Spearman correlations with validity, all attempts: tokens "
        f"{_association(facts, 'tokens').size:.2f}, keys {_association(facts, 'keys').size:.2f}; "
        f"without blocked documents: {_association(facts, 'tokens', group='able').size:.2f}, "
        f"{_association(facts, 'keys', group='able').size:.2f}",
        by_analyses([size["tokens"] - size["keys"] > LEVEL / 100 for size in sizes]),
        "five domains are too few to rank two factors",
    )

    result = _association(facts, "keys", "pass_rate")
    scored = _association(facts, "keys", "scored_pass_rate")
    yield _Test(
        "breadth-lowers-pass-rate",
        f"{_rank(result, 'pass rate')}; {_rank(scored, 'share of the fields that are scored')}",
        by_association(result, sign=-1),
        "part of the effect is arithmetic, since the pass rate divides by keys",
        result.p_value,
    )

    lengths = {domain: value_of(6, domain, "tokens") for domain in DOMAINS}
    able = {domain: attempts("able", domain) for domain in DOMAINS}
    yield _Test(
        "10-k-exceeds-output-capacity",
        "gold tokens per document and valid outputs: "
        + ", ".join(f"{d} {lengths[d]:,.0f}, {_share(able[d])}" for d in DOMAINS),
        by_threshold(lengths, {d: c.invalid / c.documents for d, c in able.items()}),
        "research papers need more tokens on average than 10-K/Q; but one long paper dominates "
        "that average, and the paper does not say which outputs were valid",
    )

    result = _association(facts, "tokens", group="GPT")
    rival = _association(facts, "array_items", group="GPT")
    each = "; ".join(_rank(_association(facts, "tokens", group=model), model) for model in GPT)
    yield _Test(
        "volume-drives-gpt",
        f"{_rank(result, 'both')}; {each}; array items for both: {rival.correlation or 0:+.2f}",
        by_association(result, sign=-1),
        "array items, which correlate with tokens, are associated more strongly"
        if rival.size > result.size
        else "",
        result.p_value,
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
    ruled = by_association(able, sign=-1)
    yield _Test("arrays-lower-validity", evidence["array_items"], ruled, p_value=able.p_value)

    gap = {f: value_of(6, "research", f) / value_of(6, "credit", f) for f in FACTORS}
    credit, research = (attempts("able", domain) for domain in ("credit", "research"))
    p_value = _fisher(credit, research)
    yield _Test(
        "arrays-beyond-breadth",
        f"valid without blocked documents: {_share(research)} against {_share(credit)}; "
        f"research against credit: {', '.join(f'{f} x{g:.1f}' for f, g in gap.items())}",
        by_one_cause(
            "array_items", gap, as_claimed=research.validity < credit.validity, p_value=p_value
        ),
        "two domains cannot separate factors",
        p_value,
    )

    sizes = {f: _association(facts, f).size for f in FACTORS}
    yield _Test(
        "depth-weak",
        f"{evidence['depth']}; least associated of the five: {min(sizes, key=lambda f: sizes[f])}",
        by_no_association(both["depth"]),
        p_value=both["depth"][0].p_value,
    )

    passes = _association(facts, "depth", "scored_pass_rate")
    deepest = max(DOMAINS, key=lambda domain: facts.depth[domain])
    present = int(facts.of(deepest, "present").sum())
    scored = facts.documents[deepest] * facts.scored[deepest]
    yield _Test(
        "depth-hurts-accuracy-more",
        f"{_rank(both['depth'][0], 'validity')}; {_rank(passes, 'passed of the scored fields')}",
        by_analyses(_lower_for_passes(facts)),
        f"the deepest domain is {deepest}, whose golds have a value for {present} of {scored} "
        "scored fields",
        passes.p_value,
    )

    rest = [index for index, domain in enumerate(DOMAINS) if domain != "credit"]
    values = outcome_values("validity", "able", facts)
    without = associate(factor_values("pages")[rest], values[rest]).correlation or 0.0
    yield _Test(
        "input-length-no-predictor",
        evidence["pages"],
        by_no_association(both["pages"]),
        f"without credit agreements, which are long and all valid, it is {without:+.2f}",
        both["pages"][1].p_value,
    )


def _lower_for_passes(facts: Facts) -> list[bool]:
    """Return for each of 12 analyses whether depth lowers passes more than validity."""
    found = []
    depth = factor_values("depth")
    for group, rest in product(_GROUPS, _SUBSETS):
        validity, passes = (
            float(spearman(depth[rest], outcome_values(outcome, group, facts)[rest]))
            for outcome in ("validity", "scored_pass_rate")
        )
        found.append(passes < min(validity, 0.0))
    return found


def _models_and_domains(facts: Facts) -> Iterator[_Test]:
    """Test the claims about single models and domains."""
    claimed = stated("highest validity of GPT-5 without credit").value or 0
    others = [domain for domain in DOMAINS if domain != "credit"]
    gpt_5, gpt_5_2 = ({d: attempts(model, d) for d in others} for model in ("GPT-5", GPT[0]))
    highest = max(counted.validity for counted in gpt_5.values())
    yield _Test(
        "gpt-5-elsewhere",
        "valid: " + ", ".join(f"{d} {_share(c)}" for d, c in gpt_5.items()),
        by_count(round(highest) <= claimed, f"the highest share is {highest:.0f}%"),
    )
    without_loss = [
        f"{model} on {domain}"
        for model, counts in (("GPT-5", gpt_5), (GPT[0], gpt_5_2))
        for domain, counted in counts.items()
        if not counted.invalid
    ]
    yield _Test(
        "gpt-models-elsewhere",
        f"{GPT[0]} valid: " + ", ".join(f"{d} {_share(c)}" for d, c in gpt_5_2.items()),
        by_count(
            not without_loss, f"all outputs are valid: {', '.join(without_loss) or 'nowhere'}"
        ),
        "the mildest reading of what the paper says, that they struggle there",
    )

    claude, able = attempts("Claude", "credit"), attempts("able", "credit")
    p_value = _fisher(claude, able)
    pages = facts.of("credit", "pages")
    short = pages[pages <= (stated("page limit", "section 4.2").value or 0)]
    yield _Test(
        "page-limit-blocks-claude",
        f"valid: Claude {_share(claude)}, others {_share(able)}; page limit rejections: "
        + ", ".join(f"{m} {value_of(7, 'page limit', m):.0f}" for m in CLAUDE),
        by_difference(claude.validity < able.validity, p_value, level=LEVEL_OF_ATTEMPTS),
        f"the rejections name the limit; {len(short)} of the agreements has {short.iloc[0]:.0f} "
        "pages and must have failed for another reason",
        p_value,
    )

    resumes, sports = ({m: attempts(m, d) for m in MODELS} for d in ("resumes", "sports"))
    gaps = [
        np.array([one - two for one, two in pairs])
        for pairs in (
            [(sports[m].validity, resumes[m].validity) for m in MODELS],
            [(resumes[m].pass_rate, sports[m].pass_rate) for m in MODELS],
        )
    ]
    p_value = max(test.p for test in sign_flip_tests(gaps, Drawing(1 - LEVEL, 9999, 0)))
    ceiling = {d: 100 * facts.scored[d] / facts.keys[d] for d in ("resumes", "sports")}
    pooled = {d: attempts("pooled", d) for d in ceiling}
    yield _Test(
        "profiles-differ",
        "; ".join(
            f"{d}: {_share(c)} valid, pass rate {c.pass_rate:.1f}% of at most {ceiling[d]:.1f}%"
            for d, c in pooled.items()
        ),
        by_difference(all(gap.mean() > 0 for gap in gaps), p_value),
        f"{facts.documents['resumes']} and {facts.documents['sports']} documents stand for their "
        "domains; the sports golds lack most of their scored fields",
        p_value,
    )

    flash, pro = ({d: attempts(model, d).passed for d in DOMAINS} for model in MODELS[:2])
    lead = {d: flash[d] - pro[d] for d in DOMAINS}
    ahead, behind = ([d for d in DOMAINS if sign * lead[d] > 0] for sign in (1, -1))
    yield _Test(
        "flash-over-pro",
        f"difference in passed fields: {', '.join(f'{d} {n:+d}' for d, n in lead.items())}",
        by_count(
            2 * len(ahead) > len(DOMAINS),
            f"ahead in {len(ahead)} of {len(DOMAINS)} domains, behind in {len(behind)}",
        ),
        f"{max(lead, key=lambda d: lead[d])} accounts for most of the lead",
    )


def _extremes() -> Iterator[_Test]:
    """Test which model or domain is said to be the highest or lowest."""
    by_model = {m: tally(models=(m,)) for m in MODELS}
    by_domain = {d: tally(domains=(d,)) for d in DOMAINS}
    spread = {d: np.ptp([attempts(m, d).validity for m in MODELS]) for d in DOMAINS}
    measures: tuple[tuple[str, str, int, Mapping[str, float]], ...] = (
        ("flash-most-valid", MODELS[0], 1, {m: c.validity for m, c in by_model.items()}),
        ("flash-most-passed", MODELS[0], 1, {m: c.pass_rate for m, c in by_model.items()}),
        ("gpt-5-fewest-valid", "GPT-5", -1, {m: c.validity for m, c in by_model.items()}),
        ("gpt-5-most-accurate", "GPT-5", 1, {m: value_of(5, m, "accuracy") for m in MODELS}),
        ("credit-most-passed", "credit", 1, {d: c.pass_rate for d, c in by_domain.items()}),
        ("sports-most-valid", "sports", 1, {d: c.validity for d, c in by_domain.items()}),
        ("research-most-varied", "research", 1, {d: float(s) for d, s in spread.items()}),
    )
    for id_, claimed, sign, values in measures:
        order = sorted(values, key=lambda name: -sign * values[name])
        shown = ", ".join(f"{name} {values[name]:.1f}%" for name in order)
        first = [name for name in order if values[name] == values[order[0]]]
        yield _Test(id_, shown, by_count(claimed in first, f"it is {' and '.join(first)}"))


def _kinds_of_failure() -> Iterator[_Test]:
    """Test the claims about where failures are concentrated."""
    from scipy.stats import hypergeom

    for id_, kind in (("empty-on-10-k", "empty"), ("trailing-commas-on-10-k", "trailing comma")):
        figure = stated(f"{kind} on 10-K/Q")
        on_tenk = figure.value or 0
        prone = [model for model in MODELS if value_of(7, kind, model)]
        of_kind = int(sum(value_of(7, kind, model) for model in prone))
        answered = int(
            sum(value_of(7, "total", m) - value_of(7, "page limit", m) for m in prone)
        )  # what is rejected for its pages cannot fail otherwise
        tenk = tally(models=tuple(prone), domains=("10-K/Q",))
        drawn = hypergeom(answered, tenk.invalid, of_kind)
        p_value = float(drawn.sf(on_tenk - 1))
        yield _Test(
            id_,
            f"{figure.printed} of {of_kind} are on 10-K/Q; the models with such failures have "
            f"{answered} failures apart from page limit rejections, {tenk.invalid} of them on "
            f"10-K/Q, so {drawn.mean():.1f} are expected",
            by_difference(on_tenk > drawn.mean(), p_value, level=LEVEL_OF_ATTEMPTS),
            p_value=p_value,
        )

    counts = {d: attempts("GPT-5", d) for d in DOMAINS}
    empty = int(value_of(7, "empty", "GPT-5"))
    yield _Test(
        "silent-above-a-threshold",
        f"{empty} of {sum(c.invalid for c in counts.values())} failures of GPT-5 are empty; "
        "failed: " + ", ".join(f"{d} {c.invalid} of {c.documents}" for d, c in counts.items()),
        by_threshold(
            {d: value_of(6, d, "tokens") for d in DOMAINS},
            {d: c.invalid / c.documents for d, c in counts.items()},
        ),
        "size is measured in gold tokens per document",
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
        Column("rule", "string", "the rule that gives the verdict", ", ".join(RULES)),
        Column("verdict", "string", "verdict by the published counts", ", ".join(VERDICTS)),
        Column("reason", "string", "why this verdict, and what qualifies it"),
    ),
)


def claims() -> pd.DataFrame:
    """Test the paper's claims about models, complexity and failure on its own published counts.

    Each verdict follows from one of seven rules (``.attrs["rules"]``), which use numbers only: with
    other counts, each claim could be ``supported`` or ``contradicted``. A factor of the schema or
    the documents has one value per domain, so that all conclusions about factors rest on n = 5. The
    smallest exact two-sided p-value is 2/120 = 0.017, or 0.083 after correction for the five
    factors that are compared, and the factors are correlated. Attempts of six models on the same
    documents are not independent either.

    Returns
    -------
    pandas.DataFrame
        One row per claim: id, where (section of the paper), claim, evidence, p_value (NA without a
        test), rule, verdict (``supported``, ``weak``, ``not identifiable``, ``contradicted``),
        reason.

    See Also
    --------
    correlations : The rank correlations behind it.
    regressions : Logistic regressions, one per factor.

    Examples
    --------
    >>> frame = claims().set_index("id")
    >>> frame.loc["breadth-dominant", ["rule", "verdict"]].tolist()
    ['analyses', 'not identifiable']
    """
    facts = facts_of()
    tests = (
        *_breadth_and_volume(facts),
        *_arrays_depth_and_pages(facts),
        *_models_and_domains(facts),
        *_extremes(),
        *_kinds_of_failure(),
    )
    claimed = {row["id"]: row for row in shipped_rows("data/claims.csv")}
    for row in claimed.values():  # {a quantity} is the number that the paper prints
        row["claim"] = re.sub("{(.+?)}", lambda name: f"{stated(name[1]).value:.0f}", row["claim"])
    computed = {
        test.id: test.ruled._asdict()
        | {"evidence": test.evidence, "p_value": test.p_value}
        | {"reason": "; ".join(filter(None, (test.ruled.reason, test.caveat)))}
        for test in tests
    }
    frame = CLAIM_COLUMNS.from_records(row | computed[name] for name, row in claimed.items())
    frame.attrs["rules"] = dict(RULES)
    return frame
