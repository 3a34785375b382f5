"""The AST as a frame, as a text tree, and as HTML that folds without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._html import STYLE, document_text
from extractbench_nb.schema.nodes import Node, Schema

__all__ = [
    "SCHEMA_COLUMNS",
    "params_text",
    "schema_frame",
    "schema_html",
    "schema_text",
    "shown_children",
    "shown_metric",
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
    nodes = list(_listed(schema.root))
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


def _listed(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(shown_children(node)))


def shown_children(node: Node) -> list[Node]:
    """Return the children that get a row: all but scalar branches, none below a recursive node.

    A union of one branch and null is shown as that branch.
    """
    if node.recursive:
        return []
    if node.kind != "union":
        return list(node.children)
    branches = [b for b in node.children.branches if b.kind != "null"]
    if len(branches) == 1:
        return shown_children(branches[0])
    return [b for b in branches if b.kind in ("object", "array", "union")]


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
    lines: list[str] = []
    stack: list[tuple[Node, str, str]] = [(schema.root, "", "")]
    total = 0
    while stack:
        node, lead, indent = stack.pop()
        total += 1
        if len(lines) < max_lines:
            lines.append(lead + _line(node))
        below = shown_children(node)
        for i, child in reversed(list(enumerate(below))):
            last = i == len(below) - 1
            bend, carry = ("└─ ", "   ") if last else ("├─ ", "│  ")
            stack.append((child, indent + bend, indent + carry))
    if total > len(lines):
        lines.append(f"… {total - len(lines)} more nodes; .to_frame() lists them all")
    return "\n".join(lines)


def _line(node: Node) -> str:
    head = f"$ {node.label}" if not node.field else f"{node.name}: {node.label}"
    notes = []
    if node.recursive:
        notes.append(f"↻ {node.ref}")
    if node.required and node.field and node.name != "[]":
        notes.append("required")
    metric = shown_metric(node)
    if metric is not None:
        notes.append(metric + params_text(node))
    return " · ".join([head, *notes])


def params_text(node: Node) -> str:
    """Return the declared params of a node's metric as one text, empty where there are none."""
    declared = node.config is not None and node.declared and len(node.config.metrics) == 1
    params = dict(node.config.metrics[0].params) if declared and node.config is not None else {}
    if not params:
        return ""
    return "(" + ", ".join(f"{key}={value!r}" for key, value in params.items()) + ")"


def schema_html(schema: Schema, open_nodes: int = 60) -> str:
    """Draw the tree as nested ``<details>``; the first `open_nodes` are unfolded."""
    nodes = list(_listed(schema.root))
    head = f"Schema · {len(nodes)} nodes · depth {max(n.depth for n in nodes)}"
    budget = [open_nodes]
    body = _html_node(schema.root, budget)
    return (
        f'<div class="xb-root">{STYLE}<div class="xb-title">{escape(head)}</div>'
        f'<div class="xb-tree">{body}</div></div>'
    )


def _html_node(node: Node, budget: list[int]) -> str:
    below = shown_children(node)
    label = _html_label(node)
    if not below:
        return f'<div class="xb-leaf">{label}</div>'
    budget[0] -= 1
    unfolded = " open" if budget[0] >= 0 else ""
    inner = "".join(_html_node(child, budget) for child in below)
    return f"<details{unfolded}><summary>{label}</summary>{inner}</details>"


def _html_label(node: Node) -> str:
    name = document_text(node.name if node.field else "$")
    parts = [f"<b>{name}</b>", f'<span class="xb-type">{document_text(node.label)}</span>']
    if node.recursive:
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
