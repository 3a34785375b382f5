"""The view of 1,000 x 1,000 matches: how long a person waits, and what is sent to the page."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import extractbench_nb as xb
from tests.benchmarks.workloads import citation_objects

GROUP = "array matches, 1,000 x 1,000"


@pytest.fixture(scope="module")
def count(quick: bool) -> int:
    return 200 if quick else 1000


@pytest.fixture(scope="module")
def evaluation(count: int) -> xb.core.Evaluation:
    ev = xb.evaluate(*citation_objects(count).case)
    assert len(ev.fields) > 5 * count
    return ev


@pytest.fixture
def view(evaluation: xb.core.Evaluation) -> Any:
    from extractbench_nb.views.matches_view import MatchesView

    return MatchesView(evaluation, "items")


def _kilobytes(view: Any) -> float:
    return sum(len(getattr(view, f"_p{at}")) for at in range(4)) / 1024


def test_building(evaluation: xb.core.Evaluation, count: int, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.views.matches_view import MatchesView

    view = timed(GROUP, "build", MatchesView, evaluation, "items", rounds=5, warm=1)
    twin = len(view.to_html()) / 1024
    benchmark.extra_info["work"] = f"{_kilobytes(view):.0f} KB sent, static twin {twin:.0f} KB"
    assert len(view.matches) >= count
    assert _kilobytes(view) < 200


@pytest.mark.parametrize("key", ["align_threshold", "items[].title"])
def test_a_threshold_changes(key: str, view: Any, count: int, timed: Any, benchmark: Any) -> None:
    steps = itertools.count(60)

    def moved() -> float:
        value = next(steps) / 100
        view.thresholds = {key: value}
        return value

    last = timed(GROUP, f"other {key}", moved, rounds=5, warm=1)
    counts = {name: int(view.summary[name]) for name in ("matched", "partial")}
    benchmark.extra_info["work"] = f"at {last:.2f}: {counts['matched']} matched"
    assert view.thresholds == {key: last}
    assert counts["matched"] + counts["partial"] <= count


def test_choosing_a_pair(view: Any, count: int, timed: Any, benchmark: Any) -> None:
    rows = itertools.count(0, 97)

    def chosen() -> None:
        view.selected_pair = (next(rows) % count, None)

    timed(GROUP, "choose an item on another page", chosen, rounds=10, warm=1)
    benchmark.extra_info["work"] = f"{_kilobytes(view):.0f} KB sent"
    assert view.selected_pair is not None


def test_searching(view: Any, count: int, timed: Any, benchmark: Any) -> None:
    texts = ("arXiv:1", "ist", "")

    def searched() -> int:
        for text in texts:
            view.text = text
        return len(view.rows)

    found = timed(GROUP, "three searches", searched, rounds=5, warm=1)
    benchmark.extra_info["work"] = f"{found:,} rows"
    assert found >= count
