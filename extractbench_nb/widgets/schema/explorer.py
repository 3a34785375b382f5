"""`SchemaExplorer`: the schema as a tree, with what an evaluation says of each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.errors import nearest
from extractbench_nb.schema.nodes import Schema
from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.schema.tree_html import tree_html
from extractbench_nb.widgets.schema.trees import TreeNode, node_key, schema_tree, tree_json
from extractbench_nb.widgets.static import element, twin
from extractbench_nb.widgets.view import Pane, View

__all__ = ["SchemaExplorer", "TreePane", "resolved_path"]


class TreePane(Pane):
    """The tree of a schema.

    Attributes
    ----------
    path : str
        Schema path of the chosen node, empty at first.
    selected : str
        What stands for it on the page.
    """

    _esm = asset("shared/dom.js", "shared/tree.js", "schema/explorer.js")
    _css = asset("shared/base.css", "shared/tree.css")

    path = traitlets.Unicode("")
    selected = traitlets.Unicode("").tag(sync=True)

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self._paths = {node_key(at, node): node.path for at, node in enumerate(nodes)}
        self._keys = {path: key for key, path in self._paths.items()}
        super().__init__()
        self.show(tree_json(nodes))

    @traitlets.observe("selected")
    def _chosen_on_the_page(self, change: Any) -> None:
        self.path = self._paths.get(change["new"], "")

    @traitlets.observe("path")
    def _chosen_in_python(self, change: Any) -> None:
        self.selected = self._keys.get(change["new"], "")


def resolved_path(nodes: Sequence[TreeNode], path: str) -> str:
    """Return the schema path of a node that is named by its schema path or its field.

    Parameters
    ----------
    nodes : sequence of TreeNode
        The tree.
    path : str
        ``$.properties.total`` or ``total``; empty for none.

    Returns
    -------
    str
        The schema path.

    Raises
    ------
    traitlets.TraitError
        There is no such node; the nearest names are given.
    """
    if not path or any(node.path == path for node in nodes):
        return path
    by_field = {node.field: node.path for node in reversed(nodes)}
    if path not in by_field:
        raise traitlets.TraitError(f"there is no node {path!r}; {nearest(path, list(by_field))}")
    return by_field[path]


class SchemaExplorer(View):
    """A schema as a tree.

    Parameters
    ----------
    schema : Schema
        The parsed schema.
    source : Evaluation, Evaluations, pandas.DataFrame or None, optional
        Gives every node its mean score and counts of outcomes.

    Attributes
    ----------
    selected_path : str
        Schema path of the chosen node, empty for none. A schema path or a field can be assigned.
    """

    selected_path = traitlets.Unicode("")

    def __init__(self, schema: Schema, source: Any = None) -> None:
        self._schema = schema
        self._nodes = schema_tree(schema, source)
        self._tree = TreePane(self._nodes)
        super().__init__([self._tree], layout=ipywidgets.Layout(width="100%"))
        traitlets.link((self, "selected_path"), (self._tree, "path"))

    @traitlets.validate("selected_path")
    def _known(self, proposal: Any) -> str:
        return resolved_path(self._nodes, proposal["value"])

    @property
    def selection(self) -> pd.DataFrame:
        """The chosen node and all below it, as rows of ``schema.to_frame()``; all without one."""
        frame = self._schema.to_frame()
        paths = frame["schema_path"]
        if not self.selected_path:
            return frame
        below = paths.str.startswith((self.selected_path + ".", self.selected_path + "["))
        return frame[(paths == self.selected_path) | below].reset_index(drop=True)

    def to_html(self) -> str:
        """Write the tree as HTML that folds without JavaScript, the chosen node named above.

        Returns
        -------
        str
            One element.
        """
        chosen = (
            element("p", f"Selected: {self.selected_path}", limit=400) if self.selected_path else ""
        )
        return twin(repr(self), chosen, tree_html(self._nodes))

    def __repr__(self) -> str:
        """Say how large the schema is."""
        deepest = int(self._schema.to_frame()["depth"].max())
        size = len(self._nodes)
        return f"Schema · {size} node{'' if size == 1 else 's'} · depth {deepest}"
