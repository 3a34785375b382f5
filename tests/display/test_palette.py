"""The palette, checked by computation: colour vision and contrast."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from extractbench_nb.display.html import STYLE
from extractbench_nb.display.palette import (
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
from extractbench_nb.evaluation.frames import OUTCOMES
from extractbench_nb.extraction.parsing import FAILURES

Numbers = npt.NDArray[np.float64]

THEMES = {"light": LIGHT, "dark": DARK}

#: Machado, Oliveira and Fernandes (2009), severity 1, for linear sRGB.
VISION = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def seen(colour: str, vision: str) -> Numbers:
    """CIELAB of what a reader sees, for D65."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: Numbers, other: Numbers) -> float:
    """CIEDE2000, as Sharma, Wu and Dalal (2005) write it."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(mean7 / (mean7 + 25.0**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1 = np.degrees(np.arctan2(b1, stretch * a1)) % 360
    h2 = np.degrees(np.arctan2(b2, stretch * a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = np.radians((h1 + turn / 2) % 360 if c1 * c2 else h1 + h2)
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * np.cos(hue - np.pi / 6)
        + 0.24 * np.cos(2 * hue)
        + 0.32 * np.cos(3 * hue + np.radians(6))
        - 0.20 * np.cos(4 * hue - np.radians(63))
    )
    s_l = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    blue = np.radians(60 * np.exp(-(((np.degrees(hue) - 275) / 25) ** 2)))
    r_t = -np.sin(blue) * 2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / s_c
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / s_h
    return float(np.sqrt(d_l**2 + d_c**2 + d_h**2 + r_t * d_c * d_h))


def closest(colours: dict[str, str], vision: str) -> tuple[float, str]:
    places = {name: seen(colour, vision) for name, colour in colours.items()}
    return min(
        (difference(places[a], places[b]), f"{a} and {b}") for a, b in combinations(places, 2)
    )


@pytest.mark.parametrize(
    "one, other, expected",
    [  # from Table 1 of Sharma, Wu and Dalal (2005)
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0011), 7.2195),
        ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_is_that_of_its_authors(
    one: tuple[float, ...], other: tuple[float, ...], expected: float
) -> None:
    assert difference(np.array(one), np.array(other)) == pytest.approx(expected, abs=1e-4)


def test_the_former_colours_fail() -> None:
    former = {"hallucination": "#b8327e", "structural": "#44617f"}
    assert closest(former, "protanopia")[0] < 5


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_outcomes_are_told_apart(theme: str, vision: str) -> None:
    found, pair = closest(dict(THEMES[theme].outcomes), vision)
    assert found >= 15, pair


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(
    "colours, least",
    [
        (dict(zip("01234567", SERIES, strict=True)), 12),
        (ENDINGS, 10),
        ({name: LIGHT.texts[name] for name in ("good", "bad")}, 15),
        ({name: DARK.texts[name] for name in ("good", "bad")}, 15),
    ],
    ids=["series", "endings", "verdicts", "verdicts on dark pages"],
)
def test_others_are_told_apart(colours: dict[str, str], least: float, vision: str) -> None:
    found, pair = closest(dict(colours), vision)
    assert found >= least, pair


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_outcomes_stand_out_from_every_page(theme: Theme) -> None:
    for page in theme.pages:
        assert {n: c for n, c in theme.outcomes.items() if contrast(c, page) < 3} == {}


def test_series_stand_out_from_a_white_page() -> None:
    assert [c for c in SERIES if contrast(c, "#ffffff") < 3] == []


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
    for vision in VISION:
        lights = [seen(shade, vision)[0] for shade in theme.shades]
        assert lights in (sorted(lights), sorted(lights, reverse=True)), vision


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


@pytest.mark.parametrize("ink, page", [("#212121", "#ffffff"), ("#ffffff", "#111111")])
def test_coloured_texts_of_cards_can_be_read_in_both_themes(ink: str, page: str) -> None:
    mixed = re.findall(r"color-mix\(in srgb,(#\w{6}) (\d+)%,currentColor\)", STYLE)
    assert len(mixed) == len(re.findall(r"color:(?:#|color-mix)", STYLE)) == 2
    for colour, share in mixed:
        channels = (
            round(
                (
                    int(colour[at : at + 2], 16) * int(share)
                    + int(ink[at : at + 2], 16) * (100 - int(share))
                )
                / 100
            )
            for at in (1, 3, 5)
        )
        assert contrast("#" + "".join(f"{channel:02x}" for channel in channels), page) >= 4.5


def test_variables_of_both_themes_have_the_same_names() -> None:
    light, dark = (
        [line.split(":")[0] for line in css_variables(theme).splitlines()]
        for theme in THEMES.values()
    )
    assert light == dark
    assert "--xb-both_absent" in light


def test_the_report_uses_only_what_is_declared() -> None:
    style = files("extractbench_nb.report").joinpath("report.css").read_text("utf-8")
    declared = set(re.findall(r"(--[\w-]+):", style + css_variables(LIGHT)))
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= declared
