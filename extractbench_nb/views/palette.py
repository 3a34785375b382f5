"""The colours of figures, reports and views: one per outcome, on light and on dark pages.

They were chosen by computation: under protanopia, deuteranopia and tritanopia (Machado, Oliveira
and Fernandes 2009) any two outcomes have a CIEDE2000 difference of 15 or more; an outcome has a
contrast of 3 to its page, and a text of 4.5 to its ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Theme(NamedTuple):
    """The colours on pages of one kind; a CSS variable ``--xb-`` and the name stands for each."""

    #: Outcomes, in the order in which they are drawn: what passes first.
    outcomes: Mapping[str, str]
    #: A score from 0 to 1 in steps of 0.1: the lower, the redder, in both themes.
    shades: tuple[str, ...]
    #: Texts, and what texts are on.
    texts: Mapping[str, str]


LIGHT = Theme(
    outcomes={
        "correct": "#225178",
        "both_absent": "#5095a3",
        "incorrect": "#c8750f",
        "omission": "#8151e4",
        "hallucination": "#b1202c",
        "structural": "#1f232e",
        "judge_error": "#877d72",
    },
    shades=(
        *("#a60f08", "#b02412", "#b93a1c", "#c84a26", "#e0683f", "#eb855a"),
        *("#f4a173", "#faba8f", "#fdceae", "#fee2cd", "#fff6ec"),
    ),
    texts={
        "quiet": "#5a5f67",
        "accent": "#1f5fa8",
        "focus": "#1f5fa8",
        "pick": "#dce9f8",
        "hit": "#fff1b8",
        "good": "#1f5fa8",
        "bad": "#a33708",
        "changed": "#7a3b00",
        "changed-page": "#ffe9c7",
        "on-low": "#ffffff",
        "on-mid": "#16181c",
        "on-high": "#16181c",
    },
)
DARK = Theme(
    outcomes={
        "correct": "#6cbbef",
        "both_absent": "#527a83",
        "incorrect": "#f0a020",
        "omission": "#9a5cf5",
        "hallucination": "#e04050",
        "structural": "#eceef2",
        "judge_error": "#a3a29a",
    },
    shades=(
        *("#d62f2f", "#c32f2e", "#af2f2c", "#9d2e2a", "#8a2d28", "#782b26"),
        *("#672823", "#552521", "#45221e", "#341e1b", "#241a18"),
    ),
    texts={
        "quiet": "#a9aeb8",
        "accent": "#86b8f2",
        "focus": "#86b8f2",
        "pick": "#22405f",
        "hit": "#5a4a10",
        "good": "#86b8f2",
        "bad": "#fab796",
        "changed": "#ffd08a",
        "changed-page": "#46320f",
        "on-low": "#ffffff",
        "on-mid": "#ffffff",
        "on-high": "#ffffff",
    },
)

#: Outcomes of array items have the colour of the outcome of a field that they are most like.
ITEMS: Mapping[str, str] = {
    "matched": "correct",
    "differing": "incorrect",
    "missed": "omission",
    "spurious": "hallucination",
}

#: Texts on shades below this step are `on-low`, those above it `on-high`.
_MIDDLE = 4

#: Runs, metrics and other series, at least 12 apart and with a contrast of 3 to a white page.
SERIES = (
    *("#005b96", "#b6530b", "#278875", "#ba7ea6"),
    *("#279aeb", "#dc7c00", "#889b6c", "#000000"),
)

#: How outputs end, at least 10 apart: blue is valid, warm are texts of no use, greens and greys
#: are calls without a text.
ENDINGS: Mapping[str, str] = {
    "none": "#0072b2",
    "empty_response": "#e69f00",
    "trailing_comma": "#f0e442",
    "truncated_json": "#d55e00",
    "malformed_json": "#c877ad",
    "not_an_object": "#eec0ff",
    "schema_violation": "#7a1f4b",
    "page_limit": "#009e73",
    "context_length": "#91d9bd",
    "schema_rejected": "#14532d",
    "refused": "#292a2b",
    "rate_limited": "#6b6b6b",
    "timeout": "#a3a3a3",
    "other": "#cbd1dc",
}


def css_variables(theme: Theme) -> str:
    """Declare the colours of a theme as CSS variables, to be put into a rule.

    Examples
    --------
    >>> css_variables(DARK).splitlines()[0]
    '--xb-correct: #6cbbef;'
    """
    colours = {
        **theme.outcomes,
        **{item: f"var(--xb-{outcome})" for item, outcome in ITEMS.items()},
        **{f"s{step}": colour for step, colour in enumerate(theme.shades)},
        **theme.texts,
    }
    return "\n".join(f"--xb-{name}: {colour};" for name, colour in colours.items())


def ink_on(colour: str) -> str:
    """Return black or white, whichever has more contrast to a colour by WCAG 2: at least 4.58.

    Examples
    --------
    >>> ink_on("#ffffff"), ink_on("#225178")
    ('#000000', '#ffffff')
    """
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]  # noqa: PLR2004 - sRGB
    light = sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (light + 0.05) ** 2 >= 0.05 * 1.05 else "#ffffff"


def _tint(colour: str, share: float = 0.38) -> str:
    """Mix a colour with white."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)


def _essential() -> dict[str, str]:
    outcomes = dict(LIGHT.outcomes)
    outcomes |= {item: outcomes[outcome] for item, outcome in ITEMS.items()}
    shades = {
        f"xb-s{step}": f"background-color:{shade};color:{ink_on(shade)};text-align:center"
        for step, shade in enumerate(LIGHT.shades)
    }
    return {
        "td": "text-align:left",
        "th": "text-align:left",
        "ul": "list-style:none",
        "xb-num": "text-align:right",
        "xb-absent": "text-align:center",
        "xb-title": "font-weight:600",
        "xb-bar": "display:inline-block;min-width:48px;height:9px",
        "xb-part": "float:left;height:9px",
        "xb-mark": "font-weight:700",
        **{f"xb-{name}": f"background-color:{colour}" for name, colour in outcomes.items()},
        **{
            f"xb-t-{name}": f"background-color:{_tint(c)};color:#16181c"
            for name, c in outcomes.items()
        },
        **shades,
    }


#: Styles that a static fallback has in its elements, by tag and class, because notebooks that are
#: not trusted lose its style sheet. Colours are those of light pages.
ESSENTIAL: Mapping[str, str] = _essential()


def over_essential() -> str:
    """Write the rules that set the colours of a theme over those of `ESSENTIAL`."""
    names = [*LIGHT.outcomes, *ITEMS]
    rules = [f".xb-part.xb-{n} {{ background-color: var(--xb-{n}) !important; }}" for n in names]
    rules += [
        f".xb-t-{n} {{ background-color: color-mix(in srgb, var(--xb-{n}) 38%, var(--xb-page)) "
        "!important; color: var(--xb-ink) !important; }"
        for n in names
    ]
    for step in range(len(LIGHT.shades)):
        ink = "on-low" if step < _MIDDLE else "on-high" if step > _MIDDLE else "on-mid"
        rules.append(
            f".xb-s{step} {{ background-color: var(--xb-s{step}) !important; "
            f"color: var(--xb-{ink}) !important; }}"
        )
    centred = ".xb-heat thead th, .xb-heat .xb-means td:not(.xb-corner)"
    return "\n".join([*rules, f"{centred} {{ text-align: center !important; }}"])
