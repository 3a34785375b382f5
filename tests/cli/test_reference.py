"""The page of the command line: every command is on it, and every example prints what it shows."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
from markdown_it import MarkdownIt

from extractbench_nb.cli.commands import commands
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/cli.md"


def examples() -> list[tuple[str, str]]:
    """Each console block with the text block below it."""
    fences = [
        (token.info.strip(), token.content)
        for token in MarkdownIt().parse(PAGE.read_text(encoding="utf-8"))
        if token.type == "fence"
    ]
    shown = [
        (code, below)
        for (kind, code), (kind_below, below) in pairwise(fences)
        if (kind, kind_below) == ("console", "text")
    ]
    assert len(shown) == sum(kind == "console" for kind, _ in fences)
    return shown


def names(group: click.Group, *words: str) -> Iterator[str]:
    for name, command in group.commands.items():
        yield " ".join([*words, name])
        if isinstance(command, click.Group):
            yield from names(command, *words, name)


def test_every_command_is_on_the_page_with_an_example() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = list(names(commands))
    assert re.findall(r"^##+ ([a-z ]+)$", text, flags=re.MULTILINE) == listed
    assert re.findall(r"\{cli-command\} ([a-z ]+)", text) == listed
    code = "".join(code for code, _ in examples())
    assert [
        name for name in listed if f"extractbench-nb {name} " not in code.replace("\n", " ")
    ] == []


def test_every_example_prints_what_it_shows(tmp_path: Path) -> None:
    for name in ("dataset", "notebooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    bin_folder = str(Path(sys.executable).parent)
    environment = {k: v for k, v in os.environ.items() if k != "EXTRACTBENCH_DATASET"}
    environment["PATH"] = os.pathsep.join([bin_folder, environment["PATH"]])
    for code, expected in examples():
        done = subprocess.run(
            ["bash", "-c", code],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        is_shown = doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS)
        assert is_shown, f"{code}\n{done.stdout}"
