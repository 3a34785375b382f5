"""Reviewing gold: the audit, annotations, suspects, corrections, rules, agreement."""

from extractbench_nb.core.cross_field_rules import RULES
from extractbench_nb.gold.annotations import Annotations
from extractbench_nb.gold.annotators import agreement
from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.consensus import suspects
from extractbench_nb.gold.correction_frame import corrections, save_corrections
from extractbench_nb.gold.findings import Audit, sample_findings
from extractbench_nb.gold.published_checks import judged_findings, published_findings
from extractbench_nb.gold.rules import check_rules
from extractbench_nb.gold.versions import apply, effect, history

__all__ = [
    "RULES",
    "Annotations",
    "Audit",
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
