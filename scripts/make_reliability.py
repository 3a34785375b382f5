"""Make the shipped figures about judges anew, from recorded reports of the published package.

    EXTRACTBENCH_RUNS=path/to/runs EXTRACTBENCH_DATASET=path/to/dataset \\
        python scripts/make_reliability.py

Writes extractbench_nb/benchmark/data/judge_*.csv: scores, verdicts, sizes and hashes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from extractbench_nb.benchmark import reliability

DATA = Path(__file__).resolve().parents[1] / "extractbench_nb" / "benchmark" / "data"


def main() -> None:
    """Write the files."""
    folder = os.environ.get("EXTRACTBENCH_RUNS")
    if not folder:
        sys.exit("set EXTRACTBENCH_RUNS to the folder of the recorded runs")
    tables = {
        "judge_verdicts": reliability.verdicts(folder),
        "judge_pairs": reliability.pairs(folder),
    }
    for name, table in tables.items():
        table.to_csv(DATA / f"{name}.csv", index=False, lineterminator="\n")
        sys.stdout.write(f"{name}: {len(table)} rows\n")


if __name__ == "__main__":
    main()
