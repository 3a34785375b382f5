"""DataFrames as a notebook shows them: texts on the left, numbers on the right, names whole."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.support.wording import one_line

__all__ = ["format_frames", "frame_html"]

#: Columns whose texts identify something; they are never cut.
_NAMES = frozenset(
    ("run", "run_a", "run_b", "best_run", "model", "a", "b", "document", "field", "path", "metric")
)

#: Columns that are shown first, in this order, if a frame has a path and an outcome.
_FIRST = ("run", "document", "path", "outcome", "reason", "gold", "predicted", "score")

#: A text that is a printed number, and stays on the right: 1,998, 62.5%, 0.22×, -; or is empty.
_FIGURE = re.compile(r"[<>≤≥~]?\s?[-+−–]?[$€£]?[\d,.]*\s?[%×k]?")

_ROW, _CELL = re.compile(r"<tr.*?</tr>", re.DOTALL), re.compile(r"<(t[dh])\b")
_SIDES = {False: "text-align: right;", True: "text-align: left;"}

_SMALL = 0.001

#: Names up to this length stay on one line; columns with longer texts get some room.
_ONE_LINE = 32
_ROOM = " min-width: 14em;"


def format_frames(width: int | None = 46) -> None:
    """Show the DataFrames of this notebook with left-aligned texts and full names.

    IPython is told to render frames with this package's `frame_html` from now on; pandas' settings
    and the text form of frames do not change. Outside of IPython, nothing happens.

    Parameters
    ----------
    width : int or None, optional
        Characters after which a text is cut, 2 or more; names of runs, models, documents, fields,
        metrics and paths are never cut. None cuts nothing.

    Raises
    ------
    InputError
        `width` is less than 2.

    Examples
    --------
    >>> format_frames(60)
    """
    if width is not None and width < 2:  # noqa: PLR2004 - a letter and the sign of what is left out
        raise InputError(f"width: expected 2 or more characters, or None, found {width!r}")
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        render = partial(frame_html, width=width)
        shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, render)


def frame_html(frame: pd.DataFrame, *, width: int | None = 46) -> str:
    """Render a frame as pandas does, with texts on the left, 3 decimals and names not cut.

    Frames of fields begin with path, outcome, reason, gold, predicted and score.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame. What exceeds pandas' ``display.max_rows`` and ``display.max_columns`` is left
        out, as in pandas.
    width : int or None, optional
        As for `format_frames`.

    Returns
    -------
    str
        HTML in which every text of the frame is escaped.

    Examples
    --------
    >>> html = frame_html(pd.DataFrame({"run": ["a"], "passed": ["62.5%"]}))
    >>> [line.strip() for line in html.splitlines() if "62.5%" in line]
    ['<td style="text-align: right;">62.5%</td>']
    """
    if {"path", "outcome"} <= set(frame.columns) and frame.columns.is_unique:
        first = [name for name in _FIRST if name in frame.columns]
        frame = frame[[*first, *(name for name in frame.columns if name not in first)]]
    most_rows, most_columns = (
        pd.get_option(f"display.max_{side}") or None for side in ("rows", "columns")
    )
    if most_rows and len(frame) > most_rows:
        most_rows = min(pd.get_option("display.min_rows") or most_rows, most_rows)
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    texts = [_is_text(column) for column in columns]
    formatters: Any = [  # None: pandas' own
        (lambda value: one_line(str(value), width))
        if is_text and width and str(name) not in _NAMES
        else None
        for is_text, name in zip(texts, frame.columns, strict=True)
    ]
    show_dimensions: Any = "truncate"
    with pd.option_context("display.max_colwidth", None):
        html = frame.to_html(
            notebook=True,
            border=1,
            formatters=formatters,
            float_format=pd.get_option("display.float_format") or _decimals,
            max_rows=most_rows,
            max_cols=most_columns,
            show_dimensions=show_dimensions,
        )
    if most_columns and len(columns) > most_columns:
        return html  # the cells of a row are not those of the columns
    levels = [frame.index.get_level_values(at) for at in range(frame.index.nlevels)]
    styles = [_style(values, _is_text(values), is_name=True) for values in levels]
    styles += [
        _style(column, is_text, is_name=str(column.name) in _NAMES)
        for column, is_text in zip(columns, texts, strict=True)
    ]
    head, mark, body = html.partition("<tbody>")
    head = _ROW.sub(lambda row: _styled(row[0], styles), head)
    return head + mark + _ROW.sub(lambda row: _styled(row[0], styles), body)


def _decimals(number: float) -> str:
    """Write a number with 3 decimals, or 2 digits if it is very small."""
    return f"{number:.3f}" if number == 0 or abs(number) >= _SMALL else f"{number:.2g}"


def _style(values: pd.Series[Any] | pd.Index[Any], is_text: bool, *, is_name: bool) -> str:
    """Return the style of the cells of a column or of a level of the index."""
    longest = max((len(str(value)) for value in values), default=0) if is_text else 0
    width = _ROOM if longest > _ONE_LINE else " white-space: nowrap;" if is_name and longest else ""
    return f' style="{_SIDES[is_text]}{width}"'


def _is_text(values: pd.Series[Any] | pd.Index[Any]) -> bool:
    """Whether any value is neither a number nor a truth value nor the text of a number."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return False
    return any(
        not (
            _FIGURE.fullmatch(value)
            if isinstance(value, str)
            else pd.api.types.is_number(value)
            or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))
        )
        for value in values
    )


def _styled(row: str, styles: list[str]) -> str:
    """Style the cells of a row; heads that span several rows are missing at its start."""
    if "<th colspan" in row:
        return row
    cells = len(_CELL.findall(row))
    own: Iterator[str] = iter(styles[len(styles) - cells :])
    return _CELL.sub(lambda cell: cell[0] + next(own), row)
