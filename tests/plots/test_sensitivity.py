"""The figure of a score under corruption says what the frame says."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.simulation.document_corruptions import CORRUPTIONS
from extractbench_nb.views import plots

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib (extra `notebook`)")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 - after the check and the backend
from matplotlib.axes import Axes  # noqa: E402

RATES = [0.0, 0.5, 1.0]
TEXTS = {"type": "array", "items": {"type": "string"}}
DOCUMENTS = [(TEXTS, [f"{word} street {n}" for n in range(20)]) for word in ("oak", "elm", "ash")]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return xb.sensitivity(["paper", "strict"], DOCUMENTS, ["drop_items", "typo"], RATES)


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def curves(ax: Axes) -> list[np.ndarray]:
    return [np.asarray(line.get_xydata()) for line in ax.lines if line.get_marker() == "o"]


def styles(ax: Axes) -> list[tuple[str, str]]:
    drawn = [line for line in ax.lines if line.get_marker() == "o"]
    return [(str(line.get_color()), str(line.get_linestyle())) for line in drawn]


def test_a_line_a_corruption_and_profile(frame: pd.DataFrame) -> None:
    ax = plots.sensitivity(frame)
    assert names(ax) == [
        "drop_items · paper",
        "typo · paper",
        "drop_items · strict",
        "typo · strict",
        "1 − rate",
    ]
    for start, points in zip(range(0, 12, 3), curves(ax), strict=True):
        rows = frame.iloc[start : start + 3]
        np.testing.assert_allclose(points, rows[["rate", "score"]].astype(float))
    assert len(ax.collections) == 4  # bands of the intervals
    one, two, three, four = styles(ax)
    assert one[0] == three[0] != two[0] == four[0]
    assert one[1] == two[1] != three[1] == four[1]
    assert ax.get_ylabel() == "pass rate"


def test_what_all_lines_share_is_in_the_title(frame: pd.DataFrame) -> None:
    typos = plots.sensitivity(frame[frame["corruption"].eq("typo")])
    assert names(typos) == ["paper", "strict", "1 − rate"]
    assert typos.get_title(loc="left") == "Score under corruption: typo"
    single = plots.sensitivity(frame[frame["corruption"].eq("typo") & frame["profile"].eq("paper")])
    assert names(single) == ["typo", "1 − rate"]
    assert single.get_title(loc="left") == "Score under corruption: typo, paper"


def test_plain_values_have_no_reference(frame: pd.DataFrame) -> None:
    values = xb.sensitivity("string_fuzzy", ["Oak Street", "Elm Road"], ["typo", "unit"], [0, 1])
    ax = plots.sensitivity(values)
    assert names(ax) == ["typo"]  # no unit in them, so no line
    assert len(ax.lines) == 1
    assert ax.get_xlabel() == "rate: share of each value that is changed"
    assert "places" in plots.sensitivity(frame).get_xlabel()


def test_many_lines_differ_in_colour_or_dashes() -> None:
    frame = xb.sensitivity("paper", DOCUMENTS, "typo", RATES)
    ax = plots.sensitivity(pd.concat([frame.assign(corruption=name) for name in CORRUPTIONS]))
    assert len(set(styles(ax))) == len(CORRUPTIONS) == len(names(ax)) - 1
    assert not ax.collections  # so many bands would hide each other


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda f: f.drop(columns="score"), "no column 'score'"),
        (lambda f: f.head(0), "no rows"),
        (lambda f: f.assign(score=pd.NA), "no row has a score"),
        (lambda f: "frame", "expected a DataFrame"),
        (
            lambda f: pd.concat([f.assign(corruption=f"c{n}") for n in range(17)]),
            "34 lines; choose rows of at most 32",
        ),
    ],
)
def test_what_cannot_be_drawn(frame: pd.DataFrame, change: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plots.sensitivity(change(frame))  # type: ignore[operator]
    assert not plt.get_fignums()
