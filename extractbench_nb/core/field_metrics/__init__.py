"""The metrics of fields: the registry, `metric`, and the built-in metrics."""

from extractbench_nb.core.field_metrics import array_metrics as array_metrics
from extractbench_nb.core.field_metrics import number_metrics as number_metrics
from extractbench_nb.core.field_metrics import string_metrics as string_metrics
from extractbench_nb.core.field_metrics.registry import REGISTRY

REGISTRY.built_in.update(REGISTRY.entries)
