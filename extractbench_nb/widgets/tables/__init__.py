"""Two compared tables beside each other: which rows, columns and cells were taken for which."""

from extractbench_nb.widgets.tables.view import TableView

__all__ = ["TableView"]
