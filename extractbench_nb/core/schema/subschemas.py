"""Subschemas: read and checked one by one, their references followed, parts of ``allOf`` merged."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from reprlib import Repr
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from extractbench_nb.core.values import (
    equality_key,
    escape_pointer,
    json_type,
    unescape_pointer,
)
from extractbench_nb.errors import SchemaError, nearest
from extractbench_nb.support.wording import cut

JSON_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
#: Keywords whose values hold schemas: an object of them, a list of them, or one.
_MAPS = {"properties", "patternProperties", "$defs", "definitions"}
_MAPS |= {"dependentSchemas", "dependencies"}
_LISTS = {"anyOf", "oneOf", "allOf", "prefixItems"}
_HOLDERS = _MAPS | _LISTS | {"items", "additionalItems", "unevaluatedItems", "contains", "not"}
_HOLDERS |= {"additionalProperties", "unevaluatedProperties", "propertyNames", "if", "then", "else"}
#: Keywords of what is below a node.
_CHILDREN = ("properties", "patternProperties", "additionalProperties", "items", "prefixItems")
_INSIDE = (*_CHILDREN, "anyOf", "oneOf")
#: Keywords that say which values a node has and what is below them.
STRUCTURE = ("type", *_CHILDREN, "enum", "const")
STRUCTURE_OR_REF = frozenset({*STRUCTURE, "$ref", "anyOf", "oneOf", "allOf"})

#: A guard against combinations of ``allOf`` that lead to ever new ones.
MAX_MERGED = 5_000
CIRCLE = "refers to itself without any structure in between"

Parts: TypeAlias = "tuple[Part, ...]"


@dataclass(slots=True, eq=False)
class Part:
    """One subschema as it is written, or several that apply to the same node, merged.

    ``inside`` holds the parts of each child, by keyword and by name or index (None where the
    keyword has one schema). ``structure`` names the subschemas that say what is below the node:
    nodes of the same structure are unfolded alike. ``ref`` and ``all_of`` are followed and merged
    by `Subschemas.merged`, after which ``ref`` is the reference that led here. ``boolean`` is the
    value of a schema that is true or false; ``base`` is the address that references start from.
    """

    pointer: str
    base: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    inside: Mapping[str, Mapping[Any, Parts]] = field(default_factory=dict)
    structure: frozenset[str] = frozenset()
    ref: Any = None
    all_of: Parts = ()
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
        self.refers = False
        self._parts: dict[str, Part] = {}  # by pointer
        self._pointers = {("", ""): ""}  # by address and anchor
        self._targets: dict[tuple[str, str], Part] = {}
        self._referred: dict[tuple[Part, str], Part] = {}
        self._merged: dict[Parts, Part | None] = {}
        self._merges = 0
        self.root = self._read(document, "", "")

    def _read(self, schema: Any, pointer: str, base: str) -> Part:
        """Read a schema and all that are inside it."""
        first = Part(pointer, base)
        todo: list[tuple[Part, Any]] = [(first, schema)]
        while todo:
            part, schema = todo.pop()
            self._parts[part.pointer] = part
            if schema is True or schema is False:
                part.boolean = schema
                continue
            check_keywords(schema, part.pointer, self.draft)
            if not _IDENTIFIERS.isdisjoint(schema):
                self._identify(part, schema)
            part.ref = schema.get("$ref")
            self.refers = self.refers or part.ref is not None
            keywords = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "$defs")}
            part.keywords = keywords
            if "enum" in keywords:
                keywords["enum"] = Choices(keywords["enum"])
            if isinstance(keywords.get("required"), bool):  # up to draft 4; the parent reads it
                part.says_required = keywords.pop("required")
            if _HOLDERS.isdisjoint(schema):
                continue
            below: list[tuple[Part, Any]] = []
            inside: dict[str, dict[Any, Parts]] = {k: {} for k in schema if k in _HOLDERS}
            for keyword, key, inner in schemas_in(schema):
                at = f"{part.pointer}/{keyword}"
                child = Part(at if key is None else f"{at}/{escape_pointer(str(key))}", part.base)
                inside[keyword][key] = (child,)
                # written out, true makes an object a map of anything
                opens = inner is True and keyword == "additionalProperties"
                below.append((child, {} if opens else inner))
            todo.extend(reversed(below))
            part.all_of = tuple(branch for (branch,) in inside.get("allOf", {}).values())
            if isinstance(schema.get("items"), list):  # a tuple, before draft 2020-12
                inside["prefixItems"] = inside["items"]
                rest = Part(f"{part.pointer}/additionalItems", boolean=True)
                inside["items"] = inside.get("additionalItems") or {None: (rest,)}
            part.inside = {
                k: inside[k] for k in _INSIDE if k in inside and (inside[k] or k not in _MAPS)
            }
            if part.inside:
                part.structure = frozenset([part.pointer])
        return first

    def _identify(self, part: Part, schema: Mapping[str, Any]) -> None:
        """Record the identifiers that a subschema declares: ``$id`` and ``$anchor``."""
        own = schema.get("id" if self.draft == 4 else "$id")  # noqa: PLR2004
        if isinstance(own, str):
            address, _, anchor = _absolute(part.base, own).partition("#")
            if not anchor:
                part.base = address
            self._pointers[part.base, anchor] = part.pointer
        if schema.get("$anchor"):
            self._pointers[part.base, schema["$anchor"]] = part.pointer

    def _target(self, part: Part) -> Part:
        """Find what a part refers to."""
        ref, at = part.ref, f"{part.pointer}/$ref"
        if isinstance(ref, str) and (part.base, ref) in self._targets:
            return self._targets[part.base, ref]
        not_here = f"found {short(ref)}; expected a pointer into this document, '#/$defs/name'"
        if not isinstance(ref, str):
            raise SchemaError(at, not_here)
        address, fragment = urldefrag(_absolute(part.base, ref))
        if ref.startswith("#"):
            address, fragment = part.base, ref[1:]
        fragment = unquote(fragment)
        anchor = "" if fragment.startswith("/") else fragment
        if (address, anchor) not in self._pointers:
            raise SchemaError(at, not_here)
        pointer = self._pointers[address, anchor] + fragment.removeprefix(anchor)
        if pointer not in self._parts:  # where no keyword says that there is a schema
            value: Any = self.document
            for token in map(unescape_pointer, pointer.split("/")[1:]):
                if isinstance(value, Mapping):
                    if token not in value:
                        hint = nearest(token, [str(key) for key in value])
                        raise SchemaError(at, f"{ref!r} leads nowhere: no {token!r}; {hint}")
                    value = value[token]
                elif isinstance(value, list) and token.isdigit() and int(token) < len(value):
                    value = value[int(token)]
                else:
                    raise SchemaError(at, f"{ref!r} leads nowhere: nothing at {token!r}")
            self._read(value, pointer, address)
        target = self._targets[part.base, ref] = self._parts[pointer]
        return target

    def merged(self, parts: Parts) -> Part:
        """Merge the parts that all apply to one node, references followed.

        Raises
        ------
        ContradictionError
            No value satisfies them all.
        """
        first, others = parts[0], parts[1:]
        if not others and first.ref is None and not first.all_of:
            return first
        if parts in self._merged:
            known = self._merged[parts]
            if known is None:
                raise SchemaError(first.pointer, CIRCLE)
            return known
        self._merged[parts] = None  # as long as it is being merged
        try:
            if others:
                self._merges += len(others)
                if self._merges > MAX_MERGED:
                    problem = f"merges more than {MAX_MERGED:,} schemas through its allOfs"
                    raise SchemaError(first.pointer, problem)
                node = self.merged((first,))
            else:
                node, others = first, first.all_of
                if first.ref is not None:
                    definition, passed = self._target(first), {first}
                    while definition.is_reference and definition not in passed:
                        passed.add(definition)
                        definition = self._target(definition)
                    node = self.merged((definition,))
                    if not first.is_reference:
                        node = _combined(node, first, overrides=True)
                    else:  # a definition is one node for each way to write the reference
                        named = replace(node, ref=first.ref or "#")
                        node = self._referred.setdefault((node, first.ref), named)
            for part in others:
                node = _combined(node, self.merged((part,)))
        except SchemaError:
            del self._merged[parts]
            raise
        self._merged[parts] = node
        return node


_IDENTIFIERS = frozenset(("$id", "id", "$anchor"))


def _absolute(base: str, ref: str) -> str:
    """Resolve a reference against a base address; an invalid one is returned as it is."""
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref.replace("[", "%5B")


# --- merging ----------------------------------------------------------------------------------


def _combined(first: Part, second: Part, *, overrides: bool = False) -> Part:
    """Merge two parts that both apply to a node; properties and required add up.

    Of two parts of ``allOf``, types intersect, the annotations of the first stay, and children of
    the same name are merged; branches and positions are those of the second. With `overrides`, the
    second stands beside a ``$ref`` to the first, and what it says replaces that.
    """
    if first is second:
        return first
    keywords = {**second.keywords, **first.keywords}
    inside = {**first.inside, **second.inside}
    both = first.inside.keys() & second.inside.keys()
    if overrides:
        keywords = {**first.keywords, **second.keywords}
        inside |= {key: {**first.inside[key], **second.inside[key]} for key in both & _MAPS}
        pointer, ref = second.pointer if second.keywords else first.pointer, second.ref or "#"
    else:
        for key in ("type", "enum", "const"):
            if key in first.keywords and key in second.keywords:
                at = f"{second.pointer}/{key}"
                keywords[key] = _agreed(key, first.keywords[key], second.keywords[key], at)
        for key in both - _LISTS:
            children = {**first.inside[key], **second.inside[key]}
            for name in first.inside[key].keys() & second.inside[key].keys():
                parts = (*first.inside[key][name], *second.inside[key][name])
                children[name] = _distinct(key, parts)
            inside[key] = children
        pointer, ref = first.pointer, first.ref or second.ref
    names = [*first.keywords.get("required", ()), *second.keywords.get("required", ())]
    if names:
        keywords["required"] = list(dict.fromkeys(names))
    return Part(pointer, "", keywords, inside, first.structure | second.structure, ref)


def _distinct(keyword: str, parts: Parts) -> Parts:
    """Return each part once; of items and entries of maps, without those that say nothing."""
    parts = tuple(dict.fromkeys(parts))
    if keyword in _MAPS:
        return parts
    refused = tuple(part for part in parts if part.boolean is False)
    return refused[:1] or tuple(part for part in parts if part.boolean is None) or parts[:1]


def _agreed(keyword: str, first: Any, second: Any, at: str) -> Any:
    """Return the types or values that two parts of allOf both allow."""
    agreed: list[Any]
    if keyword == "enum":
        agreed = Choices(value for value in first if value in second)
    elif keyword == "const":
        agreed = [first] if equality_key(first) == equality_key(second) else []
    else:
        one, two = (names if isinstance(names, list) else [names] for names in (first, second))
        common = (
            name if name in two else "integer"
            for name in one
            if name in two or {name, *two} >= {"integer", "number"}
        )
        agreed = list(dict.fromkeys(common))
    if agreed:
        return agreed if keyword == "enum" or len(agreed) > 1 else agreed[0]
    if keyword == "enum":
        raise ContradictionError(at, "shares no value with another part of allOf")
    link = "; another" if keyword == "const" else " where another"
    raise ContradictionError(at, f"found {short(second)}{link} part of allOf says {short(first)}")


# --- drafts and the values of keywords --------------------------------------------------------

_NEWEST = 2020
_DRAFTS = {"draft-03": 4, "draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019}
_LIMITS = ("exclusiveMinimum", "exclusiveMaximum")
#: Keywords that are booleans in draft 4.
_FLAGS = (*_LIMITS, "required")
_SIZED = ("Length", "Items", "Properties", "Contains")
_SIZES = [f"{end}{size}" for end in ("min", "max") for size in _SIZED]
#: Keywords by the JSON type of their value, with the words of the error.
_EXPECTED = {
    **dict.fromkeys(_MAPS, ("object", "an object of schemas")),
    **dict.fromkeys(_LISTS, ("array", "a list of schemas")),
    **dict.fromkeys((*_LIMITS, "minimum", "maximum", "multipleOf"), ("number", "a number")),
    **dict.fromkeys(_SIZES, ("number", "a number that is 0 or more")),
    **dict.fromkeys(("pattern", "format", "$anchor", "$id"), ("string", "a string")),
    "enum": ("array", "a list"),
    "required": ("array", "a list of property names"),
    "uniqueItems": ("boolean", "true or false"),
    "dependentRequired": ("object", "an object of lists of property names"),
    "dependencies": ("object", "an object of schemas or lists of property names"),
}
#: Keywords of 2019-09 and 2020-12 that are refused.
_DYNAMIC = ("$recursiveRef", "$dynamicRef")
_CHECKED = frozenset((*_EXPECTED, *_DYNAMIC, "type", "items"))
#: The keywords that say which values a schema allows.
KEYWORDS = _HOLDERS | _CHECKED
_TELLING = frozenset((*_LIMITS, "id", "$id", "items", "additionalItems"))


def schemas_in(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the schemas directly inside a schema: keyword, name or index, and schema.

    The name is None if the keyword has one schema.
    """
    for keyword in filter(_HOLDERS.__contains__, schema):
        value = schema[keyword]
        pairs: Iterable[tuple[Any, Any]] = ((None, value),)
        if isinstance(value, list):
            pairs = enumerate(value)
        elif keyword in _MAPS and isinstance(value, dict):
            pairs = value.items()
        for key, inner in pairs:
            if keyword != "dependencies" or not isinstance(inner, list):
                yield keyword, key, inner


def all_schemas(document: Any) -> Iterator[dict[str, Any]]:
    """Yield all schemas of a document that are objects."""
    todo = [document]
    while todo:
        schema = todo.pop()
        if isinstance(schema, dict):
            yield schema
            todo.extend(inner for _, _, inner in schemas_in(schema))


def draft_of(document: Mapping[str, Any]) -> int:
    """Return the draft that a schema names in ``$schema``, else the one that it is written in."""
    named = document.get("$schema")
    if isinstance(named, str):
        return next((d for name, d in _DRAFTS.items() if f"/{name}/" in named), _NEWEST)
    draft = _NEWEST
    for schema in all_schemas(document):
        for key in filter(_TELLING.__contains__, schema):
            value = schema[key]
            is_anchor = isinstance(value, str) and value.startswith("#")
            if (key in _LIMITS and isinstance(value, bool)) or (key == "id" and is_anchor):
                return 4
            is_tuple = key == "additionalItems" or (key == "items" and isinstance(value, list))
            if is_tuple or (key == "$id" and is_anchor):
                draft = 7
    return draft


def check_keywords(schema: Any, pointer: str, draft: int) -> None:
    """Raise `SchemaError` for the first keyword of a schema whose value no draft allows."""
    if not isinstance(schema, dict):
        problem = f"found {short(schema)}; expected a schema (an object, true or false)"
        raise SchemaError(pointer, problem)
    for key in filter(_CHECKED.__contains__, schema):
        value, at = schema[key], f"{pointer}/{key}"
        if key == "type":
            for name in value if isinstance(value, list) and value else [value]:
                if type(name) is not str or name not in JSON_TYPES:
                    hint = nearest(name, JSON_TYPES)
                    raise SchemaError(at, f"unknown type {short(name)}; {hint}")
            continue
        if draft == 4 and key in _FLAGS and type(value) is bool:  # noqa: PLR2004
            continue
        if key in _EXPECTED:
            kind, expected = _EXPECTED[key]
            is_valid = json_type(value) == kind
            if not is_valid or (expected.endswith("or more") and not value >= 0):
                raise SchemaError(at, f"found {short(value)}; expected {expected}")
        if key == "required":
            for index, name in enumerate(value):
                if not isinstance(name, str):
                    problem = f"found {short(name)}; expected the name of a property"
                    raise SchemaError(f"{at}/{index}", problem)
        elif key == "patternProperties":
            for pattern in value:
                try:
                    _compiled(pattern)
                except ValueError as error:  # it would silently match no key
                    raise SchemaError(f"{at}/{escape_pointer(pattern)}", str(error)) from None
        elif key == "allOf" and not value:
            raise SchemaError(at, "found []; expected a list of schemas")
        elif key == "items" and isinstance(value, list) and draft == _NEWEST:
            expected = "a schema ('prefixItems' takes a list)"
            raise SchemaError(at, f"found a list; expected {expected}")
        elif key in _DYNAMIC and draft >= 2019:  # noqa: PLR2004 - a year
            problem = f"found {short(value)}; expected '$ref' with a pointer into this document"
            raise SchemaError(at, problem)


_LONGEST = 60
_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 4 * _LONGEST
_REPR.maxlist = _REPR.maxdict = _LONGEST


def short(value: Any) -> str:
    """Write a value for an error, at most 60 characters."""
    return cut(_REPR.repr(value), _LONGEST)


# --- patterns ---------------------------------------------------------------------------------

#: Seconds of processor time for one search. Patterns that do not backtrack need microseconds.
_SECONDS = 0.05
#: A pattern that took longer once is tried on texts of at most so many characters.
_SHORT = 16


@dataclass(slots=True)
class Patterns:
    """Searches texts for patterns; a pattern that is invalid or takes too long is given up.

    An instance remembers such patterns, so that they cost their time once and not for every text.
    """

    _longest: dict[str, int] = field(default_factory=dict)

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
