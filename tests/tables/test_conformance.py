"""Grid table similarity as the published code computed it, and as the paper defines it."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Table, table_of_cells
from extractbench_nb.tables.grid_similarity import grits, measured
from extractbench_nb.tables.paper import keep_curves
from extractbench_nb.tables.reading import read_table

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")

#: The reference goes through single precision there; `released_float64` is the same in double.
SINGLE = {("released", "top"): 1e-6, ("released", "loc"): 1e-6}
VARIANTS = {
    "paper": ("top", "con", "loc"),
    "released": ("top", "con", "loc"),
    "paper_substring": ("con",),
    "released_float64": ("loc",),
}


@cache
def cases() -> list[Any]:
    path = Path(str(FOLDER)) / "grits_dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [case for case in map(json.loads, lines) if "true_cells" in case]


@cache
def tables(number: int) -> tuple[Table, Table]:
    """Both tables of a case, which is read once for all variants."""
    case = cases()[number]
    return read_table(case["true_cells"]), read_table(case["pred_cells"])


def close(found: Any, expected: Any, tolerance: float) -> bool:
    return all(abs(found[name] - value) <= tolerance for name, value in expected.items())


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_scores(variant: str) -> None:
    wrong, seen = [], 0
    for number, case in enumerate(cases()):
        expected, names = case["expected"][variant], VARIANTS[variant]
        seen += len(names)
        if any("error" in expected[name] for name in names):
            assert all("error" in expected[name] for name in names)
            with pytest.raises(InputError, match="no cell covers row"):
                tables(number)
            continue
        result = grits(*tables(number), names, variant.removesuffix("_float64"))
        found = result.scores.to_dict("index")
        wrong += [
            (case["id"], name, found[name], expected[name])
            for name in names
            if not close(found[name], expected[name], SINGLE.get((variant, name), 1e-9))
        ]
    assert seen >= 230
    assert not wrong, wrong[:5]


def test_ties_are_broken_within_the_recorded_range() -> None:
    seen = 0
    for number, case in enumerate(cases()):
        for variant, by_metric in case["expected"]["tie_range"].items():
            for name, (low, high) in by_metric.items():
                fscore = measured(name, *tables(number), variant).scores[0]
                assert low - 1e-9 <= fscore <= high + 1e-9
                seen += 1
    assert seen > 5


@cache
def figure() -> list[Any]:
    with gzip.open(Path(str(FOLDER)) / "grits_fig6.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def kept(mask: str) -> list[int]:
    return [n for n, bit in enumerate(mask) if bit == "1"]


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("built", ["submatrix", "rebuilt_cells"])
def test_parts_of_tables(variant: str, built: str) -> None:
    """Figure 6 of the paper: every part as it was recorded, table by table."""
    wrong, seen = [], 0
    for case in figure()[:: 8 if variant == "paper" else 20]:
        table = table_of_cells(case["true_cells"])
        rows, columns = (range(size) for size in table.grid.shape)
        for known in case["expected"]["fscores"]:
            masks = {side: kept(m) for side, m in case["keep_masks"][str(known["x"])].items()}
            down = masks["rows"] if known["mode"] != "columns" else rows
            across = masks["columns"] if known["mode"] != "rows" else columns
            part, lines = table.part(down, across), None
            if built == "submatrix":
                part, lines = table, (down, across)
            for name in ("top", "con", "loc"):
                seen += 1
                found = measured(name, table, part, variant, lines).scores[0]
                expected = known[f"{variant}.{built}.{name}"]
                if abs(found - expected) > 1e-6:
                    wrong.append((case["id"], known["x"], known["mode"], name, found, expected))
    assert seen >= 100
    assert not wrong, (len(wrong), seen, wrong[:5])


def test_curves_in_steps_of_a_tenth() -> None:
    """Figure 6 over recorded tables: as near to the share that is kept as the recorded curves."""
    tables = [case["true_cells"] for case in figure()[::4]]
    curves = keep_curves(tables, metrics=["grits_top", "grits_con", "grits_loc"])
    assert curves["x"].unique().tolist() == [n / 10 for n in range(11)]
    wide = curves.pivot_table(index=["mode", "x"], columns="metric", values="score")
    away = wide.sub(wide["ideal"], axis=0).abs().max().astype(float)
    assert away["grits_loc"] < 1e-12
    assert away.max() < 0.015


@cache
def html_cases() -> list[Any]:
    with gzip.open(Path(str(FOLDER)) / "grits_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [case for case in map(json.loads, lines) if "true_html" in case]


def test_html_is_scored_as_recorded() -> None:
    """What the published reader reads. Where it sees no cell in XHTML, ours reads the table."""
    wrong, seen = [], 0
    for case in html_cases():
        expected = case["expected"]["html"]
        if "error" in expected["grits_from_html"]:
            continue
        given = case["true_html"], case["pred_html"]
        if any("xmlns" in text for text in given):
            assert grits(*given).scores["fscore"].tolist() == [1.0, 1.0]
            continue
        flat = expected["grits_from_html"]
        released = {
            name: {
                "fscore": flat[f"grits_{name}"],
                "precision": flat[f"grits_precision_{name}"],
                "recall": flat[f"grits_recall_{name}"],
                "upper_bound": flat[f"grits_{name}_upper_bound"],
            }
            for name in ("top", "con")
        }
        variants = {key: expected[key] for key in ("paper", "paper_substring")}
        for variant, by_metric in (variants | {"released": released}).items():
            scores = grits(*given, list(by_metric), variant).scores.to_dict("index")
            for name, known in by_metric.items():
                seen += 1
                if not close(scores[name], known, SINGLE.get((variant, name), 1e-9)):
                    wrong.append((case["id"], variant, name, scores[name], known))
    assert seen >= 240
    assert not wrong, wrong[:5]


def test_html_that_the_published_code_fails_on() -> None:
    """Ours mends the table and says so, or there is none in the text."""
    mended, refused = 0, 0
    for case in html_cases():
        if "error" not in case["expected"]["html"]["grits_from_html"]:
            continue
        try:
            found = grits(case["true_html"], case["pred_html"])
        except InputError as error:
            refused += "no table" in str(error)
        else:
            assert found.predicted.size
            mended += found.scores.loc["con", "fscore"] > 0.8
    assert mended >= 5
    assert refused >= 1
