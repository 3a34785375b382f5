"""Pytest plugin: the fixtures ``golden`` and ``golden_case``, and ``--update-baseline``.

It is a module of its own because pytest imports it in every run; extractbench_nb and pandas are
imported only by tests that use a fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from extractbench_nb.stats import GoldenCase

_INI = "golden_folder"
_GOLD = "gold.json"
#: Properties of a test that wrote a baseline, or could, and what the summary calls them.
_NOTES = {
    "golden_updated": "baselines written",
    "golden_improved": "better than their baselines; --update-baseline keeps this",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting."""
    group = parser.getgroup("extractbench-nb")
    group.addoption(
        "--update-baseline",
        action="store_true",
        help="write the baselines of golden cases from the outputs of this run",
    )
    parser.addini(_INI, "folder of golden cases, beside the tests or above", default="goldens")


def _root(path: Path, config: pytest.Config) -> Path:
    """Return the folder of golden cases beside a test file, or above it in the project."""
    name = str(config.getini(_INI))
    for folder in path.parents:
        if (folder / name).is_dir():
            return folder / name
        if folder == config.rootpath:
            break
    pytest.fail(f"there is no folder {name!r} beside {path.name} or above it", pytrace=False)


def _names(root: Path) -> list[str]:
    """List the golden cases: the folders that hold a ``gold.json``."""
    return sorted(file.parent.relative_to(root).as_posix() for file in root.rglob(_GOLD))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``golden_case`` once per case."""
    if "golden_case" in metafunc.fixturenames:
        root = _root(metafunc.definition.path, metafunc.config)
        names = _names(root)
        if not names:
            pytest.fail(f"no folder in {str(root)!r} holds a {_GOLD}", pytrace=False)
        metafunc.parametrize("golden_case", names, indirect=True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], GoldenCase]:
    """Return a golden case by name: ``golden("invoice-17").check(output)``."""
    root = _root(request.path, request.config)

    def record(key: str, value: object) -> None:
        # the fixture record_property warns of the default junit_family
        request.node.user_properties.append((key, value))

    def case(name: str) -> GoldenCase:
        from extractbench_nb.errors import nearest
        from extractbench_nb.stats import GoldenCase

        names = _names(root)
        if name not in names:
            hint = nearest(name, names)
            pytest.fail(f"no folder {name!r} with a {_GOLD} in {str(root)!r}; {hint}", False)
        update = bool(request.config.getoption("--update-baseline"))
        return GoldenCase(name, root / name, root, update, record)

    return case


@pytest.fixture
def golden_case(request: pytest.FixtureRequest, golden: Callable[[str], GoldenCase]) -> GoldenCase:
    """Return each golden case in turn: the test runs once per case."""
    return golden(request.param)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the baselines that were written, and those that could be."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    for key, text in _NOTES.items():
        cases = {str(v) for report in reports for name, v in report.user_properties if name == key}
        if cases:
            terminalreporter.write_line(f"{text}: {', '.join(sorted(cases))}")
