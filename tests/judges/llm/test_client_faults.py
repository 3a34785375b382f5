"""A client that does not work: one error before anything is judged, whoever asks."""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.construction.constructing import construct
from extractbench_nb.errors import InputError, UnavailableError
from extractbench_nb.judges import Ensemble, LLMJudge, client
from extractbench_nb.judges.model_aligner import LLMAligner
from extractbench_nb.runs.evaluate import evaluate_runs
from extractbench_nb.runs.folders import Run
from tests.judges.llm.conftest import MakeJudge, ask
from tests.llm_server import LLMServer, failure

KEY = "sk-abcdefghijklmnop"
TEXTS = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
}
GOLD, PREDICTED = {"a": "x", "b": "y"}, {"a": "u", "b": "v"}
LISTING = {
    "type": "object",
    "properties": {
        "works": {
            "type": "array",
            "items": TEXTS,
            "evaluation_config": {"metrics": [{"metric_id": "array_llm"}]},
        }
    },
}
WORKS = {"works": [GOLD, {"a": "x1", "b": "y1"}]}, {"works": [PREDICTED, {"a": "u1", "b": "v1"}]}
Break = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def loaded() -> None:
    """Load LiteLLM: an import that is cut short leaves parts behind."""
    client.litellm()


def missing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(client, "_load", client._load.__wrapped__)  # as in a new process
    patch.setitem(sys.modules, "litellm", None)


def incompatible(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(client, "_load", client._load.__wrapped__)
    patch.setitem(sys.modules, "litellm", ModuleType("litellm"))


def broken_on_import(patch: pytest.MonkeyPatch) -> None:
    """Let an import fail that LiteLLM makes with each request."""
    patch.setitem(sys.modules, "litellm.caching.caching_handler", None)
    patch.setattr(client.litellm(), "acompletion", importing)


async def importing(**_: Any) -> None:
    import litellm.caching.caching_handler  # noqa: F401


def warned_on_import(patch: pytest.MonkeyPatch) -> None:
    async def warn(**_: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.warn(f"its types are odd, {KEY}", stacklevel=1)

    patch.setattr(client.litellm(), "acompletion", warn)


def with_another_httpx(patch: pytest.MonkeyPatch) -> None:
    """Let the provider's own client fail: LiteLLM makes an error of the provider out of it."""
    import openai

    def init(*_: Any, **__: Any) -> None:
        raise TypeError("AsyncClient.__init__() got an unexpected keyword argument 'proxies'")

    patch.setattr(openai.AsyncOpenAI, "__init__", init)
    patch.setattr(openai.OpenAI, "__init__", init)


FAULTS: dict[Break, str] = {
    missing: r"litellm is not installed; .*pip install 'extractbench-nb\[llm\]'",
    incompatible: "AttributeError: module 'litellm' has no attribute '",
    broken_on_import: "ModuleNotFoundError: import of litellm.caching.caching_handler halted",
    warned_on_import: r"UserWarning: its types are odd, \[hidden\]; a warnings filter",
    with_another_httpx: "TypeError: .* an unexpected keyword argument 'proxies'",
}


def judge(make: MakeJudge, tmp_path: Path, url: str) -> object:
    return xb.evaluate(TEXTS, GOLD, PREDICTED, judge=make())


def ensemble(make: MakeJudge, tmp_path: Path, url: str) -> object:
    return xb.evaluate(TEXTS, GOLD, PREDICTED, judge=Ensemble(["offline", make()], vote="min"))


def aligner(make: MakeJudge, tmp_path: Path, url: str) -> object:
    return xb.evaluate(LISTING, *WORKS, alignment=LLMAligner(make()))


def batch(make: MakeJudge, tmp_path: Path, url: str) -> object:
    columns = {"schema": TEXTS, "gold": GOLD, "predicted": PREDICTED}
    rows = pd.DataFrame([{"run": "r", "document": str(n), **columns} for n in range(3)])
    return evaluate_runs(rows, judge=make(), progress=False)


def extract(make: MakeJudge, tmp_path: Path, url: str) -> object:
    dataset, folder = xb.load_dataset("sample"), tmp_path / "run"
    model = xb.LLM("openai/test-model", api_base=url, retry_wait=0.0)
    try:
        return xb.extract(dataset, model=model, folder=folder, progress=False)
    finally:
        assert not folder.exists() or Run(folder).outputs["document"].empty


def tables(make: MakeJudge, tmp_path: Path, url: str) -> object:
    model = xb.LLM("openai/test-model", api_base=url, retry_wait=0.0)
    return construct("sample", model=model, folder=tmp_path / "tables", progress=False)


ASKING = (*(judge, ensemble, aligner, batch, extract, tables),)


@pytest.mark.parametrize(
    "fault, asking",
    [*((fault, judge) for fault in FAULTS), *((incompatible, asking) for asking in ASKING)],
)
def test_one_error_and_no_verdict(
    fault: Break,
    asking: Callable[[MakeJudge, Path, str], object],
    make: MakeJudge,
    server: LLMServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with monkeypatch.context() as patch:
        fault(patch)
        with pytest.raises(xb.ExtractBenchError, match=FAULTS[fault]) as caught:
            asking(make, tmp_path, server.url)
    assert KEY not in str(caught.value)
    assert server.requests == []


@pytest.mark.parametrize("fault", [broken_on_import, with_another_httpx])
def test_it_is_asked_again_once_it_works(
    fault: Break, make: MakeJudge, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = make("openai/gpt-4o-mini", budget_usd=1.0)
    with monkeypatch.context() as patch:
        fault(patch)
        with pytest.raises(UnavailableError, match=r"LiteLLM [0-9.]+ does not work here"):
            ask(judge)
    assert judge.spent_usd == 0.0
    assert ask(judge).reason == "judged"
    assert len(server.requests) == 1


@pytest.fixture
def amazons(make: MakeJudge, monkeypatch: pytest.MonkeyPatch) -> LLMJudge:
    """A judge whose requests are signed by a package of the provider."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION"):
        monkeypatch.setenv(f"AWS_{name}", "us-east-1")
    return make("bedrock/anthropic.claude-3-haiku-20240307-v1:0", api_base=None)


def test_a_request_that_cannot_be_prepared_is_no_fault_of_the_client(
    make: MakeJudge, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = client.litellm()
    complete = module.acompletion

    async def acompletion(**options: Any) -> Any:
        if "odd" in str(options["messages"]):
            raise AttributeError("'bool' object has no attribute 'get'")
        return await complete(**options)

    monkeypatch.setattr(module, "acompletion", acompletion)
    found = xb.evaluate(TEXTS, {"a": "odd", "b": "y"}, PREDICTED, judge=make())
    outcomes = found.fields.set_index("path")["outcome"]
    assert outcomes.to_dict() == {"$.a": "judge_error", "$.b": "incorrect"}
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 500])
def test_an_error_of_the_server_is_no_fault_of_the_client(
    status: int, make: MakeJudge, server: LLMServer
) -> None:
    server.respond = lambda _: failure(status, "ImportError: no module named x")
    found = xb.evaluate(TEXTS, GOLD, PREDICTED, judge=make(max_attempts=1))
    assert found.fields["outcome"].tolist() == ["judge_error"] * 2


def test_a_response_that_the_client_cannot_take(
    make: MakeJudge, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let an import fail after the answer has come, as a filter of warnings may."""
    module = client.litellm()
    complete = module.acompletion

    async def acompletion(**options: Any) -> Any:
        await complete(**options)
        raise DeprecationWarning("a name is going to be removed")

    monkeypatch.setattr(module, "acompletion", acompletion)
    with pytest.raises(UnavailableError, match="DeprecationWarning: a name is going to be removed"):
        xb.evaluate(TEXTS, GOLD, PREDICTED, judge=make())


def test_worker_processes(
    amazons: LLMJudge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "boto3.py").write_text("raise ImportError('no core library')\n")
    monkeypatch.syspath_prepend(tmp_path)
    columns = {"schema": TEXTS, "gold": GOLD, "predicted": PREDICTED}
    rows = pd.DataFrame([{"run": "r", "document": str(n), **columns} for n in range(4)])
    with pytest.raises(InputError, match=r"ImportError: .*(no core library|boto3)"):
        evaluate_runs(rows, judge=amazons, n_jobs=2, progress=False)


def test_a_provider_whose_module_is_broken_is_not_unknown(
    make: MakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = client.litellm()

    def get_llm_provider(model: str) -> Any:
        try:
            raise ImportError("no module for it")
        except ImportError as error:
            about = {"model": model, "llm_provider": ""}
            raise module.exceptions.BadRequestError(str(error), **about) from error

    monkeypatch.setattr(module, "get_llm_provider", get_llm_provider)
    with pytest.raises(UnavailableError, match="does not work here: ImportError: no module for it"):
        make().check()
