"""`TableComparison`: the frames of one comparison, its scores, and its repr in a notebook."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.construction.aligning import ColumnMatch, RowMatch, in_order
from extractbench_nb.construction.answers import FAILURES, Note, Reading, Tables
from extractbench_nb.construction.evidence_recall import EvidenceRecall
from extractbench_nb.construction.table_rules import PASS_MARK, TableRules, number_of, rules_of
from extractbench_nb.core import OUTCOMES, Evaluation, total_cost
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, scores_of
from extractbench_nb.core.text import JudgeCall
from extractbench_nb.errors import InputError
from extractbench_nb.stats import KIND_COLUMN, mismatch_kinds
from extractbench_nb.support.cards import more_rows, text_card
from extractbench_nb.support.wording import one_line, plural

#: The metric whose question a judge of names, keys and cells gets.
METRIC = "string_semantic"
#: The metric of a rating of the whole answer.
QUALITY_METRIC = "table_quality"

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

_RULES = "exact, normalised, similar, judge, fuzzy"
MATCH_COLUMNS = FrameSpec(
    "matches",
    "one row per row of gold, plus one per spurious predicted row",
    (
        Column("gold_row", "Int64", "position in gold", "0 and up", True),
        Column("predicted_row", "Int64", "position in the prediction", "0 and up", True),
        Column("status", "string", "result", "matched, missed, spurious, judge_error"),
        Column("rule", "string", "rule that matched the row", _RULES, True),
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
        Column("pass_rate", "float64", "passed / evaluated cells; 0 without cells", "0 to 1"),
        Column("score_sum", "float64", "sum of the scores of cells", "0 and up"),
        Column("gold_cells", "float64", "gold rows x compared columns", "0 and up"),
        Column("predicted_cells", "float64", "denominator of the precision", "0 and up"),
        Column("matched_cells", "float64", "compared cells in matched rows", "0 and up"),
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
        Column("llm_cost_usd", "float64", "their cost", "0 and up", True),
    ),
)
#: The scores of a table.
MEASURES = SUMMARY.measures
_SHOWN = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall")
#: Most wrong cells and columns that a repr lists, and most characters of a text.
_MOST_SHOWN, _LONGEST = 6, 60
#: Labels that lead the frames of many tables.
LABELS = ("run", "document", "domain", "schema")

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


class Alignment(NamedTuple):
    """What a comparison found: alignment, verdicts, warnings, and scores."""

    columns: list[ColumnMatch]
    rows: list[RowMatch]
    #: Records of `CELL_COLUMNS`, without ``kind``.
    cells: list[dict[str, Any]]
    notes: list[Note]
    ratios: dict[str, float]

    @classmethod
    def of(
        cls,
        tables: Tables,
        columns: list[ColumnMatch],
        rows: Sequence[RowMatch],
        cells: list[dict[str, Any]],
        notes: list[Note],
    ) -> Alignment:
        """Compute the scores, then put rows and cells in order."""
        ratios = _ratios(tables, columns, rows, cells)
        if tables.rules.released:
            place = "gold_row", "predicted_row"
            cells = sorted(cells, key=lambda c: (c[place[0]] is None, *(c[n] or 0 for n in place)))
        return cls(columns, in_order(rows), cells, notes, ratios)


def _ratios(
    tables: Tables,
    columns: Sequence[ColumnMatch],
    rows: Sequence[RowMatch],
    cells: Sequence[Mapping[str, Any]],
) -> dict[str, float]:
    """Compute precision, recall and F1 of cells, rows and columns, as `SUMMARY` describes them."""

    def total(some: Sequence[Mapping[str, Any]]) -> float:
        # one after the other, as in the released code: sums of fractions depend on the order
        return float(reduce(add, (cell["score"] or 0.0 for cell in some), 0.0))

    released, width = tables.rules.released, len(tables.values)
    sizes = tables.gold.size, tables.predicted.size
    extra = sum(cell["column"] is None for cell in cells)
    in_pairs = [cell for cell in cells if _is_in_pair(cell)]
    scored, matched = total(cells), sum(row.status == "matched" for row in rows)
    gold_cells, predicted_cells = sizes[0] * width, sizes[1] * width + extra
    # right where nothing was asked for and nothing was predicted
    nothing = 0.0 if released else 1.0
    recall, precision = _share(scored, gold_cells), _share(scored, predicted_cells)
    if not gold_cells + predicted_cells:
        recall = precision = nothing
    row_recall, row_precision = _share(matched, sizes[0]), _share(matched, sizes[1])
    if not sum(sizes):
        row_recall = row_precision = nothing
    compared = set(tables.values)
    aligned = sum(m.gold in compared and m.predicted is not None for m in columns)
    # the released code asks which of the configured columns gold has
    column_recall = _share(width, tables.configured) if released else _share(aligned, width)
    return {
        "cell_f1": _harmonic(precision, recall),
        "cell_precision": precision,
        "cell_recall": recall,
        "row_f1": _harmonic(row_precision, row_recall),
        "row_precision": row_precision,
        "row_recall": row_recall,
        "column_recall": column_recall,
        "column_precision": _share(aligned, aligned + sum(m.gold is None for m in columns)),
        "average_cell_score": _share(total(in_pairs), len(in_pairs)),
        "score_sum": scored,
        "gold_cells": gold_cells,
        "predicted_cells": predicted_cells,
        "matched_cells": len(in_pairs),
        "gold_rows": sizes[0],
        "predicted_rows": sizes[1],
        "matched_rows": matched,
    }


def _is_in_pair(cell: Mapping[str, Any]) -> bool:
    return all(cell[name] is not None for name in ("column", "gold_row", "predicted_row"))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _harmonic(precision: float, recall: float) -> float:
    both = precision + recall
    return 2 * (precision * recall) / both if both > 0 else 0.0


@dataclass(frozen=True, repr=False, eq=False)
class TableComparison:
    """The result of one comparison of tables, frozen; made by `compare`.

    A `ScoredResult`: statistics and views take it with ``measure=``, such as ``"cell_f1"``.
    """

    _found: Alignment
    _tables: Tables
    #: Calls of a model by column (or ``column``, ``key``); None: a rating of the whole answer.
    _calls: tuple[tuple[str | None, JudgeCall], ...]
    _meta: Mapping[str, Any]
    #: Compares the same tables by other rules; not in a pickle.
    _again: Callable[[TableRules], TableComparison] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the records; frames are made again."""
        return {name: self.__dict__[name] for name in ("_found", "_tables", "_calls", "_meta")}

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
            The threshold is negative, or this result was unpickled: a pickle holds neither the
            judge nor the compared objects.
        """
        rules = rules_of(self.profile, threshold=threshold)
        if self._again is None:
            raise InputError("a result from a pickle keeps its threshold; call compare() again")
        if rules == self.profile:
            return self
        again = self._again(rules)
        labels = {name: self._meta[name] for name in self._meta if name not in again._meta}
        return again.labelled(**labels)

    def losses(self, recall: EvidenceRecall | None = None) -> pd.DataFrame:
        r"""Add up the points that were lost at each stage: retrieval, columns, keys, rows, cells.

        Parameters
        ----------
        recall : EvidenceRecall, optional
            The result of `evidence_recall` for the same gold table. A gold cell that lost points
            and whose value was in no retrieved chunk then counts as lost by retrieval, since no
            model could have read it.

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
        cells, lost = self._found.cells, dict[tuple[str, str], float]()
        sides = {
            "recall": [c for c in cells if None not in (c["gold_row"], c["column"])],
            "precision": [c for c in cells if c["predicted_row"] is not None],
        }
        for side, part in sides.items():
            for cell in part:
                stage = stage_of.get(cell["reason"], "cells")
                if stage != "answer" and (cell["gold_row"], cell["column"]) in unread:
                    stage = "retrieval"
                place = side, stage
                lost[place] = lost.get(place, 0.0) + 1.0 - (cell["score"] or 0.0)
        rows = []
        for side, part in sides.items():
            left = total = float(len(part))
            for stage in STAGES:
                if stage != "retrieval" or recall is not None:
                    points = lost.get((side, stage), 0.0)
                    left -= points
                    rows.append((side, stage, points, left, left / total if total else None))
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
        values = self._found.ratios | {
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
        counts = {
            "rows": [m.status for m in found.rows],
            "cells": [c["outcome"] for c in found.cells],
        }
        for name, values in counts.items():
            counted = ", ".join(f"{n} {value}" for value, n in Counter(values).most_common())
            lines.append(f"{name}: {counted or 'none'}")
        odd = [
            f"{one_line(' = '.join(filter(None, match[:2])), 40)} ({match.status})"
            for match in found.columns
            if match.status != "matched"
        ]
        if odd:
            more = f" and {len(odd) - _MOST_SHOWN} more" if len(odd) > _MOST_SHOWN else ""
            lines.append(f"columns: {', '.join(odd[:_MOST_SHOWN])}{more}")
        if s["judge_errors"]:
            errors = plural(int(s["judge_errors"]), "cell")
            lines.append(f"{errors} without a verdict; scores are lower bounds")
        if found.notes:
            kinds = ", ".join(dict.fromkeys(note[2] for note in found.notes))
            lines.append(f"{plural(len(found.notes), 'warning')}: {kinds}")
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        """Write the same and the first wrong cells as static HTML; every text is escaped."""
        wrong, lines = [cell for cell in self._found.cells if not cell["passed"]], [repr(self)]
        for cell in wrong[:_MOST_SHOWN]:
            sides = [cell["gold"], cell["predicted"]]
            texts = ("nothing" if t is None else one_line(repr(t), _LONGEST) for t in sides)
            about = f"{cell['outcome']} {cell['path']}: {' -> '.join(texts)}"
            lines.append(f"{about} ({cell['reason']})")
        return text_card("\n".join([*lines, more_rows(len(wrong) - _MOST_SHOWN, "cells")]))


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
