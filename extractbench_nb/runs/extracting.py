"""`extract`: run a model over documents and keep its exact responses in a `Run`.

Options are checked and all documents are found before the first request.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.core.schema import parse_schema
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, MissingPdfError, nearest
from extractbench_nb.judges import (
    BACKGROUND,
    LLM,
    CallQueue,
    Completion,
    Failure,
    ModelRequest,
    chosen_llm,
    client_errors,
    litellm,
    most_tokens,
    placeholders_of,
    prompt_text,
    quoted,
    refuse_options,
    scrub,
    sendable,
    template_problem,
)
from extractbench_nb.pdf import read_pages
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.runs.folders import (
    KINDS,
    Output,
    Run,
    check_names,
    describe_run,
    folder_path,
    is_run,
    now,
)
from extractbench_nb.support.concurrency import progress_bar, run_anywhere
from extractbench_nb.support.files import file_hash, make_folder, read_text, reading

MODES, INPUTS = ("prompt", "structured"), ("auto", "file", "text")
#: Seconds for one request, if an `LLM` leaves that open, and requests at the same time.
TIMEOUT, _AT_ONCE = 600.0, 4
_OPTIONS = ("mode", "dataset", "prompt", "document_input", "resume", "progress")
NO_KEY = "A model on your own server needs no key: pass its address, xb.LLM(model, api_base=...)"


def client_of(model: str | LLM) -> LLM:
    """Return the `LLM` that outputs are requested with; answers are kept in the run's folder."""
    return chosen_llm(model, max_concurrency=_AT_ONCE, cache=False)


# --- the prompt -----------------------------------------------------------------------------------

#: Version of the built-in prompts; folder and version of those that follow the paper's appendix D.
PROMPT_VERSION, PAPER = "v1", "paper"
#: Placeholders of a ``prompt``, in braces. The last two are the names in the paper's appendix D.
PLACEHOLDERS = ("schema", "document", "text", "schema_str", "document_name")
_HASHED = 12


@dataclass(frozen=True)
class Prompt:
    """The prompt for a document: a built-in one, or a user's template with `PLACEHOLDERS`.

    `template` is None or ``"paper"`` for the built-in ones, a text, or a `Path` to its file. In the
    mode ``"prompt"`` it must contain the schema. The text of a document follows it if it has no
    ``{text}``.
    """

    mode: str
    template: str | Path | None = None

    def __post_init__(self) -> None:
        """Check the template."""
        needed = ("schema", "schema_str") if self.mode == "prompt" else ()
        check_template(self.text, PLACEHOLDERS, needed)

    @cached_property
    def text(self) -> str:
        """The template's text."""
        if self.template in (None, PAPER):
            folder = PAPER if self.template else PROMPT_VERSION
            return _built_in(self.mode, folder)
        if isinstance(self.template, Path):
            return read_text(self.template, "prompt")
        return self.template or ""  # which check_template refuses

    @property
    def version(self) -> str:
        """Version of a built-in prompt, or ``custom-`` and the start of the SHA-256."""
        if self.template == PAPER:
            return PAPER
        return prompt_version(None if self.template is None else self.text)

    def messages(
        self,
        document: str,
        schema: Mapping[str, Any],
        *,
        text: str | None = None,
        pdf: Path | None = None,
    ) -> tuple[dict[str, Any], ...]:
        """Return the user message."""
        shown = json.dumps(schema, ensure_ascii=False, indent=2)
        content = _built_in("file")
        if text is not None:
            content = _built_in("text").format(text=quoted({"document": text})["document"])
        values = (shown, document, content, shown, document)
        prompt = self.text.format_map(dict(zip(PLACEHOLDERS, values, strict=True)))
        if text is not None and "text" not in placeholders_of(self.text, PLACEHOLDERS):
            prompt = f"{prompt.rstrip()}\n\n{content}"
        prompt = sendable(prompt)
        if pdf is None:
            return ({"role": "user", "content": prompt},)
        with reading(f"PDF {str(pdf)!r}"):
            data = base64.b64encode(pdf.read_bytes()).decode()
        file = {"filename": sendable(f"{document}.pdf")}
        file["file_data"] = f"data:application/pdf;base64,{data}"
        parts = [{"type": "file", "file": file}, {"type": "text", "text": prompt}]
        return ({"role": "user", "content": parts},)


def check_template(template: object, allowed: Sequence[str], needed: Sequence[str]) -> None:
    """Raise `InputError` unless a template has allowed placeholders, and one of those needed."""
    if template is None:
        return
    if not isinstance(template, str) or not template.strip():
        raise InputError(f"prompt is {template!r}; expected a text")
    names = [name for name in needed if f"{{{name}}}" in template] or needed[:1]
    if problem := template_problem(template, allowed, *names[:1]):
        raise InputError(f"prompt: {problem}")


def prompt_version(template: str | None, built_in: str = PROMPT_VERSION) -> str:
    """Return the version of the built-in prompt, or one that is made of a template's hash."""
    if template is None:
        return built_in
    data = template.encode("utf-8", "surrogatepass")
    return f"custom-{hashlib.sha256(data).hexdigest()[:_HASHED]}"


def _built_in(name: str, version: str = PROMPT_VERSION) -> str:
    return prompt_text(name, version, "extractbench_nb.runs", "prompts")


def document_text(pdf: Path) -> str:
    """Read the text of a PDF, page by page."""
    pages = read_pages(pdf)
    if not any(page.strip() for page in pages):
        return ""
    return "\n\n".join(f"[page {number}]\n{page}" for number, page in enumerate(pages, 1))


_ANNOTATION = "evaluation_config"
#: Members of a JSON Schema whose own members are named by the user, and those that hold values.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_VALUES = ("enum", "const", "default", "examples", "required")


def plain_schema(schema: Any) -> dict[str, Any]:
    """Return a JSON Schema without its envelope and ``evaluation_config`` annotations."""
    document = parse_schema(schema).document
    kept = {key: value for key, value in document.items() if not key.startswith(_ANNOTATION)}
    return {key: _plain(key, value) for key, value in kept.items()}


def _plain(keyword: str, value: Any) -> Any:
    if keyword in _VALUES:
        return value
    if keyword in _NAMED and isinstance(value, Mapping):
        return {name: _plain("", part) for name, part in value.items()}
    if isinstance(value, Mapping):
        return {key: _plain(key, part) for key, part in value.items() if key != _ANNOTATION}
    return [_plain("", part) for part in value] if isinstance(value, list) else value


# --- one call -------------------------------------------------------------------------------------

#: Reasons of failures under the names that outputs have; others are told by the provider's words.
_REASONS = {name: name for name in ("timeout", "server_error", "connection", "bad_key")} | {
    "context_window": "context_length",
    "rate_limit": "rate_limited",
    "quota": "rate_limited",
    "conflict": "server_error",
    "too_early": "server_error",
    "forbidden": "bad_key",
    "not_found": "not_found",
    "redirect": "redirect",
}
_LIMIT = r"(?:maximum|limit|exceed\w*|too many|more than|at most)"
_NO_MODE = r"response_format.{0,60}not supported (?:with|by|for) this model"
#: The provider's words for a reason, in the order in which they are looked for; the first one is
#: for requests with a schema.
_WORDS = {
    "schema_rejected": rf"^(?!.*{_NO_MODE}).*(?:schema|too many states|compiled grammar)",
    "page_limit": "page limit|more pages than"
    rf"|{_LIMIT}\b.{{0,60}}\bpages\b|\bpages\b.{{0,60}}\b{_LIMIT}",
    "context_length": r"context.(?:length|window)|(?:prompt|input|request) is too long|token count"
    r"|too many tokens|maximum.{0,40}tokens|tokens.{0,40}(?:maximum|limit)",
    "refused": r"content.?(?:policy|filter|management)|safety (?:system|polic)|usage polic|blocked",
}
_FILTERED = "content_filter"
_LONGEST_REFUSAL = 500
#: Maximum length of an answer; only a faulty server exceeds it.
_LONGEST = 50_000_000
_SHORTEST_KEY = 16


class NotAskedError(Exception):
    """No request was made, because the budget is spent or the server does not answer."""


async def call_model(queue: CallQueue, request: ModelRequest, document_input: str) -> Output:
    """Request the output for one document; a failed call is an output too."""
    begun: list[float] = []  # of each attempt
    error = None
    completion = Completion(None, False, None, None, None)
    try:
        async with queue.turns:  # shared with other uses of the model
            completion = await queue.say(request, lambda: begun.append(time.perf_counter()))
    except Failure as failure:
        if not begun or failure.reason == "budget":
            raise NotAskedError(str(failure)) from None
        error = (reason_of(failure, structured=request.schema is not None), failure.problem)
    raw = completion.text
    if raw is not None and len(raw) > _LONGEST:
        length = f"{len(raw):,} characters; the maximum is {_LONGEST:,}"
        raw, error = None, ("other", f"the answer has {length}")
    elif completion.refusal is not None:
        error = ("refused", scrub(completion.refusal)[:_LONGEST_REFUSAL])
    elif completion.finish_reason == _FILTERED:
        error = ("refused", f"the answer was withheld: finish_reason is {_FILTERED!r}")
    for name, value in os.environ.items():  # a server may quote a key
        if raw and name.endswith("_API_KEY") and len(value) >= _SHORTEST_KEY:
            raw = raw.replace(value, "[hidden]")
    reported = ("finish_reason", "prompt_tokens", "completion_tokens", "cost_usd")
    meta = {
        **{name: getattr(completion, name) for name in reported},
        "raw_characters": None if raw is None else len(raw),
        "latency_seconds": round(time.perf_counter() - begun[-1], 3),
        "error": None if error is None else {"reason": error[0], "message": error[1]},
        "input": document_input,
        "attempts": len(begun),
    }
    return Output(raw, meta)


def reason_of(failure: Failure, *, structured: bool) -> str:
    """Return the reason why a call gave no output."""
    if failure.reason in _REASONS:
        return _REASONS[failure.reason]
    names = list(_WORDS) if structured else list(_WORDS)[1:]
    said = (name for name in names if re.search(_WORDS[name], failure.problem, re.IGNORECASE))
    return next(said, "other")


# --- the documents --------------------------------------------------------------------------------

#: Maximum tokens of the image of a page: the providers document 258 (Gemini) to 4,784 (Claude), and
#: 25,501 for a high-detail image with gpt-4o-mini.
_PER_PAGE, _PER_PAGE_OF_MINI = 5_000, 26_000
_PDF, _HEAD = b"%PDF-", 1024
_DIGITS = 16
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
    if isinstance(documents, Dataset) and dataset in (None, documents):
        return documents, documents.listing["document"].tolist()
    is_list = isinstance(documents, Iterable) and not isinstance(documents, str | pd.DataFrame)
    if isinstance(documents, Dataset) or not is_list or not isinstance(dataset, Dataset):
        kinds = " and ".join(type(given).__name__ for given in (documents, dataset))
        raise InputError(
            f"documents and dataset are {kinds}; expected a Dataset, which load_dataset reads from "
            "a folder, or a list of ids with dataset=, the Dataset that they are from"
        )
    ids: list[str] = list(dict.fromkeys(documents))  # type: ignore[call-overload]
    if not ids:
        raise InputError("documents is empty; expected at least one id")
    for document in ids:
        dataset.pdf_path(document)  # raises if the id is unknown or has no PDF
    return dataset, ids


#: Entries of ``run.json`` by document id; see `describe_documents`.
Described: TypeAlias = Mapping[str, Mapping[str, str]]


def describe_documents(dataset: Dataset, documents: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return what ``run.json`` records of each document: domain, schema, hashes of its inputs."""
    listing = dataset.listing.set_index("document")

    @cache
    def hashed(schema: str) -> str:
        data = canonical(plain_schema(dataset.schema(schema))).encode("utf-8", "surrogatepass")
        return hashlib.sha256(data).hexdigest()[:_DIGITS]

    descriptions: dict[str, dict[str, str]] = {}
    for document in documents:
        about = {name: str(listing.loc[document, name]) for name in ("domain", "schema")}
        descriptions[document] = {**about, "schema_sha256": hashed(about["schema"])}
        with suppress(MissingPdfError):
            if (digest := file_hash(dataset.pdf_path(document))) is not None:
                descriptions[document]["pdf_sha256"] = digest[:_DIGITS]
    return descriptions


def read_texts(dataset: Dataset, documents: Iterable[str], sent_as: str) -> dict[str, str | None]:
    """Read the texts to send, None for PDFs; broken files raise before any request."""
    paths = {document: dataset.pdf_path(document) for document in documents}
    if sent_as != "text":
        for path in paths.values():
            _check_pdf(path)
        return dict.fromkeys(paths)
    texts = {document: document_text(path) for document, path in paths.items()}
    if empty := [repr(document) for document, text in texts.items() if not text]:
        raise InputError(
            f"no text in the PDF of {', '.join(empty)} (scanned pages?); use a model that takes "
            "files, with document_input='file', or leave these documents out"
        )
    return dict(texts)


def _check_pdf(path: Path) -> None:
    """Raise `InputError` for a file that is not a PDF; it need not be one that PDFium can open."""
    with reading(f"PDF {str(path)!r}", path), path.open("rb") as file:
        is_pdf = _PDF in file.read(_HEAD)
    if not is_pdf:
        read_pages(path)  # raises with the reason


def refuse_other_run(run: Run, ours: Mapping[str, Any], documents: Described) -> None:
    """Raise `InputError` that names the first difference from the run in a folder."""
    theirs, where = run.description, repr(str(run.folder))
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
    documents: Dataset | Sequence[str] | pd.Series[Any],
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
    """Run a model over documents and store its exact responses in a folder.

    Parameters
    ----------
    documents : Dataset, or sequence of str, or pandas.Series
        A dataset, for all its documents; or ids of documents of `dataset`.
    model : str or LLM
        A LiteLLM model id such as ``openai/gpt-4o-mini`` (4 requests at the same time), or an `LLM`
        with its options. Documents that would exceed its budget are not sent.
    folder : str or pathlib.Path
        Folder of the run: ``run.json``, and for each document ``{document}.raw.txt`` and
        ``{document}.meta.json``.
    mode : str, optional
        ``"prompt"``: the schema is part of the prompt. ``"structured"``: it is sent as the
        ``response_format`` with ``strict`` false, so an answer need not fit; LiteLLM converts it
        for other providers than OpenAI.
    dataset : Dataset, optional
        The dataset of the documents.
    prompt : str or pathlib.Path, optional
        ``"paper"`` gives the instructions of the ExtractBench paper in other words (appendix D, or
        section 4.3 in structured mode). Otherwise a template, or the path of its file, with the
        placeholders ``{schema}``, ``{document}`` (its name) and ``{text}``, or the paper's
        ``{schema_str}`` and ``{document_name}``. Without ``{text}``, the text follows the prompt.
    document_input : str, optional
        ``"file"``: the PDF, as the provider's own file input. ``"text"``: its text layer.
        ``"auto"``: the file if the model accepts PDFs according to LiteLLM, otherwise the text.
    resume : bool, optional
        Whether to resume a run in the folder. Documents with an output are not sent again, unless
        their ``.raw.txt`` was removed, or their call failed for a transient reason.
    progress : bool, optional
        Whether to show a progress bar.
    **unknown : object
        Any other option raises an error that shows where it belongs.

    Returns
    -------
    Run
        The run; failed calls are outputs too, with their reason.

    Raises
    ------
    InputError, DatasetError
        Before the first request: an option, `documents` or `folder` is invalid; the provider is
        unknown or its key is missing; a document has no PDF, or one that cannot be read or has no
        text; the folder contains a different run, or one that another process is writing.
    OutputError
        The folder cannot be written; existing files are unchanged.

    Notes
    -----
    The text is kept as received, except that the values of API keys are hidden.

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
        parameters={**sampling, "response_format": "json_schema" if structured else None},
        dataset=chosen.name,
        documents={},
    )
    documents_now = describe_documents(chosen, ids)
    plain = cache(lambda schema: plain_schema(chosen.schema(schema)))

    def request(document: str, text: str | None) -> ModelRequest:
        """Make the request for one document; this reads the PDF."""
        schema = plain(documents_now[document]["schema"])
        pdf = chosen.pdf_path(document) if text is None else None
        limited = pdf is not None and llm.budget_usd is not None
        return ModelRequest(
            llm.model,
            template.messages(document, schema, text=text, pdf=pdf),
            llm.temperature,
            llm.max_tokens,
            llm.timeout or TIMEOUT,
            llm.api_base,
            deepcopy(schema) if structured else None,  # LiteLLM may change it
            strict=False,
            schema_name="extraction",
            demanded=structured,
            file_tokens=_file_tokens(pdf, llm.model) if pdf and limited else 0,
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
        texts = read_texts(chosen, unanswered, sent_as)
        return [
            Request(name, sent_as, partial(request, name, text)) for name, text in texts.items()
        ]

    return ask_all(llm, path, begun, (description, documents_now), prepare, progress=progress)


class Request(NamedTuple):
    """A document to be asked about: in which form it is sent, and what makes its request."""

    document: str
    sent_as: str
    make: Callable[[], ModelRequest]


def begun_run(path: Path, documents: Sequence[str], *, resume: bool) -> Run | None:
    """Check the names of documents, and open the run that a folder holds, if it may be resumed."""
    check_names(documents)
    begun = Run.open(path) if is_run(path) else None
    if begun is not None and not resume:
        raise InputError(f"{str(path)!r} holds a run; pass resume=True, or use another folder")
    return begun


def ask_all(
    llm: LLM,
    path: Path,
    begun: Run | None,
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
        documents = {name: about for name, about in documents.items() if begun._is_open(name)}
    requests = prepare(documents)
    if begun is not None and not requests and begun.description.get("ended"):
        return begun
    make_folder(path)
    run = Run(path)
    with run._alone():
        if not is_run(path):
            run._begin(description)
        refuse_other_run(run, *plan)  # another call may have begun the same run since
        recorded = run.description.get("documents", {})
        run._update({"documents": {**recorded, **documents}})
        still_open = [request for request in requests if run._is_open(request.document)]
        stopped = run_anywhere(_ask_each(llm, still_open, run, progress=progress))
        run._update({"ended": now()})
    return Run(path, stopped)


async def _ask_each(
    llm: LLM, requests: Sequence[Request], run: Run, *, progress: bool
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
            run._write(request.document, *output)
            bar.update()

    name, total = f"{KINDS[run.description['kind']]} {llm.model}", len(requests)
    with progress_bar(shown=progress, total=total, desc=name, unit="document") as bar:
        await asyncio.gather(*(ask(request) for request in requests))
    return stop_reasons[0] if stop_reasons else None
