"""The interface of judges: questions, verdicts, calls and errors."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Question(NamedTuple):
    """A question to a judge about one field, with two values and their part of the schema.

    Parameters
    ----------
    gold, predicted : object
        The two JSON values.
    metric : str
        Id of the metric that needs the judge.
    params : mapping of str to object
        The metric's params at this field; some concern the judge, such as ``model``.
    schema_path : str or None
        JSON Schema path of the field.
    field : str or None
        Path of the field without indices, ``authors[].name``.
    type : str or None
        Its type in the schema: ``string``, ``number or null``.
    description : str or None
        Its description in the schema.
    gold_state, predicted_state : str
        ``present``, ``null``, ``missing`` or ``empty``.

    Examples
    --------
    >>> Question("ACME Inc.", "Acme Incorporated", field="buyer.name").metric
    'string_semantic'
    """

    gold: Any
    predicted: Any
    metric: str = "string_semantic"
    params: Mapping[str, Any] = {}
    schema_path: str | None = None
    field: str | None = None
    type: str | None = None
    description: str | None = None
    gold_state: str = "present"
    predicted_state: str = "present"


class JudgeCall(NamedTuple):
    """One question to a model: attempts, tokens, cost, and the answer or error.

    Parameters
    ----------
    model : str
        Id of the model.
    cached : bool
        Whether the answer came from the cache: no request was made, and it cost nothing.
    attempts : int
        Requests that were made.
    prompt_tokens, completion_tokens : int or None
        As the provider counts them, over all answered requests; None if it does not report
        them.
    cost_usd : float or None
        The cost at LiteLLM's list prices; None if the price is unknown.
    latency_seconds : float
        From the first request to the answer, waits between attempts included.
    score : float or None
        Score in the answer, in [0, 1]; None without a verdict.
    answer : str or None
        The model's last answer, unchanged.
    error : str or None
        Why there is no verdict.
    """

    model: str
    cached: bool = False
    attempts: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    latency_seconds: float = 0.0
    score: float | None = None
    answer: str | None = None
    error: str | None = None


class Verdict(NamedTuple):
    """A judge's answer for one pair of values.

    Attributes
    ----------
    score : float
        Degree to which the values mean the same, in [0, 1]. The caller decides what passes:
        ``score >= pass_threshold``, 0.7 by default.
    reason : str
        Identifier of the deciding observation, such as ``date`` or ``different_number``.
    reasoning : str or None
        The judge's explanation, if it gives one.
    calls : tuple of JudgeCall
        The model calls behind it; empty for a rule-based judge.
    """

    score: float
    reason: str
    reasoning: str | None = None
    calls: tuple[JudgeCall, ...] = ()

    def __repr__(self) -> str:
        """Leave out an empty list of calls."""
        calls = f", calls={self.calls!r}" if self.calls else ""
        return (
            f"Verdict(score={self.score!r}, reason={self.reason!r}, "
            f"reasoning={self.reasoning!r}{calls})"
        )


class JudgeError(Exception):
    """A judge gave no verdict, because of a missing or unreadable answer or an exhausted budget.

    Parameters
    ----------
    problem : str
        What happened, in words.
    calls : iterable of JudgeCall, optional
        The calls that were made, with their costs.
    reason : str, optional
        Short machine word: ``timeout``, ``rate_limit``, ``unparsable``, ``budget``, ...

    Examples
    --------
    >>> JudgeError("no answer within 60 s", reason="timeout").reason
    'timeout'
    """

    def __init__(
        self, problem: str, calls: Iterable[JudgeCall] = (), reason: str = "judge_failed"
    ) -> None:
        self.problem = problem
        self.calls = tuple(calls)
        self.reason = reason
        super().__init__(problem)

    def __reduce__(self) -> tuple[type[JudgeError], tuple[str, tuple[JudgeCall, ...], str]]:
        """Pickle by the arguments, so that worker processes can pass the error on."""
        return (type(self), (self.problem, self.calls, self.reason))


@runtime_checkable
class Judge(Protocol):
    """An object that can judge how far two texts mean the same."""

    @property
    def name(self) -> str:
        """Name shown in results."""

    def compare(self, gold: str, predicted: str) -> Verdict | Awaitable[Verdict]:
        """Judge one pair of texts; it may be an ``async def``, whose verdicts are then awaited."""
