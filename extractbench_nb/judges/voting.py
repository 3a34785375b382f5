"""Several verdicts on one question: the vote over them, also where some are missing.

A missing verdict is neither a pass nor a fail. The vote stands only where it comes out the same
whatever the missing ones would have said; all votes here rise with each score, so that it is enough
to try them all at 0 and all at 1. The score is then that with all at 0: it is certain, and no voter
that is down raises it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from statistics import fmean, median_low
from typing import Any

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.base import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.metrics.registry import REGISTRY

__all__ = ["VOTES", "check_vote", "gather_verdicts", "pass_mark", "take_vote"]


def _mean(scores: Sequence[float]) -> float:
    """Return the mean, without a rounding error that would put it outside of the scores."""
    return min(max(fmean(scores), min(scores)), max(scores))


#: What becomes of several scores. The median is the lower of the two middle ones: at any mark it
#: passes where more than half pass.
VOTES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": median_low,
    "mean": _mean,
    "min": min,
    "max": max,
}

_REASON = "voted"
_PASS_MARK = 0.7
_LONGEST_WORDS = 200

Found = Verdict | Exception


def check_vote(vote: object) -> None:
    """Raise `InputError` for a vote that there is not, with the nearest one."""
    if not isinstance(vote, str) or vote not in VOTES:
        raise InputError(f"vote is {vote!r}; {nearest(vote, VOTES)}")


def pass_mark(question: Question) -> float:
    """Return the score that passes a question: ``pass_threshold`` of its params, else 0.7."""
    metric = REGISTRY.entries.get(question.metric)
    return _PASS_MARK if metric is None else metric.pass_mark(question.params)


async def gather_verdicts(asks: Iterable[Awaitable[Any]]) -> list[Found]:
    """Await several verdicts at once.

    Parameters
    ----------
    asks : iterable of awaitable
        Each gives a `Verdict`, or what has its score, reason and reasoning.

    Returns
    -------
    list of Verdict or Exception
        In the order of the asking; an error stands where a verdict would. What is no verdict is a
        `JudgeError` here.

    Raises
    ------
    asyncio.CancelledError, KeyboardInterrupt
        They are no answers, and come through.
    """
    found = await asyncio.gather(*asks, return_exceptions=True)
    for result in found:
        if isinstance(result, BaseException) and not isinstance(result, Exception):
            raise result
    return [r if isinstance(r, Exception) else _checked(r) for r in found]


def _checked(result: Any) -> Found:
    try:
        score = float(result.score)
        if 0.0 <= score <= 1.0:
            calls = tuple(getattr(result, "calls", ()))
            return Verdict(score, result.reason, result.reasoning, calls)
    except (AttributeError, TypeError, ValueError):
        pass
    shown = _cut(repr(result))
    return JudgeError(f"returned {shown}; expected a Verdict with a score from 0 to 1")


def take_vote(ballots: Sequence[tuple[str, Found]], vote: str, mark: float) -> Verdict:
    """Turn several verdicts into one.

    Parameters
    ----------
    ballots : sequence of tuple of (str, Verdict or Exception)
        The name of each voter, and what it said; at least one.
    vote : str
        One of `VOTES`.
    mark : float
        The score that passes.

    Returns
    -------
    Verdict
        The vote; with verdicts missing, what it comes to at least. The reason is the one that all
        give, else ``voted``; the reasoning quotes every voter, the calls are those of all.

    Raises
    ------
    JudgeError
        There is no verdict at all, or the missing ones decide whether the vote passes. It has the
        reason of the first that is missing, and all calls.

    Examples
    --------
    >>> yes, no, none = Verdict(1.0, "same"), Verdict(0.0, "other"), JudgeError("too late")
    >>> take_vote([("a", yes), ("b", yes), ("c", none)], "median", 0.7).score
    1.0
    >>> take_vote([("a", yes), ("b", no), ("c", none)], "median", 0.7)
    Traceback (most recent call last):
    extractbench_nb.judges.base.JudgeError: 1 of 3 gave no verdict, and the median depends on it...
    """
    given = [found for _, found in ballots if isinstance(found, Verdict)]
    calls = tuple(call for _, found in ballots for call in _calls(found))
    scores = [verdict.score for verdict in given]
    low, high = (VOTES[vote](scores + [end] * (len(ballots) - len(scores))) for end in (0.0, 1.0))
    if not given or (low >= mark) != (high >= mark):
        raise _undecided(ballots, vote, calls)
    reasons = {verdict.reason for verdict in given}
    reason = reasons.pop() if len(reasons) == 1 else _REASON
    return Verdict(low, reason, _reasoning(ballots, vote), calls)


def _undecided(
    ballots: Sequence[tuple[str, Found]], vote: str, calls: tuple[JudgeCall, ...]
) -> JudgeError:
    missing = [(name, found) for name, found in ballots if isinstance(found, Exception)]
    name, first = missing[0]
    reason = first.reason if isinstance(first, JudgeError) else "judge_failed"
    them = "it" if len(missing) == 1 else "them"
    return JudgeError(
        f"{len(missing)} of {len(ballots)} gave no verdict, and the {vote} depends on {them}; "
        f"{name}: {_problem(first)}",
        calls,
        reason,
    )


def _calls(found: Found) -> tuple[JudgeCall, ...]:
    return found.calls if isinstance(found, Verdict | JudgeError) else ()


def _reasoning(ballots: Sequence[tuple[str, Found]], vote: str) -> str:
    """Quote every voter in short."""
    return f"{vote} of " + " | ".join(f"{name} {_said(found)}" for name, found in ballots)


def _said(found: Found) -> str:
    if isinstance(found, Exception):
        return f"without a verdict ({_cut(_problem(found))})"
    return f"{found.score:.3g}: {_cut(found.reasoning or found.reason)}"


def _problem(error: Exception) -> str:
    return str(error) if isinstance(error, JudgeError) else f"{type(error).__name__}: {error}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_WORDS else text[:_LONGEST_WORDS] + "…"
