"""Tables before and after, drawn by hand: each rule where it applies, and where it must not."""

import pytest

from extractbench_nb.tables.canonical import canonicalize
from tests.tables.canonical.drawings import drawing_of, table_of

#: Name and steps, table, canonical table; without one the table is canonical already.
CASES = """
-- a parent stays within the one above it
# Item | A  | < | B
#      | a  |   |
#      | 1  | 2 | 3
  x    | 4  | 5 | 6
becomes
# Item | A  | < | B
# ^    | a  | < | 3
# ^    | 1  | 2 | ^
  x    | 4  | 5 | 6

-- no parent where a node below reaches out: blank
# Item | A |   | B
#      | x | y | <
# ^    | 1 | 2 | 3
  i    | 4 | 5 | 6
becomes
# Item | A |   | B
# ^    | x | y | <
# ^    | 1 | 2 | 3
  i    | 4 | 5 | 6

-- no parent where nothing tells the columns apart: blank blank
# Item | A |
#      | n | n
  x    | 1 | 2
becomes
# Item | A | n
# ^    | n | ^
  x    | 1 | 2

-- a parent over two columns is complete: blank blank
# Item | Dose | < |
#      | mg   | g | Weeks
  x    | 1    | 2 | 3
becomes
# Item | Dose | < | Weeks
# ^    | mg   | g | ^
  x    | 1    | 2 | 3

-- a header cell goes down over blank ones, and up: blank blank blank blank
# Group |     | p
#       | Age |
#       |     |
  A     | 30  | 0.1
becomes
# Group | Age | p
# ^     | ^   | ^
# ^     | ^   | ^
  A     | 30  | 0.1

-- blank cells between parent and children go to the children: blank blank blank
# Item | Sales | <
#      |       |
#      | 2020  | 2021
  x    | 1     | 2
becomes
# Item | Sales | <
# ^    | 2020  | 2021
# ^    | ^     | ^
  x    | 1     | 2

-- a blank cell over several columns is no node: blank blank
#      | <  | Sales | <
# Name | No | 2020  | 2021
  x    | 1  | 2     | 3
becomes
# Name | No | Sales | <
# ^    | ^  | 2020  | 2021
  x    | 1  | 2     | 3

-- a blank stub head is one cell per column: split
#   | < | Sales | <
# ^ | ^ | 2020  | 2021
  A | x | 1     | 2
becomes
#   |   | Sales | <
# ^ | ^ | 2020  | 2021
  A | x | 1     | 2

-- repeated texts below two parents: repeated repeated
# Item | 2020  | <    | 2021  | <
# ^    | Sales | Sales | Sales | Sales
# ^    | n     | %    | n     | %
  x    | 1     | 2    | 3     | 4
becomes
# Item | 2020  | <    | 2021  | <
# ^    | Sales | <    | Sales | <
# ^    | n     | %    | n     | %
  x    | 1     | 2    | 3     | 4

-- repeated texts of leaves are columns of their own
# Item | 2020 | 2020
# ^    | n    | n
  x    | 1    | 2

-- the header goes on as far as one of its cells: header
# Item  | Sales | Costs
  ^     | 2020  | 2021
  Paper | 5     | 7
becomes
# Item  | Sales | Costs
# ^     | 2020  | 2021
  Paper | 5     | 7

-- the header goes on where columns have no name yet: header parent blank
# Item  | Sales |
        | 2020  | 2021
  Paper | 5     | 7
becomes
# Item  | Sales | <
# ^     | 2020  | 2021
  Paper | 5     | 7

-- the header goes on where columns have the same name: header repeated blank
# Item  | Sales | Sales
        | 2020  | 2021
  Paper | 5     | 7
becomes
# Item  | Sales | <
# ^     | 2020  | 2021
  Paper | 5     | 7

-- a column without a name does not pull data into the header
# Country | GDP |
  France  | 2.1 | *
  Spain   | 1.2 |

-- a table without flags has a header of one row: header
  Item  | Sales
  Paper | 5
becomes
# Item  | Sales
  Paper | 5

-- a table without flags, and its first row spans: header header header
  Sales by item | <     | <
  Item          | Sales | <
  ^             | 2020  | 2021
  Paper         | 5     | 7
becomes
# Sales by item | <     | <
# Item          | Sales | <
# ^             | 2020  | 2021
  Paper         | 5     | 7

-- no header is found where it would be all of the table: projected
  A | <
  B | C
becomes
= A | <
  B | C

-- a corner that is not flagged belongs to the header: header
# Item  | Sales | <
  ^     | 2020  | 2021
  Paper | 5     | 7
becomes
# Item  | Sales | <
# ^     | 2020  | 2021
  Paper | 5     | 7

-- a projected row header that spans already: projected
# Item   | 2020 | 2021
  Office | <    | <
  Paper  | 5    | 7
becomes
# Item   | 2020 | 2021
= Office | <    | <
  Paper  | 5    | 7

-- the last rows with one text are notes
# Item      | 2020 | 2021
  Paper     | 5    | 7
  n: no data |     |
  * revised |      |

-- a row with blanks that is data
# Item  | 2020 | 2021 | 2022
  Paper |      |      | 7
        | 5    |      |
  Pen   | 1    | 2    | 3

-- Figure 2 of the paper, annotated cell by cell: header parent blank blank blank
# Observer | Trials | Estimates to originate on the left |   |              | Confidence
           |        | Lower 99% CI                       | M | Upper 99% CI |
  H486w    | 4,882  | 63.7                               | 1 | 67.9         | 4.8 ± 0.9
  K939w    | 1,270  | 64.4                               | 2 | 72.1         | 5.4 ± 1.3
becomes
# Observer | Trials | Estimates to originate on the left | < | <            | Confidence
# ^        | ^      | Lower 99% CI                       | M | Upper 99% CI | ^
  H486w    | 4,882  | 63.7                               | 1 | 67.9         | 4.8 ± 0.9
  K939w    | 1,270  | 64.4                               | 2 | 72.1         | 5.4 ± 1.3

-- Figure 4 of the paper, with its sections: blank blank projected projected
# Group      |   | Dominant | <      | Recessive | <
#            | n | β        | 95% CI | β         | 95% CI
  Mean age   |   |          |        |           |
  < 50 y     | 5 | 0%       | 0.87   | 1%        | 1.12
  > 50 y     | 4 | 1%       | 2.71   | 0%        | 2.39
  Population |   |          |        |           |
  Major      | 7 | 65%      | 1.49   | 64%       | 1.82
becomes
# Group      | n | Dominant | <      | Recessive | <
# ^          | ^ | β        | 95% CI | β         | 95% CI
= Mean age   | < | <        | <      | <         | <
  < 50 y     | 5 | 0%       | 0.87   | 1%        | 1.12
  > 50 y     | 4 | 1%       | 2.71   | 0%        | 2.39
= Population | < | <        | <      | <         | <
  Major      | 7 | 65%      | 1.49   | 64%       | 1.82

-- the first column does not where the second repeats itself
# Item  | Unit | 2020
  Paper | kg   | 5
        | kg   | 7

-- the first column does not where the second is blank
# Item  | Unit | 2020
  Paper |      | 5
        | kg   | 7

-- the first column does not where the second reaches further
# Item  | Unit | 2020
  Paper | kg   | 5
        | g    | 7
  Pen   | ^    | 9

-- rows below a section do not belong to its name
# Item   | Unit | 2020
= Office | <    | <
         | kg   | 5
         | g    | 6

-- a blank cell of the body over several columns: projected
# Item  | 2020 | 2021
  Paper |      | <
  Pen   | 1    | 2
  Ink   | 3    | 4
becomes
# Item   | 2020 | 2021
= Paper  | <    | <
  Pen    | 1    | 2
  Ink    | 3    | 4

-- no parent where the text below is not right below: blank blank
# Item | A |
# ^    |   | y
# ^    | 1 | 2
  x    | 3 | 4
becomes
# Item | A | y
# ^    | 1 | ^
# ^    | ^ | 2
  x    | 3 | 4

-- data below columns without names, and no name in its row
#      | n |
       | 5 | *
       | 7 |

-- a row that names only some columns is not one of the header
# Item  | Sales |      |
        | 2020  | 2021 |
  Paper | 5     | 7    | 9

-- a row that names columns alike is not one of the header
# Item  | Sales | Sales
        | n     | n
  Paper | 5     | 7

-- the first column does not where the second begins before
# Item  | Unit | 2020
  Pen   | kg   | 5
  Paper | ^    | 7
        | g    | 9

-- a cell over two rows is no section
# Item  | 2020
  Paper |
  ^     |
  Pen   | 9

-- a blank corner over two rows
#       | Sales | <
# ^     | 2020  | 2021
  Paper | 5     | 7
"""


@pytest.mark.parametrize("case", CASES.strip().split("\n\n"), ids=lambda case: case.split("\n")[0])
def test_before_and_after(case: str) -> None:
    title, _, drawings = case.partition("\n")
    before, _, after = drawings.partition("becomes\n")
    found = canonicalize(table_of(before))
    assert drawing_of(found.table) == drawing_of(table_of(after or before))
    assert (found.table is found.given) == (not after)
    _, has_steps, steps = title.partition(": ")
    assert not has_steps or found.changes["step"].tolist() == steps.split()
