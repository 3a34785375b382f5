"""Numbers and quantities in text: values, units, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.text.quantities import Quantity, read_number, read_tokens
from extractbench_nb.support.folding import unify


@pytest.mark.parametrize(
    "text, value, unit",
    [
        ("1500000", 1_500_000, ""),
        ("1,500,000", 1_500_000, ""),
        ("1 500 000", 1_500_000, ""),
        ("1.500.000", 1_500_000, ""),
        ("1.500.000,25", 1_500_000.25, ""),
        ("12,5", 12.5, ""),
        (".5", 0.5, ""),
        ("3 1/2", 3.5, ""),
        ("3½", 3.5, ""),
        ("$1.5 million", 1_500_000, "usd"),
        ("$1.5m", 1_500_000, "usd"),
        ("USD $1,100", 1_100, "usd"),
        ("CAD $1,100", 1_100, "cad"),
        ("Ten Million Dollars ($10,000,000)", 10_000_000, "usd"),
        ("2 min 5.5 s", 125.5, "s"),
        ("1 h 30 min", 90, "min"),
        ("6 ft 2 in.", 74, "inch"),
        ("2 years and 6 months", 30, "months"),
        ("6,000 sq. ft", 6_000, "sqft"),
        ("1,500,000 USD", 1_500_000, "usd"),
        ("US$100,000", 100_000, "usd"),
        ("C$5", 5, "cad"),
        ("GBP 3.2bn", 3_200_000_000, "gbp"),
        ("€40", 40, "eur"),
        ("750 million dollars", 750_000_000, "usd"),
        ("100 thousand", 100_000, ""),
        ("1.2k", 1_200, ""),
        ("(1,204)", -1_204, ""),
        ("-1,204", -1_204, ""),
        ("−1,204", -1_204, ""),
        ("$ (35.2) million", -35_200_000, "usd"),
        ("-$35.2 million", -35_200_000, "usd"),
        ("+5%", 5, "%"),
        ("12.5 %", 12.5, "%"),
        ("12.5 per cent", 12.5, "%"),
        ("50 basis points", 50, "bps"),
        ("three", 3, ""),
        ("twenty-five", 25, ""),
        ("one hundred and twenty", 120, ""),
        ("two million five hundred thousand dollars", 2_500_000, "usd"),
        ("five (5)", 5, ""),
        ("2nd", 2, "ord"),
        ("second", 2, "ord"),
        ("5 km", 5, "km"),
        ("16GB", 16, "gb"),
        ("30 degrees Celsius", 30, "°c"),
        ("400m", 400, "m"),
        ("'19", 2019, ""),
    ],
)
def test_read_quantity(text, value, unit):
    assert Quantity.read(text) == Quantity(pytest.approx(value), unit)
    assert read_number(text) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    ["", "abc", "N/A", "33-37", "ISO 9001", "1.2.3", "1:03.28", "10-K", "5 6", "-", "$", "hundred",
     "123456789012345678901", "3 business days"],
)  # fmt: skip
def test_not_one_number(text):
    assert read_number(text) is None


@pytest.mark.parametrize(
    "text",
    ["<5", ">5", "≤5", "≥ 5", "< $5", "=5", "~5", "≈5", "±5", "5+", "5-", "5 -", "5−", "1,000.00-",
     "(5-)", "--5", "-five", "(5", "5)", "[5]", "5?", "5~", "#5", "5/", "5 km-"],
)  # fmt: skip
def test_a_number_with_another_mark_is_not_a_number(text):
    assert read_number(text) is None


@pytest.mark.parametrize(
    "text, value",
    [("5.", 5), ("+5", 5), ("- 5", -5), ("(-5)", -5), ("$(5)", -5), ("(5%)", -5), ("(5 USD)", -5),
     ("(5 km)", 5), ("-£5", -5), ("€ 5,-", 5), ("'5'", 5), ('"1,000"', 1000), ("90°", 90),
     ("5 (kg)", 5), (" $ -5 ", -5)],
)  # fmt: skip
def test_marks_that_a_number_may_have_around_it(text, value):
    assert read_number(text) == value


@pytest.mark.parametrize(
    "a, b",
    [
        ("5 km", "5000 m"),
        ("90 min", "1.5 hours"),
        ("50 basis points", "0.5%"),
        ("12 months", "1 year"),
        ("1 mile", "1.609344 km"),
        ("1.5 TB", "1500 gigabytes"),
        ("1 GB", "1000 megabytes"),
        ("1 MB", "1000 kilobytes"),
        ("1 kB", "1000 bytes"),
        ("1 km", "100000 cm"),
        ("1 cm", "10 millimeters"),
        ("1 yard", "3 feet"),
        ("1 foot", "12 inches"),
        ("1 inch", "2.54 cm"),
        ("1 tonne", "1000 kg"),
        ("1 kg", "1000 grams"),
        ("1 gram", "1000 mg"),
        ("1 pound", "16 ounces"),
        ("1 lb", "453.59237 grams"),
        ("1 litre", "1000 ml"),
        ("1 minute", "60 seconds"),
        ("1 second", "1000 ms"),
        ("1 day", "24 hours"),
        ("1 week", "7 days"),
        ("1 hectare", "10000 sqm"),
        ("1 sqkm", "100 hectares"),
        ("1 acre", "43560 sqft"),
        ("1 GHz", "1000 MHz"),
        ("1 MHz", "1000000 Hz"),
        ("1 kW", "1000 watts"),
        ("1 MW", "1000 kW"),
        ("100 mph", "160.9344 kmh"),
        ("10 ‰", "1 %"),
    ],
)
def test_base_units(a, b):
    left, right = Quantity.read(a).to_base(), Quantity.read(b).to_base()
    assert left.unit == right.unit
    assert left.value == pytest.approx(right.value)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("five (5) years", ["5) years"]),
        ("C++ and C#", ["C++", "and", "C#"]),
        ("U.S. and R&D", ["US", "and", "RD"]),
        ("GPT-4 in Q2", ["GPT", "4", "in", "Q2"]),
        ("don't", ["dont"]),
        ("(555) 010-4477", ["555", "010", "4477"]),
        ("KH-1736g", ["KH", "1736", "g"]),  # a code, not grams
        ("KH-1736 g", ["KH", "1736 g"]),
        ("3m x 4m", ["3m", "x", "4m"]),
        ("twenty thirty", ["twenty", "thirty"]),
        ("five one", ["five", "one"]),
        ("twenty five one", ["twenty five", "one"]),
        ("", []),
    ],
)
def test_tokens(text, expected):
    assert [token.text for token in read_tokens(unify(text))] == expected


def test_a_hyphen_is_not_a_minus():
    values = [t.quantity.value for t in read_tokens("33-37, 5 - 3, -2")]
    assert values == [33, 37, 5, 3, -2]


@given(st.integers(-(10**12), 10**12))
def test_separators_do_not_change_the_value(number):
    assert read_number(f"{number:,}") == number
    assert read_number(str(number)) == number


@given(st.text())
def test_never_raises(text):
    number = read_number(text)
    assert number is None or isinstance(number, float)
