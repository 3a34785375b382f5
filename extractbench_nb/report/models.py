"""What a report says, as frozen records; their fields are the keys of ``report.json``.

Names and meanings are those of the published package wherever it has them, so that a program that
reads its ``report.json`` reads ours too. What is added stands beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from extractbench_nb.report.documents import (
    ArrayStats,
    ContentStats,
    CoverageStats,
    ReportWarning,
    SchemaStats,
)
from extractbench_nb.report.items import ArrayBreakdown, ArrayItem
from extractbench_nb.report.results import (
    ConfusionCounts,
    ErrorBreakdown,
    ErrorGroup,
    ErrorSplit,
    FieldOutcome,
    LlmStats,
    LowScoringField,
    ModelCalls,
    OutcomeStats,
)

if TYPE_CHECKING:
    from extractbench_nb.evaluation import Evaluation


__all__ = [
    "ArrayBreakdown",
    "ArrayItem",
    "ArrayStats",
    "ConfusionCounts",
    "ContentStats",
    "CoverageStats",
    "ErrorBreakdown",
    "ErrorGroup",
    "ErrorSplit",
    "EvaluationReport",
    "FieldOutcome",
    "LlmStats",
    "LowScoringField",
    "ModelCalls",
    "OutcomeStats",
    "ReportWarning",
    "SchemaStats",
]


@dataclass(frozen=True)
class EvaluationReport:
    """Everything a report says about one document. `ReportBuilder` makes it.

    Attributes
    ----------
    output_name : str
        Name of the report, and of its folder.
    timestamp : str
        When it was made, ISO 8601, local time.
    schema_hash : str
        First 8 hex digits of the SHA-256 of the schema as JSON with sorted keys.
    gold_hash : str
        The same of gold.
    extracted_hash : str
        The same of the extracted document.
    schema_stats : SchemaStats
        The shape of the schema.
    gold_stats : ContentStats
        What gold holds.
    extracted_stats : ContentStats
        What the extracted document holds.
    coverage : CoverageStats
        Which leaves both have.
    outcomes : OutcomeStats
        Counts over what was evaluated.
    field_outcomes : list of FieldOutcome
        One a counted field and metric.
    overall_score : float
        In [0, 1]; an array weighs as much as gold has items.
    overall_pass_rate : float
        In [0, 1]; fields that pass.
    field_score : float
        In [0, 1]; every field weighs the same.
    array_breakdowns : list of ArrayBreakdown
        The arrays with their items.
    gold_coverage : float
        In [0, 1]; share of gold's leaves that the schema declares.
    warnings : list of ReportWarning
        Undeclared keys, violations of the schema, faults of gold.
    problem : str or None
        The parser's message where the extracted text is no JSON.
    profile : str
        The rules.
    judge : str
        Who judged.
    alignment : str
        How items were aligned.
    versions : dict of str to str
        Of ``extractbench_nb``, ``pandas`` and ``python``.
    evaluation : Evaluation
        What all of this was derived from; not in ``report.json``.
    """

    output_name: str
    timestamp: str
    schema_hash: str
    gold_hash: str
    extracted_hash: str
    schema_stats: SchemaStats
    gold_stats: ContentStats
    extracted_stats: ContentStats
    coverage: CoverageStats
    outcomes: OutcomeStats
    field_outcomes: list[FieldOutcome]
    overall_score: float
    overall_pass_rate: float
    field_score: float
    array_breakdowns: list[ArrayBreakdown]
    gold_coverage: float
    warnings: list[ReportWarning]
    problem: str | None
    profile: str
    judge: str
    alignment: str
    versions: dict[str, str]
    evaluation: Evaluation = field(repr=False, compare=False)

    @property
    def item_weighted(self) -> bool:
        """Whether ``overall_score`` weighs an array by its gold items: a rule of the profile."""
        return self.evaluation.profile.item_weighted_overall

    def __repr__(self) -> str:
        """Write name and scores in one line, outcomes in another."""
        o, split = self.outcomes, self.outcomes.split
        wrong = ", ".join(f"{n} {name}" for name, n in vars(split).items() if n)
        return (
            f"EvaluationReport {self.output_name!r}: overall {self.overall_score:.3f} · "
            f"field {self.field_score:.3f} · pass rate {self.overall_pass_rate:.1%}\n"
            f"  {o.total_passed} of {o.total_evaluated} fields pass"
            + (f"; failed: {wrong.replace('_', ' ')}" if wrong else "")
        )

    def _repr_html_(self) -> str:
        from extractbench_nb._html import document_text
        from extractbench_nb.evaluation.card import card_html

        name = document_text(self.output_name, 120)
        return f"<div><strong>Report {name}</strong></div>{card_html(self.evaluation)}"
