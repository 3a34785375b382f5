"""The snippets of the published README run with nothing but the package's name replaced.

The README is read from the folder that ``EXTRACTBENCH_SEEDS`` names. Its text there has lost fences
and indentation, so a snippet is cut out between its first and last statement and indented anew; no
other character is touched.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat
from tests.waiting import PATIENCE

VARIABLE = "EXTRACTBENCH_SEEDS"
NAME = "extractbench-readme.txt"
PACKAGE = "extractbench_nb.compat"

#: How each snippet begins, and how its last line does.
SNIPPETS = {
    "report": ("import json\nfrom pathlib", 'print(f"Results saved'),
    "scores": ('print(f"Overall score', 'print(f"Evaluated'),
    "options": ('config = ReportConfig(\noutput_dir=Path("./outputs")', "save_markdown=True"),
    "batch": ("import asyncio\nimport json", "print(f\"{r['model']"),
    "evaluator": ("from extract_bench import StructuredEvaluator,", 'print(f"{path}'),
    "custom": ("from extract_bench import global_metric", "global_metric_registry.register"),
}
DOCUMENT, RUNS = "cv_tobias_wendelin", ["osprey-7b", "quill-large", "quill-mini"]


# --- from the text back to a script -----------------------------------------------------------


def _readme() -> str:
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} is not set: no README to read snippets from")
    return (Path(folder) / NAME).read_text(encoding="utf-8")


def _depths(text: str) -> list[int]:
    """How many brackets are open after each character; those in strings are balanced here."""
    depth, found = 0, []
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        found.append(depth)
    return found


def _cut(text: str, first: str, last: str) -> str:
    """Cut a snippet out: to where its last statement closes its brackets."""
    text = text[text.index(first) :]
    start, depths = text.index(last), _depths(text)
    end = next(i for i in range(start, len(text)) if text[i] == ")" and depths[i] == 0)
    return text[: end + 1]


def _indented(snippet: str) -> str:
    """Indent what follows a colon; a return stands in its function and ends every block."""
    lines: list[str] = []
    level = function = depth = 0
    statement = ""
    for line in snippet.splitlines():
        statement = statement if depth else line
        returns = statement.startswith("return")
        level = function if returns else level
        lines.append("    " * level + line)
        depth += _depths(line)[-1]
        if depth == 0 and line.endswith(":"):
            level += 1
            function = level if re.match(r"(async )?def ", statement) else function
        elif depth == 0 and returns:
            level = function = 0
    return "\n".join(lines) + "\n"


def _script(name: str) -> str:
    snippet = _indented(_cut(_readme(), *SNIPPETS[name]))
    ast.parse(snippet)
    return re.sub(r"\bextract_bench\b", PACKAGE, snippet)


# --- running it -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what the snippets read."""
    dataset = xb.load_dataset()
    schema_id = dataset.documents.set_index("document").schema[DOCUMENT]
    outputs = dataset.runs.query("document == @DOCUMENT").set_index("run").predicted
    texts = {
        "schema.json": json.dumps(dataset.schema(schema_id)),
        "gold.json": json.dumps(dataset.gold(DOCUMENT)),
        "model_output.json": outputs[RUNS[0]].read_text(encoding="utf-8"),
        **{f"model_outputs/{r}.json": outputs[r].read_text(encoding="utf-8") for r in RUNS},
    }
    (tmp_path / "model_outputs").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _run(folder: Path, script: str, cell: bool) -> list[str]:
    return _run_cell(folder, script) if cell else _run_script(folder, script)


def _run_script(folder: Path, script: str) -> list[str]:
    (folder / "script.py").write_text(script, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "script.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(Path(xb.__file__).parents[1])},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def _run_cell(folder: Path, script: str) -> list[str]:
    """Run a script as a notebook does: its awaits at the top, in a loop that runs already."""
    code = compile(script, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def cell() -> None:
        found = eval(code, {"__name__": "__main__"})  # noqa: S307 - the README's own snippet
        if inspect.isawaitable(found):
            await found

    printed = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(cell())
    return printed.getvalue().splitlines()


def _expected(folder: Path, predicted: str = "model_output.json") -> Any:
    paths = [folder / name for name in ("schema.json", "gold.json", predicted)]
    return xb.evaluate(*paths, profile="paper").summary


@pytest.mark.parametrize("cell", [False, True], ids=["script", "cell"])
def test_report(cell, folder):
    script = _script("report") + _script("scores")
    printed = _run(folder, script, cell)
    summary = _expected(folder)
    assert printed[1:] == [
        f"Overall score: {summary.overall_score:.3f}",
        f"Field score: {summary.field_score:.3f}",
        f"Pass rate: {summary.pass_rate:.1%}",
        f"Evaluated: {summary.evaluated:.0f} fields",
    ]
    saved = Path(printed[0].removeprefix("Results saved to: "))
    assert {"report.json", "summary.txt", "fields.csv", "fields.md"} <= {
        path.name for path in (folder / saved).iterdir()
    }


def test_report_options(folder):
    script = f"from pathlib import Path\nfrom {PACKAGE} import ReportConfig\n"
    script += _script("options") + "print(config.output_name, config.output_dir)\n"
    assert _run_cell(folder, script) == ["my-experiment outputs"]


@pytest.mark.parametrize("cell", [False, True], ids=["script", "cell"])
def test_batch(cell, folder):
    script = _script("batch")
    if cell:  # asyncio refuses a loop in a loop: a cell awaits what a script runs
        script = script.replace("asyncio.run(", "await (")
    printed = _run(folder, script, cell)
    expected = {r: _expected(folder, f"model_outputs/{r}.json") for r in RUNS}
    order = sorted(RUNS, key=lambda r: -expected[r].overall_score)
    assert sorted(printed) == sorted(
        f"{r}: {expected[r].pass_rate:.1%} pass, {expected[r].overall_score:.3f} avg score"
        for r in order
    )
    assert {path.name for path in (folder / "eval_results").iterdir()} == set(RUNS)


def test_evaluator(folder):
    reading = "import json\nfrom pathlib import Path\nschema, gold, predicted = (\n"
    reading += "    json.loads(Path(f'{name}.json').read_text(encoding='utf-8'))\n"
    reading += "    for name in ('schema', 'gold', 'model_output')\n)\n"
    script = reading + _script("evaluator")
    printed = _run_cell(folder, script)
    assert len(printed) == _expected(folder).evaluated
    assert all(re.fullmatch(r"\$\S+ \[\w+\]: passed=\w+, score=[\d.]+", p) for p in printed)
    passed = sum("passed=True" in line for line in printed)
    assert passed == _expected(folder).passed


def test_custom_metric(folder):
    script = _script("custom") + (
        f"from {PACKAGE} import StructuredEvaluator, StructuredEvaluatorConfig\n"
        "import extractbench_nb as xb\n"
        "config = {'metrics': [{'metric_id': 'my_custom', 'params': {'b': 1}}]}\n"
        "field = {'type': 'string', 'evaluation_config': config}\n"
        "schema = {'type': 'object', 'properties': {'a': field}}\n"
        "evaluator = StructuredEvaluator(StructuredEvaluatorConfig(metrics=[]))\n"
        "found = evaluator.evaluate(schema, {'a': 'x'}, {'a': 'y'})['results']\n"
        "print(found['$.properties.a']['my_custom'])\n"
        "print(xb.metrics().set_index('metric').source['my_custom'])\n"
    )
    assert _run_cell(folder, script) == [
        "MetricResult(metric_id='my_custom', score=1.0, passed=True, details={'custom': 'data'})",
        "class",
    ]


# --- what the README says of scores -----------------------------------------------------------

ITEMS = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "items": {
            "type": "array",
            "items": {"type": "string", "evaluation_config": "string_exact"},
        },
    },
}


def _of_ten(wrong: int) -> dict[str, Any]:
    items = [f"item {i}" if i >= wrong else f"other {i}" for i in range(10)]
    return {"name": "Ada", "age": 36, "items": items}


def test_worked_example():
    report = compat.ReportBuilder().build(ITEMS, _of_ten(0), _of_ten(2))
    assert report.field_score == pytest.approx((1 + 1 + 0.8) / 3)
    assert report.overall_score == pytest.approx((1 + 1 + 10 * 0.8) / 12)
    assert f"{report.field_score:.3f} {report.overall_score:.3f}" == "0.933 0.833"
