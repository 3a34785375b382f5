"""`SchemaExplorer`: the schema as a tree, with the results of an evaluation at each node."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import traitlets

from extractbench_nb.display.html import element
from extractbench_nb.display.text import one_line, plural
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.schema.nodes import Schema, Shown, params_text, shown_metric, shown_nodes
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.widgets import view as ui
from extractbench_nb.widgets.static import counts_html, more, twin

_LONGEST_NAME = 120
_LONGEST_NOTE = 160
_LONGEST_ABOUT = 400
_LONGEST_PATH = 1000
_STEP = re.compile(r"\.|\[")


class TreeNode(NamedTuple):
    """One row of the tree; `parent` is the place of the node above it, None at the root."""

    path: str
    field: str
    parent: int | None
    name: str
    type: str
    notes: tuple[str, ...]
    about: str
    score: float | None
    counts: tuple[tuple[str, int], ...]


def schema_tree(schema: Schema, source: object = None) -> list[TreeNode]:
    """List the nodes of a schema in document order."""
    listed = shown_nodes(schema)
    paths = {row.node.schema_path for row in listed}
    found = {} if source is None else tallies(paths, rows_of_schema(schema, paths, source))
    below = [0] * len(listed)  # the number of nodes below each node
    for at in range(len(listed) - 1, 0, -1):
        parent = listed[at].parent
        if parent is not None:
            below[parent] += below[at] + 1
    return [
        TreeNode(
            row.node.schema_path,
            row.node.field or "$",
            row.parent,
            one_line(row.name if row.node.field else "$", _LONGEST_NAME),
            one_line(row.node.label, _LONGEST_NAME),
            tuple(one_line(note, _LONGEST_NOTE) for note in _notes(row, below[at])),
            one_line(row.node.description or "", _LONGEST_ABOUT),
            *found.get(row.node.schema_path, (None, ())),
        )
        for at, row in enumerate(listed)
    ]


def _notes(row: Shown, below: int) -> list[str]:
    node = row.node
    notes = [plural(below, "node")] if below else []
    if node.required and node.field and node.name != "[]":
        notes.append("required")
    if node.nullable:
        notes.append("nullable")
    metric = shown_metric(node)
    if metric is not None:
        notes.append(metric + params_text(node))
    if node.ref is not None:
        notes.append(("↻ " if row.folded else "→ ") + node.ref)
    return notes


def rows_of_schema(schema: Schema, paths: set[str], source: object) -> pd.DataFrame:
    """Return the rows of `fields` that belong to a schema."""
    fields = gather(source, "fields")
    if isinstance(source, Evaluation) and source.schema.document != schema.document:
        raise InputError("the evaluation is of another schema; show(ev) shows it with its own")
    if "schema" not in fields.columns:
        return fields
    groups = dict(iter(fields.groupby("schema", sort=False)["schema_path"]))
    fitting = [
        name
        for name, found in groups.items()
        if all(path == "$" or len(_lineage(path, paths)) > 1 for path in found.dropna().unique())
    ]
    if len(fitting) == 1:
        kept: pd.DataFrame = fields[fields["schema"] == fitting[0]]
        return kept
    names = ", ".join(map(repr, list(groups)[:8]))
    problem = f"{len(fitting)} of them fit" if fitting else "none of them fits"
    raise InputError(
        f"the results are of the schemas {names}; {problem} this schema: keep the rows of one, "
        "evs.fields[evs.fields['schema'] == ...]"
    )


#: Mean score of the rows at a node and below it, and numbers of rows by outcome.
Tally = tuple[float | None, tuple[tuple[str, int], ...]]


def tallies(paths: set[str], source: object) -> dict[str, Tally]:
    """Sum up the rows of each node and of those below it."""
    rows = gather(source, "fields")[["schema_path", "outcome", "score", "counted"]]
    groups = rows.groupby(["schema_path", "counted", "outcome"], dropna=False, observed=True)
    sums = groups["score"].agg(["size", "count", "sum"]).reset_index()
    below: dict[bool, defaultdict[str, list[Any]]] = {c: defaultdict(list) for c in (False, True)}
    for row in sums.itertuples(index=False):
        for path in _lineage(row.schema_path, paths):
            below[bool(row.counted)][path].append(row)
    found = {}
    for path, parts in (below[False] | below[True]).items():
        outcomes: Counter[str] = Counter()
        for row in parts:
            outcomes[row.outcome] += int(row.size)
        judged = sum(int(row.count) for row in parts)
        score = sum(float(row.sum) for row in parts) / judged if judged else None
        found[path] = score, tuple((n, outcomes[n]) for n in OUTCOMES if outcomes[n])
    return found


def _lineage(schema_path: object, paths: set[str]) -> list[str]:
    """Return the nodes that a row counts for: its own or the nearest above, and all above that.

    A row without a schema path, an undeclared value, counts for the root.
    """
    if not isinstance(schema_path, str):
        return ["$"]
    ends = [m.start() for m in _STEP.finditer(schema_path)] + [len(schema_path)]
    return [schema_path[:end] for end in ends if schema_path[:end] in paths]


def node_key(at: int, node: TreeNode) -> str:
    """Return what stands for a node on the page: its schema path, or its place if that is long."""
    return node.path if len(node.path) <= _LONGEST_PATH else f"#{at}"


_MOST_NODES = 600
#: Nested elements that a browser's parser keeps; what is deeper is listed at this level.
_DEEPEST = 200


def tree_html(nodes: Sequence[TreeNode], unfolded: int = 40) -> str:
    """Write a tree that folds without JavaScript."""
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
    parts.append(more(len(nodes) - len(shown), "nodes"))
    return f'<div class="xb-tree">{"".join(parts)}</div>'


def _label(node: TreeNode) -> str:
    about = " · ".join((node.type, *node.notes))
    counts = counts_html(node.score, node.counts)
    return f"{element('b', node.name)} {element('span', about, 'xb-quiet')} {counts}"


class TreePane(
    ui.Pane, scripts=["shared/tree.js", "schema/explorer.js"], styles=["shared/tree.css"]
):
    """The tree of a schema; `selected` stands for the chosen node on the page, `path` elsewhere."""

    path = traitlets.Unicode("")
    selected = traitlets.Unicode("").tag(sync=True)

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self._paths = {node_key(at, node): node.path for at, node in enumerate(nodes)}
        self._keys = {path: key for key, path in self._paths.items()}
        super().__init__()
        rows = [
            node._replace(
                path=node_key(at, node),
                field=one_line(node.field, _LONGEST_ABOUT),
                score=None if node.score is None else round(node.score, 4),
            )
            for at, node in enumerate(nodes)
        ]
        self.show({"columns": TreeNode._fields, "rows": rows})

    @traitlets.observe("selected")
    def _chosen_on_the_page(self, change: Any) -> None:
        self.path = self._paths.get(change["new"], "")

    @traitlets.observe("path")
    def _chosen_in_python(self, change: Any) -> None:
        self.selected = self._keys.get(change["new"], "")


def resolved_path(nodes: Sequence[TreeNode], path: str) -> str:
    """Return the schema path of a node that is named by its schema path or its field."""
    if not path or any(node.path == path for node in nodes):
        return path
    by_field = {node.field: node.path for node in reversed(nodes)}
    if path not in by_field:
        raise traitlets.TraitError(f"there is no node {path!r}; {nearest(path, list(by_field))}")
    return by_field[path]


class SchemaExplorer(ui.View):
    """A schema as a tree.

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
        super().__init__([self._tree])
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
        """Write the tree as HTML that folds without JavaScript, the chosen node named above."""
        chosen = (
            element("p", f"Selected: {self.selected_path}", limit=400) if self.selected_path else ""
        )
        return twin(repr(self), chosen, tree_html(self._nodes))

    def __repr__(self) -> str:
        """Say how large the schema is."""
        deepest = int(self._schema.to_frame()["depth"].max())
        return f"Schema · {plural(len(self._nodes), 'node')} · depth {deepest}"
