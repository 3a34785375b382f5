"""Tables before and after, drawn by hand: each rule where it applies, and where it must not."""

import re
from pathlib import Path

import pytest

from extractbench_nb.tables.canonical import REASONS, canonicalize
from tests.tables.canonical.drawings import drawing_of, table_of

#: Name, table, canonical table, and the steps that it takes.
CASES = {
    "a parent stays within the one above it": (
        """
        # Item | A  | < | B
        #      | a  |   |
        #      | 1  | 2 | 3
          x    | 4  | 5 | 6
        """,
        """
        # Item | A  | < | B
        # ^    | a  | < | 3
        # ^    | 1  | 2 | ^
          x    | 4  | 5 | 6
        """,
        None,
    ),
    "no parent where a node below reaches out": (
        """
        # Item | A |   | B
        #      | x | y | <
        # ^    | 1 | 2 | 3
          i    | 4 | 5 | 6
        """,
        """
        # Item | A |   | B
        # ^    | x | y | <
        # ^    | 1 | 2 | 3
          i    | 4 | 5 | 6
        """,
        ["blank"],
    ),
    "no parent where nothing tells the columns apart": (
        """
        # Item | A |
        #      | n | n
          x    | 1 | 2
        """,
        """
        # Item | A | n
        # ^    | n | ^
          x    | 1 | 2
        """,
        ["blank", "blank"],
    ),
    "a parent over two columns is complete": (
        """
        # Item | Dose | < |
        #      | mg   | g | Weeks
          x    | 1    | 2 | 3
        """,
        """
        # Item | Dose | < | Weeks
        # ^    | mg   | g | ^
          x    | 1    | 2 | 3
        """,
        ["blank", "blank"],
    ),
    "a header cell goes down over blank ones, and up": (
        """
        # Group |     | p
        #       | Age |
        #       |     |
          A     | 30  | 0.1
        """,
        """
        # Group | Age | p
        # ^     | ^   | ^
        # ^     | ^   | ^
          A     | 30  | 0.1
        """,
        ["blank", "blank", "blank", "blank"],
    ),
    "blank cells between parent and children go to the children": (
        """
        # Item | Sales | <
        #      |       |
        #      | 2020  | 2021
          x    | 1     | 2
        """,
        """
        # Item | Sales | <
        # ^    | 2020  | 2021
        # ^    | ^     | ^
          x    | 1     | 2
        """,
        ["blank", "blank", "blank"],
    ),
    "a blank cell over several columns is no node": (
        """
        #      | <  | Sales | <
        # Name | No | 2020  | 2021
          x    | 1  | 2     | 3
        """,
        """
        # Name | No | Sales | <
        # ^    | ^  | 2020  | 2021
          x    | 1  | 2     | 3
        """,
        ["blank", "blank"],
    ),
    "a blank stub head is one cell per column": (
        """
        #   | < | Sales | <
        # ^ | ^ | 2020  | 2021
          A | x | 1     | 2
        """,
        """
        #   |   | Sales | <
        # ^ | ^ | 2020  | 2021
          A | x | 1     | 2
        """,
        ["split"],
    ),
    "repeated texts below two parents": (
        """
        # Item | 2020  | <    | 2021  | <
        # ^    | Sales | Sales | Sales | Sales
        # ^    | n     | %    | n     | %
          x    | 1     | 2    | 3     | 4
        """,
        """
        # Item | 2020  | <    | 2021  | <
        # ^    | Sales | <    | Sales | <
        # ^    | n     | %    | n     | %
          x    | 1     | 2    | 3     | 4
        """,
        ["repeated", "repeated"],
    ),
    "repeated texts of leaves are columns of their own": (
        """
        # Item | 2020 | 2020
        # ^    | n    | n
          x    | 1    | 2
        """,
        None,
        None,
    ),
    "the header goes on as far as one of its cells": (
        """
        # Item  | Sales | Costs
          ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        """
        # Item  | Sales | Costs
        # ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        ["header"],
    ),
    "the header goes on where columns have no name yet": (
        """
        # Item  | Sales |
                | 2020  | 2021
          Paper | 5     | 7
        """,
        """
        # Item  | Sales | <
        # ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        ["header", "parent", "blank"],
    ),
    "the header goes on where columns have the same name": (
        """
        # Item  | Sales | Sales
                | 2020  | 2021
          Paper | 5     | 7
        """,
        """
        # Item  | Sales | <
        # ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        ["header", "repeated", "blank"],
    ),
    "a column without a name does not pull data into the header": (
        """
        # Country | GDP |
          France  | 2.1 | *
          Spain   | 1.2 |
        """,
        None,
        None,
    ),
    "a table without flags has a header of one row": (
        """
          Item  | Sales
          Paper | 5
        """,
        """
        # Item  | Sales
          Paper | 5
        """,
        ["header"],
    ),
    "a table without flags, and its first row spans": (
        """
          Sales by item | <     | <
          Item          | Sales | <
          ^             | 2020  | 2021
          Paper         | 5     | 7
        """,
        """
        # Sales by item | <     | <
        # Item          | Sales | <
        # ^             | 2020  | 2021
          Paper         | 5     | 7
        """,
        ["header", "header", "header"],
    ),
    "no header is found where it would be all of the table": (
        """
          A | <
          B | C
        """,
        """
        = A | <
          B | C
        """,
        ["projected"],
    ),
    "a corner that is not flagged belongs to the header": (
        """
        # Item  | Sales | <
          ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        """
        # Item  | Sales | <
        # ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        ["header"],
    ),
    "a projected row header that spans already": (
        """
        # Item   | 2020 | 2021
          Office | <    | <
          Paper  | 5    | 7
        """,
        """
        # Item   | 2020 | 2021
        = Office | <    | <
          Paper  | 5    | 7
        """,
        ["projected"],
    ),
    "the last rows with one text are notes": (
        """
        # Item      | 2020 | 2021
          Paper     | 5    | 7
          n: no data |     |
          * revised |      |
        """,
        None,
        None,
    ),
    "a row with blanks that is data": (
        """
        # Item  | 2020 | 2021 | 2022
          Paper |      |      | 7
                | 5    |      |
          Pen   | 1    | 2    | 3
        """,
        None,
        None,
    ),
    "Figure 2 of the paper, annotated cell by cell": (
        """
        # Observer | Trials | Estimates to originate on the left |   |              | Confidence
                   |        | Lower 99% CI                       | M | Upper 99% CI |
          H486w    | 4,882  | 63.7                               | 1 | 67.9         | 4.8 ± 0.9
          K939w    | 1,270  | 64.4                               | 2 | 72.1         | 5.4 ± 1.3
        """,
        """
        # Observer | Trials | Estimates to originate on the left | < | <            | Confidence
        # ^        | ^      | Lower 99% CI                       | M | Upper 99% CI | ^
          H486w    | 4,882  | 63.7                               | 1 | 67.9         | 4.8 ± 0.9
          K939w    | 1,270  | 64.4                               | 2 | 72.1         | 5.4 ± 1.3
        """,
        ["header", "parent", "blank", "blank", "blank"],
    ),
    "Figure 4 of the paper, with its sections": (
        """
        # Group      |   | Dominant | <      | Recessive | <
        #            | n | β        | 95% CI | β         | 95% CI
          Mean age   |   |          |        |           |
          < 50 y     | 5 | 0%       | 0.87   | 1%        | 1.12
          > 50 y     | 4 | 1%       | 2.71   | 0%        | 2.39
          Population |   |          |        |           |
          Major      | 7 | 65%      | 1.49   | 64%       | 1.82
        """,
        """
        # Group      | n | Dominant | <      | Recessive | <
        # ^          | ^ | β        | 95% CI | β         | 95% CI
        = Mean age   | < | <        | <      | <         | <
          < 50 y     | 5 | 0%       | 0.87   | 1%        | 1.12
          > 50 y     | 4 | 1%       | 2.71   | 0%        | 2.39
        = Population | < | <        | <      | <         | <
          Major      | 7 | 65%      | 1.49   | 64%       | 1.82
        """,
        ["blank", "blank", "projected", "projected"],
    ),
    "the first column does not where the second repeats itself": (
        """
        # Item  | Unit | 2020
          Paper | kg   | 5
                | kg   | 7
        """,
        None,
        None,
    ),
    "the first column does not where the second is blank": (
        """
        # Item  | Unit | 2020
          Paper |      | 5
                | kg   | 7
        """,
        None,
        None,
    ),
    "the first column does not where the second reaches further": (
        """
        # Item  | Unit | 2020
          Paper | kg   | 5
                | g    | 7
          Pen   | ^    | 9
        """,
        None,
        None,
    ),
    "rows below a section do not belong to its name": (
        """
        # Item   | Unit | 2020
        = Office | <    | <
                 | kg   | 5
                 | g    | 6
        """,
        None,
        None,
    ),
    "a blank cell of the body over several columns": (
        """
        # Item  | 2020 | 2021
          Paper |      | <
          Pen   | 1    | 2
          Ink   | 3    | 4
        """,
        """
        # Item   | 2020 | 2021
        = Paper  | <    | <
          Pen    | 1    | 2
          Ink    | 3    | 4
        """,
        ["projected"],
    ),
    "no parent where the text below is not right below": (
        """
        # Item | A |
        # ^    |   | y
        # ^    | 1 | 2
          x    | 3 | 4
        """,
        """
        # Item | A | y
        # ^    | 1 | ^
        # ^    | ^ | 2
          x    | 3 | 4
        """,
        ["blank", "blank"],
    ),
    "data below columns without names, and no name in its row": (
        """
        #      | n |
               | 5 | *
               | 7 |
        """,
        None,
        None,
    ),
    "a row that names only some columns is not one of the header": (
        """
        # Item  | Sales |      |
                | 2020  | 2021 |
          Paper | 5     | 7    | 9
        """,
        None,
        None,
    ),
    "a row that names columns alike is not one of the header": (
        """
        # Item  | Sales | Sales
                | n     | n
          Paper | 5     | 7
        """,
        None,
        None,
    ),
    "the first column does not where the second begins before": (
        """
        # Item  | Unit | 2020
          Pen   | kg   | 5
          Paper | ^    | 7
                | g    | 9
        """,
        None,
        None,
    ),
    "a cell over two rows is no section": (
        """
        # Item  | 2020
          Paper |
          ^     |
          Pen   | 9
        """,
        None,
        None,
    ),
    "a blank corner over two rows": (
        """
        #       | Sales | <
        # ^     | 2020  | 2021
          Paper | 5     | 7
        """,
        None,
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    before, after, steps = CASES[name]
    found = canonicalize(table_of(before))
    assert drawing_of(found.table) == drawing_of(table_of(after or before))
    if after is None:
        assert found.table is found.given
    if steps is not None:
        assert found.changes["step"].tolist() == steps


PAGE = Path(__file__).parents[3] / "docs" / "howto" / "tables.md"


def examples() -> list[list[str]]:
    """The examples of the page: two drawings with the line `becomes` between them."""
    blocks = re.findall(
        r"^```text\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return [block.split("becomes\n") for block in blocks if "becomes\n" in block]


@pytest.mark.parametrize("example", examples(), ids=range(len(examples())))
def test_examples_of_the_page(example: list[str]) -> None:
    before, after = example
    assert drawing_of(canonicalize(table_of(before)).table) == drawing_of(table_of(after))


def test_the_page_has_an_example_of_each_step() -> None:
    steps = {s for before, _ in examples() for s in canonicalize(table_of(before)).changes["step"]}
    assert steps == set(REASONS)
