"""A scorer for Inspect AI; it needs ``inspect-ai``."""

from __future__ import annotations

from typing import Any

from extractbench_nb.errors import needs
from extractbench_nb.integrations.scorer import as_scorer


def extraction_scorer(schema: Any, **options: Any) -> Any:
    """Score the completion of a sample against its target, the JSON text of gold.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        See `as_scorer`.
    **options : object
        Options of `as_scorer`: judge, alignment, profile, score, threshold.

    Returns
    -------
    inspect_ai.scorer.Scorer
        With the metrics mean and stderr. A score has the value in [0, 1], the explanation, and
        metadata with ``passed``. A target that is not JSON is an error of its sample.

    Raises
    ------
    InputError
        An option is unknown.
    UnavailableError
        Inspect AI is not installed.
    SchemaError, ConfigError
        The schema cannot be read.
    """
    inspect_ai = needs("inspect_ai.scorer", "inspect")
    score = as_scorer(schema, **options)

    async def score_sample(state: Any, target: Any) -> Any:
        output = state.output.completion
        found = await score.score_async(output, target.text)
        return inspect_ai.Score(
            value=found.value,
            answer=output,
            explanation=found.explanation,
            metadata={"passed": found.passed, **found.metadata},
        )

    metrics = [inspect_ai.mean(), inspect_ai.stderr()]
    return inspect_ai.scorer(metrics=metrics, name="extraction_scorer")(lambda: score_sample)()
