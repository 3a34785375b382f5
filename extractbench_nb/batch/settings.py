"""What decides the numbers of a batch besides its inputs: kept with results, compared on resume."""

from __future__ import annotations

import hashlib
import inspect
import marshal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from extractbench_nb._version import __version__
from extractbench_nb.errors import InputError
from extractbench_nb.inputs import Aligner
from extractbench_nb.judges.base import Judge
from extractbench_nb.metrics import REGISTRY, Metric
from extractbench_nb.profiles import Profile
from extractbench_nb.schema.nodes import Schema

__all__ = ["FORMAT", "custom_metrics", "refuse_other_settings", "settings_of"]

#: Changes when older folders cannot be read any more.
FORMAT = 1
#: What must be the same when a batch is taken up.
SETTINGS = ("format", "extractbench_nb", "profile", "judge", "alignment", "metrics")
BUILT_IN = dict(REGISTRY.entries)


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
    """Describe the settings of a batch.

    Parameters
    ----------
    profile : Profile
        The rules.
    judge : Judge
        Known by its name.
    alignment : str or callable
        A function is known by its source.
    metrics : mapping of str to Metric
        The user's own; known by their source.

    Returns
    -------
    dict
        JSON values; equal for equal settings, also in another process.
    """
    return {
        "format": FORMAT,
        "extractbench_nb": __version__,
        "profile": asdict(profile),
        "judge": judge.name,
        "alignment": alignment if isinstance(alignment, str) else _source_hash(alignment),
        "metrics": {name: _metric_hash(metric) for name, metric in sorted(metrics.items())},
    }


def refuse_other_settings(ours: Mapping[str, Any], theirs: Mapping[str, Any], folder: str) -> None:
    """Raise `InputError` that names the first setting in which a folder's batch differs.

    Parameters
    ----------
    ours, theirs : mapping
        Settings asked for, and those of the folder. A metric that only one of them has is no
        difference: documents of other schemas may be added.
    folder : str
        The folder, for the error.
    """
    for name in SETTINGS:
        value, found = ours[name], theirs.get(name)
        if name == "metrics":
            known = found or {}
            changed = [metric for metric, own in value.items() if known.get(metric, own) != own]
            if changed:
                raise InputError(f"{folder!r} was evaluated with another metric {changed[0]!r}")
        elif found != value:
            shown = [v["name"] if isinstance(v, dict) else v for v in (found, value)]
            raise InputError(
                f"{folder!r} was evaluated with {name} {shown[0]!r}, asked for is {shown[1]!r}; "
                "resume with the same settings, or use another folder"
            )


def _metric_hash(metric: Metric) -> str:
    function = metric.function
    source = _source_hash(function) if function is not None else ""
    return f"{source} {metric.params!r} {metric.threshold}"


def _source_hash(function: Callable[..., Any]) -> str:
    """Tell a function by its source; one that comes from no file by its code."""
    for thing in (function, type(function)):
        with suppress(OSError, TypeError):
            return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    code = getattr(function, "__code__", None)
    content = marshal.dumps(code) if code is not None else repr(type(function)).encode()
    return hashlib.sha256(content).hexdigest()
