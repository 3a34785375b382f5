"""Seeded edits of texts, by kind: those that change what a text means, and those that keep it.

The measure behind docs/explanation/validation.md. Each kind edits one place of a text; it is
applied to the gold texts of a dataset and to filled sentence frames. Texts are split into a half
that rules may be tuned on and a held-out half, by document and by frame.
"""
# ruff: noqa: PLR2004 - the numbers are those of dates, digits and cuts

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from judge_texts.frames import frame_texts

Edit = Callable[[str, Random], str | None]
Change = Callable[[re.Match[str], Random], str | None]
PASS = 0.7
TUNING, HELD_OUT = 0, 1


class Kind(NamedTuple):
    """One way to edit a text; `edit` returns None where it does not apply."""

    name: str
    keeps_meaning: bool
    edit: Edit


class Case(NamedTuple):
    """A text, its edited form, and where the text is from."""

    kind: Kind
    gold: str
    edited: str
    source: str


class Count(NamedTuple):
    """Wrong verdicts of one kind."""

    kind: Kind
    n: int
    wrong: list[Case]

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson interval of the share of wrong verdicts, 95 %."""
        return wilson(len(self.wrong), self.n)


def wilson(wrong: int, n: int) -> tuple[float, float]:
    """Wilson score interval of a share, 95 %; (0, 1) for n = 0."""
    if n == 0:
        return 0.0, 1.0
    z, share = 1.959964, wrong / n
    middle = share + z * z / (2 * n)
    spread = z * ((share * (1 - share) + z * z / (4 * n)) / n) ** 0.5
    return max(0.0, (middle - spread) / (1 + z * z / n)), (middle + spread) / (1 + z * z / n)


def one(pattern: str, change: Change, flags: int = 0) -> Edit:
    """Edit one match of a pattern, chosen at random."""
    compiled = re.compile(pattern, flags)

    def edit(text: str, rng: Random) -> str | None:
        matches = list(compiled.finditer(text))
        if len(matches) > 1:
            rng.shuffle(matches)
        for match in matches:
            new = change(match, rng)
            if new is not None and new != match[0]:
                return text[: match.start()] + new + text[match.end() :]
        return None

    return edit


def every(pattern: str, replacement: str | Callable[[re.Match[str]], str], flags: int = 0) -> Edit:
    """Edit every match of a pattern."""
    compiled = re.compile(pattern, flags)

    def edit(text: str, _: Random) -> str | None:
        edited = compiled.sub(replacement, text)
        return edited if edited != text else None

    return edit


def exchange(
    *groups: str, before: str = r"(?<!\w)", after: str = r"(?!\w)", flags: int = re.IGNORECASE
) -> Edit:
    """Exchange a word for another of its group; words of a group are separated by ``|``."""
    others = {
        word: [w for w in group.split("|") if w != word]
        for group in groups
        for word in group.split("|")
    }
    words = "|".join(re.escape(word) for word in sorted(others, key=len, reverse=True))

    def change(match: re.Match[str], rng: Random) -> str | None:
        found = match[0] if match[0] in others else match[0].lower()
        if found not in others:
            return None
        other = rng.choice(others[found])
        return other[:1].upper() + other[1:] if found != match[0] else other

    return one(f"{before}(?:{words}){after}", change, flags)


def first_of(*edits: Edit) -> Edit:
    """Apply one of several edits, in random order until one applies."""

    def edit(text: str, rng: Random) -> str | None:
        for candidate in rng.sample(edits, len(edits)):
            edited = candidate(text, rng)
            if edited is not None and edited != text:
                return edited
        return None

    return edit


def drop(_: re.Match[str], __: Random) -> str:
    return ""


def write(replacement: str) -> Change:
    return lambda match, _: match.expand(replacement)


# --- kinds that change the meaning -----------------------------------------------------------


def other_digit(match: re.Match[str], rng: Random) -> str:
    at = rng.randrange(len(match[0]))
    low = 1 if at == 0 else 0
    choices = [d for d in "0123456789"[low:] if d != match[0][at]]
    return match[0][:at] + rng.choice(choices) + match[0][at + 1 :]


def turned_digits(match: re.Match[str], rng: Random) -> str | None:
    text = match[0]
    places = [i for i in range(len(text) - 1) if text[i] != text[i + 1] and text[i + 1] != "0"]
    if not places:
        return None
    i = rng.choice(places)
    return text[:i] + text[i + 1] + text[i] + text[i + 2 :]


def other_letter(match: re.Match[str], rng: Random) -> str | None:
    places = [i for i, char in enumerate(match[0]) if char.isalpha()]
    at = rng.choice(places)
    pool = "BCDFGHKMPRTVWX" if match[0][at].isupper() else "bcdfghkmprtvwx"
    new = rng.choice([char for char in pool if char.lower() != match[0][at].lower()])
    return match[0][:at] + new + match[0][at + 1 :]


def other_initial(match: re.Match[str], rng: Random) -> str:
    return rng.choice([c for c in "BCDEFGHKLMNPRSTW" if c != match[1]]) + match[2]


def other_end(match: re.Match[str], rng: Random) -> str | None:
    start, end = match[1], match[3]
    if rng.random() < 0.5 and start != end:
        return f"{end}{match[2]}{start}"
    return f"{start}{match[2]}{int(end) + rng.randint(1, 30)}"


def swapped_day(match: re.Match[str], _: Random) -> str | None:
    first, second = match["first"], match["second"]
    if first == second or int(first) > 12 or int(second) > 12:
        return None
    return match[0].replace(f"{first}{match['sep']}{second}", f"{second}{match['sep']}{first}", 1)


def other_clock(match: re.Match[str], rng: Random) -> str:
    hour, minute = int(match[1]), int(match[2])
    if minute % 10 != minute // 10 and minute % 10 < 6 and rng.random() < 0.5:
        return f"{match[1]}:{minute % 10}{minute // 10}"
    return f"{match[1]}:{(minute + rng.randint(1, 59)) % 60:02d}" if hour else f"1:{match[2]}"


def cut(text: str, rng: Random) -> str | None:
    """Cut a text inside a sentence."""
    words = text.split()
    if len(words) < 5:
        return None
    size = rng.randint(len(words) * 2 // 5, len(words) - 2)
    kept, lost = " ".join(words[:size]), " ".join(words[size:])
    if LEGAL_FORMS.fullmatch(lost):
        return None
    return kept.rstrip(" ,;:-") if not kept.endswith((".", "!", "?", '"', "”", ")")) else None


def other_sign(match: re.Match[str], _: Random) -> str:
    return "-" if match[0] == "+" else "+"


def other_mark(match: re.Match[str], rng: Random) -> str | None:
    """Drop or exchange a mark between letters or digits."""
    places = [m.start() for m in re.finditer(r"(?<=\w)[._/-](?=\w)", match[0])]
    if not places:
        return None
    at = rng.choice(places)
    new = rng.choice([mark for mark in ("", "-", "_", ".") if mark != match[0][at]])
    return match[0][:at] + new + match[0][at + 1 :]


def dropped_number(match: re.Match[str], _: Random) -> str:
    return match[1]


LEGAL_FORMS = re.compile(
    r"(?:(?:national association|n\.a\.|company|inc\.|ltd\.)\W*)+", re.IGNORECASE
)
ORDINALS = "second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
FORMS = "Inc.|LLC|Ltd.|GmbH|AG|PLC|Corp.|L.P.|S.A.|B.V.|N.V."
UNITS = (
    "km|kg|m|mm|g",
    "m²|m³",
    "mg|ml",
    "days|weeks|months|years|hours",
    "kWh|kW",
    "°C|°F|K",
    "MHz|GHz",
    "mL|mg",
    "km/h|mph",
    "MPa|bar",
    "acres|hectares",
)
PREFIXES = (
    "mg|kg|µg|g",
    "km|mm|cm",
    "µm|mm|nm",
    "MW|kW|GW",
    "mW|kW",
    "MHz|kHz|GHz",
    "Mbps|Gbps|kbps",
    "MB/s|GB/s|kB/s",
    "MPa|kPa|GPa",
    "µL|mL",
    "kWh|MWh",
    "million|billion|thousand",
)
CASES = ("MW|mW", "Mbps|MBps", "MB/s|Mb/s", "MPa|mPa", "MHz|mHz", "MB|Mb", "GB|Gb", "MV|mV")
CASES_OF_CHEMISTRY = ("nM|nm", "mM|mm", "pM|pm", "mS|ms", "MA|mA", "MJ|mJ", "kb|kB")
SIDE = r"(?!(?:The|In|At|Of)\b)[A-Z]\w+"
AMOUNT = r"(?<![\w.,/:(-])(?:[$€£] ?)?\d[\d,]*\.\d+(?![\w.,/:)-]*\d)"
NUMBER = r"(?<![\[\d])\d+(?![\d\]])"
AFTER_NUMBER = r"(?:(?<=\d)|(?<=\d ))"

CHANGES = {
    "decimal point": first_of(
        one(r"(?<![\d.,])\d+\.\d+(?![.\d])", lambda m, _: m[0].replace(".", "")),
        one(r"(?<![\d.,])(\d+)\.(\d)(\d+)(?![.\d])", write(r"\1\2.\3")),
    ),
    "thousands": first_of(
        one(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,.])", lambda m, _: m[0] + ",000"),
        one(r"(?<![\d.,])(\d{1,3}),\d{3}(?![\d,.])", write(r"\1")),
        exchange("thousand|million|billion|trillion"),
    ),
    "sign": first_of(
        one(rf"(?<!\(EUR ){AMOUNT}", lambda m, _: "-" + m[0]),
        one(r"(?<![\w)-])-(?=[$€£]?\d)", drop),
    ),
    "parentheses": first_of(
        one(
            r"(?<!Python )(?<![\w.,/:(-])([$€£]?)(\d[\d,]*\.\d+)(?![\w.,/:%)-])(?! ?[%°])",
            write(r"\1(\2)"),
        ),
        one(r"\(((?:[A-Z]{3} )?[$€£]?\d[\d,]*\.\d+)\)", write(r"\1")),
    ),
    "comparator": first_of(
        exchange("<|>|=", "≤|≥|<|>", "±|+", before=r"(?<=\s)", after=""),
        one(r"[<>≤≥±] ?(?=\d)", drop),
        exchange("at least|at most", "more than|less than", "up to|at least"),
    ),
    "unit": exchange(*UNITS, before=AFTER_NUMBER, after=r"(?![\w/²³])", flags=0),
    "unit prefix": exchange(*PREFIXES, before=AFTER_NUMBER, after=r"(?![\w²³])", flags=0),
    "unit case": exchange(*CASES, before=r"(?<=\d )", flags=0),
    "per unit": first_of(
        one(r"(?<=[a-zA-Z])/(?:kg|m²|m³|m|h|min|s|day|user|unit|share|L)(?!\w)", drop),
        one(r" per (?:share|unit|user|year|day|annum|month)(?!\w)", drop),
        exchange("per share|per unit|per user"),
    ),
    "ordinal": first_of(
        exchange(ORDINALS),
        one(
            r"(?<![\w.])(\d*)([2-9])(nd|rd|th)\b",
            lambda m, r: (
                m[1] + r.choice([e for e in ("1st", "2nd", "3rd", "4th", "5th") if e[0] != m[2]])
            ),
        ),
    ),
    "day and month": first_of(
        one(
            r"(?<![\d/.-])(?P<first>\d\d?)(?P<sep>[/-])(?P<second>\d\d?)(?P=sep)\d{4}(?!\d)",
            swapped_day,
        ),
        one(r"(?<!\d)\d{4}(?P<sep>-)(?P<first>\d\d)(?P=sep)(?P<second>\d\d)(?!\d)", swapped_day),
    ),
    "month": exchange(MONTHS),
    "year": one(
        r"(?<![\d\[.,/-])(19|20)\d\d(?![\d\].,/-]\d)",
        lambda m, r: str(int(m[0]) + r.choice((-10, -2, -1, 1, 2, 10))),
    ),
    "roles": first_of(
        one(r"(\w+)(: | - )([^:;,]+)([;,] )(\w+)\2([^:;,]+)$", write(r"\1\2\6\4\5\2\3")),
        one(r"([^(,]+)( \(\w+\), )([^(,]+)( \(\w+\))", write(r"\3\2\1\4")),
        one(
            r"^(.+)( acquired | guarantees the debts of | reports to | sued )(.+)$",
            write(r"\3\2\1"),
        ),
        one(
            r"\b([A-Z]\.) ([A-Z]\w+),? (and )?(?!\1)([A-Z]\.) ([A-Z]\w+)",
            lambda m, _: (
                m[0]
                .replace(f"{m[1]} {m[2]}", f"{m[4]} {m[2]}", 1)
                .replace(f"{m[4]} {m[5]}", f"{m[1]} {m[5]}", 1)
                if m[2] != m[5]
                else None
            ),
        ),
    ),
    "negation": first_of(
        one(
            r"\b(is|are|was|were|may|shall|will|can|could|does|should|must|has) (?!not\b)",
            write(r"\1 not "),
        ),
        one(r"\b(?:not|never) ", drop),
        exchange("with|without", "secured|unsecured", "any|no", after=r"(?![\w.])"),
    ),
    "quantifier": exchange(
        "all|some|no|most|few",
        "every|no",
        "each|neither",
        "both|neither",
        "many|few|all",
        "always|sometimes|never",
        "several|all",
    ),
    "digit": one(NUMBER, other_digit),
    "digits turned": one(NUMBER, turned_digits),
    "number left out": one(r"([A-Za-z]) \d+(?:\.\d+)?(?![\w.,%/)-])", dropped_number),
    "spaces between numbers": one(r"(?<![\d.,])(\d) (\d)(\d)(?![\d.,])", write(r"\1\2 \3")),
    "letter of a code": one(
        r"\b(?=\w*\d)(?=\w*[A-Z])(?:[A-Z]{1,3}-)?[A-Z0-9]{4,}[A-Z]?\b", other_letter
    ),
    "house number": first_of(
        one(r"(?<=[a-z] )(\d{1,3})(?![\w.,/%°-])(?=$|,)", lambda m, r: m[1] + r.choice("abc")),
        one(r"(?<=[a-z] )(\d{1,3})([ab])(?!\w)", lambda m, r: m[1] + r.choice(["", "c", "d"])),
    ),
    "version": first_of(
        one(
            r"(?<=Python )(\d)\.(\d)(\d?)(?![\w.])",
            lambda m, r: (
                f"{m[1]}.{m[2]}0"
                if m[3] == ""
                else f"{m[1]}.{m[2]}"
                if r.random() < 0.5
                else f"{m[1]}{m[2]}.{m[3]}"
            ),
        ),
        one(
            r"\b(v?\d+)\.(\d+)\.(\d+)\b",
            lambda m, r: r.choice(
                (
                    f"{m[1]}.{m[2]}",
                    f"{m[1]}.{m[2]}{m[3]}",
                    f"{m[1]}.{int(m[2]) + 1}.{m[3]}",
                    f"{m[1]}.{m[2]}.{m[3]}0",
                    f"{m[1]}.{m[2]}.{int(m[3]) + 1}",
                )
            ),
        ),
    ),
    "currency": first_of(
        exchange("$|€|£|¥", before="", after=r"(?= ?\(?\d)"),
        exchange("USD|EUR|GBP|CHF|CAD"),
        one(r"(?<![\w$])\$(?=\d)", lambda _, r: r.choice(("C$", "A$", "HK$"))),
    ),
    "percent and points": first_of(
        one(r"(?<=\d) ?%", lambda _, r: r.choice((" percentage points", "‰", ""))),
        exchange("percentage points|%|basis points", before=r"(?<=\d) ", after=r"(?!\w)"),
    ),
    "range end": one(
        r"(?<![\w.,/:-])(\d{2,4})( ?[-–] ?| to | and )(\d{2,4})(?![\w.,/:-]\d|\w)", other_end
    ),
    "dose": first_of(
        exchange("once|twice"),
        one(
            r"(?<![\d.,])(\d+)(?= ?(?:mg|mL|ml|µg|g)(?!\w))",
            lambda m, r: r.choice((m[1] + "0", m[1][0] + "." + (m[1][1:] or "5"))),
        ),
    ),
    "polarity": first_of(
        one(r"(?<=[A-Z0-9hH])[+-](?=[\s,;.)]|$)", lambda m, r: "-" if m[0] == "+" else "+"),
        exchange("positive|negative"),
    ),
    "initial": one(r"(?<![\w.])([A-Z])(\.)(?= ?[A-Z])", other_initial),
    "generation": first_of(
        exchange("Jr.|Sr.", after=""),
        one(r"(?<= )(?:Jr\.?|Sr\.?|III|II)(?=,|$)", lambda m, r: r.choice(("", "IV")) or None),
        one(r",? (?:Jr\.|Sr\.|III|II)(?=,|$)", drop),
    ),
    "company form": exchange(FORMS, after=r"(?=[\s,;]|$)"),
    "truncation": cut,
    "primes": one(
        r"(?<=\d)(?:['’′]|[\"”″])(?=\s|$| ?[-x])", lambda m, _: '"' if m[0] in "'’′" else "'"
    ),
    "degree": first_of(
        one(r"(?<=\d)°(?![CF\w])", lambda _, r: r.choice(("", "%", "'"))),
        one(r"(?<=\d) ?°[CF]", lambda m, _: m[0].translate({67: 70, 70: 67})),
    ),
    "minutes": first_of(
        one(r"(?<![\d:.])(\d{1,2}):(\d\d)(?![\d:.])", other_clock),
        exchange("AM|PM"),
    ),
    "time zone": exchange("EST|PST|CET|GMT"),
    "exponent": first_of(
        one(
            r"10\^(-?\d+)",
            lambda m, r: r.choice((f"10{m[1]}", f"10^{int(m[1]) + 1}", f"10^-{m[1]}")),
        ),
        one(
            r"(10⁻?)([³⁴⁵⁶⁷⁸⁹])",
            lambda m, r: r.choice(
                (
                    m[1] + "⁴⁵⁶⁷⁸⁹³"["³⁴⁵⁶⁷⁸⁹".index(m[2])],
                    "10" + ("" if "⁻" in m[1] else "⁻") + m[2],
                    "10" + str(unicodedata.digit(m[2])),
                )
            ),
        ),
        one(r"(\d)e-(\d)\b", lambda m, r: r.choice((f"{m[1]}e{m[2]}", f"{m[1]}e-{int(m[2]) + 1}"))),
    ),
    "fraction": first_of(
        one(
            r"(?<![\d/.])([1-9])/([1-9])(?![\d/])",
            lambda m, r: r.choice((f"{m[1]}/{(int(m[2]) % 9) + 1}", m[1] + m[2])),
        ),
        exchange("Two thirds|Two fifths|One third", "half|quarter|third"),
    ),
    "opposite": exchange(
        "increased|decreased",
        "gross|net",
        "long|short",
        "import|export",
        "lender|borrower",
        "higher|lower",
        "before|after",
        "more|less",
        "maximum|minimum",
        "first|last",
        "public|private",
        "north|south",
    ),
    "by, to or from": exchange("by|to|from", before=r"(?<=\w )", after=r"(?= [A-Z])"),
    "letter of an address": one(r"[\w.]+@[\w.]+|https?://\S+", other_letter),
    "sign after a word": first_of(
        one(r"(?<=[A-Za-z%])\+(?=\d)", lambda _, r: r.choice(("-", " "))),
        one(r"(?<=[A-Z]{3})-(?=\d)", write("+")),
    ),
    "sign as a value": first_of(
        one(r"(?<=\()[+-](?=\))|(?<=: )[+-]$", other_sign),
        one(r"(?<=[A-Z0-9])[+-](?=[A-Z][A-Za-z]*\d+[+-])", other_sign),
    ),
    "symbol": first_of(
        exchange("≠|=", "↑|↓", "→|←", "☑|☐", "★|☆", before="", after=""),
        one(r"[<>](?=[A-Z])", lambda m, _: "<" if m[0] == ">" else ">"),
        one(r"[<>≠↑↓☑☐☒](?= ?[A-Za-z])", drop),
    ),
    "unit case in chemistry": exchange(*CASES_OF_CHEMISTRY, before=AFTER_NUMBER, flags=0),
    "sides of a case or route": first_of(
        one(rf"({SIDE})( vs?\.? | [-–→>] ?)({SIDE})", write(r"\3\2\1")),
        one(r"(?<![\w-])([A-Z][a-z]+)-([A-Z][a-z]+)(?![\w-])", write(r"\2-\1")),
        one(r"\b([A-Z]{3})/([A-Z]{3})\b", write(r"\2/\1")),
    ),
    "leading zeros": first_of(
        one(r"(?<![\w.,:/+-])0+(?=\d{2,}(?![\w.,:/-]))", drop),
        one(r"(?<=[A-Z]-)0+(?=\d)", drop),
    ),
    "marks of an address": one(r"[\w.]+@[\w.]+|https?://\S+", other_mark),
    "place": exchange(
        "CA|GA|NY|TX|OH|WA", "Delaware|Ohio|Texas|Nevada", before=r"(?:(?<=, )|(?<=in ))"
    ),
}


def other_word(vocabulary: list[str]) -> Edit:
    """Exchange an ordinary word of at least five letters for one from another text."""

    def change(match: re.Match[str], rng: Random) -> str | None:
        other = rng.choice(vocabulary)
        return other if other[:3] != match[0][:3] and other[-3:] != match[0][-3:] else None

    return one(r"(?<![\w-])[a-z]{5,}(?![\w:-])", change)


def other_surname(vocabulary: list[str]) -> Edit:
    """Exchange a capitalised word after an initial or name for one from another text."""

    def change(match: re.Match[str], rng: Random) -> str | None:
        other = rng.choice(vocabulary)
        return other if other[:3].lower() != match[0][:3].lower() else None

    return one(r"(?<=\w\. )[A-Z][a-z]{3,}(?![\w-])|(?<=[a-z] )[A-Z][a-z]{4,}(?![\w-])", change)


# --- kinds that keep the meaning -------------------------------------------------------------


def both_ways(a: str, b: str, before: str = r"(?<!\w)", after: str = r"(?!\w)") -> Edit:
    return first_of(
        one(before + re.escape(a) + after, lambda _, __: b),
        one(before + re.escape(b) + after, lambda _, __: a),
    )


def full_width(match: re.Match[str]) -> str:
    return chr(ord(match[0]) + 0xFEE0)


def reformatted_date(match: re.Match[str], rng: Random) -> str:
    month, day, year = match[1], int(match[2]), match[3]
    number = MONTHS.split("|").index(month) + 1
    return rng.choice(
        (
            f"{year}-{number:02d}-{day:02d}",
            f"{day} {month} {year}",
            f"{month[:3]}. {day}, {year}",
            f"{day} {month[:3]} {year}",
        )
    )


def spelled_date(match: re.Match[str], rng: Random) -> str | None:
    number, day = int(match[2]), int(match[3])
    if not 1 <= number <= 12 or not 1 <= day <= 28:
        return None
    month = MONTHS.split("|")[number - 1]
    return rng.choice((f"{month} {day}, {match[1]}", f"{day} {month[:3]} {match[1]}"))


def to_afternoon(match: re.Match[str], _: Random) -> str | None:
    hour = int(match[1])
    return f"{hour - 12}:{match[2]} PM" if 12 < hour < 24 else None


def to_day(match: re.Match[str], _: Random) -> str:
    return f"{int(match[1]) + 12}:{match[2]}"


def last_first(text: str, _: Random) -> str | None:
    match = re.fullmatch(r"([A-Z][a-z]+|[A-Z]\.) ([A-Z][a-z]+)", text)
    return f"{match[2]}, {match[1]}" if match and match[1][-1:] != "s" else None


UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
LEGAL = (
    ("Inc.", "Incorporated"),
    ("Corp.", "Corporation"),
    ("Ltd.", "Limited"),
    ("Co.", "Company"),
    ("GmbH", "GMBH"),
    ("L.P.", "LP"),
    ("S.A.", "SA"),
    ("PLC", "plc"),
    ("LLC", "L.L.C."),
    ("B.V.", "BV"),
    ("N.A.", "National Association"),
)
SPELLED = (
    ("kg", "kilograms"),
    ("km", "kilometres"),
    ("mm", "millimeters"),
    ("%", "percent"),
    ("h", "hours"),
    ("g", "grams"),
    ("mg", "milligrams"),
    ("m", "metres"),
    ("weeks", "wks"),
    ("hours", "hrs"),
    ("months", "mos"),
)
STREETS = (
    ("Street", "St."),
    ("Avenue", "Ave."),
    ("Road", "Rd."),
    ("Boulevard", "Blvd."),
    ("Suite", "Ste."),
)
SPELLINGS = (
    ("Colour", "Color"),
    ("organisation", "organization"),
    ("labour", "labor"),
    ("Centre", "Center"),
    ("programme", "program"),
    ("analyse", "analyze"),
    ("behaviour", "behavior"),
)
NUMBER_WORDS = tuple(
    zip("2 3 4 5 6 7 8 9".split(), "two three four five six seven eight nine".split(), strict=True)
)
CASE_SENSITIVE = re.compile(
    r"\d ?(?:[kKMGTmuµ]?[WVBbAJNLlg]|[pnmµ][MS]|[MmGk](?:Pa|Hz|bps|b|B|W))(?:\b|/)|\bpH\b"
)
CASED = re.compile(r"[A-Za-z]")


def unless(pattern: re.Pattern[str], edit: Edit) -> Edit:
    return lambda text, rng: None if pattern.search(text) else edit(text, rng)


KEEPS = {
    "upper case": unless(CASE_SENSITIVE, lambda text, _: text.upper() if "ß" not in text else None),
    "lower case": unless(CASE_SENSITIVE, lambda text, _: text.lower()),
    "white space": first_of(
        every(r" ", "  "), one(r" ", lambda _, r: r.choice(("\n", "\t", "\u00a0", "\u2009")))
    ),
    "outer white space": lambda text, r: r.choice((f" {text}", f"{text} ", f"{text}\n")),
    "trailing period": lambda text, _: None if text[-1:] in ".!?\"'”’+-°" else text + ".",
    "comma left out": one(r"(?<=[a-z]),(?= [a-z])", drop),
    "period of an abbreviation": one(
        r"(?<=\b(?:Dr|Jr|Sr|St|Mr|vs|Co|Lt))\.|(?<=\b(?:Inc|Ltd|Mrs))\.|(?<=\bCorp)\.", drop
    ),
    "NFD": lambda text, _: unicodedata.normalize("NFD", text),
    "full width": every(r"[A-Za-z]", full_width),
    "soft hyphen": one(r"(?<=[a-z]{3})(?=[a-z]{3})", lambda _, __: "\u00ad"),
    "line break in a word": one(r"(?<=[a-z]{3})(?=[a-z]{3})", lambda _, __: "-\n"),
    "quotes": first_of(
        every(r'(?<![\d])"([^"]+)"', r"“\1”"),
        every("[“”]", '"'),
        every("’", "'"),
        every(r"(?<=[a-z])'(?=[a-z])", "’"),
        every(r"(?<!\w)'(\w+)'", r"‘\1’"),
    ),
    "dashes": first_of(
        every(r"(?<=\w) - (?=\w)", " – "), every("[–—]", "-"), every(r"(?<=\w)-(?=\w)", "\u2010")
    ),
    "hyphen of a compound": unless(
        re.compile(r"@|://|\w\.(?:com|org)"), one(r"(?<=[a-z]{3})-(?=[a-z]{3})", write(" "))
    ),
    "currency sign or code": first_of(
        one(r"(?<![\w$])\$ ?(?=\d)", write("USD ")),
        one(r"€ ?(?=\d)", lambda _, __: "EUR "),
        one(r"£ ?(?=\d)", lambda _, __: "GBP "),
        one(r"EUR (?=\d)", lambda _, __: "€"),
        one(r"USD (?=\d)", lambda _, __: "$"),
        one(r"(?<![\w.,])EUR(?!\w)", lambda _, __: "€"),
    ),
    "unit spelled out": first_of(
        *(both_ways(a, b, r"(?<=\d )", r"(?![\w/²³-])") for a, b in SPELLED)
    ),
    "unit alone": lambda text, _: dict(
        [*SPELLED, *((b, a) for a, b in SPELLED), ("€", "EUR"), ("EUR", "€"), ("min", "minutes")]
    ).get(text),
    "superscript": every("(?<=[A-Za-z])[²³]", lambda m: str(unicodedata.digit(m[0]))),
    "percent": first_of(
        one(r"(?<=\d)%(?!\w)", write(" %")), one(r"(?<=\d) ?%(?!\w)", write(" per cent"))
    ),
    "clock": first_of(
        one(r"(?<![\d:.])(\d\d):(\d\d)(?![\d:.]| ?[AaPp]\.?[Mm])", to_afternoon),
        one(r"(?<![\d:.])([1-9]|1[01]):(\d\d) PM", to_day),
        every(r"(?<=\d) PM\b", " p.m."),
    ),
    "umlaut": every("[äöüÄÖÜß]", lambda m: UMLAUTS[m[0]]),
    "diacritics": every(
        "[À-ÿ]", lambda m: unicodedata.normalize("NFD", m[0])[0] if m[0] not in "ßæøðþ÷×" else m[0]
    ),
    "ligatures": first_of(every("ffi", "ﬃ"), every("fl", "ﬂ"), every("fi", "ﬁ"), every("ff", "ﬀ")),
    "legal form": first_of(*(both_ways(a, b, after=r"(?=[\s,;)]|$)") for a, b in LEGAL)),
    "and": first_of(one(r"(?<=\w) and (?=\w)", write(" & ")), one(r" & ", write(" and "))),
    "date format": first_of(
        one(rf"(?<![-–])(?<![-–] )({MONTHS}) (\d\d?), (\d{{4}})", reformatted_date),
        one(r"(?<![\d.-])(\d{4})-(\d\d)-(\d\d)(?![\d.T-])", spelled_date),
    ),
    "thousands separator": first_of(
        one(r"(?<![\d.,])(\d{1,3}),(\d{3})(?![\d,.])", write(r"\1\2")),
        one(r"(?<![\d.,])(\d{1,3}),(\d{3})(?![\d,.])", write(r"\1 \2")),
    ),
    "scale": first_of(
        one(r"([$€£])(\d+)\.(\d) million", lambda m, _: f"{m[1]}{m[2]},{m[3]}00,000"),
        one(r"([$€£]\d+(?:\.\d)?) million", write(r"\1m")),
        one(r"([$€£]\d+(?:\.\d)?) billion", write(r"\1bn")),
    ),
    "number word": first_of(
        *(both_ways(a, b, r"(?<![\w.,:$€£^-])", r"(?= [a-z]{4})") for a, b in NUMBER_WORDS)
    ),
    "last name first": last_first,
    "list order": first_of(
        one(r"^([A-Z][a-z]+), ([A-Z][a-z]+), ([A-Z][a-z]+)$", write(r"\3, \1, \2")),
        one(r"^([A-Z][a-z]+) and ([A-Z][a-z]+)$", write(r"\2 and \1")),
        one(r"^([A-Z][a-z]+), ([A-Z][a-z]+)$", write(r"\2, \1")),
    ),
    "honorific": one(r"^(?:Dr|Prof)\. (?=[A-Z]\w+ [A-Z]\w+$)", drop),
    "street": first_of(*(both_ways(a, b, after=r"(?=[\s,;]|$)") for a, b in STREETS)),
    "state": first_of(
        both_ways("NY", "New York", r"(?<=, )"),
        both_ways("CA", "California", r"(?<=, )"),
        both_ways("TX", "Texas", r"(?<=, )"),
        both_ways("OH", "Ohio", r"(?<=, )"),
    ),
    "address form": first_of(
        one(r"https://", write("http://")),
        one(r"https?://(?=\S+\.(?:com|org|net|edu|io|example)(?:/|$))", drop),
        one(r"https?://(?!www)", write("https://www.")),
        one(r"(https?://[\w./-]+\w)$", write(r"\1/")),
    ),
    "contraction": first_of(
        one(r"\bcan't\b", write("cannot")),
        one(r"\b(do|does|did|is|are|was|has)n't\b", write(r"\1 not")),
        one(r"\b(does|did|is|are|was) not\b", write(r"\1n't")),
    ),
    "versus": first_of(
        one(r" vs\. ", lambda _, r: r.choice((" v. ", " vs ", " versus "))),
        one(r" v\. (?=[A-Z])", lambda _, r: r.choice((" vs. ", " vs ", " versus "))),
    ),
    "power of ten": first_of(
        one(r"(\d+(?:\.\d+)?)e-(\d)\b", lambda m, _: f"{float(m[1]) / 10 ** int(m[2]):.12f}"),
        one(r"(?<![\w.])10\^(\d)(?!\d)", lambda m, _: f"{10 ** int(m[1]):,}"),
    ),
    "spelling": first_of(*(both_ways(a, b) for a, b in SPELLINGS)),
    "ordinal": first_of(
        both_ways("second", "2nd"), both_ways("third", "3rd"), both_ways("fifth", "5th")
    ),
}


# --- texts and cases -------------------------------------------------------------------------


def gold_strings(folder: Path, half: int) -> list[str]:
    """Read the distinct strings of the gold files of one half; documents are split by name."""
    found: set[str] = set()
    for path in sorted(folder.rglob("*.gold.json")):
        texts = _strings(json.loads(path.read_text(encoding="utf-8")))
        found.update(text for text in texts if _half_of(path.name, text) == half)
    return sorted(text for text in found if 2 <= len(text) <= 2_000 and text.strip())


def _half_of(document: str, text: str) -> int:
    """Hold out a quarter of the documents, and half of the texts of another quarter."""
    quarter = hashlib.sha256(document.encode()).digest()[0] % 4
    if quarter == 3:
        quarter = hashlib.sha256(text.encode()).digest()[0] % 2
    return HELD_OUT if quarter == 1 else TUNING


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def kinds(texts: list[str]) -> list[Kind]:
    """Return all kinds; words to exchange are taken from `texts`."""
    words = sorted({w for text in texts for w in re.findall(r"(?<![\w-])[a-z]{5,}(?![\w-])", text)})
    names = sorted({w for text in texts for w in re.findall(r"(?<=\w\. )[A-Z][a-z]{3,}\b", text)})
    changes = CHANGES | {"word": other_word(words), "name": other_surname(names)}
    units = sorted({u for pair in SPELLED for u in pair})
    return [Kind(n, False, e) for n, e in changes.items()] + [
        Kind(n, True, e) for n, e in KEEPS.items() if n != "unit alone" or units
    ]


def make_cases(folders: dict[str, Path], half: int, seed: int, per_kind: int) -> list[Case]:
    """Edit texts of one half: up to `per_kind` cases of each kind from each kind of source."""
    frames = frame_texts(half, seed, min(per_kind, 300))
    frames += sorted({u for pair in SPELLED for u in pair} | {"€", "EUR", "min", "minutes"})
    sources = {name: gold_strings(folder, half) for name, folder in folders.items()}
    gold = [(text, name) for name, texts in sources.items() for text in texts]
    cases: list[Case] = []
    for kind in kinds([text for text, _ in gold] + frames):
        for texts in (gold, [(text, "frames") for text in frames]):
            rng = Random(f"{seed} {kind.name}")
            cases += _some_cases(kind, texts, rng, per_kind)
    return cases


def _some_cases(
    kind: Kind, texts: list[tuple[str, str]], rng: Random, per_kind: int
) -> Iterator[Case]:
    left = per_kind
    for text, source in rng.sample(texts, len(texts)):
        edited = kind.edit(text, rng)
        if edited is not None and edited != text and edited.strip():
            yield Case(kind, text, edited, source)
            left -= 1
        if left == 0:
            return


def count_errors(judge: Any, cases: list[Case]) -> list[Count]:
    """Judge all cases; one row per kind."""
    counts: dict[str, Count] = {}
    for case in cases:
        name = f"{case.kind.name} {case.kind.keeps_meaning}"
        n, wrong = counts[name][1:] if name in counts else (0, [])
        passed = judge.compare(case.gold, case.edited).score >= PASS
        if passed != case.kind.keeps_meaning:
            wrong.append(case)
        counts[name] = Count(case.kind, n + 1, wrong)
    return list(counts.values())
