"""Storage of a batch: its settings, finished outputs in memory or on disk, and its files."""

from __future__ import annotations

import hashlib
import inspect
import json
import marshal
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pandas as pd

from extractbench_nb._files import make_folder, refuse_irregular, replacing
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document
from extractbench_nb._version import __version__
from extractbench_nb.batch.inputs import Fingerprints, Plan
from extractbench_nb.batch.rows import (
    ESCAPING,
    FRAMES,
    OWN_SUMMARY,
    PARTS,
    Result,
    arrow_schema,
    escape,
    part_batch,
    record_batch,
    summary_batch,
    summary_spec,
    to_frame,
    unescape,
    unpack,
    value_to_text,
)
from extractbench_nb.batch.workers import Finished
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.traversal import Aligner
from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.evaluation.frames import SUMMARY
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.evaluation.warnings import WARNING_COLUMNS
from extractbench_nb.field_metrics.registry import REGISTRY, Metric
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DATABASE",
    "DESCRIPTION",
    "DIGEST",
    "FORMAT",
    "Entry",
    "FolderStorage",
    "MemorySource",
    "MemoryStorage",
    "Store",
    "custom_metrics",
    "fingerprint",
    "frame_file",
    "open_store",
    "refuse_foreign",
    "refuse_occupied",
    "refuse_unfinishable",
    "settings_of",
    "write_evaluation",
    "write_files",
]


# --- settings ---------------------------------------------------------------------------------

#: Changes when older folders cannot be read any more.
FORMAT = 2
#: What must be the same when a batch is taken up.
_SETTINGS = (
    "format",
    "extractbench_nb",
    "profile",
    "judge",
    "judge_options",
    "alignment",
    "alignment_options",
    "metrics",
)
_BUILT_IN = dict(REGISTRY.entries)

_LONGEST = 60


def custom_metrics(schemas: Iterable[Schema]) -> dict[str, Metric]:
    """Return the metrics of the user's that schemas name, and those in place of built-in ones."""
    named = {
        spec.metric_id
        for schema in schemas
        for node in schema.nodes()
        if node.config is not None
        for spec in node.config.metrics
    }
    return {
        name: metric
        for name, metric in REGISTRY.entries.items()
        if metric is not _BUILT_IN.get(name) and (name in named or name in _BUILT_IN)
    }


def settings_of(
    profile: Profile, judge: Judge, alignment: str | Aligner, metrics: Mapping[str, Metric]
) -> dict[str, Any]:
    """Describe the settings of a batch."""
    options = fingerprint(alignment)
    return {
        "format": FORMAT,
        "extractbench_nb": __version__,
        "profile": asdict(profile),
        "judge": judge.name,
        "judge_options": fingerprint(judge),
        "alignment": _alignment_name(alignment, known=options is not None),
        "alignment_options": options,
        "metrics": {name: _metric_hash(metric) for name, metric in sorted(metrics.items())},
    }


def _refuse_other_settings(ours: Mapping[str, Any], theirs: Mapping[str, Any], folder: str) -> None:
    """Raise `InputError` that names the first setting in which a folder's batch differs."""
    for name in _SETTINGS:
        value, found = ours[name], theirs.get(name)
        if name == "metrics":
            known = found or {}
            changed = [metric for metric, own in value.items() if known.get(metric, own) != own]
            if changed:
                raise InputError(f"{folder!r} was evaluated with another metric {changed[0]!r}")
        elif found != value:
            what, found, value = _difference(name.removesuffix("_options"), found, value)
            raise InputError(
                f"{folder!r} was evaluated with {what} {_shown(found)}, asked for is "
                f"{_shown(value)}; resume with the same settings, or use another folder"
            )


def fingerprint(thing: Any) -> Any:
    """Return what tells a judge or an aligner apart from others of its name.

    Examples
    --------
    >>> class Noisy:
    ...     name = "noisy"
    ...     fingerprint = {"seed": 3}
    >>> fingerprint(Noisy())
    {'seed': 3}
    """
    own = getattr(thing, "fingerprint", None)
    try:
        return json.loads(json.dumps(own))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"fingerprint of {type(thing).__name__} is {_shown(own)}; expected a JSON value "
            f"({error})"
        ) from None


def _alignment_name(alignment: str | Aligner, *, known: bool) -> str:
    if isinstance(alignment, str):
        return alignment
    if not known:
        return _source_hash(alignment)
    name = getattr(alignment, "name", None)
    return name if isinstance(name, str) else type(alignment).__name__


def _difference(what: str, found: Any, value: Any) -> tuple[str, Any, Any]:
    """Go down to the first part in which two settings differ."""
    for step, one, other in _parts(found, value):
        if one != other:
            return _difference(what if step == "name" else f"{what} {step}", one, other)
    return what, found, value


def _parts(found: Any, value: Any) -> Iterator[tuple[Any, Any, Any]]:
    if isinstance(found, dict) and isinstance(value, dict):
        for name in {**value, **found}:
            yield name, found.get(name), value.get(name)
    elif isinstance(found, list) and isinstance(value, list):
        for number, (one, other) in enumerate(zip_longest(found, value), 1):
            yield number, one, other


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _metric_hash(metric: Metric) -> str:
    function = metric.function
    source = _source_hash(function) if function is not None else ""
    return f"{source} {metric.params!r} {metric.threshold}"


def _source_hash(function: Any) -> str:
    """Tell a function by its source; one that comes from no file by its code."""
    for thing in (function, type(function)):
        with suppress(OSError, TypeError):
            return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    code = getattr(function, "__code__", None)
    content = marshal.dumps(code) if code is not None else repr(type(function)).encode()
    return hashlib.sha256(content).hexdigest()


# --- files ------------------------------------------------------------------------------------

DESCRIPTION = "batch.json"
#: The files of a batch; the last one to be written is the first.
_NAMES = (DESCRIPTION, *(f"{name}.parquet" for name in FRAMES))
#: Where each Parquet file says which batch it belongs to; ``batch.json`` has it as ``digest``.
DIGEST = b"extractbench_nb_digest"
#: A row group is written when it has at least this many rows.
_ROWS = 5_000


def frame_file(folder: Path, name: str) -> Path:
    """Return the file of a frame."""
    return folder / f"{name}.parquet"


def write_files(
    folder: Path,
    results: Iterable[Result],
    extras: tuple[Column, ...],
    description: Mapping[str, Any],
) -> str:
    """Write the files of a batch; all are complete before the first takes its name."""
    specs = {**FRAMES, "summary": summary_spec(extras)}
    with ExitStack() as stack:
        about = stack.enter_context(replacing(folder / DESCRIPTION))
        paths = {name: stack.enter_context(replacing(frame_file(folder, name))) for name in specs}
        own = [[column.name, column.dtype] for column in extras]
        about_all = {**description, "extras": own}
        seen = hashlib.sha256(json.dumps(about_all).encode())
        with ExitStack() as files:
            writers = {name: _Writer(paths[name], spec, files) for name, spec in specs.items()}
            for result in results:
                _count_in(seen, result)
                for name in PARTS:
                    writers[name].add(part_batch(name, result))
                writers["summary"].add(summary_batch(specs["summary"], [result]))
            digest = seen.hexdigest()
            for writer in writers.values():
                writer.end(digest)
        rows = {name: writer.rows for name, writer in writers.items()}
        text = json.dumps({**about_all, "rows": rows, "digest": digest}, indent=2)
        about.write_text(text + "\n", encoding="utf-8")
    return digest


def _count_in(seen: Any, result: Result) -> None:
    """Let a digest of results count one more."""
    row = value_to_text([result.ids, result.summary, result.extras]) or ""
    parts = [result.parts[name] for name in PARTS]
    for content in (row.encode("utf-8", "surrogatepass"), *parts):
        seen.update(hashlib.sha256(content).digest())


def write_evaluation(ev: Evaluation, folder: Path) -> Path:
    """Write the frames of one evaluation, each to a file of its name."""
    make_folder(folder)
    frames = {name: (spec, getattr(ev, name)) for name, spec in PARTS.items()}
    frames["summary"] = SUMMARY, ev.summary.to_frame().T
    frames["warnings"] = WARNING_COLUMNS, ev.warnings
    with ExitStack() as stack:
        for name, (spec, frame) in frames.items():
            cells = [_cells(frame[column.name], column) for column in spec.columns]
            rows = list(zip(*cells, strict=True))
            writer = _Writer(stack.enter_context(replacing(frame_file(folder, name))), spec, stack)
            writer.add(record_batch(spec, rows))
            writer.flush()
    return folder


def _cells(series: pd.Series[Any], column: Column) -> list[Any]:
    if column.dtype == "object":
        return series.tolist()
    return series.astype(object).where(series.notna(), None).tolist()


class _Writer:
    """One file; collects rows until they make a row group."""

    def __init__(self, path: Path, spec: FrameSpec, stack: ExitStack) -> None:
        import pyarrow.parquet as pq

        values = [column.name for column in spec.columns if column.dtype == "object"]
        about = {"format": FORMAT, "frame": spec.name, "json": values, "escapes": ESCAPING}
        schema = arrow_schema(spec).with_metadata({"extractbench_nb": json.dumps(about)})
        writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)
        self._file = stack.enter_context(writer)
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; write what has come together when it is enough."""
        self._waiting.append(batch)
        self._count += batch.num_rows
        if self._count >= _ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what has come together as one row group."""
        import pyarrow as pa

        if self._count:
            table = pa.Table.from_batches(self._waiting).combine_chunks()
            self._file.write_table(table, row_group_size=self._count)
        self.rows += self._count
        self._waiting, self._count = [], 0

    def end(self, digest: str) -> None:
        """Write the rest, and which batch the file belongs to."""
        self.flush()
        self._file.add_key_value_metadata({DIGEST: digest})


# --- finished outputs -------------------------------------------------------------------------

DATABASE = "finished.sqlite"
_TABLES = f"""
create table if not exists settings (settings text not null);
create table if not exists outputs (
  run text not null, document text not null, fingerprint blob not null, summary text not null,
  {", ".join(f"{name} blob not null" for name in PARTS)}, digest blob not null,
  primary key (run, document));
"""
_COLUMNS = ("run", "document", "fingerprint", "summary", *PARTS, "digest")
_PLACES = ", ".join("?" * len(_COLUMNS))
_SELECT = f"select {', '.join(_COLUMNS)} from outputs where run = ? and document = ?"  # noqa: S608 - no input in it
_INSERT = f"insert or replace into outputs values ({_PLACES})"  # noqa: S608 - no input in it


class Entry(NamedTuple):
    """One finished output as it is kept."""

    run: str
    document: str
    fingerprint: bytes
    summary: tuple[Any, ...]
    parts: Mapping[str, bytes]


class Store:
    """The finished outputs of a batch; one process at a time may have it open.

    Parameters
    ----------
    connection : sqlite3.Connection
        The open database, locked for others.
    path : pathlib.Path
        Its file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    def add(self, entries: Iterable[Entry]) -> None:
        """Keep finished outputs, all or none of them; they survive the end of the process."""
        rows = []
        for entry in entries:
            names = map(escape, (entry.run, entry.document))
            summary = escape(value_to_text(entry.summary) or "")
            parts = [entry.parts[name] for name in PARTS]
            row = (*names, entry.fingerprint, summary, *parts)
            rows.append((*row, _digest(row)))
        with _told(self.path), self._connection:
            self._connection.executemany(_INSERT, rows)

    def entry(self, run: str, document: str) -> Entry | None:
        """Return a finished output, as it was written; None if there is none."""
        key = (escape(run), escape(document))
        with _told(self.path):
            row = self._connection.execute(_SELECT, key).fetchone()
        if row is None:
            return None
        *content, digest = row
        if digest != _digest(content):
            self.refuse(f"run {run!r}, document {document!r} is not as it was written")
        _, _, fingerprint, summary, *parts = content
        try:
            cells = tuple(json.loads(unescape(summary)))
        except (TypeError, ValueError, RecursionError):
            self.refuse(f"run {run!r}, document {document!r} has no summary")
        return Entry(run, document, fingerprint, cells, dict(zip(PARTS, parts, strict=True)))

    def settings(self) -> dict[str, Any] | None:
        """Return the settings of the batch; None if there are none yet."""
        with _told(self.path):
            found = self._connection.execute("select settings from settings").fetchone()
        if found is None:
            return None
        try:
            settings = json.loads(found[0])
        except (TypeError, ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict) or not isinstance(settings.get("metrics"), dict):
            self.refuse("its settings cannot be read")
        return settings

    def keep_settings(self, settings: Mapping[str, Any]) -> None:
        """Keep the settings of the batch."""
        with _told(self.path), self._connection:
            self._connection.execute("delete from settings")
            self._connection.execute("insert into settings values (?)", (json.dumps(settings),))

    def refuse(self, problem: str) -> NoReturn:
        """Raise `InputError`: something in the file is not as it was written."""
        raise InputError(
            f"{str(self.path)!r} is damaged: {problem}; remove it, and its outputs are evaluated "
            "again"
        )


def _digest(row: Sequence[Any]) -> bytes | None:
    """Return the SHA-256 of an output's columns; None if one is of another type."""
    texts, blobs = (*row[:2], row[3]), (row[2], *row[4:])
    if not all(isinstance(text, str) for text in texts):
        return None
    if not all(isinstance(blob, bytes) for blob in blobs):
        return None
    contents = (*(text.encode("utf-8", "surrogatepass") for text in texts), *blobs)
    return hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents)).digest()


@contextmanager
def open_store(folder: Path, settings: Mapping[str, Any]) -> Iterator[Store]:
    """Open the finished outputs of a folder, or begin a new one."""
    make_folder(folder)
    path = folder / DATABASE
    refuse_irregular(path, "database")
    with _told(path), closing(_connect(path)) as connection:
        store = Store(connection, path)
        there = store.settings()
        if there is not None:
            _refuse_other_settings(settings, there, str(folder))
            settings = {**settings, "metrics": {**there["metrics"], **settings["metrics"]}}
        store.keep_settings(settings)
        yield store


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0)
    try:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.executescript(f"begin exclusive; {_TABLES} commit;")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell what SQLite complains of in our words."""
    try:
        yield
    except sqlite3.Error as error:
        problem = str(error)
        if "locked" in problem:
            raise InputError(
                f"{str(path.parent)!r} is in use by another batch; wait for its end, or use "
                "another folder"
            ) from error
        if "not a database" in problem or "malformed" in problem:
            raise InputError(f"{str(path)!r} is damaged: {problem}") from error
        raise OutputError(f"{str(path)!r} cannot be written: {problem}") from error


def _refuse_file(folder: Path, option: str = "folder") -> None:
    """Raise `InputError` where there is a file in place of a folder."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {str(folder)!r} is a file, not a folder")


def refuse_occupied(folder: Path, option: str = "folder") -> None:
    """Raise `InputError` where a folder holds files of a batch."""
    _refuse_file(folder, option)
    found = next((name for name in (DATABASE, *_NAMES) if (folder / name).exists()), None)
    if found is None:
        return
    hint = f"take it up with resume={str(folder)!r}, or " if found == DATABASE else ""
    raise InputError(
        f"{option} {str(folder)!r} holds a batch already ({found}); {hint}use another folder"
    )


def refuse_foreign(folder: Path) -> None:
    """Raise `InputError` where a folder holds what `Evaluations.save` must not replace."""
    _refuse_file(folder)
    if (folder / DATABASE).exists():
        refuse_occupied(folder)
    for name in _NAMES:
        path = folder / name
        if path.exists() and not _is_ours(path):
            raise InputError(
                f"folder {str(folder)!r} holds a file {name!r} that is not a saved result; "
                "use another folder"
            )


def _is_ours(path: Path) -> bool:
    """Whether a file was written for a saved batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.name == DESCRIPTION:
        try:
            found = read_document(path, "batch")
        except InputError:
            return False
        return isinstance(found, dict) and "extractbench_nb" in found
    try:
        return DIGEST in (pq.read_metadata(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def refuse_unfinishable(folder: Path) -> None:
    """Raise `InputError` where a folder holds results, but not what is needed to take them up."""
    _refuse_file(folder, "resume")
    if (folder / DESCRIPTION).exists() and not (folder / DATABASE).exists():
        raise InputError(
            f"resume {str(folder)!r} holds saved results and no {DATABASE}; only a folder that "
            "save_to or resume wrote can be taken up"
        )


@dataclass(frozen=True)
class MemorySource:
    """The results of a batch.

    Parameters
    ----------
    results : tuple of Result
        One an output, in order.
    extras : tuple of Column
        The columns of the user's.
    description : mapping
        What ``batch.json`` says, but for the rows.
    """

    results: tuple[Result, ...]
    extras: tuple[Column, ...]
    description: Mapping[str, Any]

    def frame(self, name: str) -> pd.DataFrame:
        """Make one of the frames."""
        import pyarrow as pa

        if name == "summary":
            spec = summary_spec(self.extras)
            return to_frame(pa.Table.from_batches([summary_batch(spec, self.results)]), spec)
        spec = FRAMES[name]
        batches = [part_batch(name, result) for result in self.results]
        return to_frame(pa.Table.from_batches(batches, arrow_schema(spec)), spec)

    def save(self, folder: Path) -> None:
        """Write the files of a batch."""
        refuse_foreign(folder)
        make_folder(folder)
        write_files(folder, self.results, self.extras, self.description)


#: In place of the fingerprint of an output without all verdicts: equal to none, so that a batch
#: which is taken up evaluates it again.
_OPEN = b""


class MemoryStorage:
    """Keeps results in memory.

    Parameters
    ----------
    plan : Plan
        The batch.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._finished: dict[int, Finished] = {}

    def has(self, place: int) -> bool:
        """Say whether the output at a place is finished."""
        return place in self._finished

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk."""
        self._finished.update({item.place: item for item in finished})

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for place in range(len(self._plan.cells)):
            found = self._finished[place]
            yield self._plan.result(place, found.summary, found.parts)


class FolderStorage:
    """Keeps results on disk; nothing stays in memory but a fingerprint while work is out.

    Parameters
    ----------
    plan : Plan
        The batch.
    store : Store
        Where to.
    """

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan = plan
        self._store = store
        self._fingerprints = Fingerprints(plan)
        self._out: dict[int, bytes] = {}

    def has(self, place: int) -> bool:
        """Say whether the output at a place was finished, all verdicts given, with these inputs."""
        cell = self._plan.cells[place]
        fingerprint = self._fingerprints.of(cell)
        found = self._store.entry(cell.run, cell.document)
        if found is not None and found.fingerprint == fingerprint:
            return True
        self._out[place] = fingerprint
        return False

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk."""
        entries = []
        for item in finished:
            cell, fingerprint = self._plan.cells[item.place], self._out.pop(item.place)
            kept = fingerprint if item.settled else _OPEN
            entries.append(Entry(cell.run, cell.document, kept, item.summary, item.parts))
        self._store.add(entries)

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for place, cell in enumerate(self._plan.cells):
            entry = self._store.entry(cell.run, cell.document)
            if entry is None:
                raise InputError(f"{str(self._store.path)!r} has no {cell.name}")
            self._check(entry)
            yield self._plan.result(place, entry.summary, entry.parts)

    def _check(self, entry: Entry) -> None:
        """Refuse what no evaluation gives: the file may come from somebody else."""
        try:
            record_batch(OWN_SUMMARY, [entry.summary])
            for name, spec in PARTS.items():
                unpack(entry.parts[name], spec)
        except (ValueError, TypeError, OverflowError) as error:  # Arrow's and ours are ValueErrors
            self._store.refuse(f"run {entry.run!r}, document {entry.document!r}: {error}")
