"""Figures of attempts say what the frames say."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.runs.outputs import FAILURES
from extractbench_nb.stats.failures import LENGTHS, failure_modes, validity_by_length
from extractbench_nb.views.palette import ENDINGS
from tests.attempts import outputs

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib (extra `notebook`)")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 - after the check and the backend
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from extractbench_nb.views.plots.evaluation_figures import attempts, validity  # noqa: E402

DATASET = xb.load_dataset("sample")


@cache
def tried() -> pd.DataFrame:
    """Three runs in two modes, with every failure."""
    failures = FAILURES[1:] * 2
    turns = [[end for f in failures[at : at + 7] for end in ("none", f)] for at in (0, 7, 14)]
    frames = [outputs(f"run {number}", ends) for number, ends in enumerate(turns)]
    found = xb.read_outputs(pd.concat(frames), DATASET)
    return found.assign(mode=["prompt" if run < "run 2" else "structured" for run in found["run"]])


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


def labels(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def legend(ax: Axes) -> list[str]:
    drawn = ax.get_legend()
    return [] if drawn is None else [text.get_text() for text in drawn.get_texts()]


def bars(ax: Axes) -> pd.DataFrame:
    """The widths of the bars: one row per group, one column per colour."""
    found: dict[tuple[int, str], float] = {}
    for bar in ax.patches:
        row = round(bar.get_y() + bar.get_height() / 2)
        found[row, to_hex(bar.get_facecolor())] = bar.get_width()
    return pd.Series(found).unstack().set_axis(labels(ax))  # noqa: PD010 - a Series


# --- how outputs ended -------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["run", "domain", ["mode", "run"], ["mode", "run", "domain"]])
def test_bars_are_table_7_and_what_is_valid(by: Any) -> None:
    ax = attempts(tried(), by=by)
    table = failure_modes(tried(), by).iloc[:-1, :-1]
    parts = [key if isinstance(key, tuple) else (key,) for key in table.columns]
    assert labels(ax) == [" / ".join(key) for key in parts]
    drawn = bars(ax)
    for failure, row in table.iterrows():
        assert drawn[ENDINGS[str(failure)].lower()].tolist() == row.tolist()
    assert drawn.to_numpy().sum() == len(tried())
    names = [by] if isinstance(by, str) else by
    sizes = tried().groupby(names, sort=False).size()
    assert drawn.sum(axis=1).to_dict() == {
        " / ".join(key if isinstance(key, tuple) else (key,)): size for key, size in sizes.items()
    }
    assert ax.get_title(loc="left") == f"How outputs ended by {' and '.join(names)}"


def test_only_endings_that_occur_are_in_the_legend() -> None:
    frame = pd.DataFrame({"run": ["a", "a", "b"], "failure": ["timeout", "none", "none"]})
    ax = attempts(frame)
    assert legend(ax) == ["valid", "timeout"]
    assert bars(ax).columns.tolist() == [ENDINGS["none"].lower(), ENDINGS["timeout"].lower()]
    assert legend(attempts(frame.head(1))) == ["timeout"]


# --- validity by length ------------------------------------------------------------------------


def points(ax: Axes) -> list[np.ndarray]:
    return [np.asarray(line.get_xydata()) for line in ax.lines]


@pytest.mark.parametrize("of", LENGTHS)
@pytest.mark.parametrize("by", [None, "run", ["mode", "domain"]])
def test_points_and_intervals_are_where_the_numbers_are(of: str, by: Any) -> None:
    frame = validity_by_length(tried(), DATASET, of, bins=3, by=by)
    ax = validity(frame)
    known = frame[frame["bin"].notna()]
    expected = known[["median", "share"]].astype(float) * [1, 100]
    np.testing.assert_allclose(np.concatenate(points(ax)), expected)
    ends = np.concatenate([c.get_segments() for c in ax.collections[: len(ax.lines)]])
    np.testing.assert_allclose(ends[:, :, 1], known[["low", "high"]].astype(float) * 100)
    left_out = len(tried()) - known["attempts"].sum()
    title = "Share of valid outputs by length" + (
        f"; {left_out} without a length left out" if left_out else ""
    )
    assert ax.get_title(loc="left") == title
    if not isinstance(by, list):
        assert legend(ax) == ([] if by is None else ["run 0", "run 1", "run 2"])
    assert ax.get_xscale() == ("log" if known["shortest"].min() > 0 else "linear")


# --- any data there is -------------------------------------------------------------------------


@cache
def by_run() -> pd.DataFrame:
    return validity_by_length(tried(), DATASET, by="run")


@pytest.mark.parametrize(
    "draw, problem",
    [
        (lambda: attempts(tried().head(0)), "frame: no rows"),
        (lambda: attempts(tried().drop(columns="failure")), "no column 'failure'"),
        (lambda: attempts(tried(), by="model"), "by is 'model'"),
        (lambda: attempts(7), "frame: expected a DataFrame, found int"),
        (lambda: validity(tried()), "frame: no column 'measure'"),
        (lambda: validity(by_run().head(0)), "frame: no rows"),
        (
            lambda: validity(by_run().assign(bin=pd.NA)),
            "frame: none of 42 attempts has a length, nothing to draw",
        ),
        (
            lambda: validity(pd.concat([by_run(), by_run().assign(measure="pages")])),
            "frame: of 2 measures .gold_tokens, pages.; draw one",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_without_a_figure(
    draw: Callable[[], Axes], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        draw()
    assert plt.get_fignums() == []
