"""`LLMJudge`: a language model as the judge, through LiteLLM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Self

from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    Question,
    Verdict,
    check_judge,
    choose_judge,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.cache import JudgeCache, judge_cache, opened
from extractbench_nb.judges.calls import Asked, CallQueue
from extractbench_nb.judges.client import BACKGROUND
from extractbench_nb.judges.environment import read_environment
from extractbench_nb.judges.field_judges import (
    NO_PARAMS,
    VOTES,
    FieldJudge,
    gather_verdicts,
    pass_mark,
    take_vote,
)
from extractbench_nb.judges.prompts import (
    PROMPT_VERSION,
    Message,
    answer_schema,
    judge_messages,
    read_answer,
)
from extractbench_nb.judges.settings import Settings, check_model

#: The reason of what was not recorded.
ABSENT = "not_recorded"
#: Options of the connection to a model, on which its answers do not depend.
_REACHING = ("timeout", "max_concurrency", "max_attempts", "retry_wait", "budget_usd", "api_base")


class ModelJudge(FieldJudge):
    """Base class of judges whose verdicts are answers of a model, requested now or recorded."""

    _settings: Settings
    #: The judge of what was not recorded.
    _otherwise: Judge | None = None

    @property
    def otherwise(self) -> Judge | None:
        """The judge of what was not recorded."""
        return self._otherwise

    def replaced(self, otherwise: Judge) -> Self:
        """Return the same judge with another judge for what was not recorded."""
        return self._with(_otherwise=otherwise)

    async def _answer(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read, or raise `JudgeError`."""
        raise NotImplementedError

    def _check(self, params: Mapping[str, Any]) -> None:
        self.settings_for(params)

    def settings_for(self, params: Mapping[str, Any] = NO_PARAMS) -> Settings:
        """Return the judge's settings, with the params of a field applied."""
        return self._settings.for_field(params)

    async def ask(self, question: Question, *, sample: int | None = None) -> Verdict:
        """Judge the two values of a field.

        Parameters
        ----------
        question : Question
            The values, and what the schema says about the field.
        sample : int, optional
            Which of several answers to the same question, from 0 on; each is cached separately. By
            default the vote over `n` of them.

        Returns
        -------
        Verdict
            The model's score and reasoning, the reason ``judged``, and the call behind them; of
            several answers the vote, the reasoning of each, and all calls.

        Raises
        ------
        JudgeError
            There is no readable answer, or no budget left; the error lists what was tried. Of
            several answers: those that are missing decide whether the vote passes.
        InputError, ConfigError
            See `check`.
        """
        return await self._verdict(question, sample)

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        settings = self.settings_for(question.params)
        custom_schema = question.params.get("structured_output_schema")
        schema = answer_schema(custom_schema)
        try:
            messages, mark = judge_messages(
                question,
                schema=schema,
                template=question.params.get("prompt_template"),
                instructions=settings.additional_instructions,
            )
        except RecursionError:
            raise JudgeError("the values are nested too deep", reason="too_deep") from None
        read = partial(read_answer, mark=mark, schema=custom_schema)

        async def judged(nth: int) -> Verdict:
            asked = Asked(settings, messages, read, schema, custom_schema is None, nth, question)
            call = await self._answer(asked)
            score, reasoning = read(call.answer)
            return Verdict(score, "judged", reasoning, (call._replace(score=score),))

        if sample is not None or settings.n == 1:
            return await judged(sample or 0)
        results = await gather_verdicts(judged(nth) for nth in range(settings.n))
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, JudgeError):
                raise result  # it cannot be asked at all
        names = [f"answer {nth}" for nth in range(1, settings.n + 1)]
        ballots = list(zip(names, results, strict=True))
        return take_vote(ballots, settings.vote, pass_mark(question))

    async def answer(
        self,
        messages: Sequence[Message],
        read: Callable[[str | None], Any],
        schema: Mapping[str, Any],
        *,
        params: Mapping[str, Any] = NO_PARAMS,
        sample: int = 0,
    ) -> tuple[Any, JudgeCall]:
        """Ask the model any question, with the cache, limits, retries and budget of `ask`.

        `read` parses the text of an answer, or raises `Unparsable`; the model is then asked again.
        `schema` is the JSON Schema of the answer. Returns what `read` returned, and the call.
        """
        asked = Asked(self.settings_for(params), tuple(messages), read, schema, True, sample)
        other: Any = self._otherwise
        try:
            call = await self._answer(asked)
            return read(call.answer), call
        except JudgeError as error:
            if error.reason != ABSENT or not callable(getattr(other, "answer", None)):
                raise
        found: tuple[Any, JudgeCall] = await other.answer(
            messages, read, schema, params=params, sample=sample
        )
        return found


class LLMJudge(ModelJudge):
    """A language model as the judge, through LiteLLM, with a cache on disk.

    Parameters
    ----------
    model : str, optional
        A LiteLLM model id such as ``openai/gpt-4o-mini``. By default the value of
        ``DEFAULT_LLM_MODEL`` in the environment or in ``.env`` in the working directory, from which
        only this and keys are read; else ``vertex_ai/gemini-2.5-flash``.
    temperature : float, optional
        0 or more; not sent to models that take none.
    max_tokens : int, optional
        Maximum number of tokens of one answer, hidden reasoning included.
    timeout : float, optional
        Seconds for one request.
    max_concurrency : int, optional
        Maximum number of concurrent requests, over all event loops and threads of a process.
    max_attempts : int, optional
        Maximum number of requests for one question while errors are transient: rate limits,
        timeouts, server errors, broken connections.
    retry_wait : float, optional
        Seconds before the second attempt, doubled before each further one, plus a random wait of
        up to as long; longer if the provider asks for it.
    budget_usd : float, optional
        Maximum that this judge may spend in this process, at LiteLLM's list prices. Each request
        reserves its maximum cost, for its own tokens plus `max_tokens`, and is not made if less
        than that is left.
    cache : bool, str, pathlib.Path or JudgeCache, optional
        Where answers are cached: True for `judge_cache`, a folder, or False for no cache; then
        equal questions are asked each time.
    api_base : str, optional
        Address of the server, if it is not the provider's own. Such a server needs no key.
    additional_instructions : str, optional
        Additional instructions to the model, for all fields.
    n : int, optional
        Number of answers to request for each question, 1 to 100. With a `temperature` of 0 most
        models give the same answer each time.
    vote : str, optional
        How several answers are combined: ``median`` (the lower of two middle ones, so that it
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
    section 3.2. LiteLLM reads keys of providers from the environment; they are stored nowhere else.
    Answers are cached by model, messages and parameters, so that a second run makes no requests.

    No request is made for two values that are the same JSON: the score is 1, the reason
    ``identical``. A field with a ``prompt_template`` of its own is asked about nevertheless.

    If some of `n` answers are missing, the vote stands if it would pass, or fail, with any scores
    in their place; otherwise there is no verdict.

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
        for name in unknown:
            allowed = [*(option.name for option in fields(Settings)), "cache"]
            raise InputError(f"unknown option {name!r} of a judge; {nearest(name, allowed)}")
        default_model = read_environment()
        self._settings = Settings(
            default_model if model is None else model,
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
        cache_option: object = cache
        if isinstance(cache_option, bool):
            self._cache = judge_cache if cache_option else None
        elif isinstance(cache_option, JudgeCache):
            self._cache = cache_option
        elif isinstance(cache_option, str | Path) and str(cache_option).strip():
            self._cache = JudgeCache(cache_option)
        else:
            raise InputError(f"cache is {cache!r}; expected True, False, a folder or a JudgeCache")
        self._queue: CallQueue | None = None
        self._checked: set[str] = set()

    @property
    def name(self) -> str:
        """Name shown in results: the model's id."""
        return self._settings.model

    @property
    def cache(self) -> JudgeCache | None:
        """The cache of answers; None if there is none."""
        return self._cache

    @property
    def spent_usd(self) -> float:
        """US dollars that this judge has spent in this process, as far as prices are known.

        With a budget, a request of unknown cost counts with its maximum cost.
        """
        queue = self._queue
        return queue.budget.spent_usd if queue and queue.process == os.getpid() else 0.0

    def _check(self, params: Mapping[str, Any]) -> None:
        settings = self.settings_for(params)
        check_model(settings)
        if self._cache is not None:
            with opened(self._cache):  # read-only will do
                pass
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

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        values = {f.name: (getattr(self._settings, f.name), f.default) for f in fields(Settings)}
        options = {name: value for name, (value, usual) in values.items() if value != usual}
        if self._cache != judge_cache:
            options["cache"] = self._cache or False
        return (options.pop("model"),), options

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its verdicts depend on; a resumed batch compares it."""
        options = asdict(self._settings)
        for name in _REACHING:
            del options[name]
        return {**options, "prompts": PROMPT_VERSION}


# --- several judges -------------------------------------------------------------------------------
_FEWEST = 2


class Ensemble(FieldJudge):
    """A judge that takes a vote of several others.

    Parameters
    ----------
    judges : iterable of str or Judge
        At least two of what ``judge=`` takes: ``offline``, the id of a model, an `LLMJudge`, or any
        object with a name and ``compare``.
    vote : str, optional
        How their scores are combined: ``median`` (the lower of two middle ones, so that it
        passes where more than half pass), ``mean``, ``min`` (all must pass) or ``max`` (one is
        enough).
    name : str, optional
        Name shown in results; by default made of the members' names.

    Raises
    ------
    InputError
        There are too few judges, two are the same, one is not a judge, or the vote is unknown.

    Notes
    -----
    If a member has no verdict, the vote is valid if it would pass, or fail, with any score of that
    member; it then has the lowest score possible. Otherwise there is no verdict, and the outcome is
    ``judge_error``. So a failing member never turns a fail into a pass, nor raises a score.

    The param ``model`` of a field is ignored: the members are the models. A rule-based
    member adds no call.

    Examples
    --------
    >>> from extractbench_nb.judges.llm import LLMJudge
    >>> judge = Ensemble(["offline", LLMJudge("openai/gpt-4o-mini")], vote="min")
    >>> judge.name
    'min(offline, openai/gpt-4o-mini)'
    """

    def __init__(
        self,
        judges: Iterable[str | Judge],
        vote: str = "median",
        name: str | None = None,
    ) -> None:
        untyped: tuple[object, object] = (vote, name)
        if not isinstance(untyped[0], str) or vote not in VOTES:
            raise InputError(f"vote is {vote!r}; {nearest(vote, VOTES)}")
        if name is not None and not (isinstance(untyped[1], str) and name.strip()):
            raise InputError(f"name is {name!r}; expected a text or None")
        self._judges = _members(judges)
        self._vote = vote
        self._name = name

    @property
    def name(self) -> str:
        """Name shown in results."""
        return self._name or f"{self._vote}({', '.join(judge.name for judge in self._judges)})"

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The members."""
        return self._judges

    @property
    def vote(self) -> str:
        """How their scores are combined."""
        return self._vote

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the verdicts depend on; a resumed batch compares it."""
        members = [[judge.name, getattr(judge, "fingerprint", None)] for judge in self._judges]
        return {"vote": self._vote, "judges": members}

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        members = tuple(judge_of_document(judge, gold, predicted) for judge in self._judges)
        return self._with(_judges=members)

    def _check(self, params: Mapping[str, Any]) -> None:
        for judge in self._judges:
            check_judge(judge, _without_model(params))

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        asked = question._replace(params=_without_model(question.params))
        outcomes = await gather_verdicts(verdict_of(judge, asked) for judge in self._judges)
        names = [judge.name for judge in self._judges]
        return take_vote(list(zip(names, outcomes, strict=True)), self._vote, pass_mark(question))

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        name = {} if self._name is None else {"name": self._name}
        return (list(self._judges),), {"vote": self._vote, **name}


def _members(judges: object) -> tuple[Judge, ...]:
    """Check that an ensemble has two or more judges, all different and with separate answers."""
    is_list = not isinstance(judges, str) and isinstance(judges, Iterable)
    items = list(judges) if is_list else []  # type: ignore[call-overload]
    if len(items) < _FEWEST:
        raise InputError(f"judges is {judges!r}; expected a list of two judges or more")
    members = tuple(choose_judge(item, f"judges[{i}]") for i, item in enumerate(items))
    for (i, a), (j, b) in combinations(enumerate(members), 2):
        if _answers_of(a) == _answers_of(b):
            raise InputError(
                f"judges[{i}] and judges[{j}] are the same, {a!r}, or would get the same answers "
                "from the cache; to ask a model several times use LLMJudge(n=...)"
            )
    return members


def _answers_of(judge: Judge) -> Any:
    """Return what the verdicts of a judge depend on; by default, the judge."""
    if isinstance(judge, LLMJudge) and judge.cache is not None:
        return judge.cache.path, judge.fingerprint
    return judge


def _without_model(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in params.items() if name != "model"}
