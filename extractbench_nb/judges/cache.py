"""The answer cache: one SQLite file in a folder (WAL, values as JSON), shared by processes."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb.errors import OutputError
from extractbench_nb.support.files import make_folder, user_cache_folder

_FILE = "judge_answers.sqlite"  # another form of table needs another name
_TABLE = """CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT NOT NULL,
answer TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL)"""


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


def _entry(*values: Any) -> Entry | None:
    """Make an entry; None if it is damaged, or does not belong to its key."""
    with suppress(ValueError, TypeError, RecursionError):
        key, *texts = values
        entry: Any = Entry(key, *map(json.loads, texts[:2]), *texts[2:])
        if isinstance(entry.answer, str) and request_key(entry.request) == key:
            return entry  # type: ignore[no-any-return]
    return None


class AnswerFile:
    """The file of a `JudgeCache`, and what judges do with it."""

    path: Path

    def get(self, key: str) -> Entry | None:
        """Return the answer under a key; None if there is none, or a damaged one."""
        with self.opened() as database:
            row = database.execute("SELECT * FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else _entry(*row)

    def store(self, entry: Entry, *, replace: bool = False) -> bool:
        """Store an answer; return whether it is new. An existing one stays, unless `replace`."""
        insert = f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO answers"
        row = (entry.key, _json(entry.request), _json(entry.answer), *entry[3:])
        with self.opened() as database:
            return database.execute(f"{insert} VALUES (?, ?, ?, ?, ?, ?)", row).rowcount > 0

    def entries(self) -> list[Entry]:
        """Return all answers, sorted by key; damaged ones are left out."""
        if not self.path.exists():
            return []
        with self.opened() as database:
            rows = database.execute("SELECT * FROM answers ORDER BY key").fetchall()
        return [entry for entry in (_entry(*row) for row in rows) if entry is not None]

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, so that no connection is shared by threads."""
        make_folder(self.path.parent)
        try:
            with closing(sqlite3.connect(self.path, timeout=60.0)) as database, database:
                with suppress(sqlite3.OperationalError):  # another process may be doing the same
                    database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
                database.execute(_TABLE)
                yield database
        except sqlite3.Error as error:
            raise OutputError(f"cache {str(self.path)!r} cannot be used: {error}") from None


@dataclass(frozen=True)
class JudgeCache(AnswerFile):
    """Models' answers in a folder, shared by all judges and processes that use it.

    The key of an answer is a hash of the model's id, the messages and the parameters, without the
    address of the server. API keys are never stored. All methods raise `OutputError` if the file
    cannot be used.

    Parameters
    ----------
    folder : str or pathlib.Path, optional
        By default ``EXTRACTBENCH_JUDGE_CACHE``, else the user's cache folder.

    Examples
    --------
    >>> JudgeCache("answers").path.name
    'judge_answers.sqlite'
    """

    folder: str | Path | None = None

    def __post_init__(self) -> None:
        """Make the folder absolute, for processes that work elsewhere."""
        if self.folder is not None:
            object.__setattr__(self, "folder", str(Path(self.folder).expanduser().absolute()))

    @property
    def path(self) -> Path:  # type: ignore[override]
        """The file with the answers, which need not exist yet."""
        folder = self.folder or os.environ.get("EXTRACTBENCH_JUDGE_CACHE")
        return Path(folder or user_cache_folder() / "judges").expanduser().absolute() / _FILE

    def clear(self) -> None:
        """Delete all answers."""
        if self.path.exists():
            with self.opened() as database:
                database.execute("DELETE FROM answers")


#: The judges' default cache.
judge_cache = JudgeCache()
