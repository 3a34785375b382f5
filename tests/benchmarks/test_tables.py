"""Similarity of tables by size, and tables made of detected objects."""

import random
from typing import Any

import pytest

import extractbench_nb as xb

OURS = "extractbench-nb"
METRICS = ("top", "con", "loc")


def cells(rows: int, columns: int, seed: int, share: float = 0.0) -> list[dict[str, Any]]:
    """A table of words and numbers; of another with the same seed a share of texts differs."""
    rng, noise = random.Random(seed), random.Random(f"{seed}/{share}")
    found = []
    for row in range(rows):
        for column in range(columns):
            text = f"{rng.choice(WORDS)} {rng.randint(0, 99_999) / 10:.1f}"
            if noise.random() < share:
                text = text[:-1] + noise.choice("xyz")
            box = [60 * column + noise.random(), 12 * row, 60 * column + 50, 12 * row + 10]
            place = {"row_nums": [row], "column_nums": [column]}
            found.append({**place, "cell_text": text, "bbox": box})
    return found


WORDS = ("", "net", "gross", "Total of", "Mean", "n =", "Change", "p <")


def kept(given: list[dict[str, Any]], lost: int) -> list[dict[str, Any]]:
    """The table without one row."""
    return [
        cell | {"row_nums": [cell["row_nums"][0] - (cell["row_nums"][0] > lost)]}
        for cell in given
        if cell["row_nums"] != [lost]
    ]


def pair(rows: int, columns: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    return cells(rows, columns, seed), kept(cells(rows, columns, seed, 0.2), rows // 2)


def scores(true: Any, predicted: Any, variant: str, *metrics: str) -> dict[str, float]:
    found = xb.tables.grits(true, predicted, metrics or METRICS, variant).scores
    return dict(found["fscore"])


@pytest.mark.parametrize("variant", ["paper", "paper_substring", "released"])
def test_variants(variant: str, timed: Any, benchmark: Any) -> None:
    group = f"tables 20 x 10, {variant}"
    found = timed(group, OURS, scores, *pair(20, 10), variant, rounds=20, warm=2)
    benchmark.extra_info["work"] = "top, con and loc"
    assert all(0.7 < score < 1 for score in found.values())


@pytest.mark.parametrize("size", [(5, 5), (10, 10), (40, 12), (100, 20), (500, 30)])
def test_time_by_size(size: tuple[int, int], timed: Any, benchmark: Any) -> None:
    rows, columns = min(size[0], 40 if benchmark.disabled else size[0]), size[1]
    name, tables = f"{OURS}, {rows} x {columns}", pair(rows, columns)
    found = timed("tables by size, paper", name, scores, *tables, "paper", rounds=3, warm=1)
    benchmark.extra_info["work"] = f"{rows * columns:,} cells; top, con and loc"
    assert all(0.5 < score < 1 for score in found.values())


def test_two_large_tables_of_nothing_in_common(timed: Any, benchmark: Any, quick: bool) -> None:
    """The worst case: no pair of rows can be left out, and all texts are different."""
    rows = 50 if quick else 500
    tables = cells(rows, 30, 1), cells(rows, 30, 2)
    name = f"{OURS}, {rows} x 30, unrelated"
    found = timed("tables by size, paper", name, scores, *tables, "paper", "con", rounds=1, warm=0)
    benchmark.extra_info["work"] = "con of 15,000 texts by 15,000"
    assert 0 < found["con"] < 0.8


TREES = [(10, 5), (20, 10), (40, 12), (100, 20)]


def of_trees(size: tuple[int, int], *, alike: bool, quick: bool) -> list[xb.tables.Table]:
    rows, columns = (10, 5) if quick else size
    sides = pair(rows, columns) if alike else (cells(rows, columns, n) for n in (1, 2))
    return [xb.tables.read_table(side) for side in sides]


def tree_score(true: xb.tables.Table, predicted: xb.tables.Table) -> float:
    return float(xb.tables.compare_tables(true, predicted, "teds").loc["teds", "score"])


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("size", TREES)
def test_trees(size: tuple[int, int], alike: bool, timed: Any, benchmark: Any, quick: bool) -> None:
    tables = of_trees(size, alike=alike, quick=quick)
    group = f"TEDS, {'alike' if alike else 'unrelated'}, {size[0]} x {size[1]}"
    found = timed(group, OURS, tree_score, *tables, rounds=10 if size[0] < 100 else 3, warm=1)
    benchmark.extra_info["work"] = "one pair, texts and table of results included"
    assert 0 < found < 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_thousand_tables(n_jobs: int, timed: Any, benchmark: Any, quick: bool) -> None:
    count = 10 if quick else 1000
    pairs = [pair(20, 10, seed) for seed in range(count)]
    metrics = ["grits_top", "grits_con", "grits_loc"]

    def evaluate() -> xb.tables.TableResult:
        return xb.tables.evaluate_tables(pairs, metrics=metrics, n_jobs=n_jobs)

    name = f"{OURS}, n_jobs={n_jobs}"
    found = timed("1,000 tables of 20 x 10", name, evaluate, rounds=2, warm=0)
    benchmark.extra_info["work"] = f"{count:,} pairs; top, con and loc, read from cells"
    assert found.summary[metrics].gt(0.7).all(axis=None)


def test_other_metrics(timed: Any, benchmark: Any) -> None:
    names = ["adjacency", "bleu", "teds", "teds_structure"]
    tables = tuple(map(xb.tables.read_table, pair(20, 10)))
    found = timed(
        "tables 20 x 10, other metrics",
        OURS,
        xb.tables.compare_tables,
        *tables,
        names,
        rounds=5,
        warm=1,
    )
    benchmark.extra_info["work"] = ", ".join(names)
    assert found["score"].between(0, 1).all()


def detected(rows: int, columns: int) -> tuple[list[Any], list[Any]]:
    """Objects and words of a table, with duplicates of lower scores and spanning cells."""
    rng = random.Random(1)
    table = xb.tables.read_table(cells(rows, columns, 1))
    objects = []
    for label, _, *box in xb.tables.to_objects(table).itertuples(index=False):
        objects.append({"label": label, "score": rng.uniform(0.8, 1), "bbox": box})
        if rng.random() < 0.2:
            moved = [corner + rng.uniform(-2, 2) for corner in box]
            objects.append({"label": label, "score": rng.uniform(0.4, 0.8), "bbox": moved})
    for row in range(1, rows, 4):
        box = [0, 12 * row, 120, 12 * row + 12]
        objects.append({"label": "table spanning cell", "score": 0.9, "bbox": box})
    words = [{"text": cell.text or "-", "bbox": cell.box} for cell in table.cells]
    return objects, words


def test_objects_to_a_table(timed: Any, benchmark: Any) -> None:
    group, run = "objects to a table of 15 x 8", xb.tables.from_objects
    found = timed(group, OURS, run, *detected(15, 8), rounds=50, warm=5)
    benchmark.extra_info["work"] = "120 words; the published code needs 110 to 140 ms"
    assert found.table.grid.shape == (15, 8)
