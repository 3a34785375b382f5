"""`load` and `TableDataset`: tasks whose answer is one table built from several documents.

Two layouts are read: AOE's JSONL with its folders of documents, and one folder per task, as in the
sample of this package::

    {task}/task.yaml        domain, language, query, keys, values, numeric
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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from io import StringIO
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import DatasetError, InputError, nearest, needs
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

#: Suffixes of documents, and of answers.
DOCUMENT_SUFFIXES = (".md", ".txt", ".pdf", ".docx")
_ANSWERS = (".txt", ".csv", ".md", ".json")
AOE_FILE = "all_AOE_tables.jsonl"
GOLD_FILE, TASK_FILE, DOCUMENT_FOLDER = "gold.csv", "task.yaml", "documents"
SAMPLE_FOLDER = "construction"
#: A larger part of a Word file is refused.
_MOST_BYTES = 200_000_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
#: AOE states a length for each table without its unit.
LENGTH_MEANING = "mean length of a document: as AOE states it, else in characters"

TABLE_COLUMNS = FrameSpec(
    "tables",
    "one row per gold table, in the order of the dataset",
    (
        Column("table", "string", "id of the table, unique in the dataset"),
        Column("domain", "string", "finance, legal, academic, ..."),
        Column("task", "string", "kind of table; tables of one task have the same columns"),
        Column("language", "string", "language of query and documents", "en, zh, ..."),
        Column("query", "string", "what the table is asked with"),
        Column("keys", "object", "columns that name a row", "tuple of str"),
        Column("values", "object", "columns that are scored", "tuple of str"),
        Column("numeric", "object", "value columns that hold numbers", "tuple of str"),
        Column("documents", "int64", "documents to read", "0 or more"),
        Column("average_length", "Float64", LENGTH_MEANING, "0 or more", True),
    ),
)
RUN_COLUMNS = FrameSpec(
    "runs",
    "one row per model answer, ordered by run and table",
    (
        Column("run", "string", "name of the run"),
        TABLE_COLUMNS.columns[0],
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
    stated_length : float or None
        Mean length of a document as the dataset states it.
    problems : tuple of (str, str)
        Name and detail of what is odd about AOE's record.
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
    stated_length: float | None = None
    problems: tuple[tuple[str, str], ...] = ()
    _gold: Path | Sequence[Sequence[str]] = ()

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
        """Mean length of a document: as stated, else in characters."""
        if self.stated_length is not None or not self.documents:
            return self.stated_length
        return sum(map(len, self._texts.values())) / len(self.documents)

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {name: document_text(document) for name, document in self.documents.items()}

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return _gold_frame(self._gold, f"table {self.id!r}")

    def __repr__(self) -> str:
        """Return id, query and counts."""
        return (
            f"TableTask {self.id!r}: {plural(len(self.documents), 'document')}, "
            f"keys {', '.join(self.keys) or 'none'}; {one_line(self.query)}"
        )


def _gold_frame(gold: Path | Sequence[Sequence[str]], where: str) -> pd.DataFrame:
    """Read a gold table; short rows are filled up."""
    rows = gold
    if isinstance(gold, Path):
        where = str(gold)
        try:
            rows = list(csv.reader(StringIO(document_text(gold), newline="")))
        except csv.Error as error:
            raise DatasetError(f"{where}: not CSV: {error}") from None
    filled = [list(row) for row in rows if any(cell.strip() for cell in row)]  # type: ignore[union-attr]
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
    #: Lines of a file that could not be read.
    _unread: tuple[str, ...] = ()

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
                *(len(t.documents), t.average_length),
            )
            for t in self._tasks
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
        """One row per problem of AOE's file (see `PROBLEM_COLUMNS`)."""
        of_tasks = ((task.id, *problem) for task in self._tasks for problem in task.problems)
        unread = ((None, "unreadable_line", line) for line in self._unread)
        return PROBLEM_COLUMNS.from_rows((*unread, *of_tasks))

    def __repr__(self) -> str:
        """Return counts, the folder, and one line per domain, task and language."""
        documents = sum(len(task.documents) for task in self._tasks)
        counts = [plural(len(self), "table"), plural(documents, "document")]
        counts += [plural(len(self._unread), "unreadable line")] if self._unread else []
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
        The tables; gold tables and documents are read on demand. Lines and records of AOE's file
        with a problem are listed in ``problems``, and the others are loaded. The documents of AOE's
        legal task 0 are the case and the laws that gold cites.

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
        root, name = load_dataset("sample").root / SAMPLE_FOLDER, "sample"
    else:
        root = Path(path).expanduser()
        name = root.resolve().name
    if not root.exists():
        raise DatasetError(f"no file or folder {str(root)!r}")
    for file in (root, root / AOE_FILE, root / "table_data" / AOE_FILE):
        if file.is_file():
            tasks, unread = _aoe_tasks(file)
            found = TableDataset("AOE", file, tuple(tasks), tuple(unread))
            break
    else:
        folders = [root.resolve(), *list_folders(root)]
        folders = [folder for folder in folders if (folder / TASK_FILE).is_file()]
        if not folders:
            raise DatasetError(
                f"{root}: found no {AOE_FILE} and no folder with {GOLD_FILE} and {TASK_FILE}"
            )
        found = TableDataset(name, root, tuple(map(_folder_task, folders)))
    for id_, count in Counter(task.id for task in found).items():
        if count > 1:
            raise DatasetError(f"{root}: {count} tables have the id {id_!r}")
    return found


# --- the folder layout -----------------------------------------------------------------------

#: The keys of ``task.yaml``: texts, and lists of texts. `task` is the folder's name, `values` all
#: columns but the keys by default; disagreements between the documents are not read.
_TEXTS = ("domain", "task", "language", "query")
_LISTS = ("keys", "values", "numeric")
_SETTINGS = (*_TEXTS, *_LISTS, "disagreements")


def _folder_task(folder: Path) -> TableTask:
    settings = _settings(folder / TASK_FILE)
    inside, gold = folder / DOCUMENT_FOLDER, folder / GOLD_FILE
    documents = sorted(file for suffix in DOCUMENT_SUFFIXES for file in list_files(inside, suffix))
    parts: dict[str, Any] = {name: settings.get(name, "") for name in _TEXTS}
    parts |= {name: tuple(settings.get(name, ())) for name in _LISTS}
    parts["task"] = settings.get("task", folder.name)
    if "values" not in settings:
        header = _gold_frame(gold, "").columns
        parts["values"] = tuple(name for name in header if name not in parts["keys"])
    named = {file.name: file for file in documents}
    return TableTask(folder.name, **parts, documents=named, _gold=gold)


def _settings(path: Path) -> dict[str, Any]:
    yaml = needs("yaml", "construction")

    try:
        settings = yaml.safe_load(document_text(path))
    except yaml.YAMLError as error:
        raise DatasetError(f"{path}: not YAML: {one_line(str(error), 200)}") from None
    if not isinstance(settings, dict):
        raise DatasetError(f"{path}: expected keys with values, such as 'query: ...'")
    for name, value in settings.items():
        if name not in _SETTINGS:
            raise DatasetError(f"{path}: no setting {name!r}; {nearest(name, _SETTINGS)}")
        if name in _TEXTS and not isinstance(value, str):
            raise DatasetError(f"{path}: {name} is {value!r}; expected a text")
        if name in _LISTS and not (
            isinstance(value, list) and all(isinstance(text, str) for text in value)
        ):
            raise DatasetError(
                f"{path}: {name} is {value!r}; expected a list of texts; quote numbers and yes/no"
            )
    return settings


# --- AOE -------------------------------------------------------------------------------------

#: Keys of the cases in AOE's legal records, and their labels in the text, with a full-width colon.
_CASE_NAME = "案件名"
_LABELS = {
    _CASE_NAME: "案件名称\uff1a",
    "入库编号": "入库编号\uff1a",
    "基本案情": "案件详情\uff1a",
}
#: Column of AOE's legal task 0 with the cited laws.
_CITATIONS = "关联索引"
_FOLDERS = {"legal": "law_docx"}


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


#: Key, value and numeric columns.
_Roles: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def aoe_columns(language: str, task: str) -> _Roles | None:
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


def _aoe_tasks(file: Path) -> tuple[list[TableTask], list[str]]:
    """Read AOE's tables; the documents are in folders beside the file or one level above."""
    tasks: list[TableTask] = []
    unread: list[str] = []
    folder = file.parent.parent if file.parent.name == "table_data" else file.parent
    for number, line in enumerate(document_text(file).split("\n"), 1):
        if not line.strip():
            continue
        try:
            tasks.append(_aoe_task(json.loads(line), folder))
        except (ValueError, RecursionError, DatasetError) as error:
            unread.append(f"line {number} of {file}: {one_line(str(error), 200)}")
    if not tasks:
        detail = f" ({unread[0]})" if unread else ""
        raise DatasetError(f"{file}: found no table{detail}")
    return tasks, unread


def _aoe_task(record: Any, folder: Path) -> TableTask:
    """Read one line: an object with ``record_id``, or an object under the id as its only key."""
    if isinstance(record, dict) and "record_id" not in record and len(record) == 1:
        ((id_, content),) = record.items()
        record = {"record_id": id_, **content} if isinstance(content, dict) else content
    if not isinstance(record, dict) or "record_id" not in record:
        raise DatasetError("expected an object with the key 'record_id'")
    id_, rows = str(record["record_id"]), record.get("answers")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(f"table {id_!r}: answers is not a list of objects")
    domain, index, suffix = split_record_id(id_)
    language, task = str(record.get("language") or suffix or ""), f"{domain}_{index}"
    header = list(dict.fromkeys(name for row in rows for name in row))
    problems: list[tuple[str, str]] = []
    columns = aoe_columns(language, task)
    if columns is None:
        known = "AOE's configuration has no columns for this task; all columns but the first count"
        problems.append(("unknown_task", f"{task} ({language}): {known}"))
        columns = tuple(header[:1]), tuple(header[1:]), ()
    if any(set(row) != set(header) for row in rows):
        problems.append(("ragged_rows", "the rows of gold have different keys"))
    documents = _aoe_documents(record, folder / _FOLDERS.get(domain, domain), problems)
    if domain == "legal" and index == "0":
        laws = _cited_laws(rows, folder / _FOLDERS[domain])
        documents |= {law.name: law for law in laws}
        if laws:
            names = ", ".join(law.name for law in laws)
            problems.append(("laws_from_gold", f"the laws come from gold: {names}"))
    try:
        length = float(record.get("average_length", ""))
    except (TypeError, ValueError):
        length = None
    return TableTask(
        *(id_, domain, task, language, str(record.get("query", "")), *columns, documents),
        stated_length=length,
        _gold=[header, *([_cell(row.get(name)) for name in header] for row in rows)],
        problems=tuple(problems),
    )


def _cell(value: Any) -> str:
    """Write a JSON value as a cell: texts as they are, null as nothing, others as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _aoe_documents(
    record: Mapping[str, Any], home: Path, problems: list[tuple[str, str]]
) -> dict[str, str | Path]:
    """List the documents of an AOE record, and add problems with them.

    A name is looked up in the domain's folder, with ``.md`` added where it is missing; it may not
    lead out of the folder.
    """
    listed = record.get("input_doc") or []
    documents: dict[str, str | Path] = {}
    for item in listed if isinstance(listed, list) else [listed]:
        document: str | Path
        if isinstance(item, Mapping):
            name = str(item.get(_CASE_NAME) or f"case {len(documents) + 1}")
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
    return documents


def _cited_laws(answers: Sequence[Mapping[str, Any]], home: Path) -> list[Path]:
    """Return the files of laws that gold cites in 《》, as the released code does."""
    texts = json.dumps([row.get(_CITATIONS) for row in answers], ensure_ascii=False)
    names = {f"{law.strip()}.docx" for law in re.findall(r"《(.*?)》", texts)}
    return [home / name for name in sorted(names) if (home / name).is_file()]
