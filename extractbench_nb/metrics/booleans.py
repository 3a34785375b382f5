"""Metrics for booleans."""

from __future__ import annotations

from typing import Any

from extractbench_nb._json import json_text
from extractbench_nb.metrics.registry import REGISTRY, Metric

__all__ = ["boolean_exact"]

_WORDS = {"true": True, "false": False}


def boolean_exact(gold: Any, predicted: Any) -> bool:
    """Compare booleans; the words ``true`` and ``false`` count as such, numbers do not."""
    one, two = _as_boolean(gold), _as_boolean(predicted)
    if one is None and two is None:
        return json_text(gold) == json_text(predicted)
    return one is two


def _as_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None


REGISTRY.add(
    Metric(
        "boolean_exact",
        boolean_exact,
        ("boolean", "any"),
        source="ExtractBench README, metrics table",
        pass_rule="gold == predicted",
        summary="equal booleans",
    )
)
