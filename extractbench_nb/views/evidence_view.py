"""`EvidenceView`: gold and predicted values next to the PDF page on which they were found."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import traitlets

from extractbench_nb.core import OUTCOMES, Evaluation
from extractbench_nb.core.schema import MISSING
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.gold import CORRECTIONS
from extractbench_nb.pdf import PageImage, find_evidence, ground_values, render_page
from extractbench_nb.runs import Dataset
from extractbench_nb.support.nodes import Child, Node, h
from extractbench_nb.support.wording import accepted_text, one_line, plural, ratio_text, value_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views.evidence_edits import (
    GoldPlace,
    change_text,
    edits_of,
    item_pairs,
    partner_path,
)
from extractbench_nb.views.sides import alone, compared
from extractbench_nb.views.static import outcome_text, score_text
from extractbench_nb.views.view import View, known, part

FOUND, NOT_FOUND, NOT_SOUGHT, ABSENT = "found", "not_found", "not_sought", "missing"
#: What is said of a value; what is not searched is null, a boolean, or has no letter or digit.
LABELS = {FOUND: "found", NOT_FOUND: "not found", NOT_SOUGHT: "not searched", ABSENT: "missing"}
_SIGNS = {FOUND: "●", NOT_FOUND: "○", NOT_SOUGHT: "·", ABSENT: ""}
#: Below this score, chance would find the value as well.
_TELLING = 0.5
_BY_CHANCE = "◐"
#: Marks and scores, and what they mean.
_LEGEND = (
    (_SIGNS[FOUND], f"found, score {_TELLING:.2f} or more"),
    (_BY_CHANCE, "found, but common enough to be there by chance"),
    (_SIGNS[NOT_FOUND], "not found in the PDF"),
    (_SIGNS[NOT_SOUGHT], "not searched: null, true, false, or without letter or digit"),
    ("page · score", "of the best match; score, 0 to 1: lower if a chance match is likely"),
)
_LONGEST = 160
#: Outcomes of a filter besides those of fields: all that are not right, and items without a pair.
_FAILED = "failed"
_RIGHT = frozenset({"correct", "both_absent", "matched", ""})


def _text(value: object, limit: int = _LONGEST) -> str:
    return one_line("null" if value is None else value_text(value), limit)


# --- values: one record per row of the list -------------------------------------------------------


def side_values(leaves: pd.DataFrame) -> list[dict[str, Any]]:
    """Return path, value, finding, page and score of each leaf of a JSON value."""
    names = ["path", "value", "grounded", "evidence_page", "evidence_score"]
    return [
        {
            "path": path,
            "value": value,
            "finding": NOT_SOUGHT if there is pd.NA else FOUND if there else NOT_FOUND,
            "page": None if page is pd.NA else int(page),
            "score": None if score is pd.NA else round(float(score), 4),
        }
        for path, value, there, page, score in leaves[names].itertuples(index=False)
    ]


def value_rows(
    sides: Mapping[str, Sequence[dict[str, Any]]], ev: Evaluation | None = None
) -> list[dict[str, Any]]:
    """Pair the values of two sides: rows with an outcome, and a record or None for each side.

    Items of arrays are paired as they were aligned; all other values, by their path. Rows are in
    gold's order; a predicted value without a gold one follows its neighbour.
    """
    if ev is None:
        ((side, values),) = sides.items()
        return [{"outcome": "", side: value} for value in values]
    pairs = item_pairs(ev.matches)
    fields = ev.fields[["path", "accepted_as"]].dropna()
    accepted = dict(zip(fields["path"], fields["accepted_as"], strict=True))
    outcomes = _outcomes(ev, pairs)
    ours = {value["path"]: value for value in sides["gold"]}
    theirs = {value["path"]: value for value in sides["predicted"]}
    partners = {path: theirs.get(partner_path(path, pairs) or "") for path in ours}
    owners = {value["path"]: path for path, value in partners.items() if value is not None}
    unpaired: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    neighbour = ""
    for path, value in theirs.items():
        neighbour = owners.get(path, neighbour)
        if path not in owners:
            outcome = _nearest(path, outcomes["predicted"])
            unpaired[neighbour].append({"outcome": outcome, "gold": None, "predicted": value})
    rows = unpaired[""]
    for path, value in ours.items():
        outcome = _nearest(path, outcomes["gold"])
        row = {"outcome": outcome, "gold": value, "predicted": partners[path]}
        rows.append({**row, "accepted": accepted[path]} if path in accepted else row)
        rows += unpaired[path]
    return rows


def _outcomes(ev: Evaluation, pairs: Mapping[str, int | None]) -> dict[str, dict[str, str]]:
    """Return outcomes by path on either side; of several metrics, that of the first that fails.

    Items without a pair are ``missed`` and ``spurious`` where ``fields`` has no row for them.
    """
    gold: dict[str, str] = {}
    predicted: dict[str, str] = {}
    matches, fields = ev.matches, ev.fields
    order = fields[~fields["path"].isin(matches["path"])]  # aligned arrays are told by their items
    order = order.sort_values("passed", kind="stable", na_position="first")
    names = ["path", "predicted_path", "outcome"]
    for path, other, outcome in order[names].itertuples(index=False):
        gold.setdefault(path, outcome)
        there = partner_path(path, pairs) if other is pd.NA else other
        if there is not None:  # a missed item has no place on the predicted side
            predicted.setdefault(there, outcome)
    names = ["path", "gold_index", "predicted_index", "status"]
    for path, ours, theirs, status in matches[names].itertuples(index=False):
        if theirs is pd.NA:
            gold.setdefault(f"{path}[{ours}]", status)
        elif ours is pd.NA:
            predicted.setdefault(f"{partner_path(path, pairs)}[{theirs}]", status)
    return {"gold": gold, "predicted": predicted}


def _nearest(path: str, outcomes: Mapping[str, str]) -> str:
    """Return the outcome of a value, or of the nearest value above that was scored as a whole."""
    while path:
        if path in outcomes:
            return outcomes[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return ""


def kept_rows(
    rows: Sequence[dict[str, Any]],
    findings: Mapping[str, str],
    *,
    outcome: str = "",
    text: str = "",
) -> list[int]:
    """Return the numbers of the rows that have an outcome, a finding on each side, and a text."""
    wanted = text.strip().casefold()

    def is_kept(row: dict[str, Any]) -> bool:
        right = row["outcome"] in _RIGHT
        return (
            (not outcome or (not right if outcome == _FAILED else row["outcome"] == outcome))
            and all(not name or _finding(row[side]) == name for side, name in findings.items())
            and (not wanted or any(wanted in said(row[side]) for side in findings))
        )

    def said(value: Mapping[str, Any] | None) -> str:
        return "" if value is None else f"{value['path']}\n{_text(value['value'])}".casefold()

    return [at for at, row in enumerate(rows) if is_kept(row)]


def _finding(value: Mapping[str, Any] | None) -> str:
    return ABSENT if value is None else str(value["finding"])


# --- pages: places as parts of the picture, in per cent -------------------------------------------


class Place(NamedTuple):
    """One place of a value: its page, and the boxes of its lines in PDF points."""

    page: int
    boxes: tuple[tuple[float, float, float, float], ...]
    context: str
    written: str
    score: float


def places(evidence: pd.DataFrame) -> list[Place]:
    """Join the lines of each hit."""
    joined = []
    for _, lines in evidence.groupby(["hit", "page"], sort=False):
        boxes = tuple(map(tuple, lines[["x0", "y0", "x1", "y1"]].to_numpy().tolist()))
        first = lines.iloc[0]
        joined.append(
            Place(
                int(first["page"]),
                boxes,
                _text(first["context"], 4 * _LONGEST),
                str(first["written"]).replace("_", " "),
                round(float(first["score"]), 4),
            )
        )
    return joined


#: Points whose pixels tell where any other point is: a page may be cropped and rotated.
_FAR = 2_000.0
_CORNERS = [(0.0, 0.0) * 2, (_FAR, 0.0) * 2, (0.0, _FAR) * 2]


def mark_style(picture: PageImage, box: Sequence[float]) -> str:
    """Write where a box in PDF points is in a picture with the marks `_CORNERS`, as CSS."""
    (x, y), right, up = (corner[:2] for corner in picture.boxes)
    ends = []
    for px, py in (box[:2], box[2:]):
        ends.append(
            [
                100 * (start + px / _FAR * (a - start) + py / _FAR * (b - start)) / size
                for start, a, b, size in (
                    (x, right[0], up[0], picture.width),
                    (y, right[1], up[1], picture.height),
                )
            ]
        )
    (left, wide), (top, high) = (sorted(pair) for pair in zip(*ends, strict=True))
    return f"left:{left:.2f}%;top:{top:.2f}%;width:{wide - left:.2f}%;height:{high - top:.2f}%"


class _MarkedPage:
    """The address of a picture with its places marked; rendered where it is written only."""

    def __init__(self, *page: Any, boxes: Sequence[Any]) -> None:
        self._page, self._boxes = page, boxes

    def __str__(self) -> str:
        return _address(render_page(*self._page, scale=_TWIN_SCALE, boxes=self._boxes))


def _address(picture: PageImage) -> str:
    return f"data:image/png;base64,{b64encode(picture.png).decode('ascii')}"


_ROWS, _STATIC_ROWS = 100, 20
_TWIN_SCALE = 1.0
_MOST_SOUGHT = 200
_MOST_PICTURES = 6
_LONGEST_CODE = 4_000
#: Widths of a page: in words, as a share of its printed size (None: as wide as there is room), and
#: the pixels a point that this takes.
ZOOMS: dict[str, tuple[str, float | None, float]] = {
    "fit": ("fit width", None, 1.6),
    "100": ("100 %", 1.0, 1.6),
    "150": ("150 %", 1.5, 2.2),
    "200": ("200 %", 2.0, 2.8),
}
_PIXELS_A_POINT = 96 / 72
#: What is said where nothing was found, by the status of the search.
_NOTHING = defaultdict(
    lambda: "Cannot be looked for: it has no letter or digit.",
    no_text_layer="The pages are pictures without text: nothing can be found.",
    not_found="Not found in the document.",
)


class EvidenceView(View):
    """Gold and predicted values of a document beside the page of the PDF on which they stand.

    Attributes
    ----------
    selected_path : str
        Instance path of the chosen value on its `side`, empty for none; can be set.
    side : str
        ``predicted`` or ``gold``, the side of the chosen value; can be set where `subject` is an
        Evaluation.
    sought : object
        The value that is looked for, that of `selected_path` or any other; can be set.
    page : int
        The page that is shown, from 1; can be set.
    zoom : str
        Width of the page: ``fit``, or ``100``, ``150`` or ``200`` per cent of its printed size.
    text : str
        What the path or a value must contain to be listed, in any case of letters.
    outcome : str
        The only outcome to list, or ``failed`` for all that are not right; empty for all.
    gold_finding, predicted_finding : str
        What is listed of either side: ``found``, ``not_found``, ``not_sought`` or ``missing``
        values; empty for all.
    """

    kind = "evidence"
    styles = ("evidence.css",)
    settable = frozenset({"page", "zoom", "text", "outcome", "gold_finding", "predicted_finding"})
    selected_path = traitlets.Unicode("")
    side = traitlets.Unicode()
    sought = traitlets.Any(None, allow_none=True)
    page = traitlets.Int(1)
    zoom = traitlets.Unicode("fit")
    text = traitlets.Unicode("")
    outcome = traitlets.Unicode("")
    gold_finding = traitlets.Unicode("")
    predicted_finding = traitlets.Unicode("")

    def __init__(
        self,
        ds: Dataset | None,
        document: str | Path,
        subject: Any = None,
        *,
        side: str = "predicted",
        editable: bool = False,
        path: str | None = None,
    ) -> None:
        if side not in ("predicted", "gold"):
            raise InputError(f"side={side!r}; expected 'predicted' or 'gold'")
        self._ds, self._document, self._subject = ds, document, subject
        sides = _sides(ds, document, subject)
        self._first_side = side if side in sides else next(iter(sides))
        self._leaves = {name: ground_values(ds, document, value) for name, value in sides.items()}
        ev = subject if isinstance(subject, Evaluation) else None
        values = {name: side_values(leaves) for name, leaves in self._leaves.items()}
        self._rows = value_rows(values, ev)
        self._row_of = {
            (name, row[name]["path"]): at
            for at, row in enumerate(self._rows)
            for name in sides
            if row[name] is not None
        }
        name = document if isinstance(document, str) else document.stem
        self._edits = edits_of(name, sides, subject, ds) if editable else None
        self._draft, self._why = dict[str, str](), dict[str, str]()
        self._problem = ""
        self._list_page = self._searches = 0
        self._evidence, self._places, self._at = pd.DataFrame(), list[Place](), -1
        self._pictures: dict[tuple[int, float], tuple[PageImage | None, Node]] = {}
        self._pages = find_evidence(ds, document, "").attrs["pages"]
        self._changes = 1  # nothing is drawn before the first value is chosen
        self.side = self._first_side
        first = self._first_found() if path is None else (self.side, path)
        if first is not None and first in self._row_of:
            self.side, self.selected_path = first
        super().__init__()

    # --- what Python sees -------------------------------------------------------------------

    @property
    def values(self) -> pd.DataFrame:
        """The values of the chosen side, one row per leaf; see `ground_values`."""
        return self._leaves[self.side].copy()

    @property
    def rows(self) -> pd.DataFrame:
        """The listed values, one row per pair; columns of both sides, missing where one has none.

        The columns are outcome and, for each side, path, value, finding, page and score, such as
        ``gold_path``.
        """
        return pd.DataFrame(
            [
                {"outcome": row["outcome"]}
                | {
                    f"{side}_{name}": None if row[side] is None else row[side][name]
                    for side in self._leaves
                    for name in ("path", "value", "finding", "page", "score")
                }
                for row in map(self._rows.__getitem__, self._kept())
            ]
        )

    @property
    def edits(self) -> pd.DataFrame:
        """The corrections of gold that were made in this view, as `corrections` returns them."""
        return CORRECTIONS.build() if self._edits is None else self._edits.frame

    @property
    def evidence(self) -> pd.DataFrame:
        """Where the sought value stands, one row per line of a place; see `find_evidence`."""
        return self._evidence.copy()

    @property
    def code(self) -> str:
        """An expression that finds the sought value again; without one, all values of the side.

        The names `ds`, `ev` and `values` stand for what was passed to `show_evidence`.
        """
        ds = "None" if self._ds is None else "ds"
        name = self._document
        document = repr(name) if isinstance(name, str) else f"pathlib.Path({str(name)!r})"
        if self.sought is not None:
            code = f"xb.pdf.find_evidence({ds}, {document}, {self.sought!r})"
            return code if len(code) <= _LONGEST_CODE else "view.evidence"
        if isinstance(self._subject, Evaluation):
            return f"xb.pdf.grounded(ev, {ds}, {document}, side={self.side!r})"
        values = f"ds.gold({document})" if self._subject is None else "values"
        return f"xb.pdf.ground_values({ds}, {document}, {values})"

    @traitlets.default("side")
    def _begin_with(self) -> str:
        return self._first_side

    @traitlets.validate("selected_path")
    def _known_path(self, proposal: Any) -> str:
        path = str(proposal["value"])
        if path and (self.side, path) not in self._row_of:
            paths = self._leaves[self.side]["path"]
            raise traitlets.TraitError(f"there is no value at {path!r}; {nearest(path, paths)}")
        return path

    @traitlets.validate("side", "zoom", "outcome", "gold_finding", "predicted_finding")
    def _known_name(self, proposal: Any) -> str:
        trait, name = proposal["trait"].name, proposal["value"]
        outcomes = ("", _FAILED, *self._outcome_counts())
        names: dict[str, Iterable[str]] = {"side": self._leaves, "zoom": ZOOMS, "outcome": outcomes}
        return known(trait, name, names.get(trait, ("", *LABELS)))

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        if not 1 <= proposal["value"] <= self._pages:
            raise traitlets.TraitError(
                f"page={proposal['value']!r}; the document has pages 1 to {self._pages}"
            )
        return int(proposal["value"])

    # --- what happens -----------------------------------------------------------------------

    @traitlets.observe("side")
    def _change_side(self, change: Any) -> None:
        """Go to the value on the other side that belongs to the chosen one."""
        at = self._row_of.get((change["old"], self.selected_path))
        value = None if at is None else self._rows[at][self.side]
        with self.changing():
            before, self.selected_path = self.selected_path, "" if value is None else value["path"]
            if before == self.selected_path:
                self._look_up_path(None)  # the same path is not notified

    @traitlets.observe("selected_path")
    def _look_up_path(self, _: Any) -> None:
        at = self._row_of.get((self.side, self.selected_path))
        if at is None:
            return
        with self.changing():
            searches = self._searches
            self.sought = self._rows[at][self.side]["value"]
            if searches == self._searches:
                self._look_up(None)  # the same value is not notified
            if at in (kept := self._kept()):
                self._list_page = kept.index(at) // _ROWS

    @traitlets.observe("sought")
    def _look_up(self, _: Any) -> None:
        try:
            evidence = find_evidence(self._ds, self._document, self.sought, limit=_MOST_SOUGHT)
        except InputError:
            evidence = pd.DataFrame()  # null and booleans cannot be looked for
        self._evidence = evidence
        self._searches += 1
        self._places = places(evidence) if len(evidence) else []
        self._go(0)

    def _go(self, at: int) -> None:
        with self.changing():
            self._at = at if at < len(self._places) else -1
            if self._at >= 0:
                self.page = self._places[self._at].page

    @traitlets.observe("text", "outcome", "gold_finding", "predicted_finding")
    def _filter(self, _: Any) -> None:
        self._list_page = 0

    def do_clear(self, _: Any) -> None:
        """Remove all filters."""
        self.text = self.outcome = self.gold_finding = self.predicted_finding = ""

    def do_value(self, choice: Any) -> None:
        """Choose the value of a row on one side, or on the other where it is missing."""
        match choice:
            case [int(at), str(side)] if 0 <= at < len(self._rows) and side in self._leaves:
                pass
            case _:
                return
        if self._rows[at][side] is None:
            side = next(name for name in self._leaves if self._rows[at][name] is not None)
        if side != self.side:
            self.selected_path = ""  # that of this row is looked for, no other
            self.side = side
        self.selected_path = self._rows[at][side]["path"]

    def do_list(self, number: Any) -> None:
        """Turn the page of the list."""
        if type(number) is int:
            self._list_page = number

    def do_place(self, at: Any) -> None:
        """Go to a place of the sought value."""
        if type(at) is int and 1 <= at <= len(self._places):
            self._go(at - 1)

    def do_sought(self, text: Any) -> None:
        """Search the PDF for a text."""
        if isinstance(text, str):
            self.selected_path = ""
            self.sought = text.strip() or None

    # --- corrections ------------------------------------------------------------------------

    def _place(self, path: Any = None) -> GoldPlace | None:
        """Return what is corrected now; None if that is not at `path`."""
        at = self._row_of.get((self.side, self.selected_path))
        if at is None or self._edits is None:
            return None
        place = self._edits.place(self._rows[at])
        return place if path is None or path == place.path else None

    def do_draft(self, text: Any) -> None:
        """Take the text that is typed for gold's value."""
        place = self._place()
        if place is not None and isinstance(text, str):
            self._draft[place.path], self._problem = text, ""

    def do_why(self, text: Any) -> None:
        """Take the reason for the correction of the chosen value."""
        place = self._place()
        if place is None or self._edits is None or not isinstance(text, str):
            return
        self._why[place.path] = text
        if (row := self._edits.rows.get(place.path)) is not None:
            self._edits.rows[place.path] = row._replace(why=text or pd.NA)

    def do_save(self, path: Any) -> None:
        """Correct gold's value as typed."""
        place = self._place(path)
        if place is not None and self._edits is not None:
            value, _ = self._edits.read(place, self._draft.get(place.path, place.text))
            if value is not MISSING:
                self._put(place, value)

    def do_accept(self, path: Any) -> None:
        """Put the predicted value in the place of gold's."""
        place = self._place(path)
        if place is not None and place.predicted is not MISSING:
            self._put(place, place.predicted)

    def do_remove(self, path: Any) -> None:
        """Remove a value from gold."""
        place = self._place(path)
        if place is not None and place.gold is not MISSING:
            self._put(place, MISSING)

    def _put(self, place: GoldPlace, value: Any) -> None:
        if self._edits is not None:
            self._problem = self._edits.put(place, value, self._why.get(place.path, ""))
            if not self._problem:
                self._draft.pop(place.path, None)

    def do_undo(self, path: Any) -> None:
        """Take back the correction at a path."""
        if self._edits is not None and isinstance(path, str) and path in self._edits.rows:
            del self._edits.rows[path]
            self._draft.pop(path, None)
            self._why.pop(path, None)
            self._problem = ""

    def _editor(self) -> Node:
        place, edits = self._place(), self._edits
        if edits is None:
            return h("div")
        if place is None:
            return h("div", edits.listed())
        made = edits.rows.get(place.path)
        text = place.text
        if made is not None:
            text = "" if made.new is pd.NA else json.dumps(made.new, ensure_ascii=False)
        draft = self._draft.get(place.path, text)
        said = self._problem
        if not said and (draft != text or (made is not None and made.new is not pd.NA)):
            said = edits.read(place, draft)[1]
        why = self._why.get(place.path, "")
        return h("div", edits.editor(place, draft, said, why), edits.listed())

    # --- what is drawn ----------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the list, the page, and its picture, which is sent by itself."""
        name = self._document if isinstance(self._document, str) else self._document.name
        title = h("p", f"Evidence · {one_line(name)}", cls="xb-title", live=True)
        return {
            "page": h(
                "div",
                title,
                self._headline(),
                part("filters"),
                ui.split(part("values"), [part("sheet"), self._correcting()]),
            ),
            "filters": self._filters(),
            "values": self._list(),
            "sheet": self._sheet(),
            "picture": self._picture(self.page, ZOOMS[self.zoom][2])[1],
            "edits": self._editor(),
        }

    def _headline(self) -> Node:
        """Say how many values of the chosen side are printed in the PDF."""
        counts = Counter(_finding(row[self.side]) for row in self._rows)
        found, sought = counts[FOUND], counts[FOUND] + counts[NOT_FOUND]
        share = ratio_text(found / sought) if sought else "n/a"
        others = f"; {counts[NOT_SOUGHT]:,} not searched" if counts[NOT_SOUGHT] else ""
        said = f"of the {self.side} values are in the PDF: {found:,} of {sought:,}{others}."
        return ui.headline(share, said)

    def _correcting(self) -> Node | None:
        if self._edits is None:
            return None
        made = f" · {len(self._edits.rows)}" if self._edits.rows else ""
        summary = h("summary", f"Correct gold…{made}", live=True)
        return h("details", summary, part("edits"), cls="xb-filters")

    def _first_found(self) -> tuple[str, str] | None:
        """Return side and path of the first listed value that was found, failing rows first."""
        rows = [self._rows[at] for at in self._kept()]
        failing = [row for row in rows if row["outcome"] not in _RIGHT]
        sides = dict.fromkeys((self.side, *self._leaves))
        for group in (failing, rows):
            found = [
                (side, row[side]) for side in sides for row in group if _finding(row[side]) == FOUND
            ]
            telling = [one for one in found if (one[1]["score"] or 0) >= _TELLING]
            for side, value in telling or found:
                return side, value["path"]
        return None

    def _kept(self) -> list[int]:
        findings = {side: getattr(self, f"{side}_finding") for side in self._leaves}
        return kept_rows(self._rows, findings, outcome=self.outcome, text=self.text)

    def _outcome_counts(self) -> dict[str, int]:
        counts = Counter(row["outcome"] for row in self._rows)
        return {name: counts[name] for name in (*OUTCOMES, "missed", "spurious") if counts[name]}

    def _filters(self) -> Node:
        menus: list[Node] = []
        chips: list[tuple[str, Node | str, int]] = []
        if len(self._leaves) > 1:
            counts = self._outcome_counts()
            failed = sum(number for name, number in counts.items() if name not in _RIGHT)
            names = {"": f"all ({len(self._rows):,})", _FAILED: f"all failures ({failed:,})"}
            names |= {name: f"{outcome_text(name)} ({n:,})" for name, n in counts.items()}
            menus.append(ui.menu("Outcome", "set:outcome", names, self.outcome))
            chips += [(_FAILED, "all failures", failed)] if failed else []
            chips += [(name, ui.mark(name), n) for name, n in counts.items() if name not in _RIGHT]
        for side in self._leaves:
            states = Counter(_finding(row[side]) for row in self._rows)
            names = {"": "all"} | {
                name: f"{label} ({states[name]:,})"
                for name, label in LABELS.items()
                if states[name]
            }
            chosen = getattr(self, f"{side}_finding")
            menus.append(
                ui.menu(f"{side.capitalize()} in the PDF", f"set:{side}_finding", names, chosen)
            )
        hint = "filter by path or value"
        box = ui.search("Filter the list", "set:text", self.text, hint, "values")
        findings = [getattr(self, f"{side}_finding") for side in self._leaves]
        active = sum(map(bool, (self.text.strip(), self.outcome, *findings)))
        typed = "" if self.selected_path or self.sought is None else _text(self.sought)
        search = ui.search("Search the PDF", "sought", typed, "search the PDF for any text")
        return h(
            "div",
            ui.chips("Values by outcome", "chip", chips, self.outcome) if chips else None,
            ui.toolbar(
                ui.filters(active, box, menus),
                ui.button("Clear filters", "clear") if active else None,
                search,
            ),
            cls="xb-filter-line",
        )

    def do_chip(self, outcome: Any) -> None:
        """List the values of one outcome only, or all again."""
        if outcome == _FAILED or outcome in self._outcome_counts():
            self.outcome = "" if outcome == self.outcome else outcome

    def _list(self) -> Node:
        kept = self._kept()
        cut = ui.page_of(len(kept), self._list_page, _ROWS)
        self._list_page = cut.number
        chosen = self._row_of.get((self.side, self.selected_path))
        here = cut.of(kept)
        at = here.index(chosen) if chosen in here else 0
        first = max(0, min(at - _STATIC_ROWS // 2, len(here) - _STATIC_ROWS))
        body = [
            self._row(number, place, live=not first <= place < first + _STATIC_ROWS)
            for place, number in enumerate(here)
        ]
        heads = ["path", *(self._leaves if len(self._leaves) > 1 else ["value"])]
        table = h(
            "table",
            h("thead", h("tr", [h("th", name, scope="col") for name in heads])),
            h("tbody", body),
            role="grid",
            aria_label="Values",
            keys="grid",
            id="values",
            cls=f"xb-values xb-sides{len(self._leaves)}",
        )
        filters = [self.text, self.outcome, self.gold_finding, self.predicted_finding]
        begins = json.dumps([*filters, cut.number])  # another element: it is scrolled to its top
        none = "No value matches; clear the filters." if self._rows else "There are no values."
        written = min(len(here), _STATIC_ROWS)
        start = cut.first + first
        said = f"{len(kept):,} of {plural(len(self._rows), 'value')}"
        around = f"Values {start + 1:,} to {start + written:,} of {len(kept):,}"
        return h(
            "div",
            ui.listed(said, cut, "values", "list"),
            h("div", table, cls="xb-scroll", scroll=True, key=begins)
            if kept
            else h("p", none, cls="xb-empty"),
            h("p", around, static=True) if written < len(kept) else None,
            h(
                "details",
                h("summary", "Signs"),
                h(
                    "ul",
                    [h("li", h("b", sign), f" {text}") for sign, text in _LEGEND],
                    cls="xb-legend",
                ),
            ),
        )

    def _row(self, number: int, place: int, *, live: bool) -> Node:
        row = self._rows[number]
        values, outcome = [row[side] for side in self._leaves], row["outcome"]
        path = next(value["path"] for value in values if value is not None)
        said = ui.mark(outcome) if outcome else h("span", "not scored", cls="xb-outcome xb-quiet")
        accepted = accepted_text(row.get("accepted"))
        read = h("span", f" {accepted}", cls="xb-quiet") if accepted else None
        verdict = [" ", said, read] if len(values) > 1 else None
        head = h("th", ui.breakable(path, self.text), verdict, scope="row")
        written = self._written(values, differs=outcome not in _RIGHT)
        cells = []
        for column, (side, value) in enumerate(zip(self._leaves, values, strict=True)):
            chosen = value is not None and (side, value["path"]) == (self.side, self.selected_path)
            cells.append(
                h(
                    "td",
                    written[column],
                    self._corrected(side, value),
                    _where(value),
                    item=True,
                    row=place,
                    column=column,
                    do="value",
                    send=[number, side],
                    found=bool(self.text.strip()),
                    aria_selected="true" if chosen else "false",
                    reveal=str(self._searches) if chosen else None,
                )
            )
        return h("tr", head, cells, key=number, live=live)

    def _corrected(self, side: str, value: Mapping[str, Any] | None) -> Node | None:
        rows = {} if self._edits is None or side != "gold" or value is None else self._edits.rows
        row = rows.get(value["path"]) if value is not None else None
        if row is None:
            return None
        text = change_text(row).rpartition(" → ")[2]
        return h("div", f"→ {text}", cls="xb-corrected xb-clamp", dir="auto")

    def _written(self, values: Sequence[Any], *, differs: bool) -> list[Node | None]:
        """Write the values of a row, with what differs or what was searched for marked."""
        there = [None if value is None else value["value"] for value in values]
        if self.text.strip():
            inside: list[Iterable[Child]] = [ui.found(_text(value), self.text) for value in there]
        elif differs and None not in values:
            inside = [ui.segments(side) for side in compared(*there, limit=_LONGEST)]
        else:
            inside = [ui.segments(alone(value, limit=_LONGEST)) for value in there]
        return [
            None if value is None else h("div", text, cls="xb-value xb-clamp", dir="auto")
            for value, text in zip(values, inside, strict=True)
        ]

    def _picture(self, page: int, scale: float) -> tuple[PageImage | None, Node]:
        """Return the picture of a page, and the same element again as long as it is kept.

        If the page cannot be drawn, there is no picture, and the element has the reason.
        """
        if (page, scale) not in self._pictures:
            picture: PageImage | None
            try:
                picture = render_page(
                    self._ds, self._document, page, scale=scale, boxes=_CORNERS, mark=False
                )
                drawn = h("img", src=_address(picture), alt=f"Page {page}", cls="xb-page")
            except InputError as error:
                picture = None
                drawn = h("span", f"Page {page} is not shown: {error}", cls="xb-bad")
            if len(self._pictures) >= _MOST_PICTURES:
                del self._pictures[next(iter(self._pictures))]
            self._pictures[page, scale] = picture, drawn
        return self._pictures[page, scale]

    def _sheet(self) -> Node:
        chosen = self._places[self._at] if self._at >= 0 else None
        share, scale = ZOOMS[self.zoom][1:]
        picture, drawn = self._picture(self.page, scale)
        shape, here = "width:100%", []
        if picture is not None:
            width = f"{picture.points[0] * _PIXELS_A_POINT * share:.0f}px" if share else "100%"
            shape = f"width:{width};aspect-ratio:{picture.width}/{picture.height}"
            here = [place for place in self._places if place.page == self.page]
        view = f"{self._searches} {self._at} {self.page} {self.zoom}"
        marks = [
            h(
                "div",
                style=mark_style(picture, box) if picture else "",
                cls="xb-place xb-chosen" if place is chosen else "xb-place",
                reveal=view if place is chosen and not line else None,
            )
            for place in here
            for line, box in enumerate(place.boxes)
        ]
        paper = h("div", part("picture"), marks, cls="xb-paper", style=shape, reveal=view)
        boxes = [box for place in here for box in place.boxes]
        source = _MarkedPage(self._ds, self._document, self.page, boxes=boxes)
        marked = h("img", src=source, alt=f"Page {self.page} with the places marked", cls="xb-page")
        zooms = {name: words for name, (words, *_) in ZOOMS.items()}
        return h(
            "div",
            self._said(chosen),
            ui.toolbar(
                _turner("place", "place", self._at + 1, len(self._places)),
                _turner("page", "set:page", self.page, self._pages),
                ui.menu("Zoom", "set:zoom", zooms, self.zoom),
                [
                    h("span", h("i", cls=f"xb-key {kind}"), words, cls="xb-quiet")
                    for kind, words in (("xb-chosen", "this place"), ("", "other places"))
                ][: len(self._places)],
            ),
            h(
                "div",
                paper,
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

    def _said(self, chosen: Place | None) -> Node:
        if self.sought is None and not self.selected_path:
            return h("div", "Choose a value in the list.", role="status", cls="xb-said", live=True)
        value = h("div", _text(self.sought, 300), cls="xb-value xb-clamp", dir="auto")
        of = h("span", f"{self.side} ", ui.breakable(self.selected_path), cls="xb-quiet")
        where = [value, of if self.selected_path else None]
        if chosen is None:
            missing = h("b", _NOTHING[self._evidence.attrs.get("status", "")], cls="xb-bad")
            return h("div", missing, where, role="status", cls="xb-said")
        total = self._evidence.attrs.get("places", len(self._places))
        title = (
            f"Place {self._at + 1} of {total:,} · page {chosen.page} · "
            f"score {score_text(chosen.score)}"
        )
        context = h(
            "div", f"{chosen.written}: {chosen.context}", cls="xb-quiet xb-clamp", dir="auto"
        )
        return h("div", h("b", title), where, context, role="status", cls="xb-said")

    def __repr__(self) -> str:
        """Say how many values were found."""
        counts = Counter(_finding(row[self.side]) for row in self._rows)
        del counts[ABSENT]
        said = ", ".join(f"{counts[name]:,} {LABELS[name]}" for name in LABELS if counts[name])
        name = self._document if isinstance(self._document, str) else self._document.name
        return f"Evidence · {one_line(name)} · {self.side} values: {said or 'none'}"


def _where(value: Mapping[str, Any] | None) -> Node:
    finding, label = _finding(value), LABELS[_finding(value)]
    sign = _SIGNS[finding]
    if value is not None and value["page"] is not None:
        sign = sign if value["score"] >= _TELLING else _BY_CHANCE
        label = f"page {value['page']} · {score_text(value['score'])}"
    return h(
        "div", h("span", sign, aria_hidden="true"), f" {label}", cls=f"xb-where xb-is-{finding}"
    )


def _turner(noun: str, do: str, at: int, total: int) -> Node | None:
    if total <= 1:
        return None
    before, after = (
        ui.button(sign, do, to, aria_label=f"{name} {noun}", disabled=not 1 <= to <= total)
        for sign, name, to in (("◂", "Previous", at - 1), ("▸", "Next", at + 1))
    )
    return h("span", before, f"{noun} {at:,} of {total:,}", after, cls="xb-pager")


def _sides(ds: Dataset | None, document: str | Path, subject: Any) -> dict[str, Any]:
    if isinstance(subject, Evaluation):
        return {"gold": subject.inputs.gold, "predicted": subject.inputs.predicted}
    if isinstance(subject, dict | list | tuple | str | int | float):
        return {"predicted": subject}
    if subject is not None:
        raise InputError(
            f"subject is of type {type(subject).__name__}; expected one Evaluation, such as "
            "evs.evaluation(run, document), or a JSON value"
        )
    if ds is None or not isinstance(document, str):
        raise InputError("subject: a PDF given by its path needs values; pass a JSON value")
    return {"gold": ds.gold(document)}
