"""The workbench without widgets: params, flips, baselines, frames, and a metric redefined."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.errors import ConfigError, InputError
from extractbench_nb.support.nodes import static_html
from extractbench_nb.views.workbench_model import (
    Bench,
    facts,
    read_cases,
)
from extractbench_nb.views.workbench_view import (
    Curve,
    chosen,
    fitted_axis,
)

NAMES = [
    ("Northwind Paper", "Northwind Papre", True),
    ("Acme", "Apex", False),
    ("Lantern Cup", "Lantern Cup", True),
    ("Moss", None, False),
    ("Tidal drift", "Tidal drift energy", None),
]


@pytest.fixture
def bench() -> Bench:
    return Bench("string_fuzzy", read_cases(NAMES))


def change(bench: Bench, **params: Any) -> Bench:
    bench.params = bench.with_params(params)
    return bench


@pytest.mark.parametrize(
    "params, flips",
    [
        ({"threshold": 0.95}, {0: "lost"}),
        ({"threshold": 0.6}, {4: "gained"}),
        ({"threshold": 0.0}, {1: "gained", 4: "gained"}),  # an omission stays one
        ({"case_sensitive": True}, {}),
    ],
)
def test_flips_against_the_start(
    bench: Bench, params: dict[str, Any], flips: dict[int, str]
) -> None:
    frame = change(bench, **params).results()
    assert frame["flip"].dropna().to_dict() == flips
    assert frame["baseline_passed"].tolist() == [True, False, True, False, False]


def test_another_baseline() -> None:
    bench = Bench("string_fuzzy", read_cases(NAMES), baseline="string_exact")
    frame = bench.results()
    assert frame["flip"].dropna().to_dict() == {0: "gained"}
    assert frame["baseline_score"].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert bench.baseline.rules == "string_exact"
    assert bench.baseline.threshold is None


def test_what_is_now_becomes_the_baseline(bench: Bench) -> None:
    change(bench, threshold=0.95).keep_as_baseline()
    assert not bench.flips().any()
    assert bench.baseline.threshold == 0.95
    assert change(bench, threshold=0.8).results()["flip"].dropna().to_dict() == {0: "gained"}


@pytest.mark.filterwarnings("ignore:metric 'mine' replaces")
def test_a_redefined_metric_flips_against_what_it_was(metric: Callable[..., Any]) -> None:
    @metric("mine")
    def first(gold: str, predicted: str, *, threshold: float = 0.5, old: int = 1) -> float:
        return 0.0

    bench = change(Bench(first, read_cases(NAMES)), threshold=0.25)

    @metric("mine")
    def second(gold: str, predicted: str, *, threshold: float = 0.5, n: int = 2) -> float:
        return float(gold[:n] == predicted[:n])

    bench.rescore()
    assert bench.params == {"threshold": 0.25, "n": 2}
    assert bench.results()["flip"].dropna().to_dict() == {0: "gained", 2: "gained", 4: "gained"}
    assert bench.baseline.rules == "mine(threshold=0.5, old=1)"


def test_a_metric_that_fails_flips_nothing(metric: Callable[..., Any]) -> None:
    @metric("broken")
    def broken(gold: str, predicted: str) -> float:
        raise ValueError("no")

    bench = Bench("string_exact", read_cases(NAMES), baseline=broken)
    assert not bench.flips().any()
    assert bench.results()["baseline_passed"].isna().tolist() == [True, True, True, False, True]


@pytest.mark.parametrize("threshold", [0.0, 0.33, 0.5, 0.805, 0.8666666666666667, 1.0])
def test_the_curve_and_the_verdicts_are_of_one_mind(bench: Bench, threshold: float) -> None:
    change(bench, threshold=threshold)
    frame = bench.curve("threshold")
    here = frame[frame["threshold"] == threshold]
    assert here["passing"].tolist() == [bench.results()["passed"].sum()]
    assert {0.0, 0.8, 1.0} <= set(frame["threshold"])


def test_the_curve_of_a_margin_is_scored_value_by_value() -> None:
    bench = Bench("number_tolerance", read_cases([(100, 100.1), (100, 101), (100, 100)]))
    assert (bench.curves, bench.first_curve) == (["score", "tolerance"], "tolerance")
    frame = bench.curve("tolerance").set_index("threshold")
    assert frame.loc[[0.0, 0.001, 0.01], "passing"].tolist() == [1, 2, 3]
    assert set(frame["param"]) == {"tolerance"}
    assert bench.curve("score")["passing"].tolist() == [3, *[2] * 100]
    assert Bench("number_tolerance", read_cases([(1, 1)] * 2001)).first_curve == "score"


@pytest.mark.parametrize(
    "metric, curves",
    [
        ("string_fuzzy", ["threshold"]),
        ("string_exact", ["score"]),
        ("string_semantic", ["pass_threshold"]),
        ("array_llm", ["pass_threshold", "align_threshold"]),
        ({"metrics": ["string_exact", "string_fuzzy"]}, ["score", "string_fuzzy.threshold"]),
    ],
)
def test_what_a_curve_can_be_over(metric: Any, curves: list[str]) -> None:
    lists = [([gold], [predicted], label) for gold, predicted, label in NAMES]
    bench = Bench(metric, read_cases(lists if metric == "array_llm" else NAMES))
    assert bench.curves == curves
    for over in curves:
        assert bench.curve(over)["passing"].between(0, len(NAMES)).all()


def test_a_judge_and_a_profile_are_passed_on() -> None:
    class Judge:
        name = "half"

        def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
            return xb.judges.Verdict(0.5, "half")

    bench = Bench("string_semantic", read_cases([("a", "b")]), judge=Judge())
    assert bench.results()["score"].tolist() == [0.5]
    with pytest.raises(InputError, match="unknown profile 'nope'"):
        Bench("string_fuzzy", read_cases([]), profile="nope")
    with pytest.raises(InputError, match="unknown judge 'oracle'"):
        Bench("string_semantic", read_cases([]), judge="oracle")
    with pytest.raises(ConfigError, match="unknown metric 'nope'"):
        Bench("string_fuzzy", read_cases([]), baseline="nope")


# --- view models -------------------------------------------------------------------------------


def test_the_figures(bench: Bench) -> None:
    change(bench, threshold=0.6)
    assert facts(bench) == [
        ("Passing", "3 of 5 · 60.0%", "2 of 5 · 40.0%", ""),
        ("Mean score", "0.546", "0.546", ""),
        ("Flips", "1", "", "1 gained, 0 lost"),
        ("As expected", "4 of 4 · 100.0%", "4 of 4 · 100.0%", ""),
    ]


def test_the_figures_of_nothing() -> None:
    bench = Bench("string_fuzzy", read_cases([]))
    assert facts(bench) == [
        ("Passing", "0 of 0", "0 of 0", ""),
        ("Mean score", "n/a", "n/a", ""),
        ("Flips", "0", "", "0 gained, 0 lost"),
    ]
    curve = Curve(bench, "threshold")
    assert set(curve.passing) == {0}
    assert "axis from 0% to 1%" in static_html(curve.draw())


@pytest.mark.parametrize(
    "threshold, shown, sort, text, places",
    [
        (0.6, "all", "given", "", [0, 1, 2, 3, 4]),
        (0.6, "flips", "given", "", [0, 4]),
        (0.9, "flips", "given", "", []),
        (0.6, "passed", "given", "", [0, 2, 4]),
        (0.6, "failed", "given", "", [1, 3]),
        (0.6, "errors", "given", "", []),
        (0.6, "disagreements", "given", "", []),
        (0.9, "disagreements", "given", "", [0]),
        (0.6, "all", "lowest", "", [3, 1, 4, 0, 2]),
        (0.6, "all", "failures", "", [0, 4, 1, 2, 3]),
        (0.6, "all", "given", " TIDAL ", [4]),
        (0.6, "failed", "lowest", "m", [3, 1]),
        (0.6, "all", "given", "nowhere", []),
    ],
)
def test_which_cases_are_shown(
    threshold: float, shown: str, sort: str, text: str, places: list[int]
) -> None:
    bench = Bench("string_fuzzy", read_cases(NAMES), baseline="string_exact")
    assert chosen(change(bench, threshold=threshold), shown, sort, text) == places


def test_cases_without_a_verdict_come_last_and_are_found_by_their_error(
    metric: Callable[..., Any],
) -> None:
    @metric("moody")
    def moody(gold: str, predicted: str) -> float:
        if gold.startswith("A"):
            raise ValueError("not today")
        return len(gold) / 100

    bench = Bench(moody, read_cases(NAMES))
    assert chosen(bench, "all", "lowest", "")[-1] == 1
    assert chosen(bench, "errors", "given", "NOT TODAY") == [1]
    assert ("Without a verdict", "1", "", "") in facts(bench)


def test_the_config_to_paste(bench: Bench) -> None:
    config = change(bench, threshold=0.65).config
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema["properties"]["name"]["evaluation_config"] = config  # type: ignore[index]
    ev = xb.evaluate(schema, {"name": "Tidal drift"}, {"name": "Tidal drift ene"})
    assert ev.fields["passed"].tolist() == [True]
    assert '"threshold": 0.65' in json.dumps(config)


# --- the curve's axis ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shares, low, high",
    [
        ([0.0, 1.0], 0.0, 1.0),
        ([0.961, 0.977], 0.96, 0.98),
        ([0.9999], 0.985, 1.0),
        ([1.0], 0.99, 1.0),
        ([0.0], 0.0, 0.01),
        ([-0.3, 0.9], -0.5, 1.0),
        ([], 0.0, 1.0),
    ],
)
def test_the_axis_fits_the_data(shares: list[float], low: float, high: float) -> None:
    ticks = fitted_axis(shares)
    assert (ticks[0], ticks[-1]) == (low, high)
    assert 2 <= len(ticks) <= 8
    assert all(ticks[0] <= share <= ticks[-1] for share in shares)
