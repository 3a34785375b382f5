"""The folder layout of a dataset: find its schemas and documents, and check that they fit together.

The layout::

    {domain}/{schema}/{schema}-schema.json
    {domain}/{schema}/pdf+gold/{document}.pdf
    {domain}/{schema}/pdf+gold/{document}.gold.json
    runs/{run}/{document}.json                         (optional: what models answered)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from extractbench_nb.errors import DatasetError

__all__ = [
    "DocumentFiles",
    "SchemaFolder",
    "list_files",
    "list_folders",
    "list_runs",
    "pdf_beside",
    "scan",
]

GOLD_SUFFIX = ".gold.json"
SCHEMA_SUFFIX = "-schema.json"
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


def scan(root: Path) -> tuple[tuple[SchemaFolder, ...], tuple[DocumentFiles, ...]]:
    """List the schema folders and documents below a folder and check them.

    Parameters
    ----------
    root : pathlib.Path
        The dataset's folder.

    Returns
    -------
    tuple of (tuple of SchemaFolder, tuple of DocumentFiles)
        Ordered by domain, schema and document.

    Raises
    ------
    DatasetError
        If there is no schema folder, one has no schema file or more than one, or two documents
        share an id.
    """
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
    return schemas, documents


def pdf_beside(gold: Path) -> Path:
    """Return where the PDF of a gold file is expected."""
    return gold.with_name(gold.name.removesuffix(GOLD_SUFFIX) + ".pdf")


def list_runs(root: Path) -> Iterator[Path]:
    """List the folders of model outputs in name order."""
    return list_folders(root / RUN_FOLDER)


def list_folders(folder: Path) -> Iterator[Path]:
    """List the folders in a folder in name order, hidden ones left out."""
    return (entry for entry in _visible(folder) if entry.is_dir())


def list_files(folder: Path, suffix: str) -> Iterator[Path]:
    """List the files in a folder whose names end so, in name order, hidden ones left out."""
    return (e for e in _visible(folder) if e.name.endswith(suffix) and e.is_file())


def _schema_folders(root: Path) -> Iterator[Path]:
    for domain in list_folders(root):
        if domain.name != RUN_FOLDER:
            yield from (folder for folder in list_folders(domain) if _is_schema_folder(folder))


def _is_schema_folder(folder: Path) -> bool:
    return (folder / DOCUMENT_FOLDER).is_dir() or any(list_files(folder, SCHEMA_SUFFIX))


def _nested_hint(root: Path) -> str:
    nested = [folder for folder in list_folders(root) if any(_schema_folders(folder))]
    return f"; did you mean {nested[0]}?" if nested else ""


def _schema_folder(folder: Path, *, unique: bool) -> SchemaFolder:
    domain = folder.parent.name
    schema_id = folder.name if unique else f"{domain}/{folder.name}"
    files = list(list_files(folder, SCHEMA_SUFFIX))
    if not files:
        raise DatasetError(f"{folder}: no schema file, expected {folder.name}{SCHEMA_SUFFIX}")
    if len(files) > 1:
        names = ", ".join(repr(file.name) for file in files)
        raise DatasetError(
            f"{folder}: {len(files)} schema files ({names}), expected one: keep one schema a folder"
        )
    return SchemaFolder(schema_id, domain, folder.name, files[0])


def _list_documents(folder: Path, schema: SchemaFolder) -> Iterator[DocumentFiles]:
    for gold in list_files(folder / DOCUMENT_FOLDER, GOLD_SUFFIX):
        pdf = pdf_beside(gold)
        name = gold.name.removesuffix(GOLD_SUFFIX)
        yield DocumentFiles(name, schema.domain, schema.id, gold, pdf if pdf.is_file() else None)


def _check_unique(documents: Iterable[DocumentFiles]) -> None:
    seen: dict[str, Path] = {}
    for document in documents:
        if document.id in seen:
            raise DatasetError(
                f"two documents have the id {document.id!r}: {seen[document.id]} and "
                f"{document.gold}; rename one, since model outputs are found by this id"
            )
        seen[document.id] = document.gold


def _visible(folder: Path) -> list[Path]:
    """Entries of `folder` in name order without hidden ones; none if it is no folder."""
    if not folder.is_dir():
        return []
    return sorted(
        (entry for entry in folder.iterdir() if not entry.name.startswith(".")),
        key=lambda entry: entry.name,
    )
