"""What holds for examples in docstrings: the figures that they draw are closed after them."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def figures_of_examples_are_closed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the figures, since matplotlib warns of more than 20 that are open."""
    yield
    if isinstance(request.node, pytest.DoctestItem) and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
