"""Pytest plugin: the fixtures ``golden`` and ``golden_case``, and ``--update-baseline``.

It is a module of its own because pytest imports it in every run; extractbench_nb and pandas are
imported only by tests that use a fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from extractbench_nb.stats.goldens import GoldenCase

_INI = "golden_folder"
_GOLD, _SCHEMA = "gold.json", "schema.json"
#: The property of a test that writes a baseline; and by which test each case was written.
_UPDATED = "golden_updated"
_WRITTEN = pytest.StashKey[dict[tuple[Path, str], tuple[str, str]]]()
#: The property with the name of a case and the digest of its new baseline.
_CONTENT = "golden_baseline"
_MOST = 10


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


def _without_gold(root: Path) -> list[Path]:
    """List the folders that hold files, but are not a case, in one, or above one.

    Folders whose name begins with ``.`` or ``_`` are for other things.
    """
    cases = {file.parent for file in root.rglob(_GOLD)}
    above = {folder for case in cases for folder in case.parents}
    found = {file.parent for file in root.rglob("*") if file.is_file()} - cases - above - {root}
    return sorted(
        folder
        for folder in found
        if not any(part[0] in "._" for part in folder.relative_to(root).parts)
        and cases.isdisjoint(folder.parents)
    )


def _lacks_gold(folder: Path) -> str:
    """Say that a folder is not a golden case, with the name that may be meant for its gold."""
    from difflib import get_close_matches

    names = {file.name.lower(): file.name for file in folder.iterdir()}
    close = get_close_matches(_GOLD, names.keys() - {_SCHEMA}, n=1, cutoff=0.6)
    found = f"; found {names[close[0]]!r}" if close else ""
    return f"the golden folder {str(folder)!r} has no {_GOLD}{found}"


def _no_case(name: str, root: Path) -> str:
    """Say why the name of a folder is not that of a golden case."""
    folder = root / name
    if not (folder / _GOLD).is_file():
        return _lacks_gold(folder)
    own, all_ = folder.resolve(), root.resolve()
    hint = f"; use {own.relative_to(all_).as_posix()!r}" if all_ in own.parents else ""
    return f"golden case {name!r}: expected the path of its folder within {str(root)!r}{hint}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``golden_case`` once per case."""
    if "golden_case" in metafunc.fixturenames:
        root = _root(metafunc.definition.path, metafunc.config)
        names = _names(root)
        if not names:
            pytest.fail(f"no folder in {str(root)!r} holds a gold.json", pytrace=False)
        if lacking := _without_gold(root):
            listed = "\n".join(map(_lacks_gold, lacking[:_MOST]))
            hint = "add it, or begin the name of a folder that is not a case with '_'"
            pytest.fail(f"{listed}\n{hint}", pytrace=False)
        metafunc.parametrize("golden_case", names, indirect=True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], GoldenCase]:
    """Return a golden case by name: ``golden("invoice-17").check(output)``."""
    root = _root(request.path, request.config)

    written = request.config.stash.setdefault(_WRITTEN, {})

    def case(name: str) -> GoldenCase:
        from extractbench_nb.errors import nearest
        from extractbench_nb.stats.goldens import GoldenCase

        names = _names(root)
        if name not in names:
            if name and (root / name).is_dir():
                pytest.fail(_no_case(name, root), pytrace=False)
            hint = nearest(name, names)
            pytest.fail(f"no golden case {name!r} in {str(root)!r}; {hint}", pytrace=False)

        def record(key: str, value: object) -> None:
            if key == _CONTENT:  # said before the baseline is written
                new = request.node.nodeid, str(value)
                first = written.setdefault((root, name), new)
                if first[1] != new[1]:
                    pytest.fail(_twice(name, [first[0], new[0]]), pytrace=False)
            # the fixture record_property warns of the default junit_family
            request.node.user_properties.append((key, value))

        update = bool(request.config.getoption("--update-baseline"))
        return GoldenCase(name, root / name, root, update, record)

    return case


@pytest.fixture
def golden_case(request: pytest.FixtureRequest, golden: Callable[[str], GoldenCase]) -> GoldenCase:
    """Return each golden case in turn: the test runs once per case."""
    return golden(request.param)


def _twice(name: str, tests: list[str]) -> str:
    """Say that the last of several outputs would be the baseline."""
    who = f"{tests[0]} twice" if len({*tests}) == 1 else " and ".join(sorted(tests))
    return (
        f"golden case {name!r}: its baseline is written by {who}, from different outputs or with "
        "different settings; a baseline is of one output: make a case for each, or update with "
        "one of them"
    )


def _said(terminal: pytest.TerminalReporter, key: str) -> Iterator[tuple[str, str]]:
    """Yield the tests that recorded a property, and its value; a test may fail after it."""
    for outcome in ("passed", "failed"):
        for report in terminal.stats.get(outcome, []):
            yield from (
                (report.nodeid, str(v)) for name, v in report.user_properties if name == key
            )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if workers of pytest-xdist wrote different baselines of a case.

    Each knows only its own tests.
    """
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or hasattr(session.config, "workerinput"):
        return
    tests: dict[tuple[Path, str], dict[str, str]] = {}
    for test, said in _said(terminal, _CONTENT):
        root = _root(session.config.rootpath / test.partition("::")[0], session.config)
        name, _, digest = said.rpartition(" ")
        tests.setdefault((root, name), {}).setdefault(digest, test)
    for (_, name), writers in tests.items():
        if len(writers) > 1:
            terminal.write_line(f"ERROR {_twice(name, [*writers.values()])}", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which baselines were written, and which could be."""
    notes = {
        _UPDATED: "baselines written: {}",
        "golden_improved": "better than their baselines; --update-baseline keeps this: {}",
    }
    for key, text in notes.items():
        found = {value for _, value in _said(terminalreporter, key)}
        if found:
            terminalreporter.write_line(text.format(", ".join(sorted(found))))
