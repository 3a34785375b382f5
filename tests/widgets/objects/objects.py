"""Objects of a small table as a model might find them, doubled, doubtful and wrong ones too."""

from __future__ import annotations

from typing import Any


def item(label: str, *box: float, score: float = 0.9) -> dict[str, Any]:
    return {"label": f"table {label}".strip(), "score": score, "bbox": box}


#: Three columns and four rows, 100 wide and 20 high; the first row is the header.
OBJECTS = [
    item("", 0, 0, 300, 80, score=0.99),
    *(item("column", 100 * n, 0, 100 * n + 100, 80) for n in range(3)),
    *(item("row", 0, 20 * n, 300, 20 * n + 20) for n in range(4)),
    item("column header", 0, 1, 300, 19),
    item("spanning cell", 105, 21, 295, 39, score=0.6),
    item("row", 0, 24, 300, 44, score=0.55),
    item("spanning cell", 105, 41, 295, 59, score=0.3),
    item("rwo", 0, 0, 9, 9),
]
#: What becomes of the usable ones at the threshold 0.5.
FATES = ["kept"] * 8 + ["aligned", "aligned", "dropped", "dropped"]
SPANNING, DOUBLED, DOUBTFUL = 9, 10, 11
WORDS = [
    {
        "text": f"{row}{column}",
        "bbox": (100 * column + 10, 20 * row + 4, 100 * column + 50, 20 * row + 16),
    }
    for row in range(4)
    for column in range(3)
]
TRUE = [[f"{row}{column}" for column in range(3)] for row in range(4)]
TRUE_CSV = "\n".join(",".join(row) for row in TRUE)
