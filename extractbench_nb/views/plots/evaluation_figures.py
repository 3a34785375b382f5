"""Figures of evaluations, attempts and score curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.benchmark import display_name
from extractbench_nb.core import OUTCOMES
from extractbench_nb.errors import InputError
from extractbench_nb.runs import FAILURES
from extractbench_nb.stats import (
    LENGTH_COLUMNS,
    breakdown,
    count_failures,
    gather,
    group_attempts,
    label,
)
from extractbench_nb.stats import difficulty as ranked
from extractbench_nb.views.palette import ENDINGS, LIGHT
from extractbench_nb.views.plots import axes as drawing
from extractbench_nb.views.plots.axes import BLUE, GREY, INK, PALE, PALETTE, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from extractbench_nb.stats import Comparison

#: Outcomes of fields that pass.
_PASSED = ("correct", "both_absent")


def outcomes(source: object, *, by: str = "run", ax: Axes | None = None) -> Axes:
    """Draw how the scored fields of each run fail.

    Parameters
    ----------
    source : Evaluations, Evaluation, pandas.DataFrame, mapping or list
        Rows of `fields`, or objects that have them, as ``xb.breakdown`` takes them.
    by : str, optional
        The column whose values are the bars.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per group, the best on top: the failures in percent of its scored fields, stacked
        by outcome; at its end the failed and all scored fields.

    Raises
    ------
    InputError
        The source contains no fields, or has no such column.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ax = xb.plots.outcomes(xb.evaluate_runs(xb.load_dataset(), progress=False))
    >>> ax.get_title(loc="left")
    'How fields fail, by run'
    """
    table = drawing.checked(breakdown(source, by), (by, *OUTCOMES), "source")
    table = table.iloc[::-1].set_index(by)
    failed = [name for name in LIGHT.outcomes if name not in _PASSED and table[name].any()]
    counts = zip(table[failed].sum(axis=1), table["rows"], strict=True)
    ends = [f"{failures:,} of {rows:,}" for failures, rows in counts]
    bars = 100 * table[failed].div(table["rows"], axis=0)
    bars.columns = pd.Index([display_name(name, "outcome") for name in failed])
    colours = [LIGHT.outcomes[name] for name in failed]
    ax = drawing.new_axes(ax, 1.3 + 0.4 * len(bars))
    title, x = f"How fields fail, by {words(by)}", "fields that do not pass (% of scored fields)"
    drawing.stack(ax, bars, colours, title, x=x, column=by, ends=ends)
    return ax


#: The stages at which built tables lose points, in the colours of outcomes, the last stage first.
_STAGES = {
    "right": "correct",
    "cells": "incorrect",
    "rows": "omission",
    "keys": "hallucination",
    "columns": "structural",
    "retrieval": "both_absent",
    "answer": "judge_error",
}


def losses(
    frame: pd.DataFrame,
    *,
    by: Sequence[str] = ("run", "document"),
    side: str = "recall",
    ax: Axes | None = None,
) -> Axes:
    """Draw the points that constructed tables lost at each stage.

    Parameters
    ----------
    frame : pandas.DataFrame
        The result of ``losses()`` of a TableComparison or of TableEvaluations.
    by : sequence of str, optional
        Columns whose values are the bars; those that the frame lacks are ignored.
    side : {"recall", "precision"}, optional
        Whether to draw the points of gold's cells or of the predicted ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per group, in percent of its cells: the score, then the points lost at each stage,
        the last stage first. Groups without cells are left out.

    Raises
    ------
    InputError
        A column is missing, the frame has no cells, or `side` is unknown.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> gold = [{"name": "a", "n": 1}, {"name": "b", "n": 2}]
    >>> found = xb.construction.compare(gold, [{"name": "a", "n": 7}], keys="name")
    >>> ax = xb.plots.losses(found.losses())
    >>> ax.get_title(loc="left")
    'Where points were lost: recall'
    """
    table = drawing.checked(frame, ("side", "stage", "lost", "left"), "frame")
    drawing.known(side, ("recall", "precision"), "side")
    table = table[table["side"] == side].reset_index(drop=True)
    groups = [name for name in by if name in table.columns]
    names = table[groups].astype(str).agg(" · ".join, axis=1) if groups else table["side"]
    right = table.assign(stage="right", lost=table["left"])[table["stage"] == "cells"]
    points = pd.concat([table, right]).assign(bar=names)
    wide = points.pivot_table("lost", "bar", "stage", aggfunc="sum", sort=False).fillna(0.0)
    cells = wide.sum(axis=1)
    shares = 100 * wide.div(cells, axis=0)[cells > 0]
    if shares.empty:
        raise InputError(f"frame has no cells on the side of {side}")
    stages = [name for name in _STAGES if name in shares and shares[name].any()]
    ax = drawing.new_axes(ax, 1.3 + 0.4 * len(shares))
    colours = [LIGHT.outcomes[_STAGES[name]] for name in stages]
    x = f"{'gold' if side == 'recall' else 'predicted'} cells (%)"
    title = f"Where points were lost: {side}"
    drawing.stack(ax, shares[stages], colours, title, x=x, column=" · ".join(groups))
    return ax


def difficulty(source: object, *, top: int = 15, ax: Axes | None = None) -> Axes:
    """Draw a heatmap of how often the hardest fields pass in each run.

    Parameters
    ----------
    source : Evaluations, Evaluation, pandas.DataFrame, mapping or list
        Rows of `fields`, or objects that have them, as ``xb.difficulty`` takes them.
    top : int, optional
        Number of fields, 1 or more.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per field, the hardest on top, and one column per run. A cell shows passed and all
        rows in which gold has a value; the lower the ratio, the stronger the colour.

    Raises
    ------
    InputError
        The source contains no fields, or `top` is less than 1.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ev = xb.evaluate({"properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 2})
    >>> [label.get_text() for label in xb.plots.difficulty(ev).get_yticklabels()]
    ['a']
    """
    if top < 1:
        raise InputError(f"top={top!r}: expected 1 or more")
    hardest = drawing.checked(ranked(source), (), "source").head(top)
    fields = gather(source, "fields")
    asked = fields[fields["gold_state"].eq("present")]
    asked = asked if "run" in asked else asked.assign(run="all rows")
    names = [name for name in ("schema", "field") if name in asked.columns]
    table = breakdown(asked, [*names, "run"]).set_index([*names, "run"])
    labels = hardest["field"].tolist()
    if len(set(labels)) < len(labels):  # two schemas have a field of the same name
        schemas = [display_name(name, "schema") for name in hardest["schema"]]
        labels = [f"{s}: {f}" for s, f in zip(schemas, labels, strict=True)]
    order = hardest.set_index(names).index
    passed, rows = (
        table[column].unstack("run").reindex(order).set_axis(labels, axis=0)  # noqa: PD010
        for column in ("passed", "rows")
    )
    ax = drawing.new_axes(ax, 1.2 + 0.3 * len(labels))
    drawing.heat_of_shares(ax, passed, rows, lambda n, of: f"{n:.0f}/{of:.0f}")
    x_label = "run; passed rows of those in which gold has a value"
    drawing.titled(ax, f"Pass rate of the {len(labels)} hardest fields", x=x_label)
    return ax


def differences(
    comparison: Comparison, measure: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the differences between runs with their intervals.

    Parameters
    ----------
    comparison : Comparison
        The result of ``xb.compare_runs``.
    measure : str, optional
        One of its measures; the first by default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One row per pair, the largest difference on top: the mean difference over documents, better
        run first, and its interval; filled if it is significant after Holm's correction.

    Raises
    ------
    InputError
        There is no such measure.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> scores = pd.DataFrame({"run": [*"aaabbb"], "document": [*"xyz"] * 2,
    ...     "pass_rate": [.9, .8, .7, .6, .5, .7]})
    >>> ax = xb.plots.differences(xb.compare_runs(scores, measures="pass_rate"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a − b']
    """
    name = comparison.measures[0] if measure is None else measure
    drawing.known(name, comparison.measures, "measure")
    rows = comparison.differences
    rows = drawing.checked(rows[rows["measure"] == name], (), "comparison")
    bars = rows.astype(dict.fromkeys(("b_minus_a", "low", "high"), "float64"))
    turned = bars["b_minus_a"] < 0  # each pair so that its difference is not negative
    bars.loc[turned, ["a", "b"]] = bars.loc[turned, ["b", "a"]].to_numpy()
    bars.loc[turned, ["low", "high"]] = -bars.loc[turned, ["high", "low"]].to_numpy()
    bars["b_minus_a"] = bars["b_minus_a"].abs()
    bars = bars.sort_values("b_minus_a", ascending=False, kind="stable")
    significant = bars["significant"].fillna(value=False).astype(bool)
    ax = drawing.new_axes(ax, 1.1 + 0.36 * len(bars))
    places = np.arange(len(bars))
    colours = np.where(significant, BLUE, GREY)
    ax.axvline(0, color=INK, linewidth=1)
    drawing.segments(ax, bars["low"], bars["high"], colours)
    style: dict[str, Any] = {"edgecolors": colours.tolist(), "linewidth": 1.6, "zorder": 3}
    fills = np.where(significant, BLUE, "white")
    ax.scatter(bars["b_minus_a"], places, s=52, color=fills, **style)
    runs = list(dict.fromkeys([*bars["b"], *bars["a"]]))
    longest = drawing.fitting(0.5 * drawing.room(ax), 8.5) // 2 - 1
    names = dict(zip(runs, drawing.distinct(runs, longest), strict=True))
    pairs = [f"{names[b]} − {names[a]}" for b, a in zip(bars["b"], bars["a"], strict=True)]
    ax.set_yticks(places, pairs, fontsize=8.5)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    interval = f"{100 * comparison.drawing.confidence:g}% interval"
    about = f"mean over documents, {interval}; filled: more than noise (Holm)"
    title = f"Difference in {words(display_name(name))} between runs"
    drawing.titled(ax, title, x=about, grid="x")
    return ax


_UNITS = {
    "gold_tokens": "GPT-2 tokens of gold",
    "gold_values": "values of gold",
    "array_items": "array items of gold",
    "fields": "fields of gold outside of arrays",
    "pages": "pages of the PDF",
    "pdf_tokens": "GPT-2 tokens of the PDF's text",
}

_MARKERS = ("o", "s", "D", "^", "v", "P", "X")


def attempts(
    frame: pd.DataFrame, *, by: str | Iterable[str] = "run", ax: Axes | None = None
) -> Axes:
    """Draw how many outputs of each run are valid, and how the others failed.

    Table 7 of the ExtractBench paper, with the valid outputs added.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `read_outputs`.
    by : str or iterable of str, optional
        The column, or columns, whose values are the bars; see `failure_modes`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar per group: valid outputs first, then each kind of failure that occurs.

    Raises
    ------
    InputError
        The frame has no rows, no column ``failure``, or no column that `by` names.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> frame = pd.DataFrame({"run": [*"aab"], "failure": ["none", "truncated_json", "none"]})
    >>> ax = xb.plots.attempts(frame)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    rows = drawing.checked(frame, ("failure",), "frame")
    groups = group_attempts(rows, by)
    names = [_group_name(key, groups.names) for key in groups.labels]
    counts = pd.DataFrame(count_failures(rows, groups).T, names, list(FAILURES))
    bars = counts[[name for name in ENDINGS if counts[name].any()]]
    colours = [ENDINGS[name] for name in bars.columns]
    titles = ("valid" if name == "none" else display_name(name) for name in bars.columns)
    bars.columns = pd.Index(list(titles))
    ax = drawing.new_axes(ax, 1.4 + 0.4 * len(bars))
    title = f"How outputs ended by {words(' and '.join(map(str, groups.names)))}"
    drawing.stack(ax, bars, colours, title, x="outputs")
    return ax


def validity(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of valid outputs by length.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `validity_by_length`, of one measure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One point per bin, at the median of its lengths, with the interval; one colour and shape per
        group. A single group also has its counts (valid/all) and the range of its lengths.

    Raises
    ------
    InputError
        A column is missing, the frame is empty or has several measures, or no attempt has a length.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> attempts = xb.read_outputs(ds.runs, ds)
    >>> ax = xb.plots.validity(xb.stats.validity_by_length(attempts, ds))
    >>> ax.get_title(loc="left"), ax.get_xlabel()
    ('Share of valid outputs by length', 'GPT-2 tokens of gold')
    """
    rows = drawing.checked(frame, LENGTH_COLUMNS.names, "frame")
    measures = rows["measure"].unique().tolist()
    if len(measures) > 1:
        raise InputError(f"frame: of {len(measures)} measures ({', '.join(measures)}); draw one")
    left_out = int(rows.loc[rows["bin"].isna(), "attempts"].sum())
    rows = rows[rows["bin"].notna()]
    if rows.empty:
        raise InputError(f"frame: none of {left_out:,} attempts has a length, nothing to draw")
    ids = frame.columns[: frame.columns.get_loc("measure")].tolist()
    groups = group_attempts(rows, ids or None)
    names = drawing.distinct([_group_name(key, groups.names) for key in groups.labels])
    ax = drawing.new_axes(ax, 3.6)
    from matplotlib.transforms import offset_copy

    low, high = float(rows["shortest"].min()), float(rows["longest"].max())
    ax.set_xscale("log" if low > 0 else "linear")
    ax.set_xlim(*(low / 1.6, high * 2.2) if low > 0 else (-0.05 * high - 0.5, 1.15 * high + 0.5))
    drawing.log_numbers(ax.xaxis)
    for number, name in enumerate(names):
        own = rows[groups.numbers == number]
        numbers = own[["median", "share", "low", "high", "shortest", "longest"]].astype("float64")
        at, share = numbers["median"], 100 * numbers["share"]
        apart = 4.0 * (number - (len(names) - 1) / 2)  # points beside each other
        shift = offset_copy(ax.transData, fig=ax.get_figure(root=True), x=apart, units="points")
        style: dict[str, Any] = {"color": PALETTE[number % len(PALETTE)], "transform": shift}
        marker = _MARKERS[number % len(_MARKERS)]
        ax.vlines(at, 100 * numbers["low"], 100 * numbers["high"], linewidth=1.6, **style)
        ax.plot(at, share, label=name, linewidth=0.9, marker=marker, markersize=6, **style)
        if len(names) == 1:
            ends = numbers["shortest"], numbers["longest"]
            ax.hlines(share, *ends, linewidth=1, alpha=0.5, **style)
            for x, y, valid, tried in zip(at, share, own["valid"], own["attempts"], strict=True):
                drawing.note(ax, f"{valid}/{tried}", (x, y), (7, 5))
    ax.set_ylim(-6, 106)
    x = _UNITS.get(measures[0], words(measures[0]))
    drawing.titled(ax, x=x, y="valid outputs (%)", grid="y")
    more = f"; {left_out:,} without a length left out" if left_out else ""
    title = f"Share of valid outputs by length{more}"
    drawing.legend_above(ax, title) if groups.names else drawing.titled(ax, title)
    return ax


def _group_name(key: object, columns: Sequence[str]) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return " / ".join(map(display_name, parts, columns)) if columns else label(key)


_SCORED_COLUMNS = ("metric", "corruption", "rate", "score")
#: Columns that a frame of scores may lack, and what they hold then.
_OPTIONAL_COLUMNS = {"profile": None, "measure": "score", "low": None, "high": None}
_STYLES = ("-", "--", ":", "-.")
_MOST = len(PALETTE) * len(_STYLES)
#: More lines than this are drawn without the bands of their intervals.
_MOST_WITH_BANDS = 8


def sensitivity(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the score against the rate of corruption, one line per corruption and metric or profile.

    Parameters
    ----------
    frame : pandas.DataFrame
        The result of ``xb.sensitivity``, or some of its rows; or any frame with the columns
        metric, corruption, rate (x, from 0) and score (y, 0 to 1), and optionally profile,
        measure (names y), low and high (ends of an interval).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One line per corruption and metric or profile; up to eight lines have their intervals as
        bands. If the frame is about documents (column ``document``), a dotted line shows 1 - rate:
        the score if exactly the corrupted places were lost.

    Raises
    ------
    InputError
        Columns or scores are missing, or there are more than 32 lines.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> own = {"metric": "mine", "corruption": "blur", "rate": [0, 0.5, 1], "score": [1, 0.8, 0.6]}
    >>> xb.plots.sensitivity(pd.DataFrame(own)).get_title(loc="left")
    'Score under corruption: blur, mine'
    """
    table = drawing.checked(frame, _SCORED_COLUMNS, "frame")
    table = table.assign(**{n: v for n, v in _OPTIONAL_COLUMNS.items() if n not in table})
    scored = table[table["score"].notna()]
    if scored.empty:
        raise InputError("frame: no row has a score")
    subjects = pd.Series(_subjects(scored), scored.index)
    keys = pd.MultiIndex.from_arrays([scored["corruption"], subjects])
    lines = {key: scored[keys == key].sort_values("rate") for key in keys.unique()}
    if len(lines) > _MOST:
        raise InputError(f"frame has {len(lines)} lines; choose rows of at most {_MOST}")
    ax = drawing.new_axes(ax, max(3.8, 1.2 + 0.19 * len(lines)))
    last = float(scored["rate"].max()) or 1.0
    ax.set(xlim=(0, last), ylim=(0, 1.03))
    # what all lines share is in the title
    varied = [i for i in (0, 1) if len(keys.levels[i]) > 1]
    # the colour is that of the corruption if there are several, the dashes are the other's
    colour_of = 0 if len(keys.levels[0]) > 1 else 1
    colours, dashes = (
        list(dict.fromkeys(key[i] for key in lines)) for i in (colour_of, 1 - colour_of)
    )
    for key, rows in lines.items():
        nth = colours.index(key[colour_of])
        dash = nth // len(PALETTE) + (dashes.index(key[1 - colour_of]) if len(dashes) > 1 else nth)
        numbers = rows[["rate", "score", "low", "high"]].astype("float64")
        style: dict[str, Any] = {"linewidth": 1.8, "marker": "o", "markersize": 3.5, "zorder": 3}
        style |= {"color": PALETTE[nth % len(PALETTE)], "linestyle": _STYLES[dash % len(_STYLES)]}
        name = words(" · ".join(key[i] for i in varied) or key[0])
        ax.plot(numbers["rate"], numbers["score"], label=name, **style)
        band = numbers.dropna()
        if len(lines) <= _MOST_WITH_BANDS and len(band):
            ends = band["rate"], band["low"], band["high"]
            ax.fill_between(*ends, color=style["color"], alpha=0.1, linewidth=0, zorder=2)
    of_documents = "document" in table and table["document"].notna().any()
    if of_documents:
        dots: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (1, 3))}
        ax.plot([0, last], [1, 1 - last], label="1 − rate", **dots)
    x = "rate"
    if "document" in table:
        of_places = "of the places that are corrupted"
        x += f": share {of_places if of_documents else 'of each value that is changed'}"
    measures = words(" or ".join(map(display_name, table["measure"].unique())))
    parts = [words(next(iter(lines))[i]) for i in (0, 1) if i not in varied]
    title = "Score under corruption" + (": " + ", ".join(parts) if parts else "")
    drawing.titled(ax, x=x, y=measures, grid="y")
    drawing.legend_above(ax, title)
    return ax


def _subjects(table: pd.DataFrame) -> list[str]:
    """Return the metric or profile of each row; a metric with its profile if it has several."""
    pairs = list(zip(table["metric"], table["profile"], strict=True))
    profiles = Counter(metric for metric, _ in set(pairs) if not pd.isna(metric))
    return [
        profile if pd.isna(metric) else f"{metric}, {profile}" if profiles[metric] > 1 else metric
        for metric, profile in pairs
    ]


_CURVE_COLUMNS = ("mode", "x", "metric", "score", "tables")
_IDEAL = "ideal"
#: Curves that are closer than this at every share cannot be told apart.
_COINCIDE = 0.005
_WHAT = {"rows": "each row", "columns": "each column", "both": "each row and column"}


def keep_curves(frame: pd.DataFrame, mode: str = "both", *, ax: Axes | None = None) -> Axes:
    """Draw the mean score against the probability of keeping rows or columns.

    Figure 6 of the PubTables-1M paper, for any metrics.

    Parameters
    ----------
    frame : pandas.DataFrame
        The result of ``xb.tables.keep_curves``, or some of its rows.
    mode : str, optional
        ``rows``, ``columns`` or ``both``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One line per metric; those that differ by less than 0.005 everywhere share one. The thick
        pale line is the ideal score, see ``xb.tables.keep_curves``.

    Raises
    ------
    InputError
        Columns are missing, or the frame has no rows of that mode.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> table = [["Year", "Sales"], [2023, 10], [2024, 12], [2025, 13]]
    >>> curves = xb.tables.keep_curves([table], rates=[0, 0.5, 1])
    >>> ax = xb.plots.keep_curves(curves, "rows")
    >>> ax.get_xlabel()
    'x: probability of keeping each row'
    """
    table = drawing.checked(frame, _CURVE_COLUMNS, "frame")
    drawing.known(mode, dict.fromkeys(table["mode"]), "mode")
    rows = table[(table["mode"] == mode) & table["score"].notna()].sort_values("x")
    if rows.empty:
        raise InputError(f"frame: no row of mode {mode!r} has a score")
    ax = drawing.new_axes(ax, 3.8)
    ideal = rows[rows["metric"] == _IDEAL]
    ax.plot(ideal["x"], ideal["score"], color=PALE, linewidth=6, solid_capstyle="round")
    lines = rows[rows["metric"] != _IDEAL].pivot_table(index="x", columns="metric", values="score")
    lines = lines[[name for name in dict.fromkeys(rows["metric"]) if name != _IDEAL]]
    groups: list[list[Any]] = []
    for name in lines:
        gaps = [(lines[group[0]] - lines[name]).abs().max() for group in groups]
        same = [group for group, gap in zip(groups, gaps, strict=True) if gap < _COINCIDE]
        if same:
            same[0].append(name)
        else:
            groups.append([name])
    for n, group in enumerate(groups):
        line = lines[group[0]].dropna()
        style: dict[str, Any] = {
            "color": PALETTE[n % len(PALETTE)],
            "ls": _STYLES[n // len(PALETTE) % len(_STYLES)],
        }
        ax.plot(line.index, line, linewidth=1.6, label=" = ".join(map(words, group)), **style)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    x = f"x: probability of keeping {_WHAT.get(mode, words(mode))}"
    y = f"mean score of {rows['tables'].max():,} tables"
    drawing.titled(ax, x=x, y=y, grid="y")
    drawing.legend_above(ax, f"Score by {words(mode)} kept; grey: 2s/(1+s) for a share s")
    return ax
