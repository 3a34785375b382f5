"""Messages to a model, composed from versioned texts and the values of one field.

The values are quoted between marks that occur in none of them. A mark is a hash of everything
quoted: the same question has the same marks, and no document can contain its own.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from extractbench_nb.core.schema import Validation
from extractbench_nb.core.text import Question
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.support.model_json import json_objects
from extractbench_nb.support.wording import cut

#: Version of the texts; part of what an answer is cached by.
PROMPT_VERSION = "v1"
#: Placeholders of a ``prompt_template``; gold and predicted are required.
PLACEHOLDERS = ("gold", "predicted", "metadata", "structured_output_schema")

_MISSING = "MISSING"
#: Longest part of an unreadable answer, in characters, that is sent back to the model.
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
    """Compose the messages of a question."""
    if template is not None:
        check_template(template)
    metric = question.metric
    details = {
        "field": question.field,
        "type": question.type,
        "description": question.description,
        "metric": metric,
        "gold_state": question.gold_state,
        "predicted_state": question.predicted_state,
    }
    about = {name: value for name, value in details.items() if value is not None}
    blocks = quoted(
        {
            "field": json.dumps(about, ensure_ascii=False),
            "gold": _value(question.gold, question.gold_state),
            "predicted": _value(question.predicted, question.predicted_state),
        }
    )
    parts = {
        "task": prompt_text(metric if metric in ("string_semantic", "string_llm") else "other"),
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
    """Continue a conversation after an answer that cannot be read."""
    answer = answer[:_LONGEST_AGAIN] if answer else ""
    said = [message("assistant", answer)] if answer.strip() else []
    return (*messages, *said, message("user", prompt_text("again").format(problem=problem)))


def quoted(texts: Mapping[str, str]) -> dict[str, str]:
    """Put texts between marks that occur in none of them."""
    joined = "\0".join(texts.values())
    mark = _hash(joined)
    while mark in joined:
        mark = _hash(mark + joined)
    return {name: f"<{name}-{mark}>\n{text}\n</{name}-{mark}>" for name, text in texts.items()}


def check_template(template: str) -> None:
    """Check the placeholders of a ``prompt_template``."""
    problem = None
    try:
        found = placeholders_of(template, PLACEHOLDERS)
        lacking = [f"{{{name}}}" for name in ("gold", "predicted") if name not in found]
        if lacking:
            problem = f"it lacks {' and '.join(lacking)}"
    except ValueError as error:
        problem = str(error)
    if problem:
        allowed = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise ConfigError(None, f"prompt_template: {problem}. Allowed are {allowed}")


def placeholders_of(template: str, allowed: Collection[str]) -> frozenset[str]:
    """Find the placeholders of a text that is a template."""
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


def _value(value: Any, state: str) -> str:
    return _MISSING if state == "missing" else canonical(value)


@cache
def prompt_text(name: str) -> str:
    """Return one of the texts of this version, without its last line break."""
    source = files("extractbench_nb.judges") / "prompt_texts" / PROMPT_VERSION / f"{name}.txt"
    return source.read_text(encoding="utf-8").rstrip("\n")


def _hash(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_MARK_LENGTH]


def message(role: str, text: str) -> Message:
    """Make a message; lone surrogates, which a request cannot contain, are escaped."""
    return {"role": role, "content": sendable(text)}


def sendable(text: str) -> str:
    """Escape lone surrogates, which a request cannot contain."""
    return text.encode("utf-8", "backslashreplace").decode()


#: The schema of an answer, unless a field has a schema of its own.
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


class Unparsable(Exception):  # noqa: N818 - callers convert it to a `JudgeError`
    """An answer without a readable score; the message says what is missing."""


def read_answer(
    text: str | None, schema: Mapping[str, Any] | None = None
) -> tuple[float, str | None]:
    """Read from an answer a score in [0, 1], and the reasoning where it has one."""
    candidates = [value for value in objects(text) if "score" in value]
    if not candidates:
        raise Unparsable("it contains no JSON object with a score")
    answers = []
    for value in candidates:
        score = value["score"]
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if not number or not 0 <= score <= 1:
            shown = cut(repr(score), _SHOWN)
            raise Unparsable(f"its score is {shown}; expected a number from 0 to 1")
        texts = (value.get("reasoning"), value.get("reason"))
        reasoning = next((sendable(text) for text in texts if isinstance(text, str)), None)
        answers.append((float(score), reasoning))
    if len({score for score, _ in answers}) > 1:
        raise Unparsable("it contains several JSON objects with different scores")
    error = schema and next(Validation(schema, formats=False).iter_errors(candidates[-1]), None)
    if error and error.validator == "not_validated":
        raise Unparsable(error.message[: 2 * _SHOWN])
    if error:
        path = error.json_path[:_SHOWN]
        raise Unparsable(f"at {path} it does not fit the schema ({error.validator})")
    return answers[-1]


def objects(text: str | None) -> list[dict[str, Any]]:
    """Find the JSON objects in an answer that are not part of another one."""
    if text and len(text) > _LONGEST:
        raise Unparsable(f"it has {len(text):,} characters")
    if not text or not text.strip():
        raise Unparsable("it has no text")
    return json_objects(text)
