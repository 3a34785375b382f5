"""Grid table similarity again, slowly and plainly, from the paper: what the fast code must equal.

Written from section 6 and the notes on the published code; one pair of cells at a time.
"""

from difflib import SequenceMatcher
from itertools import combinations
from typing import Any

Grid = list[list[Any]]


def overlap(a: Any, b: Any, *, hull: bool) -> float:
    def area(box: Any) -> float:
        return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])

    inside = (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
    if not area(a) or not area(b) or not area(inside):
        return 0.0
    around = (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
    return area(inside) / (area(around) if hull else area(a) + area(b) - area(inside))


def common(a: str, b: str, kind: str) -> int:
    if kind == "blocks":
        return sum(m.size for m in SequenceMatcher(None, a, b).get_matching_blocks())
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    longest = 0
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            if x == y:
                table[i][j] = table[i - 1][j - 1] + 1
            elif kind == "subsequence":
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
            longest = max(longest, table[i][j])
    return longest


def text_alike(a: str, b: str, kind: str) -> float:
    return 2 * common(a, b, kind) / (len(a) + len(b)) if a or b else 1.0


def entries(cells: Any, name: str) -> Grid:
    """The grid of what a metric compares."""
    if not cells:
        return [[]]
    rows = max(max(c["row_nums"]) for c in cells) + 1
    columns = max(max(c["column_nums"]) for c in cells) + 1
    grid: Grid = [[None] * columns for _ in range(rows)]
    for cell in cells:
        across, down = cell["column_nums"], cell["row_nums"]
        for r in down:
            for c in across:
                span = (min(across) - c, min(down) - r, max(across) - c + 1, max(down) - r + 1)
                of = {"top": span, "con": cell["cell_text"], "loc": cell.get("bbox")}
                grid[r][c] = of[name]
    return grid


def alike(name: str, variant: str) -> Any:
    if name == "con":
        kinds = {"paper": "subsequence", "paper_substring": "substring", "released": "blocks"}
        return lambda a, b: text_alike(a, b, kinds[variant])
    return lambda a, b: overlap(a, b, hull=variant == "released")


def best(first: Any, second: Any, reward: Any) -> tuple[float, list[tuple[int, int]]]:
    """The best alignment of two sequences, and which one of several."""
    n, m = len(first), len(second)
    table = [[0.0] * (m + 1) for _ in range(n + 1)]
    rewards = [[reward(x, y) for y in second] for x in first]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            paired = table[i - 1][j - 1] + rewards[i - 1][j - 1]
            table[i][j] = max(paired, table[i - 1][j], table[i][j - 1])
    pairs = []
    i, j = n, m
    while i and j:
        if table[i - 1][j - 1] + rewards[i - 1][j - 1] == table[i][j]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif table[i - 1][j] == table[i][j]:
            i -= 1
        else:
            j -= 1
    return table[n][m], pairs[::-1]


def grits(true: Any, predicted: Any, name: str, variant: str) -> dict[str, float]:
    a, b, reward = entries(true, name), entries(predicted, name), alike(name, variant)
    size, other = sum(map(len, a)), sum(map(len, b))
    across, down = [list(x) for x in zip(*a, strict=True)], [list(x) for x in zip(*b, strict=True)]
    row_score, rows = best(a, b, lambda x, y: best(x, y, reward)[0])
    column_score, columns = best(across, down, lambda x, y: best(x, y, reward)[0])
    total = sum(reward(a[i][j], b[k][m]) for i, k in rows for j, m in columns)
    scores = ratios(total, size, other)
    return {**scores, "upper_bound": ratios(min(row_score, column_score), size, other)["fscore"]}


def ratios(total: float, size: int, other: int) -> dict[str, float]:
    precision = total / other if other else 1.0
    recall = total / size if size else 1.0
    both = precision + recall
    return {
        "fscore": 2 * precision * recall / both if both else 0.0,
        "precision": precision,
        "recall": recall,
    }


def exact(true: Any, predicted: Any, name: str, variant: str) -> float:
    """The f-score of the most similar substructures of all: every choice of rows and columns."""
    a, b, reward = entries(true, name), entries(predicted, name), alike(name, variant)
    size, other = sum(map(len, a)), sum(map(len, b))
    total = 0.0
    for rows, others in choices(len(a), len(b)):
        similar = [
            [
                sum(reward(a[i][j], b[k][m]) for i, k in zip(rows, others, strict=True))
                for m in range(len(b[0]))
            ]
            for j in range(len(a[0]))
        ]
        indices = range(len(a[0])), range(len(b[0]))
        total = max(total, best(*indices, lambda j, m: similar[j][m])[0])  # noqa: B023
    return ratios(total, size, other)["fscore"]


def choices(n: int, m: int) -> Any:
    """Every pair of selections of as many of n and of m, in order."""
    for k in range(1, min(n, m) + 1):
        for some in combinations(range(n), k):
            for others in combinations(range(m), k):
                yield some, others
