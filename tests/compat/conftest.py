from collections.abc import Iterator

import pytest

from extractbench_nb.core.field_metrics.registry import REGISTRY


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Forget the metrics that a test registers."""
    before = dict(REGISTRY.entries)
    yield
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)
