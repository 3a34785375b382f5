"""Average precision and recall of detected objects, as pycocotools computes them."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.tables.objects import DETECTION_COLUMNS

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
MEASURES = ["AP", "AP50", "AP75", "AR"]
NA = float("nan")


def scores(true: Any, predicted: Any, **options: Any) -> pd.DataFrame:
    return xb.tables.detection_scores(true, predicted, **options).set_index("label")


def thing(*box: float, label: str = "table row", score: float = 1.0) -> dict[str, Any]:
    return {"label": label, "bbox": list(box), "score": score}


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
def test_recorded_scores() -> None:
    lines = (Path(str(FOLDER)) / "tsr" / "detection_dev.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 20
    for case in map(json.loads, lines):
        sides = ([image[side] for image in case["images"]] for side in ("true", "predicted"))
        found = scores(*sides)
        by_class = case["expected"].pop("per_class")
        for label, expected in {"all": case["expected"], **by_class}.items():
            if set(expected.values()) == {None}:  # there is no true object of this label
                assert label not in found.index or found.loc[label, MEASURES].isna().all()
                continue
            own = found.loc[label, MEASURES].to_dict()
            assert own == pytest.approx(expected, abs=1e-6), (case["id"], label)


ROW, LOW = thing(0, 0, 10, 10), thing(0, 20, 10, 30)


@pytest.mark.parametrize(
    "true, predicted, expected",
    [
        pytest.param([ROW], [ROW], (1, 1, 1, 1), id="found"),
        pytest.param([ROW], [], (0, 0, 0, 0), id="nothing predicted"),
        # the overlap 0.8 is reached at seven of ten limits
        pytest.param([ROW], [thing(0, 0, 10, 8)], (0.7, 1, 1, 0.7), id="nearly"),
        pytest.param([ROW], [thing(0, 0, 10, 5)], (0.1, 1, 0, 0.1), id="half is enough once"),
        # precision 1 up to recall 0.5: 51 of 101 recalls
        pytest.param([ROW, LOW], [ROW], (51 / 101, 51 / 101, 51 / 101, 0.5), id="one of two"),
        pytest.param(
            [ROW], [LOW, thing(0, 0, 10, 10, score=0.9)], (0.5, 0.5, 0.5, 1), id="false, above"
        ),
        pytest.param([], [ROW], (NA, NA, NA, NA), id="nothing true"),
        pytest.param([], [], (NA, NA, NA, NA), id="nothing at all"),
    ],
)
def test_one_image(true: list[Any], predicted: list[Any], expected: tuple[Any, ...]) -> None:
    found = scores([true], [predicted])
    own = found.loc["all", MEASURES].to_numpy(dtype=float, na_value=NA)
    assert own == pytest.approx(expected, nan_ok=True)
    assert found.loc["all", ["objects", "predicted"]].tolist() == [len(true), len(predicted)]
    if true or predicted:
        assert found.loc["table row", MEASURES].equals(found.loc["all", MEASURES])


def test_a_hundred_objects_of_a_label_count_per_image() -> None:
    true = [thing(0, 20 * n, 10, 20 * n + 10) for n in range(120)]
    found = scores([true], [true])
    assert found.loc["all", "AR"] == pytest.approx(100 / 120)
    columns = [one | {"label": "table column"} for one in true[:100]]
    assert scores([columns + true[:100]], [columns + true[:100]]).loc["all", "AR"] == 1


def test_a_label_without_true_objects_is_left_out_of_the_mean() -> None:
    other = thing(0, 0, 10, 10, label="table spanning cell")
    found = scores({"a": [ROW], "b": []}, {"a": [ROW, other], "b": [other]})
    assert found.columns.tolist() == DETECTION_COLUMNS.names[1:]
    assert found.loc["table row", ["images", "AP"]].tolist() == [1, 1]
    assert found.loc["table spanning cell", ["images", "objects", "predicted"]].tolist() == [
        0,
        0,
        2,
    ]
    assert found.loc["table spanning cell", MEASURES].isna().all()
    assert found.loc["all", ["images", "AP"]].tolist() == [1, 1]


@st.composite
def images(draw: Any) -> list[tuple[list[Any], list[Any]]]:
    """Images with true and predicted objects; all scores are different."""
    rng = random.Random(draw(st.integers(0, 10**9)))
    ranks = iter(rng.sample(range(1000), 400))

    def some(most: int) -> list[Any]:
        found = []
        for _ in range(rng.randint(0, most)):
            x, y = rng.randint(0, 20), rng.randint(0, 20)
            label = rng.choice(["table row", "table column", "table"])
            box = (x, y, x + rng.randint(1, 12), y + rng.randint(1, 12))
            found.append(thing(*box, label=label, score=next(ranks) / 1000))
        return found

    return [(some(12), some(20)) for _ in range(draw(st.integers(1, 5)))]


@given(images())
def test_order_and_size_change_nothing(pairs: list[tuple[list[Any], list[Any]]]) -> None:
    found = scores(*zip(*pairs, strict=True))
    assert ((found[MEASURES] >= 0) & (found[MEASURES] <= 1)).fillna(value=True).all(axis=None)
    larger = [
        [[one | {"bbox": [2 * x for x in one["bbox"]]} for one in side] for side in pair]
        for pair in pairs
    ]
    assert scores(*zip(*larger, strict=True)).equals(found)
    # of equal overlaps the last true object is taken, so that these stay in order
    shuffled = [(true, predicted[::-1]) for true, predicted in pairs[::-1]]
    assert scores(*zip(*shuffled, strict=True)).equals(found)
    perfect = scores([true for true, _ in pairs], [true for true, _ in pairs])
    if found["objects"].any():
        assert perfect.loc["all", MEASURES].tolist() == pytest.approx([1] * 4)


@pytest.mark.parametrize(
    "true, predicted, message",
    [
        ({}, {}, "true is empty"),
        ({"a": []}, {"b": []}, r"there is no image 'b'"),
        ([[ROW]], [ROW], "predicted, image 0 is dict"),
        (
            {"p1": [ROW | {"label": "table rwo"}]},
            {},
            "true, image 'p1', object 0: label is 'table rwo'; did you mean 'table row'",
        ),
        (
            [[ROW]],
            [[ROW, thing(0, 0, 0, 9)]],
            r"predicted, image 0, object 1: bbox is \[0, 0, 0, 9\]; expected x0 < x1",
        ),
        ([[thing(0, float("nan"), 1, 1)]], [[]], "true, image 0, object 0: bbox is .*nan"),
    ],
)
def test_bad_input_is_named(true: Any, predicted: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.tables.detection_scores(true, predicted)
