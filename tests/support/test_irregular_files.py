"""Paths of users that are no regular files are refused at once, with one error."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb import InputError, evaluate, evaluate_runs
from extractbench_nb.gold import corrections
from extractbench_nb.pdf import find_evidence, render_page

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
DOCUMENT = {"a": "x"}


def _batch(**cells: Any) -> Any:
    row = {"run": "r", "document": "d", "schema": SCHEMA, "gold": DOCUMENT, "predicted": DOCUMENT}
    return evaluate_runs(pd.DataFrame([row | cells]), progress=False)


READING: dict[str, Callable[[Path], object]] = {
    "predicted": lambda path: evaluate(SCHEMA, DOCUMENT, path),
    "gold": lambda path: evaluate(SCHEMA, path, DOCUMENT),
    "schema": lambda path: evaluate(path, DOCUMENT, DOCUMENT),
    "predicted of a batch": lambda path: _batch(predicted=path),
    "gold of a batch": lambda path: _batch(gold=path),
    "schema of a batch": lambda path: _batch(schema=path),
    "search": lambda path: find_evidence(None, path, "x"),
    "page": lambda path: render_page(None, path, 1),
}


def irregular(kind: str, folder: Path) -> Path:
    if kind == "folder":
        return folder
    if kind == "device":
        return Path("/dev/zero")
    os.mkfifo(folder / "pipe.json")
    return folder / "pipe.json"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and devices")
@pytest.mark.parametrize("kind", ["folder", "device", "pipe"])
@pytest.mark.parametrize("name", READING)
def test_what_is_no_regular_file_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    with pytest.raises(InputError, match="cannot be read: it is not a regular file"):
        READING[name](irregular(kind, tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links")
def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text('{"a": "x"}')
    (tmp_path / "link.json").symlink_to("real.json")
    assert evaluate(SCHEMA, tmp_path / "link.json", DOCUMENT).fields["passed"].all()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize(
    "read",
    [lambda path: evaluate(SCHEMA, DOCUMENT, DOCUMENT, accepted=path), corrections],
    ids=["accepted", "corrections"],
)
def test_tables_of_users_are_regular_files(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="it is not a regular file"):
        read(tmp_path / "pipe.csv")
