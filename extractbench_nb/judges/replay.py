"""`ReplayJudge` repeats recorded verdicts; rehearsals collect the calls that a judge would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    OfflineJudge,
    Question,
    Verdict,
    check_judge,
    choose_judge,
    fingerprint_of,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.errors import InputError
from extractbench_nb.judges.cache import JudgeCache, request_key
from extractbench_nb.judges.calls import Asked
from extractbench_nb.judges.client import litellm
from extractbench_nb.judges.ensemble import Ensemble
from extractbench_nb.judges.field_judges import gather_verdicts
from extractbench_nb.judges.llm import ABSENT, LLMJudge, ModelJudge
from extractbench_nb.judges.prompts import Message
from extractbench_nb.judges.recorded import RecordedReports, open_recording
from extractbench_nb.judges.settings import DEFAULT_MODEL, Unchecked
from extractbench_nb.support.token_counts import count_tokens


class ReplayJudge(ModelJudge):
    """A judge that repeats recorded verdicts, without a model, key, network or cost.

    Parameters
    ----------
    path : str, pathlib.Path or JudgeCache
        A file that `JudgeCache.export` wrote, a cache or its folder; or a ``report.json`` of the
        published package or of this one, or a folder with one report per document and prediction.
    like : LLMJudge, optional
        For recorded answers, a judge with the options of the one that asked. It is needed if
        `path` holds answers of several judges, several answers to one question (`n`), or answers to
        additional instructions; otherwise model, temperature and tokens are read from the answers.
    otherwise : str or Judge, optional
        The judge of what was not recorded, such as ``offline``. Without one, such a field has the
        outcome ``judge_error`` and the reason ``not_recorded``.

    Raises
    ------
    InputError
        The file cannot be read or has neither form, nothing is in it, or `like` is needed.

    Notes
    -----
    Recorded answers give the same fields, arrays and matches as the original evaluation, if the
    prompts have not changed since. Failures are not cached, and are ``not_recorded`` in a replay.

    A report belongs to one pair of documents, which it names by their hashes: in an evaluation of
    other documents it has no verdict, and from a folder the report with these hashes is used.
    Verdicts about fields outside of arrays are replayed; the published package judges an array as a
    whole. A field passes by its recorded score, at the threshold of the schema. A call that failed
    when it was recorded is a ``judge_error`` with the reason ``recorded_failure``.

    Examples
    --------
    >>> import asyncio, json, tempfile
    >>> row = {"path": "$.properties.name", "normalized_path": "name", "score": 0.9}
    >>> row |= {"metric_id": "string_semantic", "reasoning": "the same person"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.json")
    ...     _ = path.write_text(json.dumps({"field_outcomes": [row]}))
    ...     judge = ReplayJudge(path)
    >>> asyncio.run(judge.ask(Question("Ann Lee", "A. Lee", field="name"))).score
    0.9
    """

    def __init__(
        self,
        path: str | Path | JudgeCache,
        *,
        like: LLMJudge | None = None,
        otherwise: str | Judge | None = None,
    ) -> None:
        given: object = like
        if not isinstance(path, JudgeCache):
            if not (isinstance(path, str | Path) and str(path).strip()):  # type: ignore[redundant-expr]
                raise InputError(
                    f"path is {path!r}; expected a file of JudgeCache.export, a cache or its "
                    "folder, a report.json or a folder of such"
                )
            path = Path(path).expanduser().absolute()
        if given is not None and not isinstance(given, LLMJudge):
            raise InputError(
                f"like is {like!r}; expected an LLMJudge with the options of the one that asked"
            )
        self._path = path
        self._like = like
        self._otherwise = None if otherwise is None else choose_judge(otherwise, "otherwise")
        settings = None if like is None else like.settings_for()
        self._recording = open_recording(self._path, settings)
        self._settings = self._recording.settings

    @property
    def name(self) -> str:
        """Name shown in results: ``replay(...)`` of a model or a report."""
        other = "" if self._otherwise is None else f", else {self._otherwise.name}"
        return f"replay({self._recording.name}{other})"

    @property
    def otherwise(self) -> Judge | None:
        """The judge of what was not recorded."""
        return self._otherwise

    def replaced(self, otherwise: Judge) -> ReplayJudge:
        """Return the same judge with another judge for what was not recorded.

        Parameters
        ----------
        otherwise : Judge
            The judge of what was not recorded.

        Returns
        -------
        ReplayJudge
            A judge of the same recording.
        """
        return self._with(_otherwise=otherwise)

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        other = self._otherwise
        return self._with(
            _recording=self._recording.for_document(gold, predicted),
            _otherwise=None if other is None else judge_of_document(other, gold, predicted),
        )

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its verdicts depend on; a resumed batch compares it."""
        other = self._otherwise
        return {
            "recorded": self._recording.digest,
            "like": None if self._like is None else self._like.fingerprint,
            "otherwise": None if other is None else [other.name, fingerprint_of(other)],
        }

    def _check(self, params: Mapping[str, Any]) -> None:
        super()._check(params)
        if self._otherwise is not None:
            check_judge(self._otherwise, params)

    async def _answer(self, asked: Asked) -> JudgeCall:
        return self._recording.answer(asked)

    async def ask(self, question: Question, *, sample: int | None = None) -> Verdict:
        """Give the recorded verdict on the two values of a field.

        Parameters
        ----------
        question : Question
            The values, and what the schema says about the field.
        sample : int, optional
            Which of several answers to the same question; by default the vote over them.

        Returns
        -------
        Verdict
            As it was given; the calls behind it are cached, without attempts and cost. A verdict of
            the judge `otherwise` says so in its reasoning.

        Raises
        ------
        JudgeError
            ``not_recorded``, with what is there instead; or ``recorded_failure``.
        """
        try:
            if isinstance(self._recording, RecordedReports):
                return self._recording.verdict(question)
            return await super().ask(question, sample=sample)
        except JudgeError as error:
            if self._otherwise is None or error.reason != ABSENT:
                raise
        (found,) = await gather_verdicts([verdict_of(self._otherwise, question)])
        if isinstance(found, Exception):
            raise found
        said = f"not recorded; judged by {self._otherwise.name}: {found.reasoning or found.reason}"
        return found._replace(reasoning=said)

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        path = self._path if isinstance(self._path, JudgeCache) else str(self._path)
        options = {"like": self._like, "otherwise": self._otherwise}
        return (path,), {name: value for name, value in options.items() if value is not None}


#: Tokens that a provider adds to each message.
_AROUND_MESSAGE = 4
#: Tokens of a verdict: its score and a sentence. Of 201 recorded ones of Gemini 2.5 Flash the
#: sentence has 40 on average, 58 at most.
VERDICT_TOKENS = 60
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

    async def ask(self, question: Question, *, sample: int | None = None) -> Verdict:
        """Note the name."""
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
        entry = None if cache is None else cache.get(key)
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
