"""What tests of extraction share: the bundled dataset, and the released one where there is one."""

import os
from functools import cache

import pytest

import extractbench_nb as xb

needs_release = pytest.mark.skipif(
    "EXTRACTBENCH_DATASET" not in os.environ, reason="needs the released dataset"
)


@cache
def sample() -> xb.benchmark.Dataset:
    return xb.load_dataset("sample")


@cache
def released() -> xb.benchmark.Dataset:
    return xb.load_dataset("extractbench", path=os.environ["EXTRACTBENCH_DATASET"])
