"""`judge_agreement` and `self_consistency`: how far judges agree, with others and themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, describe_frames
from extractbench_nb._json import canonical
from extractbench_nb.display.html import STYLE, document_text, one_line
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.stats.agreements import Agreement, agreement_of
from extractbench_nb.stats.breakdowns import gather, refuse_missing
from extractbench_nb.stats.comparison import number, plain, with_range
from extractbench_nb.stats.intervals import Drawing, mean_intervals, wilson_interval
from extractbench_nb.stats.kappa import Joined, join_verdicts

__all__ = [
    "CONSISTENCY_COLUMNS",
    "JUDGE_DISAGREEMENTS",
    "JUDGE_PAIRS",
    "JudgeAgreement",
    "SelfConsistency",
    "consistency_html",
    "consistency_text",
    "judge_agreement",
    "judges_html",
    "judges_text",
    "self_consistency",
]


_PAIRS, _FIELDS = 20, 8
_NAME = 40


def judges_text(found: JudgeAgreement) -> str:
    """Write each pair of judges in a line."""
    rows = found._pairs.to_dict("records")
    lines = [_head(found)]
    for row in rows[:_PAIRS]:
        names = f"{plain(row['judge_a'], _NAME)} / {plain(row['judge_b'], _NAME)}"
        lines.append(f"  {names}: {'; '.join(_said(row))}")
    more = len(rows) - _PAIRS
    return "\n".join(lines + ([f"  … {more} more; .pairs has them"] if more > 0 else []))


def _head(found: JudgeAgreement) -> str:
    confidence = f"{100 * found.drawing.confidence:.4g} %"
    return f"Agreement of {len(found.judges)} judges [{confidence} interval]"


def _said(row: dict[Any, Any]) -> list[str]:
    fields = "field" if row["fields"] == 1 else "fields"
    agree = with_range(row["agree"], row["agree_low"], row["agree_high"])
    kappa = with_range(row["kappa"], row["kappa_low"], row["kappa_high"])
    texts = [f"agree {agree} of {row['fields']} {fields}", f"kappa {kappa}"]
    return texts + [f"{row[name]} {text}" for name, text in _LEFT_OUT.items() if row[name]]


_LEFT_OUT = {
    "without_verdict": "without a verdict",
    "unmatched": "that only one has",
}


def judges_html(found: JudgeAgreement) -> str:
    """Write the pairs as static HTML; every text is escaped."""
    heads = ("judge a", "judge b", "agree", "kappa", "fields", "a only", "b only", *_LEFT_OUT)
    names = "".join(f"<th>{head}</th>" for head in heads[:2])
    numbers = "".join(f'<th class="xb-num">{head.replace("_", " ")}</th>' for head in heads[2:])
    rows = "".join(_row_html(row) for row in found._pairs.head(_PAIRS).to_dict("records"))
    more = len(found._pairs) - _PAIRS
    note = f"<div>… {more} more; .pairs has them</div>" if more > 0 else ""
    return _root(_head(found), f"<thead><tr>{names}{numbers}</tr></thead>", rows, note)


def _row_html(row: dict[Any, Any]) -> str:
    names = "".join(f"<td>{document_text(row[n], _NAME)}</td>" for n in ("judge_a", "judge_b"))
    ranges = [
        with_range(row[name], row[f"{name}_low"], row[f"{name}_high"])
        for name in ("agree", "kappa")
    ]
    counts = [row[name] for name in ("fields", "a_only", "b_only", *_LEFT_OUT)]
    cells = "".join(f'<td class="xb-num">{text}</td>' for text in (*ranges, *counts))
    return f"<tr>{names}{cells}</tr>"


def _root(title: str, head: str, rows: str, note: str) -> str:
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{document_text(title, 200)}</div>'
        f"{f'<table>{head}<tbody>{rows}</tbody></table>' if rows else ''}{note}</div>"
    )


def consistency_text(found: SelfConsistency) -> str:
    """Write the mean agreement, and the fields on which calls differ most."""
    lines = [_summary(found)]
    for row in _least(found):
        place = " / ".join(plain(row[n], _NAME) for n in _places(row))
        lines.append(f"  {place}: {_passes(row)}, scores {_scores(row)}")
    return "\n".join(lines)


def _summary(found: SelfConsistency) -> str:
    share = with_range(found.agreement, found.low, found.high)
    fields = len(found._fields)
    return (
        f"Self-consistency: {share} of the answers are on their field's majority side; "
        f"they differ on {found.split} of {fields} field{'s' if fields > 1 else ''}"
    )


def _least(found: SelfConsistency) -> list[dict[Any, Any]]:
    split = found._fields[found._fields["agreement"] < 1]
    return split.sort_values("agreement", kind="stable").head(_FIELDS).to_dict("records")


def _places(row: dict[Any, Any]) -> list[str]:
    return [n for n in ("run", "document", "path") if isinstance(row[n], str)]


def _passes(row: dict[Any, Any]) -> str:
    return f"{row['passes']} of {row['answered']} pass"


def _scores(row: dict[Any, Any]) -> str:
    return f"{number(row['lowest'])} to {number(row['highest'])}"


def consistency_html(found: SelfConsistency) -> str:
    """Write the same as static HTML; every text is escaped."""
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{document_text(row[n] if isinstance(row[n], str) else '—', _NAME)}</td>"
            for n in ("run", "document", "path")
        )
        + f'<td class="xb-num">{_passes(row)}</td><td class="xb-num">{_scores(row)}</td></tr>'
        for row in _least(found)
    )
    head = "<thead><tr><th>run</th><th>document</th><th>path</th>"
    head += '<th class="xb-num">verdicts</th><th class="xb-num">scores</th></tr></thead>'
    return _root(_summary(found), head, rows, "")


CONSISTENCY_COLUMNS = FrameSpec(
    "fields",
    "one row a field and metric that was asked about several times",
    (
        Column("run", "string", "run, in results of a batch", nullable=True),
        Column("document", "string", "document, in results of a batch", nullable=True),
        Column("path", "string", "instance path"),
        Column("field", "string", "path with the indices taken out"),
        Column("metric", "string", "metric that asked"),
        Column("models", "int64", "different models that were asked", "1 and up"),
        Column("calls", "int64", "calls", "2 and up"),
        Column("answered", "int64", "calls with a score; the rest of this row is of these"),
        Column("mean", "Float64", "mean score", "0 to 1", True),
        Column("sd", "Float64", "standard deviation, of two answers or more", "0 to 0.71", True),
        Column("lowest", "Float64", "lowest score", "0 to 1", True),
        Column("highest", "Float64", "highest score", "0 to 1", True),
        Column("passes", "int64", "answers that pass by the field's mark", "0 to answered"),
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

_KEYS = ["run", "document", "path", "field", "metric"]
_NEEDED = ("path", "field", "metric", "model", "score", "passed", "error")
_FEWEST = 2


@dataclass(frozen=True, repr=False, eq=False)
class SelfConsistency:
    """How far several answers to the same question are alike. Made by `self_consistency`.

    Attributes
    ----------
    agreement : float
        Mean share of the answers that are on the majority's side, 0.5 to 1. Where there are several
        documents it is the mean over documents of their means over fields. NaN where no field has
        two answers.
    low : float or None
        Lower end of its bootstrap interval, over documents where there are several, else over
        fields; None for a single one. Where all answers agree it is Wilson's interval over as many.
    high : float or None
        Upper end of the interval.
    method : str
        How the interval was made.
    split : int
        Fields on which some answers pass and some fail.
    once : int
        Fields that were asked about once; they are in nothing else.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

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
        """One row a field and metric; `SelfConsistency.columns()` tells the columns. A copy."""
        return self._fields.copy()

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of `fields`.

        Returns
        -------
        pandas.DataFrame
            One row a column: column, dtype, values, nullable, meaning.
        """
        return CONSISTENCY_COLUMNS.describe()

    def __repr__(self) -> str:
        """Write the mean agreement, and the fields on which answers differ most."""
        return consistency_text(self)

    def _repr_html_(self) -> str:
        return consistency_html(self)


def self_consistency(
    evaluations: object,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> SelfConsistency:
    """Measure how far the answers to each question agree, where it was asked several times.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Where the rows of ``judge_calls`` are, of a judge that asks several times:
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
        `fields` has one row a field and metric: how many answers, their mean, spread and extremes,
        how many pass and which share is on the majority's side. `agreement` is the mean of the
        latter, with its interval.

    Raises
    ------
    InputError
        No model was asked, none was asked twice about the same field, or a column is missing.

    Notes
    -----
    Answers of one model at temperature 0 that agree say little of whether they are right: a judge
    may be wrong in the same way each time. `judge_agreement` compares with others.

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
    refuse_missing(calls, _NEEDED, "judge_calls")
    rows = _by_field(calls)
    several = [row for row in rows if row["calls"] >= _FEWEST]
    if not several:
        raise _asked_once(len(rows))
    fields = CONSISTENCY_COLUMNS.build(
        {name: [row[name] for row in several] for name in CONSISTENCY_COLUMNS.names}
    )
    sample = _sample(fields)
    if len(sample) and (sample == 1).all():  # a bootstrap would find no other mean
        interval = wilson_interval(1.0, len(sample), drawing)
    else:
        interval = mean_intervals([sample], drawing)[0]
    return SelfConsistency(
        agreement=float(sample.mean()) if len(sample) else np.nan,
        low=interval.low,
        high=interval.high,
        method=interval.method,
        split=int((fields["agreement"] < 1).sum()),
        once=len(rows) - len(several),
        drawing=drawing,
        _fields=fields,
    )


def _by_field(calls: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each field and metric that a judge was asked about, in their order."""
    judged = [name for name, entry in REGISTRY.entries.items() if entry.judged]
    calls = calls[calls["metric"].isin(judged) | calls["score"].notna()]
    keys = [name for name in _KEYS if name in calls.columns]
    groups = calls.groupby(keys, sort=False, dropna=False)
    blank = dict.fromkeys(_KEYS)
    return [blank | dict(zip(keys, key, strict=True)) | _row(group) for key, group in groups]


def _row(calls: pd.DataFrame) -> dict[str, Any]:
    answers = calls[calls["score"].notna()]
    scores = answers["score"].astype(float).to_numpy()
    passes, answered = int(answers["passed"].astype("boolean").sum()), len(scores)
    share = max(passes, answered - passes) / answered if answered >= _FEWEST else None
    return {
        "models": calls["model"].nunique(),
        "calls": len(calls),
        "answered": answered,
        "mean": float(scores.mean()) if answered else None,
        "sd": float(scores.std(ddof=1)) if answered >= _FEWEST else None,
        "lowest": float(scores.min()) if answered else None,
        "highest": float(scores.max()) if answered else None,
        "passes": passes,
        "agreement": share,
        "unanimous": None if share is None else share == 1,
    }


def _sample(fields: pd.DataFrame) -> Any:
    """Return what is averaged: the means of documents, or the fields of a single one."""
    known = fields[fields["agreement"].notna()]
    values = known["agreement"].astype(float)
    if len(known["document"].dropna().unique()) > 1:
        values = values.groupby(known["document"]).mean()
    return values.to_numpy()


def _asked_once(fields: int) -> InputError:
    how = "ask several times with LLMJudge(n=5), or several models with Ensemble([...])"
    if not fields:
        return InputError(f"no model was asked: judge_calls has no verdicts; {how}")
    what = "1 field was" if fields == 1 else f"each of {fields} fields was"
    return InputError(f"{what} asked about once, so there is nothing to compare; {how}")


_UNDEFINED = "NaN where it is not defined"

JUDGE_PAIRS = FrameSpec(
    "pairs",
    "one row a pair of judges",
    (
        Column("judge_a", "string", "first judge, or the reference"),
        Column("judge_b", "string", "second judge"),
        Column("fields", "int64", "fields on which both gave a verdict", "0 and up"),
        Column("without_verdict", "int64", "fields on which one gave none, or both", "0 and up"),
        Column("identical", "int64", "fields whose two values are the same; left out", "0 and up"),
        Column("unmatched", "int64", "fields that only one side has; left out", "0 and up"),
        Column("agree", "float64", "share of `fields` on which both say the same", "0 to 1", True),
        Column("agree_low", "float64", "lower end of its interval", "0 to 1", True),
        Column("agree_high", "float64", "upper end", "0 to 1", True),
        Column("agree_method", "string", "of the interval", "Wilson, BCa, percentile, undefined"),
        Column("kappa", "float64", f"Cohen's kappa; {_UNDEFINED}", "-1 to 1", True),
        Column("kappa_low", "float64", "lower end of its interval", "-1 to 1", True),
        Column("kappa_high", "float64", "upper end", "-1 to 1", True),
        Column(
            "kappa_method",
            "string",
            "of the interval",
            "BCa, percentile ..., undefined",
        ),
        Column("a_only", "int64", "fields that pass by a and fail by b", "0 to fields"),
        Column("b_only", "int64", "fields that pass by b and fail by a", "0 to fields"),
        Column(
            "mean_abs_score_diff",
            "float64",
            f"mean distance of scores; {_UNDEFINED}",
            "0 to 1",
            True,
        ),
    ),
)

JUDGE_DISAGREEMENTS = FrameSpec(
    "disagreements",
    "one row a field that passes by one judge of a pair and fails by the other",
    (
        Column("judge_a", "string", "first judge, or the reference"),
        Column("judge_b", "string", "second judge"),
        Column("run", "string", "run, where rows are told apart by it", nullable=True),
        Column("document", "string", "document, where rows have one", nullable=True),
        Column("path", "string", "instance path"),
        Column("field", "string", "path with the indices taken out", nullable=True),
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
_VALUES = ("gold", "predicted")
_SHOWN = 60


@dataclass(frozen=True, repr=False, eq=False)
class JudgeAgreement:
    """How far judges agree. Made by `judge_agreement`; every frame is a copy.

    Attributes
    ----------
    judges : tuple of str
        Their names, in the order given.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    judges: tuple[str, ...]
    drawing: Drawing
    _pairs: pd.DataFrame
    _disagreements: pd.DataFrame

    @property
    def pairs(self) -> pd.DataFrame:
        """One row a pair of judges; `JudgeAgreement.columns()` tells the columns."""
        return self._pairs.copy()

    @property
    def disagreements(self) -> pd.DataFrame:
        """One row a field that passes by one judge of a pair and fails by the other."""
        return self._disagreements.copy()

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of the two frames.

        Returns
        -------
        pandas.DataFrame
            One row a column: column, dtype, values, nullable, meaning, frame.
        """
        return describe_frames([JUDGE_PAIRS, JUDGE_DISAGREEMENTS])

    def __repr__(self) -> str:
        """Write each pair in a line."""
        return judges_text(self)

    def _repr_html_(self) -> str:
        return judges_html(self)


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

    Only the rows count that a judge decides: those of judged metrics in which both sides have a
    value, and not the same one. Rows are joined on path and metric, and on run and document as in
    `agreement`.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation, results of a batch, or pandas.DataFrame
        What each judge said of the same outputs, by the judge's name; at least two. Recorded
        verdicts are a frame with columns path, metric and passed, and as far as they are known run,
        document, predicted_path, score, outcome, gold and predicted.
    reference : str, optional
        Compare the others with this one only; by default each pair.
    metrics : iterable of str, optional
        Metrics to compare; by default ``string_semantic``, ``string_llm`` and other judged ones. An
        ``array_llm`` is no judge's alone: its verdict follows from the alignment of its items.
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
        `disagreements` the fields behind them. Kappa is NaN where both judges say one and the same
        thing of every field: there is nothing that chance could not explain. Documents are
        resampled where there are several, since fields of one document are not independent;
        otherwise fields, and the interval of the share is Wilson's.

    Raises
    ------
    InputError
        There are fewer than two judges, `reference` is none of them, a column is missing, two have
        no row in common, or the same place holds other values for one than for the other.

    Notes
    -----
    Items of an array may be paired differently where the judge has a say in that. Such rows are no
    answers to the same question; they are counted in ``unmatched``.

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
    chosen = _chosen(metrics)
    sides = [_Side(name, _rows(name, found, chosen)) for name, found in _given(evaluations)]
    pairs = [_compare(a, b, drawing) for a, b in _pairs(sides, reference)]
    rows = [row for pair in pairs for row in pair.disagreements()]
    return JudgeAgreement(
        judges=tuple(side.name for side in sides),
        drawing=drawing,
        _pairs=_frame(JUDGE_PAIRS, [p.row() for p in pairs]),
        _disagreements=_frame(JUDGE_DISAGREEMENTS, rows),
    )


#: What tells the rows of a judge apart.
_PLACE = ("run", "document", "path", "predicted_path", "metric")


class _Side(NamedTuple):
    """One judge, and its rows."""

    name: str
    rows: pd.DataFrame


class _Pair(NamedTuple):
    """Two judges, and what came of comparing them."""

    a: str
    b: str
    found: Agreement
    identical: int
    distance: float

    def row(self) -> dict[str, Any]:
        found, table = self.found, self.found.table  # pass first, then fail
        return {
            "judge_a": self.a,
            "judge_b": self.b,
            "fields": found.rows,
            "without_verdict": found.unjudged,
            "identical": self.identical,
            "unmatched": sum(found.unmatched),
            "agree": found.raw,
            "agree_low": found.raw_low,
            "agree_high": found.raw_high,
            "agree_method": found.raw_method,
            "kappa": found.kappa,
            "kappa_low": found.kappa_low,
            "kappa_high": found.kappa_high,
            "kappa_method": found.kappa_method,
            "a_only": int(table.to_numpy()[0, 1]),
            "b_only": int(table.to_numpy()[1, 0]),
            "mean_abs_score_diff": self.distance,
        }

    def disagreements(self) -> list[dict[str, Any]]:
        rows = self.found.disagreements.rename(columns={f"{name}_a": name for name in _VALUES})
        return [
            {str(k): None if v is pd.NA else v for k, v in row.items()}
            | {"judge_a": self.a, "judge_b": self.b}
            for row in rows.to_dict("records")
        ]


def _frame(spec: FrameSpec, rows: list[dict[str, Any]]) -> pd.DataFrame:
    return spec.build({name: [row.get(name) for row in rows] for name in spec.names})


def _given(evaluations: object) -> list[tuple[str, object]]:
    if not isinstance(evaluations, Mapping) or len(evaluations) < _FEWEST:
        raise InputError(
            f"evaluations is {_short(evaluations)}; expected a mapping from at least two names of "
            "judges to what each of them said: an Evaluation, results of a batch or a DataFrame"
        )
    return [(str(name), found) for name, found in evaluations.items()]


def _pairs(sides: list[_Side], reference: str | None) -> list[tuple[_Side, _Side]]:
    if reference is None:
        return list(combinations(sides, 2))
    known = {side.name: side for side in sides}
    if reference not in known:
        raise InputError(f"reference={reference!r} is no judge here; {nearest(reference, known)}")
    return [(known[reference], side) for side in sides if side.name != reference]


def _chosen(metrics: Iterable[str] | None) -> list[str]:
    if metrics is None:
        return [name for name, entry in REGISTRY.entries.items() if entry.judged]
    return [metrics] if isinstance(metrics, str) else list(metrics)


def _rows(name: str, source: object, metrics: list[str]) -> pd.DataFrame:
    """Return a judge's rows of some metrics; a failure of the judge is no verdict."""
    frame = gather(source, "fields")
    refuse_missing(frame, ("path", "metric", "passed"), f"fields of judge {name!r}")
    rows = frame[frame["metric"].isin(metrics)]
    if rows.empty:
        known = frame["metric"].dropna().unique()
        raise InputError(
            f"judge {name!r} has no row of a metric to compare ({', '.join(metrics)}); "
            f"{nearest(metrics[0] if metrics else '', known)}"
        )
    rows = rows.assign(passed=_verdicts(rows["passed"], name))
    _refuse_repeated(rows, name)
    if "outcome" not in rows.columns:
        return rows
    failed = rows["outcome"] == "judge_error"
    return rows.assign(passed=rows["passed"].astype("boolean").mask(failed.astype(bool)))


def _verdicts(passed: pd.Series, name: str) -> pd.Series:
    for place, value in passed.items():
        if not (value is None or pd.isna(value) or value in (True, False)):
            raise InputError(
                f"passed of judge {name!r} is {_short(value)} at row {place!r}; expected True, "
                "False or NA"
            )
    return passed.astype("boolean")


def _refuse_repeated(rows: pd.DataFrame, name: str) -> None:
    keys = [key for key in _PLACE if key in rows.columns]
    again = rows.duplicated(keys)
    if again.any():
        place = ", ".join(f"{key} {rows.loc[again, key].iloc[0]!r}" for key in keys)
        raise InputError(f"judge {name!r} has more than one row of {place}; expected one a field")


def _compare(a: _Side, b: _Side, drawing: Drawing) -> _Pair:
    joined = _joined(a, b)
    same = _identical(joined, a.name, b.name)
    asked = _asked(joined.a) & _asked(joined.b)
    rows = joined.select(asked & ~same)
    found = agreement_of(rows, "passed", drawing)
    return _Pair(a.name, b.name, found, int((asked & same).sum()), _distance(rows))


def _joined(a: _Side, b: _Side) -> Joined:
    """Join rows; in arrays, of items that were paired alike."""
    names = ["path", "metric"]
    frames = [a.rows, b.rows]
    if all("predicted_path" in frame.columns for frame in frames):
        names.insert(1, "predicted_path")
        frames = [
            frame.assign(predicted_path=frame["predicted_path"].fillna(frame["path"]))
            for frame in frames
        ]
    try:
        return join_verdicts(frames[0], frames[1], "passed", names)
    except InputError as error:
        raise InputError(f"judges {a.name!r} (a) and {b.name!r} (b): {error}") from None


def _asked(frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Tell the rows that were left to the judge; where it is not known, all."""
    if "outcome" not in frame.columns:
        return np.ones(len(frame), dtype=np.bool_)
    return np.asarray(frame["outcome"].isin(_ASKED), dtype=np.bool_)


def _identical(joined: Joined, a: str, b: str) -> npt.NDArray[np.bool_]:
    """Tell the rows whose gold and predicted value are the same, and refuse other questions."""
    texts: dict[str, list[str]] = {}
    for name in _VALUES:
        sides = [_texts(frame, name) for frame in (joined.a, joined.b)]
        known = [side for side in sides if side is not None]
        if not known:
            return np.zeros(len(joined.a), dtype=np.bool_)
        for place, pair in enumerate(zip(*known, strict=True)):
            if len(set(pair)) > 1:
                raise _other_question(joined, place, name, (a, b))
        texts[name] = known[0]
    return np.array([g == p for g, p in zip(*texts.values(), strict=True)], dtype=np.bool_)


def _texts(frame: pd.DataFrame, name: str) -> list[str] | None:
    if name not in frame.columns:
        return None
    return [_text(None if value is pd.NA else value) for value in frame[name].tolist()]


def _text(value: object) -> str:
    try:
        return canonical(value)
    except (RecursionError, TypeError, ValueError):
        return repr(value)


def _other_question(joined: Joined, place: int, name: str, judges: tuple[str, str]) -> InputError:
    rows = [frame.iloc[place] for frame in (joined.a, joined.b)]
    ids = [f"{key} {rows[0][key]!r}" for key in joined.keys if key in ("run", "document")]
    where = ", ".join([*ids, str(rows[0]["path"])])
    values = " and ".join(
        f"{_short(row[name])} for {judge!r}" for row, judge in zip(rows, judges, strict=True)
    )
    return InputError(
        f"{where}: {name} is {values}; judges are compared on the same outputs and schema"
    )


def _short(value: object) -> str:
    return one_line(repr(value), _SHOWN)


def _distance(joined: Joined) -> float:
    """Return the mean distance of the scores, where both gave one."""
    if not all("score" in frame.columns for frame in (joined.a, joined.b)):
        return math.nan
    a, b = (
        frame["score"].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
        for frame in (joined.a, joined.b)
    )
    gaps = np.abs(a - b)[~np.isnan(a - b)]
    return float(gaps.mean()) if len(gaps) else math.nan
