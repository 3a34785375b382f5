"""The commands of `construct`: what they print, for people and for machines, and how they fail."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.table_batches import evaluate_tables
from extractbench_nb.construction.table_dataset import load
from tests.cli.conftest import Done
from tests.llm_server import LLMServer

SAMPLE = Path(__file__).resolve().parents[2] / "dataset/construction"
GOLD = SAMPLE / "retailer_results/gold.csv"
ANSWER = SAMPLE / "runs/quill-mini/retailer_results.txt"
KEYS = ["--keys", "company", "--keys", "fiscal_year"]

Call = Callable[..., Done]


def test_compare_prints_scores_and_what_is_wrong(call: Call) -> None:
    done = call("construct", "compare", GOLD, ANSWER, *KEYS)
    assert done.status == 0
    assert "cell_f1 0.556" in done.out
    assert "rows: 4 matched, 1 missed" in done.out
    assert "incorrect     $[3].stores: '151' -> '154'" in done.out
    assert "omission      $[2].revenue_musd: '918.4' -> nothing" in done.out
    assert "points lost (recall): rows 4 · cells 6" in done.out
    assert "points lost (precision): cells 6" in done.out
    assert "points lost" not in call("construct", "compare", GOLD, GOLD).out
    assert "points lost" not in call("construct", "compare", GOLD, ANSWER, "--profile", "aoe").out


@pytest.mark.parametrize("profile", ["strict", "aoe"])
def test_compare_json_is_what_the_library_says(profile: str, call: Call) -> None:
    done = call("construct", "compare", GOLD, ANSWER, *KEYS, "--profile", profile, "--json").json
    found = compare(GOLD, ANSWER, keys=["company", "fiscal_year"], profile=profile)
    assert done["summary"] == found.summary.to_dict()
    for name in ("columns", "matches", "cells"):
        assert len(done[name]) == len(getattr(found, name))
    assert [cell["gold"] for cell in done["cells"]] == found.cells["gold"].tolist()
    assert (done["direct"], done["mapped"], done["problem"]) == (True, True, None)


def test_predicted_from_standard_input(monkeypatch: Any, call: Call) -> None:
    stream = io.TextIOWrapper(io.BytesIO(ANSWER.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    piped = call("construct", "compare", GOLD, "-", *KEYS, "--json").json
    assert piped == call("construct", "compare", GOLD, ANSWER, *KEYS, "--json").json


def test_batch(call: Call) -> None:
    done = call("construct", "batch", "sample")
    assert done.status == 0
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["osprey-7b", "quill-large", "quill-mini"]
    found = evaluate_tables(load(), progress=False)
    for runs, options in ((SAMPLE, []), (SAMPLE / "runs", ["--dataset", "sample"])):
        printed = call("construct", "batch", runs, *options, "--json").json
        assert [row["cell_f1"] for row in printed["runs"]] == found.by_run["cell_f1"].tolist()
        assert len(printed["answers"]) == 9
        assert [row["missing"] for row in printed["runs"]] == [0, 0, 0]


def test_build_and_the_files_of_aoe(tmp_path: Path, call: Call) -> None:
    pytest.importorskip("litellm")
    with LLMServer(lambda _: "```csv\nk\na\n```") as server:
        model = ["--model", "openai/test-model", "--api-base", server.url]
        options = ["--setting", "no_cot", "--domain", "legal", "--rag", "bm25", "--k", "3"]
        folder = tmp_path / "runs/test-model"
        done = call("construct", "build", "sample", "--folder", folder, *model, *options)
        assert done.status == 0, done.err
        assert "1 of 1 documents answered" in done.out
        assert "An example of another question" in server.requests[0].text
        assert server.requests[0].text.count("[Source: ") <= 3
    out = tmp_path / "out"
    call("construct", "batch", tmp_path / "runs", "--dataset", "sample", "--out", out)
    assert (out / "test-model/court_rulings.json").is_file()
    assert (out / "statistics.csv").read_text(encoding="utf-8").startswith("run,domain,tables")


def test_batch_names_missing_answers(tmp_path: Path, call: Call) -> None:
    for run, tables in {"a": ["court_rulings", "retailer_results"], "b": ["court_rulings"]}.items():
        (tmp_path / run).mkdir()
        for table in tables:
            (tmp_path / run / f"{table}.txt").write_text("nothing to say", encoding="utf-8")
    done = call("construct", "batch", tmp_path, "--dataset", "sample")
    assert "note: run b has no answer for 1 table" in done.out


@pytest.mark.parametrize(
    "arguments, status, problem",
    [
        (["compare", GOLD, ANSWER, "--keys", "compny"], 1, "did you mean 'company'"),
        (["compare", GOLD, ANSWER, "--profile", "stict"], 1, "did you mean 'strict'"),
        (["compare", GOLD, SAMPLE / "none.csv"], 1, "none.csv"),
        (["compare", GOLD], 2, "Missing argument"),
        (["batch", SAMPLE / "runs"], 1, "found no all_AOE_tables.jsonl"),
        (["batch", SAMPLE / "none"], 1, "none"),
        (["build", "sample", "--folder", "x"], 2, "Missing option '--model'"),
        (["build", "sample", "--folder", "x", "--model", "m", "--rag", "bm52"], 1, "'bm25'"),
    ],
)
def test_failures(arguments: list[Any], status: int, problem: str, call: Call) -> None:
    done = call("construct", *arguments)
    assert done.status == status
    assert problem in done.err
    assert "Traceback" not in done.err
