from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.tables.grid_similarity import grits
from extractbench_nb.tables.table_metrics import (
    COMPARISON_COLUMNS,
    TABLE_METRICS,
    compare_tables,
)

Cells = list[dict[str, Any]]


def cells(*rows: list[str], boxes: bool = False) -> Cells:
    return [
        {"row_nums": [r], "column_nums": [c], "text": text}
        | ({"bbox": [10 * c, 5 * r, 10 * c + 9, 5 * r + 4]} if boxes else {})
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
    ]


TRUE = cells(["Year", "Sale"], ["2020", "abcd"], boxes=True)
PREDICTED = cells(["Year", "Gale"], ["2020", "abcd"], ["2021", ""], boxes=True)


def test_all_metrics_by_hand() -> None:
    found = compare_tables(TRUE, PREDICTED)
    assert found.index.name == "metric"
    assert found.index.tolist() == [name for name in TABLE_METRICS if name != "grits_rawloc"]
    assert found.columns.tolist() == COMPARISON_COLUMNS.names
    expected = {
        "grits_top": (0.8, 4 / 6, 1.0),
        "grits_con": (2 * 3.75 / 10, 3.75 / 6, 3.75 / 4),
        "grits_loc": (0.8, 4 / 6, 1.0),
        # Year-2020, 2020-abcd of 4 and 5 relations
        "adjacency": (4 / 9, 2 / 5, 2 / 4),
        # table, tbody, 2 tr, 4 td against 3 tr, 6 td
        "teds": (1 - 3.25 / 11, None, None),
        "teds_structure": (1 - 3 / 11, None, None),
    }
    for name, values in expected.items():
        numbers = [None if value is pd.NA else value for value in found.loc[name].tolist()[:3]]
        assert numbers == pytest.approx(values), name
    assert 0 < found.loc["bleu", "score"] < 1
    assert found["note"].eq("").all()


def test_a_table_is_like_itself() -> None:
    found = compare_tables(TRUE, TRUE)
    assert found["score"].tolist() == pytest.approx([1.0] * len(found))
    empty = compare_tables([], [])
    assert empty["score"].tolist() == pytest.approx([1.0] * len(found))


def test_the_order_is_fixed_and_metrics_are_chosen() -> None:
    found = compare_tables(TRUE, PREDICTED, ["teds", "adjacency", "grits_con"])
    assert found.index.tolist() == ["grits_con", "adjacency", "teds"]
    assert compare_tables(TRUE, TRUE, "bleu").index.tolist() == ["bleu"]
    with pytest.raises(InputError, match="metrics is empty; choose among grits_top, "):
        compare_tables(TRUE, TRUE, [])


def test_location_needs_boxes() -> None:
    plain = cells(["a"])
    assert "grits_loc" not in compare_tables(plain, TRUE).index
    with pytest.raises(InputError, match="true, cell 0 has no bbox"):
        compare_tables(plain, TRUE, ["grits_loc"])


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_grits_are_those_of_grits(variant: str) -> None:
    found = compare_tables(TRUE, PREDICTED, variant=variant).iloc[:3, :3]
    expected = grits(TRUE, PREDICTED, variant=variant).scores[["fscore", "precision", "recall"]]
    assert found.to_numpy(dtype=float) == pytest.approx(expected.to_numpy())


def test_large_tables_have_no_tree_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractbench_nb.tables.table_metrics._MOST_NODES", 10)
    found = compare_tables(TRUE, PREDICTED, ["teds", "teds_structure", "adjacency"])
    assert found["score"].isna().tolist() == [False, True, True]
    assert found["note"].tolist() == ["", *["11 nodes, more than 10"] * 2]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("table", TRUE), "true is the text 'table', in which no table was found"),
        ((TRUE, TRUE, ["ted"]), "metrics: no 'ted'; did you mean 'teds'"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_tables(*arguments)


@pytest.mark.parametrize(
    "flags, expected",
    [
        ([1, 0, 0], [1, 1, 1]),
        ([1, 1, 0], [2 / 3, 1 / 2, 1]),
        ([0, 0, 0], [0, 1, 0]),
    ],
)
def test_header_of_functional_analysis(flags: list[int], expected: list[float]) -> None:
    """F1 of the positions that are header, aligned by content."""

    def table(flags: list[int], *left_out: int) -> list[dict[str, Any]]:
        rows = [(n, flag) for n, flag in enumerate(flags) if n not in left_out]
        return [
            {
                "row_nums": [row],
                "column_nums": [column],
                "text": f"{n} {column}",
                "is_column_header": bool(flag),
            }
            for row, (n, flag) in enumerate(rows)
            for column in (0, 1)
        ]

    for left_out in ((), (2,)):
        found = xb.tables.compare_tables(table([1, 0, 0]), table(flags, *left_out), "header")
        values = found.loc["header", ["score", "precision", "recall"]].astype(float).tolist()
        assert values == pytest.approx(expected)
    assert xb.tables.compare_tables(table([0, 0]), table([0, 0]), "header")["score"].item() == 1


def test_header_rows_of_plain_lists() -> None:
    rows = [["", "2023", "2023"], ["Item", "Units", "Share"], ["Ink", 5, 0.2]]
    table = xb.tables.read_table(rows, header_rows=2)
    assert [cell.is_header for cell in table.cells] == [True] * 6 + [False] * 3
    canonical = xb.tables.canonicalize(table).table
    assert [cell.columns for cell in canonical.cells if cell.text == "2023"] == [(1, 2)]
    for wrong in (4, -1, 1.5, True):
        with pytest.raises(xb.InputError, match=r"header_rows is .*; expected 0 to 3, the rows"):
            xb.tables.read_table(rows, header_rows=wrong)  # type: ignore[arg-type]
