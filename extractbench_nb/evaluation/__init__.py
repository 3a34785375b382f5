"""Evaluating one document: `evaluate`, the `Evaluation` that it returns, cross-field rules."""

from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.similarity import MapItem
from extractbench_nb.evaluation.api import evaluate, evaluate_async
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.evaluation.rules import RULE_COLUMNS, RULES, Rule, RuleOutcome, rule

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
