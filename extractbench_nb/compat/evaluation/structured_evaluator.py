"""The evaluator, by default with the rules of the published README."""

from __future__ import annotations

from dataclasses import dataclass, field

from extractbench_nb.compat import evaluator
from extractbench_nb.compat.patience import AsyncEvaluationConfig
from extractbench_nb.profiles import Profile

__all__ = ["AsyncEvaluationConfig", "StructuredEvaluator", "StructuredEvaluatorConfig"]


@dataclass
class StructuredEvaluatorConfig(evaluator.StructuredEvaluatorConfig):
    """How a `StructuredEvaluator` evaluates.

    Parameters
    ----------
    metrics, async_config : object, optional
        See `evaluator.StructuredEvaluatorConfig`.
    profile : str or Profile, optional
        The rules: those of the published README; ``extract-bench-0.1.0`` for the release's.
    judge, alignment : object, optional
        See `evaluate`.
    """

    profile: str | Profile = field(default="extract-bench-readme", kw_only=True)


class StructuredEvaluator(evaluator.StructuredEvaluator):
    """Compares documents field by field; see `evaluator.StructuredEvaluator`.

    Parameters
    ----------
    config : StructuredEvaluatorConfig, optional
        Profile, judge, alignment, and how metrics that wait are called.
    """

    def __init__(self, config: evaluator.StructuredEvaluatorConfig | None = None) -> None:
        super().__init__(config if config is not None else StructuredEvaluatorConfig())
