"""What HTML that others write (pandas, docutils) lacks for screen readers and for contrast."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: The empty corner of a table is a header of nothing: HTML has `td` for it.
EMPTY_HEADER = re.compile(r"<th\b([^>]*)>((?:\s|&nbsp;|&#160;|<p>\s*</p>)*)</th>")
#: pandas writes the colour of a cell into a style sheet; on the site it follows the theme.
RED = re.compile(r"(?<=\bcolor: )red(?=;)")


def repair(html: str) -> str:
    """Return the body of a page with data cells for empty headers, and reds of the theme."""
    return RED.sub("var(--site-red)", EMPTY_HEADER.sub(r"<td\1>\2</td>", html))


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
