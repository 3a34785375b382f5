"""Questions to a model until there is an answer: cache, attempts, corrections, the budget.

A question goes from `ModelJudge.ask` (`judges.llm`) to `CallQueue.answer`, which looks it up or
asks (`_ask`, `say`), and from there to `client.complete`, which makes one request. `CallQueue` runs
on the event loop of `background.BACKGROUND`, one per judge and process. Within a `Budget`, each
request first reserves the most that it can cost.
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
from extractbench_nb.judges.cache import COUNTS, Entry, JudgeCache, keep, look_up, request_key
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
from extractbench_nb.judges.prompts import Message, Unparsable, ask_again
from extractbench_nb.judges.settings import Settings
from extractbench_nb.support.token_counts import count_tokens

#: Tokenizers of smaller vocabularies split words more often: twice GPT-2's count bounds those in
#: use, but for digits, which some of them read one by one.
_MARGIN = 2
#: Tokens around a message, and of the instructions that providers add for a schema.
_PER_REQUEST, _PER_MESSAGE, _PER_SCHEMA = 50, 20, 600


def highest_cost(request: ModelRequest) -> float:
    """Bound what a request can cost: its own tokens, and an answer of the maximum length."""
    longest = request.max_tokens
    if not longest:
        info = model_info(request.model)
        longest = info.get("max_output_tokens") or info.get("max_tokens")
    if not longest:
        raise Failure(
            "budget", f"the longest answer of {request.model!r} is not known; set max_tokens"
        )
    contents = [message["content"] for message in request.messages]
    texts = [content for content in contents if isinstance(content, str)]
    parts = [part for content in contents if not isinstance(content, str) for part in content]
    texts += [part["text"] for part in parts if part.get("type") == "text"]
    tokens = _PER_REQUEST + _PER_MESSAGE * len(request.messages) + request.file_tokens
    if request.schema is not None:
        tokens += _PER_SCHEMA
        texts.append(json.dumps(request.schema))
    cost = list_price(request.model, tokens + sum(map(most_tokens, texts)), int(longest))
    if cost is None:
        raise Failure("budget", f"LiteLLM has no price for {request.model!r}")
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
        except Failure as failure:
            if failure.billed:
                held.charged = most
            raise
        except UnavailableError:  # nothing was sent
            raise
        except BaseException:  # cancelled: the provider goes on
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


#: After one of these failures a model is not asked again: the key or the address is wrong.
_HOPELESS = ("bad_key", "not_found", "redirect")


@dataclass(frozen=True)
class Asked:
    """One question to a model: its settings, messages, and how the answer is read.

    `read` takes the text of an answer and returns what it says, or raises `Unparsable`. `strict`:
    the schema is one of ours, which providers accept as strict. `sample`: which of several answers
    to the same question. `question`: the field that it is about, where it is about one.
    """

    settings: Settings
    messages: tuple[Message, ...]
    read: Callable[[str | None], Any]
    schema: Mapping[str, Any]
    strict: bool = True
    sample: int = 0
    question: Question | None = None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The part of the question that decides the answer, and that the answer is cached by."""
        return {
            "model": self.settings.model,
            "messages": list(self.messages),
            "temperature": float(self.settings.temperature),
            "max_tokens": self.settings.max_tokens,
            "schema": dict(self.schema),
            "sample": self.sample,
        }

    def is_readable(self, entry: Entry) -> bool:
        """Whether a cached answer can be read."""
        try:
            self.read(entry.answer)
        except Unparsable:
            return False
        return True


class CallQueue:
    """The queue of one judge's questions in one process."""

    def __init__(self, settings: Settings, cache: JudgeCache | None) -> None:
        self.process = os.getpid()
        self.budget = Budget(settings.budget_usd)
        self.hopeless: dict[str, Failure] = {}
        self._cache = cache
        self._settings = settings
        self._turns = asyncio.Semaphore(settings.max_concurrency)

    async def answer(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read: in the cache, in a call under way, or by asking."""
        begun, cache = time.perf_counter(), self._cache
        if cache is None:
            async with self._turns:
                return await self._ask(asked)
        key = request_key(asked.document)
        cached = _cached(cache, key)
        if cached is not None and asked.is_readable(cached):
            return _free_call(asked, cached.answer, begun)

        async def ask() -> tuple[JudgeCall | JudgeError, CallQueue]:
            async with self._turns:
                theirs = _cached(cache, key)  # another process may have been faster
                if theirs is not None and asked.is_readable(theirs):
                    return _free_call(asked, theirs.answer, begun), self
                try:
                    call = await self._ask(asked)
                except JudgeError as error:
                    return error, self
                counts = [getattr(call, name) for name in COUNTS]
                entry = Entry(asked.document, call.answer or "", *counts)
                try:
                    entry = keep(cache, entry, replace=cached is not None)
                except OutputError as error:  # the answer is used, but not cached
                    warnings.warn(f"answers are not cached: {error}", RuntimeWarning, stacklevel=2)
                return call._replace(answer=entry.answer), self

        while True:
            (found, queue), joined = await _SHARED.get((cache.path, key), ask)
            if isinstance(found, JudgeCall):
                return _free_call(asked, found.answer, begun) if joined else found
            if queue is self:  # answers are shared between judges, failures are not
                call = found.calls[0]._replace(**_FREE) if joined else found.calls[0]
                raise JudgeError(found.problem, (call,), found.reason)

    async def _ask(self, asked: Asked) -> JudgeCall:
        """Ask the model, and once more if its answer cannot be read."""
        begun, attempts, answers = time.perf_counter(), 0, list[Completion]()

        def count() -> None:
            nonlocal attempts
            attempts += 1

        def call(**more: Any) -> JudgeCall:
            said = None if not answers or answers[-1].text is None else scrub(answers[-1].text)
            sums = {name: _sum([getattr(one, name) for one in answers]) for name in COUNTS}
            seconds = time.perf_counter() - begun
            details = {"latency_seconds": seconds, "answer": said, **sums, **more}
            return JudgeCall(asked.settings.model, attempts=attempts, **details)

        settings, messages = asked.settings, asked.messages
        limits = (settings.temperature, settings.max_tokens, settings.timeout, settings.api_base)
        try:
            while True:
                request = ModelRequest(
                    settings.model, messages, *limits, asked.schema, asked.strict
                )
                said = await self.say(request, count)
                answers.append(said)
                try:
                    asked.read(said.text)
                except Unparsable as error:
                    limit = f"; it was cut off at max_tokens={settings.max_tokens}"
                    reason = "unparsable" if said.text and said.text.strip() else "empty"
                    problem = Failure(reason, f"{error}{limit if said.cut_off else ''}")
                else:
                    return call()
                if len(answers) > 1:
                    raise problem
                messages = ask_again(asked.messages, said.text, problem.problem)
        except Failure as failure:
            many = f" (after {attempts} requests)" if attempts > 1 else ""
            text = f"{settings.model}: {failure}{many}"
            raise JudgeError(text, (call(error=str(failure)),), failure.reason) from None

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
            except Failure as failure:
                found = failure
            if found.reason in _HOPELESS:
                if found.reason == "bad_key" and model not in self.hopeless:
                    variable = f"{model.partition('/')[0].upper()}_API_KEY"
                    known = variable in os.environ or variable in KEYS_OF_FILES
                    source = variable if known else "the environment"
                    refused = f"the key in {source} was refused: {found.problem}"
                    found = Failure(found.reason, refused)
                raise self.hopeless.setdefault(model, found)
            if not found.transient or attempt == self._settings.max_attempts:
                raise found
            await asyncio.sleep(pause_after(attempt, found, self._settings.retry_wait))

    def _refuse(self, model: str) -> None:
        """Stop asking a model whose failure every further request would repeat."""
        if model in self.hopeless:
            failure = self.hopeless[model]
            raise Failure(failure.reason, failure.problem)


#: Questions in progress: equal ones are asked once, also for several judges.
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


def _free_call(asked: Asked, answer: str | None, begun: float) -> JudgeCall:
    seconds = time.perf_counter() - begun
    return JudgeCall(asked.settings.model, latency_seconds=seconds, answer=answer, **_FREE)


def _cached(cache: JudgeCache, key: str) -> Entry | None:
    """Look an answer up; an unreadable cache counts as empty."""
    try:
        return look_up(cache, key)
    except OutputError as error:
        warnings.warn(f"cached answers are not used: {error}", RuntimeWarning, stacklevel=2)
        return None


def _sum(counts: list[Any]) -> Any:
    """Add up counts; the sum is unknown if any of them is."""
    return sum(counts) if counts and None not in counts else None
