"""`style`: a table in the paper's layout, for a notebook, a LaTeX file or Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import rows_of
from extractbench_nb.errors import InputError
from extractbench_nb.paper.cells import Cell, Cells
from extractbench_nb.paper.layout import lay_out
from extractbench_nb.paper.tables import cells_of, table_name

if TYPE_CHECKING:
    from extractbench_nb.display.publication import PaperStyler

__all__ = ["style"]


def style(
    n: int | str, *, values: str = "recomputed", dataset: Dataset | None = None
) -> PaperStyler:
    """Show a table in the paper's layout.

    Parameters
    ----------
    n : int or str
        1 to 13, or ``"figure2"``.
    values : str, optional
        ``"recomputed"`` or ``"published"``. Bold (best of a column) and red (nothing passed)
        follow from the figures, not from the paper's marks.
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    PaperStyler
        A pandas Styler; also with ``.to_latex()`` (booktabs, xcolor) and ``.to_markdown()``. A
        dash stands for what cannot be recomputed.

    Raises
    ------
    InputError
        There is no such table, or `values` is something else.

    Examples
    --------
    >>> print(style(1).to_markdown())
    |  | Keys | Depth | Docs |
    | --- | ---: | ---: | ---: |
    | Sports Results | 12 | 6 | 5 |
    ...
    """
    from extractbench_nb.display.publication import styled  # it imports jinja2

    part = table_name(n)
    if values not in ("recomputed", "published"):
        raise InputError(f"values={values!r}: expected 'recomputed' or 'published'")
    cells = cells_of(part, dataset=dataset) if values == "recomputed" else _printed(part)
    return styled(lay_out(part, cells), part)


def _printed(part: str) -> Cells:
    return {
        (f.row, f.column): Cell(
            f.printed if f.value is None or part == "figure2" else f.value, "as printed"
        )
        for f in rows_of(part)
    }
