"""The failure explorer: how long a person waits for it, and what is sent to the page."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb

GROUP = "failure explorer"
#: Copies of the sample's 6,558 rows where it is timed, and where it is not.
MANY, FEW = 108, 3


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return xb.evaluate_runs(xb.load_dataset(), progress=False).fields


@pytest.fixture(scope="module")
def many(sample: pd.DataFrame, request: pytest.FixtureRequest) -> pd.DataFrame:
    copies = FEW if request.config.getoption("benchmark_disable") else MANY
    return pd.concat(
        [sample.assign(document=sample["document"] + f" {i}") for i in range(copies)],
        ignore_index=True,
    )


def _sent(view: Any) -> str:
    size = sum(len(getattr(view, f"_p{at}")) for at in range(view._slots)) / 1024
    return f"{size:.0f} KB sent, static twin {len(view.to_html()) / 1024:.0f} KB"


@pytest.mark.parametrize("size", ["sample", "many"])
def test_building(size: str, request: pytest.FixtureRequest, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.widgets.failures_view import FailureExplorer

    fields = request.getfixturevalue(size)
    documents = fields["document"].nunique()
    name = f"build, {len(fields):,} rows of {documents:,} documents"
    view = timed(GROUP, name, FailureExplorer, fields, rounds=3, warm=1)
    assert len(view.selection) == fields["counted"].sum()
    benchmark.extra_info["work"] = _sent(view)


def test_filtering_while_typing(many: pd.DataFrame, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.widgets.failures_view import FailureExplorer

    view = FailureExplorer(many)

    def typed() -> int:
        view.find = ""
        view.find = "balance"
        return len(view.selection)

    found = timed(GROUP, f"filter twice, {len(many):,} rows", typed, rounds=3, warm=1)
    assert 0 < found < len(many)
    benchmark.extra_info["work"] = _sent(view)


def test_a_click(many: pd.DataFrame, timed: Any, benchmark: Any) -> None:
    from extractbench_nb.widgets.failures_view import FailureExplorer

    view = FailureExplorer(many)

    def clicked() -> int:
        view._heat.set_state({"block": [[1], [0]]})
        view._heat.set_state({"block": [[0], [0]]})
        return len(view.selection)

    found = timed(GROUP, f"click twice, {len(many):,} rows", clicked, rounds=3, warm=1)
    assert 0 < found < 20
    benchmark.extra_info["work"] = _sent(view)
