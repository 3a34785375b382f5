"""What is installed, shipped and promised: dependencies, wheel, environment, documents."""

import importlib.metadata
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement

import extractbench_nb
from tests.packaging.conftest import PROJECT, ROOT
from tests.waiting import PATIENCE

GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
EXTRAS = PROJECT["optional-dependencies"]

# Not taken from conda-forge: installed by the environment's pip section.
PIP_ONLY = {"json-repair", "pypdfium2"}
CODE = {".py", ".pyc"}


def expanded(lines: list[str | dict[str, str]]) -> list[Requirement]:
    """Requirements, those of groups and of the package's own extras in place of their names."""
    found: list[Requirement] = []
    for line in lines:
        requirement = None if isinstance(line, dict) else Requirement(line)
        if requirement is None:
            found += expanded(GROUPS[line["include-group"]])
        elif requirement.name == PROJECT["name"]:
            found += [r for extra in requirement.extras for r in expanded(EXTRAS[extra])]
        else:
            found.append(requirement)
    return found


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- dependencies ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target, lines",
    [
        ("install", GROUPS["install"]),
        ("demo", PROJECT["dependencies"]),
        ("docs", [*PROJECT["dependencies"], *EXTRAS["all"], *GROUPS["docs"]]),
        ("test", [*PROJECT["dependencies"], *EXTRAS["all"], *GROUPS["test"]]),
        ("bench", [*PROJECT["dependencies"], *EXTRAS["all"], *GROUPS["bench"]]),
    ],
)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_every_target_has_exact_versions(target: str, lines: list[str], python: str) -> None:
    """They are within the ranges; `make lock` writes them anew."""
    text = (ROOT / "requirements" / f"{target}.txt").read_text(encoding="utf-8")
    where = {**default_environment(), "python_version": python, "extra": ""}
    where["python_full_version"] = f"{python}.0"
    versions = {}
    for line in text.splitlines():
        pinned = Requirement(line)
        ((operator, version),) = ((s.operator, s.version) for s in pinned.specifier)
        assert operator == "=="
        assert pinned.url is None
        if pinned.marker is None or pinned.marker.evaluate(where):
            assert versions.setdefault(pinned.name, version) == version
    for requirement in expanded(lines):
        if requirement.marker is None or requirement.marker.evaluate(where):
            assert requirement.specifier.contains(versions[requirement.name]), requirement


def test_only_public_names_are_listed() -> None:
    assert dir(extractbench_nb) == sorted(extractbench_nb.__all__)


def test_importing_the_package_does_nothing_else():
    """It imports no heavy library, opens no connection, and configures no logging."""
    heavy = ["scipy", "jsonschema", "jinja2", "loky", "click", "litellm", "matplotlib", "IPython"]
    code = (
        "import json, logging, pandas, socket, sys; before = set(sys.modules);"
        "sys.addaudithook(lambda e, a: e.startswith('socket.') and sys.exit(f'network: {e}'));"
        "import extractbench_nb;"
        "assert not logging.getLogger().handlers;"
        f"print(json.dumps([m for m in {heavy!r} if m in set(sys.modules) - before]))"
    )
    assert json.loads(run_python(code)) == []


def test_an_offline_evaluation_loads_nothing_that_asks_models():
    code = (
        "import json, pandas, sys; before = set(sys.modules); import extractbench_nb as xb;"
        "xb.evaluate({'type': 'object', 'properties': {'a': {'type': 'string'}}},"
        " {'a': 'one'}, {'a': 'two'});"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = json.loads(run_python(code))
    own = [name for name in loaded if name.startswith("extractbench_nb")]
    assert not {"asyncio", "sqlite3", "extractbench_nb.judges.llm"} & {*loaded}
    assert len(own) <= 70


# --- environment.yml -------------------------------------------------------------------------


def test_conda_environment_is_in_step():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == "extractbench-nb"
    assert environment["channels"] == ["conda-forge"]
    (pip_section,) = [d["pip"] for d in environment["dependencies"] if isinstance(d, dict)]
    conda = entries([d for d in environment["dependencies"] if isinstance(d, str)])
    assert conda.pop("python") == PROJECT["requires-python"]
    assert conda.pop("pip") == ""

    wanted = expanded([*PROJECT["dependencies"], *EXTRAS["all"]])
    wanted += [r for r in expanded(GROUPS["test"]) if r.name == "nbval"]
    constraints = {r.name: str(r.specifier) for r in wanted}
    assert conda == {n: c for n, c in constraints.items() if n not in PIP_ONLY}
    assert pip_section[-1] == "--editable ."
    assert entries(pip_section[:-1]) == {name: constraints[name] for name in PIP_ONLY}


def entries(lines: list[str]) -> dict[str, str]:
    """Name -> constraint, of requirement lines."""
    return {Requirement(line).name: str(Requirement(line).specifier) for line in lines}


# --- the wheel -------------------------------------------------------------------------------


def test_wheel_holds_the_package_and_the_sample(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {p.relative_to(ROOT).as_posix() for p in (ROOT / "extractbench_nb").rglob("*.py")}
    assert package | {"extractbench_nb/py.typed"} <= names

    files = [p.relative_to(ROOT / "dataset") for p in (ROOT / "dataset").rglob("*") if p.is_file()]
    sample = {p.as_posix() for p in files if p.parts[0] != "prose" and p.suffix not in CODE}
    assert any(name.endswith(".pdf") for name in sample)
    shipped = "extractbench_nb/_sample/"
    assert {n.removeprefix(shipped) for n in names if n.startswith(shipped)} == sample

    plugin = "extractbench_nb_pytest.py"
    assert {n.split("/")[0] for n in names} == {"extractbench_nb", plugin, wheel_info(wheel)}
    assert f"{wheel_info(wheel)}/licenses/LICENSE" in names


def wheel_info(wheel: Path) -> str:
    return f"extractbench_nb-{extractbench_nb.__version__}.dist-info"


def test_source_distribution_holds_what_make_needs(wheel: Path):
    (file,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"Makefile", "README.md", "CITATION.cff", "docs/conf.py", "environment.yml"}
    wanted |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "requirements").glob("*.txt")}
    wanted |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "notebooks").glob("*.ipynb")}
    assert wanted <= names
    assert not [name for name in names if name.startswith(("build/", ".venv/"))]


# --- documents -------------------------------------------------------------------------------


def test_changelog_has_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)", text, flags=re.MULTILINE)
    assert extractbench_nb.__version__ in headings
    assert importlib.metadata.version("extractbench-nb") == extractbench_nb.__version__


def test_tracked_files_name_no_path_of_a_machine():
    homes = re.compile(r"(?<![\w.])/(?:work|farm|root|home|Users)/")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    assert files
    texts = {f: f.read_bytes().decode("utf-8", "replace") for f in files if f.is_file()}
    found = [f.name for f, text in texts.items() if homes.search(text) or f"{ROOT}/" in text]
    assert found == []
