"""Parsed JSON Schemas, ``evaluation_config`` and presets."""

from extractbench_nb.schema.config import PRESETS, MetricSpec, NodeConfig, presets
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.schema.parse import parse_schema

__all__ = ["PRESETS", "MetricSpec", "Node", "NodeConfig", "Schema", "parse_schema", "presets"]
