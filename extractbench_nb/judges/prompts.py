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
from itertools import accumulate, takewhile
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
    texts = {
        "field": json.dumps(about, ensure_ascii=False),
        "gold": _value(question.gold, question.gold_state),
        "predicted": _value(question.predicted, question.predicted_state),
    }
    blocks, mark = quoted(texts), mark_of(texts)
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
    text += "\n\n" + mark_request(mark)
    return (message("system", prompt_text("system")), message("user", text)), mark


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
    joined = "\0".join(texts.values())
    mark = _hash(joined)
    while mark in joined:
        mark = _hash(mark + joined)
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


def _value(value: Any, state: str) -> str:
    return _MISSING if state == "missing" else canonical(value)


@cache
def prompt_text(
    name: str, version: str = PROMPT_VERSION, room: str = "", folder: str = "prompt_texts"
) -> str:
    """Return one of a room's texts of a version, without its last line break."""
    source = files(room or "extractbench_nb.judges") / folder / version / f"{name}.txt"
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
    texts = {
        "list": _json({k: v for k, v in about.items() if v is not None}),
        "fields": fields,
        "gold_items": _lines(gold),
        "predicted_items": _lines(predicted),
    }
    mark = mark_of(texts)
    text = prompt_text("align", ALIGN_VERSION).format_map(quoted(texts))
    if instructions:
        text += "\n\n" + prompt_text("instructions").format(instructions=instructions)
    schema = canonical(ALIGNMENT_SCHEMA)
    form = prompt_text("align_format", ALIGN_VERSION)
    text += "\n\n" + form.format(structured_output_schema=schema) + "\n\n" + mark_request(mark)
    system = prompt_text("align_system", ALIGN_VERSION)
    return (message("system", system), message("user", text)), mark


def describe_fields(node: Node, most_tokens: int) -> str:
    """Describe the fields of an item: type, description, metric and its params, one line each."""
    known = list(_criteria(node))
    lines = [_json(field) for field in known]
    if tokens_of(lines) > most_tokens:
        lines = [_json({k: v for k, v in f.items() if k != "description"}) for f in known]
    if tokens_of(lines) > most_tokens:
        sizes = accumulate(tokens_of([line]) for line in lines)
        fitting = takewhile(lambda sized: sized[1] <= most_tokens, zip(lines, sizes, strict=True))
        lines = [*(line for line, _ in fitting), "…"]
    return "\n".join(lines)


def _criteria(node: Node) -> Iterable[dict[str, Any]]:
    """Tell the scored places of an item; of a choice, those of all its branches."""
    found: dict[str, dict[str, Any]] = {}
    stack = [node]
    while stack:
        at = stack.pop()
        if at.config is not None and not at.config.skip and at.field not in found:
            known = {
                "field": at.field[len(node.field) :].lstrip(".") or "(the item)",
                "type": at.label,
                "compared_by": {
                    spec.metric_id: {k: v for k, v in spec.params.items() if k not in _HIDDEN}
                    for spec in at.config.metrics
                },
                "description": _short(at.description),
            }
            found[at.field] = {k: v for k, v in known.items() if v is not None}
        if not at.recursive or at is node:
            stack.extend(reversed(list(at.children)))
    return found.values()


def answer_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Estimate the tokens of an answer to `align_messages`, which names each item once."""
    items = sum(len(_NUMBERED.findall(m["content"])) for m in messages)
    return AROUND_ANSWER + NAMED_ITEM * items


def item_text(item: Any, most_tokens: int) -> tuple[str, int]:
    """Write an item as JSON in one line, cut in its middle where it is too long."""
    value = {"key": item.key, "item": item.item} if isinstance(item, MapItem) else item
    text = sendable(canonical(value)).translate(_LINE_ENDS)
    most = most_tokens * _MOST_CHARACTERS
    cut = _cut(text, most)
    while (tokens := count_tokens(cut)) > most_tokens and most > len(_CUT):
        most = min(most - 1, int(len(cut) * 0.9 * most_tokens / tokens))
        cut = _cut(text, most)
    return cut, tokens


def tokens_of(texts: Iterable[str]) -> int:
    """Count the tokens of lines, each with its number and line break."""
    return sum(count_tokens(text) + LINE_TOKENS for text in texts)


#: Tokens of the number, the colon and the line break around an item.
LINE_TOKENS = 6


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = max(0, most - len(_CUT))
    end = kept // 3
    return text[: kept - end] + _CUT + text[len(text) - end :]


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
    for place, (side, known, other) in enumerate(
        (("gold", gold, "missed_gold"), ("predicted", predicted, "spurious_predicted"))
    ):
        shown, alone, seen = set(known), _numbers(answer, other), set[int]()
        for index in (pair[place] for pair in pairs):
            if index not in shown:
                raise Unparsable(f"it pairs {side} item {str(index)[:20]}, which was not shown")
            if index in seen:
                raise Unparsable(f"{side} item {index} stands in two pairs")
            if index in alone:
                raise Unparsable(f"{side} item {index} is paired, and in {other} as well")
            seen.add(index)
    return sorted(pairs)


def _pair(entry: Any) -> tuple[int, int]:
    if isinstance(entry, Mapping):
        entry = [entry.get("gold"), entry.get("predicted")]
    if isinstance(entry, list) and len(entry) == _PAIR:
        one, two = map(_number, entry)
        if one is not None and two is not None:
            return one, two
    raise Unparsable('an entry of "pairs" is not a pair [gold number, predicted number]')


def _numbers(answer: Mapping[str, Any], name: str) -> set[int]:
    value = answer.get(name)
    found = [_number(entry) for entry in value] if isinstance(value, list) else []
    return {number for number in found if number is not None}


def _number(value: Any) -> int | None:
    """Read a whole number, also one in quotes."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value.strip()[:20])
    is_whole = (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    )
    return int(value) if is_whole else None


def _lines(items: Mapping[int, str]) -> str:
    return "\n".join(f"{index}: {text}" for index, text in items.items())


def _short(text: str | None) -> str | None:
    long = text is not None and len(text) > _LONGEST_DESCRIPTION
    return text[:_LONGEST_DESCRIPTION] + "…" if text and long else text


def _json(value: Any) -> str:
    return sendable(json.dumps(value, ensure_ascii=False)).translate(_LINE_ENDS)
