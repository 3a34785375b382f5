"""Make the figures about judges anew that notebook 09 reads.

    EXTRACTBENCH_RUNS=path/to/runs EXTRACTBENCH_DATASET=path/to/dataset \\
        python scripts/make_reliability.py

Reads recorded reports of extract-bench 0.1.0; writes notebooks/judge_*.csv: scores, verdicts, sizes
and hashes.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def main() -> None:
    """Write the files."""
    folder = os.environ.get("EXTRACTBENCH_RUNS")
    if not folder:
        sys.exit("set EXTRACTBENCH_RUNS to the folder of the recorded runs")
    sys.path.insert(0, str(NOTEBOOKS))
    judge_reports = import_module("judge_reports")
    for name in ("verdicts", "pairs"):
        table = getattr(judge_reports, name)(folder)
        table.to_csv(NOTEBOOKS / f"judge_{name}.csv", index=False, lineterminator="\n")
        sys.stdout.write(f"judge_{name}: {len(table)} rows\n")


if __name__ == "__main__":
    main()
