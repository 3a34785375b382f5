"""Review gold data: the audit, suspects, corrections, rules, agreement between annotators."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core import RULES
from extractbench_nb.gold.annotators import agreement
from extractbench_nb.gold.consensus import suspects
from extractbench_nb.gold.findings import Audit, audit
from extractbench_nb.gold.rules import check_rules
from extractbench_nb.gold.versions import CORRECTIONS as CORRECTIONS
from extractbench_nb.gold.versions import apply, corrections, effect, history, save_corrections
from extractbench_nb.gold.versions import cell_value as cell_value
from extractbench_nb.support.moved import moved_names

__all__ = [
    "RULES",
    "Audit",
    "agreement",
    "apply",
    "audit",
    "check_rules",
    "corrections",
    "effect",
    "history",
    "save_corrections",
    "suspects",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
