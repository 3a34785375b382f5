"""The frames of an evaluation: declared columns, the rows from records, and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Any

import pandas as pd

from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.pairing import resolve_union, undeclared
from extractbench_nb.core.schema.schema_nodes import (
    MISSING,
    NOWHERE,
    PRESENT,
    Node,
    Schema,
    Unusable,
)
from extractbench_nb.core.schema.validation import Validation
from extractbench_nb.core.scoring import point_score
from extractbench_nb.core.traversal import PAIRED, ArrayRecord, Leaf, in_order
from extractbench_nb.core.values import SCALARS, UNLABELED, bracketed, json_text, member
from extractbench_nb.support.wording import cut, plural

#: What can happen to a value; the values of the column ``outcome``.
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
    "one row per evaluated field and metric",
    (
        Column("path", "string", "instance path with the indices in gold, `$.authors[2].name`"),
        Column(
            "predicted_path",
            "string",
            "path of the predicted node if its indices differ",
            nullable=True,
        ),
        Column("field", "string", "path without indices, `authors[].name`"),
        Column("schema_path", "string", "JSON Schema path", nullable=True),
        Column("metric", "string", "metric id"),
        Column("score", "Float64", "score; missing without a verdict", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("outcome", "string", "result for the field", ", ".join(OUTCOMES)),
        Column("reason", "string", "short code of the reason"),
        Column("reasoning", "string", "the judge's explanation", nullable=True),
        Column("gold", "object", "gold value; None also if the key is missing", nullable=True),
        Column("predicted", "object", "predicted value; None also if missing", nullable=True),
        Column("gold_state", "string", "state", "present, null, missing, empty"),
        Column("predicted_state", "string", "state", "present, null, missing, empty"),
        Column("depth", "int64", "nesting depth of the node in the schema", "0 and up"),
        Column("counted", "bool", "whether the node enters the field-level scores"),
        Column(
            "weight", "float64", "aggregation_weight (in strict, times its arrays')", "0 and up"
        ),
        Column("required", "bool", "whether the schema requires the node's key"),
        Column(
            "accepted_as",
            "string",
            "accepted alternative that was used, as JSON, if any",
            nullable=True,
        ),
    ),
)

ARRAY_COLUMNS = FrameSpec(
    "arrays",
    "one row per array that exists on either side; no counts if its items were not aligned",
    (
        Column("path", "string", "instance path of the array"),
        Column("field", "string", "path without indices"),
        Column("counted", "bool", "whether it enters the field-level scores"),
        Column("gold_items", "int64", "items in gold", "0 and up"),
        Column("predicted_items", "int64", "items predicted", "0 and up"),
        Column("matched", "Int64", "pairs in which every scored field passes", "0 and up", True),
        Column("differing", "Int64", "pairs in which a field fails", "0 and up", True),
        Column("missed", "Int64", "gold items without a partner", "0 and up", True),
        Column("spurious", "Int64", "predicted items without a partner", "0 and up", True),
        Column("precision", "Float64", "matched / predicted items", "0 to 1", True),
        Column("recall", "Float64", "matched / gold items", "0 to 1", True),
        Column("f1", "Float64", "2 matched / (gold + predicted items)", "0 to 1", True),
        Column("score", "Float64", "score of the array in the profile", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
    ),
)

MATCH_COLUMNS = FrameSpec(
    "matches",
    "one row per gold item, plus one per spurious predicted item",
    (
        Column("path", "string", "instance path of the array"),
        Column("gold_index", "Int64", "position in gold", "0 and up", True),
        Column("predicted_index", "Int64", "position in the prediction", "0 and up", True),
        Column("status", "string", "result of the pairing", "matched, differing, missed, spurious"),
        Column("similarity", "Float64", "mean score of the item's fields", "0 to 1", True),
        Column("failed_fields", "object", "fields that prevent a match, a tuple"),
        Column("gold", "object", "gold item", nullable=True),
        Column("predicted", "object", "predicted item", nullable=True),
        Column(
            "accepted_as",
            "string",
            "accepted alternative that was used, as JSON, if any",
            nullable=True,
        ),
    ),
)

SUMMARY = FrameSpec(
    "summary",
    "one value per entry",
    (
        Column("pass_rate", "float64", "passed / evaluated, the main score", "0 to 1"),
        Column("overall_score", "float64", "mean score; arrays weighted by gold items", "0 to 1"),
        Column(
            "field_score", "float64", "mean score of schema fields; in paper, of nodes", "0 to 1"
        ),
        Column(
            "pass_rate_judged", "float64", "passed / judged; NaN without a verdict", "0 to 1", True
        ),
        Column("null_pass_rate", "float64", "pass rate of a null prediction", "0 to 1"),
        Column("precision", "float64", "right / predicted values", "0 to 1", True),
        Column("recall", "float64", "right / gold values", "0 to 1", True),
        Column("f1", "float64", "2 right / (gold + predicted values)", "0 to 1", True),
        Column("evaluated", "int64", "counted nodes", "0 and up"),
        Column("judged", "int64", "counted nodes with a verdict", "0 and up"),
        Column("passed", "int64", "counted nodes that passed", "0 and up"),
        Column("failed", "int64", "judged - passed", "0 and up"),
        Column("omissions", "int64", "gold present, predicted absent", "0 and up"),
        Column("hallucinations", "int64", "gold absent, predicted present", "0 and up"),
        Column("structural", "int64", "values whose type fits neither schema nor gold", "0 and up"),
        Column("judge_errors", "int64", "counted nodes without a verdict", "0 and up"),
        Column("unlabelled", "int64", "gold values marked as `UNLABELED`, not scored", "0 and up"),
        Column("gold_coverage", "float64", "share of gold that the schema declares", "0 to 1"),
        Column("llm_calls", "int64", "calls of a language model", "0 and up"),
        Column("llm_cost_usd", "float64", "cost of these calls; NaN if unknown", "0 and up", True),
    ),
)


CALL_COLUMNS = FrameSpec(
    "judge_calls",
    "one row per call of a model",
    (
        Column("path", "string", "instance path of the field in question"),
        Column("field", "string", "path without indices"),
        Column("metric", "string", "metric that called the judge"),
        Column("model", "string", "LiteLLM id of the model"),
        Column("cached", "bool", "whether the answer came from the cache, without a request"),
        Column("attempts", "int64", "requests that were made", "0 and up"),
        Column(
            "prompt_tokens",
            "Int64",
            "tokens in the prompt, as counted by the provider",
            "0 and up",
            True,
        ),
        Column("completion_tokens", "Int64", "tokens in the answer", "0 and up", True),
        Column("cost_usd", "Float64", "cost at list prices; missing if unknown", "0 and up", True),
        Column("latency_seconds", "float64", "time until the answer, including waits", "0 and up"),
        Column("score", "Float64", "score in the answer, if any", "0 to 1", True),
        Column("answer", "string", "the model's final answer", nullable=True),
        Column("error", "string", "reason for a missing verdict", nullable=True),
        Column(
            "passed", "boolean", "whether the score reaches the field's threshold", nullable=True
        ),
    ),
)


def total_cost(calls: pd.DataFrame) -> float:
    """Sum the cost of calls in US dollars; NaN if the cost of an answer is unknown."""
    answered = calls["answer"].notna() | calls["score"].notna()
    unknown = answered & ~calls["cached"] & calls["cost_usd"].isna()
    return nan if unknown.any() else float(calls["cost_usd"].sum())


def call_rows(top: Sequence[Leaf]) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of ``judge_calls``, one row per call, also of pairs that do not count."""
    for leaf in in_order(top, apart=True):
        for verdict in leaf.verdicts:
            if not verdict.calls:
                continue
            config = leaf.node.config
            specs = config.metrics if config is not None else ()
            params = next((s.params for s in specs if s.metric_id == verdict.metric), {})
            for call in verdict.calls:
                mark = REGISTRY.get(verdict.metric).pass_mark(params)
                passed = None if call.score is None else call.score >= mark
                yield (leaf.paths.gold, leaf.node.field or "$", verdict.metric, *call, passed)


def field_rows(leaves: Iterable[Leaf]) -> list[tuple[Any, ...]]:
    """Return the cells of ``fields``, one row per record and metric."""
    rows: list[tuple[Any, ...]] = []
    for leaf in leaves:
        node, paths, gold, predicted = leaf.node, leaf.paths, leaf.gold, leaf.predicted
        gold_state = predicted_state = PRESENT
        if type(gold) not in SCALARS or type(predicted) not in SCALARS:
            gold_state, predicted_state = leaf.states
            gold = None if gold is MISSING else gold
            predicted = None if predicted is MISSING else predicted
            if isinstance(predicted, Unusable):  # the broken container that stands in its place
                predicted = predicted.value if predicted_state == PRESENT else None
        place = (paths.gold, paths.predicted, node.field or "$", node.schema_path or None)
        values = (gold, predicted, gold_state, predicted_state)
        rest = (node.depth, leaf.counted, leaf.weight, node.required)
        rows += [(*place, *v[:6], *values, *rest, v.accepted) for v in leaf.verdicts]
    return rows


def array_row(a: ArrayRecord) -> tuple[Any, ...]:
    """Return the cells of ``arrays`` for one array."""
    gold, predicted, matched = len(a.gold_items), len(a.predicted_items), a.matched
    counts: tuple[Any, ...] = (None,) * 7
    if not a.unaligned:
        differing = sum(pair.status == "differing" for pair in a.pairs)
        precision = matched / predicted if predicted else None
        recall = matched / gold if gold else None
        f1 = 2 * matched / (gold + predicted) if gold or predicted else None
        paired = matched + differing
        missed, spurious = gold - paired, predicted - paired
        counts = (matched, differing, missed, spurious, precision, recall, f1)
    field = a.node.field or "$"
    return (a.paths.gold, field, a.counted, gold, predicted, *counts, *point_score(a.verdicts))


def match_rows(a: ArrayRecord) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of ``matches`` for one array; none where its items were not aligned."""
    if a.unaligned:
        return
    paired = {p.gold_index: p for p in a.pairs if p.status in PAIRED}
    paired_predicted = {p.predicted_index for p in paired.values()}
    for i, gold in enumerate(a.gold_items):
        pair = paired.get(i)
        if pair is None or pair.predicted_index is None:
            yield (a.paths.gold, i, None, "missed", None, (), gold, None, None)
        else:
            j = pair.predicted_index
            verdict = pair.status, pair.similarity, pair.failed_fields
            yield (a.paths.gold, i, j, *verdict, gold, a.predicted_items[j], pair.accepted)
    for j, predicted in enumerate(a.predicted_items):
        if j not in paired_predicted:
            yield (a.paths.gold, None, j, "spurious", None, (), None, predicted, None)


# --- warnings -------------------------------------------------------------------------------------

WARNING_COLUMNS = FrameSpec(
    "warnings",
    "one row per finding",
    (
        Column("side", "string", "source of the problem", "gold, predicted, schema"),
        Column("path", "string", "instance path; for the schema, its schema path"),
        Column("kind", "string", "undeclared, ignored_param, ... or the violated keyword"),
        Column("message", "string", "what was found"),
        Column("value", "object", "the value", nullable=True),
    ),
)

#: Characters of a message, and of the value in it.
_LONGEST, _LONGEST_VALUE = 1_000, 120
_CONFIG = "evaluation_config"
#: Letters by which a keyword may differ from it to be taken for a slip.
_TYPOS = 2
#: One warning: side, path, kind, message, value.
Note = tuple[str, str, str, str, Any]
NOTHING_SCORED: Note = (
    "schema",
    "$",
    "nothing_scored",
    "the schema scores no field of this document; its scores say nothing",
    None,
)


def document_warnings(
    schema: Schema, gold: Any, predicted: Any, problem: str | None, notes: Iterable[Note]
) -> pd.DataFrame:
    """Collect the warnings of one evaluation."""
    rows = list(_of_side("gold", schema, gold, gold))
    if problem is None:
        rows.extend(_of_side("predicted", schema, predicted, gold))
    else:
        rows.append(("predicted", "$", "unparsable_json", problem, predicted))
    rows.extend(notes)
    rows.extend(_of_schema(schema))
    return WARNING_COLUMNS.from_rows(rows)


def _of_schema(schema: Schema) -> Iterator[Note]:
    """Tell of an ``evaluation_config`` that is ignored or misspelt, and of a schema that is empty.

    The config of an object is ignored: its children are scored instead of it.
    """
    from rapidfuzz.distance import Levenshtein

    nodes = list(schema.nodes())
    for node in nodes:
        if node.kind == "object" and node.declared and node.config is None:
            message = "evaluation_config of an object is ignored: its children are scored"
            yield "schema", node.schema_path, "ignored_config", message, node.keywords.get(_CONFIG)
    for node in nodes:
        for key, value in node.keywords.items():
            if 0 < Levenshtein.distance(key, _CONFIG, score_cutoff=_TYPOS) <= _TYPOS:
                message = f"{key!r} is ignored; did you mean {_CONFIG!r}?"
                yield "schema", node.schema_path, "unknown_keyword", message, value
    if schema.root.kind == "any" and not schema.root.declared:
        message = (
            "the schema has neither type nor properties: the document is compared as one value"
        )
        yield "schema", "$", "says_nothing", message, None


def ignored_params(ignored: Mapping[str, str]) -> Note:
    """Return one note for all nodes whose ``model`` param the offline judge ignores."""
    path, metric = next(iter(ignored.items()))
    nodes = plural(len(ignored), "node")
    message = f"param 'model' of {metric} is ignored by the offline judge ({nodes})"
    return "schema", path, "ignored_param", message, None


def _of_side(side: str, schema: Schema, document: Any, gold: Any) -> Iterator[Note]:
    for path, value, *_ in undeclared(schema.root, document, gold):
        yield side, "$" + path, "undeclared", "the schema does not declare this", value
    for violation in violations(schema, document):
        yield side, *violation


def violations(schema: Schema, document: Any) -> Iterator[tuple[str, str, str, Any]]:
    """Validate a document with jsonschema, by the draft of the schema, formats too."""
    for error in Validation(schema.document).iter_errors(document):
        is_told = error.validator == "additionalProperties"  # key by key
        if not is_told and error.instance is not UNLABELED:
            path = _instance_path(schema.root, document, error.absolute_path)
            yield (
                path,
                str(error.validator),
                _message(error.message, error.instance),
                error.instance,
            )


def _instance_path(root: Node, document: Any, parts: Iterable[Any]) -> str:
    """Write a path as in ``fields``: keys of maps in brackets."""
    path, node, value = "$", root, document
    for part in parts:
        node = resolve_union(node, value, MISSING)
        value, below = value[part], node.children
        if isinstance(part, int):
            path, node = f"{path}[{part}]", node.item(part) or NOWHERE
        elif part in below.properties:
            path, node = path + member(part), below.properties[part]
        else:
            entry = below.entry(part)
            is_key = entry is not None or node.flattened
            path += bracketed(str(part)) if is_key else member(str(part))
            node = entry or NOWHERE
    return path


def _message(text: str, value: Any) -> str:
    """Shorten the value at the beginning of a validator's message, so that its end is left."""
    try:
        written = repr(value)
    except ValueError:  # an integer of thousands of digits
        written = "\0"
    if text.startswith(written):
        text = cut(written, _LONGEST_VALUE) + text[len(written) :]
    return cut(json_text(text), _LONGEST)


# --- mismatches -----------------------------------------------------------------------------------

#: The rules are those of `extractbench_nb.stats`.
MISMATCH_COLUMNS = FrameSpec(
    "mismatches",
    "one row per wrong value that has a kind",
    (
        Column("path", "string", "instance path, as in `fields`"),
        Column(
            "kind",
            "string",
            "kind of mismatch of two values that are not containers; no part of the verdict",
            "null_word, json_type, writing, unit, sign, other_item, misplaced, power_of_ten, "
            "rounding, day_month_swapped, date, order, truncated, extra_text, typo, other",
            nullable=True,
        ),
    ),
)
