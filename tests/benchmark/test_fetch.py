"""Downloading the released dataset, against a server on this machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import pytest

from extractbench_nb import OutputError, load_dataset
from extractbench_nb.errors import DatasetError
from extractbench_nb.runs import dataset as release
from extractbench_nb.runs.dataset import EXTRACTBENCH_VARIABLE, ReleasedFile, fetch_dataset
from extractbench_nb.support.files import CACHE_VARIABLE
from tests.waiting import PATIENCE

GOLD = "law/lease/pdf+gold/[a24] one & two.gold.json"
PDF = "law/lease/pdf+gold/[a24] one & two.pdf"
UNVERIFIED = "law/lease/pdf+gold/beta.pdf"
CONTENT = {
    "LICENSE": b"MIT License\n",
    "law/lease/lease-schema.json": b'{"type": "object"}',
    GOLD: json.dumps({"rent": "x" * 300_000}).encode(),
    "law/lease/pdf+gold/beta.gold.json": b'{"rent": null}',
    PDF: b"%PDF-1.4 one",
    UNVERIFIED: b"%PDF-1.4 two",
}


def released(path: str) -> ReleasedFile:
    source = path if path == "LICENSE" else f"dataset/{path}"
    if path == UNVERIFIED:
        return ReleasedFile(path, source, None, None)
    content = CONTENT[path]
    return ReleasedFile(path, source, len(content), hashlib.sha256(content).hexdigest())


Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def whole(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def cut(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """Promise the whole file, send half of it and hang up."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])


def status(code: int) -> Answer:
    return lambda handler, _: handler.send_error(code)


def instead(other: bytes) -> Answer:
    return lambda handler, _: whole(handler, other)


class Source:
    """A server of the released files: `answers` has how to answer, `asked` what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        source = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path.removeprefix("/mirror/")).removeprefix("dataset/")
                source.asked.append(path)
                source.answers.get(path, whole)(self, CONTENT[path])

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/mirror"


@pytest.fixture
def source() -> Iterator[Source]:
    source = Source()
    thread = Thread(target=source.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield source
    source.server.shutdown()
    thread.join(PATIENCE)
    source.server.server_close()


@pytest.fixture(autouse=True)
def small_release(monkeypatch: pytest.MonkeyPatch) -> None:
    files = tuple(released(path) for path in CONTENT)
    monkeypatch.setattr(release, "released_files", lambda: files)
    monkeypatch.setattr(release, "RETRIES", 0)


def files_in(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_everything_is_fetched_once(source: Source, tmp_path: Path) -> None:
    dataset = fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    assert sorted(source.asked) == sorted(CONTENT)
    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == CONTENT
    assert dataset.name == "extractbench"
    assert dataset.listing["has_pdf"].tolist() == [True, True]
    fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    assert len(source.asked) == len(CONTENT)


FAILURES = [
    (GOLD, instead(b"{}"), "the downloaded file is not the released file"),
    (GOLD, instead(b""), "the downloaded file is not the released file"),
    (GOLD, cut, "the connection failed"),
    (GOLD, status(404), "the server answered 404 Not Found"),
    (GOLD, status(503), "the server answered 503 Service Unavailable"),
    (UNVERIFIED, cut, "the connection failed"),
    (UNVERIFIED, status(500), "the server answered 500 Internal Server Error"),
    (UNVERIFIED, instead(b"<html>log in</html>"), "the downloaded file is not a PDF"),
]


@pytest.mark.parametrize("path, answer, problem", FAILURES)
def test_a_failure_leaves_nothing_half_written(
    source: Source, tmp_path: Path, path: str, answer: Answer, problem: str
) -> None:
    source.answers[path] = answer
    with pytest.raises(DatasetError) as caught:
        fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    message = str(caught.value)
    assert problem in message
    assert source.url in message
    assert EXTRACTBENCH_VARIABLE in message
    assert "\n" not in message
    left = files_in(tmp_path)
    assert path not in left
    assert all((tmp_path / name).read_bytes() == CONTENT[name] for name in left)

    source.answers.clear()
    source.asked.clear()
    fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    assert set(source.asked) == CONTENT.keys() - left
    assert files_in(tmp_path) == CONTENT.keys()


def test_a_cut_connection_is_tried_again(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        source.answers.clear()
        cut(handler, content)

    source.answers[GOLD] = once
    monkeypatch.setattr(release, "RETRIES", 1)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    assert source.asked.count(GOLD) == 2
    assert (tmp_path / GOLD).read_bytes() == CONTENT[GOLD]


def test_an_unverified_file_may_be_absent(source: Source, tmp_path: Path) -> None:
    source.answers[UNVERIFIED] = status(404)
    with pytest.warns(UserWarning, match=r"beta\.pdf does not exist; .* without its PDF") as caught:
        dataset = fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    assert caught[0].filename == __file__
    assert dataset.listing["has_pdf"].tolist() == [True, False]


def test_offline(tmp_path: Path) -> None:
    gone = Source()
    gone.server.server_close()
    with pytest.raises(DatasetError, match=r"the connection failed \(.*\); to get the"):
        fetch_dataset(path=tmp_path, base_url=gone.url, progress=False)
    assert files_in(tmp_path) == set()


def test_the_cache_is_found_without_a_path(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(EXTRACTBENCH_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with pytest.raises(DatasetError, match=r"fetch_dataset\('extractbench'\) downloads it"):
        load_dataset("extractbench")
    fetched = fetch_dataset(base_url=source.url, progress=False)
    assert load_dataset("extractbench").root == fetched.root
    assert fetched.root.parent == tmp_path
    (fetched.root / GOLD).unlink()
    with pytest.raises(DatasetError, match=r"incomplete, 1 files are missing .*one & two\.gold"):
        load_dataset("extractbench")


def test_a_spoilt_file_in_the_cache_is_replaced(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    root = fetch_dataset(base_url=source.url, progress=False).root
    source.asked.clear()
    (root / GOLD).write_bytes(b"spoilt")
    fetch_dataset(base_url=source.url, progress=False)
    assert source.asked == [GOLD]
    assert (root / GOLD).read_bytes() == CONTENT[GOLD]


def test_a_file_of_the_users_is_not_replaced(source: Source, tmp_path: Path) -> None:
    (tmp_path / GOLD).parent.mkdir(parents=True)
    (tmp_path / GOLD).write_bytes(b"mine")
    with pytest.raises(DatasetError, match=r"one & two\.gold\.json' differ from the released"):
        fetch_dataset(path=tmp_path, base_url=source.url, progress=False)
    assert source.asked == []
    assert (tmp_path / GOLD).read_bytes() == b"mine"


@pytest.mark.parametrize("progress, shown", [(True, "fetch: 100%"), (False, "")])
def test_progress_is_all_that_is_shown(
    source: Source,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    progress: bool,
    shown: str,
) -> None:
    fetch_dataset(path=tmp_path, base_url=source.url, progress=progress)
    fetch_dataset(path=tmp_path, base_url=source.url, progress=progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert shown in err
    assert "Downloading" not in err
    assert bool(err) is progress
    assert err.count("\n") == progress


@pytest.mark.parametrize(
    "name, message",
    [
        ("sample", r"comes with this package: load_dataset\('sample'\)"),
        ("extract-bench", "no dataset 'extract-bench' to fetch; did you mean 'extractbench'"),
    ],
)
def test_bad_arguments(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=message):
        fetch_dataset(name, path=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        fetch_dataset(path=tmp_path / "file" / "data", progress=False)
