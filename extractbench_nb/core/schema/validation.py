"""Validation of documents with jsonschema, by the draft of their schema, with bounded work.

A pattern can backtrack exponentially and references can multiply, so keywords whose work is
unbounded are replaced, and the number of keywords applied to one document is limited.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from extractbench_nb.core.schema.subschemas import Choices, Patterns, draft_of
from extractbench_nb.core.values import all_values, equality_key, json_type
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
    """Finds what a schema does not allow in a document; ``nullable`` means what OpenAPI says."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._class = _validator_class(draft_of(document))

    def iter_errors(self, document: Any) -> Iterator[Any]:
        """Find violations, each as jsonschema tells of it."""
        from jsonschema import FormatChecker
        from referencing import Registry

        checker: Any = FormatChecker(_FORMATS)
        for name, holds in _OWN_FORMATS.items():
            checker.checkers[name] = (partial(_holds_for_text, holds), ValueError)
        # jsonschema hands its format checker to every keyword, so the work is counted there
        checker.work = _Work(_STEPS + _STEPS_PER_VALUE * sum(1 for _ in all_values(document)))
        try:
            validator = self._class(self._document, format_checker=checker, registry=Registry())
            yield from validator.iter_errors(document)
        except Exception as error:  # noqa: BLE001 - its libraries have no common base class
            problem = f"the document could not be validated: {_told(error)}"
            yield _violation(problem, validator=_NOT_VALIDATED, instance=None, validator_value=None)


def _violation(message: str, **about: Any) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message, **about)


def _told(error: Exception) -> str:
    from referencing.exceptions import Unresolvable

    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, Unresolvable):
        return f"a $ref leads nowhere: {error.ref!r}"
    return f"{type(error).__name__}: {error}"


class _TooManyStepsError(RuntimeError):
    """More steps than one document is given."""


@dataclass(slots=True)
class _Work:
    """The keywords that may still be applied to a document, and what was prepared for it."""

    left: int
    patterns: Patterns = field(default_factory=Patterns)
    enums: dict[int, Choices] = field(default_factory=dict)


# --- formats -----------------------------------------------------------------------------------

_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_URI_CHARACTERS = re.compile(r"(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-fA-F]{2})*", re.ASCII)


def _is_date_time(text: str) -> bool:
    """Whether a text is a date-time of RFC 3339; documents, and Pydantic, often lack the offset."""
    if _DATE_TIME.fullmatch(text):
        datetime.fromisoformat(text.upper())
        return True
    return False


def _is_uri(text: str, *, relative: bool = False) -> bool:
    """Whether a text is a URI of RFC 3986, or a reference to one."""
    parts = urlsplit(text)
    if not _URI_CHARACTERS.fullmatch(text) or parts.netloc.count("@") > 1:
        return False
    return bool(parts.scheme) or (relative and ":" not in parts.path.partition("/")[0])


def _holds_for_text(holds: Callable[[str], bool], value: Any) -> bool:
    return not isinstance(value, str) or holds(value)


#: Formats that jsonschema checks in every environment; others depend on what is installed.
_FORMATS = ("date", "email", "idn-email", "ipv4", "ipv6", "regex", "uuid")
#: Checks of texts; a ValueError is a no.
_OWN_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": _is_date_time,
    "time": lambda text: _is_date_time(f"1970-01-01T{text}"),
    "uri": _is_uri,
    "uri-reference": partial(_is_uri, relative=True),
}

# --- the class of a draft ----------------------------------------------------------------------

#: The package with which jsonschema checks the formats iri and iri-reference.
_SLOW_PACKAGE = "rfc3987_syntax"


@cache
def _jsonschema() -> Any:
    """Import jsonschema, without the grammars of formats that are not checked here.

    It imports a package for iri and iri-reference, if that is installed, as with JupyterLab, which
    compiles 38 grammars at once for more than a second. During the import a module stands in for it
    that imports it when it is called, so jsonschema checks what it did for everyone else.
    """
    if {"jsonschema", _SLOW_PACKAGE} & sys.modules.keys() or not find_spec(_SLOW_PACKAGE):
        return import_module("jsonschema")
    later: Any = ModuleType(_SLOW_PACKAGE)
    later.is_valid_syntax = lambda *args, **options: import_module(_SLOW_PACKAGE).is_valid_syntax(
        *args, **options
    )
    sys.modules[_SLOW_PACKAGE] = later
    try:
        return import_module("jsonschema")
    finally:
        sys.modules.pop(_SLOW_PACKAGE, None)


@cache
def _validator_class(draft: int) -> Any:
    jsonschema = _jsonschema()
    name = {4: "4", 6: "6", 7: "7", 2019: "201909", 2020: "202012"}[draft]
    base: Any = getattr(jsonschema, f"Draft{name}Validator")
    written = base.VALIDATORS
    keywords = {
        **written,
        "additionalProperties": partial(_additional, written["additionalProperties"]),
        "enum": _enum,
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    if "unevaluatedProperties" in written:
        keywords["unevaluatedProperties"] = partial(
            _without_patterns, written["unevaluatedProperties"]
        )
    cls = jsonschema.validators.extend(
        base,
        {name: partial(_limited, keyword) for name, keyword in keywords.items()},
        # a Decimal is not a JSON number
        type_checker=base.TYPE_CHECKER.redefine("number", lambda _, v: json_type(v) == "number"),
    )
    cls.evolve = _evolve
    return cls


def _evolve(self: Any, **changes: Any) -> Any:
    """Change attributes of a validator; it stays of its class whatever ``$schema`` says inside.

    jsonschema comes here on each level of a schema, also where it only looks at what is evaluated.
    """
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - _SPARE_FRAMES))
    except ValueError:  # the stack is not that deep
        cls = type(self)
        kept = {a.alias: getattr(self, a.name) for a in cls.__attrs_attrs__ if a.init}
        return cls(**{**kept, **changes})
    raise RecursionError


# --- keywords: `value` is that of the keyword in the schema ------------------------------------


def _limited(
    keyword: Keyword, validator: Any, value: Any, instance: Any, schema: Any
) -> Iterator[Any]:
    """Count the step, pass a null where the schema is nullable, and report what goes wrong."""
    work = validator.format_checker.work
    work.left -= 1
    if work.left < 0:
        raise _TooManyStepsError("it takes too many steps")
    if instance is None and schema.get("nullable") is True:
        return
    try:
        yield from keyword(validator, value, instance, schema) or ()
    except (_TooManyStepsError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - its libraries have no common base class
        problem = f"this could not be validated: {_told(error)}"
        yield _violation(problem, validator=_NOT_VALIDATED)


def _pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    patterns = validator.format_checker.work.patterns
    if isinstance(instance, str) and not patterns.search(value, instance):
        yield _violation(f"{instance!r} does not match {value!r}")


def _pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    matches = validator.format_checker.work.patterns.matches
    for pattern, subschema in value.items() if isinstance(instance, dict) else ():
        for key, part in instance.items():
            if matches(pattern, key):
                yield from validator.descend(part, subschema, path=key, schema_path=pattern)


def _additional(
    keyword: Keyword, validator: Any, value: Any, instance: Any, schema: Any
) -> Iterator[Any]:
    """Check the keys that are no properties and match no pattern, in the map's order.

    jsonschema goes through a set of keys, whose order changes from process to process.
    """
    if not isinstance(instance, dict):
        return
    matches = validator.format_checker.work.patterns.matches
    declared, patterns = schema.get("properties", ()), schema.get("patternProperties", ())
    others = {
        key: part
        for key, part in instance.items()
        if key not in declared and not any(matches(pattern, key) for pattern in patterns)
    }
    if isinstance(value, dict):
        for key, part in others.items():
            yield from validator.descend(part, value, path=key)
    else:
        yield from keyword(validator, value, others, {}) or ()


def _without_patterns(
    keyword: Keyword, validator: Any, value: Any, instance: Any, schema: Any
) -> Iterable[Any] | None:
    """Leave a keyword out where it would search for patterns without a limit."""
    if "patternProperties" in repr(schema):
        raise ValueError("it depends on patternProperties")
    return keyword(validator, value, instance, schema)


def _enum(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
    enums = validator.format_checker.work.enums
    if id(value) not in enums:
        enums[id(value)] = Choices(value)
    if instance not in enums[id(value)]:
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
