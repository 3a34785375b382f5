"""Reliability of a language model as the judge, measured on recorded reports.

The shipped figures come from 22 reports that the published package 0.1.0 wrote in March 2026 about
research papers of the released dataset, with Gemini 2.5 Flash as its judge (public repository
``nicolasfwyss/extract-bench-experiments``, MIT). They are scores, verdicts, sizes and hashes, and
contain no text of any document. Your own reports are measured in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.recorded import (
    PAIR_COLUMNS,
    VERDICT_COLUMNS,
    measure_pairs,
    measure_verdicts,
)
from extractbench_nb.benchmark.statistics import shipped_frame
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.agreements import Agreement
from extractbench_nb.stats.agreements import agreement as agreement_of
from extractbench_nb.stats.breakdowns import refuse_missing

__all__ = [
    "REPORT_COLUMNS",
    "agreement",
    "failed_calls",
    "inconsistent",
    "pairs",
    "pass_rates",
    "reports",
    "verdicts",
]


_RATES = (
    Column("as_reported", "float64", "passed rows of all rows of the report", "[0, 1]"),
    Column(
        "without_added",
        "float64",
        "the same without the rows below failed calls: a failed call counts as not passed",
        "[0, 1]",
    ),
    Column("inflation", "float64", "as_reported - without_added", "[-1, 1]"),
    Column(
        "judged_only", "Float64", "without failed calls and the rows below them", "[0, 1]", True
    ),
    Column("offline", "float64", "the same fields decided by the offline judge", "[0, 1]"),
)

REPORT_COLUMNS = FrameSpec(
    "reports",
    "one row a judge report",
    (
        Column("run", "string", "run, as its folder is named"),
        Column("document", "string", "document id"),
        Column("rows", "int64", "rows of the report", "1 and up"),
        Column("passed", "int64", "passed rows", "0 to rows"),
        Column("failed_calls", "int64", "rows of judge calls that failed", "0 and up"),
        Column("added", "int64", "rows below a failed call", "0 and up"),
        Column("added_passed", "int64", "passed rows among them", "0 to added"),
        *_RATES,
    ),
)


_COUNTED = ("decided_by", "passed", "offline_passed")


def verdicts(folder: str | Path | None = None, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Return what a recorded judge said, row by row, and the offline judge beside it.

    Parameters
    ----------
    folder : str or pathlib.Path, optional
        Reports of your own, ``{run}/{document}.judge-report.json`` beside
        ``{run}/{document}.pred.json``, at any depth; the shipped figures by default.
    dataset : Dataset, optional
        Where gold and schemas of that folder are; the released dataset by default.

    Returns
    -------
    pandas.DataFrame
        One row per row of a report: run, document, path, field, metric, decided_by, score, passed,
        offline_score, offline_passed, gold_items, predicted_items, possible_score,
        share_of_possible, predicted_sha256.

    Raises
    ------
    InputError
        There is no report in the folder, or one that cannot be read.
    DatasetError
        The dataset is not there, or does not know a document.

    Notes
    -----
    ``decided_by`` is ``judge`` where a language model was asked, ``rule`` for other metrics,
    ``states`` where a side was null, missing or empty, ``failed_call`` where the call failed, and
    ``below_failed_call`` for rows that the package then added.

    Examples
    --------
    >>> verdicts()["decided_by"].value_counts().sort_index().to_dict()  # doctest: +ELLIPSIS
    {'below_failed_call': 35, 'failed_call': 7, 'judge': 119, 'rule': ..., 'states': ...}
    """
    if folder is not None:
        return measure_verdicts(folder, dataset=dataset)
    return shipped_frame("data/judge_verdicts.csv", VERDICT_COLUMNS)


def pairs(folder: str | Path | None = None, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Compare what a judge said about the same field of a document in any two runs.

    Parameters
    ----------
    folder, dataset : object, optional
        See `verdicts`.

    Returns
    -------
    pandas.DataFrame
        One row per field of a document and two runs: document, path, field, metric, run_a, run_b,
        identical, alike, score_a, score_b, gap, flipped, offline_a, offline_b.

    Raises
    ------
    InputError, DatasetError
        See `verdicts`.

    Notes
    -----
    ``alike`` is the normalised Indel similarity of the two predicted values as JSON with sorted
    keys; nulls are left out, for null and absent mean the same to the evaluator.

    Examples
    --------
    >>> frame = pairs()
    >>> bool(frame.loc[frame["identical"], "flipped"].any())
    False
    """
    if folder is not None:
        return measure_pairs(folder, dataset=dataset)
    return shipped_frame("data/judge_pairs.csv", PAIR_COLUMNS)


def inconsistent(frame: pd.DataFrame | None = None, *, alike: float = 0.95) -> pd.DataFrame:
    """Return the pairs of nearly the same predictions that got different scores.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        What `pairs` returned; the shipped figures by default.
    alike : float, optional
        The least similarity of the two predictions, 0 to 1.

    Returns
    -------
    pandas.DataFrame
        Rows of `pairs`: flipped verdicts first, then by gap, the greatest first.

    Raises
    ------
    InputError
        `alike` is out of range, or a column is missing.

    Examples
    --------
    >>> inconsistent()[["field", "score_a", "score_b"]].head(1).values.tolist()
    [['authors', 0.0, 1.0]]
    """
    if not 0 <= alike <= 1:
        raise InputError(f"alike={alike!r}; expected a number from 0 to 1")
    frame = _given(frame, pairs, ("alike", "gap", "flipped"))
    found = frame[(frame["alike"] >= alike) & (frame["gap"] > 0)]
    order = ["flipped", "gap", "alike"]
    return found.sort_values(order, ascending=False, kind="stable").reset_index(drop=True)


def reports(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Count each report's rows, and its pass rate under four ways to count.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        What `verdicts` returned; the shipped figures by default.

    Returns
    -------
    pandas.DataFrame
        One row per report: run, document, rows, passed, failed_calls, added, added_passed,
        as_reported, without_added, inflation, judged_only, offline.

    Raises
    ------
    InputError
        A column is missing.

    Examples
    --------
    >>> reports()[["rows", "failed_calls", "added", "added_passed"]].sum().to_dict()
    {'rows': 255, 'failed_calls': 7, 'added': 35, 'added_passed': 35}
    """
    frame = _given(frame, verdicts, ("run", "document", *_COUNTED))
    groups = frame.groupby(["run", "document"], sort=True)
    found = [{"run": run, "document": document, **_counts(g)} for (run, document), g in groups]
    return REPORT_COLUMNS.build({n: [row[n] for row in found] for n in REPORT_COLUMNS.names})


def _counts(group: pd.DataFrame) -> dict[str, object]:
    decided, passed = group["decided_by"], group["passed"]
    added, failed = decided == "below_failed_call", decided == "failed_call"
    as_reported, without = _mean(passed), _mean(passed[~added])
    return {
        "rows": len(group),
        "passed": int(passed.sum()),
        "failed_calls": int(failed.sum()),
        "added": int(added.sum()),
        "added_passed": int(passed[added].sum()),
        "as_reported": as_reported,
        "without_added": without,
        "inflation": as_reported - without,
        "judged_only": _mean(passed[~added & ~failed]) if (~added & ~failed).any() else None,
        "offline": _mean(group["offline_passed"][~added].fillna(False)),
    }


def _mean(cells: pd.Series) -> float:
    return float(cells.astype(float).mean())


def failed_calls(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the reports in which a judge call failed, the most inflated first.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        What `verdicts` returned; the shipped figures by default.

    Returns
    -------
    pandas.DataFrame
        Rows of `reports`.

    Raises
    ------
    InputError
        A column is missing.

    Notes
    -----
    The published package 0.1.0 goes on into the children of a field whose judge call failed, finds
    both sides absent there, and counts each of them as passed.

    Examples
    --------
    >>> len(failed_calls()), bool((failed_calls()["inflation"] > 0).all())
    (7, True)
    """
    found = reports(frame)
    found = found[found["failed_calls"] > 0]
    return found.sort_values("inflation", ascending=False, kind="stable").reset_index(drop=True)


def pass_rates(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return each run's pass rate under the four ways to count.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        What `verdicts` returned; the shipped figures by default.

    Returns
    -------
    pandas.DataFrame
        One row per run: run, documents, failed_calls, and the means over its documents of
        as_reported, without_added, inflation, judged_only, offline, in [0, 1].

    Raises
    ------
    InputError
        A column is missing.

    Examples
    --------
    >>> rates = pass_rates()
    >>> bool((rates["as_reported"] > rates["without_added"]).all())
    True
    """
    groups = reports(frame).groupby("run", sort=True)
    counts = groups.agg(documents=("document", "size"), failed_calls=("failed_calls", "sum"))
    means = groups[[column.name for column in _RATES]].mean()
    return counts.join(means).reset_index()


def agreement(frame: pd.DataFrame | None = None, *, metric: str | None = None) -> Agreement:
    """Compare the recorded judge (a) with the offline judge (b) where the former was asked.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        What `verdicts` returned; the shipped figures by default.
    metric : str, optional
        ``string_semantic`` or ``array_llm``; all judged metrics by default.

    Returns
    -------
    Agreement
        Raw agreement, Cohen's kappa with its interval over documents, the table of counts and the
        disagreements.

    Raises
    ------
    InputError
        A column is missing, or no judged row has that metric.

    Examples
    --------
    >>> agreement(metric="string_semantic").raw > agreement(metric="array_llm").raw
    True
    """
    columns = ["run", "document", "path", "field", "metric"]
    frame = _given(frame, verdicts, (*columns, "score", "offline_score", *_COUNTED))
    judged = frame[frame["decided_by"] == "judge"]
    if metric is not None:
        known = judged["metric"].unique()
        judged = judged[judged["metric"] == metric]
        if judged.empty:
            raise InputError(f"metric={metric!r} has no judged row; {nearest(metric, known)}")
    offline = judged[[*columns, "offline_score", "offline_passed"]]
    names = {"offline_score": "score", "offline_passed": "passed"}
    return agreement_of(judged[[*columns, "score", "passed"]], offline.rename(columns=names))


def _given(
    frame: pd.DataFrame | None, default: Callable[[], pd.DataFrame], columns: tuple[str, ...]
) -> pd.DataFrame:
    if frame is None:
        return default()
    refuse_missing(frame, columns)
    return frame
