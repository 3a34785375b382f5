"""The outline of a schema: each definition read once, which finds all faults before any data.

A shape is what a definition makes of a node: its kind, types and config, and the shapes below it.
Unions then take from their branches, cycles of references are found, and nodes are built from the
shapes where they are asked for, each with its own path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from extractbench_nb.core.field_metrics.registry import Registry
from extractbench_nb.core.schema.evaluation_config import (
    DEFAULTS,
    NodeConfig,
    check_types,
    for_format,
    parse_config,
)
from extractbench_nb.core.schema.schema_nodes import Children, Node
from extractbench_nb.core.schema.subschemas import (
    CIRCLE,
    STRUCTURE,
    Choices,
    ContradictionError,
    Part,
    Parts,
    Subschemas,
    anything,
)
from extractbench_nb.core.values.json_values import bracketed, json_type, member
from extractbench_nb.errors import ConfigError, SchemaError

#: Different nodes of a schema at most. One that unfolds to more, because its definitions refer to
#: each other again and again, is unfolded only as far as the data goes.
MAX_NODES = 50_000
#: Levels of a schema; a guard against stacks that overflow further on.
MAX_LEVELS = 200
TOO_DEEP = "is nested too deep to be read"
_WITH_CHILDREN = ("object", "array", "union")
_OF_OBJECTS = ("properties", "patternProperties", "additionalProperties")


@dataclass(slots=True, eq=False)
class Shape:
    """What a definition makes of a node, wherever it is used.

    Below a union (`lenient`) the parts of a node may contradict each other: no value fits it, and
    other branches remain. The `width` of a union is the number of its branches that are no unions.
    """

    part: Part
    kind: str
    types: frozenset[str]
    label: str
    nullable: bool
    config: NodeConfig | None
    declared: bool
    lenient: bool
    branches: list[Parts]
    settled: bool
    width: int = 1
    below: list[Below] = field(default_factory=list)


class Below(NamedTuple):
    """A child of a shape: its role and key among them, and what it adds to the paths of nodes."""

    shape: Shape
    role: str
    key: Any
    path: str
    step: str = ""
    name: str = ""
    required: bool = False


class Outline:
    """The shapes that can be reached from the root of a schema; raises for its faults.

    Names and params of metrics must be those of the registry, if there is one.
    """

    def __init__(self, document: Mapping[str, Any], registry: Registry | None) -> None:
        self._registry = registry
        self._subschemas = Subschemas(document)
        self._by_part: dict[Part, Shape] = {}
        self._shapes: list[Shape] = []
        self._root = self._shape((self._subschemas.root,), lenient=False)
        for shape in self._shapes:  # which grows by the children
            if shape.kind in _WITH_CHILDREN:
                self._unfold(shape)
        for shape in self._shapes:
            if not shape.settled:
                self._settle(shape, ())
            if shape.declared and self._registry is not None:
                at = f"{shape.part.pointer}/evaluation_config"
                check_types(shape.config, shape.types, shape.label, at)
        self._is_large = False
        self._cycles = self._components() if self._subschemas.refers else {}
        self._is_large = self._count() > MAX_NODES

    # --- shapes -----------------------------------------------------------------------------

    def _shape(self, parts: Parts, *, lenient: bool) -> Shape:
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
        written = part.keywords.get("evaluation_config")
        if written is not None:
            at = f"{part.pointer}/evaluation_config"
            is_whole = kind in ("object", "array") and isinstance(written, Mapping)
            if is_whole and "accepted" in written:
                problem = f"found at a node of type {label}; expected it at its values"
                raise ConfigError(f"{at}/accepted", problem)
            config = for_format(parse_config(written, at, self._registry, config), part.keywords)
            specs = config.metrics if config is not None else ()
            if kind == "object" and _is_map(part) and any(spec.entry.aligns for spec in specs):
                # its entries are aligned like an array
                kind, branches = "union", [(_as_branch(part, "map"),)]
            elif kind in ("object", "null") and not (config is not None and config.skip):
                is_scored = kind == "object" and all(spec.entry.takes_node for spec in specs)
                config = config if is_scored else None
        shape = Shape(
            part,
            kind,
            frozenset("number" if name == "integer" else name for name in concrete),
            label,
            nullable or kind == "null",
            config,
            written is not None,
            lenient,
            branches,
            kind != "union",
        )
        self._by_part[part] = shape
        self._shapes.append(shape)
        if len(self._shapes) > MAX_NODES:
            raise SchemaError(part.pointer, f"has more than {MAX_NODES:,} different nodes")
        return shape

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

    def _unfold(self, shape: Shape) -> None:
        """Give a shape those of its children."""
        part, inside = shape.part, shape.part.inside
        lenient = shape.lenient or shape.kind == "union"

        def add(parts: Parts, *about: Any) -> None:
            shape.below.append(Below(self._shape(parts, lenient=lenient), *about))

        if shape.kind == "object":
            listed = part.keywords.get("required", ())
            for name, parts in inside.get("properties", {}).items():
                # up to draft 4 a property may say ``required: true`` itself
                required = name in listed or any(p.says_required for p in parts)
                step = member(name)
                add(parts, "properties", name, "properties" + step, step, name, required)
            for pattern, parts in inside.get("patternProperties", {}).items():
                path = "patternProperties" + bracketed(pattern)
                add(parts, "patterns", pattern, path, ".*", f"/{pattern}/")
            for parts in inside.get("additionalProperties", {}).values():
                if parts[0].boolean is None:
                    add(parts, "additional", 0, "additionalProperties", ".*", "*")
        elif shape.kind == "array":
            for i, parts in inside.get("prefixItems", {}).items():
                keyword = parts[0].pointer.split("/")[-2]  # items, in older drafts
                add(parts, "prefix", i, f"{keyword}[{i}]", f"[{i}]", f"[{i}]")
            rest = {None: (anything(f"{part.pointer}/items"),)}
            for parts in inside.get("items", rest).values():
                add(parts, "items", 0, "items", "[]", "[]")
        else:
            keyword = "oneOf" if "oneOf" in inside and "anyOf" not in inside else "anyOf"
            named = set[int]()
            for i, parts in enumerate(shape.branches):
                branch = id(self._shape(parts, lenient=lenient))
                if branch not in named:  # a definition named twice would double the work per level
                    add(parts, "branches", i, f"{keyword}[{i}]")
                named.add(branch)

    def _settle(self, union: Shape, within: tuple[Shape, ...]) -> None:
        """Give a union the types, the label and the common config of its branches."""
        if union in within:
            ring = within[within.index(union) :]
            raise SchemaError(min(shape.part.pointer for shape in ring), CIRCLE)
        branches = [below.shape for below in union.below]
        for branch in branches:
            if not branch.settled:
                self._settle(branch, (*within, union))
        union.width = sum(branch.width for branch in branches)
        if union.width > MAX_NODES:  # a value may be tried on each
            problem = f"has more than {MAX_NODES:,} branches, with those of its branches"
            raise SchemaError(union.part.pointer, problem)
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

    # --- cycles -----------------------------------------------------------------------------

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
        _, components = connected_components(graph, connection="strong")
        return {name: int(components[i]) for name, i in numbers.items()}

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
        sizes = {shape: (1, 1) for shape in self._shapes if not shape.below}
        todo = [self._root]
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
        return sizes[self._root][0]

    # --- nodes ------------------------------------------------------------------------------

    def root(self) -> Node:
        """Build the root; what is below a node is built when it is first asked for."""
        about: dict[str, Any] = {"schema_path": "$", "field": "", "name": "$", "depth": 0}
        return self._node(self._root, None, required=True, **about)

    def _node(self, shape: Shape, parent: Shape | None, **about: Any) -> Node:
        node = Node(
            kind=shape.kind,
            types=shape.types,
            label=shape.label,
            pointer=shape.part.pointer,
            nullable=shape.nullable,
            config=shape.config,
            declared=shape.declared,
            keywords=shape.part.keywords,
            ref=shape.part.ref,
            recursive=parent is not None and self._recurs(parent, shape),
            structure=shape.part.structure,
            **about,
        )
        if shape.kind in _WITH_CHILDREN:
            node.loader = partial(self._children, node, shape) if shape.below else Children
        return node

    def _children(self, node: Node, shape: Shape) -> Children:
        """Build the children of a node, each with its own path, field and name."""
        nodes: defaultdict[str, dict[Any, Node]] = defaultdict(dict)
        for below in shape.below:
            is_branch = below.role == "branches"
            nodes[below.role][below.key] = self._node(
                below.shape,
                shape,
                schema_path=f"{node.schema_path}.{below.path}",
                field=(node.field + below.step).removeprefix("."),
                name=node.name if is_branch else below.name,
                depth=node.depth if is_branch else node.depth + 1,
                required=node.required if is_branch else below.required,
                step=below.step if below.role == "properties" else "",
            )
        return Children(
            nodes["properties"],
            nodes["additional"].get(0),
            nodes["items"].get(0),
            tuple(nodes["prefix"].values()),
            tuple(nodes["branches"].values()),
            nodes["patterns"],
        )


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
