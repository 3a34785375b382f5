"""`TableComparison`: the frames of one comparison, its summary, and its repr in a notebook."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import TEXT, Column, FrameSpec, describe_frames
from extractbench_nb._version import __version__
from extractbench_nb.construction.aligning import PASS_MARK, ColumnMatch, RowMatch
from extractbench_nb.construction.asking import METRIC
from extractbench_nb.construction.evidence import EvidenceRecall, losses
from extractbench_nb.construction.profiles import TableRules, rules_of
from extractbench_nb.construction.reading import Reading
from extractbench_nb.display.html import card_html, document_text, element, more_html, table_html
from extractbench_nb.display.text import one_line, plural
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.frames import CALL_COLUMNS, FIELD_COLUMNS, OUTCOMES, total_cost
from extractbench_nb.evaluation.mismatches import reason_details
from extractbench_nb.evaluation.warnings import WARNING_COLUMNS
from extractbench_nb.judges.base import JudgeCall

#: One warning: side, path, kind, message, value.
Note = tuple[str, str, str, str, Any]


class CellRow(NamedTuple):
    """A cell of gold, of the prediction, or both: the row of ``cells`` that records hold."""

    path: str
    field: str
    metric: str
    score: float | None
    passed: bool | None
    outcome: str
    reason: str
    reasoning: str | None
    similarity: float | None
    gold: str | None
    predicted: str | None
    gold_row: int | None
    predicted_row: int | None
    column: str | None
    predicted_column: str | None


_SAME = {column.name: column for column in FIELD_COLUMNS.columns}
_STATES = "present, null, missing"

CELL_COLUMNS = FrameSpec(
    "cells",
    "one row per cell of gold or the prediction; of two cells that were compared, one",
    (
        Column("path", "string", "row and column of gold, `$[3].sales`; `$[+3]` is predicted"),
        Column("field", "string", "column, `[].sales`"),
        _SAME["metric"],
        _SAME["score"],
        _SAME["passed"],
        _SAME["outcome"],
        _SAME["reason"],
        _SAME["reason_detail"],
        _SAME["reasoning"],
        Column("similarity", "Float64", "what the judge gave; 1 for equal", "0 to 1", True),
        Column("gold", "object", "gold's text; None where there is no cell", nullable=True),
        Column("predicted", "object", "predicted text; None where there is no cell", nullable=True),
        Column("gold_state", "string", "state", _STATES),
        Column("predicted_state", "string", "state", _STATES),
        Column("counted", "bool", "whether the cell enters the scores"),
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
_MOST_SHOWN = 8


class TableComparison:
    """The result of one comparison of tables; frozen. `compare` makes it.

    Parameters
    ----------
    columns : list of ColumnMatch
        The alignment of columns.
    rows : list of RowMatch
        The matching of rows.
    cells : list of CellRow
        The verdicts on cells.
    ratios : mapping
        The scores.
    calls : list of tuple
        Column of the question and call of a model.
    notes : list of tuple
        Warnings.
    rules : TableRules
        The profile.
    tables : tuple of Reading
        Both tables as texts.
    roles : tuple of list of str
        Keys, compared columns, and those with numbers.
    released : dict or None
        What AOE's released code returns, with its names; None under other profiles.
    meta : mapping
        Profile, judge, keys and why they were chosen, parsability, seconds.
    again : callable
        Compares the same tables by other rules.

    Attributes
    ----------
    rows, cells, columns, judge_calls : pandas.DataFrame
        One row per row, cell, column, and call of a model. Each access returns a copy.
    summary : pandas.Series
        Scores and counts as floats.
    warnings : pandas.DataFrame
        Repairs of the answer, odd keys, failures of the judge.
    meta : dict
        Profile, judge, keys and why they were chosen, parsability, seconds, versions.
    """

    def __init__(  # noqa: PLR0913 - the parts of a result, by name
        self,
        *,
        columns: Sequence[ColumnMatch],
        rows: Sequence[RowMatch],
        cells: Sequence[CellRow],
        ratios: Mapping[str, float],
        calls: Sequence[tuple[str, JudgeCall]],
        notes: Sequence[Note],
        rules: TableRules,
        tables: tuple[Reading, Reading],
        roles: tuple[list[str], list[str], list[str]],
        released: dict[str, Any] | None,
        meta: Mapping[str, Any],
        again: Callable[[TableRules], TableComparison],
    ) -> None:
        self.__dict__.update(
            _column_matches=tuple(columns),
            _row_matches=tuple(rows),
            _cell_rows=tuple(cells),
            _ratios=dict(ratios),
            _calls=tuple(calls),
            _notes=tuple(notes),
            _rules=rules,
            _tables=tables,
            _roles=roles,
            _released=released,
            _meta=dict(meta),
            _again=again,
        )

    _column_matches: tuple[ColumnMatch, ...]
    _row_matches: tuple[RowMatch, ...]
    _cell_rows: tuple[CellRow, ...]
    _ratios: dict[str, float]
    _calls: tuple[tuple[str, JudgeCall], ...]
    _notes: tuple[Note, ...]
    _rules: TableRules
    _tables: tuple[Reading, Reading]
    _roles: tuple[list[str], list[str], list[str]]
    _released: dict[str, Any] | None
    _meta: dict[str, Any]
    _again: Callable[[TableRules], TableComparison]

    def __setattr__(self, name: str, value: object) -> None:
        """Raise `AttributeError`: a result is frozen."""
        raise AttributeError(f"a TableComparison is frozen; cannot set {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        """Return the records; frames are made again."""
        made = ("_rows", "_cells", "_columns", "_judge_calls", "_summary", "_again")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` kept."""
        self.__dict__.update(state)

    @property
    def rows(self) -> pd.DataFrame:
        """One row per row of gold, plus one per spurious predicted row."""
        return self._rows.copy()

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell of gold or the prediction."""
        return self._cells.copy()

    @property
    def columns(self) -> pd.DataFrame:
        """One row per column of gold, plus one per extra predicted column."""
        return self._columns.copy()

    @property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; none for judges that follow rules."""
        return self._judge_calls.copy()

    @property
    def summary(self) -> pd.Series:
        """Scores and counts."""
        return self._summary.copy()

    @property
    def warnings(self) -> pd.DataFrame:
        """Repairs of the answer, odd keys, failures of the judge."""
        return WARNING_COLUMNS.from_rows(self._notes)

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, keys and why they were chosen, parsability, seconds, versions."""
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

    @property
    def released(self) -> dict[str, Any] | None:
        """What AOE's released code returns, with its names; None under other profiles."""
        return None if self._released is None else dict(self._released)

    @property
    def gold(self) -> pd.DataFrame:
        """Gold as texts."""
        return self._tables[0].frame

    @property
    def predicted(self) -> pd.DataFrame:
        """The prediction as texts; no columns if there is no table."""
        return self._tables[1].frame

    def labelled(self, **labels: str) -> TableComparison:
        """Return the same result with labels in `meta`.

        Parameters
        ----------
        **labels : str
            Such as ``run`` and ``document``.

        Returns
        -------
        TableComparison
            A copy that shares the frames.
        """
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__, _meta={**self._meta, **labels})
        return same

    def with_threshold(self, threshold: float) -> TableComparison:
        """Compare the same tables with another threshold of similarity between keys.

        Parameters
        ----------
        threshold : float
            Similarity from which keys match, and cells where they are compared by ``fuzzy``; 0 to
            100. It has no effect under rules that match no similar keys (``aoe-readme``).

        Returns
        -------
        TableComparison
            A new result, by the same judge, which is asked anew; this one if nothing changes.

        Raises
        ------
        InputError
            The threshold is not from 0 to 100, or this result comes from a pickle, which holds
            neither the judge nor what was compared.

        Examples
        --------
        >>> from extractbench_nb.construction import compare
        >>> gold = [{"name": "Northwind Trading Group", "n": 1}]
        >>> found = compare(gold, [{"name": "Northwind Traders Group", "n": 1}])
        >>> [float(found.with_threshold(x).summary["matched_rows"]) for x in (90, 80)]
        [0.0, 1.0]
        """
        rules = rules_of(self._rules, threshold=threshold)
        if "_again" not in self.__dict__:
            raise InputError("a result from a pickle keeps its threshold; call compare() again")
        if rules == self._rules:
            return self
        again = self._again(rules)
        labels = {name: self._meta[name] for name in self._meta if name not in again._meta}
        return again.labelled(**labels)

    def losses(self, recall: EvidenceRecall | None = None) -> pd.DataFrame:
        """Add up the points that were lost at each stage, as `construction.losses` does.

        Parameters
        ----------
        recall : EvidenceRecall, optional
            What `evidence_recall` returned for the same gold table.

        Returns
        -------
        pandas.DataFrame
            One row per side and stage.
        """
        return losses(self, recall)

    @staticmethod
    def describe() -> pd.DataFrame:
        """Describe every column of every frame.

        Returns
        -------
        pandas.DataFrame
            One row per column: column, dtype, values, nullable, meaning, frame.
        """
        frames = (ROW_COLUMNS, CELL_COLUMNS, COLUMN_COLUMNS, CALL_COLUMNS, SUMMARY)
        return describe_frames([*frames, WARNING_COLUMNS])

    @cached_property
    def _cells(self) -> pd.DataFrame:
        columns = dict(zip(CellRow._fields, zip(*self._cell_rows, strict=True), strict=False))
        golds, predicted = columns.get("gold", ()), columns.get("predicted", ())
        data = {
            **columns,
            "reason_detail": [None] * len(golds),
            "gold_state": [_state(text) for text in golds],
            "predicted_state": [_state(text) for text in predicted],
            "counted": [True] * len(golds),
        }
        if not golds:
            return CELL_COLUMNS.build()
        frame = CELL_COLUMNS.build(data)
        # gold's table as one more row, so that values of other rows are recognised
        table = {
            "path": "$",
            "outcome": "correct",
            "gold": self._tables[0].frame.to_dict("records"),
        }
        parts = {
            name: pd.Series([*data[name], table.get(name)], dtype=object)
            for name in ("path", "outcome", "gold", "predicted")
        }
        details = reason_details(pd.DataFrame(parts))[:-1]
        frame["reason_detail"] = pd.Series(details, index=frame.index, dtype=TEXT)
        return frame

    @cached_property
    def _rows(self) -> pd.DataFrame:
        sums: dict[tuple[Any, Any], list[float]] = {}
        for cell in self._cell_rows:
            if cell.column is not None and cell.gold_row is not None:
                both = (cell.gold_row, cell.predicted_row)
                sums.setdefault(both, []).append(cell.score or 0.0)
        keys = self._roles[0]
        named = {m.gold: m.predicted for m in self._column_matches if m.gold is not None}
        ours = _joined_keys(self._tables[0], list(keys))
        theirs = _joined_keys(self._tables[1], [named.get(key) for key in keys])
        rows = []
        for match in self._row_matches:
            scores = sums.get((match.gold, match.predicted), [])
            mean = sum(scores) / len(scores) if scores and match.status == "matched" else None
            # the released rules may read other rows than there are here
            one, other = (
                texts[at] if at is not None and at < len(texts) else None
                for at, texts in ((match.gold, ours), (match.predicted, theirs))
            )
            kinds = (match.status, match.rule or None, match.similarity, mean)
            rows.append((match.gold, match.predicted, *kinds, one, other))
        return ROW_COLUMNS.from_rows(rows)

    @cached_property
    def _columns(self) -> pd.DataFrame:
        sums: dict[str, list[float]] = {}
        for cell in self._cell_rows:
            if cell.column is not None and None not in (cell.gold_row, cell.predicted_row):
                sums.setdefault(cell.column, []).append(cell.score or 0.0)
        keys, values, numeric = self._roles
        rows = []
        for match in self._column_matches:
            role = "extra" if match.gold is None else "unused"
            if match.gold in values:
                role = "value"
            if match.gold in keys:
                role = "key"
            scores = sums.get(match.gold or "", [])
            mean = sum(scores) / len(scores) if scores else None
            number = match.gold in numeric
            names = (match.gold, match.predicted)
            rows.append((*names, role, match.status, match.rule or None, number, mean))
        return COLUMN_COLUMNS.from_rows(rows)

    @cached_property
    def _judge_calls(self) -> pd.DataFrame:
        return CALL_COLUMNS.from_rows(
            (
                f"$[].{column}",
                f"[].{column}",
                METRIC,
                *call,
                None if call.score is None else call.score >= PASS_MARK,
            )
            for column, call in self._calls
        )

    @cached_property
    def _summary(self) -> pd.Series:
        counts = Counter(cell.outcome for cell in self._cell_rows)
        cost = total_cost(self._judge_calls) if self._calls else 0.0
        values: dict[str, float] = {
            "evaluated": len(self._cell_rows),
            "judged": len(self._cell_rows) - counts["judge_error"],
            "passed": sum(bool(cell.passed) for cell in self._cell_rows),
            **{name: counts[outcome] for name, outcome in _COUNTED.items()},
            "gold_rows": self._tables[0].size,
            "predicted_rows": self._tables[1].size,
            "matched_rows": sum(match.status == "matched" for match in self._row_matches),
            "llm_calls": len(self._calls),
            "llm_cost_usd": cost,
            **self._ratios,
        }
        names = SUMMARY.names
        return pd.Series([values[n] for n in names], index=names, dtype=float, name="summary")

    def __repr__(self) -> str:
        """Write scores, counts, and what went wrong, in a few lines."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        s = self._summary
        head = " · ".join(f"{name} {s[name]:.3f}" for name in _SHOWN)
        counts = Counter(cell.outcome for cell in self._cell_rows)
        cells = ", ".join(f"{n} {name}" for name, n in counts.most_common())
        rows = Counter(match.status for match in self._row_matches)
        lines = [
            f"TableComparison ({self._rules.name}): {head}",
            f"  rows: {', '.join(f'{n} {name}' for name, n in rows.most_common()) or 'none'}",
            f"  cells: {cells or 'none'}",
        ]
        odd = [m for m in self._column_matches if m.status != "matched"]
        if odd:
            names = ", ".join(f"{one_line(_column_name(m), 40)} ({m.status})" for m in odd[:6])
            more = f" and {len(odd) - 6} more" if len(odd) > 6 else ""  # noqa: PLR2004
            lines.append(f"  columns: {names}{more}")
        if s["judge_errors"]:
            lines.append(
                f"  {plural(int(s['judge_errors']), 'cell')} without a verdict; scores are lower "
                "bounds"
            )
        if self._notes:
            kinds = Counter(note[2] for note in self._notes)
            listed = ", ".join(dict.fromkeys(kinds))
            lines.append(f"  {plural(len(self._notes), 'warning')}: {listed}")
        return lines

    def _repr_html_(self) -> str:
        s = self._summary
        scores = "".join(
            f"<span>{name.replace('_', ' ')} <b>{s[name]:.3f}</b></span>" for name in _SHOWN
        )
        head = f"TableComparison · profile {self._rules.name}"
        notes = "".join(element("div", line.strip(), "", 300) for line in self._lines()[1:])
        wrong = [cell for cell in self._cell_rows if not cell.passed]
        rows = [
            [
                "n/a" if cell.score is None else f"{cell.score:.2f}",
                *(
                    document_text("—" if text is None else text, 60)
                    for text in (
                        *(cell.path, cell.outcome, cell.reason),
                        *(cell.gold, cell.predicted),
                    )
                ),
            ]
            for cell in wrong[:_MOST_SHOWN]
        ]
        listed = table_html(["score", "cell", "outcome", "reason", "gold", "predicted"], [], rows)
        more = more_html(len(wrong) - len(rows), "cells")
        return card_html(head, f'<div class="xb-scores">{scores}</div>{notes}', listed, more)


def _column_name(match: ColumnMatch) -> str:
    if match.gold and match.predicted:
        return f"{match.gold} = {match.predicted}"
    return str(match.gold or match.predicted)


def _state(text: str | None) -> str:
    if text is None:
        return "missing"
    return "present" if text.strip() else "null"


def _joined_keys(table: Reading, keys: Sequence[str | None]) -> list[str]:
    columns = [table.columns[key] for key in keys if key is not None and key in table.columns]
    return [" | ".join(parts) for parts in zip(*columns, strict=True)]
