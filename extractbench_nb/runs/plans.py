"""The plan of a run: options checked and documents found before the first request."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, MissingPdfError, nearest
from extractbench_nb.judges import (
    ModelRequest,
    Settings,
    check_model,
    client_errors,
    litellm,
    most_tokens,
)
from extractbench_nb.pdf import read_pages
from extractbench_nb.runs.calling import (
    MODES,
    Prompt,
    document_text,
    plain_schema,
    strict_breaches,
)
from extractbench_nb.runs.dataset import Dataset, load_dataset
from extractbench_nb.runs.folders import RunFolder, describe_run
from extractbench_nb.runs.inputs import Documents
from extractbench_nb.support.files import file_hash
from extractbench_nb.support.pandas_helpers import refuse_missing

DatasetLike: TypeAlias = Documents | str | os.PathLike[str] | None


def documents_of(dataset: DatasetLike) -> Documents:
    """Return a dataset; a name or path is loaded."""
    if dataset is None or isinstance(dataset, str | os.PathLike):
        return load_dataset(dataset)
    if not all(hasattr(dataset, part) for part in ("documents", "schema", "gold")):
        kind = type(dataset).__name__
        raise InputError(f"dataset is {kind}; expected a Dataset, a name or a path")
    return dataset


INPUTS = ("auto", "file", "text")

NO_KEY = "A model on your own server needs no key: pass its address as api_base="
_HASHED = 16
#: Maximum tokens of the image of a page: the providers document 258 (Gemini) to 4,784 (Claude), and
#: 25,501 for a high-detail image with gpt-4o-mini.
_PER_PAGE, _PER_PAGE_OF_MINI = 5_000, 26_000
_STRICT_IF_POSSIBLE = "json_schema, strict where the schema keeps the rules"
_MAGIC = b"%PDF-"
_HEAD = 1024
#: Entries that must be equal when a run is resumed: of its documents, and of the run.
_DECIDING_OF_DOCUMENTS = (
    ("schema", "name of the schema"),
    ("schema_sha256", "schema"),
    ("pdf_sha256", "PDF"),
    ("query_sha256", "query"),
    ("texts_sha256", "text"),
)
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


@dataclass(frozen=True)
class Options:
    """The options of `extract`; `document_input` is one of `INPUTS`."""

    settings: Settings
    prompt: Prompt
    temperature: float | None
    max_tokens: int | None
    document_input: str

    def __post_init__(self) -> None:
        """Check mode and document_input."""
        for name, value, known in (
            ("mode", self.prompt.mode, MODES),
            ("document_input", self.document_input, INPUTS),
        ):
            if value not in known:
                raise InputError(f"{name} is {value!r}; {nearest(value, known)}")

    @property
    def is_structured(self) -> bool:
        """Whether the schema is sent as the response format."""
        return self.prompt.mode == "structured"

    @client_errors()
    def check(self) -> None:
        """Check, offline, that the model supports this mode, or raise `InputError`."""
        check_model(self.settings, otherwise=NO_KEY)
        model = self.settings.model
        supported = litellm().get_supported_openai_params(model=model) or ()
        if self.is_structured and "response_format" not in supported:
            raise InputError(
                f"mode='structured': LiteLLM knows no response format for {model!r} and would "
                "drop the schema; use mode='prompt'"
            )

    @client_errors()
    def input_of(self, run: Mapping[str, Any]) -> str:
        """Return ``file`` or ``text``: as given, as in a resumed run, or as the model takes."""
        if self.document_input != "auto":
            return self.document_input
        stored = run.get("document_input")
        if stored is not None:
            return str(stored)
        takes_pdf = litellm().utils.supports_pdf_input(self.settings.model)
        return "file" if takes_pdf else "text"

    def describe(self, document_input: str, dataset: str) -> dict[str, Any]:
        """Return the description of the run for ``run.json``."""
        return describe_run(
            "extraction",
            self.settings.model,
            mode=self.prompt.mode,
            prompt_version=self.prompt.version,
            prompt=self.prompt.template,
            document_input=document_input,
            parameters={
                "temperature": self.temperature,
                "max_tokens": self.max_tokens,
                "response_format": _STRICT_IF_POSSIBLE if self.is_structured else None,
            },
            dataset=dataset,
            documents={},
        )

    def request(self, task: Task) -> ModelRequest:
        """Return the request for one document; this reads the PDF."""
        pdf = task.pdf if task.text is None else None
        limited = pdf is not None and self.settings.budget_usd is not None
        return ModelRequest(
            self.settings.model,
            self.prompt.messages(task.document, task.plain, text=task.text, pdf=pdf),
            self.temperature,
            self.max_tokens,
            self.settings.timeout,
            self.settings.api_base,
            deepcopy(task.plain) if self.is_structured else None,  # LiteLLM may change it
            strict=task.strict,
            schema_name="extraction",
            demanded=self.is_structured,
            file_tokens=_file_tokens(task.pdf, self.settings.model) if limited else 0,
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
    if isinstance(documents, Dataset):
        if dataset is not None and dataset != documents:
            raise InputError(
                "documents is a Dataset, but dataset is a different one; pass only one"
            )
        return documents, documents.listing["document"].tolist()
    if dataset is None and isinstance(documents, str | os.PathLike):
        path = repr(os.fspath(documents))
        raise InputError(
            f"documents is {path}; expected a Dataset, or a list of ids; load_dataset({path}) "
            "reads a dataset"
        )
    if not isinstance(dataset, Dataset):
        kind = type(dataset).__name__
        raise InputError(f"dataset is {kind}; expected the Dataset that the documents are from")
    ids = list(dict.fromkeys(_ids(documents)))
    if not ids:
        raise InputError("documents is empty; expected at least one id")
    for document in ids:
        dataset.pdf_path(document)  # raises if the id is unknown or has no PDF
    return dataset, ids


def _ids(documents: object) -> list[str]:
    documents = as_pandas(documents)
    if isinstance(documents, pd.DataFrame):
        refuse_missing(documents, ("document",), "documents")
        documents = documents["document"]
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise InputError(f"documents is {documents!r}; expected a Dataset, or a list of its ids")
    ids = list(documents)
    for document in ids:
        if not isinstance(document, str):
            raise InputError(f"documents: {document!r} is not an id; expected a text")
    return ids


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
    schemas = {about["schema"] for about in documents.values()}
    plain = {schema: plain_schema(dataset.schema(schema)) for schema in schemas}
    tasks = []
    for document, about in documents.items():
        pdf, text = dataset.pdf_path(document), None
        if document_input == "text":
            text = document_text(pdf)
        else:
            _check_pdf(pdf)
        strict = about.get("strict") == "true"
        tasks.append(Task(document, plain[about["schema"]], pdf, text, strict))
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
        for name, what in _DECIDING_OF_DOCUMENTS:
            before, now = recorded.get(name), about.get(name)
            if before is not None and now is not None and before != now:
                raise InputError(
                    f"{where} holds a run in which the {what} of {document!r} was different "
                    f"({name} was {before}, now it is {now}); restore it, or use another folder"
                )
