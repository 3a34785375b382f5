"""Gold against its schema: violations, wrong types, undeclared keys, empty required values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from extractbench_nb._json import json_type
from extractbench_nb.benchmark.audit.entries import INDEX_KEYS
from extractbench_nb.benchmark.audit.kinds import Finding
from extractbench_nb.benchmark.audit.places import Place, Subject
from extractbench_nb.coverage import undeclared
from extractbench_nb.evaluation.drift import violations
from extractbench_nb.schema.nodes import Node

__all__ = ["find_empty_required", "find_undeclared", "find_violations"]

_TYPE_KEYWORDS = frozenset(("type", "anyOf", "oneOf"))


def find_violations(subject: Subject) -> Iterator[Finding]:
    """Find what JSON Schema Draft 2020-12 forbids, wrong types told apart from the rest.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``schema_violation``, ``wrong_type`` or ``text_for_object``.
    """
    places = {place.path: place for place in subject.places}
    for path, keyword, message, value in violations(subject.schema, subject.gold):
        place = places.get(path)
        kind = _kind(keyword, value, place.node if place else None)
        field = place.field if place else ""
        if kind != "schema_violation" and place is not None and place.node is not None:
            told = f"found {_article(json_type(value))}, the schema has {place.node.label}"
        else:
            told = message
        yield Finding(path, field, kind, told, value, _as_declared(kind, value, place))


def _kind(keyword: str, value: Any, node: Node | None) -> str:
    if keyword not in _TYPE_KEYWORDS or node is None or json_type(value) in node.types:
        return "schema_violation"
    wants_object = "object" in node.types and not node.types & {"string", "array"}
    return "text_for_object" if isinstance(value, str) and wants_object else "wrong_type"


def _article(name: str) -> str:
    return "null" if name == "null" else f"an {name}" if name[0] in "aio" else f"a {name}"


def _as_declared(kind: str, value: Any, place: Place | None) -> str | None:
    """Suggest the same value as text, where a number stands for one."""
    if kind != "wrong_type" or place is None or place.node is None:
        return None
    number = json_type(value) == "number" and "string" in place.node.types
    return f'"{value}"' if number else None


def find_undeclared(subject: Subject) -> Iterator[Finding]:
    """Find keys that the schema does not know; what is below one is not told again.

    Where items of an array carry their own index, that is one finding for all of them.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``undeclared_key`` or ``item_index``.
    """
    paths = {"$" + p.path for p in undeclared(subject.schema.root, subject.gold, subject.gold)}
    indices: dict[str, list[Place]] = defaultdict(list)
    for place in subject.places:
        if place.path not in paths:
            continue
        if _is_item_index(place):
            indices[place.field].append(place)
        else:
            message = "the schema does not declare this key"
            yield Finding(place.path, place.field, "undeclared_key", message, place.value)
    for name, found in indices.items():
        message = f"{len(found)} items carry their own index, which the schema does not declare"
        yield Finding(found[0].path, name, "item_index", message, found[0].value)


def _is_item_index(place: Place) -> bool:
    """Say whether a value is the index, from 0 or 1, of the item that holds it."""
    index = re.search(r"\[(\d+)\]\.\w+\Z", place.path)
    return (
        index is not None
        and type(place.value) is int
        and place.value - int(index[1]) in (0, 1)
        and place.key in INDEX_KEYS
    )


def find_empty_required(subject: Subject) -> Iterator[Finding]:
    """Find required keys whose value is empty: ``""``, blanks, ``[]``, ``{}``.

    A null is a violation where the schema does not allow it, and an answer where it does.

    Parameters
    ----------
    subject : Subject
        The document.

    Yields
    ------
    Finding
        Of kind ``empty_required``.
    """
    for place in subject.places:
        if place.node is not None and place.node.required and _is_empty(place.value):
            message = f"required, and an empty {json_type(place.value)}"
            yield Finding(place.path, place.field, "empty_required", message, place.value)


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, dict | list) and not value
