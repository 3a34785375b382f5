"""`load`: tasks whose answer is one table built from several documents.

Four layouts are read: AOE's JSONL with its folders of documents, this package's folder layout,
cases of DTBench, and the sample of this package. The folder layout, one folder per task::

    {task}/task.yaml        domain, language, query, keys, values, numeric, disagreements
    {task}/gold.csv         the gold table; the first row names the columns
    {task}/documents/*      .md, .txt, .pdf or .docx
    runs/{run}/{task}.*     (optional: raw answers of models, .txt, .csv, .md or .json)

AOE's files are public (https://huggingface.co/datasets/tianyumyum/AOE): the tables in
``table_data/all_AOE_tables.jsonl``, the documents in ``documents.tar``, which unpacks to the
folders ``academic``, ``financial`` and ``law_docx``. `load` takes the folder that holds them all.

Nothing is downloaded. Documents and gold tables are read on first access.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document, read_text
from extractbench_nb.benchmark.dataset import RUN_FOLDER, list_files, list_folders, load_dataset
from extractbench_nb.construction.sources import (
    DOCUMENT_KINDS,
    SourceDocument,
    aoe_columns,
    aoe_documents,
    split_record_id,
)
from extractbench_nb.display.html import table as html_table
from extractbench_nb.display.text import one_line, plural
from extractbench_nb.errors import DatasetError, InputError, nearest

AOE_FILE = "all_AOE_tables.jsonl"
GOLD_FILE, TASK_FILE, DOCUMENT_FOLDER = "gold.csv", "task.yaml", "documents"
SAMPLE_FOLDER = "construction"
#: Suffixes of answers.
_ANSWERS = (".txt", ".csv", ".md", ".json")
#: What `load` takes for the laws of AOE's legal task 0.
LAWS = ("cited", "all", "none")

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
        Column("average_length", "Float64", "mean length of a document as AOE states it", "", True),
        Column("disagreements", "int64", "planted disagreements between documents", "0 or more"),
    ),
)

SOURCE_COLUMNS = FrameSpec(
    "documents",
    "one row per table and document, in the order of the dataset",
    (
        _ID,
        Column("document", "string", "name of the document, unique in the table"),
        Column("kind", "string", "how it is read", ", ".join((*DOCUMENT_KINDS.values(), "text"))),
        Column("path", "object", "file; missing where the text is in the dataset", "Path", True),
        Column("bytes", "Int64", "size of the file or text; missing without a file", "", True),
    ),
)

TASK_COLUMNS = FrameSpec(
    "tasks",
    "one row per domain, task and language, in the order of the dataset",
    (
        Column("domain", "string", "domain"),
        Column("task", "string", "task"),
        Column("language", "string", "language"),
        Column("tables", "int64", "tables", "1 and up"),
        Column("documents", "int64", "documents of all its tables", "0 or more"),
        Column("keys", "object", "columns that name a row", "tuple of str"),
        Column("values", "object", "columns that are scored", "tuple of str"),
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
        Column("predicted", "object", "where the raw answer is; it may not parse", "pathlib.Path"),
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
        Where it belongs; tables of one task have the same columns.
    query : str
        What the table is asked with.
    keys, values, numeric : tuple of str
        Columns that name a row, columns that are scored, and those of them that hold numbers.
    documents : tuple of SourceDocument
        The documents, unread.
    disagreements : tuple of dict
        Planted disagreements: row, column, gold, says (document: value), reason.
    average_length : float or None
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
    average_length: float | None = None
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
        """What may be wrong with the task, found without reading the documents."""
        return (*self._found, *self._problems())

    def _problems(self) -> Iterator[Problem]:
        for document in self.documents:
            if document.problem:
                yield Problem(self.id, *document.problem)
        if not self.documents:
            yield Problem(self.id, "no_documents", "the task has no documents")
        try:
            header, rows = self._table
        except DatasetError as error:
            yield Problem(self.id, "unreadable_gold", str(error))
            return
        if not rows:
            yield Problem(self.id, "no_rows", "the gold table has a header and no rows")
        for kind, names in (("key", self.keys), ("value", self.values), ("numeric", self.numeric)):
            for name in names:
                if name not in header:
                    detail = f"gold has no column {name!r}; {nearest(name, header)}"
                    yield Problem(self.id, f"missing_{kind}_column", detail)
        yield from self._key_problems(header, rows)

    def _key_problems(self, header: tuple[str, ...], rows: list[list[str]]) -> Iterator[Problem]:
        places = [header.index(name) for name in self.keys if name in header]
        if not self.keys:
            yield Problem(self.id, "no_keys", "no column names the rows")
        seen = Counter(tuple(row[i].strip() for i in places) for row in rows)
        for key, count in seen.items() if places else ():
            if count > 1:
                yield Problem(self.id, "duplicate_key", f"{count} gold rows have the key {key}")
            if not all(key):
                yield Problem(self.id, "blank_key", f"a gold row has the key {key}")

    def __repr__(self) -> str:
        """Return id, query and counts."""
        return (
            f"TableTask {self.id!r}: {plural(len(self.documents), 'document')}, "
            f"keys {', '.join(self.keys) or 'none'}; {one_line(self.query)}"
        )


@dataclass(frozen=True, repr=False)
class TableDataset:
    """Tables to build from documents; made by `load`. Each access to a frame returns a new one.

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
        """One row per table; no gold table or document is read (see `TABLE_COLUMNS`)."""
        return TABLE_COLUMNS.from_rows(
            (
                *(t.id, t.domain, t.task, t.language, t.query, t.keys, t.values, t.numeric),
                *(len(t.documents), t.average_length, len(t.disagreements)),
            )
            for t in self._tasks
        )

    @property
    def documents(self) -> pd.DataFrame:
        """One row per table and document; no document is read (see `SOURCE_COLUMNS`)."""
        return SOURCE_COLUMNS.from_rows(
            (task.id, document.name, document.kind, document.path, document.size)
            for task in self._tasks
            for document in task.documents
        )

    @property
    def tasks(self) -> pd.DataFrame:
        """One row per domain, task and language (see `TASK_COLUMNS`)."""
        groups: dict[tuple[str, str, str], list[TableTask]] = {}
        for task in self._tasks:
            groups.setdefault((task.domain, task.task, task.language), []).append(task)
        return TASK_COLUMNS.from_rows(
            (
                *(*name, len(group), sum(len(task.documents) for task in group)),
                *(group[0].keys, group[0].values),
            )
            for name, group in groups.items()
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
        """One row per answer in ``runs/{run}/{table}.*`` (see `RUN_COLUMNS`).

        Raises
        ------
        DatasetError
            If an answer's name is not a table of this dataset.
        """
        known = {task.id for task in self._tasks}
        rows = []
        for run in list_folders(self.root / RUN_FOLDER):
            for path in (file for suffix in _ANSWERS for file in list_files(run, suffix)):
                if path.stem not in known:
                    raise DatasetError(
                        f"{path}: no table {path.stem!r}; {nearest(path.stem, known)}"
                    )
                rows.append((run.name, path.stem, path))
        return RUN_COLUMNS.from_rows(sorted(rows))

    @property
    def problems(self) -> pd.DataFrame:
        """One row per problem of the dataset; reads all gold tables (see `PROBLEM_COLUMNS`)."""
        return PROBLEM_COLUMNS.from_rows(
            (*self._found, *(problem for task in self._tasks for problem in task.problems))
        )

    def gold(self, table: str) -> pd.DataFrame:
        """Return the gold table with an id.

        Parameters
        ----------
        table : str
            A value of ``tables["table"]``.

        Returns
        -------
        pandas.DataFrame
            Texts as written; an absent value is an empty text.

        Raises
        ------
        DatasetError
            If the id is unknown or the gold table cannot be read.
        """
        return self[table].gold

    def texts(self, table: str) -> dict[str, str]:
        """Return the texts of a table's documents.

        Parameters
        ----------
        table : str
            A value of ``tables["table"]``.

        Returns
        -------
        dict of str to str
            Name of the document: its text.

        Raises
        ------
        DatasetError
            If the id is unknown or a document cannot be read.
        """
        return self[table].texts

    def __repr__(self) -> str:
        """Return counts, the folder, and one line per domain, task and language."""
        lines = [f"TableDataset {self.name!r}: {self._counts()}", f"  {self.root}"]
        for row in self.tasks.to_dict("records"):
            name = f"{row['domain']}/{row['task']} ({row['language']})"
            lines.append(f"  {name:<40} {plural(row['tables'], 'table')}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same as static HTML; every text is escaped."""
        rows = [
            tuple(escape(str(cell)) for cell in row[:5])
            for row in self.tasks.itertuples(index=False)
        ]
        heads = ("domain", "task", "language", "tables", "documents")
        return (
            f"<div><strong>TableDataset {escape(self.name)}</strong>: {escape(self._counts())}"
            f"<br><code>{escape(str(self.root))}</code>{html_table(heads, rows, (3, 4))}</div>"
        )

    def _counts(self) -> str:
        documents = sum(len(task.documents) for task in self._tasks)
        counts = f"{plural(len(self), 'table')}, {plural(documents, 'document')}"
        return counts + (f", {plural(len(self._found), 'problem')}" if self._found else "")


def load(path: str | os.PathLike[str] | None = None, *, laws: str = "cited") -> TableDataset:
    """Load tables to build from documents.

    Parameters
    ----------
    path : str or path, optional
        AOE's JSONL file, or a folder that holds it; a task's folder, or a folder of such folders;
        a JSON file of DTBench, or a folder of them. Default or ``"sample"``: the sample of this
        package.
    laws : str, optional
        Documents of AOE's legal task 0 besides the case. ``"cited"``: the laws that the gold table
        cites, as the released code has it (a model is then given the answer's laws and no
        others). ``"all"``: every law in ``law_docx``. ``"none"``: the case only.

    Returns
    -------
    TableDataset
        Listed and checked; gold tables and documents are read on demand. Problems are listed in
        ``problems`` and do not stop the other tables.

    Raises
    ------
    DatasetError
        If nothing is there in one of the layouts, a ``task.yaml`` cannot be read, or two tables
        share an id.

    Examples
    --------
    >>> from extractbench_nb.construction import load
    >>> dataset = load()
    >>> dataset.tables["language"].tolist()
    ['zh', 'en', 'en']
    >>> dataset["retailer_results"].gold.columns[:3].tolist()
    ['company', 'fiscal_year', 'revenue_musd']
    """
    if laws not in LAWS:
        raise InputError(f"laws={laws!r}; {nearest(laws, LAWS)}")
    if path is None or path == "sample":
        root = load_dataset("sample").root / SAMPLE_FOLDER
        return _dataset("sample", root, _folder_tasks(root))
    root = Path(path).expanduser()
    if not root.exists():
        raise DatasetError(f"no file or folder {str(root)!r}")
    if root.is_file() and root.suffix == ".json":
        return _dataset(root.stem, root, _dtbench_tasks([root]))
    for file in (root, root / AOE_FILE, root / "table_data" / AOE_FILE):
        if file.is_file():
            return _load_aoe(file, laws)
    name = root.resolve().name
    tasks = _folder_tasks(root)
    if not tasks:
        files = [file for file in list_files(root, ".json") if _is_dtbench(file)]
        tasks = _dtbench_tasks(files)
    if not tasks:
        raise DatasetError(
            f"{root}: found no {AOE_FILE}, no folder with {GOLD_FILE} and {TASK_FILE}, and no "
            "DTBench case"
        )
    return _dataset(name, root, tasks)


def _dataset(
    name: str, root: Path, tasks: Sequence[TableTask], found: Sequence[Problem] = ()
) -> TableDataset:
    for id_, count in Counter(task.id for task in tasks).items():
        if count > 1:
            raise DatasetError(f"{root}: {count} tables have the id {id_!r}")
    return TableDataset(name, root, tuple(tasks), tuple(found))


# --- the folder layout -----------------------------------------------------------------------


#: The keys of ``task.yaml``. `task` is the folder's name, `values` all columns but the keys by
#: default; a disagreement has the keys of `_DISAGREEMENT`, where `says` maps documents to values.
SETTINGS: Mapping[str, type] = {
    "domain": str,
    "task": str,
    "language": str,
    "query": str,
    "keys": list,
    "values": list,
    "numeric": list,
    "disagreements": list,
}
_DISAGREEMENT = ("row", "column", "gold", "says", "reason")


def _folder_tasks(root: Path) -> list[TableTask]:
    """Read the task that a folder is, or the tasks in its folders."""
    if (root / TASK_FILE).is_file() or (root / GOLD_FILE).is_file():
        return [_folder_task(root.resolve())]
    named = (f for f in list_folders(root) if (f / TASK_FILE).is_file())
    return [_folder_task(folder) for folder in named]


def _folder_task(folder: Path) -> TableTask:
    settings = _settings(folder / TASK_FILE)
    documents = tuple(
        SourceDocument(file.name, DOCUMENT_KINDS[file.suffix.lower()], file)
        for suffix in DOCUMENT_KINDS
        for file in list_files(folder / DOCUMENT_FOLDER, suffix)
    )
    keys, values = settings.get("keys", []), settings.get("values")
    task = TableTask(
        folder.name,
        settings.get("domain", ""),
        settings.get("task", folder.name),
        settings.get("language", ""),
        settings.get("query", ""),
        tuple(keys),
        tuple(values or ()),
        tuple(settings.get("numeric", ())),
        tuple(sorted(documents, key=lambda document: document.name)),
        tuple(settings.get("disagreements", ())),
        None,
        folder / GOLD_FILE,
    )
    if values is not None:
        return task
    try:
        header = task._table[0]
    except DatasetError:
        return task
    return replace(task, values=tuple(name for name in header if name not in task.keys))


def _settings(path: Path) -> dict[str, Any]:
    import yaml

    try:
        settings = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        raise DatasetError(f"{path}: not YAML: {one_line(str(error), 200)}") from None
    if not isinstance(settings, dict):
        raise DatasetError(f"{path}: expected keys with values, such as 'query: ...'")
    for name, value in settings.items():
        if name not in SETTINGS:
            raise DatasetError(f"{path}: no setting {name!r}; {nearest(name, SETTINGS)}")
        kind = SETTINGS[name]
        texts = value if kind is list and name != "disagreements" else []
        if not isinstance(value, kind) or not all(isinstance(text, str) for text in texts):
            expected = "a text" if kind is str else "a list of texts; quote numbers and yes/no"
            raise DatasetError(f"{path}: {name} is {value!r}; expected {expected}")
    for number, one in enumerate(settings.get("disagreements", ())):
        if not isinstance(one, dict) or set(one) != set(_DISAGREEMENT):
            raise DatasetError(
                f"{path}: disagreement {number} needs the keys {', '.join(_DISAGREEMENT)}"
            )
        one["gold"] = str(one["gold"])
        one["says"] = {name: str(value) for name, value in one["says"].items()}
    return settings


def _text(path: Path) -> str:
    try:
        return read_text(path, "task")
    except InputError as error:
        raise DatasetError(str(error)) from None


def _csv_rows(path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(StringIO(_text(path), newline="")))
    except csv.Error as error:
        raise DatasetError(f"{path}: not CSV: {error}") from None


# --- AOE -------------------------------------------------------------------------------------


def _load_aoe(file: Path, laws: str) -> TableDataset:
    """Read AOE's tables; the documents are in folders beside the file or one level above."""
    tasks: list[TableTask] = []
    found: list[Problem] = []
    folder = file.parent.parent if file.parent.name == "table_data" else file.parent
    for number, line in enumerate(_text(file).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            tasks.append(_aoe_task(record, folder, laws))
        except (ValueError, RecursionError, DatasetError) as error:
            problem = f"line {number} of {file}: {one_line(str(error), 200)}"
            found.append(Problem(None, "unreadable_line", problem))
    if not tasks:
        detail = f" ({found[0].detail})" if found else ""
        raise DatasetError(f"{file}: found no table{detail}")
    return _dataset("AOE", file, tasks, found)


def _aoe_task(record: Any, folder: Path, laws: str) -> TableTask:
    """Read one line: an object with ``record_id``, or an object under the id as its only key."""
    if isinstance(record, dict) and "record_id" in record:
        id_, content = str(record["record_id"]), record
    elif isinstance(record, dict) and len(record) == 1:
        ((id_, content),) = record.items()
    else:
        raise DatasetError("expected an object with the key 'record_id'")
    if not isinstance(content, dict):
        raise DatasetError(f"table {id_!r} is {type(content).__name__}; expected an object")
    domain, index, suffix = split_record_id(id_)
    language, task = str(content.get("language") or suffix or ""), f"{domain}_{index}"
    answers = content.get("answers")
    if not isinstance(answers, list) or not all(isinstance(row, dict) for row in answers):
        raise DatasetError(f"table {id_!r}: answers is not a list of objects")
    found = []
    columns = aoe_columns(language, task)
    if columns is None:
        known = "AOE's configuration has no columns for this task; all columns but the first count"
        found.append(Problem(id_, "unknown_task", f"{task} ({language}): {known}"))
    header = list(dict.fromkeys(name for row in answers for name in row))
    if any(set(row) != set(header) for row in answers):
        found.append(Problem(id_, "ragged_rows", "the rows of gold have different keys"))
    keys, values, numeric = columns or (tuple(header[:1]), tuple(header[1:]), ())
    documents, reported = aoe_documents(content, domain, index, folder, laws)
    found += [Problem(id_, *problem) for problem in reported]
    try:
        length = float(content.get("average_length", ""))
    except (TypeError, ValueError):
        length = None
    gold = [header, *([_cell(row.get(name)) for name in header] for row in answers)]
    query = str(content.get("query", ""))
    return TableTask(
        *(id_, domain, task, language, query, keys, values, numeric, documents),
        average_length=length,
        _gold=gold,
        _found=tuple(found),
    )


def _cell(value: Any) -> str:
    """Write a JSON value as a cell: texts as they are, null as nothing, others as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- DTBench ---------------------------------------------------------------------------------


def _is_dtbench(file: Path) -> bool:
    """Whether a JSON file is a case of DTBench, as far as its first characters tell."""
    with file.open("rb") as content:
        return b'"name"' in content.read(200)


def _dtbench_tasks(files: Iterable[Path]) -> list[TableTask]:
    """Read cases of DTBench (Dong et al., github ZJU-DAILY/DTBench): texts and one gold table.

    The benchmark has no query: it is the title of the table and the names of its columns.
    """
    tasks = []
    for file in files:
        try:
            case = read_document(file, "case")
            gold = case["ground_truth"][0]
            header = [name[0] if isinstance(name, list) else name for name in gold["header"]]
            rows = [
                [_cell(cell["value"] if isinstance(cell, dict) else cell) for cell in row]
                for row in gold["data"]
            ]
            names = [str(table.get("source") or "") for table in case["table"]]
            texts = [str(text) for text in case["document"]]
        except (InputError, LookupError, TypeError, AttributeError) as error:
            raise DatasetError(f"{file}: not a case of DTBench: {error!r}") from None
        if len(set(names)) < len(texts) or not all(names) or len(texts) == 1:
            names = [f"document {number}" for number in range(1, len(texts) + 1)]
        titles = " ".join(dict.fromkeys((str(gold["title"]), str(gold["table_title"]))))
        key = str(gold["primary_key"])
        tasks.append(
            TableTask(
                file.stem,
                str(case.get("category", "")),
                str(case.get("category", "")),
                "en",
                f"{titles}: {', '.join(header)}",
                (key,),
                tuple(name for name in header if name != key),
                (),
                tuple(
                    SourceDocument(name, "text", None, text)
                    for name, text in zip(names, texts, strict=False)
                ),
                _gold=[header, *rows],
            )
        )
    return tasks
