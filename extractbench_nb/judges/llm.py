"""`LLM`: a language model with the options of its client, and the queue of its calls.

A question goes to `CallQueue.answer`, which looks it up in the cache or asks, and from there to
`client.complete`, which makes one request. Within a `Budget`, each request first reserves the most
that it can cost. A queue runs on the event loop of `client.BACKGROUND`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from extractbench_nb.core.text import JudgeCall, JudgeError, Question
from extractbench_nb.errors import InputError, OutputError, UnavailableError, nearest
from extractbench_nb.judges.cache import Entry, JudgeCache, judge_cache, request_key
from extractbench_nb.judges.client import (
    LONGEST_WAIT,
    Completion,
    Failure,
    ModelRequest,
    complete,
    list_price,
    litellm,
    model_info,
)
from extractbench_nb.judges.environment import (
    KEYS_OF_FILES,
    MODEL_VARIABLE,
    read_environment,
    scrub,
)
from extractbench_nb.judges.prompts import Unparsable, ask_again
from extractbench_nb.support.token_counts import count_tokens

#: What each option may be, besides None where that is the default.
_TEXTS = {
    "model": (r"[!-~]+", "a LiteLLM model id such as 'openai/gpt-4o-mini'"),
    "api_base": (
        r"https?://[!->A-~]+",
        "an http(s) address without user, password and query (a key belongs in the environment)",
    ),
}
#: Whole numbers, 1 or more, and other numbers, 0 or more.
_COUNTS = ("max_tokens", "max_concurrency", "max_attempts")
_AMOUNTS = ("temperature", "timeout", "retry_wait", "budget_usd")


def check_number(name: str, value: object, least: float, *, whole: bool = False) -> None:
    """Raise an error unless a value is a number that is high enough."""
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not value >= least:
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name} is {value!r}; expected {kind}, {least} or more")


#: What the error message names when a judge has no key.
_OTHER_JUDGES = (
    f"Another model is named by judge=, or by {MODEL_VARIABLE}; judge='offline' needs none"
)


class Shown:
    """Base of dataclasses whose `repr` is a short call that makes them."""

    def __repr__(self) -> str:
        """Write the first option, and the others that differ from their defaults."""
        first, *others = fields(self)  # type: ignore[arg-type]
        values = {option.name: getattr(self, option.name) for option in others}
        named = [f"{o.name}={values[o.name]!r}" for o in others if values[o.name] != o.default]
        return f"{type(self).__name__}({', '.join([repr(getattr(self, first.name)), *named])})"


@dataclass(frozen=True, repr=False)
class LLM(Shown):
    """A language model, through LiteLLM, with the options of its client.

    ``judge=``, `LLMJudge`, `LLMAligner`, `extract` and `construct` take the id of a model, or an
    `LLM` with options. All calls that use one object share its limits.

    Parameters
    ----------
    model : str, optional
        A LiteLLM model id such as ``openai/gpt-4o-mini``. By default the value of
        ``DEFAULT_LLM_MODEL`` in the environment or in ``.env`` in the working directory, from which
        only this and keys are read; else ``vertex_ai/gemini-2.5-flash``.
    api_base : str, optional
        Address of the server, if it is not the provider's own. Such a server needs no key.
    temperature : float, optional
        By default 0 for judges, and the provider's for outputs. Models that reject it get none.
    max_tokens : int, optional
        Maximum number of tokens of one answer, hidden reasoning included; by default 2,048 for
        judges, and the provider's maximum for outputs.
    timeout : float, optional
        Seconds for one request; by default 60 for judges, and 600 for outputs.
    max_concurrency : int, optional
        Maximum number of concurrent requests, over all event loops and threads of a process.
    max_attempts : int, optional
        Maximum number of requests for one answer while errors are transient: rate limits,
        timeouts, server errors, broken connections.
    retry_wait : float, optional
        Seconds before the second attempt, doubled before each further one, plus a random wait of
        up to as long; longer if the provider asks for it.
    budget_usd : float, optional
        Maximum that all uses of this object may spend in this process, at LiteLLM's list prices.
        Each request first reserves its maximum cost, and is not made if less than that is left.
    cache : bool, str, pathlib.Path or JudgeCache, optional
        Where the answers of judges are cached: True for `judge_cache`, a folder, or False for no
        cache, so that equal questions are sent each time.

    Raises
    ------
    InputError
        The value of an option is not allowed.

    Examples
    --------
    >>> LLM("openai/gpt-4o-mini", temperature=0.5)
    LLM('openai/gpt-4o-mini', temperature=0.5)
    """

    model: str = field(default_factory=read_environment)
    _: KW_ONLY
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    max_concurrency: int = 8
    max_attempts: int = 5
    retry_wait: float = 1.0
    budget_usd: float | None = None
    cache: Any = judge_cache
    #: ``judge=`` takes it as it takes the id of a model.
    is_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Read keys, and check every value."""
        read_environment()
        cache = judge_cache if self.cache is True else self.cache
        if isinstance(cache, str | Path) and str(cache).strip():
            cache = JudgeCache(cache)
        object.__setattr__(self, "cache", None if cache is False else cache)
        self._check_values()

    def _check_values(self) -> None:
        for option in fields(self):
            name, value = option.name, getattr(self, option.name)
            if value is None and option.default is None:
                continue
            if name in _COUNTS:
                check_number(name, value, 1, whole=True)
            elif name in _AMOUNTS:
                check_number(name, value, 0)
            elif name == "cache":
                if value is not None and not isinstance(value, JudgeCache):
                    raise InputError(
                        f"cache is {value!r}; expected True, False, a folder or a JudgeCache"
                    )
            elif not isinstance(value, str) or not re.fullmatch(_TEXTS[name][0], value):
                hidden = name == "api_base" and isinstance(value, str)  # may contain a password
                shown = "not shown here" if hidden else repr(value)
                raise InputError(f"{name} is {shown}; expected {_TEXTS[name][1]}")

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the options only, without costs and calls in progress."""
        return {option.name: getattr(self, option.name) for option in fields(self)}

    @property
    def name(self) -> str:
        """Name shown in results: the id."""
        return self.model

    @property
    def spent_usd(self) -> float:
        """US dollars spent in this process, as far as prices are known; a copy starts at 0."""
        return self.queue.budget.spent_usd

    @property
    def queue(self) -> CallQueue:
        """The queue of its calls in this process."""
        name = f"queue in process {os.getpid()}"
        if name not in self.__dict__:
            self.__dict__.setdefault(name, CallQueue(self))
        return self.__dict__[name]  # type: ignore[no-any-return]

    def check(self, *, otherwise: str = _OTHER_JUDGES) -> None:
        """Check that requests can succeed, before any work and without network access.

        Parameters
        ----------
        otherwise : str, optional
            What the message says if there is no key.

        Raises
        ------
        InputError
            The provider is not known, its key is not in the environment (the message names the
            variable), or there is a budget but no price.
        UnavailableError
            LiteLLM is not installed, or does not work.
        """
        provider = _provider(self.model)
        if self.api_base is None:
            _check_key(self.model, provider, otherwise)
        if self.budget_usd is not None and list_price(self.model, 1, 1) is None:
            raise InputError(
                f"budget_usd is {self.budget_usd!r}, but LiteLLM has no price for {self.model!r}. "
                "Add its price with litellm.register_model, or remove the budget"
            )


def with_options(
    llm: LLM, changes: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> LLM:
    """Return a copy with other options, and defaults in place of None; its queue is another."""
    values = {name: v for name, v in (defaults or {}).items() if getattr(llm, name) is None}
    changed = copy(llm)
    changed.__dict__.update(values | dict(changes))
    changed._check_values()
    return changed


def chosen_llm(model: object, **options: Any) -> LLM:
    """Return the `LLM` that an argument ``model`` is or names; `options` are those of an id."""
    return model if isinstance(model, LLM) else LLM(model, **options)  # type: ignore[arg-type]


def refuse_options(where: str, given: Mapping[str, object], allowed: tuple[str, ...] = ()) -> None:
    """Raise an error for options that `where` does not take: those of `LLM`, or unknown ones."""
    for name in given:
        if name in {option.name for option in fields(LLM)}:
            raise InputError(
                f"{where} takes no {name}; it is an option of the model, which takes an LLM in "
                f"place of its id: xb.LLM('openai/gpt-4o-mini', {name}=...)"
            )
        raise InputError(f"unknown option {name!r} of {where}; {nearest(name, allowed)}")


# --- keys ---------------------------------------------------------------------------------------
#: Credentials of a cloud, besides the variables that LiteLLM names: variables, or a file.
_GCLOUD = "~/.config/gcloud/application_default_credentials.json"
_AMBIENT: Mapping[str, tuple[str, ...]] = {
    "vertex_ai": ("GOOGLE_APPLICATION_CREDENTIALS", _GCLOUD),
    "bedrock": ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "~/.aws/credentials"),
    "azure": ("AZURE_AD_TOKEN",),
}


def _provider(model: str) -> str:
    try:
        return str(litellm().get_llm_provider(model)[1])
    except litellm().exceptions.BadRequestError:
        prefix, names = model.partition("/")[0], [str(one.value) for one in litellm().provider_list]
        near = nearest(prefix, get_close_matches(prefix, names, n=3, cutoff=0.0))
        raise InputError(
            f"unknown provider of the model {model!r}; expected a LiteLLM model id such as "
            f"'openai/gpt-4o-mini'; for the provider, {near}"
        ) from None


def _check_key(model: str, provider: str, otherwise: str) -> None:
    """Raise an error unless an environment variable or a file may contain the provider's key."""
    if provider == "vertex_ai" and not (find_spec("google") and find_spec("google.auth")):
        raise InputError(f"{model!r} needs `pip install 'litellm[google]'`")
    environment, ambient = litellm().validate_environment(model), _AMBIENT.get(provider, ())
    names = [name for name in environment["missing_keys"] if name not in KEYS_OF_FILES]
    one_is_enough = provider == "gemini"
    enough = one_is_enough and len(names) < len(environment["missing_keys"])
    if environment["keys_in_environment"] or not names or enough:
        return
    if any(os.environ.get(name) or Path(name).expanduser().is_file() for name in ambient):
        return
    or_other = f", or one of {', '.join(ambient)}" if ambient else ""
    raise InputError(
        f"no key for the model {model!r}: set {(' or ' if one_is_enough else ' and ').join(names)} "
        f"in the environment{or_other}; keys may be in a .env file here too. {otherwise}"
    )


# --- budget -------------------------------------------------------------------------------------
#: Tokenizers of smaller vocabularies split words more often: twice GPT-2's count bounds those in
#: use, but for digits, which some of them read one by one.
_MARGIN = 2
#: Tokens around a message, and of the instructions that providers add for a schema.
_PER_REQUEST, _PER_MESSAGE, _PER_SCHEMA = 50, 20, 600


def most_tokens(text: str) -> int:
    """Bound the number of tokens of a text, whatever the tokenizer."""
    count, digits = count_tokens(text), sum(map(str.isdigit, text))
    most = max(_MARGIN * count, count + digits)
    return min(most, len(text.encode("utf-8", "surrogatepass")))


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


class Budget:
    """The money spent, in US dollars, and what requests in progress may cost.

    Within a limit, an answer or a broken request of unknown cost counts with its maximum cost.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent_usd = self._reserved = 0.0
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, request: ModelRequest) -> AsyncIterator[Callable[[float | None], None]]:
        """Reserve the maximum cost of a request until it ends; wait for others if necessary.

        Yields what is told the cost of the answer.
        """
        most = 0.0 if self.limit is None else await asyncio.to_thread(highest_cost, request)
        limit = float("inf") if self.limit is None else self.limit
        async with self._returned:
            await self._returned.wait_for(
                lambda: (
                    self.spent_usd + self._reserved + most <= limit or self.spent_usd + most > limit
                )
            )
            if self.spent_usd + most > limit:
                raise Failure(
                    "budget",
                    f"{self.spent_usd:.6g} of {limit:.6g} US dollars are spent, and the next "
                    f"request may cost up to {most:.6g}; set max_tokens to reduce that",
                )
            self._reserved += most
        charged = most  # if it is cancelled, the provider goes on

        def charge(cost: float | None) -> None:
            nonlocal charged
            charged = cost or most

        try:
            yield charge
        except (Failure, UnavailableError) as error:
            charged = most if getattr(error, "billed", False) else 0.0
            raise
        finally:
            self._reserved -= most
            self.spent_usd += charged
            async with self._returned:
                self._returned.notify_all()


# --- calls --------------------------------------------------------------------------------------
#: After one of these failures a model is not asked again: the key or the address is wrong.
_HOPELESS = ("bad_key", "not_found", "redirect")


@dataclass(frozen=True)
class Asked:
    """One question to a model: its request, and what reads the answer or raises `Unparsable`.

    `sample`: which of several answers to the same question.
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

    def stored(self, cache: JudgeCache) -> str | None:
        """Return a cached answer that can be read."""
        entry = cache.get(self.key)
        with suppress(Unparsable):
            if entry is not None:
                self.read(entry.answer)
                return entry.answer
        return None


class CallQueue:
    """The calls of one `LLM` in one process."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.budget = Budget(llm.budget_usd)
        #: Models that are not asked again.
        self.hopeless: dict[str, Failure] = {}
        self.turns = asyncio.Semaphore(llm.max_concurrency)
        #: Of the questions in progress: who asks an equal one waits, and finds it in the cache.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read: in the cache, or by asking."""
        cache: JudgeCache | None = self._llm.cache
        if cache is None:
            async with self.turns:
                return await self._ask(asked)
        begun = time.perf_counter()
        async with self._locks.setdefault(asked.key, asyncio.Lock()), self.turns:
            answer = asked.stored(cache)
            if answer is not None:
                seconds, model = time.perf_counter() - begun, asked.request.model
                return JudgeCall(model, True, 0, 0, 0, 0.0, seconds, answer=answer)
            call = await self._ask(asked)
            counts = (call.prompt_tokens, call.completion_tokens, call.cost_usd)
            entry = Entry(asked.key, asked.document, call.answer or "", *counts)
            try:
                if not cache.store(entry):  # a faster process has, or what is stored is damaged
                    call = call._replace(answer=asked.stored(cache) or call.answer)
                    cache.store(entry._replace(answer=call.answer or ""), replace=True)
            except OutputError as error:  # the answer is used, but not cached
                warnings.warn(f"answers are not cached: {error}", RuntimeWarning, stacklevel=2)
            return call

    async def _ask(self, asked: Asked) -> JudgeCall:
        """Ask the model, and once more if its answer cannot be read."""
        begun, attempts, answers = time.perf_counter(), 0, list[Completion]()

        def count() -> None:
            nonlocal attempts
            attempts += 1

        def call(error: str | None = None) -> JudgeCall:
            text = answers[-1].text if answers else None
            sums: dict[str, Any] = {}
            for name in ("prompt_tokens", "completion_tokens", "cost_usd"):
                values = [getattr(one, name) for one in answers]
                sums[name] = None if not values or None in values else sum(values)
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
                async with self.budget.reserve(request) as charge:
                    if known := self.hopeless.get(model):  # every further request would repeat it
                        raise Failure(known.reason, known.problem)
                    count()
                    completion = await complete(request)
                    charge(completion.cost_usd)
                    return completion
            except Failure as error:
                failure = error
            if failure.reason in _HOPELESS:
                raise self.hopeless.setdefault(model, failure)
            if not failure.transient or attempt == self._llm.max_attempts:
                raise failure
            wait = min(self._llm.retry_wait * 2.0 ** min(attempt - 1, 60), LONGEST_WAIT)
            wait += random.uniform(0, self._llm.retry_wait)
            await asyncio.sleep(max(wait, failure.retry_after))
