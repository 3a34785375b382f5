"""`table`, `compare`, `style`: tables of the paper, printed, recomputed, of your runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from extractbench_nb.benchmark.domain_facts import facts_of
from extractbench_nb.benchmark.paper_cells import (
    CHECKS,
    DIFFERS,
    DOMAIN_TABLES,
    HEADER,
    MODELS,
    NOT_REPRODUCIBLE,
    PART,
    PRINTED,
    ROUNDING,
    STATUSES,
    TOTAL,
    Cell,
    Cells,
    check_of,
    compared_figure,
    figures_of,
    formatted,
    rounded,
    status_of,
)
from extractbench_nb.benchmark.published import PARTS, Figure, part_name, rows_of
from extractbench_nb.benchmark.recomputed import recompute
from extractbench_nb.benchmark.run_comparison import RunTables, compare_with_runs
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.runs import Dataset

if TYPE_CHECKING:
    from extractbench_nb.support.publication import PaperStyler, Spans, Texts

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
        recomputed ones not rounded. Among recomputed figures those that are data themselves
        (annotators' hours, valid outputs, passed fields, failures) are as printed, and those that
        need unreleased data are missing. ``.attrs["source"]`` names the source; `compare` shows
        that of each cell.

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
    part = _table_name(n, values)
    if values == "published":
        figures = figures_of(part)
        frame = _wide(
            figures, {k: f.printed if f.value is None else f.value for k, f in figures.items()}
        )
        frame.attrs["source"] = "arXiv 2602.12247"
        return frame
    cells = recompute(part, facts_of(dataset))
    keys = cells if part == "figure2" else figures_of(part)
    frame = _wide(keys, {key: cell.value for key, cell in cells.items()})
    frame.attrs["source"] = "; ".join(dict.fromkeys(c.source for c in cells.values() if c.source))
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
        Figures to show: ``"published"``, ``"recomputed"``, or ``"both"``: as printed, and in
        brackets the recomputed figure if it differs. A dagger marks each figure whose counterpart
        differs; `compare` says why. Bold (best of a column) and red (no field passed) follow from
        the figures shown, not from the paper's marks.
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
    >>> print(style(2, values="both").to_markdown().splitlines()[-1])
    | Total | 35 | 2,076 [–] | 12,867† [12,872] |
    """
    needs("jinja2", "notebook")
    from extractbench_nb.support.publication import styled

    part = _table_name(n, values, ("published", "recomputed", "both"))
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
    shown = {"published": printed_cells, "recomputed": recomputed}.get(
        values, recomputed | printed_cells
    )
    caption = caption_of(part, values, marked=bool(marked))
    table = lay_out(part, shown, marked, recomputed if values == "both" else {})
    return styled(table, f"{part}-{values}", caption=caption, over=spans_of(part))


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


# --- layout ---------------------------------------------------------------------------------------

#: What stands where a figure cannot be recomputed.
ABSENT = "–"

#: Its caption prints two ratios only; all five domains are shown.
_FIGURE = "figure2"


class _Head(NamedTuple):
    """A column as printed: its heading, what its cells hold, and which figure ranks them."""

    heading: str
    template: str
    ranked: str = ""


def _heads(**named: str) -> tuple[_Head, ...]:
    return tuple(_Head(heading, f"{{{column}}}") for column, heading in named.items())


def _counted(heading: str, name: str) -> _Head:
    template = f"{{{name}passed}}/{{{name}fields}} ({{{name}rate}})"
    return _Head(heading, template, f"{name}rate")


def _under(heading: str, domain: str) -> _Head:
    size = (
        f"({{{domain} documents}}docs/{{{domain} pages}}pgs: {{{domain} keys}}/{{{domain} tokens}})"
    )
    return _counted(f"{heading} {size}", f"{domain} ")


#: What the tables show, in our words.
_CAPTIONS: Mapping[str, str] = {
    "1": "Domains by number of schema keys. Depth: levels of nesting.",
    "2": "Size of the dataset. Gold values: leaf values of gold, those of array items included.",
    "3": "Hours of annotation.",
    "4": "Presets of evaluation_config.",
    "5": "Valid outputs and passed fields of the models. An invalid output passes no field. Under "
    "a domain: documents / mean pages: schema keys / mean gold tokens, where k is a thousand. Acc "
    "Valid: passed fields of valid outputs. Bold: best of a column; red: nothing passed.",
    "6": "Means per document. Tokens: GPT-2's, of the gold JSON. Fields: values outside arrays, "
    "without a definition in the paper. Arr. Items: items of all arrays.",
    "7": "Failed outputs by kind.",
    "8": "Passed fields with structured output. Resumes and 10-K/Q have no valid output.",
    _FIGURE: "Mean GPT-2 tokens of a document's text and of its gold, and their ratio, over the "
    "documents whose PDF has text. All: every document; PDFs without text get the others' tokens "
    "per page, their mean or (at least) their fewest.",
    **{str(table): f"Results on {domain}, by model." for domain, table in DOMAIN_TABLES.items()},
}
#: What follows the caption if figures are marked.
_MARKED = {
    "published": "† The recomputed figure differs.",
    "recomputed": "† The printed figure differs.",
    "both": "† The recomputed figure, in brackets, differs.",
}
_MARK = "†"
#: Headings over several columns: first and last column, and text.
_OVER: Mapping[str, tuple[tuple[int, int, str], ...]] = {
    "5": ((1, 5, "Domain Pass Rate (docs / mean pages: keys / mean gold tokens)"),),
}


_DOMAIN_HEADS = (_Head("Valid", "{valid}/{documents}"), _counted("Pass Rate", ""))

_HEADS: Mapping[str, tuple[_Head, ...]] = {
    "1": _heads(keys="Keys", depth="Depth", documents="Docs", challenge="Primary Challenge"),
    "2": _heads(documents="Documents", pages="Pages", gold_values="Gold Values"),
    "3": _heads(hours="Hours", hours_per_document="Hrs/Doc"),
    "4": _heads(metric="Metric", use_case="Use Case"),
    "5": (
        _Head("Valid JSON", "{valid}/{attempts}", "valid"),
        _under("Credit", "credit"),
        _under("Research", "research"),
        _under("Resumes", "resumes"),
        _under("Sports", "sports"),
        _under("SEC 10-K/Q", "10-K/Q"),
        _counted("Overall Pass Rate", "overall "),
        _Head("Acc Valid", "{accuracy}", "accuracy"),
    ),
    "6": _heads(
        pages="Pages",
        keys="Keys",
        depth="Depth",
        tokens="Tokens",
        fields="Fields",
        array_items="Arr. Items",
    ),
    "8": tuple(
        _Head(name.capitalize(), f"{{{name} rate}}", f"{name} rate")
        for name in ("credit", "research", "sports", "overall")
    ),
    **{str(number): _DOMAIN_HEADS for number in range(9, 14)},
    _FIGURE: (
        _Head("With Text", "{with_text}/{documents}"),
        *_heads(
            input_tokens="Input",
            output_tokens="Output",
            ratio="Ratio",
            output_all="Output, All",
            ratio_all="Ratio, All",
            ratio_all_low="At Least",
        ),
    ),
}

#: Smaller figures that are printed nowhere are written with decimals.
_THREE_DIGITS = 100
_NAME = re.compile(r"\{([^{}]+)\}")


def caption_of(part: str, values: str, *, marked: bool) -> str:
    """Return the caption of a table, with what its marks mean."""
    name = "Figure 2" if part == _FIGURE else f"Table {part}"
    return f"{name} ({values}). {_CAPTIONS[part]}" + (f" {_MARKED[values]}" if marked else "")


def spans_of(part: str) -> Spans:
    """Return the headings over several columns."""
    return _OVER.get(part, ())


def lay_out(
    part: str, cells: Cells, marked: Collection[tuple[str, str]], beside: Mapping[Any, Cell]
) -> Texts:
    """Write figures into the cells of the printed table; those in `marked` get a mark.

    Figures in `beside` that are marked or unknown follow in brackets.
    """
    figures = {} if part == _FIGURE else figures_of(part)
    models = dict.fromkeys(figure.column for figure in rows_of(part))
    heads = _HEADS.get(part) or tuple(_Head(model, f"{{{model}}}") for model in models)
    names = {name for _, name in cells}  # a caption prints one column of Figure 2
    heads = tuple(h for h in heads if part != _FIGURE or names & {*_NAME.findall(h.template)})
    named = dict.fromkeys(row for row, _ in (*figures, *cells))
    printed = reversed(rows_of("6" if part == _FIGURE else part))
    # one name per model: Table 5 leaves `Claude` out of two, the other tables do not
    labels = {f.row: f.row if f.row in MODELS else f.label for f in printed}
    rows = {row: labels.get(row, row) for row in named if row != HEADER}

    def filled(template: str, row: str) -> str:
        def text(name: re.Match[str]) -> str:
            key = row, name[1]
            text = _text(figures.get(key), cells.get(key)) + (_MARK if key in marked else "")
            if key in beside and (key in marked or _is_missing(figures.get(key), beside[key])):
                text += f" [{_text(figures.get(key), beside[key])}]"
            return text

        return _NAME.sub(text, template)

    best, failed = set(), set()
    for head in heads:
        if not head.ranked:
            continue
        heading = filled(head.heading, HEADER)
        values = {row: cells[row, head.ranked].value for row in rows}
        numbers = [v for row, v in values.items() if row != TOTAL and isinstance(v, (int, float))]
        top = max(numbers, default=0)
        for row, label in rows.items():
            if row != TOTAL and values[row] == top > 0:
                best.add((label, heading))
            if part != "8" and head.ranked.endswith("rate") and values[row] == 0:
                failed.add((label, heading))
    texts = {label: [filled(head.template, row) for head in heads] for row, label in rows.items()}
    return [filled(head.heading, HEADER) for head in heads], texts, best, failed


def _is_missing(figure: Figure | None, cell: Cell) -> bool:
    """Whether a number of the paper cannot be recomputed; its words and raw data are no such."""
    return cell.value is None and figure is not None and figure.value is not None


def _text(figure: Figure | None, cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.value is None:
        return ABSENT
    if figure is None:
        if isinstance(cell.value, str):
            return cell.value
        is_short = cell.value < _THREE_DIGITS and not float(cell.value).is_integer()
        return f"{cell.value:,.{2 if is_short else 0}f}"
    if figure.printed.endswith("k") and isinstance(cell.value, (int, float)):
        return f"{rounded(cell.value / 1000, 3 + (figure.digits or 0))}k"
    return formatted(figure, cell.value) or ABSENT
