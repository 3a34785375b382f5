"""Value states, and what a pair of states means before any metric compares the values.

Section 3.3 of the ExtractBench paper distinguishes three states: present, null and missing. An
empty array on an array node is a fourth, because it says "there is none" as null does.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from extractbench_nb.schema.nodes import Node


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


def state_of(value: Any, node: Node | None = None) -> str:
    """Return the state of one side of a node."""
    if value is MISSING:
        return MISSING_STATE
    if value is None:
        return NULL
    if isinstance(value, Unusable):
        return MISSING_STATE
    if node is not None and node.kind == "array":
        if isinstance(value, list | tuple) and not value:
            return EMPTY
        if node.flattened and isinstance(value, dict) and not any(map(_has_items, value.values())):
            return EMPTY
    return PRESENT


def _has_items(value: Any) -> bool:
    return value is not None and (not isinstance(value, list) or bool(value))


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

    Examples
    --------
    >>> resolve_states("present", "null")
    Resolution(score=0.0, passed=False, outcome='omission', reason='predicted_null')
    """
    return _TABLE.get((gold, predicted))


class Unusable:
    """What stands on the predicted side below a container that is of the wrong kind.

    ``outcome`` is ``structural`` where neither schema nor gold knows the type, ``incorrect`` where
    another branch of the schema allows it. ``value`` is the container itself.
    """

    __slots__ = ("outcome", "reason", "value")

    def __init__(self, outcome: str, reason: str, value: Any = None) -> None:
        self.outcome = outcome
        self.reason = reason
        self.value = value

    def of(self, value: Any) -> Unusable:
        """Return the same for a container."""
        return Unusable(self.outcome, self.reason, value)


BROKEN: Final = Unusable("structural", "type_mismatch")
MISFIT: Final = Unusable("incorrect", "branch_mismatch")
