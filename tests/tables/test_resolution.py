"""From detected objects to a table: as the published code recorded it, and what always holds."""

import copy
import json
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.tables import (
    Table,
    canonicalize,
    from_objects,
    grits,
    made_up_tables,
    raw_grid,
    to_objects,
)
from extractbench_nb.tables.cells import Cell, header_rows, table_of_cells
from extractbench_nb.tables.resolution import CHANGE_COLUMNS, STEPS, ResolvedTable
from tests.tables.canonical.drawings import table_of
from tests.tables.detections import known, random_objects, words_of

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
recorded = pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")

KEYS = ("text", "header", "projected")
PATHS = {"released": "evaluation", "released_inference": "inference"}
SPANNING = ("table spanning cell", "table projected row header")
GROUPS = {
    "rows": ("table row",),
    "columns": ("table column",),
    "headers": ("table column header",),
    "spanning_cells": SPANNING,
}
#: The published code divides by zero: at words and rows without area, at boxes moved before.
FAILS = {"tsr-336", "tsr-337", "tsr-342", "tsr-359", "tsr-387"}


@cache
def cases() -> list[Any]:
    path = Path(str(FOLDER)) / "tsr" / "structure_dev.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def resolved(case: Any, variant: str) -> list[tuple[ResolvedTable, Any]]:
    """What is found for each table, beside what is expected."""
    path = PATHS[variant]
    expected = case["expected"][path]
    if "NameError" in str(expected):
        expected = case["expected_with_is_int"][path]
    tables: list[int | None] = [None]
    if variant == "released_inference":
        tables = [n for n, item in enumerate(case["objects"]) if item["label"] == "table"]
    given = case["objects"], case["tokens"]
    found = [from_objects(*given, variant=variant, table=table) for table in tables]
    return list(zip(found, expected if path == "inference" else [expected], strict=True))


@recorded
@pytest.mark.parametrize("variant", PATHS)
def test_recorded_objects(variant: str) -> None:
    for case in cases():
        for found, expected in resolved(case, variant):
            if "structure" not in expected or case["id"] in FAILS:
                continue
            structure = expected["structure"]
            structure.setdefault("headers", structure.get("column_headers"))
            objects = found.objects.astype({"object": object}).replace({pd.NA: None})
            listed = list(objects.itertuples(index=False))
            for group, labels in GROUPS.items():
                its = [row for row in listed if row.label in labels]
                wanted = structure[group]
                assert [row.object for row in its] == [item["object"] for item in wanted], case[
                    "id"
                ]
                boxes = [(row.x0, row.y0, row.x1, row.y1) for row in its]
                assert are_near(boxes, [item["bbox"] for item in wanted]), (case["id"], group)


def are_near(boxes: Any, wanted: Any) -> bool:
    """The published code has boxes in single precision."""
    boxes, wanted = (np.array(side, dtype=float).reshape(-1, 4) for side in (boxes, wanted))
    return boxes.shape == wanted.shape and bool((abs(boxes - wanted) <= 1e-3).all())


@recorded
@pytest.mark.parametrize("variant", PATHS)
def test_recorded_cells(variant: str) -> None:
    failed = set()
    for case in cases():
        for found, expected in resolved(case, variant):
            if "cells" not in expected:
                failed.add(case["id"])
                continue
            cells = [
                (c.rows, c.columns, c.text, c.is_header, c.is_projected) for c in found.table.cells
            ]
            wanted = [
                (
                    tuple(c["row_nums"]),
                    tuple(c["column_nums"]),
                    c["text"],
                    c["header"],
                    c["projected"],
                )
                for c in expected["cells"]
            ]
            assert cells == wanted, case["id"]
            boxes = [cell.box for cell in found.table.cells]
            assert are_near(boxes, [cell["bbox"] for cell in expected["cells"]]), case["id"]
            assert found.confidence == pytest.approx(expected["confidence"], abs=1e-6), case["id"]
            assert csv_of(found.table) == expected.get("csv", csv_of(found.table)), case["id"]
    assert failed <= FAILS


def csv_of(table: Table) -> str | None:
    """The file that the published code writes: one header row, its texts joined by bars."""
    if not table.cells:
        return None
    headers = [cell.rows[-1] for cell in table.cells if cell.is_header]
    height = max(headers, default=-1) + 1
    columns = zip(*table.texts[:height], strict=True)
    names = [" | ".join(dict.fromkeys(column)) for column in columns] or [""] * table.grid.shape[1]
    frame = pd.DataFrame(table.texts[height:], columns=names)
    return str(frame.to_csv(index=False))


@recorded
@pytest.mark.parametrize("variant", PATHS)
def test_recorded_steps(variant: str) -> None:
    name = "trace" if variant == "released_inference" else "evaluation_trace"
    for case in cases():
        if case["id"] in FAILS:
            continue
        is_complete = "NameError" not in str(case["expected"][PATHS[variant]])
        holder = case["expected" if is_complete else "expected_with_is_int"]
        found = [step for found, _ in resolved(case, variant) for step in steps(case, found)]
        assert found == list(traced(holder[name])), case["id"]


Step = tuple[list[int], dict[int, Any] | None]


def traced(trace: list[Any]) -> Iterator[Step]:
    """What each step keeps; spanning cells with their rows and columns."""
    for n, step in enumerate(trace):
        lines = None
        if "rows" in step:
            covered = zip(step["kept"], step["rows"], step["columns"], strict=True)
            lines = {n: (tuple(rows), tuple(columns)) for n, rows, columns in covered}
        yield sorted(step["kept"]), lines
        is_header = trace[n + 1 : n + 2] and trace[n + 1]["step"] == "align_supercells"
        if step["step"] == "nms" and not is_header:  # without words there is no second step
            yield sorted(step["kept"]), None


def steps(case: Any, found: ResolvedTable) -> Iterator[Step]:
    """The same from `changes`."""
    changes = list(found.changes.itertuples(index=False))
    labels = [item["label"] for item in case["objects"]]

    def kept(group: str, *reasons: str) -> list[int]:
        reasons = ("half of it is in", "score is", "another table", *reasons)
        gone = {
            change.object
            for change in changes
            if change.action == "dropped" and any(reason in change.reason for reason in reasons)
        }
        return [n for n, label in enumerate(labels) if label in GROUPS[group] and n not in gone]

    for group in ("rows", "columns"):
        yield kept(group, "no word", "covers it"), None
        yield kept(group, "no word", "covers it", "no text"), None
    left = [row[1] for row in found._objects]
    if "table row" in left and left.count("table column") > 1:
        yield kept("headers", "covers it"), None
        lines: dict[int, Any] = {}
        for step in ("align", "overlap", "tree"):
            for change in changes:
                if change.step == step and change.action == "dropped":
                    lines.pop(change.object, None)
                elif change.step == step:
                    lines[change.object] = (change.rows, change.columns)
            yield sorted(lines), dict(lines)


@recorded
@pytest.mark.parametrize("variant", PATHS)
def test_recorded_raw_grids(variant: str) -> None:
    compared = 0
    for case in cases():
        expected = case["expected"]["raw_grid"]
        if isinstance(expected, dict):  # it divides by zero
            continue
        table = raw_grid(case["objects"], variant=variant)
        boxes = [table.cells[n].box for n in table.grid.ravel().tolist()]
        wanted = [box for row in expected for box in row]
        assert are_near(boxes, wanted), case["id"]
        compared += 1
    assert compared > 150


@recorded
@pytest.mark.parametrize("case_id", sorted(FAILS))
def test_where_the_published_code_fails_there_is_a_table(case_id: str) -> None:
    case = next(case for case in cases() if case["id"] == case_id)
    assert any("ZeroDivision" in str(case["expected"][path]) for path in PATHS.values())
    for variant in (*PATHS, "paper"):
        assert from_objects(case["objects"], case["tokens"], variant=variant).table.cells


def check_cover(found: ResolvedTable) -> None:
    """Every position has exactly one cell."""
    table = found.table
    covered = np.zeros(table.grid.shape, dtype=int)
    for cell in table.cells:
        covered[np.ix_(cell.rows, cell.columns)] += 1
    assert (covered == 1).all()
    if table.cells:
        last = max((cell.rows[-1] for cell in table.cells if cell.is_header), default=-1)
        assert header_rows(table) == last + 1
    assert 0 <= found.confidence <= 1


def shown(found: ResolvedTable) -> Any:
    """All that must not depend on the order of objects; which of two equal ones it is, may."""
    return found.table.cells, found.confidence, found.objects.drop(columns="object").to_dict("list")


@pytest.mark.parametrize("seed", range(int(os.environ.get("EXTRACTBENCH_FUZZ", "300"))))
def test_random_objects(seed: int) -> None:
    rng = random.Random(seed)
    objects, words = random_objects(rng)
    given_before = copy.deepcopy((objects, words))
    found = from_objects(objects, words)
    check_cover(found)
    shuffled = rng.sample(objects, len(objects))
    assert str(shown(from_objects(shuffled, words))) == str(shown(found))
    for variant in PATHS:
        if variant == "released" or any(item["label"] == "table" for item in objects):
            from_objects(objects, words, variant=variant)
    assert (objects, words) == given_before


LINES = [
    {"label": "table", "bbox": [0, 0, 90, 60]},
    *({"label": "table row", "bbox": [0, y, 90, y + 20]} for y in (0, 20, 40)),
    *({"label": "table column", "bbox": [x, 0, x + 30, 60]} for x in (0, 30, 60)),
]


def item(label: str, *box: float, score: float = 1.0) -> dict[str, Any]:
    return {"label": f"table {label}", "bbox": box, "score": score}


def drawn(found: ResolvedTable) -> str:
    """The grid row by row: a letter per cell, upper case in the header; how many cells."""
    order: dict[int, int] = {}
    for n in found.table.grid.ravel().tolist():
        order.setdefault(n, len(order))
    header = [cell.is_header for cell in found.table.cells]
    letters = {n: chr((65 if header[n] else 97) + place) for n, place in order.items()}
    rows = ("".join(letters[n] for n in row) for row in found.table.grid.tolist())
    return " ".join((*rows, str(len(found.table.cells))))


def word(text: str, *box: float, **more: Any) -> dict[str, Any]:
    return {"text": text, "bbox": box, **more}


#: Objects and words, and what is drawn: paper, released, released_inference.
DEFECTS = {
    "inference: spanning cells cross the header's edge": (
        [*LINES, item("column header", 0, 0, 90, 20), item("spanning cell", 0, 0, 60, 60)],
        [],
        ("ABC dde ddf 6", "ABC dde ddf 6", "aaB aac aad 4"),
    ),
    "inference: rows with low scores are kept": (
        [*LINES[:3], item("row", 0, 40, 90, 60, score=0.4), *LINES[4:]],
        [],
        ("abc def 6", "abc def 6", "abc def ghi 9"),
    ),
    "a shrunk cell keeps its box": (
        [
            *LINES,
            item("spanning cell", 0, 0, 30, 40),
            item("spanning cell", 0, 20, 90, 40, score=0.8),
        ],
        [],
        ("abc add efg 7", "abc ddd efg 7", "abc ddd efg 7"),
    ),
    "a dropped cell shrinks others": (
        [
            *LINES,
            item("spanning cell", 30, 0, 60, 60),
            item("spanning cell", 0, 20, 60, 40, score=0.9),
            item("spanning cell", 0, 20, 30, 60, score=0.8),
        ],
        [],
        ("abc dbe dbf 6", "abc dbe fbg 7", "abc dbe fbg 7"),
    ),
    "a header below the first row loses its rest": (
        [*LINES, item("column header", 0, 20, 90, 60)],
        [],
        ("ABC DEF GHI 9", "ABC DEF ghi 9", "ABC DEF ghi 9"),
    ),
    "of two headers the order of scores decides": (
        [
            *LINES,
            item("column header", 0, 0, 90, 20, score=0.6),
            item("column header", 0, 40, 90, 60),
        ],
        [],
        ("ABC def ghi 9", "ABC DEF GHI 9", "ABC DEF GHI 9"),
    ),
    "a spanning cell below plain header cells is dropped": (
        [*LINES, item("column header", 0, 0, 90, 40), item("spanning cell", 0, 20, 60, 40)],
        [],
        ("ABC DDE fgh 8", "ABC DEF ghi 9", "ABC DDE fgh 8"),
    ),
    "inference, one column: no score is too low": (
        [
            *LINES[:5],
            item("column header", 0, 8, 90, 20),
            item("spanning cell", 0, 20, 30, 60, score=0.3),
        ],
        [],
        ("A b c 3", "A b c 3", "A b b 2"),
    ),
    "inference: words outside go into cells": (
        [LINES[0], item("row", 0, 0, 90, 60), *LINES[4:]],
        [*(word("in", x, 1, x + 9, 9) for x in (1, 40, 70)), word("out", 80, 50, 88, 90)],
        ("abc 3", "abc 3", "abc 3"),
    ),
    "without a table words beyond 1000 do not count": (
        [item("row", 0, 0, 2000, 20), item("row", 0, 20, 2000, 40), item("column", 0, 0, 2000, 40)],
        [word("a", 1500, 5, 1600, 15)],
        ("a 1", "a b 2", None),
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defects_are_mended_or_kept(name: str) -> None:
    objects, words, expected = DEFECTS[name]
    for variant, drawing in zip(("paper", *PATHS), expected, strict=True):
        if drawing is None:
            with pytest.raises(InputError, match="none has the label 'table'"):
                from_objects(objects, words, variant=variant)
        else:
            assert drawn(from_objects(objects, words, variant=variant)) == drawing, variant


def test_words_outside_the_table() -> None:
    objects, words, _ = DEFECTS["inference: words outside go into cells"]
    texts = [from_objects(objects, words, variant=v).table.texts[0][2] for v in ("paper", *PATHS)]
    assert texts == ["in", "in", "in out"]


@pytest.mark.parametrize("label, limit", [("column", 0.25), ("row", 0.5)])
@pytest.mark.parametrize("variant", ["paper", *PATHS])
def test_without_words_too_much_overlap_drops_a_line(
    label: str, limit: float, variant: str
) -> None:
    def count(share: float) -> int:
        start = 64 * (1 - share)
        far = start + 64
        box = (start, 0, far, 9) if label == "column" else (0, start, 9, far)
        first = (0, 0, 64, 9) if label == "column" else (0, 0, 9, 64)
        table = {"label": "table", "bbox": [0, 0, 128, 128]}
        objects = [table, item(label, *first), item(label, *box, score=0.9)]
        found = from_objects(objects, variant=variant).objects["label"]
        return int((found == f"table {label}").sum())

    assert [count(limit - 1 / 64), count(limit)] == [2, 1]


def test_a_footnote_mark_does_not_make_a_row() -> None:
    words = [word("a", 5, 5, 15, 15), word("2", 5, 25, 15, 35, flags=1), word("b", 5, 45, 15, 55)]
    others = [word("c", 35, 5, 45, 15), word("d", 65, 5, 75, 15)]
    found = from_objects(LINES, words + others)
    assert found.table.texts == [["a", "c", "d"], ["b", "", ""]]
    dropped = found.changes.set_index("object").loc[2]
    assert (dropped["step"], dropped["reason"]) == ("rows", "its words have no text")


def test_words_are_joined_in_their_order() -> None:
    words = [
        word("d ", 5, 5, 15, 15, block_num=2),
        word("c", 5, 5, 15, 15, block_num=1, line_num=1),
        word("b ", 5, 5, 15, 15, block_num=1, span_num=1),
        word("a", 5, 5, 15, 15, block_num=1, span_num=0),
    ]
    table = item("row", 0, 0, 30, 20), item("column", 0, 0, 30, 20)
    assert from_objects(table, words).table.texts == [["a b c d"]]


def test_rows_and_columns_shrink_to_their_words() -> None:
    words = [word("a", 5, 4, 10, 16), word("b", 40, 22, 50, 38), word("c", 70, 45, 80, 50)]
    found = from_objects(LINES, words)
    boxes = {cell.text: cell.box for cell in found.table.cells if cell.text}
    assert boxes == {"a": (5, 4, 10, 16), "b": (40, 22, 50, 38), "c": (70, 45, 80, 50)}
    rows = found.objects[found.objects["label"] == "table row"]
    assert rows["y1"].tolist() == [20, 40, 60]


def test_confidence_is_of_the_worst_word_and_the_mean() -> None:
    words = [word("a", 5, 5, 15, 15), word("b", 22, 25, 32, 35), word("c", 70, 45, 80, 55)]
    assert from_objects(LINES, words).confidence == pytest.approx((0.8 + 2.8 / 3) / 2)
    assert from_objects(LINES).confidence == 0


def test_what_cannot_be_used_is_in_the_changes() -> None:
    bad = [
        {"label": "table rows", "bbox": [0, 0, 9, 9]},
        {"label": "table row", "bbox": [0, 9, 9, 0]},
        item("row", 0, 0, 9, 9, score=1.5),
    ]
    found = from_objects(bad + LINES, [{"text": "a", "bbox": None}])
    assert drawn(found) == "abc def ghi 9"
    read = found.changes[found.changes["step"] == "read"]
    assert read["object"].tolist() == [0, 1, 2, pd.NA]
    assert read["reason"].str.contains("did you mean 'table row'|reversed|1.5|word 0").all()
    assert {*found.changes["step"]} <= {*STEPS}
    assert found.changes.columns.tolist() == CHANGE_COLUMNS.names


@pytest.mark.parametrize("objects", [[], LINES[:1], LINES[:4], LINES[4:]])
def test_without_rows_or_columns_the_table_is_empty(objects: list[Any]) -> None:
    found = from_objects(objects, [word("a", 1, 1, 2, 2)])
    assert (found.table.size, found.confidence) == (0, 0)


TWO = [{"label": "table", "bbox": [0, 100, 90, 120]}, item("row", 0, 100, 90, 120)]


@pytest.mark.parametrize("variant", ["paper", *PATHS])
def test_one_of_two_tables(variant: str) -> None:
    objects = [*LINES, *TWO, item("column", 0, 100, 90, 120)]
    first, second = (from_objects(objects, variant=variant, table=n).table for n in (0, 7))
    assert (first.grid.shape, second.grid.shape) == ((3, 3), (1, 1))


@pytest.mark.parametrize("table", [None, 0, 7])
@pytest.mark.parametrize("variant", ["paper", *PATHS])
def test_another_threshold_keeps_all_other_arguments(variant: str, table: int | None) -> None:
    doubtful = item("row", 0, 20, 90, 40, score=0.6)
    objects = [*LINES[:2], doubtful, *LINES[3:], *TWO, item("column", 0, 100, 90, 120)]
    words = [word("a", 1, 1, 9, 9), word("b", 1, 21, 9, 29), word("c", 1, 41, 9, 49)]
    first = from_objects(objects, words, variant=variant, table=table)
    for threshold in (0.3, 0.7):
        again = first.with_threshold(threshold)
        wanted = from_objects(objects, words, variant=variant, threshold=threshold, table=table)
        assert (again.variant, again.threshold) == (variant, threshold)
        assert again.table.cells == wanted.table.cells
        assert again.changes.equals(wanted.changes)
    with pytest.raises(InputError, match="threshold is 2; expected a number from 0 to 1"):
        first.with_threshold(2)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"variant": "papers"}, "variant is 'papers'; did you mean 'paper'?"),
        ({"threshold": 50}, "threshold is 50; expected a number from 0 to 1"),
        ({"table": 1}, "table is 1; expected the position of an object with the label 'table'"),
        ({"words": "a"}, "words is str; expected a DataFrame or a list of dicts"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        from_objects(LINES, **arguments)
    assert str(caught.value).startswith(message)


def test_raw_grids_go_into_rawloc() -> None:
    moved = [line | {"bbox": [x + 3 for x in line["bbox"]]} for line in LINES]
    scores = grits(from_objects(LINES).table, raw_grid(moved), "rawloc").scores
    score = scores.loc["rawloc", "fscore"]
    assert score == pytest.approx(27 * 17 / (2 * 600 - 27 * 17))
    spanning = item("spanning cell", 2, 1, 58, 19)
    grids = {variant: raw_grid([*LINES, spanning], variant=variant) for variant in PATHS}
    boxes = {variant: grid.cells[0].box for variant, grid in grids.items()}
    assert boxes == dict.fromkeys(PATHS, (0, 0, 60, 20))
    assert raw_grid([*LINES, spanning]).cells[0].box == (2, 1, 58, 19)


def test_result_in_a_notebook() -> None:
    found = from_objects(LINES)
    assert repr(found).startswith("ResolvedTable(Table(3 x 3 positions, 9 cells), confidence 0.000")
    assert found._repr_html_() == found.table._repr_html_()


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_position_has_one_cell(rng: random.Random) -> None:
    check_cover(from_objects(*random_objects(rng)))


def check_round_trip(table: Table) -> None:
    found = from_objects(to_objects(table), words_of(table))
    assert known(found.table) == known(table)
    assert found.confidence == pytest.approx(1)


@pytest.mark.parametrize("table", made_up_tables(100, seed=3))
def test_objects_of_a_table_give_the_table(table: Table) -> None:
    check_round_trip(table)


CANONICAL = """
# Item | Sales | <    | <
# ^    | Plan  | <    | Done
# ^    | 2020  | 2021 | ^
= Paper| <     | <    | <
  A4   | 5     | 7    | 1
  A5   | ^     | 8    | 2

# Item | x     | y
# ^    | Sales | <
  A4   | 5     | 7

# a    | Sales | <
# Both | <     | b
# x    | y     | z
  A4   | 5     | 7

# Item
= Paper
  A4
"""


@pytest.mark.parametrize("drawing", CANONICAL.strip("\n").split("\n\n"))
def test_objects_of_a_canonical_table_give_the_table(drawing: str) -> None:
    table = table_of(drawing)
    assert drawing.startswith("# a") or canonicalize(table).table is table
    check_round_trip(with_boxes(table))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 6), st.integers(1, 5), st.integers(0, 3))
def test_objects_of_any_canonical_table_give_the_table(
    seed: int, height: int, width: int, headers: int
) -> None:
    rng = random.Random(seed)
    free = {(row, column) for row in range(height) for column in range(width)}
    cells = []
    for row, column in sorted(free):
        if (row, column) not in free:
            continue
        down, across = rng.choice([(1, 1)] * 6 + [(1, 2), (2, 1), (1, 3), (2, 2)])
        rows = tuple(range(row, min(row + down, height)))
        columns = tuple(range(column, min(column + across, width)))
        covered = {(r, c) for r in rows for c in columns}
        if not covered <= free or row < headers <= rows[-1]:
            rows, columns, covered = (row,), (column,), {(row, column)}
        free -= covered
        # a row or column without a word of its own is not one
        is_first = column == 0 or row == 0
        text = rng.choice("ABCx1234") if is_first or rng.random() < 0.7 else ""
        cells.append(Cell(rows, columns, text, is_header=row < headers))
    table = canonicalize(table_of_cells(cells)).table
    starts = [{side[0] for side in sides} for sides in lines_with_text(table)]
    if [len(side) for side in starts] != list(table.grid.shape):
        return
    if any(not c.text and len(c.rows) * len(c.columns) > 1 for c in table.cells):
        return
    check_round_trip(with_boxes(table))


def lines_with_text(table: Table) -> list[list[tuple[int, ...]]]:
    filled = [cell for cell in table.cells if cell.text]
    return [[cell.rows for cell in filled], [cell.columns for cell in filled]]


def with_boxes(table: Table) -> Table:
    """Boxes with the extent of each cell."""
    cells = (
        cell._replace(
            box=(
                60.0 * cell.columns[0],
                20.0 * cell.rows[0],
                60.0 * cell.columns[-1] + 50,
                20.0 * cell.rows[-1] + 10,
            )
        )
        for cell in table.cells
    )
    return table_of_cells(cells)
