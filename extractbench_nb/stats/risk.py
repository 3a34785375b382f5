"""`risk_coverage`: the error of the values that are accepted without review, by confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.confidences import Levels, judged_values
from extractbench_nb.stats.intervals import Drawing, Numbers, check_share, number
from extractbench_nb.support.cards import text_card
from extractbench_nb.support.wording import plural

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

EXCHANGEABLE = ("document", "field")
_POINTS = 100


@dataclass(frozen=True, repr=False, eq=False)
class RiskCoverage(DescribedFrames):
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
    exchangeable : str
        What the bound takes as independent, ``document`` or ``field``.
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
    exchangeable: str
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
        lines.append(f"  the bound takes each {self.exchangeable} as independent")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Write the same as static HTML; every text is escaped."""
        return text_card(repr(self))


def risk_coverage(  # noqa: PLR0913 - options, all but the first by name
    evaluations: object,
    confidences: pd.DataFrame | str | None = None,
    *,
    target: float = 0.05,
    exchangeable: str = "document",
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
    exchangeable : {"document", "field"}, optional
        What is drawn independently of each other from the same source: documents, whose values may
        depend on each other (each document has the same weight), or all values. ``"field"`` gives
        tighter bounds, which do not hold if errors come together in documents.
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
        As for `calibration`; `target` is not between 0 and 1; `exchangeable` is unknown.

    Notes
    -----
    AURC is the mean risk over all coverages (Y. Geifman, R. El-Yaniv, Selective classification for
    deep neural networks, NeurIPS 2017). With equal confidences it is the mean over their orders.

    The bound of one threshold is N. Gaffke's (2005) for the mean of bounded values of documents;
    with ``exchangeable="field"`` it is that of Clopper and Pearson for a binomial. The search over
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
    if exchangeable not in EXCHANGEABLE:
        raise InputError(f"exchangeable is {exchangeable!r}; {nearest(exchangeable, EXCHANGEABLE)}")
    values = judged_values(evaluations, confidences)
    rows = values.known
    stated, wrong = rows["confidence"].to_numpy(dtype=np.float64), rows["wrong"].to_numpy()
    documents = rows["cluster"].to_numpy()
    curve, aurc = accepted_errors(stated, wrong, documents, exchangeable, drawing)
    chosen = chosen_row(curve, target)
    return RiskCoverage(
        aurc,
        float(curve["risk"].iloc[-1]),
        float(target),
        None if chosen is None else float(chosen["threshold"]),
        0.0 if chosen is None else float(chosen["coverage"]),
        None if chosen is None else float(chosen["risk"]),
        None if chosen is None else float(chosen["upper"]),
        exchangeable,
        values.without,
        values.unused,
        drawing,
        curve,
    )


def accepted_errors(
    stated: Numbers,
    wrong: npt.NDArray[np.bool_],
    documents: npt.NDArray[Any],
    exchangeable: str,
    drawing: Drawing,
) -> tuple[pd.DataFrame, float]:
    """Return the curve (`RISK_COLUMNS`) and the area below it."""
    weight, cluster = np.ones(len(stated)), np.arange(len(stated))
    if exchangeable == "document":
        cluster = pd.factorize(documents)[0]
        weight /= np.bincount(cluster)[cluster]
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
