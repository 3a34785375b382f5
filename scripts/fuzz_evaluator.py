"""Fuzz `extractbench_nb.evaluate` with random schemas, golds and predictions, in all profiles.

    python scripts/fuzz_evaluator.py --triples 50000 --seed 0 --jobs 2

Each evaluation may use 2 s of CPU time and 1 GB of memory. Failures are made smaller, grouped by
the property that does not hold, and printed as one JSON line per class: ``schema``, ``gold``,
``predicted`` and what was added to the prediction. ``{"$python": kind}`` in a prediction stands for
a Python value that JSON does not have. The exit status is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter
from pathlib import Path

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


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triples", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="of the run")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--output", type=Path, help="file for the classes, one JSON line each")
    options = parser.parse_args()
    started, classes, done, evaluations, slowest = time.monotonic(), Classes(), 0, 0, 0.0
    for report in run(options.seed, options.first, options.triples, options.jobs):
        done += 1
        evaluations += report.evaluations
        slowest = max(slowest, report.slowest)
        classes.add(report)
        if done % 100 == 0:
            rate = done / (time.monotonic() - started)
            print(f"{done} triples, {rate:.1f}/s, {len(classes.counts)} classes", file=sys.stderr)
    if options.shrink:
        classes.shrink()
    lines = classes.lines()
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    seconds = time.monotonic() - started
    print(
        f"{done} triples, {evaluations} evaluations in {len(PROFILES)} profiles, "
        f"{seconds:.0f} s ({done / seconds:.1f} triples/s), slowest {slowest:.2f} CPU s, "
        f"{len(lines)} classes of failures"
    )
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
