"""Worker processes with limits of memory and CPU time that survive what they evaluate."""

from __future__ import annotations

import dataclasses
import gc
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing.cases import make_case
from fuzzing.properties import Case, Checker, Failure, Stop
from fuzzing.shrinking import shrink, size

CPU_SECONDS = 2.0  # of one evaluation
OUTPUT_SECONDS = 20.0  # of one report or view
KILL_AFTER = 4  # further CPU seconds, for code that does not listen to signals
SILENCE = 900.0  # seconds without news after which a worker that waits is killed
MEMORY = 2**30  # bytes above what the worker has when a case begins
SHRINK_SECONDS = 15.0  # CPU seconds for making the example of one class smaller

_FORK = multiprocessing.get_context("fork")


@dataclass
class Report:
    """What a worker says about one case."""

    number: int
    evaluations: int
    slowest: float  # CPU seconds of one evaluation
    peak: int = 0  # bytes of memory that the worker has taken so far
    failures: list[tuple[Failure, Case]] = field(default_factory=list)


class Limits:
    """Stops an evaluation that takes too much CPU time; kills the process if it does not stop."""

    def __init__(self) -> None:
        self.slowest = 0.0
        self.label = _FORK.Array("c", 400)
        signal.signal(signal.SIGPROF, self._stop)

    def _stop(self, *_: object) -> None:
        raise Stop(self.label.value.decode())

    @contextmanager
    def __call__(self, label: str) -> Iterator[None]:
        seconds = OUTPUT_SECONDS if label.startswith("output") else CPU_SECONDS
        started = time.process_time()
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        # the kernel counts ticks, which drift from the exact time by some percent
        last = int(1.1 * (started + seconds)) + KILL_AFTER
        resource.setrlimit(resource.RLIMIT_CPU, (last, hard))
        self.label.value = label.encode()[:399]
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
            self.slowest = max(self.slowest, time.process_time() - started)


def limit_memory() -> None:
    """Allow the process so much more address space than it has now."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))


def work(connection: Any, seed: int, numbers: list[int]) -> None:
    """Check cases one after another and send a report about each."""
    os.nice(5)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    limits = Limits()
    checker = Checker(limit=limits)
    parent = multiprocessing.parent_process()
    for number in numbers:
        if parent is None or not parent.is_alive():
            return
        connection.send(number)
        limits.slowest, before = 0.0, checker.evaluations
        limit_memory()
        case = Case({}, {}, {})
        try:
            case = make_case(seed, number)
            failures = checker.check(case)
        except Exception:  # noqa: BLE001 - the fuzzer's own fault is reported like any other
            failures = [Failure("the fuzzer itself fails", "", traceback.format_exc()[-400:])]
        found = [(failure, case) for failure in failures]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        evaluations = checker.evaluations - before
        connection.send(Report(number, evaluations, limits.slowest, peak, found))
    connection.send(None)


def warm_up() -> None:
    """Load what is loaded on first use, so that no limit counts it."""
    for number in range(3):
        Checker().check(dataclasses.replace(make_case(0, number), outputs=True))
    gc.freeze()


def smallest(failure: Failure, case: Case) -> tuple[Failure, Case]:
    """The case made smaller on the profile that it fails in, in a process of its own."""
    if not failure.profile:  # a process that died: nothing to try again safely
        return failure, case
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_shrink, args=(sender, failure, case), daemon=True)
    process.start()
    sender.close()
    best = failure, case
    try:
        while (made := receiver.recv()) is not None:
            best = made
    except EOFError:  # it died on a smaller case: the last one stands
        pass
    process.join()
    return best


def _shrink(connection: Any, failure: Failure, case: Case) -> None:
    """Send each smaller case that still fails, then None."""
    checker, started = Checker(limit=Limits()), time.process_time()
    limit_memory()

    def fails(candidate: Case) -> bool:
        if time.process_time() > started + SHRINK_SECONDS:
            return False
        try:
            found = checker.check(candidate, (failure.profile,))
        except Exception:  # noqa: BLE001 - skip candidates that a check cannot read
            return False
        same = [other for other in found if other.kind == failure.kind]
        if same:
            connection.send((same[0], candidate))
        return bool(same)

    relation = case.relation if failure.kind.startswith("relation") else ""
    outputs = failure.kind.startswith("output")
    added = case.added if "additions" in failure.kind or "prediction" in failure.kind else []
    lean = dataclasses.replace(case, relation=relation, outputs=outputs, added=added)
    shrink(lean if fails(lean) else case, fails)
    connection.send(None)


@dataclass
class Worker:
    """A process, its cases, and what it was last heard to do."""

    seed: int
    numbers: list[int]
    process: Any = None
    connection: Any = None
    current: int | None = None
    heard: float = 0.0

    def start(self) -> None:
        """Begin, or go on with what is left."""
        self.connection, other = _FORK.Pipe(duplex=False)
        arguments = (other, self.seed, list(self.numbers))
        self.process = _FORK.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        other.close()
        self.heard = time.monotonic()

    def read(self) -> Iterator[Report]:
        """The next message; a worker that died is replaced, and its case reported."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            yield from self._died()
            return
        self.heard = time.monotonic()
        if isinstance(message, Report):
            self.numbers.remove(message.number)
            self.current = None
            yield message
        elif message is None:
            self.process.join()
        else:
            self.current = message

    def watch(self) -> None:
        """Kill a process that has been silent for too long."""
        if time.monotonic() - self.heard > SILENCE:
            self.process.kill()

    def _died(self) -> Iterator[Report]:
        self.process.join()
        if self.current is None and not self.numbers:
            return
        number = self.current if self.current is not None else self.numbers[0]
        name = signal.Signals(-self.process.exitcode).name if self.process.exitcode < 0 else "exit"
        failure = Failure(f"the process dies: {name}", "", f"case {number}")
        yield Report(number, 0, 0.0, 0, [(failure, make_case(self.seed, number))])
        self.numbers.remove(number)
        self.current = None
        self.start()


def run(seed: int, first: int, count: int, jobs: int) -> Iterator[Report]:
    """Reports about cases `first` to `first + count`, in no fixed order."""
    warm_up()
    numbers = range(first, first + count)
    workers = [Worker(seed, list(numbers[job::jobs])) for job in range(jobs)]
    for worker in workers:
        worker.start()
    while active := {w.connection: w for w in workers if w.numbers or w.process.is_alive()}:
        for ready in multiprocessing.connection.wait(list(active), timeout=5):
            worker = active[ready]
            had = bool(worker.numbers)
            yield from worker.read()
            if not worker.numbers and not had:
                worker.process.join()
        for worker in active.values():
            worker.watch()


def size_of(pair: tuple[Failure, Case]) -> int:
    """How long an example is."""
    return size(pair[1])
