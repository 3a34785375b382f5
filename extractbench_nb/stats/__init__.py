"""Uncertainty: intervals over documents, paired comparisons, agreement of judges."""

from extractbench_nb.stats.agreements import Agreement, agreement
from extractbench_nb.stats.breakdowns import breakdown, difficulty
from extractbench_nb.stats.compare import Comparison, compare_runs
from extractbench_nb.stats.consistency import SelfConsistency, self_consistency
from extractbench_nb.stats.judges import JudgeAgreement, judge_agreement
from extractbench_nb.stats.regressions import Regressions, regressions

__all__ = [
    "Agreement",
    "Comparison",
    "JudgeAgreement",
    "Regressions",
    "SelfConsistency",
    "agreement",
    "breakdown",
    "compare_runs",
    "difficulty",
    "judge_agreement",
    "regressions",
    "self_consistency",
]
