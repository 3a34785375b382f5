"""`Workbench`: a metric's params, their effect on cases, and the verdicts that flip."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.core import Profile
from extractbench_nb.core.text import Judge
from extractbench_nb.core.values import json_type
from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import (
    clean,
    document_json,
    one_line,
    plural,
    ratio_text,
    trimmed,
)
from extractbench_nb.views import controls as ui
from extractbench_nb.views import workbench_model as model
from extractbench_nb.views.sides import MOST, Pair, excerpts, whole
from extractbench_nb.views.view import View, in_turn, known, part
from extractbench_nb.views.workbench_cases import Case, Verdicts

#: Cases on a page.
PAGE = 20
#: Which cases can be shown, with the words for them.
SHOWN = {
    "all": "All cases",
    "flips": "Only flips",
    "passed": "Passing",
    "failed": "Failing",
    "gained": "Gained",
    "lost": "Lost",
    "errors": "Without a verdict",
    "unseen": "Decided before the metric",
    "disagreements": "Other than expected",
}
#: In which order, with the words for it.
SORTS = {
    "failures": "Flips and failures first",
    "given": "As given",
    "lowest": "Lowest score first",
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
#: Keys that label the case which has the focus.
_LABELS: dict[str, bool | None] = {"p": True, "f": False, "u": None}
_SIGNS = {"pass": "✓", "fail": "✗", "no verdict": "?", model.GAINED: "▲", model.LOST: "▼"}
_NOT_TOLD = 2.0  # sorts cases without a score behind those with one


# --- cases ----------------------------------------------------------------------------------------


def chosen(bench: model.Bench, shown: str, sort: str, text: str) -> list[int]:
    """Return the places of the cases to show."""
    now, flips = bench.verdicts, bench.flips()
    labels = np.array([-1 if label is None else int(label) for label in bench.cases.expected])
    keep = {
        "all": np.ones(len(bench.cases), dtype=bool),
        "flips": flips != 0,
        "passed": now.passed,
        "failed": now.decided & ~now.passed,
        "gained": flips > 0,
        "lost": flips < 0,
        "errors": ~now.decided,
        "unseen": ~bench.seen,
        "disagreements": now.decided & (labels >= 0) & (labels != now.passed),
    }[shown]
    places: list[int] = np.flatnonzero(keep).tolist()
    wanted = text.strip().casefold()
    if wanted:
        errors = {at: (now.error(at) or "").casefold() for at in places}
        places = [at for at in places if wanted in f"{bench.cases.texts[at]}\n{errors[at]}"]
    if sort != "given":
        keys = {
            # lost before gained, then what fails, then what passes; what is never asked is last
            "failures": np.select(
                [flips < 0, flips > 0, ~bench.seen, now.passed], [0, 1, 4, 3], default=2
            ),
            "lowest": np.nan_to_num(now.score, nan=_NOT_TOLD),
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
        ui.toolbar(
            ui.button("Pass (p)", "label", [at, "p"], title="Label: the case should pass"),
            ui.button("Fail (f)", "label", [at, "f"], title="Label: the case should fail"),
            ui.button("No label (u)", "label", [at, "u"]) if case.expected is not None else None,
        ),
        ui.facts_list((name, trimmed(text, _FULL)) for name, text in facts),
        cls="xb-detail",
        aria_label="The chosen case",
    )


# --- figures --------------------------------------------------------------------------------------


def head(bench: model.Bench) -> Node:
    """Write how many cases pass, what changed, and an exception of the metric."""
    found = {name: (value, before) for name, value, before, _ in model.facts(bench)}
    passing, before = found["Passing"]
    flips = bench.flips()
    gained, lost = int((flips > 0).sum()), int((flips < 0).sum())
    rate = ratio_text(bench.verdicts.passed.mean()) if len(bench.cases) else "n/a"
    said = (
        f"of the cases pass: {passing}, before {before}. {gained:,} {model.GAINED}, "
        f"{lost:,} {model.LOST} against {one_line(bench.baseline.rules, _LONGEST_RULES)}."
    )
    more = ["mean score {}, before {}".format(*found["Mean score"])]
    more += [f"as expected {found['As expected'][0]}"] if "As expected" in found else []
    unseen = int((~bench.seen & bench.verdicts.decided).sum())
    more += [f"{plural(unseen, 'case')} decided before the metric, by a missing value"] * bool(
        unseen
    )
    errors = Counter(filter(None, (bench.verdicts.error(at) for at in range(len(bench.cases)))))
    trouble = None
    for text, often in errors.most_common(1):
        told = f"{plural(often, 'case')} without a verdict: {one_line(text, _LONGEST_ERROR)}"
        trouble = h("p", told, cls="xb-trouble", role="alert")
    return h(
        "div",
        trouble,
        ui.headline(rate, said),
        h("p", " · ".join(more), cls="xb-quiet"),
        h("p", f"By the labels: {one_line(bench.choice(), _LONGEST_RULES)}", cls="xb-quiet")
        if bench.cases.labelled
        else None,
        h("p", h("code", one_line(bench.rules, _LONGEST_RULES)), static=True),
    )


# --- the curve: the share of cases that pass at each value of a param, as SVG ---------------------

#: Size of the picture of a curve, and its margins.
_WIDTH, _HEIGHT = 400, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 22, 38
_DEPTH = _HEIGHT - _TOP - _BOTTOM
#: Steps of the vertical axis, how many fit it, and its length for a flat line.
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_MOST_STEPS, _FLAT = 5, 0.01
#: Values of which each is named on the axis.
_FEW = 40


def fitted_axis(shares: list[float]) -> list[float]:
    """Return the ticks of an axis over the data: its ends are the first and the last.

    Examples
    --------
    >>> fitted_axis([0.961, 0.977])
    [0.96, 0.965, 0.97, 0.975, 0.98]
    >>> fitted_axis([1.0, 1.0])
    [0.99, 0.995, 1.0]
    """
    low, high = (min(shares), max(shares)) if shares else (0.0, 1.0)
    if high - low < _STEPS[0]:  # a flat line: room below it, or above it at the bottom
        low, high = (low, high + _FLAT) if 0 <= low < _FLAT else (low - _FLAT, high)
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_STEPS), _STEPS[-1])
    first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
    return [round(step * n, 6) for n in range(first, last + 1)]


class Curve:
    """The share of cases that pass at each value of a param, to be drawn."""

    def __init__(self, bench: model.Bench, over: str) -> None:
        frame = bench.curve(over)
        self.over, self.name, self.cases = over, one_line(over, _LONGEST_NAME), len(bench.cases)
        self.values: list[float] = frame["threshold"].tolist()
        self.texts = [model.number_text(value) for value in self.values]
        self.passing: list[int] = frame["passing"].tolist()
        self.settable = over in bench.tuning.params
        names = {"pass_rate": "pass rate" if self.settable else "cases with this score or more"}
        names |= {name: name for name in model.MEASURES if bench.cases.labelled}
        self.lines = {
            words: [None if pd.isna(share) else float(share) for share in frame[name]]
            for name, words in names.items()
        }
        self.ticks = fitted_axis(
            [share for shares in self.lines.values() for share in shares if share is not None]
        )
        places = model.places(self.values)
        self.named = [  # all of few values, else those at a tenth of the axis
            at
            for at, place in enumerate(places)
            if len(places) <= _FEW or round(10 * place, 3).is_integer()
        ]
        self.xs = [round(_LEFT + place * (_WIDTH - _LEFT - _RIGHT), 1) for place in places]
        self.at = self._place(bench.params.get(over) if self.settable else None)
        same = over == bench.tuning.threshold
        self.baseline = self._place(bench.baseline.threshold if same else None)
        self.best = model.best_text(frame) if bench.cases.labelled else ""

    def _place(self, value: float | None) -> int | None:
        if value is None or not np.isfinite(value):
            return None
        return int(np.argmin(np.abs(np.array(self.values) - value)))

    def _y(self, share: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return round(_HEIGHT - _BOTTOM - (share - low) / (high - low) * _DEPTH, 1)

    def draw(self) -> Node:
        """Draw the picture and its legend."""
        low, high = percent(self.ticks[0]), percent(self.ticks[-1])
        legend = [
            h(
                "li",
                h(
                    "svg",
                    _line("M0 5H26", at),
                    viewBox="0 0 26 10",
                    width=26,
                    height=10,
                    aria_hidden="true",
                ),
                f" {name}",
                "" if self.at is None else f" {self._share(shares[self.at], at)}",
            )
            for at, (name, shares) in enumerate(self.lines.items())
        ]
        hint = h("span", f"; click a value to set {self.name}", live=True)
        return h(
            "figure",
            self._picture(low, high),
            h("ul", legend, cls="xb-legend"),
            h(
                "figcaption",
                f"Vertical axis from {low} to {high}",
                hint if self.settable else None,
                ". ",
                f"{self.best[:1].upper()}{self.best[1:]}." if self.best else None,
                cls="xb-quiet",
            ),
        )

    @staticmethod
    def _share(share: float | None, line: int) -> str:
        return "n/a" if share is None else f"{share:.2f}" if line else f"{share:.1%}"

    def _words(self, at: int) -> str:
        return f"{self.texts[at]}: {self.passing[at]:,} of {self.cases:,} pass"

    def _picture(self, low: str, high: str) -> Node:
        name = next(iter(self.lines))
        now = "" if self.at is None else f"; at {self._words(self.at)}"
        return h(
            "svg",
            [
                [
                    h("line", cls="xb-rule", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y),
                    h("text", percent(tick), cls="xb-end", x=_LEFT - 5, y=y + 4),
                ]
                for tick in self.ticks
                for y in [self._y(tick)]
            ],
            self._names(),
            h("text", self.name, cls="xb-axis", x=(_WIDTH + _LEFT) / 2, y=_HEIGHT - 4),
            [_line(self._stairs(shares), at) for at, shares in enumerate(self.lines.values())],
            self._marks(),
            h("g", [self._target(at) for at in range(len(self.xs))], key="values", live=True),
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            role="img",
            aria_label=f"{name} over {self.name}, axis from {low} to {high}{now}",
            cls="xb-picture",
        )

    def _names(self) -> list[Node]:
        """Write the values below the axis where they do not touch."""
        written, end = [], 0.0
        for at in self.named:
            half = 3.4 * len(self.texts[at])
            if self.xs[at] - half >= end + 6:
                end = self.xs[at] + half
                y = _HEIGHT - _BOTTOM + 16
                written.append(h("text", self.texts[at], cls="xb-mid", x=self.xs[at], y=y))
        return written

    def _stairs(self, shares: list[float | None]) -> str:
        """Write a line as stairs.

        Between two values the next one holds where the line falls to it (a case passes at its
        score, not above), else the one before.
        """
        falls, path = self.passing[0] >= self.passing[-1], ""
        drawn: tuple[float, float] | None = None  # where the line was last
        for x, share in zip(self.xs, shares, strict=True):
            if share is None:
                path += f"H{drawn[0]}" if drawn else ""
                drawn = None
                continue
            y = self._y(share)
            if drawn is None:
                path += f"M{x} {y}"
            elif y != drawn[1]:
                path += f"H{drawn[0] if falls else x}V{y}"
            drawn = x, y
        return path + (f"H{drawn[0]}" if drawn else "")

    def _marks(self) -> list[Node]:
        marks = []
        if self.baseline is not None and self.baseline != self.at:
            words = f"baseline {self.texts[self.baseline]}"
            marks += self._mark(self.baseline, self.at, "xb-then", words, _HEIGHT - _BOTTOM - 5)
        if self.at is not None:
            marks += self._mark(self.at, self.baseline, "xb-now", self.texts[self.at], _TOP - 8)
            share = next(iter(self.lines.values()))[self.at]
            y = self._y(self.ticks[0] if share is None else share)
            marks.append(h("circle", cls="xb-now", cx=self.xs[self.at], cy=y, r=4.5))
        return marks

    def _mark(self, at: int, other: int | None, kind: str, words: str, y: float) -> list[Node]:
        """Draw a line with its words beside it: away from the other line, where there is room."""
        x, room = self.xs[at], 6.5 * len(words)
        past = x + room > _WIDTH or (other is not None and other > at)
        before = past and x - room > _LEFT
        side = "xb-end" if before else ""
        return [
            h("line", cls=kind, x1=x, x2=x, y1=_TOP - 6, y2=_HEIGHT - _BOTTOM, key=kind),
            h("text", words, cls=f"{kind} {side}", x=x + (-5 if before else 5), y=y),
        ]

    def _target(self, at: int) -> Node:
        """Draw where a click sets a value, and where its numbers are told."""
        left = (self.xs[max(0, at - 1)] + self.xs[at]) / 2
        right = (self.xs[at] + self.xs[min(len(self.xs) - 1, at + 1)]) / 2
        return h(
            "rect",
            h("title", self._words(at)),
            x=round(left - (at == 0) * 5, 1),
            y=0,
            width=round(right - left + (at == 0) * 5 + (at == len(self.xs) - 1) * 5, 1),
            height=_HEIGHT - _BOTTOM,
            do="value" if self.settable else None,
            send=at if self.settable else None,
        )


def _line(path: str, at: int) -> Node:
    kind = f"xb-line xb-line{at}"
    return h("path", d=path, cls=kind, fill="none", stroke="currentColor", key=f"line{at}")


def percent(share: float) -> str:
    """Write a share without digits that say nothing: ``97.5%``."""
    return f"{100 * share:.6g}%"


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
        failures (flips first, then what does not pass), given, or lowest (score).
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
        profile: str | Profile = "strict",
    ) -> None:
        found = model.read_cases(cases, field=field, kinds=model.Tuning(metric).kinds)
        self._bench = model.Bench(metric, found, baseline=baseline, judge=judge, profile=profile)
        self._curve: Curve | None = None
        self._curve_node: Node | None = None
        self._stops: dict[str, list[float]] = {}
        self._refused, self._refusals, self._limit = "", 0, _FULL
        self.params, self.over = dict(self._bench.params), self._bench.first_curve
        super().__init__()

    @property
    def _choices(self) -> dict[str, str]:
        is_labelled = self._bench.cases.labelled
        return {n: w for n, w in SHOWN.items() if is_labelled or n != "disagreements"}

    # --- what Python sees -------------------------------------------------------------------------

    @property
    def results(self) -> pd.DataFrame:
        """The verdicts under the params as they are, one row per case.

        The cases' further columns come first, then gold, predicted, score, passed, outcome, reason,
        baseline_score, baseline_passed, flip (gained, lost), expected, error.
        """
        if self._bench.is_stale:
            self.rescore()
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

    def label(self, case: int, passed: bool | None) -> None:
        """Label a case: whether it should pass.

        Parameters
        ----------
        case : int
            Its place among the cases, from 0.
        passed : bool or None
            The expected verdict; None removes it.

        Raises
        ------
        InputError
            There is no such case, or the verdict is another value.
        """
        cases = len(self._bench.cases)
        if type(case) is not int or not 0 <= case < cases:
            raise InputError(f"there is no case {case!r}; there are {cases:,}, from 0")
        if passed not in (True, False, None):
            raise InputError(f"passed is {passed!r}; expected True, False or None")
        with self.changing():
            self._bench.label(case, None if passed is None else bool(passed))
            self._curve = None
            if self.shown not in self._choices:
                self.shown = "all"
            self.page = self.page

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
        if self._bench.is_stale:  # the numbers would be those of another metric
            self.rescore()
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

    def do_chip(self, shown: Any) -> None:
        """Show the cases of one kind only, or all again."""
        if isinstance(shown, str) and shown in self._choices:
            self.shown = "all" if shown == self.shown else shown

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

    def do_label(self, asked: Any) -> None:
        """Label a case by a key."""
        at, key = asked if isinstance(asked, list) and len(asked) == 2 else (None, None)  # noqa: PLR2004
        if type(at) is int and 0 <= at < len(self._bench.cases) and key in ("p", "f", "u"):
            self.label(at, _LABELS[key])

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
        case = self.selected_case
        beside = [part("curve"), part("config")]
        detail = None if case is None else case_detail(self._bench, case, self._limit)
        return {
            "page": h(
                "div",
                h("p", repr(self), cls="xb-title", live=True),
                part("head"),
                part("params"),
                part("filters"),
                ui.split(part("cases"), [part("detail"), *beside]),
            ),
            "head": head(self._bench),
            "params": self._params(),
            "filters": self._filters(),
            "cases": self._cases(),
            "detail": h("div", detail),
            "curve": self._curve_node,
            "config": self._config(),
        }

    def _filters(self) -> Node:
        counts = {
            name: len(chosen(self._bench, name, "given", ""))
            for name in ("lost", "gained", "failed", "errors", "passed", "unseen", "disagreements")
            if name in self._choices
        }
        chips = [(name, self._choices[name], n) for name, n in counts.items() if n]
        active = bool(self.text.strip()) + (self.sort != "failures")
        return h(
            "div",
            ui.chips("Cases", "chip", chips, self.shown),
            ui.toolbar(
                ui.filters(
                    active,
                    ui.menu("Show", "set:shown", self._choices, self.shown),
                    ui.menu("Sort", "set:sort", SORTS, self.sort),
                    ui.search(
                        "Find text of a case", "set:text", self.text, "text of a case", "cases"
                    ),
                )
            ),
            cls="xb-filter-line",
        )

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
        return h(
            "div",
            h("div", controls, cls="xb-params", key=self._refusals, live=True),
            h("p", self._refused, role="status", cls="xb-bad", live=True),
            h("p", note, cls="xb-quiet") if note else None,
        )

    def _config(self) -> Node:
        """Draw what the params are for, folded: the config, and other baselines."""
        config = json.dumps(document_json(self.config), indent=2)
        too_long = len(config) > _LONGEST_CONFIG
        return h(
            "div",
            ui.toolbar(
                ui.button("Reset", "reset", title="Give the params their first values"),
                ui.button("Use as baseline", "baseline", title="Compare with these params"),
                ui.button("Score again", "rescore", title="Ask a judge again that failed"),
            ),
            h("p", "Too long to be shown: use the attribute config.", cls="xb-quiet")
            if too_long
            else h(
                "details",
                h("summary", "evaluation_config"),
                h("pre", config, cls="xb-config", tabindex=0),
                ui.copy("Copy as evaluation_config", config),
            ),
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
        if param.is_whole and abs(value) <= _LARGEST:
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
        heads = ["Case", "Gold", "Predicted", "Verdict"]
        heads += ["Expected"] if bench.cases.labelled else []
        body = [
            case_row(bench, at, chosen=at == self.selected_case, wanted=self.text)
            for at in cut.of(places)
        ]
        table = ui.table(
            heads,
            h("tbody", body, keys="list", data_labels=" ".join(_LABELS)),
            cls="xb-cases",
            id="cases",
        )
        which = f"{self._choices[self.shown]}, {SORTS[self.sort].lower()}"
        said = f"{which}: {len(places):,} of {plural(len(bench.cases), 'case')}"
        return h(
            "div",
            ui.listed(said, cut, "cases"),
            h("p", f"{which}: {ui.shown_text(cut, 'cases')}", static=True),
            h("div", table, cls="xb-scroll", scroll=True)
            if places
            else h("p", empty_text(bench, self.shown), cls="xb-empty"),
            ui.more(len(places) - (cut.last - cut.first), "cases", static=True),
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
