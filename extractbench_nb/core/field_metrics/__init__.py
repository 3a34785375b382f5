"""The metrics of fields: the registry, `metric`, and the built-in metrics."""

from extractbench_nb.core.field_metrics import built_in_metrics as built_in_metrics
from extractbench_nb.core.field_metrics.registry import REGISTRY as REGISTRY

REGISTRY.built_in.update(REGISTRY.entries)
