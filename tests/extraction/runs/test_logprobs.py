"""Log-probabilities of tokens: requested, kept in a run, and read as confidences."""

import json
import math
from typing import Any

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.extraction.confidences import token_confidences
from tests.extraction.runs.conftest import Extract, asked_about
from tests.llm_server import LLMServer, Reply, Request

ONE = ["cv_marisol_etxeberria"]
RAW = '{"name": "Zoë", "age": 41}'
#: Tokens as bytes: the ë is cut in two.
TOKENS = [b'{"name', b'": "', b"Zo", b"\xc3", b"\xab", b'", ', b'"age": ', b"4", b"1}"]
LOGS = [0.0, -1.0, -0.1, -0.2, -0.3, -1.0, -1.0, -0.5, -0.7]


def answer(request: Request, raw: str = RAW, tokens: list[bytes] | None = None) -> Reply:
    """Answer as OpenAI does, with log-probabilities if they are asked for."""
    body: Any = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": request.body["model"],
        "usage": {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109},
    }
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "logprobs": None}
    choice["message"] = {"role": "assistant", "content": raw}
    if request.body.get("logprobs"):
        pairs = zip(TOKENS if tokens is None else tokens, LOGS, strict=False)
        choice["logprobs"] = {
            "refusal": None,
            "content": [
                {
                    "token": data.decode("utf-8", "backslashreplace"),
                    "bytes": list(data),
                    "logprob": log,
                    "top_logprobs": [],
                }
                for data, log in pairs
            ],
        }
    return Reply(body={**body, "choices": [choice]})


def test_logprobs_are_kept_and_become_confidences(run: Extract, server: LLMServer) -> None:
    server.respond = answer
    done = run(ONE, logprobs=True)
    assert server.requests[0].body["logprobs"] is True
    kept = done.read(ONE[0]).meta["logprobs"]
    assert kept["tokens"][2:4] == ["Zo", "ë"]  # the two halves together
    assert kept["logprobs"][2:4] == pytest.approx([-0.1, -0.5])
    assert "".join(kept["tokens"]) == RAW
    assert done.description["parameters"]["logprobs"] is True
    found = token_confidences(done).set_index("path")["confidence"].to_dict()
    assert found == pytest.approx({"$.name": math.exp(-0.3), "$.age": math.exp(-0.6)})
    assert len(run(ONE, logprobs=True).outputs) == len(server.requests) == 1
    with pytest.raises(InputError, match="holds a run whose parameters is"):
        run(ONE)


def test_without_the_option_nothing_is_asked_or_kept(run: Extract, server: LLMServer) -> None:
    server.respond = answer
    done = run(ONE)
    assert "logprobs" not in server.requests[0].body
    assert "logprobs" not in done.read(ONE[0]).meta
    assert "logprobs" not in done.description["parameters"]
    with pytest.raises(InputError, match="no output has log-probabilities"):
        token_confidences(done)


def test_a_server_that_sends_none(run: Extract, server: LLMServer) -> None:
    server.respond = asked_about
    assert run(ONE, logprobs=True).read(ONE[0]).meta["logprobs"] is None


def test_tokens_do_not_spell_a_key_that_was_hidden(
    run: Extract, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a-made-up-key-of-some-length"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    raw = json.dumps({"name": key})
    tokens = [raw[:15].encode(), raw[15:].encode()]
    server.respond = lambda request: answer(request, raw, tokens)
    done = run(ONE, logprobs=True)
    assert "[hidden]" in (done.read(ONE[0]).raw or "")
    assert done.read(ONE[0]).meta["logprobs"] is None
    for path in done.folder.iterdir():
        assert key[:8].encode() not in path.read_bytes()


def test_a_model_without_logprobs_is_refused_before_a_request(
    run: Extract, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    with pytest.raises(InputError, match="LiteLLM knows no log-probabilities of 'anthropic/"):
        run(ONE, model="anthropic/claude-sonnet-4-5", logprobs=True)
    assert not server.requests
