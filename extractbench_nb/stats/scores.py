"""From the summary of a batch to one score a document and group, with what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.breakdowns.sources import TEXT, known_columns, label
from extractbench_nb.errors import InputError, nearest

__all__ = ["ScoreTable", "score_table"]

#: Scores of a document; an invalid one has 0, whatever the row says.
_SCORES = ("overall_score", "field_score", "pass_rate", "pass_rate_judged")

_IDENTITY = ("run", "document", "domain", "schema", "outcome", "message", "line", "column")


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores by document and group; documents and groups are sorted.

    Attributes
    ----------
    groups : tuple of str
        What is compared.
    domains : ndarray of shape (documents,)
        Domain of each document, None where it has none.
    scores : dict of str to ndarray of shape (documents, groups)
        One array a measure; NaN where the group has no output for the document.
    outputs, invalid : ndarray of shape (documents, groups)
        How many outputs the score is the mean of, and how many of those did not parse.
    """

    groups: tuple[str, ...]
    domains: npt.NDArray[np.object_]
    scores: dict[str, npt.NDArray[np.float64]]
    outputs: npt.NDArray[np.int64]
    invalid: npt.NDArray[np.int64]

    def only(self, documents: npt.NDArray[np.bool_]) -> ScoreTable:
        """Return the table of some of the documents."""
        scores = {name: values[documents] for name, values in self.scores.items()}
        parts = (x[documents] for x in (self.outputs, self.invalid))
        return ScoreTable(self.groups, self.domains[documents], scores, *parts)


def score_table(
    summary: pd.DataFrame, by: str | Iterable[str], measures: Sequence[str]
) -> ScoreTable:
    """Average the outputs of each document and group.

    Parameters
    ----------
    summary : pandas.DataFrame
        One row an output.
    by : str or iterable of str
        Columns that make a group.
    measures : sequence of str
        Columns to average.

    Returns
    -------
    ScoreTable
        The scores.

    Raises
    ------
    InputError
        A column is missing or not a number, a cell is missing, there are fewer than two groups,
        or a document is in two domains.
    """
    names = known_columns(by, summary)
    _refuse_gaps(summary, [*names, "document"])
    group_codes, groups = _groups(summary, names)
    document_codes, documents = pd.factorize(summary["document"].astype(TEXT), sort=True)
    invalid = _is_invalid(summary)
    shape = (len(documents), len(groups))
    cells = document_codes * len(groups) + group_codes
    outputs = np.bincount(cells, minlength=shape[0] * shape[1])
    scores = {
        measure: _means(_numbers(summary, measure, invalid), cells, outputs).reshape(shape)
        for measure in measures
    }
    broken = np.bincount(cells[invalid], minlength=len(outputs))
    domains = _domains(summary, document_codes, len(documents))
    return ScoreTable(groups, domains, scores, outputs.reshape(shape), broken.reshape(shape))


def _refuse_gaps(summary: pd.DataFrame, names: list[str]) -> None:
    if "document" not in summary.columns:
        raise InputError(
            "summary: there is no column 'document', which is what is resampled; pass the results "
            "of a batch, or a mapping from run to document to Evaluation"
        )
    if summary.empty:
        raise InputError("summary: there are no rows to compare")
    for name in names:
        gaps = int(summary[name].isna().sum())
        if gaps:
            raise InputError(
                f"summary: column {name!r} is missing in {gaps} of {len(summary)} rows; "
                "drop these rows or fill the column"
            )


def _groups(
    summary: pd.DataFrame, names: list[str]
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    if len(names) == 1:
        keys = pd.Index(summary[names[0]].astype(object))
    else:
        keys = pd.MultiIndex.from_frame(summary[names].astype(object)).to_flat_index()
    codes, found = pd.factorize(keys)
    order = _order(list(found))
    labels = tuple(label(found[i]) for i in order)
    if len(labels) == 1:
        raise InputError(f"there is one group only, {labels[0]!r}; a comparison takes two")
    if len(set(labels)) < len(labels):
        twice = next(text for text in labels if labels.count(text) > 1)
        raise InputError(f"two groups of {names} are both written {twice!r}; rename one")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[codes], labels


def _order(keys: list[Any]) -> list[int]:
    """Sort by value where the values can be compared, else as text."""
    positions = range(len(keys))
    try:
        return sorted(positions, key=lambda i: keys[i])
    except TypeError:
        return sorted(positions, key=lambda i: (label(keys[i]), repr(keys[i])))


def _is_invalid(summary: pd.DataFrame) -> npt.NDArray[np.bool_]:
    if "outcome" not in summary.columns:
        return np.zeros(len(summary), dtype=bool)
    return (summary["outcome"].astype(object) == "invalid").to_numpy(dtype=bool)


def _numbers(
    summary: pd.DataFrame, measure: str, invalid: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    known = [str(c) for c in summary.columns if c not in _IDENTITY]
    if measure not in known:
        raise InputError(f"there is no measure {measure!r}; {nearest(measure, known)}")
    column = summary[measure]
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError(f"measure {measure!r} is {column.dtype}; a measure is a column of numbers")
    values = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    if measure in _SCORES:
        values[invalid] = 0.0
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(_where(summary, f"{measure!r} is {values[bad[0]]}", bad))
    return values


def _where(summary: pd.DataFrame, what: str, bad: npt.NDArray[np.intp]) -> str:
    first = summary.iloc[bad[0]]
    place = ", ".join(f"{n} {first[n]!r}" for n in ("run", "document") if n in summary.columns)
    more = f", and in {len(bad) - 1} more rows" if len(bad) > 1 else ""
    why = " (no field got a verdict)" if what.startswith("'pass_rate_judged' is nan") else ""
    return f"measure {what} at {place}{more}{why}; drop these documents"


def _means(
    values: npt.NDArray[np.float64],
    cells: npt.NDArray[np.int64],
    outputs: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    order = np.lexsort((values, cells))  # so that the order of rows leaves no trace in the sums
    sums = np.bincount(cells[order], weights=values[order], minlength=len(outputs))
    with np.errstate(invalid="ignore"):
        means: npt.NDArray[np.float64] = sums / outputs
    return means


def _domains(
    summary: pd.DataFrame, codes: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.object_]:
    domains = np.full(size, None, dtype=object)
    if "domain" not in summary.columns:
        return domains
    rows = pd.DataFrame({"code": codes, "domain": summary["domain"].array})
    pairs = rows.dropna().drop_duplicates()
    twice = pairs[pairs["code"].duplicated()]
    if len(twice):
        document = summary["document"].iloc[np.flatnonzero(codes == twice["code"].iloc[0])[0]]
        raise InputError(f"document {document!r} is in two domains; documents need names of theirs")
    domains[pairs["code"].to_numpy()] = pairs["domain"].astype(str).to_numpy(dtype=object)
    return domains
