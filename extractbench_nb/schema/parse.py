"""`parse_schema`: JSON Schema to AST.

Each definition of a schema is read once, which finds all faults before any data is read: the kind
of every node, and where cycles of references close. Nodes are then built on access.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from extractbench_nb._json import bracketed, json_type, member, private_copy, read_document
from extractbench_nb.errors import ConfigError, InputError, SchemaError
from extractbench_nb.schema.config import MetricCatalogue, check_types, parse_config
from extractbench_nb.schema.nodes import Children, Node, Schema
from extractbench_nb.schema.resolve import (
    STRUCTURE_OR_REF,
    Flat,
    Part,
    Resolver,
    Shape,
    as_url,
    settled_union,
    shape_of,
)

#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")
#: More nodes than any schema that a person wrote; a guard against references that multiply.
MAX_NODES = 50_000
#: Levels of a schema; a guard against stacks that overflow further on.
MAX_LEVELS = 200


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
        document = private_copy(read_document(schema, "schema"), "schema")
    except InputError as error:
        if not issubclass(type(schema), Mapping):
            raise
        raise SchemaError("", str(error)) from None
    if not isinstance(document, Mapping):
        raise SchemaError("", f"found {_found(document)}; expected an object (a JSON Schema)")
    envelope = None
    while True:  # a schema may stand under a key, beside a name or a ``response_format`` type
        bare = document.get("type") == "json_schema" or STRUCTURE_OR_REF.isdisjoint(document)
        wrapping = [key for key in ENVELOPES if isinstance(document.get(key), Mapping)]
        if not bare or not wrapping:
            break
        envelope = wrapping[0]
        document = document[envelope]
    rules = (released, not released if url_rule is None else url_rule)
    return _parsed(document, envelope, rules, checked=not released)


def _found(document: Any) -> str:
    """Name what stands in place of a schema; of a Pydantic model also what to pass."""
    kind = json_type(document)
    cls = document if isinstance(document, type) else type(document)
    if callable(getattr(cls, "model_json_schema", None)):
        return f"the model {cls.__name__} (pass {cls.__name__}.model_json_schema())"
    if kind != "unknown":
        return kind
    return f"the class {cls.__name__}" if cls is document else f"a {cls.__name__}"


def restore_schema(
    document: dict[str, Any], envelope: str | None, released: bool, url_rule: bool
) -> Schema:
    """Parse a document again that was a schema before; another process may lack its metrics."""
    return _parsed(document, envelope, (released, url_rule), checked=False)


copyreg.pickle(
    Schema,
    lambda schema: (
        restore_schema,
        (dict(schema.document), schema.envelope, schema.released, schema.url_rule),
    ),
)


def _parsed(
    document: dict[str, Any], envelope: str | None, rules: tuple[bool, bool], *, checked: bool
) -> Schema:
    metrics = None if _catalogue is None else _catalogue.version()
    try:
        text = json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # values that JSON does not have
        text = ""
    # patterns of keys remember which of them took too long, in which documents
    if not text or "patternProperties" in text:
        root = _root(document, rules, checked)
    else:
        root = _known_root(text, rules, checked, metrics)
    return Schema(root, document, envelope, *rules)


@lru_cache(maxsize=64)
def _known_root(text: str, rules: tuple[bool, bool], checked: bool, _: Hashable) -> Node:
    """Read a schema once, as long as the metrics are the same."""
    return _root(json.loads(text), rules, checked)


def _root(document: dict[str, Any], rules: tuple[bool, bool], checked: bool) -> Node:
    try:
        outline = Outline(document, rules, checked=checked)
    except RecursionError:
        raise SchemaError("", "is nested too deep to be read") from None
    return _node(
        outline, outline.root, None, schema_path="$", field="", name="$", depth=0, required=True
    )


class Outline:
    """The definitions that can be reached from the root of a schema; raises for its faults.

    ``rules`` are whether an ``evaluation_config`` beside ``$ref`` is ignored, and whether
    string_exact at a field of ``format: uri`` compares addresses. If `checked`, names and params
    of metrics must be those of the catalogue.
    """

    def __init__(
        self, document: dict[str, Any], rules: tuple[bool, bool], *, checked: bool
    ) -> None:
        released, self._url_rule = rules
        self._catalogue, self._known = _catalogue, _catalogue if checked else None
        self.flatten = Resolver(document, released=released).flatten
        self.shapes: dict[int, Shape] = {}
        self._flats: dict[int, Flat] = {}
        self._below: dict[int, list[Flat]] = {}
        self.root = self.flatten((Part(document, ""),))
        self._survey()
        self._settle_unions()
        for key, shape in self.shapes.items():
            if shape.declared and self._known is not None:
                at = f"{self._flats[key].pointer}/evaluation_config"
                check_types(shape.config, shape.types, shape.label, at, self._known)
        #: Without references the nodes are a tree, and those of `_flats` stand above theirs.
        self._refers = any(flat.ref for flat in self._flats.values())
        self._cycles = self._components() if self._refers else {}
        self._check_size()

    def _survey(self) -> None:
        todo = [self.root]
        while todo:
            flat = todo.pop()
            if id(flat) in self.shapes:
                continue
            if len(self.shapes) >= MAX_NODES:
                raise _too_large(flat)
            self._flats[id(flat)] = flat
            at = f"{flat.pointer}/evaluation_config"
            written = flat.keywords.get("evaluation_config")
            default = None
            if isinstance(written, Mapping) and "accepted" in written:
                plain = shape_of(flat, None, self._catalogue)
                default = plain.config
                if plain.kind in ("object", "array"):
                    problem = f"found at a node of type {plain.label}; expected it at its values"
                    raise ConfigError(f"{at}/accepted", problem)
            declared = parse_config(written, at, self._known, default)
            if self._url_rule:
                declared = as_url(declared, flat.keywords)
            shape = self.shapes[id(flat)] = shape_of(flat, declared, self._catalogue)
            below = [self.flatten(parts) for parts in _child_parts(flat, shape)]
            self._below[id(flat)] = below
            todo.extend(reversed(below))

    def _settle_unions(self) -> None:
        """Give each union what it has from its branches, inner unions first."""
        unions = {key for key, shape in self.shapes.items() if shape.kind == "union"}
        branches = {key: [id(flat) for flat in self._below[key]] for key in unions}
        try:
            order = [*TopologicalSorter(branches).static_order()]
        except CycleError as error:
            at = min(self._flats[key].pointer for key in error.args[1])
            problem = "refers to itself without any structure in between"
            raise SchemaError(at, problem) from None
        for key in order:
            if key in unions:
                shapes = [self.shapes[branch] for branch in branches[key]]
                self.shapes[key] = settled_union(self.shapes[key], shapes)

    def _components(self) -> dict[frozenset[str], int]:
        """Give each structure a number; those on a common cycle share one."""
        edges = {
            (flat.structure, child.structure)
            for key, flat in self._flats.items()
            for child in self._below[key]
        }
        numbers = {name: i for i, name in enumerate(dict.fromkeys(s for e in edges for s in e))}
        if not edges:
            return numbers
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = np.array([(numbers[a], numbers[b]) for a, b in edges]).T
        graph = coo_array((np.ones(len(edges)), tuple(ends)), shape=(len(numbers),) * 2)
        _, found = connected_components(graph, connection="strong")
        return {name: int(found[i]) for name, i in numbers.items()}

    def closes_cycle(self, parent: Flat, child: Flat) -> bool:
        """Say whether a reference leads back to what it is part of."""
        if child.ref is None or not child.structure:
            return False
        return self._cycles[parent.structure] == self._cycles[child.structure]

    def _check_size(self) -> None:
        """Count nodes and levels of the schema unfolded, without what data must ask for."""
        graph = {
            key: [id(c) for c in below if not self.closes_cycle(self._flats[key], c)]
            for key, below in self._below.items()
        }
        sizes: dict[int, tuple[int, int]] = {}
        for key in TopologicalSorter(graph).static_order() if self._refers else reversed(graph):
            found = [sizes[child] for child in graph[key]]
            size = 1 + len(self._below[key]) - len(found) + sum(nodes for nodes, _ in found)
            sizes[key] = (size, 1 + max((levels for _, levels in found), default=0))
            if size > MAX_NODES:
                raise _too_large(self._flats[key])
            if sizes[key][1] > MAX_LEVELS:
                raise SchemaError("", "is nested too deep to be read")


def _child_parts(flat: Flat, shape: Shape) -> Iterator[tuple[Part, ...]]:
    if shape.kind == "object":
        yield from flat.properties.values()
        yield from flat.patterns.values()
        yield from _additional(flat)
    elif shape.kind == "array":
        yield from ((part,) for part in flat.places.get("prefixItems", ()))
        yield _items(flat)
    elif shape.kind == "union":
        yield from shape.branches


def _additional(flat: Flat) -> list[tuple[Part, ...]]:
    """Return the parts of the entries of a map, if it has a schema for them."""
    parts = flat.places.get("additionalProperties", ())
    return [parts] if parts and not isinstance(parts[0].schema, bool) else []


def _items(flat: Flat) -> tuple[Part, ...]:
    """Return the parts of an array's items: of all, or of those after a tuple's."""
    return flat.places.get("items") or (Part(True, f"{flat.pointer}/items"),)


def _too_large(flat: Flat) -> SchemaError:
    return SchemaError(flat.pointer, f"unfolds to more than {MAX_NODES:,} nodes through its $refs")


def _node(outline: Outline, flat: Flat, parent: Flat | None, **about: Any) -> Node:
    """Build a node; what is below it is built when it is first asked for."""
    shape = outline.shapes[id(flat)]
    node = Node(
        kind=shape.kind,
        types=shape.types,
        label=shape.label,
        pointer=flat.pointer,
        nullable=shape.nullable,
        config=shape.config,
        declared=shape.declared,
        keywords=flat.keywords,
        ref=flat.ref,
        recursive=parent is not None and outline.closes_cycle(parent, flat),
        structure=flat.structure,
        **about,
    )
    if shape.kind not in ("scalar", "null", "any"):
        node.loader = lambda: _children(outline, node, flat, shape)
    return node


def _children(outline: Outline, node: Node, flat: Flat, shape: Shape) -> Children:
    """Build the children of a node, each with its own path, field and name."""

    def build(parts: tuple[Part, ...], below: str, field: str, name: str, **about: Any) -> Node:
        about = {"depth": node.depth + 1, "required": False, **about}
        path = f"{node.schema_path}.{below}"
        field = field.removeprefix(".")
        child = outline.flatten(parts)
        return _node(outline, child, flat, schema_path=path, field=field, name=name, **about)

    if shape.kind == "object":
        listed = set(flat.keywords.get("required", []))
        properties = {}
        for name, parts in flat.properties.items():
            # up to draft 4 a property may say ``required: true`` itself
            own = any(
                isinstance(p.schema, Mapping) and p.schema.get("required") is True for p in parts
            )
            step = member(name)
            about = {"required": name in listed or own, "step": step}
            properties[name] = build(parts, "properties" + step, node.field + step, name, **about)
        entry = node.field + ".*"
        rest = [build(p, "additionalProperties", entry, "*") for p in _additional(flat)]
        patterns = {
            pattern: build(parts, "patternProperties" + bracketed(pattern), entry, f"/{pattern}/")
            for pattern, parts in flat.patterns.items()
        }
        return Children(properties, rest[0] if rest else None, patterns=patterns)
    if shape.kind == "array":
        prefix = []
        for i, part in enumerate(flat.places.get("prefixItems", ())):
            keyword = part.pointer.split("/")[-2]  # items, in older drafts
            prefix.append(build((part,), f"{keyword}[{i}]", f"{node.field}[{i}]", f"[{i}]"))
        items = build(_items(flat), "items", node.field + "[]", "[]")
        return Children(items=items, prefix=tuple(prefix))
    keyword = "oneOf" if "oneOf" in flat.places and "anyOf" not in flat.places else "anyOf"
    same = {"depth": node.depth, "required": node.required}
    branches = (
        build(parts, f"{keyword}[{i}]", node.field, node.name, **same)
        for i, parts in enumerate(shape.branches)
    )
    return Children(branches=tuple(branches))
