"""`gold.check_rules`: rules over gold files, and over outputs without gold."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.gold.rules import CHECKED_COLUMNS, check_rules

pytestmark = pytest.mark.usefixtures("own_rules")

OUTPUTS = pd.DataFrame(
    {
        "document": ["one", "two", "three", "four"],
        "predicted": [{"n": 1}, '{"n": -1}', "{n: 1}", None],
    }
)


def positive(doc: Any) -> Any:
    return [] if doc["n"] > 0 else "$.n"


def rows(frame: pd.DataFrame, *names: str) -> list[list[Any]]:
    cells = frame[list(names)].astype(object)
    return cells.where(cells.notna(), None).values.tolist()


def test_outputs_without_gold_and_without_a_dataset():
    xb.rule(positive)
    xb.rule("others", applies_to="invoice")(lambda doc: False)
    found = check_rules(OUTPUTS)
    assert [*found.columns] == CHECKED_COLUMNS.names
    assert rows(found, "run", "document", "schema", "rule", "outcome", "paths") == [
        [None, "one", None, "positive", "holds", ()],
        [None, "two", None, "positive", "broken", ("$.n",)],
        [None, "three", None, "positive", None, ()],
        [None, "four", None, "positive", None, ()],
    ]
    messages = found["message"].tolist()
    assert "line 1 column 2" in messages[2]
    assert messages[3] == "there is no output"
    given = check_rules(OUTPUTS, rules=["others", positive])
    assert Counter(given["rule"]) == {"others": 4, "positive": 4}


SCHEMA = {"title": "Invoice", "type": "object"}


def test_rules_that_apply_to_no_document_are_named():
    outputs = OUTPUTS.assign(schema=[SCHEMA] * len(OUTPUTS))
    xb.rule("typo", applies_to=["invioce", "receipt"])(positive)
    message = r"typo \(invioce, receipt\); the schemas are Invoice"
    with pytest.raises(InputError, match=f"no rule applies to a document: {message}"):
        check_rules(outputs)
    with pytest.raises(InputError, match="no schema is known; pass dataset="):
        check_rules(OUTPUTS)
    xb.rule("other", applies_to="inv*")(positive)
    with pytest.warns(UserWarning, match=f"rules that apply to no document: {message}"):
        found = check_rules(outputs)
    assert set(found["rule"]) == {"other"}
    assert check_rules(outputs, rules="typo").empty
    assert set(check_rules(OUTPUTS, rules="typo")["rule"]) == {"typo"}


def test_a_column_of_schemas_chooses_the_rules(tmp_path: Path):
    path = tmp_path / "invoice-schema.json"
    path.write_text("{}", encoding="utf-8")
    xb.rule(applies_to="invoice")(positive)
    schemas = [SCHEMA, json.dumps(SCHEMA), path, "receipt"]
    found = check_rules(OUTPUTS.assign(schema=schemas, run="r"))
    assert rows(found, "run", "document", "schema") == [
        ["r", "one", "Invoice"],
        ["r", "two", "Invoice"],
        ["r", "three", "invoice"],
    ]


def test_raw_outputs_may_have_a_code_fence(tmp_path: Path):
    (tmp_path / "b.txt").write_text('```json\n{"n": 0}\n```', encoding="utf-8")
    raw = ['```\n{"n": 2}\n```', tmp_path / "b.txt", b'{"n": 3}', float("nan")]
    found = check_rules(pd.DataFrame({"document": list("abcd"), "raw": raw}), rules=positive)
    assert rows(found, "outcome") == [["holds"], ["broken"], ["holds"], [None]]


def test_folders_and_runs_of_a_dataset():
    ds = xb.load_dataset("sample")
    xb.rule("all")(lambda doc: True)
    xb.rule("reports", applies_to="quarterly_*")(lambda doc: doc["filing"] is not None)
    golds = check_rules(ds)
    assert Counter(golds["rule"]) == {"all": 14, "reports": 2}
    assert golds["run"].isna().all()
    assert set(golds["outcome"]) == {"holds"}
    outputs = check_rules(ds.runs, ds)
    assert Counter(outputs["rule"]) == {"all": 56, "reports": 8}
    folder = check_rules(Path(ds.root) / "runs", ds, "reports")
    expected = outputs[outputs["rule"] == "reports"]
    assert rows(folder, "run", "document", "outcome") == rows(
        expected, "run", "document", "outcome"
    )


def test_an_unreadable_gold_file_has_a_message(tmp_path: Path):
    folder = tmp_path / "d" / "s" / "pdf+gold"
    folder.mkdir(parents=True)
    (tmp_path / "d" / "s" / "s-schema.json").write_text('{"type": "object"}', encoding="utf-8")
    (folder / "good.gold.json").write_text('{"n": 1}', encoding="utf-8")
    (folder / "bad.gold.json").write_text("{", encoding="utf-8")
    found = check_rules(xb.load_dataset(tmp_path), rules=positive).set_index("document")
    assert found.loc["good", "outcome"] == "holds"
    assert pd.isna(found.loc["bad", "outcome"])
    assert "is not JSON" in found.loc["bad", "message"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((OUTPUTS,), "no rule is registered"),
        ((OUTPUTS, None, "positve"), r"unknown rule 'positve'; there are none"),
        ((OUTPUTS, None, [3]), "rules has 3; expected names of rules or functions"),
        ((OUTPUTS, None, 3), "rules has 3; expected names of rules or functions"),
        ((OUTPUTS.drop(columns="document"), None, positive), "source has no column 'document'"),
        ((OUTPUTS.drop(columns="predicted"), None, positive), "source has no column 'predicted'"),
        ((OUTPUTS.head(0), None, positive), "empty DataFrame"),
        ((3, None, positive), "runs is a int; expected a DataFrame"),
        ((Path("nowhere"), None, positive), "found nothing at 'nowhere'"),
        ((OUTPUTS, xb.load_dataset("sample"), positive), "the dataset has no document 'one'"),
    ],
)
def test_bad_arguments(arguments: Any, message: str):
    with pytest.raises(InputError, match=message):
        check_rules(*arguments)
