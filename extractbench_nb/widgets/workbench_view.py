"""`Workbench`: a metric's params, their effect on cases, and the verdicts that flip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets
import pandas as pd
import traitlets

from extractbench_nb.display.text import single_line
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.base import Judge
from extractbench_nb.widgets.static import element, twin
from extractbench_nb.widgets.view import View, beside, wire
from extractbench_nb.widgets.workbench_bench import (
    Bench,
    config_model,
    config_text,
    curve_model,
    summary_model,
)
from extractbench_nb.widgets.workbench_cases import read_cases
from extractbench_nb.widgets.workbench_controls import (
    CasesPane,
    ConfigPane,
    CurvePane,
    Debounced,
    Panel,
    SummaryPane,
    button,
    menu,
    search,
)
from extractbench_nb.widgets.workbench_metric import Tuning
from extractbench_nb.widgets.workbench_rows import (
    PAGE,
    SHOWN,
    SORTS,
    case_detail,
    case_row,
    cases_html,
    chosen,
    config_html,
    curve_html,
    detail_html,
    empty_text,
    facts_html,
    page_model,
    titles,
)

__all__ = ["Workbench"]


class Workbench(View):
    """A metric to tune over cases: live scores, flips against a baseline, the threshold's curve.

    Parameters
    ----------
    metric : str, callable or dict
        Name of a metric or preset, a function registered with `metric`, or an
        ``evaluation_config``; its declared params become controls.
    cases : pandas.DataFrame, list, Evaluation or Evaluations
        Columns gold and predicted, perhaps expected (bool: the verdict of people), and any others,
        which are shown; a list of tuples ``(gold, predicted)`` or ``(gold, predicted, expected)``;
        or an Evaluation, Evaluations or a frame of their fields, whose values of the types that the
        metric is meant for are taken.
    baseline : str, callable or dict, optional
        Another metric to compare with, in the same forms; by default this one as it is at first.
    field : str, optional
        For an Evaluation: the field whose values to take, ``authors[].name``.
    judge : str or Judge, optional
        See `evaluate`. It is asked once about each pair of texts, however the params change.
    profile : str or Profile, optional
        See `evaluate`.

    Attributes
    ----------
    params : dict
        Values of the metric's params. A dict can be assigned; names that it leaves out keep their
        values.
    selected_case : int or None
        Place of the chosen case among the cases, from 0.
    shown : str
        Which cases are shown: all, flips, passed, failed, errors (no verdict), disagreements
        (other than expected).
    sort : str
        given, lowest, highest (score) or change (against the baseline).
    text : str
        What gold, prediction, a further column or the error must hold.
    page : int
        Which page of cases is shown, from 0.
    over : str
        What the curve is over: the threshold, or another number among the params.

    Raises
    ------
    ConfigError
        The metric is not known, or its params are wrong.
    InputError
        The cases cannot be read, the field or the judge is not known, or the function is not
        registered.
    """

    params = traitlets.Dict()
    selected_case = traitlets.Int(None, allow_none=True)
    shown = traitlets.Unicode("all")
    sort = traitlets.Unicode("given")
    text = traitlets.Unicode("")
    page = traitlets.Int(0)
    over = traitlets.Unicode("")

    def __init__(
        self,
        metric: Any,
        cases: Any,
        *,
        baseline: Any = None,
        field: str | None = None,
        judge: str | Judge = "offline",
        profile: str | Profile = "paper",
    ) -> None:
        found = read_cases(cases, field=field, kinds=Tuning(metric).kinds)
        self._bench = Bench(metric, found, baseline=baseline, judge=judge, profile=profile)
        self._answered: object = None
        self._summary, self._config, self._curve = SummaryPane(), ConfigPane(), CurvePane()
        self._cases = CasesPane()
        self._make_controls()
        super().__init__(self._layout(), layout=ipywidgets.Layout(width="100%"))
        self._soon, self._debounced_curve = Debounced(self._draw), Debounced(self._draw_curve)
        self._debounced_cases = Debounced(self._draw_cases)
        self._make_panel()
        self._connect()
        self._draw()

    # --- what Python sees -------------------------------------------------------------------

    @property
    def results(self) -> pd.DataFrame:
        """The verdicts under the params as they are, one row per case.

        The cases' further columns come first, then gold, predicted, score, passed, outcome, reason,
        baseline_score, baseline_passed, flip (gained, lost), expected, error.
        """
        return self._bench.results()

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `results` that the filters leave, in the order shown."""
        return self.results.iloc[self._places()]

    @property
    def config(self) -> dict[str, Any]:
        """The params as they are as an ``evaluation_config``, to be written in a schema."""
        return self._bench.config

    @property
    def curve(self) -> pd.DataFrame:
        """How many cases pass at each value of what the curve is over.

        One row per value: param, threshold, passing, pass_rate, and where cases have expected
        verdicts labelled, accuracy, precision, recall, kappa.
        """
        return self._bench.curve(self.over)

    @property
    def baseline(self) -> str:
        """The metric that is compared with, with its params."""
        return self._bench.baseline.rules

    def keep_as_baseline(self) -> None:
        """Compare with the params as they are now from here on."""
        self._bench.keep_as_baseline()
        self._soon()

    def reset(self) -> None:
        """Give the params the values that they had at first."""
        tuning = self._bench.tuning
        self.params = {key: tuning.start.get(key) for key in tuning.params}

    def rescore(self) -> None:
        """Score anew: after the metric was redefined, or to ask a judge again that failed.

        The baseline keeps its verdicts, so that what a redefinition changes is seen as flips.
        """
        self._bench.rescore()
        self._make_panel()
        self.set_trait("params", dict(self._bench.params))
        self._soon()

    # --- parts ------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        labelled = self._bench.cases.labelled
        self._choices = {n: w for n, w in SHOWN.items() if labelled or n != "disagreements"}
        self._shown, self._sort = menu("Show", self._choices), menu("Sort", SORTS)
        self._text = search("Find", "text of a case")
        self._over = menu("Curve over", {})

    def _layout(self) -> list[ipywidgets.Widget]:
        flow = ipywidgets.Layout(flex_flow="row wrap", width="100%")
        self._params = ipywidgets.VBox([], layout=ipywidgets.Layout(width="100%"))
        buttons = ipywidgets.Box(
            [
                button("Reset", "Give the params their first values", self.reset),
                button("Use as baseline", "Compare with these params", self.keep_as_baseline),
                button("Score again", "After the metric was redefined", self.rescore),
            ],
            layout=flow,
        )
        tuning = ipywidgets.VBox([self._params, buttons, self._config])
        picture = ipywidgets.VBox([self._over, self._curve])
        filters = ipywidgets.Box([self._shown, self._sort, self._text], layout=flow)
        top = beside(tuning, picture, widths=[250, 400], shares=[2, 3])
        return [self._summary, top, filters, self._cases]

    def _make_panel(self) -> None:
        """Make the controls of the params as the metric declares them now."""
        bench = self._bench
        self._panel = Panel(bench.tuning.params, bench.params, self._change)
        self._params.children = self._panel.boxes
        over = self.over if self.over in bench.curves else bench.first_curve
        self._over.options = [(single_line(name, 60), name) for name in bench.curves]
        self._over.value = over
        self._over.layout.display = None if len(bench.curves) > 1 else "none"
        self.set_trait("over", over)

    def _connect(self) -> None:
        self.set_trait("params", dict(self._bench.params))
        for name, box in (("shown", self._shown), ("sort", self._sort), ("text", self._text)):
            traitlets.link((self, name), (box, "value"))
        traitlets.link((self, "over"), (self._over, "value"))
        traitlets.link((self, "selected_case"), (self._cases, "selected"))
        self.observe(self._filtered, ["shown", "sort", "text"])
        self.observe(lambda _: self._debounced_cases(), "page")
        self.observe(lambda _: self._draw_curve(), "over")
        self.observe(self._select, "selected_case")
        self.observe(self._set_params, "params")
        self._cases.on_event("turn", self._turn)
        self._cases.on_event("whole", lambda _: self._draw_detail(whole=True))
        self._curve.on_event("set", self._set_from_curve)

    # --- checks -----------------------------------------------------------------------------

    @traitlets.validate("params")
    def _known_params(self, proposal: Any) -> dict[str, Any]:
        try:
            return self._bench.with_params(proposal["value"])
        except InputError as error:
            raise traitlets.TraitError(str(error)) from None

    @traitlets.validate("selected_case")
    def _known_case(self, proposal: Any) -> int | None:
        case, cases = proposal["value"], len(self._bench.cases)
        if case is not None and not 0 <= case < cases:
            raise traitlets.TraitError(f"there is no case {case!r}; there are {cases:,}, from 0")
        return None if case is None else int(case)

    @traitlets.validate("shown", "sort", "over")
    def _known_name(self, proposal: Any) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        known = {"shown": self._choices, "sort": SORTS, "over": self._bench.curves}[name]
        if value not in known:
            raise traitlets.TraitError(f"{name} is {value!r}; {nearest(value, known)}")
        return str(value)

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        return min(max(0, int(proposal["value"])), max(0, (len(self._places()) - 1) // PAGE))

    # --- changes ----------------------------------------------------------------------------

    def _change(self, key: str, value: Any) -> None:
        self.params = {key: value}

    def _set_params(self, change: Mapping[str, Any]) -> None:
        self._bench.params = dict(change["new"])
        if set(self._bench.params) != self._panel.keys:
            self._make_panel()
        self._panel.show(self._bench.params)
        self._soon()

    def _set_from_curve(self, event: Mapping[str, Any]) -> None:
        try:
            self.params = {str(event.get("over")): event.get("value")}
        except traitlets.TraitError:
            return  # the metric was redefined meanwhile, and has another range
        self._answered = event.get("asked")
        self._debounced_curve()

    def _filtered(self, _: object) -> None:
        self.page = 0
        self._debounced_cases()

    def _turn(self, event: Mapping[str, Any]) -> None:
        by = event.get("by")
        if by in (1, -1):
            self.page += by

    def _select(self, _: object) -> None:
        self._draw_detail()
        places = self._places()
        if self.selected_case in places:
            self.page = places.index(self.selected_case) // PAGE

    # --- the page ---------------------------------------------------------------------------

    def _places(self) -> list[int]:
        return chosen(self._bench, self.shown, self.sort, self.text)

    def _draw(self) -> None:
        self._summary.show(summary_model(self._bench))
        self._config.show(config_model(self.config, self._panel.others, bool(self._panel.boxes)))
        self.page = self.page  # the filters may leave fewer pages now
        self._draw_cases()
        self._draw_detail()
        self._debounced_curve()

    def _draw_curve(self) -> None:
        model = curve_model(self._bench, self.over)._asdict()
        self._curve.show(model | {"answered": self._answered})

    def _draw_cases(self) -> None:
        places = self._places()
        empty = empty_text(self._bench, self.shown)
        self._cases.show(page_model(self._bench, places, self.page) | {"empty": empty})

    def _draw_detail(self, *, whole: bool = False) -> None:
        at = self.selected_case
        found = None if at is None else case_detail(self._bench, at, whole=whole)
        self._cases.detail = "" if found is None else wire(found)

    # --- the static twin --------------------------------------------------------------------

    def to_html(self) -> str:
        """Write the figures, the curve as a table, and the page of cases that is shown."""
        bench, places = self._bench, self._places()
        start = self.page * PAGE
        rows = [case_row(bench, at) for at in places[start : start + PAGE]]
        cases = cases_html(rows, titles(bench), len(places), bench.cases.labelled)
        at = self.selected_case
        return twin(
            repr(self),
            facts_html(summary_model(bench)),
            config_html(config_text(self.config)),
            curve_html(curve_model(bench, self.over)),
            element("p", f"{SHOWN[self.shown]}, {SORTS[self.sort].lower()}"),
            cases if rows else element("p", empty_text(bench, self.shown), "xb-empty"),
            "" if at is None else detail_html(case_detail(bench, at)),
        )

    def __repr__(self) -> str:
        """Say what is tuned, over how many cases."""
        cases = len(self._bench.cases)
        return (
            f"Metric workbench · {single_line(self._bench.tuning.name, 120)} · "
            f"{cases:,} case{'' if cases == 1 else 's'}"
        )
