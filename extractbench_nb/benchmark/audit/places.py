"""A document as the audit walks it: every value with its path, its field and its schema node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb._json import bracketed, member
from extractbench_nb.pairing import resolve_union
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.values import MISSING

if TYPE_CHECKING:
    from extractbench_nb.benchmark.audit.pdftext import PdfText

__all__ = ["Place", "Subject", "walk"]


class Place(NamedTuple):
    """One value of a document.

    Attributes
    ----------
    path, field : str
        Instance path, and the same without indices: ``$.a[2].b``, ``a[].b``.
    node : Node or None
        The schema node; None where the schema does not declare it.
    value : object
        The value.
    parent : object
        The object or array that holds it; None at the root.
    key : str or int or None
        Its key or index there.
    """

    path: str
    field: str
    node: Node | None
    value: Any
    parent: Any = None
    key: str | int | None = None

    @property
    def definition(self) -> str:
        """What values of one meaning share: the JSON Pointer of the schema, else the key."""
        return self.name if self.node is None else f"#{self.node.pointer}"

    @property
    def name(self) -> str:
        """The last key on the way here, indices left out."""
        return self.field.removesuffix("[]").rsplit(".", 1)[-1]

    @property
    def is_text(self) -> bool:
        """Whether the value is a text with something in it."""
        return isinstance(self.value, str) and bool(self.value.strip())


@dataclass(frozen=True)
class Subject:
    """One document under audit.

    Attributes
    ----------
    schema : Schema
        The parsed schema.
    gold : object
        The gold JSON.
    places : tuple of Place
        Every value in it, in document order.
    pdf : PdfText or None
        The PDF's text; None without a PDF or without text in it.
    """

    schema: Schema
    gold: Any
    places: tuple[Place, ...]
    pdf: PdfText | None = None

    def texts(self) -> Iterator[Place]:
        """Walk the text values.

        Yields
        ------
        Place
            Those with something in them, in document order.
        """
        return (place for place in self.places if place.is_text)


def walk(schema: Schema, document: Any) -> Iterator[Place]:
    """Walk all values of a document, containers before what they hold.

    Parameters
    ----------
    schema : Schema
        The schema; parts that it does not declare are walked too.
    document : object
        The gold JSON.

    Yields
    ------
    Place
        In document order.
    """
    stack = [Place("$", "", schema.root, document)]
    while stack:
        place = stack.pop()
        yield place
        node = place.node
        if node is not None and node.kind == "union":
            node = resolve_union(node, place.value, MISSING)
        if isinstance(place.value, dict):
            stack.extend(reversed([_entry(place, node, k, v) for k, v in place.value.items()]))
        elif isinstance(place.value, list):
            items = enumerate(place.value)
            stack.extend(reversed([_item(place, node, i, v) for i, v in items]))


def _entry(place: Place, node: Node | None, key: Any, value: Any) -> Place:
    name = str(key)
    child, step, inner = None, member(name), member(name)
    if node is not None and name in node.children.properties:
        child = node.children.properties[name]
        step = inner = child.step
    elif node is not None and (node.flattened or node.children.entry(name) is not None):
        child, step, inner = node.children.entry(name), bracketed(name), ".*"
    field = (place.field + inner).removeprefix(".")
    return Place(place.path + step, field, child, value, place.value, name)


def _item(place: Place, node: Node | None, index: int, value: Any) -> Place:
    child = None
    if node is not None and node.kind == "array":
        prefix = node.children.prefix
        child = prefix[index] if index < len(prefix) else node.children.items
    path, field = f"{place.path}[{index}]", f"{place.field}[]"
    return Place(path, field, child, value, place.value, index)
