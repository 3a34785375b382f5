"""`TableDataset`, `TableTask` and their documents: tables to build, read on first access."""

from __future__ import annotations

import csv
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import read_text
from extractbench_nb.errors import DatasetError, InputError, nearest, needs
from extractbench_nb.runs import RUN_FOLDER, RunFolder, is_run, list_files, list_folders
from extractbench_nb.support.wording import one_line, plural

#: Suffixes of documents, and how they are read.
DOCUMENT_KINDS: Mapping[str, str] = {".md": "md", ".txt": "txt", ".pdf": "pdf", ".docx": "docx"}
#: A larger part of a Word file is refused.
_MOST_BYTES = 200_000_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
#: Suffixes of answers.
_ANSWERS = (".txt", ".csv", ".md", ".json")

#: AOE states a length for each table without its unit.
LENGTH_MEANING = "mean length of a document: as AOE states it, else in characters"

_ID = Column("table", "string", "id of the table, unique in the dataset")

TABLE_COLUMNS = FrameSpec(
    "tables",
    "one row per gold table, in the order of the dataset",
    (
        _ID,
        Column("domain", "string", "finance, legal, academic, ..."),
        Column("task", "string", "kind of table; tables of one task have the same columns"),
        Column("language", "string", "language of query and documents", "en, zh, ..."),
        Column("query", "string", "what the table is asked with"),
        Column("keys", "object", "columns that name a row", "tuple of str"),
        Column("values", "object", "columns that are scored", "tuple of str"),
        Column("numeric", "object", "value columns that hold numbers", "tuple of str"),
        Column("documents", "int64", "documents to read", "0 or more"),
        Column("average_length", "Float64", LENGTH_MEANING, "0 or more", True),
        Column("disagreements", "int64", "planted disagreements between documents", "0 or more"),
    ),
)

DISAGREEMENT_COLUMNS = FrameSpec(
    "disagreements",
    "one row per planted disagreement and document",
    (
        _ID,
        Column("row", "object", "key values of the gold row", "dict"),
        Column("column", "string", "column of the disputed cell"),
        Column("gold", "string", "the value in gold"),
        Column("document", "string", "a document that states a value"),
        Column("says", "string", "what the document says"),
        Column("reason", "string", "why gold follows the document that it follows"),
    ),
)

RUN_COLUMNS = FrameSpec(
    "runs",
    "one row per model answer, ordered by run and table",
    (
        Column("run", "string", "name of the run"),
        _ID,
        Column("predicted", "object", "file with the raw answer; None if a call failed", "", True),
    ),
)

PROBLEM_COLUMNS = FrameSpec(
    "problems",
    "one row per problem, in the order of the dataset",
    (
        Column("table", "string", "id of the table; missing for a line of a file", "", True),
        Column("problem", "string", "short name of the problem"),
        Column("detail", "string", "what was found, and where"),
    ),
)


@dataclass(frozen=True)
class SourceDocument:
    """A document of a task, read on first access.

    Attributes
    ----------
    name : str
        Unique in its task.
    kind : str
        ``md``, ``txt``, ``pdf`` or ``docx``: a file; ``text``: the text is in the dataset.
    path : pathlib.Path or None
        The file.
    """

    name: str
    kind: str
    path: Path | None = None
    _text: str | None = None
    problem: tuple[str, str] | None = None

    @cached_property
    def text(self) -> str:
        """The text of the document.

        Raises
        ------
        DatasetError
            If the file is missing or cannot be read.
        """
        if self._text is not None:
            return self._text
        if self.problem is not None or self.path is None:
            raise DatasetError(self.problem[1] if self.problem else f"{self.name!r} has no text")
        try:
            if self.kind == "pdf":
                from extractbench_nb.pdf import read_pages

                return "\n\n".join(read_pages(self.path))
            if self.kind == "docx":
                return _word_text(self.path)
            return read_text(self.path, "document")
        except InputError as error:
            raise DatasetError(str(error)) from None


def _word_text(path: Path) -> str:
    """Return the paragraphs of a Word file, one per line, without empty ones."""
    etree = needs("lxml.etree", "construction")

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        with zipfile.ZipFile(path) as archive:
            part = archive.getinfo("word/document.xml")
            if part.file_size > _MOST_BYTES:
                raise DatasetError(f"{path}: its text has more than {_MOST_BYTES:,} bytes")
            root = etree.fromstring(archive.read(part), parser)
    except (OSError, KeyError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
        raise DatasetError(f"{path}: not a Word file: {error}") from None
    paragraphs = (
        "".join(text.text or "" for text in paragraph.iter(f"{_WORD}t"))
        for paragraph in root.iter(f"{_WORD}p")
    )
    return "\n".join(text.strip() for text in paragraphs if text.strip())


class Problem(NamedTuple):
    """A problem of a dataset; the fields are the columns of `PROBLEM_COLUMNS`."""

    table: str | None
    problem: str
    detail: str


@dataclass(frozen=True, repr=False)
class TableTask:
    """One table to build: its query, documents and gold table.

    Made by `load`.

    Attributes
    ----------
    id : str
        Unique in the dataset.
    domain, task, language : str
        Groups of the table; tables of one task have the same columns.
    query : str
        The request for the table.
    keys, values, numeric : tuple of str
        Columns that identify a row, columns that are scored, and scored columns of numbers.
    documents : tuple of SourceDocument
        The documents; they are read on access to `texts`.
    disagreements : tuple of dict
        Planted disagreements: row, column, gold, says (document: value), reason.
    stated_length : float or None
        Mean length of a document as the dataset states it.
    """

    id: str
    domain: str
    task: str
    language: str
    query: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    numeric: tuple[str, ...] = ()
    documents: tuple[SourceDocument, ...] = ()
    disagreements: tuple[Mapping[str, Any], ...] = ()
    stated_length: float | None = None
    _gold: Path | Sequence[Sequence[str]] = ()
    _found: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def gold(self) -> pd.DataFrame:
        """The gold table: texts as written; an absent value is an empty text.

        Raises
        ------
        DatasetError
            If the file cannot be read, has no header, or names a column twice.
        """
        header, rows = self._table
        columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
        return pd.DataFrame(columns, columns=list(header), dtype=pd.StringDtype("python"))

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the documents by name, in order.

        Raises
        ------
        DatasetError
            If a document is missing or cannot be read.
        """
        return {document.name: document.text for document in self.documents}

    @cached_property
    def average_length(self) -> float | None:
        """Mean length of a document: as stated, else in characters; None if one is unreadable."""
        if self.stated_length is not None or not self.documents:
            return self.stated_length
        try:
            return sum(map(len, self.texts.values())) / len(self.documents)
        except DatasetError:
            return None

    @cached_property
    def _table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Return the header and the rows of gold, all of the header's width."""
        where = str(self._gold) if isinstance(self._gold, Path) else f"table {self.id!r}"
        rows = _csv_rows(self._gold) if isinstance(self._gold, Path) else [*self._gold]
        rows = [list(row) for row in rows if any(cell.strip() for cell in row)]
        if not rows:
            raise DatasetError(f"{where}: the gold table has no header")
        header, body = tuple(name.strip() for name in rows[0]), rows[1:]
        twice = [name for name, count in Counter(header).items() if count > 1]
        if twice:
            raise DatasetError(f"{where}: more than one gold column is named {twice[0]!r}")
        for number, row in enumerate(body, 1):
            if len(row) > len(header):
                raise DatasetError(
                    f"{where}: row {number} has {len(row)} cells, the header {len(header)}; a cell "
                    "with a comma needs quotes"
                )
        return header, [row + [""] * (len(header) - len(row)) for row in body]

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Possible problems of the task; found without reading the documents."""
        return (*self._found, *self._problems())

    def _problems(self) -> Iterator[Problem]:
        for document in self.documents:
            if document.problem:
                yield Problem(self.id, *document.problem)
        if not self.documents:
            yield Problem(self.id, "no_documents", "the task has no documents")
        try:
            header, _ = self._table
        except DatasetError as error:
            yield Problem(self.id, "unreadable_gold", str(error))
            return
        for kind, names in (("key", self.keys), ("value", self.values), ("numeric", self.numeric)):
            for name in names:
                if name not in header:
                    detail = f"gold has no column {name!r}; {nearest(name, header)}"
                    yield Problem(self.id, f"missing_{kind}_column", detail)

    def __repr__(self) -> str:
        """Return id, query and counts."""
        return (
            f"TableTask {self.id!r}: {plural(len(self.documents), 'document')}, "
            f"keys {', '.join(self.keys) or 'none'}; {one_line(self.query)}"
        )


@dataclass(frozen=True, repr=False)
class TableDataset:
    """Tables to build from documents; made by `load`. Each access to a frame returns a copy.

    Iterating gives the `TableTask` objects; ``dataset[id]`` gives one of them.

    Attributes
    ----------
    name : str
        ``"sample"``, ``"AOE"``, or the name of the folder.
    root : pathlib.Path
        The folder or file.
    """

    name: str
    root: Path
    _tasks: tuple[TableTask, ...] = ()
    _found: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[TableTask]:
        """Iterate over the tables."""
        return iter(self._tasks)

    def __getitem__(self, table: str) -> TableTask:
        """Return the table with an id."""
        for task in self._tasks:
            if task.id == table:
                return task
        raise DatasetError(f"no table {table!r}; {nearest(table, (t.id for t in self._tasks))}")

    @property
    def tables(self) -> pd.DataFrame:
        """One row per table (see `TABLE_COLUMNS`); reads documents whose length is not stated."""
        return TABLE_COLUMNS.from_rows(
            (
                *(t.id, t.domain, t.task, t.language, t.query, t.keys, t.values, t.numeric),
                *(len(t.documents), t.average_length, len(t.disagreements)),
            )
            for t in self._tasks
        )

    @property
    def disagreements(self) -> pd.DataFrame:
        """One row per planted disagreement and document (see `DISAGREEMENT_COLUMNS`)."""
        return DISAGREEMENT_COLUMNS.from_rows(
            (task.id, one["row"], one["column"], one["gold"], document, said, one["reason"])
            for task in self._tasks
            for one in task.disagreements
            for document, said in one["says"].items()
        )

    @property
    def runs(self) -> pd.DataFrame:
        """One row per answer in ``runs/{run}/`` (see `RUN_COLUMNS`): files, or a run's folder.

        Raises
        ------
        DatasetError
            If an answer's name is not a table of this dataset.
        """
        folder = self.root if self.root.is_dir() else self.root.parent
        return answers_in(folder / RUN_FOLDER, {task.id for task in self._tasks})

    @property
    def problems(self) -> pd.DataFrame:
        """One row per problem of the dataset; reads all gold tables (see `PROBLEM_COLUMNS`)."""
        return PROBLEM_COLUMNS.from_rows(
            (*self._found, *(problem for task in self._tasks for problem in task.problems))
        )

    def __repr__(self) -> str:
        """Return counts, the folder, and one line per domain, task and language."""
        documents = sum(len(task.documents) for task in self._tasks)
        counts = [plural(len(self), "table"), plural(documents, "document")]
        counts += [plural(len(self._found), "problem")] if self._found else []
        tasks = Counter(f"{t.domain}/{t.task} ({t.language})" for t in self._tasks)
        lines = [f"TableDataset {self.name!r}: {', '.join(counts)}", f"  {self.root}"]
        lines += [f"  {name:<40} {plural(count, 'table')}" for name, count in tasks.items()]
        return "\n".join(lines)


def answers_in(folder: Path, tables: Collection[str]) -> pd.DataFrame:
    """List the answers of runs in a folder: ``{run}/{table}.*``, or folders of `construct`."""
    rows: list[tuple[str, str, Path | None]] = []
    for run in list_folders(folder):
        if is_run(run):
            files = {name: run / f"{name}.raw.txt" for name in RunFolder.open(run).documents}
            answers = [(name, file if file.is_file() else None) for name, file in files.items()]
        else:
            paths = (file for suffix in _ANSWERS for file in list_files(run, suffix))
            answers = [(path.stem, path) for path in paths]
        for name, path in answers:
            if name not in tables:
                raise DatasetError(f"{path or run}: no table {name!r}; {nearest(name, tables)}")
            rows.append((run.name, name, path))
    return RUN_COLUMNS.from_rows(sorted(rows, key=itemgetter(0, 1)))


def task_text(path: Path) -> str:
    """Read a text file of a dataset, or raise a `DatasetError`."""
    try:
        return read_text(path, "task")
    except InputError as error:
        raise DatasetError(str(error)) from None


def _csv_rows(path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(StringIO(task_text(path), newline="")))
    except csv.Error as error:
        raise DatasetError(f"{path}: not CSV: {error}") from None
