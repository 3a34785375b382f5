"""JSON Schema to AST."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from extractbench_nb._json import json_type, member, read_document
from extractbench_nb.errors import SchemaError, nearest
from extractbench_nb.schema.config import MetricCatalogue, NodeConfig, parse_config
from extractbench_nb.schema.nodes import Children, Node, Schema, effective_config
from extractbench_nb.schema.presets import ARRAY_METRICS
from extractbench_nb.schema.resolve import Flat, Part, Resolver

__all__ = ["ENVELOPES", "parse_schema", "use_catalogue"]

#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")

#: More nodes than any schema that a person wrote; a guard against references that multiply.
MAX_NODES = 200_000

_JSON_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_STRUCTURE = ("type", "properties", "additionalProperties", "items", "prefixItems", "enum", "const")
_STRUCTURE_OR_REF = (*_STRUCTURE, "$ref", "anyOf", "oneOf", "allOf")

_catalogue: MetricCatalogue | None = None


def use_catalogue(catalogue: MetricCatalogue) -> None:
    """Tell the schema room which metrics exist. The metric registry calls it once, on import.

    Parameters
    ----------
    catalogue : MetricCatalogue
        Where `parse_schema` checks the names and params of metrics.
    """
    global _catalogue  # noqa: PLW0603 - the one link from the registry up to the schema
    _catalogue = catalogue


def parse_schema(
    schema: Mapping[str, Any] | str | Path | Schema,
    *,
    released: bool = False,
    url_rule: bool | None = None,
) -> Schema:
    """Parse a JSON Schema with ``evaluation_config`` annotations into a typed AST.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        The schema, JSON text, a file, or a parsed schema (returned as it is).
    released : bool, optional
        Read it as the published package 0.1.0 does: any metric name and params, an
        ``evaluation_config`` beside ``$ref`` ignored.
    url_rule : bool, optional
        Whether string_exact at a field of ``format: uri`` compares addresses, as string_url does.
        By default so, but not where read as the package does.

    Returns
    -------
    Schema
        With a readable repr, ``.to_frame()`` and a foldable tree in notebooks.

    Raises
    ------
    SchemaError
        The schema cannot be read; names the JSON Pointer, what was found, what is expected.
    ConfigError
        An ``evaluation_config`` names something unknown or has bad params.
    InputError
        The file cannot be read or the text is not JSON.

    Examples
    --------
    >>> tree = parse_schema({"type": "object", "properties": {"tags": {"type": "array"}}})
    >>> tree.to_frame()[["field", "type", "metric"]].values.tolist()[1]
    ['tags', 'array', 'array_llm']
    """
    if isinstance(schema, Schema):
        return schema
    document, envelope = _unwrap(read_document(schema, "schema"))
    rules = (released, not released if url_rule is None else url_rule)
    builder = _Builder(document, None if released else _catalogue, *rules)
    return Schema(builder.root(), document, envelope, *rules)


def restore_schema(
    document: dict[str, Any], envelope: str | None, released: bool, url_rule: bool
) -> Schema:
    """Parse a document again that was a schema before; another process may lack its metrics."""
    root = _Builder(document, None, released, url_rule).root()
    return Schema(root, document, envelope, released, url_rule)


def _unwrap(document: Any) -> tuple[dict[str, Any], str | None]:
    if not isinstance(document, Mapping):
        found = json_type(document)
        raise SchemaError("", f"found {found}; expected an object (a JSON Schema)")
    envelope = None
    while _is_wrapped(document):
        envelope = next(key for key in ENVELOPES if isinstance(document.get(key), Mapping))
        document = document[envelope]
    return dict(document), envelope


def _is_wrapped(document: Mapping[str, Any]) -> bool:
    """Whether the schema stands under a key, beside a name or a ``response_format`` type."""
    bare = not any(key in document for key in _STRUCTURE_OR_REF)
    bare = bare or document.get("type") == "json_schema"
    return bare and any(isinstance(document.get(key), Mapping) for key in ENVELOPES)


class _Builder:
    """Builds nodes; what a node is called and where it stands comes in as a `_Seed`."""

    def __init__(
        self,
        document: dict[str, Any],
        catalogue: MetricCatalogue | None,
        released: bool,
        url_rule: bool,
    ) -> None:
        self.resolver = Resolver(document, config_beside_ref=not released)
        self.catalogue = catalogue
        self.url_rule = url_rule
        self.shapes: dict[int, tuple[Flat, _Shape]] = {}
        self.unions: dict[int, _Union | list[Node]] = {}
        self.count = 0

    def root(self) -> Node:
        seed = _Seed((Part(self.resolver.document, ""),), "$", "", "$", 0, True)
        try:
            return self.node(seed, frozenset())
        except RecursionError:
            raise SchemaError("", "is nested too deep to be read") from None

    def node(self, seed: _Seed, active: frozenset[str]) -> Node:
        """Build a node and what is below it; stop where references close a cycle."""
        self.count += 1
        if self.count > MAX_NODES:
            raise SchemaError(
                seed.parts[0].pointer, f"unfolds to more than {MAX_NODES:,} nodes through its $refs"
            )
        flat = self.resolver.flatten(seed.parts)
        shape = self._shape(flat)
        node = _bare_node(seed, flat, shape)
        below = active | flat.visited
        if flat.ref is not None and self.resolver.closes_cycle(flat.visited, active):
            node.recursive = True
            node.loader = lambda: self._children(node, flat, shape, frozenset(flat.visited))
        else:
            node.loaded = self._children(node, flat, shape, below)
        if shape.kind == "union":
            self._settle_union(node, id(flat))
        return node

    def _shape(self, flat: Flat) -> _Shape:
        """Read a node's keywords; plain references share them, so they are read once."""
        key = id(flat)
        if key not in self.shapes:
            declared = parse_config(
                flat.keywords.get("evaluation_config"),
                f"{flat.pointer}/evaluation_config",
                self.catalogue,
            )
            if self.url_rule:
                declared = _url_rule(declared, flat.keywords)
            self.shapes[key] = (flat, _shape(flat, declared))
        return self.shapes[key][1]

    def _children(self, node: Node, flat: Flat, shape: _Shape, active: frozenset[str]) -> Children:
        build = _ChildBuilder(self, node, flat, active)
        if shape.kind == "object":
            return Children(properties=build.properties(), additional=build.additional())
        if shape.kind == "array":
            return Children(items=build.items(), prefix=build.prefix())
        if shape.kind == "union":
            return Children(branches=build.branches(shape.branches))
        return Children()

    def _settle_union(self, node: Node, key: int) -> None:
        """Give a union what follows from its branches.

        A union that leads back to itself is met again while its branches are read; it then waits
        in a list until they are.
        """
        found = self.unions.get(key)
        if isinstance(found, list):
            found.append(node)
            return
        if found is None:
            waiting: list[Node] = []
            self.unions[key] = waiting
            found = self.unions[key] = _union(node.children.branches)
            for other in waiting:
                found.settle(other)
        found.settle(node)


@dataclass(frozen=True, slots=True)
class _Union:
    """What a union has from its branches: types, label, and the config that they agree on."""

    types: frozenset[str]
    labels: tuple[str, ...]
    nullable: bool
    config: NodeConfig | None

    def settle(self, node: Node) -> None:
        node.types = self.types
        node.nullable = node.nullable or self.nullable
        node.label = " | ".join([*self.labels, *(["null"] if node.nullable else [])])
        node.config = node.config or self.config


def _union(branches: tuple[Node, ...]) -> _Union:
    concrete = [b for b in branches if b.kind != "null"]
    types = frozenset[str]().union(*(b.types for b in concrete))
    labels = tuple(dict.fromkeys(b.label.removesuffix(" | null") for b in concrete))
    nullable = any(b.kind == "null" or b.nullable for b in branches)
    config = None
    votes = [b.config for b in branches if b.declared and b.config is not None]
    if votes and all(vote == votes[0] for vote in votes):
        config = votes[0]
    elif len(concrete) == 1 and concrete[0].kind == "scalar":
        config = concrete[0].config
    if any(b.kind == "any" for b in branches):
        types = frozenset()
    return _Union(types, labels, nullable, config)


def _bare_node(seed: _Seed, flat: Flat, shape: _Shape) -> Node:
    return Node(
        shape.kind,
        shape.types,
        shape.label,
        seed.schema_path,
        flat.pointer,
        seed.field,
        seed.name,
        seed.depth,
        seed.required,
        shape.nullable,
        shape.config,
        shape.declared,
        flat.keywords,
        flat.ref,
        step=seed.step,
    )


class _ChildBuilder:
    """The children of one node, each with its own path, field and name."""

    def __init__(self, builder: _Builder, node: Node, flat: Flat, active: frozenset[str]) -> None:
        self.builder, self.parent, self.flat, self.active = builder, node, flat, active

    def _build(self, parts: tuple[Part, ...], below: str, field: str, name: str, **kw: Any) -> Node:
        path = f"{self.parent.schema_path}.{below}"
        kw = {"depth": self.parent.depth + 1, "required": True, **kw}
        return self.builder.node(_Seed(parts, path, field, name, **kw), self.active)

    def properties(self) -> dict[str, Node]:
        required = {r for r in self.flat.keywords.get("required", []) if isinstance(r, str)}
        return {
            name: self._property(name, parts, name in required)
            for name, parts in self.flat.properties.items()
        }

    def _property(self, name: str, parts: tuple[Part, ...], required: bool) -> Node:
        step = member(name)
        field = (self.parent.field + step).removeprefix(".")
        return self._build(parts, "properties" + step, field, name, required=required, step=step)

    def additional(self) -> Node | None:
        parts = self.flat.places.get("additionalProperties")
        if parts is None or isinstance(parts[0].schema, bool):
            return None
        field = (self.parent.field + ".*").removeprefix(".")
        return self._build(parts, "additionalProperties", field, "*", required=False)

    def items(self) -> Node | None:
        parts = self.flat.places.get("items") or (Part(True, f"{self.flat.pointer}/items"),)
        if isinstance(parts[0].schema, list):  # the tuple form of older drafts
            return None
        return self._build(parts, "items", self.parent.field + "[]", "[]", required=False)

    def prefix(self) -> tuple[Node, ...]:
        parts = self.flat.places.get("prefixItems", ())
        field = self.parent.field
        return tuple(
            self._build((part,), f"prefixItems[{i}]", f"{field}[{i}]", f"[{i}]", required=False)
            for i, part in enumerate(parts)
        )

    def branches(self, parts: tuple[tuple[Part, ...], ...]) -> tuple[Node, ...]:
        keyword = (
            "oneOf" if "oneOf" in self.flat.places and "anyOf" not in self.flat.places else "anyOf"
        )
        return tuple(
            self._build(
                part,
                f"{keyword}[{i}]",
                self.parent.field,
                self.parent.name,
                depth=self.parent.depth,
                required=self.parent.required,
            )
            for i, part in enumerate(parts)
        )


@dataclass(frozen=True, slots=True)
class _Seed:
    """What a node gets from its parent."""

    parts: tuple[Part, ...]
    schema_path: str
    field: str
    name: str
    depth: int
    required: bool
    step: str = ""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The kind of a node, as far as its own keywords tell."""

    kind: str
    type: str
    types: frozenset[str]
    label: str
    nullable: bool
    branches: tuple[tuple[Part, ...], ...] = ()
    config: NodeConfig | None = None
    declared: bool = False


def _shape(flat: Flat, declared: NodeConfig | None) -> _Shape:
    shape = _bare_shape(flat)
    if shape.kind == "object" and _aligns_a_map(flat, declared):
        rest = {k: v for k, v in flat.keywords.items() if k != "evaluation_config"}
        shape = replace(shape, kind="union", branches=((Part(rest, flat.pointer),),))
    if shape.kind in ("object", "null"):
        config = declared if declared is not None and _is_scored(shape.kind, declared) else None
    else:
        config = declared if shape.kind == "union" else effective_config(declared, shape.type)
    return replace(shape, config=config, declared=declared is not None)


def _is_scored(kind: str, declared: NodeConfig) -> bool:
    """Whether a config means an object or null itself: it skips it, or asks a class about it."""
    if declared.skip or kind == "null" or _catalogue is None:
        return declared.skip
    return all(_catalogue.takes_objects(spec.metric_id) for spec in declared.metrics)


def _aligns_a_map(flat: Flat, declared: NodeConfig | None) -> bool:
    """Whether an array metric stands at a map: its entries are then aligned as one array."""
    names = {spec.metric_id for spec in declared.metrics} if declared is not None else set()
    below = flat.places.get("additionalProperties", ())
    is_map = not flat.properties and any(not isinstance(p.schema, bool) for p in below)
    return is_map and bool(names & ARRAY_METRICS)


def _bare_shape(flat: Flat) -> _Shape:
    types = _declared_types(flat)
    nullable = flat.keywords.get("nullable") is True or "null" in types
    branches = _union_branches(flat, types)
    if branches:
        return _Shape("union", "union", frozenset(), "union", nullable, branches)
    concrete = [t for t in types if t != "null"]
    if not concrete:
        kind, name = ("null", "null") if types else ("any", "any")
        return _Shape(kind, name, frozenset(), name, nullable or kind == "null")
    name = concrete[0]
    kind = name if name in ("object", "array") else "scalar"
    label = f"{name} | null" if nullable else name
    return _Shape(kind, name, _json_types(concrete), label, nullable)


def _json_types(types: list[str]) -> frozenset[str]:
    return frozenset("number" if t == "integer" else t for t in types)


def _declared_types(flat: Flat) -> list[str]:
    """Types that the keywords state or imply."""
    declared = flat.keywords.get("type")
    if declared is None:
        return _implied_types(flat)
    names = declared if isinstance(declared, list) else [declared]
    for name in names:
        if name not in _JSON_TYPES:
            raise SchemaError(
                f"{flat.pointer}/type", f"unknown type {name!r}; {nearest(name, _JSON_TYPES)}"
            )
    if not names:
        raise SchemaError(f"{flat.pointer}/type", "found an empty list; expected a type")
    return list(dict.fromkeys(names))


def _implied_types(flat: Flat) -> list[str]:
    if flat.properties or "additionalProperties" in flat.places:
        return ["object"]
    if "items" in flat.places or "prefixItems" in flat.places:
        return ["array"]
    if "const" in flat.keywords:
        values = [flat.keywords["const"]]
    else:
        values = flat.keywords.get("enum", [])
        if not isinstance(values, list):
            raise SchemaError(f"{flat.pointer}/enum", f"found {values!r}; expected a list")
    return list(dict.fromkeys(_value_type(v) for v in values))


def _value_type(value: Any) -> str:
    found = json_type(value)
    whole = found == "number" and isinstance(value, int)
    return "integer" if whole else found


def _union_branches(flat: Flat, types: list[str]) -> tuple[tuple[Part, ...], ...]:
    """Return the branches of anyOf, oneOf or a list of types; none where there is one type."""
    alternatives = flat.places.get("anyOf") or flat.places.get("oneOf") or ()
    if any(_is_structural(part.schema) for part in alternatives):
        base = {k: v for k, v in flat.keywords.items() if k in (*_STRUCTURE, "required")}
        shared = (Part(base, flat.pointer),) if base.keys() - {"required"} else ()
        return tuple((p,) if _is_null(p.schema) else (p, *shared) for p in alternatives)
    concrete = [t for t in types if t != "null"]
    if len(concrete) <= 1:
        return ()
    rest = {k: v for k, v in flat.keywords.items() if k not in ("type", "evaluation_config")}
    return tuple((Part({**rest, "type": t}, flat.pointer),) for t in concrete)


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _is_structural(schema: Any) -> bool:
    return isinstance(schema, bool) or (
        isinstance(schema, Mapping) and any(key in schema for key in _STRUCTURE_OR_REF)
    )


def _url_rule(config: NodeConfig | None, keywords: Mapping[str, Any]) -> NodeConfig | None:
    """``format: uri`` with string_exact is compared as a URL (README of ExtractBench)."""
    if config is None or keywords.get("format") != "uri":
        return config
    specs = tuple(
        replace(s, metric_id="string_url") if s.metric_id == "string_exact" else s
        for s in config.metrics
    )
    return NodeConfig(specs, config.weight)
