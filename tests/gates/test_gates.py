"""Each gate of `make test`, broken on purpose under the project's own configuration.

Every test first runs its gate on a clean copy, so that the failure can only come from the break.
"""

import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
CLEAN_MODULE = '''"""A module that every gate accepts."""


def double(number: int) -> int:
    """Return twice the number.

    >>> double(2)
    4
    """
    return 2 * number
'''
CLEAN_TEST = '''"""Tests that pass."""

import pytest

from extractbench_nb.clean import double


def test_double():
    assert double(2) == 4


@pytest.mark.xfail(reason="known")
def test_known_failure():
    assert double(2) == 5
'''
GATES = {
    "ruff check": ["-m", "ruff", "check", "--no-cache", "--output-format=concise"],
    "ruff format": ["-m", "ruff", "format", "--no-cache", "--check"],
    "mypy": ["-m", "mypy"],
    "lint-imports": [
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
        "--no-cache",
    ],
    # nbval takes two seconds to load
    "pytest": ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:nbval"],
}


@dataclass(frozen=True)
class Project:
    """A folder with the project's configuration and a small package of the same name."""

    root: Path

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def run(self, gate: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return subprocess.run(
            [sys.executable, *GATES[gate]],
            cwd=self.root,
            env=environment | {"PYTHONPATH": str(self.root), "NO_COLOR": "1", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def accepts(self, gate: str) -> None:
        result = self.run(gate)
        assert result.returncode == 0, result.stdout + result.stderr

    def refuses(self, gate: str, because: str) -> None:
        result = self.run(gate)
        assert result.returncode != 0, f"{gate} accepted what it should refuse"
        assert because in result.stdout + result.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name in ("pyproject.toml", ".importlinter"):
        shutil.copy(ROOT / name, tmp_path / name)
    made = Project(tmp_path)
    made.write("extractbench_nb/__init__.py", '"""A package that every gate accepts."""\n')
    made.write("extractbench_nb/py.typed", "")
    made.write("extractbench_nb_pytest.py", '"""A plugin that every gate accepts."""\n')
    made.write("extractbench_nb/clean.py", CLEAN_MODULE)
    made.write("tests/test_clean.py", CLEAN_TEST)
    made.write("README.md", "# A project\n")
    return made


def branches(count: int) -> str:
    body = "".join(f"    if n == {i}:\n        n += 1\n" for i in range(count))
    return f'"""M."""\n\n\ndef tangled(n: int) -> int:\n    """Do much."""\n{body}    return n\n'


#: Rule -> a module that breaks it; the last one is a test's.
UNRULY = {
    "F401": '"""M."""\n\nimport json\n',
    "TID252": '"""M."""\n\nfrom .clean import double\n',
    "T201": '"""M."""\n\nprint("loud")\n',
    "D103": '"""M."""\n\n\ndef f() -> None:\n    pass\n',
    "E501": f'"""M."""\n\nNAME = "{"x" * 100}"\n',
    "C901": branches(11),
    "PLR0913": '"""M."""\n\n\ndef f(a, b, c, d, e, f, g):\n    """Take much."""\n',
    "F841": "def test_it():\n    unused = 1\n",
}


def test_ruff_refuses(project: Project) -> None:
    """All breaks in one run: each is told of its own file."""
    project.accepts("ruff check")
    paths = {rule: f"extractbench_nb/{rule.lower()}.py" for rule in UNRULY}
    paths["F841"] = "tests/test_f841.py"
    for rule, text in UNRULY.items():
        project.write(paths[rule], text)
    found = project.run("ruff check")
    assert found.returncode == 1, found.stdout + found.stderr
    for rule, path in paths.items():
        assert re.search(f"^{path}:.* {rule} ", found.stdout, re.MULTILINE), rule


def test_format_refuses_unformatted_code(project: Project) -> None:
    project.accepts("ruff format")
    project.write("extractbench_nb/bad.py", '"""M."""\n\nX = {  "a":1 }\n')
    project.refuses("ruff format", "would be reformatted")


def test_mypy_refuses(project: Project) -> None:
    project.accepts("mypy")
    project.write("extractbench_nb/wrong.py", 'X: int = "text"\n')
    project.write("extractbench_nb/untyped.py", "def f(x):\n    return x\n")
    project.refuses("mypy", "[assignment]")
    project.refuses("mypy", "[no-untyped-def]")


@pytest.fixture
def real_package(project: Project) -> Project:
    """The real package, so that the contract is checked on the real imports."""
    shutil.rmtree(project.root / "extractbench_nb")
    shutil.copytree(
        ROOT / "extractbench_nb",
        project.root / "extractbench_nb",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return project


LAYERS = "Each package knows only the packages below it BROKEN"
#: Module, what it imports, and the contract that this breaks.
FORBIDDEN = [
    ("schema", "extractbench_nb.evaluation", LAYERS),
    ("_json", "extractbench_nb.schema", LAYERS),
    ("engine.scoring", "litellm", "no model BROKEN"),
    ("judges.offline", "IPython", "no model BROKEN"),
    ("evaluation", "ipywidgets", "no model BROKEN"),
    ("engine.assignment", "matplotlib", "no model BROKEN"),
    ("widgets.view", "extractbench_nb.engine.traversal", "not the engine BROKEN"),
]


def test_import_linter_refuses(real_package: Project) -> None:
    """All in one run: each forbidden import is named."""
    real_package.accepts("lint-imports")
    for module, imported, _ in FORBIDDEN:
        path = real_package.root / "extractbench_nb" / module.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef hidden() -> None:\n    import {imported}\n")
    found = real_package.run("lint-imports")
    assert found.returncode == 1, found.stdout + found.stderr
    for module, imported, contract in FORBIDDEN:
        assert contract in found.stdout
        assert f"extractbench_nb.{module} -> {imported} (l." in found.stdout


def test_import_linter_refuses_a_package_without_a_place(real_package: Project) -> None:
    real_package.write("extractbench_nb/attic.py", "")
    real_package.refuses("lint-imports", "attic")


def test_the_contract_names_every_package_of_the_evaluator() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", encoding="utf-8")
    order = config["importlinter:contract:layers"]["layers"].replace("(", "").replace(")", "")
    layers = [layer.strip() for line in order.splitlines() for layer in line.split(":")]
    evaluator = config["importlinter:contract:evaluator"]["source_modules"].split()
    named = {module.removeprefix("extractbench_nb.").partition(".")[0] for module in evaluator}
    assert named <= set(layers)
    assert named == set(layers[layers.index("evaluation") : layers.index("display") + 1])


#: Name of a test module -> what stands in it, and what pytest says of it.
BREAKS = {
    "failing": ("def test_it():\n    assert 1 == 2\n", "assert 1 == 2"),
    "warning": (
        "import warnings\n\n\ndef test_it():\n    warnings.warn('careless')\n",
        "UserWarning: careless",
    ),
    "fixed": (
        "import pytest\n\n\n@pytest.mark.xfail(reason='gone')\ndef test_it():\n    pass\n",
        "XPASS(strict)",
    ),
}
DOCTEST = '"""M.\n\n>>> 1 + 1\n3\n"""\n'
#: What keeps pytest from running anything: path -> content and message.
UNREADABLE = {
    "tests/test_marker.py": (
        "import pytest\n\n\n@pytest.mark.slwo\ndef test_it():\n    pass\n",
        "'slwo' not found in `markers`",
    ),
    "extractbench_nb/broken.py": (
        '"""M."""\n\nraise RuntimeError("broken import")\n',
        "RuntimeError: broken import",
    ),
}


def test_pytest_accepts_the_clean_project(project: Project) -> None:
    result = project.run("pytest")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 passed, 1 xfailed" in result.stdout  # a test and a doctest
    assert "XFAIL tests/test_clean.py" in result.stdout


def test_pytest_refuses(project: Project) -> None:
    """All breaks in one run: each is a failure of its own, beside those of the clean project."""
    for name, (text, _) in BREAKS.items():
        project.write(f"tests/test_{name}.py", text)
    project.write("extractbench_nb/bad.py", DOCTEST)
    result = project.run("pytest")
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{len(BREAKS) + 1} failed, 2 passed, 1 xfailed" in result.stdout
    assert "FAILED extractbench_nb/bad.py" in result.stdout
    for name, (_, because) in BREAKS.items():
        (line,) = re.findall(f"^FAILED tests/test_{name}.py.*", result.stdout, re.MULTILINE)
        assert because in line


def test_pytest_refuses_what_it_cannot_read(project: Project) -> None:
    for path, (text, _) in UNREADABLE.items():
        project.write(path, text)
    result = project.run("pytest")
    assert result.returncode == 2, result.stdout + result.stderr
    assert f"{len(UNREADABLE)} errors during collection" in result.stdout
    for path, (_, because) in UNREADABLE.items():
        assert f"ERROR {path}" in result.stdout
        assert because in result.stdout


@pytest.mark.parametrize(
    "command", ["ruff check", "ruff format --check", "mypy", "lint-imports", "pytest"]
)
def test_make_test_runs_every_gate(command: str, make: Callable[..., str]) -> None:
    assert f"/{command}" in make("--dry-run", "test").replace("python -m ", "")


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_no_file_is_left_out_silently(tool: str) -> None:
    """Exclusions would make a gate pass by looking away."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition(f"# --- {tool} ---")[2].partition("# --- ")[0]
    assert section, f"pyproject.toml has no section for {tool}"
    assert "exclude" not in section
    assert "ignore_errors" not in section
