"""Judges that only note what would be asked: for an estimate of the cost before anything is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from extractbench_nb._tokens import count_tokens
from extractbench_nb.judges.asking import Asked
from extractbench_nb.judges.base import Judge, JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.ensemble import Ensemble
from extractbench_nb.judges.entries import request_key
from extractbench_nb.judges.llm import LLMJudge
from extractbench_nb.judges.prompts import Message
from extractbench_nb.judges.questions import ask_anything, judge_values
from extractbench_nb.judges.settings import Settings

__all__ = ["PlannedCall", "Rehearsal", "rehearsing"]

T = TypeVar("T")

#: Tokens that a provider adds to each message.
_AROUND_MESSAGE = 4
#: Tokens of a verdict: its score and a sentence. Of 201 recorded ones of Gemini 2.5 Flash the
#: sentence has 40 on average, 58 at most.
VERDICT_TOKENS = 60
_NOTHING: Mapping[str, Any] = {}


class PlannedCall(NamedTuple):
    """One call that would be made.

    Parameters
    ----------
    field, metric : str or None
        What it is about, where that is known.
    model : str
        Id of the model.
    cached : bool
        Whether the answer is at hand, or the same is asked before.
    prompt_tokens : int
        Of the question, as GPT-2 counts.
    answer_tokens, most_tokens : int
        Of an answer: of a usual one, and what the model may say at most.
    """

    field: str | None
    metric: str | None
    model: str
    cached: bool
    prompt_tokens: int
    answer_tokens: int
    most_tokens: int


#: Takes what would be asked.
Note = Callable[[PlannedCall], None]


def rehearsing(judge: Judge, note: Note, asked: set[Any]) -> Judge:
    """Return a judge that notes what another one would ask, and has no verdict.

    Parameters
    ----------
    judge : Judge
        The judge that would be asked. One that is no `LLMJudge`, nor made of such, is returned as
        it is.
    note : callable
        Takes each `PlannedCall`.
    asked : set
        What was noted before, by all judges that share it; the same again is at hand.

    Returns
    -------
    Judge
        It raises `JudgeError` where the other one would ask a model.
    """
    if isinstance(judge, LLMJudge):
        return Rehearsal(judge, note, asked)
    if isinstance(judge, Ensemble):
        members = [rehearsing(member, note, asked) for member in judge.judges]
        return Ensemble(members, judge.vote, judge.name)
    return judge


class Rehearsal:
    """Judge that writes its questions down and asks nobody; see `rehearsing`.

    Parameters
    ----------
    judge : LLMJudge
        Whose options hold, and whose cache is looked into.
    note : callable
        Takes each `PlannedCall`.
    asked : set
        Keys of what was noted before.
    """

    def __init__(self, judge: LLMJudge, note: Note, asked: set[Any]) -> None:
        self._judge, self._take, self._asked = judge, note, asked

    @property
    def name(self) -> str:
        """Name of the judge."""
        return self._judge.name

    def check(self, params: Mapping[str, Any] = _NOTHING) -> None:
        """Check the params of a field; no key is needed, nothing is asked."""
        self._judge.settings_for(params)

    def settings_for(self, params: Mapping[str, Any] = _NOTHING) -> Settings:
        """Return what holds for a field; see `LLMJudge.settings_for`."""
        return self._judge.settings_for(params)

    async def ask(self, question: Question) -> Verdict:
        """Note what would be asked about two values."""
        noted = partial(self._note, question.field, question.metric)
        return await judge_values(self._judge.settings_for(), question, noted)

    async def compare(self, gold: str, predicted: str) -> Verdict:
        """Note what would be asked about two texts."""
        return await self.ask(Question(gold, predicted))

    async def answer(
        self,
        messages: Sequence[Message],
        read: Callable[[str | None], T],
        schema: Mapping[str, Any],
        *,
        params: Mapping[str, Any] = _NOTHING,
        sample: int = 0,
    ) -> tuple[T, JudgeCall]:
        """Note that this would be asked; see `LLMJudge.answer`."""
        settings = self._judge.settings_for()
        return await ask_anything(
            settings,
            messages,
            read,
            schema,
            partial(self._note, None, None),
            params=params,
            sample=sample,
        )

    async def _note(self, field: str | None, metric: str | None, asked: Asked) -> JudgeCall:
        cache, key = self._judge.cache, request_key(asked.document)
        at_hand = False
        if cache is not None:
            at_hand = (cache.path, key) in self._asked or cache.get(key) is not None
            self._asked.add((cache.path, key))
        tokens = sum(count_tokens(m["content"]) + _AROUND_MESSAGE for m in asked.messages)
        model, most = asked.settings.model, asked.settings.max_tokens
        usual = min(VERDICT_TOKENS, most)
        self._take(PlannedCall(field, metric, model, at_hand, tokens, usual, most))
        raise JudgeError("this is a rehearsal: nobody was asked", reason="rehearsal")
