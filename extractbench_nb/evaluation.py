"""`Evaluation`: the records of one evaluation as DataFrames, and its repr in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._html import STYLE, document_text
from extractbench_nb._json import json_text
from extractbench_nb.alignment.similarity import point_score
from extractbench_nb.coverage import declared_share
from extractbench_nb.profiles import Profile
from extractbench_nb.records import ArrayRecord, Leaf
from extractbench_nb.schema.nodes import Schema
from extractbench_nb.scoring import Scored
from extractbench_nb.values import MISSING, Unusable, state_of

__all__ = ["ARRAY_COLUMNS", "FIELD_COLUMNS", "MATCH_COLUMNS", "Evaluation", "Inputs"]

OUTCOMES = (
    "correct",
    "incorrect",
    "omission",
    "hallucination",
    "structural",
    "both_absent",
    "judge_error",
)

FIELD_COLUMNS = FrameSpec(
    "fields",
    "one row an evaluated field and metric",
    (
        Column("path", "string", "instance path with gold's index, `$.authors[2].name`"),
        Column(
            "predicted_path", "string", "the predicted node, where its index differs", nullable=True
        ),
        Column("field", "string", "path with the indices taken out, `authors[].name`"),
        Column("schema_path", "string", "JSON Schema path", nullable=True),
        Column("metric", "string", "metric id"),
        Column("score", "Float64", "score; missing where no verdict was given", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("outcome", "string", "what happened", ", ".join(OUTCOMES)),
        Column("reason", "string", "short machine word for why"),
        Column("reasoning", "string", "a judge's own words", nullable=True),
        Column("gold", "object", "gold's value; None also where the key is missing", nullable=True),
        Column("predicted", "object", "predicted value; None also where missing", nullable=True),
        Column("gold_state", "string", "state", "present, null, missing, empty"),
        Column("predicted_state", "string", "state", "present, null, missing, empty"),
        Column("depth", "int64", "nesting depth of the node in the schema", "0 and up"),
        Column("counted", "bool", "whether the node enters the field-level scores"),
        Column("weight", "float64", "aggregation_weight of the node", "0 and up"),
    ),
)

ARRAY_COLUMNS = FrameSpec(
    "arrays",
    "one row an array that exists on either side",
    (
        Column("path", "string", "instance path of the array"),
        Column("field", "string", "path with the indices taken out"),
        Column("counted", "bool", "whether it enters the field-level scores"),
        Column("gold_items", "int64", "items in gold", "0 and up"),
        Column("predicted_items", "int64", "items predicted", "0 and up"),
        Column("matched", "int64", "pairs in which every scored field passes", "0 and up"),
        Column("partial", "int64", "pairs that are alike but not matched", "0 and up"),
        Column("missed", "int64", "gold items - matched", "0 and up"),
        Column("spurious", "int64", "predicted items - matched", "0 and up"),
        Column("precision", "Float64", "matched / predicted items", "0 to 1", True),
        Column("recall", "Float64", "matched / gold items", "0 to 1", True),
        Column("f1", "Float64", "2 matched / (gold + predicted items)", "0 to 1", True),
        Column("score", "Float64", "score of the array under the profile", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
    ),
)

MATCH_COLUMNS = FrameSpec(
    "matches",
    "one row a gold item, plus one a spurious predicted item",
    (
        Column("path", "string", "instance path of the array"),
        Column("gold_index", "Int64", "place in gold", "0 and up", True),
        Column("predicted_index", "Int64", "place in the prediction", "0 and up", True),
        Column("status", "string", "what became of it", "matched, partial, missed, spurious"),
        Column("similarity", "Float64", "mean score of the item's fields", "0 to 1", True),
        Column("failed_fields", "object", "fields that keep the pair from matching, a tuple"),
        Column("gold", "object", "gold's item", nullable=True),
        Column("predicted", "object", "predicted item", nullable=True),
    ),
)

SUMMARY = (
    Column("overall_score", "float64", "mean score, an array weighs its gold items", "0 to 1"),
    Column("field_score", "float64", "mean score, every node weighs the same", "0 to 1"),
    Column("pass_rate", "float64", "passed / evaluated", "0 to 1"),
    Column("pass_rate_judged", "float64", "passed / judged", "0 to 1"),
    Column("evaluated", "int64", "counted nodes"),
    Column("judged", "int64", "counted nodes that got a verdict"),
    Column("passed", "int64", "counted nodes that passed"),
    Column("failed", "int64", "judged - passed"),
    Column("omissions", "int64", "gold present, predicted absent"),
    Column("hallucinations", "int64", "gold absent, predicted present"),
    Column("structural", "int64", "predicted of a type that neither schema nor gold has"),
    Column("judge_errors", "int64", "counted nodes without a verdict"),
    Column("gold_coverage", "float64", "share of gold's leaves that the schema declares", "0 to 1"),
    Column("llm_calls", "int64", "calls of a language model"),
    Column("llm_cost_usd", "float64", "what they cost"),
)


class Inputs(NamedTuple):
    """What was compared: schema, both documents, and the parser's message where one did not parse."""

    schema: Schema
    gold: Any
    predicted: Any
    problem: str | None


class Evaluation:
    """The result of one evaluation; frozen.

    Attributes
    ----------
    fields, arrays, matches : pandas.DataFrame
        One row a field and metric; an array; an item. Each access gives a copy.
    summary : pandas.Series
        Scores and counts over the counted nodes. Scores are in [0, 1]; where nothing is counted
        they are 1 and ``evaluated`` is 0.
    warnings : pandas.DataFrame
        Faults of the annotation, undeclared keys, violations of the schema.
    meta : dict
        Profile, judge, alignment, seconds, versions.
    """

    __slots__ = ("__dict__", "_ignored", "_inputs", "_meta", "_profile", "_top")

    def __init__(
        self,
        top: list[Leaf],
        profile: Profile,
        inputs: Inputs,
        meta: Mapping[str, Any],
        ignored: Mapping[str, str],
    ) -> None:
        set_ = object.__setattr__
        set_(self, "_top", tuple(top))
        set_(self, "_profile", profile)
        set_(self, "_inputs", inputs)
        set_(self, "_meta", dict(meta))
        set_(self, "_ignored", dict(ignored))

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a result is frozen."""
        raise AttributeError(f"an Evaluation is frozen; cannot set {name!r}")

    @property
    def fields(self) -> pd.DataFrame:
        """One row an evaluated field and metric; `Evaluation.columns()` tells the columns."""
        return self._fields.copy()

    @property
    def arrays(self) -> pd.DataFrame:
        """One row an array that exists on either side."""
        return self._arrays.copy()

    @property
    def matches(self) -> pd.DataFrame:
        """One row a gold item, plus one a spurious predicted item."""
        return self._matches.copy()

    @property
    def summary(self) -> pd.Series:
        """Scores and counts over the counted nodes."""
        return self._summary.copy()

    @property
    def warnings(self) -> pd.DataFrame:
        """What is wrong with gold, the prediction or the schema without being a score."""
        return self._warnings.copy()

    @property
    def meta(self) -> dict[str, Any]:
        """Profile, judge, alignment, seconds, and the versions that were used."""
        from extractbench_nb._version import __version__

        return {
            **self._meta,
            "extractbench_nb": __version__,
            "pandas": pd.__version__,
            "python": sys.version.split()[0],
        }

    @property
    def schema(self) -> Schema:
        """The parsed schema."""
        return self._inputs.schema

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of every frame: name, dtype, range, meaning."""
        specs = [FIELD_COLUMNS, ARRAY_COLUMNS, MATCH_COLUMNS, FrameSpec("summary", "", SUMMARY)]
        return pd.concat([s.describe().assign(frame=s.name) for s in specs], ignore_index=True)

    @cached_property
    def _fields(self) -> pd.DataFrame:
        rows = [row for leaf in _walk(self._top) for row in _field_rows(leaf)]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(FIELD_COLUMNS.columns)
        return FIELD_COLUMNS.build(dict(zip(FIELD_COLUMNS.names, columns, strict=True)))

    @cached_property
    def _arrays(self) -> pd.DataFrame:
        rows = [_array_row(a) for a in self._array_records()]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(ARRAY_COLUMNS.columns)
        return ARRAY_COLUMNS.build(dict(zip(ARRAY_COLUMNS.names, columns, strict=True)))

    @cached_property
    def _matches(self) -> pd.DataFrame:
        rows = [row for a in self._array_records() for row in _match_rows(a)]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(MATCH_COLUMNS.columns)
        return MATCH_COLUMNS.build(dict(zip(MATCH_COLUMNS.names, columns, strict=True)))

    def _array_records(self) -> Iterator[ArrayRecord]:
        one_sided = False  # arrays inside missed and spurious items have leaves, but no rows
        return (
            a for a in _walk(self._top, one_sided) if isinstance(a, ArrayRecord) and a.exists
        )

    @cached_property
    def _summary(self) -> pd.Series:
        from extractbench_nb.summary import summarise

        counted = (leaf for leaf in _walk(self._top) if leaf.counted)
        values = summarise(counted, self._profile)
        root, gold = self._inputs.schema.root, self._inputs.gold
        values["gold_coverage"] = declared_share(root, gold)
        values["llm_calls"], values["llm_cost_usd"] = 0, 0.0
        names = [c.name for c in SUMMARY]
        return pd.Series([values[n] for n in names], index=names, dtype=object, name="summary")

    @cached_property
    def _warnings(self) -> pd.DataFrame:
        from extractbench_nb.drift import document_warnings

        return document_warnings(*self._inputs, self._ignored)

    def __repr__(self) -> str:
        """Write scores and counts in a few lines."""
        from extractbench_nb.card import card_text

        return card_text(self)

    def _repr_html_(self) -> str:
        from extractbench_nb.card import card_html

        return card_html(self)


def _walk(top: tuple[Leaf, ...] | list[Leaf], one_sided: bool = True) -> Iterator[Leaf]:
    """Yield the records in document order: an array, then what is in its pairs."""
    stack = list(reversed(top))
    while stack:
        leaf = stack.pop()
        yield leaf
        if isinstance(leaf, ArrayRecord):
            for pair in reversed(leaf.pairs):
                if pair.status in ("matched", "partial") or (
                    one_sided and pair.status in ("missed", "spurious")
                ):
                    stack.extend(reversed(pair.children))


def _value(value: Any) -> Any:
    return None if value is MISSING or isinstance(value, Unusable) else value


def _field_rows(leaf: Leaf) -> Iterator[tuple[Any, ...]]:
    node = leaf.node
    is_array = node.kind == "array"
    gold_state = state_of(leaf.gold, is_array=is_array)
    predicted = MISSING if isinstance(leaf.predicted, Unusable) else leaf.predicted
    predicted_state = state_of(predicted, is_array=is_array)
    for verdict in leaf.verdicts:
        assert isinstance(verdict, Scored)  # noqa: S101 - every pending verdict was settled
        yield (
            leaf.path,
            leaf.predicted_path,
            node.field or "$",
            node.schema_path or None,
            verdict.metric,
            verdict.score,
            verdict.passed,
            verdict.outcome,
            verdict.reason,
            verdict.reasoning,
            _value(leaf.gold),
            _value(predicted),
            gold_state,
            predicted_state,
            node.depth,
            leaf.counted,
            node.weight,
        )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _array_row(a: ArrayRecord) -> tuple[Any, ...]:
    gold, predicted, matched = len(a.gold_items), len(a.predicted_items), a.matched
    partial = sum(pair.status == "partial" for pair in a.pairs)
    return (
        a.path,
        a.node.field or "$",
        a.counted,
        gold,
        predicted,
        matched,
        partial,
        gold - matched,
        predicted - matched,
        _ratio(matched, predicted),
        _ratio(matched, gold),
        _ratio(2 * matched, gold + predicted),
        a.score,
        a.passed,
    )


def _match_rows(a: ArrayRecord) -> Iterator[tuple[Any, ...]]:
    paired = {p.gold_index: p for p in a.pairs if p.status in ("matched", "partial")}
    theirs = {p.predicted_index for p in paired.values()}
    for i, gold in enumerate(a.gold_items):
        pair = paired.get(i)
        if pair is None or pair.predicted_index is None:
            yield (a.path, i, None, "missed", None, (), gold, None)
        else:
            j = pair.predicted_index
            predicted = a.predicted_items[j]
            yield (a.path, i, j, pair.status, pair.similarity, pair.failed_fields, gold, predicted)
    for j, predicted in enumerate(a.predicted_items):
        if j not in theirs:
            yield (a.path, None, j, "spurious", None, (), None, predicted)
