"""report.html in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import Verdict
from extractbench_nb.views.report_contents import report_content
from extractbench_nb.views.report_pages import evaluation_page

ATTACKS = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\"><svg onload=document.title='owned'>",
    "'><iframe src=javascript:document.title='owned'></iframe>",
    "</style></title></textarea><script>document.title='owned'</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "\u202e\u2066\x1b[31m\x00\ud800<b>bold</b>",
)


class AttackingJudge:
    """Puts an attack into everything that a judge may say."""

    name = ATTACKS[0]

    def compare(self, gold: str, predicted: str) -> Verdict:
        if "raise" in gold:
            raise ValueError(ATTACKS[1])
        return Verdict(0.3, ATTACKS[0], ATTACKS[1])


def attacked(attack: str, folder: Path) -> Path:
    """A page with an attack in every place where a text of others can be."""
    text = {"type": "string", "evaluation_config": "string_exact"}
    item = {"type": "object", "properties": {attack: text, "id": text, "n": {"type": "integer"}}}
    schema = {
        "type": "object",
        "required": [attack],
        "properties": {
            attack: text,
            "judged": {"type": "string", "evaluation_config": "string_semantic"},
            "failing": {"type": "string", "evaluation_config": "string_semantic"},
            "enum": {"enum": [attack + "1"], "type": "string", "evaluation_config": "string_exact"},
            "map": {"type": "object", "additionalProperties": text},
            "typed": {"type": "integer"},
            f"rows {attack}": {"type": "array", "items": item},
            "texts": {"type": "array", "items": text},
        },
    }
    row = {attack: attack, "id": "1", "n": 1}
    gold = {
        attack: attack,
        "judged": attack,
        "failing": "raise" + attack,
        "enum": attack,
        "map": {attack: attack, "gone " + attack: attack},
        "typed": 3,
        f"rows {attack}": [row, {**row, "id": "2"}, {**row, "id": "3" + attack}],
        "texts": [attack, attack + "x"],
    }
    extracted = {
        "judged": attack + "!",
        "failing": attack,
        "enum": attack + "?",
        "map": {attack: "?" + attack, "new " + attack: attack},
        "typed": attack,
        f"rows {attack}": [row, {**row, attack: attack + "y", "id": "2"}, {"id": attack}],
        "texts": [attack + "z"],
        f"undeclared {attack}": attack,
    }
    ev = xb.evaluate(schema, gold, extracted, judge=AttackingJudge())
    content = report_content(ev, attack)
    content["problem"] = attack
    content["meta"] |= dict.fromkeys(("profile", "alignment", attack), attack)
    for outcome in content["field_outcomes"][:2]:
        outcome |= {"metric_id": attack, "reason": attack}
    content["warnings"].append(dict.fromkeys(("side", "path", "kind", "message"), attack))
    path = folder / "report.html"
    path.write_bytes(evaluation_page(ev, content).encode("utf-8", "backslashreplace"))
    return path


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every section: failed fields, arrays of all kinds, warnings, a judge error."""
    folder = tmp_path_factory.mktemp("sample")
    return attacked("a long name " * 6 + "unbroken" * 30, folder)


@pytest.fixture(scope="module")
def plain_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on an output of the sample dataset."""
    dataset = xb.load_dataset()
    run = dataset.runs[dataset.runs["document"] == "cv_tobias_wendelin"].iloc[1]
    ev = xb.evaluate(dataset.schema("cv"), dataset.gold(run["document"]), Path(run["predicted"]))
    return ev.save(tmp_path_factory.mktemp("cv")) / "report.html"


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_hostile_text_stays_text(attack: str, tmp_path: Path, open_file: Any) -> None:
    opened = open_file(attacked(attack, tmp_path))
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    opened.check()
    assert page.evaluate("document.querySelectorAll('script, img, iframe, b > b').length") == 1
    assert page.title().endswith("· extraction report")
    assert "owned" not in page.title() or "<" in page.title()
    handlers = (
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).map(a => a.name)"
    )
    assert not [name for name in page.evaluate(handlers) if name.startswith("on")]
    shown = page.inner_text("body")
    if attack.isprintable():
        assert shown.count(attack) > 20
    else:
        assert "<b>bold</b>" in shown
        assert not re.search("[\x00\x1b\u202e\u2066\ud800]", shown)


def test_the_policy_stops_what_escaping_would_miss(plain_page: Path, open_file: Any) -> None:
    """A script, a style and a picture put into the page by hand are refused."""
    page = plain_page.with_name("altered.html")
    html = plain_page.read_text(encoding="utf-8")
    harm = f"{ATTACKS[0]}<style>h1 {{ display: none }}</style><img src='https://127.0.0.1:9/x.png'>"
    page.write_text(html.replace("</main>", harm + "</main>"), encoding="utf-8")
    opened = open_file(page)
    assert opened.page.title() != "owned"
    assert opened.page.is_visible("h1")
    assert len([p for p in opened.problems if "Content Security Policy" in p]) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("name", ["sample", "plain_page"])
def test_fits_the_screen(
    name: str, width: int, scheme: str, open_file: Any, request: pytest.FixtureRequest
) -> None:
    opened = open_file(request.getfixturevalue(name), width=width, scheme=scheme)
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = """[...document.querySelectorAll('main *')]
        .filter(e => !e.closest('.xb-scroll') && !e.closest('svg'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 80))"""
    assert page.evaluate(wide) == []
    opened.check()


def test_light_and_dark_differ_and_are_drawn(plain_page: Path, open_file: Any) -> None:
    from io import BytesIO

    image = pytest.importorskip("PIL.Image")
    brightness = {}
    for scheme in ("light", "dark"):
        shot = open_file(plain_page, scheme=scheme).page.screenshot()
        grey = image.open(BytesIO(shot)).convert("L")
        assert len(grey.getcolors()) > 50
        brightness[scheme] = grey.resize((1, 1)).getpixel((0, 0))
    assert brightness["light"] > 200
    assert brightness["dark"] < 60


def test_without_javascript(plain_page: Path, open_file: Any) -> None:
    opened = open_file(plain_page, java_script_enabled=False)
    folded = opened.page.query_selector("details:not([open])")
    cell = folded.query_selector(":scope > :not(summary)")
    assert not cell.is_visible()
    folded.query_selector("summary").click()
    assert cell.is_visible()
    opened.check()


@pytest.mark.parametrize("width", [360, 1440])
def test_keyboard_reaches_everything(plain_page: Path, open_file: Any, width: int) -> None:
    page = open_file(plain_page, width=width).page
    visible = """[...document.querySelectorAll(operable)]
        .filter(e => e.checkVisibility({contentVisibilityAuto: true})).length"""
    page.evaluate("""document.querySelectorAll('details').forEach(d => d.open = true)""")
    operable = 'a[href], summary, [tabindex="0"], button, input, select'
    page.evaluate(f"window.operable = '{operable}'")
    wanted = page.evaluate(visible)
    page.evaluate("window.reached = new Set()")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "xb-skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    for _ in range(wanted + 2):
        if page.evaluate("document.activeElement !== document.body"):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.evaluate("reached.add(document.activeElement)")
        page.keyboard.press("Tab")
    unreached = """[...document.querySelectorAll(operable)]
        .filter(e => e.checkVisibility() && !reached.has(e)).map(e => e.outerHTML.slice(0, 90))"""
    assert wanted > 15
    assert page.evaluate(unreached) == []


def test_enter_opens_a_section(plain_page: Path, open_file: Any) -> None:
    page = open_file(plain_page).page
    array = page.locator("details.xb-array").last
    assert array.get_attribute("open") is None
    array.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert array.get_attribute("open") is not None


def test_the_skip_link_leads_to_the_results(plain_page: Path, open_file: Any) -> None:
    page = open_file(plain_page).page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_names_for_those_who_do_not_see(sample: Path, open_file: Any) -> None:
    page = open_file(sample).page
    nameless = """[...document.querySelectorAll('[role=region], [role=img], nav, section')]
        .filter(e => !e.getAttribute('aria-label') &&
            !document.getElementById(e.getAttribute('aria-labelledby'))?.textContent.trim())
        .map(e => e.outerHTML.slice(0, 80))"""
    assert page.evaluate(nameless) == []
    assert page.get_by_role("heading", level=1).count() == 1
    doubled = """(ids => ids.filter((id, i) => ids.indexOf(id) !== i))(
        [...document.querySelectorAll('[id]')].map(e => e.id))"""
    assert page.evaluate(doubled) == []
    broken = """[...document.querySelectorAll('a[href^="#"]')]
        .filter(a => !document.getElementById(a.hash.slice(1))).map(a => a.href)"""
    assert page.evaluate(broken) == []


def test_print_shows_what_is_folded(plain_page: Path, open_file: Any) -> None:
    page = open_file(plain_page).page
    page.emulate_media(media="print")
    cell = page.locator("details:not([open]) > :not(summary)").first
    assert cell.bounding_box()["height"] > 0
    assert page.locator("nav").bounding_box() is None


def test_rows_are_filtered_sorted_and_unfolded_in_the_page_alone(
    plain_page: Path, open_file: Any
) -> None:
    opened = open_file(plain_page)
    page = opened.page
    fields = page.locator("section", has=page.get_by_role("heading", name="Failed fields"))
    rows = fields.locator("tbody tr")
    every, said = rows.count(), fields.get_by_role("status")
    assert said.inner_text() == f"{every} rows"
    fields.get_by_label("Outcome").select_option(label="✓ correct")
    assert fields.locator("details").get_attribute("open") is not None
    shown = fields.locator("tbody tr:not([hidden])")
    assert 0 < shown.count() < every
    assert set(shown.locator(".xb-outcome").all_inner_texts()) == {"✓ correct"}
    fields.get_by_label("Outcome").select_option("")
    path = rows.first.locator("code").first.inner_text()
    fields.get_by_label("Filter rows").fill(path)
    assert all(path in text for text in shown.all_inner_texts())
    fields.get_by_label("Filter rows").fill("")
    head = fields.get_by_role("button", name="score").last
    head.click()
    head.click()
    scores = fields.locator("table").last.locator("td.xb-num").all_inner_texts()
    assert scores == sorted(scores, reverse=True)
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("details:not([open])").count() == 0
    opened.check()


def test_a_saved_view_is_filtered_and_sorted_without_a_kernel(
    tmp_path: Path, open_file: Any
) -> None:
    dataset = xb.load_dataset()
    run = dataset.runs[dataset.runs["document"] == "cv_tobias_wendelin"].iloc[1]
    ev = xb.evaluate(dataset.schema("cv"), dataset.gold(run["document"]), Path(run["predicted"]))
    opened = open_file(xb.show(ev).save(tmp_path / "view.html"))
    page = opened.page
    rows = page.locator(".xb-rows tbody tr")
    every = rows.count()
    page.get_by_label("Outcome").select_option(index=1)
    assert 0 < page.locator(".xb-rows tbody tr:not([hidden])").count() < every
    page.get_by_label("Outcome").select_option(index=0)
    page.get_by_role("button", name="path").click()
    paths = page.locator(".xb-rows tbody tr code").all_inner_texts()
    assert paths[0] == min(paths[0], paths[-1])
    opened.check()
