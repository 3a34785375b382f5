"""The workbench without widgets: verdicts, params, flips, baselines, the curve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.profile_rules import PROFILES
from extractbench_nb.core.schema.schema_nodes import MISSING
from extractbench_nb.errors import ConfigError, ExtractBenchError, InputError
from extractbench_nb.views.workbench_model import CURVE_COLUMNS, Bench, Cases, Tuning, read_cases

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
    bench.set_params(params)
    return bench


def verdicts(metric: Any, cases: Any, **options: Any) -> pd.DataFrame:
    return Bench(metric, read_cases(cases), **options).results()


# --- verdicts ----------------------------------------------------------------------------------


def test_verdicts_are_those_of_evaluate(evs: xb.runs.Evaluations) -> None:
    runs = evs.fields
    rows = runs[(runs["metric"] == "string_semantic") & runs["counted"]].head(60)
    found = verdicts("string_semantic", rows)
    for name in ("score", "passed", "outcome"):
        assert found[name].tolist() == rows[name].tolist()
        assert found.get(f"baseline_{name}", found[name]).tolist() == rows[name].tolist()


@pytest.mark.parametrize(
    "metric, case, score, passed, outcome",
    [
        ("string_fuzzy", ("Ada", "Ada"), 1.0, True, "correct"),
        ("string_fuzzy", ("kitten", "sitting"), 4 / 7, False, "incorrect"),
        ("string_fuzzy", ("Ada", None), 0.0, False, "omission"),
        ("string_fuzzy", (None, "Ada"), 0.0, False, "hallucination"),
        ("string_fuzzy", (None, None), 1.0, True, "both_absent"),
        ("string_fuzzy", ("Ada", 3), 0.0, False, "structural"),
        ("string_fuzzy", ("", ""), 1.0, True, "correct"),
        ("array_llm", (["a", "b", "c", "d"], ["d", "c", "x", "b"]), 0.75, True, "correct"),
    ],
)
def test_states_and_types(metric: str, case: Any, score: float, passed: bool, outcome: str) -> None:
    found = verdicts(metric, [case]).loc[0]
    assert found["score"] == pytest.approx(score)
    assert (found["passed"], found["outcome"]) == (passed, outcome)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_case_is_scored_as_a_property_by_itself(profile: str) -> None:
    values = ["Ada", "ada", "", None, 3, True, ["a", "b"], ["b"], {"n": "a"}, MISSING]
    types = {str: ("string",), int: ("number",), bool: ("boolean",), list: ("array",)}
    rows = [(*pair, types.get(type(pair[0]), ()), pd.NA) for pair in product(values, values)]
    pairs = pd.DataFrame(rows, columns=["gold", "predicted", "types", "expected"], dtype=object)
    pairs = pairs.astype({"expected": "boolean"})
    cases = Cases(pairs, pd.DataFrame(index=pairs.index), None)
    bench = Bench("string_fuzzy", cases, profile=profile)
    for (gold, predicted, kinds, _), found in zip(rows, bench.results().itertuples(), strict=True):
        node = {"evaluation_config": bench.tuning.config(bench.params)}
        node |= {"type": list(kinds)} if kinds else {}
        sides = ({} if v is MISSING else {"c": v} for v in (gold, predicted))
        schema = {"type": "object", "properties": {"c": node}}
        fields = xb.evaluate(schema, *sides, profile=profile).fields
        row = fields[fields["path"] == "$.c"].iloc[0]
        told = (row["score"], row["outcome"], row["reason"])
        assert (found.score, found.outcome, found.reason) == told


@pytest.mark.parametrize(
    "returned, told",
    [
        (RuntimeError("no <b>"), "RuntimeError: no <b>"),
        ("seven", "returned 'seven'; expected a score"),
        (1.5, "returned 1.5; expected a score"),
        (None, "returned None; expected a score"),
    ],
)
def test_a_metric_that_fails_is_an_error_in_its_row(metric: Any, returned: Any, told: str) -> None:
    @metric("odd")
    async def odd(gold: str, predicted: str) -> Any:
        await asyncio.sleep(0)
        if predicted == "fine":
            return True
        if isinstance(returned, Exception):
            raise returned
        return returned

    found = verdicts("string_exact", [("a", "fine"), ("a", "b")], baseline=odd)
    assert found["baseline_passed"].isna().tolist() == [False, True]
    assert found["flip"].tolist() == ["lost", pd.NA]
    found = verdicts(odd, [("a", "fine"), ("a", "b")])
    assert found["passed"].isna().tolist() == found["score"].isna().tolist() == [False, True]
    assert found["error"].isna().tolist() == [True, False]
    assert told in found.loc[1, "error"]


class Counting:
    """A judge that counts what it is asked, and refuses one text."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def compare(self, gold: str, predicted: str) -> Any:
        self.asked.append((gold, predicted))
        if predicted == "down":
            raise TimeoutError("no answer")
        return xb.judges.Verdict(0.75, "said", "because")


class CountingAsync(Counting):
    """The same, awaited."""

    async def compare(self, gold: str, predicted: str) -> Any:
        await asyncio.sleep(0)
        return super().compare(gold, predicted)


@pytest.mark.parametrize("judge", [Counting(), CountingAsync()], ids=["sync", "async"])
def test_a_judge_is_asked_once_about_each_pair(judge: Counting) -> None:
    cases = read_cases([("a", "b"), ("a", "b"), ("a", "down")])
    bench, passing = Bench("string_semantic", cases, judge=judge), []
    for value in (0.5, 0.7, 0.9):
        found = change(bench, pass_threshold=value).results()
        passing.append(found["passed"].fillna(value=False).tolist())
        assert found.loc[2, "error"] == "TimeoutError: no answer"
    assert passing == [[True, True, False], [True, True, False], [False, False, False]]
    assert judge.asked.count(("a", "b")) <= 2  # both cases may wait at once
    before = len(judge.asked)
    change(bench, pass_threshold=0.5).results()
    assert len(judge.asked) == before
    bench.rescore()
    bench.results()
    assert len(judge.asked) > before


# --- params ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric, start, threshold, kinds",
    [
        ("string_exact", {}, None, {"string"}),
        (
            {"preset": "string_fuzzy"},
            {"threshold": 0.8, "case_sensitive": False},
            "threshold",
            {"string"},
        ),
        ("string_semantic", {"pass_threshold": 0.7}, "pass_threshold", {"string"}),
        (
            "number_tolerance",
            {"tolerance": 0.001, "mode": "relative", "parse": "plain"},
            None,
            {"number"},
        ),
        (
            {"metric_id": "string_llm", "params": {"pass_threshold": 0.9}},
            {"pass_threshold": 0.9},
            "pass_threshold",
            {"string", "number", "boolean"},
        ),
        ("set_f1", {"pass_threshold": 0.7, "normalize_text": True}, "pass_threshold", {"array"}),
    ],
)
def test_params_at_the_start(metric: Any, start: Any, threshold: Any, kinds: Any) -> None:
    tuning = Tuning(metric)
    assert (tuning.start, tuning.threshold, tuning.kinds) == (start, threshold, kinds)


@pytest.mark.parametrize("metric", sorted({m.name for m in REGISTRY.entries.values()} - {"skip"}))
def test_the_config_of_every_metric_reads_back(metric: str) -> None:
    tuning = Tuning({"metric_id": metric, "aggregation_weight": 3})
    config = tuning.config(tuning.start)
    assert config["aggregation_weight"] == 3
    again = Tuning(config)
    assert (again.start, again.config(again.start)) == (tuning.start, config)


@pytest.mark.parametrize(
    "params, words",
    [
        ({"threshold": 1.5}, "threshold is 1.5; expected a number from 0 to 1"),
        ({"threshold": None}, "threshold is None"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"treshold": 0.5}, "no param 'treshold'; did you mean 'threshold'?"),
        ({"case_sensitive": 1}, "case_sensitive is 1; expected a boolean"),
        ([0.5], "params is [0.5]; expected a dict"),
    ],
)
def test_values_that_are_wrong(bench: Bench, params: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        bench.set_params(params)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "metric, error, words",
    [
        ("string_fuzy", ConfigError, "unknown metric 'string_fuzy'; did you mean 'string_fuzzy'"),
        (None, ConfigError, "unknown metric None"),
        (len, InputError, "is not registered; decorate it with @metric"),
        ("skip", InputError, "expected one metric that scores"),
        ({"metrics": ["string_exact", "string_fuzzy"]}, InputError, "expected one metric"),
        ({"metric_id": "nope"}, ConfigError, "unknown metric 'nope'"),
        ({"metric_id": "string_fuzzy", "params": {"threshold": 2}}, ConfigError, "threshold is 2"),
    ],
)
def test_a_metric_that_is_wrong(metric: Any, error: type[ExtractBenchError], words: str) -> None:
    with pytest.raises(error) as caught:
        Bench(metric, read_cases(NAMES))
    assert words in str(caught.value)


# --- flips -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params, flips",
    [
        ({"threshold": 0.95}, {0: "lost"}),
        ({"threshold": 0.6}, {4: "gained"}),
        ({"threshold": 0.0}, {1: "gained", 4: "gained"}),  # an omission stays one
        ({"case_sensitive": True}, {}),
    ],
)
def test_flips_against_the_start(bench: Bench, params: Any, flips: dict[int, str]) -> None:
    frame = change(bench, **params).results()
    assert frame["flip"].dropna().to_dict() == flips
    assert frame["baseline_passed"].tolist() == [True, False, True, False, False]


def test_baselines() -> None:
    bench = Bench("string_fuzzy", read_cases(NAMES), baseline="string_exact")
    assert bench.results()["flip"].dropna().to_dict() == {0: "gained"}
    assert (bench.baseline, bench.baseline_threshold) == ("string_exact", None)
    strict = {"metric_id": "string_fuzzy", "params": {"threshold": 0.95}}
    bench = Bench("string_fuzzy", read_cases(NAMES), baseline=strict)
    assert bench.results()["flip"].dropna().to_dict() == {0: "gained"}
    assert bench.baseline_threshold == 0.95


@pytest.mark.filterwarnings("ignore:metric 'mine' replaces")
def test_a_redefined_metric_flips_against_what_it_was(metric: Callable[..., Any]) -> None:
    @metric("mine")
    def first(gold: str, predicted: str, *, threshold: float = 0.5, old: int = 1) -> float:
        return 0.0

    bench = change(Bench(first, read_cases(NAMES)), threshold=0.25)

    @metric("mine")
    def second(gold: str, predicted: str, *, threshold: float = 0.5, n: int = 2) -> float:
        return float(gold[:n] == predicted[:n])

    assert bench.tuning.is_stale
    bench.rescore()
    assert (bench.params, bench.tuning.is_stale) == ({"threshold": 0.25, "n": 2}, False)
    assert bench.results()["flip"].dropna().to_dict() == {0: "gained", 2: "gained", 4: "gained"}
    assert bench.baseline == "mine(threshold=0.5, old=1)"


# --- the curve ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["string_fuzzy", "string_semantic", "string_exact"])
def test_the_curve_is_what_the_metric_says_at_each_value(
    metric: str, evs: xb.runs.Evaluations
) -> None:
    fields = evs.fields.query("metric == 'string_semantic'").head(300)
    bench = Bench(metric, read_cases(fields.assign(expected=fields["passed"])))
    frame = bench.curve().set_index("threshold")
    assert [*frame.reset_index()[CURVE_COLUMNS.names]] == CURVE_COLUMNS.names
    assert (np.diff(frame["passing"]) <= 0).all()
    for value in (0.0, 0.33, 0.8, 1.0) if bench.params else (1.0,):
        if bench.params:
            change(bench, **{bench.over: value})
        found = bench.results()
        assert frame.loc[value, "passing"] == found["passed"].sum()
        agrees = (found["passed"] == found["expected"]).mean()
        assert frame.loc[value, "accuracy"] == pytest.approx(agrees)
        assert frame.loc[value, "labelled"] == len(fields)


def test_the_curve_of_a_margin_is_scored_value_by_value() -> None:
    cases = [(100, 100.1), (100, 101), (100, 100)]
    frame = Bench("number_tolerance", read_cases(cases)).curve().set_index("threshold")
    assert set(frame["param"]) == {"tolerance"}
    assert frame.loc[[0.0, 0.001, 0.01], "passing"].tolist() == [1, 2, 3]
    assert Bench("number_tolerance", read_cases([(1, 1)] * 2001)).over == "score"


def test_what_the_score_does_not_decide_stays_on_the_curve(metric: Callable[..., Any]) -> None:
    @metric("moody")
    def moody(gold: str, predicted: str, *, threshold: float = 0.5) -> Any:
        if predicted == "down":
            raise ValueError("no")
        return xb.MetricScore(float(predicted), passed=None if gold == "plain" else gold == "yes")

    cases = [("plain", "0.6"), ("no", "0.6"), ("yes", "0.2"), ("plain", "down"), ("plain", None)]
    frame = Bench(moody, read_cases([(*case, True) for case in cases])).curve()
    frame = frame.set_index("threshold").loc[[0.0, 0.5, 0.9]]
    assert frame["passing"].tolist() == [2, 2, 1]
    assert frame["labelled"].tolist() == [4, 4, 4]
    assert frame["accuracy"].tolist() == [0.5, 0.5, 0.25]


def test_no_cases() -> None:
    bench = Bench("string_fuzzy", read_cases([]))
    frame = bench.curve()
    assert frame["pass_rate"].eq(0).all()
    assert frame["accuracy"].isna().all()
    assert len(bench.results()) == 0
