"""Verdicts on names, keys and cells: by rules where they decide, else by a judge (`Asker`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Any, NamedTuple, Protocol, runtime_checkable

from extractbench_nb.construction.aligning import ColumnMatch, RowMatch
from extractbench_nb.construction.answers import Reading, Tables
from extractbench_nb.construction.table_comparison import METRIC
from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    TableRules,
    is_absent,
    number_of,
    text_key,
)
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
TextPair = tuple[str, str, str]


class Answer(NamedTuple):
    """A judge's answer: a score, or None, and why."""

    score: float | None
    reason: str
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
        self._answers: dict[TextPair, Answer] = {}
        self.calls: list[tuple[str, JudgeCall]] = []
        self.failures: list[str] = []

    def answers(self, questions: Sequence[TextPair]) -> list[Answer]:
        """Answer questions about pairs of texts."""
        new = [q for q in dict.fromkeys(questions) if q not in self._answers]
        if new:
            self._answers |= zip(new, self._asked(new), strict=True)
        return [self._answers[question] for question in questions]

    def scores(self, questions: Sequence[TextPair]) -> list[float | None]:
        """Return the scores alone; None without a verdict."""
        return [answer.score for answer in self.answers(questions)]

    def _asked(self, questions: Sequence[TextPair]) -> list[Answer]:
        judge: Any = self.judge
        if isinstance(judge, OfflineJudge):
            verdicts = [judge.compare(gold, predicted) for _, gold, predicted in questions]
            return [Answer(verdict.score, verdict.reason) for verdict in verdicts]
        if isinstance(judge, TableJudge):
            scores = [judge.score_cell(*question) for question in questions]
            self.failures += ["not recorded" for score in scores if score is None]
            return [Answer(s, "not_recorded" if s is None else "recorded") for s in scores]

        def question_of(column: str, gold: str, predicted: str) -> Question:
            about = _ABOUT.get(column, f"A cell of the table's column {column!r}.")
            field = f"[].{column}"
            return Question(gold, predicted, METRIC, field=field, type="string", description=about)

        async def gathered() -> list[Any]:
            return await gather_verdicts(verdict_of(judge, question_of(*q)) for q in questions)

        outcomes = zip(questions, run_anywhere(gathered()), strict=True)
        return [self._read(column, outcome) for (column, _, _), outcome in outcomes]

    def _read(self, column: str, outcome: Any) -> Answer:
        if isinstance(outcome, ExtractBenchError):
            raise outcome  # it cannot be asked at all
        self.calls += [(column, call) for call in getattr(outcome, "calls", ())]
        if isinstance(outcome, Exception):
            self.failures.append(str(outcome))
            reason = outcome.reason if isinstance(outcome, JudgeError) else "judge_failed"
            return Answer(None, reason, str(outcome))
        return Answer(outcome.score, outcome.reason, outcome.reasoning)

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


# --- cells ----------------------------------------------------------------------------------------

#: The metric of `evaluate` that compares such cells.
_METRICS = {"judge": METRIC, "exact": "string_exact", "fuzzy": "string_fuzzy"}


class CellVerdict(NamedTuple):
    """The verdict on one cell: outcome, score, reason, a judge's similarity and words."""

    outcome: str
    score: float | None
    reason: str
    similarity: float | None = None
    reasoning: str | None = None


#: Verdicts on all cells of a row without a partner.
_OF_ROWS = {
    "missed": CellVerdict("omission", 0.0, "row_missed"),
    "spurious": CellVerdict("hallucination", 0.0, "row_spurious"),
    "judge_error": CellVerdict("judge_error", None, "row_judge_failed"),
}
_EXTRA = CellVerdict("hallucination", 0.0, "column_extra")
_OPEN_COLUMN = CellVerdict("judge_error", None, "column_judge_failed")
#: By whether gold holds nothing: then nothing is lost.
_NO_COLUMN = {
    True: CellVerdict("both_absent", 1.0, "column_missing"),
    False: CellVerdict("omission", 0.0, "column_missing"),
}
#: By whether gold and the prediction hold nothing.
_NULLS = {
    (True, True): CellVerdict("both_absent", 1.0, "both_null"),
    (True, False): CellVerdict("hallucination", 0.0, "gold_null"),
    (False, True): CellVerdict("omission", 0.0, "predicted_null"),
}
_NUMBERS = {
    True: CellVerdict("correct", 1.0, "number_equal", 1.0),
    False: CellVerdict("incorrect", 0.0, "number_differs"),
}


def cell_rows(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    rules: TableRules,
    judged: Callable[[Sequence[TextPair]], Sequence[CellVerdict]],
) -> list[dict[str, Any]]:
    """List every cell of the compared columns, row by row, and then the cells of extra columns.

    The records are those of `Parts`.

    `judged` gives the verdicts on cells of matched rows, from column, gold and predicted text. Of
    extra columns filled cells count, and none under ``aoe``, which knows no such columns.
    """
    partner = {column.gold: column for column in columns}
    compared = [partner[name] for name in tables.values]
    extra = [column for column in columns if column.gold is None and not rules.released]

    def text(table: Reading, column: str | None, row: int | None) -> str | None:
        return None if column is None or row is None else table.columns[column][row]

    pairs = [row for row in rows if row.status == "matched"]
    questions = [
        (
            str(column.gold),
            text(tables.gold, column.gold, row.gold) or "",
            text(tables.predicted, column.predicted, row.predicted) or "",
        )
        for row, column in product(pairs, compared)
    ]
    verdicts = iter(judged(questions))
    number = "number_tolerance" if rules.released else "number_exact"
    metrics = {
        name: number if name in tables.numeric else _METRICS[rules.cells] for name in partner
    }
    paths = {c: member(str(c.predicted if c.gold is None else c.gold)) for c in columns}
    failure = tables.predicted.failure
    found = []
    for row, column in chain(product(rows, compared), product(rows, extra)):
        gold = text(tables.gold, column.gold, row.gold)
        predicted = text(tables.predicted, column.predicted, row.predicted)
        if column.gold is None and is_absent(predicted or ""):
            continue
        if failure is not None:
            verdict = CellVerdict("structural", 0.0, failure)
        elif row.status != "matched":
            verdict = _OF_ROWS[row.status]
        elif column.gold is None:
            verdict = _EXTRA if column.status == "extra" else _OPEN_COLUMN
        else:
            verdict = next(verdicts)
        place = f"[{row.gold}]" if row.gold is not None else f"[+{row.predicted}]"
        is_right = verdict.outcome in ("correct", "both_absent")
        found.append(
            {
                **verdict._asdict(),
                "path": f"${place}{paths[column]}",
                "field": f"[]{paths[column]}",
                "metric": METRIC if column.gold is None else metrics[column.gold],
                "passed": None if verdict.score is None else is_right,
                "gold": gold,
                "predicted": predicted,
                "gold_state": _state(gold),
                "predicted_state": _state(predicted),
                "required": column.gold is not None,
                "gold_row": row.gold,
                "predicted_row": row.predicted,
                "column": column.gold,
                "predicted_column": None if row.predicted is None else column.predicted,
            }
        )
    return found


def _state(text: str | None) -> str:
    if text is None:
        return "missing"
    return "present" if text.strip() else "null"


def strict_verdicts(
    questions: Sequence[TextPair],
    columns: Sequence[ColumnMatch],
    numeric: Sequence[str],
    asker: Asker,
) -> list[CellVerdict]:
    """Judge cells of matched rows, each pair of texts once; the judge is asked all together."""
    partner = {column.gold: column for column in columns}
    known: dict[TextPair, CellVerdict] = {}
    asked: list[TextPair] = []
    for question in dict.fromkeys(questions):
        name, gold, predicted = question
        verdict = _by_rules(partner[name], gold, predicted, is_numeric=name in numeric)
        if verdict is None:
            asked.append(question)
        else:
            known[question] = verdict
    for question, answer in zip(asked, asker.answers(asked), strict=True):
        score, reason, words = answer
        if score is None:
            known[question] = CellVerdict("judge_error", None, reason, None, words)
            continue
        passes = score >= PASS_MARK
        outcome = "correct" if passes else "incorrect"
        known[question] = CellVerdict(outcome, float(passes), reason, score, words)
    return [known[question] for question in questions]


def _by_rules(
    column: ColumnMatch, gold: str, predicted: str, *, is_numeric: bool
) -> CellVerdict | None:
    """Judge a cell by rules; None where the judge is to decide."""
    nothing = is_absent(gold), is_absent(predicted)
    if column.status == "judge_error":
        return _OPEN_COLUMN
    if column.predicted is None:
        return _NO_COLUMN[nothing[0]]
    if nothing in _NULLS:
        return _NULLS[nothing]
    if gold.strip() == predicted.strip():
        return CellVerdict("correct", 1.0, "identical", 1.0)
    one, other = (number_of(text, str(column.gold)) for text in (gold, predicted))
    if one is not None and other is not None:
        return _NUMBERS[one == other]
    if text_key(gold) == text_key(predicted):
        return CellVerdict("correct", 1.0, "normalised", 1.0)
    if one is not None and is_numeric:
        return CellVerdict("incorrect", 0.0, "not_a_number")
    return None
