"""What holds for all tests and examples: figures are closed, and no process outlives them."""

import sys
from collections.abc import Iterator

import pytest

from tests.processes import watch


def pytest_configure() -> None:
    """Before xdist starts processes of its own."""
    watch()


@pytest.fixture(autouse=True)
def figures_of_examples_are_closed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the figures, since matplotlib warns of more than 20 that are open."""
    yield
    if isinstance(request.node, pytest.DoctestItem) and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
