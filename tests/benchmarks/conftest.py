"""What the benchmarks share: the data, the other packages, and one table of all figures.

Nothing here is compared with a time. Each benchmark checks that the work was done.
"""

import gc
import json
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import extractbench_nb as xb
from tests.benchmarks import evaluators
from tests.benchmarks.workloads import Case, corrupted_documents

VARIABLE = "EXTRACTBENCH_DATASET"
#: What every judge call of extract-bench returns, at once.
ANSWER = json.dumps(
    {
        "score": 0.75,
        "reasoning": "fixed",
        "matches_summary": {"matched": 3, "missed_gold": 1, "spurious_pred": 0},
    }
)

# The package that is compared with would otherwise fetch a price list when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


# --- data --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    """Whether nothing is timed: then little work shows that a benchmark works."""
    return bool(request.config.getoption("benchmark_disable"))


@pytest.fixture(scope="session")
def dataset(quick: bool) -> Callable[[str], xb.runs.Dataset]:
    def load(name: str) -> xb.runs.Dataset:
        if name == "extractbench" and quick:
            pytest.skip("real documents where it is timed, the sample where it is not")
        return _load(name)

    return load


def _load(name: str) -> xb.runs.Dataset:
    if name == "extractbench" and not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no real documents")
    return xb.load_dataset(name)


@pytest.fixture(scope="session")
def documents(dataset: Callable[[str], xb.runs.Dataset]) -> Callable[[str], list[Case]]:
    """The corrupted documents of a dataset; the same for every evaluator."""
    made: dict[str, list[Case]] = {}

    def corrupted(name: str) -> list[Case]:
        if name not in made:
            made[name] = corrupted_documents(dataset(name))
        return made[name]

    return corrupted


@pytest.fixture(scope="session")
def citations() -> list[str]:
    """The longest citation list of the real papers."""
    real = _load("extractbench")
    papers = real.documents[real.documents.schema.str.endswith("research")].document
    lists = [real.gold(paper)["citations"] for paper in papers]
    return max(lists, key=len)


# --- other packages ----------------------------------------------------------------------------


@pytest.fixture
def extract_bench(monkeypatch: pytest.MonkeyPatch) -> evaluators.Evaluator:
    """The published package as its users call it; its language model answers at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("extract_bench")
        import litellm
        from loguru import logger

    async def complete(**_: Any) -> Any:
        return {"choices": [{"message": {"content": ANSWER}}]}

    monkeypatch.setattr(litellm, "acompletion", complete)
    logger.disable("extract_bench")

    def evaluate(case: Case) -> Any:
        config = package.StructuredEvaluatorConfig(metrics=[])
        return package.StructuredEvaluator(config).evaluate(*case)

    return evaluate


@pytest.fixture
def stickler() -> evaluators.Evaluator:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("stickler", reason="needs the extra bench")
        return evaluators.stickler(package.StructuredModel)


# --- the table ---------------------------------------------------------------------------------


class Row(NamedTuple):
    group: str
    name: str
    min: str
    median: str
    work: str
    missing: str


ROWS = pytest.StashKey[list[Row]]()
TITLE = Row("Group", "Name", "Min", "Median", "Work", "Documents lost")


@pytest.fixture
def timed(benchmark: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Run a benchmark: its group, its name, a function with its arguments, and how often.

    What the test then puts in ``benchmark.extra_info`` as ``work`` and ``lost`` is in the table.
    """

    def measure(group: str, name: str, target: Any, *args: Any, rounds: int, warm: int) -> Any:
        benchmark.group, benchmark.name = group, name
        return benchmark.pedantic(
            target, args, setup=evaluators.fresh, rounds=rounds, warmup_rounds=warm
        )

    yield measure
    gc.unfreeze()
    if benchmark.stats is not None:
        stats, info = benchmark.stats.stats, benchmark.extra_info
        times = (_seconds(stats.min), _seconds(stats.median))
        row = Row(
            benchmark.group, benchmark.name, *times, info.get("work", ""), str(info.get("lost", ""))
        )
        request.config.stash.setdefault(ROWS, []).append(row)


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print all figures as one Markdown table."""
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    groups = list(dict.fromkeys(row.group for row in rows))
    rows.sort(key=lambda row: groups.index(row.group))
    widths = [max(map(len, column)) for column in zip(TITLE, *rows, strict=True)]
    terminalreporter.section("benchmarks")
    for row in (TITLE, Row(*("-" * width for width in widths)), *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line(f"| {' | '.join(cells)} |")
