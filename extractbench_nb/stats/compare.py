"""`compare_runs`: which runs differ by more than chance, with documents as the sampling unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.breakdowns import TEXT, gather, known_columns, label
from extractbench_nb.stats.comparison import (
    DIFFERENCE_COLUMNS,
    DOMAIN_COLUMNS,
    DOMAIN_DIFFERENCE_COLUMNS,
    SCORE_COLUMNS,
    Comparison,
)
from extractbench_nb.stats.intervals import (
    Drawing,
    detectable_difference,
    holm,
    mean_intervals,
    sign_flip_tests,
)

__all__ = ["ScoreTable", "compare_runs", "score_table"]


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
        Domain of each document, None if it has none.
    scores : dict of str to ndarray of shape (documents, groups)
        One array per measure; NaN if the group has no output for the document.
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
    """Average the outputs of each document and group."""
    names = known_columns(by, summary)
    _refuse_gaps(summary, [*names, "document"])
    group_codes, groups = _groups(summary, names)
    document_codes, documents = pd.factorize(summary["document"].astype(TEXT), sort=True)
    invalid = np.zeros(len(summary), dtype=bool)
    if "outcome" in summary.columns:
        invalid = (summary["outcome"].astype(object) == "invalid").to_numpy(dtype=bool)
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
    try:
        order = sorted(range(len(found)), key=lambda i: found[i])
    except TypeError:  # values that cannot be compared are sorted as text
        order = sorted(range(len(found)), key=lambda i: (label(found[i]), repr(found[i])))
    labels = tuple(label(found[i]) for i in order)
    if len(labels) == 1:
        raise InputError(f"there is one group only, {labels[0]!r}; a comparison takes two")
    if len(set(labels)) < len(labels):
        twice = next(text for text in labels if labels.count(text) > 1)
        raise InputError(f"two groups of {names} are both written {twice!r}; rename one")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[codes], labels


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
        first, value = summary.iloc[bad[0]], values[bad[0]]
        where = ", ".join(f"{n} {first[n]!r}" for n in ("run", "document") if n in summary.columns)
        more = f", and in {len(bad) - 1} more rows" if len(bad) > 1 else ""
        unjudged = measure == "pass_rate_judged" and np.isnan(value)
        why = " (no field got a verdict)" if unjudged else ""
        raise InputError(
            f"measure {measure!r} is {value} at {where}{more}{why}; drop these documents"
        )
    return values


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


_MEASURES = ("pass_rate", "overall_score", "field_score")


def compare_runs(  # noqa: PLR0913 - options of one statistic, all keyword-only
    source: object,
    *,
    by: str | Iterable[str] = "run",
    measures: str | Sequence[str] = _MEASURES,
    baseline: object = None,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Comparison:
    """Compare runs over documents, with intervals and tests.

    The document is the unit: fields of one document are not independent, so documents are
    resampled, and differences are paired by document. Several outputs of one group for one
    document (samples of a model) are averaged first. An invalid output stays in with scores of 0.

    Parameters
    ----------
    source : results of a batch, pandas.DataFrame, mapping or list
        Where the rows of `summary` are, one an output with columns ``document``, those of `by` and
        those of `measures`; a mapping goes from run to one of the others, or from run to document
        to `Evaluation`.
    by : str or iterable of str, optional
        The column of `summary` that makes a group, or several of them.
    measures : str or sequence of str, optional
        Columns of `summary` to compare.
    baseline : object, optional
        The group to compare all others with (a tuple for several columns); by default all pairs
        are compared.
    confidence : float, optional
        Of the intervals, between 0 and 1; tests use 1 - confidence.
    resamples : int, optional
        Bootstrap resamples and sign flips, 100 and up.
    seed : int, optional
        The same seed gives the same result, in whatever order the rows are and whatever else is
        compared; Holm's correction alone depends on the number of pairs.

    Returns
    -------
    Comparison
        `scores`, `differences` (``b_minus_a``), and both by domain. Groups are sorted by name.

    Raises
    ------
    InputError
        Unknown columns, fewer than two groups, scores that are missing or infinite, a pair without
        a common document, or options out of range.

    Notes
    -----
    Intervals are BCa bootstrap intervals of the mean [1]_. The p-value is that of the paired
    sign-flip test, corrected by Holm's method over the pairs of a measure. ``detectable`` is the
    true difference that this number of documents, with this spread, shows with a probability of
    80 % [2]_ before any correction: a smaller one is easily missed. Domains have few documents
    each; at five or fewer no sign-flip test can fall below 0.05.

    References
    ----------
    .. [1] B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), section 14.3.
    .. [2] H. S. Bloom, Minimum detectable effects, Evaluation Review 19 (1995).

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"run": ["x"] * 8 + ["y"] * 8, "document": [*"abcdefgh"] * 2,
    ...     "pass_rate": [.5, .6, .4, .7, .5, .6, .5, .4, .7, .9, .6, .8, .8, .7, .6, .7]})
    >>> compared = compare_runs(scores, measures="pass_rate")
    >>> compared.differences.loc[0, ["b_minus_a", "p_value"]].astype(float).tolist()
    [0.2, 0.0078125]
    """
    drawing = Drawing(confidence, resamples, seed)
    names = (by,) if isinstance(by, str) else tuple(by)
    asked = (measures,) if isinstance(measures, str) else tuple(dict.fromkeys(measures))
    if not asked:
        raise InputError("`measures` is empty; name a column of summary, for example 'pass_rate'")
    table = score_table(gather(source, "summary"), names, asked)
    pairs, reference = list(combinations(range(len(table.groups)), 2)), None
    if baseline is not None:
        reference = label(baseline)
        if reference not in table.groups:
            known = nearest(reference, table.groups)
            raise InputError(f"baseline={reference!r} is not a group; {known}")
        first = table.groups.index(reference)
        pairs = [(first, i) for i in range(len(table.groups)) if i != first]
    _refuse_disjoint(table, pairs)
    domains = sorted({domain for domain in table.domains if domain is not None})
    parts = {None: table} | {name: table.only(table.domains == name) for name in domains}
    scores, differences = _all_scores(parts, drawing), _all_differences(parts, pairs, drawing)
    return Comparison(
        names,
        asked,
        reference,
        drawing,
        SCORE_COLUMNS.build(_columns(scores, whole=True)),
        DIFFERENCE_COLUMNS.build(_corrected(_columns(differences, whole=True), drawing)),
        DOMAIN_COLUMNS.build(_columns(scores, whole=False)),
        DOMAIN_DIFFERENCE_COLUMNS.build(_corrected(_columns(differences, whole=False), drawing)),
    )


Row = dict[str, Any]
#: The documents of each domain, and all of them under None.
Parts = Mapping[str | None, ScoreTable]


def _refuse_disjoint(table: ScoreTable, pairs: list[tuple[int, int]]) -> None:
    has = table.outputs > 0
    for a, b in pairs:
        if not (has[:, a] & has[:, b]).any():
            counts = " and ".join(
                f"{table.groups[i]!r} has {has[:, i].sum()} documents" for i in (a, b)
            )
            raise InputError(
                f"{counts}, none of them in common; differences are paired by document, so both "
                "need outputs for the same ones"
            )


def _all_scores(parts: Parts, drawing: Drawing) -> list[Row]:
    rows, samples = [], []
    for domain, table in parts.items():
        for i, group in enumerate(table.groups):
            outputs = table.outputs[:, i]
            has = outputs > 0
            row = {
                "domain": domain,
                "documents": int(has.sum()),
                "outputs": int(outputs.sum()),
                "invalid": int(table.invalid[:, i].sum()),
            }
            for measure, scores in table.scores.items() if has.any() else ():
                rows.append(row | {"group": group, "measure": measure})
                samples.append(scores[has, i])
    intervals = mean_intervals(samples, drawing)
    return [
        row | {"mean": float(sample.mean())} | interval._asdict()
        for row, sample, interval in zip(rows, samples, intervals, strict=True)
    ]


def _all_differences(parts: Parts, pairs: list[tuple[int, int]], drawing: Drawing) -> list[Row]:
    rows: list[Row] = []
    samples = []
    for domain, table in parts.items():
        has = (table.outputs > 0).sum(axis=0)
        for a, b in pairs:
            for measure, scores in table.scores.items():
                left, right = scores[:, a], scores[:, b]
                both = ~np.isnan(left) & ~np.isnan(right)
                shared = int(both.sum())
                row = {
                    "domain": domain,
                    "a": table.groups[a],
                    "b": table.groups[b],
                    "documents": shared,
                    "only_a": int(has[a]) - shared,
                    "only_b": int(has[b]) - shared,
                    "measure": measure,
                }
                rows.append(row | _effect(left[both], right[both], drawing))
                samples.append(right[both] - left[both])
    return _with_tests(rows, samples, drawing)


def _effect(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64], drawing: Drawing) -> Row:
    if not len(left):
        return dict.fromkeys(("mean_a", "mean_b", "b_minus_a", "detectable")) | {
            "a_higher": 0,
            "b_higher": 0,
        }
    difference = np.round(right - left, 12)
    return {
        "mean_a": float(left.mean()),
        "mean_b": float(right.mean()),
        "b_minus_a": float((right - left).mean()),
        "a_higher": int((difference < 0).sum()),
        "b_higher": int((difference > 0).sum()),
        "detectable": detectable_difference(right - left, drawing),
    }


def _with_tests(
    rows: list[Row], samples: list[npt.NDArray[np.float64]], drawing: Drawing
) -> list[Row]:
    """Add interval and p-value; a domain in which a pair shares no document has neither."""
    empty = dict.fromkeys(("low", "high", "method", "p_value", "p_method"))
    tested = [i for i, sample in enumerate(samples) if len(sample)]
    intervals = mean_intervals([samples[i] for i in tested], drawing)
    tests = sign_flip_tests([samples[i] for i in tested], drawing)
    found = {
        i: interval._asdict() | {"p_value": test.p, "p_method": test.method}
        for i, interval, test in zip(tested, intervals, tests, strict=True)
    }
    return [row | found.get(i, empty) for i, row in enumerate(rows)]


def _columns(rows: list[Row], *, whole: bool) -> dict[str, list[Any]]:
    chosen = [row for row in rows if (row["domain"] is None) == whole]
    return {name: [row[name] for row in chosen] for name in rows[0]}


def _corrected(columns: dict[str, list[Any]], drawing: Drawing) -> dict[str, list[Any]]:
    """Add Holm's correction within each measure."""
    p_values = pd.Series(columns["p_value"], dtype=np.float64)
    adjusted = p_values.groupby(pd.Series(columns["measure"], dtype=object)).transform(holm)
    cells = [None if np.isnan(p) else float(p) for p in adjusted]
    significant = [None if p is None else p <= drawing.alpha for p in cells]
    return columns | {"p_holm": cells, "significant": significant}
