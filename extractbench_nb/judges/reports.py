"""Reports of the published package, or our own ``report.json``, as a record of verdicts."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from extractbench_nb._json import canonical
from extractbench_nb.errors import InputError
from extractbench_nb.judges.base import JudgeError, Question, Verdict
from extractbench_nb.judges.settings import Settings

__all__ = [
    "FAILED_CALL",
    "ROWS",
    "Foreign",
    "RecordedReport",
    "RecordedReports",
    "document_hash",
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
    """Return the rows of a report.

    Parameters
    ----------
    report : object
        The parsed file.
    where : object
        The file, for the error.

    Returns
    -------
    list of dict
        One a field and metric.

    Raises
    ------
    InputError
        It has none.
    """
    rows = report.get(ROWS) if isinstance(report, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{str(where)!r}: found no list {ROWS!r}; expected a judge report")
    return rows


def document_hash(document: Any) -> str:
    """Return what a report names a document by, as the published package does.

    Parameters
    ----------
    document : object
        A JSON value.

    Returns
    -------
    str
        The first 8 hexadecimal digits of the SHA-256 of its JSON with sorted keys.
    """
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
        """Give the verdict that the report has on a field.

        Parameters
        ----------
        question : Question
            Of a field outside of arrays.

        Returns
        -------
        Verdict
            Score and reasoning of the report, with the reason ``recorded``.

        Raises
        ------
        JudgeError
            ``not_recorded``: no such field, it was not judged, or with other values;
            ``recorded_failure``: the call failed then.
        """
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
