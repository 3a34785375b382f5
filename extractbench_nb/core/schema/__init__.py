"""Parse JSON Schemas into typed nodes, with ``evaluation_config``, presets and validation."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core.schema.evaluation_config import PRESETS as PRESETS
from extractbench_nb.core.schema.evaluation_config import MetricSpec, NodeConfig, presets
from extractbench_nb.core.schema.evaluation_config import parse_config as parse_config
from extractbench_nb.core.schema.parse import SchemaSource as SchemaSource
from extractbench_nb.core.schema.parse import parse_schema
from extractbench_nb.core.schema.schema_nodes import MISSING as MISSING
from extractbench_nb.core.schema.schema_nodes import Children as Children
from extractbench_nb.core.schema.schema_nodes import Node, Schema
from extractbench_nb.core.schema.validation import Validation as Validation
from extractbench_nb.support.moved import moved_names

__all__ = [
    "MetricSpec",
    "Node",
    "NodeConfig",
    "Schema",
    "parse_schema",
    "presets",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
