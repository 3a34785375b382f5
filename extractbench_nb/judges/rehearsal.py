"""Judges that only note what would be asked: for an estimate of the cost before anything is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from extractbench_nb._tokens import count_tokens
from extractbench_nb.judges.asking import Asked, is_readable
from extractbench_nb.judges.base import Judge, JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.ensemble import Ensemble
from extractbench_nb.judges.entries import request_key
from extractbench_nb.judges.llm import LLMJudge
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.judges.prompts import Message
from extractbench_nb.judges.questions import ask_anything, judge_values
from extractbench_nb.judges.replay import ReplayJudge
from extractbench_nb.judges.settings import DEFAULT_MODEL, Settings

__all__ = ["Notes", "PlannedCall", "Rehearsal", "rehearsing"]

T = TypeVar("T")

#: Tokens that a provider adds to each message.
_AROUND_MESSAGE = 4
#: Tokens of a verdict: its score and a sentence. Of 201 recorded ones of Gemini 2.5 Flash the
#: sentence has 40 on average, 58 at most.
VERDICT_TOKENS = 60
_NOTHING: Mapping[str, Any] = {}
_REASON = "rehearsal"


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
    messages : tuple of dict
        The question.
    prompt_tokens : int
        Of the question, as GPT-2 counts.
    answer_tokens, most_tokens : int
        Of an answer: of a usual one, and what the model may say at most.
    """

    field: str | None
    metric: str | None
    model: str
    cached: bool
    messages: tuple[Message, ...]
    prompt_tokens: int
    answer_tokens: int
    most_tokens: int


@dataclass
class Notes:
    """What a rehearsal has brought to light.

    Attributes
    ----------
    calls : list of PlannedCall
        What would be asked.
    asked : set
        Keys of what was noted before; the same again is at hand.
    unknown : set of str
        Names of judges that cannot be looked into; they were not asked.
    """

    calls: list[PlannedCall] = field(default_factory=list)
    asked: set[Any] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def rehearsing(judge: Judge, notes: Notes) -> Judge:
    """Return a judge that notes what another one would ask, and asks nobody.

    Parameters
    ----------
    judge : Judge
        The judge that would be asked.
    notes : Notes
        Where it notes it.

    Returns
    -------
    Judge
        It raises `JudgeError` where the other one would ask a model. Rules and recorded answers
        are followed; a judge of the user's is only noted by its name.
    """
    if isinstance(judge, LLMJudge):
        return Rehearsal(judge, notes)
    if isinstance(judge, Ensemble):
        members = [rehearsing(member, notes) for member in judge.judges]
        return Ensemble(members, judge.vote, judge.name)
    if isinstance(judge, ReplayJudge):
        other = judge.otherwise
        return judge if other is None else judge.replaced(rehearsing(other, notes))
    return judge if isinstance(judge, OfflineJudge) else Unknown(judge.name, notes)


class Unknown:
    """Judge in the place of one that may do anything; it has no verdict, and notes its name."""

    def __init__(self, name: str, notes: Notes) -> None:
        self.name, self._notes = name, notes

    def check(self, params: Mapping[str, Any] = _NOTHING) -> None:
        """Check nothing."""

    def settings_for(self, params: Mapping[str, Any] = _NOTHING) -> Settings:
        """Return the settings of nobody in particular."""
        return Settings(DEFAULT_MODEL)

    async def ask(self, question: Question) -> Verdict:
        """Ask nobody."""
        self._notes.unknown.add(self.name)
        raise JudgeError(f"{self.name} is not asked in a rehearsal", reason=_REASON)

    async def compare(self, gold: str, predicted: str) -> Verdict:
        """Ask nobody."""
        return await self.ask(Question(gold, predicted))

    async def answer(self, *args: Any, **more: Any) -> Any:
        """Ask nobody."""
        return await self.ask(Question(None, None))


class Rehearsal:
    """Judge that writes its questions down and asks nobody; see `rehearsing`.

    Parameters
    ----------
    judge : LLMJudge
        Whose options hold, and whose cache is looked into.
    notes : Notes
        Where its questions are noted.
    """

    def __init__(self, judge: LLMJudge, notes: Notes) -> None:
        self._judge, self._notes = judge, notes

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
        """Note a question, and give its answer if that is at hand."""
        cache, key = self._judge.cache, request_key(asked.document)
        kept = None if cache is None else cache.get(key)
        at_hand = kept is not None or (cache is not None and (cache.path, key) in self._notes.asked)
        if cache is not None:
            self._notes.asked.add((cache.path, key))
        self._notes.calls.append(_planned(field, metric, asked, at_hand))
        if kept is None or not is_readable(kept, asked):
            raise JudgeError("this is a rehearsal: nobody was asked", reason=_REASON)
        return JudgeCall(asked.settings.model, True, answer=kept.answer)


def _planned(field: str | None, metric: str | None, asked: Asked, at_hand: bool) -> PlannedCall:
    tokens = sum(count_tokens(m["content"]) + _AROUND_MESSAGE for m in asked.messages)
    model, most = asked.settings.model, asked.settings.max_tokens
    usual = min(VERDICT_TOKENS, most)
    return PlannedCall(field, metric, model, at_hand, asked.messages, tokens, usual, most)
