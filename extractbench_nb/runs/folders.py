"""The run of a model, kept in a folder: its settings, and the response for each document.

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
#: Kinds of runs, and the functions that make them; simulations are read, but no longer made.
KINDS = {"extraction": "extract", "construction": "construct", "simulation": "simulate"}
RUN_FILE = "run.json"
_RAW, _META = ".raw.txt", ".meta.json"
_PACKAGES = ("litellm", "pandas", "pypdfium2")
#: Largest number of bytes in a file name.
_LONGEST_NAME = 255

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
        Column("finish_reason", "string", "why the model stopped, according to LiteLLM", "", True),
        Column("prompt_tokens", "Int64", "tokens read, as billed", "0 and up", True),
        Column("completion_tokens", "Int64", "tokens written, as billed", "0 and up", True),
        Column("cost_usd", "Float64", "cost at LiteLLM's list prices", "0 and up", True),
        Column("latency_seconds", "Float64", "seconds of the last request", "0 and up", True),
        Column("input", "string", "form in which the document was sent", "file, text", True),
        Column("error_reason", "string", "reason for a missing output", ", ".join(REASONS), True),
        Column("error", "string", "the provider's message", "", True),
        Column("raw", "object", "the text as received, a str", "", True),
        Column("meta", "object", "details of the call, a dict"),
    ),
)


class Output(NamedTuple):
    """The output for one document: the text as received, or None, and the details of the call."""

    raw: str | None
    meta: dict[str, Any]


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
        run = cls(folder_path(folder))
        _ = run.description
        return run

    @property
    def description(self) -> dict[str, Any]:
        """The content of ``run.json``: kind, model, mode, prompt version, parameters and so on."""
        path = self.folder / RUN_FILE
        if not is_run(self.folder):
            raise InputError(f"no run in {str(self.folder)!r}: expected a folder with {RUN_FILE}")
        description = read_own_json(path, "run")
        written = description.get("format") if isinstance(description, dict) else None
        if isinstance(written, int) and written > FORMAT:
            raise InputError(
                f"{str(path)!r} was written by a newer version of this package (format {written}; "
                f"version {__version__} reads up to format {FORMAT}); update the package to read "
                "this run"
            )
        _check(description, _DESCRIPTION_SCHEMA, f"{str(path)!r} does not describe a run")
        return dict(description)

    @property
    def documents(self) -> list[str]:
        """Ids of the documents that have an output, in order."""
        return [path.name.removesuffix(_META) for path in list_files(self.folder, _META)]

    @property
    def unasked(self) -> list[str]:
        """Ids of the run's documents that have no output yet, in order."""
        return sorted({*self.description.get("documents", {})} - {*self.documents})

    @property
    def outputs(self) -> pd.DataFrame:
        """One row per document with an output, for `read_outputs` (see `RUN_OUTPUT_COLUMNS`)."""
        described, records = self.description.get("documents", {}), []
        for document in self.documents:
            about = described.get(document) or {}
            raw, meta = self.read(document)
            error = meta.get("error") or {}
            own = {
                "run": self.folder.resolve().name,
                "document": document,
                "domain": about.get("domain") or None,
                "schema": about.get("schema") or None,
                "raw_characters": None if raw is None else len(raw),
                "error_reason": error.get("reason"),
                "error": error.get("message"),
                "raw": raw,
                "meta": meta,
            }
            records.append(meta | own)
        records.sort(key=lambda row: (row["domain"] or "", row["schema"] or "", row["document"]))
        return RUN_OUTPUT_COLUMNS.from_records(records)

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
        meta_path, raw_path = self._file(document, _META), self._file(document, _RAW)
        if not meta_path.is_file():
            hint = nearest(document, self.documents)
            raise InputError(f"{str(self.folder)!r}: no output for document {document!r}; {hint}")
        meta = read_own_json(meta_path, "meta")
        _check(meta, _META_SCHEMA, f"meta file {str(meta_path)!r}")
        try:  # reading as text would change line breaks
            return Output(read_own_file(raw_path, "raw output").decode("utf-8"), meta)
        except FileNotFoundError:
            return Output(None, meta)
        except UnicodeDecodeError as error:
            raise InputError(f"raw output {str(raw_path)!r} is not UTF-8: {error}") from None

    def __repr__(self) -> str:
        """Return model and mode, the folder, and counts of documents and costs."""
        about, outputs, unasked = self.description, self.outputs, self.unasked
        mode = f", mode {about['mode']!r}" if about.get("mode") else ""
        failures = outputs["error_reason"].value_counts(sort=False).sort_index()
        answered, total = len(outputs) - int(failures.sum()), len(outputs) + len(unasked)
        counts = [f"{answered} of {total} documents answered"]
        counts += [f"{count} {reason}" for reason, count in failures.items()]
        lines = [f"Run of {about['model']!r}{mode}", str(self.folder), ", ".join(counts)]
        costs = outputs["cost_usd"]
        if costs.notna().any():
            lines.append(f"{costs.sum():.6g} US dollars at list prices")
        if unknown := int((costs.isna() & outputs["error_reason"].isna()).sum()):
            lines.append(f"{unknown} of unknown cost: no price, or no usage reported")
        if unasked:
            why, call = f": {self.stopped}" if self.stopped else "", KINDS[about["kind"]]
            lines.append(f"{len(unasked)} not asked{why}; {call} with the same folder continues")
        return "\n  ".join(lines)

    # --- writing, by `extract` and `construct` ---

    def _begin(self, description: Mapping[str, Any]) -> None:
        """Write ``run.json`` into a folder that contains no run."""
        if is_run(self.folder):
            raise InputError(f"{str(self.folder)!r} holds a run; name another folder")
        if self.documents:
            problem = f"holds outputs without a {RUN_FILE}; name another one"
            raise InputError(f"{str(self.folder)!r} {problem}")
        make_folder(self.folder)
        self._write_description(description)

    def _update(self, more: Mapping[str, Any]) -> None:
        """Add or change entries of ``run.json``."""
        self._write_description({**self.description, **more})

    def _write_description(self, description: Mapping[str, Any]) -> None:
        write_texts({self.folder / RUN_FILE: _json_file(description)})

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the folder for writing, and remove partial files of a killed process."""
        in_use = f"{str(self.folder)!r} is being written by another extract(); wait for it"
        with locked(self.folder / ".lock", "llm", in_use):
            for part in self.folder.glob(".*.part"):
                with suppress(OSError):
                    part.unlink()
            yield

    def _is_open(self, document: str) -> bool:
        """Whether an output is absent, its text was removed, or its call failed transiently."""
        if not self._file(document, _META).is_file():
            return True
        raw, meta = self.read(document)
        error = meta.get("error")
        if error is None:
            return raw is None and meta.get("raw_characters") is not None
        return error.get("reason") in PASSING

    def _write(self, document: str, raw: str | None, meta: Mapping[str, Any]) -> None:
        """Write an output; an earlier one of the document is replaced."""
        text, details = self._file(document, _RAW), self._file(document, _META)
        files = {details: _json_file(meta)}
        if raw is None:
            details.unlink(missing_ok=True)
            text.unlink(missing_ok=True)
        else:  # the last file appears first: a meta file never exists without its text
            files[text] = raw
        write_texts(files)

    def _file(self, document: str, suffix: str) -> Path:
        check_names([document])
        return self.folder / f"{document}{suffix}"


def describe_run(kind: str, model: str, **more: Any) -> dict[str, Any]:
    """Return the description of a run that begins now, for `Run._begin`."""
    versions = {"extractbench_nb": __version__, "python": sys.version.split()[0]}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    times = {"begun": now(), "ended": None, "versions": versions}
    return {"format": FORMAT, "kind": kind, "model": model, **more, **times}


def now() -> str:
    """Return the time in UTC to the second, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def folder_path(folder: object) -> Path:
    """Return the path of a folder that a user names, or raise `InputError`."""
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"folder is {folder!r}; expected the path of a run's folder")
    return Path(folder)


def is_run(path: Path) -> bool:
    """Whether a folder contains a run."""
    return (path / RUN_FILE).is_file()


def check_names(documents: Iterable[str]) -> None:
    """Raise `InputError` for ids that cannot be part of a file name."""
    limit = _LONGEST_NAME - len(_META)
    for document in documents:
        size = 0
        with suppress(UnicodeEncodeError):  # a lone surrogate
            size = len(os.fsencode(document))
        if not 0 < size <= limit or document.startswith(".") or set(document) & set("/\\\0"):
            raise InputError(
                f"document {document!r:.80} cannot be part of a file name: expected 1 to {limit} "
                "bytes, no slash and no point at the start"
            )


# --- files that somebody else may have written ----------------------------------------------------


def _check(value: Any, schema: Mapping[str, Any], what: str) -> None:
    error = next(Validation(schema).iter_errors(value), None)
    if error is not None:
        raise InputError(f"{what}: at {error.json_path}, {cut(error.message, 200)}")


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
        "kind": {"enum": list(KINDS)},
        "model": _NAME,
        "documents": {"type": "object", "additionalProperties": _DOCUMENT_SCHEMA},
    },
}


def _json_file(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
