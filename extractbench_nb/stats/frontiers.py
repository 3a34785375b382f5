"""`frontier`: quality against cost and latency, and which runs are dominated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.stats.breakdowns import gather, refuse_missing
from extractbench_nb.stats.compare import average_outputs
from extractbench_nb.stats.intervals import (
    DIGITS,
    EQUAL,
    Drawing,
    Numbers,
    counts_drawn,
    mean_intervals,
)

#: What a run costs: columns of run folders, and their names in the frame.
_COSTS = {"cost": "cost_usd", "latency": "latency_seconds"}


def _measured(name: str, meaning: str, *, nullable: bool = True) -> tuple[Column, ...]:
    return (
        Column(name, "Float64", f"{meaning}, mean over documents", "", nullable),
        Column(f"{name}_low", "Float64", f"lower end of the interval of {name}", "", True),
        Column(f"{name}_high", "Float64", "upper end", "", True),
    )


FRONTIER_COLUMNS = FrameSpec(
    "frontier",
    "one row per run, the cheapest first, runs of unknown cost last",
    (
        Column("run", "string", "the run"),
        Column("documents", "int64", "documents with an output", "1 and up"),
        Column("invalid", "int64", "outputs that did not parse; their scores are 0"),
        *_measured("score", "the score", nullable=False),
        *_measured("cost", "US dollars per document"),
        Column("cost_documents", "int64", "documents whose cost is known", "0 to documents"),
        *_measured("latency", "seconds per document"),
        Column("latency_documents", "int64", "documents whose latency is known"),
        Column("dominated", "bool", "whether another run is at least as good in all and better"),
        Column("dominated_by", "string", "of those runs, the one with the best score", "", True),
        Column(
            "dominated_share",
            "float64",
            "share of resamples of documents in which some run dominates this one",
            "0 to 1",
        ),
    ),
)


def frontier(
    source: object,
    outputs: object = None,
    *,
    score: str = "pass_rate",
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the quality of runs with their cost and latency per document.

    A run is dominated if another one is at least as good in score, cost and latency and better in
    one of them, over the documents that both have. Costs and latencies are compared over the
    documents for which both runs report them; a run that reports none is neither dominated nor
    does it dominate another. What no run reports is left out.

    Parameters
    ----------
    source : results of a batch, pandas.DataFrame, mapping or list
        Scores, as for `compare_runs`.
    outputs : pandas.DataFrame, object with ``outputs``, or list of them, optional
        Runs of `extract`, or frames with columns run, document, ``cost_usd`` (US dollars) and
        ``latency_seconds``. By default these two are columns of ``summary``.
    score : str, optional
        A column of ``summary`` of which more is better.
    confidence, resamples, seed : optional
        See `compare_runs`.

    Returns
    -------
    pandas.DataFrame
        One row per run (see `FRONTIER_COLUMNS`), with intervals over documents.
        ``dominated_share`` near 0.5 means that the documents do not decide it.

    Raises
    ------
    InputError
        Neither cost nor latency is known, one is negative, a run has no output in `outputs`, or the
        score is missing or unknown.

    Notes
    -----
    Documents are resampled together for all runs, so that documents that are difficult for
    all of them do not blur their order.

    Examples
    --------
    >>> runs = pd.DataFrame({"run": [*"aabbcc"], "document": ["x", "y"] * 3,
    ...     "pass_rate": [.8, .9, .8, .8, .5, .7], "cost_usd": [.1, .1, .3, .2, .01, .01]})
    >>> frontier(runs)[["run", "score", "cost", "dominated_by"]].round(2).values.tolist()
    [['c', 0.6, 0.01, <NA>], ['a', 0.85, 0.1, <NA>], ['b', 0.8, 0.25, 'a']]
    """
    drawing = Drawing(confidence, resamples, seed)
    summary = _with_costs(gather(source, "summary"), outputs)
    known = {name: column for name, column in _COSTS.items() if summary[column].notna().any()}
    if not known:
        raise InputError(
            "neither cost_usd nor latency_seconds is known for any output; pass the runs of "
            "extract, or a frame with these columns, as outputs="
        )
    averaged = average_outputs(summary, "run", (score,), fewest=1)
    tables = {"score": averaged.scores[score]}
    for name, column in known.items():
        wide = summary.groupby(["document", "run"])[column].mean().unstack("run")  # noqa: PD010
        tables[name] = wide.sort_index()[averaged.groups].to_numpy(np.float64)
    dominates, drawn = _domination(tables, drawing)
    rows = []
    for i, run in enumerate(averaged.groups):
        row: dict[str, Any] = {
            "run": run,
            "documents": int((averaged.counts[:, i] > 0).sum()),
            "invalid": int(averaged.invalid[:, i].sum()),
            "cost_documents": 0,
            "latency_documents": 0,
        }
        for name, table in tables.items():
            sample = table[~np.isnan(table[:, i]), i]
            if name != "score":
                row[f"{name}_documents"] = len(sample)
            if len(sample):
                (interval,) = mean_intervals([sample], drawing)
                row |= {name: float(sample.mean())}
                row |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
        better = np.flatnonzero(dominates[:, i])
        best = max(better, key=lambda j: np.nanmean(tables["score"][:, j]), default=None)
        row |= {"dominated": best is not None, "dominated_share": float(drawn[i])}
        row["dominated_by"] = None if best is None else averaged.groups[best]
        rows.append(row)
    frame = FRONTIER_COLUMNS.from_records(rows)
    return frame.sort_values(next(iter(known)), kind="stable", ignore_index=True)


def _with_costs(summary: pd.DataFrame, outputs: object) -> pd.DataFrame:
    """Return the summary with both costs as floats, from `outputs` if they are given."""
    keys = ["run", "document"]
    refuse_missing(summary, keys, "summary")
    if outputs is not None:
        several: Sequence[Any] = outputs if isinstance(outputs, list | tuple) else [outputs]
        frames: list[pd.DataFrame] = [as_pandas(getattr(each, "outputs", each)) for each in several]
        for frame in frames:
            refuse_missing(frame, keys, "outputs")
        costs = pd.concat(frames, ignore_index=True).astype(dict.fromkeys(keys, "string"))
        costs = costs[[*keys, *(c for c in _COSTS.values() if c in costs.columns)]]
        twice = costs[costs.duplicated(keys)]
        if len(twice):
            run, document = twice.iloc[0][keys]
            raise InputError(f"outputs has run {run!r}, document {document!r} more than once")
        names = summary["run"].astype("string")
        lacking = names[~names.isin(costs["run"])]
        if len(lacking):
            raise InputError(f"outputs has no run {lacking.iloc[0]!r}, which has scores")
        summary = summary.drop(columns=list(_COSTS.values()), errors="ignore")
        summary = summary.astype(dict.fromkeys(keys, "string")).merge(costs, "left", keys)
    filled = {}
    for column in _COSTS.values():
        values = summary[column] if column in summary.columns else pd.Series(np.nan, summary.index)
        if not pd.api.types.is_numeric_dtype(values) and values.notna().any():
            raise InputError(f"column {column!r} is {values.dtype}; expected numbers")
        filled[column] = values.astype("Float64").astype("float64")
        bad = summary[(filled[column] < 0) | np.isinf(filled[column])]
        if len(bad):
            row = bad.iloc[0]
            raise InputError(
                f"{column} is {row[column]} at run {row['run']!r}, document {row['document']!r}; "
                "expected 0 or more"
            )
    return summary.assign(**filled)


def _domination(
    tables: Mapping[str, Numbers], drawing: Drawing
) -> tuple[npt.NDArray[np.bool_], Numbers]:
    """Return which run dominates which, and the share of resamples in which some run dominates.

    `tables` have a row per document and a column per run. A sum of differences has the sign of the
    difference of the means over the documents that both have, so means are not needed.
    """
    size, runs = tables["score"].shape
    gains = []  # of run j over run i, positive where j is better
    for name, table in tables.items():
        difference = (table[:, :, None] - table[:, None, :]) * (1 if name == "score" else -1)
        unknown = np.isnan(difference).all(axis=0)
        difference = np.nan_to_num(difference)
        scaled = difference / max(np.abs(difference).max(), EQUAL)
        gains.append((scaled.reshape(size, -1), unknown.ravel()))
    comparable = ~np.any([unknown for _, unknown in gains], axis=0)

    def dominating(counts: Numbers) -> npt.NDArray[np.bool_]:
        sums = [np.round(counts @ gain, DIGITS) for gain, _ in gains]
        at_least = np.all([total >= 0 for total in sums], axis=0)
        better = np.any([total > 0 for total in sums], axis=0)
        both: npt.NDArray[np.bool_] = at_least & better & comparable
        return both.reshape(len(counts), runs, runs)

    drawn = np.zeros(runs)
    for counts in counts_drawn(size, drawing):
        drawn += dominating(counts).any(axis=1).sum(axis=0)
    return dominating(np.ones((1, size)))[0], drawn / drawing.resamples


def on_frontier(frame: pd.DataFrame, against: str) -> Sequence[int]:
    """Return the rows that no other beats in score at the same cost or less, the cheapest first."""
    rows = frame[frame[against].notna()].sort_values([against, "score"], ascending=[True, False])
    best = rows["score"].cummax().shift(fill_value=-1.0)
    return rows.index[rows["score"] > best].tolist()
