"""What `extract` sends, keeps and says, against a real server."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import DatasetError
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.runs.extracting import PROMPT_VERSION, plain_schema
from extractbench_nb.runs.folders import REASONS, RUN_OUTPUT_COLUMNS, Run
from tests.extraction.runs.conftest import Extract, asked_about, said_about
from tests.judges.llm.providers import said
from tests.llm_server import CUT, HANG, LLMServer, Reply, Request, failure

ONE = ["cv_marisol_etxeberria"]
FEW = ["cv_marisol_etxeberria", "night bus demand", "[autumn] lantern cup"]
KEY = "marked+key/5f2c9a7d41e8b3"


def only(run: Run) -> Any:
    """Return the one row of a run."""
    assert len(run.outputs) == 1
    return run.outputs.iloc[0]


def test_a_run_keeps_what_was_said_as_it_was_said(
    run: Extract, server: LLMServer, dataset: Dataset
) -> None:
    done = run()
    outputs = done.outputs
    assert sorted(outputs["document"]) == sorted(dataset.listing["document"])
    assert sorted(map(asked_about, server.requests)) == sorted(outputs["document"])
    for row in outputs.itertuples():
        raw, meta = done.read(row.document)
        assert raw == said_about(row.document)
        assert (done.folder / f"{row.document}.raw.txt").read_bytes() == raw.encode()
        assert row.raw_characters == len(raw)
        assert (row.raw, row.meta) == (raw, meta)
        about = dataset.listing.set_index("document").loc[row.document]
        assert (row.domain, row.schema) == (about["domain"], about["schema"])
        assert meta.keys() == {
            *("finish_reason", "prompt_tokens", "completion_tokens", "cost_usd", "error"),
            *("latency_seconds", "input", "attempts", "raw_characters"),
        }
        assert (meta["finish_reason"], meta["prompt_tokens"], meta["error"]) == ("stop", 100, None)
        assert meta["latency_seconds"] >= 0
    assert done.unasked == []
    assert set(outputs["run"]) == {"run"}
    assert outputs["error_reason"].isna().all()
    assert "14 of 14 documents answered" in repr(done)
    assert outputs.dtypes.astype(str).tolist() == [c.dtype for c in RUN_OUTPUT_COLUMNS.columns]


def test_what_the_run_says_of_itself(run: Extract) -> None:
    done = run(FEW, temperature=0.5, max_tokens=77)
    about = json.loads((done.folder / "run.json").read_text())
    assert about == done.description
    assert (about["format"], about["kind"], about["mode"]) == (1, "extraction", "prompt")
    assert (about["model"], about["prompt_version"]) == ("openai/test-model", PROMPT_VERSION)
    assert about["parameters"] == {"temperature": 0.5, "max_tokens": 77, "response_format": None}
    assert about["document_input"] == "text"
    assert about["versions"].keys() >= {"extractbench_nb", "litellm", "python", "pypdfium2"}
    assert about["begun"] <= about["ended"]
    assert about["documents"].keys() == set(FEW)
    hashes = [
        one[name] for one in about["documents"].values() for name in ("pdf_sha256", "schema_sha256")
    ]
    assert {len(one) for one in hashes} == {16}
    assert len(set(hashes)) == len(hashes)
    assert "127.0.0.1" not in json.dumps(about)


def test_the_schema_is_in_the_prompt_or_is_the_format(
    run: Extract, server: LLMServer, dataset: Dataset, tmp_path: Path
) -> None:
    run(ONE)
    run(ONE, mode="structured", folder=tmp_path / "structured")
    prompt, structured = (request.body for request in server.requests)
    raw = dataset.schema("cv")
    assert "evaluation_config" in json.dumps(raw)
    assert "response_format" not in prompt
    form = structured["response_format"]["json_schema"]
    assert (form["strict"], form["name"]) == (False, "extraction")
    assert "evaluation_config" not in json.dumps([prompt, structured])
    written = json.dumps(form["schema"], indent=2, ensure_ascii=False)
    assert written in prompt["messages"][0]["content"]
    assert '"properties"' not in structured["messages"][0]["content"]
    assert (
        form["schema"]["properties"].keys()
        == xb.schema.parse_schema(raw).document["properties"].keys()
    )


def test_a_model_that_takes_files_gets_the_file(
    run: Extract, server: LLMServer, dataset: Dataset
) -> None:
    done = run(ONE, model="openai/gpt-4o")
    content = server.requests[0].body["messages"][0]["content"]
    file, text = content
    head, _, data = file["file"]["file_data"].partition(",")
    assert (file["type"], head) == ("file", "data:application/pdf;base64")
    assert base64.b64decode(data) == dataset.pdf_path(ONE[0]).read_bytes()
    assert file["file"]["filename"] == f"{ONE[0]}.pdf"
    assert "Etxeberria" not in text["text"]
    row = only(done)
    assert row["input"] == done.description["document_input"] == "file"
    assert row["cost_usd"] > 0


@pytest.mark.parametrize(
    "model, asked, sent",
    [
        ("openai/gpt-4o", "auto", "file"),
        ("openai/gpt-4o", "text", "text"),
        ("openai/test-model", "auto", "text"),
        ("openai/test-model", "file", "file"),
    ],
)
def test_file_or_text(run: Extract, server: LLMServer, model: str, asked: str, sent: str) -> None:
    done = run(ONE, model=model, document_input=asked)
    assert only(done)["input"] == sent
    content = server.requests[0].body["messages"][0]["content"]
    assert isinstance(content, str) == (sent == "text")
    assert ("[page 1]" in str(content)) == (sent == "text")


def document_parts(provider: str, body: dict[str, Any]) -> tuple[str, str]:
    """Return the file and the text of a request, as the provider has them."""
    if provider == "anthropic":
        file, text = body["messages"][0]["content"]
        assert file["source"]["media_type"] == "application/pdf"
        return file["source"]["data"], text["text"]
    file, text = body["contents"][0]["parts"]
    assert file["inline_data"]["mime_type"] == "application/pdf"
    return file["inline_data"]["data"], text["text"]


def response_schema(provider: str, body: dict[str, Any]) -> Any:
    """Return the schema of the answer; LiteLLM makes a tool of one that is beyond the provider."""
    if provider == "gemini":
        return body["generationConfig"]["response_json_schema"]
    (tool,) = body.get("tools", [{}])
    return tool["input_schema"] if tool else body["output_format"]["schema"]


@pytest.mark.parametrize(
    "provider, model",
    [
        ("anthropic", "anthropic/claude-sonnet-4-5"),
        ("gemini", "gemini/gemini-2.5-flash"),
    ],
)
def test_files_and_schemas_reach_other_providers(
    *,
    run: Extract,
    server: LLMServer,
    dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    model: str,
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "x" * 20)
    server.respond = lambda _: Reply(body=said(provider, '{"a": 1}'))
    cvs = [one for one in dataset.listing["document"] if one.startswith("cv_")]
    done = run(cvs, model=model, api_base=server.url.removesuffix("/v1"), mode="structured")
    pdfs = {base64.b64encode(dataset.pdf_path(one).read_bytes()).decode() for one in cvs}
    assert {document_parts(provider, request.body)[0] for request in server.requests} == pdfs
    schemas = [response_schema(provider, request.body) for request in server.requests]
    plain = plain_schema(dataset.schema("cv"))
    assert schemas[0]["properties"].keys() == plain["properties"].keys()
    assert schemas == schemas[:1] * 3
    assert (done.outputs["input"] == "file").all()
    assert {done.read(one).raw for one in cvs} == {'{"a": 1}'}


# --- failed calls ------------------------------------------------------------------------------

PAGES, CONTEXT, REJECTED = "page_limit", "context_length", "schema_rejected"
#: HTTP status and message as providers word them, the reason, and whether a later call may succeed.
FAILURES = [
    (400, "A maximum of 100 PDF pages may be provided.", PAGES, False),
    (400, "The document contains 1200 pages which exceeds the limit of 1000.", PAGES, False),
    (400, "This model's maximum context length is 128000 tokens.", CONTEXT, False),
    (400, "prompt is too long: 213462 tokens > 200000 maximum", CONTEXT, False),
    (400, "The input token count (1200000) exceeds the maximum allowed (1048576).", CONTEXT, False),
    (413, "Request exceeds the maximum size", CONTEXT, False),
    (400, "Invalid schema for response_format 'extraction': 'maximum' ...", REJECTED, False),
    (400, "The specified schema produces a constraint that has too many states", REJECTED, False),
    (400, "output_config.format.schema: Schema is too complex for compilation.", REJECTED, False),
    (400, "'response_format' ... is not supported with this model.", "other", False),
    (400, "The response was filtered: content management policy.", "refused", False),
    (400, "Unknown parameter: 'x'.", "other", False),
    (429, "Rate limit reached", "rate_limited", True),
    (500, "Internal error", "server_error", True),
    (529, "Overloaded", "server_error", True),
    (403, "No access", "bad_key", True),
    (404, "The model does not exist", "not_found", True),
    (401, "Incorrect API key provided", "bad_key", True),
]


@pytest.mark.parametrize("status, message, reason, is_passing", FAILURES)
def test_a_failed_call_is_an_output(
    *, run: Extract, server: LLMServer, status: int, message: str, reason: str, is_passing: bool
) -> None:
    server.respond = lambda _: failure(status, message)
    done = run(ONE, max_attempts=2, mode="structured")
    row = only(done)
    assert row["error_reason"] == reason
    assert reason in REASONS
    assert message[:25] in row["error"]
    assert row[["raw_characters", "finish_reason", "raw"]].isna().all()
    assert not list(done.folder.glob("*.raw.txt"))
    tries = 2 if reason in ("rate_limited", "server_error") else 1
    assert len(server.requests) == done.read(ONE[0]).meta["attempts"] == tries
    assert f"1 {reason}" in repr(done)
    server.respond = lambda request: said_about(asked_about(request))
    again = run(ONE, max_attempts=2, mode="structured")
    assert len(server.requests) == tries + is_passing
    assert pd.isna(only(again)["error_reason"]) == is_passing


@pytest.mark.parametrize("reply, reason", [(HANG, "timeout"), (CUT, "connection")])
def test_nobody_answers(run: Extract, server: LLMServer, reply: Reply, reason: str) -> None:
    server.respond = lambda _: reply
    row = only(run(ONE, max_attempts=1, timeout=0.2 if reply is HANG else 900.0))
    assert row["error_reason"] == reason
    assert row["latency_seconds"] >= (0.2 if reply is HANG else 0.0)


def refusal(content: str | None, **message: Any) -> Reply:
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return Reply(body=body)


@pytest.mark.parametrize(
    "reply, raw, reason, finish",
    [
        (Reply(""), "", None, "stop"),
        (Reply(None), None, None, "stop"),
        (Reply(" \n"), " \n", None, "stop"),
        (Reply('{"a": [1, 2', finish_reason="length"), '{"a": [1, 2', None, "length"),
        (Reply("half", finish_reason="content_filter"), "half", "refused", "content_filter"),
        (refusal(None, refusal="I cannot help with that."), None, "refused", "stop"),
        (Reply("I'm sorry, I can't."), "I'm sorry, I can't.", None, "stop"),
    ],
    ids=["empty", "none", "blank", "cut off", "filtered", "refused", "declined in words"],
)
def test_answers_that_are_none(
    *, run: Extract, server: LLMServer, reply: Reply, raw: str | None, reason: Any, finish: str
) -> None:
    server.respond = lambda _: reply
    done = run(ONE)
    found, meta = done.read(ONE[0])
    assert (found, meta["finish_reason"]) == (raw, finish)
    assert (meta["error"] or {}).get("reason") == reason
    if reply.body is not None:
        assert meta["error"]["message"] == "I cannot help with that."
        assert meta["prompt_tokens"] in (None, 0)


# --- limits ------------------------------------------------------------------------------------


MODEL = "openai/gpt-4o"
IN, OUT = 2.5e-6, 1e-5  # US dollars a token, of gpt-4o


def billed(request: Request, completion: int) -> Reply:
    """Answer, and report as many tokens as the prompt has characters by four."""
    said = said_about(asked_about(request))
    return Reply(said, tokens=(len(request.text) // 4, completion))


def test_the_budget_ends_a_run_that_goes_on_later(run: Extract, server: LLMServer) -> None:
    server.respond = lambda request: billed(request, 10)
    options = {"model": MODEL, "document_input": "text", "max_tokens": 10, "max_concurrency": 1}
    first = run(budget_usd=0.06, **options)
    asked = len(first.outputs)
    assert 1 < asked == len(server.requests) < 13
    assert first.outputs["cost_usd"].sum() <= 0.06
    assert first.stopped is not None
    assert f"{14 - asked} not asked: budget" in repr(first)
    assert not {*first.unasked} & {*first.outputs["document"]}
    assert first.outputs["error_reason"].isna().all()
    again = run(**options)
    assert again.unasked == []
    assert len({asked_about(request) for request in server.requests}) == len(server.requests) == 14
    assert again.stopped is None


@pytest.mark.parametrize("at_once", [1, 4, 14])
@pytest.mark.parametrize("budget", [0.005, 0.05, 0.2])
def test_a_budget_is_never_exceeded(
    run: Extract, server: LLMServer, at_once: int, budget: float
) -> None:
    """Cheap answers come first, then ones of the maximum length."""
    server.latency = 0.02

    def respond(request: Request) -> Reply:
        return billed(request, 5 if len(server.requests) < 6 else 500)

    server.respond = respond
    done = run(
        model=MODEL,
        budget_usd=budget,
        max_concurrency=at_once,
        max_tokens=500,
        document_input="text",
    )
    assert done.outputs["cost_usd"].sum() <= budget
    assert (len(server.requests) == 0) == (budget == 0.005)
    assert len(done.outputs) == len(server.requests)


def test_a_refused_key_is_tried_once(run: Extract, server: LLMServer) -> None:
    server.respond = lambda _: failure(401, "Incorrect API key provided")
    first = run(max_concurrency=1)
    assert len(server.requests) == 1
    assert "13 not asked: bad_key" in repr(first)
    server.respond = lambda request: said_about(asked_about(request))
    assert run().outputs["error_reason"].isna().all()


# --- taking up ---------------------------------------------------------------------------------


def test_nothing_is_asked_twice(run: Extract, server: LLMServer) -> None:
    run(FEW[:2])
    run(FEW, timeout=900, max_concurrency=1, max_attempts=1)  # how it is reached may change
    run()
    again = run(api_base=None)  # a finished run needs no key
    assert sorted(map(asked_about, server.requests)) == sorted(again.outputs["document"])


def test_a_document_whose_text_was_removed_is_asked_about_again(
    run: Extract, server: LLMServer
) -> None:
    server.script(Reply(None), Reply(""), Reply("text"))
    done = run(FEW, max_concurrency=1)
    texts = {path: path.read_bytes() for path in done.folder.glob("*.raw.txt")}
    assert len(texts) == 2
    for path in texts:
        path.unlink()
    server.requests.clear()
    assert run(FEW).unasked == []
    assert {f"{asked_about(r)}.raw.txt" for r in server.requests} == {p.name for p in texts}
    assert len(server.requests) == 2
    run(FEW)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "change, word",
    [
        ({"model": "openai/other-model"}, "model"),
        ({"mode": "structured"}, "mode"),
        ({"prompt": "{schema}"}, "prompt_version"),
        ({"temperature": 0.5}, "parameters"),
        ({"max_tokens": 5}, "parameters"),
        ({"document_input": "file"}, "document_input"),
        ({"resume": False}, "resume"),
    ],
    ids=str,
)
def test_another_run_is_refused(
    run: Extract, server: LLMServer, change: dict[str, Any], word: str
) -> None:
    done = run(ONE)
    before = {path.name: path.read_bytes() for path in done.folder.iterdir()}
    with pytest.raises(xb.InputError, match=word):
        run(**change)
    assert len(server.requests) == 1
    assert {path.name: path.read_bytes() for path in done.folder.iterdir()} == before


def test_what_cannot_be_written_ends_the_run_and_loses_nothing(
    run: Extract, server: LLMServer
) -> None:
    done = run()
    files = {one: done.folder / f"{one}.meta.json" for one in sorted(done.outputs["document"])}
    first, second = list(files)[:2]
    for one in (first, second):
        files[one].unlink()
    files[first].mkdir()
    server.forget()
    with pytest.raises(xb.OutputError, match="cannot be written"):
        run(max_concurrency=1)
    assert [path.name for path in done.folder.glob(".*")] == [".lock"]
    files[first].rmdir()
    again = run()
    assert again.unasked == []
    assert Counter(map(asked_about, server.requests)) == {first: 2, second: 1}


# --- bad input ---------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "mode": ({"mode": "structure"}, "did you mean 'structured'"),
    "input": ({"document_input": "pdf"}, "expected one of auto, file, text"),
    "provider": ({"model": "opnai/gpt"}, "did you mean 'openai'"),
    "key": ({"model": "openai/gpt-4o", "api_base": None}, "OPENAI_API_KEY.*api_base="),
    "price": ({"budget_usd": 1.0}, "no price"),
    "temperature": ({"temperature": "hot"}, "temperature is 'hot'"),
    "tokens": ({"max_tokens": 0}, "max_tokens is 0"),
    "no schema": ({"prompt": "Read {document}"}, "lacks {schema}"),
    "placeholder": ({"prompt": "{schemas}"}, "did you mean 'schema'"),
    "brace": ({"prompt": '{schema} {"a": 1}'}, "prompt: "),
    "empty prompt": ({"prompt": " "}, "expected a text"),
    "no response format": (
        {"model": "petals/petals-team/StableBeluga2", "mode": "structured"},
        "use mode='prompt'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_one_error_before_any_work(
    run: Extract, server: LLMServer, tmp_path: Path, name: str
) -> None:
    options, message = BAD[name]
    with pytest.raises(xb.InputError, match=message):
        run(ONE, **options)
    assert not server.requests
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "documents, options, error, message",
    [
        (["cv_marisol"], {}, DatasetError, "did you mean 'cv_marisol_etxeberria'"),
        ([], {}, xb.InputError, "documents is empty"),
        (
            "cv_marisol_etxeberria",
            {},
            xb.InputError,
            "expected a Dataset, which load_dataset",
        ),
        ([3], {}, DatasetError, "no document 3"),
        (3, {}, xb.InputError, "expected a Dataset, which load_dataset"),
        (
            pd.DataFrame({"document": ONE}),
            {},
            xb.InputError,
            "expected a Dataset, which load_dataset",
        ),
        ("sample", {"dataset": None}, xb.InputError, "which load_dataset reads from a folder"),
        (ONE, {"dataset": None}, xb.InputError, "expected a Dataset, which load_dataset"),
        (ONE, {"folder": None}, xb.InputError, "folder is None; expected the path of a run's"),
    ],
)
def test_bad_documents(
    *, run: Extract, server: LLMServer, documents: Any, options: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        run(documents, **options)
    assert not server.requests


@pytest.fixture
def broken(tmp_path: Path) -> Dataset:
    """Make a dataset with a good PDF, one that is none, one without text and one that is absent."""
    import pypdfium2

    folder = tmp_path / "data" / "a" / "bill"
    (folder / "pdf+gold").mkdir(parents=True)
    (folder / "bill-schema.json").write_text('{"type": "object", "properties": {}}')
    for name in ("absent", "blank", "none"):
        (folder / "pdf+gold" / f"{name}.gold.json").write_text("{}")
    (folder / "pdf+gold" / "none.pdf").write_text("<html>not found</html>")
    pdf = pypdfium2.PdfDocument.new()
    pdf.new_page(100, 100)
    pdf.save(folder / "pdf+gold" / "blank.pdf")
    pdf.close()
    return xb.load_dataset(tmp_path / "data")


@pytest.mark.parametrize("sent", ["file", "text"])
@pytest.mark.parametrize(
    "document, message", [("none", "none.pdf.*cannot be read"), ("absent", "has no PDF")]
)
def test_a_pdf_that_is_none(
    *, run: Extract, server: LLMServer, broken: Dataset, sent: str, document: str, message: str
) -> None:
    with pytest.raises(xb.ExtractBenchError, match=message):
        run([document], dataset=broken, document_input=sent)
    assert not server.requests


def test_a_pdf_without_text_goes_as_a_file_only(
    run: Extract, server: LLMServer, broken: Dataset
) -> None:
    with pytest.raises(xb.InputError, match="no text in the PDF of 'blank'"):
        run(["blank"], dataset=broken)
    assert only(run(["blank"], dataset=broken, document_input="file"))["input"] == "file"


@pytest.fixture
def bills(tmp_path: Path) -> Dataset:
    """Make a dataset of two schemas, each with two documents."""
    import pypdfium2

    for schema in ("bill", "note"):
        folder = tmp_path / "data" / "a" / schema
        (folder / "pdf+gold").mkdir(parents=True)
        (folder / f"{schema}-schema.json").write_text('{"type": "object", "properties": {}}')
        for number in (1, 2):
            (folder / "pdf+gold" / f"{schema}{number}.gold.json").write_text("{}")
            pdf = pypdfium2.PdfDocument.new()
            pdf.new_page(100, 100 + number)
            pdf.save(folder / "pdf+gold" / f"{schema}{number}.pdf")
            pdf.close()
    return xb.load_dataset(tmp_path / "data")


def change_schema(folder: Path) -> None:
    text = '{"type": "object", "properties": {"total": {"type": "number"}}}'
    (folder / "bill-schema.json").write_text(text)


def change_pdf(folder: Path) -> None:
    path = folder / "pdf+gold" / "bill1.pdf"
    path.write_bytes(path.read_bytes() + b"\n% changed\n")


@pytest.mark.parametrize(
    "change, asked, message",
    [
        (change_schema, ["bill1"], "the schema of 'bill1' was different .schema_sha256 was"),
        (change_schema, ["bill2"], "the schema of 'bill2' was different"),
        (change_schema, ["note1", "bill2"], "the schema of 'bill2' was different"),
        (change_schema, ["note1"], None),
        (change_pdf, ["bill1"], "the PDF of 'bill1' was different .pdf_sha256 was"),
        (change_pdf, ["bill2"], None),
    ],
)
def test_no_run_has_two_schemas_or_two_pdfs(
    *,
    run: Extract,
    server: LLMServer,
    bills: Dataset,
    change: Any,
    asked: list[str],
    message: str | None,
) -> None:
    done = run(["bill1"], dataset=bills, document_input="file")
    before = {path.name: path.read_bytes() for path in done.folder.iterdir()}
    change(bills.root / "a" / "bill")
    again = xb.load_dataset(bills.root)
    if message is None:
        run(asked, dataset=again, document_input="file")
        assert len(server.requests) == 2
        return
    with pytest.raises(xb.InputError, match=message + ".*use another folder"):
        run(asked, dataset=again, document_input="file")
    assert len(server.requests) == 1
    assert {path.name: path.read_bytes() for path in done.folder.iterdir()} == before


# --- what must not be there --------------------------------------------------------------------


def echo(request: Request) -> Reply:
    sent = f"{dict(request.headers)} Bearer {KEY}"
    about = asked_about(request)
    if about == FEW[0]:
        return Reply(f'{{"key": "{sent}"}}')
    if about == FEW[1]:
        return failure(400, f"Bad request with {sent}")
    return refusal(None, refusal=f"I cannot: {sent}")


def test_no_key_is_in_the_folder(
    run: Extract,
    server: LLMServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.respond = echo
    done = run(FEW)
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    shown = [path.read_text() for path in done.folder.glob("[!.]*")]
    shown += [repr(done), done._repr_html_(), done.outputs.to_csv(), repr(capfd.readouterr())]
    assert len(shown) == 5 + 4
    assert not [text for text in shown if "5f2c9a7d41e8b3" in text]
    assert sum("[hidden]" in text for text in shown[:5]) == 3
