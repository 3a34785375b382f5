"""`LLMJudge`: a language model as the judge, through LiteLLM."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from extractbench_nb.errors import InputError
from extractbench_nb.judges.background import BACKGROUND
from extractbench_nb.judges.base import JudgeCall
from extractbench_nb.judges.cache import JudgeCache, judge_cache
from extractbench_nb.judges.calls import Asked, CallQueue, ModelJudge
from extractbench_nb.judges.prompts import PROMPT_VERSION
from extractbench_nb.judges.settings import (
    Settings,
    check_model,
    default_model,
    read_environment,
    refuse_unknown,
)

_NOTHING: Mapping[str, Any] = {}
#: Options of how a model is reached; what it says does not depend on them.
_REACHING = ("timeout", "max_concurrency", "max_attempts", "retry_wait", "budget_usd", "api_base")


class LLMJudge(ModelJudge):
    """A language model as the judge, through LiteLLM, with a cache on disk.

    Parameters
    ----------
    model : str, optional
        A LiteLLM model id such as ``openai/gpt-4o-mini``. By default what ``DEFAULT_LLM_MODEL``
        says, in the environment or in ``.env`` in the working directory, of which nothing but this
        and keys is taken; else ``vertex_ai/gemini-2.5-flash``.
    temperature : float, optional
        0 or more; not sent to models that take none.
    max_tokens : int, optional
        Tokens of one answer at most, hidden thoughts of the model included.
    timeout : float, optional
        Seconds for one request.
    max_concurrency : int, optional
        Requests under way at once, over all loops and threads of a process.
    max_attempts : int, optional
        Requests for one question while the provider has passing trouble: rate limits, timeouts,
        errors of the server, cut connections.
    retry_wait : float, optional
        Seconds before the second attempt, twice as many before the third, and so on, with as much
        again at random; longer where the provider asks for it.
    budget_usd : float, optional
        Maximum that this judge may spend in this process, at LiteLLM's list prices. Each request
        reserves the most that it can cost, its own tokens plus `max_tokens`, and is not made where
        less than that is left.
    cache : bool, str, pathlib.Path or JudgeCache, optional
        Where answers are kept: True for `judge_cache`, a folder, or False for nowhere; then equal
        questions are asked each time.
    api_base : str, optional
        Address of the server, if it is not the provider's own. Such a server needs no key.
    additional_instructions : str, optional
        What else the model should heed, in all fields.
    n : int, optional
        How many answers to ask for to each question, 1 to 100. With a `temperature` of 0 most
        models give the same one each time.
    vote : str, optional
        What becomes of several answers: their ``median`` (the lower of two middle ones, so that it
        passes where more than half pass), ``mean``, ``min`` (all must pass) or ``max`` (one is
        enough).
    **unknown : object
        Any other option is an error that names the nearest one.

    Raises
    ------
    InputError
        An option is unknown, or its value is not allowed.

    Notes
    -----
    The params of a field override: ``model``, ``temperature``, ``max_tokens``,
    ``additional_instructions``, ``prompt_template`` and ``structured_output_schema``; see paper
    section 3.2. Keys of providers are read from the environment by LiteLLM and held nowhere else.
    An answer is kept by model, messages and parameters, so that a second run asks nothing.

    Two values that are the same JSON are not asked about: the verdict is 1, its reason
    ``identical``; a field with a ``prompt_template`` of its own is asked all the same.

    Of `n` answers some may be missing. The vote stands where it passes, or fails, whatever those
    would have been; else there is no verdict.

    Examples
    --------
    >>> LLMJudge("openai/gpt-4o-mini", temperature=0.5)
    LLMJudge('openai/gpt-4o-mini', temperature=0.5)
    >>> LLMJudge("openai/gpt-4o-mini", temprature=0.5)
    Traceback (most recent call last):
    extractbench_nb.errors.InputError: unknown option 'temprature' of a judge; did you mean ...
    """

    def __init__(  # noqa: PLR0913 - options, all but the first by name
        self,
        model: str | None = None,
        *,
        temperature: float = Settings.temperature,
        max_tokens: int = Settings.max_tokens,
        timeout: float = Settings.timeout,
        max_concurrency: int = Settings.max_concurrency,
        max_attempts: int = Settings.max_attempts,
        retry_wait: float = Settings.retry_wait,
        budget_usd: float | None = None,
        cache: bool | str | Path | JudgeCache = True,
        api_base: str | None = None,
        additional_instructions: str | None = None,
        n: int = Settings.n,
        vote: str = Settings.vote,
        **unknown: object,
    ) -> None:
        refuse_unknown(unknown)
        read_environment()
        self._settings = Settings(
            default_model() if model is None else model,
            temperature=temperature,
            max_tokens=max_tokens,
            timeout=timeout,
            max_concurrency=max_concurrency,
            max_attempts=max_attempts,
            retry_wait=retry_wait,
            budget_usd=budget_usd,
            api_base=api_base,
            additional_instructions=additional_instructions,
            n=n,
            vote=vote,
        )
        self._cache = _choose_cache(cache)
        self._queue: CallQueue | None = None
        self._checked: set[str] = set()

    @property
    def name(self) -> str:
        """Name shown in results: the model's id."""
        return self._settings.model

    @property
    def cache(self) -> JudgeCache | None:
        """Where answers are kept; None for nowhere."""
        return self._cache

    @property
    def spent_usd(self) -> float:
        """US dollars that this judge has spent in this process, as far as prices are known.

        With a budget, a request whose cost is not told counts as much as it can have cost.
        """
        queue = self._queue
        return queue.budget.spent_usd if queue and queue.process == os.getpid() else 0.0

    def check(self, params: Mapping[str, Any] = _NOTHING) -> None:
        """Check, before any work and without network, that the model can be asked.

        A model whose key was refused, or that was not found, is asked again from here on.

        Parameters
        ----------
        params : mapping, optional
            The params of a field, which may name another model.

        Raises
        ------
        InputError
            LiteLLM is not installed, the provider is not known, its key is not in the environment
            (the message names the variable), or there is a budget but no price.
        ConfigError
            A param cannot be used; a ``prompt_template`` with other placeholders, for example.
        OutputError
            The cache cannot be used.
        """
        settings = self.settings_for(params)
        check_model(settings)
        if self._cache is not None:
            self._cache.prepare()
        if self._queue is not None:
            self._queue.hopeless.clear()
        self._checked.add(settings.model)

    async def _answer(self, asked: Asked) -> JudgeCall:
        if asked.settings.model not in self._checked:
            check_model(asked.settings)
            self._checked.add(asked.settings.model)

        async def answered() -> JudgeCall:
            if self._queue is None or self._queue.process != os.getpid():
                self._queue = CallQueue(self._settings, self._cache)
            return await self._queue.answer(asked)

        return await BACKGROUND.run(answered())

    def __repr__(self) -> str:
        """Write the call that makes it; no key is in it."""
        options = [f"{name}={value!r}" for name, value in self._options().items()]
        return f"LLMJudge({', '.join([repr(self.name), *options])})"

    def __eq__(self, other: object) -> bool:
        """Be equal to a judge with the same options."""
        if not isinstance(other, LLMJudge):
            return NotImplemented
        return (self._settings, self._cache) == (other._settings, other._cache)

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash((self._settings, self._cache))

    def __reduce__(self) -> tuple[Callable[..., LLMJudge], tuple[str, dict[str, Any]]]:
        """Pickle and copy by the options; what is spent and under way stays where it is."""
        return (_make, (self.name, self._options()))

    def _options(self) -> dict[str, Any]:
        """Return the options that are not the usual ones."""
        options = self._settings.changed
        del options["model"]
        if self._cache != judge_cache:
            options["cache"] = self._cache or False
        return options

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its verdicts depend on; a batch that is taken up compares it."""
        options = asdict(self._settings)
        for name in _REACHING:
            del options[name]
        return {**options, "prompts": PROMPT_VERSION}


def _make(model: str, options: dict[str, Any]) -> LLMJudge:
    return LLMJudge(model, **options)


def _choose_cache(cache: object) -> JudgeCache | None:
    if isinstance(cache, bool):
        return judge_cache if cache else None
    if isinstance(cache, JudgeCache):
        return cache
    if isinstance(cache, str | Path) and str(cache).strip():
        return JudgeCache(cache)
    raise InputError(f"cache is {cache!r}; expected True, False, a folder or a JudgeCache")
