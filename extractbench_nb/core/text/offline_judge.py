"""The offline judge: decides by rules, without a model, whether two texts mean the same.

Texts become canonical tokens (`word_tokens.Prepared`). Equal tokens mean the same. Otherwise every
differing run must have an explanation (`differences.explain`), or be small in a long text. Texts
with unexplained differences get a score below 0.7, graded by what they share.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from extractbench_nb.core.registered import registered
from extractbench_nb.core.text import lexicon
from extractbench_nb.core.text.differences import (
    SHORT_TOKENS,
    Block,
    conflict,
    explain,
    explain_block,
    same_value,
    same_values,
)
from extractbench_nb.core.text.judging import Judge, Question, Verdict
from extractbench_nb.core.text.people import same_person
from extractbench_nb.core.text.rewording import CITATION
from extractbench_nb.core.text.word_tokens import (
    MAX_LENGTH,
    MIDDLE_TEXT,
    Prepared,
    aliases,
    is_place,
    prepare,
)
from extractbench_nb.core.values import json_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.folding import any_of, fold

_FAIL_CEILING = 0.69
_FAIL_SHARE = 0.65
_TRUNCATION_TOKENS = 60
_TRUNCATION_KEPT = 0.6
_SENTENCE_END = 24
_COMMON = 0.5
_MAX_DIFF_TOKENS = 3_000
_MAX_RATIO = 2_000
_MIN_SQUASHED = 4
_MAX_TURNED = 8
_MAX_ADDRESS = 20
_UNIVERSITY_NAME = 3

#: Words beside a dash, and codes beside a slash.
_JOINED = re.compile(r"(\w+) ?- ?(?=(\w+))|(?<![\w/])([a-z]{2,3})/(?=([a-z]{2,3})(?![\w/]))")
#: A code of capitals and at least six digits, and what may stand between its parts.
_CODE = re.compile(r"(?=(?:\D*\d){6})[A-Z\d](?:[A-Z\d]|[ ./-]{1,3}(?=[A-Z\d])){5,40}", re.ASCII)
_CODE_GAP = re.compile(r"[ -]+|(?:(?<=[A-Z])[./]|[./](?=[A-Z]))[ -]*", re.ASCII)
_CODE_LABEL = re.compile(
    rf"\A(?:{any_of(lexicon.ID_LABELS)}(?:-1[03])?(?![\w-])[ .:#]*)+", re.IGNORECASE
)
#: The point of 1.250 may stand before decimals or thousands, the comma of 1,25 before decimals.
_POINTED = re.compile(r"(?<![\w.,])[1-9]\d{0,2}\.\d{3}(?![.,]?\w)")
_DECIMAL_COMMA = re.compile(r",(?<=\d,)\d{1,2}(?![.,]?\w)")

_IDENTICAL = Verdict(1.0, "identical")


@dataclass(frozen=True, slots=True)
class OfflineJudge:
    """A deterministic judge that uses rules instead of a model.

    It is stateless and symmetric, and gives every pair of texts a score in [0, 1]. The
    documentation measures it against a language model (docs/explanation/validation.md).

    Parameters
    ----------
    name : str, optional
        Name shown in results.

    Examples
    --------
    >>> OfflineJudge().compare("6 Apr 2025", "2025-04-06")
    Verdict(score=1.0, reason='date', reasoning=None)
    >>> OfflineJudge().compare("J. Smith", "K. Smith").score < 0.7
    True
    """

    name: str = "offline"

    def compare(self, gold: str, predicted: str) -> Verdict:
        """Decide whether two texts have the same meaning.

        Parameters
        ----------
        gold, predicted : str
            The two texts; any string is allowed.

        Returns
        -------
        Verdict
            ``score >= 0.7`` means the same; lower scores only rank the similarity.
        """
        if gold == predicted:
            return _IDENTICAL
        if len(gold) > MAX_LENGTH or len(predicted) > MAX_LENGTH:
            return _compare_huge(gold, predicted)
        if gold > predicted:
            gold, predicted = predicted, gold
        is_long = len(gold) > MIDDLE_TEXT or len(predicted) > MIDDLE_TEXT
        return _judge(gold, predicted) if is_long else _judge_again(gold, predicted)


def _judge(gold: str, predicted: str) -> Verdict:
    if gold.isdecimal() and predicted.isdecimal() and gold.lstrip("0") != predicted.lstrip("0"):
        return Verdict(_FAIL_SHARE * fuzz.ratio(gold, predicted) / 100, "different_number")
    a, b = prepare(gold), prepare(predicted)
    verdict = _decide(a, b)
    if verdict[0] > _FAIL_CEILING and (reason := _contradiction(a, b)):
        return Verdict(_graded(a, b), reason)
    return verdict


#: An alignment judges many pairs, and the pairs it chooses are judged again when they are scored.
_judge_again = lru_cache(maxsize=16_384)(_judge)


def similarity(gold: str, predicted: str) -> float:
    """Return a cheap similarity of two texts in [0, 1], without judging them."""
    if gold == predicted:
        return 1.0
    return fuzz.ratio(_folded(gold[:_MAX_RATIO]), _folded(predicted[:_MAX_RATIO])) / 100


_folded = lru_cache(maxsize=8_192)(fold)


def _decide(a: Prepared, b: Prepared) -> Verdict:
    if a.tokens == b.tokens:
        return _same_tokens(a, b)
    if not a.tokens or not b.tokens:
        return Verdict(0.0, "different")
    if len(a.tokens) == len(b.tokens) == 1 and (verdict := _of_values(a.tokens[0], b.tokens[0])):
        return verdict
    if a.squashed == b.squashed and len(a.squashed) >= _MIN_SQUASHED and same_values(a, b):
        return Verdict(0.98, "spacing")
    if not a.aliases.isdisjoint(b.aliases):
        return Verdict(1.0, "abbreviation")
    if _is_same_code(a, b):
        return Verdict(0.98, "spacing")
    found = _persons(a, b) or _reordered(a, b) or _by_blocks(a, b)
    if found[0] <= _FAIL_CEILING and bool(a.halves) is not bool(b.halves):
        halves, other = (a.halves, b.unified) if a.halves else (b.halves, a.unified)
        if _are_equal(*halves) and any(_are_equal(half, other) for half in halves):
            return Verdict(0.95, "abbreviation")  # WD (Well Drained)
    return found


def _are_equal(x: str, y: str) -> bool:
    return _judge_again(*sorted((x, y)))[0] > _FAIL_CEILING


def _is_same_code(a: Prepared, b: Prepared) -> bool:
    """Say whether one code has spaces or dashes where the other has none: 071 DXB 1276-0786."""
    codes = [_CODE_LABEL.sub("", text.unified) for text in (a, b)]
    if not all(map(_CODE.fullmatch, codes)) or any(map(_is_range, codes)):
        return False
    ours, theirs = map(_CODE_GAP.split, codes)
    if "".join(ours) != "".join(theirs):
        return False
    cuts, others = (set(itertools.accumulate(map(len, parts))) for parts in (ours, theirs))
    return cuts <= others or others <= cuts


def _is_range(code: str) -> bool:
    """Say whether digits with a dash are a range, 2015-2016."""
    first, dash, last = code.replace(" ", "").partition("-")
    return bool(dash) and len(first) == len(last) and first.isdecimal() and first < last


def _same_tokens(a: Prepared, b: Prepared) -> Verdict:
    if not a.tokens:
        return Verdict(1.0, "punctuation") if a.folded == b.folded else Verdict(0.0, "different")
    if a.unified == b.unified:
        reason = "spacing" if "".join(a.raw.split()) == "".join(b.raw.split()) else "unicode"
    elif a.folded == b.folded:
        reason = "case"
    elif [*filter(str.isalnum, a.folded)] == [*filter(str.isalnum, b.folded)]:
        reason = "punctuation"
    elif any(token[0] == "@" for token in a.tokens):
        reason = "date"
    else:
        reason = "number" if any(token[0] == "#" for token in a.tokens) else "abbreviation"
    return Verdict(1.0, reason)


def _contradiction(a: Prepared, b: Prepared) -> str | None:
    """Say why texts differ whose words agree."""
    # one text has "by" where the other has "to"
    ours, theirs = (
        Counter(filter(lexicon.GIVER_OR_TAKER.__contains__, text.words)) for text in (a, b)
    )
    if (ours - theirs and theirs - ours) or (a.tokens != b.tokens and _is_turned_round(a, b)):
        return "different"
    # a number in brackets is a citation in a long text only
    if len(a.tokens) < SHORT_TOKENS and "[" in a.unified and "[" in b.unified:
        cited, other = (
            [re.sub(r"\D", "", found) for found in CITATION.findall(text.unified)]
            for text in (a, b)
        )
        if cited and other and cited != other:
            return "different_number"
    return "different_number" if _mix_marks(a, b) or _mix_marks(b, a) else None


def _mix_marks(a: Prepared, b: Prepared) -> bool:
    """Say whether decimal comma and point are mixed up: 1,25 and 1.250 are different numbers."""
    if not _DECIMAL_COMMA.search(a.unified):
        return False
    return not set(_POINTED.findall(b.unified)) <= set(_POINTED.findall(a.unified))


def _is_turned_round(a: Prepared, b: Prepared) -> bool:
    """Say whether parts joined by a dash or slash are in reverse order: JFK-LAX, EUR/USD."""
    texts = [text.text.casefold() for text in (a, b)]
    ours, theirs = (
        {(w or y, x or z) for w, x, y, z in _JOINED.findall(text)}
        for text in (f"{a.folded} {texts[0]}", f"{b.folded} {texts[1]}")
    )
    if any((y, x) in theirs and (x, y) not in theirs for x, y in ours):
        return True
    parts, other = (
        ["".join(filter(str.isalnum, part)) for part in text.split("-")] for text in texts
    )
    return parts != other and sorted(parts) == sorted(other)


def _of_values(x: str, y: str) -> Verdict | None:
    """Decide about two texts of one token each, if that is a date or a number."""
    if x[0] == y[0] and x[0] in "#@":
        kind = "number" if x[0] == "#" else "date"
        if same_value(x, y):
            return Verdict(1.0, kind)
        return Verdict(0.6 * fuzz.ratio(x, y) / 100, f"different_{kind}")
    if "@" in (x[0], y[0]):
        return Verdict(0.5 * fuzz.partial_ratio(x[1:], y[1:]) / 100, "different_date")
    return None


def _persons(a: Prepared, b: Prepared) -> Verdict | None:
    if len(a.people) == len(b.people) > 1:
        pairs = zip(a.people, b.people, strict=True)
        return Verdict(0.95, "initials") if all(same_person(x, y) for x, y in pairs) else None
    left, right = a.person, b.person
    if left is None or right is None:
        return None
    ours, theirs = (text.capitals - lexicon.DEGREES for text in (a, b))
    if sorted(map(len, ours)) == sorted(map(len, theirs)) and ours != theirs:
        return None  # Smith JA and Smith JB
    left = left.transliterated(a.transliterated, right)
    right = right.transliterated(b.transliterated, left)
    if not same_person(left, right):
        return None
    if not (left.marked or right.marked or sorted(left.words) == sorted(right.words)):
        return None
    reason = "honorific" if left.words == right.words else "initials"
    return Verdict(0.95, "token_order" if a.ordered == b.ordered else reason)


def _reordered(a: Prepared, b: Prepared) -> Verdict | None:
    """Accept the same tokens in another order, if the order carries no meaning."""
    if _has_fixed_order(a) or (a.is_numbered and b.is_numbered):
        return None
    if _is_same_address(a, b):
        return Verdict(0.95, "token_order")
    if len(a.tokens) != len(b.tokens) or a.ordered != b.ordered:
        return None
    if a.numbers == b.numbers:
        turned = any(
            max(map(len, (*ours, *theirs)), default=0) <= _MAX_TURNED
            and _turned(ours) == _turned(theirs)
            for ours, theirs in (([a.tokens], [b.tokens]), (a.segments, b.segments))
        )
    else:
        # the words of a part say what its numbers mean: Suite 210, 55 Elm St
        named = (any(len(t) > 1 and t[0] not in "#@" for t in part) for part in a.segments)
        turned = sorted(a.segments) == sorted(b.segments) and all(named)
    return Verdict(0.95, "token_order") if turned else None


def _is_same_address(a: Prepared, b: Prepared) -> bool:
    """Say whether two addresses have the same words, and a common word beside each number."""
    if any(lexicon.ADDRESS_WORDS.isdisjoint(text.bag) for text in (a, b)):
        return False
    ours, theirs = Counter(a.tokens), Counter(b.tokens)
    extra, missing = [*(ours - theirs).elements()], [*(theirs - ours).elements()]
    has_country = bool(extra) is not bool(missing) and is_place(extra or missing)
    letters, others = ([t for t in text.tokens if len(t) == 1] for text in (a, b))
    if len(ours) > _MAX_ADDRESS or letters != others:
        return False
    if (extra or missing) and not has_country and aliases(extra).isdisjoint(aliases(missing)):
        return False
    beside, other = _beside_numbers(a.tokens), _beside_numbers(b.tokens)
    return bool(beside) and all(beside[number] & other[number] for number in beside)


def _beside_numbers(tokens: Sequence[str]) -> defaultdict[str, set[str]]:
    """Return the words beside each number; only the one before it if it is Suite or the like."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for before, token, after in zip(("", *tokens), tokens, (*tokens[1:], ""), strict=False):
        if token[0] == "#":
            is_own = before in lexicon.DESIGNATORS
            found[token] |= {before} if is_own else {before, after} - lexicon.DESIGNATORS - {""}
    return found


def _turned(parts: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Write parts and their halves in one order: Finance Director is Director, Finance."""
    return sorted(min(part[i:] + part[:i] for i in range(len(part))) for part in parts)


def _has_fixed_order(text: Prepared) -> bool:
    """Say whether the order of the words carries meaning: text to image, Washington University."""
    if not lexicon.DIRECTIONAL.isdisjoint(text.words):
        return True
    is_university = "university" in text.bag and len(text.tokens) <= _UNIVERSITY_NAME
    return is_university and not lexicon.FIXED_ORDER.isdisjoint(text.bag)


def _by_blocks(a: Prepared, b: Prepared) -> Verdict:
    """Explain each difference; in long texts, lost last sentences are none."""
    sizes = len(a.tokens), len(b.tokens)
    if max(sizes) > _MAX_DIFF_TOKENS:
        return Verdict(_graded(a, b), "different")
    is_long = max(sizes) >= SHORT_TOKENS
    is_hopeless = min(sizes) >= _TRUNCATION_TOKENS and (
        Indel.normalized_similarity(a.tokens, b.tokens) < _COMMON
    )
    reasons: list[str] = []
    left: list[Block] = []
    blocks = [] if is_hopeless else _blocks(a, b)
    for block in blocks:
        if is_long and left and not conflict(block.gold, block.predicted):
            continue  # it fails already; another block may say why
        if reason := explain_block(block, len(blocks) == 1, a, b):
            reasons.append(reason)
        else:
            left.append(block)
    if not is_long and len(left) > 1 and (moved := _explain_moved(left, a, b)):
        left, reasons = [], [*reasons, moved]
    if reasons and not left:
        return Verdict(0.9 if "typo" in reasons else 0.95, reasons[0])
    if is_long and (score := _score_truncated(a, b)) is not None:
        return Verdict(score, "truncated")
    found = next((c for x in left if (c := conflict(x.gold, x.predicted))), None)
    one, two = a.person, b.person
    if found is None and one and two and (one.marked or two.marked):
        found = "different_name" if same_person(one, two) is False else None
    return Verdict(_graded(a, b), found or "different")


def _blocks(a: Prepared, b: Prepared) -> list[Block]:
    """Return the differences; those that touch are one."""
    x, y = a.tokens, b.tokens
    shorter, start, end = min(len(x), len(y)), 0, 0
    while start < shorter and x[start] == y[start]:
        start += 1
    while end < shorter - start and x[-1 - end] == y[-1 - end]:
        end += 1
    gold, predicted = x[start : len(x) - end], y[start : len(y) - end]
    if len(gold) <= 1 or len(predicted) <= 1 or frozenset(gold).isdisjoint(predicted):
        return [Block(gold, predicted, start, start)]
    spans: list[list[int]] = []  # start and end in gold, start and end in predicted
    for op in Indel.opcodes(x, y):
        if op.tag == "equal":
            continue
        span = [op.src_start, op.src_end, op.dest_start, op.dest_end]
        if spans and spans[-1][1] == span[0] and spans[-1][3] == span[2]:
            spans[-1][1], spans[-1][3] = span[1], span[3]
        else:
            spans.append(span)
    return [Block(x[i:j], y[m:n], i, m) for i, j, m, n in spans]


def _explain_moved(left: list[Block], a: Prepared, b: Prepared) -> str | None:
    if _has_fixed_order(a) or a.ordered == b.ordered:
        return None
    gold = [t for block in left for t in block.gold]
    predicted = [t for block in left for t in block.predicted]
    for token in list(gold):
        if token in predicted and token[0] not in "#@":
            gold.remove(token)
            predicted.remove(token)
    if gold and predicted:
        return explain(gold, predicted, a, b)
    return "token_order" if not gold and not predicted and a.numbers == b.numbers else None


def _score_truncated(a: Prepared, b: Prepared) -> float | None:
    """Score a text that lacks the last sentences of the other; None if more differs."""
    short, long = sorted((a, b), key=lambda text: len(text.unified))
    end = short.unified[-_SENTENCE_END:]
    if len(long.tokens) < _TRUNCATION_TOKENS or not end.endswith((".", "!", "?")):
        return None
    stop = long.unified.find(end, int(_TRUNCATION_KEPT * len(short.unified))) + len(end)
    if stop < len(end) or stop == len(long.unified):
        return None
    beginning = prepare(long.unified[:stop])
    if short.tokens != beginning.tokens:
        blocks = _blocks(short, beginning)
        if not all(explain_block(x, len(blocks) == 1, short, beginning) for x in blocks):
            return None
    share = len(beginning.tokens) / len(long.tokens)
    if share >= _TRUNCATION_KEPT:
        return 0.7 + 0.7 * (share - _TRUNCATION_KEPT)
    return _FAIL_CEILING * share / _TRUNCATION_KEPT


def _graded(a: Prepared, b: Prepared) -> float:
    """Grade a failed pair in [0, 0.65] by characters and common tokens."""
    ratio = fuzz.ratio(a.folded[:_MAX_RATIO], b.folded[:_MAX_RATIO])
    overlap = 2 * len(a.bag & b.bag) / (len(a.bag) + len(b.bag))
    return _FAIL_SHARE * (0.5 * (ratio / 100) + 0.5 * overlap)


def _compare_huge(gold: str, predicted: str) -> Verdict:
    a, b = gold.casefold().split(), predicted.casefold().split()
    if a == b:
        return Verdict(1.0, "case")
    left, right = set(a), set(b)
    share = 2 * len(left & right) / max(1, len(left) + len(right))
    return Verdict(_FAIL_SHARE * share, "different")


# --- choosing a judge, and asking it ------------------------------------------------------------


def choose_judge(judge: str | Judge, what: str = "judge") -> Judge:
    """Return the judge that an option names."""
    if getattr(judge, "is_model", False):  # an LLM, with the options of its client
        made: Judge = registered("model_judge")(judge)
        return made
    if not isinstance(judge, str):
        named = isinstance(getattr(judge, "name", None), str)
        if isinstance(judge, type) or not callable(getattr(judge, "compare", None)) or not named:
            raise InputError(
                f"{what} is {judge!r}; expected 'offline', the id of a model, such as "
                "'openai/gpt-4o-mini', or an object with a name and a method "
                "compare(gold, predicted) that returns a Verdict"
            )
        return judge
    if judge == "offline":
        return OfflineJudge()
    if "/" not in judge:
        unknown = "unknown judge" if what == "judge" else f"{what} is"
        raise InputError(
            f"{unknown} {judge!r}; {nearest(judge, ['offline'])}; a model is named with its "
            "provider, 'openai/gpt-4o-mini'"
        )
    chosen: Judge = registered("model_judge")(judge)
    return chosen


def judge_of_document(judge: Judge, gold: Any, predicted: Any) -> Judge:
    """Return the judge for the two documents that are compared."""
    for_document = getattr(judge, "for_document", None)
    chosen: Judge = judge if for_document is None else for_document(gold, predicted)
    return chosen


async def verdict_of(judge: Judge, question: Question) -> Any:
    """Return a judge's verdict: from ``ask`` if it has one, else from ``compare``."""
    ask = getattr(judge, "ask", None)
    if callable(ask):
        return await ask(question)
    found: Any = judge.compare(json_text(question.gold), json_text(question.predicted))
    return await found if inspect.isawaitable(found) else found


def check_judge(judge: Judge, params: Mapping[str, Any]) -> None:
    """Run a judge's own check, if it has one, before any work."""
    check = getattr(judge, "check", None)
    if check is not None:
        check(params)
