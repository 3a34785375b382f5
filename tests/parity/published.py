"""Profile ``paper`` beside extract-bench 0.1.0.

The package is called as its users call it, with `litellm` answering every judge at once and with
the same verdict. Results inside ``anyOf[...]`` and arrays (``.items``), which never get values in
the package, are left out on both sides. docs/howto/from_extract_bench.md says where the two differ.
"""

import json
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import Verdict

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

#: What every judge says, on both sides; between the thresholds that the tests use.
JUDGED = 0.75


class Result(NamedTuple):
    score: float
    passed: bool


Results = dict[tuple[str, str], Result]


class FixedJudge:
    name = "fixed"

    def compare(self, gold: str, predicted: str) -> Verdict:
        return Verdict(JUDGED, "fixed")


def is_internal(path: str) -> bool:
    """Whether the package's path is a branch of anyOf, or inside an array."""
    return "anyOf[" in path or re.search(r"(?<!\.properties)\.items(\.|$)", path) is not None


def results_of(schema: Any, gold: Any, predicted: Any) -> dict[tuple[str, str], list[Result]]:
    """Our results by (schema path, metric); several if a map has several keys."""
    fields = xb.evaluate(schema, gold, predicted, profile="paper", judge=FixedJudge()).fields
    results: dict[tuple[str, str], list[Result]] = {}
    for row in fields[fields.counted].itertuples():
        path = re.sub(r"\['(.*?)'\]", r".\1", row.schema_path or "$")
        failed = row.outcome == "judge_error"
        result = Result(0.0, False) if failed else Result(float(row.score), bool(row.passed))
        results.setdefault((path, "error" if failed else row.metric), []).append(result)
    return results


class Published:
    """The package, quiet and without retries."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def evaluate(self, schema: Any, gold: Any, predicted: Any) -> Any:
        from extract_bench.evaluation.structured_evaluator import AsyncEvaluationConfig

        config = self.module.StructuredEvaluatorConfig(
            metrics=[], async_config=AsyncEvaluationConfig(n_max_retries=1)
        )
        return self.module.StructuredEvaluator(config).evaluate(schema, gold, predicted)["results"]

    def results(self, schema: Any, gold: Any, predicted: Any) -> Results:
        return {
            (path, "error" if result.metric_id == "unknown" else metric): Result(
                result.score, result.passed
            )
            for path, metrics in self.evaluate(schema, gold, predicted).items()
            for metric, result in metrics.items()
            if not is_internal(path)
        }

    def report(self, schema: Any, gold: Any, predicted: Any) -> Any:
        return self.module.ReportBuilder().build(schema, gold, predicted)


@pytest.fixture(scope="module")  # it takes the place of LiteLLM's client meanwhile
def published() -> Iterator[Published]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("extract_bench")
        import litellm
        from loguru import logger

    logger.disable("extract_bench")
    counts = {"matched": 3, "missed_gold": 1, "spurious_pred": 0}
    answer = json.dumps({"score": JUDGED, "reasoning": "fixed", "matches_summary": counts})

    async def complete(**_: Any) -> Any:
        return {"choices": [{"message": {"content": answer}}]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(litellm, "acompletion", complete)
        yield Published(package)
    logger.enable("extract_bench")
