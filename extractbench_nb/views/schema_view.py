"""`SchemaExplorer`: the schema as a tree, with the results of an evaluation at each node."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import traitlets

from extractbench_nb.core import OUTCOMES, Evaluation
from extractbench_nb.core.schema import Schema
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats import gather
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, plural, trimmed
from extractbench_nb.views import controls as ui
from extractbench_nb.views.static import score_text
from extractbench_nb.views.view import View, part

_LONGEST_NAME = 120
_LONGEST_NOTE = 160
_LONGEST_ABOUT = 400
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
    listed = schema.shown()
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


def _notes(row: Any, below: int) -> list[str]:
    node = row.node
    notes = [plural(below, "node")] if below else []
    if node.required and node.field and node.name != "[]":
        notes.append("required")
    if node.nullable:
        notes.append("nullable")
    if node.metric is not None:
        notes.append(node.metric + node.params_text)
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
    groups = {str(name): rows for name, rows in fields.groupby("schema", sort=False)}
    fitting = [
        rows
        for rows in groups.values()
        if all(
            len(_lineage(p, paths)) > 1 for p in rows["schema_path"].dropna().unique() if p != "$"
        )
    ]
    if len(fitting) == 1:
        return fitting[0]
    raise InputError(
        f"the results are of the schemas {', '.join(map(repr, [*groups][:8]))}; {len(fitting)} of "
        "them fit this schema: keep the rows of one, evs.fields[evs.fields['schema'] == ...]"
    )


#: Mean score of the rows at a node and below it, and numbers of rows by outcome.
Tally = tuple[float | None, tuple[tuple[str, int], ...]]


def tallies(paths: set[str], source: object) -> dict[str, Tally]:
    """Sum up the rows of each node and of those below it: those that count, if any does."""
    rows = gather(source, "fields")[["schema_path", "outcome", "score", "counted"]]
    names = sorted(paths)
    places = {path: at for at, path in enumerate(names)}
    lineages = rows["schema_path"].map(lambda p: [places[n] for n in _lineage(p, paths)])
    below = rows.assign(node=lineages).explode("node", ignore_index=True)
    counted = below["counted"].astype(bool)
    below = below[counted | ~counted.groupby(below["node"]).transform("any")]
    sizes = pd.crosstab(below["node"], below["outcome"])
    counts: dict[Any, Any] = sizes.reindex(columns=OUTCOMES, fill_value=0).to_dict("index")
    scores: dict[Any, Any] = below.groupby("node")["score"].mean().to_dict()
    return {
        names[node]: (
            None if pd.isna(score) else float(score),
            tuple((name, number) for name, number in counts[node].items() if number),
        )
        for node, score in scores.items()
    }


def _lineage(schema_path: object, paths: set[str]) -> list[str]:
    """Return the nodes that a row counts for: its own or the nearest above, and all above that.

    A row without a schema path, an undeclared value, counts for the root.
    """
    if not isinstance(schema_path, str):
        return ["$"]
    ends = [m.start() for m in _STEP.finditer(schema_path)] + [len(schema_path)]
    return [schema_path[:end] for end in ends if schema_path[:end] in paths]


def resolved_path(nodes: Sequence[TreeNode], path: str) -> str:
    """Return the schema path of a node that is named by its schema path or its field."""
    if not path or any(node.path == path for node in nodes):
        return path
    by_field = {node.field: node.path for node in reversed(nodes)}
    if path not in by_field:
        raise traitlets.TraitError(f"there is no node {path!r}; {nearest(path, list(by_field))}")
    return by_field[path]


#: Nodes that are drawn, besides those that a search finds; in static HTML; unfolded at first.
_MOST_DRAWN, _MOST_STATIC, _UNFOLDED = 2_000, 300, 40


class SchemaTree:
    """The nodes of a schema as a list that folds, to be drawn in a view."""

    def __init__(self, nodes: list[TreeNode]) -> None:
        self.nodes = nodes
        self._drawn: tuple[Any, Node] | None = None
        self._below: defaultdict[int | None, list[int]] = defaultdict(list)
        for at, node in enumerate(nodes):
            self._below[node.parent].append(at)
        self._unfolded: set[int] = set()  # level by level, while the tree fits a screen or two
        shown, queue = 1, self._below[None].copy()
        for at in queue:
            below = self._below[at]
            if below and (at == 0 or shown + len(below) <= _UNFOLDED):
                self._unfolded.add(at)
                shown += len(below)
                queue += below

    def found(self, text: str) -> list[int]:
        """Find nodes by name, type, metric or description."""
        wanted = text.strip().lower()
        if not wanted:
            return []
        return [
            at
            for at, node in enumerate(self.nodes)
            if wanted in "\n".join((node.field, node.type, *node.notes, node.about)).lower()
        ]

    def draw(self, chosen: str, hits: Sequence[int] = ()) -> Node:
        """Draw the tree, with what is above hits and the chosen node unfolded.

        The same tree again is the same object, which is not sent again.
        """
        asked = (chosen, tuple(hits))
        if self._drawn is None or self._drawn[0] != asked:
            self._drawn = asked, self._draw(chosen, set(hits))
        return self._drawn[1]

    def _draw(self, chosen: str, hits: set[int]) -> Node:
        place = next((at for at, node in enumerate(self.nodes) if node.path == chosen), None)
        opened, wanted = set(self._unfolded), set(sorted(hits)[:_MOST_DRAWN])
        wanted |= set() if place is None else {place}
        for found in list(wanted):
            above = self.nodes[found].parent
            while above is not None:
                opened.add(above)
                wanted.add(above)
                above = self.nodes[above].parent
        below = {
            holder: [at for at in inside if at < _MOST_DRAWN or at in wanted]
            for holder, inside in self._below.items()
        }

        def listed(holder: int | None) -> Node:
            return h("ul", [drawn_node(at) for at in below.get(holder, ())])

        def drawn_node(at: int) -> Node:
            node = self.nodes[at]
            current = "true" if at == place else None
            label = {
                "item": True,
                "do": "node",
                "send": at,
                "aria_current": current,
                "found": at in hits,
                "title": f"{one_line(node.field, _LONGEST_ABOUT)}\n{node.about}".strip(),
                "reveal": chosen if current else None,
            }
            inside = [h("span", cls="xb-fold", fold=bool(below.get(at))), _label(node, at in hits)]
            if below.get(at):
                line = h("details", h("summary", inside, **label), listed(at), open=at in opened)
            else:
                line = h("div", inside, cls="xb-leaf", role="button", **label)
            return h("li", line, key=at, live=True if at >= _MOST_STATIC else None)

        return h(
            "div",
            h("div", listed(None), cls="xb-nodes", keys="tree", scroll=True, id="nodes"),
            ui.more(len(self.nodes) - sum(map(len, below.values())), "nodes", live=True),
            ui.more(len(self.nodes) - _MOST_STATIC, "nodes", static=True),
            cls="xb-tree",
        )


def _label(node: TreeNode, marked: bool) -> list[Any]:
    about = " · ".join((node.type, *node.notes))
    return [
        h("b", h("mark", node.name, cls="xb-found") if marked else node.name, cls="xb-name"),
        h("span", f" {about} ", cls="xb-about"),
        h("span", score_text(node.score), " ", cls="xb-score") if node.counts else None,
        ui.bar(node.counts),
    ]


class SchemaExplorer(View):
    """A schema as a tree.

    Attributes
    ----------
    selected_path : str
        Schema path of the chosen node, empty for none. A schema path or a field can be assigned.
    text : str
        What the name, type, metrics or description of a node must contain to be marked.
    """

    kind = "schema"
    styles = ("tree.css",)
    settable = frozenset({"text"})
    selected_path = traitlets.Unicode("")
    text = traitlets.Unicode("")

    def __init__(self, schema: Schema, source: Any = None) -> None:
        self._schema = schema
        self._tree = SchemaTree(schema_tree(schema, source))
        super().__init__()

    @traitlets.validate("selected_path")
    def _known(self, proposal: Any) -> str:
        return resolved_path(self._tree.nodes, proposal["value"])

    def do_node(self, at: Any) -> None:
        """Choose a node of the page."""
        if type(at) is int and 0 <= at < len(self._tree.nodes):
            self.selected_path = self._tree.nodes[at].path

    def draw(self) -> dict[str, Node]:
        """Draw the search box and the tree."""
        hits = self._tree.found(self.text)
        hint = "name, type, metric, description"
        said = f"{len(hits):,} found" if self.text.strip() else ""
        tools = ui.toolbar(
            ui.search("Find a node", "set:text", self.text, hint, "nodes"),
            h("span", said, role="status", cls="xb-quiet"),
        )
        named = f"Selected: {trimmed(self.selected_path, 400)}"
        chosen = h("p", named) if self.selected_path else None
        page = h("div", tools, chosen, part("tree"))
        return {"page": page, "tree": self._tree.draw(self.selected_path, hits)}

    @property
    def selection(self) -> pd.DataFrame:
        """The chosen node and all below it, as rows of ``schema.to_frame()``; all without one."""
        frame = self._schema.to_frame()
        paths = frame["schema_path"]
        if not self.selected_path:
            return frame
        below = paths.str.startswith((self.selected_path + ".", self.selected_path + "["))
        return frame[(paths == self.selected_path) | below].reset_index(drop=True)

    def __repr__(self) -> str:
        """Say how large the schema is."""
        deepest = int(self._schema.to_frame()["depth"].max())
        return f"Schema · {plural(len(self._tree.nodes), 'node')} · depth {deepest}"
