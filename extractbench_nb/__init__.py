"""Evaluate structured extraction, JSON from documents against gold, in a notebook or a script.

>>> import extractbench_nb as xb
>>> schema = {"type": "object", "properties": {"name": {"type": "string"}}}
>>> ev = xb.evaluate(schema, {"name": "ACME Inc."}, {"name": "Acme Incorporated"})
>>> ev.fields.loc[0, "outcome"]
'correct'

`evaluate` and what it needs are loaded on import, everything else on first use. Rooms hold what is
not at the top: ``xb.tables.grits``, ``xb.gold.audit``, ``xb.simulation.corrupt_document``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extractbench_nb._version import __version__
from extractbench_nb.core import (
    UNLABELED,
    MetricScore,
    evaluate,
    evaluate_async,
    metric,
    metrics,
    profiles,
    register,
    rule,
)
from extractbench_nb.errors import (
    ConfigError,
    ExtractBenchError,
    InputError,
    OutputError,
    SchemaError,
)
from extractbench_nb.support.moved import moved_names

if TYPE_CHECKING:
    from extractbench_nb import (
        benchmark,
        compat,
        construction,
        core,
        errors,
        gold,
        integrations,
        judges,
        pdf,
        runs,
        simulation,
        stats,
        tables,
        views,
    )
    from extractbench_nb.core import schema
    from extractbench_nb.integrations import as_scorer
    from extractbench_nb.judges import LLM
    from extractbench_nb.pdf import grounded
    from extractbench_nb.runs import (
        evaluate_runs,
        extract,
        load_dataset,
        load_evaluations,
        read_outputs,
    )
    from extractbench_nb.simulation import sensitivity
    from extractbench_nb.stats import (
        agreement,
        breakdown,
        compare_runs,
        difficulty,
        feedback,
        regressions,
    )
    from extractbench_nb.views import (
        explore,
        plots,
        show,
        show_evidence,
        show_matches,
        workbench,
    )

__all__ = [
    "LLM",
    "UNLABELED",
    "ConfigError",
    "ExtractBenchError",
    "InputError",
    "MetricScore",
    "OutputError",
    "SchemaError",
    "__version__",
    "agreement",
    "as_scorer",
    "benchmark",
    "breakdown",
    "compare_runs",
    "compat",
    "construction",
    "core",
    "difficulty",
    "errors",
    "evaluate",
    "evaluate_async",
    "evaluate_runs",
    "explore",
    "extract",
    "feedback",
    "gold",
    "grounded",
    "integrations",
    "judges",
    "load_dataset",
    "load_evaluations",
    "metric",
    "metrics",
    "pdf",
    "plots",
    "profiles",
    "read_outputs",
    "regressions",
    "rule",
    "runs",
    "schema",
    "sensitivity",
    "show",
    "show_evidence",
    "show_matches",
    "simulation",
    "stats",
    "tables",
    "views",
    "workbench",
]

#: Rooms of the names that are loaded on first use.
_LATER = {
    "integrations": ("as_scorer",),
    "judges": ("LLM",),
    "pdf": ("grounded",),
    "runs": ("evaluate_runs", "extract", "load_dataset", "load_evaluations", "read_outputs"),
    "simulation": ("sensitivity",),
    "stats": ("agreement", "breakdown", "compare_runs", "difficulty", "feedback", "regressions"),
    "views": ("explore", "show", "show_evidence", "show_matches", "workbench"),
}
_HOMES = {name: home for home, names in _LATER.items() for name in names}
#: Namespaces that are packages inside of a room.
_INSIDE = {"plots": "views.plots", "schema": "core.schema"}
_MOVED = moved_names(__name__)


def __getattr__(name: str) -> Any:
    """Load a name, or else a room that `__all__` names, on first use (PEP 562)."""
    if name not in __all__:
        return _MOVED(name)
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        value = import_module(f"{__name__}.{_INSIDE.get(name, name)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)


register(
    model_judge=f"{__name__}.judges:LLMJudge",
    model_aligner=f"{__name__}.judges:LLMAligner",
    table_grits=f"{__name__}.tables:arrays_similarity",
    mismatch_frame=f"{__name__}.stats:mismatch_frame",
    write_report=f"{__name__}.views:write_report",
    frame_html=f"{__name__}.views:frame_html",
    write_parquet=f"{__name__}.runs:write_evaluation",
)
