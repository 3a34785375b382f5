"""`extract`: run a model over documents and keep its responses in a `Run`.

Options are checked and all documents are found before the first request.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, MissingPdfError, nearest
from extractbench_nb.judges import (
    BACKGROUND,
    LLM,
    ModelRequest,
    chosen_llm,
    client_errors,
    litellm,
    most_tokens,
    refuse_options,
)
from extractbench_nb.pdf import read_pages
from extractbench_nb.runs.calling import (
    MODES,
    NotAskedError,
    Prompt,
    call_model,
    document_text,
    plain_schema,
    strict_breaches,
)
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.runs.folders import (
    PASSING,
    Run,
    RunFolder,
    check_names,
    describe_run,
    folder_path,
    function_of,
    is_run,
    now,
    refuse_outputs,
)
from extractbench_nb.support.concurrency import progress_bar, run_anywhere
from extractbench_nb.support.files import file_hash, make_folder
from extractbench_nb.support.pandas_helpers import refuse_missing

INPUTS = ("auto", "file", "text")

#: Seconds for one request, if an `LLM` leaves that open, and requests at the same time.
TIMEOUT, _AT_ONCE = 600.0, 4
_OPTIONS = ("mode", "dataset", "prompt", "document_input", "resume", "progress")
NO_KEY = "A model on your own server needs no key: pass its address, xb.LLM(model, api_base=...)"
_HASHED = 16
#: Maximum tokens of the image of a page: the providers document 258 (Gemini) to 4,784 (Claude), and
#: 25,501 for a high-detail image with gpt-4o-mini.
_PER_PAGE, _PER_PAGE_OF_MINI = 5_000, 26_000
_STRICT_IF_POSSIBLE = "json_schema, strict where the schema keeps the rules"
_MAGIC = b"%PDF-"
_HEAD = 1024
#: Entries that must be equal when a run is resumed: of its documents, and of the run.
_DECIDING_OF_DOCUMENTS = {
    "schema": "name of the schema",
    "schema_sha256": "schema",
    "pdf_sha256": "PDF",
    "query_sha256": "query",
    "texts_sha256": "text",
}
_DECIDING = (
    *("kind", "model", "mode", "prompt_version", "document_input", "parameters"),
    "retriever",  # of tables
)


class Task(NamedTuple):
    """One document to extract; `text` is None if the PDF itself is sent."""

    document: str
    plain: Mapping[str, Any]
    pdf: Path
    text: str | None
    strict: bool


def client_of(model: str | LLM) -> LLM:
    """Return the `LLM` that outputs are requested with; answers are kept in the run's folder."""
    return chosen_llm(model, max_concurrency=_AT_ONCE, cache=False)


def _file_tokens(path: Path, model: str) -> int:
    """Return an upper bound of the tokens billed for a PDF: its text, and an image per page."""
    per_page = _PER_PAGE_OF_MINI if "gpt-4o-mini" in model else _PER_PAGE
    try:
        pages = read_pages(path)
    except InputError:  # the provider may be able to read it
        return path.stat().st_size
    return sum(per_page + most_tokens(page) for page in pages)


def choose_documents(documents: object, dataset: Dataset | None) -> tuple[Dataset, list[str]]:
    """Return the dataset and the ids of the documents to extract."""
    if isinstance(documents, Dataset):
        if dataset is not None and dataset != documents:
            raise InputError(
                "documents is a Dataset, but dataset is a different one; pass only one"
            )
        return documents, documents.listing["document"].tolist()
    if not isinstance(dataset, Dataset):
        kind = type(dataset).__name__
        raise InputError(
            f"dataset is {kind}; expected the Dataset that the documents are from, or as documents "
            "a Dataset, which load_dataset reads from a folder"
        )
    documents = as_pandas(documents)
    if isinstance(documents, pd.DataFrame):
        refuse_missing(documents, ("document",), "documents")
        documents = documents["document"]
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise InputError(f"documents is {documents!r}; expected a Dataset, or a list of its ids")
    ids: list[str] = list(dict.fromkeys(documents))
    if not ids:
        raise InputError("documents is empty; expected at least one id")
    for document in ids:
        dataset.pdf_path(document)  # raises if the id is unknown or has no PDF
    return dataset, ids


#: Entries of ``run.json`` by document id; see `describe_documents`.
Described: TypeAlias = Mapping[str, Mapping[str, str]]


def describe_documents(
    dataset: Dataset, documents: Iterable[str], *, structured: bool = False
) -> dict[str, dict[str, str]]:
    """Return what ``run.json`` records of each document: domain, schema, hashes of its inputs."""
    listing = dataset.listing.set_index("document")
    descriptions: dict[str, dict[str, str]] = {}
    schemas: dict[str, dict[str, str]] = {}
    for document in documents:
        schema = str(listing.loc[document, "schema"])
        if schema not in schemas:
            plain = plain_schema(dataset.schema(schema))
            data = canonical(plain).encode("utf-8", "surrogatepass")
            schemas[schema] = {"schema_sha256": hashlib.sha256(data).hexdigest()[:_HASHED]}
            if structured:
                breaches = strict_breaches(plain)
                more = f" and {len(breaches) - 1} more" if len(breaches) > 1 else ""
                schemas[schema]["strict"] = f"false: {breaches[0]}{more}" if breaches else "true"
        domain = str(listing.loc[document, "domain"])
        descriptions[document] = {"domain": domain, "schema": schema, **schemas[schema]}
        with suppress(MissingPdfError):
            if (digest := file_hash(dataset.pdf_path(document))) is not None:
                descriptions[document]["pdf_sha256"] = digest[:_HASHED]
    return descriptions


def make_tasks(dataset: Dataset, documents: Described, document_input: str) -> list[Task]:
    """Read schemas and PDFs of all documents, so that broken files raise before any request."""
    plain = cache(lambda schema: plain_schema(dataset.schema(schema)))
    tasks = []
    for document, about in documents.items():
        pdf, text = dataset.pdf_path(document), None
        if document_input == "text":
            text = document_text(pdf)
        else:
            _check_pdf(pdf)
        strict = about.get("strict") == "true"
        tasks.append(Task(document, plain(about["schema"]), pdf, text, strict))
    if empty := [repr(task.document) for task in tasks if task.text == ""]:
        raise InputError(
            f"no text in the PDF of {', '.join(empty)} (scanned pages?); use a model that takes "
            "files, with document_input='file', or leave these documents out"
        )
    return tasks


def _check_pdf(path: Path) -> None:
    """Raise `InputError` for a file that is not a PDF; it need not be one that PDFium can open."""
    try:
        if not path.is_file():  # reading a pipe could block
            raise InputError(f"PDF {str(path)!r} cannot be read: it is not a regular file")
        with path.open("rb") as file:
            is_pdf = _MAGIC in file.read(_HEAD)
    except OSError as error:
        raise InputError(f"PDF {str(path)!r} cannot be read: {error.strerror or error}") from None
    if not is_pdf:
        read_pages(path)  # raises with the reason


def refuse_other_run(folder: RunFolder, ours: Mapping[str, Any], documents: Described) -> None:
    """Raise `InputError` that names the first difference from the run in a folder."""
    theirs, where = folder.description, repr(str(folder.path))
    for name in _DECIDING:
        before, wanted = theirs.get(name), ours.get(name)
        if before != wanted:
            raise InputError(
                f"{where} holds a run whose {name} is {before!r}, not {wanted!r}; "
                "resume with the same settings, or use another folder"
            )
    stored = theirs.get("documents", {})
    schemas = {about.get("schema"): about.get("schema_sha256") for about in stored.values()}
    for document, about in documents.items():
        recorded = {"schema_sha256": schemas.get(about["schema"]), **stored.get(document, {})}
        for name, what in _DECIDING_OF_DOCUMENTS.items():
            before, now = recorded.get(name), about.get(name)
            if before is not None and now is not None and before != now:
                raise InputError(
                    f"{where} holds a run in which the {what} of {document!r} was different "
                    f"({name} was {before}, now it is {now}); restore it, or use another folder"
                )


# --- the run --------------------------------------------------------------------------------------


def extract(  # noqa: PLR0913 - options, all but the first by name
    documents: Dataset | Sequence[str] | pd.Series[Any] | pd.DataFrame,
    *,
    model: str | LLM,
    folder: str | Path,
    mode: str = "prompt",
    dataset: Dataset | None = None,
    prompt: str | Path | None = None,
    document_input: str = "auto",
    resume: bool = True,
    progress: bool = True,
    **unknown: object,
) -> Run:
    """Run a model over documents and keep its exact responses in a folder.

    Parameters
    ----------
    documents : Dataset, or sequence of str, or pandas.Series, or pandas.DataFrame
        A dataset, for all its documents; or ids of documents of `dataset`. A frame needs a column
        ``document``.
    model : str or LLM
        A LiteLLM model id such as ``openai/gpt-4o-mini``, or an `LLM` with its options. Documents
        that would exceed its budget are not sent. An id makes 4 requests at the same time.
    folder : str or pathlib.Path
        Folder of the run: ``run.json``, and for each document ``{document}.raw.txt`` and
        ``{document}.meta.json``.
    mode : str, optional
        ``"prompt"``: the schema is part of the prompt. ``"structured"``: the schema is sent as the
        ``response_format``, without its ``evaluation_config`` annotations. ``strict`` is true only
        for schemas that follow OpenAI's rules, else an answer need not fit; ``run.json`` records
        the reason. For other providers LiteLLM converts the schema, and drops what they do not
        support.
    dataset : Dataset, optional
        The dataset of the documents.
    prompt : str or pathlib.Path, optional
        ``"paper"`` gives the instructions of the ExtractBench paper, in other words: those of
        appendix D, or in structured mode (section 4.3) the same without the schema. Otherwise a
        template, or the path of its file, with the placeholders ``{schema}``, ``{document}`` (its
        name) and ``{text}``, or the paper's ``{schema_str}`` and ``{document_name}``. Without
        ``{text}``, the text of a document follows the prompt.
    document_input : str, optional
        ``"file"``: the PDF, as the provider's own file input. ``"text"``: its text layer.
        ``"auto"``: the file if LiteLLM knows that the model takes PDFs, else the text.
    resume : bool, optional
        Whether to resume a run in the folder. Documents with an output are not sent again, unless
        their ``.raw.txt`` was removed, or their call failed for a transient reason: rate_limited,
        timeout, server_error, connection, bad_key, not_found, redirect.
    progress : bool, optional
        Whether to show a progress bar.
    **unknown : object
        Any other option is an error, which says where it belongs.

    Returns
    -------
    Run
        The run; failed calls are outputs too, with their reason.

    Raises
    ------
    InputError
        An option, `documents` or `folder` is invalid; the provider is unknown or its key is
        missing; a PDF cannot be read, or has no text although text is to be sent; the folder holds
        a different run, or one that another process is writing. All of this is checked before the
        first request.
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
    refuse_options("extract", unknown, _OPTIONS)
    llm = client_of(model)
    options = (("mode", mode, MODES), ("document_input", document_input, INPUTS))
    for name, value, allowed in options:
        if value not in allowed:
            raise InputError(f"{name} is {value!r}; {nearest(value, allowed)}")
    template, structured = Prompt(mode, prompt), mode == "structured"
    path = folder_path(folder)
    chosen, ids = choose_documents(documents, dataset)
    begun = begun_run(path, ids, resume=resume)
    sent_as = document_input
    if sent_as == "auto":  # as in the run that is resumed, or as the model takes it
        stored = begun.description.get("document_input") if begun else None
        with client_errors():
            takes_files = stored or litellm().utils.supports_pdf_input(llm.model)
        sent_as = str(stored or ("file" if takes_files else "text"))
    sampling = {"temperature": llm.temperature, "max_tokens": llm.max_tokens}
    description = describe_run(
        "extraction",
        llm.model,
        mode=mode,
        prompt_version=template.version,
        prompt=template.text if isinstance(prompt, Path) else prompt,
        document_input=sent_as,
        parameters={**sampling, "response_format": _STRICT_IF_POSSIBLE if structured else None},
        dataset=chosen.name,
        documents={},
    )
    documents_now = describe_documents(chosen, ids, structured=structured)

    def request(task: Task) -> ModelRequest:
        """Make the request for one document; this reads the PDF."""
        pdf = task.pdf if task.text is None else None
        limited = pdf is not None and llm.budget_usd is not None
        return ModelRequest(
            llm.model,
            template.messages(task.document, task.plain, text=task.text, pdf=pdf),
            llm.temperature,
            llm.max_tokens,
            llm.timeout or TIMEOUT,
            llm.api_base,
            deepcopy(task.plain) if structured else None,  # LiteLLM may change it
            strict=task.strict,
            schema_name="extraction",
            demanded=structured,
            file_tokens=_file_tokens(task.pdf, llm.model) if limited else 0,
        )

    def prepare(unanswered: Described) -> list[Request]:
        if unanswered:
            llm.check(otherwise=NO_KEY)
            with client_errors():
                supported = litellm().get_supported_openai_params(model=llm.model) or ()
            if structured and "response_format" not in supported:
                raise InputError(
                    "mode='structured': LiteLLM knows no response format for "
                    f"{llm.model!r} and would drop the schema; use mode='prompt'"
                )
        return [
            Request(task.document, sent_as, partial(request, task))
            for task in make_tasks(chosen, unanswered, sent_as)
        ]

    return ask_all(llm, path, begun, (description, documents_now), prepare, progress=progress)


class Request(NamedTuple):
    """A document to be asked about: in which form it is sent, and what makes its request."""

    document: str
    sent_as: str
    make: Callable[[], ModelRequest]


def begun_run(path: Path, documents: Sequence[str], *, resume: bool) -> RunFolder | None:
    """Check the names of documents, and open the run that a folder holds, if it may be resumed."""
    check_names(documents)
    begun = RunFolder.open(path) if is_run(path) else None
    if begun is not None and not resume:
        raise InputError(f"{str(path)!r} holds a run; pass resume=True, or use another folder")
    return begun


def ask_all(
    llm: LLM,
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
        stopped = run_anywhere(_ask_each(llm, still_open, run, progress=progress))
        run.update({"ended": now()})
    return Run(path, stopped)


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
    llm: LLM, requests: Sequence[Request], folder: RunFolder, *, progress: bool
) -> str | None:
    turns = asyncio.Semaphore(llm.max_concurrency)
    llm.queue.hopeless.clear()
    stop_reasons: list[str] = []

    async def ask(request: Request) -> None:
        async with turns:
            if stop_reasons:
                return
            made = await asyncio.to_thread(request.make)
            try:
                output = await BACKGROUND.run(call_model(llm.queue, made, request.sent_as))
            except NotAskedError as error:
                stop_reasons.append(str(error))
                return
            folder.write(request.document, *output)
            bar.update()

    name, total = f"{function_of(folder.description)} {llm.model}", len(requests)
    with progress_bar(shown=progress, total=total, desc=name, unit="document") as bar:
        await asyncio.gather(*(ask(request) for request in requests))
    return stop_reasons[0] if stop_reasons else None
