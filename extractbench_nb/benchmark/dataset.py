"""A dataset of schemas, gold JSON and PDFs in ExtractBench's folder layout.

Loading lists the folders and checks that they are consistent (see `layout`). Schema and gold files
are read, and statistics computed, on first access.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document
from extractbench_nb.benchmark.layout import (
    DocumentFiles,
    SchemaFolder,
    download_folder,
    licence_of,
    list_files,
    list_runs,
    missing_files,
    origin_of,
    pdf_beside,
    provenance_of,
    scan,
)
from extractbench_nb.benchmark.statistics import GOLD, PDF, STATISTICS, figures_of
from extractbench_nb.errors import DatasetError, InputError, MissingPdfError, nearest

__all__ = [
    "DOCUMENT_COLUMNS",
    "EXTRACTBENCH_VARIABLE",
    "LISTING_COLUMNS",
    "NAMED_DATASETS",
    "RUN_COLUMNS",
    "SCHEMA_COLUMNS",
    "Dataset",
    "DatasetError",
    "MissingPdfError",
    "Summary",
    "dataset_html",
    "dataset_text",
    "load_dataset",
]


_DOCUMENTS = "one row a document, ordered by domain, schema and document"

LISTING_COLUMNS = FrameSpec(
    "listing",
    _DOCUMENTS,
    (
        Column("document", "string", "document id: the gold file's name without `.gold.json`"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id, as `Dataset.schema` takes it"),
        Column("gold_path", "object", "where the gold JSON is", "pathlib.Path"),
        Column("pdf_path", "object", "where the PDF is", "pathlib.Path", nullable=True),
        Column("has_pdf", "bool", "whether there is a PDF"),
    ),
)

DOCUMENT_COLUMNS = FrameSpec("documents", _DOCUMENTS, (*LISTING_COLUMNS.columns, *STATISTICS))

SCHEMA_COLUMNS = FrameSpec(
    "schemas",
    "one row a schema, ordered by domain and schema",
    (
        Column("schema", "string", "the folder's name, or domain/schema where two share a name"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema_path", "object", "where the JSON Schema is", "pathlib.Path"),
        Column("documents", "int64", "documents with a gold JSON", "0 or more"),
        Column("pdfs", "int64", "documents with a PDF", "0 or more"),
    ),
)

RUN_COLUMNS = FrameSpec(
    "runs",
    "one row a model output, ordered by run and document",
    (
        Column("run", "string", "name of the run's folder, mostly a model's name"),
        Column("document", "string", "document id"),
        Column("predicted", "object", "where the raw output is; it may not parse", "pathlib.Path"),
    ),
)


class Summary(NamedTuple):
    """What a card shows: the schema id and whether there is a PDF, for each document."""

    name: str
    root: Path
    licence: str | None
    schemas: tuple[SchemaFolder, ...]
    files: Sequence[tuple[str, bool]]
    runs: int


def dataset_text(summary: Summary) -> str:
    """Write the counts, the folder, where it comes from and one line per schema."""
    lines = [f"Dataset {summary.name!r}: {_counts(summary)}", f"  {summary.root}"]
    source = _source(summary)
    if source:
        lines.append(f"  {source}")
    schemas = [f"  {s.qualified:<40} {_schema_counts(summary, s)}" for s in summary.schemas]
    return "\n".join(lines + schemas)


def dataset_html(summary: Summary) -> str:
    """Write the same as a small table; every text escaped."""
    rows = "".join(
        f"<tr><td>{escape(s.domain)}</td><td>{escape(s.folder)}</td>"
        f"<td>{escape(_schema_counts(summary, s))}</td></tr>"
        for s in summary.schemas
    )
    source = _source(summary)
    return (
        f"<div><strong>Dataset {escape(summary.name)}</strong>: {escape(_counts(summary))}"
        f"<br><code>{escape(str(summary.root))}</code>"
        + (f"<br>{escape(source)}" if source else "")
        + "<table><thead><tr><th>domain</th><th>schema</th><th>documents</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _source(summary: Summary) -> str:
    licence = f"licence: {summary.licence}" if summary.licence else None
    return "; ".join(filter(None, (licence, origin_of(summary.name))))


def _counts(summary: Summary) -> str:
    return ", ".join(
        [
            _plural(len(summary.files), "document"),
            _plural(len(summary.schemas), "schema"),
            f"{sum(has_pdf for _, has_pdf in summary.files)} with PDF",
            _plural(summary.runs, "run"),
        ]
    )


def _schema_counts(summary: Summary, schema: SchemaFolder) -> str:
    own = [has_pdf for schema_id, has_pdf in summary.files if schema_id == schema.id]
    without = own.count(False)
    return _plural(len(own), "document") + (f", {without} without PDF" if without else "")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


EXTRACTBENCH_VARIABLE = "EXTRACTBENCH_DATASET"
NAMED_DATASETS = ("extractbench", "sample")


@dataclass(frozen=True, repr=False)
class Dataset:
    """Schemas, gold JSON and PDFs of one folder, read on first access.

    Made by `load_dataset`. Frames are new objects at every access, so changing one
    changes nothing here.

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
        """One row per document, without any figure that would have to be counted.

        Ordered by domain, schema and id (see `LISTING_COLUMNS`); no file is read.
        """
        return _frame([_files_of(document) for document in self._documents], LISTING_COLUMNS)

    @property
    def documents(self) -> pd.DataFrame:
        """One row per document with its figures, ordered by domain, schema and id.

        The columns of `listing`, then pages, gold_values, array_items, fields, gold_tokens,
        pdf_tokens and the SHA-256 of both files (see `DOCUMENT_COLUMNS`). Figures of known files
        are shipped; others are counted once and kept in the cache folder. What a missing or
        broken file would tell is missing.
        """
        return _frame([_figures_of(document) for document in self._documents], DOCUMENT_COLUMNS)

    @property
    def licence(self) -> str | None:
        """The licence: its name, the first line of a LICENSE file, or None if none is named."""
        return licence_of(self.name, self.root)

    @property
    def provenance(self) -> pd.Series[Any]:
        """Where the dataset comes from, as a Series.

        dataset, source, commit, licence and folder; then how many of the released files are
        verified (by SHA-256), unverified, changed and missing. ``pd.NA`` where it does not apply.
        """
        return provenance_of(self.name, self.root)

    @property
    def schemas(self) -> pd.DataFrame:
        """One row per schema, ordered by domain and name (see `SCHEMA_COLUMNS`)."""
        documents = Counter(d.schema for d in self._documents)
        pdfs = Counter(d.schema for d in self._documents if d.pdf)
        rows = [(s.id, s.domain, s.path, documents[s.id], pdfs[s.id]) for s in self._schemas]
        return _frame(rows, SCHEMA_COLUMNS)

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
        for run in list_runs(self.root):
            for path in list_files(run, ".json"):
                if path.stem not in known:
                    raise DatasetError(f"{path}: {_unknown('document', path.stem, known)}")
                rows.append((run.name, path.stem, path))
        return _frame(rows, RUN_COLUMNS)

    def schema(self, schema_id: str) -> dict[str, Any]:
        """Read a JSON Schema.

        Parameters
        ----------
        schema_id : str
            The schema folder's name or ``domain/schema``.

        Returns
        -------
        dict
            The file's content as it is, an envelope included.

        Raises
        ------
        DatasetError
            If the id is unknown or ambiguous, or the file is not a JSON object.
        """
        path = self._find_schema(schema_id).path
        content = _read_json(path, "schema")
        if not isinstance(content, dict):
            raise DatasetError(
                f"{path}: a schema file holds a JSON object, found {type(content).__name__}"
            )
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
        """Return where a document's PDF is.

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
            raise MissingPdfError(
                f"document {document_id!r} has no PDF: expected {pdf_beside(document.gold)}"
            )
        return document.pdf

    def __repr__(self) -> str:
        """Return the counts, the folder, where it comes from and one line per schema."""
        return dataset_text(self._summary())

    def _repr_html_(self) -> str:
        """Return the same as a small table; every text escaped."""
        return dataset_html(self._summary())

    def _summary(self) -> Summary:
        files = [(document.schema, document.pdf is not None) for document in self._documents]
        runs = sum(1 for _ in list_runs(self.root))
        return Summary(self.name, self.root, self.licence, self._schemas, files, runs)

    def _find_document(self, document_id: str) -> DocumentFiles:
        for document in self._documents:
            if document.id == document_id:
                return document
        raise DatasetError(_unknown("document", document_id, (d.id for d in self._documents)))

    def _find_schema(self, schema_id: str) -> SchemaFolder:
        found = [s for s in self._schemas if schema_id in (s.id, s.folder, s.qualified)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(repr(s.qualified) for s in found)
            raise DatasetError(f"schema {schema_id!r} is in more than one domain: use {names}")
        raise DatasetError(_unknown("schema", schema_id, (s.id for s in self._schemas)))


def load_dataset(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a dataset by name or from a folder.

    Parameters
    ----------
    name_or_path : str or path, optional
        ``"sample"``: the small fictional dataset that comes with this package; the default where
        no `path` is given either.
        ``"extractbench"``: the published dataset, from `path`, else from the folder that the
        environment variable ``EXTRACTBENCH_DATASET`` names, else from where `fetch_dataset`
        put it.
        Anything else: a folder in the same layout.
    path : str or path, optional
        The folder that holds the named dataset. Without a name: a folder in the same layout.

    Returns
    -------
    Dataset
        Listed and checked; file contents are read on demand.

    Raises
    ------
    DatasetError
        If the folder is missing or not in the layout, a schema folder has no schema file or
        more than one, or two documents share an id.

    Examples
    --------
    >>> from extractbench_nb.benchmark.dataset import load_dataset
    >>> ds = load_dataset("sample")
    >>> ds.schemas["domain"].tolist()
    ['academic', 'finance', 'finance', 'hiring', 'sport']
    """
    if name_or_path is None:
        if path is not None:
            return _load_folder(path, None)
        name_or_path = "sample"
    if name_or_path not in NAMED_DATASETS:
        return _load_folder(name_or_path, path)
    name = str(name_or_path)
    if path is not None:
        return _scan(name, _existing(path, f"path of dataset {name!r}"))
    return _scan(name, _sample_root() if name == "sample" else _extractbench_root())


def _load_folder(folder: str | os.PathLike[str], path: str | os.PathLike[str] | None) -> Dataset:
    if path is not None:
        raise DatasetError(
            f"path= goes with a dataset's name ({_listed(NAMED_DATASETS)}), "
            f"got {os.fspath(folder)!r} and path={os.fspath(path)!r}: pass one of them"
        )
    root = _existing(folder, "dataset folder")
    return _scan(root.resolve().name, root)


def _sample_root() -> Path:
    package = Path(__file__).resolve().parents[1]
    places = (package / "_sample", package.parent / "dataset")
    for place in places:
        if place.is_dir():
            return place
    raise DatasetError(
        "the sample dataset is not installed: looked in " + " and ".join(map(str, places))
    )


def _extractbench_root() -> Path:
    value = os.environ.get(EXTRACTBENCH_VARIABLE)
    if value:
        return _existing(value, f"environment variable {EXTRACTBENCH_VARIABLE}")
    if download_folder().is_dir() and any(download_folder().iterdir()):
        return _complete(download_folder())
    raise DatasetError(
        "the ExtractBench dataset is not here: fetch_dataset('extractbench') downloads it; for a "
        "copy of your own pass load_dataset('extractbench', path=...) or set the environment "
        f"variable {EXTRACTBENCH_VARIABLE} to its folder"
    )


def _complete(root: Path) -> Path:
    absent = missing_files(root)
    if absent:
        raise DatasetError(
            f"{root}: the download is incomplete, {len(absent)} files are missing (the first is "
            f"{absent[0]!r}); fetch_dataset('extractbench') fetches what is missing"
        )
    return root


def _existing(folder: str | os.PathLike[str], what: str) -> Path:
    root = Path(folder).expanduser()
    if root.is_dir():
        return root
    if root.exists():
        raise DatasetError(f"{what}: {root} is a file, expected a folder")
    near = difflib.get_close_matches(str(folder), NAMED_DATASETS)
    hint = f"; did you mean the dataset named {near[0]!r}?" if near else ""
    raise DatasetError(f"{what}: no folder {str(root)!r}{hint}")


def _scan(name: str, root: Path) -> Dataset:
    return Dataset(name, root, *scan(root))


def _read_json(path: Path, what: str) -> Any:
    try:
        return read_document(path, what)
    except InputError as error:
        raise DatasetError(str(error)) from error


def _files_of(document: DocumentFiles) -> tuple[Any, ...]:
    pdf = document.pdf
    return (*document[:4], pd.NA if pdf is None else pdf, pdf is not None)


def _figures_of(document: DocumentFiles) -> tuple[Any, ...]:
    figures = figures_of(document.gold, GOLD) | figures_of(document.pdf, PDF)
    return (*_files_of(document), *(figures[column.name] for column in STATISTICS))


def _frame(rows: Sequence[tuple[Any, ...]], spec: FrameSpec) -> pd.DataFrame:
    cells = zip(*rows, strict=True) if rows else ((),) * len(spec.columns)
    return spec.build(dict(zip(spec.names, cells, strict=True)))


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    return f"no {kind} {name!r}; {nearest(name, known)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
