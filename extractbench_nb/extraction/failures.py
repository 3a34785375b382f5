"""Failures in the outputs of runs, counted by kind and group and by position in the text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.stats.breakdowns import refuse_missing

Counts = npt.NDArray[np.int64]

POSITION_COLUMNS = FrameSpec(
    "failure_positions",
    "one row per failure and part of the text; the last of a failure are those without a place",
    (
        Column("failure", "string", "how attempts failed", ", ".join(FAILURES[1:])),
        Column(
            "start", "Float64", "where the part begins / length; without a place missing", "", True
        ),
        Column("end", "Float64", "where the part ends / length; without a place missing", "", True),
        Column("attempts", "int64", "attempts that break there", "0 and up"),
        Column("share", "float64", "attempts / all that fail in this way", "0 to 1"),
    ),
)

#: Label of sums.
_TOTAL = "total"


class AttemptGroups(NamedTuple):
    """Attempts grouped by the columns `names`.

    `labels` and `first` (the row of its first attempt) have one entry per group; `numbers` has the
    number of its group for each attempt.
    """

    names: list[str]
    labels: list[tuple[Any, ...]]
    first: Counts
    numbers: Counts


def group_attempts(attempts: pd.DataFrame, by: str | Iterable[str] | None) -> AttemptGroups:
    """Group attempts by their values in some columns."""
    refuse_missing(attempts, (), "attempts")
    names = [] if by is None else _columns(attempts, by)
    codes, values = [np.zeros(len(attempts), dtype=np.int64)], []
    for name in names:
        try:
            column_codes, column_values = pd.factorize(attempts[name], use_na_sentinel=False)
        except TypeError:
            raise InputError(f"by is {name!r}; its values cannot be compared") from None
        codes.append(column_codes.astype(np.int64))
        values.append(list(column_values))
    keys, first, numbers = np.unique(
        np.column_stack(codes), axis=0, return_index=True, return_inverse=True
    )
    labels = [
        tuple(column[code] for column, code in zip(values, key[1:], strict=True))
        for key in keys.tolist()
    ]
    return AttemptGroups(names, labels, first, numbers.reshape(-1))


def _columns(attempts: pd.DataFrame, by: Any) -> list[str]:
    several = isinstance(by, Iterable) and not isinstance(by, str)
    names: list[Any] = list(by) if several else [by]
    if not names:
        raise InputError("by is empty; name a column, for example 'run'")
    known = [name for name in attempts.columns if name != "failure"]
    for name in names:
        if isinstance(name, str) and name == "failure":
            raise InputError("by is 'failure', which makes the rows; name another column, as 'run'")
        if not isinstance(name, Hashable) or name not in known:
            same_text = [repr(column) for column in known if str(column) == str(name)]
            # the column may be of another type: 1 for "1"
            hint = f"did you mean {same_text[0]}?" if same_text else nearest(name, map(str, known))
            raise InputError(f"by is {name!r}; {hint}")
    return list(dict.fromkeys(names))


def count_failures(attempts: pd.DataFrame, groups: AttemptGroups) -> Counts:
    """Count the attempts of each group by how they ended."""
    counts = np.zeros((len(FAILURES), len(groups.labels)), dtype=np.int64)
    np.add.at(counts, (_failure_numbers(attempts), groups.numbers), 1)
    return counts


def _failure_numbers(attempts: pd.DataFrame) -> Counts:
    refuse_missing(attempts, ("failure",), "attempts")
    words = attempts["failure"].tolist()
    for word in dict.fromkeys(words):
        if not isinstance(word, str) or word not in FAILURES:
            raise InputError(f"attempts: unknown failure {word!r}; {nearest(word, FAILURES)}")
    return np.array([FAILURES.index(word) for word in words], dtype=np.int64)


def failure_modes(attempts: pd.DataFrame, by: str | Iterable[str] = "run") -> pd.DataFrame:
    """Count how attempts fail, in the form of the paper's Table 7.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    by : str or iterable of str, optional
        Column whose values become the columns of the table: ``run``, ``domain``, ``schema``,
        ``document`` or any other but ``failure``; or several, as ``["mode", "run", "domain"]``.

    Returns
    -------
    pandas.DataFrame
        One row per failure that occurs, in the order of `FAILURES`, and a last row ``total``; one
        column per value of `by`, or per combination that occurs (a MultiIndex), in the order in
        which they first occur, and a last column ``total``. Valid outputs are not counted; where
        all are valid the column is 0. Attempts without a value have a column of their own.

    Raises
    ------
    InputError
        `attempts` is not a frame, `by` is not a column or is ``failure``, the values of the column
        cannot be compared, or one of them is ``total``.

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
    >>> failure_modes(attempts, ["run", "domain"])
    run             a     b total
    domain          x  y  y
    failure
    empty_response  0  1  1     2
    total           0  1  1     2
    """
    groups = group_attempts(attempts, by)
    counts = count_failures(attempts, groups)[1:]  # without valid outputs, "none"
    occurring = np.flatnonzero(counts.any(axis=1))
    rows = np.vstack([counts[occurring], counts.sum(axis=0)])
    cells = np.column_stack([rows, rows.sum(axis=1)])
    names = [*(FAILURES[1 + kind] for kind in occurring), _TOTAL]
    index = pd.Index(names, dtype=object, name="failure")
    return pd.DataFrame(cells, index, _column_index(groups))


def _column_index(groups: AttemptGroups) -> pd.Index[Any]:
    if not groups.names:
        raise InputError("by is None; name a column, for example 'run'")
    total = (_TOTAL, *[""] * (len(groups.names) - 1))
    if total in set(groups.labels):
        name = groups.names[0]
        raise InputError(f"by is {name!r}; one of its values is 'total', the name of the sum")
    labels = [*groups.labels, total]
    if len(groups.names) == 1:
        values = [value for (value,) in labels]
        return pd.Index(values, dtype=object, name=groups.names[0], tupleize_cols=False)
    levels = [pd.Index(values, dtype=object) for values in zip(*labels, strict=True)]
    return pd.MultiIndex.from_arrays(levels, names=groups.names)


def failure_positions(attempts: pd.DataFrame, *, bins: int = 10) -> pd.DataFrame:
    """Count the positions in the text at which failed outputs break.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    bins : int, optional
        Number of equal parts into which a text is divided, 1 or more.

    Returns
    -------
    pandas.DataFrame
        For each failure that occurs, in the order of `FAILURES`: one row per part of the text,
        parts with a count of 0 included, and a last row for attempts without a position, whose
        ``start`` and ``end`` are missing; see `POSITION_COLUMNS`. The counts of a failure add up
        to its row of `failure_modes`. A position on a border belongs to the part that begins there.

    Raises
    ------
    InputError
        `bins` is not a whole number of 1 or more, a column is missing, or a position is outside
        its text.

    Notes
    -----
    The position is that of `parse_output`: the first trailing comma, or where Python's parser stops
    on malformed JSON. A text that was cut off breaks at its own end: ``truncated_json`` is in the
    last part however much is missing, and whatever white space or fence follows. Failed calls,
    empty responses and schema violations have no position.

    Examples
    --------
    >>> attempts = pd.DataFrame({
    ...     "failure": ["trailing_comma", "trailing_comma", "empty_response"],
    ...     "offset": [10, 80, None], "characters": [100, 100, 0]})
    >>> failure_positions(attempts, bins=2)[["failure", "start", "end", "attempts"]]
              failure  start   end  attempts
    0  empty_response    0.0   0.5         0
    1  empty_response    0.5   1.0         0
    2  empty_response   <NA>  <NA>         1
    3  trailing_comma    0.0   0.5         1
    4  trailing_comma    0.5   1.0         1
    5  trailing_comma   <NA>  <NA>         0
    """
    check_bins(bins)
    refuse_missing(attempts, ("failure", "offset", "characters"), "attempts")
    numbers = _failure_numbers(attempts)
    counts = np.zeros((len(FAILURES), bins + 1), dtype=np.int64)
    np.add.at(counts, (numbers, _parts(attempts, bins)), 1)
    starts = [part / bins for part in range(bins)]
    parts = list(zip([*starts, None], [*starts[1:], 1.0, None], strict=True))
    rows = [
        (FAILURES[kind], *part, int(count), count / counts[kind].sum())
        for kind in np.unique(numbers[numbers > 0])
        for part, count in zip(parts, counts[kind], strict=True)
    ]
    return POSITION_COLUMNS.from_rows(rows)


def check_bins(bins: object) -> None:
    """Raise `InputError` unless `bins` is a whole number of 1 or more."""
    if not isinstance(bins, int) or isinstance(bins, bool) or bins < 1:
        raise InputError(f"bins={bins!r}; expected a whole number of 1 or more")


def _parts(attempts: pd.DataFrame, bins: int) -> Counts:
    """Return the part in which each text breaks; one past the last for those without position."""
    parts = np.full(len(attempts), bins, dtype=np.int64)
    cut_off = (attempts["failure"] == "truncated_json").tolist()
    pairs = zip(attempts["offset"].tolist(), attempts["characters"].tolist(), strict=True)
    for row, (offset, characters) in enumerate(pairs):
        if pd.isna(offset):
            continue
        size = 0 if pd.isna(characters) else characters
        if not 0 <= offset <= size:
            position = f"{offset:.16g} of {size:.16g} characters"
            raise InputError(f"attempts: row {row} breaks at {position}")
        part = int(offset) * bins // max(int(size), 1)
        parts[row] = bins - 1 if cut_off[row] else min(part, bins - 1)
    return parts
