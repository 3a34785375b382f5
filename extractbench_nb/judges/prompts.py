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
from extractbench_nb.core.schema import Node
from extractbench_nb.core.text import Question
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import ConfigError, nearest
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

# --- texts and marks ------------------------------------------------------------------------------


@cache
def prompt_text(
    name: str, version: str = PROMPT_VERSION, room: str = "", folder: str = "prompt_texts"
) -> str:
    """Return one of a room's texts of a version, without its last line break."""
    source = files(room or "extractbench_nb.judges") / folder / version / f"{name}.txt"
    return source.read_text(encoding="utf-8").rstrip("\n")


def sendable(text: str) -> str:
    """Escape lone surrogates, which a request cannot contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def message(role: str, text: str) -> Message:
    """Make a message that can be sent."""
    return {"role": role, "content": sendable(text)}


def mark_of(texts: Mapping[str, str]) -> str:
    """Return the hash in the marks around texts, which occurs in none of them."""
    joined, mark = "\0".join(texts.values()), ""
    while mark in joined:  # as the empty one is
        data = (mark + joined).encode("utf-8", "surrogatepass")
        mark = hashlib.sha256(data).hexdigest()[:_MARK_LENGTH]
    return mark


def quoted(texts: Mapping[str, str]) -> dict[str, str]:
    """Put texts between marks that occur in none of them."""
    mark = mark_of(texts)
    return {name: f"<{name}-{mark}>\n{text}\n</{name}-{mark}>" for name, text in texts.items()}


def mark_request(mark: str) -> str:
    """Ask that an answer names a mark."""
    return prompt_text("mark").format(mark=mark)


def template_problem(template: str, allowed: Sequence[str], *needed: str) -> str:
    """Say what is wrong with the placeholders of a template; empty if nothing is."""
    try:
        names = placeholders_of(template, allowed)
        lacking = [f"{{{name}}}" for name in needed if name not in names]
        problem = f"it lacks {' and '.join(lacking)}" if lacking else ""
    except ValueError as error:
        problem = str(error)
    return problem and f"{problem}. Allowed are {', '.join(f'{{{name}}}' for name in allowed)}"


def placeholders_of(template: str, allowed: Collection[str]) -> frozenset[str]:
    """Find the placeholders of a text that is a template; braces around others are an error."""
    try:
        parts = [part[1:] for part in string.Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise ValueError(f"it has a single brace ({error}); write {{{{ and }}}}") from None
    for name, form, conversion in parts:
        if name not in allowed or form or conversion:
            raise ValueError(f"{{{name}}} is unknown or has a format; {nearest(name, allowed)}")
    return frozenset(str(part[0]) for part in parts)


def check_template(template: Any) -> None:
    """Check a ``prompt_template``, if there is one, and its placeholders."""
    if template is None:
        return
    if not isinstance(template, str) or not template.strip():
        raise ConfigError(None, f"prompt_template is {template!r}; expected a text")
    if problem := template_problem(template, PLACEHOLDERS, "gold", "predicted"):
        raise ConfigError(None, f"prompt_template: {problem}")


# --- a verdict on two values ----------------------------------------------------------------------
MARK_SCHEMA: Mapping[str, Any] = {"mark_code": {"type": "string"}}
#: The schema of a verdict.
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


def judge_messages(
    question: Question, *, template: str | None = None, instructions: str | None = None
) -> tuple[tuple[Message, ...], str]:
    """Compose the messages of a question; also return the mark that its answer has to name."""
    details = {name: getattr(question, name) for name in _ABOUT}
    texts = {"field": json.dumps(_present(details), ensure_ascii=False)}
    for side in ("gold", "predicted"):
        absent = details[f"{side}_state"] == "missing"
        texts[side] = _MISSING if absent else canonical(getattr(question, side))
    task = question.metric if question.metric in ("string_semantic", "string_llm") else "other"
    parts = {"task": prompt_text(task), "structured_output_schema": canonical(ANSWER_SCHEMA)}
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


def ask_again(
    messages: Iterable[Mapping[str, Any]], answer: str | None, problem: str
) -> tuple[Mapping[str, Any], ...]:
    """Continue a conversation after an answer that cannot be read."""
    answer = answer[:_LONGEST_AGAIN] if answer else ""
    said = [message("assistant", answer)] if answer.strip() else []
    return (*messages, *said, message("user", prompt_text("again").format(problem=problem)))


# --- answers --------------------------------------------------------------------------------------
_LONGEST = 200_000
_SHOWN = 80


class Unparsable(Exception):  # noqa: N818 - callers convert it to a `JudgeError`
    """An answer without a readable score; the message says what is missing.

    The message goes back to the model outside of any marks, so it quotes no text of the answer,
    which may come from a document.
    """


def json_objects(text: str) -> list[dict[str, Any]]:
    """Find the JSON objects in a text that are not part of another one; each key occurs once.

    The search goes on where reading fails, so that the time grows with the length alone.

    Examples
    --------
    >>> json_objects('So: {"score": 0.9} or {"score": 1')
    [{'score': 0.9}]
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_each_once)
    objects, end = [], 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
            objects.append(value)
        except json.JSONDecodeError as error:
            end = max(error.pos, start + 1)
        except ValueError:  # a duplicate key, or a number of too many digits
            end = start + 1
        except RecursionError:
            break
    return objects


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("duplicate key")
    return value


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
    if any(value[name] != marked[0][name] for value in marked[1:]):
        raise Unparsable(f"it contains several JSON objects, which differ in {what}")
    return marked


def read_answer(text: str | None, mark: str) -> tuple[float, str | None]:
    """Read from an answer a score in [0, 1], and the reasoning where it has one."""
    answer = marked_objects(text, mark, "score")[-1]
    score = answer["score"]
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if not is_number or not 0 <= score <= 1:
        shown = cut(repr(score), _SHOWN) if is_number else f"a {type(score).__name__}"
        raise Unparsable(f"its score is {shown}; expected a number from 0 to 1")
    reasoning = answer.get("reasoning")
    return float(score), sendable(reasoning) if isinstance(reasoning, str) else None


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
#: Tokens of the number, the colon and the line break around an item.
LINE_TOKENS = 6

_NUMBERED = re.compile(r"^\d+: ", re.MULTILINE)
#: What ends a line but is not a control character in JSON.
_LINE_ENDS = {ord(c): f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"}
_CUT = " […] "
_LONGEST_DESCRIPTION = 301
_MOST_CHARACTERS = 8  # a token; GPT-2's longest in JSON have fewer
_HIDDEN = {param.name for param in REGISTRY.get("string_llm").params} - {"pass_threshold"}


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
    """Describe the scored fields of an item, one line each: type, description, metric, params.

    Of a choice, those of all its branches. What does not fit is left out: descriptions first.
    """
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
    lines = list(map(_json, described.values()))
    if tokens_of(lines) > most_tokens:
        fields = described.values()
        lines = [_json({k: v for k, v in one.items() if k != "description"}) for one in fields]
    if tokens_of(lines) > most_tokens:
        sizes = accumulate(tokens_of([line]) for line in lines)
        lines = [*lines[: sum(size <= most_tokens for size in sizes)], "…"]
    return "\n".join(lines)


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


def read_pairs(
    text: str | None, mark: str, gold: Collection[int], predicted: Collection[int]
) -> list[tuple[int, int]]:
    """Read which items belong together, and check it against what was shown."""
    pairs = marked_objects(text, mark, "pairs")[-1]["pairs"]
    if not isinstance(pairs, list):
        raise Unparsable('"pairs" is not a list')
    for pair in pairs:
        if not isinstance(pair, list) or list(map(type, pair)) != [int, int]:
            raise Unparsable('an entry of "pairs" is not a pair [gold number, predicted number]')
    for place, (side, shown) in enumerate((("gold", gold), ("predicted", predicted))):
        seen = set[int]()
        for index in (pair[place] for pair in pairs):
            if index not in shown:
                raise Unparsable(f"it pairs {side} item {str(index)[:20]}, which was not shown")
            if index in seen:
                raise Unparsable(f"{side} item {index} stands in two pairs")
            seen.add(index)
    return sorted((i, j) for i, j in pairs)


def _short(text: str | None) -> str | None:
    return text and cut(text, _LONGEST_DESCRIPTION)


def _json(value: Any) -> str:
    return sendable(json.dumps(value, ensure_ascii=False)).translate(_LINE_ENDS)
