"""`EvidenceView`: values of a document next to the PDF page on which they were found."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.display.html import element, table
from extractbench_nb.display.text import clean, one_line, plural, value_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.pdf.evidence import find_evidence, ground_values
from extractbench_nb.pdf.images import PageImage, render_page
from extractbench_nb.widgets import panes as ui
from extractbench_nb.widgets.static import more, score_text, twin

FOUND, NOT_FOUND, NOT_SOUGHT = "found", "not_found", "not_sought"
#: What is said of a value; what is not sought is null, a boolean, or has no letter or digit.
LABELS = {FOUND: "found", NOT_FOUND: "not found", NOT_SOUGHT: "not sought"}

_LONGEST = 160
_LONGEST_PATH = 300


class ValueRow(NamedTuple):
    """One value: its path, and its page (from 1) and score if it was found in the PDF."""

    path: str
    text: str
    finding: str
    page: int | None
    score: float | None
    outcome: str


class Place(NamedTuple):
    """One place of a value: its page, and the boxes of its lines in PDF points."""

    page: int
    boxes: tuple[tuple[float, float, float, float], ...]
    context: str
    written: str
    score: float


def _text(value: object, limit: int = _LONGEST) -> str:
    return one_line("null" if value is None else value_text(value), limit)


def value_rows(leaves: pd.DataFrame, outcomes: Mapping[str, str] | None = None) -> list[ValueRow]:
    """Turn the leaves of a JSON value into rows."""
    known = outcomes or {}
    names = ["path", "value", "grounded", "evidence_page", "evidence_score"]
    return [
        ValueRow(
            path,
            _text(value),
            NOT_SOUGHT if grounded is pd.NA else FOUND if grounded else NOT_FOUND,
            None if page is pd.NA else int(page),
            None if score is pd.NA else round(float(score), 4),
            known.get(path, ""),
        )
        for path, value, grounded, page, score in leaves[names].itertuples(index=False)
    ]


def kept_rows(rows: Iterable[ValueRow], finding: str = "", text: str = "") -> list[ValueRow]:
    """Keep the rows with a finding (empty for all) whose path or value has a text, in any case."""
    wanted = text.strip().casefold()
    return [
        row
        for row in rows
        if (not finding or row.finding == finding)
        and (not wanted or wanted in row.path.casefold() or wanted in row.text.casefold())
    ]


def places(evidence: pd.DataFrame) -> list[Place]:
    """Join the lines of each hit."""
    found = []
    for _, lines in evidence.groupby(["hit", "page"], sort=False):
        boxes = tuple(map(tuple, lines[["x0", "y0", "x1", "y1"]].to_numpy().tolist()))
        first = lines.iloc[0]
        found.append(
            Place(
                int(first["page"]),
                boxes,
                _text(first["context"], 4 * _LONGEST),
                str(first["written"]).replace("_", " "),
                round(float(first["score"]), 4),
            )
        )
    return found


def shown_path(path: str) -> str:
    """Write a path on one line of bounded length, its end kept."""
    text = " ".join(clean(path[-_LONGEST_PATH:]).split())
    return text if len(path) <= _LONGEST_PATH else "…" + text[1:]


_MOST_ROWS = 20
_MOST_PLACES = 8


def values_html(rows: Sequence[ValueRow], chosen: str = "") -> str:
    """Write values with what was found of them: 20 around the chosen path, or the first ones."""
    if not rows:
        return element("p", "No value here.", "xb-empty")
    at = next((i for i, row in enumerate(rows) if row.path == chosen), 0)
    start = max(0, min(at - _MOST_ROWS // 2, len(rows) - _MOST_ROWS))
    shown = rows[start : start + _MOST_ROWS]
    cells = [
        (
            element("b" if row.path == chosen else "code", shown_path(row.path)),
            element("span", row.text),
            element("span", LABELS[row.finding]),
            "" if row.page is None else str(row.page),
            "" if row.score is None else score_text(row.score),
            element("span", row.outcome.replace("_", " ")),
        )
        for row in shown
    ]
    heads = ("path", "value", "in the PDF", "page", "score", "outcome")
    part = f"Values {start + 1:,} to {start + len(shown):,} of {len(rows):,}"
    tail = element("p", part) if len(shown) < len(rows) else ""
    return table(heads, cells, numbers=(3, 4)) + tail


def places_html(found: Sequence[Place]) -> str:
    """Write the places of one value; the first 8, and how many more there are."""
    cells = [
        (str(p.page), element("span", p.context), element("span", p.written), score_text(p.score))
        for p in found[:_MOST_PLACES]
    ]
    heads = ("page", "what stands there", "written", "score")
    return table(heads, cells, numbers=(0, 3)) + more(len(found) - _MOST_PLACES, "places")


class ValuesPane(ui.Pane, scripts=["evidence/values.js"]):
    """A list of values; `selected` is the key of the chosen one. Event ``turn`` with ``by``."""

    selected = traitlets.Unicode("").tag(sync=True)


class PagePane(ui.Pane, scripts=["evidence/page.js"]):
    """A page as an image. Events ``place`` and ``page`` with ``by``, -1 or 1."""

    image = traitlets.Bytes(b"").tag(sync=True)


_ROWS = 100
_WIDE = "1 1 220px"
_SCALE, _TWIN_SCALE = 1.6, 1.0
_MOST_SOUGHT = 200
#: What is said where nothing was found, by the status of the search.
_NOTHING = defaultdict(
    lambda: "Cannot be looked for: it has no letter or digit.",
    no_text_layer="The pages are pictures without text: nothing can be found.",
    not_found="Not found in the document.",
)


class EvidenceView(ui.View):
    """Values of a document beside the page of the PDF on which they stand.

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
        if side not in ("predicted", "gold"):
            raise InputError(f"side={side!r}; expected 'predicted' or 'gold'")
        self._read_side(first)
        self._evidence, self._places, self._at = pd.DataFrame(), list[Place](), -1
        self._picture: PageImage = render_page(ds, document, 1, scale=_SCALE)
        self._list, self._sheet = ValuesPane(), PagePane()
        self._side = ipywidgets.ToggleButtons(
            options=[(f"{name.capitalize()} values", name) for name in self._sides], value=first
        )
        self._side.style.button_width = "auto"
        self._finding = ui.menu("Show", _finding_options(self._rows), flex=_WIDE)
        self._text = ui.search("Find", "path or value", flex=_WIDE)
        hint = "any text or number, then Enter"
        self._asked = ui.search("Look for", hint, at_once=False, flex=_WIDE)
        parts = [
            ui.row(self._finding, self._text, self._asked),
            ui.beside(self._list, self._sheet, widths=[260, 420], shares=[2, 3]),
        ]
        super().__init__([self._side, *parts] if len(self._sides) > 1 else parts)
        self.set_trait("side", first)
        self._draw_values()
        self._draw_page()
        self.link({"side": self._side})
        self.observe(self._change_side, "side")
        self.observe(self._look_up_path, "selected_path")
        self.observe(self._look_up, "sought")
        self.observe(lambda _: self._draw_page(), "page")
        self._list.observe(self._picked, "selected")
        self._list.on_event("turn", self._turn_list, by=[-1, 1])
        self._sheet.on_event("place", self._turn_place, by=[-1, 1])
        self._sheet.on_event("page", self._turn_page, by=[-1, 1])
        for box in (self._finding, self._text):
            box.observe(self._filter, "value")
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

    def _read_side(self, side: str) -> None:
        self._leaves = ground_values(self._ds, self._document, self._sides[side])
        self._rows = value_rows(self._leaves, self._outcomes.get(side))
        self._shown = 1

    def _change_side(self, _: Any) -> None:
        self._read_side(self.side)
        kept = self._finding.value
        self._finding.options = _finding_options(self._rows)
        self._finding.value = kept
        path = self.selected_path
        self.selected_path = path if (self._leaves["path"] == path).any() else ""
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
        paths = [row.path for row in self._kept()]
        if self.selected_path in paths:
            self._shown = paths.index(self.selected_path) // _ROWS + 1
        self._draw_values()

    def _ask(self, change: Any) -> None:
        text = change["new"].strip()
        if text:
            self.selected_path = ""
            self.sought = text

    def _look_up(self, _: Any) -> None:
        try:
            found = find_evidence(self._ds, self._document, self.sought, limit=_MOST_SOUGHT)
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

    def _turn_place(self, by: int) -> None:
        if 0 <= self._at + by < len(self._places):
            self._go(self._at + by)

    def _turn_page(self, by: int) -> None:
        if 1 <= self.page + by <= self._picture.pages:
            self.page += by

    def _turn_list(self, by: int) -> None:
        self._shown = max(1, self._shown + by)
        self._draw_values()

    def _filter(self, _: Any) -> None:
        self._shown = 1
        self._draw_values()

    # --- what is drawn ----------------------------------------------------------------------

    def _kept(self) -> list[ValueRow]:
        return kept_rows(self._rows, self._finding.value or "", self._text.value)

    def _draw_values(self) -> None:
        kept = self._kept()
        page = ui.page_of(len(kept), self._shown - 1, _ROWS)
        self._shown = page.number + 1
        keys = {row.path: str(at) for at, row in enumerate(self._rows)}
        rows = [
            [keys[path], shown_path(path), text, finding, LABELS[finding], *others]
            for path, text, finding, *others in page.of(kept)
        ]
        columns = ["key", "path", "text", "finding", "label", "page", "score", "outcome"]
        none = "No value matches; clear the filters." if self._rows else "There are no values."
        self._list.show(
            {
                "table": {"columns": columns, "rows": rows},
                "status": f"{len(kept):,} of {plural(len(self._rows), 'value')}",
                "empty": none,
                "page": self._shown,
                "pages": page.pages,
            }
        )
        self._list.selected = keys.get(self.selected_path, "")

    def _draw_page(self) -> None:
        here = [p for p in self._places if p.page == self.page]
        chosen = self._places[self._at] if self._at >= 0 else None
        boxes = [box for place in here for box in place.boxes]
        if chosen is not None and chosen.page == self.page:
            boxes = list(chosen.boxes)
        picture = self._picture = render_page(
            self._ds, self._document, self.page, scale=_SCALE, boxes=boxes
        )
        title, lines, missing = self._words(chosen)
        top = min((box[1] for box in picture.boxes), default=0) / picture.height
        self._sheet.show(
            {
                "title": title,
                "lines": lines,
                "missing": missing,
                "where": f"page {self.page} of {picture.pages}",
                "alt": f"Page {self.page}" + (", with the place marked" if boxes else ""),
                "top": round(top, 4),
                "turns": [
                    self._at > 0,
                    0 <= self._at < len(self._places) - 1,
                    self.page > 1,
                    self.page < picture.pages,
                ],
            }
        )
        self._sheet.image = picture.png

    def _words(self, chosen: Place | None) -> tuple[str, list[str], bool]:
        """Say what was looked for, and what was found."""
        if self.sought is None and not self.selected_path:
            return "Choose a value, or look for any text.", [], False
        value = _text(self.sought, 300)
        if chosen is None:
            return _NOTHING[self._evidence.attrs.get("status", "")], [value], True
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
            picture = render_page(
                self._ds, self._document, self.page, scale=_TWIN_SCALE, boxes=boxes
            )
            data = b64encode(picture.png).decode("ascii")
            parts.append(
                f'<p><img src="data:image/png;base64,{data}" '
                f'alt="Page {self.page} with the places marked" style="max-width:100%"></p>'
            )
        return twin(repr(self), *parts)

    def __repr__(self) -> str:
        """Say how many values were found."""
        counts = Counter(row.finding for row in self._rows)
        found = ", ".join(f"{counts[name]:,} {LABELS[name]}" for name in LABELS if counts[name])
        name = self._document if isinstance(self._document, str) else self._document.name
        return f"Evidence · {one_line(name)} · {self.side} values: {found or 'none'}"


def _finding_options(rows: list[ValueRow]) -> list[tuple[str, str]]:
    counts = Counter(row.finding for row in rows)
    named = [(f"{label} ({counts[name]:,})", name) for name, label in LABELS.items()]
    return [(f"all ({len(rows):,})", ""), *named]


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
