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
from rapidfuzz.distance import Prefix

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
    array_row,
    call_rows,
    document_warnings,
    field_rows,
    match_rows,
    total_cost,
)
from extractbench_nb.core.frames import TEXT, DescribedFrames, built_once, scores_of
from extractbench_nb.core.pairing import declared_share
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.registered import registered
from extractbench_nb.core.rollup import summarise
from extractbench_nb.core.schema.schema_nodes import Schema
from extractbench_nb.core.traversal import ArrayRecord, Leaf, in_order
from extractbench_nb.core.values import canonical, json_text, json_type
from extractbench_nb.errors import InputError, nearest
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

# --- the lines and tables of the card ------------------------------------------------------------


def _lines(ev: Evaluation) -> list[str]:
    """Say why the scores are low, what limits them, and what rules found."""
    s, lines = ev.summary, []
    if why := find_causes(ev).text:
        lines.append(f"pass_rate {why}")
    if s["pass_rate"] - s["overall_score"] > _FAR:
        lines.append(f"overall_score {find_causes(ev, measure='overall_score').text}")
    if not s["evaluated"]:
        lines.append("no field is scored: the scores say nothing")
    if s["judge_errors"]:
        judged = f"{s['pass_rate_judged']:.3f} of the judged pass" if s["judged"] else "none judged"
        errors = f"{plural(s['judge_errors'], 'field')} without a verdict"
        lines.append(f"{errors}; pass_rate is a lower bound, {judged}")
    if read := int(ev.counted_fields["accepted_as"].notna().sum()):
        lines.append(f"{plural(read, 'field')} read as an accepted alternative")
    if s["gold_coverage"] < 1:
        lines.append(f"the schema declares only {s['gold_coverage']:.1%} of gold's values")
    if s["unlabelled"]:
        lines.append(f"{plural(s['unlabelled'], 'gold value')} unlabelled, so not scored")
    lines += _of_profile(ev)
    rules = ev.rules if RULES else RULE_COLUMNS.build()
    gold, predicted = rules["outcome_gold"], rules["outcome_predicted"]
    failed = int((gold.eq("error") | predicted.eq("error").fillna(False)).sum())
    parts = [
        f"{plural(n, 'rule')} broken by {side}"
        for side, outcomes in (("the prediction", predicted), ("gold", gold))
        if (n := int(outcomes.eq("broken").sum()))
    ]
    if failed:
        parts.append(f"{plural(failed, 'rule')} without a verdict")
    return [*lines, ", ".join(parts) + "; .rules has them"] if parts else lines


def _of_profile(ev: Evaluation) -> list[str]:
    """Name the spurious items that cost nothing, or the array that outweighs all other fields."""
    arrays = ev.arrays[ev.arrays["counted"]].fillna({"spurious": 0})
    spurious: Counter[str] = Counter()
    for field, n in zip(arrays["field"], arrays["spurious"], strict=True):
        spurious[field] += int(n)
    if ev.profile.array_score == "recall" and (total := spurious.total()):
        names = [field for field, n in spurious.most_common(_MOST_NAMED) if n]
        more = ", ..." if len(+spurious) > len(names) else ""
        where = f"{plural(total, 'spurious item')} in {', '.join(names)}{more}"
        return [f"{where}: profile {ev.profile.name} takes nothing off for them"]
    fields = ev.counted_fields.drop_duplicates("path", keep="last")["field"]
    rows = Counter(field.partition("[")[0] for field in fields)
    for field, n in rows.most_common(1):
        rest = rows.total() - n
        if ev.profile.count_array_leaves and rest and n > _OUTWEIGHS * rest:
            share = f"{n:,} of {rows.total():,} counted fields"
            return [f"{share} are in {field}; field_score takes each schema field once"]
    return []


def _differing_arrays(ev: Evaluation) -> tuple[set[str], list[Node | None]]:
    """List the arrays with items that do not match, worst first; not those inside items."""
    arrays = ev.arrays
    is_outer = arrays["counted"] | ~arrays["field"].str.contains("[]", regex=False)
    arrays = arrays[is_outer & (arrays["gold_items"] + arrays["predicted_items"] > 0)]
    counts = ["gold_items", "predicted_items", "matched", "differing", "missed", "spurious"]
    sizes = arrays[["gold_items", "predicted_items"]]
    is_same = sizes.eq(arrays["matched"].fillna(-1), axis=0).all(axis=1)
    differ = arrays[~is_same].sort_values("f1", kind="stable")
    rows = [
        [breakable(one_line(field, 120)), *("n/a" if n is pd.NA else str(n) for n in row)]
        for field, row in zip(differ["field"], differ[counts].to_numpy(object), strict=True)
    ][:_MOST_ARRAYS]
    notes = [more_rows(len(differ) - _MOST_ARRAYS, "arrays")]
    if same := int(is_same.sum()):
        notes.insert(0, f"{plural(same, 'array')} matched completely")
    heads = ("arrays that differ", *(name.replace("_", " ") for name in counts))
    note = "; ".join(filter(None, notes))
    more = h("div", note, cls="xb-desc") if note else None
    return {*differ["field"][:_MOST_ARRAYS]}, [card_table(heads, rows, 6), more]


def _worst_fields(ev: Evaluation, listed: Container[str]) -> list[Node | None]:
    """List the counted fields that do not pass, except arrays that are listed themselves."""
    worst = ev.worst()
    shown = [row for row in worst if row["field"] not in listed]
    rows = [
        [
            breakable(one_line(row["path"], 120)),
            row["outcome"],
            one_line(_reason(row), 120),
            *_shown_pair(row["gold"], row["predicted"]),
            _score_text(row["score"]),
        ]
        for row in shown
    ]
    heads = ("worst fields", "outcome", "reason", "gold", "predicted", "score")
    hidden = ev.summary["evaluated"] - ev.summary["passed"] - len(worst)
    return [card_table(heads, rows, 1), more_block(hidden, "fields")]


def _reason(row: Mapping[str, Any]) -> str:
    parts = (row["reason"], accepted_text(row["accepted_as"]), row["reasoning"])
    return ": ".join(part for part in parts if part)


def _score_text(score: float | None) -> str:
    return "n/a" if score is None else f"{score:.3f}"


def _shown_pair(gold: Any, predicted: Any) -> list[str]:
    """Write both values: with the quotes of JSON if their types differ, from where texts differ."""
    quoted = None not in (gold, predicted) and json_type(gold) != json_type(predicted)
    shown = [_shown(gold, quoted), _shown(predicted, quoted)]
    if isinstance(gold, str) and isinstance(predicted, str) and shown[0] == shown[1]:
        start = Prefix.similarity(gold, predicted) - _BEFORE
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


# --- the result -----------------------------------------------------------------------------------


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
        frames = ("fields", "arrays", "matches", "judge_calls", "summary")
        kept = {name: getattr(self, name) for name in ("profile", "inputs", "_meta", "_notes")}
        return {f"_{name}": getattr(self, name) for name in frames} | kept | {"records": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` kept."""
        self.__dict__.update(state)

    @property
    @built_once
    def fields(self) -> pd.DataFrame:
        """One row per evaluated field and metric; `Evaluation.columns()` describes the columns.

        `to_parquet` writes it to a file; pandas' own ``to_parquet`` cannot if values of several
        types are in one column.
        """
        return FIELD_COLUMNS.from_rows(field_rows(self.leaves))

    @property
    @built_once
    def arrays(self) -> pd.DataFrame:
        """One row per array that exists on either side."""
        return ARRAY_COLUMNS.from_rows(map(array_row, self.array_records))

    @property
    @built_once
    def matches(self) -> pd.DataFrame:
        """One row per gold item, plus one per spurious predicted item."""
        return MATCH_COLUMNS.from_rows(row for a in self.array_records for row in match_rows(a))

    @property
    @built_once
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model; empty for rule-based judges."""
        return CALL_COLUMNS.from_rows(call_rows(self.records))

    @property
    @built_once
    def summary(self) -> pd.Series:
        """Scores and counts over the counted nodes."""
        values = self._summary_row([*call_rows(self.records)])
        return pd.Series(values, SUMMARY.names, dtype=object, name="summary")

    @property
    @built_once
    def warnings(self) -> pd.DataFrame:
        """One row per finding about gold, the prediction or the schema; scores are unaffected."""
        return document_warnings(*self.inputs, self._notes)

    @property
    @built_once
    def mismatches(self) -> pd.DataFrame:
        """One row per wrong value, with its path and kind of mismatch; computed on first access."""
        return mismatch_frame(self.fields)

    @property
    def rules(self) -> pd.DataFrame:
        """One row per registered rule that applies to the schema; rules run on each access.

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
        """One row per evaluated field and metric, with the labels ``run`` and ``document``."""
        labels, fields = {name: self._meta.get(name) for name in ("run", "document")}, self.fields
        ids = {n: pd.array([v] * len(fields), dtype=TEXT) for n, v in labels.items()}
        return pd.DataFrame({**ids, **fields})

    @property
    def scores(self) -> pd.DataFrame:
        """One row per measure, with its score and, if labelled, the run and document."""
        labels = {name: [self._meta.get(name)] for name in ("run", "document")}
        cells = {name: [self.summary[name]] for name in SUMMARY.measures}
        return scores_of(pd.DataFrame(labels | cells), SUMMARY.measures)

    def frame_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of fields, arrays, matches, judge_calls and summary, for other frames."""
        arrays = self.array_records
        calls = list(call_rows(self.records))
        return {
            "fields": field_rows(self.leaves),
            "arrays": [array_row(array) for array in arrays],
            "matches": [row for array in arrays for row in match_rows(array)],
            "judge_calls": calls,
            "summary": [self._summary_row(calls)],
        }

    @cached_property
    def counted_fields(self) -> pd.DataFrame:
        """The rows of ``fields`` that count towards the scores."""
        fields = self.fields
        return fields[fields["counted"]]

    def outcome_counts(self) -> dict[str, int]:
        """Count the counted rows of ``fields`` by outcome, most frequent outcome first."""
        return dict(Counter(self.counted_fields["outcome"]).most_common())

    def worst(self, n: int = 8) -> list[dict[str, Any]]:
        """Return up to `n` counted rows of ``fields`` that fail, first those without a score."""
        fields = self.counted_fields
        failed = fields[~fields["passed"].fillna(False).to_numpy(dtype=bool)]
        ranked = failed.sort_values("score", kind="stable", na_position="first")[:n].astype(object)
        return ranked.where(ranked.notna(), None).to_dict("records")  # type: ignore[return-value]

    def scores_text(self) -> str:
        """Return the scores, counts by outcome and caveats as text of several lines."""
        head = " · ".join(f"{name} {score}" for name, score in self._scores().items())
        title = f"Evaluation ({self.meta['profile']}): {head}"
        return "\n  ".join([title, self._counts_text(), *_lines(self)])

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
        """Return the instance path of an array, given by path or field, or of the only array."""
        arrays = self.arrays[["path", "field"]].to_numpy(object).tolist()
        if not arrays:
            raise InputError("the evaluation has no arrays: neither gold nor prediction has one")
        found = [at for at, _ in arrays]
        if path is not None:
            wanted = {str(path), str(path).removeprefix("$.").removesuffix("[]")}
            by_path = [at for at, _ in arrays if at in (path, f"$.{path}")]
            found = by_path or [at for at, field in arrays if field in wanted]
        if len(found) == 1:
            return str(found[0])
        if not found:
            hint = nearest(one_line(str(path)), {one_line(name) for row in arrays for name in row})
            raise InputError(f"there is no array {one_line(str(path))!r}; {hint}")
        more = ", ..." if len(found) > _MOST_ARRAYS else ""
        named = ", ".join(repr(one_line(at)) for at in found[:_MOST_ARRAYS]) + more
        problem = f"path is {path!r}; {len(found):,} arrays fit, pass the path of one: {named}"
        raise InputError(problem)

    @property
    def is_settled(self) -> bool:
        """Whether every metric gave a verdict, those inside arrays included."""
        verdicts = (verdict for leaf in self.leaves for verdict in leaf.verdicts)
        return not any(verdict.outcome == "judge_error" for verdict in verdicts)

    @property
    def meta(self) -> dict[str, Any]:
        """The profile, judge, alignment, seconds and versions of the evaluation."""
        return {
            **self._meta,
            "extractbench_nb": __version__,
            "pandas": pd.__version__,
            "python": sys.version.split()[0],
        }

    def labelled(self, **labels: str) -> Evaluation:
        """Return the same result with labels in `meta`, such as ``run`` and ``document``."""
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__, _meta={**self._meta, **labels})
        return same

    @property
    def schema(self) -> Schema:
        """The parsed schema."""
        return self.inputs.schema

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every record in document order, including those of arrays and inside arrays."""
        return tuple(in_order(self.records))

    @cached_property
    def array_records(self) -> list[ArrayRecord]:
        """The records of ``arrays``, outer before inner; none after pickling."""
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

        If rules apply to the schema, their outcomes are written to rules.parquet. Columns that
        contain values of documents, of which each row may have another type, become JSON text, so
        that ``pandas.read_parquet`` and other tools read every file.

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

    def _summary_row(self, calls: Sequence[tuple[Any, ...]]) -> tuple[float, ...]:
        counted = [leaf for leaf in self.leaves if leaf.counted]
        values = summarise(counted, by_field=self.profile.count_array_leaves) | {
            "null_pass_rate": self._null_pass_rate(),
            "unlabelled": sum(kind == "unlabelled" for _, _, kind, *_ in self._notes),
            "gold_coverage": declared_share(self.schema.root, self.inputs.gold),
            "llm_calls": len(calls),
            "llm_cost_usd": total_cost(CALL_COLUMNS.from_rows(calls)) if calls else 0.0,
        }
        return tuple(values[name] for name in SUMMARY.names)

    def __repr__(self) -> str:
        """Write scores, counts and the worst fields in a few lines."""
        worst = (
            f"  {_score_text(r['score']):>5} {r['path']}  {r['outcome']} ({_reason(r)})"
            for r in self.worst(5)
        )
        return "\n".join([self.scores_text(), *worst])

    def _repr_html_(self) -> str:
        """Write a card: the headline with its cause, other scores, arrays and the worst fields."""
        scores, floor = self._scores(), self.summary["null_pass_rate"]
        others = " · ".join(f"{name.replace('_', ' ')} {scores[name]}" for name in _SCORES[1:])
        null = f" · a null prediction reaches {floor:.3f}" if floor else ""
        rate = h("b", f"{self.summary['pass_rate']:.3f}", cls="xb-score")
        names = [str(name) for name in map(self.meta.get, ("run", "document")) if name]
        listed, arrays = _differing_arrays(self)
        return card_html(
            " · ".join([f"Evaluation, profile {self.meta['profile']}", *names]),
            h("div", rate, f" pass rate · {self._counts_text()}", cls="xb-headline"),
            *(h("div", coded(trimmed(line, 400))) for line in _lines(self)),
            element("div", others + null, "xb-desc"),
            *_worst_fields(self, listed),
            *arrays,
            element("div", "xb.show(ev) opens the fields, ev.fields lists all of them", "xb-desc"),
        )


def mismatch_frame(fields: pd.DataFrame) -> pd.DataFrame:
    """Return ``mismatches`` of ``fields``, of one evaluation or of many."""
    frame: pd.DataFrame = registered("mismatch_frame")(fields)
    return frame
