"""`compare`: two tables, and where the points were lost: columns, rows or cells."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from extractbench_nb.construction.aligning import RowMatch, Side, align_columns, align_rows
from extractbench_nb.construction.answers import Note, Reading, Tables, read_answer
from extractbench_nb.construction.cell_values import is_absent, number_of, propose_keys, text_key
from extractbench_nb.construction.cell_verdicts import (
    Asker,
    CellVerdict,
    TextPair,
    cell_rows,
    strict_verdicts,
)
from extractbench_nb.construction.construction_profiles import TableRules, rules_of
from extractbench_nb.construction.released import compare_released
from extractbench_nb.construction.table_comparison import Parts, TableComparison, ratios_of
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import InputError, nearest

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
    tables, notes = _read_tables(gold, predicted, keys, values, numeric, rules)
    given = ((keys, values, numeric), (gold, predicted))
    return _compared(rules, judge, tables, notes, given)


def _compared(
    rules: TableRules,
    judge: str | Judge,
    tables: Tables,
    notes: Sequence[Note],
    given: tuple[tuple[_Names, ...], tuple[Any, Any]],
) -> TableComparison:
    """Compare two tables that were read, from what the user gave."""
    started = time.perf_counter()
    asker = Asker(judge)
    if rules.released:
        parts = compare_released(tables, given[0], given[1], rules, asker)
    else:
        parts = _compare_optimally(tables, rules, asker)
    failures: list[Note] = []
    if asker.failures:
        count, first = len(asker.failures), asker.failures[0]
        message = f"{count} questions without a verdict; the first: {first}"
        failures.append(("judge", "$", "judge_failed", message, None))
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
        parts._replace(notes=[*notes, *parts.notes, *failures]),
        tables,
        rules,
        tuple(asker.calls),
        meta,
        partial(_compared, judge=asker.judge, tables=tables, notes=notes, given=given),
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
        return strict_verdicts(pairs, columns, tables.numeric, rules, asker)

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
    gold: Any, predicted: Any, keys: _Names, values: _Names, numeric: _Names, rules: TableRules
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
    chosen = _checked(keys, names)
    why = "given"
    if chosen is None:
        chosen, why = propose_keys(ours.columns, list(theirs.columns))
        notes.append(("gold", "$", "keys_proposed", f"keys {chosen}: {why}", None))
    asked, absent = _folded(values), list[str]()
    if asked is None:
        compared = [name for name in names if name not in chosen] or chosen
    else:
        compared = [name for name in dict.fromkeys(asked) if name in names]
        absent = [name for name in asked if name not in names]
    if absent:
        message = f"gold has no column {', '.join(map(repr, absent[:_MOST_SHOWN]))}; left out"
        notes.append(("gold", "$", "not_in_gold", message, absent))
    if not compared and not rules.released:
        hint = "empty; expected columns of gold, or None"
        if absent:
            hint = f"gold has no column {absent[0]!r}; {nearest(absent[0], names)}"
        raise InputError(f"values: {hint}")
    numbers = _folded(numeric)
    if numbers is None:
        numbers = [name for name in compared if _is_numeric(ours.columns[name], name)]
    unknown = [name for name in numbers if name not in names]
    if unknown:
        message = f"numeric: gold has no column {unknown[0]!r}; {nearest(unknown[0], names)}"
        notes.append(("gold", "$", "numeric_unknown", message, unknown))
    numbers = [name for name in numbers if name in compared]
    notes += _key_notes("gold", ours, chosen)
    configured = len(compared) + len(absent)
    return Tables(ours, theirs, chosen, compared, numbers, configured, why), notes


def _folded(given: _Names) -> list[str] | None:
    """Return names of columns with single spaces, as tables are read."""
    if given is None:
        return None
    return [" ".join(str(name).split()) for name in ([given] if isinstance(given, str) else given)]


def _checked(keys: _Names, names: Sequence[str]) -> list[str] | None:
    """Return the given keys, which must be columns of gold."""
    chosen = _folded(keys)
    if chosen is not None and not chosen:
        raise InputError("keys is empty; expected at least one of gold's columns, or None")
    for name in chosen or ():
        if name not in names:
            raise InputError(f"keys: gold has no column {name!r}; {nearest(name, names)}")
    return chosen and list(dict.fromkeys(chosen))


def _is_numeric(values: Sequence[str], column: str) -> bool:
    filled = [text for text in values if not is_absent(text)]
    return bool(filled) and all(number_of(text, column) is not None for text in filled)


def _key_notes(side: str, table: Reading, keys: Sequence[str]) -> list[Note]:
    """Warn of blank keys, repeated keys and keys that are null words."""
    rows = _keys_of(table, keys) if keys else []
    first: dict[tuple[str, ...], int] = {}
    for n, key in enumerate(rows):
        first.setdefault(key, n)
    odd: dict[str, list[int]] = {"blank_key": [], "null_word_key": [], "duplicate_key": []}
    for n, key in enumerate(rows):
        if not any(key):
            odd["blank_key"].append(n)
        elif all(map(is_absent, key)):
            odd["null_word_key"].append(n)
        if first[key] != n:
            odd["duplicate_key"].append(n)
    meanings = ("a blank key", "a null word as key", "the key of an earlier row")
    notes: list[Note] = []
    for (kind, found), meaning in zip(odd.items(), meanings, strict=True):
        if found:
            shown = ", ".join(map(str, found[:_MOST_SHOWN]))
            more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
            have = "rows" if len(found) > 1 else "row"
            message = f"{len(found)} {have} with {meaning}: {shown}{more}"
            notes.append((side, f"$[{found[0]}]", kind, message, rows[found[0]]))
    return notes


def _keys_of(table: Reading, keys: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the key of each row, one text per key column; None stands for one that is absent."""
    blank = [_ABSENT_KEY] * table.size
    columns = [blank if key is None else map(str.strip, table.columns[key]) for key in keys]
    return list(zip(*columns, strict=True))
