"""Paths and reason words as the published reports write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["is_outermost", "normalized", "published_reason", "schema_paths", "top_key"]

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
    """Write the full path of every row: that of the schema, with keys and indices put in.

    Parameters
    ----------
    rows : iterable of tuple
        Schema path (None where the schema does not know the place), instance path, metric.

    Returns
    -------
    list of str
        No path occurs twice with one metric: a second one gets ``#2``.
    """
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
