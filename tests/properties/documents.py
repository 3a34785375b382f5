"""Schemas of every construct with documents that fit them, and ways to change a document."""

from __future__ import annotations

import random
from typing import Any

NAMES = ["a", "b", "c", "kind", "x.y", "q'", "[0]", "", "é"]
KEYS = ["k", "k2", "a.b", "odd key", "7", "é", ""]
WORDS = ["alpha", "beta", "gamma ray", "10 kg", "2024-05-06", "ACME Inc.", "x", ""]
METRICS = ["string_exact", "string_fuzzy", "string_semantic", "string_normalized"]
DEPTH = 3


def schema(rng: random.Random) -> dict[str, Any]:
    """Make a schema; its definitions refer to themselves and to each other."""
    root = an_object(rng, 0)
    root["$defs"] = {name: an_object(rng, 2, required=False) for name in ("tree", "list")}
    for name, other in (("tree", "list"), ("list", "tree")):
        child = {"$ref": f"#/$defs/{rng.choice([name, other])}"}
        forms = [child, {"type": "array", "items": child}, {"anyOf": [child, {"type": "null"}]}]
        root["$defs"][name]["properties"]["next"] = rng.choice(forms)
    return root


def node(rng: random.Random, depth: int) -> dict[str, Any]:
    kinds = [scalar] * (1 if depth < 2 else 4)
    if depth < DEPTH:
        kinds += [an_object, an_object, an_array, a_map, a_union, a_union, a_tuple, anything, a_ref]
    found = rng.choice(kinds)(rng, depth)
    return {**found, "evaluation_config": "skip"} if rng.random() < 0.04 else found


def scalar(rng: random.Random, _: int = 0) -> dict[str, Any]:
    kind = rng.choice(["string", "string", "number", "integer", "boolean"])
    found: dict[str, Any] = {"type": kind}
    if kind == "string" and rng.random() < 0.6:
        found["evaluation_config"] = {
            "metrics": [{"metric_id": rng.choice(METRICS)}],
            "aggregation_weight": rng.choice([1, 1, 1, 0.5, 3]),
        }
    if rng.random() < 0.2:
        found["type"] = [kind, "null"]
    return found


def an_object(rng: random.Random, depth: int, required: bool = True) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randint(1, 4))
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: node(rng, depth + 1) for name in names},
    }
    if required and rng.random() < 0.3:
        found["required"] = names[:1]
    if rng.random() < 0.15:
        found["additionalProperties"] = node(rng, depth + 1)
    if depth and rng.random() < 0.15:
        found["type"] = ["object", "null"]
    return found


def an_array(rng: random.Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array", "items": node(rng, depth + 1)}
    if rng.random() < 0.2:
        params = {"align_threshold": rng.choice([0.0, 0.3, 0.8])}
        found["evaluation_config"] = {"metric_id": "array_llm", "params": params}
    elif rng.random() < 0.1:
        found["evaluation_config"] = "set_f1"
    return found


def a_map(rng: random.Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "additionalProperties": node(rng, depth + 1)}
    if found["additionalProperties"].get("type") == "array" and rng.random() < 0.5:
        found["evaluation_config"] = "array_llm"
    return found


def a_union(rng: random.Random, depth: int) -> dict[str, Any]:
    branches = [node(rng, depth + 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        branches = [an_object(rng, depth + 1) for _ in range(rng.randint(1, 3))]
        for i, branch in enumerate(branches):
            if rng.random() < 0.7:
                branch["properties"]["kind"] = {"const": WORDS[i]}
    if rng.random() < 0.6:
        branches.append({"type": "null"})
    return {rng.choice(["anyOf", "oneOf"]): branches}


def a_tuple(rng: random.Random, depth: int) -> dict[str, Any]:
    found = {
        "type": "array",
        "prefixItems": [node(rng, depth + 1) for _ in range(rng.randint(1, 3))],
    }
    return {**found, "items": node(rng, depth + 1)} if rng.random() < 0.5 else found


def anything(rng: random.Random, _: int) -> dict[str, Any]:
    return rng.choice([{}, {"type": "object"}, {"type": "array"}, {"description": "free"}])


def a_ref(rng: random.Random, _: int) -> dict[str, Any]:
    return {"$ref": rng.choice(["#/$defs/tree", "#/$defs/list"])}


def fitting(part: Any, root: Any, rng: random.Random, depth: int = 0) -> Any:
    """Make a document that fits a schema, with keys now and then absent, null or empty."""
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    for word in ("anyOf", "oneOf"):
        if word in part:
            return fitting(rng.choice(part[word]), root, rng, depth)
    if "const" in part:
        return part["const"]
    kind = part.get("type", "any")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "any" or (kind == "object" and len(part) == 1):
        return free(rng, depth) if kind == "any" else {"free": free(rng, depth)}
    if kind == "object":
        keep = 0.8 if depth < 2 * DEPTH else 0.3
        document = {
            name: fitting(below, root, rng, depth + 1)
            for name, below in part.get("properties", {}).items()
            if rng.random() < keep
        }
        if "additionalProperties" in part:
            for name in rng.sample(KEYS, rng.randint(0, 3)):
                document.setdefault(
                    name, fitting(part["additionalProperties"], root, rng, depth + 1)
                )
        return {k: None if rng.random() < 0.08 else v for k, v in document.items()}
    if kind == "array":
        prefix = part.get("prefixItems", [])
        rest = [part.get("items", {})] * rng.choice([0, 0, 1, 2, 3])
        below = [*prefix[: rng.randint(0, len(prefix))], *(rest if not prefix else rest[:1])]
        return [fitting(item, root, rng, depth + 1) for item in below]
    return {
        "string": rng.choice(WORDS),
        "number": rng.choice([0, 1, 1.0, 1.0005, -2.5, 1e9]),
        "integer": rng.randint(0, 3),
        "boolean": rng.random() < 0.5,
        "null": None,
    }[kind]


def free(rng: random.Random, depth: int = 0) -> Any:
    """Make any JSON value."""
    if depth > DEPTH or rng.random() < 0.5:
        return rng.choice([None, "x", "alpha", 1, 1.0, True, [], {}, "10 kg"])
    if rng.random() < 0.5:
        return [free(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice([*NAMES, *KEYS]): free(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def damaged(value: Any, rng: random.Random) -> Any:
    """Copy a document with a part of its values changed, dropped or of another type."""
    if rng.random() < 0.06:
        return rng.choice([None, "other", 7, True, [], {}, ["x"], {"k": 1}])
    if isinstance(value, dict):
        return {k: damaged(v, rng) for k, v in value.items() if rng.random() < 0.85}
    if isinstance(value, list):
        return [damaged(v, rng) for v in value if rng.random() < 0.85]
    return value


ABSENT = object()


def junk(root: Any, rng: random.Random) -> Any:
    """Make a value that a model may invent: any JSON, or what fits some part of the schema."""
    if rng.random() < 0.3:
        return free(rng, 1)
    return fitting(rng.choice(list(_parts(root))), root, rng, DEPTH)


def _parts(part: Any) -> Any:
    yield part
    for key in ("properties", "$defs"):
        for below in part.get(key, {}).values():
            yield from _parts(below)
    for key in ("items", "additionalProperties"):
        if isinstance(part.get(key), dict):
            yield from _parts(part[key])
    for key in ("anyOf", "oneOf", "prefixItems"):
        for below in part.get(key, []):
            yield from _parts(below)


def names_in(root: Any) -> list[str]:
    """List every property name of a schema."""
    return sorted({name for part in _parts(root) for name in part.get("properties", {})})


def extended(
    gold: Any, predicted: Any, root: Any, rng: random.Random, *, items: bool = False
) -> Any:
    """Add to a prediction where gold has nothing; with `items`, to the arrays that gold has too."""
    if gold is None or gold is ABSENT:
        return _grown(predicted, root, rng)
    if isinstance(gold, dict) and isinstance(predicted, dict):
        out = {
            k: extended(gold.get(k, ABSENT), v, root, rng, items=items)
            for k, v in predicted.items()
        }
        for name in rng.sample([*names_in(root), *KEYS, "undeclared"], rng.randint(0, 3)):
            if name not in predicted and gold.get(name) is None:
                value = junk(root, rng)
                if name not in gold or holds(value):
                    out[name] = value
        return out
    if isinstance(gold, list) and isinstance(predicted, list):
        if items or not gold:
            more = [
                damaged(rng.choice(gold), rng) if gold and rng.random() < 0.5 else junk(root, rng)
                for _ in range(rng.randint(0, 2))
            ]
            return [*(_grown(v, root, rng) for v in predicted), *more]
        return predicted
    return predicted


def _grown(value: Any, root: Any, rng: random.Random) -> Any:
    if value is None or value is ABSENT:
        grown = junk(root, rng) if rng.random() < 0.5 else None
        return grown if holds(grown) else None
    if isinstance(value, dict):
        out = {k: _grown(v, root, rng) for k, v in value.items()}
        for name in rng.sample([*names_in(root), *KEYS], rng.randint(0, 2)):
            out.setdefault(name, junk(root, rng))
        return out
    if isinstance(value, list):
        more = [junk(root, rng) for _ in range(rng.randint(0, 2))]
        return [*(_grown(v, root, rng) for v in value), *more]
    return value


def holds(value: Any) -> bool:
    """Whether a value holds anything but nulls and empty containers."""
    if isinstance(value, dict | list):
        return any(map(holds, value.values() if isinstance(value, dict) else value))
    return value is not None


#: Names that a path, a pointer or a keyword could be mistaken for.
ODD = ["a.b", "[0]", "[+1]", "['k']", "q'", '"', "\\", "a b", "\n", "é", "ß", "Ａ", "\u200b", "",
       "17", "*", "$", "#/x", "~0", "a/b", "..", "a]", "()", "$ref", "$defs", "type", "properties",
       "items", "const", "anyOf", "default", "null", "key", "item", ".key", "kind2"]  # fmt: skip


def renaming(rng: random.Random) -> dict[str, str]:
    """Draw a new name for each key of the documents made here."""
    names = sorted({*NAMES, *KEYS, "next", "free", "undeclared"})
    return dict(zip(names, rng.sample(ODD, len(names)), strict=True))


def renamed(document: Any, names: dict[str, str]) -> Any:
    if isinstance(document, dict):
        return {names.get(k, k): renamed(v, names) for k, v in document.items()}
    return [renamed(v, names) for v in document] if isinstance(document, list) else document


def renamed_schema(part: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    out = dict(part)
    if "properties" in part:
        below = part["properties"].items()
        out["properties"] = {names[k]: renamed_schema(v, names) for k, v in below}
    if "$defs" in part:
        out["$defs"] = {k: renamed_schema(v, names) for k, v in part["$defs"].items()}
    if "required" in part:
        out["required"] = [names[k] for k in part["required"]]
    for key in ("items", "additionalProperties"):
        if key in part:
            out[key] = renamed_schema(part[key], names)
    for key in ("anyOf", "oneOf", "prefixItems"):
        if key in part:
            out[key] = [renamed_schema(b, names) for b in part[key]]
    return out
