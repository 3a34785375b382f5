"""The layouts of the paper's tables: which figures share a cell, and their format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from extractbench_nb.benchmark.paper_cells import (
    DOMAIN_TABLES,
    HEADER,
    MODELS,
    TOTAL,
    Cell,
    Cells,
    figures_of,
    formatted,
    rounded,
)
from extractbench_nb.benchmark.published import Figure, rows_of
from extractbench_nb.support.publication import Spans, Texts

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
    _FIGURE: "Mean GPT-2 tokens of a document's text and of its gold, and their ratio.",
    **{str(table): f"Results on {domain}, by model." for domain, table in DOMAIN_TABLES.items()},
}
#: What follows the caption if figures are marked.
_MARKED = {
    "published": "† The recomputed figure differs.",
    "recomputed": "† The printed figure differs.",
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
    "4": _heads(metric="Metric", margin="Margin"),
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
    _FIGURE: _heads(input_tokens="Input", output_tokens="Output", ratio="Ratio"),
}

_NAME = re.compile(r"\{([^{}]+)\}")


def caption_of(part: str, values: str, *, marked: bool) -> str:
    """Return the caption of a table, with what its marks mean."""
    name = "Figure 2" if part == _FIGURE else f"Table {part}"
    return f"{name} ({values}). {_CAPTIONS[part]}" + (f" {_MARKED[values]}" if marked else "")


def spans_of(part: str) -> Spans:
    """Return the headings over several columns."""
    return _OVER.get(part, ())


def lay_out(part: str, cells: Cells, marked: Collection[tuple[str, str]] = ()) -> Texts:
    """Write figures into the cells of the printed table; those in `marked` get a mark."""
    figures = {} if part == _FIGURE else figures_of(part)
    models = dict.fromkeys(figure.column for figure in rows_of(part))
    heads = _HEADS.get(part) or tuple(_Head(model, f"{{{model}}}") for model in models)
    named = dict.fromkeys(row for row, _ in (*figures, *cells))
    printed = reversed(rows_of("6" if part == _FIGURE else part))
    # one name per model: Table 5 leaves `Claude` out of two, the other tables do not
    labels = {f.row: f.row if f.row in MODELS else f.label for f in printed}
    rows = {row: labels.get(row, row) for row in named if row != HEADER}

    def filled(template: str, row: str) -> str:
        def text(name: re.Match[str]) -> str:
            key = row, name[1]
            mark = _MARK if key in marked else ""
            return _text(figures.get(key), cells.get(key)) + mark

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


def _text(figure: Figure | None, cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.value is None:
        return ABSENT
    if figure is None:
        return cell.value if isinstance(cell.value, str) else f"{cell.value:,.1f}"
    if figure.printed.endswith("k") and isinstance(cell.value, (int, float)):
        return f"{rounded(cell.value / 1000, 3 + (figure.digits or 0))}k"
    return formatted(figure, cell.value) or ABSENT
