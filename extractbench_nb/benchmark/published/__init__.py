"""The figures that the ExtractBench paper prints, as tidy data: one figure a row.

Source: Ferguson et al., ExtractBench (arXiv 2602.12247), Tables 1 to 13, the caption of Figure 2
and the numbers of the text; three counts come from the README of the benchmark's repository. The
files hold facts only: numbers, the names of rows and columns, and where each was printed.
"""

from extractbench_nb.benchmark.published.reader import (
    FIGURE_COLUMNS,
    PARTS,
    Figure,
    figures,
    part_name,
    rows_of,
)

__all__ = ["FIGURE_COLUMNS", "PARTS", "Figure", "figures", "part_name", "rows_of"]
