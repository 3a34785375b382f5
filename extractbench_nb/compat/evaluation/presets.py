"""The presets of ``evaluation_config``."""

from __future__ import annotations

from extractbench_nb.compat.evaluation.evaluation_config import EvaluationConfig
from extractbench_nb.schema.presets import DEFAULT_METRICS, PRESETS

__all__ = [
    "ARRAY_DEFAULT_PRESET",
    "BOOLEAN_DEFAULT_PRESET",
    "INTEGER_DEFAULT_PRESET",
    "NUMBER_DEFAULT_PRESET",
    "SKIP_PRESET",
    "STRING_DEFAULT_PRESET",
    "VALID_PRESETS",
    "get_preset_config",
    "get_preset_configs",
    "get_preset_error_message",
    "validate_preset",
]

#: By name: what a preset is for. Those of this package are among them.
VALID_PRESETS = {name: preset.use for name, preset in PRESETS.items()}

STRING_DEFAULT_PRESET = DEFAULT_METRICS["string"]
INTEGER_DEFAULT_PRESET = DEFAULT_METRICS["integer"]
NUMBER_DEFAULT_PRESET = DEFAULT_METRICS["number"]
BOOLEAN_DEFAULT_PRESET = DEFAULT_METRICS["boolean"]
ARRAY_DEFAULT_PRESET = DEFAULT_METRICS["array"]
SKIP_PRESET = "skip"


def get_preset_configs() -> dict[str, EvaluationConfig]:
    """Return the configs of all presets.

    Returns
    -------
    dict of str to EvaluationConfig
        By name; that of ``skip`` has no metrics.
    """
    return {name: EvaluationConfig.from_preset(name) for name in PRESETS}


def get_preset_config(preset: str) -> EvaluationConfig:
    """Return the config of a preset.

    Parameters
    ----------
    preset : str
        Its name.

    Returns
    -------
    EvaluationConfig
        The config.

    Raises
    ------
    ConfigError
        There is no such preset.

    Examples
    --------
    >>> get_preset_config("string_exact").metrics
    [MetricConfig(metric_id='string_exact', weight=None, params=None)]
    """
    return EvaluationConfig.from_preset(preset)


def validate_preset(preset: str) -> None:
    """Refuse a name that no preset has.

    Parameters
    ----------
    preset : str
        The name.

    Raises
    ------
    ConfigError
        There is no such preset.
    """
    EvaluationConfig.from_preset(preset)


def get_preset_error_message(invalid_preset: str) -> str:
    """Say which presets there are.

    Parameters
    ----------
    invalid_preset : str
        A name that no preset has.

    Returns
    -------
    str
        The name, and a line for each preset with what it is for.
    """
    lines = [f"  - {name}: {use}" for name, use in sorted(VALID_PRESETS.items())]
    return "\n".join([f"unknown preset {invalid_preset!r}; known are", *lines])
