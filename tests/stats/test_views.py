"""How comparisons and agreements show themselves: text, HTML, Markdown, LaTeX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from extractbench_nb.stats.compare import Comparison, compare_runs
from tests.widgets.hostile import Twin

TEXT = pd.StringDtype("python")
HOSTILE = [
    "<script>alert(1)</script>",
    "a|b\nc",
    "$x_1$ & 50% #{~^}\\",
    "\ud800\u202e*_`",
    "&lt;img src=x onerror=alert(1)>",
]
ALLOWED = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "b", "br", "span"}
ALLOWED |= {"svg", "line", "circle", "details", "summary"}


GROUP, MEASURE = "<i>by", HOSTILE[0] + "|_&\n"


def hostile() -> Comparison:
    rng = np.random.default_rng(0)
    cells = [(run, f"d{i}", HOSTILE[i % 2]) for run in HOSTILE for i in range(9)]
    columns = dict(zip((GROUP, "document", "domain"), zip(*cells, strict=True), strict=True))
    frame = pd.DataFrame({k: pd.array(v, dtype=TEXT) for k, v in columns.items()})
    frame[MEASURE] = rng.random(len(frame))
    options = {"by": GROUP, "baseline": HOSTILE[0], "measures": MEASURE}
    return compare_runs(frame, resamples=200, **options)


def test_text(scores: Any) -> None:
    frame = scores(x=[0.5, 0.6, 0.4, 0.7, 0.5, 0.6, 0.5, 0.4], y=[0.75] * 8, z=[0.5] * 7 + [None])
    frame["valid"] = [True] * 22 + [False]
    text = repr(compare_runs(frame, measures="pass_rate", resamples=500))
    assert text.splitlines() == [
        "Comparison of 3 groups by run on up to 8 documents: mean [95 % interval]",
        "     pass_rate",
        "  y  0.750 [0.750, 0.750]",
        "  x  0.525 [0.450, 0.624]",
        "  z  0.429 [0.214, 0.500]",
        (
            "  Distinguishable from noise (sign-flip test, Holm, confidence 95 %): "
            "2 of 3 in pass_rate."
        ),
        (
            "  A true difference in pass_rate under about 0.239 (median over pairs) is missed "
            "more than one time in five."
        ),
        "  Not all have the same documents: differences are over those both have.",
        "  Invalid outputs, scored 0: z 1.",
    ]


def test_html_is_escaped_and_whole() -> None:
    found = Twin(hostile()._repr_html_())
    assert {*found.tags} <= ALLOWED
    names = {name for name, _ in found.attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "href")]
    for name in (HOSTILE[0], HOSTILE[2], HOSTILE[4], "a|b c"):
        assert name in "".join(found.words)


def test_latex(scores: Any) -> None:
    found = compare_runs(scores(a_b=[0.5, 0.25], y=[1.0, 1.0]), measures="pass_rate")
    assert found.to_latex() == (
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "group & documents & pass\\_rate \\\\\n"
        "\\midrule\n"
        "y & 2 & 1.000 [1.000, 1.000] \\\\\n"
        "a\\_b & 2 & 0.375 [0.250, 0.500] \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


@pytest.mark.parametrize("table", ["scores", "differences"])
def test_names_are_escaped_and_rows_never_break(table: str) -> None:
    found = hostile()
    lines = found.to_latex(table).splitlines()[4:-2]
    assert len(lines) == len(getattr(found, table))
    assert len({len(re.findall(r"(?<!\\)&", line)) for line in lines}) == 1
    assert not re.search(r"(?<!\\)[%#_]|(?<!\\)\$", "".join(lines))
