"""The definitions of a schema, each read once: the kind of every node, and where cycles close.

Nodes are built from it on access. All faults of the schema are found here, before any data is
read.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from extractbench_nb.errors import SchemaError
from extractbench_nb.schema.config import MetricCatalogue, check_types, parse_config
from extractbench_nb.schema.resolve import (
    Flat,
    Part,
    Resolver,
    Shape,
    as_url,
    settled_union,
    shape_of,
)

__all__ = ["MAX_LEVELS", "MAX_NODES", "Outline", "item_parts"]


#: More nodes than any schema that a person wrote; a guard against references that multiply.
MAX_NODES = 50_000
#: Levels of a schema; a guard against stacks that overflow further on.
MAX_LEVELS = 200


class Outline:
    """The definitions that can be reached from the root of a schema.

    Parameters
    ----------
    document : dict
        The schema.
    catalogue : MetricCatalogue or None
        Which metrics exist.
    checked : bool
        Whether names and params of metrics must be those of the catalogue.
    released : bool
        Whether an ``evaluation_config`` beside ``$ref`` is ignored.
    url_rule : bool
        Whether string_exact at a field of ``format: uri`` compares addresses.

    Raises
    ------
    SchemaError
        A keyword is wrong, a reference leads nowhere, references close a cycle without any
        structure in between, or the schema unfolds to too many nodes or levels.
    ConfigError
        An ``evaluation_config`` is wrong.
    """

    def __init__(
        self,
        document: dict[str, Any],
        catalogue: MetricCatalogue | None,
        *,
        checked: bool,
        released: bool,
        url_rule: bool,
    ) -> None:
        self._resolver = Resolver(document, released=released)
        self._catalogue, self._known = catalogue, catalogue if checked else None
        self._url_rule = url_rule
        self._shapes: dict[int, Shape] = {}
        self._flats: dict[int, Flat] = {}
        self._below: dict[int, list[Flat]] = {}
        self.root = self.flatten((Part(document, ""),))
        self._survey()
        self._settle_unions()
        self._check_metrics()
        self._cycles = self._components()
        self._check_size()

    def flatten(self, parts: tuple[Part, ...]) -> Flat:
        """Return the merged keywords of a node."""
        return self._resolver.flatten(parts)

    def shape(self, flat: Flat) -> Shape:
        """Return what a node is."""
        return self._shapes[id(flat)]

    def _survey(self) -> None:
        todo = [self.root]
        while todo:
            flat = todo.pop()
            if id(flat) in self._shapes:
                continue
            if len(self._shapes) >= MAX_NODES:
                raise _too_large(flat)
            self._flats[id(flat)] = flat
            shape = self._shapes[id(flat)] = self._read(flat)
            below = [self.flatten(parts) for parts in _child_parts(flat, shape)]
            self._below[id(flat)] = below
            todo.extend(reversed(below))

    def _read(self, flat: Flat) -> Shape:
        at = f"{flat.pointer}/evaluation_config"
        declared = parse_config(flat.keywords.get("evaluation_config"), at, self._known)
        if self._url_rule:
            declared = as_url(declared, flat.keywords)
        return shape_of(flat, declared, self._catalogue)

    def _settle_unions(self) -> None:
        """Give each union what it has from its branches, inner unions first."""
        unions = {key for key, shape in self._shapes.items() if shape.kind == "union"}
        branches = {key: [id(flat) for flat in self._below[key]] for key in unions}
        try:
            order = [*TopologicalSorter(branches).static_order()]
        except CycleError as error:
            at = min(self._flats[key].pointer for key in error.args[1])
            problem = "refers to itself without any structure in between"
            raise SchemaError(at, problem) from None
        for key in order:
            if key in unions:
                shapes = [self._shapes[branch] for branch in branches[key]]
                self._shapes[key] = settled_union(self._shapes[key], shapes)

    def _check_metrics(self) -> None:
        """Check that each declared metric applies to the type of its node."""
        if self._known is None:
            return
        for key, shape in self._shapes.items():
            if shape.declared:
                at = f"{self._flats[key].pointer}/evaluation_config"
                check_types(shape.config, shape.types, shape.label, at, self._known)

    def _components(self) -> dict[frozenset[str], int]:
        """Give each structure a number; those on a common cycle share one."""
        edges = {
            (flat.structure, child.structure)
            for key, flat in self._flats.items()
            for child in self._below[key]
        }
        numbers = {name: i for i, name in enumerate(dict.fromkeys(s for e in edges for s in e))}
        if not edges or not any(flat.ref for flat in self._flats.values()):
            return numbers  # without references there are no cycles
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
        inner = {
            key: [c for c in below if not self.closes_cycle(self._flats[key], c)]
            for key, below in self._below.items()
        }
        graph = {key: [id(child) for child in below] for key, below in inner.items()}
        sizes: dict[int, tuple[int, int]] = {}
        for key in TopologicalSorter(graph).static_order():
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
        additional = flat.places.get("additionalProperties", ())
        if additional and not isinstance(additional[0].schema, bool):
            yield additional
    elif shape.kind == "array":
        yield from ((part,) for part in flat.places.get("prefixItems", ()))
        yield item_parts(flat)
    elif shape.kind == "union":
        yield from shape.branches


def item_parts(flat: Flat) -> tuple[Part, ...]:
    """Return the parts of an array's items: of all, or of those after a tuple's."""
    return flat.places.get("items") or (Part(True, f"{flat.pointer}/items"),)


def _too_large(flat: Flat) -> SchemaError:
    return SchemaError(flat.pointer, f"unfolds to more than {MAX_NODES:,} nodes through its $refs")
