"""Reviewing gold: the audit, and how much of gold the PDFs contain."""

from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.findings import (
    AUDIT_COLUMNS,
    AUDITED_COLUMNS,
    KINDS,
    SUMMARY_COLUMNS,
    Audit,
    Kind,
    sample_findings,
)

__all__ = [
    "AUDITED_COLUMNS",
    "AUDIT_COLUMNS",
    "KINDS",
    "SUMMARY_COLUMNS",
    "Audit",
    "Kind",
    "audit",
    "sample_findings",
]
