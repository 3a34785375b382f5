"""Finished outputs on disk, one by one as they come: an SQLite database in the batch's folder."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from extractbench_nb._files import make_folder, refuse_irregular
from extractbench_nb.batch.cells import escape, unescape, value_from_text, value_to_text
from extractbench_nb.batch.columns import PARTS
from extractbench_nb.batch.settings import refuse_other_settings
from extractbench_nb.errors import InputError, OutputError

__all__ = ["DATABASE", "Entry", "Store", "open_store"]

DATABASE = "finished.sqlite"
_TABLES = f"""
create table if not exists settings (settings text not null);
create table if not exists outputs (
  run text not null, document text not null, fingerprint blob not null, summary text not null,
  {", ".join(f"{name} blob not null" for name in PARTS)}, digest blob not null,
  primary key (run, document));
"""
_COLUMNS = ("run", "document", "fingerprint", "summary", *PARTS, "digest")
_PLACES = ", ".join("?" * len(_COLUMNS))
_SELECT = f"select {', '.join(_COLUMNS)} from outputs where run = ? and document = ?"  # noqa: S608 - no input in it
_INSERT = f"insert or replace into outputs values ({_PLACES})"  # noqa: S608 - no input in it


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
        found = self._row(run, document)
        return None if found is None else found.fingerprint

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
        rows = []
        for entry in entries:
            names = map(escape, (entry.run, entry.document))
            summary = escape(value_to_text(entry.summary) or "")
            parts = [entry.parts[name] for name in PARTS]
            row = (*names, entry.fingerprint, summary, *parts)
            rows.append((*row, _digest(row)))
        with _told(self.path), self._connection:
            self._connection.executemany(_INSERT, rows)

    def entry(self, run: str, document: str) -> Entry:
        """Return a finished output."""
        found = self._row(run, document)
        if found is None:
            raise InputError(f"{str(self.path)!r} has no run {run!r}, document {document!r}")
        return found

    def settings(self) -> dict[str, Any] | None:
        """Return the settings of the batch; None where there are none yet."""
        with _told(self.path):
            found = self._connection.execute("select settings from settings").fetchone()
        if found is None:
            return None
        try:
            settings = json.loads(found[0])
        except (TypeError, ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict) or not isinstance(settings.get("metrics"), dict):
            self.refuse("its settings cannot be read")
        return settings

    def keep_settings(self, settings: Mapping[str, Any]) -> None:
        """Keep the settings of the batch."""
        with _told(self.path), self._connection:
            self._connection.execute("delete from settings")
            self._connection.execute("insert into settings values (?)", (json.dumps(settings),))

    def refuse(self, problem: str) -> NoReturn:
        """Raise `InputError`: something in the file is not as it was written."""
        raise InputError(
            f"{str(self.path)!r} is damaged: {problem}; remove it, and its outputs are evaluated "
            "again"
        )

    def _row(self, run: str, document: str) -> Entry | None:
        """Read an output, and check that it is as it was written."""
        key = (escape(run), escape(document))
        with _told(self.path):
            row = self._connection.execute(_SELECT, key).fetchone()
        if row is None:
            return None
        *content, digest = row
        if digest != _digest(content):
            self.refuse(f"run {run!r}, document {document!r} is not as it was written")
        _, _, fingerprint, summary, *parts = content
        try:
            cells = tuple(value_from_text(unescape(summary)))
        except (TypeError, ValueError, RecursionError):
            self.refuse(f"run {run!r}, document {document!r} has no summary")
        return Entry(run, document, fingerprint, cells, dict(zip(PARTS, parts, strict=True)))


def _digest(row: Sequence[Any]) -> bytes | None:
    """Return the SHA-256 of an output's columns; None where one is of another type."""
    texts, blobs = (*row[:2], row[3]), (row[2], *row[4:])
    if not all(isinstance(text, str) for text in texts):
        return None
    if not all(isinstance(blob, bytes) for blob in blobs):
        return None
    contents = (*(text.encode("utf-8", "surrogatepass") for text in texts), *blobs)
    return hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents)).digest()


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
    refuse_irregular(path, "database")
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
