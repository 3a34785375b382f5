"""Annotated images: reading a folder in PubTables-1M's layout, and scores of what was found."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

import extractbench_nb as xb
from extractbench_nb.tables.images import IMAGE_COLUMNS, PAPER_COLUMNS
from tests.tables.detections import words_of

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
TABLES = [replace(table) for table in xb.tables.made_up_tables(6, seed=3, rows=8, columns=5)]


def annotation(objects: Sequence[dict[str, Any]], size: tuple[int, int] = (900, 400)) -> str:
    sides = ("xmin", "ymin", "xmax", "ymax")
    parts = [f"<size><width>{size[0]}</width><height>{size[1]}</height></size>"]
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


def test_a_folder_is_read(dataset: Path) -> None:
    save(dataset, "V", [ROW], [{"text": "a", "bbox": [1, 1, 2, 2]}], split="val")
    images = xb.tables.load_images(dataset)
    assert repr(images) == "TableImages(7 for structure: val 1, test 6)"
    assert list(images) == ["V", *(f"T{n}" for n in range(6))]
    frame = images.frame
    assert frame.columns.tolist() == IMAGE_COLUMNS.names
    assert frame.iloc[0].tolist() == ["V", "val", 900, 400, 1, 1, ""]
    assert frame["problem"].eq("").all()
    assert frame["words"].tolist()[1:] == [len(words_of(table)) for table in TABLES]
    one = images["T0"]
    assert one.objects["label"].tolist() == xb.tables.to_objects(TABLES[0])["label"].tolist()
    assert one.words["text"].tolist() == [word["text"] for word in words_of(TABLES[0])]
    assert one.image.size == (90, 40)
    assert list(xb.tables.load_images(dataset, "val")) == ["V"]


def test_a_list_of_files_chooses_and_orders(dataset: Path) -> None:
    (dataset / "test_filelist.txt").write_text("test/T3.xml\ntest/T1.xml\ntest/gone.xml\n")
    images = xb.tables.load_images(dataset)
    assert list(images) == ["T3", "T1", "gone"]
    assert "gone.xml' cannot be read: No such file" in images.frame["problem"][2]


WORD = {"text": "a", "bbox": [1, 1, 2, 2]}
BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox>"
SIZE = "<size><width>9</width><height>9</height></size>"


def voc(*objects: str, size: str = SIZE) -> str:
    return f"<annotation>{size}{''.join(f'<object>{one}</object>' for one in objects)}</annotation>"


@pytest.mark.parametrize(
    "objects, words, counts, problem",
    [
        (None, [WORD], (None, 1), "broken.xml' cannot be read: No such file"),
        ("<annotation><size>", [WORD], (None, 1), "broken.xml' is not XML: Premature end"),
        (
            "",
            [WORD],
            (None, 1),
            "broken.xml' is not XML: Document is empty, line 1, column 1",
        ),
        ([ROW], None, (1, None), "broken_words.json' cannot be read: No such file"),
        ([ROW], '[{"text":', (1, None), "broken_words.json' are not JSON: Expecting value"),
        (
            [ROW],
            [WORD, {"text": 5, "bbox": [1, 1, 2, 2]}, {"text": "x"}],
            (1, 1),
            "broken_words.json, word 1: text is 5; expected a str; broken_words.json, word 2: bbox",
        ),
        (
            voc(f"<name>table rwo</name>{BOX}", f"<name>table</name>{BOX}"),
            [WORD],
            (1, 1),
            "broken.xml, object 0: label is 'table rwo'; did you mean 'table row'",
        ),
        (voc(f"<name>table</name>{BOX}", size=""), [WORD], (1, 1), "broken.xml: no size/width"),
        (voc(BOX), [WORD], (0, 1), "broken.xml, object 0: no name"),
        (
            voc(f"<name>table</name>{BOX.replace('<ymax>5', '<ymax>five')}"),
            [WORD],
            (0, 1),
            "broken.xml, object 0: bbox is [1.0, 1.0, 5.0, None]; expected finite",
        ),
        (
            voc(f"<name>table</name>{BOX.replace('<ymax>5', '<ymax>0')}"),
            [WORD],
            (0, 1),
            "broken.xml, object 0: bbox [1.0, 1.0, 5.0, 0.0] is reversed",
        ),
        (
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + voc(f"<name>&x;</name>{BOX}"),
            [WORD],
            (0, 1),
            "broken.xml, object 0: no name",
        ),
    ],
)
def test_a_broken_file_is_a_problem_of_one_row(
    dataset: Path, objects: Any, words: Any, counts: tuple[Any, Any], problem: str
) -> None:
    save(dataset, "broken", objects, words)
    (dataset / "test_filelist.txt").write_text("broken.xml T0.xml")
    images = xb.tables.load_images(dataset)
    rows = images.frame.set_index("id")
    assert problem in rows.loc["broken", "problem"]
    assert "<string>" not in rows.loc["broken", "problem"]
    found = rows.loc["broken", ["objects", "words"]]
    assert [None if pd.isna(n) else n for n in found] == list(counts)
    assert rows.loc["T0", "problem"] == ""
    for count, read in zip(counts, ("objects", "words"), strict=True):
        if count is None:
            with pytest.raises(xb.InputError, match="broken"):
                getattr(images["broken"], read)
        else:
            assert len(getattr(images["broken"], read)) == count


def test_pages(tmp_path: Path) -> None:
    pages = [
        {"label": "table rotated", "bbox": [5, 5, 50, 90]},
        {"label": "table", "bbox": [1, 1, 9, 9]},
    ]
    save(tmp_path, "page", pages, [])
    images = xb.tables.load_images(tmp_path, "test", task="detection")
    assert images.frame["objects"].tolist() == [2]
    found = xb.tables.detection_scores(
        {name: image.objects for name, image in images.items()}, {"page": pages}, task="detection"
    )
    assert found["AP"].tolist() == [1, 1, 1]
    with pytest.raises(xb.InputError, match=r"expected tables, .* \(pages: detection_scores\)"):
        xb.tables.evaluate_images(images, {})


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


RECORDED = {f"grits_{name}": f"grits_{name}" for name in ("top", "con", "loc")}
RECORDED |= {"exact": "acc_con", "rows": "num_rows", "columns": "num_columns"}
#: Where defects of the published conflict resolution change a table; see docs/howto/tables.md.
DEFECTS = {"metrics-19", "metrics-31", "metrics-51", "metrics-56"}


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
def test_recorded_scores(tmp_path: Path) -> None:
    cases = recorded()
    assert len(cases) == 30
    for case in cases:
        save(tmp_path, case["id"], case["true_objects"], case["tokens"], picture=False)
    images = xb.tables.load_images(tmp_path)
    predicted = {case["id"]: case["predicted_objects"] for case in cases}
    found = xb.tables.evaluate_images(images, predicted, variant="released", n_jobs=2)
    rows = found.summary.set_index("document")
    for case in cases:
        expected = {ours: case["expected"][theirs] for ours, theirs in RECORDED.items()}
        scores = rows.loc[case["id"], list(RECORDED)].to_dict()
        assert (scores != pytest.approx(expected, abs=1e-6)) == (case["id"] in DEFECTS)


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
    names = ["grits_top", "grits_con", "grits_loc", "grits_rawloc", "exact"]
    assert found.summary[names].to_numpy().tolist() == [[pytest.approx(1)] * 5] * 6
    assert found.summary["complex"].nunique() == 2
    assert found.detection.set_index("label").loc["all", ["AP", "AR"]].tolist() == [1, 1]
    beside = found.compare_paper()
    assert beside.columns.tolist() == PAPER_COLUMNS.names
    assert len(beside) == 3 * 4 + 4
    assert beside["value"].tolist() == pytest.approx([1] * 16)
    assert beside.groupby("split")["tables"].max().to_dict() == {
        "all": 6,
        "complex": int(found.summary["complex"].sum()),
        "simple": int((~found.summary["complex"]).sum()),
    }
    printed = beside.set_index(["table", "split", "measure"])["paper"]
    assert printed.loc[3, "complex", "grits_rawloc"] == 0.909
    assert printed.loc[2, "all", "AP75"] == 0.948
    assert repr(found).startswith("ImageScores(6 tables; mean grits_top 1.000")


def test_other_forms_of_predictions(dataset: Path) -> None:
    """A function for a dict; frames; tables as text, which have no location."""
    images = xb.tables.load_images(dataset)
    expected = xb.tables.evaluate_images(images, perfect())
    for form in (
        lambda image: image.objects,
        {name: pd.DataFrame(objects) for name, objects in perfect().items()},
    ):
        found = xb.tables.evaluate_images(images, form)
        assert found.scores.equals(expected.scores)
        assert found.detection.equals(expected.detection)
    texts = {f"T{n}": table.to_html() for n, table in enumerate(TABLES)}
    found = xb.tables.evaluate_images(images, texts)
    assert found.means([]).set_index("metric")["mean"].fillna(-1).to_dict() == {
        "grits_top": 1,
        "grits_con": 1,
        "grits_loc": -1,
        "grits_rawloc": -1,
        "header": 1,
        "exact": 1,
    }
    notes = found.scores.drop_duplicates("measure").set_index("measure")["note"]
    assert notes["grits_rawloc"] == "no objects"
    assert "has no bbox" in notes["grits_loc"]
    assert found.detection["objects"].tolist() == [0]


def test_images_may_be_given_without_files(dataset: Path) -> None:
    images = xb.tables.load_images(dataset)
    expected = xb.tables.evaluate_images(images, perfect())
    given = {name: (image.objects, image.words) for name, image in images.items()}
    for form in (perfect(), lambda image: image.objects):
        found = xb.tables.evaluate_images(given, form)
        assert found.scores.equals(expected.scores)
        assert found.detection.equals(expected.detection)
    bare = {name: (image.objects, None) for name, image in images.items()}
    assert xb.tables.evaluate_images(bare, perfect(), metrics="grits_top").means([])["mean"][0] == 1


FLAT = ROW | {"bbox": [5, 5, 5, 9]}
OBJECTS, WORDS = listed(xb.tables.to_objects(TABLES[0])), words_of(TABLES[0])
AT, NEXT = len(OBJECTS), len(WORDS)


@pytest.mark.parametrize(
    "true, words, predicted, exact, problem",
    [
        ([], [], [*OBJECTS, {"label": "row", "bbox": [0] * 4}], 1, f"predicted object {AT}: label"),
        ([], [], [{"label": "table row", "box": [1]}], 0, "predicted object 0: bbox is None; exp"),
        ([FLAT], [], OBJECTS, 1, f"true object {AT}: bbox [5, 5, 5, 9] has no area; expected x0"),
        ([], [{"text": 5, "bbox": [0, 0, 1, 1]}], OBJECTS, 1, f"word {NEXT}: text is 5; expected"),
        ([], [], lambda _: 1 / 0, 0, "T, predicted raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_left_out_is_named(
    true: Any, words: Any, predicted: Any, exact: float, problem: str
) -> None:
    images = {"T": (OBJECTS + true, WORDS + words)}
    found = xb.tables.evaluate_images(
        images, predicted if callable(predicted) else {"T": predicted}
    )
    row = found.summary.iloc[0]
    assert problem in row["problem"]
    assert bool(row["problem"]) == bool(problem)
    assert row["exact"] == exact
    assert found.detection.set_index("label").loc["all", "objects"] == AT


def test_what_is_broken_is_told_and_the_rest_goes_on(dataset: Path) -> None:
    save(dataset, "broken", "<annotation", [])
    images = xb.tables.load_images(dataset)
    predicted = {
        **perfect(),
        "T1": "nothing to see",
        "T2": [*perfect()["T2"], ROW | {"bbox": [5, 5, 5, 9]}],
        "T3": 5,
        "broken": perfect()["T0"],
    }
    del predicted["T4"]
    found = xb.tables.evaluate_images(images, predicted, metrics="grits_top")
    rows = found.summary.set_index("document")
    scores = rows["grits_top"].fillna(-1).to_dict()
    assert scores == {"T0": 1, "T1": 0, "T2": 1, "T3": 0, "T4": 0, "T5": 1, "broken": -1}
    assert "broken.xml' is not XML" in rows.loc["broken", "problem"]
    assert repr(found).endswith("; 2 unreadable, scored 0; 1 without a score)")
    assert "T1, predicted is the text" in rows.loc["T1", "problem"]
    assert rows.loc["T2", "problem"].startswith("predicted object ")
    assert rows.loc["T4", "problem"] == "no prediction"
    assert rows["readable"].to_dict() == {name: name not in ("T1", "T3") for name in rows.index}
    means = found.means([])
    assert means[["tables", "unreadable"]].to_numpy().tolist() == [[6, 2]]
    # T1 and T3 have no objects, T4 nothing was predicted for; they count for recall
    everything = sum(len(xb.tables.to_objects(table)) for table in TABLES)
    assert found.detection.set_index("label").loc["all", "objects"] == everything


@pytest.mark.parametrize(
    "predicted, options, message",
    [
        ({"T9": []}, {}, "predicted: there is no image 'T9'; expected one of T0, T1"),
        ([], {}, "predicted is list; expected a dict or a function"),
        ({}, {"metrics": "grits_tpo"}, "metrics: no 'grits_tpo'; did you mean 'grits_top'"),
        ({}, {"variant": "papr"}, "variant.*'papr'.*did you mean 'paper'"),
        ({}, {"images": []}, "expected tables, as load_images returns"),
        ({}, {"images": {"T": OBJECTS}}, r"images, 'T': .*; expected \(objects, words\)"),
    ],
)
def test_arguments_that_cannot_be_used(
    dataset: Path, predicted: Any, options: Any, message: str
) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.tables.evaluate_images(
            **{"images": xb.tables.load_images(dataset), "predicted": predicted, **options}
        )
