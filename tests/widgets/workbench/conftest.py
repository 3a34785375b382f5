"""What the tests of the workbench share: the sample's runs, and metrics that go away again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.field_metrics.registry import REGISTRY


@pytest.fixture(scope="session")
def evs() -> xb.runs.Evaluations:
    """The sample's model outputs, evaluated."""
    return xb.evaluate_runs(xb.load_dataset(), progress=False)


@pytest.fixture
def metric() -> Iterator[Callable[..., Any]]:
    """The decorator; what it registers is gone after the test."""
    before = dict(REGISTRY.entries)
    yield xb.metric
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)
