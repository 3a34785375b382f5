"""`detection_scores`: average precision and recall of detected objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.cells import Numbers
from extractbench_nb.tables.grid_similarity import iou
from extractbench_nb.tables.objects import (
    DETECTION_LABELS,
    STRUCTURE_LABELS,
    Detected,
    detected_objects,
)

_Flags: TypeAlias = npt.NDArray[np.bool_]

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
        Column("AP", "Float64", "its mean over ten overlaps", "0 to 1", nullable=True),
        Column("AR", "Float64", "mean recall over ten overlaps", "0 to 1", nullable=True),
    ),
)

#: Overlaps from which on a box is found; a perfect overlap may be rounded.
_OVERLAPS = np.linspace(0.5, 0.95, 10)
_AT_HALF, _AT_THREE_QUARTERS = 0, 5
_RECALLS = np.linspace(0, 1, 101)
_MOST_PER_IMAGE = 100
_ALL = "all"


class _Found(NamedTuple):
    """The predicted boxes of one label in one image, the best first, and which are right."""

    true: int
    predicted: int
    scores: Numbers
    hits: _Flags


#: The labels of each task of a model.
_TASKS = {"structure": STRUCTURE_LABELS, "detection": DETECTION_LABELS}


def task_labels(task: Any) -> tuple[str, ...]:
    """Return the labels of a task, in the order of the numbers that models give them."""
    if task not in _TASKS:
        raise InputError(f"task is {task!r}; {nearest(task, _TASKS)}")
    return _TASKS[task]


def detection_scores(true: Any, predicted: Any, *, task: str = "structure") -> pd.DataFrame:
    """Score detected objects by average precision and average recall.

    Parameters
    ----------
    true, predicted : dict or iterable
        The objects of each image, as `read_objects` takes them (label, ``bbox``, score): a dict
        from the name of an image to its objects, or a list with an entry per image. If `predicted`
        is a dict, an image that it lacks has no predicted objects.
    task : str, optional
        ``"structure"`` (labels `STRUCTURE_LABELS`) or ``"detection"`` (`DETECTION_LABELS`).

    Returns
    -------
    pandas.DataFrame
        One row per label, and one for ``all``: label, images, objects, predicted, AP50, AP75, AP,
        AR. Scores are 0 to 1. A label without true objects has none, and does not count in ``all``.

    Raises
    ------
    InputError
        An object is invalid, `predicted` has an image that `true` lacks, or there is no image.

    Notes
    -----
    The measures of COCO, as pycocotools computes them. In each image, the 100 predicted objects of
    a label with the highest scores are matched, the best first, each to the free true object with
    the largest intersection over union, if it is at least t. Average precision is the mean, over
    recalls 0, 0.01, ... 1, of the highest precision at that recall or above; ``AP`` and ``AR``
    (recall of all) are means over t = 0.5, 0.55, ... 0.95. Of equal scores, the first image and the
    first object precede; of equal overlaps, the last true object is taken. Table 2 of Smock,
    Pesala and Abraham, "PubTables-1M" (2022), uses them, see `pubtables`.

    Examples
    --------
    >>> box = {"label": "table", "bbox": [0, 0, 10, 10]}
    >>> near = {"label": "table", "bbox": [0, 0, 10, 8], "score": 0.9}
    >>> detection_scores([[box]], [[near]]).set_index("label").loc["all", ["AP50", "AP", "AR"]]
    AP50    1.0
    AP      0.7
    AR      0.7
    Name: all, dtype: Float64
    """
    labels = task_labels(task)
    images, others = _by_image(true, "true"), _by_image(predicted, "predicted")
    for image in others:
        if image not in images:
            raise InputError(
                f"predicted: there is no image {image!r}; {nearest(image, map(str, images))}"
            )
    if not images:
        raise InputError("true is empty; expected at least one image")

    def read(given: Any, where: str) -> Detected:
        objects = detected_objects(given, where, labels)
        for number, problem in objects.problems.items():
            raise InputError(f"{where}, object {number}: {problem}")
        return objects

    return score_detections(
        (
            read(given, f"true, image {image!r}"),
            read(others.get(image, []), f"predicted, image {image!r}"),
        )
        for image, given in images.items()
    )


def _by_image(given: Any, name: str) -> dict[Any, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, Iterable) and not isinstance(as_pandas(given), str | bytes | pd.DataFrame):
        return dict(enumerate(given))
    raise InputError(
        f"{name} is {type(given).__name__}; expected a dict from image to objects, or a list with "
        "the objects of each image"
    )


def score_detections(images: Iterable[tuple[Detected, Detected]]) -> pd.DataFrame:
    """Return the frame of `detection_scores` for true and predicted objects that are read."""
    found: dict[str, list[_Found]] = {}
    seen = 0
    for sides in images:
        seen += bool(sides[0].labels)
        parts = [_by_label(side) for side in sides]
        for label in parts[0].keys() | parts[1].keys():
            (true, _), (predicted, scores) = (part.get(label, _NOTHING) for part in parts)
            best = np.argsort(-scores, kind="stable")[:_MOST_PER_IMAGE]
            hits = _matched(iou(predicted[best][:, None], true[None]))
            one = _Found(len(true), len(predicted), scores[best], hits)
            found.setdefault(label, []).append(one)
    rows = [(label, *_label_scores(found[label])) for label in sorted(found)]
    counts = [sum(row[column] for row in rows) for column in (2, 3)]
    counts.insert(0, seen)
    scored = [row[4:] for row in rows if row[4] is not None]
    means = np.mean(scored, axis=0).tolist() if scored else [None] * 4
    return DETECTION_COLUMNS.from_rows([*rows, (_ALL, *counts, *means)])


_NOTHING = np.empty((0, 4)), np.empty(0)


def _by_label(objects: Detected) -> dict[str, tuple[Numbers, Numbers]]:
    """Return the boxes and scores of each label."""
    labels = np.array(objects.labels, dtype=object)
    places = {label: labels == label for label in set(objects.labels)}
    return {label: (objects.boxes[at], objects.scores[at]) for label, at in places.items()}


def _matched(overlaps: Numbers) -> _Flags:
    """Say at which of `_OVERLAPS` each predicted box, the best first, finds a free true one."""
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
    true, predicted = sum(one.true for one in found), sum(one.predicted for one in found)
    images = sum(one.true > 0 for one in found)
    if not true:
        return images, true, predicted, None, None, None, None
    order = np.argsort(-np.concatenate([one.scores for one in found]), kind="stable")
    right = np.concatenate([one.hits for one in found], axis=1)[:, order].cumsum(axis=1)
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
