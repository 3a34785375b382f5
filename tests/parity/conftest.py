"""Profile ``extract-bench-0.1.0`` beside the published package of that version.

The package is called as its users call it, with `litellm` answering every judge at once and with
the same verdict. Its report leaves out what stands inside ``anyOf[...]``; what stands inside
arrays (``.items``) never gets values there. Both are left out here too.

README.md says in plain words where the two differ on purpose.
"""

import asyncio
import gc
import json
import os
import re
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb
from extractbench_nb import compat
from extractbench_nb.judges.base import Verdict

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

PROFILE = "extract-bench-0.1.0"
#: What every judge says, on both sides; between the thresholds that the tests use.
JUDGED = 0.75


class Result(NamedTuple):
    score: float
    passed: bool


Results = dict[tuple[str, str], Result]


class Detail(NamedTuple):
    score: float
    passed: bool
    reason: str | None


Details = dict[tuple[str, str], list[Detail]]


class FixedJudge:
    name = "fixed"

    def compare(self, gold: str, predicted: str) -> Verdict:
        return Verdict(JUDGED, "fixed")


def is_internal(path: str) -> bool:
    """Whether the package's path is a branch of anyOf, or inside an array."""
    return "anyOf[" in path or re.search(r"(?<!\.properties)\.items(\.|$)", path) is not None


def ours(schema: Any, gold: Any, predicted: Any, profile: str = PROFILE) -> dict[Any, list[Result]]:
    """Our results by (schema path, metric); several rows where a map has several keys."""
    evaluation = xb.evaluate(schema, gold, predicted, judge=FixedJudge(), profile=profile)
    found: dict[Any, list[Result]] = {}
    for row in evaluation.fields[evaluation.fields.counted].itertuples():
        path = re.sub(r"\['(.*?)'\]", r".\1", row.schema_path or "$")
        metric = "error" if row.outcome == "judge_error" else row.metric
        found.setdefault((path, metric), []).append(Result(float(row.score), bool(row.passed)))
    return found


def detailed(results: Any) -> Details:
    """Both evaluators' results by (schema path, metric); of a map all keys under one path."""
    found: Details = {}
    for path, metrics in results.items():
        for metric, result in metrics.items():
            key = re.sub(r"(\.additionalProperties)\.(?!properties\.)[^.]*", r"\1", path)
            name = "error" if result.metric_id == "unknown" else metric
            reason = (result.details or {}).get("reason")
            if not is_internal(path):
                found.setdefault((key, name), []).append(
                    Detail(result.score, result.passed, reason)
                )
    return found


def through_compat(schema: Any, gold: Any, predicted: Any) -> Details:
    """What the evaluator of `extractbench_nb.compat` says."""
    config = compat.StructuredEvaluatorConfig(metrics=[], profile=PROFILE, judge=FixedJudge())
    return detailed(compat.StructuredEvaluator(config).evaluate(schema, gold, predicted)["results"])


class Published:
    """The package, quiet and without retries."""

    def __init__(self, module: Any, asynchronous: Any) -> None:
        self.module = module
        self.asynchronous = asynchronous

    @property
    def evaluator(self) -> Any:
        config = self.module.StructuredEvaluatorConfig(
            metrics=[], async_config=self.asynchronous(n_max_retries=1)
        )
        return self.module.StructuredEvaluator(config)

    def results(self, schema: Any, gold: Any, predicted: Any) -> Results:
        raw = self.evaluator.evaluate(schema, gold, predicted)["results"]
        return {
            (path, "error" if result.metric_id == "unknown" else metric): Result(
                result.score, result.passed
            )
            for path, metrics in raw.items()
            for metric, result in metrics.items()
            if not is_internal(path)
        }

    def details(self, schema: Any, gold: Any, predicted: Any) -> Details:
        return detailed(self.evaluator.evaluate(schema, gold, predicted)["results"])

    def report(self, schema: Any, gold: Any, predicted: Any) -> Any:
        return self.module.ReportBuilder().build(schema, gold, predicted)

    def in_running_loop(self, schema: Any, gold: Any, predicted: Any) -> str:
        """Call the package as a notebook cell does; return what it raises."""

        async def cell() -> str:
            try:
                self.evaluator.evaluate(schema, gold, predicted)
            except RuntimeError as error:
                return str(error)
            return "nothing is raised"

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its coroutine is never awaited
            message = asyncio.run(cell())
            gc.collect()
        return message


@pytest.fixture(scope="module")  # it takes the place of LiteLLM's client meanwhile
def published() -> Iterator[Published]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("extract_bench")
        import litellm
        from extract_bench.evaluation.structured_evaluator import AsyncEvaluationConfig
        from loguru import logger

    logger.disable("extract_bench")
    counts = {"matched": 3, "missed_gold": 1, "spurious_pred": 0}
    answer = json.dumps({"score": JUDGED, "reasoning": "fixed", "matches_summary": counts})

    async def complete(**_: Any) -> Any:
        return {"choices": [{"message": {"content": answer}}]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(litellm, "acompletion", complete)
        yield Published(package, AsyncEvaluationConfig)
    logger.enable("extract_bench")


@pytest.fixture(scope="session")
def side_by_side() -> SimpleNamespace:
    """What the test modules share: our results in the package's terms, and its visible paths."""
    return SimpleNamespace(
        ours=ours,
        is_internal=is_internal,
        profile=PROFILE,
        judge=FixedJudge(),
        through_compat=through_compat,
    )
