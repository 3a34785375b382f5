"""The params of a metric: which there are, which values are right, what to paste in a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.errors import ConfigError, ExtractBenchError, InputError
from extractbench_nb.views.workbench_model import Tuning

TWO = {
    "metrics": [
        {"metric_id": "string_fuzzy", "weight": 2, "params": {"threshold": 0.5}},
        {"metric_id": "string_fuzzy"},
        {"metric_id": "string_exact"},
    ],
    "aggregation_weight": 3,
}


@pytest.fixture
def overlap() -> Iterator[Any]:
    @xb.metric("overlap", applies_to="string")
    def overlap(gold: str, predicted: str, *, threshold: float = 0.6, n: int = 2) -> float:
        return float(gold[:n] == predicted[:n])

    yield overlap
    del REGISTRY.entries["overlap"]


@pytest.mark.parametrize(
    "metric, start, threshold",
    [
        ("string_exact", {}, None),
        ("string_fuzzy", {"threshold": 0.8, "case_sensitive": False}, "threshold"),
        ({"preset": "string_fuzzy"}, {"threshold": 0.8, "case_sensitive": False}, "threshold"),
        ("string_semantic", {"pass_threshold": 0.7}, "pass_threshold"),
        ("number_tolerance", {"tolerance": 0.001, "mode": "relative", "parse": "plain"}, None),
        (
            {"metric_id": "string_fuzzy", "params": {"threshold": 0.9}},
            {"threshold": 0.9, "case_sensitive": False},
            "threshold",
        ),
        (
            TWO,
            {
                "string_fuzzy.threshold": 0.5,
                "string_fuzzy.case_sensitive": False,
                "string_fuzzy#2.threshold": 0.8,
                "string_fuzzy#2.case_sensitive": False,
            },
            None,
        ),
    ],
)
def test_params_at_the_start(metric: Any, start: dict[str, Any], threshold: str | None) -> None:
    tuning = Tuning(metric)
    assert tuning.start == start
    assert tuning.threshold == threshold


def test_a_function_of_the_users(overlap: Any) -> None:
    tuning = Tuning(overlap)
    assert (tuning.name, tuning.start, tuning.own) == ("overlap", {"threshold": 0.6, "n": 2}, False)
    assert tuning.checked({"n": 3.0}) == {"n": 3}
    assert type(tuning.checked({"n": 3.0})["n"]) is int
    assert type(tuning.checked({"threshold": 1.0})["threshold"]) is float


def test_a_threshold_that_is_no_number(metric: Any) -> None:
    @metric("worded")
    def worded(gold: str, predicted: str, *, threshold: str = "high") -> float:
        return 1.0

    tuning = Tuning(worded)
    assert (tuning.threshold, tuning.mark(tuning.start)) == (None, None)


@pytest.mark.parametrize("metric", sorted({m.name for m in REGISTRY.entries.values()} - {"skip"}))
def test_the_config_of_every_metric_reads_back(metric: str) -> None:
    tuning = Tuning(metric)
    again = Tuning(tuning.config(tuning.start))
    assert again.start == tuning.start
    assert again.config(again.start) == tuning.config(tuning.start)


def test_the_config_of_several_metrics() -> None:
    tuning = Tuning(TWO)
    config = tuning.config(tuning.start | {"string_fuzzy#2.threshold": 0.4})
    thresholds = [entry.get("params", {}).get("threshold") for entry in config["metrics"]]
    assert thresholds == [0.5, 0.4, None]
    assert [entry.get("weight") for entry in config["metrics"]] == [2.0, None, None]
    assert config["aggregation_weight"] == 3.0
    assert tuning.mark(tuning.start) is None


@pytest.mark.parametrize(
    "metric, kinds",
    [
        ("string_fuzzy", {"string"}),
        ("number_tolerance", {"number"}),
        ("string_llm", {"string", "number", "boolean"}),
        ("set_f1", {"array"}),
        ("boolean_exact", {"boolean"}),
    ],
)
def test_types_that_a_metric_is_meant_for(metric: str, kinds: set[str]) -> None:
    assert Tuning(metric).kinds == kinds


@pytest.mark.parametrize(
    "params, words",
    [
        ({"threshold": 1.5}, "threshold is 1.5; expected a number from 0 to 1"),
        ({"threshold": "high"}, "threshold is 'high'"),
        ({"threshold": None}, "threshold is None"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"treshold": 0.5}, "no param 'treshold'; did you mean 'threshold'?"),
        ({"case_sensitive": 1}, "case_sensitive is 1; expected a boolean"),
        ([0.5], "params is [0.5]; expected a dict"),
    ],
)
def test_values_that_are_wrong(params: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Tuning("string_fuzzy").checked(params)
    assert words in str(caught.value)


def test_what_has_no_default_can_be_taken_away() -> None:
    assert Tuning("string_semantic").checked({"model": None}) == {"model": None}


@pytest.mark.parametrize(
    "metric, error, words",
    [
        ("string_fuzy", ConfigError, "unknown metric 'string_fuzy'; did you mean 'string_fuzzy'"),
        (None, ConfigError, "unknown metric None"),
        (len, InputError, "is not registered; decorate it with @metric"),
        ("skip", InputError, "scores nothing"),
        ({"metric_id": "nope"}, ConfigError, "unknown metric 'nope'"),
        ({"metric_id": "string_fuzzy", "params": {"threshold": 2}}, ConfigError, "threshold is 2"),
    ],
)
def test_a_metric_that_is_wrong(metric: Any, error: type[ExtractBenchError], words: str) -> None:
    with pytest.raises(error) as caught:
        Tuning(metric)
    assert words in str(caught.value)
