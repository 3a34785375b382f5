"""What the offline judge promises for every pair of strings, and its reasons."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.core.text.judging import Judge, Verdict
from extractbench_nb.core.text.offline_judge import OfflineJudge, similarity
from extractbench_nb.core.text.quantities import read_number
from tests.judges.pairs import PASS, read_pairs

JUDGE = OfflineJudge()
SURROGATES = st.text(st.characters(categories=("Cs", "Cc", "Nd")))
ANY_TEXT = st.text(st.characters(), max_size=60) | SURROGATES
FRAGMENTS = """
    the of not Inc. Corp 5 5th $5 5% five (5) km 2021-04-06 May 6, J. Smith NY & , - ' " Ph.D.
    N.A. un secured [1] Q1 FY21 million and A B. New York State University to from ; : é 1:03 1.2.3
""".split()
WORDS = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join)
PAIRS = st.tuples(ANY_TEXT, ANY_TEXT) | st.tuples(WORDS, WORDS)


@pytest.mark.parametrize(
    "gold, predicted, reason",
    [
        ("abc", "abc", "identical"),
        ("", "", "identical"),
        ("Net Sales", "net sales", "case"),
        ("A-B, c", "a b c", "punctuation"),
        ("(5%)", "-5 %", "punctuation"),
        ("−5", "-5", "unicode"),
        ("naïve  set", "naive set", "unicode"),
        ("net\u00a0sales", "net  sales", "spacing"),
        ("UK", "United Kingdom", "abbreviation"),
        ("6 Apr 2025", "2025-04-06", "date"),
        ("04/06/2025", "2025-06-04", "date"),
        ("$1.5 million", "1,500,000 USD", "number"),
        ("5 km", "5000 m", "number"),
        ("$1.5 million", "1.5 million", "number"),
        ("Talbot Steel", "Talbot Steel Corp.", "legal_suffix"),
        ("NY", "New York", "abbreviation"),
        ("Dept. of Physics", "Department of Physics", "abbreviation"),
        ("J. Smith", "John Smith", "initials"),
        ("Dr. Helen Park", "Helen Park", "honorific"),
        ("Dr. Helen Mueller", "Helen Müller", "honorific"),
        ("Capt. Mary Colour Smith", "Mary Color Smith", "honorific"),
        ("French, English", "English, French", "token_order"),
        ("Stanley Steamers", "StanleySteamers", "spacing"),
        ("Colour vision", "Color vision", "spelling"),
        ("State of New York", "New York", "place"),
        ("Email: a@b.org", "a@b.org", "label"),
        ("Seoul, South Korea", "Seoul, Republic of Korea", "abbreviation"),
        ("Munich", "München", "abbreviation"),
        ("Boston, Massachusetts", "Boston, MA, USA", "abbreviation"),
        ("Vale Mining, a Delaware corporation", "Vale Mining", "legal_suffix"),
        ("Suite 210, 55 Elm St.", "55 Elm Street, Suite 210", "token_order"),
    ],
)
def test_same(gold, predicted, reason):
    verdict = JUDGE.compare(gold, predicted)
    assert verdict.reason == reason
    assert 0.7 <= verdict.score <= 1.0


@pytest.mark.parametrize(
    "gold, predicted, reason",
    [
        ("", "abc", "different"),
        ("2024-03-15", "2024-03-16", "different_date"),
        ("6 Apr 2025", "2025", "different_date"),
        ("12.5%", "12.6%", "different_number"),
        ("5 km", "5 miles", "different_number"),
        ("GPT-4 Turbo", "GPT-3 Turbo", "different_number"),
        ("Heat 3 Lane 4", "Heat 4 Lane 3", "different"),
        ("Rule 144", "Rule 144A", "different"),
        ("China", "Republic of China", "different"),
        ("may prepay", "may not prepay", "negation"),
        ("secured notes", "unsecured notes", "negation"),
        ("net increase", "net decrease", "opposite"),
        ("J. Smith", "K. Smith", "different_name"),
        ("Peter Helen Park", "Helen Park", "different"),
        ("Prof. Peter Helen Park", "Helen Park", "different"),
        ("Bank of America", "Bank of Armenia", "different"),
    ],
)
def test_not_the_same(gold, predicted, reason):
    verdict = JUDGE.compare(gold, predicted)
    assert verdict.reason == reason
    assert verdict.score < 0.7


CODES = st.from_regex(r"[A-Za-z]{1,4}[-_]?[0-9]{4,8}|[0-9]{8,12}", fullmatch=True)


@given(CODES, st.text("0123456789", min_size=12, max_size=12))
def test_codes_with_other_digits_differ_with_and_without_preparing(code, digits):
    fresh = iter(digits)
    other = "".join(next(fresh) if char.isdigit() else char for char in code)
    assert (JUDGE.compare(code, other).score >= 0.7) == (code == other)
    assert (JUDGE.compare(f"{code}.", other).score >= 0.7) == (code == other)


@pytest.mark.parametrize(
    "gold, predicted",
    [
        ("4155550187", "4155550188"),
        ("123456789012345", "123456789012346"),
        ("10.1145/3292500.3330701", "10.1145/3292500.3330702"),
        ("1,234,567,890.12", "1,234,567,890.13"),
    ],
)
def test_long_numbers_are_compared_to_the_last_digit(gold, predicted):
    assert JUDGE.compare(gold, predicted).score < 0.7
    assert JUDGE.compare(f"No. {gold}", f"No. {predicted}").score < 0.7


def test_failed_pairs_are_graded_by_nearness():
    gold = "Graph Neural Networks for Traffic Forecasting"
    ranked = [
        "Graph Neural Networks for Weather Forecasting",
        "Graph Kernels for Weather Forecasting",
        "Learning to Rank",
    ]
    scores = [JUDGE.compare(gold, predicted).score for predicted in ranked]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


SENTENCES = [
    f"Sentence {chr(97 + i)} has word{chr(97 + i)} and ten more such words in part {chr(97 + i)}."
    for i in range(20)
]


@pytest.mark.parametrize("kept, passes", [(19, True), (14, True), (10, False), (4, False)])
def test_a_long_text_may_lack_its_last_sentences(kept, passes):
    verdict = JUDGE.compare(" ".join(SENTENCES), " ".join(SENTENCES[:kept]))
    assert (verdict.score >= 0.7) is passes
    assert verdict.reason == "truncated"


@pytest.mark.parametrize(
    "word, damaged", [("scanned", "scarmed"), ("terms", "tenns"), ("onboarding", "onbaording")]
)
def test_damaged_words_count_as_one_in_running_text_only(word, damaged):
    running = (
        f"The {word} of this agreement between both parties apply to all pages and annexes here"
    )
    assert JUDGE.compare(running, running.replace(word, damaged)).reason == "typo"
    assert JUDGE.compare(f"The {word}", f"The {damaged}").score < PASS


@pytest.mark.parametrize("words", range(-4, 0))
def test_a_long_text_is_not_cut_inside_a_sentence(words):
    text = " ".join(SENTENCES)
    assert JUDGE.compare(text, " ".join(text.split()[:words])).score < 0.7


@pytest.mark.parametrize("pair", read_pairs("mark_pairs.json"), ids=lambda pair: pair.gold)
def test_marks_count_where_they_carry_meaning(pair):
    """Signs, symbols, units in upper and lower case, order and codes; not their spelling."""
    assert (JUDGE.compare(pair.gold, pair.predicted).score >= PASS) is pair.same
    if not pair.same:
        assert JUDGE.compare(f"Value: {pair.gold}", f"Value: {pair.predicted}").score < PASS


NUMBERS = st.sampled_from("5 -5 5.0 50 0.5 .5 5,000 (5.5) 5.5 -5.5 12 1.2 21 2.1 120".split())
CONTEXTS = st.sampled_from(["{}", "EBITDA {}", "profit of ${} in May", "{} mg", "p < {}"])


@given(NUMBERS, NUMBERS, CONTEXTS)
def test_other_digits_signs_or_points_are_never_accepted(one, two, context):
    same = read_number(one) == read_number(two)
    verdict = JUDGE.compare(context.format(one), context.format(two))
    assert (verdict.score >= 0.7) is same


def test_it_is_a_judge():
    assert isinstance(JUDGE, Judge)
    assert JUDGE.name == "offline"
    assert OfflineJudge() == JUDGE


@given(PAIRS)
@settings(max_examples=400, deadline=None)
def test_verdict_of_any_two_strings(pair):
    verdict = JUDGE.compare(*pair)
    assert isinstance(verdict, Verdict)
    assert 0.0 <= verdict.score <= 1.0
    assert verdict.reason
    assert JUDGE.compare(*pair) == verdict
    assert JUDGE.compare(*reversed(pair)) == verdict


@given(ANY_TEXT | WORDS)
@settings(deadline=None)
def test_a_text_means_itself(text):
    assert JUDGE.compare(text, text)[:3] == (1.0, "identical", None)
    assert JUDGE.compare(text, f" {text} ").score == 1.0


@given(PAIRS)
@settings(deadline=None)
def test_similarity_is_graded(pair):
    assert 0.0 <= similarity(*pair) <= 1.0
    assert similarity(*pair) == similarity(*reversed(pair))
    assert similarity(pair[0], pair[0]) == 1.0


@pytest.mark.parametrize("letters, reason", [(59, "spelling"), (60, "spelling"), (61, "different")])
def test_only_words_of_up_to_60_letters_are_explained(letters, reason):
    stem = "elektrizitaet" * 5
    gold, predicted = (stem[: letters - 7] + ending for ending in ("isation", "ization"))
    assert JUDGE.compare(gold, predicted).reason == reason
    assert JUDGE.compare(f"The {gold}", f"The {predicted}").reason == reason


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "word " * 200_000, "\ud800" * 1_000_000, "A." * 19_000, "(1)" * 13_000,
     "jan 1 2020 " * 3_000, "of the " * 5_000, "x\x00" * 10_000],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
def test_long_texts_come_to_an_end(text):
    verdict = JUDGE.compare(text, text[:-5] + "other")
    assert 0.0 <= verdict.score <= 1.0
    assert JUDGE.compare(text, text).score == 1.0


@pytest.mark.parametrize("pair", read_pairs("reported_pairs.json"), ids=str)
def test_pairs_that_were_judged_wrongly_once_and_pairs_like_them(pair):
    assert (JUDGE.compare(pair.gold, pair.predicted).score >= PASS) is pair.same


CONVENTIONS = read_pairs("convention_pairs.json")


@pytest.mark.parametrize("kind", sorted({pair.source for pair in CONVENTIONS}))
def test_conventions_of_writing_and_their_near_misses(kind):
    pairs = [pair for pair in CONVENTIONS if pair.source == kind]
    wrong = [p for p in pairs if (JUDGE.compare(p.gold, p.predicted).score >= PASS) != p.same]
    assert not wrong
