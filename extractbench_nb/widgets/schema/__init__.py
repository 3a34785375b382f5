"""The schema as a tree, alone or with what an evaluation says of each node."""

from extractbench_nb.widgets.schema.explorer import SchemaExplorer

__all__ = ["SchemaExplorer"]
