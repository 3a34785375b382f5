"""Reports on a document or on built tables: JSON, text, CSV, Markdown and one HTML page."""

from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.models import EvaluationReport
from extractbench_nb.report.tables import TableReport

__all__ = ["EvaluationReport", "ReportBuilder", "ReportConfig", "TableReport"]
