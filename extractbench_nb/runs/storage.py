"""Storage of a batch: its settings, finished outputs in memory or on disk, and its files."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import InputError, OutputError, needs
from extractbench_nb.runs.inputs import Cell, Plan
from extractbench_nb.runs.rows import (
    BATCH_RULES,
    ESCAPING,
    FRAMES,
    PARTS,
    Ids,
    arrow_schema,
    escape,
    joined_columns,
    packed_part,
    part_columns,
    part_frame,
    record_batch,
    summary_spec,
    to_columns,
    unescape,
    value_to_text,
)
from extractbench_nb.runs.workers import (
    CheckedRules,
    Context,
    Finished,
    custom_metrics,
    packed_parts,
)
from extractbench_nb.support.files import (
    make_folder,
    reading,
    refuse_irregular,
    replacing,
    source_hash,
)
from extractbench_nb.support.wording import cut

if TYPE_CHECKING:
    import pyarrow.parquet as pq


# --- settings ---------------------------------------------------------------------------------

#: Changes when the stored columns do; results of other formats cannot be read.
FORMAT = 5
#: The settings on which verdicts depend.
SETTINGS = ("profile", "judge", "judge_options", "alignment", "alignment_options", "metrics")
_LONGEST, _SHOWN = 61, 5


def settings_of(context: Context) -> dict[str, Any]:
    """Return the settings that must be equal when a batch is resumed."""
    alignment: Any = context.alignment
    options, aligner = _fingerprint(alignment), alignment
    if not isinstance(alignment, str):
        name = getattr(alignment, "name", None)
        aligner = name if isinstance(name, str) else type(alignment).__name__
        aligner = source_hash(alignment) if options is None else aligner
    hashes = {}
    for name, metric in sorted(custom_metrics(context.schemas.values()).items()):
        source = source_hash(metric.function) if metric.function is not None else ""
        hashes[name] = f"{source} {metric.params!r} {metric.threshold}"
    return {
        "format": FORMAT,
        "extractbench_nb": __version__,
        "profile": asdict(context.profile),
        "judge": context.judge.name,
        "judge_options": _fingerprint(context.judge),
        "alignment": aligner,
        "alignment_options": options,
        "metrics": hashes,
    }


def _fingerprint(thing: Any) -> Any:
    """Return the options of a judge or an aligner: its attribute ``fingerprint``."""
    value = getattr(thing, "fingerprint", None)
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"fingerprint of {type(thing).__name__} is {_shown(value)}; expected a JSON value "
            f"({error})"
        ) from None


def _refuse_other_settings(asked: Mapping[str, Any], stored: Mapping[str, Any], name: str) -> None:
    other = (m for m, code in asked["metrics"].items() if stored["metrics"].get(m, code) != code)
    if (changed := next(other, None)) is not None:
        raise InputError(f"{name!r} was evaluated with another metric {changed!r}")
    for setting, value in asked.items():
        if setting != "metrics" and stored.get(setting) != value:
            what = setting.removesuffix("_options")
            what, theirs, ours = first_difference(what, stored.get(setting), value)
            raise InputError(
                f"{name!r} was evaluated with {what} {_shown(theirs)}, not with {_shown(ours)}; "
                "resume with the same settings, or use another folder"
            )


def first_difference(what: str, stored: Any, asked: Any) -> tuple[str, Any, Any]:
    """Return the innermost name and values of the first difference between two settings."""
    parts: Iterable[tuple[Any, Any, Any]] = ()
    if isinstance(stored, dict) and isinstance(asked, dict):
        parts = ((key, stored.get(key), asked.get(key)) for key in {**asked, **stored})
    elif isinstance(stored, list) and isinstance(asked, list):
        parts = ((number, *pair) for number, pair in enumerate(zip_longest(stored, asked), 1))
    for key, ours, theirs in parts:
        if ours != theirs:
            return first_difference(what if key == "name" else f"{what} {key}", ours, theirs)
    return what, stored, asked


def _shown(value: Any) -> str:
    return cut(repr(value), _LONGEST)


# --- files ------------------------------------------------------------------------------------


class Result(NamedTuple):
    """One finished output: its ids, the user's own columns, its summary, its packed rows."""

    ids: Ids
    extras: tuple[Any, ...]
    summary: tuple[Any, ...]
    parts: Mapping[str, bytes]


DESCRIPTION = "batch.json"
DATABASE = "finished.sqlite"
#: A damaged database by this name gives its intact outputs to a new one.
_DAMAGED = "finished-damaged.sqlite"
#: The files of a batch, the description first: it is written last.
_NAMES = (DESCRIPTION, *(f"{name}.parquet" for name in (*FRAMES, BATCH_RULES.name)))
#: Where each Parquet file says which batch it belongs to; ``batch.json`` has it as ``digest``.
DIGEST = b"extractbench_nb_digest"
#: A row group is written when it has at least this many rows, or bytes of packed rows.
_ROWS, _BYTES = 5_000, 2**18


def write_files(
    folder: Path,
    results: Iterable[Result],
    extras: tuple[Column, ...],
    description: Mapping[str, Any],
    rules: CheckedRules | None,
) -> str:
    """Write the files of a batch; none replaces an older one before all are complete.

    Returns the digest of the results, which every file records. ``rules.parquet`` is written if
    rules were checked, or to replace an older one.
    """
    specs = {**FRAMES, "summary": summary_spec(extras)}
    description = {**description, "extras": [[column.name, column.dtype] for column in extras]}
    if rules is None and (folder / f"{BATCH_RULES.name}.parquet").exists():
        rules = CheckedRules({}, ())
    if rules is not None:
        specs[BATCH_RULES.name] = BATCH_RULES
        description[BATCH_RULES.name] = dict(rules.sources)
    hasher = hashlib.sha256(json.dumps(description).encode())
    with ExitStack() as stack:
        # the stack closes in reverse order, so the description replaces its predecessor last
        description_path = stack.enter_context(replacing(folder / DESCRIPTION))
        paths = {name: stack.enter_context(replacing(folder / f"{name}.parquet")) for name in specs}
        with ExitStack() as files:
            writers = {name: _Writer(paths[name], spec, files) for name, spec in specs.items()}
            for result in results:
                row = value_to_text([result.ids, result.summary, result.extras]) or ""
                packed = [result.parts[name] for name in PARTS]
                for content in (row.encode("utf-8", "surrogatepass"), *packed):
                    hasher.update(hashlib.sha256(content).digest())
                for name in PARTS:
                    columns = part_columns(name, result.parts[name])
                    if columns is not None:
                        item, size = (result.ids, columns), len(result.parts[name])
                        writers[name].add(item, len(columns[0]), size)
                writers["summary"].add((*result.ids, *result.summary, *result.extras))
            for cells in rules.rows if rules is not None else ():
                hasher.update((value_to_text(cells) or "").encode("utf-8", "surrogatepass"))
                writers[BATCH_RULES.name].add(cells)
            digest = hasher.hexdigest()
            for writer in writers.values():
                writer.end(digest)
        counts = {name: writer.rows for name, writer in writers.items()}
        text = json.dumps({**description, "rows": counts, "digest": digest}, indent=2)
        description_path.write_text(text + "\n", encoding="utf-8")
    return digest


class _Writer:
    """Writes one Parquet file; collects rows until there are enough for a row group."""

    def __init__(self, path: Path, spec: FrameSpec, stack: ExitStack) -> None:
        self._spec = spec
        self._file = _parquet_file(path, spec, stack)
        self._waiting: list[Any] = []
        self._count = self._size = 0
        self.rows = 0

    def add(self, item: Any, rows: int = 1, size: int = 0) -> None:
        """Add a row, or ids and rows of a part; write if there are enough rows."""
        self._waiting.append(item)
        self._count += rows
        self._size += size
        if self._count >= _ROWS or self._size >= _BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._count:
            spec, waiting = self._spec, self._waiting
            columns = joined_columns(waiting) if spec.name in PARTS else to_columns(spec, waiting)
            self._file.write_batch(record_batch(spec, columns), row_group_size=self._count)
        self.rows += self._count
        self._waiting, self._count, self._size = [], 0, 0

    def end(self, digest: str) -> None:
        """Write the remaining rows and the digest of the batch."""
        self._flush()
        self._file.add_key_value_metadata({DIGEST: digest})


def _parquet_file(path: Path, spec: FrameSpec, stack: ExitStack) -> pq.ParquetWriter:
    pq = needs("pyarrow.parquet", "batch")

    values = [column.name for column in spec.columns if column.dtype == "object"]
    about = {"format": FORMAT, "frame": spec.name, "json": values, "escapes": ESCAPING}
    schema = arrow_schema(spec).with_metadata({"extractbench_nb": json.dumps(about)})
    return stack.enter_context(
        pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)
    )


def write_evaluation(ev: Evaluation, folder: Path) -> Path:
    """Write each frame of one evaluation to a Parquet file named after it."""
    needs("pyarrow", "batch")
    make_folder(folder)
    frames = {name: getattr(ev, name) for name in (*PARTS, "warnings")}
    frames["summary"] = ev.summary.to_frame().T
    if len(rules := ev.rules):
        frames["rules"] = rules
    with ExitStack() as stack:
        for name, frame in frames.items():
            spec = Evaluation.spec(name)
            cells = frame[spec.names].astype(object)
            texts = [column.name for column in spec.columns if column.dtype != "object"]
            cells[texts] = cells[texts].where(cells[texts].notna(), None)
            rows = list(zip(*(cells[name].tolist() for name in spec.names), strict=True))
            path = stack.enter_context(replacing(folder / f"{name}.parquet"))
            file = _parquet_file(path, spec, stack)
            if rows:
                batch = record_batch(spec, to_columns(spec, rows))
                file.write_batch(batch, row_group_size=len(rows))
    return folder


# --- what a folder may be used for ------------------------------------------------------------


def _refuse_file(folder: Path, option: str) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {str(folder)!r} is a file, not a folder")


def refuse_occupied(folder: Path, option: str = "folder") -> None:
    """Raise `InputError` where a folder holds files of a batch."""
    _refuse_file(folder, option)
    file = next((name for name in (DATABASE, *_NAMES) if (folder / name).exists()), None)
    if file is not None:
        hint = f"resume it with resume={str(folder)!r}, or " if file == DATABASE else ""
        raise InputError(
            f"{option} {str(folder)!r} holds a batch already ({file}); {hint}use another folder"
        )


def refuse_foreign(folder: Path) -> None:
    """Raise `InputError` where a folder holds what `Evaluations.save` must not replace."""
    _refuse_file(folder, "folder")
    if (folder / DATABASE).exists():
        refuse_occupied(folder)
    for name in _NAMES:
        if (folder / name).exists() and not _is_ours(folder / name):
            raise InputError(
                f"folder {str(folder)!r} holds a file {name!r} that is not a saved result; "
                "use another folder"
            )


def _is_ours(path: Path) -> bool:
    pa, pq = needs("pyarrow", "batch"), needs("pyarrow.parquet", "batch")
    try:
        if path.name == DESCRIPTION:
            description = read_document(path, "batch")
            return isinstance(description, dict) and "extractbench_nb" in description
        return DIGEST in (pq.read_metadata(path).metadata or {})
    except (InputError, OSError, pa.ArrowException):
        return False


def refuse_unfinishable(folder: Path) -> None:
    """Raise `InputError` where a folder holds results, but not what is needed to resume them."""
    _refuse_file(folder, "resume")
    if (folder / DESCRIPTION).exists() and not any(
        (folder / name).exists() for name in (DATABASE, _DAMAGED)
    ):
        raise InputError(
            f"resume {str(folder)!r} holds saved results and no {DATABASE}; only a folder that "
            "save_to or resume wrote can be resumed"
        )


# --- finished outputs in memory ---------------------------------------------------------------


class MemoryStorage:
    """Keeps the rows of finished outputs in memory, and builds each frame once from all of them."""

    def __init__(self, plan: Plan, description: Mapping[str, Any]) -> None:
        self._ids = [cell.ids for cell in plan.cells]
        self._extras, self._extra_rows = plan.extras, plan.extra_rows
        self._description = description
        self._finished: dict[int, Finished] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle packed rows: values may be nested deeper than pickle goes."""
        packed = {position: packed_parts(item) for position, item in self._finished.items()}
        return {**vars(self), "_finished": packed}

    def has(self, position: int) -> bool:
        """Say whether the output at a position of the batch is finished."""
        return position in self._finished

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk; items hold whole values, which are smaller packed."""
        for item in finished:
            matches = packed_part("matches", item.parts["matches"])
            self._finished[item.position] = item._replace(parts={**item.parts, "matches": matches})

    def frame(self, name: str) -> pd.DataFrame:
        """Build a frame."""
        finished = [self._finished[position] for position in range(len(self._ids))]
        if name != "summary":
            parts = (item.parts[name] for item in finished)
            return part_frame(FRAMES[name], name, zip(self._ids, parts, strict=True))
        rows = zip(self._ids, finished, self._extra_rows, strict=True)
        spec = summary_spec(self._extras)
        return spec.from_rows((*ids, *item.summary, *extras) for ids, item, extras in rows)

    def save(self, folder: Path, rules: CheckedRules | None) -> None:
        """Write the files of a batch."""
        needs("pyarrow", "batch")
        refuse_foreign(folder)
        make_folder(folder)
        write_files(folder, self._results(), self._extras, self._description, rules)

    def _results(self) -> Iterator[Result]:
        for position, (ids, extras) in enumerate(zip(self._ids, self._extra_rows, strict=True)):
            item = self._finished[position]
            packed = {name: packed_part(name, part) for name, part in item.parts.items()}
            yield Result(ids, extras, item.summary, packed)


# --- finished outputs on disk -----------------------------------------------------------------

_TABLES = f"""
create table if not exists settings (settings text not null);
create table if not exists outputs (
  run text not null, document text not null, fingerprint blob not null, summary text not null,
  {", ".join(f"{name} blob not null" for name in PARTS)}, digest blob not null,
  primary key (run, document));
"""
_COLUMNS = ", ".join(("run", "document", "fingerprint", "summary", *PARTS, "digest"))
_SELECT = f"select {_COLUMNS} from outputs where run = ? and document = ?"  # noqa: S608 - no input in it
_SCAN = f"select rowid, {_COLUMNS} from outputs where rowid > ? order by rowid"  # noqa: S608 - no input in it
_INSERT = f"into outputs values ({', '.join('?' * len(_COLUMNS.split()))})"
#: Stored instead of the fingerprint of an output without all verdicts. It equals no fingerprint,
#: so a resumed batch evaluates the output again.
_OPEN = b""
#: Unreadable rows in succession after which the rest of a damaged database is given up.
_MOST_UNREADABLE = 1_000


class DamagedError(InputError):
    """A database cannot be read, or not in part."""


class FolderStorage:
    """Keeps finished outputs in a database; in memory, only fingerprints of those in progress."""

    def __init__(self, connection: sqlite3.Connection, path: Path, plan: Plan) -> None:
        self._connection, self._path, self._plan = connection, path, plan
        self._fingerprints: dict[int, bytes] = {}
        self._gold_hashes: dict[Path, bytes] = {}

    def has(self, position: int) -> bool:
        """Say whether an output was finished with these inputs, and with all verdicts."""
        cell = self._plan.cells[position]
        fingerprint = self._fingerprint(cell)
        stored = self._read(cell)
        if stored is not None and stored[0] == fingerprint:
            return True
        self._fingerprints[position] = fingerprint
        return False

    def keep(self, finished: list[Finished]) -> None:
        """Keep the results of one chunk, all or none; they survive the end of the process."""
        rows = []
        for item in finished:
            cell = self._plan.cells[item.position]
            fingerprint = self._fingerprints.pop(item.position)
            row = (
                escape(cell.run),
                escape(cell.document),
                fingerprint if item.settled else _OPEN,
                escape(value_to_text(item.summary) or ""),
                *(packed_part(name, item.parts[name]) for name in PARTS),
            )
            rows.append((*row, _digest(row)))
        with _sqlite_errors(self._path), self._connection:
            self._connection.executemany(f"insert or replace {_INSERT}", rows)

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for cell, extras in zip(self._plan.cells, self._plan.extra_rows, strict=True):
            stored = self._read(cell)
            if stored is None:
                raise InputError(f"{str(self._path)!r} has no {cell.name}")
            yield Result(cell.ids, extras, *stored[1:])

    def _read(self, cell: Cell) -> tuple[bytes, tuple[Any, ...], dict[str, bytes]] | None:
        """Return fingerprint, summary and parts of a finished output; None if there is none."""
        key = (escape(cell.run), escape(cell.document))
        with _sqlite_errors(self._path):
            row = self._connection.execute(_SELECT, key).fetchone()
        if row is None:
            return None
        *content, digest = row
        if digest != _digest(content):
            raise DamagedError(f"{cell.name} has been changed since it was written")
        _, _, fingerprint, text, *parts = content
        return fingerprint, tuple(json.loads(unescape(text))), dict(zip(PARTS, parts, strict=True))

    def _fingerprint(self, cell: Cell) -> bytes:
        """Hash the content of a cell's schema, gold, prediction and accepted alternatives."""
        if not isinstance(cell.gold, Path):
            gold_hash = _content_hash(self._plan.gold(cell))
        else:  # the runs share gold files: each is read once
            if cell.gold not in self._gold_hashes:
                self._gold_hashes[cell.gold] = _content_hash(cell.gold)
            gold_hash = self._gold_hashes[cell.gold]
        content = cell.schema_key.encode() + gold_hash + _content_hash(cell.predicted)
        accepted = self._plan.accepted.get(cell.document)
        if accepted:
            content += _content_hash([[row.path, row.value] for row in accepted])
        return hashlib.sha256(content).digest()


def _content_hash(source: Any) -> bytes:
    if isinstance(source, Path):
        with reading(f"file {str(source)!r}", source):
            content = b"text" + source.read_bytes()
    elif isinstance(source, str):
        content = b"text" + source.encode("utf-8", "surrogatepass")
    elif source is None:
        content = b"absent"
    else:
        content = b"value" + (value_to_text(source) or "null").encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).digest()


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
def open_storage(folder: Path, plan: Plan, settings: Mapping[str, Any]) -> Iterator[FolderStorage]:
    """Open the database of a folder, or create one, and lock it for this process."""
    make_folder(folder)
    path, damaged = folder / DATABASE, folder / _DAMAGED
    for file in (path, damaged):
        refuse_irregular(file, "database")
    try:
        with _sqlite_errors(path), closing(_connect(path)) as connection:
            for part in folder.glob(".xb-*.part"):  # of a process that was killed
                with suppress(OSError):
                    part.unlink()
            stored, rows = _settings_in(connection), list[tuple[Any, ...]]()
            if stored is None and damaged.exists():
                stored, rows = _intact_outputs(damaged)
            if stored is not None:
                _refuse_other_settings(settings, stored, str(folder))
                settings = {**settings, "metrics": {**stored["metrics"], **settings["metrics"]}}
            with connection:
                connection.execute("delete from settings")
                connection.execute("insert into settings values (?)", (json.dumps(settings),))
                connection.executemany(f"insert or ignore {_INSERT}", rows)
            yield FolderStorage(connection, path, plan)
    except DamagedError as error:
        raise InputError(_advice(path, str(error))) from None


def _advice(path: Path, problem: str) -> str:
    """Say which outputs of a damaged database are intact, and how to go on."""
    counts = Counter(unescape(row[0]) for row in _intact_outputs(path)[1])
    shown = ", ".join(f"{count} of run {run!r}" for run, count in counts.most_common(_SHOWN))
    more = f" and {len(counts) - _SHOWN} more runs" if len(counts) > _SHOWN else ""
    intact = (
        f"{counts.total()} outputs are intact ({shown}{more})" if counts else "no output is intact"
    )
    return (
        f"{str(path)!r} is damaged: {problem}; {intact}. Rename it to {_DAMAGED!r} and call "
        f"evaluate_runs(..., resume={str(path.parent)!r}): intact outputs are taken from it, and "
        "all others are evaluated again"
    )


def _intact_outputs(path: Path) -> tuple[dict[str, Any] | None, list[tuple[Any, ...]]]:
    """Return the settings of a damaged database, and its rows with the right digest."""
    rows: list[tuple[Any, ...]] = []
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        try:
            settings = _settings_in(connection)
        except (sqlite3.Error, DamagedError):
            return None, rows
        last, unreadable = 0, 0
        while settings is not None and unreadable < _MOST_UNREADABLE:
            try:
                for rowid, *row in connection.execute(_SCAN, (last,)):
                    last, unreadable = rowid, 0
                    if row[-1] is not None and row[-1] == _digest(row[:-1]):
                        rows.append(tuple(row))
                break
            except sqlite3.Error:
                last, unreadable = last + 1, unreadable + 1
    return settings, rows


def _settings_in(connection: sqlite3.Connection) -> dict[str, Any] | None:
    row = connection.execute("select settings from settings").fetchone()
    if row is None:
        return None
    try:
        settings = json.loads(row[0])
    except (TypeError, ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict) or not isinstance(settings.get("metrics"), dict):
        raise DamagedError("its settings cannot be read")
    return settings


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
def _sqlite_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        problem = str(error)
        if "locked" in problem:
            raise InputError(
                f"{str(path.parent)!r} is in use by another batch; wait for its end, or use "
                "another folder"
            ) from error
        if any(words in problem for words in ("not a database", "malformed", "Could not decode")):
            raise DamagedError(problem) from error
        raise OutputError(f"{str(path)!r} cannot be written: {problem}") from error
