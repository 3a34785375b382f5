"""Fuzz `extractbench_nb.evaluate` with random schemas, golds and predictions, in all profiles.

    python scripts/fuzz_evaluator.py --triples 50000 --seed 0 --jobs 2

Each evaluation may use 2 s of CPU time and 1 GB of memory. Each failure is appended to the output
file when it is found: class, seed, number of the case, profile, detail. To repeat a case, run
``--first NUMBER --triples 1`` with the same seed. At the end, and after Ctrl-C, one example of each
class is made smaller and printed as one JSON line: ``schema``, ``gold``, ``predicted`` and what was
added to the prediction. ``{"$python": kind}`` stands for a Python value that JSON does not have.
The last lines are a table of the run. The exit status is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from fuzzing.properties import PROFILES, Case, Failure
from fuzzing.workers import Report, run, size_of, smallest


class Classes:
    """Failures by class: how many by profile, and the smallest example."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.examples: dict[str, tuple[Failure, Case, int]] = {}

    def add(self, report: Report) -> None:
        """Count a report's failures."""
        for failure, case in report.failures:
            self.counts.setdefault(failure.kind, Counter())[failure.profile] += 1
            known = self.examples.get(failure.kind)
            if known is None or size_of((failure, case)) < size_of(known[:2]):
                self.examples[failure.kind] = (failure, case, report.number)

    def shrink(self) -> None:
        """Make the example of each class smaller."""
        for kind, (failure, case, number) in self.examples.items():
            self.examples[kind] = (*smallest(failure, case), number)

    def lines(self) -> list[str]:
        """One JSON line per class, the most frequent first."""
        order = sorted(self.counts, key=lambda kind: -self.counts[kind].total())
        return [json.dumps(self._line(kind)) for kind in order]

    def _line(self, kind: str) -> dict[str, object]:
        failure, case, number = self.examples[kind]
        shown = {
            "class": kind,
            "count": dict(self.counts[kind]),
            "case": number,
            "profile": failure.profile,
            "detail": failure.detail,
        }
        return shown | {
            k: v for k, v in dataclasses.asdict(case).items() if v not in ("", [], False)
        }


@dataclass
class Totals:
    """What a run has done so far."""

    classes: Classes = field(default_factory=Classes)
    started: float = field(default_factory=time.monotonic)
    triples: int = 0
    evaluations: int = 0
    failures: int = 0
    slowest: float = 0.0
    peak: int = 0

    def add(self, report: Report) -> None:
        """Count one report."""
        self.classes.add(report)
        self.triples += 1
        self.evaluations += report.evaluations
        self.failures += len(report.failures)
        self.slowest = max(self.slowest, report.slowest)
        self.peak = max(self.peak, report.peak)

    def progress(self) -> str:
        """The state of a run in one line."""
        rate = self.triples / (time.monotonic() - self.started)
        return (
            f"{self.triples} triples, {rate:.1f}/s, {self.evaluations} evaluations, "
            f"slowest {self.slowest:.2f} CPU s, {self.peak >> 20} MB, "
            f"{self.failures} failures in {len(self.classes.counts)} classes"
        )

    def table(self) -> Iterator[str]:
        """The lines of the table that ends a run."""
        yield f"{'triples':<32}{self.triples}"
        yield f"{'evaluations':<32}{self.evaluations} in {len(PROFILES)} profiles"
        yield f"{'seconds':<32}{time.monotonic() - self.started:.0f}"
        yield f"{'slowest evaluation, CPU seconds':<32}{self.slowest:.2f}"
        yield f"{'peak memory of a worker, MB':<32}{self.peak >> 20}"
        yield f"{'failures':<32}{self.failures} in {len(self.classes.counts)} classes"
        for kind, profiles in sorted(self.classes.counts.items()):
            counts = ", ".join(f"{name or '-'} {count}" for name, count in profiles.items())
            yield f"  {kind}: {counts}; for example case {self.classes.examples[kind][2]}"


def fuzz(options: argparse.Namespace, totals: Totals, output: TextIO) -> None:
    """Check all cases; write each failure as soon as it is found."""
    for report in run(options.seed, options.first, options.triples, options.jobs):
        totals.add(report)
        for failure, _ in report.failures:
            line = {"class": failure.kind, "seed": options.seed, "case": report.number}
            line |= {"profile": failure.profile, "detail": failure.detail}
            print(json.dumps(line), file=output, flush=True)
        if totals.triples % 100 == 0:
            print(totals.progress(), file=sys.stderr, flush=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triples", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="of the run")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/fuzz.jsonl"),
        help="file to which each failure is appended as one JSON line",
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    totals = Totals()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("a", encoding="utf-8") as output:
        try:
            fuzz(options, totals, output)
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
    if options.shrink:
        totals.classes.shrink()
    for line in (*totals.classes.lines(), *totals.table()):
        print(line)
    return int(totals.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
