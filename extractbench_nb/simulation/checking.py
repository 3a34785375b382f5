"""`check_simulation`: whether parser and evaluator find the recorded changes of a simulation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import bracketed, canonical, json_type
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.similarity import MapItem
from extractbench_nb.engine.traversal import Aligner
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.extraction.plans import DatasetLike, documents_of
from extractbench_nb.extraction.reading import read_outputs
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import MISSING
from extractbench_nb.simulation.catalogue import CHANGED, CORRUPTIONS, ITEM, KEPT, VALUE
from extractbench_nb.simulation.outputs import Simulation

#: Why a change may be found as something else than what it is.
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "no value": "the output is not valid, and none of its fields is scored",
        "unpaired": "inside an item of an array that alignment gives no partner, so that the whole "
        "item is missed",
        "paired with another": "an item of an array that alignment pairs with another one, as like "
        "it or more so, or something inside of such an item",
        "compared as a whole": "in an array or object that has one outcome, and nothing inside it",
        "another type": "the value of another document is of another JSON type, which is found as "
        "structural",
        "tolerated": "the meaning was changed, and the field's metric forgives as much: a near "
        "number, a text that is alike",
        "not tolerated": "the meaning was kept, and the field's metric does not know it",
    }
)

FOUND_COLUMNS = FrameSpec(
    "changes",
    "one row per change, in the order of the record",
    (
        Column("run", "string", "name of the run"),
        Column("document", "string", "document id"),
        Column("path", "string", "place in gold, with gold's indices"),
        Column("corruption", "string", "what was done"),
        Column("expected", "string", "what is to be found; missing where two things may", "", True),
        Column("found", "string", "what it finds; outcomes of several fields by commas", "", True),
        Column("agrees", "bool", "whether that is what was expected"),
        Column("reason", "string", "why not", ", ".join(REASONS), True),
    ),
)

_SPURIOUS, _MISSED = "spurious item", "missed item"
_RIGHT, _WRONG = "correct", "incorrect"
_OWN, _UNPAIRED, _PAIRED, _WHOLE = "own", "unpaired", "paired with another", "compared as a whole"
_THERE = ("present", "empty")


#: What is to be found, where what becomes of the meaning does not say it.
_EXPECTED: Mapping[str, str] = MappingProxyType(
    {
        "omit": "omission",
        "null_out": "omission",
        "drop_items": "omission",
        "hallucinate": "hallucination",
        "spurious_items": _SPURIOUS,
        "duplicate_items": _SPURIOUS,
        "split_items": _SPURIOUS,
        "merge_items": _MISSED,
        "wrong_type": "structural",
        "wrong_nesting": "structural",
    }
)


@dataclass(frozen=True, eq=False)
class SimulationCheck:
    """The recorded changes of a simulation that were found; made by `check_simulation`.

    Parameters
    ----------
    run : str
        Name of the simulated run.
    failures : pandas.DataFrame
        How many outputs were made to fail in one way (rows) and found to fail in which (columns).
    changes : pandas.DataFrame
        One row per change; see `FOUND_COLUMNS`.
    """

    run: str
    failures: pd.DataFrame
    changes: pd.DataFrame

    @property
    def summary(self) -> pd.DataFrame:
        """One row per corruption: changes, agreed, each reason, unexplained."""
        rows = self.changes
        columns = {"changes": rows["agrees"].notna(), "agreed": rows["agrees"]}
        columns |= {reason: rows["reason"].eq(reason).fillna(value=False) for reason in REASONS}
        columns["unexplained"] = ~rows["agrees"] & rows["reason"].isna()
        found = pd.DataFrame({name: flags.astype("int64") for name, flags in columns.items()})
        order = [name for name in CORRUPTIONS if rows["corruption"].eq(name).any()]
        return found.groupby(rows["corruption"]).sum().reindex(order)

    @property
    def unexplained(self) -> pd.DataFrame:
        """The changes that were found as something else for no reason that is known."""
        rows = self.changes
        return rows[~rows["agrees"] & rows["reason"].isna()]

    def __repr__(self) -> str:
        """Say how much was found."""
        table = self.failures.to_numpy()
        seen = self.changes["reason"].ne("no value").fillna(value=True)
        return (
            f"SimulationCheck of {self.run!r}: {table.trace()} of {table.sum()} failures found as "
            f"made, {int(self.changes['agrees'].sum()):,} of {int(seen.sum()):,} changes in valid "
            f"outputs; {len(self.unexplained)} without a reason"
        )


def check_simulation(
    simulation: Simulation,
    dataset: DatasetLike,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "strict",
) -> SimulationCheck:
    """Compare what parser and evaluator find with the recorded changes of a simulation.

    Parameters
    ----------
    simulation : Simulation
        From `simulate`.
    dataset : Dataset, str or path
        The one that it was made from; or what `load_dataset` takes.
    judge, alignment, profile : object, optional
        See `evaluate`. A metric of your own, in the schema, is tested like any other.

    Returns
    -------
    SimulationCheck
        ``failures``, the injected ones by those that were found; ``changes``, one row per change,
        with a reason (see `REASONS`) where it is found as something else; ``summary``,
        ``unexplained``.

    Raises
    ------
    InputError
        A document is not in the dataset; see `evaluate`.

    Notes
    -----
    What is expected: omissions where something was left out or made null, hallucinations where
    something was invented, spurious items for invented, doubled and split ones, a missed item for
    two that were run together, ``incorrect`` where a value's meaning was changed and ``correct``
    where it was kept. Where it is not clear what became of the meaning, both will do. An invention
    is looked for on the predicted side, everything else at its place in gold.

    Nothing is taken on trust. The output must hold what the record says, at the place where the
    items of its arrays went; and gold's value must be compared with what was put there, or its item
    with a partner that the output has at that index. A change of which this is not so neither
    agrees nor has a reason.

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> from extractbench_nb.simulation.outputs import simulate
    >>> ds = load_dataset()
    >>> made = simulate(ds, "GPT-5", seed=1)
    >>> len(check_simulation(made, ds).unexplained)
    0
    """
    given: object = simulation
    if not isinstance(given, Simulation):
        raise InputError(f"simulation is {type(given).__name__}; expected what simulate() makes")
    dataset = documents_of(dataset)
    attempts = read_outputs(simulation.outputs, dataset)
    failures = pd.crosstab(
        pd.Series(simulation.outputs["failure"].tolist(), name="injected"),
        pd.Series(attempts["failure"].tolist(), name="found"),
    )
    order = [name for name in FAILURES if name in {*failures.index, *failures.columns}]
    changes: dict[str, list[_Change]] = defaultdict(list)
    record = []
    made: Any = simulation.record.itertuples(index=False)
    for row in made:
        item = None if pd.isna(row.item) else int(row.item)
        change = _Change(row.path, row.corruption, item, row.before, row.after)
        changes[row.document].append(change)
        record.append((row.run, row.document, change))
    options: dict[str, Any] = {"judge": judge, "alignment": alignment, "profile": profile}
    found: dict[str, _Found] = {}
    for valid in attempts[attempts["valid"]].to_dict("records"):
        document, value = valid["document"], valid["value"]
        gold = dataset.gold(document)
        output = _TracedOutput(gold, value, changes[document])
        ev = evaluate(dataset.schema(valid["schema"]), gold, value, **options)
        found[document] = _Found(ev, output)
    rows = []
    for run, document, change in record:
        verdict: tuple[str | None, bool, str | None] = None, False, "no value"
        if document in found:
            verdict = found[document].verdict(change)
        rows.append((run, document, change.path, change.corruption, change.expected, *verdict))
    return SimulationCheck(
        simulation.run,
        failures.reindex(index=order, columns=order, fill_value=0),
        FOUND_COLUMNS.from_rows(rows),
    )


class _Change(NamedTuple):
    """A recorded change; of an item with gold's index, or None where it has none."""

    path: str
    corruption: str
    item: Any
    before: Any
    after: Any

    @property
    def level(self) -> str:
        return CORRUPTIONS[self.corruption].level

    @property
    def expected(self) -> str | None:
        by_meaning = {KEPT: _RIGHT, CHANGED: _WRONG}.get(CORRUPTIONS[self.corruption].meaning)
        return _EXPECTED.get(self.corruption, by_meaning)

    @property
    def array(self) -> str:
        return self.path[: self.path.rindex("[")]

    def items(self) -> list[Any]:
        """Return the items that were written."""
        if self.corruption == "drop_items":
            return []
        several = self.corruption in ("duplicate_items", "split_items")
        return self.after if several and isinstance(self.after, list) else [self.after]


# --- where gold's places are in the output ----------------------------------------------------

#: A step of an instance path: a name, a quoted key, or an index, with a plus if gold has no such.
_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\['((?:[^'\\]|\\.)*)'\]|\[\+?(\d+)\]", re.DOTALL)


class _Layout(NamedTuple):
    """Where the items of a gold array went.

    ``own`` are the indices of what stands for an item of gold, ``added`` those of what was put
    there by a change, one of which is too many. ``written`` is what the output holds if the record
    is right, with `MISSING` for an item that is changed inside.
    """

    own: dict[int, list[int]]
    added: dict[int, list[int]]
    written: list[Any]


class _Stop(NamedTuple):
    """An item on the way to a place: its array, gold's index, and what the output has there."""

    array: str
    number: int
    items: list[Any]
    layout: _Layout

    @property
    def own(self) -> list[int]:
        """The indices in the output of what stands for the item."""
        return self.layout.own[self.number]


class _Way(NamedTuple):
    """The way to a place of gold in the output: the items on it, what holds it, and what it is."""

    stops: list[_Stop]
    box: Any
    value: Any

    def holds(self, change: _Change) -> bool:
        """Whether the output has there what the record says; of items `_Layout` sees to it."""
        if change.corruption == "omit":
            return self.value is MISSING and isinstance(self.box, dict)
        return change.level == ITEM or _alike(self.value, change.after)


class _TracedOutput:
    """The output that a record is about: where gold's places are in it, and what they hold."""

    def __init__(self, gold: Any, value: Any, changes: Iterable[_Change]) -> None:
        self._gold, self._value = gold, value
        self.changed: set[str] = set()
        self.touched: set[str] = set()
        self._rewrites: dict[str, dict[int, _Change]] = defaultdict(dict)
        self._moves: dict[str, list[_Change]] = defaultdict(list)
        self._layouts: dict[str, _Layout | None] = {}
        for change in changes:
            *above, path = _prefixes(change.path)
            self.changed.add(path)
            self.touched.update(above)
            if change.level != ITEM or change.item is None:
                self.touched.add(path)
            elif change.corruption == "shuffle_items":
                self._moves[above[-1]].append(change)
            else:
                self._rewrites[above[-1]][change.item] = change

    def way(self, path: str) -> _Way | None:
        """Return the way to a place of gold; None if the output is not as the record says."""
        gold, value, box = self._gold, self._value, None
        stops: list[_Stop] = []
        for above, key in _steps(path):
            box = value
            if isinstance(key, str):
                gold, value = (
                    part.get(key, MISSING) if isinstance(part, dict) else MISSING
                    for part in (gold, value)
                )
                continue
            layout = self._layout(above, gold, value)
            if layout is None or key not in layout.own:
                return None
            stop = _Stop(above, key, value, layout)
            stops.append(stop)
            gold, value = gold[key], value[stop.own[0]] if len(stop.own) == 1 else MISSING
        return _Way(stops, box, value)

    def _layout(self, array: str, gold: Any, value: Any) -> _Layout | None:
        """Return where the items of an array are, if they are there."""
        if array not in self._layouts:
            lists = isinstance(gold, list) and isinstance(value, list)
            layout = self._laid_out(array, gold) if lists else None
            if layout is not None:
                same = len(layout.written) == len(value) and all(
                    item is MISSING or _alike(item, other)
                    for item, other in zip(layout.written, value, strict=True)
                )
                layout = layout if same else None
            self._layouts[array] = layout
        return self._layouts[array]

    def _laid_out(self, array: str, gold: list[Any]) -> _Layout:
        layout = _Layout({}, {}, [])
        order = list(range(len(gold)))
        moved = sorted(self._moves[array], key=lambda change: change.item)
        for change, other in zip(moved, moved[1:] + moved[:1], strict=True):
            if change.item < len(gold) and _alike(other.before, change.after):
                order[change.item] = other.item
        rewrites = self._rewrites[array]
        merged = {i + 1 for i, change in rewrites.items() if change.corruption == "merge_items"}
        for i in order:
            rewrite = rewrites.get(i)
            if rewrite is None and i in merged:
                continue
            corruption = None if rewrite is None else rewrite.corruption
            invented = corruption == "spurious_items"
            original = MISSING if f"{array}[{i}]" in self.touched else gold[i]
            written = [original] if rewrite is None or invented else []
            written += [] if rewrite is None else rewrite.items()
            indices = list(range(len(layout.written), len(layout.written) + len(written)))
            layout.written.extend(written)
            layout.own[i] = indices[:1] if invented else indices
            layout.added[i] = indices[1:] if invented else indices
            if corruption == "merge_items":
                layout.own[i + 1] = indices
        return layout


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return one is not MISSING and canonical(one) == canonical(other)


def _prefixes(path: str) -> list[str]:
    """Return a path and those of what it is inside of, the root first."""
    return ["$", *(path[: step.end()] for step in _STEP.finditer(path))]


def _steps(path: str) -> Iterator[tuple[str, str | int]]:
    """Yield the steps of a path: that of what it is a step in, and the key or index."""
    for step in _STEP.finditer(path):
        name, quoted, index = step.groups()
        key = name if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        yield path[: step.start()], int(index) if index else key


# --- what the evaluator says -------------------------------------------------------------------


class _Leaf(NamedTuple):
    path: str
    outcome: str
    gold_state: str
    predicted_state: str
    predicted: Any


#: An item of an array: path and index.
_Item: TypeAlias = tuple[str, int]


_UNKNOWN: _Item = ("", -1)


class _Theirs(NamedTuple):
    """A predicted item, and which item of gold it is paired with."""

    item: Any
    partner: _Item | None


class _Found:
    """An evaluation, to look up what became of places and items."""

    def __init__(self, ev: Evaluation, output: _TracedOutput) -> None:
        self.output = output
        self.leaves: dict[str, list[_Leaf]] = defaultdict(list)
        self.arrays: dict[str, list[_Leaf]] = {}
        self.values: dict[str, Any] = {}
        self.partners: dict[_Item, _Item | None] = {}
        self.theirs: dict[str, dict[int, _Theirs]] = defaultdict(dict)
        arrays = set(ev.arrays["path"])
        columns = (ev.fields[name].tolist() for name in _Leaf._fields)
        for leaf in map(_Leaf, *columns):
            self.values[leaf.path] = leaf.predicted
            if leaf.path in arrays:
                self.arrays[leaf.path] = [leaf]
                continue
            for above in _prefixes(leaf.path):
                self.leaves[above].append(leaf)
        for path, rows in ev.matches.groupby("path", sort=False):
            gold, predicted = (_placed(str(path), rows, side) for side in ("gold", "predicted"))
            pairs = zip(rows["gold_index"].tolist(), rows["predicted_index"].tolist(), strict=True)
            for ours, theirs in pairs:
                one, other = gold.get(ours), predicted.get(theirs)
                if one is not None:
                    self.partners[one[0]] = None if other is None else other[0]
                if other is not None:
                    (array, index), item = other
                    self.theirs[array][index] = _Theirs(item, None if one is None else one[0])
        self.aligned = {array for array, _ in self.partners}

    def verdict(self, change: _Change) -> tuple[str | None, bool, str | None]:
        """Return what is found of a change, whether that is what is expected, and why not."""
        if change.level == ITEM and change.item is None:
            return None, False, None
        outcomes = self._outcomes(change)
        names = ", ".join(outcomes) or None
        way = self.output.way(change.path)
        if way is None or not way.holds(change):
            return names, False, None
        wanted = {change.expected} if change.expected else {_RIGHT, _WRONG}
        agrees = bool(outcomes) and {*outcomes} <= wanted
        if change.level == VALUE:  # an outcome counts only if it is about what was put there
            agrees = agrees and self._compares(change)
        elif change.corruption in ("hallucinate", "shuffle_items"):
            agrees = agrees and all(self._state(stop) == _OWN for stop in way.stops)
        return names, agrees, None if agrees else self._reason(change, way, outcomes)

    def _outcomes(self, change: _Change) -> list[str]:
        """Return what is found where something was changed, each outcome once."""
        if change.corruption == "merge_items":
            pair = ((change.array, change.item + n) for n in (0, 1))
            return [_MISSED] if any(self.partners.get(one, 0) is None for one in pair) else []
        if change.expected == _SPURIOUS:
            theirs = self.theirs.get(change.array, {}).values()
            unpaired = {canonical(one.item) for one in theirs if one.partner is None}
            found = any(canonical(item) in unpaired for item in change.items())
            return [_SPURIOUS] if found else []
        outcomes = sorted({leaf.outcome for leaf in self._own_leaves(change)})
        if not outcomes and change.corruption == "drop_items":
            # a profile may give missed items no rows
            missed = self.partners.get((change.array, change.item), _UNKNOWN) is None
            return ["omission"] if missed else []
        return outcomes

    def _own_leaves(self, change: _Change) -> list[_Leaf]:
        """Return the leaves at or inside of a change, but for those that others changed too."""
        side = "predicted_state" if change.corruption == "hallucinate" else "gold_state"
        leaves = self.leaves.get(change.path) or self.arrays.get(change.path, [])
        found = []
        for leaf in leaves:
            inside = (above for above in _prefixes(leaf.path) if len(above) > len(change.path))
            other = leaf.path != change.path and leaf.path in self.output.touched
            other = other or any(above in self.output.changed for above in inside)
            if getattr(leaf, side) in _THERE and not other:
                found.append(leaf)
        return found

    def _compares(self, change: _Change) -> bool:
        """Whether what was put in gold's place is what gold is compared with."""
        leaves = self.leaves.get(change.path, ())
        there = (leaf.predicted for leaf in leaves if leaf.predicted_state in _THERE)
        return any(_alike(value, change.after) for value in there)

    def _reason(self, change: _Change, way: _Way, outcomes: list[str]) -> str | None:
        """Return why something else is found than expected, or None."""
        of_item = change.level == ITEM
        for stop in way.stops[:-1] if of_item else way.stops:
            if stop.array in self.aligned and (state := self._state(stop)) != _OWN:
                missed = {*outcomes} <= {"omission"}
                return state if state != _UNPAIRED or missed else None
        whole = self._whole(change.path)
        if whole is not None:
            at = self.output.way(whole)
            return _WHOLE if at is not None and _alike(at.value, self.values[whole]) else None
        return self._of_item(change, way.stops[-1]) if of_item else self._of_value(change, outcomes)

    def _of_value(self, change: _Change, outcomes: list[str]) -> str | None:
        """Return why a value is found as something else, where it is what gold is compared with."""
        if change.level != VALUE:
            return None
        if outcomes == ["structural"] and json_type(change.before) != json_type(change.after):
            return "another type"
        if not self._compares(change):
            return None
        if change.expected == _WRONG and outcomes == [_RIGHT]:
            return "tolerated"
        return "not tolerated" if change.expected == _RIGHT and outcomes == [_WRONG] else None

    def _whole(self, path: str) -> str | None:
        """Return what a place is inside of that has an outcome, where nothing inside has one."""
        for above in _prefixes(path)[:-1]:
            inside = (leaf.path for leaf in self.leaves.get(above, ()))
            if above in self.values and all(leaf == above for leaf in inside):
                return above
        return None

    def _state(self, stop: _Stop) -> str | None:
        """Return what an item of gold is paired with; None if the output does not hold that."""
        partner = self.partners.get((stop.array, stop.number), _UNKNOWN)
        own = [(stop.array, i) for i in stop.own]
        if partner == _UNKNOWN or not all(map(self._shows, [partner] if partner else own)):
            return None
        if partner is None:
            return _PAIRED if any(map(self._partner, own)) else _UNPAIRED
        there = self.theirs[partner[0]][partner[1]].item
        same = partner[0] == stop.array and any(_alike(stop.items[i], there) for i in stop.own)
        return _OWN if same else _PAIRED

    def _partner(self, theirs: _Item) -> _Item | None:
        return self.theirs[theirs[0]][theirs[1]].partner

    def _shows(self, theirs: _Item) -> bool:
        """Whether an item that the evaluator has is the one that the output holds."""
        array, index = theirs
        known, way = self.theirs.get(array, {}), self.output.way(array)
        items = way.value if way is not None and isinstance(way.value, list) else []
        return index in known and index < len(items) and _alike(items[index], known[index].item)

    def _of_item(self, change: _Change, stop: _Stop) -> str | None:
        """Return what became of an item that is changed itself, where that is why."""
        if change.expected == _SPURIOUS:
            added = [(stop.array, i) for i in stop.layout.added.get(stop.number, ())]
            paired = added and all(self._shows(i) and self._partner(i) for i in added)
            return _PAIRED if paired else None
        if change.corruption == "merge_items":
            states = {self._state(stop._replace(number=stop.number + n)) for n in (0, 1)}
            return _PAIRED if _PAIRED in states and None not in states else None
        state = self._state(stop)
        if change.corruption != "shuffle_items":
            return state if state == _PAIRED else None
        if state != _OWN:
            return state
        reasons = []  # what became of items inside the item
        for leaf in self._own_leaves(change):
            if leaf.outcome != _RIGHT:
                way = self.output.way(leaf.path)
                stops = [] if way is None else way.stops
                inner = (self._state(one) for one in stops if len(one.array) > len(change.path))
                reasons.append(next((state for state in inner if state != _OWN), None))
        return reasons[0] if reasons and None not in reasons else None


def _placed(path: str, rows: pd.DataFrame, side: str) -> dict[Any, tuple[_Item, Any]]:
    """Return place and value of items by index; those of a map of arrays in their own arrays."""
    known = rows[rows[f"{side}_index"].notna()].sort_values(f"{side}_index")
    found: dict[Any, tuple[_Item, Any]] = {}
    seen: dict[str, int] = defaultdict(int)
    for index, item in zip(known[f"{side}_index"].tolist(), known[side].tolist(), strict=True):
        place, value = (path, index), item
        if isinstance(item, MapItem):
            array = path + bracketed(item.key)
            place, value = (array, seen[array]), item.item
            seen[array] += 1
        found[index] = place, value
    return found
