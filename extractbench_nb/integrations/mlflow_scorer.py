"""A scorer for ``mlflow.genai.evaluate``; it needs MLflow 3 (``mlflow`` or ``mlflow-skinny``)."""

from __future__ import annotations

import json
from typing import Any

from extractbench_nb.errors import InputError, needs
from extractbench_nb.integrations.scorer import as_scorer


def extraction_scorer(
    schema: Any, *, name: str = "extraction", key: str = "expected_response", **options: Any
) -> Any:
    """Score outputs against ``expectations[key]``.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        See `as_scorer`.
    name : str, optional
        Name of the feedback.
    key : str, optional
        The expectation that holds gold: a JSON value or JSON text.
    **options : object
        Options of `as_scorer`: judge, alignment, profile, score, threshold.

    Returns
    -------
    mlflow.genai.scorers.Scorer
        It gives two of ``mlflow.entities.Feedback`` per row, both with the explanation as
        rationale: ``name``, the value in [0, 1], and ``name_passed``, a bool. Without gold, the
        feedback of a row is an error.

    Raises
    ------
    InputError
        An option is unknown.
    UnavailableError
        MLflow is not installed.
    """
    scorers = needs("mlflow.genai.scorers", "mlflow")
    feedback = needs("mlflow.entities", "mlflow").Feedback
    score = as_scorer(schema, **options)

    def score_row(*, outputs: Any, expectations: dict[str, Any] | None = None) -> Any:
        if key not in (expectations or {}):
            raise InputError(f"expectations has no {key!r}; expected the gold document there")
        found = score(outputs, (expectations or {})[key])
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in found.metadata.items()}
        values = {name: found.value, f"{name}_passed": found.passed}
        about = {"rationale": found.explanation, "metadata": texts}
        return [feedback(name=k, value=v, **about) for k, v in values.items()]

    return scorers.scorer(score_row, name=name)
