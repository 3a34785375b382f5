"""Judges without requests: `ReplayJudge` repeats what was recorded, rehearsals only take notes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import pandas as pd

from extractbench_nb.core import OptimalAligner, Profile
from extractbench_nb.core.schema import Node
from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    OfflineJudge,
    Question,
    Verdict,
    check_judge,
    choose_judge,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.core.values import canonical, without_brackets
from extractbench_nb.errors import InputError
from extractbench_nb.judges.cache import JudgeCache
from extractbench_nb.judges.client import litellm
from extractbench_nb.judges.environment import DEFAULT_MODEL
from extractbench_nb.judges.llm import LLM, Asked
from extractbench_nb.judges.llm_judge import (
    ABSENT,
    NO_PARAMS,
    Ensemble,
    LLMJudge,
    ModelJudge,
    gather_verdicts,
)
from extractbench_nb.judges.model_aligner import ALIGNING, Alignment, LLMAligner
from extractbench_nb.judges.prompts import PROMPT_VERSION, Unparsable, answer_tokens
from extractbench_nb.support.token_counts import count_tokens
from extractbench_nb.support.wording import cut

# --- replays ------------------------------------------------------------------------------------

#: Columns of recorded verdicts; the last two say what they are about, where that was recorded.
VERDICTS = (
    *("gold_hash", "predicted_hash", "schema_path", "field", "metric", "status", "score"),
    *("reason", "reasoning", "gold", "predicted"),
)
_INDEX = re.compile(r"\[\d*\]")
#: Options of a model that its recorded answers name.
_OPTIONS = ("model", "temperature", "max_tokens")
_SOURCES = (
    "a cache of answers or its folder, or a frame of recorded verdicts "
    "(xb.benchmark.read_verdicts reads a report.json)"
)


def document_hash(document: Any) -> str:
    """Return the hash that identifies a document in a report of the published package."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


class ReplayJudge(ModelJudge):
    """A judge that replays recorded answers or verdicts, without a model, key, network or cost.

    Parameters
    ----------
    source : str, pathlib.Path, JudgeCache, pandas.DataFrame or list of dict
        Recorded answers: a cache or its folder. Or recorded verdicts: rows as
        `extractbench_nb.benchmark.read_verdicts` returns them.
    like : LLMJudge, optional
        For answers, a judge with the options of the one that asked. It is needed if they are of
        several judges, several to one question (`n`), or to additional instructions; by default
        model, temperature and tokens are those of the first answer.
    otherwise : str, LLM or Judge, optional
        The judge of what was not recorded, such as ``offline``. Without one, such a field has the
        outcome ``judge_error`` and the reason ``not_recorded``.

    Raises
    ------
    InputError
        The source cannot be read or has neither form, or nothing is in it.

    Notes
    -----
    Recorded answers give the same fields, arrays and matches as the original evaluation, if the
    prompts have not changed since. Failures are not cached, and are ``not_recorded`` in a replay.

    Verdicts belong to the documents whose hashes were recorded. Those about fields outside of
    arrays are replayed; the published package judges an array as a whole. A call that failed when
    it was recorded is a ``judge_error`` with the reason ``recorded_failure``.

    Examples
    --------
    >>> import asyncio
    >>> row = {"field": "name", "metric": "string_semantic", "status": "judged", "score": 0.9}
    >>> judge = ReplayJudge([row | {"reasoning": "the same person"}])
    >>> judge.name
    'replay(verdicts)'
    >>> asyncio.run(judge.ask(Question("Ann Lee", "A. Lee", field="name"))).score
    0.9
    """

    def __init__(
        self,
        source: str | Path | JudgeCache | pd.DataFrame | Sequence[Mapping[str, Any]],
        *,
        like: LLMJudge | None = None,
        otherwise: str | Judge | None = None,
    ) -> None:
        self.otherwise = None if otherwise is None else choose_judge(otherwise, "otherwise")
        self._answers, self._verdicts = dict[str, str](), list[dict[str, Any]]()
        if isinstance(source, pd.DataFrame | list):
            self._verdicts = _verdicts_in(pd.DataFrame(source))
            like = LLMJudge(LLM("recorded/verdicts", cache=False))
        else:
            if not isinstance(source, str | Path | JudgeCache):
                raise InputError(f"source is {source!r}; expected {_SOURCES}")
            cache = source if isinstance(source, JudgeCache) else JudgeCache(source)
            entries = cache.entries()
            if not entries:
                raise InputError(f"{str(cache.path)!r} has no answers; expected {_SOURCES}")
            self._answers = {entry.key: entry.answer for entry in entries}
            options: dict[str, Any] = {name: entries[0].request.get(name) for name in _OPTIONS}
            like = like or LLMJudge(LLM(**options, cache=False))
        self.model, self.n, self.vote = like.model, like.n, like.vote
        self.additional_instructions = like.additional_instructions
        self._fingerprint = like.fingerprint

    @property
    def name(self) -> str:
        """Name shown in results: ``replay(...)`` of a model or of verdicts."""
        recorded = self.model.model if self._answers else "verdicts"
        other = "" if self.otherwise is None else f", else {self.otherwise.name}"
        return f"replay({recorded}{other})"

    def __repr__(self) -> str:
        """Write class and name."""
        return f"<ReplayJudge {self.name}>"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The settings that determine its verdicts; compared when a batch is resumed."""
        other = self.otherwise
        recorded = canonical(sorted(self._answers.items()) or self._verdicts)
        return {
            "recorded": hashlib.sha256(recorded.encode("utf-8", "surrogatepass")).hexdigest(),
            "like": self._fingerprint,
            "otherwise": other and [other.name, getattr(other, "fingerprint", None)],
        }

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        verdicts = self._verdicts
        for side, document in (("gold_hash", gold), ("predicted_hash", predicted)):
            digest = None
            with suppress(TypeError, ValueError, RecursionError):  # it is no JSON
                digest = document_hash(document) if verdicts else None
            verdicts = [row for row in verdicts if row[side] in (None, digest)]
        other = self.otherwise and judge_of_document(self.otherwise, gold, predicted)
        return self._with(_verdicts=verdicts, otherwise=other)

    def _check(self, params: Mapping[str, Any]) -> None:
        if self._answers:
            self.settings_for(params)
        if self.otherwise is not None:
            check_judge(self.otherwise, params)

    async def _verdict(self, question: Question) -> Verdict:
        try:
            if self._answers:
                return await super()._verdict(question)
            return self._recorded(question)
        except JudgeError as error:
            if self.otherwise is None or error.reason != ABSENT:
                raise
        (verdict,) = await gather_verdicts([verdict_of(self.otherwise, question)])
        if isinstance(verdict, Exception):
            raise verdict
        why = verdict.reasoning or verdict.reason
        reasoning = f"not recorded; judged by {self.otherwise.name}: {why}"
        return verdict._replace(reasoning=reasoning)

    async def _call(self, asked: Asked) -> JudgeCall:
        model, answer = asked.request.model, self._answers.get(asked.key)
        if answer is None:
            about = "" if asked.question is None else f" about {asked.question.field!r}"
            raise JudgeError(
                f"{model}: no recorded answer to this question{about}, for these values, options "
                f"and prompts (version {PROMPT_VERSION})",
                reason=ABSENT,
            )
        call = JudgeCall(model, True, 0, 0, 0, 0.0, answer=answer)
        try:
            asked.read(answer)
        except Unparsable as error:
            failed = call._replace(error=f"unparsable: {error}")
            problem = f"{model}: the recorded answer cannot be read: {error}"
            raise JudgeError(problem, (failed,), "unparsable") from None
        return call

    def _recorded(self, question: Question) -> Verdict:
        """Return the recorded verdict on a field."""
        path, field = question.schema_path or "", question.field or ""
        names = (path, without_brackets(path), field, without_brackets(field))
        named = (
            [row for row in self._verdicts if name in (row["schema_path"], row["field"])]
            for name in filter(None, names)
        )
        rows = next(filter(None, named), [])
        own = [row for row in rows if row["metric"] == question.metric]
        if any(row["status"] == "failed" for row in own or rows):
            problem = f"the call about {field!r} failed when it was recorded"
            raise JudgeError(problem, reason="recorded_failure")
        sides = (("gold", question.gold), ("predicted", question.predicted))
        if len(own) == 1 and own[0]["status"] == "judged" and not _INDEX.search(field):
            row = own[0]
            if all(row[s] is None or canonical(row[s]) == canonical(v) for s, v in sides):
                return Verdict(float(row["score"]), "recorded", row["reasoning"])
        raise JudgeError(
            f"no verdict was recorded about {field!r} by {question.metric!r} for these values and "
            "documents; those inside arrays are not replayed",
            reason=ABSENT,
        )


def _verdicts_in(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Check a frame of recorded verdicts, and return its rows."""
    frame = frame.reindex(columns=list(VERDICTS)).astype(object)
    rows: list[dict[str, Any]] = frame.where(frame.notna(), None).to_dict("records")  # type: ignore[assignment]
    for number, row in enumerate(rows):
        named = isinstance(row["field"] or row["schema_path"], str) and row["metric"]
        if not named or (row["status"] == "judged" and row["score"] is None):
            raise InputError(
                f"row {number} of the verdicts is {cut(repr(row), 200)}; expected a field, a "
                "metric, a status, and, where that is 'judged', a score"
            )
    if not rows:
        raise InputError("the recorded verdicts are empty")
    return rows


# --- rehearsals: what judges and aligners would ask, for estimates of cost ----------------------

#: Tokens that a provider adds to each message.
_AROUND_MESSAGE = 4
#: Tokens of a verdict: its code, its score and a sentence. Of 201 recorded ones of Gemini 2.5 Flash
#: the sentence has 40 on average, 58 at most.
VERDICT_TOKENS = 75


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
        return Ensemble([rehearsing(member, notes) for member in judge.judges], judge.vote)
    return judge if isinstance(judge, OfflineJudge) else Rehearsal(judge, notes)


class Rehearsal(ModelJudge):
    """Notes what an `LLMJudge` would ask, or the name of another judge, without asking it."""

    def __init__(self, judge: Judge, notes: Notes) -> None:
        self.is_known = isinstance(judge, LLMJudge)
        if self.is_known:
            litellm()  # its prices and limits are needed
        known = judge if self.is_known else LLMJudge(LLM(DEFAULT_MODEL, cache=False))
        self.__dict__.update(vars(known))
        self._name, self._notes = judge.name, notes

    @property
    def name(self) -> str:
        """The name of the judge that it stands for."""
        return self._name

    def _check(self, params: Mapping[str, Any]) -> None:
        """Need no key."""

    async def _call(self, asked: Asked) -> JudgeCall:
        """Note a question, and return its answer if that is cached."""
        cache, request, notes = self.model.cache, asked.request, self._notes
        unasked = JudgeError("this is a rehearsal: no request was made", reason="rehearsal")
        if not self.is_known:
            notes.unknown.add(self._name)
            raise unasked
        answer = None if cache is None else asked.stored(cache)
        cached = answer is not None
        if cache is not None:
            cached = cached or (cache.path, asked.key) in notes.asked
            notes.asked.add((cache.path, asked.key))
        about, most = asked.question, request.max_tokens or VERDICT_TOKENS
        tokens = sum(count_tokens(m["content"]) + _AROUND_MESSAGE for m in request.messages)
        call = PlannedCall(
            about and about.field,
            about and about.metric,
            request.model,
            cached,
            request.messages,
            tokens,
            min(VERDICT_TOKENS, most),
            most,
        )
        notes.calls.append(call)
        if answer is None:
            raise unasked
        return JudgeCall(request.model, True, answer=answer)


class RehearsedAligner(LLMAligner):
    """Notes what would be asked about arrays, and pairs items as the offline aligner does."""

    def __init__(self, aligner: LLMAligner, notes: Notes, profile: Profile) -> None:
        self.__dict__.update(aligner.__dict__)
        self._aligner, self._notes = aligner, notes
        self._optimal = OptimalAligner.offline(profile)

    def check(self, params: Mapping[str, Any] = NO_PARAMS) -> None:
        """Need no key."""

    async def align(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Alignment:
        """Note the questions that have no answer in the cache, and align without a model."""
        of_array = Notes([], self._notes.asked, self._notes.unknown)
        noting: Any = rehearsing(cast("Judge", self._aligner.judge), of_array)
        try:  # as far as answers are cached
            return await replace(self._aligner, judge=noting).align(node, gold, predicted)
        except JudgeError:
            return Alignment(self._optimal(node, gold, predicted))
        finally:
            for call in of_array.calls:
                tokens = min(answer_tokens(call.messages), call.most_tokens)
                noted = call._replace(field=node.field or "$", metric=ALIGNING)
                self._notes.calls.append(noted._replace(answer_tokens=tokens))
