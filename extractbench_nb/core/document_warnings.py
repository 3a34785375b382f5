"""`Evaluation.warnings`: undeclared keys, schema violations and other problems without a score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.pairing import resolve_union, undeclared
from extractbench_nb.core.schema.schema_nodes import MISSING, NOWHERE, Node, Schema
from extractbench_nb.core.schema.validation import Validation
from extractbench_nb.core.values.json_values import bracketed, json_text, member
from extractbench_nb.support.wording import cut, plural

WARNING_COLUMNS = FrameSpec(
    "warnings",
    "one row per finding",
    (
        Column("side", "string", "whose fault it is", "gold, predicted, schema"),
        Column("path", "string", "instance path (schema path for the schema)"),
        Column(
            "kind",
            "string",
            "undeclared, ignored_param, nothing_scored, ..., or the violated keyword",
        ),
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
        if error.validator != "additionalProperties":  # told above, key by key
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
