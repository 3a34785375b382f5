"""AOE's scores as its released code computes them (commit 282e688d), quirks included.

Where the released code stops with an error, a problem is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.construction.profiles import TableRules
from extractbench_nb.construction.replies import read_row_reply
from extractbench_nb.construction.values import released_number
from extractbench_nb.errors import InputError

#: A column of a cell, gold's text and the predicted text.
CellQuestion = tuple[str, str, str]
#: Asks for the key of gold that a predicted key means; its answer is the text of a reply.
AskRow = Callable[[str, Sequence[str]], str | None]
#: Asks for the scores of cells; None without a verdict.
AskCells = Callable[[Sequence[CellQuestion]], Sequence[float | None]]

_LATIN_1 = dict.fromkeys(range(0x80, 0x100))
_BLOCK = 4_000_000


class ReleasedPair(NamedTuple):
    """A matched pair of rows by position, the rule that matched it, and its similarity, 0 to 1."""

    gold: int
    predicted: int
    rule: str
    similarity: float


@dataclass(frozen=True)
class ReleasedScores:
    """What the released code returns, and what stands behind it.

    Attributes
    ----------
    scores : dict
        The dictionary of the released code, with its names.
    pairs : list of ReleasedPair
        Matched rows in the order in which they were matched.
    columns : list of str
        The compared columns: configured ones that gold has.
    cells : list of list of float or None
        One list per pair, one score per column; None without a verdict.
    methods : list of str
        How each column was compared: ``number``, ``judge``, ``exact`` or ``fuzzy``.
    problems : list of tuple of str
        Kind and message: what the released code ignores, or stops at.
    """

    scores: dict[str, Any]
    pairs: list[ReleasedPair]
    columns: list[str]
    cells: list[list[float | None]]
    methods: list[str]
    problems: list[tuple[str, str]]


def released_scores(  # noqa: PLR0913 - the released code's own parameters, by name
    gold: pd.DataFrame,
    predicted: pd.DataFrame | None,
    rules: TableRules,
    *,
    keys: Sequence[str],
    values: Sequence[str],
    numeric: Sequence[str],
    ask_row: AskRow,
    ask_cells: AskCells,
) -> ReleasedScores:
    """Compare two tables as the released code does.

    Parameters
    ----------
    gold, predicted : pandas.DataFrame
        As ``pandas.read_csv`` reads them; None for no prediction.
    rules : TableRules
        Rows ``exact`` or ``llm_assisted``.
    keys, values, numeric : sequence of str
        Key columns, compared columns, and which of these hold numbers.
    ask_row, ask_cells : callable
        The judge of rows and of cells.

    Returns
    -------
    ReleasedScores
        F1 = 2 S / ((P + G) C) with S the sum of the scores of cells, P and G the numbers of rows,
        and C the number of configured columns that gold has.

    Raises
    ------
    InputError
        There is no key column, or gold lacks one; the released code stops there too.
    """
    _check_keys(gold, keys)
    problems: list[tuple[str, str]] = []
    known = [name for name in values if name in gold.columns]
    if len(known) < len(values):
        absent = ", ".join(repr(name) for name in values if name not in gold.columns)
        problems.append(("not_in_gold", f"gold has no column {absent}; left out"))
    if not known:
        raise InputError(f"values is {list(values)!r}; gold has none of these columns")
    guess = predicted if predicted is not None and len(predicted) else None
    problems += _index_problems(gold, guess, keys)
    methods = ["number" if name in numeric else rules.cells for name in known]
    pairs: list[ReleasedPair] = []
    stats = {"calls": 0, "failures": 0, "by_exact": 0, "by_fuzzy": 0, "by_llm": 0}
    cells: list[list[float | None]] = []
    cell_stats = {"calls": 0, "failures": 0}
    if guess is not None:
        used = [*keys, *known]
        tables = _Tables(_columns(gold, used), _columns(guess, used), keys, rules)
        ours = _key_rows(tables.gold, keys, "")
        theirs = _key_rows(tables.predicted, keys, rules.key_suffix)
        if rules.rows == "exact":
            pairs = _joined(ours, theirs) if guess.index.nlevels == 1 else []
            stats["by_exact"] = len(pairs)
        else:
            pairs = _in_file_order(ours, theirs, rules, ask_row, stats)
        columns = list(zip(known, methods, strict=True))
        cells = _scored(tables, pairs, columns, ask_cells, cell_stats)
    scores = _ratios(len(gold), 0 if guess is None else len(guess), pairs, cells, rules, known)
    scores = {
        "num_initial_target_cols": len(values),
        "num_valid_target_cols_in_gold": len(known),
        "column_recall": len(known) / len(values),
        **scores,
        "key_columns_used": list(keys),
        "row_match_method_used": rules.rows,
        "row_match_stats": stats,
        "cell_comparison_method": "llm" if rules.cells == "judge" else rules.cells,
        "cell_eval_stats": cell_stats,
    }
    if rules.cells == "fuzzy":
        scores["fuzzy_cell_threshold"] = rules.threshold
    return ReleasedScores(scores, pairs, known, cells, methods, problems)


def _check_keys(gold: pd.DataFrame, keys: Sequence[str]) -> None:
    if not keys:
        raise InputError("keys is empty; expected at least one key column")
    absent = [name for name in keys if name not in gold.columns]
    if absent:
        raise InputError(
            f"keys: gold has no column {absent[0]!r}; it has {', '.join(map(repr, gold.columns))}"
        )


def _index_problems(
    gold: pd.DataFrame, guess: pd.DataFrame | None, keys: Sequence[str]
) -> list[tuple[str, str]]:
    problems = []
    if guess is None:
        problems.append(("no_rows", "the prediction has no rows"))
        return problems
    for side, frame in (("gold", gold), ("predicted", guess)):
        if not frame.columns.is_unique:
            words = f"{side} has several columns of one name: the released code stops there"
            problems.append(("released_raises", words))
        if not isinstance(frame.index, pd.RangeIndex):
            words = f"{side} has more fields than column names: the first ones became the index"
            problems.append(("shifted_index", words))
            if not frame.index.is_unique:
                words = f"{side}: the released code stops where it looks up a repeated first field"
                problems.append(("released_raises", words))
    lost = [name for name in keys if name not in guess.columns]
    if lost:
        problems.append(("key_missing", f"the prediction has no key column {lost[0]!r}"))
    return problems


def _key_rows(table: Mapping[str, list[Any]], keys: Sequence[str], suffix: str) -> list[Any]:
    """Return the key of each row: a text, or a tuple of texts."""
    columns = [[_key_text(value, suffix) for value in table[name]] for name in keys]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _key_text(value: Any, suffix: str) -> str:
    text = written(value)
    return text[: -len(suffix)] if suffix and text.endswith(suffix) else text


def _joined(ours: Sequence[Any], theirs: Sequence[Any]) -> list[ReleasedPair]:
    """Join the keys, many to many, in the order in which gold's keys first appear."""
    rows: dict[Any, list[int]] = defaultdict(list)
    places: dict[Any, list[int]] = defaultdict(list)
    for side, keys in ((rows, ours), (places, theirs)):
        for number, key in enumerate(keys):
            side[key].append(number)
    return [
        ReleasedPair(row, place, "exact", 1.0)
        for key, same in rows.items()
        for row in same
        for place in places.get(key, ())
    ]


def _in_file_order(
    ours: Sequence[Any],
    theirs: Sequence[Any],
    rules: TableRules,
    ask_row: AskRow,
    stats: dict[str, int],
) -> list[ReleasedPair]:
    """Match the predicted rows one after the other; what is taken stays taken."""
    first: dict[Any, int] = {}
    for row, key in enumerate(ours):
        first.setdefault(key, row)
    names = {str(key): row for key, row in first.items()}
    taken: set[int] = set()
    pairs: list[ReleasedPair] = []
    similar = _Similar(list(names), theirs, rules, [k in first for k in theirs])
    for place, key in enumerate(theirs):
        found: int | None = first.get(key)
        rule, worth = "exact", 1.0
        if found is None or found in taken:
            name, worth = similar.best(place)
            found, rule = (names[name], "fuzzy") if name is not None else (None, "")
        if found is None or found in taken:
            stats["calls"] += 1
            answer = read_row_reply(ask_row(str(key), list(names)))
            if answer is None:
                stats["failures"] += 1
            found, rule, worth = names.get(answer or ""), "llm", float("nan")
            if answer == "" or (answer or "").lower() == "none":
                found = None
        if found is not None and found not in taken:
            taken.add(found)
            stats[f"by_{rule}"] += 1
            pairs.append(ReleasedPair(found, place, "judge" if rule == "llm" else rule, worth))
    return pairs


class _Similar:
    """The most similar key of gold, the first of several, for predicted keys that need one."""

    def __init__(
        self, names: Sequence[str], theirs: Sequence[Any], rules: TableRules, known: Sequence[bool]
    ) -> None:
        self._names, self._theirs, self._threshold = names, theirs, rules.threshold
        self._works = bool(rules.threshold > 0 and rules.fuzzy_installed and names)
        self._found: dict[int, tuple[str | None, float]] = {}
        if self._works:
            self._sorted = [sorted_words(name) for name in names]
            self._fill([place for place, is_known in enumerate(known) if not is_known])

    def best(self, place: int) -> tuple[str | None, float]:
        """Return the name that is similar enough, or None, and the similarity."""
        if self._works and place not in self._found:
            self._fill([place])
        return self._found.get(place, (None, 0.0))

    def _fill(self, places: Sequence[int]) -> None:
        from rapidfuzz import fuzz
        from rapidfuzz.process import cdist

        step = max(1, _BLOCK // len(self._sorted))
        for start in range(0, len(places), step):
            part = places[start : start + step]
            table = cdist(
                [sorted_words(str(self._theirs[place])) for place in part],
                self._sorted,
                scorer=fuzz.ratio,
                dtype=np.float64,
                score_cutoff=max(0.0, self._threshold - 1.0),
            )
            for place, column, row in zip(part, table.argmax(axis=1).tolist(), table, strict=True):
                score = float(row[column])
                enough = round(score) >= self._threshold
                self._found[place] = (self._names[column] if enough else None, score / 100)


def sorted_words(text: str) -> str:
    """Return the words of a text in sorted order, as the released code compares them.

    Parameters
    ----------
    text : str
        A key or a cell.

    Returns
    -------
    str
        Lower case; characters other than letters and digits separate words, and those from U+0080
        to U+00FF are left out.
    """
    from rapidfuzz.utils import default_process

    return " ".join(sorted(default_process(text.translate(_LATIN_1)).split()))


class _Tables(NamedTuple):
    """The columns of both tables that are used; those of keys hold what was matched."""

    gold: dict[str, list[Any]]
    predicted: dict[str, list[Any]]
    keys: Sequence[str]
    rules: TableRules

    def are_close(self, name: str, rows: Sequence[int], places: Sequence[int]) -> list[float]:
        """Compare numbers; two that are missing or unreadable are equal."""
        ours, theirs = (
            np.array([released_number(values[row]) for row in chosen], dtype=float)
            for values, chosen in zip(self._values(name), (rows, places), strict=True)
        )
        tolerance = self.rules.numeric_tolerance
        same = np.isclose(ours, theirs, atol=tolerance, equal_nan=True)
        return [float(one) for one in same.tolist()]

    def texts(self, name: str) -> tuple[list[str], list[str]]:
        """Return the texts of a column in both tables."""
        ours, theirs = self._values(name)
        return [written(value) for value in ours], [written(value) for value in theirs]

    def _values(self, name: str) -> tuple[list[Any], list[Any]]:
        ours, theirs = self.gold[name], self.predicted[name]
        if name not in self.keys:
            return ours, theirs
        suffix = self.rules.key_suffix
        return [_key_text(value, "") for value in ours], [_key_text(v, suffix) for v in theirs]


def _columns(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, list[Any]]:
    """Return the values of columns: blanks for one that is absent, the first of several."""
    found = {}
    for name in dict.fromkeys(names):
        if name not in frame.columns:
            found[name] = [""] * len(frame)
            continue
        column: Any = frame[name]
        found[name] = (column if column.ndim == 1 else column.iloc[:, 0]).tolist()
    return found


def written(value: Any) -> str:
    """Return the text of a value; empty for a missing one.

    Parameters
    ----------
    value : object
        The value of a cell as ``pandas.read_csv`` has it.

    Returns
    -------
    str
        Without white space around it.
    """
    return "" if pd.isna(value) else str(value).strip()


def _scored(
    tables: _Tables,
    pairs: Sequence[ReleasedPair],
    columns: Sequence[tuple[str, str]],
    ask_cells: AskCells,
    stats: dict[str, int],
) -> list[list[float | None]]:
    """Score the cells of matched rows, one list per pair."""
    if not pairs:
        return []
    rows, places = [pair.gold for pair in pairs], [pair.predicted for pair in pairs]
    scores: list[list[float | None]] = []
    asked: list[tuple[int, int, CellQuestion]] = []
    for number, (name, method) in enumerate(columns):
        if method == "number":
            scores.append([*tables.are_close(name, rows, places)])
            continue
        ours, theirs = tables.texts(name)
        column: list[float | None] = []
        for pair, (row, place) in enumerate(zip(rows, places, strict=True)):
            one, other = ours[row], theirs[place]
            score = float(one == other)
            if one and other and method == "fuzzy":
                score = float(_alike(one, other, tables.rules))
            elif one and other and method == "judge" and not score:
                asked.append((pair, number, (name, one, other)))
            column.append(score)
        scores.append(column)
    found = [list(row) for row in zip(*scores, strict=True)]
    if asked:
        asked.sort(key=lambda question: question[:2])  # row by row
        answers = ask_cells([question for _, _, question in asked])
        for (pair, number, _), answer in zip(asked, answers, strict=True):
            found[pair][number] = answer
        stats["calls"] = len(asked)
        stats["failures"] = sum(answer is None for answer in answers)
    return found


def _alike(one: str, other: str, rules: TableRules) -> bool:
    from rapidfuzz import fuzz

    if not rules.fuzzy_installed:
        return False
    ratio = fuzz.ratio(sorted_words(one), sorted_words(other))
    return round(ratio) >= rules.threshold


def _ratios(
    gold_rows: int,
    predicted_rows: int,
    pairs: Sequence[ReleasedPair],
    cells: Sequence[Sequence[float | None]],
    rules: TableRules,
    known: Sequence[str],
) -> dict[str, Any]:
    failed = 0.0 if rules.failure_score is None else rules.failure_score
    # one cell after the other, as in the released code: sums of fractions depend on the order
    total, compared = 0.0, 0
    for row in cells:
        for score in row:
            total += failed if score is None else score
            compared += 1
    asked, given = gold_rows * len(known), predicted_rows * len(known)
    row_precision, row_recall = share(len(pairs), predicted_rows), share(len(pairs), gold_rows)
    precision, recall = share(total, given), share(total, asked)
    return {
        "num_gold_rows": gold_rows,
        "num_original_mapped_rows": predicted_rows,
        "num_matched_rows": len(pairs),
        "num_missing_rows_gold_only": gold_rows - len({pair.gold for pair in pairs}),
        "num_extra_rows_mapped_only": predicted_rows - len(pairs),
        "row_precision": row_precision,
        "row_recall": row_recall,
        "row_f1": harmonic(row_precision, row_recall),
        "tp_score_sum": total,
        "total_gold_target_cells": asked,
        "total_mapped_target_cells_corresp_gold_schema": given,
        "cell_precision": precision,
        "cell_recall": recall,
        "cell_f1": harmonic(precision, recall),
        "total_compared_cells_in_matched": compared,
        "average_cell_score_in_matched": share(total, compared),
    }


def share(part: float, whole: float) -> float:
    """Return a ratio, 0 where there is nothing to divide by.

    Parameters
    ----------
    part, whole : float
        0 and up.

    Returns
    -------
    float
        ``part / whole``.
    """
    return part / whole if whole else 0.0


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall, 0 where both are 0.

    Parameters
    ----------
    precision, recall : float
        0 and up.

    Returns
    -------
    float
        F1.
    """
    both = precision + recall
    return 2 * (precision * recall) / both if both > 0 else 0.0
