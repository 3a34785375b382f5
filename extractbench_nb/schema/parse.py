"""`parse_schema`: JSON Schema to AST."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extractbench_nb._json import bracketed, json_type, member, private_copy, read_document
from extractbench_nb.errors import InputError, SchemaError
from extractbench_nb.schema.config import MetricCatalogue
from extractbench_nb.schema.nodes import Children, Node, Schema
from extractbench_nb.schema.outline import Outline, item_parts
from extractbench_nb.schema.resolve import STRUCTURE_OR_REF, Flat, Part, Shape

__all__ = ["ENVELOPES", "parse_schema", "use_catalogue"]


#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")


_catalogue: MetricCatalogue | None = None


def use_catalogue(catalogue: MetricCatalogue) -> None:
    """Tell the schema package which metrics exist. The metric registry calls it once, on import."""
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
    try:
        document, envelope = _unwrap(private_copy(read_document(schema, "schema"), "schema"))
    except InputError as error:
        if not issubclass(type(schema), Mapping):
            raise
        raise SchemaError("", str(error)) from None
    rules = (released, not released if url_rule is None else url_rule)
    return _parsed(document, envelope, rules, checked=not released)


def restore_schema(
    document: dict[str, Any], envelope: str | None, released: bool, url_rule: bool
) -> Schema:
    """Parse a document again that was a schema before; another process may lack its metrics."""
    return _parsed(document, envelope, (released, url_rule), checked=False)


def _pickled(schema: Schema) -> tuple[Any, ...]:
    """Pickle a schema as its document; it is parsed again on the other side."""
    rules = (schema.released, schema.url_rule)
    return (restore_schema, (dict(schema.document), schema.envelope, *rules))


copyreg.pickle(Schema, _pickled)


def _parsed(
    document: dict[str, Any], envelope: str | None, rules: tuple[bool, bool], *, checked: bool
) -> Schema:
    released, url_rule = rules
    try:
        outline = Outline(
            document, _catalogue, checked=checked, released=released, url_rule=url_rule
        )
    except RecursionError:
        raise SchemaError("", "is nested too deep to be read") from None
    seed = _Seed(outline.root, "$", "", "$", 0, True)
    return Schema(_node(outline, seed), document, envelope, released, url_rule)


def _unwrap(document: Any) -> tuple[Any, str | None]:
    if not isinstance(document, Mapping):
        raise SchemaError("", f"found {_found(document)}; expected an object (a JSON Schema)")
    envelope = None
    while _is_wrapped(document):
        envelope = next(key for key in ENVELOPES if isinstance(document.get(key), Mapping))
        document = document[envelope]
    return document, envelope


def _found(document: Any) -> str:
    """Name what stands in place of a schema; of a Pydantic model also what to pass."""
    kind = json_type(document)
    cls = document if isinstance(document, type) else type(document)
    if callable(getattr(cls, "model_json_schema", None)):
        return f"the model {cls.__name__} (pass {cls.__name__}.model_json_schema())"
    if kind != "unknown":
        return kind
    return f"the class {cls.__name__}" if cls is document else f"a {cls.__name__}"


def _is_wrapped(document: Mapping[str, Any]) -> bool:
    """Whether the schema stands under a key, beside a name or a ``response_format`` type."""
    bare = not any(key in document for key in STRUCTURE_OR_REF)
    bare = bare or document.get("type") == "json_schema"
    return bare and any(isinstance(document.get(key), Mapping) for key in ENVELOPES)


def _node(outline: Outline, seed: _Seed, parent: Flat | None = None) -> Node:
    """Build a node; what is below it is built when it is first asked for."""
    flat = seed.flat
    shape = outline.shape(flat)
    node = Node(
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
        recursive=parent is not None and outline.closes_cycle(parent, flat),
        structure=flat.structure,
        step=seed.step,
    )
    if shape.kind not in ("scalar", "null", "any"):
        node.loader = lambda: _children(outline, node, flat, shape)
    return node


def _children(outline: Outline, node: Node, flat: Flat, shape: Shape) -> Children:
    build = _ChildBuilder(outline, node, flat)
    if shape.kind == "object":
        return Children(build.properties(), build.additional(), patterns=build.patterns())
    if shape.kind == "array":
        return Children(items=build.items(), prefix=build.prefix())
    return Children(branches=build.branches(shape.branches))


class _ChildBuilder:
    """The children of one node, each with its own path, field and name."""

    def __init__(self, outline: Outline, node: Node, flat: Flat) -> None:
        self.outline, self.parent, self.flat = outline, node, flat

    def _build(self, parts: tuple[Part, ...], below: str, field: str, name: str, **kw: Any) -> Node:
        path = f"{self.parent.schema_path}.{below}"
        kw = {"depth": self.parent.depth + 1, "required": False, **kw}
        flat = self.outline.flatten(parts)
        return _node(self.outline, _Seed(flat, path, field, name, **kw), self.flat)

    def properties(self) -> dict[str, Node]:
        required = set(self.flat.keywords.get("required", []))
        return {
            name: self._property(name, parts, name in required or _asks_for_itself(parts))
            for name, parts in self.flat.properties.items()
        }

    def _property(self, name: str, parts: tuple[Part, ...], required: bool) -> Node:
        step = member(name)
        field = (self.parent.field + step).removeprefix(".")
        return self._build(parts, "properties" + step, field, name, required=required, step=step)

    def _entry(self, parts: tuple[Part, ...], below: str, name: str) -> Node:
        field = (self.parent.field + ".*").removeprefix(".")
        return self._build(parts, below, field, name)

    def patterns(self) -> dict[str, Node]:
        return {
            pattern: self._entry(parts, "patternProperties" + bracketed(pattern), f"/{pattern}/")
            for pattern, parts in self.flat.patterns.items()
        }

    def additional(self) -> Node | None:
        parts = self.flat.places.get("additionalProperties")
        if parts is None or isinstance(parts[0].schema, bool):
            return None
        return self._entry(parts, "additionalProperties", "*")

    def items(self) -> Node:
        return self._build(item_parts(self.flat), "items", self.parent.field + "[]", "[]")

    def prefix(self) -> tuple[Node, ...]:
        field = self.parent.field
        return tuple(
            self._build((part,), f"{_keyword(part)}[{i}]", f"{field}[{i}]", f"[{i}]")
            for i, part in enumerate(self.flat.places.get("prefixItems", ()))
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


def _asks_for_itself(parts: tuple[Part, ...]) -> bool:
    """Whether a property says ``required: true``, as up to draft 4."""
    return any(isinstance(p.schema, Mapping) and p.schema.get("required") is True for p in parts)


def _keyword(part: Part) -> str:
    """Return the keyword under which a list of schemas stands."""
    return part.pointer.split("/")[-2]


@dataclass(frozen=True, slots=True)
class _Seed:
    """What a node gets from its parent."""

    flat: Flat
    schema_path: str
    field: str
    name: str
    depth: int
    required: bool
    step: str = ""
