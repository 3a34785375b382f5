"""Results in the files of a folder: read when they are asked for, and only while they are the same.

The files of a folder may be written anew, by a batch that is taken up with other inputs. Results
remember the digest of the files that they were made from; each file tells its own.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb._files import make_folder, refuse_irregular, replacing
from extractbench_nb._frames import Column
from extractbench_nb._json import read_document
from extractbench_nb.batch.arrow import to_frame
from extractbench_nb.batch.assemble import summary_spec
from extractbench_nb.batch.columns import FRAMES
from extractbench_nb.batch.files import DESCRIPTION, DIGEST, frame_file
from extractbench_nb.batch.guards import refuse_foreign
from extractbench_nb.batch.settings import FORMAT
from extractbench_nb.batch.store import DATABASE
from extractbench_nb.errors import InputError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["FolderSource", "read_description"]


@dataclass(frozen=True)
class FolderSource:
    """The results in a folder, read from its files when they are asked for.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files are.
    extras : tuple of Column
        The columns of the user's.
    digest : str or None
        Of the files that these results are; None where they tell none.
    """

    folder: Path
    extras: tuple[Column, ...]
    digest: str | None

    def frame(self, name: str) -> pd.DataFrame:
        """Read one of the frames.

        Parameters
        ----------
        name : str
            Which one.

        Returns
        -------
        pandas.DataFrame
            As the batch wrote it.

        Raises
        ------
        InputError
            The file cannot be read, or is of another batch by now.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = frame_file(self.folder, name)
        spec = summary_spec(self.extras) if name == "summary" else FRAMES[name]
        try:
            refuse_irregular(path, "frame")
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                self._refuse_other(path, _digest_of(file))
                table = file.read()
            table.validate(full=True)
            return to_frame(table, spec)
        except InputError:
            raise
        except (OSError, pa.ArrowException, ValueError, LookupError, TypeError) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}") from error

    def save(self, folder: Path) -> None:
        """Copy the files; nothing is written where they are of another batch by now.

        Parameters
        ----------
        folder : pathlib.Path
            Where to.

        Raises
        ------
        InputError
            The files cannot be read, or are of another batch; or the target holds what must not
            be replaced.
        OutputError
            The target cannot be written.
        """
        self._refuse_other(self.folder / DESCRIPTION, read_description(self.folder).get("digest"))
        refuse_foreign(folder)
        make_folder(folder)
        with ExitStack() as stack:
            about = stack.enter_context(replacing(folder / DESCRIPTION))
            self._copy_description(about)
            for name in FRAMES:
                self._copy_frame(name, stack.enter_context(replacing(frame_file(folder, name))))

    def _copy_description(self, target: Path) -> None:
        source = self.folder / DESCRIPTION
        _copy(source, target)
        self._refuse_other(source, _parsed(target).get("digest"))

    def _copy_frame(self, name: str, target: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = frame_file(self.folder, name)
        _copy(source, target)
        try:
            with pq.ParquetFile(target) as file:
                self._refuse_other(source, _digest_of(file))
        except pa.ArrowException as error:
            raise InputError(f"{str(source)!r} cannot be read: {error}") from error

    def _refuse_other(self, path: Path, digest: str | None) -> None:
        if digest == self.digest:
            return
        folder = str(self.folder)
        if path.name != DESCRIPTION and read_description(self.folder).get("digest") == self.digest:
            raise InputError(
                f"{str(path)!r} is not of the batch that {DESCRIPTION} tells of: writing it anew "
                f"has begun and not ended; evaluate_runs(..., resume={folder!r})"
            )
        raise InputError(
            f"{folder!r} has been written anew since; load it again: load_evaluations({folder!r})"
        )


def _digest_of(file: pq.ParquetFile) -> str | None:
    found = (file.metadata.metadata or {}).get(DIGEST)
    return None if found is None else str(found, "utf-8")


def _copy(source: Path, target: Path) -> None:
    try:
        content = source.open("rb")
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"{str(source)!r} cannot be read: {problem}") from error
    with content, target.open("wb") as copy:
        shutil.copyfileobj(content, copy)


def read_description(folder: Path) -> dict[str, Any]:
    """Read ``batch.json``, and check that this package can read the files beside it.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files are.

    Returns
    -------
    dict
        Settings, counts, the user's columns, the digest of the content.

    Raises
    ------
    InputError
        There is no finished batch, or one of another format.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(_why_none(folder))
    return _parsed(path)


def _parsed(path: Path) -> dict[str, Any]:
    found = read_document(path, "batch")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        kind = found.get("format") if isinstance(found, dict) else found
        raise InputError(f"{str(path)!r} has format {kind!r}; this version reads {FORMAT}")
    return found


def _why_none(folder: Path) -> str:
    if not folder.is_dir():
        name = repr(str(folder))
        return f"{name} is a file, not a folder" if folder.exists() else f"no folder {name}"
    begun = (folder / DATABASE).exists()
    hint = f"; its batch is not finished: evaluate_runs(..., resume={str(folder)!r})"
    return f"no {DESCRIPTION} in {str(folder)!r}{hint if begun else ''}"
