"""Loading tasks: AOE's records, folders, DTBench cases, the sample."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from extractbench_nb.construction.table_dataset import load
from extractbench_nb.errors import DatasetError

SAMPLE = [*load()]


# --- the sample ------------------------------------------------------------------------------


def test_the_sample_is_loaded_without_problems():
    dataset = load()
    assert dataset.tables["table"].tolist() == [
        "court_rulings",
        "extraction_papers",
        "retailer_results",
    ]
    assert dataset.tables["problem"].isna().all()
    assert repr(dataset).startswith("TableDataset 'sample': 3 tables, 16 documents, ")


@pytest.mark.parametrize("task", SAMPLE, ids=lambda task: task.id)
def test_documents_of_the_sample_disagree_as_stated(task: Any):
    gold, texts = task.gold, task.texts
    path = load().root / task.id / "task.yaml"
    for one in yaml.safe_load(path.read_text(encoding="utf-8"))["disagreements"]:
        rows = gold[(gold[list(one["row"])] == one["row"]).all(axis=1)]
        assert rows[one["column"]].tolist() == [one["gold"]], one
        assert len(set(one["says"].values())) > 1
        assert one["gold"] in one["says"].values()
        for document, said in one["says"].items():
            assert said in texts[document], (document, said)


@pytest.mark.parametrize("task", SAMPLE, ids=lambda task: task.id)
def test_values_of_the_sample_are_in_its_documents(task: Any):
    whole = " ".join(" ".join(task.texts.values()).split())
    cells = task.gold[list(task.values)].to_numpy().ravel()
    absent = [cell for cell in cells if cell and cell not in whole]
    # a loss is printed in parentheses; no text says that there is no suspension
    assert [cell for cell in absent if cell not in ("-4.1", "无")] == []


# --- folders ---------------------------------------------------------------------------------


def folder(root: Path, name: str = "one", gold: str = "k,v\na,1\n", **settings: Any) -> Path:
    task = root / name
    (task / "documents").mkdir(parents=True)
    (task / "gold.csv").write_text(gold, encoding="utf-8")
    (task / "documents" / "b.txt").write_text("a is 1", encoding="utf-8")
    (task / "task.yaml").write_text(json.dumps({"keys": ["k"], **settings}), encoding="utf-8")
    return task


def test_a_folder_and_a_folder_of_folders(tmp_path: Path):
    one = load(folder(tmp_path, query="what is a?", language="en"))
    assert [task.id for task in one] == ["one"]
    assert one["one"].values == ("v",)
    assert one["one"].gold.to_dict("list") == {"k": ["a"], "v": ["1"]}
    assert one["one"].texts == {"b.txt": "a is 1"}
    folder(tmp_path, "two")
    assert len(load(tmp_path)) == 2


@pytest.mark.parametrize(
    "gold, problem",
    [
        ("", "expected a header"),
        ("k,v,v\na,1,2\n", "more than one gold column is named 'v'"),
        ("k,v\na,1,2\n", "no row with more cells"),
    ],
)
def test_problems_of_a_gold_table(tmp_path: Path, gold: str, problem: str):
    with pytest.raises(DatasetError, match=problem):
        load(folder(tmp_path, gold=gold))


def test_gold_texts_are_kept_as_written(tmp_path: Path):
    dataset = load(folder(tmp_path, gold="\ufeffk,v\r\n007,N/A\r\n1.0,\r\n"))
    assert dataset["one"].gold.to_numpy().tolist() == [["007", "N/A"], ["1.0", ""]]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"qeury": "x"}, "no setting 'qeury'; did you mean 'query'"),
        ({"keys": [2020]}, "quote numbers"),
        ({"query": 3}, "expected texts"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, settings: dict[str, Any], message: str):
    with pytest.raises(DatasetError, match=message):
        load(folder(tmp_path, **settings))


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [", "&a [*a"])
def test_a_task_file_that_is_not_a_mapping(tmp_path: Path, text: str):
    (folder(tmp_path) / "task.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=r"task\.yaml"):
        load(tmp_path)


def test_nothing_to_load(tmp_path: Path):
    with pytest.raises(DatasetError, match=r"found no all_AOE_tables\.jsonl"):
        load(tmp_path)
    with pytest.raises(DatasetError, match="no file or folder"):
        load(tmp_path / "absent")
    with pytest.raises(DatasetError, match="did you mean 'court_rulings'"):
        load()["court_ruling"]


# --- AOE -------------------------------------------------------------------------------------

CASE = {"案件名": "甲案", "入库编号": "2023-1", "基本案情": "某某盗窃。"}


def record(id_: str, language: str, answers: Any, documents: Any, **more: Any) -> dict[str, Any]:
    fields = {"language": language, "query": "q", "answers": answers, "input_doc": documents}
    return {"record_id": id_, **fields, **more}


def aoe(root: Path, *records: Any) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records]
    (root / "all_AOE_tables.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return root


def word(path: Path, *paragraphs: str) -> None:
    path.parent.mkdir(exist_ok=True)
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {space}>{body}</w:document>")


def test_records_of_aoe(tmp_path: Path):
    (tmp_path / "financial").mkdir()
    (tmp_path / "financial" / "a.md").write_text("报告\u2028一", encoding="utf-8")
    row = {"文档名称": "a", "报表所属期": 2020, "营业收入(元)": None, "净利润(元)": ["x"]}
    first = record("financial_9_4_zh", "zh", [row], ["a"])
    old = {"academic_x_1": {"language": "en", "answers": [{"paper_name": "p"}], "input_doc": []}}
    dataset = load(aoe(tmp_path, first, "", old))
    assert dataset.name == "AOE"
    assert dataset.tables[["table", "task", "language"]].to_numpy().tolist() == [
        ["financial_9_4_zh", "financial_4", "zh"],
        ["academic_x_1", "academic_1", "en"],
    ]
    task = dataset["financial_9_4_zh"]
    assert task.gold.to_numpy().tolist() == [["a", "2020", "", '["x"]']]
    assert task.keys == ("文档名称",)
    assert task.numeric == task.values
    assert task.texts == {"a.md": "报告\u2028一"}


def test_what_is_odd_about_records_is_said(tmp_path: Path):
    path = aoe(
        *(tmp_path, record("legal_1_1_zh", "zh", [{"案件名": "甲案", "被告": "乙"}], [CASE, CASE])),
        record("x_1_2_en", "en", [{"a": 1}, {"b": 2}], ["../../secret", "absent"]),
        record("x_1_3_en", "en", [], []),
    )
    dataset = load(path)
    problems = [task.problem for task in dataset]
    assert problems[0] is None
    for part in ("no columns are configured", "different keys", "secret.md' is not in"):
        assert part in str(problems[1])
    assert list(dataset["legal_1_1_zh"].texts) == ["甲案", "甲案'"]
    with pytest.raises(DatasetError, match=r"absent\.md"):
        _ = dataset["x_1_2_en"].texts


@pytest.mark.parametrize("line", ["{", "[]", '{"a": 1, "b": 2}', '{"record_id": 1, "answers": 2}'])
def test_a_line_that_is_no_record_is_an_error(tmp_path: Path, line: str):
    with pytest.raises(DatasetError, match="line 2 of"):
        load(aoe(tmp_path, "", line))


def test_laws_of_legal_task_0(tmp_path: Path):
    law = tmp_path / "law_docx" / "刑法.docx"
    word(law, "第一条", "", "第二条")
    answers = [{"案件名": "甲案", "关联索引": ["《刑法》第1条", "《合同法》", "《规定》"]}]
    dataset = load(aoe(tmp_path, record("legal_3_0_zh", "zh", answers, [CASE])))
    assert dataset.tables.loc[0, "problem"] == "laws that gold cites: 刑法.docx"
    texts = dataset["legal_3_0_zh"].texts
    assert list(texts) == ["甲案", "刑法.docx"]
    assert texts["刑法.docx"] == "第一条\n第二条"
    law.write_bytes(b"no zip")
    with pytest.raises(DatasetError, match="not a Word file"):
        _ = load(tmp_path)["legal_3_0_zh"].texts


def test_ids_must_be_unique(tmp_path: Path):
    one = record("academic_1_1_en", "en", [{"paper_name": "p"}], [])
    with pytest.raises(DatasetError, match="2 tables have the id"):
        load(aoe(tmp_path, one, one))


# --- answers ---------------------------------------------------------------------------------


def test_answers_of_the_sample():
    runs = load().runs
    assert runs["run"].unique().tolist() == ["osprey-7b", "quill-large", "quill-mini"]
    assert len(runs) == 9
    assert all(path.read_text(encoding="utf-8") for path in runs["predicted"])


def test_answers_of_a_folder(tmp_path: Path):
    folder(tmp_path)
    assert load(tmp_path).runs.empty
    (tmp_path / "runs" / "m").mkdir(parents=True)
    (tmp_path / "runs" / "m" / "one.csv").write_text("k,v", encoding="utf-8")
    assert load(tmp_path).runs["table"].tolist() == ["one"]
    (tmp_path / "runs" / "m" / "ona.txt").write_text("", encoding="utf-8")
    with pytest.raises(DatasetError, match="did you mean 'one'"):
        _ = load(tmp_path).runs
