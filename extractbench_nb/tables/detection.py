"""Detected objects: scores of them; `detect` them in an image; `page_tables` of a PDF page."""

from __future__ import annotations

import io
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.pdf import Excerpt, PageImage, lines_of, read_layers, render_page
from extractbench_nb.support.files import reading
from extractbench_nb.tables.cells import Cell, Numbers, Table, covered_grid, table_of_cells
from extractbench_nb.tables.grid_similarity import iou
from extractbench_nb.tables.objects import (
    DETECTION_LABELS,
    STRUCTURE_LABELS,
    Detected,
    crop,
    detected_objects,
    read_objects,
)
from extractbench_nb.tables.resolution import from_objects

if TYPE_CHECKING:
    from PIL.Image import Image


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


#: Of a label in an image: true and predicted objects, scores of the best, and which are right.
_Found: TypeAlias = tuple[int, int, Numbers, _Flags]

#: The labels of each task of a model.
_TASKS = {"structure": STRUCTURE_LABELS, "detection": DETECTION_LABELS}


def task_labels(task: Any) -> tuple[str, ...]:
    """Return the labels of a task, in the order of the numbers that models give them."""
    if task not in _TASKS:
        raise InputError(f"task is {task!r}; {nearest(task, _TASKS)}")
    return _TASKS[task]


def detection_scores(true: Any, predicted: Any, *, task: str = "structure") -> pd.DataFrame:
    """Score detected objects by average precision and average recall, as COCO defines them.

    Parameters
    ----------
    true, predicted : dict or iterable
        The objects of each image, as `read_objects` takes them: a dict from the name of an image,
        or a list with an entry per image. An image that a dict `predicted` lacks has no predicted
        objects.
    task : str, optional
        ``"structure"`` (labels `STRUCTURE_LABELS`) or ``"detection"`` (`DETECTION_LABELS`).

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
    highest scores are matched, the best first, each to the free true object with the largest
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
    return DETECTION_COLUMNS.from_rows([*rows, (_ALL, seen, *counts, *means)])


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


#: An ONNX file, or a function from an image to objects.
Model: TypeAlias = str | Path | Callable[..., Any]

#: Longest side of the image that a model is given, in pixels.
_LONGEST = {"structure": 1000, "detection": 800}
#: Mean and standard deviation of red, green and blue in ImageNet.
_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
_OUTPUTS = ("logits", "pred_boxes")


def detect(
    image: Any, model: Model, task: str = "structure", *, all_queries: bool = False
) -> pd.DataFrame:
    """Detect objects in an image.

    Parameters
    ----------
    image : PIL.Image.Image, ndarray, PageImage, str or pathlib.Path
        The image of a table, or of a page; an array has shape (height, width, 3) and bytes.
    model : str, pathlib.Path or callable
        An ONNX file of Table Transformer, or of a model with the same inputs and outputs; or a
        function from an image (PIL, RGB) to objects, as `read_objects` takes them.
    task : str, optional
        ``"structure"``: the parts of one table; ``"detection"``: the tables of a page.
    all_queries : bool, optional
        Whether each query of an ONNX model gives an object, as average precision needs. By default
        queries whose best label is "no object" are dropped.

    Returns
    -------
    pandas.DataFrame
        In the form of `read_objects`; boxes are in pixels. Objects that cannot be used are left
        out.

    Raises
    ------
    InputError
        The image or model cannot be read, the model has other inputs, outputs or numbers of labels,
        a function returns no list, or a list in which nothing can be used.
    UnavailableError
        onnxruntime or pillow is not installed.

    Notes
    -----
    The image is scaled to a longest side of 1,000 pixels (detection: 800) and normalised by mean
    and deviation of ImageNet. A model returns for each query ``logits``, the last one for "no
    object", and ``pred_boxes``, centre and size as shares of the image. The score is the softmax of
    the label. Section 5 of Smock, Pesala and Abraham, "PubTables-1M" (2021).
    """
    labels = task_labels(task)
    picture = read_image(image)
    if callable(model):
        objects, problems = read_objects(model(picture), "what model returned", labels=labels)
        if problems and objects.empty:
            number, problem = next(iter(problems.items()))
            raise InputError(f"model returned no object for {task!r}: object {number}: {problem}")
        return objects
    if not isinstance(model, str | Path):
        raise InputError(
            f"model is {type(model).__name__}; expected the path of an ONNX file, or a function "
            "from an image to objects"
        )
    session = _session(*_stamp(Path(model)))
    where = f"model {str(model)!r}"
    logits, boxes = _run(session, picture, _LONGEST[task], where)
    if logits.shape[-1] != len(labels) + 1:
        raise InputError(
            f"{where} has {logits.shape[-1]} logits per query; task {task!r} needs "
            f"{len(labels) + 1}: one per label, and the last one for no object"
        )
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = shares[:, :-1].argmax(axis=1)
    kept = all_queries | (shares.argmax(axis=1) < len(labels))
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    corners = np.hstack([centre - half, centre + half]) * (picture.size * 2)
    found = [
        {"label": labels[label], "score": float(scores[label]), "bbox": box}
        for label, scores, box in zip(best[kept], shares[kept], corners[kept].tolist(), strict=True)
    ]
    return read_objects(found, where, labels=labels)[0]


def read_image(image: Any) -> Image:
    """Return an image of any form that `detect` takes, in red, green and blue."""
    library: Any = needs("PIL.Image", "tables")
    if isinstance(image, library.Image):
        picture: Image = image
    elif isinstance(image, np.ndarray):
        shaped = image.ndim > 1 and image.shape[2:] in {(), (3,), (4,)}
        if image.dtype != np.uint8 or not shaped:
            raise InputError(
                f"image is an array of {image.dtype}, shape {image.shape}; expected bytes of shape "
                "(height, width, 3)"
            )
        picture = library.fromarray(image)
    elif isinstance(image, str | Path | PageImage):
        file = io.BytesIO(image.png) if isinstance(image, PageImage) else Path(image)
        path = file if isinstance(file, Path) else None
        try:
            with reading(f"image {str(image)!r}", path), library.open(file) as opened:
                picture = opened.convert("RGB")
        except (library.UnidentifiedImageError, library.DecompressionBombError) as error:
            raise InputError(f"image {str(image)!r} cannot be read: {error}") from None
    else:
        raise InputError(
            f"image is {type(image).__name__}; expected a path, a PIL image, an array or a "
            "PageImage"
        )
    if not picture.width * picture.height:
        raise InputError("image has no pixels")
    return picture.convert("RGB")


def _stamp(path: Path) -> tuple[str, int, int]:
    """Return what changes with a file."""
    with reading(f"model {str(path)!r}", path):
        status = path.stat()
    return str(path), status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _session(path: str, *_: int) -> Any:
    """Load a model, once for as long as its file does not change."""
    library = needs("onnxruntime", "tables")
    try:
        session = library.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - the errors of onnxruntime have no base of their own
        raise InputError(f"model {path!r} is not an ONNX model: {error}") from None
    for kind, given, expected in (
        ("inputs", session.get_inputs(), {"pixel_values"}),
        ("outputs", session.get_outputs(), {*_OUTPUTS}),
    ):
        names = {one.name for one in given}
        if not expected <= names:
            raise InputError(
                f"model {path!r} has the {kind} {', '.join(sorted(names))}; expected "
                f"{' and '.join(sorted(expected))}, as an export of Table Transformer has"
            )
    return session


def _run(session: Any, picture: Image, longest: int, where: str) -> tuple[Any, Any]:
    """Return the logits and boxes of each query, in double precision."""
    scale = longest / max(picture.size)
    width, height = (max(1, round(scale * side)) for side in picture.size)
    pixels = np.asarray(picture.resize((width, height)), dtype=np.float32) / 255
    pixels = (pixels - _MEAN) / _DEVIATION
    inputs = {"pixel_values": pixels.transpose(2, 0, 1)[None]}
    for extra in session.get_inputs():
        if extra.name == "pixel_mask":
            # some exports fix its size: nothing is masked, so that any size says the same
            sides = zip(extra.shape, (1, height, width), strict=True)
            shape = [side if isinstance(side, int) else usual for side, usual in sides]
            inputs["pixel_mask"] = np.ones(shape, dtype=_MASKS.get(extra.type, np.int64))
    try:
        logits, boxes = session.run(_OUTPUTS, inputs)
        return logits[0].astype(np.float64), boxes[0].astype(np.float64).reshape(-1, 4)
    except Exception as error:  # noqa: BLE001 - as above
        raise InputError(f"{where} cannot be run: {error}") from None


_MASKS = {"tensor(bool)": np.bool_, "tensor(float)": np.float32}


#: Pixels per point: a page of PubTables-1M has at most 1,000 pixels.
_SCALE = 1.25


def page_tables(
    pdf: str | Path, page: int = 1, models: tuple[Model, Model] | None = None
) -> list[Table]:
    """Find the tables of a PDF page.

    Parameters
    ----------
    pdf : str or pathlib.Path
        The PDF; its text layer has the words.
    page : int, optional
        Number of the page, from 1.
    models : tuple of two models, optional
        Models for detection and for structure, as `detect` takes them. By default pdfplumber finds
        tables by their ruling lines; it reads tables whose cells all have borders.

    Returns
    -------
    list of Table
        From top to bottom, with boxes in points from the upper left corner of the displayed page;
        of a rotated table, in points of the table turned upright.

    Raises
    ------
    InputError
        The PDF or a model cannot be read, or the page does not exist.
    UnavailableError
        A library is not installed.

    Notes
    -----
    With models, the page is drawn at 90 dots per inch; each table with a score of at least 0.5 is
    cut out (`crop`), its objects are detected, and resolved with its words (`from_objects`).
    """
    path = Path(pdf)
    if models is None:
        needs("pdfplumber", "tables")
    given: Any = models
    if given is not None and (not isinstance(given, tuple | list) or len(given) != len(_LONGEST)):
        raise InputError(f"models: {given!r:.80}; expected two, for detection and for structure")
    texts = read_layers(path)  # a damaged file, or one that unpacks to gigabytes, ends here
    if page not in range(1, len(texts) + 1):
        raise InputError(f"page={page!r}; {str(path)!r} has pages 1 to {len(texts)}")
    if models is None:
        return _ruled_tables(path, page)
    detection, structure = models
    image, words = _drawn_page(path, page, texts[page - 1])
    objects = detect(image, detection, "detection").sort_values(["y0", "x0"])
    tables = []
    for part in crop(image, objects, words):
        table = from_objects(detect(part.image, structure), part.words).table
        if not table.size:
            continue
        left, top = (0, 0) if part.label == "table rotated" else part.box[:2]
        places = np.array([cell.box for cell in table.cells]) + np.array([left, top] * 2)
        boxes = map(tuple, (places / _SCALE).tolist())
        cells = (c._replace(box=box) for c, box in zip(table.cells, boxes, strict=True))
        tables.append(replace(table, cells=tuple(cells)))
    return tables


def _drawn_page(path: Path, page: int, text: str) -> tuple[Image, list[dict[str, Any]]]:
    """Return the image of a page and its words in pixels."""
    places = [Excerpt(page, *match.span()) for match in re.finditer(r"\S+", text)]
    # a word that is broken over two lines is two words
    pieces = [line for place in places for line in lines_of(path, place)]
    boxes = [line.box for line in pieces]
    drawn = render_page(None, path, page, scale=_SCALE, boxes=boxes, mark=False)
    words = [
        {"text": text[line.excerpt.first : line.excerpt.end], "bbox": box}
        for line, box in zip(pieces, drawn.boxes, strict=True)
    ]
    return read_image(drawn), words


def _ruled_tables(path: Path, page: int) -> list[Table]:
    with needs("pdfplumber", "tables").open(path) as pdf:
        return [
            _table_of_boxes(
                [
                    (box, text or "")
                    for row, texts in zip(found.rows, found.extract(), strict=True)
                    for box, text in zip(row.cells, texts, strict=True)
                    if box is not None
                ]
            )
            for found in pdf.pages[page - 1].find_tables()
        ]


def _table_of_boxes(boxes: Sequence[tuple[tuple[float, ...], str]]) -> Table:
    """Make a table of cells that share their edges; a position without a cell is a blank one."""
    across, down = (
        sorted({box[side] for box, _ in boxes for side in (axis, axis + 2)}) for axis in (0, 1)
    )

    def lines(edges: list[float], start: float, end: float) -> tuple[int, ...]:
        return tuple(range(bisect_left(edges, start), bisect_left(edges, end)))

    cells = [
        Cell(lines(down, y0, y1), lines(across, x0, x1), text, (x0, y0, x1, y1))
        for (x0, y0, x1, y1), text in boxes
    ]
    grid, _ = covered_grid(cells, (len(down) - 1, len(across) - 1))
    cells += [
        Cell((r,), (c,), box=(across[c], down[r], across[c + 1], down[r + 1]))
        for r, c in np.argwhere(grid < 0).tolist()
    ]
    return table_of_cells(cells)
