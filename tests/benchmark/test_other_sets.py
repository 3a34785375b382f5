"""DocuBench and LlamaIndex's ExtractBench, in small copies of their formats, and real DocuBench."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.benchmark import load_docubench, load_llamaindex
from extractbench_nb.errors import DatasetError, InputError

SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
}
GOLD = {"total": 3.5, "lines": [{"name": "Envelope"}]}
#: A row as run-llama/ExtractBench describes it.
ROW = {
    "id": "short/invoice-1",
    "category": "short",
    "pdf": "docs/short/invoice-1.pdf",
    "tags": ["source:real"],
    "data_schema": json.dumps(SCHEMA),
    "expected_output": json.dumps(GOLD),
    "field_rules": json.dumps(
        {
            "total": {"evidence": [{"page": 1, "value": 3.5}, {"page": 2, "value": 3.50001}]},
            "lines[0].name": {"evidence": [{"value": "Envelope"}, {"value": "Envelopes"}]},
            "lines": {"evidence": [{"value": []}], "structural": "set"},
            "absent": {"evidence": [{"value": "x"}]},
        }
    ),
}
RESULT = {"request": {"example_id": "short/invoice-1"}, "output": {"extracted_data": GOLD}}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACTBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))


def write(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_llamaindex(tmp_path: Path) -> None:
    other = ROW | {"id": "short/invoice-2", "pdf": "docs/short/invoice-2.pdf", "field_rules": None}
    listed = [{"type": "extract_field", "field_path": "total", "evidence": [{"value": 4}]}]
    long = ROW | {"id": "long/report", "pdf": "docs/long/report.pdf"}
    write(tmp_path / "short.jsonl", ROW, other)
    write(tmp_path / "long.jsonl", long | {"field_rules": json.dumps(listed)})
    pdf = tmp_path / "docs/short/invoice-1.pdf"
    pdf.parent.mkdir(parents=True)
    pdf.write_bytes(b"%PDF-1.4\n")
    answer = RESULT | {"output": {"extracted_data": GOLD | {"total": 3.50001}}}
    outside = {"request": {"example_id": "medium/other"}, "output": {"extracted_data": {}}}
    write(tmp_path / "answers/results/system_a/short.jsonl", answer, outside)

    dataset = load_llamaindex(tmp_path, results=tmp_path / "answers")
    assert dataset.name == "llamaindex-extractbench"
    listing = dataset.listing.set_index("document")
    assert listing["domain"].to_dict() == {
        "invoice-1": "short",
        "invoice-2": "short",
        "report": "long",
    }
    assert listing.loc["invoice-2", "schema"] == "invoice-1"  # the same text, the same schema
    assert listing["has_pdf"].to_dict() == {"invoice-1": True, "invoice-2": False, "report": False}
    assert dataset.schema("invoice-1") == SCHEMA
    assert dataset.gold("report") == GOLD
    assert dataset.accepted[["document", "path", "value"]].to_numpy().tolist() == [
        ["invoice-1", "$.total", 3.50001],
        ["invoice-1", "$.lines[0].name", "Envelopes"],
        ["report", "$.total", 4],
    ]
    exact = {"total": "number_exact"}
    scores = [
        xb.evaluate_runs(dataset, metrics=exact, accepted=a, progress=False)
        .summary["passed"]
        .item()
        for a in (None, dataset.accepted)
    ]
    assert scores[1] == scores[0] + 1
    assert load_llamaindex(tmp_path, results=tmp_path / "answers").root == dataset.root
    assert load_llamaindex(tmp_path).runs.empty


@pytest.mark.parametrize(
    "change, message",
    [
        ({"id": None}, "field 'id': found null; expected a text"),
        ({"data_schema": None}, "record 'short/invoice-1'.*'data_schema': found null"),
        ({"data_schema": SCHEMA}, "record 'short/invoice-1'.*'data_schema': found .*a text"),
        ({"data_schema": "{"}, "record 'short/invoice-1'.*'data_schema': not JSON"),
        ({"expected_output": "[1]"}, r"'expected_output': found \[1\]; expected a JSON object"),
        ({"pdf": "../x.pdf"}, "'pdf': .* leaves the folder"),
        ({"pdf": 3}, "'pdf': found 3"),
        ({"field_rules": "{"}, "'field_rules': JSONDecodeError"),
        ({"field_rules": "[{}]"}, "'field_rules': KeyError"),
        ({"field_rules": '{"total": 3}'}, "'field_rules': AttributeError"),
    ],
)
def test_a_row_that_deviates(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write(tmp_path / "medium.jsonl", ROW | change)
    with pytest.raises(DatasetError, match=rf"medium\.jsonl, line 1.*{message}"):
        load_llamaindex(tmp_path)


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"found none of short\.jsonl, medium\.jsonl"):
        load_llamaindex(tmp_path)
    write(tmp_path / "short.jsonl", ROW, ROW)
    with pytest.raises(DatasetError, match=r"line 2.*'id': the document 'invoice-1' occurs twice"):
        load_llamaindex(tmp_path)
    write(tmp_path / "short.jsonl", {key: ROW[key] for key in ROW if key != "expected_output"})
    with pytest.raises(DatasetError, match="no field 'expected_output'"):
        load_llamaindex(tmp_path)
    (tmp_path / "short.jsonl").write_text("[1]\n")
    with pytest.raises(DatasetError, match=r"line 1: found \[1\]; expected a JSON object"):
        load_llamaindex(tmp_path)
    write(tmp_path / "short.jsonl", ROW)
    for result, message in (
        ({"output": {}}, "no field 'request'"),
        (RESULT | {"output": None}, "record 'invoice-1'.*'output': found null"),
        (RESULT | {"output": {}}, "output of 'invoice-1': no field 'extracted_data'"),
    ):
        write(tmp_path / "answers/system_a/short.jsonl", result)
        with pytest.raises(DatasetError, match=message):
            load_llamaindex(tmp_path, results=tmp_path / "answers")


def test_docubench(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="expected a copy of DocuBench"):
        load_docubench(tmp_path)
    write(tmp_path / "labels/a1.json", GOLD)
    with pytest.raises(DatasetError, match=r"record 'a1' has no schema; expected .*schemas.a1"):
        load_docubench(tmp_path)
    write(tmp_path / "schemas/a1.json", SCHEMA)
    write(tmp_path / "results/gpt/a1.json", {"data": GOLD, "score": 1.0})
    dataset = load_docubench(tmp_path)
    assert dataset.licence == "CC BY 4.0, DocuPipe/DocuBench"
    evs = xb.evaluate_runs(dataset, progress=False)
    assert evs.summary[["run", "document", "pass_rate"]].to_numpy().tolist() == [["gpt", "a1", 1.0]]
    for content, message in (({"score": 1.0}, "no field 'data'"), ({"data": []}, r"found \[\]")):
        write(tmp_path / "results/gpt/a1.json", content)
        with pytest.raises(DatasetError, match=rf"gpt.a1\.json.*{message}"):
            load_docubench(tmp_path)
    (tmp_path / "labels/a1.json").write_text("{")
    with pytest.raises(InputError, match=r"a1\.json"):
        load_docubench(tmp_path)


def test_the_real_docubench() -> None:
    folder = os.environ.get("EXTRACTBENCH_DOCUBENCH")
    if not folder:
        pytest.skip("DocuBench is not here: set EXTRACTBENCH_DOCUBENCH to a copy of it")
    dataset = load_docubench(folder)
    evs = xb.evaluate_runs(dataset, profile="paper", progress=False)
    assert len(evs.summary) == 6 * len(dataset.listing)
    assert evs.summary["valid"].all()
    assert evs.summary["pass_rate"].gt(0).mean() > 0.95
