"""Detection by ONNX models that run for real, with planted answers; the tables of a PDF page."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

import extractbench_nb as xb
from extractbench_nb.tables.detection import _run, _session, _stamp
from tests.tables import detr

WHITE = Image.new("RGB", (400, 200), "white")
TABLE, COLUMN, ROW = 0, 1, 2
FOUND = [(TABLE, (10, 20, 390, 180)), (ROW, (10, 20, 390, 100)), (COLUMN, (10, 20, 200, 180))]


def boxes(objects: pd.DataFrame) -> list[list[float]]:
    return objects[["x0", "y0", "x1", "y1"]].round(3).to_numpy().tolist()


@pytest.mark.parametrize(
    "mask",
    [
        None,
        ([1, 64, 64], TensorProto.INT64),
        (["batch", None, None], TensorProto.BOOL),
        ([1, "height", "width"], TensorProto.FLOAT),
    ],
)
def test_planted_objects(tmp_path: Path, mask: Any) -> None:
    path = detr.save(tmp_path / "model.onnx", FOUND, 6, size=WHITE.size, mask=mask)
    found = xb.tables.detect(WHITE, path)
    assert found["label"].tolist() == ["table", "table row", "table column"]
    assert boxes(found) == [list(map(float, box)) for _, box in FOUND]
    score = np.exp(detr.CERTAIN) / (np.exp(detr.CERTAIN) + 6)
    assert found["score"].tolist() == pytest.approx([score] * 3)
    again = xb.tables.detect(WHITE, str(path), all_queries=True)
    assert again["label"].tolist() == ["table", "table row", "table column", "table"]
    assert again["score"].tolist() == pytest.approx([score] * 3 + [(1 - score) / 6])
    assert again.iloc[:3].equals(found)


def test_a_detection_model_has_two_labels(tmp_path: Path) -> None:
    page = [(1, (5, 5, 50, 90)), (0, (60, 5, 90, 90))]
    path = detr.save(tmp_path / "pages.onnx", page, 2, size=(100, 100))
    found = xb.tables.detect(np.zeros((100, 100, 3), dtype=np.uint8), path, "detection")
    assert found["label"].tolist() == ["table rotated", "table"]
    with pytest.raises(xb.InputError, match=r"has 3 logits per query; task 'structure' needs 7"):
        xb.tables.detect(WHITE, path)


@pytest.mark.parametrize(
    "longest, size, shape", [(1000, (400, 200), (500, 1000)), (800, (333, 999), (800, 267))]
)
def test_the_image_is_prepared_as_in_training(
    tmp_path: Path, longest: int, size: tuple[int, int], shape: tuple[int, int]
) -> None:
    session = _session(*_stamp(detr.save_echo(tmp_path / "echo.onnx")))
    means, sides = _run(session, Image.new("RGB", size, (255, 128, 0)), longest, "model")
    assert sides.tolist() == [[1, 3, *shape]]
    expected = [(1 - 0.485) / 0.229, (128 / 255 - 0.456) / 0.224, -0.406 / 0.225]
    assert means[0].tolist() == pytest.approx(expected, abs=2e-3)


def test_images_of_any_form(tmp_path: Path) -> None:
    seen = []

    def model(image: Image.Image) -> list[Any]:
        seen.append((image.mode, image.size))
        return [
            {"label": "table", "bbox": (0, 0, *image.size)},
            {"label": "table", "bbox": [0] * 4},
        ]

    WHITE.save(tmp_path / "page.png")
    grey = np.full((200, 400), 255, dtype=np.uint8)
    given = [WHITE, WHITE.convert("L"), grey, np.asarray(WHITE), tmp_path / "page.png"]
    for image in [*given, str(tmp_path / "page.png")]:
        found = xb.tables.detect(image, model)
        assert boxes(found) == [[0, 0, 400, 200]]  # the box without area is left out
    assert set(seen) == {("RGB", (400, 200))}


@pytest.mark.parametrize(
    "image, message",
    [
        (Path("nowhere.png"), "image 'nowhere.png' cannot be read: No such file"),
        (__file__, "image '.*test_models.py' cannot be read: cannot identify image file"),
        (np.zeros((4, 4)), r"image is an array of float64, shape \(4, 4\); expected bytes"),
        (np.zeros((0, 4), dtype=np.uint8), "image has no pixels"),
    ],
)
def test_images_that_cannot_be_read(image: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.tables.detect(image, lambda _: [])


def test_models_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "weights.onnx"
    with pytest.raises(xb.InputError, match=r"model '.*weights.onnx' cannot be read: No such file"):
        xb.tables.detect(WHITE, path)
    path.write_text("hello")
    with pytest.raises(xb.InputError, match=r"model '.*weights.onnx' is not an ONNX model: .*"):
        xb.tables.detect(WHITE, path)
    detr.save(path, FOUND, 6, outputs=("scores", "pred_boxes"))
    with pytest.raises(xb.InputError, match="outputs pred_boxes, scores; expected logits and"):
        xb.tables.detect(WHITE, path)
    # this one takes images of 64 x 64 pixels alone
    fixed = detr.value("pixel_values", [1, 3, 64, 64])
    names = ("logits", "pred_boxes")
    nodes = [detr.helper.make_node("Identity", ["pixel_values"], [name]) for name in names]
    detr.write(path, nodes, [fixed], names, {})
    with pytest.raises(xb.InputError, match=r"weights.onnx' cannot be run: .*pixel_values"):
        xb.tables.detect(WHITE, path)
    with pytest.raises(xb.InputError, match="task is 'structures'; did you mean 'structure'"):
        xb.tables.detect(WHITE, path, "structures")
    with pytest.raises(xb.InputError, match="model returned is NoneType; expected a DataFrame or"):
        xb.tables.detect(WHITE, lambda _: None)
    with pytest.raises(xb.InputError, match="model is int; expected the path of an ONNX file"):
        xb.tables.detect(WHITE, 5)  # type: ignore[arg-type]


# --- pages of PDFs ----------------------------------------------------------------------------

TEXTS = [["Item", "Sales in 2024", "Share"], ["Night buses", "12.5", "7 %"], ["Trams", "", "93 %"]]
LEFT, TOP, WIDTH, HEIGHT = 100, 200, 110, 24
#: Pixels per point where models look at a page.
SCALE = 1.25


def pdf_of(path: Path, texts: list[list[str]], *, ruled: bool) -> Path:
    """Write a page of 600 x 800 points with a table, a line above it, and rules or none."""
    canvas = Canvas(str(path), pagesize=(600, 800))
    canvas.setFont("Helvetica", 12)
    canvas.drawString(LEFT, 800 - TOP + 60, "Passengers by kind of service, see also page 3")
    for row, line in enumerate(texts):
        for column, text in enumerate(line):
            x, y = LEFT + WIDTH * column, 800 - TOP - HEIGHT * (row + 1)
            canvas.drawString(x + 5, y + 7, text)
            if ruled:
                canvas.rect(x, y, WIDTH, HEIGHT)
    canvas.save()
    return path


def planted(tmp_path: Path, rows: int, columns: int) -> tuple[Path, Path]:
    """Write a model that finds the table on that page, and one for its crop."""
    box = tuple(SCALE * x for x in (LEFT, TOP, LEFT + WIDTH * columns, TOP + HEIGHT * rows))
    page = detr.save(tmp_path / "page.onnx", [(TABLE, box)], 2, size=(750, 1000))
    # the crop has 30 pixels around the table
    width, height = (round(box[n + 2] - box[n]) for n in (0, 1))
    size = (width + 60, height + 60)
    down, across = SCALE * HEIGHT, SCALE * WIDTH
    parts: list[detr.Found] = [(TABLE, (30, 30, width + 30, height + 30))]
    parts += [(ROW, (30, 30 + down * n, width + 30, 30 + down * (n + 1))) for n in range(rows)]
    starts = [30 + across * n for n in range(columns)]
    parts += [(COLUMN, (start, 30, start + across, height + 30)) for start in starts]
    parts.append((3, (30, 30, width + 30, 30 + down)))
    return page, detr.save(tmp_path / "parts.onnx", parts, 6, size=size)


def test_a_page_becomes_a_table(tmp_path: Path) -> None:
    """Page, detection, crop, structure, resolution, table, grid table similarity."""
    path = pdf_of(tmp_path / "page.pdf", TEXTS, ruled=False)
    (table,) = xb.tables.page_tables(path, 1, planted(tmp_path, 3, 3))
    assert table.texts == TEXTS
    assert [cell.is_header for cell in table.cells] == [cell.rows == (0,) for cell in table.cells]
    assert table.to_frame().columns.tolist() == TEXTS[0]
    right = pd.DataFrame(TEXTS[1:], columns=TEXTS[0])
    assert xb.tables.grits(right, table).scores["fscore"].tolist() == [1, 1]
    for cell in table.cells:
        x0, y0, x1, y1 = cell.box or (0, 0, 0, 0)
        left, top = LEFT + WIDTH * cell.columns[0], TOP + HEIGHT * cell.rows[0]
        assert left <= x0 < x1 <= left + WIDTH, cell
        assert top <= y0 < y1 <= top + HEIGHT, cell


def test_a_rotated_table_is_turned_upright(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "turned.pdf"), pagesize=(600, 800))
    canvas.setFont("Helvetica", 12)
    canvas.translate(200, 100)
    canvas.rotate(90)
    # from here on x runs up the page, and y to its left
    for row, line in enumerate(TEXTS):
        for column, text in enumerate(line):
            canvas.drawString(WIDTH * column + 5, -HEIGHT * (row + 1) + 7, text)
    canvas.save()
    height, width = SCALE * HEIGHT * 3, SCALE * WIDTH * 3
    x0, y1 = SCALE * 200, SCALE * 700

    def page(_: Image.Image) -> list[dict[str, Any]]:
        return [{"label": "table rotated", "bbox": [x0, y1 - width, x0 + height, y1]}]

    def parts(image: Image.Image) -> list[dict[str, Any]]:
        assert image.size == pytest.approx((width + 60, height + 60), abs=1)
        lines = [("table", 30.0, 30.0, width + 30, height + 30)]
        for n in range(3):
            down, across = SCALE * HEIGHT * n + 30, SCALE * WIDTH * n + 30
            lines.append(("table row", 30.0, down, width + 30, down + SCALE * HEIGHT))
            lines.append(("table column", across, 30.0, across + SCALE * WIDTH, height + 30))
        return [{"label": label, "bbox": box} for label, *box in lines]

    (table,) = xb.tables.page_tables(tmp_path / "turned.pdf", 1, (page, parts))
    assert table.texts == TEXTS


def test_unusable_objects_of_a_function_are_left_out_unless_all_are() -> None:
    usable = {"label": "table", "bbox": [1, 1, 9, 9]}
    wrong = {"label": "table rotated", "bbox": [1, 1, 9, 9]}
    assert xb.tables.detect(WHITE, lambda _: [wrong, usable]).index.tolist() == [1]
    assert xb.tables.detect(WHITE, lambda _: []).empty
    with pytest.raises(xb.InputError, match="'structure': object 0: label is 'table rotated'"):
        xb.tables.detect(WHITE, lambda _: [wrong])


def test_ruled_tables_need_no_model(tmp_path: Path) -> None:
    path = pdf_of(tmp_path / "page.pdf", TEXTS, ruled=True)
    (table,) = xb.tables.page_tables(path)
    assert table.texts == TEXTS
    assert table.cells[4].box == pytest.approx(
        (LEFT + WIDTH, TOP + HEIGHT, LEFT + 2 * WIDTH, TOP + 2 * HEIGHT)
    )
    plain = pdf_of(tmp_path / "plain.pdf", TEXTS, ruled=False)
    assert xb.tables.page_tables(plain) == []


def test_ruled_cells_that_span(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "spans.pdf"), pagesize=(600, 800))
    for x, y, width, height, text in (
        (100, 600, 60, 40, "Item"),
        (160, 620, 120, 20, "Sales"),
        (160, 600, 60, 20, "2023"),
        (220, 600, 60, 20, "2024"),
        (100, 580, 180, 20, "Night buses"),
    ):
        canvas.rect(x, y, width, height)
        canvas.drawString(x + 3, y + 5, text)
    canvas.save()
    (table,) = xb.tables.page_tables(tmp_path / "spans.pdf")
    assert {cell.text: (cell.rows, cell.columns) for cell in table.cells} == {
        "Item": ((0, 1), (0,)),
        "Sales": ((0,), (1, 2)),
        "2023": ((1,), (1,)),
        "2024": ((1,), (2,)),
        "Night buses": ((2,), (0, 1, 2)),
    }


def test_pages_that_cannot_be_read(tmp_path: Path) -> None:
    path = pdf_of(tmp_path / "page.pdf", TEXTS, ruled=True)
    (tmp_path / "broken.pdf").write_text("no PDF")
    models = (lambda _: [], lambda _: [])
    for given in (None, models):
        for page in (0, 2, 1.5, "1"):
            with pytest.raises(xb.InputError, match=rf"page={page!r}; .* has pages 1 to 1"):
                xb.tables.page_tables(path, page, given)  # type: ignore[arg-type]
        with pytest.raises(xb.InputError, match=r"PDF '.*broken.pdf' cannot be read"):
            xb.tables.page_tables(tmp_path / "broken.pdf", 1, given)
    with pytest.raises(xb.InputError, match=r"models: 'm\.onnx'; expected two, for detection and"):
        xb.tables.page_tables(path, 1, "m.onnx")  # type: ignore[arg-type]
