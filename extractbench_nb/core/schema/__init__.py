"""Parsed JSON Schemas, ``evaluation_config`` and presets."""

from extractbench_nb.core.schema.evaluation_config import PRESETS, MetricSpec, NodeConfig, presets
from extractbench_nb.core.schema.schema_nodes import Node, Schema
from extractbench_nb.core.schema.parse import parse_schema

__all__ = ["PRESETS", "MetricSpec", "Node", "NodeConfig", "Schema", "parse_schema", "presets"]
