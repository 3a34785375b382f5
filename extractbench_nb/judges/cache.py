"""The answer cache on disk: a second run makes no requests.

One SQLite file in a folder, shared by threads and processes. An answer is stored with the whole
request, as JSON, so that the request can be read and its key checked. A file that cannot be written
is used read-only.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.support.files import make_folder, read_text, user_cache_folder, write_texts

#: Tokens and cost of an answer, if known.
COUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True)
class Entry:
    """A stored answer: the request (model, messages, parameters), the response and its costs."""

    request: Mapping[str, Any]
    answer: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    @cached_property
    def key(self) -> str:
        """The cache key; see `request_key`."""
        return request_key(self.request)


def request_key(request: Mapping[str, Any]) -> str:
    """Return the cache key of a request."""
    return hashlib.sha256(_json(request).encode()).hexdigest()


def read_lines(path: Path) -> Iterator[Entry]:
    """Read a file that `JudgeCache.export` wrote."""
    for number, line in enumerate(read_text(path, "answers").split("\n"), 1):
        entry = None
        with suppress(ValueError, TypeError, RecursionError):
            entry = _checked(**json.loads(line or "{}"))
        if entry is not None:
            yield entry
        elif line:
            raise InputError(
                f"line {number} of {str(path)!r} is not an answer under its key; expected a file "
                "that JudgeCache.export wrote"
            )


def _from_row(row: tuple[Any, ...]) -> Entry | None:
    """Read a row of the table; None if it does not belong to its key."""
    key, request, answer, *counts = row
    with suppress(ValueError, TypeError, RecursionError):
        named = dict(zip(COUNTS, counts, strict=True))
        return _checked(key, json.loads(request), json.loads(answer), **named)
    return None


def _checked(key: str, request: Any, answer: Any, **counts: Any) -> Entry | None:
    """Make an entry of a stored answer; None if it does not belong to its key."""
    known = [count for count in counts.values() if count is not None]
    if not isinstance(answer, str) or not isinstance(request, dict) or request_key(request) != key:
        return None
    if any(type(count) not in (int, float) or not 0 <= count < inf for count in known):
        return None
    return Entry(request, answer, **counts)


def _json(value: Any) -> str:
    """Write JSON in ASCII, which can represent lone surrogates."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


#: Environment variable that names the folder of the cache.
CACHE_VARIABLE = "EXTRACTBENCH_JUDGE_CACHE"

_FILE = "judge_answers.sqlite"
_FORMAT = 1
_BUSY_TIMEOUT_S = 60.0
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, answer TEXT NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL)
"""
_SELECT = f"SELECT key, request, answer, {', '.join(COUNTS)} FROM answers"  # noqa: S608


class _Contents(NamedTuple):
    """The contents of a cache, see `JudgeCache.info`."""

    path: Path
    answers: int
    bytes: int
    cost_usd: float


class JudgeCache:
    """Answers of models in one folder, shared by all judges and processes that name it.

    Parameters
    ----------
    path : str or pathlib.Path, optional
        The folder. By default ``EXTRACTBENCH_JUDGE_CACHE``, else the user's cache folder.

    Raises
    ------
    InputError
        The path is not a str or a Path.

    Notes
    -----
    The key of an answer is a hash of the model's id, the messages and the parameters, without the
    address of the server. API keys are never stored.

    Examples
    --------
    >>> JudgeCache("answers").path.name
    'judge_answers.sqlite'
    """

    def __init__(self, path: str | Path | None = None) -> None:
        folder: object = path
        if folder is not None and not (isinstance(folder, str | Path) and str(folder).strip()):
            raise InputError(f"JudgeCache: path is {path!r}; expected a folder or None")
        self._folder = None if path is None else Path(path).expanduser().absolute()

    @property
    def path(self) -> Path:
        """The file that holds the answers; it need not exist yet."""
        folder, named = self._folder, os.environ.get(CACHE_VARIABLE)
        if folder is None and named:
            folder = Path(named).expanduser().absolute()
        elif folder is None:
            folder = user_cache_folder() / "judges"
        return folder / _FILE

    def __repr__(self) -> str:
        """Write the call that creates the cache."""
        return "JudgeCache()" if self._folder is None else f"JudgeCache({str(self._folder)!r})"

    def __eq__(self, other: object) -> bool:
        """Be equal to a cache in the same folder."""
        return isinstance(other, JudgeCache) and self._folder == other._folder

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self._folder)

    def prepare(self) -> None:
        """Check that the cache can be opened; it may be read-only.

        Raises
        ------
        OutputError
            The file cannot be made or read.
        """
        with self._opened():
            pass

    def get(self, key: str) -> Entry | None:
        """Look an answer up.

        Parameters
        ----------
        key : str
            From `request_key`.

        Returns
        -------
        Entry or None
            None if there is none, or a damaged one.

        Raises
        ------
        OutputError
            The file cannot be used.
        """
        with self._opened() as database:
            row = database.execute(f"{_SELECT} WHERE key = ?", (key,)).fetchone()
        return None if row is None else _from_row(row)

    def put(self, entry: Entry, *, replace: bool = False) -> Entry:
        """Store an answer, unless the request already has one.

        Parameters
        ----------
        entry : Entry
            The answer.
        replace : bool, optional
            Whether to overwrite a stored answer.

        Returns
        -------
        Entry
            The stored answer, which may come from another process that was faster.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        with self._opened() as database:
            new = _insert(database, [entry], "REPLACE" if replace else "IGNORE")
        return entry if new else self.get(entry.key) or self.put(entry, replace=True)

    def info(self) -> _Contents:
        """Describe the contents.

        Returns
        -------
        tuple of (path, answers, bytes, cost_usd)
            The file, the number of answers, the size of the database in bytes, and the cost of the
            answers in US dollars when they were requested; an answer without a known price counts
            as 0. The four are attributes too.

        Raises
        ------
        OutputError
            The file cannot be used.
        """
        path = self.path
        if not path.exists():
            return _Contents(path, 0, 0, 0.0)
        with self._opened() as database:
            row = database.execute(
                "SELECT COUNT(*), (SELECT page_count * page_size FROM pragma_page_count, "
                "pragma_page_size), TOTAL(cost_usd) FROM answers"
            )
            return _Contents(path, *row.fetchone())

    def clear(self) -> int:
        """Delete all answers; a damaged file is deleted.

        Returns
        -------
        int
            Number of answers deleted; 0 if the file is damaged.

        Raises
        ------
        OutputError
            The file cannot be written, or has the format of another version.
        """
        if not self.path.exists():
            return 0
        try:
            with self._opened() as database:
                count = database.execute("DELETE FROM answers").rowcount
                database.commit()
                database.execute("VACUUM")
        except _DamagedError:
            try:
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(_FILE + suffix).unlink(missing_ok=True)
            except OSError as error:
                raise OutputError(f"{str(self.path)!r} cannot be deleted: {error}") from None
            return 0
        return int(count)

    def export(self, path: str | Path) -> int:
        """Write all answers to a file, for `import_` elsewhere.

        Parameters
        ----------
        path : str or pathlib.Path
            A file of JSON lines, one per answer, sorted by key. Equal answers give equal files.

        Returns
        -------
        int
            Number of answers written.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        entries = self.entries()
        lines = [_json({"key": entry.key, **asdict(entry)}) + "\n" for entry in entries]
        write_texts({Path(path).expanduser(): "".join(lines)})
        return len(entries)

    def entries(self) -> list[Entry]:
        """Return all answers with their requests, sorted by key; damaged ones are left out.

        Returns
        -------
        list of Entry
            Empty if there is no file.

        Raises
        ------
        OutputError
            The file cannot be used.
        """
        if not self.path.exists():
            return []
        with self._opened() as database:
            rows = database.execute(f"{_SELECT} ORDER BY key").fetchall()
        return [entry for entry in map(_from_row, rows) if entry is not None]

    def import_(self, path: str | Path) -> int:
        """Add the answers of a file that `export` wrote; existing answers stay.

        Parameters
        ----------
        path : str or pathlib.Path
            The file.

        Returns
        -------
        int
            Number of new answers.

        Raises
        ------
        InputError
            The file cannot be read, or a line is not an answer under its key; then nothing is
            added.
        OutputError
            The cache cannot be written.
        """
        entries = list(read_lines(Path(path).expanduser()))
        with self._opened() as database:
            return _insert(database, entries)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, so that no connection is shared by threads."""
        path = self.path
        try:
            with closing(_connect(path)) as database, database:
                yield database
        except sqlite3.Error as error:
            problem = f"{str(path)!r} cannot be used: {error}"
            if _code(error) not in _DAMAGED:
                raise OutputError(problem) from None
            hint = "; clear() of this cache deletes the damaged file"
            raise _DamagedError(problem + hint) from None


class _DamagedError(OutputError):
    """The file of a cache is not a database, or is damaged."""


def _connect(path: Path) -> sqlite3.Connection:
    """Connect to a file, read-only if it cannot be written; create its table if it is new."""
    try:
        make_folder(path.parent)
        database = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S)
        try:
            _prepare(database)
        except BaseException:
            database.close()
            raise
    except (OutputError, sqlite3.OperationalError) as error:
        if not path.is_file() or not (isinstance(error, OutputError) or _code(error) in _READ_ONLY):
            raise
        return sqlite3.connect(path.as_uri() + "?immutable=1", uri=True)
    return database


def _prepare(database: sqlite3.Connection) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _FORMAT):
        raise sqlite3.DatabaseError(f"it has format {version}, expected {_FORMAT}")
    database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
    if version == 0:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY:  # another process is doing the same
                raise
        with database:
            database.execute(_TABLE)
            database.execute(f"PRAGMA user_version = {_FORMAT}")


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary error code; None for an error of this module."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _insert(database: sqlite3.Connection, entries: Iterable[Entry], other: str = "IGNORE") -> int:
    before = database.total_changes
    rows = [
        (e.key, _json(e.request), _json(e.answer), *(getattr(e, name) for name in COUNTS))
        for e in entries
    ]
    values = "INTO answers VALUES (?, ?, ?, ?, ?, ?)"
    database.executemany(f"INSERT OR {other} {values}", rows)
    return database.total_changes - before


#: The cache that judges use when they are given none.
judge_cache = JudgeCache()
judge_cache.__doc__ = (
    "The cache that judges use when they are given none; see `JudgeCache` for its methods."
)
