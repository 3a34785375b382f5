"""Recognising which document of a dataset a request is about, whatever the prompt."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.calling import document_text
from extractbench_nb.judges.prompts import sendable

__all__ = ["Asked", "Recognition", "UnrecognisedError"]


class UnrecognisedError(Exception):
    """A request that cannot be read, or that is about nothing that is known."""


class Asked(NamedTuple):
    """What a request in OpenAI's form says.

    `texts` are those of all messages, `files` the PDFs that come along, `names` what these are
    called.
    """

    model: str
    mode: str
    texts: list[str]
    files: list[bytes]
    names: list[str]

    @classmethod
    def read(cls, body: bytes) -> Asked:
        """Read a request.

        Examples
        --------
        >>> said = b'{"model": "a", "messages": [{"role": "user", "content": "Hello"}]}'
        >>> Asked.read(said)
        Asked(model='a', mode='prompt', texts=['Hello'], files=[], names=[])
        """
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UnrecognisedError(f"the request is not JSON: {error}") from None
        if not isinstance(found, dict) or not isinstance(found.get("model"), str):
            raise UnrecognisedError("expected an object with the name of a model")
        if found.get("stream"):
            raise UnrecognisedError("no answer is streamed here; ask without stream")
        form = found.get("response_format")
        structured = isinstance(form, dict) and form.get("type") == "json_schema"
        parts = list(_parts(found.get("messages")))
        files = [part["file"] for part in parts if isinstance(part.get("file"), dict)]
        return cls(
            found["model"],
            "structured" if structured else "prompt",
            [part["text"] for part in parts if isinstance(part.get("text"), str)],
            [_decoded(file.get("file_data")) for file in files],
            [str(file.get("filename") or "") for file in files],
        )


def _parts(messages: object) -> Iterator[dict[str, Any]]:
    """Walk the parts of all messages; a text that stands alone is one."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise UnrecognisedError("expected messages, a list of objects")
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        elif isinstance(content, list):
            yield from (part for part in content if isinstance(part, dict))


def _decoded(data: object) -> bytes:
    """Decode a file from its data URL, or from base64 alone."""
    try:
        return base64.b64decode(str(data or "").rpartition(",")[2], validate=True)
    except ValueError:
        raise UnrecognisedError("expected file_data in base64, as a data URL") from None


class Recognition:
    """Knows the documents of a dataset by their PDFs, and by the texts of these.

    Files are read when they are first needed, by one thread at a time.

    Parameters
    ----------
    dataset : Dataset
        Where the documents are. One without a PDF is never found.
    """

    def __init__(self, dataset: Dataset) -> None:
        with_pdf = dataset.listing["has_pdf"]
        self._pdfs: dict[str, Path] = {
            one: dataset.pdf_path(one) for one in dataset.listing.loc[with_pdf, "document"]
        }
        self._texts: dict[str, str] = {}
        self._hashes: dict[str, bytes] = {}
        self._lock = Lock()

    def document(self, asked: Asked) -> str:
        """Find the document that a request is about."""
        said = "\n".join(asked.texts)
        if asked.files:
            found, what = self._with_files(asked.files), "PDF"
        else:
            found, what = self._with_texts(said), "text"
        if len(found) > 1:
            rest = "\n".join([*asked.names, self._without_texts(found, said)])
            found = _named(found, rest) or found
        if not found:
            raise UnrecognisedError(f"the {what} of no document of the dataset is in the request")
        if len(found) > 1:
            names = ", ".join(map(repr, found))
            raise UnrecognisedError(f"it may be about {names}; name the one that is meant")
        return found[0]

    def text(self, document: str) -> str:
        """Return the text of a document as it is sent."""
        with self._lock:
            if document not in self._texts:
                self._texts[document] = _text(self._pdfs[document])
            return self._texts[document]

    def _with_files(self, files: Sequence[bytes]) -> list[str]:
        sent = {hashlib.sha256(data).digest() for data in files if data}
        return [one for one in self._pdfs if self._hash(one) in sent]

    def _with_texts(self, said: str) -> list[str]:
        """Find the documents whose texts are there, and no part of another one that is."""
        found = [one for one in self._pdfs if self.text(one) and self.text(one) in said]
        return _longest(found, self.text)

    def _without_texts(self, documents: Sequence[str], said: str) -> str:
        for text in {self.text(one) for one in documents} - {""}:
            said = said.replace(text, " ")
        return said

    def _hash(self, document: str) -> bytes:
        with self._lock:
            if document not in self._hashes:
                self._hashes[document] = hashlib.sha256(_bytes(self._pdfs[document])).digest()
            return self._hashes[document]


def _named(documents: Sequence[str], said: str) -> list[str]:
    """Return those whose names stand in a text, on their own."""
    found = [
        one for one in documents if re.search(rf"(?<!\w){re.escape(sendable(one))}(?!\w)", said)
    ]
    return _longest(found, str)


def _longest(documents: Sequence[str], text: Callable[[str], str]) -> list[str]:
    """Leave out those whose text is but a part of the text of another."""
    texts = {text(one) for one in documents}
    parts = {one for one in texts for other in texts if one != other and one in other}
    return [one for one in documents if text(one) not in parts]


def _text(pdf: Path) -> str:
    try:
        return sendable(document_text(pdf))
    except InputError:  # no PDF, for all its name
        return ""


def _bytes(pdf: Path) -> bytes:
    try:
        return pdf.read_bytes()
    except OSError:  # it is gone; nobody sends an empty file
        return b""
