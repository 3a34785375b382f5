"""Figures whose text form has a digest of what is drawn.

A kept notebook is compared with a new run by the text of its outputs, since the bytes of a picture
differ between versions of matplotlib. So the text of a figure says what its data are.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, LineCollection, PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedLocator

_Values = npt.NDArray[np.float64]

#: Steps per power of ten, and what is added before cutting off. Values that occur in practice, such
#: as fractions and round numbers, are then far from a limit between two steps, so that errors in
#: the last digits of a float do not change the digest.
_STEPS = 1e4
_SHIFT = 0.4137


class DataFigure(Figure):
    """A figure whose repr ends in a digest of the values, texts and colours in it."""

    def __repr__(self) -> str:
        """Return size, number of Axes, number of values and digest."""
        numbers, digest = digest_of(self)
        return f"{super().__repr__()[:-1]}, {numbers:,} values, digest {digest}>"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
        """Return a picture with two pixels for each point of the screen."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * self.dpi, bbox_inches="tight")
        png = buffer.getvalue()
        # the header of a PNG has its width and height, as four bytes each
        width, height = (int.from_bytes(png[at : at + 4], "big") / 2 for at in (16, 20))
        data = {"image/png": base64.b64encode(png).decode(), "text/plain": repr(self)}
        return data, {"image/png": {"width": width, "height": height}}


def new_figure(width: float, height: float) -> DataFigure:
    """Return a new figure of a size in inches, known to pyplot, so that a notebook shows it."""
    from matplotlib import pyplot as plt

    size = (width, height)
    return plt.figure(figsize=size, layout="constrained", FigureClass=DataFigure)  # type: ignore[return-value]


def digest_of(figure: Figure) -> tuple[int, str]:
    """Count the plotted values of a figure, and return a digest of them, their texts and colours.

    Values are compared in steps of 1/10,000 of the power of ten of the largest in the same array,
    so that the digest is the same on machines whose floats differ in the last digits.
    """
    count, hashed = 0, hashlib.sha256()
    for ax in figure.axes:
        for artist in (*ax.lines, *ax.patches, *ax.collections, *ax.images):
            for values in _values(artist):
                count += values.size
                hashed.update(_stepped(values))
            hashed.update("|".join(_colours(artist)).encode())
        hashed.update("\0".join(_texts(ax)).encode())
    return count, hashed.hexdigest()[:12]


def _values(artist: Artist) -> Iterator[_Values]:
    """Yield what an artist draws, as arrays; x and y apart, since their sizes differ."""
    arrays: list[Any] = []
    if isinstance(artist, Line2D):
        arrays = list(artist.get_data(orig=False))
    elif isinstance(artist, Rectangle):
        (x, y), width, height = artist.get_xy(), artist.get_width(), artist.get_height()
        arrays = [(x, width), (y, height)]
    elif isinstance(artist, Patch):
        arrays = list(np.asarray(artist.get_path().vertices).T)
    elif isinstance(artist, (QuadMesh, AxesImage)):
        arrays = [artist.get_array()]
    elif isinstance(artist, PathCollection):
        arrays = list(np.ma.getdata(artist.get_offsets()).T)
    elif isinstance(artist, LineCollection):
        arrays = [part for line in artist.get_segments() for part in np.asarray(line).T]
    elif isinstance(artist, Collection):
        arrays = [part for path in artist.get_paths() for part in np.asarray(path.vertices).T]
    for array in arrays:
        yield np.ma.filled(np.ma.asarray(array, dtype=np.float64), np.nan).ravel()


def _stepped(values: _Values) -> bytes:
    """Return values as whole numbers of steps, missing ones marked, and the size of a step."""
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max()) if known.size else 0.0
    power = int(np.floor(np.log10(largest) + _SHIFT)) if largest else 0
    steps = np.floor(values * 10.0**-power * _STEPS + _SHIFT)
    return f"{power}:{','.join(f'{step:.0f}' for step in steps)};".encode()


def _colours(artist: Artist) -> Iterator[str]:
    """Yield the colours of an artist; a hollow point means something else than a full one."""
    if isinstance(artist, Line2D):
        yield to_hex(artist.get_color())
    elif isinstance(artist, Patch):
        yield to_hex(artist.get_facecolor())
    elif isinstance(artist, Collection) and not isinstance(artist, QuadMesh):
        for colour in (*artist.get_facecolor(), *artist.get_edgecolor()):
            yield to_hex(colour)


def _texts(ax: Axes) -> Iterator[str]:
    """Yield the texts of Axes: titles, names of rows and columns, numbers, legends."""
    yield from (ax.get_title(loc=side) for side in ("left", "center", "right"))
    yield from (ax.get_xlabel(), ax.get_ylabel())
    for axis in (ax.xaxis, ax.yaxis):
        yield from _names(axis)
    yield from (text.get_text() for text in ax.texts)
    legend = ax.get_legend()
    yield from (text.get_text() for text in legend.get_texts()) if legend else ()


def _names(axis: Axis) -> Iterator[str]:
    """Yield the labels of ticks whose places were given; others are matplotlib's choice."""
    if isinstance(axis.get_major_locator(), FixedLocator):
        yield from axis.get_major_formatter().format_ticks(axis.get_majorticklocs().tolist())
