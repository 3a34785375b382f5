"""`load` and `TableDataset`: tasks whose answer is one table built from several documents.

Two layouts are read: AOE's JSONL with its folders of documents, and one folder per task, as in the
sample of this package::

    {task}/task.yaml        domain, language, query, keys, values, numeric
    {task}/gold.csv         the gold table; the first row names the columns
    {task}/documents/*      .md, .txt, .pdf or .docx
    runs/{run}/{task}.*     (optional: raw answers of models, .txt, .csv, .md or .json)

AOE's files are public (https://huggingface.co/datasets/tianyumyum/AOE): the tables in
``table_data/all_AOE_tables.jsonl``, the documents in ``documents.tar``, which unpacks to the
folders ``academic``, ``financial`` and ``law_docx``. `load` takes the folder that contains them
all.

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
    Run,
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
#: Gold's texts have one type, whatever pandas infers.
_TEXTS: Any = pd.StringDtype("python")

TABLE_COLUMNS = FrameSpec(
    "tables",
    "one row per gold table, in the order of the dataset",
    (
        Column("table", "string", "id of the table, unique in the dataset"),
        Column("domain", "string", "finance, legal, academic, ..."),
        Column("task", "string", "kind of table; tables of one task have the same columns"),
        Column("language", "string", "language of query and documents", "en, zh, ..."),
        Column("query", "string", "question that the table answers"),
        Column("keys", "object", "columns that identify a row", "tuple of str"),
        Column("values", "object", "columns that are scored", "tuple of str"),
        Column("numeric", "object", "value columns that hold numbers", "tuple of str"),
        Column("documents", "int64", "documents to read", "0 or more"),
        Column("problem", "string", "irregularities in AOE's record", nullable=True),
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


@dataclass(frozen=True)
class TableTask:
    """A table to build, with its query, documents and gold table; made by `load`.

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
    problem : str or None
        What is odd about AOE's record.
    """

    id: str
    domain: str
    task: str
    language: str
    query: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    numeric: tuple[str, ...] = ()
    documents: Mapping[str, str | Path] = field(default_factory=dict, repr=False)
    problem: str | None = None
    _gold: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    @property
    def gold(self) -> pd.DataFrame:
        """The gold table: texts as written; an absent value is an empty text."""
        return self._gold.copy()

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of the documents by name, in order.

        Raises
        ------
        DatasetError
            If a document is missing or cannot be read.
        """
        return {name: document_text(document) for name, document in self.documents.items()}


@dataclass(frozen=True, repr=False)
class TableDataset:
    """Tables to build from documents; made by `load`.

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
        """One row per table (see `TABLE_COLUMNS`)."""
        parts = ("domain", "task", "language", "query", "keys", "values", "numeric", "problem")
        return TABLE_COLUMNS.from_records(
            {"table": task.id, "documents": len(task.documents)}
            | {name: getattr(task, name) for name in parts}
            for task in self._tasks
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

    def __repr__(self) -> str:
        """Return counts and the folder."""
        documents = plural(sum(len(task.documents) for task in self._tasks), "document")
        counts = f"{plural(len(self), 'table')}, {documents}"
        return f"TableDataset {self.name!r}: {counts}, {self.root}"


def answers_in(folder: Path, tables: Collection[str]) -> pd.DataFrame:
    """List the answers of runs in a folder: ``{run}/{table}.*``, or folders of `construct`."""
    rows: list[tuple[str, str, Path | None]] = []
    for run in list_folders(folder):
        if is_run(run):
            files = {name: run / f"{name}.raw.txt" for name in Run.open(run).documents}
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
        AOE's JSONL file, or a folder that contains it; a task's folder, or a folder of such
        folders. Default or ``"sample"``: the sample of this package.

    Returns
    -------
    TableDataset
        The tables; documents are read on demand. What is odd about a record of AOE is in the column
        ``problem`` of ``tables``. The documents of AOE's legal task 0 are the case and the laws
        that gold cites.

    Raises
    ------
    DatasetError
        If the path has none of these layouts, a record, a gold table or a ``task.yaml`` cannot be
        read, or two tables share an id.

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
    aoe = [root, root / AOE_FILE, root / "table_data" / AOE_FILE]
    file = next((file for file in aoe if file.is_file()), None)
    folders = [root.resolve(), *list_folders(root)] if file is None else []
    folders = [folder for folder in folders if (folder / TASK_FILE).is_file()]
    if file is not None:
        found = TableDataset("AOE", file, tuple(_aoe_tasks(file)))
    else:
        found = TableDataset(name, root, tuple(map(_folder_task, folders)))
    if not len(found):
        raise DatasetError(
            f"{root}: found no {AOE_FILE} with tables and no folder with {GOLD_FILE} and "
            f"{TASK_FILE}"
        )
    for id_, count in Counter(task.id for task in found).items():
        if count > 1:
            raise DatasetError(f"{root}: {count} tables have the id {id_!r}")
    return found


# --- the folder layout -----------------------------------------------------------------------

#: The keys of ``task.yaml``: texts, and lists of texts. `task` is the folder's name, `values` all
#: columns but the keys by default; disagreements between the documents are not read.
_SINGLE = ("domain", "task", "language", "query")
_LISTS = ("keys", "values", "numeric")


def _folder_task(folder: Path) -> TableTask:
    settings, gold = _settings(folder / TASK_FILE), _read_gold(folder / GOLD_FILE)
    inside = folder / DOCUMENT_FOLDER
    documents = sorted(file for suffix in DOCUMENT_SUFFIXES for file in list_files(inside, suffix))
    keys = settings.get("keys", [])
    usual = {"task": folder.name, "values": [name for name in gold.columns if name not in keys]}
    parts: dict[str, Any] = {name: (usual | settings).get(name, "") for name in _SINGLE}
    parts |= {name: tuple((usual | settings).get(name, ())) for name in _LISTS}
    files = {file.name: file for file in documents}
    return TableTask(folder.name, **parts, documents=files, _gold=gold)


def _settings(path: Path) -> dict[str, Any]:
    yaml = needs("yaml", "construction")
    try:
        settings = yaml.safe_load(document_text(path))
    except yaml.YAMLError as error:
        raise DatasetError(f"{path}: not YAML: {one_line(str(error), 200)}") from None
    if not isinstance(settings, dict):
        raise DatasetError(f"{path}: expected keys with values, such as 'query: ...'")
    settings.pop("disagreements", None)
    for name, value in settings.items():
        if name not in (*_SINGLE, *_LISTS):
            raise DatasetError(f"{path}: no setting {name!r}; {nearest(name, (*_SINGLE, *_LISTS))}")
        items = value if name in _LISTS and isinstance(value, list) else [value]
        if not all(isinstance(item, str) for item in items):
            raise DatasetError(
                f"{path}: {name} is {value!r}; expected texts; quote numbers and yes/no"
            )
    return settings


def _read_gold(path: Path) -> pd.DataFrame:
    """Read a gold table; short rows are filled up."""
    rows = list(csv.reader(StringIO(document_text(path), newline="")))
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    header = [name.strip() for name in filled[0]] if filled else []
    for name, count in Counter(header).items():
        if count > 1:
            raise DatasetError(f"{path}: more than one gold column is named {name!r}")
    if not header or max(map(len, filled)) > len(header):
        raise DatasetError(
            f"{path}: expected a header, and no row with more cells; a cell with a comma needs "
            "quotes"
        )
    body = [row + [""] * (len(header) - len(row)) for row in filled[1:]]
    return pd.DataFrame(body, columns=header, dtype=_TEXTS)


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


def _aoe_tasks(file: Path) -> Iterator[TableTask]:
    """Read AOE's tables; the documents are in folders beside the file or one level above."""
    folder = file.parent.parent if file.parent.name == "table_data" else file.parent
    for number, line in enumerate(document_text(file).split("\n"), 1):
        if line.strip():
            try:
                yield _aoe_task(json.loads(line), folder)
            except (ValueError, RecursionError, DatasetError) as error:
                problem = one_line(str(error), 200)
                raise DatasetError(f"line {number} of {file}: {problem}") from None


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
    problems: list[str] = []
    columns = aoe_columns(language, task)
    if columns is None:
        problems.append(f"no columns are configured for {task} ({language}): all but the first")
        columns = tuple(header[:1]), tuple(header[1:]), ()
    if any(set(row) != set(header) for row in rows):
        problems.append("the rows of gold have different keys")
    documents = _aoe_documents(record, folder / _FOLDERS.get(domain, domain), problems)
    if domain == "legal" and index == "0":
        laws = _cited_laws(rows, folder / _FOLDERS[domain])
        documents |= {law.name: law for law in laws}
        if laws:
            problems.append(f"laws that gold cites: {', '.join(law.name for law in laws)}")
    gold = [[_cell(row.get(name)) for name in header] for row in rows]
    return TableTask(
        *(id_, domain, task, language, str(record.get("query", "")), *columns, documents),
        problem="; ".join(problems) or None,
        _gold=pd.DataFrame(gold, columns=pd.Index(header, dtype=object), dtype=_TEXTS),
    )


def _cell(value: Any) -> str:
    """Write a JSON value as a cell: texts as they are, null as nothing, others as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _aoe_documents(
    record: Mapping[str, Any], home: Path, problems: list[str]
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
        else:
            name = f"{str(item).removesuffix('.md')}.md"
            document = home / name
            if not document.resolve().is_relative_to(home.resolve()):
                problems.append(f"{name!r} is not in {home}; left out")
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
