"""What schema, gold and extracted document hold, and which leaves the two documents share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Any

from extractbench_nb._json import json_type, member
from extractbench_nb.pairing import resolve_union
from extractbench_nb.report.models import ArrayStats, ContentStats, CoverageStats, SchemaStats
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.values import MISSING

__all__ = ["content_stats", "coverage_stats", "schema_stats"]


def schema_stats(schema: Schema) -> SchemaStats:
    """Count the nodes of a schema by type, and its properties by whether they are required.

    Parameters
    ----------
    schema : Schema
        The parsed schema.

    Returns
    -------
    SchemaStats
        The counts.
    """
    kinds: Counter[str] = Counter()
    required: Counter[str] = Counter()
    optional: Counter[str] = Counter()
    nodes = list(schema.nodes())
    listed = set(map(id, nodes))
    for node in nodes:
        kinds[_kind(node)] += 1
        for child in node.children.properties.values():
            if id(child) in listed:  # not below a recursive reference that is not unfolded
                (required if child.required else optional)[_kind(child)] += 1
    return SchemaStats(
        total_nodes=kinds.total(),
        counts_by_type=dict(kinds),
        required_keys_count=required.total(),
        optional_keys_count=optional.total(),
        required_by_type=dict(required),
        optional_by_type=dict(optional),
    )


def _kind(node: Node) -> str:
    if node.kind == "union":
        return "anyof"
    return node.label.partition(" | ")[0] if node.kind == "scalar" else node.kind


def content_stats(label: str, document: Any, missing: int) -> ContentStats:
    """Count what a document holds.

    Parameters
    ----------
    label : str
        ``gold`` or ``extracted``.
    document : object
        A JSON value, or a text that is none.
    missing : int
        Evaluated fields that it has no key for.

    Returns
    -------
    ContentStats
        The counts.
    """
    kinds: Counter[str] = Counter()
    lengths: list[int] = []
    stack = [document]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            kinds.update(_value_kind(value) for value in top.values())
            stack.extend(reversed(top.values()))
        elif isinstance(top, list | tuple):
            lengths.append(len(top))
            stack.extend(reversed(top))
    return ContentStats(
        label=label,
        total_keys=kinds.total(),
        counts_by_type=dict(kinds),
        array_stats=_array_stats(lengths),
        null_count=kinds["null"],
        missing_count=missing,
    )


def _value_kind(value: Any) -> str:
    kind = json_type(value)
    return "integer" if kind == "number" and isinstance(value, int) else kind


def _array_stats(lengths: list[int]) -> ArrayStats | None:
    if not lengths:
        return None
    return ArrayStats(len(lengths), sum(lengths), min(lengths), median(lengths), max(lengths))


def coverage_stats(schema: Schema, gold: Any, extracted: Any) -> CoverageStats:
    """Compare which leaves two documents have.

    Parameters
    ----------
    schema : Schema
        Says which keys are required.
    gold, extracted : object
        The documents.

    Returns
    -------
    CoverageStats
        Counts and paths.
    """
    ours, theirs = set(_leaf_paths(gold)), set(_leaf_paths(extracted))
    lacking = sorted(_required_missing(schema.root, gold, extracted))
    return CoverageStats(
        present_in_both=len(ours & theirs),
        missing_in_extracted=len(ours - theirs),
        spurious_in_extracted=len(theirs - ours),
        required_missing=len(lacking),
        missing_paths=sorted(ours - theirs),
        spurious_paths=sorted(theirs - ours),
        required_missing_paths=lacking,
    )


def _leaf_paths(document: Any) -> Iterator[str]:
    stack = [("", document)]
    while stack:
        path, top = stack.pop()
        if isinstance(top, dict):
            for key, value in top.items():
                here = (path + member(str(key))).removeprefix(".")
                if isinstance(value, dict | list | tuple) and value:
                    stack.append((here, value))
                else:
                    yield here
        elif isinstance(top, list | tuple):
            stack.extend((f"{path}[{i}]", value) for i, value in enumerate(top))
        elif path:
            yield path


def _required_missing(root: Node, gold: Any, extracted: Any) -> Iterator[str]:
    """Yield required keys that gold has and the other has not; an absent parent is told alone."""
    stack = [("", root, gold, extracted)]
    while stack:
        path, node, ours, theirs = stack.pop()
        if not isinstance(ours, dict):
            continue
        if node.kind == "union":
            node = resolve_union(node, ours, MISSING)
        found = theirs if isinstance(theirs, dict) else {}
        for key, child in node.children.properties.items():
            here = (path + member(key)).removeprefix(".")
            if key in ours and key not in found and child.required:
                yield here
            elif key in ours and key in found:
                stack.append((here, child, ours[key], found[key]))
