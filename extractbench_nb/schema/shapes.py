"""What a node is, as far as its own keywords and its branches tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from extractbench_nb._json import json_type
from extractbench_nb.schema.config import MetricCatalogue, NodeConfig
from extractbench_nb.schema.nodes import effective_config
from extractbench_nb.schema.presets import ARRAY_METRICS
from extractbench_nb.schema.resolve import Flat, Part

__all__ = ["STRUCTURE_OR_REF", "Shape", "as_url", "settled_union", "shape_of"]

_CHILDREN = ("additionalProperties", "items", "prefixItems")
_STRUCTURE = ("type", "properties", "patternProperties", *_CHILDREN, "enum", "const")
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
        shape = replace(shape, kind="union", branches=(_as(flat, "map"),))
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
    below = [*flat.places.get("additionalProperties", ()), *chain(*flat.patterns.values())]
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
    return list(dict.fromkeys(declared if isinstance(declared, list) else [declared]))


def _implied_types(flat: Flat) -> list[str]:
    if flat.properties or flat.patterns or "additionalProperties" in flat.places:
        return ["object"]
    if "items" in flat.places or "prefixItems" in flat.places:
        return ["array"]
    words = flat.keywords
    values = [words["const"]] if "const" in words else words.get("enum", [])
    return list(dict.fromkeys(_value_type(v) for v in values))


def _value_type(value: Any) -> str:
    found = json_type(value)
    whole = found == "number" and isinstance(value, int)
    return "integer" if whole else found


def _union_branches(flat: Flat, types: list[str]) -> tuple[tuple[Part, ...], ...]:
    """Return the branches of anyOf, oneOf or a list of types; none where there is one type."""
    alternatives = flat.places.get("anyOf") or flat.places.get("oneOf") or ()
    if any(_is_structural(part.schema) for part in alternatives):
        possible = [p for p in alternatives if p.schema is not False] or alternatives
        beside = flat.keywords.keys() & set(_STRUCTURE)
        shared = _as(flat, "beside", (*_STRUCTURE, "required"), _CHILDREN) if beside else ()
        return tuple((p,) if _is_null(p.schema) else (p, *shared) for p in possible)
    concrete = [t for t in types if t != "null"]
    if len(concrete) <= 1:
        return ()
    return tuple(_as(flat, f"type {t}", type=t) for t in concrete)


def _as(
    flat: Flat,
    name: str,
    keywords: Collection[str] | None = None,
    places: Collection[str] | None = None,
    **changes: Any,
) -> tuple[Part]:
    """Return a node's keywords, or some of them, as a branch that has no config of its own."""
    kept = {
        key: value
        for key, value in flat.keywords.items()
        if key != "evaluation_config" and (keywords is None or key in keywords)
    }
    branch = replace(
        flat,
        keywords={**kept, **changes},
        places={k: v for k, v in flat.places.items() if places is None or k in places},
        structure=flat.structure and flat.structure | {name},
        ref=None,
    )
    return (Part(branch, flat.pointer),)


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


def settled_union(union: Shape, branches: Sequence[Shape]) -> Shape:
    """Return a union with what it has from its branches: types, label, and the agreed config."""
    concrete = [b for b in branches if b.kind != "null"]
    types = frozenset[str]().union(*(b.types for b in concrete))
    labels = tuple(dict.fromkeys(b.label.removesuffix(" | null") for b in concrete))
    nullable = union.nullable or any(b.kind == "null" or b.nullable for b in branches)
    config = None
    votes = [b.config for b in branches if b.declared and b.config is not None]
    if votes and all(vote == votes[0] for vote in votes):
        config = votes[0]
    elif len(concrete) == 1 and concrete[0].kind == "scalar":
        config = concrete[0].config
    if any(b.kind == "any" for b in branches):
        types = frozenset()
    label = " | ".join([*labels, *(["null"] if nullable else [])])
    return replace(
        union, types=types, label=label, nullable=nullable, config=union.config or config
    )
