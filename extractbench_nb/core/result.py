"""`Evaluation`: the records of one evaluation as DataFrames, and its repr in a notebook."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._version import __version__
from extractbench_nb.core.causes import find_causes
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
    MISMATCH_COLUMNS,
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
    match_frame,
    match_rows,
    total_cost,
)
from extractbench_nb.core.frames import (
    TEXT,
    DescribedFrames,
    FrameSpec,
    ShownFrame,
    scores_of,
)
from extractbench_nb.core.pairing import declared_share
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.records import ArrayRecord, Leaf, in_order
from extractbench_nb.core.registered import registered
from extractbench_nb.core.rollup import summarise
from extractbench_nb.core.schema.schema_nodes import Schema
from extractbench_nb.core.values.json_values import canonical, json_text, json_type
from extractbench_nb.errors import InputError
from extractbench_nb.support.cards import (
    breakable,
    card_html,
    card_table,
    coded,
    element,
    more_block,
    more_rows,
)
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import accepted_text, one_line, plural, trimmed

_MOST_ARRAYS, _MOST_NAMED = 12, 3
#: Characters of a value, and those before the first difference of two long texts.
_LONGEST_VALUE, _BEFORE = 60, 12
#: The card names an array with so many times the fields of the rest of the document.
_OUTWEIGHS = 4
_SCORES = ("pass_rate", "overall_score", "field_score")
#: The cause of overall_score is said too if it is this far from pass_rate.
_FAR = 0.1


_PATH, _FIELD, _COUNTED, _OUTCOME, _PASSED, _SCORE, _ACCEPTED = map(
    FIELD_COLUMNS.names.index,
    ("path", "field", "counted", "outcome", "passed", "score", "accepted_as"),
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


def _reason(row: Mapping[str, Any]) -> str:
    accepted = accepted_text(row["accepted_as"])
    parts = (row["reason"], accepted, row["reasoning"])
    return ": ".join(part for part in parts if part)


def _caveats(ev: Evaluation) -> list[str]:
    """Say what limits the scores, and what rules found."""
    s, lines = ev.summary, []
    if not s["evaluated"]:
        lines.append("no field is scored: the scores say nothing")
    if s["judge_errors"]:
        judged = f"{s['pass_rate_judged']:.3f} of the judged pass" if s["judged"] else "none judged"
        errors = f"{plural(s['judge_errors'], 'field')} without a verdict"
        lines.append(f"{errors}; pass_rate is a lower bound, {judged}")
    if read := sum(row[_ACCEPTED] is not None for row in _counted_rows(ev)):
        lines.append(f"{plural(read, 'field')} read as an accepted alternative")
    if s["gold_coverage"] < 1:
        lines.append(f"the schema declares only {s['gold_coverage']:.1%} of gold's values")
    if s["unlabelled"]:
        lines.append(f"{plural(s['unlabelled'], 'gold value')} unlabelled, so not scored")
    lines += _of_profile(ev)
    if not RULES:
        return lines
    rules, parts = ev.rules, []
    for side, name in (("predicted", "the prediction"), ("gold", "gold")):
        if broken := int(rules[f"outcome_{side}"].eq("broken").sum()):
            parts.append(f"{plural(broken, 'rule')} broken by {name}")
    pairs = zip(rules["outcome_gold"], rules["outcome_predicted"], strict=True)
    if failed := sum("error" in pair for pair in pairs):
        parts.append(f"{plural(failed, 'rule')} without a verdict")
    return [*lines, ", ".join(parts) + "; .rules has them"] if parts else lines


def _of_profile(ev: Evaluation) -> list[str]:
    """Name the spurious items that cost nothing, or the array that outweighs all other fields."""
    invented: Counter[str] = Counter()
    arrays = ev._arrays[["field", "counted", "spurious"]]
    for field, is_counted, spurious in arrays.itertuples(index=False):
        if is_counted and spurious is not pd.NA:
            invented[field] += spurious
    if ev.profile.array_score == "recall" and (total := invented.total()):
        names = [field for field, n in invented.most_common(_MOST_NAMED) if n]
        more = ", ..." if len(+invented) > len(names) else ""
        where = f"{plural(total, 'spurious item')} in {', '.join(names)}{more}"
        return [f"{where}: profile {ev.profile.name} takes nothing off for them"]
    fields = {row[_PATH]: row[_FIELD] for row in _counted_rows(ev)}
    rows = Counter(field.partition("[")[0] for field in fields.values())
    for field, n in rows.most_common(1):
        rest = rows.total() - n
        if ev.profile.count_array_leaves and rest and n > _OUTWEIGHS * rest:
            share = f"{n:,} of {rows.total():,} counted fields"
            return [f"{share} are in {field}; field_score takes each schema field once"]
    return []


def _whys(ev: Evaluation) -> list[str]:
    """Say why the headline is low, and why overall_score is another one."""
    found = find_causes(ev).text
    lines = [f"pass_rate {found}"] if found else []
    if ev.summary["pass_rate"] - ev.summary["overall_score"] > _FAR:
        lines.append(f"overall_score {find_causes(ev, measure='overall_score').text}")
    return lines


def _worst_fields(ev: Evaluation, listed: Container[str]) -> list[Node | None]:
    """List the counted fields that do not pass, except arrays that are listed themselves."""
    worst = [row for row in ev.worst() if row["field"] not in listed]
    rows = []
    for row in worst:
        values = _shown_pair(row["gold"], row["predicted"])
        path = breakable(one_line(row["path"], 120))
        rows.append(
            [path, row["outcome"], one_line(_reason(row), 120), *values, _score_text(row["score"])]
        )
    passed, evaluated = ev.summary["passed"], ev.summary["evaluated"]
    failed_arrays = len(ev.worst()) - len(worst)
    heads = ("worst fields", "outcome", "reason", "gold", "predicted", "score")
    hidden = evaluated - passed - len(worst) - failed_arrays
    return [card_table(heads, rows, 1), more_block(hidden, "fields")]


def _differing_arrays(ev: Evaluation) -> tuple[set[str], list[Node | None]]:
    """List the arrays with items that do not match, the worst first; not those inside items."""
    records = ev.array_records()
    found = list(map(array_row, records)) if ev.records else _rows_of(ev._arrays, ARRAY_COLUMNS)
    arrays = [dict(zip(ARRAY_COLUMNS.names, row, strict=True)) for row in found]
    arrays = [a for a in arrays if a["counted"] or "[]" not in a["field"]]
    arrays = [a for a in arrays if a["gold_items"] + a["predicted_items"]]
    differ = [a for a in arrays if not a["matched"] == a["gold_items"] == a["predicted_items"]]
    differ.sort(key=lambda array: (array["f1"] is None, array["f1"]))
    names = ("gold_items", "predicted_items", "matched", "differing", "missed", "spurious")
    rows = [
        [
            breakable(one_line(row["field"], 120)),
            *("n/a" if row[name] is None else str(row[name]) for name in names),
        ]
        for row in differ[:_MOST_ARRAYS]
    ]
    notes = [more_rows(len(differ) - _MOST_ARRAYS, "arrays")]
    if same := len(arrays) - len(differ):
        notes.insert(0, f"{plural(same, 'array')} matched completely")
    heads = ("arrays that differ", *(name.replace("_", " ") for name in names))
    note = "; ".join(filter(None, notes))
    more = h("div", note, cls="xb-desc") if note else None
    return {array["field"] for array in differ[:_MOST_ARRAYS]}, [card_table(heads, rows, 6), more]


def _score_text(score: float | None) -> str:
    return "n/a" if score is None else f"{score:.3f}"


def _shown_pair(gold: Any, predicted: Any) -> list[str]:
    """Write both values: with the quotes of JSON if their types differ, from where texts differ."""
    quoted = None not in (gold, predicted) and json_type(gold) != json_type(predicted)
    shown = [_shown(gold, quoted), _shown(predicted, quoted)]
    if isinstance(gold, str) and isinstance(predicted, str) and shown[0] == shown[1]:
        pairs = enumerate(zip(gold, predicted, strict=False))
        start = next((n for n, (a, b) in pairs if a != b), min(len(gold), len(predicted))) - _BEFORE
        if start > 0:
            shown = [f"…{one_line(text[start:], _LONGEST_VALUE - 1)}" for text in (gold, predicted)]
    return shown


def _shown(value: Any, quoted: bool) -> str:
    if isinstance(value, list):
        return plural(len(value), "item")
    if value is None:
        return "—"
    try:
        return one_line(canonical(value) if quoted else json_text(value), _LONGEST_VALUE)
    except RecursionError:
        return "… nested too deep"


class Inputs(NamedTuple):
    """What was compared; `problem` is the parser's message if the prediction did not parse."""

    schema: Schema
    gold: Any
    predicted: Any
    problem: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(DescribedFrames):
    """The result of one evaluation.

    Made by `evaluate`; frozen. In a notebook it shows its scores and the worst fields.

    Attributes
    ----------
    fields, arrays, matches, judge_calls : pandas.DataFrame
        One row per field and metric; per array; per array item; per call of a model. Each access
        returns a copy. `Evaluation.columns` describes the columns.
    summary : pandas.Series
        Scores and counts over the counted nodes. Scores are in [0, 1]; where nothing is counted
        they are 1 and ``evaluated`` is 0.
    warnings : pandas.DataFrame
        One row per finding: faults of gold, undeclared keys, violations of the schema.
    mismatches : pandas.DataFrame
        One row per wrong value that has a kind: power of ten, truncated, ...; joins on ``path``.
    rules : pandas.DataFrame
        One row per cross-field rule that applies to the schema, see `rule`; not frozen.
    rows, scores : pandas.DataFrame
        ``fields`` and the measures of ``summary`` in the form that every `ScoredResult` has.
    meta : dict
        Profile, judge, alignment, seconds, versions.
    inputs : Inputs
        What was compared: schema, gold, predicted, and the parser's message if any.
    profile : Profile
        The rules that were applied.
    records : tuple of Leaf
        The records outside of arrays that the frames are made of; empty after pickling.

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

    records: tuple[Leaf, ...]
    profile: Profile
    inputs: Inputs
    _meta: Mapping[str, Any]
    _notes: tuple[Note, ...]
    _null_pass_rate: Callable[[], float]

    def __getstate__(self) -> dict[str, Any]:
        """Return the frames without the records behind them; warnings are computed again."""
        frames = ("_fields", "_arrays", "_matches", "_judge_calls", "_summary")
        kept = (*frames, "profile", "inputs", "_meta", "_notes")
        return {name: getattr(self, name) for name in kept} | {"records": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` kept."""
        self.__dict__.update(state)

    @property
    def fields(self) -> pd.DataFrame:
        """One row per evaluated field and metric; `Evaluation.columns()` describes the columns.

        `to_parquet` writes it to a file; pandas' own ``to_parquet`` cannot where values of several
        types are in one column.
        """
        return ShownFrame(self._fields.copy())

    @property
    def arrays(self) -> pd.DataFrame:
        """One row per array that exists on either side."""
        return ShownFrame(self._arrays.copy())

    @property
    def matches(self) -> pd.DataFrame:
        """One row per gold item, plus one per spurious predicted item."""
        return ShownFrame(self._matches.copy())

    @property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; empty for rule-based judges."""
        return ShownFrame(self._judge_calls.copy())

    @property
    def summary(self) -> pd.Series:
        """Scores and counts over the counted nodes."""
        return self._summary.copy()

    @property
    def warnings(self) -> pd.DataFrame:
        """One row per finding about gold, the prediction or the schema that changes no score."""
        return ShownFrame(self._warnings.copy())

    @property
    def mismatches(self) -> pd.DataFrame:
        """One row per wrong value: its path and the kind of mismatch, computed at first access."""
        return ShownFrame(self._mismatches.copy())

    @property
    def rules(self) -> pd.DataFrame:
        """One row per registered rule that applies to the schema; each access runs the rules.

        The rules are those registered now, so that a rule can be written after the evaluation.
        Without a rule that applies, the frame is empty. A schema without id, title and ``$id`` gets
        a name with ``ev.labelled(schema="invoice")``.
        """
        schema, gold, predicted, problem = self.inputs
        names = schema.names(self._meta.get("schema"))
        rows = []
        for made in tuple(RULES.values()):
            if made.is_for(names):
                of_output = made.check(predicted) if problem is None else None
                rows.append(made.row(made.check(gold), of_output))
            elif not names:
                rows.append(made.row(UNNAMED_SCHEMA, None))
        return RULE_COLUMNS.from_rows(rows)

    @property
    def rows(self) -> pd.DataFrame:
        """One row per evaluated field and metric, led by the labels ``run`` and ``document``."""
        labels = {name: self._meta.get(name) for name in ("run", "document")}
        ids = {n: pd.array([v] * len(self._fields), dtype=TEXT) for n, v in labels.items()}
        return pd.DataFrame({**ids, **self._fields})

    @property
    def scores(self) -> pd.DataFrame:
        """One row per measure: run and document, if labelled, measure and score."""
        labels = {name: [self._meta.get(name)] for name in ("run", "document")}
        cells = {name: [self._summary[name]] for name in SUMMARY.measures}
        return scores_of(pd.DataFrame(labels | cells), SUMMARY.measures)

    def frame_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of fields, arrays, matches, judge_calls and summary, for other frames.

        Returns
        -------
        dict of str to list of tuple
            Cells in the order of the columns; ``summary`` has one row.
        """
        arrays = self.array_records()
        calls = list(call_rows(self.records))
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
        head = " · ".join(f"{name} {score}" for name, score in self._scores().items())
        title = f"Evaluation ({self.meta['profile']}): {head}"
        return "\n  ".join([title, self._counts_text(), *_whys(self), *_caveats(self)])

    def _scores(self) -> dict[str, str]:
        """Write the scores, the headline first, with what a null prediction reaches."""
        scores = {name: f"{self.summary[name]:.3f}" for name in _SCORES}
        if floor := self.summary["null_pass_rate"]:
            scores["pass_rate"] += f" (null {floor:.3f})"
        return scores

    def _counts_text(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.outcome_counts().items())
        passes = f"{self.summary['passed']} of {self.summary['evaluated']} fields pass"
        return f"{passes}: {counts}" if counts else passes

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
        return self.inputs.schema

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every record in document order, those of arrays and inside arrays too."""
        return tuple(in_order(self.records))

    def array_records(self) -> list[ArrayRecord]:
        """Return the records of the arrays that have rows.

        Returns
        -------
        list of ArrayRecord
            In document order, outer before inner; empty after pickling.
        """
        records = in_order(self.records, one_sided=False)
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
        return CALL_COLUMNS.from_rows(call_rows(self.records))

    @cached_property
    def _summary(self) -> pd.Series:
        values = self._summary_row([*call_rows(self.records)])
        return pd.Series(values, SUMMARY.names, dtype=object, name="summary")

    def _summary_row(self, calls: Sequence[_Row]) -> tuple[float, ...]:
        counted = [leaf for leaf in self.leaves if leaf.counted]
        values = summarise(counted, by_field=self.profile.count_array_leaves) | {
            "null_pass_rate": self._null_pass_rate(),
            "unlabelled": sum(kind == "unlabelled" for _, _, kind, *_ in self._notes),
            "gold_coverage": declared_share(self.schema.root, self.inputs.gold),
            "llm_calls": len(calls),
            "llm_cost_usd": total_cost(CALL_COLUMNS.from_rows(calls)) if calls else 0.0,
        }
        return tuple(values[name] for name in SUMMARY.names)

    @cached_property
    def _warnings(self) -> pd.DataFrame:
        return document_warnings(*self.inputs, self._notes)

    def __repr__(self) -> str:
        """Write scores, counts and the worst fields in a few lines."""
        worst = (
            f"  {_score_text(r['score']):>5} {r['path']}  {r['outcome']} ({_reason(r)})"
            for r in self.worst(5)
        )
        return "\n".join([self.scores_text(), *worst])

    def _repr_html_(self) -> str:
        """Write a card: the headline with its cause, other scores, arrays and the worst fields."""
        scores = self._scores()
        others = " · ".join(f"{name.replace('_', ' ')} {scores[name]}" for name in _SCORES[1:])
        floor = self.summary["null_pass_rate"]
        null = f" · a null prediction reaches {floor:.3f}" if floor else ""
        headline = h(
            "div",
            h("b", f"{self.summary['pass_rate']:.3f}", cls="xb-score"),
            f" pass rate · {self._counts_text()}",
            cls="xb-headline",
        )
        names = [self.meta.get(name) for name in ("run", "document")]
        title = " · ".join(
            [f"Evaluation, profile {self.meta['profile']}", *map(str, filter(None, names))]
        )
        lines = [*_whys(self), *_caveats(self)]
        listed, arrays = _differing_arrays(self)
        return card_html(
            title,
            headline,
            *(h("div", coded(trimmed(line, 400))) for line in lines),
            element("div", others + null, "xb-desc"),
            *_worst_fields(self, listed),
            *arrays,
            element("div", "xb.show(ev) opens the fields, ev.fields lists all of them", "xb-desc"),
        )


def mismatch_frame(fields: pd.DataFrame) -> pd.DataFrame:
    """Return ``mismatches`` of ``fields``, of one evaluation or of many."""
    frame: pd.DataFrame = registered("mismatch_frame")(fields)
    return frame
