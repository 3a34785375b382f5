"""`Retriever`: the chunks of documents that a query finds; `evidence_recall`: what they hold.

AOE's configuration (README, RAG Configuration Details): chunks of 512 characters that share 100,
embeddings by BGE-M3, Chroma as store and index. BM25 is the default here, as it runs offline.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.construction.table_dataset import TableTask, document_text
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.judges import scrub
from extractbench_nb.support.wording import one_line
from extractbench_nb.tables import text_of

METHODS = ("bm25", "embedding")
#: Chunks per table in AOE's runs, and their sizes in characters (README, RAG configuration).
DEFAULT_K, CHUNK_SIZE, OVERLAP = 50, 512, 100
#: Texts per request for embeddings, and chunks that are added to a store at once.
_BATCH, _STORED = 64, 1_000

#: Chinese characters and Japanese syllables: scripts without spaces between words.
_SCRIPTS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{_SCRIPTS}]")
_WORD = re.compile(rf"[{_SCRIPTS}]+|\d+(?:[.,]\d+)*|[^\W\d_{_SCRIPTS}]+")

#: What stands for documents: a task; texts or files by name.
Documents: TypeAlias = TableTask | Mapping[str, str | Path]
Vectors: TypeAlias = npt.NDArray[np.float32]


class Chunk(NamedTuple):
    """A part of a document: name of the document, number of the chunk in it from 0, and text."""

    document: str
    number: int
    text: str


#: A chunk with its score.
Ranked: TypeAlias = tuple[Chunk, float]

CHUNK_COLUMNS = FrameSpec(
    "chunks",
    "one row per retrieved chunk, best first",
    (
        Column("rank", "int64", "position in the context", "1 and up"),
        Column("document", "string", "name of the document"),
        Column("chunk", "int64", "number of the chunk in its document", "0 and up"),
        Column("score", "float64", "BM25 score, or cosine similarity"),
        Column("text", "string", "the chunk"),
    ),
)


def texts_of(documents: Documents) -> dict[str, str]:
    """Return the texts of documents by name.

    Examples
    --------
    >>> texts_of({"a": "one text", "b": "another"})
    {'a': 'one text', 'b': 'another'}
    """
    if isinstance(documents, TableTask):
        return documents.texts
    given: Any = documents
    if isinstance(given, Mapping) and all(isinstance(one, str | Path) for one in given.values()):
        return {str(name): document_text(one) for name, one in given.items()}
    raise InputError(
        f"documents is {type(documents).__name__}; expected a TableTask, or texts or files by name"
    )


def split_documents(
    documents: Documents, *, chunk_size: int = CHUNK_SIZE, overlap: int = OVERLAP
) -> list[Chunk]:
    """Cut documents into chunks of up to `chunk_size` characters.

    Cuts are made at paragraphs, else at lines, else at spaces, else anywhere (LangChain's
    `RecursiveCharacterTextSplitter`). A chunk shares at most `overlap` characters with the one
    before, and has no white space at its ends.
    """
    library = needs("langchain_text_splitters", "construction")
    splitter = library.RecursiveCharacterTextSplitter(chunk_size=chunk_size, chunk_overlap=overlap)
    return [
        Chunk(name, number, piece)
        for name, text in texts_of(documents).items()
        for number, piece in enumerate(splitter.split_text(text))
    ]


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


@dataclass(frozen=True)
class Retriever:
    r"""A retriever of chunks; call it with documents and a query, or `index` the documents once.

    Parameters
    ----------
    method : str, optional
        ``"bm25"``: words in common (Lucene's BM25, k1 1.5, b 0.75). ``"embedding"``: cosine
        similarity of embeddings.
    k : int, optional
        Number of chunks, best first.
    chunk_size, overlap : int, optional
        Maximum number of characters of a chunk, and of those that it shares with the one before.
    model : str or callable, optional
        The embedding model: its name on an OpenAI-compatible server, such as ``"bge-m3"``; or a
        function from a list of texts to vectors, such as the ``encode`` of sentence-transformers.
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
    api_base: str | None = None
    store: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        if self.method not in METHODS:
            raise InputError(f"method={self.method!r}; {nearest(self.method, METHODS)}")
        _check_k(self.k)
        sizes = self.chunk_size, self.overlap
        if {*map(type, sizes)} != {int} or not 0 <= self.overlap < self.chunk_size:
            raise InputError(
                f"chunk_size is {sizes[0]!r} and overlap {sizes[1]!r}; expected whole numbers with "
                "0 <= overlap < chunk_size"
            )
        has_model = isinstance(self.model, str) or callable(self.model)
        if has_model != (self.method == "embedding") or (self.store and not has_model):
            raise InputError(
                f"method={self.method!r} and model={self.model!r}; expected for 'embedding', and "
                "only there, the name of a model such as 'bge-m3' or a function from texts to "
                "vectors"
            )
        if self.store is not None and find_spec("chromadb") is None:
            raise InputError("store= needs chromadb; install it with: pip install chromadb")

    @property
    def described(self) -> dict[str, Any]:
        """The options that determine the ranking, as JSON values; recorded with a run."""
        options = {n: getattr(self, n) for n in ("method", "k", "chunk_size", "overlap", "model")}
        if callable(self.model):
            options["model"] = getattr(self.model, "__qualname__", type(self.model).__name__)
        return options if self.store is None else {**options, "index": "chroma"}

    def __call__(self, documents: Documents, query: str) -> Retrieved:
        """Return the chunks of documents that a query finds."""
        return self.index(documents).search(query)

    def index(self, documents: Documents) -> Index:
        """Cut documents into chunks that can be searched again and again with ``search(query)``.

        Parameters
        ----------
        documents : TableTask or dict
            A task; texts or files by name.

        Returns
        -------
        Index
            The chunks.
        """
        chunks = split_documents(documents, chunk_size=self.chunk_size, overlap=self.overlap)
        return Index(self, tuple(chunks))


def _check_k(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}; expected a whole number of chunks, 1 or more")
    return int(k)


def _vectors(retriever: Retriever, texts: Sequence[str]) -> Vectors:
    """Return the embedding of each text as a row of length 1; zeros are not changed."""
    model: Any = retriever.model
    if isinstance(model, str):
        vectors: Any = _served(model, texts, retriever.api_base)
    else:
        vectors = model(list(texts))
    try:
        matrix = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    are_vectors = matrix.ndim == 2 and len(matrix) == len(texts) and matrix.size  # noqa: PLR2004
    if not are_vectors or not np.isfinite(matrix).all():
        raise InputError(
            f"{retriever.described['model']!r} returned {one_line(repr(vectors))}; expected one "
            f"vector of finite numbers for each of {len(texts)} texts"
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
                name = model.removeprefix("openai/")
                reply = client.embeddings.create(model=name, input=part, encoding_format="float")
                vectors += [row.embedding for row in reply.data]
    except openai.OpenAIError as error:
        where = f" at {api_base}" if api_base else ""
        problem = one_line(scrub(str(error)), 300)
        raise InputError(f"no embeddings of {model!r}{where}: {problem}") from None
    return vectors


@dataclass(frozen=True)
class Retrieved:
    """The chunks that a query found, one row each (see `CHUNK_COLUMNS`)."""

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
        if not isinstance(query, str) or not query.strip():  # type: ignore[redundant-expr]
            raise InputError(f"query is {query!r}; expected words to look for")
        ranked = enumerate(self.select(query, self.retriever.k), 1)
        rows = ((rank, *chunk[:2], score, chunk.text) for rank, (chunk, score) in ranked)
        return Retrieved(CHUNK_COLUMNS.from_rows(rows))

    def select(self, query: str, k: int) -> list[Ranked]:
        """Return the best chunks; equal scores in the order of the documents."""
        if not self.chunks:
            return []
        if self.retriever.store is not None:
            return self._stored(query, min(k, len(self.chunks)))
        scores = self._scores(query)
        best = np.argsort(-scores, kind="stable")[:k]
        return [(self.chunks[i], float(scores[i])) for i in best]

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


# --- evidence -------------------------------------------------------------------------------------

STATUSES = ("retrieved", "missed", "cut", "absent")
EVIDENCE_COLUMNS = FrameSpec(
    "cells",
    "one row per gold cell that is not empty, row by row",
    (
        Column("row", "int64", "row of the gold table", "0 and up"),
        Column("column", "string", "column of the gold table"),
        Column("value", "string", "the cell as written in gold"),
        Column(
            *("status", "string"),
            "retrieved; missed: in a chunk that was not retrieved; cut: in a document, but in no "
            "single chunk; absent: in no document as written in gold",
            ", ".join(STATUSES),
        ),
    ),
)
RECALL_COLUMNS = FrameSpec(
    "by_k",
    "one row per number of chunks, ascending",
    (
        Column("k", "int64", "chunks that are considered", "1 and up"),
        Column("cells", "int64", "gold cells that are not empty", "0 and up"),
        Column("in_documents", "int64", "cells whose value is in a document", "0 to cells"),
        Column("retrieved", "int64", "cells whose value is in a considered chunk"),
        Column("recall", "Float64", "retrieved / in_documents", "0 to 1", True),
    ),
)


@dataclass(frozen=True)
class EvidenceRecall:
    """The gold cells that a retriever found; made by `evidence_recall`.

    ``cells`` has one row per gold cell that is not empty, with the largest `k`; ``by_k`` has one
    row per `k`. See `EVIDENCE_COLUMNS` and `RECALL_COLUMNS`.
    """

    cells: pd.DataFrame
    by_k: pd.DataFrame

    @property
    def recall(self) -> float | None:
        """Recall with the largest `k`, 0 to 1; None if no value is in a document."""
        value = self.by_k["recall"].iloc[-1]
        return None if pd.isna(value) else float(value)


def evidence_recall(
    gold: pd.DataFrame | TableTask,
    documents: Documents | None = None,
    retriever: str | Retriever = "bm25",
    k: int | Sequence[int] = DEFAULT_K,
    *,
    query: str | None = None,
) -> EvidenceRecall:
    """Measure how many gold cells are in the chunks that a retriever finds.

    A cell is found if a chunk contains its text, bounded by characters other than letters and
    digits. Case, width, white space and thousands separators do not count. A value that occurs by
    chance counts as well, so that short values (years, counts) make the recall optimistic.

    Parameters
    ----------
    gold : pandas.DataFrame or TableTask
        The gold table, keys included.
    documents : TableTask or dict, optional
        The documents: a task, or texts or files by name; those of the task by default.
    retriever : str or Retriever, optional
        ``"bm25"``, or a `Retriever`, whose own `k` is not used.
    k : int or list of int, optional
        Number of best chunks to consider; a list gives one recall each.
    query : str, optional
        The query; by default that of the task, or the names of the columns.

    Returns
    -------
    EvidenceRecall
        The cells with their statuses, and the recall of every `k`.

    Raises
    ------
    InputError
        If an argument has a wrong type or is out of range.

    Examples
    --------
    >>> from extractbench_nb.construction import evidence_recall, load
    >>> evidence_recall(load()["retailer_results"], k=[2, 5, 10]).by_k
        k  cells  in_documents  retrieved    recall
    0   2     29            28         12  0.428571
    1   5     29            28         18  0.642857
    2  10     29            28         28       1.0
    """
    if isinstance(gold, TableTask):
        documents, query, gold = documents or gold, query or gold.query, gold.gold
    gold = as_pandas(gold)
    if not isinstance(gold, pd.DataFrame):
        raise InputError(f"gold is {type(gold).__name__}; expected a DataFrame or a TableTask")
    if documents is None:
        raise InputError("documents are missing; pass them, or a TableTask as gold")
    find = Retriever(retriever) if isinstance(retriever, str) else retriever
    if not isinstance(find, Retriever):
        raise InputError(f"retriever is {type(find).__name__}; expected a Retriever or 'bm25'")
    query = " ".join(map(str, gold.columns)) if query is None else query
    counts = sorted({_check_k(one) for one in (k if isinstance(k, Sequence) else [k])})
    if not counts:
        raise InputError("k is empty; expected at least one number of chunks")
    texts = texts_of(documents)
    index = find.index(texts)
    chunks = index.chunks
    places = {chunk: place for place, chunk in enumerate(chunks)}
    cells = [
        (row, str(column), text)
        for row, values in enumerate(gold.itertuples(index=False, name=None))
        for column, text in zip(gold.columns, map(text_of, values), strict=True)
        if text.strip()
    ]
    values = {value for _, _, value in cells}
    in_documents, in_chunks = (
        {value: set(holders.of(value)) for value in values}
        for holders in (Holders(list(texts.values())), Holders([chunk.text for chunk in chunks]))
    )

    def status(value: str, selected: set[int]) -> str:
        if in_chunks[value]:
            return "missed" if selected.isdisjoint(in_chunks[value]) else "retrieved"
        return "cut" if in_documents[value] else "absent"

    known = sum(bool(in_documents[value]) for *_, value in cells)
    recalls, statuses = [], list[str]()
    for count in counts:
        selected = {places[chunk] for chunk, _ in index.select(query, count)}
        statuses = [status(value, selected) for *_, value in cells]
        hits = statuses.count("retrieved")
        recalls.append((count, len(cells), known, hits, hits / known if known else None))
    rows = ((*cell, one) for cell, one in zip(cells, statuses, strict=True))
    return EvidenceRecall(EVIDENCE_COLUMNS.from_rows(rows), RECALL_COLUMNS.from_rows(recalls))


#: Thousands separators.
_SEPARATOR = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def _plain(text: str) -> str:
    """Return a text as it is compared: without case, width, thousands separators, line breaks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SEPARATOR.sub("", " ".join(folded.split()))


class Holders:
    """Texts in which values are looked up; ``of(value)`` has the places of those that hold it."""

    def __init__(self, texts: Sequence[str]) -> None:
        parts = list(map(_plain, texts))
        self._whole = "\n".join(["", *parts, ""])  # a value has no line break
        self._starts = [0, *accumulate(len(part) + 1 for part in parts)]

    def of(self, value: str) -> list[int]:
        """Return the places of the texts that hold a value, ascending."""
        value = _plain(value)
        found: dict[int, None] = {}
        at = self._whole.find(value) if value else -1
        while at >= 0:
            end = at + len(value)
            before, after = self._whole[max(0, at - 2) : at], self._whole[end : end + 2]
            # a part of a longer word or number is another value
            if not (_continues(value[0], before[::-1]) or _continues(value[-1], after)):
                found[bisect_right(self._starts, at - 1) - 1] = None
            at = self._whole.find(value, at + 1)
        return list(found)


def _continues(edge: str, beyond: str) -> bool:
    """Whether the characters beyond the edge of a value belong to the same word or number."""
    if not edge.isalnum() or _UNSPACED.match(edge):
        return False
    if edge.isdigit() and len(beyond) > 1 and beyond[0] in ".," and beyond[1].isdigit():
        return True
    return beyond[:1].isalnum() and not _UNSPACED.match(beyond)
