"""Which rows are the column header: as flagged, and on until every column has its own node."""

from __future__ import annotations

from itertools import takewhile

from extractbench_nb.grits.canonical.draft import FREE, Draft, Node

__all__ = ["HeaderRows"]

_GUESSED = "no row is flagged as the header: the first one is taken for it"
_GIVEN = "the header has as many rows as the caller says"
_FLAGGED = "the other cells of the row are flagged as the header"
_NEXT = "the row is flagged as the header and follows it"
_TIED = "a header cell reaches into the row"
_OPEN = "above it a cell spans columns that have no header cell of their own"
_UNTOLD = "above it columns have no name, or the same; the row, blank at its start, has names"


class HeaderRows:
    """The rows of the column header of a draft.

    Attributes
    ----------
    count : int
        How many rows from the first.
    reasons : dict of int to str
        Why a row belongs to it.
    """

    def __init__(self, draft: Draft, given: int | None) -> None:
        self._draft = draft
        self._given = given
        self._flagged = self._flagged_rows()
        self.count = 0
        self.reasons: dict[int, str] = {}
        self._begin()

    def _begin(self) -> None:
        if self._given is not None:
            self._take(self._given, _GIVEN)
        else:
            self._take(len(list(takewhile(bool, self._flagged))), _FLAGGED)
            if not self.count and self._draft.rows > 1:
                self._guess()
                return
        self.extend()

    def _guess(self) -> None:
        self._take(1, _GUESSED)
        if not self.extend() and self._next() is not None:
            self.count, self.reasons = 0, {}

    def _take(self, count: int, reason: str) -> None:
        for row in range(self.count, count):
            self.reasons[row] = reason
        self.count = count

    def extend(self) -> bool:
        """Add the rows below that belong to the header; return whether there were any.

        A header that would reach to the last row stays as it is.
        """
        start, known = self.count, dict(self.reasons)
        while self.count < self._draft.rows and (found := self._next()) is not None:
            self._take(*found)
        if self.count == self._draft.rows:
            self.count, self.reasons = start, known
        return self.count > start

    def _next(self) -> tuple[int, str] | None:
        """Return to where the header reaches at least, and why; None where it is complete."""
        if self.count in (0, self._draft.rows):
            return None
        reach = max((node.area.bottom for node in self._nodes()), default=0)
        if reach > self.count:
            return reach, _TIED
        if self._given is not None:
            return None
        tests = ((self._is_next_flagged, _NEXT), (self._is_open, _OPEN), (self._is_untold, _UNTOLD))
        return next(((self.count + 1, reason) for test, reason in tests if test()), None)

    def _nodes(self) -> list[Node]:
        return [node for node in self._draft.nodes.values() if node.area.top < self.count]

    def _is_next_flagged(self) -> bool:
        return self._flagged[self.count]

    def _is_open(self) -> bool:
        return any(self._is_column_open(column) for column in range(self._draft.columns))

    def _is_column_open(self, column: int) -> bool:
        """Return whether a column ends in a cell over several, one row high, and has none alone."""
        last = self._draft.node_at(self.count - 1, column)
        if last is None or last.area.bottom - last.area.top > 1:
            return False
        return not any(_is_single(node) for node in self._path(column))

    def _is_untold(self) -> bool:
        """Return whether the next row tells columns apart that have no name, or the same."""
        below = self._draft.owner[self.count]
        if not self._path(0) or below[0] != FREE:
            return False
        unnamed = sorted(self._unnamed())
        nodes = {c: self._draft.node_at(self.count, c) for c in unnamed}
        texts = {c: n.text.strip() for c, n in nodes.items() if n is not None and _is_single(n)}
        return (
            bool(unnamed)
            and len(texts) == len(unnamed)
            and not any(texts[c] == texts.get(c + 1) for c in unnamed)
        )

    def _unnamed(self) -> set[int]:
        """Return the columns that have no header text of their own, or the same as a neighbour."""
        paths = [self._path(column) for column in range(self._draft.columns)]
        names = [_texts(path) for path in paths]
        found = {c for c, path in enumerate(paths) if c and not any(map(_is_single, path))}
        for column in range(2, self._draft.columns):
            if names[column - 1] == names[column]:
                found |= {column - 1, column}
        return found

    def _path(self, column: int) -> list[Node]:
        """Return the header's cells with text over a column, from the top."""
        numbers = dict.fromkeys(self._draft.owner[row][column] for row in range(self.count))
        return [self._draft.nodes[n] for n in numbers if n != FREE]

    def _flagged_rows(self) -> list[bool]:
        """Return for each row whether its flags make it one of the header.

        A row with a section's name alone is one only if all of it is flagged, blank cells too, and
        it is more than one cell; or if it is the first; or if such a row follows.
        """
        found = [self._is_flagged(row) for row in range(self._draft.rows)]
        for row in reversed(range(1, self._draft.rows)):
            follows = row + 1 < self._draft.rows and found[row + 1]
            if found[row] and self._draft.is_section(row) and not follows:
                found[row] = self._is_wholly_flagged(row)
        return found

    def _is_flagged(self, row: int) -> bool:
        """Return whether all texts of a row are flagged, or all beyond the first column."""
        cells = [self._draft.table.cells[node.number] for node in self._draft.nodes_in_row(row)]
        beyond = [cell for cell in cells if cell.columns[0] > 0]
        return all(c.is_header for c in (beyond or cells)) if cells else self._all_flagged(row)

    def _is_wholly_flagged(self, row: int) -> bool:
        return FREE in self._draft.owner[row] and self._all_flagged(row)

    def _all_flagged(self, row: int) -> bool:
        return all(self._draft.table.cells[n].is_header for n in self._draft.grid[row])


def _is_single(node: Node) -> bool:
    return node.area.right - node.area.left == 1


def _texts(path: list[Node]) -> list[str]:
    """Return the texts of a path; one that is repeated below itself counts once."""
    texts = [node.text.strip() for node in path]
    return [text for n, text in enumerate(texts) if not n or texts[n - 1] != text]
