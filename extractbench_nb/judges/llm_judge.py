"""`LLMJudge`, a language model as the judge, and `Ensemble`, a vote of several judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
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
from extractbench_nb.errors import ConfigError, InputError, nearest
from extractbench_nb.judges.cache import JudgeCache
from extractbench_nb.judges.calls import Asked
from extractbench_nb.judges.client import BACKGROUND, ModelRequest
from extractbench_nb.judges.llm import LLM, chosen_llm, number, refuse_options, with_options
from extractbench_nb.judges.prompts import (
    PROMPT_VERSION,
    Message,
    answer_schema,
    check_schema,
    check_template,
    judge_messages,
    read_answer,
)
from extractbench_nb.judges.voting import VOTES, gather_verdicts, pass_mark, take_vote

#: The reason of what was not recorded.
ABSENT = "not_recorded"
#: For a field without params.
NO_PARAMS: Mapping[str, Any] = {}
#: Options of an `LLM`, where it leaves them open.
_USUAL = {"temperature": 0.0, "max_tokens": 2048, "timeout": 60.0}
_OVERRIDES = ("model", "temperature", "max_tokens")
_MOST_ANSWERS = 100


class FieldJudge:
    """What this package's judges have in common: they are values, made of their arguments."""

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments of an equal judge; by default a judge equals only itself."""
        return (id(self),), {}

    def check(self, params: Mapping[str, Any] = NO_PARAMS) -> None:
        """Check, before any work and without network, that the judge can be asked.

        After this call, a model whose key was refused or that was not found is asked again.

        Parameters
        ----------
        params : mapping, optional
            The params of a field, which may name another model.

        Raises
        ------
        InputError, UnavailableError
            See `LLM.check`.
        ConfigError
            A param cannot be used; a ``prompt_template`` with other placeholders, for example.
        OutputError
            The cache cannot be used.
        """
        self._check(params)

    def for_document(self, gold: Any, predicted: Any) -> Self:
        """Return the judge for one evaluation; recorded verdicts belong to certain documents."""
        return self._for_document(gold, predicted)

    async def ask(self, question: Question) -> Verdict:
        """Judge the two values of a field.

        Parameters
        ----------
        question : Question
            The values, and what the schema says about the field.

        Returns
        -------
        Verdict
            With the calls behind it. A model's reason is ``judged``; that of a vote is the one that
            all members give, else ``voted``, and its reasoning quotes each of them.

        Raises
        ------
        JudgeError
            There is no verdict, or those that are missing decide whether a vote passes. The error
            lists the calls.
        InputError, ConfigError
            See `check`.
        """
        return await self._verdict(question)

    async def compare(self, gold: str, predicted: str) -> Verdict:
        """Judge one pair of texts, without a field or schema, as `ask` does."""
        return await self.ask(Question(gold, predicted))

    def _check(self, params: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        return self

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        """Be equal to a judge of the same class and options."""
        return type(other) is type(self) and self._arguments() == other._arguments()

    def __hash__(self) -> int:
        """Hash consistently with equality; attributes of a judge need not be hashable."""
        return hash(type(self))

    def __repr__(self) -> str:
        """Write the call that creates the judge, without keys."""
        values, options = self._arguments()
        shown = [*map(repr, values), *(f"{name}={value!r}" for name, value in options.items())]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        """Pickle and copy the arguments only, without costs and calls in progress."""
        values, options = self._arguments()
        return (partial(type(self), *values, **options), ())

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other attributes; nothing is read or checked again."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other


class ModelJudge(FieldJudge):
    """Base class of judges whose verdicts are answers of a model, requested now or recorded."""

    llm: LLM
    n: int
    vote: str
    _instructions: str | None
    #: The judge of what was not recorded.
    otherwise: Judge | None = None

    def settings_for(self, params: Mapping[str, Any] = NO_PARAMS) -> tuple[LLM, str | None]:
        """Return the model and the additional instructions for a field with these params."""
        given = {name: value for name, value in params.items() if value is not None}
        try:
            overrides = {name: given[name] for name in _OVERRIDES if name in given}
            llm = with_options(self.llm, overrides, _USUAL)
            instructions = given.get("additional_instructions", self._instructions)
            _check_text("additional_instructions", instructions)
        except InputError as error:
            raise ConfigError(None, str(error)) from None
        check_template(given.get("prompt_template"))
        check_schema(given.get("structured_output_schema"))
        return llm, instructions

    def _check(self, params: Mapping[str, Any]) -> None:
        llm, _ = self.settings_for(params)
        llm.check()
        if self.llm.cache is not None:
            with self.llm.cache.opened():  # read-only will do
                pass
        self.llm.queue.hopeless.clear()
        self.llm.queue.checked.add(llm.model)

    async def ask(self, question: Question, *, sample: int | None = None) -> Verdict:
        """Judge the two values of a field; see `FieldJudge.ask`.

        `sample` says which of several answers to the same question, from 0 on; each is cached
        separately. By default the verdict is the vote over `n` of them.
        """
        return await self._verdict(question, sample)

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        llm, instructions = self.settings_for(question.params)
        own_schema = question.params.get("structured_output_schema")
        schema = answer_schema(own_schema)
        template = question.params.get("prompt_template")
        try:
            messages, mark = judge_messages(
                question, schema=schema, template=template, instructions=instructions
            )
        except RecursionError:
            raise JudgeError("the values are nested too deep", reason="too_deep") from None
        read = partial(read_answer, mark=mark, schema=own_schema)
        request = _request(llm, messages, schema, strict=own_schema is None)

        async def judged(nth: int) -> Verdict:
            call = await self._call(Asked(request, read, nth, question))
            score, reasoning = read(call.answer)
            return Verdict(score, "judged", reasoning, (call._replace(score=score),))

        if sample is not None or self.n == 1:
            return await judged(sample or 0)
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
        sample: int = 0,
    ) -> tuple[Any, JudgeCall]:
        """Ask the model any question, with the cache, limits, retries and budget of `ask`.

        `read` parses the text of an answer, or raises `Unparsable`; the model is then asked again.
        `schema` is the JSON Schema of the answer. Returns what `read` returned, and the call.
        """
        llm, _ = self.settings_for(params)
        try:
            call = await self._call(Asked(_request(llm, messages, schema), read, sample))
            return read(call.answer), call
        except JudgeError as error:
            ask_other: Any = getattr(self.otherwise, "answer", None)
            if error.reason != ABSENT or not callable(ask_other):
                raise
        answer: tuple[Any, JudgeCall] = await ask_other(
            messages, read, schema, params=params, sample=sample
        )
        return answer

    async def _call(self, asked: Asked) -> JudgeCall:
        """Find an answer that can be read, or raise `JudgeError`."""
        queue, model = self.llm.queue, asked.request.model
        if model not in queue.checked:
            with_options(self.llm, {"model": model}).check()
            queue.checked.add(model)
        return await BACKGROUND.run(queue.answer(asked))


class LLMJudge(ModelJudge):
    """A language model as the judge, with a cache on disk.

    Parameters
    ----------
    model : str or LLM, optional
        The id of a model, or an `LLM` with its options; by default ``LLM()``.
    n : int, optional
        Number of answers to request for each question, 1 to 100. With a `temperature` of 0 most
        models give the same answer each time.
    vote : str, optional
        How several answers are combined: ``median`` (the lower of two middle ones, so that it
        passes where more than half pass), ``mean``, ``min`` (all must pass) or ``max`` (one is
        enough).
    additional_instructions : str, optional
        Additional instructions to the model, for all fields.
    **unknown : object
        Any other option is an error, which says where it belongs.

    Raises
    ------
    InputError
        An option is unknown, or its value is not allowed.

    Notes
    -----
    The params of a field override: ``model``, ``temperature``, ``max_tokens``,
    ``additional_instructions``, ``prompt_template`` and ``structured_output_schema``; see paper
    section 3.2. Answers are cached by model, messages and parameters, so that a second run makes no
    requests.

    No request is made for two values that are the same JSON: the score is 1, the reason
    ``identical``. A field with a ``prompt_template`` of its own is asked about nevertheless.

    If some of `n` answers are missing, the vote stands if it would pass, or fail, with any scores
    in their place; otherwise there is no verdict.

    Examples
    --------
    >>> LLMJudge(LLM("openai/gpt-4o-mini", temperature=1.0), n=5)
    LLMJudge(LLM('openai/gpt-4o-mini', temperature=1.0), n=5)
    >>> LLMJudge("openai/gpt-4o-mini", temperature=1.0)
    Traceback (most recent call last):
    extractbench_nb.errors.InputError: LLMJudge takes no temperature; it is an option of the ...
    """

    def __init__(
        self,
        model: str | LLM | None = None,
        *,
        n: int = 1,
        vote: str = "median",
        additional_instructions: str | None = None,
        **unknown: object,
    ) -> None:
        refuse_options("LLMJudge", unknown, ("n", "vote", "additional_instructions"))
        if not number(1, _MOST_ANSWERS, whole=True)(n):
            expected = f"a whole number from 1 to {_MOST_ANSWERS}: how many answers to one question"
            raise InputError(f"n is {n!r}; expected {expected}")
        _check_vote(vote)
        _check_text("additional_instructions", additional_instructions)
        self.llm = LLM() if model is None else chosen_llm(model)
        self.n, self.vote, self._instructions = n, vote, additional_instructions

    @property
    def name(self) -> str:
        """Name shown in results: the model's id."""
        return self.llm.model

    @property
    def cache(self) -> JudgeCache | None:
        """The cache of answers; None if there is none."""
        return self.llm.cache  # type: ignore[no-any-return]

    @property
    def spent_usd(self) -> float:
        """US dollars that its model has spent in this process; see `LLM.spent_usd`."""
        return self.llm.spent_usd

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its verdicts depend on; a resumed batch compares it."""
        llm, instructions = self.settings_for()
        own = {"model": llm.model, "temperature": llm.temperature, "max_tokens": llm.max_tokens}
        own |= {"additional_instructions": instructions, "n": self.n, "vote": self.vote}
        return own | {"prompts": PROMPT_VERSION}

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        model = self.llm.model if self.llm == LLM(self.llm.model) else self.llm
        options = {"n": self.n, "vote": self.vote, "additional_instructions": self._instructions}
        return (model,), {k: v for k, v in options.items() if v not in (1, "median", None)}


def _request(
    llm: LLM, messages: Sequence[Message], schema: Mapping[str, Any], *, strict: bool = True
) -> ModelRequest:
    """Make a request; `strict`: the schema is one of ours, which providers accept as strict."""
    limits = (llm.temperature, llm.max_tokens, llm.timeout or _USUAL["timeout"], llm.api_base)
    return ModelRequest(llm.model, tuple(messages), *limits, schema, strict)


def _check_vote(vote: object) -> None:
    if not isinstance(vote, str) or vote not in VOTES:
        raise InputError(f"vote is {vote!r}; {nearest(vote, VOTES)}")


def _check_text(name: str, text: object) -> None:
    if text is not None and not (isinstance(text, str) and text.strip()):
        raise InputError(f"{name} is {text!r}; expected a text or None")


class Ensemble(FieldJudge):
    """A judge that takes a vote of several others.

    Parameters
    ----------
    judges : iterable of str, LLM or Judge
        At least two of what ``judge=`` takes: ``offline``, the id of a model, an `LLM`, an
        `LLMJudge`, or any object with a name and ``compare``.
    vote : str, optional
        How their scores are combined; see `LLMJudge`.
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
    >>> judge = Ensemble(["offline", LLMJudge("openai/gpt-4o-mini")], vote="min")
    >>> judge.name
    'min(offline, openai/gpt-4o-mini)'
    """

    def __init__(
        self, judges: Iterable[str | Judge], vote: str = "median", name: str | None = None
    ) -> None:
        _check_vote(vote)
        _check_text("name", name)
        is_list = not isinstance(judges, str) and isinstance(judges, Iterable)
        items = list(judges) if is_list else []
        if len(items) < 2:  # noqa: PLR2004
            raise InputError(f"judges is {judges!r}; expected a list of two judges or more")
        members = [choose_judge(item, f"judges[{i}]") for i, item in enumerate(items)]
        for (i, a), (j, b) in combinations(enumerate(members), 2):
            if _answers_of(a) == _answers_of(b):
                raise InputError(
                    f"judges[{i}] and judges[{j}] are the same, {a!r}, or would get the same "
                    "answers from the cache; to ask a model several times use LLMJudge(n=...)"
                )
        self.judges, self.vote, self._name = tuple(members), vote, name

    @property
    def name(self) -> str:
        """Name shown in results."""
        return self._name or f"{self.vote}({', '.join(judge.name for judge in self.judges)})"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the verdicts depend on; a resumed batch compares it."""
        members = [[judge.name, getattr(judge, "fingerprint", None)] for judge in self.judges]
        return {"vote": self.vote, "judges": members}

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        return self._with(judges=tuple(judge_of_document(j, gold, predicted) for j in self.judges))

    def _check(self, params: Mapping[str, Any]) -> None:
        for judge in self.judges:
            check_judge(judge, _without_model(params))

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        asked = question._replace(params=_without_model(question.params))
        outcomes = await gather_verdicts(verdict_of(judge, asked) for judge in self.judges)
        ballots = [(j.name, outcome) for j, outcome in zip(self.judges, outcomes, strict=True)]
        return take_vote(ballots, self.vote, pass_mark(question))

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        name = {} if self._name is None else {"name": self._name}
        return (list(self.judges),), {"vote": self.vote} | name


def _answers_of(judge: Judge) -> Any:
    """Return what the verdicts of a judge depend on; by default, the judge."""
    if isinstance(judge, LLMJudge) and judge.cache is not None:
        return judge.cache.path, judge.fingerprint
    return judge


def _without_model(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in params.items() if name != "model"}
