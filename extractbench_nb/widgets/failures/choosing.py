"""`Choosing`: what can be chosen in the failure explorer, as traits that refuse unknown names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import traitlets

from extractbench_nb.errors import nearest
from extractbench_nb.widgets.failures.choices import MEASURES, ORDERS, Choice
from extractbench_nb.widgets.failures.coding import AXES, Coded
from extractbench_nb.widgets.view import View

__all__ = ["Block", "Choosing", "single"]

#: Names of rows and names of columns; nothing where no cell is chosen.
Block = tuple[tuple[str, ...], tuple[str, ...]] | tuple[()]


class Choosing(View):
    """The traits of the failure explorer; `FailureExplorer` describes them.

    Cells are chosen by name here, and by code on the page.
    """

    selected_cell = traitlets.Tuple()
    selected_block = traitlets.Tuple()
    rows = traitlets.Unicode("field")
    columns = traitlets.Unicode("document")
    measure = traitlets.Unicode("score")
    row_order = traitlets.Unicode("worst")
    column_order = traitlets.Unicode("worst")
    schema = traitlets.Unicode(None, allow_none=True)
    run = traitlets.Unicode(None, allow_none=True)
    find = traitlets.Unicode("")
    failed_by_every_run = traitlets.Bool(False)
    inside_arrays = traitlets.Bool(False)
    valid_only = traitlets.Bool(False)

    _coded: Coded

    @property
    def _axes(self) -> tuple[str, str]:
        return self.rows, self.columns

    @property
    def _choice(self) -> Choice:
        return Choice(**{name: getattr(self, name) for name in Choice._fields})

    @traitlets.validate("rows", "columns")
    def _known_axis(self, proposal: Any) -> str:
        return _known(proposal["value"], AXES, "an axis")

    @traitlets.validate("measure")
    def _known_measure(self, proposal: Any) -> str:
        return _known(proposal["value"], MEASURES, "a measure")

    @traitlets.validate("row_order", "column_order")
    def _known_order(self, proposal: Any) -> str:
        return _known(proposal["value"], ORDERS, "an order")

    @traitlets.validate("schema")
    def _known_schema(self, proposal: Any) -> str | None:
        name = proposal["value"]
        return None if name is None else _known(name, self._coded.schemas.names, "a schema")

    @traitlets.validate("run")
    def _known_run(self, proposal: Any) -> str | None:
        name = proposal["value"]
        return None if name is None else _known(name, self._coded.axes["run"].names, "a run")

    @traitlets.validate("selected_cell")
    def _known_cell(self, proposal: Any) -> tuple[str, ...]:
        cell = proposal["value"]
        if len(cell) not in (0, 2):
            raise traitlets.TraitError(f"selected_cell is (row, column) or empty; found {cell!r}")
        return tuple(self._item(axis, name) for axis, name in zip(self._axes, cell, strict=False))

    @traitlets.validate("selected_block")
    def _known_block(self, proposal: Any) -> tuple[tuple[str, ...], ...]:
        block = proposal["value"]
        if len(block) not in (0, 2) or not all(isinstance(names, Iterable) for names in block):
            raise traitlets.TraitError(
                f"selected_block is (names of rows, names of columns) or empty; found {block!r}"
            )
        sides = [[names] if isinstance(names, str) else list(names) for names in block]
        if not all(sides):
            return ()
        named = zip(self._axes, sides, strict=False)
        return tuple(tuple(self._item(axis, name) for name in names) for axis, names in named)

    def _item(self, axis: str, name: object) -> str:
        """Return a name of an axis, or raise `TraitError`."""
        if isinstance(name, str) and name in self._coded.places[axis]:
            return name
        return _known(name, self._coded.places[axis], f"a {axis}")

    def _codes(self, block: Block) -> list[list[int]]:
        """Return a block as the page has it."""
        named = zip(self._axes, block, strict=False)
        return [[self._coded.places[axis][name] for name in names] for axis, names in named]

    def _names(self, block: Sequence[object]) -> Block:
        """Return a block of the page by name; what is not there is left out."""
        sides = [codes if isinstance(codes, list) else [] for codes in block]
        found = [
            tuple(names[code] for code in codes if type(code) is int and 0 <= code < len(names))
            for names, codes in zip(
                (self._coded.axes[axis].names for axis in self._axes), sides, strict=False
            )
        ]
        return (found[0], found[1]) if len(found) == len(self._axes) and all(found) else ()


def single(block: Block) -> tuple[str, ...]:
    """Return row and column of a block of one cell; nothing for any other block."""
    alone = bool(block) and all(len(names) == 1 for names in block)
    return tuple(names[0] for names in block) if alone else ()


def _known(name: object, known: Iterable[str], what: str) -> str:
    names = list(known)
    if isinstance(name, str) and name in names:
        return name
    raise traitlets.TraitError(f"{name!r} is not {what}; {nearest(name, names)}")
