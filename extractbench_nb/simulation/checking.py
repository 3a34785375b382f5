"""`check_simulation`: whether parser and evaluator find the recorded changes of a simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import PATH_STEP, bracketed, canonical, json_type, step_key
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

#: Reasons why the outcome of a change can differ from the expected one.
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "no value": "the output is not valid, so none of its fields is scored",
        "unpaired": "inside an array item that alignment leaves without a partner, so that the "
        "whole item is missed",
        "paired with another": "an array item, or a value inside it, that alignment pairs with a "
        "different item that is at least as similar",
        "compared as a whole": "inside an array or object that has a single outcome",
        "another type": "the value of another document is of a different JSON type, which is "
        "structural",
        "tolerated": "the meaning was changed, but the field's metric accepts the difference: a "
        "close number, a similar text",
        "not tolerated": "the meaning was kept, but the field's metric rejects the difference",
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
        Column("expected", "string", "expected outcome; missing if two are possible", "", True),
        Column("found", "string", "outcome; those of several fields with commas", "", True),
        Column("agrees", "bool", "whether the outcome is the expected one"),
        Column("reason", "string", "why it is not", ", ".join(REASONS), True),
    ),
)

_SPURIOUS, _MISSED = "spurious item", "missed item"
_RIGHT, _WRONG = "correct", "incorrect"
_OWN, _UNPAIRED, _PAIRED, _WHOLE = "own", "unpaired", "paired with another", "compared as a whole"
_PRESENT = ("present", "empty")


#: Expected outcomes that do not follow from whether the meaning is kept.
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

    Attributes
    ----------
    run : str
        Name of the simulated run.
    failures : pandas.DataFrame
        Number of outputs by injected failure (rows) and failure found (columns).
    changes : pandas.DataFrame
        One row per change; see `FOUND_COLUMNS`.
    """

    run: str
    failures: pd.DataFrame
    changes: pd.DataFrame

    @property
    def summary(self) -> pd.DataFrame:
        """One row per corruption, with counts: changes, agreed, each reason, unexplained."""
        rows = self.changes
        columns = {"changes": rows["agrees"].notna(), "agreed": rows["agrees"]}
        columns |= {reason: rows["reason"].eq(reason).fillna(value=False) for reason in REASONS}
        columns["unexplained"] = ~rows["agrees"] & rows["reason"].isna()
        found = pd.DataFrame({name: flags.astype("int64") for name, flags in columns.items()})
        order = [name for name in CORRUPTIONS if rows["corruption"].eq(name).any()]
        return found.groupby(rows["corruption"]).sum().reindex(order)

    @property
    def unexplained(self) -> pd.DataFrame:
        """The rows of `changes` with an unexpected outcome and no known reason."""
        rows = self.changes
        return rows[~rows["agrees"] & rows["reason"].isna()]

    def __repr__(self) -> str:
        """Count the failures and changes that were found."""
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
        The dataset of the simulation; or what `load_dataset` takes.
    judge, alignment, profile : object, optional
        See `evaluate`. Custom metrics in the schema are tested too.

    Returns
    -------
    SimulationCheck
        ``failures`` counts injected and found failures; ``changes`` has one row per change, with a
        reason (see `REASONS`) if the outcome is not the expected one; ``summary`` counts them.

    Raises
    ------
    InputError
        A document is not in the dataset, or as for `evaluate`.

    Notes
    -----
    Expected outcomes: omissions for values that were left out or set to null, hallucinations for
    invented values, spurious items for invented, duplicated and split items, a missed item for two
    merged ones, ``incorrect`` if the meaning of a value was changed and ``correct`` if it was kept.
    If it is unclear whether the meaning was kept, both are accepted. Invented values are looked up
    on the predicted side, all others at their path in gold.

    The record is verified as well. The output must contain the recorded value, at the index that
    its array item moved to; and gold's value must be compared with that value, or its item with a
    partner that the output has at that index. Otherwise the change neither agrees nor has a reason.

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> from extractbench_nb.simulation.outputs import simulate
    >>> ds = load_dataset()
    >>> made = simulate(ds, "GPT-5", seed=1)
    >>> len(check_simulation(made, ds).unexplained)
    0
    """
    source: object = simulation
    if not isinstance(source, Simulation):
        raise InputError(f"simulation is {type(source).__name__}; expected a result of simulate()")
    dataset = documents_of(dataset)
    attempts = read_outputs(simulation.outputs, dataset)
    failures = pd.crosstab(
        pd.Series(simulation.outputs["failure"].tolist(), name="injected"),
        pd.Series(attempts["failure"].tolist(), name="found"),
    )
    order = [name for name in FAILURES if name in {*failures.index, *failures.columns}]
    changes: dict[str, list[_Change]] = defaultdict(list)
    record = []
    recorded: Any = simulation.record.itertuples(index=False)
    for row in recorded:
        item = None if pd.isna(row.item) else int(row.item)
        change = _Change(row.path, row.corruption, item, row.before, row.after)
        changes[row.document].append(change)
        record.append((row.run, row.document, change))
    options: dict[str, Any] = {"judge": judge, "alignment": alignment, "profile": profile}
    found: dict[str, _Outcomes] = {}
    for valid in attempts[attempts["valid"]].to_dict("records"):
        document, value = valid["document"], valid["value"]
        gold = dataset.gold(document)
        output = _TracedOutput(gold, value, changes[document])
        ev = evaluate(dataset.schema(valid["schema"]), gold, value, **options)
        found[document] = _Outcomes(ev, output)
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
    """A recorded change; `item` is gold's index of an array item, or None."""

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


class _Layout(NamedTuple):
    """Where the items of a gold array are in the output.

    ``own`` maps gold's index of an item to its indices in the output, ``added`` to the indices of
    what a change put there, at least one of which is spurious. ``written`` holds the items that the
    record implies, with `MISSING` for items that are changed inside.
    """

    own: dict[int, list[int]]
    added: dict[int, list[int]]
    written: list[Any]


class _TracedItem(NamedTuple):
    """An array item above a place: its array, gold's index, and the output's items and layout."""

    array: str
    number: int
    items: list[Any]
    layout: _Layout

    @property
    def own(self) -> list[int]:
        """The indices of the item in the output."""
        return self.layout.own[self.number]


class _Trace(NamedTuple):
    """A place of gold in the output: the array items above it, its container and its value."""

    items: list[_TracedItem]
    box: Any
    value: Any

    def holds(self, change: _Change) -> bool:
        """Whether the output agrees with the record; items were checked by their `_Layout`."""
        if change.corruption == "omit":
            return self.value is MISSING and isinstance(self.box, dict)
        return change.level == ITEM or _equal(self.value, change.after)


class _TracedOutput:
    """An output and its record: where gold's places are in it, and their values."""

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

    def trace(self, path: str) -> _Trace | None:
        """Return the trace of a place of gold; None if the output contradicts the record."""
        gold, value, box = self._gold, self._value, None
        items: list[_TracedItem] = []
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
            traced = _TracedItem(above, key, value, layout)
            items.append(traced)
            gold = gold[key]
            value = value[traced.own[0]] if len(traced.own) == 1 else MISSING
        return _Trace(items, box, value)

    def value(self, path: str) -> Any:
        """Return the value at a place of gold; `MISSING` if there is none."""
        trace = self.trace(path)
        return MISSING if trace is None else trace.value

    def _layout(self, array: str, gold: Any, value: Any) -> _Layout | None:
        """Return the layout of an array's items if the output agrees with it."""
        if array not in self._layouts:
            are_lists = isinstance(gold, list) and isinstance(value, list)
            layout = self._laid_out(array, gold) if are_lists else None
            if layout is not None:
                same = len(layout.written) == len(value) and all(
                    item is MISSING or _equal(item, other)
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
            if change.item < len(gold) and _equal(other.before, change.after):
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


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return one is not MISSING and canonical(one) == canonical(other)


def _prefixes(path: str) -> list[str]:
    """Return the paths of everything that contains a path, root first, and the path itself."""
    return ["$", *(path[: step.end()] for step in PATH_STEP.finditer(path))]


def _steps(path: str) -> Iterator[tuple[str, str | int]]:
    """Yield the steps of a path: the path of the container, and the key or index in it."""
    for step in PATH_STEP.finditer(path):
        yield path[: step.start()], step_key(step)


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


class _Predicted(NamedTuple):
    """A predicted item, and the gold item that it is paired with."""

    item: Any
    partner: _Item | None


class _Outcomes:
    """The outcomes of an evaluation by place and by array item."""

    def __init__(self, ev: Evaluation, output: _TracedOutput) -> None:
        self.output = output
        self.leaves: dict[str, list[_Leaf]] = defaultdict(list)
        self.arrays: dict[str, list[_Leaf]] = {}
        self.values: dict[str, Any] = {}
        self.partners: dict[_Item, _Item | None] = {}
        self.theirs: dict[str, dict[int, _Predicted]] = defaultdict(dict)
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
                    self.theirs[array][index] = _Predicted(item, None if one is None else one[0])
        self.aligned = {array for array, _ in self.partners}

    def verdict(self, change: _Change) -> tuple[str | None, bool, str | None]:
        """Return the outcome of a change, whether it is the expected one, and why not."""
        if change.level == ITEM and change.item is None:
            return None, False, None
        outcomes = self._outcomes(change)
        names = ", ".join(outcomes) or None
        trace = self.output.trace(change.path)
        if trace is None or not trace.holds(change):
            return names, False, None
        wanted = {change.expected} if change.expected else {_RIGHT, _WRONG}
        agrees = bool(outcomes) and {*outcomes} <= wanted
        if change.level == VALUE:  # the outcome must be that of the changed value
            agrees = agrees and self._compares(change)
        elif change.corruption in ("hallucinate", "shuffle_items"):
            agrees = agrees and all(self._state(traced) == _OWN for traced in trace.items)
        return names, agrees, None if agrees else self._reason(change, trace, outcomes)

    def _outcomes(self, change: _Change) -> list[str]:
        """Return the different outcomes at the place of a change."""
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
        """Return the leaves at or below a change that no other change affects."""
        side = "predicted_state" if change.corruption == "hallucinate" else "gold_state"
        leaves = self.leaves.get(change.path) or self.arrays.get(change.path, [])
        found = []
        for leaf in leaves:
            inside = (above for above in _prefixes(leaf.path) if len(above) > len(change.path))
            other = leaf.path != change.path and leaf.path in self.output.touched
            other = other or any(above in self.output.changed for above in inside)
            if getattr(leaf, side) in _PRESENT and not other:
                found.append(leaf)
        return found

    def _compares(self, change: _Change) -> bool:
        """Whether gold's value is compared with the value that replaced it."""
        leaves = self.leaves.get(change.path, ())
        there = (leaf.predicted for leaf in leaves if leaf.predicted_state in _PRESENT)
        return any(_equal(value, change.after) for value in there)

    def _reason(self, change: _Change, trace: _Trace, outcomes: list[str]) -> str | None:
        """Return why the outcome is not the expected one, or None."""
        of_item = change.level == ITEM
        for traced in trace.items[:-1] if of_item else trace.items:
            if traced.array in self.aligned and (state := self._state(traced)) != _OWN:
                missed = {*outcomes} <= {"omission"}
                return state if state != _UNPAIRED or missed else None
        container = self._enclosing(change.path)
        if container is not None:
            value = self.output.value(container)
            return _WHOLE if _equal(value, self.values[container]) else None
        if of_item:
            return self._of_item(change, trace.items[-1])
        return self._of_value(change, outcomes)

    def _of_value(self, change: _Change, outcomes: list[str]) -> str | None:
        """Return why the outcome of a changed value is not the expected one, or None."""
        if change.level != VALUE:
            return None
        if outcomes == ["structural"] and json_type(change.before) != json_type(change.after):
            return "another type"
        if not self._compares(change):
            return None
        if change.expected == _WRONG and outcomes == [_RIGHT]:
            return "tolerated"
        return "not tolerated" if change.expected == _RIGHT and outcomes == [_WRONG] else None

    def _enclosing(self, path: str) -> str | None:
        """Return the path of the container above a place that is scored as a whole, or None."""
        for above in _prefixes(path)[:-1]:
            inside = (leaf.path for leaf in self.leaves.get(above, ()))
            if above in self.values and all(leaf == above for leaf in inside):
                return above
        return None

    def _state(self, traced: _TracedItem) -> str | None:
        """Return how an item of gold is paired; None if the output does not have the partner."""
        partner = self.partners.get((traced.array, traced.number), _UNKNOWN)
        own = [(traced.array, i) for i in traced.own]
        if partner == _UNKNOWN or not all(map(self._holds, [partner] if partner else own)):
            return None
        if partner is None:
            return _PAIRED if any(map(self._partner, own)) else _UNPAIRED
        predicted = self.theirs[partner[0]][partner[1]].item
        same = partner[0] == traced.array and any(
            _equal(traced.items[i], predicted) for i in traced.own
        )
        return _OWN if same else _PAIRED

    def _partner(self, theirs: _Item) -> _Item | None:
        return self.theirs[theirs[0]][theirs[1]].partner

    def _holds(self, theirs: _Item) -> bool:
        """Whether the output holds the evaluator's item at that index."""
        array, index = theirs
        known, items = self.theirs.get(array, {}), self.output.value(array)
        items = items if isinstance(items, list) else []
        return index in known and index < len(items) and _equal(items[index], known[index].item)

    def _of_item(self, change: _Change, traced: _TracedItem) -> str | None:
        """Return why the outcome of a changed item is not the expected one, or None."""
        if change.expected == _SPURIOUS:
            added = [(traced.array, i) for i in traced.layout.added.get(traced.number, ())]
            paired = added and all(self._holds(i) and self._partner(i) for i in added)
            return _PAIRED if paired else None
        if change.corruption == "merge_items":
            states = {self._state(traced._replace(number=traced.number + n)) for n in (0, 1)}
            return _PAIRED if _PAIRED in states and None not in states else None
        state = self._state(traced)
        if change.corruption != "shuffle_items":
            return state if state == _PAIRED else None
        if state != _OWN:
            return state
        reasons = []  # how items inside the item are paired
        for leaf in self._own_leaves(change):
            if leaf.outcome != _RIGHT:
                trace = self.output.trace(leaf.path)
                items = [] if trace is None else trace.items
                inner = (self._state(one) for one in items if len(one.array) > len(change.path))
                reasons.append(next((state for state in inner if state != _OWN), None))
        return reasons[0] if reasons and None not in reasons else None


def _placed(path: str, rows: pd.DataFrame, side: str) -> dict[Any, tuple[_Item, Any]]:
    """Return place and value of items by index; items of a map of arrays are in its arrays."""
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
