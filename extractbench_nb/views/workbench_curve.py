"""The curve of the workbench: the share of cases that pass at each value of a param, as SVG."""

from __future__ import annotations

import numpy as np
import pandas as pd

from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, ratio_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views import workbench_model as model

_LONGEST_NAME = 60
#: Size of the picture of a curve, and its margins.
_WIDTH, _HEIGHT = 400, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 22, 38
_DEPTH = _HEIGHT - _TOP - _BOTTOM
#: Steps of the vertical axis, how many fit it, and its length for a flat line.
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_MOST_STEPS, _FLAT = 5, 0.01
#: Rows of the table of a curve.
_MOST_POINTS = 11
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
        """Draw the picture, its legend, and its values as a table."""
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
            h("details", h("summary", f"Values of the curve over {self.name}"), self._table()),
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

    def _table(self) -> Node:
        """List some values, those of now and of the baseline included."""
        heads = [self.name, "passing", *self.lines]
        marks = {"now": self.at, "baseline": self.baseline}
        count = len(self.texts)
        every = max(1, round((count - 1) / (_MOST_POINTS - 1)))
        rows = []
        for n in sorted({*range(0, count, every), count - 1, *marks.values()} - {None}):
            notes = [word for word, at in marks.items() if at == n]
            shares = [line[n] for line in self.lines.values()]
            cells = [
                f"{self.passing[n]:,}",
                *("n/a" if share is None else ratio_text(share) for share in shares),
            ]
            name = " ← ".join([self.texts[n], *notes])
            rows.append(
                h("tr", h("th", name, scope="row"), [h("td", c, cls="xb-num") for c in cells])
            )
        return ui.table(heads, h("tbody", rows))


def _line(path: str, at: int) -> Node:
    kind = f"xb-line xb-line{at}"
    return h("path", d=path, cls=kind, fill="none", stroke="currentColor", key=f"line{at}")


def percent(share: float) -> str:
    """Write a share without digits that say nothing: ``97.5%``."""
    return f"{100 * share:.6g}%"
