"""Presets of ``evaluation_config`` and the default metric of each JSON type, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec

__all__ = [
    "ARRAY_METRICS",
    "DEFAULT_METRICS",
    "PRESETS",
    "SCALAR_METRICS",
    "Preset",
    "presets",
]


@dataclass(frozen=True, slots=True)
class Preset:
    """A named metric with its parameters (Table 4 of the ExtractBench paper, and its README)."""

    name: str
    metric_id: str
    params: Mapping[str, Any]
    use: str


def _preset(name: str, use: str, metric_id: str | None = None, **params: Any) -> Preset:
    return Preset(name, metric_id or name, params, use)


#: All presets by name.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            _preset("string_exact", "identifiers, codes"),
            _preset("string_case_insensitive", "enums, units, status words"),
            _preset("string_fuzzy", "names with typos", threshold=0.8, case_sensitive=False),
            _preset("string_semantic", "free text; the default for strings"),
            _preset("string_url", "web addresses"),
            _preset("string_llm", "anything a judge should decide"),
            _preset("number_exact", "counts, amounts that must not be rounded"),
            _preset("number_tolerance", "reported values; default for numbers", tolerance=0.001),
            _preset("integer_exact", "years, counts; the default for integers"),
            _preset("boolean_exact", "flags; the default for booleans"),
            _preset("array_llm", "arrays, aligned item by item; the default for arrays"),
            _preset("skip", "nodes that are not scored"),
            _preset("date", "dates in any common format", precision="day"),
            _preset("string_normalized", "text; case, spacing, punctuation and Unicode aside"),
            _preset("set_f1", "arrays of scalars, order and repetition aside"),
        )
    }
)

#: Metric of a node that declares none, by JSON Schema type. Objects and nulls are not scored.
DEFAULT_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "string": "string_semantic",
        "number": "number_tolerance",
        "integer": "integer_exact",
        "boolean": "boolean_exact",
        "array": "array_llm",
    }
)

#: Metrics that need an array, and those of the presets that are not made for one.
ARRAY_METRICS = frozenset({"array_llm", "set_f1"})
SCALAR_METRICS = frozenset(p.metric_id for p in PRESETS.values()) - ARRAY_METRICS - {"skip"}

PRESET_COLUMNS = FrameSpec(
    "presets",
    "one row a preset",
    (
        Column("preset", "string", "name to write in evaluation_config"),
        Column("metric", "string", "metric it stands for"),
        Column("params", "object", "params it sets, as a dict"),
        Column("default_for", "string", "JSON type that uses it by default", nullable=True),
        Column("use", "string", "what it is for"),
    ),
)


def presets() -> pd.DataFrame:
    """List the presets that an ``evaluation_config`` can name.

    Returns
    -------
    pandas.DataFrame
        One row a preset: preset, metric, params, default_for, use.

    Examples
    --------
    >>> presets().set_index("preset").loc["number_tolerance", "params"]
    {'tolerance': 0.001}
    """
    default_for = {metric: kind for kind, metric in DEFAULT_METRICS.items()}
    rows = PRESETS.values()
    return PRESET_COLUMNS.build(
        {
            "preset": [row.name for row in rows],
            "metric": [row.metric_id for row in rows],
            "params": [dict(row.params) for row in rows],
            "default_for": [default_for.get(row.name) for row in rows],
            "use": [row.use for row in rows],
        }
    )
