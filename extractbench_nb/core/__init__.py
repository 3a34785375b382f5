"""The core: a schema, gold and a prediction become DataFrames, offline and deterministic.

Other rooms know it through five faces: `core`, `core.schema`, `core.frames`, `core.values` and
`core.text`.
"""

from extractbench_nb.core.accepted_input import (
    ACCEPTED_COLUMNS,
    Alternative,
    by_document,
    read_accepted,
)
from extractbench_nb.core.alignment import (
    DENSE_PAIRS,
    HOPELESS,
    OptimalAligner,
    Side,
    equal_pairs,
    unpaired,
)
from extractbench_nb.core.alternatives import is_below
from extractbench_nb.core.bounds import Pairs, solve
from extractbench_nb.core.cases import Case, CaseScorer, Verdicts, check_gold
from extractbench_nb.core.cross_field_rules import (
    RULE_COLUMNS,
    RULES,
    Rule,
    RuleOutcome,
    chosen_rules,
    rule,
    schema_names,
)
from extractbench_nb.core.document_warnings import violations
from extractbench_nb.core.evaluation import (
    MAX_DEPTH,
    Run,
    check_models,
    choose_alignment,
    evaluate,
    evaluate_async,
    read_predicted,
    refuse_non_json,
)
from extractbench_nb.core.evaluation_frames import (
    OUTCOMES,
    chosen_array,
    item_pairs,
    partner_path,
    total_cost,
)
from extractbench_nb.core.field_metrics.array_metrics import JUDGE_PARAMS
from extractbench_nb.core.field_metrics.registry import (
    REGISTRY,
    Metric,
    MetricScore,
    Param,
    metric,
    metrics,
)
from extractbench_nb.core.field_metrics.string_metrics import normal_url
from extractbench_nb.core.mismatches import (
    KIND_COLUMN,
    KIND_NAMES,
    mismatch_frame,
    mismatch_kind,
    mismatch_kinds,
)
from extractbench_nb.core.pairing import holds_something, leaves, pair_up, resolve_union, undeclared
from extractbench_nb.core.profile_rules import PROFILES, Profile, get_profile, profiles
from extractbench_nb.core.proxy import proxy_matrix
from extractbench_nb.core.records import Leaf, settled
from extractbench_nb.core.registered import register
from extractbench_nb.core.result import (
    Evaluation,
    Inputs,
    evaluation_html,
    outcome_counts,
    scores_text,
    worst_fields,
)
from extractbench_nb.core.scoring import Scored, Scorer
from extractbench_nb.core.similarity import MapItem, PairScore, array_params, pass_threshold
from extractbench_nb.core.thresholds import ALIGN, PASS, ArrayMatches, Outcome
from extractbench_nb.core.traversal import Aligner

__all__ = [
    "ACCEPTED_COLUMNS",
    "ALIGN",
    "DENSE_PAIRS",
    "HOPELESS",
    "JUDGE_PARAMS",
    "KIND_COLUMN",
    "KIND_NAMES",
    "MAX_DEPTH",
    "OUTCOMES",
    "PASS",
    "PROFILES",
    "REGISTRY",
    "RULES",
    "RULE_COLUMNS",
    "Aligner",
    "Alternative",
    "ArrayMatches",
    "Case",
    "CaseScorer",
    "Evaluation",
    "Inputs",
    "Leaf",
    "MapItem",
    "Metric",
    "MetricScore",
    "OptimalAligner",
    "Outcome",
    "PairScore",
    "Pairs",
    "Param",
    "Profile",
    "Rule",
    "RuleOutcome",
    "Run",
    "Scored",
    "Scorer",
    "Side",
    "Verdicts",
    "array_params",
    "by_document",
    "check_gold",
    "check_models",
    "choose_alignment",
    "chosen_array",
    "chosen_rules",
    "equal_pairs",
    "evaluate",
    "evaluate_async",
    "evaluation_html",
    "get_profile",
    "holds_something",
    "is_below",
    "item_pairs",
    "leaves",
    "metric",
    "metrics",
    "mismatch_frame",
    "mismatch_kind",
    "mismatch_kinds",
    "normal_url",
    "outcome_counts",
    "pair_up",
    "partner_path",
    "pass_threshold",
    "profiles",
    "proxy_matrix",
    "read_accepted",
    "read_predicted",
    "refuse_non_json",
    "register",
    "resolve_union",
    "rule",
    "schema_names",
    "scores_text",
    "settled",
    "solve",
    "total_cost",
    "undeclared",
    "unpaired",
    "violations",
    "worst_fields",
]
