"""The system's own Chromium; no browser is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.waiting import PATIENCE

#: Seconds that a page, a kernel or a server may take for what is expected of it.
SECONDS = PATIENCE / 2
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A Chromium without a window. Where there is none the test is skipped; in CI it fails."""
    try:
        from playwright import sync_api
    except ImportError:
        _without("playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _without(f"no Chromium: none of {', '.join(NAMES)} is on the PATH")
    sync_api.expect.set_options(timeout=SECONDS * 1000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=SECONDS * 1000
        )
        yield browser
        browser.close()


def new_context(browser: Any, **options: Any) -> Any:
    """Open a fresh profile whose pages have as much time as a busy machine takes."""
    context = browser.new_context(**options)
    context.set_default_timeout(SECONDS * 1000)
    # anywidget gives up on a view whose model is not there after two seconds
    context.add_init_script(
        "const within = AbortSignal.timeout.bind(AbortSignal);"
        f"AbortSignal.timeout = (ms) => within(Math.max(ms, {SECONDS * 1000:.0f}));"
    )
    return context


def _without(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; in CI the browser tests have to run")
    pytest.skip(reason)
