"""What tests of extraction share: the bundled dataset."""

from functools import cache

import extractbench_nb as xb


@cache
def sample() -> xb.runs.Dataset:
    return xb.load_dataset("sample")
