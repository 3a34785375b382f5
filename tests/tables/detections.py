"""Detected objects and words for tests: those of a table, and random ones."""

import random
from typing import Any

from extractbench_nb.tables.cells import Cell, Table
from extractbench_nb.tables.objects import STRUCTURE_LABELS

Record = dict[str, Any]


def words_of(table: Table) -> list[Record]:
    """One word per part of a text, side by side at the upper left of the cell's box."""
    words: list[Record] = []
    for block, cell in enumerate(table.cells):
        assert cell.box is not None
        x0, y0, x1, y1 = cell.box
        x1, y1 = min(x1, x0 + 50), min(y1, y0 + 10)
        parts = cell.text.split()
        for n, part in enumerate(parts):
            width = (x1 - x0) / len(parts)
            box = (x0 + n * width, y0, x0 + (n + 1) * width, y1)
            words.append({"text": part, "bbox": box, "block_num": block, "span_num": n})
    return words


def known(table: Table) -> list[Cell]:
    """The cells of a table in order, without boxes."""
    return sorted(cell._replace(box=None) for cell in table.cells)


def random_objects(rng: random.Random) -> tuple[list[Record], list[Record]]:
    """Objects and words without any sense; coordinates are often equal, scores too."""
    grain, width, height = rng.choice([1, 1, 8]), 400, 200

    def at(low: float, high: float) -> float:
        return round(rng.uniform(low, high) * grain) / grain

    boxes = [("table", 0.0, 0.0, width, height) for _ in range(rng.choice([0, 1, 1, 2]))]
    for _ in range(rng.randint(0, 8)):
        left = at(0, 350)
        boxes.append(("table column", left, at(0, 5), left + at(1, 120) + 1, height - at(0, 5)))
    for _ in range(rng.randint(0, 10)):
        top = at(0, 180)
        boxes.append(("table row", at(0, 5), top, width - at(0, 5), top + at(1, 50) + 1))
    for _ in range(rng.randint(0, 8)):
        left, top = at(0, 300), at(0, 150)
        right, bottom = left + at(1, width) + 1, top + at(1, 100) + 1
        boxes.append((rng.choice(STRUCTURE_LABELS[3:]), left, top, right, bottom))
    scores = [rng.choice([0.4, 0.5, 0.9, 0.9, rng.random()]) for _ in boxes]
    objects = [
        {"label": label, "score": score, "bbox": box}
        for (label, *box), score in zip(boxes, scores, strict=True)
    ]
    rng.shuffle(objects)
    words = []
    for n in range(rng.choice([0, 0, 5, 40])):
        left, top = at(0, width), at(0, height)
        box = [left, top, left + at(1, 20) + 0.5, top + at(1, 8) + 0.5]
        text = rng.choice(["a", "b", "1", " "])
        words.append({"text": text, "bbox": box, "span_num": n, "flags": rng.choice([0, 0, 1])})
    return objects, words
