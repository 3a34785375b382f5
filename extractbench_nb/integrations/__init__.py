"""Provide scorers for other tools, which are imported only when they are used."""

from typing import TYPE_CHECKING

from extractbench_nb.integrations.scorer import (
    DocumentScorer,
    ScoredOutput,
    get_assert,
    inspect_scorer,
    mlflow_scorer,
)
from extractbench_nb.integrations.scorer import as_scorer as as_scorer
from extractbench_nb.support.moved import moved_names

__all__ = [
    "DocumentScorer",
    "ScoredOutput",
    "get_assert",
    "inspect_scorer",
    "mlflow_scorer",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
