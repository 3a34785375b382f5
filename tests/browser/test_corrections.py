"""Correcting gold in the evidence view in JupyterLab: typed, accepted, undone, applied."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.lab import Notebook, serious_findings

expect = pytest.importorskip("playwright.sync_api").expect

CELLS = [
    """
import extractbench_nb as xb
ds = xb.load_dataset()
document = "brindlemoor_10q_q2_fy2031"
gold = ds.gold(document)
predicted = {**gold, "filing": {**gold["filing"], "registrant": "Somebody Else Holdings AG"}}
ev = xb.evaluate(ds.schema("quarterly_report"), gold, predicted)
one = xb.show_evidence(ds, document, ev)
one
""",
    "two = xb.show_evidence(ds, document, ev)\ntwo",
]
PATH = "$.filing.registrant"


@pytest.fixture(autouse=True)
def chosen(notebook: Notebook) -> None:
    """Both views without corrections, the wrong value chosen in the first."""
    notebook.run(
        "for view in (one, two):\n"
        f"    view.shown, view.side, view.selected_path = '', 'predicted', {PATH!r}\n"
        "    view.perform('save', 'gold')"
    )
    for cell in (0, 1):
        summary = notebook.output(cell).get_by_text("Correct gold…")
        if not summary.evaluate("element => element.parentElement.open"):
            summary.click()
    expect(editor(notebook)).to_be_visible()


def editor(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("group", name="Correct gold")


def value(notebook: Notebook, cell: int = 0) -> Any:
    return editor(notebook, cell).get_by_role("textbox", name="Gold value as JSON")


def button(notebook: Notebook, name: str) -> Any:
    return editor(notebook).get_by_role("button", name=name, exact=True)


NEW = "one.edits['new'].tolist()"


def test_a_value_is_accepted_listed_and_undone(notebook: Notebook) -> None:
    expect(value(notebook)).to_have_value('"Brindlemoor Instruments, Inc."')
    button(notebook, "Accept the predicted value").click()
    notebook.wait_python(NEW, ["Somebody Else Holdings AG"])
    expect(value(notebook)).to_have_value('"Somebody Else Holdings AG"')
    row = notebook.output(0).locator("tbody tr", has_text="Somebody Else")
    expect(row.locator(".xb-corrected")).to_have_text("→ Somebody Else Holdings AG")
    expect(notebook.output(0).get_by_role("button", name="corrected 1")).to_be_visible()
    button(notebook, "Undo").click()
    notebook.wait_python(NEW, [])
    expect(row.locator(".xb-corrected")).to_have_count(0)
    expect(value(notebook)).to_have_value('"Brindlemoor Instruments, Inc."')


def test_keys_alone_type_and_save(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    value(notebook).focus()
    keyboard.press("Control+A")
    keyboard.type("Brindle")
    keyboard.press("Tab")
    expect(button(notebook, "Save")).to_be_focused()
    keyboard.press("Enter")
    said = editor(notebook).get_by_role("status")
    expect(said).to_contain_text("expected JSON; a text needs quotes")
    value(notebook).focus()
    keyboard.press("Control+A")
    keyboard.type('"Brindlemoor')
    keyboard.press("Escape")  # leaves what is typed as it is
    keyboard.type(' PLC"')
    keyboard.press("Tab")
    keyboard.press("Enter")
    notebook.wait_python(NEW, ["Brindlemoor PLC"])
    assert notebook.python("xb.gold.corrections(one, who='ada')['who'].tolist()") == ["ada"]


def test_what_is_typed_in_one_view_stays_there(notebook: Notebook) -> None:
    value(notebook).fill('"One"')
    button(notebook, "Save").click()
    notebook.wait_python(NEW, ["One"])
    expect(value(notebook, 1)).to_have_value('"Brindlemoor Instruments, Inc."')
    assert notebook.python("len(two.edits)") == 0


def test_the_controls_have_names_and_contrast(notebook: Notebook) -> None:
    value(notebook).fill("x")
    button(notebook, "Save").click()
    expect(editor(notebook).get_by_role("status")).to_contain_text("expected JSON")
    assert serious_findings(notebook, 0) == []
