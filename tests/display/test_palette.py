"""A colour for everything, on light and on dark pages."""

import re

from extractbench_nb.core import OUTCOMES
from extractbench_nb.runs import FAILURES
from extractbench_nb.views.palette import DARK, ENDINGS, ITEMS, LIGHT, css_variables
from extractbench_nb.views.static import asset


def test_every_outcome_and_ending_has_a_colour() -> None:
    assert sorted(LIGHT.outcomes) == sorted(DARK.outcomes) == sorted(OUTCOMES)
    assert sorted(ENDINGS) == sorted(FAILURES)
    assert set(ITEMS.values()) <= set(OUTCOMES)


def test_variables_of_both_themes_have_the_same_names() -> None:
    light, dark = (
        [line.split(":")[0] for line in css_variables(theme).splitlines()]
        for theme in (LIGHT, DARK)
    )
    assert light == dark
    assert "--xb-both_absent" in light


def test_the_report_uses_only_what_is_declared() -> None:
    style = asset("report.css")
    declared = set(re.findall(r"(--[\w-]+):", style + css_variables(LIGHT)))
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= declared
