"""Time grid table similarity by size, and draw docs/explanation/table_times.svg.

    python -m scripts.plot_table_times

The plain method is the oracle of the tests: section 6 of the paper, one pair of cells at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from tests.benchmarks.test_tables import METRICS, pair, scores
from tests.tables import oracle

mpl.use("Agg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "table_times.svg"
SIZES = ((3, 3), (5, 5), (10, 5), (10, 10), (20, 10), (40, 12), (100, 20), (200, 30), (500, 30))
LARGEST = {"paper": 15_000, "released": 15_000, "paper, pair by pair": 200}
COLOURS = ("#0072B2", "#009E73", "#D55E00")
ROUNDS = 5


def plainly(true: Any, predicted: Any, variant: str) -> dict[str, float]:
    """Return the scores by the method as it is written down."""
    return {m: oracle.grits(true, predicted, m, variant)["fscore"] for m in METRICS}


def seconds(call: Callable[[], Any], limit: float = 3.0) -> float:
    """Return the fastest of five calls, of fewer where they take long."""
    found: list[float] = []
    while len(found) < ROUNDS and sum(found) < limit:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def measure() -> pd.DataFrame:
    """Return a row a size and method: cells of the true table, seconds for top, con and loc."""
    rows = []
    for size in SIZES:
        tables, count = pair(*size), size[0] * size[1]
        for name, largest in LARGEST.items():
            if count <= largest:
                method = plainly if "pair by pair" in name else scores
                variant = name.partition(",")[0]
                taken = seconds(lambda m=method, v=variant, t=tables: m(*t, v))
                rows.append((f"{size[0]} x {size[1]}", count, name, taken))
    return pd.DataFrame(rows, columns=["table", "cells", "method", "seconds"])


def draw(found: pd.DataFrame) -> None:
    """Draw the figure."""
    plt.rcParams["svg.hashsalt"] = "table_times"
    figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for (name, rows), colour in zip(found.groupby("method", sort=False), COLOURS, strict=True):
        ax.plot(rows["cells"], rows["seconds"], "o-", color=colour, label=name, linewidth=1.6)
    ax.set(xscale="log", yscale="log", xlabel="cells of each table", ylabel="seconds")
    ax.set_title("One pair of tables: GriTS top, con and loc", loc="left", fontsize=10.5)
    ax.grid(axis="y", color="#0002")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    table = measure()
    draw(table)
    print(table.pivot_table("seconds", ["table", "cells"], "method", sort=False).to_string())
