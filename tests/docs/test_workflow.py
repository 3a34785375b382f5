"""The step of examples/extraction-gate.yml that comments: one comment, updated by later pushes."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
#: Stands for GitHub's command line: lists comments.json, filtered by jq; records other calls.
GH = """#!/bin/bash
case "$*" in
  *--paginate*) jq --raw-output "${!#}" comments.json ;;
  *) echo "$*" >> calls ;;
esac
"""


def comment(number: int, login: str, body: str) -> dict[str, object]:
    return {"id": number, "user": {"login": login}, "body": body}


OTHERS = [
    comment(1, "ada", "### Extraction gate: fail\nquoted by a person"),
    comment(2, "github-actions[bot]", "Coverage 91 %"),
]
OWN = comment(3, "github-actions[bot]", "### Extraction gate: fail\n\npass_rate 0.9")


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize(
    "comments, call",
    [
        ([], "pr comment 7 --body-file gate.md"),
        (OTHERS, "pr comment 7 --body-file gate.md"),
        (
            [*OTHERS, OWN, comment(4, "ada", "Thanks")],
            "api --method PATCH repos/o/r/issues/comments/3 --field body=@gate.md",
        ),
    ],
)
def test_a_pull_request_has_one_comment(
    comments: list[dict[str, object]], call: str, tmp_path: Path
) -> None:
    workflow = yaml.safe_load((ROOT / "examples/extraction-gate.yml").read_text(encoding="utf-8"))
    (script,) = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "gh " in str(step)]
    (tmp_path / "comments.json").write_text(json.dumps(comments), encoding="utf-8")
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "GITHUB_REPOSITORY": "o/r", "NUMBER": "7"}
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=True
    )
    assert (tmp_path / "calls").read_text(encoding="utf-8").splitlines() == [call]
