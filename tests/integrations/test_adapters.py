"""The adapters in the real tools, as docs/howto/integrations.md shows them, where installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.errors import UnavailableError
from extractbench_nb.integrations import inspect_scorer, mlflow_scorer
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "integrations.md").read_text(encoding="utf-8")
SCHEMA = {
    "title": "Invoice",
    "type": "object",
    "properties": {"vendor": {"type": "string"}, "total": {"type": "number"}},
}
#: No network and no telemetry.
QUIET = {
    "DO_NOT_TRACK": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_PYTHON": sys.executable,
    "PYTHONPATH": str(ROOT),
}


def block(heading: str, language: str = "py") -> str:
    """Return the first block of code below a heading of the page."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def run(command: list[str], folder: Path, *, status: int = 0) -> str:
    own = {"PROMPTFOO_CONFIG_DIR": str(folder / "home"), "XDG_DATA_HOME": str(folder / "data")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | QUIET | own,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def run_python(code: str, folder: Path) -> str:
    (folder / "main.py").write_text(f"schema = {SCHEMA!r}\n{code}", encoding="utf-8")
    return run([sys.executable, "main.py"], folder).splitlines()[-1]


MOCK = """
from inspect_ai import eval as run
from inspect_ai.model import ModelOutput, ModelUsage, get_model

right, half = ({"vendor": "ACME Inc.", "total": total} for total in (12, 15))
answers = [json.dumps(right), "{", json.dumps(half)]
outputs = [ModelOutput.from_content("mockllm/model", answer) for answer in answers]
for output in outputs:
    output.usage = ModelUsage()  # else tokens are counted, with a vocabulary that is downloaded
model = get_model("mockllm/model", custom_outputs=outputs)
options = {"log_dir": "logs", "display": "none", "max_connections": 1, "max_samples": 1}
task = Task(
    dataset=[sample.model_copy() for sample in dataset * 3],  # each gets an id
    scorer=inspect_scorer(schema, score="pass_rate"),
)
(log,) = run(task, model=model, **options)
(scores,) = log.results.scores
of_samples = [sample.scores["extraction_scorer"] for sample in log.samples]
(bad,) = run(Task(dataset=[Sample(input="x", target="no JSON")], scorer=inspect_scorer(schema)),
             model=get_model("mockllm/model", custom_outputs=outputs), **options)
print(json.dumps({
    "status": log.status,
    "metrics": {name: metric.value for name, metric in scores.metrics.items()},
    "values": [score.value for score in of_samples],
    "passed": [score.metadata["passed"] for score in of_samples],
    "explanation": of_samples[2].explanation,
    "bad": bad.status,
}))
"""


@pytest.mark.skipif(not find_spec("inspect_ai"), reason="inspect-ai is not installed")
def test_inspect_ai(tmp_path: Path):
    found = json.loads(run_python(block("Inspect AI") + MOCK, tmp_path))
    assert found["status"] == "success"
    assert found["values"] == [1.0, 0.0, 0.5]
    assert found["passed"] == [True, False, False]
    assert found["metrics"] == {"mean": 0.5, "stderr": pytest.approx(0.288675)}
    assert "`$.total`: incorrect" in found["explanation"]
    assert found["bad"] == "error"


STORE = """
import json, mlflow
mlflow.set_tracking_uri("file:store")
mlflow.set_experiment("extraction")
"""
RESULT = """
outputs = [{"vendor": "ACME Inc.", "total": 12}, "{"]
more = [{**data[0], "outputs": output} for output in outputs]
more.append({"inputs": {"q": 1}, "outputs": "{}", "expectations": {"other": 1}})
scored = mlflow.genai.evaluate(data=[*data, *more], scorers=[mlflow_scorer(schema)])
found = [
    (a["assessment_name"], (a.get("feedback") or {}).get("value"), a.get("rationale"),
     bool((a.get("feedback") or {}).get("error")))
    for row in scored.result_df["assessments"] for a in row if a.get("feedback")
]
print(json.dumps([{k: float(v) for k, v in result.metrics.items()}, found]))
"""


@pytest.mark.skipif(not find_spec("mlflow"), reason="mlflow is not installed")
def test_mlflow(tmp_path: Path):
    metrics, found = json.loads(run_python(STORE + block("MLflow") + RESULT, tmp_path))
    assert metrics == {"extraction/mean": 0.5, "extraction_passed/mean": 0.0}
    values = sorted(str(value) for name, value, _, failed in found if name == "extraction")
    assert values == ["0.0", "0.5", "1.0", "None"]
    assert [failed for *_, failed in found].count(True) == 1
    passed = sorted(value for name, value, *_ in found if name == "extraction_passed")
    assert passed == [False, False, True]
    assert any(rationale and "`$.total`: incorrect" in rationale for _, _, rationale, _ in found)


@pytest.mark.skipif(not shutil.which("promptfoo"), reason="promptfoo is not on PATH")
def test_promptfoo(tmp_path: Path):
    (tmp_path / "check.py").write_text(block("promptfoo"), encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "promptfooconfig.yaml").write_text(block("promptfoo", "yaml"), encoding="utf-8")
    command = ["promptfoo", "eval", "-c", "promptfooconfig.yaml", "-o", "out.json", "--no-cache"]
    run([*command, "--no-table"], tmp_path, status=100)  # its status if a test failed
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]["results"]
    assert [row["success"] for row in results] == [True, False]
    assert [row["score"] for row in results] == [1, 0.5]
    assert "`$.total`: incorrect" in results[1]["gradingResult"]["reason"]
    assert results[1]["namedScores"] == {"field_score": 0.5, "pass_rate": 0.5}


@pytest.mark.parametrize(
    "adapter, package, extra",
    [(inspect_scorer, "inspect_ai", "inspect"), (mlflow_scorer, "mlflow", "mlflow")],
)
def test_a_missing_tool_is_named(adapter: Callable[[Any], Any], package: str, extra: str):
    if find_spec(package):
        pytest.skip(f"{package} is installed")
    command = rf"pip install 'extractbench-nb\[{extra}\]'"
    with pytest.raises(UnavailableError, match=f"{package} is not installed; run: {command}"):
        adapter(SCHEMA)
