"""Checks of one gold document: against its schema, within itself, and against its PDF."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from extractbench_nb.core import leaves, resolve_union, undeclared, violations
from extractbench_nb.core.schema import MISSING, Node, Schema
from extractbench_nb.core.text import Date, abbreviates, parse_date
from extractbench_nb.core.values import bracketed, canonical, json_text, json_type, member
from extractbench_nb.pdf import PdfText, covered, nearest_passage, squash, tidy, words_of
from extractbench_nb.support.folding import fold, is_placeholder, normalize, unify


class Finding(NamedTuple):
    """A possible error, as a check yields it; `page` of the PDF has the suggestion."""

    path: str
    field: str
    kind: str
    message: str
    value: Any = None
    suggestion: str | None = None
    page: int | None = None


class Place(NamedTuple):
    """One value of a document: ``$.a[2].b`` of field ``a[].b``, its node if the schema has one.

    `parent` is the object or array that contains it, and `key` its key or index there.
    """

    path: str
    field: str
    node: Node | None
    value: Any
    parent: Any = None
    key: str | int | None = None

    @property
    def definition(self) -> str:
        """An id shared by values of one meaning: the JSON Pointer in the schema, or the key."""
        return self.name if self.node is None else f"#{self.node.pointer}"

    @property
    def name(self) -> str:
        """The last key of the path; indices are not keys."""
        return self.field.removesuffix("[]").rsplit(".", 1)[-1]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The node and its branches."""
        return () if self.node is None else (self.node, *self.node.children.branches)

    def item(self, index: int, value: Any, node: Node | None = None) -> Place:
        """Return the place of an array's item."""
        return Place(f"{self.path}[{index}]", f"{self.field}[]", node, value, self.value, index)

    def finding(self, kind: str, message: str, suggestion: str | None = None) -> Finding:
        """Make a finding about this value."""
        return Finding(self.path, self.field, kind, message, self.value, suggestion)

    def members(self) -> Iterator[Place]:
        """Yield the places of an object's values or an array's items."""
        node = self.node
        if node is not None and node.kind == "union":
            node = resolve_union(node, self.value, MISSING)
        if isinstance(self.value, list):
            array = node if node is not None and node.kind == "array" else None
            for index, item in enumerate(self.value):
                yield self.item(index, item, None if array is None else array.item(index))
        for key, value in self.value.items() if isinstance(self.value, dict) else ():
            name = str(key)
            child, step, inner = None, member(name), member(name)
            if node is not None and name in node.children.properties:
                child = node.children.properties[name]
                step = inner = child.step
            elif node is not None and (node.flattened or node.children.entry(name) is not None):
                child, step, inner = node.children.entry(name), bracketed(name), ".*"
            field = (self.field + inner).removeprefix(".")
            yield Place(self.path + step, field, child, value, self.value, name)


@dataclass(frozen=True)
class Subject:
    """A document to be audited, and the text of its PDF if there is one."""

    schema: Schema
    gold: Any
    pdf: PdfText | None = None

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """All values in order, containers before their members."""
        stack, found = [Place("$", "", self.schema.root, self.gold)], []
        while stack:
            found.append(stack.pop())
            stack.extend(reversed(list(found[-1].members())))
        return tuple(found)

    def texts(self) -> Iterator[Place]:
        """Yield the texts that are not blank."""
        return (p for p in self.places if isinstance(p.value, str) and p.value.strip())

    def arrays(self) -> Iterator[Place]:
        """Yield the arrays."""
        return (place for place in self.places if isinstance(place.value, list))


def _shown(texts: Sequence[str]) -> str:
    """Quote the first three texts, and say how many more there are."""
    quoted = ", ".join(repr(text) for text in texts[:3])
    return quoted + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")  # noqa: PLR2004


# --- against the schema -----------------------------------------------------------------------


def find_violations(subject: Subject) -> Iterator[Finding]:
    """Find violations of the schema; wrong types have a kind of their own."""
    places = {place.path: place for place in subject.places}
    for path, keyword, message, value in violations(subject.schema, subject.gold):
        place = places.get(path)
        field, node = (place.field, place.node) if place is not None else ("", None)
        type_ = json_type(value)
        if keyword not in ("type", "anyOf", "oneOf") or node is None or type_ in node.types:
            yield Finding(path, field, "schema_violation", message, value)
            continue
        wants_object = "object" in node.types and not node.types & {"string", "array"}
        kind = "text_for_object" if isinstance(value, str) and wants_object else "wrong_type"
        as_text = f'"{value}"' if type_ == "number" and "string" in node.types else None
        yield Finding(path, field, kind, f"{type_}; expected {node.label}", value, as_text)


#: Keys with the running number of an item.
_INDEX_KEYS = frozenset(("array_index", "index"))


def find_undeclared(subject: Subject) -> Iterator[Finding]:
    """Find keys that the schema does not declare; keys below them are not reported.

    A key that contains the item's own index is reported once for all items of the array.
    """
    paths = {"$" + p.path for p in undeclared(subject.schema.root, subject.gold, subject.gold)}
    index_keys: dict[str, list[Place]] = defaultdict(list)
    for place in subject.places:
        if place.path not in paths:
            continue
        index = re.search(r"\[(\d+)\]\.\w+\Z", place.path) if place.key in _INDEX_KEYS else None
        # counted from 0 or from 1
        if index and type(place.value) is int and place.value - int(index[1]) in (0, 1):
            index_keys[place.field].append(place)
        else:
            yield place.finding("undeclared_key", "the schema does not declare this key")
    for places in index_keys.values():
        message = f"{len(places)} items carry their own index, which the schema does not declare"
        yield places[0].finding("item_index", message)


def find_empty_required(subject: Subject) -> Iterator[Finding]:
    """Find required keys whose value is empty: ``""``, blanks, ``[]``, ``{}``.

    A null is not reported: it is a violation if the schema forbids it, and a value otherwise.
    """
    for place in subject.places:
        value = place.value.strip() if isinstance(place.value, str) else place.value
        if place.node is not None and place.node.required and value in ("", [], {}):
            yield place.finding("empty_required", f"required, but an empty {json_type(value)}")


# --- placeholders and items -------------------------------------------------------------------

_QUOTED = re.compile(r"['\"‘“`]([^'\"’”`]{1,20})['\"’”`]")
_MIN_SHARED = 3


def find_placeholders(subject: Subject) -> Iterator[Finding]:
    """Find placeholders of absent values (``NA``, ``-``, ...) that the schema does not list.

    A schema lists a word as default, constant or example, or in quotes in the description.
    """
    for place in subject.texts():
        if not is_placeholder(place.value):
            continue
        listed: list[object] = []
        for part in place.parts:
            for name in ("default", "const", "enum", "examples"):
                value = part.keywords.get(name)
                listed += value if isinstance(value, list) else [value]
            listed += _QUOTED.findall(part.description or "")
        if fold(place.value) not in {fold(word) for word in listed if isinstance(word, str)}:
            instead = None
            if isinstance(place.parent, list):
                instead = "an empty array" if len(place.parent) == 1 else "no such item"
            elif place.node is None or place.node.nullable:
                instead = "null"
            elif not place.node.required:
                instead = "no such key"
            message = f"{place.value!r} is a placeholder that the schema does not list"
            yield place.finding("placeholder", message, instead)


def find_duplicates(subject: Subject) -> Iterator[Finding]:
    """Find items that equal an earlier item of their array, or contradict it in one number.

    Case, spacing and punctuation do not count, nor do running numbers of items. Two objects
    contradict each other if they differ in one number alone and share three values or more.
    """
    for array in subject.arrays():
        first_index: dict[Any, int] = {}
        for index, item in enumerate(array.value):
            place = array.item(index, item)
            identity = _identity(item)
            if identity and identity in first_index:
                message = f"equals item {first_index[identity]} of the array"
                yield place.finding("duplicate_item", message)
                continue
            identities: dict[str, Any] = {}
            for name, value in item.items() if isinstance(item, dict) else ():
                if type(value) in (int, float) and name not in _INDEX_KEYS:
                    rest = _identity({k: v for k, v in item.items() if k != name})
                    if len(rest) >= _MIN_SHARED:
                        identities[name] = name, rest
            name = next((n for n, rest in identities.items() if rest in first_index), None)
            if name is not None:
                earlier = first_index[identities[name]]
                message = f"differs from item {earlier} of the array only in {name!r}"
                other = json_text(array.value[earlier][name])
                yield place.finding("contradicting_item", message, other)
            for key in (identity, *identities.values()):
                first_index.setdefault(key, index)


def _identity(item: Any) -> tuple[tuple[str, str], ...]:
    """Return the leaves of an item in a form that equal items share; empty for an empty item."""
    return tuple(
        sorted(
            (path, normalize(value) if isinstance(value, str) else canonical(value))
            for path, value in leaves(item)
            if path.rsplit(".", 1)[-1] not in _INDEX_KEYS
        )
    )


# --- words and dates --------------------------------------------------------------------------

_CUT = re.compile(r"\b([^\W\d_]{2,})-(?:[ \t]+([^\W\d_A-Z][^\W\d_]+)|\r?\n\s*(\w+))")
_SUSPENDED = frozenset(("and", "or", "to", "und", "oder", "et", "ou", "as", "vs", "the", "then"))
_MIN_JOINED = 6


def find_broken_words(subject: Subject) -> Iterator[Finding]:
    """Find words that were cut in two at a hyphen or a space, as at the end of a line."""
    pdf = subject.pdf
    vocabulary = Counter(word for place in subject.texts() for word in words_of(place.value))
    vocabulary += pdf.counts if pdf is not None else Counter()

    def rejoined(cut: re.Match[str]) -> str:
        """Join a word that was cut at a hyphen; keep the hyphen if its parts occur as words."""
        first, second = cut[1], cut[2] or cut[3]
        begin, end = first.casefold(), second.casefold()
        if end in _SUSPENDED:
            return cut[0]
        is_compound = min(vocabulary[begin], vocabulary[end]) > 1 and not vocabulary[begin + end]
        return f"{first}-{second}" if is_compound else first + second

    for place in subject.texts():
        cuts = [m for m in _CUT.finditer(place.value) if (m[2] or m[3]).lower() not in _SUSPENDED]
        if cuts:
            message = f"cut in two: {_shown([' '.join(cut[0].split()) for cut in cuts])}"
            yield place.finding("broken_word", message, _CUT.sub(rejoined, place.value))
        elif pdf is not None:
            # neighbouring words that the PDF has as one word, and not both as separate words
            pairs = pairwise(unify(place.value).casefold().split())
            torn = [
                pair
                for pair in pairs
                if len(joined := "".join(pair)) >= _MIN_JOINED
                and joined.isalpha()
                and joined in pdf.counts
                and not all(pdf.counts[word] for word in pair)
            ]
            if torn:
                message = f"torn apart: {_shown([' '.join(pair) for pair in torn])}"
                yield place.finding("broken_word", message, ", ".join(map("".join, torn[:3])))


_ASKED = re.compile(r"\bYYYY(?:-MM(?:-DD)?)?(?![\w-])")
_SHAPES = {"YYYY-MM-DD": r"\d{4}-\d\d-\d\d", "YYYY-MM": r"\d{4}-\d\d", "YYYY": r"\d{4}"}
_DATE_NAME = re.compile(
    r"date|_on$|_at$|(?:^|_)(?:day|birthday|dob|deadline|expiry)(?:_|$)", re.IGNORECASE
)
_ALL_DIGITS = re.compile(r"\d{1,4}([-/.])\d{1,4}\1\d{1,4}(?:[T ].*)?")
_WORDED = re.compile(r"(?:\d{1,2}(?:st|nd|rd|th)?\s+([a-z]+)\.?,?\s+\d{4}|([a-z]+)\.?\s+\d{1,2}"
                     r"(?:st|nd|rd|th)?,?\s+\d{4})")  # fmt: skip
_LONGEST_DATE = 60


def find_date_faults(subject: Subject) -> Iterator[Finding]:
    """Find dates that are invalid, shifted by a time zone, or in another format than asked."""
    for place in subject.texts():
        if len(place.value) > _LONGEST_DATE:
            continue
        if (meant := Date.unshifted(place.value)) is not None:
            month = f"{meant:%Y-%m} or " if meant.day == 1 else ""
            message = "midnight in a time zone further east, written as the previous day"
            yield place.finding("shifted_date", message, f"{month}{meant:%Y-%m-%d}")
        elif _is_malformed(place):
            yield place.finding("malformed_date", "not a calendar date in a known format")
        elif parse_date(place.value) is not None:
            asked = _ASKED.findall(place.node.description or "") if place.node is not None else []
            if asked and not any(re.fullmatch(_SHAPES[f], place.value.strip()) for f in asked):
                message = f"the schema asks for {' or '.join(dict.fromkeys(asked))}"
                yield place.finding("odd_date_style", message, _iso(place.value))


def _is_malformed(place: Place) -> bool:
    """Whether a text in a date field has day, month and year, but is not a valid date."""
    if len(place.value) > _LONGEST_DATE or parse_date(place.value) is not None:
        return False
    format_ = place.node.keywords.get("format") if place.node is not None else None
    if not (format_ == "date" or _DATE_NAME.search(place.name)):
        return False
    text = fold(place.value).strip(" .,;")
    if worded := _WORDED.fullmatch(text):
        return parse_date(f"1 {worded[1] or worded[2]} 2000") is not None
    return bool(_ALL_DIGITS.fullmatch(text)) and max(map(len, re.findall(r"\d+", text))) > 2  # noqa: PLR2004 - a year


def _iso(text: str) -> str | None:
    date = parse_date(text)
    if date is None or date.swapped:
        return None
    return "-".join([f"{date.year:04}", *(f"{n:02}" for n in (date.month, date.day) if n)])


#: All checks but the look-up of values.
CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    find_violations,
    find_undeclared,
    find_empty_required,
    find_placeholders,
    find_duplicates,
    find_date_faults,
    find_broken_words,
)

# --- against the PDF --------------------------------------------------------------------------

_LARGE, _TOO_LARGE = 1e6, 1e18
_TABLE_SCALES = (1e-3, 1e-6)
_LONG_WORDS = 12
_MOSTLY = 0.75
_NEAR = 0.8
_SHORT_WORD = 3
_ABBREVIATED = 5
_SLIGHT = frozenset(("a", "an", "the", "and", "for", "from", "of", "on", "in"))
_DIGITS_TO_COMPARE = 4
_A_YEAR = 366
_ANNIVERSARY = frozenset(("anniversary", "anniversaries"))


def find_values(subject: Subject) -> Iterator[tuple[Place, Finding | None]]:
    """Look every value up in the PDF; None if it is found."""
    pdf = subject.pdf
    if pdf is not None:
        yield from ((p, _look_up(p, pdf)) for p in subject.places if _is_looked_up(p))


def _is_looked_up(place: Place) -> bool:
    """Whether a value can be expected in the text of the PDF."""
    value = place.value
    if any(key in part.keywords for part in place.parts for key in ("enum", "const", "pattern")):
        return False
    if isinstance(value, str):
        return bool(squash(value)) and not (is_placeholder(value) or _is_malformed(place))
    return type(value) in (int, float) and abs(value) < _TOO_LARGE and place.key not in _INDEX_KEYS


def _look_up(place: Place, pdf: PdfText) -> Finding | None:
    value = place.value
    if not isinstance(value, str):
        return _look_up_number(place, float(value), pdf)
    if pdf.has(squash(value)):
        return None
    meant = Date.unshifted(value)
    date_ = Date(meant.year, meant.month) if meant is not None else parse_date(value)
    if date_ is not None:
        return _look_up_date(place, date_, pdf)
    words = words_of(value)
    # papers write e-mail addresses in groups: {a,b}@c.org
    is_address = "@" in value and len(value.split()) == 1
    if is_address and all(word in pdf.places for word in words):
        return None
    return _look_up_text(place, words, pdf)


def _look_up_text(place: Place, words: list[str], pdf: PdfText) -> Finding | None:
    """Look for a long text in pieces, and for the words of a name, which may be apart."""
    is_long = len(words) >= _LONG_WORDS
    share, missing = covered(place.value, pdf) if is_long else (0.0, words)
    passage = nearest_passage(place.value, pdf) if missing else None
    if passage is not None:
        missing = _not_in([w for run in missing for w in run.split()], words_of(passage.around))
    if not missing:
        return None
    if passage is None and not is_long:
        return place.finding("not_in_pdf", "nothing similar in the PDF")
    is_near = share >= _MOSTLY or (passage is not None and passage.similarity >= _NEAR)
    unlike = _shown([run[:60] for run in missing])
    if not is_long and passage is not None:
        message = f"{unlike} not in the most similar text, on page {passage.page}"
    elif is_near:
        message = f"in the PDF except for {unlike}"
    else:
        message = f"{share:.0%} of its words are in the PDF, in sequences of four or more"
    finding = place.finding("unlike_pdf" if is_near else "not_in_pdf", message)
    if passage is not None:
        finding = finding._replace(suggestion=passage.text, page=passage.page)
    return finding


def _not_in(words: list[str], passage: list[str]) -> list[str]:
    """Return the words that a passage has in no form: whole, glued, abbreviated, as initials."""
    known, glued = set(passage), "".join(passage)
    initials = "".join(word[0] for word in passage if word not in _SLIGHT)

    def is_short_for(short: str, word: str) -> bool:
        """Whether it abbreviates a word: by its beginning, or by at most five of its letters."""
        is_brief = word.startswith(short) or len(short) <= _ABBREVIATED
        return is_brief and abbreviates(short, word)

    def has(word: str) -> bool:
        if word in known or word in _SLIGHT or (len(word) < _SHORT_WORD and word.isalpha()):
            return True
        if len(word) > _SHORT_WORD and word in glued:
            return True
        if len(word) >= _SHORT_WORD and word.removesuffix("s") in initials:
            return True
        return any(is_short_for(word, other) or is_short_for(other, word) for other in known)

    return [word for word in words if not has(word)]


def _look_up_number(place: Place, value: float, pdf: PdfText) -> Finding | None:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    sought = abs(value)
    scale: Any = place.parent.get("scale") if isinstance(place.parent, dict) else None
    usable = type(scale) in (int, float) and abs(scale) < _TOO_LARGE
    scaled = tidy(sought * scale) if usable else sought
    spellings = [sought, scaled]  # in full, in thousands or millions, in percent
    if sought >= _LARGE:
        spellings += [sought * factor for factor in _TABLE_SCALES]
    elif sought < 1:
        spellings.append(sought * 100)
    if value == pdf.pages or any(tidy(number) in pdf.numbers for number in spellings):
        return None
    if sought in pdf.quantities or scaled in pdf.quantities:
        return None
    digits = f"{sought:.12g}"
    near = None
    if len(re.sub(r"\D", "", digits)) >= _DIGITS_TO_COMPARE:
        # one digit changed, added or dropped, or two swapped
        numbers = [f"{number:.12g}" for number in pdf.numbers]
        near = process.extractOne(digits, numbers, scorer=OSA.distance, score_cutoff=1)
    if near is not None:
        message = "not in the PDF in any spelling; one of its numbers differs by a digit"
        return place.finding("unlike_pdf", message, str(near[0]))
    return place.finding("not_in_pdf", "not in the PDF in any spelling")


def _look_up_date(place: Place, sought: Date, pdf: PdfText) -> Finding | None:
    depth = {"year": 1, "month": 2, "day": 3}[sought.precision]
    wanted = {reading[:depth] for reading in sought.readings}
    if any(reading[:depth] in wanted for reading in pdf.dated):
        return None
    if sought.precision == "year" and float(sought.year) in pdf.numbers:
        return None
    near = None
    if sought.month is not None and sought.day is not None:
        days = [date(y, m, d) for y, m, d in pdf.dated if m is not None and d is not None]
        # a date may be calculated: a contract's third anniversary of another date
        same_day = any((day.month, day.day) == (sought.month, sought.day) for day in days)
        if same_day and _ANNIVERSARY & pdf.counts.keys():
            return None
        target = date(sought.year, sought.month, sought.day)
        nearest = min(days, key=lambda day: (abs(day - target), day), default=target)
        near = nearest.isoformat() if 0 < abs(nearest - target).days <= _A_YEAR else None
    return place.finding("not_in_pdf", "the PDF does not have this date", near)
