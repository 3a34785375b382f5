"""`extract`: run a model over documents and keep its responses in a `Run`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.judges import BACKGROUND, CallQueue, ModelRequest, Settings, read_environment
from extractbench_nb.runs.calling import PASSING, REASONS, NotAskedError, Prompt, call_model
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.runs.folders import (
    Output,
    RunFolder,
    check_names,
    folder_path,
    is_run,
    now,
    refuse_outputs,
)
from extractbench_nb.runs.plans import (
    Described,
    Options,
    choose_documents,
    describe_documents,
    make_tasks,
    refuse_other_run,
)
from extractbench_nb.support.cards import card_html, document_text
from extractbench_nb.support.concurrency import progress_bar, run_anywhere
from extractbench_nb.support.files import make_folder

RUN_OUTPUT_COLUMNS = FrameSpec(
    "run_outputs",
    "one row per document with an output or a failed call, by domain, schema and document",
    (
        Column("run", "string", "name of the folder"),
        Column("document", "string", "document id"),
        Column("domain", "string", "domain of the document", "", True),
        Column("schema", "string", "schema id", "", True),
        Column("raw_characters", "Int64", "length of the text as received", "0 and up", True),
        Column("finish_reason", "string", "why the model stopped, in LiteLLM's words", "", True),
        Column("prompt_tokens", "Int64", "tokens read, as billed", "0 and up", True),
        Column("completion_tokens", "Int64", "tokens written, as billed", "0 and up", True),
        Column("cost_usd", "Float64", "cost at LiteLLM's list prices", "0 and up", True),
        Column("latency_seconds", "Float64", "seconds of the last request", "0 and up", True),
        Column("input", "string", "form in which the document was sent", "file, text", True),
        Column("error_reason", "string", "why there is no output", ", ".join(REASONS), True),
        Column("error", "string", "the provider's message", "", True),
        Column("raw", "object", "the text as received, a str", "", True),
        Column("meta", "object", "details of the call, a dict"),
    ),
)


@dataclass(frozen=True, repr=False)
class Run:
    """The responses of a model to documents, kept in a folder.

    Made by `extract`, or from a folder by `Run.open`. Each access to a frame reads the folder.

    Attributes
    ----------
    folder : pathlib.Path
        The folder.
    stopped : str or None
        Why `extract` stopped before all documents were sent (the budget, a rejected key), or None.
        It is not saved.
    """

    folder: Path
    stopped: str | None = None

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """Read a run from its folder.

        Parameters
        ----------
        folder : str or pathlib.Path
            A folder with ``run.json``.

        Returns
        -------
        Run
            The run; its outputs are read on access.

        Raises
        ------
        InputError
            There is no run, or a newer version of this package wrote it; or `folder` is not a path.
        """
        return cls(RunFolder.open(folder_path(folder)).path)

    @property
    def description(self) -> dict[str, Any]:
        """The content of ``run.json``: kind, model, mode, prompt_version, parameters and so on."""
        return RunFolder.open(self.folder).description

    @property
    def outputs(self) -> pd.DataFrame:
        """One row per document with an output, as `read_outputs` takes (`RUN_OUTPUT_COLUMNS`)."""
        folder = RunFolder.open(self.folder)
        description = folder.description
        run = folder.path.resolve().name
        rows = []
        for document in folder.documents:
            details = description.get("documents", {}).get(document) or {}
            raw, meta = folder.read(document)
            error = meta.get("error") or {}
            cells = meta | {
                "run": run,
                "document": document,
                "domain": details.get("domain") or None,
                "schema": details.get("schema") or None,
                "raw_characters": None if raw is None else len(raw),
                "error_reason": error.get("reason"),
                "error": error.get("message"),
                "raw": raw,
                "meta": meta,
            }
            rows.append([cells.get(name) for name in RUN_OUTPUT_COLUMNS.names])
        rows.sort(key=lambda row: (row[2] or "", row[3] or "", row[1]))
        return RUN_OUTPUT_COLUMNS.from_rows(rows)

    @property
    def unasked(self) -> list[str]:
        """Ids of the run's documents that have no output yet, in order."""
        folder = RunFolder.open(self.folder)
        return sorted({*folder.description.get("documents", {})} - {*folder.documents})

    def read(self, document: str) -> Output:
        """Read the model's response for a document.

        Parameters
        ----------
        document : str
            Id of the document.

        Returns
        -------
        Output
            ``raw``, the text exactly as received, or None if there was none; and ``meta``.

        Raises
        ------
        InputError
            The run has no output for it.
        """
        return RunFolder.open(self.folder).read(document)

    def __repr__(self) -> str:
        """Return model and mode, the folder, and counts of documents and costs."""
        return "\n".join([self._title(), f"  {self.folder}", *(f"  {x}" for x in self._counts())])

    def _repr_html_(self) -> str:
        """Return the same as static HTML; every text is escaped."""
        lines = "".join(f"<br>{document_text(line, 300)}" for line in self._counts())
        return card_html(self._title(), f"<code>{escape(str(self.folder))}</code>{lines}", limit=80)

    def _title(self) -> str:
        description = self.description
        mode = f", mode {description['mode']!r}" if description.get("mode") else ""
        return f"Run of {description['model']!r}{mode}"

    def _counts(self) -> list[str]:
        """Return lines about answers and failures, costs, and open documents."""
        outputs, unasked = self.outputs, self.unasked
        failures = outputs["error_reason"].value_counts(sort=False).sort_index()
        answered, total = len(outputs) - int(failures.sum()), len(outputs) + len(unasked)
        counts = [f"{answered} of {total} documents answered"]
        counts += [f"{count} {reason}" for reason, count in failures.items()]
        lines = [", ".join(counts)]
        costs = outputs["cost_usd"]
        if costs.notna().any():
            lines.append(f"{costs.sum():.6g} US dollars at list prices")
        unknown = int((costs.isna() & outputs["error_reason"].isna()).sum())
        if unknown:
            lines.append(f"{unknown} of unknown cost: no price, or no usage reported")
        if unasked:
            why = f": {self.stopped}" if self.stopped else ""
            call = _function_of(self.description)
            lines.append(f"{len(unasked)} not asked{why}; {call} with the same folder continues")
        return lines


def extract(  # noqa: PLR0913 - options, all but the first by name
    documents: Dataset | Sequence[str] | pd.Series[Any] | pd.DataFrame,
    *,
    model: str,
    folder: str | Path,
    mode: str = "prompt",
    dataset: Dataset | None = None,
    prompt: str | None = None,
    document_input: str = "auto",
    temperature: float | None = None,
    max_tokens: int | None = None,
    timeout: float = 600.0,
    max_concurrency: int = 4,
    max_attempts: int = Settings.max_attempts,
    retry_wait: float = Settings.retry_wait,
    budget_usd: float | None = None,
    api_base: str | None = None,
    resume: bool = True,
    progress: bool = True,
) -> Run:
    """Run a model over documents and keep its exact responses in a folder.

    Parameters
    ----------
    documents : Dataset, or sequence of str, or pandas.Series, or pandas.DataFrame
        A dataset, for all its documents; or ids of documents of `dataset`. A frame needs a column
        ``document``.
    model : str
        A LiteLLM model id such as ``openai/gpt-4o-mini``.
    folder : str or pathlib.Path
        Folder of the run: ``run.json``, and for each document ``{document}.raw.txt`` and
        ``{document}.meta.json``.
    mode : str, optional
        ``"prompt"``: the schema is part of the prompt. ``"structured"``: the schema is sent as the
        ``response_format``, without its ``evaluation_config`` annotations and otherwise unchanged.
        ``strict`` is true only for schemas that follow OpenAI's rules for strict schemas; most do
        not, and are sent with ``strict: false``, which does not guarantee that an answer fits.
        ``run.json`` records the choice and the reason for each document. For other providers
        LiteLLM converts the schema, and drops what they do not support.
    dataset : Dataset, optional
        The dataset of the documents.
    prompt : str, optional
        A template in place of the built-in prompt, with the placeholders ``{schema}``,
        ``{document}`` (its name) and ``{text}``. The paper's names ``{schema_str}`` and
        ``{document_name}`` work too. Without ``{text}``, the text of a document follows the prompt.
    document_input : str, optional
        ``"file"``: the PDF, as the provider's own file input. ``"text"``: its text layer.
        ``"auto"``: the file if LiteLLM knows that the model takes PDFs, else the text.
    temperature : float, optional
        Sampling temperature; the provider's default by default.
    max_tokens : int, optional
        Maximum number of tokens of an answer; the provider's default by default.
    timeout : float, optional
        Time limit for one request, in seconds.
    max_concurrency : int, optional
        Maximum number of concurrent requests.
    max_attempts : int, optional
        Maximum number of requests for one document, if transient errors of the provider occur.
    retry_wait : float, optional
        Seconds before the second request; see `LLMJudge`.
    budget_usd : float, optional
        Maximum that this run may spend at list prices, in US dollars. Each request first reserves
        its maximum cost: its own tokens, and an answer of `max_tokens` (without it, of the model's
        maximum). Documents that would exceed the budget are not sent. A reply without token counts
        is charged its maximum cost.
    api_base : str, optional
        Address of the server, if it is not the provider's own. Such a server needs no key.
    resume : bool, optional
        Whether to resume a run in the folder. Documents with an output are not sent again, unless
        their ``.raw.txt`` was removed, or their call failed for a transient reason: rate_limited,
        timeout, server_error, connection, bad_key, not_found, redirect.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    Run
        The run; failed calls are outputs too, with their reason.

    Raises
    ------
    InputError
        An option, `documents` or `folder` is invalid; the provider is unknown or its key is
        missing; a PDF cannot be read, or has no text although text is to be sent; the folder holds
        a different run, a run of a newer version, one that another process is writing, or any run
        with ``resume=False``. All of this is checked before the first request.
    DatasetError
        A document is not in the dataset or has no PDF.
    OutputError
        The folder cannot be written; existing files are unchanged.

    Notes
    -----
    Paper sections 4, 4.3 and appendix D. The text is kept as received, except that the values of
    API keys are hidden.

    Examples
    --------
    >>> from extractbench_nb.runs.dataset import load_dataset
    >>> extract(load_dataset(), model="openai/gpt-4o", folder="gpt-4o", mode="json")
    Traceback (most recent call last):
    extractbench_nb.errors.InputError: mode is 'json'; expected one of prompt, structured
    """
    read_environment()
    optional = {"temperature": temperature, "max_tokens": max_tokens}
    settings = Settings(
        model,
        timeout=timeout,
        max_concurrency=max_concurrency,
        max_attempts=max_attempts,
        retry_wait=retry_wait,
        budget_usd=budget_usd,
        api_base=api_base,
        **{name: value for name, value in optional.items() if value is not None},  # type: ignore[arg-type]
    )
    prompts = Prompt(mode, prompt)
    options = Options(settings, prompts, temperature, max_tokens, document_input)
    path = folder_path(folder)
    chosen, ids = choose_documents(documents, dataset)
    begun = begun_run(path, ids, resume=resume)
    sent_as = options.input_of(begun.description if begun else {})
    description = options.describe(sent_as, chosen.name)
    documents_now = describe_documents(chosen, ids, structured=options.is_structured)

    def prepare(unanswered: Described) -> list[Request]:
        if unanswered:
            options.check()
        return [
            Request(task.document, sent_as, partial(options.request, task))
            for task in make_tasks(chosen, unanswered, sent_as)
        ]

    return ask_all(settings, path, begun, (description, documents_now), prepare, progress=progress)


class Request(NamedTuple):
    """A document to be asked about: in which form it is sent, and what makes its request."""

    document: str
    sent_as: str
    make: Callable[[], ModelRequest]


def begun_run(path: Path, documents: Sequence[str], *, resume: bool) -> RunFolder | None:
    """Check the names of documents, and open the run that a folder holds, if it may be resumed."""
    check_names(path, documents)
    begun = RunFolder.open(path) if is_run(path) else None
    if begun is not None and not resume:
        raise InputError(f"{str(path)!r} holds a run; pass resume=True, or use another folder")
    return begun


def ask_all(
    settings: Settings,
    path: Path,
    begun: RunFolder | None,
    plan: tuple[Mapping[str, Any], Described],
    prepare: Callable[[Described], list[Request]],
    *,
    progress: bool,
) -> Run:
    """Ask about all documents of a run that have no output yet.

    `plan` is what ``run.json`` says of the run, and of each document. `prepare` makes the requests
    for some documents; it raises if one of them cannot be asked about.
    """
    description, documents = plan
    if begun is not None:
        refuse_other_run(begun, description, documents)
    unanswered = {
        name: about for name, about in documents.items() if begun is None or _is_open(begun, name)
    }
    requests = prepare(unanswered)
    if begun is None:
        refuse_outputs(path)
    elif not requests and begun.description.get("ended"):
        begun.tidy()
        return Run(path)
    with RunFolder(make_folder(path), {}).alone():
        # another call may have begun the same run since
        run = RunFolder.open(path) if is_run(path) else RunFolder.create(path, description)
        refuse_other_run(run, description, documents)
        recorded = run.description.get("documents", {})
        run.update({"documents": {**recorded, **unanswered}})
        still_open = [request for request in requests if _is_open(run, request.document)]
        stopped = run_anywhere(_ask_each(settings, still_open, run, progress=progress))
        run.update({"ended": now()})
    return Run(path, stopped)


def _function_of(description: Mapping[str, Any]) -> str:
    """Return the name of the function that makes such a run."""
    return "construct" if description["kind"] == "construction" else "extract"


def _is_open(folder: RunFolder, document: str) -> bool:
    """Whether the output is absent, its text was removed, or its call failed transiently."""
    if not folder.has(document):
        return True
    raw, meta = folder.read(document)
    error = meta.get("error")
    if error is None:
        return raw is None and meta.get("raw_characters") is not None
    return error.get("reason") in PASSING


async def _ask_each(
    settings: Settings, requests: Sequence[Request], folder: RunFolder, *, progress: bool
) -> str | None:
    """Send all requests; return why some were not sent, or None."""
    queue = CallQueue(settings, None)
    turns = asyncio.Semaphore(settings.max_concurrency)
    stop_reasons: list[str] = []

    async def ask(request: Request) -> None:
        async with turns:
            if stop_reasons:
                return
            made = await asyncio.to_thread(request.make)
            try:
                output = await BACKGROUND.run(call_model(queue, made, request.sent_as))
            except NotAskedError as error:
                stop_reasons.append(str(error))
                return
            folder.write(request.document, *output)
            bar.update()

    name, total = f"{_function_of(folder.description)} {settings.model}", len(requests)
    with progress_bar(shown=progress, total=total, desc=name, unit="document") as bar:
        await asyncio.gather(*(ask(request) for request in requests))
    return stop_reasons[0] if stop_reasons else None
