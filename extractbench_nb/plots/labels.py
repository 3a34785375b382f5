"""Names beside points, each where it covers least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from extractbench_nb.plots.drawing import INK, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Box", "candidates", "choose_places", "name_points"]

_SIZE = 8.5
_CHARACTER = 0.58 * _SIZE
_POINT = 5.0

#: Where a label may go from its point, in points of 1/72 inch, the best first: its lower left
#: corner is the point plus this, plus a share of the label's width.
_PLACES = (
    (7.0, -4.5, 0.0),
    (-7.0, -4.5, -1.0),
    (0.0, 6.0, -0.5),
    (0.0, -15.0, -0.5),
    (4.0, 5.0, 0.0),
    (4.0, -13.5, 0.0),
    (-4.0, 5.0, -1.0),
    (-4.0, -13.5, -1.0),
    (0.0, 17.0, -0.5),
    (0.0, -26.0, -0.5),
)


class Box(NamedTuple):
    """A rectangle in points of 1/72 inch."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Box) -> float:
        """Return the area that two rectangles share.

        Parameters
        ----------
        other : Box
            The other one.

        Returns
        -------
        float
            Square points, 0 and up.
        """
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


def choose_places(
    points: Sequence[tuple[float, float]], widths: Sequence[float], frame: Box
) -> list[tuple[float, float]]:
    """Choose where the labels of points go, one after the other.

    Parameters
    ----------
    points : sequence of tuple of float
        Points in 1/72 inch.
    widths : sequence of float
        Widths of their labels, in the same unit.
    frame : Box
        What the labels should stay in.

    Returns
    -------
    list of tuple of float
        Lower left corners, relative to the points.

    Examples
    --------
    >>> frame = Box(0, 0, 200, 100)
    >>> choose_places([(20.0, 50.0), (190.0, 50.0)], [40.0, 40.0], frame)
    [(7.0, -4.5), (-47.0, -4.5)]
    """
    taken = [Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points]
    chosen = []
    for (x, y), width in zip(points, widths, strict=True):
        boxes = list(candidates(x, y, width))
        best = min(boxes, key=lambda box: _covered(box, taken, frame))
        taken.append(best)
        chosen.append((best.left - x, best.bottom - y))
    return chosen


def candidates(x: float, y: float, width: float) -> Iterator[Box]:
    """Yield where the label of a point may stand, the best place first."""
    for right, up, share in _PLACES:
        left, bottom = x + right + share * width, y + up
        yield Box(left, bottom, left + width, bottom + _SIZE + 1.0)


def _covered(box: Box, taken: Sequence[Box], frame: Box) -> float:
    """Return what a label would cover, and what of it would be outside."""
    area = (box.right - box.left) * (box.top - box.bottom)
    return sum(box.overlap(other) for other in taken) + 3 * (area - box.overlap(frame))


def name_points(ax: Axes, names: Sequence[str], x: Numbers, y: Numbers) -> None:
    """Write a name beside each point; the limits of the Axes have to be set.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    names : sequence of str
        Labels, made safe by `words`.
    x, y : ndarray of shape (n,)
        The points in the units of the axes.
    """
    figure = ax.get_figure(root=True)
    inch = 72 / (figure.dpi if figure is not None else 72)
    pixels = ax.transData.transform(np.column_stack([x, y])) * inch
    left, bottom, right, top = (np.asarray(ax.bbox.extents) * inch).tolist()
    widths = [_CHARACTER * len(name) for name in names]
    places = [(float(across), float(up)) for across, up in pixels]
    shifts = choose_places(places, widths, Box(left, bottom, right, top))
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": _SIZE, "color": INK}
    for name, across, up, shift in zip(names, x, y, shifts, strict=True):
        ax.annotate(name, (across, up), xytext=shift, zorder=5, **style)
