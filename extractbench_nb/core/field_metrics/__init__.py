"""The metrics of fields: the registry, `metric`, and the built-in metrics in the order of lists."""

from extractbench_nb.core.field_metrics import string_metrics as string_metrics

# isort: split
from extractbench_nb.core.field_metrics import number_metrics as number_metrics

# isort: split
from extractbench_nb.core.field_metrics import array_metrics as array_metrics
from extractbench_nb.core.field_metrics.registry import REGISTRY as REGISTRY

REGISTRY.built_in.update(REGISTRY.entries)
