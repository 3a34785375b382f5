"""How a figure is written: as the printed one is."""

from __future__ import annotations

from extractbench_nb.benchmark.paper.status import rounded
from extractbench_nb.benchmark.published import Figure

__all__ = ["HEADER", "written"]

#: Row of Table 5 that holds what its column heads say; it is not part of the wide table.
HEADER = "header"


def written(figure: Figure, value: float | str | None) -> str | None:
    """Write a recomputed figure the way the printed one is written; None where there is none."""
    if value is None or isinstance(value, str):
        return value
    digits = max(figure.digits or 0, 0)
    number = rounded(value, digits)
    comma = "," if "," in figure.printed else ""
    suffix = "%" if figure.unit == "%" else "×" if figure.printed.endswith("×") else ""
    return f"{number:{comma}.{digits}f}{suffix}"
