"""The passage of a PDF that is nearest to a text: words vote for a place, edit distance decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from extractbench_nb.benchmark.audit.pdftext import Passage, PdfText, words_of

__all__ = ["covered", "nearest_passage", "nearest_span", "pieces"]

_MOST_VOTERS = 40
_MOST_PLACES = 200
_WINDOWS = 4
_SLACK = 3
_MAX_WORDS = 120
_MIN_SIMILARITY = 0.6
_SPELLING_CUTOFF = 75
_SPELT_WORDS = 6
_MIN_PIECE = 4
_MAX_COVERED_WORDS = 600


def nearest_passage(text: str, pdf: PdfText) -> Passage | None:
    """Find the passage that is most like a text.

    Each word of the text votes for the places where the text would begin if that word were the
    one it meets in the PDF; rare words first. The few places with the most votes are compared by
    their letters and digits.

    Parameters
    ----------
    text : str
        The text; of a long one, its first 120 words.
    pdf : PdfText
        Where to look.

    Returns
    -------
    Passage or None
        None where nothing is at least 60 % alike.
    """
    found = nearest_span(text, pdf)
    return None if found is None else pdf.passage(*found)


def nearest_span(text: str, pdf: PdfText) -> tuple[int, int, float] | None:
    """Find the span of the squashed text that is most like a text.

    Parameters
    ----------
    text : str
        The text; of a long one, its first 120 words.
    pdf : PdfText
        Where to look.

    Returns
    -------
    tuple of (int, int, float) or None
        Start and end in ``pdf.squashed``, and the similarity of the two, in [0.6, 1]; None where
        nothing is as much alike.
    """
    from rapidfuzz import fuzz

    words = words_of(text)[:_MAX_WORDS]
    wanted = "".join(words)
    if not wanted:
        return None
    best: tuple[int, int, float] | None = None
    for first in _beginnings(words, pdf):
        window, offset = pdf.window(first - _SLACK, len(words) + 2 * _SLACK)
        found = fuzz.partial_ratio_alignment(wanted, window)
        if found is None or found.dest_end <= found.dest_start:
            continue
        similarity = fuzz.ratio(wanted, window[found.dest_start : found.dest_end]) / 100
        if similarity >= _MIN_SIMILARITY and (best is None or similarity > best[2]):
            best = offset + found.dest_start, offset + found.dest_end, similarity
    return best


def _beginnings(words: Sequence[str], pdf: PdfText) -> list[int]:
    """Return the word indices where the text most likely begins."""
    votes: Counter[int] = Counter()
    known = sorted({(len(pdf.places[w]), w, i) for i, w in enumerate(words) if w in pdf.places})
    voters = [(w, i) for _, w, i in known[:_MOST_VOTERS]]
    if len(known) < len(words) and len(words) <= _SPELT_WORDS:
        voters += _respelt(words, pdf)
    for word, i in voters:
        for place in pdf.places[word][:_MOST_PLACES]:
            votes[(place - i) // 2] += 1
    return [2 * bin_ for bin_, _ in votes.most_common(_WINDOWS)]


def _respelt(words: Sequence[str], pdf: PdfText) -> list[tuple[str, int]]:
    """Let unknown words of a short text vote by the word of the PDF that is spelt most alike."""
    from rapidfuzz import fuzz, process

    found = []
    for i, word in enumerate(words):
        if word not in pdf.places and len(word) >= _MIN_PIECE:
            near = process.extractOne(
                word, pdf.places.keys(), scorer=fuzz.ratio, score_cutoff=_SPELLING_CUTOFF
            )
            if near is not None:
                found.append((near[0], i))
    return found


def covered(text: str, pdf: PdfText) -> tuple[float, list[str]]:
    """Say how much of a long text stands in the PDF in pieces of four words or more.

    Parameters
    ----------
    text : str
        The text; of a very long one, its first 600 words.
    pdf : PdfText
        Where to look.

    Returns
    -------
    tuple of (float, list of str)
        The share of its words that stand in such pieces, in [0, 1], and the runs of words that
        do not. Pages and columns that cut a sentence in two leave the share at 1.
    """
    words, found = pieces(text, pdf)
    missing: list[list[str]] = []
    end = 0
    for first, length in [*found, (len(words), 0)]:
        if first > end:
            missing.append(words[end:first])
        end = first + length
    lost = sum(map(len, missing))
    return (len(words) - lost) / len(words) if words else 1.0, [" ".join(run) for run in missing]


def pieces(text: str, pdf: PdfText) -> tuple[list[str], list[tuple[int, int]]]:
    """Cut a long text into the pieces of four words or more that stand in the PDF.

    Parameters
    ----------
    text : str
        The text; of a very long one, its first 600 words.
    pdf : PdfText
        Where to look.

    Returns
    -------
    tuple of (list of str, list of (int, int))
        The words, and of each piece its first word and how many words it has.
    """
    words = words_of(text)[:_MAX_COVERED_WORDS]
    found: list[tuple[int, int]] = []
    i = 0
    while i < len(words):
        length = _longest_piece(words, i, pdf)
        if length:
            found.append((i, length))
        i += length or 1
    return words, found


def _longest_piece(words: Sequence[str], i: int, pdf: PdfText) -> int:
    """Return how many words from index `i` stand in the PDF in a row; 0 for fewer than four."""

    def stands(count: int) -> bool:
        return pdf.has("".join(words[i : i + count]))

    left = len(words) - i
    low = min(_MIN_PIECE, left)
    if not stands(low):
        return 0
    high = low
    while high < left and stands(min(2 * high, left)):
        high = min(2 * high, left)
    if high == left:
        return left
    low, high = high, min(2 * high, left)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stands(middle) else (low, middle)
    return low
