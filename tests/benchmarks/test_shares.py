"""Where the time goes, by part of the package, for documents, batches and long arrays."""

import time
from typing import Any

import pytest

from extractbench_nb.runs.evaluate import evaluate_runs
from tests.benchmarks import evaluators
from tests.benchmarks.shares import PARTS, sampled, shares
from tests.benchmarks.workloads import citation_objects, citation_strings, generated_runs

GROUP = "where the time goes"


def test_documents(documents: Any, timed: Any, benchmark: Any, quick: bool) -> None:
    cases = documents("sample" if quick else "extractbench")
    _measure(timed, benchmark, "documents", evaluators.run, evaluators.ours, cases)


def test_batch(timed: Any, benchmark: Any, quick: bool, tmp_path: Any) -> None:
    runs = generated_runs(3, 6) if quick else generated_runs()
    folders = iter(range(10))

    def evaluate() -> Any:
        return evaluate_runs(runs, save_to=tmp_path / str(next(folders)), progress=False)

    _measure(timed, benchmark, "batch of 300 outputs, 50 schemas", evaluate)


def test_strings(citations: Any, timed: Any, benchmark: Any, quick: bool) -> None:
    items = citation_strings(citations[:100] if quick else citations, 90 if quick else 981, 1.0)
    name = "1,081 x 981 citations, all edited"
    _measure(timed, benchmark, name, evaluators.ours, items.case)


def test_objects(timed: Any, benchmark: Any, quick: bool) -> None:
    items = citation_objects(50 if quick else 1000)
    name = "1,000 x 1,000 objects, all edited"
    _measure(timed, benchmark, name, evaluators.ours, items.case)


def _measure(timed: Any, benchmark: Any, name: str, target: Any, *args: Any) -> None:
    timed(GROUP, name, target, *args, rounds=1, warm=1)
    evaluators.fresh()
    benchmark.extra_info["work"] = found = shares(lambda: target(*args))
    assert any(part in found for part in PARTS.values())


def test_a_part_gets_the_time_of_the_calls_it_makes() -> None:
    def burn(seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    with sampled() as seconds:
        burn(0.1)
    assert set(seconds) == {"libraries"}
    assert seconds["libraries"] == pytest.approx(0.1, abs=0.05)
