"""Writing files atomically: a file is complete before it takes its final name."""

from __future__ import annotations

import hashlib
import inspect
import json
import marshal
import os
import shutil
import stat
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from extractbench_nb.errors import InputError, OutputError, needs


def make_folder(folder: Path) -> Path:
    """Make a folder and its parents, or raise one clear `OutputError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{str(folder)!r} is a file, not a folder") from error
    except (OSError, ValueError) as error:  # a NUL or a lone surrogate raises a ValueError
        raise _failed(folder, error) from error
    return folder


def refuse_irregular(path: Path, what: str) -> None:
    """Raise `InputError` if a path is not a regular file: a link, a pipe, a device."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return  # opening the file raises the error
    if not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise InputError(f"{what} file {str(path)!r} is {kind}; it is not read")


@contextmanager
def reading(what: str, path: Path | None = None) -> Iterator[None]:
    """Raise `InputError` where a file or folder cannot be read in the block.

    If `path` is given, it must be a regular file: a pipe would block, and a device has no end.
    """
    try:
        if path is not None and not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{what} cannot be read: it is not a regular file")
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"{what} cannot be read: {problem}") from None


def read_own_file(path: Path, what: str) -> bytes:
    """Read a file of this package from a folder that others may have changed."""
    refuse_irregular(path, what)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"{what} file {str(path)!r} cannot be read: {problem}") from None


def read_own_json(path: Path, what: str) -> Any:
    """Read JSON from a file that this package wrote; raises `InputError` as `read_own_file`."""
    try:
        return json.loads(read_own_file(path, what).decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{what} file {str(path)!r} does not exist") from None
    except (RecursionError, ValueError) as error:  # it may be no UTF-8
        raise InputError(f"{what} file {str(path)!r} is not JSON: {error}") from None


@contextmanager
def locked(path: Path, extra: str, in_use: str) -> Iterator[None]:
    """Lock a file for this process, or raise `InputError` with the text `in_use`.

    The file stays: another process may wait for it.
    """
    filelock = needs("filelock", extra)
    lock = filelock.FileLock(path, timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise InputError(in_use) from None
    except OSError as error:
        raise _failed(path, error) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def replacing(path: Path, *, synced: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` if the block succeeds."""
    temporary: Path | None = None
    try:
        # a short name: the final one may have the maximum length of the file system
        handle, name = tempfile.mkstemp(prefix=".xb-", suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        if synced:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        _set_mode(temporary, 0o666)
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise _failed(path, error) from error
        raise


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill, which becomes `folder` if the block succeeds."""
    temporary: Path | None = None
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{str(folder)!r} exists; expected a new or an empty folder")
        make_folder(folder.parent)
        temporary = Path(tempfile.mkdtemp(prefix=".xb-", suffix=".part", dir=folder.parent))
        yield temporary
        _set_mode(temporary, 0o777)
        if folder.is_dir():
            folder.rmdir()  # an empty one, which Windows does not replace
        temporary.rename(folder)
    except BaseException as error:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise _failed(folder, error) from error
        raise


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files: all are complete before the first takes its final name."""
    with ExitStack() as stack:
        for path, text in texts.items():
            temporary = stack.enter_context(replacing(path))
            temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


def _set_mode(path: Path, mode: int) -> None:
    """Set the usual permissions of new files, which temporary ones have not."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(mode & ~mask)


def _failed(path: Path, error: OSError | ValueError) -> OutputError:
    problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return OutputError(f"{str(path)!r} cannot be written: {problem}")


CACHE_VARIABLE = "EXTRACTBENCH_CACHE"
CACHE_NAME = "extractbench-nb"


def cache_folder() -> Path:
    """Return the cache folder: ``EXTRACTBENCH_CACHE``, else this package's cache of the user."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else user_cache_folder()


def user_cache_folder() -> Path:
    """Return this package's cache of the user, where the operating system wants it."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / CACHE_NAME / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / CACHE_NAME
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / CACHE_NAME


def file_hash(path: Path) -> str | None:
    """Return the SHA-256 of a file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe would block
            return None
        return _hash(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_hash(function: Any) -> str:
    """Hash the source of a function, or its bytecode if the source is not available."""
    for thing in (function, type(function)):
        with suppress(OSError, TypeError, SyntaxError, tokenize.TokenError):  # not Python
            return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    code = getattr(function, "__code__", None)
    content = marshal.dumps(code) if code is not None else repr(type(function)).encode()
    return hashlib.sha256(content).hexdigest()


def read_text(path: Path, what: str) -> str:
    """Read a UTF-8 file (a byte-order mark is dropped), or raise one clear `InputError`."""
    try:
        with reading(f"{what} file {str(path)!r}", path):
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} file {str(path)!r} is not UTF-8: {error}") from None
