"""`compare_runs`: which runs differ by more than chance, with documents as the sampling unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

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
    Column("documents", "int64", "documents with an output, which are resampled", "1 and up"),
    Column("outputs", "int64", "outputs, which are averaged for each document", "1 and up"),
    Column("invalid", "int64", "outputs that did not parse; their scores are 0", "0 to outputs"),
    Column("mean", "float64", "mean over documents"),
    Column("low", "Float64", "lower limit of its interval; missing for one document", "", True),
    Column("high", "Float64", "upper limit of its interval", "", True),
    Column("method", "string", "interval method", "BCa, percentile, all equal, one document"),
)

_DIFFERENCE_METHODS = "sign flips, all equal, too few documents, one document"
_DIFFERENCES = (
    Column("a", "string", "the baseline, or the group with the lower first measure"),
    Column("b", "string", "the other group"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents of both groups, which are compared", "0 and up"),
    Column("only_a", "int64", "documents that only a has", "0 and up"),
    Column("only_b", "int64", "documents that only b has", "0 and up"),
    Column("mean_a", "Float64", "mean of a", "", True),
    Column("mean_b", "Float64", "mean of b", "", True),
    Column("b_minus_a", "Float64", "mean difference; positive if b is higher", "", True),
    Column("low", "Float64", "lower limit of its interval, not corrected for pairs", "", True),
    Column("high", "Float64", "upper limit of its interval", "", True),
    Column("method", "string", "interval method", _DIFFERENCE_METHODS, True),
    Column("a_higher", "int64", "documents in which a is higher", "0 to documents"),
    Column("b_higher", "int64", "documents in which b is higher", "0 to documents"),
    Column("p_value", "Float64", "two-sided sign-flip test of the paired differences", "", True),
    Column("p_method", "string", "all sign flips, or a sample of them", "exact, sampled", True),
    Column("p_holm", "Float64", "p_value after Holm's correction within the measure", "", True),
    Column("significant", "boolean", "whether p_holm is at most 1 - confidence", "", True),
    Column(
        "detectable", "Float64", "true difference that is detected with 80% probability", "", True
    ),
)

SCORE_COLUMNS = FrameSpec("scores", "one row per group and measure", _SCORES)
DIFFERENCE_COLUMNS = FrameSpec("differences", "one row per pair and measure", _DIFFERENCES)


#: Rows that a card and a text show.
_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(DescribedFrames):
    """Scores of several groups with their intervals, and tests of their differences.

    Made by `compare_runs`. In a notebook it shows itself as tables.

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
    scores : pandas.DataFrame
        One row per group and measure: the mean over documents and its interval.
    differences : pandas.DataFrame
        One row per pair and measure: ``b_minus_a`` over the documents that both have.
    """

    _specs = (SCORE_COLUMNS, DIFFERENCE_COLUMNS)

    by: tuple[str, ...]
    measures: tuple[str, ...]
    baseline: str | None
    drawing: Drawing
    scores: pd.DataFrame
    differences: pd.DataFrame

    def to_latex(self, table: str = "scores") -> str:
        """Return the frame ``scores`` or ``differences`` as a ``tabular`` with booktabs rules."""
        needs("jinja2", "notebook")
        texts, names = self._texts(table)
        style = texts.style.hide(axis="index")
        style = style.format(escape="latex").format_index(escape="latex", axis="columns")
        layout = "l" * names + "r" * (texts.shape[1] - names)
        return str(style.to_latex(hrules=True, column_format=layout))

    def __repr__(self) -> str:
        """Write scores with their intervals, and how many differences are more than noise."""
        texts, _ = self._texts("scores")
        texts = texts.drop(columns="documents")
        rows = [["", *texts.columns[1:]], *texts.head(_SHOWN).to_numpy().tolist()]
        rows = [[one_line(row[0], 40), *row[1:]] for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        more = filter(None, [more_rows(len(texts) - _SHOWN, "scores")])
        notes = [one_line(text, 400) for text in self._sentences()]
        return "\n  ".join([self._title(), *lines, *more, *notes])

    def _repr_html_(self) -> str:
        """Write scores and differences as tables; every text is escaped."""
        parts: list[Node | None] = [element("div", text, limit=400) for text in self._sentences()]
        for name in ("scores", "differences"):
            texts, names = self._texts(name)
            rows = texts.head(_SHOWN).map(lambda text: one_line(text, 60)).to_numpy().tolist()
            heads = [one_line(head, 60) for head in texts.columns]
            parts += [
                card_table(heads, rows, len(heads) - names),
                more_block(len(texts) - _SHOWN, name),
            ]
        return card_html(self._title(), *parts, limit=300)

    def _texts(self, table: str) -> tuple[pd.DataFrame, int]:
        """Lay out one frame as texts, best first; return also how many columns are names."""
        if table not in ("scores", "differences"):
            raise InputError(f"table={table!r}; {nearest(table, ('scores', 'differences'))}")
        frame, mean = (
            (self.scores, "mean") if table == "scores" else (self.differences, "b_minus_a")
        )
        ends = frame[[mean, "low", "high"]].astype("Float64").to_numpy(np.float64, na_value=np.nan)
        frame = frame.assign(text=[with_range(*row, sign=table != "scores") for row in ends])
        if table == "differences":
            texts = frame[["a", "b", "measure", "documents"]].astype(object)
            texts["b - a"], texts["p (Holm)"] = frame["text"], frame["p_holm"].map(number)
        else:
            index = ["group", "documents"]
            first = frame[frame["measure"] == self.measures[0]]
            first = first.sort_values("mean", ascending=False, kind="stable")
            wide = frame.pivot_table("text", index, "measure", aggfunc="first", sort=False)
            texts = wide.loc[first.set_index(index).index, list(self.measures)].reset_index()
        texts = texts.rename(columns=one_line).map(lambda value: one_line(str(value)))
        return texts, 1 if table == "scores" else 3

    def _sentences(self) -> list[str]:
        """Summarise differences, detectable differences, and missing or invalid outputs."""
        measure = self.measures[0]
        first = self.differences[self.differences["measure"] == measure]
        groups = self.differences.groupby("measure")["significant"]
        found, pairs = groups.sum(), groups.size()
        counts = ", ".join(f"{found[m]} of {pairs[m]} in {m}" for m in self.measures)
        how = f"sign-flip test, Holm, confidence {self.drawing.percent}"
        texts = [f"Distinguishable from noise ({how}): {counts}."]
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
        invalid = self.scores[self.scores["measure"] == measure].set_index("group")["invalid"]
        broken = [f"{name} {n}" for name, n in invalid.items() if n]
        return texts + ([f"Invalid outputs, scored 0: {', '.join(broken)}."] if broken else [])

    def _title(self) -> str:
        fewest, most = self.scores["documents"].agg(["min", "max"])
        base = f", against {one_line(self.baseline, 40)}" if self.baseline is not None else ""
        return (
            f"Comparison of {self.scores['group'].nunique()} groups by {', '.join(self.by)} on "
            f"{'up to ' if fewest < most else ''}{plural(most, 'document')}{base}: "
            f"mean [{self.drawing.percent} interval]"
        )


#: Scores of a document, at most 1; an invalid one has 0, whatever the row says.
_UNIT_SCORES = ("overall_score", "field_score", "pass_rate", "pass_rate_judged")

_IDENTITY = ("run", "document", "domain", "schema", "valid", "message", "line", "column")


def _averaged(
    summary: pd.DataFrame, by: Iterable[str], measures: Sequence[str]
) -> tuple[dict[str, Numbers], pd.DataFrame]:
    """Return scores of each group, and counts of outputs by group.

    Scores have a row per document, by name, and a column per measure; NaN without an output.
    """
    names = known_columns(by, summary)
    if "document" not in summary.columns:
        raise InputError(
            "summary: there is no column 'document', which is what is resampled; pass the results "
            "of a batch, or a mapping from run to document to Evaluation"
        )
    if summary.empty:
        raise InputError("summary: there are no rows to compare")
    for name in (*names, "document"):
        if gaps := int(summary[name].isna().sum()):
            raise InputError(
                f"summary: column {name!r} is missing in {gaps} of {len(summary)} rows; "
                "drop these rows or fill the column"
            )
    invalid = np.zeros(len(summary), dtype=bool)
    if "valid" in summary.columns:
        invalid = ~summary["valid"].to_numpy(dtype=bool)
    groups = _groups(summary, names)
    document = pd.Index(summary["document"].astype(TEXT), dtype=object)
    cells = pd.DataFrame({"group": groups, "document": document, "outputs": 1, "invalid": invalid})
    scores = {}
    for name in measures:
        # sorted, as sums must not depend on the order of rows
        ordered = cells.assign(score=_numbers(summary, name, invalid)).sort_values("score")
        scores[name] = ordered.groupby(["group", "document"], observed=True)["score"].mean()
    means = pd.DataFrame(scores)
    counts = cells.groupby("group", observed=True)[["outputs", "invalid"]].sum()
    documents = means.index.unique("document").sort_values()
    tables = {str(g): means.loc[g].reindex(documents).to_numpy(np.float64) for g in counts.index}
    return tables, counts


def _groups(summary: pd.DataFrame, names: list[str]) -> pd.Categorical:
    """Return the label of each row's group, as categories in their order."""
    keys = pd.Index(summary[names[0]], dtype=object)
    if len(names) > 1:
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


def _numbers(summary: pd.DataFrame, measure: str, invalid: npt.NDArray[np.bool_]) -> Numbers:
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
        row = summary.iloc[bad[0]]
        where = ", ".join(f"{n} {row[n]!r}" for n in ("run", "document") if n in summary.columns)
        more = f", and in {plural(len(bad) - 1, 'more row')}" if len(bad) > 1 else ""
        raise InputError(
            f"measure {measure!r} is {values[bad[0]]} at {where}{more}; drop these documents"
        )
    return values


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

    Documents are resampled rather than fields, because the fields of a document are not
    independent. Differences are paired by document. Several outputs of one group for the same
    document are averaged first, and invalid outputs count with scores of 0.

    Parameters
    ----------
    source : results of a batch, pandas.DataFrame, mapping or list
        Results with `summary`: one row per output, with the columns ``document``, `by` and
        `measures`; mappings as in `breakdown`.
    by : str or iterable of str, optional
        The column of `summary` that defines the groups, or several columns.
    measures : str or sequence of str, optional
        Columns of `summary` to compare. By default ``pass_rate``, ``overall_score`` and
        ``field_score``; for tables, the ``measures`` that the results name.
    baseline : object, optional
        The group to compare all others with (a tuple for several columns); by default all pairs
        are compared.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1; tests use 1 - confidence.
    resamples : int, optional
        Bootstrap resamples and sign flips, 100 and up.
    seed : int, optional
        The same seed gives the same result, regardless of the order of the rows. Only Holm's
        correction depends on the other comparisons.

    Returns
    -------
    Comparison
        The frames `scores`, sorted by group, and `differences` (``b_minus_a``). Without a baseline,
        ``b`` is the group with the higher first measure in each pair.

    Raises
    ------
    InputError
        Unknown columns, fewer than two groups, results of two profiles, scores that are missing or
        infinite, a pair without a common document, or options out of range.

    Notes
    -----
    Intervals of means are BCa bootstrap intervals (B. Efron, R. J. Tibshirani, An Introduction to
    the Bootstrap, 1993, section 14.3) with quantiles that are expanded for few documents (T. C.
    Hesterberg, The American Statistician 69, 2015). The interval of a difference inverts the paired
    sign-flip test (J. A. Hartigan, JASA 64, 1969): it excludes 0 if and only if ``p_value`` is at
    most 1 - confidence. ``p_holm`` and ``significant`` are corrected by Holm's method over the
    pairs of a measure, whereas intervals are not corrected. With five documents or fewer, no
    p-value is below 0.05, and differences have no interval. ``detectable`` does not take the
    correction into account (H. S. Bloom, Evaluation Review 19, 1995).

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
    scores, counts = _averaged(gather(source, "summary"), names, asked)
    pairs, reference = list(combinations(scores, 2)), None
    if baseline is None:
        pairs = [(b, a) if _is_lower(scores[b], scores[a]) else (a, b) for a, b in pairs]
    else:
        reference = label(baseline)
        if reference not in scores:
            raise InputError(f"baseline={reference!r} is not a group; {nearest(reference, scores)}")
        pairs = [(reference, other) for other in scores if other != reference]
    for a, b in pairs:
        if np.isnan(scores[a] + scores[b]).all():
            counted = ((one, np.isfinite(scores[one][:, 0]).sum()) for one in (a, b))
            sizes = " and ".join(f"{one!r} has {size} documents" for one, size in counted)
            raise InputError(
                f"{sizes}, none of them in common; differences are paired by document, so both "
                "need outputs for the same ones"
            )
    return Comparison(
        names,
        asked,
        reference,
        drawing,
        SCORE_COLUMNS.from_records(_score_rows(asked, scores, counts, drawing)),
        DIFFERENCE_COLUMNS.from_records(_difference_rows(asked, scores, pairs, drawing)),
    )


def _is_lower(scores: Numbers, others: Numbers) -> bool:
    """Whether scores have the lower mean of the first measure over the documents of both."""
    return bool(np.round(np.nansum(others[:, 0] - scores[:, 0]), DIGITS) > 0)


def _score_rows(
    measures: Sequence[str], scores: dict[str, Numbers], counts: pd.DataFrame, drawing: Drawing
) -> list[dict[str, Any]]:
    rows, samples = [], []
    records: list[dict[Any, Any]] = counts.to_dict("records")
    for (group, table), count in zip(scores.items(), records, strict=True):
        for measure, column in zip(measures, table.T, strict=True):
            sample = column[~np.isnan(column)]
            samples.append(sample)
            row: dict[str, Any] = {"group": group, "documents": len(sample), "measure": measure}
            rows.append({**row, **count, "mean": float(sample.mean())})
    intervals = mean_intervals(samples, drawing)
    return [row | interval._asdict() for row, interval in zip(rows, intervals, strict=True)]


def _difference_rows(
    measures: Sequence[str],
    scores: dict[str, Numbers],
    pairs: list[tuple[str, str]],
    drawing: Drawing,
) -> list[dict[str, Any]]:
    """Test all pairs, each over the documents that both have."""
    rows, samples = [], []
    for a, b in pairs:
        has_a, has_b = (~np.isnan(scores[one][:, 0]) for one in (a, b))
        sides = (scores[one][has_a & has_b].T for one in (a, b))
        for measure, left, right in zip(measures, *sides, strict=True):
            difference = right - left
            samples.append(difference)
            rows.append(
                {
                    "a": a,
                    "b": b,
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
            )
    tests = sign_flip_tests(samples, drawing)
    adjusted = pd.Series([test.p for test in tests], dtype=np.float64)
    adjusted = adjusted.groupby([row["measure"] for row in rows]).transform(holm)
    for row, test, p in zip(rows, tests, adjusted, strict=True):
        row.update(test.interval._asdict(), p_value=test.p, p_method=test.method)
        row.update(p_holm=p, significant=p <= drawing.alpha)
    return rows
