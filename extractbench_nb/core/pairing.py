"""Pairing gold and predicted values along the schema, and what the schema does not declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from extractbench_nb.core.schema.schema_nodes import BROKEN, MISFIT, MISSING, Node, Unusable
from extractbench_nb.core.values import (
    SCALARS,
    UNLABELED,
    bracketed,
    canonical_unordered,
    json_type,
    member,
    scalars,
)

#: A pair of values to score, a leaf or an array: its node, gold's value, the predicted one, and the
#: path from where pairing began, which is the same on both sides.
Point = tuple[Node, Any, Any, str]


def pair_up(
    node: Node,
    gold: Any,
    predicted: Any,
    suffix: str = "",
    points: list[Point] | None = None,
    *,
    is_due: bool = True,
) -> list[Point]:
    """Pair a gold value with a predicted one, down to the leaves and arrays of the schema.

    With `is_due` false, neither gold nor the schema expects a value here: only the prediction
    chose this branch of a union, or continued a recursive object. Then only predicted values are
    points; fields that are absent on both sides would count as correct.
    """
    points = [] if points is None else points
    if gold is UNLABELED:
        return points
    if node.kind == "union":
        return _pair_union(node, gold, predicted, suffix, points, is_due=is_due)
    config, kind = node.config, node.kind
    if kind == "null" or (config is not None and config.skip):
        return points
    counts = is_due or holds_something(predicted)
    is_whole = kind != "object" or config is not None  # by a metric that takes all of an object
    if is_whole and counts:
        points.append((node, gold, predicted, suffix))
    if kind == "object":
        below_gold = gold is MISSING or gold is None or isinstance(gold, dict)
        if below_gold and (is_due or isinstance(predicted, dict)):
            _pair_children(node, gold, predicted, suffix, points, is_due=is_due)
        elif counts and not is_whole:
            points.append((node, gold, predicted, suffix))
    return points


def _pair_union(
    union: Node, gold: Any, predicted: Any, suffix: str, points: list[Point], *, is_due: bool
) -> list[Point]:
    """Pair the values of a union as the node that it is for them."""
    node = resolve_union(union, gold, predicted)
    if is_due and (gold is MISSING or gold is None):
        usual = resolve_union(union, gold, MISSING)
        if usual is not node and "object" in (usual.kind, node.kind):
            before = len(points)
            pair_up(node, gold, predicted, suffix, points, is_due=False)
            if len(points) > before:
                return points
            # no key of the value is declared, but the value is invented all the same
            node = usual
            if usual.kind == "object" or not holds_something(predicted):
                predicted = MISSING
    return pair_up(node, gold, predicted, suffix, points, is_due=is_due)


def _pair_children(
    node: Node, gold: Any, predicted: Any, suffix: str, points: list[Point], *, is_due: bool
) -> None:
    """Pair the values of an object's keys; of a map, the keys of both sides."""
    below = node.children
    has_gold, has_predicted = isinstance(gold, dict), isinstance(predicted, dict)
    if node.recursive and not has_gold:
        if not has_predicted:
            return
        is_due = False
    ours = gold if has_gold else _NOTHING
    theirs = predicted if has_predicted else _NOTHING
    lack = None if gold is None else MISSING  # below null everything is null
    rest: Any = MISSING
    if not has_predicted:
        rest = predicted
        if not (predicted is MISSING or predicted is None or isinstance(predicted, Unusable)):
            rest = (MISFIT if json_type(predicted) in node.types else BROKEN).of(predicted)
    for name, child in below.properties.items():
        gold_value, predicted_value = ours.get(name, lack), theirs.get(name, rest)
        if child.kind == "union":
            child = child.choices.get(type(gold_value), child)  # noqa: PLW2901
        if is_due and child.kind in _LEAF_KINDS and gold_value is not UNLABELED:  # most fields
            if child.config is None or not child.config.skip:
                points.append((child, gold_value, predicted_value, suffix + child.step))
        else:
            path = suffix + child.step
            pair_up(child, gold_value, predicted_value, path, points, is_due=is_due)
    if below.patterns or below.additional is not None:
        for key in dict.fromkeys((*ours, *theirs)):
            entry = None if key in below.properties else below.entry(key)
            if entry is not None:
                path, is_ours = suffix + bracketed(str(key)), key in ours
                values = ours.get(key, lack), theirs.get(key, rest)
                pair_up(entry, *values, path, points, is_due=is_due and is_ours)


def holds_something(value: Any) -> bool:
    """Whether a value is or contains a scalar that is not null."""
    return any(top is not MISSING and not isinstance(top, Unusable) for top in scalars(value))


_NOTHING: dict[str, Any] = {}
_LEAF_KINDS = frozenset({"scalar", "array", "any"})


def resolve_union(node: Node, gold: Any, predicted: Any) -> Node:
    """Return the node that a union is for these values."""
    while node.kind == "union":
        absent = gold is MISSING or gold is None
        value = predicted if absent else gold
        if type(value) in node.choices:
            return node.choices[type(value)]
        joined = node.joined if absent and isinstance(predicted, dict) else None
        if joined is not None:
            return joined
        index = _branch_index(node, value)
        chosen = node.choose(index)
        if type(value) in SCALARS and _type_decides(node, type(value)):
            node.choices[type(value)] = chosen
        aligns = node.config is not None and node.config.metrics[0].entry.aligns
        if aligns and chosen.kind == "object" and is_map_of_arrays(chosen):
            return node.choose(index, flattened=True)
        node = chosen
    return node


def _type_decides(union: Node, kind: type) -> bool:
    """Whether all scalars of a type fit the same branch of a union."""
    return all(
        branch.kind in ("scalar", "null")
        and not {"const", "enum"} & branch.keywords.keys()
        and not (kind is float and branch.label.startswith("integer"))
        for branch in union.children.branches
    )


def is_map_of_arrays(node: Node) -> bool:
    """Whether a node is an object whose only content is a map from keys to arrays."""
    entries = node.children.entries
    return not node.children.properties and len(entries) == 1 and entries[0].kind == "array"


def _branch_index(node: Node, value: Any) -> int:
    branches = node.children.branches
    if value is not MISSING and value is not None and not isinstance(value, Unusable):
        if isinstance(value, dict) and (index := _discriminated_branch(node, value)) is not None:
            return index
        for fits in (_fits_fully, _fits_type):
            for index, branch in enumerate(branches):
                if fits(branch, value):
                    return index
    return next((i for i, b in enumerate(branches) if b.kind != "null"), 0)


def _discriminated_branch(node: Node, value: dict[str, Any]) -> int | None:
    """Return the index of the only branch that allows the value of some key; None if there is none.

    The key of a declared ``discriminator`` is tried first.
    """
    keyword = node.keywords.get("discriminator")
    named = keyword.get("propertyName") if isinstance(keyword, Mapping) else None
    branches = node.children.branches
    for name in sorted(value, key=lambda key: key != named):
        allowed = [_allows(branch, value[name], name) for branch in branches]
        if allowed.count(True) == 1 and None not in allowed:
            return allowed.index(True)
    return None


def _allows(node: Node, value: Any, name: str | None = None) -> bool | None:
    """Whether a node lists a value by ``const`` or ``enum``; None if it has neither.

    With `name`, whether the node has this key and lists the value there.
    """
    if node.kind == "union":
        answers = {_allows(branch, value, name) for branch in node.children.branches}
        return True if True in answers else None if None in answers else False
    if name is not None:
        child = node.children.properties.get(name) if node.kind == "object" else None
        return False if child is None else _allows(child, value)
    if node.kind == "null":
        return value is None
    words = node.keywords
    listed = [words["const"]] if "const" in words else words.get("enum")
    if not isinstance(listed, list):
        return None
    return canonical_unordered(value) in map(canonical_unordered, listed)


def _fits_type(branch: Node, value: Any) -> bool:
    return branch.kind == "any" or json_type(value) in branch.types


def _fits_fully(branch: Node, value: Any) -> bool:
    """Whether type, enum, const and whole numbers fit.

    An object must have all required keys, declared keys only, and only listed values.
    """
    if not _fits_type(branch, value):
        return False
    if branch.kind == "union":
        return any(_fits_fully(b, value) for b in branch.children.branches)
    if _allows(branch, value) is False:
        return False
    if branch.label.startswith("integer"):
        return isinstance(value, int) or float(value).is_integer()
    if branch.kind != "object":
        return True
    properties = branch.children.properties
    if any(key not in properties and branch.children.entry(key) is None for key in value):
        return False
    for name, child in properties.items():
        if name not in value:
            if child.required:
                return False
        elif not (value[name] is None and child.nullable) and _allows(child, value[name]) is False:
            return False
    return True


class Part(NamedTuple):
    """A part of a document that its schema does not declare, and what gold has in its place."""

    path: str
    value: Any
    gold: Any
    reason: str = "undeclared"


def undeclared(node: Node, value: Any, gold: Any, *, compared: bool = False) -> Iterator[Part]:
    """Find the parts of a document that its schema does not declare.

    With `compared`, arrays and values that the records compare already are left out.
    """
    stack = [(node, Part("", value, gold))]
    while stack:
        current, part = stack.pop()
        if current.kind == "union" and part.value is not None:
            current = resolve_union(current, part.gold, part.value)
        if current.kind == "array":
            if not compared:
                stack.extend(_item_parts(current, part))
        elif isinstance(part.value, dict) and current.kind == "object":
            properties = current.children.properties
            ours = part.gold if isinstance(part.gold, dict) else _NOTHING
            for key, inner in part.value.items():
                child = properties.get(key) or current.children.entry(key)
                below = ours.get(key, MISSING)
                if below is UNLABELED and inner is not UNLABELED:
                    continue
                if child is None:
                    yield Part(part.path + member(str(key)), inner, below)
                elif child.kind not in _LEAF_KINDS if compared else isinstance(inner, dict | list):
                    step = child.step or bracketed(str(key))
                    stack.append((child, Part(part.path + step, inner, below)))
        elif (
            compared
            and current.kind in ("object", "null")
            and current.config is None
            and holds_something(part.value)
            and not (current.kind == "object" and holds_something(part.gold))
        ):  # a value where the schema has null, or an object and gold has nothing
            yield part._replace(reason="type_mismatch")


def _item_parts(array_node: Node, part: Part) -> Iterator[tuple[Node, Part]]:
    """Yield the containers among the items of an array, or of a map of arrays."""
    arrays = [part]
    if array_node.flattened and isinstance(part.value, dict):
        ours = part.gold if isinstance(part.gold, dict) else _NOTHING
        arrays = [
            Part(part.path + bracketed(str(key)), value, ours.get(key, MISSING))
            for key, value in part.value.items()
        ]
    for array in arrays:
        for i, value in enumerate(array.value if isinstance(array.value, list) else ()):
            node = array_node.item(i)
            if node is not None and isinstance(value, dict | list):
                gold = value if array.gold is array.value else MISSING
                yield node, Part(f"{array.path}[{i}]", value, gold)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of every scalar below a value that is not null."""
    stack = [(path, value)]
    while stack:
        path, top = stack.pop()
        if isinstance(top, dict):
            stack.extend((path + member(str(k)), v) for k, v in reversed(list(top.items())))
        elif isinstance(top, list | tuple):
            stack.extend((f"{path}[{i}]", top[i]) for i in reversed(range(len(top))))
        elif top is not None:
            yield path, top


def same_as_wholes(gold: Any, predicted: Any) -> bool:
    """Whether two items without scored fields are equal; one that is unlabelled has no say."""
    is_unlabelled = any(value is UNLABELED for value in scalars(gold))
    return is_unlabelled or canonical_unordered(gold) == canonical_unordered(predicted)


def declared_share(node: Node, value: Any) -> float:
    """Return the share of a document's leaves that its schema declares."""

    def count(part: Any) -> int:
        return sum(scalar is not UNLABELED for scalar in scalars(part))

    unknown = sum(count(part.value) for part in undeclared(node, value, value))
    total = count(value) if unknown else 0
    return (total - unknown) / total if total else 1.0
