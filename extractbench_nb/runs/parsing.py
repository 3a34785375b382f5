"""Strict parsing of a model's answer: the value, or the failure by name.

An output is valid, as the paper defines it (section 4), if it parses and conforms to the schema. A
byte-order mark and a code fence are removed before parsing; whether the text is valid as received
is reported separately.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from extractbench_nb.core.schema import Schema, Validation, parse_schema
from extractbench_nb.core.values import json_type, read_document
from extractbench_nb.support.model_json import fault_of, unwrapped

#: How an output can fail, in the order of the checks. The paper (Table 7) names empty_response,
#: trailing_comma, page_limit, truncated_json and context_length.
FAILURES = (
    *("none", "page_limit", "context_length", "schema_rejected", "refused", "rate_limited"),
    *("timeout", "other", "empty_response", "trailing_comma", "truncated_json", "malformed_json"),
    *("not_an_object", "schema_violation"),
)

_OF_CALLS = frozenset(FAILURES[1:8])
_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")
_FILTERED = ("content_filter", "refusal", "SAFETY")
_BOM = "\ufeff"
_AROUND = 40


@dataclass(frozen=True)
class ParsedOutput:
    """The result of parsing one output; made by `parse_output`.

    Attributes
    ----------
    value : object
        The parsed JSON; None if the text does not parse (or is ``null``, see `parses`).
    failure : str
        One of `FAILURES`; ``none`` for a valid output.
    message : str or None
        Description of the failure.
    line, column, offset : int or None
        Position of the failure in the text as received: line and column from 1, offset in
        characters from 0.
    excerpt : str or None
        The text around that position.
    parses : bool
        Whether a strict parser reads the text without byte-order mark and code fence.
    conforms : bool or None
        Whether the value fits the schema, except for violations that gold has at the same place of
        the schema; None without a schema or a value.
    parses_strictly : bool
        Whether Python's ``json`` parses the text as received. It reads NaN and Infinity, and takes
        the last value of a repeated key.
    conforms_strictly : bool or None
        Whether the value fits the schema without exception.
    wrapper : str
        What was removed before parsing: ``""``, ``bom``, ``fence`` or both.
    """

    value: Any = None
    failure: str = "none"
    message: str | None = None
    line: int | None = None
    column: int | None = None
    offset: int | None = None
    excerpt: str | None = field(default=None, repr=False)
    parses: bool = False
    conforms: bool | None = None
    parses_strictly: bool = False
    conforms_strictly: bool | None = None
    wrapper: str = ""

    @property
    def valid(self) -> bool:
        """Whether the output is valid as the paper defines it: it parses and fits the schema."""
        return self.failure == "none"


def parse_output(
    raw: str | bytes | None,
    meta: Mapping[str, Any] | None = None,
    schema: Any = None,
    *,
    gold: Any = None,
) -> ParsedOutput:
    """Parse a model's answer, and name the failure if there is one.

    Parameters
    ----------
    raw : str, bytes or None
        The text exactly as received; None if there was none.
    meta : mapping, optional
        Details of the call: ``finish_reason``, and ``error`` with its ``reason`` if the call
        failed.
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter, optional
        The schema that the value must fit.
    gold : object, optional
        The gold document. A violation of the schema is ignored if gold violates the same place of
        the schema.

    Returns
    -------
    ParsedOutput
        The value, or the failure with its position. No text in `raw` raises an error.

    Raises
    ------
    SchemaError
        The schema cannot be read.

    Examples
    --------
    >>> parse_output('{"total": 12,}').failure
    'trailing_comma'
    >>> found = parse_output('{"total": 12', {"finish_reason": "length"})
    >>> found.failure, found.line, found.column
    ('truncated_json', 1, 13)
    """
    gold = read_document(gold, "gold")
    allowed = None if schema is None else Conformance(parse_schema(schema), gold)
    return read_output(raw, meta or {}, allowed)


def read_output(
    raw: str | bytes | None, meta: Mapping[str, Any], allowed: Conformance | None
) -> ParsedOutput:
    """Read one output; without a schema it must be an object. See `parse_output`."""
    if error := meta.get("error"):
        return _failed_call(error if isinstance(error, Mapping) else {"message": str(error)})
    found = _parsed(raw, meta)
    message: str | None = None
    if found.parses:
        if allowed is not None:
            strictly, conforms, message = allowed.fits(found.value)
            found = replace(found, conforms=conforms, conforms_strictly=strictly)
        types = None if allowed is None else allowed.schema.root.types
        if not isinstance(found.value, dict) and (not types or "object" in types):
            kind = json_type(found.value)
            found = replace(found, failure="not_an_object", message=f"it is of type {kind}")
        elif found.conforms is False:
            found = replace(found, failure="schema_violation", message=message)
    formal = found.failure not in ("none", "schema_violation")
    if formal and meta.get("finish_reason") in _FILTERED:
        return replace(found, failure="refused", message="the provider cut the answer off")
    return found


def _failed_call(error: Mapping[str, Any]) -> ParsedOutput:
    """Name the failure of a call that gave no answer."""
    reason, message = error.get("reason"), error.get("message")
    if reason in _OF_CALLS:
        return ParsedOutput(failure=reason, message=None if message is None else str(message))
    words = [str(word) for word in (reason, message) if word not in (None, "other")]
    return ParsedOutput(failure="other", message=": ".join(words) or None)


def _parsed(raw: str | bytes | None, meta: Mapping[str, Any]) -> ParsedOutput:
    """Parse a text without its wrapper, and name its failure if there is one."""
    text = raw if isinstance(raw, str) else ""
    if isinstance(raw, bytes | bytearray):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8")
            text = before + raw[error.start :].decode("utf-8", "replace")
            return _placed("malformed_json", f"not UTF-8: {error.reason}", text, len(before))
    if not text.strip().strip(_BOM):
        return ParsedOutput(failure="empty_response", message="there is no text")
    inner, start, wrapper = unwrapped(text)
    try:
        value = json.loads(inner)
    except json.JSONDecodeError as error:
        cut_off = meta.get("finish_reason") in _CUT_OFF
        failure, position = fault_of(inner, cut_off=cut_off) or ("malformed_json", error.pos)
        return _placed(failure, error.msg, text, start + position, wrapper)
    except (RecursionError, ValueError) as error:  # ValueError: a number of too many digits
        too_deep = isinstance(error, RecursionError)
        message = "it is nested too deep" if too_deep else str(error)
        return _placed("malformed_json", message, text, start, wrapper)
    return ParsedOutput(value, parses=True, parses_strictly=not wrapper, wrapper=wrapper)


def _placed(failure: str, message: str, text: str, offset: int, wrapper: str = "") -> ParsedOutput:
    """Return a failure at a place of a text."""
    return ParsedOutput(
        failure=failure,
        message=message,
        line=text.count("\n", 0, offset) + 1,
        column=offset - text.rfind("\n", 0, offset),
        offset=offset,
        excerpt=text[max(0, offset - _AROUND) : offset + _AROUND],
        wrapper=wrapper,
    )


# --- schema violations --------------------------------------------------------------------------

_LONGEST_MESSAGE = 300


class Conformance:
    """Finds violations of a schema, except those that gold has at the same place of the schema."""

    def __init__(self, schema: Schema, gold: Any = None) -> None:
        self.schema, self._gold = schema, gold
        self._validation = Validation(schema.document)

    @cached_property
    def _forgiven(self) -> set[Hashable]:
        return set() if self._gold is None else {place for place, _ in self._violations(self._gold)}

    def fits(self, value: Any) -> tuple[bool, bool, str | None]:
        """Return whether a document fits strictly, whether it fits as far as gold does, why not."""
        strictly = True
        for place, message in self._violations(value):
            strictly = False
            if place not in self._forgiven:
                return False, False, message
        return strictly, True, None

    def _violations(self, value: Any) -> Iterator[tuple[Hashable, str]]:
        """Yield the place of each violation in the schema, and a message."""
        for error in self._validation.iter_errors(value):
            message = f"{error.json_path}: {error.message}"[:_LONGEST_MESSAGE]
            unsure = error.validator == "not_validated"
            yield message if unsure else tuple(error.absolute_schema_path), message
