"""The outputs of runs: read, counted by failure, evaluated, summed up as the paper does."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.benchmark.baseline import BASELINE_COLUMNS
from extractbench_nb.errors import InputError
from extractbench_nb.runs.outputs import ATTEMPT_COLUMNS, predictions

RUNS = {
    "gold": (lambda text: text, {}, "none"),
    "fenced": (lambda text: f"```json\n{text}\n```", {}, "none"),
    "comma": (lambda text: text[:-1] + ",}", {}, "trailing_comma"),
    "cut": (lambda text: text[: len(text) // 2], {"finish_reason": "length"}, "truncated_json"),
    "empty": (lambda text: "", {"finish_reason": "stop"}, "empty_response"),
    "limit": (
        lambda text: None,
        {"error": {"reason": "page_limit", "message": "100 pages"}},
        "page_limit",
    ),
}


@pytest.fixture(scope="module")
def sample() -> Any:
    return xb.load_dataset("sample")


@pytest.fixture(scope="module")
def outputs(sample: Any) -> pd.DataFrame:
    rows = [
        (run, document, change(json.dumps(sample.gold(document))), meta)
        for run, (change, meta, _) in RUNS.items()
        for document in sample.documents["document"]
    ]
    return pd.DataFrame(rows, columns=["run", "document", "raw", "meta"])


@pytest.fixture(scope="module")
def attempts(outputs: pd.DataFrame, sample: Any) -> pd.DataFrame:
    return xb.read_outputs(outputs, sample)


def test_each_attempt_has_a_row(attempts: pd.DataFrame, outputs: pd.DataFrame) -> None:
    for name in ("run", "document"):
        assert attempts[name].tolist() == outputs[name].tolist()
    assert list(attempts.columns) == ATTEMPT_COLUMNS.names
    for run, (_, _, failure) in RUNS.items():
        rows = attempts[attempts["run"] == run]
        assert set(rows["failure"]) == {failure}
        assert (rows["valid"] == (failure == "none")).all()
    assert (attempts["parses_strictly"] == (attempts["run"] == "gold")).all()
    assert (attempts["wrapper"] == "fence").sum() == 14
    assert attempts.loc[attempts["run"] == "limit", "message"].eq("100 pages").all()
    comma = attempts[attempts["run"] == "comma"].iloc[0]
    assert comma["raw"][comma["offset"]] == ","
    assert comma["characters"] == len(comma["raw"])


def test_files_and_other_names(sample: Any, tmp_path: Path) -> None:
    document = sample.documents["document"].iloc[0]
    path = tmp_path / "out.json"
    path.write_text(json.dumps(sample.gold(document)))
    frame = pd.DataFrame({"run": ["a"], "document": [document], "predicted": [path]})
    assert xb.read_outputs(frame, sample)["valid"].tolist() == [True]

    class Run:
        outputs = frame

    assert xb.read_outputs(Run(), sample)["failure"].tolist() == ["none"]


@pytest.mark.parametrize(
    "change, problem",
    [
        (lambda f: f.drop(columns="run"), "no column 'run'"),
        (lambda f: f.drop(columns="raw"), "no column 'raw'"),
        (lambda f: pd.concat([f, f]), "more than once"),
        (lambda f: f.assign(document="okafor"), "unknown document 'okafor'; expected one of"),
        (lambda f: f.assign(raw=5), "an output is a int; expected a text"),
        (lambda f: f.assign(raw=[Path("nowhere.json")]), "'nowhere.json' cannot be read"),
        (lambda f: 7, "outputs is a int; expected a DataFrame"),
    ],
)
def test_outputs_that_cannot_be_read(
    outputs: pd.DataFrame, sample: Any, change: Any, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        xb.read_outputs(change(outputs.head(1)), sample)


def test_folders_and_datasets_are_read_like_frames(sample: Any) -> None:
    expected = xb.read_outputs(sample.runs, sample)
    for outputs in (sample, sample.root / "runs", str(sample.root / "runs")):
        pd.testing.assert_frame_equal(xb.read_outputs(outputs, sample), expected)


def test_failures_are_counted_as_in_table_7(attempts: pd.DataFrame) -> None:
    table = xb.stats.failure_modes(attempts)
    assert list(table.columns) == [*RUNS, "total"]
    assert list(table.index) == [
        *("page_limit", "empty_response", "trailing_comma", "truncated_json", "total")
    ]
    assert table.loc["total"].tolist() == [0, 0, 14, 14, 14, 14, 56]
    assert table.loc["trailing_comma", "comma"] == 14
    by_schema = xb.stats.failure_modes(attempts, "schema")
    assert by_schema.loc["total", "total"] == 56
    assert set(by_schema.columns) == {*attempts["schema"], "total"}
    nothing = xb.stats.failure_modes(attempts[attempts["valid"]])
    assert nothing.index.tolist() == ["total"]
    assert nothing.to_numpy().sum() == 0
    with pytest.raises(InputError, match="by is 'model'"):
        xb.stats.failure_modes(attempts, "model")


def test_what_is_evaluated(attempts: pd.DataFrame) -> None:
    strict = predictions(attempts)
    assert (strict["predicted"].notna() == attempts["valid"]).all()
    lenient = predictions(xb.benchmark.forgive(attempts))
    assert lenient["predicted"].notna().groupby(lenient["run"]).all().to_dict() == {
        **dict.fromkeys(("gold", "fenced", "comma", "cut"), True),
        **dict.fromkeys(("empty", "limit"), False),
    }


def test_the_effect_of_repair(attempts: pd.DataFrame, sample: Any) -> None:
    found = xb.benchmark.repair_effect(attempts, sample).set_index("run")
    assert found["attempts"].eq(14).all()
    assert found.loc["comma", ["valid", "forgiven", "pass_rate"]].tolist() == [0, 14, 0]
    assert found.loc["comma", "pass_rate_repaired"] == found.loc["gold", "pass_rate"]
    assert found["pass_rate"].le(found["ceiling"]).all()
    assert found.loc["gold", "pass_rate"] == found.loc["gold", "ceiling"]
    assert 0.02 < found.loc["cut", "gain"] < found.loc["gold", "ceiling"]
    rates = xb.benchmark.baseline_tables(attempts, sample).of_schema("overall")["pass_rate"]
    assert found["pass_rate"].to_dict() == rates.drop("total").to_dict()
    assert found.loc[["gold", "fenced", "empty", "limit"], "gain"].eq(0).all()


def test_recorded_runs_and_runs_with_failed_calls_together(sample: Any) -> None:
    names = ["kestrel-4b", "kestrel-4b structured"]
    runs = [xb.runs.Run.open(sample.root / "failures" / name) for name in names]
    together = xb.read_outputs([sample.runs, *runs], sample)
    assert together["run"].unique().tolist() == [*sample.runs["run"].unique(), *names]
    alone = pd.concat([xb.read_outputs(one, sample) for one in (sample.runs, *runs)])
    assert together["failure"].tolist() == alone["failure"].tolist()
    table = xb.stats.failure_modes(together)
    recorded = {
        "kestrel-4b": {
            "empty_response": 3,
            "trailing_comma": 2,
            "page_limit": 2,
            "truncated_json": 1,
            "total": 8,
        },
        "kestrel-4b structured": {
            "schema_rejected": 5,
            "empty_response": 2,
            "truncated_json": 2,
            "total": 9,
        },
    }
    assert {run: table.loc[table[run] > 0, run].to_dict() for run in names} == recorded
    with pytest.raises(InputError, match=r"outputs is a int; expected a DataFrame .* or a list"):
        xb.read_outputs([sample.runs, 5], sample)


def test_tables_as_the_paper_has_them(attempts: pd.DataFrame, sample: Any) -> None:
    found = xb.benchmark.baseline_tables(attempts, sample)
    results = found.results
    assert list(results.columns) == BASELINE_COLUMNS.names
    assert found.table.loc["gold", ["valid", "attempts"]].tolist() == [14, 14]
    for schema, rows in sample.documents.groupby("schema"):
        own = found.of_schema(schema)
        gold = own.loc["gold"]
        per_document = int(xb.benchmark.complexity(sample.schema(schema))["keys"].iloc[0])
        assert gold["fields"] == len(rows) * per_document
        assert gold["passed"] == gold["evaluated_valid"]
        assert gold["pass_rate"] == gold["ceiling"] <= 1
        assert own.loc["total", "fields"] == len(RUNS) * gold["fields"]
        assert own.loc["fenced"].equals(gold)
        assert own.loc["cut", "passed"] == 0
        assert pd.isna(own.loc["cut", "accuracy_valid"])
    whole = found.of_schema("overall")
    assert whole.loc["total", "valid"] == 28
    assert whole.loc["total", "documents"] == 84
    parts = results[(results["schema"] != "overall") & (results["run"] != "total")]
    assert parts["passed"].sum() == whole.loc["total", "passed"]
    assert found.failures.equals(xb.stats.failure_modes(attempts))
    assert "gold: 14 of 14 valid" in repr(found)
    with pytest.raises(InputError, match="unknown schema 'rowin'; did you mean 'rowing'"):
        found.of_schema("rowin")
