"""The typed AST: `Node` is one construct of the schema, `Schema` the whole tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from typing import Any

import pandas as pd

from extractbench_nb.schema.config import NodeConfig, default_config
from extractbench_nb.schema.patterns import Patterns
from extractbench_nb.schema.presets import ARRAY_METRICS, SCALAR_METRICS

__all__ = ["Children", "Node", "Schema", "goes_below"]


#: Keys of `Node.whole`, `Node.itself` and `Node.joined` among a node's choices; branches have 0
#: and up, flattened ones -1 and down.
_WHOLE, _ITSELF, _JOINED = 1_000_000, 1_000_001, 1_000_002


@dataclass(frozen=True, slots=True)
class Children:
    """What lies below a node; which parts are filled depends on its kind."""

    properties: Mapping[str, Node] = attribute(default_factory=dict)
    additional: Node | None = None
    items: Node | None = None
    prefix: tuple[Node, ...] = ()
    branches: tuple[Node, ...] = ()
    patterns: Mapping[str, Node] = attribute(default_factory=dict)
    search: Patterns = attribute(default_factory=Patterns)

    def entry(self, key: str) -> Node | None:
        """Return the node of a key that is not a property: that of the first matching pattern.

        Parameters
        ----------
        key : str
            A key of an object.

        Returns
        -------
        Node or None
            That of ``patternProperties`` or ``additionalProperties``; None where both have none.
        """
        for pattern, node in self.patterns.items():
            if self.search.matches(pattern, key):
                return node
        return self.additional

    def mapped(self, change: Callable[[Node], Node]) -> Children:
        """Return the same children with each node changed."""
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


@dataclass(slots=True, eq=False)
class Node:
    """One node of the schema, unfolded where it is used.

    Parameters
    ----------
    kind : str
        ``object``, ``array``, ``scalar``, ``union`` (anyOf, oneOf, several types), ``null`` or
        ``any`` (nothing says which type).
    types : frozenset of str
        JSON types that the schema allows here (``integer`` counts as ``number``); empty: all.
    label : str
        The type as people write it, ``"array"``, ``"integer | null"``.
    schema_path : str
        ``$.properties.authors.items.properties.name``.
    pointer : str
        JSON Pointer of the definition (the target, where a ``$ref`` leads there).
    field : str
        Instance path without indices, ``authors[].name``.
    name : str
        Last step of the instance path.
    depth : int
        Nesting depth; the root is 0, an array's items are one level deeper than the array.
    required, nullable : bool
        As the schema says.
    config : NodeConfig or None
        Effective scoring rules: declared, agreed by the branches, or the default of the type.
    declared : bool
        Whether the config stands in the schema at this node.
    keywords : mapping
        The merged JSON Schema keywords, unknown ones included.
    ref : str or None
        The ``$ref`` that led here.
    recursive : bool
        The node closes a cycle of references: it is unfolded only where data goes on.
    structure : frozenset of str
        JSON Pointers of the schemas that say what is below the node.
    step : str
        The last step as it is written in an instance path, ``.name``.
    flattened : bool
        An array node that stands for a map from keys to arrays.
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
    loader: Callable[[], Children] | None = None
    loaded: Children | None = None
    _choices: dict[int, Node] = attribute(default_factory=dict)

    @property
    def children(self) -> Children:
        """What lies below; it is unfolded by one step when first asked."""
        if self.loaded is None:
            self.loaded = self.loader() if self.loader is not None else Children()
        return self.loaded

    @property
    def description(self) -> str | None:
        """The schema's description of the node."""
        text = self.keywords.get("description")
        return text if isinstance(text, str) else None

    @property
    def closed(self) -> bool:
        """Whether ``additionalProperties`` is false."""
        return self.keywords.get("additionalProperties") is False

    def choose(self, index: int) -> Node:
        """Return the union as the node it is when branch `index` holds.

        Parameters
        ----------
        index : int
            Which branch, counted from 0.

        Returns
        -------
        Node
            Path, field, depth and allowed types of the union; kind and children of the branch;
            the union's own or agreed config, else the branch's.
        """
        if index not in self._choices:
            self._choices[index] = self._as_branch(self.children.branches[index])
        return self._choices[index]

    def _as_branch(self, branch: Node) -> Node:
        # the union's metric serves the values that it can be applied to
        chosen = self.config if self._serves(branch) else branch.config
        return Node(
            branch.kind,
            self.types,
            self.label,
            self.schema_path,
            branch.pointer,
            self.field,
            self.name,
            self.depth,
            self.required,
            self.nullable,
            chosen,
            self.declared or branch.declared,
            branch.keywords,
            self.ref or branch.ref,
            self.recursive or branch.recursive,
            branch.structure,
            loader=lambda: branch.children,
            step=self.step,
        )

    def _serves(self, branch: Node) -> bool:
        if self.config is None:
            return False
        names = {spec.metric_id for spec in self.config.metrics}
        if self.config.skip:
            return True
        if branch.kind == "array":
            return not names <= SCALAR_METRICS
        return branch.kind != "object" and not names <= ARRAY_METRICS

    @property
    def whole(self) -> Node:
        """The node as one value of any type: nothing below it, nothing to check."""
        if _WHOLE not in self._choices:
            self._choices[_WHOLE] = replace(
                self, kind="any", types=frozenset(), loader=None, loaded=Children(), _choices={}
            )
        return self._choices[_WHOLE]

    @property
    def itself(self) -> Node:
        """An object as one value of its type, apart from what is below it."""
        if _ITSELF not in self._choices:
            self._choices[_ITSELF] = replace(self.whole, types=self.types, _choices={})
        return self._choices[_ITSELF]

    @property
    def has_several_objects(self) -> bool:
        """Whether more than one branch of a union is an object."""
        return len(self._objects()) > 1

    @property
    def joined(self) -> Node:
        """A union as one object of all that its branches declare; the first one that does wins."""
        if _JOINED not in self._choices:
            objects = self._objects()
            properties: dict[str, Node] = {}
            patterns: dict[str, Node] = {}
            for branch in objects:
                properties |= {**branch.children.properties, **properties}
                patterns |= {**branch.children.patterns, **patterns}
            maps = (branch.children.additional for branch in objects)
            rest = next((a for a in maps if a is not None), None)
            below = Children(properties, rest, patterns=patterns)
            self._choices[_JOINED] = replace(objects[0], loaded=below, _choices={})
        return self._choices[_JOINED]

    def _objects(self) -> list[Node]:
        found = []
        for index, branch in enumerate(self.children.branches):
            chosen = self.choose(index)
            found += chosen._objects() if branch.kind == "union" else [chosen]
        return [node for node in found if node.kind == "object"]

    def choose_flattened(self, index: int) -> Node:
        """Return the union as an array of (key, item) pairs, where branch `index` maps to arrays.

        Parameters
        ----------
        index : int
            A branch that is an object with arrays under ``additionalProperties``.

        Returns
        -------
        Node
            An array node with ``flattened`` set; its items are the items of those arrays.
        """
        key = -1 - index
        if key not in self._choices:
            (arrays,) = self.children.branches[index].children.entries
            self._choices[key] = replace(
                self.choose(index),
                kind="array",
                config=self.config,
                loaded=Children(items=arrays.children.items),
                flattened=True,
                _choices={},
            )
        return self._choices[key]

    @property
    def weight(self) -> float:
        """The node's ``aggregation_weight``."""
        return self.config.weight if self.config is not None else 1.0


def goes_below(node: Node, met: set[frozenset[str]]) -> bool:
    """Say whether a walk over a schema goes below a node, and note that it does.

    Parameters
    ----------
    node : Node
        Where the walk is.
    met : set of frozenset of str
        Structures that the walk has gone below so far; the node's is added.

    Returns
    -------
    bool
        False where a recursive reference leads to what was met.
    """
    if node.recursive and node.structure in met:
        return False
    met.add(node.structure)
    return True


def effective_config(declared: NodeConfig | None, kind: str) -> NodeConfig | None:
    """Return the declared config, or the default one for the JSON Schema type `kind`."""
    return declared if declared is not None else default_config(kind)


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A parsed schema. ``repr`` draws the tree, ``to_frame()`` lists it, notebooks fold it.

    Parameters
    ----------
    root : Node
        The tree.
    document : dict
        The JSON Schema it was read from, taken out of its envelope.
    envelope : str or None
        The key of the envelope, ``schema_definition`` for example.
    released : bool
        Whether it was read as the published package does.
    url_rule : bool
        Whether string_exact at a field of format ``uri`` was read as string_url.

    Examples
    --------
    >>> from extractbench_nb import parse_schema
    >>> parse_schema({"type": "object", "properties": {"year": {"type": "integer"}}})
    $ object
    └─ year: integer · integer_exact
    """

    root: Node
    document: Mapping[str, Any]
    envelope: str | None = None
    released: bool = False
    url_rule: bool = True

    def nodes(self) -> Iterator[Node]:
        """Walk all nodes in schema order.

        Yields
        ------
        Node
            The root first. A recursive reference is unfolded where its definition was not met yet.
        """
        stack, met = [self.root], set[frozenset[str]]()
        while stack:
            node = stack.pop()
            yield node
            if goes_below(node, met):
                stack.extend(reversed(list(node.children)))

    def to_frame(self) -> pd.DataFrame:
        """List the schema, one row a node.

        Returns
        -------
        pandas.DataFrame
            schema_path, field, type, depth, required, nullable, metric, params, description.
            Branches of a union that hold nothing but a scalar are part of the union's row.
        """
        from extractbench_nb.schema.render import schema_frame

        return schema_frame(self)

    def __repr__(self) -> str:
        """Draw the tree as text."""
        from extractbench_nb.schema.render import schema_text

        return schema_text(self)

    def _repr_html_(self) -> str:
        from extractbench_nb.schema.render import schema_html

        return schema_html(self)
