import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from extractbench_nb.metrics.registry import REGISTRY

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("local", max_examples=150, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True, scope="module")
def registry() -> Iterator[None]:
    """Forget the metrics that a test registers."""
    before = dict(REGISTRY.entries)
    yield
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)
