"""Rows of ``fields`` as numbers, and which of them a person chose to see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.stats.breakdowns import chosen_rows, gather, refuse_missing

__all__ = [
    "AXES",
    "MEASURES",
    "ORDERS",
    "Axis",
    "Choice",
    "Coded",
    "Nodes",
    "Numbers",
    "Outputs",
    "Reals",
    "coded",
    "failed_by_every_run",
    "kept",
    "within",
]


#: What can be the rows or the columns of a heatmap.
AXES = ("field", "document", "run")

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

#: Reasons of rows whose output as a whole is no JSON.
_INVALID = ("invalid_output", "unparsable_json")
_NEEDED = (
    *("field", "path", "metric", "score", "passed", "outcome", "reason", "reasoning", "counted"),
    *("gold", "predicted", "gold_state", "predicted_state"),
)
_NOT_GIVEN = "(none)"


class Axis(NamedTuple):
    """What a row of `fields` belongs to: the item ``names[codes[i]]``, in order of appearance.

    ``names`` are all different; ``groups`` has the schema of each item, as a number, where items
    belong to one.
    """

    names: list[str]
    codes: Numbers
    groups: Numbers | None = None

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.names)

    @property
    def given(self) -> bool:
        """Whether any row says which item it belongs to."""
        return self.names not in ([], [_NOT_GIVEN])


class Outputs(NamedTuple):
    """The output that each row is of, the first row of each, and whether it is invalid."""

    codes: Numbers
    firsts: Numbers
    invalid: npt.NDArray[np.bool_]


class Nodes(NamedTuple):
    """What each row adds to the scores of its output, in which a node counts once.

    A node with several metrics has a row for each, and passes where all of them pass. ``share`` is
    the part of a row in its node and ``weight`` that part of the node's weight.
    """

    share: Reals
    weight: Reals
    score: Reals
    passed: npt.NDArray[np.bool_]


class Coded:
    """The rows of a source, with everything that is summed up as arrays of one entry a row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the form of ``Evaluation.fields``; run, document, domain and schema are optional.

    Attributes
    ----------
    frame : pandas.DataFrame
        The same.
    axes : dict of str to Axis
        ``field``, ``document`` and ``run``. A field of two schemas is two items.
    schemas, domains : Axis
        Of the same form.
    score : numpy.ndarray of float
        Scores in [0, 1]; a row without a verdict has 0.
    passed, counted, asked, invalid : numpy.ndarray of bool
        Whether a row passes, enters the scores, has a gold value, is of an invalid output.
    outcome : numpy.ndarray of int
        Places in `OUTCOMES`.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.schemas = _axis(frame, "schema")
        self.domains = _axis(frame, "domain")
        self.axes = {
            "field": _fields(_axis(frame, "field"), self.schemas),
            "document": _grouped(_axis(frame, "document"), self.schemas),
            "run": _axis(frame, "run"),
        }
        self.score = frame["score"].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64)
        passed = frame["passed"].astype("boolean").fillna(value=False)
        self.passed = passed.to_numpy(dtype=bool)
        self.counted = frame["counted"].to_numpy(dtype=bool)
        self.asked = frame["gold_state"].eq("present").fillna(value=False).to_numpy(dtype=bool)
        self.invalid = frame["reason"].isin(_INVALID).to_numpy(dtype=bool)
        self.outcome = _outcomes(frame["outcome"])

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.frame)

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs, a run's on one document each."""
        runs, documents = self.axes["run"], self.axes["document"]
        codes = _renumbered(runs.codes * documents.size + documents.codes)
        firsts = _first_rows(codes)
        invalid = np.bincount(codes[self.invalid], minlength=len(firsts)) > 0
        return Outputs(codes, firsts, invalid)

    @cached_property
    def nodes(self) -> Nodes:
        """What the rows add to the scores of their outputs, as `Evaluation.summary` counts."""
        fields = self.axes["field"]
        places = _renumbered(self.outputs.codes * fields.size + fields.codes)
        codes = _nodes(places, self.frame["path"])
        sizes = np.bincount(codes)
        unjudged = np.bincount(codes[self.frame["passed"].isna().to_numpy()], minlength=len(sizes))
        passes = np.bincount(codes[self.passed], minlength=len(sizes))
        share = 1.0 / sizes[codes]
        score = np.where(unjudged[codes] > 0, 0.0, self.score)
        return Nodes(share, share * _weights(self.frame), score, (passes == sizes)[codes])

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """For each axis the code of each name."""
        return {
            name: {item: code for code, item in enumerate(axis.names)}
            for name, axis in self.axes.items()
        }

    @cached_property
    def searched(self) -> list[str]:
        """Names of the fields without upper case."""
        return [name.casefold() for name in self.axes["field"].names]


def coded(source: object) -> Coded:
    """Gather the rows of a source and number what they belong to."""
    frame = gather(source, "fields")
    refuse_missing(frame, _NEEDED)
    chosen_rows(frame, counted=False)
    return Coded(frame)


def _nodes(places: Numbers, paths: pd.Series) -> Numbers:
    """Give a number to each path of an output's field; a row without one is a node of its own."""
    at = np.asarray(pd.factorize(paths)[0], dtype=np.int64)
    alone = -1 - np.arange(len(at))
    return _renumbered(np.where(at < 0, alone, places * (at.max(initial=0) + 1) + at))


def _weights(frame: pd.DataFrame) -> Reals:
    if "weight" not in frame.columns:
        return np.ones(len(frame))
    weights = frame["weight"].astype("Float64").fillna(1.0).to_numpy(dtype=np.float64)
    return np.maximum(weights, 0.0)


def _outcomes(column: pd.Series) -> Numbers:
    codes = pd.Categorical(column, categories=list(OUTCOMES)).codes
    return np.asarray(codes, dtype=np.int64)


def _axis(frame: pd.DataFrame, name: str) -> Axis:
    if name not in frame.columns:
        return Axis([_NOT_GIVEN] * min(1, len(frame)), np.zeros(len(frame), dtype=np.int64))
    codes, items = pd.factorize(frame[name], use_na_sentinel=False)
    texts = [_NOT_GIVEN if missing else str(item) for item, missing in _with_missing(items)]
    return Axis(_told_apart(texts), np.asarray(codes, dtype=np.int64))


def _with_missing(items: Any) -> Any:
    return zip(items, pd.isna(items), strict=True)


def _fields(fields: Axis, schemas: Axis) -> Axis:
    """Split fields by schema; those of two schemas are named with it."""
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


def _grouped(axis: Axis, schemas: Axis) -> Axis:
    """Give each item the schema of its first row."""
    return axis._replace(groups=schemas.codes[_first_rows(axis.codes)])


def _renumbered(codes: Numbers) -> Numbers:
    """Give codes new numbers, by their first appearance."""
    return np.asarray(pd.factorize(codes)[0], dtype=np.int64)


def _first_rows(codes: Numbers) -> Numbers:
    """Return the first row of each code, of codes that are numbered by appearance."""
    return np.asarray(np.unique(codes, return_index=True)[1], dtype=np.int64)


def _told_apart(names: Sequence[str]) -> list[str]:
    """Tell names that occur again apart: ``a``, ``a (2)``."""
    taken: dict[str, None] = {}
    for name in names:
        free, number = name, 2
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        taken[free] = None
    return list(taken)


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

Marked = npt.NDArray[np.bool_]


class Choice(NamedTuple):
    """What to show.

    ``rows`` and ``columns`` are two of `AXES`; ``schema`` and ``run`` name the only one to show,
    None for all; ``find`` is a part of a field's name.
    """

    rows: str = "field"
    columns: str = "document"
    measure: str = "score"
    row_order: str = "worst"
    column_order: str = "worst"
    schema: str | None = None
    run: str | None = None
    find: str = ""
    failed_by_every_run: bool = False
    inside_arrays: bool = False
    valid_only: bool = False

    @property
    def filters(self) -> list[str]:
        """The filters in words; empty where everything is shown."""
        given = [
            (self.schema is not None, f"schema {self.schema}"),
            (self.run is not None, f"run {self.run}"),
            (bool(self.find.strip()), f"fields with {self.find.strip()!r} in their name"),
            (self.failed_by_every_run, "fields failed by every run"),
            (self.valid_only, "without invalid outputs"),
        ]
        return [text for there, text in given if there]


def kept(rows: Coded, choice: Choice) -> Numbers:
    """Return the places of the rows that the filters leave."""
    chosen = np.ones(len(rows), dtype=bool) if choice.inside_arrays else rows.counted.copy()
    for axis, name in ((rows.schemas, choice.schema), (rows.axes["run"], choice.run)):
        if name is not None:
            chosen &= axis.codes == (axis.names.index(name) if name in axis.names else -1)
    if choice.valid_only:
        chosen &= ~rows.invalid
    fields = rows.axes["field"]
    wanted = choice.find.strip().casefold()
    if wanted:
        found = np.fromiter((wanted in name for name in rows.searched), dtype=bool)
        chosen &= found[fields.codes]
    places = np.flatnonzero(chosen)
    if choice.failed_by_every_run:
        places = places[failed_by_every_run(rows, places)[fields.codes[places]]]
    return places


def failed_by_every_run(rows: Coded, places: Numbers) -> Marked:
    """Tell the fields that gold has somewhere, and of which no run gets one row right."""
    fields = rows.axes["field"]
    asked = places[rows.asked[places]]
    right = asked[rows.passed[asked]]
    there, passes = (np.bincount(fields.codes[at], minlength=fields.size) for at in (asked, right))
    return np.asarray((there > 0) & (passes == 0))


def within(rows: Coded, places: Numbers, choice: Choice, block: tuple[Numbers, Numbers]) -> Numbers:
    """Return those of `places` that are in a block of the heatmap."""
    for name, codes in zip((choice.rows, choice.columns), block, strict=True):
        axis = rows.axes[name]
        wanted = np.zeros(axis.size, dtype=bool)
        wanted[codes] = True
        places = places[wanted[axis.codes[places]]]
    return places
