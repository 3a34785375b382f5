"""How the notebooks are kept: executed in order, clean, readable, on the public API only."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

import extractbench_nb as xb

FOLDER = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
IMPORTS = {
    *(path.stem for path in FOLDER.glob("*.py")),  # modules beside the notebooks
    "extractbench_nb",
    "ipywidgets",
    "pandas",
    "numpy",
    "matplotlib",
    "pathlib",
    "os",
    "tempfile",
    "yaml",  # of the extra `construction`
    "IPython.display",
}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
MACHINE = re.compile(
    r"(?<![\w.:/])/(?:home|root|work|tmp|Users|opt|var|usr)/\w|[A-Z]:\\\\?Users|ipykernel_\d"
)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\.?\d)")
#: Code, links, names of models and numbers of sections.
NO_RESULT = re.compile(r"`[^`]*`|\]\([^)]*\)|(?:Gemini|Claude|GPT)[- ]?[\w ]*[\d.]+|[Ss]ection \S+")
MIME_FIGURE = "image/png"

notebooks = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


@cache
def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(path: Path) -> list[NotebookNode]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def prose(path: Path) -> str:
    return "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


def texts(output: Any) -> Iterator[str]:
    """Everything of an output that somebody reads."""
    yield output.get("text", "")
    for mime, content in output.get("data", {}).items():
        if not mime.startswith("image/"):
            yield content if isinstance(content, str) else repr(content)


def trees(path: Path) -> Iterator[ast.Module]:
    for cell in code_cells(path):
        yield ast.parse(cell.source)


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[Any]:
    for tree in trees(path):
        yield from (node for node in ast.walk(tree) if isinstance(node, kinds))


def test_the_readme_lists_the_notebooks_and_nothing_else() -> None:
    linked = re.findall(r"\]\((\w+\.ipynb)\)", (FOLDER / "README.md").read_text("utf-8"))
    assert PATHS
    assert linked == [path.name for path in PATHS]


@notebooks
def test_every_code_cell_was_executed_in_order(path: Path) -> None:
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts
    assert counts == list(range(1, len(counts) + 1))
    results = [o for cell in code_cells(path) for o in cell.outputs if "execution_count" in o]
    shown = {output.execution_count for output in results}
    assert shown <= set(counts)


@notebooks
def test_views_are_kept_as_static_twins_alone(path: Path) -> None:
    assert "widgets" not in read(path).metadata
    for cell in code_cells(path):
        for output in cell.outputs:
            assert not [m for m in output.get("data", {}) if "widget" in m], cell.source


@notebooks
def test_no_error_and_no_warning(path: Path) -> None:
    for cell in code_cells(path):
        kinds = [output.output_type for output in cell.outputs]
        assert "error" not in kinds, cell.source
        assert not [o for o in cell.outputs if o.get("name") == "stderr"], cell.source


@notebooks
def test_nothing_names_a_machine(path: Path) -> None:
    found = [t for cell in code_cells(path) for o in cell.outputs for t in texts(o)]
    found += [cell.source for cell in read(path).cells]
    assert not [text for text in found if MACHINE.search(text)]


@notebooks
def test_metadata(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata == METADATA
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        for output in cell.get("outputs", []):
            assert set(output.get("metadata", {})) <= {"image/png"}  # the size of a figure
            assert not [mime for mime in output.get("data", {}) if "widget" in mime]


@notebooks
def test_it_imports_what_a_user_has(path: Path) -> None:
    for node in nodes(path, ast.Import, ast.ImportFrom):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        for name in names:
            assert name in IMPORTS or name.partition(".")[0] in IMPORTS, name
            assert not name.startswith("extractbench_nb."), f"{name}: use the names of xb"


@notebooks
def test_public_names_only(path: Path) -> None:
    for name in own_names(path):
        assert public(name), f"xb.{name} is not public"
    assert not [n.attr for n in nodes(path, ast.Attribute) if n.attr.startswith("_")]


def own_names(path: Path) -> Iterator[str]:
    """`a.b` for each `xb.a.b` in the cells."""
    for node in nodes(path, ast.Attribute):
        parts = ast.unparse(node).split(".")
        if parts[0] == "xb" and all(part.isidentifier() for part in parts):
            yield ".".join(parts[1:])


def public(name: str) -> bool:
    first, *rest = name.split(".")
    if first not in xb.__all__:
        return False
    value = getattr(xb, first)
    if not rest or not isinstance(value, ModuleType):
        return not rest or hasattr(value, rest[0])
    return rest[0] in importlib.import_module(value.__name__).__all__


@notebooks
def test_no_logic_of_its_own(path: Path) -> None:
    """Only metrics and rules are written in a notebook; everything else is a call."""
    for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef):
        decorators = " ".join(ast.unparse(d) for d in node.decorator_list)
        assert re.search(r"xb\.(metric|rule)\b", decorators), node.name
    assert not list(nodes(path, ast.ClassDef, ast.While, ast.Lambda))


@notebooks
def test_a_paragraph_stands_before_each_figure(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert cells[-1].cell_type == "markdown"
    for i, cell in enumerate(cells):
        if any(MIME_FIGURE in o.get("data", {}) for o in cell.get("outputs", [])):
            before = [c.cell_type for c in cells[max(0, i - 2) : i]]
            assert "markdown" in before, cell.source


@notebooks
def test_the_text_of_each_figure_has_a_digest_of_its_data(path: Path) -> None:
    """nbval compares this text, not the picture: draw with ``xb.plots``, on ``xb.plots.grid``."""
    shown = [output.get("data", {}) for cell in code_cells(path) for output in cell.outputs]
    for data in shown:
        if MIME_FIGURE in data:
            assert re.search(r"values, digest [0-9a-f]{12}>$", data["text/plain"])


@notebooks
def test_prose_has_no_results_typed_by_hand(path: Path) -> None:
    """A number with decimals was computed somewhere: it belongs in an output."""
    plain = NO_RESULT.sub("", prose(path))
    found = DECIMAL.findall(plain)
    assert not found, f"computed numbers in the text: {found}"
