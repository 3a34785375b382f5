"""Measure the kinds of mismatch on labelled pairs, and write the tables.

    python scripts/measure_mismatches.py            # the tables of docs/reference/mismatches.md
    python scripts/measure_mismatches.py --write    # replace them there
    EXTRACTBENCH_DATASET=... EXTRACTBENCH_RUNS=... python scripts/measure_mismatches.py --write

Without the dataset and the recorded runs, the table of real mismatches stays as it is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from tests.evaluation.mismatch_sample import (  # noqa: E402
    Labelled,
    committed,
    real,
)

PAGE = ROOT / "docs" / "reference" / "mismatches.md"
SOURCES = {
    "written": "pairs written for this purpose",
    "reviewed": "pairs of the judge's test set, read while rules were corrected",
    "held_out": "pairs of the judge's test set, labelled before the rules saw them",
    "simulated": "gold values of the sample dataset, corrupted",
    "real": "outputs of real models",
}


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the tables of the page")
    options = parser.parse_args()
    for name, table in tables().items():
        if options.write:
            PAGE.write_text(with_table(PAGE.read_text("utf-8"), name, table), "utf-8")
        else:
            print(f"{table}\n")


def tables() -> dict[str, str]:
    """Return the tables by name; those of real mismatches only where the data is given."""
    ours, theirs = committed(), real()
    found = {"sources": sources_table(ours)}
    return found | ({"real": sources_table(theirs)} if theirs else {})


def sources_table(pairs: Sequence[Labelled]) -> str:
    """Write how many labels the rules agree with, by source."""
    rows = []
    for source in dict.fromkeys(pair.source for pair in pairs):
        of_source = [pair for pair in pairs if pair.source == source]
        right = sum(pair.named == pair.kind for pair in of_source)
        counts = str(len(of_source)), str(right), _share(right, len(of_source))
        rows.append((SOURCES[source], *counts))
    return _table(("source", "pairs", "named as labelled", "share"), rows)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "n/a"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_table(page: str, name: str, table: str) -> str:
    """Return the page with one table replaced."""
    begin, end = f"<!-- {name} -->\n", "\n<!-- end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE.name} has no place for the table {name!r}")
    return pattern.sub(lambda _: f"{begin}{table}{end}", page)


if __name__ == "__main__":
    main()
