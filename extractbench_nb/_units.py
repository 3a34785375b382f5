"""Quantities as people read them."""

from __future__ import annotations

from math import isnan

__all__ = ["dollars"]


def dollars(amount: float | None) -> str:
    """Write an amount in US dollars: cents from a dollar on, else two digits that say something.

    Examples
    --------
    >>> dollars(12.345), dollars(0.00047), dollars(0)
    ('$12.35', '$0.00047', '$0')
    >>> dollars(None), dollars(float("nan"))
    ('an unknown amount', 'an unknown amount')
    """
    if amount is None or isnan(amount):
        return "an unknown amount"
    if amount >= 1:
        return f"${amount:,.2f}"
    text = f"{amount:.8f}" if amount < _SMALLEST else f"{float(f'{amount:.2g}'):.8f}"
    return "$" + (text.rstrip("0").rstrip(".") or "0")


_SMALLEST = 1e-7
