"""Names as people read them."""

import pandas as pd
import pytest

from extractbench_nb import benchmark
from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA, display_name


@pytest.mark.parametrize(
    "value, column, name",
    [
        ("10kq", "schema", "10-K/Q"),
        ("finance/10kq", "schema", "10-K/Q (finance)"),
        ("quarterly_report", "schema", "quarterly report"),
        ("a_b", "domain", "a b"),
        ("a_b", "run", "a_b"),
        ("string_semantic", "metric", "string_semantic"),
        ("both_absent", "outcome", "both absent"),
        ("pass_rate", "", "pass rate"),
        (pd.NA, "domain", "(no domain)"),
        (None, "run", "(no run)"),
        (float("nan"), "", "(no name)"),
        (True, "required", "True"),
        (["a", "b"], "choice", "['a', 'b']"),
    ],
)
def test_display_name(value: object, column: str, name: str) -> None:
    assert display_name(value, column) == name


def test_names_of_schemas_are_those_of_the_paper() -> None:
    assert set(DOMAIN_OF_SCHEMA.values()) == set(benchmark.table(6, values="published").index)
