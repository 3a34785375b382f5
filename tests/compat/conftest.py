import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from extractbench_nb.field_metrics.registry import REGISTRY


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Forget the metrics that a test registers."""
    before = dict(REGISTRY.entries)
    yield
    REGISTRY.entries.clear()
    REGISTRY.entries.update(before)


@pytest.fixture(scope="session")
def package() -> Any:
    """The published package, imported without its warnings and without a download."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("extract_bench")
