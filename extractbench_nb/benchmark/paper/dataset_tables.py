"""Tables 1, 2, 3, 6 and Figure 2: what follows from schemas, gold and PDFs."""

from __future__ import annotations

from extractbench_nb.benchmark.paper.cells import Cell, Cells, given, value_of
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import DOMAINS, TOTAL

__all__ = ["annotation", "characteristics", "complexities", "scale", "tokens"]

NO_PDF = "the PDF of one research paper"
NO_HOURS = "the annotators' hours were not released"
REVISED = "the released research golds seem to have gained array items of one value since"

_FIELDS = "leaf values outside arrays; field_definitions() tries others, and none fits throughout"
_ITEMS = "items of all arrays of the released gold, nested ones included"


def characteristics(facts: Facts) -> Cells:
    """Recompute Table 1."""
    return {
        (domain, column): Cell(facts.figure(domain, column), facts.source)
        for domain in DOMAINS
        for column in ("keys", "depth", "documents")
    }


def scale(facts: Facts) -> Cells:
    """Recompute Table 2."""
    cells: Cells = {}
    for domain in DOMAINS:
        cells[domain, "documents"] = Cell(facts.documents[domain], facts.source)
        cells[domain, "pages"] = _pages(facts, domain)
        changed = domain == "research"
        cells[domain, "gold_values"] = Cell(
            facts.total(domain, "gold_values"), facts.source, REVISED if changed else ""
        )
    for column in ("documents", "pages", "gold_values"):
        cells[TOTAL, column] = _sum([cells[domain, column] for domain in DOMAINS], facts)
    return cells


def _pages(facts: Facts, domain: str) -> Cell:
    total = facts.total(domain, "pages")
    if total is not None:
        return Cell(total, facts.source)
    known = facts.of(domain, "pages")
    pages = int(known.sum())
    rest = value_of(2, domain, "pages") - pages
    note = f"{NO_PDF}: the others have {pages} pages, which leaves {rest:.0f} of the printed total"
    return Cell(None, facts.source, note)


def _sum(cells: list[Cell], facts: Facts) -> Cell:
    notes = "; ".join(cell.note for cell in cells if cell.note)
    if any(cell.value is None for cell in cells):
        return Cell(None, facts.source, notes)
    return Cell(sum(float(cell.value or 0) for cell in cells), facts.source, notes)


def annotation(facts: Facts) -> Cells:
    """Recompute the averages and the sum of Table 3 from its hours, which are data of their own."""
    cells: Cells = {}
    hours = {domain: value_of(3, domain, "hours") for domain in DOMAINS}
    for domain in DOMAINS:
        cells[domain, "hours"] = given(3, domain, "hours", NO_HOURS)
        mean = hours[domain] / facts.documents[domain]
        cells[domain, "hours_per_document"] = Cell(mean, "Table 3, hours / documents")
    total, documents = sum(hours.values()), sum(facts.documents.values())
    cells[TOTAL, "hours"] = Cell(total, "Table 3, sum of the rows")
    printed = value_of(3, TOTAL, "hours_per_document")
    note = f"{total:.1f} hours / {documents} documents; {printed} needs {total / printed:.0f}"
    cells[TOTAL, "hours_per_document"] = Cell(total / documents, "Table 3, sums", note)
    return cells


def complexities(facts: Facts) -> Cells:
    """Recompute Table 6."""
    notes = {
        "tokens": "tokens of the released gold file as it is",
        "fields": _FIELDS,
        "array_items": _ITEMS,
    }
    cells: Cells = {}
    for domain in DOMAINS:
        for column in ("pages", "keys", "depth", "tokens", "fields", "array_items"):
            value, note = facts.figure(domain, column), notes.get(column, "")
            if value is None:
                note = NO_PDF
            elif domain == "research" and column in ("tokens", "array_items"):
                note = REVISED
            cells[domain, column] = Cell(value, facts.source, note)
    return cells


def tokens(facts: Facts) -> Cells:
    """Recompute Figure 2: tokens of PDF text and gold a document, and their ratio."""
    cells: Cells = {}
    for domain in DOMAINS:
        source = facts.frame[facts.frame["domain"] == domain].dropna(subset=["pdf_tokens"])
        read, written = float(source["pdf_tokens"].mean()), float(source["gold_tokens"].mean())
        without = int(facts.of(domain, "pdf_tokens").isna().sum())
        note = f"{without} document without PDF left out" if without else ""
        cells[domain, "input_tokens"] = Cell(read, facts.source, note)
        cells[domain, "output_tokens"] = Cell(written, facts.source, note)
        why = f"{read:,.0f} tokens of PDF text / {written:,.0f} of gold JSON a document"
        why = f"{why}; {note}" if note else why
        cells[domain, "ratio"] = Cell(read / written, facts.source, why)
    return cells
