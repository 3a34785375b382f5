"""Validity by length: of the expected output, or of the actual one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._tokens import count_tokens
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.failures import AttemptGroups, check_bins, group_attempts
from extractbench_nb.extraction.plans import DatasetLike, documents_of
from extractbench_nb.stats.breakdowns import refuse_missing
from extractbench_nb.stats.intervals import (
    DIGITS,
    EQUAL,
    Drawing,
    Interval,
    Numbers,
    wilson_interval,
)


def valid_interval(rows: pd.DataFrame, drawing: Drawing) -> Interval:
    """Return Wilson's interval for the share of valid outputs."""
    return wilson_interval(float(rows["valid"].mean()), rows["document"].nunique(), drawing)


def rate_interval(rows: pd.DataFrame, columns: tuple[str, str, str], drawing: Drawing) -> Interval:
    """Return an interval for the sum of one count over the sum of another.

    It is Wilson's, scaled to the greatest possible rate: the sum of the third column over that of
    the second. The sample size is the number of independent trials that would have the variance
    between the documents of each schema, less for few degrees of freedom.
    """
    from scipy.special import stdtrit

    strata = list(_strata(rows, columns))
    part, whole, most = np.concatenate([np.zeros((1, 3)), *strata]).sum(axis=0)
    if not whole or not most:
        return Interval(None, None, "undefined")
    share, size = min(1.0, part / most), float(sum(map(len, strata)))
    spreads = [_spread(counts, part / whole, drawing) for counts in strata]
    if 0 < share < 1 and any(observed for _, _, observed in spreads):
        variance = sum(variance for variance, _, _ in spreads)
        freedom = variance**2 / sum(spread**2 / degrees for spread, degrees, _ in spreads)
        t = float(stdtrit(freedom, drawing.tails[1]))
        size = share * (1 - share) / (variance / most**2) * (drawing.quantile / t) ** 2
    *ends, method = wilson_interval(share, size, drawing)
    ceiling = float(most / whole)
    low, high = (ceiling * (math.nan if end is None else end) for end in ends)
    return Interval(low, high, method)


def _strata(rows: pd.DataFrame, columns: tuple[str, str, str]) -> Iterator[Numbers]:
    """Yield counts of each schema's documents that have some; single documents go together."""
    sums = rows.groupby(["schema", "document"], sort=True)[list(dict.fromkeys(columns))].sum()
    sums = sums[sums[columns[1]] > 0]
    alone = sums.groupby(level="schema").transform("size").eq(1)
    for _, counts in sums[~alone].groupby(level="schema", sort=True):
        yield counts[list(columns)].to_numpy(dtype=np.float64)
    if len(single := sums[alone]):
        yield single[list(columns)].to_numpy(dtype=np.float64)


def _spread(counts: Numbers, rate: float, drawing: Drawing) -> tuple[float, float, bool]:
    """Return a stratum's variance, its degrees of freedom, and whether there was a difference."""
    documents = len(counts)
    residuals = counts[:, 0] - rate * counts[:, 1]
    squares = float(((residuals - residuals.mean()) ** 2).sum())
    if squares > EQUAL:
        return documents / (documents - 1) * squares, documents - 1, True
    most = float(counts[:, 2].sum())
    z = drawing.quantile
    centre = (counts[:, 0].sum() / most * documents + z**2 / 2) / (documents + z**2) if most else 0
    return most**2 * centre * (1 - centre) / (documents + z**2), documents, False


Counts = npt.NDArray[np.int64]

_OF_DOCUMENTS = ("gold_tokens", "gold_values", "array_items", "fields", "pages", "pdf_tokens")

#: What a length can be: columns of a dataset's documents, and two of the outputs themselves.
LENGTHS = (*_OF_DOCUMENTS, "output_tokens", "output_characters")

_MEASURE = Column("measure", "string", "what the length is", ", ".join(LENGTHS))

LENGTH_COLUMNS = FrameSpec(
    "validity_by_length",
    "after the columns of `by`, one row per group and bin; the last of a group has no length",
    (
        _MEASURE,
        Column("bin", "Int64", "from the shortest; missing without a length", "1 and up", True),
        Column("shortest", "Int64", "least length", "0 and up", True),
        Column("median", "Float64", "median length of attempts", "0 and up", True),
        Column("longest", "Int64", "greatest length", "0 and up", True),
        Column("documents", "int64", "different documents", "1 and up"),
        Column("attempts", "int64", "attempts", "1 and up"),
        Column("valid", "int64", "valid outputs", "0 to attempts"),
        Column("share", "float64", "valid / attempts", "0 to 1"),
        Column("low", "float64", "lower end of Wilson's interval, of documents", "0 to share"),
        Column("high", "float64", "upper end of Wilson's interval, of documents", "share to 1"),
    ),
)

LENGTH_CORRELATION_COLUMNS = FrameSpec(
    "length_correlations",
    "after the columns of `by`, one row per group",
    (
        _MEASURE,
        Column("attempts", "int64", "attempts with a length", "0 and up"),
        Column("valid", "int64", "valid outputs among them", "0 to attempts"),
        Column("without_length", "int64", "attempts without one, left out", "0 and up"),
        Column("correlation", "Float64", "Spearman's, of length and validity", "-1 to 1", True),
    ),
)


def validity_by_length(
    attempts: pd.DataFrame,
    dataset: DatasetLike,
    of: str = "gold_tokens",
    *,
    bins: int = 5,
    by: str | Iterable[str] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compute the share of valid outputs by length.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    dataset : Dataset, str or path
        Where the lengths of documents come from.
    of : str, optional
        The length: of what is to be written, ``gold_tokens`` (as Table 6 of the ExtractBench paper
        counts them), ``gold_values``, ``array_items`` or ``fields``; of what is read, ``pages`` or
        ``pdf_tokens``; of what was written, ``output_tokens`` (GPT-2's, as gold's) or
        ``output_characters``.
    bins : int, optional
        How many bins, 1 and up, each with about as many documents, or outputs where these are
        measured. Equal lengths are in one bin, which may make it larger than others; there are
        fewer bins only where there are fewer different lengths, then one for each.
    by : str or iterable of str, optional
        Columns of `attempts` that make groups, ``run`` for example; all are one by default. The
        bins are the same for all groups.
    confidence : float, optional
        Of the intervals, between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        The columns of `by` and those of `LENGTH_COLUMNS`, from the shortest to the longest; no row
        where a group has nothing. Attempts whose length is not known, or without a text where
        outputs are measured, are a last row without ``bin``.

    Raises
    ------
    InputError
        A name or a document is not known, a number is out of range, or a column is missing.

    Notes
    -----
    The intervals are Wilson's, with the number of documents as the sample size: outputs of several
    runs on one document are not independent. ``attempts`` and ``documents`` together show how often
    each is counted; with ``by="run"`` it is once. `baseline_tables` does the same. Documents of one
    schema share much more than their length, so that a bin may stand for a schema.

    What was written is short where it was cut off, and nothing where a call failed: its length is
    in part the result of a failure, and not its cause. Gold's is known before. The paper's models
    that `simulate` makes fail as often as they did in each domain; within one length plays no part.

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> from extractbench_nb.extraction.reading import read_outputs
    >>> from extractbench_nb.simulation.outputs import simulate
    >>> ds = load_dataset("sample")
    >>> attempts = read_outputs(simulate(ds, "Gemini 3 Flash"), ds)
    >>> found = validity_by_length(attempts, ds, bins=2)
    >>> found[["bin", "documents", "attempts"]]
       bin  documents  attempts
    0    1          7         7
    1    2          7         7
    """
    check_bins(bins)
    drawing = Drawing(confidence, resamples=100, seed=0)  # Wilson's interval draws nothing
    groups = _groups(attempts, by, LENGTH_COLUMNS)
    lengths = _lengths(attempts, dataset, of)
    numbers = _bin_numbers(attempts, lengths, of, bins)
    rows: list[tuple[Any, ...]] = []
    places: list[int] = []
    for group, place in enumerate(groups.first):
        own = groups.numbers == group
        for number in sorted(set(numbers[own].tolist()), key=lambda bin_: bin_ or np.inf):
            here = own & (numbers == number)
            known, frame = lengths[here], attempts.loc[here, ["document", "valid"]]
            ends: tuple[Any, ...] = (None, None, None)
            if number:
                ends = (int(known.min()), float(np.median(known)), int(known.max()))
            counts = frame["document"].nunique(), len(frame), int(frame["valid"].sum())
            low, high, _ = valid_interval(frame, drawing)
            between = (round(end or 0.0, DIGITS) for end in (low, high))
            rows.append((of, number or None, *ends, *counts, counts[2] / len(frame), *between))
            places.append(int(place))
    return _with_groups(attempts, groups, places, LENGTH_COLUMNS.from_rows(rows))


def length_correlations(
    attempts: pd.DataFrame,
    dataset: DatasetLike,
    of: str = "gold_tokens",
    *,
    by: str | Iterable[str] | None = None,
) -> pd.DataFrame:
    """Correlate length and validity.

    Parameters
    ----------
    attempts, dataset, of : object
        As for `validity_by_length`.
    by : str or iterable of str, optional
        Columns of `attempts` that make groups, ``run`` for example; all are one by default.

    Returns
    -------
    pandas.DataFrame
        The columns of `by` and those of `LENGTH_CORRELATION_COLUMNS`. Below 0 the longer are less
        often valid. Missing where all lengths are equal, or all outputs valid or none.

    Raises
    ------
    InputError
        As for `validity_by_length`.

    Notes
    -----
    Validity is 0 or 1, so that not even a perfect order by length reaches -1. Neither an interval
    nor a p-value is given: documents of one schema are alike, and attempts on one document are too,
    so that there are fewer independent pairs than attempts, by an unknown number.

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> ds = load_dataset("sample")
    >>> names = ds.documents.sort_values("gold_tokens")["document"]
    >>> attempts = pd.DataFrame({"run": "a", "document": names, "valid": [True] * 7 + [False] * 7})
    >>> length_correlations(attempts, ds)["correlation"].round(2).tolist()
    [-0.87]
    """
    groups = _groups(attempts, by, LENGTH_CORRELATION_COLUMNS)
    lengths = _lengths(attempts, dataset, of)
    valid = attempts["valid"].to_numpy(dtype=bool)
    rows = []
    for group in range(len(groups.labels)):
        own = groups.numbers == group
        kept = own & ~np.isnan(lengths)
        found = None  # Spearman's, where there is an order
        if min(len(np.unique(lengths[kept])), len(np.unique(valid[kept]))) > 1:
            ranks = pd.DataFrame({"length": lengths[kept], "valid": valid[kept]}).rank()
            found = round(float(ranks.corr().loc["length", "valid"]), DIGITS)  # type: ignore[arg-type]
        count = int(kept.sum())
        rows.append((of, count, int(valid[kept].sum()), int(own.sum()) - count, found))
    found_rows = LENGTH_CORRELATION_COLUMNS.from_rows(rows)
    return _with_groups(attempts, groups, groups.first, found_rows)


def _groups(attempts: pd.DataFrame, by: Any, spec: FrameSpec) -> AttemptGroups:
    refuse_missing(attempts, ("document", "valid"), "attempts")
    groups = group_attempts(attempts, by)
    for name in groups.names:
        if name in spec.names:
            raise InputError(f"by is {name!r}, a column of the result; rename it")
    return groups


def _with_groups(
    attempts: pd.DataFrame, groups: AttemptGroups, places: Any, rows: pd.DataFrame
) -> pd.DataFrame:
    """Put the columns that make the groups before those of the result."""
    labels = attempts[groups.names].iloc[list(places)].reset_index(drop=True)
    return pd.concat([labels, rows], axis=1)


# --- lengths -----------------------------------------------------------------------------------


def _lengths(attempts: pd.DataFrame, dataset: DatasetLike, of: str) -> Numbers:
    """Return the length of each attempt; NaN if there is none."""
    if of not in LENGTHS:
        raise InputError(f"of is {of!r}; {nearest(of, LENGTHS)}")
    if of in _OF_DOCUMENTS:
        table, names = documents_of(dataset).documents, attempts["document"]
        refuse_missing(table, ("document", of), "dataset.documents")
        known = dict(zip(table["document"].tolist(), table[of].tolist(), strict=True))
        for name in names.unique():
            if name not in known:
                raise InputError(f"unknown document {name!r}; {nearest(name, map(str, known))}")
        found = [known[name] for name in names]
        return np.array([np.nan if pd.isna(one) else one for one in found], dtype=np.float64)
    column = "raw" if of == "output_tokens" else "characters"
    refuse_missing(attempts, ("failure", "characters", column), "attempts")
    some = (attempts["characters"] > 0) & (attempts["failure"] != "empty_response")
    lengths = np.full(len(attempts), np.nan)
    for place in np.flatnonzero(some):
        cell = attempts[column].iloc[place]
        text = cell.decode("utf-8", "replace") if isinstance(cell, bytes | bytearray) else cell
        lengths[place] = count_tokens(text) if of == "output_tokens" else float(cell)
    return lengths


# --- bins --------------------------------------------------------------------------------------


def _bin_numbers(attempts: pd.DataFrame, lengths: Numbers, of: str, bins: int) -> Counts:
    """Return the bin of each attempt, from 1 up and none of them empty; 0 without a length."""
    known = ~np.isnan(lengths)
    counted = known & ~(attempts["document"].duplicated().to_numpy() & (of in _OF_DOCUMENTS))
    upper_ends = _upper_ends(np.sort(lengths[counted]), bins)
    numbers = np.searchsorted(upper_ends, lengths, side="left")
    found = np.zeros(len(lengths), dtype=np.int64)
    found[known] = 1 + np.unique(numbers[known], return_inverse=True)[1]
    return found


def _upper_ends(ordered: Numbers, bins: int) -> Numbers:
    """Return the greatest length of each bin but the last, as near to the quantiles as can be."""
    values, counts = np.unique(ordered, return_counts=True)
    if len(values) <= bins:
        return values[:-1]
    up_to, ends = np.cumsum(counts), [-1]
    for part in range(1, bins):
        wanted = -(-len(ordered) * part // bins)
        last = len(values) - 1 - (bins - part)  # every bin after this one has a length too
        free = np.arange(last, ends[-1], -1)
        ends.append(int(free[np.abs(up_to[free] - wanted).argmin()]))
    return values[ends[1:]]
