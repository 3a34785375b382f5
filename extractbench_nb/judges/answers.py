"""Reading a model's answer: a JSON object with a score, whatever is wrapped around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from extractbench_nb.judges.prompts import sendable
from extractbench_nb.schema.validation import Validation

__all__ = ["ANSWER_SCHEMA", "Answer", "Unparsable", "objects", "read_answer"]

#: What a model is asked to answer with, unless a field has a schema of its own.
ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}

_LONGEST = 200_000
_SHOWN = 80
_STRINGS = {
    "double": r"""(?P<double>"(?:[^"\\]|\\.)*")""",
    "single": r"""(?P<single>'(?:[^'\\]|\\.)*')""",
}
_TORN = {'"': "double", "'": "single"}
_OTHERS = r"(?P<trailing>,(?=\s*[}\]]))|(?P<open>[{\[])|(?P<close>[}\]])"


class Answer(NamedTuple):
    """What an answer says: a score in [0, 1], and why, where it tells."""

    score: float
    reasoning: str | None


class Unparsable(Exception):  # noqa: N818 - the field's word for such an answer
    """An answer without a score that can be read; the text says what it lacks."""


def read_answer(text: str | None, schema: Mapping[str, Any] | None = None) -> Answer:
    """Read the score and the reasoning from an answer.

    Parameters
    ----------
    text : str or None
        What a model said: a JSON object, perhaps in a code fence or amid prose, with trailing
        commas or in single quotes.
    schema : mapping, optional
        JSON Schema that the object must fit.

    Returns
    -------
    Answer
        The score in [0, 1], and the text of ``reasoning`` or ``reason``.

    Raises
    ------
    Unparsable
        No object with a score, a score that is no number from 0 to 1, several objects that do not
        agree on it, or one that does not fit the schema.

    Examples
    --------
    >>> read_answer("Here you are: {'score': 0.9, 'reason': 'same date',}")
    Answer(score=0.9, reasoning='same date')
    """
    found = [value for value in objects(text) if "score" in value]
    if not found:
        raise Unparsable("it holds no JSON object with a score")
    answers = [Answer(_score(value["score"]), _reasoning(value)) for value in found]
    if len({answer.score for answer in answers}) > 1:
        raise Unparsable("it holds several JSON objects, and their scores differ")
    if schema is not None:
        _check(found[-1], schema)
    return answers[-1]


def objects(text: str | None) -> list[dict[str, Any]]:
    """Find the JSON objects in an answer that are in no other one.

    Parameters
    ----------
    text : str or None
        What a model said.

    Returns
    -------
    list of dict
        In their order.

    Raises
    ------
    Unparsable
        The answer is empty, or far too long.
    """
    if text and len(text) > _LONGEST:
        raise Unparsable(f"it has {len(text):,} characters")
    if not text or not text.strip():
        raise Unparsable("it has no text")
    whole = _loaded(text)
    return [whole] if whole is not None else list(_inner(text))


def _inner(text: str) -> Iterator[dict[str, Any]]:
    end, torn = 0, set[str]()
    while (start := text.find("{", end)) >= 0:
        span, end = _balanced(text, start, torn)
        value = _loaded(span)
        if value is not None:
            yield value


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value


@cache
def _tokens(torn: frozenset[str]) -> re.Pattern[str]:
    """Return what finds the next token; a quote of a kind that is torn is an ordinary character."""
    strings = [pattern for name, pattern in _STRINGS.items() if name not in torn]
    quotes = "".join(quote for quote, name in _TORN.items() if name not in torn)
    ending = f"|(?P<torn>[{quotes}])" if quotes else ""
    return re.compile("|".join([*strings, _OTHERS]) + ending, re.DOTALL)


def _balanced(text: str, start: int, torn: set[str]) -> tuple[str, int]:
    """Return the bracketed text that starts here as strict JSON, and where it ends.

    Where a string does not end, no later one with the same quotes does: all quotes after it are
    escaped. `torn` has the kinds of quotes of which that is known, so that each character is looked
    at a few times and not once for each quote before it.
    """
    parts, depth, end = [], 0, start
    place = start
    while (token := _tokens(frozenset(torn)).search(text, place)) is not None:
        place = token.end()
        if token.lastgroup == "torn":
            torn.add(_TORN[token[0]])
            continue
        parts.append(text[end : token.start()])
        end = place
        parts.append(_strict(token))
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth == 0:
            break
    return "".join(parts), end


def _strict(token: re.Match[str]) -> str:
    if token.lastgroup == "trailing":
        return ""
    if token.lastgroup == "single":
        inner = token[0][1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', r"\"", inner) + '"'
    return token[0]


def _score(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise Unparsable(f"its score is {_short(value)}; expected a number from 0 to 1")
    return float(value)


def _reasoning(value: Mapping[str, Any]) -> str | None:
    for name in ("reasoning", "reason"):
        if isinstance(value.get(name), str):
            return sendable(value[name])
    return None


def _check(value: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    error = next(Validation(schema, formats=False).iter_errors(value), None)
    if error is None:
        return
    if error.validator == "not_validated":
        raise Unparsable(error.message[: 2 * _SHOWN])
    path = error.json_path[:_SHOWN]
    raise Unparsable(f"at {path} it does not fit the schema ({error.validator})")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
