"""What schema, gold and extracted document hold, and which leaves they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from extractbench_nb._json import json_type, member
from extractbench_nb.engine.pairing import resolve_union
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.schema.states import MISSING

__all__ = [
    "ArrayStats",
    "ContentStats",
    "CoverageStats",
    "ReportWarning",
    "SchemaStats",
    "content_stats",
    "coverage_stats",
    "is_outermost",
    "normalized",
    "published_reason",
    "schema_paths",
    "schema_stats",
    "top_key",
]


_MEMBER = r"\.[A-Za-z_$][\w$-]*|\['(?:[^'\\]|\\.)*'\]"
_STEP = re.compile(rf"{_MEMBER}|\[\+?\d+\]", re.DOTALL)
_KEYWORD = re.compile(
    rf"\.properties(?:{_MEMBER})|\.additionalProperties|\.items|\.prefixItems\[\d+\]"
    r"|\.anyOf\[\d+\]|\.oneOf\[\d+\]",
    re.DOTALL,
)
_REASONS = {
    "gold_empty": "gold_empty_array",
    "both_empty": "both_empty_array",
    "predicted_missing": "extracted_missing",
    "predicted_null": "extracted_null",
    "predicted_empty": "extracted_empty_array",
    "required_missing": "extracted_missing",
}


def published_reason(reason: str) -> str:
    """Return the published package's word for one of our reason words, else the word itself."""
    return _REASONS.get(reason, reason)


def normalized(path: str) -> str:
    """Write an instance path without its root: ``$.borrower.name`` is ``borrower.name``."""
    return path.removeprefix("$").removeprefix(".") or "$"


def top_key(path: str) -> str:
    """Return the first key of a normalized path, ``$`` for the root."""
    first = _STEP.match(path) or _STEP.match("." + path)
    return first.group().removeprefix(".") if first else path


def is_outermost(path: str) -> bool:
    """Whether no step of an instance path is an index."""
    return not any(re.match(r"\[\+?\d", step) for step in _STEP.findall(path))


def schema_paths(rows: Iterable[tuple[str | None, str, str]]) -> list[str]:
    """Write the full path of every row: that of the schema, with keys and indices put in."""
    seen: Counter[tuple[str, str]] = Counter()
    paths = []
    for schema_path, path, metric in rows:
        full = path if schema_path is None else _placed(schema_path, path)
        seen[full, metric] += 1
        nth = seen[full, metric]
        paths.append(full if nth == 1 else f"{full}#{nth}")
    return paths


def _placed(schema_path: str, path: str) -> str:
    """Walk both paths at once; where they do not fit, the instance path is appended whole."""
    keywords = _KEYWORD.findall(schema_path)
    steps = _STEP.findall(path)
    if "$" + "".join(keywords) != schema_path or "$" + "".join(steps) != path:
        return f"{schema_path} {path}"
    written, place = "$", 0
    for keyword in keywords:
        if keyword.startswith((".anyOf[", ".oneOf[")):
            written += keyword
            continue
        if place == len(steps):
            break
        written += _with_step(keyword, steps[place])
        place += 1
    else:
        if place == len(steps):
            return written
    return f"{schema_path} {path}"


def _with_step(keyword: str, step: str) -> str:
    if keyword.startswith(".properties"):
        return keyword
    return keyword.partition("[")[0] + step


@dataclass(frozen=True)
class SchemaStats:
    """The shape of the schema, references unfolded, a recursive one once.

    Attributes
    ----------
    total_nodes : int
        Constructs of the schema: the root, properties, items, maps, branches.
    counts_by_type : dict of str to int
        Nodes by type; ``anyof`` for every kind of union, ``any`` where no type is given.
    required_keys_count : int
        Properties that their object requires.
    optional_keys_count : int
        The other properties.
    required_by_type : dict of str to int
        Required properties by type.
    optional_by_type : dict of str to int
        The others by type.
    """

    total_nodes: int
    counts_by_type: dict[str, int]
    required_keys_count: int
    optional_keys_count: int
    required_by_type: dict[str, int] = field(default_factory=dict)
    optional_by_type: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ArrayStats:
    """The arrays of one document, nested ones included.

    Attributes
    ----------
    array_field_count : int
        Arrays.
    total_items : int
        Items of all of them.
    min_length : int
        Items of the shortest.
    median_length : float
        Median of the lengths.
    max_length : int
        Items of the longest.
    """

    array_field_count: int
    total_items: int
    min_length: int
    median_length: float
    max_length: int


@dataclass(frozen=True)
class ContentStats:
    """What one document holds.

    Attributes
    ----------
    label : str
        ``gold`` or ``extracted``.
    total_keys : int
        Keys of all objects, at any depth.
    counts_by_type : dict of str to int
        The values of those keys by JSON type; items of arrays are not among them.
    array_stats : ArrayStats or None
        None where there is no array.
    null_count : int
        Keys whose value is null.
    missing_count : int
        Evaluated fields that this document has no key for.
    """

    label: str
    total_keys: int
    counts_by_type: dict[str, int]
    array_stats: ArrayStats | None = None
    null_count: int = 0
    missing_count: int = 0


@dataclass(frozen=True)
class CoverageStats:
    """Which leaves the two documents have, whatever their values; array items by index.

    A leaf is a scalar, a null, or an empty array or object under a key.

    Attributes
    ----------
    present_in_both : int
        Leaves in both.
    missing_in_extracted : int
        Leaves in gold only.
    spurious_in_extracted : int
        Leaves in the extracted document only.
    required_missing : int
        Keys that the schema requires, gold has and the extracted document has not, outside of
        arrays.
    missing_paths : list of str
        The leaves in gold only, sorted.
    spurious_paths : list of str
        The leaves in the extracted document only, sorted.
    required_missing_paths : list of str
        The required keys that are missing, sorted.
    """

    present_in_both: int
    missing_in_extracted: int
    spurious_in_extracted: int
    required_missing: int
    missing_paths: list[str] = field(default_factory=list)
    spurious_paths: list[str] = field(default_factory=list)
    required_missing_paths: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReportWarning:
    """Something that is wrong without being a score.

    Attributes
    ----------
    side : str
        ``gold``, ``predicted`` or ``schema``.
    path : str
        Where.
    kind : str
        ``undeclared``, ``ignored_param``, or the violated keyword.
    message : str
        What was found.
    """

    side: str
    path: str
    kind: str
    message: str


def schema_stats(schema: Schema) -> SchemaStats:
    """Count the nodes of a schema by type, and its properties by whether they are required."""
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
    """Count what a document holds."""
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
    """Compare which leaves two documents have."""
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
