"""References and ``allOf``: from places in the document to the merged keywords of one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from extractbench_nb._json import escape_pointer, json_type, unescape_pointer
from extractbench_nb.errors import SchemaError, nearest

__all__ = ["Flat", "Part", "Resolver"]


@dataclass(frozen=True, slots=True)
class Part:
    """A subschema and where it stands."""

    schema: Any
    pointer: str


@dataclass(slots=True)
class Flat:
    """The merged keywords of one node; every child keeps the place(s) it comes from."""

    pointer: str
    keywords: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    places: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)
    ref: str | None = None


class Resolver:
    """Looks up and merges subschemas of one document."""

    def __init__(self, document: Mapping[str, Any], *, config_beside_ref: bool = True) -> None:
        self.document = document
        self.config_beside_ref = config_beside_ref
        self._reach: dict[str, frozenset[str]] = {}
        self._found: dict[str, Part] = {}
        self._flats: dict[str, Flat] = {}

    def lookup(self, ref: Any, at: str) -> Part:
        """Find the target of a ``$ref``.

        Raises
        ------
        SchemaError
            It is not a JSON Pointer into this document, or leads nowhere.
        """
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise SchemaError(
                f"{at}/$ref",
                f"found {ref!r}; expected a pointer into this document, '#/$defs/name'",
            )
        if ref not in self._found:
            value: Any = self.document
            for token in ref.split("/")[1:]:
                value = _step(value, unescape_pointer(unquote(token)), ref, at)
            self._found[ref] = Part(value, ref[1:])
        return self._found[ref]

    def flatten(self, parts: Iterable[Part], seen: frozenset[str] = frozenset()) -> Flat:
        """Merge the parts that all apply to one node, references followed."""
        parts = tuple(parts)
        if len(parts) == 1 and not seen and _is_plain_ref(parts[0].schema):
            ref = parts[0].schema["$ref"]
            if ref not in self._flats:
                self._flats[ref] = self._flatten_one(parts[0], seen)
            return self._flats[ref]
        flats = [self._flatten_one(part, seen) for part in parts]
        merged = flats[0]
        for other in flats[1:]:
            merged = _both_apply(merged, other)
        return merged

    def _flatten_one(self, part: Part, seen: frozenset[str]) -> Flat:
        schema, pointer = part.schema, part.pointer
        if isinstance(schema, bool):
            return Flat(pointer, visited={pointer})
        if not isinstance(schema, Mapping):
            raise SchemaError(
                pointer, f"found {_short(schema)}; expected a schema (an object, true or false)"
            )
        if pointer in seen:
            raise SchemaError(pointer, "refers to itself without any structure in between")
        flat = _own_keywords(schema, pointer)
        seen = seen | {pointer}
        if "$ref" in schema:
            target = self.flatten([self.lookup(schema["$ref"], pointer)], seen)
            if not self.config_beside_ref:
                flat.keywords.pop("evaluation_config", None)
            flat = _overlay(target, flat, schema["$ref"])
        if "allOf" in schema:
            flat = self._merge_all_of(flat, schema["allOf"], seen)
        return flat

    def _merge_all_of(self, flat: Flat, subschemas: Any, seen: frozenset[str]) -> Flat:
        at = f"{flat.pointer}/allOf"
        if not isinstance(subschemas, list) or not subschemas:
            raise SchemaError(at, f"found {_short(subschemas)}; expected a list of schemas")
        for index, sub in enumerate(subschemas):
            flat = _both_apply(flat, self.flatten([Part(sub, f"{at}/{index}")], seen))
        return flat

    def closes_cycle(self, visited: Iterable[str], active: frozenset[str]) -> bool:
        """Say whether a node that resolves to `visited` closes a cycle with the `active` ones.

        It does where one of them comes again. Where many definitions refer to each other, it
        already does after a few of them, since their combinations would not end.
        """
        for pointer in visited:
            if pointer in active:
                return True
            reach = self.reach(pointer)
            on_cycle = [p for p in active if p in reach and pointer in self.reach(p)]
            if len(on_cycle) >= MOST_ON_CYCLE:
                return True
        return False

    def reach(self, pointer: str) -> frozenset[str]:
        """Return the pointers that references lead to from a place, directly or not."""
        if pointer not in self._reach:
            found: set[str] = set()
            todo = [pointer]
            while todo:
                for target in self._direct(todo.pop()) - found:
                    found.add(target)
                    todo.append(target)
            self._reach[pointer] = frozenset(found)
        return self._reach[pointer]

    def _direct(self, pointer: str) -> set[str]:
        targets: set[str] = set()
        try:
            stack = [self.lookup(f"#{pointer}", pointer).schema]
        except SchemaError:
            return targets
        while stack:
            value = stack.pop()
            if isinstance(value, Mapping):
                ref = value.get("$ref")
                if isinstance(ref, str) and ref.startswith("#"):
                    targets.add(ref[1:])
                stack.extend(value.values())
            elif isinstance(value, list):
                stack.extend(value)
        return targets


#: Definitions on one cycle that are unfolded below each other before any data asks for it.
MOST_ON_CYCLE = 3
_LONGEST = 60
_CHILD_LISTS = ("anyOf", "oneOf", "prefixItems")
_CHILD_SCHEMAS = ("items", "additionalProperties")


def _own_keywords(schema: Mapping[str, Any], pointer: str) -> Flat:
    keywords = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "$defs")}
    flat = Flat(pointer, keywords, visited={pointer})
    properties = schema.get("properties", {})
    _expect(properties, "object", f"{pointer}/properties", "an object of schemas")
    for name, sub in properties.items():
        place = f"{pointer}/properties/{escape_pointer(name)}"
        flat.properties[name] = (Part(sub, place),)
    for key in _CHILD_LISTS:
        if key in schema:
            _expect(schema[key], "array", f"{pointer}/{key}", "a list of schemas")
            flat.places[key] = tuple(
                Part(sub, f"{pointer}/{key}/{i}") for i, sub in enumerate(schema[key])
            )
    for key in _CHILD_SCHEMAS:
        if key in schema:
            flat.places[key] = (Part(schema[key], f"{pointer}/{key}"),)
    required = schema.get("required", [])
    _expect(required, "array", f"{pointer}/required", "a list of property names")
    for index, name in enumerate(required):
        _expect(name, "string", f"{pointer}/required/{index}", "the name of a property")
    return flat


def _overlay(target: Flat, own: Flat, ref: str) -> Flat:
    """``$ref`` with siblings: the siblings win; properties and required add up."""
    keywords = {**target.keywords, **own.keywords}
    required = [*target.keywords.get("required", []), *own.keywords.get("required", [])]
    if required:
        keywords["required"] = list(dict.fromkeys(required))
    return Flat(
        target.pointer if len(own.keywords) == 0 else own.pointer,
        keywords,
        {**target.properties, **own.properties},
        {**target.places, **own.places},
        target.visited | own.visited,
        ref,
    )


def _both_apply(one: Flat, two: Flat) -> Flat:
    """``allOf``: types intersect, properties and required add up, the first annotation stays."""
    keywords = {**two.keywords, **one.keywords}
    for key, merge in (("type", _merge_types), ("enum", _merge_enums), ("const", _merge_consts)):
        if key in one.keywords and key in two.keywords:
            keywords[key] = merge(one.keywords[key], two.keywords[key], two.pointer)
    required = [*one.keywords.get("required", []), *two.keywords.get("required", [])]
    if required:
        keywords["required"] = list(dict.fromkeys(required))
    properties = dict(one.properties)
    for name, parts in two.properties.items():
        properties[name] = properties.get(name, ()) + parts
    places = dict(one.places)
    for key, parts in two.places.items():
        places[key] = _both_places(key, places.get(key, ()), parts)
    visited = one.visited | two.visited
    return Flat(one.pointer, keywords, properties, places, visited, one.ref or two.ref)


def _both_places(key: str, one: tuple[Part, ...], two: tuple[Part, ...]) -> tuple[Part, ...]:
    """Merge the child schemas that two parts have under one keyword."""
    if key not in _CHILD_SCHEMAS or not one:
        return two
    for parts in (one, two):
        if parts[0].schema is False:
            return parts
    schemas = [p for p in (*one, *two) if p.schema is not True]
    return tuple(schemas) or one


def _merge_types(one: Any, two: Any, pointer: str) -> Any:
    first, second = _as_list(one), _as_list(two)
    both = [t for t in first if t in second]
    if not both and {"integer", "number"} <= {*first, *second}:
        both = ["integer"]
    if not both:
        raise SchemaError(
            f"{pointer}/type", f"found {two!r} where another part of allOf says {one!r}"
        )
    return both[0] if len(both) == 1 else both


def _merge_enums(one: Any, two: Any, pointer: str) -> Any:
    both = [v for v in _as_list(one) if v in _as_list(two)]
    if not both:
        raise SchemaError(f"{pointer}/enum", "shares no value with another part of allOf")
    return both


def _merge_consts(one: Any, two: Any, pointer: str) -> Any:
    if one != two:
        raise SchemaError(f"{pointer}/const", f"found {two!r}; another part of allOf says {one!r}")
    return one


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _expect(value: Any, kind: str, pointer: str, what: str) -> None:
    if json_type(value) != kind:
        raise SchemaError(pointer, f"found {_short(value)}; expected {what}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _is_plain_ref(schema: Any) -> bool:
    return type(schema) is dict and len(schema) == 1 and isinstance(schema.get("$ref"), str)


def _step(value: Any, token: str, ref: str, at: str) -> Any:
    if isinstance(value, Mapping):
        if token in value:
            return value[token]
        hint = nearest(token, [str(k) for k in value])
        raise SchemaError(f"{at}/$ref", f"{ref!r} leads nowhere: no {token!r}; {hint}")
    if isinstance(value, list) and token.isdigit() and int(token) < len(value):
        return value[int(token)]
    raise SchemaError(f"{at}/$ref", f"{ref!r} leads nowhere: nothing at {token!r}")
