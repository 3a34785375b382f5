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
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from extractbench_nb._version import __version__
from extractbench_nb.errors import InputError, OutputError, nearest, needs
from extractbench_nb.runs.dataset import list_files
from extractbench_nb.support.files import make_folder, read_own_file, read_own_json, write_texts

#: Version of the layout. A folder of a newer one is not read.
FORMAT = 1
#: Folders of simulations are no longer written, but read.
KINDS = ("extraction", "construction", "simulation")
RUN_FILE = "run.json"

_RAW, _META = ".raw.txt", ".meta.json"
_LOCK = ".lock"
_PACKAGES = ("litellm", "pandas", "pypdfium2")
#: Largest number of bytes in a file name, if the system does not tell.
_LONGEST_NAME = 255
_LARGEST = 2**63 - 1


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
        refuse_outputs(path)
        run = cls(make_folder(path), {})
        run.update(description)
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Read the folder of a run."""
        if not is_run(path):
            raise InputError(f"no run in {str(path)!r}: expected a folder with {RUN_FILE}")
        description = read_own_json(path / RUN_FILE, "run")
        _check_description(description, path / RUN_FILE)
        return cls(path, description)

    def update(self, more: Mapping[str, Any]) -> None:
        """Add or change entries of ``run.json``."""
        self.description = {**self.description, **more}
        write_texts({self.path / RUN_FILE: _json_file(self.description)})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder for writing, and remove partial files of a killed process."""
        path = self.path / _LOCK
        filelock = needs("filelock", "llm")
        lock = filelock.FileLock(path, timeout=0)  # the file stays: another process may wait for it
        try:
            lock.acquire()
        except filelock.Timeout:
            folder = repr(str(self.path))
            problem = f"{folder} is being written by another extract(); wait for it"
            raise InputError(problem) from None
        except OSError as error:
            problem = error.strerror or str(error)
            raise OutputError(f"{str(path)!r} cannot be written: {problem}") from None
        try:
            for part in self.path.glob(".*.part"):
                with suppress(OSError):
                    part.unlink()
            yield
        finally:
            lock.release()

    def tidy(self) -> None:
        """Remove partial files of a killed process, unless another one is writing."""
        if any(self.path.glob(".*.part")):
            with suppress(InputError, OutputError), self.alone():
                pass

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
        if raw is None:
            details.unlink(missing_ok=True)
            text.unlink(missing_ok=True)
            write_texts({details: _json_file(meta)})
        else:  # the last file appears first: a meta file never exists without its text
            write_texts({details: _json_file(meta), text: raw})

    def read(self, document: str) -> Output:
        """Read the output of a document; ``raw`` is None if its call failed."""
        if not self.has(document):
            hint = nearest(document, self.documents)
            raise InputError(f"{str(self.path)!r}: no output for document {document!r}; {hint}")
        meta_path, raw_path = self._file(document, _META), self._file(document, _RAW)
        meta = read_own_json(meta_path, "meta")
        _check_meta(meta, meta_path)
        try:  # reading as text would change line breaks
            return Output(read_own_file(raw_path, "raw output").decode("utf-8"), meta)
        except FileNotFoundError:
            return Output(None, meta)
        except UnicodeDecodeError as error:
            raise InputError(f"raw output {str(raw_path)!r} is not UTF-8: {error}") from None

    def _file(self, document: str, suffix: str) -> Path:
        check_names(self.path, [document])
        return self.path / f"{document}{suffix}"


def folder_path(folder: object) -> Path:
    """Return the path of a folder that a user names, or raise `InputError`."""
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"folder is {folder!r}; expected the path of a run's folder")
    return Path(folder)


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / RUN_FILE).is_file()


def refuse_outputs(path: Path) -> None:
    """Raise `InputError` for a folder with outputs but no ``run.json``."""
    if not is_run(path) and any(list_files(path, _META)):
        raise InputError(f"{str(path)!r} holds outputs without a {RUN_FILE}; name another one")


def check_names(path: Path, documents: Iterable[str]) -> None:
    """Raise `InputError` for ids that cannot be part of a file name."""
    folder = next((p for p in (path, *path.absolute().parents) if p.is_dir()), Path())
    try:
        limit = os.pathconf(folder, "PC_NAME_MAX") - len(_META)
    except (AttributeError, OSError, ValueError):  # not on Windows
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
                f"{problem}: it has {size} bytes, at most {limit} are possible here; give the "
                "document a shorter name"
            )


def _check_meta(meta: Any, path: Path) -> None:
    """Check the types of a meta file, which may come from somebody else."""
    if not isinstance(meta, dict):
        raise InputError(f"meta file {str(path)!r} does not hold a JSON object")
    error = meta.get("error")
    if error is not None and not isinstance(error, dict):
        raise InputError(f"meta file {str(path)!r}: error is {error!r:.80}; expected an object")
    expectations: tuple[tuple[tuple[str, ...], tuple[type, ...], str], ...] = (
        (("finish_reason", "input", "reason", "message"), (str,), "a text"),
        (("prompt_tokens", "completion_tokens"), (int,), "a whole number from 0 to 2^63 - 1"),
        (("cost_usd", "latency_seconds"), (int, float), "a number that is 0 or more"),
    )
    cells = {**meta, **{name: (error or {}).get(name) for name in ("reason", "message")}}
    for names, types, expected in expectations:
        for name in names:
            value: Any = cells.get(name)
            fits = type(value) in types and (str in types or 0 <= value <= _LARGEST)
            if value is not None and not fits:
                shown = f"{type(value).__name__} {repr(value)[:80]}"
                raise InputError(
                    f"meta file {str(path)!r}: {name} is {shown}; expected {expected} or null"
                )


def _check_description(description: Any, path: Path) -> None:
    problem = f"{str(path)!r} does not describe a run"
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise InputError(f"{problem}: expected an object with a format")
    if description["format"] > FORMAT:
        raise InputError(
            f"{str(path)!r} was written by a newer version of this package (format "
            f"{description['format']}; version {__version__} reads up to format {FORMAT}); update "
            "the package to read this run"
        )
    kind, model = description.get("kind"), description.get("model")
    if kind not in KINDS or not isinstance(model, str):
        raise InputError(
            f"{problem}: kind is {kind!r}, model is {model!r}; expected one of "
            f"{', '.join(map(repr, KINDS))} and a text"
        )
    documents = description.get("documents", {})
    well_formed = isinstance(documents, dict) and all(
        isinstance(about, dict)
        and all(isinstance(about.get(name, ""), str) for name in ("domain", "schema"))
        for about in documents.values()
    )
    if not well_formed:
        raise InputError(
            f"{problem}: expected documents to be an object, and in it for each id an object with "
            "the texts domain and schema"
        )


def _json_file(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
