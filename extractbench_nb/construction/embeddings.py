"""Embeddings of texts: from a model through LiteLLM, or from a local encoder; a store of them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from extractbench_nb._concurrency import run_anywhere
from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.judges.background import BACKGROUND
from extractbench_nb.judges.cache import Entry, JudgeCache, judge_cache, request_key
from extractbench_nb.judges.calls import Budget, pause_after
from extractbench_nb.judges.client import ModelRequest, client_errors, failure_in, litellm
from extractbench_nb.judges.settings import Settings, check_model, read_environment
from extractbench_nb.judges.transport import EXCHANGE, Exchange, Failure

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
    """A model that turns texts into vectors, with its cache and its limits.

    Parameters
    ----------
    model : str, encoder or callable
        A LiteLLM model id such as ``"openai/text-embedding-3-small"``; an object with a method
        ``encode``; a function from a list of texts to vectors.
    api_base : str, optional
        Address of an OpenAI-compatible server, for a model id.
    cache : bool or JudgeCache, optional
        Cache for the vectors of a model id: True for the cache of LLM answers, False for none.
    timeout : float, optional
        Time limit for one request, in seconds.
    max_attempts : int, optional
        Maximum number of requests for the same texts, if transient errors occur.
    max_concurrency : int, optional
        Maximum number of concurrent requests.
    retry_wait : float, optional
        Seconds before the second request; doubled for each further one.
    budget_usd : float, optional
        Maximum that this object may spend on a model id, in US dollars at LiteLLM's list prices.
        Each request reserves its maximum cost, and is not made if less is left. Cached vectors cost
        nothing.
    """

    model: Model
    api_base: str | None = None
    cache: bool | JudgeCache = True
    timeout: float = 60.0
    max_attempts: int = 5
    max_concurrency: int = 4
    retry_wait: float = 1.0
    budget_usd: float | None = None

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, scaled to length 1; a vector of zeros is not changed.

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
            If there is no answer, the budget is spent, or the answer is not one vector of finite
            numbers per text.
        """
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        model = self.model
        if isinstance(model, str):
            found: Any = self._asked(model, list(texts))
        else:
            found = model.encode(list(texts)) if isinstance(model, Encoder) else model(list(texts))
        return _checked(found, len(texts), self.name)

    @cached_property
    def _budget(self) -> Budget:
        return Budget(self.budget_usd)

    @property
    def spent_usd(self) -> float:
        """US dollars spent so far; a request of unknown cost counts with its maximum cost."""
        return self._budget.spent_usd

    @property
    def name(self) -> str:
        """The model id, or the type of a local model."""
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    @property
    def fingerprint(self) -> str:
        """Identity of the model: its id, or for a local model a hash of a vector."""
        if isinstance(self.model, str):
            return self.model
        return hashlib.sha256(self.vectors(["a probe"]).tobytes()).hexdigest()

    def _asked(self, model: str, texts: list[str]) -> Vectors:
        """Look vectors up, or ask the model behind an API for them, batch by batch."""
        read_environment()
        settings = Settings(
            model,
            timeout=self.timeout,
            api_base=self.api_base,
            max_attempts=self.max_attempts,
            max_concurrency=self.max_concurrency,
            retry_wait=self.retry_wait,
            budget_usd=self.budget_usd,
        )
        check_model(settings, otherwise="method='bm25' needs no model")
        cache = self.cache if isinstance(self.cache, JudgeCache) else None
        cache = judge_cache if self.cache is True else cache
        turns = asyncio.Semaphore(self.max_concurrency)

        async def batch(part: list[str]) -> Vectors:
            document = {"kind": "embedding", "model": model, "input": part}
            known = None if cache is None else _cached(cache, document, len(part))
            if known is not None:
                return known
            async with turns:
                found = _checked(await _answer(part, settings, self._budget), len(part), model)
            if cache is not None:
                try:
                    cache.put(Entry(document, _written(found)), replace=True)
                except OutputError as error:  # the vectors are used, but not cached
                    warned = f"embeddings are not cached: {error}"
                    warnings.warn(warned, RuntimeWarning, stacklevel=2)
            return found

        async def batches() -> list[Vectors]:
            return await asyncio.gather(
                *(batch(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH))
            )

        try:
            parts = run_anywhere(BACKGROUND.run(batches()))
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


async def _answer(texts: list[str], settings: Settings, budget: Budget) -> list[Any]:
    """Ask for vectors within the budget, again after transient errors."""
    contents = tuple({"content": text} for text in texts)
    # a vector has no tokens; one token stands for it in the maximum cost
    bounded = ModelRequest(settings.model, contents, None, 1, settings.timeout, None, None, False)
    attempt = 0
    while True:
        attempt += 1
        try:
            async with budget.reserve(bounded) as reserved:
                vectors, cost = await _request(texts, settings)
                reserved.charged = cost or reserved.most
                return vectors
        except Failure as failure:
            if not failure.transient or attempt == settings.max_attempts:
                raise
            pause = pause_after(attempt, failure, settings.retry_wait)
        await asyncio.sleep(pause)


async def _request(texts: list[str], settings: Settings) -> tuple[list[Any], float | None]:
    """Make one request, watched like those of judges: vectors and their cost, or a `Failure`."""
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
        with client_errors():
            environment = litellm().validate_environment(settings.model)
        if not environment["keys_in_environment"]:
            arguments["api_key"] = _NO_KEY
    exchange = Exchange()

    async def plain() -> Any:
        return await litellm().aembedding(**(arguments | {"input": ["-"]}))

    failure: Exception  # raised below, without a context that may quote a key
    before = EXCHANGE.set(exchange)
    try:
        async with asyncio.timeout(settings.timeout):
            response = await litellm().aembedding(**arguments)
        rows = sorted(response.data, key=lambda row: row["index"])
        cost = response._hidden_params.get("response_cost")
        return [row["embedding"] for row in rows], cost
    except TimeoutError:
        late = f"no answer within {settings.timeout:g} s"
        failure = Failure("timeout", late, transient=True, billed=exchange.sent)
    except Exception as error:  # noqa: BLE001 - LiteLLM raises whatever its providers do
        failure = await failure_in(error, exchange, plain)
    finally:
        EXCHANGE.reset(before)
    raise failure


def _written(vectors: Vectors) -> str:
    rows, width = vectors.shape
    data = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
    return json.dumps({"shape": [rows, width], "float32": data})
