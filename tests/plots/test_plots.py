"""Every figure: drawn where it was told, with what the data say, on any data there is."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb import benchmark
from extractbench_nb.errors import InputError
from extractbench_nb.views import plots
from extractbench_nb.views.plots.axes import BLUE
from notebooks.made_up_tables import made_up_tables

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib (extra `notebook`)")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 - after the check and the backend
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.text import Text  # noqa: E402

Draw = Callable[[Axes | None], Axes]

COUNTS, STRUCTURED = benchmark.counts(), benchmark.counts("structured")

#: Functions that draw; `grid` only makes room.
FIGURES = [name for name in plots.__all__ if name != "grid"]


#: Two documents under one schema, to be corrupted.
NAMES = {"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}}
PAIR = [(NAMES, {"names": [f"{name} street {n}" for n in range(12)]}) for name in ("oak", "elm")]


@pytest.fixture(scope="module")
def runs() -> xb.runs.Evaluations:
    return xb.evaluate_runs(xb.load_dataset("sample"), progress=False)


@pytest.fixture(scope="module")
def drawn(runs: xb.runs.Evaluations) -> dict[str, Draw]:
    compared = xb.compare_runs(runs, resamples=200)
    figure_2 = benchmark.table("figure2")
    corrupted = xb.sensitivity(["paper", "strict"], PAIR, ["drop_items", "typo"], [0, 0.5, 1])
    documents = benchmark.complexity()
    tried = xb.read_outputs(xb.load_dataset("sample").runs, xb.load_dataset("sample"))
    lengths = xb.stats.validity_by_length(tried, xb.load_dataset("sample"))
    fields, stated = confident()
    kept = xb.tables.keep_curves(
        made_up_tables(3), metrics=["grits_con", "bleu"], rates=[0, 0.5, 1]
    )
    return {
        "attempts": lambda ax: plots.attempts(tried, ax=ax),
        "differences": lambda ax: plots.differences(compared, ax=ax),
        "difficulty": lambda ax: plots.difficulty(runs, ax=ax),
        "documents": lambda ax: plots.documents(documents, ax=ax),
        "keep_curves": lambda ax: plots.keep_curves(kept, ax=ax),
        "losses": lambda ax: plots.losses(built().losses(), ax=ax),
        "outcomes": lambda ax: plots.outcomes(runs, ax=ax),
        "reliability": lambda ax: plots.reliability(xb.stats.calibration(fields, stated), ax=ax),
        "results": lambda ax: plots.results(COUNTS, ax=ax),
        "sensitivity": lambda ax: plots.sensitivity(corrupted, ax=ax),
        "tokens": lambda ax: plots.tokens(figure_2, ax=ax),
        "validity": lambda ax: plots.validity(lengths, ax=ax),
    }


@cache
def confident() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values of 60 documents, and their confidences."""
    rng = np.random.default_rng(0)
    ids = {"document": np.repeat([f"d{i}" for i in range(60)], 5)}
    ids["path"] = [f"$.a{i}" for i in range(300)]
    stated = rng.beta(4, 2, 300)
    columns = {"predicted_path": None, "predicted_state": "present", "counted": True}
    columns |= {"field": rng.choice(["total", "a_rather_long_field.name"], 300)}
    fields = pd.DataFrame({**ids, **columns, "passed": rng.random(300) < np.sqrt(stated)})
    return fields, pd.DataFrame({**ids, "confidence": stated})


def test_the_reliability_diagram_shows_its_bins(ax: Axes) -> None:
    found = xb.stats.calibration(*confident())
    plots.reliability(found, ax=ax)
    bins = found[found["bin"].notna()]
    points = ax.lines[1].get_xydata()
    assert points == pytest.approx(100 * bins[["confidence", "accuracy"]].to_numpy())


@cache
def built() -> xb.construction.TableEvaluations:
    """Three answers of each of three runs."""
    return xb.construction.evaluate_tables("sample", progress=False)


def test_losses_add_up_to_all_cells(ax: Axes) -> None:
    frame = built().losses().set_axis([0] * len(built().losses()))  # as after pandas.concat
    plots.losses(frame, by=["run"], ax=ax)
    assert sorted(ticks(ax)) == ["osprey-7b", "quill-large", "quill-mini"]
    width = np.zeros(3)
    for bars in ax.containers:
        width += [bar.get_width() for bar in bars]
    assert width.tolist() == pytest.approx([100] * 3)
    recall = built().summary.groupby("run", sort=False)[["score_sum", "gold_cells"]].sum()
    right = [bar.get_width() for bar in ax.containers[0]]
    assert right == pytest.approx(100 * recall["score_sum"] / recall["gold_cells"])


@pytest.fixture
def ax() -> Iterator[Axes]:
    figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
    yield axes
    plt.close(figure)


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def ticks(ax: Axes, which: str = "y") -> list[str]:
    labels = ax.get_yticklabels() if which == "y" else ax.get_xticklabels()
    return [label.get_text() for label in labels]


def ticks_in_view(ax: Axes) -> Iterator[Text]:
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high:
                yield tick.label1


def pixels(ax: Axes) -> np.ndarray:
    assert isinstance(ax.figure, Figure)
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba())  # type: ignore[attr-defined]


def contents(ax: Axes) -> tuple[list[object], ...]:
    """What is drawn, and where."""
    return (
        texts(ax),
        [line.get_xydata().tolist() for line in ax.lines],
        [np.asarray(drawn.get_offsets()).tolist() for drawn in ax.collections],
        [bar.get_bbox().bounds for bar in ax.patches],
    )


def test_every_public_figure_is_drawn_here(drawn: dict[str, Draw]) -> None:
    assert sorted(drawn) == FIGURES


@pytest.mark.parametrize("name", FIGURES)
def test_draws_on_the_axes_it_was_given(name: str, drawn: dict[str, Draw], ax: Axes) -> None:
    before = plt.get_fignums()
    assert drawn[name](ax) is ax
    assert plt.get_fignums() == before
    assert ax.has_data() or ax.texts
    assert ax.get_xlabel()
    assert ax.get_ylabel() or any(ticks(ax))
    assert ax.get_title(loc="left") or ax.get_ylabel()


@pytest.mark.parametrize("name", FIGURES)
def test_makes_a_figure_of_notebook_width_with_all_labels_inside(
    name: str, drawn: dict[str, Draw]
) -> None:
    settings = matplotlib.rcParams.copy()
    made = drawn[name](None)
    assert matplotlib.rcParams == settings
    assert isinstance(made.figure, Figure)
    assert made.figure.get_figwidth() == pytest.approx(7.5)
    assert plt.get_fignums() == [made.figure.number]
    made.figure.canvas.draw()
    frame = made.figure.bbox.padded(1.0)
    for text in [*made.texts, *ticks_in_view(made)]:
        box = text.get_window_extent()
        assert frame.containsx(box.x0), text.get_text()
        assert frame.containsx(box.x1), text.get_text()
    assert contents(drawn[name](None)) == contents(made)


# --- what the data say -----------------------------------------------------------------------


def test_tokens_puts_its_points_where_the_numbers_are(ax: Axes) -> None:
    table = benchmark.table("figure2")
    plots.tokens(table, ax=ax)
    points = [np.asarray(c.get_offsets())[:, 0] for c in ax.collections[1:]]
    np.testing.assert_allclose(points[0], table["input_tokens"].astype(float))
    np.testing.assert_allclose(points[1], table["output_tokens"].astype(float))
    assert ticks(ax) == table.index.tolist()
    (ratios,) = ax.child_axes
    assert ticks(ratios) == [f"{ratio:.2f}" for ratio in table["ratio"]]


def test_tokens_draws_the_complexity_of_a_dataset_like_the_table() -> None:
    frames = benchmark.table("figure2"), benchmark.complexity(by="domain")
    points = [plots.tokens(frame).collections[1].get_offsets() for frame in frames]
    assert sorted(points[0][:, 0]) == pytest.approx(sorted(points[1][:, 0]))


def test_documents_draws_each_document_that_has_both(ax: Axes) -> None:
    frame = benchmark.complexity()
    plots.documents(frame, ax=ax)
    drawn = sum(len(c.get_offsets()) for c in ax.collections)
    assert drawn == (frame["pdf_tokens"].gt(0) & frame["gold_tokens"].gt(0)).sum()


@pytest.mark.parametrize(
    "draw, number, first",
    [
        (lambda ax: plots.results(COUNTS, ax=ax), 30, ["100%\n5/5"]),
        (lambda ax: plots.results(COUNTS, outcome="pass_rate", ax=ax), 30, ["18%\n11/60"]),
        (lambda ax: plots.results(STRUCTURED.head(5), ax=ax), 5, ["–", "–", "–", "0%\n0/7"]),
    ],
)
def test_every_number_is_written(draw: Draw, number: int, first: list[str], ax: Axes) -> None:
    draw(ax)
    assert len(texts(ax)) == number
    assert texts(ax)[: len(first)] == first


def test_outcomes_are_the_share_of_fields_that_fail(runs: xb.runs.Evaluations, ax: Axes) -> None:
    plots.outcomes(runs, ax=ax)
    table = xb.breakdown(runs, by="run").set_index("run")
    failed = table["rows"] - table["correct"] - table["both_absent"]
    ends = dict.fromkeys(ticks(ax), 0.0)
    for bar in ax.patches:
        ends[ticks(ax)[round(bar.get_y() + bar.get_height() / 2)]] += bar.get_width()
    assert ends == pytest.approx((100 * failed / table["rows"]).to_dict())
    written = [f"{n} of {of:,}" for n, of in zip(failed, table["rows"], strict=True)]
    assert set(written) <= {text.split(":")[0] for text in texts(ax)}


def test_difficulty_writes_passed_of_asked(runs: xb.runs.Evaluations, ax: Axes) -> None:
    plots.difficulty(runs, top=3, ax=ax)
    hardest = xb.difficulty(runs).head(3)
    assert ticks(ax) == hardest["field"].tolist()
    cells = [text.split("/") for text in texts(ax)]
    passed = np.array([int(p) for p, _ in cells]).reshape(3, -1).sum(axis=1)
    rows = np.array([int(n) for _, n in cells]).reshape(3, -1).sum(axis=1)
    assert passed.tolist() == hardest["passed"].tolist()
    assert rows.tolist() == hardest["rows"].tolist()


def test_differences_are_turned_and_sorted(runs: xb.runs.Evaluations, ax: Axes) -> None:
    compared = xb.compare_runs(runs, measures="pass_rate", resamples=200)
    plots.differences(compared, ax=ax)
    points = np.asarray(ax.collections[-1].get_offsets())[:, 0]
    expected = compared.differences["b_minus_a"].abs().sort_values(ascending=False)
    np.testing.assert_allclose(points, expected.astype(float))
    fills = [to_hex(colour) for colour in ax.collections[-1].get_facecolors()]
    assert fills.count(BLUE) == compared.differences["significant"].sum()


# --- any data there is -----------------------------------------------------------------------

EMPTY = pd.DataFrame()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.tokens(EMPTY),
        lambda: plots.tokens(benchmark.table(6)),
        lambda: plots.documents(EMPTY),
        lambda: plots.results(COUNTS.head(0)),
        lambda: plots.results(COUNTS, outcome="accuracy"),
        lambda: plots.losses(built().losses(), side="both"),
        lambda: plots.losses(built().losses().head(0)),
        lambda: plots.losses(EMPTY),
        lambda: plots.outcomes({}),
        lambda: plots.difficulty([]),
        lambda: plots.difficulty(EMPTY),
    ],
)
def test_what_cannot_be_drawn_is_refused_without_a_figure(draw: Callable[[], Axes]) -> None:
    with pytest.raises(InputError):
        draw()
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.tokens(benchmark.table("figure2").head(1)),
        lambda: plots.tokens(benchmark.table("figure2") * np.nan),
        lambda: plots.documents(benchmark.complexity().assign(pdf_tokens=pd.NA)),
        lambda: plots.documents(benchmark.complexity().head(1)),
        lambda: plots.results(COUNTS.head(1)),
        lambda: plots.results(COUNTS.assign(documents=0)),
    ],
)
def test_little_data_makes_a_picture(draw: Callable[[], Axes]) -> None:
    assert pixels(draw()).min() < 255


def test_names_from_models_are_shown_as_they_are(ax: Axes) -> None:
    name = "$\\frac{ <b>& _^ $$ \ud800\n" + "long " * 40
    models = pd.array([name, "b"], dtype=pd.StringDtype("python"))
    counts = COUNTS.head(2).assign(model=models, domain=["x", "$y$"])
    plots.results(counts, ax=ax)
    pixels(ax)
    assert all(len(label) < 60 for label in ticks(ax))


def test_one_evaluation_has_outcomes_and_hard_fields() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    ev = xb.evaluate(schema, {"a": 1, "b": "x"}, {"a": 2, "b": "x"})
    assert ticks(plots.outcomes(ev, by="metric")) == ["string_semantic", "integer_exact"]
    assert ticks(plots.difficulty(ev)) == ["a", "b"]


def test_a_pair_of_one_document_has_a_point_and_no_interval() -> None:
    scores = pd.DataFrame({"run": ["x", "y"], "document": ["d", "d"], "pass_rate": [0.5, 0.75]})
    drawn = plots.differences(xb.compare_runs(scores, measures="pass_rate"))
    assert pixels(drawn).min() < 255
    assert ticks(drawn) == ["y − x"]
