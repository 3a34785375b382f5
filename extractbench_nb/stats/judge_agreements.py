"""Whether judges give the same verdicts on the same fields, and repeated answers of one judge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core import REGISTRY
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.agreements import Joined, agreement_of, join_verdicts
from extractbench_nb.stats.breakdowns import gather, refuse_two_profiles
from extractbench_nb.stats.intervals import (
    Drawing,
    Numbers,
    mean_intervals,
    number,
    wilson_interval,
    with_range,
)
from extractbench_nb.support.cards import TextCard, more_rows
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, plural

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
