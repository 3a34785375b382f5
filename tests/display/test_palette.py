"""The palette: contrast, and a colour for everything."""

import re
from importlib.resources import files

import pytest

from extractbench_nb.core.evaluation_frames import OUTCOMES
from extractbench_nb.runs.parsing import FAILURES
from extractbench_nb.views.palette import (
    DARK,
    ENDINGS,
    ITEMS,
    LIGHT,
    SERIES,
    Theme,
    contrast,
    css_variables,
    ink_on,
)

THEMES = {"light": LIGHT, "dark": DARK}


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_outcomes_stand_out_from_every_page(theme: Theme) -> None:
    for page in theme.pages:
        assert {n: c for n, c in theme.outcomes.items() if contrast(c, page) < 3} == {}


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_texts_can_be_read(theme: Theme) -> None:
    texts = theme.texts
    on_page = ("quiet", "accent", "good", "bad", "changed")
    for page in theme.pages:
        assert {n for n in on_page if contrast(texts[n], page) < 4.5} == set()
    assert contrast(texts["changed"], texts["changed-page"]) >= 4.5
    ink = {"light": "#1b1d21", "dark": "#e8e9ec"}["light" if theme is LIGHT else "dark"]
    assert {n for n in ("pick", "hit") if contrast(ink, texts[n]) < 4.5} == set()
    # the first four shades have the text of low scores, the fifth always dark text
    grounds = ["on-low"] * 4 + ["on-high"] * 7
    for step, (shade, name) in enumerate(zip(theme.shades, grounds, strict=True)):
        ink = "#16181c" if step == 4 else texts[name]
        assert contrast(ink, shade) >= 4.5, step


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_a_lower_score_always_stands_out_more(theme: Theme) -> None:
    shown = [contrast(shade, theme.pages[0]) for shade in theme.shades]
    assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize(
    "colour", [*SERIES, *ENDINGS.values(), *LIGHT.outcomes.values(), *LIGHT.shades]
)
def test_numbers_can_be_read_on_every_colour(colour: str) -> None:
    assert contrast(ink_on(colour), colour) >= 4.5


def test_every_outcome_and_ending_has_a_colour() -> None:
    assert sorted(LIGHT.outcomes) == sorted(DARK.outcomes) == sorted(OUTCOMES)
    assert sorted(ENDINGS) == sorted(FAILURES)
    assert set(ITEMS.values()) <= set(OUTCOMES)
    assert LIGHT.texts.keys() == DARK.texts.keys()
    assert len(LIGHT.shades) == len(DARK.shades) == 11


def test_variables_of_both_themes_have_the_same_names() -> None:
    light, dark = (
        [line.split(":")[0] for line in css_variables(theme).splitlines()]
        for theme in THEMES.values()
    )
    assert light == dark
    assert "--xb-both_absent" in light


def test_the_report_uses_only_what_is_declared() -> None:
    style = files("extractbench_nb.views.report").joinpath("report.css").read_text("utf-8")
    declared = set(re.findall(r"(--[\w-]+):", style + css_variables(LIGHT)))
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= declared
