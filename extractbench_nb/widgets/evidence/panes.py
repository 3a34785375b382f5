"""The two panes of the evidence view: the list of values, and the page."""

from __future__ import annotations

import traitlets

from extractbench_nb.widgets.assets import asset
from extractbench_nb.widgets.view import Pane

__all__ = ["PagePane", "ValuesPane"]

_STYLE = asset("shared/base.css", "evidence/evidence.css")


class ValuesPane(Pane):
    """A list of values; `selected` is the key of the chosen one. Event ``turn`` with ``by``."""

    _esm = asset("shared/dom.js", "evidence/values.js")
    _css = _STYLE

    selected = traitlets.Unicode("").tag(sync=True)


class PagePane(Pane):
    """A page as a picture. Events ``place`` and ``page`` with ``by``, -1 or 1."""

    _esm = asset("shared/dom.js", "evidence/page.js")
    _css = _STYLE

    image = traitlets.Bytes(b"").tag(sync=True)
