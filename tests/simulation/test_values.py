"""Corruptions of single values change what they say, and no more than they should."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.simulation.value_corruptions import VALUE_CORRUPTIONS, corrupt

TEXT = "The loan of 25 million euros is due on 6 April 2031 and Limited to one Street"
TEXTS = sorted(name for name, (*_, kinds) in VALUE_CORRUPTIONS.items() if "string" in kinds)
NUMBERS = sorted(name for name, (*_, kinds) in VALUE_CORRUPTIONS.items() if "number" in kinds)
STRENGTH = st.floats(min_value=0.01, max_value=1)
ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=60)
ANY_NUMBER = st.integers(-(10**30), 10**30) | st.floats(-1e300, 1e300)


@pytest.mark.parametrize("name", TEXTS)
@given(text=ANY_TEXT, strength=STRENGTH)
def test_a_corrupted_text_is_another_text(name: str, text: str, strength: float) -> None:
    found = corrupt(name, text, strength, text)
    assert found is None or (isinstance(found, str) and found != text)
    assert found == corrupt(name, text, strength, text)


@pytest.mark.parametrize("name", NUMBERS)
@given(number=ANY_NUMBER, strength=STRENGTH)
def test_a_corrupted_number_is_another_number(name: str, number: float, strength: float) -> None:
    found = corrupt(name, number, strength, "1")
    assert found is None or (type(found) is type(number) and found != number)


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("case", "Acme", "aCME"),
        ("case", "12-34", None),
        ("word_order", "Smith John", "John Smith"),
        ("word_order", "Smith", None),
        ("word_order", "no no", None),
        ("dropped_word", "Smith", None),
        ("truncation", "abcdefghij", "a"),
        ("truncation", "a", None),
        ("changed_digit", "no digit", None),
        ("unit", "25 million", "25 billion"),
        ("unit", "$", "€"),
        ("unit", "4.5%", "4.5 bp"),
        ("unit", "millionaire", None),
        ("typo", "a b c", None),
        ("abbreviation", "12 River Street", "12 River St."),
        ("abbreviation", "Streetwise", None),
        ("abbreviation", "SCIENCE AND TECHNOLOGY", "Sci. & Tech."),
        ("date_format", "in 2031", None),
        ("date_format", "2031-13-06", None),
        ("date_format", "6 april 2031", None),
        ("date_format", "12031-04-06", None),
        ("sign", "3", None),
    ],
)
def test_texts(name: str, value: str, expected: str | None) -> None:
    assert corrupt(name, value, 1.0, "1") == expected


DATES = ("2031-04-06", "6 April 2031", "April 6, 2031")


@pytest.mark.parametrize("date", DATES)
def test_a_date_is_written_in_the_other_formats(date: str) -> None:
    found = {corrupt("date_format", f"due {date}.", 0.3, str(seed)) for seed in range(20)}
    assert found == {f"due {other}." for other in DATES if other != date}


@pytest.mark.parametrize(
    "name, value, strength, expected",
    [
        ("sign", 3, 1.0, -3),
        ("sign", 0, 1.0, None),
        ("unit", 2, 0.1, 2_000),
        ("unit", 2, 1.0, 2_000_000),
        ("rounding", 1234, 0.5, 1200),
        ("rounding", 1234, 1.0, 1000),
        ("rounding", 5, 1.0, None),
        ("rounding", 0.0, 1.0, None),
        ("changed_digit", 1e22, 1.0, None),
        ("sign", True, 1.0, None),
        ("sign", None, 1.0, None),
        ("sign", float("nan"), 1.0, None),
        ("sign", float("inf"), 1.0, None),
        pytest.param("sign", 10**400, 1.0, None, id="sign-huge"),
    ],
)
def test_numbers(name: str, value: float, strength: float, expected: float | None) -> None:
    assert corrupt(name, value, strength, "1") == expected


@pytest.mark.parametrize("name", ["case", "changed_digit", "truncation"])
def test_what_is_changed_at_one_strength_is_changed_at_a_higher_one(name: str) -> None:
    strengths = (0.05, 0.3, 0.6, 1.0)
    found = [corrupt(name, TEXT, strength, "1").ljust(len(TEXT)) for strength in strengths]
    changed = [{i for i, c in enumerate(TEXT) if text[i] != c} for text in found]
    assert all(one < other for one, other in itertools.pairwise(changed))
