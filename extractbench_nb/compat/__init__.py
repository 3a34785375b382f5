"""The names of the published ``extract_bench`` package over this package's engine.

A script works after replacing ``extract_bench`` by ``extractbench_nb.compat``, also in a notebook.
The rules are those of the release with what its README promises beyond it, profile
``extract-bench-readme``; ``profile="extract-bench-0.1.0"`` gives the release's own numbers.

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

What is left out works on the release's own syntax tree (``infra``,
``evaluation.schema_config_helpers``, ``evaluation.metric_id_collector``,
``evaluation.schema_value_instantiator``, the modules of ``evaluation.reporting`` that count), or
calls a language model (``evaluation.metrics.llm_metrics``, ``.array_metrics``,
``.metric_prompts``, ``.metric_descriptors``). ``evaluation.metrics.metric_utils`` is left out too.
``"schema"`` among an evaluator's results is this package's `Schema`.

The submodules have no files: importing this package creates them, and reloading it fills them
again (a single one cannot be reloaded).

Paths that the release emits for the inside of ``anyOf`` and of arrays are not reproduced: they
never have a value there, so they pass. An ``anyOf`` or a list of types that declares no metric,
``anyOf: [{type: integer}, {type: "null"}]`` for example, therefore gives no result under
``profile="extract-bench-0.1.0"``. By the README it takes the metric that its branches agree on:
here ``integer_exact``, the default of the one branch that is not null.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

from extractbench_nb.compat import evaluator
from extractbench_nb.compat.evaluator import AsyncEvaluationConfig, Compared
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import ConfigError, nearest
from extractbench_nb.field_metrics.classes import (
    BaseMetric,
    MetricConfig,
    MetricContext,
    MetricRegistry,
    MetricResult,
    global_metric_registry,
    refuse_unknown,
)
from extractbench_nb.field_metrics.package_010 import package_010_metric
from extractbench_nb.report import builder
from extractbench_nb.report.content import published_reason
from extractbench_nb.report.formats import csv_text, json_text, markdown_text, summary_text
from extractbench_nb.report.models import (
    ArrayStats,
    ConfusionCounts,
    ContentStats,
    CoverageStats,
    ErrorBreakdown,
    ErrorGroup,
    EvaluationReport,
    FieldOutcome,
    LlmStats,
    LowScoringField,
    OutcomeStats,
    SchemaStats,
)
from extractbench_nb.schema.config import DEFAULT_METRICS, PRESETS
from extractbench_nb.schema.nodes import EMPTY, MISSING, resolve_states, state_of

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

_README = "extract-bench-readme"

# --- evaluator and report with the rules of the README ----------------------------------------


@dataclass
class StructuredEvaluatorConfig(evaluator.StructuredEvaluatorConfig):
    """Options of a `StructuredEvaluator`.

    Parameters
    ----------
    metrics, async_config : object, optional
        See `compat.evaluator.StructuredEvaluatorConfig`.
    profile : str or Profile, optional
        The rules: those of the published README; ``extract-bench-0.1.0`` for the release's.
    judge, alignment : object, optional
        See `evaluate`.
    """

    profile: str | Profile = field(default=_README, kw_only=True)


class StructuredEvaluator(evaluator.StructuredEvaluator):
    """Compares documents field by field; see `compat.evaluator.StructuredEvaluator`.

    Parameters
    ----------
    config : StructuredEvaluatorConfig, optional
        Profile, judge, alignment, and timeout and retries of metrics that are awaited.
    """

    def __init__(self, config: evaluator.StructuredEvaluatorConfig | None = None) -> None:
        super().__init__(config if config is not None else StructuredEvaluatorConfig())


@dataclass(frozen=True)
class ReportConfig(builder.ReportConfig):
    """What a report contains and where it is saved.

    Parameters
    ----------
    output_dir, output_name, max_reasoning_length, top_n_lowest_fields : object, optional
        See `report.builder.ReportConfig`.
    save_json, save_text, save_csv, save_markdown, save_html : bool, optional
        Which files to write.
    profile : str or Profile, optional
        The rules: those of the published README; ``extract-bench-0.1.0`` for the release's.
    judge, alignment : object, optional
        See `evaluate`.
    """

    profile: str | Profile = _README


class ReportBuilder(builder.ReportBuilder):
    """Evaluates one document and reports on it; arguments have their published names.

    Parameters
    ----------
    config : ReportConfig, optional
        What to report and where to save it.
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
    """Write ``fields.md``.

    Parameters
    ----------
    field_outcomes : iterable of FieldOutcome
        The rows.
    max_reason_length : int, optional
        Number of characters of a reason to keep.

    Returns
    -------
    str
        The table in Markdown.
    """
    return markdown_text(field_outcomes, max_reason_length)


# --- configs and presets ----------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class EvaluationConfig(Mapping[str, Any]):
    """The metrics of a field and its weight; a schema may hold it as ``evaluation_config``.

    Parameters
    ----------
    metrics : sequence of MetricConfig or dict, optional
        The metrics; without any, the field is skipped.
    aggregation_weight : float or None, optional
        The weight among the fields.
    **unknown : object
        Refused.

    Raises
    ------
    ConfigError
        An unknown field, here or in a metric.

    Examples
    --------
    >>> dict(EvaluationConfig.from_preset("number_tolerance"))
    {'metrics': [{'metric_id': 'number_tolerance', 'params': {'tolerance': 0.001}}]}
    """

    metrics: list[MetricConfig]
    aggregation_weight: float | None = None

    def __init__(
        self,
        metrics: Sequence[MetricConfig | Mapping[str, Any]] = (),
        aggregation_weight: float | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown("EvaluationConfig", unknown, ("metrics", "aggregation_weight"))
        object.__setattr__(self, "metrics", [_metric_config(entry) for entry in metrics])
        object.__setattr__(self, "aggregation_weight", aggregation_weight)

    @classmethod
    def from_preset(cls, preset: str) -> EvaluationConfig:
        """Return the config of a preset.

        Parameters
        ----------
        preset : str
            Its name.

        Returns
        -------
        EvaluationConfig
            The config; that of ``skip`` has no metrics.

        Raises
        ------
        ConfigError
            There is no such preset.
        """
        found = PRESETS.get(str(preset))
        if found is None:
            raise ConfigError(None, f"unknown preset {preset!r}; {nearest(preset, PRESETS)}")
        if found.metric_id == "skip":
            return cls()
        return cls([MetricConfig(found.metric_id, params=dict(found.params) or None)])

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the config as plain dicts.

        Parameters
        ----------
        exclude_none : bool, optional
            Whether to leave out what is None.

        Returns
        -------
        dict
            metrics, aggregation_weight.
        """
        metrics = [metric.model_dump(exclude_none=exclude_none) for metric in self.metrics]
        found = {"metrics": metrics, "aggregation_weight": self.aggregation_weight}
        return {k: v for k, v in found.items() if not (exclude_none and v is None)}

    def __getitem__(self, key: str) -> Any:
        """Return a value of the ``evaluation_config``."""
        return self._as_written[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the ``evaluation_config``."""
        return iter(self._as_written)

    def __len__(self) -> int:
        """Count the keys of the ``evaluation_config``."""
        return len(self._as_written)

    @property
    def _as_written(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True) if self.metrics else {"preset": "skip"}


def _metric_config(entry: object) -> MetricConfig:
    if isinstance(entry, MetricConfig):
        return entry
    if isinstance(entry, Mapping) and "metric_id" in entry:
        return MetricConfig(**{str(key): value for key, value in entry.items()})
    raise ConfigError(None, f"found {entry!r}; expected a MetricConfig or a dict with 'metric_id'")


def get_preset_configs() -> dict[str, EvaluationConfig]:
    """Return the configs of all presets.

    Returns
    -------
    dict of str to EvaluationConfig
        By name; that of ``skip`` has no metrics.
    """
    return {name: EvaluationConfig.from_preset(name) for name in PRESETS}


def get_preset_config(preset: str) -> EvaluationConfig:
    """Return the config of a preset.

    Parameters
    ----------
    preset : str
        Its name.

    Returns
    -------
    EvaluationConfig
        The config.

    Raises
    ------
    ConfigError
        There is no such preset.

    Examples
    --------
    >>> get_preset_config("string_exact").metrics
    [MetricConfig(metric_id='string_exact', weight=None, params=None)]
    """
    return EvaluationConfig.from_preset(preset)


def validate_preset(preset: str) -> None:
    """Raise an error if there is no such preset.

    Parameters
    ----------
    preset : str
        The name.

    Raises
    ------
    ConfigError
        There is no such preset.
    """
    EvaluationConfig.from_preset(preset)


def get_preset_error_message(invalid_preset: str) -> str:
    """List the known presets.

    Parameters
    ----------
    invalid_preset : str
        An unknown name.

    Returns
    -------
    str
        The name, and one line per preset with its use.
    """
    lines = [f"  - {name}: {preset.use}" for name, preset in sorted(PRESETS.items())]
    return "\n".join([f"unknown preset {invalid_preset!r}; known are", *lines])


# --- metric classes with the rules of the README ----------------------------------------------


class PolicyAwareMetric(BaseMetric):
    """A metric that compares present values only; absent ones are decided by their states.

    Attributes
    ----------
    metric_id : str
        Its name in an ``evaluation_config``.

    Notes
    -----
    Subclasses have an async method ``_evaluate_values(*, node, gold, extracted, config)`` that
    returns a `MetricResult`.

    Examples
    --------
    >>> class SameInitial(PolicyAwareMetric):
    ...     metric_id = "same_initial"
    ...
    ...     async def _evaluate_values(self, *, node, gold, extracted, config):
    ...         return MetricResult(self.metric_id, float(gold[:1] == extracted[:1]))
    """

    async def evaluate(self, node: Any, config: MetricConfig | None = None) -> MetricResult:
        """Compare two values, or decide by their states if one is absent.

        Parameters
        ----------
        node : MetricContext
            The values and their schema. An empty array is absent if the type is array.
        config : MetricConfig, optional
            What the schema declares for the metric.

        Returns
        -------
        MetricResult
            Score and verdict; details has the reason if a value is absent.
        """
        gold, extracted = node.get_gold_value(), node.get_extracted_value()
        resolution = resolve_states(_state(node, gold), _state(node, extracted))
        if resolution is None:
            return await self._evaluate_values(
                node=node, gold=gold, extracted=extracted, config=config
            )
        details: dict[str, Any] = {"reason": published_reason(resolution.reason)}
        if not resolution.passed:
            details["gold"] = None if gold is MISSING else gold
            details["extracted"] = None if extracted is MISSING else extracted
        return MetricResult(self.metric_id, resolution.score, resolution.passed, details)

    async def _evaluate_values(
        self, *, node: Any, gold: Any, extracted: Any, config: MetricConfig | None
    ) -> MetricResult:
        raise NotImplementedError(f"{type(self).__name__} has no method _evaluate_values")


def _state(node: Any, value: Any) -> str:
    return EMPTY if value == [] and node.get_type() == "array" else state_of(value)


@dataclass(frozen=True)
class _PublishedMetric(PolicyAwareMetric):
    """A metric of the release; a field ``default_x`` is the default of its param ``x``."""

    rule: ClassVar[str]

    async def _evaluate_values(
        self, *, node: Any, gold: Any, extracted: Any, config: MetricConfig | None
    ) -> MetricResult:
        names = [f.name for f in fields(self) if f.name.startswith("default_")]
        params = {name.removeprefix("default_"): getattr(self, name) for name in names}
        if config is not None and config.params:
            params |= config.params
        compare = package_010_metric(self.rule, params, fuzzy="levenshtein")
        assert compare is not None  # noqa: S101 - the rule of each subclass exists
        score, passed = compare(gold, extracted)
        details = Compared(self.rule, gold, extracted, params, score).details()
        return MetricResult(self.metric_id, score, passed, details)


@dataclass(frozen=True)
class ExactStringMatchMetric(_PublishedMetric):
    """Equal text, case included.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "string_exact"
    metric_id: str = "string_exact"


@dataclass(frozen=True)
class CaseInsensitiveStringMatchMetric(_PublishedMetric):
    """Equal text after case folding.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "string_case_insensitive"
    metric_id: str = "string_case_insensitive"


@dataclass(frozen=True)
class NormalizedLevenshteinSimilarityMetric(_PublishedMetric):
    """Levenshtein similarity, ``1 - distance / max(len)``, which passes from a threshold on.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    default_threshold : float, optional
        Lowest similarity in [0, 1] that passes, unless the config has a threshold.
    default_case_sensitive : bool, optional
        Whether case matters, unless the config says so.
    """

    rule = "string_fuzzy"
    metric_id: str = "string_fuzzy"
    default_threshold: float = 0.8
    default_case_sensitive: bool = False


@dataclass(frozen=True)
class ExactNumberMatchMetric(_PublishedMetric):
    """Equal numbers; texts are read as numbers.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "number_exact"
    metric_id: str = "number_exact"


@dataclass(frozen=True)
class NumberToleranceMetric(_PublishedMetric):
    """Numbers whose absolute difference is at most a tolerance.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    default_tolerance : float, optional
        Largest difference that passes, unless the config has a tolerance.
    """

    rule = "number_tolerance"
    metric_id: str = "number_tolerance"
    default_tolerance: float = 1e-6


@dataclass(frozen=True)
class IntegerExactMatchMetric(_PublishedMetric):
    """Equal integer parts.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "integer_exact"
    metric_id: str = "integer_exact"


@dataclass(frozen=True)
class BooleanExactMatchMetric(_PublishedMetric):
    """Equal booleans; two values that are not booleans are equal too.

    Parameters
    ----------
    metric_id : str, optional
        The name in results.
    """

    rule = "boolean_exact"
    metric_id: str = "boolean_exact"


# --- submodules -------------------------------------------------------------------------------


def _named(*values: Any) -> dict[str, Any]:
    return {value.__name__: value for value in values}


_BASE = _named(BaseMetric, MetricContext, MetricResult)
_STRINGS = _named(
    CaseInsensitiveStringMatchMetric, ExactStringMatchMetric, NormalizedLevenshteinSimilarityMetric
)
_NUMBERS = _named(ExactNumberMatchMetric, IntegerExactMatchMetric, NumberToleranceMetric)
_BOOLEANS = _named(BooleanExactMatchMetric)
_MODELS = _named(
    ArrayStats,
    ConfusionCounts,
    ContentStats,
    CoverageStats,
    ErrorBreakdown,
    ErrorGroup,
    EvaluationReport,
    FieldOutcome,
    LlmStats,
    LowScoringField,
    OutcomeStats,
    SchemaStats,
)
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
    "evaluation.metrics": {
        **_BASE, **_named(PolicyAwareMetric), **_STRINGS, **_NUMBERS, **_BOOLEANS,
    },
    "evaluation.metrics.base_metric": _BASE,
    "evaluation.metrics.boolean_metrics": _BOOLEANS,
    "evaluation.metrics.number_metrics": _NUMBERS,
    "evaluation.metrics.policy_metric": _named(PolicyAwareMetric),
    "evaluation.metrics.string_metrics": _STRINGS,
    "evaluation.presets": {
        **_named(get_preset_config, get_preset_configs, get_preset_error_message, validate_preset),
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
