"""Tables built from many documents: comparing them, and finding chunks of documents."""

import random
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from tests.benchmarks.workloads import SHARE, WORDS, edited

PROFILES = ("strict", "aoe")


def pair(rows: int, columns: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table of names, words and numbers; a tenth of the predicted texts is edited."""
    rng = random.Random(seed)
    gold = pd.DataFrame(
        {
            "name": [" ".join(rng.sample(WORDS, k=3)) + f" {n}" for n in range(rows)],
            **{f"text {n}": rng.choices(WORDS, k=rows) for n in range(columns // 2)},
            **{
                f"amount {n}": [str(rng.randint(1, 10**6)) for _ in range(rows)]
                for n in range(columns - columns // 2)
            },
        }
    )
    changed = {
        name: [edited(text, rng) if rng.random() < SHARE else text for text in gold[name]]
        for name in gold
    }
    return gold, pd.DataFrame(changed).sample(frac=1, random_state=seed)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("count, rows", [(373, 8), (1, 1_000), (1, 3_000)])
def test_compare(
    count: int, rows: int, profile: str, timed: Any, benchmark: Any, quick: bool
) -> None:
    pairs = [pair(min(rows, 50) if quick else rows, 6, seed) for seed in range(count)]
    pairs = pairs[:10] if quick else pairs

    def compare() -> list[float]:
        return [
            xb.construction.compare(*tables, keys="name", profile=profile).summary["cell_f1"]
            for tables in pairs
        ]

    group = f"{count} constructed table{'s' if count > 1 else ''} of {rows:,} rows, 7 columns"
    found = timed(group, profile, compare, rounds=2, warm=0)
    benchmark.extra_info["work"] = f"mean F1 {sum(found) / len(found):.2f}"
    assert all(0.3 < score < 1 for score in found)


def test_chunks(timed: Any, benchmark: Any, quick: bool) -> None:
    """Three megabytes of text in 30 documents, from texts to the best chunks."""
    rng = random.Random(1)
    size = 200 if quick else 15_000
    documents = {f"d{n}": " ".join(rng.choices(WORDS, k=size)) for n in range(30)}

    def search() -> Any:
        return xb.construction.Retriever().index(documents).search(" ".join(WORDS[:5]))

    found = timed("BM25 chunks of documents", "extractbench-nb", search, rounds=2, warm=0)
    benchmark.extra_info["work"] = f"{sum(map(len, documents.values())):,} characters"
    assert len(found.chunks)
