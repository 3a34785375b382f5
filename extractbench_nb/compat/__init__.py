"""The names of the published ``extract_bench`` package over this package's engine.

A script works after replacing ``extract_bench`` by ``extractbench_nb.compat``, also in a notebook.
The rules are those of profile ``paper``.

These modules of the release can be imported, with its public names unless noted:

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

Left out are modules that work on the release's own syntax tree (``infra``,
``evaluation.schema_config_helpers``, ``evaluation.metric_id_collector``,
``evaluation.schema_value_instantiator``, the modules of ``evaluation.reporting`` that count), or
calls a language model (``evaluation.metrics.llm_metrics``, ``.array_metrics``, ``.metric_prompts``,
``.metric_descriptors``). ``evaluation.metrics.metric_utils`` is left out too. ``"schema"`` among an
evaluator's results is this package's `Schema`.

The submodules have no files: they are created when this package is imported, and filled again when
it is reloaded (a single one cannot be reloaded).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from extractbench_nb.compat import metrics
from extractbench_nb.compat.evaluator import (
    PAPER,
    AsyncEvaluationConfig,
    StructuredEvaluator,
    StructuredEvaluatorConfig,
)
from extractbench_nb.compat.metrics import EvaluationConfig
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.field_metrics.classes import (
    BaseMetric,
    MetricConfig,
    MetricContext,
    MetricRegistry,
    MetricResult,
    global_metric_registry,
)
from extractbench_nb.report import builder, models
from extractbench_nb.report.formats import csv_text, json_text, markdown_text, summary_text
from extractbench_nb.report.models import EvaluationReport, FieldOutcome
from extractbench_nb.schema.config import DEFAULT_METRICS, PRESETS

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

# --- reports with the rules of the README -----------------------------------------------------


@dataclass(frozen=True)
class ReportConfig(builder.ReportConfig):
    """What a report contains and where it is saved.

    Parameters
    ----------
    output_dir, output_name, max_reasoning_length, top_n_lowest_fields : object, optional
        As in ``xb.report.ReportConfig``.
    save_json, save_text, save_csv, save_markdown, save_html : bool, optional
        Whether to write ``report.json``, ``summary.txt``, ``fields.csv``, ``fields.md`` and
        ``report.html``.
    profile : str or Profile, optional
        The rules; ``paper`` by default.
    judge, alignment : object, optional
        See `evaluate`.
    """

    profile: str | Profile = PAPER


class ReportBuilder(builder.ReportBuilder):
    """Evaluates one document and makes a report; arguments have their published names.

    Parameters
    ----------
    config : ReportConfig, optional
        Content of the report and where it is saved.
    """

    def __init__(self, config: builder.ReportConfig | None = None) -> None:
        super().__init__(config if config is not None else ReportConfig())

    def build(self, json_schema: Any, gold_json: Any, extracted_json: Any) -> EvaluationReport:
        """Evaluate and report, in a script or in a notebook cell.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        EvaluationReport
            The report.
        """
        return super().build(json_schema, gold_json, extracted_json)

    async def build_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> EvaluationReport:
        """Evaluate and report in the running event loop.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        EvaluationReport
            The report.
        """
        return await super().build_async(json_schema, gold_json, extracted_json)


def format_markdown_table(
    field_outcomes: Iterable[FieldOutcome], max_reason_length: int = 50
) -> str:
    """Return the text of ``fields.md``.

    Parameters
    ----------
    field_outcomes : iterable of FieldOutcome
        The fields, one per row of the table.
    max_reason_length : int, optional
        Maximum number of characters of a reason; longer ones are cut.

    Returns
    -------
    str
        The table in Markdown.
    """
    return markdown_text(field_outcomes, max_reason_length)


# --- submodules -------------------------------------------------------------------------------


def _named(*values: Any) -> dict[str, Any]:
    return {value.__name__: value for value in values}


_BASE = _named(BaseMetric, MetricContext, MetricResult)
_POLICY = _named(metrics.PolicyAwareMetric)
_MODELS = _named(
    models.ArrayStats, models.ConfusionCounts, models.ContentStats, models.CoverageStats,
    models.ErrorBreakdown, models.ErrorGroup, models.EvaluationReport, models.FieldOutcome,
    models.LlmStats, models.LowScoringField, models.OutcomeStats, models.SchemaStats,
)  # fmt: skip
_FORMATS = {
    "format_csv": csv_text,
    "format_json": json_text,
    "format_markdown_table": format_markdown_table,
    "format_text_summary": summary_text,
}
_BUILDER = _named(ReportBuilder, ReportConfig)

#: Path below this package -> public names, parents first.
_SUBMODULES: Mapping[str, Mapping[str, Any]] = {
    "evaluation": {name: globals()[name] for name in __all__},
    "evaluation.evaluation_config": _named(EvaluationConfig, MetricConfig),
    "evaluation.metric_registry": {
        "MetricRegistry": MetricRegistry,
        "global_metric_registry": global_metric_registry,
    },
    "evaluation.metrics": {**_BASE, **_POLICY},
    "evaluation.metrics.base_metric": _BASE,
    "evaluation.metrics.policy_metric": _POLICY,
    "evaluation.presets": {
        **_named(metrics.get_preset_config, metrics.get_preset_configs),
        **_named(metrics.get_preset_error_message, metrics.validate_preset),
        **{f"{kind.upper()}_DEFAULT_PRESET": name for kind, name in DEFAULT_METRICS.items()},
        "SKIP_PRESET": "skip",
        "VALID_PRESETS": {name: preset.use for name, preset in PRESETS.items()},
    },
    "evaluation.reporting": {**_MODELS, **_FORMATS, **_BUILDER},
    "evaluation.reporting.formatters": _FORMATS,
    "evaluation.reporting.models": _MODELS,
    "evaluation.reporting.report_builder": _BUILDER,
    "evaluation.structured_evaluator": _named(
        AsyncEvaluationConfig, StructuredEvaluator, StructuredEvaluatorConfig
    ),
}  # fmt: skip


def _add_submodules() -> None:
    """Put the submodules where the import system looks first: into `sys.modules`."""
    for path, names in _SUBMODULES.items():
        full = f"{__name__}.{path}"
        spec = ModuleSpec(full, None, origin=__file__)
        module = sys.modules.get(full) or ModuleType(full)  # the same one when this is reloaded
        vars(module).update(
            names,
            __doc__=f"The names of ``extract_bench.{path}``; see `{__name__}`.",
            __all__=sorted(names),
            __spec__=spec,
        )
        if any(other.startswith(f"{path}.") for other in _SUBMODULES):
            spec.submodule_search_locations = module.__path__ = []
        module.__package__ = spec.parent
        parent, _, name = full.rpartition(".")
        sys.modules[full] = module
        setattr(sys.modules[parent], name, module)


_add_submodules()
