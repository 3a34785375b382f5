"""`compare`: two tables, and where the points were lost: columns, rows or cells.

The first part has the rules of ``strict``. The second one computes AOE's scores as its released
code does (commit 282e688d), quirks included: tables have the types that ``pandas.read_csv`` infers,
rows are matched in the order of the file, or by a join. Where that code stops with an error, a
warning names the problem.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.construction.aligning import (
    ColumnMatch,
    RowMatch,
    Side,
    align_columns,
    align_rows,
    in_order,
)
from extractbench_nb.construction.answers import (
    Note,
    Reading,
    Tables,
    fenced_frame,
    read_answer,
    read_csv,
)
from extractbench_nb.construction.cell_verdicts import (
    Asker,
    CellVerdict,
    TextPair,
    cell_rows,
    strict_verdicts,
)
from extractbench_nb.construction.table_comparison import (
    SUMMARY,
    Parts,
    TableComparison,
    ratios_of,
)
from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    TableRules,
    is_absent,
    number_of,
    propose_keys,
    released_number,
    released_similarity,
    released_words,
    rules_of,
    text_key,
)
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import plural

_MOST_SHOWN = 5
#: Stands for the keys of a column that a table lacks; it equals no key, not even a blank one.
_ABSENT_KEY = "\ue000"
#: Names of columns as users give them.
_Names = str | Sequence[str] | None


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
        Anything that `read_table` reads. A str is a text, never a file name. It may be the raw
        answer of a model, with thoughts, code fences, Markdown and prose; each repair is in
        ``.warnings``. A prediction without a table raises no error.
    keys : str or sequence of str, optional
        Gold's columns that identify a row. By default they are chosen, with the reason in
        ``.warnings``.
    values : str or sequence of str, optional
        Gold's columns to compare; by default all but the keys, or the keys if there are no others.
    numeric : str or sequence of str, optional
        Columns of numbers; by default those in which all of gold's values are numbers.
    judge : str or Judge, optional
        Decides whether texts mean the same, as in `evaluate`: ``"offline"``, a model, `LLMJudge`.
        An object with recorded answers has ``score_cell(column, gold, predicted)`` and
        ``match_key(key, keys)``; the latter is called under ``aoe`` alone.
    profile : str or TableRules, optional
        ``strict``, ``aoe`` (the numbers of AOE's released code), or what `rules_of` returns.

    Returns
    -------
    TableComparison
        The comparison: ``.rows``, ``.cells``, ``.columns``, ``.summary`` and ``.warnings``.

    Raises
    ------
    InputError
        Gold is not a table, a column or an option is unknown, or a file cannot be read.

    Notes
    -----
    The rules of ``strict``:

    1. Columns are aligned one to one: by name; by name without case, spaces and full-width forms;
       by name if one of them names no unit; then by the judge. No number in a name may differ.
    2. Rows are matched one to one by their keys: equal; equal once normalised (case, punctuation,
       file endings, the writing of numbers); with a similarity of 90 or more, so that the number of
       pairs and then the total similarity is as large as possible; then by the judge. Keys that
       differ in a number or a year never match. If keys are repeated, cells decide. Ties are
       broken by content, so that the order of rows and columns has no effect.
    3. A cell scores 1 or 0. Blank cells and null words (``N/A``, ``-``) equal each other only.
       Numbers are equal if their values are, in any notation; ``2020年`` is 2020, and a unit or
       per-cent sign that the column names is optional. Texts are equal if they are equal without
       case and white space, or if the judge gives 0.7 or more.
    4. With S the sum of the scores, G and P the rows of both tables, C gold's compared columns and
       E the filled cells of predicted columns that gold lacks: cell recall is S / (G C), cell
       precision S / (P C + E), and F1 their harmonic mean, at most 1. A column missing from the
       prediction lowers both; the cells of missed rows are omissions, those of spurious rows and
       of extra columns hallucinations.
    5. If the judge fails, the cell has no score and adds nothing to S.

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
    roles = (keys, values, numeric)
    tables, notes = _read_tables(gold, predicted, roles, rules)
    return _compared(rules, judge, tables, notes, (roles, (gold, predicted)))


def _compared(
    rules: TableRules,
    judge: str | Judge,
    tables: Tables,
    read_notes: Sequence[Note],
    given: tuple[tuple[_Names, ...], tuple[Any, Any]],
) -> TableComparison:
    """Compare two tables that were read, from what the user gave."""
    started = time.perf_counter()
    asker = Asker(judge)
    if rules.released:
        parts = compare_released(tables, given[0], given[1], rules, asker)
    else:
        parts = _compare_optimally(tables, rules, asker)
    notes = [*read_notes, *parts.notes]
    if asker.failures:
        count, first = len(asker.failures), asker.failures[0]
        message = f"{count} questions without a verdict; the first: {first}"
        notes.append(("judge", "$", "judge_failed", message, None))
    meta = {
        "profile": rules.name,
        "judge": asker.judge.name,
        "keys": tables.keys,
        "values": tables.values,
        "numeric": tables.numeric,
        "direct": tables.predicted.direct,
        "mapped": tables.predicted.mapped,
        "failure_mode": tables.predicted.failure_mode,
        "seconds": time.perf_counter() - started,
    }
    return TableComparison(
        parts._replace(notes=notes),
        tables,
        rules,
        tuple(asker.calls),
        meta,
        partial(_compared, judge=asker.judge, tables=tables, read_notes=read_notes, given=given),
    )


def _compare_optimally(tables: Tables, rules: TableRules, asker: Asker) -> Parts:
    """Align columns, then rows, and judge the cells, by the rules of ``strict``."""
    ours, theirs = tables.gold, tables.predicted
    columns = align_columns(list(ours.columns), list(theirs.columns), asker.scores)
    partner = {column.gold: column for column in columns}
    notes: list[Note] = []
    if theirs.failure is None:
        # without the judge's columns, so that the judge has no part in the pairs that need none
        by_name = {
            str(column.gold): column.predicted
            for column in columns
            if column.gold is not None and column.predicted is not None and column.rule != "judge"
        }
        their_keys = [partner[key].predicted for key in tables.keys]
        lost = [key for key in tables.keys if partner[key].predicted is None]
        if lost:
            message = f"the prediction has no key column {', '.join(map(repr, lost))}"
            notes.append(("predicted", "$", "key_missing", message, lost))
        notes += _key_notes("predicted", theirs, [key for key in their_keys if key is not None])
        sides = (
            _side(ours, tables.keys, {name: name for name in by_name}),
            _side(theirs, their_keys, by_name),
        )
        rows = align_rows(*sides, threshold=float(rules.threshold), judge=asker.scores)
    else:
        rows = [RowMatch(n, None, "missed") for n in range(ours.size)]

    def judged(pairs: Sequence[TextPair]) -> list[CellVerdict]:
        return strict_verdicts(pairs, columns, tables.numeric, asker)

    cells = cell_rows(tables, columns, rows, rules, judged)
    return Parts(columns, rows, cells, ratios_of(tables, columns, rows, cells, rules), notes)


def _side(table: Reading, keys: Sequence[str | None], named: dict[str, str]) -> Side:
    """Return keys, and by gold's names the cells of columns that both tables name."""

    def comparable(text: str, column: str) -> str:
        """Return what cells share that are equal without a judge."""
        if is_absent(text):
            return ""
        number = number_of(text, column)
        return text_key(text) if number is None else f"{number.normalize():f}"

    cells = [
        [comparable(text, name) for text in table.columns[named[name]]] for name in sorted(named)
    ]
    rows: list[tuple[str, ...]] = list(zip(*cells, strict=True)) or [()] * table.size
    content = list(zip(*(table.columns[name] for name in sorted(table.columns)), strict=True))
    return Side(_keys_of(table, keys), rows, content)


# --- the two tables, and the roles of gold's columns ----------------------------------------------


def _read_tables(
    gold: Any, predicted: Any, roles: Sequence[_Names], rules: TableRules
) -> tuple[Tables, list[Note]]:
    """Read both tables and settle the roles of gold's columns."""
    ours, theirs = read_answer(gold, "gold"), read_answer(predicted, "predicted")
    if ours.failure:
        raise InputError(f"gold holds no table: {ours.notes[-1][1]}")
    notes: list[Note] = [
        (side, "$", kind, message, None)
        for side, reading in (("gold", ours), ("predicted", theirs))
        for kind, message in reading.notes
    ]
    names = list(ours.columns)
    keys, asked, numbers = map(_folded, roles)
    if keys is None:
        keys, why = propose_keys(ours.columns, list(theirs.columns))
        notes.append(("gold", "$", "keys_proposed", f"keys {keys}: {why}", None))
    elif not keys:
        raise InputError("keys is empty; expected at least one of gold's columns, or None")
    for name in keys:
        if name not in names:
            raise InputError(f"keys: gold has no column {name!r}; {nearest(name, names)}")
    if asked is None:
        asked = [name for name in names if name not in keys] or keys
    compared = [name for name in asked if name in names]
    absent = [name for name in asked if name not in names]
    if absent:
        message = f"gold has no column {', '.join(map(repr, absent[:_MOST_SHOWN]))}; left out"
        notes.append(("gold", "$", "not_in_gold", message, absent))
    if not compared and not rules.released:
        hint = "empty; expected columns of gold, or None"
        if absent:
            hint = f"gold has no column {absent[0]!r}; {nearest(absent[0], names)}"
        raise InputError(f"values: {hint}")
    if numbers is None:
        filled = {n: [text for text in ours.columns[n] if not is_absent(text)] for n in compared}
        numbers = [
            name
            for name, texts in filled.items()
            if texts and all(number_of(text, name) is not None for text in texts)
        ]
    unknown = [name for name in numbers if name not in names]
    if unknown:
        message = f"numeric: gold has no column {unknown[0]!r}; {nearest(unknown[0], names)}"
        notes.append(("gold", "$", "numeric_unknown", message, unknown))
    numbers = [name for name in numbers if name in compared]
    notes += _key_notes("gold", ours, keys)
    return Tables(ours, theirs, keys, compared, numbers, len(asked)), notes


def _folded(given: _Names) -> list[str] | None:
    """Return names of columns once each with single spaces, as tables are read."""
    if given is None:
        return None
    names = [given] if isinstance(given, str) else given
    return list(dict.fromkeys(" ".join(str(name).split()) for name in names))


def _key_notes(side: str, table: Reading, keys: Sequence[str]) -> list[Note]:
    """Warn of blank keys, repeated keys and keys that are null words."""
    rows = _keys_of(table, keys) if keys else []
    is_blank = [not any(key) for key in rows]
    odd: dict[tuple[str, str], Any] = {
        ("blank_key", "a blank key"): is_blank,
        ("null_word_key", "a null word as key"): [
            not blank and all(map(is_absent, key))
            for blank, key in zip(is_blank, rows, strict=True)
        ],
        ("duplicate_key", "the key of an earlier row"): pd.Series(rows, dtype=object).duplicated(),
    }
    notes: list[Note] = []
    for (kind, meaning), flags in odd.items():
        found = np.flatnonzero(flags).tolist()
        if found:
            shown = ", ".join(map(str, found[:_MOST_SHOWN]))
            more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
            message = f"{plural(len(found), 'row')} with {meaning}: {shown}{more}"
            notes.append((side, f"$[{found[0]}]", kind, message, rows[found[0]]))
    return notes


def _keys_of(table: Reading, keys: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the key of each row, one text per key column; None stands for one that is absent."""
    blank = [_ABSENT_KEY] * table.size
    columns = [blank if key is None else map(str.strip, table.columns[key]) for key in keys]
    return list(zip(*columns, strict=True))


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
        message = "gold has none of the compared columns"
        ratios = dict.fromkeys(SUMMARY.names[: SUMMARY.names.index("evaluated")], 0.0)
        ratios |= {"gold_rows": tables.gold.size, "predicted_rows": tables.predicted.size}
        note: Note = ("gold", "$", "nothing_compared", message, None)
        return Parts([], [], [], ratios, [note])
    for name in keys:
        if name not in gold.columns:
            raise InputError(f"keys: gold has no column {name!r}; {nearest(name, gold.columns)}")
    sizes = len(gold), 0 if predicted is None else len(predicted)
    notes: list[Note] = []
    if predicted is None and tables.predicted.failure is None:
        notes.append(("predicted", "$", "unreadable", "pandas.read_csv cannot read it", None))
    elif predicted is not None and len(predicted):
        notes += _problems(gold, predicted, keys)
    ours, theirs = (_texts(f, [*keys, *known], {*numeric} - {*keys}) for f in (gold, predicted))
    key_rows = _key_rows(ours, keys, ""), _key_rows(theirs, keys, rules.key_suffix)
    pairs: list[RowMatch] = []
    if rules.rows == "llm_assisted":
        pairs = _in_file_order(*key_rows, rules, asker)
    elif predicted is not None and predicted.index.nlevels == 1:
        pairs = _joined(*key_rows)
    matched = {pair.gold for pair in pairs}, {pair.predicted for pair in pairs}
    rows = [*pairs, *(RowMatch(n, None, "missed") for n in range(sizes[0]) if n not in matched[0])]
    rows += [RowMatch(None, n, "spurious") for n in range(sizes[1]) if n not in matched[1]]
    columns = _columns(gold, predicted)
    used = Tables(ours, theirs, keys, known, numeric, len(values))

    def judged(pairs: Sequence[TextPair]) -> list[CellVerdict]:
        return _verdicts(pairs, used, rules, asker)

    cells = cell_rows(used, columns, rows, rules, judged)
    ratios = ratios_of(used, columns, rows, cells, rules)
    cells.sort(key=lambda c: (c["gold_row"] is None, c["gold_row"] or 0, c["predicted_row"] or 0))
    return Parts(columns, in_order(rows), cells, ratios, notes)


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
    columns: dict[str, list[str]] = {}
    for name in names:
        if name in frame.columns:
            column: Any = frame[name]
            column = column if column.ndim == 1 else column.iloc[:, 0]
            columns[name] = [
                ""
                if is_missing
                else str(
                    int(value) if isinstance(value, bool) and name in numbers else value
                ).strip()
                for value, is_missing in zip(column.tolist(), column.isna(), strict=True)
            ]
    return Reading(columns, len(frame))


def _problems(gold: pd.DataFrame, predicted: pd.DataFrame, keys: Sequence[str]) -> Iterator[Note]:
    """Name what the released code stops at."""
    for side, frame in (("gold", gold), ("predicted", predicted)):
        if not (frame.columns.is_unique and frame.index.is_unique):
            message = "columns of one name, or rows that are too long and begin alike"
            yield (side, "$", "released_raises", f"the released code stops: {message}", None)
    lost = [name for name in keys if name not in predicted.columns]
    if lost:
        message = f"the prediction has no key column {lost[0]!r}"
        yield ("predicted", "$", "key_missing", message, None)


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
            scores[n] = float(round(released_similarity(one, other)) >= rules.threshold)
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
