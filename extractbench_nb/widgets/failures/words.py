"""Names of fields, documents and runs where room is short."""

from __future__ import annotations

from extractbench_nb.report.texts import clean

__all__ = ["plural", "shortened"]


def shortened(text: str, limit: int) -> str:
    """Write a name on one line, leaving out its middle where it is too long.

    Parameters
    ----------
    text : str
        The name.
    limit : int
        Characters to show, 3 and up.

    Returns
    -------
    str
        The line; both ends of a path tell it from its neighbours.

    Examples
    --------
    >>> shortened("balance.deferred_tax_assets.before", 20)
    'balance.de…ts.before'
    """
    ends = text if len(text) <= 4 * limit else text[: 2 * limit] + text[-2 * limit :]
    line = " ".join(clean(ends).split())
    if len(line) <= limit:
        return line
    last = (limit - 1) // 2
    return f"{line[: limit - 1 - last]}…{line[-last:]}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 run``, ``4 runs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
