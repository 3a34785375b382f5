"""A colour for everything, on light and on dark pages."""

import re
from colorsys import rgb_to_hsv

from extractbench_nb.core import OUTCOMES
from extractbench_nb.runs import FAILURES
from extractbench_nb.views.palette import DARK, ENDINGS, ITEMS, LIGHT, css_variables
from extractbench_nb.views.static import asset


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in _rgb(colour))
        return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


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


def test_texts_on_shades_can_be_read_and_the_worst_shade_is_the_reddest() -> None:
    for theme in (LIGHT, DARK):
        inks = ["on-low"] * 4 + ["on-mid"] + ["on-high"] * 6
        for shade, ink in zip(theme.shades, inks, strict=True):
            assert _contrast(shade, theme.texts[ink]) >= 4.5
        saturations = [rgb_to_hsv(*_rgb(shade))[1] for shade in theme.shades]
        assert saturations.index(max(saturations)) == 0


def test_the_report_uses_only_what_is_declared() -> None:
    style = asset("report.css")
    declared = set(re.findall(r"(--[\w-]+):", style + css_variables(LIGHT)))
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= declared
