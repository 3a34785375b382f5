"""`frontier`: who dominates whom, for how much, and how sure that is."""

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError

_COLUMNS = ["run", "document", "pass_rate", "cost_usd", "latency_seconds"]


def summary(**runs: list[tuple[Any, Any, Any]]) -> pd.DataFrame:
    """Rows of runs: score, cost and latency by document."""
    rows = [
        (run, f"d{i}", *cells) for run, several in runs.items() for i, cells in enumerate(several)
    ]
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    return frame.astype(dict.fromkeys(_COLUMNS[2:], "Float64"))


def dominated(frame: pd.DataFrame) -> dict[str, Any]:
    names = frame["dominated_by"].astype(object).where(frame["dominated_by"].notna(), None)
    return dict(zip(frame["run"], names, strict=True))


@pytest.mark.parametrize(
    "a, b, expected",
    [
        # better in one, equal in the others
        ((0.9, 1.0, 1.0), (0.8, 1.0, 1.0), {"a": None, "b": "a"}),
        ((0.9, 1.0, 1.0), (0.9, 2.0, 1.0), {"a": None, "b": "a"}),
        ((0.9, 1.0, 1.0), (0.9, 1.0, 2.0), {"a": None, "b": "a"}),
        # equal in all: neither
        ((0.9, 1.0, 1.0), (0.9, 1.0, 1.0), {"a": None, "b": None}),
        # a trade
        ((0.9, 2.0, 1.0), (0.8, 1.0, 1.0), {"a": None, "b": None}),
        ((0.9, 1.0, 2.0), (0.8, 1.0, 1.0), {"a": None, "b": None}),
        # what one does not report is not compared, so that neither dominates
        ((0.9, 1.0, None), (0.8, 2.0, 1.0), {"a": None, "b": None}),
        # what none reports is left out
        ((0.9, 1.0, None), (0.8, 2.0, None), {"a": None, "b": "a"}),
        ((0.9, None, 1.0), (0.8, None, 2.0), {"a": None, "b": "a"}),
    ],
)
def test_who_dominates(a: tuple[Any, ...], b: tuple[Any, ...], expected: dict[str, Any]) -> None:
    found = xb.stats.frontier(summary(a=[a] * 3, b=[b] * 3))
    assert dominated(found) == expected
    shares = dict(zip(found["run"], found["dominated_share"], strict=True))
    assert shares == {run: float(by is not None) for run, by in expected.items()}


def test_of_several_the_best_is_named() -> None:
    found = xb.stats.frontier(
        summary(a=[(0.7, 1, 1)] * 2, b=[(0.9, 1, 1)] * 2, c=[(0.6, 2, 2)] * 2)
    )
    assert dominated(found) == {"a": "b", "b": None, "c": "b"}


def test_only_documents_of_both_count() -> None:
    frame = summary(a=[(0.9, 1, 1), (0.9, 1, 1)], b=[(0.8, 2, 1), (0.8, 2, 1), (1.0, 0, 0)])
    assert dominated(xb.stats.frontier(frame)) == {"a": None, "b": "a"}


def test_noise_shows_in_the_share_not_in_a_verdict_alone() -> None:
    rng = np.random.default_rng(7)
    cells = rng.normal(0.7, 0.1, (2, 30)).clip(0, 1)
    frame = summary(a=[(s, 1.0, 1.0) for s in cells[0]], b=[(s, 1.0, 1.0) for s in cells[1]])
    found = xb.stats.frontier(frame).set_index("run")
    # the same cost: in nearly every resample one of both dominates the other
    assert found["dominated_share"].sum() == pytest.approx(1.0, abs=0.01)
    assert found["dominated_share"].min() > 0.02


def test_an_invalid_output_scores_0() -> None:
    frame = summary(a=[(0.9, 1, 1)] * 2, b=[(0.8, 2, 2)] * 2)
    frame["outcome"] = ["invalid", "evaluated", "evaluated", "evaluated"]
    found = xb.stats.frontier(frame).set_index("run")
    assert found.loc["a", ["score", "invalid"]].tolist() == [0.45, 1]
    assert not found["dominated"].any()


def test_costs_of_run_folders_are_joined_by_run_and_document() -> None:
    frame = summary(a=[(0.9, 1, 1)] * 2, b=[(0.8, 2, 2)] * 2)
    scores = frame[["run", "document", "pass_rate"]]
    costs = frame.drop(columns="pass_rate").sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        xb.stats.frontier(scores, outputs=costs), xb.stats.frontier(frame)
    )
    parts = [costs[costs["run"] == run] for run in "ba"]
    pd.testing.assert_frame_equal(
        xb.stats.frontier(scores, outputs=parts), xb.stats.frontier(frame)
    )


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=3, max_size=3), st.data())
def test_the_order_of_runs_and_documents_changes_nothing(
    points: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    frame = summary(**{run: [point] * 4 for run, point in zip("abc", points, strict=True)})
    shuffled = frame.sample(frac=1, random_state=data.draw(st.integers(0, 9)))
    base = xb.stats.frontier(frame, resamples=100)
    again = xb.stats.frontier(shuffled, resamples=100)
    pd.testing.assert_frame_equal(base, again)
    # a definition that compares each pair
    costs = dict(zip("abc", points, strict=True))
    for i, j in permutations("abc", 2):
        gains = [costs[j][0] - costs[i][0], *(costs[i][k] - costs[j][k] for k in (1, 2))]
        if min(gains) >= 0 and max(gains) > 0:
            assert base.set_index("run").loc[i, "dominated"]


@pytest.mark.parametrize(
    "change, outputs, message",
    [
        (lambda f: f.drop(columns=_COLUMNS[3:]), None, "neither cost_usd nor latency_seconds"),
        (lambda f: f.assign(cost_usd=-1.0), None, "cost_usd is -1.0 at run 'a', document 'd0'"),
        (lambda f: f.assign(cost_usd="cheap"), None, "column 'cost_usd' is"),
        (lambda f: f, lambda f: f[f["run"] == "a"], "outputs has no run 'b'"),
        (lambda f: f, lambda f: pd.concat([f, f]), "run 'a', document 'd0' more than once"),
        (lambda f: f, lambda _: "runs/a", "outputs is str; expected a DataFrame"),
        (lambda f: f.drop(columns="pass_rate"), None, "no measure 'pass_rate'"),
        (lambda f: f[:0], None, "there are no rows|neither cost_usd nor"),
    ],
)
def test_bad_input(change: Any, outputs: Any, message: str) -> None:
    frame = summary(a=[(0.9, 1, 1)] * 2, b=[(0.8, 2, 2)] * 2)
    given_outputs = None if outputs is None else outputs(frame.drop(columns="pass_rate"))
    with pytest.raises(InputError, match=message):
        xb.stats.frontier(change(frame), outputs=given_outputs)


def test_a_single_run_is_one_row() -> None:
    (row,) = xb.stats.frontier(summary(a=[(0.9, 1, 2), (0.7, 3, 4)])).to_dict("records")
    assert (row["run"], row["score"], row["cost"], row["latency"]) == ("a", 0.8, 2, 3)
    assert (row["dominated"], row["dominated_share"]) == (False, 0)


@pytest.mark.parametrize("rising", [True, False])
def test_names_of_many_runs_do_not_overlap(rising: bool) -> None:
    """Also where all 24 runs are on the frontier."""
    matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    scores = [0.5 + 0.02 * at if rising else 0.8 + 0.01 * (at % 5) for at in range(24)]
    frame = summary(
        **{
            f"provider/a-model-name-{at:02}": [(score, 1 + 0.05 * at, 1)] * 2
            for at, score in enumerate(scores)
        }
    )
    ax = xb.plots.frontier(xb.stats.frontier(frame))
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert 1 <= len(boxes) <= 24
    assert not any(a.overlaps(b) for at, a in enumerate(boxes) for b in boxes[:at])
    plt.close("all")


def test_the_figure_has_a_point_per_run_and_a_line_through_the_best() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    frame = summary(
        a=[(0.9, 4, 1)] * 2, b=[(0.8, 1, 2)] * 2, c=[(0.7, 2, 3)] * 2, d=[(0.5, None, 1)]
    )
    found = xb.stats.frontier(frame)
    ax = xb.plots.frontier(found)
    (points,) = (c for c in ax.collections if len(c.get_offsets()) == 3)
    assert sorted(points.get_offsets().tolist()) == [[1, 0.8], [2, 0.7], [4, 0.9]]
    assert list(ax.lines[0].get_xdata()) == [1, 4]
    assert "1 of unknown cost left out" in " ".join(ax.get_title(loc="left").split())
    assert len(xb.plots.frontier(found, against="latency").texts) == 4
    plt.close("all")
    with pytest.raises(InputError, match="against='price'"):
        xb.plots.frontier(found, against="price")


def test_answers_of_a_model_keep_what_they_cost(tmp_path: Any) -> None:
    """From `extract`'s outputs to the frontier without a frame in between."""
    dataset = xb.load_dataset("sample")
    runs = [xb.simulation.simulate(dataset, name) for name in ("GPT-5", "Gemini 3 Pro")]
    made = [
        SimpleNamespace(outputs=run.outputs.assign(cost_usd=cost, latency_seconds=cost))
        for run, cost in zip(runs, (0.2, 0.1), strict=True)
    ]
    evs = xb.evaluate_runs(made, dataset=dataset, progress=False)
    assert len(evs) == 2 * len(dataset.listing)
    assert xb.stats.frontier(evs)["cost"].round(3).tolist() == [0.1, 0.2]
    one = xb.evaluate_runs(made[0], dataset=dataset, progress=False)
    raw = made[0].outputs.assign(predicted=made[0].outputs["raw"])
    same = xb.evaluate_runs(raw[["run", "document", "predicted"]], dataset=dataset, progress=False)
    pd.testing.assert_frame_equal(one.fields, same.fields)
