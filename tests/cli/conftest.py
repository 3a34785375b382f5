"""The command line in this process: exit status, and what it prints."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from extractbench_nb.cli import main


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def run(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as raised:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Done(int(raised.value.code or 0), out, err)

    return run
