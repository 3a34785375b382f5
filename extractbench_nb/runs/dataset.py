"""The ExtractBench dataset, and folders in the same layout: finding files, checking, reading.

The layout::

    {domain}/{schema}/{schema}-schema.json
    {domain}/{schema}/pdf+gold/{document}.pdf
    {domain}/{schema}/pdf+gold/{document}.gold.json
    runs/{run}/{document}.json                         (optional: model outputs)

Loading lists the folders and checks that they are consistent. Schema and gold files are read, and
statistics computed, on first access.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import pandas as pd

from extractbench_nb.core import Accepted
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import DatasetError, InputError, MissingPdfError, nearest
from extractbench_nb.runs import dataset_statistics as statistics
from extractbench_nb.runs.dataset_statistics import DOCUMENT, DOMAIN, RUN, SCHEMA
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.files import cache_folder, reading
from extractbench_nb.support.wording import plural

REPOSITORY = "https://github.com/ContextualAI/extract-bench"
COMMIT = "88bc6ac0eac2e9cbf73dd697e329de555410f203"
RAW_URL = f"https://raw.githubusercontent.com/ContextualAI/extract-bench/{COMMIT}"
#: Licence and origin of the named datasets.
_NAMED = {
    "extractbench": ("MIT", f"{REPOSITORY} at {COMMIT[:12]}"),
    "sample": ("MIT", "part of extractbench_nb, all of it fictional"),
}
NAMED_DATASETS = tuple(_NAMED)


class ReleasedFile(NamedTuple):
    """A file of the released dataset, relative to its folder; ``source`` to the repository's root.

    Size and hash are None if they are not known.
    """

    path: str
    source: str
    size: int | None
    sha256: str | None


@cache
def released_files() -> tuple[ReleasedFile, ...]:
    """List the files of the released dataset: schemas, golds, PDFs and the licence."""
    rows = statistics.shipped_rows("runs/data/registry.csv")
    return tuple(
        ReleasedFile(r["path"], r["source"], int(r["size"] or 0) or None, r["sha256"] or None)
        for r in rows
    )


def download_folder() -> Path:
    """Return the folder that `fetch_dataset` fills by default."""
    return cache_folder() / f"extractbench-{COMMIT[:12]}"


def missing_files(root: Path) -> list[str]:
    """List the released files with a known hash that a folder lacks, without reading any."""
    return [f.path for f in released_files() if f.sha256 and not (root / f.path).is_file()]


LICENCE_FILES = ("LICENSE", "LICENCE", "LICENSE.txt", "LICENSE.md", "COPYING")
_LONGEST = 200
GOLD_SUFFIX = ".gold.json"
SCHEMA_SUFFIX = "-schema.json"
#: Accepted alternatives, one of both.
ACCEPTED_FILES = ("accepted.json", "accepted.csv")
DOCUMENT_FOLDER = "pdf+gold"
RUN_FOLDER = "runs"

_LAYOUT = f"{{domain}}/{{schema}}/{{schema}}{SCHEMA_SUFFIX}"


class SchemaFolder(NamedTuple):
    """A folder that holds one schema; its id is qualified where two domains share its name."""

    id: str
    domain: str
    folder: str
    path: Path

    @property
    def qualified(self) -> str:
        """``domain/folder``."""
        return f"{self.domain}/{self.folder}"


class DocumentFiles(NamedTuple):
    """A document: its id, and where its gold JSON and its PDF are."""

    id: str
    domain: str
    schema: str
    gold: Path
    pdf: Path | None

    @property
    def cells(self) -> tuple[Any, ...]:
        """The cells of a row of `LISTING_COLUMNS`."""
        return (*self[:4], pd.NA if self.pdf is None else self.pdf, self.pdf is not None)


def scan(root: Path) -> tuple[tuple[SchemaFolder, ...], tuple[DocumentFiles, ...]]:
    """List the schema folders and documents of a dataset and check them."""
    folders = list(_schema_folders(root))
    if not folders:
        nested = next((f for f in list_folders(root) if any(_schema_folders(f))), None)
        hint = f"; did you mean {nested}?" if nested else ""
        raise DatasetError(f"{root}: found no {_LAYOUT} here{hint}")
    name_counts = Counter(folder.name for folder in folders)
    schemas = []
    documents: dict[str, DocumentFiles] = {}
    for folder in folders:
        domain, name = folder.parent.name, folder.name
        schema_id = name if name_counts[name] == 1 else f"{domain}/{name}"
        schemas.append(SchemaFolder(schema_id, domain, name, _schema_file(folder)))
        _refuse_misnamed(folder)
        for gold in list_files(folder / DOCUMENT_FOLDER, GOLD_SUFFIX):
            id_, pdf = gold.name.removesuffix(GOLD_SUFFIX), pdf_beside(gold)
            if id_ in documents:
                raise DatasetError(
                    f"two documents have the id {id_!r}: {documents[id_].gold} and {gold}; rename "
                    "one, since model outputs are found by this id"
                )
            pdf_or_none = pdf if pdf.is_file() else None
            documents[id_] = DocumentFiles(id_, domain, schema_id, gold, pdf_or_none)
    return tuple(schemas), tuple(documents.values())


def _refuse_misnamed(folder: Path) -> None:
    if (folder / DOCUMENT_FOLDER).is_dir():
        return
    for other in (*list_folders(folder), folder):
        if any(list_files(other, GOLD_SUFFIX)):
            raise DatasetError(
                f"{other}: holds *{GOLD_SUFFIX}; expected them in {folder / DOCUMENT_FOLDER}"
            )


def _schema_folders(root: Path) -> Iterator[Path]:
    for domain in list_folders(root):
        for folder in list_folders(domain) if domain.name != RUN_FOLDER else ():
            if (folder / DOCUMENT_FOLDER).is_dir() or any(list_files(folder, SCHEMA_SUFFIX)):
                yield folder


def _schema_file(folder: Path) -> Path:
    files = list(list_files(folder, SCHEMA_SUFFIX))
    if not files:
        raise DatasetError(f"{folder}: no schema file, expected {folder.name}{SCHEMA_SUFFIX}")
    if len(files) > 1:
        names = ", ".join(repr(file.name) for file in files)
        raise DatasetError(
            f"{folder}: {len(files)} schema files ({names}), expected one: keep one per folder"
        )
    return files[0]


def pdf_beside(gold: Path) -> Path:
    """Return where the PDF of a gold file is expected."""
    return gold.with_name(gold.name.removesuffix(GOLD_SUFFIX) + ".pdf")


def list_folders(folder: Path) -> Iterator[Path]:
    """List the folders in a folder by name, without hidden ones."""
    return (entry for entry in visible_entries(folder) if entry.is_dir())


def list_files(folder: Path, suffix: str) -> Iterator[Path]:
    """List the files in a folder with a suffix by name, without hidden ones."""
    return (e for e in visible_entries(folder) if e.name.endswith(suffix) and e.is_file())


def visible_entries(folder: Path) -> list[Path]:
    """List the entries of a folder by name, without hidden ones; none if it is not a folder."""
    if not folder.is_dir():
        return []
    return sorted(
        (entry for entry in folder.iterdir() if not entry.name.startswith(".")),
        key=lambda entry: entry.name,
    )


_DOCUMENTS = "one row per document, ordered by domain, schema and document"

LISTING_COLUMNS = FrameSpec(
    "listing",
    _DOCUMENTS,
    (
        *(DOCUMENT, DOMAIN, SCHEMA),
        Column("gold_path", "object", "where the gold JSON is", "pathlib.Path"),
        Column("pdf_path", "object", "where the PDF is", "pathlib.Path", nullable=True),
        Column("has_pdf", "bool", "whether there is a PDF"),
    ),
)

DOCUMENT_COLUMNS = FrameSpec(
    "documents", _DOCUMENTS, (*LISTING_COLUMNS.columns, *statistics.STATISTICS)
)

SCHEMA_COLUMNS = FrameSpec(
    "schemas",
    "one row per schema, ordered by domain and schema",
    (
        *(SCHEMA, DOMAIN),
        Column("schema_path", "object", "where the JSON Schema is", "pathlib.Path"),
        Column("documents", "int64", "documents with a gold JSON", "0 or more"),
        Column("pdfs", "int64", "documents with a PDF", "0 or more"),
    ),
)

RUN_COLUMNS = FrameSpec(
    "runs",
    "one row per model output, ordered by run and document",
    (
        *(RUN, DOCUMENT),
        Column("predicted", "object", "where the raw output is; it may not parse", "pathlib.Path"),
    ),
)


EXTRACTBENCH_VARIABLE = "EXTRACTBENCH_DATASET"


@dataclass(frozen=True, repr=False)
class Dataset(TextCard):
    """Schemas, gold JSON and PDFs of one folder, read on first access.

    Made by `load_dataset`. Each access to a frame returns a copy.

    Attributes
    ----------
    name : str
        ``"sample"``, ``"extractbench"`` or the folder's name.
    root : pathlib.Path
        The folder.
    """

    name: str
    root: Path
    _schemas: tuple[SchemaFolder, ...] = ()
    _documents: tuple[DocumentFiles, ...] = ()

    @property
    def listing(self) -> pd.DataFrame:
        """One row per document, without figures; no file is read (see `LISTING_COLUMNS`)."""
        return LISTING_COLUMNS.from_rows(d.cells for d in self._documents)

    @property
    def documents(self) -> pd.DataFrame:
        """One row per document with its figures, ordered by domain, schema and id.

        The columns are those of `DOCUMENT_COLUMNS`. Figures of known files are shipped; others are
        counted once and kept in the cache folder. Those of a missing or broken file are missing.
        """
        rows = []
        for document in self._documents:
            figures = statistics.figures_of(document.gold, statistics.GOLD)
            figures |= statistics.figures_of(document.pdf, statistics.PDF)
            counted = (figures[column.name] for column in statistics.STATISTICS)
            rows.append((*document.cells, *counted))
        return DOCUMENT_COLUMNS.from_rows(rows)

    @property
    def licence(self) -> str | None:
        """The licence: its name, the first line of a LICENSE file, or None if none is named."""
        if self.name in _NAMED:
            return _NAMED[self.name][0]
        for name in LICENCE_FILES:
            with suppress(OSError, InputError), reading(name, self.root / name):
                text = (self.root / name).read_text(encoding="utf-8", errors="replace")
                lines = (line.strip()[:_LONGEST] for line in text.split("\n"))
                return next(filter(None, lines), None)
        return None

    @property
    def schemas(self) -> pd.DataFrame:
        """One row per schema, ordered by domain and name (see `SCHEMA_COLUMNS`)."""
        documents = Counter(d.schema for d in self._documents)
        pdfs = Counter(d.schema for d in self._documents if d.pdf)
        rows = [(s.id, s.domain, s.path, documents[s.id], pdfs[s.id]) for s in self._schemas]
        return SCHEMA_COLUMNS.from_rows(rows)

    @property
    def pdfs_without_gold(self) -> tuple[Path, ...]:
        """The PDFs without a gold JSON beside them, which are no documents of the dataset."""
        folders = (schema.path.parent / DOCUMENT_FOLDER for schema in self._schemas)
        known = {pdf_beside(document.gold) for document in self._documents}
        return tuple(p for f in folders for p in list_files(f, ".pdf") if p not in known)

    @property
    def runs(self) -> pd.DataFrame:
        """One row per model output under ``runs/{run}/{document}.json`` (see `RUN_COLUMNS`).

        Raises
        ------
        DatasetError
            If an output's name is not a document of this dataset.
        """
        known = {d.id for d in self._documents}
        rows = []
        for run in list_folders(self.root / RUN_FOLDER):
            for path in list_files(run, ".json"):
                if path.stem not in known:
                    raise DatasetError(f"{path}: {self._unknown_document(path.stem)}")
                rows.append((run.name, path.stem, path))
        return RUN_COLUMNS.from_rows(rows)

    @property
    def accepted(self) -> pd.DataFrame:
        """One row per accepted alternative in ``accepted.json`` or ``accepted.csv`` of the folder.

        The columns are document, path, value, note; there are no rows without such a file. Pass
        them to `evaluate_runs` as ``accepted=dataset.accepted``.

        Raises
        ------
        InputError
            The file cannot be read, or a row has no path or value.
        """
        files = [self.root / name for name in ACCEPTED_FILES if (self.root / name).is_file()]
        if len(files) > 1:
            raise DatasetError(f"{self.root}: has accepted.json and accepted.csv; keep one of them")
        return Accepted.read(files[0] if files else None).frame()

    def schema(self, schema_id: str) -> dict[str, Any]:
        """Read a JSON Schema.

        Parameters
        ----------
        schema_id : str
            The schema folder's name or ``domain/schema``.

        Returns
        -------
        dict
            The content of the file, unchanged; an envelope is kept.

        Raises
        ------
        DatasetError
            If the id is unknown or ambiguous, or the file is not a JSON object.
        """
        matching = [s for s in self._schemas if schema_id in (s.id, s.folder, s.qualified)]
        if not matching:
            raise DatasetError(f"no schema {schema_id!r}; {nearest(schema_id, self._schema_ids)}")
        if len(matching) > 1:
            names = ", ".join(repr(s.qualified) for s in matching)
            raise DatasetError(f"schema {schema_id!r} is in more than one domain: use {names}")
        path = matching[0].path
        content = _read_json(path, "schema")
        if not isinstance(content, dict):
            kind = type(content).__name__
            raise DatasetError(f"{path}: a schema file holds a JSON object, found {kind}")
        return content

    def gold(self, document_id: str) -> Any:
        """Read a document's gold JSON.

        Parameters
        ----------
        document_id : str
            A value of ``documents["document"]``.

        Returns
        -------
        object
            The parsed JSON value.

        Raises
        ------
        DatasetError
            If the id is unknown or the file is not JSON (names file, line and column).
        """
        return _read_json(self._find_document(document_id).gold, "gold")

    def pdf_path(self, document_id: str) -> Path:
        """Return the path of a document's PDF.

        Parameters
        ----------
        document_id : str
            A value of ``documents["document"]``.

        Returns
        -------
        pathlib.Path
            The PDF, which existed when the dataset was loaded.

        Raises
        ------
        DatasetError
            If the id is unknown.
        MissingPdfError
            If the document has no PDF; it is a `DatasetError` and a `FileNotFoundError`.
        """
        document = self._find_document(document_id)
        if document.pdf is None:
            expected = pdf_beside(document.gold)
            raise MissingPdfError(f"document {document_id!r} has no PDF: expected {expected}")
        return document.pdf

    def __repr__(self) -> str:
        """Return counts, folder, licence and origin, and one line per schema."""
        runs = len(list(list_folders(self.root / RUN_FOLDER)))
        lacking = len(self.pdfs_without_gold)
        counts = (
            plural(len(self._documents), "document"),
            plural(len(self._schemas), "schema"),
            f"{sum(d.pdf is not None for d in self._documents)} with PDF",
            plural(runs, "run"),
            *([f"{plural(lacking, 'PDF')} without gold"] if lacking else []),
        )
        licence = f"licence: {self.licence}" if self.licence else None
        origin = _NAMED[self.name][1] if self.name in _NAMED else None
        source = "; ".join(filter(None, (licence, origin)))
        lines = [f"Dataset {self.name!r}: {', '.join(counts)}", f"  {self.root}"]
        lines += [f"  {source}"] if source else []
        for schema in self._schemas:
            pdfs = [document.pdf for document in self._documents if document.schema == schema.id]
            without = f", {pdfs.count(None)} without PDF" if None in pdfs else ""
            lines.append(f"  {schema.qualified:<40} {plural(len(pdfs), 'document')}{without}")
        return "\n".join(lines)

    @property
    def _schema_ids(self) -> list[str]:
        return [schema.id for schema in self._schemas]

    def _find_document(self, document_id: str) -> DocumentFiles:
        for document in self._documents:
            if document.id == document_id:
                return document
        raise DatasetError(self._unknown_document(document_id))

    def _unknown_document(self, document_id: str) -> str:
        for pdf in self.pdfs_without_gold:
            if pdf.stem == document_id:
                return f"document {document_id!r} has a PDF but no gold: {pdf}"
        return (
            f"no document {document_id!r}; {nearest(document_id, [d.id for d in self._documents])}"
        )


def load_dataset(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a dataset by name or from a folder.

    Parameters
    ----------
    name_or_path : str or path, optional
        ``"sample"``, the default: the fictional dataset of this package. ``"extractbench"``: the
        published dataset, from `path`, else from the folder that the environment variable
        ``EXTRACTBENCH_DATASET`` names, else from the one that `fetch_dataset` fills. Anything else:
        a folder in the same layout.
    path : str or path, optional
        The folder that holds the named dataset. Without a name: a folder in the same layout.

    Returns
    -------
    Dataset
        The dataset; its files are listed and checked, and read on demand.

    Raises
    ------
    DatasetError
        If the folder is missing or not in the layout, a schema folder has no schema file or
        more than one, its gold is in a folder of another name, or two documents share an id.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> ds.schemas["domain"].tolist()
    ['academic', 'finance', 'finance', 'hiring', 'sport']
    >>> ds.gold("night bus demand")["heading"]
    'Who Takes the Night Bus? A Note on Counting Passengers by Door Sensors'
    """
    if name_or_path is None:
        name_or_path, path = "sample" if path is None else Path(path), None
    if name_or_path in NAMED_DATASETS:
        name = str(name_or_path)
        if path is not None:
            root = _existing(path, f"path of dataset {name!r}")
        else:
            root = _sample_root() if name == "sample" else _extractbench_root()
    elif path is None:
        root = _existing(name_or_path, "dataset folder")
        name = root.resolve().name
    else:
        raise DatasetError(
            f"path= goes with a dataset's name ({', '.join(map(repr, NAMED_DATASETS))}), "
            f"got {os.fspath(name_or_path)!r} and path={os.fspath(path)!r}: pass one of them"
        )
    return Dataset(name, root, *scan(root))


class Documents(Protocol):
    """What a batch needs of a dataset; `load_dataset` gives one."""

    @property
    def documents(self) -> pd.DataFrame:
        """One row per document, with columns document, domain and schema."""
        ...

    def schema(self, schema_id: str, /) -> Any:
        """Return the JSON Schema of an id in ``documents["schema"]``."""
        ...

    def gold(self, document_id: str, /) -> Any:
        """Return the gold value of a document."""
        ...


DatasetLike: TypeAlias = Documents | str | os.PathLike[str] | None


def documents_of(dataset: DatasetLike) -> Documents:
    """Return a dataset; a name or path is loaded."""
    if dataset is None or isinstance(dataset, str | os.PathLike):
        return load_dataset(dataset)
    if not all(hasattr(dataset, part) for part in ("documents", "schema", "gold")):
        kind = type(dataset).__name__
        raise InputError(f"dataset is {kind}; expected a Dataset, a name or a path")
    return dataset


def _sample_root() -> Path:
    package = Path(__file__).resolve().parents[1]
    folders = (package / "_sample", package.parent / "dataset")
    for folder in folders:
        if folder.is_dir():
            return folder
    raise DatasetError(
        "the sample dataset is not installed: looked in " + " and ".join(map(str, folders))
    )


def _extractbench_root() -> Path:
    value = os.environ.get(EXTRACTBENCH_VARIABLE)
    if value:
        return _existing(value, f"environment variable {EXTRACTBENCH_VARIABLE}")
    root = download_folder()
    if root.is_dir() and any(root.iterdir()):
        absent = missing_files(root)
        if absent:
            raise DatasetError(
                f"{root}: the download is incomplete, {len(absent)} files are missing (the first "
                f"is {absent[0]!r}); fetch_dataset('extractbench') fetches what is missing"
            )
        return root
    raise DatasetError(
        "the ExtractBench dataset was not found: fetch_dataset('extractbench') downloads it; for a "
        "copy of your own pass load_dataset('extractbench', path=...) or set the environment "
        f"variable {EXTRACTBENCH_VARIABLE} to its folder"
    )


def _existing(folder: str | os.PathLike[str], what: str) -> Path:
    root = Path(folder).expanduser()
    if root.is_dir():
        return root
    if root.exists():
        raise DatasetError(f"{what}: {root} is a file, expected a folder")
    near = difflib.get_close_matches(str(folder), NAMED_DATASETS)
    hint = f"; did you mean the dataset named {near[0]!r}?" if near else ""
    raise DatasetError(f"{what}: no folder {str(root)!r}{hint}")


def _read_json(path: Path, what: str) -> Any:
    try:
        return read_document(path, what)
    except InputError as error:
        raise DatasetError(str(error)) from error
