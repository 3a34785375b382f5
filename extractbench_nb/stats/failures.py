"""Failures of outputs by kind, group and position in the text; validity by length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import FAILURES, DatasetLike, documents_of
from extractbench_nb.stats.breakdowns import known_columns
from extractbench_nb.stats.intervals import (
    DIGITS,
    EQUAL,
    Drawing,
    Interval,
    Numbers,
    wilson_interval,
)
from extractbench_nb.support.pandas_helpers import numbered, refuse_missing

Counts = npt.NDArray[np.int64]


class AttemptGroups(NamedTuple):
    """Attempts grouped by the columns `names`: a label per group, a group number per attempt."""

    names: list[str]
    labels: list[tuple[Any, ...]]
    numbers: Counts


def group_attempts(attempts: pd.DataFrame, by: str | Iterable[str] | None) -> AttemptGroups:
    """Group attempts by their values in some columns, each in order of first occurrence."""
    refuse_missing(attempts, (), "attempts")
    names = [] if by is None else known_columns(by, attempts, without=("failure",))
    codes, values = [np.zeros(len(attempts), dtype=np.int64)], []
    for name in names:
        column_codes, column_values = numbered(attempts[name])
        codes.append(column_codes)
        values.append(list(column_values))
    keys, numbers = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    labels = [tuple(map(list.__getitem__, values, key)) for key in keys[:, 1:].tolist()]
    return AttemptGroups(names, labels, numbers.reshape(-1))


def count_failures(attempts: pd.DataFrame, groups: AttemptGroups) -> Counts:
    """Count the attempts of each group by how they ended: one row per name in `FAILURES`."""
    shape = (len(FAILURES), len(groups.labels))
    places = np.ravel_multi_index((_failure_numbers(attempts), groups.numbers), shape)
    return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)


def _failure_numbers(attempts: pd.DataFrame) -> Counts:
    refuse_missing(attempts, ("failure",), "attempts")
    words = pd.Index(attempts["failure"], dtype=object)
    codes = pd.Index(FAILURES, dtype=object).get_indexer(words)
    if len(unknown := attempts.loc[codes < 0, "failure"]):
        word = unknown.iloc[0]
        raise InputError(f"attempts: unknown failure {word!r}; {nearest(word, FAILURES)}")
    return codes.astype(np.int64)


def failure_modes(attempts: pd.DataFrame, by: str | Iterable[str] = "run") -> pd.DataFrame:
    """Count the kinds of failure of attempts, in the form of the paper's Table 7.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    by : str or iterable of str, optional
        The column whose values become the columns of the table, such as ``run``, or several.

    Returns
    -------
    pandas.DataFrame
        Counts: one row per failure that occurs; one column per value of `by`, or per combination (a
        MultiIndex); and a last row and column ``total``. Valid outputs are not counted.

    Raises
    ------
    InputError
        `attempts` is not a frame, or `by` is not a column or is ``failure``.

    Examples
    --------
    >>> attempts = pd.DataFrame({
    ...     "run": ["a", "a", "b"], "domain": ["x", "y", "y"],
    ...     "failure": ["none", "empty_response", "empty_response"]})
    >>> failure_modes(attempts)
    run             a  b  total
    failure
    empty_response  1  1      2
    total           1  1      2
    """
    attempts = as_pandas(attempts)
    groups = group_attempts(attempts, by)
    if not groups.names:
        raise InputError("by is None; name a column, for example 'run'")
    counts = count_failures(attempts, groups)[1:]  # without valid outputs, "none"
    occurring = counts.any(axis=1)
    table = np.vstack([counts[occurring], counts.sum(axis=0)])
    labels = [*groups.labels, ("total", *[""] * (len(groups.names) - 1))]
    levels = [pd.Index(values, dtype=object) for values in zip(*labels, strict=True)]
    columns: pd.Index[Any] = pd.MultiIndex.from_arrays(levels, names=groups.names)
    if len(levels) == 1:
        columns = levels[0].rename(groups.names[0])
    names = [*np.array(FAILURES[1:])[occurring], "total"]
    index = pd.Index(names, dtype=object, name="failure")
    return pd.DataFrame(np.column_stack([table, table.sum(axis=1)]), index, columns)


POSITION_COLUMNS = FrameSpec(
    "failure_positions",
    "one row per failure and part of the text; the last row of a failure has no position",
    (
        Column("failure", "string", "how attempts failed", ", ".join(FAILURES[1:])),
        Column("start", "Float64", "start of the part / length, if known", "", True),
        Column("end", "Float64", "end of the part / length, if known", "", True),
        Column("attempts", "int64", "attempts that fail in this part", "0 and up"),
        Column("share", "float64", "attempts / all attempts with this failure", "0 to 1"),
    ),
)


def failure_positions(attempts: pd.DataFrame, *, bins: int = 10) -> pd.DataFrame:
    """Count the positions in the text at which failed outputs break.

    The position is the first trailing comma, or where Python's parser stops on malformed JSON.
    ``truncated_json`` breaks in the last part. Failed calls, empty responses and schema violations
    have no position.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    bins : int, optional
        Number of equal parts into which a text is divided, 1 or more.

    Returns
    -------
    pandas.DataFrame
        For each failure that occurs: one row per part of the text and a last row for attempts
        without a position; see `POSITION_COLUMNS`.

    Raises
    ------
    InputError
        `bins` is not a whole number of 1 or more, a column is missing, or a position is outside
        its text.

    Examples
    --------
    >>> attempts = pd.DataFrame({
    ...     "failure": ["trailing_comma", "trailing_comma", "empty_response"],
    ...     "offset": [10, 80, None], "characters": [100, 100, 0]})
    >>> failure_positions(attempts, bins=1)[["failure", "start", "end", "attempts"]]
              failure  start   end  attempts
    0  empty_response    0.0   1.0         0
    1  empty_response   <NA>  <NA>         1
    2  trailing_comma    0.0   1.0         2
    3  trailing_comma   <NA>  <NA>         0
    """
    _check_bins(bins)
    attempts = as_pandas(attempts)
    refuse_missing(attempts, ("failure", "offset", "characters"), "attempts")
    offset, size = (
        attempts[name].to_numpy(np.float64, na_value=np.nan) for name in ("offset", "characters")
    )
    size = np.nan_to_num(size)
    if len(outside := np.flatnonzero((offset < 0) | (offset > size))):
        row = outside[0]
        position = f"{offset[row]:.16g} of {size[row]:.16g} characters"
        raise InputError(f"attempts: row {row} breaks at {position}")
    part = np.minimum(offset * bins // np.maximum(size, 1), bins - 1)
    is_cut = attempts["failure"].eq("truncated_json").to_numpy(bool)
    part = np.where(np.isnan(offset), bins, np.where(is_cut, bins - 1, part)).astype(np.int64)
    kinds = _failure_numbers(attempts)
    counts = np.zeros((len(FAILURES), bins + 1), dtype=np.int64)
    np.add.at(counts, (kinds, part), 1)
    borders = [at / bins for at in range(bins + 1)]
    parts = [*pairwise(borders), (None, None)]
    rows = [
        (FAILURES[kind], *ends, int(count), count / counts[kind].sum())
        for kind in np.unique(kinds[kinds > 0])
        for ends, count in zip(parts, counts[kind], strict=True)
    ]
    return POSITION_COLUMNS.from_rows(rows)


def _check_bins(bins: object) -> None:
    if type(bins) is not int or bins < 1:
        raise InputError(f"bins={bins!r}; expected a whole number of 1 or more")


# --- intervals --------------------------------------------------------------------------------


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
    passed, total, limit = np.concatenate([np.zeros((1, 3)), *strata]).sum(axis=0)
    if not total or not limit:
        return Interval(None, None, "undefined")
    share, size = min(1.0, passed / limit), float(sum(map(len, strata)))
    spreads = [_spread(counts, passed / total, drawing) for counts in strata]
    if 0 < share < 1 and any(observed for _, _, observed in spreads):
        variance = sum(variance for variance, _, _ in spreads)
        freedom = variance**2 / sum(spread**2 / degrees for spread, degrees, _ in spreads)
        t = float(stdtrit(freedom, drawing.upper))
        size = share * (1 - share) / (variance / limit**2) * (drawing.quantile / t) ** 2
    *ends, method = wilson_interval(share, size, drawing)
    ceiling = float(limit / total)
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
    """Return a stratum's variance, its degrees of freedom, and whether its documents differ."""
    documents = len(counts)
    residuals = counts[:, 0] - rate * counts[:, 1]
    squares = float(((residuals - residuals.mean()) ** 2).sum())
    if squares > EQUAL:
        return documents / (documents - 1) * squares, documents - 1, True
    limit = float(counts[:, 2].sum())
    z = drawing.quantile
    centre = (
        (counts[:, 0].sum() / limit * documents + z**2 / 2) / (documents + z**2) if limit else 0
    )
    return limit**2 * centre * (1 - centre) / (documents + z**2), documents, False


# --- length -----------------------------------------------------------------------------------

#: Measures of length: columns of a dataset's documents.
LENGTHS = ("gold_tokens", "gold_values", "array_items", "fields", "pages", "pdf_tokens")

LENGTH_COLUMNS = FrameSpec(
    "validity_by_length",
    "after the columns of `by`, one row per group and bin; the last row may have no length",
    (
        Column("measure", "string", "measure of length", ", ".join(LENGTHS)),
        Column("bin", "Int64", "number of the bin; missing without a length", "1 and up", True),
        Column("shortest", "Int64", "smallest length", "0 and up", True),
        Column("median", "Float64", "median length of attempts", "0 and up", True),
        Column("longest", "Int64", "greatest length", "0 and up", True),
        Column("documents", "int64", "different documents", "1 and up"),
        Column("attempts", "int64", "attempts", "1 and up"),
        Column("valid", "int64", "valid outputs", "0 to attempts"),
        Column("share", "float64", "valid / attempts", "0 to 1"),
        Column("low", "float64", "lower limit of Wilson's interval over documents", "0 to share"),
        Column("high", "float64", "upper limit of Wilson's interval over documents", "share to 1"),
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
        The dataset of the documents, which has their lengths.
    of : str, optional
        Measure of length. Of gold: ``gold_tokens`` (as in Table 6 of the ExtractBench paper),
        ``gold_values``, ``array_items`` or ``fields``. Of the PDF: ``pages`` or ``pdf_tokens``.
    bins : int, optional
        Number of bins, 1 and up, each with about the same number of documents.
    by : str or iterable of str, optional
        Columns of `attempts` that define groups, for example ``run``; they share the bins.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1. Their sample size is the number of
        documents: outputs of several runs on one document are not independent.

    Returns
    -------
    pandas.DataFrame
        One row per group and bin, from the shortest to the longest: the columns of `by` and those
        of `LENGTH_COLUMNS`. Attempts of unknown length are in a last row whose ``bin`` is NA.

    Raises
    ------
    InputError
        A name or a document is unknown, a number is out of range, or a column is missing.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset("sample")
    >>> found = validity_by_length(xb.read_outputs(ds.runs, ds), ds, bins=2)
    >>> found[["bin", "documents", "attempts"]]
       bin  documents  attempts
    0    1          7        28
    1    2          7        28
    """
    _check_bins(bins)
    drawing = Drawing(confidence)
    attempts = as_pandas(attempts)
    refuse_missing(attempts, ("document", "valid"), "attempts")
    groups = group_attempts(attempts, by)
    for name in groups.names:
        if name in LENGTH_COLUMNS.names:
            raise InputError(f"by is {name!r}, a column of the result; rename it")
    lengths = _lengths(attempts, dataset, of)
    numbers = _bin_numbers(attempts, lengths, bins)
    frame = attempts[["document", "valid"]].assign(
        length=lengths,
        group=groups.numbers,
        bin=np.where(numbers > 0, numbers, bins + 1),  # without a length: last
        row=np.arange(len(attempts)),
    )
    cells = frame.groupby(["group", "bin"])
    table = cells.agg(
        shortest=("length", "min"),
        median=("length", "median"),
        longest=("length", "max"),
        documents=("document", "nunique"),
        attempts=("valid", "size"),
        valid=("valid", "sum"),
        row=("row", "first"),
    ).reset_index()
    ends = [valid_interval(part, drawing)[:2] for _, part in cells]
    table[["low", "high"]] = np.array(ends, dtype=np.float64).reshape(-1, 2).round(DIGITS)
    table["share"] = table["valid"] / table["attempts"]
    table["bin"] = table["bin"].where(table["bin"] <= bins)
    labels = attempts[groups.names].iloc[table["row"]].reset_index(drop=True)
    return pd.concat([labels, LENGTH_COLUMNS.from_records(table.assign(measure=of))], axis=1)


def _lengths(attempts: pd.DataFrame, dataset: DatasetLike, of: str) -> Numbers:
    """Return the length of each attempt; NaN if there is none."""
    if of not in LENGTHS:
        raise InputError(f"of is {of!r}; {nearest(of, LENGTHS)}")
    documents = documents_of(dataset).documents
    refuse_missing(documents, ("document", of), "dataset.documents")
    length_of = documents.set_index("document")[of]
    for name in attempts["document"].unique():
        if name not in length_of.index:
            hint = nearest(name, map(str, length_of.index))
            raise InputError(f"unknown document {name!r}; {hint}")
    return attempts["document"].map(length_of).to_numpy(dtype=np.float64, na_value=np.nan)


def _bin_numbers(attempts: pd.DataFrame, lengths: Numbers, bins: int) -> Counts:
    """Return the bin of each attempt, from 1 up and none of them empty; 0 without a length."""
    measured = ~np.isnan(lengths)
    counted = measured & ~attempts["document"].duplicated().to_numpy()
    upper_ends = _upper_ends(np.sort(lengths[counted]), bins)
    numbers = np.zeros(len(lengths), dtype=np.int64)
    numbers[measured] = (
        1 + pd.factorize(np.searchsorted(upper_ends, lengths[measured]), sort=True)[0]
    )
    return numbers


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
