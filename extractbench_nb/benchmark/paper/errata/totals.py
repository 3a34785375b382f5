"""Errata: totals, averages and marks that do not follow from the rows above them."""

from __future__ import annotations

from collections.abc import Iterator

from extractbench_nb.benchmark.paper.cells import printed, value_of
from extractbench_nb.benchmark.paper.counts import tally
from extractbench_nb.benchmark.paper.errata.finding import HIGH, LOW, MEDIUM, Finding, against
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import DOMAINS, MODELS, TOTAL
from extractbench_nb.benchmark.paper.results import accuracy_range, results, scored_in_valid
from extractbench_nb.benchmark.paper.status import EQUAL, status_of
from extractbench_nb.benchmark.published import Figure, rows_of

__all__ = ["totals"]


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
