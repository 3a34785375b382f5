"""Corruptions change what they say, and a metric's answer to them is counted right."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.benchmark.corruptions import CHANGED, CORRUPTIONS, KEPT, Corruption, corrupt
from extractbench_nb.benchmark.sensitivity import SENSITIVITY_COLUMNS, sensitivity
from extractbench_nb.errors import ConfigError, InputError
from extractbench_nb.judges.base import Verdict
from extractbench_nb.metrics import REGISTRY, metric

TEXT = "The loan of 25 million euros is due on 6 April 2031"
TEXTS = [c for c in CORRUPTIONS if c.kind == "string"]
NUMBERS = [c for c in CORRUPTIONS if c.kind == "number"]
STRENGTH = st.floats(min_value=0.01, max_value=1)
ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=60)
ANY_NUMBER = st.integers(-(10**30), 10**30) | st.floats(-1e300, 1e300)

by_name = {"ids": lambda c: c.name if isinstance(c, Corruption) else None}


@pytest.fixture
def user_metrics() -> Iterator[None]:
    before = dict(REGISTRY.entries)
    yield
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)


@pytest.mark.parametrize("corruption", TEXTS, **by_name)
@given(text=ANY_TEXT, strength=STRENGTH)
def test_a_corrupted_text_is_another_text(corruption: Any, text: str, strength: float) -> None:
    found = corrupt(corruption, text, strength, "1")
    assert found is None or (isinstance(found, str) and found != text)
    assert found == corrupt(corruption, text, strength, "1")


@pytest.mark.parametrize("corruption", NUMBERS, **by_name)
@given(number=ANY_NUMBER, strength=STRENGTH)
def test_a_corrupted_number_is_another_number(
    corruption: Any, number: float, strength: float
) -> None:
    found = corrupt(corruption, number, strength, "1")
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
    ],
)
def test_texts(name: str, value: str, expected: str | None) -> None:
    corruption = next(c for c in TEXTS if c.name == name)
    assert corrupt(corruption, value, 1.0, "1") == expected


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
    ],
)
def test_numbers(name: str, value: float, strength: float, expected: float | None) -> None:
    corruption = next(c for c in NUMBERS if c.name == name)
    assert corrupt(corruption, value, strength, "1") == expected


@pytest.mark.parametrize("corruption", TEXTS, **by_name)
def test_strength_is_a_share(corruption: Any) -> None:
    def distance(strength: float) -> int:
        found = corrupt(corruption, TEXT, strength, "1") or ""
        same = sum(a == b for a, b in zip(found, TEXT, strict=False))
        return max(len(found), len(TEXT)) - same

    assert distance(0.05) <= distance(1.0)


def test_the_frame() -> None:
    frame = sensitivity(["string_exact", "string_fuzzy"], [TEXT], strengths=[0.2, 0.8])
    assert frame.columns.tolist() == SENSITIVITY_COLUMNS.names
    assert len(frame) == 2 * 2 * len(TEXTS)
    exact = frame[frame["metric"] == "string_exact"]
    assert (exact["score"] == 0).all()
    assert (exact["pass_rate"] == 0).all()
    assert (frame["lowest"] <= frame["score"]).all()
    shared = ["corruption", "strength", "values"]
    other = frame[frame["metric"] == "string_fuzzy"]
    assert exact[shared].to_numpy().tolist() == other[shared].to_numpy().tolist()


def test_the_same_seed_gives_the_same_frame() -> None:
    one, two, other = (sensitivity("string_fuzzy", [TEXT], seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert one["corrupted"].tolist() != other["corrupted"].tolist()


def test_the_offline_judge_keeps_meaning_and_change_apart() -> None:
    frame = sensitivity("string_semantic", [TEXT, "Northwind Paper, Inc.", "6 April 2031"])
    rates = frame.groupby(["meaning", "corruption"])["pass_rate"].mean()
    assert (rates[KEPT] == 1).all()
    assert rates[CHANGED, "changed_digit"] == 0


def test_texts_and_numbers_together() -> None:
    frame = sensitivity("string_exact", ["25 million", 25], corruptions=["changed_digit"])
    assert frame["values"].min() >= 2
    assert frame["meaning"].unique().tolist() == [CHANGED]


def test_what_does_not_apply_has_no_score() -> None:
    frame = sensitivity("string_exact", ["word"], corruptions=["changed_digit", "dropped_word"])
    assert (frame["values"] == 0).all()
    assert frame[["score", "lowest", "pass_rate"]].isna().all(axis=None)


def test_a_judge_of_the_users() -> None:
    class Lenient:
        name = "lenient"

        def compare(self, gold: str, predicted: str) -> Verdict:
            return Verdict(1.0, "lenient")

    frame = sensitivity("string_semantic", [TEXT], judge=Lenient())
    assert (frame["pass_rate"] == 1).all()


@pytest.mark.usefixtures("user_metrics")
def test_metrics_of_the_users() -> None:
    @metric("same_length", applies_to="string")
    def same_length(gold: str, predicted: str, *, threshold: float = 0.5) -> float:
        return float(len(gold) == len(predicted))

    @metric("same_length_later", applies_to="string")
    async def later(gold: str, predicted: str) -> bool:
        return len(gold) == len(predicted)

    params = {"metric_id": "same_length", "params": {"threshold": 0.0}}
    frame = sensitivity([same_length, "same_length_later", params], [TEXT], corruptions=["case"])
    assert frame["metric"].unique().tolist() == ["same_length", "same_length_later"]
    assert (frame["pass_rate"] == 1).all()
    cut = sensitivity(params, [TEXT], corruptions=["truncation"])
    assert (cut["score"] == 0).all()
    assert (cut["pass_rate"] == 1).all()


@pytest.mark.usefixtures("user_metrics")
def test_a_metric_that_raises_gives_no_verdict_and_passes_nothing() -> None:
    @metric("broken", applies_to="string")
    def broken(gold: str, predicted: str) -> float:
        if predicted.isupper():
            raise ValueError("capitals")
        return 1.0

    values = ["abc", "Dear"]
    frame = sensitivity(broken, values, corruptions=["case"], strengths=[1.0], repeats=1)
    (row,) = frame.to_dict("records")
    assert (row["values"], row["errors"]) == (2, 1)
    assert (row["score"], row["pass_rate"]) == (1.0, 0.5)


def test_several_metrics_of_one_field_all_have_to_pass() -> None:
    both = {"metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_exact"}]}
    frame = sensitivity(both, [TEXT], corruptions=["case"], strengths=[0.1])
    (row,) = frame.to_dict("records")
    assert row["pass_rate"] == 0
    assert 0 < row["score"] < 1


def test_values_are_read_from_a_column_and_left_alone() -> None:
    column = pd.Series(["a word", None, pd.NA, np.nan, "a word", ""], dtype=object)
    before = column.copy()
    frame = sensitivity("string_exact", column, corruptions=["word_order"], repeats=1)
    assert frame["values"].unique().tolist() == [1]
    pd.testing.assert_series_equal(column, before)
    numbers = pd.Series([1240.5, 1240.5], dtype="Float64")
    assert (sensitivity("number_exact", numbers, corruptions=["sign"])["values"] == 1).all()


@pytest.mark.parametrize(
    "values, options, said",
    [
        ("one text", {}, r"expected a list of values, found one text"),
        ([], {}, r"found no text and no number"),
        ([None, ""], {}, r"found no text and no number"),
        ([True], {}, r"values hold True; expected texts and numbers"),
        ([{"a": 1}], {}, r"values hold \{'a': 1\}"),
        ([float("inf")], {}, r"values hold inf"),
        ([10**400], {}, r"expected numbers up to 1e\+300"),
        (["a"], {"strengths": [0]}, r"strengths=\[0\]; expected numbers above 0"),
        (["a"], {"strengths": []}, r"strengths=\[\]"),
        (["a"], {"repeats": 0}, r"repeats=0; expected 1 or more"),
        (["a"], {"corruptions": ["tpyo"]}, r"'tpyo'; did you mean 'typo'"),
    ],
)
def test_bad_input(values: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        sensitivity("string_exact", values, **options)


def test_an_unknown_metric() -> None:
    with pytest.raises(ConfigError, match=r"string_exact"):
        sensitivity("string_exakt", ["a word"])
    with pytest.raises(InputError, match=r"is not registered; decorate it with @metric"):
        sensitivity(len, ["a word"])
