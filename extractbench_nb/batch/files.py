"""The files of a finished batch: its frames as Parquet, and what was done as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._files import make_folder, replacing
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.batch.arrow import arrow_schema, record_batch
from extractbench_nb.batch.assemble import Result, part_batch, summary_batch, summary_spec
from extractbench_nb.batch.cells import ESCAPING, value_to_text
from extractbench_nb.batch.columns import FRAMES, PARTS
from extractbench_nb.batch.settings import FORMAT
from extractbench_nb.evaluation.drift import WARNING_COLUMNS
from extractbench_nb.evaluation.frames import SUMMARY
from extractbench_nb.evaluation.result import Evaluation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DESCRIPTION", "DIGEST", "NAMES", "frame_file", "write_evaluation", "write_files"]

DESCRIPTION = "batch.json"
#: The files of a batch; the last one to be written is the first.
NAMES = (DESCRIPTION, *(f"{name}.parquet" for name in FRAMES))
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
    """Write the files of a batch; all are complete before the first takes its name.

    Parameters
    ----------
    folder : pathlib.Path
        Where to.
    results : iterable of Result
        In order; drawn one by one.
    extras : tuple of Column
        The columns of the user's.
    description : mapping
        JSON values for ``batch.json``; the rows of each frame and the digest are added.

    Returns
    -------
    str
        A digest of the content, which every file holds: equal for equal results.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    specs = {**FRAMES, "summary": summary_spec(extras)}
    with ExitStack() as stack:
        about = stack.enter_context(replacing(folder / DESCRIPTION))
        paths = {name: stack.enter_context(replacing(frame_file(folder, name))) for name in specs}
        own = [[column.name, column.dtype] for column in extras]
        about_all = {**description, "extras": own}
        rows, digest = _write_frames(paths, specs, _Digested(results, about_all))
        text = json.dumps({**about_all, "rows": rows, "digest": digest}, indent=2)
        about.write_text(text + "\n", encoding="utf-8")
    return digest


class _Digested:
    """Results, and a digest of what was drawn of them."""

    def __init__(self, results: Iterable[Result], description: Mapping[str, Any]) -> None:
        self._results = results
        self._hash = hashlib.sha256(json.dumps(description).encode())

    def __iter__(self) -> Iterator[Result]:
        for result in self._results:
            row = value_to_text([result.ids, result.summary, result.extras]) or ""
            parts = [result.parts[name] for name in PARTS]
            for content in (row.encode("utf-8", "surrogatepass"), *parts):
                self._hash.update(hashlib.sha256(content).digest())
            yield result

    def hexdigest(self) -> str:
        """Return the digest of the description and all results drawn so far."""
        return self._hash.hexdigest()


def _write_frames(
    paths: Mapping[str, Path], specs: Mapping[str, FrameSpec], results: _Digested
) -> tuple[dict[str, int], str]:
    with ExitStack() as stack:
        writers = {name: _Writer(paths[name], spec, stack) for name, spec in specs.items()}
        for result in results:
            for name in PARTS:
                writers[name].add(part_batch(name, result))
            writers["summary"].add(summary_batch(specs["summary"], [result]))
        digest = results.hexdigest()
        for writer in writers.values():
            writer.end(digest)
        return {name: writer.rows for name, writer in writers.items()}, digest


def write_evaluation(ev: Evaluation, folder: Path) -> Path:
    """Write the frames of one evaluation, each to a file of its name.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    folder : pathlib.Path
        Where to; made if it does not exist.

    Returns
    -------
    pathlib.Path
        The folder.
    """
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
