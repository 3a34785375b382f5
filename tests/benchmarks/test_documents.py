"""Corrupted documents, from schema and two JSON values to the three frames."""

from typing import Any, NamedTuple

import pytest

from tests.benchmarks import evaluators
from tests.benchmarks.evaluators import label
from tests.benchmarks.workloads import count_items, leaves


class Source(NamedTuple):
    name: str
    group: str
    count: int


SOURCES = pytest.mark.parametrize(
    "source",
    [Source("extractbench", "documents", 35), Source("sample", "sample documents", 14)],
    ids=["real", "sample"],
)


@SOURCES
def test_ours(source, documents, timed, benchmark):
    cases = documents(source.name)
    found = timed(
        source.group,
        label("extractbench-nb"),
        evaluators.run,
        evaluators.ours,
        cases,
        rounds=5,
        warm=1,
    )

    assert len(found) == source.count
    fields, arrays, matches = (sum(map(len, frames)) for frames in zip(*found, strict=True))
    benchmark.extra_info |= {
        "work": f"{source.count} documents, {fields:,} field rows, {matches:,} item rows",
        "lost": 0,
        "array_rows": arrays,
    }
    gold_items = sum(count_items(case.gold) for case in cases)
    compared = sum(frames.matches.gold_index.notna().sum() for frames in found)
    assert 0.9 * gold_items < compared <= gold_items
    assert fields > 0.9 * sum(1 for case in cases for _ in leaves(case.gold))
    assert arrays > 0
    wrong = [frames for frames in found if frames.fields.passed.eq(False).any()]
    assert len(wrong) > 0.8 * source.count


@SOURCES
def test_extract_bench(source, documents, extract_bench, timed, benchmark):
    cases = [evaluators.for_extract_bench(case) for case in documents(source.name)]
    found = timed(
        source.group, label("extract-bench"), evaluators.run, extract_bench, cases, rounds=5, warm=1
    )

    results = [r["results"] for r in found if isinstance(r, dict)]
    _note(benchmark, found, f"{sum(map(len, results)):,} results, arrays left to the stub")
    assert len(found) == source.count
    assert len(results) >= 0.8 * source.count
    assert all(m.metric_id != "unknown" for r in results for ms in r.values() for m in ms.values())


@SOURCES
def test_stickler(source, documents, stickler, timed, benchmark):
    cases = [evaluators.for_stickler(case) for case in documents(source.name)]
    if benchmark.disabled:
        cases = cases[::5]  # a long array takes it seconds
    found = timed(
        source.group, label("stickler-eval"), evaluators.run, stickler, cases, rounds=3, warm=0
    )

    results = [r for r in found if isinstance(r, dict)]
    comparisons = sum(len(r["field_comparisons"]) for r in results)
    _note(benchmark, found, f"{comparisons:,} field comparisons")
    assert benchmark.disabled or len(found) == source.count
    assert len(results) >= 0.8 * len(cases)
    assert comparisons > 10 * len(results)


def _note(benchmark: Any, found: list[Any], work: str) -> None:
    lost = evaluators.lost(found)
    benchmark.extra_info |= {
        "work": f"{len(found) - len(lost)} documents, {work}",
        "lost": len(lost),
        "reasons": lost,
    }
