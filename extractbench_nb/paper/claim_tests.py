"""`claims`: the statements of section 4.2, each with the rule that gives its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.paper.cells import CLAUDE, DOMAINS, GPT, MODELS, said, value_of
from extractbench_nb.paper.facts import Facts, Tally, facts_of, tally
from extractbench_nb.paper.regression import (
    FACTORS,
    OUTCOMES,
    Association,
    Numbers,
    associate,
    attempts,
    factor_values,
    outcome_values,
)

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
    """Judge a claimed rank association."""
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


def about_failures(facts: Facts) -> Iterator[Claim]:
    """Test the claims about models, domains and kinds of failure."""
    yield _gpt_5_elsewhere()
    yield _gpt_elsewhere()
    yield _claude_on_credit(facts)
    yield _profiles(facts)
    yield _concentrated("empty", "empty-on-10-k", "empty on 10-K/Q")
    yield _concentrated("trailing comma", "trailing-commas-on-10-k", "trailing comma on 10-K/Q")
    yield _silent_threshold()
    yield _flash_over_pro()


def _shown(counted: Tally) -> str:
    return f"{counted.valid} of {counted.documents}"


def _gpt_5_elsewhere() -> Claim:
    claimed = said("highest validity of GPT-5 without credit").value or 0
    others = {d: attempts("GPT-5", d) for d in DOMAINS if d != "credit"}
    worst = max(counted.validity for counted in others.values())
    return Claim(
        "gpt-5-elsewhere",
        "section 4.2, output volume",
        f"outside credit agreements at most {claimed:.0f}% of GPT-5's outputs are valid",
        "valid: " + ", ".join(f"{d} {_shown(c)}" for d, c in others.items()),
        None,
        SUPPORTED if round(worst) <= claimed else CONTRADICTED,
        f"the highest share is {worst:.0f}%",
    )


def _gpt_elsewhere() -> Claim:
    rows = {d: attempts(GPT[0], d) for d in DOMAINS if d != "credit"}
    best = {d: max(tally(models=(m,), domains=(d,)).valid for m in MODELS) for d in rows}
    level = [d for d, c in rows.items() if c.valid and c.valid == best[d]]
    return Claim(
        "gpt-models-elsewhere",
        "section 4.2, output volume",
        "both GPT models fail in every domain but credit agreements",
        f"{GPT[0]} valid: " + ", ".join(f"{d} {_shown(c)}" for d, c in rows.items()),
        None,
        CONTRADICTED if level else SUPPORTED,
        f"{GPT[0]} has as many valid outputs as any model on {' and '.join(level)}",
    )


def _claude_on_credit(facts: Facts) -> Claim:
    from scipy.stats import fisher_exact

    claude = tally(models=CLAUDE, domains=("credit",))
    others = attempts("able", "credit")
    table = np.array([[c.valid, c.documents - c.valid] for c in (claude, others)])
    p_value = float(fisher_exact(table).pvalue)
    limit = said("page limit", "section 4.2").value or 0
    short = facts.of("credit", "pages")
    short = short[short <= limit]
    return Claim(
        "page-limit-blocks-claude",
        "section 4.2, page limit",
        f"a limit of {limit:.0f} pages keeps Claude out of credit agreements",
        f"valid: Claude {_shown(claude)}, others {_shown(others)}; page limit rejections: "
        + ", ".join(f"{m} {value_of(7, 'page limit', m):.0f}" for m in CLAUDE),
        p_value,
        of_p_value(p_value),
        f"the rejections name the limit; {len(short)} of the agreements has {short.iloc[0]:.0f} "
        "pages and must have failed for another reason",
    )


def _profiles(facts: Facts) -> Claim:
    from scipy.stats import fisher_exact

    two = {domain: attempts("pooled", domain) for domain in ("resumes", "sports")}
    table = np.array([[c.valid, c.documents - c.valid] for c in two.values()])
    resumes, sports = two.values()
    as_said = resumes.validity < sports.validity and resumes.pass_rate > sports.pass_rate
    p_value = float(fisher_exact(table).pvalue)
    ceiling = {d: 100 * facts.scored[d] / facts.keys[d] for d in two}
    return Claim(
        "profiles-differ",
        "section 4.2, diversity",
        "resumes have fewer valid outputs than sports results and more passed fields",
        "; ".join(
            f"{d}: {_shown(c)} valid, pass rate {c.pass_rate:.1f}% of at most {ceiling[d]:.1f}%"
            for d, c in two.items()
        ),
        p_value,
        WEAK if as_said else CONTRADICTED,
        f"the test takes attempts as independent, and these are {len(MODELS)} models on "
        f"{facts.documents['resumes']} and {facts.documents['sports']} documents; the sports golds "
        "lack most of their scored fields",
    )


def _concentrated(kind: str, name: str, quantity: str) -> Claim:
    from scipy.stats import hypergeom

    figure = said(quantity)
    prone = [model for model in MODELS if value_of(7, kind, model)]
    own = int(sum(value_of(7, kind, model) for model in prone))
    answered = int(
        sum(value_of(7, "total", m) - value_of(7, "page limit", m) for m in prone)
    )  # what is rejected for its pages cannot fail otherwise
    tenk = tally(models=tuple(prone), domains=("10-K/Q",))
    drawn = hypergeom(answered, tenk.documents - tenk.valid, own)
    p_value = float(drawn.sf((figure.value or 0) - 1))
    return Claim(
        name,
        "section 4.2, failure modes",
        f"failures of the kind {kind!r} gather on 10-K/Q",
        f"{figure.printed} of {own} on 10-K/Q, which has {tenk.documents - tenk.valid} of the "
        f"{answered} failures that models prone to it had without being rejected for their pages: "
        f"{drawn.mean():.1f} would be expected",
        p_value,
        WEAK,
        "more than its share of these failures, but attempts are taken as independent"
        if p_value <= LEVEL
        else "hardly more than its share of these failures",
    )


def _silent_threshold() -> Claim:
    model = "GPT-5"
    empty = int(value_of(7, "empty", model))
    invalid = {d: attempts(model, d).documents - attempts(model, d).valid for d in DOMAINS}
    only = empty == sum(invalid.values())
    shortest = min((d for d in DOMAINS if invalid[d]), key=lambda d: value_of(6, d, "tokens"))
    return Claim(
        "silent-above-a-threshold",
        "section 4.2, failure modes",
        "models return nothing once an extraction is too complex",
        f"all {empty} failures of {model} are empty: "
        + ", ".join(f"{d} {n}" for d, n in invalid.items()),
        None,
        WEAK if only else CONTRADICTED,
        f"{model} returns nothing for {invalid[shortest]} {shortest} too, at "
        f"{value_of(6, shortest, 'tokens'):,.0f} gold tokens, while some of the other "
        f"{shortest} outputs are valid: no single threshold of length parts the two",
    )


def _flash_over_pro() -> Claim:
    flash, pro = (
        {d: tally(models=(model,), domains=(d,)).passed for d in DOMAINS} for model in MODELS[:2]
    )
    ahead = [d for d in DOMAINS if flash[d] > pro[d]]
    largest = max(ahead, key=lambda d: flash[d] - pro[d])
    gaps = ", ".join(f"{d} {flash[d] - pro[d]:+d}" for d in DOMAINS)
    return Claim(
        "flash-over-pro",
        "section 4.1, model patterns",
        "Gemini 3 Flash passes more fields than Gemini 3 Pro in most domains",
        f"difference in passed fields: {gaps}",
        None,
        WEAK if 2 * len(ahead) > len(DOMAINS) else CONTRADICTED,
        f"ahead in {len(ahead)} of {len(DOMAINS)} domains; nearly all of the lead is {largest}",
    )


_TOP = 0.95
_WEAK_CORRELATION = 0.5


def about_factors(facts: Facts) -> Iterator[Claim]:
    """Test which of keys, tokens, pages, depth and array items predicts failure."""
    ways = strongest_factors(facts)
    yield _dominant("breadth-dominant", "section 4.2, first paragraph", "keys", ways)
    yield _dominant("volume-dominant", "section 5; section 2.1", "tokens", ways)
    yield _breadth_and_passes(facts)
    yield _capacity()
    yield _volume_for_gpt(facts)
    yield _volume_over_breadth(facts)
    yield _arrays(facts)
    yield _arrays_beyond_breadth()
    yield _depth(facts)
    yield _depth_and_accuracy(facts)
    yield _pages(facts)


def _association(
    facts: Facts, factor: str, outcome: str = "validity", group: str = "pooled"
) -> Association:
    return associate(factor_values(factor), outcome_values(outcome, group, facts))


def _size(found: Association) -> float:
    return abs(found.correlation or 0.0)


def _told(found: Association, what: str) -> str:
    return (
        f"{what}: Spearman {found.correlation or 0:+.2f}, with one domain left out "
        f"{found.without_one_low or 0:+.2f} to {found.without_one_high or 0:+.2f}"
    )


def _dominant(name: str, where: str, factor: str, ways: Mapping[str, int]) -> Claim:
    total = WAYS
    places = ", ".join(f"{f} {n}" for f, n in sorted(ways.items(), key=lambda item: -item[1]))
    share = ways[factor] / total
    if share >= _TOP:
        verdict, reason = SUPPORTED, "it is strongest however one looks"
    elif share == 0:
        verdict, reason = CONTRADICTED, "it is never the strongest"
    else:
        verdict = NOT_IDENTIFIABLE
        reason = (
            "which factor is strongest depends on the outcome, on counting the documents that "
            "Claude could not read, and on each single domain"
        )
    return Claim(
        name,
        where,
        f"of the five factors, {factor} has the strongest association with failure",
        f"strongest in so many of {total} ways to look (ties count for each): {places}",
        None,
        verdict,
        reason,
    )


def _breadth_and_passes(facts: Facts) -> Claim:
    found = _association(facts, "keys", "pass_rate")
    scored = _association(facts, "keys", "scored_pass_rate")
    verdict, reason = of_association(found, sign=-1)
    return Claim(
        "breadth-lowers-pass-rate",
        "section 4.2, first paragraph",
        "the more keys, the fewer fields pass",
        f"{_told(found, 'pass rate')}; {_told(scored, 'share of the fields that are scored')}",
        found.p_value,
        verdict,
        f"{reason}; the pass rate divides by keys, so that part of it is arithmetic",
    )


def _capacity() -> Claim:
    tenk, research = (value_of(6, domain, "tokens") for domain in ("10-K/Q", "research"))
    counted = attempts("pooled", "research")
    return Claim(
        "10-k-exceeds-output-capacity",
        "section 4.2, first paragraph",
        "10-K/Q fails because no model can write that many tokens reliably",
        f"10-K/Q {tenk:,.0f} gold tokens a document, 0 valid; research {research:,.0f}, "
        f"{counted.valid} of {counted.documents} valid",
        None,
        NOT_IDENTIFIABLE,
        "on average research papers need more tokens, and some of their outputs are valid; but one "
        "long paper makes that average, and which papers were valid is not published",
    )


def _volume_for_gpt(facts: Facts) -> Claim:
    found = _association(facts, "tokens", group="GPT")
    rival = _association(facts, "array_items", group="GPT")
    verdict, reason = of_association(found, sign=-1)
    each = "; ".join(_told(_association(facts, "tokens", group=model), model) for model in GPT)
    return Claim(
        "volume-drives-gpt",
        "section 4.2, output volume",
        "for the GPT models, the more gold tokens, the fewer valid outputs",
        f"{_told(found, 'both')}; {each}; array items for both: {rival.correlation or 0:+.2f}",
        found.p_value,
        verdict,
        f"{reason}; array items, which go with tokens, are associated more strongly",
    )


def _volume_over_breadth(facts: Facts) -> Claim:
    sizes = {
        group: [_size(_association(facts, f, group=group)) for f in ("tokens", "keys")]
        for group in ("pooled", "able")
    }
    better = [tokens > keys for tokens, keys in sizes.values()]
    told = "; ".join(f"{g}: tokens {a:.2f}, keys {b:.2f}" for g, (a, b) in sizes.items())
    return Claim(
        "volume-over-breadth",
        "section 4.2, array complexity",
        "gold tokens predict validity better than keys do",
        f"absolute Spearman correlations, {told}",
        None,
        SUPPORTED if all(better) else WEAK if any(better) else NOT_IDENTIFIABLE,
        "tokens are behind keys or level with them, with blocked documents and without; five "
        "domains cannot rank two factors"
        if not any(better)
        else "tokens are ahead in part of the comparisons",
    )


def _arrays(facts: Facts) -> Claim:
    pooled, able = (_association(facts, "array_items", group=g) for g in ("pooled", "able"))
    verdict, reason = of_association(able, sign=-1)
    return Claim(
        "arrays-lower-validity",
        "section 4.2, array complexity",
        "the more array items, the fewer valid outputs",
        f"{_told(pooled, 'all')}; {_told(able, 'without blocked documents')}",
        able.p_value,
        verdict,
        reason,
    )


def _arrays_beyond_breadth() -> Claim:
    gap = {f: value_of(6, "research", f) / value_of(6, "credit", f) for f in FACTORS}
    credit, research = (attempts("able", domain) for domain in ("credit", "research"))
    others = ", ".join(f"{f} x{g:.1f}" for f, g in gap.items())
    return Claim(
        "arrays-beyond-breadth",
        "section 4.2, array complexity",
        "at about as many keys, research papers fail more often than credit agreements because "
        "of their arrays",
        f"valid without blocked documents: {research.valid} of {research.documents} against "
        f"{credit.valid} of {credit.documents}; research against credit: {others}",
        None,
        NOT_IDENTIFIABLE if gap["tokens"] >= gap["array_items"] else WEAK,
        "the two domains differ in output, depth and document length as much as in arrays; two "
        "domains cannot tell which of these it is",
    )


def _depth(facts: Facts) -> Claim:
    found = _association(facts, "depth")
    able = _association(facts, "depth", group="able")
    sizes = {f: _size(_association(facts, f)) for f in FACTORS}
    least = min(sizes, key=lambda factor: sizes[factor])
    weak = max(_size(found), _size(able)) < _WEAK_CORRELATION
    return Claim(
        "depth-weak",
        "section 4.2, nesting depth",
        "nesting depth says little about validity",
        f"{_told(found, 'all')}; {_told(able, 'without blocked documents')}; "
        f"least associated of the five: {least}",
        found.p_value,
        WEAK if weak else CONTRADICTED,
        "no association is to be seen, but five domains could hardly show a moderate one: one "
        "domain left out gives anything from a negative to a positive one",
    )


def _depth_and_accuracy(facts: Facts) -> Claim:
    validity = _association(facts, "depth")
    passes = _association(facts, "depth", "scored_pass_rate")
    larger = _size(passes) > _size(validity)
    deepest = max(DOMAINS, key=lambda domain: facts.depth[domain])
    present = int(facts.of(deepest, "present").sum())
    scored = facts.documents[deepest] * facts.scored[deepest]
    return Claim(
        "depth-hurts-accuracy-more",
        "section 4.2, nesting depth",
        "depth costs more passed fields than valid outputs",
        f"{_told(validity, 'validity')}; {_told(passes, 'passed of the scored fields')}",
        passes.p_value,
        WEAK if larger else CONTRADICTED,
        f"neither can be told from none; the deepest domain is {deepest}, whose golds have a value "
        f"for {present} of {scored} scored fields",
    )


def _pages(facts: Facts) -> Claim:
    found, able = (_association(facts, "pages", group=g) for g in ("pooled", "able"))
    kept = [index for index, domain in enumerate(DOMAINS) if domain != "credit"]
    values = outcome_values("validity", "able", facts)
    without = associate(factor_values("pages")[kept], values[kept]).correlation or 0.0
    return Claim(
        "input-length-no-predictor",
        "section 5; section 2.1",
        "the length of the document says little about validity",
        f"{_told(found, 'all')}; {_told(able, 'without blocked documents')}",
        able.p_value,
        WEAK if _size(able) < _WEAK_CORRELATION else CONTRADICTED,
        "no association is left once blocked documents do not count, but the credit agreements, "
        f"long and all valid, decide that: without them it is {without:+.2f}",
    )


CLAIM_COLUMNS = FrameSpec(
    "claims",
    "one row a claim",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "section and paragraph"),
        Column("claim", "string", "what is claimed, in our words and so that it can be tested"),
        Column("evidence", "string", "the figures it is tested on"),
        Column("p_value", "Float64", "exact, two-sided for correlations", "0 to 1", True),
        Column("verdict", "string", "what the counts say", ", ".join(VERDICTS)),
        Column("reason", "string", "why this verdict"),
    ),
)


def claims() -> pd.DataFrame:
    """Test the paper's claims about complexity and failure on its own published counts.

    Five domains are five points. A factor of the schema or the documents has one value a domain, so
    whatever is concluded rests on n = 5: the smallest exact two-sided p-value is 2/120 = 0.017,
    0.083 after correction for the five factors that are compared, and the factors go together.
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
    regressions : Logistic regressions, one a factor.

    Examples
    --------
    >>> frame = claims().set_index("id")
    >>> frame.loc["breadth-dominant", "verdict"]
    'not identifiable'
    """
    rows = list(_all(facts_of()))
    columns = zip(*rows, strict=True)
    return CLAIM_COLUMNS.build(dict(zip(Claim._fields, columns, strict=True)))


def _all(facts: Facts) -> Iterator[Claim]:
    yield from about_factors(facts)
    yield from about_failures(facts)
