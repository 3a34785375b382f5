"""State of the failure explorer: choices, the rows they select, the heatmap's sums, and bars."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import traitlets

from extractbench_nb.benchmark import display_name
from extractbench_nb.core import OUTCOMES, Evaluation
from extractbench_nb.core.frames import TEXT, as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.stats import chosen_rows, gather, mismatch_kinds
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import one_line, value_text
from extractbench_nb.views.controls import (
    SEARCHED,
    Page,
    Term,
    equal_term,
    page_of,
    shortened,
    text_code,
)
from extractbench_nb.views.controls import selection_code as code_of
from extractbench_nb.views.sides import Segment, alone, beside

if TYPE_CHECKING:
    from extractbench_nb.construction import TableComparison

#: What can be the rows or the columns of a heatmap.
AXES = ("field", "document", "run")

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Marked = npt.NDArray[np.bool_]

#: Reasons of rows whose whole output is not JSON.
INVALID_REASONS = ("invalid_output", "unparsable_json")
_NEEDED = (
    *("field", "path", "metric", "score", "passed", "outcome", "reason", "reasoning", "counted"),
    *("gold", "predicted", "gold_state", "predicted_state"),
)
NOT_GIVEN = "(none)"
#: What became of the items of an array.
ITEMS = ("matched", "differing", "missed", "spurious")
_HASH = re.compile(r"[0-9a-f]{8}")


class Axis(NamedTuple):
    """What a row of `fields` belongs to: ``names[codes[i]]``, by its `labels` on the page."""

    names: list[str]
    codes: Numbers
    labels: list[str]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.names)

    @property
    def given(self) -> bool:
        """Whether any row has a name on this axis."""
        return self.names not in ([], [NOT_GIVEN])


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


#: Documents a field, and the share of cells with rows, below which a heatmap is mostly empty.
_DENSE, _FILLED = 1.5, 0.5


class Coded:
    """The rows of a source as arrays, for fast counts; a row without a verdict scores 0."""

    def __init__(self, source: object) -> None:
        self.source = as_pandas(source)
        self.given, self.versions = _read(self.source)
        refuse_missing(self.given, _NEEDED)
        chosen_rows(self.given, counted=False)
        frame = self.frame = _with_kinds(self.given)
        schemas, documents = _axis(frame, "schema"), _axis(frame, "document")
        self.schemas = schemas._replace(labels=_schema_labels(schemas, documents))
        self.domains = _axis(frame, "domain")
        self.axes = {
            "field": _fields(_axis(frame, "field"), self.schemas),
            "document": documents,
            "run": _axis(frame, "run"),
        }
        #: What is compared: versions, whose runs are paired, or runs.
        self.compared = "version" if self.versions else "run"
        self.sides = _axis(frame, "version") if self.versions else self.axes["run"]
        self.score = frame["score"].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64)
        passed = frame["passed"].astype("boolean").fillna(value=False)
        self.passed = passed.to_numpy(dtype=bool)
        self.counted = frame["counted"].to_numpy(dtype=bool)
        self.asked = frame["gold_state"].eq("present").fillna(value=False).to_numpy(dtype=bool)
        self.invalid = frame["reason"].isin(INVALID_REASONS).to_numpy(dtype=bool)
        codes = pd.Categorical(frame["outcome"], categories=list(OUTCOMES)).codes
        self.outcome = np.asarray(codes, dtype=np.int64)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.frame)

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs: one per version, run and document."""
        runs, documents = self.axes["run"], self.axes["document"]
        of = runs.codes * documents.size + documents.codes
        if self.versions:
            of = of * self.sides.size + self.sides.codes
        codes = _renumbered(of)
        firsts = _first_rows(codes)
        invalid = np.bincount(codes[self.invalid], minlength=len(firsts)) > 0
        return Outputs(codes, firsts, invalid)

    @cached_property
    def nodes(self) -> Nodes:
        """What the rows add to the scores of their outputs, counted as in `Evaluation.summary`."""
        fields = self.axes["field"]
        places = _renumbered(self.outputs.codes * fields.size + fields.codes)
        codes = self._by_path(places)
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
    def firsts(self) -> dict[str, Numbers]:
        """For each axis the first row of each item."""
        return {name: _first_rows(axis.codes) for name, axis in self.axes.items()}

    def _by_path(self, places: Numbers) -> Numbers:
        """Give each path within `places` a number; a row without a path has its own."""
        at = np.asarray(pd.factorize(self.frame["path"])[0], dtype=np.int64)
        alone = -1 - np.arange(len(at))
        return _renumbered(np.where(at < 0, alone, places * (at.max(initial=0) + 1) + at))

    @cached_property
    def keys(self) -> Numbers:
        """The number of each row's document and path: what the compared sides have a value of."""
        runs, documents = self.axes["run"], self.axes["document"].codes
        return self._by_path(documents * runs.size + runs.codes if self.versions else documents)

    @cached_property
    def columns(self) -> dict[str, Axis]:
        """The columns of `fields` whose values can be asked for, and the axes, by name."""
        asked = {name: _axis(self.frame, name) for name in ASKED}
        more = {"schema": self.schemas, "domain": self.domains, self.compared: self.sides}
        return {**asked, **self.axes, **more}

    @cached_property
    def invented(self) -> Marked:
        """The fields that no schema declares: keys that a prediction made up."""
        fields = self.axes["field"]
        declared = self.frame["reason"].ne("undeclared").fillna(value=True).to_numpy(dtype=bool)
        return np.asarray(np.bincount(fields.codes[declared], minlength=fields.size) == 0)

    def is_sparse(self) -> bool:
        """Say whether a heatmap of fields by documents would be mostly empty."""
        fields, documents = self.axes["field"], self.axes["document"]
        pairs = np.unique(fields.codes * documents.size + documents.codes)
        return len(pairs) < min(_DENSE * fields.size, _FILLED * fields.size * documents.size)

    @cached_property
    def texts(self) -> list[str]:
        """What can be searched in each row: path, gold and predicted value, in small letters."""
        cells = zip(*(self.frame[name] for name in SEARCHED), strict=True)
        return ["\n".join(_written(c) for c in row if c is not None).lower() for row in cells]

    @cached_property
    def arrays(self) -> dict[tuple[str, ...], list[int]]:
        """Items matched, differing, missed and spurious, by version, run, document and path."""
        found: dict[tuple[str, ...], list[int]] = {}
        sources = self.source.items() if self.versions else [("", self.source)]
        for version, source in sources:
            try:
                arrays = None if isinstance(source, pd.DataFrame) else gather(source, "arrays")
            except InputError:
                arrays = None
            if arrays is None:
                continue
            arrays = arrays[arrays["matched"].notna()]
            ids = arrays.reindex(columns=["run", "document", "path"]).fillna(NOT_GIVEN)
            counts = arrays[list(ITEMS)].to_numpy(dtype=int).tolist()
            for key, numbers in zip(ids.itertuples(index=False), counts, strict=True):
                found[str(version), *map(str, key)] = numbers
        return found

    def output(self, at: int) -> tuple[str, str, str]:
        """Return version, run and document of a row."""
        axes = self.axes["run"], self.axes["document"]
        version = self.sides.names[self.sides.codes[at]] if self.versions else ""
        run, document = (axis.names[axis.codes[at]] for axis in axes)
        return version, run, document

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """For each axis the code of each name."""
        return {
            name: {item: code for code, item in enumerate(axis.names)}
            for name, axis in self.axes.items()
        }


def _read(source: object) -> tuple[pd.DataFrame, bool]:
    """Return the rows, and whether they are of versions that each have several runs."""
    if isinstance(source, Mapping):
        frames = {
            str(key): as_pandas(getattr(part, "fields", part)) for key, part in source.items()
        }
        found = [frame for frame in frames.values() if isinstance(frame, pd.DataFrame)]
        paired = all("run" in frame.columns for frame in found) and len(found) == len(frames)
        if paired and any(len(frame["run"].unique()) > 1 for frame in found):
            names = np.repeat([*frames], [len(frame) for frame in found])
            rows = gather([*source.values()], "fields")
            return rows.assign(version=pd.array(names, dtype=TEXT)), True
    return gather(source, "fields"), False


def _with_kinds(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the kind of mismatch of each row; cells of tables have it in their column ``kind``."""
    if "mismatch" in frame.columns or not {"gold", "predicted"} <= {*frame.columns}:
        return frame
    kinds = frame["kind"].tolist() if "kind" in frame.columns else mismatch_kinds(frame)
    return frame.assign(mismatch=pd.Series(kinds, index=frame.index, dtype=TEXT))


def _axis(frame: pd.DataFrame, name: str) -> Axis:
    if name not in frame.columns:
        names = [NOT_GIVEN] * min(1, len(frame))
        return Axis(names, np.zeros(len(frame), dtype=np.int64), names)
    codes, items = pd.factorize(frame[name], use_na_sentinel=False)
    absent = pd.isna(items)
    texts = [NOT_GIVEN if no else str(item) for item, no in zip(items, absent, strict=True)]
    labels = [
        display_name(None if no else text, name) for text, no in zip(texts, absent, strict=True)
    ]
    return Axis(_told_apart(texts), np.asarray(codes, dtype=np.int64), labels)


def _schema_labels(schemas: Axis, documents: Axis) -> list[str]:
    """Name schemas; one that has only a hash, by its first document."""
    firsts = documents.codes[_first_rows(schemas.codes)]
    return [
        f"schema of {documents.names[first]}" if _HASH.fullmatch(name) else label
        for name, label, first in zip(schemas.names, schemas.labels, firsts, strict=True)
    ]


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
    return Axis(_told_apart(names), codes, plain)


def _written(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a value of a document that Python itself cannot write
        return value_text(value)


def _renumbered(codes: Numbers) -> Numbers:
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


#: Which paths are shown by what runs make of them, and its words on the page.
COMPARISONS: Final = {
    "": "all",
    "disagree": "differences only",
    "gained": "gained: wrong in A, right in B",
    "lost": "lost: right in A, wrong in B",
    "all_wrong": "wrong in every run",
}
#: What one column of the failure modes can be about, and its words on the page.
MODES: Final = {
    "run": "run",
    "version": "version",
    "mismatch": "kind of mismatch",
    "field": "field",
    "document": "document",
    "schema": "schema",
    "domain": "domain",
    "outcome": "outcome",
}
#: The columns of `fields` whose values can be asked for, by the traits of the same names.
ASKED = ("outcome", "metric", "reason", "mismatch")


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
    outcome = traitlets.Unicode("")
    metric = traitlets.Unicode("")
    reason = traitlets.Unicode("")
    mismatch = traitlets.Unicode("")
    among = traitlets.Tuple()
    text = traitlets.Unicode("")
    failures_only = traitlets.Bool(False)
    a = traitlets.Unicode(None, allow_none=True)
    b = traitlets.Unicode(None, allow_none=True)
    compare = traitlets.Unicode("")
    modes_by = traitlets.Unicode("run")

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two runs or versions that are compared."""
        return None if self.a is None or self.b is None else (self.a, self.b)

    @property
    def only(self) -> list[str]:
        """The runs or versions that are shown; empty for all."""
        return list(dict.fromkeys(name for name in (self.a, self.b) if name is not None))


def filters_in_words(choice: Choice) -> list[str]:
    """Describe the active filters."""
    filters = [
        (choice.schema is not None, f"schema {choice.schema}"),
        (choice.run is not None, f"run {choice.run}"),
        (len(choice.only) == 1, " ".join(choice.only)),
        (bool(choice.compare), COMPARISONS[choice.compare]),
        (bool(choice.find.strip()), f"fields with {choice.find.strip()!r} in their name"),
        (choice.failed_by_every_run, "fields failed by every run"),
        (choice.valid_only, "without invalid outputs"),
    ]
    return [one_line(text, _LONGEST_FILTER) for is_active, text in filters if is_active]


def kept(rows: Coded, choice: Choice, *, compared: bool = True) -> Numbers:
    """Return the positions of the rows that pass the filters, or all but that of differences."""
    selected = np.ones(len(rows), dtype=bool) if choice.inside_arrays else rows.counted.copy()
    for axis, name in ((rows.schemas, choice.schema), (rows.axes["run"], choice.run)):
        if name is not None:
            selected &= axis.codes == (axis.names.index(name) if name in axis.names else -1)
    if choice.only:
        selected &= np.isin(rows.sides.codes, [rows.sides.names.index(n) for n in choice.only])
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
    if choice.compare and compared:
        places = places[verdicts(rows, places, choice)[choice.compare][rows.keys[places]]]
    return places


def verdicts(rows: Coded, places: Numbers, choice: Choice) -> dict[str, Marked]:
    """Mark the paths of each of `COMPARISONS`, by `Coded.keys`."""
    sides = rows.sides
    keys = rows.keys.max(initial=-1) + 1
    pairs = rows.keys[places] * sides.size + sides.codes[places]
    there = np.bincount(pairs, minlength=keys * sides.size).reshape(keys, sides.size)
    passes = np.bincount(pairs[rows.passed[places]], minlength=keys * sides.size)
    right = (there > 0) & (passes.reshape(there.shape) == there)
    wrong = (there > 0) & ~right
    found = {
        "disagree": right.any(axis=1) & wrong.any(axis=1),
        "all_wrong": wrong.any(axis=1) & ~right.any(axis=1),
    }
    if choice.pair is None:  # without two sides, nothing is gained or lost
        return found | dict.fromkeys(("gained", "lost"), np.zeros(keys, dtype=bool))
    a, b = (sides.names.index(name) for name in choice.pair)
    return found | {"gained": wrong[:, a] & right[:, b], "lost": right[:, a] & wrong[:, b]}


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


def listed(rows: Coded, places: Numbers, choice: Choice) -> Numbers:
    """Return those of `places` that the filters of the values leave."""
    asked = [(name, getattr(choice, name)) for name in ASKED]
    for name, wanted in [*asked, *([choice.among] if choice.among else [])]:
        if wanted:
            axis = rows.columns[name]
            code = axis.names.index(wanted) if wanted in axis.names else -1
            places = places[axis.codes[places] == code]
    if choice.failures_only:
        places = places[~rows.passed[places]]
    text = choice.text.strip().lower()
    if text:
        places = places[[text in rows.texts[at] for at in places]]
    return places


def ordered_keys(rows: Coded, places: Numbers) -> Numbers:
    """Return the keys of `places`, those with the most failures first, invented values last."""
    keys, firsts = np.unique(rows.keys[places], return_index=True)
    size = rows.keys.max(initial=-1) + 1
    failures = np.bincount(rows.keys[places[~rows.passed[places]]], minlength=size)[keys]
    made_up = rows.invented[rows.axes["field"].codes[places[firsts]]] & (failures > 0)
    return np.asarray(keys[np.lexsort((firsts, -failures, made_up))])


class Modes(NamedTuple):
    """How often rows fail, and why: one line per reason and metric, one column per item.

    Names are codes; the first total and the first count of a line are of all columns.
    """

    columns: list[int]
    totals: list[int]
    lines: list[tuple[int, int, list[int]]]
    more_lines: int
    more_columns: int


def modes(rows: Coded, places: Numbers, by: str, most: tuple[int, int] = (14, 12)) -> Modes:
    """Count the rows that do not pass; the first column has all of them."""
    failing = places[~rows.passed[places]]
    reasons, metrics, axis = (rows.columns[name] for name in ("reason", "metric", by))
    kinds, pairs = pd.factorize(reasons.codes[failing] * metrics.size + metrics.codes[failing])
    counts = np.zeros((len(pairs), axis.size), dtype=np.int64)
    np.add.at(counts, (kinds, axis.codes[failing]), 1)
    lines = np.argsort(-counts.sum(axis=1), kind="stable")
    columns = np.argsort(-counts.sum(axis=0), kind="stable")
    columns = columns[counts.sum(axis=0)[columns] > 0]
    shown = columns[: most[1]]
    listed_lines = [
        (
            int(pairs[line] // metrics.size),
            int(pairs[line] % metrics.size),
            [int(counts[line].sum()), *counts[line][shown].tolist()],
        )
        for line in lines[: most[0]]
    ]
    totals = [len(failing), *counts.sum(axis=0)[shown].tolist()]
    hidden = max(0, len(lines) - most[0]), max(0, len(columns) - most[1])
    return Modes(shown.tolist(), totals, listed_lines, *hidden)


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


def measured(
    rows: Coded, places: Numbers, groups: Numbers, size: int, choice: Choice, *axes: str
) -> Sums:
    """Sum rows by group; the means of two sides that are compared are B's less A's.

    They are plain means if what is compared is one of the `axes` that groups are of.
    """
    sums = counted(rows, places, groups, size)
    if choice.pair is None or rows.compared in axes:
        return sums
    ends = []
    for name in choice.pair:
        own = rows.sides.codes[places] == rows.sides.names.index(name)
        ends.append(counted(rows, places[own], groups[own], size))
    a, b = ends
    both = (a.rows > 0) & (b.rows > 0)
    score, rate = (
        np.where(both, end_b - end_a, np.nan)
        for end_a, end_b in ((a.mean_score, b.mean_score), (a.pass_rate, b.pass_rate))
    )
    return sums._replace(mean_score=score, pass_rate=rate)


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
    schema: str
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


def _side(
    rows: Coded, places: Numbers, choice: Choice, *, down: bool, number: int, present: Numbers
) -> Side:
    """Sort the items of one axis that have a row among those present, and describe a page."""
    name = choice.rows if down else choice.columns
    most = ROWS_A_PAGE if down else COLUMNS_A_PAGE
    axis = rows.axes[name]
    sums = measured(rows, places, axis.codes[places], axis.size, choice, name)
    order = choice.row_order if down else choice.column_order
    last = rows.invented if name == "field" else None
    if choice.pair is not None and name != rows.compared:  # losses, gains, then what is the same
        last = np.asarray((sums.mean_score == 0) & (sums.pass_rate == 0))
    ranks = _ranks(axis.names, sums, order, choice.measure, last)
    items = np.flatnonzero(np.bincount(axis.codes[present], minlength=axis.size))
    codes = items[np.argsort(ranks[items])]
    page = page_of(len(codes), number, most)
    shown = page.of(codes)
    wide = _WIDE_NAME if len(shown) <= FEW_COLUMNS else _NARROW_NAME
    lines = _lines(rows, places, name, sums, shown, _ROW_NAME if down else wide)
    known = int(np.count_nonzero(sums.rows))
    return Side(tuple(lines), codes, page, most, known)


def _ranks(names: list[str], sums: Sums, order: str, measure: str, last: Marked | None) -> Numbers:
    """Return the place of each item; of the worst, those marked as `last` come last."""
    size = len(names)
    if order == "document":
        return np.arange(size)
    if order == "name":
        items = np.array(sorted(range(size), key=lambda code: (names[code].casefold(), code)), int)
    else:
        value = sums.mean_score if measure == "score" else sums.pass_rate
        keys: tuple[Any, ...] = (np.arange(size), -sums.rows, sums.pass_rate, value)
        items = np.lexsort(keys if last is None else (*keys, last))
    ranks = np.empty(size, dtype=np.int64)
    ranks[items] = np.arange(size)
    return ranks


def _lines(
    rows: Coded, places: Numbers, name: str, sums: Sums, shown: Numbers, limit: int
) -> list[Line]:
    axis, outputs = rows.axes[name], rows.outputs
    schemas = (
        rows.schemas.codes[rows.firsts[name]] if name == "field" and rows.schemas.size > 1 else None
    )
    if name == "field":
        failed = failed_by_every_run(rows, places)
        produced = invalid = np.zeros(axis.size, dtype=np.int64)
    else:
        failed = np.zeros(axis.size, dtype=bool)
        is_shown = np.bincount(outputs.codes[places], minlength=len(outputs.firsts)) > 0
        owners = axis.codes[outputs.firsts]
        produced = np.bincount(owners[is_shown], minlength=axis.size)
        invalid = np.bincount(owners[is_shown & outputs.invalid], minlength=axis.size)
    return [
        Line(
            int(code),
            shortened(axis.labels[code], limit),
            one_line(axis.names[code], _LONGEST_TITLE),
            "" if schemas is None else one_line(rows.schemas.labels[schemas[code]], _WIDE_NAME),
            int(sums.rows[code]),
            float(rounded(sums.mean_score[code])),
            float(rounded(sums.pass_rate[code])),
            bool(failed[code]),
            int(produced[code]),
            int(invalid[code]),
        )
        for code in shown
    ]


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
    cells = _cells(rows, present, at * width + across, height * width, choice)
    table = tuple(tuple(cells[n * width : (n + 1) * width]) for n in range(height))
    return Grid(found[True], found[False], table)


def _cells(
    rows: Coded, places: Numbers, groups: Numbers, size: int, choice: Choice
) -> list[Cell | None]:
    sums = measured(rows, places, groups, size, choice, choice.rows, choice.columns)
    kinds = len(OUTCOMES)
    outcomes = np.bincount(groups * kinds + rows.outcome[places], minlength=size * kinds)
    order = [OUTCOMES.index(name) for name in _GRAVEST_FIRST]
    by_gravity = outcomes.reshape(size, kinds)[:, order]
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


#: Characters of a value: at first, and where all of it is asked for.
_SHOWN, LONGEST = 300, 100_000
#: Longer arrays are shown as numbers of items.
_LONGEST_ARRAY = 120
#: Names of rows and names of columns; nothing where no cell is chosen.
Block = tuple[tuple[str, ...], tuple[str, ...]] | tuple[()]


def text_of(value: Any) -> str:
    """Return a text, or an empty one for a missing value."""
    return value if isinstance(value, str) else ""


def value_sides(row: Mapping[str, Any], *, long: bool) -> tuple[list[Segment], list[Segment], bool]:
    """Return gold and predicted value with what differs marked, and whether that is all of them.

    A long array is a number of items until all of it is asked for.
    """
    values = [row["gold"], row["predicted"]]
    states = [text_of(row["gold_state"]), text_of(row["predicted_state"])]
    limit = LONGEST if long else _SHOWN
    texts = [value_text(value) for value in values]
    longest = max(map(len, texts))
    many = any(
        isinstance(value, list | tuple) and len(text) > _LONGEST_ARRAY
        for value, text in zip(values, texts, strict=True)
    )
    if many and not long:
        gold, predicted = (alone(v, s) for v, s in zip(values, states, strict=True))
        return gold, predicted, False
    room = 2 * limit if states == ["present", "present"] else limit
    return *beside(row["gold"], row["predicted"], states, limit=limit), longest <= room


def evaluation_of(
    source: Any, run: str, document: str, version: str = ""
) -> Evaluation | TableComparison | None:
    """Find or rebuild the result for one output in what `gather` reads; None without one."""
    if isinstance(source, Evaluation):
        return source
    if isinstance(source, Mapping) and version:
        named = {str(key): value for key, value in source.items()}
        return evaluation_of(named.get(version), run, document)
    if isinstance(source, Mapping):
        named = {str(key): value for key, value in source.items()}
        inner = named.get(run, named.get(document))
        return evaluation_of(inner, run, document)
    if isinstance(source, list | tuple):
        at = int(document) if document.isdecimal() else -1
        if 0 <= at < len(source) and isinstance(source[at], Evaluation):
            return evaluation_of(source[at], run, document)
        found = (evaluation_of(part, run, document) for part in source if _has(part, document))
        return next((ev for ev in found if ev is not None), None)
    rebuild = getattr(source, "evaluation", getattr(source, "comparison", None))
    return rebuild(run, document) if callable(rebuild) else None


def cell_of(row: Mapping[str, Any] | pd.Series[Any]) -> list[Any] | None:
    """Return side, row and column of a cell of two tables; None for any other row of `fields`."""
    for side, names in (
        ("gold", ("gold_row", "column")),
        ("predicted", ("predicted_row", "predicted_column")),
    ):
        at, column = (row.get(name) for name in names)
        if not (pd.isna(at) or pd.isna(column)):
            return [side, int(at), str(column)]
    return None


def _has(source: Any, document: str) -> bool:
    summary = getattr(source, "summary", None)
    if isinstance(summary, pd.DataFrame) and "document" in summary.columns:
        return document in summary["document"].tolist()
    return not isinstance(source, Evaluation | pd.DataFrame)


def selection_code(rows: Coded, choice: Choice, block: Block, found: Numbers, name: str) -> str:
    """Write an expression of one line that gives the rows `found` of a frame called `name`."""
    terms = [*_cells_terms(rows, choice, block), *_other_terms(rows, choice)]
    kept = np.ones(len(rows), dtype=bool)
    for _, mask in terms:
        kept &= np.asarray(pd.array(mask, dtype="boolean").fillna(value=False), dtype=bool)
    found = np.sort(found)
    by_place = f".iloc[{found.tolist()}]"
    is_same = np.array_equal(np.flatnonzero(kept), found)
    return code_of(name, terms, by_place) if is_same else name + by_place


def _cells_terms(rows: Coded, choice: Choice, block: Block) -> Iterator[Term]:
    """Write the conditions that columns have the names asked for, and compute them."""
    frame, fields = rows.frame, rows.axes["field"]
    if not choice.inside_arrays:
        yield 'f["counted"]', frame["counted"]
    asked: list[tuple[str, Sequence[str]]] = [
        (column, [wanted])
        for column, wanted in (
            *((trait, getattr(choice, trait)) for trait in ("schema", "run", *ASKED)),
            *([choice.among] if choice.among else []),
        )
        if wanted
    ]
    if choice.only:
        asked.append((rows.compared, choice.only))
    for column, names in [*asked, *zip((choice.rows, choice.columns), block, strict=False)]:
        if column == "field":
            codes = [rows.places["field"][field] for field in names]
            of_schema = rows.schemas.codes[rows.firsts["field"][codes]]
            schemas = {rows.schemas.names[code] for code in of_schema}
            plain = [fields.labels[code] for code in codes]
            if list(names) != plain and len(schemas) == 1:
                yield equal_term(frame, "schema", list(schemas))
            yield equal_term(frame, column, plain)
        elif column in frame.columns:
            yield equal_term(frame, column, names)


def _other_terms(rows: Coded, choice: Choice) -> Iterator[Term]:
    """Write and compute the conditions of the other filters that one line can say."""
    frame = rows.frame
    if choice.valid_only:
        invalid = list(INVALID_REASONS)
        yield f'~f["reason"].isin({invalid!r})', ~frame["reason"].isin(invalid)
    if choice.failures_only:
        yield '~f["passed"].fillna(False)', ~frame["passed"].fillna(value=False)
    if part := choice.find.strip():
        contains = frame["field"].str.contains(part, case=False, regex=False)
        yield f'f["field"].str.contains({part!r}, case=False, regex=False)', contains
    if text := choice.text.strip().lower():
        yield text_code(text), np.array([text in cells for cells in rows.texts], dtype=bool)
