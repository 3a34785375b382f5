"""The view of an evaluation: how long a person waits for it, and what is sent to the page."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb
from tests.benchmarks.workloads import citation_objects

GROUP = "evaluation view"


@pytest.fixture(scope="module")
def evaluations(quick: bool) -> dict[str, xb.core.Evaluation]:
    """The largest schema of the sample, and about 9,000 rows; their warnings are found."""
    sample = xb.load_dataset()
    document = "brindlemoor_10q_q2_fy2031"
    output = sample.root / "runs" / "osprey-7b" / f"{document}.json"
    found = {
        "511 nodes": xb.evaluate(sample.schema("quarterly_report"), sample.gold(document), output),
        "9,000 rows": xb.evaluate(*citation_objects(150 if quick else 1100).case),
    }
    for ev in found.values():
        assert ev.warnings is not None
    return found


def _kilobytes(view: Any) -> float:
    return sum(len(getattr(view, f"_p{at}")) for at in range(view._slots)) / 1024


@pytest.mark.parametrize("name", ["511 nodes", "9,000 rows"])
def test_building(
    name: str, evaluations: dict[str, xb.core.Evaluation], timed: Any, benchmark: Any
) -> None:
    from extractbench_nb.views.evaluation_view import EvaluationView

    view = timed(GROUP, f"build, {name}", EvaluationView, evaluations[name], rounds=5, warm=1)
    rows, twin = len(view.rows), len(view.to_html()) / 1024
    benchmark.extra_info["work"] = (
        f"{rows:,} rows, {_kilobytes(view):.0f} KB sent, static twin {twin:.0f} KB"
    )
    assert rows > 400


def test_filtering_while_typing(
    evaluations: dict[str, xb.core.Evaluation], timed: Any, benchmark: Any
) -> None:
    from extractbench_nb.views.evaluation_view import EvaluationView

    view = EvaluationView(evaluations["9,000 rows"])

    def typed() -> int:
        view.text = ""
        view.text = "abe"
        return len(view.rows)

    left = timed(GROUP, "type a letter, 9,000 rows", typed, rounds=10, warm=1)
    benchmark.extra_info["work"] = f"{left:,} rows left"
    assert 0 < left < 9000


def test_choosing_a_row(
    evaluations: dict[str, xb.core.Evaluation], timed: Any, benchmark: Any
) -> None:
    from extractbench_nb.views.evaluation_view import EvaluationView

    view = EvaluationView(evaluations["9,000 rows"])

    def clicked() -> str:
        view.selected_row = ""
        view.perform("row", 7)
        return view.selected_row

    path = timed(GROUP, "choose a row, 9,000 rows", clicked, rounds=10, warm=1)
    benchmark.extra_info["work"] = f"{_kilobytes(view):.0f} KB in the page"
    assert path == view.rows["path"][7]
