"""`claims`: the statements of section 4.2, each with the rule that gives its verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.paper.cells import CLAUDE, DOMAINS, GPT, MODELS, said, value_of
from extractbench_nb.paper.facts import Facts, Tally, attempts, facts_of, tally
from extractbench_nb.paper.regression import (
    FACTORS,
    OUTCOMES,
    Association,
    Numbers,
    associate,
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


class _Told(NamedTuple):
    """The cells of a row that are computed."""

    evidence: str
    p_value: float | None
    verdict: str
    reason: str


#: What tests claims, in the order of the rows.
_TESTS: list[Callable[[Facts], Claim]] = []
_Tell = TypeVar("_Tell", bound=Callable[..., _Told])


def _claim(id_: str, where: str, claim: str, *given: str) -> Callable[[_Tell], _Tell]:
    """Register a test of a claim; {a quantity} in its text is the number that the paper prints."""

    def test(tell: _Tell, facts: Facts) -> Claim:
        text = re.sub(r"{(.+?)}", lambda name: f"{said(name[1]).value:.0f}", claim)
        return Claim(id_, where, text, *tell(facts, *given))

    def register(tell: _Tell) -> _Tell:
        _TESTS.append(partial(test, tell))
        return tell

    return register


_TOP = 0.95
_WEAK_CORRELATION = 0.5


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


@_claim(
    "volume-dominant",
    "section 5; section 2.1",
    "of the five factors, tokens has the strongest association with failure",
    "tokens",
)
@_claim(
    "breadth-dominant",
    "section 4.2, first paragraph",
    "of the five factors, keys has the strongest association with failure",
    "keys",
)
def _dominant(facts: Facts, factor: str) -> _Told:
    ways, total = strongest_factors(facts), WAYS
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
    return _Told(
        f"strongest in so many of {total} ways to look (ties count for each): {places}",
        None,
        verdict,
        reason,
    )


@_claim(
    "breadth-lowers-pass-rate",
    "section 4.2, first paragraph",
    "the more keys, the fewer fields pass",
)
def _breadth_and_passes(facts: Facts) -> _Told:
    found = _association(facts, "keys", "pass_rate")
    scored = _association(facts, "keys", "scored_pass_rate")
    verdict, reason = of_association(found, sign=-1)
    return _Told(
        f"{_told(found, 'pass rate')}; {_told(scored, 'share of the fields that are scored')}",
        found.p_value,
        verdict,
        f"{reason}; the pass rate divides by keys, so that part of it is arithmetic",
    )


@_claim(
    "10-k-exceeds-output-capacity",
    "section 4.2, first paragraph",
    "10-K/Q fails because no model can write that many tokens reliably",
)
def _capacity(_: Facts) -> _Told:
    tenk, research = (value_of(6, domain, "tokens") for domain in ("10-K/Q", "research"))
    counted = attempts("pooled", "research")
    return _Told(
        f"10-K/Q {tenk:,.0f} gold tokens a document, 0 valid; research {research:,.0f}, "
        f"{counted.valid} of {counted.documents} valid",
        None,
        NOT_IDENTIFIABLE,
        "on average research papers need more tokens, and some of their outputs are valid; but one "
        "long paper makes that average, and which papers were valid is not published",
    )


@_claim(
    "volume-drives-gpt",
    "section 4.2, output volume",
    "for the GPT models, the more gold tokens, the fewer valid outputs",
)
def _volume_for_gpt(facts: Facts) -> _Told:
    found = _association(facts, "tokens", group="GPT")
    rival = _association(facts, "array_items", group="GPT")
    verdict, reason = of_association(found, sign=-1)
    each = "; ".join(_told(_association(facts, "tokens", group=model), model) for model in GPT)
    return _Told(
        f"{_told(found, 'both')}; {each}; array items for both: {rival.correlation or 0:+.2f}",
        found.p_value,
        verdict,
        f"{reason}; array items, which go with tokens, are associated more strongly",
    )


@_claim(
    "volume-over-breadth",
    "section 4.2, array complexity",
    "gold tokens predict validity better than keys do",
)
def _volume_over_breadth(facts: Facts) -> _Told:
    sizes = {
        group: [_size(_association(facts, f, group=group)) for f in ("tokens", "keys")]
        for group in ("pooled", "able")
    }
    better = [tokens > keys for tokens, keys in sizes.values()]
    told = "; ".join(f"{g}: tokens {a:.2f}, keys {b:.2f}" for g, (a, b) in sizes.items())
    return _Told(
        f"absolute Spearman correlations, {told}",
        None,
        SUPPORTED if all(better) else WEAK if any(better) else NOT_IDENTIFIABLE,
        "tokens are behind keys or level with them, with blocked documents and without; five "
        "domains cannot rank two factors"
        if not any(better)
        else "tokens are ahead in part of the comparisons",
    )


@_claim(
    "arrays-lower-validity",
    "section 4.2, array complexity",
    "the more array items, the fewer valid outputs",
)
def _arrays(facts: Facts) -> _Told:
    pooled, able = (_association(facts, "array_items", group=g) for g in ("pooled", "able"))
    verdict, reason = of_association(able, sign=-1)
    return _Told(
        f"{_told(pooled, 'all')}; {_told(able, 'without blocked documents')}",
        able.p_value,
        verdict,
        reason,
    )


@_claim(
    "arrays-beyond-breadth",
    "section 4.2, array complexity",
    "at about as many keys, research papers fail more often than credit agreements because "
    "of their arrays",
)
def _arrays_beyond_breadth(_: Facts) -> _Told:
    gap = {f: value_of(6, "research", f) / value_of(6, "credit", f) for f in FACTORS}
    credit, research = (attempts("able", domain) for domain in ("credit", "research"))
    others = ", ".join(f"{f} x{g:.1f}" for f, g in gap.items())
    return _Told(
        f"valid without blocked documents: {research.valid} of {research.documents} against "
        f"{credit.valid} of {credit.documents}; research against credit: {others}",
        None,
        NOT_IDENTIFIABLE if gap["tokens"] >= gap["array_items"] else WEAK,
        "the two domains differ in output, depth and document length as much as in arrays; two "
        "domains cannot tell which of these it is",
    )


@_claim("depth-weak", "section 4.2, nesting depth", "nesting depth says little about validity")
def _depth(facts: Facts) -> _Told:
    found = _association(facts, "depth")
    able = _association(facts, "depth", group="able")
    sizes = {f: _size(_association(facts, f)) for f in FACTORS}
    least = min(sizes, key=lambda factor: sizes[factor])
    weak = max(_size(found), _size(able)) < _WEAK_CORRELATION
    return _Told(
        f"{_told(found, 'all')}; {_told(able, 'without blocked documents')}; "
        f"least associated of the five: {least}",
        found.p_value,
        WEAK if weak else CONTRADICTED,
        "no association is to be seen, but five domains could hardly show a moderate one: one "
        "domain left out gives anything from a negative to a positive one",
    )


@_claim(
    "depth-hurts-accuracy-more",
    "section 4.2, nesting depth",
    "depth costs more passed fields than valid outputs",
)
def _depth_and_accuracy(facts: Facts) -> _Told:
    validity = _association(facts, "depth")
    passes = _association(facts, "depth", "scored_pass_rate")
    larger = _size(passes) > _size(validity)
    deepest = max(DOMAINS, key=lambda domain: facts.depth[domain])
    present = int(facts.of(deepest, "present").sum())
    scored = facts.documents[deepest] * facts.scored[deepest]
    return _Told(
        f"{_told(validity, 'validity')}; {_told(passes, 'passed of the scored fields')}",
        passes.p_value,
        WEAK if larger else CONTRADICTED,
        f"neither can be told from none; the deepest domain is {deepest}, whose golds have a value "
        f"for {present} of {scored} scored fields",
    )


@_claim(
    "input-length-no-predictor",
    "section 5; section 2.1",
    "the length of the document says little about validity",
)
def _pages(facts: Facts) -> _Told:
    found, able = (_association(facts, "pages", group=g) for g in ("pooled", "able"))
    kept = [index for index, domain in enumerate(DOMAINS) if domain != "credit"]
    values = outcome_values("validity", "able", facts)
    without = associate(factor_values("pages")[kept], values[kept]).correlation or 0.0
    return _Told(
        f"{_told(found, 'all')}; {_told(able, 'without blocked documents')}",
        able.p_value,
        WEAK if _size(able) < _WEAK_CORRELATION else CONTRADICTED,
        "no association is left once blocked documents do not count, but the credit agreements, "
        f"long and all valid, decide that: without them it is {without:+.2f}",
    )


def _shown(counted: Tally) -> str:
    return f"{counted.valid} of {counted.documents}"


@_claim(
    "gpt-5-elsewhere",
    "section 4.2, output volume",
    "outside credit agreements at most {highest validity of GPT-5 without credit}% of GPT-5's "
    "outputs are valid",
)
def _gpt_5_elsewhere(_: Facts) -> _Told:
    claimed = said("highest validity of GPT-5 without credit").value or 0
    others = {d: attempts("GPT-5", d) for d in DOMAINS if d != "credit"}
    worst = max(counted.validity for counted in others.values())
    return _Told(
        "valid: " + ", ".join(f"{d} {_shown(c)}" for d, c in others.items()),
        None,
        SUPPORTED if round(worst) <= claimed else CONTRADICTED,
        f"the highest share is {worst:.0f}%",
    )


@_claim(
    "gpt-models-elsewhere",
    "section 4.2, output volume",
    "both GPT models fail in every domain but credit agreements",
)
def _gpt_elsewhere(_: Facts) -> _Told:
    rows = {d: attempts(GPT[0], d) for d in DOMAINS if d != "credit"}
    best = {d: max(tally(models=(m,), domains=(d,)).valid for m in MODELS) for d in rows}
    level = [d for d, c in rows.items() if c.valid and c.valid == best[d]]
    return _Told(
        f"{GPT[0]} valid: " + ", ".join(f"{d} {_shown(c)}" for d, c in rows.items()),
        None,
        CONTRADICTED if level else SUPPORTED,
        f"{GPT[0]} has as many valid outputs as any model on {' and '.join(level)}",
    )


@_claim(
    "page-limit-blocks-claude",
    "section 4.2, page limit",
    "a limit of {page limit} pages keeps Claude out of credit agreements",
)
def _claude_on_credit(facts: Facts) -> _Told:
    from scipy.stats import fisher_exact

    claude = tally(models=CLAUDE, domains=("credit",))
    others = attempts("able", "credit")
    table = np.array([[c.valid, c.documents - c.valid] for c in (claude, others)])
    p_value = float(fisher_exact(table).pvalue)
    limit = said("page limit", "section 4.2").value or 0
    short = facts.of("credit", "pages")
    short = short[short <= limit]
    return _Told(
        f"valid: Claude {_shown(claude)}, others {_shown(others)}; page limit rejections: "
        + ", ".join(f"{m} {value_of(7, 'page limit', m):.0f}" for m in CLAUDE),
        p_value,
        of_p_value(p_value),
        f"the rejections name the limit; {len(short)} of the agreements has {short.iloc[0]:.0f} "
        "pages and must have failed for another reason",
    )


@_claim(
    "profiles-differ",
    "section 4.2, diversity",
    "resumes have fewer valid outputs than sports results and more passed fields",
)
def _profiles(facts: Facts) -> _Told:
    from scipy.stats import fisher_exact

    two = {domain: attempts("pooled", domain) for domain in ("resumes", "sports")}
    table = np.array([[c.valid, c.documents - c.valid] for c in two.values()])
    resumes, sports = two.values()
    as_said = resumes.validity < sports.validity and resumes.pass_rate > sports.pass_rate
    p_value = float(fisher_exact(table).pvalue)
    ceiling = {d: 100 * facts.scored[d] / facts.keys[d] for d in two}
    return _Told(
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


@_claim(
    "trailing-commas-on-10-k",
    "section 4.2, failure modes",
    "failures of the kind 'trailing comma' gather on 10-K/Q",
    "trailing comma",
)
@_claim(
    "empty-on-10-k",
    "section 4.2, failure modes",
    "failures of the kind 'empty' gather on 10-K/Q",
    "empty",
)
def _concentrated(_: Facts, kind: str) -> _Told:
    from scipy.stats import hypergeom

    figure = said(f"{kind} on 10-K/Q")
    prone = [model for model in MODELS if value_of(7, kind, model)]
    own = int(sum(value_of(7, kind, model) for model in prone))
    answered = int(
        sum(value_of(7, "total", m) - value_of(7, "page limit", m) for m in prone)
    )  # what is rejected for its pages cannot fail otherwise
    tenk = tally(models=tuple(prone), domains=("10-K/Q",))
    drawn = hypergeom(answered, tenk.documents - tenk.valid, own)
    p_value = float(drawn.sf((figure.value or 0) - 1))
    return _Told(
        f"{figure.printed} of {own} on 10-K/Q, which has {tenk.documents - tenk.valid} of the "
        f"{answered} failures that models prone to it had without being rejected for their pages: "
        f"{drawn.mean():.1f} would be expected",
        p_value,
        WEAK,
        "more than its share of these failures, but attempts are taken as independent"
        if p_value <= LEVEL
        else "hardly more than its share of these failures",
    )


@_claim(
    "silent-above-a-threshold",
    "section 4.2, failure modes",
    "models return nothing once an extraction is too complex",
)
def _silent_threshold(_: Facts) -> _Told:
    model = "GPT-5"
    empty = int(value_of(7, "empty", model))
    invalid = {d: attempts(model, d).documents - attempts(model, d).valid for d in DOMAINS}
    only = empty == sum(invalid.values())
    shortest = min((d for d in DOMAINS if invalid[d]), key=lambda d: value_of(6, d, "tokens"))
    return _Told(
        f"all {empty} failures of {model} are empty: "
        + ", ".join(f"{d} {n}" for d, n in invalid.items()),
        None,
        WEAK if only else CONTRADICTED,
        f"{model} returns nothing for {invalid[shortest]} {shortest} too, at "
        f"{value_of(6, shortest, 'tokens'):,.0f} gold tokens, while some of the other "
        f"{shortest} outputs are valid: no single threshold of length parts the two",
    )


@_claim(
    "flash-over-pro",
    "section 4.1, model patterns",
    "Gemini 3 Flash passes more fields than Gemini 3 Pro in most domains",
)
def _flash_over_pro(_: Facts) -> _Told:
    flash, pro = (
        {d: tally(models=(model,), domains=(d,)).passed for d in DOMAINS} for model in MODELS[:2]
    )
    ahead = [d for d in DOMAINS if flash[d] > pro[d]]
    largest = max(ahead, key=lambda d: flash[d] - pro[d])
    gaps = ", ".join(f"{d} {flash[d] - pro[d]:+d}" for d in DOMAINS)
    return _Told(
        f"difference in passed fields: {gaps}",
        None,
        WEAK if 2 * len(ahead) > len(DOMAINS) else CONTRADICTED,
        f"ahead in {len(ahead)} of {len(DOMAINS)} domains; nearly all of the lead is {largest}",
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
    facts = facts_of()
    return CLAIM_COLUMNS.from_rows(test(facts) for test in _TESTS)
