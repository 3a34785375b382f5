"""Placeholders, and items of arrays: duplicates, contradictions, names cut in two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from extractbench_nb._json import canonical, json_text
from extractbench_nb.benchmark.audit.kinds import Finding
from extractbench_nb.benchmark.audit.places import Place, Subject
from extractbench_nb.coverage import leaves
from extractbench_nb.metrics.text import fold, is_placeholder, normalize
from extractbench_nb.schema.nodes import Node

__all__ = [
    "INDEX_KEYS",
    "find_duplicates",
    "find_placeholders",
    "find_split_items",
]

_QUOTED = re.compile(r"['\"‘“`]([^'\"’”`]{1,20})['\"’”`]")
INDEX_KEYS = frozenset(("array_index", "index"))
_MIN_SHARED = 3
_MAX_TAIL = 3


def find_placeholders(subject: Subject) -> Iterator[Finding]:
    """Find words that stand for nothing (``NA``, ``unknown``, ``-``), unless the schema has them.

    A schema has such a word if it is its default, one of its constants or examples, or stands
    quoted in the description.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``placeholder``.
    """
    for place in subject.texts():
        if is_placeholder(place.value) and fold(place.value) not in _declared_words(place.node):
            message = f"{place.value!r} stands for nothing; the schema does not ask for it"
            better = _instead(place)
            yield Finding(place.path, place.field, "placeholder", message, place.value, better)


def _instead(place: Place) -> str | None:
    """Say what the schema has for nothing at this place."""
    if isinstance(place.parent, list):
        return "an empty array" if len(place.parent) == 1 else "no such item"
    if place.node is None or place.node.nullable:
        return "null"
    return None if place.node.required else "no such key"


def _declared_words(node: Node | None) -> frozenset[str]:
    if node is None:
        return frozenset()
    words: list[object] = []
    for one in (node, *node.children.branches):
        words += [one.keywords.get("default"), one.keywords.get("const")]
        for name in ("enum", "examples"):
            values = one.keywords.get(name)
            words += values if isinstance(values, list) else []
        words += _QUOTED.findall(one.description or "")
    return frozenset(fold(word) for word in words if isinstance(word, str))


def find_duplicates(subject: Subject) -> Iterator[Finding]:
    """Find items that equal an earlier item of their array, or contradict it in one number.

    Case, spacing and punctuation do not count, nor do running numbers of items. Two objects
    contradict each other if they differ in one number alone and share three values or more.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``duplicate_item`` or ``contradicting_item``; the message names the earlier item.
    """
    for place in subject.places:
        if isinstance(place.value, list) and len(place.value) > 1:
            yield from _repeated(place)


def _repeated(array: Place) -> Iterator[Finding]:
    seen: dict[Any, int] = {}
    for i, item in enumerate(array.value):
        path, field = f"{array.path}[{i}]", f"{array.field}[]"
        key = _identity(item)
        if key and key in seen:
            message = f"equals item {seen[key]} of the array"
            yield Finding(path, field, "duplicate_item", message, item)
            continue
        claims = list(_claims(item))
        for name, claim in claims:
            if claim in seen:
                message = f"differs from item {seen[claim]} of the array in nothing but {name!r}"
                other = json_text(array.value[seen[claim]][name])
                yield Finding(path, field, "contradicting_item", message, item, other)
                break
        for claim in (key, *(claim for _, claim in claims)):
            seen.setdefault(claim, i)


def _identity(item: Any) -> tuple[tuple[str, str], ...]:
    """Return the leaves of an item in a form that equal items share; empty for an empty item."""
    found = []
    for path, value in leaves(item):
        if path.rsplit(".", 1)[-1] not in INDEX_KEYS:
            text = normalize(value) if isinstance(value, str) else canonical(value)
            found.append((path, text))
    return tuple(sorted(found))


def _claims(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield each number's key in an object, and what the object says besides that number."""
    if not isinstance(item, dict):
        return
    for name, value in item.items():
        if type(value) in (int, float) and name not in INDEX_KEYS:
            rest = _identity({k: v for k, v in item.items() if k != name})
            if len(rest) >= _MIN_SHARED:
                yield name, (name, rest)


def find_split_items(subject: Subject) -> Iterator[Finding]:
    """Find text items that end the name begun in the item before them.

    An item of one to three words is one if the item before, joined with it, ends as another item
    of the array does: ``X, New York`` and ``Branch`` beside ``Y, New York Branch``.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``split_item``, with the joined item as the suggestion.
    """
    for place in subject.places:
        if isinstance(place.value, list) and len(place.value) > 2:  # noqa: PLR2004 - and a third
            texts = [v if isinstance(v, str) else "" for v in place.value]
            yield from _split_items(place, texts)


def _split_items(array: Place, texts: Sequence[str]) -> Iterator[Finding]:
    words = [normalize(text).split() for text in texts]
    for i in range(1, len(texts)):
        tail, before = words[i], words[i - 1]
        if not 0 < len(tail) <= _MAX_TAIL or len(before) < 2:  # noqa: PLR2004 - a name begun
            continue
        end = [before[-1], *tail]
        if any(w[-len(end) :] == end for j, w in enumerate(words) if j not in (i, i - 1)):
            message = f"looks like the end of item {i - 1}"
            joined = f"{texts[i - 1].strip()} {texts[i].strip()}"
            path, field = f"{array.path}[{i}]", f"{array.field}[]"
            yield Finding(path, field, "split_item", message, texts[i], joined)
