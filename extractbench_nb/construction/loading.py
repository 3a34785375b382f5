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

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from extractbench_nb._json import read_document
from extractbench_nb.benchmark.dataset import list_files, list_folders, load_dataset
from extractbench_nb.construction.dataset import Problem, TableDataset, TableTask, task_text
from extractbench_nb.construction.sources import (
    DOCUMENT_KINDS,
    SourceDocument,
    aoe_columns,
    aoe_documents,
    split_record_id,
)
from extractbench_nb.display.text import one_line
from extractbench_nb.errors import DatasetError, InputError, nearest

AOE_FILE = "all_AOE_tables.jsonl"
GOLD_FILE, TASK_FILE, DOCUMENT_FOLDER = "gold.csv", "task.yaml", "documents"
SAMPLE_FOLDER = "construction"
#: What `load` takes for the laws of AOE's legal task 0.
LAWS = ("cited", "all", "none")


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


def _load_aoe(file: Path, laws: str) -> TableDataset:
    """Read AOE's tables; the documents are in folders beside the file or one level above."""
    tasks: list[TableTask] = []
    found: list[Problem] = []
    folder = file.parent.parent if file.parent.name == "table_data" else file.parent
    for number, line in enumerate(task_text(file).split("\n"), 1):
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
        stated_length=length,
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
