"""Metrics as the published ``extract-bench`` 0.1.0 computes them, where it differs from ours.

Reimplemented from its observed behaviour: texts are coerced to numbers, two that cannot be coerced
are equal, integers are truncated, the tolerance is absolute, and ``string_fuzzy`` is difflib's
ratio (its README says Levenshtein). Invalid params fall back to the default instead of raising.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any

from rapidfuzz.distance import Levenshtein

Compare = Callable[[Any, Any], tuple[float, bool]]


def _coerced(value: Any, kind: Callable[[Any], Any], default: Any = None) -> Any:
    """Return ``kind(value)``; the default if that fails."""
    try:
        return kind(value)
    except (TypeError, ValueError):
        return default


def _fuzzy(params: Mapping[str, Any], similarity: Callable[[str, str], float]) -> Compare:
    threshold = _coerced(params.get("threshold", 0.8), float, 0.8)
    case_sensitive = _coerced(params.get("case_sensitive", False), bool, False)

    def compare(gold: Any, predicted: Any) -> tuple[float, bool]:
        ours, theirs = str(gold), str(predicted)
        if not case_sensitive:
            ours, theirs = ours.lower(), theirs.lower()
        score = similarity(ours, theirs)
        return score, score >= threshold

    return compare


def _number_tolerance(params: Mapping[str, Any]) -> Compare:
    tolerance = _coerced(params.get("tolerance", 1e-6), float, 1e-6)

    def compare(gold: Any, predicted: Any) -> tuple[float, bool]:
        ours, theirs = _coerced(gold, float), _coerced(predicted, float)
        if ours is None or theirs is None:
            both_fail = ours is None and theirs is None
            return float(both_fail), both_fail
        difference = abs(ours - theirs)
        if difference <= tolerance or math.isclose(
            difference, tolerance, rel_tol=1e-9, abs_tol=1e-12
        ):
            return 1.0, True
        return max(0.0, 1.0 - difference / max(tolerance, 1e-12)), False

    return compare


#: Metrics without params: the form in which two values must be equal.
_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "string_exact": str,
    "string_case_insensitive": lambda value: str(value).casefold(),
    "number_exact": lambda value: _coerced(value, float),
    "integer_exact": lambda value: _coerced(value, int),
    "boolean_exact": lambda value: value if isinstance(value, bool) else None,
}


def package_010_metric(
    metric_id: str, params: Mapping[str, Any], *, fuzzy: str = "difflib"
) -> Compare | None:
    """Return the published package's comparison for a metric; None if it is the same as ours."""
    if metric_id == "string_fuzzy" and fuzzy == "levenshtein":
        return _fuzzy(params, Levenshtein.normalized_similarity)
    if metric_id == "string_fuzzy":
        return _fuzzy(
            params, lambda gold, predicted: SequenceMatcher(None, gold, predicted).ratio()
        )
    if metric_id == "number_tolerance":
        return _number_tolerance(params)
    form = _FORMS.get(metric_id)
    if form is None:
        return None

    def compare(gold: Any, predicted: Any) -> tuple[float, bool]:
        same = form(gold) == form(predicted)
        return float(same), same

    return compare
