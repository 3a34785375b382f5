"""Load a dataset of schemas, gold JSON and PDFs kept in ExtractBench's folder layout.

The layout::

    {domain}/{schema}/{schema}-schema.json
    {domain}/{schema}/pdf+gold/{document}.pdf
    {domain}/{schema}/pdf+gold/{document}.gold.json
    runs/{run}/{document}.json                         (optional: what models answered)

Loading lists the folders and checks that they hang together; schema and gold files are read
when they are asked for.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document
from extractbench_nb.errors import ExtractBenchError, InputError, nearest

__all__ = [
    "DOCUMENT_COLUMNS",
    "RUN_COLUMNS",
    "SCHEMA_COLUMNS",
    "Dataset",
    "DatasetError",
    "MissingPdfError",
    "load_dataset",
]

GOLD_SUFFIX = ".gold.json"
SCHEMA_SUFFIX = "-schema.json"
DOCUMENT_FOLDER = "pdf+gold"
RUN_FOLDER = "runs"
EXTRACTBENCH_VARIABLE = "EXTRACTBENCH_DATASET"
NAMED_DATASETS = ("extractbench", "sample")

_LAYOUT = f"{{domain}}/{{schema}}/{{schema}}{SCHEMA_SUFFIX}"


class DatasetError(ExtractBenchError):
    """A dataset that cannot be used as asked; the message names the file, folder or id."""


class MissingPdfError(DatasetError, FileNotFoundError):
    """The document exists and has no PDF."""

    def __str__(self) -> str:
        """Return the message; OSError would look for an errno."""
        return str(self.args[0])


DOCUMENT_COLUMNS = FrameSpec(
    "documents",
    "one row a document, ordered by domain, schema and document",
    (
        Column("document", "string", "document id: the gold file's name without `.gold.json`"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id, as `Dataset.schema` takes it"),
        Column("gold_path", "object", "where the gold JSON is", "pathlib.Path"),
        Column("pdf_path", "object", "where the PDF is", "pathlib.Path", nullable=True),
        Column("has_pdf", "bool", "whether there is a PDF"),
    ),
)

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


class _SchemaFolder(NamedTuple):
    id: str
    domain: str
    folder: str
    path: Path

    @property
    def qualified(self) -> str:
        return f"{self.domain}/{self.folder}"


class _Document(NamedTuple):
    id: str
    domain: str
    schema: str
    gold: Path
    pdf: Path | None


@dataclass(frozen=True, repr=False)
class Dataset:
    """Schemas, gold JSON and PDFs of one folder, read when asked for.

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
    _schemas: tuple[_SchemaFolder, ...] = ()
    _documents: tuple[_Document, ...] = ()

    @property
    def documents(self) -> pd.DataFrame:
        """One row a document, ordered by domain, schema and id (see `DOCUMENT_COLUMNS`)."""
        rows = [
            (d.id, d.domain, d.schema, d.gold, d.pdf or pd.NA, d.pdf is not None)
            for d in self._documents
        ]
        return _frame(rows, DOCUMENT_COLUMNS)

    @property
    def schemas(self) -> pd.DataFrame:
        """One row a schema, ordered by domain and name (see `SCHEMA_COLUMNS`)."""
        documents = Counter(d.schema for d in self._documents)
        pdfs = Counter(d.schema for d in self._documents if d.pdf)
        rows = [(s.id, s.domain, s.path, documents[s.id], pdfs[s.id]) for s in self._schemas]
        return _frame(rows, SCHEMA_COLUMNS)

    @property
    def runs(self) -> pd.DataFrame:
        """One row a model output under ``runs/{run}/{document}.json`` (see `RUN_COLUMNS`).

        Raises
        ------
        DatasetError
            If an output's name is not a document of this dataset.
        """
        known = {d.id for d in self._documents}
        rows = []
        for run in _folders(self.root / RUN_FOLDER):
            for path in _files(run, ".json"):
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
                f"document {document_id!r} has no PDF: expected {_pdf_beside(document.gold)}"
            )
        return document.pdf

    def __repr__(self) -> str:
        """Return the counts, the folder and one line a schema."""
        return "\n".join(
            [f"Dataset {self.name!r}: {self._counts()}", f"  {self.root}"]
            + [f"  {s.qualified:<40} {self._schema_counts(s)}" for s in self._schemas]
        )

    def _repr_html_(self) -> str:
        """Return the same as a small table; every text escaped."""
        rows = "".join(
            f"<tr><td>{escape(s.domain)}</td><td>{escape(s.folder)}</td>"
            f"<td>{escape(self._schema_counts(s))}</td></tr>"
            for s in self._schemas
        )
        return (
            f"<div><strong>Dataset {escape(self.name)}</strong>: {escape(self._counts())}"
            f"<br><code>{escape(str(self.root))}</code>"
            "<table><thead><tr><th>domain</th><th>schema</th><th>documents</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )

    def _counts(self) -> str:
        pdfs = sum(d.pdf is not None for d in self._documents)
        runs = sum(1 for _ in _folders(self.root / RUN_FOLDER))
        return ", ".join(
            [
                _plural(len(self._documents), "document"),
                _plural(len(self._schemas), "schema"),
                f"{pdfs} with PDF",
                _plural(runs, "run"),
            ]
        )

    def _schema_counts(self, schema: _SchemaFolder) -> str:
        own = [d for d in self._documents if d.schema == schema.id]
        without = sum(d.pdf is None for d in own)
        return _plural(len(own), "document") + (f", {without} without PDF" if without else "")

    def _find_document(self, document_id: str) -> _Document:
        for document in self._documents:
            if document.id == document_id:
                return document
        raise DatasetError(_unknown("document", document_id, (d.id for d in self._documents)))

    def _find_schema(self, schema_id: str) -> _SchemaFolder:
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
        ``"extractbench"``: the published dataset, from `path` or else from the folder that
        the environment variable ``EXTRACTBENCH_DATASET`` names.
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
    if not value:
        raise DatasetError(
            "where is the ExtractBench dataset? Pass load_dataset('extractbench', path=...) "
            f"or set the environment variable {EXTRACTBENCH_VARIABLE} to its folder"
        )
    return _existing(value, f"environment variable {EXTRACTBENCH_VARIABLE}")


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
    """List the schema folders and documents below `root` and check them."""
    folders = list(_schema_folders(root))
    if not folders:
        raise DatasetError(f"{root}: found no {_LAYOUT} here{_nested_hint(root)}")
    taken = Counter(folder.name for folder in folders)
    schemas = tuple(_schema_folder(f, unique=taken[f.name] == 1) for f in folders)
    documents = tuple(
        document
        for folder, schema in zip(folders, schemas, strict=True)
        for document in _list_documents(folder, schema)
    )
    _check_unique(documents)
    return Dataset(name, root, schemas, documents)


def _schema_folders(root: Path) -> Iterator[Path]:
    for domain in _folders(root):
        if domain.name != RUN_FOLDER:
            yield from (folder for folder in _folders(domain) if _is_schema_folder(folder))


def _is_schema_folder(folder: Path) -> bool:
    return (folder / DOCUMENT_FOLDER).is_dir() or any(_files(folder, SCHEMA_SUFFIX))


def _nested_hint(root: Path) -> str:
    nested = [folder for folder in _folders(root) if any(_schema_folders(folder))]
    return f"; did you mean {nested[0]}?" if nested else ""


def _schema_folder(folder: Path, *, unique: bool) -> _SchemaFolder:
    domain = folder.parent.name
    schema_id = folder.name if unique else f"{domain}/{folder.name}"
    files = list(_files(folder, SCHEMA_SUFFIX))
    if not files:
        raise DatasetError(f"{folder}: no schema file, expected {folder.name}{SCHEMA_SUFFIX}")
    if len(files) > 1:
        raise DatasetError(
            f"{folder}: {len(files)} schema files ({_listed(f.name for f in files)}), "
            "expected one: keep one schema a folder"
        )
    return _SchemaFolder(schema_id, domain, folder.name, files[0])


def _list_documents(folder: Path, schema: _SchemaFolder) -> Iterator[_Document]:
    for gold in _files(folder / DOCUMENT_FOLDER, GOLD_SUFFIX):
        pdf = _pdf_beside(gold)
        document_id = gold.name.removesuffix(GOLD_SUFFIX)
        yield _Document(document_id, schema.domain, schema.id, gold, pdf if pdf.is_file() else None)


def _check_unique(documents: Iterable[_Document]) -> None:
    seen: dict[str, Path] = {}
    for document in documents:
        if document.id in seen:
            raise DatasetError(
                f"two documents have the id {document.id!r}: {seen[document.id]} and "
                f"{document.gold}; rename one, since model outputs are found by this id"
            )
        seen[document.id] = document.gold


def _pdf_beside(gold: Path) -> Path:
    return gold.with_name(gold.name.removesuffix(GOLD_SUFFIX) + ".pdf")


def _folders(folder: Path) -> Iterator[Path]:
    return (entry for entry in _visible(folder) if entry.is_dir())


def _files(folder: Path, suffix: str) -> Iterator[Path]:
    return (e for e in _visible(folder) if e.name.endswith(suffix) and e.is_file())


def _visible(folder: Path) -> list[Path]:
    """Entries of `folder` in name order without hidden ones; none if it is no folder."""
    if not folder.is_dir():
        return []
    return sorted(
        (entry for entry in folder.iterdir() if not entry.name.startswith(".")),
        key=lambda entry: entry.name,
    )


def _read_json(path: Path, what: str) -> Any:
    try:
        return read_document(path, what)
    except InputError as error:
        raise DatasetError(str(error)) from error


def _frame(rows: Sequence[tuple[Any, ...]], spec: FrameSpec) -> pd.DataFrame:
    cells = zip(*rows, strict=True) if rows else ((),) * len(spec.columns)
    return spec.build(dict(zip(spec.names, cells, strict=True)))


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    return f"no {kind} {name!r}; {nearest(name, known)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
