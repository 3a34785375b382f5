"""Corrupted documents, from schema and two JSON values to the three frames."""

from typing import Any

import pytest

from tests.benchmarks import evaluators
from tests.benchmarks.evaluators import label
from tests.benchmarks.workloads import Case, count_items, leaves

DATASETS = pytest.mark.parametrize(
    "name, group, count", [("extractbench", "documents", 35), ("sample", "sample documents", 14)]
)
#: Longer arrays take stickler seconds each: they are left out where nothing is timed.
LONG = 500


@DATASETS
def test_ours(name, group, count, documents, timed, benchmark):
    cases = documents(name)
    target = lambda: evaluators.run(evaluators.ours, cases)  # noqa: E731
    found = timed(group, label("extractbench-nb"), target, rounds=5, warm=1)

    assert len(found) == count
    fields, arrays, matches = (sum(map(len, frames)) for frames in zip(*found, strict=True))
    benchmark.extra_info |= {
        "work": f"{count} documents, {fields:,} field rows, {matches:,} item rows",
        "lost": 0,
        "array_rows": arrays,
    }
    gold_items = sum(count_items(case.gold) for case in cases)
    compared = sum(frames.matches.gold_index.notna().sum() for frames in found)
    assert 0.9 * gold_items < compared <= gold_items
    assert fields > 0.9 * sum(1 for case in cases for _ in leaves(case.gold))
    assert arrays > 0
    assert all(frames.fields.outcome.ne("correct").any() for frames in found)


@DATASETS
def test_extract_bench(name, group, count, documents, extract_bench, timed, benchmark):
    cases = [evaluators.for_extract_bench(case) for case in documents(name)]
    target = lambda: evaluators.run(extract_bench, cases)  # noqa: E731
    found = timed(group, label("extract-bench"), target, rounds=5, warm=1)

    results = [r["results"] for r in found if isinstance(r, dict)]
    _note(benchmark, found, f"{sum(map(len, results)):,} results, arrays left to the stub")
    assert len(found) == count
    assert len(results) >= 0.8 * count
    assert all(m.metric_id != "unknown" for r in results for ms in r.values() for m in ms.values())


@DATASETS
def test_stickler(name, group, count, documents, stickler, timed, benchmark):
    cases = [evaluators.for_stickler(case) for case in documents(name)]
    if benchmark.disabled:
        cases = [case for case in cases if _longest(case) <= LONG]
    target = lambda: evaluators.run(stickler, cases)  # noqa: E731
    found = timed(group, label("stickler-eval"), target, rounds=3, warm=0)

    results = [r for r in found if isinstance(r, dict)]
    comparisons = sum(len(r["field_comparisons"]) for r in results)
    _note(benchmark, found, f"{comparisons:,} field comparisons")
    assert benchmark.disabled or len(found) == count
    assert len(results) >= 0.8 * len(cases)
    assert comparisons > 10 * len(results)


def _note(benchmark: Any, found: list[Any], work: str) -> None:
    lost = evaluators.lost(found)
    benchmark.extra_info |= {
        "work": f"{len(found) - len(lost)} documents, {work}",
        "lost": len(lost),
        "reasons": lost,
    }


def _longest(case: Case) -> int:
    def longest(value: Any) -> int:
        parts = value.values() if isinstance(value, dict) else value
        own = len(value) if isinstance(value, list) else 0
        return max([own, *(longest(part) for part in parts if isinstance(part, (dict, list)))])

    return longest(case.gold)
