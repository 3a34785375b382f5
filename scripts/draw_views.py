"""Take the pictures of docs/howto/views.md: its static twins, opened in Chromium.

    python -m scripts.draw_views [PATH OF CHROMIUM]

The page's own code makes the views. Needs playwright, and Chromium where no path is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from scripts.fill_tables import ROOT, names_of

PAGE = ROOT / "docs" / "howto" / "views.md"
#: View of the page's code, and how much of it is shown: width and height in pixels.
PICTURES = {"view": (900, 480), "matches": (900, 420), "explorer": (900, 480)}


def main(executable: str | None) -> None:
    names = names_of(PAGE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name, (width, height) in PICTURES.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, device_scale_factor=1.5)
            page.set_content(names[name].to_html())
            page.screenshot(path=_picture(name))
            # a third of the size
            Image.open(_picture(name)).quantize(64).save(_picture(name), optimize=True)
        browser.close()


def _picture(name: str) -> Path:
    return PAGE.with_name(f"views_{name}.png")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
