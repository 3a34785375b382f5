"""The folder layout of a dataset, the files of the released one, and where it comes from.

The layout::

    {domain}/{schema}/{schema}-schema.json
    {domain}/{schema}/pdf+gold/{document}.pdf
    {domain}/{schema}/pdf+gold/{document}.gold.json
    runs/{run}/{document}.json                         (optional: what models answered)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._files import cache_folder, file_hash
from extractbench_nb.benchmark.statistics import shipped_rows
from extractbench_nb.errors import DatasetError

__all__ = [
    "COMMIT",
    "LICENCE",
    "RAW_URL",
    "REPOSITORY",
    "DocumentFiles",
    "ReleasedFile",
    "SchemaFolder",
    "check_files",
    "download_folder",
    "licence_of",
    "list_files",
    "list_folders",
    "list_runs",
    "missing_files",
    "origin_of",
    "pdf_beside",
    "provenance_of",
    "released_files",
    "scan",
]


REPOSITORY = "https://github.com/ContextualAI/extract-bench"
COMMIT = "88bc6ac0eac2e9cbf73dd697e329de555410f203"
RAW_URL = f"https://raw.githubusercontent.com/ContextualAI/extract-bench/{COMMIT}"
LICENCE = "MIT"


class ReleasedFile(NamedTuple):
    """A file of the released dataset.

    Attributes
    ----------
    path : str
        Below the dataset's folder, ``/`` between the parts.
    source : str
        Below the repository's root.
    size : int or None
        Bytes; None where the file was never at hand.
    sha256 : str or None
        64 hexadecimal digits; None where the file was never at hand.
    """

    path: str
    source: str
    size: int | None
    sha256: str | None


@cache
def released_files() -> tuple[ReleasedFile, ...]:
    """List the files of the released dataset: schemas, golds, PDFs and the licence."""
    return tuple(
        ReleasedFile(
            row["path"],
            row["source"],
            int(row["size"]) if row["size"] else None,
            row["sha256"] or None,
        )
        for row in shipped_rows("data/registry.csv")
    )


def download_folder() -> Path:
    """Return the folder that `fetch_dataset` fills where no other is named."""
    return cache_folder() / f"extractbench-{COMMIT[:12]}"


def missing_files(root: Path) -> list[str]:
    """List the released files with a known hash that a folder lacks, without reading any."""
    return [f.path for f in released_files() if f.sha256 and not (root / f.path).is_file()]


def check_files(root: Path) -> dict[str, int]:
    """Compare a folder with the released files."""
    counts = dict.fromkeys(("verified", "unverified", "changed", "missing"), 0)
    for file in released_files():
        counts[_state(file_hash(root / file.path), file.sha256)] += 1
    return counts


def _state(found: str | None, expected: str | None) -> str:
    if found is None:
        return "missing"
    if expected is None:
        return "unverified"
    return "verified" if found == expected else "changed"


_OWN_LICENCE = "MIT"
_LICENCE_FILES = ("LICENSE", "LICENCE", "LICENSE.txt", "LICENSE.md", "COPYING")
_LONGEST = 200


def licence_of(name: str, root: Path) -> str | None:
    """Name the licence of a dataset; None where nothing says it."""
    if name == "extractbench":
        return LICENCE
    return _OWN_LICENCE if name == "sample" else _first_line(root)


def origin_of(name: str) -> str | None:
    """Say in a few words where a named dataset comes from; None for anybody's folder."""
    if name == "extractbench":
        return f"{REPOSITORY} at {COMMIT[:12]}"
    return "part of extractbench_nb, all of it fictional" if name == "sample" else None


def provenance_of(name: str, root: Path) -> pd.Series[Any]:
    """Say where a dataset comes from, and compare its files with the released ones."""
    released = name == "extractbench"
    facts: dict[str, Any] = {
        "dataset": name,
        "source": REPOSITORY if released else origin_of(name),
        "commit": COMMIT if released else None,
        "licence": licence_of(name, root),
        "folder": str(root),
    }
    states = dict.fromkeys(("verified", "unverified", "changed", "missing"))
    facts |= check_files(root) if released else states
    cells = [pd.NA if value is None else value for value in facts.values()]
    return pd.Series(cells, index=list(facts), dtype=object, name="provenance")


def _first_line(root: Path) -> str | None:
    for name in _LICENCE_FILES:
        try:
            lines = (root / name).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
        return next((line.strip()[:_LONGEST] for line in lines if line.strip()), None)
    return None


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
    """List the schema folders and documents below a folder and check them."""
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
