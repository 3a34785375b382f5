"""The text of a figure changes with what is drawn alone; grids of Axes; texts of labels."""

import base64
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.views import plots

matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib (extra `notebook`)")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 - after the check and the backend
from matplotlib.axes import Axes  # noqa: E402

from extractbench_nb.views.plots.figures import digest_of, new_figure  # noqa: E402

Change = Callable[[Axes, float], object]

#: What draws some numbers, each kind of artist once; a second value is drawn otherwise.
DRAWN: dict[str, Change] = {
    "line": lambda ax, v: ax.plot([0, 1], [3, v]),
    "colour": lambda ax, v: ax.plot([0, 1], [3, 3], color=(v / 9, 0, 0)),
    "bar": lambda ax, v: ax.barh([0, 1], [3, v]),
    "moved bar": lambda ax, v: ax.barh([0], [3], left=v),
    "points": lambda ax, v: ax.scatter([0, 1], [3, v]),
    "hollow point": lambda ax, v: ax.scatter([0], [3], facecolors="none" if v > 5 else "black"),
    "segments": lambda ax, v: ax.hlines([0, 1], 0, [3, v]),
    "band": lambda ax, v: ax.fill_between([0, 1], [3, 3], [v, v]),
    "heat": lambda ax, v: ax.pcolormesh([[0, 1], [3, v]]),
    "image": lambda ax, v: ax.imshow([[0, 1], [3, v]]),
    "wedge": lambda ax, v: ax.pie([3, v]),
    "text": lambda ax, v: ax.text(0, 0, f"{v} %"),
    "row names": lambda ax, v: ax.set_yticks([0, 1], ["a", f"b {v}"]),
    "title": lambda ax, v: ax.set_title(f"p = {v}", loc="left"),
    "legend": lambda ax, v: ax.plot([0], [0], label=f"{v}") and ax.legend(),
}


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    plt.close("all")


def text_of(draw: Change, value: float) -> str:
    figure = new_figure(4, 3)
    draw(figure.add_subplot(), value)
    return repr(figure)


@pytest.mark.parametrize("name", DRAWN)
def test_the_text_changes_with_the_data_and_stays_otherwise(name: str) -> None:
    first, again, other = (text_of(DRAWN[name], value) for value in (4, 4, 6))
    assert first == again
    assert first != other
    assert first.startswith("<DataFigure size 400x300 with 1 Axes, ")


@given(st.integers(1, 400), st.integers(1, 400), st.integers(-6, 6))
def test_the_last_digits_of_a_float_do_not_matter(top: int, bottom: int, power: int) -> None:
    value = top / bottom * 10.0**power
    near = [np.nextafter(value, np.inf), value, np.nextafter(value, 0), value * (1 + 1e-13)]
    figures = [plt.Figure() for _ in near]
    for figure, moved in zip(figures, near, strict=True):
        figure.add_subplot().plot([0.0, 1.0, 2.0], [0.0, moved, -moved])
    assert len({digest_of(figure) for figure in figures}) == 1


@pytest.mark.parametrize(
    "n, columns, shape", [(1, 3, (1, 1)), (3, 3, (1, 3)), (5, 3, (2, 3)), (4, 2, (2, 2))]
)
def test_a_grid_has_as_many_axes_as_were_asked_for(
    n: int, columns: int, shape: tuple[int, int]
) -> None:
    axes = plots.grid(n, columns=columns, height=2.0)
    (figure,) = {ax.figure for ax in axes}
    assert len(axes) == len(figure.axes) == n
    assert figure.get_size_inches().tolist() == [9.0, 2.0 * shape[0]]
    boxes = [ax.get_position() for ax in axes]
    rows = [boxes[at : at + shape[1]] for at in range(0, n, shape[1])]
    assert len(rows) == shape[0]
    for row in rows:  # each row is full
        assert (row[0].x0, row[-1].x1) == pytest.approx((boxes[0].x0, boxes[shape[1] - 1].x1))
        assert {round(box.y0, 6) for box in row} == {round(row[0].y0, 6)}
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    "options", [{"n": 0}, {"n": -1}, {"n": 2, "columns": 0}, {"n": 2, "height": 0.0}]
)
def test_a_grid_without_room_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expected"):
        plots.grid(**options)
    assert not plt.get_fignums()


def test_a_picture_has_two_pixels_for_each_point_of_the_screen() -> None:
    figure = plots.grid(1)[0].figure
    data, metadata = figure._repr_mimebundle_()
    png = base64.b64decode(data["image/png"])
    size = [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)]
    shown = metadata["image/png"]
    assert size == [2 * shown["width"], 2 * shown["height"]]
    assert data["text/plain"] == repr(figure)
