"""Columns and rows of two tables aligned one to one, their cells listed, and a judge asked.

Nothing depends on the order of rows or columns: both are put in the order of their content first,
and ties in an assignment are then broken by content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import chain, product
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from extractbench_nb.construction.answers import Reading
from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    TableRules,
    column_key,
    is_absent,
    protected,
    row_key,
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
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.judges import gather_verdicts
from extractbench_nb.support.concurrency import run_anywhere

#: The metric whose question a judge of names, keys and cells gets.
METRIC = "string_semantic"
#: A column (or ``column``, ``key``), gold's text and the predicted text.
TextPair: TypeAlias = tuple[str, str, str]
#: Judges pairs of texts: a score each, or None for no verdict.
Ask: TypeAlias = Callable[[Sequence[TextPair]], Sequence[float | None]]
Matrix: TypeAlias = npt.NDArray[Any]
Pair: TypeAlias = tuple[int, int]
Scored: TypeAlias = tuple[int, int, float]

#: A judge is asked about so many keys per row, if they are alike at all.
_LIKELIEST, _LIKELIEST_RELEASED, _FAINTLY_ALIKE = 3, 5, 40.0
#: Pairs of rows with equal keys up to which they are assigned by their cells.
_MOST_EQUAL = 4_000_000


class Tables(NamedTuple):
    """The two tables of a comparison as texts, and the roles of gold's columns."""

    gold: Reading
    predicted: Reading
    keys: list[str]
    values: list[str]
    numeric: list[str]
    #: Number of compared columns that were asked for, those that gold lacks included.
    configured: int
    rules: TableRules


class ColumnMatch(NamedTuple):
    """A column of gold, of the prediction, or both, and the rule that aligned them."""

    gold: str | None
    predicted: str | None
    status: str
    rule: str | None = None


class RowMatch(NamedTuple):
    """A row of gold, of the prediction, or both, by position; similarity of the keys, 0 to 1."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str | None = None
    similarity: float | None = None


class Verdict(NamedTuple):
    """The verdict on one cell: outcome, score, reason, a judge's similarity and words."""

    outcome: str
    score: float | None
    reason: str
    similarity: float | None = None
    reasoning: str | None = None


class Cell(NamedTuple):
    """A cell of gold, of the prediction, or two that were compared: texts, and the verdict."""

    row: RowMatch
    column: ColumnMatch
    gold: str | None
    predicted: str | None
    verdict: Verdict = Verdict("structural", 0.0, "")

    @property
    def in_pair(self) -> bool:
        """Whether the cell is in a matched row and a column of gold."""
        return self.row.status == "matched" and self.column.gold is not None

    @property
    def score(self) -> float:
        """The score; 0 without a verdict."""
        return self.verdict.score or 0.0


class Alignment(NamedTuple):
    """What a comparison found."""

    tables: Tables
    columns: list[ColumnMatch]
    rows: list[RowMatch]
    cells: list[Cell]
    problems: list[str]


class Side(NamedTuple):
    """One table as rows are matched, one tuple of texts per row.

    Keys; comparable texts of the cells that both tables have by name; and all cells of the table's
    own columns, by which rows are ordered.
    """

    keys: Sequence[tuple[str, ...]]
    cells: Sequence[tuple[str, ...]]
    content: Sequence[tuple[str, ...]]


# --- questions to a judge -------------------------------------------------------------------------

_ABOUT = {
    "column": "The name of a table's column. The same if both columns hold the same quantity, in "
    "the same unit.",
    "key": "The key that names a row of a table. The same if both name the same thing and the "
    "same year.",
}


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
        self.judge: Any = choose_judge(judge)
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
        judge = self.judge
        if isinstance(judge, OfflineJudge):
            verdicts = [judge.compare(gold, predicted) for _, gold, predicted in questions]
            return [_judged(verdict.score, verdict.reason) for verdict in verdicts]
        if isinstance(judge, TableJudge):
            scores = [judge.score_cell(*question) for question in questions]
            self.failures += ["not recorded"] * scores.count(None)
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
        if isinstance(self.judge, TableJudge):
            named = self.judge.match_key(key, keys)
            if named is None:
                self.failures.append("not recorded")
            return named
        from rapidfuzz import fuzz, process

        limit, cutoff = _LIKELIEST_RELEASED, _FAINTLY_ALIKE
        likely = process.extract(key, keys, scorer=fuzz.ratio, limit=limit, score_cutoff=cutoff)
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


# --- columns --------------------------------------------------------------------------------------


def align_columns(gold: Sequence[str], predicted: Sequence[str], ask: Ask) -> list[ColumnMatch]:
    """Align columns by name, normalised name, and then by a judge.

    No name is asked about that differs in a number or has a per-cent sign alone. The result is in
    the order of gold, and then of the prediction.
    """
    partner = {name: (name, "name") for name in gold if name in predicted}
    others = defaultdict(list)
    for name in sorted(set(predicted) - partner.keys(), reverse=True):
        others[column_key(name)].append(name)
    for name in sorted(set(gold) - partner.keys()):
        if others[column_key(name)]:
            partner[name] = others[column_key(name)].pop(), "normalised"

    ours, theirs = sorted(set(gold) - partner.keys()), sorted(chain(*others.values()))
    likely = [
        (a, b)
        for (a, one), (b, other) in product(enumerate(ours), enumerate(theirs))
        if protected(one) == protected(other) and ("%" in one) == ("%" in other)
    ]
    judged, failed = _judged_pairs("column", likely, ours, theirs, ask)
    partner |= {ours[a]: (theirs[b], "judge") for a, b, _ in judged}
    unknown = {ours[a] for a in failed[0]}, {theirs[b] for b in failed[1]}
    found = []
    for name in gold:
        if name in partner:
            other, rule = partner[name]
            found.append(ColumnMatch(name, other, "matched" if other == name else "renamed", rule))
        else:
            status = "judge_error" if name in unknown[0] else "missing"
            found.append(ColumnMatch(name, None, status))
    used = {name for name, _ in partner.values()}
    return found + [
        ColumnMatch(None, name, "judge_error" if name in unknown[1] else "extra")
        for name in predicted
        if name not in used
    ]


# --- assignments ----------------------------------------------------------------------------------


def _best_pairs(edges: Sequence[Scored]) -> list[Scored]:
    """Choose pairs one to one: as many as possible, and of these the best in total."""
    from scipy.optimize import linear_sum_assignment

    if not edges:
        return []
    left, right, scores = map(np.array, zip(*edges, strict=True))
    rows, i = np.unique(left, return_inverse=True)
    columns, j = np.unique(right, return_inverse=True)
    worth = np.zeros((len(rows), len(columns)))
    # the size outweighs all scores, so that as many pairs as possible come first
    worth[i, j] = min(worth.shape) * scores.max() + scores
    pairs = zip(*linear_sum_assignment(worth, maximize=True), strict=True)
    score_of = dict(zip(zip(i.tolist(), j.tolist(), strict=True), scores.tolist(), strict=True))
    return [(int(rows[a]), int(columns[b]), score_of[a, b]) for a, b in pairs if worth[a, b] > 0]


def _judged_pairs(
    kind: str, pairs: Iterable[Pair], ours: Sequence[str], theirs: Sequence[str], ask: Ask
) -> tuple[list[Scored], tuple[set[int], set[int]]]:
    """Assign pairs of texts that a judge accepts; also return what stays open on each side.

    Whatever an open verdict could change stays open: all that accepted and open pairs connect. So
    a judge that fails never makes room for a pair that it would have ruled out.
    """
    asked = sorted(pairs)  # ties are broken by content
    verdicts = ask([(kind, ours[a], theirs[b]) for a, b in asked]) if asked else []
    scores = dict(zip(asked, verdicts, strict=True))
    edges = {pair: s for pair, s in scores.items() if s is None or s >= PASS_MARK}
    failed = {a for (a, _), s in edges.items() if s is None}, set[int]()
    size = -1
    while size != (size := len(failed[0]) + len(failed[1])):
        failed[1].update(b for a, b in edges if a in failed[0])
        failed[0].update(a for a, b in edges if b in failed[1])
    kept = [(a, b, s) for (a, b), s in edges.items() if s is not None and a not in failed[0]]
    return _best_pairs(kept), failed


# --- rows -----------------------------------------------------------------------------------------


def align_rows(gold: Side, predicted: Side, *, threshold: float, ask: Ask) -> list[RowMatch]:
    """Match rows one to one by their keys: in the order of gold, and then of the prediction.

    Equal keys come first, then keys that are equal once normalised. Of the rest, the number of
    pairs and then the total similarity (from `threshold`, 0 to 100, on) is as large as possible;
    then a judge decides. Keys that differ in a number or a year are never compared. Where several
    rows have the same key, their cells decide.
    """
    # rows are numbered in the order of their content until the end
    orders = [sorted(range(len(s.content)), key=s.content.__getitem__) for s in (gold, predicted)]
    sides = [
        Side(*([part[row] for row in order] for part in side))
        for side, order in zip((gold, predicted), orders, strict=True)
    ]
    free = [list(range(len(order))) for order in orders]
    matches: list[RowMatch] = []

    def blocks(key: Callable[[Any], Any]) -> list[tuple[list[int], list[int]]]:
        """Group the free rows of both sides by what their keys share, where both have some."""
        groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for n in (0, 1):
            for row in free[n]:
                groups[key(sides[n].keys[row])][n].append(row)
        groups.pop(None, None)
        return [block for block in groups.values() if all(block)]

    def keep(rule: str, found: Iterable[Scored]) -> None:
        for a, b, similarity in found:
            matches.append(RowMatch(a, b, "matched", rule, similarity))
        for n in (0, 1):
            taken = {match[n] for match in matches}
            free[n] = [row for row in free[n] if row not in taken]

    for rule, key in (("exact", tuple), ("normalised", _normalised)):
        keep(rule, [(a, b, 1.0) for block in blocks(key) for a, b in _by_cells(sides, *block)])
    keep(
        "similar",
        [pair for block in blocks(_numbers) for pair in _similar(sides, *block, threshold)],
    )
    likely = [pair for block in blocks(_numbers) for pair in _likeliest(sides, *block)]
    keys = [[" | ".join(key) for key in side.keys] for side in sides]
    judged, failed = _judged_pairs("key", likely, keys[0], keys[1], ask)
    keep("judge", judged)

    ours, theirs = orders
    found = [m._replace(gold=ours[m.gold], predicted=theirs[m.predicted]) for m in matches]  # type: ignore[index]
    statuses = [
        {row: "judge_error" if row in failed[n] else status for row in free[n]}
        for n, status in enumerate(("missed", "spurious"))
    ]
    found += [RowMatch(ours[row], None, status) for row, status in statuses[0].items()]
    found += [RowMatch(None, theirs[row], status) for row, status in statuses[1].items()]
    return in_order(found)


def in_order(rows: Iterable[RowMatch]) -> list[RowMatch]:
    """Put rows in the order of gold, and those without a partner there in the prediction's."""
    return sorted(rows, key=lambda row: (row.gold is None, row.gold or 0, row.predicted or 0))


def _normalised(key: Sequence[str]) -> tuple[str, ...]:
    return tuple("" if is_absent(text) else row_key(text) for text in key)


def _numbers(key: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    """Return the numbers of a key; None for a blank one, which matches no other key."""
    return tuple(map(protected, key)) if any(_normalised(key)) else None


def _by_cells(sides: Sequence[Side], ours: list[int], theirs: list[int]) -> list[Pair]:
    """Pair rows with the same key so that as many of their cells as possible are equal."""
    from scipy.optimize import linear_sum_assignment

    if len(ours) == len(theirs) == 1 or len(ours) * len(theirs) > _MOST_EQUAL:
        return list(zip(ours, theirs, strict=False))
    pairs = linear_sum_assignment(_agreement(sides, ours, theirs), maximize=True)
    return [(ours[i], theirs[j]) for i, j in zip(*pairs, strict=True)]


def _agreement(sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int]) -> Matrix:
    """Count the equal cells of each pair of rows."""
    found = np.zeros((len(ours), len(theirs)))
    for n in range(len(sides[0].cells[0])):
        codes: dict[str, int] = {}
        left, right = (
            np.array([codes.setdefault(side.cells[row][n], len(codes)) for row in rows])
            for side, rows in zip(sides, (ours, theirs), strict=True)
        )
        found += left[:, None] == right
    return found


def _likeness(
    sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int], cutoff: float
) -> Matrix:
    """Compare keys, 0 to 100, by the least similar of several key columns."""
    from rapidfuzz import fuzz
    from rapidfuzz.process import cdist

    def words(text: str) -> str:
        return " ".join(sorted(row_key(text).split()))

    left, right = (
        zip(*(map(words, side.keys[row]) for row in rows), strict=True)
        for side, rows in zip(sides, (ours, theirs), strict=True)
    )
    columns = (
        cdist(one, other, scorer=fuzz.ratio, dtype=np.float32, score_cutoff=cutoff)
        for one, other in zip(left, right, strict=True)
    )
    return reduce(np.minimum, columns)


def _similar(
    sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int], threshold: float
) -> list[Scored]:
    """Pair rows whose keys reach a similarity; cells decide between equal similarities."""
    likeness = _likeness(sides, ours, theirs, max(threshold, 1.0))
    rows, columns = (np.unique(places) for places in np.nonzero(likeness >= max(threshold, 1.0)))
    likeness = likeness[np.ix_(rows, columns)].astype(np.float64)
    left, right = [ours[n] for n in rows], [theirs[n] for n in columns]
    worth = likeness + 1e-4 * _agreement(sides, left, right)
    edges = [(int(i), int(j), worth[i, j]) for i, j in np.argwhere(likeness > 0)]
    return [(left[i], right[j], likeness[i, j] / 100) for i, j, _ in _best_pairs(edges)]


def _likeliest(sides: Sequence[Side], ours: Sequence[int], theirs: Sequence[int]) -> list[Pair]:
    """Return the pairs with the most similar keys, a few for each row of either side."""
    likeness = _likeness(sides, ours, theirs, _FAINTLY_ALIKE)
    is_likely = np.zeros(likeness.shape, dtype=bool)
    for axis in (0, 1):
        count = min(_LIKELIEST, likeness.shape[axis])
        places = np.argpartition(-likeness, count - 1, axis=axis).take(range(count), axis=axis)
        np.put_along_axis(is_likely, places, values=True, axis=axis)
    return [(ours[a], theirs[b]) for a, b in np.argwhere(is_likely & (likeness > 0)).tolist()]


# --- cells ----------------------------------------------------------------------------------------

#: Verdicts on all cells of a row without a partner.
_OF_ROWS = {
    "missed": Verdict("omission", 0.0, "row_missed"),
    "spurious": Verdict("hallucination", 0.0, "row_spurious"),
    "judge_error": Verdict("judge_error", None, "row_judge_failed"),
}
#: Verdicts on filled cells of predicted columns that gold lacks.
_OF_EXTRA = {
    "extra": Verdict("hallucination", 0.0, "column_extra"),
    "judge_error": Verdict("judge_error", None, "column_judge_failed"),
}


def list_cells(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    judge: Callable[[Sequence[TextPair]], Sequence[Verdict]],
) -> list[Cell]:
    """List the cells of the compared columns, row by row, and then filled cells of extra columns.

    `judge` judges cells of matched rows, from column, gold and predicted text. The rules of ``aoe``
    have no extra columns.
    """
    partner = {column.gold: column for column in columns}
    compared = [partner[name] for name in tables.values]
    extra = [c for c in columns if c.gold is None and not tables.rules.released]

    def text(table: Reading, name: str | None, row: int | None) -> str | None:
        return None if name is None or row is None else table.columns[name][row]

    cells = [
        Cell(
            row,
            column,
            text(tables.gold, column.gold, row.gold),
            text(tables.predicted, column.predicted, row.predicted),
        )
        for row, column in chain(product(rows, compared), product(rows, extra))
    ]
    cells = [cell for cell in cells if cell.column.gold or not is_absent(cell.predicted or "")]
    asked = [(str(c.column.gold), c.gold or "", c.predicted or "") for c in cells if c.in_pair]
    judged = iter(judge(asked))

    def verdict(cell: Cell) -> Verdict:
        if tables.predicted.failure is not None:
            return Verdict("structural", 0.0, tables.predicted.failure)
        if cell.row.status != "matched":
            return _OF_ROWS[cell.row.status]
        return next(judged) if cell.in_pair else _OF_EXTRA[cell.column.status]

    return [cell._replace(verdict=verdict(cell)) for cell in cells]
