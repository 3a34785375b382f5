"""A metric's answer to values that were corrupted on purpose is counted right."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from extractbench_nb.core.field_metrics.registry import REGISTRY, metric
from extractbench_nb.core.text.judging import Verdict
from extractbench_nb.errors import ConfigError, InputError
from extractbench_nb.simulation.curves import SENSITIVITY_COLUMNS, sensitivity
from extractbench_nb.simulation.value_corruptions import CHANGED, KEPT, VALUE_CORRUPTIONS

TEXT = "The loan of 25 million euros to Oak Street Limited is due on 6 April 2031"
TEXTS = [name for name, (*_, kinds) in VALUE_CORRUPTIONS.items() if "string" in kinds]
RATES = [0.2, 0.8]


@pytest.fixture
def user_metrics() -> Iterator[None]:
    before = dict(REGISTRY.entries)
    yield
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)


def test_the_frame() -> None:
    frame = sensitivity(["string_exact", "string_fuzzy"], [TEXT], rates=RATES)
    assert frame.columns.tolist() == SENSITIVITY_COLUMNS.names
    assert frame.dtypes.astype(str).tolist() == [c.dtype for c in SENSITIVITY_COLUMNS.columns]
    assert len(frame) == 2 * len(RATES) * len(TEXTS)
    exact = frame[frame["metric"] == "string_exact"]
    assert (exact[["score", "pass_rate"]] == 0).all(axis=None)
    assert (exact["changed"] == 1).all()
    assert (frame["lowest"] <= frame["score"]).all()
    assert set(frame["measure"]) == {"field mean"}
    shared = ["corruption", "rate", "n"]
    other = frame[frame["metric"] == "string_fuzzy"]
    assert exact[shared].to_numpy().tolist() == other[shared].to_numpy().tolist()


def test_at_rate_0_every_value_meets_itself() -> None:
    frame = sensitivity("string_fuzzy", [TEXT, "word"], "changed_digit", [0, 1])
    assert frame["score"].iloc[0] == 1
    assert frame["score"].iloc[1] < 1
    assert frame["n"].tolist() == [1, 1]
    assert frame["changed"].tolist() == [0, 1]
    assert frame["corrupted"].iloc[0] is None


def test_the_offline_judge_keeps_meaning_and_change_apart() -> None:
    values = [TEXT, "Northwind Paper, Inc.", "6 April 2031"]
    frame = sensitivity("string_semantic", values, rates=[0.1, 0.3, 0.6])
    rates = frame.groupby(["meaning", "corruption"])["pass_rate"].mean()
    assert rates[KEPT].drop("abbreviation").eq(1).all()
    assert rates[CHANGED, "changed_digit"] == 0


def test_what_does_not_apply_has_no_score() -> None:
    frame = sensitivity("string_exact", ["word"], ["changed_digit", "dropped_word"])
    assert (frame["n"] == 0).all()
    missing = ["score", "low", "lowest", "pass_rate", "changed"]
    assert all(cell is pd.NA for cell in frame[missing].to_numpy().ravel())
    assert (frame["interval"] == "none").all()


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
    frame = sensitivity([same_length, "same_length_later", params], [TEXT], ["case"])
    assert frame["metric"].unique().tolist() == [
        "same_length",
        "same_length_later",
        "same_length(threshold=0.0)",
    ]
    assert (frame["pass_rate"] == 1).all()
    cut = sensitivity(params, [TEXT], ["truncation"], [0.5])
    assert (cut["score"] == 0).all()
    assert (cut["pass_rate"] == 1).all()


@pytest.mark.usefixtures("user_metrics")
def test_a_metric_that_raises_gives_no_verdict_and_passes_nothing() -> None:
    @metric("broken", applies_to="string")
    def broken(gold: str, predicted: str) -> float:
        if predicted.isupper():
            raise ValueError("capitals")
        return 1.0

    frame = sensitivity(broken, ["abc", "Dear"], ["case"], [1.0], repeats=1)
    (row,) = frame.to_dict("records")
    assert (row["n"], row["errors"]) == (2, 1)
    assert (row["score"], row["pass_rate"]) == (1.0, 0.5)


def test_values_are_read_from_a_column_and_left_alone() -> None:
    column = pd.Series(["a word", None, pd.NA, np.nan, "a word", ""], dtype=object)
    before = column.copy()
    frame = sensitivity("string_exact", column, ["word_order"], repeats=1)
    assert frame["n"].unique().tolist() == [1]
    pd.testing.assert_series_equal(column, before)
    numbers = pd.Series([1240.5, 1240.5], dtype="Float64")
    assert (sensitivity("number_exact", numbers, "sign")["n"] == 1).all()


def test_hostile_values() -> None:
    values = ["\ud800 lone 12", "<script>1</script>", "a\nb | c", "x" * 100_000, "\x00 7"]
    frame = sensitivity("string_exact", values, rates=[0.5], repeats=1)
    assert frame.loc[frame["corruption"].eq("changed_digit"), "n"].tolist() == [3]


@pytest.mark.parametrize(
    "values, options, said",
    [
        ("one text", {}, r"data is 'one text'; expected a dataset, a list of \(schema, gold\)"),
        ({"a": 1}, {}, r"data is \{'a': 1\}"),
        (pd.DataFrame({"schema": ["a"]}), {}, r"data is schema 0 a; expected"),
        ([], {}, r"nothing fits the data"),
        ([True], {}, r"data holds True; expected texts and numbers"),
        ([{"a": 1}], {}, r"data holds \{'a': 1\}"),
        ([10**400], {}, r"expected texts and numbers up to 1e300"),
        (["a"], {"rates": [-1]}, r"rate=-1; it is a share from 0 to 1"),
        (["a"], {"rates": ["0.5"]}, r"rate='0.5'; "),
        (["a"], {"rates": []}, r"rates=\[\]: nothing fits"),
        (["a"], {"corruption": []}, r"corruption=\[\].*nothing fits"),
        (["-5 EUR"], {"corruption": ["sign"]}, r"corruption=\['sign'\].*nothing fits"),
        (["a"], {"corruption": "drop_items"}, r"'drop_items'.*nothing fits"),
        (["a"], {"corruption": ["tpyo"]}, r"'tpyo'; did you mean 'typo'"),
        (["a"], {"repeats": 0}, r"repeats=0; expected 1 or more"),
        (["a"], {"measure": "score"}, r"measure='score'"),
        (["a"], {"seed": -1}, r"seed=-1"),
    ],
)
def test_bad_input(values: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        sensitivity("string_exact", values, **options)


@pytest.mark.parametrize(
    "tried, error, said",
    [
        ("string_exakt", ConfigError, "unknown metric or profile 'string_exakt'.*string_exact"),
        ("papre", ConfigError, "did you mean 'paper'"),
        ({"metric_id": "string_fuzzy", "params": {"threshold": 7}}, ConfigError, "threshold is 7"),
        (len, InputError, "is not registered; decorate it with @metric"),
        ([], InputError, "nothing fits"),
        ("skip", InputError, "'skip' scored 0 of 1 values"),
    ],
)
def test_what_cannot_be_tried(tried: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        sensitivity(tried, ["a word"], "word_order", [1], repeats=1)
