"""Pages as pictures: size, marks, turned and cropped pages."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray

from extractbench_nb import load_dataset
from extractbench_nb.errors import InputError
from extractbench_nb.pdf.evidence import find_evidence
from extractbench_nb.pdf.pages import PageImage, render_page

Write = Callable[..., Path]
SAMPLE = load_dataset()
DOCUMENT = "night bus demand"
CORNERS = ["x0", "y0", "x1", "y1"]


def pixels_of(image: PageImage) -> NDArray[np.uint8]:
    """What the PNG shows, by another reader."""
    shown = imread(io.BytesIO(image.png), format="png")
    return (np.asarray(shown)[:, :, :3] * 255).round().astype(np.uint8)


def places(path: Path, value: str) -> NDArray[np.float64]:
    return find_evidence(None, path, value)[CORNERS].to_numpy()


def is_marked(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    red, blue = pixels[:, :, 0].astype(int), pixels[:, :, 2].astype(int)
    return red - blue > 60


def test_the_picture_is_the_page_that_pdfium_draws() -> None:
    image = render_page(SAMPLE, DOCUMENT, 1, scale=2)
    pdf = pypdfium2.PdfDocument(SAMPLE.pdf_path(DOCUMENT))
    width, height = pdf[0].get_size()
    drawn = pdf[0].render(scale=2, rev_byteorder=True).to_numpy()[:, :, :3].copy()
    pdf.close()
    assert np.array_equal(pixels_of(image), drawn)
    assert (image.height, image.width) == drawn.shape[:2]
    assert image.points == (width, height)
    assert (image.page, image.pages, image.boxes) == (1, 1, ())
    assert image._repr_png_() == image.png
    assert "png" not in repr(image)


CROP = (50, 300, 500, 780)


@pytest.mark.parametrize(
    "rotation, crop", [(0, None), (90, None), (90, CROP), (180, CROP), (270, CROP)]
)
def test_the_mark_is_on_the_words(
    write_pdf: Write, rotation: int, crop: tuple[float, ...] | None
) -> None:
    page = [(100, 700, "Northwind"), (300, 400, "elsewhere")]
    path = write_pdf(page, rotation=rotation, crop=crop)
    image = render_page(None, path, 1, scale=2, boxes=places(path, "Northwind"))
    other = pixels_of(render_page(None, path, 1, scale=2, boxes=places(path, "elsewhere")))
    shown, words = pixels_of(image), other.min(axis=2) < 128
    marked = is_marked(shown)
    ((left, top, right, bottom),) = image.boxes

    inside, near = np.zeros_like(words), np.zeros_like(words)
    inside[int(top) : int(bottom), int(left) : int(right)] = True
    near[int(top) - 3 : int(bottom) + 3, int(left) - 3 : int(right) + 3] = True
    assert marked[inside & ~words].mean() > 0.7, "but for the soft edges of letters"
    assert not marked[~near].any()
    assert words[inside].mean() > 0.1, "the words stand in the box"
    assert not (is_marked(other) & inside).any()
    assert (shown[inside & words].max(axis=1) < 200).all(), "the words can still be read"
    size = (450, 480) if crop else (600, 800)
    assert image.points == (size if rotation % 180 == 0 else size[::-1])


def test_boxes_can_be_had_without_marks(write_pdf: Write) -> None:
    path = write_pdf([(100, 700, "Northwind")])
    boxes = places(path, "Northwind")
    plain = render_page(None, path, 1, boxes=boxes, mark=False)
    assert plain.png == render_page(None, path, 1).png
    assert plain.boxes == render_page(None, path, 1, boxes=boxes).boxes
    assert len(plain.boxes) == 1


@pytest.mark.parametrize(
    "page, options, message",
    [
        (0, {}, "page=0; .* has pages 1 to 1"),
        (2, {}, "page=2; .* has pages 1 to 1"),
        ("1", {}, "page='1'.*; expected a whole number"),
        (np.int64(0), {}, "page=.*0.*; .* has pages 1 to 1"),
        (2**31, {}, "page=2147483648; .* has pages 1 to 1"),
        (float("nan"), {}, "page=nan.*; expected a whole number"),
        (1, {"scale": 0}, "scale=0; expected a number above 0 and up to 10"),
        (1, {"scale": float("nan")}, "scale=nan; expected a number above 0"),
        (1, {"scale": 9.9}, "the picture would have [0-9,]+ pixels; expected 40,000,000 at most"),
        (1, {"boxes": [(1, 2, 3)]}, "boxes of four finite numbers x0, y0, x1, y1"),
        (1, {"boxes": [(1, 2, 3, float("inf"))]}, "boxes of four finite numbers"),
    ],
)
def test_errors_say_what_would_be_right(page: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        render_page(SAMPLE, DOCUMENT, page, **options)


def test_boxes_may_be_what_was_found() -> None:
    ds = load_dataset()
    found = find_evidence(ds, "brindlemoor_10q_q2_fy2031", "in thousands")
    assert len(set(found["page"])) > 1
    page = int(found["page"].iloc[-1])
    drawn = render_page(ds, "brindlemoor_10q_q2_fy2031", page, boxes=found)
    assert len(drawn.boxes) == (found["page"] == page).sum()
