"""The folder of a run: every character kept, nothing half-written, bad ones told apart."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.runs.folders import Run, check_names, describe_run

META: dict[str, Any] = {"finish_reason": "stop", "error": None}


@pytest.fixture
def folder(tmp_path: Path) -> Run:
    run = Run(tmp_path / "a" / "run")
    run._begin(describe_run("extraction", "quill"))
    return run


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(st.characters(codec="utf-8")))
def test_every_character_is_kept(folder: Run, text: str) -> None:
    folder._write("one", text, META)
    assert folder.read("one") == (text, META)
    assert (folder.folder / "one.raw.txt").read_bytes() == text.encode()


def test_no_text_and_empty_text_are_two_things(folder: Run) -> None:
    folder._write("none", None, META)
    folder._write("empty", "", META)
    assert folder.read("none").raw is None
    assert folder.read("empty").raw == ""
    assert folder.documents == ["empty", "none"]
    assert sorted(path.name for path in folder.folder.iterdir()) == [
        *("empty.meta.json", "empty.raw.txt", "none.meta.json", "run.json")
    ]


def test_a_new_output_takes_the_place_of_the_old_one(folder: Run) -> None:
    folder._write("one", "old", META)
    folder._write("one", None, META | {"finish_reason": None})
    assert folder.read("one") == (None, META | {"finish_reason": None})
    folder._write("one", "new", META)
    assert folder.read("one") == ("new", META)


@pytest.mark.parametrize(
    "document",
    [
        *("a/b", "a\\b", "", ".hidden", "../up", "a\0b", "\ud800"),
        *("a" * 246, "\u5bb6" * 82, "\U0001f600" * 62),
    ],
)
def test_names_that_are_no_file_are_refused_before_anything_is_asked(
    folder: Run, document: str
) -> None:
    for act in (
        lambda: folder._write(document, "", META),
        lambda: folder._is_open(document),
        lambda: check_names(["fine", document]),
    ):
        with pytest.raises(InputError, match="part of a file name"):
            act()


@pytest.mark.parametrize("step", range(4))
def test_where_writing_stops_nothing_is_half_written(
    folder: Run, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Fail at each of the four points at which two files are finished and take their names."""
    folder._write("old", "old", META)
    before = {path.name: path.read_bytes() for path in folder.folder.iterdir()}
    calls = {"count": 0}
    fsync, replace = os.fsync, Path.replace

    def counted() -> None:
        calls["count"] += 1
        if calls["count"] > step:
            raise OSError(28, "No space left on device")

    def failing_fsync(handle: int) -> None:
        counted()
        fsync(handle)

    def failing_replace(self: Path, target: Path) -> Path:
        counted()
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", failing_fsync)
    monkeypatch.setattr(Path, "replace", failing_replace)
    with pytest.raises(OutputError, match="No space left"):
        folder._write("new", "text", META)
    monkeypatch.undo()
    assert folder._is_open("new")
    assert before.items() <= {p.name: p.read_bytes() for p in folder.folder.iterdir()}.items()
    folder._write("new", "text", META)
    assert folder.read("new").raw == "text"


def test_one_at_a_time(folder: Run) -> None:
    left = folder.folder / ".xb-abc.part"
    left.write_text("left by a killed process")
    assert folder.documents == []
    with folder._alone():
        other = Run.open(folder.folder)
        with pytest.raises(InputError, match="being written by another"), other._alone():
            pytest.fail("two at once")
        folder._write("one", "text", META)
    assert sorted(path.name for path in folder.folder.iterdir()) == [
        *(".lock", "one.meta.json", "one.raw.txt", "run.json")
    ]
    with other._alone():
        assert other.documents == ["one"]


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "no run in"),
        ("{", "is not JSON"),
        ("[]", "does not describe a run"),
        ('{"format": "1"}', "does not describe a run"),
        ('{"format": 2, "kind": "odd"}', r"newer version of this package \(format 2"),
        ('{"format": 1, "kind": "odd", "model": "x"}', "kind, 'odd' is not one of"),
        ('{"format": 1, "kind": "extraction"}', "'model' is a required property"),
        *(
            (f'{{"format": 1, "kind": "extraction", "model": "x", "documents": {odd}}}', r"\$\.doc")
            for odd in ("[]", "null", "3", '{"a": 3}', '{"a": null}', '{"a": {"domain": 3}}')
        ),
    ],
)
def test_folders_that_are_no_run(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=message):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("one.meta.json", b"{", "is not JSON"),
        ("one.meta.json", b"[]", r"at \$, \[\] is not of type 'object'"),
        ("one.meta.json", b'{"error": "timeout"}', r"at \$\.error, 'timeout' is not of type"),
        *(
            ("one.meta.json", f'{{"{name}": {value}}}'.encode(), rf"at \$\.{name}, .* is ")
            for name, values in (
                ("finish_reason", ("3", "[]", "{}", "true")),
                ("input", ("3", "[]", "{}", "true")),
                ("prompt_tokens", ("1" + "0" * 30, "-1", "1.5", '"3"', "true")),
                ("completion_tokens", ("1e30", "[]", str(2**63), "NaN")),
                ("cost_usd", ("Infinity", "-1", '"free"', "true")),
                ("latency_seconds", ("-Infinity", "[1]", "1" + "0" * 30)),
            )
            for value in values
        ),
        ("one.meta.json", b'{"error": {"reason": 3}}', r"at \$\.error\.reason, 3 is not of type"),
        ("one.meta.json", b'{"error": {"message": []}}', r"at \$\.error\.message"),
        ("one.meta.json", b"[" * 100_000, "is not JSON"),
        ("one.meta.json", b'{"a": ' + b"1" * 5_000 + b"}", "is not JSON"),
        ("one.raw.txt", b"\xff", "is not UTF-8"),
    ],
)
def test_broken_files(folder: Run, name: str, data: bytes, message: str) -> None:
    folder._write("one", "text", META)
    (folder.folder / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        folder.read("one")
    with pytest.raises(InputError, match=message):
        _ = folder.outputs


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["one.raw.txt", "one.meta.json", "run.json"])
@pytest.mark.parametrize("put", [os.mkfifo, lambda path: Path(path).symlink_to("/dev/zero")])
def test_only_ordinary_files_are_read(folder: Run, name: str, put: Any) -> None:
    folder._write("one", "text", META)
    (folder.folder / name).unlink()
    put(folder.folder / name)
    with pytest.raises(InputError, match=r"is not read|no output for|no run in"):
        Run.open(folder.folder).read("one")


def test_a_folder_that_is_taken(folder: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a run"):
        folder._begin(describe_run("extraction", "x"))
    (tmp_path / "x.meta.json").write_text("{}")
    with pytest.raises(InputError, match="without a run"):
        Run(tmp_path)._begin(describe_run("extraction", "x"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        Run(tmp_path / "file")._begin(describe_run("extraction", "x"))
