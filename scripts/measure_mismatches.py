"""Print how many labelled pairs have the right kind of mismatch: a table of validation.md.

    EXTRACTBENCH_DATASET=... EXTRACTBENCH_RUNS=... python scripts/measure_mismatches.py

Without the dataset and the recorded runs, the row of real outputs is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from tests.evaluation.mismatch_sample import committed, real  # noqa: E402

PAGE = ROOT / "docs" / "explanation" / "validation.md"
SOURCES = {
    "written": "written for this purpose",
    "reviewed": "from the judge's test set, read while the rules were corrected",
    "held_out": "from the judge's test set, labelled before the rules were applied",
    "simulated": "gold values of the sample dataset, corrupted",
    "real": "outputs from four recorded runs for the six research papers",
}


def rows() -> list[str]:
    """Return one row per source, with how many labels the rules agree with."""
    pairs, found = [*committed(), *real()], []
    for source in dict.fromkeys(pair.source for pair in pairs):
        right = [pair.named == pair.kind for pair in pairs if pair.source == source]
        share = sum(right) / len(right)
        found.append(f"| {SOURCES[source]} | {len(right)} | {sum(right)} | {share:.2f} |")
    return found


if __name__ == "__main__":
    print("\n".join(rows()))
