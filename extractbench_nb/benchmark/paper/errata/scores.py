"""Errata: what the pass rate divides by, and what that does to its meaning."""

from __future__ import annotations

from collections.abc import Iterator

from extractbench_nb.benchmark.paper.cells import printed, ratio, said
from extractbench_nb.benchmark.paper.counts import tally
from extractbench_nb.benchmark.paper.errata.finding import (
    HIGH,
    MEDIUM,
    Finding,
    against,
    percent,
)
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import CLAUDE, DOMAINS, MODELS

__all__ = ["scores"]

MODES = ("prompt", "structured")


def scores(facts: Facts) -> Iterator[Finding]:
    """Find what the denominators hide."""
    yield _ceiling(facts)
    yield _order_of_domains(facts)
    yield _sports_ceiling(facts)
    yield _nothing_extracted(facts)
    yield _three_counts(facts)
    yield _credit_able()
    yield _credit_validity()
    yield _structured_mode()
    yield _structured_research()


def _scored(facts: Facts, domain: str) -> int:
    return facts.documents[domain] * facts.scored[domain]


def _ceiling(facts: Facts) -> Finding:
    scored = {domain: _scored(facts, domain) for domain in DOMAINS}
    keys = tally(models=MODELS[:1]).fields
    total = sum(scored.values())
    each = ", ".join(f"{facts.scored[d]} for {d}" for d in DOMAINS)
    share = ratio(total, keys)
    return Finding(
        "pass-rate-ceiling",
        "Table 5, pass rate",
        "100.0%",
        percent(share),
        share - 100,
        f"the pass rate divides by documents x keys, {keys:,} a model, but a perfect extraction "
        f"has {total} scored fields: an array is one field, its items' keys are not scored "
        f"(a document has {each})",
        HIGH,
        "table(5); scored fields of gold against itself",
    )


def _order_of_domains(facts: Facts) -> Finding:
    narrow = DOMAINS[:-1]
    rates = {d: tally(domains=(d,)).pass_rate for d in narrow}
    attainable = {
        d: ratio(tally(domains=(d,)).passed, _scored(facts, d) * len(MODELS)) for d in narrow
    }
    return Finding(
        "order-of-domains",
        "Table 5, last row; section 4.1",
        _ordered(rates),
        _ordered(attainable),
        None,
        "measured against the fields that are scored, not against all keys, the order of the "
        "domains changes: the share of scored fields among the keys is "
        + ", ".join(f"{percent(_share_scored(facts, d))} for {d}" for d in DOMAINS),
        HIGH,
        "counts(); scored fields of gold against itself",
    )


def _share_scored(facts: Facts, domain: str) -> float:
    fields = tally(models=MODELS[:1], domains=(domain,)).fields
    return ratio(_scored(facts, domain), fields)


def _ordered(rates: dict[str, float]) -> str:
    best_first = sorted(rates.items(), key=lambda item: -item[1])
    return ", ".join(f"{domain} {percent(rate)}" for domain, rate in best_first)


def _sports_ceiling(facts: Facts) -> Finding:
    scored, present = _scored(facts, "sports"), int(facts.of("sports", "present").sum())
    empty = facts.of("sports", "present") == 1
    counted = tally(domains=("sports",))
    share = ratio(present, scored)
    return Finding(
        "sports-gold",
        "section 4.1, Table 13",
        f"{scored} scored fields",
        f"{present} with a gold value",
        float(present - scored),
        f"{int(empty.sum())} of {len(empty)} sports golds keep their results under a key that the "
        f"schema does not declare, so only {percent(share)} of the scored fields have a gold value "
        "and what is extracted rightly under the declared keys counts as invented; the text "
        f"explains {counted.passed} of {counted.fields} passed fields by array scoring alone",
        HIGH,
        "gold of the released dataset; audit of undeclared keys",
    )


def _nothing_extracted(facts: Facts) -> Finding:
    rates = {m: tally(models=(m,), domains=("sports",)).pass_rate for m in MODELS}
    best = max(rates, key=lambda model: rates[model])
    absent = _scored(facts, "sports") - int(facts.of("sports", "present").sum())
    fields = tally(models=MODELS[:1], domains=("sports",)).fields
    nothing = ratio(absent, fields)
    return Finding(
        "sports-nothing-extracted",
        "Table 13",
        f"{best}, {printed(13, best, 'rate').printed}",
        f"an empty object, {percent(nothing)}",
        nothing - rates[best],
        f"{absent} scored fields of the sports golds are absent, and absent on both sides passes: "
        f"an empty object fits the schema and passes {absent} of {fields} fields, more than the "
        "best model",
        HIGH,
        "gold of the released dataset; section 3.3 on missing values",
    )


def _three_counts(facts: Facts) -> Finding:
    positions = tally(models=MODELS[:1]).fields
    scored = sum(_scored(facts, domain) for domain in DOMAINS)
    figure = said("gold values", "abstract")
    return Finding(
        "evaluable-fields",
        "abstract, section 2, footnote 1",
        figure.printed,
        f"{scored} scored",
        scored - (figure.value or 0.0),
        f"three counts go by one name: {figure.printed} leaf values in gold, {positions:,} "
        f"documents x keys, of which {scored} are scored",
        MEDIUM,
        "table(2); table(5); scored fields of gold against itself",
    )


def _credit_able() -> Finding:
    able = tuple(m for m in MODELS if m not in CLAUDE)
    counted = tally(models=able, domains=("credit",))
    figure = said("credit pass rate of models that read it")
    return Finding(
        "credit-able-models",
        "section 4.1, credit agreements",
        *against(figure, counted.pass_rate),
        f"the text speaks of models that can read the documents: {counted.passed} of "
        f"{counted.fields} fields; the printed share counts the fields of the two models that "
        "cannot",
        MEDIUM,
        "counts()",
    )


def _credit_validity() -> Finding:
    able = tuple(m for m in MODELS if m not in CLAUDE)
    credit = tally(models=able, domains=("credit",))
    research = tally(models=able, domains=("research",))
    figure = said("validity of credit")
    return Finding(
        "credit-validity",
        "section 4.2, arrays",
        *against(figure, credit.validity),
        "the comparison of validity on credit agreements and research papers mixes a page limit "
        f"with the schema: of the models that can read them, {percent(credit.validity)} of credit "
        f"outputs and {percent(research.validity)} of research outputs are valid, so credit "
        "agreements and not sports results have the highest validity",
        MEDIUM,
        "counts()",
    )


def _structured_mode() -> Finding:
    accepted = ("sports", "credit", "research")
    before, after = (tally(mode, domains=accepted) for mode in ("prompt", "structured"))
    lost = tally(domains=("resumes",)).passed
    return Finding(
        "structured-accuracy",
        "section 4.3",
        "accuracy falls",
        f"{before.passed} to {after.passed} fields",
        float(after.passed - before.passed),
        f"all of the loss with structured output is the rejected resume schema ({lost} passed "
        "fields); on the domains whose schemas were accepted, more fields pass than before, "
        f"of {after.fields:,}",
        HIGH,
        "counts('prompt') and counts('structured')",
    )


def _structured_research() -> Finding:
    changes = {
        m: tally("structured", models=(m,), domains=("research",)).passed
        - tally(models=(m,), domains=("research",)).passed
        for m in MODELS
    }
    risen = [f"{m} {change:+d}" for m, change in changes.items() if change > 0]
    fields = tally(models=MODELS[:1], domains=("research",)).fields
    gpt5 = {mode: tally(mode, models=("GPT-5",), domains=("research",)) for mode in MODES}
    return Finding(
        "structured-long-outputs",
        "section 4.3",
        f"{gpt5['prompt'].pass_rate:.1f}% (GPT-5, research)",
        percent(gpt5["structured"].pass_rate),
        gpt5["structured"].pass_rate - gpt5["prompt"].pass_rate,
        "the text says that structured output harms long extractions most, and that output volume "
        f"binds the GPT models; on research papers, the longest outputs, {', '.join(risen)} fields "
        f"of {fields} pass with it",
        HIGH,
        "Tables 8 and 12; counts('structured')",
    )
