"""Where finished outputs go while a batch runs: to memory, or to a store on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from extractbench_nb.batch.arrow import record_batch, unpack
from extractbench_nb.batch.assemble import Result
from extractbench_nb.batch.columns import OWN_SUMMARY, PARTS
from extractbench_nb.batch.fingerprints import Fingerprints
from extractbench_nb.batch.inputs import Plan
from extractbench_nb.batch.store import Entry, Store
from extractbench_nb.batch.worker import Finished

__all__ = ["Keeper", "MemoryKeeper", "StoreKeeper"]

#: In place of the fingerprint of an output without all verdicts: equal to none, so that a batch
#: which is taken up evaluates it again.
_OPEN = b""


class Keeper(Protocol):
    """Keeps what is finished."""

    def has(self, place: int) -> bool:
        """Say whether the output at a place is finished already."""
        ...

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk."""
        ...


class MemoryKeeper:
    """Keeps results in memory.

    Parameters
    ----------
    plan : Plan
        The batch.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._finished: dict[int, Finished] = {}

    def has(self, place: int) -> bool:
        """Say whether the output at a place is finished."""
        return place in self._finished

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk."""
        self._finished.update({item.place: item for item in finished})

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for place in range(len(self._plan.cells)):
            found = self._finished[place]
            yield _result(self._plan, place, found.summary, found.parts)


class StoreKeeper:
    """Keeps results on disk; nothing stays in memory but a fingerprint while work is out.

    Parameters
    ----------
    plan : Plan
        The batch.
    store : Store
        Where to.
    """

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan = plan
        self._store = store
        self._fingerprints = Fingerprints(plan)
        self._out: dict[int, bytes] = {}

    def has(self, place: int) -> bool:
        """Say whether the output at a place was finished, all verdicts given, with these inputs."""
        cell = self._plan.cells[place]
        fingerprint = self._fingerprints.of(cell)
        if self._store.fingerprint(cell.run, cell.document) == fingerprint:
            return True
        self._out[place] = fingerprint
        return False

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk."""
        self._store.add(map(self._entry, finished))

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for place, cell in enumerate(self._plan.cells):
            entry = self._store.entry(cell.run, cell.document)
            self._check(entry)
            yield _result(self._plan, place, entry.summary, entry.parts)

    def _check(self, entry: Entry) -> None:
        """Refuse what no evaluation gives: the file may come from somebody else."""
        try:
            record_batch(OWN_SUMMARY, [entry.summary])
            for name, spec in PARTS.items():
                unpack(entry.parts[name], spec)
        except (ValueError, TypeError, OverflowError) as error:  # Arrow's and ours are ValueErrors
            self._store.refuse(f"run {entry.run!r}, document {entry.document!r}: {error}")

    def _entry(self, item: Finished) -> Entry:
        cell = self._plan.cells[item.place]
        fingerprint = self._out.pop(item.place)
        if not item.settled:
            fingerprint = _OPEN
        return Entry(cell.run, cell.document, fingerprint, item.summary, item.parts)


def _result(plan: Plan, place: int, summary: tuple[Any, ...], parts: Mapping[str, bytes]) -> Result:
    cell = plan.cells[place]
    ids = (cell.run, cell.document, cell.domain, cell.schema)
    return Result(ids, plan.extra_rows[place], summary, parts)
