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
        "    for path in view.edits['path']: view.perform('undo', path)\n"
        "    view.selected_path = ''\n"
        f"one.side, one.selected_path = 'predicted', {PATH!r}"
    )
    for cell in (0, 1):
        summary = notebook.output(cell).get_by_text("Correct gold…")
        if not summary.evaluate("element => element.parentElement.open"):
            summary.click()
    expect(editor(notebook)).to_be_visible()


def editor(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).get_by_role("group", name="Correct gold")


def value(notebook: Notebook) -> Any:
    return editor(notebook).get_by_role("textbox", name="Gold value as JSON")


def button(notebook: Notebook, name: str) -> Any:
    return editor(notebook).get_by_role("button", name=name, exact=True)


def listed(notebook: Notebook, cell: int = 0) -> Any:
    return notebook.output(cell).locator(".xb-edits li")


NEW = "one.edits['new'].tolist()"


def test_a_value_is_accepted_listed_and_undone(notebook: Notebook) -> None:
    expect(value(notebook)).to_have_value('"Brindlemoor Instruments, Inc."')
    button(notebook, "Accept the predicted value").click()
    notebook.wait_python(NEW, ["Somebody Else Holdings AG"])
    expect(value(notebook)).to_have_value('"Somebody Else Holdings AG"')
    expect(listed(notebook)).to_have_count(1)
    row = notebook.output(0).locator("tbody tr", has_text="Somebody Else")
    expect(row.locator(".xb-corrected")).to_have_text("→ Somebody Else Holdings AG")
    expect(listed(notebook, 1)).to_have_count(0)
    listed(notebook).get_by_role("button", name=f"Undo {PATH}").click()
    notebook.wait_python(NEW, [])
    expect(listed(notebook)).to_have_count(0)
    expect(value(notebook)).to_have_value('"Brindlemoor Instruments, Inc."')


def test_keys_alone_type_save_and_give_a_reason(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    value(notebook).focus()
    keyboard.press("Control+A")
    keyboard.type("Brindle")
    said = editor(notebook).get_by_role("status")
    expect(said).to_contain_text("expected JSON; a text needs quotes")
    expect(value(notebook)).to_be_focused()
    keyboard.press("Control+A")
    keyboard.type("12")
    expect(said).to_contain_text("The schema expects text, not number.")
    keyboard.press("Control+A")
    keyboard.type('"Brindlemoor')
    keyboard.press("Escape")  # leaves what is typed as it is
    keyboard.type(' PLC"')
    keyboard.press("Tab")
    expect(button(notebook, "Save")).to_be_focused()
    keyboard.press("Enter")
    notebook.wait_python(NEW, ["Brindlemoor PLC"])
    editor(notebook).get_by_role("textbox", name="Why").focus()
    keyboard.type("page 1")
    keyboard.press("Tab")
    notebook.wait_python("one.edits['why'].tolist()", ["page 1"])
    assert notebook.python("xb.gold.corrections(one, who='ada')['who'].tolist()") == ["ada"]


def test_what_is_typed_in_one_view_stays_there(notebook: Notebook) -> None:
    notebook.run(f"two.side, two.selected_path = 'gold', {PATH!r}")
    value(notebook).fill('"One"')
    button(notebook, "Save").click()
    notebook.wait_python(NEW, ["One"])
    other = editor(notebook, 1).get_by_role("textbox", name="Gold value as JSON")
    expect(other).to_have_value('"Brindlemoor Instruments, Inc."')
    assert notebook.python("len(two.edits)") == 0


def test_the_controls_have_names_and_contrast(notebook: Notebook) -> None:
    value(notebook).fill("x")
    expect(editor(notebook).get_by_role("status")).to_contain_text("expected JSON")
    button(notebook, "Accept the predicted value").click()
    expect(listed(notebook)).to_have_count(1)
    assert serious_findings(notebook, 0) == []
