"""The view of detected objects without a page: threshold, boxes, what became of an object, twin."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets
from PIL import Image

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.tables.resolution import ResolvedTable, from_objects
from tests.widgets.hostile import HOSTILE, ONE_OF_EACH, Twin
from tests.widgets.objects.objects import (
    DOUBLED,
    DOUBTFUL,
    FATES,
    OBJECTS,
    SPANNING,
    TRUE_CSV,
    WORDS,
    item,
)

WHITE = Image.new("RGB", (300, 80), "white")


@pytest.fixture(scope="module")
def found() -> ResolvedTable:
    return from_objects(OBJECTS, WORDS)


@pytest.fixture
def view(found: ResolvedTable) -> Any:
    return xb.show(found)


def text(node: Any) -> str:
    """All text of a tree."""
    return node if isinstance(node, str) else "".join(map(text, node.children))


def nodes(node: Any, tag: str) -> list[Any]:
    """The elements of a kind in a tree, in order."""
    if isinstance(node, str):
        return []
    inside = [found for child in node.children for found in nodes(child, tag)]
    return [*([node] if node.tag == tag else []), *inside]


def boxes(view: Any) -> list[Any]:
    """The elements of the boxes that are drawn."""
    return [node for node in nodes(view.draw()["sheet"], "div") if "item" in node.attributes]


def numbers(view: Any) -> list[int]:
    return [node.attributes["send"] for node in boxes(view)]


def told(view: Any, part: str) -> str:
    return text(view.draw()[part])


def marked(view: Any) -> list[str]:
    """The texts of the cells that are marked in the table."""
    cells = nodes(view.draw()["table"], "td")
    return [text(cell) for cell in cells if "xb-on" in cell.attributes.get("class", "")]


# --- threshold ---------------------------------------------------------------------------------


def test_each_box_tells_what_became_of_its_object(view: Any) -> None:
    view.threshold = 0.5
    kept = {node.attributes["send"] for node in boxes(view)}
    assert kept == set(range(12)) - {DOUBTFUL}
    labels = {node.attributes["send"]: node.attributes["aria-label"] for node in boxes(view)}
    assert [labels[n].split(", ")[-1] for n in sorted(kept)] == [FATES[n] for n in sorted(kept)]
    assert labels[SPANNING] == f"object {SPANNING}: table spanning cell, score 0.60, aligned"


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.58, 0.95, 1.0])
def test_another_threshold_resolves_anew(threshold: float) -> None:
    first = from_objects(OBJECTS, WORDS)
    view: Any = xb.show(first)
    view.perform("set:threshold", threshold)
    again = from_objects(OBJECTS, WORDS, threshold=threshold)
    assert view.result.threshold == threshold
    assert view.result.table.cells == again.table.cells
    assert view.result.changes.equals(again.changes)
    assert first.threshold == 0.5
    view.threshold = 0.5
    assert view.result is first


def test_resolving_anew_changes_the_page(view: Any) -> None:
    assert "12 objects: 8 kept, 2 aligned, 2 dropped" in told(view, "said")
    assert DOUBTFUL not in numbers(view)
    view.threshold = 0.3
    assert "12 objects: 8 kept, 3 aligned, 1 dropped" in told(view, "said")
    assert DOUBTFUL in numbers(view)
    spans = [cell.attributes.get("colspan") for cell in nodes(view.draw()["table"], "td")]
    assert spans.count(2) == 2
    view.threshold = 1
    assert "No table" in told(view, "table")
    assert "No boxes" in told(view, "sheet")


# --- boxes -------------------------------------------------------------------------------------


def test_boxes_are_at_their_places(found: ResolvedTable) -> None:
    view: Any = xb.show(found, image=WHITE)
    box = boxes(view)[numbers(view).index(SPANNING)]
    place = "left:35.000%;top:26.250%;width:63.333%;height:22.500%"
    assert box.attributes["style"].startswith(place)
    assert "table row (5)" in text(view.draw()["page"])


# --- what is chosen ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number, said, cells",
    [
        (0, "No step changed it.", [f"{n // 3}{n % 3}" for n in range(3)] + ["10", "11 12"]),
        (2, "resolved to100, 0, 200, 80", ["01", "11 12", "21", "31"]),
        (6, "coversrow 2; columns 0 to 2", ["20", "21", "22"]),
        (8, "header: aligned, to whole rows, from the first one (row 0)", ["00", "01", "02"]),
        (SPANNING, "detected at105, 21, 295, 39resolved to100, 20, 300, 40", ["11 12"]),
        (DOUBLED, "rows: dropped, it holds no word", []),
        (DOUBTFUL, "threshold: dropped, its score is below 0.5", []),
    ],
)
def test_the_chosen_object_tells_its_fate(
    view: Any, number: int, said: str, cells: list[str]
) -> None:
    view.perform("set:selected", number)
    assert view.selected == number
    assert said in told(view, "object")
    assert marked(view)[: len(cells)] == cells
    assert bool(marked(view)) == bool(cells)


def test_clicks_at_a_place_go_from_the_smallest_box_to_the_largest(view: Any) -> None:
    left, top, width, height = view._extent
    place = [(150 - left) / width, (30 - top) / height]
    chosen = []
    for _ in range(6):
        view.perform("point", place)
        chosen.append(view.selected)
    assert chosen == [SPANNING, 5, DOUBLED, 2, 0, SPANNING]
    view.perform("point", [0.001, 0.001])  # in the margin
    assert view.selected is None


def test_a_chosen_object_is_drawn(view: Any) -> None:
    view.selected = 5
    view.perform("clear")
    assert view.selected is None
    assert "Choose a box" in told(view, "object")


@pytest.mark.parametrize("selected", [None, SPANNING, DOUBTFUL])
@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_the_code_gives_what_is_shown(
    found: ResolvedTable, selected: Any, threshold: float
) -> None:
    view: Any = xb.show(found, name="tables[0]")
    view.selected, view.threshold = selected, threshold
    changes = eval(view.code, {"tables": [found]})  # noqa: S307 - our own code
    expected = view.result.changes
    if selected is not None:
        expected = expected[expected["object"] == selected]
    assert changes.equals(expected)


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trait, value, message",
    [
        ("threshold", 1.5, "threshold is 1.5; expected a number from 0 to 1"),
        ("selected", 12, "there is no object 12"),
    ],
)
def test_values_that_cannot_be(view: Any, trait: str, value: Any, message: str) -> None:
    before = getattr(view, trait)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(view, trait, value)
    assert getattr(view, trait) == before


@pytest.mark.parametrize(
    "image, message",
    [
        (
            Image.new("RGB", (200, 80)),
            r"image has 200 x 80 pixels, but object 3 \('table column'\)",
        ),
        (np.zeros((30, 300, 3), np.uint8), "image has 300 x 30 pixels, but object 0"),
        (np.zeros((80, 300)), "image is ndarray; expected a path"),
        (Path(__file__), "cannot be read: cannot identify image file"),
    ],
)
def test_images_that_cannot_be(found: ResolvedTable, image: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        xb.show(found, image=image)


def test_a_dropped_object_may_lie_outside(found: ResolvedTable) -> None:
    far = item("row", 900, 0, 990, 20, score=0.1)
    assert xb.show(from_objects([*OBJECTS, far], WORDS), image=WHITE) is not None


# --- pictures ----------------------------------------------------------------------------------


def picture(view: Any) -> Image.Image:
    """The picture that a view sends."""
    (drawn,) = nodes(view.draw()["picture"], "img")
    kind, content = re.fullmatch(
        r"data:image/(png|jpeg);base64,(.*)", drawn.attributes["src"]
    ).groups()
    read = Image.open(BytesIO(b64decode(content)))
    assert read.format == kind.upper()
    return read


def test_the_picture_is_sent_as_it_is(found: ResolvedTable, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (80, 300, 3), dtype=np.uint8)
    assert picture(xb.show(found, image=noise)).format == "JPEG"
    drawing = WHITE.copy()
    drawing.putpixel((7, 9), (255, 0, 0))
    drawing.save(tmp_path / "table.png")
    for image in (drawing, tmp_path / "table.png", str(tmp_path / "table.png")):
        sent = picture(xb.show(found, image=image))
        assert (sent.format, sent.size, sent.getpixel((7, 9))) == ("PNG", (300, 80), (255, 0, 0))


def test_an_image_of_a_collection_is_shown_with_its_picture(tmp_path: Path) -> None:
    for folder in ("test", "images", "words"):
        (tmp_path / folder).mkdir()
    sides = ("xmin", "ymin", "xmax", "ymax")
    written = ""
    for one in OBJECTS[:10]:
        corners = zip(sides, one["bbox"], strict=True)
        box = "".join(f"<{side}>{value}</{side}>" for side, value in corners)
        written += f"<object><name>{one['label']}</name><bndbox>{box}</bndbox></object>"
    (tmp_path / "test" / "a.xml").write_text(f"<annotation>{written}</annotation>")
    words = str(WORDS).replace("'", '"').replace("(", "[").replace(")", "]")
    (tmp_path / "words" / "a_words.json").write_text(words)
    images = xb.tables.load_images(tmp_path)
    with pytest.raises(InputError, match=r"a.jpg' cannot be read: No such file"):
        xb.show(images["a"])
    WHITE.save(tmp_path / "images" / "a.jpg")
    view: Any = xb.show(images["a"])
    assert picture(view).size == (300, 80)
    assert view.result.table.texts[1] == ["10", "11 12", "11 12"]


# --- the true table ----------------------------------------------------------------------------


def test_scores_follow_the_threshold(found: ResolvedTable) -> None:
    view: Any = xb.show(found, true=TRUE_CSV)
    for threshold in (0.5, 0.7):
        view.threshold = threshold
        scores = xb.tables.grits(TRUE_CSV, view.result.table).scores["fscore"]
        named = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
        assert f"GriTS with the true table: {named}." in told(view, "said")
    assert named == "top 1.000, con 1.000"
    view.perform("compare")
    assert "true table" in "".join(map(text, view.trees().values()))
    assert [opened.kind for opened in view.trail] == ["tables"]
    view.perform("back")
    assert view.trail == ()


# --- the static twin ---------------------------------------------------------------------------


def test_the_twin_has_picture_boxes_table_and_changes(found: ResolvedTable) -> None:
    view: Any = xb.show(found, image=WHITE, true=TRUE_CSV)
    view.selected = DOUBLED
    twin = Twin(view.to_html())
    twin.check()
    for part in (
        "with a score from 0.5 on",
        "table row (5)",
        "11 12",
        "it holds no word",
        "GriTS",
    ):
        assert part in twin.text
    assert "button" not in twin.tags
    assert sum("left:" in (value or "") for name, value in twin.attributes if name == "style") == 11
    assert view._repr_mimebundle_()[0]["text/plain"].endswith("threshold 0.5")


@pytest.mark.parametrize("picture", [None, WHITE])
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_hostile_texts_stay_text(name: str, picture: Any) -> None:
    words = [word | {"text": HOSTILE[name]} for word in WORDS[:3]]
    labels = [item(HOSTILE[name][:10_000], 0, 0, 1, 1)]
    view: Any = xb.show(from_objects([*OBJECTS, *labels], words), image=picture)
    Twin(view.to_html()).check()
    assert len(view.to_html()) < 100_000
