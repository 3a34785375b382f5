"""Checks of values and array items: wording, variants, placeholders, duplicates, split items."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from extractbench_nb._json import bracketed, canonical, json_text, member
from extractbench_nb.engine.pairing import leaves, resolve_union
from extractbench_nb.gold.findings import Finding
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.language.dates import parse_date
from extractbench_nb.language.text import fold, is_placeholder, normalize, unify
from extractbench_nb.pdf.text import PdfText, words_of
from extractbench_nb.schema.nodes import MISSING, Node, Schema

__all__ = [
    "INDEX_KEYS",
    "Place",
    "Subject",
    "find_duplicates",
    "find_placeholders",
    "find_split_items",
    "find_variants",
    "find_wording_faults",
    "walk",
]


class Place(NamedTuple):
    """One value of a document.

    Attributes
    ----------
    path, field : str
        Instance path, and the same without indices: ``$.a[2].b``, ``a[].b``.
    node : Node or None
        The schema node; None if the schema does not declare it.
    value : object
        The value.
    parent : object
        The object or array that holds it; None at the root.
    key : str or int or None
        Its key or index there.
    """

    path: str
    field: str
    node: Node | None
    value: Any
    parent: Any = None
    key: str | int | None = None

    @property
    def definition(self) -> str:
        """What values of one meaning share: the JSON Pointer of the schema, else the key."""
        return self.name if self.node is None else f"#{self.node.pointer}"

    @property
    def name(self) -> str:
        """The last key on the way here, indices left out."""
        return self.field.removesuffix("[]").rsplit(".", 1)[-1]

    def item(self, index: int, value: Any, node: Node | None = None) -> Place:
        """Return the place of an array's item."""
        return Place(f"{self.path}[{index}]", f"{self.field}[]", node, value, self.value, index)

    def finding(self, kind: str, message: str, suggestion: str | None = None) -> Finding:
        """Make a finding about the value here."""
        return Finding(self.path, self.field, kind, message, self.value, suggestion)

    @property
    def is_text(self) -> bool:
        """Whether the value is a text with something in it."""
        return isinstance(self.value, str) and bool(self.value.strip())


@dataclass(frozen=True)
class Subject:
    """One document under audit.

    Attributes
    ----------
    schema : Schema
        The parsed schema.
    gold : object
        The gold JSON.
    places : tuple of Place
        Every value in it, in document order.
    pdf : PdfText or None
        The PDF's text; None without a PDF or without text in it.
    """

    schema: Schema
    gold: Any
    places: tuple[Place, ...]
    pdf: PdfText | None = None

    def texts(self) -> Iterator[Place]:
        """Walk the text values."""
        return (place for place in self.places if place.is_text)


def walk(schema: Schema, document: Any) -> Iterator[Place]:
    """Walk all values of a document, containers before what they hold."""
    stack = [Place("$", "", schema.root, document)]
    while stack:
        place = stack.pop()
        yield place
        node = place.node
        if node is not None and node.kind == "union":
            node = resolve_union(node, place.value, MISSING)
        if isinstance(place.value, dict):
            stack.extend(reversed([_entry(place, node, k, v) for k, v in place.value.items()]))
        elif isinstance(place.value, list):
            items = enumerate(place.value)
            stack.extend(reversed([_item(place, node, i, v) for i, v in items]))


def _entry(place: Place, node: Node | None, key: Any, value: Any) -> Place:
    name = str(key)
    child, step, inner = None, member(name), member(name)
    if node is not None and name in node.children.properties:
        child = node.children.properties[name]
        step = inner = child.step
    elif node is not None and (node.flattened or node.children.entry(name) is not None):
        child, step, inner = node.children.entry(name), bracketed(name), ".*"
    field = (place.field + inner).removeprefix(".")
    return Place(place.path + step, field, child, value, place.value, name)


def _item(place: Place, node: Node | None, index: int, value: Any) -> Place:
    child = None
    if node is not None and node.kind == "array":
        prefix = node.children.prefix
        child = prefix[index] if index < len(prefix) else node.children.items
    return place.item(index, value, child)


_CUT = re.compile(r"\b([^\W\d_]{2,})-[ \t]+([^\W\d_A-Z][^\W\d_]+)|\b([^\W\d_]{2,})-\r?\n\s*(\w+)")
_SUSPENDED = frozenset(("and", "or", "to", "und", "oder", "et", "ou", "as", "vs", "the", "then"))
_BULLET = re.compile(r"[-*•·–]|\d+[.)]|\(?[a-z]{1,3}\)")
_LINKING = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "its", "of", "on", "or",
     "such", "that", "the", "their", "this", "to", "with", "which", "any", "each", "be", "is")
)  # fmt: skip
_MISSING_SPACE = re.compile(r"\b[a-z]{2,}[,;][A-Za-z][a-z]{2,}\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_LINK = re.compile(r"://|www\.|@|\.[a-z]{2,4}/", re.IGNORECASE)
_TAIL = re.compile(r"(?:[,;:&]+|(?<=[^\W\d_])-|(?<=\s)[.–—-]|(?<=\s)(?:and|or|&))\s*\Z")
_HEAD = re.compile(r"(?:[.&!?)\]](?!\w)|[•·▪●]|[,;:])\s*")
_SPACES = re.compile(r"\A\s|\s\Z|(?<=\S)[ \t\u00a0]{2,}(?=\S)")
_LONGEST_NAME = 120
_LONGEST_WORD = 60
_SHOWN = 40
_MIN_GLUED = 7
_MIN_PART = 2
_MIN_JOINED = 6


def find_wording_faults(subject: Subject) -> Iterator[Finding]:
    """Find words that PDF extraction cut or joined, line breaks, and debris at a text's ends."""
    vocabulary = _vocabulary(subject)
    for place in subject.texts():
        yield from _cut_words(place, subject.pdf, vocabulary)
        yield from _glued_words(place, subject.pdf)
        yield from _line_breaks(place)
        yield from _loose_ends(place)


def _vocabulary(subject: Subject) -> Counter[str]:
    """Count the words of the gold texts and of the PDF."""
    counts = Counter(word for place in subject.texts() for word in words_of(place.value))
    return counts + subject.pdf.counts if subject.pdf is not None else counts


def _cut_words(place: Place, pdf: PdfText | None, vocabulary: Counter[str]) -> Iterator[Finding]:
    found = [m for m in _CUT.finditer(place.value) if (m[2] or m[4]).lower() not in _SUSPENDED]
    if found:
        cut = [" ".join(m[0].split()) for m in found]
        better = _CUT.sub(lambda m: _rejoined(m, vocabulary), place.value)
        message = f"cut in two: {', '.join(map(repr, cut[:3]))}{_more(cut)}"
        yield place.finding("broken_word", message, better)
    elif pdf is not None and (pairs := list(_torn(place.value, pdf))):
        message = f"torn apart: {', '.join(repr(' '.join(p)) for p in pairs[:3])}{_more(pairs)}"
        better = ", ".join("".join(pair) for pair in pairs[:3])
        yield place.finding("broken_word", message, better)


def _more(found: Sequence[object]) -> str:
    return f" and {len(found) - 3} more" if len(found) > 3 else ""  # noqa: PLR2004 - shown above


def _rejoined(match: re.Match[str], vocabulary: Counter[str]) -> str:
    """Write a word that was cut at a hyphen as one, or as a compound of two that occur apart."""
    first, second = match[1] or match[3], match[2] or match[4]
    if second.lower() in _SUSPENDED:
        return match[0]
    one, two = first.casefold(), second.casefold()
    compound = min(vocabulary[one], vocabulary[two]) > 1 and not vocabulary[one + two]
    return f"{first}-{second}" if compound else first + second


def _torn(text: str, pdf: PdfText) -> Iterator[tuple[str, str]]:
    """Find two neighbours that the PDF has as one word, and never as words of their own."""
    parts = unify(text).casefold().split()
    for first, second in pairwise(parts):
        joined = first + second
        if len(joined) < _MIN_JOINED or not joined.isalpha() or joined not in pdf.counts:
            continue
        if not pdf.counts[first] or not pdf.counts[second]:
            yield first, second


def _glued_words(place: Place, pdf: PdfText | None) -> Iterator[Finding]:
    text = " ".join(part for part in place.value.split() if not _LINK.search(part))
    found = _MISSING_SPACE.findall(text)
    better = [re.sub(r"([,;])", r"\1 ", one) for one in found]
    if pdf is not None:
        words = dict.fromkeys(_LETTERS.findall(unify(text)))
        pairs = [pair for word in words if (pair := _unglue(word, pdf))]
        found += ["".join(pair) for pair in pairs]
        better += [" ".join(pair) for pair in pairs]
    if found:
        message = f"no space in {', '.join(map(repr, found[:3]))}{_more(found)}"
        near = ", ".join(better[:3])
        yield place.finding("glued_words", message, near)


def _unglue(word: str, pdf: PdfText) -> tuple[str, str] | None:
    """Part a word that the PDF does not have where the PDF has its two parts side by side.

    The second part begins with a capital, or both occur elsewhere in the PDF too.
    """
    folded = word.casefold()
    if (
        not _MIN_GLUED <= len(folded) <= _LONGEST_WORD
        or len(folded) != len(word)
        or folded in pdf.counts
    ):
        return None
    for i in range(_MIN_PART, len(word) - _MIN_PART + 1):
        pair = (folded[:i], folded[i:])
        together = pdf.pairs[pair]
        if not together:
            continue
        apart = min(pdf.counts[pair[0]], pdf.counts[pair[1]]) > together
        if apart or (word[i - 1].islower() and word[i].isupper()):
            return word[:i], word[i:]
    return None


def _line_breaks(place: Place) -> Iterator[Finding]:
    lines = [line.split() for line in place.value.splitlines()]
    ends = [(a[-1], b[0]) for a, b in pairwise(lines) if a and b]
    breaks = [(before, after) for before, after in ends if _is_within_sentence(before, after)]
    if breaks:
        count = f"{len(breaks)} line break{'s' if len(breaks) > 1 else ''}"
        before, after = breaks[0][0][-_SHOWN:], breaks[0][1][:_SHOWN]
        message = f"{count} inside a sentence, as between {before!r} and {after!r}"
        better = " ".join(place.value.split())
        yield place.finding("line_break", message, better)


def _is_within_sentence(before: str, after: str) -> bool:
    if _BULLET.fullmatch(after) or before.endswith("-"):
        return False
    linked = before.endswith(",") or before.lower() in _LINKING
    ended = before[-1] in ".:;!?"
    return linked or (after[0].islower() and not ended)


def _loose_ends(place: Place) -> Iterator[Finding]:
    text = place.value
    if _SPACES.search(text):
        better = " ".join(text.split())
        yield place.finding("stray_whitespace", "spaces at an end or doubled", better)
    bare = text.strip()
    if len(bare) > _LONGEST_NAME or "\n" in bare:
        return
    tail, head = _TAIL.search(bare), _HEAD.match(bare)
    if len(bare) > 1 and (tail or head):
        better = bare[head.end() if head else 0 : tail.start() if tail else len(bare)].strip()
        where = "ends" if tail else "begins"
        mark = (tail or head)[0].strip()  # type: ignore[index]
        message = f"{where} with {mark!r}"
        yield place.finding("trailing_punctuation", message, better)


_LONGEST_VARIANT = 80
_MIN_LETTERS = 4
_ALIKE = 88
_SAME = 0.7
_MIN_WORD = 6
_MOST_NAMES = 3_000
_MOST_PAIRS = 5_000
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d+")


def find_variants(subject: Subject) -> Iterator[Finding]:
    """Find names and short texts that the same document also spells otherwise.

    The rarer spelling is the finding, the more frequent one the suggestion; of equally frequent
    ones the first in the document is taken for right. Texts with different digits differ, and a
    spelling that the PDF has too is not a finding.
    """
    names: dict[str, list[Place]] = defaultdict(list)
    for place in subject.texts():
        if _is_name(place):
            names[" ".join(place.value.split())].append(place)
    usual = _usual_forms(names)
    for name, places in names.items():
        if (better := usual[normalize(name)]) != name and not _is_quoted(name, subject):
            yield from _told(places, "case_variant", better)
    for name, better in _respelt({form: len(names[form]) for form in usual.values()}):
        if not _is_quoted(name, subject):
            yield from _told(names[name], "spelling_variant", better)


def _is_quoted(name: str, subject: Subject) -> bool:
    """Say whether the PDF has the name in just this writing."""
    return subject.pdf is not None and unify(name) in subject.pdf.text


def _is_name(place: Place) -> bool:
    text = place.value
    if len(text) > _LONGEST_VARIANT or len(_LETTER.findall(text)) < _MIN_LETTERS:
        return False
    return parse_date(text) is None and "@" not in text and "://" not in text


def _usual_forms(names: dict[str, list[Place]]) -> dict[str, str]:
    """Choose the most frequent writing of each name, by its normalised form."""
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for name, places in names.items():
        forms[normalize(name)][name] += len(places)
    return {form: max(counts, key=lambda n: _rank(n, counts[n])) for form, counts in forms.items()}


def _rank(name: str, count: int) -> tuple[int, bool, bool]:
    """Prefer the frequent form, then one with a proper end, then one not in capitals."""
    return count, name[-1].isalnum() or name.endswith((".", ")")), not name.isupper()


def _told(places: list[Place], kind: str, better: str) -> Iterator[Finding]:
    how = "with other capitals or marks" if kind == "case_variant" else "spelt otherwise"
    message = f"the document also has it {how}"
    for place in places:
        yield place.finding(kind, message, better)


def _respelt(counts: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Pair names that are alike and mean the same, the rarer one first; the most alike first."""
    import numpy as np
    from rapidfuzz import fuzz, process

    names = list(counts)[:_MOST_NAMES]
    forms = [normalize(name) for name in names]
    alike = process.cdist(forms, forms, scorer=fuzz.ratio, score_cutoff=_ALIKE, dtype=np.uint8)
    judge = OfflineJudge()
    told: set[int] = set()
    rows, columns = np.nonzero(np.triu(alike, 1))
    nearest = np.argsort(-alike[rows, columns].astype(int), kind="stable")[:_MOST_PAIRS]
    for i, j in zip(rows[nearest], columns[nearest], strict=True):
        rare, usual = (i, j) if counts[names[i]] < counts[names[j]] else (j, i)
        if rare not in told and _is_misspelt(names[rare], names[usual], judge):
            told.add(rare)
            yield names[rare], names[usual]


def _is_misspelt(name: str, other: str, judge: OfflineJudge) -> bool:
    if _DIGITS.findall(name) != _DIGITS.findall(other):
        return False
    return _is_slip(name, other) or judge.compare(other, name).score >= _SAME


def _is_slip(name: str, other: str) -> bool:
    """Say whether one long word has one letter wrong, missing, too much or out of place."""
    from rapidfuzz.distance import OSA

    ours, theirs = normalize(name).split(), normalize(other).split()
    if len(ours) != len(theirs):
        return False
    differing = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    plural = a.removesuffix("s") == b.removesuffix("s")
    return min(len(a), len(b)) >= _MIN_WORD and not plural and OSA.distance(a, b) == 1


_QUOTED = re.compile(r"['\"‘“`]([^'\"’”`]{1,20})['\"’”`]")
INDEX_KEYS = frozenset(("array_index", "index"))
_MIN_SHARED = 3
_MAX_TAIL = 3


def find_placeholders(subject: Subject) -> Iterator[Finding]:
    """Find words that stand for nothing (``NA``, ``unknown``, ``-``), unless the schema has them.

    A schema has such a word if it is its default, one of its constants or examples, or stands
    quoted in the description.
    """
    for place in subject.texts():
        if is_placeholder(place.value) and fold(place.value) not in _declared_words(place.node):
            message = f"{place.value!r} stands for nothing; the schema does not ask for it"
            better = _instead(place)
            yield place.finding("placeholder", message, better)


def _instead(place: Place) -> str | None:
    """Say what the schema has for nothing at this place."""
    if isinstance(place.parent, list):
        return "an empty array" if len(place.parent) == 1 else "no such item"
    if place.node is None or place.node.nullable:
        return "null"
    return None if place.node.required else "no such key"


def _declared_words(node: Node | None) -> frozenset[str]:
    if node is None:
        return frozenset()
    words: list[object] = []
    for one in (node, *node.children.branches):
        words += [one.keywords.get("default"), one.keywords.get("const")]
        for name in ("enum", "examples"):
            values = one.keywords.get(name)
            words += values if isinstance(values, list) else []
        words += _QUOTED.findall(one.description or "")
    return frozenset(fold(word) for word in words if isinstance(word, str))


def find_duplicates(subject: Subject) -> Iterator[Finding]:
    """Find items that equal an earlier item of their array, or contradict it in one number.

    Case, spacing and punctuation do not count, nor do running numbers of items. Two objects
    contradict each other if they differ in one number alone and share three values or more.
    """
    for place in subject.places:
        if isinstance(place.value, list) and len(place.value) > 1:
            yield from _repeated(place)


def _repeated(array: Place) -> Iterator[Finding]:
    seen: dict[Any, int] = {}
    for i, item in enumerate(array.value):
        place = array.item(i, item)
        key = _identity(item)
        if key and key in seen:
            yield place.finding("duplicate_item", f"equals item {seen[key]} of the array")
            continue
        claims = list(_claims(item))
        for name, claim in claims:
            if claim in seen:
                message = f"differs from item {seen[claim]} of the array in nothing but {name!r}"
                other = json_text(array.value[seen[claim]][name])
                yield place.finding("contradicting_item", message, other)
                break
        for claim in (key, *(claim for _, claim in claims)):
            seen.setdefault(claim, i)


def _identity(item: Any) -> tuple[tuple[str, str], ...]:
    """Return the leaves of an item in a form that equal items share; empty for an empty item."""
    found = []
    for path, value in leaves(item):
        if path.rsplit(".", 1)[-1] not in INDEX_KEYS:
            text = normalize(value) if isinstance(value, str) else canonical(value)
            found.append((path, text))
    return tuple(sorted(found))


def _claims(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield each number's key in an object, and what the object says besides that number."""
    if not isinstance(item, dict):
        return
    for name, value in item.items():
        if type(value) in (int, float) and name not in INDEX_KEYS:
            rest = _identity({k: v for k, v in item.items() if k != name})
            if len(rest) >= _MIN_SHARED:
                yield name, (name, rest)


def find_split_items(subject: Subject) -> Iterator[Finding]:
    """Find text items that are the end of the name in the item before them.

    An item of one to three words is reported if the item before, joined with it, ends as another
    item of the array does: ``X, New York`` and ``Branch`` beside ``Y, New York Branch``.
    """
    for place in subject.places:
        if isinstance(place.value, list):
            texts = [v if isinstance(v, str) else "" for v in place.value]
            yield from _split_items(place, texts)


def _split_items(array: Place, texts: Sequence[str]) -> Iterator[Finding]:
    words = [normalize(text).split() for text in texts]
    for i in range(1, len(texts)):
        tail, before = words[i], words[i - 1]
        if not 0 < len(tail) <= _MAX_TAIL or len(before) < 2:  # noqa: PLR2004 - a name begun
            continue
        end = [before[-1], *tail]
        if any(w[-len(end) :] == end for j, w in enumerate(words) if j not in (i, i - 1)):
            message = f"looks like the end of item {i - 1}"
            joined = f"{texts[i - 1].strip()} {texts[i].strip()}"
            yield array.item(i, texts[i]).finding("split_item", message, joined)
