"""The metric workbench over 1,000 cases: how long a person waits, and what is sent to the page."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

import extractbench_nb as xb

GROUP = "metric workbench, 1,000 cases"


@pytest.fixture(scope="module")
def fields() -> Any:
    return xb.evaluate_runs(xb.load_dataset(), progress=False).fields


@pytest.fixture(scope="module")
def cases(fields: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Pairs of the sample's model outputs, over and over, and made-up verdicts of people."""
    found = {}
    for metric in ("string_semantic", "number_tolerance"):
        rows = fields[fields["metric"] == metric]
        pairs = zip(cycle(rows["gold"]), cycle(rows["predicted"]), range(1000), strict=False)
        found[metric] = [(gold, predicted, n % 3 > 0) for gold, predicted, n in pairs]
    return found


SOURCES = {
    "string_fuzzy": "string_semantic",
    "string_semantic": "string_semantic",
    "number_tolerance": "number_tolerance",
}


def _kilobytes(view: Any) -> float:
    return sum(len(getattr(view, name)) for name in view.keys if name.startswith("_p")) / 1024


@pytest.mark.parametrize("metric", SOURCES)
def test_building(metric: str, cases: Any, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.workbench_view import Workbench

    view = timed(
        GROUP, f"build, {metric}", Workbench, metric, cases[SOURCES[metric]], rounds=3, warm=1
    )
    twin = len(view.to_html()) / 1024
    benchmark.extra_info["work"] = f"{_kilobytes(view):.0f} KB sent, static twin {twin:.0f} KB"
    assert len(view.results) == 1000
    assert _kilobytes(view) < 70


def test_building_over_10_000_cases(timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.workbench_view import Workbench

    cases = [(f"Northwind Paper {n}", f"Northwind Paper {'x' * (n % 7)}") for n in range(10_000)]
    view = timed(
        "metric workbench, 10,000 cases",
        "build, string_fuzzy",
        Workbench,
        "string_fuzzy",
        cases,
        rounds=3,
        warm=1,
    )
    benchmark.extra_info["work"] = f"{_kilobytes(view):.0f} KB sent"
    assert len(view.results) == 10_000


@pytest.mark.parametrize(
    "metric, param, values",
    [
        ("string_fuzzy", "threshold", (0.61, 0.72, 0.83, 0.94, 0.55, 0.44)),
        ("string_semantic", "pass_threshold", (0.61, 0.72, 0.83, 0.94, 0.55, 0.44)),
        ("number_tolerance", "tolerance", (0.003, 0.004, 0.006, 0.007, 0.008, 0.009)),
    ],
)
def test_a_param_moves(
    metric: str, param: str, values: Any, cases: Any, timed: Any, benchmark: Any
) -> None:
    from extractbench_nb.views.workbench_view import Workbench

    view = Workbench(metric, cases[SOURCES[metric]])
    steps = iter(values)

    def moved() -> None:
        view.params = {param: next(steps)}

    timed(GROUP, f"move {metric}.{param}", moved, rounds=len(values) - 1, warm=1)
    flips = int(view.results["flip"].notna().sum())
    benchmark.extra_info["work"] = f"{flips} flips, {_kilobytes(view):.0f} KB sent"
    assert view.params[param] in values


def test_searching_and_turning_pages(cases: Any, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.workbench_view import Workbench

    view = Workbench("string_fuzzy", cases["string_semantic"])

    def used() -> int:
        for text in ("a", "an", ""):
            view.text = text
        view.page += 1
        return len(view.selection)

    found = timed(GROUP, "three searches and a page", used, rounds=5, warm=1)
    benchmark.extra_info["work"] = f"{found:,} cases"
    assert found == 1000
