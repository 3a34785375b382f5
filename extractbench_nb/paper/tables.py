"""`table`, `published` and `compare`: recomputed and printed tables of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import PARTS, Figure, part_name, rows_of
from extractbench_nb.errors import InputError
from extractbench_nb.paper.cells import (
    DIFFERS,
    HEADER,
    NOT_REPRODUCIBLE,
    STATUSES,
    Cell,
    Cells,
    status_of,
    written,
)
from extractbench_nb.paper.facts import Facts, facts_of
from extractbench_nb.paper.results import (
    annotation,
    characteristics,
    complexities,
    domain_results,
    failures,
    presets_tried,
    results,
    scale,
    statement_cells,
    structured,
    tokens,
)
from extractbench_nb.paper.runs import RunTables, compare_with_runs

__all__ = [
    "COMPARE_COLUMNS",
    "REPRODUCTION_COLUMNS",
    "cells_of",
    "compare",
    "published",
    "reproduction",
    "statements",
    "table",
    "table_name",
]


_MAKERS: Mapping[str, Callable[[Facts], Cells]] = MappingProxyType(
    {
        "1": characteristics,
        "2": scale,
        "3": annotation,
        "4": lambda facts: presets_tried(),
        "5": results,
        "6": complexities,
        "7": lambda facts: failures(),
        "8": structured,
        **{str(n): lambda facts, n=n: domain_results(n) for n in range(9, 14)},  # type: ignore[misc]
        "figure2": tokens,
        "text": statement_cells,
    }
)

COMPARE_COLUMNS = FrameSpec(
    "compare",
    "one row a printed figure",
    (
        Column("table", "string", "1 to 13, figure2 or text"),
        Column("row", "string", "domain, model, preset or kind of failure; an id in the text"),
        Column("column", "string", "what the figure is"),
        Column("printed", "string", "the figure as printed"),
        Column("shown", "string", "the recomputed one, written the same way", "", True),
        Column("published", "Float64", "the printed number; missing for words", "", True),
        Column("recomputed", "Float64", "the recomputed number", "", True),
        Column("difference", "Float64", "recomputed - published", "", True),
        Column("unit", "string", "unit of both"),
        Column("status", "string", "what the comparison says", ", ".join(STATUSES)),
        Column("reason", "string", "why it differs, or what is missing", "", True),
        Column("source", "string", "what was recomputed from", "", True),
        Column("where", "string", "section, caption or footnote"),
    ),
)

REPRODUCTION_COLUMNS = FrameSpec(
    "reproduction",
    "one row a table, Figure 2 and the text",
    (
        Column("table", "string", "1 to 13, figure2 or text"),
        Column("cells", "int64", "printed figures"),
        *(
            Column(status.replace(" ", "_"), "int64", f"figures whose status is {status}")
            for status in STATUSES
        ),
    ),
)


def table(n: int | str, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Recompute a table of the paper.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``.
    dataset : Dataset, optional
        The released dataset, read and counted anew. By default the statistics that come with this
        package: figures counted in the same dataset, the same on every machine.

    Returns
    -------
    pandas.DataFrame
        Rows and columns as in `published`; percentages as 85.4 with all their decimals. What is
        data of its own (annotators' hours, valid outputs, passed fields, failures) is as printed;
        what needs something that was not released is missing. ``.attrs["source"]`` says what was
        used; `compare` tells the cells apart.

    Raises
    ------
    InputError
        There is no such table, or the dataset is another one.

    Examples
    --------
    >>> table(1).loc["10-K/Q"].tolist()
    [369, 4, 7]
    """
    part = table_name(n)
    cells = cells_of(part, dataset=dataset)
    own = {key: cell.value for key, cell in cells.items()}
    frame = _wide(list(own) if part == "figure2" else _printed_cells(part), own)
    frame.attrs["source"] = "; ".join(dict.fromkeys(c.source for c in cells.values() if c.source))
    return frame


def published(n: int | str) -> pd.DataFrame:
    """Return a table as the paper prints it.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"`` for the two ratios of its caption.

    Returns
    -------
    pandas.DataFrame
        Index: domain, model, preset or kind of failure. One column per figure; percentages as 85.4.
        Table 5's column heads are in ``figures(5)``, row ``header``.

    Raises
    ------
    InputError
        There is no such table.

    Examples
    --------
    >>> published(8).loc["total", "research rate"].item()
    14.7
    """
    part = table_name(n)
    values = {(f.row, f.column): f.printed if f.value is None else f.value for f in rows_of(part)}
    frame = _wide(_printed_cells(part), values)
    frame.attrs["source"] = "arXiv 2602.12247"
    return frame


def compare(
    n: int | str,
    *,
    dataset: Dataset | None = None,
    runs: RunTables | None = None,
    models: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare a table's printed figures with the recomputed ones, or with those of your runs.

    Parameters
    ----------
    n : int or str
        1 to 13, ``"figure2"``, or ``"text"`` for the numbers of the text; with `runs` 5 or 7 to 13.
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.
    runs : BaselineTables, optional
        From `baseline_tables`: figures of these runs stand beside the printed ones.
    models : mapping of str to str, optional
        Which model of the paper a run stands for. By default as the run is named: ``GPT-5.2``,
        ``openai/gpt-5.2`` and ``simulated GPT-5.2`` are one; runs whose names end with
        ``structured`` are for Table 8, the others for the rest.
    domains : mapping of str to str, optional
        Which domain of the paper a schema of the runs stands for: sports, credit, research,
        resumes or 10-K/Q. By default the released dataset's.

    Returns
    -------
    pandas.DataFrame
        One row per printed figure: table, row, column, printed, shown, published, recomputed,
        difference, unit, status, reason, source, where. ``status`` is ``equal`` (after rounding
        to the printed decimals), ``rounding`` (one unit of the last decimal apart), ``differs``
        (``reason`` says why) or ``not reproducible`` (``reason`` says what is missing).

        With `runs`: table, row, column, run, printed, shown, published, found, difference, low,
        high, unit, status, reason, where. ``low`` to ``high`` is the interval of ``found``, where
        it has one; ``status`` is ``equal``, ``within`` (the printed figure is inside it),
        ``differs`` or ``no run``. Totals are compared where the runs are the six models.

    Raises
    ------
    InputError
        There is no such table, or the dataset is another one; a run or model is not known, none
        is named as a model of the paper, or two are.

    Examples
    --------
    >>> compare(1)["status"].unique().tolist()
    ['equal']
    """
    if runs is not None:
        if dataset is not None:
            raise InputError("runs= and dataset= are two comparisons; give one of them")
        return compare_with_runs(n, runs, models, domains)
    if models is not None or domains is not None:
        raise InputError("models= and domains= say what runs stand for; give runs= too")
    part = part_name(n)
    return _compared(part, cells_of(part, dataset=dataset))


def statements(*, dataset: Dataset | None = None) -> pd.DataFrame:
    """Recompute the numbers in the paper's text, abstract, captions and footnotes.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    pandas.DataFrame
        One row per number, with the columns of `compare`; ``row`` names the place, ``column`` the
        quantity.

    Examples
    --------
    >>> frame = statements()
    >>> frame.loc[frame["column"] == "pass rate without 10-K/Q", ["printed", "shown"]].values
    array([['28.0%', '28.0%']], dtype=object)
    """
    return compare("text", dataset=dataset)


def reproduction(*, dataset: Dataset | None = None) -> pd.DataFrame:
    """Count, for each table, how many printed figures are reproduced.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    pandas.DataFrame
        One row per table, Figure 2 and the text: table, cells, equal, rounding, differs,
        not_reproducible.
    """
    facts = facts_of(dataset)
    rows = []
    for part in PARTS:
        found = Counter(_compared(part, _MAKERS[part](facts))["status"])
        rows.append((part, found.total(), *(found[status] for status in STATUSES)))
    columns = zip(*rows, strict=True)
    names = REPRODUCTION_COLUMNS.names
    return REPRODUCTION_COLUMNS.build(dict(zip(names, columns, strict=True)))


def cells_of(part: str, *, dataset: Dataset | None = None) -> Cells:
    """Return a part's recomputed figures by row and column."""
    return _MAKERS[part](facts_of(dataset))


def table_name(n: int | str) -> str:
    """Check the name of a table; the text is none."""
    part = part_name(n)
    if part == "text":
        raise InputError("'text' is no table: statements() compares the numbers of the text")
    return part


def _printed_cells(part: str) -> list[tuple[str, str]]:
    return [(f.row, f.column) for f in rows_of(part) if f.row != HEADER]


def _wide(keys: Iterable[tuple[str, str]], values: Mapping[tuple[str, str], Any]) -> pd.DataFrame:
    rows = list(dict.fromkeys(row for row, _ in keys))
    columns = list(dict.fromkeys(column for _, column in keys))
    data = {c: _typed([values.get((row, c)) for row in rows]) for c in columns}
    return pd.DataFrame(data, index=pd.Index(rows, name="row", dtype=object))


def _typed(values: list[Any]) -> Any:
    if any(isinstance(value, str) for value in values):
        return pd.array(values, dtype=pd.StringDtype("python"))
    numbers = [None if v is None else float(v) for v in values]
    whole = all(number is None or number.is_integer() for number in numbers)
    return pd.array(numbers, dtype="Int64" if whole else "Float64")


def _compared(part: str, cells: Cells) -> pd.DataFrame:
    rows = [_row(figure, cells[figure.row, figure.column]) for figure in rows_of(part)]
    columns = zip(*rows, strict=True)
    return COMPARE_COLUMNS.build(dict(zip(COMPARE_COLUMNS.names, columns, strict=True)))


def _row(figure: Figure, cell: Cell) -> tuple[Any, ...]:
    status = status_of(figure, cell)
    own = None if cell.given else cell.value
    number = float(own) if isinstance(own, (int, float)) else None
    known = number is not None and figure.value is not None
    explained = status in (DIFFERS, NOT_REPRODUCIBLE)
    return (
        figure.table,
        figure.row,
        figure.column,
        figure.printed,
        written(figure, own),
        figure.value,
        number,
        (number or 0.0) - (figure.value or 0.0) if known else None,
        figure.unit,
        status,
        cell.note if explained and cell.note else None,
        cell.source or None,
        figure.where,
    )
