"""A real Chromium, the system's own; no browser is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import chromium, new_context
from tests.browser.lab import Lab, Notebook


@dataclass
class Opened:
    """A page, with everything that went wrong on it and every address that it asked for."""

    page: Any
    address: str
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing went wrong, and nothing but the file itself was asked for."""
        assert self.problems == []
        assert self.requests == [self.address]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window.

    One a module: while playwright runs, `asyncio.run` of another test would find its event loop.
    """
    with chromium() as found:
        yield found


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open a file in a fresh profile, by default as wide as a laptop; closed afterwards."""
    contexts = []

    def open_(path: Path, *, width: int = 1440, scheme: str = "light", **options: Any) -> Opened:
        size = {"width": width, "height": 900}
        context = new_context(browser, viewport=size, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        opened = Opened(page, path.as_uri())
        page.on("console", lambda message: opened.problems.append(message.text))
        page.on("pageerror", lambda error: opened.problems.append(str(error)))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto(opened.address)
        return opened

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab with a folder of its own."""
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def lab(browser: Any, jupyterlab: Lab) -> Iterator[Lab]:
    """JupyterLab for the notebooks of a module, whose kernels end with it."""
    with jupyterlab.used_by(browser) as server:
        yield server


@pytest.fixture(scope="module")
def notebook(lab: Lab, request: pytest.FixtureRequest) -> Notebook:
    """A notebook with the module's ``CELLS``, which have run."""
    return lab.open(request.module.CELLS)
