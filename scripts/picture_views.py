"""Take the pictures of views for the documentation: views in JupyterLab, light and dark.

    python -m scripts.picture_views

writes `docs/_static/view.png` and `view-dark.png`.
Needs Chromium and Pillow. The sample dataset is fixed, so that pictures change only if
the views do.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.chromium import chromium
from tests.browser.lab import Lab, Notebook

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs/_static"
WIDTH = 1500
COLOURS = 128
CELLS = [
    """
import extractbench_nb as xb
ds = xb.load_dataset()
evs = xb.evaluate_runs(ds)
document = "brindlemoor_10q_q2_fy2031"
predicted = ds.root / f"runs/heron-vision/{document}.json"
ev = xb.evaluate(ds.schema("quarterly_report"), ds.gold(document), predicted)
evidence = xb.show_evidence(ds, document, ev)
evidence.shown = "incorrect"
evidence.selected_path = "$.balance.cash.now"
""",
    "evidence",
]


def picture(notebook: Notebook, cell: int, part: str, path: Path) -> None:
    """Save the upper half of an output with a palette: a third of the size of all colours."""
    element = notebook.output(cell).locator(part).first
    element.wait_for()
    notebook.page.wait_for_timeout(2000)  # until the page of a PDF is drawn
    taken = Image.open(io.BytesIO(element.screenshot())).convert("RGB")
    shown = taken.crop((0, 0, taken.width, min(taken.width // 2, taken.height)))
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {shown.width} x {shown.height}, {path.stat().st_size // 1024} kB")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        lab = Lab(Path(folder))
        try:
            for dark, name in ((False, "view.png"), (True, "view-dark.png")):
                with lab.used_by(browser, dark=dark):
                    notebook = lab.open(CELLS, width=WIDTH)
                    picture(notebook, 1, ".xb", STATIC / name)
        finally:
            lab.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
