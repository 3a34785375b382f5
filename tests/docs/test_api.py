"""The reference: every public name has an entry that says something, every frame its columns."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from sphinx.util.inventory import InventoryFile

import extractbench_nb
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference" / "api"
#: Namespaces of the top level. The command line has a page of its own.
NAMESPACES = [
    value.__name__.removeprefix("extractbench_nb.")
    for value in (getattr(extractbench_nb, name) for name in extractbench_nb.__all__)
    if inspect.ismodule(value)
]


def extension(name: str) -> ModuleType:
    """A Sphinx extension of the site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs" / "_ext")
        return import_module(name)


@pytest.fixture(scope="module")
def api() -> ModuleType:
    """The extension that writes the pages of the API."""
    return extension("api_pages")


@pytest.fixture(scope="module")
def frames() -> ModuleType:
    """The extension that writes the tables of columns."""
    return extension("frame_pages")


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The documented objects, with their place, of the pages built as the site builds them."""
    site = tmp_path_factory.mktemp("site")
    only = (
        "include_patterns=docs/reference/api/**,docs/reference/frames*.md",
        "root_doc=docs/reference/api/index",
        "suppress_warnings=toc.not_included,myst.xref_missing,ref.doc",  # other pages
    )
    options = [part for setting in only for part in ("-D", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-c", "docs", "-W", "-q", *options, ".", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    return {
        name: item.uri
        for role, items in found.items()
        if role.startswith("py:")
        for name, item in items.items()
    }


def test_every_namespace_is_on_a_page(api: ModuleType):
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    assert sorted(re.findall(r"^\.\. api:: ([\w.]+)$", pages, re.MULTILINE)) == sorted(
        api.NAMESPACES
    )
    assert sorted(api.NAMESPACES) == sorted(NAMESPACES)


@pytest.mark.parametrize("name", ["", *NAMESPACES])
def test_every_public_name_has_an_entry(api: ModuleType, objects: dict[str, str], name: str):
    for entry in [*api.entries(name), *api.results(name)]:
        assert entry.summary, entry.path
        if not inspect.ismodule(entry.value) or name:
            assert entry.path in objects
            assert (
                objects[entry.path].endswith(f"#{entry.path}")
                or "#module-" in (objects[entry.path])
            )


def test_the_groups_of_the_top_level_have_every_name(api: ModuleType):
    page = (PAGES / "top.md").read_text(encoding="utf-8")
    groups = " ".join(re.findall(r"^ +:from: (.*)$", page, re.MULTILINE)).split()
    values = api.public("").values()
    homes = {api.home_room(value) for value in values if not inspect.ismodule(value)}
    assert sorted(groups) == sorted(homes)


def test_every_frame_of_the_package_is_shown_once(frames: ModuleType):
    pages = [page.read_text(encoding="utf-8") for page in PAGES.parent.glob("frames*.md")]
    lines = "\n".join(pages).splitlines()
    shown = [line["place"] for line in map(frames.LINE.match, lines) if line]
    assert sorted(shown) == sorted(frames.declarations())
    assert [place for place in shown if not frames.declaration(place).columns] == []
