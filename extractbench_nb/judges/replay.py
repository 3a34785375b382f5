"""`ReplayJudge` repeats recorded verdicts; rehearsals collect the calls that a judge would make."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

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
from extractbench_nb.judges.cache import Entry, JudgeCache, read_lines, request_key
from extractbench_nb.judges.calls import Asked
from extractbench_nb.judges.field_judges import gather_verdicts
from extractbench_nb.judges.llm import ABSENT, LLMJudge, ModelJudge
from extractbench_nb.judges.prompts import PROMPT_VERSION, Unparsable
from extractbench_nb.judges.settings import Settings, Unchecked
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import cut

#: What the metric id of a failed call begins with, in reports of the published package.
_FAILED_CALL = "error_"
#: Where the rows of a report are.
_ROWS = "field_outcomes"
_JUDGED = ("correct", "incorrect")
_UNASKED = "judge_error"
_INDEX = re.compile(r"\[\d*\]")
_SHOWN = 80


def document_hash(document: Any) -> str:
    """Return the hash that identifies a document in a report of the published package."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class _Report:
    """One report: its file, the hashes of its documents, a hash of its rows, the rows by place."""

    where: Path
    of: dict[str, Any]
    digest: str
    rows: Mapping[str, list[dict[str, Any]]]


def _read_report(report: Any, where: Path) -> _Report:
    rows = report.get(_ROWS) if isinstance(report, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{str(where)!r}: found no list {_ROWS!r}; expected a judge report")
    by_place: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for number, row in enumerate(rows):
        if not _is_sound(row):
            raise InputError(
                f"{str(where)!r}: row {number} of {_ROWS!r} is {cut(repr(row), _SHOWN)}; "
                "expected 'path', 'normalized_path', 'metric_id' and a 'score' from 0 to 1"
            )
        for path in {row["path"], row["normalized_path"]}:
            by_place[path].append(row)
    if not rows:
        raise InputError(f"{str(where)!r} contains no verdict: {_ROWS!r} is empty")
    digest = hashlib.sha256(canonical(rows).encode("utf-8", "replace")).hexdigest()
    of = {"gold": report.get("gold_hash"), "predicted": report.get("extracted_hash")}
    return _Report(where, of, digest, by_place)


def _is_sound(row: Any) -> bool:
    if not isinstance(row, dict) or "score" not in row:
        return False
    score = row["score"]
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    names = all(isinstance(row.get(n), str) for n in ("path", "normalized_path", "metric_id"))
    return names and (score is None or (is_number and 0 <= score <= 1))


@dataclass(frozen=True)
class RecordedReports:
    """The verdicts of one report, or of a folder, from which each evaluation chooses a report."""

    name: str
    digest: str
    reports: Sequence[_Report]
    chosen: _Report | None
    why: str = "there are several reports, and no documents to choose one by"
    settings: ClassVar[Settings] = Unchecked("report")

    def for_document(self, gold: Any, predicted: Any) -> RecordedReports:
        """Choose the report about these two documents by their hashes."""
        hashes = {"gold": _hash(gold), "predicted": _hash(predicted)}
        if self.chosen is not None:
            for side, hash_value in self.chosen.of.items():
                if isinstance(hash_value, str) and hash_value != hashes[side]:
                    why = f"the report is about another {side} document"
                    return replace(self, chosen=None, why=why)
            return self
        matching = [report for report in self.reports if report.of == hashes]
        if len(matching) == 1:
            return RecordedReports("report", matching[0].digest, self.reports, matching[0])
        names = " and ".join(repr(str(report.where)) for report in matching[:2])
        are = f"{names} are" if matching else "no report is"
        return replace(self, name="report", why=f"{are} about these documents")

    def verdict(self, question: Question) -> Verdict:
        """Give the verdict that the chosen report has on a field."""
        path, field = question.schema_path or "", question.field or ""
        if self.chosen is None:
            why = f"no verdict about {question.field!r}: {self.why}"
            raise JudgeError(why, reason="not_recorded")
        # by path or by field, as this package or the published one writes it
        names = (path, without_brackets(path), field, without_brackets(field))
        rows = next((r for r in map(self.chosen.rows.get, names) if r is not None), [])
        found = [row for row in rows if row["metric_id"] == question.metric]
        if any(map(_has_failed, found)) or (not found and any(map(_has_failed, rows))):
            raise JudgeError(
                f"the call about {question.field!r} failed when the report was made",
                reason="recorded_failure",
            )
        problem = _problem(question, rows, found)
        if problem is not None:
            raise JudgeError(f"the report has no verdict about {problem}", reason="not_recorded")
        return Verdict(float(found[0]["score"]), "recorded", found[0].get("reasoning"))

    def answer(self, asked: Asked) -> NoReturn:
        """Raise an error, because a report contains no alignments."""
        raise JudgeError("a report does not contain alignments of items", reason="not_recorded")


def _hash(document: Any) -> str | None:
    try:
        return document_hash(document)
    except (TypeError, ValueError, RecursionError):
        return None


def _problem(
    question: Question, rows: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> str | None:
    """Say why no row answers a question; None if one does."""
    field, problem = question.field, None
    if field is None:
        return "two texts without their field"
    if _INDEX.search(field):
        problem = ": verdicts about items of arrays are not replayed"
    elif not rows:
        problem = ": it has no such field"
    elif not found:
        problem = f" by {question.metric!r}, only by {rows[0]['metric_id']!r}"
    elif len(found) > 1:
        problem = f": it has {len(found)} rows of that name"
    else:
        # the row must come from a judge, not from the states of the two values
        row, outcome, reason = found[0], found[0].get("outcome"), found[0].get("reason")
        values = {"gold_value": question.gold, "extracted_value": question.predicted}
        if reason is not None if outcome is None else outcome not in _JUDGED:
            problem = f": no judge was asked ({reason})"
        # the published package does not report values where it asked a judge
        elif any(
            row.get(name) is not None and canonical(row[name]) != canonical(value)
            for name, value in values.items()
        ):
            problem = " for these values; it is about another document or prediction"
    return None if problem is None else f"{field!r}{problem}"


def _has_failed(row: Mapping[str, Any]) -> bool:
    failed = row["metric_id"].startswith(_FAILED_CALL) or row.get("outcome") == _UNASKED
    return bool(failed) or row["score"] is None


_OPTIONS = ("model", "temperature", "max_tokens")
_QUESTION = ("messages", "schema")
_NAMED = re.compile(r"<(?:field|list)-[0-9a-f]+>\n(\{[^\n]*\})\n")


class RecordedAnswers:
    """Answers by question; without `settings`, those that all answers share are used."""

    def __init__(
        self, entries: Iterable[Entry], where: object, settings: Settings | None = None
    ) -> None:
        self._answers: dict[str, str] = {}
        self._asked: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._fields: set[str | None] = set()
        for entry in entries:
            request = entry.request
            self._answers[entry.key] = entry.answer
            options = {name: request.get(name) for name in (*_OPTIONS, "sample")}
            self._asked[_question_key(request)].append(options)
            self._fields.add(_field_of(request.get("messages")))
        if not self._answers:
            raise InputError(f"{str(where)!r} contains no answers")
        self.settings = settings or self._shared_settings(where)
        self.name = self.settings.model

    def _shared_settings(self, where: object) -> Settings:
        used = [options for several in self._asked.values() for options in several]
        for name in _OPTIONS:
            values = sorted({repr(options[name]) for options in used})
            if len(values) > 1:
                raise InputError(
                    f"{str(where)!r} has answers with {name} {' and '.join(values)}; say which "
                    "judge is meant by like=LLMJudge(...) with its options"
                )
        if any(options["sample"] for options in used):
            raise InputError(
                f"{str(where)!r} has several answers to one question; say how they were asked for "
                "and combined by like=LLMJudge(..., n=..., vote=...)"
            )
        try:
            return Settings(**{name: used[0][name] for name in _OPTIONS})
        except InputError as error:
            raise InputError(f"{str(where)!r} has answers with invalid options: {error}") from None

    @property
    def digest(self) -> str:
        """Hash of all answers."""
        text = canonical(sorted(self._answers.items()))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def for_document(self, gold: Any, predicted: Any) -> RecordedAnswers:
        """Return the recording itself: answers do not depend on the document."""
        return self

    def answer(self, asked: Asked) -> JudgeCall:
        """Find the answer to a question."""
        model = asked.settings.model
        answer = self._answers.get(request_key(asked.document))
        if answer is None:
            lack = self._lack(asked.document)
            raise JudgeError(f"{model}: no recorded answer to {lack}", reason="not_recorded")
        call = JudgeCall(model, True, 0, 0, 0, 0.0, answer=answer)
        try:
            asked.read(answer)
        except Unparsable as error:
            failed = call._replace(error=f"unparsable: {error}")
            problem = f"{model}: the recorded answer cannot be read: {error}"
            raise JudgeError(problem, (failed,), "unparsable") from None
        return call

    def _lack(self, request: Mapping[str, Any]) -> str:
        """Say which question has no answer, and what is recorded instead."""
        field = _field_of(request["messages"])
        about = "this question" if field is None else f"this question about {field!r}"
        others = [
            {name: value for name, value in other.items() if value != request[name]}
            for other in self._asked.get(_question_key(request), ())
        ]
        if others:
            nearest = ", ".join(f"{n} {value!r}" for n, value in min(others, key=len).items())
            return f"{about}; there is an answer with {nearest}"
        if field not in self._fields:
            return f"{about}; no answer is recorded for this field"
        why = "the answers recorded for this field are to other values, instructions or prompts"
        return f"{about}; {why} (the current prompts are {PROMPT_VERSION})"


def open_recording(
    source: Path | JudgeCache, settings: Settings | None = None
) -> RecordedAnswers | RecordedReports:
    """Open a recording of any form."""
    if isinstance(source, JudgeCache):
        return RecordedAnswers(source.entries(), source.path, settings)
    if source.is_dir():
        cache = JudgeCache(source)
        if cache.path.is_file():
            return RecordedAnswers(cache.entries(), source, settings)
        return _open_reports(source, cache.path.name)
    text = read_text(source, "recording")
    if not text.strip():
        raise InputError(f"{str(source)!r} contains no answers")
    document = _loaded(text)
    if isinstance(document, dict) and _ROWS in document:
        if settings is not None:
            raise InputError(f"like is given, but {str(source)!r} is a report, which needs none")
        report = _read_report(document, source)
        return RecordedReports("report", report.digest, [report], report)
    first = document if document is not None else _loaded(text.split("\n", 1)[0])
    if isinstance(first, dict) and {"key", "request", "answer"} <= first.keys():
        return RecordedAnswers(read_lines(source), source, settings)
    inner = first.values() if isinstance(first, dict) else first
    if isinstance(inner, Iterable) and any(isinstance(v, dict) and _ROWS in v for v in inner):
        raise InputError(f"{str(source)!r} holds several reports; give a file to each, in a folder")
    raise InputError(
        f"{str(source)!r} is neither a file that JudgeCache.export wrote (JSON lines) nor a "
        f"report.json with a list {_ROWS!r}"
    )


def _open_reports(folder: Path, cache_name: str) -> RecordedReports:
    paths = sorted(folder.rglob("*report.json"))
    if not paths:
        raise InputError(
            f"{str(folder)!r} has neither {cache_name!r} nor reports; expected a file of "
            "JudgeCache.export, a cache or its folder, a report.json or a folder of such"
        )
    reports = [_read_report(_loaded(read_text(path, "report")) or {}, path) for path in paths]
    for report in reports:
        if None in report.of.values():
            raise InputError(
                f"{str(report.where)!r} has no gold_hash or extracted_hash; in a folder of "
                f"reports, {str(folder)!r}, every report needs both"
            )
    digests = "".join(report.digest for report in reports)
    digest = hashlib.sha256(digests.encode()).hexdigest()
    return RecordedReports("reports", digest, reports, None)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _question_key(request: Mapping[str, Any]) -> str:
    return request_key({name: request.get(name) for name in _QUESTION})


def _field_of(messages: Any) -> str | None:
    """Return the field that a question is about, if its text names it in the usual form."""
    try:
        found = _NAMED.search(messages[-1]["content"])
        field = json.loads(found[1])["field"] if found else None
    except (TypeError, LookupError, ValueError):
        return None
    return field if isinstance(field, str) else None


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
            "otherwise": None
            if other is None
            else [other.name, getattr(other, "fingerprint", None)],
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
