"""Which gold cells were in the retrieved chunks."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.construction import Retriever, evidence_recall, load, split_documents
from extractbench_nb.construction.evidence import CELL_COLUMNS, RECALL_COLUMNS, Holders, plain
from extractbench_nb.errors import InputError
from tests.construction.test_retrieval import Counting, embed
from tests.llm_server import LLMServer

DTBENCH = Path(os.environ.get("EXTRACTBENCH_CONFORMANCE", "absent")).parent / "aoe" / "dtbench"
dtbench = pytest.mark.skipif(not DTBENCH.is_dir(), reason="needs the cases of DTBench")
GOLD = pd.DataFrame({"name": ["Oss", "Ulm"], "fee": ["12", "3.5"]})
TEXTS = {"one": "The fee of Oss is 12.", "two": "Ulm is far away. It costs 3.50."}


def status(value: Any, text: str, **options: Any) -> str:
    found = evidence_recall(pd.DataFrame({"v": [value]}), {"d": text}, query="q", **options)
    return str(found.cells.loc[0, "status"])


@pytest.mark.parametrize(
    "value, text, expected",
    [
        ("61.3", "income was 61.3 million", "retrieved"),
        ("61.3", "income was 161.3 million", "absent"),
        ("61.3", "income was 61.35 million", "absent"),
        ("3", "a rate of 3.5", "absent"),
        ("5", "a rate of 3.5", "absent"),
        ("3", "There were 3. Then 4.", "retrieved"),
        ("1284.6", "income: 1,284.6", "retrieved"),
        ("1,284.6", "income: 1284.6", "retrieved"),
        ("1,2", "rows 12", "absent"),
        ("Oss", "osseous", "absent"),
        ("Oss", "OSS.", "retrieved"),
        ("Oss", "(Oss)", "retrieved"),
        ("two words", "two\n   Words", "retrieved"),
        ("有期徒刑二年", "判处有期徒刑二年，缓刑", "retrieved"),
        ("2020", "2020年度", "retrieved"),
        ("2020", "２０２０年度", "retrieved"),
        ("50000元", "人民币50000元。", "retrieved"),
        ("50000", "人民币150000元。", "absent"),
        ("aa", "aaa aa", "retrieved"),
        (2020, "in 2020", "retrieved"),
        (12.0, "12 euros", "retrieved"),
        ("+", "a + b", "retrieved"),
        ("a\nb", "a b", "retrieved"),
    ],
)
def test_when_a_text_holds_a_value(value: Any, text: str, expected: str):
    assert status(value, text) == expected


def test_cells_name_the_chunk_that_holds_them():
    found = evidence_recall(GOLD, TEXTS, k=[1, 2], query="fee of Oss")
    assert found.cells.to_dict("list") == {
        "row": [0, 0, 1, 1],
        "column": ["name", "fee", "name", "fee"],
        "value": ["Oss", "12", "Ulm", "3.5"],
        "status": ["retrieved", "retrieved", "retrieved", "absent"],
        "rank": [1, 1, 2, None],
        "document": ["one", "one", "two", None],
        "chunk": [0, 0, 0, None],
        "documents": [1, 1, 1, 0],
    }
    assert found.by_k.to_numpy().tolist() == [[1, 4, 3, 2, 2 / 3], [2, 4, 3, 3, 1.0]]
    assert found.recall == 1.0
    assert list(found.cells.columns) == CELL_COLUMNS.names
    assert list(found.by_k.columns) == RECALL_COLUMNS.names
    assert "1 chunks: 2 of 3  0.667" in repr(found)
    assert "<td" in found._repr_html_()


def test_missed_and_cut_values():
    missed = evidence_recall(GOLD, TEXTS, k=1, query="far away").cells
    assert missed["status"].tolist() == ["missed", "missed", "retrieved", "absent"]
    assert missed["document"].tolist()[:3] == ["one", "one", "two"]
    long = Retriever(chunk_size=10, overlap=0)
    cut = evidence_recall(pd.DataFrame({"v": ["far away. It"]}), TEXTS, long, query="q").cells
    assert cut[["status", "document", "documents"]].to_numpy().tolist() == [["cut", "two", 1]]


def test_empty_cells_do_not_count():
    gold = pd.DataFrame({"a": ["", " ", None, np.nan, "x"]})
    assert evidence_recall(gold, {"d": "x"}).by_k["cells"].tolist() == [1]
    nothing = evidence_recall(gold.head(0), {"d": "x"})
    assert nothing.recall is None
    assert evidence_recall(gold, {}).recall is None
    assert "0 gold cells" in repr(nothing)


def test_a_function_as_retriever():
    def last_first(texts: Any, query: str) -> list[str]:
        assert query == "name fee"
        return [chunk.text for chunk in split_documents(texts)][::-1]

    found = evidence_recall(GOLD, TEXTS, last_first, k=1)
    assert found.cells["document"].fillna("").tolist() == ["one", "one", "two", ""]
    assert found.cells["status"].tolist() == ["missed", "missed", "retrieved", "absent"]
    as_chunks = evidence_recall(GOLD, TEXTS, lambda texts, _: split_documents(texts), k=2)
    assert as_chunks.recall == 1.0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], TEXTS), "gold is list"),
        ((GOLD,), "documents are missing"),
        ((GOLD, TEXTS, "bm52"), "did you mean 'bm25'"),
        ((GOLD, TEXTS, 3), "retriever is int"),
        ((GOLD, TEXTS, "bm25", 0), "k is 0"),
        ((GOLD, TEXTS, "bm25", []), "k is empty"),
        ((GOLD, TEXTS, lambda *_: [1]), "something else than texts"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: Any, message: str):
    with pytest.raises(InputError, match=message):
        evidence_recall(*arguments)


@given(st.lists(st.sampled_from(["ab", "12", "1.2", "a b", "中文", "x"]), min_size=1, max_size=6))
def test_recall_grows_with_k_and_ends_with_all_uncut_values(values: list[str]):
    texts = {"d": " ".join(values), "e": "ab 12"}
    retriever = Retriever(chunk_size=8, overlap=2)
    gold = pd.DataFrame({"v": values})
    found = evidence_recall(gold, texts, retriever, k=[1, 2, 3, 99], query="ab 中文")
    assert found.by_k["retrieved"].is_monotonic_increasing
    assert set(found.cells["status"]) <= {"retrieved", "cut"}
    assert (found.cells["rank"].notna() == (found.cells["status"] == "retrieved")).all()


@given(
    st.text(alphabet="ab1.,- 中年_\n", max_size=40),
    st.text(alphabet="ab1.,-中年_", min_size=1, max_size=4),
)
def test_words_are_looked_up_as_they_would_be_searched(text: str, value: str):
    holders = Holders([text, "b", text + value])
    wanted = plain(value)
    expected = [
        place
        for place, whole in enumerate(map(plain, [text, "b", text + value]))
        if any(
            Holders([whole])._is_bounded(at + 1, wanted)
            for at in range(len(whole))
            if wanted and whole.startswith(wanted, at)
        )
    ]
    assert holders.of(value) == expected


def test_ten_thousand_rows():
    gold = pd.DataFrame({"key": [f"name {n}" for n in range(10_000)], "value": range(10_000)})
    text = "\n\n".join(f"name {n} has {n * 3} units" for n in range(10_000))
    found = evidence_recall(gold, {"d": text}, k=[50], query="units")
    assert len(found.cells) == 20_000


# --- DTBench ---------------------------------------------------------------------------------


@dtbench
def test_bm25_on_dtbench():
    """Near 0.775 with 50 chunks and 0.933 with 250: the mean, and over all cells."""
    by_k = [evidence_recall(task, k=[50, 250]).by_k for task in load(DTBENCH)]
    mean = [sum(frame["recall"][i] for frame in by_k) / len(by_k) for i in (0, 1)]
    counts = [sum(frame[["retrieved", "in_documents"]].loc[i] for frame in by_k) for i in (0, 1)]
    pooled = [one["retrieved"] / one["in_documents"] for one in counts]
    assert mean == pytest.approx([0.773, 0.958], abs=1e-3)
    assert pooled == pytest.approx([0.754, 0.947], abs=1e-3)


@dtbench
def test_embeddings_from_a_server_a_model_and_a_store_agree(tmp_path: Path):
    task = load(DTBENCH / "rule-based-T2.json")["rule-based-T2"]
    model = Counting()
    options: dict[str, Any] = {"model": model}
    local = evidence_recall(task, retriever=Retriever("embedding", **options), k=[50, 250])
    with LLMServer(embed) as server:
        asked = Retriever("embedding", model="openai/m", api_base=server.url, cache=False)
        served = evidence_recall(task, retriever=asked, k=[50, 250])
    pytest.importorskip("chromadb")
    stored = Retriever("embedding", store=tmp_path, **options)
    kept = [evidence_recall(task, retriever=stored, k=[50, 250])]
    before = model.encoded
    kept.append(evidence_recall(task, retriever=stored, k=[50, 250]))
    assert model.encoded - before == 3  # the query for each k, and the probe
    for found in (served, *kept):
        assert found.cells.equals(local.cells)
        assert found.by_k.equals(local.by_k)
    assert 0.5 < float(local.by_k["recall"][0]) <= float(local.by_k["recall"][1])
