"""`Ensemble`: several judges vote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Self

from extractbench_nb.core.text import (
    Judge,
    Question,
    Verdict,
    check_judge,
    choose_judge,
    fingerprint_of,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.field_judges import (
    VOTES,
    FieldJudge,
    gather_verdicts,
    pass_mark,
    take_vote,
)
from extractbench_nb.judges.llm import LLMJudge

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
        members = [[judge.name, fingerprint_of(judge)] for judge in self._judges]
        return {"vote": self._vote, "judges": members}

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        members = tuple(judge_of_document(judge, gold, predicted) for judge in self._judges)
        return self._with(_judges=members)

    def _check(self, params: Mapping[str, Any]) -> None:
        for judge in self._judges:
            check_judge(judge, _without_model(params))

    async def ask(self, question: Question) -> Verdict:
        """Let the members judge the two values of a field.

        Parameters
        ----------
        question : Question
            The values, and what the schema says about the field.

        Returns
        -------
        Verdict
            The vote. Its reason is the one that all members give, else ``voted``; its reasoning
            quotes each of them; its calls are those of all members.

        Raises
        ------
        JudgeError
            Members without a verdict decide whether the vote passes.
        """
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
        if a == b:
            raise InputError(
                f"judges[{i}] and judges[{j}] are the same, {a!r}; to ask a model several times "
                "use LLMJudge(n=...)"
            )
        caches = [judge.cache for judge in (a, b) if isinstance(judge, LLMJudge)]
        paths = [cache.path for cache in caches if cache is not None]
        if len(paths) > 1 and paths[0] == paths[1] and fingerprint_of(a) == fingerprint_of(b):
            raise InputError(
                f"judges[{i}] and judges[{j}] would get the same answers from the cache: model, "
                "prompts and parameters are the same; to ask a model several times use "
                "LLMJudge(n=...)"
            )
    return members


def _without_model(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in params.items() if name != "model"}
