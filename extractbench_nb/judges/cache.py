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
#: Environment variable that names the folder of the cache.
CACHE_VARIABLE = "EXTRACTBENCH_JUDGE_CACHE"
_FILE = "judge_answers.sqlite"
_FORMAT = 1
_BUSY_TIMEOUT_S = 60.0
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, answer TEXT NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL)
"""
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


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


def _json(value: Any) -> str:  # in ASCII, which can represent lone surrogates
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _checked(key: str, request: Any, answer: Any, *counts: Any) -> Entry | None:
    """Make an entry of a stored answer; None if it does not belong to its key."""
    sound = all(c is None or (type(c) in (int, float) and 0 <= c < inf) for c in counts)
    if not sound or not isinstance(answer, str) or not isinstance(request, dict):
        return None
    return Entry(request, answer, *counts) if request_key(request) == key else None


def _from_row(row: tuple[Any, ...]) -> Entry | None:
    with suppress(ValueError, TypeError, RecursionError):
        return _checked(row[0], json.loads(row[1]), json.loads(row[2]), *row[3:])
    return None


def read_lines(path: Path) -> Iterator[Entry]:
    """Read a file that `JudgeCache.export` wrote."""
    for number, line in enumerate(read_text(path, "answers").split("\n"), 1):
        entry = None
        with suppress(ValueError, TypeError, RecursionError, LookupError, AttributeError):
            document = json.loads(line or "[]")
            values = [document.pop(name) for name in ("key", "request", "answer", *COUNTS)]
            entry = None if document else _checked(*values)
        if entry is not None:
            yield entry
        elif line:
            raise InputError(
                f"line {number} of {str(path)!r} is not an answer under its key; expected a file "
                "that JudgeCache.export wrote"
            )


class _Contents(NamedTuple):
    """The contents of a cache, see `JudgeCache.info`."""

    path: Path
    answers: int
    bytes: int
    cost_usd: float


class _DamagedError(OutputError):
    """The file of a cache is not a database, or is damaged."""


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
    address of the server. API keys are never stored. All methods raise `OutputError` if the file
    cannot be used, and `info`, `clear` and `export` create no file.

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
        named = os.environ.get(CACHE_VARIABLE)
        chosen = Path(named).expanduser().absolute() if named else user_cache_folder() / "judges"
        return (self._folder or chosen) / _FILE

    def __repr__(self) -> str:
        """Write the call that creates the cache."""
        return f"JudgeCache({'' if self._folder is None else repr(str(self._folder))})"

    def __eq__(self, other: object) -> bool:
        """Be equal to a cache in the same folder."""
        return isinstance(other, JudgeCache) and self._folder == other._folder

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self._folder)

    def info(self) -> _Contents:
        """Describe the contents.

        Returns
        -------
        tuple of (path, answers, bytes, cost_usd)
            The file, the number of answers, the size of the database in bytes, and the cost of the
            answers in US dollars when they were requested; an answer without a known price counts
            as 0. The four are attributes too.
        """
        if not self.path.exists():
            return _Contents(self.path, 0, 0, 0.0)
        with opened(self) as database:
            row = database.execute(
                "SELECT COUNT(*), (SELECT page_count * page_size FROM pragma_page_count, "
                "pragma_page_size), TOTAL(cost_usd) FROM answers"
            )
            return _Contents(self.path, *row.fetchone())

    def clear(self) -> int:
        """Delete all answers; a damaged file is deleted.

        Returns
        -------
        int
            Number of answers deleted; 0 if the file is damaged.
        """
        if not self.path.exists():
            return 0
        try:
            with opened(self) as database:
                count = database.execute("DELETE FROM answers").rowcount
                database.commit()
                database.execute("VACUUM")
                return int(count)
        except _DamagedError:
            try:
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(_FILE + suffix).unlink(missing_ok=True)
            except OSError as error:
                raise OutputError(f"{str(self.path)!r} cannot be deleted: {error}") from None
            return 0

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
        """
        entries = entries_of(self)
        lines = [_json({"key": entry.key, **asdict(entry)}) + "\n" for entry in entries]
        write_texts({Path(path).expanduser(): "".join(lines)})
        return len(entries)

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
        """
        return store(self, list(read_lines(Path(path).expanduser())))


@contextmanager
def opened(cache: JudgeCache) -> Iterator[sqlite3.Connection]:
    """Open the file for one transaction, so that no connection is shared by threads."""
    try:
        with closing(_connect(cache.path)) as database, database:
            yield database
    except sqlite3.Error as error:
        problem = f"{str(cache.path)!r} cannot be used: {error}"
        if _code(error) not in _DAMAGED:
            raise OutputError(problem) from None
        hint = "; clear() of this cache deletes the damaged file"
        raise _DamagedError(problem + hint) from None


def look_up(cache: JudgeCache, key: str) -> Entry | None:
    """Return the answer under a key; None if there is none, or a damaged one."""
    with opened(cache) as database:
        row = database.execute("SELECT * FROM answers WHERE key = ?", (key,)).fetchone()
    return None if row is None else _from_row(row)


def store(cache: JudgeCache, entries: Iterable[Entry], *, replace: bool = False) -> int:
    """Store answers, and return how many are new; unless told to, none of them is replaced."""
    rows = [
        (e.key, _json(e.request), _json(e.answer), *(getattr(e, name) for name in COUNTS))
        for e in entries
    ]
    with opened(cache) as database:
        before, action = database.total_changes, "REPLACE" if replace else "IGNORE"
        values = "INTO answers VALUES (?, ?, ?, ?, ?, ?)"
        database.executemany(f"INSERT OR {action} {values}", rows)
        return database.total_changes - before


def keep(cache: JudgeCache, entry: Entry, *, replace: bool = False) -> Entry:
    """Store an answer; return the stored one, which another process may have found faster."""
    if store(cache, [entry], replace=replace):
        return entry
    return look_up(cache, entry.key) or keep(cache, entry, replace=True)


def entries_of(cache: JudgeCache) -> list[Entry]:
    """Return all answers, sorted by key; damaged ones are left out."""
    if not cache.path.exists():
        return []
    with opened(cache) as database:
        rows = database.execute("SELECT * FROM answers ORDER BY key").fetchall()
    return [entry for entry in map(_from_row, rows) if entry is not None]


def _connect(path: Path) -> sqlite3.Connection:
    """Connect to a file, read-only if it cannot be written; create its table if it is new."""
    try:
        make_folder(path.parent)
        database = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S)
        try:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise sqlite3.DatabaseError(f"it has format {version}, expected {_FORMAT}")
            database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
            if version == 0:
                with suppress(sqlite3.OperationalError):  # another process is doing the same
                    database.execute("PRAGMA journal_mode = WAL")
                with database:
                    database.execute(_TABLE)
                    database.execute(f"PRAGMA user_version = {_FORMAT}")
        except BaseException:
            database.close()
            raise
    except (OutputError, sqlite3.OperationalError) as error:
        if not path.is_file() or not (isinstance(error, OutputError) or _code(error) in _READ_ONLY):
            raise
        return sqlite3.connect(path.as_uri() + "?immutable=1", uri=True)
    return database


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary error code; None for an error of this module."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


#: The cache that judges use when they are given none.
judge_cache = JudgeCache()
judge_cache.__doc__ = (
    "The cache that judges use when they are given none; see `JudgeCache` for its methods."
)
