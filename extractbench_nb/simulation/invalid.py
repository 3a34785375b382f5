"""Invalid outputs: texts that a model may return instead of the JSON, one failure at a time.

A failure has several variants of how a text is broken. Every variant is certain to fail as named,
whatever the document; if a document has no place for one, the next is used.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from extractbench_nb._json import json_type
from extractbench_nb.errors import InputError

PROVIDERS = ("openai", "anthropic", "google")

_DATA = json.loads((Path(__file__).parent / "data/models.json").read_text(encoding="utf-8"))

#: Message by failure and provider; ``any`` where they say the same, or one of them is known.
_MESSAGES: Mapping[str, Mapping[str, str]] = _DATA["errors"]

#: Failures that are errors of the call: there is no text.
CALL_FAILURES = tuple(_MESSAGES)

#: The word for an error where it is not the failure's own.
_REASONS = {"other": "server_error"}


def call_error(failure: str, provider: str) -> dict[str, str]:
    """Return the error of a call that gave no answer."""
    messages = _MESSAGES[failure]
    message = messages.get(provider) or messages.get("any") or next(iter(messages.values()))
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
    """A model's answer: the text, why it stopped, and the variant of the failure."""

    raw: str | None
    finish_reason: str | None
    variant: str | None


_Break: TypeAlias = Callable[[str, random.Random], "str | None"]
#: Functions that break a JSON text, by variant; they return None or the same text if they cannot.
_MALFORMED: dict[str, _Break] = {}


def _variant(function: _Break) -> _Break:
    _MALFORMED[function.__name__.removeprefix("_")] = function
    return function


def json_of(value: Any, rng: random.Random) -> str:
    """Write a document as a model would: indented by two spaces or in one line."""
    indent = rng.choice((2, 2, 2, None))
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _keys(text: str) -> list[re.Match[str]]:
    return [t for t in _TOKEN.finditer(text) if t[0][0] == '"' and text[t.end()] == ":"]


def _without(text: str, at: int) -> str:
    return text[:at] + text[at + 1 :]


@_variant
def _single_quotes(text: str, _: random.Random) -> str:
    """Write strings in single quotes, as Python prints them."""
    return _TOKEN.sub(lambda t: f"'{t[0][1:-1]}'" if t[0][0] == '"' else t[0], text)


@_variant
def _missing_quote(text: str, _: random.Random) -> str | None:
    """Leave out the quote after the first key; another key must follow, so that the text breaks."""
    keys = _keys(text)
    return _without(text, keys[0].end() - 1) if len(keys) > 1 else None


@_variant
def _missing_comma(text: str, rng: random.Random) -> str | None:
    """Leave out a comma."""
    commas = [t.start() for t in _TOKEN.finditer(text) if t[0] == ","]
    return _without(text, rng.choice(commas)) if commas else None


@_variant
def _comment(text: str, rng: random.Random) -> str | None:
    """Put a comment at the end of a line."""
    ends = [t.start() for t in _TOKEN.finditer(text) if t[0] == "\n"]
    if not ends:
        return None
    end = rng.choice(ends)
    return text[:end] + _NOTE + text[end:]


@_variant
def _unquoted_key(text: str, rng: random.Random) -> str | None:
    """Write a key without quotes."""
    keys = [t for t in _keys(text) if t[0][1:-1].isidentifier()]
    if not keys:
        return None
    key = rng.choice(keys)
    return text[: key.start()] + key[0][1:-1] + text[key.end() :]


@_variant
def _python_words(text: str, _: random.Random) -> str:
    """Write None, True and False."""
    return _TOKEN.sub(lambda t: _PYTHON.get(t[0], t[0]), text)


@_variant
def _prose(text: str, rng: random.Random) -> str:
    """Put a sentence before the JSON."""
    return rng.choice(_PROSE) + text


@_variant
def _wrong_bracket(text: str, _: random.Random) -> str:
    """Close the document with the bracket of the other kind."""
    return text[:-1] + ("]" if text[-1] == "}" else "}")


def _malformed_json(value: Any, rng: random.Random) -> Spoken:
    text = json_of(value, rng)
    for variant in rng.sample(list(_MALFORMED), len(_MALFORMED)):
        broken = _MALFORMED[variant](text, rng)
        if broken is not None and broken != text:
            return Spoken(broken, "stop", variant)
    raise AssertionError("prose fits every document")  # pragma: no cover


def _trailing_comma(value: Any, rng: random.Random) -> Spoken:
    """Put a comma at the end of one object or array that is not empty, or of all of them."""
    text = json_of(value, rng)
    ends = []
    for previous, token in pairwise(_TOKEN.finditer(text)):
        is_empty = previous[0] in "{[" and not text[previous.end() : token.start()].strip()
        if token[0] in "}]" and not is_empty:
            ends.append(len(text[: token.start()].rstrip()))
    everywhere = rng.random() < 1 / 2
    for end in sorted(ends if everywhere else [rng.choice(ends)], reverse=True):
        text = text[:end] + "," + text[end:]
    return Spoken(text, "stop", "everywhere" if everywhere else "once")


def _truncated_json(value: Any, rng: random.Random) -> Spoken:
    """Cut the text off at a random position."""
    text = json_of(value, rng)
    length = max(1, int(len(text) * rng.uniform(_LEAST, _MOST)))
    return Spoken(text[: min(length, len(text) - 1)], "length", None)


def _empty_response(_: Any, rng: random.Random) -> Spoken:
    variant, raw = rng.choice((("no_text", None), ("empty", ""), ("blank", "\n")))
    return Spoken(raw, rng.choice(("stop", "length")), variant)


def _not_an_object(value: Any, rng: random.Random) -> Spoken:
    text = json_of(value, rng)
    texts = {"in_array": f"[{text}]", "as_text": json.dumps(text), "null": "null"}
    variant = rng.choice(list(texts))
    return Spoken(texts[variant], "stop", variant)


#: What makes the text of each failure of a text.
TEXT_FAILURES: Mapping[str, Callable[[Any, random.Random], Spoken]] = {
    "empty_response": _empty_response,
    "trailing_comma": _trailing_comma,
    "truncated_json": _truncated_json,
    "malformed_json": _malformed_json,
    "not_an_object": _not_an_object,
    "refused": lambda *_: Spoken(_SORRY, "content_filter", "said_so"),
}


def spoil(failure: str, value: Any, rng: random.Random) -> Spoken:
    """Make the text of a failure."""
    if failure == "not_an_object" and not isinstance(value, dict):
        raise InputError(f"not_an_object needs an object; found {json_type(value)}")
    if not isinstance(value, dict | list) or not value:
        found = f"an empty {json_type(value)}" if isinstance(value, dict | list) else repr(value)
        raise InputError(f"{failure} needs an object or array with something in it; found {found}")
    return TEXT_FAILURES[failure](value, rng)


#: What may stand around JSON without making it invalid.
WRAPPINGS = ("fence", "bom")


def wrap(wrapping: str, raw: str, *, cut_off: bool = False) -> str:
    """Put a code fence around a text, or a byte-order mark before it."""
    if wrapping == "bom":
        return "\ufeff" + raw
    return f"{_FENCE}json\n{raw}" + ("" if cut_off else f"\n{_FENCE}")
