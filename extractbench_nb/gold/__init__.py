"""Reviewing gold: the audit, suspects from runs, and the annotations of people."""

from extractbench_nb.gold.annotations import ANNOTATIONS, DECISIONS, Annotations
from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.consensus import SUSPECT_COLUMNS, SUSPECT_KINDS, suspects
from extractbench_nb.gold.findings import KINDS, Audit, Kind, sample_findings

__all__ = [
    "ANNOTATIONS",
    "DECISIONS",
    "KINDS",
    "SUSPECT_COLUMNS",
    "SUSPECT_KINDS",
    "Annotations",
    "Audit",
    "Kind",
    "audit",
    "sample_findings",
    "suspects",
]
