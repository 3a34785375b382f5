"""A key is nowhere but in the request to the server it is for."""

import json
import logging
import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import JudgeError
from extractbench_nb.judges.environment import scrub
from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.judges.llm.providers import said as said_by
from tests.llm_server import EMPTY, MARK, LLMServer, Reply, Request, answer, failure


def everything(error: JudgeError) -> str:
    shown = traceback.TracebackException.from_exception(error)
    kept = [error.__context__, error.__cause__]
    return "".join(shown.format()) + repr(error) + repr(pickle.dumps(error)) + repr(kept)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Log everything, but for LiteLLM: as where this package is the first to import it."""
    caplog.set_level(logging.DEBUG)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        caplog.set_level(logging.CRITICAL, logger=name)
    return caplog


def test_nothing_is_printed(
    make: MakeJudge, server: LLMServer, capfd: pytest.CaptureFixture[str]
) -> None:
    server.script(failure(500), EMPTY, answer(1.0), failure(400))
    judge = make()
    ask(judge)
    fail(judge, "other")
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


# --- all providers, all that is left behind ----------------------------------------------------

MODELS = {
    "openai": ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
    "anthropic": ("anthropic/claude-3-5-haiku-latest", "ANTHROPIC_API_KEY"),
    "gemini": ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
    "azure": ("azure/gpt-4o-mini", "AZURE_API_KEY"),
}
# One is asked after the other: the model is not asked again once it has refused the key.
WORDS = ["good", "mute", "down", "rate", "refused"]
NAMES = {word: {"type": "string"} for word in WORDS}
LISTED = {"type": "array", "items": {"type": "object", "properties": NAMES}}
SCHEMA = {"type": "object", "properties": NAMES | {"listed": LISTED}}
GOLD = {**{word: word for word in WORDS}, "listed": [{word: f"{word} one" for word in WORDS}]}
PREDICTED = {
    **dict.fromkeys(WORDS, "other"),
    "listed": [{word: f"{word} 1" for word in WORDS}],
}


def key_of(provider: str) -> str:
    return f"marked+{provider}/5f2c9a7d41e8b3"


def texts(value: Any) -> Iterator[str]:
    """Yield the texts of a body, whichever way the provider has it arranged."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def specificity(provider: str) -> Callable[[Request], Reply]:
    """Quote the whole request, headers and address first, in every answer and every error."""

    def respond(request: Request) -> Reply:
        whole = "\n".join(texts(request.body))
        sent = f"{request.path} {dict(request.headers)} {whole}"
        said = json.dumps({"mark_code": MARK, "score": 1, "reasoning": sent})
        # the gold value, not the word in what is quoted of the answer before
        word = next(w for w in WORDS if re.search(rf'<gold-\w+>\n"{w}', whole))
        replies = {
            "good": Reply(said, body=said_by(provider, said)),
            "mute": Reply(f"mute {sent}", body=said_by(provider, f"mute {sent}")),
            "refused": failure(403, sent, X_Key=key_of(provider)),
            "down": failure(500, sent, X_Key=key_of(provider)),
            "rate": failure(429, sent, Retry_After="999999"),
        }
        return replies[word]

    return respond


def frames(ev: Any) -> Iterator[str]:
    """Yield all that results can be looked at by, but for files."""
    for name in ("fields", "arrays", "matches", "judge_calls", "warnings"):
        frame = getattr(ev, name, None)
        if frame is not None:
            yield frame.to_csv() + frame.to_html() + repr(frame.to_dict())
    yield repr(ev.summary) + repr(ev.meta) + repr(ev) + ev._repr_html_()
    yield repr(pickle.dumps(ev))


@pytest.fixture
def base(server: LLMServer, provider: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the keys of all providers; return the server's address as the provider has it."""
    address = server.url if provider == "openai" else server.url.removesuffix("/v1")
    for other, (_, variable) in MODELS.items():
        monkeypatch.setenv(variable, key_of(other))
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    server.respond = specificity(provider)
    return address


@pytest.mark.parametrize("provider", MODELS)
def test_no_key_of_any_provider_is_left_anywhere(
    *,
    provider: str,
    make: MakeJudge,
    base: str,
    server: LLMServer,
    log: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    options = {"max_attempts": 2, "max_concurrency": 1, "additional_instructions": "x"}
    judge = make(MODELS[provider][0], api_base=base, **options)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ev = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=judge)
        ev.save(tmp_path / "report")
    for word in WORDS[1:]:
        fail(judge, word)
    errors = [everything(fail(judge, word)) for word in WORDS[1:]]
    assert judge.model.cache is not None
    shown = [
        repr(judge),
        repr(vars(judge)),
        repr(pickle.dumps(judge)),
        repr(judge.model.cache),
    ]
    shown += [*frames(ev), *errors, *(str(one.message) for one in told), repr(capfd.readouterr())]
    shown += [repr(path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()]
    shown += [f"{record.getMessage()} {record.exc_info} {vars(record)}" for record in log.records]

    # the key was sent, and everything came back with it
    assert all(key_of(provider) in repr(request.headers) for request in server.requests)
    assert key_of(provider) in repr(server.respond(server.requests[0]))
    assert ev.fields["reason"].value_counts()[["judged", "unparsable", "rate_limit"]].ge(1).all()
    assert ev.fields["reasoning"].str.contains("[hidden]", regex=False).any()
    assert (ev.judge_calls["answer"].str.contains("[hidden]", regex=False)).any()
    leaks = [text for text in shown if "5f2c9a7d41e8b3" in text]
    assert not [leak[max(0, leak.index("5f2c9a") - 200) :][:300] for leak in leaks]
