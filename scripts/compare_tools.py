"""Score the outputs of DocuBench with one of several tools, in an environment that has it.

    python scripts/compare_tools.py TOOL DOCUBENCH [DOCUMENT]

TOOL is a name of `TOOLS`; DOCUBENCH is a clone of https://github.com/DocuPipe/DocuBench. One CSV
row per run is printed: tool, version, run, mean score, documents scored and refused, CPU seconds.
Tools share module names and pins, so each needs an environment of its own.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Score = Callable[[Any, Any, Any], float]


def extractbench_nb() -> Score:
    import extractbench_nb as xb

    return lambda schema, gold, predicted: float(
        xb.evaluate(schema, gold, predicted).summary["pass_rate"]
    )


def extract_bench() -> Score:
    """Return the share of passed results, without arrays, which extract-bench gives to a model."""
    from extract_bench import StructuredEvaluator, StructuredEvaluatorConfig

    evaluator = StructuredEvaluator(StructuredEvaluatorConfig(metrics=[]))

    def score(schema: Any, gold: Any, predicted: Any) -> float:
        found = evaluator.evaluate(without_judge(schema), gold, predicted)
        passed = [
            metric.passed for metrics in found["results"].values() for metric in metrics.values()
        ]
        return sum(passed) / len(passed)

    return score


def without_judge(node: Any) -> Any:
    """Give texts a metric that needs no model, and leave out arrays."""
    if isinstance(node, list):
        return [without_judge(part) for part in node]
    if not isinstance(node, dict):
        return node
    whole = {key: without_judge(part) for key, part in node.items()}
    kinds = node.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "string" in kinds:
        whole["evaluation_config"] = "string_case_insensitive"
    if "array" in kinds:
        whole["evaluation_config"] = "skip"
    return whole


def stickler() -> Score:
    from stickler import StructuredModel

    def score(schema: Any, gold: Any, predicted: Any) -> float:
        model = StructuredModel.from_json_schema(schema)
        return model(**gold).compare_with(model(**predicted))["overall_score"]

    return score


def omni_extract_bench() -> Score:
    from omni_extract_bench import score

    return lambda schema, gold, predicted: score(predicted, gold, schema)["accuracy"]


def llama_extract_bench() -> Score:
    from extract_bench.evaluation.metrics.extract.array_record_match_metric import (
        ArrayRecordMatchMetric,
    )

    metric = ArrayRecordMatchMetric()

    def score(schema: Any, gold: Any, predicted: Any) -> float:
        found = metric.compute(gold, predicted, data_schema=schema)
        return next(value.value for value in found if value.metric_name == "array_record_f1")

    return score


def anls_star() -> Score:
    from anls_star import anls_score

    return lambda schema, gold, predicted: anls_score(gold, predicted)


def structured_eval() -> Score:
    from structured_eval import evaluate

    return lambda schema, gold, predicted: evaluate(predicted, gold).score


def openevals() -> Score:
    from openevals.json import create_json_match_evaluator

    evaluate = create_json_match_evaluator(aggregator="average")

    def score(schema: Any, gold: Any, predicted: Any) -> float:
        found = evaluate(outputs=predicted, reference_outputs=gold)
        return float(found[0]["score"])

    return score


def equality() -> Score:
    """Return what an assertion of promptfoo or DeepEval decides: equal as a whole, or not."""
    return lambda schema, gold, predicted: float(gold == predicted)


TOOLS: dict[str, tuple[str, Callable[[], Score]]] = {
    "extractbench_nb": ("extractbench-nb", extractbench_nb),
    "extract_bench": ("extract-bench", extract_bench),
    "stickler": ("stickler-eval", stickler),
    "omni_extract_bench": ("omni-extract-bench", omni_extract_bench),
    "llama_extract_bench": ("", llama_extract_bench),
    "anls_star": ("anls_star", anls_star),
    "structured_eval": ("structured-eval", structured_eval),
    "openevals": ("openevals", openevals),
    "equality": ("", equality),
}


def main(tool: str, folder: Path, document: str = "*") -> None:
    distribution, make = TOOLS[tool]
    score = make()
    writer = csv.writer(sys.stdout)
    for run in sorted(path for path in (folder / "results").iterdir() if path.is_dir()):
        scores, refused, start = [], [], time.process_time()
        for path in sorted(run.glob(f"{document}.json")):
            schema = json.loads((folder / "schemas" / path.name).read_text(encoding="utf-8"))
            gold = json.loads((folder / "labels" / path.name).read_text(encoding="utf-8"))
            predicted = json.loads(path.read_text(encoding="utf-8"))["data"]
            try:
                scores.append(score(schema, gold, predicted))
            except Exception as error:  # noqa: BLE001 - what a tool raises is a result here
                refused.append(f"{path.stem}: {type(error).__name__}: {error}")
        seconds = time.process_time() - start
        mean = f"{sum(scores) / len(scores):.3f}" if scores else ""
        used = version(distribution) if distribution else ""
        writer.writerow([tool, used, run.name, mean, len(scores), len(refused), f"{seconds:.2f}"])
        for line in refused:
            print(re.sub(r"\s+", " ", line)[:200], file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
