"""The command `gate`: verdicts as exit status, text, JSON and Markdown."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import extractbench_nb as xb
from tests.cli.conftest import Done

RUNS = Path(__file__).resolve().parents[2] / "dataset/runs"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saved results of three runs: `good`, `bad`, and `mixed`, on which nothing can be said."""
    root = tmp_path_factory.mktemp("gate")
    dataset = xb.load_dataset("sample")
    for name, run in (("good", "quill-large"), ("bad", "quill-mini"), ("mixed", "osprey-7b")):
        runs = dataset.runs[dataset.runs["run"] == run]
        xb.evaluate_runs(runs, dataset=dataset, progress=False).save(root / name)
    return root


STATUS = [
    ("good good", [], "pass", 0),
    ("bad good", [], "pass", 0),
    ("good bad", [], "fail", 1),
    ("good bad", ["--strict"], "fail", 1),
    ("bad mixed", [], "inconclusive", 0),
    ("bad mixed", ["--strict"], "inconclusive", 1),
    ("good bad", ["--max-drop", "0.9"], "pass", 0),
    ("good bad", ["--confidence", "0.9999"], "inconclusive", 0),
]


@pytest.mark.parametrize("sides, options, verdict, status", STATUS)
def test_exit_status(
    folders: Path,
    call: Callable[..., Done],
    sides: str,
    options: list[str],
    verdict: str,
    status: int,
) -> None:
    baseline, candidate = sides.split()
    done = call("gate", folders / baseline, folders / candidate, *options)
    assert (done.status, done.err) == (status, "")
    assert done.out.splitlines()[0].endswith(f": {verdict}")
    found = call("gate", folders / baseline, folders / candidate, *options, "--json")
    assert (found.status, found.json["verdict"]) == (status, verdict)
    assert set(found.json) == {"verdict", "reason", "notes", "summary", "by_document", "fields"}


def test_the_summary_is_written(
    folders: Path, call: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, step = tmp_path / "gate.md", tmp_path / "step"
    step.write_text("before\n")
    arguments = ("gate", folders / "good", folders / "bad", "--summary", file)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert call(*arguments, "--github").status == 2
    assert not file.exists()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    assert call(*arguments).status == 1
    assert step.read_text() == "before\n"
    assert call(*arguments, "--github").status == 1
    assert file.read_text().startswith("### Extraction gate: fail\n")
    assert step.read_text() == f"before\n{file.read_text()}\n"


def test_regressions_are_counted_once_and_the_same_everywhere(
    folders: Path, call: Callable[..., Done], tmp_path: Path
) -> None:
    file = tmp_path / "gate.md"
    sides = ("gate", folders / "good", folders / "bad")
    done = call(*sides, "--summary", file)
    counts = [
        re.findall(r"(\d+) rows regressed in outputs(?s:.*)isted: (\d+) of \1 rows", text)
        for text in (done.out, file.read_text())
    ]
    rows = call(*sides, "--json").json["fields"]
    readable = [row for row in rows if row["reason"] != "invalid_output"]
    expected = sum(row["verdict"] == "regressed" for row in readable)
    assert counts == [[(str(expected), "10")], [(str(expected), "25")]]
    assert done.out.splitlines()[-1].startswith("  --json has all rows, --summary FILE")
    assert ".fields" not in done.out


def test_folders_of_outputs_are_evaluated(call: Callable[..., Done], tmp_path: Path) -> None:
    for side, run in (("a", "quill-large"), ("b", "quill-mini")):
        shutil.copytree(RUNS / run, tmp_path / side / run)
    sides = ("gate", tmp_path / "a", tmp_path / "b")
    done = call(*sides, "--dataset", "sample", "--profile", "strict")
    assert (done.status, done.out.split(":")[0]) == (
        1,
        "Regressions from quill-large to quill-mini",
    )
    accepted = tmp_path / "accepted.json"
    row = {"document": "cv_tobias_wendelin", "path": "$.applicant.headline", "value": "x"}
    accepted.write_text(json.dumps([row]))
    evaluated = ("--dataset", "sample", "--profile", "strict", "--accepted", accepted)
    assert call(*sides, *evaluated).status == 1
    saved = call("batch", tmp_path / "b", *evaluated, "--save-to", tmp_path / "results")
    assert saved.status == 0
    assert call("gate", tmp_path / "a", tmp_path / "results", *evaluated).status == 1
    other = call("gate", tmp_path / "a", tmp_path / "results", *evaluated[:4])
    assert other.status == 2
    assert "other accepted alternatives for document 'cv_tobias_wendelin'" in other.err
    # the profile of the saved side
    strict = evaluated[:4]
    assert call("batch", tmp_path / "a", *strict, "--save-to", tmp_path / "was").status == 0
    found = call("gate", tmp_path / "was", tmp_path / "b", "--dataset", "sample", "--json")
    assert (found.status, found.json["summary"]) == (
        1,
        call(*sides, *strict, "--json").json["summary"],
    )
    other = call(
        "gate", tmp_path / "was", tmp_path / "b", "--dataset", "sample", "--profile", "paper"
    )
    assert "was evaluated with profile 'strict'" in other.err
    without = call(*sides)
    assert without.status == 2
    assert "holds no saved results; if it holds outputs, name their dataset" in without.err
    for name, value in (("--profile", "strict"), ("--accepted", accepted)):
        wrong = call(*sides, name, value)
        assert wrong.status == 2
        assert f"{name} needs --dataset" in wrong.err


def test_what_cannot_be_compared_has_a_status_of_its_own(
    folders: Path, call: Callable[..., Done], tmp_path: Path
) -> None:
    done = call("gate", folders / "good", tmp_path / "nothing")
    assert (done.status, done.out) == (2, "")
    assert "no folder" in done.err
    dataset = xb.load_dataset("sample")
    runs = dataset.runs[dataset.runs["run"] == "quill-mini"]
    paper = xb.evaluate_runs(runs, dataset=dataset, progress=False, profile="paper")
    other = call("gate", folders / "good", paper.save(tmp_path / "paper"))
    assert other.status == 2
    assert "error: the baseline was evaluated with profile 'strict'" in other.err
    both = xb.load_dataset("sample").runs.query("run in ['quill-mini', 'quill-large']")
    several = xb.evaluate_runs(both, dataset=dataset, progress=False).save(tmp_path / "several")
    for sides, options, problem in (
        (("good", several), [], "candidate has 2 runs; choose one with --run: 'quill-large'"),
        ((several, "good"), ["--baseline-run", "x"], "error: --baseline-run 'x' is not in the"),
    ):
        done = call("gate", *(folders / side for side in sides), *options)
        assert (done.status, problem in done.err) == (2, True), done.err
