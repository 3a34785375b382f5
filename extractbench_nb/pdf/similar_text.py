"""Texts that a PDF has in other words, in another order, in pieces, or with another spelling."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from extractbench_nb.pdf.page_text import Passage, PdfText, words_of

#: Characters of a text that are compared letter by letter; five times as many, word by word.
_COMPARED = 800
#: Words of the shortest piece of a text, and words that may be between others or around them.
_FEW = 4
#: Words of a text that may be apart from each other, or misspelt without being compared as a whole.
MANY = 8
#: Positions of a word that are tried.
_MOST_PLACES = 200
#: The least share of equal letters in two spellings of a word, or of words of a text in pieces.
MOSTLY = 0.75


def nearest_passage(text: str, pdf: PdfText) -> Passage | None:
    """Find the passage that is most similar to a text."""
    nearest = nearest_words(text, pdf)
    return None if nearest is None else pdf.passage(*nearest)


def nearest_words(text: str, pdf: PdfText) -> tuple[int, int, float] | None:
    """Find the words that are most similar to a text: the first, the end and their similarity.

    Each word votes for the positions at which the text would begin if the word occurred at its
    positions in the PDF. Around the positions with the most votes, the stretch of letters and
    digits that is most similar gives the similarity. It may cut words at both ends: each of them is
    left out if the words are more similar to the text without it.
    """
    from rapidfuzz import fuzz

    words = words_of(text[:_COMPARED])
    wanted = "".join(words)
    best: tuple[int, int, float] | None = None
    for begin in _beginnings(words, pdf) if wanted else ():
        low, high = max(0, begin - 3), min(len(pdf.words), begin + len(words) + 3)
        offset = pdf.starts[low]
        window = pdf.squashed[offset : pdf.starts[high]]
        found = fuzz.partial_ratio_alignment(wanted, window)
        if found is None or found.dest_end <= found.dest_start:
            continue
        similarity = fuzz.ratio(wanted, window[found.dest_start : found.dest_end]) / 100
        if similarity < 0.6 or (best is not None and similarity <= best[2]):  # noqa: PLR2004
            continue
        start, end = offset + found.dest_start, offset + found.dest_end
        firsts = {bisect_right(pdf.starts, start) - 1, bisect_left(pdf.starts, start)}
        ends = {bisect_left(pdf.starts, end), bisect_right(pdf.starts, end) - 1}
        choices = [(first, last) for first in firsts for last in ends if first < last]
        spelt = {(a, b): pdf.squashed[pdf.starts[a] : pdf.starts[b]] for a, b in choices}
        whole = max(sorted(choices), key=lambda words: fuzz.ratio(wanted, spelt[words]))
        best = *whole, similarity
    return best


def _beginnings(words: Sequence[str], pdf: PdfText) -> list[int]:
    """Return the word indices where the text most likely begins."""
    from rapidfuzz import fuzz, process

    voters = [(word, i) for i, word in enumerate(words) if word in pdf.places]
    if len(words) <= MANY:  # a word that the PDF does not have votes with the most similar one
        for i, word in enumerate(words):
            if word not in pdf.places and len(word) >= _FEW:
                near = process.extractOne(
                    word, pdf.places.keys(), scorer=fuzz.ratio, score_cutoff=100 * MOSTLY
                )
                voters += [] if near is None else [(near[0], i)]
    votes: Counter[int] = Counter()
    for word, i in sorted(voters, key=lambda voter: len(pdf.places[voter[0]])):  # rare ones first
        for position in pdf.places[word][:_MOST_PLACES]:
            votes[(position - i) // 2] += 1
    return [2 * pair for pair, _ in votes.most_common(_FEW)]


def words_apart(words: Sequence[str], pdf: PdfText) -> list[tuple[int, int]]:
    """Find all words close to the rarest one; return the spans of adjacent ones."""
    wanted = set(words)
    if not wanted <= pdf.places.keys():
        return []
    rarest = min(words, key=lambda word: len(pdf.places[word]))
    for position in islice(pdf.places[rarest], _MOST_PLACES):
        around = len(words) + _FEW
        window = range(max(0, position - around), min(len(pdf.words), position + around))
        if not wanted.issubset(map(pdf.words.__getitem__, window)):
            continue
        nearest = {
            min((i for i in window if pdf.words[i] == word), key=lambda i: abs(i - position))
            for word in wanted
        }
        firsts = sorted(i for i in nearest if i - 1 not in nearest)
        ends = sorted(i + 1 for i in nearest if i + 1 not in nearest)
        return list(map(pdf.span_of_words, firsts, ends))
    return []


def covered(text: str, pdf: PdfText) -> tuple[float, list[str]]:
    """Return the share of a long text that is in the PDF, and the runs of words that are not.

    Words count as in the PDF if four or more of them occur there consecutively.
    """
    words, found = pieces(text, pdf)
    runs, end = [], 0
    for first, count in [*found, (len(words), 0)]:
        runs += [" ".join(words[end:first])] if first > end else []
        end = first + count
    return _share(words, found), runs


def _share(words: Sequence[str], found: Sequence[tuple[int, int]]) -> float:
    return sum(count for _, count in found) / len(words) if words else 1.0


def pieces(text: str, pdf: PdfText) -> tuple[list[str], list[tuple[int, int]]]:
    """Split a long text into the pieces of four words or more that are in the PDF."""
    words = words_of(text[: 5 * _COMPARED])
    found: list[tuple[int, int]] = []
    i = 0
    while i < len(words):
        lengths = range(min(_FEW, len(words) - i), len(words) - i + 1)
        longer = bisect_left(lengths, True, key=lambda n: not pdf.has("".join(words[i : i + n])))
        if longer:
            found.append((i, lengths[longer - 1]))
        i += lengths[longer - 1] if longer else 1
    return words, found


def spans_of_pieces(text: str, pdf: PdfText) -> tuple[float, list[tuple[int, int]]]:
    """Return the share of a long text that is in the PDF, and the spans, in order if possible."""
    words, found = pieces(text, pdf)
    spans: list[tuple[int, int]] = []
    after = 0
    for first, count in found:
        key = "".join(words[first : first + count])
        start = pdf.squashed.find(key, after)
        start = pdf.squashed.find(key) if start < 0 else start
        after = start + len(key)
        spans.append(pdf.span(start, after))
    return _share(words, found), spans
