"""JSON Schema to a typed AST, with ``evaluation_config`` and presets. Knows nothing of values."""

from extractbench_nb.schema.config import MetricSpec, NodeConfig
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.schema.presets import PRESETS, presets

__all__ = ["PRESETS", "MetricSpec", "Node", "NodeConfig", "Schema", "parse_schema", "presets"]
