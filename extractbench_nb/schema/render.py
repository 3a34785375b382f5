"""The AST as a frame, as a text tree, and as HTML that folds without JavaScript."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._html import STYLE, document_text
from extractbench_nb._json import json_text
from extractbench_nb.schema.nodes import Node, Schema, goes_below

__all__ = [
    "SCHEMA_COLUMNS",
    "params_text",
    "schema_frame",
    "schema_html",
    "schema_text",
    "shown_metric",
    "shown_nodes",
]

SCHEMA_COLUMNS = FrameSpec(
    "schema",
    "one row a node of the schema",
    (
        Column("schema_path", "string", "where the node stands, `$.properties.a.items`"),
        Column("field", "string", "instance path without indices, `a[].b`; `$` is the root"),
        Column("type", "string", "type as the schema says, `integer | null`"),
        Column("depth", "int64", "nesting depth; items are one level deeper", "0 and up"),
        Column("required", "bool", "whether the parent requires the key"),
        Column("nullable", "bool", "whether null is allowed"),
        Column("metric", "string", "metric id(s), joined by ` + `", nullable=True),
        Column("params", "object", "params of the metric, a dict (a list of dicts for several)"),
        Column("description", "string", "the schema's own words", nullable=True),
    ),
)


def schema_frame(schema: Schema) -> pd.DataFrame:
    """List the nodes of a schema; see :meth:`Schema.to_frame`."""
    nodes = [row.node for row in shown_nodes(schema)]
    return SCHEMA_COLUMNS.build(
        {
            "schema_path": [n.schema_path for n in nodes],
            "field": [n.field or "$" for n in nodes],
            "type": [n.label for n in nodes],
            "depth": [n.depth for n in nodes],
            "required": [n.required for n in nodes],
            "nullable": [n.nullable for n in nodes],
            "metric": [shown_metric(n) for n in nodes],
            "params": [_params(n) for n in nodes],
            "description": [n.description for n in nodes],
        }
    )


class Shown(NamedTuple):
    """One row of a schema's views: the place of the row above it, its name, and the rows below.

    ``folded`` says that a recursive reference is not unfolded here.
    """

    node: Node
    parent: int | None
    name: str
    folded: bool
    below: list[int]


def shown_nodes(schema: Schema) -> list[Shown]:
    """List the nodes that get a row: all but scalar branches, in schema order.

    Parameters
    ----------
    schema : Schema
        The parsed schema.

    Returns
    -------
    list of Shown
        The root first. A union of one branch and null is shown as that branch; a recursive
        reference is unfolded where its definition was not met yet.
    """
    rows: list[Shown] = []
    met: set[frozenset[str]] = set()
    stack: list[tuple[Node, int | None, str]] = [(schema.root, None, "$")]
    while stack:
        node, parent, name = stack.pop()
        at = len(rows)
        below = _shown_children(node, met)
        rows.append(Shown(node, parent, name, below is None, []))
        if parent is not None:
            rows[parent].below.append(at)
        named = [
            (child, at, name) for child, name in zip(below or [], _names(below or []), strict=True)
        ]
        stack.extend(reversed(named))
    return rows


def _shown_children(node: Node, met: set[frozenset[str]]) -> list[Node] | None:
    """Return the nodes that have a row below this one; None where it is not unfolded."""
    if not goes_below(node, met):
        return None
    if node.kind != "union":
        return list(node.children)
    branches = [b for b in node.children.branches if b.kind != "null"]
    if len(branches) == 1:
        return _shown_children(branches[0], met)
    return [b for b in branches if b.kind in ("object", "array", "union")]


def _names(rows: list[Node]) -> list[str]:
    """Return the names of sibling rows; branches of one type get what tells them apart."""
    alike = Counter((node.field, node.name, node.label) for node in rows)
    names = []
    for node in rows:
        several = alike[node.field, node.name, node.label] > 1
        names.append(f"{node.name} ({_called(node)})" if several else node.name)
    counts = Counter(names)
    return [
        f"{name} {place}" if counts[name] > 1 and node.name != name else name
        for place, (node, name) in enumerate(zip(rows, names, strict=True))
    ]


def _called(branch: Node) -> str:
    """Return the title of a branch, else its constant key, else the definition it refers to."""
    title = branch.keywords.get("title")
    if isinstance(title, str):
        return title
    for name, child in branch.children.properties.items():
        if "const" in child.keywords:
            return f"{name} = {json_text(child.keywords['const'])}"
    return (branch.ref or branch.schema_path).rpartition("/" if branch.ref else ".")[2]


def shown_metric(node: Node) -> str | None:
    """Return the node's metric ids as one text, None where the node is not scored."""
    if node.config is None:
        return None
    return " + ".join(spec.metric_id for spec in node.config.metrics)


def _params(node: Node) -> Any:
    params = [dict(s.params) for s in node.config.metrics] if node.config is not None else [{}]
    return params[0] if len(params) == 1 else params


def schema_text(schema: Schema, max_lines: int = 400) -> str:
    """Draw the tree with box characters, at most `max_lines` lines."""
    rows = shown_nodes(schema)
    lines: list[str] = []
    indents = [""] * len(rows)
    for at, row in enumerate(rows[:max_lines]):
        lead = ""
        if row.parent is not None:
            last = rows[row.parent].below[-1] == at
            lead = indents[row.parent] + ("└─ " if last else "├─ ")
            indents[at] = indents[row.parent] + ("   " if last else "│  ")
        lines.append(lead + _line(row))
    if len(rows) > max_lines:
        lines.append(f"… {len(rows) - max_lines} more nodes; .to_frame() lists them all")
    return "\n".join(lines)


def _line(row: Shown) -> str:
    node = row.node
    head = f"$ {node.label}" if row.parent is None else f"{row.name}: {node.label}"
    return " · ".join([head, *_notes(row)])


def _notes(row: Shown) -> list[str]:
    node, notes = row.node, []
    if row.folded:
        notes.append(f"↻ {node.ref}")
    if node.required and node.field and node.name != "[]":
        notes.append("required")
    metric = shown_metric(node)
    if metric is not None:
        notes.append(metric + params_text(node))
    return notes


def params_text(node: Node) -> str:
    """Return the declared params of a node's metric as one text, empty where there are none."""
    declared = node.config is not None and node.declared and len(node.config.metrics) == 1
    params = dict(node.config.metrics[0].params) if declared and node.config is not None else {}
    if not params:
        return ""
    return "(" + ", ".join(f"{key}={value!r}" for key, value in params.items()) + ")"


def schema_html(schema: Schema, open_nodes: int = 60) -> str:
    """Draw the tree as nested ``<details>``; the first `open_nodes` are unfolded."""
    rows = shown_nodes(schema)
    head = f"Schema · {len(rows)} nodes · depth {max(row.node.depth for row in rows)}"
    budget = [open_nodes]
    body = _html_node(rows, 0, budget)
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{escape(head)}</div>'
        f'<div class="xb-tree">{body}</div></div>'
    )


def _html_node(rows: list[Shown], at: int, budget: list[int]) -> str:
    label = _html_label(rows[at])
    if not rows[at].below:
        return f'<div class="xb-leaf">{label}</div>'
    budget[0] -= 1
    unfolded = " open" if budget[0] >= 0 else ""
    inner = "".join(_html_node(rows, child, budget) for child in rows[at].below)
    return f"<details{unfolded}><summary>{label}</summary>{inner}</details>"


def _html_label(row: Shown) -> str:
    node = row.node
    name = document_text(row.name if node.field else "$")
    parts = [f"<b>{name}</b>", f'<span class="xb-type">{document_text(node.label)}</span>']
    if row.folded:
        parts.append(f'<span class="xb-note">↻ {document_text(str(node.ref))}</span>')
    if node.required and node.field and node.name != "[]":
        parts.append('<span class="xb-note">required</span>')
    metric = shown_metric(node)
    if metric is not None:
        shown = metric + params_text(node)
        parts.append(f'<code class="xb-metric">{document_text(shown)}</code>')
    if node.description:
        parts.append(f'<span class="xb-desc">{document_text(node.description, 120)}</span>')
    return " ".join(parts)
