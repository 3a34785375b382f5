"""`Retriever`: the chunks of documents that a query finds, by words or by embeddings.

AOE's configuration (README, RAG Configuration Details): chunks of 512 characters that share 100,
embeddings by BGE-M3, Chroma as store and index. BM25 is the default here, as it runs offline.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.construction.table_dataset import DOCUMENT_SUFFIXES, TableTask, document_text
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.judges import scrub
from extractbench_nb.support.wording import one_line

METHODS = ("bm25", "embedding")
Vectors: TypeAlias = npt.NDArray[np.float32]
#: Texts per request for embeddings.
_BATCH = 64
#: Chunks that are added to a store at once.
_STORED = 1_000
#: How the ranked chunks are put together: by score, or as AOE's released code does it.
PROFILES = ("strict", "aoe")
#: Chunks per table in AOE's runs.
DEFAULT_K = 50
#: AOE's sizes, in characters (README, RAG configuration).
CHUNK_SIZE, OVERLAP = 512, 100

#: Chinese characters and Japanese syllables: scripts without spaces between words.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{UNSPACED}]+|\d+(?:[.,]\d+)*|[^\W\d_{UNSPACED}]+")
_UNSPACED = re.compile(rf"[{UNSPACED}]")

#: What stands for documents: a task; texts or files by name; a folder.
Documents: TypeAlias = TableTask | Mapping[str, str | Path] | str | os.PathLike[str]


class Chunk(NamedTuple):
    """A part of a document.

    Attributes
    ----------
    document : str
        Name of the document.
    number : int
        Number of the chunk in its document, from 0.
    text : str
        The chunk.
    """

    document: str
    number: int
    text: str


#: A chunk with its score.
Ranked: TypeAlias = tuple[Chunk, float]

CHUNK_COLUMNS = FrameSpec(
    "chunks",
    "one row per retrieved chunk, in the order of the context",
    (
        Column("rank", "int64", "place in the order of the context", "1 and up"),
        Column("document", "string", "name of the document"),
        Column("chunk", "int64", "number of the chunk in its document", "0 and up"),
        Column("score", "float64", "BM25 score, or cosine similarity"),
        Column("text", "string", "the chunk"),
    ),
)


# --- documents, chunks, words ----------------------------------------------------------------


def texts_of(documents: Documents) -> dict[str, str]:
    """Return the texts of documents by name.

    Examples
    --------
    >>> texts_of({"a": "one text", "b": "another"})
    {'a': 'one text', 'b': 'another'}
    """
    untyped: object = documents
    if isinstance(untyped, TableTask):
        return untyped.texts
    if isinstance(untyped, str | os.PathLike):
        folder = Path(untyped).expanduser()
        if not folder.is_dir():
            raise InputError(f"documents: no folder {one_line(str(folder), 200)!r}")
        files = sorted(folder.iterdir())
        untyped = {file.name: file for file in files if file.suffix.lower() in DOCUMENT_SUFFIXES}
    if not isinstance(untyped, Mapping) or not all(
        isinstance(one, str | Path) for one in untyped.values()
    ):
        raise InputError(
            f"documents is {type(documents).__name__}; expected a TableTask, texts or files by "
            "name, or a folder"
        )
    return {str(name): document_text(one) for name, one in untyped.items()}


def split_documents(
    documents: Documents, *, chunk_size: int = CHUNK_SIZE, overlap: int = OVERLAP
) -> list[Chunk]:
    """Cut documents into chunks of up to `chunk_size` characters.

    Cuts are made at paragraphs, else at lines, else at spaces, else anywhere (LangChain's
    `RecursiveCharacterTextSplitter`). A chunk shares at most `overlap` characters with the one
    before, and has no white space at its ends.
    """
    sizes = (chunk_size, overlap)
    if not all(type(size) is int for size in sizes) or not 0 <= overlap < chunk_size:
        raise InputError(
            f"chunk_size is {chunk_size!r} and overlap {overlap!r}; expected whole numbers with "
            "0 <= overlap < chunk_size"
        )
    library = needs("langchain_text_splitters", "construction")
    splitter = library.RecursiveCharacterTextSplitter(chunk_size=chunk_size, chunk_overlap=overlap)
    chunks: list[Chunk] = []
    for name, text in texts_of(documents).items():
        pieces = enumerate(splitter.split_text(text))
        chunks += [Chunk(name, number, piece) for number, piece in pieces]
    return chunks


def words(text: str) -> list[str]:
    """Return the words by which a text is found.

    Case, width and thousands separators do not count; underscores separate words. Text without
    spaces between words (Chinese, Japanese) gives all pairs of neighbouring characters.
    """
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _UNSPACED.match(word):
            found += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        else:
            found.append(word.replace(",", "") if word[0].isdigit() else word)
    return found


# --- searching them --------------------------------------------------------------------------


@dataclass(frozen=True)
class Retriever:
    r"""A way to find chunks; call it with documents and a query, or `index` the documents once.

    Parameters
    ----------
    method : str, optional
        ``"bm25"``: words in common (Lucene's BM25, k1 1.5, b 0.75). ``"embedding"``: cosine
        similarity of embeddings.
    k : int, optional
        Number of chunks.
    chunk_size, overlap : int, optional
        Maximum number of characters of a chunk, and of those that it shares with the one before.
    model : str, encoder or callable, optional
        The embedding model: its name on an OpenAI-compatible server, such as ``"bge-m3"``; an
        object with ``encode`` (sentence-transformers, model2vec); or a function from a list of
        texts to vectors.
    profile : str, optional
        ``"strict"``: the `k` best chunks, best first. ``"aoe"``, as in AOE's released code: of the
        ``max(5 k, 10)`` best chunks up to `k` per document, document by document, each text once,
        so that there may be more than `k` chunks.
    api_base : str, optional
        Address of the server of a `model` that is a name, if it is not OpenAI's; it needs no key.
    store : str or path, optional
        Folder in which Chroma keeps embeddings and searches them; chunks that are in it are not
        embedded again. Needs the package chromadb. By default all vectors are compared in memory.

    Examples
    --------
    >>> find = Retriever(k=1)
    >>> find({"a": "The fee is 12 euros.", "b": "Rain is likely."}, "how high is the fee?").context
    '[Source: a, 1 chunks]\nThe fee is 12 euros.\n\n'
    """

    method: str = "bm25"
    k: int = DEFAULT_K
    chunk_size: int = CHUNK_SIZE
    overlap: int = OVERLAP
    model: Any = None
    profile: str = "strict"
    api_base: str | None = None
    store: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        for name, allowed in (("method", METHODS), ("profile", PROFILES)):
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(f"{name}={value!r}; {nearest(value, allowed)}")
        check_k(self.k)
        model = self.model
        if self.method == "bm25":
            for name in ("model", "api_base", "store"):
                if getattr(self, name) is not None:
                    raise InputError(f"{name}= goes with method='embedding'")
        elif not (isinstance(model, str) or callable(model) or hasattr(model, "encode")):
            raise InputError(
                "method='embedding' needs model=, the name of a model such as 'bge-m3', an object "
                f"with encode() or a function from texts to vectors; found {model!r}"
            )
        if self.api_base is not None and not isinstance(model, str):
            raise InputError("api_base= goes with the name of a model such as model='bge-m3'")
        if self.store is not None and find_spec("chromadb") is None:
            raise InputError("store= needs chromadb; install it with: pip install chromadb")

    @property
    def described(self) -> dict[str, Any]:
        """The options that decide the ranking, as JSON values; recorded with a run."""
        names = ("method", "k", "chunk_size", "overlap", "profile")
        model = self.model
        if not (model is None or isinstance(model, str)):
            model = type(model).__name__
        index = {} if self.store is None else {"index": "chroma"}
        return {name: getattr(self, name) for name in names} | {"model": model} | index

    def __call__(self, documents: Documents, query: str) -> Retrieved:
        """Return the chunks of documents that a query finds."""
        return self.index(documents).search(query)

    def index(self, documents: Documents) -> Index:
        """Cut documents into chunks that can be searched again and again with ``search(query)``.

        Parameters
        ----------
        documents : TableTask, dict, str or path
            A task; texts or files by name; a folder.

        Returns
        -------
        Index
            The chunks.
        """
        chunks = split_documents(documents, chunk_size=self.chunk_size, overlap=self.overlap)
        return Index(self, tuple(chunks))


def _vectors(retriever: Retriever, texts: Sequence[str]) -> Vectors:
    """Return the embedding of each text as a row of length 1; zeros are not changed."""
    model = retriever.model
    if isinstance(model, str):
        vectors: Any = _served(model, texts, retriever.api_base)
    else:
        vectors = (model.encode if hasattr(model, "encode") else model)(list(texts))
    try:
        matrix = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.full((0, 0), np.nan)
    is_complete = matrix.ndim == 2 and len(matrix) == len(texts) and matrix.size  # noqa: PLR2004
    if not is_complete or not np.isfinite(matrix).all():
        named = model if isinstance(model, str) else type(model).__name__
        raise InputError(
            f"{named!r} returned {one_line(repr(vectors))}; expected one vector of finite "
            f"numbers for each of {len(texts)} texts"
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths, lengths, 1.0)).astype(np.float32)


def _served(model: str, texts: Sequence[str], api_base: str | None) -> list[list[float]]:
    """Ask a server for embeddings, some texts at a time."""
    openai = needs("openai", "llm")
    key = os.environ.get("OPENAI_API_KEY") or (api_base and "none-needed")  # it requires one
    vectors: list[list[float]] = []
    try:
        with openai.OpenAI(base_url=api_base, api_key=key) as client:
            for start in range(0, len(texts), _BATCH):
                part = list(texts[start : start + _BATCH])
                reply = client.embeddings.create(
                    model=model.removeprefix("openai/"), input=part, encoding_format="float"
                )
                vectors += [row.embedding for row in reply.data]
    except openai.OpenAIError as error:
        where = f" at {api_base}" if api_base else ""
        problem = one_line(scrub(str(error)), 300)
        raise InputError(f"no embeddings of {model!r}{where}: {problem}") from None
    return vectors


@dataclass(frozen=True)
class Retrieved:
    """The chunks that a query found: made by a `Retriever`.

    Attributes
    ----------
    chunks : pandas.DataFrame
        One row per chunk (see `CHUNK_COLUMNS`).
    """

    chunks: pd.DataFrame

    @property
    def context(self) -> str:
        """The text for a model: each chunk with its document and a running number."""
        counts: Counter[str] = Counter()
        parts = []
        for document, text in zip(self.chunks["document"], self.chunks["text"], strict=True):
            counts[document] += 1
            parts.append(f"[Source: {document}, {counts[document]} chunks]\n{text}\n\n")
        return "".join(parts)


@dataclass(frozen=True, repr=False)
class Index:
    """Chunks that can be searched; made by `Retriever.index`."""

    retriever: Retriever
    chunks: tuple[Chunk, ...]

    def search(self, query: str) -> Retrieved:
        """Return the chunks that a query finds."""
        untyped: object = query
        if not (isinstance(untyped, str) and untyped.strip()):
            raise InputError(f"query is {query!r}; expected words to look for")
        ranked = enumerate(self.select(query, self.retriever.k), 1)
        rows = ((rank, *chunk[:2], score, chunk.text) for rank, (chunk, score) in ranked)
        return Retrieved(CHUNK_COLUMNS.from_rows(rows))

    def select(self, query: str, k: int) -> list[Ranked]:
        """Rank chunks by the retriever's profile; equal scores in the order of the documents."""
        is_strict = self.retriever.profile == "strict"
        count = min(k if is_strict else released_count(k), len(self.chunks))
        if not count:
            return []
        if self.retriever.store is not None:
            ranked = self._stored(query, count)
        else:
            scores = self._scores(query)
            best = np.argsort(-scores, kind="stable")[:count]
            ranked = [(self.chunks[i], float(scores[i])) for i in best]
        return ranked if is_strict else grouped_by_document(ranked, k)

    def _scores(self, query: str) -> Vectors:
        """Return the score of every chunk: of BM25, or cosine similarity."""
        if self.retriever.method == "embedding":
            (vector,) = _vectors(self.retriever, [query])
            return np.asarray(self._vectors @ vector)
        bm25, known = self._bm25
        asked = [word for word in words(query) if word in known]
        scores: Vectors = np.zeros(len(self.chunks), dtype=np.float32)
        return bm25.get_scores(asked) if asked else scores

    @cached_property
    def _bm25(self) -> tuple[Any, frozenset[str]]:
        library = needs("bm25s", "construction")
        library.logger.setLevel("WARNING")  # it logs each step to a user's handlers
        found = [words(chunk.text) for chunk in self.chunks]
        known = frozenset(word for some in found for word in some)
        bm25 = library.BM25()
        if known:
            bm25.index(found, show_progress=False)
        return bm25, known

    @cached_property
    def _vectors(self) -> Vectors:
        return _vectors(self.retriever, [chunk.text for chunk in self.chunks])

    @cached_property
    def _collection(self) -> Any:
        """Chroma's collection of these chunks; those that it lacks are embedded and added."""
        chromadb = import_module("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(self.retriever.store), settings=settings)
        texts = [chunk.text for chunk in self.chunks]
        parts = [str(self.retriever.described["model"]), *texts]
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        collection = client.get_or_create_collection(
            f"chunks-{digest[:32]}", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        for start in range(collection.count(), len(texts), _STORED):
            part = texts[start : start + _STORED]
            ids = [str(start + n) for n in range(len(part))]
            collection.add(ids=ids, embeddings=_vectors(self.retriever, part))
        return collection

    def _stored(self, query: str, count: int) -> list[Ranked]:
        """Let Chroma rank the chunks; its index is approximate."""
        vector = _vectors(self.retriever, [query])
        found = self._collection.query(query_embeddings=vector, n_results=count)
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(self.chunks[int(id_)], 1.0 - float(distance)) for id_, distance in pairs]


def check_k(k: Any) -> int:
    """Return a number of chunks, or raise an `InputError`."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}; expected a whole number of chunks, 1 or more")
    return int(k)


def released_count(k: int) -> int:
    """Return how many chunks AOE's released code asks its store for."""
    return max(5 * k, 10)


def grouped_by_document(ranked: Sequence[Ranked], k: int) -> list[Ranked]:
    """Put ranked chunks together as AOE's released code does it.

    Up to `k` chunks of each document, document by document in the order of their best chunks. Of
    equal texts the last one is kept, at the place of the first.
    """
    by_document: dict[str, list[Ranked]] = {}
    for chunk, score in ranked:
        by_document.setdefault(chunk.document, []).append((chunk, score))
    kept = (pair for group in by_document.values() for pair in group[:k])
    return list({pair[0].text: pair for pair in kept}.values())
