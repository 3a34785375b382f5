"""The wheel away from the clone: with the hard dependencies alone, and with an extra."""

import json
import re
import textwrap
from pathlib import Path

import pytest

import extractbench_nb as xb
from tests.packaging.conftest import PROJECT, Environment

BATCH = """
import extractbench_nb as xb
evs = xb.evaluate_runs(xb.load_dataset(), progress=False)
print(evs.by_run.set_index("run")["pass_rate"].to_json(), len(evs.fields), len(evs.matches))
"""

#: Calls that need an extra, by its name.
DOORS = {
    "batch": {
        "a folder": "xb.evaluate_runs(ds, progress=False, save_to=folder)",
        "saving": "evs.save(folder)",
        "loading": "xb.load_evaluations(folder)",
        "processes": "xb.evaluate_runs(ds, progress=False, n_jobs=2)",
        "all processors": "xb.evaluate_runs(ds, progress=False, n_jobs=-1)",
        "arrow": "xb.evaluate_runs(Arrow(), progress=False)",
    },
    "benchmark": {
        "fetching": "xb.runs.fetch_dataset(path=folder / 'fetched', progress=False)",
        "tokens": "xb.benchmark.complexity(xb.load_dataset('sample', path=folder / 'own'))",
    },
    "construction": {
        "loading": "xb.construction.load(tasks)",
        "BM25": "xb.construction.Retriever()({'a': 'b'}, 'b')",
        "chunks": "xb.construction.Retriever().index({'a': 'b'}).chunks",
    },
    "inspect": {
        "a scorer": "import_module('extractbench_nb.integrations').inspect_scorer(schema)",
    },
    "llm": {
        "a judge": "xb.evaluate(schema, gold, other, judge='openai/gpt-4o-mini')",
        "a batch": "xb.evaluate_runs(ds, judge='openai/gpt-4o-mini', progress=False)",
        "an aligner": "xb.evaluate(schema, gold, other, alignment='llm')",
        "extraction": "xb.extract(ds, model='openai/gpt-4o-mini', folder=folder, progress=False)",
        "prices": "xb.runs.estimate_cost(schema, gold, other, judge='openai/gpt-4o-mini')",
    },
    "mlflow": {
        "a scorer": "import_module('extractbench_nb.integrations').mlflow_scorer(schema)",
    },
    "notebook": {
        "a schema": "xb.show(schema)",
        "an evaluation": "xb.show(ev)",
        "matches": "xb.show_matches(ev, '$.l')",
        "failures": "xb.explore(evs)",
        "evidence": "xb.show_evidence(ds, document)",
        "the workbench": "xb.workbench('string_exact', evs)",
        "a plot": "xb.plots.grid(2)",
        "a table of the paper": "xb.benchmark.style(6).to_latex()",
        "LaTeX": "xb.compare_runs(evs).to_latex()",
    },
    "pdf": {
        "evidence": "xb.pdf.find_evidence(None, pdf, 'a')",
        "a page": "xb.pdf.render_page(None, pdf, 1)",
        "an audit": "xb.gold.audit(ds)",
    },
    "tables": {
        "a picture": "xb.tables.read_image(folder / 'x.png')",
    },
}
SCRIPT = """
import json, shutil, sys
from importlib import import_module
from pathlib import Path
import extractbench_nb as xb

class Arrow:
    columns = ()
    def __arrow_c_stream__(self, requested_schema=None): ...

item = {"type": "object", "properties": {"n": {"type": "string"}}}
judged = {"type": "string", "evaluation_config": "string_llm"}
properties = {"a": judged, "l": {"type": "array", "items": item}}
schema = {"type": "object", "properties": properties}
gold, other = {"a": "one", "l": [{"n": "a"}]}, {"a": "two", "l": [{"n": "b"}]}
ev = xb.evaluate(schema, gold, other)
ds = xb.load_dataset()
evs = xb.evaluate_runs(ds, progress=False)
rows = ds.listing.dropna(subset=["pdf_path"])
document, pdf = rows["document"].iloc[0], Path(rows["pdf_path"].iloc[0])
tasks = Path(xb.__file__).parent / "_sample" / "construction"
folder = Path(sys.argv[1])
html = "<table><tr><td>a</td></tr><tr><td>1</td></tr></table>"
shutil.copytree(ds.root, folder / "own")
changed = next((folder / "own").rglob("*gold*.json"))
changed.write_text(changed.read_text() + " ")
found = {}
for name, code in json.loads((folder / "calls.json").read_text()).items():
    try:
        eval(code)
        found[name] = "nothing is missing"
    except xb.ExtractBenchError as error:
        found[name] = str(error)
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def answers(plain: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each call raises where no extra is installed."""
    folder = tmp_path_factory.mktemp("doors")
    script = folder / "doors.py"
    script.write_text(SCRIPT)
    calls = {f"{extra}: {name}": code for extra, of in DOORS.items() for name, code in of.items()}
    (folder / "calls.json").write_text(json.dumps(calls))
    return json.loads(plain.run("python", str(script), str(folder)))


@pytest.mark.parametrize(
    "door", [f"{extra}: {name}" for extra, calls in DOORS.items() for name in calls]
)
def test_a_missing_extra_is_one_error_that_names_it(answers: dict[str, str], door: str) -> None:
    extra = door.partition(":")[0]
    assert answers[door].endswith(f"pip install 'extractbench-nb[{extra}]'"), answers[door]
    assert "\n" not in answers[door]


def test_every_extra_has_a_door() -> None:
    assert DOORS.keys() == PROJECT["optional-dependencies"].keys() - {"all"}


def test_hard_dependencies_are_few() -> None:
    assert len(PROJECT["dependencies"]) <= 10


def test_a_batch_needs_no_extra(plain: Environment) -> None:
    evs = xb.evaluate_runs(xb.load_dataset(), progress=False)
    rates, *counts = plain.run("python", "-W", "error", "-c", BATCH).split()
    assert json.loads(rates) == pytest.approx(evs.by_run.set_index("run")["pass_rate"].to_dict())
    assert list(map(int, counts)) == [len(evs.fields), len(evs.matches)]


def test_the_command_is_installed(plain: Environment, tmp_path: Path) -> None:
    assert xb.__version__ in plain.run("extractbench-nb", "--version")
    for name, value in {"schema": {"properties": {"a": {}}}, "gold": {"a": 1}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    names = ["schema.json", "gold.json", "gold.json"]
    assert "1 of 1" in plain.run("extractbench-nb", "evaluate", *names, cwd=tmp_path)


def test_views_need_the_extra_notebook(with_views: Environment) -> None:
    code = """
    import extractbench_nb as xb
    schema = {"type": "object", "properties": {"shown_key": {"type": "string"}}}
    for subject in (schema, xb.evaluate(schema, {"shown_key": "a"}, {"shown_key": "b"})):
        assert "shown_key" in xb.show(subject).to_html()
    assert len(xb.plots.grid(2)) == 2
    """
    with_views.run("python", "-c", textwrap.dedent(code))


def test_the_pytest_plugin_is_found(with_views: Environment, tmp_path: Path) -> None:
    case = tmp_path / "goldens" / "one"
    case.mkdir(parents=True)
    (case / "gold.json").write_text('{"a": 1}')
    (case.parent / "schema.json").write_text('{"properties": {"a": {"type": "integer"}}}')
    test = "def test_it(golden_case):\n    golden_case.check(golden_case.gold)\n"
    (tmp_path / "test_it.py").write_text(test)
    options = ["-q", "-p", "no:cacheprovider"]
    with_views.run("python", "-m", "pytest", *options, "--update-baseline", cwd=tmp_path)
    assert "1 passed" in with_views.run("python", "-m", "pytest", *options, cwd=tmp_path)


def test_texts_name_extras_that_exist() -> None:
    root = Path(__file__).parents[2]
    texts = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("notebooks/*.md")]
    texts += (root / "extractbench_nb").rglob("*.py")
    told = re.compile(r"extractbench-nb\[([\w,{}]+)\]")
    named = {
        extra
        for path in texts
        for extras in told.findall(path.read_text(encoding="utf-8"))
        for extra in extras.split(",")
    }
    assert named - {"{extra}"} <= PROJECT["optional-dependencies"].keys()
    assert "llm" in named
