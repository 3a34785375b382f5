"""`table`, `published` and `compare`: tables of the paper, printed, recomputed, of your runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA, PARTS, Figure, part_name, rows_of
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.paper.cells import (
    DIFFERS,
    DOMAIN_TABLES,
    DOMAINS,
    EQUAL,
    HEADER,
    MODELS,
    NOT_REPRODUCIBLE,
    OVERALL,
    STATUSES,
    TOTAL,
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
    divided,
    domain_results,
    failures,
    presets_tried,
    results,
    scale,
    statement_cells,
    structured,
    tokens,
)
from extractbench_nb.stats.intervals import Drawing, wilson_interval

if TYPE_CHECKING:
    from extractbench_nb.display.publication import PaperStyler


_MAKERS: Mapping[str, Callable[[Facts], Cells]] = MappingProxyType(
    {
        "1": characteristics,
        "2": scale,
        "3": annotation,
        "4": lambda facts: presets_tried(),
        "5": results,
        "6": complexities,
        "7": lambda facts: failures(),
        "8": lambda facts: structured(),
        **{str(n): lambda facts, n=n: domain_results(n) for n in range(9, 14)},  # type: ignore[misc]
        "figure2": tokens,
        "text": statement_cells,
    }
)

COMPARE_COLUMNS = FrameSpec(
    "compare",
    "one row per printed figure",
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
    "one row per table, Figure 2 and the text",
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
    return REPRODUCTION_COLUMNS.from_rows(rows)


def style(
    n: int | str, *, values: str = "recomputed", dataset: Dataset | None = None
) -> PaperStyler:
    """Show a table in the paper's layout.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``.
    values : str, optional
        ``"recomputed"`` or ``"published"``. Bold (best of a column) and red (nothing passed)
        follow from the figures, not from the paper's marks.
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    PaperStyler
        A pandas Styler; also with ``.to_latex()`` (booktabs, xcolor) and ``.to_markdown()``. A
        dash stands for what cannot be recomputed.

    Raises
    ------
    InputError
        There is no such table, or `values` is something else.

    Examples
    --------
    >>> print(style(1).to_markdown())
    |  | Keys | Depth | Docs |
    | --- | ---: | ---: | ---: |
    | Sports Results | 12 | 6 | 5 |
    ...
    """
    from extractbench_nb.display.publication import styled  # imports jinja2
    from extractbench_nb.paper.layout import lay_out

    part = table_name(n)
    if values not in ("recomputed", "published"):
        raise InputError(f"values={values!r}: expected 'recomputed' or 'published'")
    cells = cells_of(part, dataset=dataset) if values == "recomputed" else _printed(part)
    return styled(lay_out(part, cells), part)


def _printed(part: str) -> Cells:
    return {
        (f.row, f.column): Cell(
            f.printed if f.value is None or part == "figure2" else f.value, "as printed"
        )
        for f in rows_of(part)
    }


def cells_of(part: str, *, dataset: Dataset | None = None) -> Cells:
    """Return a part's recomputed figures by row and column."""
    return _MAKERS[part](facts_of(dataset))


def table_name(n: int | str) -> str:
    """Check the name of a table; the text is none."""
    part = part_name(n)
    if part == "text":
        raise InputError("'text' is not a table: statements() compares the numbers of the text")
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
    return COMPARE_COLUMNS.from_rows(_row(f, cells[f.row, f.column]) for f in rows_of(part))


def _row(figure: Figure, cell: Cell) -> tuple[Any, ...]:
    status = status_of(figure, cell)
    own = None if cell.given else cell.value
    number = float(own) if isinstance(own, (int, float)) else None
    known = number is not None and figure.value is not None
    explained = status in (DIFFERS, NOT_REPRODUCIBLE)
    return (
        *(figure.table, figure.row, figure.column, figure.printed, written(figure, own)),
        *(figure.value, number),
        (number or 0.0) - (figure.value or 0.0) if known else None,
        *(figure.unit, status, cell.note if explained and cell.note else None),
        *(cell.source or None, figure.where),
    )


#: Where the figure of a run stands: the last two have no figure, or no interval.
WITHIN, NO_RUN = "within", "no run"
RUN_COMPARISON_STATUSES = (EQUAL, WITHIN, DIFFERS, NO_RUN)

RUN_COMPARISON_COLUMNS = FrameSpec(
    "compare_runs",
    "one row per printed figure of a model",
    (
        Column("table", "string", "5 or 7 to 13"),
        Column("row", "string", "model or kind of failure, as printed"),
        Column("column", "string", "what the figure is; in Table 7 the model"),
        Column("run", "string", "whose figure stands beside it", "", True),
        Column("printed", "string", "the figure as printed"),
        Column("shown", "string", "that of the run, written the same way", "", True),
        Column("published", "Float64", "the printed number", "", True),
        Column("found", "Float64", "that of the run", "", True),
        Column("difference", "Float64", "found - published", "", True),
        Column("low", "Float64", "interval of found", "", True),
        Column("high", "Float64", "interval of found", "", True),
        Column("unit", "string", "unit of all of them"),
        Column("status", "string", "how they stand", ", ".join(RUN_COMPARISON_STATUSES)),
        Column("reason", "string", "what is known of the printed figure", "", True),
        Column("where", "string", "section or appendix"),
    ),
)

#: Rows of Table 7, and the failures of `parse_output`.
_FAILURES = MappingProxyType(
    {
        "empty": "empty_response",
        "trailing comma": "trailing_comma",
        "page limit": "page_limit",
        "truncated": "truncated_json",
        "context length": "context_length",
    }
)
_PARTS = ("5", *(str(n) for n in range(7, 14)))
_CONFIDENCE = 0.95
_STRUCTURED = "structured"
_SIMULATED = "simulated"


class RunTables(Protocol):
    """What `baseline_tables` returns."""

    @property
    def results(self) -> pd.DataFrame:
        """One row per run and schema."""

    @property
    def failures(self) -> pd.DataFrame:
        """How attempts failed, one column per run."""


class _Found(NamedTuple):
    value: float | None
    low: float | None = None
    high: float | None = None


_NOTHING = _Found(None)


def compare_with_runs(
    n: int | str,
    runs: RunTables,
    models: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Put the figures of runs beside those of a table; see `compare`."""
    part = part_name(n)
    if part not in _PARTS:
        raise InputError(f"table {n!r} has no figures of runs; those that do are 5 and 7 to 13")
    given: object = runs
    if not (hasattr(given, "results") and hasattr(given, "failures")):
        raise InputError(f"runs is {type(given).__name__}; expected what baseline_tables() returns")
    known = list(dict.fromkeys(runs.results["run"]))
    chosen = _models(part, [run for run in known if run != TOTAL], models)
    if len(chosen) == len(known) - 1 == len(MODELS):
        chosen[TOTAL] = TOTAL
    results = {(row["run"], row["schema"]): row for row in runs.results.to_dict("records")}
    confidence = runs.results.attrs.get("confidence", _CONFIDENCE)
    schemas = _domains(runs, domains) | {OVERALL: OVERALL}
    whole = next((domain for domain, n in DOMAIN_TABLES.items() if str(n) == part), OVERALL)
    rows = []
    for figure in rows_of(part):
        if figure.row == HEADER:
            continue
        run = chosen.get(figure.column if part == "7" else figure.row)
        found = _NOTHING
        if run is not None and part == "7":
            failures = runs.failures[run]
            found = _failed(figure.row, results[run, OVERALL], failures, confidence)
        elif run is not None:
            name, _, last = figure.column.rpartition(" ")
            row = results.get((run, schemas.get(name or whole)))
            found = _NOTHING if row is None else _cell(row, last)
        rows.append(_run_row(figure, run, found))
    return RUN_COMPARISON_COLUMNS.from_rows(rows)


def _models(part: str, runs: list[str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the run of each model."""
    if given is not None:
        for run, model in given.items():
            _known("models", run, runs)
            _known(f"models[{run!r}]", model, MODELS)
        pairs = list(given.items())
    else:
        named = [(run, _model_of(run)) for run in _of_mode(part, runs)]
        pairs = [(run, model) for run, model in named if model is not None]
    chosen: dict[str, str] = {}
    for run, model in pairs:
        if model in chosen:
            raise InputError(
                f"runs {chosen[model]!r} and {run!r} are both of {model}; say by "
                "models={run: model} which one is meant"
            )
        chosen[model] = run
    if not chosen:
        mode = f", in {_STRUCTURED} mode" if part == "8" else ""
        raise InputError(
            f"no run is named as a model of the paper{mode} ({', '.join(map(repr, runs))}); say by "
            f"models={{run: model}} which is which: {', '.join(MODELS)}"
        )
    return chosen


def _of_mode(part: str, runs: list[str]) -> list[str]:
    """Leave runs that are named as structured to Table 8, and the others to the rest."""
    return [run for run in runs if run.casefold().endswith(_STRUCTURED) == (part == "8")]


def _model_of(run: str) -> str | None:
    """Return the model of which a run has the name, whatever stands around it."""
    name = run.rpartition("/")[2].casefold()
    name = name.removeprefix(_SIMULATED).removesuffix(_STRUCTURED)
    return next((model for model in MODELS if _letters(model) == _letters(name)), None)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _domains(runs: RunTables, given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the schema of each domain."""
    schemas = [name for name in dict.fromkeys(runs.results["schema"]) if name != OVERALL]
    if given is None:
        folders = {name: name.rpartition("/")[2] for name in schemas}
        pairs = {name: DOMAIN_OF_SCHEMA[f] for name, f in folders.items() if f in DOMAIN_OF_SCHEMA}
    else:
        for schema, domain in given.items():
            _known("domains", schema, schemas)
            _known(f"domains[{schema!r}]", domain, DOMAINS)
        pairs = dict(given)
    found: dict[str, str] = {}
    for schema, domain in pairs.items():
        if domain in found:
            raise InputError(
                f"schemas {found[domain]!r} and {schema!r} both stand for {domain}; say by "
                "domains={schema: domain} which one is meant"
            )
        found[domain] = schema
    if not found:
        raise InputError(
            f"no schema of the runs is one of the paper's ({', '.join(map(repr, schemas))}); say "
            f"by domains={{schema: domain}} which stands for which: {', '.join(DOMAINS)}"
        )
    return found


def _known(what: str, name: Any, known: Any) -> None:
    if name not in known:
        raise InputError(f"{what}: no {name!r}; {nearest(name, known)}")


def _failed(
    kind: str, whole: Mapping[Any, Any], failures: pd.Series[Any], confidence: float
) -> _Found:
    """Return how many attempts of a run failed in one way."""
    documents = whole["documents"]
    if kind == TOTAL:
        bounds = (documents * (1 - whole[f"valid_{end}"]) for end in ("high", "low"))
        return _Found(documents - whole["valid"], *bounds)
    count = int(failures.get(_FAILURES[kind], 0))
    low, high, _ = wilson_interval(count / documents, documents, Drawing(confidence, 100, 0))
    return _Found(count, *(documents * (end or 0.0) for end in (low, high)))


def _cell(row: Mapping[Any, Any], figure: str) -> _Found:
    if figure in ("documents", "attempts"):
        return _Found(row["documents"])
    if figure == "fields":
        return _Found(row["fields"])
    column, low, factor = {
        "valid": ("valid", "valid", row["documents"]),
        "passed": ("passed", "pass_rate", row["fields"]),
        "rate": ("pass_rate", "pass_rate", 100.0),
        "accuracy": ("accuracy_valid", "accuracy", 100.0),
    }[figure]
    whole = 100.0 if figure in ("rate", "accuracy") else 1.0
    numbers = (row[column], row[f"{low}_low"], row[f"{low}_high"])
    factors = (whole, factor, factor)
    found = (None if pd.isna(x) else float(x * f) for x, f in zip(numbers, factors, strict=True))
    return _Found(*found)


def _run_row(figure: Figure, run: str | None, found: _Found) -> tuple[Any, ...]:
    value = found.value
    known = value is not None and figure.value is not None
    return (
        *(figure.table, figure.row, figure.column, run),
        *(figure.printed, written(figure, value), figure.value, value),
        (value or 0.0) - (figure.value or 0.0) if known else None,
        *(found.low, found.high, figure.unit, _status(figure, found)),
        *(_reason(figure), figure.where),
    )


def _reason(figure: Figure) -> str | None:
    """Return why a printed total is not that of its rows."""
    domain = figure.column.removesuffix(" rate")
    sums_up = figure.table == "8" and figure.row == TOTAL and domain in DOMAINS
    return (divided(domain) or None) if sums_up else None


def _status(figure: Figure, found: _Found) -> str:
    if found.value is None or figure.value is None:
        return NO_RUN
    if status_of(figure, Cell(found.value, "")) == EQUAL:
        return EQUAL
    if found.low is None or found.high is None:
        return DIFFERS
    return WITHIN if found.low <= figure.value <= found.high else DIFFERS
