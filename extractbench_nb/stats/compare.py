"""`compare_runs`: which runs differ by more than chance, with documents as the sampling unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import TEXT, Column, DescribedFrames, FrameSpec
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.stats.breakdowns import gather, known_columns, label
from extractbench_nb.stats.intervals import (
    DIGITS,
    Drawing,
    Numbers,
    detectable_difference,
    holm,
    mean_intervals,
    number,
    sign_flip_tests,
    with_range,
)
from extractbench_nb.support.cards import (
    card_html,
    card_table,
    element,
    more_block,
    more_rows,
)
from extractbench_nb.support.nodes import Node
from extractbench_nb.support.pandas_helpers import numbered
from extractbench_nb.support.wording import one_line, plural

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

_DIFFERENCE_METHODS = "sign flips, all equal, too few documents, one document"
_DIFFERENCES = (
    Column("a", "string", "the baseline, or the group with the lower first measure"),
    Column("b", "string", "the other group"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents that both have; the rest is of these", "0 and up"),
    Column("only_a", "int64", "documents that only a has", "0 and up"),
    Column("only_b", "int64", "documents that only b has", "0 and up"),
    Column("mean_a", "Float64", "mean of a", "", True),
    Column("mean_b", "Float64", "mean of b", "", True),
    Column("b_minus_a", "Float64", "mean difference; positive where b is higher", "", True),
    Column("low", "Float64", "lower end of its interval, not corrected for pairs", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", _DIFFERENCE_METHODS, True),
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

SCORE_COLUMNS = FrameSpec("scores", "one row per group and measure", _SCORES)
DIFFERENCE_COLUMNS = FrameSpec("differences", "one row per pair and measure", _DIFFERENCES)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(DescribedFrames):
    """Scores of several groups with their intervals, and tests of their differences.

    Made by `compare_runs`. Every frame is a copy. In a notebook it shows itself as tables.

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

    _specs = (SCORE_COLUMNS, DIFFERENCE_COLUMNS)

    by: tuple[str, ...]
    measures: tuple[str, ...]
    baseline: str | None
    drawing: Drawing
    _scores: pd.DataFrame
    _differences: pd.DataFrame

    @property
    def scores(self) -> pd.DataFrame:
        """One row per group and measure: the mean over documents and its interval."""
        return self._scores.copy()

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair and measure: ``b_minus_a`` over the documents that both have."""
        return self._differences.copy()

    def to_markdown(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a Markdown table.

        Parameters
        ----------
        table : str, optional
            ``scores`` or ``differences``.
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
        texts, names = _text_table(self, table, digits)
        escaped = texts.rename(columns=_markdown)
        escaped.iloc[:, :names] = escaped.iloc[:, :names].map(_markdown)
        rule = ["---"] * names + ["---:"] * (texts.shape[1] - names)
        lines = [list(escaped.columns), rule, *escaped.to_numpy().tolist()]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def to_latex(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a LaTeX ``tabular`` with the rules of booktabs.

        Parameters
        ----------
        table : str, optional
            ``scores`` or ``differences``.
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
        needs("jinja2", "notebook")
        texts, names = _text_table(self, table, digits)
        style = texts.style.hide(axis="index")
        style = style.format(escape="latex").format_index(escape="latex", axis="columns")
        layout = "l" * names + "r" * (texts.shape[1] - names)
        return str(style.to_latex(hrules=True, column_format=layout))

    def __repr__(self) -> str:
        """Write scores with their intervals, and how many differences are more than noise."""
        ranked = _interval_texts(self)
        shown = ranked.head(_SHOWN)
        rows = [["", *self.measures]]
        rows += [
            [one_line(name, 40), *texts]
            for name, texts in zip(shown["group"], shown[[*self.measures]].to_numpy(), strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        more = more_rows(len(ranked) - _SHOWN, "scores")
        notes = [more] * bool(more) + [one_line(text, 400) for text in _sentences(self)]
        return "\n  ".join([_title(self), *lines, *notes])

    def _repr_html_(self) -> str:
        """Write scores and differences as tables; every text is escaped."""
        parts: list[Node | None] = [element("div", text, limit=400) for text in _sentences(self)]
        for name in ("scores", "differences"):
            texts, names = _text_table(self, name, 3)
            rows = texts.head(_SHOWN).map(lambda text: one_line(text, 60)).to_numpy().tolist()
            heads = [one_line(head, 60) for head in texts.columns]
            parts += [
                card_table(heads, rows, len(heads) - names),
                more_block(len(texts) - _SHOWN, name),
            ]
        return card_html(_title(self), *parts, limit=300)


# --- the comparison ---------------------------------------------------------------------------

#: Scores of a document, at most 1; an invalid one has 0, whatever the row says.
_UNIT_SCORES = ("overall_score", "field_score", "pass_rate", "pass_rate_judged")

_IDENTITY = ("run", "document", "domain", "schema", "valid", "message", "line", "column")


class Outputs(NamedTuple):
    """Outputs in tables with a row per document, sorted by name, and a column per group.

    `counts` and `invalid` count outputs; `scores` has a table of means for each measure, NaN where
    there is no output.
    """

    groups: list[str]
    counts: npt.NDArray[np.int64]
    invalid: npt.NDArray[np.int64]
    scores: dict[str, Numbers]


def average_outputs(
    summary: pd.DataFrame, by: str | Iterable[str], measures: Sequence[str]
) -> Outputs:
    """Average the outputs of each document and group."""
    names = known_columns(by, summary)
    if "document" not in summary.columns:
        raise InputError(
            "summary: there is no column 'document', which is what is resampled; pass the results "
            "of a batch, or a mapping from run to document to Evaluation"
        )
    if summary.empty:
        raise InputError("summary: there are no rows to compare")
    for name in (*names, "document"):
        gaps = int(summary[name].isna().sum())
        if gaps:
            raise InputError(
                f"summary: column {name!r} is missing in {gaps} of {len(summary)} rows; "
                "drop these rows or fill the column"
            )
    group = _groups(summary, names)
    texts = pd.Index(summary["document"].astype(TEXT), dtype=object)
    documents = texts.drop_duplicates().sort_values()
    document = documents.get_indexer(texts)  # pandas 2's factorize ends texts at a NUL
    invalid = np.zeros(len(summary), dtype=bool)
    if "valid" in summary.columns:
        invalid = ~summary["valid"].to_numpy(dtype=bool)
    shape = len(documents), len(group.categories)
    cell_of = np.ravel_multi_index((document, group.codes), shape)
    counts, invalid_counts = (
        np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        for cells in (cell_of, cell_of[invalid])
    )
    scores = {}
    for measure in measures:
        # sorted, as sums must not depend on the order of rows
        values = _numbers(summary, measure, invalid).sort_values()
        means = values.groupby(cell_of[values.index]).mean()
        scores[measure] = np.full(shape, np.nan)
        scores[measure].flat[means.index.to_numpy()] = means
    return Outputs(list(group.categories), counts, invalid_counts, scores)


def _groups(summary: pd.DataFrame, names: list[str]) -> pd.Categorical:
    """Return the group of each row, as a categorical of group labels in order."""
    if len(names) == 1:
        keys = pd.Index(summary[names[0]], dtype=object)
    else:
        keys = pd.MultiIndex.from_frame(summary[names].astype(object)).to_flat_index()
    codes, groups = numbered(keys)
    try:
        order = sorted(range(len(groups)), key=lambda i: groups[i])
    except TypeError:  # values that cannot be compared are sorted as text
        order = sorted(range(len(groups)), key=lambda i: (label(groups[i]), repr(groups[i])))
    labels = [label(groups[i]) for i in order]
    if len(labels) == 1:
        raise InputError(f"there is only one group, {labels[0]!r}; a comparison needs two")
    if len(set(labels)) < len(labels):
        twice = next(text for text in labels if labels.count(text) > 1)
        raise InputError(f"two groups of {names} are both written {twice!r}; rename one")
    return pd.Categorical.from_codes(np.argsort(order)[codes], pd.Index(labels, dtype=object))


def _numbers(summary: pd.DataFrame, measure: str, invalid: npt.NDArray[np.bool_]) -> pd.Series:
    """Return a measure of all outputs; an invalid output has 0 if the measure is a score."""
    known = [str(c) for c in summary.columns if c not in _IDENTITY]
    if measure not in known:
        raise InputError(f"no measure {measure!r}; {nearest(measure, known)}")
    column = summary[measure]
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError(f"measure {measure!r} is {column.dtype}; expected a column of numbers")
    values = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    if measure in _UNIT_SCORES:
        values[invalid] = 0.0
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row, others = summary.iloc[bad[0]], len(bad) - 1
        where = ", ".join(f"{n} {row[n]!r}" for n in ("run", "document") if n in summary.columns)
        more = f", and in {plural(others, 'more row')}" if others else ""
        raise InputError(
            f"measure {measure!r} is {values[bad[0]]} at {where}{more}; drop these documents"
        )
    return pd.Series(values)


MEASURES = ("pass_rate", "overall_score", "field_score")


def compare_runs(  # noqa: PLR0913 - options of one statistic, all keyword-only
    source: object,
    *,
    by: str | Iterable[str] = "run",
    measures: str | Sequence[str] | None = None,
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
        Results with `summary`: one row per output, with the columns ``document``, those of `by` and
        those of `measures`; a mapping goes from run to one of the others, or from run to document
        to `Evaluation`.
    by : str or iterable of str, optional
        The column of `summary` that makes a group, or several of them.
    measures : str or sequence of str, optional
        Columns of `summary` to compare. By default ``pass_rate``, ``overall_score`` and
        ``field_score``; of tables, the ``measures`` that the results name.
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
        `scores`, with groups sorted by name, and `differences` (``b_minus_a``). Without a baseline
        ``b`` is the group of a pair that is higher in the first measure, so there no difference in
        that measure is negative.

    Raises
    ------
    InputError
        Unknown columns, fewer than two groups, results of two profiles, scores that are missing or
        infinite, a pair without a common document, or options out of range.

    Notes
    -----
    Intervals of means are BCa bootstrap intervals [1]_, with quantiles that are expanded for few
    documents [2]_. ``p_value`` is that of the paired sign-flip test, and the interval of a
    difference is that test inverted [3]_: it excludes 0 if and only if ``p_value`` is at most 1 -
    confidence. ``p_holm`` and ``significant`` are corrected by Holm's method over the pairs of a
    measure; intervals are not corrected, so one may exclude 0 where ``significant`` is False. With
    five documents or fewer no sign-flip test can fall below 0.05, and differences have no interval
    at a confidence of 0.95. ``detectable`` is the true difference that this number of documents,
    with this spread, shows with a probability of 80 % [4]_ before any correction: a smaller one is
    easily missed. docs/explanation/statistics.md has the coverage of intervals in simulations.

    References
    ----------
    .. [1] B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), section 14.3.
    .. [2] T. C. Hesterberg, What teachers should know about the bootstrap, The American
       Statistician 69 (2015), section 5.3.
    .. [3] J. A. Hartigan, Using subsample values as typical values, JASA 64 (1969).
    .. [4] H. S. Bloom, Minimum detectable effects, Evaluation Review 19 (1995).

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
    if measures is None:
        measures = getattr(type(source), "measures", MEASURES)
    asked = (measures,) if isinstance(measures, str) else tuple(dict.fromkeys(measures))
    if not asked:
        raise InputError("`measures` is empty; name a column of summary, for example 'pass_rate'")
    outputs = average_outputs(gather(source, "summary"), names, asked)
    groups = outputs.groups
    pairs, reference = list(combinations(range(len(groups)), 2)), None
    if baseline is None:
        first = outputs.scores[asked[0]]
        pairs = [(b, a) if _is_lower(first[:, b], first[:, a]) else (a, b) for a, b in pairs]
    else:
        reference = label(baseline)
        if reference not in groups:
            raise InputError(f"baseline={reference!r} is not a group; {nearest(reference, groups)}")
        base = groups.index(reference)
        pairs = [(base, other) for other in range(len(groups)) if other != base]
    has_output = outputs.counts > 0
    for a, b in pairs:
        if not (has_output[:, a] & has_output[:, b]).any():
            sizes = " and ".join(
                f"{groups[i]!r} has {has_output[:, i].sum()} documents" for i in (a, b)
            )
            raise InputError(
                f"{sizes}, none of them in common; differences are paired by document, so both "
                "need outputs for the same ones"
            )
    return Comparison(
        names,
        asked,
        reference,
        drawing,
        SCORE_COLUMNS.from_records(_score_rows(outputs, drawing)),
        DIFFERENCE_COLUMNS.from_records(_difference_rows(outputs, pairs, drawing)),
    )


def _is_lower(scores: Numbers, others: Numbers) -> bool:
    """Whether scores have the lower mean over the documents that both have."""
    return bool(np.round(np.nansum(others - scores), DIGITS) > 0)


def _score_rows(outputs: Outputs, drawing: Drawing) -> list[dict[str, Any]]:
    rows, samples = [], []
    for column, group in enumerate(outputs.groups):
        scored = outputs.counts[:, column] > 0
        row = {
            "group": group,
            "documents": int(scored.sum()),
            "outputs": int(outputs.counts[:, column].sum()),
            "invalid": int(outputs.invalid[:, column].sum()),
        }
        for measure, table in outputs.scores.items():
            samples.append(table[scored, column])
            rows.append(row | {"measure": measure, "mean": float(samples[-1].mean())})
    intervals = mean_intervals(samples, drawing)
    return [row | interval._asdict() for row, interval in zip(rows, intervals, strict=True)]


def _difference_rows(
    outputs: Outputs, pairs: list[tuple[int, int]], drawing: Drawing
) -> list[dict[str, Any]]:
    """Test all pairs, each over the documents that both have."""
    rows, samples = [], []
    for (a, b), (measure, table) in product(pairs, outputs.scores.items()):
        has_a, has_b = (outputs.counts[:, column] > 0 for column in (a, b))
        left, right = (table[has_a & has_b, column] for column in (a, b))
        difference = right - left
        samples.append(difference)
        row = {
            "a": outputs.groups[a],
            "b": outputs.groups[b],
            "measure": measure,
            "documents": len(left),
            "only_a": int(has_a.sum()) - len(left),
            "only_b": int(has_b.sum()) - len(left),
            "a_higher": int((np.round(difference, DIGITS) < 0).sum()),
            "b_higher": int((np.round(difference, DIGITS) > 0).sum()),
            "mean_a": float(left.mean()),
            "mean_b": float(right.mean()),
            "b_minus_a": float(difference.mean()),
            "detectable": detectable_difference(difference, drawing),
        }
        rows.append(row)
    tests = sign_flip_tests(samples, drawing)
    adjusted = pd.Series([test.p for test in tests], dtype=np.float64)
    adjusted = adjusted.groupby([row["measure"] for row in rows]).transform(holm)
    for row, test, p in zip(rows, tests, adjusted, strict=True):
        row.update(test.interval._asdict(), p_value=test.p, p_method=test.method)
        row.update(p_holm=p, significant=p <= drawing.alpha)
    return rows


# --- text and HTML ----------------------------------------------------------------------------

_TABLES = ("scores", "differences")
_MOST_DIGITS = 15  # what a float holds
_MARKED = re.compile(r"([\\`*_{}\[\]<>|#~&!])")
_SHOWN = 20


def _markdown(text: str) -> str:
    """Escape what Markdown would take for markup."""
    return _MARKED.sub(r"\\\1", text)


def _ranges(rows: pd.DataFrame, mean: str) -> Numbers:
    """Return the means of rows with both ends of their intervals; NaN where they are missing."""
    return rows[[mean, "low", "high"]].astype("Float64").to_numpy(np.float64, na_value=np.nan)


def _interval_texts(comparison: Comparison, digits: int = 3) -> pd.DataFrame:
    """Return one row per group, the best first, with a column of texts per measure."""
    scores = comparison._scores
    scores = scores.assign(
        text=[with_range(mean, low, high, digits) for mean, low, high in _ranges(scores, "mean")]
    )
    index = ["group", "documents"]
    wide = scores.pivot_table(
        index=index, columns="measure", values="text", aggfunc="first", sort=False
    )
    first = scores[scores["measure"] == comparison.measures[0]]
    order = first.sort_values("mean", ascending=False, kind="stable").set_index(index).index
    return wide.loc[order, list(comparison.measures)].reset_index()


def _text_table(comparison: Comparison, table: str, digits: int) -> tuple[pd.DataFrame, int]:
    """Lay out one frame as texts; return also how many of the columns hold names."""
    if table not in _TABLES:
        raise InputError(f"table={table!r}; {nearest(table, _TABLES)}")
    if not 0 <= digits <= _MOST_DIGITS:
        raise InputError(f"digits={digits!r}; expected a whole number from 0 to {_MOST_DIGITS}")
    if table == "scores":
        texts, names = _interval_texts(comparison, digits), 1
    else:
        frame, names = comparison._differences, 3
        texts = frame[["a", "b", "measure", "documents"]].astype(object)
        texts["b - a"] = [
            with_range(mean, low, high, digits, sign=True)
            for mean, low, high in _ranges(frame, "b_minus_a")
        ]
        texts["p (Holm)"] = [number(p, max(3, digits)) for p in frame["p_holm"]]
    return texts.rename(columns=one_line).map(lambda value: one_line(str(value))), names


def _sentences(c: Comparison) -> list[str]:
    """Summarise differences, detectable differences, and missing or invalid outputs."""
    measure = c.measures[0]
    counts = ", ".join(_distinct(c, m) for m in c.measures)
    how = f"sign-flip test, Holm, confidence {c.drawing.percent}"
    texts = [f"Distinguishable from noise ({how}): {counts}."]
    first = c._differences[c._differences["measure"] == measure]
    detectable = first["detectable"].astype(np.float64).median()
    if detectable >= 1 and measure in _UNIT_SCORES:
        texts.append(f"So few documents cannot be trusted to show any difference in {measure}.")
    elif not pd.isna(detectable):
        texts.append(
            f"A true difference in {measure} under about {detectable:.3f} (median over pairs) "
            "is missed more than one time in five."
        )
    if (first[["only_a", "only_b"]].to_numpy() > 0).any():
        texts.append("Not all have the same documents: differences are over those both have.")
    invalid = c._scores[c._scores["measure"] == measure].set_index("group")["invalid"]
    broken = [f"{name} {n}" for name, n in invalid.items() if n]
    return texts + ([f"Invalid outputs, scored 0: {', '.join(broken)}."] if broken else [])


def _title(c: Comparison) -> str:
    documents = c._scores["documents"]
    fewest, most = int(documents.min()), int(documents.max())
    base = f", against {one_line(c.baseline, 40)}" if c.baseline is not None else ""
    return (
        f"Comparison of {c._scores['group'].nunique()} groups by {', '.join(c.by)} on "
        f"{'up to ' if fewest < most else ''}{most} document{'s' if most > 1 else ''}{base}: "
        f"mean [{c.drawing.percent} interval]"
    )


def _distinct(c: Comparison, measure: str) -> str:
    rows = c._differences[c._differences["measure"] == measure]
    return f"{int(rows['significant'].fillna(value=False).sum())} of {len(rows)} in {measure}"
