"""A batch and its files: finished outputs, part by part, and the frames of all as Parquet.

A folder of a batch::

    parts/settings.json      what must be equal when the batch is resumed
    parts/00000001.json.gz   the finished outputs of one chunk (.damaged: not readable)
    parts/.lock              locked by the process that evaluates
    fields.parquet, ...      the frames, written at the end in the order of the batch
    batch.json               what the batch was, written last

A part is renamed into place when it is complete, and gzip checks its content. So a part is whole,
or its outputs are evaluated again. Values are JSON text everywhere: in memory, parts and frames.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.core import Aligner, Evaluation, Metric, Profile
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import ExtractBenchError, InputError, OutputError, needs
from extractbench_nb.runs.inputs import (
    IDS,
    SUMMARIES,
    Cell,
    Plan,
    own_columns,
    value_to_text,
)
from extractbench_nb.support.files import (
    locked,
    make_folder,
    read_own_file,
    read_own_json,
    reading,
    replacing,
    source_hash,
)
from extractbench_nb.support.wording import cut

if TYPE_CHECKING:
    import pyarrow as pa

# --- columns ----------------------------------------------------------------------------------

#: The frames of one evaluation that have many rows.
PARTS: Final = {
    name: Evaluation.spec(name) for name in ("fields", "arrays", "matches", "judge_calls")
}


def led_by_ids(name: str) -> FrameSpec:
    """Return the columns of a frame of `Evaluation` in a batch."""
    spec = Evaluation.spec(name)
    return FrameSpec(spec.name, f"{spec.grain}, in each run and document", (*IDS, *spec.columns))


FRAMES: Final = {**{name: led_by_ids(name) for name in PARTS}, "summary": SUMMARIES}


def summary_spec(extras: Iterable[Sequence[str]]) -> FrameSpec:
    """Return the columns of ``summary``, the user's own last."""
    return FrameSpec("summary", SUMMARIES.grain, (*SUMMARIES.columns, *own_columns(extras)))


# --- finished outputs in memory -----------------------------------------------------------------

#: The cells of rows by column; values are JSON text.
Columns = Sequence[Sequence[Any]]


class Finished(NamedTuple):
    """One evaluated output: its entries of the summary, and the cells of each part.

    ``settled`` is False if a metric gave no verdict; the output is evaluated again on resuming.
    """

    position: int
    summary: tuple[Any, ...]
    parts: dict[str, Columns]
    settled: bool


class Result(NamedTuple):
    """One output as it is written: its row of ``summary``, and its parts as JSON."""

    row: tuple[Any, ...]
    parts: Sequence[bytes]


def to_columns(spec: FrameSpec, rows: Sequence[Sequence[Any]]) -> Columns:
    """Return the cells of rows by column."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(spec.columns)
    return [
        [value_to_text(cell) for cell in cells] if column.dtype == "object" else cells
        for column, cells in zip(spec.columns, columns, strict=True)
    ]


class MemoryStorage:
    """Keeps finished outputs in memory, and builds each frame once from all of them."""

    def __init__(self, plan: Plan, description: Mapping[str, Any]) -> None:
        self._leading = [(cell.ids, extras) for cell, extras in plan.rows]
        self._finished: dict[int, Finished] = {}
        self.description = description

    def has(self, position: int) -> bool:
        """Say whether the output at a position of the batch is finished."""
        return position in self._finished

    def keep(self, finished: Iterable[Finished]) -> None:
        """Keep the outputs of one chunk."""
        self._finished |= {item.position: item for item in finished}

    def frame(self, name: str) -> pd.DataFrame:
        """Build a frame."""
        outputs = [self._finished[position] for position in range(len(self._leading))]
        if name == "summary":
            spec = summary_spec(self.description["extras"])
            pairs = zip(self._leading, outputs, strict=True)
            return spec.from_rows((*ids, *item.summary, *own) for (ids, own), item in pairs)
        counts = [len(item.parts[name][0]) for item in outputs]
        leading = np.array([*(ids for ids, _ in self._leading), (None,) * len(IDS)], dtype=object)
        cells_of: list[Any] = [
            np.repeat(leading[:-1, n], counts) for n in range(len(IDS))
        ]  # 1 is no scalar
        for number in range(len(PARTS[name].columns)):
            parts = (item.parts[name][number] for item in outputs)
            cells_of.append(list(chain.from_iterable(parts)))
        return _restored(FRAMES[name], cells_of)

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for position, (ids, extras) in enumerate(self._leading):
            item = self._finished[position]
            yield Result((*ids, *item.summary, *extras), _packed(item))


def _packed(item: Finished) -> list[bytes]:
    return [json.dumps(item.parts[name]).encode() for name in PARTS]


# --- finished outputs on disk -----------------------------------------------------------------

PARTS_FOLDER, _SETTINGS_FILE = "parts", "settings.json"
_PART_NAMES = "[0-9]" * 8 + ".json.gz"
_LINES = 1 + len(PARTS)  # of an output in a part
#: Instead of the fingerprint of an output without all verdicts: it is evaluated again.
_OPEN = ""
#: Largest size of a part in memory, however small its file is.
_MOST_BYTES = 2**31


class FolderStorage:
    """Keeps finished outputs in parts; in memory are only their places and fingerprints."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan
        self._places: dict[tuple[str, str], tuple[str, Path, int]] = {}
        self._fingerprints: dict[int, str] = {}
        self._gold_hashes: dict[Path, bytes] = {}
        self._lines_of = lru_cache(maxsize=4)(_read_part)
        paths = sorted(folder.glob(_PART_NAMES))
        self._last = int(paths[-1].name.split(".")[0]) if paths else 0
        for path in paths:
            try:
                headers = [json.loads(line) for line in self._lines_of(path)[::_LINES]]
                places = {
                    (run, document): (fingerprint, path, number)
                    for number, (run, document, fingerprint, _) in enumerate(headers)
                }
            except (ExtractBenchError, ValueError, TypeError, RecursionError, zlib.error) as error:
                problem = f"{str(path)!r} cannot be read, and its outputs are evaluated again"
                warnings.warn(f"{problem}: {error}", stacklevel=5)
                with suppress(OSError):
                    path.replace(path.with_suffix(".damaged"))
            else:
                self._places |= places

    def has(self, position: int) -> bool:
        """Say whether an output was finished with these inputs, and with all verdicts."""
        cell = self._plan.cells[position]
        fingerprint, place = self._fingerprint(cell), self._places.get((cell.run, cell.document))
        if place is not None and place[0] == fingerprint:
            return True
        self._fingerprints[position] = fingerprint
        return False

    def keep(self, finished: Sequence[Finished]) -> None:
        """Write the outputs of one chunk, all or none; they survive the end of the process."""
        if not finished:
            return
        self._last += 1
        path, lines, places = self._folder / f"{self._last:08}.json.gz", list[bytes](), {}
        for number, item in enumerate(finished):
            cell = self._plan.cells[item.position]
            fingerprint = self._fingerprints.pop(item.position)
            fingerprint = fingerprint if item.settled else _OPEN
            header = [cell.run, cell.document, fingerprint, item.summary]
            lines += [json.dumps(header).encode(), *_packed(item)]
            places[cell.run, cell.document] = fingerprint, path, number
        with replacing(path, synced=False) as temporary:  # gzip finds what a power cut left
            temporary.write_bytes(zlib.compress(b"\n".join(lines), level=1, wbits=31))
        self._places |= places

    def results(self) -> Iterator[Result]:
        """Yield all results in order."""
        for cell, extras in self._plan.rows:
            _, path, number = self._places[cell.run, cell.document]
            header, *parts = self._lines_of(path)[number * _LINES : (number + 1) * _LINES]
            yield Result((*cell.ids, *json.loads(header)[-1], *extras), parts)

    def _fingerprint(self, cell: Cell) -> str:
        """Hash the content of a cell's schema, gold, prediction and accepted alternatives."""
        if not isinstance(cell.gold, Path):
            gold_hash = _content_hash(self._plan.gold(cell))
        else:  # the runs share gold files: each is read once
            if cell.gold not in self._gold_hashes:
                self._gold_hashes[cell.gold] = _content_hash(cell.gold)
            gold_hash = self._gold_hashes[cell.gold]
        content = cell.schema_key.encode() + gold_hash + _content_hash(cell.predicted)
        if accepted := self._plan.accepted.get(cell.document):
            content += _content_hash([[row.path, row.value] for row in accepted])
        return hashlib.sha256(content).hexdigest()


def _read_part(path: Path) -> list[bytes]:
    """Return the lines of a part: for each output a header and its frames."""
    stream = zlib.decompressobj(wbits=31)
    content = stream.decompress(read_own_file(path, "part"), _MOST_BYTES)
    if not stream.eof:
        raise InputError("it is cut off, or too large")
    lines = content.split(b"\n")
    if len(lines) % _LINES:
        raise InputError("it is no part of a batch")
    return lines


def _content_hash(source: Any) -> bytes:
    if isinstance(source, Path):
        with reading(f"file {str(source)!r}", source):
            content = b"text" + source.read_bytes()
    elif isinstance(source, str):
        content = b"text" + source.encode("utf-8", "surrogatepass")
    elif source is None:
        content = b"absent"
    else:
        content = b"value" + _utf8(source)
    return hashlib.sha256(content).digest()


@contextmanager
def open_storage(folder: Path, plan: Plan, settings: Mapping[str, Any]) -> Iterator[FolderStorage]:
    """Open the parts of a folder, or begin them, and lock them for this process."""
    parts = make_folder(folder / PARTS_FOLDER)
    in_use = f"{str(folder)!r} is in use by another batch; wait for its end, or use another folder"
    with locked(parts / ".lock", "batch", in_use):
        for temporary in chain(folder.glob(".xb-*.part"), parts.glob(".xb-*.part")):
            with suppress(OSError):  # of a process that was killed
                temporary.unlink()
        path = parts / _SETTINGS_FILE
        if path.exists() or path.is_symlink():
            stored = read_own_json(path, "settings")
            if not isinstance(stored, dict) or not isinstance(stored.get("metrics"), dict):
                raise InputError(f"{str(path)!r} has no settings of a batch; use another folder")
            _refuse_other_settings(settings, stored, str(folder))
            settings = {**settings, "metrics": {**stored["metrics"], **settings["metrics"]}}
        elif any(parts.glob(_PART_NAMES)):
            raise InputError(f"{str(path)!r} is missing; use another folder")
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(settings), encoding="utf-8")
        yield FolderStorage(parts, plan)


# --- settings ---------------------------------------------------------------------------------

#: Changes when the stored columns do; results of other formats cannot be read.
FORMAT = 6
#: The settings on which verdicts depend.
SETTINGS = ("profile", "judge", "judge_options", "alignment", "alignment_options", "metrics")
_LONGEST = 61


def settings_of(
    judge: Judge, alignment: str | Aligner, profile: Profile, metrics: Mapping[str, Metric]
) -> dict[str, Any]:
    """Return the settings that must be equal when a batch is resumed."""
    options, aligner = _fingerprint(alignment), alignment
    if not isinstance(alignment, str):
        name = getattr(alignment, "name", None)
        aligner = name if isinstance(name, str) else type(alignment).__name__
        aligner = source_hash(alignment) if options is None else aligner
    hashes = {}
    for name, metric in sorted(metrics.items()):
        source = source_hash(metric.function) if metric.function is not None else ""
        hashes[name] = f"{source} {metric.params!r} {metric.threshold}"
    return {
        "format": FORMAT,
        "extractbench_nb": __version__,
        "profile": asdict(profile),
        "judge": judge.name,
        "judge_options": _fingerprint(judge),
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


# --- what a folder may be used for ------------------------------------------------------------

DESCRIPTION = "batch.json"
#: The files of a batch, the description first: it is removed first and written last.
NAMES = (DESCRIPTION, *(f"{name}.parquet" for name in FRAMES))


def check_folder(folder: Path, option: str) -> None:
    """Raise `InputError` unless a folder can be used as ``save_to``, ``resume`` or for `save`."""
    name = f"{option} {str(folder)!r}"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{name} is a file, not a folder")
    existing = [file for file in (PARTS_FOLDER, *NAMES) if (folder / file).exists()]
    problem = None
    if option == "resume" and DESCRIPTION in existing and PARTS_FOLDER not in existing:
        problem = f"holds saved results without the folder {PARTS_FOLDER!r}, and cannot be resumed"
    elif option == "save_to" and existing:
        problem = f"holds a batch already ({existing[0]}); resume it, resume={str(folder)!r}"
    elif option == "folder" and existing and not _is_saved(folder):
        problem = f"holds {existing[0]!r}, which is not the result of save()"
    if problem is not None:
        raise InputError(f"{name} {problem}; or use another folder")


def _is_saved(folder: Path) -> bool:
    with suppress(InputError, TypeError):
        is_ours = "extractbench_nb" in read_own_json(folder / DESCRIPTION, "batch")
        return is_ours and not (folder / PARTS_FOLDER).exists()
    return False


def read_description(folder: Path) -> dict[str, Any]:
    """Read ``batch.json``, and check that this package can read the files beside it."""
    path, name = folder / DESCRIPTION, str(folder)
    if not folder.is_dir():
        file = f"{name!r} is a file, not a folder"
        raise InputError(file if folder.exists() else f"no folder {name!r}")
    if not path.is_file():
        hint = f"; its batch is not finished: evaluate_runs(..., resume={name!r})"
        begun = (folder / PARTS_FOLDER).exists()
        raise InputError(f"no {DESCRIPTION} in {name!r}{hint if begun else ''}")
    description = read_own_json(path, "batch")
    found = description.get("format") if isinstance(description, dict) else description
    if not isinstance(description, dict) or found != FORMAT:
        raise InputError(
            f"{str(path)!r} has format {found!r}, this version reads {FORMAT}; "
            "evaluate the outputs again"
        )
    return description


# --- the files of a batch -----------------------------------------------------------------------

#: A row group is written when it has at least this many rows, or bytes of JSON.
_ROWS, _BYTES = 5_000, 2**21


def write_files(folder: Path, results: Iterable[Result], description: Mapping[str, Any]) -> str:
    """Write the files of a batch, and return their digest.

    All are complete before the first takes its final name. From then until the last has its own,
    there is no description, so files of two batches are not taken for one.
    """
    specs = {**FRAMES, "summary": summary_spec(description["extras"])}
    pa, digest = needs("pyarrow", "batch"), hashlib.sha256(json.dumps(description).encode())
    with ExitStack() as stack:
        # the stack closes in reverse order
        description_path = stack.enter_context(replacing(folder / DESCRIPTION))
        paths = {name: stack.enter_context(replacing(folder / f"{name}.parquet")) for name in specs}
        with ExitStack() as files:
            writers = {name: _Writer(paths[name], spec, files) for name, spec in specs.items()}
            try:
                for row, parts in results:
                    writers["summary"].add(to_columns(specs["summary"], [row]))
                    for name, content in zip(PARTS, parts, strict=True):
                        writers[name].add(json.loads(content), row[: len(IDS)], len(content))
                for writer in writers.values():
                    writer.flush()
            except (pa.ArrowException, LookupError, TypeError, ValueError) as error:
                raise InputError(
                    f"stored outputs cannot be read: {type(error).__name__}: {error}; remove "
                    f"{str(folder / PARTS_FOLDER)!r} and evaluate them again"
                ) from error
        for path in paths.values():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        counts = {name: writer.rows for name, writer in writers.items()}
        about = {**description, "rows": counts, "digest": digest.hexdigest()}
        description_path.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        remove_description(folder)
    return digest.hexdigest()


def remove_description(folder: Path) -> None:
    """Remove ``batch.json``: the files beside it are about to be replaced."""
    try:
        (folder / DESCRIPTION).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{str(folder / DESCRIPTION)!r} cannot be removed: {error}") from None


class _Writer:
    """Writes one Parquet file; collects rows until there are enough for a row group."""

    def __init__(self, path: Path, spec: FrameSpec, stack: ExitStack) -> None:
        pq = needs("pyarrow.parquet", "batch")
        values = [column.name for column in spec.columns if column.dtype == "object"]
        about = {"format": FORMAT, "frame": spec.name, "json": values}
        self._schema = _arrow_schema(spec).with_metadata({"extractbench_nb": json.dumps(about)})
        self._file = stack.enter_context(
            pq.ParquetWriter(path, self._schema, compression="zstd", write_page_checksum=True)
        )
        self._waiting: list[Columns] = []
        self._count = self._size = 0
        self.rows = 0

    def add(self, columns: Columns, ids: Sequence[Any] = (), size: int = 0) -> None:
        """Add the rows of an output; write a row group if there are enough."""
        count = len(columns[0])
        if not count:
            return
        self._waiting.append([*([cell] * count for cell in ids), *columns])
        self._count += count
        self._size += size
        if self._count >= _ROWS or self._size >= _BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting as a row group."""
        pa = needs("pyarrow", "batch")
        if self._count:
            columns = [list(chain(*cells)) for cells in zip(*self._waiting, strict=True)]
            pairs = zip(columns, self._schema.types, strict=True)
            arrays = [_arrow_array(cells, kind) for cells, kind in pairs]
            batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            self._file.write_batch(batch, row_group_size=self._count)
        self.rows += self._count
        self._waiting, self._count, self._size = [], 0, 0


def write_evaluation(ev: Evaluation, folder: Path) -> Path:
    """Write each frame of one evaluation to a Parquet file named after it."""
    needs("pyarrow", "batch")
    make_folder(folder)
    frames = {name: getattr(ev, name) for name in (*PARTS, "warnings")}
    frames["summary"] = ev.summary.to_frame().T
    if len(rules := ev.rules):
        frames["rules"] = rules
    for name, frame in frames.items():
        spec = Evaluation.spec(name)
        cells = frame[spec.names].astype(object)
        texts = [column.name for column in spec.columns if column.dtype != "object"]
        cells[texts] = cells[texts].where(cells[texts].notna(), None)
        rows = list(zip(*(cells[name].tolist() for name in spec.names), strict=True))
        with replacing(folder / f"{name}.parquet") as path, ExitStack() as files:
            writer = _Writer(path, spec, files)
            writer.add(to_columns(spec, rows))
            writer.flush()
    return folder


# --- values as text, and texts in Arrow -----------------------------------------------------------


def _utf8(value: Any) -> bytes:
    return (value_to_text(value) or "null").encode("utf-8", "surrogatepass")


#: Columns of values that are tuples.
_TUPLES = ("failed_fields", "paths_gold", "paths_predicted")


def _restored(spec: FrameSpec, cells_of: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Build a frame from cells in which values are JSON text."""
    named = zip(spec.columns, cells_of, strict=True)
    return spec.build({column.name: _values(column, cells) for column, cells in named})


def _values(column: Column, cells: Sequence[Any]) -> Sequence[Any]:
    """Restore values; equal texts and scalars share one object, containers do not."""
    memo: dict[Any, Any] = {}
    if column.dtype == "string":
        return [memo.setdefault(cell, cell) for cell in cells]
    if column.dtype != "object":
        return cells
    restored, is_tuple = [], column.name in _TUPLES
    for text in cells:
        if text is not None and text[0] in "[{" and not is_tuple:
            restored.append(json.loads(text))
            continue
        if text not in memo:
            value: Any = None if text is None else json.loads(text)
            memo[text] = tuple(value) if is_tuple else value
        restored.append(memo[text])
    return restored


@lru_cache(maxsize=64)
def _arrow_schema(spec: FrameSpec) -> pa.Schema:
    """Return the Arrow types of a frame; values are JSON text."""
    pa = needs("pyarrow", "batch")
    texts = {"object": "string"}
    aliases = ((c.name, texts.get(c.dtype, c.dtype.lower())) for c in spec.columns)
    return pa.schema([(name, pa.type_for_alias(alias)) for name, alias in aliases])


def _arrow_array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    pa = needs("pyarrow", "batch")
    try:
        return pa.array(cells, kind)
    except UnicodeEncodeError:  # lone surrogates become escapes, as JSON has them
        texts = (cell and cell.encode("utf-8", "backslashreplace").decode() for cell in cells)
        return pa.array(texts, kind)


def to_frame(table: pa.Table, spec: FrameSpec) -> pd.DataFrame:
    """Restore a frame with the declared dtypes and the values as Python objects."""
    return _restored(spec, (_cells(table.column(column.name)) for column in spec.columns))


def _cells(data: pa.ChunkedArray) -> Any:
    """Return the cells of a column, None where one is missing; each distinct text is made once."""
    if not data.null_count and data.type not in ("string", "bool"):
        return data.to_numpy()
    encoded = data.dictionary_encode().unify_dictionaries().combine_chunks()
    chunk = encoded.chunk(0) if hasattr(encoded, "chunk") else encoded
    distinct = chunk.dictionary.to_pylist()
    codes = chunk.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return np.array([*distinct, None], dtype=object)[codes]
