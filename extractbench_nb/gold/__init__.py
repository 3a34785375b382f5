"""Gold under review: what an audit finds in it, and how much of it stands in the PDFs."""

from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.findings import (
    KINDS,
    Audit,
    Kind,
    sample_findings,
)

__all__ = [
    "KINDS",
    "Audit",
    "Kind",
    "audit",
    "sample_findings",
]
