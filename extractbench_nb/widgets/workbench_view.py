"""`Workbench`: a metric's params, their effect on cases, and the verdicts that flip."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import ipywidgets
import numpy as np
import pandas as pd
import traitlets

from extractbench_nb._json import json_type
from extractbench_nb.display.html import element, table
from extractbench_nb.display.sides import MOST, Pair, Segment, excerpts
from extractbench_nb.display.sides import whole as both_whole
from extractbench_nb.display.text import clean, one_line, plural, trimmed
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation import Profile
from extractbench_nb.evaluation.cases import Case, Verdicts
from extractbench_nb.field_metrics.registry import Param
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import EMPTY, PRESENT, state_of
from extractbench_nb.widgets import panes as ui
from extractbench_nb.widgets import workbench_model as model
from extractbench_nb.widgets.static import more, segments_html, twin

#: Cases on a page.
PAGE = 20
#: Which cases can be shown, with the words for them.
SHOWN = {
    "all": "All cases",
    "flips": "Only flips",
    "passed": "Passing",
    "failed": "Failing",
    "errors": "Without a verdict",
    "disagreements": "Other than expected",
}
#: In which order, with the words for it.
SORTS = {
    "given": "As given",
    "lowest": "Lowest score first",
    "highest": "Highest score first",
    "change": "Largest change first",
}
#: Further columns that are shown, in a row and of the chosen case; all are in ``results``.
_MOST_COLUMNS, _MOST_LABELS = 4, 20
_LONGEST_HEAD, _LONGEST_LABEL, _LONGEST_VALUE, _LONGEST_ERROR = 60, 60, 160, 300
#: Characters of a value of the chosen case that are shown at first.
_FULL = 2_000
_EXPECTED = {None: "", True: "pass", False: "fail"}
_NOT_TOLD = -2.0  # sorts cases without a score behind those with one


class CaseRow(NamedTuple):
    """A case as the table shows it; verdicts are ``pass``, ``fail`` and ``no verdict``."""

    case: int
    labels: tuple[str, ...]
    gold: list[Segment]
    predicted: list[Segment]
    score: str
    verdict: str
    before: str
    verdict_before: str
    flip: str
    expected: str
    error: str


# --- which cases, in which order -----------------------------------------------------------


def chosen(bench: model.Bench, shown: str, sort: str, text: str) -> list[int]:
    """Return the places of the cases to show."""
    now, then = bench.verdicts, bench.baseline.verdicts
    labels = np.array([-1 if label is None else int(label) for label in bench.cases.expected])
    keep = {
        "all": np.ones(len(bench.cases), dtype=bool),
        "flips": bench.flips() != 0,
        "passed": now.passed,
        "failed": now.decided & ~now.passed,
        "errors": ~now.decided,
        "disagreements": now.decided & (labels >= 0) & (labels != now.passed),
    }[shown]
    places: list[int] = np.flatnonzero(keep).tolist()
    wanted = text.strip().casefold()
    if wanted:
        errors = {at: (now.error(at) or "").casefold() for at in places}
        places = [at for at in places if wanted in f"{bench.cases.texts[at]}\n{errors[at]}"]
    if sort != "given":
        keys = {
            "change": -np.nan_to_num(np.abs(now.score - then.score), nan=_NOT_TOLD),
            "lowest": np.nan_to_num(now.score, nan=-_NOT_TOLD),
            "highest": -np.nan_to_num(now.score, nan=_NOT_TOLD),
        }[sort]
        places.sort(key=lambda at: keys[at])
    return places


def _title(name: object) -> str:
    return one_line(model.label_text(name), _LONGEST_HEAD)


def page_model(bench: model.Bench, places: list[int], page: int) -> dict[str, Any]:
    """Return a page of cases as the front end reads it."""
    shown = ui.page_of(len(places), page, PAGE)
    return {
        "columns": CaseRow._fields,
        "rows": [case_row(bench, at) for at in shown.of(places)],
        "titles": [_title(name) for name in bench.cases.more.columns[:_MOST_COLUMNS]],
        "labelled": bench.cases.labelled,
        "start": shown.first,
        "size": PAGE,
        "total": len(places),
    }


def empty_text(bench: model.Bench, shown: str) -> str:
    """Say why no case is shown, and what would show some."""
    if not len(bench.cases):
        return "There are no cases: no pairs were given, or none has a type for the metric."
    if shown == "flips" and not bench.flips().any():
        return "No verdict differs from the baseline; change a param to see flips."
    return "No case matches; show all cases, or clear the text."


def case_row(bench: model.Bench, at: int) -> CaseRow:
    """Return one row of the table."""
    case, now, then = bench.cases.rows[at], bench.verdicts, bench.baseline.verdicts
    labels = bench.cases.more.iloc[at, :_MOST_COLUMNS]
    gold, predicted = excerpts(_pair(case), _LONGEST_VALUE)
    return CaseRow(
        at,
        tuple(one_line(model.label_text(label), _LONGEST_LABEL) for label in labels),
        gold,
        predicted,
        *verdict_texts(now, at),
        *verdict_texts(then, at),
        {1: model.GAINED, -1: model.LOST, 0: ""}[int(bench.flips()[at])],
        _EXPECTED[case.expected],
        one_line(now.error(at) or "", _LONGEST_ERROR),
    )


def case_detail(bench: model.Bench, at: int, *, whole: bool = False) -> dict[str, Any]:
    """Return a case in full."""
    case, now, then = bench.cases.rows[at], bench.verdicts, bench.baseline.verdicts
    more = bench.cases.more.iloc[at]
    gold, predicted = both_whole(_pair(case), MOST if whole else _FULL)
    notes = [
        ("Score", " · ".join(verdict_texts(now, at))),
        ("Baseline", " · ".join(verdict_texts(then, at))),
        ("Expected", _EXPECTED[case.expected]),
        ("Outcome", f"{now.outcome[at].replace('_', ' ')} · {now.reason[at]}"),
        ("Error" if not now.decided[at] else "Reasoning", now.told[at] or ""),
        *(
            (_title(name), model.label_text(value))
            for name, value in [*more.items()][:_MOST_LABELS]
        ),
    ]
    return {
        "case": at,
        "gold": gold.segments,
        "predicted": predicted.segments,
        "notes": [(name, trimmed(text, _FULL)) for name, text in notes if text],
        "longer": not whole and bool(gold.hidden or predicted.hidden),
    }


def _pair(case: Case) -> Pair:
    """Return both sides with their states; a list or object that is compared as its JSON text."""
    states = [
        EMPTY if isinstance(value, list) and not value else state_of(value)
        for value in (case.gold, case.predicted)
    ]
    kinds = {json_type(case.gold), json_type(case.predicted)}
    if states == [PRESENT, PRESENT] and kinds & {"array", "object"}:
        return Pair(model.side_text(case.gold), model.side_text(case.predicted), *states)
    return Pair(model.present(case.gold), model.present(case.predicted), *states)


def verdict_texts(found: Verdicts, at: int) -> tuple[str, str]:
    """Return the score and the verdict of a case, in words."""
    score = "n/a" if np.isnan(found.score[at]) else f"{found.score[at]:.3f}"
    if not found.decided[at]:
        return score, "no verdict"
    return score, "pass" if found.passed[at] else "fail"


_MOST_POINTS = 11
_SIGNS = {
    "pass": "✓",
    "fail": "✗",
    "no verdict": "?",
    "gained": "▲",
    "lost": "▼",
}


def facts_html(summary: Mapping[str, Any]) -> str:
    """Write the metric, the baseline and the figures."""
    rows = [
        [
            element("span", text)
            for text in (name, " · ".join(filter(None, (value, note))), baseline)
        ]
        for name, value, baseline, note in summary["facts"]
    ]
    return (
        element("p", f"Metric: {summary['rules']}")
        + element("p", f"Baseline: {summary['baseline']}", "xb-quiet")
        + table(["", "Now", "Baseline"], rows)
    )


def curve_html(curve: Mapping[str, Any]) -> str:
    """Write the curve as a table of some values, those of now and of the baseline included."""
    heads = [curve["over"], "passing", *(name for name, _ in curve["lines"])]
    marks = {"now": curve["at"], "baseline": curve["baseline"]}
    count = len(curve["texts"])
    every = max(1, round((count - 1) / (_MOST_POINTS - 1)))
    rows = []
    for n in sorted({*range(0, count, every), count - 1, *marks.values()} - {None}):
        notes = [word for word, at in marks.items() if at == n]
        value = element("b" if notes else "span", " ← ".join([curve["texts"][n], *notes]))
        shares = [line[n] for _, line in curve["lines"]]
        texts = ["n/a" if share is None else f"{share:.3f}" for share in shares]
        rows.append([value, *(element("span", s) for s in (f"{curve['passing'][n]:,}", *texts))])
    best = element("p", curve["best"]) if curve["best"] else ""
    body = table(heads, rows, range(1, len(heads)))
    return element("p", f"Curve over {curve['over']}:") + body + best


def cases_html(page: Mapping[str, Any]) -> str:
    """Write the cases of a page."""
    last = ["Expected"] if page["labelled"] else []
    heads = ["Case", *page["titles"], "Gold", "Predicted", "Score", "Baseline", "Flip", *last]
    cells = []
    for case in page["rows"]:
        error = f"<div>{element('em', case.error, 'xb-quiet')}</div>" if case.error else ""
        cells.append(
            [
                element("span", str(case.case)),
                *(element("span", text) for text in case.labels),
                segments_html(case.gold),
                segments_html(case.predicted) + error,
                element("span", f"{case.score} {_signed(case.verdict)}"),
                element("span", f"{case.before} {_signed(case.verdict_before)}", "xb-quiet"),
                element("b", _signed(case.flip)) if case.flip else "",
                *(element("span", _signed(case.expected)) for _ in last),
            ]
        )
    return table(heads, cells, [0]) + more(page["total"] - len(cells), "cases")


def _signed(word: str) -> str:
    return f"{_SIGNS[word]} {word}" if word in _SIGNS else word


def detail_html(found: Mapping[str, Any]) -> str:
    """Write a case in full."""
    names = ["Gold", "Predicted", *(name for name, _ in found["notes"])]
    texts = [segments_html(found[side]) for side in ("gold", "predicted")]
    texts += [element("span", text) for _, text in found["notes"]]
    rows = [[element("b", name), text] for name, text in zip(names, texts, strict=True)]
    return table([f"Case {found['case']}", ""], rows)


class Debounced:
    """Calls a function a moment after the last time that it was asked for.

    A held arrow key or a dragged handle asks many times a second; the page is drawn once they are
    heeded. Without an event loop, as in a script, the function is called at once.
    """

    def __init__(self, act: Callable[[], None], wait: float = 0.02) -> None:
        self._act, self._wait = ui.in_turn(act), wait
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        """Ask for it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._act()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._wait, self._act)


class SummaryPane(ui.Pane, scripts=["workbench/summary.js"]):
    """The figures."""


class ConfigPane(ui.Pane, scripts=["workbench/config.js"]):
    """The params as an ``evaluation_config``, with a button that copies it."""


class CurvePane(ui.Pane, scripts=["workbench/curve.js"]):
    """The curve; a click or an arrow key sends ``{"kind": "set", "over", "value", "asked"}``.

    ``asked`` comes back as ``answered``, so that the mark stays where it was put meanwhile.
    """


class CasesPane(ui.Pane, scripts=["workbench/cases.js"]):
    """A page of cases; `detail` is the chosen one in full, as JSON text."""

    selected = traitlets.Int(None, allow_none=True).tag(sync=True)
    detail = traitlets.Unicode("").tag(sync=True)


class Stops(ui.Pane, scripts=["workbench/stops.js"], styles=["shared/slider.css"]):
    """A slider over values that are not evenly apart: they grow by every value that is set."""

    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    at = traitlets.Int(0).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    value = traitlets.Any()

    def __init__(self, param: Param, label: str, value: float) -> None:
        self._param = param
        self._values: list[float] = []
        super().__init__(label=label)
        self.value = value

    @traitlets.validate("at")
    def _within(self, proposal: traitlets.Bunch) -> int:
        return min(max(int(proposal["value"]), 0), max(0, len(self.texts) - 1))

    @traitlets.observe("at")
    def _moved(self, change: Any) -> None:
        self.value = self._values[change["new"]]

    @traitlets.observe("value")
    def _set(self, change: Any) -> None:
        value = change["new"]
        if value not in self._values:
            self._values = sorted({value, *model.stops(self._param, value), *self._values})
            self.texts = [model.number_text(v) for v in self._values]
        self.at = self._values.index(value)


_LONGEST_NAME = 60
_LONGEST_TEXT = 2_000
_LARGEST = 2**31 - 1


def param_control(tuned: model.Tuned, value: Any) -> Any:
    """Make the control of a param; None for objects, lists and texts that no box can hold."""
    param, label = tuned.param, one_line(tuned.key, _LONGEST_NAME)
    low, high, most = param.minimum, param.maximum, "24em"
    kind: Any
    options: dict[str, Any]
    if param.choices:
        kind, options = ipywidgets.Dropdown, {"options": list(param.choices)}
    elif param.kind == "boolean":
        kind, options = ipywidgets.Checkbox, {"indent": False}
    elif param.kind == "string" and len(value) <= _LONGEST_TEXT and clean(value) == value:
        kind, options = ipywidgets.Text, {"continuous_update": False}
    elif param.kind != "number":
        return None
    elif model.is_whole(param) and float(value).is_integer() and abs(value) <= _LARGEST:
        ends = (-_LARGEST if low is None else int(low), _LARGEST if high is None else int(high))
        kind, options = ipywidgets.BoundedIntText, dict(zip(("min", "max"), ends, strict=True))
        value, most = int(value), "16em"
    elif low is None or high is None:
        return Stops(param, label, value)
    else:
        slider = ui.Slider(label=label, least=low, most=high, step=(high - low) / 100)
        slider.value = float(value)
        return slider
    layout = ipywidgets.Layout(width="auto", max_width=most, min_width="0")
    style = {"description_width": "initial"}
    return kind(description=label, value=value, style=style, layout=layout, **options)


class Workbench(ui.View):
    """A metric to tune over cases: live scores, flips against a baseline, the threshold's curve.

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
        found = model.read_cases(cases, field=field, kinds=model.Tuning(metric).kinds)
        self._bench = model.Bench(metric, found, baseline=baseline, judge=judge, profile=profile)
        self._answered: object = None
        self._summary, self._config, self._curve = SummaryPane(), ConfigPane(), CurvePane()
        self._cases = CasesPane()
        super().__init__(self._parts())
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

    def _parts(self) -> list[ipywidgets.Widget]:
        labelled = self._bench.cases.labelled
        self._choices = {n: w for n, w in SHOWN.items() if labelled or n != "disagreements"}
        self._filters = {
            "shown": ui.menu("Show", self._choices, width="18em"),
            "sort": ui.menu("Sort", SORTS, width="18em"),
            "text": ui.search("Find", "text of a case", width="18em"),
        }
        self._over = ui.menu("Curve over", {}, width="18em")
        self._params = ipywidgets.VBox([], layout=ipywidgets.Layout(width="100%"))
        buttons = ui.row(
            ui.button("Reset", self.reset, "Give the params their first values"),
            ui.button("Use as baseline", self.keep_as_baseline, "Compare with these params"),
            ui.button("Score again", self.rescore, "After the metric was redefined"),
        )
        tuning = ipywidgets.VBox([self._params, buttons, self._config])
        picture = ipywidgets.VBox([self._over, self._curve])
        top = ui.beside(tuning, picture, widths=[250, 400], shares=[2, 3])
        return [self._summary, top, ui.row(*self._filters.values()), self._cases]

    def _make_panel(self) -> None:
        """Make the controls of the params as the metric declares them now."""
        bench = self._bench
        self._controls = {}
        for key, value in bench.params.items():
            control = param_control(bench.tuning.params[key], value)
            if control is not None:
                control.observe(partial(self._set_param, key), "value")
                self._controls[key] = control
        self._params.children = tuple(self._controls.values())
        self._shown_params = set(bench.params)
        over = self.over if self.over in bench.curves else bench.first_curve
        self._over.options = [(one_line(name, 60), name) for name in bench.curves]
        self._over.value = over
        self._over.layout.display = None if len(bench.curves) > 1 else "none"
        self.set_trait("over", over)

    def _connect(self) -> None:
        self.set_trait("params", dict(self._bench.params))
        self.link({**self._filters, "over": self._over})
        traitlets.link((self, "selected_case"), (self._cases, "selected"))
        self.observe(self._filtered, ["shown", "sort", "text"])
        self.observe(lambda _: self._debounced_cases(), "page")
        self.observe(lambda _: self._draw_curve(), "over")
        self.observe(self._select, "selected_case")
        self.observe(self._set_params, "params")
        self._cases.on_event("turn", self._turn, by=[-1, 1])
        self._cases.on_event("whole", partial(self._draw_detail, whole=True))
        self._curve.on_event("set", self._set_from_curve, over=str, value=object, asked=object)

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
        name = proposal["trait"].name
        names = {"shown": self._choices, "sort": SORTS, "over": self._bench.curves}[name]
        return ui.known(name, proposal["value"], names)

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._places()), int(proposal["value"]), PAGE).number

    # --- changes ----------------------------------------------------------------------------

    def _set_param(self, key: str, change: Any) -> None:
        if not self._updating:
            self.params = {key: change["new"]}

    def _set_params(self, change: Mapping[str, Any]) -> None:
        self._bench.params = dict(change["new"])
        if set(self._bench.params) != self._shown_params:
            self._make_panel()
        with self.quietly():
            for key, control in self._controls.items():
                control.value = self._bench.params[key]
        self._soon()

    def _set_from_curve(self, over: str, value: Any, asked: Any) -> None:
        try:
            self.params = {over: value}
        except traitlets.TraitError:
            return  # the metric was redefined meanwhile, and has another range
        self._answered = asked
        self._debounced_curve()

    def _filtered(self, _: object) -> None:
        self.page = 0
        self._debounced_cases()

    def _turn(self, by: int) -> None:
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
        self._summary.show(model.summary_model(self._bench))
        others = [key for key in self._bench.tuning.params if key not in self._controls]
        self._config.show(model.config_model(self.config, others, bool(self._controls)))
        self.page = self.page  # the filters may leave fewer pages now
        self._draw_cases()
        self._draw_detail()
        self._debounced_curve()

    def _draw_curve(self) -> None:
        curve = model.curve_model(self._bench, self.over)
        self._curve.show(curve | {"answered": self._answered})

    def _draw_cases(self) -> None:
        places = self._places()
        empty = empty_text(self._bench, self.shown)
        self._cases.show(page_model(self._bench, places, self.page) | {"empty": empty})

    def _draw_detail(self, *, whole: bool = False) -> None:
        at = self.selected_case
        found = None if at is None else case_detail(self._bench, at, whole=whole)
        self._cases.detail = "" if found is None else ui.wire(found)

    # --- the static twin --------------------------------------------------------------------

    def to_html(self) -> str:
        """Write the figures, the curve as a table, and the page of cases that is shown."""
        bench, places = self._bench, self._places()
        page = page_model(bench, places, self.page)
        config = element("pre", model.config_text(self.config))
        at = self.selected_case
        return twin(
            repr(self),
            facts_html(model.summary_model(bench)),
            f"<details><summary>evaluation_config</summary>{config}</details>",
            curve_html(model.curve_model(bench, self.over)),
            element("p", f"{SHOWN[self.shown]}, {SORTS[self.sort].lower()}"),
            cases_html(page) if places else element("p", empty_text(bench, self.shown), "xb-empty"),
            "" if at is None else detail_html(case_detail(bench, at)),
        )

    def __repr__(self) -> str:
        """Say what is tuned, over how many cases."""
        cases = plural(len(self._bench.cases), "case")
        return f"Metric workbench · {one_line(self._bench.tuning.name, 120)} · {cases}"
