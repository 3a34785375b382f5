"""Every public name is documented the numpydoc way: parameters, types and what is returned."""

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module

import pytest
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.validate import validate

import extractbench_nb

CHECKS = {
    "GL08": "has no docstring",
    "SS01": "has no summary line",
    "PR01": "leaves parameters undocumented",
    "PR02": "documents parameters that do not exist",
    "PR03": "documents parameters in another order",
    "PR04": "gives a parameter no type",
    "PR07": "gives a parameter no description",
    "RT01": "does not say what it returns",
    "RT03": "does not describe what it returns",
    "YD01": "does not say what it yields",
}


def members(name: str, value: object) -> Iterator[tuple[str, object]]:
    """A public object with its public methods and properties; a module's public objects."""
    if inspect.ismodule(value):
        for child in value.__all__:
            if callable(getattr(value, child)):  # the others are declarations of columns
                yield from members(f"{name}.{child}", getattr(value, child))
        return
    yield name, value
    if not inspect.isclass(value):
        return
    for child, member in vars(value).items():
        function = inspect.unwrap(getattr(member, "__func__", member))
        documented = inspect.isfunction(function) or isinstance(member, property)
        if documented and not child.startswith("_"):
            yield f"{name}.{child}", function


#: Rooms with public names that are not named at the top.
MORE = ("core",)

# The objects themselves: `extractbench_nb.metrics` is a function and the name of a package.
PUBLIC = dict(
    pair
    for name in (*extractbench_nb.__all__, *MORE)
    for pair in members(
        name,
        import_module(f"extractbench_nb.{name}")
        if name in MORE
        else getattr(extractbench_nb, name),
    )
    if name not in ("UNLABELED", "__version__")
)


def complaints(value: object) -> list[str]:
    found = validate(get_doc_object(value))["errors"]
    short = is_method_in_one_line(value)
    return [
        f"{CHECKS[code]}: {text}"
        for code, text in found
        if code in CHECKS
        and not (code == "PR01" and (short or documents_its_attributes(value)))
        and not (code == "RT01" and short)
    ]


def is_method_in_one_line(value: object) -> bool:
    """A method may be described by its summary and its type hints alone."""
    is_method = "." in getattr(value, "__qualname__", "")
    return is_method and "\n" not in (inspect.getdoc(value) or "")


def documents_its_attributes(value: object) -> bool:
    """A class that users read rather than make may describe its fields as attributes."""
    if not inspect.isclass(value):
        return False
    doc = NumpyDocString(inspect.getdoc(value) or "")
    opening = " ".join(doc["Summary"] + doc["Extended Summary"])
    if "Made by `" in opening and not doc["Parameters"] and not is_dataclass(value):
        return True  # its methods and properties are checked themselves
    entries = [entry for part in ("Parameters", "Attributes") for entry, _, _ in doc[part]]
    named = {name for entry in entries for name in entry.split(", ")}
    fields = inspect.signature(value).parameters
    return all(field in named or field.startswith("_") for field in fields)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name: str) -> None:
    assert complaints(PUBLIC[name]) == []


def test_public_names_are_strings_and_stand_once() -> None:
    names = extractbench_nb.__all__
    assert names
    assert all(isinstance(name, str) for name in names)
    assert len({*names}) == len(names)
