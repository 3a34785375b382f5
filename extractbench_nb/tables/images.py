"""`load_images`, `evaluate_images`: annotated images of tables, and what was detected in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.support.concurrency import worker_count
from extractbench_nb.support.files import reading
from extractbench_nb.tables.batches import (
    Scored,
    Sides,
    TableScores,
    each_table,
    score_document,
    score_frames,
    with_ids,
)
from extractbench_nb.tables.cells import EMPTY, Table, check_share
from extractbench_nb.tables.detection import read_image, score_detections, task_labels
from extractbench_nb.tables.grid_similarity import GRITS_VARIANTS, checked_names, checked_variant
from extractbench_nb.tables.objects import (
    STRUCTURE_LABELS,
    Detected,
    Words,
    detected_objects,
    detected_words,
    read_objects,
    read_words,
)
from extractbench_nb.tables.paper_figures import pubtables
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.resolution import from_objects, raw_grid
from extractbench_nb.tables.table_metrics import TABLE_METRICS

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_COLUMNS = FrameSpec(
    "images",
    "one row per annotated image: a table, or a page",
    (
        Column("id", "string", "name of its files"),
        Column("split", "string", "folder of its annotation"),
        Column("width", "Int64", "in pixels; NA where it is missing", nullable=True),
        Column("height", "Int64", "in pixels; NA where it is missing", nullable=True),
        Column("objects", "Int64", "true objects; NA where they cannot be read", nullable=True),
        Column("words", "Int64", "words; NA where they cannot be read", nullable=True),
        Column("problem", "string", "what is wrong with its files; empty where nothing is"),
    ),
)

_SPLITS = ("train", "val", "test")
_SIDES = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True, eq=False)
class TableImage:
    """An annotated image of a table, or of a page; its files are read on access.

    Attributes
    ----------
    id, split : str
        Name of the files without suffix, and folder of the annotation.
    folder : pathlib.Path
        The folder of the dataset.
    labels : tuple of str
        Labels that its objects may have.
    """

    id: str
    split: str
    folder: Path
    labels: tuple[str, ...] = field(repr=False)

    @property
    def objects(self) -> pd.DataFrame:
        """The true objects, as `read_objects` returns them; `InputError` without such a file."""
        return self._annotation()[0]

    @property
    def words(self) -> pd.DataFrame:
        """The words: text, box, order and flags; `InputError` without such a file."""
        return self._listed_words()[0]

    @property
    def image(self) -> Image:
        """The picture, a PIL image; needs pillow (the extra ``models``)."""
        return read_image(self._picture)

    @property
    def _picture(self) -> Path:
        published = self.folder / "images" / f"{self.id}.jpg"
        lossless = published.with_name(f"{self.id}.png")
        return lossless if lossless.exists() and not published.exists() else published

    def _annotation(self) -> tuple[pd.DataFrame, list[str], list[float | None]]:
        """Read objects, problems, width and height from Pascal VOC XML."""
        etree = needs("lxml.etree", "tables")
        path = self.folder / self.split / f"{self.id}.xml"
        where = f"annotation {str(path)!r}"
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        with reading(where, path):
            content = path.read_bytes()
        try:
            root = etree.fromstring(content, parser)
        except etree.XMLSyntaxError as error:
            raise InputError(f"{where} is not XML: {error.msg}") from None
        listed, missing = [], dict[int, str]()
        for number, node in enumerate(root.iterfind("object")):
            texts = {tag: node.findtext(tag) for tag in ("name", *(f"bndbox/{s}" for s in _SIDES))}
            lost = [tag for tag, text in texts.items() if not text]
            missing |= {number: f"no {lost[0]}"} if lost else {}
            name, *corners = texts.values()
            listed.append({"label": name, "bbox": list(map(_number, corners))})
        objects, wrong = read_objects(listed, where, labels=self.labels)
        found = sorted((wrong | missing).items())
        problems = [f"{path.name}, object {number}: {problem}" for number, problem in found]
        size = [_number(root.findtext(f"size/{side}")) for side in ("width", "height")]
        if None in size:
            problems.append(f"{path.name}: no size/{'width' if size[0] is None else 'height'}")
        return objects, problems, size

    def _listed_words(self) -> tuple[pd.DataFrame, list[str], list[float | None]]:
        """Read words and problems."""
        path = self.folder / "words" / f"{self.id}_words.json"
        where = f"words {str(path)!r}"
        with reading(where, path):
            content = path.read_bytes()
        try:
            listed = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} are not JSON: {error}") from None
        words, wrong = read_words(listed, where)
        return words, [f"{path.name}, word {n}: {problem}" for n, problem in wrong.items()], []

    def _row(self) -> tuple[Any, ...]:
        sizes: list[float | None] = []
        counts: list[int | None] = []
        problems: list[str] = []
        for read, unknown in ((self._annotation, 2), (self._listed_words, 0)):
            try:
                listed, wrong, size = read()
            except InputError as error:
                wrong, size = [str(error)], [None] * unknown
                counts.append(None)
            else:
                counts.append(len(listed))
            sizes += size
            problems += wrong
        if not self._picture.is_file():
            problems.append(f"no image {self._picture.name}")
        return self.id, self.split, *sizes, *counts, "; ".join(problems)


def _number(text: str | None) -> float | None:
    with suppress(ValueError):
        number = float(text or "")
        return number if isfinite(number) else None
    return None


class TableImages(dict[str, TableImage]):
    """Annotated images, by id; made by `load_images`.

    Attributes
    ----------
    task : str
        ``"structure"`` for tables, ``"detection"`` for pages.
    """

    task: str

    def __missing__(self, name: str) -> TableImage:
        """Raise an `InputError`."""
        raise InputError(f"there is no image {name!r}; {nearest(name, self)}")

    @property
    def frame(self) -> pd.DataFrame:
        """One row per image: id, split, width, height, objects, words, problem; reads all files."""
        return IMAGE_COLUMNS.from_rows(image._row() for image in self.values())

    def __repr__(self) -> str:
        """Return the number of images by split."""
        counts = pd.Series([image.split for image in self.values()]).value_counts(sort=False)
        parts = ", ".join(f"{split} {count:,}" for split, count in counts.items())
        return f"TableImages({len(self):,} for {self.task}: {parts})"


def load_images(
    folder: str | Path, split: str | None = None, *, task: str = "structure"
) -> TableImages:
    """Open a dataset in the layout of PubTables-1M.

    Parameters
    ----------
    folder : str or pathlib.Path
        Folder with the annotations ``train/ID.xml``, ``val/ID.xml`` and ``test/ID.xml`` (Pascal
        VOC), ``images/ID.jpg`` (or ``.png``) and ``words/ID_words.json``. If there is a list
        ``train_filelist.txt``, only its images are used, in its order.
    split : str, optional
        ``"train"``, ``"val"`` or ``"test"``; by default all that the folder has.
    task : str, optional
        ``"structure"``: images of tables; ``"detection"``: of pages.

    Returns
    -------
    TableImages
        A dict from id to `TableImage`, which reads its files on access: ``.objects``, ``.words``,
        ``.image``. ``.frame`` has one row per image, with its problem if there is one; an object or
        word that cannot be used is left out.

    Raises
    ------
    InputError
        The folder does not exist, the split or task is unknown, or an image is in two splits.
    """
    if not isinstance(folder, str | Path):
        raise InputError(f"folder is {type(folder).__name__}; expected the path of a folder")
    root, labels = Path(folder), task_labels(task)
    splits = [name for name in _SPLITS if (root / name).is_dir()]
    if not splits:
        raise InputError(f"{str(root)!r} has no folder train, val or test with annotations")
    if split is not None and split not in splits:
        raise InputError(f"split is {split!r}; {nearest(split, splits)}")
    images = TableImages()
    images.task = task
    for name in splits if split is None else [split]:
        listing = root / f"{name}_filelist.txt"
        with reading(f"folder {str(root)!r}"):
            if listing.is_file():
                lines = listing.read_text(encoding="utf-8").split()
            else:
                lines = sorted(path.name for path in (root / name).glob("*.xml"))
        for image in (TableImage(Path(line).stem, name, root, labels) for line in lines):
            if image.id in images:
                both = f"{images[image.id].split} and {name}"
                raise InputError(f"image {image.id!r} is in {both}; name a split")
            images[image.id] = image
    return images


PAPER_COLUMNS = FrameSpec(
    "paper_comparison",
    "one row per printed figure",
    (
        Column("table", "int64", "table of the paper", "2 or 3"),
        Column("split", "string", "which tables", "simple, complex, all"),
        Column("measure", "string", "as in `means`, or AP50, AP75, AP, AR"),
        Column("tables", "int64", "tables that have a score", "0 and up"),
        Column("value", "Float64", "measured", "0 to 1", nullable=True),
        Column("low", "Float64", "lower end of its interval", "0 to 1", nullable=True),
        Column("high", "Float64", "upper end of its interval", "0 to 1", nullable=True),
        Column("paper", "float64", "printed", "0 to 1"),
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class ImageScores(TableScores):
    """Scores of detected tables; made by `evaluate_images`.

    Attributes
    ----------
    summary, scores : pandas.DataFrame
        As in `TableScores`; ``document`` is the id of the image.
    detection : pandas.DataFrame
        Average precision and recall of the objects, see `detection_scores`.
    """

    detection: pd.DataFrame

    def compare_paper(self) -> pd.DataFrame:
        """Compare the scores with those of the paper's model.

        Returns
        -------
        pandas.DataFrame
            One row per figure of Table 3 (grid table similarity by split) and Table 2 (detection of
            the parts of tables): table, split, measure, tables, value, low, high, paper. Low and
            high are the interval of `means`; precision and recall have none.
        """
        means = self.means().rename(columns={"metric": "measure", "mean": "value"})
        names = {"False": "simple", "True": "complex"}
        means["split"] = means["complex"].astype(str).map(names).fillna("all")
        printed = pubtables(3).iloc[:3].drop(columns="tables").set_index("split")
        third = printed.add_prefix("grits_").reset_index().melt("split", None, "measure", "paper")
        third = third.sort_values("split", ascending=False, kind="stable")  # simple, complex, all
        third = third.merge(means, "left", on=["split", "measure"])
        objects = self.detection.query("label == 'all'").rename(columns={"images": "tables"})
        (model,) = pubtables(2).query("task == 'TSR + FA'").to_dict("records")
        second = objects.melt("tables", ["AP50", "AP75", "AP", "AR"], "measure").assign(split="all")
        second["paper"] = second["measure"].map(model)
        both = pd.concat({3: third, 2: second}, names=["table"]).reset_index("table")
        return PAPER_COLUMNS.from_records(both.assign(tables=both["tables"].fillna(0)))


_METRICS = ("grits_top", "grits_con", "grits_loc", "grits_rawloc", "header", "exact")


class _GivenImage(NamedTuple):
    """What `evaluate_images` needs of a `TableImage`, where it is given and not read."""

    id: str
    objects: Any
    words: Any


def evaluate_images(  # noqa: PLR0913 - one flat call, as `evaluate_tables`
    images: TableImages | Mapping[str, tuple[Any, Any]],
    predicted: Mapping[str, Any] | Callable[[Any], Any],
    *,
    metrics: str | Iterable[str] = _METRICS,
    variant: str = "paper",
    threshold: float = 0.5,
    n_jobs: int = 1,
    progress: bool = False,
) -> ImageScores:
    """Score the tables that were detected in images.

    Parameters
    ----------
    images : TableImages or dict
        Annotated images of tables, see `load_images`; or a dict from the id of an image to its true
        objects and its words, as `from_objects` takes them.
    predicted : dict or callable
        By id of an image, the prediction: objects, as `read_objects` takes them; or a table without
        objects, in any form that `read_table` reads, such as the HTML of a language model. Or a
        function from a `TableImage` to a prediction, for example ``lambda table:
        detect(table.image, model, all_queries=True)``; if `images` is a dict, its argument has
        ``.id``, ``.objects`` and ``.words`` only.
    metrics : str or sequence of str, optional
        As in `compare_tables`.
    variant : str, optional
        Variant of grid table similarity, as in `grits`.
    threshold : float, optional
        Objects with a lower score do not count in tables, see `from_objects`.
    n_jobs : int, optional
        Number of worker processes; -1 for one per processor.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    ImageScores
        ``.summary``, ``.scores`` and ``.means()`` as in `TableScores`, ``.detection`` and
        ``.compare_paper()``. An image without a prediction, or with one that cannot be read, scores
        0. An image whose annotation or words cannot be used has no score. An object or word that
        cannot be used is left out. ``problem`` names each of these, with the reason.

    Raises
    ------
    InputError
        `predicted` has an image that `images` lacks, `images` is empty or has pages instead of
        tables, or a name is unknown.

    Notes
    -----
    Section 7 of Smock, Pesala and Abraham, "PubTables-1M" (2021). The true table is made of the
    true objects by the same steps as the predicted one. ``grits_rawloc`` compares the boxes of rows
    and columns before conflicts are resolved. A table without objects has no ``grits_rawloc``, and
    without boxes no ``grits_loc``.
    """
    known: Any = images
    if isinstance(images, TableImages):
        known = images if images.task == "structure" else None
    elif isinstance(images, dict):
        known = {}
        for name, pair in images.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2:  # noqa: PLR2004 - a pair
                raise InputError(f"images, {name!r}: {pair!r:.80}; expected (objects, words)")
            known[name] = _GivenImage(str(name), pair[0], [] if pair[1] is None else pair[1])
    if not known or not isinstance(images, dict):
        raise InputError(
            f"images: {images!r:.80}; expected tables, as load_images returns them, or a dict of "
            "(objects, words) (pages: detection_scores)"
        )
    if isinstance(predicted, Mapping):
        for name in predicted:
            if name not in known:
                hint = nearest(str(name), map(str, known))
                raise InputError(f"predicted: there is no image {name!r}; {hint}")
    elif not callable(predicted):
        raise InputError(f"predicted is {type(predicted).__name__}; expected a dict or a function")
    check_share(threshold, "threshold")
    names = tuple(checked_names(metrics, TABLE_METRICS))
    checked_variant(variant, GRITS_VARIANTS)
    answer_of = predicted.get if isinstance(predicted, Mapping) else lambda *_: predicted
    items = [(known[name], answer_of(name, _NOTHING)) for name in known]
    task = partial(_score_image, names, variant, threshold)
    answers = each_table(task, items, worker_count(n_jobs), progress)
    ids = list(map(str, known))
    frames = score_frames(
        with_ids(pd.DataFrame(index=range(len(ids))), ids), [a[0] for a in answers]
    )
    detection = score_detections(sides for _, sides, _ in answers if sides is not None)
    given = [(image, answer) for (image, _), (*_, answer) in zip(items, answers, strict=True)]
    sides = partial(map, partial(_read_image_sides, threshold), given)
    return ImageScores(*frames, variant, sides, detection)


#: Stands for a missing prediction.
_NOTHING: tuple[()] = ()
_Item: TypeAlias = tuple[TableImage | _GivenImage, Any]


def _read_image_sides(threshold: float, item: _Item) -> Sides:
    """Return the true table of an image, and the predicted one; empty if they cannot be read."""
    image, given = item
    try:
        true = from_objects(image.objects, image.words, threshold=threshold).table
    except InputError:
        return [EMPTY], [EMPTY]
    try:
        return [true], [_predicted_table(image, given, image.words, threshold)]
    except InputError:
        return [true], [EMPTY]


def _predicted_table(image: Any, given: Any, words: Any, threshold: float) -> Table:
    if _are_objects(given):
        return from_objects(given, words, threshold=threshold).table
    return read_table(given, name=f"{image.id}, predicted")


def _score_image(
    names: tuple[str, ...], variant: str, threshold: float, item: _Item
) -> tuple[Scored, tuple[Detected, Detected] | None, Any]:
    """Score one image; return also the objects of both sides, if both have some, and the answer."""
    image, given = item
    try:
        its_objects, its_words = image.objects, image.words
        true = from_objects(its_objects, its_words, threshold=threshold).table
    except InputError as error:
        missing = [(name, None, None, None, None, None, "no truth") for name in names]
        return Scored((1, 0, 0, False, True, f"true: {error}"), missing), None, _NOTHING
    objects = detected_objects(its_objects, f"{image.id}, true")
    words = detected_words(its_words, f"{image.id}, words")
    problems = _named("true object", objects) + _named("word", words)
    rows: dict[str, tuple[Any, ...]] = {}
    sides, unreadable = None, dict[int, str]()
    try:
        if callable(given):
            given = _answer(given, image)
        if _are_objects(given):
            sides = objects, detected_objects(given, f"{image.id}, predicted")
            problems += _named("predicted object", sides[1])
        predicted = _predicted_table(image, given, its_words, threshold)
        if sides and given is _NOTHING:
            problems.append("no prediction")
        elif sides and true.size and not predicted.size:
            problems.append(f"no predicted row or column with a score from {threshold}")
    except InputError as error:
        predicted, unreadable, problems = EMPTY, {0: str(error)}, [str(error)]
        sides = sides or (objects, _NO_OBJECTS)
        given = _NOTHING if callable(given) else given
    if sides:
        others = [] if unreadable else given
        raw = [[raw_grid(side, threshold=threshold)] for side in (its_objects, others)]
        (row,) = score_document(image.id, (raw[0], raw[1]), ["grits_loc"], variant, unreadable).rows
        rows["grits_rawloc"] = ("grits_rawloc", *row[1:])
    by_table = [name for name in names if name != "grits_rawloc"]
    scored = score_document(image.id, ([true], [predicted]), by_table, variant, unreadable)
    rows |= {row[0]: row for row in scored.rows}
    ordered = [rows.get(name, (name, *[None] * 5, "no objects")) for name in names]
    more = [f"{len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
    about = (*scored.about[:-1], "; ".join(problems[:_MOST_PROBLEMS] + more))
    return Scored(about, ordered), sides, given


#: How many objects and words that are left out are described for an image.
_MOST_PROBLEMS = 3


def _named(what: str, read: Detected | Words) -> list[str]:
    return [f"{what} {n}: {problem}" for n, problem in read.problems.items()]


def _answer(function: Callable[[Any], Any], image: Any) -> Any:
    try:
        return function(image)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - a function may raise anything
        raise InputError(f"{image.id}, predicted raised {type(error).__name__}: {error}") from None


_NO_OBJECTS = detected_objects([], "predicted")


def _are_objects(given: Any) -> bool:
    """Whether a prediction is objects, not a table."""
    given = as_pandas(given)
    if isinstance(given, pd.DataFrame):
        return "label" in given and ("bbox" in given or "x0" in given)
    if not isinstance(given, list | tuple):
        return False
    return not given or any(
        isinstance(item, Mapping)
        and "label" in item
        and ("bbox" in item or "x0" in item or item["label"] in STRUCTURE_LABELS)
        for item in given
    )
