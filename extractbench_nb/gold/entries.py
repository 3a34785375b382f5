"""Checks of values and array items: wording, placeholders, duplicates, split items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from extractbench_nb.core import leaves, resolve_union
from extractbench_nb.core.schema import MISSING, Node, Schema
from extractbench_nb.core.values import bracketed, canonical, json_text, member
from extractbench_nb.gold.findings import Finding
from extractbench_nb.pdf import PdfText, words_of
from extractbench_nb.support.folding import fold, is_placeholder, normalize, unify
from extractbench_nb.support.wording import plural


class Place(NamedTuple):
    """One value of a document: ``$.a[2].b`` of field ``a[].b``, its node if the schema has one.

    `parent` is the object or array that holds it, and `key` its key or index there.
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

    def item(self, index: int, value: Any, node: Node | None = None) -> Place:
        """Return the place of an array's item."""
        return Place(f"{self.path}[{index}]", f"{self.field}[]", node, value, self.value, index)

    def finding(self, kind: str, message: str, suggestion: str | None = None) -> Finding:
        """Make a finding about this value."""
        return Finding(self.path, self.field, kind, message, self.value, suggestion)


@dataclass(frozen=True)
class Subject:
    """A document to be audited: its values in order, and the text of its PDF if there is one."""

    schema: Schema
    gold: Any
    places: tuple[Place, ...]
    pdf: PdfText | None = None

    def texts(self) -> Iterator[Place]:
        """Yield the texts that are not blank."""
        for place in self.places:
            if isinstance(place.value, str) and place.value.strip():
                yield place


def walk(schema: Schema, document: Any) -> Iterator[Place]:
    """Yield all values of a document, containers before their members."""
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
            array = node if node is not None and node.kind == "array" else None
            stack.extend(
                place.item(i, place.value[i], None if array is None else array.item(i))
                for i in reversed(range(len(place.value)))
            )


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
    """Find words that PDF extraction cut or joined, line breaks, and stray marks at the ends."""
    vocabulary = Counter(word for place in subject.texts() for word in words_of(place.value))
    vocabulary += subject.pdf.counts if subject.pdf is not None else Counter()
    for place in subject.texts():
        yield from _cut_words(place, subject.pdf, vocabulary)
        yield from _glued_words(place, subject.pdf)
        yield from _line_breaks(place)
        yield from _loose_ends(place)


def _cut_words(place: Place, pdf: PdfText | None, vocabulary: Counter[str]) -> Iterator[Finding]:
    hyphens = [m for m in _CUT.finditer(place.value) if (m[2] or m[4]).lower() not in _SUSPENDED]
    if hyphens:
        cut = [" ".join(match[0].split()) for match in hyphens]
        better = _CUT.sub(lambda m: _rejoined(m, vocabulary), place.value)
        yield place.finding("broken_word", f"cut in two: {shown(cut)}", better)
    elif pdf is not None and (pairs := list(_torn(place.value, pdf))):
        better = ", ".join("".join(pair) for pair in pairs[:3])
        message = f"torn apart: {shown([' '.join(pair) for pair in pairs])}"
        yield place.finding("broken_word", message, better)


def shown(texts: Sequence[str]) -> str:
    """Quote the first three texts, and say how many more there are."""
    quoted = ", ".join(repr(text) for text in texts[:3])
    return quoted + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")  # noqa: PLR2004


def _rejoined(match: re.Match[str], vocabulary: Counter[str]) -> str:
    """Join a word that was cut at a hyphen; keep the hyphen if its parts occur as words."""
    first, second = match[1] or match[3], match[2] or match[4]
    if second.lower() in _SUSPENDED:
        return match[0]
    begin, end = first.casefold(), second.casefold()
    is_compound = min(vocabulary[begin], vocabulary[end]) > 1 and not vocabulary[begin + end]
    return f"{first}-{second}" if is_compound else first + second


def _torn(text: str, pdf: PdfText) -> Iterator[tuple[str, str]]:
    """Find neighbouring words that the PDF has as one word, and not both as separate words."""
    parts = unify(text).casefold().split()
    for first, second in pairwise(parts):
        joined = first + second
        if len(joined) < _MIN_JOINED or not joined.isalpha() or joined not in pdf.counts:
            continue
        if not pdf.counts[first] or not pdf.counts[second]:
            yield first, second


def _glued_words(place: Place, pdf: PdfText | None) -> Iterator[Finding]:
    text = " ".join(part for part in place.value.split() if not _LINK.search(part))
    glued = _MISSING_SPACE.findall(text)
    better = [re.sub(r"([,;])", r"\1 ", words) for words in glued]
    if pdf is not None:
        words = dict.fromkeys(_LETTERS.findall(unify(text)))
        pairs = [pair for word in words if (pair := _unglue(word, pdf))]
        glued += ["".join(pair) for pair in pairs]
        better += [" ".join(pair) for pair in pairs]
    if glued:
        yield place.finding("glued_words", f"no space in {shown(glued)}", ", ".join(better[:3]))


def _unglue(word: str, pdf: PdfText) -> tuple[str, str] | None:
    """Split a word that the PDF lacks into two parts that the PDF has side by side.

    The second part begins with a capital, or both occur elsewhere in the PDF too.
    """
    folded = word.casefold()
    if not _MIN_GLUED <= len(folded) == len(word) <= _LONGEST_WORD or folded in pdf.counts:
        return None
    for i in range(_MIN_PART, len(word) - _MIN_PART + 1):
        first, second = folded[:i], folded[i:]
        together = pdf.pairs[first, second]
        apart = min(pdf.counts[first], pdf.counts[second]) > together
        if together and (apart or (word[i - 1].islower() and word[i].isupper())):
            return word[:i], word[i:]
    return None


def _line_breaks(place: Place) -> Iterator[Finding]:
    """Find line breaks between two words of one sentence."""
    lines = [line.split() for line in place.value.splitlines()]
    words = [(line[-1], following[0]) for line, following in pairwise(lines) if line and following]
    breaks = [pair for pair in words if _is_within_sentence(*pair)]
    if breaks:
        before, after = breaks[0][0][-_SHOWN:], breaks[0][1][:_SHOWN]
        count = plural(len(breaks), "line break")
        message = f"{count} inside a sentence, as between {before!r} and {after!r}"
        yield place.finding("line_break", message, " ".join(place.value.split()))


def _is_within_sentence(before: str, after: str) -> bool:
    if _BULLET.fullmatch(after) or before.endswith("-"):
        return False
    linked = before.endswith(",") or before.lower() in _LINKING
    ended = before[-1] in ".:;!?"
    return linked or (after[0].islower() and not ended)


def _loose_ends(place: Place) -> Iterator[Finding]:
    text = place.value
    if _SPACES.search(text):
        message = "leading, trailing or double spaces"
        yield place.finding("stray_whitespace", message, " ".join(text.split()))
    bare = text.strip()
    if len(bare) > _LONGEST_NAME or "\n" in bare:
        return
    tail, head = _TAIL.search(bare), _HEAD.match(bare)
    if len(bare) > 1 and (tail or head):
        better = bare[head.end() if head else 0 : tail.start() if tail else len(bare)].strip()
        mark = (tail or head)[0].strip()  # type: ignore[index]
        message = f"{'ends' if tail else 'begins'} with {mark!r}"
        yield place.finding("trailing_punctuation", message, better)


_QUOTED = re.compile(r"['\"‘“`]([^'\"’”`]{1,20})['\"’”`]")
INDEX_KEYS = frozenset(("array_index", "index"))
_MIN_SHARED = 3
_MAX_TAIL = 3


def find_placeholders(subject: Subject) -> Iterator[Finding]:
    """Find placeholders of absent values (``NA``, ``-``, ...) that the schema does not list.

    A schema lists a word as default, constant or example, or in quotes in the description.
    """
    for place in subject.texts():
        if is_placeholder(place.value) and fold(place.value) not in _declared_words(place.node):
            message = f"{place.value!r} is a placeholder that the schema does not list"
            yield place.finding("placeholder", message, _instead(place))


def _instead(place: Place) -> str | None:
    """Return what the schema allows instead of a placeholder."""
    if isinstance(place.parent, list):
        return "an empty array" if len(place.parent) == 1 else "no such item"
    if place.node is None or place.node.nullable:
        return "null"
    return None if place.node.required else "no such key"


def _declared_words(node: Node | None) -> frozenset[str]:
    words: list[object] = []
    for part in () if node is None else (node, *node.children.branches):
        words += [part.keywords.get("default"), part.keywords.get("const")]
        for name in ("enum", "examples"):
            values = part.keywords.get(name)
            words += values if isinstance(values, list) else []
        words += _QUOTED.findall(part.description or "")
    return frozenset(fold(word) for word in words if isinstance(word, str))


def find_duplicates(subject: Subject) -> Iterator[Finding]:
    """Find items that equal an earlier item of their array, or contradict it in one number.

    Case, spacing and punctuation do not count, nor do running numbers of items. Two objects
    contradict each other if they differ in one number alone and share three values or more.
    """
    for array in subject.places:
        if not isinstance(array.value, list) or len(array.value) <= 1:
            continue
        first_index: dict[Any, int] = {}
        for index, item in enumerate(array.value):
            place = array.item(index, item)
            identity = _identity(item)
            if identity and identity in first_index:
                message = f"equals item {first_index[identity]} of the array"
                yield place.finding("duplicate_item", message)
                continue
            identities = dict(_identities_without_number(item))
            for name, partial in identities.items():
                if partial in first_index:
                    earlier = first_index[partial]
                    message = f"differs from item {earlier} of the array only in {name!r}"
                    other = json_text(array.value[earlier][name])
                    yield place.finding("contradicting_item", message, other)
                    break
            for key in (identity, *identities.values()):
                first_index.setdefault(key, index)


def _identity(item: Any) -> tuple[tuple[str, str], ...]:
    """Return the leaves of an item in a form that equal items share; empty for an empty item."""
    texts = []
    for path, value in leaves(item):
        if path.rsplit(".", 1)[-1] not in INDEX_KEYS:
            text = normalize(value) if isinstance(value, str) else canonical(value)
            texts.append((path, text))
    return tuple(sorted(texts))


def _identities_without_number(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield the key of each number of an object, and the object's identity without that number."""
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
    for array in subject.places:
        if not isinstance(array.value, list):
            continue
        texts = [value if isinstance(value, str) else "" for value in array.value]
        words = [normalize(text).split() for text in texts]
        for i, (before, tail) in enumerate(pairwise(words), 1):
            if not 0 < len(tail) <= _MAX_TAIL or len(before) < 2:  # noqa: PLR2004 - a name begun
                continue
            end = [before[-1], *tail]
            if any(w[-len(end) :] == end for j, w in enumerate(words) if j not in (i, i - 1)):
                message = f"looks like the end of item {i - 1}"
                joined = f"{texts[i - 1].strip()} {texts[i].strip()}"
                yield array.item(i, texts[i]).finding("split_item", message, joined)
