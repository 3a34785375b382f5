"""`ObjectsView`: detected objects over the image of a table, and the table made of them."""

from __future__ import annotations

import io
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import traitlets

from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, plural, ratio_text
from extractbench_nb.tables import (
    STRUCTURE_LABELS,
    ResolvedTable,
    TableImage,
    from_objects,
    grits,
    is_share,
    kind_of,
    read_image,
    read_table,
    rectangles,
)
from extractbench_nb.views import controls as ui
from extractbench_nb.views.palette import SERIES
from extractbench_nb.views.static import score_text
from extractbench_nb.views.tables_view import TableView, covered
from extractbench_nb.views.view import View, checked_name, part

_Box: TypeAlias = tuple[float, float, float, float]

#: By class; those that lie over each other differ most.
_COLOURS = {label: SERIES[n] for label, n in zip(STRUCTURE_LABELS, (7, 0, 5, 3, 4, 2), strict=True)}
_MOST_BOXES, _MOST_ROWS, _MOST_COLUMNS, _LONGEST = 400, 60, 30, 80
#: Longest side of a picture that is sent, in pixels, and how much a small one is enlarged.
_LONGEST_SIDE, _ENLARGED = 2_000, 1.5
_MARGIN = 10


class Object(NamedTuple):
    """An object by its position in the input, with its box as detected and the last action."""

    number: int
    label: str
    score: float
    box: _Box
    fate: str


class ObjectsView(View):
    """Boxes of detected objects by class over their image, beside the table made of them.

    Attributes
    ----------
    threshold : float
        The least score, 0 to 1; conflicts are resolved anew at another one.
    selected : int or None
        Position of the chosen object in the input.
    result : ResolvedTable
        The table at `threshold`.
    """

    kind = "objects"
    styles = ("tables.css", "objects.css")
    settable = frozenset({"threshold", "selected"})
    threshold = traitlets.Float(0.5)
    selected = traitlets.Int(None, allow_none=True)

    def __init__(
        self,
        subject: ResolvedTable | TableImage,
        *,
        image: Any = None,
        true: Any = None,
        name: str = "found",
    ) -> None:
        if isinstance(subject, TableImage):
            image = subject.image if image is None else image
            subject = from_objects(subject.objects, subject.words)
        if not isinstance(subject, ResolvedTable):
            raise InputError(
                f"subject is of type {type(subject).__name__}; expected a ResolvedTable, as "
                "from_objects() returns"
            )
        self._name_in_code, self._given = checked_name(name), subject
        self._true = None if true is None else read_table(true)
        self._use(subject)
        self._extent, self._picture = _paper(self._detected, image)
        super().__init__(threshold=float(subject.threshold))

    def _use(self, result: ResolvedTable) -> None:
        """Show a table, and find what became of each object."""
        self.result = result
        self._grits = None if self._true is None else grits(self._true, result.table)
        self._steps = ui.rows_of(result.changes)
        fates = {number: action for number, _, action, *_ in self._steps}
        found = result.read[0]
        columns = found.numbers, found.labels, found.scores.tolist(), found.boxes.tolist()
        self._detected = {
            number: Object(number, label, score, tuple(box), fates.get(number, "kept"))
            for number, label, score, box in zip(*columns, strict=True)
        }
        #: By number of an object: its box as resolved, and the rows and columns that it covers.
        self._left: dict[int, tuple[_Box, tuple[int, ...], tuple[int, ...]]] = {}
        for number, label, _, *box, rows, across in ui.rows_of(result.objects):
            numbers = [number]
            if number is None:  # one header was made of all that were aligned
                aligned = label, "aligned"
                numbers = [n for n, one in self._detected.items() if (one[1], one[4]) == aligned]
            self._left |= dict.fromkeys(numbers, (tuple(box), rows, across))

    @traitlets.validate("threshold")
    def _known_threshold(self, proposal: Any) -> float:
        value = proposal["value"]
        if not is_share(value):
            raise traitlets.TraitError(f"threshold is {value!r}; expected a number from 0 to 1")
        return float(value)

    @traitlets.observe("threshold")
    def _resolve(self, change: Any) -> None:
        is_first = change["new"] == self._given.threshold
        self._use(self._given if is_first else self._given.with_threshold(change["new"]))

    @traitlets.validate("selected")
    def _known_object(self, proposal: Any) -> int | None:
        number: int | None = proposal["value"]
        if number is not None and number not in self._detected:
            raise traitlets.TraitError(
                f"selected: there is no object {number}, or it cannot be used; see result.changes"
            )
        return number

    # --- events of the page -----------------------------------------------------------------------

    def do_clear(self, _: Any) -> None:
        """Choose nothing."""
        self.selected = None

    def do_point(self, place: Any) -> None:
        """Choose the smallest box at a place, or after the chosen one the next larger one."""
        left, top, width, height = self._extent
        x, y = left + place[0] * width, top + place[1] * height
        there = sorted(
            ((x1 - x0) * (y1 - y0), number)
            for number, _, _, (x0, y0, x1, y1), _ in self._drawn()[:_MOST_BOXES]
            if x0 <= x <= x1 and y0 <= y <= y1
        )
        numbers = [number for _, number in there]
        after = numbers.index(self.selected) + 1 if self.selected in numbers else 0
        self.selected = numbers[after % len(numbers)] if numbers else None

    def do_compare(self, _: Any) -> None:
        """Show the table beside the true one."""
        if self._grits is not None:
            self.open_view(TableView(self._grits), "Compared with the true table")

    # --- what is drawn ----------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the boxes over the picture, the table and the chosen object."""
        slider = ui.slider("Threshold", "set:threshold", self.threshold, (0, 1), 0.01)
        beside = h("div", part("table"), part("object"))
        page = h(
            "div",
            part("said"),
            ui.toolbar(slider),
            h("p", f"Boxes as detected, with a score from {self.threshold:g} on.", static=True),
            self._classes(),
            h("div", h("div", part("sheet")), beside, cls="xb-beside"),
            cls="xb-tables",
        )
        return {
            "page": page,
            "said": self._said(),
            "sheet": self._sheet(),
            "picture": self._picture,
            "table": self._table(),
            "object": self._object(),
        }

    def _drawn(self) -> list[Object]:
        """Return the objects whose boxes are drawn, by class and from the upper left on."""
        drawn = [one for one in self._detected.values() if one.score >= self.threshold]
        return sorted(drawn, key=lambda one: (STRUCTURE_LABELS.index(one.label), *one.box[1::-1]))

    def _said(self) -> Node:
        table = self.result.table
        rows, columns = table.grid.shape if table.size else (0, 0)
        fates = Counter(one.fate for one in self._detected.values())
        told = (
            f"{plural(rows, 'row')} × {plural(columns, 'column')}; "
            f"confidence {score_text(self.result.confidence)}; "
            f"{plural(len(self._detected), 'object')}: {ui.counts_text(fates.most_common())}."
        )
        scores = None
        if self._grits is not None:
            named = ", ".join(
                f"{name} {ratio_text(score)}"
                for name, score in self._grits.scores["fscore"].items()
            )
            compare = ui.button("Compare the tables", "compare")
            scores = h("p", f"GriTS with the true table: {named}. ", compare)
        return h("div", h("p", told, role="status"), scores)

    def _classes(self) -> Node:
        """Say what the colours mean, and count the classes."""
        counts = Counter(one.label for one in self._detected.values())
        named = [
            h("span", _key(label), f"{label} ({counts[label]:,})", key=label)
            for label in STRUCTURE_LABELS
            if counts[label]
        ]
        dropped = h("span", h("i", cls="xb-key xb-dropped"), "dropped", cls="xb-quiet")
        return h("div", named, dropped, cls="xb-controls")

    def _sheet(self) -> Node:
        left, top, width, height = self._extent
        drawn = self._drawn()
        marks: list[Node] = []
        for n, label, score, (x0, y0, x1, y1), fate in drawn[:_MOST_BOXES]:
            at = (x0 - left) / width, (y0 - top) / height, (x1 - x0) / width, (y1 - y0) / height
            sides = zip(("left", "top", "width", "height"), at, strict=True)
            place = ";".join(f"{side}:{100 * share:.3f}%" for side, share in sides)
            chosen, dropped = n == self.selected, fate == "dropped"
            marks.append(
                h(
                    "div",
                    cls=f"xb-object{' xb-dropped' * dropped}{' xb-chosen' * chosen}",
                    style=f"{place};--tone:{_COLOURS[label]}",
                    key=n,
                    item=True,
                    do="set:selected",
                    send=n,
                    row=len(marks),
                    column=0,
                    role="option",
                    aria_label=f"object {n}: {label}, score {score:.2f}, {fate}",
                    aria_selected="true" if chosen else "false",
                )
            )
        named = {"role": "listbox", "aria_label": "Detected objects"} if marks else {}
        layer = h("div", marks, keys="grid", follow=True, cls="xb-layer", **named)
        shape = f"aspect-ratio:{width:g}/{height:g};max-width:{_ENLARGED * width:.0f}px"
        pointed = {"do": "point", "spot": True, "escape": "clear"}
        paper = h("div", part("picture"), layer, cls="xb-paper", style=shape, **pointed)
        empty = None if drawn else h("p", "No boxes are drawn.", cls="xb-empty")
        return h("div", paper, empty, ui.more(len(drawn) - len(marks), "boxes"))

    def _table(self) -> Node:
        """Draw the table; the positions of the chosen object are marked."""
        table = self.result.table
        if not table.size:
            return h("p", "No table: no rows or no columns are left.", cls="xb-empty")
        grid = table.grid[:_MOST_ROWS, :_MOST_COLUMNS]
        _, down, across = self._left.get(self.selected, (None, (), ()))  # type: ignore[arg-type]
        body: list[list[Node]] = [[] for _ in grid]
        for n, row, column, height, width in rectangles(grid):
            cell = table.cells[n]
            is_on = not {*down}.isdisjoint(cell.rows) and not {*across}.isdisjoint(cell.columns)
            kinds = [f"xb-{kind}" for kind in (kind_of(cell), "on" * is_on) if kind]
            spans = {"rowspan": height, "colspan": width}
            body[row].append(
                h(
                    "td",
                    one_line(cell.text, _LONGEST),
                    cls=" ".join(kinds) or None,
                    dir=None if cell.text.isascii() else "auto",
                    key=f"{row} {column}",
                    **{name: size for name, size in spans.items() if size > 1},
                )
            )
        drawn = h("table", h("tbody", [h("tr", cells) for cells in body]))
        named = {"tabindex": 0, "role": "region", "aria_label": "Table"}
        height, width = table.grid.shape
        return h(
            "div",
            h("div", drawn, cls="xb-box", **named),
            ui.more(height - len(grid), "rows"),
            ui.more(width - grid.shape[1], "columns"),
        )

    def _object(self) -> Node:
        """Draw what became of the chosen object."""
        if self.selected is None:
            hint = (
                "Choose a box, by a click or by arrow keys, to see what became of the object. "
                "Another click at the same place chooses the next larger box there."
            )
            return h("p", hint if self._detected else "", cls="xb-quiet", live=True)
        chosen = self._detected[self.selected]
        steps = [
            h("li", h("b", f"{step}: {action}"), f", {reason}{_covered(rows, columns)}")
            for number, step, action, reason, rows, columns in self._steps
            if number == self.selected
        ]
        facts = [
            ("class", chosen.label),
            ("score", ratio_text(chosen.score)),
            ("fate", chosen.fate),
            ("detected at", _numbers(chosen.box)),
        ]
        if left := self._left.get(self.selected):
            facts += [("resolved to", _numbers(left[0]))]
            facts += [("covers", _covered(*left[1:]).strip(" ()"))]
        return h(
            "div",
            h("p", h("b", _key(chosen.label), f"Object {self.selected}")),
            ui.facts_list(facts),
            h("ol", steps) if steps else h("p", "No step changed it."),
            ui.code(self.code),
            cls="xb-detail",
            role="region",
            aria_label="Chosen object",
            reveal=f"{self.selected}",
        )

    @property
    def code(self) -> str:
        """An expression for the changes of the chosen object, else for all changes."""
        source = self._name_in_code
        if self.threshold != self._given.threshold:
            source += f".with_threshold({self.threshold:g})"
        chosen = "" if self.selected is None else f'.query("object == {self.selected}")'
        return f"{source}.changes{chosen}"

    def __repr__(self) -> str:
        """Say what was made at which threshold."""
        return f"Objects · {self.result!r} · threshold {self.threshold:g}"


def _paper(objects: Mapping[int, Object], image: Any) -> tuple[_Box, Node]:
    """Return the part of the plane that boxes are drawn on, and its picture: white without one."""
    if image is None:
        boxes = [one.box for one in objects.values()] or [(0, 0, 1, 1)]
        left, top = (min(box[side] for box in boxes) - _MARGIN for side in (0, 1))
        right, bottom = (max(box[side] for box in boxes) + _MARGIN for side in (2, 3))
        return (left, top, right - left, bottom - top), h("div", cls="xb-page")
    picture = read_image(image)
    width, height = picture.size
    for n, label, _, (x0, y0, x1, y1), fate in objects.values():
        is_inside = 0 <= x0 + x1 <= 2 * width and 0 <= y0 + y1 <= 2 * height
        if fate != "dropped" and not is_inside:
            raise InputError(
                f"image has {width} x {height} pixels, but object {n} ({label!r}) has the box "
                f"{x0:g}, {y0:g}, {x1:g}, {y1:g}; expected the image in which the objects were "
                "detected, of the same size"
            )
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    files = {}
    for kind in ("png", "jpeg"):  # one is small for drawings, the other for scans
        file = io.BytesIO()
        picture.save(file, kind)
        files[kind] = file.getvalue()
    kind = min(files, key=lambda kind: len(files[kind]))
    address = f"data:image/{kind};base64,{b64encode(files[kind]).decode('ascii')}"
    drawn = h("img", src=address, alt="Image of the table", cls="xb-page")
    return (0, 0, width, height), drawn


def _key(label: str) -> Node:
    return h("i", cls="xb-key", style=f"--tone:{_COLOURS[label]}")


def _numbers(box: _Box) -> str:
    return ", ".join(f"{number:.6g}" for number in box)


def _covered(rows: tuple[int, ...] | None, columns: tuple[int, ...] | None) -> str:
    named = (("row", rows), ("column", columns))
    told = [covered(numbers, name) for name, numbers in named if numbers]
    return f" ({'; '.join(told)})" if told else ""
