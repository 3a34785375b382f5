"""Run folders: the settings of a run, and the response for each document.

The layout::

    run.json                 settings that determine the outputs, and their origin
    {document}.raw.txt       the text as received; absent if there was none
    {document}.meta.json     details of the call; written last, so it marks a complete output
    .lock                    locked by the process that writes here; the file stays
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import Validation
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs.dataset import list_files
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.files import (
    locked,
    make_folder,
    read_own_file,
    read_own_json,
    write_texts,
)
from extractbench_nb.support.wording import cut

#: Version of the layout. A folder of a newer one is not read.
FORMAT = 1
#: Folders of simulations are no longer written, but read.
KINDS = ["extraction", "construction", "simulation"]
RUN_FILE = "run.json"

_RAW, _META = ".raw.txt", ".meta.json"
_LOCK = ".lock"
_PACKAGES = ("litellm", "pandas", "pypdfium2")
#: Largest number of bytes in a file name.
_LONGEST_NAME = 255
_LONGEST_PROBLEM = 200


class Output(NamedTuple):
    """The output for one document: the text as received, or None, and the details of the call."""

    raw: str | None
    meta: dict[str, Any]


def describe_run(kind: str, model: str, **more: Any) -> dict[str, Any]:
    """Return the description of a run that begins now, for `RunFolder.create`."""
    if kind not in KINDS:
        raise InputError(f"kind of run {kind!r}: {nearest(kind, KINDS)}")
    versions = {"extractbench_nb": __version__, "python": sys.version.split()[0]}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return {
        "format": FORMAT,
        "kind": kind,
        "model": model,
        **more,
        "begun": now(),
        "ended": None,
        "versions": versions,
    }


def now() -> str:
    """Return the time in UTC to the second, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RunFolder:
    """The folder of a run, made by `create` or `open`; `description` is what ``run.json`` says."""

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        self.path = path
        self.description = description

    @classmethod
    def create(cls, path: Path, description: Mapping[str, Any]) -> RunFolder:
        """Begin a run in a folder that holds none."""
        if is_run(path):
            raise InputError(f"{str(path)!r} holds a run; name another folder, or remove this one")
        if any(list_files(path, _META)):
            raise InputError(f"{str(path)!r} holds outputs without a {RUN_FILE}; name another one")
        run = cls(make_folder(path), {})
        run.update(description)
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Read the folder of a run."""
        if not is_run(path):
            raise InputError(f"no run in {str(path)!r}: expected a folder with {RUN_FILE}")
        description = read_own_json(path / RUN_FILE, "run")
        written = description.get("format") if isinstance(description, dict) else None
        if isinstance(written, int) and written > FORMAT:
            raise InputError(
                f"{str(path / RUN_FILE)!r} was written by a newer version of this package (format "
                f"{written}; version {__version__} reads up to format {FORMAT}); update the "
                "package to read this run"
            )
        problem = f"{str(path / RUN_FILE)!r} does not describe a run"
        _check(description, _DESCRIPTION_SCHEMA, problem)
        return cls(path, description)

    def update(self, more: Mapping[str, Any]) -> None:
        """Add or change entries of ``run.json``."""
        self.description = {**self.description, **more}
        write_texts({self.path / RUN_FILE: _json_file(self.description)})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder for writing, and remove partial files of a killed process."""
        in_use = f"{str(self.path)!r} is being written by another extract(); wait for it"
        with locked(self.path / _LOCK, "llm", in_use):
            for part in self.path.glob(".*.part"):
                with suppress(OSError):
                    part.unlink()
            yield

    @property
    def documents(self) -> list[str]:
        """Ids of the documents that have an output, in order."""
        return [path.name.removesuffix(_META) for path in list_files(self.path, _META)]

    def has(self, document: str) -> bool:
        """Whether a document has an output; a failed call has one too."""
        return self._file(document, _META).is_file()

    def write(self, document: str, raw: str | None, meta: Mapping[str, Any]) -> None:
        """Write an output; an earlier one of the document is replaced."""
        text, details = self._file(document, _RAW), self._file(document, _META)
        files = {details: _json_file(meta)}
        if raw is None:
            details.unlink(missing_ok=True)
            text.unlink(missing_ok=True)
        else:  # the last file appears first: a meta file never exists without its text
            files[text] = raw
        write_texts(files)

    def read(self, document: str) -> Output:
        """Read the output of a document; ``raw`` is None if its call failed."""
        if not self.has(document):
            hint = nearest(document, self.documents)
            raise InputError(f"{str(self.path)!r}: no output for document {document!r}; {hint}")
        meta_path, raw_path = self._file(document, _META), self._file(document, _RAW)
        meta = read_own_json(meta_path, "meta")
        _check(meta, _META_SCHEMA, f"meta file {str(meta_path)!r}")
        try:  # reading as text would change line breaks
            return Output(read_own_file(raw_path, "raw output").decode("utf-8"), meta)
        except FileNotFoundError:
            return Output(None, meta)
        except UnicodeDecodeError as error:
            raise InputError(f"raw output {str(raw_path)!r} is not UTF-8: {error}") from None

    def _file(self, document: str, suffix: str) -> Path:
        check_names([document])
        return self.path / f"{document}{suffix}"


def folder_path(folder: object) -> Path:
    """Return the path of a folder that a user names, or raise `InputError`."""
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"folder is {folder!r}; expected the path of a run's folder")
    return Path(folder)


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / RUN_FILE).is_file()


def check_names(documents: Iterable[str]) -> None:
    """Raise `InputError` for ids that cannot be part of a file name."""
    limit = _LONGEST_NAME - len(_META)
    for document in documents:
        problem = f"document {document!r:.80} cannot be part of a file name"
        try:
            size = len(os.fsencode(document))
        except UnicodeEncodeError:  # a lone surrogate
            raise InputError(problem) from None
        if not size or document.startswith(".") or set(document) & set("/\\\0"):
            raise InputError(problem)
        if size > limit:
            raise InputError(
                f"{problem}: it has {size} bytes, at most {limit} are possible; give the "
                "document a shorter name"
            )


def _check(value: Any, schema: Mapping[str, Any], what: str) -> None:
    """Raise `InputError` for the content of a file that somebody else may have written."""
    error = next(Validation(schema).iter_errors(value), None)
    if error is not None:
        raise InputError(f"{what}: at {error.json_path}, {cut(error.message, _LONGEST_PROBLEM)}")


_TEXT = {"type": ["string", "null"]}
_COUNT = {"type": ["integer", "null"], "minimum": 0, "maximum": 2**63 - 1}
_AMOUNT = {"type": ["number", "null"], "minimum": 0, "maximum": 2**63 - 1}
_META_SCHEMA = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("finish_reason", "input"), _TEXT),
        **dict.fromkeys(("prompt_tokens", "completion_tokens"), _COUNT),
        **dict.fromkeys(("cost_usd", "latency_seconds"), _AMOUNT),
        "error": {"type": ["object", "null"], "properties": {"reason": _TEXT, "message": _TEXT}},
    },
}
_NAME = {"type": "string"}
_DOCUMENT_SCHEMA = {"type": "object", "properties": {"domain": _NAME, "schema": _NAME}}
_DESCRIPTION_SCHEMA = {
    "type": "object",
    "required": ["format", "kind", "model"],
    "properties": {
        "format": {"type": "integer"},
        "kind": {"enum": KINDS},
        "model": _NAME,
        "documents": {"type": "object", "additionalProperties": _DOCUMENT_SCHEMA},
    },
}


def _json_file(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


# --- a run as users see it ------------------------------------------------------------------------

#: Reasons why a call gave no output: those of the model, and passing ones of the service.
#: After the passing ones a document is asked about again when its run is resumed.
PASSING = (
    *("rate_limited", "timeout", "server_error", "connection", "bad_key", "not_found", "redirect"),
)
REASONS = ("page_limit", "context_length", "schema_rejected", "refused", "other", *PASSING)

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
class Run(TextCard):
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
        documents = folder.description.get("documents", {})
        records = []
        for document in folder.documents:
            details = documents.get(document) or {}
            raw, meta = folder.read(document)
            error = meta.get("error") or {}
            own = {
                "run": folder.path.resolve().name,
                "document": document,
                "domain": details.get("domain") or None,
                "schema": details.get("schema") or None,
                "raw_characters": None if raw is None else len(raw),
                "error_reason": error.get("reason"),
                "error": error.get("message"),
                "raw": raw,
                "meta": meta,
            }
            records.append(meta | own)
        records.sort(key=lambda row: (row["domain"] or "", row["schema"] or "", row["document"]))
        return RUN_OUTPUT_COLUMNS.from_records(records)

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
        description = self.description
        mode = f", mode {description['mode']!r}" if description.get("mode") else ""
        title = f"Run of {description['model']!r}{mode}"
        return "\n  ".join([title, str(self.folder), *self._counts()])

    def _counts(self) -> list[str]:
        outputs, unasked = self.outputs, self.unasked
        failures = outputs["error_reason"].value_counts(sort=False).sort_index()
        answered, total = len(outputs) - int(failures.sum()), len(outputs) + len(unasked)
        counts = [f"{answered} of {total} documents answered"]
        counts += [f"{count} {reason}" for reason, count in failures.items()]
        lines = [", ".join(counts)]
        costs = outputs["cost_usd"]
        if costs.notna().any():
            lines.append(f"{costs.sum():.6g} US dollars at list prices")
        if unknown := int((costs.isna() & outputs["error_reason"].isna()).sum()):
            lines.append(f"{unknown} of unknown cost: no price, or no usage reported")
        if unasked:
            why = f": {self.stopped}" if self.stopped else ""
            call = function_of(self.description)
            lines.append(f"{len(unasked)} not asked{why}; {call} with the same folder continues")
        return lines


def function_of(description: Mapping[str, Any]) -> str:
    """Return the name of the function that makes such a run."""
    return "construct" if description["kind"] == "construction" else "extract"
