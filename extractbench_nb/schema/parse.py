"""JSON Schema to AST."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extractbench_nb._json import json_type, member, read_document
from extractbench_nb.errors import SchemaError
from extractbench_nb.schema.config import MetricCatalogue, parse_config
from extractbench_nb.schema.nodes import Children, Node, Schema
from extractbench_nb.schema.resolve import Flat, Part, Resolver
from extractbench_nb.schema.shapes import (
    STRUCTURE_OR_REF,
    Shape,
    Union,
    as_url,
    shape_of,
    union_of,
)

__all__ = ["ENVELOPES", "parse_schema", "use_catalogue"]

#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")

#: More nodes than any schema that a person wrote; a guard against references that multiply.
MAX_NODES = 200_000


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
    bare = not any(key in document for key in STRUCTURE_OR_REF)
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
        self.shapes: dict[int, tuple[Flat, Shape]] = {}
        self.unions: dict[int, Union | list[Node]] = {}
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

    def _shape(self, flat: Flat) -> Shape:
        """Read a node's keywords; plain references share them, so they are read once."""
        key = id(flat)
        if key not in self.shapes:
            declared = parse_config(
                flat.keywords.get("evaluation_config"),
                f"{flat.pointer}/evaluation_config",
                self.catalogue,
            )
            if self.url_rule:
                declared = as_url(declared, flat.keywords)
            self.shapes[key] = (flat, shape_of(flat, declared, _catalogue))
        return self.shapes[key][1]

    def _children(self, node: Node, flat: Flat, shape: Shape, active: frozenset[str]) -> Children:
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
            found = self.unions[key] = union_of(node.children.branches)
            for other in waiting:
                found.settle(other)
        found.settle(node)


def _bare_node(seed: _Seed, flat: Flat, shape: Shape) -> Node:
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
