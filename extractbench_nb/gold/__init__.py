"""Reviewing gold: the audit, annotations of people, corrections, agreement of annotators."""

from extractbench_nb.gold.annotations import ANNOTATIONS, DECISIONS, Annotations
from extractbench_nb.gold.annotators import AnnotatorAgreement, agreement
from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.correction_frame import corrections, save_corrections
from extractbench_nb.gold.findings import KINDS, Audit, Kind, sample_findings
from extractbench_nb.gold.versions import apply, effect, history

__all__ = [
    "ANNOTATIONS",
    "DECISIONS",
    "KINDS",
    "Annotations",
    "AnnotatorAgreement",
    "Audit",
    "Kind",
    "agreement",
    "apply",
    "audit",
    "corrections",
    "effect",
    "history",
    "sample_findings",
    "save_corrections",
]
