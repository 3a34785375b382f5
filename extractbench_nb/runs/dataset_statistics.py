"""Statistics of gold files and PDFs: shipped for known files, counted for others.

Files are identified by their SHA-256. The released ExtractBench files and those of the sample are
known; statistics of other files are counted once in a process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.pdf import read_pages
from extractbench_nb.support.files import file_hash
from extractbench_nb.support.token_counts import count_tokens


def shipped_table(place: str, **options: Any) -> pd.DataFrame:
    """Read a table of the package, such as ``benchmark/data/gold.csv``, as pandas does."""
    with files("extractbench_nb").joinpath(place).open(encoding="utf-8") as file:
        frame: pd.DataFrame = pd.read_csv(file, **options)
    return frame


def shipped_rows(place: str) -> list[dict[Any, Any]]:
    """Read a table as texts."""
    return shipped_table(place, dtype=str, keep_default_na=False).to_dict("records")


def shipped_frame(place: str, spec: FrameSpec, dataset: str | None = None) -> pd.DataFrame:
    """Read a table, or its rows of one dataset, into a declared frame; an empty cell is missing."""
    frame = shipped_table(place)
    if dataset is not None:
        known = frame["dataset"].unique().tolist()
        if dataset not in known:
            raise InputError(f"no shipped statistics of {dataset!r}; {nearest(dataset, known)}")
        frame = frame[frame["dataset"] == dataset]
    cells = {n: [None if pd.isna(cell) else cell for cell in frame[n]] for n in spec.names}
    return spec.build(cells)


class GoldCounts(NamedTuple):
    """Leaf values and array items of a JSON value, and the leaf values that no array holds."""

    gold_values: int
    array_items: int
    fields: int


def count_gold(value: Any) -> GoldCounts:
    """Count the leaf values and array items of a JSON value, at any depth.

    Examples
    --------
    >>> count_gold({"name": "A", "rate": None, "parts": [{"tags": ["x", "y"]}, {"tags": []}]})
    GoldCounts(gold_values=4, array_items=4, fields=2)
    """
    leaves = items = fields = 0
    stack = [(value, False)]
    while stack:
        here, in_array = stack.pop()
        if isinstance(here, dict):
            stack.extend((child, in_array) for child in here.values())
        elif isinstance(here, list):
            items += len(here)
            stack.extend((child, True) for child in here)
        else:
            leaves += 1
            fields += not in_array
    return GoldCounts(leaves, items, fields)


#: Columns that several frames of this package have.
RUN = Column("run", "string", "name of the run's folder, usually a model's name")
DOCUMENT = Column("document", "string", "document id: the gold file's name without `.gold.json`")
DOMAIN = Column("domain", "string", "name of the domain folder")
SCHEMA = Column("schema", "string", "schema id, as passed to `Dataset.schema`")
KEYS = Column("keys", "int64", "scored leaves of the schema", "0 and up")
DEPTH = Column("depth", "int64", "deepest nesting of the schema", "0 and up")

STATISTICS = (
    Column("pages", "Int64", "pages of the PDF", "1 and up", nullable=True),
    Column("gold_values", "Int64", "leaf values in gold, including nulls", "0 and up", True),
    Column("array_items", "Int64", "items in gold arrays, including nested ones", "0 and up", True),
    Column("fields", "Int64", "leaf values in gold outside arrays", "0 and up", True),
    Column("gold_tokens", "Int64", "GPT-2 tokens in the unchanged gold file", "0 and up", True),
    Column("pdf_tokens", "Int64", "GPT-2 tokens in the PDF's text; missing without text", "", True),
    Column("gold_sha256", "string", "SHA-256 of the gold file", "64 hex digits", nullable=True),
    Column("pdf_sha256", "string", "SHA-256 of the PDF", "64 hex digits", nullable=True),
)

SHIPPED_COLUMNS = FrameSpec(
    "shipped_statistics",
    "one row per document, ordered by domain, schema and document",
    (DOCUMENT, DOMAIN, SCHEMA, Column("has_pdf", "bool", "whether its PDF was found"), *STATISTICS),
)

SHIPPED_SCHEMA_COLUMNS = FrameSpec(
    "shipped_schemas",
    "one row per schema, ordered by domain and schema",
    (SCHEMA, DOMAIN, KEYS, DEPTH),
)


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: its figures, the column of its hash, and how to count them."""

    name: str
    figures: tuple[str, ...]
    hash_column: str
    reader: Callable[[Path], dict[str, int]]


def _count_gold(path: Path) -> dict[str, int]:
    counts = count_gold(read_document(path, "gold"))
    return {**counts._asdict(), "gold_tokens": count_tokens(path.read_bytes().decode())}


def _count_pdf(path: Path) -> dict[str, int]:
    pages = read_pages(path)
    return {"pages": len(pages), "pdf_tokens": sum(map(count_tokens, pages))}


GOLD = FileKind(
    "gold", ("gold_values", "array_items", "fields", "gold_tokens"), "gold_sha256", _count_gold
)
PDF = FileKind("pdf", ("pages", "pdf_tokens"), "pdf_sha256", _count_pdf)

_counted: dict[tuple[str, str], Mapping[str, int]] = {}


def figures_of(path: Path | None, kind: FileKind) -> dict[str, Any]:
    """Return the figures of a file, shipped or counted; a PDF without text has no known tokens."""
    figures: dict[str, Any] = dict.fromkeys((*kind.figures, kind.hash_column))
    digest = file_hash(path) if path is not None else None
    if path is None or digest is None:
        return figures
    known = _known(kind).get(digest)
    if known is None:
        if (kind.name, digest) not in _counted:
            _counted[kind.name, digest] = measure(path, kind)
        known = _counted[kind.name, digest]
    figures |= {kind.hash_column: digest, **known}
    return figures | ({"pdf_tokens": None} if known.get("pdf_tokens") == 0 else {})


def measure(path: Path, kind: FileKind) -> dict[str, int]:
    """Count the figures of a file, whatever is known of it."""
    try:
        return kind.reader(path)
    except (InputError, OSError):
        return {}


def shipped_statistics(dataset: str = "extractbench") -> pd.DataFrame:
    """Return the figures of a known dataset's documents, without the dataset.

    Examples
    --------
    >>> int(shipped_statistics()["gold_values"].sum())
    12872
    """
    frame = shipped_frame("runs/data/documents.csv", SHIPPED_COLUMNS, dataset)
    tokens = frame["pdf_tokens"]
    return frame.assign(pdf_tokens=tokens.mask(tokens == 0))  # no text layer: unknown


def shipped_schemas(dataset: str = "extractbench") -> pd.DataFrame:
    """Return the figures of a known dataset's schemas, without the dataset.

    Examples
    --------
    >>> shipped_schemas()["keys"].tolist()
    [16, 369, 13, 31, 12]
    """
    return shipped_frame("runs/data/schemas.csv", SHIPPED_SCHEMA_COLUMNS, dataset)


@cache
def _known(kind: FileKind) -> Mapping[str, Mapping[str, int]]:
    return {
        row[kind.hash_column]: {name: int(row[name]) for name in kind.figures}
        for row in shipped_rows("runs/data/documents.csv")
        if row[kind.hash_column] and all(row[name] for name in kind.figures)
    }
