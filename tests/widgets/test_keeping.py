"""Saved notebooks: the live part of a view goes, the static twin stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import extractbench_nb as xb

WIDGET = "application/vnd.jupyter.widget-view+json"
LIVE = {"model_id": "abc", "version_major": 2, "version_minor": 0}
TWIN = {WIDGET: LIVE, "text/html": "<b>twin</b>", "text/plain": "twin"}
FOREIGN = {WIDGET: LIVE, "text/plain": "Button()"}


def saved(path: Path, *bundles: dict[str, Any]) -> Path:
    outputs = [new_output("display_data", dict(bundle)) for bundle in bundles]
    cells = [new_markdown_cell("# Text"), new_code_cell("view", outputs=outputs)]
    notebook = new_notebook(cells=cells, metadata={"widgets": {"state": {}}, "kept": "ü"})
    nbformat.write(notebook, path)
    return path


def separate(name: str) -> list[dict[str, Any]]:
    """The two outputs of a view: its twin, which has a name, and the live part."""
    twin = f'<div data-xb="{name}" class="xb-twin">twin</div>'
    return [{"text/html": twin, "text/plain": "twin"}, {WIDGET: LIVE}]


def test_a_view_is_kept_as_its_twin_without_a_name(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "a.ipynb", *separate("0a1b"), {"text/plain": "1"}, *separate("2c"), FOREIGN
    )
    assert xb.views.keep_static(path) == 2
    outputs = read(path).cells[1].outputs
    assert [output.data.get("text/html") for output in outputs] == [
        '<div class="xb-twin">twin</div>',
        None,
        '<div class="xb-twin">twin</div>',
        None,
    ]
    assert WIDGET in outputs[-1].data
    assert xb.views.keep_static(path) == 0


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_twins_stay_and_live_parts_go(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.ipynb", TWIN, {"text/plain": "1"}, TWIN)
    assert xb.views.keep_static(path) == 2
    found = read(path)
    nbformat.validate(found)
    assert [sorted(o.data) for o in found.cells[1].outputs] == [
        ["text/html", "text/plain"],
        ["text/plain"],
        ["text/html", "text/plain"],
    ]
    assert found.metadata == {"kept": "ü"}
    assert xb.views.keep_static(path) == 0


def test_widgets_of_others_stay_alive_with_their_state(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.ipynb", TWIN, FOREIGN)
    assert xb.views.keep_static(path) == 1
    found = read(path)
    assert WIDGET in found.cells[1].outputs[1].data
    assert "widgets" in found.metadata


def test_another_file_can_be_written(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.ipynb", TWIN)
    before = path.read_bytes()
    assert xb.views.keep_static(str(path), tmp_path / "b.ipynb") == 1
    assert path.read_bytes() == before
    assert WIDGET not in read(tmp_path / "b.ipynb").cells[1].outputs[0].data


@pytest.mark.parametrize(
    "text, message",
    [("{", "is not a notebook"), ("[]", "no list of cells"), ('{"cells": 1}', "no list of cells")],
)
def test_what_is_no_notebook_is_refused_and_kept(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(xb.InputError, match=message):
        xb.views.keep_static(path)
    assert path.read_text() == text
    with pytest.raises(xb.InputError):
        xb.views.keep_static(tmp_path / "none.ipynb")


def test_what_show_cannot_show_is_refused_with_what_can() -> None:
    ev = xb.evaluate({"type": "object"}, {}, {})
    for subject in (ev.fields, [ev, ev]):
        with pytest.raises(
            xb.InputError, match=r"explore\(\) also takes frames of fields and lists"
        ):
            xb.show(subject)
