"""What stands in the details of a result: the values that were compared, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from extractbench_nb._json import json_text
from extractbench_nb.metrics.registry import REGISTRY
from extractbench_nb.metrics.strings import normal_url

__all__ = ["Compared", "absence", "comparison"]


class Compared(NamedTuple):
    """Two values that a metric compared.

    Parameters
    ----------
    metric : str
        The metric.
    gold, extracted : object
        The values, present on both sides.
    params : mapping
        The metric's params as declared.
    score : float
        What it gave, in [0, 1].
    reasoning : str or None
        What a judge said.
    released : bool
        Whether it compared as the release does; its details show the values as compared.
    """

    metric: str
    gold: Any
    extracted: Any
    params: Mapping[str, Any]
    score: float
    reasoning: str | None = None
    released: bool = True


def comparison(found: Compared) -> dict[str, Any]:
    """Describe a comparison under the published keys.

    Parameters
    ----------
    found : Compared
        What was compared.

    Returns
    -------
    dict
        gold, extracted, and what the release has for the metric: delta and tolerance, for example.

    Examples
    --------
    >>> comparison(Compared("number_tolerance", 5, "5.5", {"tolerance": 1}, 1.0))
    {'gold': 5.0, 'extracted': 5.5, 'tolerance': 1.0, 'delta': 0.5}
    """
    pair = found.gold, found.extracted
    convert = _AS_COMPARED.get(found.metric) if found.released else None
    if convert is not None:
        pair = convert(pair[0]), convert(pair[1])
    more = _MORE.get(found.metric)
    return {"gold": pair[0], "extracted": pair[1], **(more(found) if more is not None else {})}


def absence(gold: str, extracted: str) -> str:
    """Return the published word for the states of two values of which one is absent.

    Parameters
    ----------
    gold, extracted : str
        States as from `state_of`.

    Returns
    -------
    str
        ``both_null`` or ``extracted_missing``, for example.

    Examples
    --------
    >>> absence("empty", "present"), absence("null", "missing")
    ('gold_empty_array', 'both_absent')
    """
    if "present" not in (gold, extracted):
        return f"both_{_WORDS.get(gold, gold)}" if gold == extracted else "both_absent"
    side, state = ("gold", gold) if extracted == "present" else ("extracted", extracted)
    return f"{side}_{_WORDS.get(state, state)}"


_WORDS = {"empty": "empty_array"}


def _as(convert: Callable[[Any], Any], value: Any, default: Any = None) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError):
        return default


def _number(value: Any) -> float | None:
    return _as(float, value)  # type: ignore[no-any-return]


def _integer(value: Any) -> int | None:
    return _as(int, value)  # type: ignore[no-any-return]


def _param(found: Compared, name: str, convert: Callable[[Any], Any]) -> Any:
    default = _RELEASED_DEFAULTS.get(name) if found.released else None
    if default is None:
        default = REGISTRY.get(found.metric).defaults[name]
    return _as(convert, found.params.get(name, default), default)


def _folded(found: Compared) -> dict[str, Any]:
    return _normalized(found, lambda value: _text(found)(value).casefold())


def _url(found: Compared) -> dict[str, Any]:
    return _normalized(found, lambda value: normal_url(json_text(value)))


def _normalized(found: Compared, normal: Callable[[Any], str]) -> dict[str, Any]:
    return {
        "gold_normalized": normal(found.gold),
        "extracted_normalized": normal(found.extracted),
    }


def _text(found: Compared) -> Callable[[Any], str]:
    return str if found.released else json_text


def _fuzzy(found: Compared) -> dict[str, Any]:
    case_sensitive = _param(found, "case_sensitive", bool)
    shown = {}
    if found.released and not case_sensitive:
        shown = {"gold": str(found.gold).lower(), "extracted": str(found.extracted).lower()}
    return {
        **shown,
        "threshold": _param(found, "threshold", float),
        "similarity": found.score,
        "case_sensitive": case_sensitive,
    }


def _tolerance(found: Compared) -> dict[str, Any]:
    tolerance = {"tolerance": _param(found, "tolerance", float)}
    one, two = _number(found.gold), _number(found.extracted)
    if one is None or two is None:
        return {"gold": found.gold, "extracted": found.extracted, **tolerance}
    return {**tolerance, "delta": round(abs(one - two), 12)}


def _judged(found: Compared) -> dict[str, Any]:
    said = {"reasoning": found.reasoning} if found.reasoning is not None else {}
    return {
        "pass_threshold": _param(found, "pass_threshold", float),
        "structured_output": {"score": found.score, **said},
        **said,
    }


#: Where they differ from those of the registry.
_RELEASED_DEFAULTS = {"tolerance": 1e-6}

#: By metric: a value as the release compares and shows it.
_AS_COMPARED: Mapping[str, Callable[[Any], Any]] = {
    "string_exact": str,
    "string_case_insensitive": str,
    "string_fuzzy": str,
    "number_exact": _number,
    "number_tolerance": _number,
    "integer_exact": _integer,
}

#: By metric: what its details hold beside the two values, or in their place.
_MORE: Mapping[str, Callable[[Compared], dict[str, Any]]] = {
    "string_case_insensitive": _folded,
    "string_fuzzy": _fuzzy,
    "string_url": _url,
    "number_tolerance": _tolerance,
    "string_semantic": _judged,
    "string_llm": _judged,
    "array_llm": _judged,
}
