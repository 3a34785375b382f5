"""`load`: tasks whose answer is one table built from several documents.

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

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.construction.table_dataset import (
    DOCUMENT_KINDS,
    Problem,
    SourceDocument,
    TableDataset,
    TableTask,
    task_text,
)
from extractbench_nb.errors import DatasetError, nearest, needs
from extractbench_nb.runs import list_files, list_folders, load_dataset
from extractbench_nb.support.wording import one_line

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
    yaml = needs("yaml", "construction")

    try:
        settings = yaml.safe_load(task_text(path))
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


# --- AOE -------------------------------------------------------------------------------------


@cache
def shipped(name: str) -> pd.DataFrame:
    """Read a table of this package's data as texts; copy it before changing it."""
    place = files("extractbench_nb.construction").joinpath(f"data/{name}.csv")
    with place.open(encoding="utf-8") as file:
        frame: pd.DataFrame = pd.read_csv(file, dtype=str, keep_default_na=False)
    return frame


def aoe_columns(
    language: str, task: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None:
    """Return the key, value and numeric columns that AOE configures for a task.

    They are those of ``config/task_config.yaml`` (282e688d); one name of legal_1 ends in a quote.
    """
    tasks = shipped("aoe_tasks")
    rows = tasks[(tasks["language"] == language) & (tasks["task"] == task)].to_dict("records")
    if not rows:
        return None
    keys, values, numeric = (
        tuple(filter(None, rows[0][n].split("|"))) for n in ("keys", "values", "numeric")
    )
    return keys, values, values if numeric == ("all",) else numeric


def split_record_id(record_id: str) -> tuple[str, str, str | None]:
    """Split the id of an AOE record into domain, number of the task, and language.

    Examples
    --------
    >>> split_record_id("financial_3_0_zh")
    ('financial', '0', 'zh')
    >>> split_record_id("academic_WikiText-103_1")
    ('academic', '1', None)
    """
    domain, *rest = record_id.split("_")
    language = rest.pop() if len(rest) > 1 and rest[-1] in ("en", "zh") else None
    return domain, rest[-1] if rest else "", language


def _load_aoe(file: Path) -> TableDataset:
    """Read AOE's tables; the documents are in folders beside the file or one level above."""
    tasks: list[TableTask] = []
    found: list[Problem] = []
    folder = file.parent.parent if file.parent.name == "table_data" else file.parent
    for number, line in enumerate(task_text(file).split("\n"), 1):
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
) -> tuple[tuple[SourceDocument, ...], list[tuple[str, str]]]:
    """List the documents of an AOE record, and problems with them.

    A name is looked up in the domain's folder, with ``.md`` added where it is missing.
    """
    listed = record.get("input_doc") or []
    home = folder / _FOLDERS.get(domain, domain)
    documents: dict[str, SourceDocument] = {}
    problems: list[tuple[str, str]] = []
    for item in listed if isinstance(listed, list) else [listed]:
        if isinstance(item, Mapping):
            name = str(item.get(CASE_NAME) or f"case {len(documents) + 1}")
            document = SourceDocument(name, "text", None, _case_text(item))
        elif isinstance(item, str):
            document = _file(home, item if item.endswith(".md") else f"{item}.md")
        else:
            problems.append(("unreadable_document", f"input_doc holds {type(item).__name__}"))
            continue
        while document.name in documents:  # two cases may have one name
            document = replace(document, name=f"{document.name}'")
        documents[document.name] = document
    if domain == "legal" and index == "0":
        laws = _cited_laws(record.get("answers") or (), home)
        documents |= {name: SourceDocument(name, "docx", home / name) for name in laws}
        if laws:
            problems.append(("laws_from_gold", f"the laws come from gold: {', '.join(laws)}"))
    return tuple(documents.values()), problems


def _file(home: Path, name: str) -> SourceDocument:
    """Return a document in a folder; a name may not lead out of it."""
    path, kind = home / name, DOCUMENT_KINDS.get(Path(name).suffix, "txt")
    if not path.resolve().is_relative_to(home.resolve()):
        return SourceDocument(name, kind, problem=("outside_folder", f"{name!r} is not in {home}"))
    problem = None if path.is_file() else ("missing_document", f"no file {path}")
    return SourceDocument(name, kind, path, problem=problem)


def _cited_laws(answers: Iterable[Mapping[str, Any]], home: Path) -> list[str]:
    """Return the names of the files of laws that gold cites in 《》, as the released code does."""
    cited = re.findall(
        r"《(.*?)》", json.dumps([row.get(CITATIONS) for row in answers], ensure_ascii=False)
    )
    return [
        name for name in sorted({f"{law.strip()}.docx" for law in cited}) if (home / name).is_file()
    ]


def _case_text(case: Mapping[str, Any]) -> str:
    """Write a case of AOE's legal records as a text: name, number and facts, one per line."""
    return "\n".join(f"{label}{case.get(key, '')}" for key, label in _LABELS.items())
