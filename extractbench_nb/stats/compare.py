"""`compare_runs`: which runs differ by more than chance, with documents as the sampling unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, describe_frames
from extractbench_nb.display.html import card_html, document_text, one_line
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.breakdowns import TEXT, gather, known_columns, label
from extractbench_nb.stats.intervals import (
    Drawing,
    detectable_difference,
    holm,
    mean_intervals,
    number,
    sign_flip_tests,
    with_range,
)

__all__ = ["Comparison", "compare_runs"]

# --- results ----------------------------------------------------------------------------------

_SCORES = (
    Column("group", "string", "what is compared: a run, or the values of `by`"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents with an output; they are resampled", "1 and up"),
    Column("outputs", "int64", "outputs for them; averaged for each document", "1 and up"),
    Column("invalid", "int64", "outputs that did not parse; their scores are 0", "0 to outputs"),
    Column("mean", "float64", "mean over documents"),
    Column("low", "Float64", "lower end of its interval; missing for a single document", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, all equal, one document"),
)

_DIFFERENCES = (
    Column("a", "string", "first group, or the baseline"),
    Column("b", "string", "second group"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents that both have; the rest is of these", "0 and up"),
    Column("only_a", "int64", "documents that only a has", "0 and up"),
    Column("only_b", "int64", "documents that only b has", "0 and up"),
    Column("mean_a", "Float64", "mean of a", "", True),
    Column("mean_b", "Float64", "mean of b", "", True),
    Column("b_minus_a", "Float64", "mean difference; positive where b is higher", "", True),
    Column("low", "Float64", "lower end of its interval", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, all equal, one document", True),
    Column("a_higher", "int64", "documents in which a is higher", "0 to documents"),
    Column("b_higher", "int64", "documents in which b is higher", "0 to documents"),
    Column("p_value", "Float64", "two-sided sign-flip test of the paired differences", "", True),
    Column("p_method", "string", "all sign flips, or a sample of them", "exact, sampled", True),
    Column("p_holm", "Float64", "p_value after Holm's correction within the measure", "", True),
    Column("significant", "boolean", "whether p_holm is at most 1 - confidence", "", True),
    Column(
        "detectable", "Float64", "true difference that is found with 80 % probability", "", True
    ),
)

_DOMAIN = Column("domain", "string", "domain of the documents")

SCORE_COLUMNS = FrameSpec("scores", "one row per group and measure", _SCORES)
DIFFERENCE_COLUMNS = FrameSpec("differences", "one row per pair and measure", _DIFFERENCES)
DOMAIN_COLUMNS = FrameSpec("domains", "one row per domain, group and measure", (_DOMAIN, *_SCORES))
DOMAIN_DIFFERENCE_COLUMNS = FrameSpec(
    "domain_differences", "one row per domain, pair and measure", (_DOMAIN, *_DIFFERENCES)
)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Scores of several groups with their intervals, and tests of their differences.

    Made by `compare_runs`. Every frame is a copy. In a notebook it shows itself as a table with
    interval plots.

    Attributes
    ----------
    by : tuple of str
        The columns that make a group.
    measures : tuple of str
        What is compared.
    baseline : str or None
        The group that all others are compared with; None if all pairs are.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    by: tuple[str, ...]
    measures: tuple[str, ...]
    baseline: str | None
    drawing: Drawing
    _scores: pd.DataFrame
    _differences: pd.DataFrame
    _domains: pd.DataFrame
    _domain_differences: pd.DataFrame

    @property
    def scores(self) -> pd.DataFrame:
        """One row per group and measure: the mean over documents and its interval."""
        return self._scores.copy()

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair and measure: ``b_minus_a`` over the documents that both have."""
        return self._differences.copy()

    @property
    def domains(self) -> pd.DataFrame:
        """`scores` domain by domain; documents without a domain are in no row."""
        return self._domains.copy()

    @property
    def domain_differences(self) -> pd.DataFrame:
        """`differences` domain by domain, corrected over all pairs and domains of a measure."""
        return self._domain_differences.copy()

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of every frame.

        Returns
        -------
        pandas.DataFrame
            One row per column: column, dtype, values, nullable, meaning, frame.
        """
        specs = [SCORE_COLUMNS, DIFFERENCE_COLUMNS, DOMAIN_COLUMNS, DOMAIN_DIFFERENCE_COLUMNS]
        return describe_frames(specs)

    def to_markdown(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a Markdown table.

        Parameters
        ----------
        table : str, optional
            ``scores``, ``differences``, ``domains`` or ``domain_differences``.
        digits : int, optional
            Digits after the point.

        Returns
        -------
        str
            The table; every mean is followed by its interval.

        Raises
        ------
        InputError
            There is no such table.
        """
        heads, rows, names = _text_table(self, table, digits)
        lines = [[_MARKED.sub(r"\\\1", head) for head in heads]]
        lines.append(["---"] * names + ["---:"] * (len(heads) - names))
        lines += [[*(_MARKED.sub(r"\\\1", c) for c in row[:names]), *row[names:]] for row in rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def to_latex(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a LaTeX ``tabular`` with the rules of booktabs.

        Parameters
        ----------
        table : str, optional
            ``scores``, ``differences``, ``domains`` or ``domain_differences``.
        digits : int, optional
            Digits after the point.

        Returns
        -------
        str
            The table; every mean is followed by its interval, and names are escaped.

        Raises
        ------
        InputError
            There is no such table.
        """
        heads, rows, names = _text_table(self, table, digits)
        style = pd.DataFrame(rows, columns=heads).style.hide(axis="index")
        style = style.format(escape="latex").format_index(escape="latex", axis="columns")
        layout = "l" * names + "r" * (len(heads) - names)
        return str(style.to_latex(hrules=True, column_format=layout))

    def __repr__(self) -> str:
        """Write scores with their intervals, and how many differences are more than noise."""
        return _card_text(self)

    def _repr_html_(self) -> str:
        """Write scores and differences with interval plots; every text is escaped."""
        notes = (f"<div>{document_text(text, 400)}</div>" for text in _sentences(self))
        differences = (_differences_html(self, measure) for measure in self.measures)
        return card_html(_title(self), *notes, _scores_html(self), *differences, limit=300)


# --- the comparison ---------------------------------------------------------------------------

#: Scores of a document, at most 1; an invalid one has 0, whatever the row says.
_UNIT_SCORES = ("overall_score", "field_score", "pass_rate", "pass_rate_judged")

_IDENTITY = ("run", "document", "domain", "schema", "outcome", "message", "line", "column")


@dataclass(frozen=True, slots=True)
class _ScoreTable:
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

    def only(self, documents: npt.NDArray[np.bool_]) -> _ScoreTable:
        """Return the table of some of the documents."""
        scores = {name: values[documents] for name, values in self.scores.items()}
        parts = (x[documents] for x in (self.outputs, self.invalid))
        return _ScoreTable(self.groups, self.domains[documents], scores, *parts)


def _score_table(
    summary: pd.DataFrame, by: str | Iterable[str], measures: Sequence[str]
) -> _ScoreTable:
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
    return _ScoreTable(groups, domains, scores, outputs.reshape(shape), broken.reshape(shape))


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
    if measure in _UNIT_SCORES:
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
    table = _score_table(gather(source, "summary"), names, asked)
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
Parts = Mapping[str | None, _ScoreTable]


def _refuse_disjoint(table: _ScoreTable, pairs: list[tuple[int, int]]) -> None:
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


# --- text and HTML ----------------------------------------------------------------------------

_TABLES = ("scores", "differences", "domains", "domain_differences")
_MOST_DIGITS = 15  # what a float holds
_MARKED = re.compile(r"([\\`*_{}\[\]<>|#~&!])")


#: Heads, rows, and how many of the columns hold names; the others hold numbers.
_TextTable = tuple[list[str], list[list[str]], int]


def _plain(text: object, limit: int = 80) -> str:
    return one_line(str(text), limit)


def _ranking(comparison: Comparison) -> list[str]:
    """Return the groups, the highest mean of the first measure first."""
    scores = comparison._scores
    first = scores[scores["measure"] == comparison.measures[0]]
    ranked = first.sort_values("mean", ascending=False, kind="stable")
    return [str(name) for name in ranked["group"]]


def _text_table(comparison: Comparison, table: str, digits: int) -> _TextTable:
    """Lay out one frame of a comparison as texts."""
    if table not in _TABLES:
        raise InputError(f"table={table!r}; {nearest(table, _TABLES)}")
    if not 0 <= digits <= _MOST_DIGITS:
        raise InputError(f"digits={digits!r}; expected a whole number from 0 to {_MOST_DIGITS}")
    frame: pd.DataFrame = getattr(comparison, table)
    keys = ["domain"] if table.startswith("domain") else []
    if table in ("scores", "domains"):
        return _scores_text_table(frame, comparison, keys, digits)
    return _difference_table(frame, keys, digits)


def _scores_text_table(
    frame: pd.DataFrame, comparison: Comparison, keys: list[str], digits: int
) -> _TextTable:
    place = {name: i for i, name in enumerate(_ranking(comparison))}
    frame = frame.assign(place=[place[name] for name in frame["group"]])
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in frame.sort_values([*keys, "place"], kind="stable").to_dict("records"):
        names = (*(row[key] for key in keys), row["group"], row["documents"])
        text = with_range(row["mean"], row["low"], row["high"], digits)
        cells.setdefault(names, {})[row["measure"]] = text
    rows = [
        [*map(_plain, names), *(found[m] for m in comparison.measures)]
        for names, found in cells.items()
    ]
    heads = [*keys, "group", "documents", *map(_plain, comparison.measures)]
    return heads, rows, len(keys) + 1


def _difference_table(frame: pd.DataFrame, keys: list[str], digits: int) -> _TextTable:
    heads = [*keys, "a", "b", "measure", "documents", "b - a", "p (Holm)"]
    rows = [
        [
            *(_plain(row[name]) for name in [*keys, "a", "b", "measure", "documents"]),
            with_range(row["b_minus_a"], row["low"], row["high"], digits, sign=True),
            number(row["p_holm"], max(3, digits)),
        ]
        for row in frame.to_dict("records")
    ]
    return heads, rows, len(keys) + 3


_GROUPS, _PAIRS = 20, 20
_WIDTH, _HEIGHT, _EDGE = 150, 16, 6


def _card_text(c: Comparison) -> str:
    """Write the scores as text, and what the differences amount to."""
    shown = _ranking(c)[:_GROUPS]
    cells = _score_cells(c)
    names = [_plain(name, 40) for name in shown]
    width = max(map(len, names))
    columns = [[m, *(with_range(*cells[name, m]) for name in shown)] for m in c.measures]
    widths = [max(map(len, column)) for column in columns]
    lines = [_title(c)]
    for i, name in enumerate(["", *names]):
        row = "  ".join(col[i].ljust(w) for col, w in zip(columns, widths, strict=True))
        lines.append(f"  {name.ljust(width)}  {row}".rstrip())
    more = len(_ranking(c)) - len(shown)
    lines += [f"  … {more} more; .scores has them"] if more else []
    return "\n".join(lines + [f"  {_plain(text, 400)}" for text in _sentences(c)])


def _sentences(c: Comparison) -> list[str]:
    """Say how many differences are more than noise, what could be seen, and what is missing."""
    counts = ", ".join(_distinct(c, m) for m in c.measures)
    how = f"sign-flip test, Holm, confidence {_percent(c.drawing)}"
    texts = [f"Distinguishable from noise ({how}): {counts}."]
    first = c._differences[c._differences["measure"] == c.measures[0]]
    detectable = first["detectable"].dropna()
    if len(detectable):
        texts.append(_power(c.measures[0], detectable.median()))
    if (first[["only_a", "only_b"]].to_numpy() > 0).any():
        texts.append("Not all have the same documents: differences are over those both have.")
    invalid = c._scores[c._scores["measure"] == c.measures[0]].set_index("group")["invalid"]
    broken = [f"{name} {n}" for name, n in invalid.items() if n]
    return texts + ([f"Invalid outputs, scored 0: {', '.join(broken)}."] if broken else [])


def _power(measure: str, detectable: float) -> str:
    if detectable >= 1 and measure in _UNIT_SCORES:
        return f"So few documents cannot be trusted to show any difference in {measure}."
    return (
        f"A true difference in {measure} under about {detectable:.3f} (median over pairs) "
        "is missed more than one time in five."
    )


def _percent(drawing: Drawing) -> str:
    """Write the confidence of the intervals."""
    return f"{100 * drawing.confidence:.4g} %"


def _title(c: Comparison) -> str:
    groups, drawing = len(_ranking(c)), c.drawing
    base = f", against {_plain(c.baseline, 40)}" if c.baseline is not None else ""
    most = int(c._scores["documents"].max())
    documents = f"up to {most}" if c._scores["documents"].min() < most else f"{most}"
    return (
        f"Comparison of {groups} groups by {', '.join(c.by)} on {documents} "
        f"document{'s' if most > 1 else ''}{base}: mean [{_percent(drawing)} interval]"
    )


def _distinct(c: Comparison, measure: str) -> str:
    rows = c._differences[c._differences["measure"] == measure]
    return f"{int(rows['significant'].fillna(value=False).sum())} of {len(rows)} in {measure}"


def _score_cells(c: Comparison) -> dict[tuple[str, str], tuple[Any, Any, Any]]:
    rows = c._scores.to_dict("records")
    return {(r["group"], r["measure"]): (r["mean"], r["low"], r["high"]) for r in rows}


def _scores_html(c: Comparison) -> str:
    cells, shown = _score_cells(c), _ranking(c)[:_GROUPS]
    ranges = {m: _range([cells[name, m] for name in shown]) for m in c.measures}
    heads = "".join(f"<th>{document_text(m, 60)}{_ends(ranges[m])}</th>" for m in c.measures)
    rows = [
        f"<tr><td>{document_text(name, 60)}</td>"
        + "".join(_cell(cells[name, m], ranges[m]) for m in c.measures)
        + "</tr>"
        for name in shown
    ]
    more = _more(len(_ranking(c)) - len(shown), "scores")
    return _table(f"<th>{document_text(', '.join(c.by), 60)}</th>{heads}", rows) + more


def _differences_html(c: Comparison, measure: str) -> str:
    """Write the differences in one measure, those least likely to be noise first."""
    frame = c._differences[c._differences["measure"] == measure]
    frame = frame.sort_values("p_holm", kind="stable", na_position="last")
    rows = frame.head(_PAIRS).to_dict("records")
    ends = _range([(r["b_minus_a"], r["low"], r["high"]) for r in rows] + [(0.0, 0.0, 0.0)])
    heads = f"<th>a</th><th>b</th><th>b - a{_ends(ends)}</th>" + "".join(
        f'<th class="xb-num">{text}</th>' for text in ("p (Holm)", "detectable", "documents")
    )
    table = _table(heads, [_difference_row(row, ends) for row in rows])
    folded = "" if measure != c.measures[0] else " open"
    head = document_text(f"Differences: {_distinct(c, measure)} distinguishable from noise", 200)
    more = _more(len(frame) - len(rows), "differences")
    return f"<details{folded}><summary>{head}</summary>{table}{more}</details>"


def _ends(ends: tuple[float, float]) -> str:
    text = " to ".join(number(end, 2) for end in ends)
    style = "font-weight:400;white-space:nowrap"
    return f'<br><span class="xb-type" style="{style}">axis {text}</span>'


def _difference_row(row: Mapping[Any, Any], ends: tuple[float, float]) -> str:
    names = "".join(f"<td>{document_text(row[n], 60)}</td>" for n in ("a", "b"))
    p = number(row["p_holm"])
    p = f"<b>{p}</b>" if row["significant"] is True else p
    plot = _cell((row["b_minus_a"], row["low"], row["high"]), ends, difference=True)
    numbers = (p, number(row["detectable"]), row["documents"])
    cells = "".join(f'<td class="xb-num">{text}</td>' for text in numbers)
    return f"<tr>{names}{plot}{cells}</tr>"


def _table(heads: str, rows: list[str]) -> str:
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _more(count: int, frame: str) -> str:
    return f"<div>… {count} more; .{frame} has them</div>" if count > 0 else ""


def _range(cells: list[tuple[Any, Any, Any]]) -> tuple[float, float]:
    ends = [float(x) for cell in cells for x in cell if not pd.isna(x)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _cell(
    cell: tuple[Any, Any, Any], ends: tuple[float, float], *, difference: bool = False
) -> str:
    text = with_range(*cell, sign=difference)
    zero = 0.0 if difference else None
    return f'<td style="white-space:nowrap">{text}<br>{_plot(cell, ends, zero)}</td>'


def _plot(cell: tuple[Any, Any, Any], ends: tuple[float, float], zero: float | None) -> str:
    """Draw an interval with its mean; the numbers stand beside it, so readers may skip it."""
    if pd.isna(cell[0]):
        return ""
    mid = _HEIGHT / 2
    marks = [
        f'<line x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{mid}" y2="{mid}" stroke-opacity=".2"/>'
    ]
    if zero is not None:
        x = _x(zero, ends)
        marks.append(f'<line x1="{x}" x2="{x}" y1="1" y2="{_HEIGHT - 1}" stroke-opacity=".5"/>')
    if not pd.isna(cell[1]):
        low, high = _x(cell[1], ends), _x(cell[2], ends)
        marks.append(f'<line x1="{low}" x2="{high}" y1="{mid}" y2="{mid}" stroke-width="3"/>')
    marks.append(f'<circle cx="{_x(cell[0], ends)}" cy="{mid}" r="3.5" fill="currentColor"/>')
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true" stroke="currentColor">'
        f"{''.join(marks)}</svg>"
    )


def _x(value: float, ends: tuple[float, float]) -> str:
    share = (float(value) - ends[0]) / (ends[1] - ends[0])
    return f"{_EDGE + share * (_WIDTH - 2 * _EDGE):.1f}"
