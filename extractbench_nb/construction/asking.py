"""Questions to a judge about columns, rows and cells of tables, and the calls behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from extractbench_nb._concurrency import run_anywhere
from extractbench_nb.construction.aligning import PASS_MARK
from extractbench_nb.engine.llm_alignment import Answering
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.judges.base import Judge, JudgeCall, JudgeError, Question, gather_verdicts
from extractbench_nb.judges.choosing import check_judge, choose_judge, verdict_of
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.judges.prompts import Message

METRIC = "string_semantic"
_ABOUT = {
    "column": "The name of a table's column. The same if both columns hold the same quantity, in "
    "the same unit.",
    "key": "The key that names a row of a table. The same if both name the same thing and the "
    "same year.",
}
_LIKELIEST = 5
_FAINTLY_ALIKE = 40.0
_ROW_SCHEMA = {
    "type": "object",
    "properties": {"key": {"type": ["string", "null"]}},
    "required": ["key"],
    "additionalProperties": False,
}


class Answer(NamedTuple):
    """A judge's answer: a score, or None, and why."""

    score: float | None
    reason: str
    reasoning: str | None = None


@runtime_checkable
class TableJudge(Protocol):
    """A judge that answers AOE's two questions itself, such as `RecordedAnswers`."""

    def match_key(self, key: str, keys: Sequence[str]) -> str | None:
        """Return a reply that names the key of gold in ``<output>`` tags, or None."""
        ...

    def score_cell(self, column: str, gold: str, predicted: str) -> float | None:
        """Return the score of two texts, 0 to 1, or None without a verdict."""
        ...


class Asker:
    """Asks one judge, each question once, and keeps the calls."""

    def __init__(self, judge: str | Judge) -> None:
        self.judge = choose_judge(judge)
        if not isinstance(self.judge, OfflineJudge):
            check_judge(self.judge, {})
        self._answers: dict[tuple[str, str, str], Answer] = {}
        self.calls: list[tuple[str, JudgeCall]] = []
        self.failures: list[str] = []

    def answers(self, questions: Sequence[tuple[str, str, str]]) -> list[Answer]:
        """Answer questions of column (or ``column``, ``key``), gold and predicted."""
        new = [q for q in dict.fromkeys(questions) if q not in self._answers]
        if new:
            self._answers |= zip(new, self._asked(new), strict=True)
        return [self._answers[question] for question in questions]

    def scores(self, questions: Sequence[tuple[str, str, str]]) -> list[float | None]:
        """Return the scores alone; None without a verdict."""
        return [answer.score for answer in self.answers(questions)]

    def _asked(self, questions: Sequence[tuple[str, str, str]]) -> list[Answer]:
        judge: Any = self.judge
        if isinstance(judge, OfflineJudge):
            verdicts = [judge.compare(gold, predicted) for _, gold, predicted in questions]
            return [Answer(verdict.score, verdict.reason) for verdict in verdicts]
        if isinstance(judge, TableJudge):
            scores = [judge.score_cell(*question) for question in questions]
            self.failures += ["not recorded" for score in scores if score is None]
            return [Answer(s, "not_recorded" if s is None else "recorded") for s in scores]
        outcomes = run_anywhere(_gathered(judge, questions))
        return [
            self._read(question, outcome)
            for question, outcome in zip(questions, outcomes, strict=True)
        ]

    def _read(self, question: tuple[str, str, str], outcome: Any) -> Answer:
        if isinstance(outcome, ExtractBenchError):
            raise outcome  # it cannot be asked at all
        if isinstance(outcome, Exception):
            self.failures.append(str(outcome))
            self.calls += [(question[0], call) for call in getattr(outcome, "calls", ())]
            reason = outcome.reason if isinstance(outcome, JudgeError) else "judge_failed"
            return Answer(None, reason, str(outcome))
        self.calls += [(question[0], call) for call in outcome.calls]
        return Answer(outcome.score, outcome.reason, outcome.reasoning)

    def key_reply(self, key: str, keys: Sequence[str]) -> str | None:
        """Ask which key of gold a predicted key means, as AOE's released code does."""
        judge: Any = self.judge
        if isinstance(judge, TableJudge):
            reply = judge.match_key(key, keys)
            if reply is None:
                self.failures.append("not recorded")
            return reply
        if isinstance(judge, Answering):
            return self._named_key(judge, key, keys)
        from rapidfuzz import fuzz, process

        likely = process.extract(
            key, keys, scorer=fuzz.ratio, limit=_LIKELIEST, score_cutoff=_FAINTLY_ALIKE
        )
        names = [name for name, _, _ in likely]
        scores = self.scores([("key", name, key) for name in names])
        if names and all(score is None for score in scores):
            return None
        passed = [(s, n) for s, n in zip(scores, names, strict=True) if s and s >= PASS_MARK]
        best = max(passed, key=lambda pair: pair[0], default=(0.0, "None"))
        return f"<output>{best[1]}</output>"

    def _named_key(self, judge: Answering, key: str, keys: Sequence[str]) -> str | None:
        from extractbench_nb._model_json import json_objects
        from extractbench_nb.judges.prompts import Unparsable

        def read(text: str | None) -> str:
            found = json_objects(text or "")
            if not found or "key" not in found[-1]:
                raise Unparsable("expected a JSON object with the key 'key'")
            return str(found[-1]["key"] or "None")

        try:
            name, call = run_anywhere(_answered(judge, _key_messages(key, keys), read))
        except JudgeError as error:
            self.failures.append(str(error))
            self.calls += [("key", call) for call in error.calls]
            return None
        self.calls.append(("key", call))
        return f"<output>{name}</output>"


async def _answered(judge: Answering, messages: Sequence[Message], read: Any) -> Any:
    return await judge.answer(messages, read, _ROW_SCHEMA)


async def _gathered(judge: Judge, questions: Sequence[tuple[str, str, str]]) -> list[Any]:
    return await gather_verdicts(
        verdict_of(
            judge,
            Question(
                gold,
                predicted,
                METRIC,
                field=f"[].{column}",
                type="string",
                description=_ABOUT.get(column, f"A cell of the table's column {column!r}."),
            ),
        )
        for column, gold, predicted in questions
    )


def _key_messages(key: str, keys: Sequence[str]) -> tuple[Message, ...]:
    listed = "\n".join(f"- {name}" for name in keys)
    text = (
        "A row of a predicted table has the key below. Say which key of the correct table names "
        "the same thing. Spelling, abbreviations and file endings may differ; years and numbers "
        'must agree. Answer with JSON: {"key": "the correct table\'s key, unchanged"}, or '
        f'{{"key": null}} if there is none.\n\nPredicted key: {key}\n\nKeys of the correct table:\n'
        f"{listed}"
    )
    return ({"role": "user", "content": text},)
