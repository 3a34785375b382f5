"""The ExtractBench dataset, and folders in the same layout: finding files, reading, downloading.

The layout::

    {domain}/{schema}/{schema}-schema.json
    {domain}/{schema}/pdf+gold/{document}.pdf
    {domain}/{schema}/pdf+gold/{document}.gold.json
    runs/{run}/{document}.json                         (optional: model outputs)

Loading lists the folders and checks that they are consistent. Schema and gold files are read, and
statistics computed, on first access.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote

import pandas as pd

from extractbench_nb.core import Accepted
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import DatasetError, InputError, MissingPdfError, nearest, needs
from extractbench_nb.runs import dataset_statistics as statistics
from extractbench_nb.runs.dataset_statistics import DOCUMENT, DOMAIN, RUN, SCHEMA
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.concurrency import progress_bar
from extractbench_nb.support.files import cache_folder, file_hash, make_folder, reading
from extractbench_nb.support.wording import plural

REPOSITORY = "https://github.com/ContextualAI/extract-bench"
COMMIT = "88bc6ac0eac2e9cbf73dd697e329de555410f203"
RAW_URL = f"https://raw.githubusercontent.com/ContextualAI/extract-bench/{COMMIT}"
EXTRACTBENCH_VARIABLE = "EXTRACTBENCH_DATASET"
#: Licence and origin of the named datasets.
_NAMED = {
    "extractbench": ("MIT", f"{REPOSITORY} at {COMMIT[:12]}"),
    "sample": ("MIT", "part of extractbench_nb, all of it fictional"),
}
NAMED_DATASETS = tuple(_NAMED)
LICENCE_FILES = ("LICENSE", "LICENCE", "LICENSE.txt", "LICENSE.md", "COPYING")
_LONGEST = 200
GOLD_SUFFIX = ".gold.json"
SCHEMA_SUFFIX = "-schema.json"
#: Accepted alternatives, one of both.
ACCEPTED_FILES = ("accepted.json", "accepted.csv")
DOCUMENT_FOLDER = "pdf+gold"
RUN_FOLDER = "runs"


# --- the files of a folder ------------------------------------------------------------------------


class SchemaFolder(NamedTuple):
    """A folder that contains one schema; its id is qualified where two domains share its name."""

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
        layout = f"{{domain}}/{{schema}}/{{schema}}{SCHEMA_SUFFIX}"
        raise DatasetError(f"{root}: found no {layout} here")
    name_counts = Counter(folder.name for folder in folders)
    schemas = []
    documents: dict[str, DocumentFiles] = {}
    for folder in folders:
        domain, name = folder.parent.name, folder.name
        schema_id = name if name_counts[name] == 1 else f"{domain}/{name}"
        files = list(list_files(folder, SCHEMA_SUFFIX))
        if len(files) != 1:
            found = f"{len(files)} schema files ({', '.join(repr(file.name) for file in files)})"
            expected = f"expected one, {name}{SCHEMA_SUFFIX}"
            raise DatasetError(f"{folder}: {found if files else 'no schema file'}, {expected}")
        schemas.append(SchemaFolder(schema_id, domain, name, files[0]))
        golds = list(list_files(folder / DOCUMENT_FOLDER, GOLD_SUFFIX))
        for other in (folder, *list_folders(folder)) if not golds else ():
            if any(list_files(other, GOLD_SUFFIX)):
                place = folder / DOCUMENT_FOLDER
                raise DatasetError(f"{other}: holds *{GOLD_SUFFIX}; expected them in {place}")
        for gold in golds:
            id_, pdf = gold.name.removesuffix(GOLD_SUFFIX), pdf_beside(gold)
            if id_ in documents:
                raise DatasetError(
                    f"two documents have the id {id_!r}: {documents[id_].gold} and {gold}; rename "
                    "one, since model outputs are found by this id"
                )
            pdf_or_none = pdf if pdf.is_file() else None
            documents[id_] = DocumentFiles(id_, domain, schema_id, gold, pdf_or_none)
    return tuple(schemas), tuple(documents.values())


def _schema_folders(root: Path) -> Iterator[Path]:
    for domain in list_folders(root):
        for folder in list_folders(domain) if domain.name != RUN_FOLDER else ():
            if (folder / DOCUMENT_FOLDER).is_dir() or any(list_files(folder, SCHEMA_SUFFIX)):
                yield folder


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
    entries = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return sorted(entries, key=lambda entry: entry.name)


# --- a dataset ------------------------------------------------------------------------------------

_DOCUMENTS = "one row per document, ordered by domain, schema and document"

LISTING_COLUMNS = FrameSpec(
    "listing",
    _DOCUMENTS,
    (
        *(DOCUMENT, DOMAIN, SCHEMA),
        Column("gold_path", "object", "path of the gold JSON", "pathlib.Path"),
        Column("pdf_path", "object", "path of the PDF", "pathlib.Path", nullable=True),
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
        Column("schema_path", "object", "path of the JSON Schema", "pathlib.Path"),
        Column("documents", "int64", "documents with a gold JSON", "0 or more"),
        Column("pdfs", "int64", "documents with a PDF", "0 or more"),
    ),
)

RUN_COLUMNS = FrameSpec(
    "runs",
    "one row per model output, ordered by run and document",
    (
        *(RUN, DOCUMENT),
        Column("predicted", "object", "path of the raw output; it may not parse", "pathlib.Path"),
    ),
)


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
        counted once in a process. Those of a missing or broken file are missing.
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
        """The name of the licence, the first line of a LICENSE file, or None."""
        if self.name in _NAMED:
            return _NAMED[self.name][0]
        for name in LICENCE_FILES:
            with suppress(OSError, InputError), reading(name, self.root / name):
                text = (self.root / name).read_text(encoding="utf-8", errors="replace")
                return next(
                    (line.strip()[:_LONGEST] for line in text.split("\n") if line.strip()), None
                )
        return None

    @property
    def schemas(self) -> pd.DataFrame:
        """One row per schema, ordered by domain and name (see `SCHEMA_COLUMNS`)."""
        documents = Counter(d.schema for d in self._documents)
        pdfs = Counter(d.schema for d in self._documents if d.pdf)
        rows = [(s.id, s.domain, s.path, documents[s.id], pdfs[s.id]) for s in self._schemas]
        return SCHEMA_COLUMNS.from_rows(rows)

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
                    self._find_document(path.stem, f"{path}: ")
                rows.append((run.name, path.stem, path))
        return RUN_COLUMNS.from_rows(rows)

    @property
    def accepted(self) -> pd.DataFrame:
        """One row per accepted alternative in the folder's ``accepted.json`` or ``accepted.csv``.

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
            The content of the file, unchanged.

        Raises
        ------
        DatasetError
            If the id is unknown or ambiguous, or the file is not a JSON object.
        """
        matching = [s for s in self._schemas if schema_id in (s.id, s.folder, s.qualified)]
        if not matching:
            known = [schema.id for schema in self._schemas]
            raise DatasetError(f"no schema {schema_id!r}; {nearest(schema_id, known)}")
        if len(matching) > 1:
            names = ", ".join(repr(s.qualified) for s in matching)
            raise DatasetError(f"schema {schema_id!r} is in more than one domain: use {names}")
        content = _read_json(matching[0].path, "schema")
        if not isinstance(content, dict):
            kind = type(content).__name__
            raise DatasetError(f"{matching[0].path}: expected a JSON object, found {kind}")
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
        counts = (
            plural(len(self._documents), "document"),
            plural(len(self._schemas), "schema"),
            f"{sum(d.pdf is not None for d in self._documents)} with PDF",
            plural(len(list(list_folders(self.root / RUN_FOLDER))), "run"),
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

    def _find_document(self, document_id: str, where: str = "") -> DocumentFiles:
        for document in self._documents:
            if document.id == document_id:
                return document
        hint = nearest(document_id, [document.id for document in self._documents])
        raise DatasetError(f"{where}no document {document_id!r}; {hint}")


def load_dataset(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a dataset by name or from a folder.

    Parameters
    ----------
    name_or_path : str or path, optional
        By default ``"sample"``, the fictional dataset of this package. ``"extractbench"`` is the
        published dataset, which is read from `path`, otherwise from the folder in the environment
        variable ``EXTRACTBENCH_DATASET``, and otherwise from the folder of `fetch_dataset`. Any
        other value is a folder in the same layout.
    path : str or path, optional
        The folder that contains the named dataset or, without a name, any folder in this layout.

    Returns
    -------
    Dataset
        The dataset. Its files are listed and checked, but read only on demand.

    Raises
    ------
    DatasetError
        The folder is missing or has another layout, a schema folder does not contain exactly one
        schema file, its gold is in a folder with another name, or two documents share an id.

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
        names = ", ".join(map(repr, NAMED_DATASETS))
        raise DatasetError(f"path= goes with a dataset's name ({names}), got {name_or_path!r}")
    return Dataset(name, root, *scan(root))


class Documents(Protocol):
    """What a batch needs of a dataset; `load_dataset` gives one.

    ``documents`` has one row per document, with columns document, domain and schema.
    """

    @property
    def documents(self) -> pd.DataFrame: ...  # noqa: D102
    def schema(self, schema_id: str, /) -> Any: ...  # noqa: D102
    def gold(self, document_id: str, /) -> Any: ...  # noqa: D102


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
    for folder in (package / "_sample", package.parent / "dataset"):
        if folder.is_dir():
            return folder
    raise DatasetError(f"the sample dataset is not installed beside {package}")


def _extractbench_root() -> Path:
    value = os.environ.get(EXTRACTBENCH_VARIABLE)
    if value:
        return _existing(value, f"environment variable {EXTRACTBENCH_VARIABLE}")
    root = download_folder()
    if root.is_dir() and not (absent := missing_files(root)):
        return root
    if root.is_dir():
        raise DatasetError(
            f"{root}: the download is incomplete, {len(absent)} files are missing (the first is "
            f"{absent[0]!r}); fetch_dataset('extractbench') fetches what is missing"
        )
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
    hint = f"; the named ones are {' and '.join(NAMED_DATASETS)}"
    raise DatasetError(f"{what}: no folder {str(root)!r}{hint}")


def _read_json(path: Path, what: str) -> Any:
    try:
        return read_document(path, what)
    except InputError as error:
        raise DatasetError(str(error)) from error


# --- the released dataset -------------------------------------------------------------------------

RETRIES = 2
TIMEOUT_SECONDS = 30
_MAGIC = b"%PDF-"
_NOT_FOUND = 404
_SHOWN = 3


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


def fetch_dataset(
    name: str = "extractbench",
    *,
    path: str | os.PathLike[str] | None = None,
    progress: bool = True,
    base_url: str | None = None,
) -> Dataset:
    """Download the released ExtractBench dataset, or its missing files.

    About 35 MB from ``github.com/ContextualAI/extract-bench`` (MIT licence), pinned to one commit.
    Each file is verified by its SHA-256 and appears under its name only when it is complete. One
    PDF was not available when the hashes were made: it is not verified, and may be absent, with a
    warning.

    Parameters
    ----------
    name : str, optional
        ``"extractbench"``; the sample comes with this package.
    path : str or path, optional
        Folder to fill; by default one in the cache folder, in which `load_dataset` looks.
    progress : bool, optional
        Whether to show a progress bar.
    base_url : str, optional
        A mirror that serves the repository's files below this address.

    Returns
    -------
    Dataset
        The same as ``load_dataset("extractbench", path=...)``.

    Raises
    ------
    DatasetError
        If the name is unknown, a file cannot be downloaded or is not the released one, or `path`
        contains a file with other content, which is not changed.
    OutputError
        If the folder cannot be made.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> xb.runs.fetch_dataset("extractbenhc")
    Traceback (most recent call last):
    extractbench_nb.errors.DatasetError: ...extractbench...
    """
    if name == "sample":
        raise DatasetError("the sample dataset comes with this package: load_dataset('sample')")
    if name != "extractbench":
        raise DatasetError(f"no dataset {name!r} to fetch; {nearest(name, ['extractbench'])}")
    root = make_folder(Path(path).expanduser() if path is not None else download_folder())
    hashes = {file: file_hash(root / file.path) for file in released_files()}
    wanted = [f for f, digest in hashes.items() if digest is None or f.sha256 not in (digest, None)]
    others = [file.path for file in wanted if path is not None and (root / file.path).exists()]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        raise DatasetError(
            f"{root}: {', '.join(map(repr, others[:_SHOWN]))}{more} differ from the released "
            "files; move them away or name another folder"
        )
    total, shown = sum(file.size or 0 for file in wanted), progress and bool(wanted)
    address = (base_url or RAW_URL).rstrip("/")
    with progress_bar(shown=shown, total=total, unit="B", unit_scale=True, desc="fetch") as bar:
        for file in wanted:
            _fetch_one(f"{address}/{quote(file.source)}", file, root / file.path)
            bar.update(file.size or 0)
    return load_dataset(name, path=root)


def _fetch_one(url: str, file: ReleasedFile, path: Path) -> None:
    """Download one file, or raise `DatasetError`; a PDF without known hash may be absent."""
    # `Pooch.fetch`, which calls this, writes a line per file beside the progress bar
    stream_download = needs("pooch.core", "benchmark").stream_download
    from requests import HTTPError, RequestException  # which pooch needs

    try:
        stream_download(url, path, file.sha256, _download, retry_if_failed=RETRIES)
        return
    except HTTPError as error:
        response: Any = error.response
        response.close()  # pooch leaves it open
        if file.sha256 is None and response.status_code == _NOT_FOUND:
            absent = f"{url} does not exist; the document stays without its PDF ({file.path})"
            warnings.warn(absent, stacklevel=3)
            return
        problem = f"the server answered {response.status_code} {response.reason}"
    except RequestException as error:
        reason: Any = getattr(error.args[0], "reason", error) if error.args else error
        problem = f"the connection failed ({type(reason).__name__})"
    except ValueError:
        problem = f"the downloaded file is not {'the released file' if file.sha256 else 'a PDF'}"
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {error.strerror}") from None
    raise DatasetError(
        f"{url}: {problem}; to get the data by hand, take the folder 'dataset' of {REPOSITORY} at "
        f"commit {COMMIT[:12]} and set {EXTRACTBENCH_VARIABLE} to it"
    )


def _download(url: str, output_file: str, _: object) -> None:
    """Download a file; one that is to be a PDF and is none is a `ValueError`."""
    downloader = needs("pooch", "benchmark").HTTPDownloader(timeout=TIMEOUT_SECONDS)
    downloader(url, output_file, None)
    with Path(output_file).open("rb") as file:
        if url.endswith(".pdf") and file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError
