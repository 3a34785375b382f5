"""Reports on one document: report.json, summary.txt, fields.csv, fields.md and report.html."""

from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.models import EvaluationReport

__all__ = ["EvaluationReport", "ReportBuilder", "ReportConfig"]
