"""Messages to a model, composed from versioned texts and the values of one field.

The values are quoted between marks that occur in none of them. A mark is a hash of everything
quoted: the same question has the same marks, and no document can contain its own. An answer names
its mark, so that no object which a model copies from a document is one.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from extractbench_nb.core import REGISTRY, MapItem
from extractbench_nb.core.schema import Node, Validation
from extractbench_nb.core.text import Question
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.support.model_json import json_objects
from extractbench_nb.support.token_counts import count_tokens
from extractbench_nb.support.wording import cut

#: Version of the texts; part of what an answer is cached by.
PROMPT_VERSION, ALIGN_VERSION = "v2", "v3"
#: Placeholders of a ``prompt_template``; gold and predicted are required.
PLACEHOLDERS = ("gold", "predicted", "metadata", "structured_output_schema")

_MISSING = "MISSING"
#: What a model is told about a field.
_ABOUT = ("field", "type", "description", "metric", "gold_state", "predicted_state")
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
) -> tuple[tuple[Message, ...], str]:
    """Compose the messages of a question; also return the mark that its answer has to name."""
    details = {name: getattr(question, name) for name in _ABOUT}
    texts = {"field": json.dumps(_present(details), ensure_ascii=False)}
    for side in ("gold", "predicted"):
        absent = details[f"{side}_state"] == "missing"
        texts[side] = _MISSING if absent else canonical(getattr(question, side))
    task = question.metric if question.metric in ("string_semantic", "string_llm") else "other"
    parts = {"task": prompt_text(task), "structured_output_schema": canonical(schema)}
    parts |= (blocks := quoted(texts)) | {"metadata": blocks["field"]}
    asked = [(template or prompt_text("question")).format_map(parts)]
    if instructions:
        asked.append(prompt_text("instructions").format(instructions=instructions))
    if template is None or "{structured_output_schema}" not in template:
        asked.append(prompt_text("format").format_map(parts))
    mark = mark_of(texts)
    return _messages(prompt_text("system"), *asked, mark_request(mark)), mark


def _messages(system: str, *paragraphs: str) -> tuple[Message, ...]:
    return message("system", system), message("user", "\n\n".join(paragraphs))


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def mark_request(mark: str) -> str:
    """Ask that an answer names a mark."""
    return prompt_text("mark").format(mark=mark)


def ask_again(
    messages: Iterable[Mapping[str, Any]], answer: str | None, problem: str
) -> tuple[Mapping[str, Any], ...]:
    """Continue a conversation after an answer that cannot be read."""
    answer = answer[:_LONGEST_AGAIN] if answer else ""
    said = [message("assistant", answer)] if answer.strip() else []
    return (*messages, *said, message("user", prompt_text("again").format(problem=problem)))


def quoted(texts: Mapping[str, str]) -> dict[str, str]:
    """Put texts between marks that occur in none of them."""
    mark = mark_of(texts)
    return {name: f"<{name}-{mark}>\n{text}\n</{name}-{mark}>" for name, text in texts.items()}


def mark_of(texts: Mapping[str, str]) -> str:
    """Return the hash in the marks around texts, which occurs in none of them."""
    joined, mark = "\0".join(texts.values()), ""
    while mark in joined:  # as the empty one is
        data = (mark + joined).encode("utf-8", "surrogatepass")
        mark = hashlib.sha256(data).hexdigest()[:_MARK_LENGTH]
    return mark


def check_template(template: Any) -> None:
    """Check a ``prompt_template``, if there is one, and its placeholders."""
    if template is None:
        return
    if not isinstance(template, str) or not template.strip():
        raise ConfigError(None, f"prompt_template is {template!r}; expected a text")
    if problem := template_problem(template, PLACEHOLDERS, "gold", "predicted"):
        raise ConfigError(None, f"prompt_template: {problem}")


def template_problem(template: str, allowed: Sequence[str], *needed: str) -> str:
    """Say what is wrong with the placeholders of a template; empty if nothing is."""
    try:
        names = placeholders_of(template, allowed)
        lacking = [f"{{{name}}}" for name in needed if name not in names]
        problem = f"it lacks {' and '.join(lacking)}" if lacking else ""
    except ValueError as error:
        problem = str(error)
    return problem and f"{problem}. Allowed are {', '.join(f'{{{name}}}' for name in allowed)}"


def check_schema(schema: Any) -> None:
    """Check a ``structured_output_schema``, if there is one."""
    if schema is None:
        return
    name = "structured_output_schema"
    if not isinstance(schema, Mapping):
        raise ConfigError(None, f"{name} is {schema!r}; expected a JSON Schema as an object")
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(dict(schema))
    except SchemaError as error:
        raise ConfigError(None, f"{name} is not a JSON Schema: {error.message}") from None
    if "score" not in schema.get("properties", {"score": None}):
        raise ConfigError(None, f"{name} has no property 'score'; it needs one")


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


@cache
def prompt_text(
    name: str, version: str = PROMPT_VERSION, room: str = "", folder: str = "prompt_texts"
) -> str:
    """Return one of a room's texts of a version, without its last line break."""
    source = files(room or "extractbench_nb.judges") / folder / version / f"{name}.txt"
    return source.read_text(encoding="utf-8").rstrip("\n")


def message(role: str, text: str) -> Message:
    """Make a message that can be sent."""
    return {"role": role, "content": sendable(text)}


def sendable(text: str) -> str:
    """Escape lone surrogates, which a request cannot contain."""
    return text.encode("utf-8", "backslashreplace").decode()


MARK_SCHEMA: Mapping[str, Any] = {"mark_code": {"type": "string"}}
#: The schema of an answer, unless a field has a schema of its own.
ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **MARK_SCHEMA,
        "reasoning": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["mark_code", "reasoning", "score"],
    "additionalProperties": False,
}

_LONGEST = 200_000
_SHOWN = 80


class Unparsable(Exception):  # noqa: N818 - callers convert it to a `JudgeError`
    """An answer without a readable score; the message says what is missing.

    The message goes back to the model outside of any marks, so it quotes no text of the answer,
    which may come from a document.
    """


def answer_schema(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the schema of an answer: that of a field, with the mark, or the usual one."""
    if schema is None:
        return ANSWER_SCHEMA
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return {
        **schema,
        "properties": {**MARK_SCHEMA, **properties, **MARK_SCHEMA},
        "required": list(dict.fromkeys(["mark_code", *required])),
    }


def read_answer(
    text: str | None, mark: str, schema: Mapping[str, Any] | None = None
) -> tuple[float, str | None]:
    """Read from an answer a score in [0, 1], and the reasoning where it has one.

    See `marked_objects`.
    """
    marked = marked_objects(text, mark, "score")
    for value in marked:
        score = value["score"]
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if not number or not 0 <= score <= 1:
            shown = cut(repr(score), _SHOWN) if number else f"a {type(score).__name__}"
            raise Unparsable(f"its score is {shown}; expected a number from 0 to 1")
    if len({value["score"] for value in marked}) > 1:
        raise Unparsable("it contains several JSON objects with different scores")
    answer = {name: value for name, value in marked[-1].items() if name != "mark_code"}
    error = schema and next(Validation(schema, formats=False).iter_errors(answer), None)
    if error and error.validator == "not_validated":
        raise Unparsable(error.message[: 2 * _SHOWN])
    if error:
        place = "/".join(map(str, error.absolute_schema_path))  # of the schema, not of the answer
        raise Unparsable(f"it does not fit the schema at {place[: 2 * _SHOWN]}")
    texts = (answer.get("reasoning"), answer.get("reason"))
    reasoning = next((sendable(text) for text in texts if isinstance(text, str)), None)
    return float(answer["score"]), reasoning


def marked_objects(text: str | None, mark: str, name: str) -> list[dict[str, Any]]:
    """Find the JSON objects in an answer that have a member, and the mark of their question.

    Others are no answers: they may come from a document.
    """
    if text and len(text) > _LONGEST:
        raise Unparsable(f"it has {len(text):,} characters")
    if not text or not text.strip():
        raise Unparsable("it has no text")
    named = [value for value in json_objects(text) if name in value]
    what = "a score" if name == "score" else f'"{name}"'
    if not named:
        raise Unparsable(f"it contains no JSON object with {what}")
    marked = [value for value in named if value.get("mark_code") == mark]
    if not marked:
        raise Unparsable(f'it contains no JSON object with {what} and the "mark_code" {mark}')
    return marked


# --- which items of two lists belong together -----------------------------------------------------
_NUMBERS: Mapping[str, Any] = {"type": "array", "items": {"type": "integer"}}
#: What a model is asked to answer with.
ALIGNMENT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **MARK_SCHEMA,
        "pairs": {"type": "array", "items": _NUMBERS},
        "missed_gold": _NUMBERS,
        "spurious_predicted": _NUMBERS,
    },
    "required": ["mark_code", "pairs", "missed_gold", "spurious_predicted"],
    "additionalProperties": False,
}

#: Tokens that name one item in an answer, and that stand around all of them.
NAMED_ITEM, AROUND_ANSWER = 4, 64

_NUMBERED = re.compile(r"^\d+: ", re.MULTILINE)
#: What ends a line but is not a control character in JSON.
_LINE_ENDS = {ord(c): f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"}
_CUT = " […] "
_LONGEST_DESCRIPTION = 300
_MOST_CHARACTERS = 8  # a token; GPT-2's longest in JSON have fewer
_HIDDEN = {param.name for param in REGISTRY.get("string_llm").params} - {"pass_threshold"}
_PAIR = 2


def align_messages(
    node: Node,
    fields: str,
    gold: Mapping[int, str],
    predicted: Mapping[int, str],
    instructions: str | None = None,
) -> tuple[tuple[Message, ...], str]:
    """Ask which items belong together; also return the mark that the answer has to name."""
    about = {"field": node.field or "$", "description": _short(node.description)}
    texts = {"list": _json(_present(about)), "fields": fields}
    for side, items in (("gold_items", gold), ("predicted_items", predicted)):
        texts[side] = "\n".join(f"{index}: {text}" for index, text in items.items())
    mark = mark_of(texts)
    asked = [prompt_text("align", ALIGN_VERSION).format_map(quoted(texts))]
    if instructions:
        asked.append(prompt_text("instructions").format(instructions=instructions))
    form = prompt_text("align_format", ALIGN_VERSION)
    asked.append(form.format(structured_output_schema=canonical(ALIGNMENT_SCHEMA)))
    return _messages(prompt_text("align_system", ALIGN_VERSION), *asked, mark_request(mark)), mark


def describe_fields(node: Node, most_tokens: int) -> str:
    """Describe the fields of an item: type, description, metric and its params, one line each."""
    fields = _criteria(node)
    lines = [_json(field) for field in fields]
    if tokens_of(lines) > most_tokens:
        lines = [_json({k: v for k, v in f.items() if k != "description"}) for f in fields]
    if tokens_of(lines) > most_tokens:
        sizes = accumulate(tokens_of([line]) for line in lines)
        lines = [*lines[: sum(size <= most_tokens for size in sizes)], "…"]
    return "\n".join(lines)


def _criteria(node: Node) -> list[dict[str, Any]]:
    """Describe the scored fields of an item; of a choice, those of all its branches."""
    described: dict[str, dict[str, Any]] = {}
    stack = [node]
    while stack:
        at = stack.pop()
        if at.config is not None and not at.config.skip and at.field not in described:
            metrics = {
                spec.metric_id: {k: v for k, v in spec.params.items() if k not in _HIDDEN}
                for spec in at.config.metrics
            }
            field = at.field[len(node.field) :].lstrip(".") or "(the item)"
            known = {"field": field, "type": at.label, "compared_by": metrics}
            described[at.field] = _present(known | {"description": _short(at.description)})
        if not at.recursive or at is node:
            stack.extend(reversed(list(at.children)))
    return list(described.values())


def answer_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Estimate the tokens of an answer to `align_messages`, which names each item once."""
    items = sum(len(_NUMBERED.findall(m["content"])) for m in messages)
    return AROUND_ANSWER + NAMED_ITEM * items


def item_text(item: Any, most_tokens: int) -> tuple[str, int]:
    """Write an item as JSON in one line, cut in its middle if it is too long; count its tokens."""
    value = {"key": item.key, "item": item.item} if isinstance(item, MapItem) else item
    text = sendable(canonical(value)).translate(_LINE_ENDS)
    most = most_tokens * _MOST_CHARACTERS
    shown = _cut(text, most)
    while (tokens := count_tokens(shown)) > most_tokens and most > len(_CUT):
        most = min(most - 1, int(len(shown) * 0.9 * most_tokens / tokens))
        shown = _cut(text, most)
    return shown, tokens


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = max(0, most - len(_CUT))
    end = kept // 3
    return text[: kept - end] + _CUT + text[len(text) - end :]


def tokens_of(texts: Iterable[str]) -> int:
    """Count the tokens of lines, each with its number and line break."""
    return sum(count_tokens(text) + LINE_TOKENS for text in texts)


#: Tokens of the number, the colon and the line break around an item.
LINE_TOKENS = 6


def read_pairs(
    text: str | None, mark: str, gold: Collection[int], predicted: Collection[int]
) -> list[tuple[int, int]]:
    """Read which items belong together, and check it against what was shown."""
    answers = marked_objects(text, mark, "pairs")
    answer = answers[-1]
    if not isinstance(answer["pairs"], list):
        raise Unparsable('"pairs" is not a list')
    if any(value["pairs"] != answer["pairs"] for value in answers):
        raise Unparsable("it holds several JSON objects, and their pairs differ")
    pairs = list(dict.fromkeys(map(_pair, answer["pairs"])))
    sides = (("gold", gold, "missed_gold"), ("predicted", predicted, "spurious_predicted"))
    for place, (side, shown, unpaired) in enumerate(sides):
        listed, seen = answer.get(unpaired), set[int]()
        alone = set(map(_number, listed)) if isinstance(listed, list) else set()
        for index in (pair[place] for pair in pairs):
            if index not in shown:
                raise Unparsable(f"it pairs {side} item {str(index)[:20]}, which was not shown")
            if index in seen:
                raise Unparsable(f"{side} item {index} stands in two pairs")
            if index in alone:
                raise Unparsable(f"{side} item {index} is paired, and in {unpaired} as well")
            seen.add(index)
    return sorted(pairs)


def _pair(entry: Any) -> tuple[int, int]:
    if isinstance(entry, Mapping):
        entry = [entry.get("gold"), entry.get("predicted")]
    numbers = list(map(_number, entry)) if isinstance(entry, list) else []
    if len(numbers) != _PAIR or None in numbers:
        raise Unparsable('an entry of "pairs" is not a pair [gold number, predicted number]')
    return tuple(numbers)  # type: ignore[return-value]


def _number(value: Any) -> int | None:
    """Read a whole number, also one in quotes."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value.strip()[:20])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and value == value // 1 else None


def _short(text: str | None) -> str | None:
    long = text is not None and len(text) > _LONGEST_DESCRIPTION
    return text[:_LONGEST_DESCRIPTION] + "…" if text and long else text


def _json(value: Any) -> str:
    return sendable(json.dumps(value, ensure_ascii=False)).translate(_LINE_ENDS)
