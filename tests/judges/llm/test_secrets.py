"""A key is nowhere but in the request to the server it is for."""

import json
import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.judges.base import JudgeError
from extractbench_nb.judges.scrub import holds_credentials, scrub
from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import EMPTY, LLMServer, Reply, Request, answer, failure

KEY = "marked+key/5f2c9a7d41e8b3"  # of no known form: only its value gives it away


def echo(request: Request) -> Reply:
    """Answer as a server that quotes what it was sent."""
    sent = f"{request.headers} {request.headers['authorization']}"
    replies = {
        "good": Reply(json.dumps({"score": 1, "reasoning": sent})),
        "mute": Reply(f"no verdict: {sent}"),
        "refused": failure(401, f"Incorrect API key provided: {KEY} {sent}"),
        "down": failure(500, sent, X_Key=KEY),
        "rate": failure(429, sent, Retry_After="999999"),
    }
    return next(reply for word, reply in replies.items() if f'"{word}' in request.quoted["gold"])


def everything(error: JudgeError) -> str:
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    kept = [error.__context__, error.__cause__]
    return "".join(shown.format()) + repr(error) + repr(pickle.dumps(error)) + repr(kept)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def test_a_marked_key_is_nowhere(
    make: MakeJudge,
    server: LLMServer,
    monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.respond = echo
    judge = make(max_attempts=2)
    shown: list[Any] = [repr(judge), str(judge), pickle.dumps(judge), vars(judge)]
    shown += [ask(judge, "good"), ask(judge, "good")]
    for word, reason in (("down", "server_error"), ("rate", "rate_limit"), ("mute", "unparsable")):
        error = fail(judge, word)
        assert error.reason == reason
        shown.append(everything(error))
    shown.append(everything(fail(judge, "refused")))
    assert judge.cache is not None
    judge.cache.export(tmp_path / "out.jsonl")
    shown += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    shown += [record.getMessage() for record in log.records], capfd.readouterr()
    text = "\n".join(map(repr, shown))
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert KEY in repr(echo(server.requests[0]))
    assert KEY not in text
    assert "[hidden]" in text
    assert "OPENAI_API_KEY" in text  # the refused key is named by its variable


def test_no_key_in_the_frames(
    make: MakeJudge, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.respond = echo
    names = ["good", "down", "mute", "rate", "refused"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    gold = {name: name for name in names}
    found = xb.evaluate(
        schema, gold, dict.fromkeys(names, "x"), judge=make(max_attempts=1, max_concurrency=1)
    )
    assert found.summary.judge_errors == 4
    text = found.fields.to_csv() + found._repr_html_() + repr(found.meta) + repr(found)
    assert "[hidden]" in text
    assert KEY not in text


def test_nothing_is_printed(
    make: MakeJudge, server: LLMServer, capfd: pytest.CaptureFixture[str]
) -> None:
    server.script(failure(500), EMPTY, answer(1.0), failure(400))
    judge = make()
    ask(judge)
    fail(judge, "other")
    with pytest.raises(xb.InputError):
        make("nonsense/model").check()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text, kept",
    [
        ("Authorization: Bearer abc.def-12345678", "Authorization: Bearer [hidden]"),
        ("https://x.y/v1?key=AbC123456789&alt=json", "https://x.y/v1?key=[hidden]&alt=json"),
        ("https://me:word@host/v1", "https://[hidden]@host/v1"),
        ("AIzaSyA-1234567890abcdefghijklmno", "[hidden]"),
        ("sk-proj-abc_DEF-1234567890", "[hidden]"),
        ("gsk_abcdefgh12345678", "[hidden]"),
        ("task-force-12345678 and risk_abcdefghij", "task-force-12345678 and risk_abcdefghij"),
        ("the key is missing", "the key is missing"),
        ("", ""),
    ],
)
def test_scrub(text: str, kept: str) -> None:
    assert scrub(text) == kept


def test_longer_secrets_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "abcdefgh")
    monkeypatch.setenv("B_SECRET", "abcdefgh-and-more")
    monkeypatch.setenv("C_KEY", "short")
    assert scrub("abcdefgh-and-more abcdefgh short") == "[hidden] [hidden] short"


@pytest.mark.parametrize(
    "address, found",
    [
        ("http://127.0.0.1:80/v1", False),
        ("https://me@host", True),
        ("https://me:word@host", True),
        ("https://host/?key=x", True),
    ],
)
def test_addresses_with_credentials(address: str, found: bool) -> None:
    assert holds_credentials(address) is found
