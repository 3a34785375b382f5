"""`compare`: two tables, and where the points were lost: columns, rows or cells."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from extractbench_nb.construction.aligning import (
    ColumnMatch,
    RowMatch,
    Side,
    align_columns,
    align_rows,
)
from extractbench_nb.construction.asking import Asker
from extractbench_nb.construction.cells import judge_cells
from extractbench_nb.construction.inputs import Tables, key_notes, keys_of, read_tables
from extractbench_nb.construction.profiles import TableRules, rules_of
from extractbench_nb.construction.reading import Reading
from extractbench_nb.construction.released import harmonic, share
from extractbench_nb.construction.released_result import Found, compare_released
from extractbench_nb.construction.result import CellRow, Note, TableComparison
from extractbench_nb.construction.values import is_absent, number_of, text_key
from extractbench_nb.judges.base import Judge


def compare(  # noqa: PLR0913 - options, all but two by name
    gold: Any,
    predicted: Any,
    *,
    keys: str | Sequence[str] | None = None,
    values: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] | None = None,
    judge: str | Judge = "offline",
    profile: str | TableRules = "strict",
) -> TableComparison:
    r"""Compare a predicted table with gold: columns, rows, cells.

    Parameters
    ----------
    gold, predicted : str, pathlib.Path, pandas.DataFrame, list, dict or Table
        Anything that `read_table` reads. A str is a text, never a file name; the raw answer of a
        model is fine: thoughts, code fences, Markdown and prose are dealt with, and each repair is
        in ``.warnings``. An answer without a table is a result, not an error.
    keys : str or sequence of str, optional
        Gold's columns that name a row. By default they are proposed, and ``.warnings`` says why.
    values : str or sequence of str, optional
        Gold's columns to compare; by default all but the keys, or the keys if there are no others.
    numeric : str or sequence of str, optional
        Those that hold numbers; by default where all of gold's values are numbers.
    judge : str or Judge, optional
        Decides whether texts mean the same, as in `evaluate`: ``"offline"``, a model, `LLMJudge`.
    profile : str or TableRules, optional
        ``strict``, ``aoe-282e688d`` (AOE's released code) or ``aoe-readme``; see `rules_of`.

    Returns
    -------
    TableComparison
        With ``.rows``, ``.cells``, ``.columns``, ``.summary`` and ``.warnings``.

    Raises
    ------
    InputError
        Gold is no table, a column or an option is unknown, or a file cannot be read.

    Notes
    -----
    The rules of ``strict``:

    1. Columns are aligned one to one: by name; by name without case, spaces and full-width forms;
       by name where one of them names no unit; then by the judge. No number in a name may differ.
    2. Rows are matched one to one by their keys: equal; equal once normalised (case, punctuation,
       file endings, the writing of numbers); with a similarity of 90 or more, so that the number of
       pairs and then the total similarity is as large as possible; then by the judge. Keys that
       differ in a number or a year never match. Where keys are repeated, cells decide. Ties are
       broken by content: the order of rows and columns changes nothing.
    3. A cell is right (1) or not (0). Nothing, and words for nothing (``N/A``, ``-``), equal
       nothing else. Numbers are equal if their values are, however they are written; ``2020年`` is
       2020, a unit or a per-cent sign that the column names may be written or not. Texts are equal
       if they are without case and white space, or if the judge gives 0.7 or more.
    4. With S the sum of the scores, G and P the rows of both tables, C gold's compared columns and
       E the filled cells of predicted columns that gold has not: cell recall is S / (G C), cell
       precision S / (P C + E), and F1 their harmonic mean, at most 1. A column that the prediction
       lacks costs both; the cells of missed rows are omissions, those of spurious rows and of extra
       columns hallucinations.
    5. A judge that fails is no verdict: the cell has no score and adds nothing to S.

    Examples
    --------
    >>> gold = "report,year,sales\nAcme 2020,2020,\"1,200\"\nAcme 2021,2021,900\n"
    >>> answer = "```csv\nreport,year,sales\nAcme 2021.md,2021年,900\nAcme 2020.md,2020年,1300\n```"
    >>> found = compare(gold, answer, keys="report")
    >>> found.summary[["row_f1", "cell_f1"]].to_dict()
    {'row_f1': 1.0, 'cell_f1': 0.75}
    >>> wrong = found.cells.query("outcome == 'incorrect'")
    >>> wrong[["path", "gold", "predicted"]].values.tolist()
    [['$[0].sales', '1,200', '1300']]
    """
    rules = rules_of(profile)
    tables = read_tables(gold, predicted, keys, values, numeric, required=not rules.released)
    return _compared(rules, judge, tables, (keys, values, numeric), (gold, predicted))


def _compared(
    rules: TableRules,
    judge: str | Judge,
    tables: Tables,
    roles: tuple[str | Sequence[str] | None, ...],
    given: tuple[Any, Any],
) -> TableComparison:
    """Compare two tables that were read, from what the user gave."""
    started = time.perf_counter()
    asker = Asker(judge)
    if rules.released:
        found = compare_released(tables, roles, given, rules, asker)
    else:
        found = _compare_optimally(tables, rules, asker)
    meta = {
        "profile": rules.name,
        "judge": asker.judge.name,
        "keys": tables.keys,
        "why_keys": tables.why_keys,
        "values": tables.values,
        "numeric": tables.numeric,
        "direct": tables.predicted.direct,
        "mapped": tables.predicted.mapped,
        "failure_mode": tables.predicted.failure_mode,
        "seconds": time.perf_counter() - started,
    }
    return TableComparison(
        columns=found.columns,
        rows=found.rows,
        cells=found.cells,
        ratios=found.ratios,
        calls=asker.calls,
        notes=[*tables.notes, *found.notes, *_failures(asker)],
        rules=rules,
        tables=(tables.gold, tables.predicted),
        roles=(tables.keys, tables.values, tables.numeric),
        released=found.released,
        meta=meta,
        again=partial(_compared, judge=asker.judge, tables=tables, roles=roles, given=given),
    )


def _failures(asker: Asker) -> list[Note]:
    count = len(asker.failures)
    if not count:
        return []
    message = f"{count} questions without a verdict; the first: {asker.failures[0]}"
    return [("judge", "$", "judge_failed", message, None)]


def _compare_optimally(tables: Tables, rules: TableRules, asker: Asker) -> Found:
    ours, theirs = tables.gold, tables.predicted
    columns = align_columns(list(ours.columns), list(theirs.columns), asker.scores)
    partner = {match.gold: match for match in columns if match.gold is not None}
    notes = _lost_keys(tables, partner)
    their_keys = [partner[key].predicted for key in tables.keys]
    if tables.predicted.failure is None:
        # without the judge's columns, so that the judge has no part in the pairs that need none
        by_name = {
            name: match.predicted
            for name, match in partner.items()
            if match.predicted is not None and match.rule != "judge"
        }
        sides = (
            _side(ours, tables.keys, {name: name for name in by_name}),
            _side(theirs, their_keys, by_name),
        )
        threshold = float(rules.threshold) if rules.similar_rows else None
        rows = align_rows(*sides, threshold=threshold, judge=asker.scores)
        present = [key for key in their_keys if key is not None]
        if present:
            notes += key_notes("predicted", theirs, present)
    else:
        rows = [RowMatch(n, None, "missed", "", None) for n in range(ours.size)]
    cells = judge_cells(tables, columns, rows, rules, asker)
    return Found(columns, rows, cells, _ratios(tables, columns, rows, cells, rules), notes)


def _lost_keys(tables: Tables, partner: Mapping[str, ColumnMatch]) -> list[Note]:
    if tables.predicted.failure is not None:
        return []
    lost = [key for key in tables.keys if partner[key].predicted is None]
    if not lost:
        return []
    message = f"the prediction has no key column {', '.join(map(repr, lost))}"
    return [("predicted", "$", "key_missing", message, lost)]


def _side(table: Reading, keys: Sequence[str | None], named: Mapping[str, str]) -> Side:
    """Return keys, and by gold's names the cells of columns that both tables name."""
    cells = [
        [_comparable(text, name) for text in table.columns[named[name]]] for name in sorted(named)
    ]
    rows: list[tuple[str, ...]] = list(zip(*cells, strict=True)) or [()] * table.size
    content = list(zip(*(table.columns[name] for name in sorted(table.columns)), strict=True))
    return Side(keys_of(table, keys), rows, content)


def _comparable(text: str, column: str) -> str:
    """Return what cells share that are equal without a judge."""
    if is_absent(text):
        return ""
    number = number_of(text, column)
    return text_key(text) if number is None else f"{number.normalize():f}"


def _ratios(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    cells: Sequence[CellRow],
    rules: TableRules,
) -> dict[str, float]:
    """Compute precision, recall and F1 of cells, rows and columns."""
    total = sum(cell.score or 0.0 for cell in cells)
    width = len(tables.values)
    gold_rows, predicted_rows = tables.gold.size, tables.predicted.size
    extra = sum(cell.column is None for cell in cells) if rules.count_extra_columns else 0
    matched = sum(match.status == "matched" for match in rows)
    compared = set(tables.values)
    aligned = sum(m.gold in compared and m.predicted is not None for m in columns)
    extra_columns = sum(m.gold is None for m in columns)
    in_pairs = [
        cell
        for cell in cells
        if cell.column is not None and cell.gold_row is not None and cell.predicted_row is not None
    ]
    configured = width + sum(len(note[4]) for note in tables.notes if note[2] == "not_in_gold")
    recall = share(total, gold_rows * width)
    precision = share(total, predicted_rows * width + extra)
    if not gold_rows * width + predicted_rows * width + extra:
        precision = recall = 1.0  # nothing was asked for and nothing was predicted
    row_recall, row_precision = share(matched, gold_rows), share(matched, predicted_rows)
    if not gold_rows + predicted_rows:
        row_recall = row_precision = 1.0
    return {
        "cell_f1": harmonic(precision, recall),
        "cell_precision": precision,
        "cell_recall": recall,
        "row_f1": harmonic(row_precision, row_recall),
        "row_precision": row_precision,
        "row_recall": row_recall,
        "column_recall": share(aligned, width)
        if rules.predicted_column_recall
        else share(width, configured),
        "column_precision": share(aligned, aligned + extra_columns),
        "average_cell_score": share(sum(cell.score or 0.0 for cell in in_pairs), len(in_pairs)),
        "score_sum": total,
        "gold_cells": float(gold_rows * width),
        "predicted_cells": float(predicted_rows * width + extra),
    }
