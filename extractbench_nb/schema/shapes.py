"""What a node is, as far as its own keywords and its branches tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from extractbench_nb._json import json_type
from extractbench_nb.errors import SchemaError, nearest
from extractbench_nb.schema.config import MetricCatalogue, NodeConfig
from extractbench_nb.schema.nodes import Node, effective_config
from extractbench_nb.schema.presets import ARRAY_METRICS
from extractbench_nb.schema.resolve import Flat, Part

__all__ = ["STRUCTURE_OR_REF", "Shape", "Union", "as_url", "shape_of", "union_of"]

_JSON_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_STRUCTURE = ("type", "properties", "additionalProperties", "items", "prefixItems", "enum", "const")
STRUCTURE_OR_REF = (*_STRUCTURE, "$ref", "anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class Shape:
    """The kind of a node, as far as its own keywords tell."""

    kind: str
    type: str
    types: frozenset[str]
    label: str
    nullable: bool
    branches: tuple[tuple[Part, ...], ...] = ()
    config: NodeConfig | None = None
    declared: bool = False


def shape_of(flat: Flat, declared: NodeConfig | None, catalogue: MetricCatalogue | None) -> Shape:
    """Read the kind of a node off its keywords and its config.

    Parameters
    ----------
    flat : Flat
        The merged keywords.
    declared : NodeConfig or None
        The ``evaluation_config`` that stands there.
    catalogue : MetricCatalogue or None
        Says which metrics can be asked about an object.

    Returns
    -------
    Shape
        Kind, types, branches and effective config.

    Raises
    ------
    SchemaError
        A keyword says what no schema can.
    """
    shape = _bare_shape(flat)
    if shape.kind == "object" and _aligns_a_map(flat, declared):
        rest = {k: v for k, v in flat.keywords.items() if k != "evaluation_config"}
        shape = replace(shape, kind="union", branches=((Part(rest, flat.pointer),),))
    if shape.kind in ("object", "null"):
        config = (
            declared
            if declared is not None and _is_scored(shape.kind, declared, catalogue)
            else None
        )
    else:
        config = declared if shape.kind == "union" else effective_config(declared, shape.type)
    return replace(shape, config=config, declared=declared is not None)


def _is_scored(kind: str, declared: NodeConfig | None, catalogue: MetricCatalogue | None) -> bool:
    """Whether a config means an object or null itself: it skips it, or asks a class about it."""
    if declared is None:
        return False
    if declared.skip or kind == "null" or catalogue is None:
        return declared.skip
    return all(catalogue.takes_objects(spec.metric_id) for spec in declared.metrics)


def _aligns_a_map(flat: Flat, declared: NodeConfig | None) -> bool:
    """Whether an array metric stands at a map: its entries are then aligned as one array."""
    names = {spec.metric_id for spec in declared.metrics} if declared is not None else set()
    below = flat.places.get("additionalProperties", ())
    is_map = not flat.properties and any(not isinstance(p.schema, bool) for p in below)
    return is_map and bool(names & ARRAY_METRICS)


def _bare_shape(flat: Flat) -> Shape:
    types = _declared_types(flat)
    nullable = flat.keywords.get("nullable") is True or "null" in types
    branches = _union_branches(flat, types)
    if branches:
        return Shape("union", "union", frozenset(), "union", nullable, branches)
    concrete = [t for t in types if t != "null"]
    if not concrete:
        kind, name = ("null", "null") if types else ("any", "any")
        return Shape(kind, name, frozenset(), name, nullable or kind == "null")
    name = concrete[0]
    kind = name if name in ("object", "array") else "scalar"
    label = f"{name} | null" if nullable else name
    return Shape(kind, name, _json_types(concrete), label, nullable)


def _json_types(types: list[str]) -> frozenset[str]:
    return frozenset("number" if t == "integer" else t for t in types)


def _declared_types(flat: Flat) -> list[str]:
    """Types that the keywords state or imply."""
    declared = flat.keywords.get("type")
    if declared is None:
        return _implied_types(flat)
    names = declared if isinstance(declared, list) else [declared]
    for name in names:
        if name not in _JSON_TYPES:
            raise SchemaError(
                f"{flat.pointer}/type", f"unknown type {name!r}; {nearest(name, _JSON_TYPES)}"
            )
    if not names:
        raise SchemaError(f"{flat.pointer}/type", "found an empty list; expected a type")
    return list(dict.fromkeys(names))


def _implied_types(flat: Flat) -> list[str]:
    if flat.properties or "additionalProperties" in flat.places:
        return ["object"]
    if "items" in flat.places or "prefixItems" in flat.places:
        return ["array"]
    if "const" in flat.keywords:
        values = [flat.keywords["const"]]
    else:
        values = flat.keywords.get("enum", [])
        if not isinstance(values, list):
            raise SchemaError(f"{flat.pointer}/enum", f"found {values!r}; expected a list")
    return list(dict.fromkeys(_value_type(v) for v in values))


def _value_type(value: Any) -> str:
    found = json_type(value)
    whole = found == "number" and isinstance(value, int)
    return "integer" if whole else found


def _union_branches(flat: Flat, types: list[str]) -> tuple[tuple[Part, ...], ...]:
    """Return the branches of anyOf, oneOf or a list of types; none where there is one type."""
    alternatives = flat.places.get("anyOf") or flat.places.get("oneOf") or ()
    if any(_is_structural(part.schema) for part in alternatives):
        base = {k: v for k, v in flat.keywords.items() if k in (*_STRUCTURE, "required")}
        shared = (Part(base, flat.pointer),) if base.keys() - {"required"} else ()
        return tuple((p,) if _is_null(p.schema) else (p, *shared) for p in alternatives)
    concrete = [t for t in types if t != "null"]
    if len(concrete) <= 1:
        return ()
    rest = {k: v for k, v in flat.keywords.items() if k not in ("type", "evaluation_config")}
    return tuple((Part({**rest, "type": t}, flat.pointer),) for t in concrete)


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _is_structural(schema: Any) -> bool:
    return isinstance(schema, bool) or (
        isinstance(schema, Mapping) and any(key in schema for key in STRUCTURE_OR_REF)
    )


def as_url(config: NodeConfig | None, keywords: Mapping[str, Any]) -> NodeConfig | None:
    """``format: uri`` with string_exact is compared as a URL (README of ExtractBench)."""
    if config is None or keywords.get("format") != "uri":
        return config
    specs = tuple(
        replace(s, metric_id="string_url") if s.metric_id == "string_exact" else s
        for s in config.metrics
    )
    return NodeConfig(specs, config.weight)


@dataclass(frozen=True, slots=True)
class Union:
    """What a union has from its branches: types, label, and the config that they agree on."""

    types: frozenset[str]
    labels: tuple[str, ...]
    nullable: bool
    config: NodeConfig | None

    def settle(self, node: Node) -> None:
        """Give it to the node of the union."""
        node.types = self.types
        node.nullable = node.nullable or self.nullable
        node.label = " | ".join([*self.labels, *(["null"] if node.nullable else [])])
        node.config = node.config or self.config


def union_of(branches: tuple[Node, ...]) -> Union:
    """Return what a union has from its branches."""
    concrete = [b for b in branches if b.kind != "null"]
    types = frozenset[str]().union(*(b.types for b in concrete))
    labels = tuple(dict.fromkeys(b.label.removesuffix(" | null") for b in concrete))
    nullable = any(b.kind == "null" or b.nullable for b in branches)
    config = None
    votes = [b.config for b in branches if b.declared and b.config is not None]
    if votes and all(vote == votes[0] for vote in votes):
        config = votes[0]
    elif len(concrete) == 1 and concrete[0].kind == "scalar":
        config = concrete[0].config
    if any(b.kind == "any" for b in branches):
        types = frozenset()
    return Union(types, labels, nullable, config)
