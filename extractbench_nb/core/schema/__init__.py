"""JSON Schema to a typed AST: parsing, ``evaluation_config`` and presets, walking, complexity."""

from extractbench_nb.core.schema.complexity import keys_outside_arrays, schema_complexity
from extractbench_nb.core.schema.evaluation_config import (
    PRESETS,
    MetricSpec,
    NodeConfig,
    parse_config,
    presets,
)
from extractbench_nb.core.schema.parse import (
    BY_FIELD,
    ENVELOPES,
    SchemaSource,
    fields_of,
    nodes_of,
    parse_schema,
    with_metrics,
)
from extractbench_nb.core.schema.resolve import STRUCTURE_OR_REF
from extractbench_nb.core.schema.schema_nodes import (
    EMPTY,
    MISSING,
    PRESENT,
    Children,
    Node,
    Schema,
    Shown,
    Unusable,
    params_text,
    shown_metric,
    shown_nodes,
    state_of,
)
from extractbench_nb.core.schema.validation import Validation

__all__ = [
    "BY_FIELD",
    "EMPTY",
    "ENVELOPES",
    "MISSING",
    "PRESENT",
    "PRESETS",
    "STRUCTURE_OR_REF",
    "Children",
    "MetricSpec",
    "Node",
    "NodeConfig",
    "Schema",
    "SchemaSource",
    "Shown",
    "Unusable",
    "Validation",
    "fields_of",
    "keys_outside_arrays",
    "nodes_of",
    "params_text",
    "parse_config",
    "parse_schema",
    "presets",
    "schema_complexity",
    "shown_metric",
    "shown_nodes",
    "state_of",
    "with_metrics",
]
