"""Rehearsals: what judges and aligners would ask, without asking it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from extractbench_nb.core import OptimalAligner, Profile
from extractbench_nb.core.schema import Node
from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    OfflineJudge,
    Question,
    Verdict,
)
from extractbench_nb.judges.cache import look_up, request_key
from extractbench_nb.judges.calls import Asked
from extractbench_nb.judges.client import litellm
from extractbench_nb.judges.environment import DEFAULT_MODEL
from extractbench_nb.judges.llm import Ensemble, LLMJudge, ModelJudge
from extractbench_nb.judges.model_aligner import ALIGNING, Alignment, LLMAligner
from extractbench_nb.judges.prompts import Message, answer_tokens
from extractbench_nb.judges.replay import ReplayJudge
from extractbench_nb.judges.settings import Unchecked
from extractbench_nb.support.token_counts import count_tokens

#: Tokens that a provider adds to each message.
_AROUND_MESSAGE = 4
#: Tokens of a verdict: its code, its score and a sentence. Of 201 recorded ones of Gemini 2.5 Flash
#: the sentence has 40 on average, 58 at most.
VERDICT_TOKENS = 75
_REASON = "rehearsal"


class PlannedCall(NamedTuple):
    """One call that would be made; its field and metric, if known."""

    field: str | None
    metric: str | None
    model: str
    cached: bool
    messages: tuple[Message, ...]
    prompt_tokens: int
    answer_tokens: int  # of a usual answer
    most_tokens: int  # that the model may say


@dataclass
class Notes:
    """The calls that a rehearsal has collected."""

    calls: list[PlannedCall] = field(default_factory=list)
    #: Keys of noted calls: a real run would have cached their answers.
    asked: set[Any] = field(default_factory=set)
    #: Names of judges that are not asked in a rehearsal.
    unknown: set[str] = field(default_factory=set)


def rehearsing(judge: Judge, notes: Notes) -> Judge:
    """Return a judge that notes what another one would ask, without asking it."""
    if isinstance(judge, LLMJudge):
        litellm()  # its prices and limits are needed
        return Rehearsal(judge, notes)
    if isinstance(judge, Ensemble):
        members = [rehearsing(member, notes) for member in judge.judges]
        return Ensemble(members, judge.vote, judge.name)
    if isinstance(judge, ReplayJudge):
        other = judge.otherwise
        return judge if other is None else judge.replaced(rehearsing(other, notes))
    return judge if isinstance(judge, OfflineJudge) else Unknown(judge.name, notes)


class Unknown(ModelJudge):
    """Stands for a judge that is not asked in a rehearsal: notes its name, has no verdict."""

    def __init__(self, name: str, notes: Notes) -> None:
        self.name, self._notes, self._settings = name, notes, Unchecked(DEFAULT_MODEL)

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        raise self._noted()

    async def _answer(self, asked: Asked) -> JudgeCall:
        raise self._noted()

    def _noted(self) -> JudgeError:
        self._notes.unknown.add(self.name)
        return JudgeError(f"{self.name} is not asked in a rehearsal", reason=_REASON)


class Rehearsal(ModelJudge):
    """Judge that notes what an `LLMJudge` would ask, without asking it; see `rehearsing`."""

    def __init__(self, judge: LLMJudge, notes: Notes) -> None:
        self.name, self._cache, self._notes = judge.name, judge.cache, notes
        self._settings = judge.settings_for()

    async def _answer(self, asked: Asked) -> JudgeCall:
        """Note a question, and return its answer if that is cached."""
        cache, key = self._cache, request_key(asked.document)
        entry = None if cache is None else look_up(cache, key)
        cached = entry is not None
        if cache is not None:
            cached = cached or (cache.path, key) in self._notes.asked
            self._notes.asked.add((cache.path, key))
        model, most = asked.settings.model, asked.settings.max_tokens
        about = asked.question
        field, metric = (about.field, about.metric) if about else (None, None)
        tokens = sum(count_tokens(m["content"]) + _AROUND_MESSAGE for m in asked.messages)
        usual = min(VERDICT_TOKENS, most)
        self._notes.calls.append(
            PlannedCall(field, metric, model, cached, asked.messages, tokens, usual, most)
        )
        if entry is None or not asked.is_readable(entry):
            raise JudgeError("this is a rehearsal: no request was made", reason=_REASON)
        return JudgeCall(model, True, answer=entry.answer)


class RehearsedAligner(LLMAligner):
    """Notes what would be asked about arrays, and pairs items as the offline aligner does."""

    def __init__(self, aligner: LLMAligner, notes: Notes, profile: Profile) -> None:
        self._asking = cast("Judge", aligner.judge)
        self._notes = notes
        noting: Any = rehearsing(self._asking, notes)
        most, candidates = aligner.max_prompt_tokens, aligner.candidates
        super().__init__(noting, max_prompt_tokens=most, candidates=candidates)
        self._optimal = OptimalAligner.offline(profile)

    async def align(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Alignment:
        """Note the questions that have no answer in the cache, and align without a model."""
        of_array = Notes([], self._notes.asked, self._notes.unknown)
        noting: Any = rehearsing(self._asking, of_array)
        limits = {"max_prompt_tokens": self.max_prompt_tokens, "candidates": self.candidates}
        aligner = LLMAligner(noting, **limits)
        try:
            return await aligner.align(node, gold, predicted)  # as far as answers are cached
        except JudgeError:
            return Alignment(self._optimal(node, gold, predicted))
        finally:
            for call in of_array.calls:
                tokens = min(answer_tokens(call.messages), call.most_tokens)
                field = node.field or "$"
                noted = call._replace(field=field, metric=ALIGNING, answer_tokens=tokens)
                self._notes.calls.append(noted)
