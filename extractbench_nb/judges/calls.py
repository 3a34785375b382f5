"""Questions to a model until there is an answer: cache, attempts, corrections, the budget.

A question goes from `LLMJudge` and `LLM.answer` to `CallQueue.answer`, which looks it up or asks
(`_ask`, `say`), and from there to `client.complete`, which makes one request. A `CallQueue` runs on
the event loop of `client.BACKGROUND`. Within a `Budget`, each request first reserves the most that
it can cost.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from extractbench_nb.core.text import JudgeCall, JudgeError, Question
from extractbench_nb.errors import OutputError, UnavailableError
from extractbench_nb.judges.cache import Entry, JudgeCache, request_key
from extractbench_nb.judges.call_failures import LONGEST_WAIT, Failure, scrub
from extractbench_nb.judges.client import (
    Completion,
    ModelRequest,
    Shared,
    complete,
    list_price,
    model_info,
)
from extractbench_nb.judges.environment import KEYS_OF_FILES
from extractbench_nb.judges.prompts import Unparsable, ask_again
from extractbench_nb.support.token_counts import count_tokens

#: Tokenizers of smaller vocabularies split words more often: twice GPT-2's count bounds those in
#: use, but for digits, which some of them read one by one.
_MARGIN = 2
#: Tokens around a message, and of the instructions that providers add for a schema.
_PER_REQUEST, _PER_MESSAGE, _PER_SCHEMA = 50, 20, 600


def highest_cost(request: ModelRequest) -> float:
    """Bound what a request can cost: its own tokens, and an answer of the maximum length."""
    info, model = model_info(request.model), request.model
    longest = request.max_tokens or info.get("max_output_tokens") or info.get("max_tokens")
    if not longest:
        raise Failure("budget", f"the longest answer of {model!r} is not known; set max_tokens")
    tokens = _PER_REQUEST + _PER_MESSAGE * len(request.messages) + request.file_tokens
    texts = []
    for content in (message["content"] for message in request.messages):
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts += [part["text"] for part in parts if part.get("type") == "text"]
    if request.schema is not None:
        tokens += _PER_SCHEMA
        texts.append(json.dumps(request.schema))
    cost = list_price(model, tokens + sum(map(most_tokens, texts)), int(longest))
    if cost is None:
        raise Failure("budget", f"LiteLLM has no price for {model!r}")
    return cost


def most_tokens(text: str) -> int:
    """Bound the number of tokens of a text, whatever the tokenizer."""
    count, digits = count_tokens(text), sum(map(str.isdigit, text))
    most = max(_MARGIN * count, count + digits)
    return min(most, len(text.encode("utf-8", "surrogatepass")))


@dataclass(eq=False)
class Reservation:
    """The maximum cost of one request, and what it is charged when it ends."""

    most: float
    charged: float = 0.0


class Budget:
    """The limit and the money spent, in US dollars, and what requests in progress may cost.

    An answer or a broken request of unknown cost counts with its maximum cost.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent_usd = 0.0
        self._held: list[Reservation] = []
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, request: ModelRequest) -> AsyncIterator[Reservation]:
        """Reserve the maximum cost of a request until it ends; wait for others if necessary."""
        most = 0.0
        if self.limit is not None:
            most = await asyncio.to_thread(highest_cost, request)
        held = Reservation(most)
        async with self._returned:
            await self._returned.wait_for(lambda: self._fits(most) is not None)
            if not self._fits(most):
                advice = "" if request.max_tokens else "; set max_tokens to reduce that"
                raise Failure(
                    "budget",
                    f"{self.spent_usd:.6g} of {self.limit:.6g} US dollars are spent, and the next "
                    f"request may cost up to {most:.6g}{advice}",
                )
            self._held.append(held)
        try:
            yield held
        except BaseException as error:
            unsent = isinstance(error, UnavailableError)
            if not unsent and getattr(error, "billed", True):  # cancelled: the provider goes on
                held.charged = held.charged or most
            raise
        finally:
            self._held.remove(held)
            self.spent_usd += held.charged
            async with self._returned:
                self._returned.notify_all()

    def _fits(self, most: float) -> bool | None:
        """Whether `most` dollars are left; None if that depends on requests in progress."""
        held = sum(one.most for one in self._held)
        if self.limit is None or self.spent_usd + held + most <= self.limit:
            return True
        return False if self.spent_usd + most > self.limit else None


#: What is added up over the answers to a question.
_COUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")
#: After one of these failures a model is not asked again: the key or the address is wrong.
_HOPELESS = ("bad_key", "not_found", "redirect")


@dataclass(frozen=True)
class Asked:
    """One question to a model: its request, and how the answer is read.

    `read` takes the text of an answer and returns what it says, or raises `Unparsable`. `sample`:
    which of several answers to the same question. `question`: the field that it is about, if any.
    """

    request: ModelRequest
    read: Callable[[str | None], Any]
    sample: int = 0
    question: Question | None = None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The part of the question that decides the answer, and that the answer is cached by."""
        request = self.request
        return {
            "model": request.model,
            "messages": list(request.messages),
            "temperature": float(request.temperature or 0),
            "max_tokens": request.max_tokens,
            "schema": dict(request.schema or {}),
            "sample": self.sample,
        }

    @cached_property
    def key(self) -> str:
        """The cache key."""
        return request_key(self.document)

    def is_readable(self, answer: str) -> bool:
        """Whether a cached answer can be read."""
        try:
            self.read(answer)
        except Unparsable:
            return False
        return True


class CallQueue:
    """The calls of one `LLM` in one process."""

    def __init__(self, llm: Any) -> None:  # an LLM, whose module imports this one
        self._llm = llm
        self.budget = Budget(llm.budget_usd)
        #: Models that are not asked again, and models whose keys were checked.
        self.hopeless: dict[str, Failure] = {}
        self.checked: set[str] = set()
        self.turns = asyncio.Semaphore(llm.max_concurrency)

    async def answer(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read: in the cache, in a call under way, or by asking."""
        begun, cache = time.perf_counter(), self._llm.cache
        if cache is None:
            async with self.turns:
                return await self._ask(asked)

        def free(answer: str | None) -> JudgeCall:
            seconds, model = time.perf_counter() - begun, asked.request.model
            return JudgeCall(model, latency_seconds=seconds, answer=answer, **_FREE)

        async def ask() -> tuple[JudgeCall | JudgeError, CallQueue]:
            async with self.turns:
                stored = _stored(cache, asked)  # another process may have been faster
                if stored is not None and asked.is_readable(stored.answer):
                    return free(stored.answer), self
                try:
                    call = await self._ask(asked)
                except JudgeError as error:
                    return error, self
                answer = _store(cache, asked, call, replace=stored is not None)
                return call._replace(answer=answer), self

        stored = _stored(cache, asked)
        if stored is not None and asked.is_readable(stored.answer):
            return free(stored.answer)
        while True:
            (outcome, queue), joined = await _SHARED.get((cache.path, asked.key), ask)
            if isinstance(outcome, JudgeCall):
                return free(outcome.answer) if joined else outcome
            if queue is self:  # answers are shared between queues, failures are not
                (call,) = outcome.calls
                call = call._replace(**_FREE) if joined else call
                raise JudgeError(outcome.problem, (call,), outcome.reason)

    async def _ask(self, asked: Asked) -> JudgeCall:
        """Ask the model, and once more if its answer cannot be read."""
        begun, attempts, answers = time.perf_counter(), 0, list[Completion]()

        def count() -> None:
            nonlocal attempts
            attempts += 1

        def call(error: str | None = None) -> JudgeCall:
            text = answers[-1].text if answers else None
            counts = {name: [getattr(one, name) for one in answers] for name in _COUNTS}
            sums: dict[str, Any] = {
                name: sum(values) if values and None not in values else None
                for name, values in counts.items()
            }
            return JudgeCall(
                asked.request.model,
                attempts=attempts,
                latency_seconds=time.perf_counter() - begun,
                answer=None if text is None else scrub(text),
                error=error,
                **sums,
            )

        request = asked.request
        try:
            while True:
                answer = await self.say(request, count)
                answers.append(answer)
                try:
                    asked.read(answer.text)
                    return call()
                except Unparsable as error:
                    limit = f"; it was cut off at max_tokens={request.max_tokens}"
                    reason = "unparsable" if answer.text and answer.text.strip() else "empty"
                    problem = Failure(reason, f"{error}{limit if answer.cut_off else ''}")
                if len(answers) > 1:
                    raise problem
                again = ask_again(asked.request.messages, answer.text, problem.problem)
                request = request._replace(messages=again)
        except Failure as failure:
            many = f" (after {attempts} requests)" if attempts > 1 else ""
            text = f"{request.model}: {failure}{many}"
            raise JudgeError(text, (call(str(failure)),), failure.reason) from None

    async def say(self, request: ModelRequest, count: Callable[[], None]) -> Completion:
        """Make a request within the budget, again after transient errors; `count` each attempt."""
        model, attempt = request.model, 0
        while True:
            attempt += 1
            try:
                self._refuse(model)
                async with self.budget.reserve(request) as reserved:
                    self._refuse(model)  # another request may have failed while this one waited
                    count()
                    completion = await complete(request)
                    # an answer of unknown cost is charged the whole reservation
                    reserved.charged = completion.cost_usd or reserved.most
                    return completion
            except Failure as error:
                failure = error
            if failure.reason in _HOPELESS:
                if failure.reason == "bad_key":
                    name = f"{model.partition('/')[0].upper()}_API_KEY"
                    source = name if name in {*os.environ, *KEYS_OF_FILES} else "the environment"
                    failure.problem = f"the key in {source} was refused: {failure.problem}"
                raise self.hopeless.setdefault(model, failure)
            if not failure.transient or attempt == self._llm.max_attempts:
                raise failure
            await asyncio.sleep(pause_after(attempt, failure, self._llm.retry_wait))

    def _refuse(self, model: str) -> None:
        """Stop asking a model whose failure every further request would repeat."""
        if failure := self.hopeless.get(model):
            raise Failure(failure.reason, failure.problem)


def _stored(cache: JudgeCache, asked: Asked) -> Entry | None:
    try:
        return cache.get(asked.key)
    except OutputError as error:
        warnings.warn(f"cached answers are not used: {error}", RuntimeWarning, stacklevel=2)
        return None


def _store(cache: JudgeCache, asked: Asked, call: JudgeCall, *, replace: bool) -> str:
    """Store an answer; return the stored one, which may be that of a faster process."""
    counts = [getattr(call, name) for name in _COUNTS]
    entry = Entry(asked.key, asked.document, call.answer or "", *counts)
    try:
        if not cache.store([entry], replace=replace):
            entry = cache.get(asked.key) or entry
            cache.store([entry], replace=True)  # what is stored may be damaged
    except OutputError as error:  # the answer is used, but not cached
        warnings.warn(f"answers are not cached: {error}", RuntimeWarning, stacklevel=2)
    return entry.answer


#: Questions in progress: equal ones are asked once, also for several queues.
_SHARED: Shared[tuple[JudgeCall | JudgeError, CallQueue]] = Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHARED.forget)

#: What the call of an available answer says: no request was made.
_FREE: Mapping[str, Any] = {
    "cached": True,
    "attempts": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost_usd": 0.0,
}


def pause_after(attempt: int, failure: Failure, retry_wait: float) -> float:
    """Return the seconds before the next attempt: exponential with jitter, or what is asked for."""
    doubled = min(retry_wait * 2.0 ** min(attempt - 1, 60), LONGEST_WAIT)
    return max(doubled + random.uniform(0, retry_wait), failure.retry_after)
