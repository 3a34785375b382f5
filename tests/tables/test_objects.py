"""Reading objects and words, and the objects of a table."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.objects import detected_objects, detected_words, to_objects
from notebooks.made_up_tables import made_up_tables

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
    found = detected_objects(given, "objects")
    assert found.labels == ["table row"]
    assert (found.scores.tolist(), found.boxes.tolist()) == ([0.5], [[1, 2, 3, 4]])
    assert found.problems == {}


@pytest.mark.parametrize(
    "item, problem",
    [
        ({"label": "table rwo"}, "label is 'table rwo'; did you mean 'table row'"),
        ({"label": 6}, "label is 6; expected one of table, table column"),
        ({"score": float("nan")}, "score is nan; expected a number from 0 to 1"),
        ({"score": 1.5}, "score is 1.5; expected"),
        ({"bbox": [9, 0, 0, 9]}, "bbox is [9, 0, 0, 9]; expected x0 < x1 and y0 < y1"),
        ({"bbox": [0, 3, 9, 3]}, "bbox is [0, 3, 9, 3]; expected x0 < x1"),
        ({"bbox": [0, 0, 9, float("nan")]}, "bbox is [0, 0, 9, nan]; expected finite x0, y0, x1"),
        ({"bbox": "0 0 9 9"}, "bbox is '0 0 9 9'; expected finite"),
    ],
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_an_unusable_object_is_left_out(item: Any, problem: str, as_frame: bool) -> None:
    good: dict[str, Any] = {"label": "table", "score": 0.5, "bbox": BOX}
    given = [good, good | item, good]
    found = detected_objects(pd.DataFrame(given, dtype=object) if as_frame else given, "objects")
    assert found.numbers == [0, 2]
    assert found.problems.keys() == {1}
    assert found.problems[1].startswith(problem)


def test_words_and_their_order() -> None:
    given = [
        {"text": "a", "bbox": BOX, "span_num": 3, "block_num": 2.0, "flags": 1},
        {"text": "b", "bbox": BOX, "line_num": None},
    ]
    for form in (given, pd.DataFrame(given)):
        words = detected_words(form, "words")
        assert words.order.tolist() == [[2, 0, 3, 1], [0, 0, 1, 0]]
        assert words.problems == {}


def test_unusable_words_are_left_out() -> None:
    given = [
        {"text": "a", "bbox": BOX, "block_num": 10**30, "line_num": float("inf")},
        {"text": 5, "bbox": BOX},
        {"text": "|", "bbox": [0, 0, 0, 9]},
        "b",
    ]
    words = detected_words(given, "words")
    assert words.texts == ["a"]
    assert words.order.tolist() == [[0, 0, 0, 0]]
    assert [words.problems[n].partition(";")[0] for n in (1, 2, 3)] == [
        "text is 5",
        "bbox is [0, 0, 0, 9]",
        "is str",
    ]


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
        detected_objects(given, "predicted")
    assert str(caught.value).startswith(message)


def test_objects_of_a_table() -> None:
    table = made_up_tables(3, seed=1, rows=8, columns=5)[2]
    objects = to_objects(table)
    counts = objects["label"].value_counts()
    assert (counts["table row"], counts["table column"]) == table.grid.shape
    assert detected_objects(objects, "objects").problems == {}
    assert to_objects([]).empty
