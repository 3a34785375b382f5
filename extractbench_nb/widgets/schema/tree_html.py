"""The static twin of a tree: nested ``<details>``."""

from __future__ import annotations

from collections.abc import Sequence

from extractbench_nb.widgets.schema.trees import TreeNode
from extractbench_nb.widgets.static import counts_html, element

__all__ = ["tree_html"]

_MOST_NODES = 600
#: Nested elements that a browser's parser keeps; what is deeper is listed at this level.
_DEEPEST = 200


def tree_html(nodes: Sequence[TreeNode], unfolded: int = 40) -> str:
    """Write a tree that folds without JavaScript.

    Parameters
    ----------
    nodes : sequence of TreeNode
        In document order.
    unfolded : int, optional
        How many nodes with children are unfolded at first.

    Returns
    -------
    str
        HTML; after 600 nodes it says how many more there are.
    """
    shown = nodes[:_MOST_NODES]
    folding = {node.parent for node in shown}
    parts: list[str] = []
    path: list[int] = []
    within: list[int | None] = []
    for at, node in enumerate(shown):
        holder = None if node.parent is None else within[node.parent]
        while path and path[-1] != holder:
            path.pop()
            parts.append("</details>")
        folds = at in folding and len(path) < _DEEPEST
        within.append(at if folds else holder)
        if folds:
            opened = " open" if unfolded > 0 else ""
            unfolded -= 1
            parts.append(f"<details{opened}><summary>{_label(node)}</summary>")
            path.append(at)
        else:
            parts.append(f'<div class="xb-leaf">{_label(node)}</div>')
    parts.append("</details>" * len(path))
    if len(nodes) > len(shown):
        parts.append(f"<p>… {len(nodes) - len(shown):,} more nodes</p>")
    return f'<div class="xb-tree">{"".join(parts)}</div>'


def _label(node: TreeNode) -> str:
    about = " · ".join((node.type, *node.notes))
    counts = counts_html(node.score, node.counts)
    return f"{element('b', node.name)} {element('span', about, 'xb-quiet')} {counts}"
