"""Texts of figures neither overlap nor leave the figure, at small sizes and with six runs."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb import benchmark
from extractbench_nb.core import OUTCOMES
from extractbench_nb.views import plots
from extractbench_nb.views.plots.axes import distinct
from tests.attempts import outputs as outputs_of
from tests.plots.test_plots import confident

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib (extra `notebook`)")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 - after the check and the backend
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.text import Text  # noqa: E402

SIZES = [(3.3, 4.2), (6.5, 4.2)]
SHORT = [f"simulated {model}" for model in benchmark.counts()["model"].unique()]
LONG = [f"provider/model-5.2-preview-2026-0{n}-structured-output-run" for n in range(6)]


@cache
def fields(names: tuple[str, ...], failing: float = 0.3) -> pd.DataFrame:
    """Fields of runs, 400 each, of which a share fails."""
    kinds = [name for name in OUTCOMES if name not in ("correct", "both_absent")]
    rng = np.random.default_rng(7)
    frames = []
    for name in names:
        failed = rng.random(400) < failing
        outcome = np.where(failed, rng.choice(kinds, 400), "correct")
        places = [f"balance.deferred_tax_assets.part_{n % 12}.caption" for n in range(400)]
        frame = {"run": name, "document": "d", "field": places, "outcome": outcome}
        frames.append(pd.DataFrame({**frame, "passed": ~failed, "score": 1.0 - failed}))
    return pd.concat(frames, ignore_index=True).assign(
        gold_state="present",
        reason="",
        metric="string_exact",
        counted=True,
        domain=pd.NA,
        schema="10kq",
    )


@cache
def compared(names: tuple[str, ...]) -> xb.stats.Comparison:
    rng = np.random.default_rng(7)
    rows = [(run, f"d{n}", rng.random()) for run in names for n in range(8)]
    scores = pd.DataFrame(rows, columns=["run", "document", "pass_rate"])
    return xb.compare_runs(scores, measures="pass_rate", resamples=200)


def curves() -> pd.DataFrame:
    """Three metrics of which two coincide, and the ideal."""
    x = np.linspace(0, 1, 6)
    parts = {"one": x**2, "same as one": x**2 + 0.001, "other": x, "ideal": 2 * x / (1 + x)}
    frames = [pd.DataFrame({"x": x, "metric": k, "score": v}) for k, v in parts.items()]
    return pd.concat(frames).assign(mode="both", tables=5)


@cache
def outputs() -> pd.DataFrame:
    """Outputs of two runs, some of which fail."""
    failures = ["none", "none", "trailing_comma", "empty_response", "truncated_json"]
    made = [outputs_of(run, failures) for run in LONG[:2]]
    return xb.read_outputs(pd.concat(made), xb.load_dataset("sample"))


def by_length(by: str | None = None) -> pd.DataFrame:
    dataset = xb.load_dataset("sample")
    return xb.stats.validity_by_length(outputs(), dataset, bins=3, by=by)


SIX = tuple(SHORT)
DRAWN: dict[str, Callable[[Axes], Axes]] = {
    **{
        f"{figure} of {len(names)} {kind}": (lambda ax, d=draw, n=names: d(n, ax))
        for figure, draw in {
            "difficulty": lambda names, ax: plots.difficulty(fields(names), top=10, ax=ax),
            "outcomes": lambda names, ax: plots.outcomes(fields(names), ax=ax),
            "outcomes at 95%": lambda names, ax: plots.outcomes(fields(names, 0.05), ax=ax),
        }.items()
        for kind, names in {
            "runs": SIX,
            "long names": tuple(LONG),
            "of the six": SIX[:2],
            "run": SIX[:1],
        }.items()
    },
    "differences of six": lambda ax: plots.differences(compared(SIX), ax=ax),
    "differences of long names": lambda ax: plots.differences(compared(tuple(LONG)), ax=ax),
    "differences of two": lambda ax: plots.differences(compared(SIX[:2]), ax=ax),
    "losses": lambda ax: plots.losses(
        xb.construction.evaluate_tables("sample", progress=False).losses(), ax=ax
    ),
    "keep_curves": lambda ax: plots.keep_curves(curves(), ax=ax),
    "documents": lambda ax: plots.documents(benchmark.complexity(), ax=ax),
    "tokens": lambda ax: plots.tokens(benchmark.table("figure2"), ax=ax),
    "results": lambda ax: plots.results(benchmark.counts(), ax=ax),
    "attempts": lambda ax: plots.attempts(outputs(), ax=ax),
    "attempts of runs": lambda ax: plots.attempts(outputs(), by=["run", "domain"], ax=ax),
    "validity": lambda ax: plots.validity(by_length(), ax=ax),
    "reliability": lambda ax: plots.reliability(xb.stats.calibration(*confident()), ax=ax),
    "validity of runs": lambda ax: plots.validity(by_length("run"), ax=ax),
}


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


def draw(name: str, size: tuple[float, float]) -> Axes:
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    DRAWN[name](ax)
    figure.canvas.draw()
    return ax


def shown_texts(ax: Axes) -> Iterator[Text]:
    """All texts but labels of ticks that are outside of the view."""
    hidden = set()
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        for ticks in (axis.get_major_ticks(), axis.get_minor_ticks()):
            outside = (t for t in ticks if not low <= t.get_loc() <= high)
            hidden |= {id(label) for t in outside for label in (t.label1, t.label2)}
    for text in ax.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden:
            yield text


@pytest.mark.parametrize("size", SIZES, ids=["3.3 in", "6.5 in"])
@pytest.mark.parametrize("name", DRAWN)
def test_texts_do_not_overlap_and_stay_inside(name: str, size: tuple[float, float]) -> None:
    ax = draw(name, size)
    # of an annotation the text alone, without its line
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in shown_texts(ax)]
    figure = ax.figure.bbox.padded(2.0)
    outside = [text for text, box in boxes if not figure.containsx(box.x0 + 1)]
    outside += [text for text, box in boxes if not figure.containsx(box.x1 - 1)]
    assert outside == []
    overlaps = [
        (one, other)
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 3.5
    ]
    assert overlaps == []


def test_failures_of_runs_that_are_nearly_right_fill_the_axis() -> None:
    ax = draw("outcomes at 95% of 6 runs", (6.5, 4.2))
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert max(ends) > 0.6 * ax.get_xlim()[1]
    failed = fields(SIX, 0.05).groupby("run")["passed"].agg(lambda passed: (~passed).sum())
    written = {text.get_text().split(":")[0] for text in ax.texts}
    assert {f"{n} of 400" for n in failed} <= written


def test_failures_beside_much_longer_bars_are_counted_in_words() -> None:
    few, many = fields(SIX[:1], 0.01), fields(SIX[1:2], 0.8)
    _, ax = plt.subplots(figsize=(7.5, 2))
    plots.outcomes(pd.concat([few, many]), ax=ax)
    counts = few["outcome"].value_counts()
    text = next(text.get_text() for text in ax.texts if " of 400: " in text.get_text())
    for name in set(counts.index) - {"correct"}:
        assert f"{counts[name]} {name.replace('_', ' ')}" in text


def test_curves_that_coincide_share_a_line_and_are_named() -> None:
    ax = draw("keep_curves", (6.5, 4.2))
    assert len(ax.lines) == 3  # with the ideal
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["one = same as one", "other"]


@pytest.mark.parametrize("longest", [8, 12, 20, 40])
@pytest.mark.parametrize("names", [SHORT, LONG, ["a" * 50 + "1", "a" * 50 + "2"], ["x", "x"]])
def test_shortened_names_stay_distinct(names: list[str], longest: int) -> None:
    labels = distinct(names, longest)
    assert len(set(labels)) == len(set(names))
    assert max(map(len, labels)) <= longest
