"""The inputs of a batch, read into cells: one cell per run and document."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from numbers import Integral
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas.api import types

from extractbench_nb.core import Accepted, Evaluation, read_predicted
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.schema import Schema, is_schema, parse_schema
from extractbench_nb.core.values import (
    canonical,
    plain_levels,
    private_copy,
    read_document,
)
from extractbench_nb.errors import ConfigError, InputError, SchemaError, nearest
from extractbench_nb.runs.dataset import (
    RUN_COLUMNS,
    Documents,
    list_files,
    list_folders,
    visible_entries,
)
from extractbench_nb.support.files import reading
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import document_json, fitted

# --- columns and cells --------------------------------------------------------------------------

#: The columns that identify an output.
IDS = (
    Column("run", "string", "name of the run, usually a model's name"),
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, if known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash"),
)
SUMMARY = Evaluation.spec("summary")
SUMMARIES = FrameSpec(
    "summary",
    "one row per run and document",
    (
        *IDS,
        Column("valid", "bool", "whether the output is JSON, so that it could be evaluated"),
        Column("message", "string", "why an output is invalid, in the parser's words", "", True),
        Column("line", "Int64", "line at which parsing failed", "1 and up", True),
        Column("column", "Int64", "character in that line", "1 and up", True),
        *SUMMARY.columns,
    ),
)
#: Run, document, domain and schema.
Ids = tuple[str, str, str | None, str]


class Cell(NamedTuple):
    """One output. A gold of None is read from the dataset; a predicted of None is absent."""

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

    @property
    def ids(self) -> Ids:
        """The cells of the columns that lead every frame."""
        return self.run, self.document, self.domain, self.schema


@dataclass(frozen=True)
class Plan:
    """What a batch evaluates: its cells in order, the schemas by key, the user's own columns.

    ``accepted`` are the accepted alternatives by document.
    """

    cells: tuple[Cell, ...]
    schemas: Mapping[str, Schema]
    extras: tuple[Column, ...]
    extra_rows: tuple[tuple[Any, ...], ...]
    dataset: Documents | None
    accepted: Mapping[str, Accepted] = field(default_factory=dict)

    def gold(self, cell: Cell) -> Any:
        """Return a cell's gold in a form that `evaluate` takes."""
        if cell.gold is not None:
            return cell.gold
        assert self.dataset is not None  # noqa: S101 - such cells are made from a dataset only
        value = self.dataset.gold(cell.document)
        return json.dumps(value) if isinstance(value, str) else value


def schema_digests(plan: Plan) -> dict[str, list[str]]:
    """Return the digests of the schemas of each label."""
    digests = {key: scoring_digest(schema.document) for key, schema in plan.schemas.items()}
    pairs = sorted({(cell.schema, digests[cell.schema_key]) for cell in plan.cells})
    return {label: [digest for _, digest in same] for label, same in groupby(pairs, itemgetter(0))}


def accepted_digests(plan: Plan) -> dict[str, str]:
    """Return a digest of the accepted alternatives of each evaluated document that has some."""
    documents = {cell.document for cell in plan.cells}
    return {
        document: content_digest(sorted(canonical([row.path, row.value]) for row in rows))
        for document, rows in sorted(plan.accepted.items())
        if document in documents
    }


def scoring_digest(schema: Any) -> str:
    """Hash a schema; titles, descriptions and the order of keys leave no trace."""
    return content_digest(_without_notes(schema))


def content_digest(value: Any) -> str:
    """Hash a JSON value; the order of keys leaves no trace."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


_NOTES = ("title", "description", "$comment", "examples")


def _without_notes(part: Any) -> Any:
    """Leave out the keywords that only explain; a property of such a name holds a schema."""
    if isinstance(part, list | tuple):
        return [_without_notes(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    return {
        key: _without_notes(value)
        for key, value in part.items()
        if key not in _NOTES or isinstance(value, Mapping | bool)
    }


# --- runs ---------------------------------------------------------------------------------------

_SUFFIX, _RECORDED = ".json", ".pred.json"
_LAYOUT = "expected the layout run/document.json, and no folder without outputs"
_NEEDED = ("run", "document", "predicted")
#: What is kept of the outputs of `extract`.
_OF_ANSWERS = ("run", "document", "domain", "cost_usd", "latency_seconds", "predicted")
_KNOWN = (*_NEEDED, "domain", "schema", "gold")
_SHOWN = 3
#: Columns of the summary that may be columns of the runs too.
_ALLOWED = ("run", "document", "domain", "schema")


def read_runs(
    runs: Any,
    dataset: Documents | None,
    schema: Any = None,
    metrics: Mapping[str, Any] | None = None,
    accepted: Any = None,
    gold: Any = None,
) -> Plan:
    """Read the user's runs, and check all of them before any work is done."""
    frame, dataset = _as_frame(runs, dataset, "predicted")
    if "raw_characters" in frame:  # of `extract`
        frame = frame[[name for name in _OF_ANSWERS if name in frame]]
    reader = _CellReader(dataset, schema, _golds(gold))
    options = {"schema": reader.one, "gold": gold}
    _check_columns(frame, dataset, {name for name, value in options.items() if value is not None})
    absent = [None] * len(frame)
    columns = [frame[name].tolist() if name in frame.columns else absent for name in _KNOWN]
    rows = enumerate(zip(*columns, strict=True))
    cells = tuple(reader.cell(f"row {number}", *row) for number, row in rows)
    counts = Counter((cell.run, cell.document) for cell in cells)
    twice = [pair for pair, count in counts.items() if count > 1]
    if twice:
        shown = "; ".join(f"run {run!r}, document {doc!r}" for run, doc in twice[:_SHOWN])
        more = f" and {len(twice) - _SHOWN} more" if len(twice) > _SHOWN else ""
        raise InputError(f"runs has more than one row for {shown}{more}; expected one each")
    reader.check_ids()
    schemas = {cell.schema_key: reader.schemas[cell.schema_key] for cell in cells}
    if metrics is not None:
        cells, schemas = _with_metrics(cells, schemas, metrics)
    extras = frame[[name for name in frame.columns if name not in _KNOWN]]
    documents = {*reader.known, *(cell.document for cell in cells)}
    alternatives = Accepted.read(accepted).by_document(documents)
    return Plan(cells, schemas, *_extra_columns(extras), dataset, alternatives)


def frame_of_runs(runs: Any) -> pd.DataFrame:
    """Return runs of any kind as a frame, without checking its columns."""
    return _as_frame(runs, None, None)[0]


def stacked_runs(runs: Any, what: str, text: str | None) -> pd.DataFrame:
    """Return runs of any kind, or a list of them, as one frame; `text` names the outputs."""
    sources = runs if isinstance(runs, list | tuple) and runs else [runs]
    frames = []
    for source in sources:
        frame = _read_folder(Path(source)) if isinstance(source, str | Path) else as_pandas(source)
        for name in ("outputs", "runs"):  # of `extract`, of a dataset
            if not isinstance(frame, pd.DataFrame):
                frame = as_pandas(getattr(source, name, None))
        if not isinstance(frame, pd.DataFrame):
            raise InputError(
                f"{what} is a {type(source).__name__}; expected a DataFrame with columns run, "
                "document and predicted, a folder laid out as run/document.json, a dataset with "
                "runs, what extract returns, or a list of them"
            )
        other = {"raw": "predicted", "predicted": "raw"}.get(text or "")
        has_other = other in frame and text not in frame
        frames.append(frame.rename(columns={other: text}) if has_other else frame)
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _as_frame(
    runs: Any, dataset: Documents | None, text: str | None
) -> tuple[pd.DataFrame, Documents | None]:
    frame, problem = stacked_runs(runs, "runs", text), "runs is an empty DataFrame"
    if "raw_characters" in frame:  # of `extract`
        problem = "the run has no outputs"
    if hasattr(runs, "gold") and not isinstance(as_pandas(runs), pd.DataFrame):
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


def _read_folder(folder: Path) -> pd.DataFrame:
    """List the outputs of a folder of runs, or of one run."""
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing"
        raise InputError(f"runs: found {what} at {str(folder)!r}; expected a folder of runs")
    with reading(f"runs folder {str(folder)!r}"):
        entries = {run: visible_entries(run) for run in list_folders(folder)}
        own = list(list_files(folder, _SUFFIX))
        if own and (not entries or any(path.name.endswith(_RECORDED) for path in own)):
            entries, own = {folder.resolve(): visible_entries(folder)}, []
    outputs = {run: _outputs_of(paths) for run, paths in entries.items()}
    misplaced = own + [p for paths in outputs.values() for p in paths if not _is_output(p)]
    empty = [run for run, paths in outputs.items() if not paths]
    if misplaced or empty or not outputs:
        problem = f"no outputs in {str([*empty, folder][0])!r}"
        if misplaced:
            problem = f"{str(misplaced[0])!r} is no output"
        raise InputError(f"runs: {problem}; {_LAYOUT}")
    rows = [
        (run.name, path.name.removesuffix(_SUFFIX).removesuffix(".pred"), path)
        for run, paths in outputs.items()
        for path in paths
    ]
    return pd.DataFrame(rows, columns=list(_NEEDED), dtype=object)


def _outputs_of(paths: list[Path]) -> list[Path]:
    """Leave out what lies beside recorded outputs, such as reports of judges."""
    return [path for path in paths if path.name.endswith(_RECORDED)] or paths


def _is_output(path: Path) -> bool:
    return path.name.endswith(_SUFFIX)


def recorded_outputs(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """List recorded outputs, laid out as ``{run}/{document}.pred.json``, for `evaluate_runs`.

    Parameters
    ----------
    folder : str or path
        A folder with runs, at any depth; files of other names are left out.

    Returns
    -------
    pandas.DataFrame
        One row per output, ordered by run and document: run, document, predicted (its path).

    Raises
    ------
    InputError
        If the folder holds no such output, or two for the same run and document.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Path(folder, "model-a")
    ...     run.mkdir()
    ...     _ = (run / "report.pred.json").write_text("{}")
    ...     recorded_outputs(folder)[["run", "document"]].values.tolist()
    [['model-a', 'report']]
    """
    paths = Path(folder).rglob(f"*{_RECORDED}")
    rows = [(path.parent.name, path.name.removesuffix(_RECORDED), path) for path in paths]
    if not rows:
        layout = f"{{run}}/{{document}}{_RECORDED}"
        raise InputError(f"{os.fspath(folder)!r}: no {layout} in this folder")
    frame = RUN_COLUMNS.from_rows(sorted(rows, key=lambda row: (*row[:2], str(row[2]))))
    repeated = frame[frame.duplicated(["run", "document"])]
    if len(repeated):
        run, document, path = repeated.iloc[0]
        raise InputError(f"{str(path)!r}: run {run!r} has two outputs for document {document!r}")
    return frame


def _golds(gold: Any) -> Mapping[str, Any]:
    """Return gold by document, from a dict or the files of a folder."""
    if gold is None or isinstance(gold, Mapping):
        return gold or {}
    if not isinstance(gold, str | Path):
        kind = type(gold).__name__
        raise InputError(f"gold is {kind}; expected a folder, or a dict from document to gold")
    folder = Path(gold)
    files = list_files(folder, _SUFFIX)
    golds = {path.name.removesuffix(_SUFFIX).removesuffix(".gold"): path for path in files}
    if not golds:
        raise InputError(f"gold: no document.json or document.gold.json in folder {str(folder)!r}")
    return golds


def _check_columns(frame: pd.DataFrame, dataset: Documents | None, given: set[str]) -> None:
    names: list[Any] = list(frame.columns)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise InputError(f"runs has a column named {strange[0]!r}; expected texts as names")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"runs has two columns named {twice[0]!r}; rename one")
    needed = [*_NEEDED] if dataset is not None else [*_NEEDED, "schema", "gold"]
    absent = [name for name in needed if name not in given.union(names)]
    if absent:
        options = [f"{name}=" for name in ("schema", "gold") if name in absent]
        more = f"; or pass {' and '.join(options)}, or dataset=" if options else ""
        shown = fitted(", ".join(map(repr, names)), 200)
        raise InputError(f"runs has no column {', '.join(map(repr, absent))}{more}; found {shown}")
    taken = [name for name in SUMMARIES.names if name in names and name not in _ALLOWED]
    if taken:
        raise InputError(
            f"runs has a column {taken[0]!r}, which the summary has too; rename or drop it"
        )


# --- cells --------------------------------------------------------------------------------------


class _CellReader:
    """Makes cells: schema, gold and domain of a row are in the row itself, else in the dataset.

    ``schemas`` has the parsed schemas by a hash of their content. `given` replaces them: ``one``
    all, ``by_id`` those of some ids. ``golds`` come before those of the dataset.
    """

    def __init__(self, dataset: Documents | None, given: Any, golds: Mapping[str, Any]) -> None:
        self.dataset, self.golds = dataset, golds
        self.known = _known_documents(dataset)
        self.schemas: dict[str, Schema] = {}
        self._schema_ids = {schema for _, schema, _ in self.known.values()}
        is_by_id = isinstance(given, Mapping) and (
            self._schema_ids.issuperset(given) or not is_schema(given)
        )
        if isinstance(given, str) and given not in self._schema_ids and given.endswith(_SUFFIX):
            given = Path(given)
        self.one: Any = None if is_by_id else given
        self.by_id: Mapping[str, Any] = given if is_by_id else {}
        if is_by_id and not given:
            raise InputError("schema is empty; expected a schema, or a dict from id to schema")
        self._labels: dict[Any, tuple[str, str]] = {}
        self._keys: dict[str | None, str] = {}
        self._sources: list[Any] = []  # keeps the ids of schemas unique

    def cell(self, where: str, run: Any, document: Any, predicted: Any, *about: Any) -> Cell:
        """Check a row; `about` is its domain, schema and gold."""
        domain, schema, gold = (None if is_missing(value) else value for value in about)
        run, document = _name(run, "run", where), _name(document, "document", where)
        where = f"{where} (run {run!r}, document {document!r})"
        of_dataset = self.known.get(document, (None, None, None))
        domain = of_dataset[0] if domain is None else domain
        schema = of_dataset[1] if schema is None else schema
        schema = self.one if self.one is not None else schema
        gold = self.golds.get(document) if gold is None else gold
        if schema is None or (gold is None and document not in self.known):
            problem = "schema or gold is missing; fill both cells or pass dataset="
            if self.golds and gold is None:
                problem = f"gold has no document {document!r}; {nearest(document, self.golds)}"
            elif self.dataset is not None:
                similar = nearest(document, self.known)
                problem = f"the dataset has no document {document!r}; {similar}"
            raise InputError(f"{where}: {problem}")
        if domain is not None and not isinstance(domain, str):
            raise InputError(f"{where}: domain is {domain!r}; expected a text")
        label, key = self._schema(schema, where)
        if label in self.by_id:
            _, key = self._schema(self.by_id[label], f"schema[{label!r}]")
        gold = of_dataset[2] if gold is None else _source(gold, "gold", where)
        predicted = None if is_missing(predicted) else _source(predicted, "predicted", where)
        return Cell(run, document, domain, label, key, gold, predicted)

    def check_ids(self) -> None:
        """Raise `InputError` if a schema replaces one that is not known."""
        known = self._schema_ids | {label for label, _ in self._labels.values()}
        for name in self.by_id:
            if name not in known:
                hint = nearest(name, known)
                raise InputError(f"schema has the key {name!r}, which is no schema's id; {hint}")

    def _schema(self, source: Any, where: str) -> tuple[str, str]:
        """Return label and key of a schema, which is parsed once."""
        is_id = isinstance(source, str) and source in self._schema_ids
        identity = (is_id, type(source), source if isinstance(source, str | Path) else id(source))
        if identity in self._labels:
            return self._labels[identity]
        self._sources.append(source)
        what = f"schema {source!r}" if is_id else f"schema of {where}"
        what = f"schema file {str(source)!r}" if isinstance(source, Path) else what
        content = self.dataset.schema(source) if is_id and self.dataset is not None else source
        key = self._key(content, what)
        title = self.schemas[key].document.get("title")
        label = title if isinstance(title, str) and title else key[:8]
        if is_id:
            label = source
        elif isinstance(source, Path):
            label = source.name.removesuffix(".json").removesuffix("-schema")
        self._labels[identity] = label, key
        return label, key

    def _key(self, content: Any, what: str) -> str:
        """Return the key of a schema; equal copies, one in each row of a file, are parsed once."""
        content, text = (
            read_document(content, "schema" if isinstance(content, Path) else what),
            None,
        )
        with suppress(TypeError, ValueError, RecursionError):  # a parsed one, or parsing says why
            text = json.dumps(content)
        if text in self._keys:
            return self._keys[text]
        try:
            schema = parse_schema(content)
        except SchemaError as error:
            raise type(error)(error.pointer, f"{error.problem} ({what})") from None
        key = _key_of(schema)
        self.schemas.setdefault(key, schema)
        if text is not None:
            self._keys[text] = key
        return key


def _key_of(schema: Schema) -> str:
    written = json.dumps(dict(schema.document), default=str)
    return hashlib.sha256(written.encode()).hexdigest()


def _with_metrics(
    cells: Sequence[Cell], schemas: Mapping[str, Schema], metrics: Mapping[str, Any]
) -> tuple[tuple[Cell, ...], dict[str, Schema]]:
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is {metrics!r}; expected a dict from field to metric")
    labels = {cell.schema_key: cell.schema for cell in cells}
    changed: dict[str, Schema] = {}
    met: set[str] = set()
    for key, schema in schemas.items():
        own = {name: metric for name, metric in metrics.items() if schema.nodes_of(name)}
        met |= own.keys()
        try:
            changed[key] = parse_schema(schema, metrics=own) if own else schema
        except ConfigError as error:
            problem = f"{error.problem} (schema {labels[key]!r})"
            raise ConfigError(error.pointer, problem) from None
    for name in metrics:
        if name not in met:
            known = {node.field or "$" for s in schemas.values() for node in s.nodes()}
            raise InputError(f"metrics: no schema has the field {name!r}; {nearest(name, known)}")
    keys = {key: _key_of(schema) for key, schema in changed.items()}
    moved = tuple(cell._replace(schema_key=keys[cell.schema_key]) for cell in cells)
    return moved, {keys[key]: schema for key, schema in changed.items()}


def _known_documents(dataset: Documents | None) -> dict[str, tuple[str | None, str, Any]]:
    """Return domain, schema and gold (a path, or None) of each document of a dataset."""
    if dataset is None:
        return {}
    # `documents` may count the pages of PDFs, `listing` does not
    frame: Any = as_pandas(getattr(dataset, "listing", None))
    if not isinstance(frame, pd.DataFrame):
        frame = as_pandas(getattr(dataset, "documents", None))
    if not isinstance(frame, pd.DataFrame) or not {"document", "schema"} <= set(frame.columns):
        raise InputError(
            f"dataset is a {type(dataset).__name__}; expected .documents with columns document, "
            "domain and schema, .schema(id) and .gold(id), as load_dataset gives"
        )
    absent = [None] * len(frame)
    names = ("document", "domain", "schema", "gold_path")
    columns = [frame[name].tolist() if name in frame.columns else absent for name in names]
    return {
        document: (None if is_missing(domain) else domain, schema, gold)
        for document, domain, schema, gold in zip(*columns, strict=True)
    }


def _name(value: Any, what: str, where: str) -> str:
    """Return a name as text; a seed or another integer may be one."""
    if type(value) is not bool and isinstance(value, Integral):
        return str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: {what} is {value!r}; expected a text or an integer")
    return value


def _source(value: Any, name: str, where: str) -> Any:
    """Return a value in a form that can be hashed, or raise `InputError` for bytes and bad files.

    Pydantic models are replaced by their values, so that a stored hash is that of the content.
    """
    if isinstance(value, Path):
        with reading(f"{where}, {name}: file {str(value)!r}", value), value.open("rb"):
            return value
    if isinstance(value, bytes | bytearray):
        raise InputError(
            f"{where}: {name} is {type(value).__name__}; expected a value, JSON text or a Path"
        )
    if not isinstance(value, str) and plain_levels([value]) is None:
        with suppress(InputError):  # evaluating it says what is wrong
            return private_copy(value)
    return value


# --- the user's own columns ----------------------------------------------------------------------


def own_columns(pairs: Iterable[Sequence[str]]) -> tuple[Column, ...]:
    """Declare the user's own columns from pairs of name and dtype."""
    return tuple(
        Column(name, dtype, "the user's own column", nullable=True) for name, dtype in pairs
    )


#: Writes values, of which none is looked at for circles: they end in a RecursionError.
_VALUES = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
#: Levels that are written of a value that is nested too deep for JSON.
_MOST_LEVELS = 100


def value_to_text(value: Any) -> str | None:
    """Write a value as JSON text."""
    if value is None:
        return None
    try:
        return _VALUES.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _VALUES.encode(document_json(value, _MOST_LEVELS))


def _extra_columns(
    frame: pd.DataFrame,
) -> tuple[tuple[Column, ...], tuple[tuple[Any, ...], ...]]:
    """Return the declarations and the rows of extra columns, as types that every format keeps."""
    dtypes = {name: _dtype(series) for name, series in frame.items()}
    cells = [_cells(frame[name], dtype) for name, dtype in dtypes.items()]
    rows = zip(*cells, strict=True) if cells else iter([()] * len(frame))
    return own_columns((str(name), dtype) for name, dtype in dtypes.items()), tuple(rows)


def _dtype(series: pd.Series[Any]) -> str:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _dtype(series.dtype.categories.to_series())
    for name, is_kind in (
        ("boolean", types.is_bool_dtype),
        ("Int64", types.is_integer_dtype),
        ("Float64", types.is_float_dtype),
    ):
        if is_kind(series.dtype):
            return name
    is_text = all(isinstance(v, str) or is_missing(v) for v in series.tolist())
    return "object" if types.is_object_dtype(series.dtype) and not is_text else "string"


def _cells(series: pd.Series[Any], dtype: str) -> Sequence[Any]:
    cells = [None if is_missing(value) else value for value in series.tolist()]
    if dtype == "object":
        texts = map(value_to_text, cells)
        return [None if text is None else json.loads(text) for text in texts]
    if dtype == "string":
        return [None if cell is None else str(cell) for cell in cells]
    return cells


# --- outputs ------------------------------------------------------------------------------------

_POSITION = re.compile(r" at line (\d+) column (\d+)")


class Output(NamedTuple):
    """The value to evaluate, or the `message` why the output cannot be evaluated."""

    source: Any
    message: str | None = None
    line: int | None = None
    column: int | None = None


def read_output(source: Any) -> Output:
    """Read an output; one that is absent or not JSON is not an error."""
    if source is None:
        return Output(None, "there is no output")
    if isinstance(source, Path):
        try:
            source = read_bytes(source).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode("utf-8")
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            message = f"not UTF-8: {error.reason} at line {line} column {column}"
            return Output(None, message, line, column)
    if not isinstance(source, str):
        return Output(source)
    if not source.strip():
        return Output(None, "the output is empty")
    value, problem = read_predicted(source)
    if problem is None:
        return Output(source if isinstance(value, str) else value)
    position = _POSITION.search(problem)
    return Output(None, problem, *(map(int, position.groups()) if position else ()))


def evaluated_source(output: Output, gold: Any) -> Any:
    """Return what is evaluated: an empty prediction where the output is invalid."""
    if output.message is None:
        return output.source
    return {} if isinstance(read_document(gold, "gold"), dict) else None


def read_bytes(path: Path) -> bytes:
    """Read the file of an output, or raise `InputError`."""
    with reading(f"predicted file {str(path)!r}", path):
        return path.read_bytes()
