"""One array of an evaluation: the pairs of its items, what differs in them, other thresholds."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import Evaluation, MapItem, evaluate, find_causes
from extractbench_nb.core.schema import MISSING, NodeConfig
from extractbench_nb.core.values import bracketed, json_text, member, scalars
from extractbench_nb.errors import InputError
from extractbench_nb.stats import mismatch_kinds
from extractbench_nb.support.wording import fitted, value_text
from extractbench_nb.views.controls import rows_of
from extractbench_nb.views.sides import MOST, Side, beside

STATUSES = ("matched", "differing", "missed", "spurious")
#: Orders of rows, and the pandas method that sorts ``Evaluation.matches`` in this way.
ORDERS = {"failing": "differing first", "pairs": "gold's order", "similarity": "least alike first"}
SORTED = {
    "failing": '.sort_values("status", key=lambda s: s.replace("matched", "z"), kind="stable")',
    "pairs": "",
    "similarity": '.sort_values("similarity", kind="stable")',
}
_ARRAY_METRIC = "array_llm"
#: Thresholds of arrays, as they are if the schema does not declare others.
_USUAL = {"align_threshold": 0.5, "pass_threshold": 0.7}
#: Characters of a value in the list, and of a value in the detail until more is asked for.
_SHORT, _LONG = 90, 1_000
_MOST_LINES, _MOST_PLACES = 5, 200
_WIDEST = 120
_INDEX = re.compile(r"\[\+?\d+\]")
_QUOTED = re.compile(r"\['([A-Za-z_$][\w$-]*)'\]")
#: The step of an item: ``[3]``, ``[+3]``, or ``['key'][3]``.
_STEP = re.compile(r"^((?:\['(?:[^'\\]|\\.)*'\])?\[\+?\d+\])", re.DOTALL)

Values = tuple[Any, Any]
Sides = tuple[Side, Side]


class Row(NamedTuple):
    """A row of ``Evaluation.matches``: a pair of items, or an item without a partner."""

    gold_index: int | None
    predicted_index: int | None
    status: str
    similarity: float | None
    failed_fields: tuple[str, ...]
    gold: Any
    predicted: Any

    @property
    def pair(self) -> tuple[int | None, int | None]:
        """The indices of the gold and the predicted item."""
        return self.gold_index, self.predicted_index

    @property
    def is_pair(self) -> bool:
        """Whether the row has both a gold and a predicted item."""
        return None not in self.pair

    @property
    def title(self) -> str:
        """The items by index, with their keys in a map."""
        sides = zip(("gold item", "predicted item"), self.pair, self[-2:], strict=True)
        title = " and ".join(
            f"{name} {at}" + (f" ({fitted(item.key, 60)})" if isinstance(item, MapItem) else "")
            for name, at, item in sides
            if at is not None
        )
        return title[0].upper() + title[1:]


def ordered(rows: Iterable[Row], sort: str) -> list[Row]:
    """Sort rows in gold's order by one of `ORDERS`."""
    if sort == "failing":
        return sorted(rows, key=lambda row: row.status.replace("matched", "z"))
    if sort == "similarity":
        return sorted(rows, key=lambda row: (row.similarity is None, row.similarity or 0))
    return list(rows)


# --- values within items --------------------------------------------------------------------------


def plain(place: str) -> str:
    """Normalise the path of a place within an item: ``['a'].b`` becomes ``.a.b``."""
    return _QUOTED.sub(r".\1", place)


def label(place: str) -> str:
    """Write the path of a place within an item; empty for a scalar item."""
    return fitted(place.removeprefix("."), _WIDEST)


def values_by_place(row: Row) -> dict[str, Values]:
    """List the scalars and arrays of a pair of items, or of an item alone, by place.

    Items of two types, of which one is an object, are compared as a whole.
    """
    items = [item.item if isinstance(item, MapItem) else item for item in (row.gold, row.predicted)]
    if row.is_pair and isinstance(items[0], dict) != isinstance(items[1], dict):
        return {"": (items[0], items[1])}
    gold, predicted = (
        {} if at is None else _leaves(item) for at, item in zip(row.pair, items, strict=True)
    )
    places = dict.fromkeys((*gold, *predicted))
    if ("" in gold) != ("" in predicted) and row.is_pair:
        del places[""]  # an object without fields
    return {place: (gold.get(place, MISSING), predicted.get(place, MISSING)) for place in places}


def _leaves(item: Any) -> dict[str, Any]:
    """Return the scalars and arrays of an item, each with its place within the item."""
    leaves = {}
    stack = [("", item)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict) and value and len(place) < MOST:
            below = [(place + member(str(key)), inner) for key, inner in value.items()]
            stack.extend(reversed(below))
        else:
            leaves[plain(place)] = value
    return leaves


def short_sides(gold: Any, predicted: Any) -> Sides:
    """Write two values side by side, with differences marked; arrays as a list of their leaves."""
    values = [
        " · ".join(map(json_text, scalars(value))) or value if isinstance(value, list) else value
        for value in (gold, predicted)
    ]
    return beside(*values, limit=_SHORT, form="line")


# --- thresholds -----------------------------------------------------------------------------------


def thresholds_of(ev: Evaluation, field: str) -> tuple[dict[str, float], str]:
    """Return the declared thresholds of an array that can be changed, and why there are none."""
    config = _config(ev, field)
    if config is None:
        return {}, "The metric of this array has no thresholds."
    is_repeated = (ev.meta["judge"], ev.meta["alignment"]) == ("offline", "optimal")
    has_accepted = ev.fields["accepted_as"].notna().any() or ev.matches["accepted_as"].notna().any()
    if not is_repeated or has_accepted:
        return {}, "Thresholds are fixed: the evaluation had a judge, a matcher or alternatives."
    params = config.metrics[0].params
    return {name: float(params.get(name, usual)) for name, usual in _USUAL.items()}, ""


def evaluated_at(ev: Evaluation, field: str, values: Mapping[str, float]) -> Evaluation:
    """Evaluate again with other thresholds of an array."""
    config = _config(ev, field)
    assert config is not None  # noqa: S101 - it has thresholds
    spec = config.metrics[0]
    metric = {"metric_id": spec.metric_id, "params": {**spec.params, **values}}
    again = {"metrics": [metric], "aggregation_weight": config.weight}
    _, gold, predicted, _ = ev.inputs
    if isinstance(predicted, str):  # a text would be read as JSON
        predicted = json.dumps(predicted)
    return evaluate(ev.schema, gold, predicted, metrics={field: again}, profile=ev.profile)


def _config(ev: Evaluation, field: str) -> NodeConfig | None:
    configs = [node.config for node in ev.schema.nodes_of(field) if node.config is not None]
    metrics = [spec.metric_id for config in configs[:1] for spec in config.metrics]
    is_one = all(config == configs[0] for config in configs)
    return configs[0] if is_one and metrics == [_ARRAY_METRIC] else None


# --- the array ------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A place in a pair and its row of ``fields``; values come with the first metric only."""

    number: int
    name: str
    sides: tuple[Side, Side] | None
    #: None if the place is not scored.
    field: Any


class Board:
    """One array of an evaluation at the present thresholds.

    ``summary``, ``matches`` and ``fields`` are its rows of the frames; ``rows`` are its matches in
    gold's order. ``note`` says why thresholds cannot be changed.
    """

    def __init__(self, ev: Evaluation, path: str) -> None:
        self.path, self._ev = path, ev
        self.values: dict[str, float] = {}
        self._use(ev)
        self.evaluated = self.summary
        self.declared, self.note = thresholds_of(ev, self.summary["field"])

    def try_thresholds(self, values: Mapping[str, float]) -> None:
        """Evaluate at other thresholds, by name."""
        ev = evaluated_at(self._ev, self.summary["field"], values) if values else self._ev
        if self.path not in ev.arrays["path"].tolist():
            raise InputError(f"the items around {self.path!r} have no partner at {dict(values)}")
        self._use(ev)
        self.values = dict(values)

    def _use(self, ev: Evaluation) -> None:
        arrays, matches, fields = ev.arrays, ev.matches, ev.fields
        self.summary: pd.Series = arrays[arrays["path"] == self.path].iloc[0]
        self.matches = matches[matches["path"] == self.path].reset_index(drop=True)
        self.rows = list(map(Row._make, rows_of(self.matches[[*Row._fields]])))
        self._steps = _item_steps(self.rows)
        self._texts: dict[tuple[int | None, int | None], str] = {}
        fields = fields[fields["path"].str.startswith(self.path).astype(bool)]
        steps = fields["path"].str.slice(len(self.path)).str.extract(_STEP)[0]
        self.fields = fields.assign(
            step=steps, mismatch=pd.Series(mismatch_kinds(fields), fields.index, dtype=object)
        ).dropna(subset=["step"])
        failed = self.fields[~self.fields["passed"].fillna(False).astype(bool)]
        #: By item: its places that failed.
        self._failed: defaultdict[str, set[str]] = defaultdict(set)
        for path, step in failed[["path", "step"]].to_numpy():
            self._failed[step].add(plain(path[len(self.path) + len(step) :]))

        own = str(self.summary["field"])
        start = 0 if own == "$" else len(own)
        self._failing = {
            row.pair: {label(field[start:].partition("[]")[2]) for field in row.failed_fields}
            for row in self.rows
        }
        counts = Counter(name for names in self._failing.values() for name in names)
        #: How many pairs fail in each field, most first.
        self.sums = dict(counts.most_common())

    # --- rows ---------------------------------------------------------------------------------

    def row_of(self, pair: tuple[int | None, int | None]) -> Row | None:
        """Return the row of a pair; one index is enough where the other is None."""
        wanted = [(at, index) for at, index in enumerate(pair) if index is not None]
        rows = (row for row in self.rows if all(row.pair[at] == index for at, index in wanted))
        return next(rows, None) if wanted else None

    def start(self, row: Row) -> str:
        """Return the path of the item of a row, on gold's side where it has one."""
        return self.path + self._steps[row.pair]

    def holds(self, row: Row, path: str) -> bool:
        """Say whether a path is in the item of a row."""
        start = self.start(row)
        return path == start or path.startswith((f"{start}.", f"{start}["))

    def has_text(self, row: Row, text: str) -> bool:
        """Whether one of the two items contains a text, in any case of letters."""
        if row.pair not in self._texts:
            items = f"{value_text(row.gold)}\n{value_text(row.predicted)}"
            self._texts[row.pair] = items.casefold()
        return text.strip().casefold() in self._texts[row.pair]

    def failing(self, row: Row) -> set[str]:
        """Return the fields that a pair fails in, below the item."""
        return self._failing[row.pair]

    def is_failed(self, row: Row, place: str) -> bool:
        """Say whether a place of a pair did not pass."""
        failed = self._failed[self._steps[row.pair]]
        return row.is_pair and (place in failed or label(place) in self.failing(row))

    def commonest(self, field: str) -> tuple[Sides, int]:
        """Return the difference that most pairs have that fail in a field, and their number."""
        examples: defaultdict[tuple[str, ...], list[Values]] = defaultdict(list)
        for row in self.rows:
            if field in self.failing(row):
                values = (
                    both
                    for place, both in values_by_place(row).items()
                    if label(_INDEX.sub("[]", place)) == field and self.is_failed(row, place)
                )
                both = next(values, (row.gold, row.predicted))
                texts = ("missing" if value is MISSING else value_text(value) for value in both)
                examples[tuple(texts)].append(both)
        most = max(examples.values(), key=len)
        return short_sides(*most[0]), len(most)

    @property
    def cause(self) -> str:
        """Say how many items matched, and in which field most of the others fail."""
        counts = Counter(row.status for row in self.rows)
        gold = sum(row.gold_index is not None for row in self.rows)
        said = [f"{counts['matched']:,} of {gold:,} gold items matched"]
        said += [f"{counts[name]:,} {name}" for name in STATUSES[1:] if counts[name]]
        text = ", ".join(said) + "."
        why = "" if self.values else find_causes(self._ev, self.path).text.partition(" ")[2]
        return f"{text} {why[:1].upper()}{why[1:]}." if why else text

    def lines(self, row: Row, text: str = "") -> tuple[list[tuple[str, Sides, bool]], int]:
        """Write some places of a row, with whether each failed, and count the others.

        Of a pair that differs only what differs is written, unless a text is searched.
        """
        sought = text.strip().casefold()
        ranked = []
        for at, (place, both) in enumerate(values_by_place(row).items()):
            is_failed = self.is_failed(row, place)
            texts = (value_text(value).casefold() for value in both if value is not MISSING)
            is_hit = bool(sought) and any(sought in text for text in texts)
            ranked.append((not is_failed, not is_hit, at, place, both))
        if row.status == "differing" and not sought:
            ranked = [line for line in ranked if not line[0]] or ranked
        first = sorted(sorted(ranked)[:_MOST_LINES], key=lambda line: line[2])
        shown = [
            (label(place), short_sides(*both), not passed) for passed, _, _, place, both in first
        ]
        return shown, len(ranked) - len(first)

    # --- a pair in full -----------------------------------------------------------------------

    def places(self, row: Row, whole_of: Container[int]) -> tuple[list[Place], int]:
        """List the places of a pair or of an item alone by metric, and count those left out.

        `whole_of` has the numbers of the places whose values are shown in full.
        """
        start, values_at = self.start(row), values_by_place(row)
        fields = self.fields[self.fields["step"] == self._steps[row.pair]]
        found: list[tuple[str, Any]] = [
            (plain(str(field.path)[len(start) :]), field)
            for field in fields.itertuples()
            if field.outcome != "both_absent"
        ]
        scored = {place for place, _ in found}
        found += [
            (place, None)
            for place in values_at
            # of an undeclared array only the leaves are scored
            if place not in scored and not any(leaf.startswith(f"{place}[") for leaf in scored)
        ]
        places: list[Place] = []
        seen: set[str] = set()
        for number, (place, field) in enumerate(found[:_MOST_PLACES]):
            sides = None
            if place not in seen:
                values = values_at.get(place) or (
                    MISSING if field.gold_state == "missing" else field.gold,
                    MISSING if field.predicted_state == "missing" else field.predicted,
                )
                limit = MOST if number in whole_of else _LONG
                sides = beside(*values, limit=limit, form="indented")
            seen.add(place)
            places.append(Place(number, label(place) if sides else "", sides, field))
        return places, len(found) - len(places)

    def __str__(self) -> str:
        """Describe the array and its counts in one line."""
        counts = self.summary[["gold_items", "predicted_items"]].astype(int)
        head = f"{fitted(self.path, 90)} · {counts.iloc[0]:,} gold, {counts.iloc[1]:,} predicted "
        if self.summary["matched"] is pd.NA:
            return f"{head}items · not aligned"
        said = ", ".join(f"{int(self.summary[status]):,} {status}" for status in STATUSES)
        return f"{head}items · {said}"


def _item_steps(rows: Sequence[Row]) -> dict[tuple[int | None, int | None], str]:
    """Return the step of each item: ``[3]``, ``['key'][0]`` in a map, ``[+3]`` without gold."""
    of_key: Counter[str] = Counter()
    steps = {}
    for row in rows:
        steps[row.pair] = f"[+{row.predicted_index}]"
        if isinstance(row.gold, MapItem):
            steps[row.pair] = f"{bracketed(row.gold.key)}[{of_key[row.gold.key]}]"
            of_key[row.gold.key] += 1
        elif row.gold_index is not None:
            steps[row.pair] = f"[{row.gold_index}]"
    return steps
