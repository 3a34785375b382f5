"""References and ``allOf``: from places in the document to the merged keywords of one node."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from extractbench_nb.core.schema.evaluation_config import (
    ARRAY_METRICS,
    MetricCatalogue,
    NodeConfig,
    default_config,
)
from extractbench_nb.core.schema.keywords import (
    DATA,
    MAPS,
    check_keywords,
    draft_of,
    short,
    subschemas,
)
from extractbench_nb.core.values.json_values import (
    equality_key,
    escape_pointer,
    json_type,
    unescape_pointer,
)
from extractbench_nb.errors import SchemaError, nearest

#: A guard against combinations of ``allOf`` that lead to ever new ones.
MAX_MERGED = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A subschema and where it stands; keywords that are merged already are a `Flat`."""

    schema: Any
    pointer: str


@dataclass(slots=True, eq=False)
class Flat:
    """The merged keywords of one node; every child keeps the place(s) it comes from.

    ``structure`` names the places that say what is below the node: nodes of the same structure are
    unfolded alike.
    """

    pointer: str
    keywords: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    patterns: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    places: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    structure: frozenset[str] = frozenset()
    ref: str | None = None


class Choices(list[Any]):
    """The values of an ``enum``, with a fast test of whether a value is one of them."""

    @cached_property
    def _keys(self) -> frozenset[Hashable]:
        return frozenset(map(equality_key, self))

    def __contains__(self, value: object) -> bool:
        """Say whether a value is equal to one of them; 1 is 1.0, but not true."""
        try:
            return equality_key(value) in self._keys
        except TypeError:  # no JSON value
            return False


class Resolver:
    """Looks up and merges subschemas of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.draft = draft_of(document)
        self._uris: dict[str, str] = {}
        self._resources: dict[str, str] = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        self._found: dict[tuple[str, str], Part] = {}
        self._checked: set[int] = set()
        self._flats: dict[tuple[Any, ...], Flat] = {}
        self._open: set[tuple[Any, ...]] = set()
        self._merged = 0
        self._identify()
        self.check(Part(document, ""))

    def check(self, part: Part) -> None:
        """Raise `SchemaError` for the first wrong keyword of a schema or of those inside it."""
        stack = [(part.schema, part.pointer)]
        while stack:
            schema, pointer = stack.pop()
            check_keywords(schema, pointer, self.draft)
            self._checked.add(id(schema))
            if isinstance(schema, dict):
                inner = [(sub, pointer + below) for below, sub in subschemas(schema)]
                stack.extend(reversed(inner))

    def _identify(self) -> None:
        """Record the subschemas that declare an identifier: ``$id`` and ``$anchor``."""
        own_name = "id" if self.draft == 4 else "$id"  # noqa: PLR2004
        stack: list[tuple[Any, str, str, bool]] = [(self.document, "", "", False)]
        while stack:
            value, pointer, uri, is_map = stack.pop()
            if isinstance(value, dict):
                own = None if is_map else value.get(own_name)
                if isinstance(own, str):
                    joined, _, anchor = _joined(uri, own).partition("#")
                    if anchor:
                        self._anchors[uri, anchor] = pointer
                    else:
                        uri = joined
                        self._uris[pointer] = uri
                        self._resources[uri] = pointer
                named = value.get("$anchor")
                if isinstance(named, str) and not is_map:
                    self._anchors[uri, named] = pointer
                stack.extend(
                    (sub, f"{pointer}/{escape_pointer(key)}", uri, key in MAPS and not is_map)
                    for key, sub in value.items()
                    if is_map or key not in DATA
                )
            elif isinstance(value, list):
                stack.extend((sub, f"{pointer}/{i}", uri, False) for i, sub in enumerate(value))

    def lookup(self, ref: Any, at: str) -> Part:
        """Find the target of a ``$ref``."""
        if not isinstance(ref, str):
            raise _not_here(ref, at)
        resource = at
        while resource and resource not in self._uris:
            resource = resource.rpartition("/")[0]
        if (resource, ref) not in self._found:
            self._found[resource, ref] = self._target(ref, at, self._uris.get(resource, ""))
        return self._found[resource, ref]

    def _target(self, ref: str, at: str, base: str) -> Part:
        uri, fragment = (base, ref[1:]) if ref.startswith("#") else urldefrag(_joined(base, ref))
        pointer = self._resources.get(uri)
        if fragment and not fragment.startswith("/"):
            pointer = self._anchors.get((uri, unquote(fragment)))
            fragment = ""
        if pointer is None:
            raise _not_here(ref, at)
        tokens = [unescape_pointer(token) for token in pointer.split("/")[1:]]
        tokens += [unescape_pointer(unquote(token)) for token in fragment.split("/")[1:]]
        value: Any = self.document
        for token in tokens:
            value = _step(value, token, ref, at)
        return Part(value, "".join(f"/{escape_pointer(token)}" for token in tokens))

    def flatten(self, parts: Iterable[Part]) -> Flat:
        """Merge the parts that all apply to one node, references followed."""
        parts = tuple(parts)
        key = tuple([(part.pointer, id(part.schema)) for part in parts])
        if key in self._flats:
            return self._flats[key]
        pointer = parts[0].pointer
        if key in self._open:
            raise SchemaError(pointer, "refers to itself without any structure in between")
        self._open.add(key)
        self._merged += len(parts) - 1
        if self._merged > MAX_MERGED:
            problem = f"merges more than {MAX_MERGED:,} schemas through its allOfs"
            raise SchemaError(pointer, problem)
        flat = self._flatten_one(parts[0])
        for part in parts[1:]:
            flat = _both_apply(flat, self.flatten([part]))
        self._flats[key] = flat
        self._open.discard(key)
        return flat

    def _flatten_one(self, part: Part) -> Flat:
        schema, pointer = part.schema, part.pointer
        if isinstance(schema, Flat):
            return schema
        if isinstance(schema, bool):
            return Flat(pointer)
        if id(schema) not in self._checked:  # behind a reference to where no schema is expected
            self.check(part)
        if _is_plain_ref(schema):
            return self._follow(schema["$ref"], pointer)
        flat = _own_keywords(schema, pointer)
        if schema.get("additionalProperties") is True:
            flat.places["additionalProperties"] = (
                Part(_ANYTHING, f"{pointer}/additionalProperties"),
            )
        if "$ref" in schema:
            target = self.flatten([self.lookup(schema["$ref"], pointer)])
            flat = _overlay(target, flat, schema["$ref"] or "#")
        for index, sub in enumerate(schema.get("allOf", ())):
            flat = _both_apply(flat, self.flatten([Part(sub, f"{pointer}/allOf/{index}")]))
        return flat

    def _follow(self, ref: str, at: str) -> Flat:
        """Follow a chain of references without sibling keywords."""
        target, passed = self.lookup(ref, at), {at}
        while _is_plain_ref(target.schema):
            if target.pointer in passed:
                raise SchemaError(
                    target.pointer, "refers to itself without any structure in between"
                )
            passed.add(target.pointer)
            target = self.lookup(target.schema["$ref"], target.pointer)
        # a definition where a reference leads to it is always the same one
        found = self.flatten([target])
        key = ("referred", id(found), ref)
        if key not in self._flats:
            self._flats[key] = replace(found, ref=ref or "#")
        return self._flats[key]


#: What ``true`` means where a schema is expected; written out it makes an object a map.
_ANYTHING: Mapping[str, Any] = {}
_CHILD_SCHEMAS = {"items", "additionalProperties"}
_CHILD_LISTS = {"anyOf", "oneOf", "prefixItems"}
#: Keywords without which a schema is a leaf; ``required`` may be draft 3's.
_WITH_CHILDREN = frozenset((*_CHILD_SCHEMAS, *_CHILD_LISTS, *MAPS, "required"))


def _own_keywords(schema: Mapping[str, Any], pointer: str) -> Flat:
    keywords = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "$defs")}
    if "enum" in keywords:
        keywords["enum"] = Choices(keywords["enum"])
    flat = Flat(pointer, keywords)
    if _WITH_CHILDREN.isdisjoint(schema):
        return flat
    for key, found in (("properties", flat.properties), ("patternProperties", flat.patterns)):
        for name, sub in schema.get(key, {}).items():
            found[name] = (Part(sub, f"{pointer}/{key}/{escape_pointer(name)}"),)
    for key in _CHILD_LISTS & schema.keys():
        flat.places[key] = _parts(schema[key], f"{pointer}/{key}")
    for key in _CHILD_SCHEMAS & schema.keys():
        flat.places[key] = (Part(schema[key], f"{pointer}/{key}"),)
    if isinstance(schema.get("items"), list):  # a tuple, before draft 2020-12
        flat.places["prefixItems"] = _parts(schema["items"], f"{pointer}/items")
        rest = schema.get("additionalItems", True)
        flat.places["items"] = (Part(rest, f"{pointer}/additionalItems"),)
    if isinstance(schema.get("required"), bool):  # draft 3: the parent reads it
        keywords.pop("required")
    if flat.properties or flat.patterns or flat.places:
        flat.structure = frozenset([pointer])
    return flat


def _parts(schemas: list[Any], pointer: str) -> tuple[Part, ...]:
    return tuple(Part(sub, f"{pointer}/{index}") for index, sub in enumerate(schemas))


def _overlay(target: Flat, own: Flat, ref: str) -> Flat:
    """``$ref`` with siblings: the siblings win; properties and required add up."""
    return Flat(
        target.pointer if len(own.keywords) == 0 else own.pointer,
        {**target.keywords, **own.keywords, **_required(target, own)},
        {**target.properties, **own.properties},
        {**target.patterns, **own.patterns},
        {**target.places, **own.places},
        target.structure | own.structure,
        ref,
    )


def _both_apply(one: Flat, two: Flat) -> Flat:
    """``allOf``: types intersect, properties and required add up, the first annotation stays."""
    if one is two:
        return one
    keywords = {**two.keywords, **one.keywords, **_required(one, two)}
    for key, merge in (("type", _merge_types), ("enum", _merge_enums), ("const", _merge_consts)):
        if key in one.keywords and key in two.keywords:
            keywords[key] = merge(one.keywords[key], two.keywords[key], two.pointer)
    places = dict(one.places)
    for key, parts in two.places.items():
        places[key] = _both_places(key, places.get(key, ()), parts)
    return Flat(
        one.pointer,
        keywords,
        _added(one.properties, two.properties),
        _added(one.patterns, two.patterns),
        places,
        one.structure | two.structure,
        one.ref or two.ref,
    )


def _required(one: Flat, two: Flat) -> dict[str, list[str]]:
    names = [*one.keywords.get("required", []), *two.keywords.get("required", [])]
    return {"required": list(dict.fromkeys(names))} if names else {}


def _added(
    one: dict[str, tuple[Part, ...]], two: dict[str, tuple[Part, ...]]
) -> dict[str, tuple[Part, ...]]:
    return {**one, **{name: _distinct(one.get(name, ()), parts) for name, parts in two.items()}}


def _distinct(one: tuple[Part, ...], two: tuple[Part, ...]) -> tuple[Part, ...]:
    """Join parts, dropping those that repeat because a definition is used twice."""
    known = {part.pointer: part for part in (*two, *one)}
    return tuple(dict.fromkeys(known[part.pointer] for part in (*one, *two)))


def _both_places(key: str, one: tuple[Part, ...], two: tuple[Part, ...]) -> tuple[Part, ...]:
    """Merge the child schemas that two parts have under one keyword."""
    if key not in _CHILD_SCHEMAS or not one:
        return two
    for parts in (one, two):
        if parts[0].schema is False:
            return parts
    schemas = [p for p in _distinct(one, two) if p.schema is not True]
    return tuple(schemas) or one


def _merge_types(one: Any, two: Any, pointer: str) -> Any:
    first, second = _as_list(one), _as_list(two)
    both = [t for t in first if t in second]
    if not both and {"integer", "number"} <= {*first, *second}:
        both = ["integer"]
    if not both:
        raise SchemaError(
            f"{pointer}/type", f"found {short(two)} where another part of allOf says {short(one)}"
        )
    return both[0] if len(both) == 1 else both


def _merge_enums(one: Any, two: Any, pointer: str) -> Any:
    both = Choices(value for value in one if value in two)
    if not both:
        raise SchemaError(f"{pointer}/enum", "shares no value with another part of allOf")
    return both


def _merge_consts(one: Any, two: Any, pointer: str) -> Any:
    if equality_key(one) != equality_key(two):
        problem = f"found {short(two)}; another part of allOf says {short(one)}"
        raise SchemaError(f"{pointer}/const", problem)
    return one


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_plain_ref(schema: Any) -> bool:
    return type(schema) is dict and len(schema) == 1 and isinstance(schema.get("$ref"), str)


def _joined(base: str, ref: str) -> str:
    """Resolve a reference against a base address; an invalid one is returned as it is."""
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref.replace("[", "%5B")


def _not_here(ref: Any, at: str) -> SchemaError:
    problem = f"found {short(ref)}; expected a pointer into this document, '#/$defs/name'"
    return SchemaError(f"{at}/$ref", problem)


def _step(value: Any, token: str, ref: str, at: str) -> Any:
    if isinstance(value, Mapping):
        if token in value:
            return value[token]
        hint = nearest(token, [str(k) for k in value])
        raise SchemaError(f"{at}/$ref", f"{ref!r} leads nowhere: no {token!r}; {hint}")
    if isinstance(value, list) and token.isdigit() and int(token) < len(value):
        return value[int(token)]
    raise SchemaError(f"{at}/$ref", f"{ref!r} leads nowhere: nothing at {token!r}")


_CHILDREN = ("additionalProperties", "items", "prefixItems")
_STRUCTURE = ("type", "properties", "patternProperties", *_CHILDREN, "enum", "const")
STRUCTURE_OR_REF = frozenset({*_STRUCTURE, "$ref", "anyOf", "oneOf", "allOf"})


@dataclass(frozen=True, slots=True)
class Shape:
    """The kind, types and config of a node, without its children."""

    kind: str
    types: frozenset[str]
    label: str
    nullable: bool
    branches: tuple[tuple[Part, ...], ...] = ()
    config: NodeConfig | None = None
    declared: bool = False


def shape_of(flat: Flat, declared: NodeConfig | None, catalogue: MetricCatalogue | None) -> Shape:
    """Return the kind, types and config of a node, from its keywords and declared config."""
    types = _types(flat)
    concrete = [t for t in types if t != "null"]
    nullable = flat.keywords.get("nullable") is True or "null" in types
    branches = _union_branches(flat, concrete)
    if branches:
        kind = name = label = "union"
    elif concrete:
        name = concrete[0]
        kind = name if name in ("object", "array") else "scalar"
        label = f"{name} | null" if nullable else name
    else:
        kind = name = label = "null" if types else "any"
    if kind == "object" and declared is not None and _aligns_a_map(flat, declared):
        kind, branches = "union", (_as(flat, "map"),)
    config = declared
    if kind in ("object", "null"):
        config = declared if declared and _is_scored(kind, declared, catalogue) else None
    elif kind != "union" and declared is None:
        config = default_config(name)
    json_types = frozenset("number" if t == "integer" else t for t in concrete)
    return Shape(
        kind,
        frozenset() if name == "union" else json_types,
        label,
        nullable or kind == "null",
        branches,
        config,
        declared is not None,
    )


def _is_scored(kind: str, declared: NodeConfig, catalogue: MetricCatalogue | None) -> bool:
    """Whether a config applies to an object or null itself: it skips it, or its metrics do."""
    if declared.skip or kind == "null" or catalogue is None:
        return declared.skip
    return all(catalogue.takes_objects(spec.metric_id) for spec in declared.metrics)


def _aligns_a_map(flat: Flat, declared: NodeConfig) -> bool:
    """Whether a map declares an array metric; its entries are then aligned like an array."""
    names = {spec.metric_id for spec in declared.metrics}
    below = [*flat.places.get("additionalProperties", ()), *chain(*flat.patterns.values())]
    is_map = not flat.properties and any(not isinstance(p.schema, bool) for p in below)
    return is_map and bool(names & ARRAY_METRICS)


def _types(flat: Flat) -> list[str]:
    """Return the types that the keywords state or imply."""
    keywords = flat.keywords
    declared = keywords.get("type")
    if declared is not None:
        return [declared] if type(declared) is str else list(dict.fromkeys(_as_list(declared)))
    if flat.properties or flat.patterns or "additionalProperties" in flat.places:
        return ["object"]
    if "items" in flat.places or "prefixItems" in flat.places:
        return ["array"]
    values = [keywords["const"]] if "const" in keywords else keywords.get("enum", [])
    types = (
        "integer" if kind == "number" and isinstance(value, int) else kind
        for value, kind in zip(values, map(json_type, values), strict=True)
    )
    return list(dict.fromkeys(types))


def _union_branches(flat: Flat, concrete: list[str]) -> tuple[tuple[Part, ...], ...]:
    """Return the branches of anyOf, oneOf or a list of types; none if there is one type."""
    alternatives = flat.places.get("anyOf") or flat.places.get("oneOf") or ()
    if alternatives and any(_is_structural(part.schema) for part in alternatives):
        possible = [p for p in alternatives if p.schema is not False] or alternatives
        beside = flat.keywords.keys() & set(_STRUCTURE)
        shared = _as(flat, "beside", (*_STRUCTURE, "required"), _CHILDREN) if beside else ()
        return tuple(
            (p,)
            if isinstance(p.schema, Mapping) and p.schema.get("type") == "null"
            else (p, *shared)
            for p in possible
        )
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
    """Return a node's keywords, or some of them, as a branch without a config."""
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


def _is_structural(schema: Any) -> bool:
    return isinstance(schema, bool) or (
        isinstance(schema, Mapping) and not STRUCTURE_OR_REF.isdisjoint(schema)
    )


def as_url(config: NodeConfig | None, keywords: Mapping[str, Any]) -> NodeConfig | None:
    """``format: uri`` with string_exact is compared as a URL (README of ExtractBench)."""
    if config is None or keywords.get("format") != "uri":
        return config
    if any(spec.metric_id == "string_url" for spec in config.metrics):
        return config  # whoever names both means both
    specs = tuple(
        replace(s, metric_id="string_url") if s.metric_id == "string_exact" else s
        for s in config.metrics
    )
    return replace(config, metrics=specs)


def settled_union(union: Shape, branches: Sequence[Shape]) -> Shape:
    """Return a union with the types, the label and the common config of its branches."""
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
