"""A table, and a prediction of it that lost and added lines and misread cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Cells = list[dict[str, Any]]


def plain(texts: Sequence[Sequence[str]], first: int = 0) -> Cells:
    """Cells that cover one position each."""
    return [
        {"row_nums": [first + row], "column_nums": [column], "text": text}
        for row, line in enumerate(texts)
        for column, text in enumerate(line)
    ]


def _head(rows: list[int], columns: list[int], text: str) -> dict[str, Any]:
    return {"row_nums": rows, "column_nums": columns, "text": text, "is_column_header": True}


TRUE: Cells = [
    _head([0, 1], [0], "Region"),
    _head([0], [1, 2], "Sales in 2021"),
    _head([0], [3, 4], "Sales in 2022"),
    *(_head([1], [at], text) for at, text in enumerate(("units", "EUR", "units", "EUR"), 1)),
    {
        "row_nums": [2],
        "column_nums": [0, 1, 2, 3, 4],
        "text": "Europe",
        "is_projected_row_header": True,
    },
    *plain(
        [
            ["North", "1,204", "88.1", "1,310", "91.4"],
            ["South", "977", "61.0", "1,002", "63.9"],
            ["West", "12", "0.7", "15", "0.9"],
            ["East", "443", "30.2", "401", "28.8"],
        ],
        3,
    ),
]
PREDICTED: Cells = [
    _head([0], [0], "Region"),
    _head([0], [1, 2], "Sales in 2021"),
    _head([0], [3], "Sales in 2O22"),
    *(_head([1], [at], text) for at, text in enumerate(("", "units", "EUR", "units"))),
    *plain(
        [
            ["North", "1,204", "88.1", "1,310"],
            ["South", "977", "61.0", "1,02"],
            ["East", "443", "302", "401"],
            ["Total", "2,636", "180", "2,728"],
        ],
        2,
    ),
]
