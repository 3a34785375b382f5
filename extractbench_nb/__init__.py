"""extractbench_nb: evaluate structured extraction where people think, in a notebook.

>>> import extractbench_nb as xb
>>> schema = {"type": "object", "properties": {"name": {"type": "string"}}}
>>> ev = xb.evaluate(schema, {"name": "ACME Inc."}, {"name": "Acme Incorporated"})
>>> ev.fields.loc[0, "outcome"]
'correct'
"""

from extractbench_nb import plots
from extractbench_nb._version import __version__
from extractbench_nb.alignment.llm import LLMAligner
from extractbench_nb.batch import (
    CostEstimate,
    Evaluations,
    estimate_cost,
    evaluate_runs,
    load_evaluations,
)
from extractbench_nb.benchmark import paper, reliability
from extractbench_nb.benchmark.audit import Audit, audit, sample_findings
from extractbench_nb.benchmark.complexity import complexity
from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.benchmark.fetch import fetch_dataset
from extractbench_nb.benchmark.fields import field_definitions
from extractbench_nb.benchmark.recorded import recorded_outputs
from extractbench_nb.breakdowns import breakdown, difficulty
from extractbench_nb.compat.evaluator import StructuredEvaluator, StructuredEvaluatorConfig
from extractbench_nb.errors import (
    ConfigError,
    DatasetError,
    ExtractBenchError,
    InputError,
    OutputError,
    SchemaError,
)
from extractbench_nb.evaluation import Evaluation, evaluate, evaluate_async
from extractbench_nb.evidence import PageImage, find_evidence, ground_values, grounded, render_page
from extractbench_nb.extraction import (
    BaselineTables,
    Corrupted,
    ModelProfile,
    ParsedOutput,
    Repaired,
    Run,
    Simulation,
    SimulationCheck,
    SimulationServer,
    baseline_tables,
    check_simulation,
    corrupt_document,
    corrupt_mixed,
    corruptions,
    extract,
    failure_modes,
    failure_positions,
    forgive,
    length_correlations,
    model_profiles,
    parse_output,
    read_outputs,
    repair_effect,
    repair_output,
    serve_simulations,
    simulate,
    validity_by_length,
)
from extractbench_nb.grits import (
    Canonical,
    Cell,
    GriTS,
    Table,
    align_texts,
    canonicalize,
    check_content,
    check_tables,
    compare_tables,
    count_objects,
    dilate,
    grits,
    is_complex,
    read_table,
)
from extractbench_nb.judges.base import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.cache import CacheInfo, JudgeCache, judge_cache
from extractbench_nb.judges.ensemble import Ensemble
from extractbench_nb.judges.llm import LLMJudge
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.judges.replay import ReplayJudge
from extractbench_nb.metrics import MetricScore, metric, metrics
from extractbench_nb.metrics.classes import BaseMetric, MetricResult
from extractbench_nb.metrics.factories import global_metric_registry
from extractbench_nb.profiles import profiles
from extractbench_nb.report import EvaluationReport, ReportBuilder, ReportConfig
from extractbench_nb.schema import Schema, parse_schema, presets
from extractbench_nb.sensitivity import sensitivity
from extractbench_nb.stats import (
    Agreement,
    Comparison,
    JudgeAgreement,
    SelfConsistency,
    agreement,
    compare_runs,
    judge_agreement,
    self_consistency,
)
from extractbench_nb.tables import (
    TableScores,
    array_tables,
    evaluate_tables,
    keep_curves,
    made_up_tables,
    pubtables,
)
from extractbench_nb.widgets import (
    explore,
    keep_static,
    show,
    show_evidence,
    show_matches,
    workbench,
)

__all__ = [
    "Agreement",
    "Audit",
    "BaseMetric",
    "BaselineTables",
    "CacheInfo",
    "Canonical",
    "Cell",
    "Comparison",
    "ConfigError",
    "Corrupted",
    "CostEstimate",
    "Dataset",
    "DatasetError",
    "Ensemble",
    "Evaluation",
    "EvaluationReport",
    "Evaluations",
    "ExtractBenchError",
    "GriTS",
    "InputError",
    "JudgeAgreement",
    "JudgeCache",
    "JudgeCall",
    "JudgeError",
    "LLMAligner",
    "LLMJudge",
    "MetricResult",
    "MetricScore",
    "ModelProfile",
    "OfflineJudge",
    "OutputError",
    "PageImage",
    "ParsedOutput",
    "Question",
    "Repaired",
    "ReplayJudge",
    "ReportBuilder",
    "ReportConfig",
    "Run",
    "Schema",
    "SchemaError",
    "SelfConsistency",
    "Simulation",
    "SimulationCheck",
    "SimulationServer",
    "StructuredEvaluator",
    "StructuredEvaluatorConfig",
    "Table",
    "TableScores",
    "Verdict",
    "__version__",
    "agreement",
    "align_texts",
    "array_tables",
    "audit",
    "baseline_tables",
    "breakdown",
    "canonicalize",
    "check_content",
    "check_simulation",
    "check_tables",
    "compare_runs",
    "compare_tables",
    "complexity",
    "corrupt_document",
    "corrupt_mixed",
    "corruptions",
    "count_objects",
    "difficulty",
    "dilate",
    "estimate_cost",
    "evaluate",
    "evaluate_async",
    "evaluate_runs",
    "evaluate_tables",
    "explore",
    "extract",
    "failure_modes",
    "failure_positions",
    "fetch_dataset",
    "field_definitions",
    "find_evidence",
    "forgive",
    "global_metric_registry",
    "grits",
    "ground_values",
    "grounded",
    "is_complex",
    "judge_agreement",
    "judge_cache",
    "keep_curves",
    "keep_static",
    "length_correlations",
    "load_dataset",
    "load_evaluations",
    "made_up_tables",
    "metric",
    "metrics",
    "model_profiles",
    "paper",
    "parse_output",
    "parse_schema",
    "plots",
    "presets",
    "profiles",
    "pubtables",
    "read_outputs",
    "read_table",
    "recorded_outputs",
    "reliability",
    "render_page",
    "repair_effect",
    "repair_output",
    "sample_findings",
    "self_consistency",
    "sensitivity",
    "serve_simulations",
    "show",
    "show_evidence",
    "show_matches",
    "simulate",
    "validity_by_length",
    "workbench",
]
