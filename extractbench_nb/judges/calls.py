"""Questions to a model until there is an answer: cache, attempts, corrections, the budget.

A question goes from `ModelJudge.ask` through the judge's `_answer` to `CallQueue.answer`, which
looks it up or asks (`_ask`, `say`), and from there to `client.complete`, which makes one request.
`CallQueue` runs on the event loop of `background.BACKGROUND`, one per judge and process.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

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

_NO_PARAMS: Mapping[str, Any] = {}

#: After one of these a model is not asked again: the key or the address is wrong.
_HOPELESS = ("bad_key", "not_found", "redirect")


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
    question : Question or None
        What it is about, where that is one field.
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
        """What the answer is kept by: all that decides it; no waiting times, limits, addresses."""
        return {
            "model": self.settings.model,
            "messages": list(self.messages),
            "temperature": float(self.settings.temperature),
            "max_tokens": self.settings.max_tokens,
            "schema": dict(self.schema),
            "sample": self.sample,
        }

    def is_readable(self, entry: Entry) -> bool:
        """Whether a kept answer says what was asked for."""
        try:
            self.read(entry.answer)
        except Unparsable:
            return False
        return True


class ModelJudge:
    """What judges have in common whose verdicts are answers of a model, made now or recorded."""

    _settings: Settings

    async def _answer(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read, or raise `JudgeError`."""
        raise NotImplementedError

    def check(self, params: Mapping[str, Any] = _NO_PARAMS) -> None:
        """Raise `ConfigError` where the params of a field cannot be used."""
        self.settings_for(params)

    def settings_for(self, params: Mapping[str, Any] = _NO_PARAMS) -> Settings:
        """Return what holds for a field.

        Parameters
        ----------
        params : mapping, optional
            The params of the field.

        Returns
        -------
        Settings
            The judge's own, with the params applied.

        Raises
        ------
        ConfigError
            A param cannot be used.
        """
        return self._settings.for_field(params)

    async def ask(self, question: Question, *, sample: int | None = None) -> Verdict:
        """Judge the two values of a field.

        Parameters
        ----------
        question : Question
            The values, and what the schema says of the field.
        sample : int, optional
            Which of several answers to the same question, each kept for itself; from 0 on. By
            default the vote over `n` of them.

        Returns
        -------
        Verdict
            The model's score and reasoning, the reason ``judged``, and the call behind them; of
            several answers the vote, what each said, and all calls.

        Raises
        ------
        JudgeError
            There is no answer that can be read, or nothing left to spend; tells what was tried. Of
            several answers: those that are missing decide whether the vote passes.
        InputError, ConfigError
            See `check`.
        """
        settings = self.settings_for(question.params)
        own = question.params.get("structured_output_schema")
        schema = ANSWER_SCHEMA if own is None else own
        try:
            messages = judge_messages(
                question,
                schema=schema,
                template=question.params.get("prompt_template"),
                instructions=settings.additional_instructions,
            )
        except RecursionError:
            raise JudgeError("the values are nested too deep", reason="too_deep") from None
        read = partial(read_answer, schema=own)

        async def judged(nth: int) -> Verdict:
            asked = Asked(settings, messages, read, schema, own is None, nth, question)
            call = await self._answer(asked)
            score, reasoning = read(call.answer)
            return Verdict(score, "judged", reasoning, (call._replace(score=score),))

        if sample is not None or settings.n == 1:
            return await judged(sample or 0)
        found = await gather_verdicts(judged(nth) for nth in range(settings.n))
        for result in found:
            if isinstance(result, Exception) and not isinstance(result, JudgeError):
                raise result  # it cannot be asked at all
        names = [f"answer {nth}" for nth in range(1, settings.n + 1)]
        return take_vote(list(zip(names, found, strict=True)), settings.vote, pass_mark(question))

    async def compare(self, gold: str, predicted: str) -> Verdict:
        """Judge one pair of texts, of which nothing else is known.

        Parameters
        ----------
        gold, predicted : str
            The two texts; any string is allowed.

        Returns
        -------
        Verdict
            As from `ask`.
        """
        return await self.ask(Question(gold, predicted))

    async def answer(
        self,
        messages: Sequence[Message],
        read: Callable[[str | None], Any],
        schema: Mapping[str, Any],
        *,
        params: Mapping[str, Any] = _NO_PARAMS,
        sample: int = 0,
    ) -> tuple[Any, JudgeCall]:
        """Ask the model any question, with the cache, limits, retries and budget of `ask`.

        Parameters
        ----------
        messages : sequence of dict
            ``role`` and ``content`` of each; without lone surrogates.
        read : callable
            Parses the text of an answer, or raises `Unparsable`; the model is then asked again.
        schema : mapping
            JSON Schema of the answer.
        params : mapping, optional
            Params of a field.
        sample : int, optional
            Which of several answers to the same question.

        Returns
        -------
        tuple of (object, JudgeCall)
            What `read` returned, and the call.

        Raises
        ------
        JudgeError
            See `ask`.
        """
        settings = self.settings_for(params)
        call = await self._answer(Asked(settings, tuple(messages), read, schema, True, sample))
        return read(call.answer), call


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
        kept = _kept(cache, key)
        if kept is not None and asked.is_readable(kept):
            return _at_hand(asked, kept.answer, begun)

        async def ask() -> tuple[JudgeCall | JudgeError, CallQueue]:
            async with self._turns, cache.claimed(key, timeout_s=asked.settings.timeout):
                theirs = _kept(cache, key)  # another process may have been faster
                if theirs is not None and asked.is_readable(theirs):
                    return _at_hand(asked, theirs.answer, begun), self
                try:
                    call = await self._ask(asked)
                except JudgeError as error:
                    return error, self
                counts = (call.prompt_tokens, call.completion_tokens, call.cost_usd)
                entry = Entry(asked.document, call.answer or "", *counts)
                try:
                    entry = cache.put(entry, replace=kept is not None)
                except OutputError as error:  # it holds all the same, and will be asked for again
                    warnings.warn(f"answers are not kept: {error}", RuntimeWarning, stacklevel=2)
                return call._replace(answer=entry.answer), self

        while True:
            (found, queue), joined = await _SHARED.get((cache.path, key), ask)
            if isinstance(found, JudgeCall):
                return _at_hand(asked, found.answer, begun) if joined else found
            if queue is self:  # an answer is everybody's, a failure each judge's own
                call = found.calls[0]._replace(**_FREE) if joined else found.calls[0]
                raise JudgeError(found.problem, (call,), found.reason)

    async def _ask(self, asked: Asked) -> JudgeCall:
        """Ask the model; where its answer cannot be read, once more."""
        begun, attempts, answers = time.perf_counter(), 0, list[Completion]()

        def count() -> None:
            nonlocal attempts
            attempts += 1

        def call(**more: Any) -> JudgeCall:
            said = None if not answers or answers[-1].text is None else scrub(answers[-1].text)
            sums = {name: _sum([getattr(one, name) for one in answers]) for name in _COUNTS}
            seconds = time.perf_counter() - begun
            told = {"latency_seconds": seconds, "answer": said, **sums, **more}
            return JudgeCall(asked.settings.model, attempts=attempts, **told)

        messages = asked.messages
        try:
            while True:
                said = await self.say(_request(asked, messages), count)
                answers.append(said)
                try:
                    asked.read(said.text)
                except Unparsable as error:
                    limit = f"; it was cut off at max_tokens={asked.settings.max_tokens}"
                    reason = "unparsable" if said.text and said.text.strip() else "empty"
                    problem = Failure(reason, f"{error}{limit if said.cut_off else ''}")
                else:
                    return call()
                if len(answers) > 1:
                    raise problem
                messages = ask_again(asked.messages, said.text, problem.problem)
        except Failure as failure:
            many = f" (after {attempts} requests)" if attempts > 1 else ""
            text = f"{asked.settings.model}: {failure}{many}"
            raise JudgeError(text, (call(error=str(failure)),), failure.reason) from None

    async def say(self, request: ModelRequest, count: Callable[[], None]) -> Completion:
        """Make a request, again while trouble is passing, within the budget; no turn is taken.

        Each attempt that begins is counted by `count`.
        """
        model, attempt = request.model, 0
        while True:
            attempt += 1
            try:
                self._refuse(model)
                async with self.budget.reserve(request) as reserved:
                    self._refuse(model)  # others may have found out while this one waited
                    count()
                    said = await complete(request)
                    reserved.charge(said)
                    return said
            except Failure as failure:
                found = failure
            if found.reason in _HOPELESS:
                if found.reason == "bad_key" and model not in self.hopeless:
                    found = found.blame(name_of_key(model))
                raise self.hopeless.setdefault(model, found)
            if not found.transient or attempt == self._settings.max_attempts:
                raise found
            await asyncio.sleep(pause_after(attempt, found, self._settings.retry_wait))

    def _refuse(self, model: str) -> None:
        """Stop asking a model whose failure every further request would repeat."""
        if model in self.hopeless:
            known = self.hopeless[model]
            raise Failure(known.reason, known.problem)


#: Questions under way: equal ones are asked once, whoever asks.
_SHARED: Shared[tuple[JudgeCall | JudgeError, CallQueue]] = Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHARED.forget)

_COUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")
#: How the call of an answer that was at hand differs: nothing was asked for it.
_FREE: Mapping[str, Any] = {
    "cached": True,
    "attempts": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost_usd": 0.0,
}


def pause_after(attempt: int, failure: Failure, retry_wait: float) -> float:
    """Return the seconds before the next attempt: ever more, at random, or as the provider asks."""
    doubled = min(retry_wait * 2.0 ** min(attempt - 1, 60), LONGEST_WAIT)
    return max(doubled + random.uniform(0, retry_wait), failure.retry_after)


def _at_hand(asked: Asked, answer: str | None, begun: float) -> JudgeCall:
    seconds = time.perf_counter() - begun
    return JudgeCall(asked.settings.model, latency_seconds=seconds, answer=answer, **_FREE)


def _kept(cache: JudgeCache, key: str) -> Entry | None:
    """Look an answer up; where that fails it is asked for."""
    try:
        return cache.get(key)
    except OutputError as error:
        warnings.warn(f"answers are not looked up: {error}", RuntimeWarning, stacklevel=2)
        return None


def _request(asked: Asked, messages: tuple[Message, ...]) -> ModelRequest:
    settings = asked.settings
    return ModelRequest(
        settings.model,
        messages,
        settings.temperature,
        settings.max_tokens,
        settings.timeout,
        settings.api_base,
        asked.schema,
        asked.strict,
    )


def _sum(counts: list[Any]) -> Any:
    """Add up counts; what one of several answers does not tell is not known of all."""
    return sum(counts) if counts and None not in counts else None
