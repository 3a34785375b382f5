"""`ReplayJudge` repeats recorded answers and verdicts, without a model."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pandas as pd

from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    Question,
    Verdict,
    check_judge,
    choose_judge,
    judge_of_document,
    verdict_of,
)
from extractbench_nb.core.values import canonical, without_brackets
from extractbench_nb.errors import InputError
from extractbench_nb.judges.cache import Entry, JudgeCache, read_lines
from extractbench_nb.judges.calls import Asked
from extractbench_nb.judges.llm import LLM
from extractbench_nb.judges.llm_judge import ABSENT, LLMJudge, ModelJudge
from extractbench_nb.judges.prompts import PROMPT_VERSION, Unparsable
from extractbench_nb.judges.voting import gather_verdicts
from extractbench_nb.support.wording import cut, plural

#: Columns of recorded verdicts; the last two say what they are about, where that was recorded.
VERDICTS = (
    *("gold_hash", "predicted_hash", "schema_path", "field", "metric", "status", "score"),
    *("reason", "reasoning", "gold", "predicted"),
)
_INDEX = re.compile(r"\[\d*\]")
#: Options of a model that its recorded answers name.
_OPTIONS = ("model", "temperature", "max_tokens")
_SOURCES = (
    "a file of JudgeCache.export, a cache or its folder, or a frame of recorded verdicts "
    "(xb.benchmark.read_verdicts reads a report.json)"
)


def document_hash(document: Any) -> str:
    """Return the hash that identifies a document in a report of the published package."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


class ReplayJudge(ModelJudge):
    """A judge that repeats recorded answers or verdicts, without a model, key, network or cost.

    Parameters
    ----------
    source : str, pathlib.Path, JudgeCache, pandas.DataFrame or list of dict
        Recorded answers: a file that `JudgeCache.export` wrote, a cache or its folder. Or recorded
        verdicts: rows as `extractbench_nb.benchmark.read_verdicts` returns them.
    like : LLMJudge, optional
        For answers, a judge with the options of the one that asked. It is needed if they are of
        several judges, several to one question (`n`), or to additional instructions; otherwise
        model, temperature and tokens are read from the answers.
    otherwise : str, LLM or Judge, optional
        The judge of what was not recorded, such as ``offline``. Without one, such a field has the
        outcome ``judge_error`` and the reason ``not_recorded``.

    Raises
    ------
    InputError
        The source cannot be read or has neither form, nothing is in it, or `like` is needed.

    Notes
    -----
    Recorded answers give the same fields, arrays and matches as the original evaluation, if the
    prompts have not changed since. Failures are not cached, and are ``not_recorded`` in a replay.

    Verdicts belong to a pair of documents, if their hashes were recorded: in an evaluation of other
    documents there are none. Those about fields outside of arrays are replayed; the published
    package judges an array as a whole. A field passes by its recorded score, at the threshold of
    the schema. A call that failed when it was recorded is a ``judge_error`` with the reason
    ``recorded_failure``.

    Examples
    --------
    >>> import asyncio
    >>> row = {"field": "name", "metric": "string_semantic", "status": "judged", "score": 0.9}
    >>> judge = ReplayJudge([row | {"reasoning": "the same person"}])
    >>> judge
    ReplayJudge([1 verdict])
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
        if like is not None and not isinstance(like, LLMJudge):
            raise InputError(
                f"like is {like!r}; expected an LLMJudge with the options of the one that asked"
            )
        self._source: Any = source
        self._like = like
        self.otherwise = None if otherwise is None else choose_judge(otherwise, "otherwise")
        self._answers, self._verdicts = dict[str, str](), list[dict[str, Any]]()
        if isinstance(source, pd.DataFrame | list):
            if like is not None:
                raise InputError("like is given, but recorded verdicts need none")
            self._source = self._verdicts = _verdicts_in(pd.DataFrame(source))
            like = LLMJudge(LLM("recorded/verdicts", cache=False))
        else:
            self._source, where, entries = _recorded_answers(source)
            self._answers = {entry.key: entry.answer for entry in entries}
            like = like or LLMJudge(_llm_of(entries, where))
        self.llm, self.n, self.vote = like.llm, like.n, like.vote
        self._instructions = like._instructions
        self._by_name = _by_name(self._verdicts)

    @property
    def name(self) -> str:
        """Name shown in results: ``replay(...)`` of a model or of verdicts."""
        recorded = self.llm.model if self._answers else "verdicts"
        other = "" if self.otherwise is None else f", else {self.otherwise.name}"
        return f"replay({recorded}{other})"

    def __repr__(self) -> str:
        """Write the call that makes it; verdicts are counted."""
        if self._answers:
            return super().__repr__()
        other = "" if self.otherwise is None else f", otherwise={self.otherwise!r}"
        return f"ReplayJudge([{plural(len(self._source), 'verdict')}]{other})"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its verdicts depend on; a resumed batch compares it."""
        other = self.otherwise
        recorded = canonical(sorted(self._answers.items()) or self._verdicts)
        return {
            "recorded": hashlib.sha256(recorded.encode("utf-8", "surrogatepass")).hexdigest(),
            "like": None if self._like is None else self._like.fingerprint,
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
        return self._with(_verdicts=verdicts, _by_name=_by_name(verdicts), otherwise=other)

    def _check(self, params: Mapping[str, Any]) -> None:
        if self._answers:
            self.settings_for(params)
        if self.otherwise is not None:
            check_judge(self.otherwise, params)

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        try:
            if self._answers:
                return await super()._verdict(question, sample)
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
        rows = next((self._by_name[name] for name in names if name in self._by_name), [])
        own = [row for row in rows if row["metric"] == question.metric]
        if any(row["status"] == "failed" for row in own or rows):
            problem = f"the call about {field!r} failed when it was recorded"
            raise JudgeError(problem, reason="recorded_failure")
        if question.field is None:
            problem = "two texts without their field"
        elif _INDEX.search(field):
            problem = f"{field!r}: those about items of arrays are not replayed"
        elif not rows:
            problem = f"{field!r}, which is no field of the recording about these documents"
        elif not own:
            problem = f"{field!r} by {question.metric!r}, only by {rows[0]['metric']!r}"
        elif len(own) > 1:
            problem = f"{field!r}: it has {len(own)} rows of that name"
        elif own[0]["status"] != "judged":
            problem = f"{field!r}: no judge was asked ({own[0]['reason']})"
        elif any(
            own[0][side] is not None and canonical(own[0][side]) != canonical(value)
            for side, value in (("gold", question.gold), ("predicted", question.predicted))
        ):
            problem = f"{field!r} for these values, only for another document or prediction"
        else:
            return Verdict(float(own[0]["score"]), "recorded", own[0]["reasoning"])
        raise JudgeError(f"no verdict was recorded about {problem}", reason=ABSENT)

    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        source = str(self._source) if isinstance(self._source, Path) else self._source
        options = {"like": self._like, "otherwise": self.otherwise}
        return (source,), {name: value for name, value in options.items() if value is not None}


def _recorded_answers(source: Any) -> tuple[Path | JudgeCache, str, list[Entry]]:
    """Read recorded answers; also return their absolute source, and what messages call it."""
    if isinstance(source, JudgeCache):
        where, entries = repr(str(source.path)), source.entries()
    elif not isinstance(source, str | Path) or not str(source).strip():
        raise InputError(f"source is {source!r}; expected {_SOURCES}")
    elif (source := Path(source).expanduser().absolute()).is_dir():
        cache = JudgeCache(source)
        if not cache.path.is_file():
            raise InputError(f"{cache.folder!r} has no answers; expected {_SOURCES}")
        where, entries = repr(str(cache.path)), cache.entries()
    else:
        where = repr(str(source))
        try:
            entries = read_lines(source)
        except InputError as error:
            hint = "; xb.benchmark.read_verdicts reads a report.json"
            raise InputError(f"{error}{hint if source.suffix == '.json' else ''}") from None
    if not entries:
        raise InputError(f"{where} contains no answers")
    return source, where, entries


def _llm_of(entries: Sequence[Entry], where: str) -> LLM:
    """Return the model, with the options that all answers were requested with."""
    for name in _OPTIONS:
        values = sorted({repr(entry.request.get(name)) for entry in entries})
        if len(values) > 1:
            raise InputError(
                f"{where} has answers with {name} {' and '.join(values)}; say which judge is meant "
                "by like=LLMJudge(...) with its options"
            )
    if any(entry.request.get("sample") for entry in entries):
        raise InputError(
            f"{where} has several answers to one question; say how they were asked for and "
            "combined by like=LLMJudge(..., n=..., vote=...)"
        )
    try:
        options: dict[str, Any] = {name: entries[0].request.get(name) for name in _OPTIONS}
        return LLM(**options, cache=False)
    except InputError as error:
        raise InputError(f"{where} has answers with invalid options: {error}") from None


def _verdicts_in(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Check a frame of recorded verdicts, and return its rows."""
    frame = frame.reindex(columns=list(VERDICTS)).astype(object)
    rows: list[dict[str, Any]] = frame.where(frame.notna(), None).to_dict("records")  # type: ignore[assignment]
    for number, row in enumerate(rows):
        names, score = (row["field"] or row["schema_path"], row["metric"]), row["score"]
        scored = isinstance(score, int | float) and 0 <= score <= 1
        named = all(isinstance(name, str) for name in names)
        if not named or (row["status"] == "judged" and not scored):
            raise InputError(
                f"row {number} of the verdicts is {cut(repr(row), 200)}; expected a field, a "
                "metric, a status, and, where that is 'judged', a score from 0 to 1"
            )
    if not rows:
        raise InputError("the recorded verdicts are empty")
    return rows


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Find verdicts by path and by field, as this package or the published one writes them."""
    named: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        for name in {row["schema_path"], row["field"]} - {None}:
            named[name].append(row)
    return dict(named)
