"""`ConstructionView`: a table built from documents beside the gold table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.construction import (
    Documents,
    Holders,
    Retriever,
    TableComparison,
    TableTask,
    is_absent,
    texts_of,
)
from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.wording import one_line, plural, ratio_text
from extractbench_nb.tables import boxed_grid
from extractbench_nb.views import controls as ui
from extractbench_nb.views.static import MARKS, score_text
from extractbench_nb.views.tables_view import TwoTables
from extractbench_nb.views.view import checked_name, part

SIDES = ("gold", "predicted")
#: Characters of the text of a cell, and of one with a sign; chunks that are listed for a value.
_LONGEST, _BESIDE, _MOST_CHUNKS = 80, 14, 5
_SCORES = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall")
_SIGNS = {"missed": MARKS["missed"], "spurious": MARKS["spurious"], "judge_error": "?"}


class Line(NamedTuple):
    """A row of gold, of the prediction, or both."""

    gold: int | None
    predicted: int | None
    status: str
    rule: str | None
    similarity: float | None

    def at(self, side: int) -> int | None:
        """Return the row's number in gold (0) or in the prediction (1)."""
        return self.predicted if side else self.gold

    def __str__(self) -> str:
        """Say how the row was matched."""
        if self.status != "matched":
            return self.status.replace("_", " ")
        alike = "" if self.similarity is None else f", similarity {score_text(self.similarity)}"
        return f"matched by {self.rule} keys{alike}"


class Column(NamedTuple):
    """A column of gold, of the prediction, or both."""

    gold: str | None
    predicted: str | None
    role: str
    status: str
    rule: str | None

    def at(self, side: int) -> str | None:
        """Return the column's name in gold (0) or in the prediction (1)."""
        return self[side]

    def __str__(self) -> str:
        """Say what the column is, and how it was aligned."""
        if self.status == "renamed":
            new = one_line(str(self.predicted))
            return f"{self.role}, renamed: {new}, aligned by {self.rule}"
        return f"{self.role}, {self.status.replace('_', ' ')}"


class Evidence:
    """Documents cut into chunks, in which values are looked up as they are written."""

    def __init__(
        self, documents: Documents, retriever: str | Retriever | None, columns: Sequence[str]
    ) -> None:
        how = Retriever(retriever) if isinstance(retriever, str) else retriever
        index = (how or Retriever()).index(texts_of(documents))
        self._chunks, self._ranks = index.chunks, {}
        self._holders = Holders([chunk.text for chunk in self._chunks])
        if how is not None:
            query = documents.query if isinstance(documents, TableTask) else " ".join(columns)
            self._ranks = {
                chunk[:2]: rank for rank, (chunk, _) in enumerate(index.select(query, how.k), 1)
            }

    def draw(self, title: str, value: str, keys: Sequence[str]) -> Node:
        """Draw the chunks that hold a value; those that name the row by its keys come first."""
        named = Counter(place for key in keys for place in self._holders.of(key))
        places = sorted(self._holders.of(value), key=lambda place: (-named[place], place))
        documents = {self._chunks[place].document for place in places}
        count = f"in {plural(len(places), 'chunk')} of {plural(len(documents), 'document')}"
        said = count if places else "in no chunk as it is written"
        listed = [
            h(
                "details",
                h("summary", self._title(place)),
                h(
                    "div",
                    _marked(self._chunks[place].text, value),
                    cls="xb-value xb-whole",
                    tabindex=0,
                ),
                open=not at,
                key=f"{title} {value:.100} {at}",
            )
            for at, place in enumerate(places[:_MOST_CHUNKS])
        ]
        rest = ui.more(len(places) - len(listed), "chunks")
        return h("div", h("p", h("b", f"{title}: "), said), listed, rest, key=title)

    def _title(self, place: int) -> str:
        chunk, total = self._chunks[place], len(self._ranks)
        rank = self._ranks.get(chunk[:2])
        how = f"retrieved as {rank} of {total}" if rank else f"not among {total} retrieved"
        where = f"{one_line(chunk.document, 60)}, chunk {chunk.number}"
        return f"{where}; {how}" if self._ranks else where


def _marked(text: str, value: str) -> list[Any]:
    """Mark a value in a chunk, also where its thousands are separated."""
    digits = value.replace(",", "")
    separated = f"{int(digits):,}" if digits.isdecimal() else value
    written = next((form for form in (value, separated, digits) if form in text), value)
    return ui.found(text, written)


class ConstructionView(TwoTables):
    """A table beside the gold table, with matched rows on one line and aligned columns in order.

    Attributes
    ----------
    comparison : TableComparison
        What is shown.
    """

    kind = "construction"
    styles = ("tables.css", "construction.css")
    sides = SIDES
    legend = (
        "3 → 2: gold's row 3 was matched with the predicted row 2 by equal keys; 3 ≈ 2: by keys "
        "that are alike. Signs: − missing in the prediction, + only in the prediction, ≠ "
        "different, ? no verdict of the judge; a cell without a sign is right or was not compared."
    )

    def __init__(
        self,
        comparison: TableComparison,
        *,
        documents: Documents | None = None,
        retriever: str | Retriever | None = None,
        name: str = "comparison",
    ) -> None:
        if not isinstance(comparison, TableComparison):
            raise InputError(
                f"comparison is of type {type(comparison).__name__}; expected a TableComparison, "
                "as xb.construction.compare() returns"
            )
        if documents is None and retriever is not None:
            raise InputError("retriever= goes with documents=")
        self._name_in_code, self.comparison = checked_name(name), comparison
        names = [str(column) for column in comparison.gold.columns]
        self._evidence = None if documents is None else Evidence(documents, retriever, names)
        matches, columns, cells = comparison.matches, comparison.columns, comparison.cells
        names = ["gold_row", "predicted_row", "status", "rule", "similarity"]
        lines = [Line(*row) for row in ui.rows_of(matches[names])]
        differs = (matches["status"] != "matched") | (matches["score"] < 1).fillna(value=False)
        self._matched = list(zip(lines, differs.tolist(), strict=True))
        names = ["column", "predicted_column", "role", "status", "rule"]
        self._aligned = [Column(*row) for row in ui.rows_of(columns[names])]
        # a column that gold has is named by gold's name, also in rows of one side
        named = cells["predicted_column"].where(cells["column"].isna())
        places = cells[["gold_row", "predicted_row", "column"]].assign(other=named)
        self._verdicts = dict(zip(map(tuple, ui.rows_of(places)), cells.itertuples(), strict=True))
        super().__init__()

    @property
    def _rows(self) -> list[tuple[Line, bool]]:
        return self._matched

    @property
    def _columns(self) -> list[Column]:
        return self._aligned

    def do_cell(self, place: Any) -> None:
        """Choose a cell by its side, its row and the place of its column."""
        match place:
            case [str(side), row, int(at)] if side in SIDES and 0 <= at < len(self._aligned):
                super().do_cell([side, row, self._aligned[at].at(SIDES.index(side))])

    # --- what is shown ----------------------------------------------------------------------------

    def draw(self) -> dict[str, Node]:
        """Draw the scores, both tables, the chosen cell, and its line of pandas."""
        summary = self.comparison.summary
        scores = [
            h("span", f"{name.replace('_', ' ')} ", h("b", ratio_text(summary[name])), "; ")
            for name in _SCORES
        ]
        rows = Counter(line.status for line, _ in self._matched)
        counts = f"rows: {ui.counts_text(rows.items()) or 'none'}"
        head = h("p", scores, counts, cls="xb-scores")
        said = f"Profile {self.comparison.profile.name}"
        drawn = self._drawn(head, None, said, self._grids)
        if self.selected is not None:
            drawn["cell"] = self._cell()
        return {**drawn, "page": h("div", drawn["page"], part("code")), "code": ui.code(self.code)}

    def _grids(self, rows: Sequence[Any], columns: Sequence[tuple[int, Any]]) -> Content:
        return [self._grid(side, rows, columns) for side in (0, 1)]

    def _grid(self, side: int, rows: Sequence[Line], columns: Sequence[tuple[int, Column]]) -> Node:
        name, table = SIDES[side], self._table(side)
        if table.columns.empty:
            why = one_line(self.comparison.meta["problem"] or "no table", 200)
            empty = h("p", f"No table was read: {why}", cls="xb-empty")
            return h("div", h("b", name), empty, key=name)
        line_on, slot_on = self._chosen if self.selected else (None, None)
        body = []
        for top, line in enumerate(rows):
            cells = [
                self._grid_cell(side, line, slot, [SIDES[side], line.at(side), at], (top, left))
                for left, (at, slot) in enumerate(columns)
            ]
            head = _gutter(line, side, on=line is line_on)
            body.append(h("tr", head, cells, key=f"{line.gold} {line.predicted}"))
        heads = [_column_head(slot, side, on=slot is slot_on) for _, slot in columns]
        shape = f"{plural(len(table), 'row')} × {plural(table.shape[1], 'column')}"
        return boxed_grid(name, shape, heads, body)

    def _table(self, side: int) -> pd.DataFrame:
        return self.comparison.predicted if side else self.comparison.gold

    def _text(self, line: Line, slot: Column, side: int) -> str | None:
        row, name = line.at(side), slot.at(side)
        return None if row is None or name is None else str(self._table(side)[name].iloc[row])

    def _verdict(self, line: Line, slot: Column) -> Any:
        """Return the row of ``cells`` of a cell; None if it was not compared."""
        other = slot.predicted if slot.gold is None else None
        return self._verdicts.get((line.gold, line.predicted, slot.gold, other))

    def _grid_cell(
        self, side: int, line: Line, slot: Column, send: list[Any], place: tuple[int, int]
    ) -> Node:
        key = f"{send[2]}"
        text, verdict = self._text(line, slot, side), self._verdict(line, slot)
        if text is None:
            return h("td", cls="xb-gap", key=key)
        shown, sign, says = one_line(text, _LONGEST), None, "not compared"
        kinds = ["xb-key"] if slot.role == "key" else []
        if verdict is not None:
            kinds.append(f"xb-tint xb-t-{verdict.outcome}")
            says = f"{verdict.outcome}: {verdict.reason}".replace("_", " ")
            if line.status == "matched" and verdict.outcome not in ("correct", "both_absent"):
                sign = h("small", f" {MARKS[verdict.outcome]}")  # another row has one itself
        is_chosen = self.selected is not None and self._chosen == (line, slot)
        is_own = is_chosen and self.selected[0] == SIDES[side]
        is_long = len(shown) > _BESIDE
        pair = f"{line.gold} {line.predicted} {key}"
        return h(
            "td",
            # of a long text the end is cut, not the sign beside it
            h("span", shown, cls="xb-cut") if sign and is_long else shown,
            sign,
            cls=" ".join(kinds) or None,
            dir=None if shown.isascii() else "auto",
            title=f"{shown}; {says}" if is_long else says,
            key=key,
            item=True,
            do="cell",
            send=send,
            row=place[0],
            column=place[1],
            pair=pair,
            aria_selected="true" if is_own else None,
            aria_current="true" if is_chosen and not is_own else None,
            reveal=pair if is_chosen else None,
        )

    @property
    def _chosen(self) -> tuple[Line, Column]:
        """The row and the column of the chosen cell."""
        side, row, column = self.selected
        at = SIDES.index(side)
        line = next(line for line, _ in self._matched if line.at(at) == row)
        return line, next(slot for slot in self._aligned if slot.at(at) == column)

    def _cell(self) -> Node:
        line, slot = self._chosen
        verdict, texts = self._verdict(line, slot), [self._text(line, slot, at) for at in (0, 1)]
        facts: list[tuple[str, Content]] = [("row", str(line)), ("column", str(slot))]
        said: Content = "a key: it names the row" if slot.role == "key" else "not compared"
        if verdict is not None:
            score = None if pd.isna(verdict.score) else verdict.score
            reasons = [text for text in (verdict.reason, verdict.kind) if pd.notna(text) and text]
            said = [
                ui.mark(verdict.outcome),
                f", score {score_text(score)}, ",
                h("code", " · ".join(reasons)),
            ]
            if pd.notna(verdict.similarity):
                facts.insert(0, ("similarity", score_text(verdict.similarity)))
            if pd.notna(verdict.reasoning):
                facts.insert(0, ("judge", str(verdict.reasoning)))
        title = " and ".join(
            f"{name} row {line.at(side)}, {one_line(str(slot.at(side)), 60)}"
            for side, name in enumerate(SIDES)
            if line.at(side) is not None and slot.at(side) is not None
        )
        found = self._found_in(line, texts) if self._evidence else None
        return self._pair([h("b", title), ": ", said], texts, facts, found)

    def _found_in(self, line: Line, texts: Sequence[str | None]) -> Node:
        """Draw the chunks that hold gold's text, and the predicted one where it is another."""
        side = line.gold is None
        keys = [self._text(line, slot, side) for slot in self._aligned if slot.role == "key"]
        sought = {
            text: f"{name} text in the documents"
            for name, text in reversed(list(zip(SIDES, texts, strict=True)))
            if text and not is_absent(text)
        }
        assert self._evidence is not None  # noqa: S101
        parts = [
            self._evidence.draw(title, text, [key for key in keys if key])
            for text, title in reversed(sought.items())
        ]
        return h("div", parts, cls="xb-beside")

    # --- results ----------------------------------------------------------------------------------

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of ``comparison.matches`` that are shown, on all pages."""
        kept = [differs or not self.only_differing for _, differs in self._matched]
        return self.comparison.matches[kept]

    @property
    def code(self) -> str:
        """An expression for the chosen cell, as a row of ``cells``, else for the listed rows."""
        source = self._name_in_code
        if self.selected is None:
            lost = ".query(\"status != 'matched' or score < 1\")"
            return f"{source}.matches{lost if self.only_differing else ''}"
        line, slot = self._chosen
        verdict = self._verdict(line, slot)
        if verdict is not None:
            return f'{source}.cells.set_index("path").loc[[{verdict.path!r}]]'
        return f"{source}.matches.loc[[{[one for one, _ in self._matched].index(line)}]]"

    def __repr__(self) -> str:
        """Say what is compared."""
        f1 = ratio_text(self.comparison.summary["cell_f1"])
        profile = self.comparison.profile.name
        return f"Table construction · {profile} · cell F1 {f1}"


def _gutter(line: Line, side: int, *, on: bool) -> Node:
    row, is_matched = line.at(side), line.status == "matched"
    if row is None:
        return h("td", cls="xb-gutter", key="gutter")
    sign = "→" if line.rule == "exact" else "≈"
    text = f"{line.gold} {sign} {line.predicted}" if is_matched else f"{_SIGNS[line.status]} {row}"
    kinds = f"xb-gutter{'' if is_matched else ' xb-alone'}{' xb-on' if on else ''}"
    return h("th", text, scope="row", cls=kinds, title=str(line), key="gutter")


def _column_head(slot: Column, side: int, *, on: bool) -> Node:
    name, key = slot.at(side), f"head {slot.gold} {slot.predicted}"
    if name is None:
        return h("td", cls="xb-gutter xb-gap", key=key)
    is_alone = slot.at(1 - side) is None
    sign = MARKS[("missed", "spurious")[side]] if is_alone else ""
    sign = "≈" if slot.status == "renamed" and side else sign
    kinds = f"xb-gutter{' xb-alone' if is_alone else ''}{' xb-on' if on else ''}"
    role = h("small", " key") if slot.role == "key" else None
    shown = f"{sign} {one_line(name, _LONGEST)}".strip()
    return h("th", shown, role, scope="col", cls=kinds, title=str(slot), key=key)
