"""Documents cut into chunks, and the words by which chunks are found."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from extractbench_nb.construction.dataset import TableTask
from extractbench_nb.construction.sources import DOCUMENT_KINDS, SourceDocument
from extractbench_nb.errors import InputError, needs

#: AOE's sizes, in characters (README, RAG configuration).
CHUNK_SIZE, OVERLAP = 512, 100

#: Chinese characters and Japanese syllables: scripts without spaces between words.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{UNSPACED}]+|\d+(?:[.,]\d+)*|[^\W\d_{UNSPACED}]+")
_UNSPACED = re.compile(rf"[{UNSPACED}]")

#: What stands for documents: a task, name: text, texts, files, a folder, or one text.
Documents: TypeAlias = (
    TableTask | Mapping[str, str] | Sequence[str | os.PathLike[str]] | str | os.PathLike[str]
)


class Chunk(NamedTuple):
    """A part of a document.

    Attributes
    ----------
    document : str
        Name of the document.
    number : int
        Number of the chunk in its document, from 0 on.
    start, end : int
        Place of the chunk: it is the document's text from ``start`` to ``end``.
    text : str
        The chunk.
    """

    document: str
    number: int
    start: int
    end: int
    text: str


def texts_of(documents: Documents) -> dict[str, str]:
    """Return the texts of documents by name.

    Examples
    --------
    >>> texts_of(["one text", "another"])
    {'document 1': 'one text', 'document 2': 'another'}
    """
    if isinstance(documents, TableTask):
        return documents.texts
    if isinstance(documents, str):
        return {"document 1": documents}
    if isinstance(documents, Mapping):
        items: list[tuple[Any, Any]] = list(documents.items())
    elif isinstance(documents, os.PathLike):
        path = Path(documents).expanduser()
        if not path.exists():
            raise InputError(f"documents: no file or folder {str(path)!r}")
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        items = [(f.name, f) for f in files if f.suffix.lower() in DOCUMENT_KINDS]
    elif isinstance(documents, Sequence):
        items = [
            (Path(one).name if isinstance(one, os.PathLike) else f"document {number}", one)
            for number, one in enumerate(documents, 1)
        ]
    else:
        raise InputError(
            f"documents is {type(documents).__name__}; expected a TableTask, a dict of texts by "
            "name, a list of texts or files, a folder, or one text"
        )
    texts: dict[str, str] = {}
    for name, one in items:
        if str(name) in texts:
            raise InputError(f"documents: two are named {name!r}")
        texts[str(name)] = _text_of(name, one)
    return texts


def _text_of(name: Any, document: Any) -> str:
    if isinstance(document, str):
        return document
    if isinstance(document, os.PathLike):
        path = Path(document)
        return SourceDocument(path.name, DOCUMENT_KINDS.get(path.suffix.lower(), "txt"), path).text
    raise InputError(f"documents[{name!r}] is {type(document).__name__}; expected a text or a file")


def split_documents(
    documents: Documents, *, chunk_size: int = CHUNK_SIZE, overlap: int = OVERLAP
) -> list[Chunk]:
    """Cut documents into chunks of up to `chunk_size` characters.

    Cuts are made at paragraphs, else at lines, else at spaces, else anywhere (LangChain's
    `RecursiveCharacterTextSplitter`).

    Parameters
    ----------
    documents : TableTask, dict, list, str or path
        A task; texts by name; texts or files; a folder; one text.
    chunk_size : int, optional
        Largest number of characters of a chunk.
    overlap : int, optional
        Largest number of characters that a chunk shares with the one before.

    Returns
    -------
    list of Chunk
        In the order of the documents: document, number (from 0 in each document), start, end
        and text, without white space at its ends.

    Raises
    ------
    InputError
        If the sizes are not whole numbers with 0 <= overlap < chunk_size.

    Examples
    --------
    >>> text = "one two three four five"
    >>> [chunk.text for chunk in split_documents(text, chunk_size=13, overlap=6)]
    ['one two three', 'three four', 'four five']
    """
    sizes = (chunk_size, overlap)
    if not all(type(size) is int for size in sizes) or not 0 <= overlap < chunk_size:
        raise InputError(
            f"chunk_size is {chunk_size!r} and overlap {overlap!r}; expected whole numbers with "
            "0 <= overlap < chunk_size"
        )
    library = needs("langchain_text_splitters", "retrieval", "langchain-text-splitters")
    splitter = library.RecursiveCharacterTextSplitter(chunk_size=chunk_size, chunk_overlap=overlap)
    chunks = []
    for name, text in texts_of(documents).items():
        end = 0
        for number, piece in enumerate(splitter.split_text(text)):
            start = text.find(piece, max(0, end - overlap))
            end = start + len(piece)
            chunks.append(Chunk(name, number, start, end, piece))
    return chunks


def words(text: str) -> list[str]:
    """Return the words by which a text is found.

    Case, width and thousands separators do not count; underscores separate words. Text without
    spaces between words (Chinese, Japanese) gives all pairs of neighbouring characters.

    Examples
    --------
    >>> words("Net_Income: 1,284.6")
    ['net', 'income', '1284.6']
    >>> words("２０２０年营业收入")
    ['2020', '年营', '营业', '业收', '收入']
    """
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _UNSPACED.match(word):
            found += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        else:
            found.append(word.replace(",", "") if word[0].isdigit() else word)
    return found
