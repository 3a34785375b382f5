"""The released numbers as a result: their rows, cells and columns, as of the other profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import read_text
from extractbench_nb.construction.aligning import PASS_MARK, ColumnMatch, RowMatch
from extractbench_nb.construction.asking import Asker
from extractbench_nb.construction.cells import METRICS, OF_ROWS, CellVerdict, cell_row
from extractbench_nb.construction.inputs import Tables
from extractbench_nb.construction.profiles import TableRules
from extractbench_nb.construction.reading import Reading
from extractbench_nb.construction.released import (
    ReleasedScores,
    released_scores,
    share,
    written,
)
from extractbench_nb.construction.released_texts import gold_table, read_csv, released_answer
from extractbench_nb.construction.result import SUMMARY, CellRow, Note
from extractbench_nb.errors import InputError


class Found(NamedTuple):
    """The parts of a result."""

    columns: list[ColumnMatch]
    rows: list[RowMatch]
    cells: list[CellRow]
    ratios: dict[str, float]
    notes: list[Note]
    released: dict[str, Any] | None = None


def compare_released(
    tables: Tables,
    roles: Sequence[str | Sequence[str] | None],
    given: tuple[Any, Any],
    rules: TableRules,
    asker: Asker,
) -> Found:
    """Compare two tables as AOE's released code does.

    Parameters
    ----------
    tables : Tables
        Both tables as texts.
    roles : sequence of (str or sequence of str or None)
        Keys, values and numeric columns as the user gave them: the released code folds no names.
    given : tuple of object
        Gold and prediction as the user gave them: types are inferred by ``pandas.read_csv``.
    rules : TableRules
        The profile.
    asker : Asker
        The judge.

    Returns
    -------
    Found
        With the dictionary of the released code.

    Raises
    ------
    InputError
        Gold cannot be read, or has no such columns.
    """
    keys, values, numeric = (
        found if names is None else [names] if isinstance(names, str) else list(names)
        for names, found in zip(roles, (tables.keys, tables.values, tables.numeric), strict=True)
    )
    ours = released_frame(given[0], tables.gold)
    theirs = released_frame(given[1], tables.predicted)
    if ours is None:
        raise InputError("gold cannot be read by pandas.read_csv")
    if not any(name in ours.columns for name in values):
        return _nothing_compared(len(ours), 0 if theirs is None else len(theirs))
    found = released_scores(
        ours,
        theirs,
        rules,
        keys=keys,
        values=values,
        numeric=numeric,
        ask_row=asker.key_reply,
        ask_cells=asker.scores,
    )
    notes: list[Note] = [("predicted", "$", *problem, None) for problem in found.problems]
    if theirs is None and tables.predicted.failure is None:
        notes.append(("predicted", "$", "unreadable", "pandas.read_csv cannot read it", None))
    names = [] if theirs is None else list(map(str, theirs.columns))
    columns = [
        ColumnMatch(name, *((name, "matched", "name") if name in names else (None, "missing", "")))
        for name in map(str, ours.columns)
    ]
    columns += [ColumnMatch(None, name, "extra", "") for name in names if name not in ours.columns]
    rows = _rows(found, len(ours), 0 if theirs is None else len(theirs))
    cells = _cells(found, rows, ours, theirs, rules)
    scores = found.scores
    ratios = {
        name: float(scores[name])
        for name in (
            *("cell_f1", "cell_precision", "cell_recall"),
            *("row_f1", "row_precision", "row_recall", "column_recall"),
        )
    }
    aligned = sum(name in names for name in found.columns)
    extra = sum(match.gold is None for match in columns)
    ratios |= {
        "column_precision": share(aligned, aligned + extra),
        "average_cell_score": float(scores["average_cell_score_in_matched"]),
        "score_sum": float(scores["tp_score_sum"]),
        "gold_cells": float(scores["total_gold_target_cells"]),
        "predicted_cells": float(scores["total_mapped_target_cells_corresp_gold_schema"]),
        "gold_rows": float(len(ours)),
        "predicted_rows": float(0 if theirs is None else len(theirs)),
    }
    return Found(columns, rows, cells, ratios, notes, scores)


def _nothing_compared(gold: int, predicted: int) -> Found:
    """Return what there is where gold has none of the compared columns: no score, and why."""
    message = "gold has none of the compared columns"
    released = {
        "error": message,
        "num_gold_rows": gold,
        "num_original_mapped_rows": predicted,
    }
    ratios = dict.fromkeys(SUMMARY.names[: SUMMARY.names.index("evaluated")], 0.0)
    return Found([], [], [], ratios, [("gold", "$", "nothing_compared", message, None)], released)


def released_frame(given: Any, reading: Reading) -> pd.DataFrame | None:
    """Read a table as the released code does; None for no table.

    Parameters
    ----------
    given : object
        What the user gave.
    reading : Reading
        The same as texts, which is written as CSV if it was no CSV.

    Returns
    -------
    pandas.DataFrame or None
        With the types that ``pandas.read_csv`` infers.
    """
    if given is None or isinstance(given, pd.DataFrame):
        return given
    text: str | None = None
    if isinstance(given, Path) and given.suffix.lower() == ".csv":
        text = read_text(given, "table")
    elif isinstance(given, str):
        answer = released_answer(given)
        if answer.found:
            return answer.frame
        text = given
    elif isinstance(given, list) and given and all(isinstance(item, dict) for item in given):
        return gold_table(given)
    elif reading.failure is None:
        text = reading.frame.to_csv(index=False)
    return None if text is None else read_csv(text)


def _rows(found: ReleasedScores, gold: int, predicted: int) -> list[RowMatch]:
    """List the pairs in the order of gold; a join may pair a row several times."""
    pairs = sorted(found.pairs)
    seen = {pair.gold for pair in pairs}, {pair.predicted for pair in pairs}
    rows = [
        RowMatch(
            p.gold, p.predicted, "matched", p.rule, None if p.rule == "judge" else p.similarity
        )
        for p in pairs
    ]
    rows += [RowMatch(n, None, "missed", "", None) for n in range(gold) if n not in seen[0]]
    rows.sort(key=lambda match: (match.gold, match.predicted or 0))
    return rows + [
        RowMatch(None, n, "spurious", "", None) for n in range(predicted) if n not in seen[1]
    ]


def _cells(
    found: ReleasedScores,
    rows: Iterable[RowMatch],
    gold: pd.DataFrame,
    predicted: pd.DataFrame | None,
    rules: TableRules,
) -> list[CellRow]:
    ours = {name: _written(gold, name) for name in found.columns}
    theirs: dict[str, list[str]] = {}
    if predicted is not None:
        theirs = {n: _written(predicted, n) for n in found.columns if n in predicted.columns}
    scores = {(p.gold, p.predicted): s for p, s in zip(found.pairs, found.cells, strict=True)}
    cells = []
    for match in rows:
        for n, (name, method) in enumerate(zip(found.columns, found.methods, strict=True)):
            one = ours[name][match.gold] if match.gold is not None else None
            other = None
            if match.predicted is not None and name in theirs:
                other = theirs[name][match.predicted]
            if match.status == "missed":
                verdict = OF_ROWS["missed"]
            elif match.status == "spurious":
                verdict = OF_ROWS["spurious"]
            else:
                assert match.gold is not None and match.predicted is not None  # noqa: S101, PT018
                score = scores[match.gold, match.predicted][n]
                verdict = _verdict(score, one, other, method, rules)
            metric = METRICS["released_number" if method == "number" else method]
            column = name if name in theirs else None
            cells.append(cell_row(match, (name, column), (one, other), metric, verdict))
    return cells


def _written(frame: pd.DataFrame, name: str) -> list[str]:
    column: Any = frame[name]
    return [written(v) for v in (column if column.ndim == 1 else column.iloc[:, 0]).tolist()]


def _verdict(
    score: float | None, gold: str | None, predicted: str | None, method: str, rules: TableRules
) -> CellVerdict:
    if score is None:
        return CellVerdict("judge_error", rules.failure_score, "judge_failed")
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
