"""Embeddings of texts: from a model through LiteLLM, or from a local encoder; a store of them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from extractbench_nb._concurrency import run_anywhere
from extractbench_nb._files import make_folder
from extractbench_nb.construction.chunks import Chunk
from extractbench_nb.errors import InputError, OutputError, needs
from extractbench_nb.judges.background import BACKGROUND
from extractbench_nb.judges.cache import Entry, JudgeCache, judge_cache, request_key
from extractbench_nb.judges.calls import pause_after
from extractbench_nb.judges.client import litellm
from extractbench_nb.judges.settings import Settings, check_model, read_environment
from extractbench_nb.judges.transport import EXCHANGE, Exchange, Failure, failure_of

Vectors: TypeAlias = npt.NDArray[np.float32]

#: Texts of one request.
_BATCH = 64
_NO_KEY = "none-needed"


@runtime_checkable
class Encoder(Protocol):
    """A local model, such as those of sentence-transformers and model2vec."""

    def encode(self, texts: list[str], /) -> Any:
        """Return one vector per text."""


#: A LiteLLM model id, a local model, or a function from texts to vectors.
Model: TypeAlias = str | Encoder | Callable[[list[str]], Any]


@dataclass(frozen=True)
class Embedding:
    """How texts become vectors.

    Parameters
    ----------
    model : str, encoder or callable
        A LiteLLM model id such as ``"openai/text-embedding-3-small"``; an object with a method
        ``encode``; a function from a list of texts to vectors.
    api_base : str, optional
        Address of an OpenAI-compatible server, for a model id.
    cache : bool or JudgeCache, optional
        Where the vectors of a model id are kept: the cache of LLM answers, or nowhere.
    timeout : float, optional
        Seconds that a request may take.
    max_attempts : int, optional
        Attempts after transient errors.
    max_concurrency : int, optional
        Requests made at the same time.
    retry_wait : float, optional
        Seconds before the second attempt; doubled each time.
    """

    model: Model
    api_base: str | None = None
    cache: bool | JudgeCache = True
    timeout: float = 60.0
    max_attempts: int = 5
    max_concurrency: int = 4
    retry_wait: float = 1.0

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text; a vector of zeros stays as it is.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        numpy.ndarray
            One row of 32-bit floats per text.

        Raises
        ------
        InputError
            If there is no answer, or it is not one vector of finite numbers per text.
        """
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        model = self.model
        if isinstance(model, str):
            found: Any = self._asked(model, list(texts))
        else:
            found = model.encode(list(texts)) if isinstance(model, Encoder) else model(list(texts))
        return _checked(found, len(texts), self.name)

    @property
    def name(self) -> str:
        """The model id, or the type of a local model."""
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    @property
    def fingerprint(self) -> str:
        """What tells the model from others: its id; for a local model the vector of a text."""
        if isinstance(self.model, str):
            return self.model
        return hashlib.sha256(self.vectors(["a probe"]).tobytes()).hexdigest()

    def _asked(self, model: str, texts: list[str]) -> Vectors:
        """Ask a model behind an API, batch by batch."""
        read_environment()
        settings = Settings(
            model,
            timeout=self.timeout,
            api_base=self.api_base,
            max_attempts=self.max_attempts,
            max_concurrency=self.max_concurrency,
            retry_wait=self.retry_wait,
        )
        otherwise = "method='bm25' needs no model"
        check_model(settings, otherwise=otherwise)
        cache = self.cache if isinstance(self.cache, JudgeCache) else None
        cache = judge_cache if self.cache is True else cache
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        try:
            parts = run_anywhere(BACKGROUND.run(_all(batches, settings, cache)))
        except Failure as failure:
            raise InputError(f"no embeddings from {model!r}: {failure}") from None
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise InputError(
                f"vectors of {model!r} have {' and '.join(map(str, sorted(widths)))} numbers: the "
                "cache holds those of another model under this name; pass cache=False"
            )
        return np.concatenate(parts)


def _checked(found: Any, count: int, model: str) -> Vectors:
    """Return vectors as a matrix of rows of length 1."""
    try:
        matrix = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"vectors of {model!r} are not numbers: {error}") from None
    if matrix.ndim != 2 or len(matrix) != count or not matrix.shape[1]:  # noqa: PLR2004
        raise InputError(
            f"{model!r} returned an array of shape {matrix.shape} for {count} texts; expected one "
            "vector per text"
        )
    if not np.isfinite(matrix).all():
        raise InputError(f"vectors of {model!r} hold values that are not finite numbers")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths, lengths, 1.0)).astype(np.float32)


async def _all(
    batches: Sequence[list[str]], settings: Settings, cache: JudgeCache | None
) -> list[Vectors]:
    turns = asyncio.Semaphore(settings.max_concurrency)

    async def one(batch: list[str]) -> Vectors:
        async with turns:
            return await _batch(batch, settings, cache)

    return await asyncio.gather(*map(one, batches))


async def _batch(texts: list[str], settings: Settings, cache: JudgeCache | None) -> Vectors:
    """Look the vectors of a batch up, or ask for them, again after transient errors."""
    document = {"kind": "embedding", "model": settings.model, "input": texts}
    known = _cached(cache, document, len(texts)) if cache is not None else None
    if known is not None:
        return known
    vectors = _checked(await _answer(texts, settings), len(texts), settings.model)
    if cache is not None:
        try:
            cache.put(Entry(document, _written(vectors)), replace=True)
        except OutputError as error:  # the vectors are used, but not cached
            warnings.warn(f"embeddings are not cached: {error}", RuntimeWarning, stacklevel=2)
    return vectors


def _cached(cache: JudgeCache, document: Mapping[str, Any], count: int) -> Vectors | None:
    """Look vectors up; an entry or a cache that cannot be read counts as missing."""
    try:
        entry = cache.get(request_key(document))
        content = json.loads(entry.answer) if entry is not None else None
        if content is None:
            return None
        data = np.frombuffer(base64.b64decode(content["float32"]), dtype="<f4")
        vectors = data.astype(np.float32).reshape(content["shape"])
    except (OutputError, LookupError, TypeError, ValueError) as error:
        warnings.warn(f"cached embeddings are not used: {error}", RuntimeWarning, stacklevel=2)
        return None
    return vectors if len(vectors) == count else None


async def _answer(texts: list[str], settings: Settings) -> list[Any]:
    attempt = 0
    while True:
        attempt += 1
        try:
            return await _request(texts, settings)
        except Failure as failure:
            if not failure.transient or attempt == settings.max_attempts:
                raise
            pause = pause_after(attempt, failure, settings.retry_wait)
        await asyncio.sleep(pause)


async def _request(texts: list[str], settings: Settings) -> list[Any]:
    """Make one request, watched like those of judges; `Failure` says why it has no answer."""
    arguments: dict[str, Any] = {
        "model": settings.model,
        "input": texts,
        "timeout": settings.timeout,
        "encoding_format": "float",
        "max_retries": 0,
        "num_retries": 0,
        "no-log": True,
    }
    if settings.api_base is not None:
        arguments["api_base"] = settings.api_base
        if not litellm().validate_environment(settings.model)["keys_in_environment"]:
            arguments["api_key"] = _NO_KEY
    exchange, response = Exchange(), None
    failure: Failure | None = None  # raised below, without a context that may quote a key
    before = EXCHANGE.set(exchange)
    try:
        async with asyncio.timeout(settings.timeout):
            response = await litellm().aembedding(**arguments)
        rows = sorted(response.data, key=lambda row: row["index"])
        return [row["embedding"] for row in rows]
    except TimeoutError:
        failure = Failure("timeout", f"no answer within {settings.timeout:g} s", transient=True)
    except Exception as error:  # noqa: BLE001 - LiteLLM raises whatever its providers do
        failure = exchange.failure or failure_of(error, exchange.status, exchange.wait)
    finally:
        EXCHANGE.reset(before)
    raise failure


def _written(vectors: Vectors) -> str:
    rows, width = vectors.shape
    data = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
    return json.dumps({"shape": [rows, width], "float32": data})


# --- a store that persists -------------------------------------------------------------------


def stored_vectors(
    folder: str | Path, chunks: Sequence[Chunk], embedding: Embedding
) -> tuple[Vectors, bool]:
    """Return the vectors of chunks from a Chroma store, which is filled if it lacks them.

    The chunks of one set of documents and one model are a collection. They are read back whole
    and searched exactly, so that the store changes no ranking. Also returned: whether the store
    had them.
    """
    chromadb = needs("chromadb", "chroma", "chromadb")
    if not chunks:
        return embedding.vectors([]), False
    content = json.dumps([embedding.fingerprint, chunks], ensure_ascii=True)
    name = f"xb-{hashlib.sha256(content.encode()).hexdigest()[:40]}"
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(make_folder(Path(folder))), settings=settings)
    about: Mapping[str, str] = {"hnsw:space": "l2", "model": embedding.name}
    collection = client.get_or_create_collection(name, embedding_function=None, metadata=about)
    ids = [str(number) for number in range(len(chunks))]
    if collection.count() == len(chunks):
        found = collection.get(include=["embeddings"])
        order = np.argsort([int(id_) for id_ in found["ids"]])
        return np.asarray(found["embeddings"], dtype=np.float32)[order], True
    vectors = embedding.vectors([chunk.text for chunk in chunks])
    size = client.get_max_batch_size()
    for i in range(0, len(chunks), size):
        part = chunks[i : i + size]
        collection.upsert(
            ids=ids[i : i + size],
            embeddings=vectors[i : i + size],
            documents=[chunk.text for chunk in part],
            metadatas=[{"document": c.document, "start": c.start, "end": c.end} for c in part],
        )
    return vectors, False
