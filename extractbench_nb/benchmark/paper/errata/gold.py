"""Errata: the released dataset against the paper."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from extractbench_nb.benchmark.fields import field_definitions
from extractbench_nb.benchmark.paper.cells import printed, said, value_of
from extractbench_nb.benchmark.paper.dataset_tables import REVISED, complexities, scale, tokens
from extractbench_nb.benchmark.paper.errata.finding import HIGH, LOW, MEDIUM, Finding, against
from extractbench_nb.benchmark.paper.facts import Facts
from extractbench_nb.benchmark.paper.names import DOMAINS, SCHEMAS, TOTAL
from extractbench_nb.benchmark.paper.status import DIFFERS, status_of

__all__ = ["gold"]

_COUNTED = {
    "tokens": "GPT-2 tokens of the released gold files",
    "array_items": "items of all arrays of the released gold, nested ones included",
    "fields": "leaf values outside arrays",
}


def gold(facts: Facts) -> Iterator[Finding]:
    """Find where the released dataset gives other figures."""
    yield _values(facts, "research", "research-gold-values")
    yield _values(facts, TOTAL, "total-gold-values")
    for column in _COUNTED:
        yield from _averages(facts, column)
    yield _ratio(facts, "research")
    yield _ratio(facts, "credit")
    yield _citations(facts)
    yield _credit_pages(facts)
    yield _growth_metric(facts)
    yield _decomposition()
    yield _violations(facts)
    yield _quarterly(facts)


def _values(facts: Facts, row: str, name: str) -> Finding:
    cell = scale(facts)[row, "gold_values"]
    return Finding(
        name,
        f"Table 2, {row}",
        *against(printed(2, row, "gold_values"), float(cell.value or 0)),
        REVISED,
        LOW,
        "table(2)",
    )


def _averages(facts: Facts, column: str) -> Iterator[Finding]:
    cells = complexities(facts)
    for domain in DOMAINS:
        figure, cell = printed(6, domain, column), cells[domain, column]
        if status_of(figure, cell) != DIFFERS:
            continue
        documents = facts.documents[domain]
        total, mine = (figure.value or 0) * documents, float(cell.value or 0) * documents
        revised = domain == "research" and column != "fields"
        reason = f"{REVISED}; {_COUNTED[column]}" if revised else _COUNTED[column]
        if column == "fields":
            reason = f"{reason}; {_tried()}"
        yield Finding(
            f"{domain.replace('/', '').lower()}-{column.replace('_', '-')}",
            f"Table 6, {domain}",
            *against(figure, float(cell.value or 0)),
            f"{reason}; over {documents} documents about {total:,.0f} printed, {mine:,.0f} counted",
            LOW,
            "table(6)",
        )


@cache
def _tried() -> str:
    tried = field_definitions()
    fitting = tried.groupby("definition")["matches"].sum()
    return (
        f"the paper does not define the column, and none of {len(fitting)} definitions that were "
        f"tried gives more than {int(fitting.max())} of the {len(DOMAINS)} averages"
    )


def _ratio(facts: Facts, domain: str) -> Finding:
    cells = tokens(facts)
    own = [d for d in DOMAINS if float(cells[d, "ratio"].value or 0) < 1]
    high = domain == "research"
    why = f"; more output than input have {' and '.join(own)}" if high else ""
    return Finding(
        f"figure-2-{domain}",
        f"Figure 2, caption, {domain}",
        printed("figure2", domain, "ratio").printed,
        f"{float(cells[domain, 'ratio'].value or 0):.1f}×",
        float(cells[domain, "ratio"].value or 0) - value_of("figure2", domain, "ratio"),
        f"{cells[domain, 'ratio'].note}{why}",
        HIGH if high else LOW,
        "table('figure2')",
    )


def _citations(facts: Facts) -> Finding:
    figure, cited = said("fewest citations"), facts.of("research", "citations")
    few = sorted(int(n) for n in cited if n < (figure.value or 0))
    return Finding(
        "citations-100",
        "Table 1; sections 2.1, 2.2 and 4.2",
        *against(figure, float(cited.min())),
        f"{len(few)} of {len(cited)} papers have fewer citations: {', '.join(map(str, few))}",
        LOW,
        "citations in the released gold",
    )


def _credit_pages(facts: Facts) -> Finding:
    pages = facts.of("credit", "pages")
    low, high = said("shortest credit", "Table 1"), said("longest credit", "Table 1")
    again = [said(name, "section 4.2").printed for name in ("shortest credit", "longest credit")]
    return Finding(
        "credit-pages",
        "Table 1; section 2.1",
        f"{low.printed}–{high.printed} pages",
        f"{int(pages.min())}–{int(pages.max())} pages",
        None,
        f"the PDFs have the pages that section 4.2 gives, {again[0]} to {again[1]}",
        LOW,
        "pages of the PDFs",
    )


def _growth_metric(facts: Facts) -> Finding:
    return Finding(
        "growth-metric",
        "Figure 1, caption",
        *against(said("properties of growth metric"), facts.growth_metric),
        "the definition in the released 10-K/Q schema has fewer properties",
        LOW,
        "definition growth_metric of the 10-K/Q schema",
    )


def _decomposition() -> Finding:
    sums, values = {}, {}
    for domain in DOMAINS:
        sums[domain] = value_of(6, domain, "fields") + value_of(6, domain, "array_items")
        documents = value_of(2, domain, "documents")
        values[domain] = value_of(2, domain, "gold_values") / documents
    fitting = [d for d in DOMAINS if round(sums[d], 1) == round(values[d], 1)]
    worst = max(DOMAINS, key=lambda domain: values[domain] - sums[domain])
    return Finding(
        "fields-and-items",
        "Table 6, caption, against Table 2",
        f"{sums[worst]:.1f} a {worst} document",
        f"{values[worst]:.1f}",
        values[worst] - sums[worst],
        "fields and array items are said to make up the extraction target; they add up to the "
        f"gold values of Table 2 for {' and '.join(fitting)} only, since an array item of several "
        "values counts once",
        MEDIUM,
        "published(2) and published(6)",
    )


def _violations(facts: Facts) -> Finding:
    broken = facts.frame[facts.frame["violations"] > 0]
    by_domain = broken.groupby("domain").size()
    listed = ", ".join(f"{by_domain[d]} of {facts.documents[d]} {d}" for d in by_domain.index)
    return Finding(
        "gold-breaks-schema",
        "section 2.3",
        "every annotation fits its schema",
        f"{len(broken)} of {len(facts.frame)} do not",
        float(len(broken)),
        f"{listed} golds break their own JSON Schema; an output counts as valid only if it fits "
        "the schema (section 4), so these golds would count as invalid outputs",
        HIGH,
        "JSON Schema Draft 2020-12 on the released gold; audit",
    )


def _quarterly(facts: Facts) -> Finding:
    names = facts.frame.loc[facts.frame["schema"] == SCHEMAS["10-K/Q"], "document"]
    quarterly = sum("_10q_" in name for name in names)
    return Finding(
        "no-10-k",
        "Tables 1, 2, 5 and 9",
        "10-K and 10-Q filings",
        f"{quarterly} of {len(names)} are 10-Q",
        None,
        "the released filings are quarterly reports throughout, by their file names",
        LOW,
        "document names of the released dataset",
    )
