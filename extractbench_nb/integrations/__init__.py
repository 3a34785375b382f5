"""Scorers for other tools.

Each adapter is a module that imports its tool: ``integrations.inspect_scorer``,
``integrations.mlflow_scorer`` and ``integrations.promptfoo``.
"""

from extractbench_nb.integrations.scorer import DocumentScorer, ScoredOutput, as_scorer

__all__ = [
    "DocumentScorer",
    "ScoredOutput",
    "as_scorer",
]
