"""`EvidenceView`: values of a document next to the PDF page on which they were found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.pdf.evidence import find_evidence, ground_values
from extractbench_nb.pdf.images import PageImage, render_page
from extractbench_nb.widgets.evidence_model import (
    LABELS,
    Place,
    ValueRow,
    finding_counts,
    kept_rows,
    one_line,
    picture_html,
    places,
    places_html,
    shown_path,
    value_rows,
    values_html,
)
from extractbench_nb.widgets.static import asset, element, twin
from extractbench_nb.widgets.view import Pane, View, beside

__all__ = ["EvidenceView", "PagePane", "ValuesPane"]


_STYLE = asset("shared/base.css", "evidence/evidence.css")


class ValuesPane(Pane):
    """A list of values; `selected` is the key of the chosen one. Event ``turn`` with ``by``."""

    _esm = asset("shared/dom.js", "evidence/values.js")
    _css = _STYLE

    selected = traitlets.Unicode("").tag(sync=True)


class PagePane(Pane):
    """A page as an image. Events ``place`` and ``page`` with ``by``, -1 or 1."""

    _esm = asset("shared/dom.js", "evidence/page.js")
    _css = _STYLE

    image = traitlets.Bytes(b"").tag(sync=True)


_ROWS = 100
_SCALE, _TWIN_SCALE = 1.6, 1.0
_MOST_PLACES = 200


class EvidenceView(View):
    """Values of a document beside the page of the PDF on which they stand.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    subject : Evaluation, dict, list, str, int, float or None, optional
        Whose values: an Evaluation has gold's and the predicted ones, to switch between; a JSON
        value has its leaves. None: the gold of `document`.
    side : {"predicted", "gold"}, optional
        Which values of an Evaluation are shown at first.

    Attributes
    ----------
    selected_path : str
        Instance path of the chosen value, empty for none; can be set.
    side : str
        ``predicted`` or ``gold``; can be set where `subject` is an Evaluation.
    sought : object
        The value that is looked for, that of `selected_path` or any other; can be set.
    page : int
        The page that is shown, from 1; can be set.

    Raises
    ------
    InputError
        There is nothing to show, `side` is something else, or the PDF cannot be read.
    DatasetError
        The dataset has no such document.
    MissingPdfError
        The document has no PDF.
    """

    selected_path = traitlets.Unicode("")
    side = traitlets.Unicode("predicted")
    sought = traitlets.Any(None, allow_none=True)
    page = traitlets.Int(1)

    def __init__(
        self,
        ds: Dataset | None,
        document: str | Path,
        subject: Any = None,
        *,
        side: str = "predicted",
    ) -> None:
        self._ds, self._document = ds, document
        self._sides, self._outcomes = _sides(ds, document, subject)
        first = side if side in self._sides else next(iter(self._sides))
        _check_side(side)
        self._leaves = ground_values(ds, document, self._sides[first])
        self._rows = value_rows(self._leaves, self._outcomes.get(first))
        self._evidence, self._places, self._at = pd.DataFrame(), list[Place](), -1
        self._shown = 1
        self._picture: PageImage = render_page(ds, document, 1, scale=_SCALE)
        self._make_parts(first)
        super().__init__(self._layout(), layout=ipywidgets.Layout(width="100%"))
        self.set_trait("side", first)
        self._draw_values()
        self._draw_page()
        self._connect()

    def _make_parts(self, first: str) -> None:
        wide = ipywidgets.Layout(width="auto", flex="1 1 220px", min_width="0")
        self._side = ipywidgets.ToggleButtons(
            options=[(f"{name.capitalize()} values", name) for name in self._sides], value=first
        )
        self._side.style.button_width = "auto"
        self._finding = ipywidgets.Dropdown(
            options=_finding_options(self._rows), description="Show", layout=wide
        )
        self._text = ipywidgets.Text(
            description="Find", placeholder="path or value", layout=wide, continuous_update=True
        )
        self._asked = ipywidgets.Text(
            description="Look for",
            placeholder="any text or number, then Enter",
            layout=wide,
            continuous_update=False,
        )
        self._list, self._sheet = ValuesPane(), PagePane()

    def _layout(self) -> list[ipywidgets.Widget]:
        flow = ipywidgets.Layout(flex_flow="row wrap", width="100%")
        filters = ipywidgets.Box([self._finding, self._text, self._asked], layout=flow)
        parts = beside(self._list, self._sheet, widths=[260, 420], shares=[2, 3])
        return [*([self._side] if len(self._sides) > 1 else []), filters, parts]

    def _connect(self) -> None:
        traitlets.link((self, "side"), (self._side, "value"))
        self.observe(self._change_side, "side")
        self.observe(self._look_up_path, "selected_path")
        self.observe(self._look_up, "sought")
        self.observe(self._turn_to, "page")
        self._list.observe(self._picked, "selected")
        self._list.on_event("turn", lambda event: self._turn_list(event.get("by")))
        self._sheet.on_event("place", lambda event: self._turn_place(event.get("by")))
        self._sheet.on_event("page", lambda event: self._turn_page(event.get("by")))
        self._finding.observe(self._filter, "value")
        self._text.observe(self._filter, "value")
        self._asked.observe(self._ask, "value")

    # --- what Python sees -------------------------------------------------------------------

    @property
    def values(self) -> pd.DataFrame:
        """The values of the side that is shown, one row per leaf; see `ground_values`."""
        return self._leaves.copy()

    @property
    def evidence(self) -> pd.DataFrame:
        """Where the sought value stands, one row per line of a place; see `find_evidence`."""
        return self._evidence.copy()

    @traitlets.validate("selected_path")
    def _known_path(self, proposal: Any) -> str:
        path = str(proposal["value"])
        if path and not (self._leaves["path"] == path).any():
            known = nearest(path, self._leaves["path"])
            raise traitlets.TraitError(f"there is no value at {path!r}; {known}")
        return path

    @traitlets.validate("side")
    def _known_side(self, proposal: Any) -> str:
        if proposal["value"] not in self._sides:
            raise traitlets.TraitError(
                f"side={proposal['value']!r}; expected {' or '.join(map(repr, self._sides))}"
            )
        return str(proposal["value"])

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        if not 1 <= proposal["value"] <= self._picture.pages:
            raise traitlets.TraitError(
                f"page={proposal['value']!r}; the document has pages 1 to {self._picture.pages}"
            )
        return int(proposal["value"])

    # --- what happens -----------------------------------------------------------------------

    def _picked(self, change: Any) -> None:
        if change["new"].isdigit() and int(change["new"]) < len(self._rows):
            self.selected_path = self._rows[int(change["new"])].path

    def _change_side(self, _: Any) -> None:
        self._leaves = ground_values(self._ds, self._document, self._sides[self.side])
        self._rows = value_rows(self._leaves, self._outcomes.get(self.side))
        self._shown = 1
        kept = self._finding.value
        self._finding.options = _finding_options(self._rows)
        self._finding.value = kept
        path = self.selected_path
        self.selected_path = path if path and (self._leaves["path"] == path).any() else ""
        if self.selected_path:
            self._look_up_path(None)
        self._draw_values()

    def _look_up_path(self, _: Any) -> None:
        if self.selected_path:
            chosen = self._leaves["path"] == self.selected_path
            value = self._leaves["value"][chosen].iloc[0]
            again = value == self.sought  # then nothing is notified
            self.sought = value
            if again:
                self._look_up(None)
        self._reveal()
        self._draw_values()

    def _reveal(self) -> None:
        paths = [row.path for row in self._kept()]
        if self.selected_path in paths:
            self._shown = paths.index(self.selected_path) // _ROWS + 1

    def _ask(self, change: Any) -> None:
        text = change["new"].strip()
        if text:
            self.selected_path = ""
            self.sought = text

    def _look_up(self, _: Any) -> None:
        try:
            found = find_evidence(self._ds, self._document, self.sought, limit=_MOST_PLACES)
        except InputError:
            found = pd.DataFrame()  # null and booleans cannot be looked for
        self._evidence = found
        self._places = places(found) if len(found) else []
        self._go(0 if self._places else -1)

    def _go(self, at: int) -> None:
        self._at = at
        if at >= 0 and self._places[at].page != self.page:
            self.page = self._places[at].page
        else:
            self._draw_page()

    def _turn_place(self, by: object) -> None:
        if by in (-1, 1) and 0 <= self._at + int(str(by)) < len(self._places):
            self._go(self._at + int(str(by)))

    def _turn_page(self, by: object) -> None:
        if by in (-1, 1) and 1 <= self.page + int(str(by)) <= self._picture.pages:
            self.page += int(str(by))

    def _turn_to(self, _: Any) -> None:
        self._draw_page()

    def _turn_list(self, by: object) -> None:
        if by in (-1, 1):
            self._shown = max(1, self._shown + int(str(by)))
            self._draw_values()

    def _filter(self, _: Any) -> None:
        self._shown = 1
        self._draw_values()

    # --- what is drawn ----------------------------------------------------------------------

    def _kept(self) -> list[ValueRow]:
        return kept_rows(self._rows, self._finding.value or "", self._text.value)

    def _draw_values(self) -> None:
        kept = self._kept()
        pages = max(1, -(-len(kept) // _ROWS))
        self._shown = min(self._shown, pages)
        start = _ROWS * (self._shown - 1)
        keys = {row.path: str(at) for at, row in enumerate(self._rows)}
        rows = [_listed(row, keys[row.path]) for row in kept[start : start + _ROWS]]
        columns = ["key", "path", "text", "finding", "label", "page", "score", "outcome"]
        self._list.show(
            {
                "table": {"columns": columns, "rows": rows},
                "status": f"{len(kept):,} of {_values(len(self._rows))}",
                "empty": "No value matches; clear the filters."
                if self._rows
                else "There are no values.",
                "page": self._shown,
                "pages": pages,
            }
        )
        self._list.selected = keys.get(self.selected_path, "")

    def _draw_page(self) -> None:
        here = [p for p in self._places if p.page == self.page]
        chosen = self._places[self._at] if self._at >= 0 else None
        boxes = [box for place in here for box in place.boxes]
        if chosen is not None and chosen.page == self.page:
            boxes = list(chosen.boxes)
        self._picture = self._render(boxes, _SCALE)
        self._sheet.show(self._page_model(chosen, boxes))
        self._sheet.image = self._picture.png

    def _render(self, boxes: Any, scale: float) -> PageImage:
        return render_page(self._ds, self._document, self.page, scale=scale, boxes=boxes)

    def _page_model(self, chosen: Place | None, boxes: Any) -> dict[str, Any]:
        title, lines, missing = self._words(chosen)
        top = min((box[1] for box in self._picture.boxes), default=0) / self._picture.height
        return {
            "title": title,
            "lines": lines,
            "missing": missing,
            "where": f"page {self.page} of {self._picture.pages}",
            "alt": f"Page {self.page}" + (", with the place marked" if boxes else ""),
            "top": round(top, 4),
            "turns": [
                self._at > 0,
                0 <= self._at < len(self._places) - 1,
                self.page > 1,
                self.page < self._picture.pages,
            ],
        }

    def _words(self, chosen: Place | None) -> tuple[str, list[str], bool]:
        """Say what was looked for, and what was found."""
        if self.sought is None and not self.selected_path:
            return "Choose a value, or look for any text.", [], False
        value = one_line(self.sought, 300)
        if chosen is None:
            return _nothing(self._evidence.attrs.get("status", "")), [value], True
        total = self._evidence.attrs.get("places", len(self._places))
        title = f"Place {self._at + 1} of {total:,} · page {chosen.page} · score {chosen.score:.2f}"
        return title, [value, f"{chosen.written}: {chosen.context}"], False

    def to_html(self) -> str:
        """Write the values, the places of the chosen one, and its page, as static HTML."""
        parts = [values_html(self._kept(), self.selected_path)]
        if self.selected_path or self.sought is not None:
            chosen = self._places[self._at] if self._at >= 0 else None
            title, lines, _ = self._words(chosen)
            parts += [element("p", title, "xb-title"), *(element("p", line) for line in lines[:1])]
            if self._places:
                parts.append(places_html(self._places))
        if self._places:
            boxes = [b for p in self._places if p.page == self.page for b in p.boxes]
            label = f"Page {self.page} with the places marked"
            parts.append(picture_html(self._render(boxes, _TWIN_SCALE).png, label))
        return twin(repr(self), *parts)

    def __repr__(self) -> str:
        """Say how many values were found."""
        counts = finding_counts(self._rows)
        found = ", ".join(f"{n:,} {LABELS[name]}" for name, n in counts.items() if n)
        name = self._document if isinstance(self._document, str) else self._document.name
        return f"Evidence · {one_line(name, 80)} · {self.side} values: {found or 'none'}"


def _listed(row: ValueRow, key: str) -> list[Any]:
    return [
        key,
        shown_path(row.path),
        row.text,
        row.finding,
        LABELS[row.finding],
        row.page,
        row.score,
        row.outcome,
    ]


def _values(n: int) -> str:
    return f"{n:,} value{'' if n == 1 else 's'}"


def _finding_options(rows: list[ValueRow]) -> list[tuple[str, str]]:
    counts = finding_counts(rows)
    named = [(f"{LABELS[name]} ({n:,})", name) for name, n in counts.items()]
    return [(f"all ({len(rows):,})", ""), *named]


def _nothing(status: str) -> str:
    return {
        "no_text_layer": "The pages are pictures without text: nothing can be found.",
        "not_found": "Not found in the document.",
    }.get(status, "Cannot be looked for: it has no letter or digit.")


def _check_side(side: str) -> None:
    if side not in ("predicted", "gold"):
        raise InputError(f"side={side!r}; expected 'predicted' or 'gold'")


def _sides(
    ds: Dataset | None, document: str | Path, subject: Any
) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """Return the values of each side, and the outcomes by path."""
    if isinstance(subject, Evaluation):
        inputs = subject.inputs
        return {"predicted": inputs.predicted, "gold": inputs.gold}, _outcomes(subject.fields)
    if isinstance(subject, dict | list | tuple | str | int | float):
        return {"predicted": subject}, {}
    if subject is not None:
        raise InputError(
            f"subject is of type {type(subject).__name__}; expected one Evaluation, such as "
            "evs.evaluation(run, document), or a JSON value"
        )
    if ds is None or not isinstance(document, str):
        raise InputError("subject: a PDF given by its path needs values; pass a JSON value")
    return {"gold": ds.gold(document)}, {}


def _outcomes(fields: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Return the outcome of each path on either side; of several metrics the first that fails."""
    sides: dict[str, dict[str, str]] = {"gold": {}, "predicted": {}}
    order = fields.sort_values("passed", kind="stable", na_position="first")
    names = ["path", "predicted_path", "outcome"]
    for path, other, outcome in order[names].itertuples(index=False):
        sides["gold"].setdefault(path, outcome)
        sides["predicted"].setdefault(path if other is pd.NA else other, outcome)
    return sides
