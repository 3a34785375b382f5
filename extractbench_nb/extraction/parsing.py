"""A model's text read by a strict parser: the value, or the failure by its name.

Valid is the paper's word (section 4): the text parses and fits the schema. Two things are taken off
before it is parsed, a byte-order mark and a code fence, as every pipeline does; what the text is
worth as it stands is told beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from extractbench_nb._json import json_type, read_document
from extractbench_nb.extraction.conforming import Conformance
from extractbench_nb.schema.nodes import Schema
from extractbench_nb.schema.parse import parse_schema

__all__ = ["FAILURES", "OutputReader", "ParsedOutput", "Scan", "parse_output", "unwrapped"]


_TOKEN = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<comma>,(?=\s*[}\]]))|(?P<open>[{\[])|(?P<close>[}\]])'
    r'|(?P<torn>")',
    re.DOTALL,
)
_CLOSING = {"{": "}", "[": "]"}
#: The last word of a text, looked for in its last characters only.
_WORD = re.compile(r"[\w.+-]+$")
#: An escape that was cut: its backslash is none of a pair.
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?)$")
_LAST = 64


class Scan:
    """The brackets, strings and commas of a text that does not parse.

    Attributes
    ----------
    commas : list of int
        Where the trailing ones are.
    open : list of str
        Brackets that nothing closes.
    torn : bool
        Whether the text ends in a string.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.commas: list[int] = []
        self.open: list[str] = []
        self.torn = False
        for token in _TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "comma":
                self.commas.append(token.start())
            elif kind == "open":
                self.open.append(token[0])
            elif kind == "close" and self.open:
                self.open.pop()
            elif kind == "torn":
                self.torn = True
                break

    def without_commas(self) -> str:
        """Return the text without its trailing commas."""
        parts, end = [], 0
        for comma in self.commas:
            parts.append(self.text[end:comma])
            end = comma + 1
        return "".join([*parts, self.text[end:]])

    def completions(self) -> Iterator[str]:
        """Yield what the text may have been on its way to; nothing where nothing is open."""
        closes = self.text.rstrip().endswith(tuple(_CLOSING.values()))
        if not self.open or (self.torn and closes):  # a quote is missing somewhere
            return
        closing = "".join(_CLOSING[bracket] for bracket in reversed(self.open))
        for start in self._beginnings():
            for rest in ("", "null", ":null"):
                yield start + rest + closing

    def _beginnings(self) -> Iterator[str]:
        text = self.text.rstrip()
        if self.torn:
            escape = _ESCAPE.search(text)
            yield (text if escape is None else text[: escape.start("cut")]) + '"'
            return
        yield text.removesuffix(",")
        word = _WORD.search(text[-_LAST:])
        if word is not None:
            yield text[: len(text) - len(word[0])]


#: How an output can fail, in the order in which it is found out. The first five that the paper
#: names (Table 7) are empty_response, trailing_comma, page_limit, truncated_json, context_length.
FAILURES = (
    "none",
    "page_limit",
    "context_length",
    "schema_rejected",
    "refused",
    "rate_limited",
    "timeout",
    "other",
    "empty_response",
    "trailing_comma",
    "truncated_json",
    "malformed_json",
    "not_an_object",
    "schema_violation",
)

_OF_CALLS = frozenset(FAILURES[1:8])
_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")
_FILTERED = ("content_filter", "refusal", "SAFETY")
_BOM = "\ufeff"
_FENCES = ("```", "~~~")
_AROUND = 40


@dataclass(frozen=True)
class ParsedOutput:
    """What came of one output.

    Parameters
    ----------
    value : object
        The parsed JSON; None where nothing parsed (``null`` is None too, and `parses`).
    failure : str
        One of `FAILURES`; ``none`` for a valid output.
    message : str or None
        What is wrong, in words.
    line, column, offset : int or None
        Where, in the text as received; lines and columns from 1, characters from 0.
    excerpt : str or None
        The text around that place.
    parses : bool
        Whether the text parses by a strict parser, byte-order mark and code fence taken off.
    conforms : bool or None
        Whether the value fits the schema, but for violations that gold has at the same places of
        the schema; None without a schema or a value.
    parses_strictly : bool
        Whether the text parses as it was received, by Python's ``json``.
    conforms_strictly : bool or None
        Whether the value fits the schema without exception.
    wrapper : str
        What was taken off: ``""``, ``bom``, ``fence`` or both.
    duplicate_keys, non_finite : int
        Keys that stand twice in an object (the last one counts, as in Python), and NaN or Infinity,
        which are no JSON, but Python reads them.
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
    duplicate_keys: int = 0
    non_finite: int = 0

    @property
    def valid(self) -> bool:
        """Whether the output is valid as the paper means it."""
        return self.failure == "none"

    @property
    def strictly_valid(self) -> bool:
        """Whether the text parses as received, and fits the schema without exception."""
        return self.parses_strictly and self.conforms_strictly is not False


def parse_output(
    raw: str | bytes | None,
    meta: Mapping[str, Any] | None = None,
    schema: Any = None,
    *,
    gold: Any = None,
) -> ParsedOutput:
    """Read what a model said, and name the failure where there is one.

    Parameters
    ----------
    raw : str, bytes or None
        The text exactly as received; None where there was none.
    meta : mapping, optional
        What is known of the call: ``finish_reason``, and ``error`` with its ``reason`` where the
        call failed.
    schema : dict, str, pathlib.Path or Schema, optional
        What the value must fit.
    gold : object, optional
        The gold document: a violation that it has at the same place of the schema is forgiven,
        since nobody can be asked for better than gold.

    Returns
    -------
    ParsedOutput
        Nothing in `raw` raises, whatever it is.

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
    return OutputReader(schema, gold).read(raw, meta)


class OutputReader:
    """Reads outputs that are to fit one schema; what `parse_output` does, for many.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema, optional
        What values must fit.
    gold : object, optional
        See `parse_output`.
    """

    def __init__(self, schema: Any = None, gold: Any = None) -> None:
        self._schema: Schema | None = None if schema is None else parse_schema(schema)
        given = None if gold is None else read_document(gold, "gold")
        self._conformance = None if self._schema is None else Conformance(self._schema, given)

    def read(self, raw: str | bytes | None, meta: Mapping[str, Any] | None = None) -> ParsedOutput:
        """Read one output; see `parse_output`."""
        known = meta or {}
        text, undecodable = _decoded(raw)
        found = self._judged(_parsed(text, known) if undecodable is None else undecodable)
        failed = _failed_call(known)
        if failed is not None:
            return ParsedOutput(failure=failed[0], message=failed[1])
        if found.failure not in ("none", "schema_violation") and _is_filtered(known):
            return _changed(found, failure="refused", message="the provider cut the answer off")
        return found

    def _judged(self, found: ParsedOutput) -> ParsedOutput:
        """Add what the schema says of a value."""
        if not found.parses:
            return found
        strictly = forgiven = None
        message: str | None = None
        if self._conformance is not None:
            strictly, forgiven, message = self._conformance.fits(found.value)
        found = _changed(found, conforms=forgiven, conforms_strictly=strictly)
        if not self._may_be(found.value):
            kind = json_type(found.value)
            return _changed(found, failure="not_an_object", message=f"it is of type {kind}")
        if forgiven is False:
            return _changed(found, failure="schema_violation", message=message)
        return found

    def _may_be(self, value: Any) -> bool:
        """Whether a value is an object, where one is wanted."""
        types = None if self._schema is None else self._schema.root.types
        return isinstance(value, dict) or (bool(types) and "object" not in (types or ()))


def _changed(found: ParsedOutput, **changes: Any) -> ParsedOutput:
    return ParsedOutput(**{**found.__dict__, **changes})


def _failed_call(meta: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Name the failure of a call that gave no answer."""
    error = meta.get("error")
    if not error:
        return None
    known = error if isinstance(error, Mapping) else {"message": str(error)}
    reason, message = known.get("reason"), known.get("message")
    if reason in _OF_CALLS:
        return reason, None if message is None else str(message)
    words = [str(word) for word in (reason, message) if word not in (None, "other")]
    return "other", ": ".join(words) or None


def _is_filtered(meta: Mapping[str, Any]) -> bool:
    return meta.get("finish_reason") in _FILTERED


def _decoded(raw: str | bytes | None) -> tuple[str, ParsedOutput | None]:
    if not isinstance(raw, bytes | bytearray):
        return raw or "", None
    try:
        return bytes(raw).decode("utf-8"), None
    except UnicodeDecodeError as error:
        before = bytes(raw)[: error.start].decode("utf-8")
        text = before + bytes(raw)[error.start :].decode("utf-8", "replace")
        told = f"not UTF-8: {error.reason}"
        return text, _placed("malformed_json", told, text, len(before), text)


def _parsed(text: str, meta: Mapping[str, Any]) -> ParsedOutput:
    """Parse a text, its wrapper taken off, and say how it fails."""
    if not text.strip().strip(_BOM):
        return ParsedOutput(failure="empty_response", message="there is no text")
    inner, start, wrapper = unwrapped(text)
    seen = _Seen()
    try:
        value = seen.load(inner)
    except json.JSONDecodeError as error:
        return _not_json(error, inner, start, text, wrapper, meta)
    except RecursionError:
        return _changed(
            _placed("malformed_json", "it is nested too deep", text, start, text), wrapper=wrapper
        )
    except ValueError as error:  # a number of too many digits
        return _changed(_placed("malformed_json", str(error), text, start, text), wrapper=wrapper)
    return ParsedOutput(
        value,
        parses=True,
        parses_strictly=not wrapper,
        wrapper=wrapper,
        duplicate_keys=seen.duplicates,
        non_finite=seen.constants,
    )


class _Seen:
    """A strict parser that counts what Python reads without complaint."""

    def __init__(self) -> None:
        self.duplicates = self.constants = 0

    def load(self, text: str) -> Any:
        return json.loads(text, object_pairs_hook=self._object, parse_constant=self._constant)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        self.duplicates += len(pairs) - len(value)
        return value

    def _constant(self, name: str) -> float:
        self.constants += 1
        return float(name)


def unwrapped(text: str) -> tuple[str, int, str]:
    """Take off a byte-order mark and a code fence."""
    names, start, end = [], 0, len(text)
    if text.startswith(_BOM):
        names.append("bom")
        start = 1
    while start < end and text[start].isspace():
        start += 1
    fence = text[start : start + 3]
    first_line = text.find("\n", start)
    if (
        fence in _FENCES
        and first_line >= 0
        and text[start:first_line].count(fence[0]) == len(fence)
    ):
        names.append("fence")
        start, end = first_line + 1, len(text.rstrip())
        if text.endswith(fence, start, end):
            end -= len(fence)
    elif not names:
        start = 0
    return text[start:end], start, " and ".join(names)


def _not_json(
    error: json.JSONDecodeError,
    inner: str,
    start: int,
    text: str,
    wrapper: str,
    meta: Mapping[str, Any],
) -> ParsedOutput:
    scan = Scan(inner)
    failure, at = "malformed_json", error.pos
    if scan.commas and _parses(scan.without_commas()):
        failure, at = "trailing_comma", scan.commas[0]
    elif meta.get("finish_reason") in _CUT_OFF or any(map(_parses, scan.completions())):
        failure, at = "truncated_json", len(inner.rstrip())
    found = _placed(failure, error.msg, text, start + at, text)
    return _changed(found, wrapper=wrapper)


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _placed(failure: str, message: str, text: str, offset: int, whole: str) -> ParsedOutput:
    line = whole.count("\n", 0, offset) + 1
    column = offset - whole.rfind("\n", 0, offset)
    excerpt = text[max(0, offset - _AROUND) : offset + _AROUND]
    return ParsedOutput(
        failure=failure, message=message, line=line, column=column, offset=offset, excerpt=excerpt
    )
