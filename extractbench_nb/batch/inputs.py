"""The inputs of a batch, read into cells: one cell per run and document."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd
from pandas.api import types

from extractbench_nb._files import reading
from extractbench_nb._frames import Column
from extractbench_nb._json import read_document
from extractbench_nb.batch.rows import (
    SUMMARIES,
    Result,
    is_time,
    time_cells,
    time_dtype,
    value_to_text,
)
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import InputError, SchemaError, nearest
from extractbench_nb.evaluation.api import read_predicted, read_schema
from extractbench_nb.schema.nodes import Schema

__all__ = [
    "ABSENT",
    "Cell",
    "Documents",
    "Fingerprints",
    "Output",
    "Plan",
    "evaluated_source",
    "own_columns",
    "read_bytes",
    "read_output",
    "read_runs",
]


def _extra_columns(
    frame: pd.DataFrame, names: list[str]
) -> tuple[tuple[Column, ...], tuple[tuple[Any, ...], ...]]:
    """Return the declarations and the rows of extra columns, as types that every format keeps."""
    dtypes, cells = [], []
    for name in names:
        dtype = _dtype(frame[name])
        dtypes.append((name, dtype))
        if is_time(dtype):
            cells.append(time_cells(frame[name], dtype))
        else:
            cells.append([_cell(value, dtype) for value in frame[name].tolist()])
    rows = zip(*cells, strict=True) if cells else (() for _ in range(len(frame)))
    return own_columns(dtypes), tuple(rows)


def own_columns(pairs: Iterable[Sequence[str]]) -> tuple[Column, ...]:
    """Declare the user's own columns from pairs of name and dtype."""
    return tuple(
        Column(name, dtype, "column of the user's", nullable=True) for name, dtype in pairs
    )


def _dtype(series: pd.Series) -> str:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _dtype(series.dtype.categories.to_series())
    kinds = {
        "boolean": types.is_bool_dtype,
        "Int64": types.is_integer_dtype,
        "Float64": types.is_float_dtype,
    }
    numbers = (name for name, is_kind in kinds.items() if is_kind(series.dtype))
    known = time_dtype(series.dtype) or next(numbers, None)
    if known is not None:
        return known
    values = [value for value in series.tolist() if not _is_missing(value)]
    if all(isinstance(value, str) for value in values):
        return "string"
    return "object" if types.is_object_dtype(series.dtype) else "string"


def _cell(value: Any, dtype: str) -> Any:
    if _is_missing(value):
        return None
    if dtype == "object":
        text = value_to_text(value)
        return None if text is None else json.loads(text)
    return str(value) if dtype == "string" else value


def _is_missing(value: Any) -> bool:
    """Say whether a cell holds nothing: None, NA, NaT or NaN."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN


SUFFIX = ".json"
_LAYOUT = "expected the layout run/document.json"


def _read_folder(folder: Path) -> pd.DataFrame:
    """List the outputs of a folder, ordered by run and document."""
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise InputError(f"runs: found {found} at {str(folder)!r}; expected a folder of runs")
    rows: list[tuple[str, str, Path]] = []
    for run in _visible(folder):
        if run.is_dir():
            rows.extend((run.name, path.name.removesuffix(SUFFIX), path) for path in _outputs(run))
        elif run.name.endswith(SUFFIX):
            raise InputError(f"{str(run)!r} is not in the folder of a run; {_LAYOUT}")
    if not rows:
        raise InputError(f"runs: no folder of a run in {str(folder)!r}; {_LAYOUT}")
    names = ("run", "document", "predicted")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns})


def _outputs(run: Path) -> list[Path]:
    outputs = _visible(run)
    for path in outputs:
        if not path.name.endswith(SUFFIX):
            found = "a folder" if path.is_dir() else "a file without .json"
            raise InputError(f"{str(path)!r} is {found}; {_LAYOUT}")
    if not outputs:
        raise InputError(
            f"no outputs in the folder {str(run)!r} of run {run.name!r}; {_LAYOUT}; remove the "
            "folder where the run has none"
        )
    return outputs


def _visible(folder: Path) -> list[Path]:
    with reading(f"runs folder {str(folder)!r}"):
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    return sorted(entries, key=lambda entry: entry.name)


def _check_readable(path: Path, where: str) -> None:
    """Raise `InputError` where a file cannot be opened, before any work is done."""
    with reading(f"{where}: file {str(path)!r}"), path.open("rb"):
        pass


_PLACE = re.compile(r" at line (\d+) column (\d+)")


class Absent:
    """The type of `ABSENT`: a run has no output for the document."""

    def __reduce__(self) -> str:
        """Stay the one instance when unpickled."""
        return "ABSENT"


ABSENT = Absent()


class Output(NamedTuple):
    """What can be evaluated; where `message` is there, it cannot, and that is why."""

    source: Any
    message: str | None = None
    line: int | None = None
    column: int | None = None


def read_output(source: Any) -> Output:
    """Read an output; one that is not JSON is not an error."""
    if source is ABSENT:
        return Output(None, "there is no output")
    if isinstance(source, Path):
        return _from_bytes(read_bytes(source))
    return _from_text(source) if isinstance(source, str) else Output(source)


def evaluated_source(output: Output, gold: Any) -> Any:
    """Return what is evaluated: an empty prediction where the output is invalid."""
    if output.message is None:
        return output.source
    return {} if isinstance(read_document(gold, "gold"), dict) else None


def read_bytes(path: Path) -> bytes:
    """Read the file of an output, or raise `InputError`."""
    with reading(f"predicted file {str(path)!r}"):
        return path.read_bytes()


def _from_bytes(content: bytes) -> Output:
    try:
        return _from_text(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"not UTF-8: {error.reason} at line {line} column {column}"
        return Output(None, message, line, column)


def _from_text(text: str) -> Output:
    if not text.strip():
        return Output(None, "the output is empty")
    value, problem = read_predicted(text)
    if problem is not None:
        place = _PLACE.search(problem)
        line, column = map(int, place.groups()) if place else (None, None)
        return Output(None, problem, line, column)
    return Output(text if isinstance(value, str) else value)


NEEDED = ("run", "document", "predicted")
_SHOWN = 3
_ALLOWED = ("run", "document", "domain", "schema")


class Documents(Protocol):
    """What a batch needs of a dataset; `xb.load_dataset` gives one."""

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

    def result(self, place: int, summary: tuple[Any, ...], parts: Mapping[str, bytes]) -> Result:
        """Put the rows of a finished output beside what is known of its cell."""
        cell = self.cells[place]
        ids = (cell.run, cell.document, cell.domain, cell.schema)
        return Result(ids, self.extra_rows[place], summary, parts)


def read_runs(runs: Any, dataset: Documents | None, profile: Profile) -> Plan:
    """Read what the user handed over, and check all of it before any work is done."""
    frame, dataset = _as_frame(runs, dataset)
    _check_columns(frame, dataset)
    library = _Library(dataset, profile)
    cells = tuple(library.cells(frame))
    counts = Counter((cell.run, cell.document) for cell in cells)
    twice = [pair for pair, count in counts.items() if count > 1]
    if twice:
        shown = "; ".join(f"run {run!r}, document {doc!r}" for run, doc in twice[:_SHOWN])
        more = f" and {len(twice) - _SHOWN} more" if len(twice) > _SHOWN else ""
        raise InputError(f"runs has more than one row for {shown}{more}; expected one each")
    own = [n for n in frame.columns if n not in (*NEEDED, "domain", "schema", "gold")]
    return Plan(cells, library.schemas, *_extra_columns(frame, own), dataset)


def _as_frame(runs: Any, dataset: Documents | None) -> tuple[pd.DataFrame, Documents | None]:
    if isinstance(runs, str | Path):
        return _read_folder(Path(runs)), dataset
    frame, problem = runs, "runs is an empty DataFrame"
    if not isinstance(runs, pd.DataFrame):
        frame = getattr(runs, "runs", None)
        if not isinstance(frame, pd.DataFrame) or not hasattr(runs, "gold"):
            raise InputError(
                f"runs is a {type(runs).__name__}; expected a DataFrame with columns run, document "
                "and predicted, a folder laid out as run/document.json, or a dataset with runs"
            )
        name, root = getattr(runs, "name", type(runs).__name__), getattr(runs, "root", None)
        where = "" if root is None else f" in {str(root)!r}"
        problem = (
            f"dataset {name!r} has no runs: nothing laid out as runs/run/document.json{where}; "
            "pass runs as a frame or folder, and this as dataset="
        )
        dataset = dataset if dataset is not None else runs
    if not len(frame):
        raise InputError(f"{problem}; expected one row per run and document")
    return frame, dataset


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
        document: _Known(None if _is_missing(domain) else domain, schema, gold)
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
    """Makes cells: schema, gold and domain of a row are in the row itself, else in the dataset.

    ``schemas`` has the parsed schemas by a key that tells their content.
    """

    def __init__(self, dataset: Documents | None, profile: Profile) -> None:
        self.dataset, self.profile = dataset, profile
        self.known = _known_documents(dataset)
        self.names = {known.schema for known in self.known.values()}
        self.schemas: dict[str, Schema] = {}
        self._found: dict[Any, tuple[str, str]] = {}
        self._keep: list[Any] = []

    def cells(self, frame: pd.DataFrame) -> Iterator[Cell]:
        """Yield one cell per row."""
        absent = [None] * len(frame)
        names = (*NEEDED, "domain", "schema", "gold")
        columns = [frame[name].tolist() if name in frame.columns else absent for name in names]
        for number, row in enumerate(zip(*columns, strict=True)):
            yield self._cell(f"row {number}", *row)

    def _schema(self, source: Any, where: str) -> tuple[str, str]:
        """Return label and key of a schema, which is parsed once."""
        dataset = self.dataset
        named = dataset is not None and isinstance(source, str) and source in self.names
        same = source if isinstance(source, str | Path) else id(source)
        if (named, type(source), same) not in self._found:
            self._keep.append(source)  # ids stay unique meanwhile
            what = f"schema {source!r}" if named else f"schema of {where}"
            content = dataset.schema(source) if named and dataset is not None else source
            try:
                if not isinstance(content, Schema):
                    content = read_document(content, what)
                schema = read_schema(content, self.profile)
            except SchemaError as error:
                raise type(error)(error.pointer, f"{error.problem} ({what})") from None
            text = json.dumps(dict(schema.document), default=str)
            key = hashlib.sha256(text.encode()).hexdigest()
            self.schemas.setdefault(key, schema)
            title = schema.document.get("title")
            label = title if isinstance(title, str) and title else key[:8]
            if isinstance(source, Path):
                label = source.name.removesuffix(".json").removesuffix("-schema")
            self._found[named, type(source), same] = (source if named else label), key
        return self._found[named, type(source), same]

    def _cell(self, where: str, run: Any, document: Any, predicted: Any, *own: Any) -> Cell:
        domain, schema, gold = own
        run, document = _name(run, "run", where), _name(document, "document", where)
        where = f"{where} (run {run!r}, document {document!r})"
        known = self.known.get(document)
        if known is not None:
            domain = known.domain if _is_missing(domain) else domain
            schema = known.schema if _is_missing(schema) else schema
        elif _is_missing(schema) or _is_missing(gold):
            problem = "schema or gold is missing; fill both cells or pass dataset="
            if self.dataset is not None:
                known_ones = nearest(document, self.known)
                problem = f"the dataset has no document {document!r}; {known_ones}"
            raise InputError(f"{where}: {problem}")
        domain = None if _is_missing(domain) else domain
        if domain is not None and not isinstance(domain, str):
            raise InputError(f"{where}: domain is {domain!r}; expected a text")
        label, key = self._schema(schema, where)
        if known is not None and _is_missing(gold):
            gold = known.gold
        else:
            gold = self._source(gold, "gold", where)
        absent = _is_missing(predicted)
        predicted = ABSENT if absent else self._source(predicted, "predicted", where)
        return Cell(run, document, domain, label, key, gold, predicted)

    @staticmethod
    def _source(value: Any, name: str, where: str) -> Any:
        if isinstance(value, Path):
            _check_readable(value, f"{where}, {name}")
        elif isinstance(value, bytes | bytearray):
            raise InputError(
                f"{where}: {name} is {type(value).__name__}; expected a value, JSON text or a Path"
            )
        return value


class Fingerprints:
    """Computes the fingerprints of a plan's cells; a file of gold is read once.

    Parameters
    ----------
    plan : Plan
        The batch.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._golds: dict[Any, bytes] = {}

    def of(self, cell: Cell) -> bytes:
        """Return the fingerprint of a cell's schema, gold and prediction, by their content."""
        predicted = _digest(cell.predicted)
        return hashlib.sha256(cell.schema_key.encode() + self._gold(cell) + predicted).digest()

    def _gold(self, cell: Cell) -> bytes:
        if not isinstance(cell.gold, Path):
            return _digest(self._plan.gold(cell))
        if cell.gold not in self._golds:
            self._golds[cell.gold] = _digest(cell.gold)
        return self._golds[cell.gold]


def _digest(source: Any) -> bytes:
    if source is ABSENT:
        return hashlib.sha256(b"absent").digest()
    if isinstance(source, Path):
        with reading(f"file {str(source)!r}"):
            return hashlib.sha256(b"text" + source.read_bytes()).digest()
    if isinstance(source, str):
        return hashlib.sha256(b"text" + source.encode("utf-8", "surrogatepass")).digest()
    text = value_to_text(source) or "null"
    return hashlib.sha256(b"value" + text.encode("utf-8", "surrogatepass")).digest()
