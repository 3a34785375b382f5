"""`EvaluationView`: the schema's tree beside the fields of the chosen node."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.errors import nearest
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.report.texts import clean
from extractbench_nb.widgets.evaluation.bar import filter_bar
from extractbench_nb.widgets.evaluation.excerpts import MOST
from extractbench_nb.widgets.evaluation.filters import Filters, checked_name, narrowed
from extractbench_nb.widgets.evaluation.heads import head
from extractbench_nb.widgets.evaluation.html import detail_html, head_html, page_html, tree_part
from extractbench_nb.widgets.evaluation.model import (
    PER_PAGE,
    Detail,
    detail,
    filters_text,
    page,
)
from extractbench_nb.widgets.evaluation.panes import DetailPane, HeadPane, RowsPane
from extractbench_nb.widgets.schema.explorer import TreePane, resolved_path
from extractbench_nb.widgets.schema.trees import schema_tree
from extractbench_nb.widgets.static import twin
from extractbench_nb.widgets.view import View, beside

__all__ = ["EvaluationView"]

_NONE = -1
_CONDITIONS = ("outcome", "metric", "text", "only_counted", "only_failed")


class EvaluationView(View):
    """An evaluation: the schema's tree beside the fields, gold against predicted.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    name : str, optional
        What it is called in the notebook, for the code that can be copied: ``"ev"``, ``"evs[0]"``.

    Attributes
    ----------
    selected_path : str
        Schema path of the chosen node; the fields at it and below it are listed. Empty for all.
        A schema path or a field can be assigned.
    selected_row : str
        Instance path of the chosen field, which is shown in full; empty for none. A path or a field
        can be assigned; filters that would hide it are cleared.
    outcome, metric : str
        The only outcome, the only metric to list; empty for all.
    text : str
        What path, gold or predicted value must contain, in any case of letters.
    only_counted : bool
        Whether to leave out the fields inside array items, which do not enter the scores.
    only_failed : bool
        Whether to leave out what passed. A field without a verdict stays.
    worst_first : bool
        Whether to sort by score, fields without one first, in place of the document's order.
    rows : pandas.DataFrame
        The rows of ``ev.fields`` that are left, in the order shown, with their labels.
    code : str
        An expression that gives `rows`.

    Raises
    ------
    InputError
        `name` is no name.
    """

    selected_path = traitlets.Unicode("")
    selected_row = traitlets.Unicode("")
    outcome = traitlets.Unicode("")
    metric = traitlets.Unicode("")
    text = traitlets.Unicode("")
    only_counted = traitlets.Bool(False)
    only_failed = traitlets.Bool(False)
    worst_first = traitlets.Bool(False)

    def __init__(self, ev: Evaluation, *, name: str = "ev") -> None:
        self._ev, self._name, self._fields = ev, checked_name(name), ev.fields
        self._nodes = schema_tree(ev.schema, ev)
        self._chosen = _NONE
        self._detail: Detail | None = None
        self._filters = Filters()
        self._found = narrowed(self._fields, self._filters, self._name)
        self._head, self._tree = HeadPane(), TreePane(self._nodes)
        self._list, self._whole = RowsPane(), DetailPane()
        self._head.show(head(ev)._asdict())
        super().__init__(self._parts(), layout=ipywidgets.Layout(width="100%"))
        self.add_class("xb-evaluation")
        self._follow()
        self._draw()
        self._draw_detail()

    def _parts(self) -> list[Any]:
        self._metrics = list(self._fields["metric"].unique())
        self._tree.add_class("xb-node-list")
        self._whole.layout.margin = "0 12px 0 0"
        return [
            self._head,
            filter_bar(self, self._metrics, self.clear),
            beside(self._tree, self._list, widths=(220, 500), shares=(2, 5)),
            self._whole,
        ]

    def _follow(self) -> None:
        traitlets.link((self, "selected_path"), (self._tree, "path"))
        self.observe(self._narrow, ["selected_path", "worst_first", *_CONDITIONS])
        self.observe(self._row_named, "selected_row")
        self._list.observe(lambda change: self._choose(change["new"]), "chosen")
        self._list.observe(lambda _: self._draw(), "number")
        self._whole.on_event("show_all", lambda _: self._draw_detail(MOST))

    # --- what can be assigned -------------------------------------------------------------------

    @traitlets.validate("selected_path")
    def _known_node(self, proposal: Any) -> str:
        return resolved_path(self._nodes, proposal["value"])

    @traitlets.validate("selected_row")
    def _known_row(self, proposal: Any) -> str:
        wanted: str = proposal["value"]
        paths, names = self._fields["path"], self._fields["field"]
        if not wanted or (paths == wanted).any():
            return wanted
        if not (names == wanted).any():
            raise traitlets.TraitError(f"there is no field {wanted!r}; {nearest(wanted, paths)}")
        return str(paths[names == wanted].iloc[0])

    @traitlets.validate("outcome", "metric")
    def _known_word(self, proposal: Any) -> str:
        word: str = proposal["value"]
        trait = proposal["trait"].name
        known = OUTCOMES if trait == "outcome" else self._metrics
        if word and word not in known:
            raise traitlets.TraitError(f"there is no {trait} {word!r}; {nearest(word, known)}")
        return word

    @traitlets.validate("text")
    def _sendable(self, proposal: Any) -> str:
        text: str = proposal["value"]
        if not text.isascii() and clean(text) != text:
            raise traitlets.TraitError(
                f"text is {text!r}; expected printable text, as it could be typed"
            )
        return text

    # --- what changes ---------------------------------------------------------------------------

    def _narrow(self, _: Any) -> None:
        conditions = {name: getattr(self, name) for name in _CONDITIONS}
        filters = Filters(self.selected_path, worst_first=self.worst_first, **conditions)
        if filters == self._filters:
            return
        self._filters = filters
        self._found = narrowed(self._fields, filters, self._name)
        if self._chosen not in self._found.rows.index:
            self._choose(_NONE)
        before = self._list.number
        self._turn_to(self._chosen)
        if self._list.number == before:
            self._draw()

    def _row_named(self, change: Any) -> None:
        wanted = change["new"]
        if wanted == self._path_of(self._chosen):
            return
        paths = self._fields["path"]
        self._choose(int(paths.index[paths == wanted][0]) if wanted else _NONE)

    def _choose(self, label: int) -> None:
        if label == self._chosen:
            return
        known = label if label in self._fields.index else _NONE
        self._chosen = known
        if known != _NONE and known not in self._found.rows.index:
            self.clear(node=True)
        self.selected_row = self._path_of(known)
        self._turn_to(known)
        self._list.chosen = known
        self._draw_detail()

    def _path_of(self, label: int) -> str:
        return "" if label == _NONE else str(self._fields["path"][label])

    def _turn_to(self, label: int) -> None:
        """Turn to the page of a row; to the first one without a row."""
        place = 0 if label == _NONE else self._found.rows.index.tolist().index(label)
        self._list.number = place // PER_PAGE

    def clear(self, *, node: bool = False) -> None:
        """Take away what narrows the rows.

        Parameters
        ----------
        node : bool, optional
            Whether to leave the chosen node, too.
        """
        with self.hold_trait_notifications():
            self.outcome = self.metric = self.text = ""
            self.only_counted = self.only_failed = False
            if node:
                self.selected_path = ""

    # --- what is shown --------------------------------------------------------------------------

    def _page(self) -> Any:
        return page(self._found, self._list.number, self._filters, len(self._fields))

    def _draw(self) -> None:
        self._list.show(self._page()._asdict())

    def _draw_detail(self, limit: int = 2_000) -> None:
        self._detail = (
            None
            if self._chosen == _NONE
            else detail(self._ev, self._fields, self._chosen, self._name, limit)
        )
        self._whole.show(self._detail and self._detail._asdict())

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of ``fields`` that are left, in the order that is shown, with their labels."""
        return self._found.rows.copy()

    @property
    def code(self) -> str:
        """An expression that gives `rows` where the evaluation goes by its name."""
        return self._found.code

    def to_html(self) -> str:
        """Write head, tree, the page of rows that is shown, and the chosen row.

        Returns
        -------
        str
            One element.
        """
        shown = page_html(self._page(), filters_text(self._filters), self._name)
        parts = head_html(head(self._ev)), tree_part(self._nodes), shown, detail_html(self._detail)
        return twin(repr(self), *parts)

    def __repr__(self) -> str:
        """Say in one line what the evaluation found, and how many rows are shown."""
        s = self._ev.summary
        left, everything = len(self._found.rows), len(self._fields)
        return (
            f"Evaluation · {s['passed']:,.0f} of {s['evaluated']:,.0f} fields pass · "
            f"{left:,} of {everything:,} rows shown"
        )
