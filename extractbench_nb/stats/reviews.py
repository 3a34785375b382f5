"""`review_plan` and `risk_coverage`: what to check by hand, and the error that is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.confidences import JudgedValues, Levels, judged_values, read_confidences
from extractbench_nb.stats.intervals import (
    DIGITS,
    Drawing,
    Numbers,
    check_share,
    number,
    with_range,
)
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.wording import plural

# --- review plans ---------------------------------------------------------------------------------

REVIEW_COLUMNS = FrameSpec(
    "ranked",
    "one row per document or value, the first to check at the top",
    (
        Column("rank", "int64", "place in the order of review", "1 and up"),
        Column("run", "string", "run", nullable=True),
        Column("document", "string", "document", nullable=True),
        Column("path", "string", "instance path in the output; missing: a document", "", True),
        Column("confidence", "float64", "its confidence; of a document, their mean", "0 to 1"),
        Column("review", "bool", "whether it is within the budget"),
    ),
)

REMAINING_COLUMNS = FrameSpec(
    "curve",
    "one row per budget, ascending",
    (
        Column("budget", "float64", "share of documents or values that are checked", "0 to 1"),
        Column("remaining", "float64", "expected share of wrong values after review", "0 to 1"),
        Column("low", "float64", "lower end of its interval", "0 to 1"),
        Column("high", "float64", "upper end", "0 to 1"),
        Column("random", "float64", "the same for a random choice of what is checked", "0 to 1"),
    ),
)

UNITS = ("document", "field")
_BUDGETS = 20
_FEWEST = 2


@dataclass(frozen=True, repr=False, eq=False)
class ReviewPlan(TextCard, DescribedFrames):
    """An order of review and the error that remains after it. Made by `review_plan`.

    Attributes
    ----------
    unit : str
        What is checked, ``document`` or ``field``.
    budget : float
        Share of them that is checked, 0 to 1.
    documents : int
        Documents that the plan was fitted on.
    error : float
        Share of wrong values before review, the mean over documents, 0 to 1.
    remaining, low, high : float
        Expected share of wrong values after review, and its interval.
    without, unused : int
        Counted values without a confidence, and confidences without a value.
    left_out : int
        Outputs without any confidence, such as those that are not JSON. They are not in the plan.
    drawing : Drawing
        Confidence of the interval, number of resamples and seed.
    """

    _specs = (REVIEW_COLUMNS, REMAINING_COLUMNS)

    unit: str
    budget: float
    documents: int
    error: float
    remaining: float
    low: float
    high: float
    without: int
    unused: int
    left_out: int
    drawing: Drawing
    _curve: pd.DataFrame

    @property
    def curve(self) -> pd.DataFrame:
        """The remaining error by budget; see `ReviewPlan.columns()`. A copy."""
        return self._curve.copy()

    def apply(self, confidences: pd.DataFrame) -> pd.DataFrame:
        """Choose what to check among new outputs, which need no gold.

        Parameters
        ----------
        confidences : pandas.DataFrame
            Confidences of the new outputs, made in the same way as those of the plan.

        Returns
        -------
        pandas.DataFrame
            One row per document or value, least confident first; ``review`` marks those within the
            budget, rounded down. Equal confidences are in a random order, which the seed decides.

        Raises
        ------
        InputError
            A confidence is not a number from 0 to 1 or is there twice, or none has a path although
            the unit is ``field``.
        """
        return _ranked(read_confidences(confidences), self.unit, self.budget, self.drawing.seed)

    def __repr__(self) -> str:
        """Write the budget and the error before and after review."""
        found = with_range(self.remaining, self.low, self.high)
        random = number((1 - self.budget) * self.error)
        outputs, values = plural(self.left_out, "output"), plural(self.without, "counted value")
        missing = ""
        if self.left_out or self.without:
            missing = f"\n  left out: {outputs} and {values} without a confidence"
        return (
            f"Review of {100 * self.budget:.4g} % of the {self.unit}s, least confident first\n"
            f"  error {number(self.error)} before, {found} after ({self.drawing.percent} interval; "
            f"{random} if chosen at random); from {plural(self.documents, 'document')}{missing}"
        )


def review_plan(  # noqa: PLR0913 - options, all but the first by name
    evaluations: object,
    confidences: pd.DataFrame | str | None = None,
    *,
    budget: float = 0.2,
    unit: str = "document",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> ReviewPlan:
    """Plan a review by hand, and estimate the error that remains after it.

    The plan is fitted on outputs that have gold. It is used on new outputs that have confidences
    and no gold: ``plan.apply(confidences)``.

    Parameters
    ----------
    evaluations : results of a batch, pandas.DataFrame, mapping or list
        Results with `fields` of two documents or more, evaluated against gold. Several runs of a
        document are averaged; pass those of one run for a plan for that run.
    confidences : pandas.DataFrame or str, optional
        See `calibration`.
    budget : float, optional
        Share of documents or values that can be checked, 0 to 1.
    unit : {"document", "field"}, optional
        Whether whole outputs are checked, those with the lowest mean confidence first, or single
        values. A review finds and corrects all errors of what is checked.
    confidence : float, optional
        Of the interval, between 0 and 1.
    resamples : int, optional
        Random weights of the documents, 100 and up.
    seed : int, optional
        The same seed gives the same interval and order.

    Returns
    -------
    ReviewPlan
        ``remaining`` with its interval ``low`` to ``high``, and ``curve`` with the same for other
        budgets.

    Raises
    ------
    InputError
        As for `calibration`; `budget` is not from 0 to 1; `unit` is unknown; there is a single
        document; the unit is ``field`` and no confidence has a path.

    Notes
    -----
    Outputs without a confidence are left out; those that are not JSON are known to be wrong. The
    error of a document is the share of its values that are wrong: of all counted values with
    ``unit="document"``, of the values that have a confidence with ``unit="field"`` (nobody can
    check an omitted value by its confidence). The remaining error is the mean over documents of
    what is wrong and not checked. It is the long-run mean for documents from the same source, and
    not a bound for one small batch.

    The order depends on the confidences alone, so verdicts are not used twice. The interval
    resamples documents with random weights, and chooses what is checked anew each time, because the
    threshold of the budget is a quantile of the sample. One additional document, with everything
    right for the lower end and everything wrong for the upper, makes it valid for few documents and
    rare errors (N. Gaffke, 2005; see docs/explanation/validation.md for the coverage in
    simulations). With few documents the interval is wide: 10 without an error do not exclude an
    error of 0.3.

    Examples
    --------
    >>> fields = pd.DataFrame({"document": [f"d{i}" for i in range(40)], "path": "$.a",
    ...     "predicted_path": None, "predicted_state": "present", "field": "a", "counted": True,
    ...     "passed": [i >= 10 for i in range(40)]})
    >>> stated = pd.DataFrame({"document": fields["document"],
    ...                        "confidence": [i / 40 for i in range(40)]})
    >>> plan = review_plan(fields, stated, budget=0.2)
    >>> plan.error, plan.remaining
    (0.25, 0.05)
    >>> plan.apply(stated.head(5))[["rank", "document", "review"]].values.tolist()[:2]
    [[1, 'd0', True], [2, 'd1', False]]
    """
    drawing = Drawing(confidence, resamples, seed)
    check_share("budget", budget)
    if unit not in UNITS:
        raise InputError(f"unit is {unit!r}; {nearest(unit, UNITS)}")
    values = judged_values(evaluations, confidences)
    _ranked(values.confidences, unit, budget, seed)  # refuses values without a path
    levels = _levels(values, unit)
    if levels.documents < _FEWEST:
        raise InputError(
            "the results have a single document with confidences; a plan needs two or more"
        )
    budgets = np.unique([*np.linspace(0, 1, _BUDGETS + 1), budget])
    found, low, high = remaining_errors(levels, budgets, drawing)
    curve = REMAINING_COLUMNS.build(
        {
            "budget": budgets.tolist(),
            "remaining": found.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "random": ((1 - budgets) * found[0]).tolist(),
        }
    )
    at = int(np.searchsorted(budgets, budget))
    return ReviewPlan(
        unit,
        float(budget),
        levels.documents,
        float(found[0]),
        float(curve["remaining"].iloc[at]),
        float(curve["low"].iloc[at]),
        float(curve["high"].iloc[at]),
        values.without,
        values.unused,
        len(_outputs(values.rows) - _outputs(values.confidences)),
        drawing,
        curve,
    )


def _outputs(rows: pd.DataFrame) -> set[tuple[Any, ...]]:
    """Return the pairs of run and document."""
    return set(rows[["run", "document"]].astype(object).itertuples(index=False, name=None))


def _levels(values: JudgedValues, unit: str) -> Levels:
    """Return outputs or values as units; the error of each is its share of its document's."""
    rows = values.known
    if unit == "document":
        keys = ["run", "document"]
        stated = values.confidences.groupby(keys, dropna=False)["confidence"].mean()
        outputs = values.rows.groupby(keys, dropna=False).agg(
            cluster=("cluster", "first"), wrong=("wrong", "mean")
        )
        rows = outputs.join(stated, how="inner")
        if rows.empty:
            raise InputError("fields: no output with a confidence has a counted value")
    share = 1 / rows.groupby("cluster")["wrong"].transform("size")
    return Levels.of(rows["confidence"], rows["cluster"], np.ones(len(rows)), share * rows["wrong"])


def remaining_errors(
    levels: Levels, budgets: Numbers, drawing: Drawing
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the remaining error by budget, and its interval."""
    units, wrong = levels.totals()
    found = _remaining(units[None], wrong[None], budgets)[0] / levels.documents

    def ends(units: Numbers, wrong: Numbers, extra: Numbers) -> tuple[Numbers, Numbers]:
        left = _remaining(units, wrong, budgets)
        worst = extra[:, None] * (budgets < 1)  # nothing remains if everything is checked
        return left / levels.documents, (left + worst) / levels.documents

    low, high = levels.quantiles(ends, drawing)
    return found, np.minimum(low, found), np.maximum(high, found)


def _remaining(units: Numbers, wrong: Numbers, budgets: Numbers) -> Numbers:
    """Return the sum of errors that are not checked, by row and budget.

    Levels come in the order of review. Within a level, what is checked is a random part.
    """
    checked = np.cumsum(units, axis=1)
    checked /= checked[:, -1:]
    left = wrong.sum(axis=1, keepdims=True) - np.cumsum(wrong, axis=1)
    rows = [
        np.interp(budgets, np.append(0, x), np.append(total, y))
        for x, y, total in zip(checked, left, wrong.sum(axis=1), strict=True)
    ]
    found: Numbers = np.maximum(np.round(rows, DIGITS), 0)
    return found


def _ranked(rows: pd.DataFrame, unit: str, budget: float, seed: int) -> pd.DataFrame:
    """Order outputs or values by confidence; equal ones in an order that the seed decides."""
    if unit == "document":
        keys = ["run", "document"]
        rows = rows.groupby(keys, dropna=False, sort=False)["confidence"].mean().reset_index()
        rows["path"] = None
    elif rows["path"].eq("$").all():
        raise InputError(
            "unit is 'field', but no confidence has a path; pass a column path, or unit='document'"
        )
    order = np.lexsort((np.random.default_rng(seed).random(len(rows)), rows["confidence"]))
    rows = rows.iloc[order].reset_index(drop=True)
    rank = np.arange(1, len(rows) + 1)
    # 0.1 * 30 is slightly more than 3
    reviewed = math.floor(round(budget * len(rows), 9))
    return REVIEW_COLUMNS.from_records(rows.assign(rank=rank, review=rank <= reviewed))


# --- risk by coverage -----------------------------------------------------------------------------

RISK_COLUMNS = FrameSpec(
    "curve",
    "one row per threshold, the highest first",
    (
        Column("threshold", "float64", "lowest confidence that is accepted", "0 to 1"),
        Column("coverage", "float64", "share of values that are accepted", "0 to 1"),
        Column("accepted", "int64", "number of values that are accepted", "1 and up"),
        Column("documents", "int64", "documents that they come from", "1 and up"),
        Column("risk", "float64", "share of accepted values that are wrong", "0 to 1"),
        Column("upper", "float64", "upper bound of the risk at this threshold alone", "0 to 1"),
        Column("attainable", "float64", "upper bound if all accepted values were right", "0 to 1"),
    ),
)

_POINTS = 100


@dataclass(frozen=True, repr=False, eq=False)
class RiskCoverage(TextCard, DescribedFrames):
    """The error of accepted values by coverage. Made by `risk_coverage`.

    Attributes
    ----------
    aurc : float
        Area under the curve of risk over coverage, 0 to 1; lower is better.
    error : float
        Risk at full coverage, 0 to 1.
    target : float
        The risk that is allowed.
    threshold : float or None
        Accept values with at least this confidence; None if no threshold meets the target.
    coverage : float
        Share of values that it accepts, 0 to 1.
    risk : float or None
        Their error in the sample.
    upper : float or None
        Upper bound of their error, at most `target`.
    without, unused : int
        Counted values without a confidence, and confidences without a value.
    drawing : Drawing
        Confidence of the bound, number of resamples and seed.
    """

    _specs = (RISK_COLUMNS,)

    aurc: float
    error: float
    target: float
    threshold: float | None
    coverage: float
    risk: float | None
    upper: float | None
    without: int
    unused: int
    drawing: Drawing
    _curve: pd.DataFrame

    @property
    def curve(self) -> pd.DataFrame:
        """One row per threshold; see `RiskCoverage.columns()`. A copy."""
        return self._curve.copy()

    def __repr__(self) -> str:
        """Write the threshold for the target, and the area."""
        count = plural(int(self._curve["accepted"].max()), "value")
        lines = [f"Risk by coverage of {count}: error {number(self.error)}, AURC {self.aurc:.3f}"]
        if self.threshold is None:
            lines.append(
                f"  no threshold has a risk of at most {self.target:g} with confidence "
                f"{self.drawing.percent}; the lowest bound is "
                f"{number(self._curve['upper'].min())}, and "
                f"{number(self._curve['attainable'].min())} if all values were right"
            )
        else:
            lines.append(
                f"  accept confidence {self.threshold:.4g} and up: coverage "
                f"{number(self.coverage)}, risk {number(self.risk)}, at most "
                f"{number(self.upper)} with confidence {self.drawing.percent}"
            )
        return "\n".join(lines)


def risk_coverage(
    evaluations: object,
    confidences: pd.DataFrame | str | None = None,
    *,
    target: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> RiskCoverage:
    """Find how many values can be accepted without review at an allowed error.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, evaluated against gold.
    confidences : pandas.DataFrame or str, optional
        See `calibration`.
    target : float, optional
        Share of accepted values that may be wrong, between 0 and 1.
    confidence : float, optional
        Of the bound, between 0 and 1.
    resamples : int, optional
        Random weights of the documents, 100 and up.
    seed : int, optional
        The same seed gives the same bounds.

    Returns
    -------
    RiskCoverage
        ``curve``, one row per threshold (at most 100), the area ``aurc``, and the lowest
        ``threshold`` whose risk is at most `target` with the given confidence.

    Raises
    ------
    InputError
        As for `calibration`; or `target` is not between 0 and 1.

    Notes
    -----
    AURC is the mean risk over all coverages (Y. Geifman, R. El-Yaniv, Selective classification for
    deep neural networks, NeurIPS 2017). With equal confidences it is the mean over their orders.

    Documents are independent, their values need not be, and each document has the same weight. The
    bound of one threshold is N. Gaffke's (2005) for the mean of bounded values of documents; if
    each has one value it is that of Clopper and Pearson for a binomial. The search over
    thresholds is corrected by fixed-sequence testing (A. N. Angelopoulos et al., Learn then test,
    arXiv:2110.01052, 2021): thresholds are tried from the highest down, from the first whose bound
    would be half of the target if all values were right (verdicts are not used for that), and the
    search ends at the first that fails. So with probability `confidence` over samples the error of
    new values at the threshold is at most `target`, if new documents come from the same source.

    Examples
    --------
    >>> import numpy as np
    >>> fields = pd.DataFrame({"document": [f"d{i}" for i in range(200)], "path": "$.a",
    ...     "predicted_path": None, "predicted_state": "present", "field": "a", "counted": True,
    ...     "passed": np.arange(200) >= 20})
    >>> stated = pd.DataFrame({"document": fields["document"], "path": "$.a",
    ...                        "confidence": np.where(fields["passed"], 0.9, 0.3)})
    >>> found = risk_coverage(fields, stated, target=0.05)
    >>> found.threshold, found.coverage, round(found.upper, 3)
    (0.9, 0.9, 0.017)
    """
    drawing = Drawing(confidence, resamples, seed)
    check_share("target", target)
    if target in (0, 1):
        raise InputError(f"target={target!r}; it lies between 0 and 1, as 0.05")
    values = judged_values(evaluations, confidences)
    rows = values.known
    stated, wrong = rows["confidence"].to_numpy(dtype=np.float64), rows["wrong"].to_numpy()
    curve, aurc = accepted_errors(stated, wrong, rows["cluster"].to_numpy(), drawing)
    row = chosen_row(curve, target)
    chosen: dict[Any, float] = {} if row is None else row.astype(float).to_dict()
    return RiskCoverage(
        aurc,
        float(curve["risk"].iloc[-1]),
        float(target),
        chosen.get("threshold"),
        chosen.get("coverage", 0.0),
        chosen.get("risk"),
        chosen.get("upper"),
        values.without,
        values.unused,
        drawing,
        curve,
    )


def accepted_errors(
    stated: Numbers,
    wrong: npt.NDArray[np.bool_],
    documents: npt.NDArray[Any],
    drawing: Drawing,
) -> tuple[pd.DataFrame, float]:
    """Return the curve (`RISK_COLUMNS`) and the area below it."""
    cluster = pd.factorize(documents)[0]
    weight = 1 / np.bincount(cluster)[cluster]
    # the highest confidence first
    levels = Levels.of(1 - stated, cluster, weight, weight * wrong)
    units, errors = (np.cumsum(amounts) for amounts in levels.totals())
    coverage = units / units[-1]
    steps = np.arange(1, len(stated) + 1) / len(stated)
    sums = np.interp(steps, np.append(0, coverage), np.append(0, errors / units[-1]))
    at = np.unique(np.searchsorted(coverage, np.arange(1, _POINTS + 1) / _POINTS - 1e-9))
    at = at[at < len(coverage)]
    upper, attainable = _upper_bounds(levels, at, drawing)
    inside = [1 - stated <= level for level in levels.values[at]]
    curve = RISK_COLUMNS.build(
        {
            "threshold": [stated[mask].min() for mask in inside],
            "coverage": coverage[at].tolist(),
            "accepted": [mask.sum() for mask in inside],
            "documents": [len(np.unique(documents[mask])) for mask in inside],
            "risk": np.clip(errors[at] / units[at], 0, 1).tolist(),
            "upper": upper.tolist(),
            "attainable": attainable.tolist(),
        }
    )
    return curve, float((sums / steps).mean())


def _upper_bounds(
    levels: Levels, at: npt.NDArray[np.int64], drawing: Drawing
) -> tuple[Numbers, Numbers]:
    """Return one-sided bounds of the risk by threshold, as found and if no value were wrong."""
    parts: list[tuple[Numbers, Numbers]] = []
    for units, wrong, extra in levels.resampled(drawing):
        added = extra[:, None] * float(levels.units.sum()) / levels.documents
        accepted = np.cumsum(units, axis=1)[:, at] + added
        errors = np.cumsum(wrong, axis=1)[:, at]
        parts.append(((errors + added) / accepted, added / accepted))
    found, ideal = (np.concatenate(ratios) for ratios in zip(*parts, strict=True))
    level = drawing.confidence
    return np.quantile(found, level, axis=0), np.quantile(ideal, level, axis=0)


def chosen_row(curve: pd.DataFrame, target: float) -> pd.Series | None:
    """Return the last threshold of the sequence of tests that all reject a risk above a target."""
    first = np.flatnonzero(curve["attainable"] <= target / 2)
    testable = curve.iloc[first[0] :] if len(first) else curve[curve["attainable"] <= target]
    fails = np.flatnonzero(testable["upper"] > target)
    passed = testable.iloc[: fails[0]] if len(fails) else testable
    return None if passed.empty else passed.iloc[-1]
