"""Chunks, BM25, embeddings, the store; what AOE's released code was recorded to do."""

import json
import math
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extractbench_nb.construction import Embedding, Retriever, load, retrieve, split_documents
from extractbench_nb.construction.loading import case_text, law_names
from extractbench_nb.construction.retrieval import (
    CHUNK_COLUMNS,
    Chunk,
    Ranked,
    Retrieved,
    grouped_by_document,
    released_count,
    texts_of,
    words,
)
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.judges import JudgeCache
from tests.llm_server import LLMServer, Reply, Request, failure
from tests.waiting import PATIENCE, wait_until

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
recorded = pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
TEXTS = {
    "ferry": "The ferry to Oss leaves at nine. It carries cars and sixty passengers.",
    "tram": "The tram is free on Sundays. Dogs travel at half price.",
    "渡轮": "渡轮每天上午九点开往奥斯岛。周日票价减半。",
}


def cases(kind: str) -> list[Any]:
    if FOLDER is None:
        return []
    lines = (Path(FOLDER) / "aoe_pipeline_dev.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [pytest.param(c, id=c["id"]) for c in found if c["kind"] == kind]


# --- recorded cases --------------------------------------------------------------------------


@recorded
@pytest.mark.parametrize("case", cases("split"))
def test_recorded_chunks(case: Any):
    given = case["input"]
    sizes = {"chunk_size": given["chunk_size"], "overlap": given["chunk_overlap"]}
    found = split_documents({"d": given["text"]}, **sizes)
    assert [chunk.text for chunk in found] == case["expected"]["chunks"]
    for chunk in found:
        assert given["text"][chunk.start : chunk.end] == chunk.text


@recorded
@pytest.mark.parametrize("case", cases("split_legal"))
def test_recorded_chunks_of_legal_records(case: Any):
    texts = {one["案件名"]: case_text(one, indent=20) for one in case["input"]["input_doc"]}
    found = split_documents(texts)
    assert [chunk.document for chunk in found] == case["expected"]["sources"]
    assert [len(chunk.text) for chunk in found] == case["expected"]["lengths"]
    assert len(found) == case["expected"]["n"]


@recorded
@pytest.mark.parametrize("case", cases("retrieve"))
def test_recorded_grouping(case: Any):
    k, expected = case["input"]["top_k"], case["expected"]
    ranked = [
        Ranked(Chunk(document, number, 0, len(text), text), 0.0)
        for number, (document, text) in enumerate(case["input"]["ranked"])
    ]
    assert released_count(k) == expected["asked_for"]
    kept = grouped_by_document(ranked[: released_count(k)], k)
    assert [[one.chunk.document, one.chunk.text] for one in kept] == expected["kept"]
    rows = ((n, *one.chunk[:4], 0.0, one.chunk.text) for n, one in enumerate(kept, 1))
    found = Retrieved("", CHUNK_COLUMNS.from_rows(rows), len(ranked), released_count(k))
    assert len(found.chunks) == expected["num_retrieved_docs"]
    assert found.by_document.to_dict() == expected["by_source"]
    assert len(found.context) == expected["context_characters"]


@recorded
@pytest.mark.parametrize("case", cases("law_names"))
def test_recorded_law_names(case: Any):
    answers = [{"关联索引": texts} for texts in case["input"]["references"]]
    assert law_names(answers) == case["expected"]["names"]


# --- chunks and words ------------------------------------------------------------------------


@example("a a", (2, 1))
@given(
    st.text(alphabet="ab \n中。", max_size=120),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
)
def test_chunks_are_parts_of_the_text(text: str, sizes: tuple[int, int]):
    size, overlap = sizes
    chunks = split_documents({"d": text}, chunk_size=size, overlap=overlap)
    covered = set()
    for number, chunk in enumerate(chunks):
        assert (chunk.document, chunk.number) == ("d", number)
        assert chunk.text == text[chunk.start : chunk.end]
        assert len(chunk.text) <= size
        covered.update(range(chunk.start, chunk.end))
    assert all(text[i].isspace() for i in range(len(text)) if i not in covered)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("Net_Income FY-2031", ["net", "income", "fy", "2031"]),
        ("1,284.6 and 1284.6", ["1284.6", "and", "1284.6"]),
        ("营业收入", ["营业", "业收", "收入"]),
        ("2020年", ["2020", "年"]),
        ("ＧＤＰ第１章", ["gdp", "第", "1", "章"]),
        ("!? <script>", ["script"]),
    ],
)
def test_words(text: str, expected: list[str]):
    assert words(text) == expected


@pytest.mark.parametrize("size, overlap", [(0, 0), (10, 10), (10, -1), (1.5, 0), (True, 0)])
def test_sizes_that_cannot_be_used(size: Any, overlap: Any):
    with pytest.raises(InputError, match="0 <= overlap < chunk_size"):
        split_documents("a", chunk_size=size, overlap=overlap)


def test_forms_of_documents(tmp_path: Path):
    (tmp_path / "b.md").write_text("bee", encoding="utf-8")
    (tmp_path / "a.txt").write_text("ant", encoding="utf-8")
    (tmp_path / "c.png").write_bytes(b"\x89")
    assert texts_of(tmp_path) == {"a.txt": "ant", "b.md": "bee"}
    assert texts_of(tmp_path / "b.md") == {"b.md": "bee"}
    assert texts_of([tmp_path / "b.md", "text"]) == {"b.md": "bee", "document 2": "text"}
    assert texts_of("text") == {"document 1": "text"}
    assert len(texts_of(load()["court_rulings"])) == 5
    for documents in (tmp_path / "x", 3, {"a": 1}, [tmp_path / "b.md"] * 2):
        with pytest.raises(InputError, match="documents"):
            texts_of(documents)  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match=r"x\.md"):
        texts_of([tmp_path / "x.md"])


# --- BM25 ------------------------------------------------------------------------------------


def test_words_in_common_are_found():
    found = retrieve(TEXTS, "When does the ferry leave?", k=2)
    assert found.chunks["document"].tolist() == ["ferry", "tram"]
    assert found.chunks["score"].is_monotonic_decreasing
    assert found.searched == 3
    assert "ferry: The ferry to Oss" in repr(found)
    assert retrieve(TEXTS, "周日的票价", k=1).chunks["document"].tolist() == ["渡轮"]


def test_more_chunks_than_there_are_and_no_word_in_common():
    found = retrieve(TEXTS, "xylophone", k=9)
    assert found.chunks["document"].tolist() == [*TEXTS]
    assert set(found.chunks["score"]) == {0.0}
    for empty in ({}, {"a": ""}, {"a": " \n "}, {"a": "!?"}):
        retrieve(empty, "ferry")
    assert len(retrieve({}, "ferry").chunks) == 0
    assert retrieve({}, "ferry").context == ""


def test_html_is_escaped():
    html = retrieve({"<b>": "<script>alert(1)</script>"}, "<i>")._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_released_profile_keeps_chunks_of_every_document():
    texts = {"long": "\n\n".join(f"ferry number {n}" for n in range(40)), "short": "ferry"}
    options: dict[str, Any] = {"k": 2, "chunk_size": 20, "overlap": 0}
    strict = retrieve(texts, "ferry", **options)
    released = retrieve(texts, "ferry", profile="aoe-282e688d", **options)
    assert (strict.asked_for, len(strict.chunks)) == (2, 2)
    assert (released.asked_for, len(released.chunks)) == (10, 3)
    assert released.by_document.to_dict() == {"short": 1, "long": 2}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"method": "bm52"}, "did you mean 'bm25'"),
        ({"profile": "aoe"}, "profile='aoe'"),
        ({"k": 0}, "k is 0"),
        ({"k": True}, "k is True"),
        ({"chunksize": 3}, "did you mean 'chunk_size'"),
        ({"method": "embedding"}, "needs model="),
        ({"model": "openai/bge-m3"}, "go with method='embedding'"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        retrieve(TEXTS, "ferry", **options)


def test_a_query_is_a_text():
    with pytest.raises(InputError, match="query is list"):
        retrieve(TEXTS, ["ferry"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="query is empty"):
        retrieve(TEXTS, " ")


# --- embeddings ------------------------------------------------------------------------------


def hashed(text: str, size: int = 256) -> list[float]:
    """A vector of the words of a text."""
    vector = [0.0] * size
    for word in words(text):
        vector[zlib.crc32(word.encode()) % size] += 1.0
    return vector


def encode(texts: list[str]) -> list[list[float]]:
    return [hashed(text) for text in texts]


def embed(request: Request) -> Reply:
    """Answer as OpenAI's embedding endpoint does, last text first."""
    data = [
        {"object": "embedding", "index": index, "embedding": hashed(text)}
        for index, text in enumerate(request.body["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Reply(body={"object": "list", "data": data[::-1], "model": "m", "usage": usage})


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(embed) as running:
        yield running


def asked(server: LLMServer, cache: Any = False, **options: Any) -> Retriever:
    where = {"model": "openai/bge-m3", "api_base": server.url, "cache": cache}
    return Retriever("embedding", 3, **where, **options)


class Counting:
    """A local model that counts the texts that it encodes."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, texts: list[str]) -> Any:
        self.encoded += len(texts)
        return np.array(encode(texts))


def test_a_server_a_model_and_a_function_rank_alike(server: LLMServer):
    query = "When does the ferry leave?"
    local = Retriever("embedding", 3, model=Counting())(TEXTS, query).chunks
    assert local["document"].iloc[0] == "ferry"
    assert local["score"].between(-1e-6, 1 + 1e-6).all()
    for retriever in (asked(server), Retriever("embedding", 3, model=encode)):
        found = retriever(TEXTS, query).chunks
        assert found.equals(local)
    (chunks, one) = server.requests
    assert chunks.path.endswith("/embeddings")
    assert chunks.body["input"] == [*TEXTS.values()]
    assert (one.body["input"], one.body["model"]) == ([query], "bge-m3")


def test_texts_are_sent_in_batches(server: LLMServer):
    documents = {str(number): f"text {number}" for number in range(150)}
    asked(server)(documents, "text 7")
    assert sorted(len(request.body["input"]) for request in server.requests) == [1, 22, 64, 64]


def test_a_second_run_asks_nothing(server: LLMServer, tmp_path: Path):
    retriever = asked(server, JudgeCache(tmp_path))
    first = retriever(TEXTS, "ferry").chunks
    requests = len(server.requests)
    assert retriever(TEXTS, "ferry").chunks.equals(first)
    assert len(server.requests) == requests == 2


def test_a_cache_that_cannot_be_read_is_not_used(server: LLMServer, tmp_path: Path):
    (tmp_path / "judge_answers.sqlite").write_bytes(b"no database" * 100)
    embedding = Embedding("openai/bge-m3", server.url, cache=JudgeCache(tmp_path))
    with pytest.warns(RuntimeWarning, match="embeddings"):
        assert embedding.vectors(["a"]).shape == (1, 256)


def test_what_is_recorded_of_a_retriever(server: LLMServer):
    common = {"k": 3, "chunk_size": 512, "overlap": 100, "profile": "strict"}
    assert asked(server).described == {"method": "embedding", **common, "model": "openai/bge-m3"}
    assert Retriever(k=3).described == {"method": "bm25", **common, "model": None}


def test_transient_errors_are_tried_again(server: LLMServer):
    server.script(failure(429, "slow down", Retry_After="0"), failure(500, "broken"))
    embedding = Embedding("openai/bge-m3", server.url, cache=False, retry_wait=0.01)
    assert embedding.vectors(["a"]).shape == (1, 256)
    assert len(server.requests) == 3


def test_embeddings_keep_a_budget(tmp_path: Path):
    model = "openai/text-embedding-3-small"  # 2e-8 dollars per token
    with LLMServer(embed) as server:
        where = {"model": model, "api_base": server.url, "cache": JudgeCache(tmp_path)}
        most = Embedding(**where, budget_usd=1e-5)
        assert most.vectors(["a"]).shape == (1, 256)
        assert most.spent_usd == pytest.approx(2e-8)  # the one token that the server counts
        with pytest.raises(InputError, match="2e-08 of 1e-05 US dollars are spent, and the next"):
            most.vectors(["word " * 1_000])
        assert len(server.requests) == 1
        assert most.vectors(["a"]).shape == (1, 256)  # cached, so free
        retriever = Retriever("embedding", 1, **where, budget_usd=0.0)
        with pytest.raises(InputError, match="0 of 0 US dollars"):
            retriever(TEXTS, "ferry")
        with pytest.raises(InputError, match="budget_usd is 1, but LiteLLM has no price"):
            Embedding("openai/bge-m3", server.url, cache=False, budget_usd=1).vectors(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply, message",
    [
        (failure(401, "bad key"), "bad_key"),
        (failure(404, "no such model"), "not_found"),
        (Reply(body={"object": "list", "data": [], "model": "m"}), "for 1 texts"),
    ],
)
def test_answers_without_vectors(server: LLMServer, reply: Reply, message: str):
    server.script(reply)
    with pytest.raises(InputError, match=message):
        Embedding("openai/bge-m3", server.url, cache=False).vectors(["a"])


@pytest.mark.parametrize(
    "found, message",
    [
        ([[1.0], [2.0]], "expected one vector per text"),
        ([1.0], "expected one vector per text"),
        ([[]], "expected one vector per text"),
        ([[math.nan]], "not finite"),
        ([["a"]], "not numbers"),
    ],
)
def test_vectors_that_cannot_be_used(found: Any, message: str):
    with pytest.raises(InputError, match=message):
        Embedding(lambda texts: found).vectors(["a"])


def test_no_texts_and_texts_without_words():
    assert Embedding(encode).vectors([]).shape == (0, 0)
    found = Retriever("embedding", 2, model=encode)({"a": "!!", "b": "ferry"}, "ferry").chunks
    assert found["document"].tolist() == ["b", "a"]
    assert found["score"].tolist() == pytest.approx([1.0, 0.0])
    assert len(Retriever("embedding", 2, model=encode)({}, "ferry").chunks) == 0


def test_a_query_of_another_model():
    def changing(texts: list[str]) -> Any:
        return [hashed(text, 8 if len(texts) > 1 else 9) for text in texts]

    with pytest.raises(InputError, match="different models"):
        Retriever("embedding", 2, model=changing)(TEXTS, "ferry")


def test_a_small_local_model():
    pytest.importorskip("model2vec")
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    known = sorted({word for text in TEXTS.values() for word in text.split()})
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0} | {w: n for n, w in enumerate(known, 1)}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(7).normal(size=(len(known) + 1, 32)).astype(np.float32)
    vectors[0] = 0
    found = Retriever("embedding", 1, model=StaticModel(vectors, tokenizer))(TEXTS, "The tram")
    assert found.chunks["document"].tolist() == ["tram"]


# --- the store -------------------------------------------------------------------------------

REOPEN = """
import json, sys
from extractbench_nb.construction import Retriever
sys.path.insert(0, {root!r})
from tests.construction.test_retrieval import TEXTS, Counting
model = Counting()
retriever = Retriever("embedding", 3, model=model, store={store!r})
found = retriever(TEXTS, "When does the ferry leave?").chunks
print(json.dumps([found["document"].tolist(), found["score"].tolist(), model.encoded]))
"""


def test_a_store_is_reopened_by_another_process(tmp_path: Path):
    pytest.importorskip("chromadb")
    query, root = "When does the ferry leave?", str(Path(__file__).parents[2])
    exact = Retriever("embedding", 3, model=Counting())(TEXTS, query).chunks
    store = tmp_path / "store"
    code = REOPEN.format(store=str(store), root=root)
    # the probe that tells models apart, the query, and the first time the three texts
    for encoded in (5, 2):
        command = [sys.executable, "-c", code]
        environment = os.environ | {"PYTHONPATH": root}
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=PATIENCE, env=environment
        )
        documents, scores, count = json.loads(done.stdout.splitlines()[-1])
        assert documents == exact["document"].tolist()
        assert scores == pytest.approx(exact["score"].tolist(), abs=1e-6)
        assert count == encoded


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
def test_a_store_is_closed(tmp_path: Path):
    pytest.importorskip("chromadb")
    retriever = Retriever("embedding", 1, model=Counting(), store=tmp_path)
    retriever(TEXTS, "ferry")

    def is_closed() -> bool:  # the pool of connections closes in threads of its own
        files = (Path(link).resolve() for link in Path("/proc/self/fd").iterdir())
        return not any(file.is_relative_to(tmp_path) for file in files)

    wait_until(is_closed)
