"""Reports on an evaluation or on built tables: JSON, text, CSV, Markdown and one HTML page."""

from extractbench_nb.views.report.report_files import write_report

__all__ = ["write_report"]
