"""Reviewing gold: the audit, annotations, suspects, corrections, rules, agreement."""

from extractbench_nb.evaluation.rules import RULES
from extractbench_nb.gold.annotations import ANNOTATIONS, DECISIONS, Annotations
from extractbench_nb.gold.annotators import AnnotatorAgreement, agreement
from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.consensus import SUSPECT_COLUMNS, SUSPECT_KINDS, suspects
from extractbench_nb.gold.correction_frame import corrections, save_corrections
from extractbench_nb.gold.findings import KINDS, Audit, Kind, sample_findings
from extractbench_nb.gold.published import judged_findings, published_findings
from extractbench_nb.gold.rules import check_rules
from extractbench_nb.gold.versions import apply, effect, history

__all__ = [
    "ANNOTATIONS",
    "DECISIONS",
    "KINDS",
    "RULES",
    "SUSPECT_COLUMNS",
    "SUSPECT_KINDS",
    "Annotations",
    "AnnotatorAgreement",
    "Audit",
    "Kind",
    "agreement",
    "apply",
    "audit",
    "check_rules",
    "corrections",
    "effect",
    "history",
    "judged_findings",
    "published_findings",
    "sample_findings",
    "save_corrections",
    "suspects",
]
