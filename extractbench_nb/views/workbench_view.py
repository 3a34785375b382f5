"""`Workbench`: a metric's params, their effect on cases, and the verdicts that flip."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import traitlets

from extractbench_nb.core import Profile
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import (
    document_json,
    one_line,
    plural,
    ratio_text,
    trimmed,
    value_text,
)
from extractbench_nb.views import controls as ui
from extractbench_nb.views.sides import beside
from extractbench_nb.views.view import Choice, View, in_turn, part
from extractbench_nb.views.workbench_model import (
    GAINED,
    LOST,
    Bench,
    Tuning,
    read_cases,
)

#: Cases on a page.
PAGE = 20
#: Which cases are shown, with the words for them; the metric never sees those that are `unseen`.
SHOWN = {
    "seen": "All that the metric sees",
    "flips": "Flips",
    LOST: "▼ Lost",
    GAINED: "▲ Gained",
    "failed": "Failing",
    "errors": "Without a verdict",
    "passed": "Passing",
    "disagreements": "Other than labelled",
    "unseen": "Decided before the metric",
}
#: Keys that label the case which has the focus.
_LABELS: dict[str, bool | None] = {"p": True, "f": False, "u": None}
_MOST_COLUMNS, _LONGEST_NAME, _SHORT, _LONGEST_TEXT, _LONGEST_VALUE = 4, 60, 160, 400, 2_000
_LONGEST_CONFIG, _LARGEST = 20_000, 2**31 - 1
#: Size of the picture of a curve, and its margins.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 400, 200, 44, 14, 24, 36


def _verdict(passed: Any) -> Node:
    words = "? no verdict" if is_missing(passed) else "✓ pass" if passed else "✗ fail"
    return h("span", f"{words} ", cls=f"xb-verdict xb-{words.split()[1]}")


def _score(score: Any) -> str:
    return "n/a" if is_missing(score) else ratio_text(float(score))


# --- the curve ------------------------------------------------------------------------------------


def draw_curve(bench: Bench) -> Node:
    """Draw the share of cases that pass at each value, and the share that agrees with labels."""
    frame, name = bench.curve(), one_line(bench.over, _LONGEST_NAME)
    values = frame["threshold"].to_numpy()
    shares = frame[["pass_rate", "accuracy"]].dropna(axis=1).to_numpy(dtype=float).T
    low, high = np.floor(20 * shares.min()) / 20, np.ceil(20 * shares.max()) / 20
    if low == high:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    xs = np.linspace(_LEFT, _WIDTH - _RIGHT, len(values)).round(1)
    bottom, last = _HEIGHT - _BOTTOM, len(values) - 1

    def y_of(share: Any) -> Any:
        return np.round(bottom - (bottom - _TOP) * (share - low) / (high - low), 1)

    drawn = []
    for share in (low, (low + high) / 2, high):
        y = y_of(share)
        drawn.append(h("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, cls="xb-rule"))
        drawn.append(h("text", f"{100 * share:.4g}%", x=_LEFT - 5, y=y + 4, cls="xb-end"))
    named = np.linspace(0, last, min(6, len(values))).round().astype(int)
    drawn += [h("text", f"{values[at]:g}", x=xs[at], y=bottom + 16, cls="xb-mid") for at in named]
    for at, line in enumerate(shares):
        points = " ".join(f"{x},{y}" for x, y in zip(xs, y_of(line), strict=True))
        kind = f"xb-line xb-line{at}"
        drawn.append(h("polyline", points=points, cls=kind, fill="none", stroke="currentColor"))
    now, then = bench.params.get(bench.over), bench.baseline_threshold
    marks = [] if then in (None, now) else [(then, "xb-then", f"baseline {then:g}", bottom - 5)]
    marks += [] if now is None else [(now, "xb-now", f"{now:g}", _TOP - 8)]
    for value, kind, words, y in marks:
        x = round(float(np.interp(value, values, xs)), 1)
        side, move = ("xb-end", -5) if x > _WIDTH / 2 else ("", 5)
        drawn.append(h("line", x1=x, x2=x, y1=_TOP - 6, y2=bottom, cls=kind))
        drawn.append(h("text", words, x=x + move, y=y, cls=f"{kind} {side}"))
    room = {"x": _LEFT, "y": 0, "width": _WIDTH - _LEFT - _RIGHT, "height": bottom}
    ends = (f"{shares[0][at]:.1%} at {values[at]:g}" for at in (0, last))
    captions = [f"— pass rate, {' to '.join(ends)}."]
    for agreement in shares[1:]:
        best = f"{agreement.max():.1%} at {values[agreement.argmax()]:g}"
        captions.append(f"- - agreement with the labels, highest {best}.")
    return h(
        "figure",
        h(
            "svg",
            h("text", name, x=(_LEFT + _WIDTH) / 2, y=_HEIGHT - 4, cls="xb-mid xb-axis"),
            drawn,
            None if now is None else h("rect", **room, do="spot", spot=True, live=True),
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            role="img",
            aria_label=f"Pass rate over {name}" + ("" if now is None else f", now {now:g}"),
            cls="xb-picture",
        ),
        h("figcaption", [h("p", caption) for caption in captions], cls="xb-quiet"),
        None if now is None else h("p", f"Click the curve to set {name}.", live=True),
    )


# --- the view -------------------------------------------------------------------------------------


class Workbench(View):
    """A metric to tune over cases: live scores, flips against a baseline, the threshold's curve.

    Attributes
    ----------
    params : dict
        Values of the metric's params. A dict can be assigned; names that it leaves out keep their
        values.
    selected_case : int or None
        Place of the chosen case among the cases, from 0; None is the first one listed.
    shown : str
        Which cases are listed, lost ones first: seen (by the metric), flips, lost, gained, failed,
        errors (no verdict), passed, disagreements (other than labelled), or unseen (decided by a
        missing value or a wrong type).
    page : int
        Which page of cases is shown, from 0.
    """

    kind = "workbench"
    styles = ("workbench.css",)
    settable = frozenset({"page", "shown"})
    params = traitlets.Dict()
    selected_case = traitlets.Int(None, allow_none=True)
    shown = Choice("seen")
    page = traitlets.Int(0)

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
        found = read_cases(cases, field=field, kinds=Tuning(metric).kinds)
        self._bench = Bench(metric, found, baseline=baseline, judge=judge, profile=profile)
        self._curve: Node | None = None
        self._refused, self._refusals = "", 0
        self.params = dict(self._bench.params)
        super().__init__()

    # --- what Python sees -------------------------------------------------------------------------

    @property
    def results(self) -> pd.DataFrame:
        """The verdicts under the params as they are, one row per case.

        The cases' further columns come first, then gold, predicted, score, passed, outcome, reason,
        baseline_score, baseline_passed, flip (gained, lost), expected, error.
        """
        self._refresh()
        return self._bench.results()

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `results` that are listed, in the order shown."""
        return self.results.iloc[self._places()]

    @property
    def config(self) -> dict[str, Any]:
        """The params as they are as an ``evaluation_config``, to be written in a schema."""
        return self._bench.tuning.config(self.params)

    @property
    def curve(self) -> pd.DataFrame:
        """How many cases pass at each value of the threshold, and how many agree with labels.

        One row per value: param, threshold, passing, pass_rate, labelled, accuracy. Without a
        threshold, the values are those of a number among the params, or of the score itself.
        """
        self._refresh()
        return self._bench.curve()

    @property
    def baseline(self) -> str:
        """The metric that is compared with, with its params."""
        return self._bench.baseline

    def reset(self) -> None:
        """Give the params the values that they had at first."""
        tuning = self._bench.tuning
        self.params = {name: tuning.start.get(name) for name in tuning.params}

    def label(self, case: int, passed: bool | None) -> None:
        """Label a case, by its place from 0: whether it should pass; None removes the label."""
        if type(case) is not int or not 0 <= case < len(self._bench.cases.pairs):
            raise InputError(self._no_case(case))
        if passed not in (True, False, None):
            raise InputError(f"passed is {passed!r}; expected True, False or None")
        with self.changing():
            self._bench.label(case, None if passed is None else bool(passed))
            self._curve = None
            self.page = self.page

    def rescore(self) -> None:
        """Score anew: after the metric was redefined, or to ask a judge again that failed.

        The baseline keeps its verdicts, so that what a redefinition changes is seen as flips.
        """
        with self.changing():
            self._bench.rescore()
            self._curve, self._refused = None, ""
            self.set_trait("params", dict(self._bench.params))

    # --- checks and changes -----------------------------------------------------------------------

    def _no_case(self, case: object) -> str:
        return f"there is no case {case!r}; there are {len(self._bench.cases.pairs):,}, from 0"

    def _refresh(self) -> None:
        """Score anew if the metric was redefined: the numbers would be those of another."""
        if self._bench.tuning.is_stale:
            self.rescore()

    @traitlets.validate("params")
    def _known_params(self, proposal: Any) -> dict[str, Any]:
        try:
            self._bench.set_params(proposal["value"])
        except InputError as error:
            raise traitlets.TraitError(str(error)) from None
        return dict(self._bench.params)

    @traitlets.validate("selected_case")
    def _known_case(self, proposal: Any) -> int | None:
        case: int | None = proposal["value"]
        if case is not None and not 0 <= case < len(self._bench.cases.pairs):
            raise traitlets.TraitError(self._no_case(case))
        return case

    def choices(self, trait: str) -> Iterable[str]:
        """Return the kinds of cases, for `shown`."""
        return SHOWN

    @traitlets.validate("page")
    def _known_page(self, proposal: Any) -> int:
        return ui.page_of(len(self._places()), int(proposal["value"]), PAGE).number

    @traitlets.observe("params")
    def _params_changed(self, _: Any) -> None:
        self._curve, self._refused = None, ""
        self.page = self.page  # there may be fewer pages now

    @traitlets.observe("shown")
    def _filtered(self, _: Any) -> None:
        self.page = 0

    @traitlets.observe("selected_case")
    def _selected(self, change: Any) -> None:
        places = self._places()
        if change["new"] in places:
            self.page = places.index(change["new"]) // PAGE

    def _places(self) -> list[int]:
        """Return the listed cases: lost, gained, without a verdict, failing, passing."""
        masks = self._bench.masks()
        masks |= {"seen": ~masks["unseen"], "flips": masks[LOST] | masks[GAINED]}
        kinds = [masks[name] for name in (LOST, GAINED, "errors", "failed", "passed")]
        order = np.select(kinds, [*range(len(kinds))], default=len(kinds))
        places = np.flatnonzero(masks[self.shown])
        found: list[int] = places[np.argsort(order[places], kind="stable")].tolist()
        return found

    @property
    def _case(self) -> int | None:
        listed = next(iter(self._places()), None)
        return listed if self.selected_case is None else self.selected_case

    # --- events of the page -----------------------------------------------------------------------

    @in_turn
    def perform(self, name: str, value: Any = None) -> None:
        """Do what an event of the page asks for; ``param:n`` sets the param at a place."""
        self._refresh()
        verb, _, at = name.partition(":")
        if verb != "param":
            super().perform(name, value)
            return
        names = {str(place): key for place, key in enumerate(self._bench.params)}
        if at in names and value is not None:
            self._set(names[at], value)

    def _set(self, param: str, value: Any) -> None:
        """Set a param to a value of the page; what cannot be is said."""
        with self.changing():
            try:
                self.params = {param: value}
            except traitlets.TraitError as error:
                self._refused = one_line(str(error), _LONGEST_TEXT)
                self._refusals += 1  # the control is built anew, and shows what is

    def do_spot(self, spot: Any) -> None:
        """Set what the curve is over to the value at a place of the picture."""
        over = self._bench.over
        match spot:
            case [int() | float() as share, _] if over in self.params and 0 <= share <= 1:
                values = self._bench.tuning.values(over)
                self._set(over, values[round(share * (len(values) - 1))])

    def do_case(self, at: Any) -> None:
        """Choose a case."""
        if type(at) is int and 0 <= at < len(self._bench.cases.pairs):
            self.selected_case = at

    def do_label(self, asked: Any) -> None:
        """Label a case by a key."""
        match asked:
            case [int(at), str(key)] if key in _LABELS and 0 <= at < len(self._bench.cases.pairs):
                self.label(at, _LABELS[key])

    def do_reset(self, _: Any) -> None:
        """Give the params their first values."""
        self.reset()

    def do_rescore(self, _: Any) -> None:
        """Score anew."""
        self.rescore()

    # --- what is shown ----------------------------------------------------------------------------

    def trees(self) -> dict[str, Node]:
        """Return the page and its parts, of the metric as it is now."""
        self._refresh()
        return super().trees()

    def draw(self) -> dict[str, Node]:
        """Draw figures, params, curve and cases."""
        self._curve, results = self._curve or draw_curve(self._bench), self._bench.results()
        return {
            "page": h(
                "div",
                h("p", repr(self), cls="xb-title", live=True),
                part("params"),
                part("head"),
                ui.split(part("cases"), [part("curve"), part("detail"), part("config")]),
            ),
            "params": self._params(),
            "head": self._head(results),
            "cases": self._cases(results),
            "curve": self._curve,
            "detail": h("div", self._detail(results)),
            "config": self._config(),
        }

    def _params(self) -> Node:
        controls = [
            self._control(name, value, f"param:{at}")
            for at, (name, value) in enumerate(self.params.items())
        ]
        errors = self._bench.errors.dropna()
        trouble = None
        if len(errors):
            text = one_line(str(errors.mode().iloc[0]), _LONGEST_TEXT)
            said = f"{plural(len(errors), 'case')} without a verdict: {text}"
            trouble = h("p", said, cls="xb-trouble", role="alert")
        return h(
            "div",
            trouble,
            h("div", controls, cls="xb-params", key=self._refusals, live=True),
            h("p", self._refused, role="status", cls="xb-bad", live=True),
        )

    def _control(self, name: str, value: Any, do: str) -> Node | None:
        """Make the control of a param; None for what no box can hold."""
        param, label = self._bench.tuning.params[name], one_line(name, _LONGEST_NAME)
        low, high = param.minimum, param.maximum
        if param.choices:
            return ui.menu(label, do, param.choices, value)
        if param.kind == "boolean":
            return ui.check(label, do, value)
        if param.kind == "number" and low is not None and high is not None and not param.is_whole:
            return ui.slider(label, do, value, (low, high), (high - low) / 100)
        box: dict[str, Any] = {"value": value}
        if param.kind == "number" and abs(value) <= _LARGEST:
            box |= {"type": "number", "step": 1 if param.is_whole else "any", "min": low}
        elif param.kind == "string" and trimmed(value, _LONGEST_VALUE) == value:
            box |= {"type": "text", "maxlength": _LONGEST_VALUE}
        else:
            return None
        return h("label", f"{label} ", h("input", do=do, **box), cls="xb-control", live=True)

    def _head(self, results: pd.DataFrame) -> Node:
        """Write how many cases pass, and what changed."""
        bench, masks = self._bench, self._bench.masks()
        now, then = (int(results[name].sum()) for name in ("passed", "baseline_passed"))
        means = [_score(results[name].mean()) for name in ("score", "baseline_score")]
        said = (
            f"of the cases pass: {now:,} of {len(results):,}, before {then:,}. "
            f"{masks[GAINED].sum():,} gained, {masks[LOST].sum():,} lost against "
            f"{one_line(bench.baseline, _LONGEST_TEXT)}."
        )
        more = f"Mean score {means[0]}, before {means[1]}."
        if bench.cases.is_labelled:
            more += f" By the labels: {one_line(bench.choice(), _LONGEST_TEXT)}."
        counts = {name: int(masks[name].sum()) for name in SHOWN if name in masks}
        chips = [(name, SHOWN[name], count) for name, count in counts.items() if count]
        rules = h("code", one_line(bench.tuning.rules(self.params), _LONGEST_TEXT))
        return h(
            "div",
            ui.headline(ratio_text(now / len(results)) if len(results) else "n/a", said),
            h("p", more, cls="xb-quiet"),
            h("p", rules, static=True),
            ui.chips("Cases", "toggle:shown", chips, self.shown),
        )

    def _cases(self, results: pd.DataFrame) -> Node:
        places, chosen = self._places(), self._case
        cut = ui.page_of(len(places), self.page, PAGE)
        heads = ["Case", "Gold", "Predicted", "Verdict"]
        heads += ["Label"] if self._bench.cases.is_labelled else []
        rows = [self._row(at, results.loc[at], at == chosen) for at in cut.of(places)]
        body = h("tbody", rows, keys="list", data_labels=" ".join(_LABELS))
        table = ui.table(heads, body, cls="xb-cases", id="cases")
        said = f"{SHOWN[self.shown]}: {len(places):,} of {plural(len(results), 'case')}"
        return h(
            "div",
            ui.listed(said, cut, "cases"),
            h("p", f"{SHOWN[self.shown]}: {ui.shown_text(cut, 'cases')}", static=True),
            h("div", table, cls="xb-scroll", scroll=True)
            if places
            else h("p", "There are no such cases.", cls="xb-empty"),
            ui.more(len(places) - (cut.last - cut.first), "cases", static=True),
        )

    def _row(self, at: int, result: pd.Series, is_chosen: bool) -> Node:
        pair = self._bench.cases.pairs.loc[at]
        gold, predicted = beside(pair["gold"], pair["predicted"], limit=_SHORT, form="line")
        error = "" if is_missing(result["error"]) else one_line(result["error"], _LONGEST_TEXT)
        verdict = [h("span", f"{_score(result['score'])} "), _verdict(result["passed"])]
        if not is_missing(flip := result["flip"]):
            verdict.append(h("b", SHOWN[flip].lower(), cls=f"xb-{flip}"))
            was = f"was {_score(result['baseline_score'])}"
            verdict.append(h("div", was, cls="xb-quiet xb-sub"))
        label = None if is_missing(result["expected"]) else _verdict(result["expected"])
        return h(
            "tr",
            h("td", h("span", f"{at} ", cls="xb-quiet"), self._labels(at)),
            h("td", ui.segments(gold.segments), cls="xb-value"),
            h("td", ui.segments(predicted.segments), h("div", error, cls="xb-bad"), cls="xb-value"),
            h("td", verdict),
            h("td", label) if self._bench.cases.is_labelled else None,
            key=at,
            item=True,
            do="case",
            send=at,
            aria_current="true" if is_chosen else None,
            reveal=str(at) if is_chosen else None,
        )

    def _labels(self, at: int) -> list[Node | None]:
        """Write the further columns of a case: the path as code, others with their names."""
        cells = self._bench.cases.more.iloc[at, :_MOST_COLUMNS].items()
        texts = {
            one_line(value_text(name), _LONGEST_NAME): one_line(value_text(cell), _LONGEST_NAME)
            for name, cell in cells
            if not is_missing(cell)
        }
        path = texts.pop("path", "")
        others = [
            text if name in ("run", "document") else f"{name}: {text}"
            for name, text in texts.items()
        ]
        return [
            ui.breakable(path) if path else None,
            h("span", " ", " · ".join(others), cls="xb-quiet xb-sub") if others else None,
        ]

    def _detail(self, results: pd.DataFrame) -> Node | None:
        """Draw the chosen case in full."""
        at = self._case
        if at is None:
            return None
        result, pair = results.loc[at], self._bench.cases.pairs.loc[at]
        gold, predicted = beside(
            pair["gold"], pair["predicted"], limit=_LONGEST_VALUE, form="indented"
        )
        told = result["error"]
        told = self._bench.verdicts["reasoning"][at] if is_missing(told) else told
        outcome = f"{result['outcome']} · {result['reason']}"
        facts = [
            ("Score", [f"{_score(result['score'])} ", _verdict(result["passed"])]),
            (
                "Baseline",
                [f"{_score(result['baseline_score'])} ", _verdict(result["baseline_passed"])],
            ),
            ("Outcome", one_line(outcome.replace("_", " "), _LONGEST_TEXT)),
            ("Why", "" if is_missing(told) else trimmed(str(told), _LONGEST_VALUE)),
        ]
        labels = (("Pass (p)", "p"), ("Fail (f)", "f"), ("No label (u)", "u"))
        return h(
            "section",
            h("b", f"Case {at}"),
            ui.whole_sides({"Gold": gold, "Predicted": predicted}),
            ui.toolbar("Label ", [ui.button(said, "label", [at, key]) for said, key in labels]),
            ui.facts_list(facts),
            cls="xb-detail",
            aria_label="The chosen case",
        )

    def _config(self) -> Node:
        """Draw what the params are for, folded."""
        config = json.dumps(document_json(self.config), indent=2)
        if len(config) > _LONGEST_CONFIG:
            config = "Too long to be shown: use the attribute config."
        return h(
            "div",
            ui.toolbar(
                ui.button("Reset", "reset", title="Give the params their first values"),
                ui.button("Score again", "rescore", title="Ask a judge again that failed"),
            ),
            h(
                "details",
                h("summary", "evaluation_config"),
                h("pre", config, cls="xb-config", tabindex=0),
                ui.copy("Copy as evaluation_config", config),
            ),
        )

    def __repr__(self) -> str:
        """Say what is tuned, over how many cases."""
        cases = plural(len(self._bench.cases.pairs), "case")
        return f"Metric workbench · {one_line(self._bench.tuning.name, 120)} · {cases}"
