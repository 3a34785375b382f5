import copy
import importlib.util
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb

DATASET, RUNS = "EXTRACTBENCH_DATASET", "EXTRACTBENCH_RUNS"


def golds() -> list[Path]:
    """All gold files of the real dataset; none where it is not there."""
    folder = os.environ.get(DATASET)
    return sorted(Path(folder).glob("*/*/pdf+gold/*.gold.json")) if folder else []


def outputs() -> list[Path]:
    folder = os.environ.get(RUNS)
    return sorted(Path(folder).glob("research/*/*.pred.json")) if folder else []


@cache
def schema_of(name: str) -> xb.schema.Schema:
    return xb.schema.parse_schema(
        next(Path(os.environ[DATASET]).glob(f"*/{name}/{name}-schema.json"))
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture, files, variable in (
        ("gold_file", golds(), DATASET),
        ("output_file", outputs() if golds() else [], f"{RUNS} and {DATASET}"),
    ):
        if fixture in metafunc.fixturenames:
            reason = f"set {variable} to the folder of the real data"
            absent = pytest.param(None, marks=pytest.mark.skip(reason=reason), id="absent")
            params = [pytest.param(f, id=f"{f.parent.name}-{f.name}"[-60:]) for f in files]
            metafunc.parametrize(fixture, params or [absent])


@pytest.fixture
def read() -> Callable[[Path], Any]:
    return lambda path: json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def schema_for() -> Callable[[Path], xb.schema.Schema]:
    """From a gold file to its parsed schema."""
    return lambda path: schema_of(path.parent.parent.name)


@cache
def evaluated_itself(path: Path, profile: str = "strict") -> Any:
    gold = json.loads(path.read_text(encoding="utf-8"))
    schema = schema_of(path.parent.parent.name)
    return xb.evaluate(schema, gold, copy.deepcopy(gold), profile=profile)


@pytest.fixture
def itself() -> Callable[..., Any]:
    """From a gold file and a profile to its evaluation against itself, which is done once."""
    return evaluated_itself


@pytest.fixture
def gold_for() -> Callable[[Path], Path]:
    """From a recorded output to the gold file of its document."""

    def find(output: Path) -> Path:
        name = output.name.removesuffix(".pred.json") + ".gold.json"
        return next(g for g in golds() if g.name == name)

    return find


@pytest.fixture(scope="session")
def check() -> Callable[[Any], None]:
    """The invariants that the property tests check, too."""
    path = Path(__file__).parents[1] / "properties" / "invariants.py"
    spec = importlib.util.spec_from_file_location("frame_invariants", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Any], None] = module.check
    return found
