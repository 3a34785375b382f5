"""Triples that ask for much work of an evaluator whose work is not bounded by data and schema."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzing.schemas import chance

Triple = tuple[Any, Any, Any]


def doubled_parts(rng: Random) -> Triple:
    """``allOf`` of twice the same definition, many levels deep."""
    levels = rng.randint(10, 30)
    definitions: dict[str, Any] = {
        f"D{i}": {"allOf": [{"$ref": f"#/definitions/D{i + 1}"}] * 2} for i in range(levels)
    }
    definitions[f"D{levels}"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"$ref": "#/definitions/D0", "definitions": definitions}
    return schema, {"a": "x"}, {"a": "y"}


def doubled_branches(rng: Random) -> Triple:
    """``anyOf`` of twice the same definition, many levels deep."""
    schema, gold, predicted = doubled_parts(rng)
    for definition in schema["definitions"].values():
        if "allOf" in definition:
            definition["anyOf"] = definition.pop("allOf")
    return schema, gold, predicted


def many_branches(rng: Random) -> Triple:
    """A union of many recursive branches, and nested data."""
    count, depth = rng.randint(10, 40), rng.randint(5, 60)
    names = [f"b{i}" for i in range(count)]
    branches = [
        {"type": "object", "properties": {name: {"$ref": "#"}, "v": {"type": "integer"}}}
        for name in names
    ]
    documents = []
    for start in (1, 2):
        document: Any = {"v": start}
        for level in range(depth):
            document = {rng.choice(names): document, "v": level}
        documents.append(document)
    return {"anyOf": branches}, documents[0], documents[1]


def wide_recursion(rng: Random) -> Triple:
    """Definitions that all refer to each other."""
    count = rng.randint(5, 12)
    references = {f"r{i}": {"$ref": f"#/definitions/D{i}"} for i in range(count)}
    body = {"type": "object", "properties": {**references, "v": {"type": "string"}}}
    schema = {"$ref": "#/definitions/D0", "definitions": {f"D{i}": body for i in range(count)}}
    gold = {"v": "x", "r1": {"v": "y", "r2": {"v": "z"}}}
    return (
        schema,
        gold,
        {"v": "x", "r1": {"r3": {"r4": {"v": "n"}}}, **{f"r{i}": {} for i in (5, 6)}},
    )


def deep_tree(rng: Random) -> Triple:
    """A tree of children, deep on the predicted side."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#"}},
        },
    }
    documents = []
    for depth in (rng.randint(1, 30), rng.randint(1, 150)):
        document: Any = {"name": "leaf"}
        for level in range(depth):
            document = {"name": str(level), "children": [document]}
        documents.append(document)
    return schema, documents[0], documents[1]


def unique_items(rng: Random) -> Triple:
    """``uniqueItems`` on many objects."""
    item = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"type": "array", "items": item, "uniqueItems": True}
    items = [{"a": number} for number in range(300)]
    return schema, items, [{"a": number} for number in range(rng.choice([2000, 300]))]


def slow_pattern(rng: Random) -> Triple:
    """A pattern that backtracks for ever on what does not match."""
    pattern = rng.choice(["^(a+)+$", "^(a|aa)+$", r"^(\w+\s?)*$", "(x+x+)+y", "(.*a){20}$"])
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    if chance(rng, 0.3):
        schema = {"type": "object", "patternProperties": {pattern: {"type": "string"}}}
    text = rng.choice(["a", "x"]) * rng.randint(30, 5000) + "!"
    return schema, {"a": text, text: "v"}, {"a": text + "!", text: "w"}


def long_lists(rng: Random) -> Triple:
    """Long arrays of similar items."""
    count = rng.choice([100, 200])
    item = {"type": "object", "properties": {"t": {"type": "string"}, "n": {"type": "integer"}}}
    schema = {"type": "array", "items": item}
    gold = [{"t": f"row {number % 7} of the list", "n": number} for number in range(count)]
    return schema, gold, [{**row, "n": row["n"] + rng.randint(0, 1)} for row in gold]


def wide_map(rng: Random) -> Triple:
    """A map of many entries."""
    schema = {"type": "object", "additionalProperties": {"type": "number"}}
    return schema, {f"k{i}": i for i in range(300)}, {f"k{i}": i + 1 for i in range(150, 600)}


STRESSES = [
    doubled_parts, doubled_branches, many_branches, wide_recursion, deep_tree, unique_items,
    slow_pattern, long_lists, wide_map,
]  # fmt: skip
