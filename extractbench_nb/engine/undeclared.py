"""Keys of a document that the schema does not declare: not scored, and never overlooked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from extractbench_nb._json import bracketed, member
from extractbench_nb.engine.pairing import holds_something, resolve_union
from extractbench_nb.schema.nodes import Node
from extractbench_nb.schema.states import MISSING

__all__ = ["count_leaves", "declared_share", "leaves", "undeclared"]


class Part(NamedTuple):
    """A part of a document that its schema does not declare, and what gold has in its place."""

    path: str
    value: Any
    gold: Any
    reason: str = "undeclared"


_At = tuple[Node, Part]


def undeclared(node: Node, value: Any, gold: Any, *, compared: bool = False) -> Iterator[Part]:
    """Find the parts of a document that its schema does not declare."""
    stack: list[_At] = [(node, Part("", value, gold))]
    while stack:
        at, part = stack.pop()
        if at.kind == "union" and part.value is not None:
            at = resolve_union(at, part.gold, part.value)
        if at.kind == "array":
            if not compared:
                stack.extend(_array_items(at, part))
        elif isinstance(part.value, dict) and at.kind == "object":
            for below, inner in _members(at, part):
                if below is None:
                    yield inner
                else:
                    stack.append((below, inner))
        elif compared and _has_no_row(at, part):
            yield part._replace(reason="type_mismatch")


def _has_no_row(at: Node, part: Part) -> bool:
    """Whether a value stands where the schema has null, or an object and gold has nothing."""
    unscored = at.kind in ("object", "null") and at.config is None
    scored = at.kind == "object" and holds_something(part.gold)
    return unscored and not scored and holds_something(part.value)


def _members(at: Node, part: Part) -> Iterator[tuple[Node | None, Part]]:
    """Yield what stands under each key, with its node; None where the schema has none."""
    below = at.children
    gold = part.gold if isinstance(part.gold, dict) else {}
    for key, value in part.value.items():
        is_property = key in below.properties
        child = below.properties[key] if is_property else below.entry(key)
        step = member(str(key)) if is_property or child is None else bracketed(str(key))
        yield child, Part(part.path + step, value, gold.get(key, MISSING))


def _array_items(at: Node, part: Part) -> Iterator[_At]:
    if not (at.flattened and isinstance(part.value, dict)):
        yield from _items(at, part)
        return
    gold = part.gold if isinstance(part.gold, dict) else {}
    for key, value in part.value.items():
        path = part.path + bracketed(str(key))
        yield from _items(at, Part(path, value, gold.get(key, MISSING)))


def _items(at: Node, part: Part) -> Iterator[_At]:
    if not isinstance(part.value, list):
        return
    prefix, items = at.children.prefix, at.children.items
    for i, value in enumerate(part.value):
        node = prefix[i] if i < len(prefix) else items
        if node is not None and isinstance(value, dict | list):
            gold = value if part.gold is part.value else MISSING
            yield node, Part(f"{part.path}[{i}]", value, gold)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of every scalar below a value that is not null."""
    stack = [(path, value)]
    while stack:
        here, top = stack.pop()
        if isinstance(top, dict):
            stack.extend((here + member(str(k)), v) for k, v in reversed(list(top.items())))
        elif isinstance(top, list | tuple):
            stack.extend((f"{here}[{i}]", top[i]) for i in reversed(range(len(top))))
        elif top is not None:
            yield here, top


def count_leaves(value: Any) -> int:
    """Count the scalars below a value that are not null."""
    count, stack = 0, [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            stack.extend(top.values())
        elif isinstance(top, list | tuple):
            stack.extend(top)
        elif top is not None:
            count += 1
    return count


def declared_share(node: Node, value: Any) -> float:
    """Return the share of a document's leaves that its schema declares."""
    total = count_leaves(value)
    unknown = sum(count_leaves(part) for _, part, *_ in undeclared(node, value, value))
    return (total - unknown) / total if total else 1.0
