"""Votes over several verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from statistics import fmean, median_low
from typing import Any

from extractbench_nb.core import REGISTRY
from extractbench_nb.core.text import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.errors import UnavailableError
from extractbench_nb.support.wording import cut


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
        them = "it" if len(errors) == 1 else "them"
        problem = f"{len(errors)} of {len(ballots)} gave no verdict, and the {vote} depends on "
        raise JudgeError(f"{problem}{them}; {name}: {first}", calls, first.reason)
    reasons = {verdict.reason for verdict in verdicts}
    reason = reasons.pop() if len(reasons) == 1 else "voted"
    return Verdict(low, reason, f"{vote} of {' | '.join(quotes)}", tuple(calls))
