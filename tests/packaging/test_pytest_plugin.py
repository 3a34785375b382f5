"""The pytest plugin in a project of its own, from the wheel, found by its entry point."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.waiting import PATIENCE

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "qty": {"type": "integer"}},
            },
        },
    },
}
GOLD = {
    "vendor": "Acme",
    "total": 12.5,
    "lines": [{"name": "a", "qty": 1}, {"name": "b", "qty": 2}],
}
TESTS = """
import json, os, sys

def test_light():
    assert not {"pandas", "numpy", "extractbench_nb"} & set(sys.modules)

def test_each(golden_case):
    output = golden_case.gold | json.loads(os.environ.get("OUTPUT", "{}"))
    golden_case.check(output)

def test_one(golden):
    golden("invoices/17").check(golden("invoices/17").gold)

def test_unknown(golden):
    golden("invoices/71")
"""


class Done(NamedTuple):
    status: int
    out: str


class Project(NamedTuple):
    folder: Path
    site: Path

    def baseline(self, case: str = "invoices/17") -> Any:
        return json.loads((self.folder / "tests/goldens" / case / "baseline.json").read_text())

    def pytest(self, *options: str, **environment: str) -> Done:
        command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
        unused = ["-p", "no:asyncio", "-p", "no:langsmith_plugin", "-p", "no:hypothesispytest"]
        done = subprocess.run(
            [*command, *unused, *options],
            cwd=self.folder,
            # In a CI job pytest prints a message of several lines again in its summary.
            env=os.environ
            | {"CI": "", "BUILD_NUMBER": "", "PYTHONPATH": str(self.site)}
            | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return Done(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def project(wheel: Path, tmp_path: Path) -> Project:
    site, folder = tmp_path / "site", tmp_path / "project"
    zipfile.ZipFile(wheel).extractall(site)
    for case in ("invoices/17", "receipt"):
        place = folder / "tests/goldens" / case
        place.mkdir(parents=True)
        (place / "gold.json").write_text(json.dumps(GOLD))
    (folder / "tests/goldens/schema.json").write_text(json.dumps(SCHEMA))
    (folder / "tests/test_extraction.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return Project(folder, site)


def test_green_red_and_a_new_baseline(project: Project) -> None:
    written = project.pytest("-k", "each", "--update-baseline", "-n", "2")
    assert (written.status, "baselines written: invoices/17, receipt" in written.out) == (0, True)
    assert project.baseline()["fields"] == []
    assert not list(project.folder.rglob("*.part"))

    green = project.pytest("-k", "each or one or light")
    assert (green.status, "4 passed" in green.out) == (0, True)

    worse = json.dumps({"total": 13, "lines": [{"name": "b", "qty": 3}]})
    red = project.pytest("-k", "each", "--junitxml", "junit.xml", OUTPUT=worse)
    assert (red.status, "2 failed" in red.out) == (1, True), red.out
    message = [line.removeprefix("E").strip() for line in red.out.splitlines()]
    for line in (
        "$.total: was correct 1, is incorrect 0",
        "gold 12.5",
        "is   13",
        "$.lines[0].name: was correct 1, is omission 0",
        "$.lines[1].qty: was correct 1, is incorrect 0",
        "If this is intended: run pytest --update-baseline",
    ):
        assert line in message
    cases = ET.parse(project.folder / "junit.xml").iter("testcase")  # noqa: S314 - pytest's own file
    scores = [{p.get("name"): p.get("value") for p in case.iter("property")} for case in cases]
    assert scores[0]["invoices/17.regressed"] == "4"
    assert round(float(scores[0]["invoices/17.pass_rate"]), 3) == 0.333

    assert project.pytest("-k", "each", "--update-baseline", OUTPUT=worse).status == 0
    assert sorted(row["path"] for row in project.baseline()["fields"]) == [
        "$.lines[0].name",
        "$.lines[0].qty",
        "$.lines[1].qty",
        "$.total",
    ]
    better = project.pytest("-k", "each")
    assert better.status == 0
    assert "better than their baselines; --update-baseline keeps this: invoices/17" in better.out


def test_what_a_test_can_get_wrong(project: Project) -> None:
    unknown = project.pytest("-k", "unknown")
    assert "no folder 'invoices/71' with a gold.json in" in unknown.out
    assert "did you mean 'invoices/17'?" in unknown.out
    place = project.folder / "tests/goldens/receipt"
    tests = project.folder / "tests/test_extraction.py"
    (place / "gold.json").write_text("{")
    tests.write_text("def test_it(golden):\n    golden('receipt').check({})\n")
    broken = project.pytest()
    assert "gold.json' is not JSON" in broken.out
    assert "read_document" not in broken.out
    tests.write_text(TESTS)
    absent = project.pytest("-k", "one", "-o", "golden_folder=gold")
    assert "there is no folder 'gold' beside test_extraction.py or above it" in absent.out
    assert absent.status == 2
    for file in project.folder.rglob("gold.json"):
        file.unlink()
    empty = project.pytest("-k", "each")
    assert empty.status == 2
    assert "holds a gold.json" in empty.out


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import extractbench_nb_pytest;"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stdout.strip() == "['extractbench_nb_pytest']"
