"""Every public name of the published package is here, in the same module, called the same way."""

import importlib
import importlib.util
import inspect
import pickle
import pydoc
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from extractbench_nb import compat
from tests.waiting import PATIENCE

PATHS = [
    "",
    ".evaluation",
    ".evaluation.evaluation_config",
    ".evaluation.metric_registry",
    ".evaluation.metrics",
    ".evaluation.metrics.base_metric",
    ".evaluation.metrics.boolean_metrics",
    ".evaluation.metrics.number_metrics",
    ".evaluation.metrics.policy_metric",
    ".evaluation.metrics.string_metrics",
    ".evaluation.presets",
    ".evaluation.reporting",
    ".evaluation.reporting.formatters",
    ".evaluation.reporting.models",
    ".evaluation.reporting.report_builder",
    ".evaluation.structured_evaluator",
]

CALLS = [
    ("StructuredEvaluator", None),
    ("StructuredEvaluator", "evaluate"),
    ("StructuredEvaluator", "evaluate_async"),
    ("StructuredEvaluatorConfig", None),
    ("AsyncEvaluationConfig", None),
    ("EvaluationConfig", None),
    ("EvaluationConfig", "from_preset"),
    ("MetricConfig", None),
    ("MetricResult", None),
    ("BaseMetric", "evaluate"),
    ("ReportBuilder", None),
    ("ReportBuilder", "build"),
    ("ReportBuilder", "build_async"),
    ("ReportBuilder", "save"),
    ("ReportConfig", None),
    *(
        ("MetricRegistry", method)
        for method in (
            None, "available_metrics", "create_metric", "get_metric_descriptor", "has_metric",
            "register_metric", "register_metric_descriptor", "register_metric_factory",
            "unregister_metric",
        )
    ),
]  # fmt: skip


def ours(path: str) -> ModuleType:
    return importlib.import_module("extractbench_nb.compat" + path)


# --- modules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_a_module_has_the_packages_names(path, package):
    """A name that is missing is one that the docstring of `compat` names as left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = importlib.import_module("extract_bench" + path)
    mine = set(ours(path).__all__)
    assert not [name for name in mine if not hasattr(theirs, name)]
    published = getattr(theirs, "__all__", None) or [
        name
        for name, value in vars(theirs).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == theirs.__name__
    ]
    missing = set(published) - mine
    assert not [name for name in missing if f"``{name}``" not in str(compat.__doc__)]
    assert path.rpartition(".")[2] in str(compat.__doc__)


@pytest.mark.parametrize("path", PATHS)
def test_a_module_is_one(path):
    module = ours(path)
    assert module.__name__ == importlib.util.find_spec(module.__name__).name
    assert module.__name__.startswith(module.__package__)
    assert module.__doc__
    assert module.__name__ in pydoc.render_doc(module.__name__)
    star: dict[str, Any] = {}
    exec(f"from {module.__name__} import *", star)  # noqa: S102 - our own names
    assert set(star) - {"__builtins__"} == set(module.__all__)
    parent, _, name = module.__name__.rpartition(".")
    assert getattr(sys.modules[parent], name) is module
    for value in map(star.get, module.__all__):
        if inspect.isclass(value) or inspect.isfunction(value):
            assert pickle.loads(pickle.dumps(value)) is value  # noqa: S301 - just written
            assert inspect.getsource(value)


#: Each is the first import of the package in a process, as far as `sys.modules` tells.
FIRST_IMPORTS = """
    import importlib, sys

    for statement in (
        "import extractbench_nb.compat.evaluation.metrics as m; m.ExactStringMatchMetric",
        "import extractbench_nb.compat.evaluation as m; m.metrics.string_metrics",
        "from extractbench_nb.compat.evaluation.reporting.models import FieldOutcome",
        "importlib.import_module('extractbench_nb.compat.evaluation.presets')",
    ):
        for name in [name for name in sys.modules if name.startswith("extractbench_nb")]:
            del sys.modules[name]
        exec(statement)
"""


def test_the_first_import_of_a_process():
    root = str(Path(compat.__file__).parents[2])
    command = [sys.executable, "-W", "error", "-c", inspect.cleandoc(FIRST_IMPORTS)]
    found = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert found.returncode == 0, found.stderr


def test_no_other_module_is_found():
    with pytest.raises(ModuleNotFoundError, match="llm_metrics"):
        importlib.import_module("extractbench_nb.compat.evaluation.metrics.llm_metrics")


def test_reloading_fills_the_same_modules():
    """In a process of its own: classes of the package itself are new afterwards."""
    script = """
        import importlib
        from extractbench_nb import compat
        from extractbench_nb.compat.evaluation import reporting

        before = reporting.ReportBuilder
        importlib.reload(compat)
        assert compat.evaluation.reporting is reporting
        assert reporting.ReportBuilder is compat.ReportBuilder is not before
    """
    root = str(Path(compat.__file__).parents[2])
    subprocess.run(
        [sys.executable, "-c", inspect.cleandoc(script)], cwd=root, timeout=PATIENCE, check=True
    )


# --- calls ------------------------------------------------------------------------------------


def test_all_public_names_of_the_package_are_here(package):
    assert set(package.__all__) == set(compat.__all__)


def _parameters(value: Any) -> list[tuple[str, Any]]:
    """Parameters by position or name, in order; keyword-only ones after them."""
    found = inspect.signature(value).parameters.values()
    return [(p.name, p.kind) for p in found if p.kind is not p.VAR_KEYWORD]


@pytest.mark.parametrize("name, method", CALLS)
def test_calls_are_the_same(name, method, package):
    """What the package's signature accepts, ours accepts too."""
    theirs, mine = (
        getattr(module, name) if method is None else getattr(getattr(module, name), method)
        for module in (package, compat)
    )
    accepted = {parameter for parameter, _ in _parameters(mine)}
    wanted = _parameters(theirs)
    assert {parameter for parameter, _ in wanted} <= accepted
    by_place = [p for p, kind in wanted if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [p for p, _ in _parameters(mine)][: len(by_place)] == by_place


def test_defaults_of_the_configs_are_the_same(package):
    for name in ("AsyncEvaluationConfig", "ReportConfig"):
        theirs, mine = getattr(package, name)(), getattr(compat, name)()
        for field in vars(theirs):
            assert getattr(mine, field) == getattr(theirs, field), (name, field)
