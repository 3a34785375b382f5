"""Votes over several verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from statistics import fmean, median_low
from typing import Any

from extractbench_nb.core import REGISTRY
from extractbench_nb.core.text import JudgeError, Question, Verdict
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
    calls: list[Any] = []
    quotes = []
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
        quotes.append(f"{name} {words}")
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
    return Verdict(low, reason, f"{vote} of {' | '.join(quotes)}", tuple(calls))
