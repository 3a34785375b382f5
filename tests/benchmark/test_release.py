"""The registry of the released dataset, and where a dataset comes from."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from extractbench_nb import load_dataset
from extractbench_nb.runs.dataset import (
    EXTRACTBENCH_VARIABLE,
    missing_files,
    released_files,
)
from extractbench_nb.support.files import file_hash

FOLDER = os.environ.get(EXTRACTBENCH_VARIABLE, "")
needs_dataset = pytest.mark.skipif(
    not FOLDER, reason=f"the published dataset is not here: set {EXTRACTBENCH_VARIABLE}"
)


def test_registry() -> None:
    files = released_files()
    paths = [file.path for file in files]
    assert paths == sorted(set(paths))
    assert [sum(path.endswith(end) for path in paths) for end in (
        "-schema.json", ".gold.json", ".pdf", "LICENSE")] == [5, 35, 35, 1]  # fmt: skip
    assert all(file.source in (file.path, f"dataset/{file.path}") for file in files)
    golds = {path.removesuffix(".gold.json") for path in paths if path.endswith(".gold.json")}
    assert {path.removesuffix(".pdf") for path in paths if path.endswith(".pdf")} == golds
    unknown = [file.path for file in files if file.sha256 is None or file.size is None]
    assert unknown == ["academic/research/pdf+gold/[zhao25] a survey of LLMs.pdf"]
    assert all(re.fullmatch("[0-9a-f]{64}", f.sha256) for f in files if f.sha256)


@needs_dataset
def test_the_published_dataset_is_the_released_one() -> None:
    root = Path(FOLDER)
    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    released = {file.path: file for file in released_files()}
    assert found - {"README.md"} == {path for path, file in released.items() if file.sha256}
    assert all(file_hash(root / f.path) == f.sha256 for f in released.values() if f.sha256)
    assert missing_files(root) == []
    assert all((root / f.path).stat().st_size == f.size for f in released.values() if f.size)


@pytest.mark.parametrize(
    "files, licence",
    [
        ({}, None),
        ({"LICENSE": ""}, None),
        ({"LICENCE": "\n  CC <BY> 4.0 \nmore"}, "CC <BY> 4.0"),
        ({"COPYING": "x" * 1000}, "x" * 200),
    ],
)
def test_anybodys_licence_is_the_first_line_of_its_file(
    tmp_path: Path, files: dict[str, str], licence: str | None
) -> None:
    (tmp_path / "d" / "s").mkdir(parents=True)
    (tmp_path / "d" / "s" / "s-schema.json").write_text("{}")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    dataset = load_dataset(tmp_path)
    assert dataset.licence == licence
    assert ("licence:" in repr(dataset)) is (licence is not None)
    assert "<BY>" not in dataset._repr_html_()
