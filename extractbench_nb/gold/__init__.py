"""Reviewing gold: the audit, and how much of gold the PDFs contain."""

from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.findings import KINDS, Audit, Kind, sample_findings

__all__ = [
    "KINDS",
    "Audit",
    "Kind",
    "audit",
    "sample_findings",
]
