"""`agreement`: whether two judges, metrics or runs give the same verdicts, and where not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import TEXT
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import gather, join_rows, refuse_two_profiles
from extractbench_nb.stats.intervals import (
    DIGITS,
    Drawing,
    Interval,
    Numbers,
    counts_drawn,
    number,
    resampled_interval,
    wilson_interval,
    with_range,
)
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, plural

_COMPARED = ("score", "passed", "outcome", "reason", "reasoning", "gold", "predicted")
_SIDES = ("a", "b")


@dataclass(frozen=True, repr=False, eq=False)
class Agreement(TextCard):
    """Agreement of two sides. Made by `agreement`; every frame is a copy.

    Attributes
    ----------
    unmatched : tuple of (int, int)
        Rows that only `a` has, and that only `b` has.
    other_metric : int
        Rows of both that are scored by another metric in `b` than in `a`.
    unjudged : int
        Rows of both in which at least one side gave no verdict; no other count includes them.
    drawing : Drawing
        Confidence, number of resamples and seed.
    rows : int
        Rows with a verdict on both sides.
    raw : float
        Share of the rows in which both say the same, 0 to 1; NaN without rows.
    raw_low, raw_high : float or None
        Ends of the interval of `raw`; None without rows.
    raw_method : str
        Method of that interval: that of kappa, or ``Wilson`` over rows.
    kappa : float
        Cohen's kappa, -1 to 1; NaN if all verdicts of both sides are the same.
    kappa_low, kappa_high : float or None
        Ends of the bootstrap interval of kappa; None if it is not defined.
    kappa_method : str
        Method of that interval: ``BCa``, ``percentile`` or ``undefined``.
    unit : str
        Unit of resampling: ``documents`` if there are several, else ``rows``.
    units : int
        Number of documents or rows resampled.
    """

    unmatched: tuple[int, int]
    other_metric: int
    unjudged: int
    drawing: Drawing
    rows: int
    raw: float
    raw_low: float | None
    raw_high: float | None
    raw_method: str
    kappa: float
    kappa_low: float | None
    kappa_high: float | None
    kappa_method: str
    unit: str
    units: int
    _table: pd.DataFrame
    _disagreements: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        """Counts of rows, with the verdicts of `a` as index and those of `b` as columns."""
        return self._table.copy()

    @property
    def disagreements(self) -> pd.DataFrame:
        """One row per disagreement: keys and field, then the columns of both sides.

        ``metric`` is that of `a`; ``metric_b`` is there if it is another in `b` anywhere.
        """
        return self._disagreements.copy()

    def __repr__(self) -> str:
        """Write agreement, kappa, counts and what could not be compared."""
        rows = plural(self.rows, "row")
        lines = [f"Agreement on passed: {number(self.raw)} of {rows}", self._kappa_text()]
        for name, counts in self._table.iterrows():
            texts = ", ".join(f"b {one_line(str(to), 20)} {n}" for to, n in counts.items())
            lines.append(f"a {one_line(str(name), 20)}: {texts}")
        if self.other_metric:
            lines.append(f"{self.other_metric} rows have another metric in b")
        if self.unjudged:
            lines.append(f"{self.unjudged} rows left out: a side gave no verdict")
        if any(self.unmatched):
            lines.append("{} rows are only in a, {} only in b".format(*self.unmatched))
        return "\n  ".join(lines)

    def _kappa_text(self) -> str:
        if not self.rows:
            return "Cohen's kappa is undefined: no row has a verdict on both sides"
        if math.isnan(self.kappa):
            verdict = str(self._table.index[self._table.sum(axis=1) > 0][0])
            return f"Cohen's kappa is undefined: both sides say {one_line(verdict)!r} in every row"
        value = with_range(self.kappa, self.kappa_low, self.kappa_high)
        unit = self.unit if self.units != 1 else self.unit.removesuffix("s")
        return f"Cohen's kappa {value} ({self.kappa_method}, {self.units} {unit} resampled)"


def agreement(
    a: object,
    b: object,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Agreement:
    """Compare the verdicts of two judges, two metrics or two runs row by row.

    Rows are joined on path and metric, and on run and document if both sides have them. `run` is
    left out if each side has a single run, so that two runs can be compared. Rows that find no
    partner are then joined without the metric: a field whose metric was changed is compared with
    itself. All rows count, including those that no judge decides; pass frames to compare a part of
    them, for example ``fields[fields["metric"] == "string_semantic"]``.

    Parameters
    ----------
    a, b : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`; a mapping goes from run to one of the others, or from run to document
        to `Evaluation`.
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
        `disagreements`, and counts of rows that could not be compared. Documents are resampled if
        there are several, since rows of one document are not independent; otherwise rows.

    Raises
    ------
    InputError
        A column is missing, the sides have no row in common or two profiles, or one side has
        several runs or documents and the other has no such column.

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
    refuse_two_profiles([a, b])
    frames = gather(a, "fields"), gather(b, "fields")
    return agreement_of(join_verdicts(*frames, other_metric=True), drawing)


def agreement_of(joined: Joined, drawing: Drawing) -> Agreement:
    """Compare joined rows."""
    sides = [frame["passed"].astype("boolean").array for frame in (joined.a, joined.b)]
    judged = np.array(~(sides[0].isna() | sides[1].isna()), dtype=bool)
    codes = [1 - side[judged].to_numpy(dtype=np.int64) for side in sides]  # pass first, then fail
    documents, numbers = np.unique(joined.documents[judged], return_inverse=True)
    counts = np.zeros((len(documents), 2, 2))
    np.add.at(counts, (numbers, *codes), 1)
    total = counts.sum(axis=0).astype(np.int64)
    rows = int(total.sum())
    kappa = kappa_interval(counts, drawing)
    other = joined.a["metric"].to_numpy(object) != joined.b["metric"].to_numpy(object)
    index, columns = (pd.Index(["pass", "fail"], name=side, dtype=TEXT) for side in _SIDES)
    return Agreement(
        (joined.only_a, joined.only_b),
        int(other.sum()),
        int((~judged).sum()),
        drawing,
        rows,
        float(np.trace(total)) / rows if rows else math.nan,
        *share_interval(counts, drawing),
        kappa.value,
        *kappa.interval,
        kappa.unit,
        kappa.units,
        pd.DataFrame(total, index=index, columns=columns),
        _disagreements(joined, np.flatnonzero(judged)[codes[0] != codes[1]], bool(other.any())),
    )


def _disagreements(
    joined: Joined, rows: npt.NDArray[np.intp], has_other_metric: bool
) -> pd.DataFrame:
    """Return the keys of some rows, and the compared columns of both sides that have them."""
    a, b = (side.iloc[rows].reset_index(drop=True) for side in (joined.a, joined.b))
    keys = ["document", "domain", "schema", "path", "field", "metric"]
    keys = (["run"] if "run" in joined.keys else []) + [key for key in keys if key in a.columns]
    columns = {key: a[key] for key in keys}
    if has_other_metric:
        columns["metric_b"] = b["metric"]
    for name in _COMPARED:
        for frame, side in ((a, "a"), (b, "b")):
            if name in frame.columns:
                columns[f"{name}_{side}"] = frame[name]
    return pd.DataFrame(columns)


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows of both sides in the order of the first, joined on `keys`, with a number per document.

    `only_a` and `only_b` count the rows without a partner.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    keys: tuple[str, ...]
    documents: npt.NDArray[np.int64]
    only_a: int
    only_b: int

    def select(self, rows: npt.NDArray[np.bool_]) -> Joined:
        """Return the rows for which a mask is true."""
        return replace(self, a=self.a[rows], b=self.b[rows], documents=self.documents[rows])


def join_verdicts(
    a: pd.DataFrame,
    b: pd.DataFrame,
    names: Sequence[str] = ("path", "metric"),
    *,
    other_metric: bool = False,
) -> Joined:
    """Join the rows of two sides on their keys; of rows with equal keys the nth with the nth.

    With `other_metric`, what finds no partner is joined in the same way without the metric.
    """
    for frame, side in zip((a, b), _SIDES, strict=True):
        refuse_missing(frame, (*names, "passed"), f"fields of {side}")
    keys = [*_identities(a, b), *names]
    sides = []
    for frame in (a, b):
        rows = pd.DataFrame({name: frame[name].astype(TEXT).array for name in keys})
        sides.append(rows.assign(row=np.arange(len(rows))))
    numbers = [f"row{side}" for side in _SIDES]
    joined = join_rows(sides[0], sides[1], keys, suffixes=_SIDES)[numbers]
    if other_metric:
        rest = [
            rows[~rows["row"].isin(joined[number])]
            for rows, number in zip(sides, numbers, strict=True)
        ]
        if all(map(len, rest)):
            less = [name for name in keys if name != "metric"]
            found = join_rows(rest[0], rest[1], less, suffixes=_SIDES)[numbers]
            joined = pd.concat([joined, found]).sort_values("rowa", kind="stable")
    if joined.empty:
        raise InputError(
            f"no row is on both sides (joined on {', '.join(keys)}); {_has(a, b, keys)}"
        )
    rows_a, rows_b = (joined[number].to_numpy() for number in numbers)
    documents = np.zeros(len(a), np.int64)
    if "document" in keys:
        documents = pd.factorize(a["document"])[0].astype(np.int64)
    return Joined(
        a.iloc[rows_a],
        b.iloc[rows_b],
        tuple(keys),
        documents[rows_a],
        len(a) - len(joined),
        len(b) - len(joined),
    )


def _identities(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    """Return those of run and document that rows have to share."""
    names = []
    for name in ("run", "document"):
        counts = [f[name].nunique() if name in f.columns else None for f in (a, b)]
        for side, count, other in zip(_SIDES, counts, _SIDES[::-1], strict=True):
            if None in counts and count is not None and count > 1:
                raise InputError(
                    f"{side} has {count} {name}s and {other} has no column {name!r}; add it to "
                    f"{other}, or pass a single {name} of {side}"
                )
        if None not in counts and (name == "document" or counts != [1, 1]):
            names.append(name)
    return names


def _has(a: pd.DataFrame, b: pd.DataFrame, keys: list[str]) -> str:
    """Say what both sides have under the first key in which they share nothing."""
    for name in keys:
        values = [[*dict.fromkeys(frame[name].astype(str))] for frame in (a, b)]
        if not set(values[0]) & set(values[1]):
            shown = [", ".join(map(repr, found[:3])) for found in values]
            first, second = (f"{name} {text}" if text else "no rows" for text in shown)
            return f"a has {first}, b has {second}"
    return "each key occurs on both sides, but never together"


class Kappa(NamedTuple):
    """Kappa, its interval, and what was resampled; NaN and None if they are not defined."""

    value: float
    interval: Interval
    unit: str
    units: int


def kappas(counts: Numbers) -> Numbers:
    """Return Cohen's kappa of many tables of counts (Educ. Psychol. Meas. 20, 1960)."""
    total = counts.sum(axis=(-2, -1))
    agreed = np.trace(counts, axis1=-2, axis2=-1) * total
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        kappa = (agreed - chance) / (total**2 - chance)
    return np.round(np.where(total**2 > chance, kappa, np.nan), DIGITS).astype(np.float64)


def kappa_interval(per_document: Numbers, drawing: Drawing) -> Kappa:
    """Return kappa and its bootstrap interval."""
    kappa = _interval_of(kappas, per_document, drawing)
    total = per_document.sum(axis=0)
    constant = any(np.count_nonzero(total.sum(axis=axis)) <= 1 for axis in (0, 1))
    return kappa._replace(interval=Interval(None, None, "undefined")) if constant else kappa


def share_interval(per_document: Numbers, drawing: Drawing) -> Interval:
    """Return an interval for the share of rows in which both sides agree.

    Examples
    --------
    >>> counts = np.array([[[9.0, 1.0], [0.0, 0.0]]])
    >>> low, high, method = share_interval(counts, Drawing(0.95, 100, 0))
    >>> round(low, 3), round(high, 3), method
    (0.596, 0.982, 'Wilson')
    """
    total = per_document.sum(axis=0)
    rows, agreed = float(total.sum()), float(np.trace(total))
    if not rows:
        return Interval(None, None, "undefined")
    if len(per_document) > 1 and 0 < agreed < rows:
        return _interval_of(_shares, per_document, drawing).interval
    return wilson_interval(agreed / rows, rows, drawing)


def _shares(counts: Numbers) -> Numbers:
    with np.errstate(invalid="ignore"):
        shares = np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))
    return np.asarray(np.round(shares, DIGITS), dtype=np.float64)


def _interval_of(
    statistic: Callable[[Numbers], Numbers], per_document: Numbers, drawing: Drawing
) -> Kappa:
    """Resample documents, or the rows of a single one; equal rows are drawn as one count."""
    documents, size = len(per_document), per_document.shape[-1]
    total = per_document.sum(axis=0)
    value, rows = float(statistic(total)), int(total.sum())
    unit, units = ("documents", documents) if documents > 1 else ("rows", rows)
    if np.isnan(value) or units <= 1:
        return Kappa(value, Interval(None, None, "undefined"), unit, units)
    if documents > 1:
        flat = per_document.reshape(documents, size * size)
        drawn = np.vstack([counts @ flat for counts in counts_drawn(documents, drawing)])
        left_out, times = statistic(total - per_document), np.ones(documents)
    else:
        flat = total.ravel()
        generator = drawing.generator(rows, "bootstrap")
        drawn = generator.multinomial(rows, flat / rows, drawing.resamples).astype(np.float64)
        one_less = total - np.eye(flat.size).reshape(-1, size, size)
        left_out, times = statistic(one_less[flat > 0]), flat[flat > 0]
    resampled = statistic(drawn.reshape(-1, size, size))
    return Kappa(value, resampled_interval(value, resampled, left_out, times, drawing), unit, units)
