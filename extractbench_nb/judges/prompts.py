"""What a model is asked, and how its answer is read.

The values are quoted between marks that occur in none of them. A mark is a hash of all that is
quoted: the same question has the same marks, and no document can hold its own.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from extractbench_nb._json import canonical
from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.judges.base import Question
from extractbench_nb.schema.validation import Validation

__all__ = [
    "ANSWER_SCHEMA",
    "PLACEHOLDERS",
    "PROMPT_VERSION",
    "Answer",
    "Message",
    "Unparsable",
    "ask_again",
    "check_template",
    "judge_messages",
    "message",
    "objects",
    "placeholders_of",
    "prompt_text",
    "quoted",
    "read_answer",
    "sendable",
]


#: Version of the texts; part of what an answer is cached by.
PROMPT_VERSION = "v1"
#: What a ``prompt_template`` may hold, in braces; gold and predicted it must.
PLACEHOLDERS = ("gold", "predicted", "metadata", "structured_output_schema")

_REQUIRED = ("gold", "predicted")
_MISSING = "MISSING"
#: Characters of an answer that cannot be read, where it is sent back.
_LONGEST_AGAIN = 20_000
_MARK_LENGTH = 12

Message = dict[str, str]


def judge_messages(
    question: Question,
    *,
    schema: Mapping[str, Any],
    template: str | None = None,
    instructions: str | None = None,
) -> tuple[Message, ...]:
    """Write down a question for a model."""
    if template is not None:
        check_template(template)
    blocks = quoted(
        {
            "field": _metadata(question),
            "gold": _value(question.gold, question.gold_state),
            "predicted": _value(question.predicted, question.predicted_state),
        }
    )
    parts = {
        "task": _task(question.metric),
        "metadata": blocks["field"],
        "gold": blocks["gold"],
        "predicted": blocks["predicted"],
        "structured_output_schema": canonical(schema),
    }
    text = (template or prompt_text("question")).format_map(parts)
    if instructions:
        text += "\n\n" + prompt_text("instructions").format(instructions=instructions)
    if template is None or "{structured_output_schema}" not in template:
        text += "\n\n" + prompt_text("format").format_map(parts)
    return (message("system", prompt_text("system")), message("user", text))


def ask_again(messages: Iterable[Message], answer: str | None, problem: str) -> tuple[Message, ...]:
    """Continue a talk whose answer cannot be read."""
    answer = answer[:_LONGEST_AGAIN] if answer else ""
    said = [message("assistant", answer)] if answer.strip() else []
    return (*messages, *said, message("user", prompt_text("again").format(problem=problem)))


def quoted(texts: Mapping[str, str]) -> dict[str, str]:
    """Put texts between marks that occur in none of them.

    Examples
    --------
    >>> print(quoted({"gold": '"1 May"'})["gold"])
    <gold-c6d9aa1a0c8f>
    "1 May"
    </gold-c6d9aa1a0c8f>
    """
    whole = "\0".join(texts.values())
    mark = _hash(whole)
    while mark in whole:
        mark = _hash(mark + whole)
    return {name: f"<{name}-{mark}>\n{text}\n</{name}-{mark}>" for name, text in texts.items()}


def check_template(template: str) -> None:
    """Check the placeholders of a ``prompt_template``.

    Examples
    --------
    >>> check_template("Is {predicted} as good as {gold}?")
    """
    try:
        found = placeholders_of(template, PLACEHOLDERS)
    except ValueError as error:
        raise _bad_template(str(error)) from None
    lacking = [name for name in _REQUIRED if name not in found]
    if lacking:
        raise _bad_template("it lacks " + " and ".join(f"{{{name}}}" for name in lacking))


def placeholders_of(template: str, allowed: Collection[str]) -> frozenset[str]:
    """Find the placeholders of a text that is a template.

    Examples
    --------
    >>> sorted(placeholders_of("Is {a} as good as {b}? {{}}", ("a", "b", "c")))
    ['a', 'b']
    """
    try:
        found = [part[1:] for part in string.Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise ValueError(f"it has a single brace ({error}); write {{{{ and }}}}") from None
    for name, form, conversion in found:
        if name not in allowed:
            raise ValueError(f"{{{name}}} is unknown; {nearest(name, allowed)}")
        if form or conversion:
            raise ValueError(f"{{{name}}} has a format; expected the name alone")
    return frozenset(str(part[0]) for part in found)


def _bad_template(problem: str) -> ConfigError:
    allowed = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    return ConfigError(None, f"prompt_template: {problem}. Allowed are {allowed}")


def _metadata(question: Question) -> str:
    known = {
        "field": question.field,
        "type": question.type,
        "description": question.description,
        "metric": question.metric,
        "gold_state": question.gold_state,
        "predicted_state": question.predicted_state,
    }
    return json.dumps({k: v for k, v in known.items() if v is not None}, ensure_ascii=False)


def _value(value: Any, state: str) -> str:
    return _MISSING if state == "missing" else canonical(value)


def _task(metric: str) -> str:
    return prompt_text(metric if metric in ("string_semantic", "string_llm") else "other")


@cache
def prompt_text(name: str) -> str:
    """Return one of the texts of this version, without its last line break."""
    source = files("extractbench_nb.judges") / "prompt_texts" / PROMPT_VERSION / f"{name}.txt"
    return source.read_text(encoding="utf-8").rstrip("\n")


def _hash(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_MARK_LENGTH]


def message(role: str, text: str) -> Message:
    """Write a message; what no request can carry (a lone surrogate) is written as an escape."""
    return {"role": role, "content": sendable(text)}


def sendable(text: str) -> str:
    """Write lone surrogates, which no request can carry, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


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
    """Find the JSON objects in an answer that are in no other one."""
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
