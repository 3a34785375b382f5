"""README and documentation: code shows what it says, links and commands exist."""

import ast
import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
#: Pages in which code blocks run.
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
NOT_RUN = re.compile(r"<!-- not run: .+ -->")

#: Runs the blocks as cells of one notebook; prints what stands after ``# ->`` with what is shown.
CELLS = """
import ast, json
space, shown = {"__name__": "__main__"}, []
for block in json.loads(BLOCKS):
    for node in ast.parse(block).body:
        _, is_shown, expected = block.splitlines()[node.end_lineno - 1].partition("# -> ")
        if is_shown:
            value = eval(compile(ast.Expression(node.value), "page", "eval"), space)
            shown.append([expected, str(value)])
        else:
            exec(compile(ast.Module([node], []), "page", "exec"), space)
print("\\n" + json.dumps(shown))
"""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def python_blocks(page: Path) -> list[str]:
    """The Python blocks of a page that run: not those below a comment ``<!-- not run: why -->``."""
    blocks, skip = [], False
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            skip = bool(NOT_RUN.search(token.content))
        elif token.type == "fence":
            if token.info.strip() == "python" and not skip:
                blocks.append(token.content)
            skip = False
    return blocks


def show(blocks: list[str], folder: Path) -> list[tuple[str, str]]:
    """Run the blocks in a process of its own; for each ``# ->``, what is expected and found."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", f"BLOCKS = {json.dumps(blocks)!r}{CELLS}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return [(expected, found) for expected, found in json.loads(done.stdout.splitlines()[-1])]


@pytest.mark.parametrize("page", [p for p in PAGES if python_blocks(p)], ids=name_of)
def test_code_shows_what_it_says(page: Path, tmp_path: Path):
    for expected, found in show(python_blocks(page), tmp_path):
        assert doctest.OutputChecker().check_output(
            expected + "\n", found + "\n", doctest.ELLIPSIS
        ), (expected, found)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_is_fenced_and_says_its_language(page: Path):
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    assert [t.content for t in tokens if t.type == "code_block"] == []
    assert [t.content for t in tokens if t.type == "fence" and not t.info.strip()] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_documented_commands_exist(document: str):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, flags=re.MULTILINE))
    text = (ROOT / document).read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:`|^ *)make ([a-z]+)", text, flags=re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert commands
    assert commands <= targets


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.md")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_documented_files_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_no_block_of_the_readme_gives_a_name_another_meaning():
    names = [
        name.id
        for block in python_blocks(ROOT / "README.md")
        for name in {ast.dump(n): n for n in ast.walk(ast.parse(block))}.values()
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]
    assert sorted(names) == sorted(set(names))
