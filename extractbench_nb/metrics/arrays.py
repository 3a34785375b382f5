"""Metrics for whole arrays. ``array_llm`` is the name of item alignment; the evaluator does it."""

from __future__ import annotations

from typing import Any

from extractbench_nb._json import canonical_unordered, json_text
from extractbench_nb.metrics.registry import REGISTRY, Metric, Param
from extractbench_nb.metrics.text import normalize

__all__ = ["set_f1"]


def set_f1(
    gold: Any, predicted: Any, *, pass_threshold: float = 0.7, normalize_text: bool = True
) -> float:
    """F1 of two arrays as sets of values; order and repetition set aside.

    Parameters
    ----------
    gold, predicted : list
        Arrays of scalars; an object counts as its canonical JSON text.
    pass_threshold : float, optional
        Score in [0, 1] that passes (used by the pass rule, not here).
    normalize_text : bool, optional
        Whether case, white space, punctuation and Unicode variants of texts are set aside.

    Returns
    -------
    float
        ``2 |G ∩ P| / (|G| + |P|)`` in [0, 1]; 1 where both are empty.

    Examples
    --------
    >>> set_f1(["Python", "SQL"], ["sql", "python", "R"])
    0.8
    """
    del pass_threshold
    one, two = _as_set(gold, normalize_text), _as_set(predicted, normalize_text)
    if not one and not two:
        return 1.0
    return 2 * len(one & two) / (len(one) + len(two))


def _as_set(value: Any, normalize_text: bool) -> set[str]:
    items = value if isinstance(value, list | tuple) else [value]
    return {_key(item, normalize_text) for item in items}


def _key(item: Any, normalize_text: bool) -> str:
    if isinstance(item, str):
        return "s:" + (normalize(item) or item if normalize_text else item)
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    return "v:" + (canonical_unordered(item) if isinstance(item, dict | list) else json_text(item))


PASS_THRESHOLD = Param("pass_threshold", "number", 0.7, 0.0, 1.0)

for _entry in (
    Metric(
        "set_f1",
        set_f1,
        ("array",),
        (PASS_THRESHOLD, Param("normalize_text", "boolean", True)),
        "F1 >= pass_threshold",
        "extractbench_nb",
        "F1 of two sets of scalars",
        threshold="pass_threshold",
    ),
    Metric(
        "skip",
        None,
        ("any",),
        pass_rule="not scored",
        source="ExtractBench README, presets table",
        summary="leaves the node out",
    ),
):
    REGISTRY.add(_entry)
