"""Sentence frames with seeded fillers, for what the texts of a dataset do not contain.

Rules are tuned on `tuning.txt`; `held_out.txt` was written after them. Fillers are
split too, those with an odd position are held out: the halves share no sentence and no name.
"""

from __future__ import annotations

import string
from pathlib import Path
from random import Random

FRAMES = tuple(
    (Path(__file__).parent / f"{half}.txt").read_text("utf-8").splitlines()
    for half in ("tuning", "held_out")
)

_NAMES = """
Clara Martin Elena Joseph Ruth Walter Irene Gordon Paula Dennis Nadia Oscar Judith Victor Helen
Norman Alice Leonard Sylvia Arthur
""".split()
_SURNAMES = """
Hopkins Garland Whitfield Marsh Preston Talbot Winslow Carver Delgado Foster Granger Holloway
Kessler Lambert Mercer Osborne Quigley Rowland Sterling Thackeray
""".split()
_CITIES = """
Dover Ashford Lincoln Camden Bristol Norwich Salem Trenton Oxford Windsor Dalton Fairview Harlow
Kendal Milton Preston Ripon Selby Tamworth Wells
""".split()
_FIRMS = """
Northgate Brightwater Ironbridge Larkspur Redstone Silverlake Oakhurst Pinecrest Stonefield
Summit Harborview Westbrook Eastmoor Granite Meridian Cobalt Juniper Falcon Orchard Beacon
""".split()
_TRADES = "Capital Foods Logistics Energy Textiles Mining Software Bank".split()
_FORMS = ("Inc.", "LLC", "Ltd.", "GmbH", "AG", "PLC", "Corp.", "L.P.", "S.A.", "B.V.")
_SUBSTANCES = """
copper barley timber cement cotton nickel paper rubber zinc wheat glass resin sugar silicon wool
cobalt
""".split()
_WORDS = "maple harbor willow summit orchard garden chapel meadow valley forest".split()
_LANGUAGES = "French Spanish Danish Polish Korean Arabic Turkish Czech Hindi Greek".split()
_STREETS = """
Station Street|Mill Lane|Park Road|Church Street|Queen Avenue|King Street|Garden Lane|High Road
""".strip().split("|")  # fmt: skip
_UMLAUTS = """
Müller Söhne Schröder Jäger Köhler Böttcher Krämer Schäfer Günther Lübke Grünwald Dörfler
""".split()
_ACCENTS = "José René Zoë Hélène François André Núñez Peña Fermín Anaïs Noémie Tomás".split()
_ORDINALS = "second third fourth fifth sixth seventh eighth ninth tenth".split()
_MONTHS = """
January February March April May June July August September October November December
""".split()
_SUPERSCRIPTS = "³⁴⁵⁶⁷⁸⁹"


def fill(frame: str, rng: Random, half: int) -> str:
    """Fill the fields of a frame with the names of one half and with random numbers."""
    fields = {name for _, name, _, _ in string.Formatter().parse(frame) if name}
    values = _names(rng, half) | _numbers(rng) | _dates(rng) | _codes(rng)
    return frame.format(**{name: values[name] for name in fields})


def frame_texts(half: int, seed: int, count: int) -> list[str]:
    """Fill each frame of one half up to `count` times; 0 for tuning, 1 held out."""
    rng = Random(f"{seed} {half}")
    return sorted({fill(frame, rng, half) for frame in FRAMES[half] for _ in range(count)})


def _names(rng: Random, half: int) -> dict[str, str]:
    def pick(words: list[str] | tuple[str, ...], count: int = 1) -> list[str]:
        return rng.sample(words[half::2], count)

    first, first2 = pick(_NAMES, 2)
    last, last2 = pick(_SURNAMES, 2)
    firm, firm2 = pick(_FIRMS, 2)
    city, city2, city3 = pick(_CITIES, 3)
    umlaut, umlaut2 = pick(_UMLAUTS, 2)
    accent, accent2 = pick(_ACCENTS, 2)
    language, language2 = pick(_LANGUAGES, 2)
    form, form2 = rng.sample(_FORMS, 2)
    trade, trade2 = rng.choice(_TRADES), rng.choice(_TRADES)
    word = pick(_WORDS)[0]
    initial, initial2 = rng.sample("BCDEFGHKLMNPRSTW", 2)
    return {
        "person": f"{first} {last}", "person2": f"{first2} {last2}", "surname": last,
        "surname2": last2, "initial": initial, "initial2": initial2,
        "firm": f"{firm} {trade} {form}", "firm2": f"{firm2} {trade2} {form2}",
        "city": city, "city2": city2, "city3": city3, "umlaut": umlaut, "umlaut2": umlaut2,
        "accent": accent, "accent2": accent2, "language": language, "language2": language2,
        "substance": pick(_SUBSTANCES)[0], "word": word.title(), "street": pick(_STREETS)[0],
        "email": f"{first.lower()}.{last.lower()}@{word}.org", "domain": f"{word}.org",
    }  # fmt: skip


def _numbers(rng: Random) -> dict[str, str]:
    digit, digit2 = rng.sample(range(2, 10), 2)
    start = rng.randint(110, 900)
    return {
        "price": f"{rng.randint(1, 99)}.{rng.randint(11, 99)}",
        "decimal": f"{rng.randint(11, 99)}.{rng.randint(1, 9)}",
        "tenth": f"{rng.randint(1, 19)}.{rng.randint(1, 9)}",
        "thousands": f"{rng.randint(2, 99)},{rng.randint(101, 999)}",
        "thousands2": f"{rng.randint(2, 99)},{rng.randint(101, 999)}",
        "digit": str(digit), "digit2": str(digit2), "count": str(rng.randint(2, 9)),
        "tens": str(rng.randint(12, 49)), "nineties": str(rng.randint(61, 99)),
        "hundreds": str(start), "hundreds2": str(start + rng.randint(5, 60)),
        "ordinal": rng.choice(_ORDINALS),
        "nth": rng.choice("2nd 3rd 4th 5th 6th 7th 8th 9th 11th 12th 21st 22nd 23rd".split()),
        "sup": rng.choice(_SUPERSCRIPTS),
    }  # fmt: skip


def _dates(rng: Random) -> dict[str, str]:
    year, month, day = rng.randint(1990, 2024), rng.randint(1, 12), rng.randint(1, 28)
    low, high = sorted(rng.sample(range(1, 13), 2))
    hour, minute = rng.randint(13, 23), rng.randint(10, 59)
    return {
        "year": str(year), "month": _MONTHS[month - 1],
        "slashdate": f"{low:02d}/{high:02d}/{year}", "iso": f"{year}-{month:02d}-{day:02d}",
        "longdate": f"{_MONTHS[month - 1]} {day}, {year}", "clock": f"{hour}:{minute}",
        "ampm": f"{hour - 12}:{minute} PM",
    }  # fmt: skip


def _codes(rng: Random) -> dict[str, str]:
    def letters(count: int) -> str:
        return "".join(rng.choice("BCDFGHKMPRTVWX") for _ in range(count))

    return {
        "code": f"{letters(2)}-{rng.randint(1000, 9999)}{letters(1)}",
        "code2": f"{letters(1)}{rng.randint(100, 999)}{letters(2)}",
        "version": f"{rng.randint(1, 9)}.{rng.randint(0, 19)}.{rng.randint(1, 19)}",
    }
