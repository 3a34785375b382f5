"""Reviewing gold: the audit, the annotations of people, and cross-field rules."""

from extractbench_nb.evaluation.rules import RULES
from extractbench_nb.gold.annotations import ANNOTATIONS, DECISIONS, Annotations
from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.findings import KINDS, Audit, Kind, sample_findings
from extractbench_nb.gold.rules import check_rules

__all__ = [
    "ANNOTATIONS",
    "DECISIONS",
    "KINDS",
    "RULES",
    "Annotations",
    "Audit",
    "Kind",
    "audit",
    "check_rules",
    "sample_findings",
]
