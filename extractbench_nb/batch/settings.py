"""Settings of a batch that determine its numbers: stored with results, compared on resume."""

from __future__ import annotations

import hashlib
import inspect
import json
import marshal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from extractbench_nb._version import __version__
from extractbench_nb.engine.inputs import Aligner
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import InputError
from extractbench_nb.field_metrics.registry import REGISTRY, Metric
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import Schema

__all__ = [
    "FORMAT",
    "custom_metrics",
    "fingerprint",
    "refuse_other_settings",
    "settings_of",
]


#: Changes when older folders cannot be read any more.
FORMAT = 2
#: What must be the same when a batch is taken up.
SETTINGS = (
    "format",
    "extractbench_nb",
    "profile",
    "judge",
    "judge_options",
    "alignment",
    "alignment_options",
    "metrics",
)
BUILT_IN = dict(REGISTRY.entries)

_LONGEST = 60


def custom_metrics(schemas: Iterable[Schema]) -> dict[str, Metric]:
    """Return the metrics of the user's that schemas name, and those in place of built-in ones."""
    named = {
        spec.metric_id
        for schema in schemas
        for node in schema.nodes()
        if node.config is not None
        for spec in node.config.metrics
    }
    return {
        name: metric
        for name, metric in REGISTRY.entries.items()
        if metric is not BUILT_IN.get(name) and (name in named or name in BUILT_IN)
    }


def settings_of(
    profile: Profile, judge: Judge, alignment: str | Aligner, metrics: Mapping[str, Metric]
) -> dict[str, Any]:
    """Describe the settings of a batch."""
    options = fingerprint(alignment)
    return {
        "format": FORMAT,
        "extractbench_nb": __version__,
        "profile": asdict(profile),
        "judge": judge.name,
        "judge_options": fingerprint(judge),
        "alignment": _alignment_name(alignment, known=options is not None),
        "alignment_options": options,
        "metrics": {name: _metric_hash(metric) for name, metric in sorted(metrics.items())},
    }


def refuse_other_settings(ours: Mapping[str, Any], theirs: Mapping[str, Any], folder: str) -> None:
    """Raise `InputError` that names the first setting in which a folder's batch differs."""
    for name in SETTINGS:
        value, found = ours[name], theirs.get(name)
        if name == "metrics":
            known = found or {}
            changed = [metric for metric, own in value.items() if known.get(metric, own) != own]
            if changed:
                raise InputError(f"{folder!r} was evaluated with another metric {changed[0]!r}")
        elif found != value:
            what, found, value = _difference(name.removesuffix("_options"), found, value)
            raise InputError(
                f"{folder!r} was evaluated with {what} {_shown(found)}, asked for is "
                f"{_shown(value)}; resume with the same settings, or use another folder"
            )


def fingerprint(thing: Any) -> Any:
    """Return what tells a judge or an aligner apart from others of its name.

    Examples
    --------
    >>> class Noisy:
    ...     name = "noisy"
    ...     fingerprint = {"seed": 3}
    >>> fingerprint(Noisy())
    {'seed': 3}
    """
    own = getattr(thing, "fingerprint", None)
    try:
        return json.loads(json.dumps(own))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"fingerprint of {type(thing).__name__} is {_shown(own)}; expected a JSON value "
            f"({error})"
        ) from None


def _alignment_name(alignment: str | Aligner, *, known: bool) -> str:
    if isinstance(alignment, str):
        return alignment
    if not known:
        return _source_hash(alignment)
    name = getattr(alignment, "name", None)
    return name if isinstance(name, str) else type(alignment).__name__


def _difference(what: str, found: Any, value: Any) -> tuple[str, Any, Any]:
    """Go down to the first part in which two settings differ."""
    for step, one, other in _parts(found, value):
        if one != other:
            return _difference(what if step == "name" else f"{what} {step}", one, other)
    return what, found, value


def _parts(found: Any, value: Any) -> Iterator[tuple[Any, Any, Any]]:
    if isinstance(found, dict) and isinstance(value, dict):
        for name in {**value, **found}:
            yield name, found.get(name), value.get(name)
    elif isinstance(found, list) and isinstance(value, list):
        for number, (one, other) in enumerate(zip_longest(found, value), 1):
            yield number, one, other


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _metric_hash(metric: Metric) -> str:
    function = metric.function
    source = _source_hash(function) if function is not None else ""
    return f"{source} {metric.params!r} {metric.threshold}"


def _source_hash(function: Any) -> str:
    """Tell a function by its source; one that comes from no file by its code."""
    for thing in (function, type(function)):
        with suppress(OSError, TypeError):
            return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    code = getattr(function, "__code__", None)
    content = marshal.dumps(code) if code is not None else repr(type(function)).encode()
    return hashlib.sha256(content).hexdigest()
