"""Tables of figures that come with the package."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

import pandas as pd

from extractbench_nb._frames import FrameSpec

__all__ = ["shipped_frame", "shipped_rows", "shipped_table"]


@cache
def _text(place: str) -> str:
    return files("extractbench_nb.benchmark").joinpath(place).read_text("utf-8")


def shipped_rows(place: str) -> list[dict[str, str]]:
    """Read a table as texts.

    Parameters
    ----------
    place : str
        The CSV file, below this package, ``data/registry.csv``.

    Returns
    -------
    list of dict
        One a row: column to cell.
    """
    return list(csv.DictReader(_text(place).splitlines()))


def shipped_table(place: str, **options: Any) -> pd.DataFrame:
    """Read a table as pandas does.

    Parameters
    ----------
    place : str
        The CSV file.
    **options
        Of `pandas.read_csv`.

    Returns
    -------
    pandas.DataFrame
        A new frame.
    """
    frame: pd.DataFrame = pd.read_csv(StringIO(_text(place)), **options)
    return frame


def shipped_frame(place: str, spec: FrameSpec) -> pd.DataFrame:
    """Read a table into a declared frame; an empty cell is missing.

    Parameters
    ----------
    place : str
        The CSV file.
    spec : FrameSpec
        Its columns.

    Returns
    -------
    pandas.DataFrame
        A new frame.
    """
    frame = shipped_table(place)
    cells = {n: [None if pd.isna(cell) else cell for cell in frame[n]] for n in spec.names}
    return spec.build(cells)
