"""Models build tables and rate them, through a server on 127.0.0.1."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.constructing import construct
from extractbench_nb.construction.retrieval import Retriever
from extractbench_nb.construction.table_batches import evaluate_tables
from extractbench_nb.construction.table_dataset import TableDataset, load
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.judges import LLM, LLMJudge
from extractbench_nb.judges.client import BACKGROUND
from extractbench_nb.runs.folders import Run
from tests.clients import with_llm
from tests.llm_server import HANG, MARK, LLMServer, Reply, Request, answer, failure
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(find_spec("litellm") is None, reason="needs LiteLLM")

Start = Callable[..., Run]


@pytest.fixture(scope="module", autouse=True)
def no_thread_left() -> Iterator[None]:
    yield
    BACKGROUND.close()


@pytest.fixture(scope="module")
def dataset() -> TableDataset:
    return load()


def asked_about(request: Request) -> str:
    """Return the id of the table that a request is about."""
    return next(task.id for task in load() if task.query in request.text)


def gold_of(request: Request) -> str:
    return f"Here:\n```csv\n{load()[asked_about(request)].gold.to_csv(index=False)}```\n"


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(gold_of) as running:
        yield running


@pytest.fixture
def start(server: LLMServer, tmp_path: Path, dataset: TableDataset) -> Start:
    def run(**options: Any) -> Run:
        usual = {
            "model": "openai/test-model",
            "folder": tmp_path / "runs" / "test-model",
            "api_base": server.url,
            "retry_wait": 0.0,
            "progress": False,
        }
        return construct(dataset, **with_llm(usual | options))

    return run


def test_a_run_is_read_by_the_batch(
    start: Start, server: LLMServer, dataset: TableDataset, tmp_path: Path
) -> None:
    run = start()
    assert sorted(map(asked_about, server.requests)) == sorted(dataset.tables["table"])
    for request in server.requests:
        for text in dataset[asked_about(request)].texts.values():
            assert text in request.text
        assert "Its columns" not in request.text
    found = evaluate_tables(run, dataset=dataset, progress=False)
    assert found.summary["run"].unique().tolist() == ["test-model"]
    assert found.summary["cell_f1"].tolist() == [1.0] * 3
    assert found.summary["direct"].all()
    for source in (tmp_path / "runs", run.folder, [run]):
        again = evaluate_tables(source, dataset=dataset, progress=False)
        assert again.summary["cell_f1"].tolist() == [1.0] * 3
    description = run.description
    assert (description["kind"], description["prompt_version"]) == ("construction", "table-v1")
    assert "3 of 3 documents answered" in repr(run)


PROGRAM = """
import sys
from extractbench_nb.judges import LLM
from extractbench_nb.construction import construct
model = LLM("openai/test-model", api_base=sys.argv[2], max_concurrency=1)
construct("sample", model=model, folder=sys.argv[1], progress=False)
"""


def test_an_interrupted_run_is_resumed(start: Start, server: LLMServer, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "test-model"
    answered = iter([True])
    server.respond = lambda request: gold_of(request) if next(answered, False) else HANG
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), server.url])
    wait_until(lambda: process.poll() is not None or len(server.requests) == 2)
    process.kill()
    process.wait(PATIENCE)
    assert [len(list(folder.glob(f"*.{name}"))) for name in ("raw.txt", "meta.json")] == [1, 1]
    first = asked_about(server.requests[0])
    server.forget()
    server.respond = gold_of
    run = start()
    assert first not in map(asked_about, server.requests)
    assert len(server.requests) == 2
    found = evaluate_tables(run, dataset="sample", progress=False)
    assert found.summary["cell_f1"].tolist() == [1.0] * 3


def test_a_failed_call_is_an_invalid_answer(start: Start, server: LLMServer) -> None:
    server.script(failure(400, "maximum context length is 8192 tokens"))
    run = start(max_concurrency=1)
    found = evaluate_tables(run, dataset="sample", progress=False)
    row = found.summary[~found.summary["valid"]].iloc[0]
    assert row["problem"] == "predicted is empty"
    assert found.by_run["invalid"].tolist() == [1]


def test_passages_in_place_of_documents(
    start: Start, server: LLMServer, dataset: TableDataset
) -> None:
    retriever = Retriever(k=2)
    run = start(retriever=retriever, tables=["retailer_results"])
    task = dataset["retailer_results"]
    (request,) = server.requests
    assert retriever(task, task.query).context.strip() in request.text
    assert not all(text in request.text for text in task.texts.values())
    assert run.description["retriever"]["method"] == "bm25"
    with pytest.raises(InputError, match="whose retriever is"):
        start()


def test_a_changed_document_is_another_run(tmp_path: Path) -> None:
    shutil.copytree(load().root / "retailer_results", tmp_path / "own")
    options: dict[str, Any] = {"folder": tmp_path / "run", "progress": False}
    with LLMServer(lambda _: "none") as server:
        options["model"] = LLM("openai/test-model", api_base=server.url)
        construct(tmp_path / "own", **options)
        path = next((tmp_path / "own/documents").iterdir())
        path.write_text("Nothing is left.", encoding="utf-8")
        with pytest.raises(InputError, match="the text of 'own' was different"):
            construct(tmp_path / "own", **options)


def test_prompts(start: Start, server: LLMServer, dataset: TableDataset, tmp_path: Path) -> None:
    task = dataset["retailer_results"]
    names = ", ".join((*task.keys, *task.values))
    start(tables=[task.id], with_schema=True)
    assert f"Its columns are: {names}" in server.requests[-1].text
    options = {"tables": [task.id], "folder": tmp_path / "other"}
    run = start(prompt="Answer {query} with {columns}.", **options)
    text = server.requests[-1].text
    assert f"with {names}." in text
    assert all(document in text for document in task.texts.values())
    assert run.description["prompt_version"].startswith("custom-")


@pytest.mark.parametrize(
    "setting, demonstrates, reasons",
    [
        ("plain", False, False),
        ("all", True, True),
        ("no_teach", False, True),
        ("no_cot", True, False),
    ],
)
def test_settings(
    start: Start, server: LLMServer, setting: str, demonstrates: bool, reasons: bool
) -> None:
    run = start(setting=setting, domains="legal")
    (request,) = server.requests
    assert asked_about(request) == "court_rulings"
    assert ("An example of another question" in request.text) == demonstrates
    assert ("Work step by step" in request.text) == reasons
    assert ("no explanation" in request.text) != reasons
    suffix = "" if setting == "plain" else f"-{setting}"
    assert run.description["prompt_version"] == f"table-v1{suffix}"
    assert f"prompt table-v1{suffix})" in request.text


@pytest.mark.parametrize(
    "options, error, problem",
    [
        ({"setting": "no_theach"}, InputError, "did you mean 'no_teach'"),
        ({"setting": "all", "prompt": "{query}"}, InputError, "leave it out with prompt="),
        ({"domains": ["legall"]}, InputError, "did you mean 'legal'"),
        ({"prompt": "Build."}, InputError, "it lacks {query}"),
        ({"prompt": "{query} {text}"}, InputError, "{text} is unknown"),
        ({"prompt": " "}, InputError, "expected a text"),
        ({"retriever": 3}, InputError, "retriever is int"),
        ({"retriever": "bm52"}, InputError, "did you mean 'bm25'"),
        ({"tables": ["retailer"]}, DatasetError, "did you mean 'retailer_results'"),
        ({"tables": []}, InputError, "at least one id"),
        ({"model": "nothing"}, InputError, "nothing"),
    ],
)
def test_refused(
    start: Start, server: LLMServer, options: dict[str, Any], error: type, problem: str
) -> None:
    with pytest.raises(error, match=problem):
        start(**options)
    assert not server.requests


# --- ratings ------------------------------------------------------------------------------------


@pytest.fixture
def judge(server: LLMServer, tmp_path: Path) -> LLMJudge:
    options = {"api_base": server.url, "retry_wait": 0.0, "max_attempts": 1, "timeout": PATIENCE}
    return LLMJudge(LLM("openai/test-model", cache=tmp_path / "answers", **options))


SCORES = json.dumps({"mark_code": MARK, "intent": 85, "columns": 80, "content": 75, "format": 80})


@pytest.mark.parametrize("reply", [SCORES, f"```json\n{SCORES}\n```"])
def test_ratings(server: LLMServer, judge: LLMJudge, reply: str, tmp_path: Path) -> None:
    server.respond = lambda _: reply
    plain = evaluate_tables("sample", progress=False)
    rated = evaluate_tables("sample", quality=judge, progress=False)
    assert len(server.requests) == 9
    assert rated.summary["quality"].tolist() == [79.5] * 9
    assert rated.summary["quality_columns"].tolist() == [80] * 9
    assert rated.by_run["quality"].tolist() == [79.5] * 3
    calls = rated.judge_calls
    assert set(calls["metric"]) == {"table_quality"}
    assert rated.summary["llm_calls"].sum() == len(calls) == 9
    for name in plain.summary.columns:  # no other score moves
        if name not in ("llm_calls", "llm_cost_usd"):
            assert rated.summary[name].equals(plain.summary[name]), name
    assert "quality" not in plain.summary.columns
    files = rated.write_aoe(tmp_path / "aoe")
    written = json.loads((files / "quill-large/retailer_results.json").read_text())
    assert written["one_piece"] == {"score1": 85, "score2": 80, "score3": 75, "score4": 80}
    again = evaluate_tables("sample", quality=judge, progress=False)
    assert len(server.requests) == 9
    assert again.judge_calls["cached"].all()


def test_a_model_judges_the_cells(server: LLMServer, judge: LLMJudge) -> None:
    server.respond = lambda _: answer(0.0)
    found = evaluate_tables("sample", judge=judge, progress=False)
    assert len(server.requests) == len(found.judge_calls) > 0
    assert found.by_run["llm_calls"].sum() == len(found.judge_calls)
    server.respond = lambda _: failure(500, "down")
    down = LLM("openai/test-model", api_base=server.url, cache=False, max_attempts=1)
    lower = evaluate_tables("sample", judge=down, progress=False)
    assert (lower.summary["cell_f1"] <= found.summary["cell_f1"]).all()
    assert lower.by_run["judge_errors"].sum() > 0


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"mark_code": MARK, "intent": 85}),
        SCORES.replace(MARK, "0123456789ab"),
        SCORES.replace("85", "850"),
        "fine",
        failure(500, "down"),
    ],
    ids=["one of four", "no code", "over 100", "no scores", "down"],
)
def test_no_rating(server: LLMServer, judge: LLMJudge, reply: Reply | str) -> None:
    server.respond = lambda _: reply
    rated = evaluate_tables("sample", quality=judge, progress=False)
    assert rated.summary["quality"].isna().all()
    assert rated.summary["problem"].str.contains("test-model").all()
    assert rated.by_run["quality"].isna().all()
    assert rated.judge_calls["error"].notna().all()


# --- a model as judge of columns, rows and cells ---

GOLD = "case,crime,note\nFirst case,bribery,x\nSecond case,theft,y\n"
ANSWER = "```csv\nCase No,crime,note\nFirst case,taking bribes,x\nThe second one,theft,y\n```"


def accept(request: Request) -> Reply:
    """Accept the two renamings, the paraphrase and the key that is described."""
    same = {("case", "Case No"), ("bribery", "taking bribes"), ("Second case", "The second one")}
    texts = tuple(json.loads(request.quoted[name]) for name in ("gold", "predicted"))
    return answer(0.7 if texts in same else 0.0, "as listed")


def test_columns_rows_and_cells_are_asked_about(server: LLMServer, judge: LLMJudge) -> None:
    server.respond = accept
    found = compare(GOLD, ANSWER, keys="case", judge=judge)
    assert found.columns["rule"].tolist() == ["judge", "name", "name"]
    assert found.matches["rule"].tolist() == ["exact", "judge"]
    assert found.summary["cell_f1"] == 1.0
    calls = found.judge_calls
    assert set(calls["field"]) == {"[].column", "[].key", "[].crime"}
    assert found.summary["llm_calls"] == len(calls) == len(server.requests)
    assert calls["passed"].tolist() == (calls["score"] > 0).tolist()
    assert found.cells.loc[0, "reasoning"] == "as listed"
    again = compare(GOLD, ANSWER, keys="case", judge=judge)
    assert len(server.requests) == len(calls)
    assert again.judge_calls["cached"].all()


def test_aoe_asks_about_keys_that_are_a_little_alike(server: LLMServer, judge: LLMJudge) -> None:
    server.respond = accept
    answer_text = ANSWER.replace("Case No", "case")
    found = compare(GOLD, answer_text, keys="case", judge=judge, profile="aoe")
    assert found.matches["rule"].tolist() == ["exact", "judge"]
    assert found.summary["cell_f1"] == pytest.approx((3 + 0.7) / 4)  # partial credit
    assert set(found.judge_calls["field"]) == {"[].key", "[].crime"}


@pytest.mark.parametrize("profile", ["strict", "aoe"])
def test_a_model_that_is_down_never_raises_a_score(
    server: LLMServer, judge: LLMJudge, profile: str
) -> None:
    text = ANSWER.replace("Case No", "case") if profile == "aoe" else ANSWER
    server.respond = lambda _: failure(500, "down")
    down = compare(GOLD, text, keys="case", judge=judge, profile=profile)
    server.respond = accept
    up = compare(GOLD, text, keys="case", judge=judge, profile=profile)
    assert down.summary["cell_f1"] <= up.summary["cell_f1"]
    assert "without a verdict" in down.meta["problem"]
    assert down.judge_calls["error"].notna().any()
