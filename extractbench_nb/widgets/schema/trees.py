"""The view model of a schema's tree: its nodes in order, with what an evaluation says of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.breakdowns.sources import gather
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.report.texts import single_line
from extractbench_nb.schema.nodes import Schema
from extractbench_nb.schema.render import Shown, params_text, shown_metric, shown_nodes

__all__ = ["Tally", "TreeNode", "node_key", "rows_of_schema", "schema_tree", "tallies", "tree_json"]

_LONGEST_NAME = 120
_LONGEST_NOTE = 160
_LONGEST_ABOUT = 400
_LONGEST_PATH = 1000
_STEP = re.compile(r"\.|\[")


class Tally(NamedTuple):
    """What an evaluation says of a node and of all below it.

    ``score`` is the mean score of the rows, None where no row has one; ``counts`` has the outcomes
    that occur, with their numbers of rows, in the order of `OUTCOMES`.
    """

    score: float | None
    counts: tuple[tuple[str, int], ...]


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


_NOTHING = Tally(None, ())


def schema_tree(schema: Schema, source: object = None) -> list[TreeNode]:
    """List the nodes of a schema in document order.

    Parameters
    ----------
    schema : Schema
        The parsed schema.
    source : Evaluation, Evaluations, pandas.DataFrame or None, optional
        Where rows of `fields` are, if any.

    Returns
    -------
    list of TreeNode
        The root first. A recursive reference is unfolded where its definition was not met yet;
        where it is not, rows below it count for it.
    """
    listed = shown_nodes(schema)
    paths = {row.node.schema_path for row in listed}
    found = {} if source is None else tallies(paths, rows_of_schema(schema, paths, source))
    below = _below(listed)
    return [
        _tree_node(row, below[at], found.get(row.node.schema_path, _NOTHING))
        for at, row in enumerate(listed)
    ]


def _below(listed: list[Shown]) -> list[int]:
    """Count the nodes below each node."""
    counts = [0] * len(listed)
    for at in range(len(listed) - 1, 0, -1):
        parent = listed[at].parent
        if parent is not None:
            counts[parent] += counts[at] + 1
    return counts


def _tree_node(row: Shown, below: int, tally: Tally) -> TreeNode:
    node = row.node
    return TreeNode(
        node.schema_path,
        node.field or "$",
        row.parent,
        single_line(row.name if node.field else "$", _LONGEST_NAME),
        single_line(node.label, _LONGEST_NAME),
        tuple(single_line(note, _LONGEST_NOTE) for note in _notes(row, below)),
        single_line(node.description or "", _LONGEST_ABOUT),
        *tally,
    )


def _notes(row: Shown, below: int) -> list[str]:
    node = row.node
    notes = [f"{below} node{'' if below == 1 else 's'}"] if below else []
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
    """Return the rows of `fields` that belong to a schema.

    Parameters
    ----------
    schema : Schema
        The schema.
    paths : set of str
        Schema paths of its nodes.
    source : Evaluation, Evaluations or pandas.DataFrame
        Where the rows are. Of several schemas the one is taken that alone fits: all its rows stand
        at top-level keys that `schema` declares.

    Returns
    -------
    pandas.DataFrame
        The rows.

    Raises
    ------
    InputError
        No schema of the rows fits, or several do.
    """
    fields = gather(source, "fields")
    if isinstance(source, Evaluation) and source.schema.document != schema.document:
        raise InputError("the evaluation is of another schema; show(ev) shows it with its own")
    if "schema" not in fields.columns:
        return fields
    groups = dict(iter(fields.groupby("schema", sort=False)["schema_path"]))
    fitting = [name for name, found in groups.items() if _fits(found, paths)]
    if len(fitting) == 1:
        kept: pd.DataFrame = fields[fields["schema"] == fitting[0]]
        return kept
    names = ", ".join(map(repr, list(groups)[:8]))
    problem = f"{len(fitting)} of them fit" if fitting else "none of them fits"
    raise InputError(
        f"the results are of the schemas {names}; {problem} this schema: keep the rows of one, "
        "evs.fields[evs.fields['schema'] == ...]"
    )


def _fits(found: pd.Series[Any], paths: set[str]) -> bool:
    known = (path == "$" or len(_lineage(path, paths)) > 1 for path in found.dropna().unique())
    return all(known)


def tallies(paths: set[str], source: object) -> dict[str, Tally]:
    """Sum up the rows of each node and of those below it.

    Parameters
    ----------
    paths : set of str
        Schema paths of the nodes.
    source : Evaluation, Evaluations or pandas.DataFrame
        Where the rows of `fields` are.

    Returns
    -------
    dict of str to Tally
        The nodes that have rows. Rows that enter the scores; for a node without any, such as the
        fields of array items, its other rows. A node with several metrics counts once for each.
    """
    rows = gather(source, "fields")[["schema_path", "outcome", "score", "counted"]]
    groups = rows.groupby(["schema_path", "counted", "outcome"], dropna=False, observed=True)
    sums = groups["score"].agg(["size", "count", "sum"]).reset_index()
    counted: dict[str, _Sums] = {}
    others: dict[str, _Sums] = {}
    for row in sums.itertuples(index=False):
        kept = counted if row.counted else others
        for path in _lineage(row.schema_path, paths):
            kept.setdefault(path, _Sums()).add(row)
    return {path: kept.tally() for path, kept in (others | counted).items()}


class _Sums:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.judged = 0
        self.total = 0.0

    def add(self, row: Any) -> None:
        self.outcomes[row.outcome] += int(row.size)
        self.judged += int(row.count)
        self.total += float(row.sum)

    def tally(self) -> Tally:
        counts = tuple((name, self.outcomes[name]) for name in OUTCOMES if self.outcomes[name])
        return Tally(self.total / self.judged if self.judged else None, counts)


def _lineage(schema_path: object, paths: set[str]) -> list[str]:
    """Return the nodes that a row counts for: its own or the nearest above, and all above that.

    A row without a schema path, an undeclared value, counts for the root.
    """
    if not isinstance(schema_path, str):
        return ["$"]
    ends = [m.start() for m in _STEP.finditer(schema_path)] + [len(schema_path)]
    return [schema_path[:end] for end in ends if schema_path[:end] in paths]


def tree_json(nodes: Iterable[TreeNode]) -> Mapping[str, Any]:
    """Return the tree as the front end reads it.

    Parameters
    ----------
    nodes : iterable of TreeNode
        In document order.

    Returns
    -------
    dict
        ``columns``, the names of `TreeNode`, and ``rows``, a list of values for each node; scores
        with four digits, paths as `node_key` gives them.
    """
    rows = [list(_sent(at, node)) for at, node in enumerate(nodes)]
    return {"columns": list(TreeNode._fields), "rows": rows}


def _sent(at: int, node: TreeNode) -> TreeNode:
    return node._replace(
        path=node_key(at, node),
        field=single_line(node.field, _LONGEST_ABOUT),
        score=None if node.score is None else round(node.score, 4),
    )


def node_key(at: int, node: TreeNode) -> str:
    """Return what stands for a node on the page: its schema path, or its place if that is long."""
    return node.path if len(node.path) <= _LONGEST_PATH else f"#{at}"
