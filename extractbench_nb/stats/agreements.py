"""Agreement: of two sides row by row, of judges, and of repeated answers of one judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
    resampled_interval,
    wilson_interval,
    with_range,
)
from extractbench_nb.support.cards import TextCard, more_rows
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, plural

#: Characters of a value that an error or a card shows, and rows of a card.
_SHOWN, _MOST = 60, 20

# --- two sides --------------------------------------------------------------------------------

_SIDES = ("a", "b")
_COMPARED = ("score", "passed", "outcome", "reason", "reasoning", "gold", "predicted")


@dataclass(frozen=True, repr=False, eq=False)
class Agreement(TextCard):
    """The agreement between two sides. Made by `agreement`.

    Attributes
    ----------
    rows, unjudged : int
        Rows of both with a verdict on either side; and rows without, which nothing else counts.
    unmatched : tuple of (int, int)
        Rows that only `a` has, and that only `b` has.
    documents : int
        Documents of the rows.
    raw, kappa : float
        Share of equal verdicts, 0 to 1, and Cohen's kappa, -1 to 1; NaN if not defined.
    raw_low, raw_high, kappa_low, kappa_high : float or None
        Ends of their bootstrap intervals over documents; for the share in a single document, or if
        all agree or none, Wilson's over rows; None if not defined.
    kappa_method : str
        Of its interval: ``BCa``, ``percentile``, ``one document`` or ``undefined``.
    table : pandas.DataFrame
        Counts of rows, with the verdicts of `a` as index and those of `b` as columns.
    disagreements : pandas.DataFrame
        One row per disagreement: keys, field and both metrics, then the columns of both sides.
    """

    rows: int
    unjudged: int
    unmatched: tuple[int, int]
    documents: int
    raw: float
    raw_low: float | None
    raw_high: float | None
    kappa: float
    kappa_low: float | None
    kappa_high: float | None
    kappa_method: str
    table: pd.DataFrame
    disagreements: pd.DataFrame

    def __repr__(self) -> str:
        """Write agreement, kappa, the table of counts and what could not be compared."""
        share = with_range(self.raw, self.raw_low, self.raw_high)
        kappa = with_range(self.kappa, self.kappa_low, self.kappa_high)
        size = f"{plural(self.rows, 'row')} of {plural(self.documents, 'document')}"
        lines = [f"Agreement on passed: {share} of {size}"]
        lines += [f"Cohen's kappa: {kappa} ({self.kappa_method})"]
        lines += self.table.rename_axis(index=None, columns="a \\ b").to_string().splitlines()
        if self.unjudged:
            lines.append(f"{plural(self.unjudged, 'row')} left out: a side gave no verdict")
        if any(self.unmatched):
            lines.append("{} rows are only in a, {} only in b".format(*self.unmatched))
        return "\n  ".join(lines)


def agreement(a: object, b: object, *, confidence: float = 0.95) -> Agreement:
    """Compare the verdicts of two judges, two metrics or two runs row by row.

    Rows are joined on path and metric, on document, and on run unless each side has a single run.
    Rows that find no partner are then joined without the metric: a field whose metric was changed
    is compared with itself. Filter ``fields`` to compare some of the rows.

    Parameters
    ----------
    a, b : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, as in `breakdown`.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    Agreement
        `raw` agreement and Cohen's `kappa` with intervals, for which documents are resampled; the
        `table` of counts and the `disagreements`.

    Raises
    ------
    InputError
        A column is missing, a verdict is not True, False or missing, the sides have no row in
        common or two profiles, or one side alone has several runs or documents.

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
    drawing = Drawing(confidence)
    refuse_two_profiles([a, b])
    frames = gather(a, "fields"), gather(b, "fields")
    rows_a, rows_b, keys = _joined(*frames, other_metric=True)
    unmatched = len(frames[0]) - len(rows_a), len(frames[1]) - len(rows_b)
    return _agreement_of(rows_a, rows_b, keys, unmatched, drawing)


def _joined(
    a: pd.DataFrame, b: pd.DataFrame, names: Iterable[str] = (), *, other_metric: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the rows of both sides with equal keys, the nth with the nth, and these keys.

    `names` are keys beside path and metric. With `other_metric`, what finds no partner is joined in
    the same way without the metric.
    """
    sides = []
    for frame, side in zip((a, b), _SIDES, strict=True):
        refuse_missing(frame, ("path", "metric", "passed"), f"fields of {side}")
        try:
            sides.append(frame.assign(passed=frame["passed"].astype("boolean")))
        except (TypeError, ValueError):
            raise InputError(f"passed of {side}: expected True, False or missing") from None
    keys = [*_shared_ids(a, b), "path", *names, "metric"]
    texts = [
        pd.DataFrame({name: side[name].astype(TEXT).array for name in keys}).assign(
            row=np.arange(len(side))
        )
        for side in sides
    ]
    rows = ["rowa", "rowb"]
    pairs = join_rows(texts[0], texts[1], keys, suffixes=_SIDES)[rows]
    if other_metric:
        rest = [t[~t["row"].isin(pairs[row])] for t, row in zip(texts, rows, strict=True)]
        more = join_rows(rest[0], rest[1], keys[:-1], suffixes=_SIDES)[rows]
        pairs = pd.concat([pairs, more]).sort_values("rowa", kind="stable")
    if pairs.empty:
        name = next((k for k in keys if not set(texts[0][k]) & set(texts[1][k])), keys[-1])
        values = (", ".join(map(repr, side[name].unique()[:3])) or "no rows" for side in texts)
        raise InputError(
            f"no row is on both sides (joined on {', '.join(keys)}); {name} is {next(values)} in a "
            f"and {next(values)} in b"
        )
    a, b = (side.iloc[pairs[row]] for side, row in zip(sides, rows, strict=True))
    return a.reset_index(drop=True), b.reset_index(drop=True), keys


def _shared_ids(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    """Return which of run and document are keys; refuse several that the other side lacks."""
    keys = []
    for name in ("run", "document"):
        counts = [frame[name].nunique() if name in frame else None for frame in (a, b)]
        for has, lacks, count in (("a", "b", counts[0]), ("b", "a", counts[1])):
            if None in counts and count is not None and count > 1:
                raise InputError(
                    f"{has} has {count} {name}s and {lacks} has no column {name!r}; add it to "
                    f"{lacks}, or pass a single {name} of {has}"
                )
        if None not in counts and (name == "document" or counts != [1, 1]):
            keys.append(name)
    return keys


def _agreement_of(
    a: pd.DataFrame,
    b: pd.DataFrame,
    keys: list[str],
    unmatched: tuple[int, int],
    drawing: Drawing,
) -> Agreement:
    """Compare joined rows."""
    judged = (a["passed"].notna() & b["passed"].notna()).to_numpy(bool)
    # pass first, then fail
    codes = [1 - side.loc[judged, "passed"].to_numpy(dtype=np.int64) for side in (a, b)]
    documents = a["document"].astype(TEXT) if "document" in keys else pd.Series("", a.index)
    names, numbers = np.unique(pd.factorize(documents)[0][judged], return_inverse=True)
    counts = np.zeros((len(names), 2, 2))
    np.add.at(counts, (numbers, *codes), 1)
    total = counts.sum(axis=0).astype(np.int64)
    rows = int(total.sum())

    differ = np.flatnonzero(judged)[codes[0] != codes[1]]
    of_a, of_b = (side.iloc[differ].reset_index(drop=True) for side in (a, b))
    ids = (["run"] if "run" in keys else []) + ["document", "domain", "schema", "path", "field"]
    columns = {name: of_a[name] for name in (*ids, "metric") if name in of_a}
    columns["metric_b"] = of_b["metric"]
    for name in _COMPARED:
        sides = zip(_SIDES, (of_a, of_b), strict=True)
        columns |= {f"{name}_{side}": frame[name] for side, frame in sides if name in frame}
    index, heads = (pd.Index(["pass", "fail"], name=side, dtype=TEXT) for side in _SIDES)
    share, kappa = share_interval(counts, drawing), _kappa_interval(counts, drawing)
    return Agreement(
        rows,
        int((~judged).sum()),
        unmatched,
        len(names),
        float(np.trace(total)) / rows if rows else math.nan,
        share.low,
        share.high,
        float(kappas(total)),
        kappa.low,
        kappa.high,
        kappa.method,
        pd.DataFrame(total, index=index, columns=heads),
        pd.DataFrame(columns),
    )


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
    """Return an interval for the share of rows in which both sides agree."""
    total = per_document.sum(axis=0)
    rows, agreed = float(total.sum()), float(np.trace(total))
    if not rows:
        return Interval(None, None, "undefined")
    if len(per_document) > 1 and 0 < agreed < rows:
        return _resampled(_shares, per_document, drawing)
    return wilson_interval(agreed / rows, rows, drawing)


def _kappa_interval(per_document: Numbers, drawing: Drawing) -> Interval:
    """Return the bootstrap interval of kappa; none if one side gives a single verdict."""
    total = per_document.sum(axis=0)
    if any(np.count_nonzero(total.sum(axis=axis)) <= 1 for axis in (0, 1)):
        return Interval(None, None, "undefined")
    if len(per_document) == 1:
        return Interval(None, None, "one document")
    return _resampled(kappas, per_document, drawing)


def _resampled(
    statistic: Callable[[Numbers], Numbers], per_document: Numbers, drawing: Drawing
) -> Interval:
    """Resample documents; `per_document` has a table of counts for each."""
    total, documents = per_document.sum(axis=0), len(per_document)
    flat = per_document.reshape(documents, -1)
    drawn = np.vstack([counts @ flat for counts in counts_drawn(documents, drawing)])
    resampled = statistic(drawn.reshape(-1, *total.shape))
    left_out = statistic(total - per_document)
    return resampled_interval(float(statistic(total)), resampled, left_out, drawing)


# --- judges -----------------------------------------------------------------------------------

JUDGE_PAIRS = FrameSpec(
    "pairs",
    "one row per pair of judges",
    (
        Column("judge_a", "string", "first judge"),
        Column("judge_b", "string", "second judge"),
        Column("fields", "int64", "fields on which both gave a verdict", "0 and up"),
        Column(
            "without_verdict", "int64", "fields without a verdict from at least one", "0 and up"
        ),
        Column("identical", "int64", "fields with two equal values; they are left out", "0 and up"),
        Column("unmatched", "int64", "fields on one side only; they are left out", "0 and up"),
        Column("agree", "float64", "share of `fields` with equal verdicts", "0 to 1", True),
        Column("agree_low", "float64", "lower limit of its interval", "0 to 1", True),
        Column("agree_high", "float64", "upper limit of its interval", "0 to 1", True),
        Column("kappa", "float64", "Cohen's kappa; missing if undefined", "-1 to 1", True),
        Column("kappa_low", "float64", "lower limit of its interval", "-1 to 1", True),
        Column("kappa_high", "float64", "upper limit of its interval", "-1 to 1", True),
        Column("a_only", "int64", "fields that pass with a and fail with b", "0 to fields"),
        Column("b_only", "int64", "fields that pass with b and fail with a", "0 to fields"),
        Column("mean_abs_score_diff", "float64", "mean distance between scores", "0 to 1", True),
    ),
)
#: Outcomes of rows that a judge was asked about; the others were decided without one.
_ASKED = ("correct", "incorrect", "judge_error")


@dataclass(frozen=True, repr=False, eq=False)
class JudgeAgreement(TextCard, DescribedFrames):
    """The agreement between judges. Made by `judge_agreement`.

    Attributes
    ----------
    pairs : pandas.DataFrame
        One row per pair of judges; see `JudgeAgreement.columns()`.
    disagreements : pandas.DataFrame
        One row per field that one judge of a pair passes and the other fails: judge_a, judge_b,
        keys, gold and predicted, and the verdicts of both judges.
    """

    _specs = (JUDGE_PAIRS,)

    pairs: pd.DataFrame
    disagreements: pd.DataFrame

    def __repr__(self) -> str:
        """Write one line per pair of judges."""
        lines = ["Agreement of judges, with intervals"]
        for row in self.pairs.head(_MOST).to_dict("records"):
            a, b = (one_line(row[name], 40) for name in ("judge_a", "judge_b"))
            agree, kappa = (
                with_range(row[name], row[f"{name}_low"], row[f"{name}_high"])
                for name in ("agree", "kappa")
            )
            counts = ("without_verdict", "unmatched")
            rest = "".join(f"; {row[n]} {n.replace('_', ' ')}" for n in counts if row[n])
            fields = plural(row["fields"], "field")
            lines.append(f"{a} / {b}: agree {agree} of {fields}; kappa {kappa}{rest}")
        lines += filter(None, [more_rows(len(self.pairs) - _MOST, "pairs")])
        return "\n  ".join(lines)


def judge_agreement(
    evaluations: Mapping[str, object],
    *,
    metrics: Iterable[str] | None = None,
    confidence: float = 0.95,
) -> JudgeAgreement:
    """Compare the verdicts of several judges on the same fields.

    Only rows that a judge decides are compared: those of judged metrics in which gold and
    prediction both have a value, and not the same one. Rows are joined as in `agreement`. If a
    judge takes part in the alignment of an array, its items may be paired differently; such rows do
    not answer the same question, and are counted in ``unmatched``.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation, results of a batch, or pandas.DataFrame
        Each judge's verdicts on the same outputs, by the judge's name; at least two. Recorded
        verdicts need the columns path, metric and passed, and have any others of ``fields``.
    metrics : iterable of str, optional
        Metrics to compare; by default ``string_semantic``, ``string_llm`` and other judged ones,
        without ``array_llm``, whose verdict follows from the alignment of its items.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    JudgeAgreement
        `pairs`, with the share of agreement and Cohen's kappa as in `agreement`, and the
        `disagreements` behind them.

    Raises
    ------
    InputError
        There are fewer than two judges, or two profiles, a column is missing, two judges have no
        row in common, or the values of a path differ between two.

    Examples
    --------
    >>> verdicts = pd.DataFrame({"path": ["$.a", "$.b", "$.c"], "metric": "string_semantic"})
    >>> judges = {"one": verdicts.assign(passed=[True, True, False]),
    ...           "two": verdicts.assign(passed=[True, False, False])}
    >>> found = judge_agreement(judges)
    >>> found.pairs[["judge_a", "judge_b", "fields", "agree", "a_only"]].values.tolist()
    [['one', 'two', 3, 0.6666666666666666, 1]]
    >>> found.disagreements["path"].tolist()
    ['$.b']
    """
    drawing = Drawing(confidence)
    source: object = evaluations
    if not isinstance(source, Mapping) or len(source) < 2:  # noqa: PLR2004 - a comparison takes two
        raise InputError(
            f"evaluations is {_short(source)}; expected a mapping with the names of at least two "
            "judges, each with an Evaluation, results of a batch or a DataFrame"
        )
    refuse_two_profiles(source)
    compared = [metrics] if isinstance(metrics, str) else list(metrics or _judged_metrics())
    sides = {}
    for name, of_judge in source.items():
        frame = gather(of_judge, "fields")
        refuse_missing(frame, ("path", "metric", "passed"), f"fields of judge {name!r}")
        sides[str(name)] = frame[frame["metric"].isin(compared)]
        if sides[str(name)].empty:
            hint = nearest(compared[0] if compared else "", frame["metric"].dropna().unique())
            raise InputError(
                f"judge {name!r} has no row of a metric to compare ({', '.join(compared)}); {hint}"
            )
    pairs, disagreements = [], []
    for a, b in combinations(sides, 2):
        try:
            pair, differing = _compared(sides[a], sides[b], drawing)
        except InputError as error:
            raise InputError(f"judges {a!r} (a) and {b!r} (b): {error}") from None
        judges = {"judge_a": a, "judge_b": b}
        pairs.append(judges | pair)
        disagreements.append(pd.DataFrame({**judges, **differing}, index=differing.index))
    frames = JUDGE_PAIRS.from_records(pairs), pd.concat(disagreements, ignore_index=True)
    return JudgeAgreement(*frames)


def _judged_metrics() -> list[str]:
    return [name for name, entry in REGISTRY.entries.items() if entry.judged]


def _compared(
    a: pd.DataFrame, b: pd.DataFrame, drawing: Drawing
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Compare two judges: the row of the pair, and those of its disagreements."""
    names = [name for name in ("predicted_path",) if name in a and name in b]  # paired alike
    size = len(a) + len(b)
    a, b = (side.assign(**{n: side[n].fillna(side["path"]) for n in names}) for side in (a, b))
    a, b, keys = _joined(a, b, names)
    identical, asked = _identical(a, b), np.ones(len(a), dtype=bool)
    for side in (a, b):
        outcome = side.get("outcome", pd.Series("correct", side.index))
        asked &= outcome.isin(_ASKED).to_numpy(bool)
        side["passed"] = side["passed"].mask(outcome.eq("judge_error"))  # which is no verdict
    both = [side[asked & ~identical].reset_index(drop=True) for side in (a, b)]
    found = _agreement_of(both[0], both[1], keys, (0, 0), drawing)
    scores = [side.get("score", pd.Series(pd.NA, side.index)).astype("Float64") for side in both]
    ends = ("", "_low", "_high")
    pair = {
        "fields": found.rows,
        "without_verdict": found.unjudged,
        "identical": int((asked & identical).sum()),
        "unmatched": size - 2 * len(a),
        **{f"agree{end}": getattr(found, f"raw{end}") for end in ends},
        **{f"kappa{end}": getattr(found, f"kappa{end}") for end in ends},
        "a_only": found.table.loc["pass", "fail"],
        "b_only": found.table.loc["fail", "pass"],
        "mean_abs_score_diff": (scores[0] - scores[1]).abs().astype(np.float64).mean(),
    }
    same = {"gold_a": "gold", "predicted_a": "predicted"}
    others = ["metric_b", "gold_b", "predicted_b"]
    return pair, found.disagreements.rename(columns=same).drop(columns=others, errors="ignore")


def _identical(a: pd.DataFrame, b: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Mark the rows whose gold and predicted value are the same; refuse other questions."""
    texts = []
    for name in ("gold", "predicted"):
        sides = [
            np.array([canonical(None if v is pd.NA else v) for v in side[name]], dtype=object)
            for side in (a, b)
            if name in side
        ]
        if not sides:
            return np.zeros(len(a), dtype=bool)
        texts.append(sides[0])
        if len(others := np.flatnonzero(sides[0] != sides[-1])):
            row, other = (side.iloc[others[0]] for side in (a, b))
            ids = (f"{key} {row[key]!r}" for key in ("run", "document", "path") if key in row)
            raise InputError(
                f"{', '.join(ids)}: {name} is {_short(row[name])} in a and {_short(other[name])} "
                "in b; judges are compared on the same outputs and schema"
            )
    return np.asarray(texts[0] == texts[1], dtype=bool)


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
        Column("passes", "int64", "answers that reach the field's threshold", "0 to answered"),
        Column("agreement", "Float64", "share of the majority; missing for one answer", "", True),
        Column("unanimous", "boolean", "whether all pass or all fail", nullable=True),
    ),
)
_CALL_KEYS = ["run", "document", "path", "field", "metric"]


@dataclass(frozen=True, repr=False, eq=False)
class SelfConsistency(TextCard, DescribedFrames):
    """Agreement of repeated answers to the same question. Made by `self_consistency`.

    Attributes
    ----------
    agreement : float
        Mean share of answers on the majority side, 0.5 to 1. With several documents it is the mean
        over documents of their means over fields. NaN if no field has two answers.
    low, high : float or None
        Ends of its bootstrap interval, over documents if there are several, else over fields; None
        for a single one. If all answers agree it is Wilson's interval for that sample size.
    method : str
        Method of the interval.
    once : int
        Fields with a single call; all other figures leave them out.
    fields : pandas.DataFrame
        One row per field and metric; see `SelfConsistency.columns()`.
    """

    _specs = (CONSISTENCY_COLUMNS,)

    agreement: float
    low: float | None
    high: float | None
    method: str
    once: int
    fields: pd.DataFrame

    def __repr__(self) -> str:
        """Write the mean agreement, and the fields on which answers differ most."""
        share = with_range(self.agreement, self.low, self.high)
        split = self.fields[self.fields["agreement"] < 1].sort_values("agreement", kind="stable")
        lines = [f"Self-consistency: {share} of the answers are on their field's majority side"]
        lines.append(f"they differ on {len(split)} of {plural(len(self.fields), 'field')}")
        for row in split.head(_MOST).to_dict("records"):
            ids = (row[name] for name in ("run", "document", "path"))
            where = " / ".join(one_line(name, 40) for name in ids if isinstance(name, str))
            lines.append(f"{where}: {row['passes']} of {row['answered']} pass")
        return "\n  ".join(lines)


def self_consistency(evaluations: object, *, confidence: float = 0.95) -> SelfConsistency:
    """Measure the agreement of repeated answers to the same question.

    A judge may make the same mistake each time; `judge_agreement` compares different judges.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with ``judge_calls`` of a judge that makes several calls per question:
        ``LLMJudge(n=5)``, or an `Ensemble` of models.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    SelfConsistency
        The answers per field in `fields`; `agreement` is the mean share on the majority side, with
        its interval.

    Raises
    ------
    InputError
        There are no model calls, no field has two calls, or a column is missing.

    Examples
    --------
    >>> calls = pd.DataFrame({"path": "$.a", "field": "a", "metric": "string_semantic",
    ...     "model": "m", "score": [0.9, 0.8, 0.4], "passed": [True, True, False]})
    >>> found = self_consistency(calls)
    >>> found.fields[["path", "calls", "lowest", "highest", "passes"]].values.tolist()
    [['$.a', 3, 0.4, 0.9, 2]]
    >>> round(found.agreement, 3)
    0.667
    """
    drawing = Drawing(confidence)
    calls = gather(evaluations, "judge_calls")
    refuse_missing(calls, ("path", "field", "metric", "model", "score", "passed"), "judge_calls")
    calls = calls[calls["metric"].isin(_judged_metrics()) | calls["score"].notna()]
    score = calls["score"].astype("Float64")
    passed = (calls["passed"].astype("boolean") & score.notna()).fillna(value=False).astype(int)
    keys = [name for name in _CALL_KEYS if name in calls.columns]
    groups = calls.assign(score=score, passed=passed).groupby(keys, sort=False, dropna=False)
    rows = groups.agg(
        models=("model", "nunique"),
        calls=("model", "size"),
        answered=("score", "count"),
        mean=("score", "mean"),
        sd=("score", "std"),
        lowest=("score", "min"),
        highest=("score", "max"),
        passes=("passed", "sum"),
    ).reset_index()
    repeated = rows[rows["calls"] > 1]
    if repeated.empty:
        problem = f"{plural(len(rows), 'field')} with a single call each: nothing to compare"
        problem = problem if len(rows) else "judge_calls has no verdicts of models"
        raise InputError(
            f"{problem}; make several calls with LLMJudge(n=5), or use several models with "
            "Ensemble([...])"
        )
    fails = repeated["answered"] - repeated["passes"]
    share = np.maximum(fails, repeated["passes"]) / repeated["answered"]
    share = share.astype("Float64").where(repeated["answered"] > 1)
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
    mean = float(sample.mean()) if len(sample) else math.nan
    return SelfConsistency(mean, *interval, len(rows) - len(repeated), fields)
