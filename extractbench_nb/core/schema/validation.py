"""Validation of documents with jsonschema, by the draft of their schema, with bounded work.

A pattern can backtrack exponentially and references can multiply, so keywords whose work is
unbounded are replaced, and the number of keywords applied to one document is limited.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from ipaddress import IPv6Address
from types import ModuleType
from typing import Any

from extractbench_nb.core.schema.subschemas import Patterns, draft_of
from extractbench_nb.core.values.json_values import count_values, equality_key, json_type
from extractbench_nb.support.foreign_values import as_written

#: Keywords that are applied to one document at most: so many, and more for each of its values.
#: A gold document of ExtractBench takes up to 5,200.
_STEPS, _STEPS_PER_VALUE = 40_000, 15
#: Frames that must be left below Python's recursion limit. A RecursionError inside `rpds`, which
#: jsonschema resolves references with, is not an exception but a panic.
_SPARE_FRAMES = 100
#: Values of an ``enum`` that a message names.
_MOST_NAMED = 200
_NOT_VALIDATED = "not_validated"
Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


class Validation:
    """Finds what a schema does not allow in a document; `formats` says whether to check them.

    OpenAPI's ``nullable: true`` is taken as what it means.
    """

    def __init__(self, document: Mapping[str, Any], *, formats: bool = True) -> None:
        self._document = document
        self._formats = formats
        self._class = _validator_class(draft_of(document))

    def iter_errors(self, document: Any) -> Iterator[Any]:
        """Find violations."""
        from jsonschema import FormatChecker
        from referencing import Registry

        checker: Any = FormatChecker(_FORMATS if self._formats else ())
        if self._formats:
            for name, check in _OWN_FORMATS.items():
                checker.checkers[name] = (partial(_holds_for_text, check), ValueError)
        # jsonschema hands its format checker to every keyword, so the work is counted there
        checker.work = _Work(_STEPS + _STEPS_PER_VALUE * count_values(document))
        try:
            validator = self._class(self._document, format_checker=checker, registry=Registry())
            yield from validator.iter_errors(document)
        except Exception as error:  # noqa: BLE001 - its libraries have no common base class
            problem = f"the document could not be validated: {_told(error)}"
            yield _violation(problem, validator=_NOT_VALIDATED, instance=None, validator_value=None)


_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_CHARACTER = r"(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})"
_URI_REFERENCE = re.compile(
    rf"(?P<scheme>[a-z][a-z0-9+.-]*:)?"
    rf"(?://(?:(?:(?!@){_CHARACTER})*@)?(?:\[(?P<ip>[^]]*)\]|(?:(?![:@]){_CHARACTER})*)(?::\d*)?"
    rf"(?=[/?#]|\Z)|(?!//))(?P<path>(?:{_CHARACTER}|/)*)"
    rf"(?:\?(?:{_CHARACTER}|[/?])*)?(?:\#(?:{_CHARACTER}|[/?])*)?",
    re.ASCII | re.IGNORECASE,
)


_IP_FUTURE = re.compile(r"[Vv][0-9A-Fa-f]+\.[\w.~!$&'()*+,;=:-]+", re.ASCII)


def _is_date_time(text: str) -> bool:
    """Whether a text is a date-time of RFC 3339; documents, and Pydantic, often lack the offset."""
    if _DATE_TIME.fullmatch(text):
        datetime.fromisoformat(text.upper())
        return True
    return False


def _is_uri(text: str, *, relative: bool = False) -> bool:
    """Whether a text is a URI of RFC 3986, or a reference to one."""
    found = _URI_REFERENCE.fullmatch(text)
    if not found:
        return False
    if found["ip"] is not None and not _IP_FUTURE.fullmatch(found["ip"]):
        IPv6Address(found["ip"])
    return bool(found["scheme"]) or (relative and ":" not in found["path"].partition("/")[0])


#: Formats that jsonschema checks in every environment; others depend on what is installed.
_FORMATS = ("date", "email", "idn-email", "ipv4", "ipv6", "regex", "uuid")
#: Checks of texts; a ValueError is a no.
_OWN_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": _is_date_time,
    "time": lambda text: _is_date_time(f"1970-01-01T{text}"),
    "uri": _is_uri,
    "uri-reference": partial(_is_uri, relative=True),
}


def _holds_for_text(check: Callable[[str], bool], value: Any) -> bool:
    return not isinstance(value, str) or check(value)


def _violation(message: str, **about: Any) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message, **about)


class _Work:
    """What validating one document has taken so far."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most
        self.patterns = Patterns()
        self.enums: dict[int, set[Any]] = {}

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooManyStepsError(f"it takes more than {self.most:,} steps")


class _TooManyStepsError(RuntimeError):
    """More steps than one document is given."""


#: The package with which jsonschema checks the formats iri and iri-reference.
_SLOW_PACKAGE = "rfc3987_syntax"


@cache
def _jsonschema() -> Any:
    """Import jsonschema, without the grammars of formats that are not checked here.

    Where the package for iri and iri-reference is installed, as JupyterLab does, jsonschema imports
    it, and the package compiles 38 grammars at once, which takes more than a second. A module that
    stands in for it during the import has the one function that jsonschema takes from it; that
    imports the package when it is called, so jsonschema checks what it did for everyone else.
    """
    if not {"jsonschema", _SLOW_PACKAGE} & sys.modules.keys() and find_spec(_SLOW_PACKAGE):
        later: Any = ModuleType(_SLOW_PACKAGE)
        later.is_valid_syntax = lambda *args, **options: import_module(
            _SLOW_PACKAGE
        ).is_valid_syntax(*args, **options)
        sys.modules[_SLOW_PACKAGE] = later
        try:
            return import_module("jsonschema")
        finally:
            sys.modules.pop(_SLOW_PACKAGE, None)
    return import_module("jsonschema")


@cache
def _validator_class(draft: int) -> Any:
    jsonschema = _jsonschema()
    base: Any = {
        4: jsonschema.Draft4Validator,
        6: jsonschema.Draft6Validator,
        7: jsonschema.Draft7Validator,
        2019: jsonschema.Draft201909Validator,
        2020: jsonschema.Draft202012Validator,
    }[draft]
    replaced = {
        "additionalProperties": _additional(base.VALIDATORS["additionalProperties"]),
        "enum": _enum,
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    for name in {"unevaluatedProperties"} & base.VALIDATORS.keys():
        replaced[name] = _without_patterns(base.VALIDATORS[name])
    keywords = {name: _limited(call) for name, call in {**base.VALIDATORS, **replaced}.items()}
    extend = jsonschema.validators.extend
    types = base.TYPE_CHECKER.redefine("number", lambda _, value: json_type(value) == "number")
    cls = extend(base, keywords, type_checker=types)  # a Decimal is not a JSON number
    cls.evolve = _evolve
    return cls


def _evolve(self: Any, **changes: Any) -> Any:
    """Change attributes of a validator; it stays of its class whatever ``$schema`` says inside.

    jsonschema comes here on each level of a schema, also where it only looks at what is evaluated.
    """
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - _SPARE_FRAMES))
    except ValueError:  # the stack is not that deep
        pass
    else:
        raise RecursionError
    cls = type(self)
    kept = {a.alias: getattr(self, a.name) for a in cls.__attrs_attrs__ if a.init}
    return cls(**{**kept, **changes})


def _limited(keyword: Keyword) -> Keyword:
    """Count the step, pass a null where the schema is nullable, and report what goes wrong."""

    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        validator.format_checker.work.step()
        if instance is None and schema.get("nullable") is True:
            return
        try:
            yield from keyword(validator, value, instance, schema) or ()
        except (_TooManyStepsError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - its libraries have no common base class
            problem = f"this could not be validated: {_told(error)}"
            yield _violation(problem, validator=_NOT_VALIDATED)

    return run


def _told(error: Exception) -> str:
    from referencing.exceptions import Unresolvable

    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, Unresolvable):
        return f"a $ref leads nowhere: {error.ref!r}"
    return f"{type(error).__name__}: {error}"


def _pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    patterns = validator.format_checker.work.patterns
    if isinstance(instance, str) and not patterns.search(value, instance):
        yield _violation(f"{instance!r} does not match {value!r}")


def _pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        patterns = validator.format_checker.work.patterns
        for pattern, subschema in value.items():
            for key, part in instance.items():
                if patterns.matches(pattern, key):
                    yield from validator.descend(part, subschema, path=key, schema_path=pattern)


def _additional(keyword: Keyword) -> Keyword:
    """Hand over only those keys that no pattern matches.

    Values of a map are checked in the map's order: jsonschema goes through a set of keys, whose
    order changes from process to process.
    """

    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Any] | None:
        known = schema.get("patternProperties")
        if known and isinstance(instance, dict):
            matches = validator.format_checker.work.patterns.matches
            instance = {
                key: part
                for key, part in instance.items()
                if not any(matches(pattern, key) for pattern in known)
            }
            schema = {"properties": schema.get("properties", {})}
        if isinstance(value, dict) and isinstance(instance, dict):
            declared = schema.get("properties", {})
            return (
                error
                for key, part in instance.items()
                if key not in declared
                for error in validator.descend(part, value, path=key)
            )
        return keyword(validator, value, instance, schema)

    return run


def _without_patterns(keyword: Keyword) -> Keyword:
    """Leave a keyword out where it would search for patterns without a limit."""

    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Any] | None:
        if "patternProperties" in repr(schema):
            raise ValueError("it depends on patternProperties")
        return keyword(validator, value, instance, schema)

    return run


def _enum(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    known = validator.format_checker.work.enums
    if id(value) not in known:
        known[id(value)] = set(map(equality_key, value))
    if equality_key(instance) not in known[id(value)]:
        yield _violation(f"{instance!r} is not one of {value[:_MOST_NAMED]!r}")


def _multiple_of(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Divide decimals as written: in binary, 19.99 is not a multiple of 0.01."""
    if validator.is_type(instance, "number") and as_written(instance) % as_written(value):
        yield _violation(f"{instance!r} is not a multiple of {value!r}")


def _unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if value and isinstance(instance, list):
        keys = list(map(equality_key, instance))
        if len(set(keys)) < len(keys):
            yield _violation(f"{instance!r} has non-unique elements")
