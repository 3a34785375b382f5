"""Two compared tables as a picture: its model, and HTML that needs no script."""

from extractbench_nb.grits.drawing.html import grits_html

__all__ = ["grits_html"]
