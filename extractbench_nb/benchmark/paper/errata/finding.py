"""One erratum: what was printed, what comes out, and why."""

from __future__ import annotations

from typing import NamedTuple

from extractbench_nb.benchmark.paper.status import rounded
from extractbench_nb.benchmark.published import Figure

__all__ = ["HIGH", "LOW", "MEDIUM", "SEVERITIES", "Finding", "against", "percent"]

#: It changes a result or a conclusion; a printed figure is wrong; a matter of wording or emphasis.
HIGH, MEDIUM, LOW = SEVERITIES = ("high", "medium", "low")


class Finding(NamedTuple):
    """A row of `errata`; the fields are the columns of ``ERRATA_COLUMNS``."""

    id: str
    where: str
    published: str
    recomputed: str
    difference: float | None
    explanation: str
    severity: str
    check: str


def against(figure: Figure, value: float) -> tuple[str, str, float]:
    """Return a printed figure, a computed one written the same way, and their difference."""
    digits = max(figure.digits or 0, 0)
    suffix = "%" if figure.unit == "%" else "×" if figure.printed.endswith("×") else ""
    comma = "," if "," in figure.printed else ""
    shown = f"{rounded(value, digits):{comma}.{digits}f}{suffix}"
    return figure.printed, shown, value - (figure.value or 0.0)


def percent(value: float) -> str:
    """Write a share as 22.4%."""
    return f"{rounded(value, 1)}%"
