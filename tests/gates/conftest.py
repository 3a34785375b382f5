import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def make() -> Callable[..., str]:
    """Run make in the project's folder, apart from the make that may have started the tests."""
    program = shutil.which("make")
    assert program, "make is needed to check the Makefile"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}

    def run(*arguments: str) -> str:
        return subprocess.run(
            [program, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    return run
