"""The folder of a run: every character kept, nothing half-written, bad ones told apart."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.runs.folders import Run, RunFolder, check_names, describe_run
from extractbench_nb.support import files as _files
from tests.waiting import PATIENCE

META: dict[str, Any] = {"finish_reason": "stop", "error": None}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "a" / "run", describe_run("extraction", "quill"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(st.characters(codec="utf-8")))
def test_every_character_is_kept(folder: RunFolder, text: str) -> None:
    folder.write("one", text, META)
    assert folder.read("one") == (text, META)
    assert (folder.path / "one.raw.txt").read_bytes() == text.encode()


def test_a_lone_surrogate_is_kept_as_its_escape(folder: RunFolder) -> None:
    folder.write("one", "a\ud800b", META)
    assert folder.read("one").raw == "a\\ud800b"


def test_no_text_and_empty_text_are_two_things(folder: RunFolder) -> None:
    folder.write("none", None, META)
    folder.write("empty", "", META)
    assert folder.read("none").raw is None
    assert folder.read("empty").raw == ""
    assert folder.documents == ["empty", "none"]
    assert sorted(path.name for path in folder.path.iterdir()) == [
        *("empty.meta.json", "empty.raw.txt", "none.meta.json", "run.json")
    ]


def test_a_new_output_takes_the_place_of_the_old_one(folder: RunFolder) -> None:
    folder.write("one", "old", META)
    folder.write("one", None, META | {"finish_reason": None})
    assert folder.read("one") == (None, META | {"finish_reason": None})
    folder.write("one", "new", META)
    assert folder.read("one") == ("new", META)


@pytest.mark.parametrize(
    "document",
    [
        *("a/b", "a\\b", "", ".hidden", "../up", "a\0b", "\ud800"),
        *("a" * 246, "\u5bb6" * 82, "\U0001f600" * 62),
    ],
)
def test_names_that_are_no_file_are_refused_before_anything_is_asked(
    folder: RunFolder, document: str
) -> None:
    for act in (
        lambda: folder.write(document, "", META),
        lambda: folder.has(document),
        lambda: check_names(folder.path, ["fine", document]),
        lambda: check_names(folder.path / "not" / "yet", [document]),
    ):
        with pytest.raises(InputError, match="part of a file name"):
            act()


@pytest.mark.parametrize("document", ["a" * 245, "\u5bb6" * 80, "\U0001f600" * 61])
def test_names_as_long_as_a_file_may_have(folder: RunFolder, document: str) -> None:
    check_names(folder.path, [document])
    folder.write(document, "text", META)
    assert folder.read(document).raw == "text"
    assert folder.documents == [document]


@pytest.mark.parametrize("step", range(4))
def test_where_writing_stops_nothing_is_half_written(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Fail at each of the four points at which two files are finished and take their names."""
    folder.write("old", "old", META)
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    calls = {"count": 0}
    finish, replace = _files._finish, Path.replace

    def counted() -> None:
        calls["count"] += 1
        if calls["count"] > step:
            raise OSError(28, "No space left on device")

    def failing_finish(path: Path) -> None:
        counted()
        finish(path)

    def failing_replace(self: Path, target: Path) -> Path:
        counted()
        return replace(self, target)

    monkeypatch.setattr(_files, "_finish", failing_finish)
    monkeypatch.setattr(Path, "replace", failing_replace)
    with pytest.raises(OutputError, match="No space left"):
        folder.write("new", "text", META)
    monkeypatch.undo()
    assert not folder.has("new")
    assert before.items() <= {p.name: p.read_bytes() for p in folder.path.iterdir()}.items()
    folder.write("new", "text", META)
    assert folder.read("new").raw == "text"


def test_one_at_a_time(folder: RunFolder) -> None:
    left = folder.path / ".xb-abc.part"
    left.write_text("left by a killed process")
    assert folder.documents == []
    with folder.alone():
        other = RunFolder.open(folder.path)
        with pytest.raises(InputError, match="being written by another"), other.alone():
            pytest.fail("two at once")
        folder.write("one", "text", META)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        *(".lock", "one.meta.json", "one.raw.txt", "run.json")
    ]
    with other.alone():
        assert other.documents == ["one"]
        left.write_text("being written")
        folder.tidy()
        assert left.exists()
    folder.tidy()
    assert not left.exists()


ALONE = """
import os, sys
from pathlib import Path
from extractbench_nb.errors import InputError
from extractbench_nb.runs.folders import RunFolder

folder, held = RunFolder.open(Path(sys.argv[1])), 0
while held < 150:
    try:
        with folder.alone():
            os.close(os.open(sys.argv[2], os.O_CREAT | os.O_EXCL))  # fails where another is at it
            os.unlink(sys.argv[2])
            held += 1
    except InputError as error:
        assert "being written by another" in str(error), error
"""


def test_three_processes_are_never_in_the_folder_at_once(folder: RunFolder, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALONE, str(folder.path), str(tmp_path / "inside")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    errors = [process.communicate(timeout=PATIENCE)[1].decode() for process in running]
    assert errors == ["", "", ""]


def test_a_lock_that_somebody_put_there(folder: RunFolder, tmp_path: Path) -> None:
    """A link is not followed: what it leads to would be emptied."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for place in (victim, tmp_path):
        (folder.path / ".lock").symlink_to(place)
        with pytest.raises(OutputError, match=r"\.lock' cannot be written"), folder.alone():
            pytest.fail("locked")
        (folder.path / ".lock").unlink()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "no run in"),
        ("{", "is not JSON"),
        ("[]", "does not describe a run"),
        ('{"format": "1"}', "does not describe a run"),
        ('{"format": 2, "kind": "odd"}', r"newer version of this package \(format 2"),
        ('{"format": 1, "kind": "odd", "model": "x"}', "kind is 'odd'"),
        ('{"format": 1, "kind": "extraction"}', "model is None"),
        *(
            (f'{{"format": 1, "kind": "extraction", "model": "x", "documents": {documents}}}', odd)
            for documents, odd in dict.fromkeys(
                ("[]", "null", "3", '{"a": 3}', '{"a": null}', '{"a": {"domain": 3}}'),
                "expected documents to be an object",
            ).items()
        ),
    ],
)
def test_folders_that_are_no_run(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=message):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("one.meta.json", b"{", "is not JSON"),
        ("one.meta.json", b"[]", "not hold a JSON object"),
        ("one.meta.json", b'{"error": "timeout"}', "error is 'timeout'; expected an object"),
        *(
            ("one.meta.json", f'{{"{name}": {value}}}'.encode(), f"{name} is .*; expected {fits}")
            for name, fits, values in (
                ("finish_reason", "a text", ("3", "[]", "{}", "true")),
                ("input", "a text", ("3", "[]", "{}", "true")),
                ("prompt_tokens", "a whole number", ("1" + "0" * 30, "-1", "1.5", '"3"', "true")),
                ("completion_tokens", "a whole number", ("1e30", "[]", str(2**63), "NaN")),
                ("cost_usd", "a number", ("NaN", "Infinity", "-1", '"free"', "true", "1" * 400)),
                ("latency_seconds", "a number", ("NaN", "-Infinity", "[1]", "1" + "0" * 30)),
            )
            for value in values
        ),
        ("one.meta.json", b'{"error": {"reason": 3}}', "reason is int 3; expected a text"),
        ("one.meta.json", b'{"error": {"message": []}}', "message is list"),
        ("one.meta.json", b"[" * 100_000, "is not JSON"),
        ("one.meta.json", b'{"a": ' + b"1" * 5_000 + b"}", "is not JSON"),
        ("one.raw.txt", b"\xff", "is not UTF-8"),
    ],
)
def test_broken_files(folder: RunFolder, name: str, data: bytes, message: str) -> None:
    folder.write("one", "text", META)
    (folder.path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        folder.read("one")
    with pytest.raises(InputError, match=message):
        _ = Run(folder.path).outputs


def put_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret of the user's")
    path.symlink_to(tmp_path / "secret")


def put_pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def put_device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


def put_sparse(path: Path, _: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


NAMES = ["one.raw.txt", "one.meta.json", "run.json"]
PUTS = [put_link, put_pipe, put_device, put_sparse]
READ = """
import json, pathlib, sys
from extractbench_nb import InputError
from extractbench_nb.runs.folders import RunFolder
for path in map(pathlib.Path, sys.argv[1:]):
    try:
        print(json.dumps(str(RunFolder.open(path).read("one"))))
    except InputError as error:
        print(json.dumps(str(error)))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """What is said of each folder, by a process of its own: it may hang, or take all memory."""
    folders = {}
    for name, put in itertools.product(NAMES, PUTS):
        place = tmp_path_factory.mktemp("run")
        folder = RunFolder.create(place / "run", describe_run("extraction", "quill"))
        folder.write("one", "text", META)
        (folder.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the file system has no such files
            put(folder.path / name, place)
            folders[name, put.__name__] = str(folder.path)
    command = [sys.executable, "-c", READ, *folders.values()]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, text=True)
    assert done.stderr == ""
    return dict(zip(folders, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("put", PUTS)
def test_only_ordinary_files_are_read(
    told: dict[tuple[str, str], str], name: str, put: Callable[[Path, Path], None]
) -> None:
    if (name, put.__name__) not in told:
        pytest.skip("the file system has no such files")
    message = told[name, put.__name__]
    said = "raw=None|no output for|no run in|is not read|has more than 200,000,000 bytes"
    assert re.search(said, message)
    assert "secret of" not in message


def test_an_output_that_is_not_there(folder: RunFolder) -> None:
    folder.write("report", "", META)
    with pytest.raises(InputError, match="did you mean 'report'"):
        folder.read("reprot")


def test_a_folder_that_is_taken(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a run"):
        RunFolder.create(folder.path, describe_run("extraction", "x"))
    (tmp_path / "x.meta.json").write_text("{}")
    with pytest.raises(InputError, match="without a run"):
        RunFolder.create(tmp_path, describe_run("extraction", "x"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        RunFolder.create(tmp_path / "file", describe_run("extraction", "x"))
    with pytest.raises(InputError, match="did you mean 'extraction'"):
        describe_run("extractions", "x")


def test_a_simulation_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "old", describe_run("simulation", "simulated quill"))
    folder.write("one", "{}", META)
    (folder.path / "simulation.json").write_text("{}")
    run = Run.open(folder.path)
    assert repr(run).startswith("Run of 'simulated quill'\n")
    assert run.outputs[["run", "document", "raw"]].iloc[0].tolist() == ["old", "one", "{}"]


def test_an_empty_run_has_the_columns(folder: RunFolder) -> None:
    outputs = Run.open(folder.path).outputs
    assert len(outputs) == 0
    assert list(outputs.columns[:4]) == ["run", "document", "domain", "schema"]
