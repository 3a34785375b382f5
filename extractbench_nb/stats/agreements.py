"""Agreement: of two sides row by row, of judges, and of repeated answers of one judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core import REGISTRY
from extractbench_nb.core.frames import TEXT, Column, DescribedFrames, FrameSpec
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.breakdowns import gather, join_rows, refuse_two_profiles
from extractbench_nb.stats.intervals import (
    DIGITS,
    Drawing,
    Interval,
    Numbers,
    counts_drawn,
    mean_intervals,
    number,
    resampled_interval,
    wilson_interval,
    with_range,
)
from extractbench_nb.support.cards import TextCard, more_rows
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
    by_document = len(documents) > 1
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
        float(kappas(total)),
        *kappa_interval(counts, drawing),
        "documents" if by_document else "rows",
        len(documents) if by_document else rows,
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


def kappas(counts: Numbers) -> Numbers:
    """Return Cohen's kappa of many tables of counts (Educ. Psychol. Meas. 20, 1960)."""
    total = counts.sum(axis=(-2, -1))
    agreed = np.trace(counts, axis1=-2, axis2=-1) * total
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        kappa = (agreed - chance) / (total**2 - chance)
    return np.round(np.where(total**2 > chance, kappa, np.nan), DIGITS).astype(np.float64)


def _shares(counts: Numbers) -> Numbers:
    with np.errstate(invalid="ignore"):
        shares = np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))
    return np.asarray(np.round(shares, DIGITS), dtype=np.float64)


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
        return _resampled(_shares, per_document, drawing)
    return wilson_interval(agreed / rows, rows, drawing)


def kappa_interval(per_document: Numbers, drawing: Drawing) -> Interval:
    """Return the bootstrap interval of kappa; none if one side gives a single verdict."""
    total = per_document.sum(axis=0)
    constant = any(np.count_nonzero(total.sum(axis=axis)) <= 1 for axis in (0, 1))
    if constant:
        return Interval(None, None, "undefined")
    return _resampled(kappas, per_document, drawing)


def _resampled(
    statistic: Callable[[Numbers], Numbers], per_document: Numbers, drawing: Drawing
) -> Interval:
    """Resample documents, or the rows of a single one; equal rows are drawn as one count."""
    documents, size = len(per_document), per_document.shape[-1]
    total = per_document.sum(axis=0)
    value, rows = float(statistic(total)), int(total.sum())
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
    return resampled_interval(value, resampled, left_out, times, drawing)


# --- judges -----------------------------------------------------------------------------------

_UNDEFINED = "NaN where it is not defined"
_DISTANCE = f"mean distance of scores; {_UNDEFINED}"

_JUDGES = (
    Column("judge_a", "string", "first judge, or the reference"),
    Column("judge_b", "string", "second judge"),
)

JUDGE_PAIRS = FrameSpec(
    "pairs",
    "one row per pair of judges",
    (
        *_JUDGES,
        Column("fields", "int64", "fields on which both gave a verdict", "0 and up"),
        Column("without_verdict", "int64", "fields on which one gave none, or both", "0 and up"),
        Column("identical", "int64", "fields whose two values are equal; left out", "0 and up"),
        Column("unmatched", "int64", "fields that only one side has; left out", "0 and up"),
        Column("agree", "float64", "share of `fields` on which both say the same", "0 to 1", True),
        Column("agree_low", "float64", "lower end of its interval", "0 to 1", True),
        Column("agree_high", "float64", "upper end", "0 to 1", True),
        Column("agree_method", "string", "of the interval", "Wilson, BCa, percentile, undefined"),
        Column("kappa", "float64", f"Cohen's kappa; {_UNDEFINED}", "-1 to 1", True),
        Column("kappa_low", "float64", "lower end of its interval", "-1 to 1", True),
        Column("kappa_high", "float64", "upper end", "-1 to 1", True),
        Column("kappa_method", "string", "of the interval", "BCa, percentile ..., undefined"),
        Column("a_only", "int64", "fields that pass by a and fail by b", "0 to fields"),
        Column("b_only", "int64", "fields that pass by b and fail by a", "0 to fields"),
        Column("mean_abs_score_diff", "float64", _DISTANCE, "0 to 1", True),
    ),
)

JUDGE_DISAGREEMENTS = FrameSpec(
    "disagreements",
    "one row per field that passes by one judge of a pair and fails by the other",
    (
        *_JUDGES,
        Column("run", "string", "run, if rows are distinguished by it", nullable=True),
        Column("document", "string", "document, if rows have one", nullable=True),
        Column("path", "string", "instance path"),
        Column("field", "string", "path without indices", nullable=True),
        Column("metric", "string", "judged metric"),
        Column("gold", "object", "gold's value", nullable=True),
        Column("predicted", "object", "predicted value", nullable=True),
        Column("score_a", "Float64", "score of the first judge", "0 to 1", True),
        Column("score_b", "Float64", "score of the second", "0 to 1", True),
        Column("passed_a", "boolean", "verdict of the first judge"),
        Column("passed_b", "boolean", "verdict of the second"),
        Column("reason_a", "string", "why, in a word", nullable=True),
        Column("reason_b", "string", "why, in a word", nullable=True),
        Column("reasoning_a", "string", "the first judge's own words", nullable=True),
        Column("reasoning_b", "string", "the second judge's own words", nullable=True),
    ),
)

#: Outcomes of rows that a judge was asked about; the others were decided without one.
_ASKED = ("correct", "incorrect", "judge_error")
#: The columns that identify a row of one judge.
_KEYS = ("run", "document", "path", "predicted_path", "metric")
_VALUES = ("gold", "predicted")
_LEFT_OUT = {"without_verdict": "without a verdict", "unmatched": "that only one has"}
#: Pairs that a card shows, characters of a name there and of a value in an error.
_PAIRS, _NAME, _SHOWN = 20, 40, 60


@dataclass(frozen=True, repr=False, eq=False)
class JudgeAgreement(TextCard, DescribedFrames):
    """Agreement of judges. Made by `judge_agreement`; every frame is a copy.

    Attributes
    ----------
    judges : tuple of str
        Their names, in the order given.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    _specs = (JUDGE_PAIRS, JUDGE_DISAGREEMENTS)

    judges: tuple[str, ...]
    drawing: Drawing
    _pairs: pd.DataFrame
    _disagreements: pd.DataFrame

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of judges; `JudgeAgreement.columns()` describes the columns."""
        return self._pairs.copy()

    @property
    def disagreements(self) -> pd.DataFrame:
        """One row per field that one judge of a pair passes and the other fails."""
        return self._disagreements.copy()

    def __repr__(self) -> str:
        """Write one line per pair of judges."""
        lines = [f"Agreement of {len(self.judges)} judges [{self.drawing.percent} interval]"]
        for row in self._pairs.head(_PAIRS).to_dict("records"):
            agree, kappa = (
                with_range(row[name], row[f"{name}_low"], row[f"{name}_high"])
                for name in ("agree", "kappa")
            )
            texts = [f"agree {agree} of {plural(row['fields'], 'field')}", f"kappa {kappa}"]
            texts += [f"{row[name]} {text}" for name, text in _LEFT_OUT.items() if row[name]]
            a, b = (one_line(row[name], _NAME) for name in ("judge_a", "judge_b"))
            lines.append(f"{a} / {b}: {'; '.join(texts)}")
        more = more_rows(len(self._pairs) - _PAIRS, "pairs")
        return "\n  ".join([*lines, more] if more else lines)


def judge_agreement(
    evaluations: Mapping[str, object],
    *,
    reference: str | None = None,
    metrics: Iterable[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> JudgeAgreement:
    """Compare the verdicts of several judges on the same fields.

    Only rows that a judge decides are compared: those of judged metrics in which gold and
    prediction both have a value, and not the same one. Rows are joined on path and metric, and on
    run and document as in `agreement`.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation, results of a batch, or pandas.DataFrame
        Each judge's verdicts on the same outputs, by the judge's name; at least two. Recorded
        verdicts are a frame with the columns path, metric and passed, and optionally run, document,
        predicted_path, score, outcome, gold and predicted.
    reference : str, optional
        Compare the others with this judge only; by default all pairs are compared.
    metrics : iterable of str, optional
        Metrics to compare; by default ``string_semantic``, ``string_llm`` and other judged ones,
        without ``array_llm``, whose verdict follows from the alignment of its items.
    confidence : float, optional
        Of the intervals, between 0 and 1.
    resamples : int, optional
        Bootstrap resamples, 100 and up.
    seed : int, optional
        The same seed gives the same intervals.

    Returns
    -------
    JudgeAgreement
        `pairs` has the share of agreement and Cohen's kappa with their intervals, and counts;
        `disagreements` the fields behind them. Kappa is undefined, and NaN, if all verdicts of both
        judges are the same. Documents are resampled if there are several, since fields of one
        document are not independent; otherwise fields are, and the interval of the share is
        Wilson's.

    Raises
    ------
    InputError
        There are fewer than two judges, or two profiles, `reference` is not one of the judges, a
        column is missing, two have no row in common, or the values of a path differ between two.

    Notes
    -----
    If a judge takes part in the alignment of an array, its items may be paired differently. Such
    rows do not answer the same question; they are counted in ``unmatched``.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> class Exact:
    ...     name = "exact"
    ...
    ...     def compare(self, gold, predicted):
    ...         return xb.judges.Verdict(float(gold == predicted), "compared")
    >>> schema = {"type": "object", "properties": {k: {"type": "string"} for k in "abc"}}
    >>> gold = {"a": "ACME Inc.", "b": "5 May 2024", "c": "red"}
    >>> predicted = {"a": "Acme", "b": "2024-05-05", "c": "blue"}
    >>> judges = {"offline": "offline", "exact": Exact()}
    >>> found = judge_agreement(
    ...     {name: xb.evaluate(schema, gold, predicted, judge=j) for name, j in judges.items()}
    ... )
    >>> found.pairs[["judge_a", "judge_b", "fields", "agree", "a_only"]].values.tolist()
    [['offline', 'exact', 3, 0.3333333333333333, 2]]
    >>> found.disagreements["path"].tolist()
    ['$.a', '$.b']
    """
    drawing = Drawing(confidence, resamples, seed)
    source: object = evaluations
    if not isinstance(source, Mapping) or len(source) < 2:  # noqa: PLR2004 - a comparison takes two
        raise InputError(
            f"evaluations is {_short(source)}; expected a mapping with the names of at least two "
            "judges, each with an Evaluation, results of a batch or a DataFrame"
        )
    if metrics is None:
        metrics = [name for name, entry in REGISTRY.entries.items() if entry.judged]
    compared = [metrics] if isinstance(metrics, str) else list(metrics)
    refuse_two_profiles(source)
    sides = {str(name): _rows(str(name), found, compared) for name, found in source.items()}
    pairs = list(combinations(sides, 2))
    if reference is not None:
        if reference not in sides:
            raise InputError(f"reference={reference!r} is not a judge; {nearest(reference, sides)}")
        pairs = [(reference, name) for name in sides if name != reference]
    rows, disagreements = [], []
    for a, b in pairs:
        row, differ = _compare(a, b, sides, drawing)
        rows.append(row)
        disagreements += differ
    frames = JUDGE_PAIRS.from_records(rows), JUDGE_DISAGREEMENTS.from_records(disagreements)
    return JudgeAgreement(tuple(sides), drawing, *frames)


def _rows(name: str, source: object, metrics: list[str]) -> pd.DataFrame:
    """Return a judge's rows of some metrics; a failure of the judge is not a verdict."""
    frame = gather(source, "fields")
    refuse_missing(frame, ("path", "metric", "passed"), f"fields of judge {name!r}")
    rows = frame[frame["metric"].isin(metrics)]
    if rows.empty:
        known = frame["metric"].dropna().unique()
        raise InputError(
            f"judge {name!r} has no row of a metric to compare ({', '.join(metrics)}); "
            f"{nearest(metrics[0] if metrics else '', known)}"
        )
    try:
        passed = rows["passed"].astype("boolean")
    except (TypeError, ValueError):
        raise InputError(f"passed of judge {name!r}: expected True, False or NA") from None
    keys = [key for key in _KEYS if key in rows.columns]
    again = rows.duplicated(keys)
    if again.any():
        where = ", ".join(f"{key} {rows.loc[again, key].iloc[0]!r}" for key in keys)
        raise InputError(f"judge {name!r} has more than one row of {where}; expected one per field")
    if "outcome" in rows.columns:
        passed = passed.mask((rows["outcome"] == "judge_error").astype(bool))
    return rows.assign(passed=passed)


def _compare(
    a: str, b: str, sides: Mapping[str, pd.DataFrame], drawing: Drawing
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Compare two judges: the row of the pair, and those of its disagreements."""
    names = ["path", "metric"]
    frames = [sides[a], sides[b]]
    if all("predicted_path" in frame.columns for frame in frames):  # of items paired alike
        names.insert(1, "predicted_path")
        frames = [
            frame.assign(predicted_path=frame["predicted_path"].fillna(frame["path"]))
            for frame in frames
        ]
    try:
        joined = join_verdicts(frames[0], frames[1], names)
    except InputError as error:
        raise InputError(f"judges {a!r} (a) and {b!r} (b): {error}") from None
    same = _identical(joined, a, b)
    asked = np.ones(len(same), dtype=np.bool_)
    for frame in (joined.a, joined.b):
        if "outcome" in frame.columns:
            asked &= frame["outcome"].isin(_ASKED).to_numpy(dtype=np.bool_)
    rows = joined.select(asked & ~same)
    found = agreement_of(rows, drawing)
    judges = {"judge_a": a, "judge_b": b}
    (_, a_only), (b_only, _) = found.table.to_numpy().tolist()  # pass first, then fail
    distance = math.nan
    if all("score" in frame.columns for frame in (rows.a, rows.b)):
        first, second = (
            frame["score"].astype("Float64").reset_index(drop=True) for frame in (rows.a, rows.b)
        )
        gaps = (first - second).abs().dropna().to_numpy(dtype=np.float64)
        distance = float(gaps.mean()) if len(gaps) else math.nan
    ends = ("", "_low", "_high", "_method")
    pair = judges | {
        "fields": found.rows,
        "without_verdict": found.unjudged,
        "identical": int((asked & same).sum()),
        "unmatched": sum(found.unmatched),
        **{f"agree{end}": getattr(found, f"raw{end}") for end in ends},
        **{f"kappa{end}": getattr(found, f"kappa{end}") for end in ends},
        "a_only": a_only,
        "b_only": b_only,
        "mean_abs_score_diff": distance,
    }
    differ = found.disagreements.rename(columns={f"{name}_a": name for name in _VALUES})
    return pair, [
        {str(k): None if v is pd.NA else v for k, v in row.items()} | judges
        for row in differ.to_dict("records")
    ]


def _identical(joined: Joined, a: str, b: str) -> npt.NDArray[np.bool_]:
    """Mark the rows whose gold and predicted value are the same; refuse other questions."""
    texts = []
    for name in _VALUES:
        sides = [
            np.array([_text(value) for value in frame[name]], dtype=object)
            for frame in (joined.a, joined.b)
            if name in frame.columns
        ]
        if not sides:
            return np.zeros(len(joined.a), dtype=np.bool_)
        texts.append(sides[0])
        others = np.flatnonzero(sides[0] != sides[-1])
        if len(others):
            rows = [frame.iloc[others[0]] for frame in (joined.a, joined.b)]
            ids = [f"{key} {rows[0][key]!r}" for key in ("run", "document") if key in joined.keys]
            first, second = (_short(row[name]) for row in rows)
            raise InputError(
                f"{', '.join([*ids, str(rows[0]['path'])])}: {name} is {first} for {a!r} and "
                f"{second} for {b!r}; judges are compared on the same outputs and schema"
            )
    return np.asarray(texts[0] == texts[1], dtype=np.bool_)


def _text(value: object) -> str:
    try:
        return canonical(None if value is pd.NA else value)
    except (RecursionError, TypeError, ValueError):
        return repr(value)


def _short(value: object) -> str:
    return one_line(repr(value), _SHOWN)


# --- repeated answers of one judge ------------------------------------------------------------

CONSISTENCY_COLUMNS = FrameSpec(
    "fields",
    "one row per field and metric that was asked about several times",
    (
        Column("run", "string", "run, in results of a batch", nullable=True),
        Column("document", "string", "document, in results of a batch", nullable=True),
        Column("path", "string", "instance path"),
        Column("field", "string", "path without indices"),
        Column("metric", "string", "judged metric"),
        Column("models", "int64", "number of models called", "1 and up"),
        Column("calls", "int64", "calls", "2 and up"),
        Column("answered", "int64", "calls with a score; the next columns are about these"),
        Column("mean", "Float64", "mean score", "0 to 1", True),
        Column("sd", "Float64", "standard deviation, of two answers or more", "0 to 0.71", True),
        Column("lowest", "Float64", "lowest score", "0 to 1", True),
        Column("highest", "Float64", "highest score", "0 to 1", True),
        Column("passes", "int64", "answers that pass by the field's threshold", "0 to answered"),
        Column(
            "agreement",
            "Float64",
            "share of the answers on the majority's side, of two answers or more",
            "0.5 to 1",
            True,
        ),
        Column("unanimous", "boolean", "whether all pass or all fail", nullable=True),
    ),
)

_CALL_KEYS = ["run", "document", "path", "field", "metric"]
_CALL_COLUMNS = ("path", "field", "metric", "model", "score", "passed", "error")
_PLACE = ("run", "document", "path")
_REPEATED = 2
#: Fields that a card shows.
_FIELDS = 8


@dataclass(frozen=True, repr=False, eq=False)
class SelfConsistency(TextCard, DescribedFrames):
    """Agreement of repeated answers to the same question. Made by `self_consistency`.

    Attributes
    ----------
    agreement : float
        Mean share of answers on the majority side, 0.5 to 1. With several documents it is the mean
        over documents of their means over fields. NaN if no field has two answers.
    low : float or None
        Lower end of its bootstrap interval, over documents if there are several, else over fields;
        None for a single one. If all answers agree it is Wilson's interval for that sample size.
    high : float or None
        Upper end of the interval.
    method : str
        Method of the interval.
    split : int
        Fields on which some answers pass and some fail.
    once : int
        Fields with a single call; all other figures leave them out.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    _specs = (CONSISTENCY_COLUMNS,)

    agreement: float
    low: float | None
    high: float | None
    method: str
    split: int
    once: int
    drawing: Drawing
    _fields: pd.DataFrame

    @property
    def fields(self) -> pd.DataFrame:
        """One row per field and metric; see `SelfConsistency.columns()`. A copy."""
        return self._fields.copy()

    def __repr__(self) -> str:
        """Write the mean agreement, and the fields on which answers differ most."""
        share = with_range(self.agreement, self.low, self.high)
        fields = plural(len(self._fields), "field")
        head = f"Self-consistency: {share} of the answers are on their field's majority side"
        lines = [f"{head}; they differ on {self.split} of {fields}"]
        split = self._fields[self._fields["agreement"] < 1].sort_values("agreement", kind="stable")
        for row in split.head(_FIELDS).to_dict("records"):
            names = (row[name] for name in _PLACE)
            where = " / ".join(one_line(name, _NAME) for name in names if isinstance(name, str))
            scores = f"{number(row['lowest'])} to {number(row['highest'])}"
            lines.append(f"  {where}: {row['passes']} of {row['answered']} pass, scores {scores}")
        return "\n".join(lines)


def self_consistency(
    evaluations: object,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> SelfConsistency:
    """Measure the agreement of repeated answers to the same question.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with ``judge_calls`` of a judge that makes several calls per question:
        ``LLMJudge(n=5)``, or an `Ensemble` of models.
    confidence : float, optional
        Of the interval of the mean, between 0 and 1.
    resamples : int, optional
        Bootstrap resamples, 100 and up.
    seed : int, optional
        The same seed gives the same interval.

    Returns
    -------
    SelfConsistency
        `fields` has one row per field and metric: number of answers, their mean, standard deviation
        and extremes, how many pass, and the share on the majority side. `agreement` is the mean of
        these shares, with its interval.

    Raises
    ------
    InputError
        There are no model calls, no field has two calls, or a column is missing.

    Notes
    -----
    Agreement of one model's answers at temperature 0 does not show that they are right: a judge may
    make the same mistake each time. `judge_agreement` compares different judges.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> class Thrice:
    ...     name = "thrice"
    ...
    ...     def compare(self, gold, predicted):
    ...         raise NotImplementedError
    ...
    ...     async def ask(self, question):
    ...         calls = tuple(xb.judges.JudgeCall("m", score=score) for score in (0.9, 0.8, 0.4))
    ...         return xb.judges.Verdict(0.8, "voted", calls=calls)
    >>> schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    >>> found = self_consistency(xb.evaluate(schema, {"a": "x"}, {"a": "y"}, judge=Thrice()))
    >>> found.fields[["path", "calls", "lowest", "highest", "passes"]].values.tolist()
    [['$.a', 3, 0.4, 0.9, 2]]
    >>> round(found.agreement, 3)
    0.667
    """
    drawing = Drawing(confidence, resamples, seed)
    calls = gather(evaluations, "judge_calls")
    refuse_missing(calls, _CALL_COLUMNS, "judge_calls")
    judged = [name for name, entry in REGISTRY.entries.items() if entry.judged]
    calls = calls[calls["metric"].isin(judged) | calls["score"].notna()]
    keys = [name for name in _CALL_KEYS if name in calls.columns]
    answered = calls["score"].notna()
    calls = calls.assign(
        score=calls["score"].astype("Float64"),
        passed=(calls["passed"].astype("boolean") & answered).fillna(value=False).astype(int),
    )
    rows = calls.groupby(keys, sort=False, dropna=False, as_index=False).agg(
        models=("model", "nunique"),
        calls=("model", "size"),
        answered=("score", "count"),
        mean=("score", "mean"),
        sd=("score", "std"),
        lowest=("score", "min"),
        highest=("score", "max"),
        passes=("passed", "sum"),
    )
    repeated = rows[rows["calls"] >= _REPEATED]
    if repeated.empty:
        problem = "judge_calls has no verdicts of models"
        if len(rows):
            fields_found = "1 field has" if len(rows) == 1 else f"each of {len(rows)} fields has"
            problem = f"{fields_found} a single call, so there is nothing to compare"
        raise InputError(
            f"{problem}; make several calls with LLMJudge(n=5), or use several models with "
            "Ensemble([...])"
        )
    fails = repeated["answered"] - repeated["passes"]
    share = fails.where(fails > repeated["passes"], repeated["passes"]) / repeated["answered"]
    share = share.astype("Float64").where(repeated["answered"] >= _REPEATED)
    repeated = repeated.assign(agreement=share, unanimous=share == 1)
    fields = CONSISTENCY_COLUMNS.from_records(repeated.reindex(columns=CONSISTENCY_COLUMNS.names))
    known = fields[fields["agreement"].notna()]
    shares = known["agreement"].astype(float)
    if len(known["document"].dropna().unique()) > 1:
        shares = shares.groupby(known["document"]).mean()
    sample: Numbers = np.asarray(shares, dtype=np.float64)
    if len(sample) and (sample == 1).all():  # a bootstrap would find no other mean
        interval = wilson_interval(1.0, len(sample), drawing)
    else:
        interval = mean_intervals([sample], drawing)[0]
    return SelfConsistency(
        float(sample.mean()) if len(sample) else np.nan,
        *interval,
        split=int((fields["agreement"] < 1).sum()),
        once=len(rows) - len(repeated),
        drawing=drawing,
        _fields=fields,
    )
