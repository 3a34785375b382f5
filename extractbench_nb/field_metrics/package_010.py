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


def _param(
    params: Mapping[str, Any], name: str, default: Any, convert: Callable[[Any], Any]
) -> Any:
    try:
        return convert(params[name]) if name in params else default
    except (TypeError, ValueError):
        return default


def _verdict(same: bool) -> tuple[float, bool]:
    return float(same), same


def _exact(params: Mapping[str, Any]) -> Compare:
    return lambda gold, predicted: _verdict(str(gold) == str(predicted))


def _case_insensitive(params: Mapping[str, Any]) -> Compare:
    return lambda gold, predicted: _verdict(str(gold).casefold() == str(predicted).casefold())


def _difflib(one: str, two: str) -> float:
    return SequenceMatcher(None, one, two).ratio()


def _levenshtein(one: str, two: str) -> float:
    return float(Levenshtein.normalized_similarity(one, two))


def _fuzzy(
    params: Mapping[str, Any], similarity: Callable[[str, str], float] = _difflib
) -> Compare:
    threshold = _param(params, "threshold", 0.8, float)
    case_sensitive = _param(params, "case_sensitive", False, bool)

    def compare(gold: Any, predicted: Any) -> tuple[float, bool]:
        one, two = str(gold), str(predicted)
        if not case_sensitive:
            one, two = one.lower(), two.lower()
        score = similarity(one, two)
        return score, score >= threshold

    return compare


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _number_exact(params: Mapping[str, Any]) -> Compare:
    return lambda gold, predicted: _verdict(_number(gold) == _number(predicted))


def _number_tolerance(params: Mapping[str, Any]) -> Compare:
    tolerance = _param(params, "tolerance", 1e-6, float)

    def compare(gold: Any, predicted: Any) -> tuple[float, bool]:
        one, two = _number(gold), _number(predicted)
        if one is None or two is None:
            return _verdict(one is two)
        gap = abs(one - two)
        if gap <= tolerance or math.isclose(gap, tolerance, rel_tol=1e-9, abs_tol=1e-12):
            return 1.0, True
        return max(0.0, 1.0 - gap / max(tolerance, 1e-12)), False

    return compare


def _integer(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _integer_exact(params: Mapping[str, Any]) -> Compare:
    return lambda gold, predicted: _verdict(_integer(gold) == _integer(predicted))


def _boolean_exact(params: Mapping[str, Any]) -> Compare:
    def compare(gold: Any, predicted: Any) -> tuple[float, bool]:
        one = gold if isinstance(gold, bool) else None
        two = predicted if isinstance(predicted, bool) else None
        return _verdict(one is two)

    return compare


#: By metric id: params to a comparison that gives score and verdict.
PACKAGE_010_METRICS: Mapping[str, Callable[[Mapping[str, Any]], Compare]] = {
    "string_exact": _exact,
    "string_case_insensitive": _case_insensitive,
    "string_fuzzy": _fuzzy,
    "number_exact": _number_exact,
    "number_tolerance": _number_tolerance,
    "integer_exact": _integer_exact,
    "boolean_exact": _boolean_exact,
}


def package_010_metric(
    metric_id: str, params: Mapping[str, Any], *, fuzzy: str = "difflib"
) -> Compare | None:
    """Return the published package's comparison for a metric."""
    if metric_id == "string_fuzzy" and fuzzy == "levenshtein":
        return _fuzzy(params, _levenshtein)
    make = PACKAGE_010_METRICS.get(metric_id)
    return make(params) if make is not None else None
