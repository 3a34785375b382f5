"""Evaluate predictions against a schema and gold data, offline and deterministically.

Other rooms know it through five faces: `core`, `core.schema`, `core.frames`, `core.values` and
`core.text`.

To read it: `evaluation` reads the inputs, and `schema.parse` the schema. `traversal` walks both
documents, with `pairing` for what is compared, `scoring` for each pair of values, and `alignment`
for the items of arrays; its `settle` waits for models. Then `rollup` counts, and `result` and
`evaluation_frames` build the frames.
"""

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.core.accepted import Accepted as Accepted
from extractbench_nb.core.alignment import OptimalAligner
from extractbench_nb.core.alignment import estimated_blocks as estimated_blocks
from extractbench_nb.core.alignment import pair_equal as pair_equal
from extractbench_nb.core.causes import Cause as Cause
from extractbench_nb.core.causes import Causes as Causes
from extractbench_nb.core.causes import CountedNodes as CountedNodes
from extractbench_nb.core.causes import find_causes as find_causes
from extractbench_nb.core.cross_field_rules import RULES, Rule, rule
from extractbench_nb.core.cross_field_rules import as_rule as as_rule
from extractbench_nb.core.evaluation import Run as Run
from extractbench_nb.core.evaluation import choose_alignment as choose_alignment
from extractbench_nb.core.evaluation import evaluate, evaluate_async
from extractbench_nb.core.evaluation import read_predicted as read_predicted
from extractbench_nb.core.evaluation import refuse_non_json as refuse_non_json
from extractbench_nb.core.evaluation_frames import OUTCOMES as OUTCOMES
from extractbench_nb.core.evaluation_frames import total_cost as total_cost
from extractbench_nb.core.evaluation_frames import violations as violations
from extractbench_nb.core.field_metrics.registry import REGISTRY as REGISTRY
from extractbench_nb.core.field_metrics.registry import Metric as Metric
from extractbench_nb.core.field_metrics.registry import MetricScore, metric, metrics, unregister
from extractbench_nb.core.field_metrics.registry import Param as Param
from extractbench_nb.core.pairing import leaves as leaves
from extractbench_nb.core.pairing import resolve_union as resolve_union
from extractbench_nb.core.pairing import undeclared as undeclared
from extractbench_nb.core.profile_rules import PROFILES as PROFILES
from extractbench_nb.core.profile_rules import Profile, profiles
from extractbench_nb.core.registered import register as register
from extractbench_nb.core.result import Evaluation
from extractbench_nb.core.result import Inputs as Inputs
from extractbench_nb.core.result import mismatch_frame as mismatch_frame
from extractbench_nb.core.similarity import MapItem
from extractbench_nb.core.traversal import Aligner as Aligner
from extractbench_nb.core.values import UNLABELED, unlabelled

__all__ = [
    "RULES",
    "UNLABELED",
    "Evaluation",
    "MapItem",
    "MetricScore",
    "OptimalAligner",
    "Profile",
    "Rule",
    "evaluate",
    "evaluate_async",
    "metric",
    "metrics",
    "profiles",
    "rule",
    "unlabelled",
    "unregister",
]
