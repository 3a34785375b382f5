"""`construct`: run a model over the tables of a dataset and keep its answers in a `Run`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from extractbench_nb.construction.retrieval import Retriever
from extractbench_nb.construction.table_dataset import TableDataset, TableTask, load, prompt_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges import (
    LLM,
    ModelRequest,
    message,
    placeholders_of,
    quoted,
    refuse_options,
)
from extractbench_nb.runs import (
    NO_KEY,
    TIMEOUT,
    Described,
    Request,
    Run,
    ask_all,
    begun_run,
    check_template,
    client_of,
    describe_run,
    folder_path,
    prompt_version,
)

#: Prompt settings, AOE's and ``plain``, and the parts that each adds to the prompt.
SETTINGS = {
    "plain": (),
    "all": ("demonstration", "reasoning"),
    "no_teach": ("reasoning",),
    "no_cot": ("demonstration",),
}
#: Options of `construct`.
OPTIONS = (
    *("tables", "domains", "setting", "with_schema"),
    *("retriever", "prompt", "resume", "progress"),
)
#: Placeholders of a ``prompt``, in braces.
PLACEHOLDERS = ("query", "documents", "columns")
_HASHED = 16
_FENCE = (
    "one CSV table in a code fence that is labelled csv: a header row, then the rows; put values "
    "with a comma in quotes."
)
#: By whether notes come before the table.
_ANSWER = {
    False: f"Answer with {_FENCE} No other table and no explanation.",
    True: f"End your answer with {_FENCE} No other table, and nothing after it.",
}


def construct(  # noqa: PLR0913 - options, all but the first by name
    dataset: TableDataset | str | os.PathLike[str],
    *,
    model: str | LLM,
    folder: str | Path,
    tables: str | Sequence[str] | None = None,
    domains: str | Sequence[str] | None = None,
    setting: str = "plain",
    with_schema: bool = False,
    retriever: Retriever | str | None = None,
    prompt: str | None = None,
    resume: bool = True,
    progress: bool = True,
    **unknown: object,
) -> Run:
    """Let a model build the tables in a dataset, and store its exact answers in a folder.

    Parameters
    ----------
    dataset : TableDataset, str or path
        The tables; what `load` takes.
    model : str or LLM
        A LiteLLM model id such as ``openai/gpt-4o-mini``, or an `LLM` with its options.
    folder : str or pathlib.Path
        Folder of the run: ``run.json``, and for each table ``{table}.raw.txt`` and
        ``{table}.meta.json``. `evaluate_tables` reads it.
    tables : str or sequence of str, optional
        Ids of the tables to build; by default all.
    domains : str or sequence of str, optional
        Build only the tables of these domains, such as ``"legal"``.
    setting : str, optional
        Parts of the built-in prompt, as in AOE: ``"all"`` has a demonstration and asks for
        reasoning step by step, ``"no_teach"`` has no demonstration, ``"no_cot"`` no reasoning;
        ``"plain"`` has neither. The texts are those of this package.
    with_schema : bool, optional
        Whether the prompt names gold's columns. By default the model chooses them.
    retriever : Retriever or str, optional
        A `Retriever`, or ``"bm25"``: the model gets the chunks that it finds with the query of the
        table. By default the model gets all documents in full.
    prompt : str, optional
        A template instead of the built-in prompt, with the placeholders ``{query}``,
        ``{documents}`` and ``{columns}``. Without ``{documents}`` they follow the prompt.
    resume : bool, optional
        Whether to resume a run in the folder. Tables with an answer are not requested again; see
        `extract`.
    progress : bool, optional
        Whether to show a progress bar.
    **unknown : object
        Any other option raises an error that shows where it belongs.

    Returns
    -------
    Run
        The run, with a table as a ``document``; failed calls are outputs too, with their reason.

    Raises
    ------
    InputError
        An option is invalid; the provider is unknown or its key is missing; a table has no text;
        the folder contains a different run, or one that another process is writing. All of this is
        checked before the first request.
    DatasetError
        A table is not in the dataset, or a document cannot be read.
    OutputError
        The folder cannot be written; existing files are unchanged.

    Examples
    --------
    >>> from extractbench_nb.construction import construct
    >>> construct("sample", model="openai/gpt-4o", folder="gpt-4o", prompt="Build a table.")
    Traceback (most recent call last):
    extractbench_nb.errors.InputError: prompt: it lacks {query}. Allowed are {query}, ...
    """
    refuse_options("construct", unknown, OPTIONS)
    llm = client_of(model)
    find: Any = Retriever(retriever) if isinstance(retriever, str) else retriever
    if find is not None and not isinstance(find, Retriever):
        kind = type(find).__name__
        raise InputError(f"retriever is {kind}; expected a Retriever, 'bm25' or None")
    if setting not in SETTINGS:
        raise InputError(f"setting={setting!r}; {nearest(setting, SETTINGS)}")
    if prompt is not None and setting != "plain":
        raise InputError("setting= is a part of the built-in prompt; leave it out with prompt=")
    check_template(prompt, PLACEHOLDERS, ("query",))
    chosen = dataset if isinstance(dataset, TableDataset) else load(dataset)
    tasks = _chosen(chosen, tables, domains)
    path = folder_path(folder)
    begun = begun_run(path, list(tasks), resume=resume)
    sampling = {"temperature": llm.temperature, "max_tokens": llm.max_tokens}
    description = describe_run(
        "construction",
        llm.model,
        prompt_version=prompt_version(prompt, _version(setting)),
        prompt=prompt,
        document_input="text",
        retriever=None if find is None else find.described,
        parameters={**sampling, "with_columns": with_schema},
        dataset=chosen.name,
        documents={},
    )

    def request(task: TableTask) -> ModelRequest:
        text = _prompt_for(task, prompt, find, setting, with_schema=with_schema)
        messages = (message("user", text),)
        limits = (llm.temperature, llm.max_tokens, llm.timeout or TIMEOUT, llm.api_base)
        return ModelRequest(llm.model, messages, *limits, None, False)

    def prepare(unanswered: Described) -> list[Request]:
        if unanswered:
            llm.check(otherwise=NO_KEY)
        return [Request(name, "text", partial(request, tasks[name])) for name in unanswered]

    described = {name: _described(task) for name, task in tasks.items()}
    return ask_all(llm, path, begun, (description, described), prepare, progress=progress)


def _version(setting: str) -> str:
    return "table-v1" if setting == "plain" else f"table-v1-{setting}"


def _chosen(
    dataset: TableDataset, tables: str | Sequence[str] | None, domains: str | Sequence[str] | None
) -> dict[str, TableTask]:
    """Return the tables to build by their ids."""
    ids, names = ([given] if isinstance(given, str) else given for given in (tables, domains))
    tasks = list(dataset if ids is None else map(dataset.__getitem__, ids))
    known = {task.domain for task in tasks}
    for name in names or ():
        if name not in known:
            raise InputError(f"domains: there is no {name!r}; {nearest(name, sorted(known))}")
    chosen = {task.id: task for task in tasks if names is None or task.domain in names}
    if not chosen:
        raise InputError("tables is empty; expected at least one id")
    return chosen


def _prompt_for(
    task: TableTask,
    template: str | None,
    retriever: Retriever | None,
    setting: str,
    *,
    with_schema: bool,
) -> str:
    """Write the prompt for a table; this reads its documents and searches them."""
    if retriever is None:
        parts = {
            f"document_{n}": f"{name}\n{text}"
            for n, (name, text) in enumerate(task.texts.items(), 1)
        }
    else:
        parts = {"passages": retriever(task, task.query).context}
    blocks = quoted({"query": task.query, **parts})
    values = {"query": blocks.pop("query"), "documents": "\n".join(blocks.values())}
    columns = ", ".join((*task.keys, *task.values))
    if template is None:
        added = SETTINGS[setting]
        parts = {n: prompt_text(n) + "\n" if n in added else "" for n in SETTINGS["all"]}
        parts["columns"] = f"\nIts columns are: {columns}\n" if with_schema else ""
        parts |= {"answer": _ANSWER["reasoning" in added], "version": _version(setting)}
        return prompt_text("task").format_map(values | parts)
    text = template.format_map(values | {"columns": columns})
    if "documents" not in placeholders_of(template, PLACEHOLDERS):
        text = f"{text.rstrip()}\n\n{values['documents']}"
    return text


def _described(task: TableTask) -> dict[str, str]:
    """Return the entries of a table in ``run.json``; this reads its documents."""
    texts = task.texts
    if not any(text.strip() for text in texts.values()):
        raise InputError(f"table {task.id!r} has no document with a text; leave it out")
    return {
        "domain": task.domain,
        "schema": task.task,
        "query_sha256": _hash(task.query, *task.keys, *task.values),
        "texts_sha256": _hash(*(part for item in texts.items() for part in item)),
    }


def _hash(*texts: str) -> str:
    data = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_HASHED]
