"""`table`, `compare`, `style`: tables of the paper, printed, recomputed, of your runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.baseline import BaselineTables
from extractbench_nb.benchmark.complexities import facts_of
from extractbench_nb.benchmark.layout import PaperTable, caption_of, lay_out
from extractbench_nb.benchmark.published import (
    CHECKS,
    DIFFERS,
    DOMAIN_OF_SCHEMA,
    DOMAIN_TABLES,
    DOMAINS,
    EQUAL,
    HEADER,
    MODELS,
    NOT_REPRODUCIBLE,
    OVERALL,
    PARTS,
    ROUNDING,
    STATUSES,
    TOTAL,
    Cell,
    Cells,
    Figure,
    check_of,
    figures_of,
    formatted,
    part_name,
    rows_of,
    status_of,
)
from extractbench_nb.benchmark.recomputed import divided, recompute
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import Dataset
from extractbench_nb.stats import Drawing, wilson_interval

#: Statuses beside `EQUAL` and `DIFFERS`: inside the run's interval, and without a figure of a run.
WITHIN, NO_RUN = "within", "no run"
RUN_STATUSES = (EQUAL, WITHIN, DIFFERS, NO_RUN)

COMPARE_COLUMNS = FrameSpec(
    "compare",
    "one row per printed figure",
    (
        Column("table", "string", "1 to 13, figure2 or text"),
        Column("row", "string", "domain, model, preset or kind of failure; for the text, an id"),
        Column("column", "string", "meaning of the figure"),
        Column("run", "string", "run with which the figure is compared", "", True),
        Column("printed", "string", "the figure as printed"),
        Column("shown", "string", "the compared figure in the same format", "", True),
        Column("published", "Float64", "the printed number; missing for words", "", True),
        Column("recomputed", "Float64", "the recomputed number, or the run's number", "", True),
        Column("difference", "Float64", "recomputed - published", "", True),
        Column("low", "Float64", "lower limit of the interval for a run's number", "", True),
        Column("high", "Float64", "upper limit of the interval for a run's number", "", True),
        Column("unit", "string", "unit of the numbers"),
        Column("status", "string", "result", ", ".join(dict.fromkeys((*STATUSES, *RUN_STATUSES)))),
        Column("reason", "string", "why it differs, or what is missing", "", True),
        Column("source", "string", "source of the recomputed figure", "", True),
        Column("check", "string", "kind of check", ", ".join(CHECKS), True),
        Column("where", "string", "section, caption or footnote"),
    ),
)
#: Columns of comparisons with runs only, and without runs only.
_OF_RUNS, _OF_DATA = ["run", "low", "high"], ["source", "check"]

#: Rows of Table 7, and the failures of `parse_output`.
_FAILURES = {
    "empty": "empty_response",
    "trailing comma": "trailing_comma",
    "page limit": "page_limit",
    "truncated": "truncated_json",
    "context length": "context_length",
}


def table(
    n: int | str, *, values: str = "recomputed", dataset: Dataset | None = None
) -> pd.DataFrame:
    """Return a table of the paper, recomputed or as printed.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``; the paper prints two ratios of Figure 2, in its caption.
    values : str, optional
        ``"recomputed"``, or ``"published"`` for the printed figures.
    dataset : Dataset, optional
        The released dataset, whose files are read and counted. By default the statistics shipped
        with this package, which were counted in the same files.

    Returns
    -------
    pandas.DataFrame
        Index: domain, model, preset or kind of failure. One column per figure; percentages as 85.4,
        recomputed ones not rounded. Recomputed figures that are data themselves (annotators' hours,
        valid outputs, passed fields, failures) are as printed; those that need unreleased data are
        missing. ``.attrs["source"]`` names the source; `compare` shows that of each cell.

    Raises
    ------
    InputError
        If the table is unknown, `values` is invalid or the dataset is not the released one.

    Examples
    --------
    >>> table(2).loc["10-K/Q"].tolist()
    [7, 422, 9071]
    >>> table(8, values="published").loc["total", "research rate"].item()
    14.7
    """
    printed, recomputed = _both(_table_name(n, values), dataset)
    cells = printed if values == "published" else recomputed
    frame = _wide({key: cell.value for key, cell in cells.items()})
    frame.attrs["source"] = "; ".join(dict.fromkeys(c.source for c in cells.values() if c.source))
    return frame


def compare(
    n: int | str | None = None,
    *,
    dataset: Dataset | None = None,
    runs: BaselineTables | None = None,
    models: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare the printed figures in a table with recomputed ones, or with your runs.

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
        One row per printed figure; see `COMPARE_COLUMNS`. Without `runs` ``status`` is
        ``equal`` (after rounding to the printed decimals), ``rounding`` (one unit of the last
        decimal apart), ``differs``, ``declared`` or ``not reproducible``; ``reason`` explains why.
        ``check`` is the kind of check: ``recomputed from data`` (schemas, gold or PDFs), ``derived
        from printed counts`` (a sum, share or extreme of other printed figures), ``repeated`` (the
        paper prints the same quantity elsewhere), ``declared`` (it follows from this package, such
        as its presets, and never counts as equal); NA if nothing was compared.

        With `runs` ``recomputed`` is the run's number and ``low`` to ``high`` its interval;
        ``status`` is ``equal``, ``within`` (the printed figure is inside the interval), ``differs``
        or ``no run``. Totals are compared if there are runs for all six models.

    Raises
    ------
    InputError
        If the table is unknown, the dataset is not the released one, a run or model is
        unknown, no run is named as a model of the paper, or two runs name the same model.

    Examples
    --------
    >>> compare(2)["status"].value_counts().to_dict()
    {'equal': 14, 'not reproducible': 2, 'differs': 2}
    """
    if runs is not None and n is not None and dataset is None:
        return _compared_with_runs(n, runs, models, domains)
    if (runs, models, domains) != (None, None, None):
        raise InputError(
            "runs= goes with a table (5 or 7 to 13) and without dataset=, and models= and domains= "
            "go with runs="
        )
    facts = facts_of(dataset)
    parts = PARTS if n is None else (part_name(n),)
    rows = (row for part in parts for row in _compared(rows_of(part), recompute(part, facts)))
    return COMPARE_COLUMNS.from_records(rows).drop(columns=_OF_RUNS)


def style(n: int | str, *, values: str = "published", dataset: Dataset | None = None) -> PaperTable:
    """Show a table in the paper's layout.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``.
    values : str, optional
        Figures to show: ``"published"``, ``"recomputed"``, or ``"both"``: as printed, and in
        brackets the recomputed figure if it differs. A dagger marks each figure whose counterpart
        differs; `compare` explains why. Bold (best of a column) and red (no field passed) follow
        from the figures shown, not from the paper's marks.
    dataset : Dataset, optional
        The released dataset, whose files are read and counted. By default the statistics shipped
        with this package.

    Returns
    -------
    PaperTable
        Shown as HTML; also with ``.to_latex()`` (booktabs, xcolor) and ``.to_markdown()``. A
        dash marks a figure that cannot be recomputed.

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
    >>> print(style(2, values="both").to_markdown().splitlines()[-1])
    | Total | 35 | 2,076 [–] | 12,867† [12,872] |
    """
    part = _table_name(n, values, ("published", "recomputed", "both"))
    printed, recomputed = _both(part, dataset)
    marked = {
        key
        for key, figure in figures_of(part).items()
        if status_of(figure, recomputed[key]) in (DIFFERS, ROUNDING)
    }
    if part == "figure2":  # its caption prints words around the numbers
        printed = {k: Cell(f.printed, "as printed") for k, f in figures_of(part).items()}
    shown = {"published": printed, "recomputed": recomputed}.get(values, recomputed | printed)
    caption = caption_of(part, values, marked=bool(marked))
    return lay_out(part, shown, marked, recomputed if values == "both" else {}, caption)


def _both(part: str, dataset: Dataset | None) -> tuple[Cells, Cells]:
    """Return the printed and the recomputed cells of a table, in its order."""
    figures, recomputed = figures_of(part), recompute(part, facts_of(dataset))
    printed = {
        key: Cell(figure.printed if figure.value is None else figure.value, "arXiv 2602.12247")
        for key, figure in figures.items()
    }
    order = dict.fromkeys(recomputed if part == "figure2" else figures)
    return printed, {key: recomputed[key] for key in order if key in recomputed}


def _table_name(
    n: int | str, values: str, allowed: tuple[str, ...] = ("published", "recomputed")
) -> str:
    """Check the name of a table, which ``text`` is not, and what is to be shown of it."""
    if values not in allowed:
        raise InputError(f"values={values!r}: {nearest(values, allowed)}")
    part = part_name(n)
    if part == "text":
        raise InputError("'text' is not a table: compare('text') has the numbers of the text")
    return part


def _wide(values: Mapping[tuple[str, str], Any]) -> pd.DataFrame:
    """Arrange figures by row and column, without the row of column heads."""
    cells = [(row, column) for row, column in values if row != HEADER]
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    data = {}
    for column in columns:
        below = [values.get((row, column)) for row in rows]
        numbers = [value for value in below if value is not None]
        if any(isinstance(value, str) for value in numbers):
            dtype: Any = pd.StringDtype("python")
        else:
            dtype = "Int64" if all(float(value).is_integer() for value in numbers) else "Float64"
        data[column] = pd.array(below, dtype=dtype)
    return pd.DataFrame(data, index=pd.Index(rows, name="row", dtype=object))


def _compared(figures: Iterable[Figure], cells: Cells) -> Iterator[dict[str, Any]]:
    for figure in figures:
        cell = cells[figure.row, figure.column]
        status = status_of(figure, cell)
        reason = cell.note if status in (DIFFERS, NOT_REPRODUCIBLE) else ""
        yield _row(
            figure,
            None if cell.is_printed else cell.value,
            status=status,
            reason=reason or None,
            source=cell.source or None,
            check=check_of(figure, cell),
        )


def _row(figure: Figure, value: float | str | None, **others: Any) -> dict[str, Any]:
    """Return a row of `COMPARE_COLUMNS`."""
    number = float(value) if isinstance(value, (int, float)) else None
    gap = None if number is None or figure.value is None else number - figure.value
    numbers = {"published": figure.value, "recomputed": number, "difference": gap}
    return figure._asdict() | numbers | {"shown": formatted(figure, value)} | others


# --- your own runs --------------------------------------------------------------------------------


def _compared_with_runs(
    n: int | str,
    runs: BaselineTables,
    models: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare the figures of runs with those of a table; see `compare`."""
    part = part_name(n)
    if part not in ("5", *(str(n) for n in range(7, 14))):
        raise InputError(f"table {n!r} has no figures of runs; those that do are 5 and 7 to 13")
    given: object = runs
    if not isinstance(given, BaselineTables):
        kind = type(given).__name__
        raise InputError(f"runs is {kind}; expected what baseline_tables() returns")
    names, schemas = (list(dict.fromkeys(runs.results[name])) for name in ("run", "schema"))
    names.remove(TOTAL)
    schemas.remove(OVERALL)
    named = {run: model for run in names if (model := _model_of(run, part)) is not None}
    folders = {name: DOMAIN_OF_SCHEMA.get(name.rpartition("/")[2], "") for name in schemas}
    known = {name: domain for name, domain in folders.items() if domain}
    run_of = _by_target("models", named if models is None else models, names, MODELS)
    schema_of = _by_target("domains", known if domains is None else domains, schemas, DOMAINS)
    if len(run_of) == len(names) == len(MODELS):
        run_of[TOTAL] = TOTAL
    results = {(row["run"], row["schema"]): row for row in runs.results.to_dict("records")}
    by_table = {str(table): domain for domain, table in DOMAIN_TABLES.items()}
    rows = []
    for figure in rows_of(part):
        if figure.row == HEADER:
            continue
        run = run_of.get(figure.column if part == "7" else figure.row)
        value, low, high = None, None, None
        if run is not None and part == "7":
            value, low, high = _failed(figure.row, runs, run)
        elif run is not None:
            domain, _, last = figure.column.rpartition(" ")
            domain = domain or by_table.get(part, OVERALL)
            row = results.get((run, OVERALL if domain == OVERALL else schema_of.get(domain)))
            value, low, high = _of_results(row, last) if row else (None, None, None)
        status = NO_RUN
        if value is not None and figure.value is not None:
            inside = low is not None and high is not None and low <= figure.value <= high
            is_equal = status_of(figure, Cell(value, "")) == EQUAL
            status = EQUAL if is_equal else WITHIN if inside else DIFFERS
        domain = figure.column.removesuffix(" rate")
        sums_up = figure.table == "8" and figure.row == TOTAL and domain in DOMAINS
        reason = (divided(domain) if sums_up else "") or None
        rows.append(_row(figure, value, run=run, low=low, high=high, status=status, reason=reason))
    return COMPARE_COLUMNS.from_records(rows).drop(columns=_OF_DATA)


def _model_of(run: str, part: str) -> str | None:
    """Return the model that a run is named as.

    Runs whose names end in ``structured`` are for Table 8, the others for all other tables.
    """
    if run.casefold().endswith("structured") != (part == "8"):
        return None
    letters = {re.sub(r"[\W_]+", "", model.casefold()): model for model in MODELS}
    name = run.rpartition("/")[2].casefold().removesuffix("structured")
    return letters.get(re.sub(r"[\W_]+", "", name))


def _by_target(
    argument: str, targets: Mapping[str, str], names: list[str], allowed: tuple[str, ...]
) -> dict[str, str]:
    """Invert a mapping of runs to models, or of schemas to domains, and check it."""
    found = {target: name for name, target in targets.items()}
    if not found or len(found) < len(targets) or not set(targets) <= set(names):
        raise InputError(
            f"{argument} is {dict(targets)!r}; expected a different one of {', '.join(allowed)} "
            f"for some of {', '.join(map(repr, names))}"
        )
    for target in found:
        if target not in allowed:
            raise InputError(f"{argument}: no {target!r}; {nearest(target, allowed)}")
    return found


def _failed(kind: str, runs: BaselineTables, run: str) -> tuple[float, float, float]:
    """Return how many attempts of a run failed in one way, with its interval."""
    whole: dict[Any, Any] = runs.of_schema(OVERALL).to_dict("index")[run]
    documents = whole["documents"]
    if kind == TOTAL:
        low, high = (documents * (1 - whole[f"valid_{end}"]) for end in ("high", "low"))
        return documents - whole["valid"], low, high
    count = int(runs.failures[run].get(_FAILURES[kind], 0))
    drawing = Drawing(runs.results.attrs["confidence"], 100, 0)
    low, high, _ = wilson_interval(count / documents, documents, drawing)
    return count, documents * (low or 0.0), documents * (high or 0.0)


def _of_results(row: Mapping[Any, Any], figure: str) -> tuple[float | None, ...]:
    """Return a figure of a run, with its interval."""
    if figure in ("documents", "attempts", "fields"):
        return row["fields" if figure == "fields" else "documents"], None, None
    column, interval, factor, of_interval = {
        "valid": ("valid", "valid", 1.0, row["documents"]),
        "passed": ("passed", "pass_rate", 1.0, row["fields"]),
        "rate": ("pass_rate", "pass_rate", 100.0, 100.0),
        "accuracy": ("accuracy_valid", "accuracy", 100.0, 100.0),
    }[figure]
    numbers = (row[column], row[f"{interval}_low"], row[f"{interval}_high"])
    factors = (factor, of_interval, of_interval)
    return tuple(
        None if pd.isna(x) else float(x * f) for x, f in zip(numbers, factors, strict=True)
    )
