"""What is found before any work: providers, keys, packages, prices."""

from pathlib import Path

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.judges import LLMJudge
from extractbench_nb.judges import llm as access
from tests.judges.llm.conftest import MakeJudge, ask
from tests.llm_server import LLMServer

NEEDED = {
    "openai/gpt-4o-mini": "OPENAI_API_KEY",
    "gpt-4o-mini": "OPENAI_API_KEY",
    "anthropic/claude-3-haiku-20240307": "ANTHROPIC_API_KEY",
    "gemini/gemini-2.5-flash": "GOOGLE_API_KEY or GEMINI_API_KEY",
    "mistral/mistral-large-latest": "MISTRAL_API_KEY",
    "azure/mine": "AZURE_API_BASE and AZURE_API_VERSION and AZURE_API_KEY",
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0": "AWS_ACCESS_KEY_ID",
}


@pytest.mark.parametrize("model, variable", NEEDED.items())
def test_a_model_without_its_key_names_the_variable(model: str, variable: str) -> None:
    with pytest.raises(InputError, match=f"no key for the model '{model}': set {variable}"):
        LLMJudge(model).check()


@pytest.mark.parametrize(
    "model, variable, value",
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY", "x"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY", "x"),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", "AWS_PROFILE", "mine"),
        ("azure/mine", "AZURE_AD_TOKEN", "x"),
    ],
)
def test_with_its_key_it_may_be_asked(
    monkeypatch: pytest.MonkeyPatch, model: str, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    LLMJudge(model).check()


def test_a_key_in_the_file_of_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "")  # restored afterwards
    monkeypatch.delenv("MISTRAL_API_KEY")
    Path(".env").write_text("MISTRAL_API_KEY=abc\n")
    LLMJudge("mistral/mistral-large-latest").check()


def test_googles_cloud_needs_its_package_and_a_login(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(access, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"litellm\[google\]"):
        LLMJudge().check()
    monkeypatch.setattr(access, "find_spec", lambda _: "a spec")
    with pytest.raises(InputError, match=r"VERTEXAI_PROJECT.*gcloud/application_default"):
        LLMJudge().check()
    login = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    LLMJudge().check()


@pytest.mark.parametrize("model", ["nonsense/model", "just-a-name", "opnai/gpt-4o"])
def test_unknown_providers_are_told(model: str) -> None:
    with pytest.raises(InputError, match=f"unknown provider of the model '{model}'"):
        LLMJudge(model).check()


def test_a_server_of_ones_own_needs_no_key(make: MakeJudge, server: LLMServer) -> None:
    judge = make()
    judge.check()
    ask(judge)
    assert server.requests[0].headers["authorization"] == "Bearer none-needed"


def test_a_budget_needs_a_price(make: MakeJudge) -> None:
    with pytest.raises(InputError, match=r"budget_usd is 1.0, but LiteLLM has no price"):
        make(budget_usd=1.0).check()
    with pytest.raises(InputError, match=r"budget_usd is 1.0, but LiteLLM has no price"):
        make("openai/my-own-claude-opus-4.5", budget_usd=1.0).check()
    make("openai/gpt-4o-mini", budget_usd=1.0).check()
