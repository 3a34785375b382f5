"""The vocabulary of the offline judge, read from ``lexicon.json`` when this module is imported."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from extractbench_nb.core.text.quantities import UNIT_NAMES

_DATA: dict[str, Any] = json.loads(
    (files("extractbench_nb.core.text") / "lexicon.json").read_text(encoding="utf-8")
)


def _words(name: str) -> frozenset[str]:
    return frozenset(" ".join(_DATA[name]).split())


def _variants(name: str) -> dict[str, str]:
    return {variant: word for word, found in _DATA[name].items() for variant in found.split()}


STOP_WORDS = _words("stop_words")
DROPPABLE = _words("droppable")
COPULAS = _words("copulas")
# A text with one of these words and numbers is an address.
ADDRESS_WORDS = _words("address_words")
# The number behind one of these is its own: Suite 210, 55 Elm Street.
DESIGNATORS = _words("designators")
# Words after which a changed order changes the meaning.
DIRECTIONAL = _words("directional")
# Where these stand for one another, giver and taker are exchanged.
GIVER_OR_TAKER = _words("giver_or_taker")
# Words after which 3.10 is the tenth part of 3, and not 3.1.
NUMBERED = _words("numbered")
NEGATIONS = _words("negations")
NEGATIVE_PREFIXES = tuple(" ".join(_DATA["negative_prefixes"]).split())

# Words that are one and the same wherever they stand, by the form they are kept in.
SYNONYMS = _variants("synonyms")
# Abbreviations with more than one reading; decided by the word on the other side.
AMBIGUOUS = {short: tuple(words.split()) for short, words in _DATA["ambiguous"].items()}
LEGAL_SUFFIXES = _variants("legal_suffixes")
# Phrases shortened before words are cut; lower case.
PHRASES: dict[str, str] = _DATA["phrases"]
ANTONYMS = frozenset(frozenset(pair.split("/")) for pair in _words("antonyms"))

# British endings and letters as patterns, and the American ones.
SPELLING: list[list[str]] = _DATA["spelling"]

# What may stand before a colon without being part of the value.
LABELS = _words("labels")
PHONE_LABELS = _words("phone_labels")
# What may stand before a code: Invoice No. 4711, ISSN 0028-0836.
ID_SCHEMES = _words("id_schemes")
ID_LABELS = _words("id_labels") | ID_SCHEMES

HONORIFICS = _words("honorifics")
MALE_TITLES = _words("male_titles")
FEMALE_TITLES = _words("female_titles")
DEGREES = _words("degrees")
GENERATIONS = _words("generations")
PARTICLES = _words("particles")
# A text with one of these words is not a person's name.
NOT_PERSONAL = _words("not_personal")

# Words that a venue's full name has and its acronym leaves out.
GENERIC_VENUE = _words("generic_venue")
# Universities that differ from their namesake with the words the other way round.
FIXED_ORDER = _words("fixed_order")

# Two texts mean the same if both stand in one row, as "ca|california". Rows of places come first.
PLACES: tuple[str, ...] = tuple(_DATA["places"])
PLACE_CODES = frozenset(
    name.upper() for row in PLACES for name in row.split("|") if len(name) in (2, 3)
)
ALIASES: tuple[str, ...] = (
    *PLACES,
    *_DATA["terms"],
    *("|".join(names) for names in UNIT_NAMES),
    *(f"{p}|{maker} {p}" for maker, found in _DATA["products"].items() for p in found.split()),
    *_DATA["cities"],
    *_DATA["universities"],
    *(f"{name}|{name} university|university of {name}" for name in _DATA["university_of"]),
    *(f"{name}|{name} university" for name in _DATA["university_names"]),
)
