"""No test depends on how fast it runs: none limits a wait to a short time or asserts a duration."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

TESTS = Path(__file__).parents[1]
#: Calls that wait, and take a limit as their first argument or as `timeout`.
WAITING = set(
    "acquire alarm communicate connect_ex get join result run set_default_timeout set_options "
    "settimeout timeout urlopen wait wait_for wait_for_ready HTTPConnection".split()
)
CLOCKS = {"monotonic", "perf_counter", "process_time", "time"}


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def is_short(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Constant)
        and type(value.value) in (int, float)
        and (0 < value.value < PATIENCE)
    )


def hurried(source: str) -> Iterator[str]:
    """Yield the expressions of a test that a slow machine would fail on."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and name_of(node) in WAITING:
            limits = [k.value for k in node.keywords if k.arg == "timeout"]
            if any(map(is_short, [*node.args[:1], *limits])):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and name_of(node) == "settings":
            yield from (
                ast.unparse(k.value)
                for k in node.keywords
                if k.arg == "deadline" and ast.unparse(k.value) != "None"
            )
        elif isinstance(node, ast.Assert):
            compared = [n for n in ast.walk(node) if isinstance(n, ast.Compare)]
            upper = any(isinstance(op, ast.Lt | ast.LtE) for c in compared for op in c.ops)
            clocks = {name_of(n) for n in ast.walk(node) if isinstance(n, ast.Call)} & CLOCKS
            if upper and clocks:
                yield ast.unparse(node)


PATHS = sorted(TESTS.rglob("*.py"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_nothing_is_in_a_hurry(path: Path) -> None:
    assert list(hurried(path.read_text(encoding="utf-8"))) == []


def test_what_waits_for_ever_is_ended(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("timeout")) > PATIENCE


@pytest.mark.parametrize(
    "source, refused",
    [
        ("subprocess.run(command, timeout=60)", True),
        ("process.communicate(timeout=5.0)", True),
        ("event.wait(10)", True),
        ("asyncio.timeout(0.3)", True),
        ("settings(deadline=200)", True),
        ("assert time.monotonic() - begun < 5", True),
        ("subprocess.run(command, timeout=PATIENCE)", False),
        ("subprocess.run(command, timeout=1800)", False),
        ("assert time.perf_counter() - begun >= 0.2", False),
        ("settings(deadline=None)", False),
        ("', '.join(names)", False),
    ],
)
def test_the_check_can_fail(source: str, refused: bool) -> None:
    assert bool(list(hurried(source))) == refused
