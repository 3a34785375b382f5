"""The command line: what it prints, for people and for machines, and how it fails."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

import extractbench_nb as xb
from tests.cli.conftest import Done
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "dataset"
CV = SAMPLE / "hiring/cv"
DOCUMENT = "cv_tobias_wendelin"
FILES = {
    "schema": CV / "cv-schema.json",
    "gold": CV / f"pdf+gold/{DOCUMENT}.gold.json",
    "predicted": SAMPLE / f"runs/quill-mini/{DOCUMENT}.json",
}
COMMANDS = [
    "evaluate",
    "report",
    "batch",
    "compare",
    "gate",
    "construct",
    "schema",
    "datasets",
    "metrics",
    "profiles",
    "static",
    "completion",
]


class Results(NamedTuple):
    folder: Path
    printed: Any


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The sample's runs, evaluated and saved by the command itself, as a user runs it."""
    folder = tmp_path_factory.mktemp("cli") / "results"
    options = ["--dataset", "sample", "--save-to", str(folder), "--json"]
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "extractbench_nb",
            "batch",
            SAMPLE / "runs",
            *options,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={k: v for k, v in os.environ.items() if k != "EXTRACTBENCH_DATASET"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return Results(folder, json.loads(done.stdout))


@pytest.fixture
def results(saved: Results) -> Path:
    return saved.folder


# --- help --------------------------------------------------------------------------------------


def test_help_lists_the_commands_in_the_order_of_work(call: Callable[..., Done]) -> None:
    done = call("--help")
    assert done.status == 0
    listed = done.out.split("Commands:")[1].split("Exit status")[0].strip().splitlines()
    assert [line.split()[0] for line in listed] == COMMANDS
    assert not [line for line in listed if line.endswith("...")], "a help text is cut"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_says_what_it_does(
    command: str, call: Callable[..., Done]
) -> None:
    done = call(command, "--help")
    assert done.status == 0
    assert all(len(line) <= 100 for line in done.out.splitlines())
    from extractbench_nb.cli.commands import commands

    for option in commands.commands[command].params:
        if option.param_type_name == "option":
            assert option.help, option.name


def test_completion_answers_the_shell() -> None:
    asked = {"_EXTRACTBENCH_NB_COMPLETE": "bash_complete", "COMP_WORDS": "x ev", "COMP_CWORD": "1"}
    done = subprocess.run(
        [Path(sys.executable).with_name("extractbench-nb")],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.stdout == "plain,evaluate\n"


# --- one document ------------------------------------------------------------------------------


def test_evaluate_prints_scores_and_what_is_wrong(call: Callable[..., Done]) -> None:
    done = call("evaluate", *FILES.values())
    assert done.status == 0
    assert "Evaluation (strict): pass_rate 0.891 (null 0.073)" in done.out
    assert "49 of 55 fields pass" in done.out
    assert "$.posts: 3 of 4 matched, 1 differing, 0 missed, 0 spurious" in done.out
    assert "incorrect     $.posts[2].until: 2021 -> 2022" in done.out


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_evaluate_json_is_what_the_library_says(profile: str, call: Callable[..., Done]) -> None:
    done = call("evaluate", *FILES.values(), "--profile", profile, "--json").json
    ev = xb.evaluate(*FILES.values(), profile=profile)
    assert done["summary"] == dict(ev.summary.items())
    for name in ("fields", "arrays", "matches", "warnings"):
        assert len(done[name]) == len(getattr(ev, name))
    assert [row["path"] for row in done["fields"]] == ev.fields["path"].tolist()
    assert [row["gold"] for row in done["fields"]] == ev.fields["gold"].tolist()


def test_predicted_from_standard_input(monkeypatch: Any, call: Callable[..., Done]) -> None:
    stream = io.TextIOWrapper(io.BytesIO(FILES["predicted"].read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    piped = call("evaluate", FILES["schema"], FILES["gold"], "-", "--json").json
    assert piped == call("evaluate", *FILES.values(), "--json").json


def test_broken_output_is_a_result(tmp_path: Path, call: Callable[..., Done]) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(b'{"a": 1,}\xff')
    done = call("evaluate", FILES["schema"], FILES["gold"], broken)
    assert done.status == 0
    assert "0 of 1 fields pass" in done.out
    assert "not JSON: predicted file" in done.out
    assert "not UTF-8" in done.out


@pytest.mark.parametrize(
    "options, limit, error",
    [
        ([], 0.89, ""),
        ([], 0.9, "error: pass_rate (strict) is 0.8909, below 0.9\n"),
        (["--measure", "field_score"], 0.86, ""),
        (["--measure", "field_score"], 0.87, "error: field_score (strict) is 0.8642, below 0.87\n"),
        (["--profile", "paper"], 0.89, ""),
        (["--profile", "paper", "--measure", "overall_score"], 0.86, ""),
        (
            ["--profile", "paper", "--measure", "overall_score"],
            0.87,
            "error: overall_score (paper) is 0.8621, below 0.87\n",
        ),
    ],
)
def test_fail_under(
    options: list[str], limit: float, error: str, call: Callable[..., Done]
) -> None:
    done = call("evaluate", *FILES.values(), "--fail-under", limit, *options)
    assert done.status == bool(error)
    assert done.err == error


def test_a_check_of_nothing_fails(tmp_path: Path, call: Callable[..., Done]) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object"}', encoding="utf-8")
    done = call("evaluate", schema, FILES["gold"], FILES["gold"], "--fail-under", 0.5)
    assert done.status == 1
    assert "no field is scored" in done.out
    assert done.err == "error: no field is scored, so there is no score to check\n"


def test_a_gold_file_in_the_place_of_the_schema_is_refused(call: Callable[..., Done]) -> None:
    done = call("evaluate", *[FILES["gold"]] * 3)
    assert done.status == 1
    assert "is this a document?" in done.err


def test_report(tmp_path: Path, call: Callable[..., Done]) -> None:
    done = call("report", *FILES.values(), "-o", tmp_path / "out", "--name", "mine")
    assert done == (0, f"{tmp_path / 'out/mine'}\n", "")
    written = sorted(p.name for p in (tmp_path / "out/mine").iterdir())
    assert written == ["fields.csv", "fields.md", "report.html", "report.json", "summary.txt"]
    as_json = call("report", *FILES.values(), "-o", tmp_path / "out", "--name", "mine", "--json")
    assert as_json.json["summary"]["pass_rate"] == pytest.approx(49 / 55)


# --- many documents ----------------------------------------------------------------------------


def test_batch_prints_a_line_a_run(saved: Results, call: Callable[..., Done]) -> None:
    runs = {row["run"]: row for row in saved.printed["runs"]}
    assert sorted(runs) == ["heron-vision", "osprey-7b", "quill-large", "quill-mini"]
    assert {row["documents"] for row in runs.values()} == {14}
    assert sum(row["invalid"] for row in runs.values()) == 8
    text = call("batch", saved.folder, "--dataset", "sample")
    assert text.status == 1


def test_batch_of_plain_folders(tmp_path: Path, call: Callable[..., Done]) -> None:
    for name in ("runs/one.json", "gold/one.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text('{"total": 1}', encoding="utf-8")
    schema = tmp_path / "schema.json"
    schema.write_text('{"properties": {"total": {"type": "number"}}}', encoding="utf-8")
    options = ("--gold", tmp_path / "gold", "--schema", schema, "--json")
    [run] = json.loads(call("batch", tmp_path / "runs", *options).out)["runs"]
    assert (run["run"], run["documents"], run["pass_rate"]) == ("runs", 1, 1.0)


def test_batch_resumes(results: Path, call: Callable[..., Done]) -> None:
    before = {p.name: p.read_bytes() for p in results.glob("*.parquet")}
    again = call("batch", "sample", "--save-to", results, "--resume", "--json")
    assert again.status == 0
    assert before == {p.name: p.read_bytes() for p in results.glob("*.parquet")}
    refused = call("batch", "sample", "--save-to", results)
    assert refused.status == 1
    assert "--resume" in refused.err


def test_compare(results: Path, call: Callable[..., Done]) -> None:
    found = call("compare", results, "--measure", "pass_rate", "--json").json
    assert len({row["group"] for row in found["scores"]}) == 4
    assert {row["measure"] for row in found["scores"]} == {"pass_rate"}
    assert len(found["differences"]) == 6
    text = call("compare", results, "--baseline", "quill-large")
    assert text.status == 0
    assert "quill-mini" in text.out
    twice = call("compare", results, "--measure", "pass_rate", "--json").json
    assert twice == found


def test_runs_of_the_same_name_are_told_apart_by_folder(
    results: Path, tmp_path: Path, call: Callable[..., Done]
) -> None:
    other, runs = tmp_path / "strict", tmp_path / "runs"
    shutil.copytree(SAMPLE / "runs/quill-mini", runs / "quill-mini")
    options = ("--profile", "strict", "--save-to", other)
    done = call("batch", runs, "--dataset", "sample", *options)
    assert done.status == 0
    (line,) = [line for line in done.out.splitlines() if "quill-mini" in line]
    assert line.split()[1] == "14"
    found = call("compare", results, other, "--measure", "field_score", "--json").json
    groups = {row["group"] for row in found["scores"]}
    assert len(groups) == 5
    assert {"results/quill-mini", "strict/quill-mini"} < groups


# --- what there is -----------------------------------------------------------------------------


def test_schema(call: Callable[..., Done]) -> None:
    assert repr(xb.schema.parse_schema(FILES["schema"])) in call("schema", FILES["schema"]).out
    rows = call("schema", FILES["schema"], "--json").json
    assert [row["field"] for row in rows] == xb.schema.parse_schema(FILES["schema"]).to_frame()[
        "field"
    ].tolist()


def test_datasets(monkeypatch: pytest.MonkeyPatch, call: Callable[..., Done]) -> None:
    monkeypatch.delenv("EXTRACTBENCH_DATASET", raising=False)
    named = {row["name"]: row for row in call("datasets", "--json").json}
    assert named["sample"]["documents"] == 14
    assert "EXTRACTBENCH_DATASET" in named["extractbench"]["problem"]
    sample = call("datasets", "sample", "--json").json
    assert len(sample["documents"]) == 14
    assert len(sample["runs"]) == 56
    assert DOCUMENT in call("datasets", "sample").out


@pytest.mark.parametrize("command, names", [("metrics", xb.metrics), ("profiles", xb.profiles)])
def test_listings(command: str, names: Callable[[], Any], call: Callable[..., Done]) -> None:
    assert len(call(command, "--json").json) == len(names())
    assert len(call(command).out.splitlines()) == len(names()) + 1


# --- failures ----------------------------------------------------------------------------------

MISSING = "missing.json"
FAILURES = {
    "no such file": (["evaluate", MISSING, FILES["gold"], FILES["predicted"]], 1, MISSING),
    "no such output": (["evaluate", FILES["schema"], FILES["gold"], MISSING], 1, MISSING),
    "schema is no JSON": (["schema", ROOT / "README.md"], 1, "README.md"),
    "unknown command": (["evalute"], 2, "No such command 'evalute'"),
    "missing argument": (["evaluate", FILES["schema"]], 2, "GOLD"),
    "unknown profile": (["evaluate", *FILES.values(), "--profile", "papr"], 2, "papr"),
    "unknown judge": (["evaluate", *FILES.values(), "--judge", "ofline"], 1, "offline"),
    "unknown dataset": (["datasets", "smaple"], 1, "sample"),
    "runs without a dataset": (["batch", SAMPLE / "runs"], 1, "--dataset"),
    "no such runs": (["batch", "nowhere", "--dataset", "sample"], 1, "nowhere"),
    "resume without a folder": (["batch", "sample", "--resume"], 2, "--save-to"),
    "results that are none": (["compare", SAMPLE], 1, str(SAMPLE)),
    "unwritable": (["report", *FILES.values(), "-o", FILES["gold"]], 1, str(FILES["gold"])),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_one_line_with_the_place(name: str, call: Callable[..., Done]) -> None:
    arguments, status, part = FAILURES[name]
    done = call(*arguments)
    assert done.status == status
    assert done.out == ""
    last = done.err.strip().splitlines()[-1]
    assert part in last
    assert "Traceback" not in done.err
    if status == 1:
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1


def test_a_broken_schema_names_the_place(tmp_path: Path, call: Callable[..., Done]) -> None:
    path = tmp_path / "schema.json"
    wrong = {"type": "object", "properties": {"a": {"type": "strnig"}}}
    path.write_text(json.dumps(wrong), encoding="utf-8")
    done = call("evaluate", path, FILES["gold"], FILES["predicted"])
    assert done.status == 1
    assert "#/properties/a" in done.err
    assert "string" in done.err


def test_what_a_terminal_would_obey_is_not_printed(
    tmp_path: Path, call: Callable[..., Done]
) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\u202e\r\b"
    paths = [tmp_path / name for name in ("schema.json", "gold.json", "predicted.json")]
    schema = {"type": "object", "properties": {evil: {"type": "string"}}}
    for path, value in zip(paths, (schema, {evil: evil}, {evil: evil + "x"}), strict=True):
        path.write_text(json.dumps(value), encoding="utf-8")
    for arguments in (["evaluate", *paths], ["evaluate", *paths, "--json"], ["schema", paths[0]]):
        done = call(*arguments)
        assert done.status == 0
        assert not [c for c in done.out if not c.isprintable() and c != "\n"]


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m extractbench_nb datasets sample --json | head -c 10"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.stdout, done.stderr) == ('{\n  "name"', "")


def test_static_keeps_the_twins_of_a_notebook(tmp_path: Path, call: Callable[..., Done]) -> None:
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"application/vnd.jupyter.widget-view+json": {}, "text/html": "<b>twin</b>"},
    }
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": [output]}], "metadata": {"widgets": {}}}))
    done = call("static", str(path))
    assert done.out == f"{path}: 1 view\n"
    found = json.loads(path.read_text())
    assert found["cells"][0]["outputs"][0]["data"] == {"text/html": "<b>twin</b>"}
    assert found["metadata"] == {}


def test_batch_lists_what_fails(call: Callable[..., Done], tmp_path: Path) -> None:
    file = tmp_path / "wrong.jsonl"
    found = call("batch", "sample", "--json", "--feedback", "--failures", file).json
    evs = xb.evaluate_runs(xb.load_dataset(), progress=False)
    rows = pd.read_json(file, lines=True)
    assert set(rows["run"]) == set(found["feedback"]) == set(evs.by_run["run"])
    assert (
        len(rows)
        == sum(not passed for passed in evs.fields["passed"])
        - (~evs.arrays["passed"].fillna(value=False)).sum()
    )
    done = call("batch", "sample", "--feedback")
    fields = evs.fields
    for run in evs.by_run["run"]:
        assert f"{run}: {xb.feedback(fields[fields['run'] == run])}" in done.out
