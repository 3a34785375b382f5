"""Where reports go: names that stay in their folder, files that are whole or not there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.report.builder import ReportBuilder, ReportConfig

FILES = {"report.json", "summary.txt", "fields.csv", "fields.md", "report.html"}


@pytest.mark.parametrize(
    "name",
    ["../x", "..", ".", "", "/etc/x", "a/../../b", "a\\..\\b", "nul\0", "line\nend", "\ud800", 5],
)
def test_names_that_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="output_name is") as caught:
        ReportConfig(output_name=name)
    assert repr(name) in str(caught.value)


def test_a_report_cannot_smuggle_a_name_in(cv: Any, report_on: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    report = replace(report_on(cv), output_name="../out")
    with pytest.raises(InputError, match=r"output_name is '\.\./out'"):
        ReportBuilder(ReportConfig(output_dir=tmp_path / "in")).save(report)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gpt", "openai/gpt-4o", "a b", "ü", "...", "x..y", "-rf"])
def test_names_that_stay_below(cv: Any, tmp_path: Path, name: str) -> None:
    builder = ReportBuilder(ReportConfig(output_dir=tmp_path, output_name=name))
    folder = builder.save(builder.build(*cv))
    assert folder == tmp_path / name
    assert {path.name for path in folder.iterdir()} == FILES


@pytest.mark.parametrize(
    "options, told",
    [
        ({"max_reasoning_length": -1}, "max_reasoning_length is -1; expected an integer"),
        ({"top_n_lowest_fields": 2.0}, "top_n_lowest_fields is 2.0; expected an integer"),
        ({"top_n_lowest_fields": True}, "top_n_lowest_fields is True; expected an integer"),
        ({"save_json": "no"}, "save_json is 'no'; expected True or False"),
        ({"output_dir": None}, "output_dir is None; expected a pathlib.Path"),
        ({"output_dir": ""}, "output_dir is ''; expected a pathlib.Path"),
        ({"profile": "papr"}, "unknown profile 'papr'; did you mean 'paper'"),
        ({"judge": 5}, "judge is 5; expected"),
        ({"alignment": "best"}, "alignment is 'best'; expected 'optimal' or a function"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match="^ReportConfig: " + re.escape(told)):
        ReportConfig(**options)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        ReportConfig(output_name="..", max_reasoning_length=-1, save_csv=None)  # type: ignore[arg-type]
    assert str(caught.value).count("; expected") == 3


def test_automatic_name(cv: Any, report_on: Any) -> None:
    one, two = report_on(cv), report_on((cv.schema, cv.gold, cv.gold))
    assert re.fullmatch(r"\d{8}-\d{4}-[0-9a-f]{8}", one.output_name)
    assert one.output_name[-8:] != two.output_name[-8:]
    assert one.output_name[:8] == one.timestamp[:10].replace("-", "")


@pytest.mark.parametrize(
    "switch, file",
    [
        ("save_json", "report.json"),
        ("save_text", "summary.txt"),
        ("save_csv", "fields.csv"),
        ("save_markdown", "fields.md"),
        ("save_html", "report.html"),
    ],
)
def test_each_switch_leaves_out_its_file(cv: Any, tmp_path: Path, switch: str, file: str) -> None:
    options: dict[str, Any] = {switch: False}
    builder = ReportBuilder(ReportConfig(output_dir=str(tmp_path), output_name="a", **options))
    folder = builder.save(builder.build(*cv))
    assert {path.name for path in folder.iterdir()} == FILES - {file}


def test_rules_reach_the_evaluation(cv: Any, report_on: Any, failing_judge: Any) -> None:
    def in_order(gold: Any, predicted: Any, node: Any) -> list[tuple[int, int]]:
        return [(i, i) for i in range(min(len(gold), len(predicted)))]

    report = report_on(cv, profile="strict", judge=failing_judge, alignment=in_order)
    assert (report.profile, report.judge, report.alignment) == ("strict", "failing", "callable")
    assert report.versions["extractbench_nb"] == xb.__version__


@pytest.mark.parametrize("as_text", [True, False])
def test_evaluation_saves_straight_into_the_folder(cv: Any, tmp_path: Path, as_text: bool) -> None:
    folder = tmp_path / "of mine"
    saved = xb.evaluate(*cv).save(str(folder) if as_text else folder)
    assert saved == folder
    assert {path.name for path in folder.iterdir()} == FILES
    assert "EVALUATION REPORT: of mine" in (folder / "summary.txt").read_text(encoding="utf-8")


def test_saving_again_replaces(cv: Any, worked: Any, tmp_path: Path) -> None:
    xb.evaluate(*cv).save(tmp_path)
    xb.evaluate(*worked).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert "0.833" in (tmp_path / "summary.txt").read_text(encoding="utf-8")


def test_a_file_where_the_folder_should_be(cv: Any, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OutputError, match="taken' is a file, not a folder"):
        xb.evaluate(*cv).save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_name_that_is_too_long(cv: Any, tmp_path: Path) -> None:
    builder = ReportBuilder(ReportConfig(output_dir=tmp_path, output_name="n" * 300))
    with pytest.raises(OutputError, match="cannot be written: File name too long"):
        builder.save(builder.build(*cv))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_is_read_only(cv: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="Permission denied"):
            xb.evaluate(*cv).save(tmp_path)
    finally:
        tmp_path.chmod(0o700)


FULL = """
    import resource, signal, sys
    import extractbench_nb as xb
    from extractbench_nb.report import ReportBuilder

    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    first = xb.evaluate(schema, {"a": "x"}, {"a": "x"})
    second = xb.evaluate(schema, {"a": "y" * 9_000}, {"a": "z"})
    empty, full = sys.argv[1:]
    first.save(full)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))
    for folder in (empty, full):
        try:
            second.save(folder)
        except xb.OutputError as error:
            print(error)
"""


def test_no_space_for_a_file(tmp_path: Path) -> None:
    """The kernel refuses to write on; what was there stays, and nothing half-written is left."""
    empty, full = tmp_path / "empty", tmp_path / "full"
    script = [sys.executable, "-c", textwrap.dedent(FULL), str(empty), str(full)]
    run = subprocess.run(script, capture_output=True, text=True, check=True)
    problem = r"'.*report\.json' cannot be written: File too large\n"
    assert re.fullmatch(problem * 2, run.stdout)
    assert not list(empty.iterdir())
    assert {path.name for path in full.iterdir()} == FILES
    assert "Overall Score: 1.000" in (full / "summary.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["", None])
def test_no_folder_is_no_place(cv: Any, folder: Any) -> None:
    with pytest.raises(InputError, match="expected a path"):
        xb.evaluate(*cv).save(folder)
