"""`Comparison`: scores and differences with their intervals, as frames, text and HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, describe_frames
from extractbench_nb.display.html import card_html, document_text, one_line
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.intervals import Drawing, number, with_range

__all__ = [
    "DIFFERENCE_COLUMNS",
    "DOMAIN_COLUMNS",
    "DOMAIN_DIFFERENCE_COLUMNS",
    "SCORE_COLUMNS",
    "Comparison",
]


_TABLES = ("scores", "differences", "domains", "domain_differences")
_MOST_DIGITS = 15  # what a float holds
_MARKED = re.compile(r"([\\`*_{}\[\]<>|#~&!])")


#: Heads, rows, and how many of the columns hold names; the others hold numbers.
_TextTable = tuple[list[str], list[list[str]], int]


def _plain(text: object, limit: int = 80) -> str:
    return one_line(str(text), limit)


def _ranking(comparison: Comparison) -> list[str]:
    """Return the groups, the highest mean of the first measure first."""
    scores = comparison._scores
    first = scores[scores["measure"] == comparison.measures[0]]
    ranked = first.sort_values("mean", ascending=False, kind="stable")
    return [str(name) for name in ranked["group"]]


def _text_table(comparison: Comparison, table: str, digits: int) -> _TextTable:
    """Return one frame as text."""
    if table not in _TABLES:
        raise InputError(f"there is no table {table!r}; {nearest(table, _TABLES)}")
    if not 0 <= digits <= _MOST_DIGITS:
        raise InputError(f"digits={digits!r}; it is a whole number from 0 to {_MOST_DIGITS}")
    frame: pd.DataFrame = getattr(comparison, table)
    keys = ["domain"] if table.startswith("domain") else []
    if table in ("scores", "domains"):
        return _score_table(frame, comparison, keys, digits)
    return _difference_table(frame, keys, digits)


def _score_table(
    frame: pd.DataFrame, comparison: Comparison, keys: list[str], digits: int
) -> _TextTable:
    place = {name: i for i, name in enumerate(_ranking(comparison))}
    frame = frame.assign(place=[place[name] for name in frame["group"]])
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in frame.sort_values([*keys, "place"], kind="stable").to_dict("records"):
        names = (*(row[key] for key in keys), row["group"], row["documents"])
        text = with_range(row["mean"], row["low"], row["high"], digits)
        cells.setdefault(names, {})[row["measure"]] = text
    rows = [
        [*map(_plain, names), *(found[m] for m in comparison.measures)]
        for names, found in cells.items()
    ]
    heads = [*keys, "group", "documents", *map(_plain, comparison.measures)]
    return heads, rows, len(keys) + 1


def _difference_table(frame: pd.DataFrame, keys: list[str], digits: int) -> _TextTable:
    heads = [*keys, "a", "b", "measure", "documents", "b - a", "p (Holm)"]
    rows = [
        [
            *(_plain(row[name]) for name in [*keys, "a", "b", "measure", "documents"]),
            with_range(row["b_minus_a"], row["low"], row["high"], digits, sign=True),
            number(row["p_holm"], max(3, digits)),
        ]
        for row in frame.to_dict("records")
    ]
    return heads, rows, len(keys) + 3


_GROUPS, _PAIRS = 20, 20
#: Measures whose differences are at most 1.
_SCORE_NAMES = ("pass_rate", "pass_rate_judged", "overall_score", "field_score")
_WIDTH, _HEIGHT, _EDGE = 150, 16, 6


def _card_text(c: Comparison) -> str:
    """Write the scores as text, and what the differences amount to."""
    shown = _ranking(c)[:_GROUPS]
    cells = _score_cells(c)
    names = [_plain(name, 40) for name in shown]
    width = max(map(len, names))
    columns = [[m, *(with_range(*cells[name, m]) for name in shown)] for m in c.measures]
    widths = [max(map(len, column)) for column in columns]
    lines = [_title(c)]
    for i, name in enumerate(["", *names]):
        row = "  ".join(col[i].ljust(w) for col, w in zip(columns, widths, strict=True))
        lines.append(f"  {name.ljust(width)}  {row}".rstrip())
    more = len(_ranking(c)) - len(shown)
    lines += [f"  … {more} more; .scores has them"] if more else []
    return "\n".join(lines + [f"  {_plain(text, 400)}" for text in _sentences(c)])


def _sentences(c: Comparison) -> list[str]:
    """Say how many differences are more than noise, what could be seen, and what is missing."""
    counts = ", ".join(_distinct(c, m) for m in c.measures)
    how = f"sign-flip test, Holm, confidence {_percent(c.drawing)}"
    texts = [f"Distinguishable from noise ({how}): {counts}."]
    first = c._differences[c._differences["measure"] == c.measures[0]]
    detectable = first["detectable"].dropna()
    if len(detectable):
        texts.append(_power(c.measures[0], detectable.median()))
    if (first[["only_a", "only_b"]].to_numpy() > 0).any():
        texts.append("Not all have the same documents: differences are over those both have.")
    invalid = c._scores[c._scores["measure"] == c.measures[0]].set_index("group")["invalid"]
    broken = [f"{name} {n}" for name, n in invalid.items() if n]
    return texts + ([f"Invalid outputs, scored 0: {', '.join(broken)}."] if broken else [])


def _power(measure: str, detectable: float) -> str:
    if detectable >= 1 and measure in _SCORE_NAMES:
        return f"So few documents cannot be trusted to show any difference in {measure}."
    return (
        f"A true difference in {measure} under about {detectable:.3f} (median over pairs) "
        "is missed more than one time in five."
    )


def _percent(drawing: Drawing) -> str:
    """Write the confidence of the intervals."""
    return f"{100 * drawing.confidence:.4g} %"


def _title(c: Comparison) -> str:
    groups, drawing = len(_ranking(c)), c.drawing
    base = f", against {_plain(c.baseline, 40)}" if c.baseline is not None else ""
    most = int(c._scores["documents"].max())
    documents = f"up to {most}" if c._scores["documents"].min() < most else f"{most}"
    return (
        f"Comparison of {groups} groups by {', '.join(c.by)} on {documents} "
        f"document{'s' if most > 1 else ''}{base}: mean [{_percent(drawing)} interval]"
    )


def _distinct(c: Comparison, measure: str) -> str:
    rows = c._differences[c._differences["measure"] == measure]
    return f"{int(rows['significant'].fillna(value=False).sum())} of {len(rows)} in {measure}"


def _score_cells(c: Comparison) -> dict[tuple[str, str], tuple[Any, Any, Any]]:
    rows = c._scores.to_dict("records")
    return {(r["group"], r["measure"]): (r["mean"], r["low"], r["high"]) for r in rows}


def _scores_html(c: Comparison) -> str:
    cells, shown = _score_cells(c), _ranking(c)[:_GROUPS]
    ranges = {m: _range([cells[name, m] for name in shown]) for m in c.measures}
    heads = "".join(f"<th>{document_text(m, 60)}{_ends(ranges[m])}</th>" for m in c.measures)
    rows = [
        f"<tr><td>{document_text(name, 60)}</td>"
        + "".join(_cell(cells[name, m], ranges[m]) for m in c.measures)
        + "</tr>"
        for name in shown
    ]
    more = _more(len(_ranking(c)) - len(shown), "scores")
    return _table(f"<th>{document_text(', '.join(c.by), 60)}</th>{heads}", rows) + more


def _differences_html(c: Comparison, measure: str) -> str:
    """Write the differences in one measure, those least likely to be noise first."""
    frame = c._differences[c._differences["measure"] == measure]
    frame = frame.sort_values("p_holm", kind="stable", na_position="last")
    rows = frame.head(_PAIRS).to_dict("records")
    ends = _range([(r["b_minus_a"], r["low"], r["high"]) for r in rows] + [(0.0, 0.0, 0.0)])
    heads = f"<th>a</th><th>b</th><th>b - a{_ends(ends)}</th>" + "".join(
        f'<th class="xb-num">{text}</th>' for text in ("p (Holm)", "detectable", "documents")
    )
    table = _table(heads, [_difference_row(row, ends) for row in rows])
    folded = "" if measure != c.measures[0] else " open"
    head = document_text(f"Differences: {_distinct(c, measure)} distinguishable from noise", 200)
    more = _more(len(frame) - len(rows), "differences")
    return f"<details{folded}><summary>{head}</summary>{table}{more}</details>"


def _ends(ends: tuple[float, float]) -> str:
    text = " to ".join(number(end, 2) for end in ends)
    style = "font-weight:400;white-space:nowrap"
    return f'<br><span class="xb-type" style="{style}">axis {text}</span>'


def _difference_row(row: Mapping[Any, Any], ends: tuple[float, float]) -> str:
    names = "".join(f"<td>{document_text(row[n], 60)}</td>" for n in ("a", "b"))
    p = number(row["p_holm"])
    p = f"<b>{p}</b>" if row["significant"] is True else p
    plot = _cell((row["b_minus_a"], row["low"], row["high"]), ends, difference=True)
    numbers = (p, number(row["detectable"]), row["documents"])
    cells = "".join(f'<td class="xb-num">{text}</td>' for text in numbers)
    return f"<tr>{names}{plot}{cells}</tr>"


def _table(heads: str, rows: list[str]) -> str:
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _more(count: int, frame: str) -> str:
    return f"<div>… {count} more; .{frame} has them</div>" if count > 0 else ""


def _range(cells: list[tuple[Any, Any, Any]]) -> tuple[float, float]:
    ends = [float(x) for cell in cells for x in cell if not pd.isna(x)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _cell(
    cell: tuple[Any, Any, Any], ends: tuple[float, float], *, difference: bool = False
) -> str:
    text = with_range(*cell, sign=difference)
    zero = 0.0 if difference else None
    return f'<td style="white-space:nowrap">{text}<br>{_plot(cell, ends, zero)}</td>'


def _plot(cell: tuple[Any, Any, Any], ends: tuple[float, float], zero: float | None) -> str:
    """Draw an interval with its mean; the numbers stand beside it, so readers may skip it."""
    if pd.isna(cell[0]):
        return ""
    mid = _HEIGHT / 2
    marks = [
        f'<line x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{mid}" y2="{mid}" stroke-opacity=".2"/>'
    ]
    if zero is not None:
        x = _x(zero, ends)
        marks.append(f'<line x1="{x}" x2="{x}" y1="1" y2="{_HEIGHT - 1}" stroke-opacity=".5"/>')
    if not pd.isna(cell[1]):
        low, high = _x(cell[1], ends), _x(cell[2], ends)
        marks.append(f'<line x1="{low}" x2="{high}" y1="{mid}" y2="{mid}" stroke-width="3"/>')
    marks.append(f'<circle cx="{_x(cell[0], ends)}" cy="{mid}" r="3.5" fill="currentColor"/>')
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true" stroke="currentColor">'
        f"{''.join(marks)}</svg>"
    )


def _x(value: float, ends: tuple[float, float]) -> str:
    share = (float(value) - ends[0]) / (ends[1] - ends[0])
    return f"{_EDGE + share * (_WIDTH - 2 * _EDGE):.1f}"


_SCORES = (
    Column("group", "string", "what is compared: a run, or the values of `by`"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents with an output; they are resampled", "1 and up"),
    Column("outputs", "int64", "outputs for them; averaged for each document", "1 and up"),
    Column("invalid", "int64", "outputs that did not parse; their scores are 0", "0 to outputs"),
    Column("mean", "float64", "mean over documents"),
    Column("low", "Float64", "lower end of its interval; missing for a single document", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, all equal, one document"),
)

_DIFFERENCES = (
    Column("a", "string", "first group, or the baseline"),
    Column("b", "string", "second group"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents that both have; the rest is of these", "0 and up"),
    Column("only_a", "int64", "documents that only a has", "0 and up"),
    Column("only_b", "int64", "documents that only b has", "0 and up"),
    Column("mean_a", "Float64", "mean of a", "", True),
    Column("mean_b", "Float64", "mean of b", "", True),
    Column("b_minus_a", "Float64", "mean difference; positive where b is higher", "", True),
    Column("low", "Float64", "lower end of its interval", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, all equal, one document", True),
    Column("a_higher", "int64", "documents in which a is higher", "0 to documents"),
    Column("b_higher", "int64", "documents in which b is higher", "0 to documents"),
    Column("p_value", "Float64", "two-sided sign-flip test of the paired differences", "", True),
    Column("p_method", "string", "all sign flips, or a sample of them", "exact, sampled", True),
    Column("p_holm", "Float64", "p_value after Holm's correction within the measure", "", True),
    Column("significant", "boolean", "whether p_holm is at most 1 - confidence", "", True),
    Column(
        "detectable", "Float64", "true difference that is found with 80 % probability", "", True
    ),
)

_DOMAIN = Column("domain", "string", "domain of the documents")

SCORE_COLUMNS = FrameSpec("scores", "one row a group and measure", _SCORES)
DIFFERENCE_COLUMNS = FrameSpec("differences", "one row a pair and measure", _DIFFERENCES)
DOMAIN_COLUMNS = FrameSpec("domains", "one row a domain, group and measure", (_DOMAIN, *_SCORES))
DOMAIN_DIFFERENCE_COLUMNS = FrameSpec(
    "domain_differences", "one row a domain, pair and measure", (_DOMAIN, *_DIFFERENCES)
)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Scores of several groups with their intervals, and tests of their differences.

    Made by `compare_runs`. Every frame is a copy. In a notebook it shows itself as a table with
    interval plots.

    Attributes
    ----------
    by : tuple of str
        The columns that make a group.
    measures : tuple of str
        What is compared.
    baseline : str or None
        The group that all others are compared with; None if all pairs are.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    by: tuple[str, ...]
    measures: tuple[str, ...]
    baseline: str | None
    drawing: Drawing
    _scores: pd.DataFrame
    _differences: pd.DataFrame
    _domains: pd.DataFrame
    _domain_differences: pd.DataFrame

    @property
    def scores(self) -> pd.DataFrame:
        """One row per group and measure: the mean over documents and its interval."""
        return self._scores.copy()

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair and measure: ``b_minus_a`` over the documents that both have."""
        return self._differences.copy()

    @property
    def domains(self) -> pd.DataFrame:
        """`scores` domain by domain; documents without a domain are in no row."""
        return self._domains.copy()

    @property
    def domain_differences(self) -> pd.DataFrame:
        """`differences` domain by domain, corrected over all pairs and domains of a measure."""
        return self._domain_differences.copy()

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of every frame.

        Returns
        -------
        pandas.DataFrame
            One row per column: column, dtype, values, nullable, meaning, frame.
        """
        specs = [SCORE_COLUMNS, DIFFERENCE_COLUMNS, DOMAIN_COLUMNS, DOMAIN_DIFFERENCE_COLUMNS]
        return describe_frames(specs)

    def to_markdown(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a Markdown table.

        Parameters
        ----------
        table : str, optional
            ``scores``, ``differences``, ``domains`` or ``domain_differences``.
        digits : int, optional
            Digits after the point.

        Returns
        -------
        str
            The table; every mean is followed by its interval.

        Raises
        ------
        InputError
            There is no such table.
        """
        heads, rows, names = _text_table(self, table, digits)
        lines = [[_MARKED.sub(r"\\\1", head) for head in heads]]
        lines.append(["---"] * names + ["---:"] * (len(heads) - names))
        lines += [[*(_MARKED.sub(r"\\\1", c) for c in row[:names]), *row[names:]] for row in rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def to_latex(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a LaTeX ``tabular`` with the rules of booktabs.

        Parameters
        ----------
        table : str, optional
            ``scores``, ``differences``, ``domains`` or ``domain_differences``.
        digits : int, optional
            Digits after the point.

        Returns
        -------
        str
            The table; every mean is followed by its interval, and names are escaped.

        Raises
        ------
        InputError
            There is no such table.
        """
        heads, rows, names = _text_table(self, table, digits)
        style = pd.DataFrame(rows, columns=heads).style.hide(axis="index")
        style = style.format(escape="latex").format_index(escape="latex", axis="columns")
        layout = "l" * names + "r" * (len(heads) - names)
        return str(style.to_latex(hrules=True, column_format=layout))

    def __repr__(self) -> str:
        """Write scores with their intervals, and how many differences are more than noise."""
        return _card_text(self)

    def _repr_html_(self) -> str:
        """Write scores and differences with interval plots; every text is escaped."""
        notes = (f"<div>{document_text(text, 400)}</div>" for text in _sentences(self))
        differences = (_differences_html(self, measure) for measure in self.measures)
        return card_html(_title(self), *notes, _scores_html(self), *differences, limit=300)
