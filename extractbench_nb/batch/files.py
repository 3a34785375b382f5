"""The files of a finished batch: four frames as Parquet, and what was done as JSON."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._files import make_folder, replacing
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document
from extractbench_nb.batch.arrow import arrow_schema, to_frame
from extractbench_nb.batch.assemble import Result, part_batch, summary_batch, summary_spec
from extractbench_nb.batch.cells import ESCAPING
from extractbench_nb.batch.columns import FRAMES, PARTS
from extractbench_nb.batch.settings import FORMAT
from extractbench_nb.batch.store import DATABASE
from extractbench_nb.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DESCRIPTION",
    "FolderSource",
    "frame_file",
    "read_description",
    "refuse_occupied",
    "refuse_unfinishable",
    "write_files",
]

DESCRIPTION = "batch.json"
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
) -> None:
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
        JSON values for ``batch.json``; the rows of each frame are added.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    specs = {**FRAMES, "summary": summary_spec(extras)}
    with ExitStack() as stack:
        about = stack.enter_context(replacing(folder / DESCRIPTION))
        paths = {name: stack.enter_context(replacing(frame_file(folder, name))) for name in specs}
        rows = _write_frames(paths, specs, results)
        own = [[column.name, column.dtype] for column in extras]
        text = json.dumps({**description, "extras": own, "rows": rows}, indent=2)
        about.write_text(text + "\n", encoding="utf-8")


def _write_frames(
    paths: Mapping[str, Path], specs: Mapping[str, FrameSpec], results: Iterable[Result]
) -> dict[str, int]:
    with ExitStack() as stack:
        writers = {name: _Writer(paths[name], spec, stack) for name, spec in specs.items()}
        for result in results:
            for name in PARTS:
                writers[name].add(part_batch(name, result))
            writers["summary"].add(summary_batch(specs["summary"], [result]))
        for writer in writers.values():
            writer.flush()
        return {name: writer.rows for name, writer in writers.items()}


class _Writer:
    """One file; collects rows until they make a row group."""

    def __init__(self, path: Path, spec: FrameSpec, stack: ExitStack) -> None:
        import pyarrow.parquet as pq

        values = [column.name for column in spec.columns if column.dtype == "object"]
        about = {"format": FORMAT, "frame": spec.name, "json": values, "escapes": ESCAPING}
        schema = arrow_schema(spec).with_metadata({"extractbench_nb": json.dumps(about)})
        self._file = stack.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
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


@dataclass(frozen=True)
class FolderSource:
    """The results in a folder, read from its files when they are asked for.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files are.
    extras : tuple of Column
        The columns of the user's.
    """

    folder: Path
    extras: tuple[Column, ...]

    def frame(self, name: str) -> pd.DataFrame:
        """Read one of the frames."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = frame_file(self.folder, name)
        spec = summary_spec(self.extras) if name == "summary" else FRAMES[name]
        try:
            with pq.ParquetFile(path) as file:
                table = file.read()
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}") from error
        return to_frame(table, spec)

    def save(self, folder: Path) -> None:
        """Copy the files."""
        make_folder(folder)
        refuse_occupied(folder)
        with ExitStack() as stack:
            for name in (DESCRIPTION, *(frame_file(folder, name).name for name in FRAMES)):
                target = stack.enter_context(replacing(folder / name))
                shutil.copyfile(self.folder / name, target)


def refuse_occupied(folder: Path, option: str = "folder") -> None:
    """Raise `InputError` where a folder holds files of a batch."""
    names = [DATABASE, DESCRIPTION, *(frame_file(folder, name).name for name in FRAMES)]
    found = next((name for name in names if (folder / name).exists()), None)
    if found is None:
        return
    hint = f"take it up with resume={str(folder)!r}, or " if found == DATABASE else ""
    raise InputError(
        f"{option} {str(folder)!r} holds a batch already ({found}); {hint}use another folder"
    )


def refuse_unfinishable(folder: Path) -> None:
    """Raise `InputError` where a folder holds results, but not what is needed to take them up."""
    if (folder / DESCRIPTION).exists() and not (folder / DATABASE).exists():
        raise InputError(
            f"resume {str(folder)!r} holds saved results and no {DATABASE}; only a folder that "
            "save_to or resume wrote can be taken up"
        )


def read_description(folder: Path) -> dict[str, Any]:
    """Read ``batch.json``, and check that this package can read the files beside it.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files are.

    Returns
    -------
    dict
        Settings, counts, the user's columns.

    Raises
    ------
    InputError
        There is no finished batch, or one of another format.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        begun = (folder / DATABASE).exists()
        hint = f"; its batch is not finished: evaluate_runs(..., resume={str(folder)!r})"
        raise InputError(f"no {DESCRIPTION} in {str(folder)!r}{hint if begun else ''}")
    found = read_document(path, "batch")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        kind = found.get("format") if isinstance(found, dict) else found
        raise InputError(f"{str(path)!r} has format {kind!r}; this version reads {FORMAT}")
    return found
