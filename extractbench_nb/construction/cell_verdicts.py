"""Verdicts on names, keys and cells: by rules where they decide, else by a judge (`Asker`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from extractbench_nb.construction.aligning import ColumnMatch, RowMatch
from extractbench_nb.construction.answers import Reading, Tables
from extractbench_nb.construction.table_comparison import METRIC
from extractbench_nb.construction.table_rules import PASS_MARK, is_absent, number_of, text_key
from extractbench_nb.core.text import (
    Judge,
    JudgeCall,
    JudgeError,
    OfflineJudge,
    Question,
    check_judge,
    choose_judge,
    verdict_of,
)
from extractbench_nb.core.values import member
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.judges import gather_verdicts
from extractbench_nb.support.concurrency import run_anywhere

# --- questions to a judge -------------------------------------------------------------------------

_ABOUT = {
    "column": "The name of a table's column. The same if both columns hold the same quantity, in "
    "the same unit.",
    "key": "The key that names a row of a table. The same if both name the same thing and the "
    "same year.",
}
_LIKELIEST = 5
_FAINTLY_ALIKE = 40.0

#: A column (or ``column``, ``key``), gold's text and the predicted text.
TextPair: TypeAlias = tuple[str, str, str]


class Verdict(NamedTuple):
    """The verdict on one cell: outcome, score, reason, a judge's similarity and words."""

    outcome: str
    score: float | None
    reason: str
    similarity: float | None = None
    reasoning: str | None = None


@runtime_checkable
class TableJudge(Protocol):
    """A judge that answers AOE's two questions itself: one with recorded answers, for example."""

    def match_key(self, key: str, keys: Sequence[str]) -> str | None:
        """Return the key of gold that a predicted key means, "" for none, None if unknown."""
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
        self._answers: dict[TextPair, Verdict] = {}
        self.calls: list[tuple[str | None, JudgeCall]] = []
        self.failures: list[str] = []

    def answers(self, questions: Sequence[TextPair]) -> list[Verdict]:
        """Answer questions about pairs of texts; the outcome is ``judge_error`` without a score."""
        new = [q for q in dict.fromkeys(questions) if q not in self._answers]
        if new:
            self._answers |= zip(new, self._asked(new), strict=True)
        return [self._answers[question] for question in questions]

    def scores(self, questions: Sequence[TextPair]) -> list[float | None]:
        """Return the judge's scores alone; None without a verdict."""
        return [answer.similarity for answer in self.answers(questions)]

    def _asked(self, questions: Sequence[TextPair]) -> list[Verdict]:
        judge: Any = self.judge
        if isinstance(judge, OfflineJudge):
            verdicts = [judge.compare(gold, predicted) for _, gold, predicted in questions]
            return [_judged(verdict.score, verdict.reason) for verdict in verdicts]
        if isinstance(judge, TableJudge):
            scores = [judge.score_cell(*question) for question in questions]
            self.failures += ["not recorded" for score in scores if score is None]
            return [_judged(s, "not_recorded" if s is None else "recorded") for s in scores]

        def question_of(column: str, gold: str, predicted: str) -> Question:
            about = _ABOUT.get(column, f"A cell of the table's column {column!r}.")
            field = f"[].{column}"
            return Question(gold, predicted, METRIC, field=field, type="string", description=about)

        async def gathered() -> list[Any]:
            return await gather_verdicts(verdict_of(judge, question_of(*q)) for q in questions)

        outcomes = zip(questions, run_anywhere(gathered()), strict=True)
        return [self._read(column, outcome) for (column, _, _), outcome in outcomes]

    def _read(self, column: str, outcome: Any) -> Verdict:
        if isinstance(outcome, ExtractBenchError):
            raise outcome  # it cannot be asked at all
        self.calls += [(column, call) for call in getattr(outcome, "calls", ())]
        if isinstance(outcome, Exception):
            self.failures.append(str(outcome))
            reason = outcome.reason if isinstance(outcome, JudgeError) else "judge_failed"
            return _judged(None, reason, str(outcome))
        return _judged(outcome.score, outcome.reason, outcome.reasoning)

    def key_of(self, key: str, keys: Sequence[str]) -> str | None:
        """Ask which key of gold a predicted key means; None without a verdict, "" for no key."""
        judge: Any = self.judge
        if isinstance(judge, TableJudge):
            named = judge.match_key(key, keys)
            if named is None:
                self.failures.append("not recorded")
            return named
        from rapidfuzz import fuzz, process

        likely = process.extract(
            key, keys, scorer=fuzz.ratio, limit=_LIKELIEST, score_cutoff=_FAINTLY_ALIKE
        )
        names = [name for name, _, _ in likely]
        scores = self.scores([("key", name, key) for name in names])
        if names and all(score is None for score in scores):
            return None
        passed = [(s, n) for s, n in zip(scores, names, strict=True) if s and s >= PASS_MARK]
        return max(passed, key=lambda pair: pair[0], default=(0.0, ""))[1]


def _judged(score: float | None, reason: str, words: str | None = None) -> Verdict:
    """Return the verdict of a judge: right or not, with its score as the similarity."""
    if score is None:
        return Verdict("judge_error", None, reason, None, words)
    passes = score >= PASS_MARK
    return Verdict("correct" if passes else "incorrect", float(passes), reason, score, words)


# --- the rules of strict --------------------------------------------------------------------------

_OPEN_COLUMN = Verdict("judge_error", None, "column_judge_failed")


def strict_verdicts(
    questions: Sequence[TextPair],
    columns: Sequence[ColumnMatch],
    numeric: Sequence[str],
    asker: Asker,
) -> list[Verdict]:
    """Judge cells of matched rows, each pair of texts once; the judge is asked all together."""
    partner = {column.gold: column for column in columns}
    verdicts = {q: _by_rules(partner[q[0]], *q[1:], q[0] in numeric) for q in questions}
    asked = [question for question, verdict in verdicts.items() if verdict is None]
    verdicts |= dict(zip(asked, asker.answers(asked), strict=True))
    return [verdicts[question] for question in questions]  # type: ignore[misc]


def _by_rules(column: ColumnMatch, gold: str, predicted: str, is_numeric: bool) -> Verdict | None:
    """Judge a cell by rules; None where the judge is to decide."""
    if column.status == "judge_error":
        return _OPEN_COLUMN
    blank, blank_too = is_absent(gold), is_absent(predicted)
    if column.predicted is None:  # nothing is lost where gold holds nothing
        outcome, score = ("both_absent", 1.0) if blank else ("omission", 0.0)
        return Verdict(outcome, score, "column_missing")
    if blank and blank_too:
        return Verdict("both_absent", 1.0, "both_null")
    if blank or blank_too:
        outcome, reason = (
            ("hallucination", "gold_null") if blank else ("omission", "predicted_null")
        )
        return Verdict(outcome, 0.0, reason)
    if gold.strip() == predicted.strip():
        return Verdict("correct", 1.0, "identical", 1.0)
    numbers = [number_of(text, str(column.gold)) for text in (gold, predicted)]
    if None not in numbers:
        if numbers[0] == numbers[1]:
            return Verdict("correct", 1.0, "number_equal", 1.0)
        return Verdict("incorrect", 0.0, "number_differs")
    if text_key(gold) == text_key(predicted):
        return Verdict("correct", 1.0, "normalised", 1.0)
    if is_numeric and numbers[0] is not None:
        return Verdict("incorrect", 0.0, "not_a_number")
    return None


# --- all cells ------------------------------------------------------------------------------------

#: The metric of `evaluate` that compares such cells.
_METRICS = {"judge": METRIC, "exact": "string_exact", "fuzzy": "string_fuzzy"}
#: Verdicts on all cells of a row without a partner.
_OF_ROWS = {
    "missed": Verdict("omission", 0.0, "row_missed"),
    "spurious": Verdict("hallucination", 0.0, "row_spurious"),
    "judge_error": Verdict("judge_error", None, "row_judge_failed"),
}


def cell_records(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    verdicts_of: Callable[[Sequence[TextPair]], Sequence[Verdict]],
) -> list[dict[str, Any]]:
    """List the cells of the compared columns, row by row, and then filled cells of extra columns.

    `verdicts_of` judges cells of matched rows, from column, gold and predicted text. The rules of
    ``aoe`` have no extra columns.
    """
    rules, failure = tables.rules, tables.predicted.failure
    partner = {column.gold: column for column in columns}
    compared = [partner[name] for name in tables.values]
    extra = [column for column in columns if column.gold is None and not rules.released]

    def text(table: Reading, column: str | None, row: int | None) -> str | None:
        return None if column is None or row is None else table.columns[column][row]

    def texts(row: RowMatch, column: ColumnMatch) -> tuple[str | None, str | None]:
        gold = text(tables.gold, column.gold, row.gold)
        return gold, text(tables.predicted, column.predicted, row.predicted)

    asked: list[TextPair] = []
    for row, column in product((row for row in rows if row.status == "matched"), compared):
        gold, predicted = texts(row, column)
        asked.append((str(column.gold), gold or "", predicted or ""))
    judged = iter(verdicts_of(asked))
    number = "number_tolerance" if rules.released else "number_exact"
    metrics = dict.fromkeys(partner, _METRICS[rules.cells]) | dict.fromkeys(tables.numeric, number)
    metrics[None] = METRIC
    found = []
    for row, column in chain(product(rows, compared), product(rows, extra)):
        gold, predicted = texts(row, column)
        if column.gold is None and is_absent(predicted or ""):
            continue
        if failure is not None:
            verdict = Verdict("structural", 0.0, failure)
        elif row.status != "matched":
            verdict = _OF_ROWS[row.status]
        elif column.gold is not None:
            verdict = next(judged)
        elif column.status == "extra":
            verdict = Verdict("hallucination", 0.0, "column_extra")
        else:
            verdict = _OPEN_COLUMN
        name = member(str(column.predicted if column.gold is None else column.gold))
        at = f"[{row.gold}]" if row.gold is not None else f"[+{row.predicted}]"
        passed = verdict.outcome in ("correct", "both_absent")
        found.append(
            verdict._asdict()
            | {
                "path": f"${at}{name}",
                "field": f"[]{name}",
                "metric": metrics[column.gold],
                "passed": None if verdict.score is None else passed,
                "gold": gold,
                "predicted": predicted,
                "gold_state": _state(gold),
                "predicted_state": _state(predicted),
                "required": column.gold is not None,
                "gold_row": row.gold,
                "predicted_row": row.predicted,
                "column": column.gold,
                "predicted_column": None if row.predicted is None else column.predicted,
                "depth": 2,  # table, row, cell
                "counted": True,
                "weight": 1.0,
            }
        )
    return found


def _state(text: str | None) -> str:
    if text is None:
        return "missing"
    return "present" if text.strip() else "null"
