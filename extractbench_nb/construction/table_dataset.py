"""`load` and `TableDataset`: tasks whose answer is one table built from several documents.

Two layouts are read: AOE's JSONL with its folders of documents, and one folder per task, as in the
sample of this package::

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
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from io import StringIO
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import DatasetError, InputError, nearest, needs, no_column
from extractbench_nb.runs import (
    RUN_FOLDER,
    RunFolder,
    is_run,
    list_files,
    list_folders,
    load_dataset,
)
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import one_line, plural

#: Suffixes of documents.
DOCUMENT_SUFFIXES = (".md", ".txt", ".pdf", ".docx")
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


def document_text(document: str | Path) -> str:
    """Return the text of a document: a text, or a file that is read."""
    if isinstance(document, str):
        return document
    suffix = document.suffix.lower()
    try:
        if suffix == ".pdf":
            from extractbench_nb.pdf import read_pages

            return "\n\n".join(read_pages(document))
        return _word_text(document) if suffix == ".docx" else read_text(document, "document")
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
    paragraphs = ("".join(p.itertext(f"{_WORD}t")).strip() for p in root.iter(f"{_WORD}p"))
    return "\n".join(filter(None, paragraphs))


class Problem(NamedTuple):
    """A problem of a dataset; the fields are the columns of `PROBLEM_COLUMNS`."""

    table: str | None
    problem: str
    detail: str


@dataclass(frozen=True, repr=False)
class TableTask:
    """One table to build: its query, documents and gold table; made by `load`.

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
    documents : dict of str to str or pathlib.Path
        The text or the file of each document by its name; files are read on access to `texts`.
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
    documents: Mapping[str, str | Path] = field(default_factory=dict)
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
        return self._frame.copy()

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the documents by name, in order.

        Raises
        ------
        DatasetError
            If a document is missing or cannot be read.
        """
        return dict(self._texts)

    @cached_property
    def average_length(self) -> float | None:
        """Mean length of a document: as stated, else in characters; None if one is unreadable."""
        if self.stated_length is not None or not self.documents:
            return self.stated_length
        try:
            return sum(map(len, self._texts.values())) / len(self.documents)
        except DatasetError:
            return None

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {name: document_text(document) for name, document in self.documents.items()}

    @cached_property
    def _frame(self) -> pd.DataFrame:
        """The gold table; short rows are filled up."""
        where, rows = f"table {self.id!r}", self._gold
        if isinstance(rows, Path):
            where = str(rows)
            try:
                rows = list(csv.reader(StringIO(document_text(rows), newline="")))
            except csv.Error as error:
                raise DatasetError(f"{where}: not CSV: {error}") from None
        filled = [list(row) for row in rows if any(cell.strip() for cell in row)]
        if not filled:
            raise DatasetError(f"{where}: the gold table has no header")
        header, body = [name.strip() for name in filled[0]], filled[1:]
        for name, count in Counter(header).items():
            if count > 1:
                raise DatasetError(f"{where}: more than one gold column is named {name!r}")
        for number, row in enumerate(body, 1):
            if len(row) > len(header):
                raise DatasetError(
                    f"{where}: row {number} has {len(row)} cells, the header {len(header)}; a cell "
                    "with a comma needs quotes"
                )
            row.extend([""] * (len(header) - len(row)))
        return pd.DataFrame(body, columns=header, dtype=pd.StringDtype("python"))

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Possible problems of the task; found without reading the documents."""
        files = [file for file in self.documents.values() if isinstance(file, Path)]
        found = [("missing_document", f"no file {file}") for file in files if not file.is_file()]
        if not self.documents:
            found.append(("no_documents", "the task has no documents"))
        try:
            header = self._frame.columns
            for kind, names in zip(("key", "value", "numeric"), self._roles, strict=True):
                lacking = (name for name in names if name not in header)
                about = f"missing_{kind}_column"
                found += [(about, f"gold: {no_column(name, header)}") for name in lacking]
        except DatasetError as error:
            found.append(("unreadable_gold", str(error)))
        return (*self._found, *(Problem(self.id, *problem) for problem in found))

    @property
    def _roles(self) -> tuple[tuple[str, ...], ...]:
        return self.keys, self.values, self.numeric

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
                *(t.id, t.domain, t.task, t.language, t.query, *t._roles),
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


AOE_FILE = "all_AOE_tables.jsonl"
GOLD_FILE, TASK_FILE, DOCUMENT_FOLDER = "gold.csv", "task.yaml", "documents"
SAMPLE_FOLDER = "construction"

#: Keys of the cases in AOE's legal records, and their labels in the text, with a full-width colon.
CASE_NAME = "案件名"
_LABELS: Mapping[str, str] = {
    CASE_NAME: "案件名称\uff1a",
    "入库编号": "入库编号\uff1a",
    "基本案情": "案件详情\uff1a",
}
#: Column of AOE's legal task 0 with the cited laws.
CITATIONS = "关联索引"
_FOLDERS = {"legal": "law_docx"}


def load(path: str | os.PathLike[str] | None = None) -> TableDataset:
    """Load tables to build from documents.

    Parameters
    ----------
    path : str or path, optional
        AOE's JSONL file, or a folder that holds it; a task's folder, or a folder of such folders.
        Default or ``"sample"``: the sample of this package.

    Returns
    -------
    TableDataset
        The tables, listed and checked; gold tables and documents are read on demand. A table with a
        problem is listed in ``problems``, and the others are loaded. The documents of AOE's legal
        task 0 are the case and the laws that gold cites.

    Raises
    ------
    DatasetError
        If the path has none of these layouts, a ``task.yaml`` cannot be read, or two tables share
        an id.

    Examples
    --------
    >>> from extractbench_nb.construction import load
    >>> dataset = load()
    >>> dataset.tables["language"].tolist()
    ['zh', 'en', 'en']
    >>> dataset["retailer_results"].gold.columns[:3].tolist()
    ['company', 'fiscal_year', 'revenue_musd']
    """
    if path is None or path == "sample":
        root = load_dataset("sample").root / SAMPLE_FOLDER
        return _dataset("sample", root, _folder_tasks(root))
    root = Path(path).expanduser()
    if not root.exists():
        raise DatasetError(f"no file or folder {str(root)!r}")
    for file in (root, root / AOE_FILE, root / "table_data" / AOE_FILE):
        if file.is_file():
            return _load_aoe(file)
    name = root.resolve().name
    tasks = _folder_tasks(root)
    if not tasks:
        raise DatasetError(
            f"{root}: found no {AOE_FILE} and no folder with {GOLD_FILE} and {TASK_FILE}"
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


#: The keys of ``task.yaml``: texts and lists. `task` is the folder's name, `values` all columns but
#: the keys by default; a disagreement has the keys of `_DISAGREEMENT`, where `says` maps documents
#: to values.
_TEXTS = ("domain", "task", "language", "query")
_LISTS = ("keys", "values", "numeric", "disagreements")
_DISAGREEMENT = {"row", "column", "gold", "says", "reason"}


def _folder_tasks(root: Path) -> list[TableTask]:
    """Read the task that a folder is, or the tasks in its folders."""
    if (root / TASK_FILE).is_file() or (root / GOLD_FILE).is_file():
        return [_folder_task(root.resolve())]
    named = (f for f in list_folders(root) if (f / TASK_FILE).is_file())
    return [_folder_task(folder) for folder in named]


def _folder_task(folder: Path) -> TableTask:
    settings = _settings(folder / TASK_FILE)
    inside = folder / DOCUMENT_FOLDER
    documents = sorted(file for suffix in DOCUMENT_SUFFIXES for file in list_files(inside, suffix))
    parts: dict[str, Any] = dict.fromkeys(_TEXTS, "") | {"task": folder.name}
    parts |= {name: settings[name] for name in _TEXTS if name in settings}
    parts |= {name: tuple(settings.get(name, ())) for name in _LISTS}
    named = {file.name: file for file in documents}
    task = TableTask(folder.name, **parts, documents=named, _gold=folder / GOLD_FILE)
    if "values" in settings:
        return task
    try:
        header = task._frame.columns
    except DatasetError:
        return task
    return replace(task, values=tuple(name for name in header if name not in task.keys))


def _settings(path: Path) -> dict[str, Any]:
    yaml = needs("yaml", "construction")

    try:
        settings = yaml.safe_load(document_text(path))
    except yaml.YAMLError as error:
        raise DatasetError(f"{path}: not YAML: {one_line(str(error), 200)}") from None
    if not isinstance(settings, dict):
        raise DatasetError(f"{path}: expected keys with values, such as 'query: ...'")
    for name, value in settings.items():
        if name not in (*_TEXTS, *_LISTS):
            raise DatasetError(f"{path}: no setting {name!r}; {nearest(name, (*_TEXTS, *_LISTS))}")
        if name in _TEXTS and not isinstance(value, str):
            raise DatasetError(f"{path}: {name} is {value!r}; expected a text")
        if name in _LISTS and not (
            isinstance(value, list)
            and (name == "disagreements" or all(isinstance(text, str) for text in value))
        ):
            raise DatasetError(
                f"{path}: {name} is {value!r}; expected a list of texts; quote numbers and yes/no"
            )
    for number, one in enumerate(settings.get("disagreements", ())):
        if not isinstance(one, dict) or set(one) != _DISAGREEMENT:
            needed = ", ".join(sorted(_DISAGREEMENT))
            raise DatasetError(f"{path}: disagreement {number} needs the keys {needed}")
        one["gold"] = str(one["gold"])
        one["says"] = {name: str(value) for name, value in one["says"].items()}
    return settings


# --- AOE -------------------------------------------------------------------------------------


@cache
def shipped(name: str) -> pd.DataFrame:
    """Read a table of this package's data as texts; copy it before changing it."""
    return pd.read_csv(StringIO(_data(f"{name}.csv")), dtype=str, keep_default_na=False)


@cache
def prompt_text(name: str) -> str:
    """Return one of the texts of prompts, without its last line break."""
    return _data(f"prompts/{name}.txt").rstrip("\n")


def _data(path: str) -> str:
    place = files("extractbench_nb.construction").joinpath("data", *path.split("/"))
    return place.read_text(encoding="utf-8")


def aoe_columns(
    language: str, task: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None:
    """Return the key, value and numeric columns that AOE configures for a task.

    They are those of ``config/task_config.yaml`` (282e688d); one name of legal_1 ends in a quote.
    """
    tasks = shipped("aoe_tasks").set_index(["language", "task"])
    if (language, task) not in tasks.index:
        return None
    row: Any = tasks.loc[(language, task)]
    keys, values, numeric = (
        tuple(filter(None, row[name].split("|"))) for name in ("keys", "values", "numeric")
    )
    return keys, values, values if numeric == ("all",) else numeric


def split_record_id(record_id: str) -> tuple[str, str, str | None]:
    """Split the id of an AOE record into domain, number of the task, and language."""
    domain, *rest = record_id.split("_")
    language = rest.pop() if len(rest) > 1 and rest[-1] in ("en", "zh") else None
    return domain, rest[-1] if rest else "", language


def _load_aoe(file: Path) -> TableDataset:
    """Read AOE's tables; the documents are in folders beside the file or one level above."""
    tasks: list[TableTask] = []
    found: list[Problem] = []
    folder = file.parent.parent if file.parent.name == "table_data" else file.parent
    for number, line in enumerate(document_text(file).split("\n"), 1):
        if not line.strip():
            continue
        try:
            tasks.append(_aoe_task(json.loads(line), folder))
        except (ValueError, RecursionError, DatasetError) as error:
            problem = f"line {number} of {file}: {one_line(str(error), 200)}"
            found.append(Problem(None, "unreadable_line", problem))
    if not tasks:
        detail = f" ({found[0].detail})" if found else ""
        raise DatasetError(f"{file}: found no table{detail}")
    return _dataset("AOE", file, tasks, found)


def _aoe_task(record: Any, folder: Path) -> TableTask:
    """Read one line: an object with ``record_id``, or an object under the id as its only key."""
    if isinstance(record, dict) and "record_id" in record:
        id_, content = str(record["record_id"]), record
    elif isinstance(record, dict) and len(record) == 1:
        ((id_, content),) = record.items()
    else:
        raise DatasetError("expected an object with the key 'record_id'")
    if not isinstance(content, dict):
        raise DatasetError(f"table {id_!r} is {type(content).__name__}; expected an object")
    rows = content.get("answers")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(f"table {id_!r}: answers is not a list of objects")
    domain, index, suffix = split_record_id(id_)
    language, task = str(content.get("language") or suffix or ""), f"{domain}_{index}"
    documents, problems = _aoe_documents(content, domain, index, folder)
    header = list(dict.fromkeys(name for row in rows for name in row))
    if any(set(row) != set(header) for row in rows):
        problems.insert(0, ("ragged_rows", "the rows of gold have different keys"))
    columns = aoe_columns(language, task)
    if columns is None:
        known = "AOE's configuration has no columns for this task; all columns but the first count"
        problems.insert(0, ("unknown_task", f"{task} ({language}): {known}"))
        columns = tuple(header[:1]), tuple(header[1:]), ()
    try:
        length = float(content.get("average_length", ""))
    except (TypeError, ValueError):
        length = None
    return TableTask(
        *(id_, domain, task, language, str(content.get("query", "")), *columns, documents),
        stated_length=length,
        _gold=[header, *([_cell(row.get(name)) for name in header] for row in rows)],
        _found=tuple(Problem(id_, *problem) for problem in problems),
    )


def _cell(value: Any) -> str:
    """Write a JSON value as a cell: texts as they are, null as nothing, others as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _aoe_documents(
    record: Mapping[str, Any], domain: str, index: str, folder: Path
) -> tuple[dict[str, str | Path], list[tuple[str, str]]]:
    """List the documents of an AOE record, and problems with them.

    A name is looked up in the domain's folder, with ``.md`` added where it is missing; it may not
    lead out of the folder.
    """
    listed = record.get("input_doc") or []
    home = folder / _FOLDERS.get(domain, domain)
    documents: dict[str, str | Path] = {}
    problems: list[tuple[str, str]] = []
    for item in listed if isinstance(listed, list) else [listed]:
        document: str | Path
        if isinstance(item, Mapping):
            name = str(item.get(CASE_NAME) or f"case {len(documents) + 1}")
            # a case of AOE's legal records as a text: name, number and facts, one per line
            document = "\n".join(f"{label}{item.get(key, '')}" for key, label in _LABELS.items())
        elif isinstance(item, str):
            name = item if item.endswith(".md") else f"{item}.md"
            document = home / name
            if not document.resolve().is_relative_to(home.resolve()):
                problems.append(("outside_folder", f"{name!r} is not in {home}; left out"))
                continue
        else:
            problems.append(("unreadable_document", f"input_doc holds {type(item).__name__}"))
            continue
        while name in documents:  # two cases may have one name
            name += "'"
        documents[name] = document
    if domain == "legal" and index == "0":
        laws = _cited_laws(record.get("answers") or (), home)
        documents |= {name: home / name for name in laws}
        if laws:
            problems.append(("laws_from_gold", f"the laws come from gold: {', '.join(laws)}"))
    return documents, problems


def _cited_laws(answers: Iterable[Mapping[str, Any]], home: Path) -> list[str]:
    """Return the names of the files of laws that gold cites in 《》, as the released code does."""
    texts = json.dumps([row.get(CITATIONS) for row in answers], ensure_ascii=False)
    names = sorted({f"{law.strip()}.docx" for law in re.findall(r"《(.*?)》", texts)})
    return [name for name in names if (home / name).is_file()]
