"""Evaluate structured extraction, JSON from documents against gold, in a notebook or a script.

>>> import extractbench_nb as xb
>>> schema = {"type": "object", "properties": {"name": {"type": "string"}}}
>>> ev = xb.evaluate(schema, {"name": "ACME Inc."}, {"name": "Acme Incorporated"})
>>> ev.fields.loc[0, "outcome"]
'correct'

`evaluate` and what it needs are loaded on import, everything else on first use. Packages hold what
is not at the top: ``xb.tables.grits``, ``xb.gold.audit``, ``xb.simulation.corrupt_document``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extractbench_nb._version import __version__
from extractbench_nb.core.profiles import profiles
from extractbench_nb.errors import (
    ConfigError,
    ExtractBenchError,
    InputError,
    OutputError,
    SchemaError,
)
from extractbench_nb.core.evaluation import evaluate, evaluate_async
from extractbench_nb.core.cross_field_rules import rule
from extractbench_nb.core.metrics.registry import MetricScore, metric, metrics
from extractbench_nb.core.schema.evaluation_config import presets
from extractbench_nb.core.schema.parse import parse_schema

if TYPE_CHECKING:
    from extractbench_nb import (
        benchmark,
        compat,
        construction,
        runs as extraction,
        gold,
        integrations,
        judges,
        pdf,
        simulation,
        stats,
        tables,
    )
    from extractbench_nb.core import (
        metrics as field_metrics,
    )
    from extractbench_nb.views import (
        plots,
        report,
    )
    from extractbench_nb.runs.estimate import estimate_cost
    from extractbench_nb.runs.evaluate import evaluate_runs, load_evaluations
    from extractbench_nb.runs.dataset import load_dataset
    from extractbench_nb.runs.fetch import fetch_dataset
    from extractbench_nb.views.formatting import format_frames
    from extractbench_nb.judges.model_aligner import LLMAligner
    from extractbench_nb.runs.outputs import read_outputs
    from extractbench_nb.runs.extracting import extract
    from extractbench_nb.integrations.scorer import as_scorer
    from extractbench_nb.core.text.choosing import Ensemble
    from extractbench_nb.judges.llm import LLMJudge
    from extractbench_nb.judges.replay import ReplayJudge
    from extractbench_nb.pdf.evidence import find_evidence, grounded
    from extractbench_nb.simulation.curves import sensitivity
    from extractbench_nb.stats.agreements import agreement
    from extractbench_nb.stats.breakdowns import breakdown, difficulty
    from extractbench_nb.stats.compare import compare_runs
    from extractbench_nb.stats.consistency import self_consistency
    from extractbench_nb.stats.gates import regressions
    from extractbench_nb.stats.judge_agreements import judge_agreement
    from extractbench_nb.views import (
        explore,
        show,
        show_evidence,
        show_matches,
        workbench,
    )
    from extractbench_nb.views.static import (
        keep_static,
    )

__all__ = [
    "ConfigError",
    "Ensemble",
    "ExtractBenchError",
    "InputError",
    "LLMAligner",
    "LLMJudge",
    "MetricScore",
    "OutputError",
    "ReplayJudge",
    "SchemaError",
    "__version__",
    "agreement",
    "as_scorer",
    "benchmark",
    "breakdown",
    "compare_runs",
    "compat",
    "construction",
    "difficulty",
    "estimate_cost",
    "evaluate",
    "evaluate_async",
    "evaluate_runs",
    "explore",
    "extract",
    "extraction",
    "fetch_dataset",
    "field_metrics",
    "find_evidence",
    "format_frames",
    "gold",
    "grounded",
    "integrations",
    "judge_agreement",
    "judges",
    "keep_static",
    "load_dataset",
    "load_evaluations",
    "metric",
    "metrics",
    "parse_schema",
    "pdf",
    "plots",
    "presets",
    "profiles",
    "read_outputs",
    "regressions",
    "report",
    "rule",
    "self_consistency",
    "sensitivity",
    "show",
    "show_evidence",
    "show_matches",
    "simulation",
    "stats",
    "tables",
    "workbench",
]

#: Modules of the names that are loaded on first use.
_LATER = {
    "batch.estimate": ("estimate_cost",),
    "batch.run": ("evaluate_runs", "load_evaluations"),
    "benchmark.dataset": ("load_dataset",),
    "benchmark.fetch": ("fetch_dataset",),
    "display.frames": ("format_frames",),
    "engine.llm_alignment": ("LLMAligner",),
    "extraction.reading": ("read_outputs",),
    "extraction.runs": ("extract",),
    "integrations.scorer": ("as_scorer",),
    "judges.choosing": ("Ensemble",),
    "judges.llm": ("LLMJudge",),
    "judges.replay": ("ReplayJudge",),
    "pdf.evidence": ("find_evidence", "grounded"),
    "simulation.curves": ("sensitivity",),
    "stats.agreements": ("agreement",),
    "stats.breakdowns": ("breakdown", "difficulty"),
    "stats.compare": ("compare_runs",),
    "stats.consistency": ("self_consistency",),
    "stats.judges": ("judge_agreement",),
    "stats.gates": ("regressions",),
    "widgets": ("explore", "keep_static", "show", "show_evidence", "show_matches", "workbench"),
}
_HOMES = {name: home for home, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name, or else a package that `__all__` names, on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOMES:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)
