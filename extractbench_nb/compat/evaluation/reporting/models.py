"""The records that a report is made of."""

from extractbench_nb.report.models import (
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
    "SchemaStats",
]
