"""The printed tables, and what of them follows from their own parts."""

import re
from typing import Any

import pytest

import extractbench_nb as xb


def test_the_mean_of_the_parts_is_the_printed_one() -> None:
    """To the third digit, as far as three digits of the parts allow."""
    found = xb.tables.pubtables(3).set_index("split")
    parts, printed = found.loc["all (from the parts)"], found.loc["all"]
    assert parts.tolist() == pytest.approx(printed.tolist(), abs=0.001)
    assert xb.tables.pubtables(2)["task"].tolist() == ["TD", "TSR + FA"]


@pytest.mark.parametrize("number", [4, [3], None, True])
def test_no_such_table(number: Any) -> None:
    message = re.escape(f"no table {number!r} of results; choose 2 or 3")
    with pytest.raises(xb.InputError, match=message):
        xb.tables.pubtables(number)
