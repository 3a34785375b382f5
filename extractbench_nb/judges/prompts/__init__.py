"""What a model is asked: messages made from versioned texts and the values of one field.

The values are quoted between marks that occur in none of them. A mark is a hash of all that is
quoted: the same question has the same marks, and no document can hold its own.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from extractbench_nb._json import canonical
from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.judges.base import Question

__all__ = [
    "PLACEHOLDERS",
    "PROMPT_VERSION",
    "Message",
    "ask_again",
    "check_template",
    "judge_messages",
    "message",
    "placeholders_of",
    "prompt_text",
    "quoted",
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
    """Write down a question for a model.

    Parameters
    ----------
    question : Question
        The two values, and what the schema says of the field.
    schema : mapping
        JSON Schema of the answer.
    template : str, optional
        A text in place of the usual one, with `PLACEHOLDERS`.
    instructions : str, optional
        What else to heed.

    Returns
    -------
    tuple of dict
        One message of the system and one of the user, as ``role`` and ``content``. No text has a
        lone surrogate, which no request can carry.

    Raises
    ------
    ConfigError
        The template lacks a placeholder, or has one that is not known.
    """
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
    """Continue a talk whose answer cannot be read.

    Parameters
    ----------
    messages : iterable of dict
        What was asked.
    answer : str or None
        What came back; of more than 20,000 characters the beginning is sent again.
    problem : str
        Why it is of no use.

    Returns
    -------
    tuple of dict
        The same, the answer, and the request for another one.
    """
    answer = answer[:_LONGEST_AGAIN] if answer else ""
    said = [message("assistant", answer)] if answer.strip() else []
    return (*messages, *said, message("user", prompt_text("again").format(problem=problem)))


def quoted(texts: Mapping[str, str]) -> dict[str, str]:
    """Put texts between marks that occur in none of them.

    Parameters
    ----------
    texts : mapping of str to str
        What to quote, by the name that its marks have.

    Returns
    -------
    dict of str to str
        ``<name-mark>``, the text and ``</name-mark>``, each in lines of its own. The mark is the
        same for the same texts.

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

    Parameters
    ----------
    template : str
        The text; a brace that is meant as such is doubled.

    Raises
    ------
    ConfigError
        A placeholder is not known, not plain, or absent though it is needed.

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

    Parameters
    ----------
    template : str
        The text; a brace that is meant as such is doubled.
    allowed : collection of str
        The names that there are.

    Returns
    -------
    frozenset of str
        Those that it has.

    Raises
    ------
    ValueError
        A placeholder is not known or not plain, or a brace stands alone; says what is right.

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
    source = files("extractbench_nb.judges.prompts") / PROMPT_VERSION / f"{name}.txt"
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
