"""Chunks, BM25, embeddings, and which gold cells were in the retrieved chunks."""

import json
import math
import sys
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extractbench_nb.construction.retrieval import (
    EVIDENCE_COLUMNS,
    RECALL_COLUMNS,
    Retriever,
    evidence_recall,
    split_documents,
    texts_of,
    words,
)
from extractbench_nb.construction.table_dataset import load
from extractbench_nb.errors import DatasetError, InputError

TEXTS = {
    "ferry": "The ferry to Oss leaves at nine. It carries cars and sixty passengers.",
    "tram": "The tram is free on Sundays. Dogs travel at half price.",
    "渡轮": "渡轮每天上午九点开往奥斯岛。周日票价减半。",
}


# --- chunks and words ------------------------------------------------------------------------


@example("a a", (2, 1))
@given(
    st.text(alphabet="ab \n中。", max_size=120),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
)
def test_chunks_are_parts_of_the_text(text: str, sizes: tuple[int, int]):
    size, overlap = sizes
    chunks = split_documents({"d": text}, chunk_size=size, overlap=overlap)
    for number, chunk in enumerate(chunks):
        assert (chunk.document, chunk.number) == ("d", number)
        assert chunk.text in text
        assert len(chunk.text) <= size
    assert set("".join(text.split())) == {
        c for chunk in chunks for c in "".join(chunk.text.split())
    }


def test_forms_of_documents(tmp_path: Path):
    (tmp_path / "b.md").write_text("bee", encoding="utf-8")
    assert texts_of({"b": tmp_path / "b.md", "c": "text"}) == {"b": "bee", "c": "text"}
    assert len(texts_of(load()["court_rulings"])) == 5
    for documents in (tmp_path, "some text", 3, {"a": 1}, ["text"]):
        with pytest.raises(InputError, match="documents"):
            texts_of(documents)  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match=r"x\.md"):
        texts_of({"x": tmp_path / "x.md"})


# --- BM25 and embeddings ---------------------------------------------------------------------


def test_words_in_common_are_found():
    found = Retriever(k=2)(TEXTS, "When does the ferry leave?")
    assert found.chunks["document"].tolist() == ["ferry", "tram"]
    assert found.chunks["score"].is_monotonic_decreasing
    assert Retriever(k=1)(TEXTS, "周日的票价").chunks["document"].tolist() == ["渡轮"]


def test_more_chunks_than_there_are_and_no_word_in_common():
    found = Retriever(k=9)(TEXTS, "xylophone")
    assert found.chunks["document"].tolist() == [*TEXTS]
    assert set(found.chunks["score"]) == {0.0}
    for empty in ({}, {"a": ""}, {"a": " \n "}, {"a": "!?"}):
        Retriever()(empty, "ferry")
    assert Retriever()({}, "ferry").context == ""


@pytest.mark.parametrize(
    "options, query, message",
    [
        ({"method": "bm52"}, "q", "did you mean 'bm25'"),
        ({"k": 0}, "q", "k is 0"),
        ({"k": True}, "q", "k is True"),
        ({"method": "embedding"}, "q", "expected for 'embedding'"),
        ({"method": "embedding", "model": 3}, "q", "a function from texts to vectors"),
        ({"model": len}, "q", "expected for 'embedding'"),
        ({"store": "folder"}, "q", "expected for 'embedding'"),
        ({"chunk_size": 10, "overlap": 10}, "q", "0 <= overlap < chunk_size"),
        ({"chunk_size": 1.5, "overlap": 0}, "q", "0 <= overlap < chunk_size"),
        ({"chunk_size": True, "overlap": 0}, "q", "0 <= overlap < chunk_size"),
        ({}, ["ferry"], "query is"),
        ({}, " ", "query is"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], query: Any, message: str):
    with pytest.raises(InputError, match=message):
        Retriever(**options)(TEXTS, query)


def encode(texts: list[str]) -> Any:
    """Vectors of the words of texts."""
    size = 256
    vectors = np.zeros((len(texts), size))
    for vector, text in zip(vectors, texts, strict=True):
        for word in words(text):
            vector[zlib.crc32(word.encode()) % size] += 1.0
    return vectors


def test_a_function_embeds():
    found = Retriever("embedding", 3, model=encode)(TEXTS, "When does the ferry leave?").chunks
    assert found["document"].iloc[0] == "ferry"
    assert found["score"].between(-1e-6, 1 + 1e-6).all()
    without_words = Retriever("embedding", 2, model=encode)({"a": "!!", "b": "ferry"}, "ferry")
    assert without_words.chunks["score"].tolist() == pytest.approx([1.0, 0.0])
    assert len(Retriever("embedding", 2, model=encode)({}, "ferry").chunks) == 0


class Server(BaseHTTPRequestHandler):
    """An OpenAI-compatible server of embeddings."""

    asked: ClassVar[list[int]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(len(body["input"]))
        rows = [{"index": n, "embedding": v.tolist()} for n, v in enumerate(encode(body["input"]))]
        data = json.dumps({"object": "list", "data": rows, "model": body["model"]}).encode()
        self.send_response(200 if body["model"] == "bge-m3" else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Server) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        Server.asked.clear()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()


def test_a_server_gives_embeddings(server: str):
    pytest.importorskip("openai")
    query = "When does the ferry leave?"
    expected = Retriever("embedding", 3, model=encode)(TEXTS, query).chunks
    found = Retriever("embedding", 3, model="bge-m3", api_base=server)(TEXTS, query).chunks
    pd.testing.assert_frame_equal(found, expected)
    assert Server.asked == [1, 3]
    with pytest.raises(InputError, match=r"no embeddings of 'other' at http://127"):
        Retriever("embedding", model="other", api_base=server)(TEXTS, query)


def test_chroma_keeps_embeddings(server: str, tmp_path: Path):
    pytest.importorskip("chromadb")
    options: dict[str, Any] = {"model": "bge-m3", "api_base": server, "store": tmp_path}
    expected = Retriever("embedding", 2, model=encode)(TEXTS, "the free tram").chunks
    for asked in ([1, 3], [1, 3, 1]):
        found = Retriever("embedding", 2, **options)(TEXTS, "the free tram").chunks
        assert found["document"].tolist() == expected["document"].tolist()
        assert found["score"].tolist() == pytest.approx(expected["score"].tolist(), abs=1e-5)
        assert Server.asked == asked


def test_a_store_needs_chroma(monkeypatch: Any):
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(InputError, match="pip install chromadb"):
        Retriever("embedding", model=encode, store="folder")


@pytest.mark.parametrize(
    "model",
    [
        lambda _: [[1.0], [2.0]],
        lambda _: [1.0],
        lambda _: [[]],
        lambda _: [[math.nan]],
        lambda _: [["a"]],
    ],
)
def test_vectors_that_cannot_be_used(model: Any):
    with pytest.raises(InputError, match="expected one vector of finite numbers"):
        Retriever("embedding", model=model)({"a": "a text"}, "ferry")


# --- evidence --------------------------------------------------------------------------------

GOLD = pd.DataFrame({"name": ["Oss", "Ulm"], "fee": ["12", "3.5"]})
DOCUMENTS = {"one": "The fee of Oss is 12.", "two": "Ulm is far away. It costs 3.50."}


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


def test_statuses_and_recalls():
    found = evidence_recall(GOLD, DOCUMENTS, k=[1, 2], query="fee of Oss")
    assert found.cells.to_dict("list") == {
        "row": [0, 0, 1, 1],
        "column": ["name", "fee", "name", "fee"],
        "value": ["Oss", "12", "Ulm", "3.5"],
        "status": ["retrieved", "retrieved", "retrieved", "absent"],
    }
    assert found.by_k.to_numpy().tolist() == [[1, 4, 3, 2, 2 / 3], [2, 4, 3, 3, 1.0]]
    assert found.recall == 1.0
    assert list(found.cells.columns) == EVIDENCE_COLUMNS.names
    assert list(found.by_k.columns) == RECALL_COLUMNS.names


def test_missed_and_cut_values():
    missed = evidence_recall(GOLD, DOCUMENTS, k=1, query="far away").cells
    assert missed["status"].tolist() == ["missed", "missed", "retrieved", "absent"]
    long = Retriever(chunk_size=10, overlap=0)
    cut = evidence_recall(pd.DataFrame({"v": ["far away. It"]}), DOCUMENTS, long, query="q").cells
    assert cut["status"].tolist() == ["cut"]


def test_empty_cells_do_not_count():
    gold = pd.DataFrame({"a": ["", " ", None, np.nan, "x"]})
    assert evidence_recall(gold, {"d": "x"}).by_k["cells"].tolist() == [1]
    nothing = evidence_recall(gold.head(0), {"d": "x"})
    assert nothing.recall is None
    assert evidence_recall(gold, {}).recall is None


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], DOCUMENTS), "gold is list"),
        ((GOLD,), "documents are missing"),
        ((GOLD, DOCUMENTS, "bm52"), "did you mean 'bm25'"),
        ((GOLD, DOCUMENTS, 3), "retriever is int"),
        ((GOLD, DOCUMENTS, "bm25", 0), "k is 0"),
        ((GOLD, DOCUMENTS, "bm25", []), "k is empty"),
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
