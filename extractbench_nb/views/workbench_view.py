"""`Workbench`: a metric's params, their effect on cases, and the verdicts that flip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.core import Case, Profile, Verdicts
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import json_type
from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import clean, one_line, plural, ratio_text, trimmed
from extractbench_nb.views import controls as ui
from extractbench_nb.views import workbench_model as model
from extractbench_nb.views.sides import MOST, Pair, excerpts, whole
from extractbench_nb.views.view import View, in_turn, known, part
from extractbench_nb.views.workbench_curve import Curve

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
    "failures": "Flips and failures first",
    "given": "As given",
    "lowest": "Lowest score first",
    "highest": "Highest score first",
    "change": "Largest change first",
}
#: Further columns that are shown, in a row and of the chosen case; all are in ``results``.
_MOST_COLUMNS, _MOST_LABELS = 4, 20
_LONGEST_NAME, _LONGEST_LABEL, _LONGEST_ERROR = 60, 60, 300
_LONGEST_RULES, _LONGEST_CONFIG = 400, 20_000
#: Longest text of a param that a box holds, and the largest whole number.
_LONGEST_TEXT, _LARGEST = 2_000, 2**31 - 1
#: Characters of a value of the chosen case that are shown at first.
_FULL = 2_000
_EXPECTED = {None: "", True: "pass", False: "fail"}
_SIGNS = {"pass": "✓", "fail": "✗", "no verdict": "?", model.GAINED: "▲", model.LOST: "▼"}
_NOT_TOLD = -2.0  # sorts cases without a score behind those with one


# --- cases ----------------------------------------------------------------------------------------


def chosen(bench: model.Bench, shown: str, sort: str, text: str) -> list[int]:
    """Return the places of the cases to show."""
    now, then, flips = bench.verdicts, bench.baseline.verdicts, bench.flips()
    labels = np.array([-1 if label is None else int(label) for label in bench.cases.expected])
    keep = {
        "all": np.ones(len(bench.cases), dtype=bool),
        "flips": flips != 0,
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
            "failures": np.where(flips != 0, 0, np.where(now.passed, 2, 1)),
            "change": -np.nan_to_num(np.abs(now.score - then.score), nan=_NOT_TOLD),
            "lowest": np.nan_to_num(now.score, nan=-_NOT_TOLD),
            "highest": -np.nan_to_num(now.score, nan=_NOT_TOLD),
        }[sort]
        places.sort(key=lambda at: keys[at])
    return places


def empty_text(bench: model.Bench, shown: str) -> str:
    """Say why no case is shown, and what would show some."""
    if not len(bench.cases):
        return "There are no cases: no pairs were given, or none has a type for the metric."
    if shown == "flips" and not bench.flips().any():
        return "No verdict differs from the baseline; change a param to see flips."
    return "No case matches; show all cases, or clear the text."


def case_pair(case: Case) -> Pair:
    """Return both sides with their states; a list or object that is compared as its JSON text."""
    kinds = {json_type(case.gold), json_type(case.predicted)}
    if case.states == ("present", "present") and kinds & {"array", "object"}:
        return Pair(model.side_text(case.gold), model.side_text(case.predicted), *case.states)
    return Pair(model.present(case.gold), model.present(case.predicted), *case.states)


def verdict_texts(found: Verdicts, at: int) -> tuple[str, str]:
    """Return the score and the verdict of a case, in words."""
    score = "n/a" if np.isnan(found.score[at]) else ratio_text(found.score[at])
    if not found.decided[at]:
        return score, "no verdict"
    return score, "pass" if found.passed[at] else "fail"


def _signed(word: str) -> Node:
    return h("span", f"{_SIGNS[word]} {word} ", cls=f"xb-{word.replace(' ', '-')}")


def case_row(bench: model.Bench, at: int, *, chosen: bool, wanted: str = "") -> Node:
    """Draw one row of the table of cases; `wanted` is marked in it."""
    case, now, then = bench.cases.rows[at], bench.verdicts, bench.baseline.verdicts
    flip = {1: model.GAINED, -1: model.LOST}.get(int(bench.flips()[at]))
    (score, verdict), before = verdict_texts(now, at), verdict_texts(then, at)
    gold, predicted = excerpts(case_pair(case))
    error = one_line(now.error(at) or "", _LONGEST_ERROR)
    changed = before != (score, verdict)
    return h(
        "tr",
        h("td", h("span", f"{at} ", cls="xb-quiet"), _labels(bench.cases.more, at, wanted)),
        h("td", ui.segments(gold, wanted), cls="xb-value"),
        h(
            "td",
            ui.segments(predicted, wanted),
            h("div", error, cls="xb-bad") if error else None,
            cls="xb-value",
        ),
        h(
            "td",
            h("span", f"{score} ", _signed(verdict), cls="xb-verdict"),
            h("b", _signed(flip)) if flip else None,
            h("span", f"was {before[0]} ", _signed(before[1]), cls="xb-quiet xb-sub xb-verdict")
            if changed
            else None,
        ),
        h("td", _signed(_EXPECTED[case.expected]) if case.expected is not None else "")
        if bench.cases.labelled
        else None,
        key=at,
        item=True,
        do="case",
        send=at,
        aria_current="true" if chosen else None,
        reveal=str(at) if chosen else None,
    )


def _labels(frame: pd.DataFrame, at: int, wanted: str) -> list[Node | str | None]:
    """Write the further columns of a case: the path as code, others with their names."""
    cells = frame.iloc[at, :_MOST_COLUMNS].items()
    texts = {_name(name): model.label_text(cell) for name, cell in cells}
    path = texts.pop("path", "")
    texts = {name: one_line(text, _LONGEST_LABEL) for name, text in texts.items()}
    others = [
        text if name in model.LABELS else f"{name}: {text}" for name, text in texts.items() if text
    ]
    return [
        ui.breakable(path, wanted) if path else None,
        h("span", " ", ui.found(" · ".join(others), wanted), cls="xb-quiet xb-sub")
        if others
        else None,
    ]


def _name(name: object) -> str:
    return one_line(model.label_text(name), _LONGEST_NAME)


def case_detail(bench: model.Bench, at: int, limit: int = _FULL) -> Node:
    """Draw a case in full, with `limit` characters of its values."""
    case, now, then = bench.cases.rows[at], bench.verdicts, bench.baseline.verdicts
    gold, predicted = whole(case_pair(case), limit)
    labels = [*bench.cases.more.iloc[at].items()][:_MOST_LABELS]
    facts = [
        ("Score", " · ".join(verdict_texts(now, at))),
        ("Baseline", " · ".join(verdict_texts(then, at))),
        ("Expected", _EXPECTED[case.expected]),
        ("Outcome", f"{now.outcome[at].replace('_', ' ')} · {now.reason[at]}"),
        ("Reasoning" if now.decided[at] else "Error", now.told[at] or ""),
        *((_name(name), model.label_text(value)) for name, value in labels),
    ]
    longer = (gold.hidden or predicted.hidden) and limit < MOST
    return h(
        "section",
        h("b", f"Case {at}"),
        ui.whole_sides({"Gold": gold, "Predicted": predicted}),
        ui.button("Show all", "whole") if longer else None,
        ui.facts_list((name, trimmed(text, _FULL)) for name, text in facts),
        cls="xb-detail",
        aria_label="The chosen case",
    )


# --- figures --------------------------------------------------------------------------------------


def figures(bench: model.Bench) -> Node:
    """Draw the figures of the verdicts now and of the baseline."""
    found = model.facts(bench)
    now = [" · ".join(filter(None, (value, note))) for _, value, _, note in found]
    rows = {
        "Now": (bench.rules, now),
        "Baseline": (bench.baseline.rules, [before for _, _, before, _ in found]),
    }
    body = [
        h(
            "tr",
            h("th", f"{name}: ", h("code", one_line(rules, _LONGEST_RULES)), scope="row"),
            [h("td", text) for text in texts],
        )
        for name, (rules, texts) in rows.items()
    ]
    heads = [h("td"), *(h("th", name, scope="col") for name, *_ in found)]
    return ui.table(heads, h("tbody", body, aria_live="polite"), cls="xb-figures")


# --- the view -------------------------------------------------------------------------------------


class Workbench(View):
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
        failures (flips first, then what does not pass), given, lowest, highest (score) or change
        (against the baseline).
    text : str
        What gold, prediction, a further column or the error must hold.
    page : int
        Which page of cases is shown, from 0.
    over : str
        What the curve is over: the threshold, or another number among the params.
    """

    kind = "workbench"
    styles = ("workbench.css",)
    settable = frozenset({"shown", "sort", "text", "page"})
    params = traitlets.Dict()
    selected_case = traitlets.Int(None, allow_none=True)
    shown = traitlets.Unicode("all")
    sort = traitlets.Unicode("failures")
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
        self._choices = {n: w for n, w in SHOWN.items() if found.labelled or n != "disagreements"}
        self._curve: Curve | None = None
        self._curve_node: Node | None = None
        self._stops: dict[str, list[float]] = {}
        self._refused, self._refusals, self._limit = "", 0, _FULL
        self.params, self.over = dict(self._bench.params), self._bench.first_curve
        super().__init__()

    # --- what Python sees -------------------------------------------------------------------------

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
        with self.changing():
            self._bench.keep_as_baseline()
            self._curve = None

    def reset(self) -> None:
        """Give the params the values that they had at first."""
        tuning = self._bench.tuning
        self.params = {key: tuning.start.get(key) for key in tuning.params}

    def rescore(self) -> None:
        """Score anew: after the metric was redefined, or to ask a judge again that failed.

        The baseline keeps its verdicts, so that what a redefinition changes is seen as flips.
        """
        with self.changing():
            self._bench.rescore()
            self._curve, self._stops, self._refused = None, {}, ""
            self.set_trait("params", dict(self._bench.params))
            if self.over not in self._bench.curves:
                self.over = self._bench.first_curve

    # --- checks -----------------------------------------------------------------------------------

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
        return known(name, proposal["value"], names)

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._places()), int(proposal["value"]), PAGE).number

    # --- changes ----------------------------------------------------------------------------------

    @traitlets.observe("params")
    def _params_changed(self, change: Any) -> None:
        self._bench.params = dict(change["new"])
        self._curve, self._refused = None, ""
        self.page = self.page  # the filters may leave fewer pages now

    @traitlets.observe("over")
    def _over_changed(self, _: Any) -> None:
        self._curve = None

    @traitlets.observe("shown", "sort", "text")
    def _filtered(self, _: Any) -> None:
        self.page = 0

    @traitlets.observe("selected_case")
    def _selected(self, change: Any) -> None:
        self._limit, places = _FULL, self._places()
        if change["new"] in places:
            self.page = places.index(change["new"]) // PAGE

    # --- events of the page -----------------------------------------------------------------------

    @in_turn
    def perform(self, name: str, value: Any = None) -> None:
        """Do what an event of the page asks for; ``param:n`` sets the param at a place."""
        verb, _, at = name.partition(":")
        if verb != "param":
            super().perform(name, value)
            return
        key = {str(place): key for place, key in enumerate(self._bench.params)}.get(at)
        stops = self._stops.get(key or "")
        if stops is not None:
            value = stops[value] if type(value) is int and 0 <= value < len(stops) else None
        if key is not None and value is not None:
            self._set_param(key, value)

    def _set_param(self, key: str, value: Any) -> None:
        """Set a param to a value of the page; what cannot be is said."""
        with self.changing():
            try:
                self.params = {key: value}
            except traitlets.TraitError as error:
                self._refused = one_line(str(error), _LONGEST_ERROR)
                self._refusals += 1  # the control is built anew, and shows what is

    def do_over(self, at: Any) -> None:
        """Draw the curve over the param at a place of the menu."""
        if type(at) is int and 0 <= at < len(self._bench.curves):
            self.over = self._bench.curves[at]

    def do_value(self, at: Any) -> None:
        """Set what the curve is over to the value at a place of the curve."""
        curve = self._curve
        if curve is not None and curve.settable and type(at) is int and 0 <= at < len(curve.values):
            self._set_param(curve.over, curve.values[at])

    def do_case(self, at: Any) -> None:
        """Choose a case, or none where it is chosen already."""
        if type(at) is int and 0 <= at < len(self._bench.cases):
            self.selected_case = None if at == self.selected_case else at

    def do_whole(self, _: Any) -> None:
        """Show more of the values of the chosen case."""
        self._limit = MOST

    def do_reset(self, _: Any) -> None:
        """Give the params their first values."""
        self.reset()

    def do_baseline(self, _: Any) -> None:
        """Compare with the params as they are now."""
        self.keep_as_baseline()

    def do_rescore(self, _: Any) -> None:
        """Score anew."""
        self.rescore()

    # --- what is shown ----------------------------------------------------------------------------

    def _places(self) -> list[int]:
        return chosen(self._bench, self.shown, self.sort, self.text)

    def draw(self) -> dict[str, Node]:
        """Draw figures, params, curve and cases."""
        if self._curve is None or self._curve_node is None:
            self._curve = Curve(self._bench, self.over)
            names = dict(enumerate(one_line(n, _LONGEST_NAME) for n in self._bench.curves))
            at = self._bench.curves.index(self.over)
            over = ui.menu("Curve over", "over", names, at) if len(names) > 1 else None
            self._curve_node = h("div", over, self._curve.draw())
        filters = ui.toolbar(
            ui.menu("Show", "set:shown", self._choices, self.shown),
            ui.menu("Sort", "set:sort", SORTS, self.sort),
            ui.search("Find text of a case", "set:text", self.text, "text of a case", "cases"),
        )
        return {
            "page": h(
                "div",
                h("p", repr(self), cls="xb-title", live=True),
                part("figures"),
                h("div", part("params"), part("curve"), cls="xb-beside xb-top"),
                part("filters"),
                part("cases"),
            ),
            "figures": figures(self._bench),
            "params": self._params(),
            "curve": self._curve_node,
            "filters": filters,
            "cases": self._cases(),
        }

    def _params(self) -> Node:
        bench = self._bench
        drawn = {
            key: self._control(bench.tuning.params[key], value, f"param:{at}")
            for at, (key, value) in enumerate(bench.params.items())
        }
        controls = [node for node in drawn.values() if node is not None]
        others = [key for key in bench.tuning.params if drawn.get(key) is None]
        note = "" if controls else "This metric has no params."
        if others:
            note = one_line(f"No control, set in Python: {', '.join(others)}", 120)
        config = model.config_text(self.config)
        too_long = len(config) > _LONGEST_CONFIG
        return h(
            "div",
            h("div", controls, cls="xb-params", key=self._refusals, live=True),
            h("p", self._refused, role="status", cls="xb-bad", live=True),
            h("p", note, cls="xb-quiet") if note else None,
            ui.toolbar(
                ui.button("Reset", "reset", title="Give the params their first values"),
                ui.button("Use as baseline", "baseline", title="Compare with these params"),
                ui.button("Score again", "rescore", title="After the metric was redefined"),
            ),
            h("p", "Too long to be shown: use the attribute config.", cls="xb-quiet")
            if too_long
            else [
                h("p", "evaluation_config ", ui.copy("Copy as evaluation_config", config)),
                h("pre", config, cls="xb-config", tabindex=0),
            ],
        )

    def _control(self, tuned: model.Tuned, value: Any, do: str) -> Node | None:
        """Make the control of a param; None for what no box can hold."""
        param, label = tuned.param, one_line(tuned.key, _LONGEST_NAME)
        low, high = param.minimum, param.maximum
        if param.choices:
            return ui.menu(label, do, param.choices, value)
        if param.kind == "boolean":
            return ui.check(label, do, value)
        if param.kind == "string" and len(value) <= _LONGEST_TEXT and clean(value) == value:
            return _box(label, do, type="text", value=value, maxlength=_LONGEST_TEXT)
        if param.kind != "number":
            return None
        if model.is_whole(param) and float(value).is_integer() and abs(value) <= _LARGEST:
            ends = (-_LARGEST if low is None else int(low), _LARGEST if high is None else int(high))
            self._stops.pop(tuned.key, None)
            return _box(label, do, type="number", value=int(value), min=ends[0], max=ends[1])
        stops = self._stops.setdefault(tuned.key, [])
        if value not in stops:
            stops[:] = sorted({value, *model.stops(param, value), *stops})
        return _stepped(label, do, [model.number_text(stop) for stop in stops], stops.index(value))

    def _cases(self) -> Node:
        bench, places = self._bench, self._places()
        cut = ui.page_of(len(places), self.page, PAGE)
        body, chosen = [], self.selected_case
        heads = ["Case", "Gold", "Predicted", "Verdict"]
        heads += ["Expected"] if bench.cases.labelled else []
        detail = None if chosen is None else case_detail(bench, chosen, self._limit)
        for at in cut.of(places):
            body.append(case_row(bench, at, chosen=at == chosen, wanted=self.text))
            if at == chosen:
                body.append(h("tr", h("td", detail, colspan=len(heads)), key="detail"))
                detail = None
        table = ui.table(heads, h("tbody", body, keys="list"), cls="xb-cases", id="cases")
        which = f"{self._choices[self.shown]}, {SORTS[self.sort].lower()}"
        said = f"{which}: {len(places):,} of {plural(len(bench.cases), 'case')}"
        return h(
            "div",
            h(
                "p",
                h("span", said, role="status"),
                " ",
                ui.pager(cut, "set:page", "cases"),
                live=True,
            ),
            h("p", f"{which}: {ui.shown_text(cut, 'cases')}", static=True),
            h("div", table, cls="xb-scroll", scroll=True)
            if places
            else h("p", empty_text(bench, self.shown), cls="xb-empty"),
            ui.more(len(places) - (cut.last - cut.first), "cases", static=True),
            detail,
        )

    def __repr__(self) -> str:
        """Say what is tuned, over how many cases."""
        cases = plural(len(self._bench.cases), "case")
        return f"Metric workbench · {one_line(self._bench.tuning.name, 120)} · {cases}"


def _box(label: str, do: str, **attributes: Any) -> Node:
    return h("label", f"{label} ", h("input", do=do, **attributes), cls="xb-control")


def _stepped(label: str, do: str, texts: list[str], at: int) -> Node:
    """Make a slider over values that are not evenly apart."""
    handle = h(
        "input",
        type="range",
        do=do,
        min=0,
        max=len(texts) - 1,
        step=1,
        value=at,
        aria_valuetext=texts[at],
        data_texts=" ".join(texts),
    )
    shown = h("output", texts[at], cls="xb-num")
    return h("label", f"{label} ", handle, shown, cls="xb-control xb-slider")
