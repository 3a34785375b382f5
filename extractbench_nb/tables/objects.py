"""Objects that a model detects in an image of a table, and words; average precision of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest, no_column
from extractbench_nb.tables.cells import Box, Cell, Numbers, is_whole
from extractbench_nb.tables.grid_alignment import iou
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
#: The labels by task: the parts of one table, or the tables of a page.
TASKS = {"structure": STRUCTURE_LABELS, "detection": ("table", "table rotated")}

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
    "one row per object",
    (
        Column("label", "string", "class", "STRUCTURE_LABELS"),
        Column("score", "float64", "confidence of the model", "0 to 1"),
        *CORNER_COLUMNS,
    ),
)


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


def detected_objects(given: Any, where: str, labels: Sequence[str] = STRUCTURE_LABELS) -> Detected:
    """Read objects into arrays; those that cannot be used are left out, and named in `problems`.

    An object has a label, by name or number, a box, as ``bbox`` or four columns, and perhaps a
    score, otherwise 1.
    """
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
    labels = [found[n] for n in kept]
    return Detected(kept, labels, scores[kept], boxes[kept], dict(sorted(problems.items())))


_ORDER = ("block_num", "line_num", "span_num", "flags")
#: Numbers of blocks, lines and spans are less than this.
_MOST = 1 << 53


def detected_words(given: Any, where: str) -> Words:
    """Read words into arrays; without words there are none."""
    columns, corners, problems = _columns([] if given is None else given, where, ("text", *_ORDER))
    texts = columns["text"]
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            problems.setdefault(n, f"text is {text!r}; expected a str")
    boxes = _boxes(corners, problems)
    order = np.zeros((len(texts), 4), dtype=np.int64)
    order[:, 2] = range(len(texts))
    for place, numbers in enumerate(columns[name] for name in _ORDER):
        for n, number in enumerate(numbers if {*map(type, numbers)} != {type(None)} else ()):
            if isinstance(number, int | float | np.integer) and -_MOST < number < _MOST:
                order[n, place] = int(number)
    kept = [n for n in range(len(texts)) if n not in problems]
    texts = [texts[n] for n in kept]
    return Words(kept, texts, boxes[kept], order[kept], dict(sorted(problems.items())))


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
        return _frame_columns(given, names)
    if not isinstance(given, list | tuple):
        raise InputError(
            f"{where} is {type(given).__name__}; expected a DataFrame or a list of dicts with "
            f"{names[0]} and bbox"
        )
    items = [item if isinstance(item, Mapping) else {} for item in given]
    problems = {
        n: f"is {type(item).__name__}; expected a dict"
        for n, item in enumerate(given)
        if not isinstance(item, Mapping)
    }
    columns = {name: [item.get(name) for item in items] for name in names}
    corners = [
        item.get("bbox", [item.get(name) for name in _CORNERS] if "x0" in item else None)
        for item in items
    ]
    return columns, corners, problems


def _frame_columns(
    given: pd.DataFrame, names: tuple[str, ...]
) -> tuple[dict[str, list[Any]], list[Any], dict[int, str]]:
    """Return the same of a frame, column by column: most of the time goes into reading objects."""
    given = given.loc[:, ~given.columns.duplicated()] if not given.columns.is_unique else given

    def values(name: str) -> list[Any]:
        return given[name].tolist() if name in given else [None] * len(given)

    edges = ["bbox"] if "bbox" in given else [*_CORNERS]
    corners = [values(name) for name in edges]
    boxes = corners[0] if "bbox" in given else list(map(list, zip(*corners, strict=True)))
    return {name: values(name) for name in names}, boxes, {}


def _boxes(corners: list[Any], problems: dict[int, str]) -> Numbers:
    """Return boxes of shape (count, 4), and say what is wrong with those that cannot be used."""
    boxes = np.full((len(corners), 4), np.nan)
    for n, box in enumerate(corners):
        edges = list(box) if isinstance(box, Sequence | np.ndarray) else []
        if len(edges) == len(_CORNERS):
            plain = {float, int}.issuperset(map(type, edges))  # most boxes are like that
            boxes[n] = edges if plain else list(map(_number, edges))
    are_finite = np.isfinite(boxes).all(axis=1)
    for n in np.flatnonzero(~are_finite | (boxes[:, :2] >= boxes[:, 2:]).any(axis=1)).tolist():
        box = list(corners[n]) if isinstance(corners[n], tuple | np.ndarray) else corners[n]
        expected = "x0 < x1 and y0 < y1" if are_finite[n] else "finite x0, y0, x1, y1"
        problems.setdefault(n, f"bbox is {box!r}; expected {expected}")
    return boxes


def _number(value: Any) -> float:
    is_number = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    return float(value) if is_number else float("nan")


def to_objects(table: Any) -> pd.DataFrame:
    """Return the objects that a model should find (the inverse of `from_objects`).

    Parameters
    ----------
    table : Table, or an input of `read_table`
        The table, whose cells have boxes.

    Returns
    -------
    pandas.DataFrame
        ``label``, ``score`` (1) and box: the table, its columns and rows without gaps, the header,
        projected row headers, and other cells that span and are not blank.

    Raises
    ------
    InputError
        No cell has a box, or the boxes contradict the order of rows or columns.

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
    if not found.cells:
        return OBJECT_COLUMNS.build()
    across, down = boundaries(found, 0), boundaries(found, 1)

    def box(cells: Sequence[Cell]) -> Box:
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
    return OBJECT_COLUMNS.from_rows((label, 1.0, *corners) for label, corners in objects)


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


DETECTION_COLUMNS = FrameSpec(
    "detection_scores",
    "one row per label, and a last one for all of them",
    (
        Column("label", "string", "label of the objects; `all` for the mean over labels"),
        Column("images", "int64", "images that have a true object of the label", "0 and up"),
        Column("objects", "int64", "true objects", "0 and up"),
        Column("predicted", "int64", "predicted objects, of any score", "0 and up"),
        Column("AP50", "Float64", "average precision at overlap 0.5", "0 to 1", nullable=True),
        Column("AP75", "Float64", "average precision at overlap 0.75", "0 to 1", nullable=True),
        Column("AP", "Float64", "average precision over ten overlaps", "0 to 1", nullable=True),
        Column("AR", "Float64", "mean recall over ten overlaps", "0 to 1", nullable=True),
    ),
)

#: Overlaps from which on a box is found; a perfect overlap may be rounded.
_OVERLAPS = np.linspace(0.5, 0.95, 10)
_AT_HALF, _AT_THREE_QUARTERS = 0, 5
_RECALLS = np.linspace(0, 1, 101)
_MOST_PER_IMAGE = 100

_Flags: TypeAlias = npt.NDArray[np.bool_]
#: Of a label in an image: true and predicted objects, scores of the best, and which are right.
_Found: TypeAlias = tuple[int, int, Numbers, _Flags]


def detection_scores(true: Any, predicted: Any, *, task: str = "structure") -> pd.DataFrame:
    """Score detected objects by average precision and average recall, as defined by COCO.

    Parameters
    ----------
    true, predicted : dict or list
        The objects of each image, in a form that `from_objects` accepts: a dict from the name of an
        image, or a list with an entry per image. An image that a dict `predicted` lacks has no
        predicted objects.
    task : str, optional
        ``"structure"`` (the parts of a table) or ``"detection"`` (the tables of a page).

    Returns
    -------
    pandas.DataFrame
        One row per label, and one for ``all``: label, images, objects, predicted, AP50, AP75, AP,
        AR, 0 to 1. A label without true objects has no scores, and does not count in ``all``.

    Raises
    ------
    InputError
        An object is invalid, `predicted` has an image that `true` lacks, or there is no image.

    Notes
    -----
    As pycocotools computes them. In each image, the 100 predicted objects of a label with the
    highest scores are matched, best first, each to the free true object with the largest
    intersection over union, if it is at least t. Average precision is the mean, over recalls 0,
    0.01, ... 1, of the highest precision at that recall or above; ``AP`` and ``AR`` are means over
    t = 0.5, 0.55, ... 0.95. Of equal scores, the first image and object precede; of equal overlaps,
    the last true object does. Table 2 of Smock, Pesala and Abraham, "PubTables-1M" (2021), see
    `pubtables`.

    Examples
    --------
    >>> box = {"label": "table", "bbox": [0, 0, 10, 10]}
    >>> near = {"label": "table", "bbox": [0, 0, 10, 8], "score": 0.9}
    >>> detection_scores([[box]], [[near]]).loc[1, ["AP50", "AP", "AR"]].tolist()
    [1.0, 0.7, 0.7]
    """
    if task not in TASKS:
        raise InputError(f"task is {task!r}; {nearest(str(task), TASKS)}")
    sides = []
    for name, given in (("true", true), ("predicted", predicted)):
        if not isinstance(given, Mapping | list | tuple):
            raise InputError(
                f"{name} is {type(given).__name__}; expected a dict from image to objects, or a "
                "list with the objects of each image"
            )
        sides.append(dict(given if isinstance(given, Mapping) else enumerate(given)))
    for image in sides[1].keys() - sides[0].keys():
        hint = nearest(str(image), map(str, sides[0]))
        raise InputError(f"predicted: there is no image {image!r}; {hint}")
    if not sides[0]:
        raise InputError("true is empty; expected at least one image")

    def read(image: Any, name: str, side: Mapping[Any, Any]) -> Detected:
        where = f"{name}, image {image!r}"
        objects = detected_objects(side.get(image, []), where, TASKS[task])
        for number, problem in objects.problems.items():
            raise InputError(f"{where}, object {number}: {problem}")
        return objects

    pairs = ((read(n, "true", sides[0]), read(n, "predicted", sides[1])) for n in sides[0])
    return score_detections(pairs)


def score_detections(images: Iterable[tuple[Detected, Detected]]) -> pd.DataFrame:
    """Return the frame of `detection_scores` for true and predicted objects that are read."""
    found: dict[str, list[_Found]] = {}
    seen = 0
    for sides in images:
        seen += bool(sides[0].labels)
        for label in {*sides[0].labels, *sides[1].labels}:
            of_label = ([own == label for own in side.labels] for side in sides)
            true, predicted = (
                (side.boxes[at], side.scores[at])
                for side, at in zip(sides, map(np.flatnonzero, of_label), strict=True)
            )
            best = np.argsort(-predicted[1], kind="stable")[:_MOST_PER_IMAGE]
            hits = _matched(iou(predicted[0][best][:, None], true[0][None]))
            one = len(true[0]), len(predicted[0]), predicted[1][best], hits
            found.setdefault(label, []).append(one)
    rows = [(label, *_label_scores(found[label])) for label in sorted(found)]
    counts = [sum(row[column] for row in rows) for column in (2, 3)]
    scored = [row[4:] for row in rows if row[4] is not None]
    means = np.mean(scored, axis=0).tolist() if scored else [None] * 4
    return DETECTION_COLUMNS.from_rows([*rows, ("all", seen, *counts, *means)])


def _matched(overlaps: Numbers) -> _Flags:
    """Say at which of `_OVERLAPS` each predicted box, best first, finds a free true one."""
    hits = np.zeros((len(_OVERLAPS), len(overlaps)), dtype=np.bool_)
    if not overlaps.size:
        return hits
    taken = np.zeros((len(_OVERLAPS), overlaps.shape[1]), dtype=np.bool_)
    for n in np.flatnonzero(overlaps.max(axis=1) >= _OVERLAPS[0]):
        free = np.where(taken, -1.0, overlaps[n])
        nearest_one = free.shape[1] - 1 - free[:, ::-1].argmax(axis=1)
        hits[:, n] = free.max(axis=1) >= _OVERLAPS
        taken[hits[:, n], nearest_one[hits[:, n]]] = True
    return hits


def _label_scores(found: list[_Found]) -> tuple[Any, ...]:
    """Return images, true and predicted objects, AP50, AP75, AP and AR of one label."""
    numbers, predicted_numbers, scores, hits = zip(*found, strict=True)
    true, predicted = sum(numbers), sum(predicted_numbers)
    images = sum(number > 0 for number in numbers)
    if not true:
        return images, true, predicted, None, None, None, None
    order = np.argsort(-np.concatenate(scores), kind="stable")
    right = np.concatenate(hits, axis=1)[:, order].cumsum(axis=1)
    precision = right / np.arange(1, len(order) + 1)
    precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    # nothing is precise beyond the last recall
    precision = np.pad(precision, ((0, 0), (0, 1)))
    averages = np.array(
        [
            line[np.searchsorted(recall, _RECALLS)].mean()
            for line, recall in zip(precision, right / true, strict=True)
        ]
    )
    recall = right[:, -1].mean() / true if len(order) else 0.0
    at_half, at_three_quarters = averages[_AT_HALF], averages[_AT_THREE_QUARTERS]
    return images, true, predicted, at_half, at_three_quarters, averages.mean(), recall
