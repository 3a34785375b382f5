"""The published ``extract_bench`` package's names over this package's engine.

A script works after replacing ``extract_bench`` by ``extractbench_nb.compat``, also in a notebook.
The rules are those of the release with what its README promises beyond it, profile
``extract-bench-readme``; ``profile="extract-bench-0.1.0"`` gives the release's own numbers.

These modules of the release are here, with its public names unless said otherwise:

- the package itself;
- ``evaluation``, without ``get_evaluation_config``, ``get_default_evaluation_config``,
  ``should_evaluate`` and ``add_evaluation_configs_to_export``;
- ``evaluation.evaluation_config``, ``evaluation.presets``;
- ``evaluation.metric_registry``, without ``MetricFactory``;
- ``evaluation.structured_evaluator``, without ``execute_metric_async``;
- ``evaluation.metrics``, without ``StringSemanticMetric``, ``LlmJudgeMetric``,
  ``ArrayLlmJudgeMetric`` and ``MetricPromptDescriptor``; and of its modules ``base_metric``,
  ``policy_metric``, ``string_metrics``, ``number_metrics`` and ``boolean_metrics``. The classes
  follow the README; ``global_metric_registry.create_metric`` gives this package's own metrics;
- ``evaluation.reporting`` and of its modules ``models``, ``formatters`` (without
  ``DataclassEncoder``) and ``report_builder``.

What is left out works on the release's own syntax tree (``infra``,
``evaluation.schema_config_helpers``, ``evaluation.metric_id_collector``,
``evaluation.schema_value_instantiator``, the modules of ``evaluation.reporting`` that count), or
calls a language model (``evaluation.metrics.llm_metrics``, ``.array_metrics``,
``.metric_prompts``, ``.metric_descriptors``). ``evaluation.metrics.metric_utils`` is left out too.
``"schema"`` among an evaluator's results is this package's `Schema`.

Paths that the release emits for the inside of ``anyOf`` and of arrays are not reproduced: no value
ever stands there, so they pass. An ``anyOf`` or a list of types that declares no metric,
``anyOf: [{type: integer}, {type: "null"}]`` for example, therefore gives no result under
``profile="extract-bench-0.1.0"``. By the README it takes the metric that its branches agree on:
here ``integer_exact``, the default of the one branch that is not null.
"""

from extractbench_nb.compat.evaluation import (
    AsyncEvaluationConfig,
    BaseMetric,
    EvaluationConfig,
    EvaluationReport,
    MetricConfig,
    MetricRegistry,
    MetricResult,
    ReportBuilder,
    ReportConfig,
    StructuredEvaluator,
    StructuredEvaluatorConfig,
    global_metric_registry,
)

__all__ = [
    "AsyncEvaluationConfig",
    "BaseMetric",
    "EvaluationConfig",
    "EvaluationReport",
    "MetricConfig",
    "MetricRegistry",
    "MetricResult",
    "ReportBuilder",
    "ReportConfig",
    "StructuredEvaluator",
    "StructuredEvaluatorConfig",
    "global_metric_registry",
]
