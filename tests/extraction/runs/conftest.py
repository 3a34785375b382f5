"""A server on 127.0.0.1 that answers as models do, and runs that ask it."""

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.runs.dataset import Dataset, load_dataset
from extractbench_nb.runs.extracting import extract
from extractbench_nb.runs.folders import Run
from tests.clients import with_llm
from tests.judges.llm.conftest import away_from_home, no_thread_left
from tests.llm_server import LLMServer, Request

__all__ = ["away_from_home", "no_thread_left"]

# Not imported here: it would look for its price list.
collect_ignore_glob = [] if find_spec("litellm") else ["test_*.py"]

Extract = Callable[..., Run]

_NAME = re.compile(r"from the document (.+?) all that the JSON Schema")


def asked_about(request: Request) -> str:
    """Return the name of the document that a request is about."""
    found = _NAME.search(request.text)
    assert found is not None, request.text[:300]
    return found[1]


def said_about(document: str) -> str:
    """Return what the server says about a document: JSON with what files and parsers may change."""
    return f'\ufeff{{"title": "{document}\u2028ü",\r\n "lines": 1,}}\r'


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(lambda request: said_about(asked_about(request))) as running:
        yield running


@pytest.fixture
def dataset() -> Dataset:
    return load_dataset("sample")


@pytest.fixture
def run(server: LLMServer, tmp_path: Path, dataset: Dataset) -> Extract:
    def start(documents: Any = None, **options: Any) -> Run:
        usual = {
            "model": "openai/test-model",
            "folder": tmp_path / "run",
            "api_base": server.url,
            "retry_wait": 0.0,
            "progress": False,
        }
        if documents is not None:
            usual["dataset"] = dataset
        given = with_llm(usual | options)
        return extract(dataset if documents is None else documents, **given)

    return start
