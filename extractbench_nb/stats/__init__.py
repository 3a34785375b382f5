"""Uncertainty: intervals, paired comparisons, agreement of judges, confidences and review."""

from extractbench_nb.stats.agreements import Agreement, agreement
from extractbench_nb.stats.breakdowns import breakdown, difficulty
from extractbench_nb.stats.calibrations import Calibration, calibration
from extractbench_nb.stats.compare import Comparison, compare_runs
from extractbench_nb.stats.confidences import run_agreement
from extractbench_nb.stats.consistency import SelfConsistency, self_consistency
from extractbench_nb.stats.gates import Regressions, regressions
from extractbench_nb.stats.judge_agreements import JudgeAgreement, judge_agreement
from extractbench_nb.stats.reviews import ReviewPlan, review_plan
from extractbench_nb.stats.risk import RiskCoverage, risk_coverage

__all__ = [
    "Agreement",
    "Calibration",
    "Comparison",
    "JudgeAgreement",
    "Regressions",
    "ReviewPlan",
    "RiskCoverage",
    "SelfConsistency",
    "agreement",
    "breakdown",
    "calibration",
    "compare_runs",
    "difficulty",
    "judge_agreement",
    "regressions",
    "review_plan",
    "risk_coverage",
    "run_agreement",
    "self_consistency",
]
