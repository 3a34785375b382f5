"""`Evaluation`: the records of one evaluation as DataFrames, and its repr in a notebook."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.core.cross_field_rules import (
    RULE_COLUMNS,
    RULES,
    UNNAMED_SCHEMA,
)
from extractbench_nb.core.evaluation_frames import (
    ARRAY_COLUMNS,
    CALL_COLUMNS,
    FIELD_COLUMNS,
    MATCH_COLUMNS,
    SUMMARY,
    WARNING_COLUMNS,
    Note,
    array_frame,
    array_row,
    call_rows,
    chosen_array,
    document_warnings,
    field_frame,
    field_rows,
    in_order,
    match_frame,
    match_rows,
    summarise,
    total_cost,
)
from extractbench_nb.core.frames import DescribedFrames, FrameSpec
from extractbench_nb.core.mismatches import MISMATCH_COLUMNS, mismatch_frame
from extractbench_nb.core.pairing import declared_share
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.records import ArrayRecord, Leaf
from extractbench_nb.core.registered import registered
from extractbench_nb.core.schema.schema_nodes import Schema
from extractbench_nb.core.values.json_values import canonical, json_text, json_type
from extractbench_nb.errors import InputError
from extractbench_nb.support.cards import (
    card_html,
    cell,
    document_text,
    element,
    table_html,
    table_of,
    table_row,
)
from extractbench_nb.support.wording import accepted_text, plural

_MOST_ARRAYS = 12
_NOTHING = "No field is scored: the scores say nothing."
_SCORES = ("overall_score", "field_score", "pass_rate")
_WORST = ("worst fields", "metric", "outcome", "gold", "predicted")


_COUNTED, _OUTCOME, _PASSED, _SCORE, _ACCEPTED = map(
    FIELD_COLUMNS.names.index, ("counted", "outcome", "passed", "score", "accepted_as")
)
_Row = tuple[Any, ...]


def _rows_of(frame: pd.DataFrame, spec: FrameSpec) -> list[_Row]:
    """Return the rows of a frame; missing cells are None, as in rows of records."""
    columns = (frame[name].tolist() for name in spec.names)
    cells = ([None if cell is pd.NA else cell for cell in column] for column in columns)
    return list(zip(*cells, strict=True))


def _counted_rows(ev: Evaluation) -> list[_Row]:
    """Return the counted rows of ``fields``: a pickled evaluation has the frame alone."""
    rows = field_rows(ev.leaves) if ev.records else _rows_of(ev._fields, FIELD_COLUMNS)
    return [row for row in rows if row[_COUNTED]]


def card_text(ev: Evaluation) -> str:
    """Write the card as plain text."""
    lines = [ev.scores_text()]
    for row in ev.worst(5):
        score = "  n/a" if row["score"] is None else f"{row['score']:.3f}"
        lines.append(f"  {score} {row['path']}  {_why(row)}")
    return "\n".join(lines)


def _why(row: Mapping[str, Any]) -> str:
    reasoning = "" if row["reasoning"] is None else f": {row['reasoning']}"
    accepted = accepted_text(row["accepted_as"])
    return f"{row['outcome']} ({row['reason']}){reasoning}{f', {accepted}' if accepted else ''}"


def _accepted_note(ev: Evaluation) -> str:
    """Say how many of the counted rows were read as an alternative; empty for none."""
    read = sum(row[_ACCEPTED] is not None for row in _counted_rows(ev))
    return f"{plural(read, 'field')} read as an accepted alternative" if read else ""


def rule_notes(ev: Evaluation) -> list[str]:
    """Say how many rules gold and the prediction break, and how many failed; nothing if none."""
    if not RULES:
        return []
    rules = ev.rules
    sides = ("predicted", "the prediction"), ("gold", "gold")
    broken = [(rules[f"outcome_{side}"].eq("broken").sum(), name) for side, name in sides]
    parts = [f"{plural(int(n), 'rule')} broken by {name}" for n, name in broken if n]
    pairs = zip(rules["outcome_gold"], rules["outcome_predicted"], strict=True)
    errors = sum("error" in pair for pair in pairs)
    if errors:
        parts.append(f"{plural(errors, 'rule')} without a verdict")
    return [", ".join(parts) + "; .rules has them"] if parts else []


def evaluation_html(ev: Evaluation) -> str:
    """Write the card as static HTML; every text is escaped."""
    s = ev.summary
    scores = "".join(
        f"<span>{name.replace('_', ' ')} <b>{s[name]:.3f}</b></span>" for name in _SCORES
    )
    counts = " · ".join(f"{n} {name.replace('_', ' ')}" for name, n in ev.outcome_counts().items())
    passes = f"{s['passed']:.0f} of {s['evaluated']:.0f} fields pass"
    head = f"Evaluation · {passes} · profile {ev.meta['profile']}"
    return card_html(
        head,
        f'<div class="xb-scores">{scores}</div><div>{document_text(counts, 300)}</div>',
        f"{_notes_html(ev, s)}{_worst_html(ev)}{_arrays_html(ev)}",
    )


def _notes_html(ev: Evaluation, s: pd.Series) -> str:
    notes = [] if s["evaluated"] else [_NOTHING]
    if s["judge_errors"]:
        judged = f"of the judged fields {s['pass_rate_judged']:.1%} pass" if s["judged"] else ""
        some = "1 field has" if s["judge_errors"] == 1 else f"{s['judge_errors']:.0f} fields have"
        open_ones = f"{some} no verdict: pass rate is a lower bound"
        notes.append(f"{open_ones}; {judged or 'no field was judged'}.")
    if s["gold_coverage"] < 1:
        notes.append(f"The schema declares only {s['gold_coverage']:.1%} of gold's values.")
    notes.extend(rule_notes(ev))
    if accepted := _accepted_note(ev):
        notes.append(f"{accepted}.")
    return "".join(f'<div class="xb-note">{document_text(n, 200)}</div>' for n in notes)


def _worst_html(ev: Evaluation) -> str:
    rows = []
    for row in ev.worst():
        score = "n/a" if row["score"] is None else f"{row['score']:.2f}"
        texts = (document_text(text, 120) for text in (row["path"], row["metric"], _why(row)))
        values = (document_text(text, 60) for text in _shown_pair(row["gold"], row["predicted"]))
        cells = [cell(score, "xb-num"), *map(cell, texts), *(cell(v, "xb-val") for v in values)]
        rows.append(table_row(cells))
    if not rows:
        return ""
    hidden = int(ev.summary["evaluated"] - ev.summary["passed"]) - len(rows)
    more = f"<div>… {hidden} more that do not pass; .fields has them</div>" if hidden > 0 else ""
    heads = [element("th", "score", "xb-num"), *(element("th", name) for name in _WORST)]
    return table_of(heads, rows) + more


def _arrays_html(ev: Evaluation) -> str:
    records = ev.array_records()
    found = list(map(array_row, records)) if ev.records else _rows_of(ev._arrays, ARRAY_COLUMNS)
    arrays = [dict(zip(ARRAY_COLUMNS.names, row, strict=True)) for row in found]
    arrays = [a for a in arrays if a["counted"] and a["gold_items"] + a["predicted_items"]]
    differ = [a for a in arrays if a["missed"] is None or a["missed"] + a["spurious"] > 0]
    differ.sort(key=lambda array: (array["f1"] is None, array["f1"]))
    same = len(arrays) - len(differ)
    notes = [f"{plural(same, 'array')} matched completely"] if same else []
    if len(differ) > _MOST_ARRAYS:
        notes.append(f"… {len(differ) - _MOST_ARRAYS} more arrays that differ; .arrays has them")
    names = ("gold_items", "predicted_items", "matched", "partial", "missed", "spurious")
    rows = [
        [
            document_text(row["field"]),
            *("n/a" if row[n] is None else str(row[n]) for n in names),
        ]
        for row in differ[:_MOST_ARRAYS]
    ]
    listed = table_html(["arrays that differ"], [n.replace("_", " ") for n in names], rows)
    return listed + "".join(f"<div>{document_text(note)}</div>" for note in notes)


def _shown_pair(gold: Any, predicted: Any) -> tuple[str, str]:
    """Write both values; with the quotes of JSON where they differ in type."""
    quoted = None not in (gold, predicted) and json_type(gold) != json_type(predicted)
    return _shown(gold, quoted), _shown(predicted, quoted)


def _shown(value: Any, quoted: bool) -> str:
    if isinstance(value, list):
        return plural(len(value), "item")
    if value is None:
        return "—"
    try:
        return canonical(value) if quoted else json_text(value)
    except RecursionError:
        return "… nested too deep"


class Inputs(NamedTuple):
    """What was compared; `problem` is the parser's message if the prediction did not parse."""

    schema: Schema
    gold: Any
    predicted: Any
    problem: str | None


class Evaluation(DescribedFrames):
    """The result of one evaluation.

    Made by `evaluate`; frozen. In a notebook it shows its scores and the worst fields.

    Attributes
    ----------
    fields, arrays, matches, judge_calls : pandas.DataFrame
        One row per field and metric; per array; per array item; per call of a model. Each access
        returns a copy. `Evaluation.columns` describes the columns.
    summary : pandas.Series
        Scores and counts over the counted nodes, as floats. Scores are in [0, 1]; where nothing is
        counted they are 1 and ``evaluated`` is 0.
    warnings : pandas.DataFrame
        One row per finding: faults of gold, undeclared keys, violations of the schema.
    mismatches : pandas.DataFrame
        One row per wrong value that has a kind: power of ten, truncated, ...; joins on ``path``.
    rules : pandas.DataFrame
        One row per cross-field rule that applies to the schema, see `rule`; not frozen.
    meta : dict
        Profile, judge, alignment, seconds, versions.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"tags": {"type": "array"}}}
    >>> ev = xb.evaluate(schema, {"tags": ["a", "b", "c"]}, {"tags": ["a", "c", "d"]})
    >>> ev.arrays[["path", "matched", "missed", "spurious", "recall"]].round(3).values.tolist()
    [['$.tags', 2, 1, 1, 0.667]]
    """

    _specs = (
        FIELD_COLUMNS,
        ARRAY_COLUMNS,
        MATCH_COLUMNS,
        CALL_COLUMNS,
        SUMMARY,
        WARNING_COLUMNS,
        RULE_COLUMNS,
        MISMATCH_COLUMNS,
    )

    _top: tuple[Leaf, ...]
    _profile: Profile
    _inputs: Inputs
    _meta: dict[str, Any]
    _notes: tuple[Note, ...]

    def __init__(
        self,
        top: list[Leaf],
        profile: Profile,
        inputs: Inputs,
        meta: Mapping[str, Any],
        notes: list[Note],
    ) -> None:
        self.__dict__.update(  # since __setattr__ refuses
            _top=tuple(top),
            _profile=profile,
            _inputs=inputs,
            _meta=dict(meta),
            _notes=tuple(notes),
        )

    def __setattr__(self, name: str, value: object) -> None:
        """Raise `AttributeError`: a result is frozen."""
        raise AttributeError(f"an Evaluation is frozen; cannot set {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        """Return the frames without the records behind them; warnings are computed again."""
        frames = ("_fields", "_arrays", "_matches", "_judge_calls", "_summary")
        kept = (*frames, "_profile", "_inputs", "_meta")
        return {name: getattr(self, name) for name in kept} | {"_notes": self._notes, "_top": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` kept."""
        self.__dict__.update(state)

    @property
    def fields(self) -> pd.DataFrame:
        """One row per evaluated field and metric; `Evaluation.columns()` describes the columns.

        `to_parquet` writes it to a file; pandas' own ``to_parquet`` cannot where values of several
        types are in one column.
        """
        return self._fields.copy()

    @property
    def arrays(self) -> pd.DataFrame:
        """One row per array that exists on either side."""
        return self._arrays.copy()

    @property
    def matches(self) -> pd.DataFrame:
        """One row per gold item, plus one per spurious predicted item."""
        return self._matches.copy()

    @property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; empty for rule-based judges."""
        return self._judge_calls.copy()

    @property
    def summary(self) -> pd.Series:
        """Scores and counts over the counted nodes."""
        return self._summary.copy()

    @property
    def warnings(self) -> pd.DataFrame:
        """One row per finding about gold, the prediction or the schema that changes no score."""
        return self._warnings.copy()

    @property
    def mismatches(self) -> pd.DataFrame:
        """One row per wrong value: its path and the kind of mismatch, computed at first access."""
        return self._mismatches.copy()

    @property
    def rules(self) -> pd.DataFrame:
        """One row per registered rule that applies to the schema; each access runs the rules.

        The rules are those registered now, so that a rule can be written after the evaluation.
        Without a rule that applies, the frame is empty. A schema without id, title and ``$id`` gets
        a name with ``ev.labelled(schema="invoice")``.
        """
        schema, gold, predicted, problem = self._inputs
        names = schema.names(self._meta.get("schema"))
        rows = []
        for made in tuple(RULES.values()):
            if made.is_for(names):
                of_output = made.check(predicted) if problem is None else None
                rows.append(made.row(made.check(gold), of_output))
            elif not names:
                rows.append(made.row(UNNAMED_SCHEMA, None))
        return RULE_COLUMNS.from_rows(rows)

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of fields, arrays, matches, judge_calls and summary, for other frames.

        Returns
        -------
        dict of str to list of tuple
            Cells in the order of the columns; ``summary`` has one row, of floats.
        """
        arrays = self.array_records()
        calls = list(call_rows(self._top))
        return {
            "fields": field_rows(self.leaves),
            "arrays": [array_row(array) for array in arrays],
            "matches": [row for array in arrays for row in match_rows(array)],
            "judge_calls": calls,
            "summary": [self._summary_row(calls)],
        }

    def outcome_counts(self) -> dict[str, int]:
        """Count the counted rows of ``fields`` by outcome.

        Returns
        -------
        dict of str to int
            The most frequent outcome first.
        """
        return dict(Counter(row[_OUTCOME] for row in _counted_rows(self)).most_common())

    def worst(self, n: int = 8) -> list[dict[str, Any]]:
        """Return the counted rows of ``fields`` that did not pass.

        Parameters
        ----------
        n : int, optional
            Number of rows at most.

        Returns
        -------
        list of dict
            Cells by column; those without a score first, then the lowest score.
        """
        bad = [row for row in _counted_rows(self) if not row[_PASSED]]
        bad.sort(key=lambda row: (row[_SCORE] is not None, row[_SCORE]))
        return [dict(zip(FIELD_COLUMNS.names, row, strict=True)) for row in bad[:n]]

    def scores_text(self) -> str:
        """Write scores, counts by outcome, and caveats of the scores.

        Returns
        -------
        str
            Several lines.
        """
        s = self.summary
        head = " · ".join(f"{name} {s[name]:.3f}" for name in _SCORES)
        counts = ", ".join(f"{n} {name}" for name, n in self.outcome_counts().items())
        passes = f"{s['passed']:.0f} of {s['evaluated']:.0f} fields pass"
        lines = [
            f"Evaluation ({self.meta['profile']}): {head}",
            f"  {passes}{': ' if counts else ''}{counts}",
        ]
        if not s["evaluated"]:
            lines.append(f"  {_NOTHING}")
        if s["judge_errors"]:
            judged = "none judged"
            if s["judged"]:
                judged = f"{s['pass_rate_judged']:.3f} of the judged pass"
            open_ones = f"{s['judge_errors']:.0f} without a verdict"
            lines.append(f"  {open_ones}; pass_rate is a lower bound, {judged}")
        if note := _accepted_note(self):
            lines.append(f"  {note}")
        if s["gold_coverage"] < 1:
            lines.append(f"  the schema declares only {s['gold_coverage']:.1%} of gold's values")
        lines.extend(f"  {line}" for line in rule_notes(self))
        return "\n".join(lines)

    def array_path(self, path: str | None = None) -> str:
        """Return the instance path of an array.

        Parameters
        ----------
        path : str, optional
            Its path or its field; not needed if there is one array only.

        Returns
        -------
        str
            The path, as in ``arrays``.

        Raises
        ------
        InputError
            There is no such array, or there are several.
        """
        return chosen_array(self._arrays, path)

    @property
    def is_settled(self) -> bool:
        """Whether every metric gave a verdict, those inside arrays included."""
        verdicts = (verdict for leaf in self.leaves for verdict in leaf.settled)
        return not any(verdict.outcome == "judge_error" for verdict in verdicts)

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, alignment, seconds, and the versions that were used."""
        return {
            **self._meta,
            "extractbench_nb": __version__,
            "pandas": pd.__version__,
            "python": sys.version.split()[0],
        }

    def labelled(self, **labels: str) -> Evaluation:
        """Return the same result with labels in `meta`.

        Parameters
        ----------
        **labels : str
            Such as ``run`` and ``document``, which the view of the result names.

        Returns
        -------
        Evaluation
            A copy that shares the frames.
        """
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__, _meta={**self._meta, **labels})
        return same

    @property
    def schema(self) -> Schema:
        """The parsed schema."""
        return self._inputs.schema

    @property
    def inputs(self) -> Inputs:
        """What was compared: schema, gold, predicted, and the parser's message if any."""
        return self._inputs

    @property
    def profile(self) -> Profile:
        """The rules that were applied."""
        return self._profile

    @property
    def records(self) -> tuple[Leaf, ...]:
        """The records outside of arrays that the frames are made of; empty after pickling."""
        return self._top

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every record in document order, those of arrays and inside arrays too."""
        return tuple(in_order(self._top))

    def array_records(self) -> list[ArrayRecord]:
        """Return the records of the arrays that have rows.

        Returns
        -------
        list of ArrayRecord
            In document order, outer before inner; empty after pickling.
        """
        records = in_order(self._top, one_sided=False)
        return [record for record in records if isinstance(record, ArrayRecord)]

    def save(self, folder: str | Path) -> Path:
        """Write a report: report.json, summary.txt, fields.csv, fields.md and report.html.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder; created if it does not exist. Existing files of these names are replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            `folder` is empty or not a path.
        OutputError
            A file cannot be written.
        """
        return self._written("write_report", folder)

    def to_parquet(self, folder: str | Path) -> Path:
        """Write the frames: fields, arrays, matches, judge_calls, summary and warnings.parquet.

        If rules apply to the schema, their outcomes are written to rules.parquet.

        Columns that hold values of documents, of which each row may have another type, become
        JSON text, so that ``pandas.read_parquet`` and other tools read every file
        (``frame.to_parquet`` of pandas refuses such columns).

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder; created if it does not exist. Existing files of these names are replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            `folder` is empty or not a path.
        OutputError
            A file cannot be written.

        Notes
        -----
        A lone surrogate, which UTF-8 cannot hold, is written as U+001A and four hexadecimal
        digits, and so is U+001A itself.
        """
        return self._written("write_parquet", folder)

    def _written(self, writer: str, folder: str | Path) -> Path:
        if not folder:
            raise InputError(f"folder is {folder!r}; expected a path")
        written: Path = registered(writer)(self, Path(folder))
        return written

    @cached_property
    def _fields(self) -> pd.DataFrame:
        return field_frame(self.leaves)

    @cached_property
    def _mismatches(self) -> pd.DataFrame:
        return mismatch_frame(self._fields)

    @cached_property
    def _arrays(self) -> pd.DataFrame:
        return array_frame(self.array_records())

    @cached_property
    def _matches(self) -> pd.DataFrame:
        return match_frame(self.array_records())

    @cached_property
    def _judge_calls(self) -> pd.DataFrame:
        return CALL_COLUMNS.from_rows(call_rows(self._top))

    @cached_property
    def _summary(self) -> pd.Series:
        return pd.Series(
            self._summary_row([*call_rows(self._top)]), SUMMARY.names, dtype=float, name="summary"
        )

    def _summary_row(self, calls: Sequence[_Row]) -> tuple[float, ...]:
        values = summarise(leaf for leaf in self.leaves if leaf.counted) | {
            "gold_coverage": declared_share(self.schema.root, self._inputs.gold),
            "llm_calls": len(calls),
            "llm_cost_usd": total_cost(CALL_COLUMNS.from_rows(calls)) if calls else 0.0,
        }
        return tuple(float(values[name]) for name in SUMMARY.names)

    @cached_property
    def _warnings(self) -> pd.DataFrame:
        return document_warnings(*self._inputs, self._notes)

    def __repr__(self) -> str:
        """Write scores and counts in a few lines."""
        return card_text(self)

    def _repr_html_(self) -> str:
        return evaluation_html(self)
