"""Evaluating one document: `evaluate`, the `Evaluation` that it returns, cross-field rules."""

from extractbench_nb.core.profiles import Profile
from extractbench_nb.core.similarity import MapItem
from extractbench_nb.core.evaluation import evaluate, evaluate_async
from extractbench_nb.core.result import Evaluation
from extractbench_nb.core.cross_field_rules import RULE_COLUMNS, RULES, Rule, RuleOutcome, rule

__all__ = [
    "RULES",
    "RULE_COLUMNS",
    "Evaluation",
    "MapItem",
    "Profile",
    "Rule",
    "RuleOutcome",
    "evaluate",
    "evaluate_async",
    "rule",
]
