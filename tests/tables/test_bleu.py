from math import exp

import pytest

from extractbench_nb.tables.cells import Cell, Table, table_of_cells
from extractbench_nb.tables.table_metrics import bleu


def grid(rows: int, columns: int, head: int = 0) -> Table:
    return table_of_cells(
        Cell((r,), (c,), "x", is_header=r < head) for r in range(rows) for c in range(columns)
    )


EMPTY = table_of_cells([])


@pytest.mark.parametrize(
    "true, predicted, score",
    [
        (EMPTY, EMPTY, 1.0),
        (EMPTY, grid(1, 1), 0.0),
        # 8 tokens against 7: shares 7/7, 6/6, 4/5 (no "<tr> <tdy> </tr>"), 2/4, and short
        (grid(1, 2), grid(1, 1), (4 / 5 * 2 / 4) ** (1 / 4) * exp(1 - 8 / 7)),
        # the other way round: 7/8, 6/7, 4/6, 2/5, not short
        (grid(1, 1), grid(1, 2), (7 / 8 * 6 / 7 * 4 / 6 * 2 / 5) ** (1 / 4)),
        # a head for a body: 5/7, 2/6 (<tr> <tdy>, <tdy> </tr>), 1/5, and no 4-gram
        (grid(1, 1), grid(1, 1, 1), 0.0),
        # 10 tokens against 7: all n-grams of the shorter one are there, but one
        (grid(2, 1), grid(1, 1), exp(1 - 10 / 7)),
    ],
)
def test_scores(true: Table, predicted: Table, score: float) -> None:
    assert bleu(true, predicted) == pytest.approx(score)
