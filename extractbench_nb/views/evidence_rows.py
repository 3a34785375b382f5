"""Values of the evidence view: gold and predicted leaves in pairs, with their places in the PDF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.schema import MISSING
from extractbench_nb.core.values import PATH_STEP, value_at
from extractbench_nb.pdf import ground_values, leaves
from extractbench_nb.views.static import score_text

#: Outcomes of values that are as they should be, or that are not scored.
RIGHT = frozenset({"correct", "both_absent", "matched", ""})
#: What is known of a value: whether it is in the PDF, or that it cannot be searched.
FINDINGS = ("found", "not_found", "not_searched")


class Leaf(NamedTuple):
    """A leaf of one side, and its best place; ``is_found`` is None if it cannot be searched."""

    path: str
    value: Any
    is_found: bool | None
    page: int | None
    score: float | None

    @property
    def finding(self) -> str:
        """What is known of the value, one of `FINDINGS`."""
        return "not_searched" if self.is_found is None else FINDINGS[not self.is_found]

    @property
    def place(self) -> str:
        """The best place in words."""
        if self.is_found:
            return f"● page {self.page} · {score_text(self.score)}"
        return "· not searched" if self.is_found is None else "○ not found"


class Row(NamedTuple):
    """A gold and a predicted leaf that belong together; None for a side without one.

    ``path`` is the path in `Evaluation.fields`: that of gold, or of a spurious item, ``[+3]``.
    """

    number: int
    path: str
    sides: dict[str, Leaf | None]
    outcome: str = ""
    cited: tuple[tuple[int, str], ...] = ()

    def kinds(self, corrected: Collection[str] = ()) -> set[str]:
        """Return the names of the filters that list this row."""
        found = {self.outcome, *(verdict for _, verdict in self.cited)}
        if self.outcome not in RIGHT:
            found.add("failed")
        found |= {f"{side}_{leaf.finding}" for side, leaf in self.sides.items() if leaf}
        return found | {"corrected" for path in corrected if self.is_within(path)}

    def is_within(self, path: str) -> bool:
        """Whether the row is at a path or below it."""
        return self.path == path or self.path.startswith((f"{path}.", f"{path}["))


def leaf_frame(ds: Any, document: Any, value: Any, *, has_pdf: bool) -> pd.DataFrame:
    """Return one row per leaf of a value, as `ground_values` does; without a PDF, no places."""
    if has_pdf:
        return ground_values(ds, document, value)
    frame = pd.DataFrame(leaves(value), columns=["path", "field", "value"], dtype=object)
    return frame.reindex(columns=[*frame, "grounded", "evidence_page", "evidence_score"])


def _leaves_of(frame: pd.DataFrame) -> dict[str, Leaf]:
    places = frame[["grounded", "evidence_page", "evidence_score"]].astype(object)
    places = places.where(places.notna(), None)
    cells = zip(frame["path"], frame["value"], *(places[name] for name in places), strict=True)
    return {path: Leaf(path, value, *place) for path, value, *place in cells}


def rows_of(
    frames: Mapping[str, pd.DataFrame], ev: Evaluation | None, citations: pd.DataFrame | None
) -> list[Row]:
    """Pair the leaves of two sides, in gold's order; an unpaired one follows its neighbour."""
    sides = {side: _leaves_of(frame) for side, frame in frames.items()}
    if ev is None:
        ((side, found),) = sides.items()
        return [Row(at, path, {side: leaf}) for at, (path, leaf) in enumerate(found.items())]
    gold, outcomes = sides["gold"], _outcomes(ev)
    predicted = _in_paths_of_gold(sides["predicted"], ev.matches)
    unpaired = defaultdict[str, list[str]](list)
    neighbour = ""
    for path in predicted:
        neighbour = path if path in gold else neighbour
        if path not in gold:
            unpaired[neighbour].append(path)
    cited = defaultdict[str, list[tuple[int, str]]](list)
    if citations is not None:
        for path, page, verdict in citations[["path", "page", "verdict"]].itertuples(index=False):
            cited[path].append((page, verdict))
    rows = list[Row]()
    for path in (*unpaired[""], *(path for own in gold for path in (own, *unpaired[own]))):
        leaf = predicted.get(path)
        pair = {"gold": gold.get(path), "predicted": leaf}
        places = tuple(cited[leaf.path]) if leaf else ()
        rows.append(Row(len(rows), path, pair, _nearest(path, outcomes), places))
    return rows


def first_row(rows: Sequence[Row]) -> Row:
    """Return the first row that fails; of these, the first with a value that was found."""
    failing = [row for row in rows if row.outcome not in RIGHT] or rows
    found = (row for row in failing if any(leaf and leaf.is_found for leaf in row.sides.values()))
    return next(found, failing[0])


def _in_paths_of_gold(predicted: Mapping[str, Leaf], matches: pd.DataFrame) -> dict[str, Leaf]:
    """Name predicted leaves by the paths in gold of the items that theirs are matched with."""
    arrays = frozenset(matches["path"])
    pairs = matches[["path", "predicted_index", "gold_index"]].dropna()
    items = {(path, at): f"{path}[{gold}]" for path, at, gold in pairs.itertuples(index=False)}
    named = {}
    for leaf in predicted.values():
        path = "$"
        for step in PATH_STEP.finditer(leaf.path):
            is_item = path in arrays and step[3] is not None
            path = (
                items.get((path, int(step[3])), f"{path}[+{step[3]}]")
                if is_item
                else path + step[0]
            )
        named[path] = leaf
    return named


def unpaired_items(matches: pd.DataFrame) -> dict[str, str]:
    """Return the status of each item without a partner, by its path in `Evaluation.fields`."""
    names = ["path", "gold_index", "predicted_index", "status"]
    return {
        f"{path}[+{predicted}]" if gold is pd.NA else f"{path}[{gold}]": status
        for path, gold, predicted, status in matches[names].itertuples(index=False)
        if gold is pd.NA or predicted is pd.NA
    }


def _outcomes(ev: Evaluation) -> dict[str, str]:
    """Return outcomes by path; of several metrics, that of the first that fails.

    An aligned array has none, because its items tell it.
    """
    fields = ev.fields[~ev.fields["path"].isin(ev.matches["path"])]
    fields = fields.sort_values("passed", kind="stable", na_position="first")
    first = fields.drop_duplicates("path")
    return unpaired_items(ev.matches) | dict(zip(first["path"], first["outcome"], strict=True))


def _nearest(path: str, outcomes: Mapping[str, str]) -> str:
    """Return the outcome of a value, or of the nearest value above that was scored as a whole."""
    while path:
        if path in outcomes:
            return outcomes[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return ""


class Place(NamedTuple):
    """What can be corrected: a path in gold, and the values there, `MISSING` if there is none."""

    path: str
    gold: Any
    predicted: Any


def place_of(row: Row, sides: Mapping[str, Any], unpaired: Collection[str]) -> Place:
    """Return what can be corrected for a row: an item that only one side has, as a whole."""
    leaf, path = row.sides.get("predicted"), row.path
    other = leaf.path if leaf else ""
    for depth, step in enumerate(PATH_STEP.finditer(path)):
        if path[: step.end()] in unpaired:
            path = path[: step.end()]
            if other:
                other = other[: [*PATH_STEP.finditer(other)][depth].end()]
            break
    predicted = value_at(sides["predicted"], other, MISSING) if other else MISSING
    return Place(path, value_at(sides["gold"], path, MISSING), predicted)
