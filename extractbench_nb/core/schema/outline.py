"""The outline of a schema: each definition read once, which finds all faults before any data.

A shape is what a definition makes of a node: its kind, types and config, and the shapes below it.
Unions then take from their branches, cycles of references are found, and nodes are built from the
shapes where they are asked for, each with its own path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from extractbench_nb.core.schema.evaluation_config import (
    MetricCatalogue,
    NodeConfig,
    check_types,
    default_config,
    parse_config,
)
from extractbench_nb.core.schema.schema_nodes import Children, Node
from extractbench_nb.core.schema.subschemas import (
    CHILD_KEYWORDS,
    CIRCLE,
    STRUCTURE,
    Choices,
    ContradictionError,
    Part,
    Subschemas,
    anything,
    short,
)
from extractbench_nb.core.values.json_values import (
    bracketed,
    escape_pointer,
    json_type,
    member,
)
from extractbench_nb.errors import ConfigError, SchemaError

#: Keyword at the root of a schema: configs that replace those of nodes, by field.
BY_FIELD = "evaluation_config_by_field"
#: Different nodes of a schema at most. One that unfolds to more, because its definitions refer to
#: each other again and again, is unfolded only as far as the data goes.
MAX_NODES = 50_000
#: Levels of a schema; a guard against stacks that overflow further on.
MAX_LEVELS = 200
TOO_DEEP = "is nested too deep to be read"


@dataclass(slots=True, eq=False)
class Shape:
    """What a definition makes of a node, wherever it is used.

    Below a union (`lenient`) the parts of a node may contradict each other: no value fits it, and
    other branches remain.
    """

    part: Part
    kind: str
    types: frozenset[str]
    label: str
    nullable: bool
    config: NodeConfig | None
    declared: bool
    lenient: bool
    branches: list[tuple[Part, ...]]
    below: list[Below] = field(default_factory=list)
    settled: bool = True


class Below(NamedTuple):
    """A child of a shape: its role and key among them, and what it adds to the paths of nodes."""

    role: str
    key: Any
    path: str
    step: str
    name: str
    required: bool
    shape: Shape


class Outline:
    """The shapes that can be reached from the root of a schema; raises for its faults.

    If `checked`, names and params of metrics must be those of the catalogue.
    """

    def __init__(
        self, document: Mapping[str, Any], catalogue: MetricCatalogue | None, *, checked: bool
    ) -> None:
        self._catalogue, self._known = catalogue, catalogue if checked else None
        self._subschemas = Subschemas(document)
        self.by_field = self._by_field(document[BY_FIELD]) if BY_FIELD in document else {}
        self._by_part: dict[Part, Shape] = {}
        self._shapes: list[Shape] = []
        self.root = self._shape((self._subschemas.root,), lenient=False)
        for shape in self._shapes:  # which grows by the children
            if shape.kind in _WITH_CHILDREN:
                self._unfold(shape)
        for shape in self._shapes:
            if not shape.settled:
                self._settle(shape, ())
            if shape.declared and self._known is not None:
                at = f"{shape.part.pointer}/evaluation_config"
                check_types(shape.config, shape.types, shape.label, at, self._known)
        self._is_large = False
        self._cycles = self._components() if self._subschemas.refers else {}
        self._is_large = self._count() > MAX_NODES

    def _by_field(self, configs: Any) -> dict[str, NodeConfig]:
        """Read the configs that replace those of nodes, by field."""
        if not isinstance(configs, dict):
            expected = "expected an object from field to evaluation_config"
            raise ConfigError(f"/{BY_FIELD}", f"found {short(configs)}; {expected}")
        found = {}
        for name, value in configs.items():
            at = f"/{BY_FIELD}/{escape_pointer(name)}"
            config = parse_config(value, at, self._known)
            if config is None:
                raise ConfigError(at, f"found {value!r}; expected an evaluation_config")
            found[name] = config
        return found

    def _shape(self, parts: tuple[Part, ...], *, lenient: bool) -> Shape:
        """Return the kind, types and config of a node; its children and its union come later."""
        try:
            part = self._subschemas.merged(parts)
        except ContradictionError:
            if not lenient:
                raise
            part = Part(parts[0].pointer, keywords={"enum": Choices()})
        if part in self._by_part:
            return self._by_part[part]
        types = types_of(part)
        concrete = [name for name in types if name != "null"]
        nullable = part.keywords.get("nullable") is True or "null" in types
        branches = self._branches(part, concrete, lenient) if part.places or concrete[1:] else []
        if branches:
            kind = name = label = "union"
        elif concrete:
            name = concrete[0]
            kind = name if name in ("object", "array") else "scalar"
            label = f"{name} | null" if nullable else name
        else:
            kind = name = label = "null" if types else "any"
        config, declared = default_config(name), None
        written = part.keywords.get("evaluation_config")
        if written is not None:
            at = f"{part.pointer}/evaluation_config"
            is_whole = kind in ("object", "array") and isinstance(written, Mapping)
            if is_whole and "accepted" in written:
                problem = f"found at a node of type {label}; expected it at its values"
                raise ConfigError(f"{at}/accepted", problem)
            config = declared = for_format(parse_config(written, at, self._known, config), part)
            if kind == "object" and aligns_a_map(part, declared):
                kind, branches = "union", [_as_branch(part, "map")]
            elif kind in ("object", "null") and not self._is_scored(kind, declared):
                config = None
        shape = Shape(
            part,
            kind,
            frozenset("number" if name == "integer" else name for name in concrete),
            label,
            nullable or kind == "null",
            config,
            declared is not None,
            lenient,
            branches,
            settled=kind != "union",
        )
        self._by_part[part] = shape
        self._shapes.append(shape)
        if len(self._shapes) > MAX_NODES:
            raise SchemaError(part.pointer, f"has more than {MAX_NODES:,} different nodes")
        return shape

    def _is_scored(self, kind: str, declared: NodeConfig | None) -> bool:
        """Whether a config applies to an object or null itself: it skips it, or its metrics do."""
        catalogue = self._catalogue
        if declared is None or declared.skip or kind == "null" or catalogue is None:
            return declared is not None and declared.skip
        return all(catalogue.takes_objects(spec.metric_id) for spec in declared.metrics)

    def _branches(self, part: Part, concrete: list[str], lenient: bool) -> list[tuple[Part, ...]]:
        """Return the branches of anyOf, oneOf or a list of types; none if there is one type.

        What stands beside a union applies to each of its branches; those that contradict it go.
        """
        written = part.places.get("anyOf") or part.places.get("oneOf") or ()
        if any(branch.is_structural for branch in written):
            written = tuple(b for b in written if b.boolean is not False) or written
            shared: tuple[Part, ...] = ()
            if not part.keywords.keys().isdisjoint(STRUCTURE):
                shared = _as_branch(part, "beside", (*STRUCTURE, "required"), CHILD_KEYWORDS)
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
        return [_as_branch(part, f"type {name}", type=name) for name in concrete]

    def _unfold(self, shape: Shape) -> None:
        """Give a shape those of its children."""
        part, places = shape.part, shape.part.places
        lenient = shape.lenient or shape.kind == "union"

        def add(parts: tuple[Part, ...], *place: Any, required: bool = False) -> None:
            child = self._shape(parts, lenient=lenient)
            shape.below.append(Below._make((*place, required, child)))

        if shape.kind == "object":
            listed = part.keywords.get("required", ())
            for name, parts in part.properties.items():
                # up to draft 4 a property may say ``required: true`` itself
                required = name in listed or any(p.says_required for p in parts)
                step = member(name)
                add(parts, "properties", name, "properties" + step, step, name, required=required)
            for pattern, parts in part.patterns.items():
                path = "patternProperties" + bracketed(pattern)
                add(parts, "patterns", pattern, path, ".*", f"/{pattern}/")
            entries = places.get("additionalProperties")
            if entries and entries[0].boolean is None:
                add(entries, "additional", 0, "additionalProperties", ".*", "*")
        elif shape.kind == "array":
            for i, item in enumerate(places.get("prefixItems", ())):
                keyword = item.pointer.split("/")[-2]  # items, in older drafts
                add((item,), "prefix", i, f"{keyword}[{i}]", f"[{i}]", f"[{i}]")
            rest = places.get("items") or (anything(f"{part.pointer}/items"),)
            add(rest, "items", 0, "items", "[]", "[]")
        else:
            keyword = "oneOf" if "oneOf" in places and "anyOf" not in places else "anyOf"
            for i, parts in enumerate(shape.branches):
                add(parts, "branches", i, f"{keyword}[{i}]", "", "")

    def _settle(self, union: Shape, within: tuple[Shape, ...]) -> None:
        """Give a union the types, the label and the common config of its branches."""
        if union in within:
            ring = within[within.index(union) :]
            raise SchemaError(min(shape.part.pointer for shape in ring), CIRCLE)
        branches = [below.shape for below in union.below]
        for branch in branches:
            if not branch.settled:
                self._settle(branch, (*within, union))
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
        union.settled = True

    def _components(self) -> dict[frozenset[str], int]:
        """Give each structure a number; those on a common cycle share one."""
        edges = {
            (shape.part.structure, below.shape.part.structure)
            for shape in self._shapes
            for below in shape.below
        }
        numbers = {name: i for i, name in enumerate(dict.fromkeys(chain(*edges)))}
        if not edges:
            return numbers
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = np.array([(numbers[a], numbers[b]) for a, b in edges]).T
        graph = coo_array((np.ones(len(edges)), tuple(ends)), shape=(len(numbers),) * 2)
        _, found = connected_components(graph, connection="strong")
        return {name: int(found[i]) for name, i in numbers.items()}

    def _recurs(self, parent: Shape, child: Shape) -> bool:
        """Whether a child is unfolded only where data goes on.

        It is a reference that leads back to what it is part of, or any reference in a large schema.
        """
        if child.part.ref is None or not child.part.structure:
            return False
        if self._is_large:
            return True
        return self._cycles[parent.part.structure] == self._cycles[child.part.structure]

    def _count(self) -> int:
        """Count the nodes of the schema unfolded, without what only data unfolds."""
        sizes: dict[Shape, tuple[int, int]] = {}
        todo = [self.root]
        while todo:
            shape = todo[-1]
            inner = [b.shape for b in shape.below]
            if self._cycles:
                inner = [child for child in inner if not self._recurs(shape, child)]
            ahead = [child for child in inner if child not in sizes]
            if ahead:
                todo += ahead
                continue
            todo.pop()
            levels = 1 + max([sizes[child][1] for child in inner], default=0)
            if levels > MAX_LEVELS:
                raise SchemaError("", TOO_DEEP)
            more = len(shape.below) - len(inner)
            sizes[shape] = 1 + more + sum(sizes[child][0] for child in inner), levels
        return sizes[self.root][0]

    def node(
        self, shape: Shape, parent: Shape | None, *, is_branch: bool = False, **about: Any
    ) -> Node:
        """Build a node; what is below it is built when it is first asked for."""
        config, declared = shape.config, shape.declared
        if self.by_field and not is_branch and (about["field"] or "$") in self.by_field:
            config, declared = for_format(self.by_field[about["field"] or "$"], shape.part), True
        node = Node(
            kind=shape.kind,
            types=shape.types,
            label=shape.label,
            pointer=shape.part.pointer,
            nullable=shape.nullable,
            config=config,
            declared=declared,
            keywords=shape.part.keywords,
            ref=shape.part.ref,
            recursive=parent is not None and self._recurs(parent, shape),
            structure=shape.part.structure,
            **about,
        )
        if shape.below:
            node.loader = lambda: self._children(node, shape)
        elif shape.kind in _WITH_CHILDREN:
            node.loader = Children
        return node

    def _children(self, node: Node, shape: Shape) -> Children:
        """Build the children of a node, each with its own path, field and name."""
        nodes: dict[str, dict[Any, Node]] = {}
        for below in shape.below:
            is_branch = below.role == "branches"
            nodes.setdefault(below.role, {})[below.key] = self.node(
                below.shape,
                shape,
                is_branch=is_branch,
                schema_path=f"{node.schema_path}.{below.path}",
                field=(node.field + below.step).removeprefix("."),
                name=node.name if is_branch else below.name,
                depth=node.depth if is_branch else node.depth + 1,
                required=node.required if is_branch else below.required,
                step=below.step if below.role == "properties" else "",
            )
        return Children(
            nodes.get("properties", {}),
            nodes.get("additional", {}).get(0),
            nodes.get("items", {}).get(0),
            tuple(nodes.get("prefix", {}).values()),
            tuple(nodes.get("branches", {}).values()),
            nodes.get("patterns", {}),
        )


_WITH_CHILDREN = ("object", "array", "union")


def types_of(part: Part) -> list[str]:
    """Return the types that the keywords of a node state or imply."""
    declared = part.keywords.get("type")
    if declared is not None:
        return [declared] if type(declared) is str else list(dict.fromkeys(declared))
    if part.properties or part.patterns or "additionalProperties" in part.places:
        return ["object"]
    if "items" in part.places or "prefixItems" in part.places:
        return ["array"]
    keywords = part.keywords
    values = [keywords["const"]] if "const" in keywords else keywords.get("enum", ())
    types = {
        "integer" if kind == "number" and isinstance(value, int) else kind: None
        for value, kind in zip(values, map(json_type, values), strict=True)
    }
    return list(types)


def _as_branch(
    part: Part,
    name: str,
    keywords: tuple[str, ...] | None = None,
    places: tuple[str, ...] | None = None,
    **changes: Any,
) -> tuple[Part]:
    """Return a node's keywords, or some of them, as a branch without a config."""
    kept = {
        key: value
        for key, value in part.keywords.items()
        if key != "evaluation_config" and (keywords is None or key in keywords)
    }
    branch = replace(
        part,
        keywords={**kept, **changes},
        places={k: v for k, v in part.places.items() if places is None or k in places},
        structure=part.structure and part.structure | {name},
        ref=None,
    )
    return (branch,)


def aligns_a_map(part: Part, declared: NodeConfig | None) -> bool:
    """Whether a map declares a metric that aligns; its entries are then aligned like an array."""
    specs = declared.metrics if declared is not None else ()
    below = [*part.places.get("additionalProperties", ()), *chain(*part.patterns.values())]
    is_map = not part.properties and any(entry.boolean is None for entry in below)
    return is_map and any(spec.entry.aligns for spec in specs)


def for_format(config: NodeConfig | None, part: Part) -> NodeConfig | None:
    """Replace metrics that declare another one for the node's ``format``, such as ``uri``."""
    kind = part.keywords.get("format")
    if config is None or not isinstance(kind, str):
        return config
    names = {spec.metric_id for spec in config.metrics}  # whoever names both means both
    others = [spec.entry.by_format.get(kind, spec.metric_id) for spec in config.metrics]
    specs = tuple(
        spec if other in names else replace(spec, metric_id=other)
        for spec, other in zip(config.metrics, others, strict=True)
    )
    return replace(config, metrics=specs)
