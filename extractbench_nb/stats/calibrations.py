"""`calibration`: whether confidences are probabilities, and whether they tell right from wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import known_columns, label, with_extra_columns
from extractbench_nb.stats.confidences import JudgedValues, Levels, judged_values
from extractbench_nb.stats.intervals import Drawing, Numbers, number, with_range
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.wording import one_line, plural

CALIBRATION_COLUMNS = FrameSpec(
    "scores",
    "one row per group; the columns that name the group come first",
    (
        Column("n", "int64", "values with a confidence and a verdict", "1 and up"),
        Column("documents", "int64", "documents they come from", "1 and up"),
        Column("accuracy", "float64", "share of values that are right", "0 to 1"),
        Column("accuracy_low", "float64", "lower end of its interval", "0 to 1"),
        Column("accuracy_high", "float64", "upper end", "0 to 1"),
        Column("confidence", "float64", "mean confidence", "0 to 1"),
        Column("gap", "float64", "mean confidence - accuracy; above 0: overconfident", "-1 to 1"),
        Column("ece", "float64", "expected calibration error; biased upward", "0 to 1"),
        Column("ece_debiased", "float64", "ece less its expected value by chance", "0 to 1"),
        Column("brier", "float64", "Brier score; lower is better", "0 to 1"),
        Column("auroc", "Float64", "P(right above wrong); missing: one class", "0 to 1", True),
        Column("auroc_low", "Float64", "lower end of its interval", "0 to 1", True),
        Column("auroc_high", "Float64", "upper end", "0 to 1", True),
    ),
)

BIN_COLUMNS = FrameSpec(
    "bins",
    "one row per group and bin of confidence, ascending; the columns of the group come first",
    (
        Column("bin", "int64", "number of the bin", "0 and up"),
        Column("lowest", "float64", "lowest confidence in it", "0 to 1"),
        Column("highest", "float64", "highest confidence in it", "0 to 1"),
        Column("n", "int64", "values in it", "1 and up"),
        Column("documents", "int64", "documents they come from", "1 and up"),
        Column("confidence", "float64", "mean confidence", "0 to 1"),
        Column("accuracy", "float64", "share of values that are right", "0 to 1"),
        Column("low", "float64", "lower end of the interval of the accuracy", "0 to 1"),
        Column("high", "float64", "upper end", "0 to 1"),
    ),
)

_NO_GROUPS = ("score", "passed", "gold", "predicted", "reasoning", "confidence", "wrong", "cluster")
_MOST_BINS = 1000
_SHOWN = 8


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(TextCard, DescribedFrames):
    """Calibration and discrimination of confidences. Made by `calibration`.

    Attributes
    ----------
    by : tuple of str
        Columns that define the groups; empty for all values together.
    without : int
        Counted values that have no confidence: those of outputs that are not JSON, and omissions.
        No figure includes them.
    unused : int
        Confidences that belong to no value with a verdict.
    drawing : Drawing
        Confidence of the intervals, number of resamples and seed.
    """

    _specs = (CALIBRATION_COLUMNS, BIN_COLUMNS)

    by: tuple[str, ...]
    without: int
    unused: int
    drawing: Drawing
    _scores: pd.DataFrame
    _bins: pd.DataFrame

    @property
    def scores(self) -> pd.DataFrame:
        """One row per group; see `Calibration.columns()`. A copy."""
        return self._scores.copy()

    @property
    def bins(self) -> pd.DataFrame:
        """The points of the reliability diagram, one row per group and bin. A copy."""
        return self._bins.copy()

    def __repr__(self) -> str:
        """Write accuracy, mean confidence and discrimination of the first groups."""
        count = plural(int(self._scores["n"].sum()), "confidence")
        lines = [f"Calibration of {count}; {plural(self.without, 'counted value')} without one"]
        for row in self._scores.head(_SHOWN).to_dict("records"):
            name = " / ".join(one_line(str(row[column]), 40) for column in self.by)
            accuracy = with_range(row["accuracy"], row["accuracy_low"], row["accuracy_high"])
            auroc = with_range(row["auroc"], row["auroc_low"], row["auroc_high"])
            lines.append(
                f"  {name + ': ' if name else ''}accuracy {accuracy}, confidence "
                f"{number(row['confidence'])}, ECE {number(row['ece_debiased'])} debiased, "
                f"Brier {number(row['brier'])}, AUROC {auroc}"
            )
        if len(self._scores) > _SHOWN:
            lines.append(f"  … and {len(self._scores) - _SHOWN} more groups in .scores")
        return "\n".join(lines)


def calibration(  # noqa: PLR0913 - options, all but the first by name
    evaluations: object,
    confidences: pd.DataFrame | str | None = None,
    *,
    by: str | Iterable[str] | None = None,
    bins: int = 10,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Calibration:
    """Measure whether confidences are probabilities, and whether they tell right from wrong.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, evaluated against gold.
    confidences : pandas.DataFrame or str, optional
        Column confidence, from 0 to 1, and as far as needed run, document and path: the path in the
        output, as `fields` writes it. A row without a path is for all values of its output that
        have no row. A text names a column of `fields`. None: the agreement between runs
        (`run_agreement`), which evaluates every pair of outputs of a document.
    by : str or iterable of str, optional
        Columns that define the groups, as for `breakdown`: ``"field"``, ``"run"``, ``"metric"``.
        None: all values together.
    bins : int, optional
        Maximum number of bins of equal mass for the reliability diagram and ECE, 2 to 1000. Equal
        confidences stay together.
    confidence : float, optional
        Of the intervals, between 0 and 1.
    resamples : int, optional
        Resamples of the documents, 100 and up.
    seed : int, optional
        The same seed gives the same intervals.

    Returns
    -------
    Calibration
        `scores`, one row per group, and `bins`, the points of the reliability diagram.

    Raises
    ------
    InputError
        A confidence is not a number from 0 to 1, is there twice, or has an unknown run or document;
        none belongs to a value; a column is missing.

    Notes
    -----
    The counted rows of `fields` with a confidence and a verdict are used. A node with several
    metrics is one value, right if all pass. A value without a confidence is not used;
    `Calibration.without` counts these. A value that an item of an array lacks has none.

    *ECE* is the mean of ``abs(mean confidence - accuracy)`` over the bins, weighted by their size.
    It is biased upward: perfectly calibrated confidences have a positive ECE, because the accuracy
    of a bin varies by chance. `ece_debiased` subtracts the expected excess, with a normal
    approximation in each bin (A. Kumar, P. Liang, T. Ma, Verified Uncertainty Calibration, NeurIPS
    2019), and the variance between documents in place of the binomial one, since the values of a
    document are not independent. This removes a part of the bias only: about 40 % for 200
    calibrated confidences in 10 bins. ECE has no interval here: resampling adds the same bias a
    second time.

    *Brier* is the mean squared difference of confidence and verdict (1 or 0).

    *AUROC* is the probability that a right value has a higher confidence than a wrong one, ties
    count half.

    Intervals resample documents with random weights and one additional document that is as good or
    as bad as possible (see docs/explanation/validation.md), so that a sample without errors does
    not prove that there are none. Those of AUROC are percentiles without it.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"a": {"type": "integer"},
    ...           "b": {"type": "integer"}}}
    >>> ev = xb.evaluate(schema, {"a": 1, "b": 2}, {"a": 1, "b": 3})
    >>> confidences = pd.DataFrame({"path": ["$.a", "$.b"], "confidence": [0.9, 0.7]})
    >>> found = calibration(ev, confidences).scores
    >>> found[["n", "accuracy", "confidence", "brier", "auroc"]].round(3).values.tolist()
    [[2, 0.5, 0.8, 0.25, 1.0]]
    """
    drawing = Drawing(confidence, resamples, seed)
    if type(bins) is not int or not 1 < bins <= _MOST_BINS:
        raise InputError(f"bins={bins!r}; it is a whole number from 2 to {_MOST_BINS}")
    values: JudgedValues = judged_values(evaluations, confidences)
    asked = [by] if isinstance(by, str) else list(by or ())
    rows = with_extra_columns(values.known, evaluations, asked)
    names = known_columns(asked, rows, without=_NO_GROUPS) if asked else []
    groups = rows.groupby(names, sort=True, dropna=False) if names else [((), rows)]
    keys: list[dict[str, Any]] = []
    keys_of_bins: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    for key, group in groups:
        right = ~group["wrong"].to_numpy(dtype=bool)
        stated = group["confidence"].to_numpy(dtype=np.float64)
        cluster = group["cluster"].to_numpy()
        of_bins, errors = _binned(stated, right, cluster, bins, drawing)
        keys.append(dict(zip(names, key, strict=True)))
        keys_of_bins += [keys[-1]] * len(of_bins)
        scores.append(errors | _scores(stated, right, cluster, drawing))
        points += of_bins

    def keyed(keys: list[dict[str, Any]], table: pd.DataFrame) -> pd.DataFrame:
        leading = pd.DataFrame(keys, columns=names).astype(dict(rows[names].dtypes))
        return pd.concat([leading, table], axis=1)

    return Calibration(
        tuple(map(label, names)),
        values.without,
        values.unused,
        drawing,
        keyed(keys, CALIBRATION_COLUMNS.from_records(scores)),
        keyed(keys_of_bins, BIN_COLUMNS.from_records(points)),
    )


def _bin_numbers(stated: Numbers, bins: int) -> npt.NDArray[np.int64]:
    """Return the bin of each value: quantiles of the confidences, equal ones in one bin."""
    _, level, counts = np.unique(stated, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    _, numbers = np.unique((middle * bins / len(stated)).astype(np.int64), return_inverse=True)
    found: npt.NDArray[np.int64] = numbers[level]
    return found


def _binned(
    stated: Numbers,
    right: npt.NDArray[np.bool_],
    cluster: npt.NDArray[Any],
    bins: int,
    drawing: Drawing,
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Return the bins, ECE, and ECE less what chance alone is expected to add in each bin."""
    from scipy.special import ndtr

    numbers = _bin_numbers(stated, bins)
    points, error, excess = [], 0.0, 0.0
    for at in range(int(numbers.max()) + 1):
        inside = numbers == at
        own, hits, documents = stated[inside], right[inside], cluster[inside]
        size = len(own)
        levels = Levels.of(np.zeros(size), documents, np.ones(size), ~hits)
        low, high = levels.quantiles(partial(_accuracies, levels), drawing)
        point = {"bin": at, "lowest": own.min(), "highest": own.max(), "n": size}
        point |= {"documents": levels.documents, "confidence": own.mean()}
        points.append(point | {"accuracy": hits.mean(), "low": low, "high": high})
        differences = own - hits
        gap = abs(float(differences.mean()))
        sums = np.bincount(pd.factorize(documents)[0], differences - differences.mean())
        if len(sums) > 1:
            variance = (sums**2).sum() / size**2 * len(sums) / (len(sums) - 1)
        else:  # one document: as if its values were independent
            variance = hits.var() / size
        sd = float(np.sqrt(variance))
        expected = gap
        if sd > 0:  # the mean of |X| of a normal X with this mean
            ratio = gap / sd
            expected = sd * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2)
            expected += gap * (1 - 2 * ndtr(-ratio))
        error += inside.mean() * gap
        excess += inside.mean() * (expected - gap)
    return points, {"ece": float(error), "ece_debiased": max(0.0, float(error - excess))}


def _scores(
    stated: Numbers, right: npt.NDArray[np.bool_], cluster: npt.NDArray[Any], drawing: Drawing
) -> dict[str, Any]:
    """Return all other scores of one group, and their intervals."""
    levels = Levels.of(stated, cluster, np.ones(len(stated)), ~right)
    units, wrong = levels.totals()
    accuracy, mean = float(right.mean()), float(stated.mean())
    auroc = float(_auroc(units - wrong, wrong))

    def measures(u: Numbers, w: Numbers, e: Numbers) -> tuple[Numbers, Numbers]:
        aurocs = _auroc(u - w, w)
        low, high = (np.stack([end, aurocs], axis=1) for end in _accuracies(levels, u, w, e))
        return low, high

    low, high = levels.quantiles(measures, drawing)
    ends = {"accuracy_low": float(low[0]), "accuracy_high": float(high[0])}
    if not np.isnan(auroc):
        ends |= {"auroc": auroc, "auroc_low": float(low[1]), "auroc_high": float(high[1])}
    return ends | {
        "n": len(stated),
        "documents": levels.documents,
        "accuracy": accuracy,
        "confidence": mean,
        "gap": mean - accuracy,
        "brier": float(((stated - right) ** 2).mean()),
    }


def _accuracies(
    levels: Levels, units: Numbers, wrong: Numbers, extra: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the accuracy with an additional document of mean size, all wrong and all right."""
    total, right = units.sum(axis=1), (units - wrong).sum(axis=1)
    size = extra * float(levels.units.sum()) / levels.documents
    return right / (total + size), (right + size) / (total + size)


def _auroc(right: Numbers, wrong: Numbers) -> Numbers:
    """Return the probability that a right value is above a wrong one; NaN with one class."""
    below = np.cumsum(wrong, axis=-1) - wrong / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Numbers = (right * below).sum(axis=-1) / right.sum(axis=-1) / wrong.sum(axis=-1)
    return found
