"""Configs, presets and metric classes under their published names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.field_metrics.classes import (
    BaseMetric,
    MetricConfig,
    MetricResult,
    refuse_unknown,
)
from extractbench_nb.report.content import published_reason
from extractbench_nb.schema.config import PRESETS
from extractbench_nb.schema.nodes import EMPTY, MISSING, resolve_states, state_of

# --- configs and presets ----------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class EvaluationConfig(Mapping[str, Any]):
    """The metrics of a field and its weight; a schema may hold it as ``evaluation_config``.

    Parameters
    ----------
    metrics : sequence of MetricConfig or dict, optional
        The metrics; without any, the field is skipped.
    aggregation_weight : float or None, optional
        The weight among the fields.
    **unknown : object
        Any other argument raises an error.

    Raises
    ------
    ConfigError
        An unknown field, here or in a metric.

    Examples
    --------
    >>> dict(EvaluationConfig.from_preset("number_tolerance"))
    {'metrics': [{'metric_id': 'number_tolerance', 'params': {'tolerance': 0.001}}]}
    """

    metrics: list[MetricConfig]
    aggregation_weight: float | None = None

    def __init__(
        self,
        metrics: Sequence[MetricConfig | Mapping[str, Any]] = (),
        aggregation_weight: float | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown("EvaluationConfig", unknown, ("metrics", "aggregation_weight"))
        object.__setattr__(self, "metrics", [_metric_config(entry) for entry in metrics])
        object.__setattr__(self, "aggregation_weight", aggregation_weight)

    @classmethod
    def from_preset(cls, preset: str) -> EvaluationConfig:
        """Return the config of a preset.

        Parameters
        ----------
        preset : str
            Its name.

        Returns
        -------
        EvaluationConfig
            The config; that of ``skip`` has no metrics.

        Raises
        ------
        ConfigError
            There is no such preset.
        """
        metric = PRESETS.get(str(preset))
        if metric is None:
            raise ConfigError(None, f"unknown preset {preset!r}; {nearest(preset, PRESETS)}")
        if metric.metric_id == "skip":
            return cls()
        return cls([MetricConfig(metric.metric_id, params=dict(metric.params) or None)])

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the config as plain dicts.

        Parameters
        ----------
        exclude_none : bool, optional
            Whether to leave out entries that are None.

        Returns
        -------
        dict
            The entries ``metrics`` and ``aggregation_weight``.
        """
        config: dict[str, Any] = {
            "metrics": [metric.model_dump(exclude_none=exclude_none) for metric in self.metrics]
        }
        if self.aggregation_weight is not None or not exclude_none:
            config["aggregation_weight"] = self.aggregation_weight
        return config

    def __getitem__(self, key: str) -> Any:
        """Return a value of the ``evaluation_config``."""
        return self._as_written[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the ``evaluation_config``."""
        return iter(self._as_written)

    def __len__(self) -> int:
        """Count the keys of the ``evaluation_config``."""
        return len(self._as_written)

    @property
    def _as_written(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True) if self.metrics else {"preset": "skip"}


def _metric_config(entry: object) -> MetricConfig:
    if isinstance(entry, MetricConfig):
        return entry
    if isinstance(entry, Mapping) and "metric_id" in entry:
        return MetricConfig(**{str(key): value for key, value in entry.items()})
    raise ConfigError(None, f"found {entry!r}; expected a MetricConfig or a dict with 'metric_id'")


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
    """Raise an error if there is no such preset.

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
    """List the known presets.

    Parameters
    ----------
    invalid_preset : str
        An unknown name.

    Returns
    -------
    str
        The name, and one line per preset with its use.
    """
    lines = [f"  - {name}: {preset.use}" for name, preset in sorted(PRESETS.items())]
    return "\n".join([f"unknown preset {invalid_preset!r}; expected one of", *lines])


# --- metric classes with the rules of the README ----------------------------------------------


class PolicyAwareMetric(BaseMetric):
    """A metric that compares present values only; absent ones are decided by their states.

    Attributes
    ----------
    metric_id : str
        Its name in an ``evaluation_config``.

    Notes
    -----
    Subclasses have an async method ``_evaluate_values(*, node, gold, extracted, config)`` that
    returns a `MetricResult`.

    Examples
    --------
    >>> class SameInitial(PolicyAwareMetric):
    ...     metric_id = "same_initial"
    ...
    ...     async def _evaluate_values(self, *, node, gold, extracted, config):
    ...         return MetricResult(self.metric_id, float(gold[:1] == extracted[:1]))
    """

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        """Compare two values, or decide by their states if one is absent.

        Parameters
        ----------
        node : MetricContext
            The values and their schema. An empty array is absent if the type is array.
        config : MetricConfig, optional
            What the schema declares for the metric.

        Returns
        -------
        MetricResult
            Score and verdict; details has the reason if a value is absent.
        """
        gold, extracted = node.get_gold_value(), node.get_extracted_value()
        resolution = resolve_states(_state(node, gold), _state(node, extracted))
        if resolution is None:
            return await self._evaluate_values(
                node=node, gold=gold, extracted=extracted, config=config
            )
        details: dict[str, Any] = {"reason": published_reason(resolution.reason)}
        if not resolution.passed:
            details["gold"] = None if gold is MISSING else gold
            details["extracted"] = None if extracted is MISSING else extracted
        return MetricResult(self.metric_id, resolution.score, resolution.passed, details)

    async def _evaluate_values(
        self, *, node: Any, gold: Any, extracted: Any, config: MetricConfig | None
    ) -> MetricResult:
        raise NotImplementedError(f"{type(self).__name__} has no method _evaluate_values")


def _state(node: Any, value: Any) -> str:
    return EMPTY if value == [] and node.get_type() == "array" else state_of(value)
