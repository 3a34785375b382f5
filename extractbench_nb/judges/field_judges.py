"""What this package's judges have in common: `FieldJudge`, and votes over several verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, median_low
from typing import Any, Self

from extractbench_nb.core import REGISTRY
from extractbench_nb.core.text import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.errors import UnavailableError
from extractbench_nb.support.wording import cut

#: For a field without params.
NO_PARAMS: Mapping[str, Any] = {}


class ClientError(UnavailableError):
    """The client for language models cannot be imported or configured, so nothing can be asked.

    It ends the work, and is never the verdict on a field.
    """


class FieldJudge:
    """Base class of this package's field judges."""

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments of an equal judge; by default a judge equals only itself."""
        return (id(self),), {}

    def _check(self, params: Mapping[str, Any]) -> None:
        """Implement `check`."""

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        return self

    def check(self, params: Mapping[str, Any] = NO_PARAMS) -> None:
        """Check, before any work and without network, that the judge can be asked.

        After this call, a model whose key was refused or that was not found is asked again.

        Parameters
        ----------
        params : mapping, optional
            The params of a field, which may name another model.

        Raises
        ------
        InputError
            The provider is not known, its key is not in the environment (the message names the
            variable), or there is a budget but no price.
        UnavailableError
            LiteLLM is not installed, or does not work.
        ConfigError
            A param cannot be used; a ``prompt_template`` with other placeholders, for example.
        OutputError
            The cache cannot be used.
        """
        self._check(params)

    def for_document(self, gold: Any, predicted: Any) -> Self:
        """Return the judge for one evaluation; recorded reports belong to certain documents."""
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
            With the calls behind it. The reason of a vote is the one that all members give, else
            ``voted``, and its reasoning quotes each of them.

        Raises
        ------
        JudgeError
            There is no verdict, or those that are missing decide whether a vote passes.
        """
        return await self._verdict(question)

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        """Implement `ask`."""
        raise NotImplementedError

    async def compare(self, gold: str, predicted: str) -> Verdict:
        """Judge one pair of texts, without a field or schema.

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


def _mean(scores: Sequence[float]) -> float:
    """Return the mean, without a rounding error that would put it outside of the scores."""
    return min(max(fmean(scores), min(scores)), max(scores))


#: How several scores are combined. The median of an even number is the lower middle score, so it
#: passes only if more than half of the scores pass.
VOTES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": median_low,
    "mean": _mean,
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
        if isinstance(result, Exception) and not isinstance(result, UnavailableError):
            outcomes.append(result)
            continue
        if isinstance(result, BaseException):
            raise result
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
    verdicts: list[Verdict] = []
    problems: list[tuple[str, JudgeError]] = []
    calls: list[JudgeCall] = []
    said = []
    for name, outcome in ballots:
        if isinstance(outcome, Verdict):
            verdicts.append(outcome)
            calls.extend(outcome.calls)
            text = cut(outcome.reasoning or outcome.reason, _LONGEST_WORDS)
            words = f"{outcome.score:.3g}: {text}"
        else:
            unexpected = f"{type(outcome).__name__}: {outcome}"
            error = outcome if isinstance(outcome, JudgeError) else JudgeError(unexpected)
            problems.append((name, error))
            calls.extend(error.calls)
            words = f"no verdict ({cut(error.problem, _LONGEST_WORDS)})"
        said.append(f"{name} {words}")
    scores = [verdict.score for verdict in verdicts]
    low, high = (VOTES[vote](scores + [end] * len(problems)) for end in (0.0, 1.0))
    if not verdicts or (low >= mark) != (high >= mark):
        name, first = problems[0]
        them = "it" if len(problems) == 1 else "them"
        raise JudgeError(
            f"{len(problems)} of {len(ballots)} gave no verdict, and the {vote} depends on {them}; "
            f"{name}: {first}",
            calls,
            first.reason,
        )
    reasons = {verdict.reason for verdict in verdicts}
    reason = reasons.pop() if len(reasons) == 1 else "voted"
    return Verdict(low, reason, f"{vote} of {' | '.join(said)}", tuple(calls))
