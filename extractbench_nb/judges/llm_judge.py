"""`LLMJudge`, a language model as the judge, and `Ensemble`, a vote of several judges."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import combinations
from statistics import fmean, median_low
from typing import Any, Self

from extractbench_nb.core import REGISTRY
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
from extractbench_nb.errors import ConfigError, InputError, UnavailableError, nearest
from extractbench_nb.judges.client import BACKGROUND, ModelRequest
from extractbench_nb.judges.llm import (
    LLM,
    Asked,
    Shown,
    check_number,
    chosen_llm,
    with_options,
)
from extractbench_nb.judges.prompts import (
    ANSWER_SCHEMA,
    PROMPT_VERSION,
    Message,
    check_template,
    judge_messages,
    read_answer,
)
from extractbench_nb.support.wording import cut

# --- votes --------------------------------------------------------------------------------------


#: How several scores are combined. The median of an even number is the lower middle score, so it
#: passes only if more than half of the scores pass.
VOTES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": median_low,
    "mean": lambda scores: min(max(fmean(scores), min(scores)), max(scores)),
    "min": min,
    "max": max,
}

_PASS_MARK = 0.7
_LONGEST_WORDS = 201  # the mark of a cut included

VerdictOrError = Verdict | Exception


def pass_mark(question: Question) -> float:
    """Return the score that passes a question: ``pass_threshold`` of its params, else 0.7."""
    metric = REGISTRY.entries.get(question.metric)
    return _PASS_MARK if metric is None else metric.pass_mark(question.params)


async def gather_verdicts(asks: Iterable[Awaitable[Any]]) -> list[VerdictOrError]:
    """Await verdicts concurrently; errors are returned in place of the missing verdicts.

    A result that is not a verdict gives a `JudgeError`. An `UnavailableError` is raised.
    """
    outcomes: list[VerdictOrError] = []
    for result in await asyncio.gather(*asks, return_exceptions=True):
        if isinstance(result, BaseException):
            if isinstance(result, UnavailableError) or not isinstance(result, Exception):
                raise result
            outcomes.append(result)
            continue
        try:
            score = float(result.score)
            if not 0.0 <= score <= 1.0:
                raise ValueError
            calls = tuple(getattr(result, "calls", ()))
            outcomes.append(Verdict(score, result.reason, result.reasoning, calls))
        except (AttributeError, TypeError, ValueError):
            shown = cut(repr(result), _LONGEST_WORDS)
            problem = f"returned {shown}; expected a Verdict with a score from 0 to 1"
            outcomes.append(JudgeError(problem))
    return outcomes


def take_vote(ballots: Sequence[tuple[str, VerdictOrError]], vote: str, mark: float) -> Verdict:
    """Combine verdicts into one; raise an error if the missing ones could change pass or fail."""
    verdicts, errors = list[Verdict](), list[tuple[str, JudgeError]]()
    calls, quotes = list[JudgeCall](), list[str]()
    for name, outcome in ballots:
        if isinstance(outcome, Verdict):
            verdicts.append(outcome)
            text = cut(outcome.reasoning or outcome.reason, _LONGEST_WORDS)
            quotes.append(f"{name} {outcome.score:.3g}: {text}")
        else:
            if not isinstance(outcome, JudgeError):
                outcome = JudgeError(f"{type(outcome).__name__}: {outcome}")  # noqa: PLW2901
            errors.append((name, outcome))
            quotes.append(f"{name} no verdict ({cut(outcome.problem, _LONGEST_WORDS)})")
        calls += outcome.calls
    scores = [verdict.score for verdict in verdicts]
    low, high = (VOTES[vote](scores + [end] * len(errors)) for end in (0.0, 1.0))
    if not verdicts or (low >= mark) != (high >= mark):
        name, first = errors[0]
        problem = f"{len(errors)} of {len(ballots)} gave no verdict, which decides the {vote}; "
        raise JudgeError(f"{problem}{name}: {first}", calls, first.reason)
    reasons = {verdict.reason for verdict in verdicts}
    reason = reasons.pop() if len(reasons) == 1 else "voted"
    return Verdict(low, reason, f"{vote} of {' | '.join(quotes)}", tuple(calls))


def _check_vote(vote: object) -> None:
    if not isinstance(vote, str) or vote not in VOTES:
        raise InputError(f"vote is {vote!r}; {nearest(vote, VOTES)}")


# --- judges -------------------------------------------------------------------------------------

#: The reason of what was not recorded.
ABSENT = "not_recorded"
#: For a field without params.
NO_PARAMS: Mapping[str, Any] = {}
#: Options of an `LLM`, where it leaves them open.
_USUAL = {"temperature": 0.0, "max_tokens": 2048, "timeout": 60.0}
_OVERRIDES = ("model", "temperature", "max_tokens")


class FieldJudge:
    """The methods of this package's judges."""

    def check(self, params: Mapping[str, Any] = NO_PARAMS) -> None:
        """Check, before any work and without network, that it can be asked; see `LLM.check`.

        `params` of a field may name another model. A param that cannot be used raises a
        `ConfigError`, a cache that cannot an `OutputError`. After this call, a model whose key was
        refused or that was not found is asked again.
        """
        self._check(params)

    def for_document(self, gold: Any, predicted: Any) -> Self:
        """Return the judge for one evaluation; recorded verdicts belong to certain documents."""
        return self._for_document(gold, predicted)

    async def ask(self, question: Question) -> Verdict:
        """Judge the two values of a field; a `JudgeError` lists the calls without a verdict.

        A model's reason is ``judged``; that of a vote is the one that all members give, else
        ``voted``, and its reasoning quotes each of them.
        """
        return await self._verdict(question)

    async def compare(self, gold: str, predicted: str) -> Verdict:
        """Judge one pair of texts, without a field or schema, as `ask` does."""
        return await self._verdict(Question(gold, predicted))

    def _check(self, params: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        return self

    async def _verdict(self, question: Question) -> Verdict:
        raise NotImplementedError

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other attributes; nothing is read or checked again."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other


class ModelJudge(FieldJudge):
    """Base class of judges whose verdicts are answers of a model, requested now or recorded."""

    model: LLM
    n: int
    vote: str
    additional_instructions: str | None
    #: The judge of what was not recorded.
    otherwise: Judge | None = None

    @property
    def name(self) -> str:
        """Name shown in results: the model's id."""
        return self.model.model

    def settings_for(self, params: Mapping[str, Any] = NO_PARAMS) -> tuple[LLM, str | None]:
        """Return the model and the additional instructions for a field with these params."""
        given = {name: value for name, value in params.items() if value is not None}
        try:
            overrides = {name: given[name] for name in _OVERRIDES if name in given}
            llm = with_options(self.model, overrides, _USUAL)
            instructions = given.get("additional_instructions", self.additional_instructions)
            _check_text("additional_instructions", instructions)
        except InputError as error:
            raise ConfigError(None, str(error)) from None
        check_template(given.get("prompt_template"))
        return llm, instructions

    def _check(self, params: Mapping[str, Any]) -> None:
        llm, _ = self.settings_for(params)
        llm.check()
        if self.model.cache is not None:
            with self.model.cache.opened():
                pass
        self.model.queue.hopeless.clear()

    async def _verdict(self, question: Question) -> Verdict:
        llm, instructions = self.settings_for(question.params)
        template = question.params.get("prompt_template")
        try:
            messages, mark = judge_messages(question, template=template, instructions=instructions)
        except RecursionError:
            raise JudgeError("the values are nested too deep", reason="too_deep") from None
        read = partial(read_answer, mark=mark)

        async def judged(nth: int) -> Verdict:
            request = _request(llm, messages, ANSWER_SCHEMA)
            call = await self._call(Asked(request, read, nth, question))
            score, reasoning = read(call.answer)
            return Verdict(score, "judged", reasoning, (call._replace(score=score),))

        if self.n == 1:
            return await judged(0)
        results = await gather_verdicts(judged(nth) for nth in range(self.n))
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, JudgeError):
                raise result  # it cannot be asked at all
        ballots = [(f"answer {nth}", result) for nth, result in enumerate(results, 1)]
        return take_vote(ballots, self.vote, pass_mark(question))

    async def answer(
        self,
        messages: Sequence[Message],
        read: Callable[[str | None], Any],
        schema: Mapping[str, Any],
        *,
        params: Mapping[str, Any] = NO_PARAMS,
    ) -> tuple[Any, JudgeCall]:
        """Ask the model any question, with the cache, limits, retries and budget of `ask`.

        `read` parses the text of an answer, or raises `Unparsable`; the model is then asked again.
        `schema` is the JSON Schema of the answer. Returns what `read` returned, and the call.
        """
        llm, _ = self.settings_for(params)
        try:
            call = await self._call(Asked(_request(llm, messages, schema), read))
            return read(call.answer), call
        except JudgeError as error:
            ask_other: Any = getattr(self.otherwise, "answer", None)
            if error.reason != ABSENT or not callable(ask_other):
                raise
        answer: tuple[Any, JudgeCall] = await ask_other(messages, read, schema, params=params)
        return answer

    async def _call(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read, or raise `JudgeError`."""
        return await BACKGROUND.run(self.model.queue.answer(asked))


@dataclass(frozen=True, repr=False)
class LLMJudge(Shown, ModelJudge):
    """A language model as the judge, with a cache on disk.

    Parameters
    ----------
    model : str or LLM, optional
        The id of a model, or an `LLM` with its options; by default ``LLM()``.
    n : int, optional
        Number of answers to request for each question. With a `temperature` of 0 most
        models give the same answer each time.
    vote : str, optional
        How several answers are combined: ``median`` (the lower of two middle ones, so that it
        passes if more than half pass), ``mean``, ``min`` (all must pass) or ``max`` (one is
        enough).
    additional_instructions : str, optional
        Additional instructions to the model, for all fields.

    Raises
    ------
    InputError
        The value of an option is not allowed.

    Notes
    -----
    The params of a field override: ``model``, ``temperature``, ``max_tokens``,
    ``additional_instructions`` and ``prompt_template``; see paper section 3.2. No request is made
    for two values that are the same JSON, unless the field has a ``prompt_template``.

    Examples
    --------
    >>> LLMJudge(LLM("openai/gpt-4o-mini", temperature=1.0), n=5)
    LLMJudge(LLM('openai/gpt-4o-mini', temperature=1.0), n=5)
    """

    model: Any = None  # an id, or None, becomes an `LLM`
    _: KW_ONLY
    n: int = 1
    vote: str = "median"
    additional_instructions: str | None = None

    def __post_init__(self) -> None:
        """Check every value, and make the model."""
        check_number("n", self.n, 1, whole=True)
        _check_vote(self.vote)
        _check_text("additional_instructions", self.additional_instructions)
        object.__setattr__(self, "model", LLM() if self.model is None else chosen_llm(self.model))

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The settings that determine its verdicts; compared when a batch is resumed."""
        llm, instructions = self.settings_for()
        own = {"model": llm.model, "temperature": llm.temperature, "max_tokens": llm.max_tokens}
        own |= {"additional_instructions": instructions, "n": self.n, "vote": self.vote}
        return own | {"prompts": PROMPT_VERSION}


def _request(llm: LLM, messages: Sequence[Message], schema: Mapping[str, Any]) -> ModelRequest:
    limits = (llm.temperature, llm.max_tokens, llm.timeout or _USUAL["timeout"], llm.api_base)
    return ModelRequest(llm.model, tuple(messages), *limits, schema, strict=True)


def _check_text(name: str, text: object) -> None:
    if text is not None and not (isinstance(text, str) and text.strip()):
        raise InputError(f"{name} is {text!r}; expected a text or None")


@dataclass(frozen=True, repr=False)
class Ensemble(Shown, FieldJudge):
    """A judge that combines the votes of several others.

    Parameters
    ----------
    judges : iterable of str, LLM or Judge
        At least two of what ``judge=`` takes: ``offline``, the id of a model, an `LLM`, an
        `LLMJudge`, or any object with a name and ``compare``.
    vote : str, optional
        How their scores are combined; see `LLMJudge`.

    Raises
    ------
    InputError
        There are too few judges, two are the same, one is not a judge, or the vote is unknown.

    Notes
    -----
    If a member has no verdict, the vote is valid if it would pass, or fail, with any score of that
    member; it then has the lowest score possible. Otherwise the outcome is ``judge_error``. So a
    failing member never raises a score. The param ``model`` of a field is ignored.

    Examples
    --------
    >>> judge = Ensemble(["offline", LLMJudge("openai/gpt-4o-mini")], vote="min")
    >>> judge.name
    'min(offline, openai/gpt-4o-mini)'
    """

    judges: Any  # a tuple of judges
    vote: str = "median"

    def __post_init__(self) -> None:
        """Check the members, which may be named."""
        _check_vote(self.vote)
        is_list = not isinstance(self.judges, str) and isinstance(self.judges, Iterable)
        items = list(self.judges) if is_list else []
        if len(items) < 2:  # noqa: PLR2004
            raise InputError(f"judges is {self.judges!r}; expected a list of two judges or more")
        members = [choose_judge(item, f"judges[{i}]") for i, item in enumerate(items)]
        for (i, a), (j, b) in combinations(enumerate(members), 2):
            if a == b:
                raise InputError(
                    f"judges[{i}] and judges[{j}] are the same, {a!r}; to ask a model several "
                    "times use LLMJudge(n=...)"
                )
        object.__setattr__(self, "judges", tuple(members))

    @property
    def name(self) -> str:
        """Name shown in results."""
        return f"{self.vote}({', '.join(judge.name for judge in self.judges)})"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The settings that determine the verdicts; compared when a batch is resumed."""
        members = [[judge.name, getattr(judge, "fingerprint", None)] for judge in self.judges]
        return {"vote": self.vote, "judges": members}

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        return self._with(judges=tuple(judge_of_document(j, gold, predicted) for j in self.judges))

    def _check(self, params: Mapping[str, Any]) -> None:
        for judge in self.judges:
            check_judge(judge, _without_model(params))

    async def _verdict(self, question: Question) -> Verdict:
        asked = question._replace(params=_without_model(question.params))
        outcomes = await gather_verdicts(verdict_of(judge, asked) for judge in self.judges)
        ballots = [(j.name, outcome) for j, outcome in zip(self.judges, outcomes, strict=True)]
        return take_vote(ballots, self.vote, pass_mark(question))


def _without_model(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in params.items() if name != "model"}
