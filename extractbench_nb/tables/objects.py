"""Objects that a model detects in an image of a table, and words: reading them, crops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest, no_column
from extractbench_nb.tables.cells import Box, Cell, Numbers, check_share, is_whole
from extractbench_nb.tables.grid_similarity import boundaries
from extractbench_nb.tables.reading import read_table

#: The classes of table structure recognition and functional analysis; a class is also the number
#: of its place, as models return it.
STRUCTURE_LABELS = (
    "table",
    "table column",
    "table row",
    "table column header",
    "table projected row header",
    "table spanning cell",
)
#: The classes of table detection on a page.
DETECTION_LABELS = ("table", "table rotated")

#: Where a box is.
CORNER_COLUMNS = (
    Column("x0", "float64", "left edge"),
    Column("y0", "float64", "upper edge"),
    Column("x1", "float64", "right edge"),
    Column("y1", "float64", "lower edge"),
)

_CORNERS = tuple(column.name for column in CORNER_COLUMNS)

OBJECT_COLUMNS = FrameSpec(
    "objects",
    "one row per object, in the index its position in the input",
    (
        Column("label", "string", "class", "STRUCTURE_LABELS or DETECTION_LABELS"),
        Column("score", "float64", "how certain the model is", "0 to 1"),
        *CORNER_COLUMNS,
    ),
)

WORD_COLUMNS = FrameSpec(
    "words",
    "one row per word, in the index its position in the input",
    (
        Column("text", "string", "text"),
        *CORNER_COLUMNS,
        Column("span_num", "int64", "place in its line"),
        Column("line_num", "int64", "line in its block"),
        Column("block_num", "int64", "block of the page"),
        Column("flags", "int64", "of the font, as MuPDF has them: 1 is superscript"),
    ),
)


class Crop(NamedTuple):
    """A table cut out of the image of a page.

    Attributes
    ----------
    object : int
        Position of the table in the list of objects.
    label : str
        ``"table"``, or ``"table rotated"``: the crop is turned upright.
    score : float
        Score of the detection, 0 to 1.
    box : tuple of int
        Left, upper, right and lower edge of the crop in the page, in pixels.
    image : numpy.ndarray
        The pixels, of shape (height, width) or (height, width, channels).
    words : pandas.DataFrame
        The words with at least half of them in the crop, in pixels of the crop.
    """

    object: int
    label: str
    score: float
    box: tuple[int, int, int, int]
    image: npt.NDArray[Any]
    words: pd.DataFrame


class Detected(NamedTuple):
    """Objects as arrays: `numbers` are their positions in the input, `problems` go by these."""

    numbers: list[int]
    labels: list[str]
    scores: Numbers
    boxes: Numbers
    problems: dict[int, str]


class Words(NamedTuple):
    """Words as arrays: `numbers` are their positions in the input, `problems` go by these.

    `order` has block, line and span number and flags.
    """

    numbers: list[int]
    texts: list[str]
    boxes: Numbers
    order: npt.NDArray[np.int64]
    problems: dict[int, str]


def read_objects(
    given: Any, where: str = "objects", *, labels: Sequence[str] = STRUCTURE_LABELS
) -> tuple[pd.DataFrame, dict[int, str]]:
    """Read detected (or true) objects; those that cannot be used are left out.

    Parameters
    ----------
    given : pandas.DataFrame or list of dict
        Each has a ``label``, by name or number, a box, as ``bbox`` (x0, y0, x1, y1) or as four
        columns, and perhaps a ``score``, otherwise 1.
    where : str, optional
        What messages call them.
    labels : sequence of str, optional
        The classes: `STRUCTURE_LABELS` or `DETECTION_LABELS`.

    Returns
    -------
    objects : pandas.DataFrame
        One row per usable object: ``label``, ``score``, ``x0``, ``y0``, ``x1``, ``y1``; the index
        has the position in `given`.
    problems : dict
        By position what is wrong with those left out: an unknown label, a box that is not four
        finite numbers or has no area, a score outside 0 to 1.

    Raises
    ------
    InputError
        `given` is not a list of objects, or a column is missing.

    Examples
    --------
    >>> given = [{"label": label, "bbox": [10, 10, 90, 50]} for label in ("table", "table rwo")]
    >>> objects, problems = read_objects(given)
    >>> objects
       label  score    x0    y0    x1    y1
    0  table    1.0  10.0  10.0  90.0  50.0
    >>> problems
    {1: "label is 'table rwo'; did you mean 'table row' or 'table' or 'table column'?"}
    """
    found = detected_objects(given, where, labels)
    frame = _frame(OBJECT_COLUMNS, found, {"label": found.labels, "score": found.scores})
    return frame, found.problems


def read_words(given: Any, where: str = "words") -> tuple[pd.DataFrame, dict[int, str]]:
    """Read the words of an image, and by position say what is wrong with those left out."""
    read = detected_words(given, where)
    order = zip(_ORDER, read.order.T, strict=True)
    return _frame(WORD_COLUMNS, read, {"text": read.texts, **dict(order)}), read.problems


def _frame(spec: FrameSpec, read: Detected | Words, columns: dict[str, Any]) -> pd.DataFrame:
    frame = spec.build({**columns, **dict(zip(_CORNERS, read.boxes.T, strict=True))})
    frame.index = pd.Index(read.numbers, dtype="int64")
    return frame


def detected_objects(given: Any, where: str, labels: Sequence[str] = STRUCTURE_LABELS) -> Detected:
    """Read objects into arrays."""
    columns, corners, problems = _columns(given, where, ("label", "score"))
    names = {label: label for label in labels} | dict(enumerate(labels))
    found = []
    for n, label in enumerate(columns["label"]):
        known = names.get(label) if isinstance(label, str) or is_whole(label) else None
        if known is None:
            problems.setdefault(n, f"label is {label!r}; {nearest(str(label), labels)}")
        found.append(known or "")
    boxes, given_scores = _boxes(corners, problems), columns["score"]
    scores = np.array([1.0 if s is None else _number(s) for s in given_scores], dtype=np.float64)
    for n in np.flatnonzero(~((scores >= 0) & (scores <= 1))).tolist():
        problems.setdefault(n, f"score is {given_scores[n]!r}; expected a number from 0 to 1")
    kept = [n for n in range(len(found)) if n not in problems]
    return Detected(
        kept, [found[n] for n in kept], scores[kept], boxes[kept], dict(sorted(problems.items()))
    )


_ORDER = ("block_num", "line_num", "span_num", "flags")
#: Numbers of blocks, lines and spans are less than this.
_MOST = 1 << 53


def detected_words(given: Any, where: str) -> Words:
    """Read words into arrays."""
    columns, corners, problems = _columns(given, where, ("text", *_ORDER))
    texts = columns["text"]
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            problems.setdefault(n, f"text is {text!r}; expected a str")
    boxes = _boxes(corners, problems)
    order = np.zeros((len(texts), 4), dtype=np.int64)
    order[:, 2] = range(len(texts))
    for place, name in enumerate(_ORDER):
        for n, number in enumerate(columns[name]):
            if isinstance(number, int | float | np.integer) and -_MOST < number < _MOST:
                order[n, place] = int(number)
    kept = [n for n in range(len(texts)) if n not in problems]
    return Words(
        kept, [texts[n] for n in kept], boxes[kept], order[kept], dict(sorted(problems.items()))
    )


def _columns(
    given: Any, where: str, names: tuple[str, ...]
) -> tuple[dict[str, list[Any]], list[Any], dict[int, str]]:
    """Return columns, of which the first must be present, corners, and which items are no dicts."""
    given = as_pandas(given)
    if isinstance(given, pd.DataFrame):
        needed = (names[0], *(() if "bbox" in given else _CORNERS))
        missing = [name for name in needed if name not in given]
        if missing and len(given):
            raise InputError(f"{where}: {no_column(missing[0], given)}")
        given = given[[n for n in (*names, "bbox", *_CORNERS) if n in given]].to_dict("records")
    if not isinstance(given, list | tuple):
        raise InputError(
            f"{where} is {type(given).__name__}; expected a DataFrame or a list of dicts with "
            f"{names[0]} and bbox"
        )
    are_dicts = [isinstance(item, Mapping) for item in given]
    problems = {
        n: f"is {type(given[n]).__name__}; expected a dict"
        for n, is_dict in enumerate(are_dicts)
        if not is_dict
    }
    items = [item if is_dict else {} for item, is_dict in zip(given, are_dicts, strict=True)]
    columns = {name: [item.get(name) for item in items] for name in names}
    corners = [
        [item.get(name) for name in _CORNERS]
        if "x0" in item and "bbox" not in item
        else item.get("bbox")
        for item in items
    ]
    return columns, corners, problems


def _boxes(corners: list[Any], problems: dict[int, str]) -> Numbers:
    """Return boxes of shape (count, 4), and say what is wrong with those that cannot be used."""
    try:
        boxes = np.array(corners, dtype=np.float64).reshape(len(corners), 4)
    except (TypeError, ValueError):
        boxes = np.full((len(corners), 4), np.nan)
        for n, box in enumerate(corners):
            edges = list(box) if isinstance(box, Sequence | np.ndarray) else []
            if len(edges) == len(_CORNERS):
                boxes[n] = list(map(_number, edges))
    for n in np.flatnonzero(~np.isfinite(boxes).all(axis=1)).tolist():
        problems.setdefault(n, f"bbox is {_shown(corners[n])}; expected finite x0, y0, x1, y1")
    for n in np.flatnonzero((boxes[:, :2] >= boxes[:, 2:]).any(axis=1)).tolist():
        what = "is reversed" if (boxes[n, :2] > boxes[n, 2:]).any() else "has no area"
        problems.setdefault(n, f"bbox {_shown(corners[n])} {what}; expected x0 < x1 and y0 < y1")
    return boxes


def _shown(box: Any) -> str:
    return repr(list(box) if isinstance(box, tuple | np.ndarray) else box)


def _number(value: Any) -> float:
    is_number = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    return float(value) if is_number else float("nan")


def to_objects(table: Any, padding: float | None = None) -> pd.DataFrame:
    """Return the objects that a model should find: the inverse of `from_objects`.

    Parameters
    ----------
    table : Table, or an input of `read_table`
        The table, whose cells have boxes.
    padding : float, optional
        Distance of the table from the left and upper edge, to which boxes are moved, as in the
        crops of PubTables-1M (30 pixels there). By default they are not moved.

    Returns
    -------
    pandas.DataFrame
        In the form of `read_objects`, with score 1: the table, its columns and rows without gaps,
        the header, projected row headers, and other cells that span and are not blank.

    Raises
    ------
    InputError
        No cell has a box, the boxes contradict the order of rows or columns, or `padding` is no
        number from 0.

    Notes
    -----
    Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2021): neighbours meet halfway.

    Examples
    --------
    >>> cells = [
    ...     {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 10, 5]},
    ...     {"row_nums": [1], "column_nums": [0], "bbox": [2, 7, 12, 9]},
    ... ]
    >>> to_objects(cells)[["label", "y0", "y1"]].iloc[2:]
           label   y0   y1
    2  table row  0.0  6.0
    3  table row  6.0  9.0
    """
    found = read_table(table)
    margin = None if padding is None else _checked_padding(padding)
    if not found.cells:
        return OBJECT_COLUMNS.build()
    across, down = boundaries(found, 0), boundaries(found, 1)

    def box(cells: Iterable[Cell]) -> Box:
        rows, columns = (
            [n for c in cells for n in getattr(c, axis)] for axis in ("rows", "columns")
        )
        return across[min(columns)], down[min(rows)], across[max(columns) + 1], down[max(rows) + 1]

    left, top, right, bottom = whole = box(found.cells)
    objects = [("table", whole)]
    objects += [("table column", (x0, top, x1, bottom)) for x0, x1 in pairwise(across)]
    objects += [("table row", (left, y0, right, y1)) for y0, y1 in pairwise(down)]
    header = [cell for cell in found.cells if cell.is_header]
    if header:
        objects.append(("table column header", box(header)))
    for cell in found.cells:
        if cell.is_projected:
            objects.append(("table projected row header", box([cell])))
        elif len(cell.rows) * len(cell.columns) > 1 and cell.text.strip():
            objects.append(("table spanning cell", box([cell])))
    dx, dy = (0.0, 0.0) if margin is None else (margin - left, margin - top)
    return OBJECT_COLUMNS.from_rows(
        (label, 1.0, x0 + dx, y0 + dy, x1 + dx, y1 + dy) for label, (x0, y0, x1, y1) in objects
    )


def crop(
    image: Any, objects: Any, words: Any = None, padding: float = 30, *, threshold: float = 0.5
) -> list[Crop]:
    """Cut the tables that were detected on a page out of its image.

    Parameters
    ----------
    image : numpy.ndarray or PIL.Image.Image
        The page, height x width pixels, with or without channels.
    objects : pandas.DataFrame or list of dict
        The detected objects, as `read_objects` takes them with `DETECTION_LABELS`; those that
        cannot be used are left out.
    words : pandas.DataFrame or list of dict, optional
        The words of the page, as `from_objects` takes them.
    padding : float, optional
        Margin around the table on each side, in pixels, as far as the page extends.
    threshold : float, optional
        Minimum score of a table, 0 to 1.

    Returns
    -------
    list of Crop
        One per table, in the order of the objects. A rotated table is turned by 90 degrees
        clockwise. A word may be in several crops.

    Raises
    ------
    InputError
        A table lies outside the image, or an argument cannot be read.

    Notes
    -----
    Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2021).

    Examples
    --------
    >>> table = {"label": "table", "score": 0.9, "bbox": [20, 30, 60, 70]}
    >>> word = {"text": "Year", "bbox": [25, 35, 45, 45]}
    >>> found = crop(np.zeros((100, 80)), [table], [word], padding=15)[0]
    >>> found.box, found.image.shape, found.words.loc[0, ["x0", "y0"]].tolist()
    ((5, 15, 75, 85), (70, 70), [20.0, 20.0])
    """
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3):
        shape = f"has the shape {pixels.shape}" if pixels.ndim else f"is {type(image).__name__}"
        raise InputError(f"image {shape}; expected pixels, height x width (x channels)")
    padding = _checked_padding(padding)
    check_share(threshold, "threshold")
    found = detected_objects(objects, "objects", DETECTION_LABELS)
    read = read_words([] if words is None else words)[0]
    corners = list(_CORNERS)
    crops = []
    for n, label, score, box in zip(*found[:4], strict=True):
        if score < threshold:
            continue
        padded = box + padding * np.array([-1, -1, 1, 1])
        edges = np.clip(np.rint(padded), 0, [*pixels.shape[1::-1]] * 2).astype(int)
        left, top, right, bottom = edges.tolist()
        if left >= right or top >= bottom:
            raise InputError(
                f"objects, object {n}: its box {box.tolist()} lies outside the image, which has "
                f"{pixels.shape[1]} x {pixels.shape[0]} pixels"
            )
        part = pixels[top:bottom, left:right]
        inside = read[overlaps(read[corners].to_numpy(), padded[None])[:, 0] >= HALF].copy()
        inside[corners] -= [left, top, left, top]
        if label == "table rotated":
            part = np.rot90(part, -1)
            x0, y0, x1, y1 = (inside[name] for name in _CORNERS)
            width = bottom - top - 1
            turned = pd.concat([width - y1, x0, width - y0, x1], axis=1)
            inside[corners] = turned.to_numpy()
        crops.append(Crop(n, label, float(score), (left, top, right, bottom), part, inside))
    return crops


def _checked_padding(padding: Any) -> float:
    number = _number(padding)
    if not 0 <= number < np.inf:
        raise InputError(f"padding is {padding!r}; expected a number of pixels from 0")
    return number


#: Share of an object's area or extent that must be covered for it to be inside another.
HALF = 0.5


def overlaps(a: Numbers, b: Numbers) -> Numbers:
    """Return the share of the area of each box of the first that lies in each of the others."""
    width = np.minimum.outer(a[:, 2], b[:, 2]) - np.maximum.outer(a[:, 0], b[:, 0])
    height = np.minimum.outer(a[:, 3], b[:, 3]) - np.maximum.outer(a[:, 1], b[:, 1])
    common = np.maximum(width, 0) * np.maximum(height, 0)
    areas = areas_of(a)
    found: Numbers = common / np.where(areas > 0, areas, np.inf)[:, None]
    return found


def areas_of(boxes: Numbers) -> Numbers:
    """Return areas; 0 for reversed boxes."""
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0)
    areas: Numbers = sides[:, 0] * sides[:, 1]
    return areas
