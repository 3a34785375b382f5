"""`compare`: two tables, and where the points were lost: columns, rows or cells."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import member, read_text
from extractbench_nb.construction.aligning import (
    PASS_MARK,
    ColumnMatch,
    RowMatch,
    Side,
    align_columns,
    align_rows,
    propose_keys,
)
from extractbench_nb.construction.asking import METRIC, Asker
from extractbench_nb.construction.profiles import TableRules, rules_of
from extractbench_nb.construction.reading import Reading, read_answer
from extractbench_nb.construction.released import (
    ReleasedScores,
    gold_table,
    harmonic,
    read_csv,
    released_answer,
    released_scores,
    sorted_words,
)
from extractbench_nb.construction.result import CellRow, Note, TableComparison
from extractbench_nb.construction.values import is_absent, number_of, text_key
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.base import Judge

#: What a cell was compared by: the metric of that kind of `evaluate`.
METRICS = {
    "number": "number_exact",
    "released_number": "number_tolerance",
    "judge": METRIC,
    "exact": "string_exact",
    "fuzzy": "string_fuzzy",
}
_MOST_SHOWN = 5


class Verdict(NamedTuple):
    """The verdict on one cell: outcome, score, reason, a judge's similarity and words."""

    outcome: str
    score: float | None
    reason: str
    similarity: float | None = None
    reasoning: str | None = None


class Tables(NamedTuple):
    """The two tables as texts, and the roles of gold's columns."""

    gold: Reading
    predicted: Reading
    keys: list[str]
    values: list[str]
    numeric: list[str]
    notes: list[Note]
    why_keys: str


def compare(
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
        Gold's columns to compare; by default all but the keys.
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
    started = time.perf_counter()
    rules = rules_of(profile)
    asker = Asker(judge)
    tables = read_tables(gold, predicted, keys, values, numeric)
    if rules.released:
        roles = _roles(tables, keys, values, numeric)
        found = _compare_released(tables, roles, (gold, predicted), rules, asker)
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
    )


class Found(NamedTuple):
    """The parts of a result."""

    columns: list[ColumnMatch]
    rows: list[RowMatch]
    cells: list[CellRow]
    ratios: dict[str, float]
    notes: list[Note]
    released: dict[str, Any] | None = None


def _failures(asker: Asker) -> list[Note]:
    count = len(asker.failures)
    if not count:
        return []
    message = f"{count} questions without a verdict; the first: {asker.failures[0]}"
    return [("judge", "$", "judge_failed", message, None)]


# --- inputs -------------------------------------------------------------------------------------


def read_tables(
    gold: Any,
    predicted: Any,
    keys: str | Sequence[str] | None,
    values: str | Sequence[str] | None,
    numeric: str | Sequence[str] | None,
) -> Tables:
    """Read both tables and settle the roles of gold's columns.

    Parameters
    ----------
    gold, predicted : object
        See `compare`.
    keys, values, numeric : str or sequence of str, optional
        See `compare`.

    Returns
    -------
    Tables
        With warnings on what was repaired.

    Raises
    ------
    InputError
        Gold is no table, or a column is unknown.
    """
    ours, theirs = read_answer(gold, "gold"), read_answer(predicted, "predicted")
    if ours.failure:
        raise InputError(f"gold holds no table: {ours.notes[-1][1]}")
    notes: list[Note] = [
        (side, "$", kind, message, None)
        for side, reading in (("gold", ours), ("predicted", theirs))
        for kind, message in reading.notes
    ]
    names = list(ours.columns)
    if keys is None:
        chosen, why = propose_keys(ours.columns, list(theirs.columns))
        notes.append(("gold", "$", "keys_proposed", f"keys {chosen}: {why}", None))
    else:
        chosen, why = _checked(keys, names, "keys"), "given"
        if not chosen:
            raise InputError("keys is empty; expected at least one of gold's columns, or None")
    if values is None:
        compared = [name for name in names if name not in chosen]
    else:
        asked = _folded(values)
        compared = [name for name in asked if name in names]
        absent = [name for name in asked if name not in names]
        if absent:
            message = f"gold has no column {', '.join(map(repr, absent[:_MOST_SHOWN]))}; left out"
            notes.append(("gold", "$", "not_in_gold", message, absent))
        if not compared and asked:
            raise InputError(f"values: gold has no column {asked[0]!r}; {nearest(asked[0], names)}")
    if numeric is None:
        numbers = [name for name in compared if _is_numeric(ours.columns[name], name)]
    else:
        numbers = [name for name in _folded(numeric) if name in compared]
    notes += _key_notes("gold", ours, chosen)
    return Tables(ours, theirs, chosen, compared, numbers, notes, why)


def _folded(given: str | Sequence[str]) -> list[str]:
    """Return names of columns with single spaces, as tables are read."""
    return [" ".join(str(name).split()) for name in ([given] if isinstance(given, str) else given)]


def _checked(given: str | Sequence[str], names: Sequence[str], what: str) -> list[str]:
    chosen = _folded(given)
    for name in chosen:
        if name not in names:
            raise InputError(f"{what}: gold has no column {name!r}; {nearest(name, names)}")
    return list(dict.fromkeys(chosen))


def _is_numeric(values: Sequence[str], column: str) -> bool:
    filled = [text for text in values if not is_absent(text)]
    return bool(filled) and all(number_of(text, column) is not None for text in filled)


def _key_notes(side: str, table: Reading, keys: Sequence[str]) -> list[Note]:
    """Warn of blank and repeated keys, and of words for nothing among them."""
    rows = _keys_of(table, keys)
    notes: list[Note] = []
    blank = [n for n, key in enumerate(rows) if not any(map(str.strip, key))]
    words = [n for n, key in enumerate(rows) if n not in set(blank) and all(map(is_absent, key))]
    seen: dict[tuple[str, ...], int] = {}
    for n, key in enumerate(rows):
        seen.setdefault(key, n)
    repeated = [n for n, key in enumerate(rows) if seen[key] != n]
    for kind, found, words_of in (
        ("blank_key", blank, "a blank key"),
        ("null_word_key", words, "a word for nothing as key"),
        ("duplicate_key", repeated, "the key of an earlier row"),
    ):
        if found:
            shown = ", ".join(map(str, found[:_MOST_SHOWN]))
            more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
            have = "rows" if len(found) > 1 else "row"
            message = f"{len(found)} {have} with {words_of}: {shown}{more}"
            notes.append((side, f"$[{found[0]}]", kind, message, rows[found[0]]))
    return notes


def _keys_of(table: Reading, keys: Sequence[str | None]) -> list[tuple[str, ...]]:
    blank = [""] * table.size
    columns = [blank if key is None else map(str.strip, table.columns[key]) for key in keys]
    return list(zip(*columns, strict=True))


# --- optimal ------------------------------------------------------------------------------------


def _compare_optimally(tables: Tables, rules: TableRules, asker: Asker) -> Found:
    ours, theirs = tables.gold, tables.predicted
    columns = align_columns(list(ours.columns), list(theirs.columns), asker.scores)
    partner = {match.gold: match for match in columns if match.gold is not None}
    notes = _column_notes(tables, partner)
    their_keys = [partner[key].predicted for key in tables.keys]
    if tables.predicted.failure is None:
        named = {name: match.predicted for name, match in partner.items() if name is not None}
        by_name = {n: o for n, o in named.items() if o and partner[n].rule != "judge"}
        sides = _side(ours, tables.keys, by_name, True), _side(theirs, their_keys, by_name, False)
        threshold = float(rules.threshold) if rules.similar_rows else None
        rows = align_rows(*sides, threshold=threshold, judge=asker.scores)
        present = [key for key in their_keys if key is not None]
        if present:
            notes += _key_notes("predicted", theirs, present)
    else:
        rows = [RowMatch(n, None, "missed", "", None) for n in range(ours.size)]
    extra = [match.predicted for match in columns if match.gold is None and match.predicted]
    cells = _cells(tables, partner, rows, extra, rules, asker)
    return Found(columns, rows, cells, _ratios(tables, columns, rows, cells, rules), notes)


def _column_notes(tables: Tables, partner: Mapping[str | None, ColumnMatch]) -> list[Note]:
    if tables.predicted.failure is not None:
        return []
    lost = [key for key in tables.keys if partner[key].predicted is None]
    if not lost:
        return []
    message = f"the prediction has no key column {', '.join(map(repr, lost))}"
    return [("predicted", "$", "key_missing", message, lost)]


def _side(
    table: Reading, keys: Sequence[str | None], named: Mapping[str, str], is_gold: bool
) -> Side:
    """Return keys, and what of the cells both tables name: as it is compared without a judge."""
    cells = []
    for name in sorted(named):
        texts = table.columns[name if is_gold else named[name]]
        cells.append([_comparable(text, name) for text in texts])
    rows = list(zip(*cells, strict=True)) if cells else [()] * table.size
    return Side(_keys_of(table, keys), rows)


def _comparable(text: str, column: str) -> str:
    if is_absent(text):
        return ""
    number = number_of(text, column)
    return text_key(text) if number is None else f"{number.normalize():f}"


def _cells(
    tables: Tables,
    partner: Mapping[str | None, ColumnMatch],
    rows: Sequence[RowMatch],
    extra: Sequence[str],
    rules: TableRules,
    asker: Asker,
) -> list[CellRow]:
    """Judge every cell that gold or the prediction has, row by row."""
    ours, theirs = tables.gold.columns, tables.predicted.columns
    numeric = set(tables.numeric)
    verdicts = _Cells(rules, asker, numeric)
    plan: list[tuple[RowMatch, str, str | None, str | None, str | None]] = []
    for match in rows:
        for name in tables.values:
            other = partner[name].predicted
            gold = ours[name][match.gold] if match.gold is not None else None
            predicted = None
            if match.predicted is not None and other is not None:
                predicted = theirs[other][match.predicted]
            plan.append((match, name, other, gold, predicted))
            if match.status == "matched" and gold is not None and predicted is not None:
                verdicts.look_at(name, gold, predicted)
    verdicts.ask()
    found = []
    failure = tables.predicted.failure
    for match, name, other, gold, predicted in plan:
        if failure is not None:
            verdict = Verdict("structural", 0.0, failure)
        elif match.status == "judge_error":
            verdict = Verdict("judge_error", None, "row_judge_failed")
        elif match.status == "missed":
            verdict = Verdict("omission", 0.0, "row_missed")
        elif match.status == "spurious":
            verdict = Verdict("hallucination", 0.0, "row_spurious")
        elif other is None:
            verdict = _without_column(str(gold), partner[name].status)
        else:
            verdict = verdicts.of(name, str(gold), str(predicted))
        metric = METRICS["number" if name in numeric else rules.cells]
        found.append(_cell_row(match, name, other, metric, gold, predicted, verdict))
    for match in rows:
        for other in extra if match.predicted is not None else ():
            predicted = theirs[other][match.predicted]
            if is_absent(predicted):
                continue
            spurious = match.status == "spurious"
            verdict = Verdict("hallucination", 0.0, "row_spurious" if spurious else "column_extra")
            found.append(_cell_row(match, None, other, METRIC, None, predicted, verdict))
    return found


def _without_column(gold: str, status: str) -> Verdict:
    """Judge a cell whose column the prediction lacks; where gold holds nothing, nothing is lost."""
    if is_absent(gold):
        return Verdict("both_absent", 1.0, "column_missing")
    if status == "judge_error":
        return Verdict("judge_error", None, "column_judge_failed")
    return Verdict("omission", 0.0, "column_missing")


class _Cells:
    """Verdicts on pairs of texts, each made once."""

    def __init__(self, rules: TableRules, asker: Asker, numeric: set[str]) -> None:
        self._rules, self._asker, self._numeric = rules, asker, numeric
        self._open: dict[tuple[str, str, str], None] = {}
        self._known: dict[tuple[str, str, str], Verdict] = {}

    def look_at(self, column: str, gold: str, predicted: str) -> None:
        """Decide without a judge, or put the question down."""
        key = (column, gold, predicted)
        if key in self._known or key in self._open:
            return
        verdict = _by_rules(column, gold, predicted, self._rules, column in self._numeric)
        if verdict is None:
            self._open[key] = None
        else:
            self._known[key] = verdict

    def ask(self) -> None:
        """Ask the judge all questions at once."""
        questions = list(self._open)
        for question, answer in zip(questions, self._asker.answers(questions), strict=True):
            score = answer.score
            if score is None:
                verdict = Verdict("judge_error", None, answer.reason, None, answer.reasoning)
            else:
                passes = score >= PASS_MARK
                worth = score if self._rules.partial_credit else float(passes)
                outcome = "correct" if passes else "incorrect"
                verdict = Verdict(outcome, worth, answer.reason, score, answer.reasoning)
            self._known[question] = verdict
        self._open.clear()

    def of(self, column: str, gold: str, predicted: str) -> Verdict:
        """Return the verdict on two texts that were looked at."""
        return self._known[column, gold, predicted]


def _by_rules(
    column: str, gold: str, predicted: str, rules: TableRules, numeric: bool
) -> Verdict | None:
    """Judge a cell by rules; None where a judge is to decide."""
    nothing = is_absent(gold), is_absent(predicted)
    if all(nothing):
        return Verdict("both_absent", 1.0, "both_null")
    if nothing[0]:
        return Verdict("hallucination", 0.0, "gold_null")
    if nothing[1]:
        return Verdict("omission", 0.0, "predicted_null")
    if gold.strip() == predicted.strip():
        return Verdict("correct", 1.0, "identical", 1.0)
    one, other = number_of(gold, column), number_of(predicted, column)
    if one is not None and other is not None:
        allowed = rules.numeric_tolerance
        if allowed:
            allowed += 1e-5 * abs(float(other))
        same = one == other or (allowed and abs(float(one) - float(other)) <= allowed)
        if same:
            return Verdict("correct", 1.0, "number_equal", 1.0)
        return Verdict("incorrect", 0.0, "number_differs")
    if text_key(gold) == text_key(predicted):
        return Verdict("correct", 1.0, "normalised", 1.0)
    if numeric and one is not None:
        return Verdict("incorrect", 0.0, "not_a_number")
    if rules.cells == "exact":
        return Verdict("incorrect", 0.0, "text_differs")
    if rules.cells == "fuzzy":
        from rapidfuzz import fuzz

        alike = fuzz.ratio(sorted_words(gold), sorted_words(predicted))
        passes = round(alike) >= rules.threshold
        outcome = "correct" if passes else "incorrect"
        return Verdict(outcome, float(passes), "similarity", alike / 100)
    return None


def _cell_row(
    match: RowMatch,
    column: str | None,
    other: str | None,
    metric: str,
    gold: str | None,
    predicted: str | None,
    verdict: Verdict,
) -> CellRow:
    row = f"[{match.gold}]" if match.gold is not None else f"[+{match.predicted}]"
    name = member(str(other if column is None else column))
    passed = None if verdict.score is None else verdict.outcome in ("correct", "both_absent")
    return CellRow(
        f"${row}{name}",
        f"[]{name}",
        metric,
        verdict.score,
        passed,
        verdict.outcome,
        verdict.reason,
        verdict.reasoning,
        verdict.similarity,
        gold,
        predicted,
        match.gold,
        match.predicted,
        column,
        other if match.predicted is not None else None,
    )


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
    recall = _over(total, gold_rows * width)
    precision = _over(total, predicted_rows * width + extra)
    if not gold_rows * width + predicted_rows * width + extra:
        precision = recall = 1.0  # nothing was asked for and nothing was predicted
    row_recall, row_precision = _over(matched, gold_rows), _over(matched, predicted_rows)
    if not gold_rows + predicted_rows:
        row_recall = row_precision = 1.0
    return {
        "cell_f1": harmonic(precision, recall),
        "cell_precision": precision,
        "cell_recall": recall,
        "row_f1": harmonic(row_precision, row_recall),
        "row_precision": row_precision,
        "row_recall": row_recall,
        "column_recall": _over(aligned, width)
        if rules.predicted_column_recall
        else _over(width, configured),
        "column_precision": _over(aligned, aligned + extra_columns),
        "average_cell_score": _over(sum(cell.score or 0.0 for cell in in_pairs), len(in_pairs)),
        "score_sum": total,
        "gold_cells": float(gold_rows * width),
        "predicted_cells": float(predicted_rows * width + extra),
    }


def _over(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


# --- released -----------------------------------------------------------------------------------


def _roles(
    tables: Tables,
    keys: str | Sequence[str] | None,
    values: str | Sequence[str] | None,
    numeric: str | Sequence[str] | None,
) -> tuple[list[str], list[str], list[str]]:
    """Return keys, values and numeric columns as given: the released code folds no names."""
    given = ((keys, tables.keys), (values, tables.values), (numeric, tables.numeric))
    keys, values, numeric = (
        found if names is None else [names] if isinstance(names, str) else list(names)
        for names, found in given
    )
    return keys, values, numeric


def _compare_released(
    tables: Tables,
    roles: tuple[list[str], list[str], list[str]],
    given: tuple[Any, Any],
    rules: TableRules,
    asker: Asker,
) -> Found:
    keys, values, numeric = roles
    ours = _released_frame(given[0], tables.gold)
    theirs = _released_frame(given[1], tables.predicted)
    if ours is None:
        raise InputError("gold cannot be read by pandas.read_csv")
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
    rows = _released_rows(found, len(ours), 0 if theirs is None else len(theirs))
    cells = _released_cells(found, rows, ours, theirs, rules)
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
        "column_precision": _over(aligned, aligned + extra),
        "average_cell_score": float(scores["average_cell_score_in_matched"]),
        "score_sum": float(scores["tp_score_sum"]),
        "gold_cells": float(scores["total_gold_target_cells"]),
        "predicted_cells": float(scores["total_mapped_target_cells_corresp_gold_schema"]),
    }
    return Found(columns, rows, cells, ratios, notes, scores)


def _released_frame(given: Any, reading: Reading) -> pd.DataFrame | None:
    """Read a table as the released code does: types are inferred by ``pandas.read_csv``."""
    if given is None:
        return None
    if isinstance(given, pd.DataFrame):
        return given
    if isinstance(given, Path) and given.suffix.lower() == ".csv":
        return read_csv(read_text(given, "table"))
    if isinstance(given, str):
        answer = released_answer(given)
        return answer.frame if answer.found else read_csv(given)
    if isinstance(given, list) and given and all(isinstance(item, dict) for item in given):
        return gold_table(given)
    if reading.failure is not None:
        return None
    buffer = StringIO()
    reading.frame.to_csv(buffer, index=False)
    return read_csv(buffer.getvalue())


def _released_rows(found: ReleasedScores, gold: int, predicted: int) -> list[RowMatch]:
    """List the pairs in the order of gold; a join may pair a row several times."""
    pairs = sorted(found.pairs)
    seen = {pair.gold for pair in pairs}, {pair.predicted for pair in pairs}
    rows = [
        RowMatch(p.gold, p.predicted, "matched", p.rule, None if p.rule == "judge" else p.similarity)
        for p in pairs
    ]
    rows += [RowMatch(n, None, "missed", "", None) for n in range(gold) if n not in seen[0]]
    rows.sort(key=lambda match: (match.gold, match.predicted or 0))
    return rows + [
        RowMatch(None, n, "spurious", "", None) for n in range(predicted) if n not in seen[1]
    ]


def _released_cells(
    found: ReleasedScores,
    rows: Iterable[RowMatch],
    gold: pd.DataFrame,
    predicted: pd.DataFrame | None,
    rules: TableRules,
) -> list[CellRow]:
    ours = {name: _written(gold[name]) for name in found.columns}
    theirs: dict[str, list[str]] = {}
    if predicted is not None:
        theirs = {n: _written(predicted[n]) for n in found.columns if n in predicted.columns}
    scores = {(p.gold, p.predicted): s for p, s in zip(found.pairs, found.cells, strict=True)}
    cells = []
    for match in rows:
        for n, (name, method) in enumerate(zip(found.columns, found.methods, strict=True)):
            one = ours[name][match.gold] if match.gold is not None else None
            other = None
            if match.predicted is not None and name in theirs:
                other = theirs[name][match.predicted]
            if match.status == "missed":
                verdict = Verdict("omission", 0.0, "row_missed")
            elif match.status == "spurious":
                verdict = Verdict("hallucination", 0.0, "row_spurious")
            else:
                assert match.gold is not None and match.predicted is not None  # noqa: S101, PT018
                score = scores[match.gold, match.predicted][n]
                verdict = _released_verdict(score, one, other, method, rules)
            metric = METRICS["released_number" if method == "number" else method]
            column = name if name in theirs else None
            cells.append(_cell_row(match, name, column, metric, one, other, verdict))
    return cells


def _written(column: pd.Series) -> list[str]:
    return ["" if pd.isna(value) else str(value).strip() for value in column.tolist()]


def _released_verdict(
    score: float | None, gold: str | None, predicted: str | None, method: str, rules: TableRules
) -> Verdict:
    if score is None:
        return Verdict("judge_error", rules.failure_score, "judge_failed")
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
