"""Warnings that our modules cause are errors in tests; those of other packages are not."""

import warnings

import pytest

OURS = (
    *("extractbench_nb", "extractbench_nb.core.schema.parse", "extractbench_nb_pytest"),
    *("tests.llm_server", "tests.gates.test_warnings"),
)
OTHERS = ("pydantic._internal._generate_schema", "litellm", "extractbench", "tests_of_others")


def warn_in(module: str, category: type[Warning]) -> None:
    """Cause a warning in a module; a library that warns of how it was called is one level below."""
    names = {"__name__": module, "warn": warn_of_caller, "category": category}
    exec("warn(category)", names)  # noqa: S102 - the module need not exist


def warn_of_caller(category: type[Warning]) -> None:
    warnings.warn("from here on", category, stacklevel=2)


@pytest.mark.parametrize("category", [UserWarning, DeprecationWarning, FutureWarning])
@pytest.mark.parametrize("module", OURS)
def test_what_our_modules_cause_is_an_error(module: str, category: type[Warning]) -> None:
    with pytest.raises(category, match="from here on"):
        warn_in(module, category)


@pytest.mark.parametrize("category", [UserWarning, DeprecationWarning, FutureWarning])
@pytest.mark.parametrize("module", OTHERS)
def test_what_others_cause_is_not(module: str, category: type[Warning]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warn_in(module, category)
    assert len(caught) == 1


def test_this_module_is_one_of_ours() -> None:
    with pytest.raises(UserWarning):
        warnings.warn("from here on", stacklevel=1)
