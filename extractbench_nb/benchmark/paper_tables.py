"""`table`, `published` and `compare`: tables of the paper, printed, recomputed, of your runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.benchmark.domain_facts import facts_of
from extractbench_nb.benchmark.paper_cells import (
    CHECKS,
    DIFFERS,
    HEADER,
    NOT_REPRODUCIBLE,
    PART,
    PRINTED,
    ROUNDING,
    STATUSES,
    Cell,
    Cells,
    check_of,
    compared_figure,
    figures_of,
    status_of,
)
from extractbench_nb.benchmark.published import PARTS, Figure, part_name, rows_of
from extractbench_nb.benchmark.recomputed import recompute
from extractbench_nb.benchmark.run_comparison import RunTables, compare_with_runs
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, needs
from extractbench_nb.runs import Dataset

if TYPE_CHECKING:
    from extractbench_nb.support.publication import PaperStyler


COMPARE_COLUMNS = FrameSpec(
    "compare",
    "one row per printed figure",
    (
        PART,
        Column("row", "string", "domain, model, preset or kind of failure; an id in the text"),
        Column("column", "string", "what the figure is"),
        *PRINTED,
        Column("recomputed", "Float64", "the recomputed number", "", True),
        Column("difference", "Float64", "recomputed - published", "", True),
        Column("unit", "string", "unit of both"),
        Column("status", "string", "result of the comparison", ", ".join(STATUSES)),
        Column("reason", "string", "why it differs, or what is missing", "", True),
        Column("source", "string", "source of the recomputed figure", "", True),
        Column("check", "string", "kind of check", ", ".join(CHECKS), True),
        Column("where", "string", "section, caption or footnote"),
    ),
)


def table(n: int | str, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Recompute a table of the paper.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``.
    dataset : Dataset, optional
        The released dataset, whose files are read and counted. By default the statistics shipped
        with this package, which were counted in the same files.

    Returns
    -------
    pandas.DataFrame
        Rows and columns as in `published`; percentages as 85.4, not rounded. Figures that are data
        themselves (annotators' hours, valid outputs, passed fields, failures) are as printed;
        figures that need unreleased data are missing. ``.attrs["source"]`` names the source;
        `compare` shows that of each cell.

    Raises
    ------
    InputError
        If the table is unknown or the dataset is not the released one.

    Examples
    --------
    >>> table(2).loc["10-K/Q"].tolist()
    [7, 422, 9071]
    """
    part = table_name(n)
    cells = recompute(part, facts_of(dataset))
    keys = cells if part == "figure2" else figures_of(part)
    frame = _wide(keys, {key: cell.value for key, cell in cells.items()})
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

    Raises
    ------
    InputError
        If the table is unknown.

    Examples
    --------
    >>> published(8).loc["total", "research rate"].item()
    14.7
    """
    part = table_name(n)
    figures = figures_of(part)
    frame = _wide(
        figures, {k: f.printed if f.value is None else f.value for k, f in figures.items()}
    )
    frame.attrs["source"] = "arXiv 2602.12247"
    return frame


def compare(
    n: int | str | None = None,
    *,
    dataset: Dataset | None = None,
    runs: RunTables | None = None,
    models: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare a table's printed figures with the recomputed ones, or with those of your runs.

    Parameters
    ----------
    n : int or str, optional
        1 to 13, ``"figure2"``, or ``"text"`` for the numbers of the text; all of them by default.
        With `runs` 5 or 7 to 13.
    dataset : Dataset, optional
        The released dataset, whose files are read and counted. By default the statistics shipped
        with this package.
    runs : BaselineTables, optional
        Result of ``xb.benchmark.baseline_tables``, which is compared with the printed figures.
    models : mapping of str to str, optional
        The model of the paper for each run. By default by the name of the run: ``GPT-5.2`` and
        ``openai/gpt-5.2`` are the same model; runs whose names end with ``structured`` are for
        Table 8, all others for the other tables.
    domains : mapping of str to str, optional
        The domain of the paper for each schema of the runs: sports, credit, research, resumes or
        10-K/Q. By default those of the released dataset.

    Returns
    -------
    pandas.DataFrame
        One row per printed figure: table, row, column, printed, shown, published, recomputed,
        difference, unit, status, reason, source, check, where. ``status`` is ``equal`` (after
        rounding to the printed decimals), ``rounding`` (one unit of the last decimal apart),
        ``differs`` (``reason`` says why), ``declared``, or ``not reproducible`` (``reason`` says
        what is missing). ``check`` is the kind of check: ``recomputed from data`` (schemas, gold or
        PDFs), ``derived from printed counts`` (a sum, share or extreme of other printed figures),
        ``repeated`` (the paper prints the same quantity elsewhere), ``declared`` (it follows from
        this package, such as its presets, and never counts as equal); NA if nothing was compared.

        With `runs`: table, row, column, run, printed, shown, published, found, difference, low,
        high, unit, status, reason, where. ``low`` to ``high`` is the interval of ``found``, NA if
        it has none; ``status`` is ``equal``, ``within`` (the printed figure is inside the
        interval), ``differs`` or ``no run``. Totals are compared if there are runs for all six
        models.

    Raises
    ------
    InputError
        If the table is unknown, the dataset is not the released one, a run or model is
        unknown, no run is named as a model of the paper, or two runs stand for the same model.

    Examples
    --------
    >>> compare(2)["status"].value_counts().to_dict()
    {'equal': 14, 'not reproducible': 2, 'differs': 2}
    """
    if runs is not None:
        if dataset is not None:
            raise InputError("runs= and dataset= are two comparisons; give one of them")
        if n is None:
            raise InputError("with runs=, name a table: 5 or 7 to 13")
        return compare_with_runs(n, runs, models, domains)
    if models is not None or domains is not None:
        raise InputError("models= and domains= say what runs stand for; give runs= too")
    facts = facts_of(dataset)
    parts = PARTS if n is None else (part_name(n),)
    return COMPARE_COLUMNS.from_records(
        row for part in parts for row in _compared(rows_of(part), recompute(part, facts))
    )


def style(
    n: int | str, *, values: str = "published", dataset: Dataset | None = None
) -> PaperStyler:
    """Show a table in the paper's layout.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``.
    values : str, optional
        Figures to show: ``"published"`` or ``"recomputed"``. A dagger marks each figure whose
        counterpart differs; `compare` says why. Bold (best of a column) and red (no field passed)
        follow from the figures shown, not from the paper's marks.
    dataset : Dataset, optional
        The released dataset, whose files are read and counted. By default the statistics shipped
        with this package.

    Returns
    -------
    PaperStyler
        A pandas Styler; also with ``.to_latex()`` (booktabs, xcolor) and
        ``.to_markdown()``. A dash stands for a figure that cannot be recomputed.

    Raises
    ------
    InputError
        If the table is unknown or `values` is invalid.

    Examples
    --------
    >>> print(style(2).to_markdown())
    Table 2 (published). Size of the dataset. ... † The recomputed figure differs.
    <BLANKLINE>
    |  | Documents | Pages | Gold Values |
    | --- | ---: | ---: | ---: |
    ...
    | Total | 35 | 2,076 | 12,867† |
    """
    needs("jinja2", "notebook")
    from extractbench_nb.benchmark.paper_layout import caption_of, lay_out, spans_of
    from extractbench_nb.support.publication import styled

    part = table_name(n)
    if values not in ("recomputed", "published"):
        raise InputError(f"values={values!r}: expected 'published' or 'recomputed'")
    recomputed = recompute(part, facts_of(dataset))
    marked = {
        key
        for key, figure in figures_of(part).items()
        if status_of(figure, recomputed[key]) in (DIFFERS, ROUNDING)
    }
    printed_cells = {
        key: Cell(f.printed if f.value is None or part == "figure2" else f.value, "as printed")
        for key, f in figures_of(part).items()
    }
    shown = recomputed if values == "recomputed" else printed_cells
    caption = caption_of(part, values, marked=bool(marked))
    table = lay_out(part, shown, marked)
    return styled(table, f"{part}-{values}", caption=caption, over=spans_of(part))


def table_name(n: int | str) -> str:
    """Check the name of a table; ``text`` is not a table."""
    part = part_name(n)
    if part == "text":
        raise InputError("'text' is not a table: compare('text') has the numbers of the text")
    return part


def _wide(keys: Iterable[tuple[str, str]], values: Mapping[tuple[str, str], Any]) -> pd.DataFrame:
    """Arrange figures by row and column, without the row of column heads."""
    cells = [(row, column) for row, column in keys if row != HEADER]
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    data = {}
    for column in columns:
        cells_below = [values.get((row, column)) for row in rows]
        if any(isinstance(value, str) for value in cells_below):
            dtype: Any = pd.StringDtype("python")
        else:
            is_whole = all(value is None or float(value).is_integer() for value in cells_below)
            dtype = "Int64" if is_whole else "Float64"
        data[column] = pd.array(cells_below, dtype=dtype)
    return pd.DataFrame(data, index=pd.Index(rows, name="row", dtype=object))


def _compared(figures: Iterable[Figure], cells: Cells) -> Iterator[dict[str, Any]]:
    for figure in figures:
        cell = cells[figure.row, figure.column]
        status = status_of(figure, cell)
        reason = cell.note if status in (DIFFERS, NOT_REPRODUCIBLE) else ""
        texts = {"status": status, "reason": reason or None, "source": cell.source or None}
        texts["check"] = check_of(figure, cell)
        yield compared_figure(figure, None if cell.is_printed else cell.value) | texts
