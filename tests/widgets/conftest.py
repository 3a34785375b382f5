from collections.abc import Iterator

import pytest
from ipywidgets import Widget


@pytest.fixture(scope="module", autouse=True)
def closed_views() -> Iterator[None]:
    """Close the views of a module: ipywidgets keeps each that is open."""
    yield
    Widget.close_all()
