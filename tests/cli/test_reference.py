"""The page of the command line: it has every option, and every example prints what it shows."""

import doctest
import os
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import click
import pytest
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


def test_the_reference_has_every_command_and_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    pages = import_module("cli_pages")
    assert "{cli-commands}" in PAGE.read_text(encoding="utf-8")
    for words in pages.all_commands():
        command, _ = pages.find_command(words)
        text = "\n".join(pages.reference(words))
        assert " ".join(words) in text
        for option in command.params:
            if isinstance(option, click.Option):
                assert f"`{option.opts[0]}`" in text, (words, option.name)
    assert len([*pages.all_commands()]) > len(commands.commands)


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
