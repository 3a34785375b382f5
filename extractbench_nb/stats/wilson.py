"""Wilson's interval for a share: sound for few rows, and where all or none of them agree."""

from __future__ import annotations

import math

from extractbench_nb.stats.bootstrap import Interval
from extractbench_nb.stats.drawing import Drawing

__all__ = ["wilson_interval"]


def wilson_interval(share: float, rows: float, drawing: Drawing) -> Interval:
    """Return Wilson's score interval.

    Parameters
    ----------
    share : float
        0 to 1.
    rows : float
        Of how many independent rows it is the share; above 0, not necessarily a whole number.
    drawing : Drawing
        Confidence.

    Returns
    -------
    Interval
        Holds the share, and lies between 0 and 1.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927).

    Examples
    --------
    >>> low, high, _ = wilson_interval(0.0, 7, Drawing(0.95, 100, 0))
    >>> low, round(high, 3)
    (0.0, 0.354)
    """
    z = drawing.quantile
    middle = share + z**2 / (2 * rows)
    half = z * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    low, high = ((middle + side * half) / (1 + z**2 / rows) for side in (-1, 1))
    # rounding must not leave the share itself outside
    return Interval(max(0.0, min(low, share)), min(1.0, max(high, share)), "Wilson")
