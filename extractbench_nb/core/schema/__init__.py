"""JSON Schema to a typed AST: parsing, ``evaluation_config`` and presets, walking, complexity."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core.schema.complexity import keys_outside_arrays as keys_outside_arrays
from extractbench_nb.core.schema.complexity import schema_complexity as schema_complexity
from extractbench_nb.core.schema.evaluation_config import PRESETS, MetricSpec, NodeConfig, presets
from extractbench_nb.core.schema.evaluation_config import parse_config as parse_config
from extractbench_nb.core.schema.parse import BY_FIELD as BY_FIELD
from extractbench_nb.core.schema.parse import ENVELOPES as ENVELOPES
from extractbench_nb.core.schema.parse import SchemaSource as SchemaSource
from extractbench_nb.core.schema.parse import fields_of as fields_of
from extractbench_nb.core.schema.parse import nodes_of as nodes_of
from extractbench_nb.core.schema.parse import parse_schema
from extractbench_nb.core.schema.parse import with_metrics as with_metrics
from extractbench_nb.core.schema.resolve import STRUCTURE_OR_REF as STRUCTURE_OR_REF
from extractbench_nb.core.schema.schema_nodes import EMPTY as EMPTY
from extractbench_nb.core.schema.schema_nodes import MISSING as MISSING
from extractbench_nb.core.schema.schema_nodes import PRESENT as PRESENT
from extractbench_nb.core.schema.schema_nodes import Children as Children
from extractbench_nb.core.schema.schema_nodes import Node, Schema
from extractbench_nb.core.schema.schema_nodes import Shown as Shown
from extractbench_nb.core.schema.schema_nodes import Unusable as Unusable
from extractbench_nb.core.schema.schema_nodes import params_text as params_text
from extractbench_nb.core.schema.schema_nodes import shown_metric as shown_metric
from extractbench_nb.core.schema.schema_nodes import shown_nodes as shown_nodes
from extractbench_nb.core.schema.schema_nodes import state_of as state_of
from extractbench_nb.core.schema.validation import Validation as Validation
from extractbench_nb.support.moved import moved_names

__all__ = [
    "PRESETS",
    "MetricSpec",
    "Node",
    "NodeConfig",
    "Schema",
    "parse_schema",
    "presets",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
