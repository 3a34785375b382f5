"""The question about two lists of items, and how its answer is parsed and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any

from extractbench_nb.core import JUDGE_PARAMS, MapItem
from extractbench_nb.core.schema import Node
from extractbench_nb.core.values import canonical
from extractbench_nb.judges.prompts import (
    Message,
    Unparsable,
    message,
    objects,
    prompt_text,
    quoted,
    sendable,
)
from extractbench_nb.support.token_counts import count_tokens

_NUMBERS: Mapping[str, Any] = {"type": "array", "items": {"type": "integer"}}
#: What a model is asked to answer with.
ALIGNMENT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "pairs": {"type": "array", "items": _NUMBERS},
        "missed_gold": _NUMBERS,
        "spurious_predicted": _NUMBERS,
    },
    "required": ["pairs", "missed_gold", "spurious_predicted"],
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
_HIDDEN = {param.name for param in JUDGE_PARAMS} - {"pass_threshold"}
_PAIR = 2


def align_messages(
    node: Node,
    fields: str,
    gold: Mapping[int, str],
    predicted: Mapping[int, str],
    instructions: str | None = None,
) -> tuple[Message, ...]:
    """Write down the question which items belong together."""
    about = {"field": node.field or "$", "description": _short(node.description)}
    blocks = quoted(
        {
            "list": _json({k: v for k, v in about.items() if v is not None}),
            "fields": fields,
            "gold_items": _lines(gold),
            "predicted_items": _lines(predicted),
        }
    )
    text = prompt_text("align").format_map(blocks)
    if instructions:
        text += "\n\n" + prompt_text("instructions").format(instructions=instructions)
    schema = canonical(ALIGNMENT_SCHEMA)
    text += "\n\n" + prompt_text("align_format").format(structured_output_schema=schema)
    return (message("system", prompt_text("align_system")), message("user", text))


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


def answer_tokens(messages: Sequence[Message]) -> int:
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
    text: str | None, gold: Collection[int], predicted: Collection[int]
) -> list[tuple[int, int]]:
    """Read which items belong together, and check it against what was shown.

    Examples
    --------
    >>> read_pairs('{"pairs": [[0, 2]], "missed_gold": [1]}', range(2), range(3))
    [(0, 2)]
    """
    found = [value for value in objects(text) if isinstance(value.get("pairs"), list)]
    if not found:
        raise Unparsable('it holds no JSON object with a list "pairs"')
    if any(value["pairs"] != found[0]["pairs"] for value in found):
        raise Unparsable("it holds several JSON objects, and their pairs differ")
    pairs = list(dict.fromkeys(_pair(entry) for entry in found[-1]["pairs"]))
    for place, (side, known, other) in enumerate(
        (("gold", gold, "missed_gold"), ("predicted", predicted, "spurious_predicted"))
    ):
        shown, alone, seen = set(known), _numbers(found[-1], other), set[int]()
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
    raise Unparsable(f"{json.dumps(entry)[:80]} is not a pair [gold number, predicted number]")


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
    if text is None or len(text) <= _LONGEST_DESCRIPTION:
        return text
    return text[:_LONGEST_DESCRIPTION] + "…"


def _json(value: Any) -> str:
    return sendable(json.dumps(value, ensure_ascii=False)).translate(_LINE_ENDS)
