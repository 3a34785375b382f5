"""Answers of models that were recorded, and telling what a file with recorded verdicts is."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from extractbench_nb._json import canonical, read_text
from extractbench_nb.errors import InputError
from extractbench_nb.judges.answers import Unparsable
from extractbench_nb.judges.asking import Asked
from extractbench_nb.judges.base import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.cache import JudgeCache
from extractbench_nb.judges.entries import Entry, read_lines, request_key
from extractbench_nb.judges.prompts import PROMPT_VERSION, Message
from extractbench_nb.judges.questions import ask_anything, judge_values
from extractbench_nb.judges.reports import ROWS, Foreign, RecordedReport, RecordedReports
from extractbench_nb.judges.settings import Settings

__all__ = ["RecordedAnswers", "open_recording"]

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
    """Read what was recorded, whatever its form.

    Parameters
    ----------
    source : pathlib.Path or JudgeCache
        A file of `JudgeCache.export`, a ``report.json``, a cache or the folder of one.
    settings : Settings, optional
        Options of the judge that asked.

    Returns
    -------
    RecordedAnswers or RecordedReport
        The verdicts.

    Raises
    ------
    InputError
        It cannot be read, is neither form, or holds nothing.
    """
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
