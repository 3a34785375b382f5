"""Quantify uncertainty: intervals, paired comparisons, agreement, calibration, the gate."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.stats.agreements import Agreement as Agreement
from extractbench_nb.stats.agreements import JudgeAgreement as JudgeAgreement
from extractbench_nb.stats.agreements import SelfConsistency as SelfConsistency
from extractbench_nb.stats.agreements import agreement, judge_agreement, self_consistency
from extractbench_nb.stats.agreements import kappas as kappas
from extractbench_nb.stats.breakdowns import breakdown, difficulty
from extractbench_nb.stats.breakdowns import chosen_rows as chosen_rows
from extractbench_nb.stats.breakdowns import complete_rows as complete_rows
from extractbench_nb.stats.breakdowns import gather as gather
from extractbench_nb.stats.breakdowns import label as label
from extractbench_nb.stats.breakdowns import refuse_two_profiles as refuse_two_profiles
from extractbench_nb.stats.breakdowns import summary_of as summary_of
from extractbench_nb.stats.compare import MEASURES as MEASURES
from extractbench_nb.stats.compare import Comparison as Comparison
from extractbench_nb.stats.compare import compare_runs
from extractbench_nb.stats.failures import LENGTH_COLUMNS as LENGTH_COLUMNS
from extractbench_nb.stats.failures import count_failures as count_failures
from extractbench_nb.stats.failures import failure_modes, failure_positions, validity_by_length
from extractbench_nb.stats.failures import group_attempts as group_attempts
from extractbench_nb.stats.failures import rate_interval as rate_interval
from extractbench_nb.stats.failures import valid_interval as valid_interval
from extractbench_nb.stats.feedbacks import FEEDBACK_COLUMNS as FEEDBACK_COLUMNS
from extractbench_nb.stats.feedbacks import Feedback as Feedback
from extractbench_nb.stats.feedbacks import feedback
from extractbench_nb.stats.feedbacks import values_text as values_text
from extractbench_nb.stats.gates import GoldenCase as GoldenCase
from extractbench_nb.stats.gates import Regressions as Regressions
from extractbench_nb.stats.gates import regressions
from extractbench_nb.stats.intervals import Drawing as Drawing
from extractbench_nb.stats.intervals import check_share as check_share
from extractbench_nb.stats.intervals import mean_intervals as mean_intervals
from extractbench_nb.stats.intervals import wilson_interval as wilson_interval
from extractbench_nb.stats.metric_choice import MetricChoice as MetricChoice
from extractbench_nb.stats.metric_choice import choose_metric
from extractbench_nb.stats.mismatches import KIND_COLUMN as KIND_COLUMN
from extractbench_nb.stats.mismatches import mismatch_frame as mismatch_frame
from extractbench_nb.stats.mismatches import mismatch_kind
from extractbench_nb.stats.mismatches import mismatch_kinds as mismatch_kinds
from extractbench_nb.stats.without_gold import Estimate as Estimate
from extractbench_nb.stats.without_gold import calibration, estimate, run_agreement
from extractbench_nb.support.moved import moved_names

__all__ = [
    "agreement",
    "breakdown",
    "calibration",
    "choose_metric",
    "compare_runs",
    "difficulty",
    "estimate",
    "failure_modes",
    "failure_positions",
    "feedback",
    "judge_agreement",
    "mismatch_kind",
    "regressions",
    "run_agreement",
    "self_consistency",
    "validity_by_length",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
