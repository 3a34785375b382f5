"""The wheel, and environments that hold it with some of its dependencies."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as `python -m build` does."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


class Environment(NamedTuple):
    """A virtual environment with the wheel and some of its dependencies."""

    folder: Path

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        """Run a program of the environment, away from the clone; what it prints."""
        command = [str(self.folder / "bin" / program), *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "EXTRA"))}
        done = subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=environment | {"CI": ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and its hard dependencies."""
    return environment(tmp_path_factory.mktemp("plain"), wheel, PROJECT["dependencies"])


@pytest.fixture(scope="session")
def with_views(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel with the extra `notebook`, and pytest."""
    lines = [*PROJECT["dependencies"], "extractbench-nb[notebook]", "pytest"]
    return environment(tmp_path_factory.mktemp("views"), wheel, lines)


def environment(folder: Path, wheel: Path, lines: Iterable[str]) -> Environment:
    """Make an environment; dependencies are links to what is installed here, not downloaded."""
    venv.EnvBuilder(symlinks=True).create(folder)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    for name in installed(lines):
        files = distribution(name).files or ()
        for top in {Path(file).parts[0] for file in files} - {"..", "__pycache__"}:
            link(site / top, Path(str(distribution(name).locate_file(top))))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(wheel)], check=True, timeout=PATIENCE)
    return Environment(folder)


def link(target: Path, source: Path) -> None:
    """Link a file or package; packages may share a namespace."""
    if source.is_dir() and not source.name.endswith("-info") and not any(source.glob("__init__.*")):
        target.mkdir(exist_ok=True)
        for inner in source.iterdir():
            link(target / inner.name, inner)
    elif source.exists() and not target.exists():
        target.symlink_to(source)


def installed(lines: Iterable[str]) -> set[str]:
    """The distributions that requirements need, directly or not."""
    waiting = [(Requirement(line), "") for line in lines]
    known: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for chosen in {"", *requirement.extras}:
            key = (requirement.name, chosen)
            if key in known:
                continue
            known.add(key)
            if requirement.name == PROJECT["name"]:
                more = PROJECT["optional-dependencies"].get(chosen, [])
            else:
                more = distribution(requirement.name).requires or []
            waiting += [(Requirement(line), chosen) for line in more]
    return {name for name, _ in known} - {PROJECT["name"]}
