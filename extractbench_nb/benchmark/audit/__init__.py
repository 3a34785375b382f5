"""Audit of a dataset: gold against its schema, against itself and against its PDF."""

from extractbench_nb.benchmark.audit.api import audit
from extractbench_nb.benchmark.audit.kinds import KINDS, Kind
from extractbench_nb.benchmark.audit.result import (
    AUDIT_COLUMNS,
    AUDITED_COLUMNS,
    SUMMARY_COLUMNS,
    Audit,
)
from extractbench_nb.benchmark.audit.sampling import sample_findings

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
