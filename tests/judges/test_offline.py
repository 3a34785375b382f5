"""What the offline judge promises for every pair of strings, and its reasons."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.core.text.judging import Judge, Verdict
from extractbench_nb.core.text.offline_judge import OfflineJudge, similarity
from extractbench_nb.core.text.quantities import read_number

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
        ("hand writing recognition", "handwritting recognition", "typo"),
        ("Colour vision", "Color vision", "spelling"),
        ("State of New York", "New York", "place"),
        ("Email: a@b.org", "a@b.org", "label"),
        ("Seoul, South Korea", "Seoul, Republic of Korea", "abbreviation"),
        ("Munich", "München", "abbreviation"),
        ("Boston, Massachusetts", "Boston, MA, USA", "place"),
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


@pytest.mark.parametrize("words", range(-4, 0))
def test_a_long_text_is_not_cut_inside_a_sentence(words):
    text = " ".join(SENTENCES)
    assert JUDGE.compare(text, " ".join(text.split()[:words])).score < 0.7


@pytest.mark.parametrize(
    "gold, predicted",
    [
        ("$1.50 per share", "$150 per share"),
        ("54.5 m²", "545 m²"),
        ("EBITDA -3.1m", "EBITDA 3.1m"),
        ("EPS $(0.12)", "EPS $0.12"),
        ("Net loss (3.10)", "Net loss 3.10"),
        ("p < 0.05", "p > 0.05"),
        ("p < 0.05", "p = 0.05"),
        ("10 ± 2 mm", "10 + 2 mm"),
        ("HER2+", "HER2-"),
        ("HER2+", "HER2"),
        ("ER- disease", "ER disease"),
        ("18+ years", "18 years"),
        ("5 mg/kg", "5 mg"),
        ("Price (EUR/kg)", "Price (EUR)"),
        ("$5 per share", "$5 per unit"),
        ("03/04/2024", "04/03/2024"),
        ("2024-03-04 14:30", "2024-03-04 16:45"),
        ("14:30", "2:30 AM"),
        ("Street 12", "Street 12a"),
        ("Street 12a", "Street 12b"),
        ("Lender: Bank A; Borrower: Bank B", "Lender: Bank B; Borrower: Bank A"),
        ("Smith (plaintiff), Jones (defendant)", "Jones (plaintiff), Smith (defendant)"),
        ("Sold to Acme", "Sold by Acme"),
        ("3' - 0\"", '3"- 0"'),
        ("20° north", "20 north"),
        ("20%", "20"),
        ("5%", "5 percentage points"),
        ("10 Mbps", "10 MBps"),
        ("5 mW", "5 MW"),
        ("10³ cells", "103 cells"),
        ("10⁻³ cells", "10³ cells"),
        ("1.5e-3", "1.5e3"),
        ("Python 3.10", "Python 3.1"),
        ("Items 1 23", "Items 12 3"),
        ("anna.berg@maple.org", "anna.bcrg@maple.org"),
        ("https://maple.org/modern/12", "https://maple.org/modem/12"),
        ("Bank of America, N.A.", "Bank of America, L.A."),
        ("the rights of any holder", "the rights of holder"),
        # a sign that is a value of its own
        ("HBsAg (+)", "HBsAg (-)"),
        ("Test: +", "Test: -"),
        ("Test +", "Test -"),
        ("Result: (+)", "Result: (−)"),
        ("Rh(D)+", "Rh(D)-"),
        ("CD4+CD8-", "CD4-CD8+"),
        ("(−)-menthol", "(+)-menthol"),
        # a sign after a word or a time
        ("UTC+1", "UTC-1"),
        ("UTC+1", "UTC 1"),
        ("GMT+05:30", "GMT-05:30"),
        ("10:00+02:00", "10:00-02:00"),
        ("SOFR+2.00%", "SOFR-2.00%"),
        ("SOFR + 2.00%", "SOFR - 2.00%"),
        ("EURIBOR+150", "EURIBOR-150"),
        ("T+2", "T-2"),
        ("day+1", "day-1"),
        ("y=x+1", "y=x-1"),
        ("y=x+z", "y=x-z"),
        ("LIBOR+2%", "LIBOR 2%"),
        # symbols
        ("x ≠ 5", "x = 5"),
        ("p=0.05", "p≠0.05"),
        ("x ≮ 5", "x < 5"),
        ("x ∈ A", "x ∉ A"),
        (">LOQ", "<LOQ"),
        ("<LOD", "LOD"),
        ("c.76A>T", "c.76A<T"),
        ("↑ LDL", "↓ LDL"),
        ("☑ Yes", "☐ Yes"),
        ("■ Yes", "□ Yes"),
        ("☒ male ☐ female", "☐ male ☒ female"),
        ("[x] male [ ] female", "[ ] male [x] female"),
        ("★★★☆☆ by guests", "★★★★★ by guests"),
        ("★★★ hotel", "★★★★ hotel"),
        ("A←B", "A→B"),
        ("[5, 10)", "(5, 10]"),
        ("[5, 10)", "[5, 10]"),
        ("CI [5, 10]", "CI [5, 20]"),
        ("on mistral.ai/a.b", "on mistral.ai/ab"),
        # units that differ in case
        ("5 nM", "5 nm"),
        ("10 mM", "10 mm"),
        ("2 pM", "2 pm"),
        ("0.1 M", "0.1 m"),
        ("10 mS", "10 ms"),
        ("5 MA", "5 mA"),
        ("7 MJ", "7 mJ"),
        ("100 kb", "100 kB"),
        ("10 S", "10 s"),
        ("5 H", "5 h"),
        # order that tells a role
        ("Smith v. Jones", "Jones v. Smith"),
        ("SMITH V. JONES", "JONES V. SMITH"),
        ("Roe vs. Wade", "Wade vs. Roe"),
        ("Paris - London", "London - Paris"),
        ("New York - London", "London - New York"),
        ("JFK-LAX", "LAX-JFK"),
        ("JFK-LAX, CDG-AMS", "LAX-JFK, CDG-AMS"),
        ("EUR/USD", "USD/EUR"),
        ("EN>DE", "DE>EN"),
        (
            "Ann Lee and Bo Kim, respectively CEO and CFO",
            "Bo Kim and Ann Lee, respectively CEO and CFO",
        ),
        ("Step A, Step B, Step C", "Step C, Step B, Step A"),
        # a comma before decimals, a point before thousands
        ("2.500 €", "2,50 €"),
        ("12.500 EUR", "12,50 EUR"),
        ("EUR 2.500", "EUR 2,50"),
        ("1.250 kg", "1,25 kg"),
        # codes and addresses
        ("#FF0000", "#FF000"),
        ("CAS 50-00-0", "CAS 50-0-00"),
        ("00501", "501"),
        ("ZIP 02139", "ZIP 2139"),
        ("A-007", "A-7"),
        ("SKU 10.50", "SKU 10.5"),
        ("john.smith@x.com", "johnsmith@x.com"),
        ("john_smith@x.com", "john.smith@x.com"),
        ("a-b@x.com", "ab@x.com"),
        ("Ann <ann@x.com>", "Ann <bo@x.com>"),
        ("http://x.com/a-b", "http://x.com/ab"),
        ("http://x.com/a/b", "http://x.com/ab"),
        ("my-site.com", "mysite.com"),
        ("See my-site.com for terms", "See mysite.com for terms"),
    ],
)
def test_marks_that_carry_meaning_are_not_dropped(gold, predicted):
    assert JUDGE.compare(gold, predicted).score < 0.7
    assert JUDGE.compare(f"Value: {gold}", f"Value: {predicted}").score < 0.7


@pytest.mark.parametrize(
    "gold, predicted",
    [
        ("€", "EUR"),
        ("h", "hours"),
        ("kg", "kilograms"),
        ("14:30", "2:30 PM"),
        ("12:30 a.m.", "00:30"),
        ("Müller & Söhne", "Mueller & Soehne"),
        ("p < 0.05", "p<0.05"),
        ("p < 0.05", "p less than 0.05"),
        ("HER2+", "HER2 positive"),
        ("HER2-", "HER2-negative"),
        ("5 mg/kg", "5 mg per kg"),
        ("54.5 m²", "54.5 square metres"),
        ("3' 6\"", "3 ft 6 in"),
        ("20°", "20 degrees"),
        ("1.5e-3", "1.5 × 10⁻³"),
        ("03/04/2024", "3/4/2024"),
        ("03/04/2024", "2024-04-03"),
        ("pre- and post-war", "pre- and postwar"),
        ('He said "in 1990"', "He said 'in 1990'"),
        ("EBITDA 3.1m", "EBITDA 3.1M"),
        ("2019-01-31T00:00:00.000Z", "31 January 2019"),
        ("out-of-date texts", "out-ofdate texts"),
        ("terms (a) one and (b) two", "terms (i) one and (ii) two"),
        ("COVID-19", "COVID 19"),
        ("HBsAg (+)", "HBsAg positive"),
        ("LIBOR+2%", "LIBOR plus 2%"),
        ("• item one", "item one"),
        ("5 KG", "5 kg"),
        ("5 L", "5 l"),
        ("2 PM", "2 pm"),
        ("LENGTH 10 M", "Length 10 m"),
        ("3D printing", "3d printing"),
        ("2.500 €", "2500 €"),
        ("1.250 kg", "1.25 kg"),
        ("Smith vs Jones", "Smith v. Jones"),
        ("SMITH V. JONES", "Smith v. Jones"),
        ("123-45-6789", "123 45 6789"),
        ("https://www.x.com/a-b/", "x.com/A-b"),
        ("Contact: mailto:a@b.org.", "Contact: a@b.org"),
        ("Ann <ann@x.com>", "Ann (ann@x.com)"),
        ("n/a", "N/A"),
        ("5 mg/d", "5 mg/day"),
        ("25 degrees C", "25 °C"),
        ("120/80 mm Hg", "120/80 mmHg"),
        ("5 kΩ", "5 kohm"),
        ("100 Mbps", "100 Mbit/s"),
        ("½", "0.5"),
        ("½", "1/2"),
        ("1e-5", "0.00001"),
        ("1 x 10^5", "100,000"),
        ("1'000'000", "1,000,000"),
        ("1h 30m", "1 h 30 min"),
        ("Mon", "Monday"),
        ("don't", "do not"),
        ("can't", "cannot"),
        ("w/o", "without"),
        ("α", "alpha"),
        ("5 mg twice daily", "5 mg BID"),
    ],
)
def test_marks_that_carry_no_meaning(gold, predicted):
    assert JUDGE.compare(gold, predicted).score >= 0.7


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
