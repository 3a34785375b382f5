"""The directive `rooms`: each room of the package with its subject and its size, from the code."""

from __future__ import annotations

import ast
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import extractbench_nb

PACKAGE = Path(extractbench_nb.__file__).parent
#: Rooms, lowest first; those on one line do not import each other.
ORDER = (
    *("support", "core", "pdf", "judges", "runs", "stats", "gold", "simulation", "benchmark"),
    *("tables", "construction", "views", "compat", "integrations", "cli"),
)


def room_files(name: str) -> list[Path]:
    """Return the modules of a room."""
    module = PACKAGE / f"{name}.py"
    return [module] if module.exists() else sorted((PACKAGE / name).rglob("*.py"))


def row_of(name: str) -> str:
    """Return the row of a room: the first sentence of its docstring, modules, lines."""
    files = room_files(name)
    face = next((file for file in files if file.name == "__init__.py"), files[0])
    summary = ast.get_docstring(ast.parse(face.read_text(encoding="utf-8"))) or ""
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    text = " ".join(summary.partition("\n\n")[0].split())
    return f"| `{name}` | {text} | {len(files)} | {lines:,} |"


class RoomTable(SphinxDirective):
    """``{rooms}``: one row per room, lowest first."""

    def run(self) -> list[nodes.Node]:
        """Parse the table in place."""
        for name in ORDER:
            for file in room_files(name):
                self.env.note_dependency(str(file))
        head = ["| room | what it does | modules | lines |", "|---|---|--:|--:|"]
        return self.parse_text_to_nodes("\n".join([*head, *map(row_of, ORDER)]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("rooms", RoomTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
