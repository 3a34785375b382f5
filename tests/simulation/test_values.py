"""Corruptions of single values change what they say, and no more than they should."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.simulation.catalogue import VALUE_CORRUPTIONS, corrupt, kind_of, kinds
from extractbench_nb.simulation.documents import Draws, generator, some

TEXT = "The loan of 25 million euros is due on 6 April 2031 and Limited to one Street"
TEXTS = sorted(name for name in VALUE_CORRUPTIONS if "string" in kinds(name))
NUMBERS = sorted(name for name in VALUE_CORRUPTIONS if "number" in kinds(name))
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


@pytest.mark.parametrize(
    "value", [None, True, [], {}, float("nan"), pytest.param(10**400, id="huge"), "", object()]
)
def test_what_is_left_alone(value: object) -> None:
    assert kind_of(value) is None


@pytest.mark.parametrize("name", ["case", "changed_digit", "truncation"])
def test_what_is_changed_at_one_strength_is_changed_at_a_higher_one(name: str) -> None:
    strengths = (0.05, 0.3, 0.6, 1.0)
    found = [corrupt(name, TEXT, strength, "1").ljust(len(TEXT)) for strength in strengths]
    changed = [{i for i, c in enumerate(TEXT) if text[i] != c} for text in found]
    assert all(one < other for one, other in itertools.pairwise(changed))


@given(st.lists(st.integers(), min_size=1, max_size=30), STRENGTH, STRENGTH)
def test_a_higher_share_keeps_what_a_lower_one_chose(
    found: list[int], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    places = list(enumerate(found))
    few, many = (some(places, share, generator("s")) for share in (low, high))
    assert 1 <= len(few) <= len(many)
    assert set(few) <= set(many)
    assert many == sorted(many)


@given(st.text(st.characters(exclude_categories=()), max_size=20), STRENGTH, STRENGTH)
def test_a_place_that_is_drawn_is_drawn_at_every_higher_rate(
    path: str, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert not Draws("s", low).hits(path) or Draws("s", high).hits(path)
    assert Draws("s", 1.0).hits(path)
    assert not Draws("s", 0.0).hits(path)


def test_draws_are_as_frequent_as_the_rate_and_independent() -> None:
    n, rate = 20_000, 0.3
    one, other = ([Draws(seed, rate).hits(f"$[{i}]") for i in range(n)] for seed in ("1", "2"))
    error = (rate * (1 - rate) / n) ** 0.5
    assert abs(sum(one) / n - rate) < 4 * error
    both: Any = sum(a and b for a, b in zip(one, other, strict=True)) / n
    assert abs(both - rate**2) < 4 * (rate**2 * (1 - rate**2) / n) ** 0.5
