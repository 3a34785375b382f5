"""What HTML that others write (pandas, docutils) lacks: accessibility, and places to wrap."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: The empty corner of a table is a header of nothing: HTML has `td` for it.
EMPTY_HEADER = re.compile(r"<th\b([^>]*)>((?:\s|&nbsp;|&#160;|<p>\s*</p>)*)</th>")
#: pandas writes the colour of a cell into a style sheet; on the site it follows the theme.
RED = re.compile(r"(?<=\bcolor: )red(?=;)")
#: The head of a column, and a cell that is a path: both may wrap behind each part of a name.
HEADER = re.compile(r"<th\b.*?</th>", re.DOTALL)
PATH = re.compile(r"(?<=<td>)\$[^<\s]+(?=</td>)")
TEXT = re.compile(r">[^<]+<")


def repair(html: str) -> str:
    """Return the body of a page with data cells for empty headers, reds of the theme, and wraps."""
    html = RED.sub("var(--site-red)", EMPTY_HEADER.sub(r"<td\1>\2</td>", html))
    html = HEADER.sub(lambda th: TEXT.sub(lambda t: t[0].replace("_", "_<wbr>"), th[0]), html)
    return PATH.sub(lambda path: re.sub(r"(?<!\$)([.\[])", r"<wbr>\1", path[0]), html)


def repair_body(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Repair a page before it is written."""
    if "body" in context:
        context["body"] = repair(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Repair every page."""
    app.connect("html-page-context", repair_body)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
