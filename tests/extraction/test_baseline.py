"""Tables of runs: sums, intervals, the paper's layout, and the published figures beside them."""

from functools import cache
from itertools import cycle, islice
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.benchmark.baseline import TALLY_COLUMNS, BaselineTables
from extractbench_nb.benchmark.paper_tables import COMPARE_COLUMNS, RUN_STATUSES
from extractbench_nb.benchmark.published import MODELS, rows_of
from extractbench_nb.errors import InputError
from extractbench_nb.stats.failures import rate_interval, valid_interval
from extractbench_nb.stats.intervals import Drawing
from tests.attempts import outputs

DRAWING = Drawing(0.95, 400, 0)
#: Which domain of the paper the sample's schemas stand for, in these tests.
SAMPLE_DOMAINS = {
    "rowing": "sports",
    "facility_agreement": "credit",
    "preprint": "research",
    "cv": "resumes",
    "quarterly_report": "10-K/Q",
}


#: How the outputs of six models end, each model one further on.
ENDINGS = ["none", "empty_response", "none", "trailing_comma", "none", "page_limit", "none"]


@cache
def read(mode: str) -> pd.DataFrame:
    """Outputs of runs that are named as the paper's models; no one takes the schema of a résumé."""
    schemas = xb.load_dataset("sample").listing["schema"]
    frames = []
    for number, model in enumerate(MODELS):
        turns = cycle(ENDINGS[number:] + ENDINGS[:number])
        ends = list(islice(turns, len(schemas)))
        if mode == "structured":
            pairs = zip(ends, schemas, strict=True)
            ends = ["schema_rejected" if schema == "cv" else end for end, schema in pairs]
        run = model if mode == "prompt" else f"{model} structured"
        frames.append(outputs(run, ends, dropped=0.1 * number))
    return xb.read_outputs(pd.concat(frames, ignore_index=True), "sample")


@cache
def made(mode: str) -> BaselineTables:
    return xb.benchmark.baseline_tables(read(mode), "sample")


def one(run: str = "GPT-5") -> pd.DataFrame:
    """Return the attempts of one run."""
    return xb.read_outputs(outputs(run, ENDINGS), "sample")


# Sums.


def test_results_are_sums_of_attempts() -> None:
    tables = made("prompt")
    rows = tables.attempts
    assert list(rows.columns) == TALLY_COLUMNS.names
    for result in tables.results.to_dict("records"):
        part = rows[rows["schema"].eq(result["schema"]) | (result["schema"] == "overall")]
        part = part[part["run"].eq(result["run"]) | (result["run"] == "total")]
        assert result["documents"] == len(part)
        for name in ("valid", "passed", "fields", "evaluated_valid"):
            assert result[name] == part[name].sum(), name
        assert result["pass_rate"] == part["passed"].sum() / part["fields"].sum()


def test_intervals_hold_their_figures() -> None:
    for mode in ("prompt", "structured"):
        results = made(mode).results
        assert (results["valid_low"] <= results["valid_rate"]).all()
        assert (results["valid_rate"] <= results["valid_high"]).all()
        assert (results["pass_rate_low"] <= results["pass_rate"]).all()
        assert (results["pass_rate"] <= results["pass_rate_high"]).all()
        # a rate of nothing, or of everything, is no certainty
        assert (results["valid_high"] > results["valid_low"]).all()
        assert (results["pass_rate_high"] > results["pass_rate_low"]).all()
        assert (results["pass_rate_high"] <= results["ceiling"] + 1e-9).all()
        none = results["evaluated_valid"] == 0
        assert results.loc[none, ["accuracy_valid", "accuracy_low"]].isna().all(axis=None)
        assert results.loc[~none, ["accuracy_low", "accuracy_high"]].notna().all(axis=None)


def rows(counts: list[tuple[str, str, int, int, int]]) -> pd.DataFrame:
    names = ["schema", "document", "passed", "fields", "evaluated"]
    frame = pd.DataFrame(counts, columns=names)
    return frame.assign(valid=(frame["passed"] > 0).astype(int))


def bounds(counts: list[tuple[str, str, int, int, int]], confidence: float = 0.95) -> Any:
    columns = ("passed", "fields", "evaluated")
    return rate_interval(rows(counts), columns, Drawing(confidence, 100, 0))[:2]


@pytest.mark.parametrize(
    "counts, expected",
    [
        # nothing of 7 documents: Wilson's upper bound of 0/7, and that much of what is possible
        ([("a", f"{n}", 0, 10, 10) for n in range(7)], (0.0, 0.3543)),
        ([("a", f"{n}", 0, 10, 4) for n in range(7)], (0.0, 0.1417)),
        ([("a", f"{n}", 4, 10, 4) for n in range(7)], (0.2583, 0.4)),
        # two schemas without any spread are as many documents
        ([("ab"[n % 2], f"{n}", 0, 10, 10) for n in range(7)], (0.0, 0.3543)),
        # 14 attempts at 7 documents are 7 documents
        ([("a", f"{n % 7}", 0, 10, 10) for n in range(14)], (0.0, 0.3543)),
        # documents of which nothing is scored say nothing
        ([("a", "0", 5, 10, 10)] + [("a", f"{n}", 0, 0, 0) for n in range(1, 7)], (0.0546, 0.9454)),
        ([("a", "1", 0, 0, 0)], (None, None)),
        ([("a", "1", 0, 5, 0)], (None, None)),
        # half of many documents, all of it or nothing: an ordinary Wilson interval, nearly
        ([("a", f"{n}", 10 * (n % 2), 10, 10) for n in range(400)], (0.4512, 0.5488)),
        # an easy and a hard schema: documents are compared with those of their own schema only
        (
            [("ab"[n % 2], f"{n}", (9, 2)[n % 2] - n // 2 % 2, 10, 10) for n in range(8)],
            (0.4503, 0.5497),
        ),
    ],
)
def test_intervals_by_hand(
    counts: list[tuple[str, str, int, int, int]], expected: tuple[float, float]
) -> None:
    assert bounds(counts) == pytest.approx(expected, abs=2e-4)


def test_a_schema_of_which_nothing_passes_is_not_certain() -> None:
    some = [("a", f"a{n}", 5 + n % 3, 10, 10) for n in range(10)]
    nothing = [("b", f"b{n}", 0, 300, 50) for n in range(7)]
    _low, high = bounds(some + nothing)
    # one such document of seven, valid and half right, would add 25 of 2,200 fields
    assert high - sum(row[2] for row in some) / 2200 > 25 / 2200


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 5), st.integers(0, 5)),
        min_size=1,
        max_size=20,
    )
)
def test_any_counts_have_an_interval_in_range(counts: list[tuple[str, int, int, int]]) -> None:
    frame = rows([(s, f"{s}{d}", p, p + rest, p + rest) for s, d, p, rest in counts])
    low, high, _ = rate_interval(frame, ("passed", "fields", "evaluated"), Drawing(0.9, 100, 3))
    whole = frame["fields"].sum()
    if whole == 0:
        assert low is high is None
    else:
        assert low is not None
        assert high is not None
        assert 0 <= low <= frame["passed"].sum() / whole <= high <= 1 + 1e-12
    low, high, _ = valid_interval(frame, DRAWING)
    assert low is not None
    assert high is not None
    assert 0 <= low <= frame["valid"].mean() <= high <= 1


@pytest.mark.parametrize("documents", [2, 5, 30])
@pytest.mark.parametrize("valid, right", [(0.6, 0.6), (1.0, 0.85), (0.3, 0.5), (0.05, 0.6)])
def test_intervals_hold_the_rate_they_are_of(documents: int, valid: float, right: float) -> None:
    """Nineteen of twenty at 95 %, or nearly: documents valid or not, ten fields each."""
    rng = np.random.default_rng([documents, int(100 * valid)])
    held = 0
    for _ in range(100):
        passed = rng.binomial(10, right, documents) * (rng.random(documents) < valid)
        low, high = bounds([("a", f"{n}", int(p), 16, 10) for n, p in enumerate(passed)])
        held += low - 1e-9 <= valid * right * 10 / 16 <= high + 1e-9
    assert held / 100 >= 0.9


@pytest.mark.parametrize("reason", ["connection", "bad_key", "rate_limited", "page_limit"])
def test_trouble_of_the_day_is_told(reason: str) -> None:
    error = {"reason": reason, "message": "no: not now"}
    frame = pd.DataFrame({"run": ["mine"], "document": ["cv_tobias_wendelin"], "raw": [None]})
    attempts = xb.read_outputs(frame.assign(meta=[{"error": error}]), "sample")
    tables = xb.benchmark.baseline_tables(attempts, "sample")
    assert tables.unanswered == (reason != "page_limit")
    assert ("1 without an answer for a transient reason" in repr(tables)) == bool(tables.unanswered)


# The paper's layout.


def test_table_5_as_it_is_printed() -> None:
    tables = made("prompt")
    frame = tables.style(5).frame
    row = tables.of_schema("overall").loc["GPT-5.2"]
    assert frame.columns[0] == "Valid JSON"
    assert "rowing (3docs: 12keys)" in frame.columns
    assert frame.loc["GPT-5.2", "Valid JSON"] == f"{int(row['valid'])}/14"
    cell = f"{int(row['passed'])}/{int(row['fields'])} ({row['pass_rate']:.1%})"
    assert frame.loc["GPT-5.2", "Overall Pass Rate"] == cell
    assert frame.index[-1] == "total"
    assert "Gemini 3 Flash" in tables._repr_html_()
    for card in (repr(tables), tables._repr_html_()):  # numbers that the paper's judge did not make
        assert "offline judge; the paper used Gemini 2.5 Flash" in card
        assert 'judge="gemini/gemini-2.5-flash"' in card


@pytest.mark.parametrize(
    "n, message",
    [
        (9, "table 9 is of the schema '10kq', which the runs do not have"),
        ("rowin", "no table 'rowin' of runs; .* did you mean 'rowing'"),
        (6, "no table '6' of runs; there are 5, 7, 8 and one per schema"),
    ],
)
def test_tables_that_are_not_there(n: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made("prompt").style(n)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"run": "total"}, "a run is called 'total', which is the name of the sum"),
        ({"schema": "overall"}, "a schema is called 'overall', which is the name of the sum"),
        ({"schema": None}, "column 'schema' is missing in some rows"),
        ({"valid": None}, "column 'valid' is missing in some rows"),
    ],
)
def test_what_cannot_be_summed_up_is_refused_before_anybody_is_asked(
    change: dict[str, Any], message: str
) -> None:
    asked: list[Any] = []
    with pytest.raises(InputError, match=message):
        xb.benchmark.baseline_tables(one().assign(**change), "sample", judge=asked.append)
    assert not asked


# Beside the published figures.


def test_every_printed_figure_of_a_model_is_compared() -> None:
    for n, mode in [(5, "prompt"), (7, "prompt"), (8, "structured"), (13, "prompt")]:
        found = xb.benchmark.compare(n, runs=made(mode), domains=SAMPLE_DOMAINS)
        printed = [f for f in rows_of(str(n)) if f.row != "header"]
        others = {"source", "check"}
        assert list(found.columns) == [n for n in COMPARE_COLUMNS.names if n not in others]
        assert found["printed"].tolist() == [f.printed for f in printed]
        assert set(found["status"]) <= set(RUN_STATUSES) - {"no run"}
        difference = found["recomputed"] - found["published"]
        assert found["difference"].equals(difference.astype("Float64"))
        runs = found["row"] if n != 7 else found["column"]
        suffix = " structured" if mode == "structured" else ""
        own = found["run"][runs != "total"]
        assert own.tolist() == [f"{m}{suffix}" for m in runs[runs != "total"]]


def test_the_total_is_that_of_all_models_or_of_none() -> None:
    frames = [outputs(run, ENDINGS) for run in (*MODELS[:2], "mine")]
    attempts = xb.read_outputs(pd.concat(frames, ignore_index=True), "sample")
    tables = xb.benchmark.baseline_tables(attempts, "sample")
    found = xb.benchmark.compare(5, runs=tables, domains=SAMPLE_DOMAINS)
    assert set(found.loc[found["row"] == "total", "status"]) == {"no run"}
    assert set(found.loc[found["row"] == "GPT-5", "status"]) == {"no run"}
    names = {m: m for m in MODELS[:2]} | {"mine": "GPT-5"}
    found = xb.benchmark.compare(5, runs=tables, domains=SAMPLE_DOMAINS, models=names)
    assert "no run" not in set(found.loc[found["row"] == "GPT-5", "status"])
    assert set(found.loc[found["row"] == "total", "status"]) == {"no run"}  # three are not six
    whole = xb.benchmark.compare(5, runs=made("prompt"), domains=SAMPLE_DOMAINS)
    assert "no run" not in set(whole["status"])


@pytest.mark.parametrize(
    "name, model",
    [
        ("GPT-5.2", "GPT-5.2"),
        ("openai/gpt-5.2", "GPT-5.2"),
        ("gpt-5", "GPT-5"),
        ("claude_sonnet_4_5", "Claude Sonnet 4.5"),
        ("anthropic/claude-opus-4-5", "Claude Opus 4.5"),
        ("gemini-3-flash structured", "Gemini 3 Flash"),
    ],
)
def test_runs_are_known_by_their_names(name: str, model: str) -> None:
    tables = xb.benchmark.baseline_tables(one(name), "sample")
    n = 8 if name.endswith("structured") else 5
    found = xb.benchmark.compare(n, runs=tables, domains=SAMPLE_DOMAINS)
    assert set(found.loc[found["run"] == name, "row"]) == {model}


def test_modes_are_not_mixed() -> None:
    both = made("prompt"), made("structured")
    results = pd.concat([tables.results for tables in both], ignore_index=True)
    together = BaselineTables(results, both[0].failures, both[0].attempts, both[0].evaluations)
    for n, suffix in [(5, ""), (8, " structured")]:
        found = xb.benchmark.compare(n, runs=together, domains=SAMPLE_DOMAINS)
        own = found[found["row"] != "total"]
        assert own["run"].tolist() == [f"{m}{suffix}" for m in own["row"]]
    for n, tables in [(5, both[1]), (8, both[0])]:
        with pytest.raises(InputError, match=r"models is \{\}; expected a different one of"):
            xb.benchmark.compare(n, runs=tables, domains=SAMPLE_DOMAINS)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n": 1}, "table 1 has no figures of runs; those that do are 5 and 7 to 13"),
        ({"domains": None}, "domains is {}; expected a different one of sports"),
        ({"domains": {"rowin": "sports"}}, "for some of 'preprint'"),
        ({"domains": {"rowing": "sport"}}, "domains: no 'sport'; did you mean 'sports'"),
        ({"models": {"mine": "GPT-5"}}, "models is {'mine': 'GPT-5'}; expected"),
        ({"models": {"GPT-5": "GPT5"}}, "models: no 'GPT5'; did you mean 'GPT-5'"),
        ({"domains": {"rowing": "sports", "cv": "sports"}}, "domains is {'rowing'"),
        ({"models": {}}, "models is {}; expected"),
        ({"dataset": xb.load_dataset()}, "without dataset="),
        ({"runs": "GPT-5"}, "runs is str; expected what baseline_tables"),
        ({"runs": None}, "go with runs="),
    ],
)
def test_bad_comparisons(options: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"n": 5, "runs": made("prompt"), "domains": SAMPLE_DOMAINS}
    given_options = usual | options
    with pytest.raises(InputError, match=message):
        xb.benchmark.compare(given_options.pop("n"), **given_options)
