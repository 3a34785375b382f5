"""The directive `gallery`: a card per notebook, with its question and a thumbnail."""

import base64
import io
import json
import re
from pathlib import Path

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

#: A row of the table in notebooks/README.md.
ROW = re.compile(r"^\| \[(\w+)\]\(\w+\.ipynb\) \| (.+) \|$", flags=re.MULTILINE)
#: Pixels: twice the width of a card.
SIZE = (640, 320)
TAG = "thumbnail"


def questions(folder: Path) -> dict[str, str]:
    """Name of a notebook -> the question that it answers, as in the README of its folder."""
    return dict(ROW.findall((folder / "README.md").read_text(encoding="utf-8")))


def figure(path: Path) -> bytes:
    """Return the figure of the cell tagged `thumbnail`, else the last figure of the notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    tagged = [cell for cell in cells if TAG in cell["metadata"].get("tags", ())]
    outputs = [output for cell in tagged or cells for output in cell.get("outputs", ())]
    found = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    if not found:
        raise ExtensionError(f"{path.name}: no figure for its card")
    return base64.b64decode("".join(found[-1]))


def thumbnail(source: bytes, target: Path) -> None:
    """Write the image, made small, in the middle of a white rectangle of one size."""
    image = Image.open(io.BytesIO(source)).convert("RGB")
    image.thumbnail((SIZE[0] - 20, SIZE[1] - 20), Image.Resampling.LANCZOS)
    card = Image.new("RGB", SIZE, "white")
    card.paste(image, ((SIZE[0] - image.width) // 2, (SIZE[1] - image.height) // 2))
    card.quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)


def make_thumbnails(app: Sphinx) -> None:
    """Make the thumbnail of every notebook, to be copied to the site's static files."""
    source = Path(app.srcdir)
    made = Path(app.doctreedir) / "static"
    (made / "thumbnails").mkdir(parents=True, exist_ok=True)
    for path in sorted((source / "notebooks").glob("*.ipynb")):
        thumbnail(figure(path), made / "thumbnails" / f"{path.stem}.png")
    app.config.html_static_path.append(str(made))


class Gallery(SphinxDirective):
    """Cards of the notebooks whose names are the lines of the content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write the cards as a grid of sphinx-design."""
        folder = Path(self.env.srcdir) / "notebooks"
        self.env.note_dependency(str(folder / "README.md"))
        asked = questions(folder)
        up = "../" * self.env.docname.count("/")
        size = f'width="{SIZE[0] // 2}" height="{SIZE[1] // 2}"'
        lines = ["::::{grid} 1 2 2 3", ":gutter: 3"]
        for name in self.content:
            if name not in asked:
                raise ExtensionError(f"notebooks/README.md has no row of {name!r}")
            self.env.note_dependency(str(folder / f"{name}.ipynb"))
            lines += [
                f":::{{grid-item-card}} {title(folder / f'{name}.ipynb')}",
                f":link: /notebooks/{name}",
                ":link-type: doc",
                ":class-card: gallery-card",
                "```{raw} html",
                f'<img src="{up}_static/thumbnails/{name}.png" alt="" {size} loading="lazy">',
                "```",
                asked[name][:1].upper() + asked[name][1:],
                ":::",
            ]
        return self.parse_text_to_nodes("\n".join([*lines, "::::"]))


def title(path: Path) -> str:
    """Return the title of a notebook: the first line of its first cell."""
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and the thumbnails as static files."""
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", make_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
