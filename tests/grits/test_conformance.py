"""Grid table similarity as the published code computed it, and as the paper defines it."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.grits import grits

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


def close(found: Any, expected: Any, tolerance: float) -> bool:
    return all(abs(found[name] - value) <= tolerance for name, value in expected.items())


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_scores(variant: str) -> None:
    wrong, seen = [], 0
    for case in cases():
        expected = case["expected"][variant]
        for name in VARIANTS[variant]:
            seen += 1
            given = case["true_cells"], case["pred_cells"], [name], variant.removesuffix("_float64")
            if "error" in expected[name]:
                with pytest.raises(InputError, match="no cell covers row"):
                    grits(*given)
                continue
            scores = grits(*given).scores.loc[name]
            if not close(scores, expected[name], SINGLE.get((variant, name), 1e-9)):
                wrong.append((case["id"], name, scores.to_dict(), expected[name]))
    assert seen >= 230
    assert not wrong, wrong[:5]


def test_ties_are_broken_within_the_recorded_range() -> None:
    seen = 0
    for case in cases():
        for variant, by_metric in case["expected"]["tie_range"].items():
            for name, (low, high) in by_metric.items():
                found = grits(case["true_cells"], case["pred_cells"], [name], variant)
                assert low - 1e-9 <= found.scores.loc[name, "fscore"] <= high + 1e-9
                seen += 1
    assert seen > 5
