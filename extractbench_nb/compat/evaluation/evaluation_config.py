"""``evaluation_config`` as objects; a schema may hold them in place of dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.metrics.classes import MetricConfig, refuse_unknown
from extractbench_nb.schema.presets import PRESETS

__all__ = ["EvaluationConfig", "MetricConfig"]


@dataclass(frozen=True, init=False)
class EvaluationConfig(Mapping[str, Any]):
    """How a field is scored: its metrics, and its weight among the fields.

    It is also a mapping, the ``evaluation_config`` that a schema holds.

    Parameters
    ----------
    metrics : sequence of MetricConfig or dict, optional
        The metrics; none leaves the field out.
    aggregation_weight : float or None, optional
        The weight.
    **unknown : object
        Refused.

    Raises
    ------
    ConfigError
        A field that is none of these, here or in a metric.

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
        object.__setattr__(self, "metrics", [_metric(entry) for entry in metrics])
        object.__setattr__(self, "aggregation_weight", aggregation_weight)

    @classmethod
    def from_preset(cls, preset: str) -> EvaluationConfig:
        """Make the config that a preset stands for.

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
        """
        found = PRESETS.get(str(preset))
        if found is None:
            raise ConfigError(None, f"unknown preset {preset!r}; {nearest(preset, PRESETS)}")
        if found.metric_id == "skip":
            return cls()
        return cls([MetricConfig(found.metric_id, params=dict(found.params) or None)])

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the config as plain dicts.

        Parameters
        ----------
        exclude_none : bool, optional
            Whether to leave out what is None.

        Returns
        -------
        dict
            metrics, aggregation_weight.
        """
        metrics = [metric.model_dump(exclude_none=exclude_none) for metric in self.metrics]
        found = {"metrics": metrics, "aggregation_weight": self.aggregation_weight}
        return {k: v for k, v in found.items() if not (exclude_none and v is None)}

    def __getitem__(self, key: str) -> Any:
        """Return a part of the config as a schema holds it."""
        return self._written[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys that a schema holds."""
        return iter(self._written)

    def __len__(self) -> int:
        """Count the keys that a schema holds."""
        return len(self._written)

    @property
    def _written(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True) if self.metrics else {"preset": "skip"}


def _metric(entry: object) -> MetricConfig:
    if isinstance(entry, MetricConfig):
        return entry
    if isinstance(entry, Mapping) and "metric_id" in entry:
        return MetricConfig(**{str(key): value for key, value in entry.items()})
    raise ConfigError(None, f"found {entry!r}; expected a MetricConfig or a dict with 'metric_id'")
