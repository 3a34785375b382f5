"""`compare`: two tables, and where the points were lost: columns, rows or cells."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.construction.aligning import (
    METRIC,
    Alignment,
    Asker,
    Cell,
    ColumnMatch,
    RowMatch,
    Side,
    Tables,
    TextPair,
    Verdict,
    align_columns,
    align_rows,
    list_cells,
)
from extractbench_nb.construction.answers import FAILURES, Reading, read_answer
from extractbench_nb.construction.released import align_released
from extractbench_nb.construction.retrieval import EvidenceRecall
from extractbench_nb.construction.table_rules import (
    PASS_MARK,
    TableRules,
    is_absent,
    number_of,
    rules_of,
    text_key,
)
from extractbench_nb.core import OUTCOMES, Evaluation, total_cost
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, scores_of
from extractbench_nb.core.text import Judge, JudgeCall
from extractbench_nb.core.values import member
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats import KIND_COLUMN, mismatch_kinds
from extractbench_nb.support.cards import TextCard

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
#: The metric of `evaluate` that compares such cells.
_METRICS = {"judge": METRIC, "exact": "string_exact", "fuzzy": "string_fuzzy"}

CELL_COLUMNS = FrameSpec(
    "cells",
    "one row per cell of gold or the prediction; of two cells that were compared, one",
    (
        Column("path", "string", "row and column in gold, as `$[3].sales`; `$[+3]` is predicted"),
        Column("field", "string", "column, `[].sales`"),
        Column("schema_path", "string", "missing: a table has no JSON Schema", nullable=True),
        *(_SAME[name] for name in ("metric", "score", "passed", "outcome", "reason")),
        KIND_COLUMN,
        _SAME["reasoning"],
        Column("similarity", "Float64", "the judge's score; 1 for equal values", "0 to 1", True),
        Column("gold", "object", "gold text; None without a cell", nullable=True),
        Column("predicted", "object", "predicted text; None without a cell", nullable=True),
        Column("gold_state", "string", "state", _STATES),
        Column("predicted_state", "string", "state", _STATES),
        Column("depth", "int64", "depth of a cell: table, row, cell", "2"),
        Column("counted", "bool", "whether the cell enters the scores"),
        Column("weight", "float64", "weight of the cell, which is the same for all", "1"),
        Column("required", "bool", "whether the column occurs in gold; False for extra columns"),
        Column("gold_row", "Int64", "row in gold", "0 and up", True),
        Column("predicted_row", "Int64", "row in the prediction", "0 and up", True),
        Column("column", "string", "column in gold", nullable=True),
        Column("predicted_column", "string", "column in the prediction", nullable=True),
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
        Column("similarity", "Float64", "similarity of the keys", "0 to 1", True),
        Column("score", "Float64", "mean score of the compared cells", "0 to 1", True),
        Column("gold_key", "string", "gold key, with columns joined by ` | `", nullable=True),
        Column("predicted_key", "string", "predicted key", nullable=True),
    ),
)

COLUMN_COLUMNS = FrameSpec(
    "columns",
    "one row per column of gold, plus one per extra predicted column",
    (
        Column("column", "string", "column in gold", nullable=True),
        Column("predicted_column", "string", "column in the prediction", nullable=True),
        Column("role", "string", "use of the column", "key, value, unused, extra"),
        Column("status", "string", "result", "matched, renamed, missing, extra, judge_error"),
        Column("rule", "string", "rule of the alignment", "name, normalised, judge", True),
        Column("numeric", "bool", "whether it contains numbers"),
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
        Column(
            "side",
            "string",
            "recall: gold cells; precision: predicted cells",
            "recall, precision",
        ),
        Column("stage", "string", "cause of the loss; see `STAGES`", ", ".join(STAGES)),
        Column("lost", "float64", "points lost at this stage, 1 per cell", "0 and up"),
        Column("left", "float64", "points left after this stage", "0 and up"),
        Column("share", "Float64", "left / all cells; at the end, recall or precision", "", True),
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
    r"""Compare the columns, rows and cells of a predicted table with gold.

    Parameters
    ----------
    gold, predicted : str, pathlib.Path, pandas.DataFrame, list, dict or Table
        Anything that `read_table` reads. A str is a text, never a file name. It may be the raw
        answer of a model, with thoughts, code fences, Markdown and prose. A prediction without a
        table raises no error.
    keys : str or sequence of str, optional
        Gold's columns that identify a row; by default the first column without repeated texts.
    values : str or sequence of str, optional
        Gold's columns to compare; by default all but the keys, or the keys if there are no others.
        Those that gold lacks are left out.
    numeric : str or sequence of str, optional
        Columns of numbers; by default those in which all gold values are numbers.
    judge : str or Judge, optional
        Decides whether texts have the same meaning, as in `evaluate`: ``"offline"``, a model,
        `LLMJudge`. An object with recorded answers has ``score_cell(column, gold, predicted)`` and
        ``match_key(key, keys)``; the latter is called under ``aoe`` alone.
    profile : str or TableRules, optional
        ``strict``, ``aoe`` (the numbers of AOE's released code), or the result of `rules_of`.

    Returns
    -------
    TableComparison
        ``.cells``, ``.matches`` of rows, ``.columns`` and ``.summary``; ``.meta["problem"]``
        describes repairs and irregularities.

    Raises
    ------
    InputError
        Gold is not a table, a column or an option is unknown, or a file cannot be read.

    Notes
    -----
    The rules of ``strict``:

    1. Columns are aligned one to one: by name; by name without case, spaces and full-width forms;
       then by the judge. No number and no per-cent sign in a name may differ.
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
    rules, asker, started = rules_of(profile), Asker(judge), time.perf_counter()
    roles = [
        [names] if isinstance(names, str) else None if names is None else list(names)
        for names in (keys, values, numeric)
    ]
    tables, problems = _read_tables(gold, predicted, roles, rules)
    if rules.released:
        found = align_released(tables, roles, (gold, predicted), asker)
    else:
        found = _align_strictly(tables, asker)
    problems += found.problems
    if asker.failures:
        problems.append(
            f"{len(asker.failures)} questions without a verdict; the first: {asker.failures[0]}"
        )
    meta = {
        "profile": rules.name,
        "judge": asker.judge.name,
        **{name: getattr(tables, name) for name in ("keys", "values", "numeric")},
        **{name: getattr(tables.predicted, name) for name in ("direct", "mapped")},
        "problem": "; ".join(problems) or None,
        "seconds": time.perf_counter() - started,
        "extractbench_nb": __version__,
        "pandas": pd.__version__,
        "python": sys.version.split()[0],
    }
    return TableComparison(found, tables, tuple(asker.calls), meta)


# --- the two tables, and the roles of gold's columns ----------------------------------------------


def _read_tables(
    gold: Any, predicted: Any, roles: Sequence[Sequence[str] | None], rules: TableRules
) -> tuple[Tables, list[str]]:
    """Read both tables and settle the roles of gold's columns; also return their problems."""
    ours, theirs = read_answer(gold, "gold"), read_answer(predicted, "predicted")
    if ours.failure:
        raise InputError(f"gold holds no table: {ours.problems[-1]}")
    problems = [*(f"gold: {problem}" for problem in ours.problems), *theirs.problems]
    names = list(ours.columns)
    # names are folded as those of tables are
    keys, asked, numbers = (
        None if role is None else list(dict.fromkeys(" ".join(str(n).split()) for n in role))
        for role in roles
    )
    if keys is None:
        unique = [n for n in names if len(set(map(text_key, ours.columns[n]))) == ours.size]
        keys = (unique or names)[:1]
    if not keys:
        raise InputError("keys is empty; expected at least one of gold's columns, or None")
    if asked is None:
        asked = [name for name in names if name not in keys] or keys
    compared, unknown = ([n for n in asked if (n in names) is known] for known in (True, False))
    for role, wrong in (
        ("keys", [name for name in keys if name not in names]),
        ("values", (unknown or [""]) if not compared and not rules.released else []),
    ):
        if wrong:
            raise InputError(f"{role}: gold has no column {wrong[0]!r}; {nearest(wrong[0], names)}")
    if unknown:
        problems.append(f"gold has no columns {', '.join(map(repr, unknown))}")
    if numbers is None:
        numbers = [name for name in compared if _holds_numbers(name, ours.columns[name])]
    numbers = [name for name in numbers if name in compared]
    return Tables(ours, theirs, keys, compared, numbers, len(asked), rules), problems


def _holds_numbers(name: str, column: Sequence[str]) -> bool:
    texts = [text for text in column if not is_absent(text)]
    return bool(texts) and all(number_of(text, name) is not None for text in texts)


def _keys_of(table: Reading, keys: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the key of each row, one text per key column; None stands for one that is absent."""
    blank = [_ABSENT_KEY] * table.size
    columns = [blank if key is None else map(str.strip, table.columns[key]) for key in keys]
    return list(zip(*columns, strict=True))


# --- the rules of strict --------------------------------------------------------------------------


def _align_strictly(tables: Tables, asker: Asker) -> Alignment:
    """Align columns, then rows, and judge the cells, by the rules of ``strict``."""
    gold, predicted, problems = tables.gold, tables.predicted, list[str]()
    columns = align_columns(list(gold.columns), list(predicted.columns), asker.scores)
    partner = {column.gold: column for column in columns}
    rows = [RowMatch(n, None, "missed") for n in range(gold.size)]
    if predicted.failure is None:
        keys = [partner[key].predicted for key in tables.keys]
        lost = [key for key in tables.keys if partner[key].predicted is None]
        if lost:
            problems.append(f"the prediction has no key column {', '.join(map(repr, lost))}")
        # without the judge's columns, so that the judge has no part in the pairs that need none
        named = sorted(
            (str(c.gold), str(c.predicted)) for c in columns if c.rule in ("name", "normalised")
        )
        sides = (
            _side(gold, tables.keys, [(name, name) for name, _ in named]),
            _side(predicted, keys, named),
        )
        threshold = float(tables.rules.threshold)
        rows = align_rows(*sides, threshold=threshold, ask=asker.scores)

    def judge(questions: Sequence[TextPair]) -> list[Verdict]:
        """Judge each pair of texts once; the judge is asked all together."""
        verdicts = {q: _by_rules(partner[q[0]], *q[1:], q[0] in tables.numeric) for q in questions}
        asked = [question for question, verdict in verdicts.items() if verdict is None]
        verdicts |= dict(zip(asked, asker.answers(asked), strict=True))
        return [verdicts[question] for question in questions]  # type: ignore[misc]

    cells = list_cells(tables, columns, rows, judge)
    return Alignment(tables, columns, rows, cells, problems)


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
    tables, columns, rows, cells, _ = found
    released, width = tables.rules.released, len(tables.values)
    in_pairs = [cell.score for cell in cells if cell.in_pair]
    aligned = sum(m.gold in tables.values and m.predicted is not None for m in columns)
    extra = sum(cell.column.gold is None for cell in cells)
    counts = {
        "score_sum": float(sum(cell.score for cell in cells)),
        "gold_cells": tables.gold.size * width,
        "predicted_cells": tables.predicted.size * width + extra,
        "matched_cells": len(in_pairs),
        "gold_rows": tables.gold.size,
        "predicted_rows": tables.predicted.size,
        "matched_rows": sum(row.status == "matched" for row in rows),
    }
    ratios = {
        "column_precision": _share(aligned, aligned + sum(m.gold is None for m in columns)),
        # the released code asks which of the configured columns gold has
        "column_recall": _share(width, tables.configured) if released else _share(aligned, width),
        "average_cell_score": _share(sum(in_pairs), len(in_pairs)),
    }
    for kind, right in (("cell", counts["score_sum"]), ("row", counts["matched_rows"])):
        wholes = [counts[f"{side}_{kind}s"] for side in ("predicted", "gold")]
        precision, recall = (_share(right, whole) for whole in wholes)
        if not any(wholes) and not released:  # nothing was asked for, and nothing was predicted
            precision = recall = 1.0
        f1 = _share(2 * precision * recall, precision + recall)
        ratios |= {f"{kind}_precision": precision, f"{kind}_recall": recall, f"{kind}_f1": f1}
    return counts | ratios


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


# --- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class TableComparison(TextCard):
    """The immutable result of comparing two tables; made by `compare`.

    A `ScoredResult`: statistics and views take it with ``measure=``, such as ``"cell_f1"``.

    Attributes
    ----------
    meta : dict
        Profile, judge, keys and other roles, parsability, ``problem``, seconds, versions.
    """

    _found: Alignment
    #: Both tables as `read_answer` reads them; the rules of ``aoe`` read them otherwise.
    _tables: Tables
    #: Calls of a model by column (or ``column``, ``key``); None: a rating of the whole answer.
    _calls: tuple[tuple[str | None, JudgeCall], ...]
    meta: dict[str, Any]

    @property
    def profile(self) -> TableRules:
        """The rules that were applied."""
        return self._tables.rules

    @cached_property
    def gold(self) -> pd.DataFrame:
        """The gold table as texts."""
        return self._tables.gold.frame

    @cached_property
    def predicted(self) -> pd.DataFrame:
        """The prediction as texts; no columns if there is no table."""
        return self._tables.predicted.frame

    def labelled(self, **labels: Any) -> TableComparison:
        """Return the same result with labels in `meta`, such as ``run`` and ``document``."""
        return replace(self, meta={**self.meta, **labels})

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
        keys = set(self._tables.keys)
        if any(column.gold in keys and column.predicted is None for column in self._found.columns):
            stage_of |= dict.fromkeys(STAGES["rows"], "keys")
        unread = set[tuple[Any, Any]]()
        if recall is not None:
            lacking = recall.cells[recall.cells["status"] != "retrieved"]
            unread.update(zip(lacking["row"], lacking["column"], strict=True))
        lost = {"recall": defaultdict[str, float](float), "precision": defaultdict(float)}
        totals = Counter[str]()
        for row, column, *_, verdict in self._found.cells:
            stage = stage_of.get(verdict.reason, "cells")
            if stage != "answer" and (row.gold, column.gold) in unread:
                stage = "retrieval"
            is_asked, is_given = None not in (row.gold, column.gold), row.predicted is not None
            for side in ["recall"] * is_asked + ["precision"] * is_given:
                totals[side] += 1
                lost[side][stage] += 1.0 - (verdict.score or 0.0)
        rows = []
        for side, of_stage in lost.items():
            left = float(totals[side])
            for stage in STAGES:
                if stage != "retrieval" or recall is not None:
                    left -= of_stage[stage]
                    share = left / totals[side] if totals[side] else None
                    rows.append((side, stage, of_stage[stage], left, share))
        return LOSS_COLUMNS.from_rows(rows)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell of gold or the prediction."""
        records, tables = [], self._found.tables
        numeric = "number_tolerance" if tables.rules.released else "number_exact"
        for cell in self._found.cells:
            row, column, verdict = cell.row, cell.column, cell.verdict
            name = member(str(column.predicted if column.gold is None else column.gold))
            place = f"+{row.predicted}" if row.gold is None else row.gold
            passed = verdict.outcome in ("correct", "both_absent")
            metric = METRIC if column.gold is None else _METRICS[tables.rules.cells]
            records.append(
                {
                    **verdict._asdict(),
                    "path": f"$[{place}]{name}",
                    "field": f"[]{name}",
                    "metric": numeric if column.gold in tables.numeric else metric,
                    "passed": None if verdict.score is None else passed,
                    "gold": cell.gold,
                    "predicted": cell.predicted,
                    "gold_state": _state(cell.gold),
                    "predicted_state": _state(cell.predicted),
                    "required": column.gold is not None,
                    "gold_row": row.gold,
                    "predicted_row": row.predicted,
                    "column": column.gold,
                    "predicted_column": None if row.predicted is None else column.predicted,
                    "depth": 2,
                    "counted": True,
                    "weight": 1.0,
                }
            )
        cells = CELL_COLUMNS.from_records(records)
        return cells.assign(kind=pd.Series(self._kinds(cells), index=cells.index, dtype=TEXT))

    def _kinds(self, cells: pd.DataFrame) -> list[str | None]:
        """Say how values differ; numeric columns hold numbers, as 1200 would be read as a year."""
        numeric = set(self._tables.numeric)

        def value(text: str | None, column: str | None) -> Any:
            number = number_of(text, column or "") if text and column in numeric else None
            if number is None:
                return text
            return int(number) if number == number.to_integral_value() else float(number)

        rows = [
            {str(name): value(text, str(name)) for name, text in row.items()}
            for row in self.gold.to_dict("records")
        ]
        # gold's table is one more row, so that values of other rows are recognised
        columns = {
            "path": [*cells["path"], "$"],
            "outcome": [*cells["outcome"], "correct"],
            "gold": [*map(value, cells["gold"], cells["column"]), rows],
            "predicted": [*map(value, cells["predicted"], cells["column"]), None],
        }
        frame = pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in columns.items()})
        return mismatch_kinds(frame)[:-1]

    @property
    def rows(self) -> pd.DataFrame:
        """The frame `cells`, with the labels ``run`` and ``document``."""
        return labelled_frame([self], [self.cells], LABELS[:2])

    @property
    def scores(self) -> pd.DataFrame:
        """One row per measure, with its score and, if labelled, the run and document."""
        labels = {name: self.meta.get(name) for name in LABELS[:2]}
        return scores_of(pd.DataFrame([labels | self.summary.to_dict()]), MEASURES)

    @cached_property
    def matches(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        means = self._means(lambda cell: cell.row)
        named = {column.gold: column.predicted for column in self._found.columns}
        ours, theirs, keys = self._tables.gold, self._tables.predicted, self._tables.keys
        names = _joined_keys(ours, keys), _joined_keys(theirs, map(named.get, keys))
        return MATCH_COLUMNS.from_rows(
            # the released rules may read other rows than there are here
            (*row, means.get(row), names[0].get(row.gold), names[1].get(row.predicted))
            for row in self._found.rows
        )

    @cached_property
    def columns(self) -> pd.DataFrame:
        """One row per column of gold, plus one per extra predicted column."""
        means, tables = self._means(lambda cell: cell.column), self._tables
        roles = dict.fromkeys(tables.values, "value") | dict.fromkeys(tables.keys, "key")
        return COLUMN_COLUMNS.from_rows(
            (
                *column[:2],
                "extra" if column.gold is None else roles.get(column.gold, "unused"),
                *(*column[2:], column.gold in tables.numeric, means.get(column)),
            )
            for column in self._found.columns
        )

    def _means(self, key: Callable[[Cell], Any]) -> dict[Any, float]:
        """Average the scores of cells in matched rows."""
        scores = defaultdict[Any, list[float]](list)
        for cell in self._found.cells:
            if cell.in_pair:
                scores[key(cell)].append(cell.score)
        return {group: fmean(some) for group, some in scores.items()}

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
        counts = Counter(cell.verdict.outcome for cell in self._found.cells)
        total, passed = counts.total(), counts["correct"] + counts["both_absent"]
        values = {
            **_ratios(self._found),
            "pass_rate": _share(passed, total),
            "evaluated": total,
            "judged": total - counts["judge_error"],
            "passed": passed,
            **{name: counts[outcome] for name, outcome in _COUNTED.items()},
            "llm_calls": len(self._calls),
            "llm_cost_usd": total_cost(self.judge_calls) if self._calls else 0.0,
        }
        names = SUMMARY.names
        return pd.Series([values[n] for n in names], index=names, dtype=float, name="summary")

    def __repr__(self) -> str:
        """Write the scores, and the problem."""
        shown = " · ".join(f"{name} {self.summary[name]:.3f}" for name in _SHOWN)
        line = f"TableComparison ({self.profile.name}): {shown}"
        return line if self.meta["problem"] is None else f"{line}\n  {self.meta['problem']}"


def _state(text: str | None) -> str:
    if text is None:
        return "missing"
    return "present" if text.strip() else "null"


def labelled_frame(
    results: Iterable[TableComparison], parts: Sequence[pd.DataFrame], names: Sequence[str] = LABELS
) -> pd.DataFrame:
    """Put one frame of each result together, led by their labels."""
    labels = [[result.meta.get(name) for name in names] for result in results]
    rows = [row for row, part in zip(labels, parts, strict=True) for _ in range(len(part))]
    filled = [part for part in parts if len(part)] or [parts[0]]
    ids = pd.DataFrame(rows, columns=pd.Index(names), dtype=TEXT)
    return pd.concat([ids, pd.concat(filled, ignore_index=True)], axis=1)


def _joined_keys(table: Reading, keys: Iterable[str | None]) -> dict[int | None, str]:
    """Return the keys of rows by position."""
    columns = [table.columns[key] for key in keys if key is not None and key in table.columns]
    return dict(enumerate(" | ".join(parts) for parts in zip(*columns, strict=True)))
