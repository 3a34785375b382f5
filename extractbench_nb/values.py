"""Value states, what a pair of states means, and the pairing of gold with predicted.

Section 3.3 of the ExtractBench paper tells three states apart: present, null and missing. An empty
array on an array node is a fourth, because it says "there is none" as null does.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from extractbench_nb._json import bracketed, json_type
from extractbench_nb.schema.nodes import Node

__all__ = [
    "BROKEN",
    "EMPTY",
    "MISFIT",
    "MISSING",
    "MISSING_STATE",
    "NULL",
    "PRESENT",
    "Missing",
    "Point",
    "Resolution",
    "Unusable",
    "pair_up",
    "resolve_states",
    "resolve_union",
    "state_of",
]


class Missing:
    """The type of `MISSING`, the value of a key that is not there."""

    _instance: Missing | None = None

    def __new__(cls) -> Missing:
        """Return the one instance."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        """Return ``MISSING``."""
        return "MISSING"

    def __bool__(self) -> bool:
        """Be false, as None is."""
        return False

    def __reduce__(self) -> tuple[type[Missing], tuple[()]]:
        """Stay the one instance when unpickled."""
        return (Missing, ())


MISSING: Final = Missing()

PRESENT: Final = "present"
NULL: Final = "null"
MISSING_STATE: Final = "missing"
EMPTY: Final = "empty"


def state_of(value: Any, *, is_array: bool = False) -> str:
    """Return the state of one side of a node.

    Parameters
    ----------
    value : object
        The value, None for null, `MISSING` for an absent key.
    is_array : bool, optional
        Whether the node is an array, where an empty list is `EMPTY`.

    Returns
    -------
    str
        ``present``, ``null``, ``missing`` or ``empty``.
    """
    if value is MISSING:
        return MISSING_STATE
    if value is None:
        return NULL
    if is_array and isinstance(value, list | tuple) and not value:
        return EMPTY
    return PRESENT


class Resolution(NamedTuple):
    """What a pair of states decides: score, verdict, outcome and the reason word."""

    score: float
    passed: bool
    outcome: str
    reason: str


def _resolution(gold: str, predicted: str) -> Resolution:
    if PRESENT not in (gold, predicted):
        reason = f"both_{gold}" if gold == predicted else "both_absent"
        return Resolution(1.0, True, "both_absent", reason)
    if gold != PRESENT:
        return Resolution(0.0, False, "hallucination", f"gold_{gold}")
    return Resolution(0.0, False, "omission", f"predicted_{predicted}")


_STATES = (PRESENT, NULL, MISSING_STATE, EMPTY)
_TABLE = {
    (gold, predicted): _resolution(gold, predicted)
    for gold in _STATES
    for predicted in _STATES
    if not gold == predicted == PRESENT
}


def resolve_states(gold: str, predicted: str) -> Resolution | None:
    """Decide a pair of states where at least one side is absent.

    Parameters
    ----------
    gold, predicted : str
        States as from `state_of`.

    Returns
    -------
    Resolution or None
        None where both are present: then the metric decides.

    Examples
    --------
    >>> resolve_states("present", "null")
    Resolution(score=0.0, passed=False, outcome='omission', reason='predicted_null')
    """
    return _TABLE.get((gold, predicted))


class Unusable:
    """What stands on the predicted side below a container that is of the wrong kind.

    ``outcome`` is ``structural`` where neither schema nor gold knows the type, ``incorrect`` where
    another branch of the schema allows it.
    """

    __slots__ = ("outcome", "reason")

    def __init__(self, outcome: str, reason: str) -> None:
        self.outcome = outcome
        self.reason = reason


BROKEN: Final = Unusable("structural", "type_mismatch")
MISFIT: Final = Unusable("incorrect", "branch_mismatch")


class Point(NamedTuple):
    """A place where two values meet and a score is due: a leaf or an array.

    ``suffix`` is the path from where pairing began; it is the same on both sides.
    """

    node: Node
    gold: Any
    predicted: Any
    suffix: str


def pair_up(node: Node, gold: Any, predicted: Any, *, released: bool = False) -> list[Point]:
    """Pair a gold value with a predicted one, down to the leaves and arrays of the schema.

    Parameters
    ----------
    node : Node
        The schema node both stand at.
    gold, predicted : object
        The values; `MISSING` where the key is absent.
    released : bool, optional
        Pair as the published package does: nothing is compared below an object that is null on
        either side, nor in an ``anyOf`` without its own metric.

    Returns
    -------
    list of Point
        In schema order. Arrays are one point each; what is in them is a matter of alignment.
    """
    points: list[Point] = []
    _collect(points, node, gold, predicted, "", released)
    return points


def _collect(
    points: list[Point], node: Node, gold: Any, predicted: Any, suffix: str, released: bool
) -> None:
    if node.kind == "union":
        if released and node.config is None:
            return
        node = resolve_union(node, gold, predicted)
    kind = node.kind
    if kind == "object" and (gold is MISSING or gold is None or isinstance(gold, dict)):
        _collect_object(points, node, gold, predicted, suffix, released)
    elif kind != "null" and (node.config is None or not node.config.skip):
        points.append(Point(node, gold, predicted, suffix))


def _collect_object(
    points: list[Point], node: Node, gold: Any, predicted: Any, suffix: str, released: bool
) -> None:
    below = node.children
    if released and node.nullable and (gold is None or predicted is None):
        for child in below.properties.values():
            _collect(points, child, None, None, suffix + child.step, released)
        return
    has_gold, has_predicted = isinstance(gold, dict), isinstance(predicted, dict)
    if node.recursive and not has_gold and not has_predicted:
        return
    ours = gold if has_gold else _NOTHING
    theirs = predicted if has_predicted else _NOTHING
    rest = MISSING if has_predicted else _below_broken(node, predicted)
    for name, child in below.properties.items():
        one, two = ours.get(name, MISSING), theirs.get(name, rest)
        _collect(points, child, one, two, suffix + child.step, released)
    if below.additional is not None:
        for key in dict.fromkeys((*ours, *theirs)):
            if key not in below.properties:
                one, two = ours.get(key, MISSING), theirs.get(key, rest)
                step = bracketed(str(key))
                _collect(points, below.additional, one, two, suffix + step, released)


_NOTHING: dict[str, Any] = {}


def _below_broken(node: Node, predicted: Any) -> Any:
    if predicted is MISSING or predicted is None:
        return MISSING
    if isinstance(predicted, Unusable):
        return predicted
    return MISFIT if json_type(predicted) in node.types else BROKEN


def resolve_union(node: Node, gold: Any, predicted: Any) -> Node:
    """Return the node that a union is for these values.

    Parameters
    ----------
    node : Node
        A union.
    gold, predicted : object
        The first branch that gold fits decides, else predicted; else the first that is not null.

    Returns
    -------
    Node
        At the union's own path. A map of arrays under an array metric comes back as an array of
        its (key, item) pairs.
    """
    while node.kind == "union":
        value = gold if gold is not MISSING and gold is not None else predicted
        index = _branch_index(node, value)
        chosen = node.choose(index)
        if chosen.kind == "object" and _aligned_as_array(node) and is_map_of_arrays(chosen):
            return node.choose_flattened(index)
        node = chosen
    return node


def _aligned_as_array(node: Node) -> bool:
    return node.config is not None and node.config.metrics[0].metric_id == "array_llm"


def is_map_of_arrays(node: Node) -> bool:
    """Whether a node is an object whose only content is a map from keys to arrays."""
    below = node.children
    values = below.additional
    return not below.properties and values is not None and values.kind == "array"


def _branch_index(node: Node, value: Any) -> int:
    branches = node.children.branches
    if value is not MISSING and value is not None and not isinstance(value, Unusable):
        for fits in (_fits_fully, _fits_type):
            for index, branch in enumerate(branches):
                if fits(branch, value):
                    return index
    return next((i for i, b in enumerate(branches) if b.kind != "null"), 0)


def _fits_type(branch: Node, value: Any) -> bool:
    return branch.kind == "any" or json_type(value) in branch.types


def _fits_fully(branch: Node, value: Any) -> bool:
    """Type, enum, const and whole numbers; for objects also required, unknown and constant keys."""
    if not _fits_type(branch, value):
        return False
    if branch.kind == "union":
        return any(_fits_fully(b, value) for b in branch.children.branches)
    words = branch.keywords
    if "const" in words and words["const"] != value:
        return False
    if isinstance(words.get("enum"), list) and value not in words["enum"]:
        return False
    if branch.label.startswith("integer"):
        return isinstance(value, int) or float(value).is_integer()
    return branch.kind != "object" or _object_fits(branch, value)


def _object_fits(branch: Node, value: dict[str, Any]) -> bool:
    below = branch.children
    if any(child.required and name not in value for name, child in below.properties.items()):
        return False
    if below.additional is None and any(key not in below.properties for key in value):
        return False
    return all(
        child.keywords.get("const", value[name]) == value[name]
        for name, child in below.properties.items()
        if name in value
    )
