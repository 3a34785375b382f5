"""Reviewing gold: the audit, annotations, suspects, corrections, rules, agreement."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core import RULES
from extractbench_nb.gold.annotations import DECISIONS as DECISIONS
from extractbench_nb.gold.annotations import Annotations
from extractbench_nb.gold.annotators import agreement
from extractbench_nb.gold.checks import audit
from extractbench_nb.gold.consensus import suspects
from extractbench_nb.gold.correction_rows import CORRECTIONS as CORRECTIONS
from extractbench_nb.gold.correction_rows import Correction as Correction
from extractbench_nb.gold.correction_rows import cell_value as cell_value
from extractbench_nb.gold.correction_rows import conflicting as conflicting
from extractbench_nb.gold.correction_rows import corrections, save_corrections
from extractbench_nb.gold.findings import Audit, judged_findings, published_findings
from extractbench_nb.gold.rules import check_rules
from extractbench_nb.gold.versions import apply, effect, history
from extractbench_nb.support.moved import moved_names

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
    "save_corrections",
    "suspects",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
