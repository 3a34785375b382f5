"""Texts that a model may give in place of JSON, and errors that providers give.

A failure has several variants: how exactly a text is broken. Every variant is sure to fail as it is
named, whatever the document; one that a document has no place for gives way to the next.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from extractbench_nb._json import json_type
from extractbench_nb.errors import InputError

__all__ = [
    "CALL_FAILURES",
    "PROVIDERS",
    "TEXT_FAILURES",
    "WRAPPINGS",
    "Spoken",
    "call_error",
    "json_of",
    "spoil",
    "wrap",
]


PROVIDERS = ("openai", "anthropic", "google")

_ANY = "any"

#: Message by failure and provider; ``any`` where they say the same, or one of them is known.
_MESSAGES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "page_limit": {
            "anthropic": "messages.0.content.0.pdf.source.base64.data: A maximum of 100 PDF pages "
            "may be provided.",
            "google": "The document contains too many pages, which exceeds the supported page "
            "limit of 1000.",
            _ANY: "The file has more pages than this model accepts.",
        },
        "context_length": {
            "openai": "This model's maximum context length is 128000 tokens. However, your "
            "messages resulted in 161022 tokens. Please reduce the length of the messages.",
            "anthropic": "prompt is too long: 213861 tokens > 200000 maximum",
            "google": "The input token count (1180222) exceeds the maximum number of tokens "
            "allowed (1048576).",
        },
        "schema_rejected": {
            "openai": "Invalid schema for response_format 'extraction': In context=(), "
            "'additionalProperties' is required to be supplied and to be false.",
            "anthropic": "output_config.format.schema: Invalid schema: The compiled grammar is too "
            "large, which would cause performance issues.",
            "google": "The specified schema produces a constraint that has too many states for "
            "serving.",
        },
        "refused": {
            "openai": "Your request was rejected as a result of our safety system.",
            "anthropic": "Output blocked by content filtering policy",
            "google": "The response was blocked: PROHIBITED_CONTENT.",
        },
        "rate_limited": {
            "openai": "Rate limit reached on tokens per min (TPM): Limit 30000, Used 28911, "
            "Requested 17206.",
            "anthropic": "This request would exceed your organization's rate limit of 30,000 "
            "input tokens per minute.",
            "google": "Resource has been exhausted (e.g. check quota).",
        },
        "timeout": {_ANY: "Request timed out."},
        "other": {_ANY: "The server had an error while processing your request."},
    }
)

#: Failures that are errors of the call: there is no text.
CALL_FAILURES = tuple(_MESSAGES)

#: The word for an error where it is not the failure's own.
_REASONS = {"other": "server_error"}


def call_error(failure: str, provider: str) -> dict[str, str]:
    """Return the error of a call that gave no answer.

    Examples
    --------
    >>> call_error("context_length", "anthropic")["message"]
    'prompt is too long: 213861 tokens > 200000 maximum'
    """
    said = _MESSAGES[failure]
    message = said.get(provider) or said.get(_ANY) or next(iter(said.values()))
    return {"reason": _REASONS.get(failure, failure), "message": message}


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|\b(?:true|false|null)\b|\n')
_PYTHON = {"true": "True", "false": "False", "null": "None"}
_NOTE = " // as printed"
_FENCE = "```"
_PROSE = (
    "Here is the extracted data:\n\n",
    "Based on the document I extracted the following fields.\n\n",
)
_SORRY = "I cannot help with this document."
_LEAST, _MOST = 0.3, 0.95


class Spoken(NamedTuple):
    """What a model says: the text, why it stopped, and the variant of the failure."""

    raw: str | None
    finish_reason: str
    variant: str | None


_Break: TypeAlias = Callable[[str, random.Random], "str | None"]


def json_of(value: Any, rng: random.Random) -> str:
    """Write a document as a model would: indented by two spaces or in one line."""
    indent = rng.choice((2, 2, 2, None))
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _tokens(text: str) -> list[re.Match[str]]:
    """Find the strings, brackets, commas, words and line ends outside of strings."""
    return list(_TOKEN.finditer(text))


def _keys(text: str) -> list[re.Match[str]]:
    return [t for t in _tokens(text) if t[0][0] == '"' and text[t.end()] == ":"]


def _without(text: str, at: int) -> str:
    return text[:at] + text[at + 1 :]


def _single_quotes(text: str, _: random.Random) -> str | None:
    """Write strings in single quotes, as Python prints them."""
    changed = _TOKEN.sub(lambda t: f"'{t[0][1:-1]}'" if t[0][0] == '"' else t[0], text)
    return changed if changed != text else None


def _missing_quote(text: str, _: random.Random) -> str | None:
    """Leave out the quote after the first key; what follows has another string to run into."""
    keys = _keys(text)
    return _without(text, keys[0].end() - 1) if len(keys) > 1 else None


def _missing_comma(text: str, rng: random.Random) -> str | None:
    """Leave out a comma."""
    commas = [t.start() for t in _tokens(text) if t[0] == ","]
    return _without(text, rng.choice(commas)) if commas else None


def _comment(text: str, rng: random.Random) -> str | None:
    """Put a comment at the end of a line."""
    ends = [t.start() for t in _tokens(text) if t[0] == "\n"]
    if not ends:
        return None
    at = rng.choice(ends)
    return text[:at] + _NOTE + text[at:]


def _unquoted_key(text: str, rng: random.Random) -> str | None:
    """Write a key without quotes."""
    keys = [t for t in _keys(text) if t[0][1:-1].isidentifier()]
    if not keys:
        return None
    key = rng.choice(keys)
    return text[: key.start()] + key[0][1:-1] + text[key.end() :]


def _python_words(text: str, _: random.Random) -> str | None:
    """Write None, True and False."""
    changed = _TOKEN.sub(lambda t: _PYTHON.get(t[0], t[0]), text)
    return changed if changed != text else None


def _prose(text: str, rng: random.Random) -> str:
    """Put a sentence before the JSON."""
    return rng.choice(_PROSE) + text


def _wrong_bracket(text: str, _: random.Random) -> str:
    """Close the document with the bracket of the other kind."""
    return text[:-1] + ("]" if text[-1] == "}" else "}")


_MALFORMED: Mapping[str, _Break] = {
    "single_quotes": _single_quotes,
    "missing_quote": _missing_quote,
    "missing_comma": _missing_comma,
    "comment": _comment,
    "unquoted_key": _unquoted_key,
    "python_words": _python_words,
    "prose": _prose,
    "wrong_bracket": _wrong_bracket,
}


def _malformed_json(value: Any, rng: random.Random) -> Spoken:
    text = json_of(value, rng)
    for variant in rng.sample(list(_MALFORMED), len(_MALFORMED)):
        broken = _MALFORMED[variant](text, rng)
        if broken is not None:
            return Spoken(broken, "stop", variant)
    raise AssertionError("prose fits every document")  # pragma: no cover


def _trailing_comma(value: Any, rng: random.Random) -> Spoken:
    """Put a comma before the end of one object or array, or of all of them."""
    text = json_of(value, rng)
    tokens = _tokens(text)
    ends = [
        _end_of_content(text, t.start())
        for before, t in pairwise(tokens)
        if t[0] in "}]" and not _is_empty(text, before, t)
    ]
    everywhere = rng.random() < 1 / 2
    for at in sorted(ends if everywhere else [rng.choice(ends)], reverse=True):
        text = text[:at] + "," + text[at:]
    return Spoken(text, "stop", "everywhere" if everywhere else "once")


def _is_empty(text: str, before: re.Match[str], closing: re.Match[str]) -> bool:
    return before[0] in "{[" and not text[before.end() : closing.start()].strip()


def _end_of_content(text: str, closing: int) -> int:
    return len(text[:closing].rstrip())


def _truncated_json(value: Any, rng: random.Random) -> Spoken:
    """Cut the text off."""
    text = json_of(value, rng)
    at = max(1, int(len(text) * rng.uniform(_LEAST, _MOST)))
    return Spoken(text[: min(at, len(text) - 1)], "length", None)


def _empty_response(_: Any, rng: random.Random) -> Spoken:
    variant, raw = rng.choice((("no_text", None), ("empty", ""), ("blank", "\n")))
    return Spoken(raw, rng.choice(("stop", "length")), variant)


def _not_an_object(value: Any, rng: random.Random) -> Spoken:
    text = json_of(value, rng)
    texts = {"in_array": f"[{text}]", "as_text": json.dumps(text), "null": "null"}
    variant = rng.choice(list(texts))
    return Spoken(texts[variant], "stop", variant)


def _refused(_: Any, __: random.Random) -> Spoken:
    return Spoken(_SORRY, "content_filter", "said_so")


#: What makes the text of each failure of a text.
TEXT_FAILURES: Mapping[str, Callable[[Any, random.Random], Spoken]] = {
    "empty_response": _empty_response,
    "trailing_comma": _trailing_comma,
    "truncated_json": _truncated_json,
    "malformed_json": _malformed_json,
    "not_an_object": _not_an_object,
    "refused": _refused,
}


def spoil(failure: str, value: Any, rng: random.Random) -> Spoken:
    """Make the text of a failure.

    Examples
    --------
    >>> spoil("truncated_json", {"total": 12}, random.Random(1)).finish_reason
    'length'
    """
    if failure == "not_an_object" and not isinstance(value, dict):
        raise InputError(f"not_an_object needs an object; found {json_type(value)}")
    if not isinstance(value, dict | list) or not value:
        found = f"an empty {json_type(value)}" if isinstance(value, dict | list) else repr(value)
        raise InputError(f"{failure} needs an object or array with something in it; found {found}")
    return TEXT_FAILURES[failure](value, rng)


#: What may stand around JSON without making it invalid.
WRAPPINGS = ("fence", "bom")


def wrap(wrapping: str, raw: str, *, cut_off: bool = False) -> str:
    r"""Put a code fence around a text, or a byte-order mark before it.

    Examples
    --------
    >>> wrap("fence", "{}")
    '```json\n{}\n```'
    """
    if wrapping == "bom":
        return "\ufeff" + raw
    return f"{_FENCE}json\n{raw}" + ("" if cut_off else f"\n{_FENCE}")
