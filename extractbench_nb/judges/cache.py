"""The answer cache: one SQLite file in a folder (WAL, values as JSON), shared by processes."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.support.files import make_folder, read_text, user_cache_folder, write_texts

_FILE = "judge_answers.sqlite"  # another form of table needs another name
_TABLE = """CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT NOT NULL,
answer TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL)"""
_INFO = """SELECT COUNT(*), (SELECT page_count * page_size FROM pragma_page_count,
pragma_page_size), TOTAL(cost_usd) FROM answers"""
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class CacheInfo(NamedTuple):
    """What a cache has: its file, answers, bytes, and what they have cost."""

    path: Path
    answers: int
    bytes: int
    cost_usd: float


class Entry(NamedTuple):
    """A stored answer: its key, the whole request, the response, and its counts, if known."""

    key: str
    request: Mapping[str, Any]
    answer: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


def request_key(request: Mapping[str, Any]) -> str:
    """Return the cache key of a request."""
    return hashlib.sha256(_json(request).encode()).hexdigest()


def _json(value: Any) -> str:  # in ASCII, which can represent lone surrogates
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _entry(read: Callable[[], Any]) -> Entry | None:
    """Read an answer; None if it is damaged, or does not belong to its key."""
    with suppress(ValueError, TypeError, RecursionError, LookupError, AttributeError):
        entry: Any = Entry(*read())
        counts = [count for count in entry[3:] if count is not None]
        sound = all(type(count) in (int, float) and 0 <= count < inf for count in counts)
        if sound and isinstance(entry.answer, str) and request_key(entry.request) == entry.key:
            return entry  # type: ignore[no-any-return]
    return None


def _entry_of_row(row: Sequence[Any]) -> Entry | None:
    return _entry(lambda: (row[0], json.loads(row[1]), json.loads(row[2]), *row[3:]))


def read_lines(path: Path) -> list[Entry]:
    """Read a file that `JudgeCache.export` wrote."""
    entries = []
    for number, line in enumerate(read_text(path, "answers").split("\n"), 1):
        entry = _entry(lambda line=line: Entry(**json.loads(line)))  # type: ignore[misc]
        if line and entry is None:
            raise InputError(
                f"line {number} of {str(path)!r} is not an answer under its key; expected a file "
                "that JudgeCache.export wrote"
            )
        entries.append(entry)
    return [entry for entry in entries if entry is not None]


class DamagedError(OutputError):
    """The file of a cache is not a database, or is damaged."""


@dataclass(frozen=True)
class AnswerFile:
    """The file of a `JudgeCache`, and what judges do with it."""

    folder: str | Path | None = None

    def __post_init__(self) -> None:
        """Check the folder, and make it absolute."""
        folder: Any = self.folder
        if folder is not None:
            if not isinstance(folder, str | Path) or not str(folder).strip():
                raise InputError(f"JudgeCache: folder is {folder!r}; expected a folder")
            object.__setattr__(self, "folder", str(Path(folder).expanduser().absolute()))

    @property
    def path(self) -> Path:
        """The file that holds the answers; it need not exist yet."""
        folder = self.folder or os.environ.get("EXTRACTBENCH_JUDGE_CACHE")
        return Path(folder or user_cache_folder() / "judges").expanduser().absolute() / _FILE

    def get(self, key: str) -> Entry | None:
        """Return the answer under a key; None if there is none, or a damaged one."""
        with self.opened() as database:
            row = database.execute("SELECT * FROM answers WHERE key = ?", (key,)).fetchone()
        return row and _entry_of_row(row)

    def store(self, entries: Iterable[Entry], *, replace: bool = False) -> int:
        """Store answers; return how many are new. Existing ones stay, unless `replace`."""
        rows = [(e.key, _json(e.request), _json(e.answer), *e[3:]) for e in entries]
        insert = f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO answers"
        with self.opened() as database:
            before = database.total_changes
            database.executemany(f"{insert} VALUES (?, ?, ?, ?, ?, ?)", rows)
            return database.total_changes - before

    def entries(self) -> list[Entry]:
        """Return all answers, sorted by key; damaged ones are left out."""
        if not self.path.exists():
            return []
        with self.opened() as database:
            rows = database.execute("SELECT * FROM answers ORDER BY key").fetchall()
        return [entry for entry in map(_entry_of_row, rows) if entry is not None]

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, so that no connection is shared by threads."""
        try:
            with closing(_connect(self.path)) as database, database:
                yield database
        except sqlite3.Error as error:
            problem = f"{str(self.path)!r} cannot be used: {error}"
            if _code(error) not in _DAMAGED:
                raise OutputError(problem) from None
            raise DamagedError(f"{problem}; clear() of this cache deletes the file") from None


def _connect(path: Path) -> sqlite3.Connection:
    """Connect to a file, read-only if it cannot be written; create its table if it is new."""
    database = None
    try:
        make_folder(path.parent)
        database = sqlite3.connect(path, timeout=60.0)
        with suppress(sqlite3.OperationalError):  # another process may be doing the same
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
        with database:
            database.execute(_TABLE)
    except (OutputError, sqlite3.Error) as error:
        if database is not None:
            database.close()
        if path.is_file() and (isinstance(error, OutputError) or _code(error) in _READ_ONLY):
            return sqlite3.connect(path.as_uri() + "?immutable=1", uri=True)
        raise
    return database


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", -1) & 0xFF


@dataclass(frozen=True)
class JudgeCache(AnswerFile):
    """Answers of models in one folder, shared by all judges and processes that name it.

    The key of an answer is a hash of the model's id, the messages and the parameters, without the
    address of the server. API keys are never stored. A file that cannot be written is used
    read-only; all methods raise `OutputError` if it cannot be used.

    Parameters
    ----------
    folder : str or pathlib.Path, optional
        By default ``EXTRACTBENCH_JUDGE_CACHE``, else the user's cache folder.

    Examples
    --------
    >>> JudgeCache("answers").path.name
    'judge_answers.sqlite'
    """

    def info(self) -> CacheInfo:
        """Describe the contents.

        Returns
        -------
        tuple of (path, answers, bytes, cost_usd)
            The file, the number of answers, the bytes, and what the answers have cost.
        """
        if not self.path.exists():
            return CacheInfo(self.path, 0, 0, 0.0)
        with self.opened() as database:
            return CacheInfo(self.path, *database.execute(_INFO).fetchone())

    def clear(self) -> int:
        """Delete all answers, or a damaged file.

        Returns
        -------
        int
            Number of answers deleted.
        """
        if not self.path.exists():
            return 0
        try:
            with self.opened() as database:
                count = database.execute("DELETE FROM answers").rowcount
                database.commit()
                database.execute("VACUUM")
                return int(count)
        except DamagedError:
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(_FILE + suffix).unlink(missing_ok=True)
            return 0

    def export(self, path: str | Path) -> int:
        """Write all answers to a file, for `import_` elsewhere.

        Parameters
        ----------
        path : str or pathlib.Path
            A file of JSON lines, sorted by key.

        Returns
        -------
        int
            Number of answers.
        """
        lines = [_json(entry._asdict()) + "\n" for entry in self.entries()]
        write_texts({Path(path).expanduser(): "".join(lines)})
        return len(lines)

    def import_(self, path: str | Path) -> int:
        """Add the answers of a file that `export` wrote, or none if a line is something else.

        Parameters
        ----------
        path : str or pathlib.Path
            The file.

        Returns
        -------
        int
            Number of new answers.
        """
        return self.store(read_lines(Path(path).expanduser()))


#: The cache that judges use when they are given none.
judge_cache = JudgeCache()
