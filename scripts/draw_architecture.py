"""Draw the imports between packages into docs/explanation/architecture.md, as a mermaid diagram.

    python scripts/draw_architecture.py

An arrow means "imports". Arrows that follow from others are left out: where A imports B and B
imports C, an import of C by A is not drawn. So are the small modules that everything may import.
"""

from __future__ import annotations

from pathlib import Path

import grimp

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "architecture.md"
START, END = "```mermaid\n", "```\n"
ROOT = "extractbench_nb"


def imports_of_packages() -> dict[str, set[str]]:
    """Return which packages each package imports."""
    graph = grimp.build_graph(ROOT)
    packages = {name for name in graph.find_children(ROOT) if graph.find_children(name)}
    found: dict[str, set[str]] = {}
    for name in packages:
        imported = {
            ".".join(target.split(".")[:2])
            for module in {name, *graph.find_descendants(name)}
            for target in graph.find_modules_directly_imported_by(module)
        }
        found[name] = (imported & packages) - {name}
    return {_short(name): {_short(other) for other in others} for name, others in found.items()}


def _short(name: str) -> str:
    return name.removeprefix(f"{ROOT}.")


def reduced(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out the arrows that follow from others; the graph has no circles."""

    def below(name: str) -> set[str]:
        return imports[name].union(*map(below, imports[name]))

    return {
        name: others - set().union(*map(below, others), set()) for name, others in imports.items()
    }


def diagram() -> str:
    """Return the mermaid text."""
    arrows = (
        f"  {name} --> {other}\n"
        for name, others in sorted(reduced(imports_of_packages()).items())
        for other in sorted(others)
    )
    return f"{START}flowchart TD\n{''.join(arrows)}{END}"


def main() -> None:
    """Replace the diagram of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(before + diagram() + after, encoding="utf-8")


if __name__ == "__main__":
    main()
