"""`self_consistency`: whether repeated answers to the same question agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core import REGISTRY
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.intervals import (
    Drawing,
    Numbers,
    mean_intervals,
    number,
    wilson_interval,
    with_range,
)
from extractbench_nb.support.cards import text_card
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, plural

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

_KEYS = ["run", "document", "path", "field", "metric"]
_NEEDED = ("path", "field", "metric", "model", "score", "passed", "error")
_PLACE = ("run", "document", "path")
_FEWEST = 2
#: Fields that a card shows, and characters of a name.
_FIELDS, _NAME = 8, 40


@dataclass(frozen=True, repr=False, eq=False)
class SelfConsistency(DescribedFrames):
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

    def _repr_html_(self) -> str:
        """Write the same as static HTML; every text is escaped."""
        return text_card(repr(self))


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
    refuse_missing(calls, _NEEDED, "judge_calls")
    judged = [name for name, entry in REGISTRY.entries.items() if entry.judged]
    calls = calls[calls["metric"].isin(judged) | calls["score"].notna()]
    keys = [name for name in _KEYS if name in calls.columns]
    groups = calls.groupby(keys, sort=False, dropna=False)
    rows = [dict(zip(keys, key, strict=True)) | _row(group) for key, group in groups]
    repeated = [row for row in rows if row["calls"] >= _FEWEST]
    if not repeated:
        problem = "judge_calls has no verdicts of models"
        if rows:
            fields_found = "1 field has" if len(rows) == 1 else f"each of {len(rows)} fields has"
            problem = f"{fields_found} a single call, so there is nothing to compare"
        raise InputError(
            f"{problem}; make several calls with LLMJudge(n=5), or use several models with "
            "Ensemble([...])"
        )
    fields = CONSISTENCY_COLUMNS.from_records(repeated)
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


def _row(calls: pd.DataFrame) -> dict[str, Any]:
    answers = calls[calls["score"].notna()]
    scores = answers["score"].astype(float).to_numpy()
    passes, answered = int(answers["passed"].astype("boolean").sum()), len(scores)
    row: dict[str, Any] = {
        "models": calls["model"].nunique(),
        "calls": len(calls),
        "answered": answered,
        "passes": passes,
    }
    if answered:
        extremes = {"lowest": float(scores.min()), "highest": float(scores.max())}
        row |= extremes | {"mean": float(scores.mean())}
    if answered >= _FEWEST:
        share = max(passes, answered - passes) / answered
        row |= {"sd": float(scores.std(ddof=1)), "agreement": share, "unanimous": share == 1}
    return row
