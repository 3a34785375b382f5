"""What of a document the schema does not know: keys that nobody scores, but nobody may overlook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extractbench_nb._json import bracketed, member
from extractbench_nb.pairing import resolve_union
from extractbench_nb.schema.nodes import Node
from extractbench_nb.values import MISSING

__all__ = ["count_leaves", "declared_share", "leaves", "undeclared"]


def undeclared(node: Node, value: Any, *, into_arrays: bool = True) -> Iterator[tuple[str, Any]]:
    """Find the parts of a document that its schema does not declare.

    Parameters
    ----------
    node : Node
        The schema node the value stands at.
    value : object
        A JSON value.
    into_arrays : bool, optional
        Whether to look into the items of arrays.

    Yields
    ------
    tuple of (str, object)
        Path below `value`, and what stands there; not descended into.
    """
    stack: list[tuple[Node, Any, str]] = [(node, value, "")]
    while stack:
        at, here, path = stack.pop()
        if isinstance(here, dict):
            at = resolve_union(at, here, MISSING) if at.kind == "union" else at
            stack.extend(_known(at, here, path))
            yield from _unknown(at, here, path)
        elif isinstance(here, list) and into_arrays:
            at = resolve_union(at, here, MISSING) if at.kind == "union" else at
            stack.extend(_items(at, here, path))


def _known(at: Node, here: dict[str, Any], path: str) -> list[tuple[Node, Any, str]]:
    if at.flattened and at.children.items is not None:
        items = at.children.items
        return [
            (items, x, f"{path}{bracketed(str(k))}[{i}]")
            for k, v in here.items()
            if isinstance(v, list)
            for i, x in enumerate(v)
        ]
    if at.kind != "object":
        return []
    below = at.children
    found = []
    for key, value in here.items():
        if key in below.properties:
            child = below.properties[key]
            found.append((child, value, path + child.step))
        elif below.additional is not None:
            found.append((below.additional, value, path + bracketed(str(key))))
    return found


def _unknown(at: Node, here: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    if at.kind != "object" or at.flattened:
        return
    below = at.children
    if below.additional is None:
        for key, value in here.items():
            if key not in below.properties:
                yield path + member(str(key)), value


def _items(at: Node, here: list[Any], path: str) -> list[tuple[Node, Any, str]]:
    if at.kind != "array":
        return []
    prefix, items = at.children.prefix, at.children.items
    found = []
    for i, value in enumerate(here):
        node = prefix[i] if i < len(prefix) else items
        if node is not None and isinstance(value, dict | list):
            found.append((node, value, f"{path}[{i}]"))
    return found


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
    """Return the share of a document's leaves that its schema declares.

    Parameters
    ----------
    node : Node
        The root of the schema.
    value : object
        The document.

    Returns
    -------
    float
        In [0, 1]; 1 for a document without leaves.
    """
    total = count_leaves(value)
    unknown = sum(count_leaves(part) for _, part in undeclared(node, value))
    return (total - unknown) / total if total else 1.0
