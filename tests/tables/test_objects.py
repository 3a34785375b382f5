"""Reading objects and words, and the crops of tables on a page."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.keep_curves import made_up_tables
from extractbench_nb.tables.objects import (
    OBJECT_COLUMNS,
    WORD_COLUMNS,
    crop,
    read_objects,
    read_words,
    to_objects,
)

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
BOX = [0, 0, 9, 9]
CORNERS = ["x0", "y0", "x1", "y1"]


@pytest.mark.parametrize(
    "given",
    [
        [{"label": "table row", "score": 0.5, "bbox": (1, 2, 3, 4)}],
        [{"label": 2, "score": 0.5, "x0": 1, "y0": 2, "x1": 3, "y1": 4}],
        ({"label": np.int64(2), "score": np.float32(0.5), "bbox": np.array([1, 2, 3, 4])},),
        pd.DataFrame([{"label": 2, "score": 0.5, "bbox": [1, 2, 3, 4]}]),
        pd.DataFrame([["table row", 0.5, 1, 2, 3, 4]], columns=["label", "score", *CORNERS]),
    ],
)
def test_forms_of_objects(given: Any) -> None:
    objects, problems = read_objects(given)
    assert objects.values.tolist() == [["table row", 0.5, 1, 2, 3, 4]]
    assert problems == {}
    assert read_objects(objects)[0].equals(objects)


@pytest.mark.parametrize(
    "item, problem",
    [
        ({"label": "table rwo"}, "label is 'table rwo'; did you mean 'table row'"),
        ({"label": 6}, "label is 6; expected one of table, table column"),
        ({"score": float("nan")}, "score is nan; expected a number from 0 to 1"),
        ({"score": 1.5}, "score is 1.5; expected"),
        ({"bbox": [9, 0, 0, 9]}, "bbox [9, 0, 0, 9] is reversed; expected x0 < x1 and y0 < y1"),
        ({"bbox": [0, 3, 9, 3]}, "bbox [0, 3, 9, 3] has no area; expected"),
        ({"bbox": [0, 0, 9, float("nan")]}, "bbox is [0, 0, 9, nan]; expected finite x0, y0, x1"),
        ({"bbox": "0 0 9 9"}, "bbox is '0 0 9 9'; expected finite"),
    ],
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_an_unusable_object_is_left_out(item: Any, problem: str, as_frame: bool) -> None:
    good: dict[str, Any] = {"label": "table", "score": 0.5, "bbox": BOX}
    given = [good, good | item, good]
    objects, problems = read_objects(pd.DataFrame(given, dtype=object) if as_frame else given)
    assert objects.index.tolist() == [0, 2]
    assert problems.keys() == {1}
    assert problems[1].startswith(problem)


def test_words_and_their_order() -> None:
    given = [
        {"text": "a", "bbox": BOX, "span_num": 3, "block_num": 2.0, "flags": 1},
        {"text": "b", "bbox": BOX, "line_num": None},
    ]
    for form in (given, pd.DataFrame(given)):
        words, problems = read_words(form)
        order = words[["span_num", "line_num", "block_num", "flags"]]
        assert order.values.tolist() == [[3, 0, 2, 1], [1, 0, 0, 0]]
        assert problems == {}
        assert read_words(words)[0].equals(words)


def test_unusable_words_are_left_out() -> None:
    given = [
        {"text": "a", "bbox": BOX, "block_num": 10**30, "line_num": float("inf")},
        {"text": 5, "bbox": BOX},
        {"text": "|", "bbox": [0, 0, 0, 9]},
        "b",
    ]
    words, problems = read_words(given)
    assert words["text"].tolist() == ["a"]
    assert words["block_num"].tolist() == [0]
    assert [problems[n].partition(";")[0] for n in (1, 2, 3)] == [
        "text is 5",
        "bbox [0, 0, 0, 9] has no area",
        "is str",
    ]


@pytest.mark.parametrize("empty", [[], pd.DataFrame()])
def test_nothing(empty: Any) -> None:
    assert read_objects(empty)[0].dtypes.equals(OBJECT_COLUMNS.build().dtypes)
    assert read_words(empty)[0].dtypes.equals(WORD_COLUMNS.build().dtypes)


@pytest.mark.parametrize(
    "given, message",
    [
        ("table", "predicted is str; expected a DataFrame or a list of dicts with label and bbox"),
        (pd.DataFrame({"lable": [1], "bbox": [BOX]}), "predicted: no column 'label'; did you mean"),
        (
            pd.DataFrame({"label": [1], "x0": [1]}),
            "predicted: no column 'y0'; it has label, x0",
        ),
    ],
)
def test_what_is_no_list_of_objects(given: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_objects(given, "predicted")
    assert str(caught.value).startswith(message)


def test_objects_of_a_table() -> None:
    table = made_up_tables(3, seed=1, rows=8, columns=5)[2]
    objects, moved = to_objects(table), to_objects(table, padding=30)
    counts = objects["label"].value_counts()
    assert (counts["table row"], counts["table column"]) == table.grid.shape
    assert moved[CORNERS].iloc[0].tolist()[:2] == [30, 30]
    steps = (moved[CORNERS] - objects[CORNERS]).to_numpy()
    assert steps == pytest.approx(np.tile(steps[0], (len(steps), 1)))
    assert read_objects(objects)[0].equals(objects)
    assert to_objects([]).empty


PAGE = np.arange(200 * 100).reshape(200, 100)


def found(label: str, *box: float, score: float = 1.0) -> dict[str, Any]:
    return {"label": label, "bbox": box, "score": score}


def test_a_crop_ends_at_the_edge_of_the_page() -> None:
    word = {"text": "a", "bbox": [4, 150, 14, 160]}
    (part,) = crop(PAGE, [found("table", 2.4, 140, 50, 190)], [word], padding=20)
    assert part.box == (0, 120, 70, 200)
    assert (part.image == PAGE[120:200, 0:70]).all()
    assert part.words[CORNERS].values.tolist() == [[4, 30, 14, 40]]


def test_a_rotated_table_is_turned_clockwise() -> None:
    word = {"text": "a", "bbox": [12, 22, 14, 42]}
    (part,) = crop(PAGE, [found("table rotated", 10, 20, 40, 60)], [word], padding=0)
    assert (part.image == np.rot90(PAGE[20:60, 10:40], -1)).all()
    assert part.words[CORNERS].values.tolist() == [[17, 2, 37, 4]]


def test_crops_do_not_share_words_or_change_what_is_given() -> None:
    objects = [found("table", 0, 0, 50, 50), found("table", 0, 0, 60, 60)]
    objects.append(found("table", 0, 0, 9, 9, score=0.4))
    word = {"text": "a", "bbox": [12, 22, 14, 42]}
    parts = crop(PAGE, objects, [word], padding=0)
    assert [part.object for part in parts] == [0, 1]
    assert [part.words[CORNERS].values.tolist() for part in parts] == [[word["bbox"]]] * 2
    assert not crop(PAGE, objects, padding=0)[0].words.size


@pytest.mark.parametrize("padding", ["30", -1, float("nan"), float("inf")])
def test_what_cannot_be_cropped(padding: Any) -> None:
    message = f"padding is {padding!r}; expected a number of pixels from 0"
    with pytest.raises(InputError, match=message):
        crop(PAGE, [], padding=padding)
    with pytest.raises(InputError, match=message):
        to_objects([], padding=padding)
    with pytest.raises(InputError, match="threshold is 50; expected a number from 0 to 1"):
        crop(PAGE, [], threshold=50)
    for image, message in (
        (PAGE, "object 0: its box .* lies outside the image, which has 100"),
        (np.zeros(4), r"image has the shape \(4,\); expected pixels, height x width"),
        ("page.jpg", "image is str; expected pixels"),
    ):
        with pytest.raises(InputError, match=message):
            crop(image, [found("table", 100, 0, 150, 50)], padding=0)


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
def test_recorded_crops() -> None:
    """Edges as recorded, but within the page; words as recorded, but moved by whole pixels."""
    path = Path(str(FOLDER)) / "tsr" / "crops_dev.jsonl"
    for case in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        width, height = case["size"]
        page = np.zeros((height, width), dtype=bool)
        found = crop(page, case["objects"], case["tokens"], case["padding"])
        for part, expected in zip(found, case["expected"]["alone"], strict=True):
            x0, y0, x1, y1 = case["objects"][part.object]["bbox"]
            corner = np.array([x0, y0]) - case["padding"]
            far = np.array([x1, y1]) + case["padding"]
            left, top, right, bottom = part.box
            # what the published code has beyond the page, and what it keeps of a pixel
            low, high = np.rint(corner), np.rint(far)
            beyond = np.maximum(-low, 0), np.maximum(high - page.shape[::-1], 0)
            sizes = np.array([right - left, bottom - top]) + beyond[0] + beyond[1]
            turn = -1 if part.label == "table rotated" else 1
            assert [*sizes][::turn] == expected["size"], case["id"]
            assert part.image.shape == ((right - left, bottom - top)[::-turn]), case["id"]
            assert part.words["span_num"].tolist() == [w["span_num"] for w in expected["words"]]
            shift = corner - [left, top]
            if turn < 0:  # the lower edge becomes the left one
                shift = np.array([bottom - high[1] + low[1] - corner[1], shift[0]])
            boxes = np.array([w["bbox"] for w in expected["words"]]).reshape(-1, 4)
            moved = boxes + np.tile(shift, 2)
            assert part.words[CORNERS].to_numpy() == pytest.approx(moved, abs=1e-3), case["id"]
