"""AOE's published figures: `published`, `compare` and `errata`, as `xb.paper` has them.

Sources: the results tables of AOE's README (github tianyumyum/AOE, commits 0a45831 and 282e688d),
its dataset card, and the abstract of arXiv 2507.16271. Numbers were typed from there, and marks of
the best values with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.published import Figure
from extractbench_nb.construction.loading import TableDataset
from extractbench_nb.construction.sources import aoe_columns, aoe_tasks, shipped
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.paper.cells import (
    DIFFERS,
    EQUAL,
    NOT_REPRODUCIBLE,
    STATUSES,
    Cell,
    Cells,
    compared_figure,
    rounded,
    status_of,
)
from extractbench_nb.paper.errata_list import ERRATA_COLUMNS, SEVERITIES

__all__ = ["compare", "errata", "figures", "published"]

#: Results with chain of thought, results with retrieval, statistics of the dataset, the text.
PARTS = ("cot", "rag", "domains", "text")
DOMAINS = ("financial", "legal", "academic")
MARKED = ("llm_score", "pass_rate", "cell_f1")
_NO_DATA = "needs the models' answers, which are not published"

FIGURE_COLUMNS = FrameSpec(
    "figures",
    "one row per printed figure, in the order of printing",
    (
        Column("table", "string", "where it is printed", ", ".join(PARTS)),
        Column("row", "string", "model and setting, domain, or an id in the text"),
        Column("label", "string", "the row's name as printed; in the text, what is counted"),
        Column("column", "string", "what the figure is"),
        Column("value", "Float64", "the number, percentages as 85.4; missing for words", "", True),
        Column("unit", "string", "unit of the value"),
        Column("digits", "Int64", "decimals that count; -3 for 171k", "-3 to 2", True),
        Column("printed", "string", "the figure as printed"),
        Column("bold", "bool", "printed in bold"),
        Column("where", "string", "README and commit, dataset card, or abstract"),
    ),
)

COMPARE_COLUMNS = FrameSpec(
    "compare",
    "one row per printed figure",
    (
        Column("table", "string", "where it is printed", ", ".join(PARTS)),
        Column("row", "string", "model and setting, domain, or an id in the text"),
        Column("column", "string", "what the figure is"),
        Column("printed", "string", "the figure as printed"),
        Column("shown", "string", "the recomputed figure in the same format", "", True),
        Column("published", "Float64", "the printed number; missing for words", "", True),
        Column("recomputed", "Float64", "the recomputed number", "", True),
        Column("difference", "Float64", "recomputed - published", "", True),
        Column("unit", "string", "unit of both"),
        Column("status", "string", "result of the comparison", ", ".join(STATUSES)),
        Column("reason", "string", "why it differs, or what is missing", "", True),
        Column("source", "string", "what was recomputed from", "", True),
        Column("where", "string", "README and commit, dataset card, or abstract"),
    ),
)


def figures(table: str | None = None) -> pd.DataFrame:
    """Return the printed figures, one per row.

    Parameters
    ----------
    table : str, optional
        ``"cot"``, ``"rag"``, ``"domains"`` or ``"text"``; all by default.

    Returns
    -------
    pandas.DataFrame
        table, row, label, column, value, unit, digits, printed, bold, where.

    Raises
    ------
    InputError
        If the table does not exist.

    Examples
    --------
    >>> frame = figures("cot")
    >>> frame.loc[frame["bold"] & (frame["column"] == "legal cell_f1"), "printed"].tolist()
    ['42.12']
    """
    parts = PARTS if table is None else (_part(table),)
    return FIGURE_COLUMNS.from_records(f._asdict() for part in parts for f in _rows(part))


def published(table: str) -> pd.DataFrame:
    """Return a table as it is printed.

    Parameters
    ----------
    table : str
        ``"cot"``: results with and without chain of thought. ``"rag"``: with and without
        retrieval. ``"domains"``: the dataset's statistics. ``"text"``: numbers of the texts.

    Returns
    -------
    pandas.DataFrame
        Index: model and setting, domain, or an id. One column per figure; percentages as 85.4.

    Raises
    ------
    InputError
        If the table does not exist.

    Examples
    --------
    >>> published("rag").loc["Qwen +RAG+CoT", "academic llm_score"].item()
    77.08
    """
    cells: dict[str, dict[str, Any]] = {}
    for figure in _rows(_part(table)):
        value = figure.printed if figure.value is None else figure.value
        cells.setdefault(figure.row, {})[figure.column] = value
    frame = pd.DataFrame.from_dict(cells, orient="index")
    frame.index.name = "row"
    frame.attrs["source"] = "github tianyumyum/AOE, its dataset card, arXiv 2507.16271"
    return frame


def compare(table: str, *, dataset: TableDataset | None = None) -> pd.DataFrame:
    """Compare printed figures with what can be recomputed from the other figures.

    Parameters
    ----------
    table : str
        ``"cot"``, ``"rag"``, ``"domains"`` or ``"text"``.
    dataset : TableDataset, optional
        AOE's dataset, whose tables and documents are then counted for ``"domains"``.

    Returns
    -------
    pandas.DataFrame
        One row per printed figure: table, row, column, printed, shown, published, recomputed,
        difference, unit, status, reason, source, where. ``status`` is ``equal`` (after rounding),
        ``rounding`` (one unit of the last decimal apart), ``differs``, or ``not reproducible``:
        scores of models need their answers, which are not published. A pass rate of ``"rag"``
        is recomputed as the nearest share of the domain's tables, one of ``"cot"`` as the
        model's own rate in ``"rag"``.

    Raises
    ------
    InputError
        If the table does not exist.

    Examples
    --------
    >>> compare("rag").query("column.str.endswith('pass_rate')")["status"].value_counts().to_dict()
    {'equal': 22, 'differs': 14}
    """
    part = _part(table)
    cells = {"cot": _cot, "rag": _rag, "text": _text}.get(part, lambda: _domains(dataset))()
    missing = Cell(None, "", _NO_DATA)
    rows = []
    for figure in _rows(part):
        cell = cells.get((figure.row, figure.column), missing)
        status = status_of(figure, cell)
        reason = cell.note if status in (DIFFERS, NOT_REPRODUCIBLE) else None
        texts = {"status": status, "reason": reason or None, "source": cell.source or None}
        rows.append(compared_figure(figure, cell.value) | texts)
    return COMPARE_COLUMNS.from_records(rows)


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


# --- the figures -----------------------------------------------------------------------------


def _part(table: object) -> str:
    if isinstance(table, str) and table in PARTS:
        return table
    raise InputError(f"no table {table!r}; {nearest(table, PARTS)}")


@cache
def _rows(part: str) -> tuple[Figure, ...]:
    rows = (row for row in shipped("aoe_figures").to_dict("records") if row["table"] == part)
    return tuple(
        Figure(
            *(row["table"], row["row"], row["label"], row["column"]),
            *(_value(row["printed"]), row["unit"], _digits(row), row["printed"]),
            *(row["bold"] == "1", False, row["where"]),
        )
        for row in rows
    )


def _value(printed: str) -> float | None:
    text = printed.strip("~%").replace(",", "")
    factor = 1000.0 if text.endswith("k") else 1.0
    try:
        return float(text.removesuffix("k")) * factor
    except ValueError:
        return None


def _digits(row: Mapping[Any, str]) -> int | None:
    """Return the decimals that count: pass rates of the first table are whole percentages."""
    printed = row["printed"]
    if _value(printed) is None:
        return None
    if printed.endswith("k"):
        return -3
    if row["table"] == "cot" and row["column"].endswith("pass_rate"):
        return 0
    if row["column"] == "column_recall":  # its neighbours have three
        return 3
    return len(printed.strip("~%").partition(".")[2])


@cache
def _values(part: str) -> Mapping[tuple[str, str], float]:
    """Return the numbers of a table by row and column."""
    return {(f.row, f.column): f.value for f in _rows(part) if f.value is not None}


def _figure(part: str, row: str) -> Figure:
    return next(f for f in _rows(part) if f.row == row)


def _models(part: str) -> list[str]:
    return list(dict.fromkeys(f.row.split(" ")[0] for f in _rows(part)))


def _rates(part: str, row: str) -> tuple[float, ...]:
    return tuple(_values(part)[row, f"{domain} pass_rate"] for domain in DOMAINS)


def _sizes(column: str) -> dict[str, float]:
    return {domain: _values("domains")[domain, column] for domain in DOMAINS}


# --- what can be recomputed ------------------------------------------------------------------


def _is_rounded(value: float, exact: float, digits: int) -> bool:
    """Whether a printed number is a rounded exact one, ties up or to even."""
    ways = (ROUND_HALF_EVEN, ROUND_HALF_UP)
    return rounded(value, digits) in {rounded(exact, digits, how=how) for how in ways}


def owners_of_pass_rates() -> dict[str, list[str]]:
    """Return the models whose pass rates in "rag" are those of a model's +CoT row in "cot".

    Compared are whole percentages of the three domains, between all models of both tables.
    """
    return {
        model: [
            other
            for other in _models("rag")
            if all(
                _is_rounded(printed, exact, 0)
                for printed, exact in zip(
                    _rates("cot", f"{model} +CoT"), _rates("rag", f"{other} +CoT"), strict=True
                )
            )
        ]
        for model in _models("cot")
    }


def _cot() -> Cells:
    cells: Cells = {}
    for model, owners in owners_of_pass_rates().items():
        for domain in DOMAINS:
            column = f"{domain} pass_rate"
            value = _values("rag").get((f"{model} +CoT", column))
            if value is not None:
                note = f"the printed rates of the row are those of {' or '.join(owners)}"
                source = f"the model's own rate in the table of results with retrieval, {value}"
                none = "no model has the printed rates of the row there"
                cells[f"{model} +CoT", column] = Cell(value, source, note if owners else none)
    return cells


def _rag() -> Cells:
    cells: Cells = {}
    for figure in _rows("rag"):
        domain, _, name = figure.column.partition(" ")
        if name == "pass_rate" and figure.value is not None:
            tables = int(_sizes("tables")[domain])
            passed = round(figure.value * tables / 100)
            share = 100 * passed / tables
            source = f"{passed} of {tables} tables"
            note = f"no whole number of {tables} tables gives it; the nearest share is {source}"
            cells[figure.row, figure.column] = Cell(share, source, note)
    return cells


def _domains(dataset: TableDataset | None) -> Cells:
    needs = "needs the dataset: compare('domains', dataset=load(...))"
    names = ("tables", "documents", "tokens", "documents_per_table", "most_documents")
    cells: Cells = {(d, name): Cell(None, "", needs) for d in DOMAINS for name in names}
    tables, documents = _sizes("tables"), _sizes("documents")
    for domain in DOMAINS:
        mean = documents[domain] / tables[domain]
        source = f"{documents[domain]:.0f} documents / {tables[domain]:.0f} tables"
        cells[domain, "documents_per_table"] = Cell(mean, source, source)
    if dataset is None:
        return cells
    frame = dataset.tables
    for name_of_domain, part in frame.groupby("domain"):
        counts = part["documents"]
        found = {
            "tables": len(part),
            "documents": int(counts.sum()),
            "documents_per_table": float(counts.mean()),
            "most_documents": int(counts.max()),
        }
        for name, value in found.items():
            cells[str(name_of_domain), name] = Cell(value, f"dataset {dataset.name!r}")
    return cells


def _text() -> Cells:
    best = {
        name: max(
            value
            for part in ("cot", "rag")
            for (row, column), value in _values(part).items()
            if column.endswith(f" {name}") and row.endswith(" +CoT")
        )
        for name in ("llm_score", "cell_f1")
    }
    tokens, documents = _sizes("tokens"), _sizes("documents_per_table")
    most = _sizes("most_documents")
    spread = f"{min(documents.values()):g}-{max(most.values()):g}"
    in_table = "largest value of the rows with chain of thought"
    plain = "mean of three domains, without weights"
    second, columns = "second best F1 in finance", "columns of the example's tables"
    per_table = "smallest mean and largest number of the dataset card"
    return {
        ("tables", "tables"): Cell(sum(_sizes("tables").values()), "sum of the domains"),
        ("documents", "documents"): Cell(sum(_sizes("documents").values()), "sum of the domains"),
        ("tokens", "tokens"): Cell(sum(tokens.values()) / len(tokens), plain),
        ("tasks", "tasks"): Cell(len({task for _, task in aoe_tasks()}), "task_config.yaml"),
        ("best-llm-score", "llm_score"): Cell(best["llm_score"], in_table, in_table),
        ("best-cell-f1", "cell_f1"): Cell(best["cell_f1"], in_table, in_table),
        ("documents-per-table", "documents_per_table"): Cell(spread, per_table, per_table),
        ("third-place", "model"): Cell(f"{_second()[0]}, financial", second, second),
        ("example-column-recall", "column_recall"): Cell(_example_recall(), columns, columns),
    }


# --- errata ----------------------------------------------------------------------------------


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
        (_values("cot")[row, column], value)
        for (row, column), value in _values("rag").items()
        if (row, column) in _values("cot") and not column.endswith("pass_rate")
    ]
    yield Erratum(
        "pass-rates-of-other-models",
        "README, results with chain of thought and with retrieval",
        f"{first}: {', '.join(f'{rate:g}' for rate in _rates('cot', f'{first} +CoT'))}",
        f"{owner}: {', '.join(f'{rate:g}' for rate in _rates('rag', f'{owner} +CoT'))}",
        None,
        f"{len(_models('rag'))} rows with chain of thought are printed in both tables, with the "
        f"same score and F1 in {sum(one == two for one, two in twice)} of {len(twice)} cells, but "
        f"with other pass rates; all {len(DOMAINS) * len(owners)} pass rates of these rows in the "
        "first table are those of other models in the second: "
        + ", ".join(f"{m} has those of {' or '.join(found)}" for m, found in owners.items()),
        "high",
        "compare('cot')",
    )

    rates = [f for f in _rows("rag") if f.column.endswith("pass_rate")]
    wrong = [f for f in rates if status_of(f, _rag()[f.row, f.column]) != EQUAL]
    sizes = ", ".join(f"{size:.0f} {domain}" for domain, size in _sizes("tables").items())
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
    value, tables = figure.value or 0.0, int(_sizes("tables")[figure.column.split()[0]])
    fitting = (
        n
        for n in range(tables - 1, 0, -1)
        if _is_rounded(value, 100 * round(value * n / 100) / n, 2)
    )
    return next(fitting, None)


def _marks() -> Iterator[Erratum]:
    """Check that bold marks the best value of a column."""
    for part in ("cot", "rag"):
        for domain in DOMAINS:
            for name in MARKED:
                column = [f for f in _rows(part) if f.column == f"{domain} {name}"]
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
    rows = [row for row in dict.fromkeys(f.row for f in _rows("cot")) if row.endswith(" +CoT")]
    best = {d: max(_values("cot")[row, f"{d} {name}"] for row in rows) for d in DOMAINS}
    return min(best, key=lambda domain: abs(best[domain] - value))


def _second() -> tuple[str, float, float]:
    """Return the second best model in finance, by cell F1, with its score and F1."""
    scores = {m: _values("cot")[f"{m} +CoT", "financial cell_f1"] for m in _models("cot")}
    _, second = sorted(scores, key=lambda model: -scores[model])[:2]
    return second, _values("cot")[f"{second} +CoT", "financial llm_score"], scores[second]


def _statements() -> Iterator[Erratum]:
    """Check statements on the best models."""
    stated, f1 = _figure("text", "best-llm-score"), _figure("text", "best-cell-f1")
    value = float(_text()["best-llm-score", "llm_score"].value or 0.0)
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
    model, score, cell_f1 = _second()
    third = "Qwen"
    theirs = [_values("cot")[f"{third} +CoT", f"financial {n}"] for n in ("llm_score", "cell_f1")]
    yield Erratum(
        "third-place",
        _figure("text", "third-place").where,
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
    stated, tokens = _figure("text", "tokens"), _sizes("tokens")
    weighted = {
        name: sum(tokens[d] * size for d, size in _sizes(name).items()) / sum(_sizes(name).values())
        for name in ("tables", "documents")
    }
    mean = float(_text()["tokens", "tokens"].value or 0.0)
    yield Erratum(
        "average-tokens",
        stated.where,
        stated.printed,
        f"{weighted['tables'] / 1000:.0f}k per table",
        weighted["tables"] - (stated.value or 0.0),
        f"the average is the mean of the three domains ({mean / 1000:.0f}k), although the domains "
        f"have {', '.join(f'{n:.0f}' for n in _sizes('tables').values())} tables; weighted by "
        f"tables it is {weighted['tables'] / 1000:.1f}k, by documents "
        f"{weighted['documents'] / 1000:.1f}k",
        "medium",
        "published('domains')",
    )
    for domain in DOMAINS:
        cell = _domains(None)[domain, "documents_per_table"]
        figure = next(
            f for f in _rows("domains") if (f.row, f.column) == (domain, "documents_per_table")
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
    stated = _figure("text", "documents-per-table")
    means, most = _sizes("documents_per_table"), _sizes("most_documents")
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


def _example_recall() -> float:
    """Return the share of the example's value columns that its predicted table has.

    The example is of task financial_0; its predicted table lacks the last column.
    """
    columns = aoe_columns("zh", "financial_0")
    values = columns[1] if columns else ()
    return (len(values) - 1) / len(values)


def _configuration() -> Iterator[Erratum]:
    """Check the example of the README and the configured columns."""
    stated, recall = _figure("text", "example-column-recall"), _example_recall()
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
