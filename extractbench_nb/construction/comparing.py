"""`compare`: two tables, and where the points were lost: columns, rows or cells."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.construction.aligning import RowMatch, Side, align_columns, align_rows
from extractbench_nb.construction.answers import Note, Reading, Tables, read_answer
from extractbench_nb.construction.cell_verdicts import Asker, cell_records, strict_verdicts
from extractbench_nb.construction.released import align_released
from extractbench_nb.construction.table_comparison import Alignment, TableComparison
from extractbench_nb.construction.table_rules import (
    TableRules,
    is_absent,
    number_of,
    propose_keys,
    rules_of,
    text_key,
)
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.wording import plural

_MOST_SHOWN = 5
#: Stands for the keys of a column that a table lacks; it equals no key, not even a blank one.
_ABSENT_KEY = "\ue000"
#: Names of columns as users give them.
_Names: TypeAlias = str | Sequence[str] | None


def compare(  # noqa: PLR0913 - options, all but two by name
    gold: Any,
    predicted: Any,
    *,
    keys: _Names = None,
    values: _Names = None,
    numeric: _Names = None,
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
        ``strict``, ``aoe`` (the numbers of AOE's released code), or the result of `rules_of`.

    Returns
    -------
    TableComparison
        ``.cells``, ``.matches`` of rows, ``.columns``, ``.summary`` and ``.warnings``.

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
    roles = [[names] if isinstance(names, str) else names for names in (keys, values, numeric)]
    tables, notes = _read_tables(gold, predicted, roles, rules)
    return _compared(judge, tables, notes, roles, (gold, predicted), rules)


def _compared(
    judge: str | Judge,
    tables: Tables,
    read_notes: Sequence[Note],
    roles: Sequence[Any],
    given: tuple[Any, Any],
    rules: TableRules,
) -> TableComparison:
    started = time.perf_counter()
    asker, tables = Asker(judge), tables._replace(rules=rules)
    if rules.released:
        found = align_released(tables, roles, given, asker)
    else:
        found = _align_strictly(tables, asker)
    notes = [*read_notes, *found.notes]
    if asker.failures:
        count, first = len(asker.failures), asker.failures[0]
        message = f"{count} questions without a verdict; the first: {first}"
        notes.append(("judge", "$", "judge_failed", message, None))
    meta = {
        "profile": rules.name,
        "judge": asker.judge.name,
        **{name: getattr(tables, name) for name in ("keys", "values", "numeric")},
        **{n: getattr(tables.predicted, n) for n in ("direct", "mapped", "failure_mode")},
        "seconds": time.perf_counter() - started,
    }
    again = partial(_compared, asker.judge, tables, read_notes, roles, given)
    found = found._replace(notes=notes)
    return TableComparison(found, tables, tuple(asker.calls), meta, again)


def _align_strictly(tables: Tables, asker: Asker) -> Alignment:
    """Align columns, then rows, and judge the cells, by the rules of ``strict``."""
    gold, predicted, notes = tables.gold, tables.predicted, list[Note]()
    columns = align_columns(list(gold.columns), list(predicted.columns), asker.scores)
    if predicted.failure is None:
        partner = {column.gold: column.predicted for column in columns}
        keys = [partner[key] for key in tables.keys]
        lost = [key for key in tables.keys if partner[key] is None]
        if lost:
            message = f"the prediction has no key column {', '.join(map(repr, lost))}"
            notes.append(("predicted", "$", "key_missing", message, lost))
        notes += _key_notes("predicted", predicted, [key for key in keys if key is not None])
        # without the judge's columns, so that the judge has no part in the pairs that need none
        named = sorted(
            (str(c.gold), str(c.predicted))
            for c in columns
            if c.gold is not None and c.predicted is not None and c.rule != "judge"
        )
        sides = (
            _side(gold, tables.keys, [(name, name) for name, _ in named]),
            _side(predicted, keys, named),
        )
        threshold = float(tables.rules.threshold)
        rows = align_rows(*sides, threshold=threshold, ask=asker.scores)
    else:
        rows = [RowMatch(n, None, "missed") for n in range(gold.size)]
    cells = cell_records(
        tables, columns, rows, lambda texts: strict_verdicts(texts, columns, tables.numeric, asker)
    )
    return Alignment.of(tables, columns, rows, cells, notes)


def _side(table: Reading, keys: Sequence[str | None], named: Sequence[tuple[str, str]]) -> Side:
    """Return keys, and by gold's names the cells of columns that both tables name."""

    def comparable(text: str, column: str) -> str:
        """Return what cells share that are equal without a judge."""
        if is_absent(text):
            return ""
        number = number_of(text, column)
        return text_key(text) if number is None else f"{number.normalize():f}"

    cells = [[comparable(text, name) for text in table.columns[own]] for name, own in named]
    content = [table.columns[name] for name in sorted(table.columns)]
    rows = list(zip(*cells, strict=True)) or [()] * table.size
    return Side(_keys_of(table, keys), rows, list(zip(*content, strict=True)))


# --- the two tables, and the roles of gold's columns ----------------------------------------------


def _read_tables(
    gold: Any, predicted: Any, roles: Sequence[Sequence[str] | None], rules: TableRules
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
    # names are folded as those of tables are
    keys, asked, numbers = (
        None if role is None else list(dict.fromkeys(" ".join(str(n).split()) for n in role))
        for role in roles
    )
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
        numbers = [name for name in compared if _holds_numbers(name, ours.columns)]
    unknown = [name for name in numbers if name not in names]
    if unknown:
        message = f"numeric: gold has no column {unknown[0]!r}; {nearest(unknown[0], names)}"
        notes.append(("gold", "$", "numeric_unknown", message, unknown))
    numbers = [name for name in numbers if name in compared]
    notes += _key_notes("gold", ours, keys)
    return Tables(ours, theirs, keys, compared, numbers, len(asked), rules), notes


def _holds_numbers(name: str, columns: Mapping[str, Sequence[str]]) -> bool:
    texts = [text for text in columns[name] if not is_absent(text)]
    return bool(texts) and all(number_of(text, name) is not None for text in texts)


def _key_notes(side: str, table: Reading, keys: Sequence[str]) -> list[Note]:
    """Warn of blank keys, repeated keys and keys that are null words."""
    rows = _keys_of(table, keys) if keys else []
    null = [any(key) and all(map(is_absent, key)) for key in rows]
    odd: dict[str, tuple[str, Any]] = {
        "blank_key": ("a blank key", [not any(key) for key in rows]),
        "null_word_key": ("a null word as key", null),
        "duplicate_key": ("the key of an earlier row", pd.Series(rows, dtype=object).duplicated()),
    }
    notes: list[Note] = []
    for kind, (meaning, flags) in odd.items():
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
