"""`compare`: two tables, and where the points were lost: columns, rows or cells."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from statistics import fmean
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.construction.aligning import (
    METRIC,
    Alignment,
    Asker,
    ColumnMatch,
    Note,
    RowMatch,
    Side,
    Tables,
    TextPair,
    Verdict,
    align_columns,
    align_rows,
    cell_records,
    in_order,
)
from extractbench_nb.construction.answers import FAILURES, Reading, read_answer
from extractbench_nb.construction.released import align_released
from extractbench_nb.construction.retrieval import EvidenceRecall
from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    TableRules,
    is_absent,
    number_of,
    propose_keys,
    rules_of,
    text_key,
)
from extractbench_nb.core import OUTCOMES, Evaluation, total_cost
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, scores_of
from extractbench_nb.core.text import Judge, JudgeCall
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats import KIND_COLUMN, mismatch_kinds
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.wording import plural

#: The metric of a rating of the whole answer.
QUALITY_METRIC = "table_quality"
#: Stands for the keys of a column that a table lacks; it equals no key, not even a blank one.
_ABSENT_KEY = "\ue000"
_SHOWN = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall")
#: Labels that lead the frames of many tables.
LABELS = ("run", "document", "domain", "schema")
#: Names of columns as users give them.
_Names: TypeAlias = str | Sequence[str] | None

_SAME = {column.name: column for column in Evaluation.spec("fields").columns}
_STATES = "present, null, missing"

CELL_COLUMNS = FrameSpec(
    "cells",
    "one row per cell of gold or the prediction; of two cells that were compared, one",
    (
        Column("path", "string", "row and column of gold, `$[3].sales`; `$[+3]` is predicted"),
        Column("field", "string", "column, `[].sales`"),
        Column("schema_path", "string", "missing: a table has no JSON Schema", nullable=True),
        *(_SAME[name] for name in ("metric", "score", "passed", "outcome", "reason")),
        KIND_COLUMN,
        _SAME["reasoning"],
        Column("similarity", "Float64", "score of the judge; 1 for equal", "0 to 1", True),
        Column("gold", "object", "gold's text; None where there is no cell", nullable=True),
        Column("predicted", "object", "predicted text; None where there is no cell", nullable=True),
        Column("gold_state", "string", "state", _STATES),
        Column("predicted_state", "string", "state", _STATES),
        Column("depth", "int64", "depth of a cell: table, row, cell", "2"),
        Column("counted", "bool", "whether the cell enters the scores"),
        Column("weight", "float64", "weight of the cell: all weigh the same", "1"),
        Column("required", "bool", "whether gold has the column; False for extra columns"),
        Column("gold_row", "Int64", "row of gold", "0 and up", True),
        Column("predicted_row", "Int64", "row of the prediction", "0 and up", True),
        Column("column", "string", "column of gold", nullable=True),
        Column("predicted_column", "string", "column of the prediction", nullable=True),
    ),
)

MATCH_COLUMNS = FrameSpec(
    "matches",
    "one row per row of gold, plus one per spurious predicted row",
    (
        Column("gold_row", "Int64", "position in gold", "0 and up", True),
        Column("predicted_row", "Int64", "position in the prediction", "0 and up", True),
        Column("status", "string", "result", "matched, missed, spurious, judge_error"),
        Column(
            *("rule", "string", "rule that matched the row"),
            *("exact, normalised, similar, judge, fuzzy", True),
        ),
        Column("similarity", "Float64", "of the keys", "0 to 1", True),
        Column("score", "Float64", "mean score of the compared cells", "0 to 1", True),
        Column("gold_key", "string", "gold's key, columns joined by ` | `", nullable=True),
        Column("predicted_key", "string", "predicted key", nullable=True),
    ),
)

COLUMN_COLUMNS = FrameSpec(
    "columns",
    "one row per column of gold, plus one per extra predicted column",
    (
        Column("column", "string", "column of gold", nullable=True),
        Column("predicted_column", "string", "column of the prediction", nullable=True),
        Column("role", "string", "use of the column", "key, value, unused, extra"),
        Column("status", "string", "result", "matched, renamed, missing, extra, judge_error"),
        Column("rule", "string", "rule of the alignment", "name, normalised, unit, judge", True),
        Column("numeric", "bool", "whether it holds numbers"),
        Column("score", "Float64", "mean score of its cells in matched rows", "0 to 1", True),
    ),
)

_PLURALS = {name: f"{name}s" for name in ("omission", "hallucination", "judge_error")}
_COUNTED = {_PLURALS.get(outcome, outcome): outcome for outcome in OUTCOMES}
_ENTRIES = {
    "cell_f1": "harmonic mean of the next two",
    "cell_precision": "score_sum / predicted_cells",
    "cell_recall": "score_sum / gold_cells",
    "row_f1": "harmonic mean of the next two",
    "row_precision": "matched / predicted rows",
    "row_recall": "matched / gold rows",
    "column_precision": "aligned / (aligned + extra columns)",
    "column_recall": "aligned / compared columns",
    "average_cell_score": "mean score in matched rows",
    "pass_rate": "passed / evaluated cells; 0 without cells",
    "score_sum": "sum of the scores of cells",
    "gold_cells": "gold rows x compared columns",
    "predicted_cells": "denominator of the precision",
    "matched_cells": "compared cells in matched rows",
    "evaluated": "rows of `cells`",
    "judged": "cells with a verdict",
    "passed": "cells that passed",
    **{name: f"cells with the outcome {outcome}" for name, outcome in _COUNTED.items()},
    "gold_rows": "rows of gold",
    "predicted_rows": "rows of the prediction",
    "matched_rows": "matched pairs of rows",
    "llm_calls": "calls of a language model",
    "llm_cost_usd": "their cost",
}
#: The scores of a table.
MEASURES = tuple(_ENTRIES)[: tuple(_ENTRIES).index("score_sum")]
SUMMARY = FrameSpec(
    "summary",
    "one value per entry",
    tuple(
        Column(
            *(name, "float64", meaning, "0 to 1" if name in MEASURES else "0 and up"),
            nullable=name == "llm_cost_usd",
        )
        for name, meaning in _ENTRIES.items()
    ),
)

#: The stages, in the order in which a table is built and compared, with the reasons of their cells:
#: no table could be read; the value was in no retrieved chunk; a column is missing or extra; no row
#: matches, as a key column is missing; a row is missed or spurious; the cell is not right.
STAGES: dict[str, tuple[str, ...]] = {
    "answer": FAILURES,
    "retrieval": (),
    "columns": ("column_missing", "column_judge_failed", "column_extra"),
    "keys": (),
    "rows": ("row_missed", "row_spurious", "row_judge_failed"),
    "cells": (),
}
LOSS_COLUMNS = FrameSpec(
    "losses",
    "one row per side and stage, in the order of the stages",
    (
        Column("side", "string", "of all gold cells, or all predicted cells", "recall, precision"),
        Column("stage", "string", "what was wrong: see `STAGES`", ", ".join(STAGES)),
        Column("lost", "float64", "points lost there, 1 per cell", "0 and up"),
        Column("left", "float64", "points left after this stage", "0 and up"),
        Column("share", "Float64", "left / all cells; at the end recall or precision", "", True),
    ),
)


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
    notes: Sequence[Note],
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
    failed = asker.failures
    if failed:
        message = f"{len(failed)} questions without a verdict; the first: {failed[0]}"
        found.notes.append(("judge", "$", "judge_failed", message, None))
    meta = {
        "profile": rules.name,
        "judge": asker.judge.name,
        **{name: getattr(tables, name) for name in ("keys", "values", "numeric")},
        **{n: getattr(tables.predicted, n) for n in ("direct", "mapped", "failure_mode")},
        "seconds": time.perf_counter() - started,
    }
    ratios, place = _ratios(found), ("gold_row", "predicted_row")
    cells = found.cells
    if rules.released:
        cells = sorted(cells, key=lambda c: (c[place[0]] is None, *(c[n] or 0 for n in place)))
    found = found._replace(rows=in_order(found.rows), cells=cells, notes=[*notes, *found.notes])
    again = partial(_compared, asker.judge, tables, notes, roles, given)
    return TableComparison(found, tables, ratios, tuple(asker.calls), meta, again)


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

    def in_gold(option: str, given: list[str]) -> list[str]:
        """Keep the names that gold has, and warn of the others."""
        unknown = [name for name in given if name not in names]
        if unknown:
            message = f"{option}: gold has no column {unknown[0]!r}; {nearest(unknown[0], names)}"
            notes.append(("gold", "$", f"{option}_unknown", message, unknown))
        return [name for name in given if name in names]

    if keys is None:
        keys, why = propose_keys(ours.columns, list(theirs.columns))
        notes.append(("gold", "$", "keys_proposed", f"keys {keys}: {why}", None))
    elif not keys:
        raise InputError("keys is empty; expected at least one of gold's columns, or None")
    elif in_gold("keys", keys) != keys:
        raise InputError(notes[-1][3])
    if asked is None:
        asked = [name for name in names if name not in keys] or keys
    compared = in_gold("values", asked)
    if not compared and not rules.released:
        raise InputError(notes[-1][3] if asked else "values: empty; expected gold's columns")
    if numbers is None:
        numbers = [name for name in compared if _holds_numbers(name, ours.columns[name])]
    numbers = [name for name in in_gold("numeric", numbers) if name in compared]
    notes += _key_notes("gold", ours, keys)
    return Tables(ours, theirs, keys, compared, numbers, len(asked), rules), notes


def _holds_numbers(name: str, column: Sequence[str]) -> bool:
    texts = [text for text in column if not is_absent(text)]
    return bool(texts) and all(number_of(text, name) is not None for text in texts)


def _key_notes(side: str, table: Reading, keys: Sequence[str]) -> list[Note]:
    rows = _keys_of(table, keys) if keys else []
    times, notes = Counter(rows), list[Note]()
    for kind, found in (
        ("blank_key", [n for n, key in enumerate(rows) if all(map(is_absent, key))]),
        ("duplicate_key", [n for n, key in enumerate(rows) if times[key] > 1]),
    ):
        if found:
            what = kind.replace("_", " ")
            message = f"{plural(len(found), 'row')} with a {what}, the first is row {found[0]}"
            notes.append((side, f"$[{found[0]}]", kind, message, rows[found[0]]))
    return notes


def _keys_of(table: Reading, keys: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the key of each row, one text per key column; None stands for one that is absent."""
    blank = [_ABSENT_KEY] * table.size
    columns = [blank if key is None else map(str.strip, table.columns[key]) for key in keys]
    return list(zip(*columns, strict=True))


# --- the rules of strict --------------------------------------------------------------------------


def _align_strictly(tables: Tables, asker: Asker) -> Alignment:
    """Align columns, then rows, and judge the cells, by the rules of ``strict``."""
    gold, predicted, notes = tables.gold, tables.predicted, list[Note]()
    columns = align_columns(list(gold.columns), list(predicted.columns), asker.scores)
    partner = {column.gold: column for column in columns}
    if predicted.failure is None:
        keys = [partner[key].predicted for key in tables.keys]
        lost = [key for key in tables.keys if partner[key].predicted is None]
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

    def verdicts_of(questions: Sequence[TextPair]) -> list[Verdict]:
        """Judge each pair of texts once; the judge is asked all together."""
        verdicts = {q: _by_rules(partner[q[0]], *q[1:], q[0] in tables.numeric) for q in questions}
        asked = [question for question, verdict in verdicts.items() if verdict is None]
        verdicts |= dict(zip(asked, asker.answers(asked), strict=True))
        return [verdicts[question] for question in questions]  # type: ignore[misc]

    return Alignment(tables, columns, rows, cell_records(tables, columns, rows, verdicts_of), notes)


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


def _by_rules(column: ColumnMatch, gold: str, predicted: str, is_numeric: bool) -> Verdict | None:
    """Judge a cell by rules; None where the judge is to decide."""
    if column.status == "judge_error":
        return Verdict("judge_error", None, "column_judge_failed")
    blank, blank_too = is_absent(gold), is_absent(predicted)
    if column.predicted is None:  # nothing is lost where gold holds nothing
        outcome, score = ("both_absent", 1.0) if blank else ("omission", 0.0)
        return Verdict(outcome, score, "column_missing")
    if blank and blank_too:
        return Verdict("both_absent", 1.0, "both_null")
    if blank:
        return Verdict("hallucination", 0.0, "gold_null")
    if blank_too:
        return Verdict("omission", 0.0, "predicted_null")
    if gold.strip() == predicted.strip():
        return Verdict("correct", 1.0, "identical", 1.0)
    numbers = [number_of(text, str(column.gold)) for text in (gold, predicted)]
    if None not in numbers:
        if numbers[0] == numbers[1]:
            return Verdict("correct", 1.0, "number_equal", 1.0)
        return Verdict("incorrect", 0.0, "number_differs")
    if text_key(gold) == text_key(predicted):
        return Verdict("correct", 1.0, "normalised", 1.0)
    if is_numeric and numbers[0] is not None:
        return Verdict("incorrect", 0.0, "not_a_number")
    return None


# --- scores ---------------------------------------------------------------------------------------


def _ratios(found: Alignment) -> dict[str, float]:
    """Compute precision, recall and F1 of cells, rows and columns, as `SUMMARY` describes them."""
    tables, columns, rows, cells = found[:4]

    def total(some: Sequence[Mapping[str, Any]]) -> float:
        # one after the other, as in the released code: sums of fractions depend on the order
        return float(reduce(add, (cell["score"] or 0.0 for cell in some), 0.0))

    released, width = tables.rules.released, len(tables.values)
    gold_rows, predicted_rows = tables.gold.size, tables.predicted.size
    extra = sum(cell["column"] is None for cell in cells)
    in_pairs = [cell for cell in cells if _is_in_pair(cell)]
    aligned = sum(m.gold in tables.values and m.predicted is not None for m in columns)
    counts = {
        "score_sum": total(cells),
        "gold_cells": gold_rows * width,
        "predicted_cells": predicted_rows * width + extra,
        "matched_cells": len(in_pairs),
        "gold_rows": gold_rows,
        "predicted_rows": predicted_rows,
        "matched_rows": sum(row.status == "matched" for row in rows),
    }
    ratios = {
        "column_precision": _share(aligned, aligned + sum(m.gold is None for m in columns)),
        # the released code asks which of the configured columns gold has
        "column_recall": _share(width, tables.configured) if released else _share(aligned, width),
        "average_cell_score": _share(total(in_pairs), len(in_pairs)),
    }
    for kind, right in (("cell", counts["score_sum"]), ("row", counts["matched_rows"])):
        wholes = [counts[f"{side}_{kind}s"] for side in ("predicted", "gold")]
        precision, recall = (_share(right, whole) for whole in wholes)
        if not any(wholes) and not released:  # nothing was asked for, and nothing was predicted
            precision = recall = 1.0
        both = precision + recall
        f1 = 2 * (precision * recall) / both if both > 0 else 0.0
        ratios |= {f"{kind}_precision": precision, f"{kind}_recall": recall, f"{kind}_f1": f1}
    return counts | ratios


def _is_in_pair(cell: Mapping[str, Any]) -> bool:
    return all(cell[name] is not None for name in ("column", "gold_row", "predicted_row"))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


# --- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class TableComparison(TextCard):
    """The result of one comparison of tables, frozen; made by `compare`.

    A `ScoredResult`: statistics and views take it with ``measure=``, such as ``"cell_f1"``.
    """

    _found: Alignment
    _tables: Tables
    _ratios: Mapping[str, float]
    #: Calls of a model by column (or ``column``, ``key``); None: a rating of the whole answer.
    _calls: tuple[tuple[str | None, JudgeCall], ...]
    _meta: Mapping[str, Any]
    #: Compares the same tables by other rules; not in a pickle.
    _again: Callable[[TableRules], TableComparison] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the records; frames are made again."""
        names = ("_found", "_tables", "_ratios", "_calls", "_meta")
        return {name: self.__dict__[name] for name in names}

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, keys and other roles, parsability, seconds, versions."""
        versions = {"pandas": pd.__version__, "python": sys.version.split()[0]}
        return {**self._meta, "extractbench_nb": __version__, **versions}

    @property
    def profile(self) -> TableRules:
        """The rules that were applied."""
        return self._tables.rules

    @cached_property
    def gold(self) -> pd.DataFrame:
        """Gold as texts."""
        return self._tables.gold.frame

    @cached_property
    def predicted(self) -> pd.DataFrame:
        """The prediction as texts; no columns if there is no table."""
        return self._tables.predicted.frame

    def labelled(self, **labels: Any) -> TableComparison:
        """Return the same result with labels in `meta`, such as ``run`` and ``document``."""
        return replace(self, _meta={**self._meta, **labels})

    def with_threshold(self, threshold: float) -> TableComparison:
        """Compare the same tables with another threshold of similarity between keys, 0 to 100.

        Raises
        ------
        InputError
            The threshold is negative, or this result was unpickled: a pickle holds neither the
            judge nor the compared objects.
        """
        rules = rules_of(self.profile, threshold=threshold)
        if self._again is None:
            raise InputError("a result from a pickle keeps its threshold; call compare() again")
        if rules == self.profile:
            return self
        return self._again(rules).labelled(**{n: self._meta[n] for n in LABELS if n in self._meta})

    def losses(self, recall: EvidenceRecall | None = None) -> pd.DataFrame:
        r"""Add up the points that were lost at each stage: retrieval, columns, keys, rows, cells.

        Parameters
        ----------
        recall : EvidenceRecall, optional
            The result of `evidence_recall` for the same gold table: a wrong cell whose value was
            in no retrieved chunk is then lost by retrieval.

        Returns
        -------
        pandas.DataFrame
            One row per side and stage. The last ``left`` of each side is the sum of the scores.

        Raises
        ------
        InputError
            The comparison uses ``aoe``, whose sums count some rows several times.

        Examples
        --------
        >>> from extractbench_nb.construction import compare
        >>> gold = "name,n,unit\na,1,kg\nb,2,kg\n"
        >>> compare(gold, "name,n\na,7\n", keys="name").losses().query("side == 'recall'")
             side    stage  lost  left  share
        0  recall   answer   0.0   4.0    1.0
        1  recall  columns   1.0   3.0   0.75
        2  recall     keys   0.0   3.0   0.75
        3  recall     rows   2.0   1.0   0.25
        4  recall    cells   1.0   0.0    0.0
        """
        if self.profile.released:
            raise InputError(
                f"the comparison is by {self.profile.name!r}, which counts some rows several "
                "times; call compare() with profile='strict'"
            )
        stage_of = {reason: stage for stage, reasons in STAGES.items() for reason in reasons}
        if any(note[2] == "key_missing" for note in self._found.notes):
            stage_of |= dict.fromkeys(STAGES["rows"], "keys")
        unread = set[tuple[Any, Any]]()
        if recall is not None:
            lacking = recall.cells[recall.cells["status"] != "retrieved"]
            unread.update(zip(lacking["row"], lacking["column"], strict=True))
        cells, rows = self._found.cells, []
        sides = {
            "recall": [c for c in cells if None not in (c["gold_row"], c["column"])],
            "precision": [c for c in cells if c["predicted_row"] is not None],
        }
        for side, part in sides.items():
            lost: Counter[str] = Counter()
            for cell in part:
                stage = stage_of.get(cell["reason"], "cells")
                if stage != "answer" and (cell["gold_row"], cell["column"]) in unread:
                    stage = "retrieval"
                lost[stage] += 1.0 - (cell["score"] or 0.0)  # type: ignore[assignment]
            left = total = float(len(part))
            for stage in STAGES:
                if stage != "retrieval" or recall is not None:
                    left -= lost[stage]
                    share = left / total if total else None
                    rows.append((side, stage, float(lost[stage]), left, share))
        return LOSS_COLUMNS.from_rows(rows)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell of gold or the prediction."""
        cells = CELL_COLUMNS.from_records(self._found.cells)
        # gold's table as one more row, so that values of other rows are recognised; numeric columns
        # hold numbers, since the texts 1200 and 1300 would be read as years
        numeric = set(self._tables.numeric)

        def value(text: str | None, column: str | None) -> Any:
            number = number_of(text, column or "") if text and column in numeric else None
            if number is None:
                return text
            return int(number) if number == number.to_integral_value() else float(number)

        gold = [
            {str(name): value(text, str(name)) for name, text in row.items()}
            for row in self.gold.to_dict("records")
        ]
        table = {"path": "$", "outcome": "correct", "gold": gold, "predicted": None}
        values = {name: cells[name].tolist() for name in table}
        for side in ("gold", "predicted"):
            values[side] = list(map(value, values[side], cells["column"].tolist()))
        frame = pd.DataFrame(
            {name: pd.Series([*values[name], table[name]], dtype=object) for name in table}
        )
        kinds = pd.Series(mismatch_kinds(frame)[:-1], index=cells.index, dtype=TEXT)
        return cells.assign(kind=kinds)

    @property
    def rows(self) -> pd.DataFrame:
        """The frame `cells`, led by the labels ``run`` and ``document``."""
        return labelled_frame([self], [self.cells], LABELS[:2])

    @property
    def scores(self) -> pd.DataFrame:
        """One row per measure: run and document, if labelled, measure and score."""
        labels = {name: self._meta.get(name) for name in LABELS[:2]}
        return scores_of(pd.DataFrame([labels | self.summary.to_dict()]), MEASURES)

    @cached_property
    def matches(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        means = _means(self._found.cells, "gold_row", "predicted_row")
        named = {column.gold: column.predicted for column in self._found.columns}
        ours, theirs, keys = self._tables.gold, self._tables.predicted, self._tables.keys
        names = _joined_keys(ours, keys), _joined_keys(theirs, map(named.get, keys))
        return MATCH_COLUMNS.from_rows(
            # the released rules may read other rows than there are here
            (*row, means.get(row[:2]), names[0].get(row.gold), names[1].get(row.predicted))
            for row in self._found.rows
        )

    @cached_property
    def columns(self) -> pd.DataFrame:
        """One row per column of gold, plus one per extra predicted column."""
        means, tables = _means(self._found.cells, "column"), self._tables
        roles = dict.fromkeys(tables.values, "value") | dict.fromkeys(tables.keys, "key")
        return COLUMN_COLUMNS.from_rows(
            (
                *(gold, predicted),
                "extra" if gold is None else roles.get(gold, "unused"),
                *(status, rule, gold in tables.numeric, means.get((gold,))),
            )
            for gold, predicted, status, rule in self._found.columns
        )

    @cached_property
    def warnings(self) -> pd.DataFrame:
        """Warnings: a repaired answer, blank or repeated keys, failures of the judge."""
        return Evaluation.spec("warnings").from_rows(self._found.notes)

    @cached_property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; empty for judges without a model."""
        rows = []
        for column, call in self._calls:
            asked = (f"$[].{column}", f"[].{column}", METRIC)
            passed = None if call.score is None else call.score >= PASS_MARK
            if column is None:
                asked, passed = ("$", "$", QUALITY_METRIC), None
            rows.append((*asked, *call, passed))
        return Evaluation.spec("judge_calls").from_rows(rows)

    @cached_property
    def summary(self) -> pd.Series:
        """Scores and counts."""
        cells = self._found.cells
        counts = Counter(cell["outcome"] for cell in cells)
        passed = sum(bool(cell["passed"]) for cell in cells)
        values = {
            **self._ratios,
            "pass_rate": _share(passed, len(cells)),
            "evaluated": len(cells),
            "judged": len(cells) - counts["judge_error"],
            "passed": passed,
            **{name: counts[outcome] for name, outcome in _COUNTED.items()},
            "llm_calls": len(self._calls),
            "llm_cost_usd": total_cost(self.judge_calls) if self._calls else 0.0,
        }
        names = SUMMARY.names
        return pd.Series([values[n] for n in names], index=names, dtype=float, name="summary")

    def __repr__(self) -> str:
        """Write scores, counts, and what went wrong, in a few lines."""
        s, found = self.summary, self._found
        shown = " · ".join(f"{name} {s[name]:.3f}" for name in _SHOWN)
        lines = [f"TableComparison ({self.profile.name}): {shown}"]
        for name, values in {
            "columns": [m.status for m in found.columns],
            "rows": [m.status for m in found.rows],
            "cells": [c["outcome"] for c in found.cells],
        }.items():
            counted = ", ".join(f"{n} {value}" for value, n in Counter(values).most_common())
            lines.append(f"{name}: {counted or 'none'}")
        if s["judge_errors"]:
            errors = plural(int(s["judge_errors"]), "cell")
            lines.append(f"{errors} without a verdict; scores are lower bounds")
        if found.notes:
            kinds = ", ".join(dict.fromkeys(note[2] for note in found.notes))
            lines.append(f"{plural(len(found.notes), 'warning')}: {kinds}")
        return "\n  ".join(lines)


def labelled_frame(
    results: Iterable[TableComparison], parts: Sequence[pd.DataFrame], names: Sequence[str] = LABELS
) -> pd.DataFrame:
    """Put one frame of each result together, led by their labels."""
    labels = [[result._meta.get(name) for name in names] for result in results]
    sizes = map(len, parts)
    rows = [row for row, size in zip(labels, sizes, strict=True) for _ in range(size)]
    filled = [part for part in parts if len(part)] or [parts[0]]
    ids = pd.DataFrame(rows, columns=pd.Index(names), dtype=TEXT)
    return pd.concat([ids, pd.concat(filled, ignore_index=True)], axis=1)


def _means(cells: Iterable[Mapping[str, Any]], *by: str) -> dict[tuple[Any, ...], float]:
    """Average the scores of cells in matched rows; 0 where there is no verdict."""
    scores: dict[tuple[Any, ...], list[float]] = {}
    for cell in cells:
        if _is_in_pair(cell):
            scores.setdefault(tuple(cell[name] for name in by), []).append(cell["score"] or 0.0)
    return {key: fmean(values) for key, values in scores.items()}


def _joined_keys(table: Reading, keys: Iterable[str | None]) -> dict[int | None, str]:
    """Return the keys of rows by position."""
    columns = [table.columns[key] for key in keys if key is not None and key in table.columns]
    return dict(enumerate(" | ".join(parts) for parts in zip(*columns, strict=True)))
