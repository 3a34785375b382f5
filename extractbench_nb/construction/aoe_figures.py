"""AOE's published figures, and what can be recomputed of them.

Sources: the results tables of AOE's README (github tianyumyum/AOE, commits 0a45831 and 282e688d),
its dataset card, and the abstract of arXiv 2507.16271. Numbers were typed from there, and marks of
the best values with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP
from functools import cache
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.published import Figure
from extractbench_nb.construction.dataset import TableDataset
from extractbench_nb.construction.sources import aoe_columns, aoe_tasks, shipped
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.paper.cells import (
    DIFFERS,
    NOT_REPRODUCIBLE,
    STATUSES,
    Cell,
    Cells,
    compared_figure,
    rounded,
    status_of,
)

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
    return FIGURE_COLUMNS.from_records(f._asdict() for part in parts for f in rows_of(part))


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
    for figure in rows_of(_part(table)):
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
    cells = recompute(part, dataset)
    missing = Cell(None, "", _NO_DATA)
    rows = []
    for figure in rows_of(part):
        cell = cells.get((figure.row, figure.column), missing)
        status = status_of(figure, cell)
        reason = cell.note if status in (DIFFERS, NOT_REPRODUCIBLE) else None
        texts = {"status": status, "reason": reason or None, "source": cell.source or None}
        rows.append(compared_figure(figure, cell.value) | texts)
    return COMPARE_COLUMNS.from_records(rows)


# --- the figures -----------------------------------------------------------------------------


def _part(table: object) -> str:
    if isinstance(table, str) and table in PARTS:
        return table
    raise InputError(f"no table {table!r}; {nearest(table, PARTS)}")


@cache
def rows_of(part: str) -> tuple[Figure, ...]:
    """Return the printed figures of a table."""
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
def values_of(part: str) -> Mapping[tuple[str, str], float]:
    """Return the numbers of a table by row and column."""
    return {(f.row, f.column): f.value for f in rows_of(part) if f.value is not None}


def statement(row: str) -> Figure:
    """Return a figure of the texts."""
    return next(f for f in rows_of("text") if f.row == row)


def models_of(part: str) -> list[str]:
    """Return the models of a table."""
    return list(dict.fromkeys(f.row.split(" ")[0] for f in rows_of(part)))


def rates_of(part: str, row: str) -> tuple[float, ...]:
    """Return the three pass rates of a row."""
    return tuple(values_of(part)[row, f"{domain} pass_rate"] for domain in DOMAINS)


def sizes_of(column: str) -> dict[str, float]:
    """Return a statistic of the dataset card by domain."""
    return {domain: values_of("domains")[domain, column] for domain in DOMAINS}


# --- what can be recomputed ------------------------------------------------------------------


def is_rounded(value: float, exact: float, digits: int) -> bool:
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
            for other in models_of("rag")
            if all(
                is_rounded(printed, exact, 0)
                for printed, exact in zip(
                    rates_of("cot", f"{model} +CoT"), rates_of("rag", f"{other} +CoT"), strict=True
                )
            )
        ]
        for model in models_of("cot")
    }


def recompute(part: str, dataset: TableDataset | None = None) -> Cells:
    """Return the figures of a table that can be recomputed."""
    if part == "domains":
        return _domains(dataset)
    return {"cot": _cot, "rag": _rag, "text": _text}[part]()


def _cot() -> Cells:
    cells: Cells = {}
    for model, owners in owners_of_pass_rates().items():
        for domain in DOMAINS:
            column = f"{domain} pass_rate"
            value = values_of("rag").get((f"{model} +CoT", column))
            if value is not None:
                note = f"the printed rates of the row are those of {' or '.join(owners)}"
                source = f"the model's own rate in the table of results with retrieval, {value}"
                none = "no model has the printed rates of the row there"
                cells[f"{model} +CoT", column] = Cell(value, source, note if owners else none)
    return cells


def _rag() -> Cells:
    cells: Cells = {}
    for figure in rows_of("rag"):
        domain, _, name = figure.column.partition(" ")
        if name == "pass_rate" and figure.value is not None:
            tables = int(sizes_of("tables")[domain])
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
    tables, documents = sizes_of("tables"), sizes_of("documents")
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
            for (row, column), value in values_of(part).items()
            if column.endswith(f" {name}") and row.endswith(" +CoT")
        )
        for name in ("llm_score", "cell_f1")
    }
    tokens, documents = sizes_of("tokens"), sizes_of("documents_per_table")
    most = sizes_of("most_documents")
    spread = f"{min(documents.values()):g}-{max(most.values()):g}"
    in_table = "largest value of the rows with chain of thought"
    plain = "mean of three domains, without weights"
    second, columns = "second best F1 in finance", "columns of the example's tables"
    per_table = "smallest mean and largest number of the dataset card"
    return {
        ("tables", "tables"): Cell(sum(sizes_of("tables").values()), "sum of the domains"),
        ("documents", "documents"): Cell(sum(sizes_of("documents").values()), "sum of the domains"),
        ("tokens", "tokens"): Cell(sum(tokens.values()) / len(tokens), plain),
        ("tasks", "tasks"): Cell(len({task for _, task in aoe_tasks()}), "task_config.yaml"),
        ("best-llm-score", "llm_score"): Cell(best["llm_score"], in_table, in_table),
        ("best-cell-f1", "cell_f1"): Cell(best["cell_f1"], in_table, in_table),
        ("documents-per-table", "documents_per_table"): Cell(spread, per_table, per_table),
        ("third-place", "model"): Cell(f"{second_in_finance()[0]}, financial", second, second),
        ("example-column-recall", "column_recall"): Cell(example_recall(), columns, columns),
    }


def second_in_finance() -> tuple[str, float, float]:
    """Return the second best model in finance, by cell F1, with its score and F1."""
    scores = {m: values_of("cot")[f"{m} +CoT", "financial cell_f1"] for m in models_of("cot")}
    _, second = sorted(scores, key=lambda model: -scores[model])[:2]
    return second, values_of("cot")[f"{second} +CoT", "financial llm_score"], scores[second]


def example_recall() -> float:
    """Return the share of the example's value columns that its predicted table has.

    The example is of task financial_0; its predicted table lacks the last column.
    """
    columns = aoe_columns("zh", "financial_0")
    values = columns[1] if columns else ()
    return (len(values) - 1) / len(values)
