"""The typed AST of a schema: `Node`, `Schema` and how they are shown; states of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from functools import cache
from typing import Any, Final, NamedTuple

import pandas as pd

from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema.evaluation_config import MetricSpec, NodeConfig
from extractbench_nb.core.schema.subschemas import Patterns
from extractbench_nb.core.values import Marker
from extractbench_nb.errors import ConfigError
from extractbench_nb.support.cards import card_html, tree_html


@dataclass(frozen=True, slots=True)
class Children:
    """The children of a node; which parts are filled depends on its kind."""

    properties: Mapping[str, Node] = attribute(default_factory=dict)
    additional: Node | None = None
    items: Node | None = None
    prefix: tuple[Node, ...] = ()
    branches: tuple[Node, ...] = ()
    patterns: Mapping[str, Node] = attribute(default_factory=dict)
    search: Patterns = attribute(default_factory=Patterns)

    def entry(self, key: str) -> Node | None:
        """Return the node of a key that is not a property: that of the first matching pattern."""
        for pattern, node in self.patterns.items():
            if self.search.matches(pattern, key):
                return node
        return self.additional

    def mapped(self, change: Callable[[Node], Node]) -> Children:
        """Return a copy with a function applied to each node."""
        return Children(
            {name: change(node) for name, node in self.properties.items()},
            None if self.additional is None else change(self.additional),
            None if self.items is None else change(self.items),
            tuple(map(change, self.prefix)),
            tuple(map(change, self.branches)),
            {pattern: change(node) for pattern, node in self.patterns.items()},
        )

    @property
    def entries(self) -> tuple[Node, ...]:
        """The nodes that the entries of a map can have."""
        rest = () if self.additional is None else (self.additional,)
        return (*self.patterns.values(), *rest)

    def __iter__(self) -> Iterator[Node]:
        """Iterate over all of them in schema order."""
        yield from self.properties.values()
        yield from self.entries
        yield from self.prefix
        if self.items is not None:
            yield self.items
        yield from self.branches


class Edge(NamedTuple):
    """A child in the outline of a schema: its definition, its place, and what paths add for it."""

    definition: Node
    #: The field of `Children` that it belongs to, and its key there.
    role: str
    key: Any
    path: str
    step: str = ""
    name: str = ""
    required: bool = False
    recursive: bool = False


@dataclass(slots=True, eq=False)
class Node:
    """A schema node, with references resolved.

    Parameters
    ----------
    kind : str
        ``object``, ``array``, ``scalar``, ``union`` (anyOf, oneOf, several types), ``null`` or
        ``any`` (no type is declared).
    types : frozenset of str
        JSON types that the schema allows here (``integer`` counts as ``number``); empty: all.
    label : str
        The type as text, ``"array"``, ``"integer | null"``.
    schema_path : str
        Path in the JSON Schema, ``$.properties.authors.items.properties.name``.
    pointer : str
        JSON Pointer of the definition (the target of a ``$ref``).
    field, name : str
        Instance path without indices, ``authors[].name``, and its last step.
    depth : int
        Nesting depth; the root is 0, an array's items are one level deeper than the array.
    required, nullable : bool
        Whether the schema requires the key, and whether it allows null.
    config : NodeConfig or None
        Effective scoring rules: declared, agreed by the branches, or the default of the type.
    declared : bool
        Whether the schema declares the config at this node.
    keywords : mapping
        The merged JSON Schema keywords, unknown ones included.
    ref : str or None
        The ``$ref`` that led here.
    recursive : bool
        The node closes a cycle of references, or is a reference in a schema that unfolds to more
        than 50,000 nodes: it is unfolded only as deep as the data.
    structure : frozenset of str
        JSON Pointers of the schemas that define what is below the node.
    flattened : bool
        An array node that represents a map from keys to arrays.
    step : str
        The last step as it is written in an instance path, ``.name``.
    edges, loader, loaded, choices : object, optional
        The children before and after their first access, and what the node is for some values.
    """

    kind: str
    types: frozenset[str]
    label: str
    schema_path: str
    pointer: str
    field: str
    name: str
    depth: int
    required: bool
    nullable: bool
    config: NodeConfig | None
    declared: bool
    keywords: Mapping[str, Any]
    ref: str | None = None
    recursive: bool = False
    structure: frozenset[str] = frozenset()
    flattened: bool = False
    step: str = ""
    #: The definitions of the children, which all nodes of one definition share, or a function.
    edges: Sequence[Edge] = ()
    loader: Callable[[], Children] | None = None
    loaded: Children | None = None
    #: By branch, property or type of value.
    choices: dict[Any, Node] = attribute(default_factory=dict)

    @property
    def children(self) -> Children:
        """The child nodes, which are created at the first access, each with its own path."""
        if self.loaded is not None:
            return self.loaded
        if self.loader is not None:
            self.loaded = self.loader()
            return self.loaded
        nodes: dict[str, dict[Any, Node]] = {}
        for edge in self.edges:
            made, is_branch = edge.definition, edge.role == "branches"
            nodes.setdefault(edge.role, {})[edge.key] = Node(  # faster than `replace`
                made.kind,
                made.types,
                made.label,
                f"{self.schema_path}.{edge.path}",
                made.pointer,
                (self.field + edge.step).removeprefix("."),
                self.name if is_branch else edge.name,
                self.depth if is_branch else self.depth + 1,
                self.required if is_branch else edge.required,
                made.nullable,
                made.config,
                made.declared,
                made.keywords,
                made.ref,
                edge.recursive,
                made.structure,
                step=edge.step if edge.role == "properties" else "",
                edges=made.edges,
            )
        self.loaded = Children(
            nodes.get("properties", {}),
            nodes.get("additional", {}).get(0),
            nodes.get("items", {}).get(0),
            tuple(nodes.get("prefix", {}).values()),
            tuple(nodes.get("branches", {}).values()),
            nodes.get("patterns", {}),
        )
        return self.loaded

    def item(self, index: int) -> Node | None:
        """Return the node of an array's item at a position, by ``prefixItems`` or ``items``."""
        below = self.children
        return below.prefix[index] if index < len(below.prefix) else below.items

    @property
    def description(self) -> str | None:
        """The schema's description of the node."""
        text = self.keywords.get("description")
        return text if isinstance(text, str) else None

    def choose(self, index: int, *, flattened: bool = False) -> Node:
        """Return what the union becomes, the same object each time, for values of a branch."""
        # Path, field, depth and allowed types are the union's; kind and children the branch's.
        # `flattened`: a map to arrays becomes an array of (key, item) pairs
        key = index, flattened
        if key not in self.choices:
            branch = self.children.branches[index]
            node = self.choices[key] = replace(
                self,
                kind=branch.kind,
                pointer=branch.pointer,
                config=self.config if self._config_applies_to(branch) else branch.config,
                declared=self.declared or branch.declared,
                keywords=branch.keywords,
                ref=self.ref or branch.ref,
                recursive=self.recursive or branch.recursive,
                structure=branch.structure,
                loader=lambda: branch.children,
                loaded=None,
                choices={},
            )
            if flattened:
                (arrays,) = branch.children.entries
                node.loaded = Children(items=arrays.children.items)
                node.kind, node.config, node.flattened = "array", self.config, True
        return self.choices[key]

    def _config_applies_to(self, branch: Node) -> bool:
        """Whether the union's own metrics can score the values of a branch."""
        if self.config is None:
            return False
        if self.config.skip:
            return True
        if branch.kind == "array":  # not if all of them need a scalar
            return not all(spec.entry.is_for_scalars for spec in self.specs)
        return branch.kind != "object" and not all(spec.entry.is_for_arrays for spec in self.specs)

    @property
    def joined(self) -> Node | None:
        """A union of several objects as one that has the properties of all."""
        if "joined" not in self.choices and len(objects := self._objects()) > 1:
            properties: dict[str, Node] = {}
            patterns: dict[str, Node] = {}
            for branch in objects:  # of two branches with the same property, the first counts
                properties |= {**branch.children.properties, **properties}
                patterns |= {**branch.children.patterns, **patterns}
            maps = (branch.children.additional for branch in objects)
            rest = next((a for a in maps if a is not None), None)
            below = Children(properties, rest, patterns=patterns)
            self.choices["joined"] = replace(objects[0], loaded=below, choices={})
        return self.choices.get("joined")

    def _objects(self) -> list[Node]:
        nodes = []
        for index, branch in enumerate(self.children.branches):
            chosen = self.choose(index)
            nodes += chosen._objects() if branch.kind == "union" else [chosen]
        return [node for node in nodes if node.kind == "object"]

    @property
    def specs(self) -> tuple[MetricSpec, ...]:
        """The node's metrics; empty if it is not scored."""
        return self.config.metrics if self.config is not None else ()

    @property
    def metric(self) -> str | None:
        """The node's metric ids as one text; None if the node is not scored."""
        if self.config is None:
            return None
        return " + ".join(spec.metric_id for spec in self.specs)

    def check_metrics(self, pointer: str) -> None:
        """Raise `ConfigError` for a metric that compares none of the node's types."""
        for spec in self.specs:
            entry = spec.entry
            applies = () if entry.takes_node or "any" in entry.applies_to else entry.applies_to
            allowed = {"number" if name == "integer" else name for name in applies}
            is_open = not applies or not self.types or "object" in self.types
            if not is_open and allowed.isdisjoint(self.types):
                problem = f"found {spec.metric_id!r} at a node of type {self.label}"
                raise ConfigError(pointer, f"{problem}; it applies to {', '.join(applies)}")

    @property
    def params_text(self) -> str:
        """The declared params of the node's metric as one text; empty if there are none."""
        if not self.declared or len(self.specs) != 1 or not self.specs[0].params:
            return ""
        params = self.specs[0].params.items()
        return "(" + ", ".join(f"{key}={value!r}" for key, value in params) + ")"

    @property
    def is_aligned(self) -> bool:
        """Whether it is an array that is scored by aligning its items."""
        return self.kind == "array" and any(spec.entry.aligns for spec in self.specs)

    @property
    def alignment_params(self) -> Mapping[str, Any]:
        """The params of the metric that aligns the node's items: declared ones, then defaults."""
        declared = next((spec.params for spec in self.specs if spec.entry.aligns), None)
        return {**_ALIGNMENT_DEFAULTS, **declared} if declared else _ALIGNMENT_DEFAULTS

    @property
    def weight(self) -> float:
        """The node's ``aggregation_weight``."""
        return self.config.weight if self.config is not None else 1.0


_ALIGNMENT_DEFAULTS: Mapping[str, Any] = REGISTRY.built_in_that("aligns").defaults

#: The node of what no schema declares.
NOWHERE = Node("any", frozenset(), "any", "", "", "", "", 0, False, True, None, False, {})


# --- value states -----------------------------------------------------------------------------
# Section 3.3 of the ExtractBench paper distinguishes present, null and missing. An empty array on
# an array node is a fourth state, because it says "there is none" as null does.

#: The value of a key that is not there.
MISSING: Final = Marker.MISSING

PRESENT: Final = "present"
EMPTY: Final = "empty"


def state_of(value: Any, node: Node | None = None) -> str:
    """Return the state of one side of a node."""
    if value is None:
        return "null"
    kind = type(value)
    if value is MISSING or kind is Unusable:
        return "missing"
    if kind is not str and node is not None and node.kind == "array":
        items: Any = value if isinstance(value, list | tuple) else None
        if node.flattened and isinstance(value, dict):
            items = [v for v in value.values() if v is not None and (type(v) is not list or v)]
        if items is not None and not items:
            return EMPTY
    return PRESENT


class Resolution(NamedTuple):
    """The result for a pair of states: score, verdict, outcome and reason."""

    score: float
    passed: bool
    outcome: str
    reason: str


@cache
def resolve_states(gold: str, predicted: str) -> Resolution | None:
    """Score a pair of states of which at least one is absent; None if both are present.

    Examples
    --------
    >>> resolve_states("present", "null")
    Resolution(score=0.0, passed=False, outcome='omission', reason='predicted_null')
    """
    if gold == predicted == PRESENT:
        return None
    if gold == PRESENT:
        return Resolution(0.0, False, "omission", f"predicted_{predicted}")
    if predicted == PRESENT:
        return Resolution(0.0, False, "hallucination", f"gold_{gold}")
    reason = f"both_{gold}" if gold == predicted else "both_absent"
    return Resolution(1.0, True, "both_absent", reason)


@dataclass(frozen=True, slots=True, eq=False)
class Unusable:
    """The predicted value below a container of the wrong kind.

    ``outcome`` is ``structural`` where neither schema nor gold knows the type, ``incorrect`` where
    another branch of the schema allows it. ``value`` is the container itself.
    """

    outcome: str
    reason: str
    value: Any = None

    def of(self, value: Any) -> Unusable:
        """Return the marker for a container."""
        return Unusable(self.outcome, self.reason, value)


BROKEN: Final = Unusable("structural", "type_mismatch")
MISFIT: Final = Unusable("incorrect", "branch_mismatch")

# --- the schema -------------------------------------------------------------------------------


def goes_below(node: Node, visited: set[frozenset[str]]) -> bool:
    """Whether a walk over a schema descends below a node; its structure is then added."""
    if node.recursive and node.structure in visited:
        return False
    visited.add(node.structure)
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A parsed schema, shown as a tree; ``to_frame()`` lists its nodes.

    Parameters
    ----------
    root : Node
        The tree.
    document : dict
        The JSON Schema it was read from, taken out of its envelope.
    envelope : str or None
        The key of the envelope, ``schema_definition`` for example.

    Examples
    --------
    >>> from extractbench_nb.core.schema import parse_schema
    >>> parse_schema({"type": "object", "properties": {"year": {"type": "integer"}}})
    $ object
    └─ year: integer · integer_exact
    """

    root: Node
    document: Mapping[str, Any]
    envelope: str | None = None

    def nodes(self) -> Iterator[Node]:
        """Walk all nodes in schema order.

        Yields
        ------
        Node
            The root first; a recursive reference is unfolded where its definition was not met yet.
        """
        stack, met = [self.root], set[frozenset[str]]()
        while stack:
            node = stack.pop()
            yield node
            if goes_below(node, met):
                stack.extend(reversed(list(node.children)))

    def names(self, *labels: Any) -> tuple[str, ...]:
        """Return the names by which rules know the schema: `labels`, its title and its ``$id``."""
        names = [*labels, self.document.get("title"), self.document.get("$id")]
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))

    def nodes_of(self, field: str) -> list[Node]:
        """Return the nodes of a field, ``lines[].amount`` or ``$``; branches may have several."""
        nodes, todo = [], [self.root]
        while todo:
            node = todo.pop()
            if (node.field or "$") == field:
                nodes.append(node)
            else:
                todo.extend(child for child in node.children if field.startswith(child.field))
        return nodes

    def shown(self) -> list[Shown]:
        """List the rows of views in schema order: all nodes but scalar branches of unions."""
        rows: list[Shown] = []
        met: set[frozenset[str]] = set()
        stack: list[tuple[Node, int | None, str]] = [(self.root, None, "$")]
        while stack:
            node, parent, name = stack.pop()
            at, holder, below = len(rows), node, None
            while goes_below(holder, met):
                below = list(holder.children)
                if holder.kind != "union":
                    break
                branches = [branch for branch in below if branch.kind != "null"]
                if len(branches) != 1:
                    below = [b for b in branches if b.kind in ("object", "array", "union")]
                    break
                holder, below = branches[0], None
            rows.append(Shown(node, parent, name, below is None, []))
            if parent is not None:
                rows[parent].below.append(at)
            # branches of one type are told apart by their title or definition, else by their place
            counts = Counter((child.field, child.name, child.label) for child in below or ())
            for child in reversed(below or ()):
                name = child.name
                if counts[child.field, child.name, child.label] > 1:
                    title = child.keywords.get("title")
                    place = child.ref or child.schema_path
                    place = place.rpartition("/" if child.ref else ".")[2]
                    name += f" ({title if isinstance(title, str) else place})"
                stack.append((child, at, name))
        return rows

    def to_frame(self) -> pd.DataFrame:
        """List the schema, one row per node.

        Returns
        -------
        pandas.DataFrame
            schema_path, field, type, depth, required, nullable, metric, params, description.
            Branches of a union that hold nothing but a scalar are part of the union's row.
        """
        rows = []
        for node in (row.node for row in self.shown()):
            params = [dict(spec.params) for spec in node.specs] or [{}]
            about = node.label, node.depth, node.required, node.nullable, node.metric
            cell = params[0] if len(params) == 1 else params
            rows.append((node.schema_path, node.field or "$", *about, cell, node.description))
        return SCHEMA_COLUMNS.from_rows(rows)

    def __repr__(self) -> str:
        """Draw the tree with box characters, at most 400 lines."""
        rows = self.shown()
        lines: list[str] = []
        indents = [""] * len(rows)
        for at, row in enumerate(rows[:_MOST_LINES]):
            lead, title = "", f"$ {row.node.label}"
            if row.parent is not None:
                is_last = rows[row.parent].below[-1] == at
                lead = indents[row.parent] + ("└─ " if is_last else "├─ ")
                indents[at] = indents[row.parent] + ("   " if is_last else "│  ")
                title = f"{row.name}: {row.node.label}"
            lines.append(lead + " · ".join([title, *(text for _, text in row.notes)]))
        if len(rows) > _MOST_LINES:
            lines.append(f"… {len(rows) - _MOST_LINES} more nodes; .to_frame() lists them all")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Draw the tree as static HTML; every text is escaped."""
        rows = self.shown()
        labels = []
        for row in rows:
            name, about = row.name if row.node.field else "$", row.node.description
            label = [("name", name), ("type", row.node.label), *row.notes]
            labels.append([*label, ("desc", about)] if about else label)
        title = f"Schema · {len(rows)} nodes · depth {max(row.node.depth for row in rows)}"
        return card_html(title, tree_html(labels, [row.below for row in rows]))


#: Lines of a schema's text at most.
_MOST_LINES = 400

SCHEMA_COLUMNS = FrameSpec(
    "schema",
    "one row per node of the schema",
    (
        Column("schema_path", "string", "position of the node, `$.properties.a.items`"),
        Column("field", "string", "instance path without indices, `a[].b`; `$` is the root"),
        Column("type", "string", "type in the schema, `integer | null`"),
        Column("depth", "int64", "nesting depth; items are one level deeper", "0 and up"),
        Column("required", "bool", "whether the parent requires the key"),
        Column("nullable", "bool", "whether null is allowed"),
        Column("metric", "string", "metric id(s), joined by ` + `", nullable=True),
        Column("params", "object", "params of the metric, a dict (a list of dicts for several)"),
        Column("description", "string", "description in the schema", nullable=True),
    ),
)


class Shown(NamedTuple):
    """One row of a schema's views: the place of the row above it, its name, and the rows below.

    ``folded`` says that a recursive reference is not unfolded here.
    """

    node: Node
    parent: int | None
    name: str
    folded: bool
    below: list[int]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """The texts that follow the type of the node, each with its kind."""
        node = self.node
        notes = [("note", f"↻ {node.ref}")] if self.folded else []
        if node.required and node.field and node.name != "[]":
            notes.append(("note", "required"))
        if node.metric is not None:
            notes.append(("metric", node.metric + node.params_text))
        return notes
