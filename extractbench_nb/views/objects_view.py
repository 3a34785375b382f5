"""`ObjectsView`: detected objects over the image of a table, and the table made of them."""

from __future__ import annotations

import io
from base64 import b64encode
from collections import Counter
from typing import Any, NamedTuple, TypeAlias

import traitlets

from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, plural, ratio_text
from extractbench_nb.tables import (
    STRUCTURE_LABELS,
    ResolvedTable,
    TableImage,
    Words,
    detected_objects,
    detected_words,
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
from extractbench_nb.views.view import View, checked_name, known, part

_Box: TypeAlias = tuple[float, float, float, float]

#: Which boxes are drawn.
BOXES = {
    "counted": "detected, from the threshold on",
    "all": "all that were detected",
    "resolved": "as resolved",
}
#: By class; those that lie over each other differ most.
_COLOURS = {label: SERIES[n] for label, n in zip(STRUCTURE_LABELS, (7, 0, 5, 3, 4, 2), strict=True)}
_MOST_BOXES, _MOST_WORDS = 400, 2_000
_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 60, 30, 80
_MOST_CHANGES = 200
#: Longest side of a picture that is sent, in pixels, and how much a small one is enlarged.
_LONGEST_SIDE, _ENLARGED = 2_000, 1.5
_MARGIN = 10


class Object(NamedTuple):
    """An object, as detected or as resolved: its position in the input, and the last action."""

    number: int
    label: str
    score: float
    box: _Box
    fate: str
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()


class Change(NamedTuple):
    """A row of ``ResolvedTable.changes``."""

    number: int | None
    step: str
    action: str
    reason: str
    rows: tuple[int, ...] | None
    columns: tuple[int, ...] | None


class Board:
    """The table at one threshold, with changes and objects; `left` has the resolved ones."""

    def __init__(self, result: ResolvedTable) -> None:
        self.result = result
        self.changes = [Change(*row) for row in ui.rows_of(result.changes)]
        self.steps: dict[int | None, list[Change]] = {}
        for change in self.changes:
            self.steps.setdefault(change.number, []).append(change)
        steps = self.steps
        found = detected_objects(result.given[0], "objects")
        self.detected = {
            n: Object(n, label, score, tuple(box), steps[n][-1].action if n in steps else "kept")
            for n, label, score, box in zip(
                found.numbers,
                found.labels,
                found.scores.tolist(),
                found.boxes.tolist(),
                strict=True,
            )
        }
        self.left: dict[int, Object] = {}
        for n, label, _, *box, rows, columns in ui.rows_of(result.objects):
            numbers = [n]
            if n is None:  # one header was made of all that were aligned
                made = label, "aligned"
                numbers = [m for m, one in self.detected.items() if (one.label, one.fate) == made]
            for m in numbers:
                resolved = self.detected[m]._replace(box=tuple(box), rows=rows, columns=columns)
                self.left[m] = resolved


class ObjectsView(View):
    """Boxes of detected objects by class over their image, beside the table made of them.

    Attributes
    ----------
    threshold : float
        The least score, 0 to 1; conflicts are resolved anew at another one.
    labels : list of str
        The classes whose boxes are drawn, some of `STRUCTURE_LABELS`.
    boxes : str
        Which boxes are drawn: ``counted`` (as detected, with a score from the threshold on),
        ``all`` (as detected) or ``resolved``.
    selected : int or None
        Position of the chosen object in the input.
    result : ResolvedTable
        The table at `threshold`.
    """

    kind = "objects"
    styles = ("tables.css", "objects.css")
    settable = frozenset({"threshold", "boxes"})
    threshold = traitlets.Float(0.5)
    labels = traitlets.List(traitlets.Unicode(), list(STRUCTURE_LABELS))
    boxes = traitlets.Unicode("counted")
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
        self._name_in_code = checked_name(name)
        self._true = None if true is None else read_table(true)
        self._given = subject
        self._resolve(None)
        self._extent, self._picture = self._pictured(image)
        super().__init__()

    def _pictured(self, image: Any) -> tuple[_Box, Node]:
        """Return what part of the plane is drawn, and the picture there: white without an image."""
        objects = self._board.detected.values()
        if image is None:
            read = detected_words(self._given.given[1], "words")
            return _on_white([one.box for one in objects], read)
        picture = read_image(image)
        width, height = picture.size
        for n, label, _, (x0, y0, x1, y1), fate, *_ in objects:
            is_inside = 0 <= x0 + x1 <= 2 * width and 0 <= y0 + y1 <= 2 * height
            if fate != "dropped" and not is_inside:
                raise InputError(
                    f"image has {width} x {height} pixels, but object {n} ({label!r}) has the box "
                    f"{x0:g}, {y0:g}, {x1:g}, {y1:g}; expected the image in which the objects were "
                    "detected, of the same size"
                )
        picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        files = []
        for kind in ("PNG", "JPEG"):  # one is small for drawings, the other for scans
            file = io.BytesIO()
            picture.save(file, kind)
            files.append((file.tell(), kind.lower(), file.getvalue()))
        _, kind, content = min(files)
        address = f"data:image/{kind};base64,{b64encode(content).decode('ascii')}"
        drawn = h("img", src=address, alt="Image of the table", cls="xb-page")
        return (0, 0, width, height), drawn

    # --- what Python sees -------------------------------------------------------------------------

    @property
    def result(self) -> ResolvedTable:
        """The table at the threshold that is set."""
        return self._board.result

    @property
    def code(self) -> str:
        """An expression for the changes of the chosen object, else for all changes."""
        source = self._name_in_code
        if self.threshold != self._given.threshold:
            source += f".with_threshold({self.threshold:g})"
        chosen = "" if self.selected is None else f'.query("object == {self.selected}")'
        return f"{source}.changes{chosen}"

    @traitlets.default("threshold")
    def _first_threshold(self) -> float:
        return float(self._given.threshold)

    @traitlets.observe("threshold")
    def _resolve(self, _: Any) -> None:
        """Resolve conflicts at the threshold that is set, and find what became of each object."""
        is_first = self.threshold == self._given.threshold
        result = self._given if is_first else self._given.with_threshold(self.threshold)
        self._board = Board(result)
        self._grits = None if self._true is None else grits(self._true, result.table)

    @traitlets.validate("threshold")
    def _known_threshold(self, proposal: Any) -> float:
        value = proposal["value"]
        if not is_share(value):
            raise traitlets.TraitError(f"threshold is {value!r}; expected a number from 0 to 1")
        return float(value)

    @traitlets.validate("boxes")
    def _known_boxes(self, proposal: Any) -> str:
        return known("boxes", proposal["value"], BOXES)

    @traitlets.validate("labels")
    def _known_labels(self, proposal: Any) -> list[str]:
        names = [known("labels", name, STRUCTURE_LABELS) for name in proposal["value"]]
        return [label for label in STRUCTURE_LABELS if label in names]

    @traitlets.validate("selected")
    def _known_object(self, proposal: Any) -> int | None:
        value: int | None = proposal["value"]
        if value is not None and value not in self._board.detected:
            raise traitlets.TraitError(
                f"selected: there is no object {value}, or it cannot be used; see result.changes"
            )
        return value

    @traitlets.observe("selected")
    def _show_class(self, _: Any) -> None:
        """Draw the boxes of the class of the chosen object."""
        if self.selected is not None:
            self.labels = [*self.labels, self._board.detected[self.selected].label]

    # --- events of the page -----------------------------------------------------------------------

    def do_object(self, number: Any) -> None:
        """Choose an object."""
        if type(number) is int and number in self._board.detected:
            self.selected = number

    def do_clear(self, _: Any) -> None:
        """Choose nothing."""
        self.selected = None

    def do_label(self, label: Any) -> None:
        """Draw the boxes of a class, or no longer."""
        if label in STRUCTURE_LABELS:
            self.labels = [n for n in STRUCTURE_LABELS if (n in self.labels) != (n == label)]

    def do_point(self, place: Any) -> None:
        """Choose the smallest box at a place, or after the chosen one the next larger one."""
        match place:
            case [int() | float() as across, int() | float() as down]:
                left, top, width, height = self._extent
                x, y = left + across * width, top + down * height
            case _:
                return
        there = [
            ((x1 - x0) * (y1 - y0), n)
            for n, _, _, (x0, y0, x1, y1), *_ in self._drawn()[:_MOST_BOXES]
            if x0 <= x <= x1 and y0 <= y <= y1
        ]
        numbers = [n for _, n in sorted(there)]
        after = numbers.index(self.selected) + 1 if self.selected in numbers else 0
        self.selected = numbers[after % len(numbers)] if numbers else None

    def do_compare(self, _: Any) -> None:
        """Show the table beside the true one."""
        if self._grits is not None:
            self.open_view(TableView(self._grits), "Compared with the true table")

    # --- what is drawn ----------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the boxes over the picture, the table, the chosen object, and all changes."""
        tools = ui.toolbar(
            ui.slider("Threshold", "set:threshold", self.threshold, (0, 1), 0.01),
            ui.menu("Boxes", "set:boxes", BOXES, self.boxes),
        )
        boxes = h("div", part("sheet"))
        body = h("div", boxes, h("div", part("table"), part("object")), cls="xb-beside")
        page = h(
            "div",
            part("said"),
            tools,
            h("p", f"Threshold {self.threshold:g}; boxes: {BOXES[self.boxes]}.", static=True),
            part("classes"),
            body,
            part("changes"),
            cls="xb-tables",
        )
        return {
            "page": page,
            "said": self._said(),
            "classes": self._classes(),
            "sheet": self._sheet(),
            "picture": self._picture,
            "table": self._table(),
            "object": self._object(),
            "changes": self._history(),
        }

    def _drawn(self) -> list[Object]:
        """Return the objects whose boxes are drawn, by class and from the upper left on."""
        board = self._board
        listed = [*(board.left if self.boxes == "resolved" else board.detected).values()]
        if self.boxes == "counted":
            listed = [one for one in listed if one.score >= self.threshold]
        kept = [one for one in listed if one.label in self.labels]
        return sorted(kept, key=lambda one: (STRUCTURE_LABELS.index(one.label), *one.box[1::-1]))

    def _said(self) -> Node:
        board, table = self._board, self._board.result.table
        rows, columns = table.grid.shape if table.size else (0, 0)
        fates = Counter(one.fate for one in board.detected.values())
        told = [
            f"{plural(rows, 'row')} × {plural(columns, 'column')}",
            f"confidence {score_text(board.result.confidence)}",
            f"{plural(len(board.detected), 'object')}: {ui.counts_text(fates.most_common())}",
        ]
        scores = None
        if self._grits is not None:
            named = ", ".join(
                f"{n} {ratio_text(score)}" for n, score in self._grits.scores["fscore"].items()
            )
            compare = ui.button("Compare the tables", "compare")
            scores = h("p", f"GriTS with the true table: {named}. ", compare)
        return h("div", h("p", f"{'; '.join(told)}.", role="status"), scores)

    def _classes(self) -> Node:
        """Draw a switch per class; static HTML has what the colours mean."""
        counts = Counter(one.label for one in self._board.detected.values())
        switches = [
            ui.button(
                h("span", _key(label), f"{label} ({counts[label]:,})"),
                "label",
                label,
                keep=True,
                aria_pressed="true" if label in self.labels else "false",
                key=label,
            )
            for label in STRUCTURE_LABELS
            if counts[label]
        ]
        dropped = h("span", h("i", cls="xb-key xb-dropped"), "dropped", cls="xb-quiet")
        return h("div", switches, dropped, cls="xb-controls")

    def _sheet(self) -> Node:
        left, top, width, height = self._extent
        every = self._drawn()
        drawn = every[:_MOST_BOXES]
        marks: list[Node] = []
        for n, label, score, (x0, y0, x1, y1), fate, *_ in drawn:
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
                    do="object",
                    send=n,
                    row=len(marks),
                    column=0,
                    role="option",
                    aria_label=f"object {n}: {label}, score {score:.2f}, {fate}",
                    aria_selected="true" if chosen else "false",
                )
            )
        layer = h(
            "div",
            marks,
            role="listbox" if marks else None,
            aria_label="Detected objects" if marks else None,
            keys="grid",
            follow=True,
            cls="xb-layer",
        )
        shape = f"aspect-ratio:{width:g}/{height:g};max-width:{_ENLARGED * width:.0f}px"
        paper = h(
            "div",
            part("picture"),
            layer,
            cls="xb-paper",
            style=shape,
            do="point",
            spot=True,
            escape="clear",
        )
        empty = None if drawn else h("p", "No boxes are drawn.", cls="xb-empty")
        return h("div", paper, empty, ui.more(len(every) - len(drawn), "boxes"))

    def _table(self) -> Node:
        """Draw the table; the positions of the chosen object are marked."""
        table = self._board.result.table
        if not table.size:
            return h("p", "No table: no rows or no columns are left.", cls="xb-empty")
        grid = table.grid[:_MOST_ROWS, :_MOST_COLUMNS]
        chosen = None if self.selected is None else self._board.left.get(self.selected)
        down, across = (set(chosen.rows), set(chosen.columns)) if chosen else (set(), set())
        body: list[list[Node]] = [[] for _ in grid]
        for n, row, column, height, width in rectangles(grid):
            cell = table.cells[n]
            on = not down.isdisjoint(cell.rows) and not across.isdisjoint(cell.columns)
            kinds = [kind_of(cell), "on" if on else ""]
            body[row].append(
                h(
                    "td",
                    one_line(cell.text, _LONGEST),
                    cls=" ".join(f"xb-{kind}" for kind in kinds if kind) or None,
                    rowspan=height if height > 1 else None,
                    colspan=width if width > 1 else None,
                    dir=None if cell.text.isascii() else "auto",
                    key=f"{row} {column}",
                )
            )
        drawn = h("table", h("tbody", [h("tr", cells) for cells in body]))
        hidden = [all_ - there for all_, there in zip(table.grid.shape, grid.shape, strict=True)]
        return h(
            "div",
            h("div", drawn, cls="xb-box", tabindex=0, role="region", aria_label="Table"),
            [ui.more(n, noun) for n, noun in zip(hidden, ("rows", "columns"), strict=True)],
        )

    def _object(self) -> Node:
        board = self._board
        if self.selected is None:
            hint = (
                "Choose a box, by a click or by arrow keys, to see what became of the object. "
                "Another click at the same place chooses the next larger box there."
            )
            return h("p", hint if board.detected else "", cls="xb-quiet", live=True)
        one, left = board.detected[self.selected], board.left.get(self.selected)
        steps = [
            h("li", h("b", f"{step}: {action}"), f", {reason}{_lines(rows, columns)}")
            for _, step, action, reason, rows, columns in board.steps.get(self.selected, ())
        ]
        facts = [
            ("class", one.label),
            ("score", ratio_text(one.score)),
            ("fate", one.fate),
            ("detected at", _numbers(one.box)),
            ("resolved to", "" if left is None else _numbers(left.box)),
            ("covers", "" if left is None else _lines(left.rows, left.columns).strip(" ()")),
        ]
        return h(
            "div",
            h("p", h("b", _key(one.label), f"Object {self.selected}")),
            ui.facts_list(facts),
            h("ol", steps) if steps else h("p", "No step changed it."),
            ui.code(self.code),
            cls="xb-detail",
            role="region",
            aria_label="Chosen object",
            reveal=f"{self.selected}",
        )

    def _history(self) -> Node:
        board = self._board
        body: list[Node] = []
        for number, step, action, reason, rows, columns in board.changes[:_MOST_CHANGES]:
            one = None if number is None else board.detected.get(number)
            name = "" if number is None else str(number)
            cells = [
                name if one is None else ui.button(name, "object", number, keep=True),
                "" if one is None else one.label,
                step,
                action,
                f"{reason}{_lines(rows, columns)}",
            ]
            body.append(h("tr", [h("td", cell) for cell in cells], key=len(body)))
        names = ("object", "class", "step", "action", "reason")
        return h(
            "details",
            h("summary", f"Changes ({len(board.changes):,})"),
            ui.table(names, h("tbody", body)) if body else None,
            ui.more(len(board.changes) - _MOST_CHANGES, "changes"),
        )

    def __repr__(self) -> str:
        """Say what was made at which threshold."""
        return f"Objects · {self._board.result!r} · threshold {self.threshold:g}"


def _on_white(boxes: list[_Box], words: Words) -> tuple[_Box, Node]:
    """Draw the words on white, in the part of the plane that has all boxes."""
    word_boxes = words.boxes.tolist()
    boxes = [*boxes, *map(tuple, word_boxes)] or [(0, 0, 1, 1)]
    left, top = (min(box[side] for box in boxes) - _MARGIN for side in (0, 1))
    width = max(box[2] for box in boxes) + _MARGIN - left
    height = max(box[3] for box in boxes) + _MARGIN - top
    texts = []
    listed = zip(words.texts[:_MOST_WORDS], word_boxes, strict=False)
    for text, (x0, y0, x1, y1) in listed:
        shown = one_line(text, _LONGEST)
        size = min(0.8 * (y1 - y0), 1.8 * (x1 - x0) / max(1, len(shown)))
        at = {"x": f"{x0:g}", "y": f"{y1 - 0.2 * (y1 - y0):g}"}
        texts.append(h("text", shown, style=f"font-size:{size:.2f}px", **at))
    view = f"{left:g} {top:g} {width:g} {height:g}"
    drawn = h("svg", texts, viewBox=view, role="img", aria_label="Words", cls="xb-page")
    return (left, top, width, height), drawn


def _key(label: str) -> Node:
    return h("i", cls="xb-key", style=f"--tone:{_COLOURS[label]}")


def _numbers(box: _Box) -> str:
    return ", ".join(f"{number:.6g}" for number in box)


def _lines(rows: tuple[int, ...] | None, columns: tuple[int, ...] | None) -> str:
    told = [
        covered(numbers, name) for name, numbers in (("row", rows), ("column", columns)) if numbers
    ]
    return f" ({'; '.join(told)})" if told else ""
