"""Random gold documents that fit a schema, predictions made from them, and additions to these."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NoReturn
from urllib.parse import unquote

from fuzzing.schemas import HOSTILE_KEYS, PLAIN_KEYS, Node, chance, subschemas

Place = tuple[str | int, ...]  # keys and indices from the root

TEXTS = [
    "x", "red", "A", "cat", "dog", "Acme Inc.", "Acme Incorporated", "2024-01-05", "5 January 2024",
    "1,000.00", "1000", "-3.1", "3.1", "https://a.org/x", "a.org/x", "John Smith", "J. Smith", "",
    " ", "Straße", "\uff46ull", "p < 0.05", "5 mg/kg", "null", "true", "[1]", "a" * 34 + "!",
]  # fmt: skip
NUMBERS = [0, 1, 2, 3, -1, 0.1, 1.0, 2.5, 1000, 1e15, -0.0, 0.30000000000000004]
HARD_VALUES = [
    float("nan"), float("inf"), float("-inf"), 10**400, -(10**400), 1e308, 5e-324, "x" * 20_000,
    "\ud800", "\x00", "é" * 3000, "💥", True, False, None, [], {}, [None], [[]], {"": None}, 1e400,
    "NaN", 2**53 + 1, "a" * 40 + "!", "(" * 500, "1" * 5000, [[[[[[[[]]]]]]]],
]  # fmt: skip
PYTHON_KINDS = [
    "circular list", "circular dict", "object", "bytes", "set", "tuple", "Decimal", "date",
    "number keys", "raising str", "deep", "deep dict",
]  # fmt: skip
PYTHON = "$python"  # {PYTHON: kind} stands for a Python value that JSON does not have


class RaisingText(str):
    """A text whose comparison and length raise."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __len__(self) -> NoReturn:
        raise RuntimeError("measured")


def python_value(kind: str) -> Any:
    """A value that no JSON text can say."""
    circular_list: list[Any] = [1]
    circular_list.append(circular_list)
    circular_dict: dict[str, Any] = {"a": 1}
    circular_dict["a"] = circular_dict
    if kind in {"deep", "deep dict"}:
        value: Any = 1
        for _ in range(5000):
            value = [value] if kind == "deep" else {"a": value}
        return value
    return {
        "circular list": circular_list,
        "circular dict": circular_dict,
        "object": object(),
        "bytes": b"x",
        "set": {1, 2},
        "tuple": (1, 2),
        "Decimal": decimal.Decimal("1.5"),
        "date": dt.date(2024, 1, 5),
        "number keys": {1: "x", None: 2},
        "raising str": RaisingText("x"),
    }[kind]


def realise(value: Any) -> Any:
    """A fresh copy of a document, with the Python values that it names."""
    if isinstance(value, dict):
        if isinstance(value.get(PYTHON), str) and value[PYTHON] in PYTHON_KINDS:
            return python_value(value[PYTHON])
        return {key: realise(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [realise(inner) for inner in value]
    return value


def has_python_values(value: Any) -> bool:
    """Whether a document is more than JSON."""
    return PYTHON in json.dumps(value)


def resolve(schema: Node, root: Node, steps: int = 20) -> Node:
    """The schema that so many references in a row lead to; {} where they lead nowhere."""
    for _ in range(steps):
        if not (isinstance(schema, dict) and isinstance(schema.get("$ref"), str)):
            return schema
        target = root
        for step in unquote(schema["$ref"].lstrip("#")).split("/")[1:]:
            target = target.get(step, {}) if isinstance(target, dict) else {}
        schema = target
    return schema if steps == 1 else {}


@dataclass
class DocumentMaker:
    """Makes values that mostly fit a schema."""

    rng: Random
    root: Node
    nodes: int = 60
    depth: int = 7
    absent: float = 0.15  # how often an optional key is left out
    null: float = 0.05  # how often a value is null

    def make(self) -> Any:
        """A whole document."""
        return self.value(self.root, 0)

    def value(self, schema: Node, depth: int) -> Any:
        """A value for one schema."""
        rng = self.rng
        self.nodes -= 1
        schema = resolve(schema, self.root)
        if not isinstance(schema, dict):
            return self.anything(depth)
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                return self.value(self.pick(branches, depth), depth)
        if isinstance(schema.get("allOf"), list) and schema["allOf"]:
            return self.merged(schema["allOf"], depth)
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return copy.deepcopy(rng.choice(schema["enum"]))
        if "const" in schema:
            return copy.deepcopy(schema["const"])
        return self.typed(schema, self.kind(schema), depth)

    def pick(self, branches: list[Node], depth: int) -> Node:
        """A branch of a union; a shallow one where the document is deep enough."""
        if depth < self.depth and self.nodes > 0:
            return self.rng.choice(branches)
        flat = [
            b for b in branches if isinstance(b, dict) and b.get("type") not in (None, "object")
        ]
        return self.rng.choice(flat or branches)

    def merged(self, parts: list[Node], depth: int) -> Any:
        """A value for ``allOf``."""
        values = [self.value(part, depth) for part in parts]
        if all(isinstance(value, dict) for value in values):
            return {key: inner for value in values for key, inner in value.items()}
        return values[-1]

    def kind(self, schema: dict[str, Any]) -> str:
        """The type to make."""
        kind = schema.get("type")
        if isinstance(kind, list) and kind:
            kind = self.rng.choice(kind)
        if not isinstance(kind, str):
            keywords = {"properties": "object", "additionalProperties": "object"}
            keywords |= {"patternProperties": "object", "items": "array", "prefixItems": "array"}
            kind = next((keywords[k] for k in keywords if k in schema), "any")
        if schema.get("nullable") and chance(self.rng, 0.2):
            return "null"
        return kind

    def typed(self, schema: dict[str, Any], kind: str, depth: int) -> Any:
        """A value of a type."""
        rng = self.rng
        if kind not in {"object", "array", "any"} and chance(rng, self.null):
            return None
        scalars = {
            "string": TEXTS,
            "number": NUMBERS,
            "integer": [0, 1, 2, 3, -7, 2024, 10**9],
            "boolean": [True, False],
            "null": [None],
        }
        if kind in scalars:
            return rng.choice(scalars[kind])
        makers = {"object": self.record, "array": self.array}
        return makers[kind](schema, depth) if kind in makers else self.anything(depth)

    def record(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """An object: declared properties, and entries where it is a map."""
        rng, made = self.rng, {}
        properties = schema.get("properties")
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        for key, inner in properties.items() if isinstance(properties, dict) else ():
            deep = depth >= self.depth or self.nodes < 0
            left_out = inner is False or chance(rng, 0.9 if deep else self.absent)
            if left_out and (key not in required or deep or chance(rng, 0.1)):
                continue
            made[key] = self.value(inner, depth + 1)
        for entry in self.entry_schemas(schema):
            for _ in range(rng.choice([0, 1, 1, 2, 3]) if depth < self.depth else 0):
                made.setdefault(self.map_key(), self.value(entry, depth + 1))
        if not (properties or made) and depth < self.depth and chance(rng, 0.5):
            made = {rng.choice(PLAIN_KEYS): self.anything(depth + 1)}
        return made

    def entry_schemas(self, schema: dict[str, Any]) -> list[Node]:
        """The schemas of a map's entries."""
        patterns = schema.get("patternProperties")
        entries = list(patterns.values()) if isinstance(patterns, dict) else []
        if isinstance(schema.get("additionalProperties"), dict):
            entries.append(schema["additionalProperties"])
        return entries

    def map_key(self) -> str:
        """A key of a map."""
        keys = ["EUR", "USD", "x-1", "aaaa", "1", *PLAIN_KEYS]
        return self.rng.choice(HOSTILE_KEYS if chance(self.rng, 0.2) else keys)

    def array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        """An array, or a tuple with its places filled."""
        rng = self.rng
        if depth >= self.depth or self.nodes < 0:
            return []
        for keyword in ("prefixItems", "items"):
            places = schema.get(keyword)
            if isinstance(places, list):
                full = places if chance(rng, 0.8) else places[: rng.randint(0, len(places))]
                return [self.value(place, depth + 1) for place in full]
        count = rng.choice([0, 1, 2, 2, 3, 5])
        items = schema.get("items", {})
        made = [self.value(items, depth + 1) for _ in range(count)]
        if made and chance(rng, 0.1):
            made.append(copy.deepcopy(rng.choice(made)))
        return made

    def anything(self, depth: int) -> Any:
        """Any JSON value."""
        rng = self.rng
        if depth >= self.depth or chance(rng, 0.6):
            return rng.choice([rng.choice(TEXTS), rng.choice(NUMBERS), None, True])
        if chance(rng, 0.5):
            return [self.anything(depth + 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(PLAIN_KEYS): self.anything(depth + 1) for _ in range(rng.randint(0, 3))}


def places(document: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Each node of a document with its place."""
    yield at, document
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*at, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from places(value, (*at, index))


def look_up(document: Any, at: Place) -> Any:
    """The node at a place; KeyError or IndexError where there is none."""
    for step in at:
        if isinstance(step, int) != isinstance(document, list) or not isinstance(
            document, dict | list
        ):
            raise KeyError(step)
        document = document[step]
    return document


def put(document: Any, at: Place, value: Any) -> Any:
    """The document with a value at a place, in place where possible; an array grows by one."""
    if not at:
        return value
    parent = look_up(document, at[:-1])
    if isinstance(parent, list) and at[-1] == len(parent):
        parent.append(value)
    else:
        parent[at[-1]] = value
    return document


def shuffled(document: Any, rng: Random, *, arrays: bool = False) -> Any:
    """A deep copy with keys, and perhaps items, in another order."""
    if isinstance(document, dict):
        keys = rng.sample(list(document), len(document))
        return {key: shuffled(document[key], rng, arrays=arrays) for key in keys}
    if isinstance(document, list):
        order = rng.sample(document, len(document)) if arrays else document
        return [shuffled(item, rng, arrays=arrays) for item in order]
    return document


def mutated(document: Any, rng: Random, schema: Node) -> Any:
    """A deep copy with one to six faults."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at, value = rng.choice(list(places(document)))
        if at and chance(rng, 0.3):
            parent = look_up(document, at[:-1])
            change_parent(parent, at[-1], value, rng)
        else:
            document = put(document, at, another(value, rng, schema))
    return document


def change_parent(parent: Any, step: str | int, value: Any, rng: Random) -> None:
    """Drop, rename, double or move a key or an item."""
    action = rng.choice(["drop", "rename", "double"])
    if action == "double" and isinstance(parent, list):
        parent.insert(rng.randint(0, len(parent)), copy.deepcopy(value))
    elif action == "double":
        parent[rng.choice(PLAIN_KEYS + HOSTILE_KEYS)] = copy.deepcopy(value)
    elif action == "rename" and isinstance(parent, dict):
        parent[rng.choice(PLAIN_KEYS + HOSTILE_KEYS)] = parent.pop(step)
    else:
        del parent[step]


def another(value: Any, rng: Random, schema: Node) -> Any:
    """A value to stand in another's place."""

    def fitting() -> Any:
        part = rng.choice(subschemas(schema) or [{}])
        return DocumentMaker(rng, schema, nodes=10).value(part, 4)

    def plain() -> Any:
        return rng.choice([rng.choice(TEXTS), rng.choice(NUMBERS), True, {"kind": "dog"}, [1, 2]])

    makers: list[Callable[[], Any]] = [
        lambda: None,
        lambda: [value] if chance(rng, 0.7) else {rng.choice(PLAIN_KEYS): value},
        lambda: other_container(value),
        lambda: copy.deepcopy(rng.choice(HARD_VALUES)),
        lambda: json.dumps(value),
        lambda: value + rng.choice(["s", "1", "."]) if isinstance(value, str) else str(value),
        fitting,
        lambda: shuffled(value, rng, arrays=True),
        plain,
        plain,
    ]
    return rng.choice(makers)()


def other_container(value: Any) -> Any:
    """An array as an object, an object as an array, and a scalar in an array."""
    if isinstance(value, list):
        return {str(index): item for index, item in enumerate(value)}
    return list(value.values()) if isinstance(value, dict) else [value]


def predictions(gold: Any, rng: Random, schema: Node) -> Any:
    """A prediction: a copy, a mutation, an unrelated document, JSON text, or a Python value."""

    def text() -> str:
        whole = json.dumps(mutated(gold, rng, schema))
        return whole if chance(rng, 0.5) else whole[: rng.randint(0, len(whole))]

    makers: dict[Callable[[], Any], int] = {
        lambda: shuffled(gold, rng, arrays=True): 10,
        lambda: mutated(gold, rng, schema): 60,
        lambda: DocumentMaker(rng, schema, absent=0.4, null=0.2).make(): 12,
        lambda: DocumentMaker(rng, {}, nodes=30).anything(0): 6,
        lambda: copy.deepcopy(rng.choice(HARD_VALUES)): 3,
        text: 4,
        lambda: with_python_value(gold, rng): 5,
    }
    return rng.choices(list(makers), list(makers.values()))[0]()


def with_python_value(document: Any, rng: Random) -> Any:
    """A deep copy of a document with a value that JSON does not have."""
    at, _ = rng.choice(list(places(document)))
    return put(copy.deepcopy(document), at, {PYTHON: rng.choice(PYTHON_KINDS)})


def free_places(predicted: Any, golds: list[Any], keys: list[str], at: Place = ()) -> list[Place]:
    """Places of a prediction at which no gold counterpart has anything.

    An item's counterparts are all items of the gold array, whatever it is aligned with.
    """
    found: list[Place] = []
    if isinstance(predicted, dict):
        records = [gold for gold in golds if isinstance(gold, dict)]
        for key in dict.fromkeys([*predicted, *keys]):
            inner = [gold[key] for gold in records if gold.get(key) is not None]
            if predicted.get(key) is not None:
                found += free_places(predicted[key], inner, keys, (*at, key))
            elif not inner:
                found.append((*at, key))
    elif isinstance(predicted, list):
        items = [item for gold in golds if isinstance(gold, list) for item in gold]
        for index, value in enumerate(predicted):
            found += free_places(value, items, keys, (*at, index))
        if not items:
            found.append((*at, len(predicted)))
    return found


def additions(case_schema: Node, gold: Any, predicted: Any, rng: Random) -> list[list[Any]]:
    """``[place, value]`` pairs to add to a prediction where gold has nothing."""
    declared = {key for node in subschemas(case_schema) for key in node.get("properties") or ()}
    keys = [*sorted(key for key in declared if isinstance(key, str)), "new", "EUR", "x-9"]
    free = free_places(predicted, [gold], keys)
    maker = DocumentMaker(rng, case_schema, nodes=8, absent=0.5, null=0.4)
    schemas = subschemas(case_schema) or [{}]
    made = []
    for at in rng.sample(free, min(len(free), rng.choice([1, 2, 5, 20]))):
        nothing = rng.choice([None, [], {}, {"a": None}, [None], {"a": {}}, [{}]])
        value = maker.value(rng.choice(schemas), 4) if chance(rng, 0.5) else nothing
        made.append([list(at), copy.deepcopy(value)])
    return made


def with_additions(predicted: Any, added: list[list[Any]]) -> Any:
    """A deep copy of the prediction with what was added."""
    document = copy.deepcopy(predicted)
    for at, value in added:
        document = put(document, tuple(at), copy.deepcopy(value))
    return document
