"""Requests to a model until there is an answer: attempts, corrections, the budget.

The code here runs on the event loop of `background.BACKGROUND`, with one `CallQueue` per judge and
process.
"""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from extractbench_nb.errors import OutputError
from extractbench_nb.judges.background import Shared
from extractbench_nb.judges.base import (
    JudgeCall,
    JudgeError,
    Question,
    Verdict,
    gather_verdicts,
    pass_mark,
    take_vote,
)
from extractbench_nb.judges.budget import Budget
from extractbench_nb.judges.cache import Entry, JudgeCache, request_key
from extractbench_nb.judges.client import Completion, ModelRequest, complete
from extractbench_nb.judges.prompts import (
    ANSWER_SCHEMA,
    Message,
    Unparsable,
    ask_again,
    judge_messages,
    read_answer,
)
from extractbench_nb.judges.settings import Settings, name_of_key
from extractbench_nb.judges.transport import LONGEST_WAIT, Failure, scrub

if TYPE_CHECKING:
    from tenacity import AsyncRetrying

__all__ = [
    "Answerer",
    "Asked",
    "CallQueue",
    "Counter",
    "ask_anything",
    "is_readable",
    "judge_values",
]


#: After one of these a model is not asked again: the key or the address is wrong.
_HOPELESS = ("bad_key", "not_found", "redirect")

#: Questions under way, with the desk that asks: an answer is everybody's, a failure its own.
_SHARED: Shared[tuple[Entry | JudgeError, bool, CallQueue]] = Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHARED.forget)


@dataclass(frozen=True)
class Asked:
    """What is asked, of whom, and how the answer is read.

    Parameters
    ----------
    settings : Settings
        Model and parameters.
    messages : tuple of dict
        The question.
    read : callable
        Takes the text of an answer, returns what it says or raises `Unparsable`.
    schema : mapping
        JSON Schema of the answer, for models that can be held to one.
    strict : bool
        Whether the schema is one of ours, which providers accept as strict.
    sample : int
        Which of several answers to the same question.
    """

    settings: Settings
    messages: tuple[Message, ...]
    read: Callable[[str | None], Any]
    schema: Mapping[str, Any]
    strict: bool = True
    sample: int = 0

    @cached_property
    def document(self) -> dict[str, Any]:
        """What the answer is kept by: all that decides it; no waiting times, limits, addresses."""
        return {
            "model": self.settings.model,
            "messages": list(self.messages),
            "temperature": float(self.settings.temperature),
            "max_tokens": self.settings.max_tokens,
            "schema": dict(self.schema),
            "sample": self.sample,
        }

    def request(self, messages: tuple[Message, ...]) -> ModelRequest:
        """Return the request for these messages."""
        return ModelRequest(
            self.settings.model,
            messages,
            self.settings.temperature,
            self.settings.max_tokens,
            self.settings.timeout,
            self.settings.api_base,
            self.schema,
            self.strict,
        )

    def problem(self, said: Completion) -> Failure | None:
        """Say why an answer is of no use, or return None."""
        try:
            self.read(said.text)
        except Unparsable as error:
            limit = f"; it was cut off at max_tokens={self.settings.max_tokens}"
            reason = "unparsable" if said.text and said.text.strip() else "empty"
            return Failure(reason, f"{error}{limit if said.cut_off else ''}")
        return None


class Counter(Protocol):
    """What is told of each attempt."""

    def attempt(self) -> None:
        """Count one that begins."""


_COUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")


class _Tally:
    """What one question has taken so far."""

    def __init__(self, model: str) -> None:
        self.call = JudgeCall(model)
        self._begun = time.perf_counter()
        self._is_first = True

    def attempt(self) -> None:
        self.call = self.call._replace(attempts=self.call.attempts + 1)

    def add(self, said: Completion) -> None:
        """Add an answer; what one of several does not tell is not known of all."""
        found = {name: getattr(said, name) for name in _COUNTS}
        if not self._is_first:
            found = {name: _sum(getattr(self.call, name), more) for name, more in found.items()}
        self._is_first = False
        answer = None if said.text is None else scrub(said.text)
        self.call = self.call._replace(**found, answer=answer)

    def stop(self) -> JudgeCall:
        self.call = self.call._replace(latency_seconds=time.perf_counter() - self._begun)
        return self.call


class CallQueue:
    """Where the questions of one judge in one process wait for their turn.

    Parameters
    ----------
    settings : Settings
        The judge's.
    cache : JudgeCache or None
        Where answers are kept.
    """

    def __init__(self, settings: Settings, cache: JudgeCache | None) -> None:
        self.budget = Budget(settings.budget_usd)
        self.hopeless: dict[str, Failure] = {}
        self._cache = cache
        self._settings = settings
        self._turns = asyncio.Semaphore(settings.max_concurrency)

    @property
    def spent_usd(self) -> float:
        """What its requests cost so far."""
        return self.budget.spent_usd

    async def answer(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read: in the cache, in a call under way, or by asking."""
        tally = _Tally(asked.settings.model)
        found, at_hand = await self._found(asked, tally)
        if isinstance(found, JudgeError):
            call = found.calls[0]._replace(**_FREE) if at_hand else found.calls[0]
            raise JudgeError(found.problem, (call,), found.reason)
        if at_hand:
            return tally.stop()._replace(**_FREE, answer=found.answer)
        return tally.call._replace(answer=found.answer)

    async def _found(self, asked: Asked, tally: _Tally) -> tuple[Entry | JudgeError, bool]:
        cache = self._cache
        if cache is None:
            async with self._turns:
                return await self._ask(asked, tally), False
        key = request_key(asked.document)
        kept = _kept(cache, key)
        if kept is not None and is_readable(kept, asked):
            return kept, True

        async def ask() -> tuple[Entry | JudgeError, bool, CallQueue]:
            async with self._turns, cache.claimed(key, asked.settings.timeout):
                theirs = _kept(cache, key)  # another process may have been faster
                if theirs is not None and is_readable(theirs, asked):
                    return theirs, True, self
                found = await self._ask(asked, tally)
                if not isinstance(found, JudgeError):
                    found = _keep(cache, found, kept is not None)
                return found, False, self

        while True:
            (found, at_hand, queue), begun = await _SHARED.get((cache.path, key), ask)
            if queue is self or not isinstance(found, JudgeError):
                return found, at_hand or begun

    async def _ask(self, asked: Asked, tally: _Tally) -> Entry | JudgeError:
        try:
            await self._converse(asked, tally)
        except Failure as failure:
            call = tally.stop()._replace(error=str(failure))
            many = f" (after {call.attempts} requests)" if call.attempts > 1 else ""
            return JudgeError(f"{call.model}: {failure}{many}", (call,), failure.reason)
        call = tally.stop()
        counts = (call.prompt_tokens, call.completion_tokens, call.cost_usd)
        return Entry(asked.document, call.answer or "", *counts)

    async def _converse(self, asked: Asked, tally: _Tally) -> None:
        """Ask; where the answer cannot be read, once more."""
        said = await self._say(asked, asked.messages, tally)
        problem = asked.problem(said)
        if problem is not None:
            again = ask_again(asked.messages, said.text, problem.problem)
            problem = asked.problem(await self._say(asked, again, tally))
        if problem is not None:
            raise problem

    async def _say(self, asked: Asked, messages: tuple[Message, ...], tally: _Tally) -> Completion:
        """Get an answer, whatever it says, in as many attempts as the judge allows."""
        said = await self.say(asked.request(messages), tally)
        tally.add(said)
        return said

    async def say(self, request: ModelRequest, tally: Counter) -> Completion:
        """Make a request, again while trouble is passing, within the budget; no turn is taken."""
        said: Completion = await _attempts(self._settings)(self._attempt, request, tally)
        return said

    async def _attempt(self, request: ModelRequest, tally: Counter) -> Completion:
        self._refuse(request.model)
        try:
            async with self.budget.reserve(request) as reserved:
                self._refuse(request.model)  # others may have found out while this one waited
                tally.attempt()
                said = await complete(request)
                reserved.charge(said)
                return said
        except Failure as failure:
            found = failure
        if found.reason == "bad_key" and request.model not in self.hopeless:
            found = found.blame(name_of_key(request.model))
        if found.reason in _HOPELESS:
            found = self.hopeless.setdefault(request.model, found)
        raise found

    def _refuse(self, model: str) -> None:
        """Stop asking a model whose failure every further request would repeat."""
        if model in self.hopeless:
            known = self.hopeless[model]
            raise Failure(known.reason, known.problem)


#: How the call of an answer that was at hand differs: nothing was asked for it.
_FREE: Mapping[str, Any] = {
    "cached": True,
    "attempts": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost_usd": 0.0,
}


def _attempts(settings: Settings) -> AsyncRetrying:
    """Return what calls again while a failure is transient, ever later."""
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt
    from tenacity.wait import wait_exponential, wait_random

    pause = settings.retry_wait
    backoff = wait_exponential(pause, LONGEST_WAIT) + wait_random(0, pause)

    def wait(state: Any) -> float:
        return max(backoff(state), float(state.outcome.exception().retry_after))

    return AsyncRetrying(
        stop=stop_after_attempt(settings.max_attempts),
        wait=wait,
        retry=retry_if_exception(lambda error: isinstance(error, Failure) and error.transient),
        reraise=True,
    )


def _kept(cache: JudgeCache, key: str) -> Entry | None:
    """Look an answer up; where that fails it is asked for."""
    try:
        return cache.get(key)
    except OutputError as error:
        warnings.warn(f"answers are not looked up: {error}", RuntimeWarning, stacklevel=2)
        return None


def _keep(cache: JudgeCache, entry: Entry, anew: bool) -> Entry:
    """Keep an answer; where that fails it holds all the same, and will be asked for again."""
    try:
        return cache.put(entry, replace=anew)
    except OutputError as error:
        warnings.warn(f"answers are not kept: {error}", RuntimeWarning, stacklevel=2)
        return entry


def is_readable(entry: Entry, asked: Asked) -> bool:
    """Whether a kept answer says what was asked for."""
    try:
        asked.read(entry.answer)
    except Unparsable:
        return False
    return True


def _sum(total: Any, more: Any) -> Any:
    return None if total is None or more is None else total + more


T = TypeVar("T")

#: Finds an answer that can be read, or raises `JudgeError`.
Answerer = Callable[[Asked], Awaitable[JudgeCall]]

_REASON = "judged"


async def judge_values(
    settings: Settings, question: Question, answer: Answerer, sample: int | None = None
) -> Verdict:
    """Judge the two values of a field."""
    if sample is not None or settings.n == 1:
        return await _one(settings, question, answer, sample or 0)
    found = await gather_verdicts(
        _one(settings, question, answer, nth) for nth in range(settings.n)
    )
    for result in found:
        if isinstance(result, Exception) and not isinstance(result, JudgeError):
            raise result  # it cannot be asked at all
    names = [f"answer {nth}" for nth in range(1, settings.n + 1)]
    return take_vote(list(zip(names, found, strict=True)), settings.vote, pass_mark(question))


async def _one(settings: Settings, question: Question, answer: Answerer, sample: int) -> Verdict:
    field = settings.for_field(question.params)
    schema = ANSWER_SCHEMA if field.schema is None else field.schema
    try:
        messages = judge_messages(
            question,
            schema=schema,
            template=field.template,
            instructions=field.settings.additional_instructions,
        )
    except RecursionError:
        raise JudgeError("the values are nested too deep", reason="too_deep") from None
    read = partial(read_answer, schema=field.schema)
    asked = Asked(field.settings, messages, read, schema, field.schema is None, sample)
    call = await answer(asked)
    score, reasoning = read(call.answer)
    return Verdict(score, _REASON, reasoning, (call._replace(score=score),))


async def ask_anything(  # noqa: PLR0913 - what is asked, and who answers
    settings: Settings,
    messages: Sequence[Message],
    read: Callable[[str | None], T],
    schema: Mapping[str, Any],
    answer: Answerer,
    *,
    params: Mapping[str, Any],
    sample: int,
) -> tuple[T, JudgeCall]:
    """Put any messages to a model."""
    own = settings.for_field(params).settings
    call = await answer(Asked(own, tuple(messages), read, schema, True, sample))
    return read(call.answer), call
