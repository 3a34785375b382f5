"""Whether parser and evaluator find what a simulation did: its record beside their outcomes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import canonical, json_type
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation import Evaluation, evaluate
from extractbench_nb.extraction.catalogue import CHANGED, CORRUPTIONS, KEPT
from extractbench_nb.extraction.given import DatasetLike, documents_of
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.extraction.reading import read_outputs
from extractbench_nb.extraction.simulation import Simulation
from extractbench_nb.inputs import Aligner
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile

__all__ = ["FOUND_COLUMNS", "REASONS", "SimulationCheck", "check_simulation"]

#: Why a change may be found as something else than what it is.
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "no value": "the output is not valid, and none of its fields is scored",
        "unpaired": "inside an item of an array that alignment gives no partner, so that the whole "
        "item is missed",
        "paired with another": "an item of an array that alignment pairs with another one, as like "
        "it or more so",
        "compared as a whole": "in an array that its field's metric compares as one value",
        "another type": "the value of another document is of another JSON type, which is found as "
        "structural",
        "tolerated": "the meaning was changed, and the field's metric forgives as much: a near "
        "number, a text that is alike",
        "not tolerated": "the meaning was kept, and the field's metric does not know it",
    }
)

FOUND_COLUMNS = FrameSpec(
    "changes",
    "one row a change, in the order of the record",
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
_THERE = ("present", "empty")
_INDEX = re.compile(r"\[(\d+)\]")

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
    """What was found again of a simulation; made by `check_simulation`.

    Parameters
    ----------
    run : str
        Name of the simulated run.
    failures : pandas.DataFrame
        How many outputs were made to fail in one way (rows) and found to fail in which (columns).
    changes : pandas.DataFrame
        One row a change; see `FOUND_COLUMNS`.
    """

    run: str
    failures: pd.DataFrame
    changes: pd.DataFrame

    @property
    def summary(self) -> pd.DataFrame:
        """One row a corruption: changes, agreed, each reason, unexplained."""
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
    """Put what parser and evaluator find beside what a simulation did.

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
        ``failures``, the injected ones by those that were found; ``changes``, one row a change,
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

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> from extractbench_nb.extraction.simulation import simulate
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
    options: dict[str, Any] = {"judge": judge, "alignment": alignment, "profile": profile}
    found: dict[Any, _Found] = {}
    for row in attempts[attempts["valid"]].to_dict("records"):
        schema, gold = dataset.schema(row["schema"]), dataset.gold(row["document"])
        found[row["document"]] = _Found(evaluate(schema, gold, row["value"], **options))
    record = simulation.record.itertuples(index=False)
    rows = [_row(change, found.get(change.document)) for change in record]
    return SimulationCheck(
        simulation.run,
        failures.reindex(index=order, columns=order, fill_value=0),
        FOUND_COLUMNS.from_rows(rows),
    )


def _expected(corruption: str) -> str | None:
    meaning = CORRUPTIONS[corruption].meaning
    by_meaning = {KEPT: _RIGHT, CHANGED: _WRONG}.get(meaning)
    return _EXPECTED.get(corruption, by_meaning)


def _row(change: Any, found: _Found | None) -> tuple[Any, ...]:
    expected = _expected(change.corruption)
    outcomes = [] if found is None else found.outcomes(change)
    wanted = {expected} if expected else {_RIGHT, _WRONG}
    agrees = bool(outcomes) and {*outcomes} <= wanted
    reason = None
    if found is None:
        reason = "no value"
    elif not agrees:
        reason = found.reason(change, expected, outcomes)
    return (
        *(change.run, change.document, change.path, change.corruption, expected),
        *(", ".join(outcomes) or None, agrees, reason),
    )


class _Leaf(NamedTuple):
    path: str
    outcome: str
    gold_state: str
    predicted_state: str
    predicted: Any


class _Found:
    """An evaluation, to look up what became of places and items."""

    def __init__(self, ev: Evaluation) -> None:
        self.leaves: dict[str, list[_Leaf]] = defaultdict(list)
        self.partners: dict[tuple[str, int], bool] = {}
        self.spurious: dict[str, set[str]] = defaultdict(set)
        self.arrays = set(ev.matches["path"])
        arrays = set(ev.arrays["path"])
        columns = (ev.fields[name].tolist() for name in _Leaf._fields)
        for leaf in map(_Leaf, *columns):
            if leaf.path not in arrays:
                for above in _prefixes(leaf.path):
                    self.leaves[above].append(leaf)
        for match in ev.matches.to_dict("records"):
            if pd.isna(match["gold_index"]):
                self.spurious[match["path"]].add(canonical(match["predicted"]))
            else:
                key = match["path"], int(match["gold_index"])
                self.partners[key] = match["status"] != "missed"

    def outcomes(self, change: Any) -> list[str]:
        """Return what is found where something was changed, each outcome once."""
        corruption = change.corruption
        if corruption == "merge_items":
            both = [self.partners.get((_array_of(change), change.item + n)) for n in (0, 1)]
            return [_MISSED] if False in both else []
        if _EXPECTED.get(corruption) == _SPURIOUS:
            there = self.spurious.get(_array_of(change), ())
            after = [change.after] if corruption == "spurious_items" else change.after
            return [_SPURIOUS] if any(canonical(item) in there for item in after) else []
        side = "predicted_state" if corruption == "hallucinate" else "gold_state"
        leaves = self.leaves.get(change.path, ())
        return sorted({leaf.outcome for leaf in leaves if getattr(leaf, side) in _THERE})

    def reason(self, change: Any, expected: str | None, outcomes: list[str]) -> str | None:
        """Return why something else is found than expected, or None."""
        return self._of_items(change) or _of_values(change, expected, outcomes)

    def _of_items(self, change: Any) -> str | None:
        """Return what became of the items that a change is in, where that is why."""
        for array, index in _items_above(change.path):
            if array not in self.arrays:
                return "compared as a whole"
            if self.partners.get((array, index)) is False:
                return "unpaired"
        leaves = self.leaves.get(change.path, ())
        elsewhere = CORRUPTIONS[change.corruption].level == "item" or not _is_there(change, leaves)
        return "paired with another" if elsewhere and _INDEX.search(change.path) else None


def _of_values(change: Any, expected: str | None, outcomes: list[str]) -> str | None:
    if CORRUPTIONS[change.corruption].level != "value":
        return None
    if expected == _WRONG and outcomes == [_RIGHT]:
        return "tolerated"
    if outcomes == ["structural"] and json_type(change.before) != json_type(change.after):
        return "another type"
    return "not tolerated" if expected == _RIGHT and outcomes == [_WRONG] else None


def _prefixes(path: str) -> Iterator[str]:
    """Yield a path and those of what it is inside of."""
    for place, letter in enumerate(path):
        if letter in ".[":
            yield path[:place]
    yield path


def _items_above(path: str) -> Iterator[tuple[str, int]]:
    """Yield the arrays that a path goes through, outermost first, and the index in each."""
    for found in _INDEX.finditer(path):
        yield path[: found.start()], int(found[1])


def _array_of(change: Any) -> str:
    path: str = change.path
    return path[: path.rindex("[")]


def _is_there(change: Any, leaves: Iterable[_Leaf]) -> bool:
    """Whether what was put in gold's place is what gold is compared with."""
    wanted = canonical(change.after)
    there = (leaf.predicted for leaf in leaves if leaf.predicted_state in _THERE)
    return any(canonical(value) == wanted for value in there)
