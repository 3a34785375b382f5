"""AOE's scores as its released code computes them (commit 282e688d), quirks included.

Tables have the types that ``pandas.read_csv`` infers. Rows are matched in the order of the file, or
by a join. Where the released code stops with an error, a warning names the problem.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.construction.aligning import ColumnMatch, RowMatch, in_order
from extractbench_nb.construction.answers import Note, Reading, Tables, fenced_frame, read_csv
from extractbench_nb.construction.cell_values import (
    released_number,
    released_similarity,
    released_words,
)
from extractbench_nb.construction.cell_verdicts import Asker, CellVerdict, TextPair, cell_rows
from extractbench_nb.construction.construction_profiles import PASS_MARK, TableRules
from extractbench_nb.construction.table_comparison import SUMMARY, Parts, ratios_of
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.values import read_text
from extractbench_nb.errors import InputError


def compare_released(
    tables: Tables,
    roles: Sequence[str | Sequence[str] | None],
    given: tuple[Any, Any],
    rules: TableRules,
    asker: Asker,
) -> Parts:
    """Compare two tables as AOE's released code does.

    It reads gold and prediction from what was `given`, and takes keys, values and numeric columns
    as the user wrote them: `tables` are the same as texts, with folded names.
    """
    keys, values, numeric = (
        found if names is None else [names] if isinstance(names, str) else list(names)
        for names, found in zip(roles, (tables.keys, tables.values, tables.numeric), strict=True)
    )
    gold, predicted = _frame(given[0], tables.gold), _frame(given[1], tables.predicted)
    if gold is None:
        raise InputError("gold cannot be read by pandas.read_csv")
    known = [name for name in values if name in gold.columns]
    if not known:
        return _nothing_compared(tables)
    sizes = len(gold), 0 if predicted is None else len(predicted)
    _check_keys(gold, keys)
    notes = list(_problems(gold, predicted, keys, values))
    if predicted is None and tables.predicted.failure is None:
        notes.append(("predicted", "$", "unreadable", "pandas.read_csv cannot read it", None))
    ours, theirs = (_texts(f, [*keys, *known], {*numeric} - {*keys}) for f in (gold, predicted))
    key_rows = _key_rows(ours, keys, ""), _key_rows(theirs, keys, rules.key_suffix)
    pairs: list[RowMatch] = []
    if rules.rows == "llm_assisted":
        pairs = _in_file_order(*key_rows, rules, asker)
    elif predicted is not None and predicted.index.nlevels == 1:
        pairs = _joined(*key_rows)
    rows = pairs + _without_partner(pairs, *sizes)
    columns = _columns(gold, predicted)
    used = Tables(ours, theirs, keys, known, numeric, len(values))

    def judged(pairs: Sequence[TextPair]) -> list[CellVerdict]:
        return _verdicts(pairs, used, rules, asker)

    cells = cell_rows(used, columns, rows, rules, judged)
    ratios = ratios_of(used, columns, rows, cells, rules)
    cells.sort(key=lambda c: (c.gold_row is None, c.gold_row or 0, c.predicted_row or 0))
    return Parts(columns, in_order(rows), cells, ratios, notes)


def _nothing_compared(tables: Tables) -> Parts:
    """Return the result where gold has none of the compared columns: no score, and why."""
    message = "gold has none of the compared columns"
    ratios = dict.fromkeys(SUMMARY.names[: SUMMARY.names.index("evaluated")], 0.0)
    ratios |= {"gold_rows": tables.gold.size, "predicted_rows": tables.predicted.size}
    return Parts([], [], [], ratios, [("gold", "$", "nothing_compared", message, None)])


# --- reading --------------------------------------------------------------------------------------


def _frame(given: Any, reading: Reading) -> pd.DataFrame | None:
    """Read a table with the types of ``pandas.read_csv``; other formats become CSV first."""
    given = as_pandas(given)
    if given is None or isinstance(given, pd.DataFrame):
        return given
    text: str | None = None
    if isinstance(given, Path) and given.suffix.lower() == ".csv":
        text = read_text(given, "table")
    elif isinstance(given, str):
        is_fenced, frame = fenced_frame(given)
        if is_fenced:
            return frame
        text = given
    elif reading.failure is None:
        text = reading.frame.to_csv(index=False)
    return None if text is None else read_csv(text)


def _texts(frame: pd.DataFrame | None, names: Sequence[str], numbers: set[str]) -> Reading:
    """Write the values of columns as texts: of several of one name the first; truths as numbers."""
    if frame is None:
        return Reading({}, 0)
    columns = {}
    for name in dict.fromkeys(names):
        if name in frame.columns:
            column: Any = frame[name]
            column = column if column.ndim == 1 else column.iloc[:, 0]
            texts = [
                str(int(value) if isinstance(value, bool) and name in numbers else value).strip()
                for value in column.tolist()
            ]
            is_missing = column.isna().tolist()
            columns[name] = [
                "" if missing else text for text, missing in zip(texts, is_missing, strict=True)
            ]
    return Reading(columns, len(frame))


def _check_keys(gold: pd.DataFrame, keys: Sequence[str]) -> None:
    if not keys:
        raise InputError("keys is empty; expected at least one key column")
    absent = [name for name in keys if name not in gold.columns]
    if absent:
        raise InputError(
            f"keys: gold has no column {absent[0]!r}; it has {', '.join(map(repr, gold.columns))}"
        )


def _problems(
    gold: pd.DataFrame, predicted: pd.DataFrame | None, keys: Sequence[str], values: Sequence[str]
) -> Iterator[Note]:
    """Name what the released code ignores or stops at."""

    def note(kind: str, message: str) -> Note:
        return ("predicted", "$", kind, message, None)

    absent = [name for name in values if name not in gold.columns]
    if absent:
        yield note("not_in_gold", f"gold has no column {', '.join(map(repr, absent))}; left out")
    if predicted is None or not len(predicted):
        yield note("no_rows", "the prediction has no rows")
        return
    for side, frame in (("gold", gold), ("predicted", predicted)):
        if not (frame.columns.is_unique and frame.index.is_unique):
            message = f"{side} has columns of one name, or rows that are too long and begin alike"
            yield note("released_raises", f"the released code stops: {message}")
    lost = [name for name in keys if name not in predicted.columns]
    if lost:
        yield note("key_missing", f"the prediction has no key column {lost[0]!r}")


# --- columns and rows -----------------------------------------------------------------------------


def _columns(gold: pd.DataFrame, predicted: pd.DataFrame | None) -> list[ColumnMatch]:
    """Align columns of the same name."""
    names = [] if predicted is None else list(map(str, predicted.columns))
    columns = [
        ColumnMatch(name, name, "matched", "name")
        if name in names
        else ColumnMatch(name, None, "missing")
        for name in map(str, gold.columns)
    ]
    return columns + [ColumnMatch(None, n, "extra") for n in names if n not in gold.columns]


def _key_rows(table: Reading, keys: Sequence[str], suffix: str) -> list[Any]:
    """Return the key of each row: a text, or a tuple of texts; blanks for a missing column."""
    blank = [""] * table.size
    columns = [
        [text.removesuffix(suffix) for text in table.columns.get(name, blank)] for name in keys
    ]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _joined(ours: Sequence[Any], theirs: Sequence[Any]) -> list[RowMatch]:
    """Join the keys, many to many, in the order in which gold's keys first appear."""
    rows: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, keys in enumerate((ours, theirs)):
        for number, key in enumerate(keys):
            rows[key][side].append(number)
    return [
        RowMatch(row, place, "matched", "exact", 1.0)
        for left, right in rows.values()
        for row in left
        for place in right
    ]


def _in_file_order(
    ours: Sequence[Any], theirs: Sequence[Any], rules: TableRules, asker: Asker
) -> list[RowMatch]:
    """Match the predicted rows one after the other; what is taken stays taken."""
    first: dict[Any, int] = {}
    for row, key in enumerate(ours):
        first.setdefault(key, row)
    names = {str(key): row for key, row in first.items()}
    words = [released_words(name) for name in names]
    similar = _most_similar([str(key) for key in theirs if key not in first], names, words, rules)
    taken: set[int] = set()
    pairs: list[RowMatch] = []
    for place, key in enumerate(theirs):
        found, rule, likeness = first.get(key), "exact", 1.0
        if found is None or found in taken:
            if str(key) not in similar:
                similar |= _most_similar([str(key)], names, words, rules)
            (found, likeness), rule = similar[str(key)], "fuzzy"
        if found is None or found in taken:
            answer = asker.key_of(str(key), list(names))
            is_none = not answer or answer.lower() == "none"
            found, rule = None if is_none else names.get(answer or ""), "judge"
        if found is not None and found not in taken:
            taken.add(found)
            similarity = None if rule == "judge" else likeness
            pairs.append(RowMatch(found, place, "matched", rule, similarity))
    return pairs


def _most_similar(
    keys: Sequence[str], names: dict[str, int], words: Sequence[str], rules: TableRules
) -> dict[str, tuple[int | None, float]]:
    """Return gold's first row with the most similar key if that is enough, and the similarity."""
    from rapidfuzz import fuzz
    from rapidfuzz.process import cdist

    found: dict[str, tuple[int | None, float]] = dict.fromkeys(keys, (None, 0.0))
    if rules.threshold <= 0 or not rules.fuzzy_installed or not words:
        return found
    rows, distinct = list(names.values()), list(found)
    table = cdist(
        [released_words(key) for key in distinct],
        words,
        scorer=fuzz.ratio,
        dtype=np.float64,
        score_cutoff=max(0.0, rules.threshold - 1.0),
    )
    for key, column, row in zip(distinct, table.argmax(axis=1).tolist(), table, strict=True):
        score = float(row[column])
        if round(score) >= rules.threshold:
            found[key] = rows[column], score / 100
    return found


def _without_partner(pairs: Sequence[RowMatch], gold: int, predicted: int) -> list[RowMatch]:
    seen = {pair.gold for pair in pairs}, {pair.predicted for pair in pairs}
    rows = [RowMatch(n, None, "missed") for n in range(gold) if n not in seen[0]]
    return rows + [RowMatch(None, n, "spurious") for n in range(predicted) if n not in seen[1]]


# --- cells ----------------------------------------------------------------------------------------


def _verdicts(
    pairs: Sequence[TextPair], tables: Tables, rules: TableRules, asker: Asker
) -> list[CellVerdict]:
    """Judge cells of matched rows: two numbers that are missing or unreadable are equal."""
    suffixes = dict.fromkeys(tables.keys, rules.key_suffix)
    texts = [(name, one, other.removesuffix(suffixes.get(name, ""))) for name, one, other in pairs]
    methods = ["number" if name in tables.numeric else rules.cells for name, _, _ in pairs]
    scores: list[float | None] = [float(one == other) for _, one, other in texts]
    numbers = [n for n, method in enumerate(methods) if method == "number"]
    ours, theirs = (np.array([released_number(texts[n][side]) for n in numbers]) for side in (1, 2))
    close = np.isclose(ours, theirs, atol=rules.numeric_tolerance, equal_nan=True)
    for n, is_close in zip(numbers, close.tolist(), strict=True):
        scores[n] = float(is_close)
    asked = []
    for n, (_, one, other) in enumerate(texts):
        if one and other and methods[n] == "fuzzy":
            is_alike = round(released_similarity(one, other)) >= rules.threshold
            scores[n] = float(rules.fuzzy_installed and is_alike)
        elif one and other and methods[n] == "judge" and not scores[n]:
            asked.append(n)
    answers = asker.scores([texts[n] for n in asked])
    for n, answer in zip(asked, answers, strict=True):
        scores[n] = answer
    failed = CellVerdict("judge_error", rules.failure_score, "judge_failed")
    return [
        failed if score is None else _verdict(score, bool(one), bool(other), method)
        for score, (_, one, other), method in zip(scores, pairs, methods, strict=True)
    ]


@lru_cache(maxsize=1_024)
def _verdict(score: float, gold: bool, predicted: bool, method: str) -> CellVerdict:
    """Return the verdict for a score; gold and the prediction may be present or absent."""
    if score >= PASS_MARK:
        if not gold and not predicted:
            return CellVerdict("both_absent", score, "both_null")
        is_lenient = method == "number" and not (gold and predicted)
        return CellVerdict("correct", score, "both_unreadable" if is_lenient else method)
    if not gold:
        return CellVerdict("hallucination", score, "gold_null")
    if not predicted:
        return CellVerdict("omission", score, "predicted_null")
    return CellVerdict("incorrect", score, method)
