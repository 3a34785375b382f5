"""From what a user hands over to the cells of a batch: one cell a run and document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd

from extractbench_nb._frames import Column
from extractbench_nb.batch.columns import SUMMARIES
from extractbench_nb.batch.extras import extra_columns, is_missing
from extractbench_nb.batch.folders import check_readable, read_folder
from extractbench_nb.batch.outputs import ABSENT
from extractbench_nb.batch.schemas import SchemaShelf
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.profiles import Profile
from extractbench_nb.schema.nodes import Schema

__all__ = ["Cell", "Documents", "Plan", "read_runs"]

NEEDED = ("run", "document", "predicted")
_SHOWN = 3
_ALLOWED = ("run", "document", "domain", "schema")


class Documents(Protocol):
    """What a batch needs of a dataset; `xb.load_dataset` gives one."""

    @property
    def documents(self) -> pd.DataFrame:
        """One row a document, with columns document, domain and schema."""
        ...

    def schema(self, schema_id: str, /) -> Any:
        """Return the JSON Schema of an id in ``documents["schema"]``."""
        ...

    def gold(self, document_id: str, /) -> Any:
        """Return the gold value of a document."""
        ...


class Cell(NamedTuple):
    """One output: whose, of what, and where its inputs are. Gold may be left to the dataset."""

    run: str
    document: str
    domain: str | None
    schema: str
    schema_key: str
    gold: Any
    predicted: Any

    @property
    def name(self) -> str:
        """The cell as errors call it."""
        return f"run {self.run!r}, document {self.document!r}"


class FromDataset:
    """Stands for gold that the dataset is asked for when it is needed."""


class _Known(NamedTuple):
    """What a dataset says of a document."""

    domain: str | None
    schema: str
    gold: Any


@dataclass(frozen=True)
class Plan:
    """A batch before any work: its cells in order, the schemas by key, the user's own columns."""

    cells: tuple[Cell, ...]
    schemas: Mapping[str, Schema]
    extras: tuple[Column, ...]
    extra_rows: tuple[tuple[Any, ...], ...]
    dataset: Documents | None

    def gold(self, cell: Cell) -> Any:
        """Return a cell's gold in a form that `evaluate` takes."""
        if not isinstance(cell.gold, FromDataset):
            return cell.gold
        assert self.dataset is not None  # noqa: S101 - such cells are made from a dataset only
        value = self.dataset.gold(cell.document)
        return json.dumps(value) if isinstance(value, str) else value


def read_runs(runs: Any, dataset: Documents | None, profile: Profile) -> Plan:
    """Read what the user handed over, and check all of it before any work is done.

    Parameters
    ----------
    runs : pandas.DataFrame, str, pathlib.Path or Dataset
        See `evaluate_runs`.
    dataset : Documents or None
        Where schema and gold come from.
    profile : Profile
        The rules under which schemas are read.

    Returns
    -------
    Plan
        One cell a row, in the order given.

    Raises
    ------
    InputError
        A column is missing or of a wrong type, a document unknown, a pair there twice, a file not
        readable; with the row or file.
    SchemaError, ConfigError
        A schema cannot be read.
    """
    frame, dataset = _as_frame(runs, dataset)
    _check_columns(frame, dataset)
    library = _Library(frame, dataset, SchemaShelf(profile))
    cells = tuple(library.cells())
    _check_unique(cells)
    own = [n for n in frame.columns if n not in (*NEEDED, "domain", "schema", "gold")]
    return Plan(cells, library.shelf.schemas, *extra_columns(frame, own), dataset)


def _as_frame(runs: Any, dataset: Documents | None) -> tuple[pd.DataFrame, Documents | None]:
    if isinstance(runs, pd.DataFrame):
        _refuse_empty(runs, "runs is an empty DataFrame")
        return runs, dataset
    if isinstance(runs, str | Path):
        return read_folder(Path(runs)), dataset
    frame = getattr(runs, "runs", None)
    if isinstance(frame, pd.DataFrame) and hasattr(runs, "gold"):
        _refuse_empty(frame, _without_runs(runs))
        return frame, dataset if dataset is not None else runs
    raise InputError(
        f"runs is a {type(runs).__name__}; expected a DataFrame with columns run, document and "
        "predicted, a folder laid out as run/document.json, or a dataset with runs"
    )


def _refuse_empty(frame: pd.DataFrame, problem: str) -> None:
    if not len(frame):
        raise InputError(f"{problem}; expected one row a run and document")


def _without_runs(dataset: Any) -> str:
    name, root = getattr(dataset, "name", type(dataset).__name__), getattr(dataset, "root", None)
    where = "" if root is None else f" in {str(root)!r}"
    return (
        f"dataset {name!r} has no runs: nothing laid out as runs/run/document.json{where}; pass "
        "runs as a frame or folder, and this as dataset="
    )


def _check_columns(frame: pd.DataFrame, dataset: Documents | None) -> None:
    names: list[Any] = list(frame.columns)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise InputError(f"runs has a column named {strange[0]!r}; expected texts as names")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"runs has two columns named {twice[0]!r}; rename one")
    needed = NEEDED if dataset is not None else (*NEEDED, "schema", "gold")
    absent = [name for name in needed if name not in names]
    if absent:
        more = "" if dataset is not None else "; or pass dataset= for schema and gold"
        raise InputError(f"runs has no column {', '.join(map(repr, absent))}{more}")
    taken = [name for name in SUMMARIES.names if name in names and name not in _ALLOWED]
    if taken:
        raise InputError(
            f"runs has a column {taken[0]!r}, which the summary has too; rename or drop it"
        )


def _check_unique(cells: tuple[Cell, ...]) -> None:
    counts = Counter((cell.run, cell.document) for cell in cells)
    twice = [pair for pair, count in counts.items() if count > 1]
    if twice:
        shown = "; ".join(f"run {run!r}, document {doc!r}" for run, doc in twice[:_SHOWN])
        more = f" and {len(twice) - _SHOWN} more" if len(twice) > _SHOWN else ""
        raise InputError(f"runs has more than one row for {shown}{more}; expected one each")


def _known_documents(dataset: Documents | None) -> dict[str, _Known]:
    if dataset is None:
        return {}
    # a dataset may count PDFs for its documents; its listing is at hand
    frame: Any = getattr(dataset, "listing", None)
    if not isinstance(frame, pd.DataFrame):
        frame = getattr(dataset, "documents", None)
    if not isinstance(frame, pd.DataFrame) or not {"document", "schema"} <= set(frame.columns):
        raise InputError(
            f"dataset is a {type(dataset).__name__}; expected .documents with columns document, "
            "domain and schema, .schema(id) and .gold(id), as load_dataset gives"
        )
    lazily = [FromDataset()] * len(frame)
    domains = frame["domain"].tolist() if "domain" in frame.columns else [None] * len(frame)
    golds = frame["gold_path"].tolist() if "gold_path" in frame.columns else lazily
    return {
        document: _Known(None if is_missing(domain) else domain, schema, gold)
        for document, domain, schema, gold in zip(
            frame["document"].tolist(), domains, frame["schema"].tolist(), golds, strict=True
        )
    }


def _name(value: Any, what: str, where: str) -> str:
    """Return a name as text; a seed or another integer may be one."""
    if type(value) is not bool and isinstance(value, Integral):
        return str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: {what} is {value!r}; expected a text or an integer")
    return value


class _Library:
    """Finds schema, gold and domain of each row: in the row itself, else in the dataset."""

    def __init__(self, frame: pd.DataFrame, dataset: Documents | None, shelf: SchemaShelf) -> None:
        self.frame = frame
        self.dataset = dataset
        self.shelf = shelf
        self.known = _known_documents(dataset)
        self.names = {known.schema for known in self.known.values()}

    def cells(self) -> Iterator[Cell]:
        """Yield one cell a row."""
        absent = [None] * len(self.frame)
        names = (*NEEDED, "domain", "schema", "gold")
        columns = [
            self.frame[name].tolist() if name in self.frame.columns else absent for name in names
        ]
        for place, row in enumerate(zip(*columns, strict=True)):
            yield self._cell(f"row {place}", *row)

    def _cell(self, where: str, run: Any, document: Any, predicted: Any, *own: Any) -> Cell:
        domain, schema, gold = own
        run, document = _name(run, "run", where), _name(document, "document", where)
        where = f"{where} (run {run!r}, document {document!r})"
        known = self.known.get(document)
        if known is None and (is_missing(schema) or is_missing(gold)):
            raise InputError(f"{where}: {self._unknown(document)}")
        label, key = self._schema(schema, known, where)
        return Cell(
            run,
            document,
            self._domain(domain, known, where),
            label,
            key,
            self._gold(gold, known, where),
            self._predicted(predicted, where),
        )

    def _unknown(self, document: str) -> str:
        if self.dataset is None:
            return "schema or gold is missing; fill both cells or pass dataset="
        return f"the dataset has no document {document!r}; {nearest(document, self.known)}"

    def _schema(self, schema: Any, known: _Known | None, where: str) -> tuple[str, str]:
        if is_missing(schema):
            assert known is not None  # noqa: S101 - refused before
            schema = known.schema
        if self.dataset is not None and isinstance(schema, str) and schema in self.names:
            return self.shelf.named(schema, self.dataset.schema)
        return self.shelf.given(schema, where)

    def _domain(self, domain: Any, known: _Known | None, where: str) -> str | None:
        if is_missing(domain):
            return known.domain if known is not None else None
        if not isinstance(domain, str):
            raise InputError(f"{where}: domain is {domain!r}; expected a text")
        return domain

    def _gold(self, gold: Any, known: _Known | None, where: str) -> Any:
        if is_missing(gold):
            assert known is not None  # noqa: S101 - refused before
            return known.gold
        return self._source(gold, "gold", where)

    def _predicted(self, predicted: Any, where: str) -> Any:
        if is_missing(predicted):
            return ABSENT
        return self._source(predicted, "predicted", where)

    @staticmethod
    def _source(value: Any, name: str, where: str) -> Any:
        if isinstance(value, Path):
            check_readable(value, f"{where}, {name}")
        elif isinstance(value, bytes | bytearray):
            raise InputError(
                f"{where}: {name} is {type(value).__name__}; expected a value, JSON text or a Path"
            )
        return value
