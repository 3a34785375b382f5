"""Writing files so that nothing is ever half-written under its final name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from extractbench_nb.errors import OutputError

__all__ = ["make_folder", "replacing", "write_texts"]


def make_folder(folder: Path) -> Path:
    """Make a folder and its parents, or raise one clear `OutputError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{str(folder)!r} is a file, not a folder") from error
    except (OSError, ValueError) as error:  # a NUL or a lone surrogate is no OSError
        raise _failed(folder, error) from error
    return folder


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of `path` when all went well.

    Parameters
    ----------
    path : pathlib.Path
        The final name. What is there stays until the new file is complete.

    Yields
    ------
    pathlib.Path
        A new empty file in the same folder; removed where the block fails.

    Raises
    ------
    OutputError
        The file cannot be written: no space, no permission, no such folder.
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        _finish(temporary)
        temporary.replace(path)
    except OSError as error:
        _remove(temporary)
        raise _failed(path, error) from error
    except BaseException:
        _remove(temporary)
        raise


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files: all are complete before the first takes its final name.

    Parameters
    ----------
    texts : mapping of pathlib.Path to str
        What to write where, as UTF-8. A lone surrogate is written as its escape.

    Raises
    ------
    OutputError
        A file cannot be written; none of the files has changed then, unless a rename itself fails.
    """
    with ExitStack() as stack:
        for path, text in texts.items():
            temporary = stack.enter_context(replacing(path))
            temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


def _finish(temporary: Path) -> None:
    """Give the file what other new files have: contents on disk, the user's usual permissions."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)


def _remove(temporary: Path | None) -> None:
    if temporary is not None:
        with suppress(OSError):
            temporary.unlink()


def _failed(path: Path, error: OSError | ValueError) -> OutputError:
    problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return OutputError(f"{str(path)!r} cannot be written: {problem}")
