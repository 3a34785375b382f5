"""Annotated images: reading a folder in PubTables-1M's layout, and scores of what was found."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

import extractbench_nb as xb
from extractbench_nb.tables.evaluating import PAPER_COLUMNS
from notebooks.made_up_tables import made_up_tables
from tests.tables.detections import words_of

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
TABLES = made_up_tables(6, seed=3, rows=8, columns=5)


def annotation(objects: Sequence[dict[str, Any]]) -> str:
    sides = ("xmin", "ymin", "xmax", "ymax")
    parts = []
    for one in objects:
        corners = zip(sides, one["bbox"], strict=True)
        box = "".join(f"<{side}>{value!r}</{side}>" for side, value in corners)
        parts.append(f"<object><name>{one['label']}</name><bndbox>{box}</bndbox></object>")
    return f"<annotation>{''.join(parts)}</annotation>"


def listed(objects: pd.DataFrame) -> list[dict[str, Any]]:
    """Objects as the released files have them."""
    sides = objects[["x0", "y0", "x1", "y1"]].to_numpy().tolist()
    both = zip(objects["label"], objects["score"], sides, strict=True)
    return [{"label": label, "score": score, "bbox": box} for label, score, box in both]


def save(
    folder: Path, name: str, objects: Any, words: Any, *, split: str = "test", picture: bool = True
) -> None:
    """Write the files of an image; a text is written as it is, None is not written."""
    for part, text, path in (
        (split, objects, f"{name}.xml"),
        ("words", words, f"{name}_words.json"),
    ):
        (folder / part).mkdir(parents=True, exist_ok=True)
        if isinstance(text, list):
            content = annotation(text) if part == split else json.dumps(text)
        else:
            content = text
        if content is not None:
            (folder / part / path).write_text(content, encoding="utf-8")
    (folder / "images").mkdir(exist_ok=True)
    if picture:
        Image.new("RGB", (90, 40), "white").save(folder / "images" / f"{name}.jpg")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    for n, table in enumerate(TABLES):
        save(tmp_path, f"T{n}", listed(xb.tables.to_objects(table)), words_of(table))
    return tmp_path


ROW = {"label": "table row", "bbox": [0, 0, 9, 9]}
WORD = {"text": "a", "bbox": [1, 1, 2, 2]}


def test_a_folder_is_read(dataset: Path) -> None:
    save(dataset, "V", [ROW], [WORD], split="val")
    images = xb.tables.load_images(dataset)
    assert list(images) == ["V", *(f"T{n}" for n in range(6))]
    assert images["V"].objects == [ROW]
    assert images["V"].words == [WORD]
    one = images["T0"]
    labels = [item["label"] for item in one.objects]
    assert labels == xb.tables.to_objects(TABLES[0])["label"].tolist()
    assert [word["text"] for word in one.words] == [word["text"] for word in words_of(TABLES[0])]
    assert one.image.size == (90, 40)
    assert list(xb.tables.load_images(dataset, "val")) == ["V"]
    (dataset / "test_filelist.txt").write_text("test/T3.xml\ntest/T1.xml\n")
    assert list(xb.tables.load_images(dataset, "test")) == ["T3", "T1"]


@pytest.mark.parametrize(
    "objects, words, problem",
    [
        (None, [WORD], "broken.xml' cannot be read: No such file"),
        ("<annotation><size>", [WORD], "broken.xml' is not XML: no element found"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a/>', [WORD], "broken.xml' is not XML: it declares"),
        ([ROW], None, "broken_words.json' cannot be read: No such file"),
        ([ROW], '[{"text":', "broken_words.json' are not JSON: Expecting value"),
        ([ROW], '{"text": "a"}', "words is dict; expected a DataFrame or a list of dicts"),
    ],
)
def test_a_broken_file_is_a_problem_of_one_image(
    dataset: Path, objects: Any, words: Any, problem: str
) -> None:
    save(dataset, "broken", objects, words)
    (dataset / "test_filelist.txt").write_text("broken.xml T0.xml")
    found = xb.tables.evaluate_images(xb.tables.load_images(dataset), {"T0": perfect()["T0"]})
    rows = found.scores.set_index(["document", "measure"])
    assert problem in rows.loc[("broken", "grits_top"), "problem"]
    assert pd.isna(rows.loc[("broken", "grits_top"), "score"])
    assert rows.loc[("T0", "grits_top"), "score"] == 1


def test_pages(tmp_path: Path) -> None:
    pages = [
        {"label": "table rotated", "bbox": [5, 5, 50, 90]},
        {"label": "table", "bbox": [1, 1, 9, 9]},
    ]
    save(tmp_path, "page", pages, [])
    images = xb.tables.load_images(tmp_path, "test")
    found = xb.tables.detection_scores(
        {name: image.objects for name, image in images.items()}, {"page": pages}, task="detection"
    )
    assert found["AP"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "change, arguments, message",
    [
        (lambda _: None, {"split": "tets"}, "split is 'tets'; did you mean 'test'"),
        (lambda f: (f / "test").rename(f / "other"), {}, "has no folder train, val or test"),
        (
            lambda f: save(f, "T1", [ROW], [WORD], split="train"),
            {},
            "image 'T1' is in train and test; name a split",
        ),
    ],
)
def test_folders_that_cannot_be_read(
    dataset: Path, change: Callable[[Path], Any], arguments: Any, message: str
) -> None:
    change(dataset)
    with pytest.raises(xb.InputError, match=message):
        xb.tables.load_images(**{"folder": dataset, **arguments})


# --- scores -----------------------------------------------------------------------------------


def recorded() -> list[dict[str, Any]]:
    path = Path(str(FOLDER)) / "tsr" / "metrics_dev.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


#: Where defects of the published conflict resolution change a table.
DEFECTS = {"metrics-19", "metrics-31", "metrics-51", "metrics-56"}


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
def test_recorded_scores(tmp_path: Path) -> None:
    cases = recorded()
    assert len(cases) == 30
    for case in cases:
        save(tmp_path, case["id"], case["true_objects"], case["tokens"], picture=False)
    images = xb.tables.load_images(tmp_path)
    predicted = {case["id"]: case["predicted_objects"] for case in cases}
    names = ["grits_top", "grits_con", "grits_loc"]
    found = xb.tables.evaluate_images(
        images, predicted, metrics=names, variant="released", n_jobs=2
    )
    scores = found.scores.pivot_table("score", "document", "measure")
    for case in cases:
        expected = {name: case["expected"][name] for name in names}
        is_equal = scores.loc[case["id"]].to_dict() == pytest.approx(expected, abs=1e-6)
        assert is_equal == (case["id"] not in DEFECTS)


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
def test_recorded_scores_of_raw_grids() -> None:
    for case in recorded():
        true, predicted = (
            [
                {"row_nums": [r], "column_nums": [c], "bbox": box}
                for r, row in enumerate(case[f"{side}_raw_grid"])
                for c, box in enumerate(row)
            ]
            for side in ("true", "predicted")
        )
        scores = xb.tables.grits(true, predicted, "loc", "released").scores
        expected = case["expected"]["grits_rawloc"]
        assert scores.loc["loc", "fscore"] == pytest.approx(expected, abs=1e-6)


def perfect() -> dict[str, Any]:
    return {f"T{n}": listed(xb.tables.to_objects(table)) for n, table in enumerate(TABLES)}


def test_what_is_right_scores_1(dataset: Path) -> None:
    images = xb.tables.load_images(dataset)
    found = xb.tables.evaluate_images(images, perfect())
    assert found.scores["score"].tolist() == [pytest.approx(1)] * 5 * 6
    assert found.detection is not None
    assert found.detection.set_index("label").loc["all", ["AP", "AR"]].tolist() == [1, 1]
    beside = found.compare_paper()
    assert beside.columns.tolist() == PAPER_COLUMNS.names
    assert beside["value"].tolist() == pytest.approx([1] * (3 * 4 + 4))
    counts = beside.groupby("split")["tables"].max().to_dict()
    count = int(found.scores.groupby("document")["complex"].first().sum())
    assert counts == {"all": 6, "complex": count, "simple": 6 - count}
    printed = beside.set_index(["table", "split", "measure"])["paper"]
    assert printed.loc[3, "complex", "grits_rawloc"] == 0.909
    assert printed.loc[2, "all", "AP75"] == 0.948
    assert repr(found).startswith("TableResult(6 tables; mean grits_top 1.000")
    assert (found.rows["outcome"] == "correct").all()


def test_images_may_be_given_without_files(dataset: Path) -> None:
    images = xb.tables.load_images(dataset)
    expected = xb.tables.evaluate_images(images, perfect())
    given = {name: (image.objects, image.words) for name, image in images.items()}
    frames = {name: pd.DataFrame(objects) for name, objects in perfect().items()}
    for form in (perfect(), frames):
        assert xb.tables.evaluate_images(given, form).scores.equals(expected.scores)
    bare = {name: (image.objects, None) for name, image in images.items()}
    found = xb.tables.evaluate_images(bare, perfect(), metrics="grits_top")
    assert found.summary["grits_top"] == 1


FLAT = ROW | {"bbox": [5, 5, 5, 9]}
OBJECTS, WORDS = listed(xb.tables.to_objects(TABLES[0])), words_of(TABLES[0])
AT, NEXT = len(OBJECTS), len(WORDS)


@pytest.mark.parametrize(
    "true, words, predicted, score, problem",
    [
        ([], [], [*OBJECTS, {"label": "row", "bbox": [0] * 4}], 1, f"predicted object {AT}: label"),
        ([], [], [{"label": "table row", "box": [1]}], 0, "predicted object 0: bbox is None; exp"),
        ([FLAT], [], OBJECTS, 1, f"true object {AT}: bbox is [5, 5, 5, 9]; expected x0 < x1"),
        ([], [{"text": 5, "bbox": [0, 0, 1, 1]}], OBJECTS, 1, f"word {NEXT}: text is 5; expected"),
        ([], [], 5, 0, "T, predicted: objects is int; expected a DataFrame or a list"),
        ([], [], None, 0, "no prediction"),
    ],
)
def test_what_is_left_out_is_named(
    true: Any, words: Any, predicted: Any, score: float, problem: str
) -> None:
    found = xb.tables.evaluate_images({"T": (OBJECTS + true, WORDS + words)}, {"T": predicted})
    rows = found.scores.set_index("measure")
    assert problem in rows.loc["grits_top", "problem"]
    assert rows.loc["grits_top", "score"] == score
    assert rows.loc["grits_top", "readable"] == (predicted != 5)
    assert found.detection is not None
    assert found.detection.set_index("label").loc["all", "objects"] == AT


@pytest.mark.parametrize(
    "predicted, options, message",
    [
        ({"T9": []}, {}, "predicted: there is no image 'T9'; expected one of T0, T1"),
        ([], {}, "predicted is list; expected a dict"),
        ({}, {"metrics": "grits_tpo"}, "metrics: no 'grits_tpo'; did you mean 'grits_top'"),
        ({}, {"variant": "papr"}, "variant.*'papr'.*did you mean 'paper'"),
        ({}, {"images": []}, "expected a dict, as load_images returns"),
    ],
)
def test_arguments_that_cannot_be_used(
    dataset: Path, predicted: Any, options: Any, message: str
) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.tables.evaluate_images(
            **{"images": xb.tables.load_images(dataset), "predicted": predicted, **options}
        )
