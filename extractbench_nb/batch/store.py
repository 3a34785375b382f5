"""Finished outputs on disk, one by one as they come: an SQLite database in the batch's folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb._files import make_folder
from extractbench_nb.batch.cells import escape, unescape, value_from_text, value_to_text
from extractbench_nb.batch.columns import PARTS
from extractbench_nb.batch.settings import refuse_other_settings
from extractbench_nb.errors import InputError, OutputError

__all__ = ["DATABASE", "Entry", "Store", "open_store"]

DATABASE = "finished.sqlite"
_TABLES = f"""
create table if not exists settings (settings text not null);
create table if not exists finished (
  run text not null, document text not null, fingerprint blob not null, summary text not null,
  {", ".join(f"{name} blob not null" for name in PARTS)}, primary key (run, document));
"""
_COLUMNS = ("run", "document", "fingerprint", "summary", *PARTS)
_PLACES = ", ".join("?" * len(_COLUMNS))
_INSERT = f"insert or replace into finished values ({_PLACES})"  # noqa: S608 - no input in it


class Entry(NamedTuple):
    """One finished output as it is kept."""

    run: str
    document: str
    fingerprint: bytes
    summary: tuple[Any, ...]
    parts: Mapping[str, bytes]


class Store:
    """The finished outputs of a batch; one process at a time may have it open.

    Parameters
    ----------
    connection : sqlite3.Connection
        The open database, locked for others.
    path : pathlib.Path
        Its file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    def fingerprint(self, run: str, document: str) -> bytes | None:
        """Return the fingerprint of the inputs that an output was finished with, if it was."""
        found = self._row("fingerprint", run, document)
        return None if found is None else bytes(found[0])

    def add(self, entries: Iterable[Entry]) -> None:
        """Keep finished outputs, all or none of them; they survive the end of the process.

        Parameters
        ----------
        entries : iterable of Entry
            An output that is there already is replaced.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        rows = [
            (
                *map(escape, (entry.run, entry.document)),
                entry.fingerprint,
                escape(value_to_text(entry.summary) or ""),
                *(entry.parts[name] for name in PARTS),
            )
            for entry in entries
        ]
        with _told(self.path), self._connection:
            self._connection.executemany(_INSERT, rows)

    def entry(self, run: str, document: str) -> Entry:
        """Return a finished output."""
        found = self._row(", ".join(_COLUMNS[2:]), run, document)
        if found is None:
            raise InputError(f"{str(self.path)!r} has no run {run!r}, document {document!r}")
        fingerprint, summary, *parts = found
        cells = tuple(value_from_text(unescape(summary)))
        return Entry(run, document, fingerprint, cells, dict(zip(PARTS, parts, strict=True)))

    def settings(self) -> dict[str, Any] | None:
        """Return the settings of the batch; None where there are none yet."""
        with _told(self.path):
            found = self._connection.execute("select settings from settings").fetchone()
        return None if found is None else dict(json.loads(found[0]))

    def keep_settings(self, settings: Mapping[str, Any]) -> None:
        """Keep the settings of the batch."""
        with _told(self.path), self._connection:
            self._connection.execute("delete from settings")
            self._connection.execute("insert into settings values (?)", (json.dumps(settings),))

    def _row(self, columns: str, run: str, document: str) -> Any:
        query = f"select {columns} from finished where run = ? and document = ?"  # noqa: S608 - names of ours
        with _told(self.path):
            return self._connection.execute(query, (escape(run), escape(document))).fetchone()


@contextmanager
def open_store(folder: Path, settings: Mapping[str, Any]) -> Iterator[Store]:
    """Open the finished outputs of a folder, or begin a new one.

    Parameters
    ----------
    folder : pathlib.Path
        Made if it does not exist.
    settings : mapping
        As `settings_of` gives them, among others.

    Yields
    ------
    Store
        Locked for other processes until the block ends.

    Raises
    ------
    InputError
        The folder holds a batch with other settings, or another process has it open.
    OutputError
        The folder cannot be written.
    """
    make_folder(folder)
    path = folder / DATABASE
    with _told(path), closing(_connect(path)) as connection:
        store = Store(connection, path)
        there = store.settings()
        if there is not None:
            refuse_other_settings(settings, there, str(folder))
            settings = {**settings, "metrics": {**there["metrics"], **settings["metrics"]}}
        store.keep_settings(settings)
        yield store


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0)
    try:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.executescript(f"begin exclusive; {_TABLES} commit;")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell what SQLite complains of in our words."""
    try:
        yield
    except sqlite3.Error as error:
        problem = str(error)
        if "locked" in problem:
            raise InputError(
                f"{str(path.parent)!r} is in use by another batch; wait for its end, or use "
                "another folder"
            ) from error
        if "not a database" in problem or "malformed" in problem:
            raise InputError(f"{str(path)!r} is damaged: {problem}") from error
        raise OutputError(f"{str(path)!r} cannot be written: {problem}") from error
