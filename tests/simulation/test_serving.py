"""Simulations behind a real socket: what is asked, by whom ever, has the simulation's answer."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb._tokens import count_tokens
from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.extraction.calling import Prompt, document_text, plain_schema
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.extraction.reading import read_outputs
from extractbench_nb.extraction.runs import Run, extract
from extractbench_nb.simulation import server as serving
from extractbench_nb.simulation.invalid import PROVIDERS
from extractbench_nb.simulation.outputs import Simulation, simulate
from extractbench_nb.simulation.profiles import ModelProfile, model_profile
from extractbench_nb.simulation.server import (
    REQUEST_COLUMNS,
    Replay,
    Reply,
    SimulationServer,
    serve_simulations,
)
from tests.judges.llm.conftest import away_from_home, no_thread_left
from tests.waiting import PATIENCE, wait_until

__all__ = ["away_from_home", "no_thread_left"]

needs_litellm = pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm")

ONE = "cv_marisol_etxeberria"
MODEL = "simulated-test"
THREADS = "extractbench-simulations"
VALID = {"none": 1}
STRUCTURED = {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}


@cache
def sample() -> Dataset:
    return load_dataset("sample")


def profile(failures: Any = VALID, name: str = "test", **options: Any) -> ModelProfile:
    return ModelProfile(name, {"*": failures}, **options)


@cache
def simulated(mode: str = "prompt") -> Simulation:
    return simulate(sample(), profile(mode=mode), mode)


@pytest.fixture
def server() -> Iterator[SimulationServer]:
    with serve_simulations([simulated(), simulated("structured")], sample()) as running:
        yield running


def connect(server: SimulationServer) -> HTTPConnection:
    return HTTPConnection(server.url.split("/")[2], timeout=PATIENCE)


def send(
    server: SimulationServer, body: Any, path: str = "/v1/chat/completions", method: str = "POST"
) -> tuple[int, Any]:
    """Send one request; return status and answer."""
    connection = connect(server)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def body_of(*messages: Any, model: str = MODEL, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), **more}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def messages_about(
    document: str,
    prompt: Prompt,
    *,
    sent: str = "text",
    dataset: Dataset | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], ...]:
    """Write what `extract` would."""
    data = dataset or sample()
    schema = data.listing.set_index("document").loc[document, "schema"]
    pdf = data.pdf_path(document)
    given: Any = {"pdf": pdf} if sent == "file" else {"text": document_text(pdf)}
    return prompt.messages(name or document, plain_schema(data.schema(str(schema))), **given)


def asked_for(server: SimulationServer) -> dict[tuple[str, str], int]:
    """How often each document was asked about in each mode, where it was at all."""
    rows = server.requests
    return {(r.mode, r.document): r.requests for r in rows.itertuples() if r.requests}


def raw_of(simulation: Simulation, document: str) -> Any:
    return simulation.outputs.set_index("document").loc[document, "raw"]


# The protocol.


def test_the_models_are_listed(server: SimulationServer) -> None:
    assert server.models == {"test": f"openai/{MODEL}"}
    status, found = send(server, b"", "/v1/models", "GET")
    assert status == 200
    assert [one["id"] for one in found["data"]] == [MODEL]


def test_an_answer_is_the_simulations(server: SimulationServer) -> None:
    for mode, more in (("prompt", {}), ("structured", STRUCTURED)):
        made = simulated(mode).outputs.set_index("document")
        for document in sample().listing["document"]:
            messages = messages_about(document, Prompt(mode))
            status, found = send(server, body_of(*messages, **more))
            (choice,) = found["choices"]
            assert (status, found["model"], found["object"]) == (200, MODEL, "chat.completion")
            assert choice["message"]["content"] == made.loc[document, "raw"]
            assert choice["finish_reason"] == "stop"
            assert (choice["message"]["role"], choice["message"]["refusal"]) == ("assistant", None)
            usage, meta = found["usage"], made.loc[document, "meta"]
            assert usage["completion_tokens"] == meta["completion_tokens"] > 0
            assert usage["prompt_tokens"] == count_tokens(messages[0]["content"])
            assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert (server.requests["requests"] == 1).all()


def test_tokens_of_a_file_are_those_of_its_text(server: SimulationServer) -> None:
    messages = messages_about(ONE, Prompt("prompt"), sent="file")
    _, found = send(server, body_of(*messages))
    text = document_text(sample().pdf_path(ONE))
    expected = count_tokens(messages[0]["content"][1]["text"]) + count_tokens(text)
    assert found["usage"]["prompt_tokens"] == expected


@pytest.mark.parametrize(
    "raw",
    [None, "", " \n", "\ufeff{}", "```json\n{}\n```", "a\r\nb\u2028\0é😀", "\ud800", "x" * 2**21],
    ids=["null", "empty", "blank", "bom", "fence", "signs", "surrogate", "long"],
)
@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_texts_arrive_as_they_are(raw: str | None, reason: str) -> None:
    made = simulated()
    raws = pd.Series([raw] * len(made.outputs), dtype=object)
    metas = [meta | {"finish_reason": reason} for meta in made.outputs["meta"]]
    outputs = made.outputs.assign(raw=raws, meta=metas)
    with serve_simulations(replace(made, outputs=outputs), sample()) as server:
        _, found = send(server, body_of(*messages_about(ONE, Prompt("prompt"))))
    assert found["choices"][0]["message"]["content"] == raw
    assert found["choices"][0]["finish_reason"] == reason


def test_a_connection_stays_open(server: SimulationServer) -> None:
    connection = connect(server)
    sockets = set()
    data = json.dumps(body_of(*messages_about(ONE, Prompt("prompt")))).encode()
    for method, path, body, status in [
        ("POST", "/v1/chat/completions", data, 200),
        ("GET", "/v1/models", None, 200),
        ("POST", "/v1/embeddings", data, 404),
        ("POST", "/v1/chat/completions", b"{", 400),
        ("POST", "/v1/chat/completions?api-version=1", data, 200),
    ]:
        connection.request(method, path, body)
        response = connection.getresponse()
        assert (response.status, response.version) == (status, 11)
        response.read()
        sockets.add(connection.sock)
    assert len(sockets) == 1
    assert None not in sockets
    connection.close()


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/"),
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/models"),
        ("POST", "/chat/completions"),
        ("GET", "/v1/models/../../etc/passwd"),
    ],
)
def test_there_is_nothing_else(server: SimulationServer, method: str, path: str) -> None:
    status, found = send(server, b"", path, method)
    assert status == 404
    assert "POST /v1/chat/completions" in found["error"]["message"]
    assert found["error"].keys() == {"message", "type", "param", "code"}


HELLO = user("Hello")


@pytest.mark.parametrize(
    "body, status, message",
    [
        (b"", 400, "is not JSON"),
        (b"{", 400, "is not JSON"),
        (b"\xff{}", 400, "is not JSON"),
        (b"[" * 100_000, 400, "is not JSON"),
        (b"[]", 400, "the name of a model"),
        (b'{"model": 3}', 400, "the name of a model"),
        (b'{"model": "simulated-test"}', 400, "expected messages"),
        (body_of("Hello"), 400, "expected messages"),
        (body_of(HELLO, stream=True), 400, "without stream"),
        (body_of(HELLO, model="simulated-tst"), 404, "did you mean 'simulated-test'?"),
        (body_of(HELLO, model="gpt-4o"), 404, "the model 'gpt-4o' does not exist"),
        (body_of(HELLO), 404, "the text of no document"),
        (body_of(), 404, "the text of no document"),
        (body_of(user(None), user([3, {"type": "image_url"}])), 404, "the text of no document"),
        (body_of(user([{"file": {"file_data": "data:,~"}}])), 400, "in base64"),
        (body_of(user([{"file": {"file_id": "file-1"}}])), 404, "the PDF of no document"),
        (body_of(user([{"file": {"file_data": "data:,JVBE"}}])), 404, "the PDF of no document"),
        (body_of(HELLO, model="openai/simulated-test"), 404, "the text of no document"),
    ],
)
def test_requests_that_have_no_answer(
    server: SimulationServer, body: Any, status: int, message: str
) -> None:
    found, answer = send(server, body)
    assert found == status
    assert message in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"
    assert asked_for(server) == {}


def port_of(server: SimulationServer) -> int:
    return int(server.url.rpartition(":")[2].partition("/")[0])


def say(server: SimulationServer, head: str) -> tuple[str, str]:
    """Send what no client would; return head and body of all that is answered until the end."""
    with socket.create_connection(("127.0.0.1", port_of(server)), PATIENCE) as raw:
        raw.sendall(f"{head}\r\n".encode())
        said = b"".join(iter(lambda: raw.recv(4096), b"")).decode()
    return said.partition("\r\n\r\n")[::2]


@pytest.mark.parametrize(
    "length, status, message",
    [
        (None, 411, "expected a Content-Length"),
        ("x", 411, "expected a Content-Length"),
        ("-1", 411, "expected a Content-Length"),
        (f"{2**30 + 1}", 413, "expected at most 1,073,741,824 bytes"),
        ("9" * 20, 413, "expected at most 1,073,741,824 bytes"),
        ("9" * 5000, 413, "expected at most 1,073,741,824 bytes"),
    ],
    ids=["none", "x", "-1", "one more", "many", "very many"],
)
def test_requests_of_no_length(
    server: SimulationServer, length: str | None, status: int, message: str
) -> None:
    header = "" if length is None else f"Content-Length: {length}\r\n"
    head, body = say(server, f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{header}")
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert json.loads(body)["error"]["message"] == message


@pytest.mark.parametrize(
    "head, status, message",
    [
        ("PUT /v1/models HTTP/1.1\r\n", 501, "Unsupported method ('PUT')"),
        ("DELETE /v1/models HTTP/1.1\r\n", 501, "Unsupported method ('DELETE')"),
        ("GET /v1/models HTTP/1.1\r\n" + "a: b\r\n" * 200, 431, "got more than 100 headers"),
        (f"GET /{'a' * 70_000} HTTP/1.1\r\n", 414, "Request-URI Too Long"),
    ],
    ids=["put", "delete", "headers", "line"],
)
def test_what_is_no_request_is_told_in_openais_form(
    server: SimulationServer, head: str, status: int, message: str
) -> None:
    said, body = say(server, head)
    assert said.startswith(f"HTTP/1.1 {status} ")
    assert json.loads(body)["error"]["message"] == message


def test_a_head_has_no_body(server: SimulationServer) -> None:
    head, body = say(server, "HEAD /v1/models HTTP/1.1\r\nHost: x\r\n")
    assert head.startswith("HTTP/1.1 501 ")
    assert "Content-Type: application/json" in head
    assert body == ""


@needs_litellm
def test_openais_own_client(server: SimulationServer) -> None:
    import openai

    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        messages: Any = messages_about(ONE, Prompt("prompt"))
        found = client.chat.completions.create(model=MODEL, messages=messages)
        assert found.choices[0].message.content == raw_of(simulated(), ONE)
        assert [one.id for one in client.models.list()] == [MODEL]
        with pytest.raises(openai.NotFoundError, match="does not exist") as caught:
            client.chat.completions.create(model="gpt-4o", messages=messages)
        assert caught.value.code == "model_not_found"


def test_nothing_is_written_to_the_screen(
    server: SimulationServer, capfd: pytest.CaptureFixture[str]
) -> None:
    send(server, b"{")
    send(server, body_of(*messages_about(ONE, Prompt("prompt"))))
    with socket.create_connection(("127.0.0.1", port_of(server))) as raw:
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
    with socket.create_connection(("127.0.0.1", port_of(server))) as raw:
        raw.sendall(b"NONSENSE\r\n\r\n")
        raw.recv(4096)
    server.close()
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_the_server_is_told_to_the_client() -> None:
    class Broken(Replay):
        def reply(self, body: bytes) -> Reply:
            raise KeyError(len(body))

    with SimulationServer(Broken(simulated(), sample())) as server:
        status, found = send(server, b"12")
    assert status == 500
    assert found["error"] == {
        "message": "KeyError: 2",
        "type": "server_error",
        "param": None,
        "code": None,
    }


@pytest.mark.parametrize(
    "raw, message",
    [(pd.NA, "NAType is not JSON"), (float("nan"), "not JSON compliant"), (b"{}", "bytes is not")],
    ids=["missing", "nan", "bytes"],
)
def test_texts_that_are_none_are_a_fault(raw: Any, message: str) -> None:
    made = simulated()
    raws = pd.Series([raw] * len(made.outputs), dtype=object)
    with serve_simulations(
        replace(made, outputs=made.outputs.assign(raw=raws)), sample()
    ) as server:
        status, found = send(server, body_of(*messages_about(ONE, Prompt("prompt"))))
    assert (status, found["error"]["type"]) == (500, "server_error")
    assert message in found["error"]["message"]


def test_long_prompts_are_not_kept() -> None:
    replay = Replay(simulated(), sample())
    text = document_text(sample().pdf_path(ONE))

    def ask(i: int) -> None:
        body = body_of(user(f"{text} {i} {'x ' * 250_000}"))
        assert replay.reply(json.dumps(body).encode()).status == 200

    ask(0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(1, 5):
        ask(i)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept < 250_000


# Which document it is.

TEMPLATES = {
    "ours": None,
    "no name": "Fill in {schema}",
    "text first": "{text}\n\nFill in {schema}",
    "another name": "Not as in night bus demand or cv_tobias_wendelin: {schema}",
}


@pytest.mark.parametrize("sent", ["file", "text"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_whatever_the_prompt(server: SimulationServer, name: str, sent: str) -> None:
    for document in sample().listing["document"]:
        messages = messages_about(document, Prompt("prompt", TEMPLATES[name]), sent=sent, name="it")
        status, found = send(server, body_of(*messages))
        assert status == 200, found
    assert asked_for(server) == {("prompt", d): 1 for d in sample().listing["document"]}


def test_wherever_the_text_stands(server: SimulationServer) -> None:
    text = document_text(sample().pdf_path(ONE))
    system = {"role": "system", "content": text}
    part = user([{"type": "text", "text": f"Well: {text}!"}])
    for messages in ([system, HELLO], [HELLO, part], [user(text)]):
        status, _ = send(server, body_of(*messages))
        assert status == 200
    assert asked_for(server) == {("prompt", ONE): 3}
    status, _ = send(server, body_of(user(text[: len(text) // 2])))
    assert status == 404


def test_a_file_without_a_data_url(server: SimulationServer) -> None:
    data = base64.b64encode(sample().pdf_path(ONE).read_bytes()).decode()
    assert send(server, body_of(user([{"file": {"file_data": data}}])))[0] == 200


Page = Callable[..., Path]


def write_pdf(path: Path, *pages: str) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), invariant=True)
    for page in pages:
        canvas.drawString(50, 500, page)
        canvas.showPage()
    canvas.save()


@pytest.fixture
def alike(tmp_path: Path) -> Dataset:
    """Make a dataset with two documents of one PDF, and others that have a part of a text."""
    folder = tmp_path / "data" / "a" / "bill" / "pdf+gold"
    folder.mkdir(parents=True)
    schema = {"type": "object", "properties": {"total": {"type": "string"}}}
    (folder.parent / "bill-schema.json").write_text(json.dumps(schema))
    pages = {
        "report": ["Total: 1, as in report 2"],
        "report 2": ["Total: 1, as in report 2"],
        "short": ["Total: 2"],
        "long": ["Total: 2", "and no more"],
        "blank": [""],
        "none": None,
        "broken": None,
    }
    for name, texts in pages.items():
        (folder / f"{name}.gold.json").write_text(json.dumps({"total": name}))
        if texts is not None:
            write_pdf(folder / f"{name}.pdf", *texts)
    (folder / "broken.pdf").write_text("<html>")
    return load_dataset(tmp_path / "data")


@pytest.fixture
def alike_server(alike: Dataset) -> Iterator[SimulationServer]:
    with serve_simulations(simulate(alike, profile()), alike) as running:
        yield running


def total(found: Any) -> Any:
    """Return the name of the document that the answer is about."""
    return json.loads(found["choices"][0]["message"]["content"])["total"]


@pytest.mark.parametrize(
    "document, sent, named",
    [
        *((d, s, True) for d in ("report", "report 2", "short", "long") for s in ("file", "text")),
        ("report", "file", False),  # the file has its name
        ("report 2", "file", False),
        ("short", "text", False),
        ("long", "text", False),
        ("blank", "file", False),
        ("broken", "file", False),
    ],
)
def test_documents_that_are_alike(
    alike: Dataset, alike_server: SimulationServer, document: str, sent: str, *, named: bool
) -> None:
    prompt = Prompt("prompt", None if named else "Fill in {schema}")
    if sent == "file":
        messages = prompt.messages(document, {}, pdf=alike.pdf_path(document))
    else:
        messages = messages_about(document, prompt, dataset=alike)
    status, found = send(alike_server, body_of(*messages))
    assert status == 200, found
    assert total(found) == document


@pytest.mark.parametrize("content", ["Hello", "", [{"file": {"file_data": ""}}], [{"file": {}}]])
def test_nothing_is_about_no_document(
    alike: Dataset, alike_server: SimulationServer, content: Any
) -> None:
    alike.pdf_path("report").unlink()
    status, found = send(alike_server, body_of(user(content)))
    assert status == 404
    assert "of no document of the dataset" in found["error"]["message"]


@pytest.mark.parametrize("sent", ["file", "text"])
@pytest.mark.parametrize("name", ["it", "reports", "areport", "report_2"])
def test_a_name_must_say_which(
    alike: Dataset, alike_server: SimulationServer, sent: str, name: str
) -> None:
    messages = messages_about("report", Prompt("prompt"), dataset=alike, sent=sent, name=name)
    status, found = send(alike_server, body_of(*messages))
    assert status == 404
    assert "fits 'report 2', 'report'; add the name" in found["error"]["message"]


def test_a_text_beside_another(alike: Dataset, alike_server: SimulationServer) -> None:
    texts = [document_text(alike.pdf_path(one)) for one in ("report", "long")]
    status, _ = send(alike_server, body_of(user("\n".join(texts))))
    assert status == 404
    status, found = send(alike_server, body_of(user("\n".join([*texts, "About: long"]))))
    assert (status, total(found)) == (200, "long")


def test_documents_that_are_not_simulated(alike: Dataset) -> None:
    made = simulate(alike, profile())
    some = replace(made, outputs=made.outputs[made.outputs["document"] != "long"])
    with serve_simulations(some, alike) as server:
        messages = messages_about("long", Prompt("prompt"), dataset=alike)
        status, found = send(server, body_of(*messages))
        assert (status, found["error"]["code"]) == (404, "document_not_found")
        assert "'simulated test' has no output for document 'long'" in found["error"]["message"]


# Modes.


@pytest.mark.parametrize("mode", ["prompt", "structured"])
@pytest.mark.parametrize("form", [None, {"type": "text"}, {"type": "json_object"}, STRUCTURED])
def test_a_model_of_one_mode(mode: str, form: Any) -> None:
    asked = "structured" if form is STRUCTURED else "prompt"
    more = STRUCTURED if form is STRUCTURED else {} if form is None else {"response_format": form}
    with serve_simulations(simulated(mode), sample()) as server:
        status, found = send(server, body_of(*messages_about(ONE, Prompt(asked)), **more))
        assert asked_for(server) == ({(mode, ONE): 1} if asked == mode else {})
    assert status == (200 if asked == mode else 400)
    if asked != mode:
        assert f"in the mode {mode!r} only" in found["error"]["message"]


# Through LiteLLM, to the parser.


def run_of(server: SimulationServer, folder: Path, model: str = "test", **options: Any) -> Run:
    usual: dict[str, Any] = {
        "documents": [ONE, "night bus demand", "castellan_10k_fy2030"],
        "dataset": sample(),
        "model": server.models[model],
        "folder": folder,
        "api_base": server.url,
        "max_attempts": 1,
        "retry_wait": 0.0,
        "progress": False,
    }
    return extract(**usual | options)


def mode_of(failure: str) -> str:
    """Where no schema is sent, none is rejected."""
    return "structured" if failure == "schema_rejected" else "prompt"


@needs_litellm
@pytest.mark.parametrize("sent", ["file", "text"])
@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_is_named_again(tmp_path: Path, failure: str, sent: str) -> None:
    mode = mode_of(failure)
    options = {"wrappings": {"bom": 0.5}, "provider": "anthropic", "mode": mode}
    made = simulate(sample(), profile({failure: 1}, **options), failure)
    with serve_simulations(made, sample()) as server:
        run = run_of(server, tmp_path / "run", mode=mode, document_input=sent)
        assert set(asked_for(server).values()) == {1}
    outputs = run.outputs
    assert len(outputs) == 3
    for row in outputs.itertuples():
        assert row.raw == raw_of(made, row.document)
        said = made.outputs.set_index("document").loc[row.document, "meta"]
        assert row.input == sent
        if said["error"] is not None:
            assert row.meta["error"]["reason"] == said["error"]["reason"]
            assert said["error"]["message"] in row.meta["error"]["message"]
        else:
            assert row.finish_reason == said["finish_reason"]
            assert row.completion_tokens == said["completion_tokens"]
            assert row.prompt_tokens > 0
    assert set(read_outputs(run, sample())["failure"]) == {failure}


@needs_litellm
def test_no_schema_is_rejected_where_none_was_given(tmp_path: Path) -> None:
    made = simulate(sample(), profile({"schema_rejected": 1}))
    with serve_simulations(made, sample()) as server:
        run = run_of(server, tmp_path / "run")
    assert set(read_outputs(made.outputs, sample())["failure"]) == {"schema_rejected"}
    assert set(read_outputs(run, sample())["failure"]) == {"other"}


@needs_litellm
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mode", ["prompt", "structured"])
def test_in_the_words_of_every_provider(tmp_path: Path, provider: str, mode: str) -> None:
    failures = [one for one in FAILURES if mode_of(one) in ("prompt", mode)]
    made = simulate(sample(), profile(dict.fromkeys(failures, 1), provider=provider, mode=mode))
    with serve_simulations(made, sample()) as server:
        everything = {"documents": sample(), "dataset": None}
        run = run_of(server, tmp_path / "run", mode=mode, **everything)
    found = read_outputs(run, sample()).set_index("document")["failure"]
    injected = made.outputs.set_index("document")["failure"]
    assert found.to_dict() == injected.to_dict()
    assert set(injected) == set(failures)


@needs_litellm
def test_a_prompt_of_ones_own(server: SimulationServer, tmp_path: Path) -> None:
    run = run_of(server, tmp_path / "run", prompt="Read:\n{text}\nand fill in {schema}")
    assert run.outputs["raw"].tolist() == [raw_of(simulated(), d) for d in run.outputs["document"]]
    assert len(run.outputs) == 3


@needs_litellm
def test_what_is_not_served_is_told_and_not_kept(server: SimulationServer, tmp_path: Path) -> None:
    some = simulated().outputs.query("document != @ONE")
    with serve_simulations(replace(simulated(), outputs=some), sample()) as partial:
        first = run_of(partial, tmp_path / "run", max_concurrency=1)
        assert "has no output for document" in str(first.stopped)
        assert first.outputs["error_reason"].tolist() == ["not_found"]
        assert len(first.unasked) == 2
        assert asked_for(partial) == {}
    again = run_of(server, tmp_path / "run")
    assert again.outputs["error_reason"].isna().all()
    assert len(again.outputs) == 3


@needs_litellm
@pytest.mark.parametrize("mode", ["prompt", "structured"])
def test_the_other_mode_is_no_failure_of_the_model(tmp_path: Path, mode: str) -> None:
    other = "structured" if mode == "prompt" else "prompt"
    with serve_simulations(simulated(other), sample()) as server:
        run = run_of(server, tmp_path / "run", mode=mode)
    assert set(run.outputs["error_reason"]) == {"other"}
    assert run.outputs["error"].str.contains(f"in the mode '{other}' only").all()


# Bad input.


def renamed(name: str, mode: str = "prompt") -> Simulation:
    return replace(simulated(mode), profile=profile(name=name, mode=mode))


def strange() -> Simulation:
    made = simulated()
    return replace(made, outputs=made.outputs.assign(document="cv_marisol_etxebarria"))


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "none": (list, "simulations is empty"),
    "a name": (lambda: "GPT-5", "simulations is 'GPT-5'"),
    "no list": (lambda: 3, "simulations is 3"),
    "a profile": (lambda: [profile()], "simulations contains ModelProfile"),
    "twice": (lambda: [simulated()] * 2, "two simulations of 'test' in the mode 'prompt'"),
    "one slug": (
        lambda: [renamed("GPT-5"), renamed("gpt 5", "structured")],
        "'GPT-5' and 'gpt 5': both would be served as 'simulated-gpt-5'",
    ),
    "strange": (strange, "not in the dataset 'sample'; did you mean 'cv_marisol_etxeberria'"),
}


@pytest.mark.parametrize("name", BAD)
def test_simulations_that_cannot_be_served(name: str) -> None:
    make, message = BAD[name]
    before = threading.active_count()
    with pytest.raises(xb.InputError, match=message):
        serve_simulations(make(), sample())
    assert threading.active_count() == before


@pytest.mark.parametrize("latency", [-1, float("nan"), float("inf"), "1", None, True, 10_000])
def test_latencies_that_are_none(latency: Any) -> None:
    with pytest.raises(xb.InputError, match=r"latency is .*; expected seconds from 0 to 3,600$"):
        serve_simulations(simulated(), sample(), latency=latency)


def test_a_dataset_by_name() -> None:
    with serve_simulations(iter([simulated()]), "sample") as server:
        assert send(server, body_of(*messages_about(ONE, Prompt("prompt"))))[0] == 200
    with pytest.raises(xb.ExtractBenchError, match="no folder"):
        serve_simulations(simulated(), "no such folder")
    with serve_simulations(simulated(), None) as server:
        assert len(server.requests) == len(sample().listing)


@pytest.mark.parametrize("dataset", [5, ["sample"], pd.DataFrame({"document": [ONE]}), object()])
def test_datasets_that_are_none(dataset: Any) -> None:
    name = type(dataset).__name__
    with pytest.raises(xb.InputError, match=f"dataset is {name}; expected a Dataset, a name or"):
        serve_simulations(simulated(), dataset)


# What it says of itself.


def test_names_of_models() -> None:
    names = ["GPT-5", "Gemini 3 Flash", "Claude 4.5", "quill_2 (large)", "日本"]
    with serve_simulations([renamed(name) for name in names], sample()) as server:
        assert list(server.models) == names
        slugs = ["gpt-5", "gemini-3-flash", "claude-4.5", "quill_2-large", "日本"]
        assert list(server.models.values()) == [f"openai/simulated-{one}" for one in slugs]
        for model in server.models.values():
            assert (
                send(server, body_of(*messages_about(ONE, Prompt("prompt")), model=model))[0] == 200
            )
        rows = server.requests[server.requests["requests"] == 1]
        assert rows["model"].tolist() == names


def test_requests_and_repr(server: SimulationServer) -> None:
    assert server.requests.columns.tolist() == REQUEST_COLUMNS.names
    assert len(server.requests) == 2 * len(sample().listing)
    send(server, body_of(*messages_about(ONE, Prompt("prompt"))))
    send(server, b"{")
    assert asked_for(server) == {("prompt", ONE): 1}
    shown = f"SimulationServer({server.url}: test (prompt, structured); 1 requests)"
    assert repr(server) == shown
    server.close()
    assert repr(server) == shown.replace(server.url, "closed")


def test_profiles_of_the_paper_in_both_modes() -> None:
    made = [simulate(sample(), model_profile("GPT-5", mode)) for mode in ("prompt", "structured")]
    with serve_simulations(made, sample()) as server:
        assert server.models == {"GPT-5": "openai/simulated-gpt-5"}
        assert server.requests["mode"].unique().tolist() == ["prompt", "structured"]


# Threads, and the end.


def test_two_at_once() -> None:
    meet = threading.Barrier(2)

    class Meeting(Replay):
        def reply(self, body: bytes) -> Reply:
            meet.wait(PATIENCE)  # for the other request
            return super().reply(body)

    body = body_of(*messages_about(ONE, Prompt("prompt")))
    with SimulationServer(Meeting(simulated(), sample())) as server, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: send(server, body)[0], range(2)))
    assert found == [200, 200]


def test_nothing_is_lost_in_a_crowd(server: SimulationServer) -> None:
    documents = sample().listing["document"].tolist() * 5

    def ask(document: str) -> bool:
        _, found = send(server, body_of(*messages_about(document, Prompt("prompt"))))
        return bool(found["choices"][0]["message"]["content"] == raw_of(simulated(), document))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, documents))
    assert asked_for(server) == {("prompt", d): n for d, n in Counter(documents).items()}


def test_only_this_machine_reaches_it(server: SimulationServer) -> None:
    port = port_of(server)
    assert server.url == f"http://127.0.0.1:{port}/v1"
    hosts = {"127.0.0.2": socket.AF_INET}
    if has_ipv6():
        hosts["::1"] = socket.AF_INET6
    for host, family in hosts.items():
        with socket.socket(family) as other:
            other.settimeout(PATIENCE)
            assert other.connect_ex((host, port)) != 0, host


def has_ipv6() -> bool:
    """Whether this machine makes such sockets: a kernel may have been told not to."""
    try:
        socket.socket(socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_an_answer_takes_its_time() -> None:
    with serve_simulations(simulated(), sample(), latency=0.2) as server:
        begun = time.perf_counter()
        send(server, body_of(*messages_about(ONE, Prompt("prompt"))))
        assert time.perf_counter() - begun >= 0.2


def own_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREADS]


def test_closing_ends_everything() -> None:
    before = own_threads()
    server = serve_simulations(simulated(), sample())
    connection = connect(server)
    connection.request("GET", "/v1/models")
    connection.getresponse().read()
    assert len(own_threads()) == len(before) + 2
    server.close()
    server.close()
    assert own_threads() == before
    assert connection.sock.recv(1) == b""
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        send(server, b"", "/v1/models", "GET")


def test_closing_does_not_wait_for_answers() -> None:
    before = own_threads()
    server = serve_simulations(simulated(), sample(), latency=600)
    connection = connect(server)
    data = json.dumps(body_of(*messages_about(ONE, Prompt("prompt")))).encode()
    connection.request("POST", "/v1/chat/completions", data)
    wait_until(lambda: asked_for(server))
    server.close()
    with pytest.raises(ConnectionError):
        connection.getresponse()
    connection.close()
    assert own_threads() == before


class Stuck(Replay):
    """Answers when it is told to, whatever becomes of its server."""

    def __init__(self) -> None:
        super().__init__(simulated(), sample())
        self.waiting = threading.Semaphore(0)
        self.free = threading.Event()

    def reply(self, body: bytes) -> Reply:
        self.waiting.release()
        self.free.wait(PATIENCE)
        return super().reply(body)


def test_answers_that_do_not_end_are_waited_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Stuck()
    server = SimulationServer(replay)
    connections = [connect(server) for _ in range(20)]
    for connection in connections:
        connection.request("POST", "/v1/chat/completions", b"1")
        assert replay.waiting.acquire(timeout=PATIENCE)
    clock = [0.0]

    def join(_: threading.Thread, timeout: float) -> None:
        clock[0] += timeout

    with monkeypatch.context() as patched:
        patched.setattr(serving, "monotonic", lambda: clock[0])
        patched.setattr(threading.Thread, "join", join)
        server.close()
    assert clock[0] == pytest.approx(serving._PATIENCE)
    for connection in connections:
        with pytest.raises(ConnectionError):
            connection.getresponse()
        connection.close()
    replay.free.set()
    for thread in own_threads():
        thread.join(PATIENCE)


def test_an_interrupted_close_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = own_threads()
    server = serve_simulations(simulated(), sample())
    with monkeypatch.context() as broken:
        broken.setattr(server._http, "shutdown", interrupt)
        with pytest.raises(KeyboardInterrupt):
            server.close()
    assert server.url in repr(server)
    assert send(server, b"", "/v1/models", "GET")[0] == 200
    server.close()
    assert "closed" in repr(server)
    assert own_threads() == before


def interrupt() -> None:
    raise KeyboardInterrupt


def test_one_interruption_waits_until_all_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = own_threads()
    server = serve_simulations(simulated(), sample())
    shutdown = server._http.shutdown

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        shutdown()

    monkeypatch.setattr(server._http, "shutdown", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            server.close()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert "closed" in repr(server)
    assert own_threads() == before


def test_threads_that_are_closing_a_connection_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = own_threads()
    server = serve_simulations(simulated(), sample())
    closing = threading.Event()
    shutdown_request = serving.ThreadingHTTPServer.shutdown_request

    def slow(self: Any, request: Any) -> None:
        closing.set()
        time.sleep(0.3)
        shutdown_request(self, request)

    monkeypatch.setattr(serving.ThreadingHTTPServer, "shutdown_request", slow)
    send(server, b"", "/v1/models", "GET")
    assert closing.wait(PATIENCE)
    server.close()
    assert own_threads() == before


def test_connections_that_ended_are_forgotten(server: SimulationServer) -> None:
    for _ in range(20):
        send(server, b"", "/v1/models", "GET")
        for thread in own_threads()[1:]:
            thread.join(PATIENCE)
    assert len(server._http._served) == 1


def test_no_port_is_kept_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    close = serving._HTTPServer.server_close

    def no_more(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    def closed(self: Any) -> None:
        close(self)
        made.append(self)

    monkeypatch.setattr(serving.Thread, "start", no_more)
    monkeypatch.setattr(serving._HTTPServer, "server_close", closed)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        serve_simulations(simulated(), sample())
    assert [one.is_closed for one in made] == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_leaves_the_server_alone() -> None:
    command = [sys.executable, "-W", "error", "-c", FORKING]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


FORKING = """
import os, signal
from http.client import HTTPConnection
from extractbench_nb.simulation.server import serve_simulations
from extractbench_nb.simulation.outputs import simulate
with serve_simulations(simulate("sample", "GPT-5"), "sample") as server:
    connection = HTTPConnection(server.url.split("/")[2], timeout=1800)
    connection.request("GET", "/v1/models")
    connection.getresponse().read()
    sock, child = connection.sock, os.fork()
    if child == 0:
        signal.alarm(1800)
        server.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    connection.request("GET", "/v1/models")
    assert connection.getresponse().read()
    assert connection.sock is sock
    connection.close()
"""

PROGRAM = """
import socket, sys, threading, time
from extractbench_nb.simulation.server import serve_simulations
from extractbench_nb.simulation.outputs import simulate
server = serve_simulations(simulate("sample", "GPT-5"), "sample", latency=600)
left = socket.create_connection(("127.0.0.1", int(server.url[17:-3])))
left.sendall(b"POST /v1/chat/completions HTTP/1.1\\r\\nContent-Length: 1\\r\\n\\r\\n1")
while threading.active_count() < 3:
    time.sleep(0.01)  # until somebody is waited for
left.detach()  # stays open, and the client's own warning away
assert "litellm" not in sys.modules
"""


def test_an_open_server_does_not_keep_the_interpreter() -> None:
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
