"""Metrics that a judge decides, and the alignment of arrays, whose item fields it may decide."""

from __future__ import annotations

from extractbench_nb.metrics.arrays import PASS_THRESHOLD
from extractbench_nb.metrics.registry import REGISTRY, Metric, Param

__all__ = ["JUDGE_PARAMS"]

#: Params of every judged metric. All but the first concern judges that are language models.
JUDGE_PARAMS = (
    PASS_THRESHOLD,
    Param("model", "string", None),
    Param("additional_instructions", "string", None),
    Param("prompt_template", "string", None),
    Param("structured_output_schema", "object", None),
    Param("temperature", "number", None, 0.0),
    Param("max_tokens", "number", None, 1),
)

_RULE = "the judge's score >= pass_threshold"

for _entry in (
    Metric(
        "string_semantic",
        None,
        ("string", "any"),
        JUDGE_PARAMS,
        _RULE,
        "ExtractBench paper, Table 4",
        "same meaning, as a judge sees it",
        judged=True,
        threshold="pass_threshold",
    ),
    Metric(
        "string_llm",
        None,
        ("any",),
        JUDGE_PARAMS,
        _RULE,
        "ExtractBench README, metrics table",
        "same by a judge's verdict",
        judged=True,
        threshold="pass_threshold",
    ),
    Metric(
        "array_llm",
        None,
        ("array",),
        (*JUDGE_PARAMS, Param("align_threshold", "number", 0.5, 0.0, 1.0)),
        "matched / gold items >= pass_threshold",
        "ExtractBench paper, section 3.4",
        "items aligned one to one, each item field by its own metric",
        threshold="pass_threshold",
    ),
):
    REGISTRY.add(_entry)
