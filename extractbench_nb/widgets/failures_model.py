"""State of the failure explorer: choices, the rows they select, the heatmap's sums, and bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import traitlets

from extractbench_nb.display.text import clean, one_line
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.stats.breakdowns import chosen_rows, gather, refuse_missing
from extractbench_nb.widgets.panes import Page, page_of

#: What can be the rows or the columns of a heatmap.
AXES = ("field", "document", "run")

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Marked = npt.NDArray[np.bool_]

#: Reasons of rows whose whole output is not JSON.
_INVALID = ("invalid_output", "unparsable_json")
_NEEDED = (
    *("field", "path", "metric", "score", "passed", "outcome", "reason", "reasoning", "counted"),
    *("gold", "predicted", "gold_state", "predicted_state"),
)
_NOT_GIVEN = "(none)"


class Axis(NamedTuple):
    """What a row of `fields` belongs to: ``names[codes[i]]``; `groups` are the items' schemas."""

    names: list[str]
    codes: Numbers
    groups: Numbers | None = None

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.names)

    @property
    def given(self) -> bool:
        """Whether any row has a name on this axis."""
        return self.names not in ([], [_NOT_GIVEN])


class Outputs(NamedTuple):
    """The number of each row's output; the first row of each output, and whether it is invalid."""

    codes: Numbers
    firsts: Numbers
    invalid: Marked


class Nodes(NamedTuple):
    """What each row adds to the scores of its output: its share of its node, or of its weight.

    A node has one row per metric, and passes if all of them pass.
    """

    share: Reals
    weight: Reals
    score: Reals
    passed: Marked


class Coded:
    """The rows of a source as arrays, for fast counts; a row without a verdict scores 0."""

    def __init__(self, source: object) -> None:
        frame = self.frame = gather(source, "fields")
        refuse_missing(frame, _NEEDED)
        chosen_rows(frame, counted=False)
        self.schemas = _axis(frame, "schema")
        self.domains = _axis(frame, "domain")
        documents = _axis(frame, "document")
        self.axes = {
            "field": _fields(_axis(frame, "field"), self.schemas),
            "document": documents._replace(groups=self.schemas.codes[_first_rows(documents.codes)]),
            "run": _axis(frame, "run"),
        }
        self.score = frame["score"].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64)
        passed = frame["passed"].astype("boolean").fillna(value=False)
        self.passed = passed.to_numpy(dtype=bool)
        self.counted = frame["counted"].to_numpy(dtype=bool)
        self.asked = frame["gold_state"].eq("present").fillna(value=False).to_numpy(dtype=bool)
        self.invalid = frame["reason"].isin(_INVALID).to_numpy(dtype=bool)
        codes = pd.Categorical(frame["outcome"], categories=list(OUTCOMES)).codes
        self.outcome = np.asarray(codes, dtype=np.int64)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.frame)

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs: one per run and document."""
        runs, documents = self.axes["run"], self.axes["document"]
        codes = _renumbered(runs.codes * documents.size + documents.codes)
        firsts = _first_rows(codes)
        invalid = np.bincount(codes[self.invalid], minlength=len(firsts)) > 0
        return Outputs(codes, firsts, invalid)

    @cached_property
    def nodes(self) -> Nodes:
        """What the rows add to the scores of their outputs, counted as in `Evaluation.summary`."""
        fields = self.axes["field"]
        places = _renumbered(self.outputs.codes * fields.size + fields.codes)
        at = np.asarray(pd.factorize(self.frame["path"])[0], dtype=np.int64)
        alone = -1 - np.arange(len(at))  # a row without a path is a node of its own
        codes = _renumbered(np.where(at < 0, alone, places * (at.max(initial=0) + 1) + at))
        sizes = np.bincount(codes)
        unjudged = np.bincount(codes[self.frame["passed"].isna().to_numpy()], minlength=len(sizes))
        passes = np.bincount(codes[self.passed], minlength=len(sizes))
        share = 1.0 / sizes[codes]
        score = np.where(unjudged[codes] > 0, 0.0, self.score)
        weights = np.ones(len(codes))
        if "weight" in self.frame.columns:
            declared = self.frame["weight"].astype("Float64").fillna(1.0)
            weights = np.maximum(declared.to_numpy(dtype=np.float64), 0.0)
        return Nodes(share, share * weights, score, (passes == sizes)[codes])

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """For each axis the code of each name."""
        return {
            name: {item: code for code, item in enumerate(axis.names)}
            for name, axis in self.axes.items()
        }


def _axis(frame: pd.DataFrame, name: str) -> Axis:
    if name not in frame.columns:
        return Axis([_NOT_GIVEN] * min(1, len(frame)), np.zeros(len(frame), dtype=np.int64))
    codes, items = pd.factorize(frame[name], use_na_sentinel=False)
    absent = pd.isna(items)
    texts = [_NOT_GIVEN if no else str(item) for item, no in zip(items, absent, strict=True)]
    return Axis(_told_apart(texts), np.asarray(codes, dtype=np.int64))


def _fields(fields: Axis, schemas: Axis) -> Axis:
    """Separate the fields of each schema; a name in several schemas gets its schema as prefix."""
    both = schemas.codes * max(1, fields.size) + fields.codes
    codes = _renumbered(both)
    firsts = _first_rows(codes)
    groups = schemas.codes[firsts]
    plain = [fields.names[code] for code in fields.codes[firsts]]
    often = Counter(plain)
    names = [
        f"{schemas.names[group]}: {name}" if often[name] > 1 else name
        for name, group in zip(plain, groups, strict=True)
    ]
    return Axis(_told_apart(names), codes, groups)


def _renumbered(codes: Numbers) -> Numbers:
    """Renumber codes by first appearance."""
    return np.asarray(pd.factorize(codes)[0], dtype=np.int64)


def _first_rows(codes: Numbers) -> Numbers:
    """Return the first row of each code; codes must be numbered by appearance."""
    return np.asarray(np.unique(codes, return_index=True)[1], dtype=np.int64)


def _told_apart(names: Sequence[str]) -> list[str]:
    """Make names unique: ``a``, ``a (2)``."""
    taken: dict[str, None] = {}
    for name in names:
        free, number = name, 2
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        taken[free] = None
    return list(taken)


_LONGEST_FILTER = 80

#: What the cells show, and its words on the page.
MEASURES: Final = {
    "score": "mean score",
    "pass_rate": "pass rate",
    "outcome": "most frequent outcome",
}
#: How rows and columns are sorted, and its words on the page.
ORDERS: Final = {
    "worst": "worst first",
    "name": "by name",
    "document": "document order",
}


class Choice(traitlets.HasTraits):
    """What to show; None is every schema or run, `find` a part of the names of fields."""

    rows = traitlets.Unicode("field")
    columns = traitlets.Unicode("document")
    measure = traitlets.Unicode("score")
    row_order = traitlets.Unicode("worst")
    column_order = traitlets.Unicode("worst")
    schema = traitlets.Unicode(None, allow_none=True)
    run = traitlets.Unicode(None, allow_none=True)
    find = traitlets.Unicode("")
    failed_by_every_run = traitlets.Bool(False)
    inside_arrays = traitlets.Bool(False)
    valid_only = traitlets.Bool(False)


def filters_in_words(choice: Choice) -> list[str]:
    """Describe the active filters."""
    filters = [
        (choice.schema is not None, f"schema {choice.schema}"),
        (choice.run is not None, f"run {choice.run}"),
        (bool(choice.find.strip()), f"fields with {choice.find.strip()!r} in their name"),
        (choice.failed_by_every_run, "fields failed by every run"),
        (choice.valid_only, "without invalid outputs"),
    ]
    return [one_line(text, _LONGEST_FILTER) for is_active, text in filters if is_active]


def kept(rows: Coded, choice: Choice) -> Numbers:
    """Return the positions of the rows that pass the filters."""
    selected = np.ones(len(rows), dtype=bool) if choice.inside_arrays else rows.counted.copy()
    for axis, name in ((rows.schemas, choice.schema), (rows.axes["run"], choice.run)):
        if name is not None:
            selected &= axis.codes == (axis.names.index(name) if name in axis.names else -1)
    if choice.valid_only:
        selected &= ~rows.invalid
    fields = rows.axes["field"]
    part = choice.find.strip().casefold()
    if part:
        is_match = np.array([part in name.casefold() for name in fields.names])
        selected &= is_match[fields.codes]
    places = np.flatnonzero(selected)
    if choice.failed_by_every_run:
        places = places[failed_by_every_run(rows, places)[fields.codes[places]]]
    return places


def failed_by_every_run(rows: Coded, places: Numbers) -> Marked:
    """Mark the fields that gold has at least once and that no run gets right in any row."""
    fields = rows.axes["field"]
    asked = places[rows.asked[places]]
    right = asked[rows.passed[asked]]
    rows_asked = np.bincount(fields.codes[asked], minlength=fields.size)
    rows_right = np.bincount(fields.codes[right], minlength=fields.size)
    return np.asarray((rows_asked > 0) & (rows_right == 0))


def within(rows: Coded, places: Numbers, choice: Choice, block: tuple[Numbers, Numbers]) -> Numbers:
    """Return those of `places` that are in a block of the heatmap."""
    for name, codes in zip((choice.rows, choice.columns), block, strict=True):
        axis = rows.axes[name]
        wanted = np.zeros(axis.size, dtype=bool)
        wanted[codes] = True
        places = places[wanted[axis.codes[places]]]
    return places


def shortened(text: str, limit: int) -> str:
    """Write a name on one line, with its middle left out if it is too long.

    Examples
    --------
    >>> shortened("balance.deferred_tax_assets.before", 20)
    'balance.de…ts.before'
    """
    ends = text if len(text) <= 4 * limit else text[: 2 * limit] + text[-2 * limit :]
    line = " ".join(clean(ends).split())
    if len(line) <= limit:
        return line
    last = (limit - 1) // 2
    return f"{line[: limit - 1 - last]}…{line[-last:]}"


class Sums(NamedTuple):
    """Per group: rows, those that pass, those of invalid outputs; means, 0 where no rows are."""

    rows: Numbers
    passed: Numbers
    invalid: Numbers
    mean_score: Reals
    pass_rate: Reals


def counted(rows: Coded, places: Numbers, groups: Numbers, size: int) -> Sums:
    """Sum rows by group."""
    outputs, nodes = rows.outputs, rows.nodes
    keys, pairs = pd.factorize(groups * len(outputs.firsts) + outputs.codes[places])
    owners = pairs // max(1, len(outputs.firsts))
    weighed = np.bincount(keys, weights=nodes.weight[places], minlength=len(pairs)) > 0
    weights = np.where(weighed[keys], nodes.weight[places], nodes.share[places])
    whole = np.bincount(keys, weights=weights, minlength=len(pairs))
    several = np.maximum(1, np.bincount(owners, minlength=size))

    def mean(values: Reals) -> Reals:
        per_output = np.bincount(keys, weights=weights * values, minlength=len(pairs)) / whole
        means = np.bincount(owners, weights=per_output, minlength=size) / several
        return np.asarray(np.round(means, 12))

    return Sums(
        np.bincount(groups, minlength=size),
        np.bincount(groups[rows.passed[places]], minlength=size),
        np.bincount(groups[rows.invalid[places]], minlength=size),
        mean(nodes.score[places]),
        mean(nodes.passed[places].astype(np.float64)),
    )


def rounded(values: Reals | float) -> Reals:
    """Round to four digits; only an exact 0 and an exact 1 become 0 and 1.

    Examples
    --------
    >>> rounded(np.array([0.0, 0.00001, 0.12345, 0.99999, 1.0])).tolist()
    [0.0, 0.0001, 0.1234, 0.9999, 1.0]
    """
    exact = np.asarray(values, dtype=np.float64)
    ends = (exact <= 0) | (exact >= 1)
    return np.where(ends, exact, np.clip(np.round(exact, 4), 0.0001, 0.9999))


#: Characters of a name in a row, in one of many columns, in one of few.
_ROW_NAME, _NARROW_NAME, _WIDE_NAME = 34, 24, 60
#: Up to this number, columns are wide.
FEW_COLUMNS = 8
ROWS_A_PAGE, COLUMNS_A_PAGE = 60, 40
_LONGEST_TITLE = 300
#: Of two outcomes that are as frequent, the one that is more of a fault is shown.
_GRAVEST_FIRST = (
    *("structural", "hallucination", "omission", "incorrect", "judge_error"),
    *("correct", "both_absent"),
)


class Line(NamedTuple):
    """A row or a column: its item, and what its rows of `fields` sum up to, over its outputs."""

    code: int
    name: str
    title: str
    group: str
    rows: int
    score: float
    pass_rate: float
    failed: bool
    outputs: int
    invalid: int


class Side(NamedTuple):
    """One page of an axis: `codes` are the items of all pages; `known` the filters leave."""

    lines: tuple[Line, ...]
    codes: Numbers
    page: Page
    most: int
    known: int
    grouped: bool


def _side(
    rows: Coded, places: Numbers, choice: Choice, *, down: bool, number: int, present: Numbers
) -> Side:
    """Sort the items of one axis that have a row among those present, and describe a page."""
    name = choice.rows if down else choice.columns
    most = ROWS_A_PAGE if down else COLUMNS_A_PAGE
    axis = rows.axes[name]
    sums = counted(rows, places, axis.codes[places], axis.size)
    order = choice.row_order if down else choice.column_order
    ranks = _ranks(axis.names, sums, order, choice.measure)
    schema_ranks = np.zeros(axis.size, dtype=np.int64)
    if axis.groups is not None:
        by_schema = counted(rows, places, axis.groups[axis.codes[places]], rows.schemas.size)
        schema_ranks = _ranks(rows.schemas.names, by_schema, order, choice.measure)[axis.groups]
    items = np.flatnonzero(np.bincount(axis.codes[present], minlength=axis.size))
    codes = items[np.lexsort((ranks[items], schema_ranks[items]))]
    page = page_of(len(codes), number, most)
    shown = page.of(codes)
    wide = _WIDE_NAME if len(shown) <= FEW_COLUMNS else _NARROW_NAME
    lines = _lines(rows, places, name, sums, shown, _ROW_NAME if down else wide)
    known = int(np.count_nonzero(sums.rows))
    return Side(lines, codes, page, most, known, len(np.unique(schema_ranks[items])) > 1)


def _ranks(names: list[str], sums: Sums, order: str, measure: str) -> Numbers:
    """Return the rank of each item in an order."""
    size = len(names)
    if order == "document":
        return np.arange(size)
    if order == "name":
        items = np.array(sorted(range(size), key=lambda code: (names[code].casefold(), code)), int)
    else:
        value = sums.mean_score if measure == "score" else sums.pass_rate
        items = np.lexsort((np.arange(size), -sums.rows, sums.pass_rate, value))
    ranks = np.empty(size, dtype=np.int64)
    ranks[items] = np.arange(size)
    return ranks


def _lines(
    rows: Coded, places: Numbers, name: str, sums: Sums, shown: Numbers, limit: int
) -> tuple[Line, ...]:
    axis, outputs, groups = rows.axes[name], rows.outputs, rows.axes[name].groups
    if name == "field":
        failed = failed_by_every_run(rows, places)
        produced = invalid = np.zeros(axis.size, dtype=np.int64)
    else:
        failed = np.zeros(axis.size, dtype=bool)
        is_shown = np.bincount(outputs.codes[places], minlength=len(outputs.firsts)) > 0
        owners = axis.codes[outputs.firsts]
        produced = np.bincount(owners[is_shown], minlength=axis.size)
        invalid = np.bincount(owners[is_shown & outputs.invalid], minlength=axis.size)
    return tuple(
        Line(
            int(code),
            shortened(axis.names[code], limit),
            one_line(axis.names[code], _LONGEST_TITLE),
            "" if groups is None else one_line(rows.schemas.names[groups[code]], _WIDE_NAME),
            int(sums.rows[code]),
            float(rounded(sums.mean_score[code])),
            float(rounded(sums.pass_rate[code])),
            bool(failed[code]),
            int(produced[code]),
            int(invalid[code]),
        )
        for code in shown
    )


class Cell(NamedTuple):
    """Statistics of a cell's rows: ``most`` of them have `outcome`; means are over outputs."""

    rows: int
    passed: int
    score: float
    pass_rate: float
    outcome: str
    most: int
    invalid: int


class Grid(NamedTuple):
    """One page of the heatmap; a cell without rows of `fields` is None."""

    rows: Side
    columns: Side
    cells: tuple[tuple[Cell | None, ...], ...]


def grid(rows: Coded, places: Numbers, choice: Choice, pages: tuple[int, int] = (0, 0)) -> Grid:
    """Return one page of the heatmap."""
    found: dict[bool, Side] = {}
    on_page: dict[bool, Numbers] = {}  # the place on the page of each item, -1 if it is not there
    axes = {True: rows.axes[choice.rows], False: rows.axes[choice.columns]}
    present = places
    for down in (False, True) if choice.columns == "field" else (True, False):
        number, axis = pages[0 if down else 1], axes[down]
        found[down] = _side(rows, places, choice, down=down, number=number, present=present)
        on_page[down] = np.full(axis.size, -1, dtype=np.int64)
        lines = [line.code for line in found[down].lines]
        on_page[down][lines] = np.arange(len(lines))
        present = present[on_page[down][axis.codes[present]] >= 0]
    height, width = len(found[True].lines), len(found[False].lines)
    at, across = (on_page[down][axes[down].codes[present]] for down in (True, False))
    cells = _cells(rows, present, at * width + across, height * width)
    table = tuple(tuple(cells[n * width : (n + 1) * width]) for n in range(height))
    return Grid(found[True], found[False], table)


def _outcomes(rows: Coded, places: Numbers, groups: Numbers, size: int) -> Numbers:
    """Count rows by group and outcome."""
    kinds = len(OUTCOMES)
    found = np.bincount(groups * kinds + rows.outcome[places], minlength=size * kinds)
    return found.reshape(size, kinds)


def _cells(rows: Coded, places: Numbers, groups: Numbers, size: int) -> list[Cell | None]:
    sums = counted(rows, places, groups, size)
    order = [OUTCOMES.index(name) for name in _GRAVEST_FIRST]
    by_gravity = _outcomes(rows, places, groups, size)[:, order]
    table = zip(
        sums.rows.tolist(),
        sums.passed.tolist(),
        rounded(sums.mean_score).tolist(),
        rounded(sums.pass_rate).tolist(),
        [_GRAVEST_FIRST[at] for at in by_gravity.argmax(axis=1)],
        by_gravity.max(axis=1).tolist(),
        sums.invalid.tolist(),
        strict=True,
    )
    return [Cell(*values) if values[0] else None for values in table]


_MOST_BARS = 12
_LONGEST_NAME = 26


class Bar(NamedTuple):
    """One group; ``counts`` has the outcomes that occur, ``rate`` is what `Bars.measure` says."""

    name: str
    title: str
    rows: int
    passed: int
    rate: float
    counts: tuple[tuple[str, int], ...]


class Bars(NamedTuple):
    """The groups of one breakdown, what their rates are, and how many groups there are beyond."""

    by: str
    measure: str
    more: int
    bars: tuple[Bar, ...]


def bars(rows: Coded, places: Numbers) -> list[Bars]:
    """Return the bars of one breakdown."""
    axes = {"domain": rows.domains, "schema": rows.schemas, "run": rows.axes["run"]}
    given = [name for name, axis in axes.items() if axis.given]
    shown = [name for name in given if name != "schema" or "domain" not in given]
    numbers = np.bincount(rows.outcome[places], minlength=len(OUTCOMES)).tolist()
    right = np.bincount(rows.outcome[places[rows.passed[places]]], minlength=len(OUTCOMES)).tolist()
    outcomes = tuple(
        Bar(name.replace("_", " "), name, n, passed, n / len(places), ((name, n),))
        for name, n, passed in zip(OUTCOMES, numbers, right, strict=True)
        if n
    )
    first = Bars("outcome", "share of rows", 0, outcomes)
    return [first, *(_by_axis(rows, places, n, axes[n]) for n in shown)]


def _by_axis(rows: Coded, places: Numbers, by: str, axis: Axis) -> Bars:
    codes = axis.codes[places]
    sums = counted(rows, places, codes, axis.size)
    outcomes = _outcomes(rows, places, codes, axis.size)
    there = np.flatnonzero(sums.rows)
    rates = sums.pass_rate if by == "run" else sums.passed / np.maximum(1, sums.rows)
    worst = there[np.lexsort((there, sums.mean_score[there], rates[there]))]
    found = tuple(
        Bar(
            shortened(axis.names[code], _LONGEST_NAME),
            one_line(axis.names[code], _LONGEST_TITLE),
            int(sums.rows[code]),
            int(sums.passed[code]),
            float(rounded(rates[code])),
            tuple((name, int(n)) for name, n in zip(OUTCOMES, outcomes[code], strict=True) if n),
        )
        for code in worst[:_MOST_BARS]
    )
    measure = "pass rate, mean over documents" if by == "run" else "share of rows that pass"
    return Bars(by, measure, len(worst) - len(found), found)
