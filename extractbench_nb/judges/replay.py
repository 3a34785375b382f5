"""`ReplayJudge` repeats recorded answers and verdicts, without a model."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

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
from extractbench_nb.judges.cache import Entry, JudgeCache, entries_of, read_lines, request_key
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
_NAMES = ("path", "normalized_path", "metric_id")
_INDEX = re.compile(r"\[\d*\]")
_SHOWN = 80
#: Options of a judge that its recorded answers name.
_OPTIONS = ("model", "temperature", "max_tokens")
_SOURCES = (
    "a file of JudgeCache.export, a cache or its folder, a report.json or a folder of such files"
)


def document_hash(document: Any) -> str:
    """Return the hash that identifies a document in a report of the published package."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


class _Report(NamedTuple):
    """One report: the hashes of its two documents, and its rows by schema path and by field."""

    hashes: tuple[str | None, str | None]  # some reports lack them
    rows: Mapping[str, list[dict[str, Any]]]
    digest: str


def _read_report(report: Any, path: Path) -> _Report:
    rows = report.get(_ROWS) if isinstance(report, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{str(path)!r}: found no list {_ROWS!r}; expected a judge report")
    rows_by_name: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for number, row in enumerate(rows):
        known = row if isinstance(row, dict) else {}
        score, names = known.get("score", -1), [known.get(name) for name in _NAMES]
        sound = score is None or (type(score) in (int, float) and 0 <= score <= 1)
        if not sound or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"{str(path)!r}: row {number} of {_ROWS!r} is {cut(repr(row), _SHOWN)}; "
                "expected 'path', 'normalized_path', 'metric_id' and a 'score' from 0 to 1"
            )
        for name in {row["path"], row["normalized_path"]}:
            rows_by_name[name].append(row)
    digest = hashlib.sha256(canonical(rows).encode("utf-8", "replace")).hexdigest()
    return _Report((report.get("gold_hash"), report.get("extracted_hash")), rows_by_name, digest)


def _read_recording(source: Path | JudgeCache) -> tuple[list[Entry], list[_Report]]:
    """Read recorded answers, or reports."""
    if not isinstance(source, JudgeCache) and source.is_dir():
        cache = JudgeCache(source)
        paths = [] if cache.path.is_file() else sorted(source.rglob("*report.json"))
        reports = [_read_report(_loaded(read_text(path, "report")), path) for path in paths]
        for path, report in zip(paths, reports, strict=True):
            if None in report.hashes:
                raise InputError(
                    f"{str(path)!r} has no gold_hash or extracted_hash; in a folder of reports, "
                    f"{str(source)!r}, every report needs both"
                )
        if reports:
            return [], reports
        if not cache.path.is_file():
            raise InputError(
                f"{str(source)!r} has neither answers nor reports; expected {_SOURCES}"
            )
        source = cache
    if isinstance(source, JudgeCache):
        return entries_of(source), []
    document = _loaded(read_text(source, "recording"))
    if isinstance(document, dict) and _ROWS in document:
        return [], [_read_report(document, source)]
    return list(read_lines(source)), []


def _loaded(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _shared_settings(entries: Sequence[Entry], where: str) -> Settings:
    """Return the settings that all answers were requested with."""
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
        return Settings(**options)
    except InputError as error:
        raise InputError(f"{where} has answers with invalid options: {error}") from None


def _hash(document: Any) -> str | None:
    with suppress(TypeError, ValueError, RecursionError):
        return document_hash(document)
    return None


def _reported(report: _Report, question: Question) -> Verdict:
    """Return the verdict of a report on a field."""
    path, field = question.schema_path or "", question.field or ""
    # by path or by field, as this package or the published one writes it
    names = (path, without_brackets(path), field, without_brackets(field))
    rows = next((r for r in map(report.rows.get, names) if r is not None), [])
    found = [row for row in rows if row["metric_id"] == question.metric]
    if any(
        row["metric_id"].startswith(_FAILED_CALL)
        or row.get("outcome") == _UNASKED
        or row["score"] is None
        for row in found or rows
    ):
        raise JudgeError(
            f"the call about {question.field!r} failed when the report was made",
            reason="recorded_failure",
        )
    problem = _problem(question, rows, found)
    if problem is not None:
        raise JudgeError(f"the report has no verdict about {problem}", reason=ABSENT)
    return Verdict(float(found[0]["score"]), "recorded", found[0].get("reasoning"))


def _problem(
    question: Question, rows: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> str | None:
    """Say why no row answers a question; None if one does."""
    if question.field is None:
        return "two texts without their field"
    about = repr(question.field)
    if _INDEX.search(question.field):
        return f"{about}: verdicts about items of arrays are not replayed"
    if not rows:
        return f"{about}: it has no such field"
    if not found:
        return f"{about} by {question.metric!r}, only by {rows[0]['metric_id']!r}"
    if len(found) > 1:
        return f"{about}: it has {len(found)} rows of that name"
    # the row must come from a judge, not from the states of the two values
    row, outcome, reason = found[0], found[0].get("outcome"), found[0].get("reason")
    if reason is not None if outcome is None else outcome not in _JUDGED:
        return f"{about}: no judge was asked ({reason})"
    # the published package does not report values where it asked a judge
    values = {"gold_value": question.gold, "extracted_value": question.predicted}
    recorded = {name: row[name] for name in values if row.get(name) is not None}
    if any(canonical(recorded[name]) != canonical(values[name]) for name in recorded):
        return f"{about} for these values; it is about another document or prediction"
    return None


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
        given: tuple[object, object] = (path, like)
        if not isinstance(path, JudgeCache):
            if not (isinstance(given[0], str | Path) and str(path).strip()):
                raise InputError(f"path is {path!r}; expected {_SOURCES}")
            path = Path(path).expanduser().absolute()
        if like is not None and not isinstance(given[1], LLMJudge):
            raise InputError(
                f"like is {like!r}; expected an LLMJudge with the options of the one that asked"
            )
        self._path, self._like = path, like
        self._otherwise = None if otherwise is None else choose_judge(otherwise, "otherwise")
        entries, self._reports = _read_recording(path)
        where = repr(str(path.path if isinstance(path, JudgeCache) else path))
        if not entries and not any(report.rows for report in self._reports):
            raise InputError(f"{where} contains no answers and no verdicts")
        if self._reports and like is not None:
            raise InputError(f"like is given, but {where} is a report, which needs none")
        self._answers = {entry.key: entry.answer for entry in entries}
        if self._reports:
            self._settings = Unchecked("report" if len(self._reports) == 1 else "reports")
        else:
            self._settings = (
                _shared_settings(entries, where) if like is None else like.settings_for()
            )

    @property
    def name(self) -> str:
        """Name shown in results: ``replay(...)`` of a model or a report."""
        other = "" if self._otherwise is None else f", else {self._otherwise.name}"
        return f"replay({self._settings.model}{other})"

    def _for_document(self, gold: Any, predicted: Any) -> Self:
        other = self._otherwise
        hashes = [_hash(document) for document in (gold, predicted) if self._reports]
        about = [
            report
            for report in self._reports
            if all(known in (None, own) for known, own in zip(report.hashes, hashes, strict=True))
        ]
        return self._with(
            _reports=about,
            _otherwise=None if other is None else judge_of_document(other, gold, predicted),
        )

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its verdicts depend on; a resumed batch compares it."""
        other, digests = self._otherwise, [report.digest for report in self._reports]
        recorded = "".join(digests) or canonical(sorted(self._answers.items()))
        if len(digests) != 1:
            recorded = hashlib.sha256(recorded.encode("utf-8", "surrogatepass")).hexdigest()
        return {
            "recorded": recorded,
            "like": None if self._like is None else self._like.fingerprint,
            "otherwise": other and [other.name, getattr(other, "fingerprint", None)],
        }

    def _check(self, params: Mapping[str, Any]) -> None:
        super()._check(params)
        if self._otherwise is not None:
            check_judge(self._otherwise, params)

    async def _answer(self, asked: Asked) -> JudgeCall:
        model, answer = asked.settings.model, self._answers.get(request_key(asked.document))
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

    async def _verdict(self, question: Question, sample: int | None = None) -> Verdict:
        try:
            if self._answers:
                return await super()._verdict(question, sample)
            if len(self._reports) == 1:
                return _reported(self._reports[0], question)
            count = len(self._reports) or "no"
            problem = (
                f"no verdict about {question.field!r}: {count} reports are about these documents"
            )
            raise JudgeError(problem, reason=ABSENT)
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
