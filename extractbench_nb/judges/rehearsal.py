"""Rehearsals: what judges and aligners would ask, without asking it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from extractbench_nb.judges.calls import Asked
from extractbench_nb.judges.client import litellm
from extractbench_nb.judges.environment import DEFAULT_MODEL
from extractbench_nb.judges.llm import LLM
from extractbench_nb.judges.llm_judge import Ensemble, LLMJudge, ModelJudge
from extractbench_nb.judges.model_aligner import ALIGNING, Alignment, LLMAligner, with_judge
from extractbench_nb.judges.prompts import answer_tokens
from extractbench_nb.judges.replay import ReplayJudge
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
    messages: tuple[Mapping[str, Any], ...]
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
    if isinstance(judge, ReplayJudge):
        other = judge.otherwise
        return judge if other is None else judge._with(otherwise=rehearsing(other, notes))
    if isinstance(judge, Ensemble):
        members = [rehearsing(member, notes) for member in judge.judges]
        return Ensemble(members, judge.vote, judge.name)
    return judge if isinstance(judge, OfflineJudge) else Rehearsal(judge, notes)


class Rehearsal(ModelJudge):
    """Notes what an `LLMJudge` would ask, or the name of another judge, without asking it."""

    def __init__(self, judge: Judge, notes: Notes) -> None:
        self.is_known = isinstance(judge, LLMJudge)
        if self.is_known:
            litellm()  # its prices and limits are needed
        model = judge if self.is_known else LLMJudge(LLM(DEFAULT_MODEL, cache=False))
        self.__dict__.update(vars(model))
        self.name, self._notes = judge.name, notes

    def _check(self, params: Mapping[str, Any]) -> None:
        if self.is_known:  # no key is needed
            self.settings_for(params)

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        if self.is_known:
            return await super()._verdict(question, sample)
        raise self._unknown()

    def _unknown(self) -> JudgeError:
        self._notes.unknown.add(self.name)
        return JudgeError(f"{self.name} is not asked in a rehearsal", reason=_REASON)

    async def _call(self, asked: Asked) -> JudgeCall:
        """Note a question, and return its answer if that is cached."""
        if not self.is_known:
            raise self._unknown()
        cache, request = self.llm.cache, asked.request
        entry = None if cache is None else cache.get(asked.key)
        cached = entry is not None
        if cache is not None:
            cached = cached or (cache.path, asked.key) in self._notes.asked
            self._notes.asked.add((cache.path, asked.key))
        about, most = asked.question, request.max_tokens or VERDICT_TOKENS
        field, metric = (about.field, about.metric) if about else (None, None)
        tokens = sum(count_tokens(m["content"]) + _AROUND_MESSAGE for m in request.messages)
        model, usual = request.model, min(VERDICT_TOKENS, most)
        self._notes.calls.append(
            PlannedCall(field, metric, model, cached, request.messages, tokens, usual, most)
        )
        if entry is None or not asked.is_readable(entry.answer):
            raise JudgeError("this is a rehearsal: no request was made", reason=_REASON)
        return JudgeCall(model, True, answer=entry.answer)


class RehearsedAligner(LLMAligner):
    """Notes what would be asked about arrays, and pairs items as the offline aligner does."""

    def __init__(self, aligner: LLMAligner, notes: Notes, profile: Profile) -> None:
        self.__dict__.update(aligner.__dict__)
        self._aligner, self._notes = aligner, notes
        self._optimal = OptimalAligner.offline(profile)

    async def align(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Alignment:
        """Note the questions that have no answer in the cache, and align without a model."""
        of_array = Notes([], self._notes.asked, self._notes.unknown)
        noting: Any = rehearsing(cast("Judge", self._aligner.judge), of_array)
        try:  # as far as answers are cached
            return await with_judge(self._aligner, noting).align(node, gold, predicted)
        except JudgeError:
            return Alignment(self._optimal(node, gold, predicted))
        finally:
            for call in of_array.calls:
                tokens = min(answer_tokens(call.messages), call.most_tokens)
                field = node.field or "$"
                noted = call._replace(field=field, metric=ALIGNING, answer_tokens=tokens)
                self._notes.calls.append(noted)
