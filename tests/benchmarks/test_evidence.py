"""Evidence: reading and indexing a PDF, looking values up in it, and drawing a page."""

from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.pdf.evidence import find_evidence, ground_values
from extractbench_nb.pdf.page_text import PdfText
from extractbench_nb.pdf.pages import read_layers, render_page
from tests.benchmarks.evaluators import label

OURS = label("extractbench-nb")
#: A quarterly report of 58 pages and 1,262 leaves; without the dataset, one of the sample.
REAL, SMALL = "mck_10q_fy2025q2", "brindlemoor_10q_q2_fy2031"


@pytest.fixture(params=[("sample", SMALL), ("extractbench", REAL)], ids=["sample", "real"])
def document(request, dataset) -> tuple[xb.runs.Dataset, str]:
    name, chosen = request.param
    return dataset(name), chosen


def index(path: Path) -> PdfText:
    made = PdfText(read_layers(path))
    assert made.figures
    assert made.dated
    assert made.places
    return made


def test_index(document, timed, benchmark):
    ds, name = document
    made: Any = timed("indexing a PDF", OURS, index, ds.pdf_path(name), rounds=3, warm=1)
    assert made.words
    benchmark.extra_info["work"] = f"{made.pages} pages"


def test_ground_values(document, timed, benchmark):
    ds, name = document
    gold = ds.gold(name)
    found = timed("grounding all leaves", OURS, ground_values, ds, name, gold, rounds=3, warm=1)
    assert found["grounded"].dropna().mean() > 0.7
    benchmark.extra_info["work"] = f"{len(found):,} leaves"


def test_find_evidence(document, timed, benchmark):
    """Once more what scores are made of is read: caches are emptied before each round."""
    ds, name = document
    leaves = ground_values(ds, name, ds.gold(name))
    values = leaves.loc[leaves["grounded"].notna(), "value"].tolist()[:100]

    def find_all():
        return [find_evidence(ds, name, value) for value in values]

    found = timed("finding values with their boxes", OURS, find_all, rounds=3, warm=1)
    assert sum(one.attrs["status"] == "found" for one in found) > 50
    pages = found[0].attrs["pages"]
    benchmark.extra_info["work"] = f"{len(values)} values, {pages} pages, indexed before"


def test_render_page(document, timed, benchmark):
    ds, name = document
    image = timed("drawing a page", OURS, render_page, ds, name, 1, rounds=3, warm=1)
    assert image.png.startswith(b"\x89PNG")
    benchmark.extra_info["work"] = f"{image.width} x {image.height} pixels"
