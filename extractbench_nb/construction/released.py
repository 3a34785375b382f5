"""AOE's scores as its released code computes them (commit 282e688d), quirks included.

Tables have the types that ``pandas.read_csv`` infers; rows are matched in the order of the file, or
by a join. Where that code stops with an error, this one goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.construction.aligning import (
    Alignment,
    Asker,
    ColumnMatch,
    RowMatch,
    Tables,
    TextPair,
    Verdict,
    in_order,
    list_cells,
)
from extractbench_nb.construction.answers import Reading, fenced_frame, read_csv
from extractbench_nb.construction.table_rules import PASS_MARK, TableRules
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import read_text

_LATIN_1 = dict.fromkeys(range(0x80, 0x100))


def align_released(
    tables: Tables,
    roles: Sequence[list[str] | None],
    given: tuple[Any, Any],
    asker: Asker,
) -> Alignment:
    """Compare two tables as the released code does.

    It takes both sides from what was `given`, and keys, values and numeric columns as the user
    wrote them; `tables` are the same as texts, with folded names.
    """
    rules = tables.rules
    defaults = (tables.keys, tables.values, tables.numeric)
    keys, values, numeric = (
        found if names is None else names for names, found in zip(roles, defaults, strict=True)
    )
    gold, predicted = _frame(given[0], tables.gold), _frame(given[1], tables.predicted)
    if gold is None:
        raise InputError("gold cannot be read by pandas.read_csv")
    known = [name for name in values if name in gold.columns]
    if not known:
        nothing = tables._replace(values=[], configured=0)
        return Alignment(nothing, [], [], [], ["gold has none of the compared columns"])
    for name in keys:
        if name not in gold.columns:
            raise InputError(f"keys: gold has no column {name!r}; {nearest(name, gold.columns)}")
    problems = []
    if predicted is None and not tables.predicted.failure:
        problems.append("pandas.read_csv cannot read the prediction")
    ours, theirs = (_texts(f, [*keys, *known], {*numeric} - {*keys}) for f in (gold, predicted))
    key_rows = _key_rows(ours, keys, ""), _key_rows(theirs, keys, rules.key_suffix)
    pairs: list[RowMatch] = []
    if rules.rows == "llm_assisted":
        pairs = _in_file_order(*key_rows, rules, asker)
    elif predicted is not None and predicted.index.nlevels == 1:
        pairs = _joined(*key_rows)
    matched = {pair.gold for pair in pairs}, {pair.predicted for pair in pairs}
    rows = [*pairs, *(RowMatch(n, None, "missed") for n in range(ours.size) if n not in matched[0])]
    rows += [RowMatch(None, n, "spurious") for n in range(theirs.size) if n not in matched[1]]
    names = [] if predicted is None else list(map(str, predicted.columns))
    columns = [
        ColumnMatch(name, name, "matched", "name")
        if name in names
        else ColumnMatch(name, None, "missing")
        for name in map(str, gold.columns)
    ]
    columns += [ColumnMatch(None, n, "extra") for n in names if n not in gold.columns]
    used = Tables(ours, theirs, keys, known, numeric, len(values), rules)
    cells = list_cells(used, columns, rows, lambda texts: _verdicts(texts, used, asker))
    cells.sort(key=lambda c: (c.row.gold is None, c.row.gold or 0, c.row.predicted or 0))
    return Alignment(used, columns, in_order(rows), cells, problems)


# --- reading --------------------------------------------------------------------------------------


def _frame(given: Any, reading: Reading) -> pd.DataFrame | None:
    """Read a table with the types of ``pandas.read_csv``; other formats become CSV first."""
    given = as_pandas(given)
    if given is None or isinstance(given, pd.DataFrame):
        return given
    if isinstance(given, Path) and given.suffix.lower() == ".csv":
        return read_csv(read_text(given, "table"))
    if isinstance(given, str):
        is_fenced, frame = fenced_frame(given)
        return frame if is_fenced else read_csv(given)
    return None if reading.failure else read_csv(reading.frame.to_csv(index=False))


def _texts(frame: pd.DataFrame | None, names: Sequence[str], numbers: set[str]) -> Reading:
    """Write the values of columns as texts: of several of one name the first; truths as numbers."""
    if frame is None:
        return Reading({}, 0)

    def written(name: str) -> list[str]:
        column: Any = frame[name]
        column = column if column.ndim == 1 else column.iloc[:, 0]
        values = zip(column.tolist(), column.isna(), strict=True)
        truths = bool if name in numbers else ()
        return [
            "" if is_na else str(int(value) if isinstance(value, truths) else value).strip()
            for value, is_na in values
        ]

    return Reading({name: written(name) for name in names if name in frame.columns}, len(frame))


# --- rows -----------------------------------------------------------------------------------------


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
    rows, words = list(names.values()), [released_words(name) for name in names]
    taken: set[int] = set()
    pairs: list[RowMatch] = []
    for place, key in enumerate(theirs):
        found, rule = first.get(key), "exact"
        likeness: float | None = 1.0
        if found is None or found in taken:
            (at, likeness), rule = _most_similar(str(key), words, rules.threshold), "fuzzy"
            found = None if at is None else rows[at]
        if found is None or found in taken:
            answer = asker.key_of(str(key), list(names)) or "none"
            found = None if answer.lower() == "none" else names.get(answer)
            rule, likeness = "judge", None
        if found is not None and found not in taken:
            taken.add(found)
            pairs.append(RowMatch(found, place, "matched", rule, likeness))
    return pairs


def _most_similar(
    key: str, words: Sequence[str], threshold: float
) -> tuple[int | None, float | None]:
    """Return the place of the most similar key, the first of several, and the similarity."""
    from rapidfuzz import fuzz
    from rapidfuzz.process import extractOne

    best = threshold > 0 and extractOne(
        released_words(key), words, scorer=fuzz.ratio, score_cutoff=max(0.0, threshold - 1.0)
    )
    if not best or round(best[1]) < threshold:
        return None, None
    return best[2], best[1] / 100


def released_words(text: str) -> str:
    """Return the words of a text, sorted, in lower case.

    Characters other than letters and digits separate words; those from U+0080 to U+00FF are lost.
    """
    from rapidfuzz.utils import default_process

    return " ".join(sorted(default_process(text.translate(_LATIN_1)).split()))


# --- cells ----------------------------------------------------------------------------------------


def _verdicts(pairs: Sequence[TextPair], tables: Tables, asker: Asker) -> list[Verdict]:
    """Judge cells of matched rows: two numbers that are missing or unreadable are equal."""
    from rapidfuzz import fuzz

    rules = tables.rules
    suffixes = dict.fromkeys(tables.keys, rules.key_suffix)
    texts = [(name, one, other.removesuffix(suffixes.get(name, ""))) for name, one, other in pairs]
    methods = ["number" if name in tables.numeric else rules.cells for name, _, _ in pairs]
    scores: list[float | None] = [float(one == other) for _, one, other in texts]
    numbers = [n for n, method in enumerate(methods) if method == "number"]
    ours, theirs = (np.array([_number(texts[n][side]) for n in numbers]) for side in (1, 2))
    close = np.isclose(ours, theirs, atol=rules.numeric_tolerance, equal_nan=True)
    for n, is_close in zip(numbers, close.tolist(), strict=True):
        scores[n] = float(is_close)
    asked = []
    for n, (_, one, other) in enumerate(texts):
        if one and other and methods[n] == "fuzzy":
            similarity = fuzz.ratio(released_words(one), released_words(other))
            scores[n] = float(round(similarity) >= rules.threshold)
        elif one and other and methods[n] == "judge" and not scores[n]:
            asked.append(n)
    for n, answer in zip(asked, asker.scores([texts[n] for n in asked]), strict=True):
        scores[n] = answer
    failed = Verdict("judge_error", rules.failure_score, "judge_failed")
    return [
        failed if score is None else _verdict(score, bool(one), bool(other), method)
        for score, (_, one, other), method in zip(scores, pairs, methods, strict=True)
    ]


def _number(text: str) -> float:
    """Read a number as the released code does; NaN for any other text."""
    plain = text.replace(",", "")
    try:
        return float(plain.replace("%", "")) / 100.0 if "%" in plain else float(plain)
    except ValueError:
        return nan


@lru_cache(maxsize=1_024)
def _verdict(score: float, gold: bool, predicted: bool, method: str) -> Verdict:
    """Return the verdict for a score; gold and the prediction may be present or absent."""
    if score >= PASS_MARK:
        if not gold and not predicted:
            return Verdict("both_absent", score, "both_null")
        is_lenient = method == "number" and not (gold and predicted)
        return Verdict("correct", score, "both_unreadable" if is_lenient else method)
    if not gold:
        return Verdict("hallucination", score, "gold_null")
    if not predicted:
        return Verdict("omission", score, "predicted_null")
    return Verdict("incorrect", score, method)
