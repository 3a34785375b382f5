"""`parse_schema`: JSON Schema to AST.

Each definition of a schema is read once, which finds all faults before any data is read: the kind
of every node, and where cycles of references close. Nodes are then built on access.
"""

from __future__ import annotations

import copyreg
import json
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from extractbench_nb.core.schema.evaluation_config import (
    MetricCatalogue,
    NodeConfig,
    check_types,
    parse_config,
)
from extractbench_nb.core.schema.keywords import short, subschemas
from extractbench_nb.core.schema.resolve import (
    STRUCTURE_OR_REF,
    Flat,
    Part,
    Resolver,
    Shape,
    as_url,
    settled_union,
    shape_of,
)
from extractbench_nb.core.schema.schema_nodes import Children, Node, Schema
from extractbench_nb.core.values.json_values import (
    bracketed,
    escape_pointer,
    is_model,
    json_type,
    member,
    private_copy,
    read_document,
    unescape_pointer,
)
from extractbench_nb.errors import ConfigError, InputError, SchemaError, nearest

#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")
#: Keyword at the root of a schema: configs that replace those of nodes, by field.
BY_FIELD = "evaluation_config_by_field"
#: More nodes than any schema that a person wrote; a guard against references that multiply.
MAX_NODES = 50_000
#: Levels of a schema; a guard against stacks that overflow further on.
MAX_LEVELS = 200


_catalogue: MetricCatalogue | None = None


def use_catalogue(catalogue: MetricCatalogue) -> None:
    """Tell the schema package which metrics exist. The metric registry calls it once, on import."""
    global _catalogue  # noqa: PLW0603 - the one link from the registry up to the schema
    _catalogue = catalogue


class JsonSchemaWriter(Protocol):
    """What is asked of a ``pydantic.TypeAdapter``."""

    def json_schema(self, *, by_alias: bool, mode: Any) -> dict[str, Any]:
        """Return the JSON Schema of the type."""
        ...


#: What can be given as a schema; a class is one of a Pydantic model.
SchemaSource: TypeAlias = Mapping[str, Any] | str | Path | Schema | type[Any] | JsonSchemaWriter


def parse_schema(
    schema: SchemaSource,
    *,
    metrics: Mapping[str, Any] | None = None,
) -> Schema:
    """Parse a JSON Schema with ``evaluation_config`` annotations into a typed AST.

    Parameters
    ----------
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        The schema, JSON text, a file, or a parsed schema (returned as it is). Of a Pydantic model
        class or a TypeAdapter the input schema is used (``mode="validation"``), with
        ``evaluation_config`` from ``json_schema_extra``.
    metrics : mapping from str, optional
        Other metrics for some fields, named as in the column ``field``: ``total``,
        ``lines[].amount``. The name of a preset or a metric, a function with ``@metric``, or an
        ``evaluation_config``.

    Returns
    -------
    Schema
        With a readable repr, ``.to_frame()`` and a foldable tree in notebooks.

    Raises
    ------
    SchemaError
        The schema cannot be read; names the JSON Pointer, what was found, what is expected.
    ConfigError
        An ``evaluation_config`` names something unknown or has bad params; a metric is for a field
        that does not exist or whose type it cannot compare.
    InputError
        The file cannot be read, the text is not JSON, or a function is not registered.

    Notes
    -----
    `metrics` stand in ``Schema.document`` under ``evaluation_config_by_field``, a keyword at the
    root that can also be written by hand. It changes one field where several share a ``$ref``.

    Examples
    --------
    >>> document = {"type": "object", "properties": {"tags": {"type": "array"}}}
    >>> parse_schema(document).to_frame()[["field", "type", "metric"]].values.tolist()[1]
    ['tags', 'array', 'array_llm']
    >>> parse_schema(document, metrics={"tags": "set_f1"})
    $ object
    └─ tags: array · set_f1
       └─ []: any
    """
    if metrics is not None:
        return with_metrics(parse_schema(schema), metrics)
    if isinstance(schema, Schema):
        return schema
    schema = model_schema(schema)
    try:
        document = private_copy(read_document(schema, "schema"), "schema")
    except InputError as error:
        if not issubclass(type(schema), Mapping):
            raise
        raise SchemaError("", str(error)) from None
    if not isinstance(document, Mapping):
        raise SchemaError("", _problem(document))
    envelope = None
    while True:  # a schema may stand under a key, beside a name or a ``response_format`` type
        bare = document.get("type") == "json_schema" or STRUCTURE_OR_REF.isdisjoint(document)
        wrapping = [key for key in ENVELOPES if isinstance(document.get(key), Mapping)]
        if not bare or not wrapping:
            break
        envelope = wrapping[0]
        document = document[envelope]
    try:
        return _parsed(document, envelope)
    except SchemaError as error:
        if not isinstance(schema, Path):
            raise
        problem = f"{error.problem} (schema file {str(schema)!r})"
        raise type(error)(error.pointer, problem) from None


def model_schema(source: Any) -> Any:
    """Return the JSON Schema of a Pydantic model class or ``TypeAdapter``; others as they are.

    It is the one of input, which model providers send. A secret, which every dump masks, is not
    scored unless its field has a config.
    """
    kind = type(source)
    if isinstance(source, type):
        write, name = getattr(source, "model_json_schema", None), source.__name__
    elif is_model(source):
        raise SchemaError("", f"found an instance of the model {kind.__name__}; pass the class")
    else:
        adapts = callable(getattr(kind, "validate_python", None))
        write, name = getattr(source, "json_schema", None) if adapts else None, kind.__name__
    if not callable(write):
        return source
    core = getattr(source, "__pydantic_core_schema__", getattr(source, "core_schema", None))
    known = document = None
    with suppress(TypeError):  # no weak reference
        known, document = _written.get(source, (None, None))
    if document is not None and core is known is not None:
        return document
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # defaults that JSON does not have
            document = private_copy(write(by_alias=True, mode="validation"))
    except Exception as error:  # noqa: BLE001 - hooks of the user's may raise anything
        reason = " ".join(str(error).split())
        raise SchemaError("", f"the model {name} has no JSON Schema: {reason}") from None
    todo = [document]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if part.get("format") == "password" and part.get("writeOnly") is True:
                part.setdefault("evaluation_config", "skip")
            todo.extend(inner for _, inner in subschemas(part))
    with suppress(TypeError):
        _written[source] = core, document
    return document


#: Schemas of models, with the object that rebuilding a model replaces.
_written: WeakKeyDictionary[Any, tuple[Any, dict[str, Any]]] = WeakKeyDictionary()


def _problem(document: Any) -> str:
    """Name what stands in place of a schema."""
    kind, expected = json_type(document), "expected an object (a JSON Schema)"
    if kind != "unknown":
        return f"found {kind}; {expected}"
    is_class = isinstance(document, type)
    found = f"the class {document.__name__}" if is_class else f"a {type(document).__name__}"
    return f"found {found}; {expected}, a Pydantic model class or a TypeAdapter of the type"


def restore_schema(document: dict[str, Any], envelope: str | None) -> Schema:
    """Parse a document again that was a schema before; another process may lack its metrics."""
    return _parsed(document, envelope, checked=False)


copyreg.pickle(Schema, lambda schema: (restore_schema, (dict(schema.document), schema.envelope)))


def _parsed(document: dict[str, Any], envelope: str | None, *, checked: bool = True) -> Schema:
    metrics = None if _catalogue is None else _catalogue.version()
    try:
        text = json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # values that JSON does not have
        text = ""
    # patterns of keys remember which of them took too long, in which documents
    if not text or "patternProperties" in text:
        root = _root(document, checked)
    else:
        root = _known_root(text, checked, metrics)
    return Schema(root, document, envelope)


@lru_cache(maxsize=64)
def _known_root(text: str, checked: bool, _: Hashable) -> Node:
    """Read a schema once, as long as the metrics are the same."""
    return _root(json.loads(text), checked)


def with_metrics(schema: Schema, metrics: Mapping[str, Any]) -> Schema:
    """Return the schema with other metrics for some fields."""
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is {metrics!r}; expected a dict from field to metric")
    named = _catalogue.config_of if _catalogue is not None else private_copy
    configs = {field: named(metric) for field, metric in metrics.items()}
    document = {**schema.document, BY_FIELD: {**schema.document.get(BY_FIELD, {}), **configs}}
    try:
        return _parsed(document, schema.envelope)
    except ConfigError as error:
        _, _, place = (error.pointer or "").partition(f"/{BY_FIELD}/")
        where = f"metrics, {unescape_pointer(place)}" if place else BY_FIELD
        raise ConfigError(None, f"{where}: {error.problem}") from None


def is_schema(document: Mapping[str, Any]) -> bool:
    """Whether an object has a keyword of a schema, rather than schemas by id."""
    return not _KEYWORDS.isdisjoint(document)


_KEYWORDS = STRUCTURE_OR_REF | {*ENVELOPES, "$schema", "$defs", "definitions"}


def _root(document: dict[str, Any], checked: bool) -> Node:
    try:
        outline = Outline(document, checked=checked)
    except RecursionError:
        raise SchemaError("", "is nested too deep to be read") from None
    about: dict[str, Any] = {"schema_path": "$", "field": "", "name": "$", "depth": 0}
    root = _node(outline, outline.root, None, required=True, **about)
    for field, config in outline.by_field.items():
        at, nodes = f"/{BY_FIELD}/{escape_pointer(field)}", Schema(root, document).nodes_of(field)
        if not nodes:
            known = {node.field or "$" for node in Schema(root, document).nodes()}
            raise ConfigError(at, f"there is no field {field!r}; {nearest(field, known)}")
        for node in nodes if checked else ():
            assert _catalogue is not None  # noqa: S101 - the registry is loaded by now
            check_types(config, node.types, node.label, at, _catalogue)
    return root


class Outline:
    """The definitions that can be reached from the root of a schema; raises for its faults.

    If `checked`, names and params of metrics must be those of the catalogue.
    """

    def __init__(self, document: dict[str, Any], *, checked: bool) -> None:
        self._catalogue, self._known = _catalogue, _catalogue if checked else None
        self.flatten = Resolver(document).flatten
        self.shapes: dict[int, Shape] = {}
        self._flats: dict[int, Flat] = {}
        self._below: dict[int, list[Flat]] = {}
        self.root = self.flatten((Part(document, ""),))
        self.by_field = self._by_field(document.get(BY_FIELD, {}))
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

    def _by_field(self, configs: Any) -> dict[str, NodeConfig]:
        """Read the configs that replace those of nodes, by field."""
        if not isinstance(configs, dict):
            expected = "expected an object from field to evaluation_config"
            raise ConfigError(f"/{BY_FIELD}", f"found {short(configs)}; {expected}")
        found = {}
        for field, value in configs.items():
            at = f"/{BY_FIELD}/{escape_pointer(field)}"
            config = parse_config(value, at, self._known)
            if config is None:
                raise ConfigError(at, f"found {value!r}; expected an evaluation_config")
            found[field] = config
        return found

    def config_of(self, field: str, shape: Shape, flat: Flat) -> tuple[NodeConfig | None, bool]:
        """Return the config of a node, and whether it is declared."""
        replaced = self.by_field.get(field or "$")
        if replaced is None:
            return shape.config, shape.declared
        return as_url(replaced, flat.keywords), True

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
            if isinstance(written, Mapping) and {"accepted", "aggregation_weight"} & set(written):
                plain = shape_of(flat, None, self._catalogue)
                default = plain.config
                if "accepted" in written and plain.kind in ("object", "array"):
                    problem = f"found at a node of type {plain.label}; expected it at its values"
                    raise ConfigError(f"{at}/accepted", problem)
            declared = as_url(parse_config(written, at, self._known, default), flat.keywords)
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


def _node(
    outline: Outline, flat: Flat, parent: Flat | None, *, branch: bool = False, **about: Any
) -> Node:
    """Build a node; what is below it is built when it is first asked for."""
    shape = outline.shapes[id(flat)]
    config, declared = shape.config, shape.declared
    if outline.by_field and not branch:
        config, declared = outline.config_of(about["field"], shape, flat)
    node = Node(
        kind=shape.kind,
        types=shape.types,
        label=shape.label,
        pointer=flat.pointer,
        nullable=shape.nullable,
        config=config,
        declared=declared,
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
    same = {"depth": node.depth, "required": node.required, "branch": True}
    branches = (
        build(parts, f"{keyword}[{i}]", node.field, node.name, **same)
        for i, parts in enumerate(shape.branches)
    )
    return Children(branches=tuple(branches))
