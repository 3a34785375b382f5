"""Measure the offline judge on seeded edits of texts: false accepts and false rejects by kind.

    python scripts/judge_errors.py                         # sample dataset and sentence frames
    EXTRACTBENCH_DATASET=path/to/dataset python scripts/judge_errors.py
    python scripts/judge_errors.py --tuning --wrong 3      # the half that rules are tuned on

Prints a Markdown table: kind, cases, wrong verdicts, their share and its 95 % Wilson interval.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from judge_texts.edits import HELD_OUT, TUNING, Count, count_errors, make_cases, wilson

from extractbench_nb.core.text.offline_judge import OfflineJudge

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tuning", action="store_true", help="the tuning half, not the held-out")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--per-kind", type=int, default=300, help="cases per kind and source")
    parser.add_argument("--wrong", type=int, default=0, help="wrong verdicts to print per kind")
    parser.add_argument("--json", type=Path, help="write n and wrong verdicts per kind here")
    parser.add_argument("--before", type=Path, help="JSON of another judge, as a column")
    options = parser.parse_args()
    folders = {"sample": ROOT / "dataset"}
    if given := os.environ.get("EXTRACTBENCH_DATASET"):
        folders["extract-bench"] = Path(given)
    half = TUNING if options.tuning else HELD_OUT
    cases = make_cases(folders, half, options.seed, options.per_kind)
    counts = count_errors(OfflineJudge(), cases)
    before = json.loads(options.before.read_text("utf-8")) if options.before else {}
    for keeps in (False, True):
        print_table([c for c in counts if c.kind.keeps_meaning is keeps], before, keeps)
    for count in counts:
        for case in count.wrong[: options.wrong]:
            print(f"{count.kind.name} ({case.source}): {case.gold!r} / {case.edited!r}")
    if options.json:
        rows = {name_of(c): [c.n, len(c.wrong)] for c in counts}
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")


def name_of(count: Count) -> str:
    return f"{count.kind.name} ({'keeps' if count.kind.keeps_meaning else 'changes'})"


def print_table(counts: list[Count], before: dict[str, list[int]], keeps: bool) -> None:
    """Print one half of the table: kinds that keep the meaning, or kinds that change it."""
    error = "False rejects" if keeps else "False accepts"
    print(f"\n| Kind | n | {'Before | ' if before else ''}{error} | Share | 95 % interval |")
    print("|---|--:|" + ("--:|" if before else "") + "--:|--:|---|")
    rows = [(c.kind.name, c.n, before.get(name_of(c), [c.n, 0])[1], len(c.wrong)) for c in counts]
    totals = [sum(row[i] for row in rows) for i in (1, 2, 3)]
    for name, n, old, wrong in (*rows, ("all", *totals)):
        low, high = wilson(wrong, n)
        column = f" {old / n:.1%} |" if before else ""
        print(f"| {name} | {n} |{column} {wrong} | {wrong / n:.2%} | {low:.2%} to {high:.2%} |")


if __name__ == "__main__":
    main()
