"""Figures that a test counts are kept in a folder of the test run, not in the user's cache."""

from tests.benchmark.conftest import own_cache

__all__ = ["own_cache"]
