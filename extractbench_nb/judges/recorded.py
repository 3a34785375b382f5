"""Recorded answers and verdicts of models: result folders, reports, caches."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from extractbench_nb._json import canonical, read_text
from extractbench_nb.errors import InputError
from extractbench_nb.judges.asking import Asked, ask_anything, judge_values
from extractbench_nb.judges.base import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.cache import Entry, JudgeCache, read_lines, request_key
from extractbench_nb.judges.prompts import PROMPT_VERSION, Message, Unparsable
from extractbench_nb.judges.settings import Settings

__all__ = [
    "FAILED_CALL",
    "ROWS",
    "Foreign",
    "RecordedAnswers",
    "RecordedReport",
    "RecordedReports",
    "document_hash",
    "open_recording",
    "report_rows",
]


#: What the metric id of a failed call begins with, in reports of the published package.
FAILED_CALL = "error_"
#: Where the rows of a report are.
ROWS = "field_outcomes"

_REASON = "recorded"
_HASHED = {"gold": "gold", "predicted": "extracted"}
_JUDGED = ("correct", "incorrect")
_UNASKED = "judge_error"
_QUOTED = re.compile(r"\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_INDEX = re.compile(r"\[\d*\]")
_SHOWN = 80
_NOBODY = Settings("report")


def report_rows(report: object, where: object) -> list[dict[str, Any]]:
    """Return the rows of a report."""
    rows = report.get(ROWS) if isinstance(report, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{str(where)!r}: found no list {ROWS!r}; expected a judge report")
    return rows


def document_hash(document: Any) -> str:
    """Return what a report names a document by, as the published package does."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


class RecordedReport:
    """The verdicts of one report, by place and metric.

    Parameters
    ----------
    report : mapping
        The parsed file, whose rows are read by `report_rows`.
    where : object
        The file, for errors.

    Raises
    ------
    InputError
        There is no row, or one without a place, a metric or a score from 0 to 1.
    """

    name = "report"

    def __init__(self, report: Mapping[str, Any], where: object) -> None:
        rows: Sequence[Any] = report_rows(report, where)
        self.where = where
        self.of = {side: report.get(f"{name}_hash") for side, name in _HASHED.items()}
        self._rows: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for number, row in enumerate(rows):
            if not _is_sound(row):
                raise InputError(
                    f"{str(where)!r}: row {number} of {ROWS!r} is {_short(row)}; expected "
                    "'path', 'normalized_path', 'metric_id' and a 'score' from 0 to 1"
                )
            for place in {row["path"], row["normalized_path"]}:
                self._rows[place].append(row)
        if not rows:
            raise InputError(f"{str(where)!r} holds no verdict: {ROWS!r} is empty")
        self.digest = hashlib.sha256(canonical(list(rows)).encode("utf-8", "replace")).hexdigest()

    def for_document(self, gold: Any, predicted: Any) -> RecordedReport | Foreign:
        """Return the report if it is of these two documents, as far as it tells."""
        for side, document in (("gold", gold), ("predicted", predicted)):
            known = self.of[side]
            if isinstance(known, str) and known != _hash(document):
                return Foreign(self.digest, f"the report is of another {side} document")
        return self

    def check(self, params: Mapping[str, Any]) -> None:
        """Find nothing amiss: a report needs no model."""

    def settings_for(self, params: Mapping[str, Any]) -> Settings:
        """Return the settings of nobody; no alignment is in a report."""
        return _NOBODY

    async def ask(self, question: Question) -> Verdict:
        """Give the verdict that the report has on a field."""
        rows = self._at(question)
        found = [row for row in rows if row["metric_id"] == question.metric]
        if any(map(_has_failed, found)) or (not found and any(map(_has_failed, rows))):
            raise JudgeError(
                f"the call on {question.field!r} failed when the report was made",
                reason="recorded_failure",
            )
        problem = _problem(question, rows, found)
        if problem is not None:
            raise JudgeError(f"the report has no verdict on {problem}", reason="not_recorded")
        return Verdict(float(found[0]["score"]), _REASON, found[0].get("reasoning"))

    async def answer(self, *args: Any, **more: Any) -> NoReturn:
        """Know of no alignment."""
        raise JudgeError("a report has no alignment of items", reason="not_recorded")

    def _at(self, question: Question) -> list[Mapping[str, Any]]:
        """Return the rows of a place, as we write its path, as the package does, or without it."""
        path, field = question.schema_path or "", question.field or ""
        for place in (path, _QUOTED.sub(_unquoted, path), field, _QUOTED.sub(_unquoted, field)):
            if place in self._rows:
                return self._rows[place]
        return []


class Foreign:
    """What stands for reports that are of other documents: it has no verdict, and says why."""

    name = RecordedReport.name

    def __init__(self, digest: str, why: str) -> None:
        self.digest, self._why = digest, why

    def for_document(self, gold: Any, predicted: Any) -> Foreign:
        """Stay what it is."""
        return self

    def check(self, params: Mapping[str, Any]) -> None:
        """Find nothing amiss."""

    def settings_for(self, params: Mapping[str, Any]) -> Settings:
        """Return the settings of nobody."""
        return _NOBODY

    async def ask(self, question: Question) -> Verdict:
        """Say why there is no verdict."""
        raise JudgeError(f"no verdict on {question.field!r}: {self._why}", reason="not_recorded")

    async def answer(self, *args: Any, **more: Any) -> NoReturn:
        """Know of no alignment."""
        raise JudgeError("a report has no alignment of items", reason="not_recorded")


class RecordedReports(Foreign):
    """Reports of several documents, told apart by the hashes of gold and prediction in them.

    Parameters
    ----------
    reports : sequence of RecordedReport
        Each with both hashes.
    where : object
        The folder, for errors.

    Raises
    ------
    InputError
        A report does not say what it is of.
    """

    name = "reports"

    def __init__(self, reports: Sequence[RecordedReport], where: object) -> None:
        self._reports: defaultdict[tuple[Any, ...], list[RecordedReport]] = defaultdict(list)
        for report in reports:
            if None in report.of.values():
                raise InputError(
                    f"{str(report.where)!r} does not say by gold_hash and extracted_hash what it "
                    f"is of; in a folder of reports, {str(where)!r}, they must"
                )
            self._reports[tuple(report.of.values())].append(report)
        digests = "".join(report.digest for report in reports)
        digest = hashlib.sha256(digests.encode()).hexdigest()
        super().__init__(digest, "of several reports, none is chosen without a document")

    def for_document(self, gold: Any, predicted: Any) -> Any:
        """Return the report of these two documents."""
        found = self._reports.get((_hash(gold), _hash(predicted)), [])
        if len(found) == 1:
            return found[0]
        many = " and ".join(repr(str(report.where)) for report in found[:2])
        why = f"{many} are of these documents" if found else "no report is of these documents"
        return Foreign(self.digest, why)


def _hash(document: Any) -> str | None:
    try:
        return document_hash(document)
    except (TypeError, ValueError, RecursionError):
        return None


def _problem(
    question: Question, rows: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> str | None:
    """Say what keeps a row from being the answer to a question, or return None."""
    field = question.field
    if field is None:
        return "two texts without their field"
    if _INDEX.search(field):
        return f"{field!r}: verdicts on items of arrays are not replayed"
    if not rows:
        return f"{field!r}: it has no such field"
    return (
        _row_problem(question, found)
        if found
        else (f"{field!r} by {question.metric!r}, only by {rows[0]['metric_id']!r}")
    )


def _row_problem(question: Question, found: Sequence[Mapping[str, Any]]) -> str | None:
    field, row = question.field, found[0]
    if len(found) > 1:
        return f"{field!r}: it has {len(found)} rows of that name"
    if not _is_judged(row):
        return f"{field!r}: no judge was asked ({row.get('reason')})"
    values = {"gold_value": question.gold, "extracted_value": question.predicted}
    if not all(_agrees(row, name, value) for name, value in values.items()):
        return f"{field!r} with these values; it is of another document or prediction"
    return None


def _agrees(row: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether a row is of this value; the published package tells none where it asked a judge."""
    return row.get(name) is None or canonical(row[name]) == canonical(value)


def _has_failed(row: Mapping[str, Any]) -> bool:
    failed = row["metric_id"].startswith(FAILED_CALL) or row.get("outcome") == _UNASKED
    return bool(failed) or row["score"] is None


def _is_judged(row: Mapping[str, Any]) -> bool:
    """Whether a judge gave the verdict, not the states of the two values."""
    outcome = row.get("outcome")
    return row.get("reason") is None if outcome is None else outcome in _JUDGED


def _is_sound(row: Any) -> bool:
    if not isinstance(row, dict) or "score" not in row:
        return False
    names = all(isinstance(row.get(n), str) for n in ("path", "normalized_path", "metric_id"))
    return names and (row["score"] is None or _is_score(row["score"]))


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _unquoted(match: re.Match[str]) -> str:
    return "." + re.sub(r"\\(.)", r"\1", match.group(1), flags=re.DOTALL)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


T = TypeVar("T")

_OPTIONS = ("model", "temperature", "max_tokens")
_QUESTION = ("messages", "schema")
_NAMED = re.compile(r"<(?:field|list)-[0-9a-f]+>\n(\{[^\n]*\})\n")


class RecordedAnswers:
    """Answers by what was asked, without anybody to ask.

    Parameters
    ----------
    entries : iterable of Entry
        The answers.
    where : object
        Where they are from, for errors.
    settings : Settings, optional
        Options of the judge that asked. By default the model, temperature and tokens that all
        answers share.

    Raises
    ------
    InputError
        There is no answer, or several judges asked and no `settings` tell them apart.
    """

    def __init__(
        self, entries: Iterable[Entry], where: object, settings: Settings | None = None
    ) -> None:
        self._answers: dict[str, str] = {}
        self._asked: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._fields: set[str | None] = set()
        self._judges: set[str] = set()
        for entry in entries:
            self._add(entry)
        if not self._answers:
            raise InputError(f"{str(where)!r} holds no answers")
        self._settings = settings or self._shared(where)

    def _add(self, entry: Entry) -> None:
        request = entry.request
        self._answers[entry.key] = entry.answer
        options = {name: request.get(name) for name in (*_OPTIONS, "sample")}
        self._asked[_question_key(request)].append(options)
        self._judges.add(canonical({**options, "sample": bool(options["sample"])}))
        self._fields.add(_field_of(request.get("messages")))

    def _shared(self, where: object) -> Settings:
        """Return the options that all answers share."""
        judges = [json.loads(text) for text in sorted(self._judges)]
        for name in _OPTIONS:
            values = list(dict.fromkeys(repr(judge[name]) for judge in judges))
            if len(values) > 1:
                raise InputError(
                    f"{str(where)!r} has answers with {name} {' and '.join(values)}; say which "
                    "judge is meant by like=LLMJudge(...) with its options"
                )
        if any(judge["sample"] for judge in judges):
            raise InputError(
                f"{str(where)!r} has several answers to one question; say how they were asked for "
                "and what became of them by like=LLMJudge(..., n=..., vote=...)"
            )
        try:
            return Settings(**{name: judges[0][name] for name in _OPTIONS})
        except InputError as error:
            raise InputError(f"{str(where)!r} has answers that nobody asked for: {error}") from None

    @property
    def name(self) -> str:
        """The model's id."""
        return self._settings.model

    @property
    def digest(self) -> str:
        """Hash of all answers."""
        text = canonical(sorted(self._answers.items()))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def for_document(self, gold: Any, predicted: Any) -> RecordedAnswers:
        """Stay what it is: answers go by what was asked."""
        return self

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise `ConfigError` where the params of a field cannot be used."""
        self.settings_for(params)

    def settings_for(self, params: Mapping[str, Any]) -> Settings:
        """Return what holds for a field; see `LLMJudge.settings_for`."""
        return self._settings.for_field(params).settings

    async def ask(self, question: Question) -> Verdict:
        """Give the verdict that was given; see `LLMJudge.ask`."""
        return await judge_values(self._settings, question, self._find)

    async def answer(
        self,
        messages: Sequence[Message],
        read: Callable[[str | None], T],
        schema: Mapping[str, Any],
        *,
        params: Mapping[str, Any],
        sample: int,
    ) -> tuple[T, JudgeCall]:
        """Give the answer that was given; see `LLMJudge.answer`."""
        own = self._settings
        return await ask_anything(
            own, messages, read, schema, self._find, params=params, sample=sample
        )

    async def _find(self, asked: Asked) -> JudgeCall:
        model = asked.settings.model
        answer = self._answers.get(request_key(asked.document))
        if answer is None:
            raise JudgeError(f"{model}: {self._lack(asked.document)}", reason="not_recorded")
        call = JudgeCall(model, True, 0, 0, 0, 0.0, answer=answer)
        try:
            asked.read(answer)
        except Unparsable as error:
            failed = call._replace(error=f"unparsable: {error}")
            problem = f"{model}: the recorded answer cannot be read: {error}"
            raise JudgeError(problem, (failed,), "unparsable") from None
        return call

    def _lack(self, request: Mapping[str, Any]) -> str:
        """Say what is recorded in place of a request."""
        field = _field_of(request["messages"])
        about = "this question" if field is None else f"this question on {field!r}"
        others = [
            {name: value for name, value in other.items() if value != request[name]}
            for other in self._asked.get(_question_key(request), ())
        ]
        if others:
            nearest = ", ".join(f"{n} {value!r}" for n, value in min(others, key=len).items())
            return f"no recorded answer to {about}; there is one with {nearest}"
        if field in self._fields:
            why = "there are answers on this field, to other values, instructions or prompts"
            return f"no recorded answer to {about}; {why} (ours are {PROMPT_VERSION})"
        return f"no recorded answer to {about}; nothing is recorded on this field"


def open_recording(
    source: Path | JudgeCache, settings: Settings | None = None
) -> RecordedAnswers | RecordedReport | Foreign:
    """Read what was recorded, whatever its form."""
    if isinstance(source, JudgeCache):
        return RecordedAnswers(source.entries(), source.path, settings)
    if source.is_dir():
        return _open_folder(source, settings)
    text = read_text(source, "recording")
    if not text.strip():
        raise InputError(f"{str(source)!r} holds no answers")
    whole = _loaded(text)
    if isinstance(whole, dict) and ROWS in whole:
        if settings is not None:
            raise InputError(f"like is given, but {str(source)!r} is a report, which needs none")
        return RecordedReport(whole, source)
    _refuse_other(whole if whole is not None else _loaded(text.split("\n", 1)[0]), source)
    return RecordedAnswers(read_lines(source), source, settings)


def _refuse_other(value: object, source: Path) -> None:
    """Raise `InputError` unless a value may be the first line of an export."""
    if isinstance(value, dict) and {"key", "request", "answer"} <= value.keys():
        return
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(inner, Iterable) and any(isinstance(v, dict) and ROWS in v for v in inner):
        raise InputError(f"{str(source)!r} holds several reports; {_ONE_REPORT}")
    raise InputError(
        f"{str(source)!r} is neither a file that JudgeCache.export wrote (JSON lines) nor a "
        f"report.json with a list {ROWS!r}"
    )


def _open_folder(folder: Path, settings: Settings | None) -> RecordedAnswers | Foreign:
    cache = JudgeCache(folder)
    if cache.path.is_file():
        return RecordedAnswers(cache.entries(), folder, settings)
    reports = [
        RecordedReport(_loaded(read_text(path, "report")) or {}, path)
        for path in sorted(folder.rglob("*report.json"))
    ]
    if not reports:
        raise InputError(
            f"{str(folder)!r} has neither {cache.path.name!r} nor reports; {_EXPECTED}"
        )
    return RecordedReports(reports, folder)


_ONE_REPORT = "give a file to each, in a folder"
_EXPECTED = (
    "expected a file of JudgeCache.export, a cache or its folder, a report.json or a folder of such"
)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _question_key(request: Mapping[str, Any]) -> str:
    return request_key({name: request.get(name) for name in _QUESTION})


def _field_of(messages: Any) -> str | None:
    """Return the field that a question is on, where its text says so in the usual way."""
    try:
        found = _NAMED.search(messages[-1]["content"])
        field = json.loads(found[1])["field"] if found else None
    except (TypeError, LookupError, ValueError):
        return None
    return field if isinstance(field, str) else None
