"""Errata in printed numbers: totals, averages, and what the pass rate divides by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.paper.cells import (
    CLAUDE,
    DOMAINS,
    EQUAL,
    MODELS,
    TOTAL,
    printed,
    ratio,
    rounded,
    said,
    status_of,
    value_of,
)
from extractbench_nb.paper.facts import Facts, tally
from extractbench_nb.paper.results import accuracy_range, results, scored_in_valid

__all__ = [
    "HIGH",
    "LOW",
    "MEDIUM",
    "SEVERITIES",
    "Finding",
    "against",
    "percent",
    "scores",
    "totals",
]


#: It changes a result or a conclusion; a printed figure is wrong; a matter of wording or emphasis.
HIGH, MEDIUM, LOW = SEVERITIES = ("high", "medium", "low")


class Finding(NamedTuple):
    """A row of `errata`; the fields are the columns of ``ERRATA_COLUMNS``."""

    id: str
    where: str
    published: str
    recomputed: str
    difference: float | None
    explanation: str
    severity: str
    check: str


def against(figure: Figure, value: float) -> tuple[str, str, float]:
    """Return a printed figure, a computed one written the same way, and their difference."""
    digits = max(figure.digits or 0, 0)
    suffix = "%" if figure.unit == "%" else "×" if figure.printed.endswith("×") else ""
    comma = "," if "," in figure.printed else ""
    shown = f"{rounded(value, digits):{comma}.{digits}f}{suffix}"
    return figure.printed, shown, value - (figure.value or 0.0)


def percent(value: float) -> str:
    """Write a share as 22.4%."""
    return f"{rounded(value, 1)}%"


def totals(facts: Facts) -> Iterator[Finding]:
    """Find the totals and marks that do not add up."""
    yield _hours(facts)
    yield _structured("research")
    yield _structured("sports")
    yield _structured_overall()
    yield _research_bold()
    yield _validity_bold()
    yield _accuracies(facts)


def _hours(facts: Facts) -> Finding:
    hours = sum(value_of(3, domain, "hours") for domain in DOMAINS)
    documents = sum(facts.documents.values())
    figure = printed(3, TOTAL, "hours_per_document")
    without = documents - facts.documents["credit"]
    return Finding(
        "hours-per-document",
        "Table 3, last row",
        *against(figure, hours / documents),
        f"{hours:.1f} hours over {documents} documents; {figure.printed} is what {without} "
        f"documents would give ({hours / without:.2f}), those without the credit agreements",
        MEDIUM,
        "table(3); hours and documents of Tables 2 and 3",
    )


def _structured(domain: str) -> Finding:
    figure = printed(8, TOTAL, f"{domain} rate")
    rates = [value_of(8, model, f"{domain} rate") for model in MODELS]
    whole = tally("structured", domains=(domain,))
    divisor = round(sum(rates) / (figure.value or 1))
    return Finding(
        f"structured-{domain}-total",
        f"Table 8, last row, {domain}",
        *against(figure, whole.pass_rate),
        f"{whole.passed} of {whole.fields} fields; the mean of the six printed rows is "
        f"{sum(rates) / len(rates):.1f}; their sum divided by {divisor} gives the printed total",
        MEDIUM,
        "table(8); counts('structured')",
    )


def _structured_overall() -> Finding:
    figure = printed(8, TOTAL, "overall rate")
    whole = tally("structured")
    rows = [value_of(8, model, "overall rate") for model in MODELS]
    return Finding(
        "structured-overall-total",
        "Table 8, last row, overall",
        *against(figure, whole.pass_rate),
        f"{whole.passed} of {whole.fields} fields; the mean of the six printed rows is "
        f"{sum(rows) / len(rows):.2f}, and all of them divide by the same number of fields",
        MEDIUM,
        "table(8); counts('structured')",
    )


def _best(figures: list[Figure]) -> Figure:
    return max(figures, key=lambda figure: figure.value or 0.0)


def _research_bold() -> Finding:
    column = [f for f in rows_of("5") if f.column == "research passed" and f.row in MODELS]
    marked = next(f for f in column if f.bold)
    best = _best(column)
    appendix = next(f for f in rows_of("12") if f.column == "passed" and f.bold)
    return Finding(
        "research-bold",
        "Table 5, research papers",
        f"{marked.row}, {marked.printed}",
        f"{best.row}, {best.printed}",
        (best.value or 0.0) - (marked.value or 0.0),
        "bold stands for the best of a column, and the maximum is another row; "
        f"Table 12 marks {appendix.row}, {appendix.printed}",
        LOW,
        "figures(5) and figures(12), column bold",
    )


def _validity_bold() -> Finding:
    column = [f for f in rows_of("5") if f.column == "valid" and f.row in MODELS]
    best = _best(column)
    marked = [f.row for f in column if f.bold]
    return Finding(
        "validity-bold",
        "Table 5, valid outputs",
        ", ".join(marked) or "no mark",
        f"{best.row}, {best.printed}",
        None,
        "the caption promises bold for the best of each column; this column has none",
        LOW,
        "figures(5), column bold",
    )


def _accuracies(facts: Facts) -> Finding:
    cells = results(facts)
    rows = (*MODELS, TOTAL)
    own = {row: float(cells[row, "accuracy"].value or 0) for row in rows}
    figures = {row: printed(5, row, "accuracy") for row in rows}
    apart = [r for r in rows if status_of(figures[r], cells[r, "accuracy"]) != EQUAL]
    low = sum(own[row] > (figures[row].value or 0) for row in apart)
    surplus = ", ".join(f"{model} {_surplus(facts, model):+d}" for model in MODELS)
    return Finding(
        "accuracy-on-valid",
        "Table 5, last column",
        *against(figures[TOTAL], own[TOTAL]),
        f"{len(apart)} of {len(rows)} accuracies do not follow from valid documents x scored "
        f"fields ({low} are printed too low, the others too high): {cells[TOTAL, 'accuracy'].note};"
        f" the printed shares need so many fields beyond the released evaluator's: {surplus}",
        HIGH,
        "compare(5), column accuracy",
    )


def _surplus(facts: Facts, model: str) -> int:
    """Count the fields that a printed accuracy needs beyond those of the valid outputs."""
    low, _ = accuracy_range(model, tally(models=(model,)).passed)
    return low - scored_in_valid(facts, (model,), released=True)


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
