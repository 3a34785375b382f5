"""Many tables, or images of tables, scored in the result protocol; the reader of PubTables-1M."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import ROW_COLUMNS, SCORE_COLUMNS, Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.pdf import PageImage
from extractbench_nb.support.concurrency import progress_bar, worker_count, worker_pool
from extractbench_nb.support.files import reading
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.tables.cells import EMPTY, Table, check_share, header_rows
from extractbench_nb.tables.grid_similarity import (
    GRITS_VARIANTS,
    SIDES,
    checked_names,
    checked_variant,
    measured,
    measured_page,
    ratios,
    read_lists,
    refuse_boxless,
)
from extractbench_nb.tables.grits_result import NEARLY, kind_of
from extractbench_nb.tables.objects import (
    Detected,
    score_detections,
)
from extractbench_nb.tables.paper import is_complex, pubtables
from extractbench_nb.tables.reading import keys_of, objects_of, read_records
from extractbench_nb.tables.resolution import ResolvedTable, from_objects
from extractbench_nb.tables.table_metrics import LOCATED_METRICS, TABLE_METRICS, compare_rows

if TYPE_CHECKING:
    from PIL.Image import Image

#: The true and the predicted tables of a document.
Sides: TypeAlias = tuple[Sequence[Table], Sequence[Table]]


def array_tables(ev: Evaluation, path: str | None = None) -> tuple[Table, Table]:
    """Return an array of objects as two tables, gold and predicted, for `grits`.

    Parameters
    ----------
    ev : Evaluation
        An evaluation.
    path : str, optional
        The array, in a form that `show_matches` accepts: ``$.authors``, ``authors``. Optional if
        the evaluation has one array.

    Returns
    -------
    tuple of Table
        Gold and predicted: a header row of keys, gold's first, and one row per item in its own
        order. An item that is not an object is a row with a single text, in a column ``value``.

    Raises
    ------
    InputError
        `ev` is not an `Evaluation` or has no array; `path` names none, or is None although there
        are several.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> items = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    >>> ev = xb.evaluate(schema, {"rows": [{"year": 1}, {"year": 2}]}, {"rows": [{"year": 2}]})
    >>> xb.tables.grits(*array_tables(ev)).scores["fscore"].round(2).to_dict()
    {'top': 0.8, 'con': 0.8}
    """
    if not isinstance(ev, Evaluation):
        raise InputError(f"ev is {type(ev).__name__}; expected an Evaluation, as of `evaluate`")
    rows = ev.matches[ev.matches["path"] == ev.array_path(path)]
    gold, predicted = (
        objects_of(rows[rows[f"{name}_index"].notna()].sort_values(f"{name}_index")[name])
        for name in ("gold", "predicted")
    )
    columns = [key for key in keys_of(gold) | keys_of(predicted) if key in keys_of(predicted)]
    return read_records(gold, name="gold"), read_records(predicted, columns, "predicted")


TABLE_SCORE_COLUMNS = FrameSpec(
    "table_scores",
    "one row per pair of tables, or of pages, and measure",
    (
        *SCORE_COLUMNS.columns[:-1],
        Column("score", "Float64", "f-score or similarity", "0 to 1", nullable=True),
        Column("precision", "Float64", "of the measures that have one", "0 to 1", nullable=True),
        Column("recall", "Float64", "of the measures that have one", "0 to 1", nullable=True),
        Column("true_size", "Int64", "true positions, of grits_ measures", "0 and up", True),
        Column("predicted_size", "Int64", "predicted positions", "0 and up", True),
        Column("complex", "bool", "whether a cell of a true table spans rows or columns"),
        Column("readable", "bool", "whether all predicted tables could be read; else they score 0"),
        Column("problem", "string", "what could not be read or scored, and repairs; else empty"),
    ),
)

TABLE_ROW_COLUMNS = FrameSpec(
    "table_rows",
    "one row per position of a true table, and per position of a predicted one without a partner",
    (
        *ROW_COLUMNS.columns[:2],
        Column("table", "Int64", "number of the true table; NA if there is none", "0 and up", True),
        Column("path", "string", "gold's table, row, column: `$[0][2][1]`; `$[+0]` is predicted"),
        Column("field", "string", "texts of the column's header, or column and its number"),
        Column("metric", "string", "metric that aligns and scores: grits_con"),
        Column("part", "string", "part of the table", "header, projected, or empty"),
        Column("row", "Int64", "row in the true table", "0 and up", True),
        Column("column", "Int64", "column in the true table", "0 and up", True),
        Column("predicted_row", "Int64", "row in the predicted table", "0 and up", True),
        Column("predicted_column", "Int64", "column in the predicted table", "0 and up", True),
        *ROW_COLUMNS.columns[2:],
        Column("reason", "string", "no_partner, differs, or empty"),
        Column("gold_state", "string", "whether the position exists in gold", "present, missing"),
        Column("counted", "bool", "always true, as every position enters the scores"),
    ),
)

PAPER_COLUMNS = FrameSpec(
    "paper_comparison",
    "one row per printed figure",
    (
        Column("table", "int64", "table of the paper", "2 or 3"),
        Column("split", "string", "group of tables", "simple, complex, all"),
        Column("measure", "string", "as in `scores`, or AP50, AP75, AP, AR"),
        Column("tables", "int64", "tables that have a score", "0 and up"),
        Column("value", "Float64", "measured", "0 to 1", nullable=True),
        Column("paper", "float64", "printed", "0 to 1"),
    ),
)


class _Scored(NamedTuple):
    """One document; a row has measure, score, precision, recall, both sizes and a problem."""

    is_complex: bool
    is_readable: bool
    problem: str
    rows: list[tuple[Any, ...]]
    detected: tuple[Detected, Detected] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class TableResult:
    """Scores of many tables; made by `evaluate_tables`.

    ``scores`` has one row per pair and measure, see `TABLE_SCORE_COLUMNS`, and your own columns;
    ``variant`` is that of grid table similarity. Of images, ``detection`` has the average precision
    and recall of the objects, see `detection_scores`.
    """

    #: What statistics compare if nothing is named.
    measures: ClassVar[tuple[str, ...]] = ("grits_top", "grits_con")

    scores: pd.DataFrame
    variant: str
    #: Returns the tables of each document again.
    _sides: Callable[[], Iterable[Sides]]
    detection: pd.DataFrame | None = None

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per position, aligned by ``grits_con``; its mean is not the document's score."""
        first = self.scores[self.scores["measure"] == self.scores["measure"].iloc[0]]
        runs = first["run"].astype(object).where(first["run"].notna(), None)
        return TABLE_ROW_COLUMNS.from_rows(
            (run, document, *row)
            for run, document, sides in zip(runs, first["document"], self._sides(), strict=True)
            for row in _position_rows(*sides, self.variant)
        )

    @property
    def summary(self) -> pd.Series:
        """Counts, means and micro F-scores by measure."""
        counts = self.scores[["run", "document", "readable"]].drop_duplicates()
        found: dict[str, Any] = {
            "tables": len(counts),
            "unreadable": int((~counts["readable"]).sum()),
        }
        for measure, rows in self.scores.groupby("measure", sort=False):
            scored = rows[rows["score"].notna()]
            found[str(measure)] = float(scored["score"].mean()) if len(scored) else None
            if len(scored) and scored["true_size"].notna().all():
                sizes = scored[["true_size", "predicted_size"]].astype("int64")
                common = float((scored["recall"].astype(float) * sizes["true_size"]).sum())
                found[f"{measure}_micro"] = ratios(common, *sizes.sum().tolist())[0]
        return pd.Series(found, dtype=object)

    @property
    def meta(self) -> dict[str, str]:
        """The settings that affect the scores."""
        return {"variant": self.variant}

    def compare_paper(self) -> pd.DataFrame:
        """Compare the scores with those of the paper's model.

        Returns
        -------
        pandas.DataFrame
            One row per figure of Table 3 (mean grid table similarity of simple, complex and all
            tables), and for images of Table 2 (detection of the parts of tables): table, split,
            measure, tables, value, paper.
        """
        rows: list[tuple[Any, ...]] = []
        is_complex = self.scores["complex"]
        splits = {"simple": ~is_complex, "complex": is_complex, "all": is_complex.notna()}
        for split, _, *printed in pubtables(3).iloc[:3].itertuples(index=False):
            for measure, paper in zip(TABLE_METRICS[:4], printed, strict=True):
                of_measure = self.scores["measure"] == measure
                scores = self.scores["score"][splits[split] & of_measure].dropna()
                value = float(scores.mean()) if len(scores) else None
                rows.append((3, split, measure, len(scores), value, paper))
        if self.detection is not None:
            (found,) = self.detection.query("label == 'all'").to_dict("records")
            (paper_row,) = pubtables(2).query("task == 'TSR + FA'").to_dict("records")
            for measure in ("AP50", "AP75", "AP", "AR"):
                value = None if pd.isna(found[measure]) else found[measure]
                rows.append((2, "all", measure, found["images"], value, paper_row[measure]))
        return PAPER_COLUMNS.from_rows(rows)

    def __repr__(self) -> str:
        """Return the counts and the means of all tables."""
        tables, unreadable, *_ = self.summary
        means = self.summary[self.scores["measure"].unique()].dropna()
        shown = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()) or "of none"
        more = f"; {unreadable:,} unreadable, scored 0" if unreadable else ""
        return f"{type(self).__name__}({tables:,} tables; mean {shown}{more})"


def evaluate_tables(
    pairs: Any,
    *,
    metrics: str | Sequence[str] = TableResult.measures,
    variant: str = "paper",
    n_jobs: int = 1,
    progress: bool = False,
) -> TableResult:
    r"""Score many predicted tables, or pages with several tables, against the true ones.

    Parameters
    ----------
    pairs : DataFrame, dict or iterable of (true, predicted)
        Tables in any form that `read_table` reads, or lists of tables as in `grits`. A dict maps a
        name to a pair; a DataFrame has the columns ``true`` and ``predicted``, and your own
        (``run``, ``document``, ``model``).
    metrics : str or sequence of str, optional
        As in `compare_tables`; lists of tables have ``grits_`` metrics only.
    variant : str, optional
        Variant of grid table similarity, as in `grits`.
    n_jobs : int, optional
        Number of worker processes; -1 for one per processor.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    TableResult
        A predicted table that cannot be read counts as empty, with the reason in ``problem``; one
        without the boxes that a metric needs has no score for it.

    Raises
    ------
    InputError
        `pairs` is invalid, a true table cannot be read or lacks the boxes that a metric needs, or a
        name is unknown.

    Examples
    --------
    >>> evaluate_tables([("Year,Sales\n2024,10", "Year,Sales\n2024,11")])
    TableResult(1 tables; mean grits_top 1.000, grits_con 0.875)
    """
    names = checked_names(metrics, TABLE_METRICS)
    checked_variant(variant, GRITS_VARIANTS)
    about, read = _read_pairs(pairs)
    scored = _each(partial(_score_pair, names, variant), read, n_jobs, progress)
    sides = partial(map, _read_sides, read)
    return TableResult(_score_frame(about, scored), variant, sides)


#: The name of a pair, and its tables, or lists of tables, which are not read yet.
_Pair: TypeAlias = tuple[str, Any, Any]


def _read_pairs(pairs: Any) -> tuple[pd.DataFrame, list[_Pair]]:
    """Return run, document and the user's columns, and the pairs."""
    pairs = as_pandas(pairs)
    if isinstance(pairs, Iterable) and not isinstance(pairs, pd.DataFrame | Mapping | str | bytes):
        pairs = dict(enumerate(pairs))
    if isinstance(pairs, Mapping):
        for name, pair in pairs.items():
            if not isinstance(pair, tuple | list) or len(pair) != len(SIDES):
                raise InputError(f"pairs, {str(name)!r}: expected (true, predicted)")
        columns = zip(SIDES, zip(*pairs.values(), strict=True), strict=False)
        names = list(pairs)
        series = {side: pd.Series(tables, names, dtype=object) for side, tables in columns}
        pairs = pd.DataFrame(series, columns=[*SIDES])
    if not isinstance(pairs, pd.DataFrame) or pairs.empty:
        found = "empty" if isinstance(pairs, pd.DataFrame) else type(pairs).__name__
        raise InputError(
            f"pairs is {found}; expected a list of (true, predicted), a dict from name to such a "
            "pair, or a DataFrame with columns true and predicted"
        )
    refuse_missing(pairs, SIDES, "pairs")
    about = pairs.drop(columns=list(SIDES)).reset_index(drop=True)
    for name in about.columns.intersection(TABLE_SCORE_COLUMNS.names[2:]):
        raise InputError(f"pairs: column {name!r} is also a column of the result; rename it")
    about["document"] = list(map(str, about.get("document", pairs.index)))
    # iterators are needed again for the rows
    true, predicted = (
        [list(one) if isinstance(one, Iterator) else one for one in pairs[side]] for side in SIDES
    )
    return about, list(zip(about["document"], true, predicted, strict=True))


_CHUNK = 16


def _each(
    task: Callable[[Any], _Scored], items: Sequence[Any], n_jobs: int, progress: bool
) -> list[_Scored]:
    """Return a result per item, in order; many items are shared among worker processes."""
    workers = worker_count(n_jobs)
    bar = partial(progress_bar, shown=progress, total=len(items), unit="table")
    if workers == 1 or len(items) <= _CHUNK:
        return list(bar(map(task, items)))
    with worker_pool(min(workers, ceil(len(items) / _CHUNK)), __name__) as pool:
        return list(bar(pool.map(task, items, chunksize=_CHUNK)))


def _score_frame(about: pd.DataFrame, scored: Sequence[_Scored]) -> pd.DataFrame:
    """Put all results into one frame; `about` has a row per document."""
    runs = about["run"].astype(object) if "run" in about else pd.Series([None] * len(about))
    ids = zip(runs.where(runs.notna(), None), about["document"], scored, strict=True)
    frame = TABLE_SCORE_COLUMNS.from_rows(
        (
            *(run, document, *row[:-1], one.is_complex, one.is_readable),
            "; ".join(dict.fromkeys(filter(None, (row[-1], one.problem)))),
        )
        for run, document, one in ids
        for row in one.rows
    )
    own = about.drop(columns=["run", "document"], errors="ignore")
    own = own.loc[own.index.repeat(len(scored[0].rows))].reset_index(drop=True)
    return pd.concat([frame, own], axis=1)


def _read_sides(pair: _Pair) -> Sides:
    return read_lists(*pair[1:], name=f"{pair[0]}, ")[:2]


def _score_pair(names: Sequence[str], variant: str, pair: _Pair) -> _Scored:
    document, *given = pair
    true, predicted, unreadable = read_lists(*given, name=f"{document}, ")
    rows = _score_rows(document, (true, predicted), names, variant)
    notes = [*unreadable.values()] or [note for table in predicted for note in table.notes]
    return _Scored(any(map(is_complex, true)), not unreadable, "; ".join(notes), rows)


def _score_rows(
    document: str, sides: Sides, names: Sequence[str], variant: str
) -> list[tuple[Any, ...]]:
    """Score tables that are read; without predicted boxes, no measure of location."""
    true, predicted = sides
    has_boxes = all(table.has_boxes for table in predicted)
    computed = [name for name in names if has_boxes or name not in LOCATED_METRICS]
    try:
        for name in set(names) & {*LOCATED_METRICS}:
            for table in true:
                refuse_boxless(name.removeprefix("grits_"), [table], [])
        if len(true) == len(predicted) == 1:
            found = compare_rows(true[0], predicted[0], computed, variant)
        else:
            for name in names:
                if not name.startswith("grits_"):
                    raise InputError(
                        f"{name!r} compares two tables; lists of tables have grits_ only"
                    )
            pages = (measured_page(name[6:], *sides, variant) for name in computed)
            found = [(*page.total.scores[:3], "") for page in pages]
    except InputError as error:
        raise InputError(f"{document}: {error}") from error
    by_name = dict(zip(computed, found, strict=True))
    sizes = tuple(sum(table.size for table in side) for side in sides)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        *scores, note = by_name.get(name, (None, None, None, "a predicted cell has no bbox"))
        rows.append((name, *scores, *(sizes if name.startswith("grits_") else (None, None)), note))
    return rows


def _position_rows(
    true: Sequence[Table], predicted: Sequence[Table], variant: str
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `TABLE_ROW_COLUMNS` without run and document."""
    page = measured_page("con", true, predicted, variant)
    for n, m in page.pairs:
        tables = EMPTY if n is None else true[n], EMPTY if m is None else predicted[m]
        partners: dict[tuple[int, int], tuple[int, int, float]] = {}
        if n is not None and m is not None:
            found = page.found[n, m]
            for (row, other_row, _), line in zip(found.aligned[0], found.similarity, strict=True):
                for (column, other, _), score in zip(found.aligned[1], line, strict=True):
                    partners[row, column] = other_row, other, float(score)
        names = _column_names(tables[0])
        for (r, c), number in np.ndenumerate(tables[0].grid):
            cell = tables[0].cells[number]
            at = (n, f"$[{n}][{r}][{c}]", names[c], "grits_con", kind_of(cell), r, c)
            if (r, c) not in partners:
                missing = (None, None, "omission", 0.0, False, cell.text, None)
                yield *at, *missing, "no_partner", "present", True
                continue
            row, column, score = partners[r, c]
            passed = score >= 1 - NEARLY
            outcome, why = ("correct", "") if passed else ("incorrect", "differs")
            texts = cell.text, tables[1].cells[tables[1].grid[row, column]].text
            yield *at, row, column, outcome, score, passed, *texts, why, "present", True
        names, taken = _column_names(tables[1]), {place[:2] for place in partners.values()}
        for (r, c), number in np.ndenumerate(tables[1].grid):
            if (r, c) not in taken:
                cell = tables[1].cells[number]
                path = f"$[+{m}][{r}][{c}]"
                extra = (None, path, names[c], "grits_con", kind_of(cell), None, None, r, c)
                wrong = ("hallucination", 0.0, False, None, cell.text)
                yield *extra, *wrong, "no_partner", "missing", True


def _column_names(table: Table) -> list[str]:
    """Return the header of each column in one line, or its number."""
    heads = table.texts[: header_rows(table)]
    parts = [dict.fromkeys(text.strip() for text in column) for column in zip(*heads, strict=True)]
    names = [" / ".join(filter(None, texts)) for texts in parts] or [""] * table.grid.shape[1]
    return [name or f"column {number}" for number, name in enumerate(names)]


@dataclass(frozen=True, eq=False)
class TableImage:
    """An annotated image of a table, or of a page; its files are read on access."""

    id: str
    split: str
    folder: Path

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The true objects: ``label`` and ``bbox``; `InputError` if the file cannot be read."""
        path = self.folder / self.split / f"{self.id}.xml"
        where = f"annotation {str(path)!r}"
        with reading(where, path):
            text = path.read_text(encoding="utf-8", errors="replace")
        try:
            if "<!ENTITY" in text:
                raise ET.ParseError("it declares entities")
            root = ET.fromstring(text)  # noqa: S314 - no entity can be declared
        except ET.ParseError as error:
            raise InputError(f"{where} is not XML: {error}") from None
        sides = [f"bndbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax")]
        return [
            {"label": node.findtext("name"), "bbox": [_number(node.findtext(s)) for s in sides]}
            for node in root.iterfind("object")
        ]

    @property
    def words(self) -> Any:
        """The words, for `from_objects`; `InputError` if the file cannot be read."""
        path = self.folder / "words" / f"{self.id}_words.json"
        where = f"words {str(path)!r}"
        with reading(where, path):
            content = path.read_bytes()
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} are not JSON: {error}") from None

    @property
    def image(self) -> Image:
        """The picture, a PIL image; needs pillow (the extra ``tables``)."""
        published = self.folder / "images" / f"{self.id}.jpg"
        lossless = published.with_name(f"{self.id}.png")
        return read_image(lossless if lossless.exists() else published)


def _number(text: str | None) -> float | None:
    with suppress(TypeError, ValueError):
        return float(text)  # type: ignore[arg-type]
    return None


def read_image(image: Any) -> Image:
    """Return a PIL image, the pixels of an array, a file or a `PageImage` in red, green, blue."""
    library: Any = needs("PIL.Image", "tables")
    picture: Any = image
    if isinstance(image, str | Path | PageImage):
        file = io.BytesIO(image.png) if isinstance(image, PageImage) else Path(image)
        path = file if isinstance(file, Path) else None
        try:
            with reading(f"image {str(image)!r}", path), library.open(file) as opened:
                picture = opened.convert("RGB")
        except (library.UnidentifiedImageError, library.DecompressionBombError) as error:
            raise InputError(f"image {str(image)!r} cannot be read: {error}") from None
    elif isinstance(image, np.ndarray) and image.dtype == np.uint8:
        with suppress(TypeError, ValueError, KeyError):
            picture = library.fromarray(image)
    if not isinstance(picture, library.Image) or not picture.width * picture.height:
        raise InputError(
            f"image is {type(image).__name__}; expected a path, a PIL image or a PageImage with "
            "pixels, or an array of bytes of shape (height, width, 3)"
        )
    converted: Image = picture.convert("RGB")
    return converted


def load_images(folder: str | Path, split: str | None = None) -> dict[str, TableImage]:
    """Open a dataset in the layout of PubTables-1M.

    Parameters
    ----------
    folder : str or pathlib.Path
        Folder with the annotations ``train/ID.xml``, ``val/ID.xml`` and ``test/ID.xml`` (Pascal
        VOC), ``images/ID.jpg`` (or ``.png``) and ``words/ID_words.json``. If there is a list
        ``train_filelist.txt``, only its images are used, in its order.
    split : str, optional
        ``"train"``, ``"val"`` or ``"test"``; by default all that the folder has.

    Returns
    -------
    dict of str to TableImage
        By id; its files are read on access: ``.objects``, ``.words``, ``.image``.

    Raises
    ------
    InputError
        The folder has no such split, or an image is in two splits.
    """
    root = Path(folder)
    splits = [name for name in ("train", "val", "test") if (root / name).is_dir()]
    if not splits:
        raise InputError(f"{str(root)!r} has no folder train, val or test with annotations")
    if split is not None and split not in splits:
        raise InputError(f"split is {split!r}; {nearest(str(split), splits)}")
    images: dict[str, TableImage] = {}
    for name in splits if split is None else [split]:
        listing = root / f"{name}_filelist.txt"
        with reading(f"folder {str(root)!r}"):
            if listing.is_file():
                lines = listing.read_text(encoding="utf-8").split()
            else:
                lines = sorted(path.name for path in (root / name).glob("*.xml"))
        for image in (TableImage(Path(line).stem, name, root) for line in lines):
            if image.id in images:
                both = f"{images[image.id].split} and {name}"
                raise InputError(f"image {image.id!r} is in {both}; name a split")
            images[image.id] = image
    return images


_METRICS = ("grits_top", "grits_con", "grits_loc", "grits_rawloc", "header")


def evaluate_images(  # noqa: PLR0913 - one flat call, as `evaluate_tables`
    images: Mapping[str, Any],
    predicted: Mapping[str, Any],
    *,
    metrics: str | Iterable[str] = _METRICS,
    variant: str = "paper",
    threshold: float = 0.5,
    n_jobs: int = 1,
    progress: bool = False,
) -> TableResult:
    """Score tables detected in images against the tables of the true objects.

    Parameters
    ----------
    images : dict
        By id, the annotated image of a table, see `load_images`, or its true objects and its words,
        in a form that `from_objects` accepts.
    predicted : dict
        By id, the predicted objects, in a form that `from_objects` accepts.
    metrics, variant : str, optional
        As in `evaluate_tables`. ``grits_rawloc`` compares the boxes of rows and columns before
        conflicts are resolved.
    threshold : float, optional
        Objects with a lower score do not count in tables, see `from_objects`.
    n_jobs, progress : int, optional
        As in `evaluate_tables`.

    Returns
    -------
    TableResult
        Also with ``.detection`` and ``.compare_paper()``. An image without a prediction, or with
        one that cannot be read, scores 0. An image whose annotation or words cannot be used has no
        score. An object or word that cannot be used is left out. ``problem`` names each of these.

    Raises
    ------
    InputError
        `predicted` has an image that `images` lacks, `images` is empty or no dict, or a name is
        unknown.

    Notes
    -----
    Section 7 of Smock, Pesala and Abraham, "PubTables-1M" (2021).
    """
    given: Any = images
    if not isinstance(given, Mapping) or not images:
        raise InputError(
            f"images: {images!r:.80}; expected a dict, as load_images returns it, or of "
            "(objects, words)"
        )
    given = predicted
    if not isinstance(given, Mapping):
        raise InputError(f"predicted is {type(predicted).__name__}; expected a dict")
    for name in predicted:
        if name not in images:
            hint = nearest(str(name), map(str, images))
            raise InputError(f"predicted: there is no image {name!r}; {hint}")
    check_share(threshold, "threshold")
    names = checked_names(metrics, TABLE_METRICS)
    checked_variant(variant, GRITS_VARIANTS)
    items = [(str(name), image, predicted.get(name)) for name, image in images.items()]
    scored = _each(partial(_score_image, names, variant, threshold), items, n_jobs, progress)
    about = pd.DataFrame({"document": [name for name, *_ in items]})
    detection = score_detections(one.detected for one in scored if one.detected is not None)
    sides = partial(map, partial(_image_sides, threshold), items)
    return TableResult(_score_frame(about, scored), variant, sides, detection)


#: The id of an image, the image or its objects and words, and the prediction.
_Item: TypeAlias = tuple[str, Any, Any]


class _ReadImage(NamedTuple):
    """The true and the predicted table of an image; None if it cannot be read, and why."""

    true: ResolvedTable | None
    predicted: ResolvedTable | None
    problem: str = ""


def _read_tables(threshold: float, item: _Item) -> _ReadImage:
    name, image, given = item
    true = None
    try:
        if isinstance(image, TableImage):
            image = image.objects, image.words
        if not isinstance(image, tuple | list) or len(image) != 2:  # noqa: PLR2004 - a pair
            raise InputError(f"images, {name!r}: {image!r:.80}; expected (objects, words)")
        true = from_objects(*image, threshold=threshold)
        return _ReadImage(
            true, from_objects([] if given is None else given, image[1], threshold=threshold)
        )
    except InputError as error:
        return _ReadImage(
            true, None, f"true: {error}" if true is None else f"{name}, predicted: {error}"
        )


def _image_sides(threshold: float, item: _Item) -> Sides:
    true, predicted, _ = _read_tables(threshold, item)
    return [true.table if true else EMPTY], [predicted.table if predicted else EMPTY]


def _score_image(names: Sequence[str], variant: str, threshold: float, item: _Item) -> _Scored:
    true, predicted, problem = _read_tables(threshold, item)
    if true is None:
        missing = [(measure, None, None, None, None, None, "") for measure in names]
        return _Scored(False, True, problem, missing)
    problems = [problem]
    is_readable, found = predicted is not None, predicted or from_objects([])
    (true_objects, words), (objects, _) = true.read, found.read
    if is_readable:
        problems = _named("true object", true_objects.problems)
        problems += _named("word", words.problems)
        problems += _named("predicted object", objects.problems)
        if item[2] is None:
            problems.append("no prediction")
        elif true.table.size and not found.table.size:
            problems.append(f"no predicted row or column with a score from {threshold}")
    others = [measure for measure in names if measure != "grits_rawloc"]
    sides = [true.table], [found.table]
    rows = {row[0]: row for row in _score_rows(item[0], sides, others, variant)}
    if len(others) < len(names):
        raw = measured("loc", true.raw, found.raw, variant)
        rows["grits_rawloc"] = ("grits_rawloc", *raw.scores[:3], *raw.sizes, "")
    more = [f"{len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
    text = "; ".join(problems[:_MOST_PROBLEMS] + more)
    ordered = [rows[measure] for measure in names]
    return _Scored(is_complex(true.table), is_readable, text, ordered, (true_objects, objects))


#: How many objects and words that are left out are described for an image.
_MOST_PROBLEMS = 3


def _named(what: str, problems: Mapping[int, str]) -> list[str]:
    return [f"{what} {n}: {problem}" for n, problem in problems.items()]
