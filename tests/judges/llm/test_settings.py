import copy
import os
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.errors import ConfigError, InputError
from extractbench_nb.judges import LLM, JudgeCache, LLMJudge
from extractbench_nb.judges.environment import (
    DEFAULT_MODEL,
    KEYS_OF_FILES,
    read_environment,
)
from tests.judges.llm.conftest import OWN, MakeJudge, ask, fail
from tests.llm_server import LLMServer, failure

BAD: list[tuple[str, Any]] = [
    ("model", ""),
    ("model", "two words"),
    ("model", 5),
    ("temperature", -0.1),
    ("temperature", float("nan")),
    ("temperature", True),
    ("max_tokens", 0),
    ("max_tokens", 1.5),
    ("timeout", -1),
    ("max_concurrency", 0),
    ("retry_wait", -1),
    ("budget_usd", -1),
    ("budget_usd", "1"),
    ("cache", 5),
    ("cache", ""),
    ("api_base", "127.0.0.1"),
    ("api_base", "http://user:hidden-word@127.0.0.1/v1"),
    ("api_base", "http://127.0.0.1/v1?key=hidden-word"),
    ("additional_instructions", " "),
    *(("n", value) for value in (0, 2.0, True, None)),
    *(("vote", value) for value in ("mode", "", None, ["median"])),
]


@pytest.mark.parametrize("name, value", BAD)
def test_bad_values_are_refused(name: str, value: Any) -> None:
    made = LLMJudge if name in OWN else LLM
    with pytest.raises(InputError, match=f"{name} is .*") as caught:
        made(**{"model": "openai/x", name: value})
    assert "hidden-word" not in str(caught.value)


@pytest.mark.parametrize("name", [option.name for option in fields(LLM)[1:]])
def test_options_of_the_model_are_refused_elsewhere(name: str, tmp_path: Path) -> None:
    dataset = xb.load_dataset("sample")
    model, folder = "openai/x", tmp_path / "run"
    for call in (
        lambda **option: xb.extract(dataset, model=model, folder=folder, **option),
        lambda **option: xb.construction.construct("sample", model=model, folder=folder, **option),
    ):
        with pytest.raises(InputError, match=rf"takes no {name}; .* xb.LLM\(.*{name}=\.\.\.\)"):
            call(**{name: 1})
        with pytest.raises(InputError, match=r"unknown option 'qqq' of \w+; expected one of"):
            call(qqq=2)
    assert not folder.exists()


def test_a_model_is_a_value() -> None:
    model = LLM("openai/x", temperature=0.5, cache="here")
    assert pickle.loads(pickle.dumps(model)) == copy.deepcopy(model) == model  # noqa: S301
    assert eval(repr(model), {"LLM": LLM, "JudgeCache": JudgeCache}) == model  # noqa: S307
    assert hash(model) == hash(replace(model))
    assert model != LLM("openai/x", temperature=0.5)
    assert repr(LLM("openai/x", cache=False)) == "LLM('openai/x', cache=None)"
    with pytest.raises(FrozenInstanceError):
        model.temperature = 1.0  # type: ignore[misc]


def test_the_model_is_named_by_argument_environment_file_or_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert LLMJudge().name == DEFAULT_MODEL
    Path(".env").write_text("DEFAULT_LLM_MODEL=openai/from-file\nMISTRAL_API_KEY=from-file\n")
    monkeypatch.setenv("MISTRAL_API_KEY", "was-there")
    monkeypatch.setenv("DEFAULT_LLM_MODEL", "")  # restored afterwards, whatever the file sets
    monkeypatch.delenv("DEFAULT_LLM_MODEL")
    assert LLMJudge().name == "openai/from-file"
    assert os.environ["MISTRAL_API_KEY"] == "was-there"
    monkeypatch.setenv("DEFAULT_LLM_MODEL", "openai/from-environment")
    assert LLMJudge().name == "openai/from-environment"
    assert LLMJudge("openai/named").name == "openai/named"


TAKEN = ["MISTRAL_API_KEY", "MY_OWN_API_TOKEN", "AWS_SECRET_ACCESS_KEY"]
#: Variables that LiteLLM sets itself, when it first counts tokens.
OF_LITELLM = {"TIKTOKEN_CACHE_DIR"}
LEFT = [
    *("OPENAI_API_BASE", "OPENAI_BASE_URL", "AZURE_API_BASE", "GEMINI_API_BASE", "OLLAMA_HOST"),
    *("HTTP_PROXY", "https_proxy", "ALL_PROXY", "SSL_CERT_FILE", "SSL_VERIFY", "PATH_X"),
    *("EXTRACTBENCH_JUDGE_CACHE", "EXTRACTBENCH_API_KEY", "LITELLM_MODE", "LITELLM_PROXY_API_KEY"),
    *("LITELLM_LOG", "GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS", "PYTHONPATH_X"),
    *("AWS_ENDPOINT_URL", "XMISTRAL_API_KEYS", "mistral_api_key"),
]


def strangers_folder(folder: Path) -> dict[str, str]:
    """Make a folder with a ``.env`` of a stranger's; return the environment of a new process.

    Nothing of that file is in the environment of the process later.
    """
    folder.mkdir()
    names = ["DEFAULT_LLM_MODEL", *TAKEN, *LEFT]
    lines = [f"export {name}=from-file" for name in names]
    (folder / ".env").write_text("\n".join([*lines, "XAI_API_KEY=${HOME}", "GROQ_API_KEY=", ""]))
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return kept | {"PYTHONPATH": str(Path(xb.__file__).parent.parent)}


def test_only_keys_and_the_model_are_taken_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = strangers_folder(tmp_path / "stranger's")
    for name in set(os.environ) - set(environment):
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path / "stranger's")
    before = dict(os.environ)
    assert read_environment() == "from-file"
    assert dict(os.environ) == before
    assert dict.fromkeys(TAKEN, "from-file") | {"XAI_API_KEY": "${HOME}"} == KEYS_OF_FILES


@pytest.mark.parametrize(
    "model, variable",
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("groq/llama-3.3-70b", "GROQ_API_KEY"),
        ("together_ai/x/y", "TOGETHERAI_API_KEY"),
        ("fireworks_ai/x", "FIREWORKS_AI_API_KEY"),
        ("hosted_vllm/x", "HOSTED_VLLM_API_KEY"),
    ],
)
def test_a_key_of_a_file_is_sent_and_hidden(
    model: str,
    variable: str,
    make: MakeJudge,
    server: LLMServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text(f"{variable}=secret-of-a-file\nX_API_KEY=another-secret\n")
    before = dict(os.environ)
    server.respond = lambda request: failure(400, request.headers["authorization"])
    error = fail(make(model))
    assert server.requests[0].headers["authorization"] == "Bearer secret-of-a-file"
    assert "secret-of-a-file" not in str(error)
    assert "[hidden]" in str(error)
    changed = {name for name, value in os.environ.items() if before.get(name) != value}
    assert changed <= OF_LITELLM
    monkeypatch.setenv(variable, "secret-of-the-environment")  # takes precedence
    fail(make(model), "another")
    assert server.requests[1].headers["authorization"] == "Bearer secret-of-the-environment"


def test_a_model_of_the_file_names_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_LLM_MODEL", "")
    monkeypatch.delenv("DEFAULT_LLM_MODEL")
    Path(".env").write_text("DEFAULT_LLM_MODEL=huggingface/https://example.org/steal\n")
    assert LLMJudge().name == DEFAULT_MODEL


def test_params_of_a_field_override(make: MakeJudge, server: LLMServer) -> None:
    judge = make(additional_instructions="Everywhere.", temperature=0.0)
    ask(
        judge,
        params={
            "model": "openai/other",
            "temperature": 0.7,
            "max_tokens": 99,
            "additional_instructions": "Only here.",
            "prompt_template": "Custom {gold} {predicted}",
            "pass_threshold": 0.9,
        },
    )
    ask(judge)
    special, usual = (request.body for request in server.requests)
    assert (special["model"], special["temperature"], special["max_tokens"]) == ("other", 0.7, 99)
    text = special["messages"][1]["content"]
    assert text.startswith("Custom <gold-")
    assert "Only here." in text
    assert "Everywhere." not in text
    assert (usual["model"], usual["temperature"]) == ("test-model", 0.0)
    assert usual["max_tokens"] == 2048
    assert "Everywhere." in usual["messages"][1]["content"]


@pytest.mark.parametrize(
    "params, problem",
    [
        ({"model": ""}, "model is ''"),
        ({"temperature": -1}, "temperature is -1"),
        ({"max_tokens": 1.5}, "max_tokens is 1.5"),
        ({"additional_instructions": ""}, "additional_instructions"),
        ({"prompt_template": "{gold}"}, "lacks {predicted}"),
        ({"prompt_template": ""}, "prompt_template is ''"),
    ],
)
def test_params_are_checked_before_anything_is_asked(
    make: MakeJudge, server: LLMServer, params: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        make().check(params)
    with pytest.raises(ConfigError, match=problem):
        ask(make(), params=params)
    assert not server.requests
