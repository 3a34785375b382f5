"""`parse_schema`: from whatever a user gives as a schema to the AST.

The subschemas of the document are read once (`Subschemas`). Those that can be reached from the root
become the `Outline`: a definition is a node without a place, with edges to the definitions below
it. `Node.children` unfolds the outline where it is asked for, each node with its own path.
"""

from __future__ import annotations

import copyreg
import json
import warnings
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from extractbench_nb.core.field_metrics.registry import REGISTRY, Registry
from extractbench_nb.core.schema.evaluation_config import (
    DEFAULTS,
    SKIP,
    parse_config,
)
from extractbench_nb.core.schema.schema_nodes import Edge, Node, Schema
from extractbench_nb.core.schema.subschemas import (
    CIRCLE,
    KEYWORDS,
    STRUCTURE,
    STRUCTURE_OR_REF,
    Choices,
    ContradictionError,
    Part,
    Parts,
    Subschemas,
    all_schemas,
    short,
)
from extractbench_nb.core.values import (
    bracketed,
    escape_pointer,
    json_type,
    member,
    plain_levels,
    private_copy,
    read_document,
    unescape_pointer,
)
from extractbench_nb.errors import ConfigError, InputError, SchemaError, nearest
from extractbench_nb.support.foreign_values import is_model

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")
#: Keyword at the root of a schema: configs that replace those of nodes, by field.
BY_FIELD = "evaluation_config_by_field"
#: Levels of the objects and lists that a schema is written in.
MAX_WRITTEN_LEVELS = 600
#: Different nodes of a schema at most. One that unfolds to more, because its definitions refer to
#: each other again and again, is unfolded only as far as the data goes.
MAX_NODES = 50_000
#: Levels of a schema; a guard against stacks that overflow further on.
MAX_LEVELS = 200
TOO_DEEP = "is nested too deep to be read"
_OF_OBJECTS = ("properties", "patternProperties", "additionalProperties")


#: What can be given as a schema; a class is one of a Pydantic model.
SchemaSource: TypeAlias = "Mapping[str, Any] | str | Path | Schema | type[Any] | TypeAdapter[Any]"


def parse_schema(
    schema: SchemaSource,
    *,
    metrics: Mapping[str, Any] | None = None,
) -> Schema:
    """Parse a JSON Schema with ``evaluation_config`` annotations into a typed AST.

    Parameters
    ----------
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        The schema, JSON text, a file, or a parsed schema (returned unchanged). For a Pydantic model
        class or a TypeAdapter, the input schema is used (``mode="validation"``), with
        ``evaluation_config`` from ``json_schema_extra``.
    metrics : mapping from str, optional
        Other metrics for some fields, such as ``{"lines[].amount": "number_exact"}``. Fields are
        named as in the column ``field``. A metric is the name of a preset or metric, a function
        decorated with ``@metric``, or an ``evaluation_config``.

    Returns
    -------
    Schema
        The parsed schema, with a readable repr, ``.to_frame()`` and a foldable tree in notebooks.

    Raises
    ------
    SchemaError
        The schema cannot be read. The message shows the JSON Pointer and the expected value.
    ConfigError
        An ``evaluation_config`` has unknown names or invalid params, or `metrics` contains a field
        that does not exist or has the wrong type for its metric.
    InputError
        The file cannot be read, the text is not JSON, or a function is not registered.

    Notes
    -----
    ``Schema.document`` contains `metrics` under ``evaluation_config_by_field``, a keyword at the
    root that can also be written by hand. It changes one field even if several share a ``$ref``.

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
    document: Any = schema
    if not issubclass(type(schema), Mapping):
        is_text = issubclass(type(schema), str | Path | bytes | bytearray)
        document = read_document(schema, "schema") if is_text else model_schema(schema)
    levels = plain_levels([document])
    if levels is None or levels > MAX_WRITTEN_LEVELS:
        try:
            document = private_copy(document, "schema", MAX_WRITTEN_LEVELS)
        except InputError as error:
            raise SchemaError("", str(error)) from None
    envelope = None
    while isinstance(document, Mapping):
        # a schema may stand under a key, beside a name or a ``response_format`` type
        bare = document.get("type") == "json_schema" or STRUCTURE_OR_REF.isdisjoint(document)
        wrapping = [key for key in ENVELOPES if isinstance(document.get(key), Mapping)]
        if not bare or not wrapping:
            break
        envelope = wrapping[0]
        document = document[envelope]
    else:
        expected = "an object (a JSON Schema), a Pydantic model class or a TypeAdapter"
        kind = json_type(document)
        found = f"a {type(document).__name__}" if kind == "unknown" else kind
        raise SchemaError("", f"found {found}; expected {expected}")
    try:
        # JSON Schema allows anything under keys it does not know, but where none says what a value
        # is, somebody has passed another document; an open schema may have words about it alone
        strange = [key for key in document if key not in _ABOUT and not str(key).startswith("x-")]
        known = document.keys() & _KEYWORDS
        # in older drafts too a list of items is one of schemas, and seldom stands alone
        if strange and (not known or (known == {"items"} and isinstance(document["items"], list))):
            keys = ", ".join(map(short, strange[:_MOST_NAMED]))
            keys += ", ..." if len(strange) > _MOST_NAMED else ""
            expected = "'type', 'properties' or another keyword of JSON Schema; is this a document?"
            raise SchemaError("", f"found the keys {keys}; expected {expected}")
        return schema_of(document, envelope)
    except SchemaError as error:
        if not isinstance(schema, Path):
            raise
        problem = f"{error.problem} (schema file {str(schema)!r})"
        raise type(error)(error.pointer, problem) from None


_KEYWORDS = KEYWORDS | STRUCTURE_OR_REF | {*ENVELOPES, "$schema"}
#: Keywords that only tell about a schema.
_ABOUT = frozenset("title description default examples deprecated readOnly writeOnly".split())
_ABOUT |= {"$comment", "$id", "id", "evaluation_config", BY_FIELD}
_MOST_NAMED = 5


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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # defaults that JSON does not have
            document = private_copy(write(by_alias=True, mode="validation"))
    except Exception as error:  # noqa: BLE001 - hooks of the user's may raise anything
        reason = " ".join(str(error).split())
        raise SchemaError("", f"the model {name} has no JSON Schema: {reason}") from None
    for part in all_schemas(document):
        if part.get("format") == "password" and part.get("writeOnly") is True:
            part.setdefault("evaluation_config", SKIP)
    return document


def schema_of(document: Mapping[str, Any], envelope: str | None, *, checked: bool = True) -> Schema:
    """Read a document, once as long as the metrics are the same.

    One that was a schema before is not `checked`: another process may lack its metrics. Values
    that JSON does not have, such as dates of YAML, are read as text.
    """
    try:
        text = json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError):
        document = private_copy(document, "schema", MAX_WRITTEN_LEVELS)
        try:
            text = json.dumps(document, ensure_ascii=False, default=str)
        except ValueError as error:
            raise SchemaError("", f"cannot be written as JSON: {error}") from None
    # nodes remember which patterns took too long
    read = read_root.__wrapped__ if "patternProperties" in text else read_root
    try:
        root = read(text, checked, tuple(REGISTRY.entries.items()))
    except RecursionError:
        raise SchemaError("", TOO_DEEP) from None
    return Schema(root, json.loads(text), envelope)


@lru_cache(maxsize=64)
def read_root(text: str, checked: bool, _: Hashable) -> Node:
    """Read the root of a schema, whose configs by field replace those of the nodes."""
    document, registry = json.loads(text), REGISTRY if checked else None
    root = replace(Outline(document, registry).root, choices={})
    configs = document.get(BY_FIELD, {})
    if not isinstance(configs, dict):
        expected = "expected an object from field to evaluation_config"
        raise ConfigError(f"/{BY_FIELD}", f"found {short(configs)}; {expected}")
    for field, written in configs.items():
        at, schema = f"/{BY_FIELD}/{escape_pointer(field)}", Schema(root, document)
        nodes = schema.nodes_of(field)
        if not nodes:
            hint = nearest(field, {node.field or "$" for node in schema.nodes()})
            raise ConfigError(at, f"there is no field {field!r}; {hint}")
        for node in nodes:
            node.config = parse_config(written, at, registry, keywords=node.keywords)
            node.declared = True
            if node.config is None:
                raise ConfigError(at, f"found {written!r}; expected an evaluation_config")
            if registry is not None:
                node.check_metrics(at)
    return root


def restore_schema(document: dict[str, Any], envelope: str | None) -> Schema:
    """Read a schema from its pickle."""
    return schema_of(document, envelope, checked=False)


copyreg.pickle(Schema, lambda schema: (restore_schema, (dict(schema.document), schema.envelope)))


def with_metrics(schema: Schema, metrics: Mapping[str, Any]) -> Schema:
    """Return the schema with other metrics for some fields."""
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is {metrics!r}; expected a dict from field to metric")
    configs = {field: REGISTRY.config_of(metric) for field, metric in metrics.items()}
    document = {**schema.document, BY_FIELD: {**schema.document.get(BY_FIELD, {}), **configs}}
    try:
        return schema_of(document, schema.envelope)
    except ConfigError as error:
        _, _, place = (error.pointer or "").partition(f"/{BY_FIELD}/")
        where = f"metrics, {unescape_pointer(place)}" if place else BY_FIELD
        raise ConfigError(None, f"{where}: {error.problem}") from None


# --- the outline ----------------------------------------------------------------------------


class Outline:
    """The definitions that can be reached from the root of a schema; raises for its faults.

    Names and params of metrics must be those of the registry, if there is one.
    """

    def __init__(self, document: Mapping[str, Any], registry: Registry | None) -> None:
        self._registry = registry
        self._subschemas = Subschemas(document)
        self._definitions: dict[Part, Node] = {}
        #: What is to be unfolded: a part, its definition, its branches, whether it is lenient.
        self._todo: list[tuple[Part, Node, list[Parts], bool]] = []
        #: Branches that are no unions, of the unions that have the types of their branches.
        self._widths: dict[Node, int] = {}
        self.root = self._define((self._subschemas.root,), lenient=False)
        for part, definition, branches, lenient in self._todo:  # which grows by the children
            if definition.kind in ("object", "array", "union"):
                definition.edges = self._edges(part, definition.kind, branches, lenient)
        for definition in self._definitions.values():
            if definition.kind == "union":
                self._settle(definition, ())
            if definition.declared and registry is not None:
                definition.check_metrics(f"{definition.pointer}/evaluation_config")
        if self._subschemas.refers:
            self._find_cycles()
        if self._size() > MAX_NODES:
            for definition in self._definitions.values():
                definition.edges = [_recurring(edge) for edge in definition.edges]

    def _define(self, parts: Parts, *, lenient: bool) -> Node:
        """Return the kind, types and config of a node; its edges and its union come later.

        Below a union (`lenient`) the parts of a node may contradict each other: no value fits it,
        and other branches remain.
        """
        try:
            part = self._subschemas.merged(parts)
        except ContradictionError:
            if not lenient:
                raise
            part = Part(parts[0].pointer, keywords={"enum": Choices()})
        if part in self._definitions:
            return self._definitions[part]
        keywords = part.keywords
        types = types_of(part)
        concrete = [name for name in types if name != "null"]
        nullable = keywords.get("nullable") is True or "null" in types
        is_union = len(concrete) > 1 or "anyOf" in part.inside or "oneOf" in part.inside
        branches = self._branches(part, concrete, lenient) if is_union else []
        if branches:
            kind = name = label = "union"
        elif concrete:
            name = concrete[0]
            kind = name if name in ("object", "array") else "scalar"
            label = f"{name} | null" if nullable else name
        else:
            kind = name = label = "null" if types else "any"
        config = DEFAULTS.get(name)
        written = keywords.get("evaluation_config")
        if written is not None:
            at = f"{part.pointer}/evaluation_config"
            is_whole = kind in ("object", "array") and isinstance(written, Mapping)
            if is_whole and "accepted" in written:
                problem = f"found at a node of type {label}; expected it at its values"
                raise ConfigError(f"{at}/accepted", problem)
            config = parse_config(written, at, self._registry, config, keywords)
            specs = config.metrics if config is not None else ()
            if kind == "object" and _is_map(part) and any(spec.entry.aligns for spec in specs):
                # its entries are aligned like an array
                kind, branches = "union", [(_as_branch(part, "map"),)]
            elif kind in ("object", "null") and not (config is not None and config.skip):
                is_scored = kind == "object" and all(spec.entry.takes_node for spec in specs)
                config = config if is_scored else None
        definition = Node(
            kind=kind,
            types=frozenset("number" if name == "integer" else name for name in concrete),
            label=label,
            schema_path="$",
            pointer=part.pointer,
            field="",
            name="$",
            depth=0,
            required=True,
            nullable=nullable or kind == "null",
            config=config,
            declared=written is not None,
            keywords=keywords,
            ref=part.ref,
            structure=part.structure,
        )
        self._definitions[part] = definition
        self._todo.append((part, definition, branches, lenient or kind == "union"))
        if len(self._todo) > MAX_NODES:
            raise SchemaError(part.pointer, f"has more than {MAX_NODES:,} different nodes")
        return definition

    def _branches(self, part: Part, concrete: list[str], lenient: bool) -> list[Parts]:
        """Return the branches of anyOf, oneOf or a list of types; none if there is one type.

        What stands beside a union applies to each of its branches; those that contradict it go.
        """
        by_index = part.inside.get("anyOf") or part.inside.get("oneOf") or {}
        written = [branch for (branch,) in by_index.values()]
        if any(branch.is_structural for branch in written):
            written = [b for b in written if b.boolean is not False] or written
            shared: Parts = ()
            if not part.keywords.keys().isdisjoint(STRUCTURE):
                shared = (_as_branch(part, "beside", {*STRUCTURE, "required"}),)
            possible, problem = [], None
            for branch in written:
                is_null = branch.keywords.get("type") == "null"
                parts = (branch,) if is_null else (branch, *shared)
                try:
                    self._subschemas.merged(parts)
                    possible.append(parts)
                except ContradictionError as error:
                    problem = problem or error
            if problem is not None and not possible and not lenient:
                raise problem
            if possible:
                return possible
        if len(concrete) <= 1:
            return []
        return [(_as_branch(part, f"type {name}", type=name),) for name in concrete]

    def _edges(self, part: Part, kind: str, branches: list[Parts], lenient: bool) -> list[Edge]:
        """Define the children of a node."""
        inside = part.inside
        children: list[tuple[Parts, Any]] = []  # and what their edges hold
        if kind == "object":
            listed = part.keywords.get("required", ())
            for name, parts in inside.get("properties", {}).items():
                # up to draft 4 a property may say ``required: true`` itself
                required = name in listed or any(p.says_required for p in parts)
                step = member(name)
                path = "properties" + step
                children.append((parts, ("properties", name, path, step, name, required)))
            for pattern, parts in inside.get("patternProperties", {}).items():
                path = "patternProperties" + bracketed(pattern)
                children.append((parts, ("patterns", pattern, path, ".*", f"/{pattern}/")))
            about = ("additional", 0, "additionalProperties", ".*", "*")
            rest = inside.get("additionalProperties", {}).values()
            children += [(parts, about) for parts in rest if parts[0].boolean is None]
        elif kind == "array":
            for i, parts in inside.get("prefixItems", {}).items():
                keyword = parts[0].pointer.split("/")[-2]  # items, in older drafts
                children.append((parts, ("prefix", i, f"{keyword}[{i}]", f"[{i}]", f"[{i}]")))
            anything = {None: (Part(f"{part.pointer}/items", boolean=True),)}
            (parts,) = inside.get("items", anything).values()
            children.append((parts, ("items", 0, "items", "[]", "[]")))
        else:
            keyword = "oneOf" if "oneOf" in inside and "anyOf" not in inside else "anyOf"
            children += [(b, ("branches", i, f"{keyword}[{i}]")) for i, b in enumerate(branches)]
        edges = [Edge(self._define(parts, lenient=lenient), *place) for parts, place in children]
        if kind == "union":  # a definition named twice would double the work per level
            first: dict[Node, Edge] = {}
            for edge in edges:
                first.setdefault(edge.definition, edge)
            edges = list(first.values())
        return edges

    def _settle(self, union: Node, within: tuple[Node, ...]) -> None:
        """Give a union the types, the label and the common config of its branches."""
        if union in self._widths:
            return
        if union in within:
            ring = within[within.index(union) :]
            raise SchemaError(min(node.pointer for node in ring), CIRCLE)
        branches = [edge.definition for edge in union.edges]
        for branch in branches:
            if branch.kind == "union":
                self._settle(branch, (*within, union))
        width = sum(self._widths.get(branch, 1) for branch in branches)
        if width > MAX_NODES:  # a value may be tried on each
            problem = f"has more than {MAX_NODES:,} branches, with those of its branches"
            raise SchemaError(union.pointer, problem)
        self._widths[union] = width
        concrete = [branch for branch in branches if branch.kind != "null"]
        union.types = frozenset[str]().union(*(branch.types for branch in concrete))
        if any(branch.kind == "any" for branch in branches):
            union.types = frozenset()
        union.nullable = union.nullable or any(branch.nullable for branch in branches)
        labels = dict.fromkeys(branch.label.removesuffix(" | null") for branch in concrete)
        union.label = " | ".join([*labels, *(["null"] if union.nullable else [])])
        if union.config is None:
            votes = [b.config for b in branches if b.declared and b.config is not None]
            if votes and all(vote == votes[0] for vote in votes):
                union.config = votes[0]
            elif len(concrete) == 1 and concrete[0].kind == "scalar":
                union.config = concrete[0].config

    def _find_cycles(self) -> None:
        """Mark the references that lead back to what they are part of."""
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        definitions = list(self._definitions.values())
        names = [
            (above.structure, edge.definition.structure)
            for above in definitions
            for edge in above.edges
        ]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(chain(*names)))}
        if not numbers:
            return
        ends = np.array([(numbers[above], numbers[below]) for above, below in names]).T
        graph = coo_array((np.ones(len(names)), tuple(ends)), shape=(len(numbers),) * 2)
        _, components = connected_components(graph, connection="strong")
        in_cycle = iter(components[ends[0]] == components[ends[1]])
        for above in definitions:
            above.edges = [_recurring(edge) if next(in_cycle) else edge for edge in above.edges]

    def _size(self) -> int:
        """Count the nodes of the schema unfolded, without what only data unfolds."""
        sizes: dict[Node, tuple[int, int]] = {}
        todo = [self.root]
        while todo:
            definition = todo[-1]
            inner = [edge.definition for edge in definition.edges if not edge.recursive]
            ahead = [child for child in inner if child not in sizes]
            if ahead:
                todo += ahead
                continue
            todo.pop()
            levels = 1 + max([sizes[child][1] for child in inner], default=0)
            if levels > MAX_LEVELS:
                raise SchemaError("", TOO_DEEP)
            size = 1 + len(definition.edges) - len(inner) + sum(sizes[child][0] for child in inner)
            sizes[definition] = size, levels
        return sizes[self.root][0]


def _recurring(edge: Edge) -> Edge:
    """Unfold a reference only where data goes on."""
    child = edge.definition
    return edge._replace(recursive=child.ref is not None and bool(child.structure))


def types_of(part: Part) -> list[str]:
    """Return the types that the keywords of a node state or imply."""
    declared = part.keywords.get("type")
    if declared is not None:
        return [declared] if type(declared) is str else list(dict.fromkeys(declared))
    if not part.inside.keys().isdisjoint(_OF_OBJECTS):
        return ["object"]
    if "items" in part.inside or "prefixItems" in part.inside:
        return ["array"]
    keywords = part.keywords
    values = [keywords["const"]] if "const" in keywords else keywords.get("enum", ())
    types = {
        "integer" if kind == "number" and isinstance(value, int) else kind: None
        for value, kind in zip(values, map(json_type, values), strict=True)
    }
    return list(types)


def _as_branch(part: Part, name: str, kept: Collection[str] | None = None, **changes: Any) -> Part:
    """Return a node's keywords, or some of them, as a branch without a config."""
    dropped = {"evaluation_config"} if kept is None else part.keywords.keys() - kept
    keywords = {key: value for key, value in part.keywords.items() if key not in dropped}
    inside = {key: parts for key, parts in part.inside.items() if kept is None or key in kept}
    structure = part.structure and part.structure | {name}
    return replace(
        part, keywords={**keywords, **changes}, inside=inside, structure=structure, ref=None
    )


def _is_map(part: Part) -> bool:
    """Whether an object has entries and no properties."""
    entries = (part.inside.get(keyword, {}).values() for keyword in _OF_OBJECTS[1:])
    below = chain.from_iterable(chain.from_iterable(entries))
    return "properties" not in part.inside and any(entry.boolean is None for entry in below)
