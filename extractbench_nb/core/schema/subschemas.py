"""Subschemas: read and checked one by one, their references followed, parts of ``allOf`` merged."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from reprlib import Repr
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from extractbench_nb.core.values.json_values import (
    equality_key,
    escape_pointer,
    json_type,
    unescape_pointer,
)
from extractbench_nb.errors import SchemaError, nearest

JSON_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_NEWEST = 2020
_DRAFTS = {"draft-03": 4, "draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019}

#: Keywords whose values hold schemas: an object of them, a list of them, or one.
_HOLDERS = {
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), "map"),
    **dict.fromkeys(("dependentSchemas", "dependencies"), "map"),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), "list"),
    **dict.fromkeys(("items", "additionalItems", "contains", "unevaluatedItems"), "one"),
    **dict.fromkeys(("additionalProperties", "propertyNames", "unevaluatedProperties"), "one"),
    **dict.fromkeys(("not", "if", "then", "else"), "one"),
}
CHILD_KEYWORDS = ("additionalProperties", "items", "prefixItems")
#: Keywords that say which values a node has and what is below them.
STRUCTURE = ("type", "properties", "patternProperties", *CHILD_KEYWORDS, "enum", "const")
STRUCTURE_OR_REF = frozenset({*STRUCTURE, "$ref", "anyOf", "oneOf", "allOf"})

_LIMITS = ("exclusiveMinimum", "exclusiveMaximum")
#: Keywords that are booleans in draft 4.
_FLAGS = (*_LIMITS, "required")
_SIZES = ("Length", "Items", "Properties", "Contains")
#: Keywords by the JSON type of their value, with the words of the error.
_KINDS = {
    **{key: ("object", "an object of schemas") for key, kind in _HOLDERS.items() if kind == "map"},
    **{key: ("array", "a list of schemas") for key, kind in _HOLDERS.items() if kind == "list"},
    **dict.fromkeys((*_LIMITS, "minimum", "maximum", "multipleOf"), ("number", "a number")),
    **{
        f"{end}{size}": ("number", "a number that is 0 or more")
        for end in ("min", "max")
        for size in _SIZES
    },
    **dict.fromkeys(("pattern", "format", "$anchor", "$id"), ("string", "a string")),
    "enum": ("array", "a list"),
    "required": ("array", "a list of property names"),
    "uniqueItems": ("boolean", "true or false"),
    "dependentRequired": ("object", "an object of lists of property names"),
    "dependencies": ("object", "an object of schemas or lists of property names"),
}
#: Keywords of 2019-09 and 2020-12 that are refused.
_DYNAMIC = ("$recursiveRef", "$dynamicRef")
_CHECKED = frozenset((*_KINDS, *_DYNAMIC, "type", "items"))

#: A guard against combinations of ``allOf`` that lead to ever new ones.
MAX_MERGED = 5_000
CIRCLE = "refers to itself without any structure in between"


_NOTHING: dict[str, Any] = {}


def _nothing() -> dict[str, Any]:
    """Return one empty dict for all parts, which nobody changes."""
    return _NOTHING


@dataclass(slots=True, eq=False)
class Part:
    """One subschema as it is written, or several that apply to the same node, merged.

    ``properties``, ``patterns`` and ``places`` (``items``, ``anyOf``, ...) hold the parts of each
    child. ``structure`` names the subschemas that say what is below the node: nodes of the same
    structure are unfolded alike. ``ref`` and ``all_of`` are followed and merged by
    `Subschemas.merged`, after which ``ref`` is the reference that led here. ``boolean`` is the
    value of a schema that is true or false; ``base`` is the address that references start from.
    """

    pointer: str
    base: str = ""
    keywords: Mapping[str, Any] = field(default_factory=_nothing)
    properties: Mapping[str, tuple[Part, ...]] = field(default_factory=_nothing)
    patterns: Mapping[str, tuple[Part, ...]] = field(default_factory=_nothing)
    places: dict[str, tuple[Part, ...]] = field(default_factory=_nothing)
    structure: frozenset[str] = frozenset()
    ref: Any = None
    all_of: tuple[Part, ...] = ()
    boolean: bool | None = None
    says_required: bool = False

    @property
    def is_structural(self) -> bool:
        """Whether it says something about types or children."""
        if self.boolean is not None or self.ref is not None or self.all_of:
            return True
        return not STRUCTURE_OR_REF.isdisjoint(self.keywords)

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference without keywords beside it."""
        return self.ref is not None and not (self.keywords or self.all_of)


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


class ContradictionError(SchemaError):
    """Parts that no value satisfies together; in a branch of a union, the branch is left out."""


class Subschemas:
    """The subschemas of one document, each read once; raises `SchemaError` for its faults."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.draft = draft_of(document)
        self._parts: dict[str, Part] = {}
        self._resources = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        self._targets: dict[tuple[str, str], Part] = {}
        self._referred: dict[tuple[Part, str], Part] = {}
        self._merged: dict[tuple[Part, ...], Part] = {}
        self._open: set[tuple[Part, ...]] = set()
        self._merges = 0
        self.refers = False
        self.root = self._read(document, "", "")

    def _read(self, schema: Any, pointer: str, base: str) -> Part:
        """Read a schema and all that are inside it."""
        first = Part(pointer, base)
        todo: list[tuple[Part, Any]] = [(first, schema)]
        while todo:
            part, schema = todo.pop()
            pointer = part.pointer
            self._parts[pointer] = part
            if schema is True or schema is False:
                part.boolean = schema
                continue
            check_keywords(schema, pointer, self.draft)
            if not _IDENTIFIERS.isdisjoint(schema):
                self._identify(part, schema)
            below: list[tuple[Part, Any]] = []
            inside: dict[str, Any] = {}
            for key in filter(_HOLDERS.__contains__, schema):
                value = schema[key]
                if _HOLDERS[key] == "map":
                    inside[key] = named = {}
                    for name, sub in value.items():
                        if key != "dependencies" or not isinstance(sub, list):
                            child = Part(f"{pointer}/{key}/{escape_pointer(name)}", part.base)
                            below.append((child, sub))
                            named[name] = (child,)
                elif isinstance(value, list):
                    children = [Part(f"{pointer}/{key}/{i}", part.base) for i in range(len(value))]
                    below.extend(zip(children, value, strict=True))
                    inside[key] = tuple(children)
                else:
                    child = Part(f"{pointer}/{key}", part.base)
                    # written out, true makes an object a map of anything
                    opens = value is True and key == "additionalProperties"
                    below.append((child, {} if opens else value))
                    inside[key] = (child,)
            todo.extend(reversed(below))
            part.ref = schema.get("$ref")
            self.refers = self.refers or part.ref is not None
            keywords = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "$defs")}
            part.keywords = keywords
            if "enum" in keywords:
                keywords["enum"] = Choices(keywords["enum"])
            if isinstance(keywords.get("required"), bool):  # up to draft 4; the parent reads it
                part.says_required = keywords.pop("required")
            if not inside:
                continue
            part.all_of = inside.get("allOf", ())
            part.properties = inside.get("properties", part.properties)
            part.patterns = inside.get("patternProperties", part.patterns)
            part.places = {key: inside[key] for key in _PLACE_KEYWORDS if key in inside}
            if isinstance(schema.get("items"), list):  # a tuple, before draft 2020-12
                at = f"{pointer}/additionalItems"
                part.places["prefixItems"] = inside["items"]
                part.places["items"] = inside.get("additionalItems") or (anything(at),)
            if part.properties or part.patterns or part.places:
                part.structure = frozenset([pointer])
        return first

    def _identify(self, part: Part, schema: Mapping[str, Any]) -> None:
        """Record the identifiers that a subschema declares: ``$id`` and ``$anchor``."""
        own = schema.get("id" if self.draft == 4 else "$id")  # noqa: PLR2004
        if isinstance(own, str):
            address, _, anchor = _joined(part.base, own).partition("#")
            if anchor:
                self._anchors[part.base, anchor] = part.pointer
            else:
                part.base = address
                self._resources[address] = part.pointer
        if "$anchor" in schema:
            self._anchors[part.base, schema["$anchor"]] = part.pointer

    def _target(self, part: Part) -> Part:
        """Find what a part refers to."""
        ref, at = part.ref, f"{part.pointer}/$ref"
        known = self._targets.get((part.base, ref)) if isinstance(ref, str) else None
        if known is not None:
            return known
        not_here = f"found {short(ref)}; expected a pointer into this document, '#/$defs/name'"
        if not isinstance(ref, str):
            raise SchemaError(at, not_here)
        address, fragment = urldefrag(_joined(part.base, ref))
        if ref.startswith("#"):
            address, fragment = part.base, ref[1:]
        fragment = unquote(fragment)
        pointer = self._resources.get(address)
        if fragment and not fragment.startswith("/"):
            pointer, fragment = self._anchors.get((address, fragment)), ""
        if pointer is None:
            raise SchemaError(at, not_here)
        pointer += fragment
        if pointer not in self._parts:  # where no keyword says that there is a schema
            value: Any = self.document
            for token in map(unescape_pointer, pointer.split("/")[1:]):
                value = _step(value, token, ref, at)
            self._read(value, pointer, address)
        found = self._targets[part.base, ref] = self._parts[pointer]
        return found

    def merged(self, parts: tuple[Part, ...]) -> Part:
        """Merge the parts that all apply to one node, references followed.

        Raises
        ------
        ContradictionError
            No value satisfies them all.
        """
        first = parts[0]
        if len(parts) == 1 and first.ref is None and not first.all_of:
            return first
        if parts in self._merged:
            return self._merged[parts]
        if parts in self._open:
            raise SchemaError(first.pointer, CIRCLE)
        self._open.add(parts)
        try:
            if len(parts) > 1:
                self._merges += len(parts) - 1
                if self._merges > MAX_MERGED:
                    problem = f"merges more than {MAX_MERGED:,} schemas through its allOfs"
                    raise SchemaError(first.pointer, problem)
                node, inner = self.merged((first,)), parts[1:]
            elif first.is_reference:
                node, inner = self._follow(first), ()
            else:
                node, inner = first, first.all_of
                if first.ref is not None:
                    node = _overlay(self.merged((self._target(first),)), first)
            for part in inner:
                node = _both_apply(node, self.merged((part,)))
        finally:
            self._open.discard(parts)
        self._merged[parts] = node
        return node

    def _follow(self, part: Part) -> Part:
        """Follow a chain of references; each definition is one node for each way to write it."""
        target, passed = self._target(part), {part}
        while target.is_reference:
            if target in passed:
                raise SchemaError(target.pointer, CIRCLE)
            passed.add(target)
            target = self._target(target)
        key = self.merged((target,)), part.ref
        if key not in self._referred:
            self._referred[key] = replace(key[0], ref=part.ref or "#", all_of=())
        return self._referred[key]


_IDENTIFIERS = frozenset(("$id", "id", "$anchor"))
_PLACE_KEYWORDS = (*CHILD_KEYWORDS, "anyOf", "oneOf")


def anything(pointer: str) -> Part:
    """Return the schema that a document leaves out where it allows anything."""
    return Part(pointer, boolean=True)


def _overlay(target: Part, own: Part) -> Part:
    """``$ref`` with siblings: the siblings win; properties and required add up."""
    return Part(
        own.pointer if own.keywords else target.pointer,
        "",
        {**target.keywords, **own.keywords, **_required(target, own)},
        {**target.properties, **own.properties},
        {**target.patterns, **own.patterns},
        {**target.places, **own.places},
        target.structure | own.structure,
        own.ref or "#",
    )


def _both_apply(one: Part, two: Part) -> Part:
    """``allOf``: types intersect, properties and required add up, the first annotation stays."""
    if one is two:
        return one
    keywords = {**two.keywords, **one.keywords, **_required(one, two)}
    for key, merge in _MERGED.items():
        if key in one.keywords and key in two.keywords:
            keywords[key] = merge(one.keywords[key], two.keywords[key], f"{two.pointer}/{key}")
    return Part(
        one.pointer,
        "",
        keywords,
        _added(one.properties, two.properties),
        _added(one.patterns, two.patterns),
        _places(one.places, two.places),
        one.structure | two.structure,
        one.ref or two.ref,
    )


_Places: TypeAlias = Mapping[str, tuple[Part, ...]]


def _added(one: _Places, two: _Places) -> _Places:
    both = {key: tuple(dict.fromkeys((*one[key], *two[key]))) for key in one if key in two}
    return {**one, **two, **both}


def _places(one: _Places, two: _Places) -> dict[str, tuple[Part, ...]]:
    """Join items and entries of maps; branches and positions of `two` replace those of `one`."""
    places = {**one, **two}
    for key in ("items", "additionalProperties"):
        if key in one and key in two:
            both = dict.fromkeys((*one[key], *two[key]))
            refused = tuple(part for part in both if part.boolean is False)[:1]
            places[key] = refused or tuple(p for p in both if p.boolean is None) or one[key]
    return places


def _required(one: Part, two: Part) -> dict[str, list[str]]:
    names = [*one.keywords.get("required", ()), *two.keywords.get("required", ())]
    return {"required": list(dict.fromkeys(names))} if names else {}


def _merge_types(one: Any, two: Any, at: str) -> Any:
    first, second = as_list(one), as_list(two)
    both = [
        name if name in second else "integer"
        for name in first
        if name in second or {name, *second} >= {"integer", "number"}
    ]
    if not both:
        problem = f"found {short(two)} where another part of allOf says {short(one)}"
        raise ContradictionError(at, problem)
    both = list(dict.fromkeys(both))
    return both[0] if len(both) == 1 else both


def _merge_enums(one: Any, two: Any, at: str) -> Any:
    both = Choices(value for value in one if value in two)
    if not both:
        raise ContradictionError(at, "shares no value with another part of allOf")
    return both


def _merge_consts(one: Any, two: Any, at: str) -> Any:
    if equality_key(one) != equality_key(two):
        problem = f"found {short(two)}; another part of allOf says {short(one)}"
        raise ContradictionError(at, problem)
    return one


_MERGED: Mapping[str, Callable[[Any, Any, str], Any]] = {
    "type": _merge_types,
    "enum": _merge_enums,
    "const": _merge_consts,
}


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and another value as a list of one."""
    return value if isinstance(value, list) else [value]


def _joined(base: str, ref: str) -> str:
    """Resolve a reference against a base address; an invalid one is returned as it is."""
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref.replace("[", "%5B")


def _step(value: Any, token: str, ref: str, at: str) -> Any:
    if isinstance(value, Mapping):
        if token in value:
            return value[token]
        hint = nearest(token, [str(k) for k in value])
        raise SchemaError(at, f"{ref!r} leads nowhere: no {token!r}; {hint}")
    if isinstance(value, list) and token.isdigit() and int(token) < len(value):
        return value[int(token)]
    raise SchemaError(at, f"{ref!r} leads nowhere: nothing at {token!r}")


# --- drafts and the values of keywords --------------------------------------------------------


def draft_of(document: Mapping[str, Any]) -> int:
    """Return the draft that a schema names in ``$schema``, else the one that it is written in."""
    named = document.get("$schema")
    if isinstance(named, str):
        return next((d for name, d in _DRAFTS.items() if f"/{name}/" in named), _NEWEST)
    found = _NEWEST
    stack: list[Any] = [document]
    while stack:
        schema = stack.pop()
        if not isinstance(schema, dict):
            continue
        for key in filter(_TELLING.__contains__, schema):
            value = schema[key]
            is_anchor = isinstance(value, str) and value.startswith("#")
            if (key in _LIMITS and isinstance(value, bool)) or (key == "id" and is_anchor):
                return 4
            is_tuple = key == "additionalItems" or (key == "items" and isinstance(value, list))
            if is_tuple or (key == "$id" and is_anchor):
                found = 7
        stack.extend(inside(schema))
    return found


def inside(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what stands where there should be a schema, directly inside a schema."""
    for key in filter(_HOLDERS.__contains__, schema):
        value = schema[key]
        is_map = _HOLDERS[key] == "map" and isinstance(value, dict)
        yield from value.values() if is_map else as_list(value)


_TELLING = frozenset((*_LIMITS, "id", "$id", "items", "additionalItems"))


def check_keywords(schema: Any, pointer: str, draft: int) -> None:
    """Raise `SchemaError` for the first keyword of a schema whose value no draft allows."""
    if not isinstance(schema, dict):
        problem = f"found {short(schema)}; expected a schema (an object, true or false)"
        raise SchemaError(pointer, problem)
    for key in filter(_CHECKED.__contains__, schema):
        value, at = schema[key], f"{pointer}/{key}"
        if key == "type":
            if type(value) is not str or value not in JSON_TYPES:
                _check_types(value, at)
        elif key in _DYNAMIC:
            if draft >= 2019:  # noqa: PLR2004 - a year
                problem = f"found {short(value)}; expected '$ref' with a pointer into this document"
                raise SchemaError(at, problem)
        elif key == "items":
            if isinstance(value, list) and draft == _NEWEST:
                problem = "found a list; expected a schema ('prefixItems' takes a list)"
                raise SchemaError(at, problem)
        elif draft != 4 or type(value) is not bool or key not in _FLAGS:  # noqa: PLR2004
            kind, what = _KINDS[key]
            if kind != "object" or type(value) is not dict:
                _expect(value, kind, what, at)
            if key == "patternProperties":
                for pattern in value:
                    try:
                        _compiled(pattern)
                    except ValueError as error:  # it would silently match no key
                        raise SchemaError(f"{at}/{escape_pointer(pattern)}", str(error)) from None
            elif key == "required":
                for index, name in enumerate(value):
                    _expect(name, "string", "the name of a property", f"{at}/{index}")
            elif key == "allOf" and not value:
                raise SchemaError(at, "found []; expected a list of schemas")


def _check_types(value: Any, at: str) -> None:
    if value == []:
        raise SchemaError(at, "found an empty list; expected a type")
    for name in as_list(value):
        if not isinstance(name, str) or name not in JSON_TYPES:
            raise SchemaError(at, f"unknown type {short(name)}; {nearest(name, JSON_TYPES)}")


def _expect(value: Any, kind: str, what: str, at: str) -> None:
    negative = what.endswith("or more") and kind == json_type(value) and not value >= 0
    if json_type(value) != kind or negative:
        raise SchemaError(at, f"found {short(value)}; expected {what}")


_LONGEST = 60
_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 4 * _LONGEST
_REPR.maxlist = _REPR.maxdict = _LONGEST


def short(value: Any) -> str:
    """Write a value for an error, at most 60 characters."""
    text = _REPR.repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# --- patterns ---------------------------------------------------------------------------------

#: Seconds of processor time for one search. Patterns that do not backtrack need microseconds.
_SECONDS = 0.05
#: A pattern that took longer once is tried on texts of at most so many characters.
_SHORT = 16


class Patterns:
    """Searches texts for patterns; a pattern that is invalid or takes too long is given up.

    An instance remembers such patterns, so that they cost their time once and not for every text.
    """

    def __init__(self) -> None:
        self._longest: dict[str, int] = {}

    def search(self, pattern: str, text: str) -> bool:
        """Say whether a pattern occurs in a text."""
        if len(text) > self._longest.get(pattern, len(text)):
            raise ValueError(f"pattern {pattern[:60]!r} was given up")
        try:
            return _compiled(pattern).search(text, timeout=_SECONDS) is not None
        except TimeoutError:
            self._longest[pattern] = _SHORT
            raise ValueError(f"pattern {pattern[:60]!r} takes too long") from None
        except ValueError:
            self._longest[pattern] = -1
            raise

    def matches(self, pattern: str, text: str) -> bool:
        """Say whether a pattern occurs in a text; a pattern that is given up does not."""
        try:
            return self.search(pattern, text)
        except ValueError:
            return False


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Any:
    import regex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # future changes of the regex syntax
        try:
            return regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            raise ValueError(f"pattern {pattern[:60]!r} cannot be read: {error}") from None
