"""Changes of a triple that must not change its scores, or must not change anything."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pandas as pd

from fuzzing.documents import has_python_values, shuffled
from fuzzing.frames import compares_containers
from fuzzing.paths import PathError, follow
from fuzzing.schemas import HOSTILE_KEYS, subschemas

Triple = tuple[Any, Any, Any]
SCORES = [
    "overall_score", "field_score", "pass_rate", "pass_rate_judged", "evaluated", "judged",
    "passed", "failed", "omissions", "hallucinations", "structural", "gold_coverage",
]  # fmt: skip


@dataclass(frozen=True)
class Relation:
    """A change, and whether the rows stay the same too."""

    change: Callable[[Any, Any, Any, Random, Any], Triple | None]
    same_rows: bool


def again(schema: Any, gold: Any, predicted: Any, rng: Random, before: Any) -> Triple:
    """Nothing: a second run must give the same."""
    return schema, gold, predicted


def shuffle_keys(schema: Any, gold: Any, predicted: Any, rng: Random, before: Any) -> Triple | None:
    """The keys of both documents in another order.

    Not where items may be a text on one side and an object on the other: such a pair is as alike
    as the text and the object's leaves, joined in their order.
    """
    if isinstance(predicted, str) or has_python_values(predicted):
        return None
    if {str, dict} <= set(_kinds_of_items(gold)) | set(_kinds_of_items(predicted)):
        return None
    return schema, shuffled(gold, rng), shuffled(predicted, rng)


def _kinds_of_items(value: Any) -> Iterator[type]:
    """The types of all items of arrays in a document."""
    if isinstance(value, list):
        yield from map(type, value)
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _kinds_of_items(part)


def shuffle_properties(
    schema: Any, gold: Any, predicted: Any, rng: Random, before: Any
) -> Triple | None:
    """The declared properties of the schema in another order."""
    changed = copy.deepcopy(schema)
    for node in subschemas(changed):
        if isinstance(node.get("properties"), dict):
            node["properties"] = dict(
                rng.sample(list(node["properties"].items()), len(node["properties"]))
            )
    return changed, gold, predicted


def shuffle_items(
    schema: Any, gold: Any, predicted: Any, rng: Random, before: Any
) -> Triple | None:
    """The items of aligned arrays, in gold and in the prediction, in another order."""
    if isinstance(predicted, str) or has_python_values(predicted):
        return None
    fields = before.fields
    aligned = fields[fields["metric"].isin(["array_llm", "set_f1"])]
    # what these compare as a whole has an order, inner arrays too
    whole = tuple(fields[fields["metric"].isin(["table_grits", "string_llm"])]["path"])
    inside = aligned["path"].map(lambda path: path.startswith(whole)).astype(bool)
    ordered = set(before.fields["field"].str.extract(r"^(.*)\[\d+\]", expand=False).dropna())
    gold, predicted = copy.deepcopy(gold), copy.deepcopy(predicted)
    rows = aligned[~inside & ~aligned["field"].isin(ordered)]
    if _has_tuples(schema):
        return None
    for row in sorted(rows.to_dict("records"), key=lambda row: -len(row["path"])):
        own = row["predicted_path"] if pd.notna(row["predicted_path"]) else row["path"]
        for document, path in ((gold, row["path"]), (predicted, own)):
            _shuffle_at(document, path, rng)
    return schema, gold, predicted


def _has_tuples(schema: Any) -> bool:
    nodes = subschemas(schema)
    return any("prefixItems" in node or isinstance(node.get("items"), list) for node in nodes)


def _shuffle_at(document: Any, path: str, rng: Random) -> None:
    try:
        found = follow(document, path)
    except PathError:
        return
    if isinstance(found, list):
        rng.shuffle(found)


def rename(schema: Any, gold: Any, predicted: Any, rng: Random, before: Any) -> Triple | None:
    """One property's name, everywhere in the schema and in both documents."""
    nodes = subschemas(schema)
    names = sorted({key for node in nodes for key in node.get("properties") or ()})
    text = json.dumps(schema)
    if not names or isinstance(predicted, str) or has_python_values(predicted):
        return None
    if any(word in text for word in ("patternProperties", "/properties/")):
        return None
    if any(compares_containers(before, metric) for metric in ("string_", "table_grits")):
        return None  # keys are part of such texts, and of the texts of cells
    old = rng.choice(names)
    new = rng.choice(["renamed", "zz", "Aa", "0", rng.choice(HOSTILE_KEYS)])
    taken = {key for document in (schema, gold, predicted) for key in _keys(document)}
    if new in taken:
        return None
    renamed = _rename_schema(schema, old, new)
    return renamed, _rename(gold, old, new), _rename(predicted, old, new)


def _keys(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        yield from document
    inner = document.values() if isinstance(document, dict) else document
    for value in inner if isinstance(document, dict | list) else ():
        yield from _keys(value)


def _rename(document: Any, old: str, new: str) -> Any:
    if isinstance(document, dict):
        return {(new if k == old else k): _rename(v, old, new) for k, v in document.items()}
    if isinstance(document, list):
        return [_rename(item, old, new) for item in document]
    return document


def _rename_schema(schema: Any, old: str, new: str) -> Any:
    changed = copy.deepcopy(schema)
    for node in subschemas(changed):
        if isinstance(node.get("properties"), dict):
            inner = node["properties"].items()
            node["properties"] = {(new if k == old else k): v for k, v in inner}
        if isinstance(node.get("required"), list):
            node["required"] = [new if name == old else name for name in node["required"]]
        if isinstance(node.get("discriminator"), dict):
            node["discriminator"] = {
                k: new if v == old else v for k, v in node["discriminator"].items()
            }
        for keyword in ("enum", "const"):
            if keyword in node:
                node[keyword] = _rename(node[keyword], old, new)
    return changed


def wrap(schema: Any, gold: Any, predicted: Any, rng: Random, before: Any) -> Triple | None:
    """The schema in an envelope."""
    if not isinstance(schema, dict):
        return None
    return {rng.choice(["schema_definition", "schema", "json_schema"]): schema}, gold, predicted


def as_text(schema: Any, gold: Any, predicted: Any, rng: Random, before: Any) -> Triple | None:
    """The schema and the prediction as JSON text."""
    if isinstance(predicted, str) or has_python_values(predicted) or not isinstance(schema, dict):
        return None
    return json.dumps(schema), gold, json.dumps(predicted)


RELATIONS = {
    "again": Relation(again, same_rows=True),
    "shuffle_keys": Relation(shuffle_keys, same_rows=True),
    "shuffle_properties": Relation(shuffle_properties, same_rows=True),
    "shuffle_items": Relation(shuffle_items, same_rows=False),
    "rename": Relation(rename, same_rows=False),
    "wrap": Relation(wrap, same_rows=True),
    "as_text": Relation(as_text, same_rows=True),
}


def differences(before: Any, after: Any, *, rows: bool) -> Iterator[tuple[str, str]]:
    """Scores, and rows where they must stay, that are not the same."""
    for name in SCORES:
        old, new = before.summary[name], after.summary[name]
        if not (
            old == new or (pd.isna(old) and pd.isna(new)) or math.isclose(old, new, abs_tol=1e-9)
        ):
            yield "scores", f"{name}: {old} -> {new}"
    if not rows:
        return
    columns = ["path", "metric", "outcome", "reason", "score", "gold_state", "predicted_state"]
    old_rows, new_rows = (
        sorted(map(str, r.fields[columns].values.tolist())) for r in (before, after)
    )
    if old_rows != new_rows:
        only = sorted(set(old_rows) ^ set(new_rows))
        yield "rows", " | ".join(only[:4])[:300]
