"""Random JSON Schemas: recursive, of all drafts, union-heavy, with evaluation_config, or faulty."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

Node = Any  # a JSON Schema: a dict, or a boolean

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = (None, None, DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_7, DRAFT_2019, DRAFT_2020)

PLAIN_KEYS = ["name", "id", "total", "kind", "items", "properties", "type", "date", "lines", "a"]
HOSTILE_KEYS = [
    "a.b", "", "it's", 'q"q', "back\\slash", "[0]", "[]", "*", "+1", "$", "$ref", "a b", "ü",
    "日本", "a/b~c", "\u2028", "line\nbreak", "x" * 99, "__class__", "{x}", "<b>", "]['",
    "a[0].b", "\x00",
]  # fmt: skip
PATTERNS = ["^[A-Z]", r"\d+", "^(a+)+$", r"^(\w+\s?)*$", "(x+x+)+y", "^.{0,5}$", r"^\p{L}+$"]
KEY_PATTERNS = ["^x-", "^[a-z]+$", r"\d", "^(a+)+$", ".*"]
FORMATS = ["date", "date-time", "uri", "email", "uuid", "ipv4", "regex", "made-up"]
ENUMS = [["red", "green"], ["A", "B", None], [1, 2, 3], [True, "yes"], [[1], {"a": 1}], [1.0, "1"]]

TEXT_METRICS = [
    "string_exact", "string_case_insensitive", "string_fuzzy", "string_semantic", "string_url",
    "string_llm", "date", "string_normalized",
]  # fmt: skip
NUMBER_METRICS = ["number_exact", "number_tolerance", "integer_exact"]
METRICS = {
    "string": TEXT_METRICS,
    "number": NUMBER_METRICS,
    "integer": NUMBER_METRICS,
    "boolean": ["boolean_exact"],
    "array": ["array_llm", "array_llm", "set_f1", "table_grits"],
    "any": ["string_llm"],
}
PARAMS: dict[str, dict[str, list[Any]]] = {
    "string_fuzzy": {"threshold": [0, 0.5, 0.8, 1], "case_sensitive": [True, False]},
    "string_semantic": {"pass_threshold": [0, 0.5, 1]},
    "number_tolerance": {
        "tolerance": [0, 0.001, 0.5, 10],
        "mode": ["relative", "absolute"],
        "parse": ["plain", "lenient"],
    },
    "number_exact": {"parse": ["plain", "lenient"]},
    "integer_exact": {"parse": ["plain", "lenient"]},
    "array_llm": {"pass_threshold": [0, 0.5, 1], "align_threshold": [0, 0.5, 1]},
    "set_f1": {"pass_threshold": [0, 1], "normalize_text": [True, False]},
    "table_grits": {"measure": ["con", "top"]},
    "date": {"precision": ["day", "month", "year"]},
}


def chance(rng: Random, share: float) -> bool:
    """True in so large a share of cases."""
    return rng.random() < share


@dataclass
class SchemaMaker:
    """Makes one legal schema; what refers to what is kept free of cycles without data between."""

    rng: Random
    depth: int = 4
    nodes: int = 30
    draft: str | None = None
    names: list[str] = field(default_factory=list)
    position: int = 0  # of the definition that is being made; the root is -1

    def make(self) -> Node:
        """A whole schema, with its definitions."""
        rng = self.rng
        self.draft = rng.choice(DRAFTS)
        keyword = "$defs" if self.draft in {DRAFT_2019, DRAFT_2020} else "definitions"
        if self.draft is None:
            keyword = rng.choice(["$defs", "definitions"])
        prefix = rng.choice(["D", "tree", "a b"]) if chance(rng, 0.2) else "D"
        count = rng.choice([0, 0, 1, 2, 3, rng.randint(4, 9)])
        self.names = [f"#/{keyword}/{prefix}{i}" for i in range(count)]
        self.position = -1
        root = self.node(0, guarded=False) if chance(rng, 0.15) else self.record(0)
        definitions = {}
        for position, name in enumerate(self.names):
            self.position, self.nodes = position, self.nodes + 8
            definitions[name.rsplit("/", 1)[1]] = self.definition()
        if not isinstance(root, dict):
            root = {}
        if definitions:
            root[keyword] = definitions
        if self.draft:
            root["$schema"] = self.draft
        return root

    def definition(self) -> Node:
        """The body of a definition; most lead back to other definitions."""
        make = self.rng.choice([self.record, self.union, self.record, self.array, self.map])
        return make(1)

    def node(self, depth: int, *, guarded: bool = True) -> Node:
        """Any schema; a reference to what is not yet made only behind a key or an index."""
        self.nodes -= 1
        rng = self.rng
        if self.names and chance(rng, 0.3):
            reference = self.reference(guarded=guarded)
            if reference is not None:
                return reference
        if depth >= self.depth or self.nodes < 0 or chance(rng, 0.4):
            return self.scalar()
        if chance(rng, 0.25):
            return self.union(depth, guarded=guarded)
        kinds = [self.record, self.record, self.array, self.array, self.tuple, self.map]
        return rng.choice([*kinds, self.type_list, self.merged, self.anything])(depth)

    def reference(self, *, guarded: bool) -> Node | None:
        """A ``$ref``, with siblings at times."""
        rng = self.rng
        targets = [*self.names, "#"] if guarded else self.names[self.position + 1 :]
        if not targets:
            return None
        made = {"$ref": rng.choice(targets).replace(" ", rng.choice([" ", "%20"]))}
        if chance(rng, 0.15):
            made |= rng.choice([{"description": "here"}, {"evaluation_config": "skip"}])
        elif chance(rng, 0.1):
            made = {"allOf": [made], "description": "as Pydantic writes it"}
        return made

    def scalar(self) -> Node:
        """A leaf: a type with its constraints, an enum or a const."""
        rng = self.rng
        kind = rng.choice(["string"] * 4 + ["number", "integer", "integer", "boolean", "null"])
        made: dict[str, Any] = {"type": kind}
        if chance(rng, 0.2):
            made |= self.constraint(kind)
        if chance(rng, 0.1):
            made, kind = {"enum": rng.choice(ENUMS)}, "any"
        elif chance(rng, 0.05) and self.draft != DRAFT_4:
            made, kind = {"const": rng.choice(["x", 1, None, 1.5, True, [1], {"a": 1}])}, "any"
        elif chance(rng, 0.1):
            made["nullable"] = True
        return self.configured(made, kind)

    def constraint(self, kind: str) -> dict[str, Any]:
        """A constraint of a scalar type."""
        rng = self.rng
        if kind == "string":
            return rng.choice(
                [
                    {"format": rng.choice(FORMATS)},
                    {"pattern": rng.choice(PATTERNS)},
                    {"minLength": 2, "maxLength": 5},
                    {"enum": ["red", "green", "blue"]},
                ]
            )
        if kind in {"number", "integer"}:
            return rng.choice([{"minimum": 0}, {"multipleOf": 0.01}, {"maximum": 1e308}])
        return {}

    def configured(self, made: dict[str, Any], kind: str) -> dict[str, Any]:
        """The node with an ``evaluation_config`` that applies to it, one time in four."""
        rng = self.rng
        if not chance(rng, 0.05 if kind == "null" else 0.25):
            return made
        ids = METRICS.get(kind, METRICS["any"])
        form = rng.choice(["preset", "skip", "one", "many", "many"])
        if form == "preset":
            presets = [name for name in ids if name != "table_grits"]
            made["evaluation_config"] = rng.choice(presets)
        elif form == "skip":
            made["evaluation_config"] = "skip"
        elif form == "one":
            made["evaluation_config"] = self.choose_metric(ids)
        else:
            chosen = rng.sample(ids, min(len(ids), rng.randint(1, 3)))
            metrics = [self.choose_metric([name]) for name in dict.fromkeys(chosen)]
            for metric in metrics:
                if chance(rng, 0.5):
                    metric["weight"] = rng.choice([0.5, 1, 2, 10])
            config: dict[str, Any] = {"metrics": metrics}
            if chance(rng, 0.6):
                config["aggregation_weight"] = rng.choice([0, 0.5, 1, 2, 10])
            made["evaluation_config"] = config
        return made

    def choose_metric(self, ids: list[str]) -> dict[str, Any]:
        """A metric with params."""
        metric = self.rng.choice(ids)
        params = PARAMS.get(metric, {})
        chosen = {name: self.rng.choice(params[name]) for name in params if chance(self.rng, 0.4)}
        return {"metric_id": metric, "params": chosen} if chosen else {"metric_id": metric}

    def key(self) -> str:
        """A property's name, hostile one time in eight."""
        rng = self.rng
        return rng.choice(HOSTILE_KEYS if chance(rng, 0.12) else PLAIN_KEYS)

    def record(self, depth: int) -> dict[str, Any]:
        """An object with declared properties."""
        rng = self.rng
        keys = list(dict.fromkeys(self.key() for _ in range(rng.randint(1, 5))))
        made: dict[str, Any] = {
            "type": "object",
            "properties": {key: self.node(depth + 1) for key in keys},
        }
        if chance(rng, 0.4):
            made["required"] = rng.sample(keys, rng.randint(1, len(keys)))
        if chance(rng, 0.25):
            made["additionalProperties"] = rng.choice([False, True, False])
        if chance(rng, 0.05):
            del made["type"]
        if chance(rng, 0.04):
            made["evaluation_config"] = "skip"
        if chance(rng, 0.05) and self.draft != DRAFT_4:
            made["properties"][self.key()] = rng.choice([True, False])
        return made

    def array(self, depth: int) -> dict[str, Any]:
        """An array of one kind of items."""
        rng = self.rng
        made: dict[str, Any] = {"type": "array", "items": self.node(depth + 1)}
        if chance(rng, 0.05):
            del made["items"]
        elif chance(rng, 0.1):
            made["uniqueItems"] = True
        elif chance(rng, 0.1):
            made |= {"minItems": 1, "maxItems": 2}
        return self.configured(made, "array")

    def tuple(self, depth: int) -> dict[str, Any]:
        """A tuple, written as its draft writes it."""
        rng = self.rng
        places = [self.node(depth + 1) for _ in range(rng.randint(1, 3))]
        rest = rng.choice([None, False, True, {"type": "string"}])
        newer = self.draft == DRAFT_2020 or (self.draft is None and chance(rng, 0.5))
        first, then = ("prefixItems", "items") if newer else ("items", "additionalItems")
        made = {"type": "array", first: places}
        return made if rest is None else {**made, then: rest}

    def map(self, depth: int) -> dict[str, Any]:
        """An object of any keys, beside declared ones at times."""
        rng = self.rng
        made: dict[str, Any] = {"type": "object"}
        if chance(rng, 0.3):
            made["patternProperties"] = {rng.choice(KEY_PATTERNS): self.node(depth + 1)}
        if "patternProperties" not in made or chance(rng, 0.3):
            made["additionalProperties"] = self.node(depth + 1)
        if chance(rng, 0.3):
            made["properties"] = {self.key(): self.node(depth + 1)}
        return made

    def union(self, depth: int, *, guarded: bool = False) -> dict[str, Any]:
        """``anyOf`` or ``oneOf``, discriminated at times."""
        rng = self.rng
        keyword = rng.choice(["anyOf", "anyOf", "oneOf"])
        if chance(rng, 0.3):
            return self.discriminated(depth, keyword)
        branches = [self.node(depth + 1, guarded=guarded) for _ in range(rng.randint(1, 4))]
        if chance(rng, 0.4):
            branches.append({"type": "null"})
        made: dict[str, Any] = {keyword: branches}
        if chance(rng, 0.1):
            made["evaluation_config"] = rng.choice(["string_llm", "skip"])
        return made

    def discriminated(self, depth: int, keyword: str) -> dict[str, Any]:
        """Branches that a key tells apart."""
        rng = self.rng
        tag, branches = rng.choice(["kind", "type"]), []
        for value in ["cat", "dog", "owl"][: rng.randint(2, 3)]:
            branch = self.record(depth + 1)
            one = {"const": value} if self.draft != DRAFT_4 and chance(rng, 0.6) else None
            branch["properties"][tag] = one or {"enum": [value]}
            branch["required"] = sorted({*branch.get("required", []), tag})
            branches.append(branch)
        made: dict[str, Any] = {keyword: branches}
        if chance(rng, 0.4):
            made["discriminator"] = {"propertyName": tag}
        return made

    def type_list(self, depth: int) -> dict[str, Any]:
        """A list of types, with what belongs to each."""
        rng = self.rng
        kinds = ["string", "number", "integer", "boolean", "null", "array", "object"]
        chosen = rng.sample(kinds, rng.randint(1, 3))
        made: dict[str, Any] = {"type": chosen}
        if "array" in chosen and chance(rng, 0.7):
            made["items"] = self.node(depth + 1)
        if "object" in chosen and chance(rng, 0.7):
            made["properties"] = {self.key(): self.node(depth + 1)}
        return made

    def merged(self, depth: int) -> dict[str, Any]:
        """``allOf`` of objects, or of a scalar's constraints."""
        rng = self.rng
        if chance(rng, 0.3):
            return {"allOf": [{"type": "string"}, self.constraint("string")]}
        parts: list[Node] = []
        taken: set[str] = set()
        for _ in range(rng.randint(1, 3)):
            part = self.record(depth + 1)
            part["properties"] = {k: v for k, v in part["properties"].items() if k not in taken}
            part["required"] = [k for k in part.get("required", []) if k in part["properties"]]
            part.pop("additionalProperties", None)
            taken |= set(part["properties"])
            parts.append(part)
        return {"allOf": parts}

    def anything(self, depth: int) -> Node:
        """A schema that says nothing about its value."""
        empty: list[Node] = [{}, {"type": "object"}, {"description": "free"}]
        if self.draft != DRAFT_4:
            empty.append(True)
        made = self.rng.choice(empty)
        return dict(made) if isinstance(made, dict) else made


FAULTS: list[tuple[str, list[Any]]] = [
    ("type", ["strng", {}, [], 3, None, ["string", {}], [["string"]], ["string", "string"]]),
    ("properties", [[], "x", 3, None, {"a": 3}, {"a": None}, {"a": "string"}]),
    ("items", [3, "x", None, [3], {"type": 3}]),
    ("prefixItems", [{}, 3, [3], [], None]),
    ("anyOf", [{}, [], [1], "x", None, [{"type": "nope"}], [[]]]),
    ("oneOf", [{}, [], [None], [{"$ref": "#/nope"}]]),
    ("allOf", [{}, [], [1], [{"type": {}}, {"type": "object"}],
               [{"type": "string"}, {"type": "array"}]]),
    ("$ref", [3, None, "", "#/nope", "other.json", "#/%zz", "http://x.y/z", [], "##",
              "#/definitions"]),
    ("required", ["a", [1], {}, [None], 3]),
    ("enum", ["x", [], {}, None]),
    ("additionalProperties", [3, "x", [], None]),
    ("patternProperties", [[], {"(": {}}, {"a": 3}, None, {"[": {"type": "string"}}]),
    ("pattern", ["(", 3, None, "(?P<x", "[z-a]"]),
    ("format", [3, [], None]),
    ("nullable", ["yes", 1, None]),
    ("minimum", ["a", None, [], True]),
    ("$defs", [[], "x", {"a": 3}]),
    ("definitions", [[], "x", {"a": 3}]),
    ("$schema", [3, "nope", "http://json-schema.org/draft-03/schema#", []]),
    ("$id", [3, "relative", "http://x.y/z", "#a"]),
    ("$recursiveRef", ["#", 3]),
    ("$dynamicRef", ["#x", 3]),
    ("discriminator", [3, "kind", {"propertyName": 3}, {}, {"propertyName": "nope"}]),
    ("const", [float("nan"), {"a": [None]}]),
    ("not", [3, {}, {"type": "nope"}]),
    ("if", [3, {}]),
    ("dependentRequired", [3, {"a": 3}]),
    ("title", [3, None, []]),
    ("description", [3, [], {}]),
    ("evaluation_config", [
        3, [], "nope", "", None, True, {}, {"metric_id": 3}, {"metric_id": "nope"}, {"metrics": []},
        {"metrics": 3}, {"metrics": [3]},
        {"metrics": [{"metric_id": "string_exact", "weight": -1}]},
        {"metrics": [{"metric_id": "string_exact", "weight": "x"}]}, {"metric_id": "array_llm"},
        {"metric_id": "string_fuzzy", "params": {"threshold": 7}}, {"params": {}},
        {"metric_id": "string_fuzzy", "params": {"nope": 1}}, {"metric_id": "date", "params": 3},
        {"metrics": [{"metric_id": "string_exact"}], "aggregation_weight": -1},
        {"metrics": [{"metric_id": "string_exact"}], "aggregation_weight": float("nan")},
        {"metrics": [{"metric_id": "string_exact", "weight": 0}]}, {"metric_id": ["string_exact"]},
    ]),
]  # fmt: skip
ROOT_FAULTS: list[Any] = [
    3, None, [], "", "{", "nul", True, False, [{}], {"anyOf": [{"$ref": "#"}, {"type": "string"}]},
    {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"$ref": "#/definitions/a", "definitions": {
        "a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}},
    {"schema": 3}, {"schema_definition": []}, {"json_schema": {"schema": None}}, {1: {}},
    {"properties": {"a": {"$ref": "#/properties/a"}}}, {"not": {"$ref": "#"}},
    {"$python": "circular dict"}, {"properties": {"a": {"$python": "circular dict"}}},
    {"$python": "number keys"}, {"properties": {"a": {"$python": "set"}}},
]  # fmt: skip


def subschemas(node: Node) -> list[dict[str, Any]]:
    """All schema objects inside a schema, itself first."""
    if not isinstance(node, dict):
        return []
    found = [node]
    for keyword in ("properties", "patternProperties", "$defs", "definitions"):
        value = node.get(keyword)
        for inner in value.values() if isinstance(value, dict) else ():
            found += subschemas(inner)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems", "items"):
        value = node.get(keyword)
        for inner in value if isinstance(value, list) else ():
            found += subschemas(inner)
    for keyword in ("items", "additionalProperties", "additionalItems", "not"):
        found += subschemas(node.get(keyword))
    return found


def spoil(schema: Node, rng: Random) -> Node:
    """A faulty variant of a schema."""
    places = subschemas(copied := copy.deepcopy(schema))
    if not places or chance(rng, 0.1):
        return copy.deepcopy(rng.choice(ROOT_FAULTS))
    for _ in range(rng.choice([1, 1, 2])):
        keyword, values = rng.choice(FAULTS)
        rng.choice(places)[keyword] = copy.deepcopy(rng.choice(values))
    return copied
