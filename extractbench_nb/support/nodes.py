"""The HTML tree of a view: drawn live in a page, and written as static HTML without scripts.

A tree is built by `h`. Text is text everywhere: escaped in static HTML, and ``textContent`` on a
live page; nothing that comes from a document is ever parsed as HTML.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple, TypeAlias

from extractbench_nb.support.wording import clean, document_json


class Html(str):
    """HTML that is written as it is: static HTML of this module, or a library's."""

    __slots__ = ()


class Node(NamedTuple):
    """An element: its tag, its attributes, and its children."""

    tag: str
    attributes: dict[str, Any]
    children: tuple[Child, ...]


Child: TypeAlias = Node | str
#: What can be given as children: any nesting of these; None is left out.
Content: TypeAlias = Node | str | Iterable[Any] | None

#: Attributes for the live page only, where they become ``data-`` attributes (see view.js):
#: ``do``, the event that a click or a change sends, and ``send``, the JSON value that it sends;
#: ``keys``, how the arrow keys move among the items below (``list``, ``tree`` or ``grid``), and
#: ``item``, one of these; ``row`` and ``column``, its place in a grid, whose own ``do`` sends the
#: place of a cell, and ``chosen``, JSON of its rows and columns, selects cells; ``follow``, arrow
#: keys choose the items that they go to;
#: ``edge``, the event of an arrow key at the end of a grid; ``escape``, the event of the Escape
#: key; ``fold``, what folds a summary; ``reveal``, scrolled into view when its value changes,
#: within its ``scroll``, whose text is that of others which scroll with it; ``pair``, marked while
#: the pointer is over another with the same value; ``found``, where Enter in a search box goes;
#: ``copy``, a text to copy; ``part``, the place of a part; ``spot``, a click sends its place within
#: the element, as shares of its width and height.
BEHAVIOUR = frozenset(
    "do send keys item row column chosen follow edge escape fold reveal scroll pair found "
    "copy part spot".split()
)
#: Elements that do nothing without a kernel.
_CONTROLS = frozenset({"button", "input", "select", "textarea"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
#: Elements whose text is no HTML; it is ours, never that of a document.
_CODE = frozenset({"script", "style"})
#: The attributes of static HTML; roles and states are for what can be operated, except on images.
_STATIC = frozenset(
    "class style colspan rowspan scope open src alt width height viewBox d x y x1 x2 y1 y2 cx "
    "cy r fill stroke points transform dir lang start".split()
)


def h(tag: str, *children: Content, **attributes: Any) -> Node:
    """Make an element.

    Parameters
    ----------
    tag : str
        Name of the element.
    *children : Node, str, iterable of these, or None
        What is inside; None is left out.
    **attributes
        Attributes; ``cls`` is the class, and ``_`` in a name stands for ``-``. None and False are
        left out. ``live=True`` leaves the element out of static HTML, ``static=True`` out of a live
        page; ``keep=True`` keeps the text of a button in static HTML. ``key`` tells siblings apart
        when a page is updated. Names in `BEHAVIOUR` tell a live page what the element does.
    """
    named = {
        "class" if name == "cls" else name.replace("_", "-"): value
        for name, value in attributes.items()
        if value is not None and value is not False
    }
    return Node(tag, named, tuple(_flat(children)))


def _flat(children: Iterable[Any]) -> Iterator[Child]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Node | str):
            yield child
        else:
            yield from _flat(child)


def wire(node: Node, parts: Mapping[str, str] | None = None) -> str:
    """Write a tree as ASCII JSON for a live page: ``[tag, attributes, child, ...]``.

    `parts` has the traits in which the page finds the parts.
    """
    return json.dumps(_wired(node, parts or {}), separators=(",", ":"))


def _wired(node: Node, parts: Mapping[str, str]) -> list[Any]:
    attributes = {}
    for name, value in node.attributes.items():
        if name == "send":
            attributes["data-send"] = json.dumps(document_json(value))
        elif name == "part":
            attributes["data-part"] = parts[value]
        elif name not in ("live", "keep"):
            shown = clean(value) if isinstance(value, str) else value
            attributes[f"data-{name}" if name in BEHAVIOUR else name] = shown
    inside = (
        clean(child) if isinstance(child, str) else _wired(child, parts)
        for child in node.children
        if isinstance(child, str) or "static" not in child.attributes
    )
    return [node.tag, attributes, *inside]


def static_html(
    node: Node,
    parts: Mapping[str, Node] | None = None,
    *,
    also: Container[str] = (),
    styles: Mapping[str, str] | None = None,
) -> str:
    """Write a tree as HTML that needs no script: without controls, and with all parts in place.

    A page of its own keeps attributes that a cell's output does without, as `also` says. `styles`
    are written into the elements of a tag or a class, for notebooks that drop style sheets; those
    of a class come before those of a tag.
    """
    attributes = node.attributes
    if styles:
        names = (node.tag, *str(attributes.get("class", "")).split())
        own = [styles[name] for name in reversed(names) if name in styles]
        if own and (style := _joined([attributes.get("style", ""), *own])):
            attributes = {**attributes, "style": style}
    if "live" in attributes or (node.tag in _CONTROLS and "keep" not in attributes):
        return ""
    part: str | None = attributes.get("part")
    children = (parts[part],) if part is not None and parts else node.children
    written = "".join(
        f' {name}="{escape(str(value))}"' if value is not True else f" {name}"
        for name, value in attributes.items()
        if name in _STATIC
        or name in also
        or (name in ("role", "aria-label") and attributes.get("role") == "img")
    )
    if node.tag in _VOID:
        return f"<{node.tag}{written}>"
    inside = "".join(
        (str(child) if node.tag in _CODE or isinstance(child, Html) else _escaped(child))
        if isinstance(child, str)
        else static_html(child, parts, also=also, styles=styles)
        for child in children
    )
    tag = "span" if node.tag in _CONTROLS else node.tag
    return f"<{tag}{written}>{inside}</{tag}>"


def _escaped(text: str) -> str:
    return escape(clean(text), quote=False)


def _joined(styles: Iterable[str]) -> str:
    """Join declarations; the first one of a property holds."""
    declared: dict[str, str] = {}
    for style in styles:
        for declaration in filter(None, style.split(";")):
            name, _, value = declaration.partition(":")
            declared.setdefault(name.strip(), value.strip())
    return ";".join(f"{name}:{value}" for name, value in declared.items())
