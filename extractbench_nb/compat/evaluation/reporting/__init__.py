"""What ``extract_bench.evaluation.reporting`` offers."""

from extractbench_nb.compat.evaluation.reporting.formatters import (
    format_csv,
    format_json,
    format_markdown_table,
    format_text_summary,
)
from extractbench_nb.compat.evaluation.reporting.models import (
    ArrayStats,
    ConfusionCounts,
    ContentStats,
    CoverageStats,
    ErrorBreakdown,
    ErrorGroup,
    EvaluationReport,
    FieldOutcome,
    LlmStats,
    LowScoringField,
    OutcomeStats,
    SchemaStats,
)
from extractbench_nb.compat.evaluation.reporting.report_builder import ReportBuilder, ReportConfig

__all__ = [
    "ArrayStats",
    "ConfusionCounts",
    "ContentStats",
    "CoverageStats",
    "ErrorBreakdown",
    "ErrorGroup",
    "EvaluationReport",
    "FieldOutcome",
    "LlmStats",
    "LowScoringField",
    "OutcomeStats",
    "ReportBuilder",
    "ReportConfig",
    "SchemaStats",
    "format_csv",
    "format_json",
    "format_markdown_table",
    "format_text_summary",
]
