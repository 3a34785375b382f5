from typing import Any

import numpy as np
import pandas as pd
import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.paper import TABLE_CHECK_COLUMNS, check_tables

Cells = list[dict[str, Any]]


def grid(texts: list[list[str]], height: float = 4) -> Cells:
    return [
        {
            "row_nums": [r],
            "column_nums": [c],
            "text": text,
            "bbox": [10 * c, 5 * r, 10 * c + 9, 5 * r + height],
        }
        for r, row in enumerate(texts)
        for c, text in enumerate(row)
    ]


TEXTS = [["Year", "Sales"], ["2020", "twenty characters !!"]]
AT_0_2 = {"row_nums": [0], "column_nums": [2]}
SPANNING = [*grid(TEXTS)[:3], {"row_nums": [1], "column_nums": [1, 2]}, AT_0_2]


LARGE = grid([["x"] * 40] * 60)
WIDE = [
    cell | {"bbox": [*cell["bbox"][:2], cell["bbox"][2] + 5, cell["bbox"][3]]}
    for cell in grid(TEXTS)
]
PLAIN = [{k: v for k, v in cell.items() if k != "bbox"} for cell in grid(TEXTS)]
TYPOS = grid([["Year", "Sold!"], ["2020", "twenty characters !!"]])


@pytest.mark.parametrize(
    "table, source, measured, reason",
    [
        (grid(TEXTS), None, (False, False, 5, None), ""),
        (grid(TEXTS), grid(TEXTS), (False, False, 5, 0.0), ""),
        (grid(TEXTS, height=5), None, (False, False, 5, None), ""),
        (grid(TEXTS, height=5.5), None, (True, False, 5, None), "rows overlap"),
        (PLAIN, None, (None, None, 5, None), ""),
        (LARGE, None, (False, False, 101, None), "more than 100 objects"),
        (grid(TEXTS), TYPOS, (False, False, 5, 0.15), "contents differ by more than 0.05"),
        (
            grid(TEXTS, height=9),
            TYPOS,
            (True, False, 5, 0.15),
            "rows overlap; contents differ by more than 0.05",
        ),
    ],
)
def test_checks(table: Cells, source: Cells | None, measured: tuple[Any, ...], reason: str) -> None:
    found = check_tables([grid(TEXTS), table], [None, source])
    assert found.columns.tolist() == TABLE_CHECK_COLUMNS.names
    values = [None if value is pd.NA else value for value in found.iloc[1]]
    assert values == [1, *measured[:3], pytest.approx(measured[3]), not reason, reason]
    assert found["kept"].iloc[0]


@pytest.mark.parametrize(
    "sources, options, message",
    [
        ([PLAIN, PLAIN], {}, "there are 1 tables and 2 sources"),
        (None, {"max_objects": 1.5}, r"max_objects is 1\.5; expected a whole number"),
        *(
            (None, {"limit": limit}, "limit is .*; expected a number from 0 to 1")
            for limit in (-0.1, 1.1, "5%", True, float("nan"), np.complex128(0))
        ),
    ],
)
def test_options_that_do_not_fit(sources: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_tables([PLAIN], sources, **options)


OTHER_CELLS = "source: the tables do not have the same cells: only one has a cell over rows"


@pytest.mark.parametrize(
    "table, source, measured, reason",
    [
        (grid(TEXTS), "a,b", (False, False, 5), f"{OTHER_CELLS} [1] and columns [0]"),
        (grid(TEXTS), [], (False, False, 5), f"{OTHER_CELLS} [0] and columns [0]"),
        (grid(TEXTS), SPANNING, (False, False, 5), f"{OTHER_CELLS} [0] and columns [2]"),
        (grid(TEXTS, height=9), "x", (True, False, 5), "rows overlap; source is the text 'x', in"),
        (None, grid(TEXTS), (None, None, None), "table is NoneType; expected a list of cells"),
        ([AT_0_2], None, (None, None, None), "table: no cell covers row 0, column 0"),
        ([], None, (None, None, 0), ""),
    ],
)
def test_a_filter_goes_on(table: Any, source: Any, measured: tuple[Any, ...], reason: str) -> None:
    """What cannot be read or compared is not kept, and those before and after it are."""
    found = check_tables([grid(TEXTS), table, grid(TEXTS)], [None, source, grid(TEXTS)])
    values = [None if value is pd.NA else value for value in found.iloc[1]]
    assert values[:-1] == [1, *measured, None, not reason]
    assert values[-1].startswith(reason)
    assert found["kept"].iloc[[0, 2]].all()
    assert found.dtypes.equals(TABLE_CHECK_COLUMNS.build().dtypes)


@pytest.mark.parametrize(
    "given, message",
    [
        (grid(TEXTS), "{} is a single table; put it into a list"),
        (pd.DataFrame(TEXTS), "{} is DataFrame; expected a list of tables"),
        ({"name": grid(TEXTS)}, "{} is dict; expected a list of tables"),
    ],
)
def test_one_table_is_no_list(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message.format("tables")):
        check_tables(given)
    with pytest.raises(InputError, match=message.format("sources")):
        check_tables([grid(TEXTS)], given)
