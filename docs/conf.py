"""Sphinx configuration of the documentation. `make docs` builds it, without a network."""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from extractbench_nb import __version__

lexers["mermaid"] = TextLexer()

project = "extractbench_nb"
author = "extractbench_nb contributors"
project_copyright = author
release = version = __version__

# The folder of sources is the repository, so that links between documents, notebooks and files work
# on the site as they do in a clone.
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "docs/reference/api/objects/*.rst",
    "notebooks/*.ipynb",
    "notebooks/README.md",
    "dataset/README.md",
    "dataset/construction/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
]
exclude_patterns = [".*", "build", "dist", "extractbench_nb", "**/.ipynb_checkpoints"]
html_extra_path = ["_static/index.html"]

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "accessible",
    "gallery",
    "cli_pages",
    "mathml",
    "metric_pages",
    "api_pages",
    "frame_pages",
    "room_pages",
]

# Notebooks are executed and their outputs compared by `make notebooks`, not here.
nb_execution_mode = "off"
# The static version of a view, not the live widget, whose scripts would be loaded from the network.
nb_mime_priority_overrides = [("html", "text/html", 0), ("html", "image/svg+xml", 5)]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc docstrings state the types
autosummary_generate = False
default_role = "py:obj"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "extractbench_nb"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_context = {"default_mode": "auto"}  # light or dark as the reader's system
html_math_renderer = "mathml"
html_show_sourcelink = False
# The first two have no pages below, and the frames of notebooks need the width.
html_sidebars = {name: [] for name in ("docs/index", "docs/start", "notebooks/*")}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
