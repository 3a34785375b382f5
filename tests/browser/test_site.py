"""The documentation site in a real browser: every width, light and dark, without a network."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import new_context
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
WIDTHS = (400, 900, 1400)
PAGES = [
    "docs/index",
    "docs/start",
    "docs/tutorials",
    "docs/howto/gate",
    "docs/reference/api/objects/evaluate",
    "docs/reference/api/top",
    "docs/reference/cli",
    "docs/reference/evaluation_config",
    "docs/reference/frames",
    "docs/reference/metrics/string_semantic",
    "docs/reference/mismatches",
    "docs/explanation/architecture",
    "docs/explanation/choose_a_metric",
    "notebooks/00_quickstart",
    "notebooks/05_table_metrics",
    "notebooks/11_baseline_tables",
    "CHANGELOG",
]
#: Without `preload`: axe would load style sheets again, from wrong addresses.
AXE = {"resultTypes": ["violations"], "preload": False}
CUT = """() => [...document.querySelectorAll("article h1, article p, article li, article img")]
    .filter((e) => e.checkVisibility() && !e.closest("table, .cell_output"))
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
    .map((e) => e.outerHTML.slice(0, 200))"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-c", "docs", "-b", "html", "-W", "--keep-going", "-q", "-d", f"{folder}/trees"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, ".", str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module", params=["light", "dark"])
def tab(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    """A page of the browser whose `problems` are errors, and requests that leave the site."""
    context = new_context(browser, color_scheme=request.param)
    page = context.new_page()
    page.problems = problems = []
    errors = ("error", "warning")
    page.on("console", lambda m: problems.append(m.text) if m.type in errors else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    inside = (address, "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(inside) else problems.append(r.url))
    page.on("response", lambda r: problems.append(r.url) if r.status >= 400 else None)
    yield page
    context.close()


def findings(page: Any) -> list[str]:
    """What axe-core finds, of any impact."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{found['id']}: {node['html'][:300]} {node.get('failureSummary', '')[:300]}"
        for found in Axe().run(page, options=AXE).response["violations"]
        for node in found["nodes"]
    ]


def check(page: Any, address: str) -> None:
    """The page fits every width, is accessible, and loads nothing from elsewhere."""
    page.problems.clear()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)  # the theme makes regions that scroll focusable when it loads
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT) == []
    assert findings(page) == []
    assert page.problems == []


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_are_accessible_and_load_nothing_from_elsewhere(
    name: str, tab: Any, address: str
) -> None:
    check(tab, f"{address}/{name}.html")


@pytest.mark.parametrize("tab", ["dark"], indirect=True)
def test_all_kinds_of_views_are_readable_in_the_dark(tab: Any, address: str) -> None:
    check(tab, f"{address}/notebooks/01_why_is_the_score_low.html")
    background = "e => getComputedStyle(e).backgroundColor.match(/[0-9.]+/g).slice(0, 3)"
    for twin in tab.locator(".xb-twin").all():
        assert all(float(part) < 60 for part in twin.evaluate(background))


@pytest.mark.parametrize("tab", ["light"], indirect=True)
@pytest.mark.parametrize("from_disk", [False, True])
def test_search_finds_a_metric_without_a_network(
    from_disk: bool, tab: Any, site: Path, address: str
) -> None:
    start = site.as_uri() if from_disk else address
    tab.goto(f"{start}/search.html?q=string_semantic")
    results = tab.locator("#search-results ul.search li a")
    results.first.wait_for()
    links = [link.get_attribute("href") for link in results.all()]
    assert len(links) >= 3
    assert any("reference/metrics/string_semantic.html" in link for link in links[:3])
