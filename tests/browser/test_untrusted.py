"""A notebook as it is after cloning: JupyterLab trusts nothing of it and drops style sheets."""

import re
from typing import Any

import pytest

import extractbench_nb as xb

RED = "rgb(163, 0, 0)"
PRINTED = """(element, names) => {
    const style = getComputedStyle(element);
    return names.map(name => style[name]);
}"""


def _styles(found: Any, *names: str) -> list[str]:
    styles: list[str] = found.evaluate(PRINTED, names)
    return styles


@pytest.fixture(scope="module")
def cells(lab: Any) -> Any:
    dataset = xb.load_dataset()
    evs = xb.evaluate_runs(dataset, progress=False)
    failing = evs.summary.sort_values("pass_rate").query("pass_rate > 0").iloc[0]
    ev = evs.evaluation(failing["run"], failing["document"])
    shown = [
        ev._repr_html_(),
        xb.explore(evs).to_html(),
        xb.show(ev).to_html(),
        xb.benchmark.style(5)._repr_html_(),
    ]
    sources = [f"'output {n}'" for n in range(len(shown))]
    notebook = lab.open(sources, run=False, saved=dict(enumerate(shown)))
    assert notebook.panel.locator(".jp-RenderedHTML style").count() == 0  # not trusted
    return notebook


def test_a_card_has_its_headline_and_columns(cells: Any) -> None:
    card = cells.output(0)
    assert _styles(card.locator(".xb-score"), "fontSize", "fontWeight") == ["20px", "600"]
    assert _styles(card.locator("td").first, "textAlign") == ["left"]
    assert _styles(card.locator("td.xb-num").first, "textAlign") == ["right"]


def test_a_heatmap_is_coloured(cells: Any) -> None:
    worst = cells.output(1).locator("td.xb-s0").first
    names = ("backgroundColor", "color", "textAlign")
    assert _styles(worst, *names) == ["rgb(166, 15, 8)", "rgb(255, 255, 255)", "center"]


def test_a_tree_has_bars_and_no_bullets(cells: Any) -> None:
    tree = cells.output(2)
    bar = tree.locator(".xb-bar").first
    assert bar.bounding_box()["width"] >= 48
    assert bar.locator("i").first.bounding_box()["width"] > 1
    assert _styles(tree.locator(".xb-nodes ul").first, "listStyleType") == ["none"]
    # a number and the word behind it are apart
    assert not re.search(r"[0-9][a-z]", tree.locator(".xb-headline").first.inner_text())


def test_table_5_is_bold_and_red(cells: Any) -> None:
    table = cells.output(3)
    bold = table.locator("td", has_text="%").evaluate_all(
        "cells => cells.filter(cell => getComputedStyle(cell).fontWeight === '700').length"
    )
    red = table.locator("td").evaluate_all(
        f"cells => cells.filter(cell => getComputedStyle(cell).color === '{RED}').length"
    )
    assert bold > 0
    assert red > 0
