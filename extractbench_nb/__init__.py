"""extractbench_nb: evaluate structured extraction where people think, in a notebook.

>>> import extractbench_nb as xb
>>> schema = {"type": "object", "properties": {"name": {"type": "string"}}}
>>> ev = xb.evaluate(schema, {"name": "ACME Inc."}, {"name": "Acme Incorporated"})
>>> ev.fields.loc[0, "outcome"]
'correct'
"""

from extractbench_nb._version import __version__
from extractbench_nb.benchmark.dataset import Dataset, DatasetError, load_dataset
from extractbench_nb.errors import (
    ConfigError,
    ExtractBenchError,
    InputError,
    OutputError,
    SchemaError,
)
from extractbench_nb.evaluation import Evaluation, evaluate, evaluate_async
from extractbench_nb.judges.base import Verdict
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.metrics import MetricScore, metric, metrics
from extractbench_nb.profiles import profiles
from extractbench_nb.schema import Schema, parse_schema, presets

__all__ = [
    "ConfigError",
    "Dataset",
    "DatasetError",
    "Evaluation",
    "ExtractBenchError",
    "InputError",
    "MetricScore",
    "OfflineJudge",
    "OutputError",
    "Schema",
    "SchemaError",
    "Verdict",
    "__version__",
    "evaluate",
    "evaluate_async",
    "load_dataset",
    "metric",
    "metrics",
    "parse_schema",
    "presets",
    "profiles",
]
