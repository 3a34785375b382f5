"""`EvidenceView`: gold and predicted values next to the PDF page on which they were found."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.core import OUTCOMES, Evaluation
from extractbench_nb.core.schema import MISSING
from extractbench_nb.core.values import equality_key
from extractbench_nb.errors import InputError, MissingPdfError, nearest
from extractbench_nb.gold import CORRECTIONS, cell_value, corrections
from extractbench_nb.pdf import PageImage, find_evidence, render_page, score_citations
from extractbench_nb.runs import Dataset
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import one_line, plural, ratio_text, value_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views import evidence_rows as model
from extractbench_nb.views.evidence_rows import RIGHT, Leaf, Place, Row
from extractbench_nb.views.sides import alone, beside
from extractbench_nb.views.static import score_text
from extractbench_nb.views.view import Choice, View, part

#: Filters besides outcomes, with their words.
_FILTERS = {
    "failed": "all failures",
    "predicted_not_found": "predicted, not in the PDF",
    "gold_not_found": "gold, not in the PDF",
    "right_place": "cited: right place",
    "elsewhere": "cited: elsewhere",
    "not_printed": "cited: not printed",
    "wrong_value": "cited: wrong value",
    "corrected": "corrected",
}
#: Widths of a page as a share of its printed size (None: as wide as there is room), and the pixels
#: a point that this takes.
_ZOOMS: dict[str, tuple[float | None, float]] = {
    "fit": (None, 1.6),
    "100": (1.0, 1.6),
    "150": (1.5, 2.2),
    "200": (2.0, 2.8),
}
_PIXELS_A_POINT = 96 / 72
_ROWS, _STATIC_ROWS, _MOST_PLACES, _MOST_PICTURES = 100, 20, 200, 6
_LONGEST, _LONGEST_CODE = 160, 4_000
#: Points whose pixels tell where any other point is: a page may be cropped and rotated.
_FAR = 2_000.0
_CORNERS = [(0.0, 0.0) * 2, (_FAR, 0.0) * 2, (0.0, _FAR) * 2]


def _text(value: object, limit: int = _LONGEST) -> str:
    return one_line("null" if value is None else value_text(value), limit)


class _Hit(NamedTuple):
    """One occurrence of a value: its page, its lines as boxes in PDF points, and what is said."""

    page: int
    boxes: list[list[float]]
    score: float
    context: str


def _hits(evidence: pd.DataFrame) -> list[_Hit]:
    found = []
    for _, lines in evidence.groupby(["hit", "page"], sort=False) if len(evidence) else ():
        first = lines.iloc[0]
        boxes = lines[["x0", "y0", "x1", "y1"]].to_numpy().tolist()
        context = _text(f"{first['written'].replace('_', ' ')}: {first['context']}", 640)
        found.append(_Hit(int(first["page"]), boxes, float(first["score"]), context))
    return found


def _mark_style(picture: PageImage, box: Sequence[float]) -> str:
    """Write where a box in PDF points is in a picture with the marks `_CORNERS`, as CSS."""
    origin, right, up = np.array(picture.boxes, dtype=float)[:, :2]
    size = np.array([picture.width, picture.height]) / 100
    corners = [
        (origin + x / _FAR * (right - origin) + y / _FAR * (up - origin)) / size
        for x, y in (box[:2], box[2:])
    ]
    (left, top), (width, height) = np.min(corners, axis=0), np.ptp(corners, axis=0)
    return f"left:{left:.2f}%;top:{top:.2f}%;width:{width:.2f}%;height:{height:.2f}%"


def _address(picture: PageImage) -> str:
    return f"data:image/png;base64,{b64encode(picture.png).decode('ascii')}"


class _MarkedPage:
    """The address of a picture with its places marked; rendered only if it is written."""

    def __init__(self, *page: Any, boxes: Sequence[Any]) -> None:
        self._page, self._boxes = page, boxes

    def __str__(self) -> str:
        return _address(render_page(*self._page, scale=1.0, boxes=self._boxes))


class EvidenceView(View):
    """Gold and predicted values of a document beside the page of the PDF on which they stand.

    Attributes
    ----------
    selected_path, side : str
        Instance path of the chosen value, empty for none, and its side, ``predicted`` or ``gold``.
    page : int
        The page that is shown, from 1.
    zoom : str
        Width of the page: ``fit``, or ``100``, ``150`` or ``200`` per cent of its printed size.
    text : str
        What the path or a value must contain to be listed, in any case of letters.
    shown : str
        Which values are listed: those of an outcome, ``failed``, ``gold_not_found``,
        ``predicted_not_found``, ``corrected``, or those with a verdict on their citation, such as
        ``elsewhere``; empty for all. At first ``failed``, if a value fails.
    """

    kind = "evidence"
    styles = ("evidence.css",)
    settable = frozenset({"page", "zoom", "text", "shown"})
    selected_path = traitlets.Unicode("")
    side = Choice("gold")
    page = traitlets.Int(1)
    zoom = Choice("fit")
    text = traitlets.Unicode("")
    shown = Choice("")

    def __init__(  # noqa: PLR0913 - keyword options
        self,
        ds: Dataset | None,
        document: str | Path,
        subject: Any = None,
        *,
        side: str = "predicted",
        path: str | None = None,
        citations: pd.DataFrame | None = None,
        editable: bool = False,
    ) -> None:
        if side not in ("predicted", "gold"):
            raise InputError(f"side={side!r}; expected 'predicted' or 'gold'")
        self._ds, self._document = ds, document
        self._document_name = document if isinstance(document, str) else document.stem
        self._sides = _sides(ds, document, subject)
        try:
            pdf = find_evidence(ds, document, "").attrs
        except MissingPdfError as error:
            pdf = {"pages": 0, "status": str(error)}
        self._pages: int = pdf["pages"]
        self._status: str = pdf["status"]
        self._frames = {
            name: model.leaf_frame(ds, document, value, has_pdf=bool(self._pages))
            for name, value in self._sides.items()
        }
        ev = subject if isinstance(subject, Evaluation) else None
        if citations is not None:
            citations = score_citations(subject, citations, ds, document)
        self._rows = model.rows_of(self._frames, ev, citations)
        self._row_of = {
            (name, leaf.path): row
            for row in self._rows
            for name, leaf in row.sides.items()
            if leaf is not None
        }
        self._is_editable = editable and "gold" in self._sides
        self._unpaired = {} if ev is None else model.unpaired_items(ev.matches)
        self._edits = dict[str, dict[str, Any]]()
        self._place: Place | None = None
        self._list_page, self._choices, self._draft, self._problem = 0, 0, "", ""
        self._evidence, self._hits, self._at = pd.DataFrame(), list[_Hit](), -1
        self._pictures: dict[tuple[int, float], tuple[PageImage | None, Node]] = {}
        self._changes = 1  # nothing is drawn before the first value is chosen
        self.side = side if side in self._sides else next(iter(self._sides))
        if path is None and self._rows:
            self.shown = "failed" if "failed" in self._counts() else ""
            self._choose(model.first_row(self._rows), self.side, found=True)
        elif path:  # of an array or object, its first value
            below = (f"{path}.", f"{path}[")
            of_side = (own for name, own in self._row_of if name == self.side)
            found = (own for own in of_side if own == path or own.startswith(below))
            self.selected_path = next(found, "")
        super().__init__()

    # --- what Python sees -------------------------------------------------------------------

    @property
    def values(self) -> pd.DataFrame:
        """The values of the chosen side, one row per leaf; see `ground_values`."""
        return self._frames[self.side].copy()

    @property
    def rows(self) -> pd.DataFrame:
        """The listed values, one row per pair; columns of both sides, missing where one has none.

        The columns are outcome and, for each side, path, value, finding, page and score, such as
        ``gold_path``.
        """
        names = ("path", "value", "finding", "page", "score")
        rows = [
            (r.outcome, *(getattr(leaf, n, None) for leaf in r.sides.values() for n in names))
            for r in self._kept()
        ]
        columns = ["outcome", *(f"{side}_{name}" for side in self._sides for name in names)]
        return pd.DataFrame(rows, columns=columns)

    @property
    def edits(self) -> pd.DataFrame:
        """The corrections of gold that were made in this view, as `corrections` returns them."""
        return _as_corrections(self._edits)

    @property
    def evidence(self) -> pd.DataFrame:
        """Where the chosen value stands, one row per line of a place; see `find_evidence`."""
        return self._evidence.copy()

    @property
    def code(self) -> str:
        """An expression that finds the chosen value again in ``ds``."""
        ds, name = "None" if self._ds is None else "ds", self._document
        document = repr(name) if isinstance(name, str) else f"pathlib.Path({str(name)!r})"
        code = f"xb.pdf.find_evidence({ds}, {document}, {self._leaf.value if self._leaf else ''!r})"
        return code if len(code) <= _LONGEST_CODE else "view.evidence"

    @traitlets.validate("selected_path")
    def _known_path(self, proposal: Any) -> str:
        path = str(proposal["value"])
        if path and (self.side, path) not in self._row_of:
            paths = self._frames[self.side]["path"]
            raise traitlets.TraitError(f"there is no value at {path!r}; {nearest(path, paths)}")
        return path

    def choices(self, trait: str) -> Iterable[str]:
        """Return the sides that there are, the zooms, or the filters of the list."""
        shown = (*OUTCOMES, "missed", "spurious", *_FILTERS)
        return {"side": self._sides, "zoom": _ZOOMS, "shown": shown}[trait]

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        page: int = proposal["value"]
        return max(1, min(page, self._pages))

    # --- what happens -----------------------------------------------------------------------

    @property
    def _row(self) -> Row | None:
        return self._row_of.get((self.side, self.selected_path))

    @property
    def _leaf(self) -> Leaf | None:
        return None if self._row is None else self._row.sides[self.side]

    @traitlets.observe("side")
    def _change_side(self, change: Any) -> None:
        """Go to the value on the other side that belongs to the chosen one."""
        row = self._row_of.get((change["old"], self.selected_path))
        leaf = row.sides[self.side] if row else None
        with self.changing():
            self.selected_path = ""
            self.selected_path = leaf.path if leaf else ""

    @traitlets.observe("selected_path")
    def _look_up(self, _: Any) -> None:
        """Find the chosen value in the PDF, and go to its best place."""
        row, leaf = self._row, self._leaf
        with self.changing():
            self._choices, self._problem, self._evidence = self._choices + 1, "", pd.DataFrame()
            if leaf and leaf.is_found:
                self._evidence = find_evidence(
                    self._ds, self._document, leaf.value, limit=_MOST_PLACES
                )
            self._hits = _hits(self._evidence)
            self.do_place(1)
            self._place = None
            if row is None:
                return
            kept = [listed.number for listed in self._kept()]
            if row.number not in kept:  # what is chosen is listed
                self.shown = self.text = ""
                kept = [*range(len(self._rows))]
            self._list_page = kept.index(row.number) // _ROWS
            if self._is_editable:
                self._place = model.place_of(row, self._sides, self._unpaired)
                gold = {"new": self._place.gold}
                self._draft = _json(self._edits.get(self._place.path, gold)["new"])

    @traitlets.observe("text", "shown")
    def _filter(self, _: Any) -> None:
        self._list_page = 0

    def _choose(self, row: Row, side: str, *, found: bool = False) -> None:
        """Choose the value of a row on a side; on the other if this one has none, or not found."""
        leaves = {n: leaf for n in (side, *row.sides) if (leaf := row.sides[n]) is not None}
        first = next(iter(leaves))
        side = next((n for n, leaf in leaves.items() if found and leaf.is_found), first)
        with self.changing():
            if side != self.side:
                self.selected_path = ""  # its partner is not looked up
                self.side = side
            self.selected_path = leaves[side].path

    def do_value(self, choice: Any) -> None:
        """Choose the value of a row on one side, or on the other where it is missing."""
        match choice:
            case [int(at), str(side)] if 0 <= at < len(self._rows) and side in self._sides:
                self._choose(self._rows[at], side)

    def do_list(self, number: Any) -> None:
        """Turn the page of the list."""
        if type(number) is int:
            self._list_page = number

    def do_place(self, at: Any) -> None:
        """Go to a place of the chosen value, counted from 1."""
        if type(at) is int and at >= 1:
            with self.changing():
                self._at = at - 1 if at <= len(self._hits) else -1
                if self._at >= 0:
                    self.page = self._hits[self._at].page

    # --- corrections ------------------------------------------------------------------------

    def do_draft(self, text: Any) -> None:
        """Take the text that is typed for the gold value."""
        if isinstance(text, str):
            self._draft, self._problem = text, ""

    def do_save(self, what: Any) -> None:
        """Correct gold: as typed, as predicted, or back to what it is; no text removes it."""
        place = self._place
        if place is None:
            return
        known_texts = {"predicted": _json(place.predicted), "gold": _json(place.gold)}
        text = known_texts.get(str(what), self._draft)
        edits = {path: row for path, row in self._edits.items() if path != place.path}
        try:
            new = cell_value(text, "Gold") if text.strip() else MISSING
            if equality_key(new) != equality_key(place.gold):
                is_new, is_gone = place.gold is MISSING, new is MISSING
                edits[place.path] = {
                    "document": self._document_name,
                    "path": place.path,
                    "op": "add" if is_new else "remove" if is_gone else "replace",
                    "old": pd.NA if is_new else place.gold,
                    "new": pd.NA if is_gone else new,
                    "when": datetime.now(UTC).isoformat(timespec="seconds"),
                }
            _as_corrections(edits)  # refuses one of a value that is within another
        except InputError as error:
            self._problem = f"{error}."
        else:
            self._edits, self._draft, self._problem = edits, text, ""

    def _editor(self) -> Node:
        place, text = self._place, self._draft
        if place is None:
            return h("div")
        has_other, is_corrected = place.predicted is not MISSING, place.path in self._edits
        editor = h(
            "div",
            h("p", "Gold at ", ui.breakable(place.path), " as JSON; an empty text removes it."),
            h(
                "textarea",
                do="draft",
                value=text,
                rows=min(8, 1 + len(text) // 50 + text.count("\n")),
                spellcheck="false",
                aria_label="Gold value as JSON",
                key=f"value {place.path}",
            ),
            h("p", self._problem, role="status", cls="xb-bad"),
            ui.toolbar(
                ui.button("Save", "save"),
                ui.button("Accept the predicted value", "save", "predicted") if has_other else None,
                ui.button("Undo", "save", "gold") if is_corrected else None,
            ),
            cls="xb-editor",
            role="group",
            aria_label="Correct gold",
        )
        summary = h("summary", "Correct gold…")
        return h("div", h("details", summary, editor, cls="xb-filters", live=True))

    # --- what is drawn ----------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the list, the page, and its picture, which is sent by itself."""
        title = h("p", f"Evidence · {one_line(self._document_name)}", cls="xb-title", live=True)
        panes = ui.split(part("values"), [part("sheet"), part("editor")])
        return {
            "page": h("div", title, self._headline(), part("filters"), panes),
            "filters": self._filters(),
            "values": self._list(),
            "sheet": self._sheet(),
            "picture": self._picture(_ZOOMS[self.zoom][1])[1] if self._pages else h("div"),
            "editor": self._editor(),
        }

    def _headline(self) -> Node:
        """Say how many values of the chosen side are printed in the PDF."""
        if not self._pages:
            return ui.headline("no PDF", one_line(self._status, 400))
        found, sought = self._found()
        said = f"of the {self.side} values are in the PDF: {found:,} of {sought:,}."
        return ui.headline(ratio_text(found / sought) if sought else "n/a", said)

    def _found(self) -> tuple[int, int]:
        """Count the values of the side that are in the PDF, and those that can be searched."""
        leaves = (row.sides[self.side] for row in self._rows)
        searched = [leaf.is_found for leaf in leaves if leaf and leaf.is_found is not None]
        return sum(searched), len(searched)

    def _counts(self) -> dict[str, int]:
        """Count the rows of each filter; what is right needs none."""
        counts = Counter(kind for row in self._rows for kind in row.kinds(self._edits))
        names = dict.fromkeys(("failed", *OUTCOMES, "missed", "spurious", *_FILTERS))
        return {name: counts[name] for name in names if counts[name] and name not in RIGHT}

    def _kept(self) -> list[Row]:
        """Return the listed rows."""
        wanted = self.text.strip().casefold()

        def has_text(row: Row) -> bool:
            leaves = (leaf for leaf in row.sides.values() if leaf)
            return any(wanted in f"{leaf.path}\n{_text(leaf.value)}".casefold() for leaf in leaves)

        rows = (r for r in self._rows if not self.shown or self.shown in r.kinds(self._edits))
        return [row for row in rows if not wanted or has_text(row)]

    def _filters(self) -> Node:
        chips = [(n, _FILTERS.get(n) or ui.mark(n), count) for n, count in self._counts().items()]
        hint = "filter by path or value"
        search = ui.search("Filter the list", "set:text", self.text, hint, "values")
        return h(
            "div",
            ui.chips("Which values", "toggle:shown", chips, self.shown),
            search,
            cls="xb-filter-line",
        )

    def _list(self) -> Node:
        kept = self._kept()
        cut = ui.page_of(len(kept), self._list_page, _ROWS)
        rows = [self._drawn(row, at) for at, row in enumerate(cut.of(kept))]
        table = ui.table(
            ["path", *(self._sides if len(self._sides) > 1 else ["value"])],
            h("tbody", rows),
            role="grid",
            aria_label="Values",
            keys="grid",
            id="values",
            cls="xb-values",
        )
        begins = f"{self.text} {self.shown} {cut.number}"  # another element: scrolled to its top
        said = f"{len(kept):,} of {plural(len(self._rows), 'value')}"
        return h(
            "div",
            ui.listed(said, cut, "values", "list"),
            h("div", table, cls="xb-scroll", scroll=True, key=begins)
            if kept
            else h("p", "No values.", cls="xb-empty"),
            ui.more(len(kept) - _STATIC_ROWS, "values", static=True),
        )

    def _drawn(self, row: Row, place: int) -> Node:
        """Draw a row of the list."""
        values = [leaf.value for leaf in row.sides.values() if leaf]
        if len(values) > 1 and row.outcome not in RIGHT:
            written = iter([side.segments for side in beside(*values, limit=_LONGEST)])
        else:
            written = iter([alone(value, limit=_LONGEST) for value in values])
        said = ui.mark(row.outcome) if row.outcome else h("span", "not scored", cls="xb-quiet")
        cells = []
        for column, (side, leaf) in enumerate(row.sides.items()):
            is_chosen = leaf is not None and leaf is self._leaf
            cells.append(
                h(
                    "td",
                    self._value(row, side, next(written) if leaf else None),
                    item=True,
                    row=place,
                    column=column,
                    do="value",
                    send=[row.number, side],
                    found=bool(self.text.strip()),
                    aria_selected="true" if is_chosen else "false",
                    reveal=str(self._choices) if is_chosen else None,
                )
            )
        verdict = [" ", said] if len(row.sides) > 1 else None
        head = h("th", ui.breakable(row.path, self.text), verdict, scope="row")
        return h("tr", head, cells, key=row.number, live=place >= _STATIC_ROWS)

    def _value(self, row: Row, side: str, written: Any) -> list[Node]:
        """Draw a value, where it is printed, what it cites, and how gold is corrected."""
        leaf, said = row.sides[side], [h("div", "missing", cls="xb-quiet")]
        if leaf is not None:
            value = ui.segments(written, self.text)
            said = [h("div", value, cls="xb-value xb-clamp", dir="auto")]
            said += [h("div", leaf.place, cls=f"xb-where xb-is-{leaf.finding}")] * bool(self._pages)
        for page, verdict in row.cited if side == "predicted" else ():
            text = f"cites page {page}: {verdict.replace('_', ' ')}"
            said.append(h("div", text, cls="xb-where"))
        for edit in (self._edits[path] for path in self._edits if row.is_within(path)):
            if side == "gold":
                new = "removed" if edit["new"] is pd.NA else _text(edit["new"])
                said.append(h("div", f"→ {new}", cls="xb-corrected xb-clamp", dir="auto"))
        return said

    def _picture(self, scale: float) -> tuple[PageImage | None, Node]:
        """Return the picture of the page, and the same element again as long as it is kept.

        If the page cannot be drawn, there is no picture, and the element has the reason.
        """
        key = self.page, scale
        if key not in self._pictures:
            picture: PageImage | None = None
            try:
                picture = render_page(
                    self._ds, self._document, self.page, scale=scale, boxes=_CORNERS, mark=False
                )
                drawn = h("img", src=_address(picture), alt=f"Page {self.page}", cls="xb-page")
            except InputError as error:
                drawn = h("span", f"Page {self.page} is not shown: {error}", cls="xb-bad")
            if len(self._pictures) >= _MOST_PICTURES:
                del self._pictures[next(iter(self._pictures))]
            self._pictures[key] = picture, drawn
        return self._pictures[key]

    def _sheet(self) -> Node:
        if not self._pages:
            return h("div")
        chosen = self._hits[self._at] if self._at >= 0 else None
        share, scale = _ZOOMS[self.zoom]
        picture, drawn = self._picture(scale)
        shape, here = "width:100%", list[_Hit]()
        if picture is not None:
            width = f"{picture.points[0] * _PIXELS_A_POINT * share:.0f}px" if share else "100%"
            shape = f"width:{width};aspect-ratio:{picture.width}/{picture.height}"
            here = [hit for hit in self._hits if hit.page == self.page]
        view = f"{self._choices} {self._at} {self.page} {self.zoom}"
        marks = [
            h(
                "div",
                style=_mark_style(picture, box) if picture else "",
                cls="xb-place xb-chosen" if hit is chosen else "xb-place",
                reveal=view if hit is chosen and not line else None,
            )
            for hit in here
            for line, box in enumerate(hit.boxes)
        ]
        boxes = [box for hit in here for box in hit.boxes]
        source = _MarkedPage(self._ds, self._document, self.page, boxes=boxes)
        marked = h("img", src=source, alt=f"Page {self.page} with the places marked", cls="xb-page")
        zooms = {name: "fit width" if name == "fit" else f"{name} %" for name in _ZOOMS}
        return h(
            "div",
            self._said(chosen),
            ui.toolbar(
                _turner("place", "place", self._at + 1, len(self._hits)),
                _turner("page", "set:page", self.page, self._pages),
                ui.menu("Zoom", "set:zoom", zooms, self.zoom),
            ),
            h(
                "div",
                h("div", part("picture"), marks, cls="xb-paper", style=shape, reveal=view),
                cls="xb-scroll",
                scroll=True,
                live=True,
                tabindex=0,
                role="region",
                aria_label="Page of the PDF",
            ),
            h("p", marked if here else drawn, static=True) if here or picture is None else None,
            ui.code(self.code),
        )

    def _said(self, chosen: _Hit | None) -> Node:
        """Say what is looked for, and where it is."""
        leaf, context = self._leaf, ""
        if leaf is None:
            return h("div", "Choose a value in the list.", role="status", cls="xb-said", live=True)
        title = "Not found in the document."
        if chosen is not None:
            total, context = self._evidence.attrs["places"], chosen.context
            title = f"Place {self._at + 1} of {total:,} · page {chosen.page}"
            title += f" · score {score_text(chosen.score)}"
        elif self._status == "no_text_layer":
            title = "The pages are pictures without text: nothing can be found."
        elif leaf.is_found is None:
            title = "Not searched: null, true, false, or a text without a letter or digit."
        return h(
            "div",
            h("b", title, cls=None if chosen else "xb-bad"),
            h("div", _text(leaf.value, 300), cls="xb-value xb-clamp", dir="auto"),
            h("span", f"{self.side} ", ui.breakable(leaf.path), cls="xb-quiet"),
            h("div", context, cls="xb-quiet xb-clamp", dir="auto"),
            role="status",
            cls="xb-said",
        )

    def __repr__(self) -> str:
        """Say how many values were found."""
        found, sought = self._found()
        said = f"{found:,} of {sought:,} {self.side} values found"
        return f"Evidence · {one_line(self._document_name)} · {said if self._pages else 'no PDF'}"


def evidence_of(
    row: Any,
    ds: Dataset | None,
    document: str | Path,
    ev: Evaluation,
    *,
    side: str = "",
    citations: pd.DataFrame | None = None,
) -> EvidenceView:
    """Show the value of a row of ``fields`` on its page: the predicted one if there is one."""
    side = side or ("predicted" if row.predicted_state == "present" else "gold")
    is_predicted = side == "predicted" and not is_missing(row.predicted_path)
    path = str(row.predicted_path if is_predicted else row.path)
    return EvidenceView(ds, document, ev, side=side, path=path, citations=citations)


def _turner(noun: str, do: str, at: int, total: int) -> Node | None:
    """Make buttons to the one before and the next, counted from 1."""
    if total <= 1:
        return None
    before, after = (
        ui.button(sign, do, to, aria_label=f"{name} {noun}", disabled=not 1 <= to <= total)
        for sign, name, to in (("◂", "Previous", at - 1), ("▸", "Next", at + 1))
    )
    return h("span", before, f"{noun} {at:,} of {total:,}", after, cls="xb-pager")


def _json(value: Any) -> str:
    return "" if value is MISSING or value is pd.NA else json.dumps(value, ensure_ascii=False)


def _as_corrections(edits: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    rows = pd.DataFrame([*edits.values()], dtype=object)
    return corrections(rows) if edits else CORRECTIONS.build()


def _sides(ds: Dataset | None, document: str | Path, subject: Any) -> dict[str, Any]:
    """Return the values to look up, by side."""
    if isinstance(subject, Evaluation):
        return {"gold": subject.inputs.gold, "predicted": subject.inputs.predicted}
    if subject is None and ds is not None and isinstance(document, str):
        return {"gold": ds.gold(document)}
    if isinstance(subject, dict | list | tuple | str | int | float):
        return {"predicted": subject}
    raise InputError(
        f"subject is of type {type(subject).__name__}; expected one Evaluation, such as "
        "evs.evaluation(run, document), or a JSON value; None is gold of a document of a dataset"
    )
