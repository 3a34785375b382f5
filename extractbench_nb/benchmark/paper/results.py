"""Tables 5 and 7 to 13: what follows from the printed counts."""

from __future__ import annotations

from collections.abc import Iterator

from extractbench_nb.benchmark.paper.cells import Cell, Cells, given, printed, ratio, value_of
from extractbench_nb.benchmark.paper.counts import Tally, tally
from extractbench_nb.benchmark.paper.dataset_tables import NO_PDF
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import DOMAIN_TABLES, DOMAINS, MODELS, TOTAL
from extractbench_nb.benchmark.published import rows_of

__all__ = [
    "FAILURES",
    "accuracy_range",
    "divided",
    "domain_results",
    "failures",
    "results",
    "scored_in_valid",
    "structured",
]

#: Kinds of failure, as the rows of Table 7.
FAILURES = ("empty", "trailing comma", "page limit", "truncated", "context length")

NO_OUTPUTS = "the model outputs were not released"


def results(facts: Facts) -> Cells:
    """Recompute Table 5 from the counts of Tables 9 to 13 and the dataset's own figures."""
    cells = _header(facts)
    for row in (*MODELS, TOTAL):
        models = MODELS if row == TOTAL else (row,)
        whole = tally(models=models)
        cells[row, "valid"] = Cell(whole.valid, "Tables 9-13")
        cells[row, "attempts"] = Cell(sum(facts.documents.values()) * len(models), facts.source)
        for domain in DOMAINS:
            _share(cells, row, domain, tally(models=models, domains=(domain,)))
        _share(cells, row, "overall", whole)
        cells[row, "accuracy"] = _accuracy(facts, row, models)
    return cells


def _header(facts: Facts) -> Cells:
    columns = ("documents", "pages", "keys", "tokens")
    return {
        ("header", f"{domain} {column}"): Cell(
            facts.figure(domain, column), facts.source, "" if column != "pages" else NO_PDF
        )
        for domain in DOMAINS
        for column in columns
    }


def _share(cells: Cells, row: str, name: str, counted: Tally) -> None:
    source = "Tables 9-13" if name == "overall" else f"Table {DOMAIN_TABLES[name]}"
    cells[row, f"{name} passed"] = Cell(counted.passed, source)
    cells[row, f"{name} fields"] = Cell(counted.fields, source)
    cells[row, f"{name} rate"] = Cell(counted.pass_rate, source)


def _accuracy(facts: Facts, row: str, models: tuple[str, ...]) -> Cell:
    scored = scored_in_valid(facts, models)
    passed = tally(models=models).passed
    low, high = accuracy_range(row, passed)
    implied = f"{low}" if low == high else f"{low} to {high}"
    note = (
        f"the printed share means {implied} fields, the valid outputs have {scored}: a judge call "
        "that fails adds up to five passing fields, and the released evaluator leaves out one "
        f"field of each resume ({scored_in_valid(facts, models, released=True)} then)"
    )
    return Cell(ratio(passed, scored), "Tables 9-13, scored fields a document", note)


def scored_in_valid(facts: Facts, models: tuple[str, ...], *, released: bool = False) -> int:
    """Count the fields that are scored in the valid outputs of some models."""
    scored = facts.scored_released if released else facts.scored
    return sum(
        tally(models=(model,), domains=(domain,)).valid * scored[domain]
        for model in models
        for domain in DOMAINS
    )


def accuracy_range(row: str, passed: int) -> tuple[int, int]:
    """Return the fewest and most fields for which Table 5 would print its accuracy.

    Raises
    ------
    ValueError
        No number of fields gives the printed share.
    """
    share = printed(5, row, "accuracy")
    half = 0.5 * 10.0 ** -(share.digits or 0)
    value = share.value or 0.0
    whole = range(passed, 100 * passed)
    fitting = [n for n in whole if abs(ratio(passed, n) - value) <= half + 1e-9]
    if not fitting:
        raise ValueError(f"Table 5, {row}: no number of fields gives {share.printed} of {passed}")
    return fitting[0], fitting[-1]


def domain_results(table: int) -> Cells:
    """Recompute the shares of one of Tables 9 to 13; its counts are data of their own."""
    cells: Cells = {}
    domain = next(d for d, n in DOMAIN_TABLES.items() if n == table)
    documents, keys = (int(value_of(1, domain, c)) for c in ("documents", "keys"))
    for model in MODELS:
        counted = tally(models=(model,), domains=(domain,))
        cells[model, "valid"] = given(table, model, "valid", NO_OUTPUTS)
        cells[model, "documents"] = Cell(documents, "Table 1")
        cells[model, "passed"] = given(table, model, "passed", NO_OUTPUTS)
        cells[model, "fields"] = Cell(documents * keys, "Table 1, documents x keys")
        cells[model, "rate"] = Cell(counted.pass_rate, f"Table {table}, passed / fields")
    return cells


def failures() -> Cells:
    """Recompute the totals of Table 7 from valid outputs; its counts are data of their own."""
    cells: Cells = {
        (kind, model): given(7, kind, model, NO_OUTPUTS) for kind in FAILURES for model in MODELS
    }
    for model in MODELS:
        counted = tally(models=(model,))
        invalid = counted.documents - counted.valid
        cells[TOTAL, model] = Cell(invalid, "Tables 9-13, documents - valid")
    return cells


def structured(facts: Facts) -> Cells:
    """Recompute what Table 8 sums up; the percentages of single domains are its data."""
    cells: Cells = {}
    for domain in ("credit", "research", "sports"):
        for model in MODELS:
            cells[model, f"{domain} rate"] = given(8, model, f"{domain} rate", NO_OUTPUTS)
        whole = tally("structured", domains=(domain,))
        cells[TOTAL, f"{domain} rate"] = Cell(
            whole.pass_rate, "Table 8, counts behind its percentages", divided(domain)
        )
    for row in (*MODELS, TOTAL):
        models = MODELS if row == TOTAL else (row,)
        share = tally("structured", models=models).pass_rate
        note = "the six models' counts add up to another share" if row == TOTAL else ""
        cells[row, "overall rate"] = Cell(share, "Table 8, counts behind its percentages", note)
    return cells


def divided(domain: str) -> str:
    """Say how the printed total of a domain in Table 8 is wrong; empty if it is the rows' mean."""
    rates = list(_model_rates(domain))
    total = value_of(8, TOTAL, f"{domain} rate")
    divisor = round(sum(rates) / total)
    if divisor == len(rates):
        return ""
    return (
        f"the printed total is the sum of the six rows, {sum(rates):.1f}, divided by {divisor} "
        f"instead of {len(rates)}"
    )


def _model_rates(domain: str) -> Iterator[float]:
    for figure in rows_of("8"):
        if figure.column == f"{domain} rate" and figure.row != TOTAL:
            yield figure.value or 0.0
