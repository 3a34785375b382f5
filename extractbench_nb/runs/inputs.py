"""The inputs of a batch, read into cells: one cell per run and document."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from numbers import Integral
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
from pandas.api import types

from extractbench_nb.core import Accepted, Evaluation, read_predicted
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.schema import Schema, parse_schema
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
        Column("message", "string", "the parser's message about an invalid output", "", True),
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
    accepted: Mapping[str, Accepted]

    @property
    def rows(self) -> Iterator[tuple[Cell, tuple[Any, ...]]]:
        """The cells in order, each with the user's own columns."""
        return zip(self.cells, self.extra_rows, strict=True)

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
    """Leave out the keywords that only explain; a property of such a name contains a schema."""
    if isinstance(part, list | tuple):
        return [_without_notes(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    return {
        key: _without_notes(value)
        for key, value in part.items()
        if key not in _NOTES or isinstance(value, Mapping | bool)
    }


# --- runs of any kind as a frame ----------------------------------------------------------------

_SUFFIX, _RECORDED = ".json", ".pred.json"
_NEEDED = ("run", "document", "predicted")
#: What is kept of the outputs of `extract`.
_OF_ANSWERS = ("run", "document", "domain", "cost_usd", "latency_seconds", "predicted")
_KNOWN = (*_NEEDED, "domain", "schema", "gold")
_SHOWN = 3


def frame_of_runs(runs: Any, text: str | None = None, what: str = "runs") -> pd.DataFrame:
    """Return runs of any kind, or a list of them, as one frame; `text` names the outputs."""
    frames = []
    for source in runs if isinstance(runs, list | tuple) and runs else [runs]:
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
    stacked = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    if what == "runs" and not len(stacked):
        problem = "runs is an empty DataFrame"
        if hasattr(runs, "gold") and not isinstance(as_pandas(runs), pd.DataFrame):
            problem = f"dataset {getattr(runs, 'name', '')!r} has no runs in runs/run/document.json"
        elif "raw_characters" in stacked:  # of `extract`
            problem = "the run has no outputs"
        raise InputError(f"{problem}; expected one row per run and document")
    return stacked


def _read_folder(folder: Path) -> pd.DataFrame:
    """List the outputs of a folder of runs, or of one run."""
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing"
        raise InputError(f"runs: found {what} at {str(folder)!r}; expected a folder of runs")
    with reading(f"runs folder {str(folder)!r}"):
        runs = {run: _outputs_in(run) for run in list_folders(folder)}
        own = _outputs_in(folder)
    if own and (not runs or own[0].name.endswith(_RECORDED)):
        runs, own = {folder.resolve(): own}, []
    empty = [run for run, paths in runs.items() if not paths]
    if own or empty or not runs:
        problem = f"no outputs in {str([*empty, folder][0])!r}"
        problem = f"{str(own[0])!r} is beside the folders of runs" if own else problem
        layout = "expected the layout run/document.json, and no folder without outputs"
        raise InputError(f"runs: {problem}; {layout}")
    rows = [
        (run.name, path.name.removesuffix(_SUFFIX).removesuffix(".pred"), path)
        for run, paths in runs.items()
        for path in paths
    ]
    return pd.DataFrame(rows, columns=list(_NEEDED), dtype=object)


def _outputs_in(run: Path) -> list[Path]:
    """List the JSON in a folder; beside recorded outputs are reports of judges."""
    paths = [path for path in visible_entries(run) if path.name.endswith(_SUFFIX)]
    return [path for path in paths if path.name.endswith(_RECORDED)] or paths


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
        The folder contains no such output, or two for the same run and document.

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


# --- the plan of a batch --------------------------------------------------------------------------


def read_runs(
    runs: Any,
    dataset: Documents | None,
    schema: Any = None,
    metrics: Mapping[str, Any] | None = None,
    accepted: Any = None,
    gold: Any = None,
) -> Plan:
    """Read the user's runs, and check all of them before any work is done."""
    frame = frame_of_runs(runs, "predicted")
    if dataset is None and hasattr(runs, "gold"):
        dataset = None if isinstance(as_pandas(runs), pd.DataFrame) else runs
    if "raw_characters" in frame:  # of `extract`
        frame = frame[[name for name in _OF_ANSWERS if name in frame]]
    options = {"schema": schema, "gold": gold}
    _check_columns(frame, dataset, {name for name, value in options.items() if value is not None})
    schemas, known = _Schemas(dataset), _known_documents(dataset)
    cells = tuple(_cells(frame, known, schemas, schema, _golds(gold)))
    counts = Counter((cell.run, cell.document) for cell in cells)
    twice = [pair for pair, count in counts.items() if count > 1]
    if twice:
        shown = "; ".join(f"run {run!r}, document {doc!r}" for run, doc in twice[:_SHOWN])
        more = f" and {len(twice) - _SHOWN} more" if len(twice) > _SHOWN else ""
        raise InputError(f"runs has more than one row for {shown}{more}; expected one each")
    parsed = {cell.schema_key: schemas.parsed[cell.schema_key] for cell in cells}
    if metrics is not None:
        cells, parsed = _with_metrics(cells, parsed, metrics)
    extras = _extra_columns(frame[[name for name in frame.columns if name not in _KNOWN]])
    documents = {*known, *(cell.document for cell in cells)}
    return Plan(cells, parsed, *extras, dataset, Accepted.read(accepted).by_document(documents))


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
        more = f"; pass {' and '.join(options)}, or dataset=" if options else ""
        shown = fitted(", ".join(map(repr, names)), 200)
        raise InputError(f"runs has no column {', '.join(map(repr, absent))}{more}; found {shown}")
    taken = [name for name in SUMMARIES.names[len(IDS) :] if name in names]
    if taken:
        raise InputError(
            f"runs has a column {taken[0]!r}, which the summary has too; rename or drop it"
        )


def _golds(gold: Any) -> Mapping[str, Any]:
    """Return gold by document, from a dict or the files of a folder."""
    if gold is None or isinstance(gold, Mapping):
        return gold or {}
    if not isinstance(gold, str | Path):
        kind = type(gold).__name__
        raise InputError(f"gold is {kind}; expected a folder, or a dict from document to gold")
    if not Path(gold).is_dir():
        raise InputError(f"gold: no folder {str(gold)!r}")
    files = list_files(Path(gold), _SUFFIX)
    golds = {path.name.removesuffix(_SUFFIX).removesuffix(".gold"): path for path in files}
    if not golds:
        raise InputError(f"gold: no document.json or document.gold.json in folder {str(gold)!r}")
    return golds


#: Domain, schema and gold (a path, or None) of the documents of a dataset.
_Known: TypeAlias = Mapping[str, tuple[str | None, str, Any]]


def _known_documents(dataset: Documents | None) -> _Known:
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
    columns = ("document", "domain", "schema", "gold_path")
    return {
        document: (None if is_missing(domain) else domain, schema, gold)
        for document, domain, schema, gold in _rows(frame, *columns)
    }


def _rows(frame: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    absent = [None] * len(frame)
    columns = (frame[name].tolist() if name in frame.columns else absent for name in names)
    return zip(*columns, strict=True)


def _cells(
    frame: pd.DataFrame, known: _Known, schemas: _Schemas, one: Any, golds: Mapping[str, Any]
) -> Iterator[Cell]:
    """Read the rows: a schema that is given, the row's own cells, `golds`, then the dataset."""
    if isinstance(one, str) and one.endswith(_SUFFIX):
        one = Path(one)
    for number, row in enumerate(_rows(frame, *_KNOWN)):
        where = f"row {number}"
        run, document = _name(row[0], "run", where), _name(row[1], "document", where)
        predicted, domain, schema, gold = (None if is_missing(cell) else cell for cell in row[2:])
        where = f"{where} (run {run!r}, document {document!r})"
        of_dataset = known.get(document, (None, None, None))
        domain = of_dataset[0] if domain is None else domain
        schema = of_dataset[1] if schema is None else schema
        schema = schema if one is None else one
        gold = golds.get(document) if gold is None else gold
        if schema is None or (gold is None and document not in known):
            problem = "schema or gold is missing; fill both cells or pass dataset="
            if golds and gold is None:
                problem = f"gold has no document {document!r}; {nearest(document, golds)}"
            elif known:
                problem = f"the dataset has no document {document!r}; {nearest(document, known)}"
            raise InputError(f"{where}: {problem}")
        if domain is not None and not isinstance(domain, str):
            raise InputError(f"{where}: domain is {domain!r}; expected a text")
        gold = of_dataset[2] if gold is None else _source(gold, "gold", where)
        predicted = None if predicted is None else _source(predicted, "predicted", where)
        yield Cell(run, document, domain, *schemas.read(schema, where), gold, predicted)


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


# --- schemas --------------------------------------------------------------------------------------


class _Schemas:
    """The schemas of a batch, each parsed once; ``parsed`` has them by a hash of their content."""

    def __init__(self, dataset: Documents | None) -> None:
        self._dataset = dataset
        self._ids = {schema for _, schema, _ in _known_documents(dataset).values()}
        self._read: dict[Any, tuple[str, str]] = {}
        self._keys: dict[str | None, str] = {}  # by JSON: each row of a file may have a copy
        self._sources: list[Any] = []  # keeps the ids of objects unique
        self.parsed: dict[str, Schema] = {}

    def read(self, source: Any, where: str) -> tuple[str, str]:
        """Return the label and the key of a schema."""
        identity = source if isinstance(source, str | Path) else id(source)
        if identity not in self._read:
            self._sources.append(source)
            self._read[identity] = self._label_and_key(source, where)
        return self._read[identity]

    def _label_and_key(self, source: Any, where: str) -> tuple[str, str]:
        if isinstance(source, str) and source in self._ids and self._dataset is not None:
            return source, self._key(self._dataset.schema(source), f"schema {source!r}")
        if isinstance(source, Path):
            label = source.name.removesuffix(_SUFFIX).removesuffix("-schema")
            content = read_document(source, "schema")
            return label, self._key(content, f"schema file {str(source)!r}")
        what = f"schema of {where}"
        key = self._key(read_document(source, what), what)
        title = self.parsed[key].document.get("title")
        return title if isinstance(title, str) and title else key[:8], key

    def _key(self, content: Any, what: str) -> str:
        text = None
        with suppress(TypeError, ValueError, RecursionError):  # a parsed one, or parsing says why
            text = json.dumps(content)
        if text in self._keys:
            return self._keys[text]
        try:
            schema = parse_schema(content)
        except SchemaError as error:
            raise type(error)(error.pointer, f"{error.problem} ({what})") from None
        key = _key_of(schema)
        self.parsed.setdefault(key, schema)
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
    if unmet := [name for name in metrics if name not in met]:
        known = {node.field or "$" for schema in schemas.values() for node in schema.nodes()}
        hint = nearest(unmet[0], known)
        raise InputError(f"metrics: no schema has the field {unmet[0]!r}; {hint}")
    keys = {key: _key_of(schema) for key, schema in changed.items()}
    moved = tuple(cell._replace(schema_key=keys[cell.schema_key]) for cell in cells)
    return moved, {keys[key]: schema for key, schema in changed.items()}


# --- values as text, and the user's own columns ---------------------------------------------------

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


def own_columns(pairs: Iterable[Sequence[str]]) -> tuple[Column, ...]:
    """Declare the user's own columns from pairs of name and dtype."""
    return tuple(
        Column(name, dtype, "the user's own column", nullable=True) for name, dtype in pairs
    )


#: The dtypes of own columns; all others are texts.
_DTYPES = {
    **dict.fromkeys(("integer", "integer-na"), "Int64"),
    **dict.fromkeys(("floating", "mixed-integer-float"), "Float64"),
    **dict.fromkeys(("mixed", "mixed-integer"), "object"),
    "boolean": "boolean",
}


def _extra_columns(frame: pd.DataFrame) -> tuple[tuple[Column, ...], tuple[tuple[Any, ...], ...]]:
    """Return the declarations and the rows of extra columns, as types that every format keeps."""
    dtypes, columns = {}, []
    for name, series in frame.items():
        values: Any = series
        if isinstance(series.dtype, pd.CategoricalDtype):
            values = series.dtype.categories
        dtypes[str(name)] = dtype = _DTYPES.get(types.infer_dtype(values, skipna=True), "string")
        cells = [None if is_missing(cell) else cell for cell in series.tolist()]
        if dtype == "object":
            cells = [json.loads(value_to_text(cell) or "null") for cell in cells]
        elif dtype == "string":
            cells = [None if cell is None else str(cell) for cell in cells]
        columns.append(cells)
    rows = zip(*columns, strict=True) if columns else iter([()] * len(frame))
    return own_columns(dtypes.items()), tuple(rows)


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
