"""What holds for all tests: how hypothesis draws its examples, and what is collected as garbage."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is not a failure: no deadline, and no check of how fast examples are made.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without garbage collection, and keep what they are out of later ones.

    A million objects are there when the tests are collected, and stay: to look at each takes
    half a second, a dozen times until then and whenever a test asks for a full collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Forget the metrics that a test registers."""
    from extractbench_nb.core import REGISTRY

    before = dict(REGISTRY.entries)
    yield
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)


@pytest.fixture
def own_rules() -> Iterator[dict[str, Any]]:
    """The registry of cross-field rules, empty; the test's own rules are removed afterwards."""
    from extractbench_nb.core.cross_field_rules import RULES

    before = dict(RULES)
    RULES.clear()
    yield RULES
    RULES.clear()
    RULES.update(before)
