"""`TableComparison`: the frames of one comparison, its scores, and its repr in a notebook."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.construction.aligning import ColumnMatch, RowMatch
from extractbench_nb.construction.answers import FAILURES, Note, Reading, Tables
from extractbench_nb.construction.evidence_recall import EvidenceRecall
from extractbench_nb.construction.table_rules import PASS_MARK, TableRules, number_of, rules_of
from extractbench_nb.core import (
    OUTCOMES,
    Evaluation,
    total_cost,
)
from extractbench_nb.core.frames import TEXT, Column, FrameSpec
from extractbench_nb.core.text import JudgeCall
from extractbench_nb.errors import InputError
from extractbench_nb.stats import KIND_COLUMN, mismatch_kinds
from extractbench_nb.support.cards import more_rows, text_card
from extractbench_nb.support.wording import one_line, plural

#: The metric whose question a judge of names, keys and cells gets.
METRIC = "string_semantic"
#: The metric of a rating of the whole answer.
QUALITY_METRIC = "table_quality"
#: The depth of a cell: that of a property of an object in an array.
_DEPTH = 2

_SAME = {column.name: column for column in Evaluation.spec("fields").columns}
_STATES = "present, null, missing"

CELL_COLUMNS = FrameSpec(
    "cells",
    "one row per cell of gold or the prediction; of two cells that were compared, one",
    (
        Column("path", "string", "row and column of gold, `$[3].sales`; `$[+3]` is predicted"),
        Column("field", "string", "column, `[].sales`"),
        Column("schema_path", "string", "missing: a table has no JSON Schema", nullable=True),
        _SAME["metric"],
        _SAME["score"],
        _SAME["passed"],
        _SAME["outcome"],
        _SAME["reason"],
        KIND_COLUMN,
        _SAME["reasoning"],
        Column("similarity", "Float64", "what the judge gave; 1 for equal", "0 to 1", True),
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

ROW_COLUMNS = FrameSpec(
    "rows",
    "one row per row of gold, plus one per spurious predicted row",
    (
        Column("gold_row", "Int64", "position in gold", "0 and up", True),
        Column("predicted_row", "Int64", "position in the prediction", "0 and up", True),
        Column("status", "string", "what it is", "matched, missed, spurious, judge_error"),
        Column(
            "rule", "string", "what matched it", "exact, normalised, similar, judge, fuzzy", True
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
        Column("role", "string", "what it is for", "key, value, unused, extra"),
        Column("status", "string", "what it is", "matched, renamed, missing, extra, judge_error"),
        Column("rule", "string", "what aligned it", "name, normalised, unit, judge", True),
        Column("numeric", "bool", "whether it holds numbers"),
        Column("score", "Float64", "mean score of its cells in matched rows", "0 to 1", True),
    ),
)

_PLURALS = {"omission": "omissions", "hallucination": "hallucinations"}
_PLURALS |= {"judge_error": "judge_errors"}
_COUNTED = {_PLURALS.get(outcome, outcome): outcome for outcome in OUTCOMES}

SUMMARY = FrameSpec(
    "summary",
    "one value per entry",
    (
        Column("cell_f1", "float64", "harmonic mean of the next two", "0 to 1"),
        Column("cell_precision", "float64", "score_sum / predicted_cells", "0 to 1"),
        Column("cell_recall", "float64", "score_sum / gold_cells", "0 to 1"),
        Column("row_f1", "float64", "harmonic mean of the next two", "0 to 1"),
        Column("row_precision", "float64", "matched / predicted rows", "0 to 1"),
        Column("row_recall", "float64", "matched / gold rows", "0 to 1"),
        Column("column_precision", "float64", "aligned / (aligned + extra columns)", "0 to 1"),
        Column("column_recall", "float64", "aligned / compared columns", "0 to 1"),
        Column("average_cell_score", "float64", "mean score in matched rows", "0 to 1"),
        Column("score_sum", "float64", "sum of the scores of cells", "0 and up"),
        Column("gold_cells", "float64", "gold rows x compared columns", "0 and up"),
        Column("predicted_cells", "float64", "what precision divides by", "0 and up"),
        Column("evaluated", "float64", "rows of `cells`", "0 and up"),
        Column("judged", "float64", "cells with a verdict", "0 and up"),
        Column("passed", "float64", "cells that passed", "0 and up"),
        *(
            Column(name, "float64", f"cells with the outcome {outcome}", "0 and up")
            for name, outcome in _COUNTED.items()
        ),
        Column("gold_rows", "float64", "rows of gold", "0 and up"),
        Column("predicted_rows", "float64", "rows of the prediction", "0 and up"),
        Column("matched_rows", "float64", "matched pairs of rows", "0 and up"),
        Column("llm_calls", "float64", "calls of a language model", "0 and up"),
        Column("llm_cost_usd", "float64", "what they cost", "0 and up", True),
    ),
)
_SHOWN = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall")
#: Most wrong cells and columns that a repr lists, and most characters of a text.
_MOST_SHOWN, _LONGEST = 6, 60


class Parts(NamedTuple):
    """What a comparison found: alignment, verdicts, scores, and warnings."""

    columns: list[ColumnMatch]
    rows: list[RowMatch]
    #: Records of `CELL_COLUMNS`, without the columns that are the same for all cells or come later.
    cells: list[dict[str, Any]]
    ratios: dict[str, float]
    notes: list[Note]


def ratios_of(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    cells: Sequence[Mapping[str, Any]],
    rules: TableRules,
) -> dict[str, float]:
    """Compute precision, recall and F1 of cells, rows and columns, as `SUMMARY` describes them."""

    def total(some: Sequence[Mapping[str, Any]]) -> float:
        # one after the other, as in the released code: sums of fractions depend on the order
        return float(reduce(add, (cell["score"] or 0.0 for cell in some), 0.0))

    place = ("column", "gold_row", "predicted_row")
    in_pairs = [cell for cell in cells if all(cell[name] is not None for name in place)]
    scored = total(cells)
    width, gold_rows, predicted_rows = len(tables.values), tables.gold.size, tables.predicted.size
    extra = sum(cell["column"] is None for cell in cells)
    gold_cells, predicted_cells = gold_rows * width, predicted_rows * width + extra
    recall, precision = share(scored, gold_cells), share(scored, predicted_cells)
    matched = sum(row.status == "matched" for row in rows)
    row_recall, row_precision = share(matched, gold_rows), share(matched, predicted_rows)
    if not rules.released:  # right where nothing was asked for and nothing was predicted
        recall, precision = (recall, precision) if gold_cells + predicted_cells else (1.0, 1.0)
        if not gold_rows + predicted_rows:
            row_recall = row_precision = 1.0
    compared = set(tables.values)
    aligned = sum(m.gold in compared and m.predicted is not None for m in columns)
    # the released code asks which of the configured columns gold has
    column_recall = share(width, tables.configured) if rules.released else share(aligned, width)
    return {
        "cell_f1": harmonic(precision, recall),
        "cell_precision": precision,
        "cell_recall": recall,
        "row_f1": harmonic(row_precision, row_recall),
        "row_precision": row_precision,
        "row_recall": row_recall,
        "column_recall": column_recall,
        "column_precision": share(aligned, aligned + sum(m.gold is None for m in columns)),
        "average_cell_score": share(total(in_pairs), len(in_pairs)),
        "score_sum": scored,
        "gold_cells": float(gold_cells),
        "predicted_cells": float(predicted_cells),
        "gold_rows": float(gold_rows),
        "predicted_rows": float(predicted_rows),
    }


def _scores_in_pairs(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of gold's columns in matched rows; 0 where there is no verdict."""
    place = ["column", "gold_row", "predicted_row"]
    in_pairs = cells.loc[cells[place].notna().all(axis=1), [*place, "score"]]
    return in_pairs.fillna({"score": 0.0})


def share(part: float, whole: float) -> float:
    """Return a ratio, 0 where there is nothing to divide by."""
    return part / whole if whole else 0.0


def harmonic(precision: float, recall: float) -> float:
    """Return F1, the harmonic mean of precision and recall; 0 where both are 0."""
    both = precision + recall
    return 2 * (precision * recall) / both if both > 0 else 0.0


#: The stages, in the order in which a table is built and compared.
STAGES = ("answer", "retrieval", "columns", "keys", "rows", "cells")

LOSS_COLUMNS = FrameSpec(
    "losses",
    "one row per side and stage, in the order of the stages",
    (
        Column(
            "side",
            "string",
            "recall: of all gold cells; precision: of all predicted cells",
            "recall, precision",
        ),
        Column(
            "stage",
            "string",
            "answer: no table could be read; retrieval: the value was in no retrieved chunk; "
            "columns: missing or extra; keys: no row matches, as a key column is missing; "
            "rows: missed or spurious; cells: not right",
            ", ".join(STAGES),
        ),
        Column("lost", "float64", "points lost there, 1 per cell", "0 and up"),
        Column("left", "float64", "points left after this stage", "0 and up"),
        Column("share", "Float64", "left / all cells; at the end recall or precision", "", True),
    ),
)

_COLUMNS = ("column_missing", "column_judge_failed", "column_extra")
_ROWS = ("row_missed", "row_spurious", "row_judge_failed")


@dataclass(frozen=True, repr=False, eq=False)
class TableComparison:
    """The result of one comparison of tables, frozen; made by `compare`.

    `cells` has the columns of `Evaluation.fields`; `breakdown` and `difficulty` take the result.
    """

    _parts: Parts
    _tables: Tables
    _rules: TableRules
    #: Calls of a model by column (or ``column``, ``key``); None: a rating of the whole answer.
    _calls: tuple[tuple[str | None, JudgeCall], ...]
    _meta: Mapping[str, Any]
    #: Compares the same tables by other rules; not in a pickle.
    _again: Callable[[TableRules], TableComparison] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the records; frames are made again."""
        kept = ("_parts", "_tables", "_rules", "_calls", "_meta")
        return {name: self.__dict__[name] for name in kept}

    @property
    def fields(self) -> pd.DataFrame:
        """The same as `cells`, under the name that `breakdown` and `difficulty` use."""
        return self.cells

    @cached_property
    def warnings(self) -> pd.DataFrame:
        """Warnings: a repaired answer, blank or repeated keys, failures of the judge."""
        return Evaluation.spec("warnings").from_rows(self._parts.notes)

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, keys and other roles, parsability, seconds, versions."""
        return {
            **self._meta,
            "extractbench_nb": __version__,
            "pandas": pd.__version__,
            "python": sys.version.split()[0],
        }

    @property
    def profile(self) -> TableRules:
        """The rules that were applied."""
        return self._rules

    @cached_property
    def gold(self) -> pd.DataFrame:
        """Gold as texts."""
        return self._tables.gold.frame

    @cached_property
    def predicted(self) -> pd.DataFrame:
        """The prediction as texts; no columns if there is no table."""
        return self._tables.predicted.frame

    def labelled(self, **labels: str) -> TableComparison:
        """Return the same result with labels in `meta`.

        Parameters
        ----------
        **labels : str
            Labels such as ``run`` and ``document``.

        Returns
        -------
        TableComparison
            A copy with the same frames.
        """
        return replace(self, _meta={**self._meta, **labels})

    def with_threshold(self, threshold: float) -> TableComparison:
        """Compare the same tables with another threshold of similarity between keys.

        Parameters
        ----------
        threshold : float
            Minimum similarity of keys that match, and of cells under the rule ``fuzzy``, 0 to 100.

        Returns
        -------
        TableComparison
            A new result, with new calls of the same judge; this one if nothing changes.

        Raises
        ------
        InputError
            The threshold is negative, or this result was unpickled: a pickle holds
            neither the judge nor the compared objects.

        Examples
        --------
        >>> from extractbench_nb.construction import compare
        >>> gold = [{"name": "Northwind Trading Group", "n": 1}]
        >>> found = compare(gold, [{"name": "Northwind Traders Group", "n": 1}])
        >>> [float(found.with_threshold(x).summary["matched_rows"]) for x in (90, 80)]
        [0.0, 1.0]
        """
        rules = rules_of(self._rules, threshold=threshold)
        if self._again is None:
            raise InputError("a result from a pickle keeps its threshold; call compare() again")
        if rules == self._rules:
            return self
        again = self._again(rules)
        labels = {name: self._meta[name] for name in self._meta if name not in again._meta}
        return again.labelled(**labels)

    def losses(self, recall: EvidenceRecall | None = None) -> pd.DataFrame:
        r"""Add up the points that were lost at each stage: retrieval, columns, keys, rows, cells.

        Parameters
        ----------
        recall : EvidenceRecall, optional
            What `evidence_recall` returned for the same gold table. A gold cell that lost points
            and whose value was in no retrieved chunk then counts as lost by retrieval, since no
            model could have read it. With the chunks of another retriever than that of the run,
            this is an estimate for that retriever.

        Returns
        -------
        pandas.DataFrame
            One row per side and stage. The last ``left`` of each side is the sum
            of the scores.

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
        cells, reasons = self.cells, self.cells["reason"].astype(object)
        keys_missing = "key_missing" in self.warnings["kind"].tolist()
        stage = pd.Series("cells", cells.index, dtype=object)
        stage[reasons.isin(_COLUMNS)] = "columns"
        stage[reasons.isin(_ROWS)] = "keys" if keys_missing else "rows"
        if recall is not None:
            lacking = recall.cells[recall.cells["status"] != "retrieved"]
            unread = pd.MultiIndex.from_frame(lacking[["row", "column"]])
            stage[pd.MultiIndex.from_frame(cells[["gold_row", "column"]]).isin(unread)] = (
                "retrieval"
            )
        stage[reasons.isin(FAILURES)] = "answer"
        lost = 1.0 - cells["score"].fillna(0.0).astype(float)
        cells = cells.assign(lost=lost, stage=stage)
        sides = {
            "recall": cells[cells["gold_row"].notna() & cells["column"].notna()],
            "precision": cells[cells["predicted_row"].notna()],
        }
        stages = [name for name in STAGES if name != "retrieval" or recall is not None]
        rows = []
        for side, part in sides.items():
            left = total = float(len(part))
            for name in stages:
                points = float(part.loc[part["stage"] == name, "lost"].sum())
                left -= points
                rows.append((side, name, points, left, left / total if total else None))
        return LOSS_COLUMNS.from_rows(rows)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell of gold or the prediction."""
        same = {"depth": _DEPTH, "counted": True, "weight": 1.0}
        cells = CELL_COLUMNS.from_records({**cell, **same} for cell in self._parts.cells)
        # gold's table as one more row, so that values of other rows are recognised; numeric columns
        # hold numbers, since the texts 1200 and 1300 would be read as years
        numeric = set(self._tables.numeric)
        gold = [
            {str(name): _number_or_text(text, str(name), numeric) for name, text in row.items()}
            for row in self._tables.gold.frame.to_dict("records")
        ]
        table = {"path": "$", "outcome": "correct", "gold": gold, "predicted": None}
        values = {name: cells[name].tolist() for name in table}
        for side in ("gold", "predicted"):
            pairs = zip(values[side], cells["column"].tolist(), strict=True)
            values[side] = [_number_or_text(text, column, numeric) for text, column in pairs]
        frame = pd.DataFrame(
            {name: pd.Series([*values[name], table[name]], dtype=object) for name in table}
        )
        kinds = pd.Series(mismatch_kinds(frame)[:-1], index=cells.index, dtype=TEXT)
        return cells.assign(kind=kinds)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        in_pairs = _scores_in_pairs(self.cells)
        means = in_pairs.groupby(["gold_row", "predicted_row"])["score"].mean().to_dict()
        named = {column.gold: column.predicted for column in self._parts.columns}
        ours, theirs, keys = self._tables.gold, self._tables.predicted, self._tables.keys
        names = [_joined_keys(ours, keys), _joined_keys(theirs, map(named.get, keys))]
        return ROW_COLUMNS.from_rows(
            (
                *(row.gold, row.predicted, row.status, row.rule or None, row.similarity),
                means.get((row.gold, row.predicted)),
                # the released rules may read other rows than there are here
                names[0].get(row.gold),
                names[1].get(row.predicted),
            )
            for row in self._parts.rows
        )

    @cached_property
    def columns(self) -> pd.DataFrame:
        """One row per column of gold, plus one per extra predicted column."""
        means = _scores_in_pairs(self.cells).groupby("column")["score"].mean().to_dict()
        roles: dict[str | None, str] = dict.fromkeys(self._tables.values, "value")
        roles |= dict.fromkeys(self._tables.keys, "key")
        roles[None] = "extra"
        return COLUMN_COLUMNS.from_rows(
            (
                *(column.gold, column.predicted, roles.get(column.gold, "unused")),
                *(column.status, column.rule or None),
                column.gold in self._tables.numeric,
                means.get(column.gold),
            )
            for column in self._parts.columns
        )

    @cached_property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; empty for judges without a model."""
        rows = []
        for column, call in self._calls:
            asked = (f"$[].{column}", f"[].{column}", METRIC)
            if column is None:
                asked = ("$", "$", QUALITY_METRIC)
            passed = None if column is None or call.score is None else call.score >= PASS_MARK
            rows.append((*asked, *call, passed))
        return Evaluation.spec("judge_calls").from_rows(rows)

    @cached_property
    def summary(self) -> pd.Series:
        """Scores and counts."""
        cells = self._parts.cells
        counts = Counter(cell["outcome"] for cell in cells)
        cost = total_cost(self.judge_calls) if self._calls else 0.0
        values: dict[str, float] = {
            "evaluated": len(cells),
            "judged": len(cells) - counts["judge_error"],
            "passed": sum(bool(cell["passed"]) for cell in cells),
            **{name: counts[outcome] for name, outcome in _COUNTED.items()},
            "matched_rows": sum(match.status == "matched" for match in self._parts.rows),
            "llm_calls": len(self._calls),
            "llm_cost_usd": cost,
            **self._parts.ratios,
        }
        names = SUMMARY.names
        return pd.Series([values[n] for n in names], index=names, dtype=float, name="summary")

    def __repr__(self) -> str:
        """Write scores, counts, and what went wrong, in a few lines."""
        s, parts = self.summary, self._parts
        rows = Counter(match.status for match in parts.rows)
        cells = Counter(cell["outcome"] for cell in parts.cells)
        lines = [
            f"TableComparison ({self._rules.name}): "
            + " · ".join(f"{name} {s[name]:.3f}" for name in _SHOWN),
            f"rows: {', '.join(f'{n} {name}' for name, n in rows.most_common()) or 'none'}",
            f"cells: {', '.join(f'{n} {name}' for name, n in cells.most_common()) or 'none'}",
        ]
        odd = [match for match in parts.columns if match.status != "matched"]
        if odd:
            names = ", ".join(
                f"{one_line(_column_name(m), 40)} ({m.status})" for m in odd[:_MOST_SHOWN]
            )
            more = f" and {len(odd) - _MOST_SHOWN} more" if len(odd) > _MOST_SHOWN else ""
            lines.append(f"columns: {names}{more}")
        if s["judge_errors"]:
            errors = plural(int(s["judge_errors"]), "cell")
            lines.append(f"{errors} without a verdict; scores are lower bounds")
        if parts.notes:
            kinds = ", ".join(dict.fromkeys(note[2] for note in parts.notes))
            lines.append(f"{plural(len(parts.notes), 'warning')}: {kinds}")
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        """Write the same and the first wrong cells as static HTML; every text is escaped."""
        wrong, lines = [cell for cell in self._parts.cells if not cell["passed"]], [repr(self)]
        for cell in wrong[:_MOST_SHOWN]:
            sides = [cell["gold"], cell["predicted"]]
            texts = ("nothing" if t is None else one_line(repr(t), _LONGEST) for t in sides)
            about = f"{cell['outcome']} {cell['path']}: {' -> '.join(texts)}"
            lines.append(f"{about} ({cell['reason']})")
        return text_card("\n".join([*lines, more_rows(len(wrong) - _MOST_SHOWN, "cells")]))


def _column_name(match: ColumnMatch) -> str:
    if match.gold and match.predicted:
        return f"{match.gold} = {match.predicted}"
    return str(match.gold or match.predicted)


def _number_or_text(text: str | None, column: str | None, numeric: Collection[str]) -> Any:
    """Return a cell of a numeric column as a number, if it holds one."""
    if text is None or column not in numeric or (number := number_of(text, column or "")) is None:
        return text
    return int(number) if number == number.to_integral_value() else float(number)


def _joined_keys(table: Reading, keys: Iterable[str | None]) -> dict[int | None, str]:
    """Return the keys of rows by position."""
    columns = [table.columns[key] for key in keys if key is not None and key in table.columns]
    return dict(enumerate(" | ".join(parts) for parts in zip(*columns, strict=True)))
