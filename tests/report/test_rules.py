"""Cross-field rules in the files of a report."""

import json
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb

pytestmark = pytest.mark.usefixtures("own_rules")

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}}
HOSTILE = "</code><script>alert(1)</script>"


def files(folder: Path, predicted: Any = None) -> dict[str, str]:
    ev = xb.evaluate(SCHEMA, {"total": 1}, {"total": 2} if predicted is None else predicted)
    ev.save(folder)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_without_rules_there_is_no_section(tmp_path: Path):
    written = files(tmp_path)
    assert json.loads(written["report.json"])["rules"] == []
    assert 'id="rules"' not in written["report.html"]
    assert "CROSS-FIELD RULES" not in written["summary.txt"]


def test_outcomes_are_in_each_file_and_escaped(tmp_path: Path):
    xb.rule("is_one")(lambda doc: doc["total"] == 1 or "$.total")
    xb.rule(HOSTILE)(lambda doc: doc[HOSTILE])
    written = files(tmp_path)
    assert json.loads(written["report.json"])["rules"][0] == {
        "rule": "is_one",
        "applies_to": "*",
        "outcome_gold": "holds",
        "outcome_extracted": "broken",
        "paths_gold": [],
        "paths_extracted": ["$.total"],
        "message": None,
        "finding": "suspect_prediction",
    }
    assert "is_one: gold holds, extracted broken ($.total)" in written["summary.txt"]
    page = written["report.html"]
    assert '<h2 id="rules">Rules <span class="count">2</span></h2>' in page
    assert "extraction: <code>$.total</code>" in page
    assert "<script>alert" not in page


def test_an_extraction_that_is_not_json(tmp_path: Path):
    xb.rule("is_one")(lambda doc: doc["total"] == 1)
    written = files(tmp_path, "{")
    assert json.loads(written["report.json"])["rules"][0]["outcome_extracted"] is None
    assert "is_one: gold holds, extracted not JSON" in written["summary.txt"]
    assert "not JSON</span>" in written["report.html"]
