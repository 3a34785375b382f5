"""`agreement`: whether two judges, profiles or runs give the same verdicts, and where not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._json import canonical
from extractbench_nb.display.html import STYLE, document_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.breakdowns import TEXT, gather
from extractbench_nb.stats.comparison import number, plain, with_range
from extractbench_nb.stats.intervals import Drawing, Interval
from extractbench_nb.stats.kappa import Joined, Kappa, join_verdicts, kappa_interval, share_interval

__all__ = [
    "Agreement",
    "Unmatched",
    "agreement",
    "agreement_html",
    "agreement_of",
    "agreement_text",
]


_SHOWN = 8


def agreement_text(found: Agreement) -> str:
    """Write agreement, kappa, counts and what could not be compared."""
    table = found._table
    lines = [_head(found), f"  {_kappa(found)}"]
    for name in table.index:
        counts = ", ".join(f"b {plain(to, 20)} {n}" for to, n in table.loc[name].items())
        lines.append(f"  a {plain(name, 20)}: {counts}")
    return "\n".join(lines + [f"  {text}" for text in _left_out(found)])


def _head(found: Agreement) -> str:
    rows = "row" if found.rows == 1 else "rows"
    return f"Agreement on {found.on}: {number(found.raw)} of {found.rows} {rows}"


def _kappa(found: Agreement) -> str:
    if not found.rows:
        return "Cohen's kappa is undefined: no row has a verdict on both sides"
    if math.isnan(found.kappa):
        words = [name for name in found._table.index if found._table.loc[name].sum()]
        return f"Cohen's kappa is undefined: both sides say {plain(words[0])!r} in every row"
    value = with_range(found.kappa, found.kappa_low, found.kappa_high)
    unit = found.unit if found.units != 1 else found.unit.removesuffix("s")
    return f"Cohen's kappa {value} ({found.kappa_method}, {found.units} {unit} resampled)"


def _left_out(found: Agreement) -> list[str]:
    texts = []
    if found.unjudged:
        texts.append(f"{found.unjudged} rows left out: a side gave no verdict")
    if any(found.unmatched):
        texts.append(f"{found.unmatched.a} rows are only in a, {found.unmatched.b} only in b")
    return texts


def agreement_html(found: Agreement) -> str:
    """Write the same as static HTML with the first disagreements; every text is escaped."""
    notes = "".join(f'<div class="xb-note">{document_text(t, 200)}</div>' for t in _left_out(found))
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">'
        f"{document_text(_head(found), 200)}</div><div>{document_text(_kappa(found), 200)}</div>"
        f"{notes}{_table_html(found)}{_disagreements_html(found)}</div>"
    )


def _table_html(found: Agreement) -> str:
    table = found._table
    heads = "".join(f'<th class="xb-num">b {document_text(str(name), 30)}</th>' for name in table)
    rows = "".join(
        f"<tr><th>a {document_text(str(name), 30)}</th>"
        + "".join(f'<td class="xb-num">{count}</td>' for count in table.loc[name])
        + "</tr>"
        for name in table.index
    )
    return f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _disagreements_html(found: Agreement) -> str:
    frame = found._disagreements
    if frame.empty:
        return ""
    names = [
        n for n in ("run", "document", "path", "metric", "outcome_a", "outcome_b") if n in frame
    ]
    values = [n for n in ("gold_a", "predicted_a", "predicted_b") if n in frame]
    heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in [*names, *values])
    rows = [
        "<tr>"
        + "".join(f"<td>{_text(row[name], 60)}</td>" for name in names)
        + "".join(f'<td class="xb-val">{_text(row[name], 60)}</td>' for name in values)
        + "</tr>"
        for row in frame.head(_SHOWN).to_dict("records")
    ]
    more = len(frame) - len(rows)
    note = f"<div>… {more} more; .disagreements has them</div>" if more else ""
    head = f"<thead><tr>{heads}</tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>{note}"


def _text(value: object, limit: int) -> str:
    if value is None or value is pd.NA:
        return "—"
    try:
        return document_text(value if isinstance(value, str) else canonical(value), limit)
    except RecursionError:
        return "… nested too deep"


_ON = ("passed", "outcome")
_COMPARED = ("score", "passed", "outcome", "reason", "reasoning", "gold", "predicted")


class Unmatched(NamedTuple):
    """How many rows only one side has."""

    a: int
    b: int


@dataclass(frozen=True, repr=False, eq=False)
class Agreement:
    """Agreement of two sides. Made by `agreement`; every frame is a copy.

    Attributes
    ----------
    on : str
        What was compared, ``passed`` or ``outcome``.
    unmatched : Unmatched
        Rows that only `a` has, and that only `b` has.
    unjudged : int
        Rows of both in which a side gave no verdict; they are in nothing else.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    on: str
    unmatched: Unmatched
    unjudged: int
    drawing: Drawing
    _raw: Interval
    _kappa: Kappa
    _table: pd.DataFrame
    _disagreements: pd.DataFrame

    @property
    def rows(self) -> int:
        """Rows with a verdict on both sides."""
        return int(self._table.to_numpy().sum())

    @property
    def raw(self) -> float:
        """Share of the rows in which both say the same, 0 to 1; NaN without rows."""
        return float(np.trace(self._table.to_numpy())) / self.rows if self.rows else math.nan

    @property
    def raw_low(self) -> float | None:
        """Lower end of the interval of `raw`; None without rows."""
        return self._raw.low

    @property
    def raw_high(self) -> float | None:
        """Upper end of the interval."""
        return self._raw.high

    @property
    def raw_method(self) -> str:
        """How the interval was made: as that of kappa, or ``Wilson`` over rows."""
        return self._raw.method

    @property
    def kappa(self) -> float:
        """Cohen's kappa, -1 to 1; NaN if both say one and the same thing in every row."""
        return self._kappa.value

    @property
    def kappa_low(self) -> float | None:
        """Lower end of the bootstrap interval of kappa; None if it is not defined."""
        return self._kappa.interval.low

    @property
    def kappa_high(self) -> float | None:
        """Upper end of the interval."""
        return self._kappa.interval.high

    @property
    def kappa_method(self) -> str:
        """How the interval was made: ``BCa``, ``percentile`` or ``undefined``."""
        return self._kappa.interval.method

    @property
    def unit(self) -> str:
        """What was resampled: ``documents`` where there are several, else ``rows``."""
        return self._kappa.unit

    @property
    def units(self) -> int:
        """How many of them there are."""
        return self._kappa.units

    @property
    def table(self) -> pd.DataFrame:
        """Counts of rows: what `a` says down, what `b` says across."""
        return self._table.copy()

    @property
    def disagreements(self) -> pd.DataFrame:
        """One row a disagreement: keys and field, then the columns of both sides, `_a` and `_b`."""
        return self._disagreements.copy()

    def __repr__(self) -> str:
        """Write agreement, kappa and counts in a few lines."""
        return agreement_text(self)

    def _repr_html_(self) -> str:
        return agreement_html(self)


def agreement(
    a: object,
    b: object,
    *,
    on: str = "passed",
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Agreement:
    """Compare the verdicts of two judges, two profiles or two runs row by row.

    Rows are joined on path and metric, and on run and document where both sides have them. `run` is
    left out where each side has one run, so that two runs can be compared. All rows count, also
    those that no judge sees; pass frames to look at some of them, as
    ``fields[fields["metric"] == "string_semantic"]``.

    Parameters
    ----------
    a, b : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Where the rows of `fields` are; a mapping goes from run to one of the others, or from run
        to document to `Evaluation`.
    on : str, optional
        ``passed``, or ``outcome`` for its finer words.
    confidence : float, optional
        Of the interval of kappa, between 0 and 1.
    resamples : int, optional
        Bootstrap resamples, 100 and up.
    seed : int, optional
        The same seed gives the same interval.

    Returns
    -------
    Agreement
        `raw` agreement, Cohen's `kappa` with its interval, the `table` of counts, the
        `disagreements`, and what could not be compared. Documents are resampled where there are
        several, for rows of one document are not independent; otherwise rows.

    Raises
    ------
    InputError
        A column is missing, `on` is unknown, the sides have no row in common, or one side has
        several runs or documents and the other does not name its own.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {k: {"type": "integer"} for k in "abcd"}}
    >>> gold = {"a": 1, "b": 2, "c": 3, "d": 4}
    >>> one = xb.evaluate(schema, gold, {"a": 1, "b": 2, "c": 0, "d": 0})
    >>> two = xb.evaluate(schema, gold, {"a": 1, "b": 0, "c": 0, "d": 0})
    >>> found = agreement(one, two)
    >>> found.raw, found.kappa
    (0.75, 0.5)
    >>> found.disagreements[["path", "predicted_a", "predicted_b"]]
      path predicted_a predicted_b
    0  $.b           2           0
    """
    drawing = Drawing(confidence, resamples, seed)
    if on not in _ON:
        raise InputError(f"on={on!r}; {nearest(on, _ON)}")
    return agreement_of(join_verdicts(gather(a, "fields"), gather(b, "fields"), on), on, drawing)


def agreement_of(joined: Joined, on: str, drawing: Drawing) -> Agreement:
    """Compare rows that were brought together."""
    sides = [_verdicts(frame, on) for frame in (joined.a, joined.b)]
    judged = np.array(sides[0].notna() & sides[1].notna(), dtype=bool)
    words = _words(sides, judged, on)
    codes = [pd.Categorical(side, categories=words).codes[judged] for side in sides]
    counts = _counts(codes, joined.documents[judged], len(words))
    differ = np.flatnonzero(judged)[codes[0] != codes[1]]
    return Agreement(
        on=on,
        unmatched=Unmatched(joined.only_a, joined.only_b),
        unjudged=int((~judged).sum()),
        drawing=drawing,
        _raw=share_interval(counts, drawing),
        _kappa=kappa_interval(counts, drawing),
        _table=_table(counts.sum(axis=0), words),
        _disagreements=_disagreements(joined, differ),
    )


def _verdicts(frame: pd.DataFrame, on: str) -> pd.Series:
    """Return what a side says, missing where it gave no verdict."""
    if on == "passed":
        return frame["passed"].astype("boolean").reset_index(drop=True)
    words = frame["outcome"].astype(TEXT).reset_index(drop=True)
    return words.mask(words == "judge_error")


def _words(sides: list[pd.Series], judged: npt.NDArray[np.bool_], on: str) -> list[object]:
    if on == "passed":
        return [True, False]
    return sorted(set(sides[0][judged]) | set(sides[1][judged]))


def _counts(
    codes: list[npt.NDArray[np.int8]], documents: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.float64]:
    """Count a document's rows by both verdicts: an array of shape (documents, size, size)."""
    present, number = np.unique(documents, return_inverse=True)
    first, second = (code.astype(np.int64) for code in codes)
    cells = (number * size + first) * size + second
    counts = np.bincount(cells, minlength=len(present) * size * size)
    return counts.reshape(len(present), size, size).astype(np.float64)


def _table(counts: npt.NDArray[np.float64], words: list[object]) -> pd.DataFrame:
    names = [str(word) if isinstance(word, str) else ("fail", "pass")[bool(word)] for word in words]
    index, columns = (pd.Index(names, name=side, dtype=TEXT) for side in ("a", "b"))
    return pd.DataFrame(counts.astype(np.int64), index=index, columns=columns)


def _disagreements(joined: Joined, rows: npt.NDArray[np.intp]) -> pd.DataFrame:
    """Put the columns of both sides next to each other, as far as the sides have them."""
    a, b = (side.iloc[rows].reset_index(drop=True) for side in (joined.a, joined.b))
    names = ["document", "domain", "schema", "path", "field", "metric"]
    names = (["run"] if "run" in joined.keys else []) + [n for n in names if n in a.columns]
    columns = {name: a[name] for name in names}
    for name in _COMPARED:
        for frame, side in ((a, "a"), (b, "b")):
            if name in frame.columns:
                columns[f"{name}_{side}"] = frame[name]
    return pd.DataFrame(columns)
