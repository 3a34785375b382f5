"""README and documentation: code shows what it says, links and commands exist."""

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from markdown_it import MarkdownIt

from extractbench_nb.cli.commands import commands
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
#: Pages in which code blocks run.
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
#: Pages of which data, commands and links are checked.
SKILL = ROOT / "skills" / "evaluate-extraction" / "SKILL.md"
DOCUMENTS = [
    *ROOT.glob("*.md"),
    ROOT / "llms.txt",
    SKILL,
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("notebooks/*.md"),
]
WORKFLOWS = [*ROOT.glob("examples/*.yml"), *ROOT.glob(".github/workflows/*.yml")]
#: How the lines of a block `console` begin that are checked.
COMMAND = re.compile(r"(\$ )?(extractbench-nb|make|pip|python) ")
NOT_RUN = re.compile(r"<!-- not run: .+ -->")

#: Runs the blocks as cells of one notebook; prints what stands after ``# ->``, at the end of the
#: line or alone on the next, with what is shown.
CELLS = """
import ast, json
space, shown = {"__name__": "__main__"}, []
for block in json.loads(BLOCKS):
    lines = [*block.splitlines(), ""]
    for node in ast.parse(block).body:
        here, below = lines[node.end_lineno - 1 : node.end_lineno + 1]
        expectation = below if below.startswith("# -> ") else here
        _, is_shown, expected = expectation.partition("# -> ")
        if is_shown:
            value = eval(compile(ast.Expression(node.value), "page", "eval"), space)
            shown.append([expected, str(value)])
        else:
            exec(compile(ast.Module([node], []), "page", "exec"), space)
print("\\n" + json.dumps(shown))
"""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return [(t.info.strip(), t.content) for t in tokens if t.type == "fence"]


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


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_data_can_be_parsed(page: Path):
    readers: dict[str, Callable[[str], object]] = {
        "json": json.loads,
        "toml": tomllib.loads,
        "yaml": lambda text: list(yaml.safe_load_all(text)),
    }
    for language, text in fences(page):
        if language in readers:
            readers[language](text)


def commands_of(page: Path) -> list[list[str]]:
    """The commands of blocks `console`, and of the steps of a workflow, as lists of words."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".yml":
        steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
        blocks = [step["run"] for step in steps if "run" in step]
    else:
        blocks = [block for language, block in fences(page) if language == "console"]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    known = [line.removeprefix("$ ") for line in lines if COMMAND.match(line)]
    return [shlex.split(re.split(r" (?:[|>]|&&|\|\|) ", line)[0], comments=True) for line in known]


def check_command(words: list[str]) -> None:
    """Raise if a command names a subcommand, option, target, extra or file that does not exist."""
    program, *rest = words
    if program == "extractbench-nb":
        name, command, rest = commands.resolve_command(click.Context(commands), rest)
        while isinstance(command, click.Group) and rest:
            name, command, rest = command.resolve_command(click.Context(command), rest)
        assert command is not None
        if "--help" not in rest:
            command.make_context(name, rest)
    elif program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = re.findall(r"^([a-z-]+):.*## ", makefile, flags=re.MULTILINE)
        assert {word for word in rest if "=" not in word} <= set(targets), words
    elif program == "pip":
        extras = re.findall(r"\[([a-z,]+)\]", " ".join(rest))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(",".join(extras).split(",")) <= {"", *project["optional-dependencies"]}, words
    elif rest and rest[0].startswith(("scripts/", "examples/")):
        assert (ROOT / rest[0]).is_file(), words


@pytest.mark.parametrize("page", [*DOCUMENTS, *WORKFLOWS], ids=name_of)
def test_commands_exist(page: Path):
    for words in commands_of(page):
        check_command(words)


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_documented_files_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[)#]", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_guide_is_listed():
    folder = ROOT / "docs" / "howto"
    listed = (folder / "index.md").read_text(encoding="utf-8")
    guides = {page.stem for page in folder.glob("*.md")} - {"index"}
    toctree = listed.partition("{toctree}")[2].partition("```")[0].split()
    assert guides - set(toctree) == set()
    assert [guide for guide in guides if f"({guide}.md)" not in listed] == []


def test_the_skill_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its blocks and commands run in a folder laid out as it says."""
    sample = ROOT / "dataset"
    shutil.copy(sample / "hiring" / "cv" / "cv-schema.json", tmp_path / "schema.json")
    (tmp_path / "gold").mkdir()
    for gold in (sample / "hiring" / "cv" / "pdf+gold").glob("*.gold.json"):
        name = gold.name.replace(".gold", "")
        shutil.copy(gold, tmp_path / "gold" / name)
        for run in ("quill-large", "quill-mini"):
            (tmp_path / "pred" / run).mkdir(parents=True, exist_ok=True)
            shutil.copy(sample / "runs" / run / name, tmp_path / "pred" / run / name)
    assert python_blocks(SKILL)
    show(python_blocks(SKILL), tmp_path)
    monkeypatch.chdir(tmp_path)
    batch, gate = (words[1:] for words in commands_of(SKILL))
    results = CliRunner().invoke(commands, batch)
    assert results.exit_code == 0, results.output
    shutil.copytree("results", "baseline")
    gated = CliRunner().invoke(
        commands, [*gate, "--run", "quill-mini", "--baseline-run", "quill-large"]
    )
    assert gated.exit_code in (0, 1), gated.output
