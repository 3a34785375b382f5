"""The reference of metrics: each metric and preset has a page, its figures can be reproduced."""

from pathlib import Path

import pandas as pd
import pytest

import extractbench_nb as xb
from scripts.draw_sensitivity import CSV, CURVES, FOLDER, HOME, KINDS, measure

#: What a page shows at least. A build fails if a case in a block `cases` is not what it says.
PARTS = (
    "## When to use",
    "## Known false accepts",
    "false accept",
    "false reject",
    "## Related",
)
METRICS = sorted(xb.metrics()["metric"])
SCORED = [name for name in METRICS if name != "skip"]
#: Kinds and corruptions that are fast to compute.
RECOMPUTED = [("codes", "case"), ("dates", "date_format"), ("amounts", "rounding")]


def page_of(name: str) -> Path:
    return FOLDER / f"{name}.md"


def test_the_pages_are_those_of_the_registered_metrics() -> None:
    assert sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "index") == METRICS


@pytest.mark.parametrize("name", METRICS)
def test_a_page_has_the_facts_and_all_parts(name: str) -> None:
    text = page_of(name).read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n\n```{{metric}} {name}\n```\n")
    assert [part for part in PARTS if part not in text] == []


def test_the_index_lists_every_page() -> None:
    lists = page_of("index").read_text(encoding="utf-8").split("{toctree}")[1:]
    listed = [line for part in lists for line in part.partition("```")[0].split("\n\n")[1].split()]
    assert sorted(listed) == METRICS


def test_every_scored_metric_has_a_curve() -> None:
    assert sorted(HOME) == SCORED
    assert sorted(curve.stem for curve in CURVES.iterdir()) == SCORED


def test_the_figures_are_those_of_all_kinds() -> None:
    assert set(pd.read_csv(CSV)["kind"]) == set(KINDS)


@pytest.mark.parametrize("kind, corruption", RECOMPUTED)
def test_the_figures_can_be_computed_again(kind: str, corruption: str) -> None:
    found = pd.read_csv(CSV)
    found = found[(found["kind"] == kind) & (found["corruption"] == corruption)]
    again = measure(kind, corruption)
    assert len(again) > 0
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), again.reset_index(drop=True), check_dtype=False
    )
