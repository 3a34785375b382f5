"""`errata`: contradictions in AOE's README, dataset card and abstract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from extractbench_nb.benchmark.published import Figure
from extractbench_nb.construction.aoe_figures import (
    DOMAINS,
    MARKED,
    example_recall,
    is_rounded,
    models_of,
    owners_of_pass_rates,
    rates_of,
    recompute,
    rows_of,
    second_in_finance,
    sizes_of,
    statement,
    values_of,
)
from extractbench_nb.construction.sources import aoe_columns, aoe_tasks
from extractbench_nb.paper.cells import EQUAL, status_of
from extractbench_nb.paper.errata_list import ERRATA_COLUMNS, SEVERITIES


def errata() -> pd.DataFrame:
    """List contradictions in AOE's README, dataset card and abstract.

    Every number is computed from the published figures at the time of the call.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first: id, where, published, recomputed, difference,
        explanation, severity (``high``: a result or conclusion changes; ``medium``: a printed
        figure or a rule is wrong; ``low``: wording, marks, small differences), check.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["impossible-pass-rates", ["published", "recomputed"]].tolist()
    ['36 pass rates', '14 impossible']
    """
    found = [*_pass_rates(), *_marks(), *_statements(), *_dataset(), *_configuration()]
    found.sort(key=lambda erratum: SEVERITIES.index(erratum.severity))
    return ERRATA_COLUMNS.from_records(erratum._asdict() for erratum in found)


class Erratum(NamedTuple):
    """One erratum; the fields are the columns of `ERRATA_COLUMNS`."""

    id: str
    where: str
    published: str
    recomputed: str
    difference: float | None
    explanation: str
    severity: str
    check: str


def _pass_rates() -> Iterator[Erratum]:
    """Check the pass rates of both tables against each other and against the numbers of tables."""
    owners = {model: found for model, found in owners_of_pass_rates().items() if found != [model]}
    owners = {model: found for model, found in owners.items() if found}
    (first, (owner,)), *_ = owners.items()
    twice = [
        (values_of("cot")[row, column], value)
        for (row, column), value in values_of("rag").items()
        if (row, column) in values_of("cot") and not column.endswith("pass_rate")
    ]
    yield Erratum(
        "pass-rates-of-other-models",
        "README, results with chain of thought and with retrieval",
        f"{first}: {', '.join(f'{rate:g}' for rate in rates_of('cot', f'{first} +CoT'))}",
        f"{owner}: {', '.join(f'{rate:g}' for rate in rates_of('rag', f'{owner} +CoT'))}",
        None,
        f"{len(models_of('rag'))} rows with chain of thought are printed in both tables, with the "
        f"same score and F1 in {sum(one == two for one, two in twice)} of {len(twice)} cells, but "
        f"with other pass rates; all {len(DOMAINS) * len(owners)} pass rates of these rows in the "
        "first table are those of other models in the second: "
        + ", ".join(f"{m} has those of {' or '.join(found)}" for m, found in owners.items()),
        "high",
        "compare('cot')",
    )

    rates = [f for f in rows_of("rag") if f.column.endswith("pass_rate")]
    wrong = [f for f in rates if status_of(f, recompute("rag")[f.row, f.column]) != EQUAL]
    sizes = ", ".join(f"{size:.0f} {domain}" for domain, size in sizes_of("tables").items())
    listed = "; ".join(
        f"{f.row} {f.column.split()[0]} {f.printed} ({_fitting(f)} tables)" for f in wrong
    )
    yield Erratum(
        "impossible-pass-rates",
        "README, results with retrieval",
        f"{len(rates)} pass rates",
        f"{len(wrong)} impossible",
        float(len(wrong)),
        f"no whole number of the {sizes} tables gives these percentages; in parentheses the "
        f"largest smaller number of tables that does: {listed}",
        "high",
        "compare('rag')",
    )


def _fitting(figure: Figure) -> int | None:
    """Return the largest number of tables, below the domain's, of which a share is the figure."""
    value, tables = figure.value or 0.0, int(sizes_of("tables")[figure.column.split()[0]])
    fitting = (
        n
        for n in range(tables - 1, 0, -1)
        if is_rounded(value, 100 * round(value * n / 100) / n, 2)
    )
    return next(fitting, None)


def _marks() -> Iterator[Erratum]:
    """Check that bold marks the best value of a column."""
    for part in ("cot", "rag"):
        for domain in DOMAINS:
            for name in MARKED:
                column = [f for f in rows_of(part) if f.column == f"{domain} {name}"]
                best = max(column, key=lambda f: f.value or 0.0)
                bold = [f for f in column if f.bold]
                if all(f.value == best.value for f in bold):
                    continue
                yield Erratum(
                    f"bold-{part}-{domain}-{name.replace('_', '-')}",
                    f"{column[0].where}, {domain} {name}",
                    ", ".join(f"{f.row}, {f.printed}" for f in bold),
                    f"{best.row}, {best.printed}",
                    (best.value or 0.0) - (bold[0].value or 0.0),
                    "bold marks the best value of a column, but another row has the maximum",
                    "low",
                    f"figures({part!r})",
                )


def _domain_of(name: str, value: float) -> str:
    """Return the domain whose best figure with chain of thought is nearest to a value."""
    rows = [row for row in dict.fromkeys(f.row for f in rows_of("cot")) if row.endswith(" +CoT")]
    best = {d: max(values_of("cot")[row, f"{d} {name}"] for row in rows) for d in DOMAINS}
    return min(best, key=lambda domain: abs(best[domain] - value))


def _statements() -> Iterator[Erratum]:
    """Check statements on the best models."""
    stated, f1 = statement("best-llm-score"), statement("best-cell-f1")
    value = float(recompute("text")["best-llm-score", "llm_score"].value or 0.0)
    meant = {
        name: _domain_of(name, figure.value or 0.0)
        for name, figure in (("llm_score", stated), ("cell_f1", f1))
    }
    yield Erratum(
        "best-llm-score",
        stated.where,
        stated.printed,
        f"{value}% ({_domain_of('llm_score', value)})",
        value - (stated.value or 0.0),
        f"{stated.printed} is the best score in the {meant['llm_score']} domain, {f1.printed} the "
        f"best F1 in the {meant['cell_f1']} domain; both are given as the best results",
        "medium",
        "compare('text')",
    )
    model, score, cell_f1 = second_in_finance()
    third = "Qwen"
    theirs = [values_of("cot")[f"{third} +CoT", f"financial {n}"] for n in ("llm_score", "cell_f1")]
    yield Erratum(
        "third-place",
        statement("third-place").where,
        f"{third}: {theirs[0]}, F1 {theirs[1]}",
        f"{model}: {score}, F1 {cell_f1}",
        cell_f1 - theirs[1],
        f"the list of top performing models has {third} third, with its results in finance, where "
        f"{model} is ahead of it in both figures",
        "medium",
        "figures('cot')",
    )


def _dataset() -> Iterator[Erratum]:
    """Check the statistics of the dataset."""
    stated, tokens = statement("tokens"), sizes_of("tokens")
    weighted = {}
    for name in ("tables", "documents"):
        sizes = sizes_of(name)
        weighted[name] = sum(tokens[d] * n for d, n in sizes.items()) / sum(sizes.values())
    mean = float(recompute("text")["tokens", "tokens"].value or 0.0)
    yield Erratum(
        "average-tokens",
        stated.where,
        stated.printed,
        f"{weighted['tables'] / 1000:.0f}k per table",
        weighted["tables"] - (stated.value or 0.0),
        f"the average is the mean of the three domains ({mean / 1000:.0f}k), although the domains "
        f"have {', '.join(f'{n:.0f}' for n in sizes_of('tables').values())} tables; weighted by "
        f"tables it is {weighted['tables'] / 1000:.1f}k, by documents "
        f"{weighted['documents'] / 1000:.1f}k",
        "medium",
        "published('domains')",
    )
    for domain in DOMAINS:
        cell = recompute("domains")[domain, "documents_per_table"]
        figure = next(
            f for f in rows_of("domains") if (f.row, f.column) == (domain, "documents_per_table")
        )
        if status_of(figure, cell) != EQUAL:
            value = float(cell.value or 0.0)
            yield Erratum(
                f"documents-per-table-{domain}",
                figure.where,
                figure.printed,
                f"{value:.2f}",
                value - (figure.value or 0.0),
                f"the card's own counts, {cell.source}, give another mean; the other domains agree",
                "low",
                "compare('domains')",
            )
    stated = statement("documents-per-table")
    means, most = sizes_of("documents_per_table"), sizes_of("most_documents")
    below = [d for d in DOMAINS if means[d] < float(stated.printed.partition("-")[0])]
    above = [d for d in DOMAINS if most[d] > float(stated.printed.partition("-")[2])]
    yield Erratum(
        "documents-per-table",
        f"{stated.where}; dataset card",
        stated.printed,
        f"{min(means.values()):g} on average to {max(most.values()):g}",
        None,
        f"the card has a smaller mean for {' and '.join(below)} and more documents for "
        f"{' and '.join(above)}",
        "low",
        "published('domains')",
    )


def _configuration() -> Iterator[Erratum]:
    """Check the example of the README and the configured columns."""
    stated, recall = statement("example-column-recall"), example_recall()
    yield Erratum(
        "column-recall-of-the-example",
        stated.where,
        stated.printed,
        f"{recall:.3f}",
        recall - (stated.value or 0.0),
        "the predicted table of the example lacks one of seven value columns; column recall "
        "compares the configured columns with gold, and ignores the predicted table",
        "high",
        "the README's example",
    )
    stray = [
        (language, task, name)
        for language, task in aoe_tasks()
        for name in (aoe_columns(language, task) or ((), ()))[1]
        if name.endswith('"')
    ]
    for language, task, name in stray:
        yield Erratum(
            f"stray-quote-{task.replace('_', '-')}",
            f"config/task_config.yaml (282e688d), {language} {task}",
            name,
            name.rstrip('"'),
            None,
            "a configured column ends in a quotation mark, so that it is never found in gold and "
            "never scored",
            "medium",
            f"aoe_columns({language!r}, {task!r})",
        )
