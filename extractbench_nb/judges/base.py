"""What a judge is: the question it gets, the verdict it gives, and what it says without one."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

__all__ = ["Judge", "JudgeCall", "JudgeError", "Question", "Verdict"]


class Question(NamedTuple):
    """What a judge is asked about one field: two values, and what the schema says of them.

    Parameters
    ----------
    gold, predicted : object
        The two JSON values.
    metric : str
        Id of the metric that asks.
    params : mapping of str to object
        The metric's params at this field; some concern the judge, such as ``model``.
    schema_path : str or None
        JSON Schema path of the field.
    field : str or None
        Path of the field without indices, ``authors[].name``.
    type : str or None
        What the schema says it is: ``string``, ``number or null``.
    description : str or None
        The schema's words on it.
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
    """What asking a model once took, and what came of it.

    Parameters
    ----------
    model : str
        Id of the model.
    cached : bool
        Whether the answer was at hand: no request was made for it, and it cost nothing.
    attempts : int
        Requests that were made.
    prompt_tokens, completion_tokens : int or None
        As the provider counts them, over all requests that were answered; None where it does not
        say.
    cost_usd : float or None
        At the list prices that LiteLLM knows; None where it has no price.
    latency_seconds : float
        From the first request to the answer, waits between attempts included.
    score : float or None
        What the answer says, in [0, 1]; None without a verdict.
    answer : str or None
        The model's last words, as they came.
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
        Degree of sameness in [0, 1]. The caller decides what passes: ``score >= pass_threshold``,
        0.7 by default.
    reason : str
        Short machine word for the deciding observation, such as ``date`` or ``different_number``.
    reasoning : str or None
        The judge's own words, where it has any.
    calls : tuple of JudgeCall
        The calls of models behind it; none for a judge that follows rules.
    """

    score: float
    reason: str
    reasoning: str | None = None
    calls: tuple[JudgeCall, ...] = ()

    def __repr__(self) -> str:
        """Leave the calls out where there are none."""
        told = f"score={self.score!r}, reason={self.reason!r}, reasoning={self.reasoning!r}"
        return f"Verdict({told}, calls={self.calls!r})" if self.calls else f"Verdict({told})"


class JudgeError(Exception):
    """A judge has no verdict: no answer, none that can be read, or nothing left to spend.

    Parameters
    ----------
    problem : str
        What happened, in words.
    calls : iterable of JudgeCall, optional
        What was tried, and what it cost.
    reason : str, optional
        Short machine word: ``timeout``, ``rate_limit``, ``unparsable``, ``budget``, ...

    Attributes
    ----------
    calls : tuple of JudgeCall
        As given.
    reason : str
        As given.

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
    """Anything that can say how far two texts mean the same."""

    @property
    def name(self) -> str:
        """Name shown in results."""
        ...

    def compare(self, gold: str, predicted: str) -> Verdict | Awaitable[Verdict]:
        """Judge one pair of texts; it may be an ``async def``, whose verdicts are then awaited.

        Parameters
        ----------
        gold, predicted : str
            The two texts; any string is allowed.

        Returns
        -------
        Verdict
            Score in [0, 1] with its reason.
        """
        ...
