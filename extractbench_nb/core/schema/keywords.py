"""JSON Schema keywords: detecting a schema's draft, and the allowed values of each keyword."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from reprlib import Repr
from typing import Any

from extractbench_nb.core.values.json_values import escape_pointer, json_type
from extractbench_nb.errors import SchemaError, nearest

JSON_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

#: Keywords that hold an object of schemas, a list of schemas, and one schema.
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
CHILD_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "additionalItems", "contains", "propertyNames"),
    *("not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems"),
)
#: Keywords whose values are data, in which nothing is a schema.
DATA = ("enum", "const", "default", "example", "examples", "evaluation_config")

_DRAFTS = {"draft-03": 4, "draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019}
_NEWEST = 2020
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
#: Keywords that are booleans in draft 4.
_FLAGS = (*_NUMBERS[2:4], "required")
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)
#: Keywords by the JSON type of their value, with the words of the error.
_KINDS = {
    **dict.fromkeys(MAPS, ("object", "an object of schemas")),
    **dict.fromkeys(CHILD_LISTS, ("array", "a list of schemas")),
    **dict.fromkeys(_NUMBERS, ("number", "a number")),
    **dict.fromkeys(_COUNTS, ("number", "a number that is 0 or more")),
    **dict.fromkeys(("pattern", "format", "$anchor", "$id"), ("string", "a string")),
    "enum": ("array", "a list"),
    "required": ("array", "a list of property names"),
    "uniqueItems": ("boolean", "true or false"),
    "dependentRequired": ("object", "an object of lists of property names"),
    "dependencies": ("object", "an object of schemas or lists of property names"),
}
#: Keywords that are refused, with what to write instead.
_REFUSED = {
    "$recursiveRef": "'$ref' with a pointer into this document",
    "$dynamicRef": "'$ref' with a pointer into this document",
}
_CHECKED = frozenset((*_KINDS, *_REFUSED, "type", "items"))
_LONGEST = 60
_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 4 * _LONGEST
_REPR.maxlist = _REPR.maxdict = _LONGEST


def draft_of(document: Mapping[str, Any]) -> int:
    """Return the draft that a schema follows."""
    named = document.get("$schema")
    if isinstance(named, str):
        known = (draft for name, draft in _DRAFTS.items() if f"/{name}/" in named)
        return next(known, _NEWEST)
    found = _NEWEST
    stack: list[Any] = [document]
    while stack:
        schema = stack.pop()
        if isinstance(schema, dict):
            if any(isinstance(schema.get(k), bool) for k in _NUMBERS[2:4]) or _names(schema, "id"):
                return 4
            is_tuple = isinstance(schema.get("items"), list) or "additionalItems" in schema
            if is_tuple or _names(schema, "$id"):
                found = 7
            stack.extend(sub for _, sub in subschemas(schema))
    return found


def _names(schema: Mapping[str, Any], key: str) -> bool:
    """Whether a keyword holds the name of an anchor."""
    value = schema.get(key)
    return isinstance(value, str) and value.startswith("#")


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas directly inside a schema, each with its pointer from there."""
    for key, value in schema.items():
        if key in MAPS or key == "dependencies":
            if isinstance(value, dict):
                for name, sub in value.items():
                    if key in MAPS or not isinstance(sub, list):
                        yield f"/{key}/{escape_pointer(name)}", sub
        elif isinstance(value, list) and (key in CHILD_LISTS or key == "items"):
            for index, sub in enumerate(value):
                yield f"/{key}/{index}", sub
        elif key in _SINGLE:
            yield f"/{key}", value


def check_keywords(schema: Any, pointer: str, draft: int) -> None:
    """Raise `SchemaError` for the first keyword of a schema whose value no draft allows."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise SchemaError(
            pointer, f"found {short(schema)}; expected a schema (an object, true or false)"
        )
    for key in filter(_CHECKED.__contains__, schema):
        value, at = schema[key], f"{pointer}/{key}"
        if key in _REFUSED and draft >= 2019:  # noqa: PLR2004 - a year
            raise SchemaError(at, f"found {short(value)}; expected {_REFUSED[key]}")
        if key == "type":
            _check_type(value, at)
        elif key == "items" and isinstance(value, list) and draft == _NEWEST:
            raise SchemaError(at, "found a list; expected a schema ('prefixItems' takes a list)")
        elif key in _KINDS and not (draft == 4 and type(value) is bool and key in _FLAGS):  # noqa: PLR2004
            _expect(value, *_KINDS[key], at)
    _check_patterns(schema.get("patternProperties", {}), f"{pointer}/patternProperties")
    if schema.get("allOf") == []:
        raise SchemaError(f"{pointer}/allOf", "found []; expected a list of schemas")
    required = schema.get("required")
    for index, name in enumerate(required if isinstance(required, list) else ()):
        _expect(name, "string", "the name of a property", f"{pointer}/required/{index}")


def _check_patterns(patterns: Mapping[str, Any], pointer: str) -> None:
    """Check that patterns of keys are valid; an invalid one would silently match no key."""
    for pattern in patterns:
        try:
            _compiled(pattern)
        except ValueError as error:
            raise SchemaError(f"{pointer}/{escape_pointer(pattern)}", str(error)) from None


def _check_type(value: Any, pointer: str) -> None:
    if value == []:
        raise SchemaError(pointer, "found an empty list; expected a type")
    for name in value if isinstance(value, list) else [value]:
        if not isinstance(name, str) or name not in JSON_TYPES:
            raise SchemaError(pointer, f"unknown type {short(name)}; {nearest(name, JSON_TYPES)}")


def _expect(value: Any, kind: str, what: str, pointer: str) -> None:
    negative = what.endswith("or more") and kind == json_type(value) and not value >= 0
    if json_type(value) != kind or negative:
        raise SchemaError(pointer, f"found {short(value)}; expected {what}")


def short(value: Any) -> str:
    """Write a value for an error, at most 60 characters."""
    text = _REPR.repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


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
