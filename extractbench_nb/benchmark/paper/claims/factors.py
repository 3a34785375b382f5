"""Claims that one property of schema or documents drives failure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from extractbench_nb.benchmark.paper.cells import value_of
from extractbench_nb.benchmark.paper.claims.claim import (
    CONTRADICTED,
    NOT_IDENTIFIABLE,
    SUPPORTED,
    WAYS,
    WEAK,
    Claim,
    of_association,
    strongest_factors,
)
from extractbench_nb.benchmark.paper.claims.correlation import Association, associate
from extractbench_nb.benchmark.paper.claims.design import (
    FACTORS,
    attempts,
    factor_values,
    outcome_values,
)
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import DOMAINS, GPT

__all__ = ["about_factors"]

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
