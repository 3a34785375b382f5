"""Long arrays, arrays of objects, and arrays in arrays."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.benchmarks import evaluators
from tests.benchmarks.evaluators import Frames, label
from tests.benchmarks.workloads import (
    Items,
    citation_objects,
    citation_strings,
    code,
    nested,
    three_words,
)

OURS = label("extractbench-nb")


def _found_again(frames: Frames, items: Items) -> float:
    """Return the share of predicted items that are paired with the item they were made from."""
    top = frames.matches[frames.matches.path == "$.items"]
    pairs = top[["gold_index", "predicted_index"]].dropna()
    right = sum(items.is_origin(*pair) for pair in pairs.itertuples(index=False))
    assert pairs.gold_index.is_unique
    assert pairs.predicted_index.is_unique
    return right / len(items.origins)


# --- strings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("share, edited", [(0.1, "10% edited"), (1.0, "all edited")])
def test_citations(share, edited, citations, timed, benchmark):
    assert len(citations) == 1081
    kept = 281 if benchmark.disabled and share == 1 else 1081
    items = citation_strings(citations[:kept], kept - 100, share)
    found = timed(f"citations, {edited}", OURS, evaluators.ours, items.case, rounds=5, warm=1)

    array = found.arrays.iloc[0]
    benchmark.extra_info["work"] = f"1,081 x 981 strings, {array.matched} matched"
    assert (array.gold_items, array.predicted_items) == (kept, kept - 100)
    assert array.matched + array.differing + array.missed == kept
    assert _found_again(found, items) > 0.98


SMALL = "citations, all edited, 100 x 100"


def test_small_citations(citations, timed, benchmark):
    items = citation_strings(citations[:100], 100, 1.0)
    found = timed(SMALL, OURS, evaluators.ours, items.case, rounds=5, warm=1)

    benchmark.extra_info["work"] = f"100 x 100 strings, {found.arrays.matched[0]} matched"
    assert _found_again(found, items) == 1


def test_small_citations_in_stickler(citations, stickler, timed, benchmark):
    case = evaluators.for_stickler(citation_strings(citations[:100], 100, 1.0).case)
    found = timed(SMALL, label("stickler-eval"), stickler, case, rounds=3, warm=0)

    score = found["field_scores"]["items"]
    benchmark.extra_info["work"] = f"100 x 100 strings, score {score:.2f}"
    assert score > 0.9
    assert len(found["field_comparisons"]) >= 100


# --- objects -----------------------------------------------------------------------------------

#: Reads a case, evaluates it, and prints the peak of resident memory in KiB before and after.
PEAK = """
import json, re, sys
import extractbench_nb as xb

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

case = json.load(open(sys.argv[1]))
before = peak()
evaluation = xb.evaluate(*case)
rows = [len(evaluation.fields), len(evaluation.arrays), len(evaluation.matches)]
print(json.dumps([before, peak(), *rows]))
"""


def test_objects(timed, benchmark, tmp_path):
    count = 200 if benchmark.disabled else 1000
    items = citation_objects(count)
    found = timed("objects", OURS, evaluators.ours, items.case, rounds=3, warm=1)

    work = f"1,000 x 1,000 citations, {len(found.fields):,} field rows"
    if not benchmark.disabled and Path("/proc/self/status").exists():
        memory = _peak_memory(items.case, tmp_path)
        benchmark.extra_info["memory"] = memory
        work += f", peak {memory['peak_mb']:.0f} MB"
    benchmark.extra_info["work"] = work
    top = found.arrays.set_index("path").loc["$.items"]
    assert (top.gold_items, top.predicted_items) == (count, count)
    assert _found_again(found, items) == 1


def _peak_memory(case: Any, folder: Path) -> dict[str, float]:
    """Evaluate once more, alone in a process; 1 MB is 10^6 bytes."""
    path = folder / "case.json"
    path.write_text(json.dumps(case), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    before, after, fields, *_ = json.loads(done.stdout)
    assert fields > 1000
    return {"before_mb": before * 1.024e-3, "peak_mb": after * 1.024e-3}


# --- growth ------------------------------------------------------------------------------------

SIZES = (100, 200, 500, 1_000, 2_000, 3_000)


def one_line(citation: dict[str, Any]) -> str:
    authors = ", ".join(author["name"] for author in citation["authors"])
    return f"{authors}. {citation['title']}. {citation['venue']}, {citation['year']}."


def _strings(count: int) -> Items:
    objects = citation_objects(count).case.gold["items"]
    return citation_strings([one_line(c) for c in objects], count, 1.0)


def _seconds(cases: list[Any]) -> list[float]:
    """Return the CPU time of each case."""
    found = []
    for case in cases:
        evaluators.fresh()
        start = time.process_time()
        evaluators.ours(case)
        found.append(time.process_time() - start)
    return found


@pytest.mark.parametrize("make, kind", [(_strings, "strings"), (citation_objects, "objects")])
def test_growth(make, kind, quick, timed, benchmark):
    sizes = SIZES[:2] if quick else SIZES
    cases = [make(count).case for count in sizes]
    group = f"{kind}, all edited, {sizes[0]} to {sizes[-1]:,}"
    seconds = timed(group, OURS, _seconds, cases, rounds=1, warm=1)

    (exponent, _), large = np.polyfit(np.log(sizes), np.log(seconds), 1), ""
    if len(sizes) > 3:
        large = f"; n^{np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0]:.2f} from 1,000"
    benchmark.extra_info["work"] = f"grows as n^{exponent:.2f}{large}"
    assert exponent < 2


# --- arrays in arrays --------------------------------------------------------------------------


@pytest.mark.parametrize("leaf, kind", [(three_words, "words"), (code, "codes")])
def test_nested(leaf, kind, timed, benchmark):
    case = nested(5, 3, leaf)
    found = timed(f"nested, {kind}", OURS, evaluators.ours, case, rounds=20, warm=1)

    benchmark.extra_info["work"] = f"243 leaves, {len(found.matches)} item rows"
    array = found.arrays.iloc[0]
    assert (array.path, array.gold_items, array.predicted_items) == ("$.parts", 3, 3)
    assert array.matched < 3
    assert len(found.matches) >= 3


def test_nested_in_stickler(stickler, timed, benchmark):
    if benchmark.disabled:
        pytest.skip("takes half a minute: only where it is timed")
    case = evaluators.for_stickler(nested(5, 3, three_words))
    found = timed("nested, words", label("stickler-eval"), stickler, case, rounds=1, warm=0)

    comparisons = len(found["field_comparisons"])
    benchmark.extra_info["work"] = f"243 leaves, {comparisons} field comparisons"
    assert comparisons > 0
